(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The log-sum-exp of the double tier, step 4 of src/softmax/enclose.c: shift + log W. The logarithm is
   within its constant by log64_error. *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.quotient softmax.radius softmax.bound.
Open Scope R_scope.
Notation ulog := (pow2 (-51)).

Lemma ln_near r t : Rabs (r - 1) <= t -> t < 1 -> Rabs (ln r) <= t / (1 - t).
Proof.
intros H Ht. apply Rabs_range in H. assert (Pr : 0 < r) by lra.
assert (P : 0 <= t) by lra.
assert (U : ln r <= r - 1).
{ pose proof (exp_above (ln r)) as E. rewrite exp_ln in E by exact Pr. lra. }
assert (L : 1 - / r <= ln r).
{ pose proof (exp_above (- ln r)) as E. rewrite exp_Ropp, exp_ln in E by exact Pr. lra. }
assert (B : t <= t / (1 - t)).
{ apply (Rmult_le_reg_r (1 - t)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  assert (0 <= t * t) by apply Rle_0_sqr. lra. }
assert (C : / r - 1 <= t / (1 - t)).
{ assert (/ r <= / (1 - t)) by (apply Rinv_le; lra).
  replace (t / (1 - t)) with (/ (1 - t) - 1) by (field; lra). lra. }
apply Rabs_within. lra.
Qed.

Section Lse.
Variables (W W' M L rho g tails : R).
Hypothesis W_large : 1 - pow2 (-10) <= W.
Hypothesis rho_small : 0 <= rho <= pow2 (-16).
Hypothesis g_small : 0 <= g <= pow2 (-22).
Hypothesis tails_small : 0 <= tails <= pow2 (-16).
(* the computed normaliser: quotient_radius' weights_size, weights_least and tree_close together *)
Hypothesis normaliser : Rabs (W' - W) <= (rho + g * (1 + rho)) * W + tails / 2.
(* the computed logarithm *)
Hypothesis logarithm : Rabs (L - ln W') <= ulog * (1 + Rabs (ln W')).

Let x' := nearest (-1074) 53 (M + L).

(** theorem: lse_radius — the double tier's log-sum-exp: with a normaliser off by rho and its sums, and a logarithm within 2^-51 (1 + |log|), shift + log W lies within the radius that C computes, with room for its roundings. used by: src/softmax/enclose.c *)
Theorem lse_radius : Rabs (x' - (M + ln W)) <=
  (1 + / 280) * (rho + g + tails + ulog * (1 + Rabs L) + pow2 (-53) * Rabs x').
Proof.
set (l := ln W'). fold l in logarithm. assert (PW : 0 < W) by (simpl bpow in *; lra).
assert (U53 : pow2 (-53) = ulog / 4).
{ change (-53)%Z with (-51 + -2)%Z. rewrite bpow_plus. simpl (pow2 (-2)). lra. }
assert (Ul : 0 <= ulog <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
(* log W' against log W *)
set (t := (rho + g + tails) * (1 + / 500)).
assert (G : 0 <= g * rho <= g * / 65536).
{ split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_l; [lra|]. simpl bpow in *. lra. }
assert (R1 : Rabs (W' / W - 1) <= t).
{ replace (W' / W - 1) with ((W' - W) / W) by (field; lra).
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq W) by lra.
  apply (Rmult_le_reg_r W); [exact PW|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (1 := normaliser).
  assert (T1 : tails / 2 <= tails * W) by (assert (tails * (1 - pow2 (-10)) <= tails * W)
    by (apply Rmult_le_compat_l; lra); simpl bpow in *; lra).
  assert (T2 : (rho + g * (1 + rho)) * W <= ((rho + g) * (1 + / 500)) * W).
  { apply Rmult_le_compat_r; lra. }
  assert (0 <= tails * W) by (apply Rmult_le_pos; lra). unfold t. lra. }
assert (t_small : 0 <= t <= / 2000) by (unfold t; simpl bpow in *; lra).
assert (PW' : 0 < W').
{ apply Rabs_range in R1. assert (0 < W' / W) by lra.
  replace W' with (W' / W * W) by (field; lra). apply Rmult_lt_0_compat; assumption. }
assert (R2 : Rabs (l - ln W) <= (rho + g + tails) * (1 + / 300)).
{ assert (E : l - ln W = ln (W' / W)).
  { unfold Rdiv. rewrite ln_mult, ln_Rinv; [reflexivity|exact PW|exact PW'|apply Rinv_0_lt_compat, PW]. }
  rewrite E. eapply Rle_trans; [apply ln_near with (1 := R1); lra|].
  apply (Rmult_le_reg_r (1 - t)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  set (s := rho + g + tails) in *. assert (0 <= s) by (unfold s; lra).
  assert (s * t <= s * / 2000) by (apply Rmult_le_compat_l; lra). unfold t in *. lra. }
(* the logarithm's error in terms of what was computed *)
assert (R3 : Rabs (L - l) <= ulog * (1 + Rabs L) * (1 + / 400)).
{ assert (S : Rabs l <= Rabs L + Rabs (L - l)).
  { replace l with (L - (L - l)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|].
    rewrite Rabs_Ropp. lra. }
  pose proof (Rabs_pos (L - l)). pose proof (Rabs_pos L).
  assert (ulog * Rabs l <= ulog * (Rabs L + Rabs (L - l))) by (apply Rmult_le_compat_l; lra).
  assert (ulog * Rabs (L - l) <= / 1000000 * Rabs (L - l)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= ulog * Rabs L) by (apply Rmult_le_pos; lra). lra. }
(* the addition *)
assert (R4 : Rabs (x' - (M + L)) <= pow2 (-53) * Rabs x' * (1 + / 400) + ulog * / 1000).
{ pose proof (nearest_error (-1074) 53 (M + L) eq_refl) as N. fold x' in N.
  change (roundoff 53) with (pow2 (-53)) in N.
  assert (T : underflow (-1074) <= ulog * / 2000).
  { unfold underflow. apply Rle_trans with (pow2 (-51 + -11)); [apply bpow_le; lia|].
    rewrite bpow_plus. apply Rmult_le_compat_l; [lra|]. simpl. lra. }
  assert (S : Rabs (M + L) <= Rabs x' + Rabs (x' - (M + L))).
  { replace (M + L) with (x' - (x' - (M + L))) at 1 by ring. unfold Rminus at 1.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
  pose proof (Rabs_pos (x' - (M + L))). pose proof (Rabs_pos x').
  rewrite U53 in *.
  assert (ulog / 4 * Rabs (M + L) <= ulog / 4 * (Rabs x' + Rabs (x' - (M + L)))) by (apply Rmult_le_compat_l; lra).
  assert (ulog / 4 * Rabs (x' - (M + L)) <= / 1000000 * Rabs (x' - (M + L))) by (apply Rmult_le_compat_r; lra).
  assert (0 <= ulog / 4 * Rabs x') by (apply Rmult_le_pos; lra). lra. }
replace (x' - (M + ln W)) with ((x' - (M + L)) + (L - l) + (l - ln W)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
apply Rle_trans with (pow2 (-53) * Rabs x' * (1 + / 400) + ulog * / 1000 + ulog * (1 + Rabs L) * (1 + / 400) +
  (rho + g + tails) * (1 + / 300)).
{ apply Rplus_le_compat; [|exact R2]. eapply Rle_trans; [apply Rabs_triang|].
  apply Rplus_le_compat; assumption. }
pose proof (Rabs_pos L). pose proof (Rabs_pos x').
assert (0 <= ulog * Rabs L) by (apply Rmult_le_pos; lra).
assert (0 <= pow2 (-53) * Rabs x') by (apply Rmult_le_pos; [apply bpow_ge_0|assumption]).
lra.
Qed.
End Lse.
