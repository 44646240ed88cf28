(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The log-sum-exp of the double tier in base 2, step 4 of src/softmax/enclose.c: enclose_lse multiplies
   midpoint and radius of base e. *)
From Coq Require Import Reals Lra Lia ZArith.
From Flocq Require Import Core.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_method enclosure.summation
  softmax.weight softmax.terms.
Open Scope R_scope.
Notation rnd64 := (nearest (-1074) 53).
Notation LOG2E := (dyadic_R EXP64_LOG2E).

(* the radius in base 2 from that in base e, x: the midpoint in base 2 *)
Definition base2_c (radius x : R) : R := rnd64 (rnd64 (3 / 2 * radius) + rnd64 (pow2 (-51) * Rabs x)).

(** theorem: softmax_lse_base2 — a log-sum-exp within a radius of at least 2^-60 of the exact one in base e is, once both are multiplied by log2(e) as enclose_lse does, within the radius that C computes of the one in base 2. used by: src/softmax/enclose.c *)
Theorem softmax_lse_base2 x y radius : Rabs (x - y) <= radius -> pow2 (-60) <= radius ->
  let x2 := rnd64 (x * LOG2E) in Rabs (x2 - y / ln 2) <= base2_c radius x2.
Proof.
intros H L x2. assert (U := u64_size). assert (L2 := ln2_range). assert (Hl := log2e64). simpl in L2.
assert (BL : 144 / 100 <= LOG2E <= 1443 / 1000) by (numbers; simpl; lra).
assert (Ps : 0 < ln 2) by lra. set (a := x * LOG2E) in *.
assert (N := rounded a). change (rnd64 a) with x2 in N.
set (eta := pow2 (-1075)) in *. assert (Pe : 0 < eta) by apply bpow_gt_0.
assert (P60 := bpow_gt_0 radix2 (-60)).
assert (Te : eta <= / 1000000 * radius).
{ apply Rle_trans with (bpow radix2 (-20 + -60)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat; [apply bpow_ge_0|lra|simpl; lra|exact L]. }
assert (Pa := Rabs_pos a). assert (Ua : 0 <= u64 * Rabs a <= / 1000000000 * Rabs a).
{ split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]. }
(* log2(e) in double *)
assert (E54 : pow2 (-54) = u64 / 2) by (change (-54)%Z with (-53 + -1)%Z; rewrite bpow_plus; simpl (pow2 (-1)); lra).
rewrite E54 in Hl.
assert (D1 : Rabs (a - x / ln 2) <= 101 / 100 * (u64 / 2 * Rabs a)).
{ assert (I : / ln 2 <= 101 / 100 * LOG2E).
  { apply (Rmult_le_reg_r (ln 2)); [lra|]. rewrite Rinv_l by lra. apply Rabs_le_inv in Hl. lra. }
  replace (a - x / ln 2) with (x * / ln 2 * (LOG2E * ln 2 - 1)) by (unfold a; field; lra).
  rewrite Rabs_mult, (Rabs_mult x), (Rabs_pos_eq (/ ln 2)) by (left; apply Rinv_0_lt_compat; lra).
  unfold a. rewrite (Rabs_mult x), (Rabs_pos_eq LOG2E) by lra.
  apply Rle_trans with (Rabs x * (101 / 100 * LOG2E) * (u64 / 2)); [|lra].
  apply Rmult_le_compat; [apply Rmult_le_pos; [apply Rabs_pos|left; apply Rinv_0_lt_compat; lra]|apply Rabs_pos| |lra].
  apply Rmult_le_compat_l; [apply Rabs_pos|exact I]. }
assert (D2 : Rabs (x / ln 2 - y / ln 2) <= 1443 / 1000 * radius).
{ replace (x / ln 2 - y / ln 2) with ((x - y) * / ln 2) by (field; lra). rewrite Rabs_mult, Rmult_comm, (Rabs_pos_eq (/ ln 2)) by (left; apply Rinv_0_lt_compat; lra).
  apply Rmult_le_compat; [left; apply Rinv_0_lt_compat; lra|apply Rabs_pos| |exact H].
  apply (Rmult_le_reg_r (ln 2)); [lra|]. rewrite Rinv_l by lra. lra. }
assert (B : Rabs a <= Rabs x2 * (1001 / 1000) + 2 * eta).
{ assert (Rabs a <= Rabs x2 + Rabs (x2 - a)); [|lra]. replace a with (x2 - (x2 - a)) at 1 by ring. unfold Rminus at 1.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (T : Rabs (x2 - y / ln 2) <= 1444 / 1000 * radius + 16 / 10 * (u64 * Rabs a)).
{ replace (x2 - y / ln 2) with ((x2 - a) + (a - x / ln 2) + (x / ln 2 - y / ln 2)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang (x2 - a) (a - x / ln 2)). lra. }
apply Rle_trans with (1 := T). apply (Rmult_le_compat_l u64) in B; [|lra].
assert (Ue : u64 * eta <= / 1000000000 * eta) by (apply Rmult_le_compat_r; lra).
set (w := u64 * Rabs x2). assert (Pw : 0 <= w) by (apply Rmult_le_pos; [lra|apply Rabs_pos]).
replace (u64 * (Rabs x2 * (1001 / 1000) + 2 * eta)) with (w * (1001 / 1000) + 2 * (u64 * eta)) in B by (unfold w; ring).
(* the radius with its roundings *)
unfold base2_c. replace (pow2 (-51) * Rabs x2) with (4 * w).
2: { unfold w. change (-51)%Z with (2 + -53)%Z. rewrite bpow_plus. change (pow2 2) with 4. ring. }
pose proof (rounded (3 / 2 * radius)) as R1. rewrite (Rabs_pos_eq (3 / 2 * radius)) in R1 by lra. apply Rabs_le_inv in R1.
assert (u64 * (3 / 2 * radius) <= / 1000000000 * (3 / 2 * radius)) by (apply Rmult_le_compat_r; lra).
pose proof (rounded (4 * w)) as R2. rewrite (Rabs_pos_eq (4 * w)) in R2 by lra. apply Rabs_le_inv in R2.
assert (u64 * (4 * w) <= / 1000000000 * (4 * w)) by (apply Rmult_le_compat_r; lra).
fold eta in R1, R2.
change (float_ops.rnd64 (3 / 2 * radius)) with (rnd64 (3 / 2 * radius)) in R1. change (float_ops.rnd64 (4 * w)) with (rnd64 (4 * w)) in R2.
set (p := rnd64 (3 / 2 * radius)) in *. set (r := rnd64 (4 * w)) in *.
assert (Pr : 0 <= r) by (apply rnd_pos; lra).
pose proof (rounded (p + r)) as R3. rewrite (Rabs_pos_eq (p + r)) in R3 by lra. apply Rabs_le_inv in R3.
change (float_ops.rnd64 (p + r)) with (rnd64 (p + r)) in R3. fold eta in R3.
assert (u64 * (p + r) <= / 1000000000 * (p + r)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* The radius of base e is never below that. *)
Lemma lse_radius_floor keys rho se l x : 1 <= keys -> 0 <= rho -> 0 <= se -> 0 <= l -> 0 <= x ->
  pow2 (-60) <= lse_c rho se keys l x.
Proof.
intros Hk Hr Hs Hl Hx. apply Rle_trans with (2 := lse_enough keys rho se l x Hk Hr Hs Hl Hx).
assert (U := u64_size). assert (P98 := bpow_gt_0 radix2 (-98)).
assert (0 <= keys * (3 * pow2 (-98))) by (apply Rmult_le_pos; lra). assert (0 <= u64 * x) by (apply Rmult_le_pos; lra).
assert (P51 := bpow_gt_0 radix2 (-51)). assert (0 <= pow2 (-51) * l) by (apply Rmult_le_pos; lra).
assert (pow2 (-60) <= pow2 (-51)) by (apply bpow_le; lia). lra.
Qed.
