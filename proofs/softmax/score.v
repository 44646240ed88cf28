(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Plain scores of the double tier of softmax, step 1 of src/softmax/enclose.c: the scaled query rounds
   once an element, the product with a key is a chain of d fused operations (or any other tree). *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.radius.
Open Scope R_scope.

(* Cauchy and Schwarz, for norms from above. *)
Lemma cauchy_schwarz d (x y : nat -> R) X Y : 0 <= X -> 0 <= Y ->
  sum d (fun a => x a * x a) <= X * X -> sum d (fun a => y a * y a) <= Y * Y ->
  sum d (fun a => Rabs (x a) * Rabs (y a)) <= X * Y.
Proof.
intros HX HY Sx Sy. set (P := sum d (fun a => Rabs (x a) * Rabs (y a))).
assert (HP : 0 <= P) by (apply sum_nonneg; intros; apply Rmult_le_pos; apply Rabs_pos).
(* 2 s t P <= s^2 X^2 + t^2 Y^2 for all s, t *)
assert (Q : forall s t, 2 * s * t * P <= s * s * (X * X) + t * t * (Y * Y)).
{ intros s t. apply Rle_trans with (s * s * sum d (fun a => x a * x a) + t * t * sum d (fun a => y a * y a)).
  - unfold P. rewrite <- !sum_scal, <- sum_plus. apply sum_le. intros a _.
    assert (0 <= (s * Rabs (x a) - t * Rabs (y a)) * (s * Rabs (x a) - t * Rabs (y a))) by apply Rle_0_sqr.
    assert (Ex : Rabs (x a) * Rabs (x a) = x a * x a) by apply Rabs_sqr_eq || (rewrite <- Rabs_mult; apply Rabs_pos_eq, Rle_0_sqr).
    assert (Ey : Rabs (y a) * Rabs (y a) = y a * y a) by (rewrite <- Rabs_mult; apply Rabs_pos_eq, Rle_0_sqr).
    nra.
  - apply Rplus_le_compat; apply Rmult_le_compat_l; try assumption; apply Rle_0_sqr. }
destruct (Req_dec X 0) as [->|NX]; [|destruct (Req_dec Y 0) as [->|NY]].
- rewrite Rmult_0_l. destruct HP as [HP|<-]; [exfalso|lra].
  specialize (Q ((Y * Y + 1) / P) 1).
  replace (2 * ((Y * Y + 1) / P) * 1 * P) with (2 * (Y * Y + 1)) in Q by (field; lra). 
  assert (0 <= Y * Y) by apply Rle_0_sqr. lra.
- rewrite Rmult_0_r. destruct HP as [HP|<-]; [exfalso|lra].
  specialize (Q 1 ((X * X + 1) / P)).
  replace (2 * 1 * ((X * X + 1) / P) * P) with (2 * (X * X + 1)) in Q by (field; lra).
  assert (0 <= X * X) by apply Rle_0_sqr. lra.
- specialize (Q Y X). apply (Rmult_le_reg_l (2 * (X * Y))); [|lra].
  assert (0 < X * Y) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

Section Score.
Variables (d : nat) (q k qs : nat -> R) (c ch ec qn kn : R) (t : tree).
Notation eta := (pow2 (-1075)).
(* ch: the scale in double; qs: the scaled query; qn, kn: norms from above *)
Hypothesis scale : Rabs (ch - c) <= ec.
Hypothesis scaled : forall a, (a < d)%nat -> qs a = rnd64 (q a * ch).
Hypothesis chain : sums_up t d qs k.
Hypothesis depth_d : (depth t <= d)%nat.
Hypothesis ops_d : (ops t <= 2 * d)%nat.
Hypothesis qn_pos : 0 <= qn.
Hypothesis kn_pos : 0 <= kn.
Hypothesis q_norm : sum d (fun a => q a * q a) <= qn * qn.
Hypothesis k_norm : sum d (fun a => k a * k a) <= kn * kn.
Hypothesis short : INR (d + 3) * u64 <= pow2 (-22).

Let s := c * sum d (fun a => q a * k a).
Let T := (Rabs ch + ec) * qn * kn.

Lemma k_sum : sum d (fun a => Rabs (k a)) <= INR d * kn.
Proof.
rewrite <- sum_const. apply sum_le. intros a Ha.
assert (H : k a * k a <= kn * kn).
{ eapply Rle_trans; [|exact k_norm]. apply (sum_ge_term d (fun a => k a * k a)); [|exact Ha].
  intros; apply Rle_0_sqr. }
apply Rsqr_incr_0_var; [|exact kn_pos]. unfold Rsqr.
rewrite <- Rabs_mult, Rabs_pos_eq by apply Rle_0_sqr. exact H.
Qed.

(** theorem: softmax_score — a score of the double tier without softcap, bias, slope and temperature is within product_error of the exact one: gamma(d + 3) |scale| |q| |k|, the error of the scale, and underflow. used by: src/softmax/enclose.c *)
Theorem softmax_score : Rabs (fl rnd64 rnd64 t - s) <=
  INR (d + 3) * u64 * (1 + pow2 (-21)) * T + INR d * pow2 (-1002) * (1 + kn) + ec * qn * kn.
Proof.
assert (U : 0 <= u64) by apply bpow_ge_0. assert (N : 0 <= eta) by apply bpow_ge_0.
assert (Pec : 0 <= ec) by (eapply Rle_trans; [apply Rabs_pos|exact scale]).
set (P := sum d (fun a => Rabs (q a) * Rabs (k a))). set (K := sum d (fun a => Rabs (k a))).
assert (HP : 0 <= P) by (apply sum_nonneg; intros; apply Rmult_le_pos; apply Rabs_pos).
assert (HK : 0 <= K) by (apply sum_nonneg; intros; apply Rabs_pos).
assert (CS : P <= qn * kn) by (apply cauchy_schwarz; assumption).
assert (q_off : forall a, (a < d)%nat -> Rabs (qs a - q a * ch) <= u64 * (Rabs (q a) * Rabs ch) + eta).
{ intros a Ha. rewrite (scaled a Ha), <- Rabs_mult. apply (nearest_error (-1074) 53). lia. }
(* sums of absolute values, and what the rounded query moves *)
assert (A1 : sum d (fun a => Rabs (qs a) * Rabs (k a)) <= (1 + u64) * Rabs ch * P + eta * K).
{ unfold P, K. rewrite <- !sum_scal, <- sum_plus. apply sum_le. intros a Ha.
  assert (B : Rabs (qs a) <= (1 + u64) * (Rabs (q a) * Rabs ch) + eta).
  { replace (qs a) with (q a * ch + (qs a - q a * ch)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_mult (q a)). pose proof (q_off a Ha). lra. }
  apply (Rmult_le_compat_r (Rabs (k a))) in B; [lra|apply Rabs_pos]. }
assert (A2 : Rabs (sum d (fun a => qs a * k a) - s) <= u64 * Rabs ch * P + eta * K + ec * P).
{ unfold s. rewrite <- sum_scal, <- sum_minus. eapply Rle_trans; [apply sum_abs|].
  unfold P, K. rewrite <- !sum_scal, <- !sum_plus. apply sum_le. intros a Ha.
  replace (qs a * k a - c * (q a * k a)) with ((qs a - q a * ch) * k a + (ch - c) * (q a * k a)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  pose proof (q_off a Ha) as B. apply (Rmult_le_compat_r (Rabs (k a))) in B; [|apply Rabs_pos].
  assert (Rabs (ch - c) * (Rabs (q a) * Rabs (k a)) <= ec * (Rabs (q a) * Rabs (k a))).
  { apply Rmult_le_compat_r; [apply Rmult_le_pos; apply Rabs_pos|exact scale]. } lra. }
assert (Z : (-1074 <= -1074)%Z) by lia.
assert (F := formats_tree (-1074) 53 (-1074) 53 eq_refl eq_refl Z t d qs k chain). clear Z.
change (roundoff 53) with u64 in F. change (underflow (-1074)) with eta in F.
set (g := (1 + u64) * (1 + u64) ^ depth t) in *.
assert (G1 : 1 <= g).
{ unfold g. replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; try lra. apply pow_R1_Rle; lra. }
assert (G3 : g * (1 + u64) - 1 <= INR (d + 3) * u64 * (1 + pow2 (-21))).
{ eapply Rle_trans; [|apply gamma_up with (u := u64); [exact U|exact short]].
  apply Rplus_le_compat_r. unfold g.
  replace ((1 + u64) * (1 + u64) ^ depth t * (1 + u64)) with ((1 + u64) ^ S (S (depth t)))
    by (simpl; ring). apply Rle_pow; [lra|lia]. }
assert (G2 : g <= 2).
{ assert (INR (d + 3) * u64 * (1 + pow2 (-21)) <= 1).
  { assert (0 <= INR (d + 3) * u64) by (apply Rmult_le_pos; [apply pos_INR|exact U]). simpl bpow in *. lra. }
  assert (0 <= g * u64) by (apply Rmult_le_pos; lra). lra. }
assert (O : INR (ops t) <= 2 * INR d).
{ change 2 with (INR 2). rewrite <- mult_INR. apply le_INR, ops_d. }
assert (HC : 0 <= Rabs ch) by apply Rabs_pos.
set (Q := Rabs ch * P). assert (HQ : 0 <= Q) by (apply Rmult_le_pos; assumption).
replace (fl rnd64 rnd64 t - s) with ((fl rnd64 rnd64 t - sum d (fun a => qs a * k a)) +
  (sum d (fun a => qs a * k a) - s)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
apply (Rmult_le_compat_l (g - 1)) in A1; [|lra].
assert (E1 : INR (ops t) * eta * g <= 4 * (INR d * eta)).
{ apply Rle_trans with (2 * INR d * eta * 2); [|lra].
  apply Rmult_le_compat; try lra; [apply Rmult_le_pos; [apply pos_INR|exact N]|].
  apply Rmult_le_compat_r; assumption. }
assert (E2 : g * (eta * K) <= 2 * (eta * (INR d * kn))).
{ apply Rmult_le_compat; try lra; [apply Rmult_le_pos; assumption|].
  apply Rmult_le_compat_l; [exact N|apply k_sum]. }
assert (E3 : 4 * (INR d * eta) + 2 * (eta * (INR d * kn)) <= INR d * pow2 (-1002) * (1 + kn)).
{ assert (B : 4 * eta <= pow2 (-1002)).
  { change 4 with (pow2 2). rewrite <- bpow_plus. apply bpow_le. lia. }
  assert (Pd : 0 <= INR d * (1 + kn)) by (apply Rmult_le_pos; [apply pos_INR|lra]).
  apply (Rmult_le_compat_l (INR d * (1 + kn))) in B; [|exact Pd].
  assert (0 <= eta * (INR d * kn)) by (apply Rmult_le_pos; [exact N|apply Rmult_le_pos; [apply pos_INR|exact kn_pos]]).
  lra. }
assert (E4 : (g * (1 + u64) - 1) * Q <= INR (d + 3) * u64 * (1 + pow2 (-21)) * T).
{ assert (QT : Q <= T).
  { unfold Q, T. rewrite Rmult_assoc. apply Rmult_le_compat; try assumption. lra. }
  apply Rmult_le_compat; try assumption. assert (0 <= g * u64) by (apply Rmult_le_pos; lra). lra. }
assert (E5 : ec * P <= ec * qn * kn) by (rewrite Rmult_assoc; apply Rmult_le_compat_l; assumption).
unfold Q in *. lra.
Qed.
End Score.

Section Extras.
(* s0, sh0: the plain score and its computed value; b: bias; slope, k: of a linear bias, k = j - i *)
Variables (s0 sh0 b slope k E0 T : R).
Hypothesis plain : Rabs (sh0 - s0) <= E0.
Hypothesis E0_small : 0 <= E0 <= pow2 (-14).
Hypothesis size : Rabs s0 <= T.
Let step := rnd64 (slope * k).
Let size_all := T + Rabs b + Rabs (slope * k).

(** theorem: softmax_extras — bias and slope round three times, which costs at most 4 u times the sum of the sizes of all terms, extra_error, and less than 2^-62. used by: src/softmax/enclose.c *)
Theorem softmax_extras : Rabs (rnd64 (rnd64 (sh0 + b) + step) - (s0 + b + slope * k)) <=
  E0 + 4 * u64 * size_all + pow2 (-62).
Proof.
assert (U : 0 <= u64 <= / 1000000) by (split; [apply bpow_ge_0|simpl; lra]).
assert (N : forall x, Rabs (rnd64 x - x) <= u64 * Rabs x + pow2 (-1075)) by (intros x; apply (nearest_error (-1074) 53); lia).
set (eta := pow2 (-1075)) in *.
assert (He : 0 <= eta <= u64 * / 100000).
{ split; [apply bpow_ge_0|]. apply Rle_trans with (pow2 (-53 + -17)); [apply bpow_le; lia|].
  rewrite bpow_plus. apply Rmult_le_compat_l; [lra|simpl; lra]. }
assert (E62 : pow2 (-62) = u64 * / 512).
{ change (-62)%Z with (-53 + -9)%Z. rewrite bpow_plus. reflexivity. }
assert (E14 : E0 <= / 16384) by (simpl in E0_small; lra).
assert (T3 : forall x y, Rabs (x + y) <= Rabs x + Rabs y) by apply Rabs_triang.
pose proof (Rabs_pos b) as Pb. pose proof (Rabs_pos (slope * k)) as Pk. pose proof (Rabs_pos s0) as P0.
set (B := Rabs b) in *. set (K := Rabs (slope * k)) in *.
assert (H0 : Rabs (sh0 + b) <= T + E0 + B).
{ replace (sh0 + b) with ((sh0 - s0) + s0 + b) by ring. pose proof (T3 (sh0 - s0 + s0) b).
  pose proof (T3 (sh0 - s0) s0). unfold B. lra. }
set (s1 := rnd64 (sh0 + b)). assert (D1 : Rabs (s1 - (sh0 + b)) <= u64 * (T + E0 + B) + eta).
{ pose proof (N (sh0 + b)). assert (u64 * Rabs (sh0 + b) <= u64 * (T + E0 + B)) by (apply Rmult_le_compat_l; lra).
  unfold s1. lra. }
assert (D2 : Rabs (step - slope * k) <= u64 * K + eta) by apply N.
assert (Q : u64 * E0 <= u64 * / 16384) by (apply Rmult_le_compat_l; lra).
assert (QE : 0 <= u64 * E0) by (apply Rmult_le_pos; lra).
assert (QT : 0 <= u64 * T) by (apply Rmult_le_pos; lra).
assert (QB : 0 <= u64 * B) by (apply Rmult_le_pos; lra).
assert (QK : 0 <= u64 * K) by (apply Rmult_le_pos; lra).
set (D := u64 * (T + E0 + B) + eta + (u64 * K + eta)) in *.
assert (H1 : Rabs (s1 + step) <= T + E0 + B + K + D).
{ replace (s1 + step) with ((s1 - (sh0 + b)) + (step - slope * k) + (sh0 + b) + slope * k) by ring.
  assert (X1 := T3 (s1 - (sh0 + b) + (step - slope * k) + (sh0 + b)) (slope * k)). fold K in X1.
  assert (X2 := T3 (s1 - (sh0 + b) + (step - slope * k)) (sh0 + b)).
  assert (X3 := T3 (s1 - (sh0 + b)) (step - slope * k)). unfold D. lra. }
assert (D3 : Rabs (rnd64 (s1 + step) - (s1 + step)) <= u64 * (T + E0 + B + K + D) + eta).
{ pose proof (N (s1 + step)).
  assert (u64 * Rabs (s1 + step) <= u64 * (T + E0 + B + K + D)) by (apply Rmult_le_compat_l; lra). lra. }
assert (QD : u64 * D <= / 1000000 * D).
{ apply Rmult_le_compat_r; [|lra]. unfold D. lra. }
replace (rnd64 (s1 + step) - (s0 + b + slope * k)) with
  ((rnd64 (s1 + step) - (s1 + step)) + (s1 - (sh0 + b)) + (step - slope * k) + (sh0 - s0)) by ring.
pose proof (T3 (rnd64 (s1 + step) - (s1 + step) + (s1 - (sh0 + b)) + (step - slope * k)) (sh0 - s0)).
pose proof (T3 (rnd64 (s1 + step) - (s1 + step) + (s1 - (sh0 + b))) (step - slope * k)).
pose proof (T3 (rnd64 (s1 + step) - (s1 + step)) (s1 - (sh0 + b))).
rewrite E62. unfold size_all. unfold D in *. lra.
Qed.
End Extras.
