(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Sums of products of computed weights and computed sizes: how far they are from the exact sums, when
   both factors are off relatively and by underflow, and the sum itself by its roundings. Step 5 of
   src/softmax/enclose.c; float_pass.v puts its quantities in. *)
From Coq Require Import Reals Lra Lia Psatz ZArith.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.bound.
Open Scope R_scope.

Section Sum.
(* Weights a, sizes b of at most B, and computed ones; g' what a key's roundings grow its product by. *)
Variables (n : nat) (a a' b b' g' : nat -> R) (B r kb g tau eb eta N' : R).
Hypothesis weights : forall j, (j < n)%nat -> 0 <= a j /\ 0 <= a' j /\ Rabs (a' j - a j) <= r * a j + tau.
Hypothesis sizes : forall j, (j < n)%nat -> 0 <= b j <= B /\ 0 <= b' j /\ Rabs (b' j - b j) <= kb * b j + eb.
Hypothesis grown : forall j, (j < n)%nat -> 0 <= g' j /\ (g' j <= g \/ (g' j <= / 16 /\ a' j <= 2 * tau)).
Hypothesis summed : Rabs (N' - sum n (fun j => a' j * b' j)) <= sum n (fun j => g' j * (a' j * b' j)) + eta.
Hypothesis small : 0 <= r <= / 64 /\ 0 <= kb <= / 64 /\ 0 <= g <= / 64 /\ 0 <= tau /\ 0 <= eb.

Lemma sum_close : Rabs (N' - sum n (fun j => a j * b j)) <=
  ((1 + r) * (1 + kb) * (1 + g) - 1) * sum n (fun j => a j * b j) +
  (2 * eb * sum n a + INR n * (2 * tau * (B + eb)) + eta).
Proof.
destruct small as [Hr [Hk [Hg [Ht He]]]].
replace (N' - sum n (fun j => a j * b j)) with ((N' - sum n (fun j => a' j * b' j)) +
  (sum n (fun j => a' j * b' j) - sum n (fun j => a j * b j))) by ring.
assert (D : Rabs (sum n (fun j => a' j * b' j) - sum n (fun j => a j * b j)) <=
  sum n (fun j => Rabs (a' j * b' j - a j * b j))) by (rewrite <- sum_minus; apply sum_abs).
eapply Rle_trans; [apply Rabs_triang|]. apply Rle_trans with (1 := Rplus_le_compat _ _ _ _ summed D).
replace (sum n (fun j => g' j * (a' j * b' j)) + eta + sum n (fun j => Rabs (a' j * b' j - a j * b j)))
  with (sum n (fun j => g' j * (a' j * b' j) + Rabs (a' j * b' j - a j * b j)) + eta)
  by (rewrite sum_plus; ring).
replace (((1 + r) * (1 + kb) * (1 + g) - 1) * sum n (fun j => a j * b j) +
  (2 * eb * sum n a + INR n * (2 * tau * (B + eb)) + eta)) with
  (sum n (fun j => ((1 + r) * (1 + kb) * (1 + g) - 1) * (a j * b j) + (2 * eb * a j + 2 * tau * (B + eb))) + eta)
  by (rewrite !sum_plus, !sum_scal, sum_const; ring).
apply Rplus_le_compat_r, sum_le. intros j Hj.
destruct (weights j Hj) as [Pa [Pa' Da]]. destruct (sizes j Hj) as [[Pb HB] [Pb' Db]]. destruct (grown j Hj) as [Pg HG].
assert (Ua' : a' j <= (1 + r) * a j + tau) by (apply Rabs_range in Da; lra).
assert (Ub' : b' j <= (1 + kb) * b j + eb) by (apply Rabs_range in Db; lra).
assert (Pab : 0 <= a j * b j) by (apply Rmult_le_pos; assumption).
assert (Kb : kb * b j <= / 64 * b j) by (apply Rmult_le_compat_r; lra).
assert (Ub'' : b' j <= 65 / 64 * (B + eb)) by lra.
assert (tb : tau * b' j <= 65 / 64 * (tau * (B + eb))).
{ apply (Rmult_le_compat_l tau) in Ub''; lra. }
assert (Pt : 0 <= tau * (B + eb)) by (apply Rmult_le_pos; lra).
assert (Pae : 0 <= a j * eb) by (apply Rmult_le_pos; lra).
(* the products themselves *)
assert (P : Rabs (a' j * b' j - a j * b j) <= ((1 + r) * (1 + kb) - 1) * (a j * b j) + (1 + r) * (a j * eb) + tau * b' j).
{ replace (a' j * b' j - a j * b j) with ((a' j - a j) * b' j + a j * (b' j - b j)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq (a j)), (Rabs_pos_eq (b' j)) by assumption.
  apply (Rmult_le_compat_r (b' j)) in Da; [|exact Pb'].
  apply (Rmult_le_compat_l (a j)) in Db; [|exact Pa].
  assert (r * a j * b' j <= r * a j * ((1 + kb) * b j + eb)).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact Ub']. } lra. }
assert (Q : a' j * b' j <= (1 + r) * (1 + kb) * (a j * b j) + (1 + r) * (a j * eb) + tau * b' j).
{ apply (Rmult_le_compat_r (b' j)) in Ua'; [|exact Pb'].
  assert ((1 + r) * a j * b' j <= (1 + r) * a j * ((1 + kb) * b j + eb)).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact Ub']. } lra. }
assert (Pab' : 0 <= a' j * b' j) by (apply Rmult_le_pos; assumption).
assert (G : g' j * (a' j * b' j) <= g * ((1 + r) * (1 + kb) * (a j * b j) + (1 + r) * (a j * eb) + tau * b' j) +
  / 8 * (tau * b' j)).
{ assert (Z : 0 <= tau * b' j) by (apply Rmult_le_pos; lra).
  destruct HG as [HG|[HG1 HG2]].
  - apply Rle_trans with (g * (a' j * b' j)); [apply Rmult_le_compat_r; assumption|].
    apply (Rmult_le_compat_l g) in Q; lra.
  - apply Rle_trans with (/ 16 * (a' j * b' j)); [apply Rmult_le_compat_r; assumption|].
    apply (Rmult_le_compat_r (b' j)) in HG2; [|exact Pb'].
    assert (0 <= g * ((1 + r) * (1 + kb) * (a j * b j) + (1 + r) * (a j * eb) + tau * b' j)); [|lra].
    apply Rmult_le_pos; [lra|]. repeat apply Rplus_le_le_0_compat; try assumption; repeat apply Rmult_le_pos; lra. }
assert (E1 : (1 + r) * (a j * eb) <= 65 / 64 * (a j * eb)) by (apply Rmult_le_compat_r; lra).
assert (E2 : 0 <= (1 + r) * (a j * eb)) by (apply Rmult_le_pos; lra).
assert (E3 : g * ((1 + r) * (a j * eb)) <= / 64 * ((1 + r) * (a j * eb))) by (apply Rmult_le_compat_r; lra).
assert (E4 : g * (tau * b' j) <= / 64 * (tau * b' j)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
lra.
Qed.
End Sum.

(* (1 + r1)(1 + r2) .. - 1 <= x + 2 x^2, x the sum: by way of exponentials. *)
Lemma exp_below x : 0 <= x <= / 2 -> exp x <= 1 + x + 2 * (x * x).
Proof.
intros H. pose proof (exp_above (- x)) as E.
apply (Rmult_le_compat_l (exp x)) in E; [|left; apply exp_pos]. rewrite <- exp_plus in E.
replace (x + - x) with 0 in E by ring. rewrite exp_0 in E.
apply (Rmult_le_reg_r (1 + - x)); [lra|]. apply Rle_trans with (1 := E).
assert (0 <= x * x) by apply Rle_0_sqr. assert (x * x * x <= / 2 * (x * x)) by (rewrite (Rmult_comm (/ 2)); apply Rmult_le_compat_l; lra).
lra.
Qed.

(* A tree that adds nothing negative. *)
Fixpoint nonneg t := match t with
| Zero => True | Val w => 0 <= w | Mul w v => 0 <= w * v | Fma w v t => 0 <= w * v /\ nonneg t
| Add l r => nonneg l /\ nonneg r | Scale c t => 0 <= c /\ nonneg t end.

Lemma nonneg_fl rnd t : (forall x, 0 <= x -> 0 <= rnd x) -> nonneg t -> 0 <= fl rnd rnd t.
Proof.
intros H. induction t; simpl; intros P; try lra; try (apply H, P).
- apply H. destruct P. apply Rplus_le_le_0_compat; [assumption|apply IHt; assumption].
- apply H. destruct P. apply Rplus_le_le_0_compat; [apply IHt1|apply IHt2]; assumption.
- apply H. destruct P. apply Rmult_le_pos; [assumption|apply IHt; assumption].
Qed.
