(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The size t of a score, the sum of the absolute values of its terms, as src/softmax/condition_impl.h
   computes it: in float where a score is a product alone, in double with bias, slope and temperature. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.bound softmax.weight softmax.float_pass
  softmax.measured.
Open Scope R_scope.
Notation pow2 := (bpow radix2).
Notation rnd64 := (nearest (-1074) 53).
Notation u64 := (pow2 (-53)).
Notation eta := (pow2 (-1075)).

Section Dot.
(* A scaled query and a key, d elements, and computed ones; a tree that sums their products in some
   format of unit roundoff u and least step e. *)
Variables (rnd : R -> R) (u e : R) (d : nat) (a a' b b' : nat -> R) (qn kn r kb tau eb : R) (t : tree).
Hypothesis format : forall x, Rabs (rnd x - x) <= u * Rabs x + e.
Hypothesis u_small : 0 <= u <= / 1000000 /\ 0 <= e.
Hypothesis query : forall i, (i < d)%nat -> 0 <= a i <= qn /\ 0 <= a' i /\ Rabs (a' i - a i) <= r * a i + tau.
Hypothesis keys : forall i, (i < d)%nat -> 0 <= b i <= kn /\ 0 <= b' i /\ Rabs (b' i - b i) <= kb * b i + eb.
Hypothesis small : 0 <= r <= / 64 /\ 0 <= kb <= / 64 /\ 0 <= tau /\ 0 <= eb.
Hypothesis chain : sums_up t d a' b'.
Hypothesis depth_d : (depth t <= d)%nat.
Hypothesis ops_d : (ops t <= 2 * d)%nat.
Hypothesis short : INR (d + 1) * u <= / 100.

Lemma dot_close : Rabs (fl rnd rnd t - sum d (fun i => a i * b i)) <=
  (exp (r + kb + INR (d + 1) * u) - 1) * sum d (fun i => a i * b i) +
  (2 * eb * (INR d * qn) + INR d * (2 * tau * (kn + eb)) + 4 * (INR d * e)).
Proof.
destruct u_small as [U E]. destruct small as [Hr [Hk [Ht He]]].
assert (S := summation_tree rnd rnd u u e ltac:(lra) ltac:(lra) E format format t d a' b' chain).
set (G := (1 + u) * (1 + u) ^ depth t) in *.
assert (G1 : 1 <= G).
{ unfold G. replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; try lra. apply pow_R1_Rle; lra. }
assert (PX : 0 <= INR (d + 1) * u) by (apply Rmult_le_pos; [apply pos_INR|lra]).
assert (G2 : G <= exp (INR (d + 1) * u)).
{ unfold G. rewrite tech_pow_Rmult. apply Rle_trans with ((1 + u) ^ (d + 1)); [apply Rle_pow; [lra|lia]|].
  generalize (d + 1)%nat. intros m. induction m as [|m IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
  rewrite S_INR, <- tech_pow_Rmult. replace ((INR m + 1) * u) with (u + INR m * u) by ring. rewrite exp_plus.
  apply Rmult_le_compat; [lra|apply pow_le; lra|apply exp_above|exact IH]. }
assert (G3 : exp (INR (d + 1) * u) <= 1 + / 64).
{ eapply Rle_trans; [apply exp_below; lra|]. set (z := INR (d + 1) * u) in *.
  assert (z * z <= / 100 * z) by (apply Rmult_le_compat_r; lra). lra. }
assert (O : INR (ops t) <= 2 * INR d).
{ change 2 with (INR 2). rewrite <- mult_INR. apply le_INR, ops_d. }
assert (HS : Rabs (fl rnd rnd t - sum d (fun i => a' i * b' i)) <=
  sum d (fun i => (G - 1) * (a' i * b' i)) + 4 * (INR d * e)).
{ apply Rle_trans with (1 := S). apply Rplus_le_compat.
  - right. rewrite <- sum_scal. apply sum_ext. intros i Hi. destruct (query i Hi) as [_ [P _]].
    destruct (keys i Hi) as [_ [P' _]]. rewrite !Rabs_pos_eq by assumption. reflexivity.
  - apply Rle_trans with (2 * INR d * e * 2); [|lra].
    apply Rmult_le_compat; [apply Rmult_le_pos; [apply pos_INR|exact E]|lra| |lra]. apply Rmult_le_compat_r; assumption. }
assert (C := sum_close d a a' b b' (fun _ => G - 1) kn r kb (G - 1) tau eb (4 * (INR d * e)) _
  ltac:(intros i Hi; destruct (query i Hi) as [? [? ?]]; repeat split; lra) keys
  ltac:(intros i Hi; split; [lra|left; lra]) HS ltac:(repeat split; lra)).
apply Rle_trans with (1 := C).
assert (PS : 0 <= sum d (fun i => a i * b i)).
{ apply sum_nonneg. intros i Hi. destruct (query i Hi) as [? _]. destruct (keys i Hi) as [? _]. apply Rmult_le_pos; lra. }
assert (SA : sum d a <= INR d * qn).
{ rewrite <- sum_const. apply sum_le. intros i Hi. apply query, Hi. }
assert (K : (1 + r) * (1 + kb) * (1 + (G - 1)) <= exp (r + kb + INR (d + 1) * u)).
{ rewrite !exp_plus. replace (1 + (G - 1)) with G by ring.
  apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra| |exact G2].
  apply Rmult_le_compat; try lra; apply exp_above. }
apply Rplus_le_compat.
- apply Rmult_le_compat_r; [exact PS|lra].
- apply Rplus_le_compat_r, Rplus_le_compat_r. apply Rmult_le_compat_l; [lra|exact SA].
Qed.
End Dot.

Section Float.
(* c, ch: the scale, exact and in double *)
Variables (d : nat) (q k : nat -> R) (c ch qn kn : R) (t : tree).
Hypothesis scale : Rabs (ch - c) <= 3 * u64 * Rabs c.
Hypothesis q_norm : forall i, (i < d)%nat -> Rabs c * Rabs (q i) <= qn.
Hypothesis k_norm : forall i, (i < d)%nat -> Rabs (k i) <= kn.
Hypothesis chain : sums_up t d (fun i => rnd32 (Rabs (rnd64 (q i * ch)))) (fun i => rnd32 (Rabs (k i))).
Hypothesis positive : nonneg t.
Hypothesis depth_d : (depth t <= d)%nat.
Hypothesis ops_d : (ops t <= 2 * d)%nat.
Hypothesis short : INR (d + 4) * u32 <= / 100.
Hypothesis norms_pos : 0 <= qn /\ 0 <= kn.

Let size := Rabs c * sum d (fun i => Rabs (q i) * Rabs (k i)).

Lemma scaled_query i : (i < d)%nat -> Rabs (rnd32 (Rabs (rnd64 (q i * ch))) - Rabs c * Rabs (q i)) <=
  u32 * (1 + / 1000) * (Rabs c * Rabs (q i)) + 2 * e32.
Proof.
intros Hi. set (x := Rabs c * Rabs (q i)). assert (Px : 0 <= x) by (apply Rmult_le_pos; apply Rabs_pos).
assert (U : 0 <= u64 <= / 100000 * u32).
{ split; [apply bpow_ge_0|]. apply Rle_trans with (pow2 (-17 + -24)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (V : 0 <= u32 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
assert (N : 0 <= eta <= / 1000 * e32).
{ split; [apply bpow_ge_0|]. apply Rle_trans with (pow2 (-10 + -150)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (P32 : 0 < e32) by apply bpow_gt_0.
assert (A : Rabs (q i * ch - q i * c) <= 3 * u64 * x).
{ replace (q i * ch - q i * c) with (q i * (ch - c)) by ring. rewrite Rabs_mult. unfold x.
  apply Rle_trans with (Rabs (q i) * (3 * u64 * Rabs c)); [apply Rmult_le_compat_l; [apply Rabs_pos|exact scale]|lra]. }
assert (X : Rabs (q i * c) = x) by (unfold x; rewrite Rabs_mult; ring).
assert (B := rounded (q i * ch)).
assert (A' : Rabs (Rabs (q i * ch) - x) <= 3 * u64 * x).
{ apply Rle_trans with (2 := A). rewrite <- X. apply Rabs_triang_inv2. }
assert (B' : Rabs (Rabs (rnd64 (q i * ch)) - Rabs (q i * ch)) <= u64 * Rabs (q i * ch) + eta).
{ eapply Rle_trans; [apply Rabs_triang_inv2|exact B]. }
set (y := Rabs (q i * ch)) in *. set (z := Rabs (rnd64 (q i * ch))) in *.
assert (Pz : 0 <= z) by apply Rabs_pos. pose proof (rounded32 z) as C. rewrite (Rabs_pos_eq z Pz) in C.
apply Rabs_le_inv in A'. apply Rabs_le_inv in B'. apply Rabs_le_inv in C. apply Rabs_le.
assert (Ux : 0 <= u64 * x) by (apply Rmult_le_pos; lra).
assert (Ux2 : u64 * x <= / 100000 * (u32 * x)).
{ replace (/ 100000 * (u32 * x)) with (/ 100000 * u32 * x) by ring. apply Rmult_le_compat_r; lra. }
assert (Uy : u64 * y <= 2 * (u64 * x)).
{ replace (2 * (u64 * x)) with (u64 * (2 * x)) by ring. apply Rmult_le_compat_l; [lra|].
  assert (u64 * x <= / 4 * x) by (apply Rmult_le_compat_r; lra). lra. }
assert (Zx : z <= x + 6 * (u64 * x) + eta) by lra.
assert (Uz : u32 * z <= u32 * x + / 1000000 * (6 * (u64 * x) + eta)).
{ apply (Rmult_le_compat_l u32) in Zx; [|lra].
  assert (u32 * (6 * (u64 * x) + eta) <= / 1000000 * (6 * (u64 * x) + eta)) by (apply Rmult_le_compat_r; lra). lra. }
assert (Pux : 0 <= u32 * x) by (apply Rmult_le_pos; lra). lra.
Qed.

(** theorem: float_size — the size |scale| sum |q k| of a plain score, taken in float from a query and a key that are rounded to float, is within e^((d + 4) u) - 1 of the exact one, relatively, and what underflows. used by: src/softmax/condition_impl.h *)
Theorem float_size : 0 <= fl rnd32 rnd32 t /\ Rabs (fl rnd32 rnd32 t - size) <=
  (exp (INR (d + 4) * u32) - 1) * size + INR d * pow2 (-146) * (1 + qn + kn).
Proof.
assert (V : 0 <= u32 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
assert (P32 : 0 <= e32 <= / 1000000) by (split; [apply bpow_ge_0|apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|simpl; lra]]).
assert (E : size = sum d (fun i => Rabs c * Rabs (q i) * Rabs (k i))).
{ unfold size. rewrite <- sum_scal. apply sum_ext. intros; ring. }
assert (D4 : INR (d + 4) * u32 = INR (d + 1) * u32 + 3 * u32) by (rewrite !plus_INR; simpl; ring).
assert (Pd : 0 <= INR d) by apply pos_INR.
split; [apply nonneg_fl; [exact rnd32_pos|exact positive]|].
rewrite E, D4. set (S := sum d (fun i => Rabs c * Rabs (q i) * Rabs (k i))).
assert (PS : 0 <= S) by (apply sum_nonneg; intros; repeat apply Rmult_le_pos; apply Rabs_pos).
assert (H := dot_close rnd32 u32 e32 d (fun i => Rabs c * Rabs (q i))
  (fun i => rnd32 (Rabs (rnd64 (q i * ch)))) (fun i => Rabs (k i)) (fun i => rnd32 (Rabs (k i))) qn kn
  (u32 * (1 + / 1000)) u32 (2 * e32) e32 t rounded32 ltac:(lra)
  ltac:(intros i Hi; repeat split; [apply Rmult_le_pos; apply Rabs_pos|apply q_norm, Hi|apply rnd32_pos, Rabs_pos|apply scaled_query, Hi])
  ltac:(intros i Hi; repeat split; [apply Rabs_pos|apply k_norm, Hi|apply rnd32_pos, Rabs_pos|];
    pose proof (rounded32 (Rabs (k i))) as R; rewrite (Rabs_pos_eq (Rabs (k i))) in R by apply Rabs_pos; exact R)
  ltac:(repeat split; lra) chain depth_d ops_d ltac:(rewrite D4 in short; lra)).
fold S in H. eapply Rle_trans; [exact H|]. apply Rplus_le_compat.
- apply Rmult_le_compat_r; [exact PS|].
  assert (exp (u32 * (1 + / 1000) + u32 + INR (d + 1) * u32) <= exp (INR (d + 1) * u32 + 3 * u32)) by (apply exp_le; lra). lra.
- assert (E46 : pow2 (-146) = 16 * e32) by (change 16 with (pow2 4); rewrite <- bpow_plus; reflexivity).
  rewrite E46. destruct norms_pos as [Pq Pk].
  assert (0 <= INR d * e32) by (apply Rmult_le_pos; lra).
  assert (0 <= INR d * e32 * qn) by (apply Rmult_le_pos; lra).
  assert (0 <= INR d * e32 * kn) by (apply Rmult_le_pos; lra).
  assert (INR d * e32 * e32 <= INR d * e32 * 1) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Float.

Section Double.
(* The product with all of a bias, a linear bias and an inverse temperature, i exact and ih in double *)
Variables (d : nat) (q k : nat -> R) (c ch qn kn b step i ih : R) (t : tree).
Hypothesis scale : Rabs (ch - c) <= 3 * u64 * Rabs c.
Hypothesis inverse : Rabs (ih - i) <= u64 * Rabs ih.
Hypothesis q_norm : forall j, (j < d)%nat -> Rabs c * Rabs (q j) <= qn.
Hypothesis k_norm : forall j, (j < d)%nat -> Rabs (k j) <= kn.
Hypothesis chain : sums_up t d (fun j => Rabs (rnd64 (q j * ch))) (fun j => Rabs (k j)).
Hypothesis positive : nonneg t.
Hypothesis depth_d : (depth t <= d)%nat.
Hypothesis ops_d : (ops t <= 2 * d)%nat.
Hypothesis short : INR (d + 8) * u64 <= pow2 (-22).
Hypothesis norms_pos : 0 <= qn /\ 0 <= kn.

Let size := (Rabs c * sum d (fun j => Rabs (q j) * Rabs (k j)) + Rabs b + Rabs step) * Rabs i.

Lemma rnd64_pos z : 0 <= z -> 0 <= rnd64 z.
Proof.
intros H. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|exact H].
Qed.

(* y is computed for x: off by m roundings and by e *)
Definition near (y x m e : R) := 0 <= x /\ 0 <= m * u64 <= / 100 /\ 0 <= e /\ Rabs (y - x) <= (exp (m * u64) - 1) * x + e.

Lemma exp_k m : 0 <= m * u64 <= / 100 -> 1 <= exp (m * u64) <= 1 + / 50.
Proof.
intros H. split; [pose proof (exp_above (m * u64)); lra|].
eapply Rle_trans; [apply exp_below; lra|]. assert (m * u64 * (m * u64) <= / 100 * (m * u64)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma near_rnd y x m e : near y x m e -> 0 <= (m + 1) * u64 <= / 100 -> near (rnd64 y) x (m + 1) (2 * e + eta).
Proof.
intros [P [K [E H]]] K1. assert (N : 0 <= eta) by apply bpow_ge_0. assert (U : 0 <= u64 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
repeat split; try lra. pose proof (exp_k m K) as EK.
pose proof (rounded y) as R. replace (rnd64 y - x) with ((rnd64 y - y) + (y - x)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. set (G := exp (m * u64)) in *.
assert (Y : Rabs y <= G * x + e).
{ replace y with (x + (y - x)) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_pos_eq x P). lra. }
apply (Rmult_le_compat_l u64) in Y; [|lra].
assert (G' : G * (1 + u64) <= exp ((m + 1) * u64)).
{ rewrite Rmult_plus_distr_r, Rmult_1_l, exp_plus. fold G. apply Rmult_le_compat_l; [lra|apply exp_above]. }
apply (Rmult_le_compat_r x) in G'; [|exact P].
assert (u64 * e <= / 1000000 * e) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma near_sum y x m e y' x' e' : near y x m e -> near y' x' m e' -> near (y + y') (x + x') m (e + e').
Proof.
intros [P [K [E H]]] [P' [_ [E' H']]]. repeat split; try lra.
replace (y + y' - (x + x')) with ((y - x) + (y' - x')) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma near_inverse y x m e : near y x m e -> 0 <= (m + 2) * u64 <= / 100 -> near (y * Rabs ih) (x * Rabs i) (m + 2) (e * Rabs ih).
Proof.
intros [P [K [E H]]] K2. assert (I1 := inverse).
assert (U : 0 <= u64 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]). pose proof (exp_k m K) as EK.
pose proof (Rabs_pos ih) as Pih. pose proof (Rabs_pos i) as Pi.
repeat split; try lra; try (apply Rmult_le_pos; lra).
assert (J : Rabs (Rabs ih - Rabs i) <= u64 * Rabs ih) by (eapply Rle_trans; [apply Rabs_triang_inv2|exact I1]).
apply Rabs_le_inv in J.
assert (J2 : Rabs ih <= Rabs i * (1 + 2 * u64)).
{ assert (u64 * Rabs ih <= / 1000000 * Rabs ih) by (apply Rmult_le_compat_r; lra).
  assert (u64 * (u64 * Rabs ih) <= / 1000000 * (u64 * Rabs ih)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (0 <= u64 * Rabs ih) by (apply Rmult_le_pos; lra).
  assert (u64 * Rabs ih <= u64 * (Rabs i + u64 * Rabs ih)) by (apply Rmult_le_compat_l; lra). lra. }
assert (J3 : Rabs (Rabs ih - Rabs i) <= 2 * u64 * Rabs i).
{ apply Rabs_le. split; [|lra]. assert (u64 * Rabs ih <= u64 * (Rabs i * (1 + 2 * u64))) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (u64 * Rabs i) <= / 1000000 * (u64 * Rabs i)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (0 <= u64 * Rabs i) by (apply Rmult_le_pos; lra). lra. }
replace (y * Rabs ih - x * Rabs i) with ((y - x) * Rabs ih + x * (Rabs ih - Rabs i)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq x P), (Rabs_pos_eq (Rabs ih)) by exact Pih.
set (G := exp (m * u64)) in *.
assert (A1 : Rabs (y - x) * Rabs ih <= ((G - 1) * x) * (Rabs i * (1 + 2 * u64)) + e * Rabs ih).
{ apply Rle_trans with (((G - 1) * x + e) * Rabs ih); [apply Rmult_le_compat_r; assumption|].
  rewrite Rmult_plus_distr_r. apply Rplus_le_compat_r. apply Rmult_le_compat_l; try assumption. apply Rmult_le_pos; lra. }
assert (A2 : x * Rabs (Rabs ih - Rabs i) <= x * (2 * u64 * Rabs i)) by (apply Rmult_le_compat_l; assumption).
assert (G' : G * (1 + 2 * u64) <= exp ((m + 2) * u64)).
{ rewrite Rmult_plus_distr_r, exp_plus. fold G. apply Rmult_le_compat_l; [lra|apply exp_above]. }
assert (Pxi : 0 <= x * Rabs i) by (apply Rmult_le_pos; assumption).
apply (Rmult_le_compat_r (x * Rabs i)) in G'; [|exact Pxi]. lra.
Qed.

(** theorem: double_size — the size of a score with bias, slope and temperature, as computed in double, is within d + 11 roundings of the exact one, relatively, and what underflows. used by: src/softmax/pass_impl.h *)
Theorem double_size :
  let all := rnd64 (rnd64 (fl rnd64 rnd64 t + Rabs b) + Rabs (rnd64 step)) in
  let size' := rnd64 (all * Rabs ih) in
  let close y := 0 <= y /\ Rabs (y - size) <= (exp (INR (d + 11) * u64) - 1) * size + INR (d + 1) * (64 * eta * (1 + Rabs ih)) * (1 + qn + kn) in
  close size' /\ (i = 1 -> close all) /\ (i = 1 -> b = 0 -> step = 0 -> close (fl rnd64 rnd64 t)).
Proof.
intros all size' close. assert (U : 0 <= u64 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
assert (N : 0 <= eta) by apply bpow_ge_0. assert (N1 : eta <= / 1000000).
{ apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|simpl; lra]. }
destruct norms_pos as [Pq Pk]. assert (Pd := pos_INR d).
assert (Pt : 0 <= fl rnd64 rnd64 t) by (apply nonneg_fl; [exact rnd64_pos|exact positive]).
assert (Pall : 0 <= all).
{ apply rnd64_pos, Rplus_le_le_0_compat; [apply rnd64_pos, Rplus_le_le_0_compat; [exact Pt|apply Rabs_pos]|apply Rabs_pos]. }
assert (D : forall m, INR (d + m) = INR d + INR m) by (intros; apply plus_INR).
assert (S22 : pow2 (-22) <= / 1000000) by (simpl; lra).
assert (Du : 0 <= INR d * u64 <= / 1000000).
{ split; [apply Rmult_le_pos; lra|]. rewrite D in short. simpl (INR 8) in short. lra. }
set (P := sum d (fun j => Rabs c * Rabs (q j) * Rabs (k j))).
assert (EP : Rabs c * sum d (fun j => Rabs (q j) * Rabs (k j)) = P).
{ unfold P. rewrite <- sum_scal. apply sum_ext. intros; ring. }
assert (PP : 0 <= P) by (apply sum_nonneg; intros; repeat apply Rmult_le_pos; apply Rabs_pos).
assert (Q : forall j, (j < d)%nat -> Rabs (Rabs (rnd64 (q j * ch)) - Rabs c * Rabs (q j)) <=
  401/100 * u64 * (Rabs c * Rabs (q j)) + eta).
{ intros j Hj. set (x := Rabs c * Rabs (q j)). assert (Px : 0 <= x) by (apply Rmult_le_pos; apply Rabs_pos).
  assert (X : Rabs (q j * c) = x) by (unfold x; rewrite Rabs_mult; ring).
  assert (A : Rabs (q j * ch - q j * c) <= 3 * u64 * x).
  { replace (q j * ch - q j * c) with (q j * (ch - c)) by ring. rewrite Rabs_mult. unfold x.
    apply Rle_trans with (Rabs (q j) * (3 * u64 * Rabs c)); [apply Rmult_le_compat_l; [apply Rabs_pos|exact scale]|lra]. }
  assert (A' : Rabs (q j * ch) <= x + 3 * u64 * x).
  { replace (q j * ch) with (q j * c + (q j * ch - q j * c)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  apply (Rmult_le_compat_l u64) in A'; [|lra].
  assert (Uxx : 0 <= u64 * x) by (apply Rmult_le_pos; lra).
  assert (u64 * (u64 * x) <= / 1000000 * (u64 * x)) by (apply Rmult_le_compat_r; lra).
  assert (G : Rabs (rnd64 (q j * ch) - q j * c) <= 401 / 100 * u64 * x + eta).
  { replace (rnd64 (q j * ch) - q j * c) with ((rnd64 (q j * ch) - q j * ch) + (q j * ch - q j * c)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. pose proof (rounded (q j * ch)). lra. }
  apply Rle_trans with (2 := G). rewrite <- X. apply Rabs_triang_inv2. }
assert (H := dot_close rnd64 u64 eta d (fun j => Rabs c * Rabs (q j)) (fun j => Rabs (rnd64 (q j * ch)))
  (fun j => Rabs (k j)) (fun j => Rabs (k j)) qn kn (401/100 * u64) 0 eta 0 t rounded ltac:(lra)
  ltac:(intros j Hj; repeat split; [apply Rmult_le_pos; apply Rabs_pos|apply q_norm, Hj|apply Rabs_pos|apply Q, Hj])
  ltac:(intros j Hj; repeat split; [apply Rabs_pos|apply k_norm, Hj|apply Rabs_pos|];
    replace (Rabs (k j) - Rabs (k j)) with 0 by ring; rewrite Rabs_R0; lra)
  ltac:(repeat split; lra) chain depth_d ops_d ltac:(rewrite D; simpl (INR 1); lra)).
fold P in H. set (e0 := INR (d + 1) * (6 * eta) * (1 + qn + kn)).
assert (Pdq : 0 <= INR d * eta) by (apply Rmult_le_pos; lra).
assert (Pe0 : 0 <= e0) by (unfold e0; repeat apply Rmult_le_pos; try lra; apply pos_INR).
assert (X1 : 0 <= INR d * eta * qn) by (apply Rmult_le_pos; lra).
assert (X2 : 0 <= INR d * eta * kn) by (apply Rmult_le_pos; lra). assert (X3 : 0 <= eta * qn) by (apply Rmult_le_pos; lra).
assert (X4 : 0 <= eta * kn) by (apply Rmult_le_pos; lra).
assert (H0 : near (fl rnd64 rnd64 t) P (INR d + 51/10) e0).
{ repeat split; try lra. apply Rle_trans with (1 := H). apply Rplus_le_compat.
  - apply Rmult_le_compat_r; [exact PP|]. rewrite D. simpl (INR 1).
    assert (exp (401 / 100 * u64 + 0 + (INR d + 1) * u64) <= exp ((INR d + 51 / 10) * u64)) by (apply exp_le; lra). lra.
  - unfold e0. rewrite D. simpl (INR 1). lra. }
assert (Self : forall x kk, 0 <= x -> 0 <= kk * u64 <= / 100 -> near x x kk 0).
{ intros x kk Hx Hk. repeat split; try lra. replace (x - x) with 0 by ring. rewrite Rabs_R0.
  pose proof (exp_k kk Hk). assert (0 <= (exp (kk * u64) - 1) * x) by (apply Rmult_le_pos; lra). lra. }
assert (B1 := near_sum _ _ _ _ _ _ _ H0 (Self (Rabs b) (INR d + 51/10) (Rabs_pos b) ltac:(lra))).
assert (B2 := near_rnd _ _ _ _ B1 ltac:(lra)).
assert (B3 : near (Rabs (rnd64 step)) (Rabs step) (INR d + 51/10 + 1) eta).
{ repeat split; try apply Rabs_pos; try lra. eapply Rle_trans; [apply Rabs_triang_inv2|].
  eapply Rle_trans; [apply rounded|]. apply Rplus_le_compat_r, Rmult_le_compat_r; [apply Rabs_pos|].
  pose proof (exp_above ((INR d + 51/10 + 1) * u64)). lra. }
assert (B4 := near_rnd _ _ _ _ (near_sum _ _ _ _ _ _ _ B2 B3) ltac:(lra)). fold all in B4.
assert (B5 := near_rnd _ _ _ _ (near_inverse _ _ _ _ B4 ltac:(lra)) ltac:(lra)). fold size' in B5.
set (e1 := 2 * (2 * (e0 + 0) + eta + eta) + eta) in *.
assert (E1 : e1 <= INR (d + 1) * (30 * eta) * (1 + qn + kn)).
{ unfold e1, e0. rewrite D. simpl (INR 1). lra. }
assert (Pe1 : 0 <= e1) by (unfold e1; lra).
assert (PD : 1 <= INR (d + 1) * (1 + qn + kn)).
{ rewrite D. simpl (INR 1). assert (0 <= INR d * (qn + kn)) by (apply Rmult_le_pos; lra). lra. }
pose proof (Rabs_pos ih) as Pih. pose proof (pos_INR (d + 1)) as Pd1.
assert (E3 : eta * 1 <= eta * (INR (d + 1) * (1 + qn + kn))) by (apply Rmult_le_compat_l; lra).
assert (E2 : 2 * (e1 * Rabs ih) + eta <= INR (d + 1) * (64 * eta * (1 + Rabs ih)) * (1 + qn + kn)).
{ apply (Rmult_le_compat_r (Rabs ih)) in E1; [|exact Pih].
  assert (0 <= INR (d + 1) * (1 + qn + kn) * (eta * Rabs ih)) by (repeat apply Rmult_le_pos; lra). lra. }
assert (E4 : e1 <= INR (d + 1) * (64 * eta * (1 + Rabs ih)) * (1 + qn + kn)).
{ assert (0 <= INR (d + 1) * (1 + qn + kn) * (eta * Rabs ih)) by (repeat apply Rmult_le_pos; lra). lra. }
assert (K : forall kk, kk <= INR (d + 11) -> exp (kk * u64) <= exp (INR (d + 11) * u64)).
{ intros kk Hk. apply exp_le, Rmult_le_compat_r; lra. }
assert (Sz : (P + Rabs b + Rabs step) * Rabs i = size) by (unfold size; rewrite EP; reflexivity).
rewrite Sz in B5. destruct B5 as [S0 [_ [_ S5]]]. destruct B4 as [_ [_ [_ S4]]].
split; [split; [apply rnd64_pos, Rmult_le_pos; [exact Pall|apply Rabs_pos]|]|].
- apply Rle_trans with (1 := S5). apply Rplus_le_compat; [|exact E2]. apply Rmult_le_compat_r; [exact S0|].
  assert (L := K (INR d + 51/10 + 1 + 1 + 2 + 1) ltac:(rewrite D; simpl (INR 11); lra)). lra.
- split; intros Ei.
  2: { intros Eb Es. split; [exact Pt|]. destruct H0 as [_ [_ [_ H0]]]. rewrite <- Sz, Eb, Es, Ei, Rabs_R0, Rabs_R1, Rmult_1_r, !Rplus_0_r.
    apply Rle_trans with (1 := H0). apply Rplus_le_compat.
    - apply Rmult_le_compat_r; [exact PP|]. assert (L := K (INR d + 51/10) ltac:(rewrite D; simpl (INR 11); lra)). lra.
    - eapply Rle_trans; [|exact E4]. unfold e1. lra. }
  split; [exact Pall|]. rewrite <- Sz, Ei, Rabs_R1, Rmult_1_r. apply Rle_trans with (1 := S4).
  apply Rplus_le_compat.
  + apply Rmult_le_compat_r; [pose proof (Rabs_pos b); pose proof (Rabs_pos step); lra|].
    assert (L := K (INR d + 51/10 + 1 + 1) ltac:(rewrite D; simpl (INR 11); lra)). lra.
  + exact E4.
Qed.
End Double.
