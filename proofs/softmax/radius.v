(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The double tier of softmax attention, steps 2 and 3 of src/softmax/enclose.c: relative errors of
   weights, sums by any tree, the division, underflow. *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.quotient.
Open Scope R_scope.
Notation pow2 := (bpow radix2).

(* From the cross product to the quotient and its rounding. A is at most a; r is what does not scale. *)
Lemma close_quotient W x A x' num den rho gO gW u r : 0 < W -> 0 <= A -> 0 <= r ->
  0 <= rho <= pow2 (-16) -> 0 <= gO <= pow2 (-16) -> 0 <= gW <= pow2 (-16) -> 0 <= u <= pow2 (-16) ->
  Rabs (num - x * den) <= W * (rho * (A + Rabs x) + gO * (1 + rho) * A + gW * (1 + rho) * Rabs x) + W * r ->
  W * (1 - pow2 (-13)) <= den -> forall eta, 0 <= eta -> Rabs (x' - num / den) <= u * Rabs (num / den) + eta ->
  Rabs (x' - x) <= (1 + pow2 (-9)) * (rho * (A + Rabs x') + gO * A + (gW + u) * Rabs x') +
    (1 + pow2 (-9)) * (r + eta).
Proof.
intros HW HA Hr Hrho HgO HgW Hu H Hden eta Heta Hq. simpl bpow in *.
assert (Pden : 0 < den) by lra.
set (q := num / den) in *. set (X := Rabs x) in *.
assert (Px : 0 <= X) by apply Rabs_pos.
set (K := rho * (A + X) + gO * (1 + rho) * A + gW * (1 + rho) * X) in *.
assert (rho * A <= 1 / 65536 * A) by (apply Rmult_le_compat_r; lra).
assert (P1 : 0 <= rho * A) by (apply Rmult_le_pos; lra).
assert (P2 : 0 <= gO * A) by (apply Rmult_le_pos; lra).
assert (P3 : 0 <= rho * X) by (apply Rmult_le_pos; lra).
assert (P4 : 0 <= gW * X) by (apply Rmult_le_pos; lra).
assert (P5 : 0 <= u * X) by (apply Rmult_le_pos; lra).
assert (K1 : rho * (gO * A) <= 1 / 65536 * (gO * A)) by (apply Rmult_le_compat_r; lra).
assert (K2 : rho * (gW * X) <= 1 / 65536 * (gW * X)) by (apply Rmult_le_compat_r; lra).
assert (PK : 0 <= K).
{ unfold K. assert (0 <= rho * (gO * A)) by (apply Rmult_le_pos; lra).
  assert (0 <= rho * (gW * X)) by (apply Rmult_le_pos; lra). lra. }
assert (Eq : Rabs (q - x) <= (K + r) * (4097 / 4096)).
{ assert (E : (q - x) * den = num - x * den) by (unfold q; field; lra).
  assert (M : Rabs (q - x) * den <= W * (K + r)).
  { rewrite <- (Rabs_pos_eq den) by lra. rewrite <- Rabs_mult, E. lra. }
  assert (Wd : W <= den * (4097 / 4096)).
  { simpl in Hden. lra. }
  apply (Rmult_le_compat_r (K + r)) in Wd; [|lra].
  apply (Rmult_le_reg_r den); [exact Pden|]. lra. }
set (E := Rabs (x' - x)). set (X' := Rabs x').
assert (PX' : 0 <= X') by apply Rabs_pos.
assert (EX : X <= X' + E).
{ unfold X, X', E. replace x with (x' - (x' - x)) at 1 by ring. unfold Rminus at 1.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (Q : Rabs q <= X + Rabs (q - x)).
{ replace q with (x + (q - x)) at 1 by ring. apply Rabs_triang. }
assert (ET : E <= u * Rabs q + eta + Rabs (q - x)).
{ unfold E. replace (x' - x) with ((x' - q) + (q - x)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra. }
assert (uQ : u * Rabs q <= u * X + 1 / 65536 * Rabs (q - x)).
{ apply (Rmult_le_compat_l u) in Q; [|lra].
  assert (u * Rabs (q - x) <= 1 / 65536 * Rabs (q - x)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
  lra. }
assert (PE : 0 <= E) by apply Rabs_pos.
(* E in terms of X, then of X' *)
assert (S1 : E <= 2049 / 2048 * (rho * A + gO * A + (rho + gW + u) * X + r) + eta).
{ unfold K in Eq. lra. }
assert (S2 : (rho + gW + u) * X <= (rho + gW + u) * X' + 3 / 65536 * E).
{ apply (Rmult_le_compat_l (rho + gW + u)) in EX; [|lra].
  assert ((rho + gW + u) * E <= 3 / 65536 * E) by (apply Rmult_le_compat_r; lra). lra. }
assert (P6 : 0 <= (rho + gW + u) * X') by (apply Rmult_le_pos; lra).
unfold X' in *. lra.
Qed.

(* g(n) of the derivations. The C code computes n u (1 + 2^-20) in double, which is more. *)
Lemma gamma_up k u : 0 <= u -> INR k * u <= pow2 (-22) -> (1 + u) ^ k - 1 <= INR k * u * (1 + pow2 (-21)).
Proof.
intros Hu Hk. simpl bpow in *. eapply Rle_trans; [apply gamma; [exact Hu|lra]|].
set (z := INR k * u) in *. assert (0 <= z) by (apply Rmult_le_pos; [apply pos_INR|exact Hu]).
apply (Rmult_le_reg_r (1 - z)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
assert (z * z <= z * (1 / 4194304)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Notation rnd64 := (nearest (-1074) 53).
Notation u64 := (pow2 (-53)).

(* What the C code's radius adds up: softmax_radius(terms, a, x, softmax_tail(terms, V)) has the factor
   1 + 2^-8, 2^-96 and 2^-1000, but rounds (terms.v). *)
Definition radius (keys rho out_error sum_error a x V : R) : R :=
  (1 + pow2 (-9)) * (rho * (a + x) + out_error * a + (sum_error + u64) * x) +
  (keys * (3 * pow2 (-98)) * V + (keys + 2) * pow2 (-1001)).

Section Row.
Variables (n : nat) (w w' v : nat -> R) (V rho out_error sum_error a : R) (out total : tree).
Variables (kO kW : nat -> nat). (* roundings that a key meets in out and in the normaliser *)
Notation negligible j := (0 <= w j <= pow2 (-98) /\ 0 <= w' j <= pow2 (-98)).
Hypothesis w_pos : forall j, (j < n)%nat -> 0 <= w j.
(* weights are relative to a shift that one key's score set *)
Hypothesis W_large : 1 - pow2 (-10) <= sum n w.
(* a key matters, and its weight is relatively precise, or both its weights are negligible *)
Hypothesis weights : forall j, (j < n)%nat ->
  Rabs (w' j - w j) <= rho * w j \/ negligible j.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.
Hypothesis outs : sums_along out n w' v kO.
Hypothesis totals : sums_along total n w' (fun _ => 1) kW.
Hypothesis rho_small : 0 <= rho <= pow2 (-16).
(* The depths of the sums, as the C code counts them for keys that matter; others may have met more
   moves of the shift. *)
Definition counted (k : nat -> nat) (t : tree) (eps : R) :=
  0 <= eps <= pow2 (-22) /\ INR (S (depth t)) * u64 <= pow2 (-22) /\
  forall j, (j < n)%nat -> INR (S (k j)) * u64 <= pow2 (-22) /\
    (INR (S (k j)) * u64 * (1 + pow2 (-21)) <= eps \/ negligible j).
Hypothesis out_depth : counted kO out out_error.
Hypothesis sum_depth : counted kW total sum_error.
Hypothesis out_ops : INR (ops out) <= pow2 70.
Hypothesis sum_ops : INR (ops total) <= pow2 70.
Hypothesis few : INR n <= pow2 60.
Hypothesis a_large : sum n (fun j => w j * Rabs (v j)) / sum n w <= a.

Let num := fl rnd64 rnd64 out.
Let den := fl rnd64 rnd64 total.

Lemma tree_close t f F k eps : sums_along t n w' f k -> INR (ops t) <= pow2 70 -> counted k t eps ->
  (forall j, (j < n)%nat -> Rabs (f j) <= F) ->
  Rabs (fl rnd64 rnd64 t - sum n (fun j => w' j * f j)) <=
    eps * sum n (fun j => Rabs (w' j) * Rabs (f j)) + (pow2 (-20) * (INR n * (pow2 (-98) * F)) + pow2 (-1004)).
Proof.
intros H Ho [He [Hd Hk]] HF. assert (U : 0 <= u64) by apply bpow_ge_0.
assert (Z : forall x, Rabs (rnd64 x - x) <= u64 * Rabs x + underflow (-1074)).
{ intros x. apply (nearest_error (-1074) 53). lia. }
assert (T := summation_paths rnd64 rnd64 u64 u64 (underflow (-1074)) U U (bpow_ge_0 _ _) Z Z t n w' f k H).
clear Z. eapply Rle_trans; [exact T|]. rewrite <- Rplus_assoc. apply Rplus_le_compat.
- rewrite <- sum_scal, <- sum_const, <- sum_scal, <- sum_plus. apply sum_le. intros j Hj.
  destruct (Hk j Hj) as [K1 K2]. pose proof (HF j Hj) as Fj.
  pose proof (Rabs_pos (w' j)) as P1. pose proof (Rabs_pos (f j)) as P2.
  assert (P3 : 0 <= Rabs (w' j) * Rabs (f j)) by (apply Rmult_le_pos; assumption).
  assert (P4 : 0 <= pow2 (-20) * (pow2 (-98) * F)).
  { apply Rmult_le_pos; [apply bpow_ge_0|]. apply Rmult_le_pos; [apply bpow_ge_0|lra]. }
  assert (G := gamma_up (S (k j)) u64 U K1). rewrite <- tech_pow_Rmult in G.
  destruct K2 as [K2|[_ K2]].
  + apply Rle_trans with (eps * (Rabs (w' j) * Rabs (f j))); [|lra].
    apply Rmult_le_compat_r; [exact P3|]. eapply Rle_trans; [exact G|exact K2].
  + assert (B : Rabs (w' j) * Rabs (f j) <= pow2 (-98) * F).
    { apply Rmult_le_compat; try assumption. rewrite Rabs_pos_eq by apply K2. apply K2. }
    assert (0 <= eps * (Rabs (w' j) * Rabs (f j))) by (apply Rmult_le_pos; [apply He|exact P3]).
    apply Rle_trans with (pow2 (-20) * (pow2 (-98) * F)); [|lra].
    apply Rmult_le_compat; try assumption.
    * assert (1 <= (1 + u64) * (1 + u64) ^ k j); [|lra].
      rewrite tech_pow_Rmult. apply pow_R1_Rle. lra.
    * eapply Rle_trans; [exact G|]. simpl bpow in *.
      assert (0 <= INR (S (k j)) * / 9007199254740992) by (apply Rmult_le_pos; [apply pos_INR|lra]). lra.
- assert (G := gamma_up (S (depth t)) u64 U Hd). rewrite <- tech_pow_Rmult in G.
  set (q := (1 + u64) * (1 + u64) ^ depth t) in *.
  assert (q <= 2).
  { assert (0 <= INR (S (depth t)) * u64) by (apply Rmult_le_pos; [apply pos_INR|exact U]). simpl bpow in *. lra. }
  assert (q_pos : 0 <= q) by (unfold q; apply Rmult_le_pos; [lra|apply pow_le; lra]).
  assert (Pu : 0 <= underflow (-1074)) by apply bpow_ge_0.
  apply Rle_trans with (pow2 70 * underflow (-1074) * 2).
  + apply Rmult_le_compat; [|exact q_pos| |assumption].
    * apply Rmult_le_pos; [apply pos_INR|exact Pu].
    * apply Rmult_le_compat_r; assumption.
  + unfold underflow. change 2 with (pow2 1). rewrite <- !bpow_plus. apply bpow_le. lia.
Qed.

(** theorem: quotient_radius — sums of weights with relative error rho or negligible, by any trees, products fused or not, and their quotient in float64, are within the radius that softmax_radius in C computes, with room for its own roundings. used by: src/softmax/enclose.c *)
Theorem quotient_radius : Rabs (rnd64 (num / den) - mean n w v) <=
  radius (INR n) rho out_error sum_error a (Rabs (rnd64 (num / den))) V.
Proof.
assert (off : forall j, (j < n)%nat -> Rabs (w' j - w j) <= rho * w j + pow2 (-98)).
{ intros j Hj. pose proof (bpow_gt_0 radix2 (-98)). destruct (weights j Hj) as [H1|[H1 H2]]; [lra|].
  assert (0 <= rho * w j) by (apply Rmult_le_pos; [lra|apply w_pos, Hj]).
  apply Rabs_le. lra. }
assert (W_pos : 0 < sum n w) by (simpl bpow in W_large; lra).
set (x := mean n w v). set (W := sum n w) in *. set (A := sum n (fun j => w j * Rabs (v j)) / W) in *.
assert (HA : 0 <= A) by (apply A_pos; assumption).
assert (AV : A <= V) by (apply A_below_V; assumption).
assert (HO := tree_close out v V kO out_error outs out_ops out_depth values). fold num in HO.
assert (HS := tree_close total (fun _ => 1) 1 kW sum_error totals sum_ops sum_depth
  ltac:(intros; cbv beta; rewrite Rabs_R1; lra)). fold den in HS.
cbv beta in HS.
rewrite (sum_ext n (fun j => w' j * 1) w') in HS by (intros; ring).
rewrite (sum_ext n (fun j => Rabs (w' j) * Rabs 1) (fun j => Rabs (w' j))) in HS
  by (intros; rewrite Rabs_R1; ring).
assert (tau_pos : 0 <= pow2 (-98)) by apply bpow_ge_0.
assert (eta_pos : 0 <= pow2 (-1004)) by apply bpow_ge_0.
assert (gO : 0 <= out_error <= pow2 (-22)) by apply out_depth.
assert (gW : 0 <= sum_error <= pow2 (-22)) by apply sum_depth.
set (N := INR n) in *. assert (N_pos : 0 <= N) by apply pos_INR.
assert (Nt : N * pow2 (-98) <= pow2 (-38)).
{ change (-38)%Z with (60 + -98)%Z. rewrite bpow_plus. apply Rmult_le_compat_r; assumption. }
set (etaO := pow2 (-20) * (N * (pow2 (-98) * V)) + pow2 (-1004)) in *.
set (etaW := pow2 (-20) * (N * (pow2 (-98) * 1)) + pow2 (-1004)) in *.
assert (NP : 0 <= N * pow2 (-98)) by (apply Rmult_le_pos; assumption).
assert (V_pos : 0 <= V) by lra.
assert (NPV : 0 <= N * (pow2 (-98) * V)) by (rewrite <- Rmult_assoc; apply Rmult_le_pos; assumption).
assert (P20 : 0 <= pow2 (-20)) by apply bpow_ge_0.
assert (etaO_pos : 0 <= etaO).
{ apply Rplus_le_le_0_compat; [apply Rmult_le_pos; assumption|exact eta_pos]. }
assert (etaW_pos : 0 <= etaW).
{ apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [exact P20|rewrite Rmult_1_r; exact NP]|exact eta_pos]. }
assert (tiny : etaW <= pow2 (-37)).
{ assert (pow2 (-1004) <= pow2 (-38)) by (apply bpow_le; lia). unfold etaW. rewrite Rmult_1_r.
  generalize dependent (pow2 (-1004)). intros e; intros. change (pow2 (-37)) with (pow2 (1 + -38)).
  rewrite bpow_plus. change (pow2 1) with 2.
  assert (pow2 (-20) * (N * pow2 (-98)) <= 1 * (N * pow2 (-98))) by (apply Rmult_le_compat_r; [exact NP|simpl; lra]). lra. }
assert (C := cross n w w' v rho (pow2 (-98)) V w_pos W_pos ltac:(lra) tau_pos off values
  num den out_error sum_error etaO etaW (proj1 gO) (proj1 gW) etaW_pos HO HS).
fold W in C. fold x in C. fold A in C.
assert (L := weights_least n w w' rho (pow2 (-98)) off). fold W in L.
assert (Z := weights_size n w w' rho (pow2 (-98)) w_pos off). fold W in Z.
fold N in L, Z.
assert (den_large : W * (1 - pow2 (-13)) <= den).
{ apply Rabs_range in HS. apply (Rmult_le_compat_l sum_error) in Z; [|apply gW].
  assert (sum_error * ((1 + rho) * W + N * pow2 (-98)) <= pow2 (-22) * ((1 + rho) * W + N * pow2 (-98))).
  { apply Rmult_le_compat_r; [|lra].
    assert (0 <= (1 + rho) * W) by (apply Rmult_le_pos; lra).
    assert (0 <= N * pow2 (-98)) by (apply Rmult_le_pos; assumption). lra. }
  assert (rho * W <= pow2 (-16) * W) by (apply Rmult_le_compat_r; lra).
  clearbody etaW. clear C HO etaO_pos. simpl bpow in *. lra. }
assert (q_off : Rabs (rnd64 (num / den) - num / den) <= u64 * Rabs (num / den) + pow2 (-1075)).
{ apply (nearest_error (-1074) 53). lia. }
set (r := rest n (pow2 (-98)) V out_error sum_error etaO etaW) in *.
assert (NV : 0 <= N * V) by (apply Rmult_le_pos; lra).
(* what does not scale with A or x *)
assert (r_small : r <= N * (pow2 (-98) * V) * (2 + pow2 (-18)) + (V * pow2 (-1004) + pow2 (-1004))).
{ unfold r, rest, etaO, etaW. fold N. set (z := N * (pow2 (-98) * V)) in *.
  replace (V * (sum_error * (N * pow2 (-98)) + (pow2 (-20) * (N * (pow2 (-98) * 1)) + pow2 (-1004))))
    with (sum_error * z + pow2 (-20) * z + V * pow2 (-1004)) by (unfold z; ring).
  replace (N * (pow2 (-98) * (2 * V))) with (2 * z) by (unfold z; ring).
  assert (Z1 : out_error * z <= pow2 (-22) * z) by (apply Rmult_le_compat_r; lra).
  assert (Z2 : sum_error * z <= pow2 (-22) * z) by (apply Rmult_le_compat_r; lra).
  revert Z1 Z2 NPV. clearbody z. clear. generalize (pow2 (-1004)). intros. simpl bpow in *. lra. }
assert (r_pos : 0 <= r).
{ unfold r, rest. fold N. clearbody etaO etaW. repeat apply Rplus_le_le_0_compat; try assumption.
  - replace (N * (pow2 (-98) * (2 * V))) with (2 * (N * (pow2 (-98) * V))) by ring. lra.
  - apply Rmult_le_pos; [apply gO|assumption].
  - apply Rmult_le_pos; [exact V_pos|]. apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [apply gW|assumption]|assumption]. }
set (rr := r / W).
assert (Wr : W * rr = r) by (unfold rr; field; lra).
assert (rr_pos : 0 <= rr) by (apply Rmult_le_pos; [exact r_pos|left; apply Rinv_0_lt_compat, W_pos]).
assert (rr_small : rr <= r * (1 + pow2 (-9))).
{ apply (Rmult_le_reg_l W); [exact W_pos|]. rewrite Wr.
  assert (1 <= W * (1 + pow2 (-9))) by (simpl bpow in *; lra).
  apply (Rmult_le_compat_l r) in H; [|exact r_pos]. lra. }
rewrite <- Wr in C.
assert (small22 : pow2 (-22) <= pow2 (-16)) by (apply bpow_le; lia).
assert (small53 : u64 <= pow2 (-16)) by (apply bpow_le; lia).
assert (F := close_quotient W x A (rnd64 (num / den)) num den rho out_error sum_error u64 rr W_pos HA
  rr_pos rho_small ltac:(lra) ltac:(lra) (conj (bpow_ge_0 _ _) small53) C den_large (pow2 (-1075))
  (bpow_ge_0 _ _) q_off).
eapply Rle_trans; [exact F|]. unfold radius. set (X := Rabs (rnd64 (num / den))).
assert (N1 : 1 <= N).
{ unfold N. change 1 with (INR 1). apply le_INR.
  assert (n <> 0%nat); [|lia]. intros E. unfold W in W_pos. rewrite E in W_pos. simpl in W_pos. lra. }
apply Rplus_le_compat.
- apply Rmult_le_compat_l; [assert (B := bpow_ge_0 radix2 (-9)); lra|].
  assert (rho * (A + X) <= rho * (a + X)) by (apply Rmult_le_compat_l; lra).
  assert (out_error * A <= out_error * a) by (apply Rmult_le_compat_l; lra). lra.
- assert (E75 : pow2 (-1075) <= pow2 (-1004)) by (apply bpow_le; lia).
  assert (E04 : 8 * pow2 (-1004) = pow2 (-1001)).
  { change 8 with (pow2 3). rewrite <- bpow_plus. reflexivity. }
  assert (EV : V * pow2 (-1004) <= pow2 (-30) * (N * (pow2 (-98) * V))).
  { replace (pow2 (-30) * (N * (pow2 (-98) * V))) with (V * (N * (pow2 (-30) * pow2 (-98)))) by ring.
    apply Rmult_le_compat_l; [exact V_pos|]. rewrite <- bpow_plus.
    apply Rle_trans with (1 * pow2 (-30 + -98)); [rewrite Rmult_1_l; apply bpow_le; lia|].
    apply Rmult_le_compat_r; [apply bpow_ge_0|exact N1]. }
  rewrite <- E04.
  assert (N * (8 * pow2 (-1004)) >= 0) by (apply Rle_ge, Rmult_le_pos; lra).
  generalize dependent (pow2 (-1004)). intros e; intros. generalize dependent (pow2 (-1075)). intros.
  replace (N * (3 * pow2 (-98)) * V) with (3 * (N * (pow2 (-98) * V))) by ring.
  generalize dependent (N * (pow2 (-98) * V)). intros z; intros. simpl bpow in *. lra.
Qed.
End Row.
