(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Powers of any exponent in the double tier of the sparse kernels: bounded_power in src/sparse/line.c, with
   the logarithm and the exponential of src/enclosure. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative Binary.
From Attest Require Import problem.row enclosure.float_ops enclosure.log_isa enclosure.log_float enclosure.exp_float enclosure.exp_method enclosure.summation softmax.radius softmax.weight softmax.terms
  sparse.power sparse.mean sparse.deviation sparse.rows sparse.arguments sparse.threshold_row.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

(* What log64_error says. *)
Definition is_log (z l : R) : Prop := format64 l /\ Rabs (l - ln z) <= pow2 (-51) * (1 + Rabs (ln z)).

Lemma vd_log_is_log (x : binary_float 53 1024) : fin64 x = true -> pow2 (-1022) <= val64 x ->
  is_log (val64 x) (val64 (vd_log float64 x)).
Proof. intros F N. destruct (log64_error x F N) as [_ H]. split; [exact (generic_format_B2R 53 1024 _)|exact H]. Qed.

Section Kernel.
(* r in double is rv, off by at most re *)
Variables (r rv re : R) (lg p rel : R -> R).
Hypothesis r_off : Rabs (r - rv) <= re.
Hypothesis r_near : re <= pow2 (-40) * rv.
Hypothesis r_range : pow2 (-800) <= rv <= pow2 28.
Definition at_least_tiny (z : R) : R := Rmax z tiny.
Definition exponent_c (rv : R) (lg : R -> R) (z : R) : R := rnd64 (rv * lg (at_least_tiny z)).
Definition power_off_c (rv re l x : R) : R :=
  rnd64 (rnd64 (rnd64 (rnd64 (rv * pow2 (-51)) * rnd64 (1 + Rabs l)) + rnd64 (re * Rabs l)) + rnd64 (2 * u64 * Rabs x)).
Definition relative_of (off : R) : R := rnd64 (rnd64 (rnd64 (off + 3 * u64) * rnd64 (1 + rnd64 (2 * off))) * slack).
(* bounded_power; beyond EXP64_MAX it is infinite, and with it the radius *)
Record bounded_power : Prop := {
  logarithms : forall z, format64 z -> tiny <= z -> is_log z (lg z);
  exponentials : forall z, format64 z -> 0 < z -> exponent_c rv lg z <= 709 -> format64 (p z) /\ is_exp (exponent_c rv lg z) (p z);
  relatives : forall z, format64 z -> 0 < z -> exponent_c rv lg z <= 709 ->
    let e := relative_of (power_off_c rv re (lg (at_least_tiny z)) (exponent_c rv lg z)) in
    rel z = if Rlt_dec z tiny then 1 else if Rle_dec e (pow2 (-10)) then e else 1;
  beyond : forall z, format64 z -> 0 < z -> 709 < exponent_c rv lg z -> powered r z (p z) (rel z)
}.
Hypothesis kernel : bounded_power.

Lemma r_bounds : 0 < r /\ rv * (1 - / 1000000) <= r <= rv * (1 + / 1000000) /\ 0 <= re /\ 0 < rv.
Proof.
assert (B : pow2 (-40) <= / 1000000) by (apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|change (pow2 (-20)) with (/ 1048576); lra]).
assert (P : 0 < rv) by (apply Rlt_le_trans with (2 := proj1 r_range), bpow_gt_0).
assert (re <= / 1000000 * rv) by (apply Rle_trans with (1 := r_near), Rmult_le_compat_r; lra).
assert (0 <= re) by (eapply Rle_trans; [apply Rabs_pos|exact r_off]). apply Rabs_le_inv in r_off. lra.
Qed.

(* At an argument that is not tiny. *)
Section Argument.
Variable z : R.
Hypothesis z_format : format64 z.
Hypothesis z_large : tiny <= z.
Let l := lg z.
Let X := rnd64 (rv * l).
Hypothesis X_small : X <= 709.
Let L := ln z.

Lemma l_close : Rabs (l - L) <= pow2 (-51) * (1 + Rabs l) * (1 + pow2 (-49)).
Proof.
destruct (logarithms kernel z z_format z_large) as [_ H]. fold l L in H.
assert (B : pow2 (-49) = 4 * pow2 (-51)) by (change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity). rewrite B.
assert (P : 0 < pow2 (-51) <= / 1000000) by (split; [apply bpow_gt_0|apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|change (pow2 (-20)) with (/ 1048576); lra]]).
set (t := pow2 (-51)) in *. pose proof (Rabs_pos L). pose proof (Rabs_pos l). pose proof (Rabs_pos (l - L)).
assert (T : Rabs L <= Rabs l + Rabs (l - L)).
{ replace L with (l - (l - L)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (t * Rabs L <= t * (Rabs l + Rabs (l - L))) by (apply Rmult_le_compat_l; lra).
assert (t * Rabs (l - L) <= t * (t * (1 + Rabs l + Rabs (l - L)))) by (apply Rmult_le_compat_l; lra).
assert (t * (t * Rabs (l - L)) <= / 1000000 * (t * Rabs (l - L))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
assert (0 <= t * Rabs (l - L)) by (apply Rmult_le_pos; lra).
assert (0 <= t * t) by (apply Rmult_le_pos; lra). assert (0 <= t * t * Rabs l) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma X_close : Rabs (X - r * L) <=
  (rv * pow2 (-51) * (1 + Rabs l) + re * Rabs l + 2 * u64 * Rabs X) * (1 + pow2 (-30)).
Proof.
assert (C := l_close). assert (R := rounded_by (rv * l)). fold X in R. destruct r_bounds as [Pr [Br [Pe Pv]]].
pose proof (Rabs_pos l) as Pl. pose proof (Rabs_pos X) as PX. assert (U := u64_size). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (T51 : 0 < pow2 (-51)) by apply bpow_gt_0. set (t := pow2 (-51)) in *.
assert (Ee : eta <= / 2000000000 * (rv * t)).
{ apply Rle_trans with (pow2 (-800) * t * pow2 (-32)); [unfold t; rewrite <- !bpow_plus; apply bpow_le; lia|].
  rewrite (Rmult_comm (/ 2000000000)). change (pow2 (-32)) with (/ 4294967296).
  assert (pow2 (-800) * t <= rv * t) by (apply Rmult_le_compat_r; [lra|apply r_range]).
  assert (0 <= rv * t) by (apply Rmult_le_pos; lra). lra. }
assert (B40 : pow2 (-40) <= / 1000000000000) by (change (pow2 (-40)) with (/ 1099511627776); lra).
assert (B49 : pow2 (-49) <= / 10000000000) by (change (pow2 (-49)) with (/ 562949953421312); lra).
assert (re1 : re <= / 1000000000000 * rv) by (apply Rle_trans with (1 := r_near), Rmult_le_compat_r; lra).
set (a := 1 + Rabs l) in *. assert (Pa : 1 <= a) by (unfold a; lra).
set (m := rv * t * a). assert (Pm : rv * t <= m).
{ unfold m. rewrite <- (Rmult_1_r (rv * t)) at 1. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact Pa]. }
replace (X - r * L) with ((X - rv * l) + (rv - r) * l + r * (l - L)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite !Rabs_mult.
assert (D1 : Rabs (rv - r) * Rabs l <= re * Rabs l) by (apply Rmult_le_compat_r; [exact Pl|rewrite Rabs_minus_sym; exact r_off]).
assert (D2 : Rabs r * Rabs (l - L) <= rv * (1 + / 1000000000000) * (t * a * (1 + / 10000000000))).
{ apply Rmult_le_compat; try apply Rabs_pos.
  - rewrite Rabs_pos_eq by lra. apply Rabs_le_inv in r_off. lra.
  - apply Rle_trans with (1 := C). apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]. }
assert (D3 : rv * (1 + / 1000000000000) * (t * a * (1 + / 10000000000)) = m * ((1 + / 1000000000000) * (1 + / 10000000000))) by (unfold m; ring).
change (pow2 (-30)) with (/ 1073741824).
assert (0 <= re * Rabs l) by (apply Rmult_le_pos; lra). assert (0 <= u64 * Rabs X) by (apply Rmult_le_pos; lra).
assert (0 <= rv * t) by (apply Rmult_le_pos; lra). lra.
Qed.

(* What C adds up is enough. *)
Let o := power_off_c rv re l X.
Let d := Rabs (X - r * L).
Lemma o_enough : d <= o * (1 + pow2 (-29)) /\ 0 <= o.
Proof.
assert (H := X_close). destruct r_bounds as [Pr [Br [Pe Pv]]]. assert (U := u64_size). assert (N0 := bpow_ge_0 radix2 (-1075)).
pose proof (Rabs_pos l) as Pl. pose proof (Rabs_pos X) as PX.
assert (T51 : 0 < pow2 (-51)) by apply bpow_gt_0. assert (B51 : pow2 (-51) <= / 1000000) by (apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|change (pow2 (-20)) with (/ 1048576); lra]).
assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
assert (Fl : format64 (Rabs l)) by (apply generic_format_abs, (logarithms kernel z z_format z_large)).
set (t := pow2 (-51)) in *.
assert (Prt : 0 <= rv * t) by (apply Rmult_le_pos; lra).
assert (A1 : low (rnd64 (rv * t)) (rv * t) 2 0).
{ apply (low_absorb _ _ 1 eta 2 (low_one (rv * t) Prt)); [|lra].
  apply Rle_trans with (u64 * (pow2 (-800) * t)); [unfold t; rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [lra|apply r_range]. }
assert (A2 := plus_low 1 (Rabs l) F1 Fl ltac:(lra) Pl).
assert (A3 := low_times _ _ _ _ _ _ 4 A1 A2 ltac:(lra)).
assert (A4 := low_one (re * Rabs l) ltac:(apply Rmult_le_pos; lra)).
assert (A5 := low_one (2 * u64 * Rabs X) ltac:(apply Rmult_le_pos; lra)).
assert (A := low_sum _ _ _ _ _ _ _ _ 6 (low_sum _ _ _ _ _ _ _ _ 5 A3 A4 ltac:(lra) ltac:(lra)) A5 ltac:(lra) ltac:(lra)).
fold t in o. unfold o, power_off_c. fold t. destruct A as [P [Q [_ [_ A]]]]. split; [|exact Q].
match type of A with _ <= ?oo => set (o' := oo) in * end.
set (s := rv * t * (1 + Rabs l) + re * Rabs l + 2 * u64 * Rabs X) in *.
assert (Sl : rv * t <= s).
{ unfold s. assert (0 <= rv * t * Rabs l) by (apply Rmult_le_pos; lra). assert (0 <= re * Rabs l) by (apply Rmult_le_pos; lra).
  assert (0 <= u64 * Rabs X) by (apply Rmult_le_pos; lra). lra. }
assert (Ee : 5 * eta <= / 10000000000 * (rv * t)).
{ apply Rle_trans with (pow2 3 * eta); [apply Rmult_le_compat_r; [exact N0|change (pow2 3) with 8; lra]|].
  apply Rle_trans with (pow2 (-34) * (pow2 (-800) * t)); [unfold t; rewrite <- !bpow_plus; apply bpow_le; lia|].
  change (pow2 (-34)) with (/ 17179869184).
  assert (pow2 (-800) * t <= rv * t) by (apply Rmult_le_compat_r; [lra|apply r_range]). lra. }
assert (U15 : u64 <= / 1000000000000000) by (change u64 with (/ 9007199254740992); lra).
assert (s * (6 * u64) <= s * / 100000000000000) by (apply Rmult_le_compat_l; lra).
unfold d. change (pow2 (-30)) with (/ 1073741824) in H. change (pow2 (-29)) with (/ 536870912). lra.
Qed.

(* From above: the off of a weight that is not flushed is small. *)
Lemma o_small : -707 <= X -> o <= / 1000000.
Proof.
intros LX. destruct r_bounds as [Pr [Br [Pe Pv]]]. assert (U := u64_size). assert (N0 := bpow_ge_0 radix2 (-1075)).
pose proof (Rabs_pos l) as Pl. assert (BX : Rabs X <= 709) by (apply Rabs_le; lra).
assert (R := rounded_by (rv * l)). fold X in R.
assert (B75 : eta <= / 1000000) by (apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|change (pow2 (-20)) with (/ 1048576); lra]).
assert (u64 * Rabs X <= / 1000000000 * 709) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
assert (RL : rv * Rabs l <= 710).
{ rewrite <- (Rabs_pos_eq rv) by lra. rewrite <- Rabs_mult. replace (rv * l) with (X - (X - rv * l)) by ring.
  unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (rel_ : re * Rabs l <= / 1000000000000 * 710).
{ apply Rle_trans with (pow2 (-40) * rv * Rabs l); [apply Rmult_le_compat_r; lra|]. rewrite Rmult_assoc.
  change (pow2 (-40)) with (/ 1099511627776). lra. }
assert (rt : rv * pow2 (-51) <= / 8388608).
{ apply Rle_trans with (pow2 28 * pow2 (-51)); [apply Rmult_le_compat_r; [apply bpow_ge_0|apply r_range]|].
  rewrite <- bpow_plus. change (pow2 (28 + -51)) with (/ 8388608). lra. }
assert (rtl : rv * pow2 (-51) * Rabs l <= / 1000000000000 * 710).
{ replace (rv * pow2 (-51) * Rabs l) with (pow2 (-51) * (rv * Rabs l)) by ring. apply Rmult_le_compat; try apply bpow_ge_0; try lra.
  - apply Rmult_le_pos; lra.
  - change (pow2 (-51)) with (/ 2251799813685248). lra. }
(* rounding at most doubles what is added *)
assert (D : forall z, 0 <= z -> 0 <= rnd64 z <= z * (1 + / 1000) + eta).
{ intros w Hw. split; [apply rnd_pos, Hw|]. assert (RW := rounded w). rewrite (Rabs_pos_eq w) in RW by exact Hw. apply Rabs_le_inv in RW.
  assert (u64 * w <= / 1000 * w) by (apply Rmult_le_compat_r; lra). lra. }
unfold o, power_off_c. assert (P51 : 0 <= pow2 (-51)) by apply bpow_ge_0.
assert (E75 : eta <= / 1000000000000000).
{ apply Rle_trans with (pow2 (-60)); [apply bpow_le; lia|change (pow2 (-60)) with (/ 1152921504606846976); lra]. }
destruct (D (rv * pow2 (-51)) ltac:(apply Rmult_le_pos; lra)) as [D10 D1]. set (a1 := rnd64 (rv * pow2 (-51))) in *.
destruct (D (1 + Rabs l) ltac:(lra)) as [D20 D2]. set (a2 := rnd64 (1 + Rabs l)) in *.
assert (M12 : a1 * a2 <= (rv * pow2 (-51) * (1 + / 1000) + eta) * ((1 + Rabs l) * (1 + / 1000) + eta)) by (apply Rmult_le_compat; assumption).
assert (M12' : (rv * pow2 (-51) * (1 + / 1000) + eta) * ((1 + Rabs l) * (1 + / 1000) + eta) <= / 8000000 + eta * Rabs l * 2).
{ set (y := rv * pow2 (-51)) in *. assert (Py : 0 <= y) by (apply Rmult_le_pos; lra).
  assert (y * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra). assert (eta * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra).
  assert (0 <= eta * Rabs l) by (apply Rmult_le_pos; lra). lra. }
assert (etal : eta * Rabs l <= / 1000000000000).
{ apply Rle_trans with (pow2 (-200) * rv * Rabs l).
  - apply Rmult_le_compat_r; [exact Pl|]. apply Rle_trans with (pow2 (-200) * pow2 (-800)); [rewrite <- bpow_plus; apply bpow_le; lia|].
    apply Rmult_le_compat_l; [apply bpow_ge_0|apply r_range].
  - rewrite Rmult_assoc. assert (pow2 (-200) <= / 1000000000000000).
    { apply Rle_trans with (pow2 (-60)); [apply bpow_le; lia|change (pow2 (-60)) with (/ 1152921504606846976); lra]. }
    apply Rle_trans with (/ 1000000000000000 * 710); [|lra]. apply Rmult_le_compat; try lra; [apply bpow_ge_0|apply Rmult_le_pos; lra]. }
destruct (D (a1 * a2) ltac:(apply Rmult_le_pos; lra)) as [D30 D3]. set (a3 := rnd64 (a1 * a2)) in *.
destruct (D (re * Rabs l) ltac:(apply Rmult_le_pos; lra)) as [D40 D4]. set (a4 := rnd64 (re * Rabs l)) in *.
destruct (D (2 * u64 * Rabs X) ltac:(apply Rmult_le_pos; [lra|apply Rabs_pos])) as [D50 D5]. set (a5 := rnd64 (2 * u64 * Rabs X)) in *.
destruct (D (a3 + a4) ltac:(lra)) as [D60 D6]. set (a6 := rnd64 (a3 + a4)) in *.
destruct (D (a6 + a5) ltac:(lra)) as [D70 D7].
assert (U15 : u64 <= / 1000000000000000) by (change u64 with (/ 9007199254740992); lra).
assert (u64 * Rabs X <= / 1000000000000000 * 709) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
lra.
Qed.

Let q := exp (r * L).
Lemma q_power : 0 < z -> ppow r z = q.
Proof. intros H. rewrite ppow_pos by exact H. reflexivity. Qed.

Lemma z_pos : 0 < z. Proof. apply Rlt_le_trans with (2 := z_large), bpow_gt_0. Qed.

Let e := relative_of o.
Lemma argument_powered w : is_exp X w -> format64 w ->
  0 <= e /\ ((e <= pow2 (-10) /\ powered r z w e) \/ (w = 0 /\ q <= pow2 (-1010))).
Proof.
intros HE Fp. assert (U := u64_size). destruct o_enough as [OE O0]. destruct HE as [P0 [H1 H2]].
split.
{ unfold e, relative_of. assert (0 <= slack) by (change (pow2 (-20)) with (/ 1048576); lra).
  apply rnd_pos, Rmult_le_pos; [|assumption]. apply rnd_pos, Rmult_le_pos; [apply rnd_pos; lra|apply rnd_pos].
  assert (0 <= rnd64 (2 * o)) by (apply rnd_pos; lra). lra. }
destruct (Rle_lt_dec (-707) X) as [LX|LX].
- left. specialize (H1 LX). assert (OS := o_small LX).
  change (pow2 (-29)) with (/ 536870912) in OE.
  assert (Pd : 0 <= d) by apply Rabs_pos.
  (* q against w *)
  assert (Ex := exp_pos X). apply Rabs_le_inv in H1.
  assert (Uex : u64 * exp X <= / 1000000000 * exp X) by (apply Rmult_le_compat_r; lra).
  assert (XW : exp X <= w * (1 + 201/100 * u64)).
  { assert (u64 * (exp X * (1 - 2 * u64)) <= u64 * w) by (apply Rmult_le_compat_l; lra).
    assert (u64 * (u64 * exp X) <= / 1000000000 * (u64 * exp X)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
    assert (0 <= u64 * exp X) by (apply Rmult_le_pos; lra). lra. }
  assert (Pw : 0 < w) by lra.
  assert (Eq : q = exp X * exp (r * L - X)) by (unfold q; rewrite <- exp_plus; f_equal; ring).
  assert (D1 : r * L - X <= d) by (unfold d; rewrite Rabs_minus_sym; apply Rle_abs).
  assert (D2 : - d <= r * L - X) by (unfold d; rewrite Rabs_minus_sym; pose proof (Rle_abs (- (r * L - X))) as A; rewrite Rabs_Ropp in A; lra).
  set (y := r * L - X) in *.
  assert (Ylo : 1 - d <= exp y) by (pose proof (exp_above y); lra).
  assert (Yhi : exp y <= 1 + d * (1 + 2 * d)).
  { assert (I : exp y * (1 - d) <= 1).
    { replace 1 with (exp y * exp (- y)) at 2 by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      apply Rmult_le_compat_l; [left; apply exp_pos|]. pose proof (exp_above (- y)). lra. }
    assert (Dh : d <= / 2) by lra.
    apply (Rmult_le_reg_r (1 - d)); [lra|]. apply Rle_trans with (1 := I).
    assert (0 <= d * d * (1 - 2 * d)) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]). lra. }
  (* e *)
  assert (Eb : (o + 299/100 * u64) * (1 + 2 * o) * (1 + pow2 (-21)) <= e <= pow2 (-10) /\ format64 e).
  { split; [|apply rnd_format]. unfold e, relative_of. change (pow2 (-20)) with (/ 1048576). change (pow2 (-21)) with (/ 2097152). change (pow2 (-10)) with (/ 1024).
    assert (U15 : u64 <= / 1000000000000000) by (change u64 with (/ 9007199254740992); lra).
    assert (Ee : eta <= / 1000 * u64 * u64 * / 2) by (apply Rle_trans with (pow2 (-10) * u64 * u64 * pow2 (-1)); [rewrite <- !bpow_plus; apply bpow_le; lia|change (pow2 (-10)) with (/ 1024); simpl (pow2 (-1)); assert (0 <= u64 * u64) by (apply Rmult_le_pos; lra); lra]).
    assert (N0 := bpow_ge_0 radix2 (-1075)).
    assert (UU : 0 <= u64 * u64 <= / 1000000000000000 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (D : forall z, 0 <= z -> z * (1 - u64) - eta <= rnd64 z <= z * (1 + u64) + eta).
    { intros v Hv. assert (R := rounded v). rewrite (Rabs_pos_eq v) in R by exact Hv. apply Rabs_le_inv in R. lra. }
    assert (B1 := D (o + 3 * u64) ltac:(lra)). set (b1 := rnd64 (o + 3 * u64)) in *.
    assert (B2 := D (2 * o) ltac:(lra)). set (b2 := rnd64 (2 * o)) in *.
    assert (Uo : 0 <= u64 * o <= / 1000000000000000 * o) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (C1 : (o + 2999/1000 * u64) * (1 - 2 * / 1000000000000000) <= b1) by lra.
    assert (Pb2 : 0 <= b2) by (apply rnd_pos; lra).
    assert (B3 := D (1 + b2) ltac:(lra)). set (b3 := rnd64 (1 + b2)) in *.
    assert (Ub2 : u64 * b2 <= u64 * 1) by (apply Rmult_le_compat_l; lra).
    assert (C3 : (1 + 2 * o) * (1 - 4 * / 1000000000000000) <= b3) by lra.
    assert (Pb1 : 0 <= b1) by (apply rnd_pos; lra).
    assert (Pb : 0 <= b1 * b3) by (apply Rmult_le_pos; lra).
    assert (B4 := D (b1 * b3) Pb). set (b4 := rnd64 (b1 * b3)) in *.
    assert (C4 : (o + 2999/1000 * u64) * (1 - 2 * / 1000000000000000) * ((1 + 2 * o) * (1 - 4 * / 1000000000000000)) <= b1 * b3).
    { apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra. }
    assert (C5 : b1 * b3 <= / 100000 * 2) by (apply Rmult_le_compat; lra).
    assert (Ub : u64 * (b1 * b3) <= / 1000000000000000 * (b1 * b3)) by (apply Rmult_le_compat_r; lra).
    assert (P4 : 0 <= b4) by (apply rnd_pos, Pb).
    assert (P5 : 0 <= b4 * (1 + / 1048576)) by (apply Rmult_le_pos; lra).
    assert (B5 := D (b4 * (1 + / 1048576)) P5).
    assert (Ub4 : u64 * (b4 * (1 + / 1048576)) <= / 1000000000000000 * (b4 * (1 + / 1048576))) by (apply Rmult_le_compat_r; lra).
    set (m := (o + 2999/1000 * u64) * (1 + 2 * o)) in *.
    assert (Em : (o + 2999/1000 * u64) * (1 - 2 * / 1000000000000000) * ((1 + 2 * o) * (1 - 4 * / 1000000000000000)) = m * ((1 - 2 * / 1000000000000000) * (1 - 4 * / 1000000000000000))) by (unfold m; ring).
    rewrite Em in C4.
    assert (Mm : (o + 299/100 * u64) * (1 + 2 * o) <= m - 8/1000 * u64).
    { unfold m. lra. }
    assert (Pmm : 0 <= m) by (unfold m; apply Rmult_le_pos; lra).
    split; [|lra]. lra. }
  destruct Eb as [[E1 E2] Fe]. split; [exact E2|]. change (pow2 (-10)) with (/ 1024) in E2. change (pow2 (-21)) with (/ 2097152) in E1.
  assert (Uo : 0 <= u64 * o <= / 1000000 * u64) by (split; [apply Rmult_le_pos; lra|rewrite Rmult_comm; apply Rmult_le_compat_r; lra]).
  assert (OO : 0 <= o * o) by (apply Rmult_le_pos; lra).
  assert (dd : d * (1 + 2 * d) <= o * (1 + 2 * o) * (1 + / 4000000)).
  { apply Rle_trans with (o * (1 + / 536870912) * (1 + 2 * (o * (1 + / 536870912)))); [apply Rmult_le_compat; lra|]. lra. }
  assert (Ud : 0 <= u64 * d <= / 1000 * u64) by (split; [apply Rmult_le_pos; lra|rewrite Rmult_comm; apply Rmult_le_compat_r; lra]).
  assert (Udd : u64 * (d * (1 + 2 * d)) <= u64 * / 100) by (apply Rmult_le_compat_l; [lra|]; assert (o * (1 + 2 * o) <= / 1000000 * 2) by (apply Rmult_le_compat; lra); lra).
  unfold powered. rewrite q_power by exact z_pos.
  split; [exact Fp|]. split; [exact Fe|]. split; [lra|].
  assert (E0 : 0 <= e) by lra. split; [left; lra|].
  assert (Q1 : q <= (1 + e) * w).
  { rewrite Eq. apply Rle_trans with (w * (1 + 201/100 * u64) * (1 + d * (1 + 2 * d))).
    - apply Rmult_le_compat; [lra|left; apply exp_pos|exact XW|exact Yhi].
    - rewrite (Rmult_comm (1 + e)), Rmult_assoc. apply Rmult_le_compat_l; [lra|]. lra. }
  assert (Q2 : (1 - e) * w <= q).
  { rewrite Eq. apply Rle_trans with (exp X * (1 - d)); [|apply Rmult_le_compat_l; lra].
    assert (WX : w <= exp X * (1 + 2 * u64)) by lra.
    apply Rle_trans with ((1 - e) * (exp X * (1 + 2 * u64))); [apply Rmult_le_compat_l; lra|].
    rewrite (Rmult_comm (1 - e)), Rmult_assoc. apply Rmult_le_compat_l; [lra|].
    assert (0 <= d * d) by (apply Rmult_le_pos; lra).
    assert (0 <= u64 * e) by (apply Rmult_le_pos; lra). assert (d <= o * (1 + / 4000000)) by lra. lra. }
  assert (B10 := bpow_ge_0 radix2 (-1010)).
  split; [split; lra|]. intros _. split; [right|exact Q2].
  (* e^-707 (1 - 2u) > 2^-1020 *)
  assert (Q3 := ln2_range). change (pow2 (-16)) with (/ 65536) in Q3.
  assert (X3 : pow2 (-1020) * (1 + / 200) <= exp X).
  { assert (EB : pow2 (-1020) = exp (IZR (-1020) * ln 2)) by (rewrite bpow_exp; reflexivity).
    assert (exp (IZR (-1020) * ln 2 + / 150) <= exp X).
    { assert (IZR (-1020) * ln 2 + / 150 <= X) by lra. destruct H as [H| ->]; [left; apply exp_increasing, H|apply Rle_refl]. }
    apply Rle_trans with (2 := H). rewrite exp_plus, <- EB. apply Rmult_le_compat_l; [apply bpow_ge_0|]. pose proof (exp_above (/ 150)). lra. }
  pose proof (bpow_gt_0 radix2 (-1020)). lra.
- right. split; [apply H2, LX|].
  (* r L is below -706 *)
  destruct r_bounds as [Pr [Br [Pe Pv]]]. pose proof (Rabs_pos l) as Pl.
  assert (XC := X_close). change (pow2 (-30)) with (/ 1073741824) in XC. fold d in XC.
  assert (RL : Rabs X = - X) by (apply Rabs_left; lra). rewrite RL in XC.
  assert (R := rounded_by (rv * l)). fold X in R. rewrite RL in R. apply Rabs_le_inv in R.
  assert (E75 : eta <= / 1000000) by (apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|change (pow2 (-20)) with (/ 1048576); lra]).
  assert (UX : u64 * - X <= / 1000000000 * - X) by (apply Rmult_le_compat_r; lra).
  assert (rl : rv * Rabs l <= - X * (1 + / 1000000) + / 1000000).
  { rewrite <- (Rabs_pos_eq rv) by lra. rewrite <- Rabs_mult. apply Rabs_le. lra. }
  assert (rt : rv * pow2 (-51) <= / 8388608).
  { apply Rle_trans with (pow2 28 * pow2 (-51)); [apply Rmult_le_compat_r; [apply bpow_ge_0|apply r_range]|].
    rewrite <- bpow_plus. change (pow2 (28 + -51)) with (/ 8388608). lra. }
  assert (rtl : rv * pow2 (-51) * Rabs l <= / 1000000000 * (rv * Rabs l)).
  { replace (rv * pow2 (-51) * Rabs l) with (pow2 (-51) * (rv * Rabs l)) by ring. apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|].
    change (pow2 (-51)) with (/ 2251799813685248). lra. }
  assert (rel_ : re * Rabs l <= / 1000000000 * (rv * Rabs l)).
  { apply Rle_trans with (pow2 (-40) * rv * Rabs l); [apply Rmult_le_compat_r; lra|]. rewrite Rmult_assoc.
    apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|]. change (pow2 (-40)) with (/ 1099511627776). lra. }
  assert (D1 : r * L - X <= d) by (unfold d; rewrite Rabs_minus_sym; apply Rle_abs).
  assert (rL : r * L <= -706) by lra.
  apply Rle_trans with (exp (-706)).
  + unfold q. destruct rL as [H| ->]; [left; apply exp_increasing, H|apply Rle_refl].
  + assert (Q3 := ln2_range). change (pow2 (-16)) with (/ 65536) in Q3.
    assert (EB : pow2 (-1010) = exp (IZR (-1010) * ln 2)) by (rewrite bpow_exp; reflexivity). rewrite EB.
    left. apply exp_increasing. lra.
Qed.
End Argument.

(** theorem: kernel_powered — powers with any exponent r in the double tier of entmax, exp(r log y) with the kernels vd_log and vd_exp and r in double: relative error and what is flushed as bounded_power adds it up, with its own roundings. used by: src/sparse/line.c *)
Theorem kernel_powered z : format64 z -> 0 < z -> powered r z (p z) (rel z).
Proof.
intros Fz Pz. destruct (Rle_lt_dec (exponent_c rv lg z) 709) as [XS|XS]; [|apply (beyond kernel); assumption].
destruct (exponentials kernel z Fz Pz XS) as [Fp HE]. rewrite (relatives kernel z Fz Pz XS).
assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
assert (B10 := bpow_ge_0 radix2 (-1010)).
destruct (Rlt_dec z tiny) as [T|T].
- assert (Ez : at_least_tiny z = tiny) by (apply Rmax_right; lra).
  unfold exponent_c in HE, XS. rewrite Ez in HE, XS.
  destruct (argument_powered tiny (format_bpow (-1000) ltac:(lia)) (Rle_refl _) XS (p z) HE Fp) as [_ A].
  assert (M : ppow r z <= ppow r tiny) by (apply ppow_le; [apply r_bounds|lra]). pose proof (ppow_nonneg r z).
  assert (P0 : 0 <= p z) by apply HE.
  assert (Q : ppow r z <= (1 + 1) * p z + pow2 (-1010)).
  { apply Rle_trans with (1 := M). destruct A as [[E1 [_ [_ [_ [_ [[Q _] _]]]]]]|[Z Q]].
    - change (pow2 (-10)) with (/ 1024) in E1. set (e := relative_of _) in *. assert (e * p z <= 1 * p z) by (apply Rmult_le_compat_r; lra). lra.
    - rewrite ppow_pos by apply bpow_gt_0. unfold Rpower. lra. }
  unfold powered. split; [exact Fp|]. split; [exact F1|]. split; [exact P0|]. split; [right; reflexivity|]. split; [split; lra|].
  intros L. exfalso. assert (tiny <= pow2 (-300)) by (apply bpow_le; lia). lra.
- assert (Ez : at_least_tiny z = z) by (apply Rmax_left; lra).
  unfold exponent_c in *. rewrite Ez in *.
  destruct (argument_powered z Fz ltac:(lra) XS (p z) HE Fp) as [E0 A].
  set (e := relative_of _) in *. 
  destruct (Rle_dec e (pow2 (-10))) as [E1|E1].
  + destruct A as [[_ A]|[Z Q]]; [exact A|].
    assert (Q' : ppow r z <= pow2 (-1010)) by (rewrite ppow_pos by exact Pz; exact Q). pose proof (ppow_nonneg r z).
    change (pow2 (-10)) with (/ 1024) in E1. unfold powered. rewrite Z, !Rmult_0_r.
    split; [apply format_0|]. split; [apply rnd_format|]. split; [lra|]. split; [left; lra|]. split; [lra|]. intros _. split; [left; reflexivity|lra].
  + destruct A as [[E2 _]|[Z Q]]; [contradiction|].
    assert (Q' : ppow r z <= pow2 (-1010)) by (rewrite ppow_pos by exact Pz; exact Q). pose proof (ppow_nonneg r z).
    unfold powered. rewrite Z, !Rmult_0_r.
    split; [apply format_0|]. split; [exact F1|]. split; [lra|]. split; [right; reflexivity|]. split; [lra|]. intros _. split; [left; reflexivity|lra].
Qed.
End Kernel.

(* How the double tier of entmax takes powers: by products for r = 1, 2, 3, else by the kernels. *)
Inductive taken (r : R) (p rel : R -> R) : Prop :=
| by_products k : (1 <= k <= 3)%nat -> r = INR k -> (forall z, p z = whole k z) -> (forall z, rel z = whole_error k) -> taken r p rel
| by_kernels rv re lg : Rabs (r - rv) <= re -> re <= pow2 (-40) * rv -> pow2 (-800) <= rv <= pow2 28 ->
    bounded_power r rv re lg p rel -> taken r p rel.

Lemma taken_powered r p rel : taken r p rel -> forall z, format64 z -> 0 < z -> powered r z (p z) (rel z).
Proof.
intros [k Hk Er Ep Ee|rv re lg H1 H2 H3 H4] z Fz Pz.
- rewrite Er, Ep, Ee. apply whole_powered; assumption.
- apply (kernel_powered r rv re lg p rel); assumption.
Qed.
