(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Running error analysis of sums in a known order, src/softmax/bound.c: they are off by the roundoff
   times the sizes of their partial results. *)
From Coq Require Import Reals Lra Lia Psatz List.
From Attest Require Import problem.row enclosure.summation softmax.bound.
Import ListNotations.
Open Scope R_scope.

Section Running.
Variables (rp rnd : R -> R) (up u eta : R).
Hypothesis up_pos : 0 <= up.
Hypothesis u_pos : 0 <= u.
Hypothesis eta_pos : 0 <= eta.
Hypothesis rp_error : forall x, Rabs (rp x - x) <= up * Rabs x + eta.
Hypothesis rnd_error : forall x, Rabs (rnd x - x) <= u * Rabs x + eta.

(* The sizes of all partial results of a tree, with all scalings that follow; products that stand alone
   apart. *)
Fixpoint partials t := match t with
| Zero | Val _ | Mul _ _ => 0
| Fma w v t => partials t + Rabs (w * v + ex t)
| Add l r => partials l + partials r + Rabs (ex l + ex r)
| Scale c t => Rabs c * partials t + Rabs (c * ex t) end.
Fixpoint alone t := match t with
| Zero | Val _ => 0 | Mul w v => Rabs (w * v)
| Fma _ _ t => alone t | Add l r => alone l + alone r | Scale c t => Rabs c * alone t end.

Lemma partials_pos t : 0 <= partials t.
Proof.
induction t; simpl; try lra.
- pose proof (Rabs_pos (w * v + ex t)). lra.
- pose proof (Rabs_pos (ex t1 + ex t2)). lra.
- pose proof (Rabs_pos (c * ex t)). assert (0 <= Rabs c * partials t) by (apply Rmult_le_pos; [apply Rabs_pos|assumption]). lra.
Qed.
Lemma alone_pos t : 0 <= alone t.
Proof.
induction t; simpl; try lra; [apply Rabs_pos|]. apply Rmult_le_pos; [apply Rabs_pos|assumption].
Qed.

(** theorem: running_error — a tree of products, fused operations, additions and scalings by numbers of size at most 1 is off by at most the roundoff times the sizes of its partial results, that of products times those of products that stand alone, and one underflow an operation, all grown by the depth of the tree. used by: src/softmax/bound.c *)
Theorem running_error t : shrinks t ->
  Rabs (fl rp rnd t - ex t) <= (u * partials t + up * alone t + INR (ops t) * eta) * (1 + u) ^ depth t.
Proof.
assert (K : forall a d d', 0 <= a -> (d <= d')%nat -> a * (1 + u) ^ d <= a * (1 + u) ^ d').
{ intros a d d' Ha H. apply Rmult_le_compat_l; [exact Ha|]. apply Rle_pow; [lra|exact H]. }
(* one rounding after what is off by a (1 + u)^d *)
assert (N : forall x y a d, 0 <= a -> Rabs (y - x) <= a * (1 + u) ^ d ->
  Rabs (rnd y - x) <= (a + u * Rabs x + eta) * (1 + u) ^ S d).
{ intros x y a d Ha H. pose proof (rnd_error y) as R.
  assert (Y : Rabs y <= Rabs x + Rabs (y - x)).
  { replace y with (x + (y - x)) at 1 by ring. apply Rabs_triang. }
  apply (Rmult_le_compat_l u) in Y; [|exact u_pos].
  assert (G : 1 <= (1 + u) ^ S d) by (apply pow_R1_Rle; lra).
  replace (rnd y - x) with ((rnd y - y) + (y - x)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (B : (1 + u) * Rabs (y - x) <= a * (1 + u) ^ S d).
  { rewrite <- tech_pow_Rmult. apply Rle_trans with ((1 + u) * (a * (1 + u) ^ d)); [apply Rmult_le_compat_l; lra|right; ring]. }
  assert (C : (u * Rabs x + eta) * 1 <= (u * Rabs x + eta) * (1 + u) ^ S d).
  { apply Rmult_le_compat_l; [|exact G]. assert (0 <= u * Rabs x) by (apply Rmult_le_pos; [exact u_pos|apply Rabs_pos]). lra. }
  lra. }
assert (P : forall t, 0 <= u * partials t + up * alone t + INR (ops t) * eta).
{ intros t'. assert (0 <= u * partials t') by (apply Rmult_le_pos; [exact u_pos|apply partials_pos]).
  assert (0 <= up * alone t') by (apply Rmult_le_pos; [exact up_pos|apply alone_pos]).
  assert (0 <= INR (ops t') * eta) by (apply Rmult_le_pos; [apply pos_INR|exact eta_pos]). lra. }
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; intros S.
- simpl. replace (0 - 0) with 0 by ring. rewrite Rabs_R0. lra.
- simpl. replace (w - w) with 0 by ring. rewrite Rabs_R0. lra.
- simpl. pose proof (rp_error (w * v)). lra.
- cbn [fl ex partials alone ops depth]. rewrite S_INR.
  eapply Rle_trans; [apply (N (w * v + ex t) (w * v + fl rp rnd t) _ (depth t) (P t))|].
  + replace (w * v + fl rp rnd t - (w * v + ex t)) with (fl rp rnd t - ex t) by ring. apply IH, S.
  + right. ring.
- cbn [fl ex partials alone ops depth]. rewrite S_INR, plus_INR. destruct S as [Sl Sr].
  set (d := Nat.max (depth l) (depth r)).
  eapply Rle_trans; [apply (N (ex l + ex r) (fl rp rnd l + fl rp rnd r)
    ((u * partials l + up * alone l + INR (ops l) * eta) + (u * partials r + up * alone r + INR (ops r) * eta)) d)|].
  + pose proof (P l). pose proof (P r). lra.
  + replace (fl rp rnd l + fl rp rnd r - (ex l + ex r)) with ((fl rp rnd l - ex l) + (fl rp rnd r - ex r)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rmult_plus_distr_r. apply Rplus_le_compat.
    * eapply Rle_trans; [apply IHl, Sl|]. apply K; [apply P|unfold d; lia].
    * eapply Rle_trans; [apply IHr, Sr|]. apply K; [apply P|unfold d; lia].
  + right. ring.
- cbn [fl ex partials alone ops depth]. rewrite S_INR. destruct S as [Sc St]. pose proof (Rabs_pos c) as Pc.
  eapply Rle_trans; [apply (N (c * ex t) (c * fl rp rnd t)
    (Rabs c * (u * partials t + up * alone t + INR (ops t) * eta)) (depth t))|].
  + apply Rmult_le_pos; [exact Pc|apply P].
  + replace (c * fl rp rnd t - c * ex t) with (c * (fl rp rnd t - ex t)) by ring. rewrite Rabs_mult, Rmult_assoc.
    apply Rmult_le_compat_l; [exact Pc|apply IH, St].
  + apply Rmult_le_compat_r; [apply pow_le; lra|].
    assert (Rabs c * (INR (ops t) * eta) <= 1 * (INR (ops t) * eta)).
    { apply Rmult_le_compat_r; [apply Rmult_le_pos; [apply pos_INR|exact eta_pos]|exact Sc]. } lra.
Qed.

(* A chain of d fused operations, as the built-in kernel's scores. *)
Fixpoint chain (d : nat) (x y : nat -> R) : tree := match d with
| O => Zero | S k => Fma (x k) (y k) (chain k x y) end.

Lemma chain_ex d x y : ex (chain d x y) = sum d (fun a => x a * y a).
Proof. induction d as [|d IH]; simpl; [reflexivity|]. rewrite IH. ring. Qed.
Lemma chain_facts d x y : shrinks (chain d x y) /\ alone (chain d x y) = 0 /\ ops (chain d x y) = d /\
  depth (chain d x y) = d /\ partials (chain d x y) = sum d (fun a => Rabs (sum (S a) (fun i => x i * y i))).
Proof.
induction d as [|d [I1 [I2 [I3 [I4 I5]]]]]; [simpl; repeat split|].
cbn [chain shrinks alone ops depth partials sum]. rewrite I2, I3, I4, I5, chain_ex. repeat split; try assumption.
f_equal. f_equal. ring.
Qed.

(* Terms are at most two partial results each. *)
Lemma terms_by_partials d (f : nat -> R) :
  sum d (fun a => Rabs (f a)) <= 2 * sum d (fun a => Rabs (sum (S a) f)).
Proof.
assert (H : sum d (fun a => Rabs (f a)) + Rabs (sum d f) <= 2 * sum d (fun a => Rabs (sum (S a) f))).
{ induction d as [|d IH]; [simpl; rewrite Rabs_R0; lra|].
  cbn [sum] in *. assert (Rabs (f d) <= Rabs (sum d f + f d) + Rabs (sum d f)).
  { replace (f d) with ((sum d f + f d) - sum d f) at 1 by ring. unfold Rminus.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
  lra. }
pose proof (Rabs_pos (sum d f)). lra.
Qed.

Variables (d : nat) (x y xh yh : nat -> R) (rho e : R).
Hypothesis rho_pos : 0 <= rho.
Hypothesis e_pos : 0 <= e.
Hypothesis depth_small : INR d * u < 1.
(* the factors as computed, x the scaled query *)
Hypothesis factors : forall a, (a < d)%nat -> Rabs (xh a * yh a - x a * y a) <= rho * Rabs (x a * y a) + e.
Let run := sum d (fun a => Rabs (sum (S a) (fun i => x i * y i))).
Let T := sum d (fun a => Rabs (x a * y a)).

(** theorem: running_score — a chain of d fused operations over factors that are off themselves: u run / (1 - d u) for the exact partial results, a little more for those of the factors as computed, and what the factors are off. used by: src/softmax/bound.c *)
Theorem running_score : Rabs (fl rp rnd (chain d xh yh) - sum d (fun a => x a * y a)) <=
  u * run * (1 + 2 * INR d * rho) / (1 - INR d * u) + rho * T + (INR d * e + INR d * (INR d * u * e + eta) / (1 - INR d * u)).
Proof.
destruct (chain_facts d xh yh) as [F1 [F2 [F3 [F4 F5]]]].
pose proof (running_error (chain d xh yh) F1) as H. rewrite F2, F3, F4, F5, chain_ex in H.
set (runh := sum d (fun a => Rabs (sum (S a) (fun i => xh i * yh i)))) in *.
pose proof (pos_INR d) as Pd.
assert (Off : forall k, (k <= d)%nat -> Rabs (sum k (fun i => xh i * yh i) - sum k (fun i => x i * y i)) <= rho * T + INR d * e).
{ intros k Hk. rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|].
  apply Rle_trans with (sum k (fun i => rho * Rabs (x i * y i) + e)).
  - apply sum_le. intros i Hi. apply factors. lia.
  - rewrite sum_plus, sum_scal, sum_const. apply Rplus_le_compat.
    + apply Rmult_le_compat_l; [exact rho_pos|]. unfold T. clear - Hk. induction Hk as [|m Hk IH]; [lra|].
      simpl. pose proof (Rabs_pos (x m * y m)). lra.
    + apply Rmult_le_compat_r; [exact e_pos|]. apply le_INR, Hk. }
assert (R : runh <= run + INR d * (rho * T + INR d * e)).
{ unfold runh, run. rewrite <- sum_const, <- sum_plus. apply sum_le. intros a Ha.
  replace (sum (S a) (fun i => xh i * yh i)) with (sum (S a) (fun i => x i * y i) +
    (sum (S a) (fun i => xh i * yh i) - sum (S a) (fun i => x i * y i))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_l, Off. lia. }
assert (TR : T <= 2 * run) by apply terms_by_partials.
assert (PR : 0 <= run) by (apply sum_nonneg; intros; apply Rabs_pos).
assert (D : (1 + u) ^ d <= / (1 - INR d * u)).
{ pose proof (gamma u u_pos d depth_small) as Gm. replace (/ (1 - INR d * u)) with (1 + INR d * u / (1 - INR d * u)) by (field; lra). lra. }
assert (Pi : 0 < / (1 - INR d * u)) by (apply Rinv_0_lt_compat; lra).
set (i := / (1 - INR d * u)) in *.
assert (PRh : 0 <= u * runh + up * 0 + INR d * eta).
{ assert (0 <= runh) by (apply sum_nonneg; intros; apply Rabs_pos). assert (0 <= u * runh) by (apply Rmult_le_pos; assumption).
  assert (0 <= INR d * eta) by (apply Rmult_le_pos; assumption). lra. }
assert (H2 : (u * runh + up * 0 + INR d * eta) * (1 + u) ^ d <= (u * (run + INR d * (rho * (2 * run) + INR d * e)) + INR d * eta) * i).
{ apply Rmult_le_compat; [exact PRh|apply pow_le; lra| |exact D].
  assert (u * runh <= u * (run + INR d * (rho * T + INR d * e))) by (apply Rmult_le_compat_l; assumption).
  assert (rho * T <= rho * (2 * run)) by (apply Rmult_le_compat_l; assumption).
  assert (INR d * (rho * T) <= INR d * (rho * (2 * run))) by (apply Rmult_le_compat_l; assumption).
  assert (u * (INR d * (rho * T)) <= u * (INR d * (rho * (2 * run)))) by (apply Rmult_le_compat_l; assumption). lra. }
replace (fl rp rnd (chain d xh yh) - sum d (fun a => x a * y a)) with
  ((fl rp rnd (chain d xh yh) - sum d (fun a => xh a * yh a)) + (sum d (fun a => xh a * yh a) - sum d (fun a => x a * y a))) by ring.
eapply Rle_trans; [apply Rabs_triang|]. pose proof (Off d (Nat.le_refl d)). unfold Rdiv. fold i. lra.
Qed.
End Running.
