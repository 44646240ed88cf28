(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Powers on Flocq's floating-point numbers: y^r = exp(r log y) with the logarithm and the exponential of
   src/enclosure, the relative error that src/sparse/line.c adds up, what is flushed to 0. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants enclosure.exp_isa enclosure.log_isa
  enclosure.exp_method enclosure.exp_float enclosure.log_float sparse.power_isa.
Open Scope R_scope.
Notation u64 := (pow2 (-53)).

Lemma above z : 1 + z <= exp z.
Proof. destruct (Req_dec z 0) as [->|N]; [rewrite exp_0; lra|left; apply exp_ineq1, N]. Qed.

(* How far the computed exponent is from rho L, L = log y. *)
Definition power_off (rho L : R) : R :=
  Rabs rho * (pow2 (-51) * (1 + Rabs L)) * (1 + pow2 (-50)) + u64 * Rabs (rho * L) + pow2 (-1075).

Lemma exponent_off rho l L : Rabs (l - L) <= pow2 (-51) * (1 + Rabs L) ->
  Rabs (rnd64 (rho * l) - rho * L) <= power_off rho L.
Proof.
intros H. assert (N : Rabs (rnd64 (rho * l) - rho * l) <= u64 * Rabs (rho * l) + pow2 (-1075)).
{ apply (summation.nearest_error (-1074) 53). lia. }
assert (U : 0 <= u64 <= pow2 (-50)) by (split; [apply bpow_ge_0|apply bpow_le; lia]).
set (d := Rabs rho * (pow2 (-51) * (1 + Rabs L))).
assert (D : Rabs (rho * l - rho * L) <= d).
{ replace (rho * l - rho * L) with (rho * (l - L)) by ring. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|exact H]. }
assert (S : Rabs (rho * l) <= Rabs (rho * L) + d).
{ replace (rho * l) with (rho * L + (rho * l - rho * L)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
apply (Rmult_le_compat_l u64) in S; [|lra].
assert (0 <= d) by (eapply Rle_trans; [apply Rabs_pos|exact D]).
assert (u64 * d <= pow2 (-50) * d) by (apply Rmult_le_compat_r; lra).
replace (rnd64 (rho * l) - rho * L) with ((rnd64 (rho * l) - rho * l) + (rho * l - rho * L)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. unfold power_off. fold d. lra.
Qed.

(* e^(+-d) (1 +- e) *)
Lemma exp_moved w x v d e : Rabs (x - v) <= d -> d <= 1/2 -> 0 <= e -> Rabs (w - exp x) <= e * exp x ->
  Rabs (w - exp v) <= (d + e) * (1 + 2 * d) * exp v.
Proof.
intros H D E W. assert (D0 : 0 <= d) by (eapply Rle_trans; [apply Rabs_pos|exact H]).
assert (A : Rabs (exp x - exp v) <= d * (1 + 2 * d) * exp v).
{ apply exp_error.shifted with (e := d); [exact H|exact D0|]. intros z Hz. apply Rabs_le_inv in Hz.
  pose proof (above z).
  assert (Up : exp z <= exp d).
  { destruct (proj2 Hz) as [Q| ->]; [left; apply exp_increasing, Q|apply Rle_refl]. }
  assert (Q : exp d <= 1 + d * (1 + 2 * d)).
  { assert (I : exp d * (1 - d) <= 1).
    { replace 1 with (exp d * exp (- d)) at 2 by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      apply Rmult_le_compat_l; [left; apply exp_pos|]. pose proof (above (- d)). lra. }
    apply (Rmult_le_reg_r (1 - d)); [lra|]. apply Rle_trans with (1 := I). nra. }
  apply Rabs_le. nra. }
replace (w - exp v) with ((w - exp x) + (exp x - exp v)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
assert (X : exp x <= (1 + d * (1 + 2 * d)) * exp v) by (apply Rabs_le_inv in A; lra).
apply (Rmult_le_compat_l e) in X; [|lra].
assert (P := exp_pos v). set (V := exp v) in *.
assert (e * (1 + d * (1 + 2 * d)) <= e * (1 + 2 * d)) by (apply Rmult_le_compat_l; nra).
assert (e * (1 + d * (1 + 2 * d)) * V <= e * (1 + 2 * d) * V) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Section Power.
Variables (y r : float64) (v rho : R).
Hypothesis Hy : stands64 y v.
Hypothesis Hr : stands64 r rho.
Hypothesis normal : pow2 (-1022) <= v.
Hypothesis rho_bounded : Rabs rho <= pow2 1000.

Lemma ln_bounded : Rabs (ln v) <= 1024.
Proof.
assert (P : 0 < v) by (apply Rlt_le_trans with (2 := normal); apply bpow_gt_0).
assert (B : v < bpow radix2 1024).
{ destruct Hy as [_ <-]. apply Rle_lt_trans with (1 := Rle_abs _). exact (abs_B2R_lt_emax 53 1024 y). }
assert (L : forall k, ln (bpow radix2 k) = IZR k * ln 2) by (intros k; rewrite bpow_exp, ln_exp; reflexivity).
assert (Q := ln2_range). change (pow2 (-16)) with (/ 65536) in Q.
assert (ln v < IZR 1024 * ln 2) by (rewrite <- L; apply ln_increasing; assumption).
assert (IZR (-1022) * ln 2 <= ln v).
{ rewrite <- L. destruct normal as [O| <-]; [left; apply ln_increasing; [apply bpow_gt_0|exact O]|apply Rle_refl]. }
apply Rabs_le. lra.
Qed.

Let x := mul r (vd_log float64 y).

Lemma exponent_stands : exists X, stands64 x X /\ Rabs (X - rho * ln v) <= power_off rho (ln v).
Proof.
destruct (log64_stands y v Hy normal) as [l [Hl El]]. exists (rnd64 (rho * l)). split.
- apply mul64; [exact Hr|exact Hl|]. rewrite Rabs_mult.
  apply Rle_trans with (bpow radix2 1000 * bpow radix2 12); [|rewrite <- bpow_plus; apply bpow_le; lia].
  apply Rmult_le_compat; try apply Rabs_pos; [exact rho_bounded|].
  pose proof ln_bounded. pose proof (Rabs_pos (ln v)). assert (pow2 (-51) <= 1) by (apply (bpow_le radix2 (-51) 0); lia).
  assert (pow2 (-51) * (1 + Rabs (ln v)) <= 1 * (1 + Rabs (ln v))) by (apply Rmult_le_compat_r; lra).
  replace l with (ln v + (l - ln v)) by ring. eapply Rle_trans; [apply Rabs_triang|]. change (bpow radix2 12) with 4096. lra.
- apply exponent_off, El.
Qed.

Lemma power_stands : rho * ln v + power_off rho (ln v) < 709 -> power_off rho (ln v) <= 1/2 ->
  exists w, stands64 (vd_power float64 y r) w /\
    (Rabs (w - exp (rho * ln v)) <= (power_off rho (ln v) + 990 * pow2 (-62)) * (1 + 2 * power_off rho (ln v)) * exp (rho * ln v) \/
     w = 0 /\ rho * ln v < -707 + power_off rho (ln v)) /\
    (rho * ln v + power_off rho (ln v) < -707 -> w = 0).
Proof.
intros B O. destruct exponent_stands as [X [HX EX]]. unfold vd_power. fold x.
assert (M : stands64 (const EXP64_MAX) 709).
{ replace 709 with (dyadic_R EXP64_MAX) by (numbers; simpl; lra). apply const64; reflexivity. }
assert (S := select_stands 52 11 eq_refl eq_refl eq_refl nan64 x (const EXP64_MAX) x (const EXP64_MAX) _ _ _ _ HX M HX M).
change (stands 52 11 eq_refl eq_refl eq_refl nan64) with stands64 in S.
assert (X709 : X < 709) by (apply Rabs_le_inv in EX; lra).
destruct (Rlt_dec X 709) as [_|]; [|lra].
match type of S with stands64 ?s _ => set (z := s) in * end.
destruct (Rle_lt_dec (-707) X) as [L|L].
- destruct (exp64_stands z X S ltac:(lra)) as [w [Hw Ew]]. exists w. split; [exact Hw|]. apply Rabs_le_inv in EX as EX'. split; [left|lra].
  apply exp_moved with X; [exact EX|exact O|simpl; lra|exact Ew].
- exists 0. split; [|split; [right; split; [reflexivity|apply Rabs_le_inv in EX; lra]|reflexivity]].
  destruct S as [Fz Vz].
  assert (E : vd_exp float64 z = B754_zero 53 1024 false).
  { apply exp64_nothing; [intros _; change (val64 z = X) in Vz; rewrite Vz; exact L|].
    intros Q. clear - Fz Q. rewrite Q in Fz. discriminate. }
  fold z. change (stands64 (vd_exp float64 z) 0). rewrite E. split; reflexivity.
Qed.
End Power.

(** theorem: power64_error — vd_power, y^r for a normal y > 0, computed from vd_log and vd_exp as in the double enclosures of the sparse kernels: with L = log y and off = |r| 2^-51 (1 + |L|)(1 + 2^-50) + u |r L| + 2^-1075 <= 2^-10 and y^r below e^708.9, the result is finite and within (off + 2u)(1 + 2 off) of y^r, relatively, or it is 0 and y^r < 2^-1019; it is 0 where y^r < 2^-1020. used by: src/sparse/power_isa.h, src/sparse/line.c *)
Theorem power64_error y r : fin64 y = true -> fin64 r = true -> pow2 (-1022) <= val64 y -> Rabs (val64 r) <= pow2 1000 ->
  let L := ln (val64 y) in let off := power_off (val64 r) L in let p := exp (val64 r * L) in
  off <= pow2 (-10) -> val64 r * L <= 7089/10 ->
  let w := vd_power float64 y r in
  fin64 w = true /\
  (Rabs (val64 w - p) <= (off + dyadic_R EXP64_ERROR * pow2 (-53)) * (1 + 2 * off) * p \/ val64 w = 0 /\ p < pow2 (-1019)) /\
  (p < pow2 (-1020) -> val64 w = 0).
Proof.
intros Fy Fr N Br L off p Ho Hp w.
change (pow2 (-10)) with (/ 1024) in Ho.
assert (Poff : 0 <= off).
{ eapply Rle_trans; [apply Rabs_pos|apply (exponent_off (val64 r) L L)].
  replace (L - L) with 0 by ring. rewrite Rabs_R0. apply Rmult_le_pos; [apply bpow_ge_0|]. pose proof (Rabs_pos L). lra. }
destruct (power_stands y r (val64 y) (val64 r) (conj Fy eq_refl) (conj Fr eq_refl) N Br) as [z [[F E] [H H0]]].
{ fold L. fold off. lra. }
{ fold L. fold off. lra. }
fold L in H, H0. fold off in H, H0. change (fin64 w = true) in F. change (val64 w = z) in E. rewrite E. fold p in H.
assert (E2 : dyadic_R EXP64_ERROR = 2) by (unfold dyadic_R, EXP64_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
rewrite E2. assert (Q2 := ln2_range). change (pow2 (-16)) with (/ 65536) in Q2.
assert (P20 : forall k, bpow radix2 k = exp (IZR k * ln 2)) by (intros; rewrite bpow_exp; reflexivity).
clearbody off w L.
split; [exact F|]. split.
- destruct H as [H|[H1 H2]]; [left|right].
  + apply Rle_trans with (1 := H). apply Rmult_le_compat_r; [left; apply exp_pos|].
    apply Rmult_le_compat_r; [lra|]. simpl. lra.
  + split; [exact H1|]. unfold p. rewrite P20. apply exp_increasing. lra.
- intros Z. apply H0. unfold p in Z. rewrite P20 in Z. apply exp_lt_inv in Z. lra.
Qed.
