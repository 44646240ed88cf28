(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The polynomial of the logarithm in exact arithmetic against ln on its range. coqchk: no (interval
   arithmetic on Z). *)
From Coq Require Import Reals Lra.
From Flocq Require Import Core.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import enclosure.float_ops enclosure.log_constants enclosure.log_isa
  enclosure.exp_constants enclosure.exp_method enclosure.log_series.
Import ITZ.
Open Scope R_scope.

(* log f by the kernel's polynomial without rounding *)
Definition log_poly (f : R) : R := vd_log_fraction exact f.

Ltac log_numbers :=
  unfold dyadic_R, LOG64_ROOT, LOG64_C3, LOG64_C5, LOG64_C7, LOG64_C9, LOG64_C11, LOG64_C13, LOG64_C15, LOG64_C17,
    LOG64_C19, LOG64_C21, EXP64_LN2_HI, EXP64_LN2_LO, EXP64_ROUND in *;
  cbv [num expo] in *; change (bpow radix2 0) with 1 in *.

(* a little more than [sqrt 1/2, sqrt 2) *)
Notation log_range f := (46340 * pow2 (-16) <= f <= 46342 * pow2 (-15)).

Lemma log_method f : log_range f -> Rabs (log_poly f - ln f) <= 1 * pow2 (-56).
Proof.
intros H. unfold log_poly, vd_log_fraction, vd_log_series, exact. cbv [real_ops carrier const fma add sub mul div]. log_numbers.
interval with (i_bisect f, i_taylor f, i_degree 12, i_prec 75).
Qed.

(* The series in z against log ((1 + z) / (1 - z)), relative. *)
Lemma log_series_method z : z_range z -> Rabs (vd_log_series exact z - atanh2 z) <= 3 * pow2 (-56) * Rabs z.
Proof.
intros H. change (vd_log_series exact z) with (series (dyadic_R LOG64_C3) (dyadic_R LOG64_C5) (dyadic_R LOG64_C7) (dyadic_R LOG64_C9)
  (dyadic_R LOG64_C11) (dyadic_R LOG64_C13) (dyadic_R LOG64_C15) (dyadic_R LOG64_C17) (dyadic_R LOG64_C19) (dyadic_R LOG64_C21) z).
apply series_method; [|exact H]. intros w W. unfold slope. log_numbers.
interval with (i_taylor w, i_degree 13, i_prec 75).
Qed.

Lemma log_range_ln f : log_range f -> Rabs (ln f) <= 34662/100000.
Proof. intros H. interval with (i_prec 40). Qed.

Lemma root_ln : 34656/100000 <= - ln (dyadic_R LOG64_ROOT) /\ 34656/100000 <= ln (2 * dyadic_R LOG64_ROOT) /\
  0 < dyadic_R LOG64_ROOT.
Proof. log_numbers. split; [|split]; interval with (i_prec 60). Qed.

Lemma log2e_relative : Rabs (dyadic_R EXP64_LOG2E * ln 2 - 1) <= 1/5 * pow2 (-53).
Proof. unfold dyadic_R, EXP64_LOG2E. cbn [num expo]. interval with (i_prec 80). Qed.

Lemma ln2_range : 69314/100000 <= ln 2 <= 69315/100000.
Proof. split; interval with (i_prec 40). Qed.

(* beyond the ends of log1p's series *)
Lemma log1p_ends : ln (711/1000) <= -3410/10000 /\ 3428/10000 <= ln (1409/1000).
Proof. split; interval with (i_prec 40). Qed.
