(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The logarithm on Flocq's floating-point numbers: the rounding of its polynomial, no overflow, and the
   error that src/enclosure/exp.h states. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary.
From Gappa Require Import Gappa_tactic.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants enclosure.log_isa
  enclosure.exp_method enclosure.exp_reduction enclosure.exp_float enclosure.log_method.
Open Scope R_scope.

Ltac open_log := unfold log_poly, vd_log_fraction, vd_log_series, real64, exact, rnd64;
  cbv [real_ops carrier const fma add sub mul div]; log_numbers; rewrite ?Rmult_1_r.

Notation log_z f := (rnd64 (rnd64 (f - 1) / rnd64 (f + 1))).

Lemma log_rounding f : f64 f -> log_range f -> Rabs (vd_log_fraction real64 f - log_poly f) <= 3 * pow2 (-53).
Proof. intros F H. open_log. gappa. Qed.

Lemma log_z_small f : f64 f -> log_range f -> Rabs (log_z f) <= 1/4.
Proof. intros F H. unfold rnd64. gappa. Qed.

Lemma log_size f : f64 f -> log_range f -> Rabs (vd_log_fraction real64 f) <= 1/2.
Proof. intros F H. open_log. gappa. Qed.

Ltac log_constant := split; [apply const64; reflexivity|
  cbv [real64 real_ops const]; apply Rabs_le; log_numbers; simpl; lra].

Lemma rnd64_within x k : (-1000 <= k <= 1000)%Z -> Rabs x <= bpow radix2 k -> Rabs (rnd64 x) <= bpow radix2 k.
Proof.
intros K H. apply abs_round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact H].
apply generic_format_bpow. unfold FLT_exp. lia.
Qed.

Lemma below_most x : Rabs x <= 4 -> Rabs x <= bpow radix2 1023.
Proof. intros H. apply Rle_trans with (1 := H). change 4 with (bpow radix2 2). apply bpow_le. lia. Qed.

Lemma log_series_stands zf z : stands64 zf z -> Rabs z <= 1/4 ->
  stands64 (vd_log_series float64 zf) (vd_log_series real64 z).
Proof.
intros Z Bz. assert (Bzz : Rabs (z * z) <= bpow radix2 (-4)).
{ rewrite Rabs_mult. replace (bpow radix2 (-4)) with (1/4 * (1/4)) by (simpl; lra). apply Rmult_le_compat; auto using Rabs_pos. }
assert (Bzz' := rnd64_within (z * z) (-4) ltac:(lia) Bzz).
assert (Z2 : stands64 (mul zf zf) (@mul real64 z z) /\ Rabs (@mul real64 z z) <= 1/2).
{ split; [apply mul64; try assumption; apply below_most; simpl in Bzz; lra|].
  change (Rabs (rnd64 (z * z)) <= 1/2). simpl in Bzz'. lra. }
unfold vd_log_series. cbv zeta.
match goal with |- stands64 (add (fma ?p ?s ?q) _) (add (fma ?P ?S ?Q) _) =>
  assert (HS : stands64 s S /\ Rabs S <= 2) by
    (repeat (apply horner64; [|exact Z2|log_constant]); split; [apply const64; reflexivity|
      cbv [real64 real_ops const]; apply Rabs_le; log_numbers; simpl; lra]);
  set (sf := s) in *; set (sr := S) in * end.
assert (Bt : Rabs (z * rnd64 (z * z)) <= bpow radix2 (-6)).
{ rewrite Rabs_mult. replace (bpow radix2 (-6)) with (1/4 * bpow radix2 (-4)) by (simpl; lra).
  apply Rmult_le_compat; auto using Rabs_pos. }
assert (T : stands64 (mul zf (mul zf zf)) (@mul real64 z (@mul real64 z z))).
{ apply mul64; [exact Z|apply Z2|]. apply below_most. simpl in Bt. change (@mul real64 z z) with (rnd64 (z * z)). lra. }
assert (Bt' := rnd64_within _ (-6) ltac:(lia) Bt). change (rnd64 (z * rnd64 (z * z))) with (@mul real64 z (@mul real64 z z)) in Bt'.
destruct HS as [HS BS].
assert (Bf : Rabs (@mul real64 z (@mul real64 z z) * sr + z) <= 1).
{ eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  assert (Rabs (@mul real64 z (@mul real64 z z)) * Rabs sr <= bpow radix2 (-6) * 2) by (apply Rmult_le_compat; auto using Rabs_pos).
  change (bpow radix2 (-6)) with (/ 64) in H. lra. }
assert (Y : stands64 (fma (mul zf (mul zf zf)) sf zf) (@fma real64 (@mul real64 z (@mul real64 z z)) sr z)).
{ apply fma64; try assumption. apply below_most. lra. }
apply add64; [exact Y|exact Y|]. apply below_most.
assert (By := rnd64_within _ 0 ltac:(lia) Bf). change (rnd64 (@mul real64 z (@mul real64 z z) * sr + z)) with (@fma real64 (@mul real64 z (@mul real64 z z)) sr z) in By.
change (bpow radix2 0) with 1 in By. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma log_fraction_stands y a : stands64 y a -> log_range a ->
  stands64 (vd_log_fraction float64 y) (vd_log_fraction real64 a).
Proof.
intros Hy Ha. assert (Fa : f64 a) by exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 y a Hy).
assert (Bz := log_z_small a Fa Ha).
assert (One : stands64 (const (Dyadic 1 0)) 1).
{ replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring). apply const64; reflexivity. }
assert (E1 : @const real64 (Dyadic 1 0) = 1) by (simpl; unfold dyadic_R; simpl; ring).
assert (A : 7/10 <= a <= 3/2) by (simpl in Ha; lra).
assert (Hp : 1 <= rnd64 (a + 1)).
{ apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |lra].
  change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp. lia. }
unfold vd_log_fraction. rewrite E1. apply log_series_stands; [|exact Bz].
apply (div64 _ _ (rnd64 (a - 1)) (rnd64 (a + 1))).
{ apply sub64; [assumption|assumption|apply below_most, Rabs_le; lra]. }
{ apply add64; [assumption|assumption|apply below_most, Rabs_le; lra]. }
{ apply Rgt_not_eq; lra. }
apply Rle_trans with (Rabs (rnd64 (a - 1))); [|apply below_most].
- unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (rnd64 (a + 1))) by lra.
  rewrite <- (Rmult_1_r (Rabs (rnd64 (a - 1)))) at 2. apply Rmult_le_compat_l; [apply Rabs_pos|].
  apply Rle_trans with (/ 1); [apply Rinv_le|]; lra.
- change 4 with (bpow radix2 2). apply rnd64_within; [lia|]. simpl. apply Rabs_le. lra.
Qed.

(* what the kernel computes: v = 2^k f, log f to begin with *)
Lemma log64_parts x v : stands64 x v -> pow2 (-1022) <= v ->
  let root := dyadic_R LOG64_ROOT in
  exists k f, v = f * bpow radix2 k /\ root <= f < 2 * root /\ log_range f /\ f64 f /\ Rabs (IZR k) <= 1025 /\
    stands64 (exponent x (const LOG64_ROOT) (const EXP64_ROUND)) (IZR k) /\
    stands64 (vd_log_fraction float64 (fraction x (const LOG64_ROOT))) (vd_log_fraction real64 f).
Proof.
intros Hx Nv root.
assert (Br : 1/2 <= root < 1) by (unfold root; log_numbers; simpl; lra).
assert (Hr : stands64 (const LOG64_ROOT) root) by (apply const64; reflexivity).
assert (Ec : dyadic_R EXP64_ROUND = IZR (3 * 2 ^ 51)) by (numbers; simpl; lra).
assert (Hc : stands64 (const EXP64_ROUND) (IZR (3 * 2 ^ 51))) by (rewrite <- Ec; apply const64; reflexivity).
destruct (fraction64 x (const LOG64_ROOT) v root Hx Hr Nv Br) as [Hf Bf].
assert (Hn := exponent64 x (const LOG64_ROOT) (const EXP64_ROUND) v root Hx Hr Hc Nv Br).
change (@exponent real64 v root (IZR (3 * 2 ^ 51))) with (IZR (binade v root)) in Hn.
change (@fraction real64 v root) with (v * bpow radix2 (- binade v root)) in Hf, Bf.
set (k := binade v root) in *. set (f := v * bpow radix2 (- k)) in *.
assert (Ev : v = f * bpow radix2 k).
{ unfold f. rewrite Rmult_assoc, <- bpow_plus. replace (- k + k)%Z with 0%Z by ring. simpl. ring. }
assert (Ha : log_range f) by (clear - Bf; clearbody f; unfold root in Bf; log_numbers; simpl in *; lra).
assert (Pf : 7/10 <= f <= 3/2) by (simpl in Ha; lra).
assert (Ff : f64 f) by exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 _ f Hf).
assert (Uv : v < bpow radix2 1024).
{ destruct Hx as [_ <-]. apply Rle_lt_trans with (1 := Rle_abs _). exact (abs_B2R_lt_emax 53 1024 x). }
assert (Bk : (Z.abs k <= 1025)%Z).
{ assert (P := bpow_gt_0 radix2 k). rewrite Ev in Nv, Uv.
  assert (bpow radix2 k < bpow radix2 1025).
  { change 1025%Z with (1 + 1024)%Z. rewrite bpow_plus. simpl (bpow radix2 1).
    assert (7/10 * bpow radix2 k <= f * bpow radix2 k) by (apply Rmult_le_compat_r; lra). lra. }
  apply lt_bpow in H.
  assert (bpow radix2 (-1024) < bpow radix2 k).
  { assert (f * bpow radix2 k <= 3/2 * bpow radix2 k) by (apply Rmult_le_compat_r; lra).
    assert (bpow radix2 (-1022) = 4 * bpow radix2 (-1024)) by (change 4 with (bpow radix2 2); rewrite <- bpow_plus; reflexivity).
    pose proof (bpow_gt_0 radix2 (-1024)). lra. }
  apply lt_bpow in H0. lia. }
assert (Bkr : Rabs (IZR k) <= 1025) by (rewrite <- abs_IZR; apply IZR_le, Bk).
exists k, f. repeat (split; [assumption|]). exact (log_fraction_stands _ f Hf Ha).
Qed.

Lemma log64_stands x v : stands64 x v -> pow2 (-1022) <= v ->
  exists y, stands64 (vd_log float64 x) y /\ Rabs (y - ln v) <= pow2 (-51) * (1 + Rabs (ln v)).
Proof.
intros Hx Nv. destruct (log64_parts x v Hx Nv) as [k [f [Ev [_ [Ha [Ff [Bkr [Hn Hl]]]]]]]].
assert (Bl := log_size f Ff Ha). assert (Pf : 7/10 <= f <= 3/2) by (simpl in Ha; lra).
assert (R1 := log_rounding f Ff Ha). assert (R2 := log_method f Ha).
set (l := vd_log_fraction real64 f) in *.
set (LO := dyadic_R EXP64_LN2_LO). set (HI := dyadic_R EXP64_LN2_HI).
assert (BLO : Rabs (IZR k * LO) <= / 1000000).
{ rewrite Rabs_mult. apply Rle_trans with (1025 * / 10000000000); [|lra].
  apply Rmult_le_compat; try apply Rabs_pos; [exact Bkr|]. unfold LO. log_numbers. simpl. apply Rabs_le. lra. }
assert (BQ : Rabs (IZR k * LO + l) <= 51/100) by (eapply Rle_trans; [apply Rabs_triang|]; lra).
set (low := rnd64 (IZR k * LO + l)).
assert (Hlow : stands64 (fma (exponent x (const LOG64_ROOT) (const EXP64_ROUND)) (const EXP64_LN2_LO)
  (vd_log_fraction float64 (fraction x (const LOG64_ROOT)))) low).
{ apply fma64; [exact Hn|apply const64; reflexivity|exact Hl|apply below_most; fold LO; lra]. }
assert (Blow : Rabs low <= 1) by (apply (rnd64_within _ 0 ltac:(lia)); simpl; lra).
assert (BHI : Rabs (IZR k * HI) <= 1025).
{ rewrite Rabs_mult. replace 1025 with (1025 * 1) at 1 by ring. apply Rmult_le_compat; try apply Rabs_pos; [exact Bkr|].
  unfold HI. log_numbers. simpl. apply Rabs_le. lra. }
set (Y := IZR k * HI + low).
exists (rnd64 Y). split.
{ apply fma64; [exact Hn|apply const64; reflexivity|exact Hlow|]. fold HI. fold Y.
  apply Rle_trans with 2048; [unfold Y; eapply Rle_trans; [apply Rabs_triang|]; lra|].
  change 2048 with (bpow radix2 11). apply bpow_le. lia. }
assert (El : ln v = IZR k * ln 2 + ln f).
{ rewrite Ev, ln_mult by (try lra; apply bpow_gt_0). rewrite Rplus_comm. f_equal.
  rewrite bpow_exp, ln_exp. simpl. reflexivity. }
assert (N : forall z, Rabs (rnd64 z - z) <= pow2 (-53) * Rabs z + pow2 (-1075)).
{ intros z. apply (summation.nearest_error (-1074) 53). lia. }
assert (N1 := N (IZR k * LO + l)). fold low in N1. assert (N2 := N Y).
assert (S2 : Rabs (IZR k * (HI + LO - ln 2)) <= pow2 (-78)).
{ rewrite Rabs_mult. apply Rle_trans with (bpow radix2 11 * pow2 (-89)); [|rewrite <- bpow_plus; apply bpow_le; lia].
  apply Rmult_le_compat; try apply Rabs_pos; [simpl; lra|].
  pose proof ln2_split64 as L. rewrite Rabs_minus_sym, Rmult_1_l in L. exact L. }
set (u := pow2 (-53)) in *.
assert (E56 : pow2 (-56) = u / 8) by (unfold u; change (-56)%Z with (-53 + -3)%Z; rewrite bpow_plus; simpl (bpow radix2 (-3)); lra).
assert (E78 : pow2 (-78) <= u / 1000).
{ unfold u. change (-78)%Z with (-53 + -25)%Z. rewrite bpow_plus. apply Rmult_le_compat_l; [apply bpow_ge_0|simpl; lra]. }
assert (Et : pow2 (-1075) <= u / 1000).
{ unfold u. apply Rle_trans with (pow2 (-53 + -25)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_l; [apply bpow_ge_0|simpl; lra]. }
assert (E51 : pow2 (-51) = 4 * u) by (unfold u; change (-51)%Z with (-53 + 2)%Z; rewrite bpow_plus; simpl (bpow radix2 2); lra).
assert (Pu : 0 <= u <= / 1000000) by (unfold u; simpl; lra).
assert (D : Rabs (Y - ln v) <= 37/10 * u).
{ replace (Y - ln v) with ((low - (IZR k * LO + l)) + IZR k * (HI + LO - ln 2) + (l - log_poly f) + (log_poly f - ln f))
    by (unfold Y; rewrite El; ring).
  assert (A : forall a b c d, Rabs (a + b + c + d) <= Rabs a + Rabs b + Rabs c + Rabs d).
  { intros. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r, Rabs_triang. }
  eapply Rle_trans; [apply A|].
  assert (u * Rabs (IZR k * LO + l) <= u * (51/100)) by (apply Rmult_le_compat_l; lra). lra. }
assert (YB : Rabs Y <= Rabs (ln v) + 37/10 * u).
{ replace Y with (ln v + (Y - ln v)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
apply (Rmult_le_compat_l u) in YB; [|lra].
replace (rnd64 Y - ln v) with ((rnd64 Y - Y) + (Y - ln v)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. rewrite E51.
assert (u * u <= / 1000000 * u) by (apply Rmult_le_compat_r; lra).
assert (0 <= u * Rabs (ln v)) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra.
Qed.

(** theorem: log64_error — vd_log, the logarithm of every instruction set and of log64, of a finite normal x > 0 is finite and within 2^-51 (1 + |log x|) of log x. used by: src/enclosure/log_isa.h, src/softmax/enclose.c, src/sparse/line.c *)
Theorem log64_error x : fin64 x = true -> pow2 (-1022) <= val64 x ->
  fin64 (vd_log float64 x) = true /\
  Rabs (val64 (vd_log float64 x) - ln (val64 x)) <= pow2 (-51) * (1 + Rabs (ln (val64 x))).
Proof.
intros Fx Nx. destruct (log64_stands x (val64 x) (conj Fx eq_refl) Nx) as [y [[F E] H]].
split; [exact F|]. change (val64 (vd_log float64 x) = y) in E. rewrite E. exact H.
Qed.
