(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The threshold of alpha-entmax, alpha = 1 + 1/r: sum_i [x_i - tau]_+^r = 1 with x_i = z_i / r, for
   any real r > 0 and n >= 1 keys. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Attest Require Import problem.row sparse.power.
Open Scope R_scope.

Definition mass (n : nat) (r : R) (x : nat -> R) (tau : R) : R :=
  sum n (fun i => ppow r (x i - tau)).

Definition is_max (n : nat) (x : nat -> R) (m : nat) : Prop :=
  (m < n)%nat /\ forall i, (i < n)%nat -> x i <= x m.

Lemma max_exists n x : (0 < n)%nat -> exists m, is_max n x m.
Proof.
induction n as [|n IH]; [lia | intros _].
destruct n as [|n]; [exists 0%nat; split; [lia | intros i Hi; replace i with 0%nat by lia; lra]|].
destruct IH as [m [Hm H]]; [lia|].
destruct (Rle_dec (x m) (x (S n))) as [C|C].
- exists (S n); split; [lia|]. intros i Hi; destruct (Nat.eq_dec i (S n)) as [->|E]; [lra|].
  apply Rle_trans with (x m); [apply H; lia | exact C].
- exists m; split; [lia|]. intros i Hi; destruct (Nat.eq_dec i (S n)) as [->|E]; [lra | apply H; lia].
Qed.

Lemma mass_nonneg n r x tau : 0 <= mass n r x tau.
Proof. apply sum_nonneg; intros; apply ppow_nonneg. Qed.

Lemma mass_continuous n r x : 0 < r -> continuity (mass n r x).
Proof.
intros Hr tau; unfold mass; induction n as [|n IH]; simpl.
- apply continuity_pt_const; intros a b; reflexivity.
- apply (continuity_pt_plus (fun tau => sum n (fun i => ppow r (x i - tau))) (fun tau => ppow r (x n - tau)));
    [exact IH|].
  apply (continuity_pt_comp (fun tau => x n - tau) (ppow r)); [|apply ppow_continuous, Hr].
  apply (continuity_pt_minus (fun _ => x n) (fun tau => tau));
    [apply continuity_pt_const; intros a b; reflexivity | apply derivable_continuous_pt, derivable_pt_id].
Qed.

Lemma mass_decr n r x m t t' : 0 < r -> is_max n x m -> t < t' -> t < x m -> mass n r x t' < mass n r x t.
Proof.
intros Hr [Hm _] Htt Ht; apply sum_lt with m; [|exact Hm|].
- intros i _; apply ppow_le; lra.
- apply ppow_lt; lra.
Qed.

Lemma mass_above n r x m tau : is_max n x m -> x m <= tau -> mass n r x tau = 0.
Proof.
intros [_ H] Ht; apply sum_zero; intros i Hi; apply ppow_zero. specialize (H i Hi); lra.
Qed.

Lemma below_max n r x m tau : is_max n x m -> mass n r x tau = 1 -> tau < x m.
Proof.
intros Hm H; apply Rnot_le_lt; intros C; rewrite (mass_above n r x m tau Hm C) in H; lra.
Qed.

(* n^(-1/r) *)
Definition least_gap (n : nat) (r : R) : R := Rpower (/ INR n) (/ r).

Section Bracket.
Variables (n : nat) (r : R) (x : nat -> R) (m : nat).
Hypothesis Hr : 0 < r.
Hypothesis Hm : is_max n x m.

Let Hn : 0 < INR n.
Proof. destruct Hm as [H _]; apply lt_0_INR; lia. Qed.

Lemma least_gap_pow : ppow r (least_gap n r) = / INR n.
Proof. apply ppow_root; [exact Hr | apply Rinv_0_lt_compat, Hn]. Qed.

Lemma least_gap_le_1 : least_gap n r <= 1.
Proof.
apply Rnot_lt_le; intros H. assert (H0 : ppow r 1 < ppow r (least_gap n r)) by (apply ppow_lt; lra).
rewrite ppow_one, least_gap_pow in H0.
assert (1 <= INR n) by (destruct Hm as [H1 _]; apply (le_INR 1); lia).
assert (/ INR n <= / 1) by (apply Rinv_le_contravar; lra). lra.
Qed.

Lemma mass_left : 1 <= mass n r x (x m - 1).
Proof.
destruct Hm as [H _].
apply Rle_trans with (ppow r (x m - (x m - 1))).
- replace (x m - (x m - 1)) with 1 by ring; rewrite ppow_one; lra.
- apply (sum_ge_term n (fun i => ppow r (x i - (x m - 1)))); [intros; apply ppow_nonneg | exact H].
Qed.

Lemma mass_right : mass n r x (x m - least_gap n r) <= 1.
Proof.
destruct Hm as [_ H].
apply Rle_trans with (sum n (fun _ => / INR n)).
- apply sum_le; intros i Hi; rewrite <- least_gap_pow; apply ppow_le; [exact Hr|].
  specialize (H i Hi); lra.
- rewrite sum_const, Rinv_r; lra.
Qed.

Lemma threshold_unique t t' : mass n r x t = 1 -> mass n r x t' = 1 -> t = t'.
Proof.
intros H H'; destruct (Rtotal_order t t') as [C|[C|C]]; [|exact C|].
- assert (D := mass_decr n r x m t t' Hr Hm C (below_max n r x m t Hm H)); lra.
- assert (D := mass_decr n r x m t' t Hr Hm C (below_max n r x m t' Hm H')); lra.
Qed.

Lemma threshold_in_bracket : exists tau, x m - 1 <= tau <= x m - least_gap n r /\ mass n r x tau = 1.
Proof.
destruct (IVT_cor (fun t => mass n r x t - 1) (x m - 1) (x m - least_gap n r)) as [tau [H1 H2]].
- intros t; apply (continuity_pt_minus (mass n r x) (fun _ => 1));
    [apply mass_continuous, Hr | apply continuity_pt_const; intros a b; reflexivity].
- pose proof least_gap_le_1; lra.
- pose proof mass_left; pose proof mass_right; nra.
- exists tau; split; [exact H1 | lra].
Qed.

Lemma left_end tau : mass n r x tau = 1 ->
  (tau = x m - 1 <-> exists i, (i < n)%nat /\ ppow r (x i - tau) = 1).
Proof.
destruct Hm as [H0 Hmax]; intros H; split.
- intros ->; exists m; split; [exact H0|]. replace (x m - (x m - 1)) with 1 by ring; apply ppow_one.
- intros [i [Hi Hp]].
  assert (x i <= x m) by (apply Hmax, Hi).
  assert (Ht : ppow r (x m - tau) <= 1).
  { rewrite <- H; apply (sum_ge_term n (fun i => ppow r (x i - tau))); [intros; apply ppow_nonneg | exact H0]. }
  assert (x m - tau <= 1).
  { apply Rnot_lt_le; intros C.
  assert (D : ppow r 1 < ppow r (x m - tau)) by (apply ppow_lt; lra). rewrite ppow_one in D; lra. }
  assert (1 <= x i - tau); [|lra].
  apply Rnot_lt_le; intros C.
  assert (D : ppow r (x i - tau) < ppow r 1) by (apply ppow_lt; lra). rewrite ppow_one in D; lra.
Qed.

Lemma right_end tau : mass n r x tau = 1 ->
  (tau = x m - least_gap n r <-> forall i, (i < n)%nat -> x i = x m).
Proof.
destruct Hm as [H0 Hmax]; intros H; split.
- intros -> i Hi; destruct (Hmax i Hi) as [C|C]; [|exact C]. exfalso.
  assert (D : mass n r x (x m - least_gap n r) < sum n (fun _ => / INR n)).
  { apply sum_lt with i; [|exact Hi|].
    - intros j Hj; rewrite <- least_gap_pow; apply ppow_le; [exact Hr|]. specialize (Hmax j Hj); lra.
    - rewrite <- least_gap_pow; apply ppow_lt; [exact Hr | apply exp_pos | lra]. }
  rewrite sum_const, Rinv_r in D; lra.
- intros Ht; apply threshold_unique; [exact H|].
  unfold mass; rewrite (sum_ext n _ (fun _ => / INR n)).
  + rewrite sum_const, Rinv_r; lra.
  + intros i Hi; rewrite (Ht i Hi), <- least_gap_pow; f_equal; ring.
Qed.
End Bracket.

(** theorem: entmax_threshold — for every real r > 0 and n >= 1 scores x_i = z_i/r the threshold tau
    with sum_i [x_i - tau]_+^r = 1 exists, is unique, and lies in [max x - 1, max x - n^(-1/r)]; the
    sum is continuous, strictly decreasing below max x and 0 from there on.
    used by: src/sparse/solve.c, src/sparse/enclose.c, src/sparse/reference.c *)
Theorem entmax_threshold n r x m : 0 < r -> is_max n x m ->
  (exists tau, mass n r x tau = 1 /\ (x m - 1 <= tau <= x m - least_gap n r) /\
     forall t, mass n r x t = 1 -> t = tau) /\
  continuity (mass n r x) /\
  (forall t t', t < t' -> t < x m -> mass n r x t' < mass n r x t) /\
  (forall t, x m <= t -> mass n r x t = 0).
Proof.
intros Hr Hm; repeat split.
- destruct (threshold_in_bracket n r x m Hr Hm) as [tau [H1 H2]]; exists tau; repeat split; try tauto.
  intros t Ht; apply (threshold_unique n r x m); assumption.
- apply mass_continuous, Hr.
- intros; apply (mass_decr n r x m); assumption.
- intros; apply (mass_above n r x m); assumption.
Qed.

(** theorem: threshold_ends — the lower end of the bracket is attained iff one key has all the mass,
    the upper end iff all keys tie.
    used by: src/sparse/identities.c *)
Theorem threshold_ends n r x m tau : 0 < r -> is_max n x m -> mass n r x tau = 1 ->
  (tau = x m - 1 <-> exists i, (i < n)%nat /\ ppow r (x i - tau) = 1) /\
  (tau = x m - least_gap n r <-> forall i, (i < n)%nat -> x i = x m).
Proof. intros Hr Hm H; split; [apply (left_end n) | apply (right_end n)]; assumption. Qed.

(** theorem: sparsemax_threshold — for r = 1: if the keys of a set are those with x_i > tau and tau is
    (their sum - 1) / their number, then tau is the threshold.
    used by: src/sparse/solve.c, src/sparse/exact.c *)
Theorem sparsemax_threshold n x (inside : nat -> bool) tau :
  (forall i, (i < n)%nat -> (inside i = true <-> tau < x i)) ->
  sum n (fun i => if inside i then 1 else 0) * tau = sum n (fun i => if inside i then x i else 0) - 1 ->
  mass n 1 x tau = 1.
Proof.
intros H E; unfold mass.
rewrite (sum_ext n _ (fun i => (if inside i then x i else 0) - (if inside i then 1 else 0) * tau)).
- rewrite sum_minus, sum_scal_r; lra.
- intros i Hi; rewrite ppow_1; specialize (H i Hi); destruct (inside i).
  + rewrite Rmax_right; [ring|]. assert (tau < x i) by tauto; lra.
  + rewrite Rmax_left; [ring|]. apply Rnot_lt_le; intros C.
    assert (false = true) by (apply H; lra); discriminate.
Qed.
