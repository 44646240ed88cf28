(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* [x]_+^r for real r > 0: 0 at x <= 0. Coq's Rpower 0 r is 1, hence the guard. *)
From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Definition ppow (r x : R) : R := if Rlt_dec 0 x then Rpower x r else 0.

Lemma ppow_pos r x : 0 < x -> ppow r x = Rpower x r.
Proof. intros H; unfold ppow; destruct Rlt_dec; [reflexivity | contradiction]. Qed.

Lemma ppow_zero r x : x <= 0 -> ppow r x = 0.
Proof. intros H; unfold ppow; destruct Rlt_dec; [lra | reflexivity]. Qed.

Lemma ppow_nonneg r x : 0 <= ppow r x.
Proof. unfold ppow; destruct Rlt_dec; [left; apply exp_pos | apply Rle_refl]. Qed.

Lemma ppow_gt_0 r x : 0 < x <-> 0 < ppow r x.
Proof.
split; intros H; [rewrite ppow_pos by exact H; apply exp_pos|].
apply Rnot_le_lt; intros H1; rewrite ppow_zero in H by exact H1; lra.
Qed.

Lemma ppow_scal r c x : 0 < c -> ppow r (c * x) = Rpower c r * ppow r x.
Proof.
intros Hc; destruct (Rlt_dec 0 x) as [H|H].
- rewrite !ppow_pos; [|exact H | apply Rmult_lt_0_compat; assumption].
  unfold Rpower. rewrite ln_mult by assumption. rewrite Rmult_plus_distr_l, exp_plus; ring.
- rewrite !ppow_zero; [ring | lra | nra].
Qed.

Lemma ppow_le r x y : 0 < r -> x <= y -> ppow r x <= ppow r y.
Proof.
intros Hr Hxy; destruct (Rlt_dec 0 x) as [H|H].
- rewrite !ppow_pos by lra; apply Rle_Rpower_l; lra.
- rewrite (ppow_zero r x) by lra; apply ppow_nonneg.
Qed.

Lemma ppow_lt r x y : 0 < r -> 0 < y -> x < y -> ppow r x < ppow r y.
Proof.
intros Hr Hy Hxy; destruct (Rlt_dec 0 x) as [H|H].
- rewrite !ppow_pos by lra; apply exp_increasing, Rmult_lt_compat_l; [exact Hr | apply ln_increasing; lra].
- rewrite (ppow_zero r x) by lra; apply ppow_gt_0, Hy.
Qed.

Lemma ppow_1 x : ppow 1 x = Rmax 0 x.
Proof.
destruct (Rlt_dec 0 x) as [H|H].
- rewrite ppow_pos, Rpower_1, Rmax_right by lra; reflexivity.
- rewrite ppow_zero, Rmax_left by lra; reflexivity.
Qed.

Lemma ppow_one r : ppow r 1 = 1.
Proof. rewrite ppow_pos by lra; unfold Rpower; rewrite ln_1, Rmult_0_r; apply exp_0. Qed.

(* (y^(1/r))^r = y *)
Lemma ppow_root r y : 0 < r -> 0 < y -> ppow r (Rpower y (/ r)) = y.
Proof.
intros Hr Hy; rewrite ppow_pos by apply exp_pos.
rewrite Rpower_mult, Rinv_l by lra; apply Rpower_1, Hy.
Qed.

Lemma ppow_continuous r x : 0 < r -> continuity_pt (ppow r) x.
Proof.
intros Hr; destruct (Rtotal_order x 0) as [H|[->|H]].
- apply continuity_pt_locally_ext with (fun _ => 0) (- x).
  + lra.
  + intros y Hy; symmetry; apply ppow_zero. apply Rabs_def2 in Hy; lra.
  + apply continuity_pt_const; intros a b; reflexivity.
- (* at 0: below e for x < e^(1/r) *)
  intros e He; exists (Rpower e (/ r)); split; [apply exp_pos|].
  intros y [_ Hy]; simpl in *; unfold R_dist in *.
  rewrite (ppow_zero r 0), Rminus_0_r by lra. rewrite Rminus_0_r in Hy.
  rewrite Rabs_pos_eq by apply ppow_nonneg.
  apply Rlt_le_trans with (ppow r (Rpower e (/ r))); [|rewrite ppow_root; lra].
  apply ppow_lt; [exact Hr | apply exp_pos | apply Rabs_def2 in Hy; lra].
- apply continuity_pt_locally_ext with (fun x => Rpower x r) x.
  + exact H.
  + intros y Hy; symmetry; apply ppow_pos. apply Rabs_def2 in Hy; lra.
  + apply derivable_continuous_pt; exists (r * Rpower x (r - 1)).
    apply derivable_pt_lim_power, H.
Qed.
