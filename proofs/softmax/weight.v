(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The relative error rho of a weight in the double tier of softmax, step 2 of src/softmax/enclose.c:
   the subtraction of the shift, the exponential, and the factors by which earlier weights follow when
   the shift moves. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Binary.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa
  enclosure.exp_method enclosure.exp_float enclosure.summation.
Import ListNotations ITZ.
Open Scope R_scope.
Notation u64 := (pow2 (-53)).

(* A factor within e^(+-t). *)
Definition sized (f t : R) := exp (- t) <= f <= exp t.

Lemma sized_mult f g s t : sized f s -> sized g t -> sized (f * g) (s + t).
Proof.
intros [F1 F2] [G1 G2]. unfold sized. replace (- (s + t)) with (- s + - t) by ring.
rewrite !exp_plus. pose proof (exp_pos (- s)). pose proof (exp_pos (- t)).
split; apply Rmult_le_compat; lra.
Qed.

Lemma sized_exp d t : Rabs d <= t -> sized (exp d) t.
Proof.
intros H. apply Rabs_le_inv in H.
assert (M : forall a b, a <= b -> exp a <= exp b).
{ intros a b [L|<-]; [left; apply exp_increasing, L|right; reflexivity]. }
split; apply M; lra.
Qed.

Lemma sized_more f s t : sized f s -> s <= t -> sized f t.
Proof.
intros [A B] H.
assert (M : forall a b, a <= b -> exp a <= exp b).
{ intros a b [L|<-]; [left; apply exp_increasing, L|right; reflexivity]. }
pose proof (M s t H). pose proof (M (- t) (- s) ltac:(lra)). split; lra.
Qed.

Lemma exp_above z : 1 + z <= exp z.
Proof. destruct (Req_dec z 0) as [->|N]; [rewrite exp_0; lra|left; apply exp_ineq1, N]. Qed.

(* 1 + e is of the size of e, hardly more. *)
Lemma sized_near f e : Rabs (f - 1) <= e -> 0 <= e <= pow2 (-21) -> sized f (e * (1 + pow2 (-20))).
Proof.
intros H He. apply Rabs_le_inv in H. set (t := e * (1 + pow2 (-20))).
assert (e <= t <= 2 * e) by (unfold t; simpl bpow; lra).
split.
- rewrite exp_Ropp. pose proof (exp_above t).
  apply Rle_trans with (/ (1 + t)); [apply Rinv_le; lra|].
  apply (Rmult_le_reg_l (1 + t)); [lra|]. rewrite Rinv_r by lra.
  assert (e * t <= e * pow2 (-20)) by (apply Rmult_le_compat_l; simpl bpow in *; lra).
  assert (t - e = e * pow2 (-20)) by (unfold t; ring).
  assert ((1 + t) * (1 - e) <= (1 + t) * f) by (apply Rmult_le_compat_l; lra). lra.
- pose proof (exp_above t). lra.
Qed.

Lemma sized_relative f w t : 0 < w -> sized f t -> 0 <= t <= pow2 (-12) ->
  Rabs (f * w - w) <= t * (1 + pow2 (-11)) * w.
Proof.
intros Hw [A B] Ht. replace (f * w - w) with ((f - 1) * w) by ring.
rewrite Rabs_mult, (Rabs_pos_eq w) by lra. apply Rmult_le_compat_r; [lra|].
assert (L : 1 - t <= f) by (pose proof (exp_above (- t)); lra).
assert (U : exp t * (1 - t) <= 1).
{ pose proof (exp_above (- t)) as E. apply (Rmult_le_compat_l (exp t)) in E; [|left; apply exp_pos].
  rewrite <- exp_plus in E. replace (t + - t) with 0 in E by ring. rewrite exp_0 in E. lra. }
assert (U' : exp t <= 1 + t * (1 + pow2 (-11))).
{ apply (Rmult_le_reg_r (1 - t)); [simpl bpow in Ht; lra|]. apply Rle_trans with (1 := U).
  assert (t * t <= t * pow2 (-12)) by (apply Rmult_le_compat_l; lra).
  assert (t * t * pow2 (-11) <= t * pow2 (-12) * pow2 (-11)) by (apply Rmult_le_compat_r; [apply bpow_ge_0|assumption]).
  simpl bpow in *. lra. }
assert (0 <= t * pow2 (-11)) by (apply Rmult_le_pos; [lra|apply bpow_ge_0]).
apply Rabs_le. lra.
Qed.

(* What exp64_error and exp64_nothing say of the exponential of y. *)
Definition is_exp (y e : R) := 0 <= e /\
  (-707 <= y -> Rabs (e - exp y) <= 2 * u64 * exp y) /\ (y < -707 -> e = 0).

Lemma vd_exp_is_exp (x : binary_float 53 1024) : fin64 x = true -> val64 x <= 709 ->
  is_exp (val64 x) (val64 (vd_exp float64 x)).
Proof.
intros F B. unfold is_exp. assert (E2 : dyadic_R EXP64_ERROR = 2).
{ unfold dyadic_R, EXP64_ERROR. simpl. unfold Z.pow_pos; simpl; lra. }
destruct (Rle_lt_dec (-707) (val64 x)) as [L|L].
- destruct (exp64_error x F (conj L B)) as [_ H]. rewrite E2 in H.
  split; [|split; [intros _; exact H|lra]]. apply Rabs_le_inv in H. pose proof (exp_pos (val64 x)).
  assert (2 * u64 * exp (val64 x) <= 1 * exp (val64 x)) by (apply Rmult_le_compat_r; simpl bpow; lra). lra.
- rewrite (exp64_nothing x); [simpl; split; [lra|split; [lra|reflexivity]]|intros _; exact L|].
  intros ->. discriminate.
Qed.

Lemma is_exp_sized y e : is_exp y e -> -707 <= y -> exists f, e = f * exp y /\ sized f (2 * u64 * (1 + pow2 (-20))).
Proof.
intros [_ [H _]] L. specialize (H L). exists (e / exp y). pose proof (exp_pos y) as P.
split; [field; lra|]. apply sized_near.
- replace (e / exp y - 1) with ((e - exp y) / exp y) by (field; lra).
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (exp y)) by lra.
  apply (Rmult_le_reg_r (exp y)); [exact P|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
- assert (0 <= u64) by apply bpow_ge_0. split; [lra|].
  change (2 * u64) with (pow2 1 * u64). rewrite <- bpow_plus. apply bpow_le. lia.
Qed.

Notation rnd64 := (nearest (-1074) 53).

Lemma rounded z : Rabs (rnd64 z - z) <= u64 * Rabs z + pow2 (-1075).
Proof. apply (nearest_error (-1074) 53). lia. Qed.

(* Moves of the shift by d > 8, with the factors f that the code computes for them. *)
Definition moves (l : list (R * R)) :=
  Forall (fun p => 8 < fst p /\ is_exp (rnd64 (- fst p)) (snd p)) l.
Fixpoint distance (l : list (R * R)) : R := match l with [] => 0 | p :: l => fst p + distance l end.
Fixpoint factor (l : list (R * R)) : R := match l with [] => 1 | p :: l => snd p * factor l end.

Lemma distance_pos l : moves l -> 0 <= distance l.
Proof. induction 1 as [|p l [H _] _ IH]; simpl; lra. Qed.

Lemma few_moves l : moves l -> 8 * INR (length l) <= distance l.
Proof. induction 1 as [|p l [H _] _ IH]; [simpl; lra|]. cbn [length distance]. rewrite S_INR. lra. Qed.

Lemma factor_pos l : moves l -> 0 <= factor l.
Proof.
induction 1 as [|p l [_ [H _]] _ IH]; simpl; [lra|]. apply Rmult_le_pos; assumption.
Qed.

(* One move: u d from its argument and 2 u from the exponential, so (1 + 2/8) u d and a little. *)
Lemma factor_sized l : moves l -> distance l <= 77 ->
  exists f, factor l = f * exp (- distance l) /\ sized f (distance l * (u64 * (21/16))).
Proof.
intros H. induction H as [|[d f] l [H1 H2] Hl IH]; cbn [distance factor fst snd]; intros B.
- exists 1. split; [rewrite Ropp_0, exp_0; ring|]. unfold sized. rewrite Rmult_0_l, Ropp_0, exp_0. lra.
- cbn [fst snd] in H1, H2. pose proof (distance_pos l Hl) as P. destruct (IH ltac:(lra)) as [g [Eg Sg]].
  pose proof (rounded (- d)) as R. rewrite (Rabs_Ropp d), (Rabs_pos_eq d) in R by lra.
  assert (U : 0 <= u64) by apply bpow_ge_0.
  assert (T : pow2 (-1075) <= u64 * pow2 (-20)) by (rewrite <- bpow_plus; apply bpow_le; lia).
  assert (Y : -707 <= rnd64 (- d)).
  { apply Rabs_le_inv in R. assert (u64 * d <= 1 * d) by (apply Rmult_le_compat_r; simpl bpow; lra).
    assert (pow2 (-1075) <= 1) by (apply (bpow_le radix2 (-1075) 0); lia). lra. }
  destruct (is_exp_sized _ _ H2 Y) as [h [Eh Sh]].
  exists ((h * exp (rnd64 (- d) - - d)) * g). split.
  + rewrite Eg, Eh. replace (exp (- (d + distance l))) with (exp (- d) * exp (- distance l))
      by (rewrite <- exp_plus; f_equal; ring).
    replace (exp (rnd64 (- d))) with (exp (rnd64 (- d) - - d) * exp (- d)) at 1
      by (rewrite <- exp_plus; f_equal; ring). ring.
  + rewrite Rmult_plus_distr_r. apply sized_mult; [|exact Sg].
    eapply sized_more; [apply sized_mult; [exact Sh|apply sized_exp, R]|].
    assert (8 * u64 <= d * u64) by (apply Rmult_le_compat_r; lra). 
    change (pow2 (-20)) with (/ 1048576) in *. lra.
Qed.

(* However long the way: the factors of moves are at most what they should be, hardly more. *)
Lemma factor_above l : moves l -> factor l <= exp (- (distance l * (1 - 2 * u64))).
Proof.
intros H. induction H as [|[d f] l [H1 H2] Hl IH]; cbn [distance factor fst snd].
- rewrite Rmult_0_l, Ropp_0, exp_0. lra.
- cbn [fst snd] in H1, H2.
  replace (exp (- ((d + distance l) * (1 - 2 * u64)))) with
    (exp (- (d * (1 - 2 * u64))) * exp (- (distance l * (1 - 2 * u64))))
    by (rewrite <- exp_plus; f_equal; ring).
  assert (F := factor_pos l Hl). apply Rmult_le_compat; [apply H2|exact F| |exact IH].
  destruct (Rle_lt_dec (-707) (rnd64 (- d))) as [L|L].
  + destruct (is_exp_sized _ _ H2 L) as [h [Eh [_ Sh]]]. rewrite Eh.
    pose proof (rounded (- d)) as R. rewrite (Rabs_Ropp d), (Rabs_pos_eq d) in R by lra.
    apply Rabs_le_inv in R. assert (U : 0 <= u64) by apply bpow_ge_0.
    assert (T : pow2 (-1075) <= u64 * pow2 (-20)) by (rewrite <- bpow_plus; apply bpow_le; lia).
    assert (8 * u64 <= d * u64) by (apply Rmult_le_compat_r; lra).
    apply Rle_trans with (exp (2 * u64 * (1 + pow2 (-20))) * exp (rnd64 (- d))).
    { apply Rmult_le_compat_r; [left; apply exp_pos|exact Sh]. }
    rewrite <- exp_plus. change (pow2 (-20)) with (/ 1048576) in *.
    destruct (Rle_lt_or_eq_dec (2 * u64 * (1 + / 1048576) + rnd64 (- d)) (- (d * (1 - 2 * u64)))) as [Q|Q];
      [lra|left; apply exp_increasing, Q|rewrite Q; apply Rle_refl].
  + destruct H2 as [_ [_ H2]]. rewrite (H2 L). left. apply exp_pos.
Qed.

Lemma negligible_exp z : z <= -67.99 -> exp z <= pow2 (-98).
Proof.
intros H. apply Rle_trans with (exp (-67.99)); [|interval with (i_prec 60)].
destruct H as [H| ->]; [left; apply exp_increasing, H|apply Rle_refl].
Qed.

Section Key.
Variables (s sh m E e : R) (l : list (R * R)).
Let y := rnd64 (sh - m).
(* 2^-62 = u 2^-9 beside E, for products of small terms that E leaves out *)
Hypothesis score : Rabs (sh - s) <= E + pow2 (-62).
Hypothesis E_small : 0 <= E <= pow2 (-14).
(* PASS_SHIFT, and what comparing with the rounded m + PASS_SHIFT lets through *)
Hypothesis below : y <= 17/2.
Hypothesis exponential : is_exp y e.
Hypothesis moved : moves l.

(* E + 70 u, and 112 u when the shift moved; C has the factor 1 + 2^-10, and rounds *)
Definition rho : R := (E + (70 + (match l with [] => 0 | _ => 112 end)) * u64) * (1 + 7 * pow2 (-13)).

Lemma distance_from_shift : Rabs (y - (sh - m)) <= u64 * Rabs y * (1 + pow2 (-40)) + pow2 (-1074).
Proof.
unfold y. pose proof (rounded (sh - m)) as R. set (z := sh - m) in *. set (r := rnd64 z) in *.
assert (U : 0 <= u64) by apply bpow_ge_0.
assert (Z : Rabs z <= Rabs r + Rabs (r - z)).
{ replace z with (r - (r - z)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|].
  rewrite Rabs_Ropp. lra. }
apply (Rmult_le_compat_l u64) in Z; [|exact U].
pose proof (Rabs_pos r). pose proof (Rabs_pos (r - z)).
assert (T : pow2 (-1074) = 2 * pow2 (-1075)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
rewrite T. assert (0 <= pow2 (-1075)) by apply bpow_ge_0.
generalize dependent (pow2 (-1075)). intros t; intros. clear T.
assert (Rabs (r - z) * (1 - u64) <= u64 * Rabs r + t) by lra.
assert (0 <= u64 * Rabs r) by (apply Rmult_le_pos; assumption).
assert (u64 * (u64 * Rabs r) <= pow2 (-50) * (u64 * Rabs r)) by (apply Rmult_le_compat_r; [assumption|apply bpow_le; lia]).
simpl bpow in *. nra.
Qed.

Lemma matters : -68 <= y - distance l ->
  Rabs (e * factor l - exp (s - (m + distance l))) <= rho * exp (s - (m + distance l)).
Proof.
intros H. pose proof (distance_pos l moved) as P. set (D := distance l) in *.
assert (U : 0 <= u64) by apply bpow_ge_0.
assert (D77 : D <= 153/2) by lra.
destruct (factor_sized l moved ltac:(fold D; lra)) as [f [Ef Sf]]. fold D in Ef, Sf.
destruct (is_exp_sized y e exponential ltac:(lra)) as [g [Eg Sg]].
pose proof distance_from_shift as R.
assert (Y : Rabs y <= 68) by (apply Rabs_le; lra).
assert (T : pow2 (-1074) <= u64 * pow2 (-20)) by (rewrite <- bpow_plus; apply bpow_le; lia).
assert (R' : Rabs (y - (sh - m)) <= u64 * (68 + pow2 (-10))).
{ apply (Rmult_le_compat_l u64) in Y; [|exact U]. simpl bpow in *. lra. }
set (w := exp (s - (m + D))).
assert (Ew : e * factor l = (g * exp ((y - (sh - m)) + (sh - s)) * f) * w).
{ unfold w. rewrite Eg, Ef.
  replace (exp y) with (exp (y - (sh - m) + (sh - s)) * exp (s - m)) by (rewrite <- exp_plus; f_equal; ring).
  replace (exp (s - (m + D))) with (exp (s - m) * exp (- D)) by (rewrite <- exp_plus; f_equal; ring). ring. }
rewrite Ew.
set (t := E + (70 + (match l with [] => 0 | _ => 112 end)) * u64 * (1 + pow2 (-12))).
assert (S : sized (g * exp ((y - (sh - m)) + (sh - s)) * f) t).
{ eapply sized_more.
  - apply sized_mult; [|exact Sf]. apply sized_mult; [exact Sg|]. apply sized_exp.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [exact R'|exact score].
  - unfold t. destruct l as [|p k]; [simpl in D|].
    + unfold D. simpl bpow in *. lra.
    + assert (D * u64 <= 153/2 * u64) by (apply Rmult_le_compat_r; lra). simpl bpow in *. lra. }
assert (B : (match l with [] => 0 | _ => 112 end) * u64 <= 112 * u64).
{ apply Rmult_le_compat_r; [exact U|]. destruct l; lra. }
assert (B' : 0 <= (match l with [] => 0 | _ => 112 end) * u64).
{ apply Rmult_le_pos; [destruct l; lra|exact U]. }
eapply Rle_trans; [apply sized_relative with (t := t); [apply exp_pos|exact S|]|].
- unfold t. simpl bpow in *. lra.
- apply Rmult_le_compat_r; [left; apply exp_pos|]. unfold t, rho. simpl bpow in *. lra.
Qed.

Lemma is_negligible : y - distance l < -68 ->
  0 <= exp (s - (m + distance l)) <= pow2 (-98) /\ 0 <= e * factor l <= pow2 (-98).
Proof.
intros H. pose proof (distance_pos l moved) as P. set (D := distance l) in *.
assert (U : 0 <= u64 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
pose proof distance_from_shift as R. pose proof (factor_above l moved) as F. fold D in F.
assert (T' : pow2 (-62) <= / 1000000) by (simpl; lra).
assert (T : pow2 (-1074) <= / 1000000) by (apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|simpl; lra]).
change (pow2 (-14)) with (/ 16384) in *.
split; split.
- left. apply exp_pos.
- apply negligible_exp. apply Rabs_le_inv in R. apply Rabs_le_inv in score.
  assert (V : u64 * Rabs y * (1 + pow2 (-40)) <= / 500000 * Rabs y).
  { assert (u64 * Rabs y <= / 1000000 * Rabs y) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
    assert (0 <= u64 * Rabs y) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). simpl bpow in *. lra. }
  destruct (Rle_lt_dec (-1000) y) as [L|L].
  + assert (Rabs y <= 1000) by (apply Rabs_le; lra).
    (* 1000 / 500000 is less than what is left of 0.01 *) lra.
  + rewrite Rabs_left in V, R by lra. lra.
- apply Rmult_le_pos; [apply exponential|apply factor_pos, moved].
- apply Rle_trans with (exp (y + 2 * u64) * exp (- (D * (1 - 2 * u64)))).
  + apply Rmult_le_compat; [apply exponential|apply factor_pos, moved| |exact F].
    destruct exponential as [_ [H1 H2]]. destruct (Rle_lt_dec (-707) y) as [L|L].
    * specialize (H1 L). apply Rabs_le_inv in H1. rewrite exp_plus.
      assert (exp y * (1 + 2 * u64) <= exp y * exp (2 * u64)).
      { apply Rmult_le_compat_l; [left; apply exp_pos|apply exp_above]. } lra.
    * rewrite (H2 L). left. apply exp_pos.
  + rewrite <- exp_plus. apply negligible_exp.
    assert (u64 * y <= u64 * (17/2)) by (apply Rmult_le_compat_l; lra).
    assert ((y - D) * (1 - 2 * u64) <= -68 * (1 - 2 * u64)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** theorem: softmax_weight — of a key of the double tier of softmax, either the computed weight is within rho = (E + 70 u [+ 112 u when the shift moved]) (1 + 7 2^-13) of the exact one, relatively, or both are below 2^-98. used by: src/softmax/enclose.c *)
Theorem softmax_weight : let w := exp (s - (m + distance l)) in let w' := e * factor l in
  Rabs (w' - w) <= rho * w \/ (0 <= w <= pow2 (-98) /\ 0 <= w' <= pow2 (-98)).
Proof.
intros w w'. destruct (Rle_lt_dec (-68) (y - distance l)) as [H|H].
- left. apply matters, H.
- right. apply is_negligible, H.
Qed.
End Key.
