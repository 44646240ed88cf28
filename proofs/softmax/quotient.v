(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* A quotient of two sums whose weights are off and which are rounded: how far it is from the weighted
   mean. Nothing here knows of floating point; radius.v and bound.v put its quantities in. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row.
Open Scope R_scope.

Section Quotient.
Variables (n : nat) (w w' v : nat -> R) (rho tau V : R).
Let W := sum n w.
Let x := mean n w v.
Let A := sum n (fun j => w j * Rabs (v j)) / W.
Hypothesis w_pos : forall j, (j < n)%nat -> 0 <= w j.
Hypothesis W_pos : 0 < W.
Hypothesis rho_pos : 0 <= rho.
Hypothesis tau_pos : 0 <= tau.
Hypothesis off : forall j, (j < n)%nat -> Rabs (w' j - w j) <= rho * w j + tau.
Hypothesis bounded : forall j, (j < n)%nat -> Rabs (v j) <= V.

Lemma A_pos : 0 <= A.
Proof.
apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, W_pos].
apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [apply w_pos, Hj|apply Rabs_pos].
Qed.

Lemma A_sum : sum n (fun j => w j * Rabs (v j)) = W * A.
Proof. unfold A. field. lra. Qed.

Lemma A_below_V : A <= V.
Proof.
apply (Rmult_le_reg_l W); [exact W_pos|]. rewrite <- A_sum. unfold W. rewrite Rmult_comm, <- sum_scal.
apply sum_le. intros j Hj. rewrite Rmult_comm. apply Rmult_le_compat_r; [apply w_pos, Hj|apply bounded, Hj].
Qed.

Lemma x_sum : sum n (fun j => w j * v j) = W * x.
Proof. unfold x, mean. fold W. field. lra. Qed.

Lemma x_below_A : Rabs x <= A.
Proof.
apply (Rmult_le_reg_l W); [exact W_pos|]. rewrite <- A_sum.
rewrite <- (Rabs_pos_eq W) at 1 by lra. rewrite <- Rabs_mult, <- x_sum.
eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros j Hj.
rewrite Rabs_mult, (Rabs_pos_eq (w j)) by (apply w_pos, Hj). lra.
Qed.

(* The perturbed sums against those of the exact weights. *)
Lemma numerator_size : sum n (fun j => Rabs (w' j) * Rabs (v j)) <= (1 + rho) * W * A + INR n * (tau * V).
Proof.
rewrite Rmult_assoc, <- A_sum, <- sum_scal, <- sum_const, <- sum_plus.
apply sum_le. intros j Hj.
assert (H : Rabs (w' j) <= (1 + rho) * w j + tau).
{ replace (w' j) with (w j + (w' j - w j)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite (Rabs_pos_eq (w j)) by (apply w_pos, Hj). pose proof (off j Hj). lra. }
pose proof (Rabs_pos (v j)). pose proof (bounded j Hj).
apply (Rmult_le_compat_r (Rabs (v j))) in H; [|assumption].
assert (tau * Rabs (v j) <= tau * V) by (apply Rmult_le_compat_l; assumption). lra.
Qed.

Lemma weights_size : sum n (fun j => Rabs (w' j)) <= (1 + rho) * W + INR n * tau.
Proof.
unfold W. rewrite <- sum_scal, <- sum_const, <- sum_plus. apply sum_le. intros j Hj.
replace (w' j) with (w j + (w' j - w j)) by ring. eapply Rle_trans; [apply Rabs_triang|].
rewrite (Rabs_pos_eq (w j)) by (apply w_pos, Hj). pose proof (off j Hj). lra.
Qed.

Lemma weights_least : (1 - rho) * W - INR n * tau <= sum n w'.
Proof.
unfold W. rewrite <- sum_scal, <- sum_const, <- sum_minus. apply sum_le. intros j Hj.
pose proof (Rabs_range _ _ (off j Hj)). lra.
Qed.

Lemma moved : Rabs (sum n (fun j => w' j * v j) - x * sum n w') <= rho * W * (A + Rabs x) + INR n * (tau * (2 * V)).
Proof.
assert (E : sum n (fun j => w' j * v j) - x * sum n w' = sum n (fun j => (w' j - w j) * (v j - x))).
{ rewrite (sum_ext n (fun j => (w' j - w j) * (v j - x))
    (fun j => (w' j * v j - x * w' j) - (w j * v j - x * w j))) by (intros; ring).
  rewrite !sum_minus, !sum_scal, x_sum. fold W. ring. }
rewrite E. eapply Rle_trans; [apply sum_abs|].
replace (rho * W * (A + Rabs x)) with (rho * (W * A + Rabs x * W)) by ring.
rewrite <- A_sum. unfold W at 1. rewrite <- sum_scal, <- sum_plus, <- sum_scal, <- sum_const, <- sum_plus.
apply sum_le. intros j Hj. rewrite Rabs_mult.
assert (D : Rabs (v j - x) <= Rabs (v j) + Rabs x).
{ unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (DV : Rabs (v j - x) <= 2 * V).
{ pose proof (bounded j Hj). pose proof x_below_A. pose proof A_below_V. lra. }
apply Rle_trans with ((rho * w j + tau) * Rabs (v j - x)).
- apply Rmult_le_compat_r; [apply Rabs_pos|apply off, Hj].
- assert (P : 0 <= rho * w j) by (apply Rmult_le_pos; [exact rho_pos|apply w_pos, Hj]).
  apply (Rmult_le_compat_l (rho * w j)) in D; [|exact P].
  apply (Rmult_le_compat_l tau) in DV; [|exact tau_pos]. lra.
Qed.

(* Sums that are off by gO, gW relative to sums of absolute values, and by etaO, etaW. *)
Variables (num den gO gW etaO etaW : R).
Hypothesis gO_pos : 0 <= gO.
Hypothesis gW_pos : 0 <= gW.
Hypothesis etaW_pos : 0 <= etaW.
Hypothesis num_off : Rabs (num - sum n (fun j => w' j * v j)) <= gO * sum n (fun j => Rabs (w' j) * Rabs (v j)) + etaO.
Hypothesis den_off : Rabs (den - sum n w') <= gW * sum n (fun j => Rabs (w' j)) + etaW.

(* everything that does not scale with A or x *)
Definition rest := INR n * (tau * (2 * V)) + gO * (INR n * (tau * V)) + etaO + V * (gW * (INR n * tau) + etaW).

Lemma cross : Rabs (num - x * den) <=
  W * (rho * (A + Rabs x) + gO * (1 + rho) * A + gW * (1 + rho) * Rabs x) + rest.
Proof.
replace (num - x * den) with ((num - sum n (fun j => w' j * v j)) +
  (sum n (fun j => w' j * v j) - x * sum n w') - x * (den - sum n w')) by ring.
assert (T : Rabs (num - sum n (fun j => w' j * v j) + (sum n (fun j => w' j * v j) - x * sum n w') -
  x * (den - sum n w')) <= Rabs (num - sum n (fun j => w' j * v j)) +
  Rabs (sum n (fun j => w' j * v j) - x * sum n w') + Rabs x * Rabs (den - sum n w')).
{ unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult.
  apply Rplus_le_compat_r, Rabs_triang. }
apply Rle_trans with (1 := T). pose proof moved. pose proof numerator_size as N. pose proof weights_size as S.
apply (Rmult_le_compat_l gO) in N; [|exact gO_pos]. apply (Rmult_le_compat_l gW) in S; [|exact gW_pos].
assert (X : Rabs x * Rabs (den - sum n w') <= Rabs x * (gW * ((1 + rho) * W)) + V * (gW * (INR n * tau) + etaW)).
{ pose proof (Rabs_pos x) as Px. pose proof x_below_A. pose proof A_below_V.
  assert (D : Rabs (den - sum n w') <= gW * ((1 + rho) * W) + (gW * (INR n * tau) + etaW)) by lra.
  apply (Rmult_le_compat_l (Rabs x)) in D; [|exact Px].
  assert (Q : 0 <= gW * (INR n * tau) + etaW).
  { assert (0 <= gW * (INR n * tau)); [|lra]. apply Rmult_le_pos; [exact gW_pos|].
    apply Rmult_le_pos; [apply pos_INR|exact tau_pos]. }
  apply (Rmult_le_compat_r _ (Rabs x) V) in Q; lra. }
unfold rest. lra.
Qed.
End Quotient.
