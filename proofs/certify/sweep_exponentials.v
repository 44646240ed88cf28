(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The enclosures of sweeps that rest on the exponential: exp, the Gaussian, exp2, expm1, tanh, sigmoid and
   silu of src/certify/sweep_enclose_isa.c, midpoint and radius as computed in double. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary.
From Gappa Require Import Gappa_tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa enclosure.exp_method
  enclosure.exp_reduction enclosure.exp_error enclosure.exp_float enclosure.tanh_method enclosure.tanh_float
  certify.sweep_rounding certify.sweep_exp_isa.
Open Scope R_scope.

Notation tiny := (pow2 (-1020)).

(* ---- balls around a number Y near f ---- *)
Section Balls.
Variables (y : float64) (Y f a s c : R) (d : dyadic).
Hypothesis value : stands64 y Y.
Hypothesis bounded : Rabs Y <= pow2 1023.
Hypothesis factor : stands64 (const d) (dyadic_R d) /\ dyadic_R d = c * u.
Hypothesis near : Rabs (Y - f) <= a * u * Rabs f.
Hypothesis normal : Y = 0 \/ pow2 (-1022) <= s * Rabs Y.
Hypothesis room : 0 <= a <= 16 /\ 0 <= s /\ a + s + 1 / 100 <= c <= 32.

Lemma ball_radius : stands64 (mul (mag_of y) (const d)) (rnd64 (Rabs Y * (c * u))).
Proof using value bounded factor room.
destruct factor as [F1 F2]. rewrite <- F2. apply mul64; [apply mag64, value|exact F1|]. rewrite F2.
pose proof u_small. assert (0 <= c * u <= 1).
{ split; [apply Rmult_le_pos; lra|]. assert (c * u <= 32 * u) by (apply Rmult_le_compat_r; lra). lra. }
rewrite Rabs_pos_eq by (apply Rmult_le_pos; [apply Rabs_pos|lra]).
apply Rle_trans with (Rabs Y * 1); [apply Rmult_le_compat_l; [apply Rabs_pos|lra]|lra].
Qed.

Lemma ball_contains : Rabs (f - Y) <= rnd64 (Rabs Y * (c * u)).
Proof using near normal room.
assert (U := u_small). assert (PY := Rabs_pos Y). assert (Pf := Rabs_pos f).
assert (B : Rabs f <= Rabs Y + a * u * Rabs f).
{ replace f with (Y - (Y - f)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (Ua : 0 <= a * u <= 16 * u) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (B1 : a * u * Rabs f <= 16 * u * Rabs f) by (apply Rmult_le_compat_r; lra).
assert (B2 : u * Rabs f <= / 1000000 * Rabs f) by (apply Rmult_le_compat_r; lra).
assert (B3 : Rabs f <= Rabs Y * (10001 / 10000)) by lra.
rewrite Rabs_minus_sym.
assert (N : Rabs (Y - f) <= a * u * (Rabs Y * (10001 / 10000))).
{ apply Rle_trans with (1 := near). apply Rmult_le_compat_l; lra. }
apply Rle_trans with (1 := N).
assert (PR : 0 <= Rabs Y * (c * u)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
pose proof (rnd64_error (Rabs Y * (c * u))) as R. rewrite (Rabs_pos_eq _ PR) in R. apply Rabs_le_inv in R.
destruct normal as [Z|L].
- rewrite Z, Rabs_R0, !Rmult_0_l, Rmult_0_r. unfold rnd64. rewrite round_0 by apply valid_rnd_N. lra.
- set (w := u * Rabs Y). assert (Pw : 0 <= w) by (apply Rmult_le_pos; lra).
  assert (E : pow2 (-1075) <= s * w).
  { unfold w. replace (s * (u * Rabs Y)) with (u * (s * Rabs Y)) by ring. change (-1075)%Z with (-53 + -1022)%Z.
    rewrite bpow_plus. apply Rmult_le_compat_l; lra. }
  replace (a * u * (Rabs Y * (10001 / 10000))) with (a * w * (10001 / 10000)) by (unfold w; ring).
  replace (Rabs Y * (c * u)) with (c * w) in R, PR by (unfold w; ring).
  replace (Rabs Y * (c * u)) with (c * w) by (unfold w; ring).
  assert (u * (c * w) <= / 1000000 * (c * w)) by (apply Rmult_le_compat_r; lra).
  assert (a * w <= 16 * w) by (apply Rmult_le_compat_r; lra).
  assert (c * w <= 32 * w) by (apply Rmult_le_compat_r; lra).
  assert ((a + s + 1 / 100) * w <= c * w) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma relative_ball : encloses (y, mul (mag_of y) (const d)) f.
Proof. exists Y, (rnd64 (Rabs Y * (c * u))). exact (conj value (conj ball_radius ball_contains)). Qed.

(* the ball of `positive` *)
Definition tiny_ball (t : dyadic) : float64 * float64 :=
  let l := y in
  let r : float64 := const (Dyadic 0 0) in
  let rad := select_lt r l (mul (mag_of y) (const d)) (const t) in (select_lt r l y (const t), rad).
End Balls.

Lemma format_one : f64 1.
Proof. change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp. lia. Qed.
Lemma is_zero64 : stands64 (const (Dyadic 0 0)) 0.
Proof. replace 0 with (dyadic_R (Dyadic 0 0)) by (unfold dyadic_R; simpl; ring). is_const. Qed.
Lemma is_one64 : stands64 (const (Dyadic 1 0)) 1.
Proof. replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring). is_const. Qed.
Lemma is_tiny64 : stands64 (const (Dyadic 1 (-1020))) tiny.
Proof. replace tiny with (dyadic_R (Dyadic 1 (-1020))) by (unfold dyadic_R; cbn [num expo]; ring). is_const. Qed.

Lemma positive_ball y Y f a s c d : stands64 y Y -> Rabs Y <= pow2 1023 ->
  stands64 (const d) (dyadic_R d) /\ dyadic_R d = c * u -> 0 <= a <= 16 /\ 0 <= s /\ a + s + 1 / 100 <= c <= 32 ->
  Rabs (Y - f) <= a * u * Rabs f /\ 0 < Y /\ pow2 (-1022) <= s * Y \/ Y = 0 /\ 0 <= f <= 2 * tiny ->
  encloses (tiny_ball y d (Dyadic 1 (-1020))) f.
Proof.
intros Hy B Hd Room H. unfold tiny_ball. cbv zeta.
assert (R := ball_radius y Y a s c d Hy B Hd Room).
assert (Sm := select_lt64 _ _ _ _ _ _ _ _ is_zero64 Hy Hy is_tiny64).
assert (Sr := select_lt64 _ _ _ _ _ _ _ _ is_zero64 Hy R is_tiny64).
destruct H as [[N [P L]]|[Z F]].
- destruct (Rlt_dec 0 Y) in Sm, Sr; [|contradiction]. eexists; eexists. split; [exact Sm|]. split; [exact Sr|].
  apply (ball_contains Y f a s c); try assumption. right. rewrite Rabs_pos_eq by lra. exact L.
- destruct (Rlt_dec 0 Y) in Sm, Sr; [lra|]. eexists; eexists. split; [exact Sm|]. split; [exact Sr|]. apply Rabs_le. lra.
Qed.

(* ---- what the kernels share ---- *)
Lemma min_stands (x b : float64) v w : stands64 x v -> stands64 b w -> stands64 (vd_min float64 x b) (Rmin v w).
Proof.
intros Hx Hb. unfold vd_min, vd_max.
assert (S := neg64 _ _ (select_lt64 _ _ _ _ _ _ _ _ (neg64 _ _ Hb) (neg64 _ _ Hx) (neg64 _ _ Hx) (neg64 _ _ Hb))).
unfold Rmin. destruct (Rlt_dec (- w) (- v)) in S; destruct (Rle_dec v w); try lra; rewrite Ropp_involutive in S; try exact S.
replace v with w by lra. exact S.
Qed.

Lemma max_stands (x b : float64) v w : stands64 x v -> stands64 b w -> stands64 (vd_max float64 x b) (Rmax v w).
Proof.
intros Hx Hb. unfold vd_max. assert (S := select_lt64 _ _ _ _ _ _ _ _ Hb Hx Hx Hb).
unfold Rmax. destruct (Rlt_dec w v) in S; destruct (Rle_dec v w); try lra; exact S.
Qed.

Lemma exp_cases (z : float64) w : stands64 z w -> w <= 709 -> exists y, stands64 (vd_exp float64 z) y /\
  (-707 <= w /\ Rabs (y - exp w) <= 2 * u * exp w \/ w < -707 /\ y = 0).
Proof.
intros [F V] B. destruct (Rle_lt_dec (-707) w) as [L|L].
- assert (Hw : -707 <= val64 z <= 709) by (change (val64 z = w) in V; rewrite V; lra).
  destruct (exp64_error z F Hw) as [Fe E]. exists (val64 (vd_exp float64 z)). split; [exact (conj Fe eq_refl)|]. left.
  change (val64 z = w) in V. rewrite V in E.
  replace (dyadic_R EXP64_ERROR) with 2 in E by (unfold dyadic_R, EXP64_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
  split; [exact L|exact E].
- exists 0. split; [|right; lra]. rewrite (exp64_nothing z); [split; reflexivity| |].
  + intros _. change (val64 z = w) in V. rewrite V. exact L.
  + intros ->. discriminate.
Qed.

Lemma exp_least z : z < -707 -> exp z <= 2 * tiny.
Proof.
intros H. apply Rle_trans with (exp (-707)); [left; apply exp_increasing, H|].
replace (2 * tiny) with (pow2 (-1019)) by (change (-1019)%Z with (1 + -1020)%Z; rewrite bpow_plus; reflexivity).
rewrite bpow_exp. left. apply exp_increasing. assert (L := ln2_range). simpl in L. change (IZR (radix_val radix2)) with 2. change (IZR (-1019)) with (-1019). lra.
Qed.

Lemma exp_some z : -707 <= z -> tiny <= exp z.
Proof.
intros H. apply Rle_trans with (exp (-707)); [|destruct H as [H| <-]; [left; apply exp_increasing, H|apply Rle_refl]].
rewrite bpow_exp. left. apply exp_increasing. assert (L := ln2_range). simpl in L. change (IZR (radix_val radix2)) with 2. change (IZR (-1020)) with (-1020). lra.
Qed.

Lemma single_size (x : float64) v : single x v -> v = 0 \/ pow2 (-149) <= Rabs v.
Proof. intros [_ [F _]]. apply grid_away, grid_single, F. Qed.

Lemma exp_at_most_one w : w <= 0 -> exp w <= 1.
Proof. intros H. rewrite <- exp_0. destruct H as [H| ->]; [left; apply exp_increasing, H|apply Rle_refl]. Qed.

(* ---- exp and the Gaussian ---- *)
Lemma exp_ball (x : float64) v : stands64 x v -> v <= 709 -> encloses (enclose_exp float64 x) (exp v).
Proof.
intros Hx B. assert (U := u_small). assert (P := exp_pos v). assert (Pt := bpow_gt_0 radix2 (-1020)).
assert (H709 : stands64 (const EXP64_MAX) 709).
{ replace 709 with (dyadic_R EXP64_MAX) by (numbers; simpl; lra). is_const. }
assert (Hm := min_stands x _ v 709 Hx H709). rewrite Rmin_left in Hm by exact B.
destruct (exp_cases _ v Hm B) as [y [Hy C]].
apply (positive_ball _ y _ 2 (26 / 100) (5 / 2)); [exact Hy| | |lra|].
- destruct C as [[L C]|[_ ->]]; [|rewrite Rabs_R0; apply bpow_ge_0]. assert (R := exp_range64 v (conj L B)).
  apply Rabs_le_inv in C. assert (2 * u * exp v <= / 1000 * exp v) by (apply Rmult_le_compat_r; lra).
  assert (0 < pow2 1023) by apply bpow_gt_0. apply Rabs_le. lra.
- split; [is_const|]. unfold dyadic_R. cbn [num expo]. change (-54)%Z with (-1 + -53)%Z. rewrite bpow_plus. simpl (bpow radix2 (-1)). lra.
- destruct C as [[L C]|[L Z]]; [left|right].
  + rewrite (Rabs_pos_eq (exp v)) by lra. split; [exact C|]. assert (T := exp_some v L).
    assert (E : tiny = 4 * pow2 (-1022)) by (change (-1020)%Z with (2 + -1022)%Z; rewrite bpow_plus; reflexivity).
    apply Rabs_le_inv in C. assert (2 * u * exp v <= / 1000 * exp v) by (apply Rmult_le_compat_r; lra). lra.
  + split; [exact Z|]. split; [lra|]. apply exp_least, L.
Qed.

(** theorem: sweep_exp — the double enclosure of exp in sweeps contains exp x for every float x up to EXP64_MAX, zero results included. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_exp (x : float64) v : single x v -> v <= 709 -> encloses (enclose_exp float64 x) (exp v).
Proof. intros [Hx _]. apply exp_ball, Hx. Qed.

(** theorem: sweep_gaussian — the double enclosure of the Gaussian in sweeps contains exp(-x/2) for every float x from -2 EXP64_MAX on. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_gaussian (x : float64) v : single x v -> -1418 <= v -> encloses (enclose_gaussian float64 x) (exp (- v / 2)).
Proof.
intros [Hx [Fv Bv]] B. unfold enclose_gaussian. apply exp_ball; [|lra].
assert (Hh : stands64 (const (Dyadic (-1) (-1))) (- (1 / 2))).
{ replace (- (1 / 2)) with (dyadic_R (Dyadic (-1) (-1))) by (unfold dyadic_R; simpl; lra). is_const. }
replace (- v / 2) with (rnd64 (v * - (1 / 2))).
- apply mul64; [exact Hx|exact Hh|]. rewrite Rabs_mult, Rabs_Ropp, (Rabs_pos_eq (1 / 2)) by lra.
  apply Rle_trans with (pow2 128); [pose proof (Rabs_pos v); lra|apply bpow_le; lia].
- rewrite rnd64_format; [field|]. replace (v * - (1 / 2)) with (- (v * pow2 (-1))) by (simpl (pow2 (-1)); lra).
  apply generic_format_opp. assert (F := Fv). unfold generic_format, F2R in F. cbn [Defs.Fnum Defs.Fexp] in F. rewrite F.
  rewrite Rmult_assoc, <- bpow_plus. set (n := Ztrunc (scaled_mantissa radix2 (FLT_exp (-149) 24) v)) in *.
  set (g := cexp radix2 (FLT_exp (-149) 24) v) in *.
  change (IZR n * pow2 (g + -1)) with (F2R (Defs.Float radix2 n (g + -1))).
  apply (generic_format_FLT radix2 (-1074) 53). exists (Defs.Float radix2 n (g + -1)); [reflexivity| |].
  + cbn [Defs.Fnum]. apply lt_IZR. rewrite abs_IZR. apply (Rmult_lt_reg_r (pow2 g)); [apply bpow_gt_0|].
    rewrite <- (Rabs_pos_eq (pow2 g)) at 1 by apply bpow_ge_0. rewrite <- Rabs_mult, <- F.
    apply Rlt_le_trans with (pow2 (24 + g)).
    * unfold g, cexp, FLT_exp. destruct (Req_dec v 0) as [->|N]; [rewrite Rabs_R0; apply bpow_gt_0|].
      apply Rlt_le_trans with (pow2 (mag radix2 v)); [apply bpow_mag_gt|apply bpow_le; lia].
    * change (2 ^ 53)%Z with (radix2 ^ 53)%Z. rewrite IZR_Zpower, <- bpow_plus by lia. apply bpow_le. lia.
  + cbn [Defs.Fexp]. unfold g, cexp, FLT_exp. lia.
Qed.

(* ---- tanh ---- *)
(** theorem: sweep_tanh — the double enclosure of tanh in sweeps contains tanh x for every float x. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_tanh (x : float64) v : single x v -> encloses (enclose_tanh float64 x) (tanh v).
Proof.
intros S. destruct S as [[F V] R] eqn:ES. clear ES. change (val64 x = v) in V. destruct (tanh64_error x F) as [Fy E]. rewrite V in E.
replace (dyadic_R EXP_TANH_ERROR) with 12 in E by (unfold dyadic_R, EXP_TANH_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
set (Y := val64 (vd_tanh float64 x)) in *. assert (U := u_small).
assert (T : Rabs (tanh v) <= 1).
{ rewrite <- tanh_abs. replace (Rabs v) with (2 * Rabs v / 2) by field. rewrite tanh_quotient. pose proof (Rabs_pos v).
  assert (1 <= exp (2 * Rabs v)) by (pose proof (exp_ineq1_le (2 * Rabs v)); lra).
  apply (Rmult_le_reg_r (exp (2 * Rabs v) - 1 + 2)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
assert (UT : u * Rabs (tanh v) <= / 1000000 * Rabs (tanh v)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
assert (BY : Rabs (Rabs Y - Rabs (tanh v)) <= 12 * u * Rabs (tanh v)).
{ eapply Rle_trans; [apply Rabs_triang_inv2|exact E]. }
apply Rabs_le_inv in BY.
apply (relative_ball _ Y (tanh v) 12 (1 / 100) (25 / 2)).
- exact (conj Fy eq_refl).
- apply Rle_trans with (bpow radix2 1); [simpl; lra|apply bpow_le; lia].
- split; [is_const|]. unfold dyadic_R. cbn [num expo]. change (-54)%Z with (-1 + -53)%Z. rewrite bpow_plus. simpl (bpow radix2 (-1)). lra.
- exact E.
- destruct (single_size x v S) as [->|L].
  + left. unfold tanh, sinh in E. rewrite Ropp_0, exp_0 in E. replace ((1 - 1) / 2 / cosh 0) with 0 in E by (unfold Rdiv; ring).
    rewrite Rabs_R0 in E. destruct (Req_dec Y 0) as [Z|Z]; [exact Z|exfalso]. apply Rabs_pos_lt in Z. rewrite Rminus_0_r in E. lra.
  + right. assert (Lt : pow2 (-151) <= Rabs (tanh v)).
    { rewrite <- tanh_abs. replace (Rabs v) with (2 * Rabs v / 2) by field. rewrite tanh_quotient. set (E1 := exp (2 * Rabs v) - 1).
      assert (2 * Rabs v <= E1) by (unfold E1; pose proof (exp_ineq1_le (2 * Rabs v)); lra).
      assert (P := bpow_gt_0 radix2 (-149)). assert (P1 := bpow_gt_0 radix2 (-151)).
      assert (E149 : pow2 (-149) = 4 * pow2 (-151)) by (change (-149)%Z with (2 + -151)%Z; rewrite bpow_plus; reflexivity).
      assert (P2 : pow2 (-151) <= / 1000).
      { apply Rle_trans with (bpow radix2 (-10)); [apply bpow_le; lia|simpl; lra]. }
      apply (Rmult_le_reg_r (E1 + 2)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      assert (pow2 (-151) * E1 <= / 1000 * E1) by (apply Rmult_le_compat_r; lra). lra. }
    assert (pow2 (-1022) <= / 1000 * pow2 (-151)).
    { apply Rle_trans with (bpow radix2 (-10 + -151)); [apply bpow_le; lia|]. rewrite bpow_plus.
      apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
    lra.
- lra.
Qed.

(* ---- sigmoid ---- *)
(* sigmoid from e = exp(-|x|), in double *)
Section Sigmoid.
Variables (x : float64) (v : R).
Hypothesis input : stands64 x v.
Let e := exp (- Rabs v).
Definition sigma (v : R) : R := 1 / (1 + exp (- v)).

Lemma sigma_abs : sigma v = (if Rlt_dec v 0 then e else 1) / (1 + e).
Proof.
unfold sigma, e. destruct (Rlt_dec v 0) as [N|N].
- rewrite (Rabs_left v) by exact N. rewrite Ropp_involutive, exp_Ropp. assert (P := exp_pos v). field. lra.
- rewrite (Rabs_pos_eq v) by lra. reflexivity.
Qed.

Lemma e_range : 0 < e <= 1.
Proof. split; [apply exp_pos|apply exp_at_most_one; pose proof (Rabs_pos v); lra]. Qed.

(* Either near, or 0 where x < -707. *)
Lemma sigmoid_cases : exists q, stands64 (sigmoid float64 x) q /\ 0 <= q <= 2 /\
  (Rabs (q - sigma v) <= 51 / 10 * u * sigma v /\ tiny * (49 / 100) <= q \/ q = 0 /\ v < -707 /\ sigma v <= exp (- Rabs v)).
Proof.
assert (U := u_small). assert (Be := e_range). rewrite sigma_abs. assert (Pt := bpow_gt_0 radix2 (-1020)).
assert (T5 : tiny <= / 1000) by (apply Rle_trans with (bpow radix2 (-10)); [apply bpow_le; lia|simpl; lra]).
destruct (exp_cases (neg (mag_of x)) (- Rabs v)) as [y [Hy C]]; [apply neg64, mag64, input|pose proof (Rabs_pos v); lra|].
fold e in C. unfold sigmoid. cbv zeta.
assert (By : 0 <= y <= 1001 / 1000).
{ destruct C as [[_ C]|[_ ->]]; [|lra]. apply Rabs_le_inv in C. assert (2 * u * e <= / 1000 * e) by (apply Rmult_le_compat_r; lra). lra. }
set (s := rnd64 (1 + y)).
assert (Hs : stands64 (add (const (Dyadic 1 0)) (vd_exp float64 (neg (mag_of x)))) s).
{ apply add64; [apply is_one64|exact Hy|]. apply Rle_trans with (bpow radix2 2); [rewrite Rabs_pos_eq by lra; simpl; lra|apply bpow_le; lia]. }
assert (Ns : Rabs (s - (1 + y)) <= u * (1001 / 1000) * (1 + y)).
{ pose proof (rnd64_error (1 + y)) as N. fold s in N. rewrite (Rabs_pos_eq (1 + y)) in N by lra.
  assert (pow2 (-1075) <= / 1000 * u).
  { apply Rle_trans with (bpow radix2 (-10 + -53)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
  assert (u * 1 <= u * (1 + y)) by (apply Rmult_le_compat_l; lra). lra. }
assert (Bs : 999 / 1000 <= s <= 2002 / 1000).
{ apply Rabs_le_inv in Ns. assert (u * (1 + y) <= / 1000000 * (1 + y)) by (apply Rmult_le_compat_r; lra). lra. }
set (num := if Rlt_dec v 0 then y else 1). set (Num := if Rlt_dec v 0 then e else 1).
assert (Hn := select_lt64 _ _ _ _ _ _ _ _ input is_zero64 Hy is_one64). fold num in Hn.
assert (Bn : 0 <= num <= 1001 / 1000) by (unfold num; destruct Rlt_dec; lra).
assert (Hq : stands64 (div (select_lt x (const (Dyadic 0 0)) (vd_exp float64 (neg (mag_of x))) (const (Dyadic 1 0)))
  (add (const (Dyadic 1 0)) (vd_exp float64 (neg (mag_of x))))) (rnd64 (num / s))).
{ apply div64; [exact Hn|exact Hs|lra|]. apply Rle_trans with (bpow radix2 1); [|apply bpow_le; lia].
  rewrite Rabs_pos_eq by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  apply (Rmult_le_reg_r s); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. simpl. lra. }
exists (rnd64 (num / s)). split; [exact Hq|].
assert (Bq : 0 <= num / s <= 2).
{ split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]|].
  apply (Rmult_le_reg_r s); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
split.
{ split; [apply rnd64_pos; lra|]. assert (Rabs (rnd64 (num / s)) <= pow2 1) by (apply rnd64_bound; [lia|rewrite Rabs_pos_eq by lra; simpl; lra]).
  apply Rabs_le_inv in H. simpl in H. lra. }
destruct C as [[L C]|[L Z]].
- left. assert (Et := exp_some _ L). fold e in Et.
  assert (Ue : 0 <= u * e <= / 1000000 * e) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (Yl : e * (999 / 1000) <= y) by (apply Rabs_le_inv in C; lra).
  assert (Nl : tiny * (999 / 1000) <= num) by (unfold num; destruct Rlt_dec; lra).
  assert (NN : Rabs (num - Num) <= 2 * u * Num).
  { unfold num, Num. destruct Rlt_dec; [exact C|]. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra. }
  assert (PN : 0 < Num) by (unfold Num; destruct Rlt_dec; lra).
  set (r := Num / (1 + e)). assert (Pr : 0 < r) by (apply Rdiv_lt_0_compat; lra).
  (* the quotient before its rounding *)
  assert (DS : Rabs (s - (1 + e)) <= 2003 / 1000 * u * (1 + e)).
  { replace (s - (1 + e)) with ((s - (1 + y)) + (y - e)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (y <= e + / 100000) by (apply Rabs_le_inv in C; lra).
    assert (u * (1 + y) <= u * (1 + e + / 100000)) by (apply Rmult_le_compat_l; lra).
    assert (u * e <= u * 1) by (apply Rmult_le_compat_l; lra). lra. }
  assert (DQ : Rabs (num / s - r) <= 4009 / 1000 * u * r).
  { assert (E : num / s - r = ((num - Num) - r * (s - (1 + e))) / s) by (unfold r; field; lra).
    assert (Er : r * (1 + e) = Num) by (unfold r; field; lra).
    rewrite E. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq s) by lra.
    apply (Rmult_le_reg_r s); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    assert (A1 : Rabs (num - Num - r * (s - (1 + e))) <= 2 * u * Num + r * (2003 / 1000 * u * (1 + e))).
    { unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq r) by lra.
      apply Rplus_le_compat; [exact NN|]. apply Rmult_le_compat_l; [lra|exact DS]. }
    apply Rle_trans with (1 := A1). replace (r * (2003 / 1000 * u * (1 + e))) with (2003 / 1000 * u * (r * (1 + e))) by ring.
    rewrite Er. assert (s1 : (1 + e) * (9999 / 10000) <= s).
    { apply Rabs_le_inv in DS. assert (u * (1 + e) <= / 1000000 * (1 + e)) by (apply Rmult_le_compat_r; lra). lra. }
    apply (Rmult_le_compat_l (u * r)) in s1; [|apply Rmult_le_pos; lra].
    replace (u * r * ((1 + e) * (9999 / 10000))) with (u * (r * (1 + e)) * (9999 / 10000)) in s1 by ring. rewrite Er in s1.
    assert (0 <= u * Num) by (apply Rmult_le_pos; lra). lra. }
  assert (Ur : 0 <= u * r <= / 1000000 * r) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (Ql : tiny * (499 / 1000) * (999 / 1000) <= num / s).
  { apply (Rmult_le_reg_r s); [lra|]. replace (num / s * s) with num by (field; lra).
    assert (tiny * s <= tiny * (2002 / 1000)) by (apply Rmult_le_compat_l; lra). lra. }
  (* no underflow *)
  assert (NQ : Rabs (rnd64 (num / s) - num / s) <= u * (num / s)).
  { rewrite <- (Rabs_pos_eq (num / s)) at 3 by lra. rewrite <- half_ulp. apply (Relative.relative_error_N_FLT radix2 (-1074) 53 eq_refl).
    rewrite Rabs_pos_eq by lra. apply Rle_trans with (2 := Ql).
    apply Rle_trans with (tiny * (1 / 4)); [|apply Rle_trans with (tiny * (49 / 100)); [apply Rmult_le_compat_l; lra|lra]].
    replace (1 / 4) with (bpow radix2 (-2)) by (simpl; lra). rewrite <- bpow_plus. apply bpow_le. lia. }
  apply Rabs_le_inv in DQ. assert (u * (num / s) <= u * (r * (1001 / 1000))) by (apply Rmult_le_compat_l; lra).
  split.
  + replace (rnd64 (num / s) - r) with ((rnd64 (num / s) - num / s) + (num / s - r)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. assert (Rabs (num / s - r) <= 4009 / 1000 * u * r) by (apply Rabs_le; lra). lra.
  + apply Rabs_le_inv in NQ. assert (u * (num / s) <= / 1000000 * (num / s)) by (apply Rmult_le_compat_r; lra). lra.
- destruct (Rlt_le_dec v 0) as [N|N].
  + right. assert (Z0 : num = 0) by (unfold num; destruct (Rlt_dec v 0); [exact Z|lra]).
    split; [rewrite Z0; unfold Rdiv; rewrite Rmult_0_l; unfold rnd64; apply round_0, valid_rnd_N|].
    rewrite Rabs_left in L by exact N. split; [lra|]. fold e. assert (Z1 : Num = e) by (unfold Num; destruct (Rlt_dec v 0); [reflexivity|lra]). rewrite Z1.
    apply (Rmult_le_reg_r (1 + e)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    assert (0 <= e * e) by (apply Rmult_le_pos; lra). lra.
  + left. assert (Z0 : num = 1) by (unfold num; destruct (Rlt_dec v 0); [lra|reflexivity]).
    assert (Z1 : Num = 1) by (unfold Num; destruct (Rlt_dec v 0); [lra|reflexivity]). rewrite Z1.
    assert (Es : s = 1).
    { unfold s. rewrite Z, Rplus_0_r. apply rnd64_format, format_one. }
    rewrite Z0, Es. replace (1 / 1) with 1 by field.
    rewrite (rnd64_format 1) by exact format_one.
    assert (Le := exp_least _ L). fold e in Le. split; [|lra].
    assert (T2 : 2 * tiny <= / 1000 * u).
    { apply Rle_trans with (bpow radix2 (-10 + -53)); [change 2 with (bpow radix2 1); rewrite <- bpow_plus; apply bpow_le; lia|].
      rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
    replace (1 - 1 / (1 + e)) with (e * (1 / (1 + e))) by (field; lra).
    assert (0 < 1 / (1 + e)) by (apply Rdiv_lt_0_compat; lra).
    rewrite Rabs_pos_eq by (apply Rmult_le_pos; lra). apply Rmult_le_compat_r; lra.
Qed.

Lemma sigma_positive : 0 < sigma v.
Proof. unfold sigma. pose proof (exp_pos (- v)). apply Rdiv_lt_0_compat; lra. Qed.

(** theorem: sweep_sigmoid — the double enclosure of the sigmoid in sweeps contains 1 / (1 + exp(-x)) for every finite x. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_sigmoid : encloses (enclose_sigmoid float64 x) (1 / (1 + exp (- v))).
Proof.
change (1 / (1 + exp (- v))) with (sigma v). destruct sigmoid_cases as [q [Hq [Bq C]]]. assert (P := sigma_positive).
assert (Pt := bpow_gt_0 radix2 (-1020)).
apply (positive_ball _ q (sigma v) (51 / 10) (8 / 10) 6).
- exact Hq.
- rewrite Rabs_pos_eq by lra. apply Rle_trans with (bpow radix2 1); [simpl; lra|apply bpow_le; lia].
- split; [is_const|]. unfold dyadic_R. cbn [num expo]. change (-52)%Z with (1 + -53)%Z. rewrite bpow_plus. simpl (bpow radix2 1). lra.
- lra.
- destruct C as [[N L]|[Z [V S]]].
  + left. rewrite (Rabs_pos_eq (sigma v)) by lra. split; [exact N|]. split; [lra|].
    assert (E : tiny = 4 * pow2 (-1022)) by (change (-1020)%Z with (2 + -1022)%Z; rewrite bpow_plus; reflexivity).
    lra.
  + right. split; [exact Z|]. split; [lra|]. apply Rle_trans with (1 := S). apply exp_least. rewrite Rabs_left by lra. lra.
Qed.
End Sigmoid.

(* ---- silu ---- *)
(** theorem: sweep_silu — the double enclosure of silu in sweeps contains x / (1 + exp(-x)) for every float x. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_silu (x : float64) v : single x v -> encloses (enclose_silu float64 x) (v / (1 + exp (- v))).
Proof.
intros S. assert (Sz := single_size x v S). destruct S as [Hx [Fv Bv]]. assert (U := u_small).
replace (v / (1 + exp (- v))) with (v * sigma v) by (unfold sigma; field; pose proof (exp_pos (- v)); lra).
destruct (sigmoid_cases x v Hx) as [q [Hq [Bq C]]]. assert (P := sigma_positive v).
set (Y := rnd64 (v * q)).
assert (B129 : Rabs (v * q) <= pow2 129).
{ change 129%Z with (128 + 1)%Z. apply product_bound; [lra|]. rewrite Rabs_pos_eq by lra. simpl. lra. }
assert (HY : stands64 (mul x (sigmoid float64 x)) Y).
{ apply mul64; [exact Hx|exact Hq|]. apply Rle_trans with (1 := B129). apply bpow_le. lia. }
assert (BY : Rabs Y <= pow2 1023).
{ apply Rle_trans with (pow2 129); [apply rnd64_bound; [lia|exact B129]|apply bpow_le; lia]. }
assert (Hd : stands64 (const (Dyadic 7 (-53))) (dyadic_R (Dyadic 7 (-53))) /\ dyadic_R (Dyadic 7 (-53)) = 7 * u) by (split; [is_const|reflexivity]).
assert (HR := ball_radius _ Y (61/10) (1/2) 7 _ HY BY Hd ltac:(lra)).
assert (One : stands64 (const (Dyadic (-1) 0)) (-1)).
{ replace (-1) with (dyadic_R (Dyadic (-1) 0)) by (unfold dyadic_R; simpl; ring). is_const. }
assert (T1 : stands64 (const (Dyadic 1 (-890))) (pow2 (-890))).
{ replace (pow2 (-890)) with (dyadic_R (Dyadic 1 (-890))) by (unfold dyadic_R; cbn [num expo]; ring). is_const. }
assert (T2 : stands64 (const (Dyadic (-1) (-890))) (- pow2 (-890))).
{ replace (- pow2 (-890)) with (dyadic_R (Dyadic (-1) (-890))) by (unfold dyadic_R; cbn [num expo]; ring). is_const. }
assert (Sm := select_le64 _ _ _ _ _ _ _ _ is_zero64 HY (select_lt64 _ _ _ _ _ _ _ _ Hx One T2 HY) HY).
assert (Sr := select_le64 _ _ _ _ _ _ _ _ is_zero64 HY (select_lt64 _ _ _ _ _ _ _ _ Hx One T1 HR) HR).
eexists; eexists. split; [exact Sm|]. split; [exact Sr|]. clear Sm Sr.
assert (P0 := bpow_gt_0 radix2 (-1022)).
assert (Et : tiny = 4 * pow2 (-1022)) by (change (-1020)%Z with (2 + -1022)%Z; rewrite bpow_plus; reflexivity).
destruct C as [[N L]|[Z [V Sg]]].
- (* no underflow *)
  assert (A : v = 0 \/ 196 / 100 * pow2 (-1022) <= Rabs (v * q)).
  { destruct Sz as [Sz|Sz]; [now left|right]. rewrite Rabs_mult, (Rabs_pos_eq q) by lra.
    destruct (Rle_lt_dec (-1) v) as [D|D].
    - assert (Q4 : 1 / 5 <= q).
      { assert (1 / 4 <= sigma v).
        { unfold sigma. assert (E1 : exp (- v) <= 3).
          { apply Rle_trans with (exp 1); [|apply exp_le_3]. destruct D as [D|<-]; [left; apply exp_increasing; lra|].
            replace (- -1) with 1 by ring. apply Rle_refl. }
          pose proof (exp_pos (- v)). apply (Rmult_le_reg_r (1 + exp (- v))); [lra|].
          replace (1 / (1 + exp (- v)) * (1 + exp (- v))) with 1 by (field; lra). lra. }
        apply Rabs_le_inv in N. assert (u * sigma v <= / 1000000 * sigma v) by (apply Rmult_le_compat_r; lra). lra. }
      assert (pow2 (-149) * (1 / 5) <= Rabs v * q) by (apply Rmult_le_compat; try lra; apply bpow_ge_0).
      assert (pow2 (-1022) <= / 1000 * pow2 (-149)).
      { apply Rle_trans with (bpow radix2 (-10 + -149)); [apply bpow_le; lia|]. rewrite bpow_plus.
        apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
      lra.
    - assert (1 * (tiny * (49 / 100)) <= Rabs v * q).
      { apply Rmult_le_compat; try lra. rewrite Rabs_left by lra. lra. } lra. }
  assert (NY : Rabs (Y - v * q) <= u * Rabs (v * q)).
  { destruct A as [->|A]; [unfold Y; rewrite Rmult_0_l; unfold rnd64; rewrite round_0 by apply valid_rnd_N; rewrite Rminus_0_r, Rabs_R0; lra|].
    rewrite <- half_ulp. apply (Relative.relative_error_N_FLT radix2 (-1074) 53 eq_refl).
    simpl (-1074 + 53 - 1)%Z. lra. }
  assert (Pv := Rabs_pos v). assert (Pvs : 0 <= Rabs v * sigma v) by (apply Rmult_le_pos; lra).
  assert (Uvs : 0 <= u * (Rabs v * sigma v) <= / 1000000 * (Rabs v * sigma v)) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (D : Rabs (v * q - v * sigma v) <= 51 / 10 * u * (Rabs v * sigma v)).
  { replace (v * q - v * sigma v) with (v * (q - sigma v)) by ring. rewrite Rabs_mult.
    apply (Rmult_le_compat_l (Rabs v)) in N; [lra|exact Pv]. }
  assert (Bvq : Rabs (v * q) <= Rabs v * sigma v * (1001 / 1000)).
  { replace (v * q) with (v * sigma v + (v * q - v * sigma v)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    rewrite Rabs_mult, (Rabs_pos_eq (sigma v)) by lra. lra. }
  assert (Near : Rabs (Y - v * sigma v) <= 611 / 100 * u * Rabs (v * sigma v)).
  { rewrite (Rabs_mult v (sigma v)), (Rabs_pos_eq (sigma v)) by lra.
    replace (Y - v * sigma v) with ((Y - v * q) + (v * q - v * sigma v)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (u * Rabs (v * q) <= u * (Rabs v * sigma v * (1001 / 1000))) by (apply Rmult_le_compat_l; lra). lra. }
  assert (Normal : Y = 0 \/ pow2 (-1022) <= 6 / 10 * Rabs Y).
  { destruct A as [->|A]; [left; unfold Y; rewrite Rmult_0_l; unfold rnd64; apply round_0, valid_rnd_N|right].
    assert (Rabs (v * q) - Rabs Y <= Rabs (Y - v * q)).
    { rewrite Rabs_minus_sym. apply Rabs_triang_inv. }
    assert (u * Rabs (v * q) <= / 1000000 * Rabs (v * q)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]). lra. }
  assert (Not : (if Rle_dec 0 Y then if Rlt_dec v (-1) then - pow2 (-890) else Y else Y) = Y /\
    (if Rle_dec 0 Y then if Rlt_dec v (-1) then pow2 (-890) else rnd64 (Rabs Y * (7 * u)) else rnd64 (Rabs Y * (7 * u))) = rnd64 (Rabs Y * (7 * u))).
  { destruct (Rle_dec 0 Y) as [PY|PY]; [|tauto]. destruct (Rlt_dec v (-1)) as [V|V]; [exfalso|tauto].
    assert (PQ : 0 < q) by lra. assert (VQ : v * q < 0).
    { assert (0 < - v * q) by (apply Rmult_lt_0_compat; lra). lra. }
    rewrite (Rabs_left _ VQ) in NY. apply Rabs_le_inv in NY.
    assert (u * (- (v * q)) <= / 1000000 * (- (v * q))) by (apply Rmult_le_compat_r; lra). lra. }
  destruct Not as [-> ->]. apply (ball_contains Y _ (611 / 100) (6 / 10) 7); [exact Near|exact Normal|lra].
- assert (ZY : Y = 0) by (unfold Y; rewrite Z, Rmult_0_r; unfold rnd64; apply round_0, valid_rnd_N).
  destruct (Rle_dec 0 Y) as [_|K]; [|lra]. destruct (Rlt_dec v (-1)) as [_|K]; [|lra].
  assert (Le : sigma v <= 2 * tiny).
  { apply Rle_trans with (1 := Sg). apply exp_least. rewrite Rabs_left by lra. lra. }
  rewrite Rabs_left in Bv by lra.
  assert (- v * sigma v <= pow2 128 * (2 * tiny)) by (apply Rmult_le_compat; lra).
  assert (E : pow2 128 * (2 * tiny) = pow2 (-891)).
  { change 2 with (bpow radix2 1). rewrite <- !bpow_plus. reflexivity. }
  assert (E2 : pow2 (-890) = 2 * pow2 (-891)) by (change (-890)%Z with (1 + -891)%Z; rewrite bpow_plus; reflexivity).
  assert (0 <= - v * sigma v) by (apply Rmult_le_pos; lra). apply Rabs_le. lra.
Qed.

(* ---- exp(x) - 1 ---- *)
Lemma expm1_large a : 34 / 100 <= Rabs a -> 2 * exp a <= 743 / 100 * Rabs (exp a - 1) /\ 26 / 100 <= Rabs (exp a - 1).
Proof.
assert (Q : forall b, 34 / 100 <= b -> 13689 / 10000 <= exp b).
{ intros b Hb. replace b with (b / 2 + b / 2) by field. rewrite exp_plus. pose proof (exp_ineq1_le (b / 2)).
  apply Rle_trans with (117 / 100 * (117 / 100)); [lra|]. apply Rmult_le_compat; lra. }
intros H. destruct (Rle_dec 0 a) as [A|A].
- rewrite Rabs_pos_eq in H by exact A. pose proof (Q a H). rewrite Rabs_pos_eq by lra. lra.
- rewrite Rabs_left in H by lra. pose proof (Q (- a) H) as E. rewrite exp_Ropp in E. assert (P := exp_pos a).
  apply (Rmult_le_compat_r (exp a)) in E; [|lra]. rewrite Rinv_l in E by lra. rewrite Rabs_left by lra. lra.
Qed.

Lemma expm1_small a : Rabs a <= 34 / 100 -> Rabs a <= 146 / 100 * Rabs (exp a - 1).
Proof.
intros H. destruct (Rle_dec 0 a) as [A|A].
- pose proof (exp_ineq1_le a). rewrite !Rabs_pos_eq by lra. lra.
- rewrite Rabs_left in * by lra. pose proof (exp_ineq1_le (- a)) as E. rewrite exp_Ropp in E. assert (P := exp_pos a).
  apply (Rmult_le_compat_r (exp a)) in E; [|lra]. rewrite Rinv_l in E by lra.
  assert (exp a < 1) by (rewrite <- exp_0; apply exp_increasing; lra). rewrite Rabs_left by lra.
  assert (exp a * - a <= 1 - exp a) by lra. assert (- a * (6889 / 10000) <= - a * exp a); [|lra].
  apply Rmult_le_compat_l; [lra|]. replace a with (a / 2 + a / 2) by field. rewrite exp_plus. pose proof (exp_ineq1_le (a / 2)).
  apply Rle_trans with (83 / 100 * (83 / 100)); [lra|]. apply Rmult_le_compat; lra.
Qed.

(** theorem: sweep_expm1 — the double enclosure of expm1 in sweeps contains exp(x) - 1 for every float x up to EXP64_MAX. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_expm1 (x : float64) v : single x v -> v <= 709 -> encloses (enclose_expm1 float64 x) (exp v - 1).
Proof.
intros S Bm. assert (Sz := single_size x v S). destruct S as [Hx [Fv Bv]]. assert (U := u_small).
set (E := exp v - 1). set (l := dyadic_R (Dyadic 6124895493223875 (-54))).
assert (Hl : stands64 (const (Dyadic 6124895493223875 (-54))) l) by (unfold l; is_const).
assert (Bl : 34 / 100 <= l <= 34 / 100 + / 1000000000) by (unfold l, dyadic_R; simpl; unfold Z.pow_pos; simpl; lra).
(* near 0 *)
assert (Hw := select_le64 _ _ _ _ _ _ _ _ (mag64 _ _ Hx) Hl Hx is_zero64).
set (w := if Rle_dec (Rabs v) l then v else 0) in *.
assert (Bw : Rabs w <= 341 / 1000) by (unfold w; destruct Rle_dec; [lra|rewrite Rabs_R0; lra]).
assert (Rw : reduced w) by (simpl; lra). assert (Fw : f64 w) by exact (format64 _ w Hw).
destruct (tail64_stands _ w Hw (half w Rw)) as [HT BT]. set (T := vd_exp_tail real64 w) in *.
assert (HN : stands64 (mul x (vd_exp_tail float64 (select_le (mag_of x) (const (Dyadic 6124895493223875 (-54))) x (const (Dyadic 0 0))))) (rnd64 (v * T))).
{ apply mul64; [exact Hx|exact HT|]. apply Rle_trans with (pow2 (128 + 1)); [|apply bpow_le; lia].
  apply product_bound; [lra|simpl; lra]. }
(* elsewhere *)
assert (H709 : stands64 (const EXP64_MAX) 709).
{ replace 709 with (dyadic_R EXP64_MAX) by (numbers; simpl; lra). is_const. }
assert (Hm := min_stands x _ v 709 Hx H709). rewrite Rmin_left in Hm by exact Bm.
destruct (exp_cases _ v Hm Bm) as [y [Hy C]].
assert (Ey : Rabs y <= pow2 1023 - 1).
{ assert (P0 := exp_pos v). destruct C as [[L C]|[_ ->]].
  - assert (R := exp_range64 v (conj L Bm)). apply Rabs_le_inv in C.
    assert (2 * u * exp v <= / 1000 * exp v) by (apply Rmult_le_compat_r; lra).
    assert (1000 <= pow2 1023) by (apply Rle_trans with (bpow radix2 10); [simpl; lra|apply bpow_le; lia]).
    apply Rabs_le. lra.
  - rewrite Rabs_R0. assert (1 <= pow2 1023) by (change 1 with (bpow radix2 0); apply bpow_le; lia). lra. }
assert (HF : stands64 (sub (vd_exp float64 (vd_min float64 x (const EXP64_MAX))) (const (Dyadic 1 0))) (rnd64 (y - 1))).
{ apply sub64; [exact Hy|exact is_one64|]. apply Rabs_le_inv in Ey. apply Rabs_le. lra. }
assert (HY := select_le64 _ _ _ _ _ _ _ _ (mag64 _ _ Hx) Hl HN HF).
set (Y := if Rle_dec (Rabs v) l then rnd64 (v * T) else rnd64 (y - 1)) in HY.
assert (K : Rabs (Y - E) <= 85 / 10 * u * Rabs E /\ (Y = 0 \/ pow2 (-1022) <= 1 / 100 * Rabs Y) /\ Rabs Y <= pow2 1023).
{ assert (Pm : pow2 (-1022) <= / 1000000 * pow2 (-160)).
  { apply Rle_trans with (bpow radix2 (-20 + -160)); [apply bpow_le; lia|]. rewrite bpow_plus.
    apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
  assert (P160 : 0 < pow2 (-160) <= / 1000000).
  { split; [apply bpow_gt_0|]. apply Rle_trans with (bpow radix2 (-20)); [apply bpow_le; lia|simpl; lra]. }
  unfold Y. destruct (Rle_dec (Rabs v) l) as [Sm|La].
  - assert (Ew : w = v) by (unfold w; try (destruct (Rle_dec (Rabs v) l); [|contradiction]); reflexivity).
    unfold T in *. clear T. rewrite Ew in *. set (T := vd_exp_tail real64 v) in *.
    destruct (tail64_close v Fw Rw) as [C1 C2]. fold T in C1. set (Te := vd_exp_tail exact v) in *. fold E in C2.
    assert (Bv' : Rabs v <= 147 / 100 * Rabs E).
    { destruct (Rle_dec (Rabs v) (34/100)) as [D|D].
      - pose proof (expm1_small v D) as Q. fold E in Q. pose proof (Rabs_pos E). lra.
      - destruct (expm1_large v ltac:(lra)) as [_ Q]. fold E in Q. lra. }
    assert (PE := Rabs_pos E). assert (Pv := Rabs_pos v).
    assert (Uv : 0 <= u * Rabs v <= / 1000000 * Rabs v) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (UE : 0 <= u * Rabs E <= / 1000000 * Rabs E) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (UvE : u * Rabs v <= u * (147 / 100 * Rabs E)) by (apply Rmult_le_compat_l; lra).
    change (pow2 (- 53)) with u in C1, C2.
    assert (D1 : Rabs (Te * v) <= Rabs E * (1001 / 1000)).
    { replace (Te * v) with (E + (Te * v - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
    assert (D2 : Rabs (T * v - Te * v) <= 3 / 2 * u * (Rabs E * (1001 / 1000))).
    { replace (T * v - Te * v) with ((T - Te) * v) by ring. rewrite Rabs_mult.
      apply Rle_trans with (3 / 2 * u * Rabs Te * Rabs v); [apply Rmult_le_compat_r; lra|].
      rewrite Rmult_assoc, <- Rabs_mult. apply Rmult_le_compat_l; lra. }
    assert (D3 : Rabs (v * T - E) <= 23 / 10 * (u * Rabs E)).
    { replace (v * T - E) with ((T * v - Te * v) + (Te * v - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
    destruct Sz as [Z|Sz].
    + assert (E0 : E = 0) by (unfold E; rewrite Z, exp_0; ring).
      rewrite Z, Rmult_0_l. unfold rnd64. rewrite round_0 by apply valid_rnd_N. rewrite E0, Rminus_0_r, Rabs_R0.
      split; [lra|]. split; [now left|apply bpow_ge_0].
    + assert (Ev : pow2 (-160) <= Rabs E / 1000).
      { apply Rle_trans with (pow2 (-149) / 2000); [|lra]. 
        replace (pow2 (-149)) with (2048 * pow2 (-160)) by (change 2048 with (bpow radix2 11); rewrite <- bpow_plus; reflexivity). lra. }
      assert (Low : Rabs E * (999 / 1000) <= Rabs (v * T)).
      { assert (Rabs E - Rabs (v * T) <= Rabs (v * T - E)) by (rewrite Rabs_minus_sym; apply Rabs_triang_inv). lra. }
      assert (Up : Rabs (v * T) <= Rabs E * (1001 / 1000)).
      { replace (v * T) with (E + (v * T - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
      pose proof (rnd64_error (v * T)) as N.
      assert (Ne : pow2 (-1075) <= / 1000 * (u * Rabs E)).
      { apply Rle_trans with (u * pow2 (-1022)); [rewrite <- bpow_plus; apply bpow_le; lia|].
        assert (u * pow2 (-1022) <= u * (/ 1000 * Rabs E)) by (apply Rmult_le_compat_l; lra). lra. }
      assert (u * Rabs (v * T) <= u * (Rabs E * (1001 / 1000))) by (apply Rmult_le_compat_l; lra).
      split; [|split].
      * replace (rnd64 (v * T) - E) with ((rnd64 (v * T) - v * T) + (v * T - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
      * right. assert (Rabs (v * T) - Rabs (rnd64 (v * T)) <= Rabs (rnd64 (v * T) - v * T)) by (rewrite (Rabs_minus_sym (rnd64 _)); apply Rabs_triang_inv). lra.
      * apply Rle_trans with (pow2 (128 + 1)); [|apply bpow_le; lia]. apply rnd64_bound; [lia|]. apply product_bound; [lra|simpl; lra].
  - destruct (expm1_large v) as [Q1 Q2]; [lra|]. fold E in Q1, Q2. assert (PE := Rabs_pos E).
    assert (UE : 0 <= u * Rabs E <= / 1000000 * Rabs E) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (D : Rabs (y - 1 - E) <= 744 / 100 * (u * Rabs E)).
    { replace (y - 1 - E) with (y - exp v) by (unfold E; ring). destruct C as [[L C]|[L ->]].
      - apply Rle_trans with (1 := C). apply (Rmult_le_compat_l u) in Q1; lra.
      - rewrite Rminus_0_l, Rabs_Ropp, Rabs_pos_eq by (left; apply exp_pos). apply Rle_trans with (1 := exp_least v L).
        assert (2 * tiny <= / 1000 * u).
        { apply Rle_trans with (bpow radix2 (-10 + -53)); [change 2 with (bpow radix2 1); rewrite <- bpow_plus; apply bpow_le; lia|].
          rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
        assert (u * (26 / 100) <= u * Rabs E) by (apply Rmult_le_compat_l; lra). lra. }
    assert (Up : Rabs (y - 1) <= Rabs E * (1001 / 1000)).
    { replace (y - 1) with (E + (y - 1 - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
    assert (Low : Rabs E * (999 / 1000) <= Rabs (y - 1)).
    { assert (Rabs E - Rabs (y - 1) <= Rabs (y - 1 - E)) by (rewrite (Rabs_minus_sym (y - 1)); apply Rabs_triang_inv). lra. }
    pose proof (rnd64_error (y - 1)) as N.
    assert (u * Rabs (y - 1) <= u * (Rabs E * (1001 / 1000))) by (apply Rmult_le_compat_l; lra).
    assert (Ne : pow2 (-1075) <= / 1000 * (u * Rabs E)).
    { apply Rle_trans with (u * pow2 (-1022)); [rewrite <- bpow_plus; apply bpow_le; lia|].
      assert (u * pow2 (-1022) <= u * (/ 1000 * Rabs E)) by (apply Rmult_le_compat_l; lra). lra. }
    split; [|split].
    + replace (rnd64 (y - 1) - E) with ((rnd64 (y - 1) - (y - 1)) + (y - 1 - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
    + right. assert (Rabs (y - 1) - Rabs (rnd64 (y - 1)) <= Rabs (rnd64 (y - 1) - (y - 1))) by (rewrite (Rabs_minus_sym (rnd64 _)); apply Rabs_triang_inv). lra.
    + apply Rabs_le_inv in Ey. apply abs_round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |apply Rabs_le; lra].
      apply generic_format_bpow. unfold FLT_exp. lia. }
destruct K as [K1 [K2 K3]].
apply (relative_ball _ Y E (85 / 10) (1 / 100) 9); [exact HY|exact K3| |exact K1|exact K2|lra].
split; [is_const|]. unfold dyadic_R. cbn [num expo]. reflexivity.
Qed.

(* ---- 2^x ---- *)
Notation C52 := (dyadic_R EXP64_ROUND).
Notation LN2 := (dyadic_R (Dyadic 6243314768165359 (-53))).

Lemma ln2_near : Rabs (LN2 - ln 2) <= u / 2 /\ 6931 / 10000 <= LN2 <= 6932 / 10000.
Proof.
assert (H := ln2_split64). split.
- apply Rabs_le_inv in H. numbers. simpl in *. unfold Z.pow_pos. simpl. apply Rabs_le. lra.
- unfold dyadic_R. simpl. unfold Z.pow_pos. simpl. lra.
Qed.

(* The integer next to s. *)
Lemma nearest_integer s : Rabs s <= 67108865 -> exists k : Z,
  rnd64 (s + C52) = IZR (3 * 2 ^ 51 + k) /\ rnd64 (rnd64 (s + C52) - C52) = IZR k /\ (Z.abs k <= 67108866)%Z /\
  Rabs (s - IZR k) <= 1 / 2.
Proof.
intros Bs. set (t := rnd64 (s + C52)). apply Rabs_le_inv in Bs.
assert (EC : C52 = IZR (3 * 2 ^ 51)) by (numbers; simpl; lra).
assert (Rt : 6755399373946878 <= t <= 6755399508164610) by (unfold t, rnd64; numbers; gappa).
assert (Et : Rabs (t - (s + C52)) <= 1 / 2) by (unfold t, rnd64; numbers; gappa).
assert (Ft : f64 t) by apply format_rnd64.
destruct (integer_of_format (-1074) 53 ltac:(lia) t Ft) as [m Hm]; [simpl; lra|].
assert (Bm : (3 * 2 ^ 51 - 67108866 <= m <= 3 * 2 ^ 51 + 67108866)%Z) by (rewrite Hm in Rt; destruct Rt as [R1 R2]; apply le_IZR in R1; apply le_IZR in R2; lia).
exists (m - 3 * 2 ^ 51)%Z. set (k := (m - 3 * 2 ^ 51)%Z).
assert (Ek : IZR k = t - C52) by (unfold k; rewrite minus_IZR, Hm, EC; reflexivity).
assert (Bk : (Z.abs k <= 67108866)%Z) by (unfold k; lia).
split; [rewrite Hm; f_equal; unfold k; ring|]. split; [rewrite <- Ek; apply rnd64_format, (format_of_integer (-1074) 53); [lia|simpl; lia]|].
split; [exact Bk|]. rewrite Ek, Rabs_minus_sym. replace (t - C52 - s) with (t - (s + C52)) by ring. exact Et.
Qed.

(* The integer next to v, and what is left, exactly. *)
Lemma whole_part v : f32 v -> -1019 <= v <= 1000 -> exists k : Z,
  rnd64 (v + C52) = IZR (3 * 2 ^ 51 + k) /\ rnd64 (rnd64 (v + C52) - C52) = IZR k /\ (Z.abs k <= 1020)%Z /\
  Rabs (v - IZR k) <= 1 / 2 /\ f64 (v - IZR k).
Proof.
intros Fv Bv. destruct (nearest_integer v) as [k [K1 [K2 [_ Ev]]]]; [apply Rabs_le; lra|].
assert (Bk : (Z.abs k <= 1020)%Z).
{ apply le_IZR. rewrite abs_IZR. assert (E := Ev). apply Rabs_le_inv in E. apply Rabs_le. lra. }
exists k. split; [exact K1|]. split; [exact K2|]. split; [exact Bk|]. split; [exact Ev|].
(* v - k is a multiple of 2^-25 where k is not 0 *)
destruct (Z.eq_dec k 0) as [->|K].
- rewrite Rminus_0_r. apply (generic_inclusion_mag radix2 (FLT_exp (-149) 24)); [|exact Fv]. intros _. unfold FLT_exp. lia.
- assert (V : 1 / 2 <= Rabs v).
  { assert (1 <= Rabs (IZR k)) by (rewrite <- abs_IZR; apply IZR_le; lia).
    assert (Rabs (IZR k) - Rabs v <= Rabs (v - IZR k)) by (rewrite (Rabs_minus_sym v); apply Rabs_triang_inv). lra. }
  assert (G : grid (-24) v).
  { apply (grid_weaken (cexp radix2 (FLT_exp (-149) 24) v)).
    - unfold cexp, FLT_exp. assert (0 <= mag radix2 v)%Z; [|lia].
      apply mag_ge_bpow. simpl. lra.
    - unfold generic_format, F2R in Fv. cbn [Fnum Fexp] in Fv. eexists. exact Fv. }
  destruct (grid_sub (-24) v (IZR k) G) as [n Hn].
  { apply (grid_weaken 0); [lia|]. exists k. simpl. ring. }
  rewrite Hn. apply (generic_format_FLT radix2 (-1074) 53). exists (Defs.Float radix2 n (-24)); [reflexivity| |simpl; lia].
  simpl. rewrite Hn in Ev. rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 (-24))), <- abs_IZR in Ev by apply bpow_ge_0.
  assert (IZR (Z.abs n) <= IZR (2 ^ 23)).
  { apply (Rmult_le_reg_r (bpow radix2 (-24))); [apply bpow_gt_0|]. apply Rle_trans with (1 := Ev). simpl. lra. }
  apply le_IZR in H. lia.
Qed.

Lemma small_shift d e : 0 <= e <= / 1000000 -> Rabs d <= e -> Rabs (exp d - 1) <= e * (1001 / 1000).
Proof.
intros He Hd. apply Rabs_le_inv in Hd. pose proof (exp_ineq1_le d) as L. pose proof (exp_ineq1_le (- d)) as R.
rewrite exp_Ropp in R. assert (P := exp_pos d). apply (Rmult_le_compat_r (exp d)) in R; [|lra]. rewrite Rinv_l in R by lra.
assert (exp d <= 1001 / 1000).
{ destruct (Rle_dec (exp d) (1001 / 1000)); [assumption|exfalso].
  assert ((1 - e) * exp d <= (1 + - d) * exp d) by (apply Rmult_le_compat_r; lra).
  assert ((1 - / 1000000) * exp d <= (1 - e) * exp d) by (apply Rmult_le_compat_r; lra). lra. }
assert (d * exp d <= e * (1001 / 1000)).
{ destruct (Rle_dec 0 d); [apply Rmult_le_compat; lra|]. assert (0 <= - d * exp d) by (apply Rmult_le_pos; lra).
  assert (0 <= e * (1001 / 1000)) by (apply Rmult_le_pos; lra). lra. }
apply Rabs_le. lra.
Qed.

(** theorem: sweep_exp2 — the double enclosure of exp2 in sweeps contains 2^x for every float x up to 1000, zero results included. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_exp2 (x : float64) v : single x v -> v <= 1000 -> encloses (enclose_exp2 float64 x) (Rpower 2 v).
Proof.
intros [Hx [Fv Bv]] Bm. assert (U := u_small). unfold Rpower. set (w := v * ln 2).
assert (L2 := ln2_range). simpl in L2.
assert (Hlo : stands64 (const (Dyadic (-1019) 0)) (-1019)).
{ replace (-1019) with (dyadic_R (Dyadic (-1019) 0)) by (unfold dyadic_R; simpl; ring). is_const. }
assert (Hhi : stands64 (const (Dyadic 125 3)) 1000).
{ replace 1000 with (dyadic_R (Dyadic 125 3)) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra). is_const. }
assert (Hd : stands64 (const (Dyadic 1 (-51))) (dyadic_R (Dyadic 1 (-51))) /\ dyadic_R (Dyadic 1 (-51)) = 4 * u).
{ split; [is_const|]. unfold dyadic_R. cbn [num expo]. change (-51)%Z with (2 + -53)%Z. rewrite bpow_plus. simpl (bpow radix2 2). lra. }
unfold enclose_exp2. cbv zeta.
set (z := vd_max float64 (vd_min float64 x (const (Dyadic 125 3))) (const (Dyadic (-1019) 0))).
match goal with |- encloses (positive_4 _ (keep_ge _ _ ?b)) _ => set (bits := b) end.
destruct (Rlt_le_dec v (-1019)) as [Lo|Lo].
- assert (E : keep_ge x (const (Dyadic (-1019) 0)) bits = (B754_zero 53 1024 false : float64)).
  { apply (keep_nothing 52 11 eq_refl eq_refl eq_refl nan64 x _ _ (-1019)); [exact Hlo|intros _; destruct Hx as [_ Vx]; change (val64 x = v) in Vx; change (val64 x < -1019); rewrite Vx; exact Lo|].
    destruct Hx as [Fx _]. intros b. left. intros ->. discriminate. }
  rewrite E. apply (positive_ball _ 0 _ (245 / 100) (1 / 2) 4); [split; reflexivity|rewrite Rabs_R0; apply bpow_ge_0|exact Hd|lra|].
  right. split; [reflexivity|]. split; [left; apply exp_pos|].
  replace (2 * tiny) with (pow2 (-1019)) by (change (-1019)%Z with (1 + -1020)%Z; rewrite bpow_plus; reflexivity).
  rewrite bpow_exp. left. apply exp_increasing. change (IZR (radix_val radix2)) with 2. change (IZR (-1019)) with (-1019).
  unfold w. apply Rmult_lt_compat_r; lra.
- assert (Hz : stands64 z v).
  { assert (H := max_stands _ _ _ _ (min_stands x _ v 1000 Hx Hhi) Hlo). rewrite (Rmin_left v 1000), Rmax_left in H by lra. exact H. }
  destruct (whole_part v Fv ltac:(lra)) as [k [Ht [Hn [Bk [Ef Ff]]]]].
  assert (HC : stands64 (const EXP64_ROUND) C52) by is_const.
  assert (BC : C52 = IZR (3 * 2 ^ 51)) by (numbers; simpl; lra).
  assert (Bkr : Rabs (IZR k) <= 1020) by (rewrite <- abs_IZR; apply IZR_le, Bk).
  assert (M60 : forall a, Rabs a <= bpow radix2 60 -> Rabs a <= bpow radix2 1023).
  { intros a Ha. apply Rle_trans with (1 := Ha). apply bpow_le. lia. }
  assert (B60 : 3 * 2251799813685248 + 5000 <= bpow radix2 60) by (simpl; lra).
  assert (Hts : stands64 (add z (const EXP64_ROUND)) (IZR (3 * 2 ^ 51 + k))).
  { rewrite <- Ht. apply add64; [exact Hz|exact HC|]. apply M60. rewrite BC. apply Rabs_le. simpl. lra. }
  assert (Hns : stands64 (sub (add z (const EXP64_ROUND)) (const EXP64_ROUND)) (IZR k)).
  { rewrite <- Hn, Ht. apply sub64; [exact Hts|exact HC|]. apply M60. rewrite BC, <- minus_IZR.
    replace (3 * 2 ^ 51 + k - 3 * 2 ^ 51)%Z with k by ring. lra. }
  assert (Hf : stands64 (sub z (sub (add z (const EXP64_ROUND)) (const EXP64_ROUND))) (v - IZR k)).
  { rewrite <- (rnd64_format (v - IZR k)) by exact Ff. apply sub64; [exact Hz|exact Hns|]. apply M60. lra. }
  destruct ln2_near as [N1 N2]. set (f := v - IZR k) in *. set (a := rnd64 (f * LN2)).
  assert (Bf : Rabs (f * LN2) <= 3466 / 10000).
  { rewrite Rabs_mult, (Rabs_pos_eq LN2) by lra. apply Rle_trans with (1 / 2 * (6932 / 10000)); [|lra].
    apply Rmult_le_compat; try apply Rabs_pos; lra. }
  assert (Ha : stands64 (mul (sub z (sub (add z (const EXP64_ROUND)) (const EXP64_ROUND))) (const (Dyadic 6243314768165359 (-53)))) a).
  { apply mul64; [exact Hf|is_const|]. apply M60. lra. }
  pose proof (rnd64_error (f * LN2)) as Na. fold a in Na.
  assert (Te : pow2 (-1075) <= / 1000 * u).
  { apply Rle_trans with (bpow radix2 (-10 + -53)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
  assert (U1 : u * Rabs (f * LN2) <= u * (3466 / 10000)) by (apply Rmult_le_compat_l; lra).
  assert (Ra : reduced a).
  { simpl. replace a with (f * LN2 + (a - f * LN2)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (Fa : f64 a) by apply format_rnd64.
  assert (Er : Rabs (a - f * ln 2) <= 6 / 10 * u).
  { replace (a - f * ln 2) with ((a - f * LN2) + f * (LN2 - ln 2)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (Rabs (f * (LN2 - ln 2)) <= 1 / 2 * (u / 2)) by (rewrite Rabs_mult; apply Rmult_le_compat; try apply Rabs_pos; lra). lra. }
  assert (Hh : Rabs (head64 a - exp (f * ln 2)) <= 245 / 100 * u * exp (f * ln 2)).
  { apply (chain _ (poly64 a) (exp a) _ (820 * pow2 (-62)) (10 * pow2 (-60)) (601 / 1000 * u)); try apply exp_pos; try (simpl; lra).
    - intros P. apply quotient; [apply rounding64; assumption|exact P].
    - apply method64, Ra.
    - apply shifted with (1 := Er); [lra|]. intros d Hd'. apply Rle_trans with (1 := small_shift d (6 / 10 * u) ltac:(lra) Hd'). lra. }
  assert (Hs : Rabs (head64 a * bpow radix2 k - exp w) <= 245 / 100 * u * exp w).
  { apply scaled_error with (R := f * ln 2); [unfold w, f; ring|exact Hh]. }
  assert (Hr := head64_range a Fa Ra).
  assert (Ew : exp w = bpow radix2 k * exp (f * ln 2)).
  { rewrite bpow_exp, <- exp_plus. f_equal. unfold w, f. simpl. ring. }
  set (Y := head64 a * bpow radix2 k) in *.
  assert (Pk : pow2 (-1020) <= bpow radix2 k <= pow2 1020) by (split; apply bpow_le; lia).
  assert (P0 := bpow_gt_0 radix2 k).
  assert (Yl : 45 / 64 * bpow radix2 k <= Y) by (unfold Y; apply Rmult_le_compat_r; lra).
  assert (Yu : Y <= 3 / 2 * bpow radix2 k) by (unfold Y; apply Rmult_le_compat_r; lra).
  assert (E1 : pow2 (-1020) = 4 * pow2 (-1022)) by (change (-1020)%Z with (2 + -1022)%Z; rewrite bpow_plus; reflexivity).
  assert (E2 : pow2 1023 = 8 * pow2 1020) by (change 1023%Z with (3 + 1020)%Z; rewrite bpow_plus; reflexivity).
  assert (P22 := bpow_gt_0 radix2 (-1022)). assert (P20 := bpow_gt_0 radix2 1020).
  assert (HY : stands64 (keep_ge x (const (Dyadic (-1019) 0)) bits) Y).
  { apply (keep_stands 52 11 eq_refl eq_refl eq_refl nan64 x (const (Dyadic (-1019) 0)) bits v (-1019)); [exact Hx|exact Hlo| |exact Lo].
    apply scale64; [apply head64_stands; [exact Ha|exact Ra]|exact Hts|lia| |].
    - apply Rle_trans with (bpow radix2 (-1)); [apply bpow_le; lia|simpl; lra].
    - fold Y. assert (pow2 1023 < bpow radix2 1024) by (apply bpow_lt; lia). lra. }
  apply (positive_ball _ Y _ (245 / 100) (1 / 2) 4); [exact HY|rewrite Rabs_pos_eq; lra|exact Hd|lra|].
  left. rewrite (Rabs_pos_eq (exp w)) by (left; apply exp_pos). split; [exact Hs|]. lra.
Qed.
