(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The score that a key needs for a given weight, against N - 1 distractors of one score t0. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import positivity.partial_sums positivity.floors.
Open Scope R_scope.

(* f(t) / (f(t) + (N - 1) f(t0)) *)
Definition weight_against (f : R -> R) (N t t0 : R) : R := f t / (f t + (N - 1) * f t0).
Definition odds (N w : R) : R := (N - 1) * (w / (1 - w)).

Lemma weight_iff f N w t t0 : 0 < f t -> 0 < f t0 -> 1 < N -> 0 < w < 1 ->
  weight_against f N t t0 = w <-> f t = odds N w * f t0.
Proof.
intros Ht H0 HN Hw; unfold weight_against, odds.
assert (0 < f t + (N - 1) * f t0) by nra.
split; intros H1.
- assert (E : f t = w * (f t + (N - 1) * f t0)) by (rewrite <- H1; field; lra).
  apply Rmult_eq_reg_r with (1 - w); [|lra]. field_simplify; [|lra]. nra.
- rewrite H1. field. split; [lra|].
  replace ((N - 1) * w * f t0 + (N - 1) * f t0 * (1 - w)) with ((N - 1) * f t0) by ring. nra.
Qed.

Lemma T2_square t : T 2 t = ((1 + t) ^ 2 + 1) / 2.
Proof. simpl; field. Qed.

Lemma T2_pos t : 0 < T 2 t.
Proof. destruct (quadratic_floor t); lra. Qed.

(** theorem: alignment_quadratic — under T_2 weights a key has weight w in (0, 1) against N - 1
    distractors at score t0 iff its score t >= -1 is -1 + sqrt(2 c T_2(t0) - 1), c = (N-1) w/(1-w);
    where 2 c T_2(t0) < 1 no score has that weight.
    used by: src/positivity/alignment.c *)
Theorem alignment_quadratic N w t t0 : 1 < N -> 0 < w < 1 -> -1 <= t ->
  let c := odds N w in
  (1 <= 2 * c * T 2 t0 ->
     (weight_against (T 2) N t t0 = w <-> t = -1 + sqrt (2 * c * T 2 t0 - 1))) /\
  (2 * c * T 2 t0 < 1 -> weight_against (T 2) N t t0 <> w).
Proof.
intros HN Hw Ht c.
rewrite weight_iff by (auto using T2_pos). fold c. rewrite (T2_square t).
split.
- intros Hc; split; intros H.
  + replace (2 * c * T 2 t0 - 1) with ((1 + t) ^ 2) by nra.
    rewrite <- Rsqr_pow2, sqrt_Rsqr by lra; ring.
  + rewrite H. replace (1 + (-1 + sqrt (2 * c * T 2 t0 - 1))) with (sqrt (2 * c * T 2 t0 - 1)) by ring.
    rewrite pow2_sqrt by lra; field.
- intros Hc H; pose proof (pow2_ge_0 (1 + t)); nra.
Qed.

(** theorem: alignment_at_the_floor — with distractors at -1, where T_2 is least, weight w takes
    t = -1 + sqrt(c - 1), and weight 1/2 takes t = -1 + sqrt(N - 2).
    used by: src/positivity/alignment.c *)
Theorem alignment_at_the_floor N w t : 1 < N -> 0 < w < 1 -> -1 <= t ->
  (1 <= odds N w -> (weight_against (T 2) N t (-1) = w <-> t = -1 + sqrt (odds N w - 1))) /\
  (2 <= N -> (weight_against (T 2) N t (-1) = 1 / 2 <-> t = -1 + sqrt (N - 2))).
Proof.
intros HN Hw Ht.
assert (E : forall x, 2 * x * T 2 (-1) - 1 = x - 1) by (intros; rewrite T2_square; field).
split; intros H.
- destruct (alignment_quadratic N w t (-1) HN Hw Ht) as [L _].
  rewrite E in L; apply L. specialize (E (odds N w)); lra.
- destruct (alignment_quadratic N (1 / 2) t (-1) HN) as [L _]; [lra | exact Ht |].
  rewrite E in L. replace (odds N (1 / 2) - 1) with (N - 2) in L by (unfold odds; field).
  apply L. specialize (E (odds N (1 / 2))). revert E; unfold odds; intros E; lra.
Qed.

(** theorem: printed_alignment_weight — the printed alignment -1 + sqrt(2 (N-1) w/(1-w) - 1) against
    distractors at the floor gives weight 2w/(1+w) instead of w (2/3 for 1/2): it counts the floor
    twice.
    used by: claims S1-09 of data/claims/posfloor.yaml *)
Theorem printed_alignment_weight N w : 1 < N -> 0 < w < 1 -> 1 <= 2 * odds N w ->
  let t := -1 + sqrt (2 * odds N w - 1) in
  weight_against (T 2) N t (-1) = 2 * w / (1 + w) /\ 2 * w / (1 + w) <> w.
Proof.
intros HN Hw Hc t; split.
- apply weight_iff; auto using T2_pos.
  + split; [apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; lra]|].
    apply Rmult_lt_reg_r with (1 + w); [lra|]. field_simplify; lra.
  + rewrite !T2_square; unfold t.
    replace (1 + (-1 + sqrt (2 * odds N w - 1))) with (sqrt (2 * odds N w - 1)) by ring.
    rewrite pow2_sqrt by lra; unfold odds; field; repeat split; lra.
- intros H. assert (2 * w = w * (1 + w)) by (rewrite <- H at 2; field; lra). nra.
Qed.

(** theorem: alignment_softmax — under exp the alignment is t0 + log c.
    used by: src/positivity/alignment.c *)
Theorem alignment_softmax N w t t0 : 1 < N -> 0 < w < 1 ->
  (weight_against exp N t t0 = w <-> t = t0 + ln (odds N w)).
Proof.
intros HN Hw; rewrite weight_iff by (auto using exp_pos).
assert (Hc : 0 < odds N w).
{ unfold odds; apply Rmult_lt_0_compat; [lra|]. apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; lra]. }
replace (odds N w * exp t0) with (exp (t0 + ln (odds N w))) by (rewrite exp_plus, exp_ln by exact Hc; ring).
split; [apply exp_inv | intros ->; reflexivity].
Qed.

(** theorem: alignment_sqrt_law — for fixed w the alignment at the floor is Theta(sqrt N): with
    k = w/(1-w), sqrt(k N)/2 <= t(N) <= sqrt(k N) for all N >= 2 + 6/k.
    used by: src/positivity/alignment.c; claim S1-11 *)
Theorem alignment_sqrt_law N w : 0 < w < 1 -> let k := w / (1 - w) in 2 + 6 / k <= N ->
  sqrt (k * N) / 2 <= -1 + sqrt (odds N w - 1) <= sqrt (k * N).
Proof.
intros Hw k HN; unfold odds; fold k.
assert (Hk : 0 < k) by (apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; lra]).
assert (HkN : 2 * k + 6 <= k * N).
{ apply Rle_trans with (k * (2 + 6 / k)); [apply Req_le; field; lra | apply Rmult_le_compat_l; lra]. }
assert (HN0 : 0 < N) by nra.
set (r := sqrt (k * N)).
assert (Hr : r * r = k * N) by (apply sqrt_sqrt; nra).
assert (0 <= r) by apply sqrt_pos.
split.
- apply Rplus_le_reg_l with 1. replace (1 + (-1 + sqrt ((N - 1) * k - 1))) with (sqrt ((N - 1) * k - 1)) by ring.
  rewrite <- (sqrt_Rsqr (1 + r / 2)) by lra. apply sqrt_le_1_alt; unfold Rsqr.
  pose proof (pow2_ge_0 (r - 2)); nra.
- apply Rle_trans with (sqrt ((N - 1) * k - 1)); [lra | apply sqrt_le_1_alt; nra].
Qed.

Lemma fact_pos n : 0 < INR (fact n).
Proof. apply INR_fact_lt_0. Qed.

Lemma T_lower n t : 0 <= t -> t ^ n <= INR (fact n) * T n t.
Proof.
intros Ht; destruct n as [|n]; [simpl; lra|].
change (T (S n) t) with (T n t + t ^ S n / INR (fact (S n))).
pose proof (fact_pos (S n)); pose proof (T_ge_1 n t Ht).
rewrite Rmult_plus_distr_l.
replace (INR (fact (S n)) * (t ^ S n / INR (fact (S n)))) with (t ^ S n) by (field; lra). nra.
Qed.

Lemma T_upper n t : 0 <= t -> INR (fact n) * T n t <= (t + INR n) ^ n.
Proof.
intros Ht; induction n as [|n IH]; [simpl; lra|].
change (T (S n) t) with (T n t + t ^ S n / INR (fact (S n))).
rewrite Rmult_plus_distr_l.
replace (INR (fact (S n)) * (t ^ S n / INR (fact (S n)))) with (t ^ S n) by (field; apply INR_fact_neq_0).
rewrite fact_simpl, mult_INR, Rmult_assoc, !S_INR. pose proof (pos_INR n).
assert (P1 : t ^ n <= (t + INR n) ^ n) by (apply pow_incr; lra).
assert (P2 : (t + INR n) ^ n <= (t + (INR n + 1)) ^ n) by (apply pow_incr; lra).
assert (0 <= t ^ n) by (apply pow_le, Ht).
simpl pow. nra.
Qed.

(** theorem: alignment_growth — at order n >= 1 and for t >= 0, t^n <= n! T_n(t) <= (t + n)^n: the
    alignment that solves T_n(t) = y lies within n below the n-th root of n! y, so against
    distractors of one score it grows as the n-th root of N.
    used by: src/positivity/alignment.c; claim posfloor-higher-orders *)
Theorem alignment_growth n t y : (0 < n)%nat -> 0 <= t -> T n t = y ->
  let root := Rpower (INR (fact n) * y) (/ INR n) in t <= root <= t + INR n.
Proof.
intros Hn Ht <- root.
assert (Hn0 : 0 < INR n) by (apply lt_0_INR, Hn).
assert (Hy : 0 < INR (fact n) * T n t).
{ apply Rmult_lt_0_compat; [apply fact_pos | pose proof (T_ge_1 n t Ht); lra]. }
assert (Hr : root ^ n = INR (fact n) * T n t).
{ unfold root; rewrite <- Rpower_pow by apply exp_pos.
  rewrite Rpower_mult, Rinv_l by lra. apply Rpower_1, Hy. }
assert (0 < root) by apply exp_pos.
pose proof (T_lower n t Ht) as L; pose proof (T_upper n t Ht) as U; rewrite <- Hr in L, U.
assert (inc : forall a b, 0 <= a -> 0 <= b -> a ^ n <= b ^ n -> a <= b).
{ intros a b Ha Hb H1; apply Rnot_lt_le; intros H2.
  apply (Rle_not_lt _ _ H1). revert Hn; clear - Ha Hb H2; induction n as [|m IH]; [lia|]; intros _.
  destruct m as [|m]; [simpl; lra|]. assert (b ^ S m < a ^ S m) by (apply IH; lia).
  assert (0 <= b ^ S m) by (apply pow_le, Hb). simpl pow in *. nra. }
split; apply inc; lra.
Qed.
