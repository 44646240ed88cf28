(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The lean powers of the fast kernels on Flocq's floating-point numbers: y^r by the lean logarithm and
   exponential; near alpha = 1 of y = 1 - e, where what rounding y has lost joins the logarithm. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary Sterbenz Plus_error.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants enclosure.exp_method enclosure.exp_reduction
  enclosure.exp_float sparse.lean_isa sparse.lean_method sparse.lean_float sparse.lean_power_isa sparse.power_float.
Import ITZ.
Open Scope R_scope.

Local Instance prec64 : Prec_gt_0 53. Proof. reflexivity. Qed.

Lemma rnd64_off x : Rabs (rnd64 x - x) <= u64 * Rabs x + pow2 (-1075).
Proof. apply (summation.nearest_error (-1074) 53). lia. Qed.

Lemma format64 x v : stands64 x v -> generic_format radix2 (FLT_exp (-1074) 53) v.
Proof. exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 x v). Qed.

Lemma exact64 v : generic_format radix2 (FLT_exp (-1074) 53) v -> rnd64 v = v.
Proof. intros F. apply round_generic; [apply valid_rnd_N|exact F]. Qed.

Lemma max64 x y a b : stands64 x a -> stands64 y b -> stands64 (vd_max float64 x y) (Rmax a b).
Proof.
intros Hx Hy. unfold vd_max. assert (S := select_lt64 y x x y _ _ _ _ Hy Hx Hx Hy).
replace (Rmax a b) with (if Rlt_dec b a then a else b); [exact S|].
unfold Rmax. destruct (Rlt_dec b a), (Rle_dec a b); lra.
Qed.

Lemma number64 n e : (Z.abs n <? 2 ^ 53)%Z = true -> (-1074 <=? e)%Z = true -> (e <=? 970)%Z = true ->
  stands64 (const (Dyadic n e)) (IZR n * pow2 e).
Proof. intros H1 H2 H3. exact (const64 (Dyadic n e) H1 H2 H3). Qed.

Lemma exp2_positive x : 0 < exp2 x. Proof. apply exp_pos. Qed.

Lemma exp2_moved w x v d e : Rabs (x - v) <= d -> d <= 1/2 -> 0 <= e -> Rabs (w - exp2 x) <= e * exp2 x ->
  Rabs (w - exp2 v) <= (d + e) * (1 + 2 * d) * exp2 v.
Proof.
intros H D E W. apply exp_moved with (x * ln 2); try assumption.
replace (x * ln 2 - v * ln 2) with ((x - v) * ln 2) by ring. rewrite Rabs_mult.
assert (Q := ln2_range). change (pow2 (-16)) with (/ 65536) in Q. rewrite (Rabs_pos_eq (ln 2)) by lra.
pose proof (Rabs_pos (x - v)). nra.
Qed.

(* How far the computed exponent of 2 may be from V, with a logarithm off by e, relatively. *)
Definition lean_off (e V : R) : R := (e + pow2 (-52)) * Rabs V + pow2 (-70).

(* w against 2^V, V <= 0 *)
Definition lean_power_near (w e V : R) : Prop :=
  (-1000 <= V -> Rabs (w - exp2 V) <= (lean_off e V + dyadic_R LEAN64_EXP2_ERROR) * (1 + 2 * lean_off e V) * exp2 V) /\
  (V < -1000 -> 0 <= w <= pow2 (-999)).

Section Power.
Variables (x r : float64) (X L rho e : R).
Hypothesis Hx : stands64 x X.
Hypothesis Hr : stands64 r rho.
Hypothesis rho_range : 0 <= rho <= pow2 1000.
Hypothesis e_range : 0 <= e <= pow2 (-33).
Hypothesis L_range : -1100 <= L <= 0.
Hypothesis near : Rabs (X - L) <= e * Rabs L + pow2 (-1073).
Let V := rho * L.

Lemma V_negative : V <= 0.
Proof. unfold V. assert (0 <= rho * - L) by (apply Rmult_le_pos; lra). lra. Qed.

Lemma lean_exponent_off : Rabs (rnd64 (rho * X) - V) <= lean_off e V.
Proof.
assert (P1 : pow2 (-33) <= / 65536) by (change (/ 65536) with (pow2 (-16)); apply bpow_le; lia).
assert (UB : pow2 (-52) = 2 * u64) by (change 2 with (pow2 1); rewrite <- bpow_plus; f_equal; ring).
assert (U0 := bpow_gt_0 radix2 (-53)).
assert (U1 : u64 <= / 65536) by (change (/ 65536) with (pow2 (-16)); apply bpow_le; lia).
assert (T : rho * pow2 (-1073) <= pow2 (-73)).
{ apply Rle_trans with (pow2 1000 * pow2 (-1073)); [apply Rmult_le_compat_r; [apply bpow_ge_0|lra]|].
  rewrite <- bpow_plus. apply bpow_le. lia. }
assert (T0 := bpow_ge_0 radix2 (-73)).
assert (T1 : pow2 (-1075) <= pow2 (-73)) by (apply bpow_le; lia).
assert (T2 : pow2 (-70) = 8 * pow2 (-73)) by (change 8 with (pow2 3); rewrite <- bpow_plus; f_equal; ring).
assert (A : Rabs (rho * X - V) <= e * Rabs V + pow2 (-73)).
{ unfold V. replace (rho * X - rho * L) with (rho * (X - L)) by ring. rewrite !Rabs_mult, (Rabs_pos_eq rho) by lra.
  apply Rle_trans with (rho * (e * Rabs L + pow2 (-1073))); [apply Rmult_le_compat_l; lra|]. lra. }
assert (N := rnd64_off (rho * X)). assert (V0 := Rabs_pos V).
assert (S : Rabs (rho * X) <= (1 + e) * Rabs V + pow2 (-73)).
{ replace (rho * X) with ((rho * X - V) + V) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
apply (Rmult_le_compat_l u64) in S; [|lra].
assert (u64 * (e * Rabs V) <= u64 * (1 * Rabs V)) by (apply Rmult_le_compat_l; [lra|]; apply Rmult_le_compat_r; lra).
assert (u64 * pow2 (-73) <= 1 * pow2 (-73)) by (apply Rmult_le_compat_r; lra).
replace (rnd64 (rho * X) - V) with ((rnd64 (rho * X) - rho * X) + (rho * X - V)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. unfold lean_off. rewrite UB, T2. lra.
Qed.

Lemma lean_power_stands : exists w, stands64 (vd_lean_exp2_1 float64 (vd_max float64 (mul r x) (const (Dyadic (-125) 3)))) w /\
  pow2 (-1001) <= w <= 2 /\ lean_power_near w e V.
Proof.
assert (P1 : pow2 (-33) <= / 4194304 * / 2048) by (change (/ 4194304) with (pow2 (-22)); change (/ 2048) with (pow2 (-11)); rewrite <- bpow_plus; apply bpow_le; lia).
assert (U1 : pow2 (-52) <= / 4194304 * / 2048) by (change (/ 4194304) with (pow2 (-22)); change (/ 2048) with (pow2 (-11)); rewrite <- bpow_plus; apply bpow_le; lia).
assert (U2 : 0 < pow2 (-70) <= / 4194304) by (split; [apply bpow_gt_0|change (/ 4194304) with (pow2 (-22)); apply bpow_le; lia]).
assert (U0 := bpow_gt_0 radix2 (-52)).
assert (VN := V_negative). assert (EO := lean_exponent_off). apply Rabs_le_inv in EO as EO'.
assert (EV : Rabs V = - V) by (rewrite Rabs_left1; lra).
assert (Off : lean_off e V <= - V * / 4000 + / 4194304).
{ unfold lean_off. rewrite EV. assert ((e + pow2 (-52)) * - V <= / 4000 * - V) by (apply Rmult_le_compat_r; lra). lra. }
assert (BX : Rabs (rho * X) <= pow2 1023).
{ rewrite Rabs_mult, (Rabs_pos_eq rho) by lra.
  apply Rle_trans with (pow2 1000 * pow2 12); [|rewrite <- bpow_plus; apply bpow_le; lia].
  apply Rmult_le_compat; [lra|apply Rabs_pos|lra|]. change (pow2 12) with 4096.
  assert (Rabs L <= 1100) by (apply Rabs_le; lra).
  assert (e * Rabs L <= 1 * 1100) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
  assert (pow2 (-1073) <= 1) by (apply (bpow_le radix2 _ 0); lia).
  replace X with (L + (X - L)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
assert (Hm := mul64 r x rho X Hr Hx BX).
assert (Hc : stands64 (const (Dyadic (-125) 3)) (-1000)).
{ replace (-1000) with (-125 * pow2 3) by (simpl; lra). apply number64; reflexivity. }
assert (Hz := max64 _ _ _ _ Hm Hc). set (z := rnd64 (rho * X)) in *. set (Z := Rmax z (-1000)) in *.
assert (BZ : -1000 <= Z <= 1) by (unfold Z, Rmax; destruct (Rle_dec z (-1000)); lra).
destruct (lean64_exp2_stands _ Z Hz) as [w [Hw Ew]]; [apply Rabs_le; lra|].
assert (EE : dyadic_R LEAN64_EXP2_ERROR <= / 1024).
{ unfold dyadic_R, LEAN64_EXP2_ERROR; simpl; unfold Z.pow_pos; simpl; lra. }
assert (EP : 0 <= dyadic_R LEAN64_EXP2_ERROR).
{ unfold dyadic_R, LEAN64_EXP2_ERROR; simpl; unfold Z.pow_pos; simpl; lra. }
assert (P0 := exp2_positive Z). apply Rabs_le_inv in Ew as Ew'.
assert (Q : dyadic_R LEAN64_EXP2_ERROR * exp2 Z <= / 1024 * exp2 Z) by (apply Rmult_le_compat_r; lra).
assert (L2 := ln2_positive).
assert (Mono : forall a b, a <= b -> exp2 a <= exp2 b).
{ intros a b H. unfold exp2. destruct H as [H| ->]; [left; apply exp_increasing, Rmult_lt_compat_r; assumption|apply Rle_refl]. }
assert (E0 : forall k, exp2 (IZR k) = pow2 k).
{ intros k. rewrite <- (Rplus_0_r (IZR k)), exp2_whole. unfold exp2. rewrite Rmult_0_l, exp_0. ring. }
exists w. split; [exact Hw|]. split.
- assert (Lo : pow2 (-1000) <= exp2 Z) by (rewrite <- E0; apply Mono; lra).
  assert (Hi : exp2 Z <= 3/2 \/ exp2 Z <= 1).
  { destruct (Rle_lt_dec Z 0) as [S|S].
    - right. rewrite <- (E0 0%Z : exp2 0 = 1). apply Mono, S.
    - left. assert (Z <= 1/2) by (unfold Z, Rmax in *; destruct (Rle_dec z (-1000)); lra).
      apply Rle_trans with (exp2 (1/2)); [apply Mono; lra|]. apply exp2_size. apply Rabs_le. lra. }
  assert (B1 : pow2 (-1000) = 2 * pow2 (-1001)) by (change 2 with (pow2 1); rewrite <- bpow_plus; f_equal; ring).
  split; lra.
- split; intros B.
  + assert (D : Rabs (Z - V) <= lean_off e V) by (apply Rabs_le; unfold Z, Rmax; destruct (Rle_dec z (-1000)); lra).
    apply exp2_moved with Z; [exact D|lra|exact EP|exact Ew].
  + assert (BZ2 : Z <= IZR (-1000) + 1/2).
    { unfold Z, Rmax. destruct (Rle_dec z (-1000)); [lra|]. assert (V + lean_off e V <= -1000 + 1/2); [|lra]. lra. }
    assert (X2 := Mono _ _ BZ2). rewrite exp2_whole in X2.
    assert (S := exp2_size (1/2) ltac:(apply Rabs_le; lra)). fold (exp2 (1/2)) in S.
    assert (P := bpow_gt_0 radix2 (-1000)).
    assert (exp2 (1/2) * pow2 (-1000) <= 3/2 * pow2 (-1000)) by (apply Rmult_le_compat_r; lra).
    assert (B1 : pow2 (-999) = 2 * pow2 (-1000)) by (change 2 with (pow2 1); rewrite <- bpow_plus; f_equal; ring).
    split; lra.
Qed.
End Power.

(* 1/s, and w/s with it *)
Lemma inverse_stands (s : float64) S : stands64 s S -> pow2 (-300) <= S <= 1 ->
  exists v, stands64 (div (const (Dyadic 1 0)) s) v /\ Rabs (v - / S) <= (u64 + pow2 (-1000)) * / S /\ / S <= pow2 300.
Proof.
intros Hs B. assert (P := bpow_gt_0 radix2 (-300)).
assert (I : 1 <= / S <= pow2 300).
{ split; [rewrite <- Rinv_1 at 1; apply Rinv_le; lra|]. change 300%Z with (- -300)%Z. rewrite bpow_opp. apply Rinv_le; lra. }
exists (rnd64 (1 / S)). split; [|split; [|lra]].
- apply div64; [exact one64|exact Hs|lra|]. replace (1 / S) with (/ S) by (field; lra).
  rewrite Rabs_pos_eq by lra. apply Rle_trans with (1 := proj2 I). apply bpow_le. lia.
- assert (N := rnd64_off (1 / S)). replace (1 / S) with (/ S) in * by (field; lra). rewrite (Rabs_pos_eq (/ S)) in N by lra.
  assert (pow2 (-1075) <= pow2 (-1000)) by (apply bpow_le; lia).
  assert (pow2 (-1000) * 1 <= pow2 (-1000) * / S) by (apply Rmult_le_compat_l; [apply bpow_ge_0|lra]). lra.
Qed.

Lemma share_stands (p i : float64) w v S : stands64 p w -> stands64 i v -> pow2 (-1001) <= w <= 2 -> pow2 (-300) <= S <= 1 ->
  Rabs (v - / S) <= (u64 + pow2 (-1000)) * / S -> / S <= pow2 300 ->
  exists h, stands64 (mul p i) h /\ Rabs (h - w / S) <= 3 * u64 * (w / S).
Proof.
intros Hp Hi Bw BS Ev IS. assert (P := bpow_gt_0 radix2 (-300)). assert (PW := bpow_gt_0 radix2 (-1001)).
assert (I : 1 <= / S) by (rewrite <- Rinv_1 at 1; apply Rinv_le; lra).
assert (U0 := bpow_gt_0 radix2 (-53)).
assert (T0 : 0 <= pow2 (-1000) <= / 65536 * u64).
{ split; [apply bpow_ge_0|]. change (/ 65536) with (pow2 (-16)). rewrite <- bpow_plus. apply bpow_le. lia. }
assert (U1 : u64 <= / 65536) by (change (/ 65536) with (pow2 (-16)); apply bpow_le; lia).
assert (A : Rabs (w * v - w / S) <= (u64 + pow2 (-1000)) * (w / S)).
{ replace (w * v - w / S) with (w * (v - / S)) by (field; lra). rewrite Rabs_mult, (Rabs_pos_eq w) by lra.
  replace ((u64 + pow2 (-1000)) * (w / S)) with (w * ((u64 + pow2 (-1000)) * / S)) by (field; lra).
  apply Rmult_le_compat_l; [lra|exact Ev]. }
assert (W : pow2 (-1001) * 1 <= w / S) by (apply Rmult_le_compat; lra).
set (q := w / S) in *.
assert (Z : Rabs (w * v) <= (1 + / 32768) * q).
{ replace (w * v) with ((w * v - q) + q) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_pos_eq q) by lra.
  assert ((u64 + pow2 (-1000)) * q <= / 32768 * q) by (apply Rmult_le_compat_r; lra). lra. }
exists (rnd64 (w * v)). split.
- apply mul64; [exact Hp|exact Hi|]. apply Rle_trans with (1 := Z).
  assert (q <= 2 * pow2 300) by (apply Rmult_le_compat; lra).
  apply Rle_trans with (pow2 2 * pow2 300); [change (pow2 2) with 4; lra|]. rewrite <- bpow_plus. apply bpow_le. lia.
- assert (N := rnd64_off (w * v)). apply (Rmult_le_compat_l u64) in Z; [|lra].
  assert (T : pow2 (-1075) <= / 65536 * u64 * q).
  { apply Rle_trans with (pow2 (-16) * pow2 (-53) * pow2 (-1001)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat; try lra; change (/ 65536) with (pow2 (-16)); try lra. apply Rmult_le_pos; apply bpow_ge_0. }
  replace (rnd64 (w * v) - q) with ((rnd64 (w * v) - w * v) + (w * v - q)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. assert (pow2 (-1000) * q <= / 65536 * u64 * q) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * q) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma select_positive64 (a x : float64) ra rx : stands64 a ra -> stands64 x rx ->
  stands64 (select_lt (const (Dyadic 0 0)) a x (const (Dyadic 0 0))) (if Rlt_dec 0 ra then rx else 0).
Proof.
intros Ha Hx. assert (Z : stands64 (const (Dyadic 0 0)) 0).
{ replace 0 with (0 * pow2 0) by ring. apply number64; reflexivity. }
exact (select_lt64 _ _ _ _ _ _ _ _ Z Ha Hx Z).
Qed.

(* whatever x is, also where it has overflown *)
Lemma select_none64 (a x : float64) ra : stands64 a ra -> ra <= 0 ->
  stands64 (select_lt (const (Dyadic 0 0)) a x (const (Dyadic 0 0))) 0.
Proof.
intros Ha N. assert (Z : stands64 (const (Dyadic 0 0)) 0).
{ replace 0 with (0 * pow2 0) by ring. apply number64; reflexivity. }
assert (L := less_than_R 52 11 eq_refl eq_refl eq_refl nan64 _ _ _ _ Z Ha).
change (stands64 (if less_than 52 11 (@const float64 (Dyadic 0 0)) a then x else @const float64 (Dyadic 0 0)) 0).
destruct (less_than 52 11 (@const float64 (Dyadic 0 0)) a); [|exact Z].
exfalso. apply (Rle_not_lt _ _ N), L. reflexivity.
Qed.

Lemma log2_range s : pow2 (-300) <= s <= 1 -> -1100 <= log2 s <= 0.
Proof.
intros [H1 H2]. assert (L2 := ln2_positive). assert (P := bpow_gt_0 radix2 (-300)). unfold log2, Rdiv.
assert (A : ln s <= 0).
{ rewrite <- ln_1. destruct H2 as [H2| ->]; [left; apply ln_increasing; lra|apply Rle_refl]. }
assert (B : IZR (-300) * ln 2 <= ln s).
{ rewrite <- (ln_exp (IZR (-300) * ln 2)). change (ln 2) with (ln (IZR radix2)). rewrite <- bpow_exp. destruct H1 as [H1| <-]; [left; apply ln_increasing; assumption|apply Rle_refl]. }
split; apply (Rmult_le_reg_r (ln 2)); try exact L2; rewrite ?Rmult_0_l, Rmult_assoc, Rinv_l; lra.
Qed.

Lemma log2_error_range : 0 <= dyadic_R LEAN64_LOG2_ERROR <= pow2 (-35).
Proof. unfold dyadic_R, LEAN64_LOG2_ERROR; simpl; unfold Z.pow_pos; simpl; lra. Qed.

(* The parts that the three ways share: y as rounded, at least 2^-300. *)
Lemma safe_log_stands (y : float64) Y : stands64 y Y -> Y <= 1 ->
  let s := vd_max float64 y (const (Dyadic 1 (-300))) in let S := Rmax Y (pow2 (-300)) in
  stands64 s S /\ pow2 (-300) <= S <= 1 /\
  exists l, stands64 (vd_lean_log2_1 float64 s) l /\ Rabs (l - log2 S) <= dyadic_R LEAN64_LOG2_ERROR * Rabs (log2 S).
Proof.
intros Hy BY s S. assert (Hc : stands64 (const (Dyadic 1 (-300))) (pow2 (-300))).
{ rewrite <- (Rmult_1_l (pow2 (-300))). apply number64; reflexivity. }
assert (P : pow2 (-300) <= 1) by (apply (bpow_le radix2 (-300) 0); lia).
assert (Hs := max64 _ _ _ _ Hy Hc). fold s S in Hs.
assert (BS : pow2 (-300) <= S <= 1) by (unfold S, Rmax; destruct (Rle_dec Y (pow2 (-300))); lra).
split; [exact Hs|]. split; [exact BS|]. apply lean64_log2_stands; [exact Hs|].
apply Rle_trans with (2 := proj1 BS). apply bpow_le. lia.
Qed.

(* The weight w of y as rounded and 1/s, s = max(y, 2^-300). *)
Lemma safe_power_stands (y r : float64) Y rho : stands64 y Y -> Y <= 1 -> stands64 r rho -> 0 <= rho <= pow2 1000 ->
  let s := vd_max float64 y (const (Dyadic 1 (-300))) in let S := Rmax Y (pow2 (-300)) in
  pow2 (-300) <= S <= 1 /\ exists w v,
    stands64 (vd_lean_exp2_1 float64 (vd_max float64 (mul r (vd_lean_log2_1 float64 s)) (const (Dyadic (-125) 3)))) w /\
    pow2 (-1001) <= w <= 2 /\ lean_power_near w (dyadic_R LEAN64_LOG2_ERROR) (rho * log2 S) /\
    stands64 (div (const (Dyadic 1 0)) s) v /\ Rabs (v - / S) <= (u64 + pow2 (-1000)) * / S /\ / S <= pow2 300.
Proof.
intros Hy BY Hr Br s S. destruct (safe_log_stands _ _ Hy BY) as [Hs [BS [l [Hl El]]]].
destruct (inverse_stands _ _ Hs BS) as [v [Hv [Ev IS]]].
assert (R := log2_range _ BS). assert (ER := log2_error_range).
destruct (lean_power_stands _ r l (log2 S) rho (dyadic_R LEAN64_LOG2_ERROR) Hl Hr Br) as [w [Hw [Bw Ew]]].
{ split; [lra|]. apply Rle_trans with (1 := proj2 ER). apply bpow_le. lia. }
{ exact R. }
{ fold S in El. pose proof (bpow_ge_0 radix2 (-1073)). lra. }
split; [exact BS|]. exists w, v. exact (conj Hw (conj Bw (conj Ew (conj Hv (conj Ev IS))))).
Qed.

Section Any.
Variables (u g r : float64) (U G rho : R).
Hypothesis Hu : stands64 u U.
Hypothesis Hg : stands64 g G.
Hypothesis Hr : stands64 r rho.
Hypothesis rho_range : 0 <= rho <= pow2 1000.
Hypothesis U_range : 0 <= U <= 1.
Hypothesis G_range : 0 <= G <= 2.
Let y := rnd64 (U - G).
Let s := Rmax y (pow2 (-300)).

Lemma y_range : y <= 1.
Proof.
apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |lra].
exact (format64 _ _ one64).
Qed.

Lemma lean_any_stands : exists w h, stands64 (fst (lean_any_1 float64 u g r)) w /\ stands64 (snd (lean_any_1 float64 u g r)) h /\
  (y <= 0 -> w = 0 /\ h = 0) /\
  (0 < y -> lean_power_near w (dyadic_R LEAN64_LOG2_ERROR) (rho * log2 s) /\ Rabs (h - w / s) <= 3 * u64 * (w / s)).
Proof.
assert (Hy : stands64 (sub u g) y).
{ apply sub64; [exact Hu|exact Hg|]. apply Rle_trans with 2; [apply Rabs_le; lra|].
  change 2 with (pow2 1). apply bpow_le. lia. }
destruct (safe_power_stands _ _ _ _ Hy y_range Hr rho_range) as [BS [w [v [Hw [Bw [Ew [Hv [Ev IS]]]]]]]].
destruct (share_stands _ _ w v s Hw Hv Bw BS Ev IS) as [h [Hh Eh]].
exists (if Rlt_dec 0 y then w else 0), (if Rlt_dec 0 y then h else 0).
split; [exact (select_positive64 _ _ _ _ Hy Hw)|]. split; [exact (select_positive64 _ _ _ _ Hy Hh)|].
destruct (Rlt_dec 0 y); split; intros Q; try lra. split; [exact Ew|exact Eh].
Qed.
End Any.

Section Near.
Variables (u g r : float64) (U G rho : R).
Hypothesis Hu : stands64 u U.
Hypothesis Hg : stands64 g G.
Hypothesis Hr : stands64 r rho.
Hypothesis rho_range : 0 <= rho <= pow2 1000.
Hypothesis U_range : 0 <= U <= 1.
Hypothesis G_range : 0 <= G <= 2.
Let e := rnd64 (U + G).
Let y := rnd64 (1 - e).
Let s := Rmax y (pow2 (-300)).

Lemma e_range : 0 <= e <= 3.
Proof.
assert (F : forall n, (Z.abs n < 2 ^ 53)%Z -> generic_format radix2 (FLT_exp (-1074) 53) (IZR n)).
{ intros n H. apply format_of_integer; try lia; exact H. }
split.
- apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply (F 0%Z); reflexivity|lra].
- apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply (F 3%Z); reflexivity|lra].
Qed.

Lemma one_format : generic_format radix2 (FLT_exp (-1074) 53) 1.
Proof. exact (format64 _ _ one64). Qed.

Lemma e_format : generic_format radix2 (FLT_exp (-1074) 53) e.
Proof. apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N]. Qed.

Lemma near_y_range : y <= 1.
Proof.
apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact one_format|]. pose proof e_range. lra.
Qed.

Lemma e_stands : stands64 (add u g) e.
Proof.
apply add64; [exact Hu|exact Hg|]. apply Rle_trans with 4; [apply Rabs_le; lra|]. change 4 with (pow2 2). apply bpow_le. lia.
Qed.

Lemma near_y_stands : stands64 (sub (const (Dyadic 1 0)) (add u g)) y.
Proof.
apply sub64; [exact one64|exact e_stands|]. pose proof e_range.
apply Rle_trans with 4; [apply Rabs_le; lra|]. change 4 with (pow2 2). apply bpow_le. lia.
Qed.

Lemma lean_leaner_stands : exists w h, stands64 (fst (lean_leaner_1 float64 u g r)) w /\ stands64 (snd (lean_leaner_1 float64 u g r)) h /\
  (y <= 0 -> w = 0 /\ h = 0) /\
  (0 < y -> lean_power_near w (dyadic_R LEAN64_LOG2_ERROR) (rho * log2 s) /\ Rabs (h - / s) <= (u64 + pow2 (-1000)) * / s).
Proof.
assert (Hy := near_y_stands). destruct (safe_power_stands _ _ _ _ Hy near_y_range Hr rho_range) as [BS [w [v [Hw [Bw [Ew [Hv [Ev IS]]]]]]]].
exists (if Rlt_dec 0 y then w else 0), (if Rlt_dec 0 y then v else 0).
split; [exact (select_positive64 _ _ _ _ Hy Hw)|]. split; [exact (select_positive64 _ _ _ _ Hy Hv)|].
destruct (Rlt_dec 0 y); split; intros Q; try lra. split; [exact Ew|exact Ev].
Qed.

Lemma lean_near_none : y <= 0 -> stands64 (fst (lean_near_1 float64 u g r)) 0 /\ stands64 (snd (lean_near_1 float64 u g r)) 0.
Proof. intros N. split; exact (select_none64 _ _ _ near_y_stands N). Qed.

Lemma inside_of_y : 0 < y -> e < 1.
Proof.
intros P. apply Rnot_le_lt. intros N. apply (Rlt_not_le _ _ P).
apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|lra].
Qed.

(* What rounding y has lost is exact. *)
Hypothesis inside : e < 1.
Let lost := (1 - e) - y.

Lemma y_cases : (e <= 1/2 /\ 1/2 <= y) \/ (1/2 < e /\ y = 1 - e /\ pow2 (-53) <= y).
Proof.
destruct (Rle_lt_dec e (1/2)) as [S|S]; [left|right]; (split; [exact S|]).
- apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |lra].
  replace (1/2) with (bpow radix2 (-1)) by (simpl; lra). apply generic_format_bpow. unfold FLT_exp. lia.
- assert (F : generic_format radix2 (FLT_exp (-1074) 53) (1 - e)).
  { apply sterbenz; [apply FLT_exp_valid; reflexivity|apply FLT_exp_monotone|exact one_format|exact e_format|lra]. }
  assert (E : y = 1 - e) by exact (exact64 _ F). split; [exact E|]. rewrite E.
  destruct (grid_from_one (-1074) 53 ltac:(lia) ltac:(lia) e e_format ltac:(lra)) as [Z|Z]; [lra|].
  rewrite Rabs_left in Z by lra. change (Z.opp 53) with (-53)%Z in Z. lra.
Qed.

Lemma y_least : pow2 (-53) <= y.
Proof.
destruct y_cases as [[_ H]|[_ [_ H]]]; [|exact H]. apply Rle_trans with (2 := H).
replace (1/2) with (pow2 (-1)) by (simpl; lra). apply bpow_le. lia.
Qed.

Lemma one_less_y : rnd64 (1 - y) = 1 - y.
Proof.
apply exact64. destruct y_cases as [[_ H]|[_ [H _]]].
- assert (B := near_y_range).
  apply sterbenz; [apply FLT_exp_valid; reflexivity|apply FLT_exp_monotone|exact one_format| |lra].
  apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N].
- rewrite H. replace (1 - (1 - e)) with e by ring. exact e_format.
Qed.

Lemma lost_exact : rnd64 (1 - y - e) = lost.
Proof.
replace (1 - y - e) with lost by (unfold lost; ring). apply exact64.
assert (F := plus_error radix2 (FLT_exp (-1074) 53) (fun x => negb (Z.even x)) 1 (- e) one_format (generic_format_opp _ _ _ e_format)).
replace lost with (- (rnd64 (1 + - e) - (1 + - e))).
- apply generic_format_opp. exact F.
- unfold lost, y. replace (1 + - e) with (1 - e) by ring. ring.
Qed.

Lemma lost_small : Rabs lost <= pow2 (-52) /\ Rabs lost <= e /\ (1/2 < e -> lost = 0).
Proof.
assert (E := e_range). split; [|split].
- assert (N := rnd64_off (1 - e)). fold y in N. rewrite Rabs_minus_sym in N. fold lost in N.
  assert (Rabs (1 - e) <= 1) by (apply Rabs_le; lra). assert (U0 := bpow_ge_0 radix2 (-53)).
  assert (u64 * Rabs (1 - e) <= u64 * 1) by (apply Rmult_le_compat_l; lra).
  assert (pow2 (-1075) <= u64) by (apply bpow_le; lia).
  assert (pow2 (-52) = 2 * u64) by (change 2 with (pow2 1); rewrite <- bpow_plus; f_equal; ring). lra.
- destruct (round_N_pt radix2 (FLT_exp (-1074) 53) (fun n => negb (Z.even n)) (1 - e)) as [_ N].
  specialize (N 1 one_format). change (Rabs (y - (1 - e)) <= Rabs (1 - (1 - e))) in N.
  replace (1 - (1 - e)) with e in N by ring. rewrite (Rabs_pos_eq e) in N by lra. rewrite Rabs_minus_sym in N. exact N.
- intros S. destruct y_cases as [[H _]|[_ [H _]]]; [lra|]. unfold lost. lra.
Qed.

Let tau := lost / y.

Lemma tau_small : Rabs tau <= pow2 (-51) /\ Rabs tau <= 1001/1000 * e.
Proof.
assert (E := e_range). destruct lost_small as [L1 [L2 L3]]. assert (Y := y_least). assert (P := bpow_gt_0 radix2 (-53)).
assert (UB : pow2 (-51) = 2 * pow2 (-52)) by (change 2 with (pow2 1) at 1; rewrite <- bpow_plus; f_equal; ring).
assert (U0 := bpow_ge_0 radix2 (-52)).
destruct y_cases as [[H1 H2]|[H1 _]].
- unfold tau, Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq y) by lra.
  assert (IY : / y <= 2) by (replace 2 with (/ (1/2)) by field; apply Rinv_le; lra).
  assert (IP : 0 < / y) by (apply Rinv_0_lt_compat; lra). split.
  + rewrite UB, (Rmult_comm 2). apply Rmult_le_compat; try lra. apply Rabs_pos.
  + destruct (Rle_lt_dec (/ 4096) e) as [S|S].
    * apply Rle_trans with (pow2 (-52) * 2); [apply Rmult_le_compat; try lra; apply Rabs_pos|].
      assert (pow2 (-52) <= / 65536) by (change (/ 65536) with (pow2 (-16)); apply bpow_le; lia). lra.
    * assert (Y2 : 1 - / 2048 <= y).
      { assert (Q : pow2 (-52) <= / 4096) by (change (/ 4096) with (pow2 (-12)); apply bpow_le; lia).
        apply Rabs_le_inv in L1. unfold lost in L1. lra. }
      assert (/ y <= 1001/1000) by (replace (1001/1000) with (/ (1000/1001)) by field; apply Rinv_le; lra).
      rewrite Rmult_comm. apply Rmult_le_compat; try lra. apply Rabs_pos.
- unfold tau. rewrite (L3 H1). unfold Rdiv. rewrite Rmult_0_l, Rabs_R0. lra.
Qed.

Lemma split_log2 : log2 (1 - e) = log2 y + log2 (1 + tau).
Proof.
assert (Y := y_least). assert (P := bpow_gt_0 radix2 (-53)). destruct tau_small as [T _]. apply Rabs_le_inv in T.
assert (UB : pow2 (-51) <= / 65536) by (change (/ 65536) with (pow2 (-16)); apply bpow_le; lia).
assert (L2 := ln2_positive).
unfold log2. replace (1 - e) with (y * (1 + tau)) by (unfold tau, lost; field; lra).
rewrite ln_mult by lra. field. lra.
Qed.

(* |ln(1 + t) - t| <= 2 t^2, |t| <= 1/2 *)
Lemma ln_near t : Rabs t <= 1/2 -> Rabs (ln (1 + t) - t) <= 2 * (t * t).
Proof.
intros H. apply Rabs_le_inv in H.
assert (D : forall z, 0 < 1 + z -> ln (1 + z) <= z).
{ intros z Z. rewrite <- (ln_exp z) at 2. destruct (Req_dec z 0) as [->|N].
  - rewrite exp_0, Rplus_0_r. apply Rle_refl.
  - left. apply ln_increasing; [exact Z|]. apply exp_ineq1, N. }
assert (A := D t ltac:(lra)).
assert (B := D (- (t / (1 + t))) ltac:(replace (1 + - (t / (1 + t))) with (/ (1 + t)) by (field; lra); apply Rinv_0_lt_compat; lra)).
replace (1 + - (t / (1 + t))) with (/ (1 + t)) in B by (field; lra). rewrite ln_Rinv in B by lra.
assert (S : t - t / (1 + t) = t * t / (1 + t)) by (field; lra).
assert (Q : t * t / (1 + t) <= t * t * 2).
{ apply Rmult_le_compat_l; [nra|]. replace 2 with (/ (1/2)) by field. apply Rinv_le; lra. }
assert (0 <= t * t) by nra. apply Rabs_le. lra.
Qed.

Lemma log2e_error : Rabs (dyadic_R EXP64_LOG2E - / ln 2) <= pow2 (-53).
Proof. unfold dyadic_R, EXP64_LOG2E; cbv [num expo]. interval with (i_prec 90). Qed.

(* The logarithm with what was lost. *)
Lemma near_log_stands (c l i : float64) X v : stands64 c X -> stands64 l lost -> stands64 i v ->
  Rabs (X - log2 y) <= dyadic_R LEAN64_LOG2_ERROR * Rabs (log2 y) -> Rabs (v - / y) <= (u64 + pow2 (-1000)) * / y -> / y <= pow2 300 ->
  exists z, stands64 (fma (mul l i) (const EXP64_LOG2E) c) z /\
    Rabs (z - log2 (1 - e)) <= pow2 (-34) * Rabs (log2 (1 - e)) + pow2 (-1073).
Proof.
intros Hc Hl Hi EX Ev IY. assert (E := e_range). assert (Y := y_least). assert (Y1 := near_y_range).
assert (P := bpow_gt_0 radix2 (-53)). assert (L2 := ln2_range). change (pow2 (-16)) with (/ 65536) in L2.
destruct tau_small as [T1 T2]. destruct lost_small as [S1 [S2 _]].
assert (U1 : u64 = / 4 * pow2 (-51)) by (change (/ 4) with (pow2 (-2)); rewrite <- bpow_plus; f_equal; ring).
assert (UB : 0 < pow2 (-51) <= / 65536) by (split; [apply bpow_gt_0|change (/ 65536) with (pow2 (-16)); apply bpow_le; lia]).
assert (T0 : 0 <= pow2 (-1000) <= / 65536 * pow2 (-51)).
{ split; [apply bpow_ge_0|]. change (/ 65536) with (pow2 (-16)). rewrite <- bpow_plus. apply bpow_le. lia. }
set (K := dyadic_R EXP64_LOG2E). assert (EK : Rabs (K - / ln 2) <= / 4 * pow2 (-51)) by (rewrite <- U1; exact log2e_error).
assert (BI : 14/10 <= / ln 2 <= 1443/1000).
{ split; [replace (14/10) with (/ (10/14)) by field|replace (1443/1000) with (/ (1000/1443)) by field]; apply Rinv_le; lra. }
assert (BK : 0 <= K <= 3/2) by (apply Rabs_le_inv in EK; lra).
set (t := Rabs tau) in *. assert (t0 : 0 <= t) by apply Rabs_pos.
(* the quotient *)
set (m := rnd64 (lost * v)).
assert (M1 : Rabs (lost * v - tau) <= (u64 + pow2 (-1000)) * t).
{ unfold t, tau. replace (lost * v - lost / y) with (lost * (v - / y)) by (field; lra). unfold Rdiv. rewrite !Rabs_mult, (Rabs_pos_eq (/ y)) by (left; apply Rinv_0_lt_compat; lra).
  replace ((u64 + pow2 (-1000)) * (Rabs lost * / y)) with (Rabs lost * ((u64 + pow2 (-1000)) * / y)) by ring.
  apply Rmult_le_compat_l; [apply Rabs_pos|exact Ev]. }
assert (M2 : Rabs (lost * v) <= 2 * t).
{ replace (lost * v) with ((lost * v - tau) + tau) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold t.
  assert ((u64 + pow2 (-1000)) * t <= 1 * t) by (apply Rmult_le_compat_r; lra). lra. }
assert (M3 : Rabs (m - tau) <= pow2 (-51) * t + pow2 (-1075)).
{ assert (N := rnd64_off (lost * v)). fold m in N. apply (Rmult_le_compat_l u64) in M2; [|lra].
  replace (m - tau) with ((m - lost * v) + (lost * v - tau)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (pow2 (-1000) * t <= / 65536 * pow2 (-51) * t) by (apply Rmult_le_compat_r; lra).
  rewrite U1 in *. assert (0 <= pow2 (-51) * t) by (apply Rmult_le_pos; lra). lra. }
assert (Hm : stands64 (mul l i) m).
{ apply mul64; [exact Hl|exact Hi|]. apply Rle_trans with (1 := M2). apply Rle_trans with 1; [lra|]. apply (bpow_le radix2 0). lia. }
(* the sum *)
set (L := log2 (1 - e)). set (Ly := log2 y) in *. set (Lt := log2 (1 + tau)).
assert (EL : L = Ly + Lt) by exact split_log2.
assert (ET : Rabs (Lt - tau * / ln 2) <= 3 * pow2 (-51) * t).
{ unfold Lt, log2, Rdiv. rewrite <- Rmult_minus_distr_r, Rabs_mult, (Rabs_pos_eq (/ ln 2)) by lra.
  assert (N := ln_near tau ltac:(fold t; lra)).
  apply Rle_trans with (2 * (tau * tau) * (3/2)); [apply Rmult_le_compat; try apply Rabs_pos; lra|].
  replace (tau * tau) with (t * t) by (unfold t; rewrite <- Rabs_mult; apply Rabs_pos_eq; nra).
  assert (t * t <= pow2 (-51) * t) by (apply Rmult_le_compat_r; assumption). lra. }
assert (ES : Rabs (m * K - Lt) <= 6 * pow2 (-51) * t + pow2 (-1074)).
{ assert (A : Rabs (m * K - tau * / ln 2) <= 3 * pow2 (-51) * t + pow2 (-1074)).
  { replace (m * K - tau * / ln 2) with ((m - tau) * K + tau * (K - / ln 2)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult. fold t. rewrite (Rabs_pos_eq K) by lra.
    assert (Q1 : Rabs (m - tau) * K <= (pow2 (-51) * t + pow2 (-1075)) * (3/2)) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
    assert (Q2 : t * Rabs (K - / ln 2) <= t * (/ 4 * pow2 (-51))) by (apply Rmult_le_compat_l; assumption).
    assert (Q3 : pow2 (-1074) = 2 * pow2 (-1075)) by (change 2 with (pow2 1); rewrite <- bpow_plus; f_equal; ring).
    assert (0 <= pow2 (-1075)) by apply bpow_ge_0. assert (0 <= pow2 (-51) * t) by (apply Rmult_le_pos; lra). lra. }
  replace (m * K - Lt) with ((m * K - tau * / ln 2) - (Lt - tau * / ln 2)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. assert (0 <= pow2 (-51) * t) by (apply Rmult_le_pos; lra). lra. }
(* sizes against L, at least e / ln 2 *)
assert (BL : e * / ln 2 <= Rabs L).
{ unfold L, log2, Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ ln 2)) by lra. apply Rmult_le_compat_r; [lra|].
  assert (ln (1 - e) <= - e).
  { rewrite <- (ln_exp (- e)). destruct (Req_dec e 0) as [->|N]; [rewrite Ropp_0, exp_0, Rminus_0_r; apply Rle_refl|].
    left. apply ln_increasing; [lra|]. apply exp_ineq1. lra. }
  rewrite Rabs_left1; lra. }
assert (BT : t <= 4/5 * Rabs L).
{ assert (e * (14/10) <= e * / ln 2) by (apply Rmult_le_compat_l; lra). lra. }
assert (BLt : Rabs Lt <= 15/10 * t).
{ replace Lt with ((Lt - tau * / ln 2) + tau * / ln 2) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite Rabs_mult, (Rabs_pos_eq (/ ln 2)) by lra. fold t.
  assert (t * / ln 2 <= t * (1443/1000)) by (apply Rmult_le_compat_l; lra).
  assert (3 * pow2 (-51) * t <= 3 / 65536 * t) by (apply Rmult_le_compat_r; lra). lra. }
assert (BLy : Rabs Ly <= 22/10 * Rabs L).
{ replace Ly with (L - Lt) by (rewrite EL; ring). eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (EE : 0 <= dyadic_R LEAN64_LOG2_ERROR <= 1375/4000 * pow2 (-34)).
{ unfold dyadic_R, LEAN64_LOG2_ERROR; simpl; unfold Z.pow_pos; simpl; lra. }
assert (U34 : pow2 (-51) = / 131072 * pow2 (-34)) by (change (/ 131072) with (pow2 (-17)); rewrite <- bpow_plus; f_equal; ring).
assert (PL := Rabs_pos L). assert (P34 := bpow_gt_0 radix2 (-34)).
assert (Total : Rabs (m * K + X - L) <= 8/10 * pow2 (-34) * Rabs L + pow2 (-1074)).
{ replace (m * K + X - L) with ((X - Ly) + (m * K - Lt)) by (rewrite EL; ring). eapply Rle_trans; [apply Rabs_triang|].
  assert (Q1 : dyadic_R LEAN64_LOG2_ERROR * Rabs Ly <= 1375/4000 * pow2 (-34) * (22/10 * Rabs L)) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
  assert (Q2 : 6 * pow2 (-51) * t <= 6 * pow2 (-51) * (4/5 * Rabs L)) by (apply Rmult_le_compat_l; lra).
  assert (Q3 : 6 * pow2 (-51) * (4/5 * Rabs L) = 24/5 * / 131072 * (pow2 (-34) * Rabs L)) by (rewrite U34; field).
  assert (0 <= pow2 (-34) * Rabs L) by (apply Rmult_le_pos; lra). lra. }
assert (P34b : pow2 (-34) <= / 65536) by (change (/ 65536) with (pow2 (-16)); apply bpow_le; lia).
assert (Q0 : 0 <= pow2 (-34) * Rabs L <= / 65536 * Rabs L) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (T74 : pow2 (-1074) = 2 * pow2 (-1075)) by (change 2 with (pow2 1); rewrite <- bpow_plus; f_equal; ring).
assert (T73 : pow2 (-1073) = 4 * pow2 (-1075)) by (change 4 with (pow2 2); rewrite <- bpow_plus; f_equal; ring).
assert (T75 : 0 < pow2 (-1075) <= / 65536) by (split; [apply bpow_gt_0|change (/ 65536) with (pow2 (-16)); apply bpow_le; lia]).
assert (Size : Rabs (m * K + X) <= 2 * Rabs L + 2 * pow2 (-1075)).
{ replace (m * K + X) with ((m * K + X - L) + L) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
exists (rnd64 (m * K + X)). split.
- apply fma64; [exact Hm|apply const64; reflexivity|exact Hc|].
  assert (BLu : Rabs L <= 1100).
  { assert (R := log2_range (1 - e)). fold L in R. assert (F : pow2 (-300) <= 1 - e).
    { destruct y_cases as [[C _]|[_ [C _]]]; [|rewrite <- C; apply Rle_trans with (2 := Y); apply bpow_le; lia].
      apply Rle_trans with (pow2 (-1)); [apply bpow_le; lia|]. simpl. lra. }
    apply Rabs_le. lra. }
  apply Rle_trans with (1 := Size). apply Rle_trans with 4096; [lra|]. change 4096 with (pow2 12). apply bpow_le. lia.
- assert (N := rnd64_off (m * K + X)). apply (Rmult_le_compat_l u64) in Size; [|lra].
  assert (u64 * (2 * pow2 (-1075)) <= 1 * pow2 (-1075)).
  { rewrite U1. replace (/ 4 * pow2 (-51) * (2 * pow2 (-1075))) with ((/ 2 * pow2 (-51)) * pow2 (-1075)) by field. apply Rmult_le_compat_r; lra. }
  assert (u64 * (2 * Rabs L) = / 262144 * (pow2 (-34) * Rabs L)) by (rewrite U1, U34; field).
  replace (rnd64 (m * K + X) - L) with ((rnd64 (m * K + X) - (m * K + X)) + (m * K + X - L)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma lean_near_stands : exists w h, stands64 (fst (lean_near_1 float64 u g r)) w /\ stands64 (snd (lean_near_1 float64 u g r)) h /\
  lean_power_near w (pow2 (-34)) (rho * log2 (1 - e)) /\ Rabs (h - / y) <= (u64 + pow2 (-1000)) * / y.
Proof.
assert (Hy := near_y_stands). destruct (safe_log_stands _ _ Hy near_y_range) as [Hs [BS [l [Hl El]]]].
assert (Y := y_least). assert (P := bpow_gt_0 radix2 (-53)). assert (E := e_range).
assert (ES : Rmax y (pow2 (-300)) = y).
{ apply Rmax_left. apply Rle_trans with (2 := Y). apply bpow_le. lia. }
destruct (inverse_stands _ _ Hs BS) as [v [Hv [Ev IS]]].
rewrite ES in Hs, BS, El, Ev, IS.
set (sf := vd_max float64 (sub (const (Dyadic 1 0)) (add u g)) (const (Dyadic 1 (-300)))) in *.
assert (Y1 := near_y_range).
assert (H1 : stands64 (sub (const (Dyadic 1 0)) sf) (1 - y)).
{ rewrite <- one_less_y. apply sub64; [exact one64|exact Hs|]. apply Rle_trans with 1; [apply Rabs_le; lra|]. apply (bpow_le radix2 0). lia. }
assert (H2 : stands64 (sub (sub (const (Dyadic 1 0)) sf) (add u g)) lost).
{ rewrite <- lost_exact. apply sub64; [exact H1|exact e_stands|]. apply Rle_trans with 4; [apply Rabs_le; lra|]. change 4 with (pow2 2). apply bpow_le. lia. }
destruct (near_log_stands _ _ _ l v Hl H2 Hv El Ev IS) as [z [Hz Ez]].
assert (LR : -1100 <= log2 (1 - e) <= 0).
{ apply log2_range. split; [|lra]. destruct y_cases as [[C _]|[_ [C _]]]; [|rewrite <- C; apply Rle_trans with (2 := Y); apply bpow_le; lia].
  apply Rle_trans with (pow2 (-1)); [apply bpow_le; lia|]. simpl. lra. }
destruct (lean_power_stands _ r z (log2 (1 - e)) rho (pow2 (-34)) Hz Hr rho_range) as [w [Hw [Bw Ew]]].
{ split; [apply bpow_ge_0|apply bpow_le; lia]. }
{ exact LR. }
{ exact Ez. }
exists w, v.
assert (Sw := select_positive64 _ _ _ _ Hy Hw). assert (Sv := select_positive64 _ _ _ _ Hy Hv).
fold y in Sw, Sv. destruct (Rlt_dec 0 y); [|lra].
split; [exact Sw|]. split; [exact Sv|]. split; [exact Ew|exact Ev].
Qed.
End Near.

(* Two vectors at a time are each as one. *)
Lemma lean_powers_of_two (o : ops) (u g1 g2 r : o) :
  lean_any_2 o u g1 g2 r = (fst (lean_any_1 o u g1 r), fst (lean_any_1 o u g2 r), snd (lean_any_1 o u g1 r), snd (lean_any_1 o u g2 r)) /\
  lean_near_2 o u g1 g2 r = (fst (lean_near_1 o u g1 r), fst (lean_near_1 o u g2 r), snd (lean_near_1 o u g1 r), snd (lean_near_1 o u g2 r)) /\
  lean_leaner_2 o u g1 g2 r = (fst (lean_leaner_1 o u g1 r), fst (lean_leaner_1 o u g2 r), snd (lean_leaner_1 o u g1 r), snd (lean_leaner_1 o u g2 r)).
Proof. repeat split. Qed.

(* A weight and the share beside it, as computed: both finite. *)
Definition pair64 (p : float64 * float64) (w h : R) : Prop := stands64 (fst p) w /\ stands64 (snd p) h.

(** theorem: lean_power_error — the weights of the fast kernels in float64 by lean powers, of u in [0, 1], a gap in [0, 2] and 0 <= r <= 2^1000, on every instruction set: with y = u - gap as rounded (POWER_ANY), s = max(y, 2^-300) and V = r log2 s, or y = 1 - e as rounded, e = u + gap as rounded (POWER_NEAR) and V = r log2 s where leaner, r log2(1 - e) else, the weight is finite, 0 for y <= 0, and otherwise within (off + LEAN64_EXP2_ERROR)(1 + 2 off) of 2^V, relatively, with off = (E + 2^-52)|V| + 2^-70, E = LEAN64_LOG2_ERROR or, with what rounding y has lost, 2^-34; where V < -1000 it is in [0, 2^-999]. The share beside it is finite, 0 for y <= 0, and otherwise within 3u of w / s, or u(1 + 2^-900) of 1 / s. Two vectors at a time are each as one. used by: src/sparse/power_isa.h, src/sparse/solve_isa.c *)
Theorem lean_power_error u g r : fin64 u = true -> fin64 g = true -> fin64 r = true ->
  0 <= val64 u <= 1 -> 0 <= val64 g <= 2 -> 0 <= val64 r <= pow2 1000 ->
  (let y := rnd64 (val64 u - val64 g) in let s := Rmax y (pow2 (-300)) in
   exists w h, pair64 (lean_any_1 float64 u g r) w h /\ (y <= 0 -> w = 0 /\ h = 0) /\
   (0 < y -> lean_power_near w (dyadic_R LEAN64_LOG2_ERROR) (val64 r * log2 s) /\ Rabs (h - w / s) <= 3 * u64 * (w / s))) /\
  (let e := rnd64 (val64 u + val64 g) in let y := rnd64 (1 - e) in let s := Rmax y (pow2 (-300)) in
   exists w h, pair64 (lean_leaner_1 float64 u g r) w h /\ (y <= 0 -> w = 0 /\ h = 0) /\
   (0 < y -> lean_power_near w (dyadic_R LEAN64_LOG2_ERROR) (val64 r * log2 s) /\ Rabs (h - / s) <= (u64 + pow2 (-1000)) * / s)) /\
  (let e := rnd64 (val64 u + val64 g) in let y := rnd64 (1 - e) in
   exists w h, pair64 (lean_near_1 float64 u g r) w h /\ (y <= 0 -> w = 0 /\ h = 0) /\
   (0 < y -> lean_power_near w (pow2 (-34)) (val64 r * log2 (1 - e)) /\ Rabs (h - / y) <= (u64 + pow2 (-1000)) * / y)) /\
  (forall g2 : float64,
   lean_any_2 float64 u g g2 r = (fst (lean_any_1 float64 u g r), fst (lean_any_1 float64 u g2 r), snd (lean_any_1 float64 u g r), snd (lean_any_1 float64 u g2 r)) /\
   lean_near_2 float64 u g g2 r = (fst (lean_near_1 float64 u g r), fst (lean_near_1 float64 u g2 r), snd (lean_near_1 float64 u g r), snd (lean_near_1 float64 u g2 r)) /\
   lean_leaner_2 float64 u g g2 r = (fst (lean_leaner_1 float64 u g r), fst (lean_leaner_1 float64 u g2 r), snd (lean_leaner_1 float64 u g r), snd (lean_leaner_1 float64 u g2 r))).
Proof.
intros Fu Fg Fr Bu Bg Br.
assert (Hu : stands64 u (val64 u)) by (split; [exact Fu|reflexivity]).
assert (Hg : stands64 g (val64 g)) by (split; [exact Fg|reflexivity]).
assert (Hr : stands64 r (val64 r)) by (split; [exact Fr|reflexivity]).
split; [|split; [|split]].
- destruct (lean_any_stands u g r _ _ _ Hu Hg Hr Br Bu Bg) as [w [h [Sw [Sh H]]]].
  exists w, h. split; [exact (conj Sw Sh)|exact H].
- destruct (lean_leaner_stands u g r _ _ _ Hu Hg Hr Br Bu Bg) as [w [h [Sw [Sh H]]]].
  exists w, h. split; [exact (conj Sw Sh)|exact H].
- intros e y. destruct (Rle_lt_dec y 0) as [N|P].
  + exists 0, 0. split; [exact (lean_near_none u g r _ _ Hu Hg Bu Bg N)|]. split; [intros; split; reflexivity|intros; lra].
  + assert (I : e < 1) by exact (inside_of_y _ _ P).
    destruct (lean_near_stands u g r _ _ _ Hu Hg Hr Br Bu Bg I) as [w [h [Sw [Sh H]]]].
    exists w, h. split; [exact (conj Sw Sh)|]. split; [intros; lra|intros; exact H].
- intros g2. exact (lean_powers_of_two float64 u g g2 r).
Qed.
