(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* tanh on Flocq's floating-point numbers: exp(2x) - 1 from the reduced argument, the quotient, no
   overflow, and the error that src/enclosure/exp_constants.h states. *)
From Coq Require Import ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Binary Mult_error.
From Gappa Require Import Gappa_tactic.
From Attest Require Import enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_isa enclosure.exp_method
  enclosure.exp_reduction enclosure.exp_error enclosure.exp_float enclosure.tanh_method.
Open Scope R_scope.

(* ---- e = exp(2x) - 1 and e / (e + 2) in a format of unit roundoff u ---- *)
Section Core.
Variables emin prec : Z.
Hypothesis Hp : (10 < prec < 60)%Z.
Hypothesis He : (emin <= -149)%Z.
Notation rnd := (nearest emin prec).
Notation u := (roundoff prec).
Notation eta := (underflow emin).
Hypothesis u_small : 0 <= u <= / 1000000.
Hypothesis eta_small : 0 <= eta <= / 1000 * (u * pow2 (-62)).

Lemma core_rounds z : Rabs (rnd z - z) <= u * Rabs z + eta.
Proof. apply nearest_error. lia. Qed.

Lemma core_keeps z : generic_format radix2 (FLT_exp emin prec) z -> rnd z = z.
Proof. apply round_generic, valid_rnd_N. Qed.

Lemma core_format z : generic_format radix2 (FLT_exp emin prec) (rnd z).
Proof. apply generic_format_round; [apply FLT_exp_valid; unfold Prec_gt_0; lia|apply valid_rnd_N]. Qed.

(* The quotient, for any e near E. *)
Section Quotient.
Variables (e E delta : R).
Hypothesis E_pos : pow2 (-60) <= E.
Hypothesis delta_small : 0 <= delta <= / 10000.
Hypothesis near : Rabs (e - E) <= delta * E.
Let d := rnd (e + 2).
Let y := rnd (e / d).
Let t := E / (E + 2).

Lemma core_e : E * (9999 / 10000) <= e <= E * (10001 / 10000).
Proof.
assert (0 < E) by (pose proof (bpow_gt_0 radix2 (-60)); lra).
assert (delta * E <= / 10000 * E) by (apply Rmult_le_compat_r; lra). apply Rabs_le_inv in near. lra.
Qed.

Lemma core_d : Rabs (d - (e + 2)) <= u * (1001 / 1000) * (e + 2).
Proof.
pose proof core_e as Ce. assert (0 < E) by (pose proof (bpow_gt_0 radix2 (-60)); lra).
pose proof (core_rounds (e + 2)) as N. fold d in N. rewrite (Rabs_pos_eq (e + 2)) in N by lra.
assert (u * pow2 (-62) <= u * 1) by (apply Rmult_le_compat_l; [lra|simpl; lra]).
assert (u * 2 <= u * (e + 2)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma core_quotient : 0 < d /\ 0 <= e / d <= 2 /\ Rabs (y - t) <= (delta + 2 * u) * (101 / 100) * t.
Proof.
pose proof core_e as Ce. pose proof core_d as Cd. assert (P60 := bpow_gt_0 radix2 (-60)).
assert (PE : 0 < E) by lra. assert (Pe : 0 < e) by lra.
assert (Ue : u * (e + 2) <= / 1000000 * (e + 2)) by (apply Rmult_le_compat_r; lra).
assert (Dd : (e + 2) * (999 / 1000) <= d <= (e + 2) * (1001 / 1000)) by (apply Rabs_le_inv in Cd; lra).
assert (Pd : 0 < d) by lra. split; [exact Pd|].
set (r := e / (e + 2)).
assert (Pt : 0 < t) by (apply Rdiv_lt_0_compat; lra).
assert (R1 : Rabs (r - t) <= delta * t).
{ assert (Er : r - t = (e - E) * (2 / ((e + 2) * (E + 2)))) by (unfold r, t; field; lra).
  assert (Et : delta * t = delta * E * (/ (E + 2))) by (unfold t; field; lra).
  assert (I : 0 < 2 / ((e + 2) * (E + 2)) <= / (E + 2)).
  { split; [apply Rdiv_lt_0_compat; [lra|apply Rmult_lt_0_compat; lra]|].
    replace (2 / ((e + 2) * (E + 2))) with (2 / (e + 2) * / (E + 2)) by (field; lra).
    rewrite <- (Rmult_1_l (/ (E + 2))) at 2. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
    apply (Rmult_le_reg_r (e + 2)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  rewrite Er, Et, Rabs_mult, (Rabs_pos_eq (2 / _)) by lra.
  apply Rmult_le_compat; try lra. apply Rabs_pos. }
assert (Br : 0 <= r <= t * (1001 / 1000)).
{ split; [left; apply Rdiv_lt_0_compat; lra|].
  assert (delta * t <= / 10000 * t) by (apply Rmult_le_compat_r; lra). apply Rabs_le_inv in R1. lra. }
set (s := e / d).
assert (R2 : Rabs (s - r) <= u * (1003 / 1000) * r).
{ assert (Es : s - r = r * ((e + 2 - d) / d)) by (unfold s, r; field; lra).
  rewrite Es, Rabs_mult, (Rabs_pos_eq r) by lra. rewrite Rmult_comm. apply Rmult_le_compat_r; [lra|].
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq d), (Rabs_minus_sym) by lra.
  apply (Rmult_le_reg_r d); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (1 := Cd). replace (u * (1003 / 1000) * d) with (u * d * (1003 / 1000)) by ring.
  assert (u * ((e + 2) * (999 / 1000)) <= u * d) by (apply Rmult_le_compat_l; lra).
  assert (0 <= u * (e + 2)) by (apply Rmult_le_pos; lra). lra. }
assert (Ur : u * r <= / 1000000 * r) by (apply Rmult_le_compat_r; lra).
assert (Bs : 0 <= s <= r * (1001 / 1000)).
{ split; [left; apply Rdiv_lt_0_compat; lra|]. apply Rabs_le_inv in R2. lra. }
assert (T1 : t <= 1).
{ unfold t. apply (Rmult_le_reg_r (E + 2)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
split; [lra|].
pose proof (core_rounds s) as N. change (rnd s) with y in N. rewrite (Rabs_pos_eq s) in N by lra.
(* underflow is far away *)
assert (Tt : pow2 (-62) <= t).
{ unfold t. destruct (Rle_dec E 1) as [L|L].
  - apply Rle_trans with (pow2 (-60) * (1/4)).
    + replace (1/4) with (pow2 (-2)) by (simpl; lra). rewrite <- bpow_plus. apply bpow_le. lia.
    + unfold Rdiv. rewrite Rmult_1_l. apply Rmult_le_compat; [lra|lra|exact E_pos|]. apply Rinv_le; lra.
  - apply Rle_trans with (1/3); [simpl; lra|]. apply (Rmult_le_reg_r (E + 2)); [lra|].
    replace (E / (E + 2) * (E + 2)) with E by (field; lra). lra. }
assert (Ne : eta <= / 1000 * (u * t)).
{ apply Rle_trans with (1 := proj2 eta_small). apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
assert (Q1 : u * r <= u * (t * (1001 / 1000))) by (apply Rmult_le_compat_l; lra).
assert (Q2 : u * s <= u * (r * (1001 / 1000))) by (apply Rmult_le_compat_l; lra).
assert (Q3 : 0 <= u * t) by (apply Rmult_le_pos; lra).
assert (Q4 : 0 <= delta * t) by (apply Rmult_le_pos; lra).
replace (y - t) with ((y - s) + (s - r) + (r - t)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
apply Rle_trans with (Rabs (y - s) + Rabs (s - r) + delta * t); [|lra].
apply Rplus_le_compat; [apply Rabs_triang|exact R1].
Qed.
End Quotient.

(* k, a: the reduction of X = 2|x|; T, Te: (exp(a) - 1)/a by the polynomial, with rounding and without *)
Variables (k : Z) (X a T Te : R).
Hypothesis X_range : pow2 (-60) <= X <= 40.
Hypothesis a_reduced : reduced a.
Hypothesis a_near : Rabs (a - (X - IZR k * ln 2)) <= u * (1025 / 4096).
Hypothesis a_is : k = 0%Z -> a = X.
Hypothesis T_near : Rabs (T - Te) <= 3 / 2 * u * Rabs Te.
Hypothesis Te_near : Rabs (Te * a - (exp a - 1)) <= u / 2 * Rabs a.
Hypothesis shift : forall d, Rabs d <= u * (1025 / 4096) -> Rabs (exp d - 1) <= u * (1026 / 4096).

Let E := exp X - 1.
Let P := rnd (T * a).
Let q := rnd (bpow radix2 k - 1).
Let e := rnd (bpow radix2 k * P + q).

Lemma core_k : (0 <= k <= 60)%Z.
Proof.
assert (L := ln2_range). assert (R := a_reduced). assert (N := a_near). simpl in L, R.
apply Rabs_le_inv in R. apply Rabs_le_inv in N. assert (0 < pow2 (-60)) by apply bpow_gt_0.
split; apply Znot_gt_le; intros K.
- assert (IZR k <= -1) by (apply IZR_le; lia).
  assert (IZR k * ln 2 <= -1 * ln 2) by (apply Rmult_le_compat_r; lra). lra.
- assert (61 <= IZR k) by (apply IZR_le; lia).
  assert (61 * ln 2 <= IZR k * ln 2) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma core_a : Rabs a <= 347 / 1000 /\ Rabs (exp a - 1) <= 27 / 64.
Proof.
assert (B := exp_range a a_reduced). assert (R := a_reduced). simpl in R. split; [lra|]. apply Rabs_le. lra.
Qed.

(* the product before and after rounding *)
Lemma core_product : Rabs (T * a - (exp a - 1)) <= 3 / 2 * u * Rabs (exp a - 1) + u * (501 / 1000) * Rabs a /\
  Rabs (T * a) <= 1/2 /\ Rabs P <= 1.
Proof.
destruct core_a as [Ba Be]. set (x := exp a - 1) in *. pose proof (Rabs_pos a). pose proof (Rabs_pos x).
assert (A : Rabs (T * a - Te * a) <= 3 / 2 * u * (Rabs x + u / 2 * Rabs a)).
{ replace (T * a - Te * a) with ((T - Te) * a) by ring. rewrite Rabs_mult.
  apply Rle_trans with (3 / 2 * u * Rabs Te * Rabs a); [apply Rmult_le_compat_r; [lra|exact T_near]|].
  rewrite Rmult_assoc, <- Rabs_mult. apply Rmult_le_compat_l; [lra|].
  replace (Te * a) with (x + (Te * a - x)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
assert (Q : u * (u * Rabs a) <= / 1000000 * (u * Rabs a)).
{ apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]. }
assert (0 <= u * Rabs a <= / 1000000 * Rabs a).
{ split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_r; lra. }
assert (D : Rabs (T * a - x) <= 3 / 2 * u * Rabs x + u * (501 / 1000) * Rabs a).
{ replace (T * a - x) with ((T * a - Te * a) + (Te * a - x)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
split; [exact D|].
assert (u * Rabs x <= / 1000000 * Rabs x) by (apply Rmult_le_compat_r; lra).
assert (B : Rabs (T * a) <= 1/2).
{ replace (T * a) with (x + (T * a - x)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
split; [exact B|].
pose proof (core_rounds (T * a)) as N. fold P in N.
assert (u * Rabs (T * a) <= / 1000000 * Rabs (T * a)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
assert (u * pow2 (-62) <= / 1000000 * 1) by (apply Rmult_le_compat; try lra; [apply bpow_ge_0|simpl; lra]).
replace P with (T * a + (P - T * a)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma core_X : X <= E.
Proof. unfold E. pose proof (exp_ineq1 X). assert (0 < pow2 (-60)) by apply bpow_gt_0. lra. Qed.

(* No whole power of 2. *)
Lemma core_near : k = 0%Z -> Rabs (e - E) <= 31 / 10 * u * E.
Proof.
intros K. assert (Ea := a_is K). assert (P0 : 0 < pow2 (-60)) by apply bpow_gt_0.
assert (Ee : e = P).
{ unfold e, q. rewrite K. simpl (bpow radix2 0). replace (1 - 1) with 0 by ring.
  rewrite (core_keeps 0) by apply generic_format_0. rewrite Rmult_1_l, Rplus_0_r. apply core_keeps, core_format. }
rewrite Ee. destruct core_product as [D _]. rewrite Ea in D. fold E in D.
pose proof core_X. pose proof (core_rounds (T * a)) as N. fold P in N. rewrite Ea in N.
rewrite (Rabs_pos_eq E), (Rabs_pos_eq X) in D by lra.
assert (u * X <= u * E) by (apply Rmult_le_compat_l; lra).
assert (UE : 0 <= u * E) by (apply Rmult_le_pos; lra).
assert (D' : Rabs (T * X - E) <= 2002 / 1000 * (u * E)) by lra.
assert (B : Rabs (T * X) <= E + 2002 / 1000 * (u * E)).
{ replace (T * X) with (E + (T * X - E)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite (Rabs_pos_eq E) by lra. lra. }
apply (Rmult_le_compat_l u) in B; [|lra].
assert (u * (u * E) <= / 1000000 * (u * E)) by (apply Rmult_le_compat_r; lra).
assert (eta <= / 1000 * (u * E)).
{ apply Rle_trans with (1 := proj2 eta_small). apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra|].
  assert (pow2 (-62) <= pow2 (-60)) by (apply bpow_le; lia). lra. }
replace (P - E) with ((P - T * X) + (T * X - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma core_far : (1 <= k)%Z -> Rabs (e - E) <= 89 / 10 * u * E.
Proof.
intros K. destruct core_k as [_ K60]. destruct core_product as [D [B PB]]. destruct core_a as [Ba Be].
set (p := bpow radix2 k) in *.
assert (Pp : 2 <= p) by (unfold p; change 2 with (bpow radix2 1); apply bpow_le; lia).
set (R := X - IZR k * ln 2) in *.
assert (EE : E = p * exp R - 1).
{ unfold E, p, R. rewrite bpow_exp, <- exp_plus. f_equal. f_equal. simpl. ring. }
(* exp R is near exp a *)
assert (S : Rabs (exp R - exp a) <= u * (1026 / 4096) * exp a).
{ apply shifted with (e := u * (1025 / 4096)); [rewrite Rabs_minus_sym; exact a_near|lra|exact shift]. }
assert (Ra := exp_range a a_reduced).
assert (US : u * exp a <= u * (91 / 64)) by (apply Rmult_le_compat_l; lra).
assert (BR : 703 / 1000 <= exp R).
{ apply Rabs_le_inv in S. lra. }
(* P against exp R - 1 *)
assert (HP : Rabs (P - (exp R - 1)) <= 159 / 100 * u).
{ pose proof (core_rounds (T * a)) as N. fold P in N.
  assert (B' : Rabs (T * a) <= 27 / 64 + / 1000).
  { replace (T * a) with ((exp a - 1) + (T * a - (exp a - 1))) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (u * Rabs (exp a - 1) <= / 1000000 * Rabs (exp a - 1)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
    assert (u * Rabs a <= / 1000000 * Rabs a) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]). lra. }
  assert (u * Rabs (T * a) <= u * (27 / 64 + / 1000)) by (apply Rmult_le_compat_l; lra).
  assert (u * Rabs (exp a - 1) <= u * (27 / 64)) by (apply Rmult_le_compat_l; lra).
  assert (u * Rabs a <= u * (347 / 1000)) by (apply Rmult_le_compat_l; lra).
  assert (eta <= / 1000 * u).
  { apply Rle_trans with (1 := proj2 eta_small). apply Rmult_le_compat_l; [lra|].
    rewrite <- (Rmult_1_r u) at 2. apply Rmult_le_compat_l; [lra|simpl; lra]. }
  replace (P - (exp R - 1)) with ((P - T * a) + (T * a - (exp a - 1)) + (exp a - exp R)) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  apply Rle_trans with (Rabs (P - T * a) + Rabs (T * a - (exp a - 1)) + Rabs (exp R - exp a)).
  - apply Rplus_le_compat; [apply Rabs_triang|rewrite Rabs_minus_sym; apply Rle_refl].
  - lra. }
(* 2^k - 1 is a number of the format, or 1 is lost in it *)
assert (Hq : exists c, Rabs (q - (p - 1)) <= u * c /\ p * (159 / 100) + c <= 784 / 100 * E /\ 406 / 1000 <= E).
{ destruct (Z_le_gt_dec k prec) as [L|L].
  - exists 0. split.
    + unfold q. rewrite core_keeps; [unfold p; rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra|].
      replace (p - 1) with (IZR (2 ^ k - 1)).
      * apply format_of_integer; [lia|]. assert (0 < 2 ^ k)%Z by (apply Z.pow_pos_nonneg; lia).
        assert (2 ^ k <= 2 ^ prec)%Z by (apply Z.pow_le_mono_r; lia). lia.
      * unfold p. rewrite minus_IZR. f_equal. change 2%Z with (radix_val radix2). rewrite IZR_Zpower by lia. reflexivity.
    + assert (p * (703 / 1000) <= p * exp R) by (apply Rmult_le_compat_l; lra). lra.
  - exists (p * (1001 / 1000)). 
    assert (1000 <= p).
    { apply Rle_trans with (bpow radix2 10); [simpl; lra|apply bpow_le; lia]. }
    assert (p * (703 / 1000) <= p * exp R) by (apply Rmult_le_compat_l; lra). split; [|lra].
    pose proof (core_rounds (p - 1)) as N. fold q in N. rewrite (Rabs_pos_eq (p - 1)) in N by lra.
    assert (u * (p - 1) <= u * p) by (apply Rmult_le_compat_l; lra).
    assert (eta <= / 1000 * (u * p)).
    { apply Rle_trans with (1 := proj2 eta_small). apply Rmult_le_compat_l; [lra|].
      apply Rmult_le_compat_l; [lra|]. apply Rle_trans with 1; [simpl; lra|lra]. }
    lra. }
destruct Hq as [c [Hq [Hc HE]]].
set (s := p * P + q).
assert (Hs : Rabs (s - E) <= u * (784 / 100 * E)).
{ replace (s - E) with (p * (P - (exp R - 1)) + (q - (p - 1))) by (unfold s; rewrite EE; ring).
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq p) by lra.
  apply (Rmult_le_compat_l p) in HP; [|lra]. apply (Rmult_le_compat_l u) in Hc; lra. }
assert (UE : u * E <= / 1000000 * E) by (apply Rmult_le_compat_r; lra).
assert (Bs : 0 <= s <= E * (101 / 100)) by (apply Rabs_le_inv in Hs; lra).
pose proof (core_rounds s) as N. change (rnd s) with e in N. rewrite (Rabs_pos_eq s) in N by lra.
assert (u * s <= u * (E * (101 / 100))) by (apply Rmult_le_compat_l; lra).
assert (eta <= / 1000 * (u * E)).
{ apply Rle_trans with (1 := proj2 eta_small). apply Rmult_le_compat_l; [lra|].
  apply Rmult_le_compat_l; [lra|]. apply Rle_trans with (/ 1000); [simpl; lra|lra]. }
replace (e - E) with ((e - s) + (s - E)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma core_delta : Rabs (e - E) <= 89 / 10 * u * E.
Proof.
destruct core_k as [K0 _]. destruct (Z.eq_dec k 0) as [K|K]; [|apply core_far; lia].
apply Rle_trans with (1 := core_near K). pose proof core_X. assert (0 < pow2 (-60)) by apply bpow_gt_0.
assert (0 <= u * E) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma core_tanh : let d := rnd (e + 2) in let y := rnd (e / d) in
  Rabs (T * a) <= 1/2 /\ Rabs P <= 1 /\ Rabs q <= bpow radix2 61 /\ 0 <= e <= bpow radix2 63 /\ 0 < d /\ 0 <= e / d <= 2 /\
  Rabs (y - E / (E + 2)) <= 111 / 10 * u * (E / (E + 2)).
Proof.
intros d y. destruct core_product as [_ [B PB]]. pose proof core_X as HX. pose proof core_delta as H.
assert (P0 : 0 < pow2 (-60)) by apply bpow_gt_0. destruct core_k as [K0 K60].
assert (Hd : 0 <= 89 / 10 * u <= / 10000) by lra.
assert (HE : pow2 (-60) <= E) by lra.
destruct (core_quotient e E (89 / 10 * u) HE Hd H) as [Pd [Q D]].
assert (Hp1 : 1 <= bpow radix2 k <= bpow radix2 60).
{ split; [change 1 with (bpow radix2 0)|]; apply bpow_le; lia. }
assert (E61 : bpow radix2 61 = 2 * bpow radix2 60) by (change 61%Z with (1 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (E63 : bpow radix2 63 = 8 * bpow radix2 60) by (change 63%Z with (3 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (Hq : Rabs q <= bpow radix2 61).
{ pose proof (core_rounds (bpow radix2 k - 1)) as N. fold q in N. rewrite (Rabs_pos_eq (_ - 1)) in N by lra.
  assert (u * (bpow radix2 k - 1) <= / 1000000 * (bpow radix2 k - 1)) by (apply Rmult_le_compat_r; lra).
  assert (u * pow2 (-62) <= / 1000000 * 1) by (apply Rmult_le_compat; try lra; [apply bpow_ge_0|simpl; lra]).
  apply Rabs_le_inv in N. apply Rabs_le. lra. }
pose proof (core_e e E (89 / 10 * u) HE Hd H) as Ce.
assert (0 < E) by lra.
assert (He' : e <= bpow radix2 63).
{ pose proof (core_rounds (bpow radix2 k * P + q)) as N. fold e in N.
  assert (Bs : Rabs (bpow radix2 k * P + q) <= 3 * bpow radix2 60).
  { eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 k)) by lra.
    assert (bpow radix2 k * Rabs P <= bpow radix2 60 * 1) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra. }
  assert (u * Rabs (bpow radix2 k * P + q) <= / 1000000 * Rabs (bpow radix2 k * P + q)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
  assert (u * pow2 (-62) <= / 1000000 * 1) by (apply Rmult_le_compat; try lra; [apply bpow_ge_0|simpl; lra]).
  apply Rabs_le_inv in N. assert (Bs2 := Bs). apply Rabs_le_inv in Bs2. lra. }
repeat (split; [first [assumption|split; lra]|]).
apply Rle_trans with (1 := D). apply Rmult_le_compat_r; [|lra].
left. apply Rdiv_lt_0_compat; lra.
Qed.
End Core.

(* ---- the two formats ---- *)
Lemma tail32_rounding r : f32 r -> reduced r ->
  Rabs ((vf_exp_tail real32 r - vf_exp_tail exact r) / vf_exp_tail exact r) <= 12 * pow2 (-27).
Proof. intros F H. open_kernel. gappa. Qed.
Lemma tail64_rounding r : f64 r -> reduced r ->
  Rabs ((vd_exp_tail real64 r - vd_exp_tail exact r) / vd_exp_tail exact r) <= 12 * pow2 (-56).
Proof. intros F H. open_kernel. gappa. Qed.
Lemma tail32_positive r : reduced r -> 1/2 <= vf_exp_tail exact r.
Proof. intros H. open_kernel. gappa. Qed.
Lemma tail64_positive r : reduced r -> 1/2 <= vd_exp_tail exact r.
Proof. intros H. open_kernel. gappa. Qed.
(* Next to 0 the tail is 1 and a sum with 2 is 2. *)
Lemma tail32_one r : f32 r -> Rabs r <= 1 * pow2 (-60) -> vf_exp_tail real32 r = 1.
Proof.
intros F H. assert (vf_exp_tail real32 r - 1 = 0); [|lra].
open_kernel. refine (let H := _ in Rle_antisym _ _ (proj2 H) (proj1 H)); gappa.
Qed.
Lemma tail64_one r : f64 r -> Rabs r <= 1 * pow2 (-60) -> vd_exp_tail real64 r = 1.
Proof.
intros F H. assert (vd_exp_tail real64 r - 1 = 0); [|lra].
open_kernel. refine (let H := _ in Rle_antisym _ _ (proj2 H) (proj1 H)); gappa.
Qed.












(* exp(2s) - 1 and tanh s *)
Lemma tanh_quotient X : tanh (X / 2) = (exp X - 1) / (exp X - 1 + 2).
Proof.
unfold tanh, sinh, cosh. replace (exp X) with (exp (X / 2) * exp (X / 2)) by (rewrite <- exp_plus; f_equal; field).
rewrite exp_Ropp. assert (P := exp_pos (X / 2)).
assert (exp (X / 2) * exp (X / 2) + 1 <> 0) by (assert (0 < exp (X / 2) * exp (X / 2)) by (apply Rmult_lt_0_compat; lra); lra).
field. split; lra.
Qed.

Lemma tanh_abs v : tanh (Rabs v) = Rabs (tanh v).
Proof.
assert (P : forall s, 0 <= s -> 0 <= tanh s).
{ intros s Hs. replace s with (2 * s / 2) by field. rewrite tanh_quotient.
  assert (1 <= exp (2 * s)). { rewrite <- exp_0. destruct Hs as [Hs|<-]; [left; apply exp_increasing; lra|rewrite Rmult_0_r; apply Rle_refl]. }
  apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra. }
assert (N : tanh (- v) = - tanh v).
{ unfold tanh, sinh, cosh. rewrite Ropp_involutive. rewrite (Rplus_comm (exp (- v))).
  assert (0 < exp v) by apply exp_pos. assert (0 < exp (- v)) by apply exp_pos. field. lra. }
destruct (Rle_dec 0 v) as [H|H].
- rewrite !Rabs_pos_eq by auto. reflexivity.
- rewrite (Rabs_left v) by lra. assert (Q := P (- v) ltac:(lra)). rewrite N in *. symmetry. apply Rabs_left1. lra.
Qed.

Lemma tanh_tiny s : 0 <= s <= pow2 (-60) -> Rabs (s - tanh s) <= pow2 (-53) * tanh s.
Proof.
intros Hs. assert (B : s <= / 1000000000) by (simpl in Hs; lra).
assert (S2 : s * s <= pow2 (-60) * s) by (apply Rmult_le_compat_r; lra).
assert (E60 : pow2 (-60) = pow2 (-53) / 128) by (change (-60)%Z with (-53 + -7)%Z; rewrite bpow_plus; simpl (pow2 (-7)); lra).
assert (L : s * (1 - s) <= tanh s).
{ replace s with (2 * s / 2) at 3 by field. rewrite tanh_quotient.
  assert (1 + 2 * s <= exp (2 * s)).
  { destruct (Req_dec s 0) as [->|N]; [rewrite Rmult_0_r, exp_0; lra|left; apply exp_ineq1; lra]. }
  set (F := exp (2 * s) - 1). assert (2 * s <= F) by (unfold F; lra).
  apply (Rmult_le_reg_r (F + 2)); [lra|]. replace (F / (F + 2) * (F + 2)) with F by (field; lra).
  assert (0 <= s * s) by (apply Rmult_le_pos; lra).
  assert (F * (s * (1 - s)) <= F * s) by (apply Rmult_le_compat_l; nra).
  assert (2 * s * (1 - s) <= F * (1 - s)) by (apply Rmult_le_compat_r; lra). lra. }
assert (U : tanh s <= s * (1 + 2 * s)).
{ replace s with (2 * s / 2) at 1 by field. rewrite tanh_quotient.
  assert (M : exp (2 * s) * (1 - 2 * s) <= 1).
  { assert (1 + - (2 * s) <= exp (- (2 * s))).
    { destruct (Req_dec s 0) as [->|N]; [rewrite Rmult_0_r, Ropp_0, exp_0; lra|left; apply exp_ineq1; lra]. }
    apply Rle_trans with (exp (2 * s) * exp (- (2 * s))).
    - apply Rmult_le_compat_l; [left; apply exp_pos|lra].
    - rewrite <- exp_plus, Rplus_opp_r, exp_0. lra. }
  assert (1 <= exp (2 * s)).
  { rewrite <- exp_0. destruct Hs as [[Hs|<-] _]; [left; apply exp_increasing; lra|rewrite Rmult_0_r; apply Rle_refl]. }
  set (F := exp (2 * s) - 1). replace (exp (2 * s)) with (F + 1) in * by (unfold F; ring).
  apply (Rmult_le_reg_r (F + 2)); [lra|]. replace (F / (F + 2) * (F + 2)) with F by (field; lra). nra. }
assert (0 <= pow2 (-53)) by apply bpow_ge_0.
assert (pow2 (-53) * (s * (1 / 2)) <= pow2 (-53) * (s * (1 - s))) by (apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_l; lra]).
assert (pow2 (-53) * (s * (1 - s)) <= pow2 (-53) * tanh s) by (apply Rmult_le_compat_l; lra).
rewrite E60 in S2. assert (0 <= s * s) by (apply Rmult_le_pos; lra). assert (0 <= pow2 (-53) * s) by (apply Rmult_le_pos; lra).
apply Rabs_le. lra.
Qed.

(* From 20 on it is 1, nearly. *)
Lemma tanh_high s : 20 <= s -> 1 - pow2 (-56) <= tanh s <= 1.
Proof.
intros H. replace s with (2 * s / 2) by field. rewrite tanh_quotient.
assert (L : pow2 57 <= exp (2 * s)).
{ rewrite bpow_exp. left. apply exp_increasing. assert (B := ln2_range). simpl in *. lra. }
set (F := exp (2 * s) - 1). replace (exp (2 * s)) with (F + 1) in L by (unfold F; ring).
assert (P : 1 < pow2 57) by (change 1 with (pow2 0); apply bpow_lt; lia).
split; (apply (Rmult_le_reg_r (F + 2)); [lra|]); replace (F / (F + 2) * (F + 2)) with F by (field; lra); [|lra].
assert (Q : pow2 (-56) * pow2 57 = 2) by (rewrite <- bpow_plus; reflexivity).
assert (pow2 (-56) * pow2 57 <= pow2 (-56) * (F + 2)) by (apply Rmult_le_compat_l; [apply bpow_ge_0|lra]). lra.
Qed.

(* ---- double ---- *)
(* 2 |x| up to 40; what follows it *)
Definition tanh64_twice (o : ops) (x : o) : o :=
  let two := add (mag_of x) (mag_of x) in select_lt two (const (Dyadic 5 3)) two (const (Dyadic 5 3)).
Definition tanh64_of_twice (o : ops) (z : o) : o :=
  let t := fma z (const EXP64_LOG2E) (const EXP64_ROUND) in
  let n := sub t (const EXP64_ROUND) in
  let r := fma (neg n) (const EXP64_LN2_LO) (fma (neg n) (const EXP64_LN2_HI) z) in
  let power := scale 52 (const (Dyadic 1 0)) t in
  let e := fma power (mul (vd_exp_tail o r) r) (sub power (const (Dyadic 1 0))) in
  div e (add e (const (Dyadic 1 1))).

Lemma tanh64_parts (o : ops) (x : o) : vd_tanh o x = let y := tanh64_of_twice o (tanh64_twice o x) in
  select_lt x (const (Dyadic 0 0)) (neg y) y.
Proof. reflexivity. Qed.

Lemma two64_plus X : 0 <= X <= 1 * pow2 (-60) -> rnd64 (X + 2) = 2.
Proof.
intros H. assert (rnd64 (X + 2) - 2 = 0); [|lra].
unfold rnd64. refine (let H := _ in Rle_antisym _ _ (proj2 H) (proj1 H)); gappa.
Qed.

Lemma tail64_close a : f64 a -> reduced a ->
  Rabs (vd_exp_tail real64 a - vd_exp_tail exact a) <= 3 / 2 * pow2 (-53) * Rabs (vd_exp_tail exact a) /\
  Rabs (vd_exp_tail exact a * a - (exp a - 1)) <= pow2 (-53) / 2 * Rabs a.
Proof.
intros Fa Ra. assert (Te := tail64_positive a Ra). split.
- assert (H := quotient _ _ _ (tail64_rounding a Fa Ra) ltac:(lra)).
  rewrite (Rabs_pos_eq (vd_exp_tail exact a)) by lra. apply Rle_trans with (1 := H). apply Rmult_le_compat_r; [lra|].
  simpl. lra.
- replace (vd_exp_tail exact a * a - (exp a - 1)) with ((poly64 a - taylor14 a) + (taylor14 a - exp a))
    by (unfold poly64; ring).
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (poly64_vanishing a Ra). pose proof (taylor14_vanishing a Ra).
  pose proof (Rabs_pos a). simpl in *. lra.
Qed.

Lemma tanh64_of_twice_stands z X : stands64 z X -> 0 <= X <= 40 -> f64 (X / 2) ->
  exists y, stands64 (tanh64_of_twice float64 z) y /\ Rabs (y - tanh (X / 2)) <= 111 / 10 * pow2 (-53) * tanh (X / 2).
Proof.
intros Hz BX FX. destruct (start64 z X Hz ltac:(lra)) as [k [a [Ht [Hr [Fr [Br [Er [Hk Ea]]]]]]]].
assert (Fz : f64 X) by exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 z X Hz).
assert (A0 : k = 0%Z -> a = X).
{ intros ->. rewrite Ea. unfold rnd64.
  replace (- 0 * dyadic_R EXP64_LN2_HI + X) with X by ring. rewrite (round_generic _ _ _ X Fz).
  replace (- 0 * dyadic_R EXP64_LN2_LO + X) with X by ring. apply round_generic; [apply valid_rnd_N|exact Fz]. }
clear Ea.
destruct (tail64_stands _ a Hr (half a Br)) as [HT _].
assert (L := ln2_range). set (T := vd_exp_tail real64 a) in *.
set (r := fma (neg (sub (fma z (const EXP64_LOG2E) (const EXP64_ROUND)) (const EXP64_ROUND))) _ _) in *.
set (t := fma z (const EXP64_LOG2E) (const EXP64_ROUND)) in *.
assert (One : stands64 (const (Dyadic 1 0)) 1).
{ replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring). is_const. }
assert (Two : stands64 (const (Dyadic 1 1)) 2).
{ replace 2 with (dyadic_R (Dyadic 1 1)) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra). is_const. }
assert (Power : (Z.abs k <= 60)%Z -> stands64 (scale 52 (const (Dyadic 1 0)) t) (bpow radix2 k)).
{ intros K. rewrite <- (Rmult_1_l (bpow radix2 k)). apply scale64; [exact One|exact Ht|lia| |].
  - change 1 with (bpow radix2 0). apply bpow_le. lia.
  - rewrite Rmult_1_l. split; [apply bpow_le; lia|apply bpow_lt; lia]. }
assert (Most : forall e x, (e <= 1023)%Z -> Rabs x <= bpow radix2 e -> Rabs x <= bpow radix2 1023).
{ intros e x He Hx. apply Rle_trans with (1 := Hx). apply bpow_le, He. }
unfold tanh64_of_twice. fold t. fold r.
set (power := scale 52 (const (Dyadic 1 0)) t) in *.
assert (C : let P := rnd64 (T * a) in let q := rnd64 (bpow radix2 k - 1) in
  let e := rnd64 (bpow radix2 k * P + q) in let d := rnd64 (e + 2) in
  (Z.abs k <= 60)%Z /\ Rabs (T * a) <= 1/2 /\ Rabs P <= 1 /\ Rabs q <= bpow radix2 61 /\ 0 <= e <= bpow radix2 63 /\
  0 < d /\ 0 <= e / d <= 2 /\ Rabs (rnd64 (e / d) - tanh (X / 2)) <= 111 / 10 * pow2 (-53) * tanh (X / 2)).
{ destruct (Rle_lt_dec X (1 * pow2 (-60))) as [Tiny|Large].
  - assert (K : k = 0%Z).
    { apply below_one. assert (B1 := Br). apply Rabs_le_inv in B1. apply Rabs_le_inv in Er. simpl in B1, Er, L, Tiny.
      apply Rabs_lt. split; apply Rnot_le_lt; intros K.
      - assert (IZR k * ln 2 <= -1 * ln 2) by (apply Rmult_le_compat_r; lra). lra.
      - assert (1 * ln 2 <= IZR k * ln 2) by (apply Rmult_le_compat_r; lra). lra. }
    specialize (A0 K). subst k. subst a. change (bpow radix2 0) with 1.
    assert (ET : T = 1).
    { apply tail64_one; [exact Fr|]. rewrite Rabs_pos_eq by lra. exact Tiny. }
    rewrite ET, Rmult_1_l, Rminus_diag_eq by reflexivity. cbv zeta.
    replace (rnd64 X) with X by (symmetry; apply round_generic; [apply valid_rnd_N|exact Fz]).
    replace (rnd64 0) with 0 by (symmetry; apply round_0, valid_rnd_N). rewrite Rmult_1_l, Rplus_0_r.
    replace (rnd64 X) with X by (symmetry; apply round_generic; [apply valid_rnd_N|exact Fz]).
    rewrite (two64_plus X) by lra.
    replace (rnd64 (X / 2)) with (X / 2) by (symmetry; apply round_generic; [apply valid_rnd_N|exact FX]).
    assert (X <= 1/2) by (simpl in Tiny; lra). rewrite Rabs_R0, (Rabs_pos_eq X) by lra.
    assert (1 <= bpow radix2 63) by (change 1 with (bpow radix2 0); apply bpow_le; lia).
    assert (0 <= bpow radix2 61) by apply bpow_ge_0.
    repeat (split; [first [lia|lra]|]).
    apply Rle_trans with (1 := tanh_tiny (X / 2) ltac:(lra)).
    apply Rmult_le_compat_r; [|simpl; lra].
    rewrite tanh_quotient. assert (1 <= exp X).
    { rewrite <- exp_0. destruct BX as [[H'|<-] _]; [left; apply exp_increasing; lra|apply Rle_refl]. }
    apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra.
  - destruct (tail64_close a Fr Br) as [C1 C2]. rewrite tanh_quotient. rewrite Rmult_1_l in Large.
    assert (U : 0 <= roundoff 53 <= / 1000000) by (unfold roundoff; simpl; lra).
    assert (Ue : 0 <= underflow (-1074) <= / 1000 * (roundoff 53 * pow2 (-62))).
    { split; [apply bpow_ge_0|]. apply Rle_trans with (bpow radix2 (-10) * (roundoff 53 * pow2 (-62))).
      - unfold underflow, roundoff. rewrite <- !bpow_plus. apply bpow_le. lia.
      - apply Rmult_le_compat_r; [apply Rmult_le_pos; apply bpow_ge_0|simpl; lra]. }
    assert (Ea' : Rabs (a - (X - IZR k * ln 2)) <= roundoff 53 * (1025 / 4096)).
    { apply Rle_trans with (1 := Er). unfold roundoff. simpl. lra. }
    assert (Sh : forall d, Rabs d <= roundoff 53 * (1025 / 4096) -> Rabs (exp d - 1) <= roundoff 53 * (1026 / 4096)).
    { intros d Hd. apply Rle_trans with (1026 * pow2 (-65)); [|unfold roundoff; simpl; lra].
      apply small_shift64. apply Rle_trans with (1 := Hd). unfold roundoff. simpl. lra. }
    assert (K := core_k 53 U k X a (conj (Rlt_le _ _ Large) (proj2 BX)) Br Ea').
    destruct (core_tanh (-1074) 53 ltac:(lia) ltac:(lia) U Ue k X a T (vd_exp_tail exact a)
      (conj (Rlt_le _ _ Large) (proj2 BX)) Br Ea' A0 C1 C2 Sh) as [D1 [D2 [D3 [D4 [D5 [D6 D7]]]]]].
    split; [lia|]. repeat (split; [assumption|]). exact D7. }
cbv zeta in C. destruct C as [K [C1 [C2 [C3 [C4 [C5 [C6 C7]]]]]]].
set (P := rnd64 (T * a)) in *. set (q := rnd64 (bpow radix2 k - 1)) in *.
set (e := rnd64 (bpow radix2 k * P + q)) in *. set (d := rnd64 (e + 2)) in *.
exists (rnd64 (e / d)). split; [|exact C7]. specialize (Power K).
assert (Bk : 0 <= bpow radix2 k <= bpow radix2 60) by (split; [apply bpow_ge_0|apply bpow_le; lia]).
assert (E61 : bpow radix2 61 = 2 * bpow radix2 60) by (change 61%Z with (1 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (E63 : bpow radix2 63 = 8 * bpow radix2 60) by (change 63%Z with (3 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (E64 : bpow radix2 64 = 16 * bpow radix2 60) by (change 64%Z with (4 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (1 <= bpow radix2 60) by (change 1 with (bpow radix2 0); apply bpow_le; lia).
assert (HP : stands64 (mul (vd_exp_tail float64 r) r) P).
{ apply mul64; [exact HT|exact Hr|]. apply (Most 0%Z); [lia|]. simpl. lra. }
assert (Hq : stands64 (sub power (const (Dyadic 1 0))) q).
{ apply sub64; [exact Power|exact One|]. apply (Most 61%Z); [lia|]. apply Rabs_le. lra. }
assert (He : stands64 (fma power (mul (vd_exp_tail float64 r) r) (sub power (const (Dyadic 1 0)))) e).
{ apply fma64; [exact Power|exact HP|exact Hq|]. apply (Most 63%Z); [lia|].
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 k)) by lra.
  assert (bpow radix2 k * Rabs P <= bpow radix2 60 * 1) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra. }
apply div64; [exact He| |lra|].
- apply add64; [exact He|exact Two|]. apply (Most 64%Z); [lia|]. rewrite Rabs_pos_eq by lra. lra.
- apply (Most 1%Z); [lia|]. rewrite Rabs_pos_eq by lra. simpl. lra.
Qed.
(* A sum that is not below 40, whatever it is. *)
Lemma tanh64_top (x : float64) : less_than 52 11 (add (mag_of x) (mag_of x)) (const (Dyadic 5 3) : float64) = false ->
  exists y, stands64 (tanh64_of_twice float64 (tanh64_twice float64 x)) y /\ Rabs (y - 1) <= 113 / 10 * pow2 (-53).
Proof.
intros L. unfold tanh64_twice. cbv zeta.
match goal with |- context [select_lt ?a ?b ?c ?d] => change (select_lt a b c d) with (if less_than 52 11 a b then c else d) end.
rewrite L. assert (E40 : dyadic_R (Dyadic 5 3) = 40) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra).
destruct (tanh64_of_twice_stands (const (Dyadic 5 3)) 40) as [y [Hy D]]; [rewrite <- E40; is_const|lra| |].
{ replace (40 / 2) with (IZR 20) by field. apply format_of_integer; lia. }
exists y. split; [exact Hy|]. replace (40 / 2) with 20 in D by field.
assert (H := tanh_high 20 (Rle_refl _)). assert (0 < pow2 (-53)) by apply bpow_gt_0.
assert (pow2 (-56) <= pow2 (-53) / 8) by (simpl; lra).
assert (pow2 (-53) * tanh 20 <= pow2 (-53) * 1) by (apply Rmult_le_compat_l; lra).
replace (y - 1) with ((y - tanh 20) + (tanh 20 - 1)) by ring. eapply Rle_trans; [apply Rabs_triang|].
assert (Rabs (tanh 20 - 1) <= pow2 (-56)) by (apply Rabs_le; lra). lra.
Qed.

Lemma twice64_stands (x : float64) v : stands64 x v -> Rabs v <= bpow radix2 1022 ->
  stands64 (add (mag_of x) (mag_of x)) (2 * Rabs v) /\ f64 (2 * Rabs v / 2).
Proof.
intros Hx B. assert (Fv : f64 v) by exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 x v Hx).
assert (Fa : f64 (Rabs v)) by (apply generic_format_abs, Fv).
assert (E : 2 * Rabs v = rnd64 (Rabs v + Rabs v)).
{ symmetry. replace (Rabs v + Rabs v) with (2 * Rabs v) by ring. apply round_generic; [apply valid_rnd_N|].
  rewrite Rmult_comm. change 2 with (bpow radix2 1). apply mult_bpow_pos_exact_FLT; [exact Fa|lia]. }
split.
- rewrite E. apply add64; try (apply mag64, Hx). rewrite Rabs_pos_eq by (pose proof (Rabs_pos v); lra).
  change 1023%Z with (1 + 1022)%Z. rewrite bpow_plus. change (bpow radix2 1) with 2. lra.
- replace (2 * Rabs v / 2) with (Rabs v) by field. exact Fa.
Qed.

(* Twice a number of size 20 or more is not below 40, be it infinite. *)
Lemma twice64_top (x : float64) : fin64 x = true -> 20 <= Rabs (val64 x) ->
  less_than 52 11 (add (mag_of x) (mag_of x)) (const (Dyadic 5 3) : float64) = false.
Proof.
intros Fx B. set (c := const (Dyadic 5 3) : float64).
assert (E40 : dyadic_R (Dyadic 5 3) = 40) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra).
assert (Hc : stands64 c 40) by (rewrite <- E40; unfold c; is_const).
set (a := mag_of (x : float64) : float64).
destruct (mag64 x (val64 x) (conj Fx eq_refl)) as [Fa Ea]. fold a in Fa, Ea. change (val64 a = Rabs (val64 x)) in Ea.
assert (C := Bplus_correct 53 1024 (prec_ok 52 11 eq_refl) (emax_ok 52 11 eq_refl) (fun _ _ => nan64)
  BinarySingleNaN.mode_NE a a Fa Fa).
set (two := add a a : float64). change (Bplus 53 1024 _ _ _ _ a a) with two in C.
destruct (Rlt_bool _ _) in C.
- destruct C as [C1 [C2 _]]. destruct (less_than 52 11 two c) eqn:L; [|reflexivity]. exfalso.
  apply (less_than_R 52 11 eq_refl eq_refl eq_refl nan64 two c (val64 two) 40 (conj C2 eq_refl) Hc) in L.
  assert (40 <= val64 two); [|lra]. rewrite C1, Ea. change (SpecFloat.fexp 53 1024) with (FLT_exp (-1074) 53).
  apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply (format_of_integer (-1074) 53); lia|lra].
- destruct C as [C1 C2].
  assert (Sa : Bsign 53 1024 a = false).
  { unfold a. destruct x as [| | |s m e Hb]; try discriminate; reflexivity. }
  rewrite Sa in C1. simpl in C1. destruct two as [| b | |]; try discriminate.
  injection C1 as ->. unfold less_than. destruct Hc as [Fc _]. destruct c; try discriminate; reflexivity.
Qed.

Lemma tanh64_magnitude (x : float64) : fin64 x = true ->
  exists y, stands64 (tanh64_of_twice float64 (tanh64_twice float64 x)) y /\
    Rabs (y - tanh (Rabs (val64 x))) <= 12 * pow2 (-53) * tanh (Rabs (val64 x)).
Proof.
intros Fx. set (v := val64 x). assert (0 < pow2 (-53)) by apply bpow_gt_0.
destruct (Rlt_le_dec (Rabs v) 20) as [S|S].
- destruct (twice64_stands x v (conj Fx eq_refl)) as [H2 F2].
  { apply Rle_trans with (bpow radix2 5); [simpl; lra|apply bpow_le; lia]. }
  destruct (tanh64_of_twice_stands (tanh64_twice float64 x) (2 * Rabs v)) as [y [Hy D]].
  + assert (E40 : dyadic_R (Dyadic 5 3) = 40) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra).
    assert (Hc : stands64 (const (Dyadic 5 3)) 40) by (rewrite <- E40; is_const).
    assert (Q := select_stands 52 11 eq_refl eq_refl eq_refl nan64 _ _ _ _ _ _ _ _ H2 Hc H2 Hc).
    destruct Rlt_dec in Q; [exact Q|lra].
  + pose proof (Rabs_pos v). lra.
  + exact F2.
  + exists y. split; [exact Hy|]. replace (2 * Rabs v / 2) with (Rabs v) in D by field. apply Rle_trans with (1 := D).
    apply Rmult_le_compat_r; [rewrite tanh_abs; apply Rabs_pos|lra].
- destruct (tanh64_top x (twice64_top x Fx S)) as [y [Hy D]]. exists y. split; [exact Hy|].
  assert (T := tanh_high _ S). assert (pow2 (-56) <= pow2 (-53) / 8) by (simpl; lra).
  assert (pow2 (-53) * (99 / 100) <= pow2 (-53) * tanh (Rabs v)).
  { apply Rmult_le_compat_l; [lra|]. assert (pow2 (-56) <= / 100) by (simpl; lra). lra. }
  replace (y - tanh (Rabs v)) with ((y - 1) + (1 - tanh (Rabs v))) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs (1 - tanh (Rabs v)) <= pow2 (-56)) by (apply Rabs_le; lra). lra.
Qed.

(** theorem: tanh64_error — vd_tanh, the double tanh of every instruction set, of any finite x is finite and within EXP_TANH_ERROR 2^-53 of tanh x, relatively. used by: src/enclosure/exp_isa.h, src/softmax/enclose.c *)
Theorem tanh64_error (x : binary_float 53 1024) : fin64 x = true ->
  fin64 (vd_tanh float64 x) = true /\
  Rabs (val64 (vd_tanh float64 x) - tanh (val64 x)) <= dyadic_R EXP_TANH_ERROR * pow2 (-53) * Rabs (tanh (val64 x)).
Proof.
intros Fx. rewrite (tanh64_parts float64 x). cbv zeta. destruct (tanh64_magnitude x Fx) as [y [Hy D]].
rewrite <- tanh_abs. replace (dyadic_R EXP_TANH_ERROR) with 12 by (unfold dyadic_R, EXP_TANH_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
assert (Hz : stands64 (const (Dyadic 0 0)) 0).
{ replace 0 with (dyadic_R (Dyadic 0 0)) by (unfold dyadic_R; simpl; ring). is_const. }
set (v := val64 x) in *. rewrite tanh_abs in D.
destruct (select_stands 52 11 eq_refl eq_refl eq_refl nan64 _ _ _ _ _ _ _ _ (conj Fx eq_refl : stands64 x v) Hz (neg64 _ _ Hy) Hy) as [F E].
split; [exact F|]. match type of E with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite E, tanh_abs.
assert (Q := tanh_abs v). destruct (Rlt_dec v 0) as [N|N].
- rewrite (Rabs_left v) in Q by exact N. rewrite <- Q in D |- *.
  assert (Ev : tanh v = - tanh (- v)).
  { unfold tanh, sinh, cosh. rewrite Ropp_involutive. rewrite (Rplus_comm (exp (- v))).
    assert (0 < exp v) by apply exp_pos. assert (0 < exp (- v)) by apply exp_pos. field. lra. }
  rewrite Ev. replace (- y - - tanh (- v)) with (- (y - tanh (- v))) by ring. rewrite Rabs_Ropp. exact D.
- rewrite (Rabs_pos_eq v) in Q by lra. rewrite <- Q in D |- *. exact D.
Qed.

(** theorem: tanh64_beyond — vd_tanh of an infinity or a NaN is finite, within EXP_TANH_ERROR 2^-53 of -1 for minus infinity and of 1 for the others. used by: src/enclosure/exp_isa.h, src/softmax/enclose.c *)
Theorem tanh64_beyond (x : binary_float 53 1024) : fin64 x = false ->
  let s := match x with B754_infinity true => -1 | _ => 1 end in
  fin64 (vd_tanh float64 x) = true /\ Rabs (val64 (vd_tanh float64 x) - s) <= dyadic_R EXP_TANH_ERROR * pow2 (-53).
Proof.
intros Fx s. rewrite (tanh64_parts float64 x). cbv zeta.
assert (L : less_than 52 11 (add (mag_of (x : float64)) (mag_of (x : float64))) (const (Dyadic 5 3) : float64) = false).
{ assert (Hc : stands64 (const (Dyadic 5 3)) (dyadic_R (Dyadic 5 3))) by is_const. destruct Hc as [Fc _].
  set (c := const (Dyadic 5 3) : float64) in *. destruct x as [|[|]| |]; try discriminate; destruct c; try discriminate; reflexivity. }
destruct (tanh64_top x L) as [y [Hy D]]. assert (0 < pow2 (-53)) by apply bpow_gt_0.
replace (dyadic_R EXP_TANH_ERROR) with 12 by (unfold dyadic_R, EXP_TANH_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
assert (Hz : stands64 (const (Dyadic 0 0)) (dyadic_R (Dyadic 0 0))) by is_const. destruct Hz as [Fz _].
set (c := const (Dyadic 0 0) : float64) in *.
set (z := tanh64_of_twice float64 (tanh64_twice float64 x)) in *.
change (select_lt (x : float64) c (neg z) z) with (if less_than 52 11 x c then neg z else z : float64).
assert (S : less_than 52 11 x c = match x with B754_infinity true => true | _ => false end).
{ destruct x as [|[|]| |]; try discriminate; destruct c; try discriminate; reflexivity. }
rewrite S. clearbody z.
assert (Hn := neg64 _ _ Hy). destruct Hy as [F E], Hn as [Fn En]. unfold s. clear S L s.
destruct x as [|[|]| |]; try discriminate; split; try assumption.
- match type of En with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite En.
  replace (- y - -1) with (- (y - 1)) by ring. rewrite Rabs_Ropp. lra.
- match type of E with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite E. lra.
- match type of E with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite E. lra.
Qed.

(* ---- float ---- *)
(* 2 |x| up to 40; what follows it *)
Definition tanh32_twice (o : ops) (x : o) : o :=
  let two := add (mag_of x) (mag_of x) in select_lt two (const (Dyadic 5 3)) two (const (Dyadic 5 3)).
Definition tanh32_of_twice (o : ops) (z : o) : o :=
  let t := fma z (const EXP32_LOG2E) (const EXP32_ROUND) in
  let n := sub t (const EXP32_ROUND) in
  let r := fma (neg n) (const EXP32_LN2_LO) (fma (neg n) (const EXP32_LN2_HI) z) in
  let power := scale 23 (const (Dyadic 1 0)) t in
  let e := fma power (mul (vf_exp_tail o r) r) (sub power (const (Dyadic 1 0))) in
  div e (add e (const (Dyadic 1 1))).

Lemma tanh32_parts (o : ops) (x : o) : vf_tanh o x = let y := tanh32_of_twice o (tanh32_twice o x) in
  select_lt x (const (Dyadic 0 0)) (neg y) y.
Proof. reflexivity. Qed.

Lemma two32_plus X : 0 <= X <= 1 * pow2 (-60) -> rnd32 (X + 2) = 2.
Proof.
intros H. assert (rnd32 (X + 2) - 2 = 0); [|lra].
unfold rnd32. refine (let H := _ in Rle_antisym _ _ (proj2 H) (proj1 H)); gappa.
Qed.

Lemma tail32_close a : f32 a -> reduced a ->
  Rabs (vf_exp_tail real32 a - vf_exp_tail exact a) <= 3 / 2 * pow2 (-24) * Rabs (vf_exp_tail exact a) /\
  Rabs (vf_exp_tail exact a * a - (exp a - 1)) <= pow2 (-24) / 2 * Rabs a.
Proof.
intros Fa Ra. assert (Te := tail32_positive a Ra). split.
- assert (H := quotient _ _ _ (tail32_rounding a Fa Ra) ltac:(lra)).
  rewrite (Rabs_pos_eq (vf_exp_tail exact a)) by lra. apply Rle_trans with (1 := H). apply Rmult_le_compat_r; [lra|].
  simpl. lra.
- replace (vf_exp_tail exact a * a - (exp a - 1)) with ((poly32 a - taylor10 a) + (taylor10 a - exp a))
    by (unfold poly32; ring).
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (poly32_vanishing a Ra). pose proof (taylor10_vanishing a Ra).
  pose proof (Rabs_pos a). simpl in *. lra.
Qed.

Lemma tanh32_of_twice_stands z X : stands32 z X -> 0 <= X <= 40 -> f32 (X / 2) ->
  exists y, stands32 (tanh32_of_twice float32 z) y /\ Rabs (y - tanh (X / 2)) <= 111 / 10 * pow2 (-24) * tanh (X / 2).
Proof.
intros Hz BX FX. destruct (start32 z X Hz ltac:(lra)) as [k [a [Ht [Hr [Fr [Br [Er [Hk Ea]]]]]]]].
assert (Fz : f32 X) by exact (stands_format 23 8 eq_refl eq_refl eq_refl nan32 z X Hz).
assert (A0 : k = 0%Z -> a = X).
{ intros ->. rewrite Ea. unfold rnd32.
  replace (- 0 * dyadic_R EXP32_LN2_HI + X) with X by ring. rewrite (round_generic _ _ _ X Fz).
  replace (- 0 * dyadic_R EXP32_LN2_LO + X) with X by ring. apply round_generic; [apply valid_rnd_N|exact Fz]. }
clear Ea.
destruct (tail32_stands _ a Hr (half a Br)) as [HT _].
assert (L := ln2_range). set (T := vf_exp_tail real32 a) in *.
set (r := fma (neg (sub (fma z (const EXP32_LOG2E) (const EXP32_ROUND)) (const EXP32_ROUND))) _ _) in *.
set (t := fma z (const EXP32_LOG2E) (const EXP32_ROUND)) in *.
assert (One : stands32 (const (Dyadic 1 0)) 1).
{ replace 1 with (dyadic_R (Dyadic 1 0)) by (unfold dyadic_R; simpl; ring). is_const. }
assert (Two : stands32 (const (Dyadic 1 1)) 2).
{ replace 2 with (dyadic_R (Dyadic 1 1)) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra). is_const. }
assert (Power : (Z.abs k <= 60)%Z -> stands32 (scale 23 (const (Dyadic 1 0)) t) (bpow radix2 k)).
{ intros K. rewrite <- (Rmult_1_l (bpow radix2 k)). apply scale32; [exact One|exact Ht|lia| |].
  - change 1 with (bpow radix2 0). apply bpow_le. lia.
  - rewrite Rmult_1_l. split; [apply bpow_le; lia|apply bpow_lt; lia]. }
assert (Most : forall e x, (e <= 127)%Z -> Rabs x <= bpow radix2 e -> Rabs x <= bpow radix2 127).
{ intros e x He Hx. apply Rle_trans with (1 := Hx). apply bpow_le, He. }
unfold tanh32_of_twice. fold t. fold r.
set (power := scale 23 (const (Dyadic 1 0)) t) in *.
assert (C : let P := rnd32 (T * a) in let q := rnd32 (bpow radix2 k - 1) in
  let e := rnd32 (bpow radix2 k * P + q) in let d := rnd32 (e + 2) in
  (Z.abs k <= 60)%Z /\ Rabs (T * a) <= 1/2 /\ Rabs P <= 1 /\ Rabs q <= bpow radix2 61 /\ 0 <= e <= bpow radix2 63 /\
  0 < d /\ 0 <= e / d <= 2 /\ Rabs (rnd32 (e / d) - tanh (X / 2)) <= 111 / 10 * pow2 (-24) * tanh (X / 2)).
{ destruct (Rle_lt_dec X (1 * pow2 (-60))) as [Tiny|Large].
  - assert (K : k = 0%Z).
    { apply below_one. assert (B1 := Br). apply Rabs_le_inv in B1. apply Rabs_le_inv in Er. simpl in B1, Er, L, Tiny.
      apply Rabs_lt. split; apply Rnot_le_lt; intros K.
      - assert (IZR k * ln 2 <= -1 * ln 2) by (apply Rmult_le_compat_r; lra). lra.
      - assert (1 * ln 2 <= IZR k * ln 2) by (apply Rmult_le_compat_r; lra). lra. }
    specialize (A0 K). subst k. subst a. change (bpow radix2 0) with 1.
    assert (ET : T = 1).
    { apply tail32_one; [exact Fr|]. rewrite Rabs_pos_eq by lra. exact Tiny. }
    rewrite ET, Rmult_1_l, Rminus_diag_eq by reflexivity. cbv zeta.
    replace (rnd32 X) with X by (symmetry; apply round_generic; [apply valid_rnd_N|exact Fz]).
    replace (rnd32 0) with 0 by (symmetry; apply round_0, valid_rnd_N). rewrite Rmult_1_l, Rplus_0_r.
    replace (rnd32 X) with X by (symmetry; apply round_generic; [apply valid_rnd_N|exact Fz]).
    rewrite (two32_plus X) by lra.
    replace (rnd32 (X / 2)) with (X / 2) by (symmetry; apply round_generic; [apply valid_rnd_N|exact FX]).
    assert (X <= 1/2) by (simpl in Tiny; lra). rewrite Rabs_R0, (Rabs_pos_eq X) by lra.
    assert (1 <= bpow radix2 63) by (change 1 with (bpow radix2 0); apply bpow_le; lia).
    assert (0 <= bpow radix2 61) by apply bpow_ge_0.
    repeat (split; [first [lia|lra]|]).
    apply Rle_trans with (1 := tanh_tiny (X / 2) ltac:(lra)).
    apply Rmult_le_compat_r; [|simpl; lra].
    rewrite tanh_quotient. assert (1 <= exp X).
    { rewrite <- exp_0. destruct BX as [[H'|<-] _]; [left; apply exp_increasing; lra|apply Rle_refl]. }
    apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra.
  - destruct (tail32_close a Fr Br) as [C1 C2]. rewrite tanh_quotient. rewrite Rmult_1_l in Large.
    assert (U : 0 <= roundoff 24 <= / 1000000) by (unfold roundoff; simpl; lra).
    assert (Ue : 0 <= underflow (-149) <= / 1000 * (roundoff 24 * pow2 (-62))).
    { split; [apply bpow_ge_0|]. apply Rle_trans with (bpow radix2 (-10) * (roundoff 24 * pow2 (-62))).
      - unfold underflow, roundoff. rewrite <- !bpow_plus. apply bpow_le. lia.
      - apply Rmult_le_compat_r; [apply Rmult_le_pos; apply bpow_ge_0|simpl; lra]. }
    assert (Ea' : Rabs (a - (X - IZR k * ln 2)) <= roundoff 24 * (1025 / 4096)).
    { apply Rle_trans with (1 := Er). unfold roundoff. simpl. lra. }
    assert (Sh : forall d, Rabs d <= roundoff 24 * (1025 / 4096) -> Rabs (exp d - 1) <= roundoff 24 * (1026 / 4096)).
    { intros d Hd. apply Rle_trans with (1026 * pow2 (-36)); [|unfold roundoff; simpl; lra].
      apply small_shift32. apply Rle_trans with (1 := Hd). unfold roundoff. simpl. lra. }
    assert (K := core_k 24 U k X a (conj (Rlt_le _ _ Large) (proj2 BX)) Br Ea').
    destruct (core_tanh (-149) 24 ltac:(lia) ltac:(lia) U Ue k X a T (vf_exp_tail exact a)
      (conj (Rlt_le _ _ Large) (proj2 BX)) Br Ea' A0 C1 C2 Sh) as [D1 [D2 [D3 [D4 [D5 [D6 D7]]]]]].
    split; [lia|]. repeat (split; [assumption|]). exact D7. }
cbv zeta in C. destruct C as [K [C1 [C2 [C3 [C4 [C5 [C6 C7]]]]]]].
set (P := rnd32 (T * a)) in *. set (q := rnd32 (bpow radix2 k - 1)) in *.
set (e := rnd32 (bpow radix2 k * P + q)) in *. set (d := rnd32 (e + 2)) in *.
exists (rnd32 (e / d)). split; [|exact C7]. specialize (Power K).
assert (Bk : 0 <= bpow radix2 k <= bpow radix2 60) by (split; [apply bpow_ge_0|apply bpow_le; lia]).
assert (E61 : bpow radix2 61 = 2 * bpow radix2 60) by (change 61%Z with (1 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (E63 : bpow radix2 63 = 8 * bpow radix2 60) by (change 63%Z with (3 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (E64 : bpow radix2 64 = 16 * bpow radix2 60) by (change 64%Z with (4 + 60)%Z; rewrite bpow_plus; reflexivity).
assert (1 <= bpow radix2 60) by (change 1 with (bpow radix2 0); apply bpow_le; lia).
assert (HP : stands32 (mul (vf_exp_tail float32 r) r) P).
{ apply mul32; [exact HT|exact Hr|]. apply (Most 0%Z); [lia|]. simpl. lra. }
assert (Hq : stands32 (sub power (const (Dyadic 1 0))) q).
{ apply sub32; [exact Power|exact One|]. apply (Most 61%Z); [lia|]. apply Rabs_le. lra. }
assert (He : stands32 (fma power (mul (vf_exp_tail float32 r) r) (sub power (const (Dyadic 1 0)))) e).
{ apply fma32; [exact Power|exact HP|exact Hq|]. apply (Most 63%Z); [lia|].
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 k)) by lra.
  assert (bpow radix2 k * Rabs P <= bpow radix2 60 * 1) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra. }
apply div32; [exact He| |lra|].
- apply add32; [exact He|exact Two|]. apply (Most 64%Z); [lia|]. rewrite Rabs_pos_eq by lra. lra.
- apply (Most 1%Z); [lia|]. rewrite Rabs_pos_eq by lra. simpl. lra.
Qed.
(* A sum that is not below 40, whatever it is. *)
Lemma tanh32_top (x : float32) : less_than 23 8 (add (mag_of x) (mag_of x)) (const (Dyadic 5 3) : float32) = false ->
  exists y, stands32 (tanh32_of_twice float32 (tanh32_twice float32 x)) y /\ Rabs (y - 1) <= 113 / 10 * pow2 (-24).
Proof.
intros L. unfold tanh32_twice. cbv zeta.
match goal with |- context [select_lt ?a ?b ?c ?d] => change (select_lt a b c d) with (if less_than 23 8 a b then c else d) end.
rewrite L. assert (E40 : dyadic_R (Dyadic 5 3) = 40) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra).
destruct (tanh32_of_twice_stands (const (Dyadic 5 3)) 40) as [y [Hy D]]; [rewrite <- E40; is_const|lra| |].
{ replace (40 / 2) with (IZR 20) by field. apply format_of_integer; lia. }
exists y. split; [exact Hy|]. replace (40 / 2) with 20 in D by field.
assert (H := tanh_high 20 (Rle_refl _)). assert (0 < pow2 (-24)) by apply bpow_gt_0.
assert (pow2 (-56) <= pow2 (-24) / 8) by (simpl; lra).
assert (pow2 (-24) * tanh 20 <= pow2 (-24) * 1) by (apply Rmult_le_compat_l; lra).
replace (y - 1) with ((y - tanh 20) + (tanh 20 - 1)) by ring. eapply Rle_trans; [apply Rabs_triang|].
assert (Rabs (tanh 20 - 1) <= pow2 (-56)) by (apply Rabs_le; lra). lra.
Qed.

Lemma twice32_stands (x : float32) v : stands32 x v -> Rabs v <= bpow radix2 126 ->
  stands32 (add (mag_of x) (mag_of x)) (2 * Rabs v) /\ f32 (2 * Rabs v / 2).
Proof.
intros Hx B. assert (Fv : f32 v) by exact (stands_format 23 8 eq_refl eq_refl eq_refl nan32 x v Hx).
assert (Fa : f32 (Rabs v)) by (apply generic_format_abs, Fv).
assert (E : 2 * Rabs v = rnd32 (Rabs v + Rabs v)).
{ symmetry. replace (Rabs v + Rabs v) with (2 * Rabs v) by ring. apply round_generic; [apply valid_rnd_N|].
  rewrite Rmult_comm. change 2 with (bpow radix2 1). apply mult_bpow_pos_exact_FLT; [exact Fa|lia]. }
split.
- rewrite E. apply add32; try (apply mag32, Hx). rewrite Rabs_pos_eq by (pose proof (Rabs_pos v); lra).
  change 127%Z with (1 + 126)%Z. rewrite bpow_plus. change (bpow radix2 1) with 2. lra.
- replace (2 * Rabs v / 2) with (Rabs v) by field. exact Fa.
Qed.

(* Twice a number of size 20 or more is not below 40, be it infinite. *)
Lemma twice32_top (x : float32) : fin32 x = true -> 20 <= Rabs (val32 x) ->
  less_than 23 8 (add (mag_of x) (mag_of x)) (const (Dyadic 5 3) : float32) = false.
Proof.
intros Fx B. set (c := const (Dyadic 5 3) : float32).
assert (E40 : dyadic_R (Dyadic 5 3) = 40) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra).
assert (Hc : stands32 c 40) by (rewrite <- E40; unfold c; is_const).
set (a := mag_of (x : float32) : float32).
destruct (mag32 x (val32 x) (conj Fx eq_refl)) as [Fa Ea]. fold a in Fa, Ea. change (val32 a = Rabs (val32 x)) in Ea.
assert (C := Bplus_correct 24 128 (prec_ok 23 8 eq_refl) (emax_ok 23 8 eq_refl) (fun _ _ => nan32)
  BinarySingleNaN.mode_NE a a Fa Fa).
set (two := add a a : float32). change (Bplus 24 128 _ _ _ _ a a) with two in C.
destruct (Rlt_bool _ _) in C.
- destruct C as [C1 [C2 _]]. destruct (less_than 23 8 two c) eqn:L; [|reflexivity]. exfalso.
  apply (less_than_R 23 8 eq_refl eq_refl eq_refl nan32 two c (val32 two) 40 (conj C2 eq_refl) Hc) in L.
  assert (40 <= val32 two); [|lra]. rewrite C1, Ea. change (SpecFloat.fexp 24 128) with (FLT_exp (-149) 24).
  apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply (format_of_integer (-149) 24); lia|lra].
- destruct C as [C1 C2].
  assert (Sa : Bsign 24 128 a = false).
  { unfold a. destruct x as [| | |s m e Hb]; try discriminate; reflexivity. }
  rewrite Sa in C1. simpl in C1. destruct two as [| b | |]; try discriminate.
  injection C1 as ->. unfold less_than. destruct Hc as [Fc _]. destruct c; try discriminate; reflexivity.
Qed.

Lemma tanh32_magnitude (x : float32) : fin32 x = true ->
  exists y, stands32 (tanh32_of_twice float32 (tanh32_twice float32 x)) y /\
    Rabs (y - tanh (Rabs (val32 x))) <= 12 * pow2 (-24) * tanh (Rabs (val32 x)).
Proof.
intros Fx. set (v := val32 x). assert (0 < pow2 (-24)) by apply bpow_gt_0.
destruct (Rlt_le_dec (Rabs v) 20) as [S|S].
- destruct (twice32_stands x v (conj Fx eq_refl)) as [H2 F2].
  { apply Rle_trans with (bpow radix2 5); [simpl; lra|apply bpow_le; lia]. }
  destruct (tanh32_of_twice_stands (tanh32_twice float32 x) (2 * Rabs v)) as [y [Hy D]].
  + assert (E40 : dyadic_R (Dyadic 5 3) = 40) by (unfold dyadic_R; simpl; unfold Z.pow_pos; simpl; lra).
    assert (Hc : stands32 (const (Dyadic 5 3)) 40) by (rewrite <- E40; is_const).
    assert (Q := select_stands 23 8 eq_refl eq_refl eq_refl nan32 _ _ _ _ _ _ _ _ H2 Hc H2 Hc).
    destruct Rlt_dec in Q; [exact Q|lra].
  + pose proof (Rabs_pos v). lra.
  + exact F2.
  + exists y. split; [exact Hy|]. replace (2 * Rabs v / 2) with (Rabs v) in D by field. apply Rle_trans with (1 := D).
    apply Rmult_le_compat_r; [rewrite tanh_abs; apply Rabs_pos|lra].
- destruct (tanh32_top x (twice32_top x Fx S)) as [y [Hy D]]. exists y. split; [exact Hy|].
  assert (T := tanh_high _ S). assert (pow2 (-56) <= pow2 (-24) / 8) by (simpl; lra).
  assert (pow2 (-24) * (99 / 100) <= pow2 (-24) * tanh (Rabs v)).
  { apply Rmult_le_compat_l; [lra|]. assert (pow2 (-56) <= / 100) by (simpl; lra). lra. }
  replace (y - tanh (Rabs v)) with ((y - 1) + (1 - tanh (Rabs v))) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs (1 - tanh (Rabs v)) <= pow2 (-56)) by (apply Rabs_le; lra). lra.
Qed.

(** theorem: tanh32_error — vf_tanh, the float tanh of every instruction set, of any finite x is finite and within EXP_TANH_ERROR 2^-24 of tanh x, relatively. used by: src/enclosure/exp_isa.h, src/softmax/bound.c *)
Theorem tanh32_error (x : binary_float 24 128) : fin32 x = true ->
  fin32 (vf_tanh float32 x) = true /\
  Rabs (val32 (vf_tanh float32 x) - tanh (val32 x)) <= dyadic_R EXP_TANH_ERROR * pow2 (-24) * Rabs (tanh (val32 x)).
Proof.
intros Fx. rewrite (tanh32_parts float32 x). cbv zeta. destruct (tanh32_magnitude x Fx) as [y [Hy D]].
rewrite <- tanh_abs. replace (dyadic_R EXP_TANH_ERROR) with 12 by (unfold dyadic_R, EXP_TANH_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
assert (Hz : stands32 (const (Dyadic 0 0)) 0).
{ replace 0 with (dyadic_R (Dyadic 0 0)) by (unfold dyadic_R; simpl; ring). is_const. }
set (v := val32 x) in *. rewrite tanh_abs in D.
destruct (select_stands 23 8 eq_refl eq_refl eq_refl nan32 _ _ _ _ _ _ _ _ (conj Fx eq_refl : stands32 x v) Hz (neg32 _ _ Hy) Hy) as [F E].
split; [exact F|]. match type of E with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite E, tanh_abs.
assert (Q := tanh_abs v). destruct (Rlt_dec v 0) as [N|N].
- rewrite (Rabs_left v) in Q by exact N. rewrite <- Q in D |- *.
  assert (Ev : tanh v = - tanh (- v)).
  { unfold tanh, sinh, cosh. rewrite Ropp_involutive. rewrite (Rplus_comm (exp (- v))).
    assert (0 < exp v) by apply exp_pos. assert (0 < exp (- v)) by apply exp_pos. field. lra. }
  rewrite Ev. replace (- y - - tanh (- v)) with (- (y - tanh (- v))) by ring. rewrite Rabs_Ropp. exact D.
- rewrite (Rabs_pos_eq v) in Q by lra. rewrite <- Q in D |- *. exact D.
Qed.

(** theorem: tanh32_beyond — vf_tanh of an infinity or a NaN is finite, within EXP_TANH_ERROR 2^-24 of -1 for minus infinity and of 1 for the others. used by: src/enclosure/exp_isa.h, src/softmax/bound.c *)
Theorem tanh32_beyond (x : binary_float 24 128) : fin32 x = false ->
  let s := match x with B754_infinity true => -1 | _ => 1 end in
  fin32 (vf_tanh float32 x) = true /\ Rabs (val32 (vf_tanh float32 x) - s) <= dyadic_R EXP_TANH_ERROR * pow2 (-24).
Proof.
intros Fx s. rewrite (tanh32_parts float32 x). cbv zeta.
assert (L : less_than 23 8 (add (mag_of (x : float32)) (mag_of (x : float32))) (const (Dyadic 5 3) : float32) = false).
{ assert (Hc : stands32 (const (Dyadic 5 3)) (dyadic_R (Dyadic 5 3))) by is_const. destruct Hc as [Fc _].
  set (c := const (Dyadic 5 3) : float32) in *. destruct x as [|[|]| |]; try discriminate; destruct c; try discriminate; reflexivity. }
destruct (tanh32_top x L) as [y [Hy D]]. assert (0 < pow2 (-24)) by apply bpow_gt_0.
replace (dyadic_R EXP_TANH_ERROR) with 12 by (unfold dyadic_R, EXP_TANH_ERROR; simpl; unfold Z.pow_pos; simpl; lra).
assert (Hz : stands32 (const (Dyadic 0 0)) (dyadic_R (Dyadic 0 0))) by is_const. destruct Hz as [Fz _].
set (c := const (Dyadic 0 0) : float32) in *.
set (z := tanh32_of_twice float32 (tanh32_twice float32 x)) in *.
change (select_lt (x : float32) c (neg z) z) with (if less_than 23 8 x c then neg z else z : float32).
assert (S : less_than 23 8 x c = match x with B754_infinity true => true | _ => false end).
{ destruct x as [|[|]| |]; try discriminate; destruct c; try discriminate; reflexivity. }
rewrite S. clearbody z.
assert (Hn := neg32 _ _ Hy). destruct Hy as [F E], Hn as [Fn En]. unfold s. clear S L s.
destruct x as [|[|]| |]; try discriminate; split; try assumption.
- match type of En with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite En.
  replace (- y - -1) with (- (y - 1)) by ring. rewrite Rabs_Ropp. lra.
- match type of E with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite E. lra.
- match type of E with ?l = _ => match goal with |- Rabs (?g - _) <= _ => change g with l end end. rewrite E. lra.
Qed.
