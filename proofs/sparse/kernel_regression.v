(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Sparse attention as kernel regression: s_i = k_i . q, D_i = |k_i - q|^2. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row sparse.power sparse.threshold.
Open Scope R_scope.

Definition dot (d : nat) (x y : nat -> R) : R := sum d (fun a => x a * y a).
Definition distance2 (d : nat) (x y : nat -> R) : R := sum d (fun a => (x a - y a) * (x a - y a)).
Definition norm2 (d : nat) (x : nat -> R) : R := dot d x x.

Lemma distance2_dot d x y : distance2 d x y = norm2 d x + norm2 d y - 2 * dot d x y.
Proof.
unfold distance2, norm2, dot.
rewrite (sum_ext d _ (fun a => x a * x a + y a * y a - 2 * (x a * y a))) by (intros; ring).
rewrite sum_minus, sum_plus, sum_scal; ring.
Qed.

Lemma distance2_nonneg d x y : 0 <= distance2 d x y.
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

(* [1 - D/h2]_+^r, and weights w_i / sum w. *)
Definition compact (r h2 D : R) : R := ppow r (1 - D / h2).
Definition normalised (n : nat) (w : nat -> R) (i : nat) : R := w i / sum n w.

(* alpha-entmax at temperature g: x_i = s_i / (r g). *)
Definition entmax_scores (r g : R) (s : nat -> R) (i : nat) : R := s i / (r * g).

Section Keys.
Variables (n d : nat) (q : nat -> R) (k : nat -> nat -> R) (size_k size_q : R).
(* All keys of one norm, sqrt size_k; the query of norm sqrt size_q. *)
Hypothesis Hk : forall i, (i < n)%nat -> norm2 d (k i) = size_k.
Hypothesis Hq : norm2 d q = size_q.
Let s i := dot d (k i) q.
Let D i := distance2 d (k i) q.

Lemma D_of_s i : (i < n)%nat -> D i = size_k + size_q - 2 * s i.
Proof. intros H; unfold D, s; rewrite distance2_dot, Hq, Hk; auto. Qed.

Lemma s_le i : (i < n)%nat -> s i <= (size_k + size_q) / 2.
Proof. intros H; pose proof (distance2_nonneg d (k i) q); pose proof (D_of_s i H); unfold D in *; lra. Qed.

Section Entmax.
Variables (r g tau : R).
Hypothesis Hr : 0 < r.
Hypothesis Hg : 0 < g.
Hypothesis Ht : mass n r (entmax_scores r g s) tau = 1.
Let h2 := size_k + size_q - 2 * r * g * tau.
Let p i := ppow r (entmax_scores r g s i - tau).

Lemma rg_pos : 0 < r * g.
Proof. apply Rmult_lt_0_compat; assumption. Qed.

Lemma some_key : exists i, (i < n)%nat /\ tau < entmax_scores r g s i.
Proof.
assert (Hn : (0 < n)%nat) by (destruct n; [unfold mass in Ht; simpl in Ht; lra | lia]).
destruct (max_exists n (entmax_scores r g s) Hn) as [m Hm]; exists m.
split; [apply Hm | apply (below_max n r _ m tau Hm Ht)].
Qed.

Lemma h2_pos : 0 < h2.
Proof.
destruct some_key as [i [Hi H]]; pose proof (s_le i Hi); pose proof rg_pos.
unfold entmax_scores in H; apply Rmult_lt_compat_l with (r := r * g) in H; [|assumption].
replace (r * g * (s i / (r * g))) with (s i) in H by (field; lra). unfold h2; lra.
Qed.

Lemma p_compact i : (i < n)%nat -> p i = Rpower (h2 / (2 * r * g)) r * compact r h2 (D i).
Proof.
intros Hi; unfold p, compact; pose proof h2_pos; pose proof rg_pos.
rewrite <- ppow_scal by (apply Rmult_lt_0_compat; [assumption | apply Rinv_0_lt_compat; lra]).
f_equal; rewrite D_of_s by exact Hi; unfold entmax_scores, h2; field.
fold h2; repeat split; lra.
Qed.

Lemma compact_sum : Rpower (h2 / (2 * r * g)) r * sum n (fun i => compact r h2 (D i)) = 1.
Proof. rewrite <- Ht, <- sum_scal; unfold mass; apply sum_ext; intros i Hi; symmetry; apply p_compact, Hi. Qed.

Lemma entmax_compact i : (i < n)%nat -> p i = normalised n (fun i => compact r h2 (D i)) i.
Proof.
intros Hi; rewrite p_compact by exact Hi; unfold normalised.
assert (0 < Rpower (h2 / (2 * r * g)) r) by apply exp_pos.
pose proof compact_sum as E. set (S := sum n (fun i => compact r h2 (D i))) in *.
assert (S <> 0) by (intros C; rewrite C in E; lra).
replace (Rpower (h2 / (2 * r * g)) r) with (/ S); [field; assumption|].
apply Rmult_eq_reg_r with S; [rewrite Rinv_l; lra | assumption].
Qed.

Lemma gap_equation i : (i < n)%nat ->
  ppow r (h2 / 2 - D i / 2) = Rpower (r * g) r * p i.
Proof.
intros Hi; unfold p; pose proof rg_pos; rewrite <- ppow_scal by assumption.
f_equal; rewrite D_of_s by exact Hi; unfold h2, entmax_scores; field; lra.
Qed.
End Entmax.
End Keys.

(** theorem: entmax_is_kernel_regression — for all real r > 0, temperature g > 0, keys of one norm and
    any query: with tau the threshold, h^2 = |k|^2 + |q|^2 - 2 r g tau (2 - 2 r g tau for unit
    vectors) is positive, and the weights of (1 + 1/r)-entmax are the normalised [1 - D/h^2]_+^r.
    used by: src/sparse/identities.c, src/sparse/functions.c *)
Theorem entmax_is_kernel_regression n d q k size_k size_q r g tau :
  (forall i, (i < n)%nat -> norm2 d (k i) = size_k) -> norm2 d q = size_q -> 0 < r -> 0 < g ->
  let x := entmax_scores r g (fun i => dot d (k i) q) in
  let h2 := size_k + size_q - 2 * r * g * tau in
  mass n r x tau = 1 ->
  0 < h2 /\ forall i, (i < n)%nat ->
    ppow r (x i - tau) = normalised n (fun i => compact r h2 (distance2 d (k i) q)) i.
Proof.
intros Hk Hq Hr Hg x h2 Ht; split.
- apply (h2_pos n d q k size_k size_q Hk Hq r g tau Hr Hg Ht).
- intros i Hi; apply (entmax_compact n d q k size_k size_q Hk Hq r g tau Hr Hg Ht i Hi).
Qed.

(** theorem: bandwidth_range — on unit vectors d_min^2 + 2 r g n^(-1/r) <= h^2 <= d_min^2 + 2 r g, with
    equality on the left iff all keys tie, on the right iff one key has all the mass; and h^2 solves
    sum_i [(h^2 - D_i)/2]_+^r = (r g)^r.
    used by: src/sparse/identities.c, src/sparse/functions.c *)
Theorem bandwidth_range n d q k r g tau m :
  (forall i, (i < n)%nat -> norm2 d (k i) = 1) -> norm2 d q = 1 -> 0 < r -> 0 < g ->
  let s i := dot d (k i) q in
  let D i := distance2 d (k i) q in
  let x := entmax_scores r g s in
  let h2 := 2 - 2 * r * g * tau in
  is_max n s m -> mass n r x tau = 1 ->
  (forall i, (i < n)%nat -> D m <= D i) /\
  D m + 2 * r * g * least_gap n r <= h2 <= D m + 2 * r * g /\
  (h2 = D m + 2 * r * g * least_gap n r <-> forall i, (i < n)%nat -> s i = s m) /\
  (h2 = D m + 2 * r * g <-> exists i, (i < n)%nat /\ ppow r (x i - tau) = 1) /\
  sum n (fun i => ppow r (h2 / 2 - D i / 2)) = Rpower (r * g) r.
Proof.
intros Hk Hq Hr Hg s D x h2 Hm Ht.
assert (Hrg : 0 < r * g) by (apply Rmult_lt_0_compat; assumption).
assert (HD : forall i, (i < n)%nat -> D i = 2 - 2 * s i).
{ intros i Hi; unfold D; rewrite (D_of_s n d q k 1 1 Hk Hq i Hi); unfold s; ring. }
assert (Hx : forall i, x i = s i / (r * g)) by reflexivity.
assert (Hxm : is_max n x m).
{ destruct Hm as [H0 H]; split; [exact H0|]. intros i Hi; rewrite !Hx.
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Hrg | apply H, Hi]. }
assert (Hsx : r * g * x m = s m) by (rewrite Hx; field; lra).
destruct (threshold_in_bracket n r x m Hr Hxm) as [tau' [Hb Ht']].
assert (tau' = tau) by (apply (threshold_unique n r x m Hr Hxm); assumption); subst tau'.
destruct (threshold_ends n r x m tau Hr Hxm Ht) as [E1 E2].
assert (HDm := HD m (proj1 Hm)).
split; [|split; [|split; [|split]]].
- intros i Hi; rewrite HDm, HD by exact Hi. destruct Hm as [_ H]; specialize (H i Hi); lra.
- unfold h2; rewrite HDm, <- Hsx. split; nra.
- split; intros H.
  + assert (Ht1 : tau = x m - least_gap n r).
    { apply Rmult_eq_reg_l with (r * g); [|lra]. unfold h2 in H; rewrite HDm, <- Hsx in H; nra. }
    pose proof (proj1 E2 Ht1) as Ht2. intros i Hi; specialize (Ht2 i Hi); rewrite !Hx in Ht2.
    apply Rmult_eq_reg_r with (/ (r * g)); [exact Ht2 | apply Rinv_neq_0_compat; lra].
  + assert (Ht1 : tau = x m - least_gap n r).
    { apply E2; intros i Hi; rewrite !Hx, (H i Hi); reflexivity. }
    unfold h2; rewrite HDm, <- Hsx, Ht1; ring.
- rewrite <- E1; split; intros H.
  + apply Rmult_eq_reg_l with (r * g); [|lra]. unfold h2 in H; rewrite HDm, <- Hsx in H; nra.
  + unfold h2; rewrite HDm, <- Hsx, H; ring.
- rewrite (sum_ext n _ (fun i => Rpower (r * g) r * ppow r (x i - tau))).
  + rewrite sum_scal. unfold mass in Ht; rewrite Ht; ring.
  + intros i Hi. pose proof (gap_equation n d q k 1 1 Hk Hq r g tau Hr Hg i Hi) as G.
    unfold h2, D. replace (2 - 2 * r * g * tau) with (1 + 1 - 2 * r * g * tau) by ring. exact G.
Qed.

(** theorem: gaussian_is_softmax — keys of one norm: the Gaussian estimate with bandwidth h is softmax
    at temperature h^2.
    used by: src/sparse/identities.c *)
Theorem gaussian_is_softmax n d q k size h v : 0 < h ->
  (forall i, (i < n)%nat -> norm2 d (k i) = size) ->
  mean n (fun i => exp (- distance2 d (k i) q / (2 * h ^ 2))) v =
  mean n (fun i => exp (dot d (k i) q / h ^ 2)) v.
Proof.
intros Hh Hk. destruct (Nat.eq_dec n 0) as [->|Hn]; [reflexivity|].
assert (Hh2 : 0 < h ^ 2) by (apply pow_lt, Hh).
rewrite <- (mean_scal n (exp (- (size + norm2 d q) / (2 * h ^ 2))) (fun i => exp (dot d (k i) q / h ^ 2))).
- apply mean_ext; intros i Hi; rewrite <- exp_plus; f_equal.
  rewrite distance2_dot, Hk by exact Hi; field; lra.
- apply Rgt_not_eq, exp_pos.
- apply Rgt_not_eq, sum_all_pos; [lia | intros; apply exp_pos].
Qed.
