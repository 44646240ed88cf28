(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The polynomials of the lean logarithm and exponential by base 2 in exact arithmetic, against ln and exp.
   coqchk: no (interval arithmetic on Z).

   Near t = 0, where ln(1 + t) / t is hard for interval arithmetic, the slope of t P(t) ln 2 is compared
   with that of ln(1 + t); the slope of a polynomial is what it gives on pairs of a value and a slope. *)
From Coq Require Import ZArith Reals Lra.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_method sparse.lean_isa.
Import ITZ.
Open Scope R_scope.

Definition dual : ops := {|
  carrier := R * R;
  const d := (dyadic_R d, 0);
  fma x y z := (fst x * fst y + fst z, fst x * snd y + snd x * fst y + snd z);
  (* of no use here *)
  neg x := x; mag_of x := x; add x _ := x; sub x _ := x; mul x _ := x; div x _ := x; scale _ x _ := x;
  fraction x _ := x; exponent x _ _ := x; keep_ge x _ _ := x; select_lt x _ _ _ := x; select_le x _ _ _ := x; root_of x := x |}.

(* f has at t the value and the slope of the pair *)
Definition follows (f : R -> R) (t : R) (d : dual) : Prop := f t = fst d /\ is_derive f t (snd d).

Lemma follows_const d t : follows (fun _ => @const exact d) t (const d).
Proof. split; [reflexivity|]. simpl. auto_derive; [exact I|reflexivity]. Qed.

Lemma follows_id t : follows (fun t => t) t ((t, 1) : dual).
Proof. split; [reflexivity|]. simpl. auto_derive; [exact I|reflexivity]. Qed.

Lemma follows_fma f g h t (x y z : dual) : follows f t x -> follows g t y -> follows h t z ->
  follows (fun t => @fma exact (f t) (g t) (h t)) t (fma x y z).
Proof.
intros [F DF] [G DG] [H DH]. split; [simpl; rewrite F, G, H; reflexivity|].
change (is_derive (fun t => f t * g t + h t) t (fst x * snd y + snd x * fst y + snd z)).
rewrite <- F, <- G. rewrite (Rplus_comm (f t * snd y)).
apply (is_derive_plus (fun t => f t * g t) h); [|exact DH].
apply (is_derive_mult f g t (snd x) (snd y)); [exact DF|exact DG|intros; apply Rmult_comm].
Qed.

Ltac follow := repeat (apply follows_fma; [|apply follows_id|apply follows_const]); apply follows_const.

Section Near.
Variables (P : R -> R) (slope : R -> dual) (d delta : R).
Hypothesis P_follows : forall t, follows P t (slope t).
Hypothesis delta_small : 0 <= delta <= 1/2.
Hypothesis slopes : forall t, Rabs t <= delta ->
  Rabs ((fst (slope t) + t * snd (slope t)) * ln 2 - 1 / (1 + t)) <= d.

(* |t| (1 - delta) <= |ln(1 + t)| *)
Lemma ln_size t : Rabs t <= delta -> Rabs t * (1 - delta) <= Rabs (ln (1 + t)).
Proof.
intros H. apply Rabs_le_inv in H as B.
assert (D : forall z, 0 < 1 + z -> ln (1 + z) <= z).
{ intros z Z. rewrite <- (ln_exp z) at 2. destruct (Req_dec z 0) as [->|N].
  - rewrite exp_0, Rplus_0_r. right. reflexivity.
  - left. apply ln_increasing; [exact Z|]. apply exp_ineq1, N. }
destruct (Rle_lt_dec 0 t) as [P0|N0].
- rewrite (Rabs_pos_eq t) in * by exact P0.
  assert (Q := D (- (t / (1 + t))) ltac:(replace (1 + - (t / (1 + t))) with (/ (1 + t)) by (field; lra); apply Rinv_0_lt_compat; lra)).
  replace (1 + - (t / (1 + t))) with (/ (1 + t)) in Q by (field; lra). rewrite ln_Rinv in Q by lra.
  assert (t * (1 - delta) <= t / (1 + t)).
  { apply Rmult_le_compat_l; [exact P0|]. apply (Rmult_le_reg_r (1 + t)); [lra|]. rewrite Rinv_l by lra.
    assert (delta * (1 - delta) <= delta) by nra. assert (t * (1 - delta) <= delta * (1 - delta)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (0 <= t * (1 - delta)) by (apply Rmult_le_pos; lra). rewrite Rabs_pos_eq; lra.
- rewrite (Rabs_left t) in * by exact N0. assert (Q := D t ltac:(lra)).
  rewrite Rabs_left1 by lra.
  assert (0 <= - t * delta) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma near_zero t : Rabs t <= delta -> Rabs (t * P t * ln 2 - ln (1 + t)) <= d / (1 - delta) * Rabs (ln (1 + t)).
Proof.
intros H. set (h := fun t => t * P t * ln 2 - ln (1 + t)).
assert (D0 : 0 <= d) by (eapply Rle_trans; [apply Rabs_pos|apply (slopes t H)]).
assert (Hh : Rabs (h t - h 0) <= d * Rabs (t - 0)).
{ apply (bounded_variation h (fun t => (fst (slope t) + t * snd (slope t)) * ln 2 - 1 / (1 + t))).
  intros z Hz. rewrite !Rminus_0_r in Hz. assert (Z : Rabs z <= delta) by lra. split; [|apply slopes, Z].
  apply Rabs_le_inv in Z. destruct (P_follows z) as [V S]. rewrite <- V. unfold h.
  assert (DL : is_derive (fun t => ln (1 + t)) z (1 / (1 + z))) by (auto_derive; [lra|field; lra]).
  apply (is_derive_minus (fun t => t * P t * ln 2) (fun t => ln (1 + t))); [|exact DL].
  apply (is_derive_ext (fun t => scal (ln 2) (t * P t))); [intros; apply Rmult_comm|].
  replace ((P z + z * snd (slope z)) * ln 2) with (scal (ln 2) (P z + z * snd (slope z))) by apply Rmult_comm.
  apply is_derive_scal. replace (P z) with (1 * P z) at 1 by ring.
  apply (is_derive_mult (fun t => t) P z 1 (snd (slope z))); [|exact S|intros; apply Rmult_comm].
  auto_derive; [exact I|reflexivity]. }
unfold h in Hh at 2. rewrite Rmult_0_l, Rmult_0_l, Rplus_0_r, ln_1, !Rminus_0_r in Hh.
apply Rle_trans with (1 := Hh). assert (L := ln_size t H).
apply (Rmult_le_reg_r (1 - delta)); [lra|]. unfold Rdiv.
replace (d * / (1 - delta) * Rabs (ln (1 + t)) * (1 - delta)) with (d * Rabs (ln (1 + t))) by (field; lra).
rewrite Rmult_assoc. apply Rmult_le_compat_l; assumption.
Qed.
End Near.

Notation log2_P32 := (vf_lean_log2_polynomial_1 exact).
Notation log2_P64 := (vd_lean_log2_polynomial_1 exact).
Notation exp2_Q32 := (vf_lean_exp2_polynomial_1 exact).
Notation exp2_Q64 := (vd_lean_exp2_polynomial_1 exact).

Ltac open_lean := unfold vf_lean_log2_polynomial_1, vd_lean_log2_polynomial_1, vf_lean_exp2_polynomial_1,
  vd_lean_exp2_polynomial_1, exact, dual, dyadic_R;
  cbv [real_ops carrier const fma fst snd num expo].

(* a little more than [sqrt 1/2, sqrt 2) - 1 *)
Notation lean_range t := (-76781 * pow2 (-18) <= t <= 108584 * pow2 (-18)).

Lemma relative_ln t p e : Rabs ((p - ln (1 + t)) / ln (1 + t)) <= e -> ln (1 + t) <> 0 ->
  Rabs (p - ln (1 + t)) <= e * Rabs (ln (1 + t)).
Proof.
intros H N. assert (P := Rabs_pos_lt _ N). unfold Rdiv in H. rewrite Rabs_mult, Rabs_inv in H.
apply (Rmult_le_compat_r (Rabs (ln (1 + t)))) in H; [|lra]. rewrite Rmult_assoc, Rinv_l in H; lra.
Qed.

Lemma ln_left t : -1/2 <= t <= -1/128 -> ln (1 + t) <= -1/256.
Proof. intros H. interval with (i_prec 60). Qed.
Lemma ln_right t : 1/128 <= t <= 1/2 -> 1/256 <= ln (1 + t).
Proof. intros H. interval with (i_prec 60). Qed.

Lemma log2_method32 t : lean_range t ->
  Rabs (t * log2_P32 t * ln 2 - ln (1 + t)) <= 159 * pow2 (-18) / 10 * Rabs (ln (1 + t)).
Proof.
intros H. destruct (Rle_lt_dec (Rabs t) (1/64)) as [S|S].
- apply Rle_trans with (150 * pow2 (-18) / 10 / (1 - 1/64) * Rabs (ln (1 + t)));
    [|apply Rmult_le_compat_r; [apply Rabs_pos|simpl; lra]].
  apply (near_zero log2_P32 (fun t => vf_lean_log2_polynomial_1 dual (t, 1))); [|lra| |exact S].
  + intros z. unfold vf_lean_log2_polynomial_1. follow.
  + intros z Z. open_lean. interval with (i_bisect z, i_taylor z, i_degree 4, i_prec 50).
- assert (B : -76781 * pow2 (-18) <= t <= -1/64 \/ 1/64 <= t <= 108584 * pow2 (-18)).
  { unfold Rabs in S. destruct (Rcase_abs t); [left|right]; lra. }
  apply relative_ln; destruct B as [B|B].
  + open_lean. interval with (i_bisect t, i_taylor t, i_degree 5, i_prec 50).
  + open_lean. interval with (i_bisect t, i_taylor t, i_degree 5, i_prec 50).
  + pose proof (ln_left t ltac:(simpl in *; lra)). lra.
  + pose proof (ln_right t ltac:(simpl in *; lra)). lra.
Qed.

Lemma exp2_method32 f : Rabs f <= 1/2 -> Rabs (exp2_Q32 f - exp (f * ln 2)) <= 1117 * pow2 (-20) / 10 * exp (f * ln 2).
Proof.
intros H. apply relative; [|apply exp_pos]. open_lean.
interval with (i_bisect f, i_taylor f, i_degree 5, i_prec 50).
Qed.

Lemma exp2_method64 f : Rabs f <= 1/2 -> Rabs (exp2_Q64 f - exp (f * ln 2)) <= 639 * pow2 (-40) / 10 * exp (f * ln 2).
Proof.
intros H. apply relative; [|apply exp_pos]. open_lean.
interval with (i_bisect f, i_taylor f, i_degree 8, i_prec 60).
Qed.

Lemma log2_method64 t : lean_range t ->
  Rabs (t * log2_P64 t * ln 2 - ln (1 + t)) <= 2195 * pow2 (-40) / 100 * Rabs (ln (1 + t)).
Proof.
intros H. destruct (Rle_lt_dec (Rabs t) (1/64)) as [S|S].
- apply Rle_trans with (215 * pow2 (-40) / 10 / (1 - 1/64) * Rabs (ln (1 + t)));
    [|apply Rmult_le_compat_r; [apply Rabs_pos|simpl; lra]].
  apply (near_zero log2_P64 (fun t => vd_lean_log2_polynomial_1 dual (t, 1))); [|lra| |exact S].
  + intros z. unfold vd_lean_log2_polynomial_1. follow.
  + intros z Z. open_lean. interval with (i_bisect z, i_taylor z, i_degree 6, i_prec 60).
- assert (B : -76781 * pow2 (-18) <= t <= -1/64 \/ 1/64 <= t <= 108584 * pow2 (-18)).
  { unfold Rabs in S. destruct (Rcase_abs t); [left|right]; lra. }
  apply relative_ln; destruct B as [B|B].
  + open_lean. interval with (i_bisect t, i_taylor t, i_degree 8, i_prec 60).
  + open_lean. interval with (i_bisect t, i_taylor t, i_degree 8, i_prec 60).
  + pose proof (ln_left t ltac:(simpl in *; lra)). lra.
  + pose proof (ln_right t ltac:(simpl in *; lra)). lra.
Qed.

(* what is needed of the sizes *)
Lemma log2_size t : lean_range t -> Rabs (ln (1 + t) / ln 2) <= 1/2 + pow2 (-16).
Proof. intros H. interval with (i_bisect t, i_prec 40). Qed.
Lemma log2_P32_size t : lean_range t -> 6/5 <= log2_P32 t.
Proof. intros H. open_lean. interval with (i_bisect t, i_prec 40). Qed.
Lemma log2_P64_size t : lean_range t -> 6/5 <= log2_P64 t.
Proof. intros H. open_lean. interval with (i_bisect t, i_prec 40). Qed.
Lemma exp2_size f : Rabs f <= 1/2 -> 7/10 <= exp (f * ln 2) <= 3/2.
Proof. intros H. split; interval with (i_prec 40). Qed.
