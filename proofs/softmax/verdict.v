(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The backward error of an element of softmax as src/certify/row.c decides it: the distance from the exact
   output in units of u_w A + u_s S + quantum, with the bounds that conditioning gives for A and S. *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation enclosure.measure.
Open Scope R_scope.
Notation pow2 := (bpow radix2).
Notation rnd64 := (nearest (-1074) 53).
Notation u64 := (pow2 (-53)).
Notation eta := (pow2 (-1075)).
Notation double := (generic_format radix2 (FLT_exp (-1074) 53)).

Section Verdict.
Variables (got xh radius X A a_lo a_hi S s_lo s_hi u_w u_s quantum : R).
Hypothesis enclosed : Rabs (xh - X) <= radius.
Hypothesis doubles : double got /\ double xh /\ double radius.
Hypothesis bounds_a : 0 <= a_lo /\ a_lo <= A <= a_hi. (* condition_a *)
Hypothesis bounds_s : 0 <= s_lo /\ s_lo <= S <= s_hi. (* condition_s, second_pass *)
Hypothesis units : 0 <= u_w /\ 0 <= u_s /\ 0 < quantum.

Let y := u_w * A + u_s * S + quantum.
(* scale_backward *)
Definition scale_lo : R := add_down (add_down (mul_down u_w a_lo) (mul_down u_s s_lo)) quantum.
Definition scale_hi : R := add_up (add_up (mul_up u_w a_hi) (mul_up u_s s_hi)) quantum.
(* a scale that is not known to be positive leaves the upper bound infinite *)
Hypothesis scale_positive : 0 < scale_lo.

Lemma scale_enclosed : scale_lo <= y <= scale_hi.
Proof.
destruct bounds_a as [A0 [A1 A2]]. destruct bounds_s as [S0 [S1 S2]]. destruct units as [W0 [V0 _]].
assert (D1 := mul_down_below u_w a_lo W0 A0). assert (D2 := mul_down_below u_s s_lo V0 S0).
assert (U1 := mul_up_above u_w a_hi). assert (U2 := mul_up_above u_s s_hi).
assert (u_w * a_lo <= u_w * A <= u_w * a_hi) by (split; apply Rmult_le_compat_l; assumption).
assert (u_s * s_lo <= u_s * S <= u_s * s_hi) by (split; apply Rmult_le_compat_l; assumption).
unfold scale_lo, scale_hi, y. split.
- eapply Rle_trans; [apply add_down_below|]. assert (E := add_down_below (mul_down u_w a_lo) (mul_down u_s s_lo)). lra.
- eapply Rle_trans; [|apply add_up_above]. assert (E := add_up_above (mul_up u_w a_hi) (mul_up u_s s_hi)). lra.
Qed.

(** theorem: backward_verdict — the first-order backward error |got - x| / (u_w A + u_s S + quantum) lies between the bounds that the double tier compares with a limit: what is certified is at most the limit, what is refuted exceeds it. used by: src/certify/row.c, src/enclosure/measure.c *)
Theorem backward_verdict :
  div_down (abs_lo got xh radius) scale_hi <= Rabs (got - X) / y <= div_up (abs_hi got xh radius) scale_lo.
Proof.
destruct doubles as [Dg [Dx Dr]]. assert (Pr : 0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]).
assert (E : Rabs (X - xh) <= radius) by (rewrite Rabs_minus_sym; exact enclosed).
destruct (distance_enclosed got xh radius (conj Dg (conj Dx (conj Dr Pr))) X E) as [L1 L2].
apply quotient_enclosed; [split; assumption|split; [exact scale_positive|exact scale_enclosed]].
Qed.
End Verdict.

Section Quiet.
(* The quick pass, which sets most elements aside: 1e-300 is added to the error. *)
Variables (got xh radius X A a_lo S s_lo u_w u_s quantum limit threshold tiny : R).
Hypothesis enclosed : Rabs (xh - X) <= radius.
Hypothesis bounds_a : 0 <= a_lo <= A.
Hypothesis bounds_s : 0 <= s_lo <= S.
(* no float64: the quantum of a format is far from the smallest double *)
Hypothesis units : 0 <= u_w /\ 0 <= u_s /\ pow2 (-900) <= quantum.
Hypothesis limits : 0 <= threshold <= limit * (1 - pow2 (-41)).
Hypothesis tiny_pos : pow2 (-998) <= tiny.
(* quick_backward *)
Let e := rnd64 (rnd64 (Rabs (rnd64 (got - xh)) + radius) + tiny).
Hypothesis quiet : e <= rnd64 (threshold * rnd64 (rnd64 (rnd64 (u_w * a_lo) + rnd64 (u_s * s_lo)) + quantum)).

Lemma quiet_rounded x : Rabs (rnd64 x - x) <= u64 * Rabs x + eta.
Proof. apply (nearest_error (-1074) 53). lia. Qed.
Lemma quiet_rounded_pos x : 0 <= x -> x - u64 * x - eta <= rnd64 x <= x + u64 * x + eta.
Proof. intros H. pose proof (quiet_rounded x) as R. rewrite (Rabs_pos_eq x H) in R. apply Rabs_range in R. lra. Qed.
Lemma quiet_pos x : 0 <= x -> 0 <= rnd64 x.
Proof. intros H. apply round_ge_generic; [exact valid64|apply valid_rnd_N|apply generic_format_0|exact H]. Qed.

(** theorem: backward_quiet — an element that the quick pass sets aside has a first-order backward error of at most the limit. used by: src/certify/row.c *)
Theorem backward_quiet : Rabs (got - X) <= limit * (u_w * A + u_s * S + quantum).
Proof.
destruct units as [W0 [V0 Hq]]. destruct bounds_a as [A0 A1]. destruct bounds_s as [S0 S1]. destruct limits as [T0 T1].
assert (U : 0 < u64 <= / 1000000000) by (simpl; lra). assert (N : 0 < eta) by apply bpow_gt_0.
assert (Pr : 0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]).
assert (Nq : eta <= u64 * quantum).
{ apply Rle_trans with (u64 * pow2 (-900)); [rewrite <- bpow_plus; apply bpow_le; lia|apply Rmult_le_compat_l; lra]. }
(* the scale, from above *)
set (p1 := u_w * a_lo). set (p2 := u_s * s_lo). assert (P1 : 0 <= p1) by (apply Rmult_le_pos; assumption). assert (P2 : 0 <= p2) by (apply Rmult_le_pos; assumption).
assert (R1 := quiet_rounded_pos p1 P1). assert (R2 := quiet_rounded_pos p2 P2). assert (Q1 := quiet_pos p1 P1). assert (Q2 := quiet_pos p2 P2).
assert (R3 := quiet_rounded_pos (rnd64 p1 + rnd64 p2) ltac:(lra)). assert (Q3 := quiet_pos (rnd64 p1 + rnd64 p2) ltac:(lra)).
set (q3 := rnd64 (rnd64 p1 + rnd64 p2)) in *. assert (Pq : 0 < quantum) by (assert (0 < pow2 (-900)) by apply bpow_gt_0; lra).
assert (R4 := quiet_rounded_pos (q3 + quantum) ltac:(lra)). assert (Q4 := quiet_pos (q3 + quantum) ltac:(lra)).
set (y0 := p1 + p2 + quantum). set (q4 := rnd64 (q3 + quantum)) in *.
assert (Uy : 0 <= u64 * y0) by (apply Rmult_le_pos; [lra|unfold y0; lra]).
assert (Y1 : u64 * p1 + u64 * p2 + u64 * quantum = u64 * y0) by (unfold y0; ring).
assert (B3 : q3 <= p1 + p2 + 6 * (u64 * y0)).
{ assert (u64 * (rnd64 p1 + rnd64 p2) <= u64 * (p1 + p2 + 3 * (u64 * y0))).
  { apply Rmult_le_compat_l; [lra|]. assert (0 <= u64 * quantum) by (apply Rmult_le_pos; lra). assert (0 <= u64 * p1) by (apply Rmult_le_pos; lra). assert (0 <= u64 * p2) by (apply Rmult_le_pos; lra). lra. }
  assert (u64 * (u64 * y0) <= / 1000 * (u64 * y0)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * quantum) by (apply Rmult_le_pos; lra). assert (0 <= u64 * p1) by (apply Rmult_le_pos; lra). assert (0 <= u64 * p2) by (apply Rmult_le_pos; lra). lra. }
assert (B4 : q4 <= y0 + 9 * (u64 * y0)).
{ assert (u64 * (q3 + quantum) <= u64 * (y0 + 6 * (u64 * y0))) by (apply Rmult_le_compat_l; [lra|unfold y0 in *; lra]).
  assert (u64 * (u64 * y0) <= / 1000 * (u64 * y0)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * p1) by (apply Rmult_le_pos; lra). assert (0 <= u64 * p2) by (apply Rmult_le_pos; lra). unfold y0 in *. lra. }
assert (Q := quiet). change (e <= rnd64 (threshold * q4)) in Q.
assert (Ptq : 0 <= threshold * q4) by (apply Rmult_le_pos; assumption).
assert (R5 := quiet_rounded_pos (threshold * q4) Ptq).
assert (B5 : rnd64 (threshold * q4) <= threshold * y0 * (1 + 11 * u64) + eta).
{ assert (H : threshold * q4 <= threshold * (y0 + 9 * (u64 * y0))) by (apply Rmult_le_compat_l; assumption).
  assert (Pty : 0 <= threshold * y0) by (apply Rmult_le_pos; [exact T0|unfold y0; lra]).
  assert (H2 : u64 * (threshold * q4) <= u64 * (threshold * (y0 + 9 * (u64 * y0)))) by (apply Rmult_le_compat_l; lra).
  assert (H3 : u64 * (u64 * (threshold * y0)) <= / 1000 * (u64 * (threshold * y0))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (0 <= u64 * (threshold * y0)) by (apply Rmult_le_pos; lra). lra. }
(* the error, from below *)
set (d := Rabs (got - xh)). assert (Pd : 0 <= d) by apply Rabs_pos.
assert (R6 : d - u64 * d - eta <= Rabs (rnd64 (got - xh))).
{ pose proof (quiet_rounded (got - xh)) as R. fold d in R. pose proof (Rabs_triang_inv (got - xh) (got - xh - rnd64 (got - xh))) as I.
  replace (got - xh - (got - xh - rnd64 (got - xh))) with (rnd64 (got - xh)) in I by ring. rewrite (Rabs_minus_sym (got - xh) (rnd64 _)) in I. fold d in I. lra. }
set (g := Rabs (rnd64 (got - xh))) in *. assert (Pg : 0 <= g) by apply Rabs_pos.
assert (R7 := quiet_rounded_pos (g + radius) ltac:(lra)). assert (Q7 := quiet_pos (g + radius) ltac:(lra)).
assert (Pti : 0 < tiny) by (assert (0 < pow2 (-998)) by apply bpow_gt_0; lra).
assert (R8 := quiet_rounded_pos (rnd64 (g + radius) + tiny) ltac:(lra)). change (rnd64 (rnd64 (g + radius) + tiny)) with e in R8.
assert (T8 : 1024 * eta <= tiny).
{ apply Rle_trans with (2 := tiny_pos). change 1024 with (pow2 10). rewrite <- bpow_plus. apply bpow_le. lia. }
assert (Ud : 0 <= u64 * (d + radius)) by (apply Rmult_le_pos; lra).
assert (B8 : (d + radius) * (1 - 4 * u64) + tiny / 2 <= e).
{ assert (G1 : (d + radius) - 2 * (u64 * (d + radius)) - 3 * eta <= rnd64 (g + radius)).
  { assert (H1 : g + radius >= d + radius - u64 * (d + radius) - eta) by (assert (0 <= u64 * radius) by (apply Rmult_le_pos; lra); lra).
    destruct (Rle_lt_dec (g + radius) (d + radius)) as [L|L].
    - assert (u64 * (g + radius) <= u64 * (d + radius)) by (apply Rmult_le_compat_l; lra). lra.
    - assert ((d + radius) * (1 - u64) <= (g + radius) * (1 - u64)) by (apply Rmult_le_compat_r; lra). lra. }
  set (z := rnd64 (g + radius)) in *.
  assert (G2 : (d + radius - 2 * (u64 * (d + radius)) - 3 * eta + tiny) * (1 - u64) <= (z + tiny) * (1 - u64)) by (apply Rmult_le_compat_r; lra).
  assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra). assert (0 <= u64 * (u64 * (d + radius))) by (apply Rmult_le_pos; lra).
  assert (0 <= u64 * eta) by (apply Rmult_le_pos; lra). lra. }
assert (GX : Rabs (got - X) <= d + radius).
{ replace (got - X) with ((got - xh) + (xh - X)) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold d. lra. }
assert (M : (d + radius) * (1 - 4 * u64) <= threshold * y0 * (1 + 11 * u64)) by lra.
assert (Yy : y0 <= u_w * A + u_s * S + quantum).
{ unfold y0, p1, p2. assert (u_w * a_lo <= u_w * A) by (apply Rmult_le_compat_l; assumption).
  assert (u_s * s_lo <= u_s * S) by (apply Rmult_le_compat_l; assumption). lra. }
assert (Py0 : 0 <= y0) by (unfold y0; lra). change (pow2 (-41)) with (/ 2199023255552) in T1.
assert (U4 : u64 <= / 9007199254740992) by (simpl; lra).
assert (Pl : 0 <= limit) by (destruct (Rle_lt_dec 0 limit) as [L|L]; [exact L|lra]).
assert (K : threshold * y0 * (1 + 11 * u64) <= limit * y0 * (1 - 4 * u64)).
{ apply Rle_trans with (limit * (1 - / 2199023255552) * y0 * (1 + 11 * u64)).
  - apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_r; assumption.
  - replace (limit * (1 - / 2199023255552) * y0 * (1 + 11 * u64)) with (limit * y0 * ((1 - / 2199023255552) * (1 + 11 * u64))) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption|lra]. }
assert (F : d + radius <= limit * y0).
{ apply (Rmult_le_reg_r (1 - 4 * u64)); lra. }
apply Rle_trans with (1 := GX). apply Rle_trans with (1 := F). apply Rmult_le_compat_l; assumption.
Qed.
End Quiet.
