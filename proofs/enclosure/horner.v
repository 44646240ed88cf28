(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Horner's rule with one fused operation a step, any degree, any format, rounded coefficients: the
   weights of Taylor attention, h = c_P; h = fma(h, s, c_m). *)
From Coq Require Import Reals Lra Lia Psatz List ZArith.
From Flocq Require Import Core.
From Attest Require Import enclosure.summation.
Import ListNotations.
Open Scope R_scope.

Section Horner.
Variables (rnd : R -> R) (u eta : R).
Hypothesis u_pos : 0 <= u.
Hypothesis eta_pos : 0 <= eta.
Hypothesis rnd_error : forall x, Rabs (rnd x - x) <= u * Rabs x + eta.
Variable s : R.

(* Coefficients from degree 0 on; the highest is taken as it is. *)
Fixpoint fl_horner (c : list R) : R := match c with
| [] => 0 | [a] => a | a :: c => rnd (fl_horner c * s + a) end.
Fixpoint polynomial (t : R) (a : list R) : R := match a with [] => 0 | b :: a => polynomial t a * t + b end.

(* Every coefficient rounded once: to within u, and eta where it is subnormal. *)
Inductive rounded : list R -> list R -> Prop :=
| rounded_nil : rounded [] []
| rounded_cons a c la lc : Rabs (c - a) <= u * Rabs a + eta -> rounded la lc -> rounded (a :: la) (c :: lc).

Lemma polynomial_size a : Rabs (polynomial s a) <= polynomial (Rabs s) (map Rabs a).
Proof.
induction a as [|b a IH]; simpl; [rewrite Rabs_R0; lra|].
eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
apply Rplus_le_compat_r, Rmult_le_compat_r; [apply Rabs_pos|exact IH].
Qed.

Lemma size_pos a : 0 <= polynomial (Rabs s) (map Rabs a).
Proof. eapply Rle_trans; [apply Rabs_pos|apply polynomial_size]. Qed.

(* 1 + |s| + .. + |s|^(n-1) *)
Fixpoint powers (n : nat) : R := match n with O => 0 | S n => powers n * Rabs s + 1 end.
Lemma powers_pos n : 0 <= powers n.
Proof.
induction n as [|n IH]; simpl; [lra|]. assert (0 <= powers n * Rabs s) by (apply Rmult_le_pos; [exact IH|apply Rabs_pos]). lra.
Qed.

Lemma grown n : 1 <= (1 + u) ^ n.
Proof. apply pow_R1_Rle; lra. Qed.

(** theorem: horner_error — P steps of Horner's rule with fused operations and once rounded coefficients are off by at most ((1 + u)^(P+1) - 1) sum |a_m| |s|^m, the gamma_(P+1) T_P(|s|) of Taylor weights, and underflow. used by: src/taylor/kernel.h, src/taylor/enclose.c, src/taylor/bound.c *)
Theorem horner_error a c : rounded a c ->
  Rabs (fl_horner c - polynomial s a) <=
    ((1 + u) ^ length a - 1) * polynomial (Rabs s) (map Rabs a) + 2 * eta * powers (length a) * (1 + u) ^ length a.
Proof.
intros H. induction H as [|b d a c Hd Hr IH].
- simpl. replace (0 - 0) with 0 by ring. rewrite Rabs_R0. lra.
- pose proof (size_pos a) as M. pose proof (Rabs_pos s) as Ps. pose proof (Rabs_pos b) as Pb.
  pose proof (powers_pos (length a)) as PW. pose proof (grown (length a)) as G.
  destruct Hr as [|b' d' a c Hd' Hr].
  + simpl. replace (d - (0 * s + b)) with (d - b) by ring.
    eapply Rle_trans; [exact Hd|]. assert (0 <= u * eta) by (apply Rmult_le_pos; assumption). lra.
  + change (fl_horner (d :: d' :: c)) with (rnd (fl_horner (d' :: c) * s + d)).
    set (h := fl_horner (d' :: c)) in *. set (la := b' :: a) in *.
    change (polynomial s (b :: la)) with (polynomial s la * s + b).
    change (polynomial (Rabs s) (map Rabs (b :: la))) with (polynomial (Rabs s) (map Rabs la) * Rabs s + Rabs b).
    change (length (b :: la)) with (S (length la)).
    change (powers (S (length la))) with (powers (length la) * Rabs s + 1).
    rewrite <- tech_pow_Rmult.
    set (q := (1 + u) ^ length la) in *. set (m := polynomial (Rabs s) (map Rabs la)) in *.
    set (z := powers (length la)) in *. set (P := polynomial s la) in *.
    assert (B : Rabs P <= m) by apply polynomial_size.
    set (y := h * s + d). set (Y := P * s + b).
    assert (D : Rabs (y - Y) <= ((q - 1) * m + 2 * eta * z * q) * Rabs s + (u * Rabs b + eta)).
    { unfold y, Y. replace (h * s + d - (P * s + b)) with ((h - P) * s + (d - b)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
      apply Rplus_le_compat; [|exact Hd]. apply Rmult_le_compat_r; [exact Ps|exact IH]. }
    assert (SY : Rabs Y <= m * Rabs s + Rabs b).
    { unfold Y. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
      apply Rplus_le_compat_r, Rmult_le_compat_r; assumption. }
    assert (T : Rabs (rnd y - Y) <= (1 + u) * Rabs (y - Y) + u * Rabs Y + eta).
    { replace (rnd y - Y) with ((rnd y - y) + (y - Y)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. pose proof (rnd_error y) as E.
      assert (S1 : Rabs y <= Rabs (y - Y) + Rabs Y).
      { replace y with ((y - Y) + Y) at 1 by ring. apply Rabs_triang. }
      apply (Rmult_le_compat_l u) in S1; [|exact u_pos]. lra. }
    apply Rle_trans with (1 := T).
    apply (Rmult_le_compat_l (1 + u)) in D; [|lra]. apply (Rmult_le_compat_l u) in SY; [|exact u_pos].
    assert (Q1 : (1 + u) * 1 <= (1 + u) * q) by (apply Rmult_le_compat_l; lra).
    assert (Q2 : 0 <= u * ((q - 1) * Rabs b)) by (apply Rmult_le_pos; [exact u_pos|apply Rmult_le_pos; lra]).
    assert (Q3 : 0 <= u * eta) by (apply Rmult_le_pos; assumption).
    assert (Q4 : 1 * ((1 + u) * 1) * Rabs b <= 1 * ((1 + u) * q) * Rabs b) by (apply Rmult_le_compat_r; lra).
    assert (Q5 : eta * ((1 + u) * 1) <= eta * ((1 + u) * q)) by (apply Rmult_le_compat_l; assumption).
    assert (Q6 : (1 + u) * (u * Rabs b) + u * Rabs b <= ((1 + u) * q - 1) * Rabs b).
    { assert (1 + u <= q).
      { unfold q, la. simpl length. rewrite <- tech_pow_Rmult. pose proof (grown (length a)).
        rewrite <- (Rmult_1_r (1 + u)) at 1. apply Rmult_le_compat_l; lra. }
      apply (Rmult_le_compat_l (1 + u)) in H; [|lra]. apply (Rmult_le_compat_r (Rabs b)) in H; [|exact Pb]. lra. }
    set (ab := Rabs b) in *. set (as' := Rabs s) in *. lra.
Qed.
End Horner.

Lemma horner_formats emin prec s a c : (0 < prec)%Z ->
  rounded (roundoff prec) (underflow emin) a c ->
  Rabs (fl_horner (nearest emin prec) s c - polynomial s a) <=
    ((1 + roundoff prec) ^ length a - 1) * polynomial (Rabs s) (map Rabs a) +
    2 * underflow emin * powers s (length a) * (1 + roundoff prec) ^ length a.
Proof.
intros Hp. apply horner_error; try apply bpow_ge_0. intros x. apply nearest_error, Hp.
Qed.
