(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The radius of the double tier of softmax attention the way src/softmax/enclose.c evaluates it: all
   sums and products of softmax_terms_of_row, softmax_terms_finish and softmax_radius round to nearest
   in double, and what comes out is still enough. At the end the theorem from queries and keys to the
   output. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Binary.
From Attest Require Import problem.row enclosure.float_ops enclosure.exp_isa enclosure.log_isa enclosure.log_float
  enclosure.summation softmax.pass_constants softmax.quotient softmax.radius softmax.weight softmax.score softmax.softcap
  softmax.tier softmax.lse.
Import ListNotations.
Open Scope R_scope.
Notation rnd64 := (nearest (-1074) 53).
Notation u64 := (pow2 (-53)).
Notation eta := (pow2 (-1075)).

Lemma u64_size : 0 <= u64 <= / 1000000000. Proof. simpl. lra. Qed.
Lemma eta_size : 0 <= eta <= pow2 (-1000). Proof. split; [apply bpow_ge_0|apply bpow_le; lia]. Qed.

Lemma rnd_pos z : 0 <= z -> 0 <= rnd64 z.
Proof.
intros H. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|exact H].
Qed.

(* ---- sums and products of numbers that are not negative, from below ---- *)

(* y is computed for x: at least x (1 - k u) - e. *)
Definition low (y x k e : R) := 0 <= x /\ 0 <= y /\ 0 <= k <= 100 /\ 0 <= e /\ x * (1 - k * u64) - e <= y.

Lemma low_given y x : 0 <= x <= y -> low y x 0 0.
Proof. intros H. unfold low. lra. Qed.

Lemma low_rnd y x k e K : low y x k e -> k + 1 <= K <= 100 -> low (rnd64 y) x K (e + eta).
Proof.
intros [P [Q [K0 [E H]]]] K'. assert (U := u64_size). assert (N := eta_size). repeat split; try lra.
- apply rnd_pos, Q.
- pose proof (rounded y) as R. rewrite (Rabs_pos_eq y) in R by exact Q. apply Rabs_le_inv in R.
  assert (A : y * (1 - u64) >= (x * (1 - k * u64) - e) * (1 - u64)) by (apply Rmult_ge_compat_r; lra).
  assert (0 <= x * (k * u64 * u64)) by (apply Rmult_le_pos; [exact P|apply Rmult_le_pos; [apply Rmult_le_pos|]; lra]).
  assert (0 <= e * u64) by (apply Rmult_le_pos; lra).
  assert (x * ((k + 1) * u64) <= x * (K * u64)) by (apply Rmult_le_compat_l; [exact P|apply Rmult_le_compat_r; lra]). lra.
Qed.

Lemma low_weak y x k e k' e' : low y x k e -> k <= k' <= 100 -> e <= e' -> low y x k' e'.
Proof.
intros [P [Q [K [E H]]]] K' E'. repeat split; try lra.
assert (x * (k * u64) <= x * (k' * u64)) by (apply Rmult_le_compat_l; [exact P|apply Rmult_le_compat_r; [apply bpow_ge_0|lra]]).
lra.
Qed.

(* a rounded sum, a rounded product with a given factor *)
Lemma low_sum y x k e y' x' k' e' K : low y x k e -> low y' x' k' e' -> k + 1 <= K <= 100 -> k' + 1 <= K ->
  low (rnd64 (y + y')) (x + x') K (e + e' + eta).
Proof.
intros H H' B B'. apply (low_rnd _ _ (K - 1)); [|lra].
apply (low_weak _ _ _ _ (K - 1) e) in H; [|lra|lra]. apply (low_weak _ _ _ _ (K - 1) e') in H'; [|lra|lra].
destruct H as [P [Q [_ [E H]]]]. destruct H' as [P' [Q' [K' [E' H']]]]. repeat split; lra.
Qed.

Lemma low_prod c b y x k e K : low y x k e -> 0 <= c <= b -> k + 1 <= K <= 100 -> low (rnd64 (c * y)) (c * x) K (e * b + eta).
Proof.
intros [P [Q [K0 [E H]]]] C B. apply (low_rnd _ _ k); [|lra].
repeat split; try lra; try (apply Rmult_le_pos; lra).
apply (Rmult_le_compat_l c) in H; [|lra]. assert (e * c <= e * b) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* After at most 50 roundings in a row: *)
Lemma low_end y x k e : low y x k e -> x * (1 - pow2 (-46)) - e <= y.
Proof.
intros [P [Q [K [E H]]]]. assert (k * u64 <= pow2 (-46)).
{ replace (pow2 (-46)) with (128 * u64) by (change 128 with (pow2 7); rewrite <- bpow_plus; reflexivity).
  apply Rmult_le_compat_r; [apply bpow_ge_0|lra]. }
assert (x * (k * u64) <= x * pow2 (-46)) by (apply Rmult_le_compat_l; assumption). lra.
Qed.

(* ---- softmax_radius and softmax_tail ---- *)

Definition tail_c (keys V : R) : R :=
  rnd64 (rnd64 (rnd64 (keys * pow2 (-96)) * V) + rnd64 (rnd64 (keys + 2) * pow2 (-1000))).
Definition radius_c (rho out_error sum_error a x tail : R) : R :=
  rnd64 (rnd64 ((1 + pow2 (-8)) *
    rnd64 (rnd64 (rnd64 (rho * rnd64 (a + x)) + rnd64 (out_error * a)) + rnd64 (rnd64 (sum_error + u64) * x))) + tail).

Ltac nonneg := repeat first [lra | apply rnd_pos | apply Rplus_le_le_0_compat | apply Rmult_le_pos | apply bpow_ge_0].

Lemma low_one x : 0 <= x -> low (rnd64 x) x 1 eta.
Proof.
intros H. apply (low_weak _ _ 1 (0 + eta)); [|lra|lra]. apply (low_rnd x x 0 0 1); [apply low_given|]; lra.
Qed.

Lemma radius_enough keys rho oe se a x V : 1 <= keys -> 0 <= rho <= 1 -> 0 <= oe <= 1 -> 0 <= se <= 1 / 2 ->
  0 <= a -> 0 <= x -> 0 <= V ->
  radius keys rho oe se a x V <= radius_c rho oe se a x (tail_c keys V).
Proof.
intros Hk Hr Ho Hs Ha Hx HV. assert (U := u64_size). assert (N := eta_size).
unfold radius_c, tail_c. set (c8 := 1 + pow2 (-8)). assert (C8 : 0 <= c8 <= 2) by (unfold c8; simpl; lra).
assert (T1 : low (rnd64 (keys * pow2 (-96))) (keys * (7 * pow2 (-99))) 0 0).
{ apply low_given. split; [nonneg|].
  assert (Z : 0 <= keys * pow2 (-96)) by nonneg.
  pose proof (rounded (keys * pow2 (-96))) as R. rewrite (Rabs_pos_eq _ Z) in R. apply Rabs_le_inv in R.
  assert (E : pow2 (-96) = 8 * pow2 (-99)) by (change 8 with (pow2 3); rewrite <- bpow_plus; reflexivity).
  assert (B : eta <= pow2 (-150)) by (apply bpow_le; lia).
  assert (B' : pow2 (-150) = pow2 (-51) * pow2 (-99)) by (rewrite <- bpow_plus; reflexivity).
  assert (P : 0 < pow2 (-99)) by apply bpow_gt_0. rewrite E in *. rewrite B' in B.
  assert (1 * pow2 (-99) <= keys * pow2 (-99)) by (apply Rmult_le_compat_r; lra).
  assert (u64 * (keys * (8 * pow2 (-99))) <= / 1000000000 * (keys * (8 * pow2 (-99)))).
  { apply Rmult_le_compat_r; lra. }
  assert (pow2 (-51) * pow2 (-99) <= / 1000000 * pow2 (-99)) by (apply Rmult_le_compat_r; [lra|simpl; lra]). lra. }
assert (T2 : low (rnd64 (rnd64 (keys * pow2 (-96)) * V)) (keys * (7 * pow2 (-99)) * V) 1 eta).
{ rewrite (Rmult_comm _ V), (Rmult_comm _ V).
  eapply low_weak; [apply (low_prod V V _ _ _ _ 1 T1); lra|lra|lra]. }
assert (T4 : low (rnd64 (rnd64 (keys + 2) * pow2 (-1000))) ((keys + 2) * pow2 (-1000)) 2 (2 * eta)).
{ rewrite !(Rmult_comm _ (pow2 (-1000))).
  assert (B : 0 <= pow2 (-1000) <= 1) by (split; [apply bpow_ge_0|apply (bpow_le radix2 (-1000) 0); lia]).
  apply (low_weak _ _ 2 (eta * 1 + eta)); [|lra|lra]. apply (low_prod _ 1 _ _ 1 eta 2 (low_one (keys + 2) ltac:(lra))); lra. }
assert (T := low_sum _ _ _ _ _ _ _ _ 3 T2 T4 ltac:(lra) ltac:(lra)). clear T1 T2 T4.
assert (S2 : low (rnd64 (rho * rnd64 (a + x))) (rho * (a + x)) 2 (2 * eta)).
{ apply (low_weak _ _ 2 (eta * 1 + eta)); [|lra|lra]. apply (low_prod _ 1 _ _ 1 eta 2 (low_one (a + x) ltac:(lra))); lra. }
assert (S3 : low (rnd64 (oe * a)) (oe * a) 1 eta).
{ apply low_one. nonneg. }
assert (S5 : low (rnd64 (se + u64)) (se + u64) 2 0).
{ assert (H : low (rnd64 (se + u64)) (se + u64) 1 (0 + eta)) by (apply (low_weak _ _ 1 eta); [apply low_one; lra|lra|lra]).
  destruct H as [P [Q [K [E H]]]]. repeat split; try lra.
  assert (eta <= u64 * u64). { rewrite <- bpow_plus. apply bpow_le. lia. }
  assert (0 <= se * u64) by nonneg. lra. }
assert (S6 : low (rnd64 (rnd64 (se + u64) * x)) ((se + u64) * x) 3 eta).
{ rewrite !(Rmult_comm _ x). apply (low_weak _ _ 3 (0 * x + eta)); [|lra|lra]. apply (low_prod x x _ _ 2 0 3 S5); lra. }
assert (S7 := low_sum _ _ _ _ _ _ _ _ 4 (low_sum _ _ _ _ _ _ _ _ 3 S2 S3 ltac:(lra) ltac:(lra)) S6 ltac:(lra) ltac:(lra)).
assert (S8 := low_prod c8 2 _ _ _ _ 5 S7 C8 ltac:(lra)).
assert (S := low_end _ _ _ _ (low_sum _ _ _ _ _ _ _ _ 6 S8 T ltac:(lra) ltac:(lra))).
clear S2 S3 S5 S6 S7 S8 T. eapply Rle_trans; [|exact S]. unfold radius.
set (b := rho * (a + x) + oe * a + (se + u64) * x) in *.
assert (Pb : 0 <= b) by (unfold b; nonneg).
assert (PV : 0 <= keys * pow2 (-99) * V) by nonneg.
assert (E98 : pow2 (-98) = 2 * pow2 (-99)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (EK : pow2 (-1000) = 2 * pow2 (-1001)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (EN : eta <= pow2 (-60) * pow2 (-1001)) by (rewrite <- bpow_plus; apply bpow_le; lia).
assert (PE : 0 < pow2 (-1001)) by apply bpow_gt_0.
assert (1 * pow2 (-1001) <= keys * pow2 (-1001)) by (apply Rmult_le_compat_r; lra).
assert (pow2 (-60) * pow2 (-1001) <= / 1000000 * pow2 (-1001)) by (apply Rmult_le_compat_r; [lra|simpl; lra]).
rewrite E98, EK in *. replace (keys * (3 * (2 * pow2 (-99))) * V) with (6 * (keys * pow2 (-99) * V)) by ring.
replace (keys * (7 * pow2 (-99)) * V) with (7 * (keys * pow2 (-99) * V)) by ring.
revert PV Pb EN H H0. unfold c8. generalize (keys * pow2 (-99) * V) b eta. generalize dependent (pow2 (-1001)).
intros t Pt t1 t2 t3. intros. change (pow2 (-46)) with (/ 70368744177664). change (pow2 (-9)) with (/ 512).
change (pow2 (-8)) with (/ 256). lra.
Qed.

(* ---- the error of a score, rho, and the depths of sums: softmax_terms_of_row and softmax_terms_finish ---- *)

Lemma low_less y x x0 k e : low y x k e -> 0 <= x0 <= x -> low y x0 k e.
Proof.
intros [P [Q [K [E H]]]] L. repeat split; try lra. assert (U := u64_size).
assert (x0 * (1 - k * u64) <= x * (1 - k * u64)); [|lra]. apply Rmult_le_compat_r; [|lra].
assert (k * u64 <= 100 * u64) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* gamma_up(k) *)
Definition gamma_c (k : nat) : R := rnd64 (rnd64 (INR k * u64) * (1 + pow2 (-20))).

Lemma gamma_c_bounds k : (0 < k)%nat -> INR k * u64 * (1 + pow2 (-21)) <= gamma_c k <= INR k * u64 * (1 + pow2 (-19)).
Proof.
intros Hk. assert (U := u64_size). assert (K1 : 1 <= INR k) by (change 1 with (INR 1); apply le_INR; lia).
assert (N : eta <= pow2 (-60) * u64) by (rewrite <- bpow_plus; apply bpow_le; lia).
assert (Q : 1 * u64 <= INR k * u64) by (apply Rmult_le_compat_r; lra).
pose proof (rounded (INR k * u64)) as R1. rewrite (Rabs_pos_eq (INR k * u64)) in R1 by lra. apply Rabs_le_inv in R1.
unfold gamma_c. set (z := INR k * u64) in *. set (y := rnd64 z) in *.
assert (u64 * z <= / 1000000000 * z) by (apply Rmult_le_compat_r; lra).
assert (N' : eta <= / 1000000000000 * u64).
{ eapply Rle_trans; [exact N|]. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Py : 0 <= y * (1 + pow2 (-20))) by (apply Rmult_le_pos; [lra|simpl; lra]).
pose proof (rounded (y * (1 + pow2 (-20)))) as R2. rewrite (Rabs_pos_eq _ Py) in R2. apply Rabs_le_inv in R2.
change (pow2 (-20)) with (/ 1048576) in *. change (pow2 (-21)) with (/ 2097152). change (pow2 (-19)) with (/ 524288).
assert (u64 * (y * (1 + / 1048576)) <= / 1000000000 * (y * (1 + / 1048576))) by (apply Rmult_le_compat_r; lra).
lra.
Qed.

Section Terms.
(* Scale c and inverse temperature i: ch and ih in double, off by at most ec, ei. cap: 0 without softcap. *)
Variables (d : nat) (c ch ec i ih ei cap : R) (extras tempered has_sink : bool).
(* Of a row, all from above (enclosure_mul_up and enclosure_add_up): norms of the query and of all keys,
   their product with the scale, and with its error; the sum of all terms of a score; the inverse
   temperature; the product of these two, and of the former with the temperature's error; the sink. *)
Variables (qn kn products scale_part extra size inverse reach temper_part sink : R).
Hypothesis d_pos : (0 < d)%nat.
Hypothesis qn_pos : 0 <= qn.
Hypothesis kn_pos : 0 <= kn.
Hypothesis cap_pos : 0 <= cap.
Hypothesis extra_pos : 0 <= extra.
Hypothesis sink_pos : 0 <= sink.
Hypothesis scale_off : Rabs (ch - c) <= ec.
Hypothesis inverse_off : Rabs (ih - i) <= ei.
Hypothesis nearest_inverse : Rabs (ih - i) <= u64 * Rabs ih.
Hypothesis products_up : (Rabs ch + ec) * qn * kn <= products.
Hypothesis scale_up : ec * qn * kn <= scale_part.
Hypothesis size_up : products + extra <= size.
Hypothesis inverse_up : if tempered then Rabs ih + ei <= inverse else i = 1 /\ inverse = 1.
Hypothesis inverse_bounded : 0 <= inverse <= pow2 900.
Hypothesis reach_up : size * inverse <= reach.
Hypothesis temper_up : ei * size <= temper_part.
Hypothesis plain : extras = false -> tempered = false /\ cap = 0 /\ extra = 0.
Hypothesis short : INR (d + 3) * u64 <= pow2 (-22).

Definition before_c : R := rnd64 (rnd64 (rnd64 (gamma_c (d + 3) * products) +
  rnd64 (rnd64 (INR d * pow2 (-1000)) * rnd64 (1 + kn))) + scale_part).
Definition extra_c : R :=
  let x0 := if extras then rnd64 (0 + rnd64 (rnd64 (4 * u64 * size) * inverse)) else 0 in
  let x1 := if tempered then rnd64 (x0 + rnd64 (rnd64 (3 * u64 * reach) + temper_part)) else x0 in
  if has_sink then rnd64 (x1 + rnd64 (2 * u64 * sink)) else x1.
Definition error_c : R :=
  rnd64 (rnd64 (rnd64 (before_c * inverse) + rnd64 (rnd64 (16 * u64 * cap) * inverse)) + extra_c).

(* the same without rounding; E0: of a plain score *)
Let E0 := INR (d + 3) * u64 * (1 + pow2 (-21)) * ((Rabs ch + ec) * qn * kn) + INR d * pow2 (-1002) * (1 + kn) + ec * qn * kn.
Let M := E0 * inverse + 16 * u64 * cap * inverse + (if extras then 4 * u64 * size * inverse else 0) +
  (if tempered then 3 * u64 * reach + temper_part else 0) + (if has_sink then 2 * u64 * sink else 0).

Lemma ec_pos : 0 <= ec. Proof. eapply Rle_trans; [apply Rabs_pos|exact scale_off]. Qed.
Lemma ei_pos : 0 <= ei. Proof. eapply Rle_trans; [apply Rabs_pos|exact inverse_off]. Qed.
Lemma T_pos : 0 <= (Rabs ch + ec) * qn * kn.
Proof. pose proof (Rabs_pos ch). pose proof ec_pos. nonneg. Qed.
Lemma size_pos : 0 <= size. Proof. pose proof T_pos. lra. Qed.
Lemma reach_pos : 0 <= reach.
Proof. pose proof size_pos. eapply Rle_trans; [|exact reach_up]. nonneg. Qed.
Lemma parts_pos : 0 <= scale_part /\ 0 <= temper_part.
Proof.
pose proof size_pos. pose proof ec_pos. pose proof ei_pos. split.
- eapply Rle_trans; [|exact scale_up]. nonneg.
- eapply Rle_trans; [|exact temper_up]. nonneg.
Qed.
Lemma E0_pos : 0 <= E0.
Proof. pose proof T_pos. pose proof ec_pos. pose proof (pos_INR (d + 3)). pose proof (pos_INR d). unfold E0. nonneg; simpl; lra. Qed.

Lemma low_before : low before_c E0 5 (4 * eta).
Proof.
assert (U := u64_size). assert (N := eta_size). assert (T := T_pos). destruct parts_pos as [Ps _].
assert (G := gamma_c_bounds (d + 3) ltac:(lia)). assert (Pd := pos_INR (d + 3)). assert (Pd' := pos_INR d).
assert (d1 : 1 <= INR d) by (change 1 with (INR 1); apply le_INR; lia).
set (g := INR (d + 3) * u64 * (1 + pow2 (-21))) in *.
assert (Pg : 0 <= g) by (unfold g; nonneg; simpl; lra).
assert (A : low (rnd64 (gamma_c (d + 3) * products)) (g * ((Rabs ch + ec) * qn * kn)) 1 eta).
{ rewrite (Rmult_comm (gamma_c _)).
  assert (H : low (rnd64 (products * gamma_c (d + 3))) (products * g) 1 (0 * products + eta)).
  { apply (low_prod products products _ _ 0 0); [apply low_given; lra|lra|lra]. }
  apply (low_less _ (products * g)); [eapply low_weak; [exact H|lra|lra]|].
  split; [nonneg|]. rewrite (Rmult_comm products). apply Rmult_le_compat_l; [exact Pg|exact products_up]. }
assert (E02 : pow2 (-1000) = 4 * pow2 (-1002)) by (change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity).
assert (EN : eta <= pow2 (-70) * pow2 (-1002)) by (rewrite <- bpow_plus; apply bpow_le; lia).
assert (P02 : 0 < pow2 (-1002)) by apply bpow_gt_0.
assert (E70 : pow2 (-70) * pow2 (-1002) <= / 1000 * pow2 (-1002)) by (apply Rmult_le_compat_r; [lra|simpl; lra]).
assert (D : INR d * (2 * pow2 (-1002)) <= rnd64 (INR d * pow2 (-1000))).
{ assert (Z : 0 <= INR d * pow2 (-1000)) by nonneg.
  pose proof (rounded (INR d * pow2 (-1000))) as R. rewrite (Rabs_pos_eq _ Z) in R. apply Rabs_le_inv in R.
  rewrite E02 in *. assert (1 * pow2 (-1002) <= INR d * pow2 (-1002)) by (apply Rmult_le_compat_r; lra).
  assert (u64 * (INR d * (4 * pow2 (-1002))) <= / 1000 * (INR d * (4 * pow2 (-1002)))) by (apply Rmult_le_compat_r; lra).
  lra. }
assert (F : (1 + kn) / 2 <= rnd64 (1 + kn)).
{ pose proof (rounded (1 + kn)) as R. rewrite (Rabs_pos_eq (1 + kn)) in R by lra. apply Rabs_le_inv in R.
  assert (u64 * (1 + kn) <= / 1000 * (1 + kn)) by (apply Rmult_le_compat_r; lra).
  assert (eta <= / 1000). { eapply Rle_trans; [apply N|]. apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]. } lra. }
assert (B : low (rnd64 (rnd64 (INR d * pow2 (-1000)) * rnd64 (1 + kn))) (INR d * pow2 (-1002) * (1 + kn)) 1 eta).
{ set (f := rnd64 (1 + kn)) in *. set (y := rnd64 (INR d * pow2 (-1000))) in *. rewrite (Rmult_comm y f).
  assert (H : low (rnd64 (f * y)) (f * (INR d * (2 * pow2 (-1002)))) 1 (0 * f + eta)).
  { apply (low_prod f f _ _ 0 0); [apply low_given; split; [nonneg|exact D]|lra|lra]. }
  apply (low_less _ (f * (INR d * (2 * pow2 (-1002))))); [eapply low_weak; [exact H|lra|lra]|].
  split; [nonneg|]. assert (PD : 0 <= INR d * pow2 (-1002)) by nonneg.
  apply (Rmult_le_compat_l (INR d * pow2 (-1002))) in F; [lra|exact PD]. }
assert (S1 := low_sum _ _ _ _ _ _ _ _ 2 A B ltac:(lra) ltac:(lra)).
assert (S2 : low scale_part (ec * qn * kn) 0 0).
{ apply low_given. split; [pose proof ec_pos; nonneg|exact scale_up]. }
assert (S := low_sum _ _ _ _ _ _ _ _ 3 S1 S2 ltac:(lra) ltac:(lra)).
eapply low_weak; [exact S|lra|lra].
Qed.

Lemma error_enough : 0 <= error_c /\ M * (1 - pow2 (-46)) - pow2 (-100) <= error_c.
Proof.
assert (U := u64_size). assert (N := eta_size). assert (T := T_pos). destruct parts_pos as [Ps Pt].
assert (Psz := size_pos). assert (Pr := reach_pos).
assert (B900 : 1 <= pow2 900) by (apply (bpow_le radix2 0); lia).
set (b := pow2 900) in *.
assert (A1 : low (rnd64 (before_c * inverse)) (E0 * inverse) 6 (5 * (eta * b))).
{ rewrite !(Rmult_comm _ inverse). apply (low_weak _ _ 6 (4 * eta * b + eta)); [apply (low_prod inverse b _ _ _ _ 6 low_before); lra|lra|].
  assert (eta * 1 <= eta * b) by (apply Rmult_le_compat_l; lra). lra. }
assert (small : forall x, 0 <= x -> low (rnd64 (rnd64 x * inverse)) (x * inverse) 2 (2 * (eta * b))).
{ intros x Hx. rewrite !(Rmult_comm _ inverse). apply (low_weak _ _ 2 (eta * b + eta)); [apply (low_prod inverse b _ _ 1 eta 2 (low_one x Hx)); lra|lra|].
  assert (eta * 1 <= eta * b) by (apply Rmult_le_compat_l; lra). lra. }
assert (A2 := small (16 * u64 * cap) ltac:(nonneg)).
assert (A := low_sum _ _ _ _ _ _ _ _ 7 A1 A2 ltac:(lra) ltac:(lra)).
assert (Eb : 0 <= eta <= eta * b).
{ split; [lra|]. assert (eta * 1 <= eta * b) by (apply Rmult_le_compat_l; lra). lra. }
set (x0 := if extras then rnd64 (0 + rnd64 (rnd64 (4 * u64 * size) * inverse)) else 0).
set (m0 := if extras then 4 * u64 * size * inverse else 0).
assert (X0 : low x0 m0 3 (3 * (eta * b))).
{ unfold x0, m0. destruct extras; [|apply (low_weak _ _ 0 0); [apply low_given; lra|lra|lra]].
  rewrite Rplus_0_l. apply (low_weak _ _ 3 (2 * (eta * b) + eta)); [|lra|lra]. apply (low_rnd _ _ 2); [apply small; nonneg|lra]. }
set (x1 := if tempered then rnd64 (x0 + rnd64 (rnd64 (3 * u64 * reach) + temper_part)) else x0).
set (m1 := if tempered then 3 * u64 * reach + temper_part else 0).
assert (X1 : low x1 (m0 + m1) 4 (7 * (eta * b))).
{ unfold x1, m1. destruct tempered; [|rewrite Rplus_0_r; eapply low_weak; [exact X0|lra|lra]].
  assert (Q : low (rnd64 (rnd64 (3 * u64 * reach) + temper_part)) (3 * u64 * reach + temper_part) 2 (2 * eta)).
  { apply (low_weak _ _ 2 (eta + 0 + eta)); [|lra|lra].
    apply (low_sum _ _ 1 eta _ _ 0 0 2); [apply low_one; nonneg|apply low_given; lra|lra|lra]. }
  apply (low_weak _ _ 4 (3 * (eta * b) + 2 * eta + eta)); [|lra|lra]. apply (low_sum _ _ 3 _ _ _ 2 _ 4 X0 Q); lra. }
assert (X2 : low extra_c (m0 + m1 + (if has_sink then 2 * u64 * sink else 0)) 5 (9 * (eta * b))).
{ unfold extra_c. cbv zeta. fold x0. fold x1. destruct has_sink; [|rewrite Rplus_0_r; eapply low_weak; [exact X1|lra|lra]].
  apply (low_weak _ _ 5 (7 * (eta * b) + eta + eta)); [|lra|lra].
  apply (low_sum _ _ 4 _ _ _ 1 _ 5 X1 (low_one (2 * u64 * sink) ltac:(nonneg))); lra. }
assert (LL := low_sum _ _ _ _ _ _ _ _ 8 A X2 ltac:(lra) ltac:(lra)).
split; [apply LL|]. assert (L := low_end _ _ _ _ LL). clear LL. fold error_c in L.
assert (S : eta * b <= pow2 (-110)) by (unfold b; rewrite <- bpow_plus; apply bpow_le; lia).
assert (S' : pow2 (-100) = 1024 * pow2 (-110)) by (change 1024 with (pow2 10); rewrite <- bpow_plus; reflexivity).
unfold M. fold m0 m1. rewrite S'. assert (Q : 0 < pow2 (-110)) by apply bpow_gt_0.
replace (E0 * inverse + 16 * u64 * cap * inverse + (m0 + m1 + (if has_sink then 2 * u64 * sink else 0)))
  with (E0 * inverse + 16 * u64 * cap * inverse + m0 + m1 + (if has_sink then 2 * u64 * sink else 0)) in L by ring.
lra.
Qed.

(* Additions of bias and slope, the product with the inverse temperature. sc, sch: a score before them,
   exact and as computed. *)
Definition finish (sch b step : R) : R :=
  if extras then
    let s3 := rnd64 (rnd64 (sch + b) + rnd64 step) in
    if tempered then rnd64 (s3 * ih) else s3
  else sch.

Lemma finish_close sc sch b step : Rabs sc <= products -> Rabs b + Rabs step <= extra ->
  Rabs (sch - sc) <= E0 * (1 + pow2 (-40)) + 31/2 * u64 * cap ->
  Rabs (finish sch b step - (sc + b + step) * i) <= M * (1 + pow2 (-38)) + pow2 (-110).
Proof.
intros Hsc Hbs Hoff. assert (U := u64_size). assert (N := eta_size). assert (Psz := size_pos).
destruct parts_pos as [_ Pt]. assert (Pr := reach_pos). assert (PE := E0_pos). assert (Pei := ei_pos).
set (e1 := E0 * (1 + pow2 (-40)) + 31/2 * u64 * cap) in *.
assert (Pe1 : 0 <= e1) by (eapply Rle_trans; [apply Rabs_pos|exact Hoff]).
assert (P110 : 0 <= pow2 (-110)) by apply bpow_ge_0.
assert (PS : 0 <= if has_sink then 2 * u64 * sink else 0) by (destruct has_sink; nonneg).
assert (B40 : pow2 (-40) = / 1099511627776) by reflexivity.
assert (B38 : pow2 (-38) = / 274877906944) by reflexivity.
assert (U42 : u64 <= / 35184372088832) by (simpl; lra).
assert (Ie : e1 * inverse * (1 + 6 * u64) <= (E0 * inverse + 16 * u64 * cap * inverse) * (1 + pow2 (-38))).
{ assert (I0 : 0 <= E0 * inverse) by nonneg. assert (I1 : 0 <= u64 * cap * inverse) by nonneg.
  unfold e1. replace ((E0 * (1 + pow2 (-40)) + 31/2 * u64 * cap) * inverse * (1 + 6 * u64))
    with ((E0 * inverse) * ((1 + pow2 (-40)) * (1 + 6 * u64)) + (u64 * cap * inverse) * (31/2 * (1 + 6 * u64))) by ring.
  replace ((E0 * inverse + 16 * u64 * cap * inverse) * (1 + pow2 (-38)))
    with ((E0 * inverse) * (1 + pow2 (-38)) + (u64 * cap * inverse) * (16 * (1 + pow2 (-38)))) by ring.
  apply Rplus_le_compat; apply Rmult_le_compat_l; try assumption; rewrite ?B40, ?B38; lra. }
assert (Pm : 0 <= E0 * inverse + 16 * u64 * cap * inverse) by nonneg.
unfold finish, M. destruct extras eqn:Ex.
2: { destruct (plain eq_refl) as [Et [Ec Ee]]. rewrite Et in *. destruct inverse_up as [Ei1 Ei2].
  assert (b = 0 /\ step = 0) as [-> ->].
  { pose proof (Rabs_pos b). pose proof (Rabs_pos step). split; apply Rabs_eq_R0; lra. }
  rewrite Ei1. replace ((sc + 0 + 0) * 1) with sc by ring. apply Rle_trans with (1 := Hoff).
  rewrite Ei2 in *. assert (0 <= e1 * (6 * u64)) by nonneg.
  assert (0 <= (if has_sink then 2 * u64 * sink else 0) * pow2 (-38)) by (rewrite B38; nonneg). lra. }
set (S3 := sc + b + step). set (s1 := rnd64 (sch + b)). set (st := rnd64 step).
set (Sz := Rabs sc + Rabs b + Rabs step).
assert (HSz : Sz <= size) by (unfold Sz; lra).
assert (T3 : forall x y, Rabs (x + y) <= Rabs x + Rabs y) by apply Rabs_triang.
pose proof (Rabs_pos b) as Pb. pose proof (Rabs_pos step) as Pk. pose proof (Rabs_pos sc) as P0.
assert (PSz : 0 <= Sz) by (unfold Sz; lra).
assert (HS3 : Rabs S3 <= Sz).
{ unfold S3, Sz. pose proof (T3 (sc + b) step). pose proof (T3 sc b). lra. }
assert (H0 : Rabs (sch + b) <= Rabs sc + e1 + Rabs b).
{ replace (sch + b) with ((sch - sc) + sc + b) by ring. pose proof (T3 (sch - sc + sc) b).
  pose proof (T3 (sch - sc) sc). lra. }
assert (D1 : Rabs (s1 - (sch + b)) <= u64 * (Rabs sc + e1 + Rabs b) + eta).
{ pose proof (rounded (sch + b)). assert (u64 * Rabs (sch + b) <= u64 * (Rabs sc + e1 + Rabs b)) by (apply Rmult_le_compat_l; lra).
  unfold s1. lra. }
assert (D2 : Rabs (st - step) <= u64 * Rabs step + eta) by apply rounded.
assert (H1 : Rabs (s1 + st - S3) <= e1 + (u64 * (Rabs sc + e1 + Rabs b) + eta) + (u64 * Rabs step + eta)).
{ replace (s1 + st - S3) with ((s1 - (sch + b)) + (st - step) + (sch - sc)) by (unfold S3; ring).
  pose proof (T3 (s1 - (sch + b) + (st - step)) (sch - sc)). pose proof (T3 (s1 - (sch + b)) (st - step)). lra. }
assert (H2 : Rabs (s1 + st) <= Sz + Rabs (s1 + st - S3)).
{ replace (s1 + st) with (S3 + (s1 + st - S3)) at 1 by ring. pose proof (T3 S3 (s1 + st - S3)). lra. }
set (s3 := rnd64 (s1 + st)).
assert (D3 : Rabs (s3 - (s1 + st)) <= u64 * Rabs (s1 + st) + eta) by apply rounded.
assert (HD : Rabs (s3 - S3) <= e1 * (1 + 3 * u64) + 201/100 * u64 * Sz + 4 * eta).
{ replace (s3 - S3) with ((s3 - (s1 + st)) + (s1 + st - S3)) by ring.
  pose proof (T3 (s3 - (s1 + st)) (s1 + st - S3)) as T4.
  set (r := Rabs (s1 + st - S3)) in *. apply (Rmult_le_compat_l u64) in H2; [|lra].
  assert (Hr : r * (1 + u64) <= (e1 + (u64 * (Rabs sc + e1 + Rabs b) + eta) + (u64 * Rabs step + eta)) * (1 + u64)).
  { apply Rmult_le_compat_r; lra. }
  assert (Qe : u64 * (u64 * e1) <= / 1000000000 * (u64 * e1)) by (apply Rmult_le_compat_r; [nonneg|lra]).
  assert (Qs : u64 * (u64 * Sz) <= / 1000000000 * (u64 * Sz)) by (apply Rmult_le_compat_r; [nonneg|lra]).
  assert (Qn : u64 * eta <= / 1000000000 * eta) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * e1) by nonneg. assert (0 <= u64 * Sz) by nonneg.
  unfold Sz in *. lra. }
assert (I4 : 0 <= u64 * size * inverse) by nonneg.
assert (ISz : u64 * Sz * inverse <= u64 * size * inverse).
{ apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; lra. }
assert (En : eta * inverse <= pow2 (-175)).
{ replace (pow2 (-175)) with (eta * pow2 900) by (rewrite <- bpow_plus; reflexivity). apply Rmult_le_compat_l; lra. }
assert (E1 : eta <= pow2 (-175)) by (apply bpow_le; lia).
assert (E2 : 20 * pow2 (-175) <= pow2 (-110)).
{ apply Rle_trans with (pow2 5 * pow2 (-175)); [apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]|].
  rewrite <- bpow_plus. apply bpow_le. lia. }
fold s1 st s3. cbv zeta.
destruct tempered eqn:Te.
- assert (Ih : Rabs ih <= inverse) by lra.
  replace (rnd64 (s3 * ih) - S3 * i) with ((rnd64 (s3 * ih) - s3 * ih) + (s3 - S3) * ih + S3 * (ih - i)) by ring.
  pose proof (T3 (rnd64 (s3 * ih) - s3 * ih + (s3 - S3) * ih) (S3 * (ih - i))) as X1.
  pose proof (T3 (rnd64 (s3 * ih) - s3 * ih) ((s3 - S3) * ih)) as X2.
  pose proof (rounded (s3 * ih)) as X3. rewrite Rabs_mult in X1, X2, X3.
  assert (Y1 : Rabs (s3 - S3) * Rabs ih <= (e1 * (1 + 3 * u64) + 201/100 * u64 * Sz + 4 * eta) * inverse).
  { apply Rmult_le_compat; try apply Rabs_pos; assumption. }
  assert (Y2 : Rabs S3 * Rabs (ih - i) <= size * ei).
  { apply Rmult_le_compat; try apply Rabs_pos; lra. }
  assert (Y3 : Rabs s3 * Rabs ih <= (Sz + (e1 * (1 + 3 * u64) + 201/100 * u64 * Sz + 4 * eta)) * inverse).
  { apply Rmult_le_compat; try apply Rabs_pos; try assumption.
    replace s3 with (S3 + (s3 - S3)) by ring. pose proof (T3 S3 (s3 - S3)). lra. }
  apply (Rmult_le_compat_l u64) in Y3; [|lra].
  assert (Ie' : 0 <= u64 * (e1 * inverse)) by nonneg.
  assert (Qe : u64 * (u64 * (e1 * inverse)) <= / 1000000000 * (u64 * (e1 * inverse))) by (apply Rmult_le_compat_r; lra).
  assert (Qs : u64 * (u64 * Sz * inverse) <= / 1000000000 * (u64 * Sz * inverse)).
  { apply Rmult_le_compat_r; [nonneg|lra]. }
  assert (Qn : u64 * (eta * inverse) <= / 1000000000 * (eta * inverse)) by (apply Rmult_le_compat_r; [nonneg|lra]).
  assert (R1 : u64 * (size * inverse) <= u64 * reach) by (apply Rmult_le_compat_l; lra).
  assert (P38 : 0 <= (4 * u64 * size * inverse + (3 * u64 * reach + temper_part) + (if has_sink then 2 * u64 * sink else 0)) * pow2 (-38)).
  { rewrite B38. apply Rmult_le_pos; [|lra]. repeat apply Rplus_le_le_0_compat; nonneg. }
  assert (Pi : 0 <= eta * inverse) by nonneg.
  fold S3. lra.
- destruct inverse_up as [Ei1 Ei2]. rewrite Ei1, Rmult_1_r. fold S3. rewrite Ei2 in *.
  assert (P38 : 0 <= (4 * u64 * size + 0 + (if has_sink then 2 * u64 * sink else 0)) * pow2 (-38)).
  { rewrite B38. apply Rmult_le_pos; [|lra]. repeat apply Rplus_le_le_0_compat; nonneg. }
  assert (0 <= e1 * (3 * u64)) by nonneg. lra.
Qed.

Lemma sink_close z : Rabs z * inverse <= sink -> has_sink = true ->
  Rabs ((if tempered then rnd64 (z * ih) else z) - z * i) <= M * (1 + pow2 (-38)) + pow2 (-110).
Proof.
intros Hz Hs. assert (U := u64_size). assert (N := eta_size). assert (PE := E0_pos). assert (Psz := size_pos).
destruct parts_pos as [_ Pt]. assert (Pr := reach_pos).
assert (P110 : 0 <= pow2 (-110)) by apply bpow_ge_0. assert (P38 : 0 <= pow2 (-38)) by apply bpow_ge_0.
assert (PM : 2 * u64 * sink <= M).
{ unfold M. rewrite Hs. assert (0 <= E0 * inverse) by nonneg. assert (0 <= 16 * u64 * cap * inverse) by nonneg.
  assert (0 <= if extras then 4 * u64 * size * inverse else 0) by (destruct extras; nonneg).
  assert (0 <= if tempered then 3 * u64 * reach + temper_part else 0).
  { destruct tempered; [|lra]. apply Rplus_le_le_0_compat; nonneg. } lra. }
assert (0 <= 2 * u64 * sink) by nonneg. assert (0 <= M * pow2 (-38)) by nonneg.
destruct tempered eqn:Te.
- assert (Ei := ei_pos). assert (Ih : Rabs ih <= inverse) by lra. pose proof (Rabs_pos z) as Pz.
  replace (rnd64 (z * ih) - z * i) with ((rnd64 (z * ih) - z * ih) + z * (ih - i)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (rounded (z * ih)) as X. rewrite !Rabs_mult in *.
  assert (Y1 : Rabs z * Rabs ih <= sink).
  { eapply Rle_trans; [|exact Hz]. apply Rmult_le_compat_l; lra. }
  assert (Y2 : Rabs z * Rabs (ih - i) <= u64 * (Rabs z * Rabs ih)).
  { replace (u64 * (Rabs z * Rabs ih)) with (Rabs z * (u64 * Rabs ih)) by ring. apply Rmult_le_compat_l; lra. }
  apply (Rmult_le_compat_l u64) in Y1; [|lra].
  assert (eta <= pow2 (-110)) by (apply bpow_le; lia). lra.
- destruct inverse_up as [Ei1 _]. rewrite Ei1, Rmult_1_r. replace (z - z) with 0 by ring. rewrite Rabs_R0. lra.
Qed.

(* A score s of the row with its computed value sh: of a key, or of the sink. *)
Variables (q qs : nat -> R).
Inductive capped (s0 sh0 : R) : R -> R -> Prop :=
| uncapped : cap = 0 -> capped s0 sh0 s0 sh0
(* C: the softcap, z: the quotient as a float *)
| softcapped C z : pow2 (-1000) <= cap <= pow2 1000 -> Rabs (cap - C) <= u64 * cap ->
    is_quotient (sh0 * rnd64 (1 / cap)) z ->
    capped s0 sh0 (C * tanh (s0 / C)) (rnd64 (cap * B2R 53 1024 (vd_tanh float64 z))).
Inductive scored (s sh : R) : Prop :=
| a_key t (k : nat -> R) sc sch b step : sums_up t d qs k -> (depth t <= d)%nat -> (ops t <= 2 * d)%nat ->
    sum d (fun a => k a * k a) <= kn * kn ->
    capped (c * sum d (fun a => q a * k a)) (fl rnd64 rnd64 t) sc sch ->
    Rabs b + Rabs step <= extra -> s = (sc + b + step) * i -> sh = finish sch b step -> scored s sh
| a_sink z : has_sink = true -> Rabs z * inverse <= sink ->
    s = z * i -> sh = (if tempered then rnd64 (z * ih) else z) -> scored s sh.

Hypothesis scaled : forall a, (a < d)%nat -> qs a = rnd64 (q a * ch).
Hypothesis q_norm : sum d (fun a => q a * q a) <= qn * qn.

Lemma score_enough s sh : scored s sh -> Rabs (sh - s) <= error_c * (1 + pow2 (-30)) + pow2 (-62).
Proof.
intros H. assert (L : Rabs (sh - s) <= M * (1 + pow2 (-38)) + pow2 (-110)).
{ destruct H as [t k sc sch b step Ht Hd Ho Hk Hc Hb -> ->|z Hs Hz -> ->]; [|apply sink_close; assumption].
  assert (S : Rabs (fl rnd64 rnd64 t - c * sum d (fun a => q a * k a)) <= E0) by
    exact (softmax_score d q k qs c ch ec qn kn t scale_off scaled Ht Hd Ho qn_pos kn_pos q_norm Hk short).
  assert (PE := E0_pos). assert (P40 := bpow_ge_0 radix2 (-40)).
  assert (CS : Rabs (c * sum d (fun a => q a * k a)) <= products).
  { rewrite Rabs_mult. apply Rle_trans with ((Rabs ch + ec) * (qn * kn)).
    - apply Rmult_le_compat; try apply Rabs_pos.
      + replace c with (ch - (ch - c)) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|].
        rewrite Rabs_Ropp. lra.
      + eapply Rle_trans; [apply sum_abs|]. eapply Rle_trans; [|apply cauchy_schwarz; eassumption].
        apply sum_le. intros a _. rewrite Rabs_mult. lra.
    - lra. }
  assert (0 <= E0 * pow2 (-40)) by nonneg. assert (0 <= u64 * cap) by (apply Rmult_le_pos; [apply bpow_ge_0|exact cap_pos]).
  apply finish_close; try assumption; destruct Hc as [Ez|C z Hr HC Hz]; try lra;
    destruct (softmax_softcap C cap _ _ E0 z Hr HC S Hz) as [L1 L2]; [lra|].
  eapply Rle_trans; [exact L2|lra]. }
destruct error_enough as [PE E].
assert (PM : 0 <= M * (1 + pow2 (-38)) + pow2 (-110)) by (eapply Rle_trans; [apply Rabs_pos|exact L]).
change (pow2 (-38)) with (/ 274877906944) in *. change (pow2 (-46)) with (/ 70368744177664) in *.
change (pow2 (-30)) with (/ 1073741824).
assert (B1 : pow2 (-110) <= / 100 * pow2 (-62)).
{ apply Rle_trans with (pow2 (-20 + -62)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (B2 : pow2 (-100) <= / 100 * pow2 (-62)).
{ apply Rle_trans with (pow2 (-20 + -62)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (B3 : 0 < pow2 (-62)) by apply bpow_gt_0.
destruct (Rle_lt_dec 0 M) as [HM|HM]; lra.
Qed.
End Terms.

(* softmax_terms_finish *)
Definition rho_c (error : R) (rescaled : bool) : R :=
  rnd64 (rnd64 (error + (70 + (if rescaled then 112 else 0)) * u64) * (1 + pow2 (-10))).

Lemma rho_enough e r : 0 <= e -> least_rho (e * (1 + pow2 (-30))) r <= rho_c e r.
Proof.
intros He. assert (U := u64_size). assert (N := eta_size). unfold rho_c, least_rho.
set (x := (70 + (if r then 112 else 0)) * u64).
assert (Hx : 70 * u64 <= x <= 182 * u64) by (unfold x; split; apply Rmult_le_compat_r; try lra; destruct r; lra).
assert (L1 := low_one (e + x) ltac:(lra)).
assert (C : 0 <= 1 + pow2 (-10) <= 2) by (simpl; lra).
assert (L := low_end _ _ _ _ (low_prod (1 + pow2 (-10)) 2 _ _ _ _ 2 L1 C ltac:(lra))).
rewrite (Rmult_comm (rnd64 (e + x))). eapply Rle_trans; [|exact L].
assert (B : eta <= / 1000000 * u64).
{ apply Rle_trans with (pow2 (-20 + -53)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [lra|simpl; lra]. }
change (pow2 (-10)) with (/ 1024). change (pow2 (-13)) with (/ 8192). change (pow2 (-30)) with (/ 1073741824).
change (pow2 (-46)) with (/ 70368744177664). lra.
Qed.

Lemma gamma_small k : (0 < k)%nat -> INR k <= pow2 30 -> 0 <= gamma_c k <= pow2 (-22).
Proof.
intros H K. assert (B := gamma_c_bounds k H). assert (U := u64_size). pose proof (pos_INR k).
assert (P : 0 <= INR k * u64) by nonneg. split; [change (pow2 (-21)) with (/ 2097152) in B; lra|].
assert (Q : INR k * u64 <= pow2 30 * u64) by (apply Rmult_le_compat_r; [lra|exact K]).
rewrite <- bpow_plus in Q. eapply Rle_trans; [apply B|]. simpl bpow in *. lra.
Qed.

(* enclose_lse *)
Definition lse_c (rho sum_error keys l x : R) : R :=
  rnd64 ((1 + pow2 (-8)) * rnd64 (rnd64 (rnd64 (rnd64 (rho + sum_error) + rnd64 (keys * pow2 (-96))) +
    rnd64 (pow2 (-51) * rnd64 (1 + l))) + rnd64 (u64 * x))).

Lemma lse_enough keys rho se l x : 1 <= keys -> 0 <= rho -> 0 <= se -> 0 <= l -> 0 <= x ->
  (1 + / 280) * (rho + se + keys * (3 * pow2 (-98)) + pow2 (-51) * (1 + l) + u64 * x) <= lse_c rho se keys l x.
Proof.
intros Hk Hr Hs Hl Hx. assert (U := u64_size). assert (N := eta_size). unfold lse_c.
set (c8 := 1 + pow2 (-8)). assert (C8 : 0 <= c8 <= 2) by (unfold c8; simpl; lra).
assert (P51 : 0 <= pow2 (-51) <= 1) by (split; [apply bpow_ge_0|simpl; lra]).
assert (A1 := low_one (rho + se) ltac:(lra)).
assert (A2 := low_one (keys * pow2 (-96)) ltac:(nonneg)).
assert (A3 := low_prod (pow2 (-51)) 1 _ _ _ _ 2 (low_one (1 + l) ltac:(lra)) P51 ltac:(lra)).
assert (A4 := low_one (u64 * x) ltac:(nonneg)).
assert (S := low_sum _ _ _ _ _ _ _ _ 4 (low_sum _ _ _ _ _ _ _ _ 3 (low_sum _ _ _ _ _ _ _ _ 2 A1 A2 ltac:(lra) ltac:(lra))
  A3 ltac:(lra) ltac:(lra)) A4 ltac:(lra) ltac:(lra)).
assert (F := low_end _ _ _ _ (low_prod c8 2 _ _ _ _ 5 S C8 ltac:(lra))). clear A1 A2 A3 A4 S.
eapply Rle_trans; [|exact F]. clear F.
assert (E96 : pow2 (-96) = 4 * pow2 (-98)) by (change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity).
assert (PK : 0 <= keys * pow2 (-98)) by nonneg.
assert (B : 100 * eta <= / 1000000 * pow2 (-51)).
{ apply Rle_trans with (pow2 7 * eta); [apply Rmult_le_compat_r; [lra|simpl; lra]|]. rewrite <- bpow_plus.
  apply Rle_trans with (pow2 (-20 + -51)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (PL : 0 <= pow2 (-51) * l) by (apply Rmult_le_pos; lra).
assert (PX : 0 <= u64 * x) by nonneg.
rewrite E96. unfold c8. change (pow2 (-8)) with (/ 256). change (pow2 (-46)) with (/ 70368744177664).
replace (keys * (3 * pow2 (-98))) with (3 * (keys * pow2 (-98))) by ring.
replace (keys * (4 * pow2 (-98))) with (4 * (keys * pow2 (-98))) by ring. lra.
Qed.

Section Row.
(* The visible keys j < n, and the sink (value 0): exact and computed score s, sh; shift m in force when
   the key was summed, argument y and value e of its exponential, moves l of the shift afterwards, v. *)
Variables (d n blocks : nat) (c ch ec i ih ei cap : R) (extras tempered has_sink : bool).
Variables (qn kn products scale_part extra size inverse reach temper_part sink : R) (q qs : nat -> R).
Hypothesis d_pos : (0 < d)%nat.
Hypothesis norms : 0 <= qn /\ 0 <= kn /\ sum d (fun a => q a * q a) <= qn * qn.
Hypothesis parameters : 0 <= cap /\ 0 <= extra /\ 0 <= sink /\ Rabs (ch - c) <= ec /\ Rabs (ih - i) <= ei /\ Rabs (ih - i) <= u64 * Rabs ih.
Hypothesis from_above : (Rabs ch + ec) * qn * kn <= products /\ ec * qn * kn <= scale_part /\
  products + extra <= size /\ (if tempered then Rabs ih + ei <= inverse else i = 1 /\ inverse = 1) /\
  0 <= inverse <= pow2 900 /\ size * inverse <= reach /\ ei * size <= temper_part.
Hypothesis plain : extras = false -> tempered = false /\ cap = 0 /\ extra = 0.
Hypothesis scaled : forall a, (a < d)%nat -> qs a = rnd64 (q a * ch).

Variables (s sh m e v : nat -> R) (l : nat -> list (R * R)) (M V keys : R) (rescaled : bool) (out total : tree).
Let error := error_c d cap extras tempered has_sink kn products scale_part size inverse reach temper_part sink.
Let rho := rho_c error rescaled.
Hypothesis scores : forall j, (j < n)%nat ->
  scored d c i ih cap extras tempered has_sink kn extra inverse sink q qs (s j) (sh j).
Hypothesis below : forall j, (j < n)%nat -> rnd64 (sh j - m j) <= 17/2.
Hypothesis exponentials : forall j, (j < n)%nat -> exists x, is_finite 53 1024 x = true /\
  B2R 53 1024 x = rnd64 (sh j - m j) /\ e j = B2R 53 1024 (vd_exp float64 x).
Hypothesis shifts : forall j, (j < n)%nat -> M = m j + distance (l j) /\ forall p, In p (l j) -> 8 < fst p /\
  exists x, is_finite 53 1024 x = true /\ B2R 53 1024 x = rnd64 (- fst p) /\ snd p = B2R 53 1024 (vd_exp float64 x).
Hypothesis unmoved : rescaled = false -> forall j, (j < n)%nat -> l j = [].
(* one key's computed score is the last shift *)
Hypothesis first : exists j, (j < n)%nat /\ sh j = M.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.
Hypothesis counted_keys : INR n <= keys <= pow2 60.
(* softmax_terms_finish: what requires the next tier where it does not hold *)
Hypothesis usable : rho <= pow2 (-16).
(* Sums by any trees. A key meets one rounding for every move of the shift beside those of its chain, the
   chains of its block, and the blocks. *)
Let w' j := e j * factor (l j).
Let bO := (PASS_CHAIN + PASS_KEYS / PASS_CHAIN + blocks)%nat.
Let bW := (PASS_KEYS / PASS_LANES + 4 + blocks)%nat.
Variables kO kW : nat -> nat.
Hypothesis outs : sums_along out n w' v kO.
Hypothesis totals : sums_along total n w' (fun _ => 1) kW.
Hypothesis depths : forall j, (j < n)%nat -> (kO j <= bO + length (l j))%nat /\ (kW j <= bW + length (l j))%nat.
Hypothesis shallow : INR (S (depth out)) <= pow2 30 /\ INR (S (depth total)) <= pow2 30 /\
  forall j, (j < n)%nat -> INR (S (kO j)) <= pow2 30 /\ INR (S (kW j)) <= pow2 30.
Hypothesis few : INR (d + 3) <= pow2 30 /\ INR (blocks + 60) <= pow2 30 /\ INR (summation.ops out) <= pow2 70 /\ INR (summation.ops total) <= pow2 70.

(* What tier.v and the sums need. *)
Lemma premises : 1 <= INR n /\ 0 <= error /\ 0 <= rho /\
  (forall j, (j < n)%nat -> Rabs (sh j - s j) <= error * (1 + pow2 (-30)) + pow2 (-62)) /\
  (forall j, (j < n)%nat -> is_exp (rnd64 (sh j - m j)) (e j)) /\
  (forall j, (j < n)%nat -> moves (l j) /\ m j + distance (l j) = M) /\
  (0 <= error * (1 + pow2 (-30)) /\ least_rho (error * (1 + pow2 (-30))) rescaled <= rho <= pow2 (-16)) /\
  (INR (bO + 10) * u64 * (1 + pow2 (-21)) <= gamma_c (bO + 10) <= pow2 (-22)) /\
  (INR (bW + 10) * u64 * (1 + pow2 (-21)) <= gamma_c (bW + 10) <= pow2 (-22)) /\
  0 <= gamma_c (bO + 10) /\ 0 <= gamma_c (bW + 10).
Proof.
destruct norms as [N1 [N2 N3]]. destruct parameters as [P1 [P2 [P3 [P4 [P5 P6]]]]].
destruct from_above as [F1 [F2 [F3 [F4 [F5 [F6 F7]]]]]]. destruct few as [W0 [W1 [W2 W3]]].
destruct first as [j0 [J0 J1]]. assert (U := u64_size).
assert (n_pos : 1 <= INR n) by (change 1 with (INR 1); apply le_INR; lia).
assert (short : INR (d + 3) * u64 <= pow2 (-22)).
{ apply Rle_trans with (pow2 30 * u64); [apply Rmult_le_compat_r; lra|]. rewrite <- bpow_plus. apply bpow_le. lia. }
assert (PE : 0 <= error) by (apply (error_enough d c ch ec i ih ei cap extras tempered has_sink qn kn products
  scale_part extra size inverse reach temper_part sink); assumption).
assert (LR := rho_enough error rescaled PE). fold rho in LR.
assert (PR : 0 <= rho).
{ unfold rho, rho_c. apply rnd_pos, Rmult_le_pos; [apply rnd_pos|simpl; lra]. apply Rplus_le_le_0_compat; [exact PE|].
  apply Rmult_le_pos; [destruct rescaled|]; lra. }
assert (SO : (bO + 10 <= blocks + 60)%nat) by (unfold bO, PASS_CHAIN, PASS_KEYS; simpl; lia).
assert (SW : (bW + 10 <= blocks + 60)%nat) by (unfold bW, PASS_LANES, PASS_KEYS; simpl; lia).
assert (GO := gamma_c_bounds (bO + 10) ltac:(lia)). assert (GW := gamma_c_bounds (bW + 10) ltac:(lia)).
assert (HO := gamma_small (bO + 10) ltac:(lia) ltac:(eapply Rle_trans; [apply le_INR, SO|exact W1])).
assert (HW := gamma_small (bW + 10) ltac:(lia) ltac:(eapply Rle_trans; [apply le_INR, SW|exact W1])).
split; [exact n_pos|]. split; [exact PE|]. split; [exact PR|]. split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]].
- intros j Hj. eapply (score_enough d c ch ec i ih ei cap extras tempered has_sink qn kn products
    scale_part extra size inverse reach temper_part sink); try eassumption; try apply P5.
  apply scores, Hj.
- intros j Hj. destruct (exponentials j Hj) as [x [X1 [X2 X3]]]. rewrite X3, <- X2. apply vd_exp_is_exp; [exact X1|].
  rewrite X2. pose proof (below j Hj). lra.
- intros j Hj. destruct (shifts j Hj) as [S1 S2]. split; [|symmetry; exact S1]. apply Forall_forall.
  intros p Hp. destruct (S2 p Hp) as [S3 [x [X1 [X2 X3]]]]. split; [exact S3|]. rewrite X3, <- X2.
  apply vd_exp_is_exp; [exact X1|]. rewrite X2.
  apply Rle_trans with 0; [|lra]. apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|lra].
- split; [|split; [exact LR|exact usable]]. apply Rmult_le_pos; [exact PE|simpl; lra].
- split; [apply GO|apply HO].
- split; [apply GW|apply HW].
- apply HO.
- apply HW.
Qed.

(** theorem: softmax_radius — the double tier of softmax from queries and keys to the output: scores with scale, softcap, bias, slope and temperature, a sink, exponentials, moves of the shift, sums by any trees, products fused or not, and one division, as computed in float64, lie within the radius of the exact output, as softmax_radius evaluates it in float64. used by: src/softmax/enclose.c, src/softmax/room.c *)
Theorem softmax_radius : let x' := rnd64 (fl rnd64 rnd64 out / fl rnd64 rnd64 total) in
  Rabs (x' - mean n (fun j => exp (s j)) v) <=
    radius_c rho (gamma_c (bO + 10)) (gamma_c (bW + 10)) V (Rabs x') (tail_c keys V).
Proof.
intros x'. destruct premises as [n_pos [PE [PR [Q1 [Q2 [Q3 [Q4 [Q5 [Q6 [Q7 Q8]]]]]]]]]].
destruct few as [_ [_ [W2 W3]]]. destruct first as [j0 [J0 J1]].
assert (PV : 0 <= V) by (eapply Rle_trans; [apply Rabs_pos|apply (values j0 J0)]).
assert (B22 : pow2 (-22) <= / 2) by (simpl; lra).
assert (small16 : pow2 (-16) <= 1) by (simpl; lra).
assert (A : mean n (fun j => exp (s j)) (fun j => Rabs (v j)) <= V).
{ apply (A_below_V n (fun j => exp (s j)) v V); [intros; left; apply exp_pos| |exact values].
  apply sum_pos with j0; [intros; left; apply exp_pos|exact J0|apply exp_pos]. }
assert (R' : Rabs (x' - mean n (fun j => exp (s j)) v) <=
  radius (INR n) rho (gamma_c (bO + 10)) (gamma_c (bW + 10)) V (Rabs x') V).
{ refine (row_radius n s sh m e v l M (error * (1 + pow2 (-30))) rho V V _ _ rescaled out total
    _ _ _ _ _ _ _ _ kO kW bO bW _ _ _ _ _ _ _ _ _ _ _); try assumption.
  - intros j Hj. apply (depths j Hj).
  - intros j Hj. apply (depths j Hj).
  - lra. }
eapply Rle_trans; [exact R'|]. eapply Rle_trans; [|apply radius_enough; try assumption; try apply Rabs_pos; lra].
unfold radius. apply Rplus_le_compat_l, Rplus_le_compat.
- apply Rmult_le_compat_r; [exact PV|]. apply Rmult_le_compat_r; [assert (B := bpow_ge_0 radix2 (-98)); lra|lra].
- apply Rmult_le_compat_r; [apply bpow_ge_0|lra].
Qed.

(* The same row's log-sum-exp: L is the logarithm of the normaliser, x the float that holds this. *)
Variables (W : binary_float 53 1024).
Hypothesis normaliser : is_finite 53 1024 W = true /\ B2R 53 1024 W = fl rnd64 rnd64 total.
Let L := B2R 53 1024 (vd_log float64 W).

(** theorem: softmax_lse — the double tier's log-sum-exp (base e) under the same hypotheses: the shift plus the logarithm of the normaliser lies within the radius of the exact one, as enclose_lse evaluates it in float64. used by: src/softmax/enclose.c *)
Theorem softmax_lse : let x' := rnd64 (M + L) in
  Rabs (x' - ln (sum n (fun j => exp (s j)))) <= lse_c rho (gamma_c (bW + 10)) keys (Rabs L) (Rabs x').
Proof.
intros x'. destruct premises as [n_pos [PE [PR [Q1 [Q2 [Q3 [Q4 [Q5 [Q6 [Q7 Q8]]]]]]]]]].
destruct few as [_ [_ [W2 W3]]]. destruct normaliser as [FW EW].
set (w := fun j => exp (s j - M)).
assert (NB : Rabs (fl rnd64 rnd64 total - sum n w) <=
  (rho + gamma_c (bW + 10) * (1 + rho)) * sum n w + 5 / 4 * (INR n * pow2 (-98))).
{ eapply (row_normaliser n s sh m e l M (error * (1 + pow2 (-30))) rho (gamma_c (bW + 10)) rescaled total); try eassumption;
    try (intros j Hj; apply (depths j Hj)).
  destruct shallow as [_ [D2 D3]]. exact (conj D2 (conj D2 (fun j Hj => conj (proj2 (D3 j Hj)) (proj2 (D3 j Hj))))). }
assert (WL : 1 - pow2 (-10) <= sum n w).
{ eapply (W_large n s sh l M (error * (1 + pow2 (-30))) rho rescaled); eassumption. }
destruct counted_keys as [K1 K2].
assert (P98 : 0 < pow2 (-98)) by apply bpow_gt_0.
assert (KK : keys * pow2 (-98) <= pow2 (-38)).
{ replace (pow2 (-38)) with (pow2 60 * pow2 (-98)) by (rewrite <- bpow_plus; reflexivity). apply Rmult_le_compat_r; lra. }
assert (KN : INR n * pow2 (-98) <= keys * pow2 (-98)) by (apply Rmult_le_compat_r; lra).
assert (KP : 0 <= keys * pow2 (-98)) by (apply Rmult_le_pos; lra).
assert (P38 : pow2 (-38) <= / 1000000) by (simpl; lra).
assert (P16 : pow2 (-16) <= / 60000) by (simpl; lra). assert (P22 : pow2 (-22) <= / 4000000) by (simpl; lra).
assert (P10 : pow2 (-10) <= / 1000) by (simpl; lra).
set (g := gamma_c (bW + 10)) in *. set (tails := keys * (3 * pow2 (-98))).
assert (NB' : Rabs (fl rnd64 rnd64 total - sum n w) <= (rho + g * (1 + rho)) * sum n w + tails / 2) by (unfold tails; lra).
assert (C : (rho + g * (1 + rho)) * sum n w <= / 100 * sum n w).
{ apply Rmult_le_compat_r; [lra|]. assert (g * rho <= g * 1) by (apply Rmult_le_compat_l; lra). lra. }
assert (WN : pow2 (-1022) <= B2R 53 1024 W).
{ rewrite EW. apply Rle_trans with (/ 2); [apply Rle_trans with (pow2 (-1)); [apply bpow_le; lia|simpl; lra]|].
  apply Rabs_le_inv in NB'. unfold tails in NB'. lra. }
destruct (log64_error W FW WN) as [_ LE]. fold L in LE. rewrite EW in LE.
assert (P16' : pow2 (-38) <= / 1000 * pow2 (-16)).
{ apply Rle_trans with (pow2 (-22 + -16)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|lra]. }
assert (R := lse_radius (sum n w) (fl rnd64 rnd64 total) M L rho g tails WL (conj PR (proj2 (proj2 Q4)))
  (conj Q8 (proj2 Q6)) ltac:(unfold tails; split; nonneg; lra) NB' LE).
assert (E : ln (sum n (fun j => exp (s j))) = M + ln (sum n w)).
{ rewrite (sum_ext n (fun j => exp (s j)) (fun j => exp M * w j)).
  - rewrite sum_scal, ln_mult, ln_exp; [reflexivity|apply exp_pos|lra].
  - intros j _. unfold w. rewrite <- exp_plus. f_equal. ring. }
rewrite E. eapply Rle_trans; [exact R|].
apply (lse_enough keys rho g (Rabs L) (Rabs x')); try assumption; try apply Rabs_pos. lra.
Qed.
End Row.
