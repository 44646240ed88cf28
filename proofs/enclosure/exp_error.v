(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The exponential kernels: what the rounding of Horner's rule costs, and all errors together. The
   values are those of the kernels over the reals with a rounding after every operation. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core.
From Gappa Require Import Gappa_tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa
  enclosure.exp_method enclosure.exp_reduction.
Open Scope R_scope.

(* exp(r) as the kernels compute it *)
Definition head32 (r : R) : R := rnd32 (vf_exp_tail real32 r * r + 1).
Definition head64 (r : R) : R := rnd64 (vd_exp_tail real64 r * r + 1).

Ltac open_kernel := unfold vf_exp_tail, vd_exp_tail, real32, real64, exact, rnd32, rnd64;
  cbv [real_ops carrier const fma]; numbers; rewrite ?Rmult_1_r.

Lemma rounding32 r : f32 r -> reduced r ->
  Rabs ((head32 r - poly32 r) / poly32 r) <= 296 * pow2 (-32).
Proof. intros F H. unfold head32, poly32. open_kernel. gappa. Qed.
Lemma head32_range r : f32 r -> reduced r -> 45/64 <= head32 r <= 3/2.
Proof. intros F H. unfold head32. open_kernel. gappa. Qed.
Lemma rounding64 r : f64 r -> reduced r ->
  Rabs ((head64 r - poly64 r) / poly64 r) <= 820 * pow2 (-62).
Proof. intros F H. unfold head64, poly64. open_kernel. gappa. Qed.
Lemma head64_range r : f64 r -> reduced r -> 45/64 <= head64 r <= 3/2.
Proof. intros F H. unfold head64. open_kernel. gappa. Qed.

(* |a - b| <= e b from a quotient, b > 0. *)
Lemma quotient a b e : Rabs ((a - b) / b) <= e -> 0 < b -> Rabs (a - b) <= e * b.
Proof.
intros H Hb. unfold Rdiv in H. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq b) in H by lra.
apply (Rmult_le_compat_r b) in H; [|lra]. rewrite Rmult_assoc, Rinv_l in H by lra. lra.
Qed.

(* Four numbers, each near the next: head, polynomial, exp of the reduced argument, exp of what the
   argument should have been. *)
Lemma chain h p er eR e1 e2 e3 e : 0 < er -> 0 < eR -> 0 <= e1 -> 0 <= e2 < 1 -> 0 <= e3 ->
  (0 < p -> Rabs (h - p) <= e1 * p) -> Rabs (p - er) <= e2 * er -> Rabs (er - eR) <= e3 * eR ->
  (1 + e1) * (1 + e2) * (1 + e3) - 1 <= e -> Rabs (h - eR) <= e * eR.
Proof.
intros Per PeR P1 P2 P3 H1 H2 H3 He.
assert (Pp : 0 < p).
{ apply Rabs_le_inv in H2. assert (e2 * er < 1 * er) by (apply Rmult_lt_compat_r; lra). lra. }
specialize (H1 Pp).
assert (U2 : p <= (1 + e2) * er) by (apply Rabs_le_inv in H2; lra).
assert (U3 : er <= (1 + e3) * eR) by (apply Rabs_le_inv in H3; lra).
replace (h - eR) with ((h - p) + (p - er) + (er - eR)) by ring.
assert (T : Rabs (h - p + (p - er) + (er - eR)) <= e1 * p + e2 * er + e3 * eR).
{ eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|exact H3].
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; assumption. }
apply Rle_trans with (1 := T).
assert (e1 * p <= e1 * ((1 + e2) * er)) by (apply Rmult_le_compat_l; lra).
assert ((e1 * (1 + e2) + e2) * er <= (e1 * (1 + e2) + e2) * ((1 + e3) * eR)).
{ apply Rmult_le_compat_l; [|exact U3]. assert (0 <= e1 * (1 + e2)) by (apply Rmult_le_pos; lra). lra. }
apply Rle_trans with (((1 + e1) * (1 + e2) * (1 + e3) - 1) * eR); [lra|].
apply Rmult_le_compat_r; lra.
Qed.

(* exp(a) near exp(b) *)
Lemma shifted a b e e' : Rabs (a - b) <= e -> 0 <= e -> (forall d, Rabs d <= e -> Rabs (exp d - 1) <= e') ->
  Rabs (exp a - exp b) <= e' * exp b.
Proof.
intros H He K. replace (exp a) with (exp (a - b) * exp b) by (rewrite <- exp_plus; f_equal; ring).
replace (exp (a - b) * exp b - exp b) with ((exp (a - b) - 1) * exp b) by ring.
assert (P := exp_pos b). rewrite Rabs_mult, (Rabs_pos_eq (exp b)) by lra.
apply Rmult_le_compat_r; [lra|apply K, H].
Qed.

Lemma head32_error r R : f32 r -> reduced r -> Rabs (r - R) <= 1025 * pow2 (-36) ->
  Rabs (head32 r - exp R) <= 376 * pow2 (-32) * exp R.
Proof.
intros F H E.
apply (chain _ (poly32 r) (exp r) _ (296 * pow2 (-32)) (124 * pow2 (-35)) (1026 * pow2 (-36)));
  try apply exp_pos; try (simpl; lra).
- intros P. apply quotient; [apply rounding32; assumption|exact P].
- apply method32, H.
- apply shifted with (1 := E); [simpl; lra|]. exact small_shift32.
Qed.

Lemma head64_error r R : f64 r -> reduced r -> Rabs (r - R) <= 1025 * pow2 (-65) ->
  Rabs (head64 r - exp R) <= 990 * pow2 (-62) * exp R.
Proof.
intros F H E.
apply (chain _ (poly64 r) (exp r) _ (820 * pow2 (-62)) (10 * pow2 (-60)) (1026 * pow2 (-65)));
  try apply exp_pos; try (simpl; lra).
- intros P. apply quotient; [apply rounding64; assumption|exact P].
- apply method64, H.
- apply shifted with (1 := E); [simpl; lra|]. exact small_shift64.
Qed.
