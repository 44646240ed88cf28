(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* tanh as softcaps need it: its derivative sech^2, and how far it moves when its argument does. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(* The derivative of tanh. *)
Definition sech2 (s : R) : R := 4 * exp (2 * s) / ((exp (2 * s) + 1) * (exp (2 * s) + 1)).

Lemma tanh_exp s : tanh s = (exp (2 * s) - 1) / (exp (2 * s) + 1).
Proof.
unfold tanh, sinh, cosh. pose proof (exp_pos s) as P.
replace (2 * s) with (s + s) by ring. rewrite exp_plus, exp_Ropp. field.
assert (0 < exp s * exp s) by (apply Rmult_lt_0_compat; exact P). split; lra.
Qed.

Lemma tanh_derive t s : is_derive (fun x => tanh (t * x)) s (t * sech2 (t * s)).
Proof.
apply (is_derive_ext (fun x => (exp (2 * (t * x)) - 1) / (exp (2 * (t * x)) + 1))).
- intros x. symmetry. apply tanh_exp.
- assert (P := exp_pos (2 * (t * s))). unfold sech2. auto_derive; [lra|]. field. lra.
Qed.

Lemma sech2_range s : 0 < sech2 s <= 1.
Proof.
unfold sech2. assert (P := exp_pos (2 * s)). set (e := exp (2 * s)) in *.
assert (0 < (e + 1) * (e + 1)) by (apply Rmult_lt_0_compat; lra).
split; [apply Rdiv_lt_0_compat; lra|]. apply (Rmult_le_reg_r ((e + 1) * (e + 1))); [assumption|].
replace (4 * e / ((e + 1) * (e + 1)) * ((e + 1) * (e + 1))) with (4 * e) by (field; lra).
assert (0 <= (e - 1) * (e - 1)) by apply Rle_0_sqr. lra.
Qed.

Lemma sech2_even s : sech2 (- s) = sech2 s.
Proof.
unfold sech2. replace (2 * - s) with (- (2 * s)) by ring. rewrite exp_Ropp. assert (P := exp_pos (2 * s)). field. lra.
Qed.

Lemma tanh_lipschitz a b : Rabs (tanh a - tanh b) <= Rabs (a - b).
Proof.
destruct (MVT_gen (fun x => tanh (1 * x)) b a (fun x => 1 * sech2 (1 * x))) as [c [_ E]].
- intros x _. apply tanh_derive.
- intros x _. apply continuity_pt_filterlim, (ex_derive_continuous (fun x => tanh (1 * x))).
  eexists. apply tanh_derive.
- rewrite !Rmult_1_l in E. rewrite E, Rabs_mult. pose proof (sech2_range c).
  rewrite (Rabs_pos_eq (sech2 c)) by lra. rewrite <- (Rmult_1_l (Rabs (a - b))) at 2.
  apply Rmult_le_compat_r; [apply Rabs_pos|lra].
Qed.

Lemma tanh_below_1 s : Rabs (tanh s) <= 1.
Proof.
rewrite tanh_exp. assert (P := exp_pos (2 * s)).
unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (_ + 1)) by lra.
apply (Rmult_le_reg_r (exp (2 * s) + 1)); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r, Rmult_1_l.
apply Rabs_le. lra.
Qed.

(* x (1 - e^-x) <= .. : e^x - 1 <= x e^x *)
Lemma expm1_above x : exp x - 1 <= x * exp x.
Proof.
assert (E : 1 + - x <= exp (- x)).
{ destruct (Req_dec x 0) as [->|N]; [rewrite Ropp_0, exp_0; lra|left; apply exp_ineq1; lra]. }
apply (Rmult_le_compat_l (exp x)) in E; [|left; apply exp_pos].
rewrite <- exp_plus in E. replace (x + - x) with 0 in E by ring. rewrite exp_0 in E. lra.
Qed.

(* The slope at b is what a step h sees, but for a factor e^(2 h). *)
Lemma tanh_moved a b h : Rabs (a - b) <= h -> Rabs (tanh a - tanh b) <= h * exp (2 * h) * sech2 b.
Proof.
intros H. assert (Ph : 0 <= h) by (eapply Rle_trans; [apply Rabs_pos|exact H]).
set (g := exp (2 * h)). set (A := exp (2 * a)). set (B := exp (2 * b)).
assert (PA : 0 < A) by apply exp_pos. assert (PB : 0 < B) by apply exp_pos.
assert (Pg : 1 <= g).
{ unfold g. rewrite <- exp_0. destruct Ph as [Ph|<-]; [left; apply exp_increasing; lra|rewrite Rmult_0_r; apply Rle_refl]. }
assert (M : forall x y, x <= y -> exp x <= exp y).
{ intros x y [L|<-]; [left; apply exp_increasing, L|apply Rle_refl]. }
apply Rabs_le_between in H.
assert (Up : A <= g * B) by (unfold A, g, B; rewrite <- exp_plus; apply M; lra).
assert (Lo : B <= g * A) by (unfold A, g, B; rewrite <- exp_plus; apply M; lra).
assert (E : tanh a - tanh b = 2 * (A - B) / ((A + 1) * (B + 1))).
{ rewrite !tanh_exp. fold A B. field. lra. }
assert (N : Rabs (A - B) * (B + 1) <= B * (g - 1) * (A + 1)).
{ unfold Rabs. destruct Rcase_abs as [C|C].
  - (* B - A <= (g - 1) A, and (g - 1) times what is left of B (A + 1) - A (B + 1) = B - A >= 0 *)
    assert ((B - A) * (B + 1) <= B * (g - 1) * (A + 1)); [|lra].
    assert (B - A <= (g - 1) * A) by lra.
    assert (Q : 0 <= (g - 1) * A - (B - A)) by lra.
    assert ((B - A) * (B + 1) = (B - A) * (A + 1) + (B - A) * (B - A)) by ring.
    assert (T : (B - A) * (B + 1) * A <= B * (g - 1) * (A + 1) * A).
    { apply Rle_trans with ((B - A) * (B * (A + 1))).
      - replace ((B - A) * (B + 1) * A) with ((B - A) * (A * (B + 1))) by ring.
        apply Rmult_le_compat_l; lra.
      - replace (B * (g - 1) * (A + 1) * A) with ((g - 1) * A * (B * (A + 1))) by ring.
        apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|assumption]. }
    apply (Rmult_le_reg_r A); [exact PA|]. lra.
  - assert (A - B <= (g - 1) * B) by lra.
    apply Rle_trans with ((g - 1) * B * (B + 1)); [apply Rmult_le_compat_r; lra|].
    replace (B * (g - 1) * (A + 1)) with ((g - 1) * B * (A + 1)) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]. }
assert (PD : 0 < (A + 1) * (B + 1)) by (apply Rmult_lt_0_compat; lra).
assert (PE : 0 < (B + 1) * (B + 1)) by (apply Rmult_lt_0_compat; lra).
apply Rle_trans with ((g - 1) / 2 * sech2 b).
- rewrite E. unfold Rdiv at 1. rewrite !Rabs_mult, Rabs_inv, (Rabs_pos_eq 2), (Rabs_pos_eq ((A + 1) * (B + 1))) by lra.
  apply (Rmult_le_reg_r ((A + 1) * (B + 1) * (B + 1))); [apply Rmult_lt_0_compat; lra|].
  unfold sech2. fold B.
  replace (2 * Rabs (A - B) * / ((A + 1) * (B + 1)) * ((A + 1) * (B + 1) * (B + 1))) with (2 * (Rabs (A - B) * (B + 1))) by (field; lra).
  replace ((g - 1) / 2 * (4 * B / ((B + 1) * (B + 1))) * ((A + 1) * (B + 1) * (B + 1))) with (2 * (B * (g - 1) * (A + 1))) by (field; lra).
  lra.
- apply Rmult_le_compat_r; [left; apply sech2_range|].
  pose proof (expm1_above (2 * h)) as X. fold g in X. lra.
Qed.
