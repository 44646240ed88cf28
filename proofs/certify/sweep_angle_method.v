(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Sine and cosine in sweeps: the polynomials of src/certify/sweep_enclose_isa.c in exact arithmetic.
   coqchk: no (interval arithmetic on Z). *)
From Coq Require Import Reals Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_method enclosure.tanh_method
  certify.sweep_angle_isa.
Import ITZ.
Open Scope R_scope.

(* a little more than pi/4 *)
Notation turned_little r := (Rabs r <= 7856 / 10000).

Definition sine_slope (r : R) : R :=
  let c n e := dyadic_R (Dyadic n e) in let z := r * r in
  1 + z * (3 * c (-6004799503160661)%Z (-55)%Z + z * (5 * c 4803839602528529%Z (-59)%Z + z * (7 * c (-3660068268593165)%Z (-64)%Z +
  z * (9 * c 1626697008263629%Z (-69)%Z + z * (11 * c (-1892883791434041)%Z (-76)%Z + z * (13 * c 6212541674450185%Z (-85)%Z +
  z * (15 * c (-7573384136472607)%Z (-93)%Z + z * (17 * c 3563945475987109%Z (-100)%Z)))))))).

Ltac angle_numbers := unfold dyadic_R; cbv [num expo].

Lemma sine_method r : turned_little r -> Rabs (sine exact r - sin r) <= 1 * pow2 (-55) * Rabs r.
Proof.
apply (vanishing (fun r => sine exact r - sin r) (fun r => sine_slope r - cos r)).
- unfold sine, sine_series. simpl. rewrite sin_0. ring.
- intros t _. unfold sine, sine_series, sine_slope. cbv [exact real_ops carrier const fma mul]. auto_derive; [exact I|]. ring.
- intros t H. unfold sine_slope. cbv zeta. angle_numbers. interval with (i_bisect t, i_taylor t, i_degree 20, i_prec 75).
Qed.

Lemma cosine_method r : turned_little r -> Rabs (cosine exact r - cos r) <= 1 * pow2 (-56).
Proof.
intros H. unfold cosine, cosine_series. cbv [exact real_ops carrier const fma mul]. angle_numbers.
interval with (i_bisect r, i_taylor r, i_degree 22, i_prec 75).
Qed.

Lemma sine_below r : turned_little r -> Rabs (r - sin r) <= 294 / 1000 * Rabs r.
Proof.
apply (vanishing (fun r => r - sin r) (fun r => 1 - cos r)).
- rewrite sin_0. ring.
- intros t _. auto_derive; [exact I|]. ring.
- intros t H. interval with (i_bisect t, i_prec 40).
Qed.

Lemma cosine_above r : turned_little r -> 706 / 1000 <= cos r.
Proof. intros H. interval with (i_bisect r, i_prec 40). Qed.

Lemma half_pi_near : Rabs (dyadic_R (Dyadic 884279719003555 (-49)) - PI / 2) <= 6 / 10 * pow2 (-53).
Proof. angle_numbers. interval with (i_prec 120). Qed.

Lemma half_pi_range : 15707 / 10000 <= PI / 2 <= 15708 / 10000.
Proof. split; interval with (i_prec 40). Qed.

Lemma sine_lipschitz a b : Rabs (sin a - sin b) <= Rabs (a - b).
Proof.
destruct (MVT_gen sin b a cos) as [c [_ E]].
- intros x _. apply is_derive_sin.
- intros x _. apply continuity_sin.
- rewrite E, Rabs_mult. rewrite <- (Rmult_1_l (Rabs (a - b))) at 2. apply Rmult_le_compat_r; [apply Rabs_pos|].
  pose proof (COS_bound c). apply Rabs_le. lra.
Qed.

Lemma cosine_lipschitz a b : Rabs (cos a - cos b) <= Rabs (a - b).
Proof.
rewrite !cos_sin. apply Rle_trans with (1 := sine_lipschitz _ _). right. f_equal. ring.
Qed.

(* n quarters of a turn *)
Lemma whole_turns x w : sin (x + IZR w * (2 * PI)) = sin x.
Proof.
assert (P : forall y v, (0 <= v)%Z -> sin (y + IZR v * (2 * PI)) = sin y).
{ intros y v Hv. rewrite <- (sin_period y (Z.to_nat v)). f_equal. rewrite INR_IZR_INZ, Z2Nat.id by exact Hv. ring. }
destruct (Z_le_gt_dec 0 w) as [H|H]; [apply P, H|].
rewrite <- (P (x + IZR w * (2 * PI)) (- w)%Z) by lia. f_equal. rewrite opp_IZR. ring.
Qed.

Definition quarter_R (n : Z) (s c : R) : R := let y := if Z.odd n then c else s in if Z.odd (n / 2) then - y else y.

Lemma quarter_mod n m s c : (n mod 4 = m mod 4)%Z -> quarter_R n s c = quarter_R m s c.
Proof.
intros H. unfold quarter_R. rewrite (Z.div_mod n 4), (Z.div_mod m 4), H by lia.
assert (O : forall a j, Z.odd (4 * a + j) = Z.odd j) by (intros; rewrite Z.odd_add, Z.odd_mul; now destruct (Z.odd j)).
assert (D : forall a j, ((4 * a + j) / 2 = 2 * a + j / 2)%Z).
{ intros. replace (4 * a + j)%Z with (j + (2 * a) * 2)%Z by ring. rewrite Z.div_add by lia. ring. }
assert (O2 : forall a j, Z.odd (2 * a + j) = Z.odd j) by (intros; rewrite Z.odd_add, Z.odd_mul; now destruct (Z.odd j)).
now rewrite !O, !D, !O2.
Qed.

Lemma quarter_sine n x : sin (IZR n * (PI / 2) + x) = quarter_R n (sin x) (cos x).
Proof.
rewrite (quarter_mod n (n mod 4)) by (rewrite Z.mod_mod; lia).
assert (E : IZR n * (PI / 2) + x = IZR (n mod 4) * (PI / 2) + x + IZR (n / 4) * (2 * PI)).
{ rewrite (Z.div_mod n 4) at 1 by lia. rewrite plus_IZR, mult_IZR. field. }
rewrite E, whole_turns. assert (B := Z.mod_pos_bound n 4 ltac:(lia)).
assert (C : (n mod 4 = 0 \/ n mod 4 = 1 \/ n mod 4 = 2 \/ n mod 4 = 3)%Z) by lia.
destruct C as [->|[->|[->| ->]]]; unfold quarter_R; cbn [Z.odd Z.div].
- rewrite Rmult_0_l, Rplus_0_l. reflexivity.
- rewrite Rmult_1_l. change (1 / 2)%Z with 0%Z. cbn [Z.odd]. rewrite <- cos_sin. reflexivity.
- change (2 / 2)%Z with 1%Z. cbn [Z.odd]. replace (2 * (PI / 2) + x) with (x + PI) by field. apply neg_sin.
- change (3 / 2)%Z with 1%Z. cbn [Z.odd]. replace (3 * (PI / 2) + x) with (PI / 2 + x + PI) by field. rewrite neg_sin, <- cos_sin. reflexivity.
Qed.
