(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The exponential kernels on Flocq's floating-point numbers: no overflow, no underflow, and the
   error that src/enclosure/exp_constants.h states. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa
  enclosure.exp_method enclosure.exp_reduction enclosure.exp_error.
Open Scope R_scope.

Notation val32 := (B2R 24 128).
Notation fin32 := (is_finite 24 128).
Notation val64 := (B2R 53 1024).
Notation fin64 := (is_finite 53 1024).

(* A constant of the kernels, with its bound. *)
Ltac is_const := first [apply const32; reflexivity | apply const64; reflexivity].
Ltac constant := split; [is_const|
  cbv [real32 real64 real_ops const]; apply Rabs_le; numbers; simpl; lra].

Lemma tail32_stands r a : stands32 r a -> Rabs a <= 1/2 ->
  stands32 (vf_exp_tail float32 r) (vf_exp_tail real32 a) /\ Rabs (vf_exp_tail real32 a) <= 2.
Proof.
intros Hr Ha. unfold vf_exp_tail.
repeat (apply horner32; [|split; assumption|constant]). constant.
Qed.

Lemma tail64_stands r a : stands64 r a -> Rabs a <= 1/2 ->
  stands64 (vd_exp_tail float64 r) (vd_exp_tail real64 a) /\ Rabs (vd_exp_tail real64 a) <= 2.
Proof.
intros Hr Ha. unfold vd_exp_tail.
repeat (apply horner64; [|split; assumption|constant]). constant.
Qed.

Lemma half r : reduced r -> Rabs r <= 1/2.
Proof. intros H. simpl in H. lra. Qed.

Lemma small a b c e : Rabs (a * b + c) <= 1 -> 1 <= e -> Rabs (a * b + c) <= e.
Proof. lra. Qed.

(* What both proofs need of 2^k exp(x - k ln 2). *)
Lemma exp_split x k : exp x = bpow radix2 k * exp (x - IZR k * ln 2).
Proof. rewrite bpow_exp, <- exp_plus. f_equal. simpl. ring. Qed.

Lemma scaled_error h R k e x : IZR k * ln 2 + R = x -> Rabs (h - exp R) <= e * exp R ->
  Rabs (h * bpow radix2 k - exp x) <= e * exp x.
Proof.
intros <- H. rewrite (exp_split _ k). replace (IZR k * ln 2 + R - IZR k * ln 2) with R by ring.
replace (h * bpow radix2 k - bpow radix2 k * exp R) with (bpow radix2 k * (h - exp R)) by ring.
assert (P := bpow_gt_0 radix2 k). rewrite Rabs_mult, (Rabs_pos_eq (bpow _ _)) by lra.
replace (e * (bpow radix2 k * exp R)) with (bpow radix2 k * (e * exp R)) by ring.
apply Rmult_le_compat_l; [lra|exact H].
Qed.

Lemma one_le k : (0 <= k)%Z -> 1 <= bpow radix2 k.
Proof. intros H. change 1 with (bpow radix2 0). apply bpow_le, H. Qed.

(* A head in [45/64, 3/2], scaled to within 1/128 of exp x, itself between m and 127/128 of half the
   overflow threshold: normal and finite. *)
Lemma stays h k x lo hi e : 45/64 <= h -> Rabs (h * bpow radix2 k - exp x) <= e * exp x ->
  0 <= e <= 1/1024 -> bpow radix2 (lo + 1) <= exp x <= 127/128 * bpow radix2 hi ->
  bpow radix2 lo <= h * bpow radix2 k < bpow radix2 (hi + 1).
Proof.
intros Hh H He [L U]. rewrite bpow_plus in *. simpl (bpow radix2 1) in *.
assert (P := bpow_gt_0 radix2 lo). assert (Q := bpow_gt_0 radix2 hi). apply Rabs_le_inv in H.
assert (e * exp x <= 1/1024 * exp x) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* The start of every kernel: t, n and the reduced argument; v is the value of x. *)
Section Start32.
Variable x : float32.
Let t : float32 := fma x (const EXP32_LOG2E) (const EXP32_ROUND).
Let n : float32 := sub t (const EXP32_ROUND).
Let r : float32 := fma (neg n) (const EXP32_LN2_LO) (fma (neg n) (const EXP32_LN2_HI) x).

Lemma start32 v : stands32 x v -> -86 <= v <= 88 ->
  exists k a, stands32 t (IZR (3 * 2 ^ 22 + k)) /\ stands32 r a /\ f32 a /\ reduced a /\
    Rabs (a - (v - IZR k * ln 2)) <= 1025 * pow2 (-36) /\ (Z.abs k <= 127)%Z /\
    a = rnd32 (- IZR k * dyadic_R EXP32_LN2_LO + rnd32 (- IZR k * dyadic_R EXP32_LN2_HI + v)).
Proof.
intros Hx Bx. assert (Ff : f32 v) by exact (stands_format 23 8 eq_refl eq_refl eq_refl nan32 x v Hx).
destruct (reduction32 _ Ff Bx) as [k [Et [En [Hk [Hr [Er [E1 Ed]]]]]]]. rewrite En in *. clear Ed.
change (round radix2 (FLT_exp (-149) 24) ZnearestE) with rnd32 in *.
assert (Ht : stands32 t (IZR (3 * 2 ^ 22 + k))).
{ change (3 * 2 ^ (23 - 1) + k)%Z with (3 * 2 ^ 22 + k)%Z in Et. rewrite <- Et.
  apply fma32; [exact Hx|is_const|is_const|]. apply Rabs_le. numbers. simpl. lra. }
assert (Hn : stands32 n (IZR k)).
{ rewrite <- En, Et. apply sub32; [exact Ht|is_const|].
  assert (Hc : dyadic_R EXP32_ROUND = IZR (3 * 2 ^ 22)) by (numbers; simpl; lra).
  rewrite Hc, <- minus_IZR, <- abs_IZR, <- (IZR_Zpower radix2) by lia. apply IZR_le.
  change (radix2 ^ 127)%Z with (2 ^ 127)%Z. lia. }
apply neg32 in Hn. set (b := rnd32 (- IZR k * dyadic_R EXP32_LN2_HI + v)) in *.
assert (H1 : stands32 (fma (neg n) (const EXP32_LN2_HI) x) b).
{ apply fma32; [exact Hn|is_const|exact Hx|]. eapply Rle_trans; [exact E1|apply one_le; lia]. }
exists k, (rnd32 (- IZR k * dyadic_R EXP32_LN2_LO + b)).
split; [exact Ht|]. split; [|split; [|split; [exact Hr|split; [exact Er|split; [exact Hk|reflexivity]]]]].
- apply fma32; [exact Hn|is_const|exact H1|]. apply Rle_trans with 4; [|
    change 4 with (bpow radix2 2); apply bpow_le; lia].
  assert (B1 : Rabs b <= 1).
  { apply abs_round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact E1].
    change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp; simpl; lia. }
  assert (Bn : Rabs (IZR k) <= 127) by (rewrite <- abs_IZR; apply IZR_le, Hk).
  apply Rabs_le_inv in Bn. apply Rabs_le_inv in B1. apply Rabs_le. numbers. simpl. lra.
- apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N].
Qed.

(* The head, 1 + the tail times r. *)
Lemma head32_stands y a : stands32 y a -> reduced a ->
  stands32 (fma (vf_exp_tail float32 y) y (const (Dyadic 1 0))) (head32 a).
Proof.
intros Hy Ha. assert (Hh := half _ Ha). destruct (tail32_stands y a Hy Hh) as [H3 B3].
unfold head32. replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring).
apply fma32; [exact H3|exact Hy|is_const|].
apply Rle_trans with 2; [|change 2 with (bpow radix2 1); apply bpow_le; lia].
eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
assert (Rabs (vf_exp_tail real32 a) * Rabs a <= 2 * (1/2)) by (apply Rmult_le_compat; auto using Rabs_pos).
replace (dyadic_R (Dyadic 1 0)) with 1 by (unfold dyadic_R; simpl; ring). rewrite Rabs_R1. lra.
Qed.
End Start32.

Lemma exp32_stands x v : stands32 x v -> -86 <= v <= 88 ->
  exists y, stands32 (vf_exp float32 x) y /\ Rabs (y - exp v) <= 376 * pow2 (-32) * exp v.
Proof.
intros Hx Bx. destruct (start32 x v Hx Bx) as [k [a [Ht [Hr [Fr [Br [Er [Hk _]]]]]]]].
assert (Hs : Rabs (head32 a * bpow radix2 k - exp v) <= 376 * pow2 (-32) * exp v).
{ apply scaled_error with (R := v - IZR k * ln 2); [ring|apply head32_error; assumption]. }
assert (Hh := head32_range a Fr Br).
assert (Hw := stays _ k v (-126) 127 _ (proj1 Hh) Hs ltac:(simpl; lra) (exp_range32 v Bx)).
exists (head32 a * bpow radix2 k). split; [|exact Hs].
apply (keep_stands 23 8 eq_refl eq_refl eq_refl nan32 x (const EXP32_MIN) _ v (dyadic_R EXP32_MIN));
  [exact Hx|is_const| |numbers; simpl; lra].
apply scale32; [apply head32_stands; assumption|exact Ht|lia| |exact Hw].
apply Rle_trans with (bpow radix2 (-1)); [apply bpow_le; lia|simpl; lra].
Qed.

(* The same for double. *)
Section Start64.
Variable x : float64.
Let t : float64 := fma x (const EXP64_LOG2E) (const EXP64_ROUND).
Let n : float64 := sub t (const EXP64_ROUND).
Let r : float64 := fma (neg n) (const EXP64_LN2_LO) (fma (neg n) (const EXP64_LN2_HI) x).

Lemma start64 v : stands64 x v -> -707 <= v <= 709 ->
  exists k a, stands64 t (IZR (3 * 2 ^ 51 + k)) /\ stands64 r a /\ f64 a /\ reduced a /\
    Rabs (a - (v - IZR k * ln 2)) <= 1025 * pow2 (-65) /\ (Z.abs k <= 1023)%Z /\
    a = rnd64 (- IZR k * dyadic_R EXP64_LN2_LO + rnd64 (- IZR k * dyadic_R EXP64_LN2_HI + v)).
Proof.
intros Hx Bx. assert (Ff : f64 v) by exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 x v Hx).
destruct (reduction64 _ Ff Bx) as [k [Et [En [Hk [Hr [Er [E1 Ed]]]]]]]. rewrite En in *. clear Ed.
change (round radix2 (FLT_exp (-1074) 53) ZnearestE) with rnd64 in *.
assert (Ht : stands64 t (IZR (3 * 2 ^ 51 + k))).
{ change (3 * 2 ^ (52 - 1) + k)%Z with (3 * 2 ^ 51 + k)%Z in Et. rewrite <- Et.
  apply fma64; [exact Hx|is_const|is_const|]. apply Rabs_le. numbers. simpl. lra. }
assert (Hn : stands64 n (IZR k)).
{ rewrite <- En, Et. apply sub64; [exact Ht|is_const|].
  assert (Hc : dyadic_R EXP64_ROUND = IZR (3 * 2 ^ 51)) by (numbers; simpl; lra).
  rewrite Hc, <- minus_IZR, <- abs_IZR, <- (IZR_Zpower radix2) by lia. apply IZR_le.
  change (radix2 ^ 1023)%Z with (2 ^ 1023)%Z. lia. }
apply neg64 in Hn. set (b := rnd64 (- IZR k * dyadic_R EXP64_LN2_HI + v)) in *.
assert (H1 : stands64 (fma (neg n) (const EXP64_LN2_HI) x) b).
{ apply fma64; [exact Hn|is_const|exact Hx|]. eapply Rle_trans; [exact E1|apply one_le; lia]. }
exists k, (rnd64 (- IZR k * dyadic_R EXP64_LN2_LO + b)).
split; [exact Ht|]. split; [|split; [|split; [exact Hr|split; [exact Er|split; [exact Hk|reflexivity]]]]].
- apply fma64; [exact Hn|is_const|exact H1|]. apply Rle_trans with 4; [|
    change 4 with (bpow radix2 2); apply bpow_le; lia].
  assert (B1 : Rabs b <= 1).
  { apply abs_round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact E1].
    change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp; simpl; lia. }
  assert (Bn : Rabs (IZR k) <= 1023) by (rewrite <- abs_IZR; apply IZR_le, Hk).
  apply Rabs_le_inv in Bn. apply Rabs_le_inv in B1. apply Rabs_le. numbers. simpl. lra.
- apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N].
Qed.

(* The head, 1 + the tail times r. *)
Lemma head64_stands y a : stands64 y a -> reduced a ->
  stands64 (fma (vd_exp_tail float64 y) y (const (Dyadic 1 0))) (head64 a).
Proof.
intros Hy Ha. assert (Hh := half _ Ha). destruct (tail64_stands y a Hy Hh) as [H3 B3].
unfold head64. replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring).
apply fma64; [exact H3|exact Hy|is_const|].
apply Rle_trans with 2; [|change 2 with (bpow radix2 1); apply bpow_le; lia].
eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
assert (Rabs (vd_exp_tail real64 a) * Rabs a <= 2 * (1/2)) by (apply Rmult_le_compat; auto using Rabs_pos).
replace (dyadic_R (Dyadic 1 0)) with 1 by (unfold dyadic_R; simpl; ring). rewrite Rabs_R1. lra.
Qed.
End Start64.

Lemma exp64_stands x v : stands64 x v -> -707 <= v <= 709 ->
  exists y, stands64 (vd_exp float64 x) y /\ Rabs (y - exp v) <= 990 * pow2 (-62) * exp v.
Proof.
intros Hx Bx. destruct (start64 x v Hx Bx) as [k [a [Ht [Hr [Fr [Br [Er [Hk _]]]]]]]].
assert (Hs : Rabs (head64 a * bpow radix2 k - exp v) <= 990 * pow2 (-62) * exp v).
{ apply scaled_error with (R := v - IZR k * ln 2); [ring|apply head64_error; assumption]. }
assert (Hh := head64_range a Fr Br).
assert (Hw := stays _ k v (-1022) 1023 _ (proj1 Hh) Hs ltac:(simpl; lra) (exp_range64 v Bx)).
exists (head64 a * bpow radix2 k). split; [|exact Hs].
apply (keep_stands 52 11 eq_refl eq_refl eq_refl nan64 x (const EXP64_MIN) _ v (dyadic_R EXP64_MIN));
  [exact Hx|is_const| |numbers; simpl; lra].
apply scale64; [apply head64_stands; assumption|exact Ht|lia| |exact Hw].
apply Rle_trans with (bpow radix2 (-1)); [apply bpow_le; lia|simpl; lra].
Qed.

(** theorem: exp32_error — vf_exp, the float exponential of every instruction set, of a finite x in [EXP32_MIN, EXP32_MAX] is finite and within EXP32_ERROR 2^-24 of exp x, relatively. used by: src/enclosure/exp_isa.h, src/softmax/bound.c *)
Theorem exp32_error x : fin32 x = true -> -86 <= val32 x <= 88 ->
  fin32 (vf_exp float32 x) = true /\
  Rabs (val32 (vf_exp float32 x) - exp (val32 x)) <= dyadic_R EXP32_ERROR * pow2 (-24) * exp (val32 x).
Proof.
intros Fx Bx. destruct (exp32_stands x (val32 x) (conj Fx eq_refl) Bx) as [y [[F E] H]].
split; [exact F|]. change (val32 (vf_exp float32 x) = y) in E. rewrite E. apply Rle_trans with (1 := H).
apply Rmult_le_compat_r; [left; apply exp_pos|]. unfold dyadic_R, EXP32_ERROR. simpl. lra.
Qed.

(** theorem: exp64_error — vd_exp, the double exponential of every instruction set, of a finite x in [EXP64_MIN, EXP64_MAX] is finite and within EXP64_ERROR 2^-53 of exp x, relatively. used by: src/enclosure/exp_isa.h, src/softmax/enclose.c *)
Theorem exp64_error x : fin64 x = true -> -707 <= val64 x <= 709 ->
  fin64 (vd_exp float64 x) = true /\
  Rabs (val64 (vd_exp float64 x) - exp (val64 x)) <= dyadic_R EXP64_ERROR * pow2 (-53) * exp (val64 x).
Proof.
intros Fx Bx. destruct (exp64_stands x (val64 x) (conj Fx eq_refl) Bx) as [y [[F E] H]].
split; [exact F|]. change (val64 (vd_exp float64 x) = y) in E. rewrite E. apply Rle_trans with (1 := H).
apply Rmult_le_compat_r; [left; apply exp_pos|]. unfold dyadic_R, EXP64_ERROR. simpl. lra.
Qed.

(** theorem: exp32_nothing — vf_exp of a NaN, of minus infinity and of every x below EXP32_MIN is zero. used by: src/enclosure/exp_isa.h *)
Theorem exp32_nothing (x : binary_float 24 128) : (fin32 x = true -> val32 x < -86) ->
  x <> B754_infinity 24 128 false -> vf_exp float32 x = B754_zero 24 128 false.
Proof.
intros H N. apply (keep_nothing 23 8 eq_refl eq_refl eq_refl nan32 x (const EXP32_MIN) _ (-86)).
- replace (-86) with (dyadic_R EXP32_MIN) by (numbers; simpl; lra). is_const.
- exact H.
- intros [|]; [now right|left; exact N].
Qed.

(** theorem: exp64_nothing — vd_exp of a NaN, of minus infinity and of every x below EXP64_MIN is zero. used by: src/enclosure/exp_isa.h, src/softmax/enclose.c *)
Theorem exp64_nothing (x : binary_float 53 1024) : (fin64 x = true -> val64 x < -707) ->
  x <> B754_infinity 53 1024 false -> vd_exp float64 x = B754_zero 53 1024 false.
Proof.
intros H N. apply (keep_nothing 52 11 eq_refl eq_refl eq_refl nan64 x (const EXP64_MIN) _ (-707)).
- replace (-707) with (dyadic_R EXP64_MIN) by (numbers; simpl; lra). is_const.
- exact H.
- intros [|]; [now right|left; exact N].
Qed.
