(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The enclosure of the exponential in sweeps, src/certify/sweep_enclose_isa.c: `positive` around vd_exp. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa enclosure.exp_method
  enclosure.exp_float.
Import ITZ.
Open Scope R_scope.

(* mid and rad: the exponential with EXP64_ERROR + 0.5 units beside it; TINY = 2^-1020 where it is 0 *)
Definition positive_mid (y : R) : R := if Req_EM_T y 0 then pow2 (-1020) else y.
Definition positive_rad (y : R) : R :=
  if Req_EM_T y 0 then pow2 (-1020) else rnd64 (Rabs y * (5 * pow2 (-54))).

Lemma least_exp z : z < -707 -> exp z <= 2 * pow2 (-1020).
Proof.
intros H. apply Rle_trans with (exp (-707)); [left; apply exp_increasing, H|interval with (i_prec 60)].
Qed.

Lemma some_exp z : -707 <= z -> pow2 (-1020) <= exp z.
Proof.
intros H. apply Rle_trans with (exp (-707)); [interval with (i_prec 60)|].
destruct H as [H| <-]; [left; apply exp_increasing, H|apply Rle_refl].
Qed.

(** theorem: sweep_exp — the double enclosure of exp in sweeps contains exp x for every finite x up to EXP64_MAX, zero results included; the gaussian's is the same at -x/2. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_exp (x : binary_float 53 1024) : fin64 x = true -> val64 x <= 709 ->
  let y := val64 (vd_exp float64 x) in Rabs (exp (val64 x) - positive_mid y) <= positive_rad y.
Proof.
intros F B y. assert (P := exp_pos (val64 x)). assert (T := bpow_gt_0 radix2 (-1020)).
unfold positive_mid, positive_rad. destruct (Rle_lt_dec (-707) (val64 x)) as [L|L].
- destruct (exp64_error x F (conj L B)) as [_ H]. fold y in H.
  assert (E2 : dyadic_R EXP64_ERROR = 2) by (unfold dyadic_R, EXP64_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
  rewrite E2 in H. assert (R := exp_range64 (val64 x) (conj L B)).
  set (u := pow2 (-53)) in *. assert (U : 0 <= u <= / 1000000) by (unfold u; simpl; lra).
  set (z := exp (val64 x)) in *. apply Rabs_le_inv in H.
  assert (Q : 2 * u * z <= / 1000 * z) by (apply Rmult_le_compat_r; lra).
  destruct (Req_EM_T y 0) as [Z|Z]; [lra|].
  assert (Py : 0 < y) by lra. rewrite (Rabs_pos_eq y) by lra.
  assert (E54 : 5 * pow2 (-54) = 5/2 * u).
  { unfold u. change (-54)%Z with (-53 + -1)%Z. rewrite bpow_plus. simpl (bpow radix2 (-1)). lra. }
  rewrite E54. assert (Pr : 0 <= y * (5/2 * u)) by (apply Rmult_le_pos; lra).
  pose proof (summation.nearest_error (-1074) 53 (y * (5/2 * u)) eq_refl) as N.
  rewrite (Rabs_pos_eq (y * (5/2 * u))) in N by exact Pr. apply Rabs_le_inv in N.
  change (summation.nearest (-1074) 53) with rnd64 in N. change (summation.roundoff 53) with u in N.
  assert (Et : summation.underflow (-1074) <= / 4 * (u * z)).
  { apply Rle_trans with (/ 4 * (u * pow2 (-1020))); [|apply Rmult_le_compat_l; [lra|]].
    - unfold u, summation.underflow. rewrite <- bpow_plus. change (/ 4) with (pow2 (-2)). rewrite <- bpow_plus.
      apply bpow_le. lia.
    - apply Rmult_le_compat_l; [lra|]. apply some_exp, L. }
  assert (V : u * (y * (5/2 * u)) <= / 1000000 * (y * (5/2 * u))) by (apply Rmult_le_compat_r; lra).
  assert (Y : u * (z * (999 / 1000)) <= u * y) by (apply Rmult_le_compat_l; lra).
  assert (Pz : 0 <= u * z) by (apply Rmult_le_pos; lra).
  apply Rabs_le. lra.
- assert (Z : y = 0).
  { unfold y. rewrite (exp64_nothing x); [reflexivity|intros _; exact L|intros ->; discriminate]. }
  destruct (Req_EM_T y 0); [|contradiction]. assert (H := least_exp (val64 x) L). apply Rabs_le. lra.
Qed.
