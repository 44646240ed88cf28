(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The backward error of softmax attention: what scores moved by at most eps_s t_j and values moved by
   at most eps_v |v_j| can do to the output. An output further away than the explicit bound is explained
   by no such change (src/softmax/perturb.c). *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row softmax.bound.
Open Scope R_scope.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [L|<-]; [left; apply exp_increasing, L|right; reflexivity]. Qed.

Section Backward.
Variables (n : nat) (s s' t v v' : nat -> R) (eps_s eps_v : R).
Hypothesis some : (0 < n)%nat.
Hypothesis t_pos : forall j, (j < n)%nat -> 0 <= t j.
Hypothesis eps_s_pos : 0 <= eps_s.
Hypothesis eps_v_pos : 0 <= eps_v.
Hypothesis scores : forall j, (j < n)%nat -> Rabs (s' j - s j) <= eps_s * t j.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v' j - v j) <= eps_v * Rabs (v j).

Let w j := exp (s j).
Let w' j := exp (s' j).
Let W := sum n w.
Let p j := w j / W.
Let x := mean n w v.
Let x' := mean n w' v'.
Let delta j := eps_s * t j.

Lemma w_positive j : (j < n)%nat -> 0 <= w j. Proof. intros _. left. apply exp_pos. Qed.
Lemma W_positive : 0 < W. Proof. apply sum_all_pos; [exact some|intros; apply exp_pos]. Qed.
Lemma delta_positive j : (j < n)%nat -> 0 <= delta j.
Proof. intros H. apply Rmult_le_pos; [exact eps_s_pos|apply t_pos, H]. Qed.

Lemma moved_weights j : (j < n)%nat -> w j * exp (- delta j) <= w' j <= w j * exp (delta j).
Proof.
intros H. unfold w, w'. rewrite <- !exp_plus. pose proof (Rabs_range _ _ (scores j H)).
split; apply exp_le; unfold delta; lra.
Qed.

(* sum p (eps_v |v| e^(eps_s t) + (e^(eps_s t) - 1) |v - x|) / sum p e^(-eps_s t) *)
Definition explicit_bound :=
  sum n (fun j => p j * (eps_v * Rabs (v j) * exp (eps_s * t j) + (exp (eps_s * t j) - 1) * Rabs (v j - x))) /
  sum n (fun j => p j * exp (- (eps_s * t j))).

(** theorem: backward_explicit — scores moved by at most eps_s t and values by at most eps_v |v| move the output of softmax attention by at most the explicit bound, for changes of any size. used by: src/softmax/perturb.c *)
Theorem backward_explicit : Rabs (x' - x) <= explicit_bound.
Proof.
pose proof W_positive as PW.
assert (PL := least_pos n w delta w_positive PW). assert (SL := sum_least n w delta w' PW moved_weights).
assert (SP := spread_bounds n w delta w' v w_positive PW delta_positive moved_weights).
assert (ST := sum_total n w delta w' v w_positive PW moved_weights).
assert (PS := sum'_pos n w delta w' w_positive PW moved_weights).
fold W in SL, ST. fold x in SP.
set (L := least n w delta) in *. set (S' := sum n w') in *.
assert (V : Rabs (x' - mean n w' v) <= eps_v * total n w delta v / L).
{ assert (E : (x' - mean n w' v) * S' = sum n (fun j => w' j * (v' j - v j))).
  { rewrite (sum_ext n (fun j => w' j * (v' j - v j)) (fun j => w' j * v' j - w' j * v j)) by (intros; ring).
    rewrite sum_minus. unfold x', mean. fold S'. field. lra. }
  assert (B : Rabs (x' - mean n w' v) * S' <= eps_v * (W * total n w delta v)).
  { apply Rle_trans with (Rabs ((x' - mean n w' v) * S')).
    { rewrite Rabs_mult, (Rabs_pos_eq S') by lra. apply Rle_refl. }
    rewrite E. eapply Rle_trans; [apply sum_abs|].
    apply Rle_trans with (eps_v * sum n (fun j => Rabs (w' j) * Rabs (v j))).
    - rewrite <- sum_scal. apply sum_le. intros j Hj. rewrite Rabs_mult.
      pose proof (values j Hj) as B. apply (Rmult_le_compat_l (Rabs (w' j))) in B; [lra|apply Rabs_pos].
    - apply Rmult_le_compat_l; [exact eps_v_pos|exact ST]. }
  apply (Rmult_le_reg_r (W * L)); [apply Rmult_lt_0_compat; assumption|].
  replace (eps_v * total n w delta v / L * (W * L)) with (eps_v * (W * total n w delta v)) by (field; lra).
  eapply Rle_trans; [|exact B]. apply Rmult_le_compat_l; [apply Rabs_pos|exact SL]. }
replace (x' - x) with ((x' - mean n w' v) + (mean n w' v - x)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
assert (Eq : explicit_bound = eps_v * total n w delta v / L + spread n w delta v).
{ unfold explicit_bound, spread, L, least, total. fold W.
  rewrite (sum_ext n (fun j => p j * (eps_v * Rabs (v j) * exp (eps_s * t j) + (exp (eps_s * t j) - 1) * Rabs (v j - x)))
    (fun j => eps_v * (w j / W * exp (delta j) * Rabs (v j)) + w j / W * (exp (delta j) - 1) * Rabs (v j - mean n w v)))
    by (intros; unfold p, delta, x; ring).
  rewrite sum_plus, sum_scal. unfold p, delta. unfold Rdiv. ring. }
rewrite Eq. lra.
Qed.

(* A = sum p |v|, S = sum p t |v - x| *)
Let A := sum n (fun j => p j * Rabs (v j)).
Let S := sum n (fun j => p j * t j * Rabs (v j - x)).
Variable tau : R.
Hypothesis first_order : forall j, (j < n)%nat -> eps_s * t j <= tau.

Lemma p_pos j : 0 <= p j.
Proof. apply Rmult_le_pos; [left; apply exp_pos|left; apply Rinv_0_lt_compat, W_positive]. Qed.

(** theorem: backward_first_order — where eps_s t is at most tau, the first-order formula eps_v A + eps_s S is right up to the factor e^(2 tau): an output further away than that is explained by no such change. used by: src/softmax/perturb.c, src/softmax/enclose.c *)
Theorem backward_first_order : Rabs (x' - x) <= exp (2 * tau) * (eps_v * A + eps_s * S).
Proof.
eapply Rle_trans; [exact backward_explicit|].
assert (Pt : 0 <= tau).
{ eapply Rle_trans; [|apply (first_order 0 some)]. apply delta_positive, some. }
assert (Sp : sum n p = 1).
{ unfold p, Rdiv. rewrite sum_scal_r. fold W. apply Rinv_r. pose proof W_positive. lra. }
assert (D : exp (- tau) <= sum n (fun j => p j * exp (- (eps_s * t j)))).
{ replace (exp (- tau)) with (sum n p * exp (- tau)) by (rewrite Sp; ring). rewrite <- sum_scal_r.
  apply sum_le. intros j Hj. apply Rmult_le_compat_l; [apply p_pos|]. apply exp_le.
  pose proof (first_order j Hj). lra. }
pose proof (exp_pos (- tau)) as Pe.
set (num := sum n (fun j => p j * (eps_v * Rabs (v j) * exp (eps_s * t j) + (exp (eps_s * t j) - 1) * Rabs (v j - x)))).
assert (N : num <= exp tau * (eps_v * A + eps_s * S)).
{ unfold num, A, S. rewrite <- !sum_scal, <- sum_plus, <- sum_scal. apply sum_le. intros j Hj.
  set (z := eps_s * t j). assert (Pz : 0 <= z) by apply (delta_positive j Hj).
  assert (Ez : exp z <= exp tau) by apply exp_le, (first_order j Hj).
  (* e^z - 1 <= z e^z *)
  assert (Em : exp z - 1 <= z * exp z).
  { pose proof (exp_above (- z)) as H. apply (Rmult_le_compat_l (exp z)) in H; [|left; apply exp_pos].
    rewrite <- exp_plus in H. replace (z + - z) with 0 in H by ring. rewrite exp_0 in H. lra. }
  pose proof (Rabs_pos (v j)) as P1. pose proof (Rabs_pos (v j - x)) as P2. pose proof (p_pos j) as P3.
  replace (exp tau * (eps_v * (p j * Rabs (v j)) + eps_s * (p j * t j * Rabs (v j - x))))
    with (p j * (eps_v * Rabs (v j) * exp tau + z * exp tau * Rabs (v j - x))) by (unfold z; ring).
  apply Rmult_le_compat_l; [exact P3|]. apply Rplus_le_compat.
  - apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption|exact Ez].
  - apply Rmult_le_compat_r; [exact P2|]. apply Rle_trans with (1 := Em). apply Rmult_le_compat_l; assumption. }
unfold explicit_bound. fold num. set (den := sum n (fun j => p j * exp (- (eps_s * t j)))) in *.
assert (P0 : 0 <= eps_v * A + eps_s * S).
{ apply Rplus_le_le_0_compat; apply Rmult_le_pos; try assumption; apply sum_nonneg; intros j Hj.
  - apply Rmult_le_pos; [apply p_pos|apply Rabs_pos].
  - apply Rmult_le_pos; [apply Rmult_le_pos; [apply p_pos|apply t_pos, Hj]|apply Rabs_pos]. }
apply (Rmult_le_reg_r den); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
apply Rle_trans with (1 := N).
replace (exp (2 * tau)) with (exp tau * exp tau) by (rewrite <- exp_plus; f_equal; ring).
assert (E1 : exp tau * exp (- tau) = 1) by (rewrite <- exp_plus; replace (tau + - tau) with 0 by ring; apply exp_0).
assert (1 <= exp tau * den).
{ rewrite <- E1. apply Rmult_le_compat_l; [left; apply exp_pos|exact D]. }
set (B := eps_v * A + eps_s * S) in *.
assert (0 <= exp tau * B) by (apply Rmult_le_pos; [left; apply exp_pos|exact P0]).
apply (Rmult_le_compat_l (exp tau * B)) in H; [|assumption]. lra.
Qed.
End Backward.
