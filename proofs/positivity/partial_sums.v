(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* T_n, the partial sums of exp: where they are positive, and their minima. *)
From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(* T n t = sum_{k<=n} t^k/k!  (recursive form: easiest to differentiate) *)
Fixpoint T (n : nat) (t : R) : R :=
  match n with
  | O => 1
  | S m => T m t + t ^ n / INR (fact n)
  end.

Lemma T_sum n t : T n t = sum_f_R0 (fun k => t ^ k / INR (fact k)) n.
Proof.
induction n as [|n IH]; [simpl; field|].
change (T n t + t ^ S n / INR (fact (S n)) = sum_f_R0 (fun k => t ^ k / INR (fact k)) (S n)).
rewrite IH; reflexivity.
Qed.

Lemma T_0 n : T n 0 = 1.
Proof.
induction n as [|n IH]; [reflexivity|].
change (T n 0 + 0 ^ S n / INR (fact (S n)) = 1).
rewrite IH, pow_i by lia; unfold Rdiv; lra.
Qed.

Lemma monom_derive m c t : is_derive (fun t => t ^ m / c) t (INR m * t ^ pred m / c).
Proof. auto_derive; [exact I | unfold Rdiv; ring]. Qed.

Lemma T_derive n t : is_derive (T (S n)) t (T n t).
Proof.
induction n as [|n IH].
- unfold T; simpl; auto_derive; [exact I | field].
- change (is_derive (fun t => T (S n) t + t ^ S (S n) / INR (fact (S (S n)))) t
           (T n t + t ^ S n / INR (fact (S n)))).
  apply (is_derive_plus (T (S n)) (fun t => t ^ S (S n) / INR (fact (S (S n))))); [exact IH|].
  replace (t ^ S n / INR (fact (S n))) with
      (INR (S (S n)) * t ^ pred (S (S n)) / INR (fact (S (S n)))).
  + apply monom_derive.
  + rewrite (fact_simpl (S n)), mult_INR; simpl pred.
    field; repeat split; first [apply INR_fact_neq_0 | apply not_0_INR; lia].
Qed.

Lemma T_deriv n t : derivable_pt_lim (T (S n)) t (T n t).
Proof. apply is_derive_Reals, T_derive. Qed.

Lemma T_cont n t : continuity_pt (T n) t.
Proof.
destruct n as [|n].
- apply continuity_pt_const; intros x y; reflexivity.
- apply derivable_continuous_pt; exists (T n t); apply T_deriv.
Qed.

(** ** Sign of exp - T_n *)
Lemma exp_T_deriv n t :
  derivable_pt_lim (fun t => exp t - T (S n) t) t (exp t - T n t).
Proof.
apply derivable_pt_lim_minus; [apply derivable_pt_lim_exp | apply T_deriv].
Qed.

Lemma exp_gt_T n t : 0 < t -> T n t < exp t.
Proof.
revert t; induction n as [|n IH]; intros t Ht.
- simpl. assert (Hn : t <> 0) by lra. pose proof (exp_ineq1 t Hn); lra.
- destruct (MVT_cor2 (fun t => exp t - T (S n) t) (fun t => exp t - T n t) 0 t Ht)
    as [c [E [Hc _]]].
  { intros; apply exp_T_deriv. }
  rewrite exp_0, T_0 in E. specialize (IH c Hc). nra.
Qed.

Lemma exp_T_neg n t : t < 0 ->
  (Nat.even n = true -> exp t < T n t) /\ (Nat.even n = false -> T n t < exp t).
Proof.
revert t; induction n as [|n IH]; intros t Ht.
- split; [intros _ | discriminate]. simpl.
  rewrite <- exp_0; apply exp_increasing; exact Ht.
- destruct (MVT_cor2 (fun t => exp t - T (S n) t) (fun t => exp t - T n t) t 0 Ht)
    as [c [E [_ Hc]]].
  { intros; apply exp_T_deriv. }
  rewrite exp_0, T_0 in E. destruct (IH c Hc) as [He Ho].
  rewrite Nat.even_succ, <- Nat.negb_even.
  destruct (Nat.even n); cbn [negb]; split; try discriminate; intros _.
  + specialize (He eq_refl); nra.
  + specialize (Ho eq_refl); nra.
Qed.

Lemma exp_gt_T_even_iff n t : Nat.even n = true -> (T n t < exp t <-> 0 < t).
Proof.
intros He; split; [|apply exp_gt_T].
intros H; destruct (Rtotal_order t 0) as [Hlt|[->|Hgt]]; [|rewrite T_0, exp_0 in H; lra|exact Hgt].
destruct (exp_T_neg n t Hlt) as [H1 _]; specialize (H1 He); lra.
Qed.

(** theorem: T_even_pos — T_n > 0 on all of R for even n. used by: src/positivity/floor.c *)
Theorem T_even_pos n t : Nat.even n = true -> 0 < T n t.
Proof.
intros He; destruct (Rtotal_order t 0) as [Hlt|[->|Hgt]].
- destruct (exp_T_neg n t Hlt) as [H1 _]; specialize (H1 He); pose proof (exp_pos t); lra.
- rewrite T_0; lra.
- clear He. induction n as [|n IH]; [simpl; lra|].
  change (0 < T n t + t ^ S n / INR (fact (S n))).
  apply Rplus_lt_0_compat; [exact IH|].
  apply Rdiv_lt_0_compat; [apply pow_lt; exact Hgt | apply INR_fact_lt_0].
Qed.

Lemma T_ge_1 n t : 0 <= t -> 1 <= T n t.
Proof.
intros Ht; induction n as [|n IH]; [simpl; lra|].
change (1 <= T n t + t ^ S n / INR (fact (S n))).
assert (0 <= t ^ S n / INR (fact (S n))); [|lra].
apply Rmult_le_pos; [apply pow_le; exact Ht | left; apply Rinv_0_lt_compat, INR_fact_lt_0].
Qed.

(** ** Pairing of consecutive terms *)
Lemma T_pair k t : T (2 * k + 2) t =
  T (2 * k) t + t ^ (2 * k + 1) / INR (fact (2 * k + 1)) * (1 + t / INR (2 * k + 2)).
Proof.
replace (2 * k + 2)%nat with (S (S (2 * k))) by lia.
replace (2 * k + 1)%nat with (S (2 * k)) by lia.
change (T (2 * k) t + t ^ S (2 * k) / INR (fact (S (2 * k))) +
        t ^ S (S (2 * k)) / INR (fact (S (S (2 * k)))) =
  T (2 * k) t + t ^ S (2 * k) / INR (fact (S (2 * k))) * (1 + t / INR (S (S (2 * k))))).
rewrite (fact_simpl (S (2 * k))), mult_INR, <- (tech_pow_Rmult t (S (2 * k))).
field; repeat split; first [apply INR_fact_neq_0 | apply not_0_INR; lia].
Qed.

Lemma T_pair_odd k t : T (2 * k + 3) t =
  T (2 * k + 1) t + t ^ (2 * k + 2) / INR (fact (2 * k + 2)) * (1 + t / INR (2 * k + 3)).
Proof.
replace (2 * k + 3)%nat with (S (S (2 * k + 1))) by lia.
replace (2 * k + 2)%nat with (S (2 * k + 1)) by lia.
set (m := (2 * k + 1)%nat).
change (T m t + t ^ S m / INR (fact (S m)) + t ^ S (S m) / INR (fact (S (S m))) =
  T m t + t ^ S m / INR (fact (S m)) * (1 + t / INR (S (S m)))).
rewrite (fact_simpl (S m)), mult_INR, <- (tech_pow_Rmult t (S m)).
field; repeat split; first [apply INR_fact_neq_0 | apply not_0_INR; lia].
Qed.

(* odd partial sums are negative at and beyond -(2k+2) *)
Lemma T_odd_neg k t : t <= - INR (2 * k + 2) -> T (2 * k + 1) t < 0.
Proof.
revert t; induction k as [|k IH]; intros t Ht.
- simpl in *. lra.
- replace (2 * S k + 1)%nat with (2 * k + 3)%nat by lia. rewrite T_pair_odd.
  assert (H1 : t <= - INR (2 * k + 2)).
  { eapply Rle_trans; [exact Ht|]; apply Ropp_le_contravar, le_INR; lia. }
  specialize (IH t H1).
  assert (H2 : 0 <= t ^ (2 * k + 2) / INR (fact (2 * k + 2))).
  { apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, INR_fact_lt_0].
    replace (2 * k + 2)%nat with (2 * (k + 1))%nat by lia.
    rewrite pow_mult; apply pow_le, pow2_ge_0. }
  assert (H3 : 1 + t / INR (2 * k + 3) <= 0).
  { assert (Hp : 0 < INR (2 * k + 3)) by (apply lt_0_INR; lia).
    assert (t <= - INR (2 * k + 3)).
    { eapply Rle_trans; [exact Ht|]; apply Ropp_le_contravar, le_INR; lia. }
    apply Rmult_le_reg_r with (INR (2 * k + 3)); [exact Hp|].
    field_simplify; lra. }
  nra.
Qed.

Lemma T_odd_takes_neg n : Nat.even n = false -> exists t, T n t < 0.
Proof.
intros Hn. assert (Ho : Nat.Odd n).
{ apply Nat.odd_spec; rewrite <- Nat.negb_even, Hn; reflexivity. }
destruct Ho as [k ->]. exists (- INR (2 * k + 2)).
apply T_odd_neg, Rle_refl.
Qed.

(** ** Minima *)
Definition is_minimum (f : R -> R) (m : R) : Prop :=
  (exists x, f x = m) /\ forall x, m <= f x.

(* T_{2k+1} has a root in (-(2k+2), 0) *)
Lemma T_odd_root k : exists t, - INR (2 * k + 2) < t < 0 /\ T (2 * k + 1) t = 0.
Proof.
assert (Hneg : - INR (2 * k + 2) < 0).
{ apply Ropp_lt_gt_0_contravar, lt_0_INR; lia. }
assert (Hl : T (2 * k + 1) (- INR (2 * k + 2)) < 0) by (apply T_odd_neg, Rle_refl).
assert (H0 : 0 < T (2 * k + 1) 0) by (rewrite T_0; lra).
destruct (IVT (T (2 * k + 1)) (- INR (2 * k + 2)) 0) as [z [[Hz1 Hz2] Hz]]; auto.
- intros x; apply T_cont.
- exists z; split; [split|exact Hz].
  + destruct Hz1 as [H|H]; [exact H|subst z; lra].
  + destruct Hz2 as [H|H]; [exact H|subst z; lra].
Qed.

Lemma T_odd_incr k x y : x < y -> T (2 * k + 1) x < T (2 * k + 1) y.
Proof.
intros Hxy. replace (2 * k + 1)%nat with (S (2 * k)) by lia.
destruct (MVT_cor2 (T (S (2 * k))) (T (2 * k)) x y Hxy) as [c [E _]].
{ intros; apply T_deriv. }
assert (0 < T (2 * k) c).
{ apply T_even_pos; rewrite Nat.even_mul; reflexivity. }
nra.
Qed.

(* the root of T_{2k+1} is the strict global minimiser of T_{2k+2} *)
Lemma T_even_min k z x : T (2 * k + 1) z = 0 -> x <> z -> T (2 * k + 2) z < T (2 * k + 2) x.
Proof.
intros Hz Hx. replace (2 * k + 2)%nat with (S (2 * k + 1)) by lia.
destruct (Rdichotomy _ _ Hx) as [H|H].
- destruct (MVT_cor2 (T (S (2 * k + 1))) (T (2 * k + 1)) x z H) as [c [E [_ Hc]]].
  { intros; apply T_deriv. }
  pose proof (T_odd_incr k c z Hc). nra.
- destruct (MVT_cor2 (T (S (2 * k + 1))) (T (2 * k + 1)) z x H) as [c [E [Hc _]]].
  { intros; apply T_deriv. }
  pose proof (T_odd_incr k z c Hc). nra.
Qed.

Lemma T_even_has_min k : exists m, is_minimum (T (2 * k)) m.
Proof.
destruct k as [|k].
- exists 1; split; [exists 0; reflexivity | intros x; apply Rle_refl].
- replace (2 * S k)%nat with (2 * k + 2)%nat by lia.
  destruct (T_odd_root k) as [z [_ Hz]]. exists (T (2 * k + 2) z); split.
  + exists z; reflexivity.
  + intros x; destruct (Req_dec x z) as [->|Hx]; [apply Rle_refl|].
    left; apply T_even_min; assumption.
Qed.

Lemma T_even_min_unique_arg k : exists! z, forall x, T (2 * k + 2) z <= T (2 * k + 2) x.
Proof.
destruct (T_odd_root k) as [z [_ Hz]]. exists z; split.
- intros x; destruct (Req_dec x z) as [->|Hx]; [apply Rle_refl|].
  left; apply T_even_min; assumption.
- intros y Hy. destruct (Req_dec y z) as [->|Hn]; [reflexivity|].
  pose proof (T_even_min k z y Hz Hn). specialize (Hy z); lra.
Qed.

(* strict decrease at any negative point right of -(2k+2) *)
Lemma T_step_lt k t : - INR (2 * k + 2) < t < 0 -> T (2 * k + 2) t < T (2 * k) t.
Proof.
intros [H1 H2]. rewrite T_pair.
assert (Ha : t ^ (2 * k + 1) / INR (fact (2 * k + 1)) < 0).
{ replace (2 * k + 1)%nat with (S (2 * k)) at 1 by lia.
  rewrite <- tech_pow_Rmult, pow_mult.
  assert (0 < (t ^ 2) ^ k) by (apply pow_lt; nra).
  assert (0 < / INR (fact (2 * k + 1))) by (apply Rinv_0_lt_compat, INR_fact_lt_0).
  unfold Rdiv. assert (0 < (t^2)^k * / INR (fact (2 * k + 1))) by (apply Rmult_lt_0_compat; assumption).
  rewrite Rmult_assoc. nra. }
assert (Hb : 0 < 1 + t / INR (2 * k + 2)).
{ assert (Hp : 0 < INR (2 * k + 2)) by (apply lt_0_INR; lia).
  apply Rmult_lt_reg_r with (INR (2 * k + 2)); [exact Hp|].
  field_simplify; lra. }
nra.
Qed.

Lemma T_even_min_decr k m m' :
  is_minimum (T (2 * k)) m -> is_minimum (T (2 * (k + 1))) m' -> m' < m.
Proof.
replace (2 * (k + 1))%nat with (2 * k + 2)%nat by lia.
intros [[x Hx] Hm] [_ Hm'].
(* a minimiser of T_{2k} in (-(2k+2), 0) *)
assert (Hz : exists z, - INR (2 * k + 2) < z < 0 /\ T (2 * k) z <= m).
{ destruct k as [|k].
  - exists (-1); simpl in *; split; lra.
  - destruct (T_odd_root k) as [z [[Hz1 Hz2] Hz]]. exists z; split; [split; [|exact Hz2]|].
    + apply Rle_lt_trans with (2 := Hz1). apply Ropp_le_contravar, le_INR; lia.
    + rewrite <- Hx. replace (2 * S k)%nat with (2 * k + 2)%nat by lia.
      destruct (Req_dec x z) as [->|Hn]; [apply Rle_refl|].
      left; apply T_even_min; assumption. }
destruct Hz as [z [Hz Hmz]].
apply Rle_lt_trans with (T (2 * k + 2) z); [apply Hm'|].
apply Rlt_le_trans with (T (2 * k) z); [apply T_step_lt, Hz|exact Hmz].
Qed.

