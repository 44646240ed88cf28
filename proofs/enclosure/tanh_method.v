(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* exp(r) - 1 by the kernels' polynomials in exact arithmetic, with errors that vanish with r: for tanh
   and expm1. coqchk: no (interval arithmetic on Z).

   Two polynomials differ by r^2 times a small one; what the long Taylor polynomial leaves has a
   derivative that interval arithmetic bounds. *)
From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa enclosure.exp_method.
Import ITZ.
Open Scope R_scope.
Notation pow2 := (bpow radix2).

(* A function that vanishes at 0, by a bound of its derivative. *)
Lemma vanishing (f df : R -> R) b e r : f 0 = 0 -> (forall t, Rabs t <= b -> is_derive f t (df t)) ->
  (forall t, Rabs t <= b -> Rabs (df t) <= e) -> Rabs r <= b -> Rabs (f r) <= e * Rabs r.
Proof.
intros Z D B H.
destruct (MVT_cor4 f df 0 b) with (b := r) as [c [E C]].
- intros c Hc. rewrite Rminus_0_r in Hc. apply D, Hc.
- rewrite Rminus_0_r. exact H.
- rewrite Z, !Rminus_0_r in *. rewrite E, Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  apply B. lra.
Qed.

Definition taylor9 (r : R) : R :=
  1 + r * (1 + r * (1/2 + r * (1/6 + r * (1/24 + r * (1/120 + r * (1/720 + r * (1/5040 +
  r * (1/40320 + r * (1/362880))))))))).
Definition taylor13 (r : R) : R :=
  1 + r * (1 + r * (1/2 + r * (1/6 + r * (1/24 + r * (1/120 + r * (1/720 + r * (1/5040 +
  r * (1/40320 + r * (1/362880 + r * (1/3628800 + r * (1/39916800 + r * (1/479001600 +
  r * (1/6227020800))))))))))))).

Lemma taylor10_vanishing r : reduced r -> Rabs (taylor10 r - exp r) <= 1 * pow2 (-36) * Rabs r.
Proof.
apply (vanishing (fun r => taylor10 r - exp r) (fun r => taylor9 r - exp r)).
- unfold taylor10. rewrite exp_0. ring.
- intros t _. unfold taylor10, taylor9. auto_derive; [exact I|]. field.
- intros t H. unfold taylor9. interval with (i_bisect t, i_taylor t, i_degree 11, i_prec 55).
Qed.

Lemma taylor14_vanishing r : reduced r -> Rabs (taylor14 r - exp r) <= 5 * pow2 (-60) * Rabs r.
Proof.
apply (vanishing (fun r => taylor14 r - exp r) (fun r => taylor13 r - exp r)).
- unfold taylor14. rewrite exp_0. ring.
- intros t _. unfold taylor14, taylor13. auto_derive; [exact I|]. field.
- intros t H. unfold taylor13. interval with (i_bisect t, i_taylor t, i_degree 15, i_prec 75).
Qed.

Lemma poly32_vanishing r : reduced r -> Rabs (poly32 r - taylor10 r) <= 27 * pow2 (-30) * Rabs r.
Proof.
intros H. pose (c := dyadic_R).
replace (poly32 r - taylor10 r) with (r * ((c EXP32_C2 - 1/2) + r * ((c EXP32_C3 - 1/6) +
  r * ((c EXP32_C4 - 1/24) + r * ((c EXP32_C5 - 1/120) + r * ((c EXP32_C6 - 1/720) +
  r * (-1/5040 + r * (-1/40320 + r * (-1/362880 + r * (-1/3628800))))))))) * r).
2: { unfold c, poly32, taylor10, vf_exp_tail. simpl. numbers. field. }
rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
unfold c. numbers. interval with (i_bisect r, i_autodiff r, i_prec 50).
Qed.

Lemma poly64_vanishing r : reduced r -> Rabs (poly64 r - taylor14 r) <= 56 * pow2 (-60) * Rabs r.
Proof.
intros H. pose (c := dyadic_R).
replace (poly64 r - taylor14 r) with (r * ((c EXP64_C2 - 1/2) + r * ((c EXP64_C3 - 1/6) +
  r * ((c EXP64_C4 - 1/24) + r * ((c EXP64_C5 - 1/120) + r * ((c EXP64_C6 - 1/720) +
  r * ((c EXP64_C7 - 1/5040) + r * ((c EXP64_C8 - 1/40320) + r * ((c EXP64_C9 - 1/362880) +
  r * ((c EXP64_C10 - 1/3628800) + r * ((c EXP64_C11 - 1/39916800) + r * (-1/479001600 +
  r * (-1/6227020800 + r * (-1/87178291200))))))))))))) * r).
2: { unfold c, poly64, taylor14, vd_exp_tail. simpl. numbers. field. }
rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
unfold c. numbers. interval with (i_bisect r, i_autodiff r, i_prec 80).
Qed.
