(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* What sweeps settle by a rule: results next to a limit that no precision tells from the exact value,
   src/certify/sweep_limit.c, and finite ones beside values above 2^1000, sweep_ball.c. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
Open Scope R_scope.

Notation pow2 := (bpow radix2).

(* ---- limits ---- *)
Section Limit.
Variables (v : R) (bits : Z).
Hypothesis far : 32 <= v.
(* floor(1.4 v), with room for the roundings of 1.4 and of the product, or less *)
Hypothesis few : IZR bits <= 141 / 100 * v.

Lemma gap_above : 2 * exp (- v) <= 2 * pow2 (- bits) /\ exp (- v) < pow2 (- bits) /\ 2 * exp (- (2 * v)) < pow2 (- bits).
Proof.
assert (L : 0 < ln 2 < 7 / 10) by (split; interval).
assert (G : exp (- (98 / 100 * v)) <= pow2 (- bits)).
{ rewrite bpow_exp. apply exp_le. change (IZR radix2) with 2. rewrite opp_IZR.
  assert (IZR bits * ln 2 <= 141 / 100 * v * ln 2) by (apply Rmult_le_compat_r; lra).
  assert (141 / 100 * v * ln 2 <= 98 / 100 * v).
  { replace (98 / 100 * v) with (v * (98 / 100)) by ring. replace (141 / 100 * v * ln 2) with (v * (141 / 100 * ln 2)) by ring.
    apply Rmult_le_compat_l; [lra|interval]. } lra. }
assert (E : exp (- v) < exp (- (98 / 100 * v))) by (apply exp_increasing; lra).
assert (T : exp (- (2 * v)) <= exp (- v) * / 2).
{ replace (- (2 * v)) with (- v + - v) by ring. rewrite exp_plus. apply Rmult_le_compat_l; [left; apply exp_pos|].
  apply Rle_trans with (exp (- 32)); [apply exp_le; lra|interval]. }
lra.
Qed.

Lemma tanh_gap : tanh v = 1 - 2 * exp (- (2 * v)) / (1 + exp (- (2 * v))).
Proof.
unfold tanh, sinh, cosh. replace (- (2 * v)) with (- v + - v) by ring. rewrite exp_plus.
assert (P := exp_pos v). assert (Q := exp_pos (- v)).
assert (E : exp v * exp (- v) = 1) by (rewrite <- exp_plus; replace (v + - v) with 0 by ring; apply exp_0).
replace (exp v) with (/ exp (- v)) by (field_simplify_eq; lra). field. split; nra.
Qed.

(** theorem: sweep_near_limit — for v >= 32 and bits <= 1.41 v: tanh v, the sigmoid of v and 1 - exp(-v) lie in (1 - 2^-bits, 1), and silu v in (v - v 2^-bits, v). used by: src/certify/sweep_limit.c *)
Theorem sweep_near_limit :
  1 - pow2 (- bits) < tanh v < 1 /\ 1 - pow2 (- bits) < / (1 + exp (- v)) < 1 /\
  1 - pow2 (- bits) < 1 - exp (- v) < 1 /\ v - v * pow2 (- bits) < v / (1 + exp (- v)) < v.
Proof.
destruct gap_above as [_ [G1 G2]]. assert (P := exp_pos (- v)). assert (P2 := exp_pos (- (2 * v))).
set (e := exp (- v)) in *. set (g := pow2 (- bits)) in *.
assert (S : 1 - g < / (1 + e) < 1).
{ assert (I : / (1 + e) = 1 - e / (1 + e)) by (field; lra). rewrite I.
  assert (0 < e / (1 + e) <= e).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply (Rmult_le_reg_r (1 + e)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  lra. }
split; [|split; [exact S|split; [lra|]]].
- rewrite tanh_gap. set (f := exp (- (2 * v))) in *.
  assert (0 < 2 * f / (1 + f) <= 2 * f).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply (Rmult_le_reg_r (1 + f)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  lra.
- unfold Rdiv. replace (v - v * g) with (v * (1 - g)) by ring. split; [apply Rmult_lt_compat_l; lra|].
  rewrite <- (Rmult_1_r v) at 2. apply Rmult_lt_compat_l; lra.
Qed.
End Limit.

(** theorem: sweep_limit_error — a result a beside an exact value x in (size - gap, size): its distance, and its relative error, which grows with x where 0 < a < x. used by: src/certify/sweep_limit.c *)
Theorem sweep_limit_error a x size gap : 0 < gap -> gap < size -> size - gap < x < size ->
  (a < size -> size - a - gap <= Rabs (a - x)) /\ (a <= size - gap -> Rabs (a - x) <= size - a) /\
  (size <= a -> a - size <= Rabs (a - x) <= a - size + gap) /\
  Rabs (a - x) / size <= Rabs (a - x) / x <= Rabs (a - x) / (size - gap) /\
  (0 < a <= size - gap -> Rabs (a - x) / x <= (size - a) / size) /\ (a = 0 -> Rabs (a - x) / x = 1).
Proof.
intros Pg Lg [X1 X2]. assert (Px : 0 < x) by lra. assert (P := Rabs_pos (a - x)). repeat split.
- intros _. rewrite Rabs_minus_sym. apply Rle_trans with (2 := Rle_abs (x - a)). lra.
- intros H. rewrite Rabs_left1 by lra. lra.
- rewrite Rabs_pos_eq by lra. lra.
- rewrite Rabs_pos_eq by lra. lra.
- unfold Rdiv. apply Rmult_le_compat_l; [exact P|]. apply Rinv_le_contravar; lra.
- unfold Rdiv. apply Rmult_le_compat_l; [exact P|]. apply Rinv_le_contravar; lra.
- intros [Pa La]. rewrite Rabs_left1 by lra. replace (- (a - x) / x) with (1 - a / x) by (field; lra).
  replace ((size - a) / size) with (1 - a / size) by (field; lra). apply Rplus_le_compat_l, Ropp_le_contravar.
  unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra.
- intros ->. rewrite Rabs_left1 by lra. field. lra.
Qed.

(* ---- vast values ---- *)
(** theorem: sweep_vast — a finite float g beside an exact value x of at least 2^1000, whose binade begins at 2^e: its error is at least 2^999, within 2^-53 (g > 0) or 2^-52 (g < 0) of x relatively, and so of 2^23 to 2^24 units of 2^(e - 23). used by: src/certify/sweep_ball.c *)
Theorem sweep_vast g x e : Rabs g <= pow2 128 -> pow2 1000 <= x -> pow2 e <= x < pow2 (e + 1) ->
  let least := if Rlt_dec 0 g then 1 - pow2 (-53) else 1 in let most := if Rlt_dec g 0 then 1 + pow2 (-52) else 1 in
  pow2 999 <= Rabs (g - x) /\ least <= Rabs (g - x) / x <= most /\
  least * pow2 23 <= Rabs (g - x) / pow2 (e - 23) <= most * pow2 24.
Proof.
intros G X E least most. assert (PX : 0 < x) by (pose proof (bpow_gt_0 radix2 1000); lra).
assert (S : pow2 128 <= pow2 (-60) * x).
{ apply Rle_trans with (pow2 (-60) * pow2 1000); [rewrite <- bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_l; [apply bpow_ge_0|exact X]. }
assert (T : pow2 (-60) <= / 128 * pow2 (-53)).
{ change (-60)%Z with (-7 + -53)%Z. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (D : pow2 (-52) = 2 * pow2 (-53)) by (change (-52)%Z with (1 + -53)%Z; rewrite bpow_plus; change (pow2 1) with 2; ring).
assert (P53 : 0 < pow2 (-53) <= / 1024) by (split; [apply bpow_gt_0|apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]]).
assert (Sx : pow2 (-60) * x <= / 128 * pow2 (-53) * x) by (apply Rmult_le_compat_r; lra).
apply Rabs_le_inv in G. assert (Px53 : 0 < pow2 (-53) * x) by (apply Rmult_lt_0_compat; lra).
assert (Low : pow2 (-53) * x <= / 1024 * x) by (apply Rmult_le_compat_r; lra).
rewrite (Rabs_left1 (g - x)) by lra. set (d := - (g - x)).
assert (H : least * x <= d <= most * x).
{ unfold least, most, d. destruct (Rlt_dec 0 g), (Rlt_dec g 0); try lra; rewrite ?D; lra. }
assert (B : / 2 <= least /\ 0 < most).
{ unfold least, most. destruct (Rlt_dec 0 g), (Rlt_dec g 0); lra. }
clearbody least most. clear G. split; [|split].
- change 999%Z with (-1 + 1000)%Z. rewrite bpow_plus. change (pow2 (-1)) with (/ 2).
  assert (/ 2 * x <= least * x) by (apply Rmult_le_compat_r; lra). lra.
- split; apply (Rmult_le_reg_r x); try lra; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
- assert (Pe := bpow_gt_0 radix2 e). assert (Ee : pow2 (e - 23) = pow2 e / pow2 23).
  { unfold Z.sub. rewrite bpow_plus. change (- (23))%Z with (Z.opp 23). rewrite bpow_opp. reflexivity. }
  assert (P23 := bpow_gt_0 radix2 23). assert (E1 : pow2 (e + 1) = 2 * pow2 e) by (rewrite bpow_plus; change (pow2 1) with 2; ring).
  assert (E24 : pow2 24 = 2 * pow2 23) by (change 24%Z with (1 + 23)%Z; rewrite bpow_plus; change (pow2 1) with 2; ring).
  rewrite Ee, E24. replace (d / (pow2 e / pow2 23)) with (d * pow2 23 / pow2 e) by (field; lra).
  split; apply (Rmult_le_reg_r (pow2 e)); try lra; replace (d * pow2 23 / pow2 e * pow2 e) with (d * pow2 23) by (field; lra).
  + rewrite Rmult_assoc, (Rmult_comm (pow2 23)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    apply Rle_trans with (2 := proj1 H). apply Rmult_le_compat_l; lra.
  + replace (most * (2 * pow2 23) * pow2 e) with (most * (2 * pow2 e) * pow2 23) by ring. apply Rmult_le_compat_r; [lra|].
    apply Rle_trans with (1 := proj2 H). apply Rmult_le_compat_l; lra.
Qed.
