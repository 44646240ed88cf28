(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Softmax in the real numbers: what a running reference and the order of merging leave alone. *)
From Coq Require Import Reals Lra Lia List Permutation.
From Attest Require Import problem.row.
Import ListNotations.
Open Scope R_scope.

(** theorem: shift_invariance — softmax weights, and so outputs, do not change when one number is added
    to all scores; log-sum-exp moves by that number.
    used by: src/softmax/enclose.c, src/softmax/kernel.c, src/softmax/reference_rows.c *)
Theorem shift_invariance n (s v : nat -> R) c :
  (forall j, exp (s j + c) / sum n (fun i => exp (s i + c)) = exp (s j) / sum n (fun i => exp (s i))) /\
  mean n (fun i => exp (s i + c)) v = mean n (fun i => exp (s i)) v /\
  ((0 < n)%nat -> ln (sum n (fun i => exp (s i + c))) = ln (sum n (fun i => exp (s i))) + c).
Proof.
assert (E : forall f, sum n (fun i => exp (s i + c) * f i) = exp c * sum n (fun i => exp (s i) * f i)).
{ intros f; rewrite <- sum_scal; apply sum_ext; intros; rewrite exp_plus; ring. }
assert (E1 : sum n (fun i => exp (s i + c)) = exp c * sum n (fun i => exp (s i))).
{ rewrite <- sum_scal; apply sum_ext; intros; rewrite exp_plus; ring. }
pose proof (exp_pos c) as Hc.
destruct (Nat.eq_dec n 0) as [->|Hn].
- unfold mean; simpl; repeat split; [|lia].
  intros; unfold Rdiv; rewrite Rinv_0; ring.
- assert (H0 : 0 < sum n (fun i => exp (s i))) by (apply sum_all_pos; [lia | intros; apply exp_pos]).
  unfold mean; rewrite E, E1; repeat split.
  + intros; rewrite exp_plus; field; lra.
  + field; lra.
  + intros _; rewrite ln_mult, ln_exp by assumption; ring.
Qed.

(* A partial result: reference m, sum l of e^{s-m}, sum o of e^{s-m} v (of one component of v). *)
Record partial := Partial { ref : R; total : R; out : R }.

Definition keys := list (R * R). (* (score, value) *)
Definition weight_sum (x : keys) : R := fold_right (fun k a => exp (fst k) + a) 0 x.
Definition value_sum (x : keys) : R := fold_right (fun k a => exp (fst k) * snd k + a) 0 x.

(* All ways to get a partial result of the keys x: one key, or none, at any reference; moving the
   reference; merging two at a common reference. So every tree, every chunk, every order of
   absorption, whether the reference is a running maximum, a maximum of blocks or anything else. *)
Inductive computes : partial -> keys -> Prop :=
| no_key m : computes (Partial m 0 0) []
| one_key m s v : computes (Partial m (exp (s - m)) (exp (s - m) * v)) [(s, v)]
| move z x m : computes z x ->
    computes (Partial m (exp (ref z - m) * total z) (exp (ref z - m) * out z)) x
| merge m l o l' o' x y : computes (Partial m l o) x -> computes (Partial m l' o') y ->
    computes (Partial m (l + l') (o + o')) (x ++ y).

Lemma weight_sum_app x y : weight_sum (x ++ y) = weight_sum x + weight_sum y.
Proof. induction x as [|a x IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma value_sum_app x y : value_sum (x ++ y) = value_sum x + value_sum y.
Proof. induction x as [|a x IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma exp_move a b : exp (a - b) * exp b = exp a.
Proof. rewrite <- exp_plus; f_equal; ring. Qed.

Lemma computes_sums z x : computes z x ->
  total z * exp (ref z) = weight_sum x /\ out z * exp (ref z) = value_sum x.
Proof.
induction 1 as [m | m s v | z x m H [I1 I2] | m l o l' o' x y H1 [I1 I2] H2 [J1 J2]]; simpl in *.
- split; ring.
- rewrite <- (exp_move s m); split; ring.
- rewrite <- I1, <- I2, <- (exp_move (ref z) m); split; ring.
- rewrite weight_sum_app, value_sum_app, <- I1, <- I2, <- J1, <- J2; split; ring.
Qed.

Lemma weight_sum_pos x : x <> [] -> 0 < weight_sum x.
Proof.
destruct x as [|a x]; [congruence | intros _].
assert (0 <= weight_sum x).
{ induction x as [|b x IH]; simpl; [lra|]. pose proof (exp_pos (fst b)); lra. }
simpl; pose proof (exp_pos (fst a)); lra.
Qed.

(** theorem: online_softmax — every tree of merges of partial results, with any references, in any
    chunks, gives the softmax output o/l and the log-sum-exp m + log l of its keys.
    used by: src/softmax/kernel.c, src/softmax/pass_impl.h, src/softmax/enclose.c *)
Theorem online_softmax z x : x <> [] -> computes z x ->
  0 < total z /\ out z / total z = value_sum x / weight_sum x /\
  ref z + ln (total z) = ln (weight_sum x).
Proof.
intros Hx H; destruct (computes_sums z x H) as [H1 H2].
pose proof (weight_sum_pos x Hx) as P; pose proof (exp_pos (ref z)) as E.
assert (L : 0 < total z) by (rewrite <- H1 in P; nra).
repeat split; [exact L | |].
- rewrite <- H1, <- H2; field; lra.
- rewrite <- H1, ln_mult, ln_exp by assumption; ring.
Qed.

(** theorem: merge_order — two computations over the same keys, in whatever order, have the same
    output and log-sum-exp.
    used by: src/softmax/kernel.c *)
Theorem merge_order z z' x x' : x <> [] -> Permutation x x' ->
  computes z x -> computes z' x' ->
  out z / total z = out z' / total z' /\ ref z + ln (total z) = ref z' + ln (total z').
Proof.
intros Hx P H H'.
assert (Hx' : x' <> []) by (intros ->; apply Hx, Permutation_nil, Permutation_sym, P).
destruct (online_softmax z x Hx H) as [_ [-> ->]], (online_softmax z' x' Hx' H') as [_ [-> ->]].
assert (E : weight_sum x = weight_sum x' /\ value_sum x = value_sum x').
{ clear - P; induction P as [|a x y P [I J]|a b x|x y z P [I J] Q [K L]]; simpl;
    [auto | rewrite I, J; auto | split; ring | rewrite I, J; auto]. }
destruct E as [-> ->]; auto.
Qed.
