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

(* ---- profiles ---- *)

Lemma positive_part64 y v : stands64 y v -> stands64 (vd_max float64 y (const (Dyadic 0 0))) (Rmax v 0).
Proof.
intros H. assert (Z : stands64 (const (Dyadic 0 0)) 0).
{ replace 0 with (dyadic_R (Dyadic 0 0)) by (unfold dyadic_R; simpl; ring). apply const64; reflexivity. }
assert (S := select_lt64 _ _ _ _ _ _ _ _ Z H H Z).
replace (Rmax v 0) with (if Rlt_dec 0 v then v else 0); [exact S|].
unfold Rmax. destruct (Rlt_dec 0 v), (Rle_dec v 0); lra.
Qed.

Lemma product_off a b c e f : 0 <= a -> 0 <= b -> 0 <= e -> 0 <= f -> Rabs (c - a) <= e * a + f -> pow2 (-1075) <= f ->
  Rabs (rnd64 (c * b) - a * b) <= (e + u64 * (1 + e)) * (a * b) + (1 + u64) * f * b + f.
Proof.
intros A B E F H T. assert (N : Rabs (rnd64 (c * b) - c * b) <= u64 * Rabs (c * b) + pow2 (-1075)).
{ apply (summation.nearest_error (-1074) 53). lia. }
assert (U0 := bpow_ge_0 radix2 (-53)).
assert (D : Rabs (c * b - a * b) <= (e * a + f) * b).
{ rewrite <- Rmult_minus_distr_r, Rabs_mult, (Rabs_pos_eq b) by exact B. apply Rmult_le_compat_r; assumption. }
assert (S : Rabs (c * b) <= a * b + (e * a + f) * b).
{ replace (c * b) with (a * b + (c * b - a * b)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite (Rabs_pos_eq (a * b)) by (apply Rmult_le_pos; assumption). lra. }
apply (Rmult_le_compat_l u64) in S; [|exact U0].
replace (rnd64 (c * b) - a * b) with ((rnd64 (c * b) - c * b) + (c * b - a * b)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

(** theorem: profile_error — vd_profile, the weight [y]_+^r of the compact kernels for r = 1, 2, 3, on every instruction set, for |y| <= 2^300: it is finite; 0 for y <= 0, exact for r = 1, and otherwise within (r - 1) u (1 + u) y^r + (1 + y) 2^-1074 of y^r. used by: src/sparse/power_isa.h, src/sparse/kernel.c *)
Theorem profile_error y : fin64 y = true -> Rabs (val64 y) <= pow2 300 ->
  let x := Rmax (val64 y) 0 in
  let w1 := vd_profile_1 float64 y in let w2 := vd_profile_2 float64 y in let w3 := vd_profile_3 float64 y in
  (fin64 w1 = true /\ val64 w1 = x) /\
  (fin64 w2 = true /\ Rabs (val64 w2 - x ^ 2) <= u64 * (1 + u64) * x ^ 2 + (1 + x) * pow2 (-1074)) /\
  (fin64 w3 = true /\ Rabs (val64 w3 - x ^ 3) <= 2 * u64 * (1 + u64) * x ^ 3 + (1 + x) * pow2 (-1074)) /\
  (val64 y <= 0 -> val64 w1 = 0 /\ val64 w2 = 0 /\ val64 w3 = 0).
Proof.
intros F B x w1 w2 w3. assert (Hx := positive_part64 y (val64 y) (conj F eq_refl)). fold x in Hx.
apply Rabs_le_inv in B. assert (P := bpow_gt_0 radix2 300).
assert (Bx : 0 <= x <= pow2 300) by (unfold x, Rmax; destruct (Rle_dec (val64 y) 0); lra).
assert (Fits : forall k v, Rabs v <= bpow radix2 k -> (k <= 1023)%Z -> Rabs v <= bpow radix2 1023).
{ intros k v H K. apply Rle_trans with (1 := H). apply bpow_le, K. }
assert (Sq : x * x <= pow2 300 * pow2 300) by (apply Rmult_le_compat; lra). rewrite <- bpow_plus in Sq.
assert (Sq0 : 0 <= x * x) by (apply Rmult_le_pos; lra).
assert (H2 : stands64 w2 (rnd64 (x * x))).
{ apply mul64; [exact Hx|exact Hx|]. apply (Fits (300 + 300)%Z); [rewrite Rabs_pos_eq; lra|lia]. }
assert (U : 0 < u64 <= / 65536).
{ split; [apply bpow_gt_0|change (/ 65536) with (pow2 (-16)); apply bpow_le; lia]. }
assert (T : pow2 (-1074) = 2 * pow2 (-1075)) by (change 2 with (pow2 1); rewrite <- bpow_plus; f_equal; ring).
assert (T0 : 0 < pow2 (-1075) <= / 65536).
{ split; [apply bpow_gt_0|change (/ 65536) with (pow2 (-16)); apply bpow_le; lia]. }
assert (E2 : Rabs (rnd64 (x * x) - x * x) <= u64 * (x * x) + pow2 (-1075)).
{ assert (N : Rabs (rnd64 (x * x) - x * x) <= u64 * Rabs (x * x) + pow2 (-1075)) by (apply (summation.nearest_error (-1074) 53); lia).
  rewrite (Rabs_pos_eq (x * x)) in N by exact Sq0. exact N. }
assert (E3 := product_off (x * x) x _ u64 (pow2 (-1075)) Sq0 (proj1 Bx) (Rlt_le _ _ (proj1 U)) (Rlt_le _ _ (proj1 T0)) E2 (Rle_refl _)).
assert (H3 : stands64 w3 (rnd64 (rnd64 (x * x) * x))).
{ apply mul64; [exact H2|exact Hx|]. apply (Fits 1000%Z); [|lia].
  assert (R : Rabs (rnd64 (x * x)) <= 2 * (x * x) + 1).
  { replace (rnd64 (x * x)) with ((rnd64 (x * x) - x * x) + x * x) by ring. eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_pos_eq (x * x)) by exact Sq0. assert (u64 * (x * x) <= 1 * (x * x)) by (apply Rmult_le_compat_r; lra). lra. }
  rewrite Rabs_mult, (Rabs_pos_eq x) by lra.
  apply Rle_trans with (pow2 602 * pow2 300); [|rewrite <- bpow_plus; apply bpow_le; lia].
  apply Rmult_le_compat; try apply Rabs_pos; try lra.
  assert (pow2 602 = 4 * pow2 (300 + 300)) by (change 4 with (pow2 2); rewrite <- bpow_plus; f_equal; ring).
  assert (1 <= pow2 (300 + 300)) by (apply (bpow_le radix2 0); lia). lra. }
destruct Hx as [F1 V1]. destruct H2 as [F2 V2]. destruct H3 as [F3 V3].
change (fin64 w1 = true) in F1. change (val64 w1 = x) in V1. change (fin64 w2 = true) in F2. change (fin64 w3 = true) in F3.
change (val64 w2 = rnd64 (x * x)) in V2. change (val64 w3 = rnd64 (rnd64 (x * x) * x)) in V3.
rewrite V1, V2, V3. clearbody w1 w2 w3.
assert (Px : 0 <= x * pow2 (-1075)) by (apply Rmult_le_pos; lra).
assert (Uq : 0 <= u64 * u64 * (x * x)) by (repeat apply Rmult_le_pos; lra).
assert (Uc : 0 <= u64 * u64 * (x * x * x)) by (repeat apply Rmult_le_pos; lra).
split; [split; [exact F1|reflexivity]|]. split; [split; [exact F2|]|]. 2: split; [split; [exact F3|]|].
- replace (x ^ 2) with (x * x) by ring. rewrite T. lra.
- replace (x ^ 3) with (x * x * x) by ring. rewrite T.
  assert (u64 * (x * pow2 (-1075)) <= / 65536 * (x * pow2 (-1075))) by (apply Rmult_le_compat_r; lra). lra.
- intros N. assert (X0 : x = 0) by (unfold x; apply Rmax_right; exact N).
  rewrite X0, !Rmult_0_l, !Rmult_0_r. unfold rnd64. rewrite round_0 by apply valid_rnd_N.
  repeat split.
Qed.
