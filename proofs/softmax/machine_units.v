(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* How src/softmax/bound.c counts the roundings of a score, dot_units() and weight_error(): what the
   products of roundings of machine_score.v are at most. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row enclosure.summation softmax.slope softmax.machine_score softmax.machine_softcap.
Open Scope R_scope.

(* gamma_units() times u, of x = n u *)
Definition gam (x : R) : R := if Rle_dec x (/ 8) then x / (1 - x) else 9 / 8 * (exp x - 1).

Lemma above z : 1 + z <= exp z.
Proof. destruct (Req_dec z 0) as [->|N]; [rewrite exp_0; lra|left; apply exp_ineq1, N]. Qed.

Lemma exp_inverse x : x < 1 -> exp x * (1 - x) <= 1.
Proof.
intros H. pose proof (above (- x)) as E. apply (Rmult_le_compat_l (exp x)) in E; [|left; apply exp_pos].
rewrite <- exp_plus in E. replace (x + - x) with 0 in E by ring. rewrite exp_0 in E. lra.
Qed.

(* room for a factor 1 + a *)
Lemma gam_above x a c : 0 <= x -> 0 <= a <= / 8 -> 8 / 7 * a <= c -> exp x * (1 + a) - 1 <= gam x + c.
Proof.
intros Hx Ha Hc. unfold gam. pose proof (exp_pos x) as P. destruct Rle_dec as [H|H].
- pose proof (exp_inverse x ltac:(lra)) as E.
  assert (Ex : exp x <= 1 + x / (1 - x)).
  { replace (1 + x / (1 - x)) with (/ (1 - x)) by (field; lra).
    apply (Rmult_le_reg_r (1 - x)); [lra|]. rewrite Rinv_l by lra. exact E. }
  assert (E8 : exp x * (7 / 8) <= exp x * (1 - x)) by (apply Rmult_le_compat_l; lra).
  assert (exp x * a <= 8 / 7 * a) by (apply Rmult_le_compat_r; lra). lra.
- assert (X : 9 / 8 <= exp x) by (pose proof (above x); lra).
  assert ((/ 8 - a) * (9 / 8) <= (/ 8 - a) * exp x) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma gam_pos x : 0 <= x -> 0 <= gam x.
Proof.
intros Hx. pose proof (gam_above x 0 0 Hx ltac:(lra) ltac:(lra)). pose proof (above x). lra.
Qed.

Lemma pow_exp u n : 0 <= u -> (1 + u) ^ n <= exp (INR n * u).
Proof.
intros Hu. induction n as [|n IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
rewrite S_INR, <- tech_pow_Rmult. replace ((INR n + 1) * u) with (u + INR n * u) by ring.
rewrite exp_plus. apply Rmult_le_compat; [lra|apply pow_le; lra|apply above|exact IH].
Qed.

Lemma pow_more u n m : 0 <= u -> (n <= m)%nat -> (1 + u) ^ n <= (1 + u) ^ m.
Proof. intros. apply Rle_pow; [lra|assumption]. Qed.

(* few roundings *)
Lemma few u n : 0 <= u <= / 256 -> (n <= 13)%nat -> 1 <= (1 + u) ^ n <= 1 + INR n * u * (1 + INR n * / 128) /\
  (1 + u) ^ n <= 9 / 8.
Proof.
intros Hu Hn. assert (P : 1 <= (1 + u) ^ n) by (apply pow_R1_Rle; lra).
assert (H : (1 + u) ^ n <= 1 + INR n * u * (1 + INR n * / 128)).
{ clear P. induction n as [|n IH]; [simpl; lra|].
  assert (Hn' : (n <= 13)%nat) by lia. specialize (IH Hn'). rewrite <- tech_pow_Rmult, S_INR.
  assert (0 <= INR n <= 13).
  { split; [apply pos_INR|]. apply le_INR in Hn'. simpl in Hn'. lra. }
  set (x := INR n) in *.
  assert (Q : (1 + u) * (1 + u) ^ n <= (1 + u) * (1 + x * u * (1 + x * / 128))) by (apply Rmult_le_compat_l; lra).
  eapply Rle_trans; [exact Q|].
  (* u x u (1 + x / 128) <= u (2 x + 1) / 128 *)
  assert (u * (x * u * (1 + x * / 128)) <= u * ((2 * x + 1) * / 128)).
  { apply Rmult_le_compat_l; [lra|].
    assert (x * u * (1 + x * / 128) <= x * / 256 * (1 + 13 / 128)).
    { apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra|apply Rmult_le_compat_l; lra|lra]. } lra. }
  lra. }
split; [split; assumption|]. eapply Rle_trans; [exact H|].
assert (0 <= INR n <= 13).
{ split; [apply pos_INR|]. apply le_INR in Hn. simpl in Hn. lra. }
assert (INR n * u * (1 + INR n * / 128) <= 13 * / 256 * (1 + 13 / 128)).
{ apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra|apply Rmult_le_compat; lra|lra]. }
lra.
Qed.

(* dot_units() times u: one format for products and sums, or one of more digits for sums *)
Definition dot_rel (d more : nat) (u ud : R) : R :=
  if Rle_dec u ud then gam (INR (d + more) * u)
  else gam (INR (more + 2) * u) + 9 / 8 * gam (INR (d + more) * ud).

Section Units.
Variables (u ud : R) (d i : nat) (r : R).
Hypothesis u_range : 0 <= u <= / 256.
Hypothesis ud_pos : 0 <= ud.
(* i = 1: inputs are rounded on their way in *)
Hypothesis one : (i <= 1)%nat.
(* what the score meets: inputs twice i, scale and its product, d in a sum that is one format; or
   beside them the product and the sum's rounding to products, and d roundings of the sum's own *)
Hypothesis counted : r <= if Rle_dec u ud then (1 + u) ^ (d + 2 + 2 * i) else (1 + u) ^ (4 + 2 * i) * (1 + ud) ^ d.
Definition rel := dot_rel d 3 u ud + 2 * INR i * u.

Lemma units m (c : R) n : (m <= 7)%nat ->
  (i = 0 /\ m <= n + 1 \/ i = 1 /\ m + 1 <= n)%nat -> (n <= 5)%nat ->
  8 / 7 * ((1 + u) ^ n - 1) <= c -> r * (1 + u) ^ m - 1 <= dot_rel d 3 u ud + c.
Proof.
intros Hm Hn H5 Hc. pose proof (few u n u_range ltac:(lia)) as [[F1 F2] F3].
assert (Pm : 1 <= (1 + u) ^ m) by (apply pow_R1_Rle; lra).
apply (Rmult_le_compat_r ((1 + u) ^ m)) in counted; [|lra].
unfold dot_rel. destruct Rle_dec as [H|H].
- rewrite <- pow_add in counted.
  assert (Q : (1 + u) ^ (d + 2 + 2 * i + m) <= (1 + u) ^ (d + 3 + n)) by (apply pow_more; [lra|lia]).
  rewrite (pow_add _ (d + 3) n) in Q. pose proof (pow_exp u (d + 3) (proj1 u_range)) as X.
  assert ((1 + u) ^ (d + 3) * (1 + u) ^ n <= exp (INR (d + 3) * u) * (1 + u) ^ n) by (apply Rmult_le_compat_r; lra).
  pose proof (gam_above (INR (d + 3) * u) ((1 + u) ^ n - 1) c) as G.
  assert (0 <= INR (d + 3) * u) by (apply Rmult_le_pos; [apply pos_INR|lra]).
  assert ((1 + u) ^ n - 1 <= / 8) by lra. specialize (G H1 ltac:(lra) Hc).
  replace (1 + ((1 + u) ^ n - 1)) with ((1 + u) ^ n) in G by ring. lra.
- assert (Q : (1 + u) ^ (4 + 2 * i) * (1 + u) ^ m <= (1 + u) ^ (5 + n)).
  { rewrite <- pow_add. apply pow_more; [lra|lia]. }
  pose proof (few u (5 + n) u_range ltac:(lia)) as [[K1 _] K3].
  rewrite (pow_add _ 5 n) in Q, K1, K3. pose proof (pow_exp u 5 (proj1 u_range)) as X.
  assert (Y : (1 + u) ^ 5 * (1 + u) ^ n <= exp (INR 5 * u) * (1 + u) ^ n) by (apply Rmult_le_compat_r; lra).
  pose proof (gam_above (INR (3 + 2) * u) ((1 + u) ^ n - 1) c) as G.
  assert (Z : 0 <= INR (3 + 2) * u) by (apply Rmult_le_pos; [apply pos_INR|lra]).
  specialize (G Z ltac:(lra) Hc). replace (1 + ((1 + u) ^ n - 1)) with ((1 + u) ^ n) in G by ring.
  change (INR (3 + 2)) with (INR 5) in *.
  assert (D : (1 + ud) ^ d <= 1 + gam (INR (d + 3) * ud)).
  { pose proof (pow_exp ud (d + 3) ud_pos) as W. assert ((1 + ud) ^ d <= (1 + ud) ^ (d + 3)) by (apply pow_more; [lra|lia]).
    pose proof (gam_above (INR (d + 3) * ud) 0 0) as W2.
    assert (0 <= INR (d + 3) * ud) by (apply Rmult_le_pos; [apply pos_INR|lra]). specialize (W2 H1 ltac:(lra) ltac:(lra)). lra. }
  pose proof (gam_pos (INR (d + 3) * ud) ltac:(apply Rmult_le_pos; [apply pos_INR|lra])) as Pg.
  set (P := (1 + u) ^ 5 * (1 + u) ^ n) in *. set (g := gam (INR (d + 3) * ud)) in *.
  assert (Pd : 1 <= (1 + ud) ^ d) by (apply pow_R1_Rle; lra).
  assert (T : (1 + u) ^ (4 + 2 * i) * (1 + ud) ^ d * (1 + u) ^ m <= P * (1 + g)).
  { replace ((1 + u) ^ (4 + 2 * i) * (1 + ud) ^ d * (1 + u) ^ m) with
      ((1 + u) ^ (4 + 2 * i) * (1 + u) ^ m * (1 + ud) ^ d) by ring.
    apply Rmult_le_compat; try lra. apply Rmult_le_pos; apply pow_le; lra. }
  assert (P * g <= 9 / 8 * g) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** theorem: machine_units — what bound.c charges for the roundings of a score covers them: dot_units(d, 3) and two units for inputs the score before all else, 8 units more bias, slope and temperature, and dot_units(d, 14) with softcap and all, for the score that sets the shift. used by: src/softmax/bound.c *)
Theorem machine_units : r - 1 <= rel /\ r * grow4 u - 1 <= rel + 8 * u /\
  (1 + u) * (1 + u) * (1 + u) * grow4 u - 1 <= 8 * u /\
  r * ((1 + u) * (1 + u) * (1 + u) * grow4 u) - 1 <= dot_rel d 14 u ud.
Proof.
assert (E4 : grow4 u = (1 + u) ^ 4) by (unfold grow4; ring).
assert (E7 : (1 + u) * (1 + u) * (1 + u) * grow4 u = (1 + u) ^ 7) by (unfold grow4; ring).
rewrite E7, E4. unfold rel.
assert (I : (i = 0 \/ i = 1)%nat) by lia.
assert (F : forall n, (n <= 5)%nat -> (1 + u) ^ n - 1 <= INR n * u * (1 + INR n * / 128)).
{ intros n Hn. pose proof (few u n u_range ltac:(lia)). lra. }
assert (C1 : 8 / 7 * ((1 + u) ^ 1 - 1) <= 2 * u) by (simpl; lra).
assert (C3 : 8 / 7 * ((1 + u) ^ 3 - 1) <= 8 * u) by (pose proof (F 3%nat ltac:(lia)); simpl INR in *; lra).
assert (C5 : 8 / 7 * ((1 + u) ^ 5 - 1) <= 10 * u) by (pose proof (F 5%nat ltac:(lia)); simpl INR in *; lra).
split; [|split; [|split]].
- pose proof (units 0) as T. destruct I as [-> | ->]; simpl INR.
  + specialize (T 0 0%nat ltac:(lia) ltac:(lia) ltac:(lia) ltac:(simpl; lra)). rewrite pow_O in T. lra.
  + specialize (T (2 * u) 1%nat ltac:(lia) ltac:(lia) ltac:(lia) C1). rewrite pow_O in T. lra.
- pose proof (units 4) as T. destruct I as [-> | ->]; simpl INR.
  + specialize (T (8 * u) 3%nat ltac:(lia) ltac:(lia) ltac:(lia) C3). lra.
  + specialize (T (10 * u) 5%nat ltac:(lia) ltac:(lia) ltac:(lia) C5). lra.
- pose proof (few u 7 u_range ltac:(lia)) as [[_ T] _]. simpl INR in T. lra.
- assert (P7 : 1 <= (1 + u) ^ 7) by (apply pow_R1_Rle; lra).
  assert (X := counted). apply (Rmult_le_compat_r ((1 + u) ^ 7)) in X; [|lra].
  unfold dot_rel. destruct Rle_dec as [H|H].
  + rewrite <- pow_add in X.
    assert (Q : (1 + u) ^ (d + 2 + 2 * i + 7) <= (1 + u) ^ (d + 14)) by (apply pow_more; [lra|lia]).
    pose proof (pow_exp u (d + 14) (proj1 u_range)).
    pose proof (gam_above (INR (d + 14) * u) 0 0) as W.
    assert (0 <= INR (d + 14) * u) by (apply Rmult_le_pos; [apply pos_INR|lra]). specialize (W H1 ltac:(lra) ltac:(lra)). lra.
  + assert (Q : (1 + u) ^ (4 + 2 * i) * (1 + u) ^ 7 <= (1 + u) ^ 13) by (rewrite <- pow_add; apply pow_more; [lra|lia]).
    pose proof (few u 13 u_range ltac:(lia)) as [[K1 _] K3].
    assert (Y : (1 + u) ^ 13 <= (1 + u) ^ (14 + 2)) by (apply pow_more; [lra|lia]).
    pose proof (pow_exp u (14 + 2) (proj1 u_range)).
    pose proof (gam_above (INR (14 + 2) * u) 0 0) as W.
    assert (Z : 0 <= INR (14 + 2) * u) by (apply Rmult_le_pos; [apply pos_INR|lra]). specialize (W Z ltac:(lra) ltac:(lra)).
    assert (Z' : 0 <= INR (d + 14) * ud) by (apply Rmult_le_pos; [apply pos_INR|lra]).
    pose proof (gam_above (INR (d + 14) * ud) 0 0 Z' ltac:(lra) ltac:(lra)) as W2.
    pose proof (gam_pos _ Z') as Pg. pose proof (pow_exp ud (d + 14) ud_pos) as V.
    assert (D : (1 + ud) ^ d <= (1 + ud) ^ (d + 14)) by (apply pow_more; [lra|lia]).
    set (g := gam (INR (d + 14) * ud)) in *. set (P := (1 + u) ^ 13) in *.
    assert (Pd : 1 <= (1 + ud) ^ d) by (apply pow_R1_Rle; lra).
    assert (T : (1 + u) ^ (4 + 2 * i) * (1 + ud) ^ d * (1 + u) ^ 7 <= P * (1 + g)).
    { replace ((1 + u) ^ (4 + 2 * i) * (1 + ud) ^ d * (1 + u) ^ 7) with
        ((1 + u) ^ (4 + 2 * i) * (1 + u) ^ 7 * (1 + ud) ^ d) by ring.
      apply Rmult_le_compat; try lra. apply Rmult_le_pos; apply pow_le; lra. }
    assert (P * g <= 9 / 8 * g) by (apply Rmult_le_compat_r; lra). lra.
Qed.
End Units.

(* ---- the sum of products ---- *)
(* What machine_score.v asks of it, for trees of any shape. *)
Lemma dot_tree (rp rnd : R -> R) up u eta d G (dot : (nat -> R) -> (nat -> R) -> R) :
  0 <= up -> 0 <= u -> 0 <= eta -> (forall x, Rabs (rp x - x) <= up * Rabs x + eta) ->
  (forall x, Rabs (rnd x - x) <= u * Rabs x + eta) ->
  (forall x y, exists t, dot x y = fl rp rnd t /\ sums_up t d x y /\
    (1 + up) * (1 + u) ^ depth t <= G /\ (ops t <= 2 * d)%nat) ->
  forall x y, Rabs (dot x y - sum d (fun a => x a * y a)) <=
    (G - 1) * sum d (fun a => Rabs (x a * y a)) + 2 * INR d * eta * G.
Proof.
intros Hp Hu He Rp Rn H x y. destruct (H x y) as [t [E [S [D O]]]]. rewrite E.
eapply Rle_trans; [apply (summation_tree rp rnd up u eta Hp Hu He Rp Rn t d x y S)|].
rewrite (sum_ext d (fun a => Rabs (x a * y a)) (fun a => Rabs (x a) * Rabs (y a))) by (intros; apply Rabs_mult).
assert (P : 0 <= sum d (fun a => Rabs (x a) * Rabs (y a))).
{ apply sum_nonneg. intros. apply Rmult_le_pos; apply Rabs_pos. }
apply le_INR in O. rewrite mult_INR in O. simpl INR in O.
assert (Q : 1 <= (1 + up) * (1 + u) ^ depth t).
{ assert (1 <= (1 + u) ^ depth t) by (apply pow_R1_Rle; lra).
  replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; lra. }
apply Rplus_le_compat; [apply Rmult_le_compat_r; lra|].
apply Rmult_le_compat; try lra; [apply Rmult_le_pos; [apply pos_INR|exact He]|].
apply Rmult_le_compat_r; [exact He|lra].
Qed.

Section Counts.
Variables (u ud ui G uf : R) (d i : nat).
Hypothesis u_pos : 0 <= u.
Hypothesis ud_pos : 0 <= ud.
Hypothesis one : (i <= 1)%nat.
Hypothesis ui_is : 0 <= ui <= INR i * u.
Hypothesis G_large : 1 <= G.

Lemma inputs : (1 + ui) * (1 + ui) <= (1 + u) ^ (2 * i).
Proof.
assert (I : (i = 0 \/ i = 1)%nat) by lia. destruct I as [-> | ->]; simpl in *.
- assert (ui = 0) by lra. subst ui. lra.
- rewrite Rmult_1_r. apply Rmult_le_compat; lra.
Qed.

(* products and sums in one format: d - 1 additions of rounded products, or d fused operations *)
Lemma counted_one : u <= ud -> G <= (1 + u) ^ d -> uf = 0 ->
  score_r u ui G uf <= if Rle_dec u ud then (1 + u) ^ (d + 2 + 2 * i) else (1 + u) ^ (4 + 2 * i) * (1 + ud) ^ d.
Proof.
intros Hd HG ->. destruct Rle_dec as [_|N]; [|contradiction]. unfold score_r. pose proof inputs as I.
rewrite !pow_add. replace ((1 + u) ^ 2) with ((1 + u) * (1 + u)) by ring.
assert (P : 0 <= (1 + ui) * (1 + ui)) by (apply Rmult_le_pos; lra).
assert (V : 0 <= (1 + u) * (1 + u)) by (apply Rmult_le_pos; lra).
apply Rle_trans with ((1 + u) ^ (2 * i) * ((1 + u) * (1 + u)) * (1 + u) ^ d); [|right; ring].
rewrite Rplus_0_r, Rmult_1_r. apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|].
apply Rmult_le_compat_r; assumption.
Qed.

(* sums in a format of more digits: the product and the sum are rounded to products *)
Lemma counted_two : ud < u -> G <= (1 + u) * (1 + ud) ^ d -> 0 <= uf <= u ->
  score_r u ui G uf <= if Rle_dec u ud then (1 + u) ^ (d + 2 + 2 * i) else (1 + u) ^ (4 + 2 * i) * (1 + ud) ^ d.
Proof.
intros Hd HG Hf. destruct Rle_dec as [N|_]; [lra|]. unfold score_r. pose proof inputs as I.
rewrite pow_add. replace ((1 + u) ^ 4) with ((1 + u) * (1 + u) * (1 + u) * (1 + u)) by ring.
assert (P : 0 <= (1 + ui) * (1 + ui)) by (apply Rmult_le_pos; lra).
assert (V : 0 <= (1 + u) * (1 + u)) by (apply Rmult_le_pos; lra).
apply Rle_trans with ((1 + u) ^ (2 * i) * ((1 + u) * (1 + u)) * ((1 + u) * (1 + ud) ^ d) * (1 + u)); [|right; ring].
apply Rmult_le_compat; try lra; [repeat apply Rmult_le_pos; lra|].
apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_r; assumption.
Qed.
End Counts.
