(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Weighted sums in floating point: any tree of products, fused operations, additions and scalings by
   numbers of size at most 1 (an online softmax moves its shift), products and sums in formats of
   their own. The error is a depth in unit roundoffs, and an underflow term. *)
From Coq Require Import Reals Lra Lia Psatz List Permutation ZArith.
From Flocq Require Import Core Relative.
From Attest Require Import problem.row.
Import ListNotations.
Open Scope R_scope.

Section Trees.
(* rp rounds products that stand alone, rnd everything else *)
Variables (rp rnd : R -> R) (up u eta : R).
Hypothesis up_pos : 0 <= up.
Hypothesis u_pos : 0 <= u.
Hypothesis eta_pos : 0 <= eta.
Hypothesis rp_error : forall x, Rabs (rp x - x) <= up * Rabs x + eta.
Hypothesis rnd_error : forall x, Rabs (rnd x - x) <= u * Rabs x + eta.

Inductive tree :=
| Zero                          (* an empty sum *)
| Val (w : R)                   (* a weight that is summed as it is *)
| Mul (w v : R)                 (* a product, rounded *)
| Fma (w v : R) (t : tree)      (* w v + t, rounded once *)
| Add (l r : tree)
| Scale (c : R) (t : tree).

Fixpoint fl t := match t with
| Zero => 0 | Val w => w | Mul w v => rp (w * v)
| Fma w v t => rnd (w * v + fl t) | Add l r => rnd (fl l + fl r) | Scale c t => rnd (c * fl t) end.
Fixpoint ex t := match t with
| Zero => 0 | Val w => w | Mul w v => w * v
| Fma w v t => w * v + ex t | Add l r => ex l + ex r | Scale c t => c * ex t end.
Fixpoint mag t := match t with
| Zero => 0 | Val w => Rabs w | Mul w v => Rabs (w * v)
| Fma w v t => Rabs (w * v) + mag t | Add l r => mag l + mag r | Scale c t => Rabs c * mag t end.
(* roundings on the longest path, those of products that stand alone not counted *)
Fixpoint depth t := match t with
| Zero | Val _ | Mul _ _ => 0%nat | Fma _ _ t | Scale _ t => S (depth t)
| Add l r => S (Nat.max (depth l) (depth r)) end.
Fixpoint ops t := match t with
| Zero | Val _ => 0%nat | Mul _ _ => 1%nat | Fma _ _ t | Scale _ t => S (ops t)
| Add l r => S (ops l + ops r) end.
Fixpoint shrinks t := match t with
| Zero | Val _ | Mul _ _ => True | Fma _ _ t => shrinks t
| Add l r => shrinks l /\ shrinks r | Scale c t => Rabs c <= 1 /\ shrinks t end.
(* the products that meet in the sum, weights with all scalings; a weight alone counts with 1 *)
Fixpoint terms t : list (R * R) := match t with
| Zero => [] | Val w => [(w, 1)] | Mul w v => [(w, v)]
| Fma w v t => (w, v) :: terms t | Add l r => terms l ++ terms r
| Scale c t => map (fun p => (c * fst p, snd p)) (terms t) end.

Lemma ex_mag t : Rabs (ex t) <= mag t.
Proof.
induction t; simpl; try apply Rle_refl.
- rewrite Rabs_R0; apply Rle_refl.
- eapply Rle_trans; [apply Rabs_triang|lra].
- eapply Rle_trans; [apply Rabs_triang|lra].
- rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|exact IHt].
Qed.

Lemma mag_pos t : 0 <= mag t.
Proof. eapply Rle_trans; [apply Rabs_pos|apply ex_mag]. Qed.

Lemma grows n : 1 <= (1 + u) ^ n.
Proof. apply pow_R1_Rle; lra. Qed.

Lemma step x y e B : Rabs (y - x) <= e -> Rabs x <= B -> Rabs (rnd y - x) <= (1 + u) * e + u * B + eta.
Proof.
intros H1 H2. replace (rnd y - x) with ((rnd y - y) + (y - x)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. pose proof (rnd_error y).
assert (Rabs y <= e + B).
{ replace y with ((y - x) + x) by ring. eapply Rle_trans; [apply Rabs_triang|lra]. }
assert (u * Rabs y <= u * (e + B)) by (apply Rmult_le_compat_l; assumption). lra.
Qed.

(* What a tree of depth d, size m and k operations may be off. *)
Definition off (d : nat) (m : R) (k : nat) : R :=
  ((1 + up) * (1 + u) ^ d - 1) * m + INR k * eta * ((1 + up) * (1 + u) ^ d).

Lemma off_step d m B k : 0 <= m -> 0 <= B ->
  (1 + u) * off d m k + u * (m + B) + eta <= off (S d) (m + B) (S k).
Proof.
intros Hm HB. unfold off. rewrite S_INR, <- tech_pow_Rmult.
set (q := (1 + up) * (1 + u) ^ d).
replace ((1 + up) * ((1 + u) * (1 + u) ^ d)) with ((1 + u) * q) by (unfold q; ring).
assert (Hq : 1 <= q).
{ unfold q. replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; try lra. apply grows. }
assert (0 <= (1 + u) * (q - 1) * B) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|exact HB]).
assert (1 <= (1 + u) * q) by (replace 1 with (1 * 1) at 1 by ring; apply Rmult_le_compat; lra).
assert (eta * 1 <= eta * ((1 + u) * q)) by (apply Rmult_le_compat_l; assumption). lra.
Qed.

Lemma off_mono d d' m k : (d <= d')%nat -> 0 <= m -> off d m k <= off d' m k.
Proof.
intros H Hm. unfold off. assert (P := Rle_pow (1 + u) d d' ltac:(lra) H).
assert ((1 + up) * (1 + u) ^ d <= (1 + up) * (1 + u) ^ d') by (apply Rmult_le_compat_l; lra).
apply Rplus_le_compat; [apply Rmult_le_compat_r; lra|].
apply Rmult_le_compat_l; [|assumption]. apply Rmult_le_pos; [apply pos_INR|exact eta_pos].
Qed.

Lemma tree_off t : shrinks t -> Rabs (fl t - ex t) <= off (depth t) (mag t) (ops t).
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl depth; simpl ops; intros S.
- simpl. replace (0 - 0) with 0 by ring. unfold off. rewrite Rabs_R0. simpl. lra.
- simpl. replace (w - w) with 0 by ring. unfold off. rewrite Rabs_R0. simpl.
  assert (0 <= up * Rabs w) by (apply Rmult_le_pos; [exact up_pos|apply Rabs_pos]). lra.
- simpl. pose proof (rp_error (w * v)). unfold off. simpl.
  assert (0 <= up * eta) by (apply Rmult_le_pos; assumption). lra.
- simpl fl; simpl ex; simpl mag.
  eapply Rle_trans; [apply (step _ _ (off (depth t) (mag t) (ops t)) (mag t + Rabs (w * v)))|].
  + replace (w * v + fl t - (w * v + ex t)) with (fl t - ex t) by ring. apply IH, S.
  + eapply Rle_trans; [apply Rabs_triang|]. pose proof (ex_mag t). lra.
  + rewrite (Rplus_comm (Rabs (w * v))). apply off_step; [apply mag_pos|apply Rabs_pos].
- simpl fl; simpl ex; simpl mag. destruct S as [Sl Sr]. set (d := Nat.max (depth l) (depth r)).
  pose proof (mag_pos l) as Ml. pose proof (mag_pos r) as Mr.
  assert (El : Rabs (fl l - ex l) <= off d (mag l) (ops l)).
  { eapply Rle_trans; [apply IHl, Sl|]. apply off_mono; [unfold d; lia|exact Ml]. }
  assert (Er : Rabs (fl r - ex r) <= off d (mag r) (ops r)).
  { eapply Rle_trans; [apply IHr, Sr|]. apply off_mono; [unfold d; lia|exact Mr]. }
  eapply Rle_trans; [apply (step _ _ (off d (mag l + mag r) (ops l + ops r)) (mag l + mag r + 0))|].
  + replace (fl l + fl r - (ex l + ex r)) with ((fl l - ex l) + (fl r - ex r)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. unfold off in *. rewrite plus_INR. lra.
  + eapply Rle_trans; [apply Rabs_triang|]. pose proof (ex_mag l). pose proof (ex_mag r). lra.
  + replace (mag l + mag r) with (mag l + mag r + 0) at 3 by ring. apply off_step; lra.
- simpl fl; simpl ex; simpl mag. destruct S as [Sc St]. pose proof (mag_pos t) as Mt.
  pose proof (Rabs_pos c) as Pc.
  eapply Rle_trans; [apply (step _ _ (off (depth t) (Rabs c * mag t) (ops t)) (Rabs c * mag t + 0))|].
  + replace (c * fl t - c * ex t) with (c * (fl t - ex t)) by ring. rewrite Rabs_mult.
    apply Rle_trans with (Rabs c * off (depth t) (mag t) (ops t)).
    { apply Rmult_le_compat_l; [exact Pc|apply IH, St]. }
    unfold off. set (q := (1 + up) * (1 + u) ^ depth t).
    assert (0 <= q) by (apply Rmult_le_pos; [lra|pose proof (grows (depth t)); lra]).
    assert (Rabs c * (INR (ops t) * eta * q) <= 1 * (INR (ops t) * eta * q)).
    { apply Rmult_le_compat_r; [|exact Sc].
      apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|exact eta_pos]|assumption]. }
    lra.
  + rewrite Rabs_mult, Rplus_0_r. apply Rmult_le_compat_l; [exact Pc|apply ex_mag].
  + replace (Rabs c * mag t) with (Rabs c * mag t + 0) at 3 by ring.
    apply off_step; [apply Rmult_le_pos; assumption|lra].
Qed.

(* What the tree sums, term by term. *)
Fixpoint total (f : R * R -> R) (l : list (R * R)) : R :=
  match l with [] => 0 | p :: l => f p + total f l end.

Lemma total_app f l l' : total f (l ++ l') = total f l + total f l'.
Proof. induction l as [|p l IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma total_permutation f l l' : Permutation l l' -> total f l = total f l'.
Proof. induction 1; simpl; try lra; congruence. Qed.

Lemma total_scaled f g c l : (forall p, f (c * fst p, snd p) = g c * f p) ->
  total f (map (fun p => (c * fst p, snd p)) l) = g c * total f l.
Proof. intros H. induction l as [|p l IH]; simpl; [ring|]. rewrite IH, H. ring. Qed.

Lemma total_seq f (w v : nat -> R) n :
  total f (map (fun j => (w j, v j)) (seq 0 n)) = sum n (fun j => f (w j, v j)).
Proof.
induction n as [|n IH]; [reflexivity|]. rewrite seq_S, map_app, total_app, IH. simpl. ring.
Qed.

Lemma ex_total t : ex t = total (fun p => fst p * snd p) (terms t).
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl; try ring.
- rewrite IH. ring.
- rewrite total_app, IHl, IHr. ring.
- rewrite (total_scaled _ (fun c => c)), IH; [reflexivity|]. intros; simpl; ring.
Qed.

Lemma mag_total t : mag t = total (fun p => Rabs (fst p) * Rabs (snd p)) (terms t).
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl.
- ring.
- rewrite Rabs_R1. ring.
- rewrite Rabs_mult. ring.
- rewrite IH, Rabs_mult. ring.
- rewrite total_app, IHl, IHr. ring.
- rewrite (total_scaled _ Rabs), IH; [reflexivity|]. intros; simpl. rewrite Rabs_mult. ring.
Qed.

(* t sums w_j v_j over the keys j < n, in any order. *)
Definition sums_up (t : tree) (n : nat) (w v : nat -> R) : Prop :=
  shrinks t /\ Permutation (terms t) (map (fun j => (w j, v j)) (seq 0 n)).

(** theorem: summation_tree — a tree of products, fused operations, additions and scalings by numbers of size at most 1 is off by at most ((1 + u_P)(1 + u)^depth - 1) sum |w v| and one underflow an operation; products and sums may be of different formats. used by: src/softmax/enclose.c, src/softmax/bound.c, src/tensor/tile_impl.h *)
Theorem summation_tree t n w v : sums_up t n w v ->
  Rabs (fl t - sum n (fun j => w j * v j)) <=
    ((1 + up) * (1 + u) ^ depth t - 1) * sum n (fun j => Rabs (w j) * Rabs (v j)) +
    INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t).
Proof.
intros [S P]. assert (H := tree_off t S). unfold off in H.
rewrite ex_total, mag_total, (total_permutation _ _ _ P), (total_permutation _ _ _ P) in H.
rewrite !total_seq in H. exact H.
Qed.

(* The same with a depth of its own for every product: a key that is added early meets more roundings.
   Products with weights, values and the number of roundings that they meet: *)
Fixpoint paths t : list (R * R * nat) := match t with
| Zero => [] | Val w => [(w, 1, 0%nat)] | Mul w v => [(w, v, 0%nat)]
| Fma w v t => (w, v, 1%nat) :: map (fun p => (fst p, S (snd p))) (paths t)
| Add l r => map (fun p => (fst p, S (snd p))) (paths l ++ paths r)
| Scale c t => map (fun p => (c * fst (fst p), snd (fst p), S (snd p))) (paths t) end.

(* sum of |w v| over the tree, each grown by its roundings *)
Fixpoint grown_mag t := match t with
| Zero => 0 | Val w => (1 + up) * Rabs w | Mul w v => (1 + up) * Rabs (w * v)
| Fma w v t => (1 + u) * ((1 + up) * Rabs (w * v) + grown_mag t)
| Add l r => (1 + u) * (grown_mag l + grown_mag r) | Scale c t => (1 + u) * (Rabs c * grown_mag t) end.

Lemma grown_above t : mag t <= grown_mag t.
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl.
- lra.
- assert (0 <= up * Rabs w) by (apply Rmult_le_pos; [exact up_pos|apply Rabs_pos]). lra.
- assert (0 <= up * Rabs (w * v)) by (apply Rmult_le_pos; [exact up_pos|apply Rabs_pos]). lra.
- assert (0 <= up * Rabs (w * v)) by (apply Rmult_le_pos; [exact up_pos|apply Rabs_pos]).
  pose proof (mag_pos t). pose proof (Rabs_pos (w * v)).
  assert (0 <= u * ((1 + up) * Rabs (w * v) + grown_mag t)) by (apply Rmult_le_pos; lra). lra.
- pose proof (mag_pos l). pose proof (mag_pos r).
  assert (0 <= u * (grown_mag l + grown_mag r)) by (apply Rmult_le_pos; lra). lra.
- pose proof (mag_pos t). pose proof (Rabs_pos c).
  assert (H1 : Rabs c * mag t <= Rabs c * grown_mag t) by (apply Rmult_le_compat_l; assumption).
  assert (0 <= Rabs c * mag t) by (apply Rmult_le_pos; assumption).
  assert (0 <= u * (Rabs c * grown_mag t)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma paths_off t : shrinks t ->
  Rabs (fl t - ex t) <= grown_mag t - mag t + INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t).
Proof.
assert (G : forall d, 1 <= (1 + up) * (1 + u) ^ d).
{ intros d. replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; try lra. apply grows. }
assert (K : forall d d' k, (d <= d')%nat ->
  INR k * eta * ((1 + up) * (1 + u) ^ d) <= INR k * eta * ((1 + up) * (1 + u) ^ d')).
{ intros d d' k H. apply Rmult_le_compat_l; [apply Rmult_le_pos; [apply pos_INR|exact eta_pos]|].
  apply Rmult_le_compat_l; [lra|]. apply Rle_pow; [lra|exact H]. }
assert (N : forall d k, (1 + u) * (INR k * eta * ((1 + up) * (1 + u) ^ d)) + eta <=
  INR (S k) * eta * ((1 + up) * (1 + u) ^ S d)).
{ intros d k. rewrite S_INR. pose proof (G (S d)) as H. apply (Rmult_le_compat_l eta) in H; [|exact eta_pos].
  rewrite <- tech_pow_Rmult in *. lra. }
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl depth; simpl ops; intros S.
- simpl. replace (0 - 0) with 0 by ring. rewrite Rabs_R0. lra.
- simpl. replace (w - w) with 0 by ring. rewrite Rabs_R0.
  assert (0 <= up * Rabs w) by (apply Rmult_le_pos; [exact up_pos|apply Rabs_pos]). lra.
- simpl. pose proof (rp_error (w * v)). assert (0 <= up * eta) by (apply Rmult_le_pos; assumption). lra.
- simpl fl; simpl ex; simpl mag; simpl grown_mag.
  eapply Rle_trans; [apply (step _ _ (grown_mag t - mag t +
    INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t)) (mag t + Rabs (w * v)))|].
  + replace (w * v + fl t - (w * v + ex t)) with (fl t - ex t) by ring. apply IH, S.
  + eapply Rle_trans; [apply Rabs_triang|]. pose proof (ex_mag t). lra.
  + pose proof (N (depth t) (ops t)). pose proof (Rabs_pos (w * v)).
    assert (0 <= up * Rabs (w * v)) by (apply Rmult_le_pos; assumption).
    assert (0 <= u * (up * Rabs (w * v))) by (apply Rmult_le_pos; assumption). lra.
- simpl fl; simpl ex; simpl mag; simpl grown_mag. destruct S as [Sl Sr].
  set (d := Nat.max (depth l) (depth r)) in *.
  eapply Rle_trans; [apply (step _ _ (grown_mag l - mag l + (grown_mag r - mag r) +
    INR (ops l + ops r) * eta * ((1 + up) * (1 + u) ^ d)) (mag l + mag r))|].
  + replace (fl l + fl r - (ex l + ex r)) with ((fl l - ex l) + (fl r - ex r)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. specialize (IHl Sl). specialize (IHr Sr).
    pose proof (K (depth l) d (ops l) ltac:(unfold d; lia)).
    pose proof (K (depth r) d (ops r) ltac:(unfold d; lia)). rewrite plus_INR. lra.
  + eapply Rle_trans; [apply Rabs_triang|]. pose proof (ex_mag l). pose proof (ex_mag r). lra.
  + pose proof (N d (ops l + ops r)%nat). lra.
- simpl fl; simpl ex; simpl mag; simpl grown_mag. destruct S as [Sc St]. pose proof (Rabs_pos c) as Pc.
  eapply Rle_trans; [apply (step _ _ (Rabs c * (grown_mag t - mag t) +
    INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t)) (Rabs c * mag t))|].
  + replace (c * fl t - c * ex t) with (c * (fl t - ex t)) by ring. rewrite Rabs_mult.
    specialize (IH St). apply (Rmult_le_compat_l (Rabs c)) in IH; [|exact Pc].
    assert (0 <= INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t)).
    { pose proof (G (depth t)). apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|exact eta_pos]|lra]. }
    assert (Rabs c * (INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t)) <=
      1 * (INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t))) by (apply Rmult_le_compat_r; assumption). lra.
  + rewrite Rabs_mult. apply Rmult_le_compat_l; [exact Pc|apply ex_mag].
  + pose proof (N (depth t) (ops t)). lra.
Qed.

Fixpoint total3 (f : R * R * nat -> R) (l : list (R * R * nat)) : R :=
  match l with [] => 0 | p :: l => f p + total3 f l end.

Lemma total3_app f l l' : total3 f (l ++ l') = total3 f l + total3 f l'.
Proof. induction l as [|p l IH]; simpl; [ring|rewrite IH; ring]. Qed.
Lemma total3_permutation f l l' : Permutation l l' -> total3 f l = total3 f l'.
Proof. induction 1; simpl; try lra; congruence. Qed.
Lemma total3_map f g h l : (forall p, f (g p) = h * f p) -> total3 f (map g l) = h * total3 f l.
Proof. intros H. induction l as [|p l IH]; simpl; [ring|]. rewrite IH, H. ring. Qed.
Lemma total3_seq f (w v : nat -> R) k n :
  total3 f (map (fun j => (w j, v j, k j)) (seq 0 n)) = sum n (fun j => f (w j, v j, k j)).
Proof.
induction n as [|n IH]; [reflexivity|]. rewrite seq_S, map_app, total3_app, IH. simpl. ring.
Qed.

Lemma ex_paths t : ex t = total3 (fun p => fst (fst p) * snd (fst p)) (paths t).
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl; try ring.
- rewrite (total3_map _ _ 1), IH; [ring|]. intros; simpl; ring.
- rewrite (total3_map _ _ 1), total3_app, IHl, IHr; [ring|]. intros; simpl; ring.
- rewrite (total3_map _ _ c), IH; [reflexivity|]. intros; simpl; ring.
Qed.
Lemma mag_paths t : mag t = total3 (fun p => Rabs (fst (fst p)) * Rabs (snd (fst p))) (paths t).
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl.
- ring.
- rewrite Rabs_R1. ring.
- rewrite Rabs_mult. ring.
- rewrite (total3_map _ _ 1), IH, Rabs_mult; [ring|]. intros; simpl; ring.
- rewrite (total3_map _ _ 1), total3_app, IHl, IHr; [ring|]. intros; simpl; ring.
- rewrite (total3_map _ _ (Rabs c)), IH; [reflexivity|]. intros; simpl. rewrite Rabs_mult. ring.
Qed.
Lemma grown_paths t : grown_mag t =
  total3 (fun p => (1 + up) * (1 + u) ^ snd p * (Rabs (fst (fst p)) * Rabs (snd (fst p)))) (paths t).
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; simpl.
- ring.
- rewrite Rabs_R1. ring.
- rewrite Rabs_mult. ring.
- rewrite (total3_map _ _ (1 + u)), IH, Rabs_mult; [ring|]. intros; simpl; ring.
- rewrite (total3_map _ _ (1 + u)), total3_app, IHl, IHr; [ring|]. intros; simpl; ring.
- rewrite (total3_map _ _ ((1 + u) * Rabs c)), IH; [ring|]. intros; simpl. rewrite Rabs_mult. ring.
Qed.

(* t sums w_j v_j over the keys j < n, in any order; key j meets k_j roundings. *)
Definition sums_along (t : tree) (n : nat) (w v : nat -> R) (k : nat -> nat) : Prop :=
  shrinks t /\ Permutation (paths t) (map (fun j => (w j, v j, k j)) (seq 0 n)).

(** theorem: summation_paths — summation_tree with a depth k_j of its own for every product: off by at most sum ((1 + u_P)(1 + u)^k_j - 1) |w_j v_j| and one underflow an operation. used by: src/softmax/enclose.c *)
Theorem summation_paths t n w v k : sums_along t n w v k ->
  Rabs (fl t - sum n (fun j => w j * v j)) <=
    sum n (fun j => ((1 + up) * (1 + u) ^ k j - 1) * (Rabs (w j) * Rabs (v j))) +
    INR (ops t) * eta * ((1 + up) * (1 + u) ^ depth t).
Proof.
intros [S P]. assert (H := paths_off t S).
rewrite ex_paths, mag_paths, grown_paths, !(total3_permutation _ _ _ P), !total3_seq in H. simpl in H.
rewrite <- sum_minus in H. eapply Rle_trans; [exact H|]. apply Rplus_le_compat_r.
right. apply sum_ext. intros. ring.
Qed.

(* (1 + u)^n - 1 <= n u / (1 - n u), the g(n) of the derivations *)
Lemma gamma n : INR n * u < 1 -> (1 + u) ^ n - 1 <= INR n * u / (1 - INR n * u).
Proof.
intros Hn. apply Rmult_le_reg_r with (1 - INR n * u); [lra|].
unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
assert (H : (1 + u) ^ n * (1 - INR n * u) <= 1); [|lra].
clear Hn. induction n as [|n IH]; [simpl; lra|].
rewrite S_INR, <- tech_pow_Rmult. pose proof (grows n). pose proof (pos_INR n).
assert (0 <= (1 + u) ^ n * (u * u * (INR n + 1))).
{ apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [apply Rmult_le_pos; exact u_pos|lra]. }
nra.
Qed.
End Trees.

(* The formats: round to nearest, ties to even, gradual underflow. *)
Definition nearest (emin prec : Z) := round radix2 (FLT_exp emin prec) ZnearestE.
Definition roundoff (prec : Z) : R := bpow radix2 (- prec).
Definition underflow (emin : Z) : R := bpow radix2 (emin - 1).

Lemma nearest_error emin prec x : (0 < prec)%Z ->
  Rabs (nearest emin prec x - x) <= roundoff prec * Rabs x + underflow emin.
Proof.
intros Hp. destruct (error_N_FLT radix2 emin prec Hp (fun x => negb (Z.even x)) x)
  as [d [e [Hd [He [_ E]]]]].
unfold nearest, roundoff, underflow. rewrite E.
replace (x * (1 + d) + e - x) with (x * d + e) by ring.
eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, Rmult_comm.
assert (B1 : forall k, bpow radix2 (k - 1) = / 2 * bpow radix2 k).
{ intros k; unfold Zminus; rewrite bpow_plus; simpl; lra. }
apply Rplus_le_compat.
- apply Rmult_le_compat_r; [apply Rabs_pos|]. eapply Rle_trans; [exact Hd|].
  rewrite <- B1. right; f_equal; lia.
- eapply Rle_trans; [exact He|]. rewrite B1. lra.
Qed.

Section Formats.
Variables emin prec emin_p prec_p : Z.
Hypothesis Hp : (0 < prec)%Z.
Hypothesis Hpp : (0 < prec_p)%Z.
Hypothesis Hemin : (emin_p <= emin)%Z.
Lemma formats_tree t n w v : sums_up t n w v ->
  Rabs (fl (nearest emin_p prec_p) (nearest emin prec) t - sum n (fun j => w j * v j)) <=
    ((1 + roundoff prec_p) * (1 + roundoff prec) ^ depth t - 1) * sum n (fun j => Rabs (w j) * Rabs (v j)) +
    INR (ops t) * underflow emin * ((1 + roundoff prec_p) * (1 + roundoff prec) ^ depth t).
Proof.
apply summation_tree; try apply bpow_ge_0.
- intros x. eapply Rle_trans; [apply nearest_error, Hpp|]. apply Rplus_le_compat_l, bpow_le; lia.
- intros x. apply nearest_error, Hp.
Qed.
End Formats.

(** theorem: summation_formats — summation_tree for sums in float64, in float32, and in float32 with products that were rounded to bfloat16. used by: src/softmax/bound.c *)
Theorem summation_formats t n w v : sums_up t n w v ->
  let S := sum n (fun j => w j * v j) in
  let A := sum n (fun j => Rabs (w j) * Rabs (v j)) in
  let bound emin prec prec_p :=
    ((1 + roundoff prec_p) * (1 + roundoff prec) ^ depth t - 1) * A +
    INR (ops t) * underflow emin * ((1 + roundoff prec_p) * (1 + roundoff prec) ^ depth t) in
  Rabs (fl (nearest (-1074) 53) (nearest (-1074) 53) t - S) <= bound (-1074)%Z 53%Z 53%Z /\
  Rabs (fl (nearest (-149) 24) (nearest (-149) 24) t - S) <= bound (-149)%Z 24%Z 24%Z /\
  Rabs (fl (nearest (-133) 8) (nearest (-149) 24) t - S) <= bound (-133)%Z 24%Z 8%Z.
Proof.
intros H. split; [|split].
- apply (formats_tree (-1074) 53 (-1074) 53); [lia|lia|lia|exact H].
- apply (formats_tree (-149) 24 (-149) 24); [lia|lia|lia|exact H].
- apply (summation_tree _ _ (roundoff 8) (roundoff 24) (underflow (-133))); try apply bpow_ge_0.
  + intros x. apply nearest_error; lia.
  + intros x. eapply Rle_trans; [apply nearest_error; lia|]. apply Rplus_le_compat_l, bpow_le; lia.
  + exact H.
Qed.
