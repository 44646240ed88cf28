(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The polynomials of the exponential kernels in exact arithmetic against exp on the reduced range,
   and how well the constants of the reduction split ln 2. coqchk: no (interval arithmetic on Z).

   exp is a long Taylor polynomial up to a remainder that interval arithmetic bounds at once; the
   difference of two polynomials has small coefficients, so that plain bisection bounds it too. *)
From Coq Require Import Reals Lra.
From Flocq Require Import Core.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa.
Module SZ := SpecificFloat StdZRadix2.
Module ITZ := IntervalTactic SZ.
Import ITZ.
Open Scope R_scope.
Notation pow2 := (bpow radix2).

Definition exact := real_ops (fun x => x).
(* exp(r) by the kernels' polynomials without rounding *)
Definition poly32 (r : R) : R := vf_exp_tail exact r * r + 1.
Definition poly64 (r : R) : R := vd_exp_tail exact r * r + 1.

Ltac numbers :=
  unfold dyadic_R, EXP32_LOG2E, EXP32_LN2_HI, EXP32_LN2_LO, EXP32_ROUND, EXP32_C2, EXP32_C3, EXP32_C4,
    EXP32_C5, EXP32_C6, EXP32_MIN, EXP32_MAX, EXP64_LOG2E, EXP64_LN2_HI, EXP64_LN2_LO, EXP64_ROUND,
    EXP64_C2, EXP64_C3, EXP64_C4, EXP64_C5, EXP64_C6, EXP64_C7, EXP64_C8, EXP64_C9, EXP64_C10, EXP64_C11,
    EXP64_MIN, EXP64_MAX in *;
  cbv [num expo] in *; change (bpow radix2 0) with 1 in *.

(* |r| <= 0.34664: ln 2 / 2 and what the reduction may be off. *)
Notation reduced r := (Rabs r <= 45434 * pow2 (-17)).

Definition taylor10 (r : R) : R :=
  1 + r * (1 + r * (1/2 + r * (1/6 + r * (1/24 + r * (1/120 + r * (1/720 + r * (1/5040 +
  r * (1/40320 + r * (1/362880 + r * (1/3628800)))))))))).
Definition taylor14 (r : R) : R :=
  1 + r * (1 + r * (1/2 + r * (1/6 + r * (1/24 + r * (1/120 + r * (1/720 + r * (1/5040 +
  r * (1/40320 + r * (1/362880 + r * (1/3628800 + r * (1/39916800 + r * (1/479001600 +
  r * (1/6227020800 + r * (1/87178291200)))))))))))))).

Lemma taylor10_error r : reduced r -> Rabs (taylor10 r - exp r) <= 1 * pow2 (-41).
Proof. intros H. unfold taylor10. interval with (i_bisect r, i_taylor r, i_degree 11, i_prec 55). Qed.

Lemma taylor14_error r : reduced r -> Rabs (taylor14 r - exp r) <= 1 * pow2 (-61).
Proof. intros H. unfold taylor14. interval with (i_bisect r, i_taylor r, i_degree 15, i_prec 75). Qed.

(* |p - t| <= e |t|, in the form that interval arithmetic decides. *)
Lemma relative p t e : Rabs ((p - t) / t) <= e -> 0 < t -> Rabs (p - t) <= e * t.
Proof.
intros H Ht. unfold Rdiv in H. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq t) in H by lra.
apply (Rmult_le_compat_r t) in H; [|lra]. rewrite Rmult_assoc, Rinv_l in H by lra. lra.
Qed.

Lemma exp_range r : reduced r -> 45/64 <= exp r <= 91/64.
Proof. intros H. split; interval with (i_prec 30). Qed.

Lemma taylor10_positive r : reduced r -> 0 < taylor10 r.
Proof. intros H. unfold taylor10. interval with (i_prec 30). Qed.
Lemma taylor14_positive r : reduced r -> 0 < taylor14 r.
Proof. intros H. unfold taylor14. interval with (i_prec 30). Qed.

Lemma poly32_taylor r : reduced r -> Rabs (poly32 r - taylor10 r) <= 123 * pow2 (-35) * taylor10 r.
Proof.
intros H. apply relative; [|apply taylor10_positive, H]. pose (c := dyadic_R).
replace (poly32 r - taylor10 r) with (r * (r * ((c EXP32_C2 - 1/2) + r * ((c EXP32_C3 - 1/6) +
  r * ((c EXP32_C4 - 1/24) + r * ((c EXP32_C5 - 1/120) + r * ((c EXP32_C6 - 1/720) +
  r * (-1/5040 + r * (-1/40320 + r * (-1/362880 + r * (-1/3628800))))))))))).
2: { unfold c, poly32, taylor10, vf_exp_tail. simpl. numbers. field. }
unfold c, taylor10. numbers. interval with (i_bisect r, i_autodiff r, i_prec 45).
Qed.

Lemma poly64_taylor r : reduced r -> Rabs (poly64 r - taylor14 r) <= 9 * pow2 (-60) * taylor14 r.
Proof.
intros H. apply relative; [|apply taylor14_positive, H]. pose (c := dyadic_R).
replace (poly64 r - taylor14 r) with (r * (r * ((c EXP64_C2 - 1/2) + r * ((c EXP64_C3 - 1/6) +
  r * ((c EXP64_C4 - 1/24) + r * ((c EXP64_C5 - 1/120) + r * ((c EXP64_C6 - 1/720) +
  r * ((c EXP64_C7 - 1/5040) + r * ((c EXP64_C8 - 1/40320) + r * ((c EXP64_C9 - 1/362880) +
  r * ((c EXP64_C10 - 1/3628800) + r * ((c EXP64_C11 - 1/39916800) + r * (-1/479001600 +
  r * (-1/6227020800 + r * (-1/87178291200))))))))))))))).
2: { unfold c, poly64, taylor14, vd_exp_tail. simpl. numbers. field. }
unfold c, taylor14. numbers. interval with (i_bisect r, i_autodiff r, i_prec 80).
Qed.

(* A polynomial near another that is near exp. *)
Lemma near_exp r p t e1 e2 e : reduced r -> Rabs (p - t) <= e1 * t -> Rabs (t - exp r) <= e2 ->
  0 <= e1 -> e1 * e2 + e2 <= (e - e1) * (45/64) -> e1 <= e -> Rabs (p - exp r) <= e * exp r.
Proof.
intros H A B P L N. assert (C := exp_range r H).
replace (p - exp r) with ((p - t) + (t - exp r)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. apply Rabs_le_inv in B.
assert (e1 * t <= e1 * (exp r + e2)) by (apply Rmult_le_compat_l; lra).
assert ((e - e1) * (45/64) <= (e - e1) * exp r) by (apply Rmult_le_compat_l; lra).
assert (D : Rabs (t - exp r) <= e2) by (apply Rabs_le; lra). lra.
Qed.

Lemma method32 r : reduced r -> Rabs (poly32 r - exp r) <= 124 * pow2 (-35) * exp r.
Proof.
intros H. eapply near_exp; [exact H|apply poly32_taylor, H|apply taylor10_error, H|..]; simpl; lra.
Qed.

Lemma method64 r : reduced r -> Rabs (poly64 r - exp r) <= 10 * pow2 (-60) * exp r.
Proof.
intros H. eapply near_exp; [exact H|apply poly64_taylor, H|apply taylor14_error, H|..]; simpl; lra.
Qed.

(* The constants of the reduction. *)
Lemma ln2_split32 : Rabs (ln 2 - (dyadic_R EXP32_LN2_HI + dyadic_R EXP32_LN2_LO)) <= 1 * pow2 (-44).
Proof. numbers. interval with (i_prec 80). Qed.
Lemma ln2_split64 : Rabs (ln 2 - (dyadic_R EXP64_LN2_HI + dyadic_R EXP64_LN2_LO)) <= 1 * pow2 (-89).
Proof. numbers. interval with (i_prec 120). Qed.
Lemma log2e32 : Rabs (dyadic_R EXP32_LOG2E * ln 2 - 1) <= 1 * pow2 (-26).
Proof. numbers. interval with (i_prec 80). Qed.
Lemma log2e64 : Rabs (dyadic_R EXP64_LOG2E * ln 2 - 1) <= 1 * pow2 (-54).
Proof. numbers. interval with (i_prec 120). Qed.
Lemma ln2_range : 45426 * pow2 (-16) <= ln 2 <= 45427 * pow2 (-16).
Proof. split; interval with (i_prec 60). Qed.
Lemma small_shift32 d : Rabs d <= 1025 * pow2 (-36) -> Rabs (exp d - 1) <= 1026 * pow2 (-36).
Proof. intros H. interval with (i_taylor d, i_degree 3, i_prec 60). Qed.
Lemma small_shift64 d : Rabs d <= 1025 * pow2 (-65) -> Rabs (exp d - 1) <= 1026 * pow2 (-65).
Proof. intros H. interval with (i_taylor d, i_degree 3, i_prec 100). Qed.
(* Results stay normal and finite. *)
Lemma exp_range32 x : -86 <= x <= 88 -> pow2 (-125) <= exp x <= 127/128 * pow2 127.
Proof. intros H. split; interval with (i_prec 60). Qed.
Lemma exp_range64 x : -707 <= x <= 709 -> pow2 (-1021) <= exp x <= 127/128 * pow2 1023.
Proof. intros H. split; interval with (i_prec 60). Qed.
