(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Top-k selections and the uniform kernel. *)
From Coq Require Import Reals Lra Lia Bool.
From Attest Require Import problem.row sparse.kernel_regression.
Open Scope R_scope.

(* The largest distance of a selected key, or L where none is selected. *)
Lemma radius_exists n (D : nat -> R) (sel : nat -> bool) L : exists delta,
  (forall i, (i < n)%nat -> sel i = true -> D i <= delta) /\ L <= delta /\
  (delta = L \/ exists i, (i < n)%nat /\ sel i = true /\ delta = D i).
Proof.
induction n as [|n [delta [H1 [H2 H3]]]].
- exists L; repeat split; [lia | lra | auto].
- destruct (sel n) eqn:E.
  + destruct (Rle_dec (D n) delta) as [C|C].
    * exists delta; repeat split; [|exact H2|].
      -- intros i Hi Hs; destruct (Nat.eq_dec i n) as [->|Ne]; [exact C | apply H1; [lia | exact Hs]].
      -- destruct H3 as [H3|[i [Hi H3]]]; [auto | right; exists i; split; [lia | exact H3]].
    * exists (D n); repeat split; [|lra|right; exists n; auto].
      intros i Hi Hs; destruct (Nat.eq_dec i n) as [->|Ne]; [lra|].
      apply Rle_trans with delta; [apply H1; [lia | exact Hs] | lra].
  + exists delta; repeat split; [|exact H2|].
    * intros i Hi Hs; destruct (Nat.eq_dec i n) as [->|Ne]; [congruence | apply H1; [lia | exact Hs]].
    * destruct H3 as [H3|[i [Hi H3]]]; [auto | right; exists i; split; [lia | exact H3]].
Qed.

Lemma below_all n (D : nat -> R) : exists L, forall i, (i < n)%nat -> L < D i.
Proof.
induction n as [|n [L H]]; [exists 0; lia|].
exists (Rmin L (D n) - 1); intros i Hi. pose proof (Rmin_l L (D n)); pose proof (Rmin_r L (D n)).
destruct (Nat.eq_dec i n) as [->|Ne]; [lra|]. specialize (H i ltac:(lia)); lra.
Qed.

(** theorem: topk_is_a_ball — keys are selected by some radius iff every selected key is nearer than
    every other; so where the k-th and (k+1)-th distance tie no radius selects k keys.
    used by: src/sparse/identities.c, src/sparse/jump.c *)
Theorem topk_is_a_ball n (D : nat -> R) (sel : nat -> bool) :
  (exists delta, forall i, (i < n)%nat -> (D i <= delta <-> sel i = true)) <->
  (forall i j, (i < n)%nat -> (j < n)%nat -> sel i = true -> sel j = false -> D i < D j).
Proof.
split.
- intros [delta H] i j Hi Hj Si Sj. apply Rle_lt_trans with delta; [apply H; assumption|].
  apply Rnot_le_lt; intros C; apply H in C; [congruence | exact Hj].
- intros H; destruct (below_all n D) as [L HL].
  destruct (radius_exists n D sel L) as [delta [H1 [H2 H3]]]; exists delta; intros i Hi.
  split; [|apply H1, Hi]. intros C; destruct (sel i) eqn:E; [reflexivity | exfalso].
  destruct H3 as [->|[j [Hj [Sj ->]]]].
  + specialize (HL i Hi); lra.
  + specialize (H j i Hj Hi Sj E); lra.
Qed.

(** theorem: uniform_is_topk_mean — without such a tie the uniform kernel at that radius is the mean
    of the selected values; on unit vectors the selected keys are those of the largest scores.
    used by: src/sparse/identities.c *)
Theorem uniform_is_topk_mean n (D v : nat -> R) (sel : nat -> bool) delta :
  (forall i, (i < n)%nat -> (D i <= delta <-> sel i = true)) ->
  let uniform i := if Rle_dec (D i) delta then 1 else 0 in
  mean n uniform v = sum n (fun i => if sel i then v i else 0) / sum n (fun i => if sel i then 1 else 0).
Proof.
intros H uniform; unfold mean.
assert (E : forall i, (i < n)%nat -> uniform i = if sel i then 1 else 0).
{ intros i Hi; specialize (H i Hi); unfold uniform; destruct (Rle_dec (D i) delta) as [C|C], (sel i); auto;
  exfalso; [apply H in C; discriminate | apply C, H; reflexivity]. }
rewrite (sum_ext n uniform _ E), (sum_ext n (fun i => uniform i * v i) (fun i => if sel i then v i else 0));
  [reflexivity|].
intros i Hi; rewrite E by exact Hi; destruct (sel i); ring.
Qed.

(** theorem: nearest_is_largest_score — for keys of one norm, a key is nearer than another iff its
    score is larger, and as near iff the scores are equal.
    used by: src/sparse/jump.c *)
Theorem nearest_is_largest_score d q ki kj : norm2 d ki = norm2 d kj ->
  (distance2 d ki q < distance2 d kj q <-> dot d kj q < dot d ki q) /\
  (distance2 d ki q = distance2 d kj q <-> dot d kj q = dot d ki q).
Proof. intros H; rewrite !distance2_dot, H; split; split; lra. Qed.
