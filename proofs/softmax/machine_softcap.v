(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* A softcap in a declared machine model, src/softmax/bound.c: the slope of the cap may grow on the way
   to where an error has moved its argument. *)
From Coq Require Import Reals Lra Psatz.
From Attest Require Import softmax.slope softmax.machine_score.
Open Scope R_scope.

Section Softcap.
(* C: the cap; s0, sh0: what is capped and as computed; u: roundoff of products *)
Variables (C u s0 sh0 S r e eta sch : R).
Hypothesis C_pos : 0 < C.
Hypothesis computed : approx sh0 s0 S r e.
(* the cap as evaluated *)
Hypothesis evaluated : Rabs (sch - C * tanh (sh0 / C)) <= 31 / 2 * u * C.
(* at least the relative error before the cap, over the cap *)
Hypothesis eta_large : (r - 1) * S <= eta * C.

Let sc := C * tanh (s0 / C).
Definition steep := exp (2 * eta).
Definition capped_off := Rmin (steep * ((r - 1) * S * sech2 (s0 / C))) (2 * C).

(** theorem: machine_softcap — after a softcap a score is off by at most e^(2 eta) times the relative error of what it caps at the slope of the cap there, and never by more than twice the cap; by what was absolute; and by 31/2 u cap. used by: src/softmax/bound.c *)
Theorem machine_softcap : Rabs sc <= C /\ Rabs sc <= S /\
  Rabs (sch - sc) <= capped_off + e + 31 / 2 * u * C /\
  Rabs (sch - sc) <= (r - 1) * S + e + 31 / 2 * u * C.
Proof.
pose proof (approx_size _ _ _ _ _ computed) as [PS _]. destruct computed as [H1 [H2 [H3 H4]]].
assert (L : forall a c, C * Rabs (tanh (a / C) - tanh (c / C)) <= Rabs (a - c)).
{ intros a c. apply Rle_trans with (C * Rabs (a / C - c / C)).
  - apply Rmult_le_compat_l; [lra|apply tanh_lipschitz].
  - replace (a / C - c / C) with ((a - c) / C) by (field; lra). unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq C) by lra.
    right. field. lra. }
assert (T0 : tanh 0 = 0) by (rewrite tanh_exp, Rmult_0_r, exp_0; field).
assert (A1 : Rabs sc <= C).
{ unfold sc. rewrite Rabs_mult, (Rabs_pos_eq C) by lra. pose proof (tanh_below_1 (s0 / C)) as T.
  apply (Rmult_le_compat_l C) in T; lra. }
assert (A2 : Rabs sc <= S).
{ specialize (L s0 0). unfold Rdiv at 2 in L. rewrite Rmult_0_l, T0, !Rminus_0_r in L.
  unfold sc. rewrite Rabs_mult, (Rabs_pos_eq C) by lra. lra. }
assert (D : Rabs (C * tanh (sh0 / C) - sc) <= (r - 1) * S + e).
{ unfold sc. rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_pos_eq C) by lra. specialize (L sh0 s0). lra. }
assert (Split : forall B, Rabs (C * tanh (sh0 / C) - sc) <= B -> Rabs (sch - sc) <= B + 31 / 2 * u * C).
{ intros B HB. replace (sch - sc) with ((sch - C * tanh (sh0 / C)) + (C * tanh (sh0 / C) - sc)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra. }
split; [exact A1|]. split; [exact A2|]. split; [|apply Split, D]. apply Split.
(* a point within the relative error of s0 and within e of sh0 *)
set (R := (r - 1) * S) in *. assert (PR : 0 <= R) by (apply Rmult_le_pos; lra).
assert (Mid : exists m, Rabs (m - s0) <= R /\ Rabs (sh0 - m) <= e).
{ set (z := sh0 - s0) in *.
  destruct (Rle_dec z R) as [Z|Z]; [destruct (Rle_dec (- R) z) as [Y|Y]|].
  - exists sh0. split; [fold z; apply Rabs_le; lra|]. replace (sh0 - sh0) with 0 by ring. rewrite Rabs_R0. exact H3.
  - exists (s0 - R). split; [replace (s0 - R - s0) with (- R) by ring; rewrite Rabs_Ropp, Rabs_pos_eq; lra|].
    apply Rabs_le. unfold z in *. unfold Rabs in H4. destruct Rcase_abs in H4; lra.
  - exists (s0 + R). split; [replace (s0 + R - s0) with R by ring; rewrite Rabs_pos_eq; lra|].
    apply Rabs_le. unfold z in *. unfold Rabs in H4. destruct Rcase_abs in H4; lra. }
destruct Mid as [m [M1 M2]].
replace (C * tanh (sh0 / C) - sc) with (C * (tanh (sh0 / C) - tanh (m / C)) + C * (tanh (m / C) - tanh (s0 / C)))
  by (unfold sc; ring).
eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq C) by lra.
assert (E1 := L sh0 m).
assert (E2 : C * Rabs (tanh (m / C) - tanh (s0 / C)) <= 2 * C).
{ rewrite (Rmult_comm 2). apply Rmult_le_compat_l; [lra|]. unfold Rminus.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
  pose proof (tanh_below_1 (m / C)). pose proof (tanh_below_1 (s0 / C)). lra. }
assert (E3 : C * Rabs (tanh (m / C) - tanh (s0 / C)) <= steep * (R * sech2 (s0 / C))).
{ assert (Hh : Rabs (m / C - s0 / C) <= R / C).
  { replace (m / C - s0 / C) with ((m - s0) / C) by (field; lra). unfold Rdiv.
    rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq C) by lra. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, C_pos|exact M1]. }
  pose proof (tanh_moved _ _ _ Hh) as T. pose proof (sech2_range (s0 / C)) as Ps.
  assert (X : exp (2 * (R / C)) <= steep).
  { unfold steep. assert (R / C <= eta).
    { apply (Rmult_le_reg_r C); [exact C_pos|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. exact eta_large. }
    destruct (Rle_lt_or_eq_dec (2 * (R / C)) (2 * eta)) as [Q|Q]; [lra|left; apply exp_increasing, Q|rewrite Q; apply Rle_refl]. }
  apply (Rmult_le_compat_l C) in T; [|lra]. apply Rle_trans with (1 := T).
  replace (C * (R / C * exp (2 * (R / C)) * sech2 (s0 / C))) with (exp (2 * (R / C)) * (R * sech2 (s0 / C))) by (field; lra).
  apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact X]. }
unfold capped_off. fold R. unfold Rmin. destruct Rle_dec; lra.
Qed.
End Softcap.
