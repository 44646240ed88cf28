(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* What relative errors of unnormalised weights do to normalised weights and to the output.
   w_j > 0 weights, d_j their relative errors, |d_j| <= e < 1. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row.
Open Scope R_scope.

(* The sharp constant. *)
Definition sharp (e : R) : R := 2 * (1 - sqrt (1 - e ^ 2)) / e.

Lemma sqrt_facts e : 0 < e < 1 ->
  let s := sqrt (1 - e ^ 2) in s * s = 1 - e ^ 2 /\ 0 < s < 1.
Proof.
intros He s; assert (Hs : s * s = 1 - e ^ 2) by (apply sqrt_sqrt; nra).
assert (0 < s) by (apply sqrt_lt_R0; nra). split; [exact Hs | nra].
Qed.

Section Bound.
Variables (n : nat) (w d : nat -> R) (e : R).
Hypothesis He : 0 < e < 1.
Hypothesis Hw : forall j, (j < n)%nat -> 0 <= w j.
Hypothesis HW : 0 < sum n w.
Hypothesis Hd : forall j, (j < n)%nat -> Rabs (d j) <= e.

Let w' j := w j * (1 + d j).
Let a j := w j / sum n w.
Let a' j := w' j / sum n w'.
Let mu := sum n (fun j => a j * d j).

Lemma a_nonneg j : (j < n)%nat -> 0 <= a j.
Proof. intros; apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat, HW]. Qed.

Lemma a_sum : sum n a = 1.
Proof. unfold a, Rdiv; rewrite sum_scal_r; field; lra. Qed.

Lemma d_range j : (j < n)%nat -> - e <= d j <= e.
Proof. intros H; apply Rabs_range, Hd, H. Qed.

Lemma mu_range : - e <= mu <= e.
Proof.
assert (H1 : sum n (fun j => a j * - e) <= mu).
{ apply sum_le; intros j Hj; apply Rmult_le_compat_l; [apply a_nonneg, Hj | apply d_range, Hj]. }
assert (H2 : mu <= sum n (fun j => a j * e)).
{ apply sum_le; intros j Hj; apply Rmult_le_compat_l; [apply a_nonneg, Hj | apply d_range, Hj]. }
rewrite sum_scal_r, a_sum in H1, H2; lra.
Qed.

Lemma w'_sum : sum n w' = sum n w * (1 + mu).
Proof.
unfold w', mu, a.
rewrite (sum_ext n _ (fun j => w j + w j * d j)) by (intros; ring).
rewrite sum_plus, (sum_ext n (fun j => w j / sum n w * d j) (fun j => / sum n w * (w j * d j)))
  by (intros; unfold Rdiv; ring).
rewrite sum_scal; field; lra.
Qed.

Lemma w'_sum_pos : 0 < sum n w'.
Proof. rewrite w'_sum; pose proof mu_range; apply Rmult_lt_0_compat; lra. Qed.

Lemma a'_minus_a j : (j < n)%nat -> a' j - a j = a j * (d j - mu) / (1 + mu).
Proof.
intros; pose proof mu_range; unfold a'; rewrite w'_sum; unfold w', a; field; lra.
Qed.

(* |x - mu| lies below its chord on [-e, e]. *)
Lemma chord x : - e <= x <= e ->
  Rabs (x - mu) <= ((e + x) * (e - mu) + (e - x) * (e + mu)) / (2 * e).
Proof.
intros Hx; pose proof mu_range.
apply Rmult_le_reg_r with (2 * e); [lra|].
replace (((e + x) * (e - mu) + (e - x) * (e + mu)) / (2 * e) * (2 * e)) with
  ((e + x) * (e - mu) + (e - x) * (e + mu)) by (field; lra).
unfold Rabs; destruct Rcase_abs; nra.
Qed.

Lemma spread : sum n (fun j => a j * Rabs (d j - mu)) <= (e ^ 2 - mu ^ 2) / e.
Proof.
eapply Rle_trans.
- apply sum_le; intros j Hj; apply Rmult_le_compat_l; [apply a_nonneg, Hj | apply chord, d_range, Hj].
- rewrite (sum_ext n _ (fun j => a j * e - / e * (mu * (a j * d j)))) by (intros; field; lra).
  rewrite sum_minus, sum_scal_r, sum_scal, sum_scal, a_sum; fold mu.
  apply Req_le; field; lra.
Qed.

Lemma sharp_max : (e ^ 2 - mu ^ 2) / e / (1 + mu) <= sharp e.
Proof.
pose proof mu_range; destruct (sqrt_facts e He) as [Hs _]; unfold sharp.
set (s := sqrt (1 - e ^ 2)) in *.
apply Rmult_le_reg_r with (e * (1 + mu)); [nra|].
replace ((e ^ 2 - mu ^ 2) / e / (1 + mu) * (e * (1 + mu))) with (e ^ 2 - mu ^ 2) by (field; lra).
replace (2 * (1 - s) / e * (e * (1 + mu))) with (2 * (1 - s) * (1 + mu)) by (field; lra).
pose proof (pow2_ge_0 (s - (1 + mu))); nra.
Qed.

Lemma weights_bound : sum n (fun j => Rabs (a' j - a j)) <= sharp e.
Proof.
pose proof mu_range.
rewrite (sum_ext n _ (fun j => a j * Rabs (d j - mu) * / (1 + mu))).
- rewrite sum_scal_r. eapply Rle_trans; [|apply sharp_max].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | apply spread].
- intros j Hj; rewrite a'_minus_a by exact Hj. unfold Rdiv; rewrite !Rabs_mult.
  rewrite (Rabs_pos_eq (a j)) by apply a_nonneg, Hj.
  rewrite (Rabs_pos_eq (/ (1 + mu))); [ring | left; apply Rinv_0_lt_compat; lra].
Qed.

Lemma mean_bound v V : (forall j, (j < n)%nat -> Rabs (v j) <= V) ->
  Rabs (mean n w' v - mean n w v) <= sharp e * V.
Proof.
intros Hv; pose proof w'_sum_pos.
replace (mean n w' v - mean n w v) with (sum n (fun j => (a' j - a j) * v j)).
- eapply Rle_trans; [apply sum_abs|].
  eapply Rle_trans with (sum n (fun j => Rabs (a' j - a j) * V)).
  + apply sum_le; intros j Hj; rewrite Rabs_mult.
    apply Rmult_le_compat_l; [apply Rabs_pos | apply Hv, Hj].
  + rewrite sum_scal_r. apply Rmult_le_compat_r; [|apply weights_bound].
    assert (0 < n)%nat by (destruct n; [simpl in HW; lra | lia]).
    eapply Rle_trans; [apply Rabs_pos | apply (Hv 0%nat); assumption].
- unfold mean, a', a.
  rewrite (sum_ext n _ (fun j => / sum n w' * (w' j * v j) - / sum n w * (w j * v j)))
    by (intros; field; lra).
  rewrite sum_minus, !sum_scal; field; lra.
Qed.
End Bound.

Lemma sharp_le e : 0 < e < 1 -> sharp e <= e / (1 - e).
Proof.
intros He; destruct (sqrt_facts e He) as [Hs [Hs0 Hs1]]; unfold sharp.
set (s := sqrt (1 - e ^ 2)) in *.
(* (1 - s) (1 + s) = e^2 *)
replace (2 * (1 - s) / e) with (2 * e / (1 + s)).
- apply Rmult_le_reg_r with ((1 + s) * (1 - e)); [nra|].
  replace (2 * e / (1 + s) * ((1 + s) * (1 - e))) with (2 * e * (1 - e)) by (field; lra).
  replace (e / (1 - e) * ((1 + s) * (1 - e))) with (e * (1 + s)) by (field; lra).
  assert (1 - 2 * e <= s); [|nra].
  destruct (Rle_dec (1 - 2 * e) 0); [lra|]. nra.
- apply Rmult_eq_reg_r with (e * (1 + s)); [|nra].
  field_simplify; [nra | lra | lra].
Qed.

Lemma sharp_le_2 e : 0 < e <= 1 / 2 -> sharp e <= 2 * e.
Proof.
intros He; apply Rle_trans with (e / (1 - e)); [apply sharp_le; lra|].
apply Rmult_le_reg_r with (1 - e); [lra|].
replace (e / (1 - e) * (1 - e)) with e by (field; lra); nra.
Qed.

(** theorem: output_bound — weights with relative errors at most e in (0, 1) keep a positive sum, and
    their output differs from the exact one by at most max|v| times 2(1 - sqrt(1 - e^2))/e
    <= e/(1 - e), which is at most 2e for e <= 1/2.
    used by: src/taylor/deviation.c, src/toeplitz/deviation.c *)
Theorem output_bound n (w d v : nat -> R) e V :
  0 < e < 1 -> (forall j, (j < n)%nat -> 0 <= w j) -> 0 < sum n w ->
  (forall j, (j < n)%nat -> Rabs (d j) <= e) -> (forall j, (j < n)%nat -> Rabs (v j) <= V) ->
  0 < sum n (fun j => w j * (1 + d j)) /\
  Rabs (mean n (fun j => w j * (1 + d j)) v - mean n w v) <= sharp e * V /\
  sharp e <= e / (1 - e) /\ (e <= 1 / 2 -> sharp e <= 2 * e).
Proof.
intros He Hw HW Hd Hv; repeat split.
- apply w'_sum_pos with e; assumption.
- apply mean_bound; assumption.
- apply sharp_le, He.
- intros; apply sharp_le_2; lra.
Qed.

(** theorem: weights_bound_l1 — the normalised weights themselves differ by at most that constant in
    the sum of absolute values.
    used by: src/taylor/deviation.c *)
Theorem weights_bound_l1 n (w d : nat -> R) e :
  0 < e < 1 -> (forall j, (j < n)%nat -> 0 <= w j) -> 0 < sum n w ->
  (forall j, (j < n)%nat -> Rabs (d j) <= e) ->
  sum n (fun j => Rabs (w j * (1 + d j) / sum n (fun j => w j * (1 + d j)) - w j / sum n w)) <= sharp e.
Proof. intros; apply weights_bound; assumption. Qed.

(** theorem: output_bound_attained — the constant is the least: for every e in (0, 1) two keys and
    values +-V attain it.
    used by: src/taylor/deviation.c; claim S0-21 *)
Theorem output_bound_attained e V : 0 < e < 1 -> 0 <= V ->
  exists w d v, (forall j, 0 < w j) /\ (forall j, Rabs (d j) <= e) /\ (forall j, Rabs (v j) <= V) /\
    Rabs (mean 2 (fun j => w j * (1 + d j)) v - mean 2 w v) = sharp e * V.
Proof.
intros He HV; destruct (sqrt_facts e He) as [Hs [Hs0 Hs1]]; unfold sharp.
set (s := sqrt (1 - e ^ 2)) in *.
assert (Hse : 1 - s < e) by nra.
exists (fun j => match j with O => e - (1 - s) | _ => e + (1 - s) end),
  (fun j => match j with O => e | _ => - e end), (fun j => match j with O => V | _ => - V end).
repeat split.
- intros [|j]; lra.
- intros [|j]; [rewrite Rabs_pos_eq | rewrite Rabs_Ropp, Rabs_pos_eq]; lra.
- intros [|j]; [rewrite Rabs_pos_eq | rewrite Rabs_Ropp, Rabs_pos_eq]; lra.
- unfold mean; simpl.
  replace (0 + (e - (1 - s)) * (1 + e) + (e + (1 - s)) * (1 + - e)) with (2 * e * s) by ring.
  replace (0 + (e - (1 - s)) + (e + (1 - s))) with (2 * e) by ring.
  match goal with |- Rabs ?x = _ => replace x with ((2 * (1 - s) / e) * V) end.
  + apply Rabs_pos_eq; apply Rmult_le_pos; [|exact HV].
    apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra].
  + apply Rmult_eq_reg_r with (e * s); [|nra].
    field_simplify; [|lra|lra]. nra.
Qed.
