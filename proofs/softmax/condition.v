(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The double tier's conditioning of softmax, step 5 of src/softmax/enclose.c: quotients that are
   computed in float enclose A = sum p |v|, C = sum p t and S = sum p t |v - x|. A computed sum N' is
   within relative k1 of the exact one and an absolute tail, the normaliser D' within k2; what the code
   adds and subtracts is kappa >= k1 + k2 with the factor 1 + 2^-3, relative to the computed quotient. *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core.
From Attest Require Import problem.row softmax.radius.
Open Scope R_scope.

Section Quotient.
Variables (N D N' D' k1 k2 kappa tail : R).
Hypothesis N_pos : 0 <= N.
Hypothesis D_pos : 0 < D.
Hypothesis k1_pos : 0 <= k1.
Hypothesis k2_pos : 0 <= k2.
Hypothesis tail_pos : 0 <= tail.
Hypothesis N_off : Rabs (N' - N) <= k1 * N + tail * D.
Hypothesis D_off : Rabs (D' - D) <= k2 * D.
Hypothesis kappas : k1 + k2 <= kappa <= pow2 (-4).

Let q := N' / D'.

(** theorem: measured_quotient — with kappa the sum of the relative errors of a sum and of the normaliser, at most 2^-4, the exact quotient lies within (1 + 2^-3) kappa of the computed one, relatively, and twice the tail. used by: src/softmax/enclose.c *)
Theorem measured_quotient : q * (1 - kappa * (1 + pow2 (-3))) - 2 * tail <= N / D <=
  q * (1 + kappa * (1 + pow2 (-3))) + 2 * tail.
Proof.
apply Rabs_range in N_off. apply Rabs_range in D_off. simpl bpow in *.
assert (PD : 0 < D').
{ assert (k2 * D <= 1 / 16 * D) by (apply Rmult_le_compat_r; lra). lra. }
set (x := N / D). assert (Ex : N = x * D) by (unfold x; field; lra).
assert (Eq : N' = q * D') by (unfold q; field; lra).
assert (Px : 0 <= x) by (apply Rmult_le_pos; [exact N_pos|left; apply Rinv_0_lt_compat, D_pos]).
rewrite Ex, Eq in N_off.
(* bounds of q D' and of D' in units of D *)
set (r := D' / D). assert (Er : D' = r * D) by (unfold r; field; lra).
rewrite Er in N_off, D_off.
assert (R1 : 1 - k2 <= r <= 1 + k2).
{ split; apply (Rmult_le_reg_r D); try assumption; lra. }
assert (Q1 : (1 - k1) * x - tail <= q * r).
{ apply (Rmult_le_reg_r D); [exact D_pos|]. lra. }
assert (Q2 : q * r <= (1 + k1) * x + tail).
{ apply (Rmult_le_reg_r D); [exact D_pos|]. lra. }
clear N_off D_off Ex Eq Er.
assert (Pr : 0 < r) by lra.
destruct (Rle_lt_dec 0 q) as [Pq|Pq].
- assert (B1 : q * (1 - k2) <= q * r <= q * (1 + k2)) by (split; apply Rmult_le_compat_l; lra).
  assert (P1 : 0 <= kappa * q) by (apply Rmult_le_pos; lra).
  assert (P2 : (k1 + k2) * q <= kappa * q) by (apply Rmult_le_compat_r; lra).
  assert (P3 : 0 <= k1 * q) by (apply Rmult_le_pos; lra).
  assert (P4 : 0 <= k2 * q) by (apply Rmult_le_pos; lra).
  split.
  + (* x >= (q r - tail) / (1 + k1) *)
    destruct (Rle_lt_dec (q * (1 - kappa * (1 + / 8)) - 2 * tail) 0) as [Z|Z]; [lra|].
    apply (Rmult_le_reg_l (1 + k1)); [lra|].
    assert (k1 * (q * (1 - kappa * (1 + / 8)) - 2 * tail) <= k1 * q).
    { apply Rmult_le_compat_l; [lra|]. assert (0 <= kappa * (1 + / 8) * q) by lra. lra. }
    lra.
  + apply (Rmult_le_reg_l (1 - k1)); [lra|].
    assert (K : k1 * (q * (1 + kappa * (1 + / 8)) + 2 * tail) <=
      k1 * q + / 16 * (kappa * (1 + / 8) * q) + / 16 * (2 * tail)).
    { assert (k1 * (kappa * (1 + / 8) * q) <= / 16 * (kappa * (1 + / 8) * q)) by (apply Rmult_le_compat_r; lra).
      assert (k1 * (2 * tail) <= / 16 * (2 * tail)) by (apply Rmult_le_compat_r; lra). lra. }
    lra.
- (* q < 0: then N is tiny *)
  assert (q * r <= q * (15 / 16)).
  { apply Rmult_le_compat_neg_l; lra. }
  assert (B : q * (17/16) <= q * r) by (apply Rmult_le_compat_neg_l; lra).
  assert (X1 : k1 * x <= / 16 * x) by (apply Rmult_le_compat_r; lra).
  assert (K1 : kappa * (1 + / 8) * (- q) <= / 8 * (- q)) by (apply Rmult_le_compat_r; lra).
  assert (K2 : 0 <= kappa * (1 + / 8) * (- q)) by (apply Rmult_le_pos; lra).
  split; lra.
Qed.
End Quotient.

Section Sensitivity.
(* p t: weights times sizes; v', x': values and output rounded to float; xh: the output in double *)
Variables (n : nat) (pt v v' : nat -> R) (x xh x' u radius : R).
Hypothesis pt_pos : forall j, (j < n)%nat -> 0 <= pt j.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v' j - v j) <= u * Rabs (v j).
Hypothesis center : Rabs (x' - xh) <= u * Rabs xh.
Hypothesis enclosed : Rabs (xh - x) <= radius.

(** theorem: sensitivity_moved — values and output rounded to float and an output known to its radius move S = sum p t |v - x| by at most u (B + |x^| C) + radius C, with B = sum p t |v| and C = sum p t. used by: src/softmax/enclose.c *)
Theorem sensitivity_moved :
  Rabs (sum n (fun j => pt j * Rabs (v' j - x')) - sum n (fun j => pt j * Rabs (v j - x))) <=
    u * (sum n (fun j => pt j * Rabs (v j)) + Rabs xh * sum n pt) + radius * sum n pt.
Proof.
rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|].
replace (u * (sum n (fun j => pt j * Rabs (v j)) + Rabs xh * sum n pt) + radius * sum n pt)
  with (sum n (fun j => u * (pt j * Rabs (v j)) + (u * Rabs xh + radius) * pt j))
  by (rewrite sum_plus, !sum_scal; ring).
apply sum_le. intros j Hj.
replace (pt j * Rabs (v' j - x') - pt j * Rabs (v j - x)) with (pt j * (Rabs (v' j - x') - Rabs (v j - x))) by ring.
rewrite Rabs_mult, (Rabs_pos_eq (pt j)) by (apply pt_pos, Hj).
replace (u * (pt j * Rabs (v j)) + (u * Rabs xh + radius) * pt j)
  with (pt j * (u * Rabs (v j) + u * Rabs xh + radius)) by ring.
apply Rmult_le_compat_l; [apply pt_pos, Hj|].
eapply Rle_trans; [apply Rabs_triang_inv2|].
replace (v' j - x' - (v j - x)) with ((v' j - v j) + - (x' - xh) + - (xh - x)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. apply Rplus_le_compat; [|exact enclosed].
eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. apply Rplus_le_compat; [apply values, Hj|exact center].
Qed.
End Sensitivity.
