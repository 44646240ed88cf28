(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Thresholds of the double tier of the sparse kernels, the way threshold_weights, miss and threshold_shift
   in src/sparse/line.c evaluate them: whatever the solver has found, how far arguments may be off. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.weight softmax.terms
  sparse.power sparse.threshold sparse.mean sparse.deviation sparse.rows sparse.arguments sparse.shift.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

Lemma rnd_least b z : format64 b -> b <= z -> b <= rnd64 z.
Proof. intros F H. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact F|exact H]. Qed.
Lemma rnd_most b z : format64 b -> z <= b -> rnd64 z <= b.
Proof. intros F H. apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact F|exact H]. Qed.

(* ---- an argument after a subtraction that rounds ---- *)

Definition argument_error (e1 y : R) : R := rnd64 (e1 + rnd64 (rnd64 (u64 * Rabs y) * slack)).

(* It is above e1 without its slack, and the rounding of y. *)
Lemma argument_error_large d v x t : 0 <= d -> d * (1 + pow2 (-21)) <= x -> v <= u64 * Rabs t * (1 + pow2 (-40)) -> tiny <= x -> format64 x ->
  x <= argument_error x t /\ d + v <= argument_error x t.
Proof.
intros P1 E1 Y T1 F1. assert (U := u64_size). assert (N := tiny_small). assert (N0 := bpow_ge_0 radix2 (-1075)).
unfold argument_error. pose proof (Rabs_pos t) as Pt.
assert (Pu : 0 <= u64 * Rabs t) by (apply Rmult_le_pos; lra).
assert (Q1 := proj1 (product_near u64 (Rabs t) (proj1 U) Pt)). set (s1 := rnd64 (u64 * Rabs t)) in *.
assert (Ps : 0 <= s1) by (apply rnd_pos, Pu).
assert (Psl : 0 <= slack) by (change (pow2 (-20)) with (/ 1048576); lra).
assert (Q2 := proj1 (product_near s1 slack Ps Psl)). set (s2 := rnd64 (s1 * slack)) in *.
assert (Ps2 : 0 <= s2) by (apply rnd_pos, Rmult_le_pos; assumption).
split; [apply rnd_least; [exact F1|lra]|].
assert (C := plus_close x s2 F1 (rnd_format _)). rewrite (Rabs_pos_eq (x + s2)) in C by lra. apply Rabs_le_inv in C.
set (h := rnd64 (x + s2)) in *. set (k := u64 * Rabs t) in *. clearbody h k s1 s2.
change (pow2 (-20)) with (/ 1048576) in *. change (pow2 (-21)) with (/ 2097152) in *.
assert (B : pow2 (-40) <= / 1000000000) by (apply Rle_trans with (pow2 (-30)); [apply bpow_le; lia|change (pow2 (-30)) with (/ 1073741824); lra]).
assert (K40 : k * pow2 (-40) <= k * / 1000000000) by (apply Rmult_le_compat_l; lra).
assert (u64 * (x + s2) <= / 1000000000 * (x + s2)) by (apply Rmult_le_compat_r; lra).
assert (k * u64 <= k * / 1000000000) by (apply Rmult_le_compat_l; lra).
assert (s1 * (1 + / 1048576) * u64 <= s1 * (1 + / 1048576) * / 1000000000) by (apply Rmult_le_compat_l; lra).
assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
lra.
Qed.

(* ---- the power of an argument that was rounded ---- *)

Lemma ppow_rounded r m z y : 0 < r <= m -> m * u64 <= pow2 (-24) -> 0 < z -> Rabs (y - z) <= u64 * z ->
  0 < y /\ Rabs (ppow r z - ppow r y) <= 11/10 * (m * u64) * ppow r y.
Proof.
intros Hr Hm Hz H. assert (U := u64_size). change (pow2 (-24)) with (/ 16777216) in Hm. apply Rabs_le_inv in H.
assert (Uz : u64 * z <= / 1000000000 * z) by (apply Rmult_le_compat_r; lra).
assert (Hy : 0 < y) by lra. split; [exact Hy|].
assert (A1 := log_below (z / y) ltac:(apply Rdiv_lt_0_compat; lra)).
assert (A2 := log_below (y / z) ltac:(apply Rdiv_lt_0_compat; lra)).
unfold Rdiv in A1 at 1, A2 at 1. rewrite ln_mult, ln_Rinv in A1, A2 by (try apply Rinv_0_lt_compat; lra).
assert (B1 : z / y <= 1 + 1001/1000 * u64).
{ apply (Rmult_le_reg_r y); [exact Hy|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  assert (u64 * (z - u64 * z) <= u64 * y) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (u64 * z) <= / 1000000000 * (u64 * z)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]). lra. }
assert (B2 : y / z <= 1 + u64).
{ apply (Rmult_le_reg_r z); [exact Hz|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
set (t := r * (ln z - ln y)).
assert (E : ppow r z = ppow r y * exp t).
{ rewrite !ppow_pos by assumption. unfold Rpower, t. rewrite <- exp_plus. f_equal. ring. }
assert (mu : r * u64 <= m * u64) by (apply Rmult_le_compat_r; lra).
assert (T : Rabs t <= 1001/1000 * (m * u64)).
{ unfold t. rewrite Rabs_mult, (Rabs_pos_eq r) by lra. apply Rle_trans with (r * (1001/1000 * u64)); [|lra].
  apply Rmult_le_compat_l; [lra|]. apply Rabs_le. lra. }
set (k := m * u64) in *. assert (Pk : 0 <= k) by (apply Rmult_le_pos; lra). apply Rabs_le_inv in T.
assert (E1 : Rabs (exp t - 1) <= 11/10 * k).
{ pose proof (exp_above t). pose proof (exp_above (- t)) as N. 
  assert (I : exp t * (1 - t) <= 1).
  { replace 1 with (exp t * exp (- t)) at 2 by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    apply Rmult_le_compat_l; [left; apply exp_pos|lra]. }
  pose proof (exp_pos t) as P.
  assert (exp t * t <= exp t * (1001/1000 * k)) by (apply Rmult_le_compat_l; lra).
  assert (X : exp t * (1 - 1001/1000 * k) <= 1) by lra.
  assert (exp t <= 2).
  { assert (exp t * (1001/1000 * k) <= exp t * / 2) by (apply Rmult_le_compat_l; lra). lra. }
  assert (exp t * (1001/1000 * k) <= (1 + 1/100) * (1001/1000 * k)); [|apply Rabs_le; lra].
  apply Rmult_le_compat_r; [lra|].
  assert (exp t * (1001/1000 * k) <= 2 * (1001/1000 * k)) by (apply Rmult_le_compat_r; lra). lra. }
rewrite E. replace (ppow r y * exp t - ppow r y) with ((exp t - 1) * ppow r y) by ring.
pose proof (ppow_nonneg r y). rewrite Rabs_mult, (Rabs_pos_eq (ppow r y)) by assumption. apply Rmult_le_compat_r; assumption.
Qed.

Section Weights.
Variables (n : nat) (r m : R) (p rel : R -> R) (g : nat -> R) (u : R).
Hypothesis r_pos : 0 < r <= m.
Hypothesis m_small : 1 <= m /\ m * u64 <= pow2 (-24).
Hypothesis power : forall z, format64 z -> 0 < z -> powered r z (p z) (rel z).
Hypothesis g_format : forall j, (j < n)%nat -> format64 (g j).
Hypothesis u_format : format64 u.
Definition argument (u : R) (g : nat -> R) (j : nat) : R := rnd64 (u - g j).
Definition weight (p : R -> R) (y : R) : R := if Rle_dec y 0 then 0 else p y.
Let y := argument u g.
Let w j := weight p (y j).
(* relative, or nothing where there is no weight *)
Definition relative (rel : R -> R) (y : R) : R := if Rle_dec y 0 then 0 else rel y.

Lemma weight_off j : (j < n)%nat -> 0 <= w j /\ 0 <= relative rel (y j) <= 1 /\
  Rabs (ppow r (u - g j) - w j) <= (1 + pow2 (-22)) * (w j * (relative rel (y j) + 17/10 * (m * u64))) + pow2 (-1008).
Proof.
intros Hj. assert (U := u64_size). assert (B8 : pow2 (-1008) = 4 * pow2 (-1010)) by (change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity).
assert (B10 := bpow_ge_0 radix2 (-1010)).
assert (C := minus_close u (g j) u_format (g_format j Hj)). fold (argument u g j) in C. fold y in C. unfold w, weight, relative.
set (z := u - g j) in *. destruct (Rle_dec (y j) 0) as [L|L].
- assert (Z : z <= 0).
  { apply Rnot_lt_le. intros Z. rewrite (Rabs_pos_eq z) in C by lra. apply Rabs_le_inv in C.
    assert (u64 * z <= / 1000000000 * z) by (apply Rmult_le_compat_r; lra). lra. }
  rewrite ppow_zero by exact Z. rewrite Rminus_0_r, Rabs_R0, Rmult_0_l, Rmult_0_r. lra.
- assert (Z : 0 < z).
  { apply Rnot_le_lt. intros Z. apply L. apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_0|exact Z]. }
  rewrite (Rabs_pos_eq z) in C by lra.
  destruct (ppow_rounded r m z (y j) r_pos (proj2 m_small) Z C) as [Py D].
  destruct (power (y j) (rnd_format _) Py) as [_ [_ [P0 [Pr [[Q1 Q2] _]]]]].
  set (q := ppow r (y j)) in *. set (pp := p (y j)) in *. set (e := rel (y j)) in *.
  assert (Pe : 0 <= e <= 1) by lra. split; [exact P0|]. split; [exact Pe|].
  assert (Dw : Rabs (q - pp) <= e * pp + pow2 (-1010)) by (apply Rabs_le; lra).
  set (k := m * u64) in *. destruct m_small as [M1 M2]. fold k in M2. change (pow2 (-24)) with (/ 16777216) in M2.
  assert (Pk : 0 <= k) by (apply Rmult_le_pos; lra).
  replace (ppow r z - pp) with ((ppow r z - q) + (q - pp)) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  assert (11/10 * k * q <= 11/10 * k * ((1 + e) * pp + pow2 (-1010))) by (apply Rmult_le_compat_l; lra).
  assert (k * pow2 (-1010) <= 1 * pow2 (-1010)) by (apply Rmult_le_compat_r; lra).
  assert (Kp : 0 <= k * pp) by (apply Rmult_le_pos; lra).
  assert (Ep : 0 <= e * pp) by (apply Rmult_le_pos; lra).
  change (pow2 (-22)) with (/ 4194304).
  destruct Pr as [Pr|Pr].
  + assert (e * (k * pp) <= / 2 * (k * pp)) by (apply Rmult_le_compat_r; lra). lra.
  + rewrite Pr in *. assert (k * pp <= / 16777216 * pp) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* ---- off, the sum, the residual ---- *)

Variables (mc : R) (off_t sum_t : tree).
Hypothesis mc_large : m <= mc * (1 + pow2 (-30)).
Definition doubt (rel : R -> R) (mc y : R) : R := rnd64 (relative rel y + rnd64 (2 * mc * u64)).
Hypothesis offs : dotted off_t n w (fun j => doubt rel mc (y j)).
Hypothesis sums : added sum_t (chain_depth n) n w.
Hypothesis few : INR (S n) * u64 <= pow2 (-30) /\ INR (S (chain_depth n)) * u64 <= pow2 (-30).
Let total := fl rnd64 rnd64 sum_t.
Definition off_sum (n : nat) (offs total : R) : R :=
  rnd64 (rnd64 (offs + rnd64 (total * rnd64 (gamma_c (S (chain_depth n)) + 4 * u64))) * slack).
Let o := off_sum n (fl rnd64 rnd64 off_t) total.

Lemma w_nonneg j : (j < n)%nat -> 0 <= w j.
Proof. intros Hj. apply (weight_off j Hj). Qed.

(* The sum of exact powers is within o of the one computed, and 4.5 u times that are left. *)
Lemma held_close : / 4 <= total -> Rabs (held n r g u - total) <= o - 9/2 * u64 * total.
Proof.
unfold o, off_sum. intros T4. assert (U := u64_size). assert (N0 := bpow_ge_0 radix2 (-1075)).
destruct sums as [Zs [Ps [Ss Ds]]]. assert (HS := plain_sum _ _ _ Ps Ss). fold total in HS.
rewrite (sum_ext n (fun j => Rabs (w j)) w) in HS by (intros; apply Rabs_pos_eq, w_nonneg; assumption).
set (W := sum n w) in *. assert (PW : 0 <= W) by (apply sum_nonneg, w_nonneg).
destruct few as [F1 F2].
(* the depth of the sum *)
assert (G := gamma_up (S (chain_depth n)) u64 (proj1 U) ltac:(apply Rle_trans with (1 := F2), bpow_le; lia)).
assert (GC := gamma_c_bounds (S (chain_depth n)) ltac:(lia)). set (gc := gamma_c (S (chain_depth n))) in *.
assert (Gd : (1 + u64) ^ depth sum_t - 1 + u64 <= gc).
{ assert ((1 + u64) ^ depth sum_t <= (1 + u64) ^ chain_depth n) by (apply Rle_pow; [lra|exact Ds]).
  rewrite <- tech_pow_Rmult in G. pose proof (pow_R1_Rle (1 + u64) (chain_depth n) ltac:(lra)) as H1.
  apply (Rmult_le_compat_l u64) in H1; [|lra]. lra. }
set (gs := (1 + u64) ^ depth sum_t - 1) in *.
assert (Pgs : 0 <= gs) by (unfold gs; pose proof (pow_R1_Rle (1 + u64) (depth sum_t) ltac:(lra)); lra).
assert (Gm : gc <= / 500000000).
{ apply Rle_trans with (1 := proj2 GC). change (pow2 (-30)) with (/ 1073741824) in F2. change (pow2 (-19)) with (/ 524288). lra. }
clearbody gc gs. clear G GC.
assert (WT : W <= (1 + 101/100 * gs) * total).
{ apply Rabs_le_inv in HS. assert (gs * W <= / 500000000 * W) by (apply Rmult_le_compat_r; lra).
  assert (X : W * (1 - gs) <= total) by lra. assert (gs * (W * (1 - gs)) <= gs * total) by (apply Rmult_le_compat_l; lra).
  assert (0 <= gs * W) by (apply Rmult_le_pos; lra).
  assert (gs * (gs * W) <= / 500000000 * (gs * W)) by (apply Rmult_le_compat_r; lra). lra. }
assert (WT2 : W <= 2 * total).
{ assert (gs * total <= / 2 * total) by (apply Rmult_le_compat_r; lra). lra. }
(* the errors of the weights *)
set (k := m * u64) in *. destruct m_small as [M1 M2]. fold k in M2. change (pow2 (-24)) with (/ 16777216) in M2.
assert (Pk : u64 <= k) by (unfold k; assert (1 * u64 <= m * u64) by (apply Rmult_le_compat_r; lra); lra).
set (c j := relative rel (y j) + 17/10 * k).
assert (HF : Rabs (held n r g u - W) <= (1 + pow2 (-22)) * sum n (fun j => w j * c j) + INR n * pow2 (-1008)).
{ unfold held, W. rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|].
  rewrite <- sum_scal, <- sum_const, <- sum_plus. apply sum_le. intros j Hj. apply weight_off, Hj. }
set (A := sum n (fun j => w j * c j)) in *.
assert (PA : 0 <= A).
{ apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [apply w_nonneg, Hj|]. unfold c. destruct (weight_off j Hj) as [_ [R1 _]]. lra. }
assert (mc_k : 2 * k * (1 - pow2 (-29)) <= 2 * mc * u64).
{ change (pow2 (-29)) with (/ 536870912). change (pow2 (-30)) with (/ 1073741824) in mc_large.
  apply (Rmult_le_compat_r u64) in mc_large; [|lra]. fold k in mc_large.
  assert (0 <= mc * u64) by lra. lra. }
change (pow2 (-29)) with (/ 536870912) in mc_k.
assert (doubt_large : forall j, (j < n)%nat -> (1 - u64) * c j <= doubt rel mc (y j)).
{ intros j Hj. destruct (weight_off j Hj) as [_ [R1 _]]. unfold doubt, c. set (e := relative rel (y j)) in *.
  assert (P2 : 0 <= 2 * mc * u64) by lra.
  assert (R2 := rounded (2 * mc * u64)). rewrite (Rabs_pos_eq _ P2) in R2. apply Rabs_le_inv in R2. set (b := rnd64 (2 * mc * u64)) in *.
  assert (Eu : eta <= / 1000 * u64).
  { apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
  assert (u64 * (2 * mc * u64) <= / 1000000000 * (2 * mc * u64)) by (apply Rmult_le_compat_r; lra).
  assert (B1 : 195/100 * k <= b) by lra.
  assert (Peb : 0 <= e + b) by lra.
  assert (R3 := rounded (e + b)). rewrite (Rabs_pos_eq _ Peb) in R3. apply Rabs_le_inv in R3.
  assert (0 <= u64 * e) by (apply Rmult_le_pos; lra). assert (u64 * b >= u64 * (195/100 * k)) by (apply Rle_ge, Rmult_le_compat_l; lra).
  assert (u64 * b <= / 1000000000 * b) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * k) by (apply Rmult_le_pos; lra). lra. }
set (A' := sum n (fun j => w j * doubt rel mc (y j))).
assert (PD : forall j, (j < n)%nat -> 0 <= doubt rel mc (y j)).
{ intros j Hj. apply Rle_trans with (2 := doubt_large j Hj). destruct (weight_off j Hj) as [_ [R1 _]]. unfold c. apply Rmult_le_pos; lra. }
assert (AA : (1 - u64) * A <= A').
{ unfold A, A'. rewrite <- sum_scal. apply sum_le. intros j Hj.
  replace ((1 - u64) * (w j * c j)) with (w j * ((1 - u64) * c j)) by ring. apply Rmult_le_compat_l; [apply w_nonneg, Hj|apply doubt_large, Hj]. }
assert (DO := dotted_off _ _ _ _ offs F1). cbv beta in DO.
rewrite (sum_ext n (fun j => Rabs (w j) * Rabs (doubt rel mc (y j))) (fun j => w j * doubt rel mc (y j))) in DO
  by (intros j Hj; rewrite (Rabs_pos_eq (w j)), (Rabs_pos_eq (doubt _ _ _)) by (apply w_nonneg, Hj || apply PD, Hj); reflexivity).
fold A' in DO. destruct (gamma_small n F1) as [G [_ _]]. set (gn := (1 + u64) ^ S n - 1) in *.
assert (F1' := F1). change (pow2 (-30)) with (/ 1073741824) in F1'.
assert (Pgn : 0 <= gn <= / 900000000) by lra.
assert (PA' : 0 <= A') by (apply sum_nonneg; intros j Hj; apply Rmult_le_pos; [apply w_nonneg, Hj|apply PD, Hj]).
assert (GA : gn * A' <= / 900000000 * A') by (apply Rmult_le_compat_r; lra).
set (off0 := fl rnd64 rnd64 off_t) in *. apply Rabs_le_inv in DO.
assert (O1 : A' * (1 - / 900000000) - tiny_all <= off0) by lra.
assert (UA : u64 * A <= / 1000000000 * A) by (apply Rmult_le_compat_r; lra).
assert (O2 : A * (1 - / 400000000) - tiny_all <= off0) by lra.
assert (Eu : eta <= / 1000000000 * u64).
{ apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
assert (Ut : u64 * / 4 <= u64 * total) by (apply Rmult_le_compat_l; lra).
assert (P4 : 0 <= gc + 4 * u64) by lra.
assert (R4 := rounded (gc + 4 * u64)). rewrite (Rabs_pos_eq _ P4) in R4. apply Rabs_le_inv in R4. set (s4 := rnd64 (gc + 4 * u64)) in *.
assert (u64 * (gc + 4 * u64) <= u64 * / 100000000) by (apply Rmult_le_compat_l; lra).
assert (S4 : gc + 399/100 * u64 <= s4 <= / 1000) by lra.
assert (T4b : total * (gc + 399/100 * u64) <= total * s4) by (apply Rmult_le_compat_l; lra).
assert (P5 : 0 <= total * s4) by (apply Rmult_le_pos; lra).
assert (R5 := rounded (total * s4)). rewrite (Rabs_pos_eq _ P5) in R5. apply Rabs_le_inv in R5. set (s5 := rnd64 (total * s4)) in *.
assert (u64 * (total * s4) <= / 1000 * (u64 * total)).
{ replace (u64 * (total * s4)) with (s4 * (u64 * total)) by ring. apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]. }
assert (S5 : total * (gc + 398/100 * u64) <= s5) by lra.
set (B := A * (1 - / 400000000) + total * (gc + 398/100 * u64) - tiny_all).
assert (B1 : B <= off0 + s5) by (unfold B; lra).
assert (Tn : tiny_all <= / 1000 * u64).
{ apply Rle_trans with (pow2 (-10) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-10)) with (/ 1024); lra]. }
assert (Tn0 := bpow_ge_0 radix2 (-1034)).
assert (P6 : 0 <= total * gc) by (apply Rmult_le_pos; lra).
assert (PB : 0 <= B).
{ unfold B. lra. }
assert (R6 := rounded (off0 + s5)). rewrite (Rabs_pos_eq (off0 + s5)) in R6 by lra. apply Rabs_le_inv in R6.
set (s6 := rnd64 (off0 + s5)) in *.
assert (u64 * (off0 + s5) <= / 1000000000 * (off0 + s5)) by (apply Rmult_le_compat_r; lra).
assert (S6 : B * (1 - / 1000000000) - eta <= s6) by lra.
assert (P7 : 0 <= s6) by (apply rnd_pos; lra).
assert (P8 : 0 <= s6 * slack) by (apply Rmult_le_pos; [exact P7|change (pow2 (-20)) with (/ 1048576); lra]).
assert (R7 := rounded (s6 * slack)). rewrite (Rabs_pos_eq _ P8) in R7. apply Rabs_le_inv in R7. set (oo := rnd64 (s6 * slack)) in *.
assert (u64 * (s6 * slack) <= / 1000000000 * (s6 * slack)) by (apply Rmult_le_compat_r; lra).
change (pow2 (-20)) with (/ 1048576) in *. change (pow2 (-22)) with (/ 4194304) in HF.
assert (Nn : INR n * pow2 (-1008) <= / 1000 * u64).
{ assert (I : INR n <= pow2 23).
  { apply (Rmult_le_reg_r u64); [apply bpow_gt_0|]. rewrite <- bpow_plus. rewrite S_INR in F1.
    change (23 + -53)%Z with (-30)%Z. lra. }
  apply Rle_trans with (pow2 23 * pow2 (-1008)); [apply Rmult_le_compat_r; [apply bpow_ge_0|exact I]|].
  rewrite <- bpow_plus. apply Rle_trans with (pow2 (-10) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_r; [lra|change (pow2 (-10)) with (/ 1024); lra]. }
assert (GW : gs * W <= total * gs * (1 + / 4000000)).
{ apply (Rmult_le_compat_l gs) in WT; [|exact Pgs]. assert (0 <= total * gs) by (apply Rmult_le_pos; lra).
  assert (gs * (total * gs) <= / 500000000 * (total * gs)) by (apply Rmult_le_compat_r; lra). lra. }
assert (GG : total * (gs + u64) <= total * gc) by (apply Rmult_le_compat_l; lra).
replace (held n r g u - total) with ((held n r g u - W) - (total - W)) by ring.
unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
assert (0 <= total * gs) by (apply Rmult_le_pos; lra).
assert (BB : B * (1 + / 2000000) <= oo + / 1000 * u64) by lra.
unfold B in BB. lra.
Qed.

(* ---- miss ---- *)

Definition miss_least (total o : R) : R := Rmin 1 (rnd64 (total - o)).
Definition miss_m (total o rm : R) : R :=
  rnd64 (Rmax (rnd64 (rnd64 (total + o) - 1)) (rnd64 (1 - rnd64 (total - o))) / rnd64 (rm * miss_least total o)).
Definition miss_c (total o rm : R) : R := (* where least > 1/2 and m < 1/2 *)
  rnd64 (rnd64 (miss_m total o rm * rnd64 (1 + rnd64 (2 * miss_m total o rm))) * (1 + pow2 (-19))).

Variables (rm root : R).
Hypothesis rm_ok : pow2 (-900) <= rm <= r * (1 + 2 * u64).
Hypothesis root_ok : held n r g root = 1.
Hypothesis least_large : / 2 < miss_least total o.
Hypothesis m_half : miss_m total o rm < / 2.
Hypothesis residual_small : miss_c total o rm < pow2 (-10).

Lemma total_pos : 0 <= total.
Proof.
destruct sums as [Z [P [S _]]]. apply (fl_sum_pos _ _ _ _ Z S). intros j Hj. pose proof (w_nonneg j Hj). lra.
Qed.

Lemma o_pos : 0 <= o.
Proof.
assert (U := u64_size). unfold o, off_sum.
assert (PO : 0 <= fl rnd64 rnd64 off_t).
{ destruct offs as [Z [S _]]. apply (fl_sum_pos _ _ _ _ Z S). intros j Hj. apply Rmult_le_pos; [apply w_nonneg, Hj|].
  destruct (weight_off j Hj) as [_ [R1 _]]. unfold doubt. apply rnd_pos. apply Rplus_le_le_0_compat; [lra|]. apply rnd_pos.
  destruct m_small as [M1 _]. change (pow2 (-30)) with (/ 1073741824) in mc_large. assert (0 <= mc) by lra. apply Rmult_le_pos; lra. }
assert (PG : 0 <= gamma_c (S (chain_depth n))).
{ unfold gamma_c. repeat apply rnd_pos || apply Rmult_le_pos; try apply pos_INR; try apply bpow_ge_0. change (pow2 (-20)) with (/ 1048576). lra. }
apply rnd_pos, Rmult_le_pos; [|change (pow2 (-20)) with (/ 1048576); lra]. apply rnd_pos, Rplus_le_le_0_compat; [exact PO|].
apply rnd_pos, Rmult_le_pos; [exact total_pos|]. apply rnd_pos. lra.
Qed.

Lemma miss_enough : Rabs (u - root) * (1 + pow2 (-20)) <= miss_c total o rm.
Proof.
assert (U := u64_size). assert (T0 := total_pos). assert (O0 := o_pos). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
assert (Ft : format64 total) by (apply plain_format, sums). assert (Fo : format64 o) by apply rnd_format.
unfold miss_c, miss_m, miss_least in *. set (sL := rnd64 (total - o)) in *. set (L := Rmin 1 sL) in *.
assert (L1 : L <= 1 /\ L <= sL) by (split; [apply Rmin_l|apply Rmin_r]).
assert (TO : / 4 <= total - o).
{ apply Rnot_lt_le. intros C. assert (sL <= / 4); [|lra]. replace (/ 4) with (pow2 (-2)) by (simpl; lra).
  apply rnd_most; [apply format_bpow; lia|simpl; lra]. }
assert (HC := held_close ltac:(lra)). set (F := held n r g u) in *. apply Rabs_le_inv in HC.
assert (Ut : u64 * / 4 <= u64 * total) by (apply Rmult_le_compat_l; lra).
assert (C1 := minus_close total o Ft Fo). fold sL in C1. rewrite (Rabs_pos_eq (total - o)) in C1 by lra. apply Rabs_le_inv in C1.
assert (Uto : u64 * (total - o) <= u64 * total) by (apply Rmult_le_compat_l; lra).
assert (Bu : u64 * total <= / 1000000000 * total) by (apply Rmult_le_compat_r; lra).
(* the sum is not large, else m would be *)
assert (Bm : m <= pow2 29).
{ apply (Rmult_le_reg_r u64); [apply bpow_gt_0|]. rewrite <- bpow_plus. apply m_small. }
change (pow2 29) with 536870912 in Bm.
assert (R1 : r * (1 + 2 * u64) <= 536870914).
{ assert (r * u64 <= 536870912 * / 1000000000) by (apply Rmult_le_compat; lra). lra. }
assert (PL : 0 < L) by lra. assert (Prm : 0 < rm) by (apply Rlt_le_trans with (2 := proj1 rm_ok), bpow_gt_0).
set (a := rnd64 (rnd64 (total + o) - 1)) in *. set (b := rnd64 (1 - sL)) in *. set (most := Rmax a b) in *.
assert (Ma : a <= most) by apply Rmax_l. assert (Mb : b <= most) by apply Rmax_r.
assert (PrL : 0 < rm * L) by (apply Rmult_lt_0_compat; assumption).
assert (Q1 := proj2 (product_near rm L (Rlt_le _ _ Prm) (Rlt_le _ _ PL))).
assert (Q2 := proj1 (product_near rm L (Rlt_le _ _ Prm) (Rlt_le _ _ PL))).
assert (Er : eta <= u64 * (rm * L) * / 1000).
{ apply Rle_trans with (u64 * (pow2 (-900) * pow2 (-1)) * pow2 (-10)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat; try (apply bpow_ge_0); try (change (pow2 (-10)) with (/ 1024); lra).
  - apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; apply bpow_ge_0.
  - apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat; try apply bpow_ge_0; [apply rm_ok|simpl; lra]. }
set (q := rnd64 (rm * L)) in *.
assert (UrL : u64 * (rm * L) <= / 1000000000 * (rm * L)) by (apply Rmult_le_compat_r; lra).
assert (Pq : 0 < q) by lra.
assert (rL : rm * L <= r * (1 + 2 * u64) * L) by (apply Rmult_le_compat_r; [lra|apply rm_ok]).
assert (rL1 : r * L <= 536870912 * 1) by (apply Rmult_le_compat; lra).
assert (PrL' : 0 < r * L) by (apply Rmult_lt_0_compat; lra).
assert (Uu : u64 * (r * L) <= / 1000000000 * (r * L)) by (apply Rmult_le_compat_r; lra).
assert (Qr : q <= r * L * (1 + 4 * u64)).
{ assert (u64 * (u64 * (r * L)) <= / 1000000000 * (u64 * (r * L))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (u64 * (rm * L) <= u64 * (r * (1 + 2 * u64) * L)) by (apply Rmult_le_compat_l; lra). 
  assert (0 <= u64 * (r * L)) by (apply Rmult_le_pos; lra). lra. }
assert (Bq : q <= 536870920).
{ lra. }
set (m' := rnd64 (most / q)) in *.
assert (Tb : total <= 4294967296).
{ apply Rnot_lt_le. intros C. assert (s : 4294967296 <= rnd64 (total + o)) by (change 4294967296 with (pow2 32); apply rnd_least; [apply format_bpow; lia|change (pow2 32) with 4294967296; lra]).
  assert (s2 : 2147483648 <= a) by (change 2147483648 with (pow2 31); apply rnd_least; [apply format_bpow; lia|change (pow2 31) with 2147483648; lra]).
  assert (s3 : 1 <= m'); [|lra]. apply rnd_least; [exact F1|]. apply (Rmult_le_reg_r q); [exact Pq|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
assert (Uut : u64 * (u64 * total) <= / 1000000 * u64).
{ rewrite (Rmult_comm (/ 1000000)). apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (u64 * 4294967296); [apply Rmult_le_compat_l; lra|]. change u64 with (/ 9007199254740992). lra. }
(* most is above both distances *)
assert (B1 : 1 - F + u64 * total <= b).
{ assert (R := rounded (1 - sL)). fold b in R. apply Rabs_le_inv in R.
  assert (Rabs (1 - sL) <= 2 * total) by (apply Rabs_le; lra).
  assert (u64 * Rabs (1 - sL) <= u64 * (2 * total)) by (apply Rmult_le_compat_l; lra).
  assert (eta <= / 1000 * u64).
  { apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
  lra. }
assert (FL : L <= F) by lra.
assert (A1 : 1 <= total + o -> total + o - 1 - 4 * u64 * total <= a).
{ intros S1. set (s := rnd64 (total + o)) in *. assert (Ls : 1 <= s) by (apply rnd_least; [exact F1|exact S1]).
  assert (C2 := plus_close total o Ft Fo). fold s in C2. rewrite (Rabs_pos_eq (total + o)) in C2 by lra. apply Rabs_le_inv in C2.
  assert (C3 := minus_close s 1 (rnd_format _) F1). fold a in C3. rewrite (Rabs_pos_eq (s - 1)) in C3 by lra. apply Rabs_le_inv in C3.
  assert (u64 * (total + o) <= u64 * (2 * total)) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (s - 1) <= u64 * (total + o + u64 * (2 * total) - 1)) by (apply Rmult_le_compat_l; lra). lra. }
assert (A2 : 1 < F -> F - 1 + / 2 * u64 * total <= a).
{ intros S1. assert (1 <= total + o) by lra. specialize (A1 H). lra. }
assert (Pm : / 8 * u64 <= most).
{ destruct (Rle_lt_dec F 1) as [S1|S1]; [lra|]. specialize (A2 S1). lra. }
set (mr := most / q) in *.
assert (Em : most = mr * q) by (unfold mr; field; lra).
assert (Pmr : / 8 * u64 * / 536870920 <= mr).
{ apply (Rmult_le_reg_r q); [exact Pq|]. rewrite <- Em. apply Rle_trans with (2 := Pm).
  assert (/ 8 * u64 * / 536870920 * q <= / 8 * u64 * / 536870920 * 536870920) by (apply Rmult_le_compat_l; lra). lra. }
assert (Ee : eta <= / 1000 * u64 * mr).
{ apply Rle_trans with (/ 1000 * u64 * (/ 8 * u64 * / 536870920)).
  - apply Rle_trans with (pow2 (-10) * u64 * (pow2 (-3) * u64 * pow2 (-30))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
    change (pow2 (-10)) with (/ 1024). change (pow2 (-3)) with (/ 8). change (pow2 (-30)) with (/ 1073741824).
    assert (0 <= u64 * u64) by (apply Rmult_le_pos; lra). lra.
  - apply Rmult_le_compat_l; lra. }
assert (Pmr0 : 0 <= mr) by lra.
assert (R5 := rounded mr). rewrite (Rabs_pos_eq mr) in R5 by exact Pmr0. fold m' in R5. apply Rabs_le_inv in R5.
assert (Umr : 0 <= u64 * mr <= / 1000000000 * mr) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (Hm' : mr * (1 - 11/10 * u64) <= m') by lra.
set (m0 := m' * (1 + 8 * u64)).
assert (UU : 0 <= u64 * u64 <= / 1000000000 * u64) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (Pm' : 0 <= m').
{ apply Rle_trans with (2 := Hm'). apply Rmult_le_pos; lra. }
assert (M0 : most <= m0 * (r * L)).
{ assert (X1 : mr * (1 - 11/10 * u64) * (1 + 8 * u64) <= m0) by (apply Rmult_le_compat_r; lra).
  assert (X2 : mr * (1 + 4 * u64) <= mr * ((1 - 11/10 * u64) * (1 + 8 * u64))) by (apply Rmult_le_compat_l; lra).
  assert (X3 : mr * (1 + 4 * u64) * (r * L) <= m0 * (r * L)) by (apply Rmult_le_compat_r; lra).
  rewrite Em. apply Rle_trans with (2 := X3). apply Rle_trans with (mr * (r * L * (1 + 4 * u64))); [apply Rmult_le_compat_l; lra|right; ring]. }
(* m' below the residual *)
set (s2 := rnd64 (1 + rnd64 (2 * m'))) in *.
assert (Fm' : format64 m') by apply rnd_format.
assert (P2 := plus_close m' m' Fm' Fm'). replace (m' + m') with (2 * m') in P2 by ring. rewrite (Rabs_pos_eq (2 * m')) in P2 by lra. apply Rabs_le_inv in P2.
assert (Um0 : 0 <= u64 * m' <= / 1000000000 * m') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (C6 := plus_close 1 (rnd64 (2 * m')) F1 (rnd_format _)). fold s2 in C6. rewrite (Rabs_pos_eq (1 + rnd64 (2 * m'))) in C6 by lra. apply Rabs_le_inv in C6.
assert (S2 : (1 + 2 * m') * (1 - 2 * u64) <= s2).
{ assert (0 <= (rnd64 (2 * m') - 2 * m' * (1 - u64)) * (1 - u64)) by (apply Rmult_le_pos; lra).
  assert (0 <= u64 * (u64 * m')) by (apply Rmult_le_pos; lra). lra. }
assert (S21 : 1 <= s2) by (apply rnd_least; [exact F1|lra]).
assert (mS : m' <= rnd64 (m' * s2)).
{ apply rnd_least; [apply rnd_format|]. rewrite <- (Rmult_1_r m') at 1. apply Rmult_le_compat_l; lra. }
assert (Q6 := proj1 (product_near m' s2 Pm' ltac:(lra))). set (s3 := rnd64 (m' * s2)) in *.
assert (P19 : 0 <= 1 + pow2 (-19)) by (change (pow2 (-19)) with (/ 524288); lra).
assert (Q7 := proj1 (product_near s3 (1 + pow2 (-19)) ltac:(lra) P19)).
change (pow2 (-19)) with (/ 524288) in *. change (pow2 (-20)) with (/ 1048576). change (pow2 (-10)) with (/ 1024) in *.
assert (mR : m' <= / 1024).
{ assert (m' <= rnd64 (s3 * (1 + / 524288))); [|lra]. apply rnd_least; [apply rnd_format|lra]. }
set (res := rnd64 (s3 * (1 + / 524288))) in *.
assert (Um : 0 <= u64 * m' <= u64 * / 1024) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
assert (Um2 : u64 * m' <= / 1000000000 * m') by (apply Rmult_le_compat_r; lra).
assert (M02 : 0 <= m0 <= / 2) by (unfold m0; split; [apply Rmult_le_pos; lra|lra]).
assert (MI := missed n r g u root ltac:(lra) root_ok m0 M02 ltac:(fold F; lra)).
fold F in MI.
assert (LO : 1 - F <= m0 * (r * F)).
{ apply Rle_trans with most; [lra|]. apply Rle_trans with (1 := M0). apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
assert (HI : F - 1 <= m0 * r).
{ destruct (Rle_lt_dec F 1) as [S1|S1]; [assert (0 <= m0 * r) by (apply Rmult_le_pos; lra); lra|]. specialize (A2 S1).
  apply Rle_trans with most; [lra|]. apply Rle_trans with (1 := M0). apply Rmult_le_compat_l; [lra|]. rewrite <- (Rmult_1_r r) at 2. apply Rmult_le_compat_l; lra. }
specialize (MI LO HI).
assert (Ee' : eta <= / 500 * u64 * m').
{ apply Rle_trans with (1 := Ee). assert (u64 * (mr * (1 - 11/10 * u64)) <= u64 * m') by (apply Rmult_le_compat_l; lra).
  assert (0 <= u64 * mr) by lra. assert (u64 * (u64 * mr) <= / 1000000000 * (u64 * mr)) by (apply Rmult_le_compat_r; lra). lra. }
set (k := m' * (1 + 2 * m')).
assert (Pk : m' <= k <= 1003/1000 * m').
{ unfold k. assert (0 <= m' * m' <= / 1024 * m') by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]). lra. }
assert (K1 : m0 * (1 + 2 * m0) <= k * (1 + 20 * u64)).
{ unfold m0, k.
  replace (m' * (1 + 8 * u64) * (1 + 2 * (m' * (1 + 8 * u64)))) with (m' * ((1 + 8 * u64) * (1 + 2 * (m' * (1 + 8 * u64))))) by ring.
  rewrite (Rmult_assoc m'). apply Rmult_le_compat_l; [exact Pm'|].
  assert (0 <= m' * (u64 * u64) <= / 1024 * (u64 * u64)) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]). lra. }
assert (K2 : k * (1 - 2 * u64) <= m' * s2).
{ unfold k. rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
assert (Uk : 0 <= u64 * k <= / 1000000000 * k) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (Umk : u64 * m' <= u64 * k) by (apply Rmult_le_compat_l; lra).
assert (K3 : k * (1 - 2 * u64) * (1 - u64) <= m' * s2 * (1 - u64)) by (apply Rmult_le_compat_r; lra).
assert (u64 * (u64 * k) <= / 1000000000 * (u64 * k)) by (apply Rmult_le_compat_r; lra).
assert (0 <= u64 * (u64 * k)) by (apply Rmult_le_pos; lra).
assert (K4 : k * (1 - 4 * u64) <= s3) by lra.
assert (K5 : k * (1 - 4 * u64) * (1 + / 524288) * (1 - u64) <= s3 * (1 + / 524288) * (1 - u64)).
{ apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_r; lra. }
assert (K6 : Rabs (u - root) <= k * (1 + 20 * u64)) by lra.
lra.
Qed.
End Weights.

(* ---- gaps ---- *)

Section Gap.
(* z: a score, L: the largest; al = alpha - 1, a in double, off by at most ae *)
Variables (Z z e L al a ae : R).
Hypothesis z_off : Rabs (Z - z) <= e.
Hypothesis z_format : format64 z /\ format64 L.
Hypothesis below : z <= L.
Hypothesis a_off : Rabs (al - a) <= ae.
Hypothesis a_format : format64 a /\ format64 ae.
Hypothesis a_near : ae <= / 2 * a.
Definition gap_c (a L z : R) : R := rnd64 (a * rnd64 (L - z)).
Definition gap_error (e a ae L z : R) : R :=
  rnd64 (rnd64 (rnd64 (rnd64 (rnd64 (e * rnd64 (a + ae)) + rnd64 (ae * rnd64 (L - z))) + rnd64 (3 * u64 * gap_c a L z)) + tiny) * slack).

Lemma gap_close : Rabs (al * (L - Z) - gap_c a L z) * (1 + pow2 (-21)) <= gap_error e a ae L z.
Proof.
assert (U := u64_size). assert (EM := eta_many). assert (N0 := bpow_ge_0 radix2 (-1075)). assert (Tn : 0 <= tiny) by apply bpow_ge_0.
assert (Pe : 0 <= e) by (eapply Rle_trans; [apply Rabs_pos|exact z_off]).
assert (Pae : 0 <= ae) by (eapply Rle_trans; [apply Rabs_pos|exact a_off]). assert (Pa : 0 <= a) by lra.
destruct z_format as [Fz FL]. destruct a_format as [Fa Fae].
assert (C := minus_close L z FL Fz). rewrite (Rabs_pos_eq (L - z)) in C by lra. set (zz := rnd64 (L - z)) in *.
assert (Pzz : 0 <= zz) by (apply rnd_pos; lra).
assert (PG : 0 <= a * zz) by (apply Rmult_le_pos; assumption).
assert (R := rounded_by (a * zz)). set (g := gap_c a L z) in *. change (rnd64 (a * zz)) with g in R.
assert (Pg : 0 <= g) by (apply rnd_pos, PG). rewrite (Rabs_pos_eq g) in R by exact Pg.
assert (L1 := low_times _ _ _ _ _ _ 2 (low_given e e (conj Pe (Rle_refl _))) (plus_low a ae Fa Fae Pa Pae) ltac:(lra)).
assert (L2 := low_one (ae * zz) ltac:(apply Rmult_le_pos; assumption)).
assert (L3 := low_one (3 * u64 * g) ltac:(apply Rmult_le_pos; lra)).
assert (L4 := low_sum _ _ _ _ _ _ _ _ 4 (low_sum _ _ _ _ _ _ _ _ 3 L1 L2 ltac:(lra) ltac:(lra)) L3 ltac:(lra) ltac:(lra)).
assert (LL := low_sum _ _ _ _ _ _ _ _ 5 L4 (low_given tiny tiny (conj Tn (Rle_refl _))) ltac:(lra) ltac:(lra)).
apply (near_put _ _ _ 6); [|lra]. replace 6 with (5 + 1) by ring.
eapply near_of; [exact LL| |lra| |lra|apply rnd_format].
2: { apply add_tiny. apply L4. }
clear L1 L2 L3 L4 LL.
replace (al * (L - Z) - g) with (al * (z - Z) + (al - a) * zz + al * ((L - z) - zz) + (a * zz - g)) by ring.
assert (T := Rabs_triang). assert (Bal : Rabs al <= a + ae).
{ replace al with (a + (al - a)) by ring. eapply Rle_trans; [apply T|]. rewrite (Rabs_pos_eq a) by exact Pa. lra. }
assert (X1 : Rabs (al * (z - Z)) <= (a + ae) * e).
{ rewrite Rabs_mult, (Rabs_minus_sym z). apply Rmult_le_compat; try apply Rabs_pos; assumption. }
assert (X2 : Rabs ((al - a) * zz) <= ae * zz).
{ rewrite Rabs_mult, (Rabs_pos_eq zz) by exact Pzz. apply Rmult_le_compat_r; assumption. }
assert (Czz : u64 * (L - z) <= 1001/1000 * u64 * zz).
{ apply Rabs_le_inv in C. assert (u64 * (L - z) <= / 1000000000 * (L - z)) by (apply Rmult_le_compat_r; lra).
  assert (L - z <= 1001/1000 * zz) by lra. assert (u64 * (L - z) <= u64 * (1001/1000 * zz)) by (apply Rmult_le_compat_l; lra). lra. }
assert (X3 : Rabs (al * ((L - z) - zz)) <= 3/2 * a * (1001/1000 * u64 * zz)).
{ rewrite Rabs_mult, (Rabs_minus_sym (L - z)). apply Rmult_le_compat; try apply Rabs_pos; lra. }
rewrite (Rabs_minus_sym g) in R || rewrite Rabs_minus_sym in R.
assert (X4 : u64 * (a * zz) <= u64 * (g + u64 * g + eta)).
{ apply Rmult_le_compat_l; [lra|]. apply Rabs_le_inv in R. lra. }
assert (u64 * g <= / 1000000000 * g) by (apply Rmult_le_compat_r; lra).
assert (0 <= u64 * g) by (apply Rmult_le_pos; lra).
assert (u64 * (u64 * g) <= / 1000000000 * (u64 * g)) by (apply Rmult_le_compat_r; lra).
assert (u64 * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra).
assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
eapply Rle_trans; [apply T|]. eapply Rle_trans; [apply Rplus_le_compat_r, T|].
eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, T|]. lra.
Qed.
End Gap.

(* ---- the row ---- *)

Section Row.
Variables (n : nat) (r m al a ae L u mc rm E : R) (p rel : R -> R) (Z z e : nat -> R) (off_t sum_t : tree).
Hypothesis n_pos : (0 < n)%nat.
Hypothesis r_pos : 0 < r <= m.
Hypothesis m_small : 1 <= m /\ m * u64 <= pow2 (-24).
Hypothesis power : forall z, format64 z -> 0 < z -> powered r z (p z) (rel z).
Hypothesis scores : forall j, (j < n)%nat -> Rabs (Z j - z j) <= e j /\ format64 (z j) /\ z j <= L.
Hypothesis L_format : format64 L.
Hypothesis a_off : Rabs (al - a) <= ae.
Hypothesis a_format : format64 a /\ format64 ae.
Hypothesis a_near : ae <= / 2 * a.
Hypothesis u_format : format64 u.
Let g j := gap_c a L (z j).
Let G j := al * (L - Z j).
Let y j := argument u g j.
Let w j := weight p (y j).
Let e1 j := gap_error (e j) a ae L (z j).
Let e2 j := argument_error (e1 j) (y j).
Hypothesis mc_large : m <= mc * (1 + pow2 (-30)).
Hypothesis offs : dotted off_t n w (fun j => doubt rel mc (y j)).
Hypothesis sums : added sum_t (chain_depth n) n w.
Hypothesis few : INR (S n) * u64 <= pow2 (-30) /\ INR (S (chain_depth n)) * u64 <= pow2 (-30).
Let total := fl rnd64 rnd64 sum_t.
Let o := off_sum n (fl rnd64 rnd64 off_t) total.
Let res := miss_c total o rm.
Hypothesis rm_ok : pow2 (-900) <= rm <= r * (1 + 2 * u64).
Hypothesis least_large : / 2 < miss_least total o.
Hypothesis m_half : miss_m total o rm < / 2.
Hypothesis residual_small : res < pow2 (-10).
(* threshold_shift: the largest error of keys that may be in the support *)
Hypothesis E_format : format64 E /\ 0 <= E.
Hypothesis E_large : forall j, (j < n)%nat -> 0 <= rnd64 (rnd64 (y j + e2 j) + res) -> e2 j <= E.
Definition shift_c (E res : R) : R := rnd64 (rnd64 (E + res) * slack).

(* the exact threshold: tau = (alpha - 1) L - Root *)
Variable Root : R.
Hypothesis Root_ok : held n r G Root = 1.

Lemma e1_close j : (j < n)%nat -> Rabs (G j - g j) * (1 + pow2 (-21)) <= e1 j.
Proof. intros Hj. destruct (scores j Hj) as [S1 [S2 S3]]. exact (gap_close (Z j) (z j) (e j) L al a ae S1 (conj S2 L_format) S3 a_off a_format a_near). Qed.

Lemma y_close j : (j < n)%nat -> Rabs (y j - (u - g j)) <= u64 * Rabs (y j) * (1 + pow2 (-40)).
Proof.
intros Hj. assert (C := minus_close u (g j) u_format (rnd_format _)). change (rnd64 (u - g j)) with (y j) in C.
assert (U := u64_size). set (q := u - g j) in *. set (t := y j) in *.
assert (Q : Rabs q <= Rabs t + Rabs (t - q)).
{ replace q with (t - (t - q)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
apply (Rmult_le_compat_l u64) in Q; [|lra]. pose proof (Rabs_pos (t - q)). pose proof (Rabs_pos t).
assert (u64 * (u64 * Rabs t) <= pow2 (-50) * (u64 * Rabs t)).
{ apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|apply bpow_le; lia]. }
assert (0 <= u64 * Rabs t) by (apply Rmult_le_pos; lra).
assert (u64 * Rabs (t - q) <= u64 * (u64 * (Rabs t + Rabs (t - q)))) by (apply Rmult_le_compat_l; lra).
assert (u64 * (u64 * Rabs (t - q)) <= / 1000000000 * (u64 * Rabs (t - q))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
change (pow2 (-40)) with (/ 1099511627776). change (pow2 (-50)) with (/ 1125899906842624) in *. lra.
Qed.

Lemma e1_tiny j : (j < n)%nat -> tiny <= e1 j.
Proof.
intros Hj. assert (U := u64_size). assert (N := tiny_small).
unfold e1, gap_error. apply rnd_least; [apply format_bpow; lia|].
  match goal with |- _ <= rnd64 (?q + _) * _ => set (f := q) end.
  assert (0 <= f).
  { destruct (scores j Hj) as [S1 [S2 S3]]. assert (0 <= e j) by (eapply Rle_trans; [apply Rabs_pos|exact S1]).
    assert (0 <= ae) by (eapply Rle_trans; [apply Rabs_pos|exact a_off]).
    unfold f, gap_c. repeat first [lra|apply rnd_pos|apply Rplus_le_le_0_compat|apply Rmult_le_pos]. }
  assert (tiny <= rnd64 (f + tiny)) by (apply add_tiny; assumption). change (pow2 (-20)) with (/ 1048576). lra.
Qed.

Lemma e2_large j : (j < n)%nat -> e1 j <= e2 j /\ Rabs (G j - g j) + Rabs (y j - (u - g j)) <= e2 j /\ 0 <= e1 j.
Proof.
intros Hj. assert (T1 := e1_tiny j Hj). assert (N := tiny_small).
destruct (argument_error_large (Rabs (G j - g j)) (Rabs (y j - (u - g j))) (e1 j) (y j) (Rabs_pos _) (e1_close j Hj) (y_close j Hj) T1 (rnd_format _)) as [H1 H2].
split; [exact H1|]. split; [exact H2|lra].
Qed.

Lemma E_covers root : Rabs (u - root) * (1 + pow2 (-20)) <= res -> forall j, (j < n)%nat ->
  - Rabs (u - root) <= u - g j + Rabs (G j - g j) -> e2 j <= E.
Proof.
intros M j Hj H. apply (E_large j Hj). assert (U := u64_size). destruct (e2_large j Hj) as [_ [B B0]].
pose proof (Rabs_pos (u - root)) as P0. change (pow2 (-20)) with (/ 1048576) in M.
assert (Fe : format64 (e2 j)) by apply rnd_format. assert (Fy : format64 (y j)) by apply rnd_format.
assert (C := plus_close (y j) (e2 j) Fy Fe). set (s := rnd64 (y j + e2 j)) in *. set (q := y j + e2 j) in *.
assert (Hq : - Rabs (u - root) <= q).
{ pose proof (Rabs_pos (y j - (u - g j))). pose proof (Rle_abs (- (y j - (u - g j)))) as A. rewrite Rabs_Ropp in A. unfold q. lra. }
apply rnd_least; [apply format_0|]. apply Rabs_le_inv in C.
destruct (Rle_lt_dec 0 q) as [Q|Q].
- assert (0 <= s) by (apply rnd_pos, Q). assert (0 <= res) by lra. lra.
- rewrite (Rabs_left q) in C by exact Q. assert (u64 * - q <= / 1000000000 * - q) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** theorem: threshold_error — thresholds of sparsemax and entmax in double, of any alpha with 1/(alpha - 1) between 2^-899 and 2^29, whatever the solver has found: by so much as threshold_shift says, beside its own error, is an argument (alpha - 1) z - tau in double off that of the exact scores, with the rounding of C's own bounds; the residual that `miss` computes included. used by: src/sparse/line.c *)
Theorem threshold_error j : (j < n)%nat ->
  Rabs ((Root - G j) - y j) <= rnd64 (rnd64 (e2 j + shift_c E res) * slack).
Proof.
intros Hj. assert (U := u64_size). assert (N0 := bpow_ge_0 radix2 (-1075)).
destruct (max_exists n (fun j => - g j) n_pos) as [mm Hmm].
destruct (entmax_threshold n r (fun j => - g j) mm (proj1 r_pos) Hmm) as [[tau [Ht _]] _].
set (root := - tau).
assert (root_ok : held n r g root = 1).
{ rewrite <- Ht. unfold held, mass. apply sum_ext. intros i _. f_equal. unfold root. ring. }
assert (g_format : forall j, (j < n)%nat -> format64 (g j)) by (intros; apply rnd_format).
assert (M := miss_enough n r m p rel g u r_pos m_small power g_format u_format mc off_t sum_t mc_large offs sums few
  rm root rm_ok root_ok least_large m_half residual_small).
fold total in M. fold o in M. fold res in M.
assert (Cov := E_covers root M).
destruct E_format as [FE PE].
assert (Mv : Rabs (Root - root) <= E).
{ apply (root_moves n r g G root Root E (proj1 r_pos) root_ok Root_ok).
  - intros i Hi I. destruct (e2_large i Hi) as [_ [B B0]]. pose proof (Rabs_pos (y i - (u - g i))). pose proof (Rabs_pos (G i - g i)).
    assert (e2 i <= E).
    { apply (Cov i Hi). pose proof (Rle_abs (- (u - root))) as A. rewrite Rabs_Ropp in A. lra. }
    pose proof (Rle_abs (G i - g i)). lra.
  - intros i Hi I. destruct (e2_large i Hi) as [_ [B B0]]. pose proof (Rabs_pos (y i - (u - g i))). pose proof (Rabs_pos (G i - g i)).
    pose proof (Rle_abs (- (G i - g i))) as A2. rewrite Rabs_Ropp in A2.
    assert (e2 i <= E).
    { apply (Cov i Hi). pose proof (Rle_abs (- (u - root))) as A. rewrite Rabs_Ropp in A. lra. }
    lra. }
destruct (e2_large j Hj) as [_ [B B0]]. pose proof (Rabs_pos (u - root)) as Pr.
(* what C adds up *)
assert (Res0 : 0 <= res) by (change (pow2 (-20)) with (/ 1048576) in M; lra).
assert (Psl : 0 <= slack) by (change (pow2 (-20)) with (/ 1048576); lra).
assert (Ps : 0 <= E + res) by lra.
assert (Fr : format64 res) by apply rnd_format.
assert (C1 := plus_close E res FE Fr). rewrite (Rabs_pos_eq (E + res)) in C1 by exact Ps. apply Rabs_le_inv in C1.
set (s := rnd64 (E + res)) in *. assert (P1 : 0 <= s) by (apply rnd_pos, Ps).
assert (Q1 := proj1 (product_near s slack P1 Psl)). unfold shift_c. fold s. set (c := rnd64 (s * slack)) in *.
assert (Pc : 0 <= c) by (apply rnd_pos, Rmult_le_pos; assumption).
assert (Fe : format64 (e2 j)) by apply rnd_format. assert (N := tiny_small).
assert (T1 : tiny <= e2 j) by (apply Rle_trans with (2 := proj1 (e2_large j Hj)), e1_tiny, Hj).
assert (C2 := plus_close (e2 j) c Fe (rnd_format _)). rewrite (Rabs_pos_eq (e2 j + c)) in C2 by lra. apply Rabs_le_inv in C2.
set (h := rnd64 (e2 j + c)) in *. assert (Ph : 0 <= h) by (apply rnd_pos; lra).
assert (Q2 := proj1 (product_near h slack Ph Psl)). set (hh := rnd64 (h * slack)) in *.
replace (Root - G j - y j) with ((Root - root) + (root - u) - (G j - g j) - (y j - (u - g j))) by ring.
assert (T := Rabs_triang). unfold Rminus at 1. eapply Rle_trans; [apply T|]. rewrite Rabs_Ropp.
unfold Rminus at 1. eapply Rle_trans; [apply Rplus_le_compat_r, T|]. rewrite Rabs_Ropp.
eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, T|]. rewrite (Rabs_minus_sym root u).
set (x := e2 j) in *. clearbody x s c h hh. change (pow2 (-20)) with (/ 1048576) in *.
assert (u64 * (E + res) <= / 1000000000 * (E + res)) by (apply Rmult_le_compat_r; lra).
assert (u64 * (x + c) <= / 1000000000 * (x + c)) by (apply Rmult_le_compat_r; lra).
assert (s * (1 + / 1048576) * u64 <= s * (1 + / 1048576) * / 1000000000) by (apply Rmult_le_compat_l; lra).
assert (h * (1 + / 1048576) * u64 <= h * (1 + / 1048576) * / 1000000000) by (apply Rmult_le_compat_l; lra).
assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
lra.
Qed.
End Row.
