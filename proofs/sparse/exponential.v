(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The double tier of the Gaussian: weights that are exponentials, the way exponential_deviation in
   src/sparse/line.c bounds them, and the radius of the output. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import problem.row enclosure.exp_method enclosure.summation softmax.radius softmax.weight softmax.terms
  sparse.power sparse.threshold sparse.mean sparse.deviation sparse.rows sparse.arguments sparse.shift sparse.threshold_row sparse.kernel_power sparse.radius.
Import ITZ.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

(* ---- exponentials ---- *)

(* growth: at least e^h - 1 *)
Definition grown (h G : R) : Prop :=
  (h <= / 2 /\ G = rnd64 (rnd64 (h * rnd64 (1 + rnd64 (2 * h))) * (1 + 4 * u64))) \/
  (/ 2 < h /\ exists e, is_exp h e /\ G = rnd64 (e * (1 + 4 * u64))).

Lemma grown_enough h G : pow2 (-1001) <= h <= 700 -> format64 h -> grown h G -> (exp h - 1) * (1 - / 1000000000000) <= G.
Proof.
intros Hh Fh HG. assert (U := u64_size). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (U15 : u64 <= / 1000000000000000) by (change u64 with (/ 9007199254740992); lra).
assert (P : 0 < h) by (apply Rlt_le_trans with (2 := proj1 Hh), bpow_gt_0).
destruct HG as [[H2 ->]|[H2 [e [HE ->]]]].
- assert (X : exp h - 1 <= h * (1 + 2 * h)).
  { assert (I : exp h * (1 - h) <= 1).
    { replace 1 with (exp h * exp (- h)) at 2 by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      apply Rmult_le_compat_l; [left; apply exp_pos|]. pose proof (exp_above (- h)). lra. }
    assert (exp h <= 1 + h * (1 + 2 * h)); [|lra].
    apply (Rmult_le_reg_r (1 - h)); [lra|]. apply Rle_trans with (1 := I).
    assert (0 <= h * h * (1 - 2 * h)) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]). lra. }
  assert (Ee : eta <= / 1000000000000000 * h).
  { apply Rle_trans with (pow2 (-50) * pow2 (-1001)); [rewrite <- bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat; try apply bpow_ge_0; [change (pow2 (-50)) with (/ 1125899906842624); lra|apply Hh]. }
  assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
  assert (C2 := plus_close h h Fh Fh). replace (h + h) with (2 * h) in C2 by ring. rewrite (Rabs_pos_eq (2 * h)) in C2 by lra. apply Rabs_le_inv in C2.
  assert (Uh : u64 * (2 * h) <= / 1000000000000000 * (2 * h)) by (apply Rmult_le_compat_r; lra).
  set (b := rnd64 (2 * h)) in *.
  assert (C3 := plus_close 1 b F1 (rnd_format _)). rewrite (Rabs_pos_eq (1 + b)) in C3 by lra. apply Rabs_le_inv in C3.
  assert (Ub : u64 * (1 + b) <= / 1000000000000000 * (1 + b)) by (apply Rmult_le_compat_r; lra).
  set (c := rnd64 (1 + b)) in *.
  assert (C4 : (1 + 2 * h) * (1 - 3 * / 1000000000000000) <= c) by lra.
  assert (M : h * ((1 + 2 * h) * (1 - 3 * / 1000000000000000)) <= h * c) by (apply Rmult_le_compat_l; lra).
  assert (Q1 := proj1 (product_near h c ltac:(lra) ltac:(lra))). set (d := rnd64 (h * c)) in *.
  assert (Pd : 0 <= d) by (apply rnd_pos, Rmult_le_pos; lra).
  assert (Uhc : h * c * u64 <= h * c * / 1000000000000000) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  assert (Q2 := proj1 (product_near d (1 + 4 * u64) Pd ltac:(lra))).
  assert (Ud : 0 <= d * u64 <= d * / 1000000000000000) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
  assert (Udd : d * (1 + 4 * u64) * u64 <= d * (1 + 4 * u64) * / 1000000000000000) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  set (m := h * (1 + 2 * h)) in *. assert (Hm : h <= m) by (unfold m; assert (0 <= h * h) by (apply Rmult_le_pos; lra); lra).
  assert (E0 : 0 <= exp h - 1) by (pose proof (exp_above h); lra).
  assert (M' : m * (1 - 3 * / 1000000000000000) <= h * c) by (unfold m; lra).
  lra.
- destruct HE as [P0 [H1 _]]. specialize (H1 ltac:(lra)). apply Rabs_le_inv in H1.
  assert (Ex := exp_pos h). assert (Ux : u64 * exp h <= / 1000000000000000 * exp h) by (apply Rmult_le_compat_r; lra).
  assert (Q2 := proj1 (product_near e (1 + 4 * u64) P0 ltac:(lra))).
  assert (Ue : 0 <= e * u64 <= e * / 1000000000000000) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
  assert (Udd : e * (1 + 4 * u64) * u64 <= e * (1 + 4 * u64) * / 1000000000000000) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  assert (E75 : eta <= / 1000000) by (apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|change (pow2 (-20)) with (/ 1048576); lra]).
  lra.
Qed.

Section Exponential.
(* the argument less the largest, in double, and its exponential; the exact one moves by at most h *)
Variables (x w h G fall Y : R).
Hypothesis x_small : x <= 0.
Hypothesis w_exp : is_exp x w.
Hypothesis w_format : format64 w.
Hypothesis h_range : pow2 (-1001) <= h <= 700.
Hypothesis h_format : format64 h.
Hypothesis G_grown : grown h G.
Hypothesis fall_exp : is_exp (- h) fall.
Hypothesis moved : Rabs (Y - x) <= h.
Definition exp_off (w G : R) : R := rnd64 (rnd64 (rnd64 (Rmax w (pow2 (-1019)) * rnd64 (G + 4 * u64)) * slack) + tiny).
Definition exp_below (w fall : R) : R :=
  let l := rnd64 (rnd64 (w * fall) * (1 - pow2 (-40))) in if Rle_dec tiny l then l else 0.

(** theorem: exponential_deviation — a weight exp y of the double tier of the sparse kernels, one that was flushed to 0 too, is within off of that of any argument within h <= 700 of y, and no such weight is below what exponential_deviation returns, with its own roundings. used by: src/sparse/line.c *)
Theorem exponential_deviation :
  Rabs (exp Y - w) <= exp_off w G /\ exp_below w fall <= exp Y /\ pow2 (-1001) <= exp_off w G /\
  (exp_below w fall = 0 \/ pow2 (-1022) <= exp_below w fall).
Proof.
assert (U := u64_size). assert (N := tiny_small). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (U15 : u64 <= / 1000000000000000) by (change u64 with (/ 9007199254740992); lra).
assert (GE := grown_enough h G h_range h_format G_grown).
assert (Ph : 0 < h) by (apply Rlt_le_trans with (2 := proj1 h_range), bpow_gt_0).
assert (Ey := exp_pos Y). assert (Ex := exp_pos x). assert (Eh := exp_pos h). assert (Emh := exp_pos (- h)).
assert (Hh := exp_above h).
apply Rabs_le_inv in moved.
assert (mono : forall a b, a <= b -> exp a <= exp b).
{ intros a b [L| ->]; [left; apply exp_increasing, L|apply Rle_refl]. }
assert (Yhi : exp Y <= exp x * exp h) by (rewrite <- exp_plus; apply mono; lra).
assert (Ylo : exp x * exp (- h) <= exp Y) by (rewrite <- exp_plus; apply mono; lra).
assert (PG : 0 <= G) by (assert (0 <= (exp h - 1) * (1 - / 1000000000000)) by (apply Rmult_le_pos; lra); lra).
destruct w_exp as [W0 [W1 W2]].
set (g := exp h - 1) in *. assert (Eg : exp h = 1 + g) by (unfold g; ring). assert (Pg : 0 < g) by lra.
(* the off that C computes *)
assert (FG : format64 G) by (destruct G_grown as [[_ ->]|[_ [e [_ ->]]]]; apply rnd_format).
set (M := Rmax w (pow2 (-1019))). assert (M1 : w <= M) by apply Rmax_l. assert (M2 : pow2 (-1019) <= M) by apply Rmax_r.
assert (P19 : 0 < pow2 (-1019)) by apply bpow_gt_0.
assert (Off : M * (g + 3 * u64) * (1 + / 2097152) + / 2 * tiny <= exp_off w G).
{ unfold exp_off. fold M. assert (Ps : 0 <= G + 4 * u64) by lra.
  assert (R1 := rounded (G + 4 * u64)). rewrite (Rabs_pos_eq _ Ps) in R1. apply Rabs_le_inv in R1. set (a := rnd64 (G + 4 * u64)) in *.
  assert (Eu : eta <= / 1000 * u64).
  { apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
  assert (u64 * (G + 4 * u64) <= / 1000000000000000 * (G + 4 * u64)) by (apply Rmult_le_compat_r; lra).
  assert (A1 : (g + 3 * u64) * (1 - / 100000000000) <= a) by lra.
  assert (Pa : 0 <= a) by (apply rnd_pos, Ps).
  assert (A2 : M * ((g + 3 * u64) * (1 - / 100000000000)) <= M * a) by (apply Rmult_le_compat_l; lra).
  assert (Q1 := proj1 (product_near M a ltac:(lra) Pa)). set (b := rnd64 (M * a)) in *. assert (Pb : 0 <= b) by (apply rnd_pos, Rmult_le_pos; lra).
  assert (Psl : 0 <= slack) by (change (pow2 (-20)) with (/ 1048576); lra).
  assert (Q2 := proj1 (product_near b slack Pb Psl)). set (c := rnd64 (b * slack)) in *. assert (Pc : 0 <= c) by (apply rnd_pos, Rmult_le_pos; assumption).
  assert (Pt : 0 <= c + tiny) by lra.
  assert (R2 := rounded (c + tiny)). rewrite (Rabs_pos_eq _ Pt) in R2. apply Rabs_le_inv in R2.
  change (pow2 (-20)) with (/ 1048576) in *.
  assert (M * a * u64 <= M * a * / 1000000000000000) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  assert (b * (1 + / 1048576) * u64 <= b * (1 + / 1048576) * / 1000000000000000) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  assert (u64 * (c + tiny) <= / 1000000000000000 * (c + tiny)) by (apply Rmult_le_compat_r; lra).
  assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
  set (m := M * (g + 3 * u64)) in *. assert (Pm : 0 <= m) by (apply Rmult_le_pos; lra).
  assert (A3 : m * (1 - / 100000000000) <= M * a) by (unfold m; lra). lra. }
assert (Big : pow2 (-1001) <= exp_off w G).
{ apply Rle_trans with (2 := Off). assert (pow2 (-1001) = / 2 * tiny) by (change (-1001)%Z with (-1 + -1000)%Z; rewrite bpow_plus; simpl (pow2 (-1)); lra).
  assert (0 <= M * (g + 3 * u64)) by (apply Rmult_le_pos; lra). lra. }
assert (Bel : exp_below w fall = 0 \/ pow2 (-1022) <= exp_below w fall).
{ unfold exp_below. cbv zeta. destruct Rle_dec as [L|]; [right|left; reflexivity]. apply Rle_trans with (2 := L), bpow_le. lia. }
destruct fall_exp as [F0 [F1 _]]. specialize (F1 ltac:(lra)). apply Rabs_le_inv in F1.
destruct (Rle_lt_dec (-707) x) as [LX|LX].
- specialize (W1 LX). apply Rabs_le_inv in W1.
  assert (Ux : u64 * exp x <= / 1000000000000000 * exp x) by (apply Rmult_le_compat_r; lra).
  assert (XW : exp x <= w * (1 + 201/100 * u64)).
  { assert (u64 * (exp x * (1 - 2 * u64)) <= u64 * w) by (apply Rmult_le_compat_l; lra).
    assert (u64 * (u64 * exp x) <= / 1000000000000000 * (u64 * exp x)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
    assert (0 <= u64 * exp x) by (apply Rmult_le_pos; lra). lra. }
  assert (Ug : 0 <= u64 * g) by (apply Rmult_le_pos; lra).
  split; [|split; [|split; assumption]].
  + rewrite Eg in Yhi.
    assert (B1 : exp x * (1 + g) <= w * (1 + 201/100 * u64) * (1 + g)) by (apply Rmult_le_compat_r; lra).
    assert (B2 : w * (g + 3 * u64) <= M * (g + 3 * u64)) by (apply Rmult_le_compat_r; lra).
    assert (Wg : 0 <= w * g) by (apply Rmult_le_pos; lra).
    assert (Wug : w * (u64 * g) <= w * (/ 1000000000000000 * g)) by (apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_r; lra]).
    assert (0 <= w * u64) by (apply Rmult_le_pos; lra).
    assert (B3 : exp x * (1 - g) <= exp x * exp (- h)).
    { apply Rmult_le_compat_l; [lra|]. assert (I : exp (- h) * (1 + g) = 1) by (rewrite <- Eg, <- exp_plus, Rplus_opp_l; apply exp_0).
      apply (Rmult_le_reg_r (1 + g)); [lra|]. rewrite I. assert (0 <= g * g) by (apply Rmult_le_pos; lra). lra. }
    assert (B4 : w - exp x <= 2 * u64 * exp x) by lra.
    assert (B5 : exp x * g <= w * (1 + 201/100 * u64) * g) by (apply Rmult_le_compat_r; lra).
    assert (B6 : u64 * exp x <= u64 * (w * (1 + 201/100 * u64))) by (apply Rmult_le_compat_l; lra).
    assert (w * (u64 * u64) <= w * (/ 1000000000000000 * u64)) by (apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_r; lra]).
    set (mm := M * (g + 3 * u64)) in *. assert (0 <= tiny) by apply bpow_ge_0.
    clear - B1 B2 Wg Wug H B3 B4 B5 B6 H0 H1 Off Yhi Ylo. apply Rabs_le. split; lra.
  + unfold exp_below. cbv zeta. destruct Rle_dec as [L|]; [|lra].
    assert (WX : w <= exp x * (1 + 2 * u64)) by lra.
    assert (Uf : u64 * exp (- h) <= / 1000000000000000 * exp (- h)) by (apply Rmult_le_compat_r; lra).
    assert (FX : fall <= exp (- h) * (1 + 2 * u64)) by lra.
    assert (WF : w * fall <= exp Y * ((1 + 2 * u64) * (1 + 2 * u64))).
    { apply Rle_trans with (exp x * (1 + 2 * u64) * (exp (- h) * (1 + 2 * u64))); [apply Rmult_le_compat; assumption|].
      replace (exp x * (1 + 2 * u64) * (exp (- h) * (1 + 2 * u64))) with (exp x * exp (- h) * ((1 + 2 * u64) * (1 + 2 * u64))) by ring.
      apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact Ylo]. }
    assert (Q1 := proj2 (product_near w fall W0 F0)). set (a := rnd64 (w * fall)) in *. assert (Pa : 0 <= a) by (apply rnd_pos, Rmult_le_pos; assumption).
    assert (P40 : 0 <= 1 - pow2 (-40)) by (change (pow2 (-40)) with (/ 1099511627776); lra).
    assert (Q2 := proj2 (product_near a (1 - pow2 (-40)) Pa P40)). set (l := rnd64 (a * (1 - pow2 (-40)))) in *.
    change (pow2 (-40)) with (/ 1099511627776) in *.
    assert (UU : 0 <= u64 * u64 <= / 1000000000000000 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (WF' : w * fall <= exp Y * (1 + 5 * / 1000000000000000)).
    { apply Rle_trans with (1 := WF). apply Rmult_le_compat_l; lra. }
    set (wf := w * fall) in *. assert (Pwf : 0 <= wf) by (apply Rmult_le_pos; assumption).
    assert (wf * u64 <= wf * / 1000000000000000) by (apply Rmult_le_compat_l; lra).
    assert (a * (1 - / 1099511627776) * u64 <= a * (1 - / 1099511627776) * / 1000000000000000) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
    assert (ET : eta <= / 1000000000000000 * / 1000 * tiny).
    { destruct N as [_ [N1 _]]. apply Rle_trans with (1 := N1). rewrite (Rmult_comm (/ 1000000)). assert (Pt : 0 < tiny) by apply bpow_gt_0.
      apply Rmult_le_compat_r; lra. }
    clearbody wf a l. clear - L Q1 Q2 WF' H H0 ET N0 Pwf Pa. lra.
- assert (Zw := W2 LX). 
  assert (Q3 := ln2_range). change (pow2 (-16)) with (/ 65536) in Q3.
  assert (X3 : exp x <= 52/100 * pow2 (-1019)).
  { assert (EB : pow2 (-1019) = exp (IZR (-1019) * ln 2)) by (rewrite bpow_exp; reflexivity).
    assert (X1 : exp x <= exp (IZR (-1019) * ln 2 - 66/100)) by (apply mono; lra).
    apply Rle_trans with (1 := X1). unfold Rminus. rewrite exp_plus, <- EB, Rmult_comm. apply Rmult_le_compat_r; [left; exact P19|].
    assert (I : exp (- (66/100)) * exp (66/100) = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
    (* e^0.33 squared is above 1.934 *)
    assert (J : 1.3909 <= exp (33/100)).
    { interval with (i_prec 40). }
    assert (K : exp (66/100) = exp (33/100) * exp (33/100)) by (rewrite <- exp_plus; f_equal; lra).
    assert (1.3909 * 1.3909 <= exp (33/100) * exp (33/100)) by (apply Rmult_le_compat; lra).
    pose proof (exp_pos (- (66/100))) as PE. set (e1 := exp (- (66/100))) in *. rewrite K in I.
    assert (e1 * (1.3909 * 1.3909) <= e1 * (exp (33/100) * exp (33/100))) by (apply Rmult_le_compat_l; lra). lra. }
  split; [|split; [|split; assumption]].
  + replace (exp Y - w) with (exp Y) by lra. rewrite Rabs_pos_eq by lra.
    assert (T19 : pow2 (-1019) <= / 1000 * tiny).
    { apply Rle_trans with (pow2 (-19) * tiny); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [apply bpow_ge_0|change (pow2 (-19)) with (/ 524288); lra]. }
    rewrite Eg in Yhi. assert (exp x * (1 + g) <= 52/100 * pow2 (-1019) * (1 + g)) by (apply Rmult_le_compat_r; lra).
    assert (pow2 (-1019) * (g + 3 * u64) <= M * (g + 3 * u64)) by (apply Rmult_le_compat_r; lra).
    assert (0 <= pow2 (-1019) * g) by (apply Rmult_le_pos; lra). assert (0 <= pow2 (-1019) * u64) by (apply Rmult_le_pos; lra).
    set (mm := M * (g + 3 * u64)) in *. clearbody mm g M. lra.
  + assert (Z0 : rnd64 0 = 0) by (unfold nearest; apply round_0, valid_rnd_N).
    unfold exp_below. cbv zeta. rewrite Zw, Rmult_0_l, Z0, Rmult_0_l, Z0. destruct Rle_dec as [L|]; lra.
Qed.
End Exponential.

(* ---- rows of exponentials ---- *)

Section Exponentials.
Variables (n vis : nat) (xs w h G fall v Y : nat -> R) (x a den far offs L : R) (least_t : tree).
(* arguments less L in double, and the exact ones *)
Hypothesis below : forall j, (j < vis)%nat -> xs j <= 0.
Hypothesis exps : forall j, (j < vis)%nat -> is_exp (xs j) (w j) /\ format64 (w j).
(* a larger h makes the radius infinite *)
Hypothesis ranges : forall j, (j < vis)%nat -> pow2 (-1001) <= h j <= 700 /\ format64 (h j).
Hypothesis growths : forall j, (j < vis)%nat -> grown (h j) (G j) /\ is_exp (- h j) (fall j).
Hypothesis arguments : forall j, (j < vis)%nat -> Rabs (Y j - L - xs j) <= h j.
Let off j := exp_off (w j) (G j).
Let low_w j := exp_below (w j) (fall j).
Hypothesis sums : row_sums n vis w off v x a den far offs.
Hypothesis leasts : added least_t vis vis low_w.
Let least := least_c vis (fl rnd64 rnd64 least_t).
Hypothesis least_pos : 0 < least.

Lemma exponentials_radius : Rabs (x - mean vis (fun j => exp (Y j)) v) <= mean_radius n vis a x den far offs least.
Proof.
assert (D : forall j, (j < vis)%nat -> Rabs (exp (Y j - L) - w j) <= off j /\ low_w j <= exp (Y j - L) /\
  pow2 (-1001) <= off j /\ (low_w j = 0 \/ pow2 (-1022) <= low_w j)).
{ intros j Hj. destruct (exps j Hj) as [E1 E2]. destruct (ranges j Hj) as [R1 R2]. destruct (growths j Hj) as [G1 G2].
  apply (exponential_deviation (xs j) (w j) (h j) (G j) (fall j) (Y j - L)); first [assumption|apply below, Hj|apply arguments, Hj]. }
assert (U := u64_size). destruct sums as [KN ID VF [nt [st [Tn [Ts [Ex Ea]]]]] [dt [Td Ed]] [ft [Tf Ef]] [ot [To Eo]] [F1 [F2 F3]] SW].
assert (N1 : INR n <= INR (S vis)) by (apply le_INR; lia).
assert (N2 : INR vis <= INR (S vis)) by (apply le_INR; lia).
assert (L22 : pow2 (-30) <= pow2 (-22)) by (apply bpow_le; lia).
assert (INR n * u64 <= INR (S vis) * u64) by (apply Rmult_le_compat_r; lra).
assert (INR vis * u64 <= INR (S vis) * u64) by (apply Rmult_le_compat_r; lra).
(* subtracting L from all arguments changes nothing *)
assert (EM : mean vis (fun j => exp (Y j)) v = mean vis (fun j => exp (Y j - L)) v).
{ rewrite <- (mean_scal vis (exp (- L)) (fun j => exp (Y j)) v).
  - apply mean_ext. intros j _. rewrite <- exp_plus. f_equal. ring.
  - apply Rgt_not_eq, exp_pos.
  - apply Rgt_not_eq. apply sum_all_pos; [|intros; apply exp_pos].
    destruct vis; [simpl in SW; lra|lia]. }
rewrite EM. rewrite Ex, Ea, Ef, Eo, Ed in *.
apply (sparse_mean n vis w (fun j => exp (Y j - L)) v off least nt st dt ft ot); try assumption.
- intros j Hj. destruct (ID j Hj) as [W0 O0]. exfalso. destruct (D j (proj2 Hj)) as [_ [_ [B _]]]. rewrite O0 in B.
  pose proof (bpow_gt_0 radix2 (-1001)). lra.
- intros j Hj. apply (exps j). lia.
- intros j Hj. right. apply D. lia.
- intros j Hj. apply D. lia.
- apply Rle_trans with (sum vis low_w).
  + apply least_enough; [exact leasts| |lra]. intros j Hj. apply D, Hj.
  + apply sum_le. intros j Hj. apply D, Hj.
- split; [lra|]. split; lra.
Qed.
End Exponentials.

Section Gaussian.
Variables (d n vis : nat) (q : nat -> R) (key : nat -> nat -> R) (f fe h2 : R) (t : nat -> tree) (v : nat -> R).
Variables (x a den far offs L : R) (least_t : tree) (w G fall : nat -> R).
Hypothesis short : INR (S d) * u64 <= pow2 (-30).
Hypothesis formats : forall a, (a < d)%nat -> format64 (q a).
Hypothesis key_formats : forall j a, (j < vis)%nat -> (a < d)%nat -> format64 (key j a).
(* 1/h^2 in double; half of it is one, too *)
Hypothesis h2_pos : 0 < h2.
Hypothesis f_off : Rabs (/ h2 - f) <= fe.
Hypothesis f_format : format64 (/ 2 * f) /\ format64 (/ 2 * fe).
Hypothesis dots : forall j, (j < vis)%nat -> dotted (t j) d (fun a => rnd64 (q a - key j a)) (fun a => rnd64 (q a - key j a)).
Let dot j := fl rnd64 rnd64 (t j).
Let y j := rnd64 (rnd64 (- (/ 2 * f) * dot j) + 0).
Let e0 j := put_c (affine_error (dot j) (distance_error d (dot j)) (- (/ 2 * f)) (/ 2 * fe) 0 0).
Hypothesis L_largest : format64 L /\ forall j, (j < vis)%nat -> y j <= L.
Let xs j := rnd64 (y j - L).
Let e j := argument_error (e0 j) (xs j).
Let h j := half_c (e j) 0.
Hypothesis exps : forall j, (j < vis)%nat -> is_exp (xs j) (w j) /\ format64 (w j).
Hypothesis h_small : forall j, (j < vis)%nat -> h j <= 700.
Hypothesis growths : forall j, (j < vis)%nat -> grown (h j) (G j) /\ is_exp (- h j) (fall j).
Let off j := exp_off (w j) (G j).
Hypothesis sums : row_sums n vis w off v x a den far offs.
Hypothesis leasts : added least_t vis vis (fun j => exp_below (w j) (fall j)).
Let least := least_c vis (fl rnd64 rnd64 least_t).
Hypothesis least_pos : 0 < least.

(** theorem: gaussian_radius — gaussian: the output of the weights exp(-|q - k_j|^2/(2 h^2)) is within the radius that the double tier computes, from queries and keys on, with its own roundings. used by: src/sparse/enclose.c, src/sparse/line.c *)
Theorem gaussian_radius :
  Rabs (x - mean vis (fun j => exp (- sum d (fun a => (q a - key j a) * (q a - key j a)) / (2 * h2))) v) <=
    mean_radius n vis a x den far offs least.
Proof.
assert (U := u64_size). assert (N := tiny_small). assert (N0 := bpow_ge_0 radix2 (-1075)).
destruct L_largest as [FL LL].
assert (P : forall j, (j < vis)%nat -> Rabs (- sum d (fun a => (q a - key j a) * (q a - key j a)) / (2 * h2) - L - xs j) <= e j /\ tiny <= e j).
{ intros j Hj. assert (D := distance_near d short q (key j) (t j) formats (fun a Ha => key_formats j a Hj Ha) (dots j Hj)). fold (dot j) in D.
  assert (FO : Rabs (- (/ 2 * / h2) - - (/ 2 * f)) <= / 2 * fe).
  { replace (- (/ 2 * / h2) - - (/ 2 * f)) with (- / 2 * (/ h2 - f)) by ring. rewrite Rabs_mult, Rabs_Ropp, Rabs_pos_eq by lra. lra. }
  assert (FF : format64 (- (/ 2 * f)) /\ format64 (/ 2 * fe)) by (split; [apply generic_format_opp|]; apply f_format).
  assert (SO : low 0 (Rabs (0 - 0)) 4 (2 * eta)) by (replace (0 - 0) with 0 by ring; rewrite Rabs_R0; repeat split; lra).
  assert (A := affine_near _ _ _ _ (- (/ 2 * / h2)) (- (/ 2 * f)) (/ 2 * fe) 0 0 0 D ltac:(lra) FO FF SO).
  destruct (put_near _ _ _ _ A ltac:(lra)) as [P1 [P2 P3]]. fold (y j) in P1. fold (e0 j) in P1, P2, P3.
  assert (C := minus_close (y j) L (rnd_format _) FL). fold (xs j) in C.
  assert (B : Rabs (xs j - (y j - L)) <= u64 * Rabs (xs j) * (1 + pow2 (-40))).
  { set (z := y j - L) in *. set (tt := xs j) in *.
    assert (Z : Rabs z <= Rabs tt + Rabs (tt - z)).
    { replace z with (tt - (tt - z)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    apply (Rmult_le_compat_l u64) in Z; [|lra]. pose proof (Rabs_pos (tt - z)). pose proof (Rabs_pos tt).
    assert (u64 * (u64 * Rabs tt) <= pow2 (-50) * (u64 * Rabs tt)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|apply bpow_le; lia]).
    assert (0 <= u64 * Rabs tt) by (apply Rmult_le_pos; lra).
    assert (u64 * Rabs (tt - z) <= u64 * (u64 * (Rabs tt + Rabs (tt - z)))) by (apply Rmult_le_compat_l; lra).
    assert (u64 * (u64 * Rabs (tt - z)) <= / 1000000000 * (u64 * Rabs (tt - z))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
    change (pow2 (-40)) with (/ 1099511627776). change (pow2 (-50)) with (/ 1125899906842624) in *. lra. }
  set (S := - (/ 2 * / h2) * sum d (fun a => (q a - key j a) * (q a - key j a)) + 0) in *.
  destruct (argument_error_large (Rabs (S - y j)) (Rabs (xs j - (y j - L))) (e0 j) (xs j) (Rabs_pos _) P1 B P2 P3) as [H1 H2].
  split; [|fold (e j) in H1; lra].
  replace (- sum d (fun a => (q a - key j a) * (q a - key j a)) / (2 * h2) - L - xs j) with ((S - y j) - (xs j - (y j - L))) by (unfold S; field; lra).
  unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. exact H2. }
assert (HC : forall j, (j < vis)%nat -> Rabs (- sum d (fun a => (q a - key j a) * (q a - key j a)) / (2 * h2) - L - xs j) <= h j /\ pow2 (-1001) <= h j).
{ intros j Hj. destruct (P j Hj) as [P1 P2]. split.
  - unfold h. apply half_covers; try lra; try apply rnd_format; [apply format_0].
  - apply Rle_trans with tiny; [apply bpow_le; lia|].
    assert (X : tiny <= rnd64 (e j + 0)) by (apply rnd_least; [apply format_bpow; lia|lra]).
    unfold h, half_c. apply rnd_least; [apply format_bpow; lia|]. change (pow2 (-20)) with (/ 1048576). lra. }
apply (exponentials_radius n vis xs w h G fall v (fun j => - sum d (fun a => (q a - key j a) * (q a - key j a)) / (2 * h2)) x a den far offs L least_t); try assumption.
- intros j Hj. unfold xs. apply rnd_most; [apply format_0|]. specialize (LL j Hj). lra.
- intros j Hj. split; [split; [apply HC, Hj|apply h_small, Hj]|apply rnd_format].
- intros j Hj. apply HC, Hj.
Qed.
End Gaussian.

(** theorem: single_key — where all keys but one have exact weight 0, the output is the value of that key. used by: src/sparse/enclose.c *)
Theorem single_key vis w v : (0 < vis)%nat -> (forall j, (0 < j < vis)%nat -> w j = 0) -> w 0%nat <> 0 -> mean vis w v = v 0%nat.
Proof.
intros P H W. assert (S : forall f, (forall j, (0 < j < vis)%nat -> f j = 0) -> sum vis f = f 0%nat).
{ intros f F. clear W H. induction vis as [|m IH]; [lia|]. simpl. destruct m as [|m]; [simpl; ring|].
  rewrite IH; [|lia|intros; apply F; lia]. rewrite (F (Datatypes.S m)) by lia. ring. }
unfold mean. rewrite !S; [field; exact W|exact H|]. intros j Hj. rewrite (H j Hj). ring.
Qed.
