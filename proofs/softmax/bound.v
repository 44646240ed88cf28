(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The a-priori bound of a declared machine model, src/softmax/bound.c: weights that are off by factors
   within e^(+-delta_j), sums by any trees in the named formats, one division and one rounding of the
   result. Everything is an inequality; no term is dropped. *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.quotient.
Open Scope R_scope.

Lemma exp_above z : 1 + z <= exp z.
Proof. destruct (Req_dec z 0) as [->|N]; [rewrite exp_0; lra|left; apply exp_ineq1, N]. Qed.

(* 1 - e^-d <= e^d - 1 *)
Lemma exp_pair d : 2 <= exp d + exp (- d).
Proof.
assert (P := exp_pos d). assert (Q := exp_pos (- d)).
assert (E : exp d * exp (- d) = 1) by (rewrite <- exp_plus; replace (d + - d) with 0 by ring; apply exp_0).
assert (0 <= (exp d - exp (- d)) * (exp d - exp (- d))) by apply Rle_0_sqr. nra.
Qed.

Section Bound.
Variables (n : nat) (w delta w' v : nat -> R).
Hypothesis w_pos : forall j, (j < n)%nat -> 0 <= w j.
Let W := sum n w.
Hypothesis W_pos : 0 < W.
Hypothesis delta_pos : forall j, (j < n)%nat -> 0 <= delta j.
(* computed weights, up to a common factor *)
Hypothesis weights : forall j, (j < n)%nat -> w j * exp (- delta j) <= w' j <= w j * exp (delta j).

Let p j := w j / W.
Let x := mean n w v.
(* as bound.c names them *)
Definition least := sum n (fun j => p j * exp (- delta j)).
Definition spread := sum n (fun j => p j * (exp (delta j) - 1) * Rabs (v j - x)) / least.
Definition total := sum n (fun j => p j * exp (delta j) * Rabs (v j)).

Lemma sum_p f : sum n (fun j => w j * f j) = W * sum n (fun j => p j * f j).
Proof. rewrite <- sum_scal. apply sum_ext. intros j _. unfold p. field. lra. Qed.

Lemma least_pos : 0 < least.
Proof.
destruct (Rle_lt_dec least 0) as [H|H]; [exfalso|exact H].
assert (E : forall j, (j < n)%nat -> p j = 0).
{ intros j Hj. assert (0 <= p j).
  { apply Rmult_le_pos; [apply w_pos, Hj|left; apply Rinv_0_lt_compat, W_pos]. }
  assert (T : p j * exp (- delta j) <= least).
  { apply (sum_ge_term n (fun j => p j * exp (- delta j))); [|exact Hj]. intros i Hi.
    apply Rmult_le_pos; [|left; apply exp_pos].
    apply Rmult_le_pos; [apply w_pos, Hi|left; apply Rinv_0_lt_compat, W_pos]. }
  pose proof (exp_pos (- delta j)). nra. }
assert (Z : sum n w = 0).
{ apply sum_zero. intros j Hj. specialize (E j Hj). unfold p in E.
  apply (Rmult_eq_reg_r (/ W)); [|apply Rinv_neq_0_compat; lra]. unfold Rdiv in E. lra. }
unfold W in W_pos. lra.
Qed.

Lemma w'_pos j : (j < n)%nat -> 0 <= w' j.
Proof.
intros Hj. destruct (weights j Hj) as [L _]. eapply Rle_trans; [|exact L].
apply Rmult_le_pos; [apply w_pos, Hj|left; apply exp_pos].
Qed.

Lemma sum_least : W * least <= sum n w'.
Proof.
unfold least. rewrite <- (sum_p (fun j => exp (- delta j))). apply sum_le. intros j Hj. apply weights, Hj.
Qed.

Lemma sum_total : sum n (fun j => Rabs (w' j) * Rabs (v j)) <= W * total.
Proof.
unfold total. rewrite (sum_ext n (fun j => p j * exp (delta j) * Rabs (v j))
  (fun j => p j * (exp (delta j) * Rabs (v j)))) by (intros; ring).
rewrite <- sum_p. apply sum_le. intros j Hj. rewrite Rabs_pos_eq by (apply w'_pos, Hj).
rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply Rabs_pos|apply weights, Hj].
Qed.

Lemma total_pos : 0 <= total.
Proof.
apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [|apply Rabs_pos].
apply Rmult_le_pos; [|left; apply exp_pos].
apply Rmult_le_pos; [apply w_pos, Hj|left; apply Rinv_0_lt_compat, W_pos].
Qed.

Lemma sum'_pos : 0 < sum n w'.
Proof. eapply Rlt_le_trans; [|exact sum_least]. apply Rmult_lt_0_compat; [exact W_pos|exact least_pos]. Qed.

(* Weights alone: the spread. *)
Lemma spread_bounds : Rabs (mean n w' v - x) <= spread.
Proof.
pose proof sum'_pos as PS. pose proof least_pos as PL. pose proof sum_least as SL.
assert (E : (mean n w' v - x) * sum n w' = sum n (fun j => (w' j - w j) * (v j - x))).
{ assert (X : sum n (fun j => w j * v j) = W * x) by (unfold x, mean; fold W; field; lra).
  rewrite (sum_ext n (fun j => (w' j - w j) * (v j - x))
    (fun j => (w' j * v j - x * w' j) - (w j * v j - x * w j))) by (intros; ring).
  rewrite !sum_minus, !sum_scal, X. fold W. unfold mean. field. lra. }
set (D := sum n (fun j => p j * (exp (delta j) - 1) * Rabs (v j - x))).
assert (B : Rabs (mean n w' v - x) * sum n w' <= W * D).
{ rewrite <- (Rabs_pos_eq (sum n w')) by lra. rewrite <- Rabs_mult, E.
  eapply Rle_trans; [apply sum_abs|]. unfold D.
  rewrite (sum_ext n (fun j => p j * (exp (delta j) - 1) * Rabs (v j - x))
    (fun j => p j * ((exp (delta j) - 1) * Rabs (v j - x)))) by (intros; ring).
  rewrite <- sum_p. apply sum_le. intros j Hj. rewrite Rabs_mult, <- Rmult_assoc.
  apply Rmult_le_compat_r; [apply Rabs_pos|].
  pose proof (weights j Hj). pose proof (exp_pair (delta j)) as T. pose proof (w_pos j Hj).
  apply (Rmult_le_compat_l (w j)) in T; [|assumption]. apply Rabs_le. lra. }
assert (PD : 0 <= D).
{ apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [|apply Rabs_pos].
  apply Rmult_le_pos; [apply Rmult_le_pos; [apply w_pos, Hj|left; apply Rinv_0_lt_compat, W_pos]|].
  pose proof (exp_above (delta j)). pose proof (delta_pos j Hj). lra. }
unfold spread. fold D. apply (Rmult_le_reg_r (W * least)); [apply Rmult_lt_0_compat; assumption|].
replace (D / least * (W * least)) with (W * D) by (field; lra).
eapply Rle_trans; [|exact B]. apply Rmult_le_compat_l; [apply Rabs_pos|exact SL].
Qed.

(* Weights that underflow: b_j are what is left of the w'_j, which are off by at most low; beta is at
   most the weight of the key that sets the shift. *)
Variables (b : nat -> R) (low beta V : R).
Hypothesis b_pos : forall j, (j < n)%nat -> 0 <= b j.
Hypothesis beta_pos : 0 < beta.
Hypothesis flushed : forall j, (j < n)%nat -> Rabs (b j - w' j) <= low.
Hypothesis shifted : beta <= sum n b.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.
Definition dropped := INR n * low * V / beta.

Lemma dropped_pos : 0 <= dropped.
Proof.
assert (0 <= INR n * (low * V)).
{ rewrite <- sum_const. apply sum_nonneg. intros j Hj. pose proof (flushed j Hj). pose proof (values j Hj).
  pose proof (Rabs_pos (b j - w' j)). pose proof (Rabs_pos (v j)). apply Rmult_le_pos; lra. }
unfold dropped. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, beta_pos].
Qed.

Lemma mean_between f : (forall j, (j < n)%nat -> Rabs (f j) <= V) -> Rabs (mean n w' f) <= V.
Proof.
intros H. pose proof sum'_pos as PS. apply (Rmult_le_reg_r (sum n w')); [exact PS|].
rewrite <- (Rabs_pos_eq (sum n w')) at 1 by lra. rewrite <- Rabs_mult. unfold mean.
replace (sum n (fun j => w' j * f j) / sum n w' * sum n w') with (sum n (fun j => w' j * f j)) by (field; lra).
eapply Rle_trans; [apply sum_abs|]. rewrite <- sum_scal. apply sum_le. intros j Hj.
rewrite Rabs_mult, (Rabs_pos_eq (w' j)), Rmult_comm by (apply w'_pos, Hj).
apply Rmult_le_compat_r; [apply w'_pos, Hj|apply H, Hj].
Qed.

Lemma mean_flushed f : (forall j, (j < n)%nat -> Rabs (f j) <= V) ->
  Rabs (mean n b f - mean n w' f) <= 2 * dropped.
Proof.
intros H. pose proof sum'_pos as PS. set (y := mean n w' f).
assert (PB : 0 < sum n b) by lra.
assert (E : (mean n b f - y) * sum n b = sum n (fun j => (b j - w' j) * (f j - y))).
{ assert (X : sum n (fun j => w' j * f j) = sum n w' * y) by (unfold y, mean; field; lra).
  rewrite (sum_ext n (fun j => (b j - w' j) * (f j - y))
    (fun j => (b j * f j - y * b j) - (w' j * f j - y * w' j))) by (intros; ring).
  rewrite !sum_minus, !sum_scal, X. unfold mean. field. lra. }
assert (B : Rabs (mean n b f - y) * sum n b <= INR n * (low * (2 * V))).
{ rewrite <- (Rabs_pos_eq (sum n b)) by lra. rewrite <- Rabs_mult, E.
  eapply Rle_trans; [apply sum_abs|]. rewrite <- sum_const. apply sum_le. intros j Hj. rewrite Rabs_mult.
  apply Rmult_le_compat; try apply Rabs_pos; [apply flushed, Hj|].
  unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
  pose proof (H j Hj). pose proof (mean_between f H) as T. fold y in T. lra. }
apply (Rmult_le_reg_r beta); [exact beta_pos|].
replace (2 * dropped * beta) with (INR n * (low * (2 * V))) by (unfold dropped; field; lra).
eapply Rle_trans; [|exact B]. apply Rmult_le_compat_l; [apply Rabs_pos|exact shifted].
Qed.

(* Sums: off by eO sum b |v| + etaO above, by eW sum b + etaW below. *)
Variables (num den eO eW etaO etaW : R).
Hypothesis eO_pos : 0 <= eO.
Hypothesis eW_pos : 0 <= eW.
Hypothesis etaO_pos : 0 <= etaO.
Hypothesis etaW_pos : 0 <= etaW.
Hypothesis num_off : Rabs (num - sum n (fun j => b j * v j)) <= eO * sum n (fun j => b j * Rabs (v j)) + etaO.
Hypothesis den_off : Rabs (den - sum n b) <= eW * sum n b + etaW.
Definition sums := eO * total / least.
Definition under := (1 + eO) * (2 * dropped) + etaO / beta.
Definition sum_error := eW + etaW / beta.
Hypothesis sum_error_small : sum_error < 1.

Lemma sums_bound : Rabs (num / sum n b - mean n w' v) <= sums + under.
Proof.
pose proof sum'_pos as PS. pose proof least_pos as PL. pose proof sum_least as SL. pose proof dropped_pos as PD.
assert (PB : 0 < sum n b) by lra.
assert (Hv : forall j, (j < n)%nat -> Rabs (Rabs (v j)) <= V) by (intros j Hj; rewrite Rabs_Rabsolu; apply values, Hj).
pose proof (mean_flushed v values) as M1. pose proof (mean_flushed (fun j => Rabs (v j)) Hv) as M2.
(* |v| over b *)
assert (MA : mean n w' (fun j => Rabs (v j)) <= total / least).
{ apply (Rmult_le_reg_r (sum n w')); [exact PS|]. unfold mean.
  replace (sum n (fun j => w' j * Rabs (v j)) / sum n w' * sum n w') with (sum n (fun j => w' j * Rabs (v j))) by (field; lra).
  apply Rle_trans with (W * total).
  - rewrite (sum_ext n (fun j => w' j * Rabs (v j)) (fun j => Rabs (w' j) * Rabs (v j))); [exact sum_total|].
    intros j Hj. rewrite (Rabs_pos_eq (w' j)) by (apply w'_pos, Hj). reflexivity.
  - assert (Q : 0 <= total / least) by (apply Rmult_le_pos; [exact total_pos|left; apply Rinv_0_lt_compat, PL]).
    apply (Rmult_le_compat_l (total / least)) in SL; [|exact Q].
    replace (total / least * (W * least)) with (W * total) in SL by (field; lra). exact SL. }
assert (MB : mean n b (fun j => Rabs (v j)) <= total / least + 2 * dropped).
{ apply Rabs_range in M2. lra. }
(* the computed sum over the sum of the weights *)
assert (E : Rabs (num / sum n b - mean n b v) <= eO * (total / least + 2 * dropped) + etaO / beta).
{ apply Rle_trans with (eO * mean n b (fun j => Rabs (v j)) + etaO / sum n b).
  - apply (Rmult_le_reg_r (sum n b)); [exact PB|].
    rewrite <- (Rabs_pos_eq (sum n b)) at 2 by lra. rewrite <- Rabs_mult. unfold mean.
    replace ((num / sum n b - sum n (fun j => b j * v j) / sum n b) * sum n b)
      with (num - sum n (fun j => b j * v j)) by (field; lra).
    replace ((eO * (sum n (fun j => b j * Rabs (v j)) / sum n b) + etaO / sum n b) * sum n b)
      with (eO * sum n (fun j => b j * Rabs (v j)) + etaO) by (field; lra). exact num_off.
  - apply Rplus_le_compat; [apply Rmult_le_compat_l; [exact eO_pos|exact MB]|].
    apply Rmult_le_compat_l; [exact etaO_pos|]. apply Rinv_le; [exact beta_pos|exact shifted]. }
replace (num / sum n b - mean n w' v) with ((num / sum n b - mean n b v) + (mean n b v - mean n w' v)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. unfold sums, under. unfold Rdiv in *. lra.
Qed.

Variables (res uE etaE : R).
Hypothesis uE_pos : 0 <= uE.
(* the division and the rounding to the result's format: uE = (1 + u_A)(1 + u_O) - 1 *)
Hypothesis res_off : Rabs (res - num / den) <= uE * Rabs (num / den) + etaE.

(** theorem: softmax_bound — the bound of a machine model: with weights within e^(+-delta_j), of which underflow drops low, sums off by eO and eW relatively and by etaO and etaW, and a quotient and result off by uE, the output is within D + ((1 + uE) / (1 - e) - 1)(|x| + D) and its own underflow of the exact one, D = spread + sums + (1 + eO) 2 N low max|v| / beta + etaO / beta, e = eW + etaW / beta, beta the weight of the key that sets the shift. used by: src/softmax/bound.c *)
Theorem softmax_bound : Rabs (res - x) <=
  spread + sums + under + ((1 + uE) / (1 - sum_error) - 1) * (Rabs x + spread + sums + under) + etaE.
Proof.
pose proof spread_bounds as H1. pose proof sums_bound as H2.
set (S := sum n b) in *. assert (PS : 0 < S) by (unfold S in *; lra).
set (X := mean n w' v) in *. set (q := num / S) in *. set (Y := Rabs x + spread + sums + under).
assert (PE : 0 <= sum_error).
{ unfold sum_error. assert (0 <= etaW / beta); [|lra]. apply Rmult_le_pos; [exact etaW_pos|left; apply Rinv_0_lt_compat, beta_pos]. }
set (e := sum_error) in *.
assert (De : Rabs (den - S) <= e * S).
{ eapply Rle_trans; [exact den_off|]. unfold e, sum_error. rewrite Rmult_plus_distr_r. apply Rplus_le_compat_l.
  apply (Rmult_le_reg_r beta); [exact beta_pos|]. replace (etaW / beta * S * beta) with (etaW * S) by (field; lra).
  apply Rmult_le_compat_l; [exact etaW_pos|exact shifted]. }
assert (Hq : Rabs q <= Y).
{ replace q with (x + (X - x) + (q - X)) by ring. unfold Y.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rplus_assoc (Rabs x + spread)). apply Rplus_le_compat; [|exact H2].
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_l, H1. }
assert (Dl : (1 - e) * S <= den) by (apply Rabs_range in De; lra).
assert (PD : 0 < den).
{ eapply Rlt_le_trans; [|exact Dl]. apply Rmult_lt_0_compat; lra. }
assert (Er : num / den = q * (S / den)) by (unfold q; field; lra).
set (r := S / den) in *.
assert (Pr : 0 < r) by (apply Rdiv_lt_0_compat; assumption).
assert (Ru : r <= / (1 - e)).
{ unfold r. apply (Rmult_le_reg_r den); [exact PD|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply (Rmult_le_reg_l (1 - e)); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
assert (Rd : Rabs (r - 1) <= / (1 - e) - 1).
{ assert (Du : den <= (1 + e) * S) by (apply Rabs_range in De; lra).
  assert (Rl : / (1 + e) <= r).
  { unfold r. apply (Rmult_le_reg_r den); [exact PD|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply (Rmult_le_reg_l (1 + e)); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
  assert (T : 2 <= / (1 + e) + / (1 - e)).
  { apply (Rmult_le_reg_r ((1 + e) * (1 - e))); [apply Rmult_lt_0_compat; lra|].
    replace ((/ (1 + e) + / (1 - e)) * ((1 + e) * (1 - e))) with 2 by (field; lra).
    assert (0 <= e * e) by apply Rle_0_sqr. lra. }
  apply Rabs_le. lra. }
assert (Q1 : Rabs (num / den - q) <= (/ (1 - e) - 1) * Y).
{ rewrite Er. replace (q * r - q) with ((r - 1) * q) by ring. rewrite Rabs_mult.
  apply Rmult_le_compat; try apply Rabs_pos; assumption. }
assert (Q2 : Rabs (num / den) <= / (1 - e) * Y).
{ rewrite Er, Rabs_mult, (Rabs_pos_eq r), Rmult_comm by lra.
  apply Rmult_le_compat; [lra|apply Rabs_pos|exact Ru|exact Hq]. }
apply (Rmult_le_compat_l uE) in Q2; [|exact uE_pos].
replace (res - x) with ((res - num / den) + (num / den - q) + (q - X) + (X - x)) by ring.
assert (A : forall a b c d, Rabs (a + b + c + d) <= Rabs a + Rabs b + Rabs c + Rabs d).
{ intros. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r, Rabs_triang. }
eapply Rle_trans; [apply A|]. unfold Rdiv. fold Y.
replace (((1 + uE) * / (1 - e) - 1) * Y) with (uE * (/ (1 - e) * Y) + (/ (1 - e) - 1) * Y) by ring. lra.
Qed.
End Bound.

(* How the C code evaluates eO, eW and uE: with z = depth u + u_W < 1, (1 + u_W)(1 + u)^depth - 1 is at
   most z / (1 - z). *)
Lemma rounded_weights up u k : 0 <= up -> 0 <= u -> let z := INR k * u + up in z < 1 ->
  (1 + up) * (1 + u) ^ k - 1 <= z / (1 - z).
Proof.
intros Hp Hu z Hz. assert (Pk := pos_INR k).
assert (Ek : (1 + u) ^ k <= exp (INR k * u)).
{ clear Hz z Pk. induction k as [|k IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
  rewrite S_INR, <- tech_pow_Rmult. replace ((INR k + 1) * u) with (u + INR k * u) by ring.
  rewrite exp_plus. apply Rmult_le_compat; [lra|apply pow_le; lra|apply exp_above|exact IH]. }
assert (E : (1 + up) * (1 + u) ^ k <= exp z).
{ replace (exp z) with (exp up * exp (INR k * u)) by (rewrite <- exp_plus; f_equal; unfold z; ring). apply Rmult_le_compat; [lra|apply pow_le; lra|apply exp_above|exact Ek]. }
assert (F : exp z * (1 - z) <= 1).
{ pose proof (exp_above (- z)) as E'. apply (Rmult_le_compat_l (exp z)) in E'; [|left; apply exp_pos].
  rewrite <- exp_plus in E'. replace (z + - z) with 0 in E' by ring. rewrite exp_0 in E'. lra. }
apply (Rmult_le_reg_r (1 - z)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
assert ((1 + up) * (1 + u) ^ k * (1 - z) <= exp z * (1 - z)) by (apply Rmult_le_compat_r; lra). lra.
Qed.
