(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* normReLU, ReLUmax and sparsemax are one family: [u - gap_i]_+, normalised. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row sparse.power sparse.threshold sparse.kernel_regression.
Open Scope R_scope.

Lemma compact_1 h2 D : compact 1 h2 D = Rmax 0 (1 - D / h2).
Proof. apply ppow_1. Qed.

Lemma Rmax_scal c x : 0 < c -> Rmax 0 (c * x) = c * Rmax 0 x.
Proof. intros H; rewrite <- RmaxRmult by lra; rewrite Rmult_0_r; reflexivity. Qed.

Lemma norm_scal n c w i : c <> 0 -> normalised n (fun j => c * w j) i = normalised n w i.
Proof.
intros Hc; unfold normalised; rewrite sum_scal.
destruct (Req_dec (sum n w) 0) as [E|E]; [rewrite E, Rmult_0_r; unfold Rdiv; rewrite Rinv_0; ring | field; auto].
Qed.

(** theorem: normrelu_is_epanechnikov — on unit vectors [s/g + b]_+ with g = h^2/2, b = 1 - 2/h^2 is
    [1 - D/h^2]_+; all weights vanish iff no key is nearer than h; h = sqrt 2 is [s]_+.
    used by: src/sparse/identities.c, src/sparse/kernel_impl.h *)
Theorem normrelu_is_epanechnikov n d q k h : 0 < h ->
  (forall i, (i < n)%nat -> norm2 d (k i) = 1) -> norm2 d q = 1 ->
  let s i := dot d (k i) q in
  let w i := Rmax 0 (s i / (h ^ 2 / 2) + (1 - 2 / h ^ 2)) in
  (forall i, (i < n)%nat -> w i = compact 1 (h ^ 2) (distance2 d (k i) q)) /\
  (sum n w = 0 <-> forall i, (i < n)%nat -> h ^ 2 <= distance2 d (k i) q) /\
  (h ^ 2 = 2 -> forall i, w i = Rmax 0 (s i)).
Proof.
intros Hh Hk Hq s w.
assert (Hh2 : 0 < h ^ 2) by (apply pow_lt, Hh).
assert (Hw : forall i, (i < n)%nat -> w i = compact 1 (h ^ 2) (distance2 d (k i) q)).
{ intros i Hi; rewrite compact_1; unfold w; f_equal.
  rewrite distance2_dot, Hk, Hq by exact Hi; fold (s i); field; lra. }
assert (Hc : forall D, compact 1 (h ^ 2) D = 0 <-> h ^ 2 <= D).
{ intros D; rewrite compact_1. replace (1 - D / h ^ 2) with ((h ^ 2 - D) / h ^ 2) by (field; lra).
  split; intros H.
  - apply Rnot_lt_le; intros C. assert (0 < (h ^ 2 - D) / h ^ 2) by (apply Rdiv_lt_0_compat; lra).
    rewrite Rmax_right in H; lra.
  - apply Rmax_left. apply Rmult_le_reg_r with (h ^ 2); [exact Hh2|]. field_simplify; lra. }
repeat split.
- exact Hw.
- intros H i Hi; apply Hc; rewrite <- Hw by exact Hi. apply Rle_antisym; [|apply Rmax_l].
  rewrite <- H; apply sum_ge_term; [intros; apply Rmax_l | exact Hi].
- intros H; apply sum_zero; intros i Hi; rewrite Hw by exact Hi; apply Hc, H, Hi.
- intros H i; unfold w; rewrite H; f_equal; field.
Qed.

(** theorem: relumax — for b, h > 0 and m the largest score, the weights [b + (s_i - m)/h^2]_+ have a
    sum of at least b; key i has weight iff s_i > m - b h^2; adding one number to all scores
    changes nothing.
    used by: src/sparse/kernel_impl.h, src/sparse/enclose.c *)
Theorem relumax n s m b h : 0 < h -> 0 < b -> is_max n s m ->
  let w i := Rmax 0 (b + (s i - s m) / h ^ 2) in
  b <= sum n w /\ (forall i, 0 < w i <-> s m - b * h ^ 2 < s i) /\
  (forall c i, Rmax 0 (b + ((s i + c) - (s m + c)) / h ^ 2) = w i).
Proof.
intros Hh Hb [Hm H] w.
assert (Hh2 : 0 < h ^ 2) by (apply pow_lt, Hh).
repeat split.
- apply Rle_trans with (w m).
  + unfold w; rewrite Rmax_right; unfold Rdiv; rewrite Rminus_eq_0, Rmult_0_l; lra.
  + apply sum_ge_term; [intros; apply Rmax_l | exact Hm].
- intros P. apply Rnot_le_lt; intros C. unfold w in P. rewrite Rmax_left in P; [lra|].
  apply Rmult_le_reg_r with (h ^ 2); [exact Hh2|]. rewrite Rmult_plus_distr_r, Rmult_0_l.
  replace ((s i - s m) / h ^ 2 * h ^ 2) with (s i - s m) by (field; lra). lra.
- intros P. apply Rlt_le_trans with (b + (s i - s m) / h ^ 2); [|apply Rmax_r].
  apply Rmult_lt_reg_r with (h ^ 2); [exact Hh2|]. rewrite Rmult_plus_distr_r, Rmult_0_l.
  replace ((s i - s m) / h ^ 2 * h ^ 2) with (s i - s m) by (field; lra). lra.
- intros c i; unfold w; do 2 f_equal. unfold Rdiv; f_equal; ring.
Qed.

(** theorem: relumax_is_epanechnikov — on unit vectors ReLUmax is the Epanechnikov estimate with
    H^2 = d_min^2 + 2 b h^2.
    used by: src/sparse/identities.c *)
Theorem relumax_is_epanechnikov n d q k m b h i : 0 < h -> 0 < b ->
  (forall i, (i < n)%nat -> norm2 d (k i) = 1) -> norm2 d q = 1 ->
  let s i := dot d (k i) q in
  let D i := distance2 d (k i) q in
  is_max n s m -> (i < n)%nat ->
  let H2 := D m + 2 * b * h ^ 2 in
  0 < H2 /\
  normalised n (fun i => Rmax 0 (b + (s i - s m) / h ^ 2)) i =
  normalised n (fun i => compact 1 H2 (D i)) i.
Proof.
intros Hh Hb Hk Hq s D [Hm Hmax] Hi H2.
assert (Hh2 : 0 < h ^ 2) by (apply pow_lt, Hh).
assert (P : 0 < H2).
{ unfold H2; assert (0 <= D m) by apply distance2_nonneg.
  assert (0 < b * h ^ 2) by (apply Rmult_lt_0_compat; assumption). lra. }
split; [exact P|].
assert (HD : forall i, (i < n)%nat -> D i = 2 - 2 * s i).
{ intros j Hj; unfold D, s; rewrite distance2_dot, Hk, Hq by exact Hj; ring. }
rewrite <- (norm_scal n (H2 / (2 * h ^ 2)) (fun i => compact 1 H2 (D i))).
- assert (E : forall j, (j < n)%nat -> Rmax 0 (b + (s j - s m) / h ^ 2) = H2 / (2 * h ^ 2) * compact 1 H2 (D j)).
  { intros j Hj; rewrite compact_1, <- Rmax_scal by (apply Rdiv_lt_0_compat; lra).
    f_equal; replace (H2 / (2 * h ^ 2) * (1 - D j / H2)) with ((H2 - D j) / (2 * h ^ 2)) by (field; lra).
    unfold H2; rewrite (HD j Hj), (HD m Hm); field; lra. }
  unfold normalised; rewrite (E i Hi); f_equal; apply sum_ext, E.
- apply Rgt_not_eq, Rdiv_lt_0_compat; lra.
Qed.

(** theorem: relumax_is_sparsemax — ReLUmax is sparsemax at temperature sum_i [b h^2 - (m - s_i)]_+.
    used by: src/sparse/identities.c *)
Theorem relumax_is_sparsemax n s m b h : 0 < h -> 0 < b -> is_max n s m ->
  let g := sum n (fun i => Rmax 0 (b * h ^ 2 - (s m - s i))) in
  let tau := (s m - b * h ^ 2) / g in
  0 < g /\ mass n 1 (fun i => s i / g) tau = 1 /\
  forall i, ppow 1 (s i / g - tau) = normalised n (fun i => Rmax 0 (b + (s i - s m) / h ^ 2)) i.
Proof.
intros Hh Hb [Hm Hmax] g tau.
assert (Hh2 : 0 < h ^ 2) by (apply pow_lt, Hh).
assert (Hbh : 0 < b * h ^ 2) by (apply Rmult_lt_0_compat; assumption).
assert (Hg : 0 < g).
{ apply sum_pos with m; [intros; apply Rmax_l | exact Hm | rewrite Rminus_eq_0, Rminus_0_r, Rmax_right; lra]. }
assert (E : forall i, ppow 1 (s i / g - tau) = / g * Rmax 0 (b * h ^ 2 - (s m - s i))).
{ intros i; rewrite ppow_1, <- Rmax_scal by (apply Rinv_0_lt_compat, Hg). f_equal; unfold tau; field; lra. }
repeat split; [exact Hg | |].
- unfold mass; rewrite (sum_ext n _ _ (fun i _ => E i)), sum_scal; fold g; field; lra.
- intros i; rewrite E.
  rewrite <- (norm_scal n (h ^ 2) (fun i => Rmax 0 (b + (s i - s m) / h ^ 2))) by lra.
  assert (F : forall j, h ^ 2 * Rmax 0 (b + (s j - s m) / h ^ 2) = Rmax 0 (b * h ^ 2 - (s m - s j))).
  { intros j; rewrite <- Rmax_scal by exact Hh2; f_equal; field; lra. }
  unfold normalised; rewrite F, (sum_ext n _ _ (fun j _ => F j)); fold g; field; lra.
Qed.
