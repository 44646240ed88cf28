(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The weights of the double tier as src/softmax/condition_impl.h rounds them to float for A, C and S:
   rounded once, and once for every move of the shift that they follow, by a rounded factor. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import problem.row enclosure.exp_method enclosure.summation softmax.weight.
Import ListNotations ITZ.
Open Scope R_scope.
Notation pow2 := (bpow radix2).
Notation rnd32 := (nearest (-149) 24).
Notation u32 := (pow2 (-24)).
Notation e32 := (pow2 (-150)).

Lemma rounded32 z : Rabs (rnd32 z - z) <= u32 * Rabs z + e32.
Proof. apply (nearest_error (-149) 24). lia. Qed.

Lemma rounded32_normal z : pow2 (-126) <= z -> exists f, rnd32 z = f * z /\ sized f (u32 * (1 + pow2 (-20))).
Proof.
intros H. assert (P : 0 < z) by (eapply Rlt_le_trans; [apply bpow_gt_0|exact H]).
exists (rnd32 z / z). split; [field; lra|]. apply sized_near.
- assert (E := relative_error_N_FLT radix2 (-149) 24 eq_refl (fun x => negb (Z.even x)) z
    ltac:(rewrite (Rabs_pos_eq z) by lra; exact H)).
  fold (rnd32 z) in E. replace (rnd32 z / z - 1) with ((rnd32 z - z) / z) by (field; lra).
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq z) by lra.
  apply (Rmult_le_reg_r z); [exact P|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite (Rabs_pos_eq z) in E by lra. eapply Rle_trans; [exact E|]. apply Rmult_le_compat_r; [lra|].
  simpl bpow. lra.
- split; [apply bpow_ge_0|apply bpow_le; lia].
Qed.

Lemma rnd32_le_pow2 z k : (-149 <= k)%Z -> z <= pow2 k -> rnd32 z <= pow2 k.
Proof.
intros K H. apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact H].
apply generic_format_FLT_bpow; [reflexivity|exact K].
Qed.

Lemma rnd32_pos z : 0 <= z -> 0 <= rnd32 z.
Proof.
intros H. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|exact H].
Qed.

Fixpoint factor32 (l : list (R * R)) : R := match l with [] => 1 | p :: l => rnd32 (snd p) * factor32 l end.

Lemma factor32_pos l : moves l -> 0 <= factor32 l.
Proof.
induction 1 as [|p l [_ [H _]] _ IH]; cbn [factor32]; [lra|]. apply Rmult_le_pos; [apply rnd32_pos, H|exact IH].
Qed.

(* Every move rounds its factor once. *)
Lemma factor32_sized l : moves l -> distance l <= 77 ->
  exists f, factor32 l = f * factor l /\ sized f (INR (length l) * (u32 * (1 + pow2 (-20)))).
Proof.
intros H. induction H as [|[d f] l [H1 H2] Hl IH]; cbn [distance factor factor32 fst snd length]; intros B.
- exists 1. split; [ring|]. unfold sized. rewrite Rmult_0_l, Ropp_0, exp_0. lra.
- cbn [fst snd] in H1, H2. pose proof (distance_pos l Hl) as P. destruct (IH ltac:(lra)) as [g [Eg Sg]].
  assert (N : pow2 (-126) <= f).
  { pose proof (rounded (- d)) as R. rewrite (Rabs_Ropp d), (Rabs_pos_eq d) in R by lra. apply Rabs_le_inv in R.
    assert (u64 * d <= / 1000000 * d) by (apply Rmult_le_compat_r; [lra|simpl; lra]).
    assert (pow2 (-1075) <= / 1000000) by (apply Rle_trans with (pow2 (-20)); [apply bpow_le; lia|simpl; lra]).
    destruct H2 as [_ [H2 _]]. specialize (H2 ltac:(lra)). apply Rabs_le_inv in H2.
    set (y := rnd64 (- d)) in *. assert (Y : -78 <= y) by lra.
    assert (Q : exp (-78) <= exp y) by (destruct Y as [Y|Y]; [left; apply exp_increasing, Y|right; rewrite Y; reflexivity]).
    assert (T : pow2 (-126) * 2 <= exp (-78)) by (interval with (i_prec 60)).
    assert (2 * u64 * exp y <= / 2 * exp y) by (apply Rmult_le_compat_r; [left; apply exp_pos|simpl; lra]). lra. }
  destruct (rounded32_normal f N) as [h [Eh Sh]]. exists (h * g). split; [rewrite Eg, Eh; ring|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, Rplus_comm. apply sized_mult; assumption.
Qed.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [L|<-]; [left; apply exp_increasing, L|right; reflexivity]. Qed.

Lemma exp_nine : exp 9 <= 8192. Proof. interval with (i_prec 40). Qed.

(* However long the way. *)
Lemma factor32_above l : moves l ->
  factor32 l <= 1 /\ (factor32 l <= exp (- (distance l * (1 - pow2 (-25)))) \/ factor32 l <= pow2 (-120)).
Proof.
intros H. induction H as [|[d f] l [H1 H2] Hl [IH1 IH]]; cbn [distance factor32 fst snd].
- split; [lra|]. left. rewrite Rmult_0_l, Ropp_0, exp_0. lra.
- cbn [fst snd] in H1, H2. assert (F := factor32_pos l Hl).
  assert (A := factor_above [(d, f)] ltac:(constructor; [split; assumption|constructor])).
  cbn [distance factor fst snd] in A. rewrite Rmult_1_r, Rplus_0_r in A.
  assert (U : 0 <= u64 <= / 1000000000) by (split; [apply bpow_ge_0|simpl; lra]).
  assert (Ud : 0 <= u64 * d <= / 1000000000 * d) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
  assert (Fp : 0 <= rnd32 f) by (apply rnd32_pos, H2).
  assert (R1 : rnd32 f <= pow2 0).
  { apply rnd32_le_pow2; [lia|]. apply Rle_trans with (1 := A). change (pow2 0) with 1.
    apply Rle_trans with (exp 0); [apply exp_le; lra|rewrite exp_0; lra]. }
  change (pow2 0) with 1 in R1.
  assert (L1 : rnd32 f * factor32 l <= 1) by (replace 1 with (1 * 1) by ring; apply Rmult_le_compat; lra).
  split; [exact L1|]. destruct (Rle_lt_dec 87 d) as [D|D].
  + right. assert (R2 : rnd32 f <= pow2 (-120)).
    { apply rnd32_le_pow2; [lia|]. apply Rle_trans with (1 := A). apply Rle_trans with (exp (-86)); [apply exp_le; lra|].
      interval with (i_prec 60). }
    replace (pow2 (-120)) with (pow2 (-120) * 1) by ring. apply Rmult_le_compat; assumption.
  + destruct IH as [IH|IH].
    2: { right. replace (pow2 (-120)) with (1 * pow2 (-120)) by ring. apply Rmult_le_compat; assumption. }
    left. rewrite Rmult_plus_distr_r, Ropp_plus_distr, exp_plus. apply Rmult_le_compat; try assumption.
    set (z := exp (- (d * (1 - 2 * u64)))) in *. assert (Pz : 0 < z) by apply exp_pos.
    assert (T : e32 <= u32 * z).
    { apply Rle_trans with (u32 * pow2 (-126)); [rewrite <- bpow_plus; apply bpow_le; lia|].
      apply Rmult_le_compat_l; [apply bpow_ge_0|]. apply Rle_trans with (exp (-87.1)); [interval with (i_prec 60)|].
      apply exp_le. lra. }
    pose proof (rounded32 f) as R. rewrite (Rabs_pos_eq f) in R by apply H2. apply Rabs_le_inv in R.
    assert (V : 0 <= u32) by apply bpow_ge_0.
    assert (u32 * f <= u32 * z) by (apply Rmult_le_compat_l; assumption).
    apply Rle_trans with (z * (1 + 2 * u32)); [lra|].
    apply Rle_trans with (z * exp (2 * u32)); [apply Rmult_le_compat_l; [lra|apply exp_above]|].
    unfold z. rewrite <- exp_plus. apply exp_le.
    assert (B : 2 * u32 <= d * (pow2 (-25) - 2 * u64)).
    { apply Rle_trans with (8 * (pow2 (-25) - 2 * u64)); [simpl bpow; lra|]. apply Rmult_le_compat_r; [simpl bpow; lra|lra]. }
    lra.
Qed.

Section Key.
Variables (s sh m E e : R) (l : list (R * R)).
Let y := rnd64 (sh - m).
Hypothesis score : Rabs (sh - s) <= E + pow2 (-62).
Hypothesis E_small : 0 <= E <= pow2 (-14).
Hypothesis below : y <= 17/2.
Hypothesis exponential : is_exp y e.
Hypothesis moved : moves l.
Let w := exp (s - (m + distance l)).
Variable rho : R.
Hypothesis rho_large : 0 <= rho.
Hypothesis relative : -68 <= y - distance l -> Rabs (e * factor l - w) <= rho * w.

(* What a key meets: at most 9 moves, and its own rounding. *)
Definition met := 10 * (u32 * (1 + pow2 (-20))).

Lemma within_both f t v r : sized f t -> 0 <= t -> 0 <= r -> 0 < w -> Rabs (v - w) <= r * w ->
  Rabs (f * v - w) <= ((1 + r) * exp t - 1) * w.
Proof.
intros [F1 F2] Ht Hr Hw Hv. apply Rabs_le_inv in Hv. pose proof (exp_pos (- t)) as P.
assert (P2 : 2 <= exp t + exp (- t)).
{ assert (EE : exp t * exp (- t) = 1) by (rewrite <- exp_plus; replace (t + - t) with 0 by ring; apply exp_0).
  assert (0 <= (exp t - exp (- t)) * (exp t - exp (- t))) by apply Rle_0_sqr. pose proof (exp_pos t). nra. }
assert (E1 : 1 <= exp t) by (pose proof (exp_above t); lra).
assert (rw : 0 <= r * w) by (apply Rmult_le_pos; lra).
apply Rabs_le. split.
- destruct (Rle_lt_dec 0 v) as [V|V].
  + apply Rle_trans with (exp (- t) * v - w); [|apply Rplus_le_compat_r, Rmult_le_compat_r; assumption].
    apply Rle_trans with (exp (- t) * (w - r * w) - w); [|apply Rplus_le_compat_r, Rmult_le_compat_l; lra].
    assert (Q : (2 - exp t) * w <= exp (- t) * w) by (apply Rmult_le_compat_r; lra).
    assert (Q2 : exp (- t) * (r * w) <= 1 * (r * w)).
    { apply Rmult_le_compat_r; [exact rw|]. pose proof (exp_le (- t) 0 ltac:(lra)) as X. rewrite exp_0 in X. exact X. }
    assert (1 * (r * w) <= exp t * (r * w)) by (apply Rmult_le_compat_r; lra). lra.
  + assert (G : f * - v <= exp t * - v) by (apply Rmult_le_compat_r; lra).
    assert (exp t * (w - r * w) <= exp t * v) by (apply Rmult_le_compat_l; lra).
    assert (1 * w <= exp t * w) by (apply Rmult_le_compat_r; lra). lra.
- destruct (Rle_lt_dec 0 v) as [V|V].
  + assert (f * v <= exp t * v) by (apply Rmult_le_compat_r; lra).
    assert (exp t * v <= exp t * (w + r * w)) by (apply Rmult_le_compat_l; lra). lra.
  + assert (0 <= f * - v) by (apply Rmult_le_pos; lra).
    assert (1 * w <= exp t * w) by (apply Rmult_le_compat_r; lra).
    assert (0 <= exp t * (r * w)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma few : -68 <= y - distance l -> distance l <= 77 /\ INR (length l) <= 9.
Proof.
intros H. pose proof (few_moves l moved) as F. unfold y in *. split; [lra|].
assert (L : (length l < 10)%nat) by (apply INR_lt; replace (INR 10) with 10 by (simpl; ring); lra).
replace 9 with (INR 9) by (simpl; ring). apply le_INR. lia.
Qed.

Lemma e_above : e <= exp (y + 2 * u64).
Proof.
destruct exponential as [_ [H1 H2]]. destruct (Rle_lt_dec (-707) y) as [L|L].
- specialize (H1 L). apply Rabs_le_inv in H1. rewrite exp_plus.
  assert (exp y * (1 + 2 * u64) <= exp y * exp (2 * u64)) by (apply Rmult_le_compat_l; [left; apply exp_pos|apply exp_above]). lra.
- rewrite (H2 L). left. apply exp_pos.
Qed.

(* e1: the exponential as it is, or rounded to float *)
Variable e1 : R.
Hypothesis taken : e1 = e \/ e1 = rnd32 e.

Lemma e1_pos : 0 <= e1.
Proof. destruct exponential as [P _]. destruct taken as [->| ->]; [exact P|apply rnd32_pos, P]. Qed.

(** theorem: float_weight — of a key of the double tier of softmax, the weight that A, C and S take in float is within (1 + rho) e^(10 u (1 + 2^-20)) - 1 of the exact one, relatively, with u = 2^-24, or both are below 2^-98. used by: src/softmax/condition_impl.h, src/softmax/enclose.c *)
Theorem float_weight :
  (-68 <= y - distance l /\ Rabs (e1 * factor32 l - w) <= ((1 + rho) * exp met - 1) * w) \/
  (0 <= w <= pow2 (-98) /\ 0 <= e1 * factor32 l <= pow2 (-98)).
Proof.
assert (Pe := e1_pos). assert (Pf := factor32_pos l moved). assert (U : 0 <= u32) by apply bpow_ge_0.
destruct (Rle_lt_dec (-68) (y - distance l)) as [H|H].
- left. split; [exact H|]. destruct (few H) as [D L]. destruct (factor32_sized l moved D) as [f [Ef Sf]].
  assert (P20 : 0 <= u32 * (1 + pow2 (-20))) by (apply Rmult_le_pos; [exact U|simpl; lra]).
  assert (exists g, e1 = g * e /\ sized g (u32 * (1 + pow2 (-20)))) as [g [Eg Sg]].
  { destruct taken as [->| ->].
    - exists 1. split; [ring|]. unfold sized. pose proof (exp_le (- (u32 * (1 + pow2 (-20)))) 0 ltac:(lra)).
      pose proof (exp_le 0 (u32 * (1 + pow2 (-20))) ltac:(lra)). rewrite exp_0 in *. lra.
    - apply rounded32_normal. pose proof (distance_pos l moved) as DP. assert (Y : -68 <= y) by lra.
      destruct exponential as [_ [E1 _]]. specialize (E1 ltac:(lra)). apply Rabs_le_inv in E1.
      assert (T : pow2 (-126) * 2 <= exp (-68)) by (interval with (i_prec 60)).
      pose proof (exp_le (-68) y Y). pose proof (exp_pos y).
      assert (2 * u64 * exp y <= / 2 * exp y) by (apply Rmult_le_compat_r; [lra|simpl; lra]). lra. }
  rewrite Eg, Ef. replace (g * e * (f * factor l)) with (g * f * (e * factor l)) by ring.
  apply within_both; [|unfold met; lra|exact rho_large|apply exp_pos|apply relative, H].
  eapply sized_more; [apply sized_mult; [exact Sg|exact Sf]|]. unfold met.
  assert (INR (length l) * (u32 * (1 + pow2 (-20))) <= 9 * (u32 * (1 + pow2 (-20)))) by (apply Rmult_le_compat_r; assumption).
  lra.
- right. destruct (is_negligible s sh m E e l score E_small below exponential moved H) as [N1 _].
  split; [exact N1|]. split; [apply Rmult_le_pos; assumption|].
  assert (B1 : e1 <= exp (y + 2 * u64) * (1 + u32) + e32).
  { pose proof e_above as A. assert (exp (y + 2 * u64) * u32 >= 0) by (apply Rle_ge, Rmult_le_pos; [left; apply exp_pos|exact U]).
    assert (0 <= e32) by apply bpow_ge_0. destruct taken as [->| ->]; [lra|].
    destruct exponential as [P _]. pose proof (rounded32 e) as R. rewrite (Rabs_pos_eq e P) in R. apply Rabs_le_inv in R.
    assert (u32 * e <= u32 * exp (y + 2 * u64)) by (apply Rmult_le_compat_l; assumption). lra. }
  assert (E32 : 0 <= e32 <= pow2 (-104)) by (split; [apply bpow_ge_0|apply bpow_le; lia]).
  assert (U64 : 0 <= u64 <= / 1000000000) by (split; [apply bpow_ge_0|simpl; lra]).
  destruct (factor32_above l moved) as [F1 [F2|F2]].
  + assert (S : e1 * factor32 l <= exp (y + 2 * u64) * (1 + u32) * factor32 l + e32 * 1).
    { apply Rle_trans with ((exp (y + 2 * u64) * (1 + u32) + e32) * factor32 l); [apply Rmult_le_compat_r; assumption|].
      rewrite Rmult_plus_distr_r. apply Rplus_le_compat_l, Rmult_le_compat_l; lra. }
    assert (T : exp (y + 2 * u64) * (1 + u32) * factor32 l <= exp (-67.99)).
    { apply Rle_trans with (exp (y + 2 * u64) * exp u32 * exp (- (distance l * (1 - pow2 (-25))))).
      - apply Rmult_le_compat; [apply Rmult_le_pos; [left; apply exp_pos|lra]|exact Pf| |exact F2].
        apply Rmult_le_compat_l; [left; apply exp_pos|apply exp_above].
      - rewrite <- !exp_plus. apply exp_le. fold y in below.
        assert (pow2 (-25) * y <= pow2 (-25) * (17/2)) by (apply Rmult_le_compat_l; [apply bpow_ge_0|exact below]).
        assert ((y - distance l) * (1 - pow2 (-25)) <= -68 * (1 - pow2 (-25))) by (apply Rmult_le_compat_r; [simpl; lra|lra]).
        simpl bpow in *. lra. }
    assert (exp (-67.99) <= pow2 (-98) - pow2 (-104)) by (interval with (i_prec 60)). lra.
  + assert (B2 : exp (y + 2 * u64) * (1 + u32) + e32 <= pow2 13).
    { assert (exp (y + 2 * u64) <= exp 8.6) by (apply exp_le; fold y in below; lra).
      assert (exp 8.6 <= 6000) by (interval with (i_prec 40)).
      assert (exp (y + 2 * u64) * (1 + u32) <= 6000 * (1 + u32)) by (apply Rmult_le_compat_r; lra).
      assert (pow2 (-104) <= 1) by (apply (bpow_le radix2 (-104) 0); lia). simpl bpow in *. lra. }
    apply Rle_trans with (pow2 13 * pow2 (-120)); [apply Rmult_le_compat; lra|]. rewrite <- bpow_plus. apply bpow_le. lia.
Qed.

(* Weight and size together: t1 is computed for t, z for t1 e1, then follows the shift. *)
Variables (t t1 z kt et T : R).
Hypothesis t_pos : 0 <= t <= T.
Hypothesis size_off : 0 <= t1 /\ Rabs (t1 - t) <= kt * t + et.
Hypothesis small : 0 <= kt <= / 2 /\ 0 <= et /\ rho <= / 4.
Hypothesis z_off : 0 <= z /\ Rabs (z - t1 * e1) <= 3 * u32 * (t1 * e1) + 2 * e32.
Hypothesis w_below : w <= pow2 13.

Definition sized_tail := pow2 (-97) * T + pow2 15 * et + 2 * e32.

Lemma float_sized : (Rabs (z * factor32 l - w * t) <= ((1 + rho) * exp met * (1 + kt) * (1 + 3 * u32) - 1) * (w * t) + sized_tail) /\
  (-68 <= y - distance l \/ z * factor32 l <= 2 * sized_tail).
Proof.
assert (Pe := e1_pos). assert (Pf := factor32_pos l moved). destruct (factor32_above l moved) as [F1 _].
assert (U : 0 <= u32 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
assert (P32 : 0 <= e32) by apply bpow_ge_0. destruct small as [[K1 K2] [Het Hr]]. destruct size_off as [T1 T2].
destruct z_off as [Z1 Z2]. set (al := e1 * factor32 l). assert (Pal : 0 <= al) by (apply Rmult_le_pos; assumption).
assert (Pw : 0 < w) by apply exp_pos.
assert (Em : 1 <= exp met <= 1 + / 1000).
{ assert (B : 0 <= met <= / 10000) by (unfold met; simpl; lra). split; [pose proof (exp_above met); lra|].
  apply Rle_trans with (exp (/ 10000)); [apply exp_le; lra|]. interval with (i_prec 40). }
(* the product that follows the shift *)
assert (Z : Rabs (z * factor32 l - t1 * al) <= 3 * u32 * (t1 * al) + 2 * e32).
{ replace (z * factor32 l - t1 * al) with ((z - t1 * e1) * factor32 l) by (unfold al; ring).
  rewrite Rabs_mult, (Rabs_pos_eq (factor32 l)) by assumption.
  apply (Rmult_le_compat_r (factor32 l)) in Z2; [|assumption].
  apply Rle_trans with (1 := Z2). unfold al.
  assert (2 * e32 * factor32 l <= 2 * e32 * 1) by (apply Rmult_le_compat_l; lra). lra. }
assert (Pt1 : 0 <= t1 * al) by (apply Rmult_le_pos; assumption).
assert (P97 : 0 <= pow2 (-97)) by apply bpow_ge_0. assert (P15 : pow2 15 = 32768) by (simpl; lra).
assert (P13 : pow2 13 = 8192) by (simpl; lra).
assert (Kt : kt * t <= / 2 * t) by (apply Rmult_le_compat_r; lra).
assert (Kt0 : 0 <= kt * t) by (apply Rmult_le_pos; lra).
assert (HT : 0 <= T) by lra.
assert (T1u : t1 <= (1 + kt) * t + et) by (apply Rabs_le_inv in T2; lra).
destruct float_weight as [[WH W]|[W1 W2]]; fold al in W || fold al in W2.
- split; [|left; exact WH].
  set (R0 := (1 + rho) * exp met) in *.
  assert (HR0 : 1 <= R0 <= 3/2).
  { unfold R0. split.
    - replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; lra.
    - apply Rle_trans with ((1 + / 4) * (1 + / 1000)); [apply Rmult_le_compat; lra|lra]. }
  assert (Wu : al <= R0 * w) by (apply Rabs_le_inv in W; lra).
  (* t1 al - w t *)
  assert (P : Rabs (t1 * al - w * t) <= (R0 * (1 + kt) - 1) * (w * t) + R0 * w * et).
  { replace (t1 * al - w * t) with ((t1 - t) * al + t * (al - w)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq al), (Rabs_pos_eq t) by lra.
    assert (A1 : Rabs (t1 - t) * al <= (kt * t + et) * (R0 * w)) by (apply Rmult_le_compat; try apply Rabs_pos; assumption).
    assert (A2 : t * Rabs (al - w) <= t * ((R0 - 1) * w)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (Q : t1 * al <= R0 * (1 + kt) * (w * t) + R0 * w * et).
  { apply Rabs_le_inv in P. lra. }
  replace (z * factor32 l - w * t) with ((z * factor32 l - t1 * al) + (t1 * al - w * t)) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  apply (Rmult_le_compat_l (3 * u32)) in Q; [|lra].
  assert (V : R0 * w * et <= 16384 * et).
  { apply Rmult_le_compat_r; [exact Het|]. apply Rle_trans with (2 * 8192); [apply Rmult_le_compat; lra|lra]. }
  assert (Vp : 0 <= R0 * w * et) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|exact Het]).
  assert (3 * u32 * (R0 * w * et) <= / 2 * (R0 * w * et)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= pow2 (-97) * T) by (apply Rmult_le_pos; assumption).
  unfold sized_tail. rewrite P15. unfold R0 in *. lra.
- assert (E97 : pow2 (-97) = 2 * pow2 (-98)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
  assert (P98 : 0 <= pow2 (-98) <= 1).
  { split; [apply bpow_ge_0|apply (bpow_le radix2 (-98) 0); lia]. }
  assert (Ta : t1 * al <= 3/2 * (T * pow2 (-98)) + et).
  { apply Rle_trans with ((3/2 * T + et) * pow2 (-98)); [apply Rmult_le_compat; lra|].
    assert (et * pow2 (-98) <= et * 1) by (apply Rmult_le_compat_l; lra). lra. }
  assert (PT : 0 <= T * pow2 (-98)) by (apply Rmult_le_pos; lra).
  assert (Wt : w * t <= pow2 (-98) * T) by (apply Rmult_le_compat; lra).
  assert (Wt0 : 0 <= w * t) by (apply Rmult_le_pos; lra).
  assert (Pz : 0 <= z * factor32 l) by (apply Rmult_le_pos; assumption).
  apply Rabs_le_inv in Z.
  assert (3 * u32 * (t1 * al) <= / 100 * (t1 * al)) by (apply Rmult_le_compat_r; lra).
  assert (Zu : z * factor32 l <= sized_tail).
  { unfold sized_tail. rewrite E97, P15. lra. }
  split; [|right; unfold sized_tail in *; lra].
  assert (R1 : 0 <= ((1 + rho) * exp met * (1 + kt) * (1 + 3 * u32) - 1) * (w * t)).
  { apply Rmult_le_pos; [|exact Wt0]. assert (1 * 1 <= (1 + rho) * exp met) by (apply Rmult_le_compat; lra).
    assert (1 * 1 <= (1 + rho) * exp met * (1 + kt)) by (apply Rmult_le_compat; lra).
    assert (1 * 1 <= (1 + rho) * exp met * (1 + kt) * (1 + 3 * u32)) by (apply Rmult_le_compat; lra). lra. }
  assert (w * t <= sized_tail).
  { unfold sized_tail. rewrite E97, P15. lra. }
  apply Rabs_le. lra.
Qed.
End Key.
