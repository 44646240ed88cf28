(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The reduction of the exponential kernels: x = n ln 2 + r. Adding 3 2^(p-2) rounds to an integer n
   in the low bits, the first step of r is exact, the second rounds once. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core.
From Gappa Require Import Gappa_tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa enclosure.exp_method.
Open Scope R_scope.

Notation f32 := (generic_format radix2 (FLT_exp (-149) 24)).
Notation f64 := (generic_format radix2 (FLT_exp (-1074) 53)).

Section Integers.
Variables emin prec : Z.
Hypothesis Hp : (1 < prec)%Z.
Hypothesis He : (emin <= 0)%Z.
Notation format := (generic_format radix2 (FLT_exp emin prec)).

(* Numbers that are large have no digits behind the point. *)
Lemma integer_of_format t : format t -> bpow radix2 (prec - 1) <= t -> exists k, t = IZR k.
Proof.
intros F H. assert (G := F). unfold generic_format, cexp, FLT_exp in F.
assert (Hm : (prec <= mag radix2 t)%Z).
{ replace prec with (prec - 1 + 1)%Z by ring. apply mag_ge_bpow.
  replace (prec - 1 + 1 - 1)%Z with (prec - 1)%Z by ring.
  rewrite Rabs_pos_eq; [exact H|]. eapply Rle_trans; [apply bpow_ge_0|exact H]. }
rewrite F. unfold F2R. simpl. rewrite Z.max_l by lia.
rewrite <- IZR_Zpower by lia. rewrite <- mult_IZR. eexists. reflexivity.
Qed.

Lemma format_of_integer k : (Z.abs k < 2 ^ prec)%Z -> format (IZR k).
Proof.
intros H. apply generic_format_FLT. exists (Defs.Float radix2 k 0); simpl; [|exact H|lia].
unfold F2R. simpl. ring.
Qed.
End Integers.

Lemma integer_rounds k : IZR k = round radix2 (FIX_exp 0) ZnearestE (IZR k).
Proof.
symmetry. apply round_generic; [apply valid_rnd_N|]. apply generic_format_FIX.
exists (Defs.Float radix2 k 0); [unfold F2R; simpl; ring|reflexivity].
Qed.

Lemma below_one k : Rabs (IZR k) < 1 -> k = 0%Z.
Proof.
intros H. rewrite <- abs_IZR in H. apply lt_IZR in H. lia.
Qed.

(* What the reduction gives: k with t, n; the reduced argument and its error e. *)
Definition reduces (rnd : R -> R) (w : Z) (lo : R) (hi : R) (t n x r e : R) (K : Z) :=
  exists k : Z, t = IZR (3 * 2 ^ (w - 1) + k) /\ n = IZR k /\ (Z.abs k <= K)%Z /\ reduced r /\
    Rabs (r - (x - n * ln 2)) <= e /\ Rabs (- n * hi + x) <= 1 /\ r = rnd (- n * lo + rnd (- n * hi + x)).

(* The proof, for constants L, C, HI, LO of a format: C = c, t in [tlo, thi], k in [klo, khi], |k| <= K. *)
Ltac reduction x rnd L C HI LO emin prec c tlo thi klo khi K ln2_split log2e e Fx Bx t n :=
  assert (Pp : Prec_gt_0 prec) by reflexivity;
  assert (Rt : IZR tlo <= t <= IZR thi) by (unfold t; numbers; gappa);
  assert (Et : Rabs (t - (x * L + C)) <= 1/2) by (unfold t; numbers; gappa);
  assert (Ft : generic_format radix2 (FLT_exp emin prec) t)
    by (apply generic_format_round; [apply FLT_exp_valid, Pp|apply valid_rnd_N]);
  let m := fresh "m" in let Hm := fresh "Hm" in
  destruct (integer_of_format emin prec ltac:(lia) t Ft) as [m Hm]; [simpl; lra|];
  assert (Bm : (klo <= m - c <= khi)%Z) by
    (rewrite Hm in Rt; destruct Rt as [R1 R2]; apply le_IZR in R1; apply le_IZR in R2; lia);
  let k := fresh "k" in pose (k := (m - c)%Z);
  assert (EC : C = IZR c) by (numbers; simpl; lra);
  assert (En : n = IZR k) by
    (unfold n, k; rewrite Hm, EC, <- minus_IZR; apply round_generic; [apply valid_rnd_N|];
     apply format_of_integer; simpl; lia);
  assert (EL : Rabs (n - x * L) <= 1/2) by
    (rewrite En; unfold k; rewrite minus_IZR, <- Hm, <- EC;
     replace (t - C - x * L) with (t - (x * L + C)) by ring; exact Et);
  assert (Bk : (Z.abs k <= K)%Z) by (unfold k; lia);
  assert (Bn : Rabs n <= IZR K) by (rewrite En, <- abs_IZR; apply IZR_le, Bk);
  exists k; split;
  [rewrite Hm; apply (f_equal IZR);
   match goal with |- _ = (?a + _)%Z => change a with c end; unfold k; ring|];
  split; [exact En|]; split; [exact Bk|]; let R := fresh "R" in pose (R := x - n * ln 2);
  assert (Hl := ln2_split); assert (He := log2e);
  assert (BR : Rabs R <= 5679 * pow2 (-14)) by
    (replace R with (- (n - x * L) * ln 2 - x * (L * ln 2 - 1)) by (unfold R; ring);
     assert (Bl := ln2_range); revert EL He Bl Bx; clear;
     generalize (n - x * L) (L * ln 2 - 1) (ln 2); intros; gappa);
  assert (E1 : Rabs (- n * HI + x) <= 5700 * pow2 (-14)) by
    (replace (- n * HI + x) with (R + n * LO + n * (ln 2 - (HI + LO))) by (unfold R; ring);
     revert Hl BR Bn; generalize (ln 2 - (HI + LO)) R; clear; numbers; intros; gappa);
  assert (X1 : rnd (- n * HI + x) = - n * HI + x);
  [ destruct (Rle_lt_dec (Rabs x) (5/16)) as [S|S];
    [ assert (k = 0%Z) as Ek by
        (apply below_one; rewrite <- En; replace n with ((n - x * L) + x * L) by ring;
         eapply Rle_lt_trans; [apply Rabs_triang|];
         assert (Rabs (x * L) <= 5/16 * (3/2)); [|lra];
         rewrite Rabs_mult; apply Rmult_le_compat; try apply Rabs_pos; [exact S|];
         apply Rabs_le; numbers; simpl; lra);
      rewrite En, Ek; replace (- 0 * HI + x) with x by ring;
      apply round_generic; [apply valid_rnd_N|exact Fx]
    | assert (Bx' : 5/16 <= Rabs x <= 709) by (split; [lra|apply Rabs_le; lra]);
      let In := fresh "In" in assert (In := integer_rounds k); rewrite <- En in In; clearbody n;
      assert (Xx : x = rnd x) by (symmetry; apply round_generic; [apply valid_rnd_N|exact Fx]);
      cut (rnd (- n * HI + x) - (- n * HI + x) = 0); [lra|];
      revert E1 In Bx' Xx Bn; clear; numbers; intros;
      refine (let H := _ in Rle_antisym _ _ (proj2 H) (proj1 H)); gappa ]
  |];
  assert (Er : Rabs (rnd (- n * LO + rnd (- n * HI + x)) - R) <= e) by
    (rewrite X1; replace (rnd (- n * LO + (- n * HI + x)) - R) with
      ((rnd (- n * LO + (- n * HI + x)) - (- n * LO + (- n * HI + x))) + n * (ln 2 - (HI + LO)))
      by (unfold R; ring);
     revert Hl E1 Bn; generalize (ln 2 - (HI + LO)) (- n * HI + x); clear; numbers; intros; gappa);
  split; [|split; [exact Er|split; [|reflexivity]]];
  [ replace (rnd (- n * LO + rnd (- n * HI + x)))
      with (R + (rnd (- n * LO + rnd (- n * HI + x)) - R)) by ring;
    revert Er BR; generalize (rnd (- n * LO + rnd (- n * HI + x)) - R) R; clear; intros; gappa
  | eapply Rle_trans; [exact E1|]; simpl; lra ].

Section Single.
Notation rnd := (round radix2 (FLT_exp (-149) 24) ZnearestE).
Notation L := (dyadic_R EXP32_LOG2E).
Notation C := (dyadic_R EXP32_ROUND).
Notation HI := (dyadic_R EXP32_LN2_HI).
Notation LO := (dyadic_R EXP32_LN2_LO).

Lemma reduction32 x : f32 x -> -86 <= x <= 88 ->
  let t := rnd (x * L + C) in
  let n := rnd (t - C) in
  reduces rnd 23 LO HI t n x (rnd (- n * LO + rnd (- n * HI + x))) (1025 * pow2 (-36)) 127.
Proof.
intros Fx Bx t n.
reduction x constr:(rnd) constr:(L) constr:(C) constr:(HI) constr:(LO) (-149)%Z 24%Z 12582912%Z 12582787%Z 12583039%Z (-125)%Z 127%Z 127%Z
  ln2_split32 log2e32 (1025 * pow2 (-36)) Fx Bx t n.
Qed.
End Single.

Section Double.
Notation rnd := (round radix2 (FLT_exp (-1074) 53) ZnearestE).
Notation L := (dyadic_R EXP64_LOG2E).
Notation C := (dyadic_R EXP64_ROUND).
Notation HI := (dyadic_R EXP64_LN2_HI).
Notation LO := (dyadic_R EXP64_LN2_LO).

Lemma reduction64 x : f64 x -> -707 <= x <= 709 ->
  let t := rnd (x * L + C) in
  let n := rnd (t - C) in
  reduces rnd 52 LO HI t n x (rnd (- n * LO + rnd (- n * HI + x))) (1025 * pow2 (-65)) 1023.
Proof.
intros Fx Bx t n.
reduction x constr:(rnd) constr:(L) constr:(C) constr:(HI) constr:(LO) (-1074)%Z 53%Z 6755399441055744%Z 6755399441054723%Z 6755399441056767%Z
  (-1021)%Z 1023%Z 1023%Z ln2_split64 log2e64 (1025 * pow2 (-65)) Fx Bx t n.
Qed.
End Double.
