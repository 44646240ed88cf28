(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The scores of a declared machine model, src/softmax/bound.c: how far s may be off when inputs,
   products, sums, scale, softcap, bias, slope and temperature are rounded to the model's formats. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row enclosure.summation.
Open Scope R_scope.

(* x is computed for X, of size at most S: off by r - 1 relatively to S, and by e. *)
Definition approx (x X S r e : R) : Prop :=
  Rabs X <= S /\ 1 <= r /\ 0 <= e /\ Rabs (x - X) <= (r - 1) * S + e.

Lemma approx_size x X S r e : approx x X S r e -> 0 <= S /\ Rabs x <= r * S + e.
Proof.
intros [H [_ [_ D]]]. split; [eapply Rle_trans; [apply Rabs_pos|exact H]|].
replace x with ((x - X) + X) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma approx_exact X : approx X X (Rabs X) 1 0.
Proof.
unfold approx. replace (X - X) with 0 by ring. rewrite Rabs_R0. pose proof (Rabs_pos X). lra.
Qed.

Lemma approx_more x X S r e r' e' : approx x X S r e -> r <= r' -> e <= e' -> approx x X S r' e'.
Proof.
intros H Hr He. pose proof (approx_size _ _ _ _ _ H) as [PS _]. destruct H as [H1 [H2 [H3 H4]]].
assert ((r - 1) * S <= (r' - 1) * S) by (apply Rmult_le_compat_r; lra). unfold approx. lra.
Qed.

Lemma approx_off x X u eta : 0 <= u -> 0 <= eta -> Rabs (x - X) <= u * Rabs X + eta ->
  approx x X (Rabs X) (1 + u) eta.
Proof. intros. unfold approx. lra. Qed.

Lemma approx_round (rnd : R -> R) u eta x X S r e : 0 <= u -> 0 <= eta ->
  Rabs (rnd x - x) <= u * Rabs x + eta ->
  approx x X S r e -> approx (rnd x) X S (r * (1 + u)) (e * (1 + u) + eta).
Proof.
intros Hu He Hr H. pose proof (approx_size _ _ _ _ _ H) as [PS B]. destruct H as [H1 [H2 [H3 H4]]].
assert (0 <= r * u) by (apply Rmult_le_pos; lra). assert (0 <= e * u) by (apply Rmult_le_pos; lra).
apply (Rmult_le_compat_l u) in B; [|exact Hu].
repeat split; try lra. replace (rnd x - X) with ((rnd x - x) + (x - X)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma approx_mult x X S r e y Y T q f : approx x X S r e -> approx y Y T q f ->
  approx (x * y) (X * Y) (S * T) (r * q) (r * S * f + q * T * e + e * f).
Proof.
intros H K. pose proof (approx_size _ _ _ _ _ H) as [PS Bx]. pose proof (approx_size _ _ _ _ _ K) as [PT By].
destruct H as [H1 [H2 [H3 H4]]], K as [K1 [K2 [K3 K4]]].
assert (0 <= r * S) by (apply Rmult_le_pos; lra). assert (0 <= q * T) by (apply Rmult_le_pos; lra).
assert (0 <= r * S * f) by (apply Rmult_le_pos; lra). assert (0 <= q * T * e) by (apply Rmult_le_pos; lra).
assert (0 <= e * f) by (apply Rmult_le_pos; lra).
repeat split.
- rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; assumption.
- replace 1 with (1 * 1) by ring. apply Rmult_le_compat; lra.
- lra.
- replace (x * y - X * Y) with ((x - X) * y + X * (y - Y)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  assert (A : Rabs (x - X) * Rabs y <= ((r - 1) * S + e) * (q * T + f)).
  { apply Rmult_le_compat; try apply Rabs_pos; assumption. }
  assert (B : Rabs X * Rabs (y - Y) <= S * ((q - 1) * T + f)).
  { apply Rmult_le_compat; try apply Rabs_pos; assumption. }
  lra.
Qed.

Lemma approx_plus x X S r e y Y T f : approx x X S r e -> approx y Y T r f ->
  approx (x + y) (X + Y) (S + T) r (e + f).
Proof.
intros [H1 [H2 [H3 H4]]] [K1 [K2 [K3 K4]]]. repeat split; try lra.
- eapply Rle_trans; [apply Rabs_triang|]. lra.
- replace (x + y - (X + Y)) with ((x - X) + (y - Y)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

(* A sum of terms that are themselves off, the sum off by G - 1 relatively to the terms' sizes. *)
Lemma approx_sum d (x X S e : nat -> R) r G E D : 1 <= r -> 1 <= G -> 0 <= E ->
  (forall a, (a < d)%nat -> approx (x a) (X a) (S a) r (e a)) ->
  Rabs (D - sum d x) <= (G - 1) * sum d (fun a => Rabs (x a)) + E ->
  approx D (sum d X) (sum d S) (r * G) (G * sum d e + E).
Proof.
intros Hr HG HE H HD.
assert (PS : 0 <= sum d S).
{ apply sum_nonneg. intros a Ha. apply (approx_size _ _ _ _ _ (H a Ha)). }
assert (Pe : 0 <= sum d e) by (apply sum_nonneg; intros a Ha; apply (H a Ha)).
assert (B : sum d (fun a => Rabs (x a)) <= r * sum d S + sum d e).
{ rewrite <- sum_scal, <- sum_plus. apply sum_le. intros a Ha. apply (approx_size _ _ _ _ _ (H a Ha)). }
assert (C : Rabs (sum d x - sum d X) <= (r - 1) * sum d S + sum d e).
{ rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|]. rewrite <- sum_scal, <- sum_plus.
  apply sum_le. intros a Ha. apply (H a Ha). }
apply (Rmult_le_compat_l (G - 1)) in B; [|lra].
assert (0 <= G * sum d e) by (apply Rmult_le_pos; lra).
repeat split.
- eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros a Ha. apply (H a Ha).
- replace 1 with (1 * 1) by ring. apply Rmult_le_compat; lra.
- lra.
- replace (D - sum d X) with ((D - sum d x) + (sum d x - sum d X)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Section Score.
(* One key. rp rounds to products, u = u_P; eta: half a unit of the coarser of the two subnormals. *)
Variables (rp : R -> R) (u eta : R).
Hypothesis u_range : 0 <= u <= / 256.
Hypothesis eta_range : 0 <= eta <= 1.
Hypothesis rp_error : forall x, Rabs (rp x - x) <= u * Rabs x + eta.
Variables (d : nat) (q k qh kh : nat -> R) (sigma sh Q K ui : R).
Hypothesis q_norm : forall a, (a < d)%nat -> Rabs (q a) <= Q.
Hypothesis k_norm : forall a, (a < d)%nat -> Rabs (k a) <= K.
Hypothesis Q_pos : 0 <= Q.
Hypothesis K_pos : 0 <= K.
(* inputs: rounded on their way in (ui = u) or not (ui = 0) *)
Hypothesis ui_range : 0 <= ui <= u.
Hypothesis q_in : forall a, (a < d)%nat -> Rabs (qh a - q a) <= ui * Rabs (q a) + eta.
Hypothesis k_in : forall a, (a < d)%nat -> Rabs (kh a - k a) <= ui * Rabs (k a) + eta.
(* the scale is a normal number of products, or 0 *)
Hypothesis scale_in : Rabs (sh - sigma) <= u * Rabs sigma.
(* The sum of products: any tree over any of the two formats, G = (1 + u)(1 + u_dot)^depth
   (summation_tree), and its final rounding to products, which is none (uf = 0) where it is one of
   them already. *)
Variables (dot : (nat -> R) -> (nat -> R) -> R) (G uf : R) (rf : R -> R).
Hypothesis G_large : 1 <= G.
Hypothesis dot_off : forall x y, Rabs (dot x y - sum d (fun a => x a * y a)) <=
  (G - 1) * sum d (fun a => Rabs (x a * y a)) + 2 * INR d * eta * G.
Hypothesis uf_range : 0 <= uf <= u.
Hypothesis rf_error : forall x, Rabs (rf x - x) <= uf * Rabs x + eta.

(* the scale first, or last *)
Definition scaled_first := rf (dot (fun a => rp (sh * qh a)) kh).
Definition scaled_last := rp (sh * rf (dot qh kh)).

Let s := sigma * sum d (fun a => q a * k a).
Let S := sum d (fun a => Rabs sigma * Rabs (q a) * Rabs (k a)).
Definition score_r := (1 + ui) * (1 + ui) * ((1 + u) * (1 + u)) * G * (1 + uf).
(* what underflow costs, before softcap and temperature *)
Definition score_under := INR (3 * d + 2) * score_r * eta * ((1 + Rabs sigma) * (1 + Q + K)).

Lemma score_r_large : 1 <= score_r.
Proof.
unfold score_r. assert (M : forall a b, 1 <= a -> 1 <= b -> 1 <= a * b).
{ intros a b Ha Hb. replace 1 with (1 * 1) by ring. apply Rmult_le_compat; lra. }
repeat apply M; lra.
Qed.

Let A := (1 + Rabs sigma) * (1 + Q + K).
Lemma A_parts : 1 <= A /\ Rabs sigma * Q + (1 + Rabs sigma) * K + (1 + Rabs sigma) <= A /\
  0 <= Rabs sigma * Q /\ 0 <= Rabs sigma * K.
Proof.
pose proof (Rabs_pos sigma). assert (0 <= Rabs sigma * Q) by (apply Rmult_le_pos; assumption).
assert (0 <= Rabs sigma * K) by (apply Rmult_le_pos; assumption). unfold A. repeat split; lra.
Qed.

Lemma sum_bound (e : nat -> R) B : (forall a, (a < d)%nat -> e a <= B) -> sum d e <= INR d * B.
Proof. intros H. rewrite <- sum_const. apply sum_le, H. Qed.

Lemma first_approx : approx scaled_first s S score_r score_under.
Proof.
pose proof A_parts as [PA [PB [PQ PK]]]. pose proof (Rabs_pos sigma) as Ps. pose proof (pos_INR d) as Pd.
assert (Psh : approx sh sigma (Rabs sigma) (1 + u) 0).
{ apply approx_off; [lra|lra|]. rewrite Rplus_0_r. exact scale_in. }
set (i := 1 + ui). set (v := 1 + u). assert (1 <= i) by (unfold i; lra). assert (1 <= v) by (unfold v; lra).
assert (T : forall a, (a < d)%nat -> approx (rp (sh * qh a) * kh a) (sigma * q a * k a)
  (Rabs sigma * Rabs (q a) * Rabs (k a)) (i * i * (v * v)) (i * i * (v * v) * (eta * A))).
{ intros a Ha. pose proof (q_norm a Ha) as Nq. pose proof (k_norm a Ha) as Nk.
  pose proof (Rabs_pos (q a)) as Pq. pose proof (Rabs_pos (k a)) as Pk.
  pose proof (approx_off _ _ _ _ (proj1 ui_range) (proj1 eta_range) (q_in a Ha)) as Hq.
  pose proof (approx_off _ _ _ _ (proj1 ui_range) (proj1 eta_range) (k_in a Ha)) as Hk.
  pose proof (approx_mult _ _ _ _ _ _ _ _ _ _ Psh Hq) as H1.
  pose proof (approx_round rp u eta _ _ _ _ _ (proj1 u_range) (proj1 eta_range) (rp_error _) H1) as H2.
  pose proof (approx_mult _ _ _ _ _ _ _ _ _ _ H2 Hk) as H3.
  fold v i in H3. eapply approx_more; [exact H3|right; ring|].
  (* e1 = v v |sigma| eta + eta *)
  set (p := Rabs sigma) in *. set (e1 := (v * p * eta + i * Rabs (q a) * 0 + 0 * eta) * v + eta).
  assert (E1 : e1 <= v * v * (eta * (1 + p))).
  { unfold e1. assert (1 * 1 <= v * v) by (apply Rmult_le_compat; lra).
    assert (1 * eta <= v * v * eta) by (apply Rmult_le_compat_r; lra). lra. }
  assert (P1 : 0 <= e1).
  { unfold e1. assert (0 <= v * p * eta) by (repeat apply Rmult_le_pos; lra).
    assert (0 <= v * p * eta * v) by (apply Rmult_le_pos; lra). lra. }
  assert (F1 : v * i * v * (p * Rabs (q a)) * eta <= i * i * (v * v) * (eta * (p * Q))).
  { assert (p * Rabs (q a) <= p * Q) by (apply Rmult_le_compat_l; lra).
    assert (0 <= p * Rabs (q a)) by (apply Rmult_le_pos; lra).
    assert (v * i * v * (p * Rabs (q a)) <= i * (v * v) * (p * Q)).
    { replace (v * i * v) with (i * (v * v)) by ring. apply Rmult_le_compat_l; [repeat apply Rmult_le_pos; lra|assumption]. }
    assert (0 <= i * (v * v) * (p * Q)) by (repeat apply Rmult_le_pos; lra).
    assert (1 * (i * (v * v) * (p * Q)) <= i * (i * (v * v) * (p * Q))) by (apply Rmult_le_compat_r; lra).
    assert (v * i * v * (p * Rabs (q a)) * eta <= i * (i * (v * v) * (p * Q)) * eta) by (apply Rmult_le_compat_r; lra). lra. }
  assert (F2 : i * Rabs (k a) * e1 <= i * i * (v * v) * (eta * ((1 + p) * K))).
  { assert (Rabs (k a) * e1 <= K * (v * v * (eta * (1 + p)))) by (apply Rmult_le_compat; lra).
    assert (0 <= K * (v * v * (eta * (1 + p)))) by (repeat apply Rmult_le_pos; lra).
    assert (i * (Rabs (k a) * e1) <= i * (K * (v * v * (eta * (1 + p))))) by (apply Rmult_le_compat_l; lra).
    assert (0 <= i * (K * (v * v * (eta * (1 + p))))) by (apply Rmult_le_pos; lra).
    assert (1 * (i * (K * (v * v * (eta * (1 + p))))) <= i * (i * (K * (v * v * (eta * (1 + p)))))) by (apply Rmult_le_compat_r; lra).
    lra. }
  assert (F3 : e1 * eta <= i * i * (v * v) * (eta * (1 + p))).
  { assert (e1 * eta <= v * v * (eta * (1 + p)) * 1) by (apply Rmult_le_compat; lra).
    assert (0 <= v * v * (eta * (1 + p))) by (repeat apply Rmult_le_pos; lra).
    assert (1 * 1 <= i * i) by (apply Rmult_le_compat; lra).
    assert (1 * (v * v * (eta * (1 + p))) <= i * i * (v * v * (eta * (1 + p)))) by (apply Rmult_le_compat_r; lra). lra. }
  assert (F4 : i * i * (v * v) * (eta * (p * Q + (1 + p) * K + (1 + p))) <= i * i * (v * v) * (eta * A)).
  { apply Rmult_le_compat_l; [repeat apply Rmult_le_pos; lra|]. apply Rmult_le_compat_l; lra. }
  fold e1. lra. }
set (w := i * i * (v * v)) in *.
assert (Pw : 1 <= w).
{ unfold w. assert (1 * 1 <= i * i) by (apply Rmult_le_compat; lra). assert (1 * 1 <= v * v) by (apply Rmult_le_compat; lra).
  replace 1 with (1 * 1) by ring. apply Rmult_le_compat; lra. }
assert (PE : 0 <= 2 * INR d * eta * G) by (repeat apply Rmult_le_pos; lra).
pose proof (approx_sum d _ _ _ _ w G (2 * INR d * eta * G) _ Pw G_large PE T
  (dot_off (fun a => rp (sh * qh a)) kh)) as Hs.
pose proof (approx_round rf uf eta _ _ _ _ _ (proj1 uf_range) (proj1 eta_range) (rf_error _) Hs) as R.
replace (sum d (fun a => sigma * q a * k a)) with s in R.
2:{ unfold s. rewrite <- sum_scal. apply sum_ext. intros; ring. }
fold S in R. eapply approx_more; [exact R|right; unfold score_r, w, i, v; ring|].
rewrite sum_const. unfold score_under. fold A.
replace score_r with (w * G * (1 + uf)) by (unfold score_r, w, i, v; ring).
set (z := G * (1 + uf)). assert (Pz : 1 <= z).
{ unfold z. replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; lra. }
assert (Q1 : eta <= eta * A) by (rewrite <- (Rmult_1_r eta) at 1; apply Rmult_le_compat_l; lra).
assert (Q2 : eta * A * 1 <= eta * A * w) by (apply Rmult_le_compat_l; lra).
assert (Q3 : eta * A * w * 1 <= eta * A * w * z) by (apply Rmult_le_compat_l; lra).
assert (Q4 : 2 * INR d * z * eta <= 2 * INR d * z * (eta * A * w)).
{ apply Rmult_le_compat_l; [repeat apply Rmult_le_pos; lra|lra]. }
replace (INR (3 * d + 2)) with (3 * INR d + 2) by (rewrite plus_INR, mult_INR; simpl; ring).
assert (0 <= eta * A * w * z) by (assert (0 <= eta * A) by (apply Rmult_le_pos; lra); lra).
replace ((G * (INR d * (w * (eta * A))) + 2 * INR d * eta * G) * (1 + uf) + eta) with
  (INR d * (eta * A * w * z) + 2 * INR d * z * eta + eta) by (unfold z; ring).
replace ((3 * INR d + 2) * (w * G * (1 + uf)) * eta * A) with
  (3 * INR d * (eta * A * w * z) + 2 * (eta * A * w * z)) by (unfold z; ring).
lra.
Qed.

Lemma last_approx : approx scaled_last s S score_r score_under.
Proof.
pose proof A_parts as [PA [PB [PQ PK]]]. pose proof (Rabs_pos sigma) as Ps. pose proof (pos_INR d) as Pd.
assert (Psh : approx sh sigma (Rabs sigma) (1 + u) 0).
{ apply approx_off; [lra|lra|]. rewrite Rplus_0_r. exact scale_in. }
set (i := 1 + ui). set (v := 1 + u). assert (1 <= i <= 257 / 256) by (unfold i; lra). assert (1 <= v) by (unfold v; lra).
set (B := 1 + Q + K).
assert (PBB : 1 <= B) by (unfold B; lra).
assert (T : forall a, (a < d)%nat -> approx (qh a * kh a) (q a * k a)
  (Rabs (q a) * Rabs (k a)) (i * i) (i * i * (eta * B))).
{ intros a Ha. pose proof (q_norm a Ha) as Nq. pose proof (k_norm a Ha) as Nk.
  pose proof (Rabs_pos (q a)) as Pq. pose proof (Rabs_pos (k a)) as Pk.
  pose proof (approx_off _ _ _ _ (proj1 ui_range) (proj1 eta_range) (q_in a Ha)) as Hq.
  pose proof (approx_off _ _ _ _ (proj1 ui_range) (proj1 eta_range) (k_in a Ha)) as Hk.
  pose proof (approx_mult _ _ _ _ _ _ _ _ _ _ Hq Hk) as Hm. fold i in Hm.
  eapply approx_more; [exact Hm|right; reflexivity|].
  assert (L : forall z Z, 0 <= z <= Z -> i * z * eta <= i * i * (eta * Z)).
  { intros z Z Hz. assert (z * eta <= Z * eta) by (apply Rmult_le_compat_r; lra).
    assert (0 <= z * eta) by (apply Rmult_le_pos; lra).
    assert (i * (z * eta) <= i * (Z * eta)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= i * (Z * eta)) by (apply Rmult_le_pos; lra).
    assert (1 * (i * (Z * eta)) <= i * (i * (Z * eta))) by (apply Rmult_le_compat_r; lra). lra. }
  pose proof (L (Rabs (q a)) Q ltac:(lra)). pose proof (L (Rabs (k a)) K ltac:(lra)).
  assert (eta * eta <= i * i * (eta * 1)).
  { assert (1 * 1 <= i * i) by (apply Rmult_le_compat; lra).
    assert (eta * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra).
    assert (1 * eta <= i * i * eta) by (apply Rmult_le_compat_r; lra). lra. }
  unfold B. lra. }
assert (Pi : 1 <= i * i) by (replace 1 with (1 * 1) by ring; apply Rmult_le_compat; lra).
assert (PE : 0 <= 2 * INR d * eta * G) by (repeat apply Rmult_le_pos; lra).
pose proof (approx_sum d _ _ _ _ (i * i) G (2 * INR d * eta * G) _ Pi G_large PE T (dot_off qh kh)) as Hs.
pose proof (approx_round rf uf eta _ _ _ _ _ (proj1 uf_range) (proj1 eta_range) (rf_error _) Hs) as R.
pose proof (approx_mult _ _ _ _ _ _ _ _ _ _ Psh R) as M.
pose proof (approx_round rp u eta _ _ _ _ _ (proj1 u_range) (proj1 eta_range) (rp_error _) M) as N.
fold v in N.
replace (Rabs sigma * sum d (fun a => Rabs (q a) * Rabs (k a))) with S in N.
2:{ unfold S. rewrite <- sum_scal. apply sum_ext. intros; ring. }
eapply approx_more; [exact N|right; unfold score_r, i, v; ring|].
rewrite sum_const. set (p := Rabs sigma) in *. set (w := i * i) in *. set (z := G * (1 + uf)).
assert (Pz : 1 <= z).
{ unfold z. replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; lra. }
assert (Pv : 1 <= v * v) by (replace 1 with (1 * 1) by ring; apply Rmult_le_compat; lra).
unfold score_under. fold p A.
replace score_r with (w * z * (v * v)) by (unfold score_r, w, i, v, z; ring).
replace (INR (3 * d + 2)) with (3 * INR d + 2) by (rewrite plus_INR, mult_INR; simpl; ring).
replace ((v * p * ((G * (INR d * (w * (eta * B))) + 2 * INR d * eta * G) * (1 + uf) + eta) +
  w * G * (1 + uf) * sum d (fun a => Rabs (q a) * Rabs (k a)) * 0 +
  0 * ((G * (INR d * (w * (eta * B))) + 2 * INR d * eta * G) * (1 + uf) + eta)) * v + eta) with
  (v * v * p * (INR d * (w * z * (eta * B)) + 2 * INR d * (z * eta) + eta) + eta) by (unfold z; ring).
assert (Q0 : 0 <= eta * B) by (apply Rmult_le_pos; lra).
assert (Q1 : eta * 1 <= eta * B) by (apply Rmult_le_compat_l; lra).
assert (Q2 : 1 * (eta * B) <= w * z * (eta * B)).
{ apply Rmult_le_compat_r; [lra|]. replace 1 with (1 * 1) by ring. apply Rmult_le_compat; lra. }
assert (Q3 : z * eta <= w * z * (eta * B)).
{ assert (z * eta <= z * (eta * B)) by (apply Rmult_le_compat_l; lra).
  assert (1 * (z * (eta * B)) <= w * (z * (eta * B))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]). lra. }
set (m := w * z * (eta * B)) in *.
assert (Q4 : INR d * m + 2 * INR d * (z * eta) + eta <= (3 * INR d + 1) * m).
{ assert (INR d * (z * eta) <= INR d * m) by (apply Rmult_le_compat_l; lra). lra. }
assert (Pm : 0 <= m) by lra.
assert (Q5 : v * v * p * (INR d * m + 2 * INR d * (z * eta) + eta) <= v * v * p * ((3 * INR d + 1) * m)).
{ apply Rmult_le_compat_l; [repeat apply Rmult_le_pos; lra|exact Q4]. }
assert (Q6 : eta <= v * v * m).
{ assert (1 * m <= v * v * m) by (apply Rmult_le_compat_r; lra). lra. }
replace ((3 * INR d + 2) * (w * z * (v * v)) * eta * A) with (v * v * (1 + p) * ((3 * INR d + 2) * m))
  by (unfold m, A, B, p; ring).
assert (Q7 : 0 <= v * v * p * m) by (repeat apply Rmult_le_pos; lra).
assert (Q8 : 0 <= v * v * m * INR d) by (repeat apply Rmult_le_pos; lra).
lra.
Qed.
End Score.

(* Bias, linear bias and temperature, each rounded on its way in, each operation rounded. *)
Section Finish.
Variables (rp : R -> R) (u eta : R).
Hypothesis u_range : 0 <= u <= / 256.
Hypothesis eta_range : 0 <= eta <= 1.
Hypothesis rp_error : forall x, Rabs (rp x - x) <= u * Rabs x + eta.
Variables (b bh l lh n nh tau th : R).
Hypothesis b_in : Rabs (bh - b) <= u * Rabs b + eta.
(* the slope is a normal number or 0, the distance n an integer; temperature: tau its inverse *)
Hypothesis l_in : Rabs (lh - l) <= u * Rabs l.
Hypothesis n_in : Rabs (nh - n) <= u * Rabs n.
Hypothesis tau_in : Rabs (th - tau) <= u * Rabs tau.

Definition finish s0h := rp (rp (rp (s0h + bh) + rp (lh * nh)) * th).
Definition grow4 := (1 + u) * (1 + u) * ((1 + u) * (1 + u)).

Lemma finish_approx s0h s0 S r e : approx s0h s0 S r e -> (1 + u) * (1 + u) * (1 + u) <= r ->
  approx (finish s0h) ((s0 + b + l * n) * tau) ((S + Rabs b + Rabs (l * n)) * Rabs tau) (r * grow4)
    (Rabs tau * (grow4 * (e + 4 * eta)) + eta).
Proof.
intros H Hr. set (v := 1 + u) in *. assert (Pv : 1 <= v) by (unfold v; lra).
assert (Pvv : v <= v * v) by (rewrite <- (Rmult_1_r v) at 1; apply Rmult_le_compat_l; lra).
assert (Pv3 : v * v <= v * v * v) by (rewrite <- (Rmult_1_r (v * v)) at 1; apply Rmult_le_compat_l; lra).
assert (He : 0 <= e) by apply H.
pose proof (approx_off _ _ _ _ (proj1 u_range) (proj1 eta_range) b_in) as Hb.
assert (Hl : approx lh l (Rabs l) v 0) by (apply approx_off; [lra|lra|]; rewrite Rplus_0_r; exact l_in).
assert (Hn : approx nh n (Rabs n) v 0) by (apply approx_off; [lra|lra|]; rewrite Rplus_0_r; exact n_in).
assert (Ht : approx th tau (Rabs tau) v 0) by (apply approx_off; [lra|lra|]; rewrite Rplus_0_r; exact tau_in).
pose proof (approx_mult _ _ _ _ _ _ _ _ _ _ Hl Hn) as Hs.
pose proof (approx_round rp u eta _ _ _ _ _ (proj1 u_range) (proj1 eta_range) (rp_error _) Hs) as Hst.
rewrite <- Rabs_mult in Hst. fold v in Hst.
assert (H1 : approx (rp (s0h + bh)) (s0 + b) (S + Rabs b) (r * v) ((e + eta) * v + eta)).
{ apply approx_round; try lra; [apply rp_error|]. apply approx_plus; [exact H|].
  eapply approx_more; [exact Hb|fold v; lra|lra]. }
assert (Prv : r <= r * v) by (rewrite <- (Rmult_1_r r) at 1; apply Rmult_le_compat_l; lra).
assert (H2 : approx (rp (rp (s0h + bh) + rp (lh * nh))) (s0 + b + l * n) (S + Rabs b + Rabs (l * n))
  (r * v * v) (((e + eta) * v + eta + eta) * v + eta)).
{ apply approx_round; try lra; [apply rp_error|]. apply approx_plus; [exact H1|].
  eapply approx_more; [exact Hst|lra|]. replace (v * Rabs l * 0 + v * Rabs n * 0 + 0 * 0) with 0 by ring. lra. }
pose proof (approx_mult _ _ _ _ _ _ _ _ _ _ H2 Ht) as H3.
pose proof (approx_round rp u eta _ _ _ _ _ (proj1 u_range) (proj1 eta_range) (rp_error _) H3) as H4.
fold v in H4. eapply approx_more; [exact H4|right; unfold grow4; fold v; ring|].
unfold grow4. fold v. set (e2 := ((e + eta) * v + eta + eta) * v + eta).
assert (E2 : e2 <= v * v * (e + 4 * eta)).
{ unfold e2. assert (v * eta <= v * v * eta) by (apply Rmult_le_compat_r; lra).
  assert (1 * eta <= v * v * eta) by (apply Rmult_le_compat_r; lra). lra. }
pose proof (Rabs_pos tau) as Pt.
assert (v * v * Rabs tau * e2 <= v * v * Rabs tau * (v * v * (e + 4 * eta))).
{ apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact E2]. }
lra.
Qed.
End Finish.

Section Machine.
Variables (rp : R -> R) (u eta : R).
Hypothesis u_range : 0 <= u <= / 256.
Hypothesis eta_range : 0 <= eta <= 1.
Hypothesis rp_error : forall x, Rabs (rp x - x) <= u * Rabs x + eta.
Variables (d : nat) (q k qh kh : nat -> R) (sigma sh Q K ui : R).
Hypothesis q_norm : forall a, (a < d)%nat -> Rabs (q a) <= Q.
Hypothesis k_norm : forall a, (a < d)%nat -> Rabs (k a) <= K.
Hypothesis Q_pos : 0 <= Q.
Hypothesis K_pos : 0 <= K.
Hypothesis ui_range : 0 <= ui <= u.
Hypothesis q_in : forall a, (a < d)%nat -> Rabs (qh a - q a) <= ui * Rabs (q a) + eta.
Hypothesis k_in : forall a, (a < d)%nat -> Rabs (kh a - k a) <= ui * Rabs (k a) + eta.
Hypothesis scale_in : Rabs (sh - sigma) <= u * Rabs sigma.
Variables (dot : (nat -> R) -> (nat -> R) -> R) (G uf : R) (rf : R -> R).
(* at least one product *)
Hypothesis G_large : 1 + u <= G.
Hypothesis dot_off : forall x y, Rabs (dot x y - sum d (fun a => x a * y a)) <=
  (G - 1) * sum d (fun a => Rabs (x a * y a)) + 2 * INR d * eta * G.
Hypothesis uf_range : 0 <= uf <= u.
Hypothesis rf_error : forall x, Rabs (rf x - x) <= uf * Rabs x + eta.
Variables (b bh l lh n nh tau th : R).
Hypothesis b_in : Rabs (bh - b) <= u * Rabs b + eta.
Hypothesis l_in : Rabs (lh - l) <= u * Rabs l.
Hypothesis n_in : Rabs (nh - n) <= u * Rabs n.
Hypothesis tau_in : Rabs (th - tau) <= u * Rabs tau.

Let s := sigma * sum d (fun a => q a * k a).
Let S := sum d (fun a => Rabs sigma * Rabs (q a) * Rabs (k a)).
Let r := score_r u ui G uf.
Let under := score_under u eta d sigma Q K ui G uf.

(** theorem: machine_score — a score of a declared machine: dot product of rounded inputs in products or accumulate, scale first or last, then bias, linear bias and temperature, is off by (r - 1) t and what underflows, r the product of all roundings that a term meets. used by: src/softmax/bound.c *)
Theorem machine_score sc :
  sc = scaled_first rp qh kh sh dot rf \/ sc = scaled_last rp qh kh sh dot rf ->
  approx sc s S r under /\
  Rabs (finish rp bh lh nh th sc - (s + b + l * n) * tau) <=
    (r * grow4 u - 1) * ((S + Rabs b + Rabs (l * n)) * Rabs tau) +
    (Rabs tau * (grow4 u * (under + 4 * eta)) + eta).
Proof.
intros Hsc.
assert (H : approx sc s S r under).
{ destruct Hsc as [-> | ->].
  - apply first_approx; try assumption; lra.
  - apply last_approx; try assumption; lra. }
split; [exact H|]. eapply finish_approx; try eassumption.
unfold r, score_r. set (v := 1 + u). assert (1 <= v) by (unfold v; lra).
assert (M : forall a b c, 0 <= c -> 1 <= a -> c <= b -> c <= a * b).
{ intros. rewrite <- (Rmult_1_l c). apply Rmult_le_compat; lra. }
assert (P : v * v * v <= v * v * G) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact G_large]).
assert (P0 : 0 <= v * v * v) by (repeat apply Rmult_le_pos; lra).
replace ((1 + ui) * (1 + ui) * (v * v) * G * (1 + uf)) with ((1 + ui) * ((1 + ui) * ((1 + uf) * (v * v * G)))) by ring.
repeat (apply M; [exact P0|lra|]). exact P.
Qed.
End Machine.
