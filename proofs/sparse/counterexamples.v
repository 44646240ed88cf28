(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* What fails without a hypothesis. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row sparse.power sparse.threshold sparse.kernel_regression.
Open Scope R_scope.

(* A point of the plane, and two keys. *)
Definition point (x y : R) (a : nat) : R := match a with O => x | _ => y end.
Definition two (x y : nat -> R) (i : nat) : nat -> R := match i with O => x | _ => y end.

Definition three (x y z : nat -> R) (i : nat) : nat -> R := match i with O => x | S O => y | _ => z end.

Ltac plane := unfold dot, distance2, norm2, two, three, point; simpl.

(** theorem: unequal_norms — keys of different norms: for q = (1, 0) and keys (2, 0), (0, 1), (1, 3) the
    threshold of sparsemax is 1 and 2 - 2 tau = 0, no bandwidth; for keys (2, 0), (3, 1) sparsemax puts
    all weight on the second, and no bandwidth whatever makes the Epanechnikov estimate do so.
    used by: src/sparse/compact.c *)
Theorem unequal_norms : let q := point 1 0 in
  mass 3 1 (entmax_scores 1 1 (fun i => dot 2 (three (point 2 0) (point 0 1) (point 1 3) i) q)) 1 = 1 /\
  2 - 2 * 1 * 1 * 1 = 0 /\
  let k := two (point 2 0) (point 3 1) in
  let x := entmax_scores 1 1 (fun i => dot 2 (k i) q) in
  mass 2 1 x 2 = 1 /\ ppow 1 (x 1%nat - 2) = 1 /\
  forall h2, 0 < h2 -> normalised 2 (fun i => compact 1 h2 (distance2 2 (k i) q)) 1 <> 1.
Proof.
intros q; split; [|split; [ring|]].
{ unfold mass, entmax_scores, q; simpl; rewrite !ppow_1; plane.
  match goal with |- 0 + Rmax 0 ?a + Rmax 0 ?b + Rmax 0 ?c = 1 =>
    replace a with 1 by field; replace b with (-1) by field; replace c with 0 by field end.
  rewrite (Rmax_right 0 1), (Rmax_left 0 (-1)), (Rmax_left 0 0) by lra; ring. }
intros k x.
assert (X0 : x 0%nat = 2) by (unfold x, entmax_scores, q, k; plane; field).
assert (X1 : x 1%nat = 3) by (unfold x, entmax_scores, q, k; plane; field).
split; [|split].
- unfold mass; simpl; rewrite X0, X1, !ppow_1.
  rewrite (Rmax_left 0 (2 - 2)), (Rmax_right 0 (3 - 2)) by lra; ring.
- rewrite X1, ppow_1, Rmax_right by lra; ring.
- intros h2 Hh E.
  assert (D0 : distance2 2 (k 0%nat) q = 1) by (unfold k, q; plane; ring).
  assert (D1 : distance2 2 (k 1%nat) q = 5) by (unfold k, q; plane; ring).
  unfold normalised in E; cbn [sum] in E; rewrite D0, D1, Rplus_0_l in E.
  assert (L : compact 1 h2 5 <= compact 1 h2 1).
  { apply ppow_le; [lra|]. assert (0 < / h2) by (apply Rinv_0_lt_compat, Hh). unfold Rdiv; lra. }
  assert (P : 0 <= compact 1 h2 5) by apply ppow_nonneg.
  destruct (Req_dec (compact 1 h2 1 + compact 1 h2 5) 0) as [Z|Z].
  + rewrite Z in E; unfold Rdiv in E; rewrite Rinv_0 in E; lra.
  + assert (compact 1 h2 5 = compact 1 h2 1 + compact 1 h2 5); [|lra].
    apply Rmult_eq_reg_r with (/ (compact 1 h2 1 + compact 1 h2 5)); [|apply Rinv_neq_0_compat, Z].
    rewrite Rinv_r by exact Z; exact E.
Qed.

(* ReLUmax with b = h = 1 on the scores x, 0, -1/2: the weight of the first key. *)
Definition first_weight (x : R) : R :=
  let m := Rmax x 0 in
  Rmax 0 (1 + (x - m)) / (Rmax 0 (1 + (x - m)) + Rmax 0 (1 + (0 - m)) + Rmax 0 (1 + (- (1 / 2) - m))).

Lemma first_right x : 0 <= x <= 1 / 2 -> first_weight x = 1 / (5 / 2 - 2 * x).
Proof.
intros H; unfold first_weight; rewrite (Rmax_left x 0) by lra.
rewrite !Rmax_right by lra; f_equal; lra.
Qed.

Lemma first_left x : -1 <= x <= 0 -> first_weight x = (1 + x) / (5 / 2 + x).
Proof.
intros H; unfold first_weight; rewrite (Rmax_right x 0) by lra.
rewrite !Rmax_right by lra; f_equal; lra.
Qed.

(** theorem: relumax_not_differentiable — "smooth, differentiable margin" is false: on the scores x, 0,
    -1/2 with b = h = 1 the first weight has no derivative at x = 0, where the maximum switches:
    its difference quotients are 0.8/(2.5 - 2x), so 0.32, from the right and 0.6/(2.5 + x), so 0.24,
    from the left.
    used by: src/sparse/compact.c *)
Theorem relumax_not_differentiable :
  (forall x, 0 < x <= 1 / 2 -> (first_weight x - first_weight 0) / x = (4 / 5) / (5 / 2 - 2 * x)) /\
  (forall x, -1 <= x < 0 -> (first_weight x - first_weight 0) / x = (3 / 5) / (5 / 2 + x)) /\
  forall l, ~ derivable_pt_lim first_weight 0 l.
Proof.
assert (Z : first_weight 0 = 2 / 5) by (rewrite first_right by lra; field).
assert (ER : forall x, 0 < x <= 1 / 2 -> (first_weight x - first_weight 0) / x = (4 / 5) / (5 / 2 - 2 * x)).
{ intros x H; rewrite Z, first_right by lra; field; lra. }
assert (EL : forall x, -1 <= x < 0 -> (first_weight x - first_weight 0) / x = (3 / 5) / (5 / 2 + x)).
{ intros x H; rewrite Z, first_left by lra; field; lra. }
assert (QR : forall x, 0 < x <= 1 / 2 -> 32 / 100 <= (first_weight x - first_weight 0) / x).
{ intros x H; rewrite ER by exact H. apply Rmult_le_reg_r with (5 / 2 - 2 * x); [lra|].
  replace (4 / 5 / (5 / 2 - 2 * x) * (5 / 2 - 2 * x)) with (4 / 5) by (field; lra). lra. }
assert (QL : forall x, - (1 / 10) <= x < 0 -> (first_weight x - first_weight 0) / x <= 25 / 100).
{ intros x H; rewrite EL by lra. apply Rmult_le_reg_r with (5 / 2 + x); [lra|].
  replace (3 / 5 / (5 / 2 + x) * (5 / 2 + x)) with (3 / 5) by (field; lra). lra. }
repeat split; [exact ER | exact EL|].
intros l H; destruct (H (3 / 100)) as [delta Hd]; [lra|].
set (x := Rmin (delta / 2) (1 / 10)).
assert (Hx : 0 < x <= 1 / 10 /\ x < delta).
{ pose proof (cond_pos delta); unfold x; repeat split; [apply Rmin_glb_lt; lra | apply Rmin_r |].
  apply Rle_lt_trans with (delta / 2); [apply Rmin_l | lra]. }
assert (A := Hd x); assert (B := Hd (- x)).
rewrite Rplus_0_l in A, B. rewrite Rabs_Ropp in B.
assert (Ax : Rabs x < delta) by (rewrite Rabs_pos_eq; lra).
specialize (A ltac:(lra) Ax); specialize (B ltac:(lra) Ax).
specialize (QR x ltac:(lra)); specialize (QL (- x) ltac:(lra)).
apply Rabs_def2 in A; apply Rabs_def2 in B; lra.
Qed.

(** theorem: relumax_retains_no_mass — "continuous analogue of nucleus selection": each dropped key has
    at most e^{-b} of the softmax weight of the top key, yet no mass is guaranteed: with one key
    at m and N keys at gap b h^2, all dropped, the kept key has softmax mass 1/(1 + N e^{-b}),
    which falls below every e > 0.
    used by: src/sparse/compact.c *)
Theorem relumax_retains_no_mass b : 0 < b ->
  (forall gap, b <= gap -> Rmax 0 (b - gap) = 0 /\ exp (- gap) <= exp (- b)) /\
  (forall N, exp 0 / sum (S N) (fun i => match i with O => exp 0 | _ => exp (- b) end)
     = 1 / (1 + INR N * exp (- b))) /\
  (forall e, 0 < e -> exists N, 1 / (1 + INR N * exp (- b)) < e).
Proof.
intros Hb; repeat split.
- intros; apply Rmax_left; lra.
- intros; destruct (Req_dec gap b) as [->|C]; [lra | left; apply exp_increasing; lra].
- intros N; rewrite exp_0; f_equal; induction N as [|N IH]; [simpl; lra|].
  rewrite S_INR; change (sum (S (S N)) (fun i => match i with O => 1 | _ => exp (- b) end)) with
    (sum (S N) (fun i => match i with O => 1 | _ => exp (- b) end) + exp (- b)). rewrite IH; ring.
- intros e He; pose proof (exp_pos (- b)) as P.
  destruct (archimed_cor1 (e * exp (- b))) as [N [H HN]]; [apply Rmult_lt_0_compat; assumption|].
  exists N. assert (HN0 : 0 < INR N) by (apply lt_0_INR, HN).
  assert (H0 : / e < INR N * exp (- b)).
  { apply Rmult_lt_compat_r with (r := INR N * / e) in H.
    - replace (/ INR N * (INR N * / e)) with (/ e) in H by (field; lra).
      replace (e * exp (- b) * (INR N * / e)) with (INR N * exp (- b)) in H by (field; lra). exact H.
    - apply Rmult_lt_0_compat; [exact HN0 | apply Rinv_0_lt_compat, He]. }
  assert (0 < / e) by (apply Rinv_0_lt_compat, He).
  apply Rmult_lt_reg_r with (/ e * (1 + INR N * exp (- b))); [apply Rmult_lt_0_compat; lra|].
  replace (1 / (1 + INR N * exp (- b)) * (/ e * (1 + INR N * exp (- b)))) with (/ e) by (field; lra).
  replace (e * (/ e * (1 + INR N * exp (- b)))) with (1 + INR N * exp (- b)) by (field; lra). lra.
Qed.
