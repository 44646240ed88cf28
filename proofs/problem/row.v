(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* One row of attention in the real numbers: sums over keys 0 .. n-1, and weighted means. *)
From Coq Require Import Reals Lra Lia.
Open Scope R_scope.

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => sum m f + f m
  end.

(* sum_j w_j v_j / sum_j w_j *)
Definition mean (n : nat) (w v : nat -> R) : R := sum n (fun j => w j * v j) / sum n w.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof.
induction n as [|n IH]; intros H; simpl; [reflexivity|].
rewrite IH, H; [reflexivity | lia | intros; apply H; lia].
Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_scal n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_scal_r n c f : sum n (fun i => f i * c) = sum n f * c.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_minus n f g : sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n as [|n IH]; [simpl; ring|]. rewrite S_INR; simpl; rewrite IH; ring. Qed.

Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof. intros H; rewrite (sum_ext n f (fun _ => 0) H), sum_const; ring. Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
induction n as [|n IH]; intros H; simpl; [lra|].
apply Rplus_le_compat; [apply IH; intros; apply H; lia | apply H; lia].
Qed.

Lemma sum_lt n f g j : (forall i, (i < n)%nat -> f i <= g i) -> (j < n)%nat -> f j < g j ->
  sum n f < sum n g.
Proof.
induction n as [|n IH]; intros H Hj Hlt; simpl; [lia|].
destruct (Nat.eq_dec j n) as [->|Hn].
- assert (sum n f <= sum n g) by (apply sum_le; intros; apply H; lia). lra.
- assert (sum n f < sum n g) by (apply IH; [intros; apply H; lia | lia | exact Hlt]).
  assert (f n <= g n) by (apply H; lia). lra.
Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros H; rewrite <- (sum_zero n (fun _ => 0)); [apply sum_le, H | reflexivity]. Qed.

Lemma sum_ge_term n f j : (forall i, (i < n)%nat -> 0 <= f i) -> (j < n)%nat -> f j <= sum n f.
Proof.
induction n as [|n IH]; intros H Hj; simpl; [lia|].
assert (0 <= sum n f) by (apply sum_nonneg; intros; apply H; lia).
destruct (Nat.eq_dec j n) as [->|Hn]; [lra|].
assert (f j <= sum n f) by (apply IH; [intros; apply H; lia | lia]).
assert (0 <= f n) by (apply H; lia). lra.
Qed.

Lemma sum_pos n f j : (forall i, (i < n)%nat -> 0 <= f i) -> (j < n)%nat -> 0 < f j ->
  0 < sum n f.
Proof. intros H Hj Hp; pose proof (sum_ge_term n f j H Hj); lra. Qed.

Lemma sum_all_pos n f : (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < f i) -> 0 < sum n f.
Proof.
intros Hn H; apply sum_pos with 0%nat; [intros i Hi; left; apply H, Hi | exact Hn | apply H, Hn].
Qed.

Lemma sum_abs n f : Rabs (sum n f) <= sum n (fun i => Rabs (f i)).
Proof.
induction n as [|n IH]; simpl; [rewrite Rabs_R0; lra|].
eapply Rle_trans; [apply Rabs_triang | lra].
Qed.

(* Scaling all weights by one factor leaves means alone. *)
Lemma mean_scal n c w v : c <> 0 -> sum n w <> 0 ->
  mean n (fun j => c * w j) v = mean n w v.
Proof.
intros Hc Hw; unfold mean; rewrite (sum_ext n _ (fun j => c * (w j * v j))), !sum_scal.
- field; auto.
- intros; ring.
Qed.

Lemma mean_ext n w w' v : (forall j, (j < n)%nat -> w j = w' j) -> mean n w v = mean n w' v.
Proof.
intros H; unfold mean; rewrite (sum_ext n w w' H).
rewrite (sum_ext n (fun j => w j * v j) (fun j => w' j * v j)); [reflexivity|].
intros; rewrite H; auto.
Qed.

Lemma Rabs_range x y : Rabs x <= y -> - y <= x <= y.
Proof. unfold Rabs; destruct Rcase_abs; lra. Qed.

Lemma Rabs_within x y : - y <= x <= y -> Rabs x <= y.
Proof. unfold Rabs; destruct Rcase_abs; lra. Qed.
