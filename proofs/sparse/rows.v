(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Rows of the double tier of the sparse kernels whose weights are powers 1, 2 and 3 of arguments that no
   threshold moves: weights, their sum from below, the mean. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.weight softmax.terms
  sparse.power sparse.mean sparse.deviation.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

(* ---- powers by products ---- *)

(* r where it is 1, 2 or 3: the power of z and its relative error, as bounded_power has them *)
Definition whole (r : nat) (z : R) : R := match r with
| 1%nat => z | 2%nat => rnd64 (z * z) | _ => rnd64 (rnd64 (z * z) * z) end.
Definition whole_error (r : nat) : R := match r with 1%nat => 0 | 2%nat => 2 * u64 | _ => 3 * u64 end.

Lemma ppow_whole r z : 0 < z -> ppow (INR r) z = z ^ r.
Proof. intros H. rewrite ppow_pos by exact H. apply Rpower_pow, H. Qed.

(* One product of positive numbers: relative error u, and what underflows. *)
Lemma product_near a b : 0 <= a -> 0 <= b -> a * b * (1 - u64) - eta <= rnd64 (a * b) <= a * b * (1 + u64) + eta.
Proof.
intros A B. assert (P : 0 <= a * b) by (apply Rmult_le_pos; assumption).
assert (R := rounded (a * b)). rewrite (Rabs_pos_eq _ P) in R. apply Rabs_le_inv in R. lra.
Qed.

Lemma product_normal a b k : 0 <= a -> 0 <= b -> (-1022 <= k)%Z -> pow2 k <= a * b ->
  a * b * (1 - u64) <= rnd64 (a * b) <= a * b * (1 + u64) /\ pow2 k <= rnd64 (a * b).
Proof.
intros A B K L. assert (P : 0 <= a * b) by (apply Rmult_le_pos; assumption).
assert (R := normal_close (a * b)). rewrite (Rabs_pos_eq _ P) in R.
assert (Q : pow2 (-1022) <= a * b) by (apply Rle_trans with (2 := L), bpow_le, K).
specialize (R Q). apply Rabs_le_inv in R. split; [lra|].
apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_bpow; lia|exact L].
Qed.

Lemma whole_powered r z : (1 <= r <= 3)%nat -> format64 z -> 0 < z -> powered (INR r) z (whole r z) (whole_error r).
Proof.
intros Hr Fz Pz. assert (U := u64_size). assert (T := tiny_small). assert (N := eta_size).
assert (F0 := format_0).
assert (Fc : format64 (2 * u64) /\ format64 (3 * u64)).
{ split.
  - change 2 with (pow2 1). rewrite <- bpow_plus. apply format_bpow. lia.
  - apply (generic_format_FLT radix2 (-1074) 53). exists (Defs.Float radix2 3 (-53)); [unfold F2R; simpl; lra|simpl; lia|simpl; lia]. }
assert (E10 : eta * 16777216 <= pow2 (-1010)).
{ apply Rle_trans with (eta * pow2 24); [right; reflexivity|].
  rewrite <- bpow_plus. apply bpow_le. lia. }
assert (UU : 0 <= u64 * u64 <= / 1000000000 * u64).
{ split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]. }
assert (Pzz : 0 <= z * z) by (apply Rmult_le_pos; lra).
assert (big : forall k, (-1020 <= k)%Z -> pow2 (-1020) <= pow2 k) by (intros; apply bpow_le; lia).
unfold powered. rewrite ppow_whole by exact Pz.
destruct r as [|[|[|[|r]]]]; try lia; cbn [whole whole_error pow]; rewrite ?Rmult_1_r.
- split; [exact Fz|]. split; [exact F0|]. split; [lra|]. split; [left; lra|].
  split; [split; lra|]. intros L. split; [|lra]. right. apply Rle_trans with (2 := L), big. lia.
- assert (S := product_near z z (Rlt_le _ _ Pz) (Rlt_le _ _ Pz)). set (p := rnd64 (z * z)) in *.
  split; [apply rnd_format|]. split; [apply Fc|]. split; [apply rnd_pos, Pzz|]. split; [left; lra|].
  assert (Q1 : 0 <= u64 * (z * z)) by (apply Rmult_le_pos; lra).
  assert (Q2 : 0 <= (u64 * u64) * (z * z) <= / 1000000000 * u64 * (z * z)).
  { split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_r; lra. }
  split.
  + assert ((1 + 2 * u64) * (z * z * (1 - u64) - eta) <= (1 + 2 * u64) * p) by (apply Rmult_le_compat_l; lra).
    assert ((1 - 2 * u64) * p <= (1 - 2 * u64) * (z * z * (1 + u64) + eta)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= eta * u64 <= eta * 1) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra). split; lra.
  + intros L. assert (L2 : pow2 (-600) <= z * z).
    { change (-600)%Z with (-300 + -300)%Z. rewrite bpow_plus. apply Rmult_le_compat; try apply bpow_ge_0; assumption. }
    destruct (product_normal z z (-600) (Rlt_le _ _ Pz) (Rlt_le _ _ Pz) ltac:(lia) L2) as [S1 S2]. fold p in S1, S2.
    split; [right; apply Rle_trans with (2 := S2), big; lia|].
    apply Rle_trans with ((1 - 2 * u64) * (z * z * (1 + u64))); [apply Rmult_le_compat_l; lra|]. lra.
- replace (z * (z * z)) with (z * z * z) by ring.
  assert (S := product_near z z (Rlt_le _ _ Pz) (Rlt_le _ _ Pz)). set (s := rnd64 (z * z)) in *.
  assert (Ps : 0 <= s) by (apply rnd_pos, Pzz).
  assert (S3 := product_near s z Ps (Rlt_le _ _ Pz)). set (p := rnd64 (s * z)) in *.
  assert (Psz : 0 <= s * z) by (apply Rmult_le_pos; lra).
  split; [apply rnd_format|]. split; [apply Fc|]. split; [apply rnd_pos, Psz|]. split; [left; lra|].
  set (q := z * z * z) in *. assert (Pq : 0 <= q) by (apply Rmult_le_pos; lra).
  assert (Q1 : 0 <= u64 * q) by (apply Rmult_le_pos; lra).
  assert (Q2 : 0 <= (u64 * u64) * q <= / 1000000000 * u64 * q).
  { split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_r; lra. }
  assert (Q3 : 0 <= u64 * (u64 * u64 * q) <= / 1000000000 * (u64 * u64 * q)).
  { split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_r; lra. }
  split.
  + (* no underflow of z^2 where it is multiplied by more than 1 *)
    assert (H3 : q * (1 - u64) - eta <= s * z <= q * (1 + u64) + eta).
    { destruct (Rle_lt_dec z 1) as [Z|Z].
      - assert ((z * z * (1 - u64) - eta) * z <= s * z) by (apply Rmult_le_compat_r; lra).
        assert (s * z <= (z * z * (1 + u64) + eta) * z) by (apply Rmult_le_compat_r; lra).
        assert (eta * z <= eta * 1) by (apply Rmult_le_compat_l; lra). unfold q. lra.
      - assert (Z2 : pow2 0 <= z * z) by (replace (pow2 0) with (1 * 1) by (simpl; ring); apply Rmult_le_compat; lra).
        destruct (product_normal z z 0 (Rlt_le _ _ Pz) (Rlt_le _ _ Pz) ltac:(lia) Z2) as [[Y1 Y2] _]. fold s in Y1, Y2.
        assert (z * z * (1 - u64) * z <= s * z) by (apply Rmult_le_compat_r; lra).
        assert (s * z <= z * z * (1 + u64) * z) by (apply Rmult_le_compat_r; lra). unfold q. lra. }
    assert (H4 : (q * (1 - u64) - eta) * (1 - u64) <= s * z * (1 - u64)) by (apply Rmult_le_compat_r; lra).
    assert (H7 : s * z * (1 + u64) <= (q * (1 + u64) + eta) * (1 + u64)) by (apply Rmult_le_compat_r; lra).
    assert (H5 : (1 + 3 * u64) * ((q * (1 - u64) - eta) * (1 - u64) - eta) <= (1 + 3 * u64) * p) by (apply Rmult_le_compat_l; lra).
    assert (H8 : (1 - 3 * u64) * p <= (1 - 3 * u64) * ((q * (1 + u64) + eta) * (1 + u64) + eta)) by (apply Rmult_le_compat_l; lra).
    assert (E0 : 0 <= eta * u64 <= eta * 1) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra).
    assert (E1 : 0 <= eta * u64 * u64 <= eta * 1 * 1) by (split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra).
    split; lra.
  + intros L. assert (L2 : pow2 (-600) <= z * z).
    { change (-600)%Z with (-300 + -300)%Z. rewrite bpow_plus. apply Rmult_le_compat; try apply bpow_ge_0; assumption. }
    destruct (product_normal z z (-600) (Rlt_le _ _ Pz) (Rlt_le _ _ Pz) ltac:(lia) L2) as [S1 S2]. fold s in S1, S2.
    assert (L3 : pow2 (-900) <= s * z).
    { change (-900)%Z with (-600 + -300)%Z. rewrite bpow_plus. apply Rmult_le_compat; try apply bpow_ge_0; assumption. }
    destruct (product_normal s z (-900) Ps (Rlt_le _ _ Pz) ltac:(lia) L3) as [P1 P2]. fold p in P1, P2.
    split; [right; apply Rle_trans with (2 := P2), big; lia|].
    assert (H1 : s * z <= q * (1 + u64)).
    { unfold q. apply Rle_trans with (z * z * (1 + u64) * z); [apply Rmult_le_compat_r; lra|lra]. }
    assert (H2 : s * z * (1 + u64) <= q * (1 + u64) * (1 + u64)) by (apply Rmult_le_compat_r; lra).
    apply Rle_trans with ((1 - 3 * u64) * (q * (1 + u64) * (1 + u64))); [apply Rmult_le_compat_l; lra|]. lra.
Qed.

(* ---- the sum of the least weights ---- *)

Definition least_c (n : nat) (total : R) : R := rnd64 (total * rnd64 (1 - rnd64 (rnd64 (INR n + 4) * u64))).

Lemma least_enough n b t : added t n n b -> (forall j, (j < n)%nat -> b j = 0 \/ pow2 (-1022) <= b j) ->
  INR n * u64 <= pow2 (-22) -> least_c n (fl rnd64 rnd64 t) <= sum n b.
Proof.
intros [Z [P [S D]]] B F. assert (U := u64_size). change (pow2 (-22)) with (/ 4194304) in F.
assert (Bp : forall j, (j < n)%nat -> 0 <= b j).
{ intros j Hj. destruct (B j Hj) as [->|L]; [lra|apply Rle_trans with (2 := L), bpow_ge_0]. }
assert (H := plain_sum _ _ _ P S). rewrite (sum_ext n (fun j => Rabs (b j)) b) in H by (intros; apply Rabs_pos_eq, Bp; assumption).
set (T := sum n b) in *. assert (PT : 0 <= T) by (apply sum_nonneg, Bp).
assert (N0 : 0 <= INR n) by apply pos_INR. set (v := INR n * u64) in *.
assert (Pv : 0 <= v) by (apply Rmult_le_pos; lra).
assert (Q : (1 + u64) ^ depth t <= (1 + u64) ^ n) by (apply Rle_pow; [lra|exact D]).
assert (G : ((1 + u64) ^ n) * (1 - v) <= 1).
{ assert (G := gamma u64 (proj1 U) n ltac:(fold v; lra)). fold v in G.
  apply (Rmult_le_compat_r (1 - v)) in G; [|lra]. unfold Rdiv in G. rewrite (Rmult_assoc v), Rinv_l in G by lra. lra. }
set (l := fl rnd64 rnd64 t) in *.
assert (Pl : 0 <= l) by (apply (fl_sum_pos _ _ _ _ Z S); intros j Hj; specialize (Bp j Hj); lra).
assert (Hl : l <= (1 + u64) ^ n * T).
{ apply Rabs_le_inv in H. assert ((1 + u64) ^ depth t * T <= (1 + u64) ^ n * T) by (apply Rmult_le_compat_r; lra). lra. }
unfold least_c.
assert (C : rnd64 (1 - rnd64 (rnd64 (INR n + 4) * u64)) <= (1 - v - 39/10 * u64) * (1 + u64) /\ 0 <= rnd64 (1 - rnd64 (rnd64 (INR n + 4) * u64))).
{ assert (E : eta <= / 1000000000 * u64).
  { apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
  assert (R1 := rounded (INR n + 4)). rewrite (Rabs_pos_eq (INR n + 4)) in R1 by lra. apply Rabs_le_inv in R1.
  set (a := rnd64 (INR n + 4)) in *.
  assert (A : (INR n + 4) * (1 - u64) - eta <= a <= (INR n + 4) * (1 + u64) + eta) by lra.
  assert (U0 : u64 * (INR n + 4) = v + 4 * u64) by (unfold v; ring).
  assert (Pa : 0 <= a * u64) by (apply Rmult_le_pos; lra).
  assert (R2 := rounded (a * u64)). rewrite (Rabs_pos_eq _ Pa) in R2. apply Rabs_le_inv in R2. set (c := rnd64 (a * u64)) in *.
  assert (A2 : (v + 4 * u64) * (1 - u64) - eta * u64 <= a * u64 <= (v + 4 * u64) * (1 + u64) + eta * u64).
  { rewrite <- U0. split.
    - apply Rle_trans with (((INR n + 4) * (1 - u64) - eta) * u64); [right; ring|apply Rmult_le_compat_r; lra].
    - apply Rle_trans with (((INR n + 4) * (1 + u64) + eta) * u64); [apply Rmult_le_compat_r; lra|right; ring]. }
  assert (V1 : 0 <= v * u64 <= / 4194304 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (V2 : 0 <= u64 * u64 <= / 1000000000 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (V3 : 0 <= eta * u64 <= eta * 1) by (split; [apply Rmult_le_pos; [apply bpow_ge_0|lra]|apply Rmult_le_compat_l; [apply bpow_ge_0|lra]]).
  assert (N := bpow_ge_0 radix2 (-1075)).
  assert (A3 : u64 * (a * u64) <= u64 * (/ 1000000)) by (apply Rmult_le_compat_l; lra).
  assert (C0 : v + 39/10 * u64 <= c <= / 2) by lra.
  assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
  assert (M := minus_close 1 c F1 (rnd_format _)). rewrite (Rabs_pos_eq (1 - c)) in M by lra. apply Rabs_le_inv in M.
  assert (0 <= u64 * (1 - c)) by (apply Rmult_le_pos; lra).
  assert (u64 * (1 - c) <= u64 * (1 - v - 39/10 * u64)) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (1 - c) <= / 2 * (1 - c)) by (apply Rmult_le_compat_r; lra). split; lra. }
destruct C as [C1 C2]. set (c := rnd64 (1 - rnd64 (rnd64 (INR n + 4) * u64))) in *.
destruct (Req_dec T 0) as [Z0|NZ].
{ assert (l = 0) by (rewrite Z0, Rmult_0_r in Hl; lra). rewrite H0, Rmult_0_l. unfold nearest. rewrite round_0 by apply valid_rnd_N. exact PT. }
assert (LT : pow2 (-1022) <= T).
{ assert (X : exists j, (j < n)%nat /\ b j <> 0).
  { apply Classical_Prop.NNPP. intros X. apply NZ. apply sum_zero. intros j Hj. apply Classical_Prop.NNPP. intros Y. apply X. exists j. tauto. }
  destruct X as [j [Hj Nj]]. destruct (B j Hj) as [Zj|Lj]; [contradiction|].
  apply Rle_trans with (1 := Lj). apply (sum_ge_term n b j); [exact Bp|exact Hj]. }
assert (Et : eta <= u64 * T).
{ apply Rle_trans with (u64 * pow2 (-1022)); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_l; lra. }
assert (NR := proj2 (product_near l c Pl C2)).
assert (W1 : l * c <= (1 + u64) ^ n * T * ((1 - v - 39/10 * u64) * (1 + u64))) by (apply Rmult_le_compat; assumption).
set (g := (1 + u64) ^ n) in *.
assert (Pg : 1 <= g) by (apply pow_R1_Rle; lra).
assert (W2 : g * (1 - v - 39/10 * u64) <= 1 - 39/10 * u64).
{ assert (u64 * 1 <= u64 * g) by (apply Rmult_le_compat_l; lra). lra. }
assert (W3 : l * c <= (1 - 39/10 * u64) * (1 + u64) * T).
{ apply Rle_trans with (1 := W1). replace (g * T * ((1 - v - 39/10 * u64) * (1 + u64))) with (g * (1 - v - 39/10 * u64) * ((1 + u64) * T)) by ring.
  rewrite (Rmult_assoc (1 - 39/10 * u64)). apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact W2]. }
assert (W4 : l * c * (1 + u64) <= (1 - 39/10 * u64) * (1 + u64) * T * (1 + u64)) by (apply Rmult_le_compat_r; lra).
assert (0 <= u64 * T) by (apply Rmult_le_pos; lra).
assert (0 <= u64 * (u64 * T)) by (apply Rmult_le_pos; lra).
assert (u64 * (u64 * T) <= / 1000000000 * (u64 * T)) by (apply Rmult_le_compat_r; lra).
assert (0 <= u64 * (u64 * (u64 * T))) by (apply Rmult_le_pos; lra).
lra.
Qed.
