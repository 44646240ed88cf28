(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The enclosures of the square root, its reciprocal and the reciprocal in sweeps. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary Relative.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants enclosure.log_isa
  certify.sweep_isa certify.sweep_rounding.
Open Scope R_scope.

Lemma rnd64_relative x : pow2 (-1000) <= Rabs x -> Rabs (rnd64 x - x) <= u * Rabs x.
Proof.
intros H. rewrite <- half_ulp. apply (relative_error_N_FLT radix2 (-1074) 53 eq_refl).
apply Rle_trans with (2 := H). apply bpow_le. lia.
Qed.

(* `relative`: f within e units of y, the radius of e + 1/100 rounded; or both 0 *)
Lemma relative_encloses y b r d e f : stands64 y b -> stands64 d r -> 0 <= e <= 10 -> (e + / 200) * u <= r <= 1 ->
  b = 0 \/ pow2 (-900) <= Rabs b -> Rabs b <= pow2 900 -> Rabs (f - b) <= e * u * Rabs b ->
  encloses (y, mul (mag_of y) d) f.
Proof.
intros Y D E R N S B. assert (Us := u_small). assert (Pb := Rabs_pos b).
assert (Z : Rabs (Rabs b * r) <= pow2 1023).
{ rewrite Rabs_mult, Rabs_Rabsolu, (Rabs_pos_eq r) by (assert (0 <= (e + / 200) * u) by (apply Rmult_le_pos; lra); lra).
  assert (Rabs b * r <= pow2 900 * 1) by (apply Rmult_le_compat; try lra; assert (0 <= (e + / 200) * u) by (apply Rmult_le_pos; lra); lra).
  apply Rle_trans with (1 := H). rewrite Rmult_1_r. apply bpow_le. lia. }
exists b, (rnd64 (Rabs b * r)). split; [exact Y|]. split; [exact (mul64 _ _ _ _ (mag64 _ _ Y) D Z)|].
assert (P : (e + / 200) * u * Rabs b <= r * Rabs b) by (apply Rmult_le_compat_r; lra).
destruct N as [->|N].
- rewrite Rabs_R0, !Rmult_0_r in *. rewrite Rmult_0_l. unfold rnd64. rewrite round_0 by apply valid_rnd_N. exact B.
- assert (F : pow2 (-1000) <= Rabs (Rabs b * r)).
  { assert (P1 : / 200 * u * Rabs b <= Rabs b * r).
    { assert (0 <= e * u * Rabs b) by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra). lra. }
    eapply Rle_trans; [|apply Rle_abs]. apply Rle_trans with (2 := P1).
    apply Rle_trans with (pow2 (-8) * u * pow2 (-900)).
    - rewrite <- !bpow_plus. apply bpow_le. lia.
    - apply Rmult_le_compat; try lra; [apply Rmult_le_pos; try lra; apply bpow_ge_0|apply bpow_ge_0|].
      apply Rmult_le_compat_r; [lra|]. simpl. lra. }
  assert (Q := rnd64_relative _ F). rewrite (Rabs_pos_eq (Rabs b * r)) in Q.
  2: { apply Rmult_le_pos; [lra|]. assert (0 <= (e + / 200) * u) by (apply Rmult_le_pos; lra). lra. }
  apply Rabs_le_inv in Q. apply Rle_trans with (1 := B).
  assert (U : u * (Rabs b * r) <= / 1000000 * (Rabs b * r)).
  { apply Rmult_le_compat_r; [|lra]. apply Rmult_le_pos; [lra|]. assert (0 <= (e + / 200) * u) by (apply Rmult_le_pos; lra). lra. }
  set (w := u * Rabs b) in *. replace (e * u * Rabs b) with (e * w) by (unfold w; ring).
  replace ((e + / 200) * u * Rabs b) with ((e + / 200) * w) in P by (unfold w; ring).
  assert (0 <= w) by (unfold w; apply Rmult_le_pos; lra).
  assert (e * w <= 10 * w) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* sizes of positive floats *)
Lemma positive_single x v : single x v -> 0 < v -> pow2 (-149) <= v <= pow2 128.
Proof.
intros [_ [F B]] P. destruct (grid_away _ _ (grid_single v F)) as [->|A]; [lra|].
rewrite Rabs_pos_eq in A, B by lra. lra.
Qed.

Lemma const_one : stands64 (const (Dyadic 1 0)) 1.
Proof. apply (sized_const _ 1); try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_pos_eq; lra]. Qed.

Lemma sqrt_power k : sqrt (pow2 (k + k)) = pow2 k.
Proof. rewrite bpow_plus. apply sqrt_square, bpow_ge_0. Qed.

Lemma sqrt_sizes v : pow2 (-150) <= v <= pow2 128 -> pow2 (-75) <= sqrt v <= pow2 64.
Proof.
intros [L U]. split.
- rewrite <- (sqrt_power (-75)). apply sqrt_le_1_alt. exact L.
- rewrite <- (sqrt_power 64). apply sqrt_le_1_alt. exact U.
Qed.

Lemma power_range k a : pow2 k <= a -> pow2 k <= Rabs a.
Proof. intros H. eapply Rle_trans; [exact H|apply Rle_abs]. Qed.

Ltac unit_const := apply const64; reflexivity.

(** theorem: sweep_sqrt — the double enclosure of the square root in sweeps contains the exact value, the radius as it is rounded, for every finite float32 x >= 0. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_sqrt x v : single x v -> 0 <= v -> encloses (enclose_sqrt float64 x) (sqrt v).
Proof.
intros H [P|<-].
- assert (B := positive_single x v H P). destruct H as [X _].
  assert (S := sqrt_sizes v ltac:(split; [apply Rle_trans with (pow2 (-149)); [apply bpow_le; lia|]|]; lra)).
  assert (Y := root64 x v X (Rlt_le _ _ P)).
  assert (Ps : 0 < sqrt v) by (apply Rlt_le_trans with (2 := proj1 S), bpow_gt_0).
  assert (R := rnd64_relative (sqrt v)). rewrite Rabs_pos_eq in R by lra.
  specialize (R ltac:(apply Rle_trans with (2 := proj1 S); apply bpow_le; lia)). apply Rabs_le_inv in R.
  assert (Us := u_small). assert (Q : u * sqrt v <= / 1000000 * sqrt v) by (apply Rmult_le_compat_r; lra).
  set (y := rnd64 (sqrt v)) in *. assert (Py : 0 < y) by lra.
  assert (Uy : u * y <= / 1000000 * y) by (apply Rmult_le_compat_r; lra).
  assert (Qy : u * sqrt v <= 10001/10000 * (u * y)).
  { replace (10001/10000 * (u * y)) with (u * (10001/10000 * y)) by ring. apply Rmult_le_compat_l; lra. }
  refine (relative_encloses _ y (dyadic_R (Dyadic 4548635623644201 (-105))) _ (10001/10000) (sqrt v) Y _ _ _ _ _ _).
  + unit_const.
  + lra.
  + unfold dyadic_R. simpl. lra.
  + right. rewrite Rabs_pos_eq by lra. apply Rle_trans with (pow2 (-1) * pow2 (-75)); [rewrite <- bpow_plus; apply bpow_le; lia|].
    change (pow2 (-1)) with (/ 2). lra.
  + rewrite Rabs_pos_eq by lra. apply Rle_trans with (2 * pow2 64); [lra|]. change 2 with (pow2 1). rewrite <- bpow_plus. apply bpow_le. lia.
  + rewrite (Rabs_pos_eq y) by lra. apply Rabs_le. lra.
- assert (Y := root64 x 0 (proj1 H) (Rle_refl 0)). rewrite sqrt_0 in *. unfold rnd64 in Y. rewrite round_0 in Y by apply valid_rnd_N.
  refine (relative_encloses _ 0 (dyadic_R (Dyadic 4548635623644201 (-105))) _ (10001/10000) 0 Y _ _ _ _ _ _).
  + unit_const.
  + lra.
  + unfold dyadic_R. simpl. lra.
  + now left.
  + rewrite Rabs_R0. apply bpow_ge_0.
  + rewrite Rminus_0_r, Rabs_R0. lra.
Qed.

(* 1 / s, s off by c u and the quotient rounded *)
Lemma inverse_stands y s s0 c : stands64 y s -> Rabs (s - s0) <= c * u * Rabs s0 -> 0 <= c <= 2 -> s0 <> 0 ->
  pow2 (-200) <= Rabs s0 <= pow2 200 -> exists b, stands64 (div (const (Dyadic 1 0)) y) b /\
  Rabs (/ s0 - b) <= (c + 10001/10000) * u * Rabs b /\ pow2 (-300) <= Rabs b <= pow2 300.
Proof.
intros Y D C N [L U]. assert (Us := u_small). assert (P := Rabs_pos_lt s0 N). set (a := Rabs s0) in *.
assert (Cu : 0 <= c * u * a <= / 100000 * a).
{ split; [apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]|]. apply Rmult_le_compat_r; [lra|].
  apply Rle_trans with (2 * / 1000000); [apply Rmult_le_compat; lra|lra]. }
assert (Sa : (1 - / 100000) * a <= Rabs s <= (1 + / 100000) * a).
{ assert (T1 := Rabs_triang_inv s0 (s0 - s)). replace (s0 - (s0 - s)) with s in T1 by ring. rewrite (Rabs_minus_sym s0) in T1.
  assert (T2 := Rabs_triang_inv s (s - s0)). replace (s - (s - s0)) with s0 in T2 by ring. fold a in T1, T2. lra. }
assert (Ns : s <> 0) by (intros ->; rewrite Rabs_R0 in Sa; lra).
assert (Ia : Rabs (1 / s) = / Rabs s) by (unfold Rdiv; rewrite Rmult_1_l; apply Rabs_inv).
assert (Lo : pow2 (-201) <= Rabs (1 / s)).
{ rewrite Ia. change (-201)%Z with (- (201))%Z. rewrite bpow_opp. apply Rinv_le; [lra|]. apply Rle_trans with (2 * a); [lra|].
  change 201%Z with (1 + 200)%Z. rewrite bpow_plus. change (pow2 1) with 2. lra. }
assert (Hi : Rabs (1 / s) <= pow2 201).
{ rewrite Ia. change 201%Z with (- (-201))%Z. rewrite bpow_opp. apply Rinv_le; [apply bpow_gt_0|].
  change (-201)%Z with (-1 + -200)%Z. rewrite bpow_plus. change (pow2 (-1)) with (/ 2). lra. }
set (b := rnd64 (1 / s)). exists b. split.
{ apply div64; [exact const_one|exact Y|exact Ns|]. apply Rle_trans with (1 := Hi). apply bpow_le. lia. }
assert (R : Rabs (b - 1 / s) <= u * Rabs (1 / s)).
{ apply rnd64_relative. apply Rle_trans with (2 := Lo). apply bpow_le. lia. }
set (t := Rabs (1 / s)) in *. assert (Pt : 0 < t) by (apply Rlt_le_trans with (2 := Lo), bpow_gt_0).
assert (Ut : u * t <= / 1000000 * t) by (apply Rmult_le_compat_r; lra).
assert (Ba : (1 - / 1000000) * t <= Rabs b <= (1 + / 1000000) * t).
{ assert (T1 := Rabs_triang_inv (1 / s) (1 / s - b)). replace (1 / s - (1 / s - b)) with b in T1 by ring. rewrite (Rabs_minus_sym (1 / s)) in T1.
  assert (T2 := Rabs_triang_inv b (b - 1 / s)). replace (b - (b - 1 / s)) with (1 / s) in T2 by ring. fold t in T1, T2. lra. }
split.
- replace (/ s0 - b) with ((s - s0) / s0 * (1 / s) + - (b - 1 / s)) by (field; split; assumption).
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult. fold t.
  assert (Q : Rabs ((s - s0) / s0) <= c * u).
  { unfold Rdiv. rewrite Rabs_mult, Rabs_inv. fold a. apply (Rmult_le_reg_r a); [exact P|].
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact D. }
  assert (Rabs ((s - s0) / s0) * t <= c * u * t) by (apply Rmult_le_compat_r; lra).
  apply Rle_trans with ((c + 1) * u * t); [lra|].
  assert (E : (c + 1) * t <= (c + 10001/10000) * Rabs b).
  { apply Rle_trans with ((c + 10001/10000) * ((1 - / 1000000) * t)); [|apply Rmult_le_compat_l; lra].
    assert (c * t <= 2 * t) by (apply Rmult_le_compat_r; lra). lra. }
  replace ((c + 1) * u * t) with (u * ((c + 1) * t)) by ring.
  replace ((c + 10001/10000) * u * Rabs b) with (u * ((c + 10001/10000) * Rabs b)) by ring.
  apply Rmult_le_compat_l; lra.
- split.
  + apply Rle_trans with (pow2 (-1) * pow2 (-201)); [rewrite <- bpow_plus; apply bpow_le; lia|]. change (pow2 (-1)) with (/ 2). lra.
  + apply Rle_trans with (2 * pow2 201); [lra|]. change 2 with (pow2 1). rewrite <- bpow_plus. apply bpow_le. lia.
Qed.

(** theorem: sweep_reciprocal — the double enclosures of 1/x in sweeps, for every finite float32 x but 0, and of x^(-1/2), for every one above 0, contain the exact value, the radius as it is rounded. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_reciprocal x v : single x v ->
  (v <> 0 -> encloses (enclose_reciprocal float64 x) (/ v)) /\ (0 < v -> encloses (enclose_rsqrt float64 x) (/ sqrt v)).
Proof.
intros H. assert (Us := u_small). split; intros N.
- assert (B : pow2 (-200) <= Rabs v <= pow2 200).
  { destruct (grid_away _ _ (grid_single v (proj1 (proj2 H)))) as [E|A]; [contradiction|]. destruct H as [_ [_ L]]. split.
    - apply Rle_trans with (2 := A). apply bpow_le. lia.
    - apply Rle_trans with (pow2 128); [lra|apply bpow_le; lia]. }
  destruct (inverse_stands x v v 0 (proj1 H)) as [b [Sb [Eb [Lb Ub]]]]; try assumption; try lra.
  { rewrite Rminus_eq_0, Rabs_R0. lra. }
  refine (relative_encloses _ b (dyadic_R (Dyadic 4548635623644201 (-105))) _ (0 + 10001/10000) (/ v) Sb _ _ _ _ _ Eb).
  + unit_const.
  + lra.
  + unfold dyadic_R. simpl. lra.
  + right. apply Rle_trans with (2 := Lb). apply bpow_le. lia.
  + apply Rle_trans with (1 := Ub). apply bpow_le. lia.
- assert (B := positive_single x v H N). destruct H as [X _].
  assert (S := sqrt_sizes v ltac:(split; [apply Rle_trans with (pow2 (-149)); [apply bpow_le; lia|]|]; lra)).
  assert (Ps : 0 < sqrt v) by (apply Rlt_le_trans with (2 := proj1 S), bpow_gt_0).
  assert (Y := root64 x v X (Rlt_le _ _ N)).
  destruct (inverse_stands _ (rnd64 (sqrt v)) (sqrt v) 1 Y) as [b [Sb [Eb [Lb Ub]]]]; try lra.
  { rewrite Rmult_1_l. apply rnd64_relative. rewrite Rabs_pos_eq by lra. apply Rle_trans with (2 := proj1 S). apply bpow_le. lia. }
  { rewrite Rabs_pos_eq by lra. split; [apply Rle_trans with (2 := proj1 S)|apply Rle_trans with (1 := proj2 S)]; apply bpow_le; lia. }
  refine (relative_encloses _ b (dyadic_R (Dyadic 1131529406376837 (-102))) _ (1 + 10001/10000) (/ sqrt v) Sb _ _ _ _ _ Eb).
  + unit_const.
  + lra.
  + unfold dyadic_R. simpl. lra.
  + right. apply Rle_trans with (2 := Lb). apply bpow_le. lia.
  + apply Rle_trans with (1 := Ub). apply bpow_le. lia.
Qed.
