(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Attention with a polynomial p in place of exp. *)
From Coq Require Import Reals Lra Lia.
From Attest Require Import problem.row positivity.output_bound.
Open Scope R_scope.

(** theorem: polynomial_attention — where |p(s) - e^s| <= e e^s for all scores s of a row, e in (0, 1), the
    sum of weights stays positive and the output with p differs by at most max|v| times
    2(1 - sqrt(1 - e^2))/e, at most 2 e max|v| for e <= 1/2; an additive error e0 on [-beta, beta] is a
    relative one of e0 e^beta.
    used by: src/toeplitz/deviation.c, src/toeplitz/exp_poly_error.c *)
Theorem polynomial_attention n (s v : nat -> R) (p : R -> R) e V : (0 < n)%nat -> 0 < e < 1 ->
  (forall j, (j < n)%nat -> Rabs (p (s j) - exp (s j)) <= e * exp (s j)) ->
  (forall j, (j < n)%nat -> Rabs (v j) <= V) ->
  0 < sum n (fun j => p (s j)) /\
  Rabs (mean n (fun j => p (s j)) v - mean n (fun j => exp (s j)) v) <= sharp e * V /\
  (e <= 1 / 2 -> sharp e * V <= 2 * e * V) /\
  (forall e0 beta t, - beta <= t <= beta -> Rabs (p t - exp t) <= e0 ->
     Rabs (p t - exp t) <= e0 * exp beta * exp t).
Proof.
intros Hn He Hp Hv.
set (d := fun j => p (s j) / exp (s j) - 1).
assert (E : forall j, exp (s j) * (1 + d j) = p (s j)).
{ intros j; unfold d; pose proof (exp_pos (s j)); field; lra. }
assert (HV : 0 <= V) by (eapply Rle_trans; [apply Rabs_pos | apply (Hv 0%nat Hn)]).
destruct (output_bound n (fun j => exp (s j)) d v e V He) as [B1 [B2 [B3 B4]]].
- intros; left; apply exp_pos.
- apply sum_all_pos; [exact Hn | intros; apply exp_pos].
- intros j Hj; unfold d; pose proof (exp_pos (s j)) as P.
  replace (p (s j) / exp (s j) - 1) with ((p (s j) - exp (s j)) * / exp (s j)) by (field; lra).
  rewrite Rabs_mult, (Rabs_pos_eq (/ exp (s j))) by (left; apply Rinv_0_lt_compat, P).
  apply Rmult_le_reg_r with (exp (s j)); [exact P|].
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Hp, Hj.
- exact Hv.
- rewrite (sum_ext n _ _ (fun j _ => E j)) in B1.
  rewrite (mean_ext n _ _ v (fun j _ => E j)) in B2.
  repeat split; [exact B1 | exact B2 | |].
  + intros H; apply Rmult_le_compat_r; [exact HV | apply B4, H].
  + intros e0 beta t Ht H0; eapply Rle_trans; [exact H0|].
    assert (0 <= e0) by (eapply Rle_trans; [apply Rabs_pos | exact H0]).
    rewrite Rmult_assoc, <- exp_plus. rewrite <- (Rmult_1_r e0) at 1.
    apply Rmult_le_compat_l; [assumption|]. rewrite <- exp_0.
    destruct (Req_dec 0 (beta + t)) as [<-|C]; [lra | left; apply exp_increasing; lra].
Qed.
