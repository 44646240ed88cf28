(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The lean logarithm and exponential by base 2 on Flocq's floating-point numbers: reductions, which are exact,
   roundings, and the errors that src/sparse/power_isa.h states. Both formats by one proof. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary Sterbenz Mult_error.
From Gappa Require Import Gappa_tactic.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants
  enclosure.exp_method enclosure.exp_reduction enclosure.exp_float sparse.lean_isa sparse.lean_method.
Open Scope R_scope.

Definition log2 (x : R) : R := ln x / ln 2.
Definition exp2 (x : R) : R := exp (x * ln 2).

Lemma ln2_positive : 0 < ln 2.
Proof. rewrite <- ln_1. apply ln_increasing; lra. Qed.

Lemma exp2_whole k f : exp2 (IZR k + f) = exp2 f * bpow radix2 k.
Proof. unfold exp2. rewrite bpow_exp, <- exp_plus. f_equal. simpl. ring. Qed.

Lemma log2_whole k f : 0 < f -> log2 (f * bpow radix2 k) = IZR k + log2 f.
Proof.
intros P. unfold log2. rewrite ln_mult by (try exact P; apply bpow_gt_0). rewrite bpow_exp, ln_exp.
pose proof ln2_positive. simpl. field. lra.
Qed.

Lemma log2_exp2 x : exp2 (log2 x) = exp (ln x).
Proof. unfold exp2, log2. f_equal. pose proof ln2_positive. field. lra. Qed.

Lemma IZR_power n : (0 <= n)%Z -> IZR (2 ^ n) = bpow radix2 n.
Proof. exact (IZR_Zpower radix2 n). Qed.

Section Format.
Variables emin prec : Z.
Hypothesis Hp : (10 <= prec)%Z.
Hypothesis He : (emin <= - prec - 80)%Z.
Notation format := (generic_format radix2 (FLT_exp emin prec)).
Notation rnd := (round radix2 (FLT_exp emin prec) ZnearestE).
Lemma positive_prec : Prec_gt_0 prec. Proof. unfold Prec_gt_0. lia. Qed.

(* Numbers from 1/2 on are multiples of the unit roundoff. *)
Lemma grid x : format x -> 1/2 <= Rabs x -> exists m, x = IZR m * bpow radix2 (- prec).
Proof.
pose proof positive_prec as PP.
assert (P : forall x, format x -> 1/2 <= x -> exists m, x = IZR m * bpow radix2 (- prec)).
{ clear x. intros x F H.
  assert (G : format (x * bpow radix2 prec)) by (apply mult_bpow_pos_exact_FLT; [exact F|lia]).
  destruct (integer_of_format emin prec ltac:(lia) _ G) as [m Hm].
  { replace (prec - 1)%Z with (-1 + prec)%Z by ring. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
  exists m. rewrite <- Hm, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl. ring. }
intros F H. destruct (Rle_lt_dec 0 x) as [S|S].
- apply P; [exact F|]. rewrite Rabs_pos_eq in H by exact S. exact H.
- rewrite Rabs_left in H by exact S. destruct (P (- x)) as [m Hm]; [apply generic_format_opp, F|exact H|].
  exists (- m)%Z. rewrite opp_IZR. lra.
Qed.

Lemma grid_format m : (Z.abs m < 2 ^ prec)%Z -> format (IZR m * bpow radix2 (- prec)).
Proof.
intros H. apply generic_format_FLT. exists (Defs.Float radix2 m (- prec)); simpl; [reflexivity|exact H|lia].
Qed.

(* f = 1 or is a unit roundoff away *)
Lemma grid_from_one f : format f -> 1/2 <= f -> f - 1 = 0 \/ bpow radix2 (- prec) <= Rabs (f - 1).
Proof.
intros F H. destruct (grid f F) as [m Hm]; [rewrite Rabs_pos_eq; lra|].
assert (E : f - 1 = IZR (m - 2 ^ prec) * bpow radix2 (- prec)).
{ rewrite minus_IZR, Rmult_minus_distr_r, <- Hm. f_equal. rewrite IZR_power, <- bpow_plus, Z.add_opp_diag_r by lia. reflexivity. }
destruct (Z.eq_dec (m - 2 ^ prec) 0) as [Z|N]; [left|right].
- rewrite E, Z. ring.
- rewrite E, Rabs_mult, (Rabs_pos_eq (bpow _ _)) by apply bpow_ge_0.
  rewrite <- (Rmult_1_l (bpow radix2 (- prec))) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|].
  rewrite <- abs_IZR. apply IZR_le. lia.
Qed.

(* Adding and subtracting C splits off the nearest whole number; what is left is exact. *)
Lemma whole_part x : format x -> Rabs x <= bpow radix2 (prec - 4) ->
  let C := IZR (3 * 2 ^ (prec - 2)) in
  exists k, rnd (x + C) = IZR (3 * 2 ^ (prec - 2) + k) /\ rnd (IZR (3 * 2 ^ (prec - 2) + k) - C) = IZR k /\
    Rabs (x - IZR k) <= 1/2 /\ rnd (x - IZR k) = x - IZR k /\ format (x - IZR k).
Proof.
intros F B C. pose proof positive_prec as PP.
assert (Q : bpow radix2 (prec - 4) * 4 = bpow radix2 (prec - 2)).
{ change 4 with (bpow radix2 2). rewrite <- bpow_plus. f_equal. ring. }
assert (Q1 : 16 <= bpow radix2 (prec - 4)) by (change 16 with (bpow radix2 4); apply bpow_le; lia).
assert (EC : C = 3 * bpow radix2 (prec - 2)).
{ unfold C. rewrite mult_IZR. rewrite IZR_power by lia. reflexivity. }
assert (P2 : bpow radix2 (prec - 1) = 2 * bpow radix2 (prec - 2)).
{ change 2 with (bpow radix2 1) at 1. rewrite <- bpow_plus. f_equal. ring. }
assert (P4 : IZR (2 ^ prec) = 4 * bpow radix2 (prec - 2)).
{ rewrite IZR_power by lia. change 4 with (bpow radix2 2). rewrite <- bpow_plus. f_equal. ring. }
apply Rabs_le_inv in B as B'. set (z := x + C) in *.
assert (Z1 := Znearest_half (fun n => negb (Z.even n)) z).
assert (Near : Rabs (rnd z - z) <= 1/2).
{ destruct (round_N_pt radix2 (FLT_exp emin prec) (fun n => negb (Z.even n)) z) as [_ N].
  eapply Rle_trans; [apply (N (IZR (ZnearestE z)))|].
  - apply format_of_integer; try lia. apply lt_IZR. rewrite abs_IZR, P4. apply Rabs_le_inv in Z1.
    apply Rabs_lt. unfold z in *. lra.
  - rewrite Rabs_minus_sym. lra. }
assert (Low : bpow radix2 (prec - 1) <= rnd z).
{ apply round_ge_generic; [apply FLT_exp_valid, PP|apply valid_rnd_N| |unfold z; lra].
  apply generic_format_bpow. unfold FLT_exp. lia. }
assert (Ft : format (rnd z)) by (apply generic_format_round; [apply FLT_exp_valid, PP|apply valid_rnd_N]).
destruct (integer_of_format emin prec ltac:(lia) _ Ft Low) as [m Hm].
set (k := (m - 3 * 2 ^ (prec - 2))%Z).
assert (Em : m = (3 * 2 ^ (prec - 2) + k)%Z) by (unfold k; ring).
assert (Ek : IZR k = IZR m - C) by (unfold k, C; rewrite minus_IZR; reflexivity).
assert (Bk : Rabs (x - IZR k) <= 1/2).
{ rewrite Rabs_minus_sym, Ek, <- Hm. replace (rnd z - C - x) with (rnd z - z) by (unfold z; ring). exact Near. }
assert (Fk : format (IZR k)).
{ apply format_of_integer; try lia. apply lt_IZR. rewrite abs_IZR, P4. apply Rabs_le_inv in Bk. apply Rabs_lt. lra. }
assert (Fx : format (x - IZR k)).
{ destruct (Rlt_le_dec (Rabs x) (1/2)) as [S|S].
  - assert (K0 : k = 0%Z).
    { apply below_one. replace (IZR k) with (x - (x - IZR k)) by ring. eapply Rle_lt_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    rewrite K0, Rminus_0_r. exact F.
  - destruct (grid x F S) as [j Hj].
    assert (E : x - IZR k = IZR (j - k * 2 ^ prec) * bpow radix2 (- prec)).
    { rewrite minus_IZR, mult_IZR, Rmult_minus_distr_r, <- Hj. f_equal. rewrite IZR_power, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r by lia. simpl. ring. }
    rewrite E. apply grid_format. apply lt_IZR. rewrite abs_IZR.
    replace (IZR (j - k * 2 ^ prec)) with ((x - IZR k) * IZR (2 ^ prec)).
    + rewrite Rabs_mult, (Rabs_pos_eq (IZR (2 ^ prec))) by (apply IZR_le; lia).
      assert (0 < IZR (2 ^ prec)) by (rewrite P4; lra).
      apply Rle_lt_trans with (1/2 * IZR (2 ^ prec)); [apply Rmult_le_compat_r|]; lra.
    + rewrite E, Rmult_assoc. rewrite IZR_power, <- bpow_plus, Z.add_opp_diag_l by lia. simpl. ring. }
exists k. rewrite <- Em, Hm. repeat split; try assumption.
- rewrite <- Ek. apply round_generic; [apply valid_rnd_N|exact Fk].
- apply round_generic; [apply valid_rnd_N|exact Fx].
Qed.

(* All errors of the logarithm of 2^k (1 + t), l = log2(1 + t): the polynomial's, its rounding, the last one's. *)
Lemma log2_total k P p t l e0 dp e : format (IZR k) -> (t = 0 \/ bpow radix2 (- prec) <= Rabs t) ->
  Rabs (t * P - l) <= e0 * Rabs l -> Rabs (p - P) <= dp -> 6/5 <= P -> 0 <= e0 <= 1/10 -> 0 <= dp <= 1/10 ->
  Rabs l <= 1/2 + pow2 (-16) ->
  (dp + e0) * (1 + pow2 (-13)) * (1 + bpow radix2 (- prec)) + bpow radix2 (- prec) + pow2 (-60) <= e ->
  Rabs (rnd (p * t + IZR k) - (IZR k + l)) <= e * Rabs (IZR k + l).
Proof.
intros Fk Ht M R BP E0 DP Bl He'. assert (U := bpow_ge_0 radix2 (- prec)). set (u := bpow radix2 (- prec)) in *.
assert (Lt : Rabs t <= Rabs l).
{ assert (A : Rabs (t * P) <= (1 + e0) * Rabs l).
  { replace (t * P) with ((t * P - l) + l) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  rewrite Rabs_mult, (Rabs_pos_eq P) in A by lra.
  assert (Rabs t * (6/5) <= Rabs t * P) by (apply Rmult_le_compat_l; [apply Rabs_pos|exact BP]).
  assert (e0 * Rabs l <= 1/10 * Rabs l) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]). pose proof (Rabs_pos l). lra. }
destruct Ht as [T|T].
- assert (L0 : l = 0).
  { rewrite T, Rmult_0_l, Rminus_0_l, Rabs_Ropp in M.
    assert (e0 * Rabs l <= 1/10 * Rabs l) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
    destruct (Req_dec l 0) as [Q|Q]; [exact Q|]. apply Rabs_pos_lt in Q. lra. }
  rewrite T, L0, Rmult_0_r, Rplus_0_l, Rplus_0_r, round_generic by (try apply valid_rnd_N; exact Fk).
  replace (IZR k - IZR k) with 0 by ring. rewrite Rabs_R0. apply Rmult_le_pos; [|apply Rabs_pos].
  eapply Rle_trans; [|exact He']. pose proof (bpow_ge_0 radix2 (-60)). pose proof (bpow_ge_0 radix2 (-13)).
  assert (0 <= (dp + e0) * (1 + pow2 (-13)) * (1 + u)) by (repeat apply Rmult_le_pos; lra). lra.
- set (S := Rabs (IZR k + l)).
  change (pow2 (-13)) with (/ 8192) in *. change (pow2 (-16)) with (/ 65536) in *.
  assert (LS : Rabs l <= (1 + / 8192) * S).
  { unfold S. destruct (Z.eq_dec k 0) as [->|N]; [rewrite Rplus_0_l; pose proof (Rabs_pos l); lra|].
    assert (1 <= Rabs (IZR k)) by (rewrite <- abs_IZR; apply IZR_le; lia).
    assert (Rabs (IZR k) <= Rabs (IZR k + l) + Rabs l).
    { replace (IZR k) with ((IZR k + l) + - l) at 1 by ring. rewrite <- (Rabs_Ropp l). apply Rabs_triang. }
    lra. }
  assert (Su : u / 2 <= S) by (assert (u <= (1 + / 8192) * S) by (eapply Rle_trans; [exact T|lra]); lra).
  set (E := (dp + e0) * (1 + / 8192)) in *.
  assert (D : Rabs (p * t + IZR k - (IZR k + l)) <= E * S).
  { replace (p * t + IZR k - (IZR k + l)) with ((p - P) * t + (t * P - l)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
    assert (Rabs (p - P) * Rabs t <= dp * Rabs l) by (apply Rmult_le_compat; try apply Rabs_pos; assumption).
    assert ((dp + e0) * Rabs l <= (dp + e0) * ((1 + / 8192) * S)) by (apply Rmult_le_compat_l; lra). unfold E. lra. }
  assert (N : Rabs (rnd (p * t + IZR k) - (p * t + IZR k)) <= u * Rabs (p * t + IZR k) + bpow radix2 (emin - 1)).
  { apply (summation.nearest_error emin prec). lia. }
  assert (Z : Rabs (p * t + IZR k) <= (1 + E) * S).
  { replace (p * t + IZR k) with ((p * t + IZR k - (IZR k + l)) + (IZR k + l)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. fold S. lra. }
  apply (Rmult_le_compat_l u) in Z; [|lra].
  assert (T60 : bpow radix2 (emin - 1) <= pow2 (-60) * S).
  { apply Rle_trans with (pow2 (-60) * (u / 2)); [|apply Rmult_le_compat_l; [apply bpow_ge_0|exact Su]].
    unfold u, Rdiv. change (/ 2) with (bpow radix2 (-1)). rewrite <- !bpow_plus. apply bpow_le. lia. }
  replace (rnd (p * t + IZR k) - (IZR k + l)) with ((rnd (p * t + IZR k) - (p * t + IZR k)) + (p * t + IZR k - (IZR k + l))) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  assert (S0 : 0 <= S) by apply Rabs_pos.
  assert ((E * (1 + u) + u + pow2 (-60)) * S <= e * S) by (apply Rmult_le_compat_r; assumption). lra.
Qed.
End Format.

(* What the kernels do around their polynomials. *)
Definition lean_log2 (o : ops) (pf : o -> o) (root one C x : o) : o :=
  let t := sub (fraction x root) one in fma (pf t) t (exponent x root C).
Definition lean_exp2 (o : ops) (mw : Z) (pf : o -> o) (C x : o) : o :=
  let s := add x C in scale mw (pf (sub x (sub s C))) s.

Lemma vf_log2_parts (o : ops) (x : o) : vf_lean_log2_1 o x =
  lean_log2 o (vf_lean_log2_polynomial_1 o) (const LEAN32_ROOT) (const (Dyadic 1 0)) (const EXP32_ROUND) x.
Proof. reflexivity. Qed.
Lemma vd_log2_parts (o : ops) (x : o) : vd_lean_log2_1 o x =
  lean_log2 o (vd_lean_log2_polynomial_1 o) (const LOG64_ROOT) (const (Dyadic 1 0)) (const EXP64_ROUND) x.
Proof. reflexivity. Qed.
Lemma vf_exp2_parts (o : ops) (x : o) : vf_lean_exp2_1 o x = lean_exp2 o 23 (vf_lean_exp2_polynomial_1 o) (const EXP32_ROUND) x.
Proof. reflexivity. Qed.
Lemma vd_exp2_parts (o : ops) (x : o) : vd_lean_exp2_1 o x = lean_exp2 o 52 (vd_lean_exp2_polynomial_1 o) (const EXP64_ROUND) x.
Proof. reflexivity. Qed.

(* Two vectors at a time are each as one. *)
Lemma lean_of_two (o : ops) (x y : o) :
  vf_lean_log2_2 o x y = (vf_lean_log2_1 o x, vf_lean_log2_1 o y) /\ vf_lean_exp2_2 o x y = (vf_lean_exp2_1 o x, vf_lean_exp2_1 o y) /\
  vd_lean_log2_2 o x y = (vd_lean_log2_1 o x, vd_lean_log2_1 o y) /\ vd_lean_exp2_2 o x y = (vd_lean_exp2_1 o x, vd_lean_exp2_1 o y).
Proof. repeat split. Qed.

(* A format of the kernels. *)
Section Kernel.
Variables mw ew : Z.
Hypothesis Hmw : (0 < mw)%Z.
Hypothesis Hew : (0 < ew)%Z.
Hypothesis Hmax : (mw + 1 < 2 ^ (ew - 1))%Z.
Let prec := (mw + 1)%Z.
Let emax := (2 ^ (ew - 1))%Z.
Let emin := (3 - emax - prec)%Z.
Variable nan : {x : binary_float prec emax | is_nan prec emax x = true}.
Hypothesis wide : (ew + 2 <= mw)%Z.
Hypothesis Hp : (10 <= prec)%Z.
Hypothesis He : (emin <= - prec - 80)%Z.
Hypothesis Hm : (emax + prec < 2 ^ (mw - 1))%Z.
Let o := float_ops mw ew Hmw Hew Hmax nan.
Notation stands := (stands mw ew Hmw Hew Hmax nan).
Notation format := (generic_format radix2 (FLT_exp emin prec)).
Notation rnd := (round radix2 (FLT_exp emin prec) ZnearestE).
Notation normal := (bpow radix2 (emin + prec - 1)).

Lemma in_format x v : stands x v -> format v.
Proof. exact (stands_format mw ew Hmw Hew Hmax nan x v). Qed.

Variables one C : o.
Hypothesis one_stands : stands one 1.
Hypothesis C_stands : stands C (IZR (3 * 2 ^ (mw - 1))).

Lemma most_large k v : (k <= emax - 1)%Z -> Rabs v <= bpow radix2 k -> Rabs v <= bpow radix2 (emax - 1).
Proof. intros K H. apply Rle_trans with (1 := H). apply bpow_le, K. Qed.

(* The polynomial of a kernel: what it computes, over the reals with roundings, and without. *)
Section Log2.
Variables (pf : o -> o) (pr P : R -> R) (e0 dp e : R) (root : o) (rr : R).
Hypothesis root_stands : stands root rr.
Hypothesis root_range : 1/2 <= rr < 1 /\ -76781 * pow2 (-18) <= rr - 1 /\ 2 * rr - 1 <= 108584 * pow2 (-18).
Hypothesis pf_stands : forall x t, stands x t -> lean_range t -> stands (pf x) (pr t) /\ Rabs (pr t) <= 4.
Hypothesis rounding : forall t, format t -> lean_range t -> Rabs (pr t - P t) <= dp.
Hypothesis method : forall t, lean_range t -> Rabs (t * P t * ln 2 - ln (1 + t)) <= e0 * Rabs (ln (1 + t)).
Hypothesis size : forall t, lean_range t -> 6/5 <= P t.
Hypothesis numbers : 0 <= e0 <= 1/10 /\ 0 <= dp <= 1/10 /\
  (dp + e0) * (1 + pow2 (-13)) * (1 + bpow radix2 (- prec)) + bpow radix2 (- prec) + pow2 (-60) <= e.

Lemma log2_stands x v : stands x v -> normal <= v ->
  exists y, stands (lean_log2 o pf root one C x) y /\ Rabs (y - log2 v) <= e * Rabs (log2 v).
Proof.
intros Hx Nv. destruct root_range as [Br [R1 R2]]. destruct numbers as [N1 [N2 N3]].
destruct (fraction_stands mw ew Hmw Hew Hmax nan wide x root v rr Hx root_stands Nv Br) as [Hf Bf].
assert (Hn := exponent_stands mw ew Hmw Hew Hmax nan wide x root C v rr Hx root_stands C_stands Nv Br Hm).
destruct (binade_stands mw ew Hmw Hew Hmax nan wide x root v rr Hx root_stands Nv Br) as [Bb Bk].
assert (Ek : float_ops.binade v rr = bits_binade mw ew x root) by (apply (binade_unique mw ew Hew); [lra|exact Bb|exact Br]).
cbv [real_ops float_ops.fraction float_ops.exponent] in Hf, Bf, Hn.
rewrite <- Ek in Bk. clear Ek. set (k := float_ops.binade v rr) in *. set (f := v * bpow radix2 (- k)) in *.
assert (Ev : v = f * bpow radix2 k).
{ unfold f. rewrite Rmult_assoc, <- bpow_plus, Z.add_opp_diag_l. simpl. ring. }
assert (Ff := in_format _ _ Hf). assert (Fk := in_format _ _ Hn).
assert (F1 : format 1) by exact (in_format _ _ one_stands).
assert (Bt : lean_range (f - 1)) by lra.
assert (Ft : format (f - 1)).
{ pose proof (positive_prec prec Hp) as PP. apply (sterbenz radix2 (FLT_exp emin prec)); [exact Ff|exact F1|]. lra. }
assert (Et : rnd (f - 1) = f - 1) by (apply round_generic; [apply valid_rnd_N|exact Ft]).
assert (Ht : stands (sub (fraction x root) one) (f - 1)).
{ rewrite <- Et. apply sub_stands; [exact Hf|exact one_stands|]. apply (most_large 0); [lia|]. simpl. apply Rabs_le. lra. }
destruct (pf_stands _ _ Ht Bt) as [Hpf Bp].
assert (Ln : Rabs (ln (1 + (f - 1)) / ln 2) <= 1/2 + pow2 (-16)) by (apply log2_size, Bt).
assert (Lf : log2 f = ln (1 + (f - 1)) / ln 2) by (unfold log2; f_equal; f_equal; ring).
rewrite Ev. rewrite log2_whole by (unfold f in *; lra). rewrite Lf.
exists (rnd (pr (f - 1) * (f - 1) + IZR k)). split.
- apply fma_stands; [exact Hpf|exact Ht|exact Hn|].
  apply (most_large mw); [unfold emax; lia|].
  assert (Pm : bpow radix2 mw = 2 * bpow radix2 (mw - 1)).
  { change 2 with (bpow radix2 1) at 1. rewrite <- bpow_plus. f_equal. ring. }
  assert (4 <= bpow radix2 (mw - 1)) by (change 4 with (bpow radix2 2); apply bpow_le; unfold prec in *; lia).
  assert (Rabs (IZR k) <= bpow radix2 (mw - 1)) by (rewrite <- IZR_power, <- abs_IZR by (unfold prec in *; lia); apply IZR_le; lia).
  assert (Rabs (pr (f - 1) * (f - 1)) <= 4 * 1).
  { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [exact Bp|]. apply Rabs_le. lra. }
  eapply Rle_trans; [apply Rabs_triang|]. lra.
- apply log2_total with (P := P (f - 1)) (e0 := e0) (dp := dp); try assumption.
  + apply (grid_from_one emin prec); try assumption; try lia. lra.
  + assert (M := method _ Bt). pose proof ln2_positive.
    unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ ln 2)) by (left; apply Rinv_0_lt_compat; lra).
    replace ((f - 1) * P (f - 1) - ln (1 + (f - 1)) * / ln 2) with (((f - 1) * P (f - 1) * ln 2 - ln (1 + (f - 1))) * / ln 2) by (field; lra).
    rewrite Rabs_mult, (Rabs_pos_eq (/ ln 2)) by (left; apply Rinv_0_lt_compat; lra).
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|exact M].
  + apply rounding; assumption.
  + apply size, Bt.
Qed.
End Log2.

Section Exp2.
Variables (pf : o -> o) (pr P : R -> R) (e0 dp e most : R).
Hypothesis pf_stands : forall x t, stands x t -> Rabs t <= 1/2 -> stands (pf x) (pr t).
Hypothesis rounding : forall t, format t -> Rabs t <= 1/2 -> Rabs (pr t - P t) <= dp.
Hypothesis method : forall t, Rabs t <= 1/2 -> Rabs (P t - exp2 t) <= e0 * exp2 t.
Hypothesis numbers : 0 <= e0 <= 1/10 /\ 0 <= dp <= 1/100 /\ e0 + dp * (10/7) <= e.
Hypothesis most_fits : most <= bpow radix2 (prec - 4) /\ most <= IZR (emax - 4) /\ most <= IZR (- (emin + prec) - 1).

Lemma exp2_stands x v : stands x v -> Rabs v <= most ->
  exists y, stands (lean_exp2 o mw pf C x) y /\ Rabs (y - exp2 v) <= e * exp2 v.
Proof.
intros Hx Bv. destruct numbers as [N1 [N2 N3]]. destruct most_fits as [M1 [M2 M3]].
assert (W : (prec - 2 = mw - 1)%Z) by (unfold prec; ring).
destruct (whole_part emin prec Hp He v (in_format x v Hx) ltac:(lra)) as [k [E1 [E2 [Bf [E3 Ff]]]]].
rewrite W in *. apply Rabs_le_inv in Bv as Bv'. apply Rabs_le_inv in Bf as Bf'.
assert (Bk : (- (- (emin + prec) - 1) - 1 < k < emax - 4 + 1)%Z).
{ split; apply lt_IZR; [rewrite minus_IZR, opp_IZR|rewrite plus_IZR]; lra. }
assert (K : (Z.abs k < 2 ^ (mw - 1))%Z) by (unfold emin in *; lia).
assert (P3 : IZR (3 * 2 ^ (mw - 1)) = 3 * bpow radix2 (mw - 1)) by (rewrite mult_IZR, IZR_power by (unfold prec in *; lia); reflexivity).
assert (P5 : bpow radix2 (mw + 1) = 4 * bpow radix2 (mw - 1)).
{ change 4 with (bpow radix2 2). rewrite <- bpow_plus. f_equal. ring. }
assert (P6 : bpow radix2 (prec - 4) <= bpow radix2 (mw - 1)) by (apply bpow_le; unfold prec; lia).
assert (Hs : stands (add x C) (IZR (3 * 2 ^ (mw - 1) + k))).
{ rewrite <- E1. apply add_stands; [exact Hx|exact C_stands|]. apply (most_large (mw + 1)); [unfold emax; lia|].
  rewrite P5, P3. apply Rabs_le. lra. }
assert (Hn : stands (sub (add x C) C) (IZR k)).
{ rewrite <- E2. apply sub_stands; [exact Hs|exact C_stands|].
  rewrite <- minus_IZR. replace (3 * 2 ^ (mw - 1) + k - 3 * 2 ^ (mw - 1))%Z with k by ring.
  apply (most_large (mw - 1)); [unfold emax; lia|]. rewrite <- IZR_power, <- abs_IZR by (unfold prec in *; lia). apply IZR_le. lia. }
assert (Hf : stands (sub x (sub (add x C) C)) (v - IZR k)).
{ rewrite <- E3. apply sub_stands; [exact Hx|exact Hn|]. apply (most_large 0); [lia|]. simpl. apply Rabs_le. lra. }
set (f := v - IZR k) in *.
assert (S := exp2_size f Bf). fold (exp2 f) in S.
assert (D : Rabs (pr f - exp2 f) <= e * exp2 f).
{ replace (pr f - exp2 f) with ((pr f - P f) + (P f - exp2 f)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (A := rounding f Ff Bf). assert (B := method f Bf).
  assert (dp * (7/10) <= dp * exp2 f) by (apply Rmult_le_compat_l; lra).
  assert ((e0 + dp * (10/7)) * exp2 f <= e * exp2 f) by (apply Rmult_le_compat_r; lra). lra. }
assert (D' : Rabs (pr f - exp2 f) <= 1/5 * exp2 f).
{ replace (pr f - exp2 f) with ((pr f - P f) + (P f - exp2 f)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (A := rounding f Ff Bf). assert (B := method f Bf).
  assert (e0 * exp2 f <= 1/10 * exp2 f) by (apply Rmult_le_compat_r; lra). lra. }
apply Rabs_le_inv in D' as D1.
assert (Ev : v = IZR k + f) by (unfold f; ring).
exists (pr f * bpow radix2 k). split.
- apply scale_stands; [exact wide|apply pf_stands; [exact Hf|exact Bf]|exact Hs|exact K| |].
  + apply Rle_trans with (bpow radix2 (-1)); [apply bpow_le; lia|simpl; lra].
  + split.
    * apply Rle_trans with (bpow radix2 (-1) * bpow radix2 k); [rewrite <- bpow_plus; apply bpow_le; lia|].
      apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra].
    * apply Rlt_le_trans with (bpow radix2 1 * bpow radix2 k); [|rewrite <- bpow_plus; apply bpow_le; lia].
      apply Rmult_lt_compat_r; [apply bpow_gt_0|simpl; lra].
- rewrite Ev, exp2_whole. replace (pr f * bpow radix2 k - exp2 f * bpow radix2 k) with ((pr f - exp2 f) * bpow radix2 k) by ring.
  rewrite Rabs_mult, (Rabs_pos_eq (bpow _ _)), <- Rmult_assoc by apply bpow_ge_0.
  apply Rmult_le_compat_r; [apply bpow_ge_0|exact D].
Qed.
End Exp2.
End Kernel.

(* The last step of the logarithm's polynomials, whose constant is above 1. *)
Lemma step_sizes a b c : Rabs a <= 2 -> Rabs b <= 1/2 -> Rabs c <= 2 -> Rabs (a * b + c) <= 4.
Proof.
intros A B C. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
assert (Rabs a * Rabs b <= 2 * (1/2)) by (apply Rmult_le_compat; auto using Rabs_pos). lra.
Qed.
Lemma last32 x y z a b c : stands32 x a /\ Rabs a <= 2 -> stands32 y b /\ Rabs b <= 1/2 -> stands32 z c /\ Rabs c <= 2 ->
  stands32 (fma x y z) (@fma real32 a b c) /\ Rabs (@fma real32 a b c) <= 4.
Proof.
intros [Hx A] [Hy B] [Hz C]. assert (S := step_sizes a b c A B C). split.
- apply fma32; try assumption. apply Rle_trans with (1 := S). change 4 with (bpow radix2 2). apply bpow_le. lia.
- apply abs_round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact S].
  change 4 with (bpow radix2 2). apply generic_format_bpow. unfold FLT_exp. lia.
Qed.
Lemma last64 x y z a b c : stands64 x a /\ Rabs a <= 2 -> stands64 y b /\ Rabs b <= 1/2 -> stands64 z c /\ Rabs c <= 2 ->
  stands64 (fma x y z) (@fma real64 a b c) /\ Rabs (@fma real64 a b c) <= 4.
Proof.
intros [Hx A] [Hy B] [Hz C]. assert (S := step_sizes a b c A B C). split.
- apply fma64; try assumption. apply Rle_trans with (1 := S). change 4 with (bpow radix2 2). apply bpow_le. lia.
- apply abs_round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact S].
  change 4 with (bpow radix2 2). apply generic_format_bpow. unfold FLT_exp. lia.
Qed.

Lemma lean_half t : lean_range t -> Rabs t <= 1/2.
Proof. intros H. simpl in H. apply Rabs_le. lra. Qed.

Ltac lean_constant := split; [first [apply const32; reflexivity|apply const64; reflexivity]|
  cbv [real32 real64 real_ops const dyadic_R num expo]; apply Rabs_le; simpl; lra].
Ltac open_rounding := unfold vf_lean_log2_polynomial_1, vd_lean_log2_polynomial_1, vf_lean_exp2_polynomial_1,
  vd_lean_exp2_polynomial_1, exact, real32, real64, rnd32, rnd64;
  cbv [real_ops carrier const fma dyadic_R num expo]; change (bpow radix2 0) with 1; rewrite ?Rmult_1_r.

Lemma log2_P32_stands x t : stands32 x t -> lean_range t ->
  stands32 (vf_lean_log2_polynomial_1 float32 x) (vf_lean_log2_polynomial_1 real32 t) /\ Rabs (vf_lean_log2_polynomial_1 real32 t) <= 4.
Proof.
intros Hx Ht. assert (H := lean_half t Ht). unfold vf_lean_log2_polynomial_1.
apply last32; [|split; assumption|lean_constant]. repeat (apply horner32; [|split; assumption|lean_constant]). lean_constant.
Qed.
Lemma log2_P64_stands x t : stands64 x t -> lean_range t ->
  stands64 (vd_lean_log2_polynomial_1 float64 x) (vd_lean_log2_polynomial_1 real64 t) /\ Rabs (vd_lean_log2_polynomial_1 real64 t) <= 4.
Proof.
intros Hx Ht. assert (H := lean_half t Ht). unfold vd_lean_log2_polynomial_1.
apply last64; [|split; assumption|lean_constant]. repeat (apply horner64; [|split; assumption|lean_constant]). lean_constant.
Qed.
Lemma exp2_Q32_stands x t : stands32 x t -> Rabs t <= 1/2 -> stands32 (vf_lean_exp2_polynomial_1 float32 x) (vf_lean_exp2_polynomial_1 real32 t).
Proof.
intros Hx H. unfold vf_lean_exp2_polynomial_1.
refine (proj1 (_ : _ /\ Rabs _ <= 2)). repeat (apply horner32; [|split; assumption|lean_constant]). lean_constant.
Qed.
Lemma exp2_Q64_stands x t : stands64 x t -> Rabs t <= 1/2 -> stands64 (vd_lean_exp2_polynomial_1 float64 x) (vd_lean_exp2_polynomial_1 real64 t).
Proof.
intros Hx H. unfold vd_lean_exp2_polynomial_1.
refine (proj1 (_ : _ /\ Rabs _ <= 2)). repeat (apply horner64; [|split; assumption|lean_constant]). lean_constant.
Qed.

Lemma log2_rounding32 t : f32 t -> lean_range t -> Rabs (vf_lean_log2_polynomial_1 real32 t - log2_P32 t) <= 1 * pow2 (-23).
Proof. intros F H. open_rounding. gappa. Qed.
Lemma log2_rounding64 t : f64 t -> lean_range t -> Rabs (vd_lean_log2_polynomial_1 real64 t - log2_P64 t) <= 1 * pow2 (-52).
Proof. intros F H. open_rounding. gappa. Qed.
Lemma exp2_rounding32 t : f32 t -> Rabs t <= 1/2 -> Rabs (vf_lean_exp2_polynomial_1 real32 t - exp2_Q32 t) <= 1 * pow2 (-23).
Proof. intros F H. open_rounding. gappa. Qed.
Lemma exp2_rounding64 t : f64 t -> Rabs t <= 1/2 -> Rabs (vd_lean_exp2_polynomial_1 real64 t - exp2_Q64 t) <= 1 * pow2 (-52).
Proof. intros F H. open_rounding. gappa. Qed.

Lemma one32 : stands32 (const (Dyadic 1 0)) 1.
Proof. replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring). apply const32; reflexivity. Qed.
Lemma one64 : stands64 (const (Dyadic 1 0)) 1.
Proof. replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring). apply const64; reflexivity. Qed.
Lemma round32 : stands32 (const EXP32_ROUND) (IZR (3 * 2 ^ (23 - 1))).
Proof. replace (IZR (3 * 2 ^ (23 - 1))) with (dyadic_R EXP32_ROUND) by (numbers; simpl; lra). apply const32; reflexivity. Qed.
Lemma round64 : stands64 (const EXP64_ROUND) (IZR (3 * 2 ^ (52 - 1))).
Proof. replace (IZR (3 * 2 ^ (52 - 1))) with (dyadic_R EXP64_ROUND) by (numbers; simpl; lra). apply const64; reflexivity. Qed.

Lemma lean32_log2_stands x v : stands32 x v -> pow2 (-126) <= v -> exists y, stands32 (vf_lean_log2_1 float32 x) y /\
  Rabs (y - log2 v) <= dyadic_R LEAN32_LOG2_ERROR * Rabs (log2 v).
Proof.
intros Hx Nv. rewrite vf_log2_parts. apply (log2_stands 23 8 eq_refl eq_refl eq_refl nan32 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)
  (const (Dyadic 1 0)) (const EXP32_ROUND) one32 round32
  (vf_lean_log2_polynomial_1 float32) (vf_lean_log2_polynomial_1 real32) log2_P32 (159 * pow2 (-18) / 10) (1 * pow2 (-23))
  _ (const LEAN32_ROOT) (dyadic_R LEAN32_ROOT)).
- apply const32; reflexivity.
- unfold dyadic_R, LEAN32_ROOT; simpl; lra.
- exact log2_P32_stands.
- exact log2_rounding32.
- exact log2_method32.
- exact log2_P32_size.
- unfold dyadic_R, LEAN32_LOG2_ERROR; simpl; lra.
- exact Hx.
- exact Nv.
Qed.

Lemma lean64_log2_stands x v : stands64 x v -> pow2 (-1022) <= v -> exists y, stands64 (vd_lean_log2_1 float64 x) y /\
  Rabs (y - log2 v) <= dyadic_R LEAN64_LOG2_ERROR * Rabs (log2 v).
Proof.
intros Hx Nv. rewrite vd_log2_parts. apply (log2_stands 52 11 eq_refl eq_refl eq_refl nan64 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)
  (const (Dyadic 1 0)) (const EXP64_ROUND) one64 round64
  (vd_lean_log2_polynomial_1 float64) (vd_lean_log2_polynomial_1 real64) log2_P64 (2195 * pow2 (-40) / 100) (1 * pow2 (-52))
  _ (const LOG64_ROOT) (dyadic_R LOG64_ROOT)).
- apply const64; reflexivity.
- unfold dyadic_R, LOG64_ROOT; simpl; lra.
- exact log2_P64_stands.
- exact log2_rounding64.
- exact log2_method64.
- exact log2_P64_size.
- unfold dyadic_R, LEAN64_LOG2_ERROR; simpl; lra.
- exact Hx.
- exact Nv.
Qed.

Lemma lean32_exp2_stands x v : stands32 x v -> Rabs v <= 120 -> exists y, stands32 (vf_lean_exp2_1 float32 x) y /\
  Rabs (y - exp2 v) <= dyadic_R LEAN32_EXP2_ERROR * exp2 v.
Proof.
intros Hx Nv. rewrite vf_exp2_parts. apply (exp2_stands 23 8 eq_refl eq_refl eq_refl nan32 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)
  (const EXP32_ROUND) round32
  (vf_lean_exp2_polynomial_1 float32) (vf_lean_exp2_polynomial_1 real32) exp2_Q32 (1117 * pow2 (-20) / 10) (1 * pow2 (-23)) _ 120).
- exact exp2_Q32_stands.
- exact exp2_rounding32.
- exact exp2_method32.
- unfold dyadic_R, LEAN32_EXP2_ERROR; simpl; lra.
- simpl; lra.
- exact Hx.
- exact Nv.
Qed.

Lemma lean64_exp2_stands x v : stands64 x v -> Rabs v <= 1020 -> exists y, stands64 (vd_lean_exp2_1 float64 x) y /\
  Rabs (y - exp2 v) <= dyadic_R LEAN64_EXP2_ERROR * exp2 v.
Proof.
intros Hx Nv. rewrite vd_exp2_parts. apply (exp2_stands 52 11 eq_refl eq_refl eq_refl nan64 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)
  (const EXP64_ROUND) round64
  (vd_lean_exp2_polynomial_1 float64) (vd_lean_exp2_polynomial_1 real64) exp2_Q64 (639 * pow2 (-40) / 10) (1 * pow2 (-52)) _ 1020).
- exact exp2_Q64_stands.
- exact exp2_rounding64.
- exact exp2_method64.
- unfold dyadic_R, LEAN64_EXP2_ERROR; simpl; lra.
- simpl; lra.
- exact Hx.
- exact Nv.
Qed.

(** theorem: lean_log2_error — the lean logarithm by base 2, in float32 and in float64 and on every instruction set, of a finite normal x > 0 is finite and within LEAN32_LOG2_ERROR, LEAN64_LOG2_ERROR of log2 x, relatively: 0 at x = 1. used by: src/sparse/power_isa.h, src/sparse/solve_isa.c *)
Theorem lean_log2_error :
  (forall x, fin32 x = true -> pow2 (-126) <= val32 x -> let y := vf_lean_log2_1 float32 x in
    fin32 y = true /\ Rabs (val32 y - log2 (val32 x)) <= dyadic_R LEAN32_LOG2_ERROR * Rabs (log2 (val32 x))) /\
  (forall x, fin64 x = true -> pow2 (-1022) <= val64 x -> let y := vd_lean_log2_1 float64 x in
    fin64 y = true /\ Rabs (val64 y - log2 (val64 x)) <= dyadic_R LEAN64_LOG2_ERROR * Rabs (log2 (val64 x))).
Proof.
split; intros x F N y.
- destruct (lean32_log2_stands x (val32 x) (conj F eq_refl) N) as [z [[Fy Ey] H]].
  split; [exact Fy|]. change (val32 y = z) in Ey. rewrite Ey. exact H.
- destruct (lean64_log2_stands x (val64 x) (conj F eq_refl) N) as [z [[Fy Ey] H]].
  split; [exact Fy|]. change (val64 y = z) in Ey. rewrite Ey. exact H.
Qed.

(** theorem: lean_exp2_error — the lean exponential by base 2, in float32 for |x| <= 120 and in float64 for |x| <= 1020 and on every instruction set, is finite and within LEAN32_EXP2_ERROR, LEAN64_EXP2_ERROR of 2^x, relatively. used by: src/sparse/power_isa.h, src/sparse/solve_isa.c *)
Theorem lean_exp2_error :
  (forall x, fin32 x = true -> Rabs (val32 x) <= 120 -> let y := vf_lean_exp2_1 float32 x in
    fin32 y = true /\ Rabs (val32 y - exp2 (val32 x)) <= dyadic_R LEAN32_EXP2_ERROR * exp2 (val32 x)) /\
  (forall x, fin64 x = true -> Rabs (val64 x) <= 1020 -> let y := vd_lean_exp2_1 float64 x in
    fin64 y = true /\ Rabs (val64 y - exp2 (val64 x)) <= dyadic_R LEAN64_EXP2_ERROR * exp2 (val64 x)).
Proof.
split; intros x F N y.
- destruct (lean32_exp2_stands x (val32 x) (conj F eq_refl) N) as [z [[Fy Ey] H]].
  split; [exact Fy|]. change (val32 y = z) in Ey. rewrite Ey. exact H.
- destruct (lean64_exp2_stands x (val64 x) (conj F eq_refl) N) as [z [[Fy Ey] H]].
  split; [exact Fy|]. change (val64 y = z) in Ey. rewrite Ey. exact H.
Qed.
