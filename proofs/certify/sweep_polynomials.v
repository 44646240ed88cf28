(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The enclosures of Taylor polynomials and of profiles in sweeps, with mid and rad as the C code rounds them. *)
From Coq Require Import ZArith Reals Lra Lia List.
From Flocq Require Import Core Binary.
From Flocq Require Pff2Flocq.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants enclosure.log_isa
  certify.sweep_isa certify.sweep_rounding enclosure.horner taylor.weigh.
From Attest Require enclosure.summation positivity.partial_sums taylor.weight.
Import ListNotations.
Open Scope R_scope.
Notation T := partial_sums.T.
(* what is another operation is not made equal by computing *)
#[local] Opaque float64.

Lemma two_sum_exact a b : f64 a -> f64 b ->
  let s := rnd64 (a + b) in let b' := rnd64 (s - a) in
  rnd64 (rnd64 (a - rnd64 (s - b')) + rnd64 (b - b')) = a + b - s.
Proof.
intros Fa Fb. cbv zeta.
assert (C := Pff2Flocq.TwoSum_correct (-1074) 53 (fun x => negb (Z.even x)) eq_refl ltac:(lia)).
assert (Sym : forall x : Z, negb (Z.even x) = negb (negb (Z.even (- (x + 1))))).
{ intros x. rewrite Z.even_opp, Z.even_add. now destruct (Z.even x). }
specialize (C Sym a b Fa Fb). apply (Rplus_eq_reg_l (rnd64 (a + b))).
transitivity (a + b); [exact C|ring].
Qed.

Lemma two_sum_stands k x y a b : (-800 <= k <= 800)%Z -> sized k x a -> sized k y b ->
  sized (k + 1) (fst (two_sum float64 x y)) (rnd64 (a + b)) /\
  sized (k + 5) (snd (two_sum float64 x y)) (a + b - rnd64 (a + b)).
Proof.
intros K X Y. assert (S := sized_add k x y a b ltac:(lia) X Y). split; [exact S|].
rewrite <- two_sum_exact by ((eapply format64; apply X || apply Y)).
assert (X1 := sized_weaken k (k + 1) x a ltac:(lia) X). assert (X3 := sized_weaken k (k + 3) x a ltac:(lia) X).
assert (Y2 := sized_weaken k (k + 2) y b ltac:(lia) Y).
assert (B := sized_sub (k + 1) _ _ _ _ ltac:(lia) S X1). replace (k + 1 + 1)%Z with (k + 2)%Z in B by ring.
assert (S2 := sized_weaken (k + 1) (k + 2) _ _ ltac:(lia) S).
assert (P := sized_sub (k + 2) _ _ _ _ ltac:(lia) S2 B). replace (k + 2 + 1)%Z with (k + 3)%Z in P by ring.
assert (D := sized_sub (k + 3) _ _ _ _ ltac:(lia) X3 P). replace (k + 3 + 1)%Z with (k + 4)%Z in D by ring.
assert (Q := sized_sub (k + 2) _ _ _ _ ltac:(lia) Y2 B).
assert (Q4 := sized_weaken (k + 2 + 1) (k + 4) _ _ ltac:(lia) Q).
assert (E := sized_add (k + 4) _ _ _ _ ltac:(lia) D Q4). replace (k + 4 + 1)%Z with (k + 5)%Z in E by ring.
exact E.
Qed.

(* ---- profiles ---- *)
Definition profile (n : nat) (x : R) : R := if Rlt_dec x 1 then (1 - x) ^ n else 0.

(* t + d = [1 - x]_+ with |d| = e *)
Lemma profile_base x v : single x v -> exists t d,
  profile 1 v = t + d /\ Rabs d <= u * t /\ 0 <= t /\ grid (-149) t /\ grid (-149) d /\ t <= pow2 130 /\
  let '(s, e) := two_sum float64 (const (Dyadic 1 0)) (neg x) in let zero := const (Dyadic 0 0) in
  stands64 (select_lt zero s s zero) t /\ stands64 (select_lt zero s (mag_of e) zero) (Rabs d).
Proof.
intros [X [F B]].
assert (One : sized 2 (const (Dyadic 1 0)) 1).
{ apply sized_const; try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_pos_eq; lra]. }
assert (Zero : stands64 (const (Dyadic 0 0)) 0).
{ apply (sized_const _ 0); try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_R0; lra]. }
assert (N : sized 128 (neg x) (- v)) by (apply sized_neg; split; [exact X|lra]).
destruct (two_sum_stands 128 _ _ _ _ ltac:(lia) (sized_weaken 2 128 _ _ ltac:(lia) One) N) as [S E].
destruct (two_sum float64 (const (Dyadic 1 0)) (neg x)) as [s e]. cbn [fst snd] in S, E.
assert (G : grid (-149) (1 + - v)).
{ apply grid_add; [|apply grid_opp, grid_single, F]. apply (grid_weaken 0); [lia|]. exists 1%Z. simpl. ring. }
assert (Gt := grid_round (-149) _ ltac:(lia) G).
assert (Er := grid_error_rounded (-149) _ ltac:(lia) G).
assert (Le := grid_error (-149) _ ltac:(lia) G).
set (t := rnd64 (1 + - v)) in *.
assert (Us := u_small).
destruct (Rlt_dec 0 t) as [P|P].
- exists t, (1 + - v - t). rewrite (Rabs_pos_eq t) in Er by lra. apply Rabs_le_inv in Er.
  assert (Pv : v < 1).
  { apply Rnot_le_lt. intros H. apply (Rlt_not_le _ _ P).
    rewrite <- (Ropp_involutive t). rewrite <- Ropp_0. apply Ropp_le_contravar.
    replace (- t) with (rnd64 (- (1 + - v))) by (unfold t, rnd64; rewrite round_NE_opp; reflexivity).
    apply rnd64_pos. lra. }
  split; [unfold profile; destruct (Rlt_dec v 1); [ring|contradiction]|].
  split; [apply Rabs_le; lra|]. split; [lra|]. split; [exact Gt|].
  split; [apply grid_sub; assumption|].
  split; [apply Rle_trans with (2 := bpow_le radix2 (128 + 1) 130 ltac:(lia)); apply Rle_trans with (2 := proj2 S); apply Rle_abs|].
  split.
  + assert (H := select_lt64 _ _ _ _ _ _ _ _ Zero (proj1 S) (proj1 S) Zero). destruct (Rlt_dec 0 t); [exact H|contradiction].
  + assert (H := select_lt64 _ _ _ _ _ _ _ _ Zero (proj1 S) (mag64 _ _ (proj1 E)) Zero). destruct (Rlt_dec 0 t); [exact H|contradiction].
- exists 0, 0.
  assert (Pv : 1 <= v).
  { apply Rnot_lt_le. intros H. destruct (grid_away _ _ Gt) as [Z|A].
    - rewrite Z, Rminus_0_l, Rabs_Ropp, Rabs_pos_eq in Le by lra.
      assert (u * (1 + - v) <= / 1000000 * (1 + - v)) by (apply Rmult_le_compat_r; lra). lra.
    - assert (0 <= t) by (apply rnd64_pos; lra). rewrite Rabs_pos_eq in A by assumption.
      assert (0 < pow2 (-149)) by apply bpow_gt_0. lra. }
  split; [unfold profile; destruct (Rlt_dec v 1); lra|].
  split; [rewrite Rabs_R0; lra|]. split; [lra|].
  assert (G0 : grid (-149) 0) by (exists 0%Z; ring).
  split; [exact G0|]. split; [exact G0|]. split; [apply bpow_ge_0|].
  split.
  + assert (H := select_lt64 _ _ _ _ _ _ _ _ Zero (proj1 S) (proj1 S) Zero). destruct (Rlt_dec 0 t); [contradiction|exact H].
  + rewrite Rabs_R0. assert (H := select_lt64 _ _ _ _ _ _ _ _ Zero (proj1 S) (mag64 _ _ (proj1 E)) Zero). destruct (Rlt_dec 0 t); [contradiction|exact H].
Qed.

Lemma profile_power n v : (1 <= n)%nat -> profile n v = profile 1 v ^ n.
Proof. intros N. unfold profile. destruct (Rlt_dec v 1); [now rewrite pow_1|]. rewrite pow_i; [reflexivity|lia]. Qed.

Definition enclose_profile (n : nat) : float64 -> float64 * float64 :=
  match n with 1 => enclose_profile_1 float64 | 2 => enclose_profile_2 float64 | _ => enclose_profile_3 float64 end.

Notation room := (1 + pow2 (-40)).

Lemma known_room : known 2 (-40) (const (Dyadic 1099511627777 (-40))) room.
Proof. apply known_const; try reflexivity; [unfold dyadic_R; simpl; lra|simpl; lra]. Qed.

(* a product in double, and what it loses *)
Lemma product_stands j k g h x y a b : known j g x a -> known k h y b ->
  (-800 <= j + k <= 800)%Z -> (-800 <= g + h)%Z ->
  known (j + k) (g + h) (mul x y) (rnd64 (a * b)) /\
  known (j + k + 1) (g + h) (mag_of (fma x y (neg (mul x y)))) (Rabs (a * b - rnd64 (a * b))).
Proof.
intros X Y K L. destruct (known_mul j k g h x y a b X Y ltac:(lia) ltac:(lia)) as [P _]. split; [exact P|].
destruct X as [X [Ga Pa]], Y as [Y [Gb Pb]]. assert (G := grid_mul _ _ _ _ Ga Gb).
assert (E : f64 (a * b - rnd64 (a * b))).
{ rewrite <- Ropp_minus_distr. apply generic_format_opp.
  apply (product_exact (g + h)); [lia|eapply format64, X|eapply format64, Y|exact G]. }
split; [|split; [apply grid_abs, grid_sub; [exact G|apply P]|apply Rabs_pos]].
apply sized_mag. rewrite <- (rnd64_format _ E).
apply (sized_fma (j + k) x y); [lia|apply X|apply Y|apply product_bound; [apply X|apply Y]|apply sized_neg, P].
Qed.

Lemma profile_known x v : single x v -> exists t d,
  profile 1 v = t + d /\ Rabs d <= u * t /\
  let '(s, e) := two_sum float64 (const (Dyadic 1 0)) (neg x) in let zero := const (Dyadic 0 0) in
  known 130 (-149) (select_lt zero s s zero) t /\ known 130 (-149) (select_lt zero s (mag_of e) zero) (Rabs d).
Proof.
intros H. destruct (profile_base x v H) as [t [d [E [D [Pt [Gt [Gd [Bt M]]]]]]]]. exists t, d.
split; [exact E|]. split; [exact D|]. destruct (two_sum _ _ _) as [s e]. cbv zeta in *. destruct M as [M1 M2].
assert (Us := u_small). split.
- split; [split; [exact M1|rewrite Rabs_pos_eq; assumption]|]. now split.
- split; [split; [exact M2|]|split; [apply grid_abs, Gd|apply Rabs_pos]].
  rewrite Rabs_Rabsolu. assert (u * t <= / 1000000 * t) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma profile_1 x v : single x v -> encloses (enclose_profile_1 float64 x) (profile 1 v).
Proof.
intros H. destruct (profile_known x v H) as [t [d [-> [_ M]]]].
unfold enclose_profile_1. destruct (two_sum _ _ _) as [s e]. cbv zeta in *. destruct M as [[[T _] _] [[E _] _]].
exists t, (Rabs d). split; [exact T|]. split; [exact E|]. replace (t + d - t) with d by ring. apply Rle_refl.
Qed.

Lemma profile_2 x v : single x v -> encloses (enclose_profile_2 float64 x) (profile 2 v).
Proof.
intros H. rewrite profile_power by lia. destruct (profile_known x v H) as [t [d [-> [D M]]]].
unfold enclose_profile_2. destruct (two_sum _ _ _) as [s e]. cbv zeta in *. destruct M as [T E].
destruct (product_stands _ _ _ _ _ _ _ _ T T ltac:(lia) ltac:(lia)) as [P E2].
assert (Two : known 2 0 (const (Dyadic 1 1)) 2) by (apply known_const; try reflexivity; [unfold dyadic_R; simpl|]; lra).
destruct (known_mul _ _ _ _ _ _ _ _ Two T ltac:(lia) ltac:(lia)) as [A1 L1].
destruct (known_mul _ _ _ _ _ _ _ _ A1 E ltac:(lia) ltac:(lia)) as [A2 L2].
destruct (known_add 262 (-298) _ _ _ _ (known_weaken _ 262 _ (-298) _ _ E2 ltac:(lia) ltac:(lia))
  (known_weaken _ 262 _ (-298) _ _ A2 ltac:(lia) ltac:(lia)) ltac:(lia) ltac:(lia)) as [A3 L3].
destruct (known_mul _ _ _ _ _ _ _ _ A3 known_room ltac:(lia) ltac:(lia)) as [A4 L4].
eexists _, _. split; [apply P|]. split; [apply A4|]. apply Rle_trans with (2 := L4).
set (p := rnd64 (t * t)) in *. set (l := Rabs (t * t - p)) in *.
set (a1 := rnd64 (2 * t)) in *. set (a2 := rnd64 (a1 * Rabs d)) in *. set (a3 := rnd64 (l + a2)) in *.
destruct T as [_ [_ Pt]], E as [_ [_ Pd]], E2 as [_ [_ Pl]].
replace ((t + d) ^ 2 - p) with ((t * t - p) + (2 * t * d + d * d)) by ring.
apply Rle_trans with (l + (1 + u) * (2 * t * Rabs d)).
{ eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_l.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq 2), (Rabs_pos_eq t) by lra.
  assert (Rabs d * Rabs d <= u * t * Rabs d) by (apply Rmult_le_compat_r; assumption).
  assert (0 <= u * (t * Rabs d)) by (apply Rmult_le_pos; [apply bpow_ge_0|apply Rmult_le_pos; assumption]). lra. }
apply (Rmult_le_compat_r (Rabs d)) in L1; [|exact Pd].
set (B := t * Rabs d) in *. replace ((1 - u) * (2 * t) * Rabs d) with ((1 - u) * (2 * B)) in L1 by (unfold B; ring).
replace (2 * t * Rabs d) with (2 * B) by (unfold B; ring).
assert (PB : 0 <= B) by (apply Rmult_le_pos; assumption).
set (c := a1 * Rabs d) in *. clearbody B c l a2 a3. clear - L1 L2 L3 PB Pl. simpl in *. lra.
Qed.

Lemma profile_3 x v : single x v -> encloses (enclose_profile_3 float64 x) (profile 3 v).
Proof.
intros H. rewrite profile_power by lia. destruct (profile_known x v H) as [t [d [-> [D M]]]].
unfold enclose_profile_3. destruct (two_sum _ _ _) as [s e]. cbv zeta in *. destruct M as [T E].
destruct (product_stands _ _ _ _ _ _ _ _ T T ltac:(lia) ltac:(lia)) as [P E2].
destruct (product_stands _ _ _ _ _ _ _ _ P T ltac:(lia) ltac:(lia)) as [Q E3].
assert (Three : known 2 0 (const (Dyadic 3 0)) 3) by (apply known_const; try reflexivity; [unfold dyadic_R; simpl|]; lra).
destruct (known_mul _ _ _ _ _ _ _ _ E2 T ltac:(lia) ltac:(lia)) as [A0 L0].
destruct (known_mul _ _ _ _ _ _ _ _ Three P ltac:(lia) ltac:(lia)) as [A1 L1].
destruct (known_mul _ _ _ _ _ _ _ _ A1 E ltac:(lia) ltac:(lia)) as [A2 L2].
destruct (known_add 400 (-447) _ _ _ _ (known_weaken _ 400 _ (-447) _ _ E3 ltac:(lia) ltac:(lia))
  (known_weaken _ 400 _ (-447) _ _ A0 ltac:(lia) ltac:(lia)) ltac:(lia) ltac:(lia)) as [A3 L3].
destruct (known_add 401 (-447) _ _ _ _ A3
  (known_weaken _ 401 _ (-447) _ _ A2 ltac:(lia) ltac:(lia)) ltac:(lia) ltac:(lia)) as [A4 L4].
destruct (known_mul _ _ _ _ _ _ _ _ A4 known_room ltac:(lia) ltac:(lia)) as [A5 L5].
eexists _, _. split; [apply Q|]. split; [apply A5|]. apply Rle_trans with (2 := L5).
assert (Lp := known_mul _ _ _ _ _ _ _ _ T T ltac:(lia) ltac:(lia)). apply proj2 in Lp.
set (p := rnd64 (t * t)) in *. set (q := rnd64 (p * t)) in *.
set (l2 := Rabs (t * t - p)) in *. set (l3 := Rabs (p * t - q)) in *.
set (a0 := rnd64 (l2 * t)) in *. set (a1 := rnd64 (3 * p)) in *. set (a2 := rnd64 (a1 * Rabs d)) in *.
set (a3 := rnd64 (l3 + a0)) in *. set (a4 := rnd64 (a3 + a2)) in *.
destruct T as [_ [_ Pt]], E as [_ [_ Pd]], E2 as [_ [_ Pl2]], E3 as [_ [_ Pl3]].
set (B := t * t * Rabs d). set (A := l2 * t) in *.
assert (PB : 0 <= B) by (repeat apply Rmult_le_pos; assumption).
assert (PA : 0 <= A) by (apply Rmult_le_pos; assumption).
assert (U := bpow_ge_0 radix2 (-53)).
apply Rle_trans with (l3 + A + (1 + 2 * u) * (3 * B)).
{ replace ((t + d) ^ 3 - q) with ((p * t - q) + (t * t - p) * t + (3 * (t * t) * d + (3 * t * (d * d) + d * d * d))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
  { eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_mult (t * t - p)), (Rabs_pos_eq t) by assumption. apply Rle_refl. }
  eapply Rle_trans; [apply Rabs_triang|].
  assert (DD : d * d <= u * t * Rabs d).
  { replace (d * d) with (Rabs d * Rabs d) by (rewrite <- Rabs_mult; apply Rabs_pos_eq, Rle_0_sqr).
    apply Rmult_le_compat_r; assumption. }
  assert (DP : 0 <= d * d) by apply Rle_0_sqr.
  assert (T1 : Rabs (3 * (t * t) * d) = 3 * B).
  { rewrite !Rabs_mult, (Rabs_pos_eq 3), (Rabs_pos_eq t) by lra. unfold B. ring. }
  assert (T2 : Rabs (3 * t * (d * d) + d * d * d) <= 3 * (u * B) + u * (u * B)).
  { eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
    - rewrite Rabs_pos_eq by (apply Rmult_le_pos; lra).
      apply (Rmult_le_compat_l (3 * t)) in DD; [|lra]. unfold B. lra.
    - rewrite Rabs_mult, (Rabs_pos_eq (d * d)) by assumption.
      apply Rle_trans with (u * t * Rabs d * (u * t)); [apply Rmult_le_compat; auto using Rabs_pos|].
      unfold B. right. ring. }
  rewrite T1. assert (Us := u_small).
  assert (0 <= u * B) by (apply Rmult_le_pos; lra).
  assert (u * (u * B) <= / 1000000 * (u * B)) by (apply Rmult_le_compat_r; lra). lra. }
apply (Rmult_le_compat_r (Rabs d)) in L1; [|exact Pd]. apply (Rmult_le_compat_r (Rabs d)) in Lp; [|exact Pd].
replace ((1 - u) * (t * t) * Rabs d) with ((1 - u) * B) in Lp by (unfold B; ring).
replace ((1 - u) * (3 * p) * Rabs d) with ((1 - u) * (3 * (p * Rabs d))) in L1 by ring.
set (c := a1 * Rabs d) in *. set (w := p * Rabs d) in *. clearbody A B c w l3 a0 a2 a3 a4.
clear - L0 L1 L2 L3 L4 Lp PA PB Pl3. simpl in *. lra.
Qed.

(** theorem: sweep_profile — the double enclosures of [1 - x]_+, its square and its cube in sweeps contain the exact value, the radius as it is rounded, for every finite float32 x. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_profile n x v : (1 <= n <= 3)%nat -> single x v -> encloses (enclose_profile n x) (profile n v).
Proof.
intros N H. assert (C : n = 1%nat \/ n = 2%nat \/ n = 3%nat) by lia.
destruct C as [->|[->| ->]]; [apply profile_1|apply profile_2|apply profile_3]; exact H.
Qed.

(* ---- Taylor polynomials: degrees 0, 1 and 2 ---- *)
Lemma taylor_0 x v : encloses (enclose_taylor_0 float64 x) (T 0 v).
Proof.
exists 1, 0. split; [|split].
- apply (sized_const _ 1); try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_pos_eq; lra].
- apply (sized_const _ 0); try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_R0; lra].
- simpl. rewrite Rminus_eq_0, Rabs_R0. lra.
Qed.

Lemma taylor_low x v sq w : single x v -> sized 258 sq w -> grid (-299) w -> encloses (
  let '(r1, e1) := two_sum float64 (const (Dyadic 1 0)) x in
  let '(r2, e2) := two_sum float64 r1 sq in let lost := add e1 e2 in
  let '(r3, e3) := two_sum float64 r2 lost in
  (r3, add (mul (mag_of e3) (const (Dyadic 1099511627777 (-40)))) (mul (mag_of lost) (const (Dyadic 1 (-52))))))
  (1 + v + w).
Proof.
intros [X [F B]] W Gw.
assert (One : sized 128 (const (Dyadic 1 0)) 1).
{ apply (sized_weaken 2); [lia|]. apply sized_const; try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_pos_eq; lra]. }
destruct (two_sum_stands 128 _ x _ v ltac:(lia) One (conj X (Rlt_le _ _ B))) as [R1 E1].
destruct (two_sum float64 (const (Dyadic 1 0)) x) as [r1 e1]. cbn [fst snd] in R1, E1.
assert (G : grid (-299) (1 + v)).
{ apply grid_add; [apply (grid_weaken 0 _ 1); [lia|exists 1%Z; simpl; ring]|apply (grid_weaken (-149)); [lia|apply grid_single, F]]. }
assert (Gr1 := grid_round (-299) _ ltac:(lia) G). assert (Ge1 := grid_sub _ _ _ G Gr1).
set (a1 := rnd64 (1 + v)) in *. set (b1 := 1 + v - a1) in *.
destruct (two_sum_stands 258 _ sq _ w ltac:(lia) (sized_weaken (128 + 1) 258 _ _ ltac:(lia) R1) W) as [R2 E2].
destruct (two_sum float64 r1 sq) as [r2 e2]. cbn [fst snd] in R2, E2.
assert (G2 := grid_add _ _ _ Gr1 Gw). assert (Gr2 := grid_round (-299) _ ltac:(lia) G2). assert (Ge2 := grid_sub _ _ _ G2 Gr2).
set (a2 := rnd64 (a1 + w)) in *. set (b2 := a1 + w - a2) in *.
assert (L := sized_add 263 _ _ _ _ ltac:(lia) (sized_weaken (128 + 5) 263 _ _ ltac:(lia) E1) E2).
assert (Gl := grid_add _ _ _ Ge1 Ge2). assert (El := grid_error_rounded (-299) _ ltac:(lia) Gl). apply grid_round in Gl; [|lia].
set (l := rnd64 (b1 + b2)) in *. change (263 + 1)%Z with 264%Z in L.
destruct (two_sum_stands 264 _ _ _ l ltac:(lia) (sized_weaken (258 + 1) 264 _ _ ltac:(lia) R2) L) as [R3 E3].
cbv zeta. destruct (two_sum float64 r2 (add e1 e2)) as [r3 e3]. cbn [fst snd] in R3, E3.
assert (G3 := grid_add _ _ _ Gr2 Gl). assert (Ge3 := grid_sub _ _ _ G3 (grid_round (-299) _ ltac:(lia) G3)).
set (a3 := rnd64 (a2 + l)) in *. set (b3 := a2 + l - a3) in *. change (264 + 5)%Z with 269%Z in E3.
assert (K3 : known 269 (-299) (mag_of e3) (Rabs b3)).
{ split; [apply sized_mag, E3|]. split; [apply grid_abs, Ge3|apply Rabs_pos]. }
assert (Kl : known 264 (-299) (mag_of (add e1 e2)) (Rabs l)).
{ split; [apply sized_mag, L|]. split; [apply grid_abs, Gl|apply Rabs_pos]. }
assert (K2u : known 2 (-52) (const (Dyadic 1 (-52))) (2 * u)) by (apply known_const; try reflexivity; [unfold dyadic_R|]; simpl; lra).
destruct (known_mul _ _ _ _ _ _ _ _ K3 known_room ltac:(lia) ltac:(lia)) as [M1 L1].
destruct (known_mul _ _ _ _ _ _ _ _ Kl K2u ltac:(lia) ltac:(lia)) as [M2 L2].
destruct (known_add 271 (-351) _ _ _ _ (known_weaken _ 271 _ (-351) _ _ M1 ltac:(lia) ltac:(lia))
  (known_weaken _ 271 _ (-351) _ _ M2 ltac:(lia) ltac:(lia)) ltac:(lia) ltac:(lia)) as [M3 L3].
exists a3, (rnd64 (rnd64 (Rabs b3 * room) + rnd64 (Rabs l * (2 * u)))). split; [apply R3|]. split; [apply M3|].
replace (1 + v + w - a3) with (b3 + - (l - (b1 + b2))) by (unfold b3, b2, b1; ring).
eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. apply Rle_trans with (2 := L3).
assert (P3 := Rabs_pos b3). assert (Pl := Rabs_pos l).
set (q1 := rnd64 (Rabs b3 * room)) in *. set (q2 := rnd64 (Rabs l * (2 * u))) in *.
set (z3 := Rabs b3) in *. set (zl := Rabs l) in *. set (zd := Rabs (l - (b1 + b2))) in *.
clearbody z3 zl zd q1 q2. clear - El L1 L2 P3 Pl. simpl in *. lra.
Qed.

Lemma taylor_1 x v : single x v -> encloses (enclose_taylor_1 float64 x) (T 1 v).
Proof.
intros H. replace (T 1 v) with (1 + v + 0) by (simpl; field).
apply (taylor_low x v (const (Dyadic 0 0)) 0 H); [|exists 0%Z; ring].
apply (sized_weaken 2); [lia|]. apply sized_const; try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_R0; lra].
Qed.

Lemma taylor_2 x v : single x v -> encloses (enclose_taylor_2 float64 x) (T 2 v).
Proof.
intros H. replace (T 2 v) with (1 + v + v * v * / 2) by (simpl; field).
assert (C := H). destruct C as [X [F B]].
apply FLT_format_generic in F; [|reflexivity]. destruct F as [[m e] E Hm He]. cbn [Fnum Fexp] in *.
assert (Q : v * v = F2R (Float radix2 (m * m) (e + e))).
{ rewrite E. unfold F2R. cbn [Fnum Fexp]. rewrite mult_IZR, bpow_plus. ring. }
assert (Q2 : v * v * / 2 = F2R (Float radix2 (m * m) (e + e - 1))).
{ rewrite Q. unfold F2R, Zminus. cbn [Fnum Fexp]. rewrite (bpow_plus _ (e + e)). change (pow2 (- (1))) with (/ 2). ring. }
assert (M : (Z.abs (m * m) < 2 ^ 53)%Z).
{ rewrite Z.abs_mul. change (2 ^ 53)%Z with (2 ^ 24 * 2 ^ 29)%Z. simpl radix_val in Hm.
  assert (0 <= Z.abs m)%Z by lia. apply Z.le_lt_trans with (2 ^ 24 * Z.abs m)%Z; [apply Z.mul_le_mono_nonneg_r; lia|].
  apply Z.mul_lt_mono_pos_l; [lia|]. apply Z.lt_le_trans with (1 := Hm). lia. }
assert (R1 : rnd64 (v * v) = v * v).
{ apply rnd64_format, generic_format_FLT. exists (Float radix2 (m * m) (e + e)); [exact Q|exact M|cbn; lia]. }
assert (R2 : rnd64 (v * v * / 2) = v * v * / 2).
{ apply rnd64_format, generic_format_FLT. exists (Float radix2 (m * m) (e + e - 1)); [exact Q2|exact M|cbn; lia]. }
apply (taylor_low x v (mul (mul x x) (const (Dyadic 1 (-1)))) (v * v * / 2) H).
- assert (S : sized 128 x v) by (split; [exact X|lra]).
  assert (SQ := sized_mul 128 128 x x v v ltac:(lia) S S). rewrite R1 in SQ.
  assert (Half : sized 2 (const (Dyadic 1 (-1))) (/ 2)).
  { apply sized_const; try reflexivity; [unfold dyadic_R; simpl; lra|rewrite Rabs_pos_eq; lra]. }
  rewrite <- R2. exact (sized_mul 256 2 _ _ _ _ ltac:(lia) SQ Half).
- rewrite Q2. apply (grid_weaken (e + e - 1)); [lia|]. exists (m * m)%Z. reflexivity.
Qed.

(* ---- degrees 3 to 8 ---- *)
Definition factorials : list Z := [1; 1; 2; 6; 24; 120; 720; 5040; 40320]%Z.
Definition inverse_factorials (n : nat) : list R := firstn (S n) (map (fun z => / IZR z) factorials).

Lemma T_polynomial n v : (n <= 8)%nat -> T n v = polynomial v (inverse_factorials n).
Proof.
intros N. do 9 (destruct n as [|n]; [unfold inverse_factorials, factorials; cbn [firstn map polynomial partial_sums.T]; rewrite ?INR_IZR_INZ;
  repeat match goal with |- context [Z.of_nat (fact ?k)] =>
    let z := eval vm_compute in (Z.of_nat (fact k)) in replace (Z.of_nat (fact k)) with z by (vm_compute; reflexivity) end;
  field|]). lia.
Qed.

(* the coefficients of the C code *)
Definition inverse : list dyadic := [Dyadic 1 0; Dyadic 1 0; Dyadic 1 (-1); Dyadic 6004799503160661 (-55);
  Dyadic 6004799503160661 (-57); Dyadic 4803839602528529 (-59); Dyadic 6405119470038039 (-62);
  Dyadic 3660068268593165 (-64); Dyadic 3660068268593165 (-67)].
Definition horner_ball (o : ops) (n : nat) (k : dyadic) (x : o) : o * o :=
  let c : list o := map const (firstn (S n) inverse) in (weigh o c x, mul (weigh o c (mag_of x)) (const k)).

Lemma rounded_firstn a c n : rounded u (pow2 (-1075)) a c -> rounded u (pow2 (-1075)) (firstn n a) (firstn n c).
Proof. intros H. revert n. induction H as [|x y a c H Hr IH]; intros [|n]; try constructor; auto. Qed.

Lemma inverse_rounded : rounded u (pow2 (-1075)) (map (fun z => / IZR z) factorials) (map dyadic_R inverse).
Proof.
assert (P : 0 <= pow2 (-1075)) by apply bpow_ge_0. set (eta := pow2 (-1075)) in *. clearbody eta.
unfold factorials, inverse, dyadic_R. cbn [map num expo].
repeat (apply rounded_cons; [rewrite (Rabs_pos_eq (/ _)) by lra; apply Rabs_le; simpl; lra|]). apply rounded_nil.
Qed.

Lemma inverse_stands n : Forall2 stands64 (map const (firstn (S n) inverse)) (map dyadic_R (firstn (S n) inverse)).
Proof.
assert (H : forall l, Forall (fun d => stands64 (const d) (dyadic_R d)) l -> Forall2 stands64 (map const l) (map dyadic_R l)).
{ intros l F. induction F; simpl; constructor; assumption. }
apply H. apply Forall_forall. intros d I.
assert (A : Forall (fun d => stands64 (const d) (dyadic_R d)) inverse) by
  (repeat (apply Forall_cons; [apply const64; reflexivity|]); apply Forall_nil).
rewrite Forall_forall in A. apply A. rewrite <- (firstn_skipn (S n) inverse). apply in_or_app. now left.
Qed.

Lemma inverse_bounds n d : In d (map dyadic_R (firstn (S n) inverse)) -> Rabs d <= 1.
Proof.
intros I. apply in_map_iff in I. destruct I as [e [<- I]].
assert (A : Forall (fun e => Rabs (dyadic_R e) <= 1) inverse).
{ repeat (apply Forall_cons; [unfold dyadic_R; cbn [num expo]; apply Rabs_le; simpl; lra|]). apply Forall_nil. }
rewrite Forall_forall in A. apply A. rewrite <- (firstn_skipn (S n) inverse). apply in_or_app. now left.
Qed.

(* nothing overflows *)
Lemma horner_fits j s : Rabs s <= pow2 128 -> (-15 <= j)%Z -> forall c, (j + 129 * (Z.of_nat (length c) - 1) <= 1017)%Z ->
  (forall a, In a c -> Rabs a <= 1) -> c <> [] -> Rabs (last c 0) <= pow2 j ->
  weight.fits rnd64 (pow2 1023) s c /\ Rabs (fl_horner rnd64 s c) <= pow2 (j + 129 * (Z.of_nat (length c) - 1)).
Proof.
intros Bound J c. induction c as [|a c IH]; intros K A N L; [contradiction|].
destruct c as [|b c].
- simpl. split; [exact I|]. replace (j + 0)%Z with j by ring. exact L.
- destruct IH as [F B]; [|intros; apply A; now right|discriminate|exact L|].
  { change (length (a :: b :: c)) with (S (length (b :: c))) in K. lia. }
  change (length (a :: b :: c)) with (S (length (b :: c))) in *.
  set (h := fl_horner rnd64 s (b :: c)) in *. set (k := (j + 129 * (Z.of_nat (length (b :: c)) - 1))%Z) in *.
  assert (Lk : (-15 <= k <= 888)%Z) by (unfold k; simpl length in *; lia).
  replace (j + 129 * (Z.of_nat (S (length (b :: c))) - 1))%Z with (k + 128 + 1)%Z in * by (unfold k; lia).
  assert (Bs : Rabs (h * s + a) <= pow2 (k + 128 + 1)).
  { eapply Rle_trans; [apply Rabs_triang|]. apply double_power; [apply product_bound; assumption|].
    apply Rle_trans with 1; [apply A; now left|]. change 1 with (pow2 0). apply bpow_le. lia. }
  split; [|exact (rnd64_bound (k + 128 + 1) _ ltac:(lia) Bs)].
  split; [|exact F]. apply Rle_trans with (1 := Bs). apply bpow_le. lia.
Qed.

Lemma powers_below s k a : 0 <= k -> Forall (fun b => k <= b) a -> k * powers s (length a) <= polynomial (Rabs s) a.
Proof.
intros K F. induction F as [|b a B F IH]; simpl; [lra|]. rewrite Rmult_plus_distr_l, Rmult_1_r, <- Rmult_assoc.
apply Rplus_le_compat; [|exact B]. apply Rmult_le_compat_r; [apply Rabs_pos|exact IH].
Qed.

Lemma taylor_high j n k x v : (n <= 8)%nat -> single x v -> (-15 <= j)%Z -> (j + 129 * Z.of_nat n <= 1017)%Z ->
  Rabs (last (map dyadic_R (firstn (S n) inverse)) 0) <= pow2 j ->
  stands64 (const k) ((INR n + 5/2) * u) -> encloses (horner_ball float64 n k x) (T n v).
Proof.
intros N [X [F B]] J JN L K. unfold horner_ball. cbv zeta. rewrite T_polynomial by exact N.
set (c := map dyadic_R (firstn (S n) inverse)) in *.
assert (Ln : length c = S n) by (unfold c; rewrite map_length, firstn_length; simpl; lia).
assert (La : length (inverse_factorials n) = S n).
{ unfold inverse_factorials. rewrite firstn_length, map_length. simpl. lia. }
assert (Nc : c <> []) by (intros E; rewrite E in Ln; discriminate).
assert (Fits : forall s, Rabs s <= pow2 128 -> weight.fits rnd64 (pow2 1023) s c /\
  Rabs (fl_horner rnd64 s c) <= pow2 1017).
{ intros s Hs. destruct (horner_fits j s Hs J c) as [F1 F2]; try assumption.
  - rewrite Ln. lia.
  - intros a I. exact (inverse_bounds n a I).
  - split; [exact F1|]. apply Rle_trans with (1 := F2). apply bpow_le. rewrite Ln. lia. }
assert (Zero : stands64 (const (Dyadic 0 0)) 0).
{ apply (sized_const _ 0); try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_R0; lra]. }
assert (Run : forall s y, stands64 y s -> Rabs s <= pow2 128 ->
  stands64 (weigh float64 (map const (firstn (S n) inverse)) y) (fl_horner rnd64 s c)).
{ intros s y Hy Hs. apply (weight.weigh_stands float64 rnd64 stands64 (pow2 1023) fma64 Zero y s Hy); [apply inverse_stands|].
  apply Fits, Hs. }
assert (Bv : Rabs v <= pow2 128) by lra.
assert (Bm : Rabs (Rabs v) <= pow2 128) by (rewrite Rabs_Rabsolu; exact Bv).
assert (Y := Run v x X Bv). assert (Z := Run (Rabs v) (mag_of x) (mag64 x v X) Bm).
destruct (Fits _ Bm) as [_ Bz].
(* errors of both sums *)
assert (R := rounded_firstn _ _ (S n) inverse_rounded). fold (inverse_factorials n) in R.
replace (firstn (S n) (map dyadic_R inverse)) with c in R by (unfold c; rewrite firstn_map; reflexivity).
assert (H1 := horner_formats (-1074) 53 v _ _ eq_refl R). assert (H2 := horner_formats (-1074) 53 (Rabs v) _ _ eq_refl R).
change (summation.nearest (-1074) 53) with rnd64 in H1, H2. change (summation.roundoff 53) with u in H1, H2.
change (summation.underflow (-1074)) with (pow2 (-1075)) in H1, H2. rewrite Rabs_Rabsolu in H2. rewrite La in H1, H2.
set (a := inverse_factorials n) in *.
assert (Pa : Forall (fun b => / 40320 <= b) a).
{ apply Forall_forall. intros b I.
  assert (A : Forall (fun b => / 40320 <= b) (map (fun z => / IZR z) factorials)).
  { unfold factorials. cbn [map]. repeat (apply Forall_cons; [apply Rinv_le; lra|]). apply Forall_nil. }
  rewrite Forall_forall in A. apply A. rewrite <- (firstn_skipn (S n) (map _ factorials)). apply in_or_app. now left. }
assert (Am : map Rabs a = a).
{ clear - Pa. induction Pa; simpl; [reflexivity|]. rewrite IHPa, Rabs_pos_eq by lra. reflexivity. }
rewrite Am in H1, H2. set (M := polynomial (Rabs v) a) in *.
assert (W := powers_below v (/ 40320) a ltac:(lra) Pa). rewrite La in W. fold M in W.
assert (W' : powers (Rabs v) (S n) = powers v (S n)) by (generalize (S n); induction n0; simpl; rewrite ?IHn0, ?Rabs_Rabsolu; reflexivity).
rewrite W' in H2. set (p := powers v (S n)) in *.
assert (P1 : 1 <= M).
{ unfold M, a, inverse_factorials, factorials. cbn [map firstn]. simpl polynomial.
  assert (0 <= polynomial (Rabs v) (firstn n (map (fun z => / IZR z) [1; 2; 6; 24; 120; 720; 5040; 40320]%Z)) * Rabs v); [|simpl in *; lra].
  apply Rmult_le_pos; [|apply Rabs_pos].
  assert (Q : Forall (fun b => / 40320 <= b) (firstn n (map (fun z => / IZR z) [1; 2; 6; 24; 120; 720; 5040; 40320]%Z))).
  { unfold a, inverse_factorials, factorials in Pa. cbn [map firstn] in Pa |- *. now inversion Pa. }
  clear - Q. induction Q; simpl; [lra|]. assert (0 <= polynomial (Rabs v) l * Rabs v) by (apply Rmult_le_pos; [exact IHQ|apply Rabs_pos]). lra. }
assert (Pp : 0 <= p) by apply powers_pos.
assert (Us := u_small).
assert (G : 1 <= (1 + u) ^ S n <= 1 + (INR n + 1 + / 100) * u).
{ split; [apply pow_R1_Rle; lra|]. clear - N.
  do 9 (destruct n as [|n]; [simpl; lra|]). lia. }
set (g := (1 + u) ^ S n) in *.
assert (Hn : 0 <= INR n <= 8) by (split; [apply pos_INR|apply (le_INR n 8) in N; simpl in N; lra]).
assert (E : 2 * pow2 (-1075) * p * g <= / 1000 * u * M).
{ assert (Hg : g <= 2).
  { assert ((INR n + 1 + / 100) * u <= 10 * / 1000000) by (apply Rmult_le_compat; lra). lra. }
  assert (S1 : pow2 (-1075) <= / 1000000000 * u).
  { apply Rle_trans with (pow2 (-30 + -53)); [apply bpow_le; lia|]. rewrite bpow_plus.
    apply Rmult_le_compat_r; [lra|simpl; lra]. }
  assert (S0 := bpow_ge_0 radix2 (-1075)).
  assert (S2 : p * g <= (40320 * M) * 2) by (apply Rmult_le_compat; lra).
  assert (S3 : pow2 (-1075) * (p * g) <= / 1000000000 * u * (40320 * M * 2)).
  { apply Rmult_le_compat; try assumption. apply Rmult_le_pos; lra. }
  assert (0 <= u * M) by (apply Rmult_le_pos; lra). lra. }
assert (D : (g - 1) * M <= (INR n + 1 + / 100) * u * M) by (apply Rmult_le_compat_r; lra).
set (y := fl_horner rnd64 v c) in *. set (z := fl_horner rnd64 (Rabs v) c) in *.
set (U := u * M) in *. assert (PU : 0 <= U) by (apply Rmult_le_pos; lra).
assert (D' : (g - 1) * M <= (INR n + 1 + / 100) * U) by (unfold U; lra).
assert (E' : 2 * pow2 (-1075) * p * g <= / 1000 * U) by (unfold U; lra).
assert (UU : U <= / 1000000 * M) by (apply Rmult_le_compat_r; lra).
set (nn := INR n) in *.
assert (NU : (nn + 1 + / 100) * U <= 10 * U) by (apply Rmult_le_compat_r; lra).
replace (polynomial (Rabs v) a) with M in H2 by reflexivity.
assert (Zm : (1 - / 10000) * M <= z <= 2 * M).
{ apply Rabs_le_inv in H2. lra. }
assert (Kz : Rabs (z * ((nn + 5/2) * u)) <= pow2 1023).
{ rewrite Rabs_mult. replace (pow2 1023) with (pow2 1017 * pow2 6) by (rewrite <- bpow_plus; reflexivity).
  apply Rmult_le_compat; try apply Rabs_pos; [exact Bz|].
  rewrite Rabs_pos_eq by (apply Rmult_le_pos; lra). apply Rle_trans with (11 * / 1000000); [apply Rmult_le_compat; lra|simpl; lra]. }
assert (Rad := mul64 _ _ _ _ Z K Kz).
exists y, (rnd64 (z * ((nn + 5/2) * u))). split; [exact Y|]. split; [exact Rad|].
rewrite Rabs_minus_sym. apply Rle_trans with (1 := H1).
assert (N1 := rnd64_error (z * ((nn + 5/2) * u))). rewrite (Rabs_pos_eq (z * _)) in N1 by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
assert (S1 : pow2 (-1075) <= / 1000000 * U).
{ apply Rle_trans with (pow2 (-30 + -53)); [apply bpow_le; lia|]. rewrite bpow_plus.
  unfold U. assert (pow2 (-53) * 1 <= pow2 (-53) * M) by (apply Rmult_le_compat_l; lra).
  apply Rle_trans with (/ 1000000 * u); [apply Rmult_le_compat_r; [lra|simpl; lra]|]. lra. }
assert (Q1 : (nn + 5/2) * ((1 - / 10000) * U) <= z * ((nn + 5/2) * u)).
{ replace (z * ((nn + 5/2) * u)) with ((nn + 5/2) * (u * z)) by ring. apply Rmult_le_compat_l; [lra|].
  unfold U. replace ((1 - / 10000) * (u * M)) with (u * ((1 - / 10000) * M)) by ring. apply Rmult_le_compat_l; lra. }
set (q := z * ((nn + 5/2) * u)) in *.
assert (Q0 : 0 <= q).
{ apply Rle_trans with (2 := Q1). apply Rmult_le_pos; lra. }
assert (u * q <= / 1000000 * q) by (apply Rmult_le_compat_r; lra).
apply Rabs_le_inv in N1.
assert (NU8 : nn * U <= 8 * U) by (apply Rmult_le_compat_r; lra). assert (NU0 : 0 <= nn * U) by (apply Rmult_le_pos; lra).
lra.
Qed.

Definition enclose_taylor (n : nat) : float64 -> float64 * float64 := match n with
  | 0 => enclose_taylor_0 float64 | 1 => enclose_taylor_1 float64 | 2 => enclose_taylor_2 float64
  | 3 => enclose_taylor_3 float64 | 4 => enclose_taylor_4 float64 | 5 => enclose_taylor_5 float64
  | 6 => enclose_taylor_6 float64 | 7 => enclose_taylor_7 float64 | _ => enclose_taylor_8 float64 end.

(* the loop of the C code, unrolled *)
Ltac by_horner j n d name := assert (E : forall o x, name o x = horner_ball o n d x) by
    (intros o y; unfold name, horner_ball, inverse; cbv zeta; cbn [firstn map weigh]; reflexivity);
  cbn [enclose_taylor]; rewrite E; refine (taylor_high j n d _ _ _ _ _ _ _ _);
  [lia|assumption|lia|lia|unfold inverse, dyadic_R; cbn [firstn map last num expo]; apply Rabs_le; simpl; lra|
   replace ((INR n + 5/2) * u) with (dyadic_R d) by (unfold dyadic_R; simpl; lra); apply const64; reflexivity].

(** theorem: sweep_taylor — the double enclosures of the Taylor polynomials of exp of degree 0 to 8 in sweeps contain the exact value, the radius as it is rounded, for every finite float32 x. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_taylor n x v : (n <= 8)%nat -> single x v -> encloses (enclose_taylor n x) (T n v).
Proof.
intros N H. destruct n as [|[|[|[|[|[|[|[|[|n]]]]]]]]]; [..|lia].
- apply taylor_0.
- apply taylor_1, H.
- apply taylor_2, H.
- by_horner 0%Z 3%nat (Dyadic 11 (-54)) enclose_taylor_3.
- by_horner 0%Z 4%nat (Dyadic 13 (-54)) enclose_taylor_4.
- by_horner 0%Z 5%nat (Dyadic 15 (-54)) enclose_taylor_5.
- by_horner 0%Z 6%nat (Dyadic 17 (-54)) enclose_taylor_6.
- by_horner 0%Z 7%nat (Dyadic 19 (-54)) enclose_taylor_7.
- by_horner (-15)%Z 8%nat (Dyadic 21 (-54)) enclose_taylor_8.
Qed.
