(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Error measures of one element in double, src/enclosure/measure.c and interval.h: the distance of a
   double from a number that is known to a radius, divided by a scale that is known to two bounds. *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core Plus_error.
From Flocq Require Pff2Flocq.
From Attest Require Import problem.row enclosure.summation.
Open Scope R_scope.
Notation pow2 := (bpow radix2).
Notation fexp64 := (FLT_exp (-1074) 53).
Notation rnd64 := (nearest (-1074) 53).
Notation double := (generic_format radix2 fexp64).

#[local] Instance positive53 : Prec_gt_0 53 := eq_refl.
#[local] Instance valid64 : Valid_exp fexp64. Proof. apply FLT_exp_valid. reflexivity. Qed.
#[local] Instance monotone64 : Monotone_exp fexp64. Proof. apply FLT_exp_monotone. Qed.

Lemma rnd64_double x : double (rnd64 x).
Proof. apply generic_format_round; [exact valid64|apply valid_rnd_N]. Qed.

(* enclosure_up, enclosure_down: the next double *)
Definition up x := succ radix2 fexp64 x.
Definition down x := pred radix2 fexp64 x.

Lemma up_above x : x <= up (rnd64 x).
Proof. apply (succ_round_ge_id radix2 fexp64 ZnearestE). Qed.
Lemma down_below x : down (rnd64 x) <= x.
Proof. apply (pred_round_le_id radix2 fexp64 ZnearestE). Qed.

(* Products and quotients of numbers that are not negative; a zero stays one. *)
Definition mul_up a b := if Req_EM_T (a * b) 0 then 0 else up (rnd64 (a * b)).
Definition mul_down a b := if Req_EM_T (rnd64 (a * b)) 0 then 0 else down (rnd64 (a * b)).
Definition div_up a b := if Req_EM_T a 0 then 0 else up (rnd64 (a / b)).
Definition div_down a b := if Req_EM_T (rnd64 (a / b)) 0 then 0 else down (rnd64 (a / b)).
Lemma mul_up_above a b : a * b <= mul_up a b.
Proof. unfold mul_up. destruct Req_EM_T as [E|E]; [lra|apply up_above]. Qed.
Lemma mul_down_below a b : 0 <= a -> 0 <= b -> mul_down a b <= a * b.
Proof. intros A B. unfold mul_down. destruct Req_EM_T as [E|E]; [apply Rmult_le_pos; assumption|apply down_below]. Qed.
Lemma div_up_above a b : 0 < b -> a / b <= div_up a b.
Proof. intros B. unfold div_up. destruct Req_EM_T as [E|E]; [rewrite E; unfold Rdiv; lra|apply up_above]. Qed.
Lemma div_down_below a b : 0 <= a -> 0 < b -> div_down a b <= a / b.
Proof.
intros A B. unfold div_down. destruct Req_EM_T as [E|E]; [|apply down_below].
apply Rmult_le_pos; [exact A|left; apply Rinv_0_lt_compat, B].
Qed.
(* Sums: the rounded one where it is exact or lies on the right side, else the next; s with its error e = a + b - s *)
Definition add_up a b := let s := rnd64 (a + b) in if Rlt_dec 0 (a + b - s) then up s else s.
Definition add_down a b := - add_up (- a) (- b).
Lemma add_up_above a b : a + b <= add_up a b.
Proof. unfold add_up. cbv zeta. destruct Rlt_dec as [L|L]; [apply up_above|lra]. Qed.
Lemma add_down_below a b : add_down a b <= a + b.
Proof. unfold add_down. pose proof (add_up_above (- a) (- b)). lra. Qed.

(* enclosure_sum_error: Knuth's TwoSum, with b_part = s - a *)
Definition sum_error a b := let s := rnd64 (a + b) in let part := rnd64 (s - a) in
  rnd64 (rnd64 (a - rnd64 (s - part)) + rnd64 (b - part)).
Lemma sum_error_exact a b : double a -> double b -> rnd64 (a + b) + sum_error a b = a + b.
Proof.
intros A B. refine (Pff2Flocq.TwoSum_correct (-1074) 53 (fun x => negb (Z.even x)) eq_refl ltac:(lia) _ a b A B).
intros x. rewrite Z.even_opp, Z.even_add. destruct (Z.even x); reflexivity.
Qed.

Section Distance.
Variables (got mid rad : R).
Hypothesis doubles : double got /\ double mid /\ double rad /\ 0 <= rad.
Let r := rnd64 (got - mid).
Let s := Rabs r.
(* |got - mid| = s + e *)
Let e := (if Rlt_dec r 0 then -1 else 1) * sum_error got (- mid).

Lemma distance_exact : Rabs (got - mid) = s + e.
Proof.
destruct doubles as [Dg [Dm _]]. assert (X := sum_error_exact got (- mid) Dg ltac:(apply generic_format_opp, Dm)).
change (got + - mid) with (got - mid) in X. fold r in X. unfold s, e.
destruct (Req_dec r 0) as [Z|Z].
- assert (E0 : got + - mid = 0).
  { apply (round_plus_eq_0 radix2 fexp64 ZnearestE); [exact Dg|apply generic_format_opp, Dm|exact Z]. }
  assert (Ex : sum_error got (- mid) = 0) by lra. rewrite Ex, Z. replace (got - mid) with 0 by lra. rewrite !Rabs_R0. ring.
- destruct (Rle_lt_dec 0 (got - mid)) as [P|P].
  + assert (0 <= r) by (apply round_ge_generic; [exact valid64|apply valid_rnd_N|apply generic_format_0|exact P]).
    destruct Rlt_dec; [lra|]. rewrite (Rabs_pos_eq r), Rabs_pos_eq by assumption. lra.
  + assert (r <= 0) by (apply round_le_generic; [exact valid64|apply valid_rnd_N|apply generic_format_0|lra]).
    destruct Rlt_dec; [|lra]. rewrite (Rabs_left r), Rabs_left by lra. lra.
Qed.

Lemma s_double : double s. Proof. apply generic_format_abs, rnd64_double. Qed.

Lemma error_small : Rabs e <= / 2 * ulp radix2 fexp64 s.
Proof.
assert (E : e = Rabs (got - mid) - s) by (pose proof distance_exact; lra). rewrite E. unfold s. rewrite ulp_abs.
eapply Rle_trans; [apply Rabs_triang_inv2|]. rewrite Rabs_minus_sym. apply error_le_half_ulp_round; [exact valid64|exact monotone64].
Qed.

(* measure_abs *)
Definition abs_lo := let low := rnd64 (s - up (rnd64 (rad - e))) in if Rlt_dec 0 low then down low else 0.
Definition abs_hi := up (rnd64 (s + rnd64 (rad + e))).

Lemma sum_above : s + e + rad <= abs_hi.
Proof.
assert (Ps : 0 <= s) by apply Rabs_pos. destruct doubles as [Dg [Dm [Dr Pr]]]. pose proof error_small as He. pose proof s_double as Ds.
unfold abs_hi, up. set (z := rnd64 (rad + e)). set (h := rnd64 (s + z)).
assert (Dz : double z) by apply rnd64_double. assert (Dh : double h) by apply rnd64_double.
assert (E1 : Rabs (z - (rad + e)) <= / 2 * ulp radix2 fexp64 z) by (apply error_le_half_ulp_round; [exact valid64|exact monotone64]).
assert (E2 : Rabs (h - (s + z)) <= / 2 * ulp radix2 fexp64 h) by (apply error_le_half_ulp_round; [exact valid64|exact monotone64]).
assert (N : forall x y, double x -> x <= y -> x <= rnd64 y).
{ intros x y Dx L. apply round_ge_generic; [exact valid64|apply valid_rnd_N|exact Dx|exact L]. }
assert (Hz : Rabs z <= h /\ 0 <= h).
{ destruct (Rle_lt_dec 0 z) as [Z|Z].
  - rewrite Rabs_pos_eq by exact Z. assert (z <= h) by (apply N; [exact Dz|lra]). lra.
  - (* z is negative only where the rounding error of s is, and then s is no subnormal *)
    assert (Ne : e < 0).
    { destruct (Rle_lt_dec 0 e) as [L|L]; [exfalso|exact L]. assert (0 <= z) by (apply N; [apply generic_format_0|lra]). lra. }
    assert (Big : pow2 (-1021) < s).
    { destruct (Rle_lt_dec s (pow2 (-1021))) as [L|L]; [exfalso|exact L].
      assert (Dd : double (got + - mid)).
      { apply (FLT_format_plus_small radix2 (-1074) 53); [exact Dg|apply generic_format_opp, Dm|].
        destruct (Rle_lt_dec (Rabs (got + - mid)) (pow2 (53 + -1074))) as [G|G]; [exact G|exfalso].
        assert (T : pow2 (-1021) < Rabs (got - mid)) by exact G. rewrite distance_exact in T. lra. }
      assert (R0 : r = got - mid) by (apply round_generic; [apply valid_rnd_N|exact Dd]).
      pose proof distance_exact as X. unfold s in X. rewrite R0 in X. lra. }
    set (us := ulp radix2 fexp64 s) in *.
    assert (Us : 2 * us <= s).
    { unfold us. rewrite ulp_neq_0 by (assert (0 < pow2 (-1021)) by apply bpow_gt_0; lra). unfold cexp, FLT_exp.
      assert (M : (-1020 <= Raux.mag radix2 s)%Z).
      { apply mag_ge_bpow. rewrite Rabs_pos_eq by exact Ps. left. exact Big. }
      rewrite Z.max_l by lia. apply Rle_trans with (pow2 (Raux.mag radix2 s - 1)).
      - change 2 with (pow2 1). rewrite <- bpow_plus. apply bpow_le. lia.
      - assert (Q := bpow_mag_le radix2 s ltac:(assert (0 < pow2 (-1021)) by apply bpow_gt_0; lra)). rewrite Rabs_pos_eq in Q by exact Ps. exact Q. }
    assert (Dus : double us) by (apply generic_format_ulp; exact valid64 || exact _).
    assert (Pus : 0 <= us) by apply ulp_ge_0.
    assert (Lz : - us <= z).
    { apply N; [apply generic_format_opp, Dus|]. pose proof (Rabs_range _ _ He). lra. }
    assert (Lh : us <= h) by (apply N; [exact Dus|lra]). rewrite Rabs_left by exact Z. lra. }
destruct Hz as [Hz Ph].
assert (Uz : ulp radix2 fexp64 z <= ulp radix2 fexp64 h).
{ rewrite <- (ulp_abs radix2 fexp64 z). apply ulp_le_pos; [exact valid64|exact monotone64|apply Rabs_pos|exact Hz]. }
rewrite succ_eq_pos by exact Ph. apply Rabs_range in E1. apply Rabs_range in E2. lra.
Qed.

(** theorem: distance_enclosed — the distance of a double from a number within `rad` of another double lies between the bounds that measure_abs computes. used by: src/enclosure/measure.c *)
Theorem distance_enclosed x : Rabs (x - mid) <= rad -> 0 <= abs_lo /\ abs_lo <= Rabs (got - x) <= abs_hi.
Proof.
intros H. pose proof distance_exact as X. pose proof sum_above as A. destruct doubles as [_ [_ [_ Pr]]].
assert (T1 : Rabs (got - x) <= Rabs (got - mid) + rad).
{ replace (got - x) with ((got - mid) + - (x - mid)) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (T2 : Rabs (got - mid) - rad <= Rabs (got - x)).
{ replace (got - mid) with ((got - x) + (x - mid)) by ring. pose proof (Rabs_triang (got - x) (x - mid)). lra. }
assert (L : abs_lo <= Rabs (got - x) /\ 0 <= abs_lo).
{ unfold abs_lo. destruct (Rlt_dec 0 (rnd64 (s - up (rnd64 (rad - e))))) as [P|P]; [|split; [apply Rabs_pos|lra]].
  pose proof (down_below (s - up (rnd64 (rad - e)))) as D. pose proof (up_above (rad - e)) as U. split; [lra|].
  unfold down. apply pred_ge_0; [exact valid64|exact P|apply rnd64_double]. }
lra.
Qed.
End Distance.

Section Quotient.
(* a distance between d_lo and d_hi, a scale between y_lo and y_hi *)
Variables (d d_lo d_hi y y_lo y_hi : R).
Hypothesis distance : 0 <= d_lo /\ d_lo <= d <= d_hi.
Hypothesis scale : 0 < y_lo /\ y_lo <= y <= y_hi.

(** theorem: quotient_enclosed — a distance divided by a scale lies between the quotients of their bounds, rounded outward as measure_quotient does. used by: src/enclosure/measure.c, src/certify/row.c *)
Theorem quotient_enclosed : div_down d_lo y_hi <= d / y <= div_up d_hi y_lo.
Proof.
destruct distance as [D1 [D2 D3]]. destruct scale as [Y1 [Y2 Y3]]. split.
- eapply Rle_trans; [apply div_down_below; lra|]. unfold Rdiv. apply Rmult_le_compat; try lra.
  + left. apply Rinv_0_lt_compat. lra.
  + apply Rinv_le; lra.
- eapply Rle_trans; [|apply div_up_above; exact Y1]. unfold Rdiv. apply Rmult_le_compat; try lra.
  + left. apply Rinv_0_lt_compat. lra.
  + apply Rinv_le; lra.
Qed.
End Quotient.
