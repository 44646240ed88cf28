(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The double tier of softmax attention from its scores to its radius: softmax_weight and
   quotient_radius together. terms.v adds the scores, and how src/softmax/enclose.c evaluates it all. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.quotient softmax.radius softmax.weight.
Import ListNotations.
Open Scope R_scope.

Section Row.
(* Keys j < n, a sink among them (its value is 0): exact score s, computed score sh, shift m in force
   when the key was summed, computed exponential e, moves l of the shift afterwards, value v. *)
Variables (n : nat) (s sh m e v : nat -> R) (l : nat -> list (R * R)).
Variables (M E rho V a out_error sum_error : R) (rescaled : bool) (out total : tree).
Hypothesis scores : forall j, (j < n)%nat -> Rabs (sh j - s j) <= E + pow2 (-62).
Hypothesis below : forall j, (j < n)%nat -> rnd64 (sh j - m j) <= 17/2.
Hypothesis exponentials : forall j, (j < n)%nat -> is_exp (rnd64 (sh j - m j)) (e j).
Hypothesis shifts : forall j, (j < n)%nat -> moves (l j) /\ m j + distance (l j) = M.
Hypothesis unmoved : rescaled = false -> forall j, (j < n)%nat -> l j = [].
(* one key's computed score is the last shift *)
Hypothesis first : exists j, (j < n)%nat /\ sh j = M.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.

Let w j := exp (s j - M).
Let w' j := e j * factor (l j).
(* softmax_terms_finish *)
Definition least_rho := (E + (70 + (if rescaled then 112 else 0)) * pow2 (-53)) * (1 + 7 * pow2 (-13)).
Hypothesis usable : 0 <= E /\ least_rho <= rho <= pow2 (-16).
(* Sums by any trees. A key meets one rounding for every move of the shift beside bO, bW others; in C
   bO = PASS_CHAIN + PASS_KEYS / PASS_CHAIN + blocks and bW = PASS_KEYS / PASS_LANES + 4 + blocks. *)
Variables (kO kW : nat -> nat) (bO bW : nat).
Hypothesis outs : sums_along out n w' v kO.
Hypothesis totals : sums_along total n w' (fun _ => 1) kW.
Hypothesis out_depth : forall j, (j < n)%nat -> (kO j <= bO + length (l j))%nat.
Hypothesis sum_depth : forall j, (j < n)%nat -> (kW j <= bW + length (l j))%nat.
(* gamma_up *)
Hypothesis out_counted : INR (bO + 10) * pow2 (-53) * (1 + pow2 (-21)) <= out_error <= pow2 (-22).
Hypothesis sum_counted : INR (bW + 10) * pow2 (-53) * (1 + pow2 (-21)) <= sum_error <= pow2 (-22).
(* fewer than 2^30 blocks *)
Hypothesis shallow : INR (S (depth out)) <= pow2 30 /\ INR (S (depth total)) <= pow2 30 /\
  forall j, (j < n)%nat -> INR (S (kO j)) <= pow2 30 /\ INR (S (kW j)) <= pow2 30.
Hypothesis out_ops : INR (ops out) <= pow2 70.
Hypothesis sum_ops : INR (ops total) <= pow2 70.
Hypothesis few : INR n <= pow2 60.
(* a: an upper bound of A = sum p |v| *)
Hypothesis a_large : mean n (fun j => exp (s j)) (fun j => Rabs (v j)) <= a.

Lemma rho_above_E : E <= rho.
Proof.
destruct usable as [HE [HR _]]. apply Rle_trans with (2 := HR). unfold least_rho. assert (U : 0 <= pow2 (-53)) by apply bpow_ge_0.
assert (0 <= (70 + (if rescaled then 112 else 0)) * pow2 (-53))
  by (apply Rmult_le_pos; [destruct rescaled; lra|exact U]).
assert (0 <= pow2 (-13)) by apply bpow_ge_0.
assert (0 <= (E + (70 + (if rescaled then 112 else 0)) * pow2 (-53)) * pow2 (-13))
  by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma weight_close j : (j < n)%nat ->
  Rabs (w' j - w j) <= rho * w j \/ (0 <= w j <= pow2 (-98) /\ 0 <= w' j <= pow2 (-98)).
Proof.
intros Hj. destruct (shifts j Hj) as [Hm Hd]. destruct usable as [HE HR].
pose proof rho_above_E as RE.
assert (E14 : pow2 (-16) <= pow2 (-14)) by (apply bpow_le; lia).
assert (T := softmax_weight (s j) (sh j) (m j) E (e j) (l j) (scores j Hj) ltac:(lra) (below j Hj)
  (exponentials j Hj) Hm).
cbv zeta in T. rewrite Hd in T. fold (w j) in T. fold (w' j) in T.
destruct T as [T|T]; [left|right; exact T]. apply Rle_trans with (1 := T).
apply Rmult_le_compat_r; [left; apply exp_pos|]. eapply Rle_trans; [|apply HR]. unfold softmax.weight.rho, least_rho.
apply Rmult_le_compat_r; [assert (B := bpow_ge_0 radix2 (-13)); lra|]. apply Rplus_le_compat_l.
apply Rmult_le_compat_r; [apply bpow_ge_0|].
destruct rescaled; [destruct (l j); lra|]. rewrite (unmoved eq_refl j Hj). lra.
Qed.

Lemma is_shallow k : INR (S k) <= pow2 30 -> INR (S k) * pow2 (-53) <= pow2 (-22).
Proof.
intros H. apply Rle_trans with (pow2 30 * pow2 (-53)).
- apply Rmult_le_compat_r; [apply bpow_ge_0|exact H].
- rewrite <- bpow_plus. apply bpow_le. lia.
Qed.

Lemma is_counted k t b eps : (forall j, (j < n)%nat -> (k j <= b + length (l j))%nat) ->
  INR (b + 10) * pow2 (-53) * (1 + pow2 (-21)) <= eps <= pow2 (-22) -> INR (S (depth t)) <= pow2 30 ->
  (forall j, (j < n)%nat -> INR (S (k j)) <= pow2 30) -> counted n w w' k t eps.
Proof.
intros Hk Hc Hd Hs. assert (U : 0 <= pow2 (-53)) by apply bpow_ge_0.
assert (U2 : 0 <= 1 + pow2 (-21)) by (assert (B := bpow_ge_0 radix2 (-21)); lra).
split; [split; [|apply Hc]|split; [apply is_shallow, Hd|]].
- eapply Rle_trans; [|apply Hc]. apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|exact U]|exact U2].
- intros j Hj. split; [apply is_shallow, Hs, Hj|]. destruct (shifts j Hj) as [Hm HM].
  destruct (Rle_lt_dec (-68) (rnd64 (sh j - m j) - distance (l j))) as [H|H]; [left|right].
  + assert (B := few_moves (l j) Hm). pose proof (below j Hj).
    assert (L : (length (l j) < 10)%nat).
    { apply INR_lt. replace (INR 10) with 10 by (simpl; ring). lra. }
    eapply Rle_trans; [|apply Hc]. apply Rmult_le_compat_r; [exact U2|]. apply Rmult_le_compat_r; [exact U|].
    apply le_INR. specialize (Hk j Hj). lia.
  + destruct usable as [HE HR]. pose proof rho_above_E as RE.
    assert (E14 : pow2 (-16) <= pow2 (-14)) by (apply bpow_le; lia).
    assert (T := is_negligible (s j) (sh j) (m j) E (e j) (l j) (scores j Hj) ltac:(lra) (below j Hj)
      (exponentials j Hj) Hm H).
    rewrite HM in T. exact T.
Qed.

Lemma w_is_shifted f : mean n (fun j => exp (s j)) f = mean n w f.
Proof.
rewrite (mean_ext n w (fun j => exp (- M) * exp (s j)) f).
- symmetry. apply mean_scal; [apply Rgt_not_eq, exp_pos|].
  destruct first as [j [Hj _]]. apply Rgt_not_eq, Rlt_gt, sum_pos with j; [|exact Hj|apply exp_pos].
  intros; left; apply exp_pos.
- intros j _. unfold w. rewrite <- exp_plus. f_equal. ring.
Qed.

Lemma W_large : 1 - pow2 (-10) <= sum n w.
Proof.
destruct first as [j [Hj HM]]. destruct usable as [HE HR]. pose proof rho_above_E.
apply Rle_trans with (w j).
- pose proof (scores j Hj) as Hs. rewrite HM in Hs. apply Rabs_le_inv in Hs.
  pose proof (exp_above (s j - M)). unfold w. simpl bpow in *. lra.
- apply sum_ge_term with (f := w); [intros; left; apply exp_pos|exact Hj].
Qed.

(* The normaliser, for the log-sum-exp. *)
Lemma row_normaliser : Rabs (fl rnd64 rnd64 total - sum n w) <=
  (rho + sum_error * (1 + rho)) * sum n w + 5 / 4 * (INR n * pow2 (-98)).
Proof.
assert (Hw : forall j, (j < n)%nat -> 0 <= w j) by (intros; left; apply exp_pos).
assert (PR : 0 <= rho) by (destruct usable; pose proof rho_above_E; lra).
assert (off : forall j, (j < n)%nat -> Rabs (w' j - w j) <= rho * w j + pow2 (-98)).
{ intros j Hj. pose proof (bpow_gt_0 radix2 (-98)). destruct (weight_close j Hj) as [H1|[H1 H2]]; [lra|].
  assert (0 <= rho * w j) by (apply Rmult_le_pos; [lra|apply Hw, Hj]). apply Rabs_le. lra. }
assert (C : counted n w w' kW total sum_error).
{ apply (is_counted kW total bW); [exact sum_depth|exact sum_counted|apply shallow|apply shallow]. }
assert (H := tree_close n w w' total (fun _ => 1) 1 kW sum_error totals sum_ops C
  ltac:(intros; cbv beta; rewrite Rabs_R1; lra)). cbv beta in H.
rewrite (sum_ext n (fun j => w' j * 1) w') in H by (intros; ring).
rewrite (sum_ext n (fun j => Rabs (w' j) * Rabs 1) (fun j => Rabs (w' j))) in H by (intros; rewrite Rabs_R1; ring).
assert (Z := weights_size n w w' rho (pow2 (-98)) Hw off).
assert (D : Rabs (sum n w' - sum n w) <= rho * sum n w + INR n * pow2 (-98)).
{ rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|]. rewrite <- sum_scal, <- sum_const, <- sum_plus.
  apply sum_le. exact off. }
destruct first as [j0 [J0 _]].
assert (N1 : 1 <= INR n) by (change 1 with (INR 1); apply le_INR; lia).
assert (T : pow2 (-1004) <= pow2 (-20) * pow2 (-98)) by (rewrite <- bpow_plus; apply bpow_le; lia).
assert (P98 : 0 < pow2 (-98)) by apply bpow_gt_0.
assert (NP : 1 * pow2 (-98) <= INR n * pow2 (-98)) by (apply Rmult_le_compat_r; lra).
destruct sum_counted as [_ G2]. assert (G0 : 0 <= sum_error) by apply C.
apply (Rmult_le_compat_l sum_error) in Z; [|exact G0].
assert (sum_error * (INR n * pow2 (-98)) <= pow2 (-22) * (INR n * pow2 (-98))) by (apply Rmult_le_compat_r; lra).
replace (fl rnd64 rnd64 total - sum n w) with ((fl rnd64 rnd64 total - sum n w') + (sum n w' - sum n w)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
set (t := INR n * pow2 (-98)) in *. rewrite Rmult_1_r in H. fold t in H.
change (pow2 (-20)) with (/ 1048576) in *. change (pow2 (-22)) with (/ 4194304) in *. lra.
Qed.

(* With scores within E, exponentials and moves of the shift as computed, sums by any trees, products
   fused or not, and one division. *)
Lemma row_radius : let x' := rnd64 (fl rnd64 rnd64 out / fl rnd64 rnd64 total) in
  Rabs (x' - mean n (fun j => exp (s j)) v) <= radius (INR n) rho out_error sum_error a (Rabs x') V.
Proof.
intros x'. rewrite w_is_shifted in a_large |- *. unfold x'.
apply (quotient_radius n w w' v V rho out_error sum_error a out total kO kW); try assumption.
- intros. left. apply exp_pos.
- exact W_large.
- exact weight_close.
- destruct usable. split; [pose proof rho_above_E; lra|lra].
- apply (is_counted kO out bO); [exact out_depth|exact out_counted|apply shallow|apply shallow].
- apply (is_counted kW total bW); [exact sum_depth|exact sum_counted|apply shallow|apply shallow].
Qed.
End Row.
