(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Step 2 of src/sparse/enclose.c: how far the threshold in double is from the exact one, and by how much the
   largest score moves. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.weight softmax.terms
  sparse.power sparse.threshold sparse.mean sparse.deviation sparse.rows sparse.arguments.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

(* ---- what solving has left ---- *)

Lemma log_below a : 0 < a -> ln a <= a - 1.
Proof. intros H. pose proof (exp_above (ln a)) as E. rewrite exp_ln in E by exact H. lra. Qed.

Lemma ppow_grows r y d M : 0 < r -> 0 < y -> 0 <= d -> y + d <= M -> ppow r y * exp (r * (d / M)) <= ppow r (y + d).
Proof.
intros Hr Hy Hd HM. rewrite !ppow_pos by lra. unfold Rpower. rewrite <- exp_plus.
assert (L := log_below (y / (y + d))). assert (P : 0 < y / (y + d)) by (apply Rdiv_lt_0_compat; lra). specialize (L P).
unfold Rdiv in L at 1. rewrite ln_mult, ln_Rinv in L by (try apply Rinv_0_lt_compat; lra).
assert (D : d / M <= ln (y + d) - ln y).
{ apply Rle_trans with (d / (y + d)); [apply Rmult_le_compat_l; [exact Hd|apply Rinv_le; lra]|].
  replace (d / (y + d)) with (1 - y / (y + d)) by (field; lra). lra. }
assert (E : r * ln y + r * (d / M) <= r * ln (y + d)).
{ rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; lra. }
destruct E as [E|E]; [left; apply exp_increasing, E|rewrite E; apply Rle_refl].
Qed.

Section Miss.
Variables (n : nat) (r : R) (g : nat -> R) (u root : R).
Hypothesis r_pos : 0 < r.
Definition held (n : nat) (r : R) (g : nat -> R) (u : R) : R := sum n (fun j => ppow r (u - g j)).

Lemma held_grows v d M : 0 <= d -> 0 < M -> (forall j, (j < n)%nat -> v + d - g j <= M) ->
  held n r g v * exp (r * (d / M)) <= held n r g (v + d).
Proof.
intros Hd PM H. unfold held. rewrite <- sum_scal_r. apply sum_le. intros j Hj.
destruct (Rlt_le_dec 0 (v - g j)) as [L|L].
- replace (v + d - g j) with (v - g j + d) by ring. apply ppow_grows; try assumption. specialize (H j Hj). lra.
- rewrite (ppow_zero r (v - g j)) by exact L. rewrite Rmult_0_l. apply ppow_nonneg.
Qed.

Hypothesis root_ok : held n r g root = 1.

Lemma below_one j : (j < n)%nat -> root - g j <= 1.
Proof.
intros Hj. apply Rnot_lt_le. intros C. assert (L : ppow r 1 < ppow r (root - g j)) by (apply ppow_lt; lra).
rewrite ppow_one in L. assert (ppow r (root - g j) <= held n r g root).
{ apply (sum_ge_term n (fun j => ppow r (root - g j))); [intros; apply ppow_nonneg|exact Hj]. } lra.
Qed.

Variable m : R.
Hypothesis m_small : 0 <= m <= / 2.
Hypothesis held_pos : 0 < held n r g u.
Hypothesis low_side : 1 - held n r g u <= m * (r * held n r g u).
Hypothesis high_side : held n r g u - 1 <= m * r.

Lemma missed : Rabs (u - root) <= m * (1 + 2 * m).
Proof.
destruct (Rle_lt_dec u root) as [L|L].
- set (d := root - u). assert (Hd : 0 <= d) by (unfold d; lra).
  assert (G := held_grows u d 1 Hd Rlt_0_1). unfold Rdiv in G. rewrite Rinv_1, Rmult_1_r in G.
  replace (u + d) with root in G by (unfold d; ring). specialize (G below_one). rewrite root_ok in G.
  pose proof (exp_above (r * d)) as E. set (f := held n r g u) in *.
  assert (f * (1 + r * d) <= f * exp (r * d)) by (apply Rmult_le_compat_l; lra).
  assert (D : d <= m).
  { apply (Rmult_le_reg_l (r * f)); [apply Rmult_lt_0_compat; lra|]. lra. }
  rewrite Rabs_minus_sym, Rabs_pos_eq by lra. fold d. assert (0 <= m * m) by (apply Rmult_le_pos; lra). lra.
- set (d := u - root). assert (Hd : 0 < d) by (unfold d; lra).
  assert (G := held_grows root d (1 + d) (Rlt_le _ _ Hd) ltac:(lra)).
  replace (root + d) with u in G by (unfold d; ring). rewrite root_ok in G.
  assert (G' := G ltac:(intros j Hj; pose proof (below_one j Hj); unfold d; lra)). clear G.
  pose proof (exp_above (r * (d / (1 + d)))) as E. set (f := held n r g u) in *.
  assert (D : r * (d / (1 + d)) <= m * r) by lra.
  assert (D2 : d / (1 + d) <= m) by (apply (Rmult_le_reg_l r); lra).
  assert (D3 : d <= m * (1 + d)).
  { apply (Rmult_le_compat_r (1 + d)) in D2; [|lra]. unfold Rdiv in D2. rewrite Rmult_assoc, Rinv_l in D2 by lra. lra. }
  rewrite Rabs_pos_eq by lra. fold d.
  assert (X : d * (1 - m) <= m) by lra.
  assert (Y : 1 <= (1 - m) * (1 + 2 * m)).
  { assert (0 <= m * (1 - 2 * m)) by (apply Rmult_le_pos; lra). lra. }
  assert (X2 : d * (1 - m) * (1 + 2 * m) <= m * (1 + 2 * m)) by (apply Rmult_le_compat_r; lra).
  assert (d * 1 <= d * ((1 - m) * (1 + 2 * m))) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Miss.

(* ---- the root moves by no more than the gaps of keys that may be in the support ---- *)

Section Moves.
Variables (n : nat) (r : R) (g G : nat -> R) (root Root E : R).
Hypothesis r_pos : 0 < r.
Hypothesis n_pos : (0 < n)%nat.
Hypothesis root_ok : held n r g root = 1.
Hypothesis Root_ok : held n r G Root = 1.
Hypothesis E_pos : 0 <= E.
(* keys in one support or the other move by at most E *)
Hypothesis inside : forall j, (j < n)%nat -> g j < root -> G j <= g j + E.
Hypothesis outside : forall j, (j < n)%nat -> G j < root - E -> g j <= G j + E.

Lemma held_strict g' a b : a < b -> 0 < held n r g' a -> held n r g' a < held n r g' b.
Proof.
intros L P. unfold held in *.
assert (X : exists j, (j < n)%nat /\ 0 < ppow r (a - g' j)).
{ apply Classical_Prop.NNPP. intros C. assert (sum n (fun j => ppow r (a - g' j)) = 0); [|lra].
  apply sum_zero. intros j Hj. pose proof (ppow_nonneg r (a - g' j)). destruct (Rle_lt_dec (ppow r (a - g' j)) 0) as [Z|Z]; [lra|].
  exfalso. apply C. exists j. split; assumption. }
destruct X as [j [Hj Pj]]. apply ppow_gt_0 in Pj.
apply sum_lt with j; [|exact Hj|].
- intros i _. apply ppow_le; [exact r_pos|lra].
- apply ppow_lt; [exact r_pos|lra|lra].
Qed.

Lemma root_moves : Rabs (Root - root) <= E.
Proof.
apply Rabs_le. split.
- (* at root - E the sum is at most 1 *)
  apply Rnot_lt_le. intros C. assert (L : Root < root - E) by lra.
  assert (S : held n r G (root - E) <= 1).
  { rewrite <- root_ok. apply sum_le. intros j Hj.
    destruct (Rlt_le_dec (G j) (root - E)) as [I|I].
    - apply ppow_le; [exact r_pos|]. pose proof (outside j Hj I). lra.
    - rewrite (ppow_zero r (root - E - G j)) by lra. apply ppow_nonneg. }
  pose proof (held_strict G Root (root - E) L ltac:(lra)). lra.
- (* at root + E at least 1 *)
  apply Rnot_lt_le. intros C. assert (L : root + E < Root) by lra.
  assert (S : 1 <= held n r G (root + E)).
  { rewrite <- root_ok. apply sum_le. intros j Hj.
    destruct (Rlt_le_dec (g j) root) as [I|I].
    - apply ppow_le; [exact r_pos|]. pose proof (inside j Hj I). lra.
    - rewrite (ppow_zero r (root - g j)) by lra. apply ppow_nonneg. }
  pose proof (held_strict G (root + E) Root L ltac:(lra)). lra.
Qed.
End Moves.
