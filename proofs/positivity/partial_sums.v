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

(** theorem: exp_above_partial_sum_iff — for even n, exp t > T_n(t) iff t > 0.
    used by: src/positivity/functions.c; claim S1-16 *)
Theorem exp_above_partial_sum_iff n t : Nat.even n = true -> (T n t < exp t <-> 0 < t).
Proof.
intros He; split; [|apply exp_gt_T].
intros H; destruct (Rtotal_order t 0) as [Hlt|[->|Hgt]]; [|rewrite T_0, exp_0 in H; lra|exact Hgt].
destruct (exp_T_neg n t Hlt) as [H1 _]; specialize (H1 He); lra.
Qed.

Lemma T_even_pos n t : Nat.even n = true -> 0 < T n t.
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

(* Odd partial sums, by pairs of terms: T_{2k+1}(t) = sum_{j<=k} t^{2j}/(2j)! (1 + t/(2j+1)). *)
Lemma even_term_nonneg k t : 0 <= t ^ (2 * k + 2) / INR (fact (2 * k + 2)).
Proof.
apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, INR_fact_lt_0].
replace (2 * k + 2)%nat with (2 * (k + 1))%nat by lia.
rewrite pow_mult; apply pow_le, pow2_ge_0.
Qed.

Lemma T_odd_nonpos k t : t <= - INR (2 * k + 1) -> T (2 * k + 1) t <= 0.
Proof.
revert t; induction k as [|k IH]; intros t Ht; [simpl in *; lra|].
replace (2 * S k + 1)%nat with (2 * k + 3)%nat in * by lia. rewrite T_pair_odd.
assert (H1 : t <= - INR (2 * k + 1)).
{ eapply Rle_trans; [exact Ht|]; apply Ropp_le_contravar, le_INR; lia. }
specialize (IH t H1); pose proof (even_term_nonneg k t) as H2.
assert (H3 : 1 + t / INR (2 * k + 3) <= 0); [|nra].
assert (Hp : 0 < INR (2 * k + 3)) by (apply lt_0_INR; lia).
apply Rmult_le_reg_r with (INR (2 * k + 3)); [exact Hp|].
field_simplify; lra.
Qed.

Lemma T_odd_pos k t : -1 < t -> 0 < T (2 * k + 1) t.
Proof.
intros Ht; induction k as [|k IH]; [simpl; lra|].
replace (2 * S k + 1)%nat with (2 * k + 3)%nat by lia. rewrite T_pair_odd.
pose proof (even_term_nonneg k t) as H2.
assert (H3 : 0 < 1 + t / INR (2 * k + 3)); [|nra].
assert (Hp : 1 <= INR (2 * k + 3)) by (apply (le_INR 1); lia).
apply Rmult_lt_reg_r with (INR (2 * k + 3)); [lra|].
field_simplify; lra.
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

Lemma T_odd_root k : exists t, - INR (2 * k + 1) <= t <= -1 /\ T (2 * k + 1) t = 0.
Proof.
assert (Hl := T_odd_nonpos k _ (Rle_refl _)).
destruct Hl as [Hl|E].
- assert (Hneg : - INR (2 * k + 1) < 0) by (apply Ropp_lt_gt_0_contravar, lt_0_INR; lia).
  assert (H0 : 0 < T (2 * k + 1) 0) by (rewrite T_0; lra).
  destruct (IVT (T (2 * k + 1)) (- INR (2 * k + 1)) 0) as [z [[Hz1 Hz2] Hz]]; auto.
  + intros x; apply T_cont.
  + exists z; split; [split; [exact Hz1|] | exact Hz].
    destruct (Rle_dec z (-1)) as [H|H]; [exact H|]. pose proof (T_odd_pos k z); lra.
- exists (- INR (2 * k + 1)); split; [split; [lra|] | exact E].
  apply Ropp_le_contravar, (le_INR 1); lia.
Qed.

Lemma odd_form n : Nat.even n = false -> exists k, n = (2 * k + 1)%nat.
Proof.
intros Hn; apply Nat.odd_spec; rewrite <- Nat.negb_even, Hn; reflexivity.
Qed.

Lemma even_form n : Nat.even n = true -> exists k, n = (2 * k)%nat.
Proof. apply Nat.even_spec. Qed.

(** theorem: partial_sum_positive_iff — T_n > 0 on all of R iff n is even.
    used by: src/positivity/floor.c, src/taylor/exact.c; claim S1-04 *)
Theorem partial_sum_positive_iff n : (forall t, 0 < T n t) <-> Nat.even n = true.
Proof.
split; [|intros H t; apply T_even_pos, H].
intros H; destruct (Nat.even n) eqn:E; [reflexivity|].
destruct (odd_form n E) as [k ->].
specialize (H (- INR (2 * k + 1))); pose proof (T_odd_nonpos k _ (Rle_refl _)); lra.
Qed.

(** theorem: odd_partial_sum_zero — for odd n, T_n has exactly one real zero; it lies in [-n, -1].
    used by: src/positivity/floor.c *)
Theorem odd_partial_sum_zero n : Nat.even n = false ->
  exists z, (- INR n <= z <= -1 /\ T n z = 0) /\ forall y, T n y = 0 -> y = z.
Proof.
intros Hn; destruct (odd_form n Hn) as [k ->].
destruct (T_odd_root k) as [z [Hr Hz]]; exists z; repeat split; try tauto.
intros y Hy; destruct (Rtotal_order y z) as [H|[H|H]]; [|exact H|].
- pose proof (T_odd_incr k y z H); lra.
- pose proof (T_odd_incr k z y H); lra.
Qed.
