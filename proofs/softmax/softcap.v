(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The softcap of the double tier of softmax, c tanh(s / c), step 1 of src/softmax/enclose.c: the double
   cap, its inverse, the product with the score, tanh and the product with the cap. coqchk: no (interval
   arithmetic on Z). *)
From Coq Require Import Reals Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core Binary Relative.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa enclosure.exp_method
  enclosure.exp_float enclosure.tanh_float enclosure.summation
  softmax.slope.
Import ITZ.
Open Scope R_scope.
Notation u := (pow2 (-53)).

Lemma sech2_close s : 0 <= s <= 4 -> s * sech2 s <= 46 / 100.
Proof. intros H. unfold sech2. interval with (i_bisect s, i_autodiff s, i_prec 30). Qed.

Lemma sech2_far s : 4 <= s -> s * sech2 s <= 46 / 100.
Proof.
intros H. unfold sech2. assert (P := exp_pos (2 * s)).
assert (Q : 1 + s <= exp s) by (left; apply exp_ineq1; lra).
assert (E : exp (2 * s) = exp s * exp s) by (rewrite <- exp_plus; f_equal; ring).
rewrite E in *. set (e := exp s) in *. assert (16 * s <= e * e).
{ assert (50 <= exp 4) by interval with (i_prec 40). assert (exp 4 <= e).
  { destruct H as [H|<-]; [left; apply exp_increasing, H|apply Rle_refl]. }
  assert (50 * s <= e * e) by (apply Rmult_le_compat; lra). lra. }
apply (Rmult_le_reg_r ((e * e + 1) * (e * e + 1))); [apply Rmult_lt_0_compat; lra|].
replace (s * (4 * (e * e) / ((e * e + 1) * (e * e + 1))) * ((e * e + 1) * (e * e + 1))) with (4 * s * (e * e)) by (field; lra).
assert (4 * s * (e * e) <= e * e / 4 * (e * e)) by (apply Rmult_le_compat_r; lra).
assert (0 <= e * e * (e * e)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma sech2_moment s : Rabs (s * sech2 s) <= 46 / 100.
Proof.
assert (P : forall x, 0 <= x -> 0 <= x * sech2 x <= 46 / 100).
{ intros x H. pose proof (sech2_range x). split; [apply Rmult_le_pos; lra|].
  destruct (Rle_dec x 4); [apply sech2_close; lra|apply sech2_far; lra]. }
destruct (Rle_dec 0 s) as [H|H].
- rewrite Rabs_pos_eq; apply P, H.
- pose proof (P (- s) ltac:(lra)) as Q. rewrite sech2_even in Q. apply Rabs_le. lra.
Qed.

(* A relative change of the argument moves tanh by less than half of it. *)
Lemma tanh_scaled t e : Rabs e <= 1 / 1000 -> Rabs (tanh (t * (1 + e)) - tanh t) <= 47 / 100 * Rabs e.
Proof.
intros He. apply Rabs_le_inv in He.
destruct (MVT_gen (fun x => tanh (t * x)) 1 (1 + e) (fun x => t * sech2 (t * x))) as [c [Hc E]].
- intros x _. apply tanh_derive.
- intros x _. apply continuity_pt_filterlim, (ex_derive_continuous (fun x => tanh (t * x))).
  eexists. apply tanh_derive.
- rewrite Rmult_1_r in E. rewrite E. replace (1 + e - 1) with e by ring. rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos|].
  assert (Bc : 999 / 1000 <= c).
  { destruct Hc as [Hc _]. unfold Rmin in Hc. destruct Rle_dec in Hc; lra. }
  assert (M := sech2_moment (t * c)). replace (t * c * sech2 (t * c)) with (t * sech2 (t * c) * c) in M by ring.
  rewrite Rabs_mult, (Rabs_pos_eq c) in M by lra. pose proof (Rabs_pos (t * sech2 (t * c))) as P.
  set (r := Rabs (t * sech2 (t * c))) in *.
  assert (r * (999 / 1000) <= r * c) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* z is the product a rounded; 20 instead of the overflow threshold says less and is enough. *)
Definition is_quotient (a : R) (z : binary_float 53 1024) : Prop := match z with
| B754_infinity b => if b then a <= -21 else 21 <= a
| _ => is_finite 53 1024 z = true /\ B2R 53 1024 z = rnd64 a end.

Lemma tanh_odd s : tanh (- s) = - tanh s.
Proof.
rewrite !tanh_exp. replace (2 * - s) with (- (2 * s)) by ring. rewrite exp_Ropp. assert (P := exp_pos (2 * s)). field. lra.
Qed.

(* C: the cap, h: in double. x, xh: the score before it and as computed. z: its quotient by the cap. *)
Section Softcap.
Variables (C h x xh E : R) (z : binary_float 53 1024).
Hypothesis h_range : pow2 (-1000) <= h <= pow2 1000.
Hypothesis cap_off : Rabs (h - C) <= u * h.
Hypothesis score_off : Rabs (xh - x) <= E.
(* what the product gives, an infinity where it overflows *)
Hypothesis z_is : is_quotient (xh * rnd64 (1 / h)) z.
Let T := B2R 53 1024 (vd_tanh float64 z).

Lemma cap_positive : 0 < h * (999 / 1000) <= C.
Proof.
assert (P := bpow_gt_0 radix2 (-1000)). apply Rabs_le_inv in cap_off.
assert (u * h <= / 1000 * h) by (apply Rmult_le_compat_r; [lra|simpl; lra]). lra.
Qed.

(** theorem: softmax_softcap — a softcap of the double tier, cap tanh(s / cap) with the cap rounded to double, adds at most 31/2 u cap to the error of a score and makes no score larger. used by: src/softmax/enclose.c *)
Theorem softmax_softcap : Rabs (C * tanh (x / C)) <= Rabs x /\
  Rabs (rnd64 (h * T) - C * tanh (x / C)) <= E + 31 / 2 * u * h.
Proof.
assert (PC := cap_positive). assert (P0 := bpow_gt_0 radix2 (-1000)).
assert (L : forall a, C * Rabs (tanh (a / C) - tanh (x / C)) <= Rabs (a - x)).
{ intros a. apply Rle_trans with (C * Rabs (a / C - x / C)).
  - apply Rmult_le_compat_l; [lra|apply tanh_lipschitz].
  - replace (a / C - x / C) with ((a - x) / C) by (field; lra). unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq C) by lra.
    right. field. lra. }
assert (T0 : tanh 0 = 0) by (rewrite tanh_exp, Rmult_0_r, exp_0; field).
split.
{ specialize (L 0). rewrite Rabs_mult, (Rabs_pos_eq C) by lra. unfold Rdiv at 1 in L. rewrite Rmult_0_l, T0 in L.
  rewrite !Rminus_0_l, !Rabs_Ropp in L. exact L. }
assert (U : 0 < u <= / 1000000000) by (simpl; lra).
assert (Uh : 0 < u * h <= / 1000000000 * h) by (split; [apply Rmult_lt_0_compat; lra|apply Rmult_le_compat_r; lra]).
assert (Ph : 0 < h) by lra.
set (eta := pow2 (-1075)).
assert (N : forall a, Rabs (rnd64 a - a) <= u * Rabs a + eta) by (intros a; apply (nearest_error (-1074) 53); lia).
assert (Pe : 0 < eta) by apply bpow_gt_0.
assert (Ne : eta <= / 1000 * u).
{ apply Rle_trans with (bpow radix2 (-10) * u); [unfold eta; rewrite <- bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Neh : eta <= / 1000 * (u * h)).
{ apply Rle_trans with (bpow radix2 (-10) * (u * pow2 (-1000))).
  - unfold eta. rewrite <- !bpow_plus. apply bpow_le. lia.
  - apply Rmult_le_compat; [apply bpow_ge_0|apply Rmult_le_pos; lra|simpl; lra|apply Rmult_le_compat_l; lra]. }
assert (Nh : eta * h <= / 1000 * u).
{ apply Rle_trans with (eta * pow2 1000); [apply Rmult_le_compat_l; lra|].
  apply Rle_trans with (bpow radix2 (-10) * u); [unfold eta; rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_r; [lra|simpl; lra]. }
(* the inverse of the cap: h iv = 1 + d1 *)
set (iv := rnd64 (1 / h)) in *.
assert (D1 : Rabs (h * iv - 1) <= 1001 / 1000 * u).
{ replace (h * iv - 1) with (h * (iv - 1 / h)) by (field; lra). rewrite Rabs_mult, (Rabs_pos_eq h) by lra.
  pose proof (N (1 / h)) as Ni. fold iv in Ni. rewrite (Rabs_pos_eq (1 / h)) in Ni by (left; apply Rdiv_lt_0_compat; lra).
  apply (Rmult_le_compat_l h) in Ni; [|lra]. replace (h * (u * (1 / h) + eta)) with (u + eta * h) in Ni by (field; lra). lra. }
(* C = h (1 + d2) *)
assert (D2 : Rabs (C / h - 1) <= u).
{ replace (C / h - 1) with (- (h - C) / h) by (field; lra). unfold Rdiv. rewrite Rabs_mult, Rabs_Ropp, Rabs_inv, (Rabs_pos_eq h) by lra.
  apply (Rmult_le_reg_r h); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
set (t := xh / C).
assert (D3 : Rabs (C * iv - 1) <= 2002 / 1000 * u).
{ replace (C * iv - 1) with ((C / h - 1) * (h * iv - 1) + (C / h - 1) + (h * iv - 1)) by (field; lra).
  assert (Rabs ((C / h - 1) * (h * iv - 1)) <= u * (/ 100000)).
  { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; lra. }
  eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs ((C / h - 1) * (h * iv - 1) + (C / h - 1)) <= u * (/ 100000) + u).
  { eapply Rle_trans; [apply Rabs_triang|]. lra. } lra. }
set (a := xh * iv) in *.
assert (B1 := tanh_below_1).
assert (E12 : dyadic_R EXP_TANH_ERROR = 12) by (unfold dyadic_R, EXP_TANH_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
(* where the product overflows *)
assert (Far : forall v, 21 <= v * (C * iv) -> Rabs (1 - tanh v) <= u).
{ intros v Hv. apply Rabs_le_inv in D3. assert (20 <= v).
  { destruct (Rle_dec v 0) as [V|V]; [|assert (v * (C * iv) <= v * (101 / 100)) by (apply Rmult_le_compat_l; lra); lra].
    assert (0 <= - v * (C * iv)) by (apply Rmult_le_pos; lra). lra. }
  pose proof (tanh_high v H). assert (pow2 (-56) <= u) by (apply bpow_le; lia). apply Rabs_le. lra. }
assert (Ea : a = t * (C * iv)) by (unfold a, t; field; lra).
assert (Over : forall s, Rabs (T - s) <= 12 * u -> Rabs (s - tanh t) <= u -> Rabs (T - tanh t) <= 13416 / 1000 * u).
{ intros s H1 H2. replace (T - tanh t) with ((T - s) + (s - tanh t)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
(* the quotient: y = t (1 + e) + e', |e'| <= eta *)
assert (In : is_finite 53 1024 z = true -> B2R 53 1024 z = rnd64 a -> Rabs (T - tanh t) <= 13416 / 1000 * u).
{ intros Fz Vz. set (y := B2R 53 1024 z) in *.
destruct (error_N_FLT radix2 (-1074) 53 eq_refl (fun k => negb (Z.even k)) a) as [e1 [e2 [S1 [S2 [_ S3]]]]].
change (round radix2 (FLT_exp (-1074) 53) (Znearest (fun k => negb (Z.even k))) a) with (rnd64 a) in S3.
assert (S3' : y = a * (1 + e1) + e2) by (rewrite Vz; exact S3).
assert (S1' : Rabs e1 <= u) by (apply Rle_trans with (1 := S1); unfold u_ro; simpl; lra).
assert (S2' : Rabs e2 <= eta) by (apply Rle_trans with (1 := S2); unfold eta; change (-1075)%Z with (-1 + -1074)%Z; rewrite bpow_plus; simpl (bpow radix2 (-1)); lra).
set (e := C * iv * (1 + e1) - 1).
assert (De : Rabs e <= 301 / 100 * u).
{ unfold e. replace (C * iv * (1 + e1) - 1) with ((C * iv - 1) * e1 + (C * iv - 1) + e1) by ring.
  assert (Rabs ((C * iv - 1) * e1) <= u * (/ 100000)).
  { rewrite Rabs_mult, Rmult_comm. apply Rmult_le_compat; try apply Rabs_pos; lra. }
  eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs ((C * iv - 1) * e1 + (C * iv - 1)) <= u * (/ 100000) + 2002 / 1000 * u).
  { eapply Rle_trans; [apply Rabs_triang|]. lra. } lra. }
assert (Ey : y = t * (1 + e) + e2) by (rewrite S3'; unfold t, e, a; field; lra).
assert (Q1 : Rabs (tanh y - tanh t) <= 1416 / 1000 * u).
{ replace (tanh y - tanh t) with ((tanh y - tanh (t * (1 + e))) + (tanh (t * (1 + e)) - tanh t)) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  pose proof (tanh_lipschitz y (t * (1 + e))) as A1. replace (y - t * (1 + e)) with e2 in A1 by (rewrite Ey; ring).
  pose proof (tanh_scaled t e ltac:(lra)) as A2. lra. }
destruct (tanh64_error z Fz) as [_ HT]. fold T y in HT.
rewrite E12 in HT.
assert (Q2 : Rabs (T - tanh y) <= 12 * u).
{ apply Rle_trans with (1 := HT). rewrite <- (Rmult_1_r (12 * u)) at 2. apply Rmult_le_compat_l; [lra|apply B1]. }
replace (T - tanh t) with ((T - tanh y) + (tanh y - tanh t)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
assert (Q : Rabs (T - tanh t) <= 13416 / 1000 * u).
{ assert (Z := z_is). unfold is_quotient in Z. destruct (is_finite 53 1024 z) eqn:Fz.
  - destruct z; try discriminate; apply In; try reflexivity; apply Z.
  - pose proof (tanh64_beyond z Fz) as Bz. cbv zeta in Bz. rewrite E12 in Bz. fold T in Bz.
    destruct z as [|[|]| |]; try discriminate; try (destruct Z; discriminate); destruct Bz as [_ Bz].
    + apply (Over (-1) Bz). replace (-1 - tanh t) with (- (1 - tanh (- t))) by (rewrite tanh_odd; ring).
      rewrite Rabs_Ropp. apply Far. rewrite Ea in Z. lra.
    + apply (Over 1 Bz), Far. rewrite Ea in Z. exact Z. }
assert (BT : Rabs T <= 1 + 14 * u).
{ replace T with (tanh t + (T - tanh t)) by ring. eapply Rle_trans; [apply Rabs_triang|]. pose proof (B1 t). lra. }
(* the last product *)
assert (NT := N (h * T)). rewrite Rabs_mult, (Rabs_pos_eq h) in NT by lra.
apply (Rmult_le_compat_l h) in BT; [|lra]. apply (Rmult_le_compat_l u) in BT; [|lra].
assert (u * (u * h) <= / 1000000000 * (u * h)) by (apply Rmult_le_compat_r; lra).
replace (rnd64 (h * T) - C * tanh (x / C)) with ((rnd64 (h * T) - h * T) + h * (T - tanh t) +
  (h - C) * tanh t + C * (tanh t - tanh (x / C))) by ring.
assert (R1 : Rabs (h * (T - tanh t)) <= h * (13416 / 1000 * u)) by (rewrite Rabs_mult, (Rabs_pos_eq h) by lra; apply Rmult_le_compat_l; lra).
assert (R3 : Rabs ((h - C) * tanh t) <= u * h * 1).
{ rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [exact cap_off|apply B1]. }
assert (R4 : Rabs (C * (tanh t - tanh (x / C))) <= E).
{ rewrite Rabs_mult, (Rabs_pos_eq C) by lra. apply Rle_trans with (1 := L xh). exact score_off. }
assert (A : forall a b c d, Rabs (a + b + c + d) <= Rabs a + Rabs b + Rabs c + Rabs d).
{ intros. repeat (eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat_r). apply Rle_refl. }
eapply Rle_trans; [apply A|]. lra.
Qed.
End Softcap.
