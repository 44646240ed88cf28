(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The lean powers of the fast kernels on Flocq's floating-point numbers: y^r = 2^(r log2 y), of which the
   exponent is kept above -1000, y^(r-1) and 1 / y. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary Sterbenz.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_method enclosure.exp_float
  sparse.power_float sparse.lean_isa sparse.lean_method sparse.lean_float sparse.lean_power_isa.
Open Scope R_scope.

Lemma rounded64 x : Rabs (rnd64 x - x) <= u64 * Rabs x + pow2 (-1075).
Proof. apply (summation.nearest_error (-1074) 53). lia. Qed.

Lemma ln2_below_one : ln 2 < 1.
Proof. pose proof ln2_range as Q. change (pow2 (-16)) with (/ 65536) in Q. lra. Qed.

Lemma exp2_positive x : 0 < exp2 x.
Proof. apply exp_pos. Qed.
Lemma exp2_le x y : x <= y -> exp2 x <= exp2 y.
Proof.
intros [H| ->]; [left|right; reflexivity]. apply exp_increasing, Rmult_lt_compat_r; [apply ln2_positive|exact H].
Qed.
Lemma exp2_power k : exp2 (IZR k) = bpow radix2 k.
Proof. rewrite <- (Rplus_0_r (IZR k)), exp2_whole. unfold exp2. rewrite Rmult_0_l, exp_0. ring. Qed.

Lemma not_selected (a b x y : float64) ra rb : stands64 a ra -> stands64 b rb -> rb <= ra -> select_lt a b x y = y.
Proof.
intros Ha Hb H. assert (L := less_than_R 52 11 eq_refl eq_refl eq_refl nan64 a b ra rb Ha Hb).
change (select_lt a b x y) with (if less_than 52 11 a b then x else y).
destruct (less_than 52 11 a b); [|reflexivity]. exfalso. assert (ra < rb) by now apply L. lra.
Qed.

Lemma max_stands (a b : float64) ra rb : stands64 a ra -> stands64 b rb -> stands64 (vd_max float64 a b) (Rmax ra rb).
Proof.
intros Ha Hb. assert (S := select_lt64 b a a b rb ra ra rb Hb Ha Ha Hb). unfold vd_max.
unfold Rmax. destruct (Rlt_dec rb ra), (Rle_dec ra rb); try exact S; lra.
Qed.

(* The weight from a logarithm that is off by a. *)
Definition weight_of (lf r : float64) : float64 := vd_lean_exp2_1 float64 (vd_max float64 (mul r lf) (const (Dyadic (-125) 3))).

Section Weight.
Variables (lf r : float64) (lh rho L a : R).
Hypothesis Hl : stands64 lf lh.
Hypothesis Hr : stands64 r rho.
Hypothesis near : Rabs (lh - L) <= a.
Hypothesis rho_bounded : Rabs rho <= pow2 500.
Hypothesis L_bounded : Rabs L <= pow2 11.
Hypothesis a_bounded : a <= 1.
Let X := rho * L.
Let D := Rabs rho * a * (1 + u64) + u64 * Rabs X + pow2 (-1075).

Lemma product_stands : exists x, stands64 (mul r lf) x /\ Rabs (x - X) <= D.
Proof.
exists (rnd64 (rho * lh)). split.
- apply mul64; [exact Hr|exact Hl|]. rewrite Rabs_mult.
  apply Rle_trans with (bpow radix2 500 * bpow radix2 12); [|rewrite <- bpow_plus; apply bpow_le; lia].
  apply Rmult_le_compat; try apply Rabs_pos; [exact rho_bounded|].
  replace lh with (L + (lh - L)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  change (bpow radix2 12) with 4096. change (pow2 11) with 2048 in L_bounded. lra.
- assert (N := rounded64 (rho * lh)).
  assert (M : Rabs (rho * lh - X) <= Rabs rho * a).
  { unfold X. replace (rho * lh - rho * L) with (rho * (lh - L)) by ring. rewrite Rabs_mult.
    apply Rmult_le_compat_l; [apply Rabs_pos|exact near]. }
  assert (S : Rabs (rho * lh) <= Rabs X + Rabs rho * a).
  { replace (rho * lh) with (X + (rho * lh - X)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  apply (Rmult_le_compat_l u64) in S; [|apply bpow_ge_0].
  replace (rnd64 (rho * lh) - X) with ((rnd64 (rho * lh) - rho * lh) + (rho * lh - X)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. unfold D. lra.
Qed.

Lemma least_stands : stands64 (const (Dyadic (-125) 3)) (-1000).
Proof. replace (-1000) with (dyadic_R (Dyadic (-125) 3)) by (unfold dyadic_R; simpl; lra). apply const64; reflexivity. Qed.

Lemma D_positive : 0 <= D.
Proof. destruct product_stands as [x [_ H]]. eapply Rle_trans; [apply Rabs_pos|exact H]. Qed.

Lemma weight_stands : -999 <= X <= 700 -> D <= pow2 (-10) -> exists w, stands64 (weight_of lf r) w /\
  Rabs (w - exp2 X) <= (D + dyadic_R LEAN64_EXP2_ERROR) * (1 + 2 * D) * exp2 X.
Proof.
intros BX BD. destruct product_stands as [x [Hx Ex]]. apply Rabs_le_inv in Ex as Ex'. change (pow2 (-10)) with (/ 1024) in BD.
assert (M := max_stands _ _ _ _ Hx least_stands). rewrite Rmax_left in M by lra.
destruct (lean64_exp2_stands _ x M) as [w [Hw Ew]]; [apply Rabs_le; lra|]. exists w. split; [exact Hw|].
assert (P := D_positive). assert (Q := ln2_below_one). pose proof ln2_positive.
set (E := dyadic_R LEAN64_EXP2_ERROR) in *. assert (E0 : 0 <= E) by (unfold E, dyadic_R, LEAN64_EXP2_ERROR; simpl; lra).
assert (DL : D * ln 2 <= D) by (rewrite <- (Rmult_1_r D) at 2; apply Rmult_le_compat_l; lra).
assert (G := exp_moved w (x * ln 2) (X * ln 2) (D * ln 2) E).
eapply Rle_trans.
- apply G; [|lra|exact E0|exact Ew].
  rewrite <- Rmult_minus_distr_r, Rabs_mult, (Rabs_pos_eq (ln 2)) by lra. apply Rmult_le_compat_r; lra.
- fold (exp2 X). apply Rmult_le_compat_r; [left; apply exp2_positive|].
  assert (0 <= D * ln 2) by (apply Rmult_le_pos; lra). apply Rmult_le_compat; lra.
Qed.

Lemma weight_small : X + D <= -998 -> exists w, stands64 (weight_of lf r) w /\ 0 <= w <= pow2 (-997).
Proof.
intros B. destruct product_stands as [x [Hx Ex]]. apply Rabs_le_inv in Ex as Ex'.
assert (M := max_stands _ _ _ _ Hx least_stands). set (m := Rmax x (-1000)) in *.
assert (Bm : -1000 <= m <= -998) by (unfold m; split; [apply Rmax_r|apply Rmax_lub; lra]).
destruct (lean64_exp2_stands _ m M) as [w [Hw Ew]]; [apply Rabs_le; lra|]. exists w. split; [exact Hw|].
assert (E : 0 <= dyadic_R LEAN64_EXP2_ERROR <= 1) by (unfold dyadic_R, LEAN64_EXP2_ERROR; simpl; lra).
assert (P := exp2_positive m). apply Rabs_le_inv in Ew.
assert (dyadic_R LEAN64_EXP2_ERROR * exp2 m <= 1 * exp2 m) by (apply Rmult_le_compat_r; lra).
assert (U : exp2 m <= pow2 (-998)) by (rewrite <- exp2_power; apply exp2_le; lra).
assert (pow2 (-997) = 2 * pow2 (-998)) by (change 2 with (bpow radix2 1) at 1; rewrite <- bpow_plus; f_equal; lia). lra.
Qed.
End Weight.

(* The exponent X = r log2 y as it is computed: off by this, beside what is off in log2 y. *)
Definition lean_off (X : R) : R := 23 * pow2 (-40) * Rabs X + pow2 (-1074).

Lemma least_safe : stands64 (const (Dyadic 1 (-300))) (pow2 (-300)).
Proof. replace (pow2 (-300)) with (dyadic_R (Dyadic 1 (-300))) by (unfold dyadic_R; simpl num; simpl expo; ring). apply const64; reflexivity. Qed.

(* y, kept above 2^-300, with its logarithm and its reciprocal *)
Section Base.
Variables (y r : float64) (Y rho : R).
Hypothesis Hy : stands64 y Y.
Hypothesis Hr : stands64 r rho.
Hypothesis rho_bounded : Rabs rho <= pow2 500.
Hypothesis Y_range : pow2 (-300) <= Y <= pow2 10.
Let safe := vd_max float64 y (const (Dyadic 1 (-300))).
Let E := dyadic_R LEAN64_EXP2_ERROR.

Lemma safe_stands : stands64 safe Y.
Proof.
assert (M := max_stands _ _ _ _ Hy least_safe). rewrite Rmax_left in M by lra. exact M.
Qed.

Lemma log2_power k : log2 (bpow radix2 k) = IZR k.
Proof. unfold log2. rewrite bpow_exp, ln_exp. pose proof ln2_positive. simpl. field. lra. Qed.
Lemma log2_le a b : 0 < a -> a <= b -> log2 a <= log2 b.
Proof.
intros P [H| ->]; [|right; reflexivity]. unfold log2. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, ln2_positive|].
left. apply ln_increasing; assumption.
Qed.

Lemma log2_bounded : -300 <= log2 Y <= 10.
Proof.
pose proof (bpow_gt_0 radix2 (-300)). rewrite <- (log2_power (-300)), <- (log2_power 10).
split; apply log2_le; lra.
Qed.

Lemma safe_log : exists l, stands64 (vd_lean_log2_1 float64 safe) l /\ Rabs (l - log2 Y) <= 22 * pow2 (-40) * Rabs (log2 Y).
Proof.
destruct (lean64_log2_stands safe Y safe_stands) as [l [Hl El]].
- apply Rle_trans with (2 := proj1 Y_range). apply bpow_le. lia.
- exists l. split; [exact Hl|]. replace (22 * pow2 (-40)) with (dyadic_R LEAN64_LOG2_ERROR) by (unfold dyadic_R, LEAN64_LOG2_ERROR; simpl; lra). exact El.
Qed.

Lemma off_fits L : Rabs rho * (22 * pow2 (-40) * Rabs L) * (1 + u64) + u64 * Rabs (rho * L) + pow2 (-1075) <= lean_off (rho * L).
Proof.
unfold lean_off. rewrite Rabs_mult. set (p := Rabs rho * Rabs L).
assert (0 <= p) by (apply Rmult_le_pos; apply Rabs_pos).
replace (Rabs rho * (22 * pow2 (-40) * Rabs L) * (1 + u64)) with (22 * pow2 (-40) * (1 + u64) * p) by (unfold p; ring).
assert ((22 * pow2 (-40) * (1 + u64) + u64) * p <= 23 * pow2 (-40) * p) by (apply Rmult_le_compat_r; [assumption|simpl; lra]).
assert (pow2 (-1075) <= pow2 (-1074)) by (apply bpow_le; lia). lra.
Qed.

Lemma off_small X : Rabs X <= 2000 -> lean_off X <= pow2 (-20).
Proof.
intros H. unfold lean_off. apply (Rmult_le_compat_l (23 * pow2 (-40))) in H; [|simpl; lra].
assert (pow2 (-1074) <= pow2 (-40)) by (apply bpow_le; lia). simpl in *. lra.
Qed.

Let X := rho * log2 Y.

Lemma log_bounds : Rabs (log2 Y) <= pow2 11 /\ 22 * pow2 (-40) * Rabs (log2 Y) <= 1.
Proof.
assert (B := log2_bounded). assert (A : Rabs (log2 Y) <= 300) by (apply Rabs_le; lra).
split; [simpl; lra|]. apply (Rmult_le_compat_l (22 * pow2 (-40))) in A; [|simpl; lra]. simpl in *. lra.
Qed.

Lemma base_weight : -999 <= X <= 700 -> exists w, stands64 (weight_of (vd_lean_log2_1 float64 safe) r) w /\
  Rabs (w - exp2 X) <= (lean_off X + E) * (1 + 2 * lean_off X) * exp2 X.
Proof.
intros B. destruct safe_log as [l [Hl El]]. destruct log_bounds as [L1 L2].
assert (F := off_fits (log2 Y)). assert (S := off_small X ltac:(apply Rabs_le; lra)). fold X in F.
assert (P := D_positive _ _ _ _ _ _ Hl Hr El rho_bounded L1 L2). fold X in P.
set (D := Rabs rho * (22 * pow2 (-40) * Rabs (log2 Y)) * (1 + u64) + u64 * Rabs X + pow2 (-1075)) in *.
destruct (weight_stands _ _ _ _ _ _ Hl Hr El rho_bounded L1 L2 B) as [w [Hw Ew]].
{ fold X. fold D. apply Rle_trans with (1 := F). apply Rle_trans with (1 := S). apply bpow_le. lia. }
exists w. split; [exact Hw|]. apply Rle_trans with (1 := Ew). fold X. fold D. fold E.
assert (0 <= E) by (unfold E, dyadic_R, LEAN64_EXP2_ERROR; simpl; lra).
apply Rmult_le_compat_r; [left; apply exp2_positive|]. apply Rmult_le_compat; lra.
Qed.

Lemma base_small : X < -999 -> exists w, stands64 (weight_of (vd_lean_log2_1 float64 safe) r) w /\ 0 <= w <= pow2 (-997).
Proof.
intros B. destruct safe_log as [l [Hl El]]. destruct log_bounds as [L1 L2].
assert (F := off_fits (log2 Y)). fold X in F.
destruct (weight_small _ _ _ _ _ _ Hl Hr El rho_bounded L1 L2) as [w H]; [|exists w; exact H].
fold X. unfold lean_off in F. rewrite (Rabs_left X) in F at 2 by lra.
assert (pow2 (-1074) <= pow2 (-40)) by (apply bpow_le; lia). simpl in *. lra.
Qed.

(* 1 / y *)
Lemma inverse_stands : exists i, stands64 (div (const (Dyadic 1 0)) safe) i /\ Rabs (i - / Y) <= u64 * (1 + pow2 (-40)) * / Y /\ pow2 (-11) <= i <= pow2 301.
Proof.
assert (P300 := bpow_gt_0 radix2 (-300)). assert (P : 0 < / Y) by (apply Rinv_0_lt_compat; lra).
assert (B : pow2 (-10) <= / Y <= pow2 300).
{ rewrite !(bpow_opp radix2 10), (eq_refl : 300%Z = Z.opp (-300)), bpow_opp. split; apply Rinv_le; lra. }
exists (rnd64 (1 / Y)). split; [|split].
- apply div64; [exact one64|exact safe_stands|lra|]. unfold Rdiv. rewrite Rmult_1_l, Rabs_pos_eq by lra.
  apply Rle_trans with (1 := proj2 B). apply bpow_le. lia.
- assert (N := rounded64 (1 / Y)). unfold Rdiv in *. rewrite Rmult_1_l in *. rewrite (Rabs_pos_eq (/ Y)) in N by lra.
  assert (pow2 (-1075) <= u64 * pow2 (-40) * / Y).
  { apply Rle_trans with (u64 * pow2 (-40) * pow2 (-10)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_l; [|exact (proj1 B)]. rewrite <- bpow_plus. apply bpow_ge_0. }
  lra.
- unfold Rdiv. rewrite Rmult_1_l. split.
  + apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|].
    apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact (proj1 B)]. apply generic_format_bpow. unfold FLT_exp. lia.
  + apply Rle_trans with (pow2 300); [|apply bpow_le; lia].
    apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact (proj2 B)]. apply generic_format_bpow. unfold FLT_exp. lia.
Qed.
End Base.

(* The operations of C around these parts; the second gives 1 / y beside the weight. *)
Lemma lean_any_parts u g r : lean_any_1 float64 u g r =
  (let y := sub u g in let safe := vd_max float64 y (const (Dyadic 1 (-300))) in
   let w := weight_of (vd_lean_log2_1 float64 safe) r in
   (select_lt (const (Dyadic 0 0)) y w (const (Dyadic 0 0)),
    select_lt (const (Dyadic 0 0)) y (mul w (div (const (Dyadic 1 0)) safe)) (const (Dyadic 0 0)))).
Proof. reflexivity. Qed.
Lemma lean_leaner_parts u g r : lean_leaner_1 float64 u g r =
  (let y := sub (const (Dyadic 1 0)) (add u g) in let safe := vd_max float64 y (const (Dyadic 1 (-300))) in
   (select_lt (const (Dyadic 0 0)) y (weight_of (vd_lean_log2_1 float64 safe) r) (const (Dyadic 0 0)),
    select_lt (const (Dyadic 0 0)) y (div (const (Dyadic 1 0)) safe) (const (Dyadic 0 0)))).
Proof. reflexivity. Qed.
Lemma lean_power_of_two (o : ops) (u g h r : o) :
  lean_any_2 o u g h r = (let (w, s) := lean_any_1 o u g r in let (w', s') := lean_any_1 o u h r in (w, w', s, s')) /\
  lean_near_2 o u g h r = (let (w, s) := lean_near_1 o u g r in let (w', s') := lean_near_1 o u h r in (w, w', s, s')) /\
  lean_leaner_2 o u g h r = (let (w, s) := lean_leaner_1 o u g r in let (w', s') := lean_leaner_1 o u h r in (w, w', s, s')).
Proof. repeat split. Qed.

Lemma zero_stands : stands64 (const (Dyadic 0 0)) 0.
Proof. replace 0 with (dyadic_R (Dyadic 0 0)) by (unfold dyadic_R; simpl; ring). apply const64; reflexivity. Qed.

Lemma selected (a b x y : float64) ra rb : stands64 a ra -> stands64 b rb -> ra < rb -> select_lt a b x y = x.
Proof.
intros Ha Hb H. assert (L := less_than_R 52 11 eq_refl eq_refl eq_refl nan64 a b ra rb Ha Hb).
change (select_lt a b x y) with (if less_than 52 11 a b then x else y). apply L in H.
change (less_than 52 11 a b = true) in H. rewrite H. reflexivity.
Qed.

Lemma stands_value x v : stands64 x v -> fin64 x = true /\ val64 x = v.
Proof. intros H. exact H. Qed.

(* w / y, with the roundings of the quotient and of the product *)
Lemma share_error w i Y p e : 0 <= p -> 0 < Y -> 0 <= e <= 1 -> Rabs (w - p) <= e * p -> pow2 (-1000) <= w ->
  Rabs (i - / Y) <= u64 * (1 + pow2 (-40)) * / Y -> pow2 (-11) <= i ->
  Rabs (rnd64 (w * i) - p / Y) <= (e + (1 + e) * pow2 (-51)) * (p / Y).
Proof.
intros Pp PY Pe Hw Bw Hi Bi. assert (N := rounded64 (w * i)). assert (PI : 0 < / Y) by (apply Rinv_0_lt_compat; lra).
assert (P1 := bpow_gt_0 radix2 (-1000)). assert (P2 := bpow_gt_0 radix2 (-11)).
assert (W : w <= (1 + e) * p) by (apply Rabs_le_inv in Hw; lra).
set (k := u64 * (1 + pow2 (-40))) in *. assert (K : 0 <= k <= 2 * u64) by (unfold k; simpl; lra).
assert (I : i <= (1 + k) * / Y) by (apply Rabs_le_inv in Hi; lra).
assert (T : pow2 (-1075) <= pow2 (-60) * (w * i)).
{ apply Rle_trans with (pow2 (-60) * (pow2 (-1000) * pow2 (-11))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_l; [apply bpow_ge_0|]. apply Rmult_le_compat; lra. }
assert (Wi : w * i <= (1 + e) * (1 + k) * (p * / Y)).
{ replace ((1 + e) * (1 + k) * (p * / Y)) with (((1 + e) * p) * ((1 + k) * / Y)) by ring. apply Rmult_le_compat; lra. }
assert (M : Rabs (w * i - p * / Y) <= (e + (1 + e) * k) * (p * / Y)).
{ replace (w * i - p * / Y) with ((w - p) * / Y + w * (i - / Y)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite !Rabs_mult, (Rabs_pos_eq (/ Y)), (Rabs_pos_eq w) by lra.
  assert (Rabs (w - p) * / Y <= e * p * / Y) by (apply Rmult_le_compat_r; lra).
  assert (w * Rabs (i - / Y) <= ((1 + e) * p) * (k * / Y)) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra. }
assert (w * i >= 0) by (apply Rle_ge, Rmult_le_pos; lra). rewrite (Rabs_pos_eq (w * i)) in N by lra.
unfold Rdiv. set (q := p * / Y) in *. assert (0 <= q) by (apply Rmult_le_pos; lra).
replace (rnd64 (w * i) - q) with ((rnd64 (w * i) - w * i) + (w * i - q)) by ring. eapply Rle_trans; [apply Rabs_triang|].
assert (Z : (u64 + pow2 (-60)) * (w * i) <= (u64 + pow2 (-60)) * ((1 + e) * (1 + k) * q)) by (apply Rmult_le_compat_l; [simpl; lra|exact Wi]).
assert (C : k + (u64 + pow2 (-60)) * (1 + k) <= pow2 (-51)) by (unfold k; simpl; lra).
assert ((1 + e) * (k + (u64 + pow2 (-60)) * (1 + k)) <= (1 + e) * pow2 (-51)) by (apply Rmult_le_compat_l; lra).
assert ((e + (1 + e) * (k + (u64 + pow2 (-60)) * (1 + k))) * q <= (e + (1 + e) * pow2 (-51)) * q) by (apply Rmult_le_compat_r; lra).
lra.
Qed.

(** theorem: lean_power_error — the lean powers y^r and y^(r-1) of the fast kernels, y = u - gap as it is rounded: with X = r log2 y and D = 23 2^-40 |X| + 2^-1074, both are 0 where y <= 0; y^r is within (D + LEAN64_EXP2_ERROR)(1 + 2 D), relatively, for 2^-300 <= y <= 2^10 and X in [-999, 700], and y^(r-1) within that and four roundings; y^r is at most 2^-997 for smaller X. used by: src/sparse/solve_isa.c *)
Theorem lean_power_error u g r : let y := @sub float64 u g in let w := fst (lean_any_1 float64 u g r) in let share := snd (lean_any_1 float64 u g r) in
  fin64 y = true -> fin64 r = true -> Rabs (val64 r) <= pow2 500 ->
  let X := val64 r * log2 (val64 y) in let p := exp2 X in
  let e := (lean_off X + dyadic_R LEAN64_EXP2_ERROR) * (1 + 2 * lean_off X) in
  (val64 y <= 0 -> w = const (Dyadic 0 0) /\ share = const (Dyadic 0 0)) /\
  (pow2 (-300) <= val64 y <= pow2 10 -> -999 <= X <= 700 ->
    fin64 w = true /\ Rabs (val64 w - p) <= e * p /\
    fin64 share = true /\ Rabs (val64 share - p / val64 y) <= (e + (1 + e) * pow2 (-51)) * (p / val64 y)) /\
  (pow2 (-300) <= val64 y <= pow2 10 -> X < -999 -> fin64 w = true /\ 0 <= val64 w <= pow2 (-997)).
Proof.
intros y w share Fy Fr Br X p e. assert (Hy : stands64 y (val64 y)) by (split; [exact Fy|reflexivity]).
assert (Hr : stands64 r (val64 r)) by (split; [exact Fr|reflexivity]).
unfold w, share. rewrite lean_any_parts. cbv zeta. fold y. cbv [fst snd]. clear w share.
set (Y := val64 y) in *. split; [|split].
- intros N. split; eapply not_selected; [exact zero_stands|exact Hy|exact N|exact zero_stands|exact Hy|exact N].
- intros BY BX. assert (PY : 0 < Y) by (pose proof (bpow_gt_0 radix2 (-300)); lra).
  rewrite !(selected (const (Dyadic 0 0)) y _ _ 0 Y zero_stands Hy PY).
  destruct (base_weight y r Y (val64 r) Hy Hr Br BY BX) as [w [Hw Ew]].
  destruct (inverse_stands y Y Hy BY) as [i [Hi [Ei Bi]]]. fold X in Ew. fold p in Ew. fold e in Ew.
  assert (S := off_small X ltac:(apply Rabs_le; lra)).
  assert (P0 : 0 <= lean_off X).
  { unfold lean_off. assert (0 <= 23 * pow2 (-40) * Rabs X) by (apply Rmult_le_pos; [simpl; lra|apply Rabs_pos]).
    pose proof (bpow_ge_0 radix2 (-1074)). lra. }
  assert (E2 : 0 <= dyadic_R LEAN64_EXP2_ERROR <= pow2 (-20)) by (unfold dyadic_R, LEAN64_EXP2_ERROR; simpl; lra).
  change (pow2 (-20)) with (/ 1048576) in *.
  assert (Be : 0 <= e <= 1/2).
  { unfold e. split; [apply Rmult_le_pos; lra|]. apply Rle_trans with (/ 4 * 2); [apply Rmult_le_compat; lra|lra]. }
  assert (Pp : pow2 (-999) <= p <= pow2 700) by (unfold p; rewrite <- !exp2_power; split; apply exp2_le; lra).
  assert (H999 : pow2 (-999) = 2 * pow2 (-1000)) by (change 2 with (bpow radix2 1) at 1; rewrite <- bpow_plus; f_equal; lia).
  assert (P1000 := bpow_gt_0 radix2 (-1000)).
  assert (Bw : pow2 (-1000) <= w <= 2 * pow2 700).
  { apply Rabs_le_inv in Ew. assert (e * p <= 1/2 * p) by (apply Rmult_le_compat_r; lra). lra. }
  assert (Hs : stands64 (mul (weight_of (vd_lean_log2_1 float64 (vd_max float64 y (const (Dyadic 1 (-300))))) r)
    (div (const (Dyadic 1 0)) (vd_max float64 y (const (Dyadic 1 (-300)))))) (rnd64 (w * i))).
  { apply mul64; [exact Hw|exact Hi|]. pose proof (bpow_gt_0 radix2 (-11)). rewrite Rabs_pos_eq by (apply Rmult_le_pos; lra).
    apply Rle_trans with (2 * pow2 700 * pow2 301); [apply Rmult_le_compat; lra|].
    change 2 with (bpow radix2 1). rewrite <- !bpow_plus. apply bpow_le. lia. }
  destruct (stands_value _ _ Hw) as [F1 V1]. destruct (stands_value _ _ Hs) as [F2 V2]. rewrite V1, V2.
  split; [exact F1|]. split; [exact Ew|]. split; [exact F2|].
  apply share_error; try assumption; try lra.
- intros BY BX. assert (PY : 0 < Y) by (pose proof (bpow_gt_0 radix2 (-300)); lra).
  rewrite !(selected (const (Dyadic 0 0)) y _ _ 0 Y zero_stands Hy PY).
  destruct (base_small y r Y (val64 r) Hy Hr Br BY BX) as [w [Hw Bw]].
  destruct (stands_value _ _ Hw) as [F1 V1]. rewrite V1. split; [exact F1|exact Bw].
Qed.
