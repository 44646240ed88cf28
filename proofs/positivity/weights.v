(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* T_n(t) as an attention weight beside exp t. *)
From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Attest Require Import problem.row positivity.partial_sums.
Open Scope R_scope.

(* e^{-t} T_n(t): all that follows rests on its derivative, -e^{-t} t^n/n!. *)
Definition ratio (n : nat) (t : R) : R := exp (- t) * T n t.

Lemma exp_opp_derive t : is_derive (fun t => exp (- t)) t (- exp (- t)).
Proof. auto_derive; [exact I | ring]. Qed.

Lemma ratio_derive n t : is_derive (ratio n) t (- (exp (- t) * t ^ n / INR (fact n))).
Proof.
destruct n as [|n].
- unfold ratio, T; auto_derive; [exact I | simpl; field].
- apply is_derive_Reals.
  replace (- (exp (- t) * t ^ S n / INR (fact (S n)))) with
    (- exp (- t) * T (S n) t + exp (- t) * T n t).
  + apply (derivable_pt_lim_mult (fun t => exp (- t)) (T (S n))).
    * apply is_derive_Reals, exp_opp_derive.
    * apply T_deriv.
  + change (T (S n) t) with (T n t + t ^ S n / INR (fact (S n))).
    field; apply INR_fact_neq_0.
Qed.

Lemma ratio_0 n : ratio n 0 = 1.
Proof. unfold ratio; rewrite Ropp_0, exp_0, T_0; ring. Qed.

(* The largest relative error for |t| <= x, in closed form: 1/n! int_0^x s^n e^s ds. *)
Definition weight_error (n : nat) (x : R) : R := (-1) ^ S n * (1 - ratio n (- x)).

Lemma weight_error_derive n x : is_derive (weight_error n) x (x ^ n * exp x / INR (fact n)).
Proof.
apply is_derive_Reals.
replace (x ^ n * exp x / INR (fact n)) with
  ((-1) ^ S n * (0 - - (exp (- - x) * (- x) ^ n / INR (fact n)) * -1)).
- apply (derivable_pt_lim_scal (fun x => 1 - ratio n (- x))).
  apply (derivable_pt_lim_minus (fun _ => 1) (fun x => ratio n (- x))).
  + apply derivable_pt_lim_const.
  + apply (derivable_pt_lim_comp Ropp (ratio n)).
    * apply is_derive_Reals; auto_derive; [exact I | ring].
    * apply is_derive_Reals, ratio_derive.
- rewrite Ropp_involutive. replace (- x) with (-1 * x) by ring. rewrite Rpow_mult_distr.
  replace ((-1) ^ S n * (0 - - (exp x * ((-1) ^ n * x ^ n) / INR (fact n)) * -1)) with
    (((-1) ^ n * (-1) ^ n) * (x ^ n * exp x / INR (fact n))) by (simpl; field; apply INR_fact_neq_0).
  rewrite <- Rpow_mult_distr. replace (-1 * -1) with 1 by ring. rewrite pow1; ring.
Qed.

Lemma weight_error_0 n : weight_error n 0 = 0.
Proof. unfold weight_error; rewrite Ropp_0, ratio_0; ring. Qed.

Lemma cont_up n s : continuous (fun s => s ^ n * exp s / INR (fact n)) s.
Proof. apply (ex_derive_continuous (fun s => s ^ n * exp s / INR (fact n))); auto_derive; exact I. Qed.

Lemma cont_down n s : continuous (fun s => s ^ n * exp (- s) / INR (fact n)) s.
Proof. apply (ex_derive_continuous (fun s => s ^ n * exp (- s) / INR (fact n))); auto_derive; exact I. Qed.

Lemma ratio_of_quotient n t : T n t / exp t = ratio n t.
Proof. unfold ratio, Rdiv; rewrite <- exp_Ropp; ring. Qed.

(** theorem: relative_error_integral — 1 - T_n(t)/e^t = 1/n! int_0^t s^n e^{-s} ds for all real t.
    used by: src/taylor/deviation.c *)
Theorem relative_error_integral n t :
  1 - T n t / exp t = RInt (fun s => s ^ n * exp (- s) / INR (fact n)) 0 t.
Proof.
rewrite ratio_of_quotient; symmetry; apply is_RInt_unique.
replace (1 - ratio n t) with (minus (- ratio n t) (- ratio n 0))
  by (rewrite ratio_0; unfold minus, plus, opp; simpl; ring).
apply (is_RInt_derive (fun t => - ratio n t)).
- intros x _. apply is_derive_Reals.
  replace (x ^ n * exp (- x) / INR (fact n)) with (- - (exp (- x) * x ^ n / INR (fact n)))
    by (field; apply INR_fact_neq_0).
  apply (derivable_pt_lim_opp (ratio n)), is_derive_Reals, ratio_derive.
- intros x _; apply cont_down.
Qed.

Lemma weight_error_integral n x :
  weight_error n x = RInt (fun s => s ^ n * exp s / INR (fact n)) 0 x.
Proof.
symmetry; apply is_RInt_unique.
replace (weight_error n x) with (minus (weight_error n x) (weight_error n 0))
  by (rewrite weight_error_0; unfold minus, plus, opp; simpl; ring).
apply (is_RInt_derive (weight_error n)); intros y _; [apply weight_error_derive | apply cont_up].
Qed.

(* A function whose derivative is larger grows faster. *)
Lemma compare f g f' g' x : 0 <= x -> f 0 <= g 0 ->
  (forall s, is_derive f s (f' s)) -> (forall s, is_derive g s (g' s)) ->
  (forall s, 0 <= s -> f' s <= g' s) -> f x <= g x.
Proof.
intros [Hx| <-] H0 Hf Hg H; [|exact H0].
destruct (MVT_cor2 (fun s => g s - f s) (fun s => g' s - f' s) 0 x Hx) as [c [E Hc]].
- intros c _; apply derivable_pt_lim_minus; apply is_derive_Reals; auto.
- assert (f' c <= g' c) by (apply H; lra). nra.
Qed.

Lemma zero_derive s : is_derive (fun _ : R => 0) s 0.
Proof. apply is_derive_Reals, derivable_pt_lim_const. Qed.

Lemma up_nonneg n s : 0 <= s -> 0 <= s ^ n * exp s / INR (fact n).
Proof.
intros; apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, INR_fact_lt_0].
apply Rmult_le_pos; [apply pow_le; assumption | left; apply exp_pos].
Qed.

Lemma weight_error_mono n x y : 0 <= x <= y -> weight_error n x <= weight_error n y.
Proof.
intros [Hx [Hxy| ->]]; [|lra].
destruct (MVT_cor2 (weight_error n) (fun s => s ^ n * exp s / INR (fact n)) x y Hxy) as [c [E Hc]].
- intros c _; apply is_derive_Reals, weight_error_derive.
- assert (H := up_nonneg n c ltac:(lra)). nra.
Qed.

Lemma weight_error_nonneg n x : 0 <= x -> 0 <= weight_error n x.
Proof. intros; rewrite <- (weight_error_0 n); apply weight_error_mono; lra. Qed.

Lemma error_right n t : 0 <= t -> 0 <= 1 - ratio n t <= weight_error n t.
Proof.
intros Ht.
assert (D : forall s, is_derive (fun t => 1 - ratio n t) s (exp (- s) * s ^ n / INR (fact n))).
{ intros s; apply is_derive_Reals.
  replace (exp (- s) * s ^ n / INR (fact n)) with (0 - - (exp (- s) * s ^ n / INR (fact n))) by ring.
  apply (derivable_pt_lim_minus (fun _ => 1) (ratio n)); [apply derivable_pt_lim_const|].
  apply is_derive_Reals, ratio_derive. }
split.
- apply (compare (fun _ => 0) (fun t => 1 - ratio n t) (fun _ => 0)
    (fun s => exp (- s) * s ^ n / INR (fact n))); auto using zero_derive.
  + rewrite ratio_0; lra.
  + intros s Hs; apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, INR_fact_lt_0].
    apply Rmult_le_pos; [left; apply exp_pos | apply pow_le, Hs].
- apply (compare (fun t => 1 - ratio n t) (weight_error n)
    (fun s => exp (- s) * s ^ n / INR (fact n)) (fun s => s ^ n * exp s / INR (fact n)));
    auto using weight_error_derive.
  + rewrite ratio_0, weight_error_0; lra.
  + intros s Hs. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, INR_fact_lt_0|].
    rewrite Rmult_comm; apply Rmult_le_compat_l; [apply pow_le, Hs|].
    destruct Hs as [Hs| <-]; [left; apply exp_increasing; lra | rewrite Ropp_0; lra].
Qed.

Lemma error_left n x : Rabs (1 - ratio n (- x)) = Rabs (weight_error n x).
Proof. unfold weight_error; rewrite Rabs_mult, pow_1_abs; ring. Qed.

Lemma weight_error_le n x : 0 <= x -> weight_error n x <= x ^ S n * (exp x / INR (fact (S n))).
Proof.
intros Hx.
apply (compare (weight_error n) (fun x => x ^ S n * (exp x / INR (fact (S n))))
  (fun s => s ^ n * exp s / INR (fact n))
  (fun s => s ^ n * exp s / INR (fact n) + s ^ S n * exp s / INR (fact (S n)))); auto.
- rewrite weight_error_0; rewrite pow_i by lia; unfold Rdiv; lra.
- apply weight_error_derive.
- intros s. set (c := INR (fact (S n))).
  replace (s ^ n * exp s / INR (fact n)) with ((INR (S n) * s ^ n) * exp s / c).
  2: { unfold c; rewrite fact_simpl, mult_INR; field; split; [apply INR_fact_neq_0 | apply not_0_INR; lia]. }
  assert (Hc : c <> 0) by apply INR_fact_neq_0. clearbody c.
  apply is_derive_Reals.
  replace (INR (S n) * s ^ n * exp s / c + s ^ S n * exp s / c) with
    ((INR (S n) * s ^ n) * (exp s / c) + s ^ S n * (exp s / c)) by (field; exact Hc).
  apply (derivable_pt_lim_mult (fun x => x ^ S n) (fun x => exp x / c)).
  + apply (derivable_pt_lim_pow s (S n)).
  + apply is_derive_Reals; auto_derive; [exact I | field; exact Hc].
- intros s Hs; pose proof (up_nonneg (S n) s Hs); lra.
Qed.

(** theorem: weight_error_bound — for |t| <= x the weight T_n(t) has, relative to e^t, an error of at
    most 1/n! int_0^x s^n e^s ds, attained at t = -x, and this is at most x^{n+1}/(n+1)! e^x.
    used by: src/taylor/deviation.c, src/toeplitz/exp_poly_error.c *)
Theorem weight_error_bound n x : 0 <= x ->
  let E := RInt (fun s => s ^ n * exp s / INR (fact n)) 0 x in
  (forall t, Rabs t <= x -> Rabs (1 - T n t / exp t) <= E) /\
  Rabs (1 - T n (- x) / exp (- x)) = E /\ E <= x ^ S n / INR (fact (S n)) * exp x.
Proof.
intros Hx E; unfold E; rewrite <- weight_error_integral; repeat split.
- intros t Ht; rewrite ratio_of_quotient; apply Rabs_range in Ht.
  destruct (Rle_dec 0 t) as [H|H].
  + destruct (error_right n t H); rewrite Rabs_pos_eq by assumption.
    apply Rle_trans with (weight_error n t); [assumption | apply weight_error_mono; lra].
  + replace t with (- - t) by ring; rewrite error_left, Rabs_pos_eq
      by (apply weight_error_nonneg; lra).
    apply weight_error_mono; lra.
- rewrite ratio_of_quotient, error_left; apply Rabs_pos_eq, weight_error_nonneg, Hx.
- eapply Rle_trans; [apply weight_error_le, Hx | apply Req_le; field; apply INR_fact_neq_0].
Qed.

(** ** Normalised weights: even order against softmax *)
Lemma ratio_decr_weak n s t : Nat.even n = true -> s < t ->
  ratio n t <= ratio n s /\ (~ (s < 0 < t) -> ratio n t < ratio n s).
Proof.
intros Hn Hst; destruct (even_form n Hn) as [k ->].
destruct (MVT_cor2 (ratio (2 * k)) (fun x => - (exp (- x) * x ^ (2 * k) / INR (fact (2 * k)))) s t Hst)
  as [c [E Hc]].
{ intros; apply is_derive_Reals, ratio_derive. }
assert (Hp : 0 <= c ^ (2 * k)) by (rewrite pow_mult; apply pow_le, pow2_ge_0).
assert (Hf : 0 < / INR (fact (2 * k))) by (apply Rinv_0_lt_compat, INR_fact_lt_0).
assert (He := exp_pos (- c)).
unfold Rdiv in E; split.
- assert (0 <= exp (- c) * c ^ (2 * k) * / INR (fact (2 * k))); [|nra].
  repeat apply Rmult_le_pos; lra.
- intros H; assert (c <> 0) by (intros ->; apply H; lra).
  assert (0 < c ^ (2 * k)).
  { rewrite pow_mult; apply pow_lt; nra. }
  assert (0 < exp (- c) * c ^ (2 * k) * / INR (fact (2 * k))); [|nra].
  repeat apply Rmult_lt_0_compat; lra.
Qed.

Lemma ratio_decr n s t : Nat.even n = true -> s < t -> ratio n t < ratio n s.
Proof.
intros Hn Hst; destruct (Rlt_dec s 0) as [Hs|Hs].
2: { apply ratio_decr_weak; [exact Hn | exact Hst | lra]. }
destruct (Rlt_dec 0 t) as [Ht|Ht].
2: { apply ratio_decr_weak; [exact Hn | exact Hst | lra]. }
apply Rlt_trans with (ratio n 0); apply ratio_decr_weak; try assumption; lra.
Qed.

(** theorem: likelihood_ratio — for even n and s < t, T_n(s)/T_n(t) > e^{s-t}: in normalised weights
    the Taylor kernel lies below softmax in monotone likelihood ratio order.
    used by: claims S1-17 of data/claims/posfloor.yaml *)
Theorem likelihood_ratio n s t : Nat.even n = true -> s < t -> exp (s - t) < T n s / T n t.
Proof.
intros Hn Hst; pose proof (ratio_decr n s t Hn Hst) as H; unfold ratio in H.
pose proof (T_even_pos n t Hn); pose proof (exp_pos s).
apply Rmult_lt_reg_r with (exp (- s) * T n t); [apply Rmult_lt_0_compat; [apply exp_pos | assumption]|].
replace (exp (s - t) * (exp (- s) * T n t)) with (exp (- t) * T n t).
- replace (T n s / T n t * (exp (- s) * T n t)) with (exp (- s) * T n s) by (field; lra); exact H.
- rewrite <- Rmult_assoc, <- exp_plus; do 2 f_equal; ring.
Qed.

Lemma fraction_lt a b c d : 0 < b -> 0 < d -> a * d < c * b -> a / b < c / d.
Proof.
intros Hb Hd H; apply Rmult_lt_reg_r with (b * d); [apply Rmult_lt_0_compat; assumption|].
replace (a / b * (b * d)) with (a * d) by (field; lra).
replace (c / d * (b * d)) with (c * b) by (field; lra); exact H.
Qed.

(** theorem: top_key_loses — for even n, unless all scores are equal, the key of the largest score has
    strictly less normalised weight than under softmax, and that of the smallest strictly more.
    used by: claims S1-17 of data/claims/posfloor.yaml *)
Theorem top_key_loses N n (s : nat -> R) m j : Nat.even n = true -> (m < N)%nat -> (j < N)%nat ->
  s j <> s m ->
  ((forall i, (i < N)%nat -> s i <= s m) ->
     T n (s m) / sum N (fun i => T n (s i)) < exp (s m) / sum N (fun i => exp (s i))) /\
  ((forall i, (i < N)%nat -> s m <= s i) ->
     exp (s m) / sum N (fun i => exp (s i)) < T n (s m) / sum N (fun i => T n (s i))).
Proof.
intros Hn Hm Hj Hne.
assert (PT : 0 < sum N (fun i => T n (s i))) by (apply sum_all_pos; [lia | intros; apply T_even_pos, Hn]).
assert (PE : 0 < sum N (fun i => exp (s i))) by (apply sum_all_pos; [lia | intros; apply exp_pos]).
assert (cross : forall x y, x < y -> T n y * exp x < T n x * exp y).
{ intros x y Hxy; pose proof (ratio_decr n x y Hn Hxy) as H; unfold ratio in H.
  pose proof (exp_pos x); pose proof (exp_pos y).
  replace (T n y * exp x) with (exp x * exp y * (exp (- y) * T n y)).
  - replace (T n x * exp y) with (exp x * exp y * (exp (- x) * T n x)).
    + apply Rmult_lt_compat_l; [apply Rmult_lt_0_compat; assumption | exact H].
    + rewrite exp_Ropp; field; lra.
  - rewrite exp_Ropp; field; lra. }
split; intros H; apply fraction_lt; try assumption;
  rewrite (Rmult_comm (exp (s m))), (Rmult_comm (T n (s m))), <- !sum_scal_r;
  (apply sum_lt with j; [|exact Hj|]).
- intros i Hi; destruct (H i Hi) as [L| ->]; [left; rewrite Rmult_comm; apply cross, L | lra].
- rewrite Rmult_comm; apply cross. destruct (H j Hj); [assumption | congruence].
- intros i Hi; destruct (H i Hi) as [L| ->]; [left; rewrite (Rmult_comm (exp (s i))); apply cross, L | lra].
- rewrite (Rmult_comm (exp (s j))); apply cross. destruct (H j Hj); [assumption | congruence].
Qed.
