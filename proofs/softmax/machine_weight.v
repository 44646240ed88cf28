(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The weights of a declared machine model, src/softmax/bound.c: scores as it computes them, the shift
   and its moves, exponentials with an error of their own, and delta_j. *)
From Coq Require Import Reals Lra Lia Psatz List.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.slope softmax.machine_score softmax.machine_softcap
  softmax.machine_units.
Import ListNotations.
Open Scope R_scope.

(* ---- what is charged for a score ---- *)
Section Charge.
Variables (rp : R -> R) (u eta : R).
Hypothesis u_range : 0 <= u <= / 256.
Hypothesis eta_range : 0 <= eta <= 1.
Hypothesis rp_error : forall x, Rabs (rp x - x) <= u * Rabs x + eta.
Variables (b bh l lh n nh tau th : R).
Hypothesis b_in : Rabs (bh - b) <= u * Rabs b + eta.
Hypothesis l_in : Rabs (lh - l) <= u * Rabs l.
Hypothesis n_in : Rabs (nh - n) <= u * Rabs n.
Hypothesis tau_in : Rabs (th - tau) <= u * Rabs tau.
(* s0h is computed for s0 (machine_score); relative: model.before; off14: dot_units(d, 14) u *)
Variables (d : nat) (s0h s0 S r under relative off14 A : R).
Hypothesis computed : approx s0h s0 S r under.
Hypothesis three : (1 + u) * (1 + u) * (1 + u) <= r.
Hypothesis relative_is : r - 1 <= relative.
Hypothesis extras_are : r * grow4 u - 1 <= relative + 8 * u.
Hypothesis seven : (1 + u) * (1 + u) * (1 + u) * grow4 u - 1 <= 8 * u.
Hypothesis off14_is : r * ((1 + u) * (1 + u) * (1 + u) * grow4 u) - 1 <= off14.
Hypothesis A_large : 1 <= A.
Hypothesis under_is : under = INR (3 * d + 2) * r * eta * A.
(* score_underflow() *)
Definition score_underflow := 4 * (INR d + 2) * eta * A * (1 + relative).

Lemma r_large : 1 <= r.
Proof. apply computed. Qed.

Lemma grow4_range : 1 <= grow4 u <= 1 + 17 / 4 * u.
Proof.
unfold grow4. set (v := (1 + u) * (1 + u)).
assert (V : 1 <= v <= 1 + 513 / 256 * u).
{ unfold v. assert (u * u <= / 256 * u) by (apply Rmult_le_compat_r; lra). assert (0 <= u * u) by apply Rle_0_sqr. lra. }
assert (0 <= v * v - 1 - (v - 1) * (v + 1)) by (right; ring).
assert ((v - 1) * (v + 1) <= 513 / 256 * u * (2 + 513 / 256 * / 256)).
{ apply Rmult_le_compat; lra. }
assert (1 * 1 <= v * v) by (apply Rmult_le_compat; lra). lra.
Qed.

Lemma under_covered : grow4 u * (under + 4 * eta) <= score_underflow /\ 0 <= under.
Proof.
pose proof r_large as Pr. pose proof grow4_range as G. pose proof (pos_INR d) as Pd.
assert (Ed : INR (3 * d + 2) = 3 * INR d + 2) by (rewrite plus_INR, mult_INR; simpl; ring).
assert (P1 : eta * 1 <= eta * A) by (apply Rmult_le_compat_l; lra).
assert (P2 : 1 * (eta * A) <= r * (eta * A)) by (apply Rmult_le_compat_r; lra).
assert (P3 : r * (eta * A) <= (1 + relative) * (eta * A)) by (apply Rmult_le_compat_r; lra).
set (m := r * (eta * A)) in *. assert (Pm : 0 <= m) by lra.
assert (Pdm : 0 <= INR d * m) by (apply Rmult_le_pos; lra).
assert (Eu : under = (3 * INR d + 2) * m) by (rewrite under_is, Ed; unfold m; ring).
split; [|rewrite Eu; apply Rmult_le_pos; lra].
apply Rle_trans with (grow4 u * ((3 * INR d + 6) * m)).
{ apply Rmult_le_compat_l; [lra|]. rewrite Eu. lra. }
assert (grow4 u * ((3 * INR d + 6) * m) <= 257 / 256 * (5 / 4) * ((3 * INR d + 6) * m) ).
{ apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]. }
apply Rle_trans with (4 * (INR d + 2) * m).
- assert (grow4 u * ((3 * INR d + 6) * m) <= 4 / 3 * ((3 * INR d + 6) * m)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  lra.
- unfold score_underflow. assert ((4 * (INR d + 2)) * m <= (4 * (INR d + 2)) * ((1 + relative) * (eta * A))) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(* no softcap *)
Let t := (S + Rabs b + Rabs (l * n)) * Rabs tau.
Definition charged := score_underflow * Rabs tau + relative * t + 8 * u * t.

Lemma t_pos : 0 <= t.
Proof.
pose proof (approx_size _ _ _ _ _ computed). pose proof (Rabs_pos b). pose proof (Rabs_pos (l * n)).
apply Rmult_le_pos; [lra|apply Rabs_pos].
Qed.

(** theorem: machine_charge — without a softcap, what bound.c charges for a score, underflow, relative t and 8 u t, and for the one that sets the shift, covers the score's error but for the last underflow. used by: src/softmax/bound.c *)
Theorem machine_charge : Rabs (finish rp bh lh nh th s0h - (s0 + b + l * n) * tau) <= charged + eta /\
  Rabs (finish rp bh lh nh th s0h - (s0 + b + l * n) * tau) <= off14 * t + score_underflow * Rabs tau + eta.
Proof.
assert (F : approx (finish rp bh lh nh th s0h) ((s0 + b + l * n) * tau) ((S + Rabs b + Rabs (l * n)) * Rabs tau)
  (r * grow4 u) (Rabs tau * (grow4 u * (under + 4 * eta)) + eta)) by (eapply finish_approx; eassumption).
destruct F as [_ [_ [_ F]]]. fold t in F. pose proof under_covered as [U _]. pose proof t_pos as Pt.
apply (Rmult_le_compat_l (Rabs tau)) in U; [|apply Rabs_pos].
pose proof grow4_range as G. pose proof r_large as Pr.
assert (X : (r * grow4 u - 1) * t <= (relative + 8 * u) * t) by (apply Rmult_le_compat_r; lra).
assert (Y : r * grow4 u <= r * ((1 + u) * (1 + u) * (1 + u) * grow4 u)).
{ apply Rmult_le_compat_l; [lra|]. rewrite <- (Rmult_1_l (grow4 u)) at 1. apply Rmult_le_compat_r; [lra|].
  assert (0 <= u * u) by apply Rle_0_sqr. assert (0 <= u * u * u) by (apply Rmult_le_pos; lra). lra. }
assert (Z : (r * grow4 u - 1) * t <= off14 * t) by (apply Rmult_le_compat_r; lra).
unfold charged. lra.
Qed.

(* with one: C, its slope at s0, and the cap's own error *)
Variables (C eta_c sch : R).
Hypothesis C_pos : 0 < C.
Hypothesis evaluated : Rabs (sch - C * tanh (s0h / C)) <= 31 / 2 * u * C.
Hypothesis eta_c_large : relative * S <= eta_c * C.
Let sc := C * tanh (s0 / C).
Let tc := (S * sech2 (s0 / C) + Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau.
Definition charged_capped := score_underflow * Rabs tau +
  (Rmin (relative * tc * steep eta_c) (2 * C * Rabs tau) * (1 + 8 * u) + 16 * u * C * Rabs tau) + 8 * u * tc.

(** theorem: machine_charge_capped — the same with a softcap: relative t at the steepest slope on the way, or twice the cap, and the cap's own 16 u. used by: src/softmax/bound.c *)
Theorem machine_charge_capped :
  Rabs (finish rp bh lh nh th sch - (sc + b + l * n) * tau) <= charged_capped + eta /\
  Rabs (finish rp bh lh nh th sch - (sc + b + l * n) * tau) <=
    off14 * ((S + Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau) + (score_underflow + 16 * u * C) * Rabs tau + eta.
Proof.
pose proof r_large as Pr. pose proof (approx_size _ _ _ _ _ computed) as [PS _].
pose proof under_covered as [U PU]. pose proof grow4_range as G.
assert (Ec : (r - 1) * S <= eta_c * C).
{ eapply Rle_trans; [|exact eta_c_large]. apply Rmult_le_compat_r; lra. }
destruct (machine_softcap C u s0 s0h S r under eta_c sch C_pos computed evaluated Ec) as [_ [B1 [B2 B3]]].
fold sc in B1, B2, B3.
pose proof (sech2_range (s0 / C)) as Pz. set (z := S * sech2 (s0 / C)) in *.
assert (PZ : 0 <= z) by (apply Rmult_le_pos; lra).
pose proof (Rabs_pos b) as Pb. pose proof (Rabs_pos (l * n)) as Pn. pose proof (Rabs_pos sc) as Ps. pose proof (Rabs_pos tau) as Pt.
assert (Puc : 0 <= u * C) by (apply Rmult_le_pos; lra).
set (v3 := (1 + u) * (1 + u) * (1 + u)) in *.
assert (V3 : 1 <= v3).
{ unfold v3. assert (0 <= u * u) by apply Rle_0_sqr. assert (0 <= u * u * u) by (apply Rmult_le_pos; lra). lra. }
assert (Fin : forall B, 0 <= B -> Rabs (sch - sc) <= B + under + 31 / 2 * u * C ->
  Rabs (finish rp bh lh nh th sch - (sc + b + l * n) * tau) <=
    (v3 * grow4 u - 1) * ((Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau) +
    (Rabs tau * (grow4 u * B + score_underflow + 16 * u * C) + eta)).
{ intros B PB HB.
  assert (Ap : approx sch sc (Rabs sc) v3 (B + under + 31 / 2 * u * C)).
  { assert (0 <= (v3 - 1) * Rabs sc) by (apply Rmult_le_pos; lra). unfold approx. lra. }
  assert (F : approx (finish rp bh lh nh th sch) ((sc + b + l * n) * tau) ((Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau)
    (v3 * grow4 u) (Rabs tau * (grow4 u * (B + under + 31 / 2 * u * C + 4 * eta)) + eta)).
  { eapply finish_approx; try eassumption. unfold v3. lra. }
  destruct F as [_ [_ [_ F]]]. eapply Rle_trans; [exact F|]. apply Rplus_le_compat_l, Rplus_le_compat_r, Rmult_le_compat_l; [exact Pt|].
  assert (grow4 u * (31 / 2 * u * C) <= (1 + 17 / 4 * / 256) * (31 / 2 * u * C)) by (apply Rmult_le_compat_r; lra). lra. }
split.
- assert (Pc : 0 <= capped_off C s0 S r eta_c).
  { unfold capped_off, Rmin. destruct Rle_dec; [|lra]. apply Rmult_le_pos; [left; apply exp_pos|].
    fold z. rewrite Rmult_assoc. fold z. apply Rmult_le_pos; lra. }
  specialize (Fin _ Pc B2).
  assert (T1 : (Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau <= tc) by (unfold tc; fold z; apply Rmult_le_compat_r; lra).
  assert (T2 : z * Rabs tau <= tc) by (unfold tc; fold z; apply Rmult_le_compat_r; lra).
  assert (T0 : 0 <= (Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau) by (apply Rmult_le_pos; lra).
  assert (Q1 : (v3 * grow4 u - 1) * ((Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau) <= 8 * u * tc).
  { apply Rmult_le_compat; try lra. assert (1 * 1 <= v3 * grow4 u) by (apply Rmult_le_compat; lra). lra. }
  assert (Q2 : Rabs tau * capped_off C s0 S r eta_c <= Rmin (relative * tc * steep eta_c) (2 * C * Rabs tau)).
  { unfold capped_off. apply Rmin_glb.
    - apply Rle_trans with (Rabs tau * (steep eta_c * ((r - 1) * S * sech2 (s0 / C)))).
      { apply Rmult_le_compat_l; [exact Pt|apply Rmin_l]. }
      rewrite (Rmult_assoc (r - 1)). fold z.
      assert (St : 0 < steep eta_c) by apply exp_pos.
      assert ((r - 1) * (z * Rabs tau) <= relative * tc) by (apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra).
      apply Rle_trans with ((r - 1) * (z * Rabs tau) * steep eta_c); [right; ring|].
      apply Rmult_le_compat_r; lra.
    - apply Rle_trans with (Rabs tau * (2 * C)); [apply Rmult_le_compat_l; [exact Pt|apply Rmin_r]|right; ring]. }
  set (m := Rmin (relative * tc * steep eta_c) (2 * C * Rabs tau)) in *.
  assert (Q3 : grow4 u * (Rabs tau * capped_off C s0 S r eta_c) <= (1 + 8 * u) * m).
  { apply Rmult_le_compat; try lra. apply Rmult_le_pos; lra. }
  unfold charged_capped. fold m. lra.
- assert (Pc : 0 <= (r - 1) * S) by (apply Rmult_le_pos; lra).
  specialize (Fin _ Pc B3).
  set (k := Rabs sc + Rabs b + Rabs (l * n)) in *. assert (Pk : 0 <= k) by (unfold k; lra).
  assert (E : (v3 * grow4 u - 1) * (k * Rabs tau) + Rabs tau * (grow4 u * ((r - 1) * S)) <= off14 * ((S + k) * Rabs tau)).
  { assert (PkT : 0 <= k * Rabs tau) by (apply Rmult_le_pos; lra). assert (PST : 0 <= S * Rabs tau) by (apply Rmult_le_pos; lra).
    assert (1 * (v3 * grow4 u) <= r * (v3 * grow4 u)).
    { apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]. }
    assert (W1 : (v3 * grow4 u - 1) * (k * Rabs tau) <= off14 * (k * Rabs tau)) by (apply Rmult_le_compat_r; lra).
    assert (r * grow4 u * 1 <= r * grow4 u * v3).
    { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]. }
    assert (W2 : grow4 u * (r - 1) * (S * Rabs tau) <= off14 * (S * Rabs tau)) by (apply Rmult_le_compat_r; lra).
    lra. }
  replace ((S + Rabs sc + Rabs b + Rabs (l * n)) * Rabs tau) with ((S + k) * Rabs tau) by (unfold k; ring).
  lra.
Qed.
End Charge.

(* ---- weights ---- *)
(* A factor within e^(+-t). *)
Definition within (f t : R) := exp (- t) <= f <= exp t.

Lemma exp_mono a b : a <= b -> exp a <= exp b.
Proof. intros [L|<-]; [left; apply exp_increasing, L|apply Rle_refl]. Qed.

Lemma within_mult f g s t : within f s -> within g t -> within (f * g) (s + t).
Proof.
intros [F1 F2] [G1 G2]. unfold within. replace (- (s + t)) with (- s + - t) by ring.
rewrite !exp_plus. pose proof (exp_pos (- s)). pose proof (exp_pos (- t)).
split; apply Rmult_le_compat; lra.
Qed.

Lemma within_exp x t : Rabs x <= t -> within (exp x) t.
Proof.
intros H. unfold Rabs in H. destruct Rcase_abs in H; split; apply exp_mono; lra.
Qed.

Lemma within_more f s t : within f s -> s <= t -> within f t.
Proof.
intros [A B] H. pose proof (exp_mono s t H). pose proof (exp_mono (- t) (- s) ltac:(lra)). split; lra.
Qed.

Section Weights.
(* eu: relative error of an exponential, e u_P; low: below it, 2^emin, an exponential may be dropped *)
Variables (u eu low : R).
Hypothesis u_range : 0 <= u <= / 256.
Hypothesis eu_range : 0 <= eu < 1.
Definition eu' := eu / (1 - eu).

(* x is an exponential of y <= 0 *)
Definition is_exp (y x : R) := 0 <= x <= 1 /\ (Rabs (x - exp y) <= eu * exp y \/ exp y <= low /\ x <= low).

(* A step of size D: its argument y rounds once, x is its exponential. The first is from the shift down
   to the score, the others are moves of the shift. *)
Definition step (p : R * R * R) := let '(D, y, x) := p in
  0 <= D /\ y <= 0 /\ Rabs (y + D) <= u * D /\ is_exp y x.
Fixpoint way (l : list (R * R * R)) : R := match l with [] => 0 | (D, _, _) :: l => D + way l end.
Fixpoint weight (l : list (R * R * R)) : R := match l with [] => 1 | (_, _, x) :: l => x * weight l end.

Lemma exp_within y x : Rabs (x - exp y) <= eu * exp y -> within (x / exp y) eu'.
Proof.
intros H. pose proof (exp_pos y) as P.
assert (E : Rabs (x / exp y - 1) <= eu).
{ replace (x / exp y - 1) with ((x - exp y) / exp y) by (field; lra).
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (exp y)) by lra.
  apply (Rmult_le_reg_r (exp y)); [exact P|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
assert (X : eu <= eu').
{ unfold eu'. apply (Rmult_le_reg_r (1 - eu)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  assert (0 <= eu * eu) by apply Rle_0_sqr. lra. }
assert (Y : 1 - eu = / (1 + eu')) by (unfold eu'; field; lra).
pose proof (above eu') as A. unfold Rabs in E. split.
- rewrite exp_Ropp. apply Rle_trans with (1 - eu); [rewrite Y; apply Rinv_le; lra|destruct Rcase_abs in E; lra].
- destruct Rcase_abs in E; lra.
Qed.

Lemma weight_parts l : Forall step l -> 0 <= weight l <= 1 /\ 0 <= way l /\
  exists a f, 0 <= a <= 1 /\ a = f * exp (- way l) /\ within f (u * way l + INR (length l) * eu') /\
    Rabs (weight l - a) <= Rmax low 0.
Proof.
induction 1 as [|[[D y] x] l H _ [IW [IP IH]]].
- simpl. split; [lra|]. split; [lra|]. exists 1, 1. split; [lra|]. split; [rewrite Ropp_0, exp_0; ring|].
  split; [unfold within; rewrite Rmult_0_r, Rmult_0_l, Rplus_0_r, Ropp_0, exp_0; lra|].
  replace (1 - 1) with 0 by ring. rewrite Rabs_R0. apply Rmax_r.
- destruct H as [PD [Py [Hy [X1 X2]]]]. destruct IH as [a [f [A1 [A2 [A3 A4]]]]].
  assert (PM : 0 <= Rmax low 0) by apply Rmax_r. assert (LM : low <= Rmax low 0) by apply Rmax_l.
  set (k := Rmax low 0) in *.
  cbn [weight way length]. rewrite S_INR.
  split; [split; [apply Rmult_le_pos; lra|replace 1 with (1 * 1) by ring; apply Rmult_le_compat; lra]|].
  split; [lra|]. pose proof (exp_pos y) as Pe.
  assert (Ey : exp y <= 1) by (rewrite <- exp_0; apply exp_mono, Py).
  assert (Sp : forall x' g, x' = g * exp y -> within g eu' ->
    x' * a = g * exp (y + D) * f * exp (- (D + way l)) /\
    within (g * exp (y + D) * f) (u * (D + way l) + (INR (length l) + 1) * eu')).
  { intros x' g E G. split.
    - rewrite E, A2. replace (exp y) with (exp (y + D) * exp (- D)) by (rewrite <- exp_plus; f_equal; ring).
      replace (exp (- (D + way l))) with (exp (- D) * exp (- way l)) by (rewrite <- exp_plus; f_equal; ring). ring.
    - replace (u * (D + way l) + (INR (length l) + 1) * eu') with
        (eu' + u * D + (u * way l + INR (length l) * eu')) by ring.
      apply within_mult; [apply within_mult; [exact G|apply within_exp, Hy]|exact A3]. }
  destruct X2 as [X2|[X2 X3]].
  + destruct (Sp x (x / exp y) ltac:(field; lra) (exp_within y x X2)) as [S1 S2].
    exists (x * a), (x / exp y * exp (y + D) * f). split; [|split; [exact S1|split; [exact S2|]]].
    * split; [apply Rmult_le_pos; lra|replace 1 with (1 * 1) by ring; apply Rmult_le_compat; lra].
    * replace (x * weight l - x * a) with (x * (weight l - a)) by ring. rewrite Rabs_mult, (Rabs_pos_eq x) by lra.
      apply Rle_trans with (1 * k); [|lra]. apply Rmult_le_compat; try apply Rabs_pos; lra.
  + assert (W1 : within 1 eu').
    { assert (0 <= eu') by (unfold eu'; apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
      split; [rewrite <- exp_0; apply exp_mono; lra|rewrite <- exp_0 at 1; apply exp_mono; lra]. }
    destruct (Sp (exp y) 1 ltac:(ring) W1) as [S1 S2].
    exists (exp y * a), (1 * exp (y + D) * f). split; [|split; [exact S1|split; [exact S2|]]].
    * split; [apply Rmult_le_pos; lra|replace 1 with (1 * 1) by ring; apply Rmult_le_compat; lra].
    * assert (0 <= exp y * a <= low * 1) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra]).
      assert (0 <= x * weight l <= low * 1) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra]).
      apply Rabs_le. lra.
Qed.

(* One key: s exact, sh as computed, off by at most what is charged; M: the largest exact score, mh the
   final shift, a score that is off by at most `off`. *)
Variables (s sh M mh E off eta moves : R) (l : list (R * R * R)).
Hypothesis E_pos : 0 <= E.
Hypothesis off_pos : 0 <= off.
Hypothesis eta_range : 0 <= eta <= u / 4.
Hypothesis score_off : Rabs (sh - s) <= E + eta.
Hypothesis shift_off : mh <= M + off + eta.
Hypothesis below_M : s <= M.
Hypothesis steps : Forall step l.
Hypothesis from_score : way l = mh - sh.
Hypothesis moves_are : INR (length l) <= moves + 1.
Hypothesis one_move : 1 <= moves.
(* weight_error() *)
Definition delta_j := (E + (u * (M - s) + u * off + eu') + moves * (eu' + u)) * (1 + / 256).

(** theorem: machine_weight — the weight of a key is w_j e^(+-delta_j) up to a factor that all keys share, and what underflow drops: delta_j is what bound.c charges for the score, the distance from the shift, whose moves telescope, and the exponentials. used by: src/softmax/bound.c *)
Theorem machine_weight : exists a f, 0 <= a <= 1 /\ Rabs (weight l - a) <= Rmax low 0 /\
  a = exp (M - mh) * exp (s - M) * f /\ exp (- delta_j) <= f <= exp delta_j.
Proof.
destruct (weight_parts l steps) as [_ [PW [a [f [A1 [A2 [A3 A4]]]]]]].
exists a, (exp (sh - s) * f). split; [exact A1|]. split; [exact A4|]. split.
- rewrite A2, from_score. replace (exp (- (mh - sh))) with (exp (M - mh) * exp (s - M) * exp (sh - s)); [ring|].
  rewrite <- !exp_plus. f_equal. ring.
- apply (within_more _ (E + eta + (u * way l + INR (length l) * eu'))).
  + apply within_mult; [apply within_exp, score_off|exact A3].
  + assert (Pe : 0 <= eu') by (unfold eu'; apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
    assert (T1 : INR (length l) * eu' <= (moves + 1) * eu') by (apply Rmult_le_compat_r; assumption).
    assert (D : way l <= (M - s) + off + eta + (E + eta)).
    { unfold Rabs in score_off. destruct Rcase_abs in score_off; lra. }
    apply (Rmult_le_compat_l u) in D; [|lra].
    assert (T2 : u * E <= / 256 * E) by (apply Rmult_le_compat_r; lra).
    assert (T3 : u * eta <= / 256 * eta) by (apply Rmult_le_compat_r; lra).
    assert (T4 : 0 <= u * (M - s)) by (apply Rmult_le_pos; lra).
    assert (T5 : 0 <= u * off) by (apply Rmult_le_pos; lra).
    assert (T6 : 0 <= moves * eu') by (apply Rmult_le_pos; lra).
    assert (T7 : 1 * u <= moves * u) by (apply Rmult_le_compat_r; lra).
    unfold delta_j. lra.
Qed.
End Weights.
