(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* What the enclosures of sweeps share: inputs, grids on which nothing underflows, radii. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary Relative Mult_error.
From Flocq Require Pff2Flocq.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops.
Open Scope R_scope.
Notation pow2 := (bpow radix2).
Notation u := (pow2 (-53)).
Notation f64 := (generic_format radix2 (FLT_exp (-1074) 53)).

(* A finite float32 as the enclosures get it, exact in double. *)
Definition single (x : float64) (v : R) : Prop :=
  stands64 x v /\ generic_format radix2 (FLT_exp (-149) 24) v /\ Rabs v < pow2 128.
(* mid and rad are finite, and f lies in the enclosure. *)
Definition encloses (b : float64 * float64) (f : R) : Prop :=
  exists mid rad, stands64 (fst b) mid /\ stands64 (snd b) rad /\ Rabs (f - mid) <= rad.

Lemma u_small : 0 < u <= / 1000000.
Proof. simpl. lra. Qed.

Lemma format64 x v : stands64 x v -> f64 v.
Proof. exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 x v). Qed.

Lemma rnd64_format v : f64 v -> rnd64 v = v.
Proof. intros H. apply round_generic; [apply valid_rnd_N|exact H]. Qed.

Lemma format_rnd64 v : f64 (rnd64 v).
Proof. apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N]. Qed.

Lemma rnd64_pos v : 0 <= v -> 0 <= rnd64 v.
Proof.
intros H. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|exact H].
Qed.

Lemma rnd64_error v : Rabs (rnd64 v - v) <= u * Rabs v + pow2 (-1075).
Proof. apply (summation.nearest_error (-1074) 53). lia. Qed.

Lemma rnd64_bound k v : (-1000 <= k <= 1020)%Z -> Rabs v <= pow2 k -> Rabs (rnd64 v) <= pow2 k.
Proof.
intros K H. apply abs_round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact H].
apply generic_format_bpow. unfold FLT_exp. lia.
Qed.

(* ---- operations on numbers of a known size ---- *)
Definition sized (k : Z) (x : float64) (v : R) : Prop := stands64 x v /\ Rabs v <= pow2 k.

Lemma sized_weaken k k' x v : (k <= k')%Z -> sized k x v -> sized k' x v.
Proof. intros K [H B]. split; [exact H|]. apply Rle_trans with (1 := B). apply bpow_le, K. Qed.

Lemma double_power k a b : Rabs a <= pow2 k -> Rabs b <= pow2 k -> Rabs a + Rabs b <= pow2 (k + 1).
Proof. intros. rewrite bpow_plus. change (pow2 1) with 2. lra. Qed.

Lemma below_overflow k v : (k <= 1000)%Z -> Rabs v <= pow2 k -> Rabs v <= pow2 1023.
Proof. intros K H. apply Rle_trans with (1 := H). apply bpow_le. lia. Qed.

Lemma sized_add k x y a b : (-900 <= k <= 900)%Z -> sized k x a -> sized k y b -> sized (k + 1) (add x y) (rnd64 (a + b)).
Proof.
intros K [Hx Bx] [Hy By]. assert (B : Rabs (a + b) <= pow2 (k + 1)).
{ eapply Rle_trans; [apply Rabs_triang|apply double_power; assumption]. }
split; [apply add64; try assumption; apply (below_overflow (k + 1)); [lia|exact B]|apply rnd64_bound; [lia|exact B]].
Qed.

Lemma sized_neg k x a : sized k x a -> sized k (neg x) (- a).
Proof. intros [H B]. split; [apply neg64, H|]. rewrite Rabs_Ropp. exact B. Qed.

Lemma sized_mag k x a : sized k x a -> sized k (mag_of x) (Rabs a).
Proof. intros [H B]. split; [apply mag64, H|]. rewrite Rabs_Rabsolu. exact B. Qed.

Lemma sized_sub k x y a b : (-900 <= k <= 900)%Z -> sized k x a -> sized k y b -> sized (k + 1) (sub x y) (rnd64 (a - b)).
Proof.
intros K [Hx Bx] [Hy By]. assert (B : Rabs (a - b) <= pow2 (k + 1)).
{ unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. apply double_power; [|rewrite Rabs_Ropp]; assumption. }
split; [apply sub64; try assumption; apply (below_overflow (k + 1)); [lia|exact B]|apply rnd64_bound; [lia|exact B]].
Qed.

Lemma product_bound j k a b : Rabs a <= pow2 j -> Rabs b <= pow2 k -> Rabs (a * b) <= pow2 (j + k).
Proof. intros. rewrite Rabs_mult, bpow_plus. apply Rmult_le_compat; auto using Rabs_pos. Qed.

Lemma sized_mul j k x y a b : (-900 <= j + k <= 900)%Z -> sized j x a -> sized k y b ->
  sized (j + k) (mul x y) (rnd64 (a * b)).
Proof.
intros K [Hx Bx] [Hy By]. assert (B := product_bound j k a b Bx By).
split; [apply mul64; try assumption; apply (below_overflow (j + k)); [lia|exact B]|apply rnd64_bound; [lia|exact B]].
Qed.

Lemma sized_fma k x y z a b c : (-900 <= k <= 900)%Z -> stands64 x a -> stands64 y b -> Rabs (a * b) <= pow2 k ->
  sized k z c -> sized (k + 1) (fma x y z) (rnd64 (a * b + c)).
Proof.
intros K Hx Hy Bp [Hz Bz]. assert (B : Rabs (a * b + c) <= pow2 (k + 1)).
{ eapply Rle_trans; [apply Rabs_triang|apply double_power; assumption]. }
split; [apply fma64; try assumption; apply (below_overflow (k + 1)); [lia|exact B]|apply rnd64_bound; [lia|exact B]].
Qed.

(* a constant of size at most 4, from the header *)
Lemma sized_const d r : (Z.abs (num d) <? 2 ^ 53)%Z = true -> (-1074 <=? expo d)%Z = true ->
  (expo d <=? 970)%Z = true -> dyadic_R d = r -> Rabs r <= 4 -> sized 2 (const d) r.
Proof. intros H1 H2 H3 <- B. split; [apply const64; assumption|exact B]. Qed.

(* ---- grids: multiples of 2^k ---- *)
Definition grid (k : Z) (v : R) : Prop := exists n : Z, v = IZR n * pow2 k.

Lemma grid_weaken k k' v : (k' <= k)%Z -> grid k v -> grid k' v.
Proof.
intros K [n ->]. exists (n * 2 ^ (k - k'))%Z. rewrite mult_IZR, (IZR_Zpower radix2) by lia.
rewrite Rmult_assoc, <- bpow_plus. f_equal. f_equal. ring.
Qed.

Lemma grid_add k a b : grid k a -> grid k b -> grid k (a + b).
Proof. intros [n ->] [m ->]. exists (n + m)%Z. rewrite plus_IZR. ring. Qed.
Lemma grid_opp k a : grid k a -> grid k (- a).
Proof. intros [n ->]. exists (- n)%Z. rewrite opp_IZR. ring. Qed.
Lemma grid_sub k a b : grid k a -> grid k b -> grid k (a - b).
Proof. intros. apply grid_add; [|apply grid_opp]; assumption. Qed.
Lemma grid_abs k a : grid k a -> grid k (Rabs a).
Proof. intros H. unfold Rabs. destruct (Rcase_abs a); [apply grid_opp|]; exact H. Qed.
Lemma grid_mul j k a b : grid j a -> grid k b -> grid (j + k) (a * b).
Proof. intros [n ->] [m ->]. exists (n * m)%Z. rewrite mult_IZR, bpow_plus. ring. Qed.
Lemma grid_power k : grid k (pow2 k).
Proof. exists 1%Z. ring. Qed.

Lemma grid_single v : generic_format radix2 (FLT_exp (-149) 24) v -> grid (-149) v.
Proof.
intros F. rewrite F. unfold F2R. cbn [Fnum Fexp].
apply (grid_weaken (cexp radix2 (FLT_exp (-149) 24) v)); [apply Z.le_max_r|]. eexists; reflexivity.
Qed.

Lemma grid_round k v : (-1074 <= k)%Z -> grid k v -> grid k (rnd64 v).
Proof.
intros K H. destruct (Z_le_dec k (cexp radix2 (FLT_exp (-1074) 53) v)) as [L|L].
- apply (grid_weaken _ _ _ L). unfold rnd64, round, F2R. cbn [Fnum Fexp]. eexists; reflexivity.
- rewrite rnd64_format; [exact H|]. destruct H as [n ->].
  change (IZR n * pow2 k) with (F2R (Float radix2 n k)) in *.
  apply generic_format_F2R. intros _. lia.
Qed.

Lemma grid_away k v : grid k v -> v = 0 \/ pow2 k <= Rabs v.
Proof.
intros [n ->]. destruct (Z.eq_dec n 0) as [->|N]; [left; ring|right].
rewrite Rabs_mult, (Rabs_pos_eq (pow2 k)) by apply bpow_ge_0. rewrite <- abs_IZR.
rewrite <- (Rmult_1_l (pow2 k)) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply IZR_le. lia.
Qed.

(* no underflow there *)
Lemma half_ulp : / 2 * pow2 (- 53 + 1) = u.
Proof. rewrite bpow_plus. change (pow2 1) with 2. change (- (53))%Z with (-53)%Z. lra. Qed.

Lemma grid_emin k v : (-1074 <= k)%Z -> grid k v -> exists n, v = F2R (Float radix2 n (-1074)).
Proof. intros K H. destruct (grid_weaken _ _ _ K H) as [n ->]. exists n. reflexivity. Qed.

Lemma grid_error k v : (-1074 <= k)%Z -> grid k v -> Rabs (rnd64 v - v) <= u * Rabs v.
Proof.
intros K H. destruct (grid_emin k v K H) as [n ->]. rewrite <- half_ulp.
apply relative_error_N_FLT_F2R_emin. reflexivity.
Qed.

Lemma grid_error_rounded k v : (-1074 <= k)%Z -> grid k v -> Rabs (rnd64 v - v) <= u * Rabs (rnd64 v).
Proof.
intros K H. destruct (grid_emin k v K H) as [n ->]. rewrite <- half_ulp.
apply relative_error_N_FLT_round_F2R_emin. reflexivity.
Qed.

Lemma grid_down k v : (-1074 <= k)%Z -> grid k v -> 0 <= v -> (1 - u) * v <= rnd64 v.
Proof. intros K H P. assert (E := grid_error k v K H). rewrite (Rabs_pos_eq v) in E by exact P. apply Rabs_le_inv in E. lra. Qed.

#[local] Instance prec53 : Prec_gt_0 53 := eq_refl.

(* what rounding a product or a sum loses is a number of the format *)
Lemma product_exact k a b : (-900 <= k)%Z -> f64 a -> f64 b -> grid k (a * b) -> f64 (rnd64 (a * b) - a * b).
Proof.
intros K Fa Fb H. apply (mult_error_FLT radix2 (-1074) 53 ZnearestE); try assumption. intros N.
destruct (grid_away k _ H) as [Z|A]; [contradiction|].
apply Rle_trans with (2 := A). apply bpow_le. lia.
Qed.

(* Sums and products of numbers that are not negative, far from underflow: what radii are made of. *)
Definition known (k g : Z) (x : float64) (v : R) : Prop := sized k x v /\ grid g v /\ 0 <= v.

Lemma known_weaken k k' g g' x v : known k g x v -> (k <= k')%Z -> (g' <= g)%Z -> known k' g' x v.
Proof. intros [S [G P]] K L. split; [exact (sized_weaken k k' x v K S)|]. split; [exact (grid_weaken g g' v L G)|exact P]. Qed.

Lemma known_mul j k g h x y a b : known j g x a -> known k h y b ->
  (-900 <= j + k <= 900)%Z -> (-1074 <= g + h)%Z ->
  known (j + k) (g + h) (mul x y) (rnd64 (a * b)) /\ (1 - u) * (a * b) <= rnd64 (a * b).
Proof.
intros [X [Ga Pa]] [Y [Gb Pb]] K L. assert (G := grid_mul _ _ _ _ Ga Gb). assert (P : 0 <= a * b) by (apply Rmult_le_pos; assumption).
split; [|apply (grid_down (g + h)); assumption].
split; [apply sized_mul; assumption|]. split; [apply grid_round; assumption|apply rnd64_pos, P].
Qed.

Lemma known_add k g x y a b : known k g x a -> known k g y b ->
  (-900 <= k <= 900)%Z -> (-1074 <= g)%Z ->
  known (k + 1) g (add x y) (rnd64 (a + b)) /\ (1 - u) * (a + b) <= rnd64 (a + b).
Proof.
intros [X [Ga Pa]] [Y [Gb Pb]] K L. assert (G := grid_add _ _ _ Ga Gb). assert (P : 0 <= a + b) by lra.
split; [|apply (grid_down g); assumption].
split; [apply sized_add; assumption|]. split; [apply grid_round; assumption|apply rnd64_pos, P].
Qed.

Lemma known_const d g r : (Z.abs (num d) <? 2 ^ 53)%Z = true -> (-1074 <=? expo d)%Z = true ->
  (expo d <=? 970)%Z = true -> (g <=? expo d)%Z = true -> dyadic_R d = r -> 0 <= r <= 4 -> known 2 g (const d) r.
Proof.
intros H1 H2 H3 L E B. apply Z.leb_le in L. split; [apply sized_const; try assumption; apply Rabs_le; lra|].
split; [|apply B]. apply (grid_weaken (expo d)); [exact L|]. exists (num d). now rewrite <- E.
Qed.
