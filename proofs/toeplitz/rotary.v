(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Rotary embedding: pair l of 2P coordinates turns by the angle p theta_l at position p. *)
From Coq Require Import Reals Lra Lia ZArith.
From Attest Require Import problem.row.
Open Scope R_scope.

(* A vector of pairs, (x_l, y_l) for l < P. *)
Definition pairs := nat -> R * R.
Definition turn (angle : R) (v : R * R) : R * R :=
  (cos angle * fst v - sin angle * snd v, sin angle * fst v + cos angle * snd v).
Definition rotate (theta : nat -> R) (p : R) (v : pairs) : pairs := fun l => turn (p * theta l) (v l).
Definition dot (P : nat) (u v : pairs) : R := sum P (fun l => fst (u l) * fst (v l) + snd (u l) * snd (v l)).

Lemma turn_dot a b u v :
  fst (turn a u) * fst (turn b v) + snd (turn a u) * snd (turn b v) =
  fst u * fst (turn (b - a) v) + snd u * snd (turn (b - a) v).
Proof. unfold turn; simpl; rewrite cos_minus, sin_minus; ring. Qed.

(** theorem: rotary_scores — R_(j-i) = R_i^T R_j: the score of rotated query and key, (R_i q).(R_j k), is
    q R_(j-i) k, for all real positions i, j and all angles.
    used by: src/toeplitz/enclose.c, src/toeplitz/low_rank.c, src/problem/rotary.c *)
Theorem rotary_scores P theta i j q k :
  dot P (rotate theta i q) (rotate theta j k) = dot P q (rotate theta (j - i) k).
Proof.
apply sum_ext; intros l _; unfold rotate; rewrite turn_dot.
replace (j * theta l - i * theta l) with ((j - i) * theta l) by ring; reflexivity.
Qed.

(** theorem: rotary_norm — a rotation keeps the norm of every pair, so each coordinate of a rotated
    vector is at most sqrt 2 times the largest coordinate of the vector.
    used by: src/problem/rotary.h, src/toeplitz/enclose.c *)
Theorem rotary_norm theta p v l :
  let r := rotate theta p v l in
  fst r ^ 2 + snd r ^ 2 = fst (v l) ^ 2 + snd (v l) ^ 2 /\
  forall B, Rabs (fst (v l)) <= B -> Rabs (snd (v l)) <= B ->
    Rabs (fst r) <= sqrt 2 * B /\ Rabs (snd r) <= sqrt 2 * B.
Proof.
intros r.
assert (E : fst r ^ 2 + snd r ^ 2 = fst (v l) ^ 2 + snd (v l) ^ 2).
{ unfold r, rotate, turn; simpl fst; simpl snd; set (a := p * theta l).
  pose proof (sin2_cos2 a) as H; unfold Rsqr in H.
  replace ((cos a * fst (v l) - sin a * snd (v l)) ^ 2 + (sin a * fst (v l) + cos a * snd (v l)) ^ 2)
    with ((sin a * sin a + cos a * cos a) * (fst (v l) ^ 2 + snd (v l) ^ 2)) by ring.
  rewrite H; ring. }
split; [exact E|]; intros B H1 H2.
assert (HB : 0 <= B) by (eapply Rle_trans; [apply Rabs_pos | exact H1]).
assert (S : fst r ^ 2 + snd r ^ 2 <= 2 * B ^ 2).
{ rewrite E; apply Rabs_range in H1; apply Rabs_range in H2.
  assert (fst (v l) ^ 2 <= B ^ 2) by (apply pow_maj_Rabs, Rabs_within; lra).
  assert (snd (v l) ^ 2 <= B ^ 2) by (apply pow_maj_Rabs, Rabs_within; lra). lra. }
assert (sq : forall x, x ^ 2 <= 2 * B ^ 2 -> Rabs x <= sqrt 2 * B).
{ intros x Hx. rewrite <- (sqrt_Rsqr_abs x).
  rewrite <- (sqrt_pow2 B HB), <- sqrt_mult_alt by lra.
  apply sqrt_le_1_alt; unfold Rsqr; lra. }
pose proof (pow2_ge_0 (fst r)); pose proof (pow2_ge_0 (snd r)).
split; apply sq; lra.
Qed.

(** theorem: closer_is_not_larger — "smaller relative distance, larger correlation" is false:
    cos 1 < cos 6, for q = k = (1, 0) at angle 1.
    used by: claims of data/claims/fast-rope.yaml *)
Theorem closer_is_not_larger :
  let q := fun _ : nat => (1, 0) in let theta := fun _ : nat => 1 in
  dot 1 q (rotate theta 1 q) < dot 1 q (rotate theta 6 q).
Proof.
unfold dot, rotate, turn; simpl.
replace (1 * 1) with 1 by ring; replace (6 * 1) with 6 by ring.
enough (cos 1 < cos 6) by lra.
(* cos 6 = cos (2 PI - 6), and 0 <= 2 PI - 6 < 1 < PI *)
assert (HPI : 3 < PI < 35 / 10).
{ pose proof PI2_3_2; pose proof PI_4. split; [lra|]. 
  pose proof (PI_ineq 1) as HI; unfold tg_alt, PI_tg in HI; simpl in HI; lra. }
replace (cos 6) with (cos (2 * PI - 6)).
- apply cos_decreasing_1; lra.
- replace (2 * PI - 6) with (Ropp 6 + 2 * INR 1 * PI) by (simpl; ring). rewrite cos_period; apply cos_neg.
Qed.
