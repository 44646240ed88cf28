(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Step 1 of src/sparse/enclose.c: arguments in double and how far they are from the exact ones, the way
   src/sparse/line.c evaluates scores, distances and the affine maps of the rules. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.weight softmax.terms
  sparse.mean sparse.deviation sparse.rows.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

(* e is the error of y for X, up to K roundings of itself. *)
Definition near (X y e K : R) : Prop := low e (Rabs (X - y)) K 0 /\ tiny <= e /\ format64 e.

(* Rounding costs half a unit of the last place of the result. *)
Lemma rounded_by z : Rabs (rnd64 z - z) <= u64 * Rabs (rnd64 z) + eta.
Proof.
unfold nearest. set (r := round radix2 (FLT_exp (-1074) 53) ZnearestE z).
assert (P : Prec_gt_0 53) by reflexivity.
assert (H : Rabs (r - z) <= / 2 * ulp radix2 (FLT_exp (-1074) 53) r) by (apply error_le_half_ulp_round; apply FLT_exp_valid || apply FLT_exp_monotone; exact P).
apply Rle_trans with (1 := H). pose proof (Rabs_pos r). pose proof (bpow_ge_0 radix2 (-1075)).
destruct (Rle_lt_dec (pow2 (-1022)) (Rabs r)) as [L|L].
- assert (Q := ulp_FLT_le radix2 (-1074) 53 r L).
  assert (E : pow2 (1 - 53) = 2 * u64) by (change (1 - 53)%Z with (1 + -53)%Z; rewrite bpow_plus; reflexivity).
  rewrite E in Q. lra.
- rewrite (ulp_FLT_small radix2 (-1074) 53).
  + assert (E : pow2 (-1074) = 2 * eta) by (change (-1074)%Z with (1 + -1075)%Z; rewrite bpow_plus; reflexivity).
    rewrite E. assert (0 <= u64 * Rabs r) by (apply Rmult_le_pos; [apply bpow_ge_0|assumption]). lra.
  + apply Rlt_le_trans with (1 := L), bpow_le. lia.
Qed.

(* put *)
Lemma near_put X y e K : near X y e K -> K <= 50 -> Rabs (X - y) * (1 + pow2 (-21)) <= rnd64 (e * slack).
Proof.
intros [[P [Q [K0 [_ H]]]] [T F]] B. assert (U := u64_size). destruct tiny_small as [T1 [T2 _]].
set (d := Rabs (X - y)) in *.
assert (Pe : 0 <= e * slack) by (apply Rmult_le_pos; [exact Q|change (pow2 (-20)) with (/ 1048576); lra]).
assert (R := rounded (e * slack)). rewrite (Rabs_pos_eq _ Pe) in R. apply Rabs_le_inv in R.
change (pow2 (-20)) with (/ 1048576) in *. change (pow2 (-21)) with (/ 2097152).
assert (KU : K * u64 <= 50 * / 1000000000) by (apply Rmult_le_compat; lra).
assert (d * (K * u64) <= d * (50 * / 1000000000)) by (apply Rmult_le_compat_l; lra).
assert (u64 * (e * (1 + / 1048576)) <= / 1000000000 * (e * (1 + / 1048576))) by (apply Rmult_le_compat_r; lra).
assert (u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* Sums of several terms one of which is tiny: nothing is lost to underflow. *)
Lemma near_of X y e x K s : low e x K s -> Rabs (X - y) <= x -> K + 1 <= 100 -> tiny <= e -> s <= u64 * tiny -> format64 e -> near X y e (K + 1).
Proof.
intros L H B T S F. split; [|split; [exact T|exact F]].
assert (L' := low_less _ _ (Rabs (X - y)) _ _ L (conj (Rabs_pos _) H)).
destruct L' as [P [Q [K0 [E L']]]]. assert (U := u64_size). repeat split; try lra.
destruct (Rle_lt_dec (Rabs (X - y)) tiny) as [D|D].
- assert (Rabs (X - y) * (1 - (K + 1) * u64) <= Rabs (X - y) * 1); [|lra]. apply Rmult_le_compat_l; [exact P|].
  assert (0 <= (K + 1) * u64) by (apply Rmult_le_pos; lra). lra.
- assert (u64 * tiny <= u64 * Rabs (X - y)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma add_tiny z : 0 <= z -> tiny <= rnd64 (z + tiny).
Proof.
intros H. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_bpow; lia|lra].
Qed.

Lemma eta_many : 1000 * eta <= u64 * tiny.
Proof.
apply Rle_trans with (pow2 10 * eta); [apply Rmult_le_compat_r; [apply bpow_ge_0|change (pow2 10) with 1024; lra]|].
rewrite <- !bpow_plus. apply bpow_le. lia.
Qed.

Lemma plus_low a b : format64 a -> format64 b -> 0 <= a -> 0 <= b -> low (rnd64 (a + b)) (a + b) 1 0.
Proof.
intros Fa Fb A B. assert (C := plus_close a b Fa Fb). rewrite (Rabs_pos_eq (a + b)) in C by lra. apply Rabs_le_inv in C.
repeat split; try lra. apply rnd_pos. lra.
Qed.

(* ---- factor y + shift ---- *)

Section Affine.
Variables (X y e K : R) (Fx F Fe Sx S se : R).
Hypothesis known : near X y e K.
Hypothesis K_small : K <= 40.
Hypothesis F_off : Rabs (Fx - F) <= Fe.
Hypothesis F_format : format64 F /\ format64 Fe.
Hypothesis S_off : low se (Rabs (Sx - S)) 4 (2 * eta).
Let product := rnd64 (F * y).
Let r := rnd64 (product + S).
Definition affine_error (y e F Fe S se : R) : R :=
  let product := rnd64 (F * y) in let r := rnd64 (product + S) in
  rnd64 (rnd64 (rnd64 (rnd64 (rnd64 (e * rnd64 (Rabs F + Fe)) + rnd64 (Fe * Rabs y)) + se) +
    rnd64 (u64 * rnd64 (rnd64 (2 * Rabs product) + Rabs r))) + tiny).

Lemma affine_near : near (Fx * X + Sx) r (affine_error y e F Fe S se) (K + 8).
Proof.
destruct known as [N [Te Fme]]. assert (U := u64_size). assert (Pfe : 0 <= Fe) by (eapply Rle_trans; [apply Rabs_pos|exact F_off]).
assert (K0 : 0 <= K) by apply N. assert (EM := eta_many). assert (N0 := bpow_ge_0 radix2 (-1075)).
unfold affine_error. fold product r.
assert (Fa : format64 (Rabs F)) by (apply generic_format_abs, F_format).
assert (L1 := plus_low (Rabs F) Fe Fa (proj2 F_format) (Rabs_pos _) Pfe).
assert (L2 := low_times _ _ _ _ _ _ (K + 2) N L1 ltac:(lra)).
assert (L3 := low_one (Fe * Rabs y) ltac:(apply Rmult_le_pos; [exact Pfe|apply Rabs_pos])).
assert (L4 := low_sum _ _ _ _ _ _ _ _ (K + 3) L2 L3 ltac:(lra) ltac:(lra)).
assert (L5 := low_sum _ _ _ _ _ _ _ _ (K + 5) L4 S_off ltac:(lra) ltac:(lra)).
assert (L6 := low_one (2 * Rabs product) ltac:(apply Rmult_le_pos; [lra|apply Rabs_pos])).
assert (L7 := low_sum _ _ _ _ _ _ _ _ 2 L6 (low_given (Rabs r) (Rabs r) (conj (Rabs_pos r) (Rle_refl _))) ltac:(lra) ltac:(lra)).
assert (L8 := low_prod u64 1 _ _ _ _ 3 L7 ltac:(lra) ltac:(lra)).
assert (L9 := low_sum _ _ _ _ _ _ _ _ (K + 6) L5 L8 ltac:(lra) ltac:(lra)).
assert (Pt : 0 <= tiny) by apply bpow_ge_0.
assert (L := low_sum _ _ _ _ _ _ _ _ (K + 7) L9 (low_given tiny tiny (conj Pt (Rle_refl _))) ltac:(lra) ltac:(lra)).
replace (K + 8) with (K + 7 + 1) by ring. eapply near_of; [exact L| |lra| |lra|apply rnd_format].
2: { apply add_tiny. apply L9. }
clear L1 L2 L3 L4 L5 L6 L7 L8 L9 L.
assert (R1 := rounded_by (F * y)). fold product in R1. assert (R2 := rounded_by (product + S)). fold r in R2.
destruct S_off as [PS [Qs [_ [_ HS]]]].
assert (D : Rabs (Fx * X - F * y) <= (Rabs F + Fe) * Rabs (X - y) + Fe * Rabs y).
{ replace (Fx * X - F * y) with (Fx * (X - y) + (Fx - F) * y) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  apply Rplus_le_compat; apply Rmult_le_compat_r; try apply Rabs_pos; [|exact F_off].
  replace Fx with (F + (Fx - F)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
replace (Fx * X + Sx - r) with ((Fx * X - F * y) + (Sx - S) - (product - F * y) - (r - (product + S))) by ring.
unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
unfold Rminus at 1. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite Rabs_Ropp.
eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|].
assert (u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra).
assert (0 <= u64 * Rabs product) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra.
Qed.
End Affine.

(* ---- scores and distances ---- *)

(* A sum of d products, not fused. *)
Definition dotted (t : tree) (d : nat) (q k : nat -> R) : Prop :=
  no_scale t /\ sums_up t d q k /\ (depth t <= d)%nat /\ INR (ops t) <= pow2 40.

Lemma gamma_small d : INR (S d) * u64 <= pow2 (-30) -> let v := INR (S d) * u64 in let g := (1 + u64) ^ S d - 1 in
  0 <= g <= v + / 50 * u64 /\ g * g <= / 50 * u64 /\ g <= / 1000000.
Proof.
intros H v g. assert (U := u64_size). fold v in H.
assert (G1 := pow_R1_Rle (1 + u64) (S d) ltac:(lra)).
assert (V0 : 0 <= v) by (apply Rmult_le_pos; [apply pos_INR|lra]).
assert (V2 : v * v <= / 128 * u64).
{ assert (I : INR (S d) <= pow2 23).
  { apply (Rmult_le_reg_r u64); [apply bpow_gt_0|]. rewrite <- bpow_plus. exact H. }
  apply Rle_trans with (v * pow2 (-30)); [apply Rmult_le_compat_l; lra|]. unfold v.
  apply Rle_trans with (pow2 23 * u64 * pow2 (-30)).
  - apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply Rmult_le_compat_r; lra.
  - rewrite <- !bpow_plus. change (23 + -53 + -30)%Z with (-7 + -53)%Z. rewrite bpow_plus. change (pow2 (-7)) with (/ 128). lra. }
change (pow2 (-30)) with (/ 1073741824) in H.
assert (G := gamma u64 (proj1 U) (S d) ltac:(fold v; lra)). fold v in G.
assert (G2 : v / (1 - v) <= v + 101/100 * (v * v)).
{ apply (Rmult_le_reg_r (1 - v)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  assert (0 <= v * v) by (apply Rmult_le_pos; lra). assert (v * v * v <= / 1000 * (v * v)) by (rewrite (Rmult_comm (v * v)); apply Rmult_le_compat_r; lra). lra. }
assert (G3 : g <= v + / 100 * u64) by (unfold g; lra).
split; [unfold g in *; lra|]. split; [|lra].
apply Rle_trans with ((v + / 100 * u64) * (v + / 100 * u64)); [apply Rmult_le_compat; unfold g in *; lra|].
assert (v * u64 <= / 1000 * u64) by (apply Rmult_le_compat_r; lra). assert (u64 * u64 <= / 1000 * u64) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma dotted_off t d q k : dotted t d q k -> INR (S d) * u64 <= pow2 (-30) ->
  Rabs (fl rnd64 rnd64 t - sum d (fun j => q j * k j)) <= ((1 + u64) ^ S d - 1) * sum d (fun j => Rabs (q j) * Rabs (k j)) + tiny_all.
Proof.
intros [_ [S [D O]]] Hk. assert (U := u64_size). assert (Z : (-1074 <= -1074)%Z) by lia.
assert (F := formats_tree (-1074) 53 (-1074) 53 eq_refl eq_refl Z t d q k S).
change (roundoff 53) with u64 in F. change (underflow (-1074)) with eta in F. rewrite tech_pow_Rmult in F.
destruct (gamma_small d Hk) as [G [_ G3]].
assert (L : (1 + u64) ^ Datatypes.S (depth t) <= (1 + u64) ^ Datatypes.S d) by (apply Rle_pow; [lra|lia]).
assert (P : 0 <= sum d (fun j => Rabs (q j) * Rabs (k j))).
{ apply sum_nonneg. intros. apply Rmult_le_pos; apply Rabs_pos. }
set (qq := (1 + u64) ^ Datatypes.S d) in *.
apply Rle_trans with (1 := F). apply Rplus_le_compat; [apply Rmult_le_compat_r; [exact P|lra]|].
apply Rle_trans with (pow2 40 * eta * pow2 1); [|rewrite <- !bpow_plus; apply bpow_le; lia].
assert (0 <= INR (ops t) * eta) by (apply Rmult_le_pos; [apply pos_INR|apply bpow_ge_0]).
apply Rmult_le_compat; [assumption|apply pow_le; lra| |].
- apply Rmult_le_compat_r; [apply bpow_ge_0|exact O].
- change (pow2 1) with 2. lra.
Qed.

(* (d + 4) U *)
Definition relative_c (d : nat) : R := rnd64 (rnd64 (INR d + 4) * u64).

Lemma relative_enough d : INR (S d) * u64 <= pow2 (-30) ->
  INR (S d) * u64 + 29/10 * u64 <= relative_c d <= 1.
Proof.
intros H. change (pow2 (-30)) with (/ 1073741824) in H. assert (U := u64_size). rewrite S_INR in *.
assert (N0 := pos_INR d). unfold relative_c.
assert (E : eta <= / 1000000000 * u64).
{ apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
assert (R1 := rounded (INR d + 4)). rewrite (Rabs_pos_eq (INR d + 4)) in R1 by lra. apply Rabs_le_inv in R1.
set (a := rnd64 (INR d + 4)) in *. set (v := (INR d + 1) * u64) in *.
assert (U0 : (INR d + 4) * u64 = v + 3 * u64) by (unfold v; ring).
assert (V0 : 0 <= v) by (apply Rmult_le_pos; lra).
assert (V1 : 0 <= v * u64 <= / 1073741824 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (V2 : 0 <= u64 * u64 <= / 1000000000 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (N := bpow_ge_0 radix2 (-1075)).
assert (V3 : 0 <= eta * u64 <= eta * 1) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
assert (A2 : (v + 3 * u64) * (1 - u64) - eta * u64 <= a * u64).
{ rewrite <- U0. apply Rle_trans with (((INR d + 4) * (1 - u64) - eta) * u64); [right; ring|apply Rmult_le_compat_r; lra]. }
assert (A3 : a * u64 <= 2 * v + 8 * u64).
{ assert (a * u64 <= ((INR d + 4) * (1 + u64) + eta) * u64) by (apply Rmult_le_compat_r; lra).
  assert (((INR d + 4) * (1 + u64) + eta) * u64 = (v + 3 * u64) * (1 + u64) + eta * u64) by (rewrite <- U0; ring). lra. }
assert (Pa : 0 <= a * u64) by lra.
assert (R2 := rounded (a * u64)). rewrite (Rabs_pos_eq _ Pa) in R2. apply Rabs_le_inv in R2.
assert (u64 * (a * u64) <= u64 * (2 * v + 8 * u64)) by (apply Rmult_le_compat_l; lra). split; lra.
Qed.

Section Dots.
Variables (d : nat).
Hypothesis short : INR (S d) * u64 <= pow2 (-30).

(* distance: a sum of squares of rounded differences *)
Variables (q k : nat -> R) (t : tree).
Hypothesis q_format : forall a, (a < d)%nat -> format64 (q a).
Hypothesis k_format : forall a, (a < d)%nat -> format64 (k a).

Definition distance_error (dot : R) : R := rnd64 (rnd64 (relative_c d * dot) + tiny).

Lemma distance_near : dotted t d (fun a => rnd64 (q a - k a)) (fun a => rnd64 (q a - k a)) ->
  near (sum d (fun a => (q a - k a) * (q a - k a))) (fl rnd64 rnd64 t) (distance_error (fl rnd64 rnd64 t)) 3.
Proof.
intros Ht. assert (U := u64_size). set (e2 := fun a => rnd64 (q a - k a)) in *.
assert (DO := dotted_off _ _ _ _ Ht short). destruct (gamma_small d short) as [G [gg G3]]. set (g := (1 + u64) ^ S d - 1) in *.
assert (RE := relative_enough d short). change (pow2 (-30)) with (/ 1073741824) in short.
set (dot := fl rnd64 rnd64 t) in *. set (rel := relative_c d) in *. set (v := INR (S d) * u64) in *.
set (D := sum d (fun a => (q a - k a) * (q a - k a))). set (D2 := sum d (fun a => e2 a * e2 a)) in *.
rewrite (sum_ext d (fun j => Rabs (e2 j) * Rabs (e2 j)) (fun a => e2 a * e2 a)) in DO.
2: { intros a _. rewrite <- Rabs_mult. apply Rabs_pos_eq, Rle_0_sqr. }
fold D2 in DO.
assert (PD : 0 <= D) by (apply sum_nonneg; intros; apply Rle_0_sqr).
assert (PD2 : 0 <= D2) by (apply sum_nonneg; intros; apply Rle_0_sqr).
assert (Pdot : 0 <= dot).
{ destruct Ht as [Z [S _]]. apply (fl_sum_pos _ _ _ _ Z S). intros; apply Rle_0_sqr. }
assert (V0 : 0 <= v) by (apply Rmult_le_pos; [apply pos_INR|lra]).
(* differences round once *)
assert (H : Rabs (D2 - D) <= 201/100 * u64 * D2).
{ unfold D2, D. rewrite <- sum_minus, <- sum_scal. eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros a Ha.
  assert (C : Rabs (e2 a - (q a - k a)) <= u64 * Rabs (q a - k a)) by (apply minus_close; [apply q_format, Ha|apply k_format, Ha]).
  set (z := q a - k a) in *. set (y := e2 a) in *.
  assert (C2 : Rabs (y - z) <= 1001/1000 * u64 * Rabs y).
  { assert (Z : Rabs z <= Rabs y + Rabs (y - z)).
    { replace z with (y - (y - z)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    apply (Rmult_le_compat_l u64) in Z; [|lra]. pose proof (Rabs_pos (y - z)). pose proof (Rabs_pos y).
    assert (u64 * Rabs (y - z) <= / 1000000000 * Rabs (y - z)) by (apply Rmult_le_compat_r; lra).
    assert (0 <= u64 * Rabs y) by (apply Rmult_le_pos; lra). lra. }
  replace (y * y - z * z) with ((y - z) * (2 * y - (y - z))) by ring. rewrite Rabs_mult.
  assert (Y : y * y = Rabs y * Rabs y) by (rewrite <- Rabs_mult; symmetry; apply Rabs_pos_eq, Rle_0_sqr). rewrite Y.
  pose proof (Rabs_pos y) as Py. set (Y' := Rabs y) in *.
  assert (T : Rabs (2 * y - (y - z)) <= 2001/1000 * Y').
  { unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq 2) by lra. fold Y'.
    assert (1001/1000 * u64 * Y' <= 1001/1000 * / 1000000000 * Y') by (apply Rmult_le_compat_r; lra). lra. }
  apply Rle_trans with (1001/1000 * u64 * Y' * (2001/1000 * Y')).
  { apply Rmult_le_compat; try apply Rabs_pos; assumption. }
  assert (0 <= u64 * (Y' * Y')) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]). lra. }
assert (GD : g * D2 <= / 1000000 * D2) by (apply Rmult_le_compat_r; lra).
assert (UD : u64 * D2 <= / 1000000000 * D2) by (apply Rmult_le_compat_r; lra).
apply Rabs_le_inv in DO as DO'.
assert (B2 : D2 <= (1 + 10001/10000 * g) * dot + 2 * tiny_all).
{ assert (D2 * (1 - g) <= dot + tiny_all) by lra. assert (Pg : 0 <= g * dot) by (apply Rmult_le_pos; lra).
  assert (Pt : 0 <= tiny_all) by apply bpow_ge_0.
  assert (g * (D2 * (1 - g)) <= g * (dot + tiny_all)) by (apply Rmult_le_compat_l; lra).
  assert (g * tiny_all <= / 1000000 * tiny_all) by (apply Rmult_le_compat_r; lra).
  assert (Q0 : 0 <= g * D2) by (apply Rmult_le_pos; lra).
  assert (g * (g * D2) <= / 1000000 * (g * D2)) by (apply Rmult_le_compat_r; lra).
  assert (g * D2 <= g * dot * (100005/100000) + / 1000 * tiny_all) by lra. lra. }
assert (M : Rabs (D - dot) <= (g + 202/100 * u64) * D2 + tiny_all).
{ replace (D - dot) with (- (D2 - D) - (dot - D2)) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_Ropp. 
  assert (0 <= u64 * D2) by (apply Rmult_le_pos; lra). lra. }
assert (V1 : 0 <= v * u64 <= / 1073741824 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (E : Rabs (D - dot) <= rel * dot + tiny).
{ apply Rle_trans with (1 := M).
  assert (Tt : tiny_all <= / 1000 * tiny).
  { apply Rle_trans with (pow2 (-10) * tiny); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [apply bpow_ge_0|change (pow2 (-10)) with (/ 1024); lra]. }
  assert (Pg : 0 <= g + 202/100 * u64 <= / 1000000) by lra.
  assert ((g + 202/100 * u64) * D2 <= (g + 202/100 * u64) * ((1 + 10001/10000 * g) * dot + 2 * tiny_all)) by (apply Rmult_le_compat_l; lra).
  assert (Pt : 0 <= tiny_all) by apply bpow_ge_0.
  assert ((g + 202/100 * u64) * (2 * tiny_all) <= / 1000000 * (2 * tiny_all)) by (apply Rmult_le_compat_r; lra).
  assert (gd : g * g * dot <= / 50 * u64 * dot) by (apply Rmult_le_compat_r; lra).
  assert (ug : u64 * (g * dot) <= u64 * (/ 1000000 * dot)) by (apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_r; lra]).
  assert (gv : g * dot <= (v + / 50 * u64) * dot) by (apply Rmult_le_compat_r; lra).
  assert (rd : (v + 29/10 * u64) * dot <= rel * dot) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * dot) by (apply Rmult_le_pos; lra). lra. }
assert (Pr : 0 <= rel * dot) by (apply Rmult_le_pos; lra).
assert (Pt : 0 <= tiny) by apply bpow_ge_0. assert (EM := eta_many). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (L := low_sum _ _ _ _ _ _ _ _ 2 (low_one _ Pr) (low_given tiny tiny (conj Pt (Rle_refl _))) ltac:(lra) ltac:(lra)).
unfold distance_error. fold rel. replace 3 with (2 + 1) by ring.
apply (near_of _ _ _ _ _ _ L E); [lra|apply add_tiny, rnd_pos, Pr|lra|apply rnd_format].
Qed.

(* scaled_product: a score without bias, slope and temperature; c: the scale, ch in double, off by at most ec *)
Variables (c ch ec : R) (ts : tree).
Hypothesis scale : Rabs (ch - c) <= ec.
Hypothesis scale_near : ec <= pow2 (-30) * Rabs ch.
Hypothesis ch_format : format64 ch.

Definition product_error (dot size ch ec : R) : R :=
  rnd64 (rnd64 (rnd64 (relative_c d * rnd64 (Rabs ch * size)) + rnd64 (ec * size)) +
    rnd64 (rnd64 (rnd64 (INR d + 2) * tiny) * rnd64 (1 + Rabs ch))).

Lemma product_near_score : dotted t d q k -> dotted ts d (fun a => Rabs (q a)) (fun a => Rabs (k a)) ->
  near (c * sum d (fun a => q a * k a)) (rnd64 (ch * fl rnd64 rnd64 t))
    (product_error (fl rnd64 rnd64 t) (fl rnd64 rnd64 ts) ch ec) 8.
Proof.
intros Ht Hs. assert (U := u64_size). assert (DO := dotted_off _ _ _ _ Ht short). assert (DS := dotted_off _ _ _ _ Hs short).
cbv beta in DS. destruct (gamma_small d short) as [G [gg G3]]. set (g := (1 + u64) ^ S d - 1) in *.
assert (RE := relative_enough d short).
set (dot := fl rnd64 rnd64 t) in *. set (size := fl rnd64 rnd64 ts) in *. set (rel := relative_c d) in *. set (v := INR (S d) * u64) in *.
set (D := sum d (fun a => q a * k a)) in *. set (A := sum d (fun a => Rabs (q a) * Rabs (k a))) in *.
rewrite (sum_ext d (fun j => Rabs (Rabs (q j)) * Rabs (Rabs (k j))) (fun j => Rabs (q j) * Rabs (k j))) in DS by (intros; rewrite !Rabs_Rabsolu; reflexivity).
fold A in DS.
assert (PA : 0 <= A) by (apply sum_nonneg; intros; apply Rmult_le_pos; apply Rabs_pos).
assert (DA : Rabs D <= A).
{ eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros; rewrite Rabs_mult; apply Rle_refl. }
assert (Ps : 0 <= size).
{ destruct Hs as [Z [S _]]. apply (fl_sum_pos _ _ _ _ Z S). intros; apply Rmult_le_pos; apply Rabs_pos. }
assert (V0 : 0 <= v) by (apply Rmult_le_pos; [apply pos_INR|lra]).
assert (Pec : 0 <= ec) by (eapply Rle_trans; [apply Rabs_pos|exact scale]).
assert (Pt : 0 <= tiny_all) by apply bpow_ge_0. assert (Tn : 0 <= tiny) by apply bpow_ge_0.
assert (Tt : tiny_all <= / 1000 * tiny).
{ apply Rle_trans with (pow2 (-10) * tiny); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [apply bpow_ge_0|change (pow2 (-10)) with (/ 1024); lra]. }
assert (B : A <= (1 + 10001/10000 * g) * size + 2 * tiny_all).
{ apply Rabs_le_inv in DS. assert (A * (1 - g) <= size + tiny_all) by lra. assert (Pg : 0 <= g * size) by (apply Rmult_le_pos; lra).
  assert (g * (A * (1 - g)) <= g * (size + tiny_all)) by (apply Rmult_le_compat_l; lra).
  assert (g * tiny_all <= / 1000000 * tiny_all) by (apply Rmult_le_compat_r; lra).
  assert (Q0 : 0 <= g * A) by (apply Rmult_le_pos; lra).
  assert (g * (g * A) <= / 1000000 * (g * A)) by (apply Rmult_le_compat_r; lra).
  assert (g * A <= g * size * (100005/100000) + / 1000 * tiny_all) by lra. lra. }
set (C := Rabs ch) in *. assert (PC : 0 <= C) by apply Rabs_pos.
set (y := rnd64 (ch * dot)).
assert (E : Rabs (c * D - y) <= rel * (C * size) + ec * size + tiny * (1 + C)).
{ assert (R := rounded (ch * dot)). fold y in R. rewrite Rabs_mult in R. fold C in R.
  assert (DD : Rabs dot <= A + (g * A + tiny_all)).
  { replace dot with (D + (dot - D)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  replace (c * D - y) with (- (y - ch * dot) + - (ch * (dot - D)) + - ((ch - c) * D)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
  rewrite !Rabs_Ropp, !Rabs_mult. fold C.
  assert (X1 : C * Rabs (dot - D) <= C * (g * A + tiny_all)) by (apply Rmult_le_compat_l; lra).
  assert (X2 : Rabs (ch - c) * Rabs D <= ec * A) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
  assert (X3 : u64 * (C * Rabs dot) <= u64 * (C * (A + (g * A + tiny_all)))).
  { apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
  set (P := C * size) in *. assert (PP : 0 <= P) by (apply Rmult_le_pos; lra).
  assert (CA : C * A <= (1 + 10001/10000 * g) * P + 2 * (C * tiny_all)).
  { apply (Rmult_le_compat_l C) in B; [|exact PC]. unfold P. lra. }
  set (CT := C * tiny_all) in *. assert (PCT : 0 <= CT) by (apply Rmult_le_pos; lra).
  assert (CTt : CT <= / 1000 * (C * tiny)).
  { apply Rle_trans with (C * (/ 1000 * tiny)); [apply Rmult_le_compat_l; lra|lra]. }
  assert (PCA : 0 <= C * A) by (apply Rmult_le_pos; lra).
  assert (Y1 : (g + u64 * (1 + g)) * (C * A) <= (g + u64 * (1 + g)) * ((1 + 10001/10000 * g) * P + 2 * CT)).
  { apply Rmult_le_compat_l; [|exact CA]. assert (0 <= u64 * (1 + g)) by (apply Rmult_le_pos; lra). lra. }
  assert (ug0 : 0 <= u64 * g <= / 1000000 * u64) by (split; [apply Rmult_le_pos; lra|rewrite Rmult_comm; apply Rmult_le_compat_r; lra]).
  assert (Y2 : (g + u64 * (1 + g)) * (2 * CT) <= / 1000 * (2 * CT)) by (apply Rmult_le_compat_r; lra).
  assert (Y3 : (g + u64 * (1 + g)) * (1 + 10001/10000 * g) <= v + 12/10 * u64).
  { assert (u64 * g * g <= / 1000000 * u64 * / 1000000) by (apply Rmult_le_compat; lra). lra. }
  assert (Y4 : (g + u64 * (1 + g)) * (1 + 10001/10000 * g) * P <= (v + 12/10 * u64) * P) by (apply Rmult_le_compat_r; lra).
  assert (Z1 : ec * A <= ec * ((1 + 10001/10000 * g) * size + 2 * tiny_all)) by (apply Rmult_le_compat_l; lra).
  change (pow2 (-30)) with (/ 1073741824) in scale_near.
  assert (Z2 : ec * size <= / 1073741824 * P).
  { apply Rle_trans with (/ 1073741824 * C * size); [apply Rmult_le_compat_r; lra|unfold P; lra]. }
  assert (Z3 : g * (ec * size) <= g * (/ 1073741824 * P)) by (apply Rmult_le_compat_l; lra).
  assert (Z4 : / 1073741824 * g <= / 7 * u64).
  { unfold v in *. change (pow2 (-30)) with (/ 1073741824) in short. change (u64) with (/ 9007199254740992) in *. lra. }
  assert (Z5 : / 1073741824 * g * P <= / 7 * u64 * P) by (apply Rmult_le_compat_r; lra).
  assert (Z6 : ec * tiny_all <= / 1073741824 * CT).
  { apply Rle_trans with (/ 1073741824 * C * tiny_all); [apply Rmult_le_compat_r; lra|unfold CT; lra]. }
  assert (Z7 : (v + 29/10 * u64) * P <= rel * P) by (apply Rmult_le_compat_r; lra).
  assert (UP : 0 <= u64 * P) by (apply Rmult_le_pos; lra).
  assert (UC : u64 * CT <= / 1000 * CT) by (apply Rmult_le_compat_r; lra).
  assert (N := tiny_small). assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
  unfold CT in *. lra. }
assert (Pr : 0 <= rel) by lra.
assert (EM := eta_many). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
assert (Fc : format64 C) by (apply generic_format_abs, ch_format).
assert (LC := plus_low 1 C F1 Fc ltac:(lra) PC).
assert (TL := proj1 (tiny_low d d (le_n d))). assert (T2 := proj2 (tiny_low d d (le_n d))).
assert (LT := low_less _ _ tiny _ _ TL ltac:(lra)).
assert (L3 := low_times _ _ _ _ _ _ 6 LT LC ltac:(lra)).
assert (PCs : 0 <= C * size) by (apply Rmult_le_pos; lra).
unfold product_error. fold rel. fold C.
assert (L1 := low_prod rel 1 _ _ 1 eta 2 (low_one (C * size) PCs) ltac:(lra) ltac:(lra)).
assert (L2 := low_one (ec * size) ltac:(apply Rmult_le_pos; lra)).
assert (L := low_sum _ _ _ _ _ _ _ _ 7 (low_sum _ _ _ _ _ _ _ _ 3 L1 L2 ltac:(lra) ltac:(lra)) L3 ltac:(lra) ltac:(lra)).
replace 8 with (7 + 1) by ring.
apply (near_of _ _ _ _ _ _ L E); [lra| |lra|apply rnd_format].
assert (GE : forall z, tiny <= z -> tiny <= rnd64 z).
{ intros z Hz. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_bpow; lia|exact Hz]. }
apply GE. assert (H1 := proj1 (proj2 (low_sum _ _ _ _ _ _ _ _ 3 L1 L2 ltac:(lra) ltac:(lra)))).
match goal with |- _ <= ?a + rnd64 (?b * ?c) => assert (H2 : tiny <= rnd64 (b * c)); [|lra] end.
apply GE.
assert (A1 : 2 * tiny * (1 - 4 * u64) <= rnd64 (rnd64 (INR d + 2) * tiny)).
{ destruct TL as [_ [_ [_ [_ TL]]]]. assert (2 * tiny * (1 - 4 * u64) <= (INR d + 2) * tiny * (1 - 4 * u64)) by (apply Rmult_le_compat_r; lra). lra. }
assert (A2 : 1 <= rnd64 (1 + C)).
{ apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact F1|lra]. }
assert (u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra).
apply Rle_trans with (rnd64 (rnd64 (INR d + 2) * tiny) * 1); [lra|]. apply Rmult_le_compat_l; lra.
Qed.
End Dots.

(* finished_score: bias and slope, where there are any *)
Section Extras.
Variables (X y e K b slope k : R).
Hypothesis known : near X y e K.
Hypothesis K_small : K <= 20.
Hypothesis y_format : format64 y.
Hypothesis b_format : format64 b.
Let step := rnd64 (slope * k).
Definition extras_y (y b step : R) : R := rnd64 (y + rnd64 (b + step)).
Definition extras_error (y e b step : R) : R :=
  rnd64 (e + rnd64 (rnd64 (4 * u64 * rnd64 (rnd64 (Rabs y + Rabs b) + Rabs step)) + tiny)).

Lemma extras_near : near (X + b + slope * k) (extras_y y b step) (extras_error y e b step) (K + 7).
Proof.
destruct known as [N [Te Fme]]. assert (U := u64_size). assert (K0 : 0 <= K) by apply N.
assert (EM := eta_many). assert (N0 := bpow_ge_0 radix2 (-1075)). assert (Tn : 0 <= tiny) by apply bpow_ge_0.
pose proof (Rabs_pos y) as Py. pose proof (Rabs_pos b) as Pb. pose proof (Rabs_pos step) as Ps.
assert (L1 := low_sum _ _ _ _ _ _ _ _ 2 (low_one (Rabs y + Rabs b) ltac:(lra)) (low_given _ _ (conj Ps (Rle_refl _))) ltac:(lra) ltac:(lra)).
assert (L2 := low_prod (4 * u64) 1 _ _ _ _ 3 L1 ltac:(lra) ltac:(lra)).
assert (L3 := low_sum _ _ _ _ _ _ _ _ 4 L2 (low_given tiny tiny (conj Tn (Rle_refl _))) ltac:(lra) ltac:(lra)).
assert (L := low_sum _ _ _ _ _ _ _ _ (K + 6) N (low_weak _ _ _ _ (K + 5) _ L3 ltac:(lra) (Rle_refl _)) ltac:(lra) ltac:(lra)).
unfold extras_error. replace (K + 7) with (K + 6 + 1) by ring.
eapply near_of; [exact L| |lra| |lra|apply rnd_format].
2: { apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_bpow; lia|]. pose proof (proj1 (proj2 L3)). lra. }
clear L1 L2 L3 L. unfold extras_y.
assert (Fs : format64 step) by apply rnd_format.
assert (R1 := rounded_by (slope * k)). fold step in R1.
assert (C1 := plus_close b step b_format Fs). set (m := rnd64 (b + step)) in *.
assert (C2 := plus_close y m y_format (rnd_format _)). set (z := rnd64 (y + m)) in *.
assert (T := Rabs_triang). assert (B1 : Rabs (b + step) <= Rabs b + Rabs step) by apply T.
assert (U1 : u64 * Rabs (b + step) <= u64 * (Rabs b + Rabs step)) by (apply Rmult_le_compat_l; lra).
assert (Bm : Rabs m <= Rabs b + Rabs step + u64 * (Rabs b + Rabs step)).
{ replace m with ((b + step) + (m - (b + step))) by ring. eapply Rle_trans; [apply T|]. lra. }
assert (U2 : u64 * Rabs (y + m) <= u64 * (Rabs y + (Rabs b + Rabs step + u64 * (Rabs b + Rabs step)))).
{ apply Rmult_le_compat_l; [lra|]. eapply Rle_trans; [apply T|]. lra. }
assert (U3 : u64 * (u64 * (Rabs b + Rabs step)) <= / 1000 * (u64 * (Rabs b + Rabs step))).
{ apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]. }
assert (Uy : 0 <= u64 * Rabs y) by (apply Rmult_le_pos; lra). assert (Ub : 0 <= u64 * Rabs b) by (apply Rmult_le_pos; lra).
assert (Us : 0 <= u64 * Rabs step) by (apply Rmult_le_pos; lra).
replace (X + b + slope * k - z) with ((X - y) - (step - slope * k) - (m - (b + step)) - (z - (y + m))) by ring.
unfold Rminus at 1. eapply Rle_trans; [apply T|]. rewrite Rabs_Ropp.
unfold Rminus at 1. eapply Rle_trans; [apply Rplus_le_compat_r, T|]. rewrite Rabs_Ropp.
unfold Rminus at 1. eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, T|]. rewrite Rabs_Ropp.
assert (u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra). lra.
Qed.
End Extras.

(* The temperature, where it is not 1: i its inverse, f in double, off by at most fe. *)
Section Temperature.
Variables (X y e K i f fe : R).
Hypothesis known : near X y e K.
Hypothesis K_small : K <= 30.
Hypothesis f_off : Rabs (i - f) <= fe.
Hypothesis f_format : format64 f /\ format64 fe /\ 0 <= f.
Definition tempered_error (y e f fe : R) : R :=
  rnd64 (rnd64 (rnd64 (rnd64 (e * rnd64 (f + fe)) + rnd64 (fe * Rabs y)) + rnd64 (2 * u64 * Rabs (rnd64 (y * f)))) + tiny).

Lemma tempered_near : near (X * i) (rnd64 (y * f)) (tempered_error y e f fe) (K + 6).
Proof.
destruct known as [N [Te Fme]]. assert (U := u64_size). assert (K0 : 0 <= K) by apply N. destruct f_format as [Ff [Ffe Pf]].
assert (Pfe : 0 <= fe) by (eapply Rle_trans; [apply Rabs_pos|exact f_off]).
assert (EM := eta_many). assert (N0 := bpow_ge_0 radix2 (-1075)). assert (Tn : 0 <= tiny) by apply bpow_ge_0.
unfold tempered_error. set (p := rnd64 (y * f)).
assert (L1 := low_times _ _ _ _ _ _ (K + 2) N (plus_low f fe Ff Ffe Pf Pfe) ltac:(lra)).
assert (L2 := low_one (fe * Rabs y) ltac:(apply Rmult_le_pos; [exact Pfe|apply Rabs_pos])).
assert (L3 := low_one (2 * u64 * Rabs p) ltac:(apply Rmult_le_pos; [lra|apply Rabs_pos])).
assert (L4 := low_sum _ _ _ _ _ _ _ _ (K + 4) (low_sum _ _ _ _ _ _ _ _ (K + 3) L1 L2 ltac:(lra) ltac:(lra)) L3 ltac:(lra) ltac:(lra)).
assert (L := low_sum _ _ _ _ _ _ _ _ (K + 5) L4 (low_given tiny tiny (conj Tn (Rle_refl _))) ltac:(lra) ltac:(lra)).
replace (K + 6) with (K + 5 + 1) by ring.
eapply near_of; [exact L| |lra| |lra|apply rnd_format].
2: { apply add_tiny. apply L4. }
clear L1 L2 L3 L4 L. assert (R1 := rounded_by (y * f)). fold p in R1.
replace (X * i - p) with ((X - y) * i + y * (i - f) - (p - y * f)) by ring.
unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite !Rabs_mult.
assert (Rabs (X - y) * Rabs i <= Rabs (X - y) * (f + fe)).
{ apply Rmult_le_compat_l; [apply Rabs_pos|]. replace i with (f + (i - f)) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_pos_eq f) by exact Pf. lra. }
assert (Rabs y * Rabs (i - f) <= Rabs y * fe) by (apply Rmult_le_compat_l; [apply Rabs_pos|exact f_off]).
assert (0 <= u64 * Rabs p) by (apply Rmult_le_pos; [lra|apply Rabs_pos]).
assert (u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra). lra.
Qed.
End Temperature.
