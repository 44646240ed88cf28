(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The enclosures of sines and cosines in sweeps, src/certify/sweep_enclose_isa.c: reduction of the angle,
   sine and cosine of what is left, the quarter, the radius. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary Bits.
From Gappa Require Import Gappa_tactic.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.exp_method enclosure.exp_reduction
  enclosure.exp_error enclosure.exp_float certify.sweep_rounding certify.sweep_exponentials certify.sweep_angle_isa certify.sweep_angle_method.
Open Scope R_scope.

(* ---- sine and cosine of a small r ---- *)
Ltac open_series := unfold cosine, cosine_series, sine_series, real64, exact, rnd64;
  cbv [real_ops carrier const fma mul]; angle_numbers; change (bpow radix2 0) with 1; rewrite ?Rmult_1_r.

Lemma cosine_rounding r : f64 r -> Rabs r <= 12871 * pow2 (-14) ->
  Rabs (cosine real64 r - cosine exact r) <= 12 * pow2 (-56).
Proof. intros F H. open_series. gappa. Qed.

Lemma sine_rounding r : f64 r -> Rabs r <= 12871 * pow2 (-14) ->
  Rabs (rnd64 (r * r) * sine_series real64 (rnd64 (r * r)) - r * r * sine_series exact (r * r)) <= 4 * pow2 (-56).
Proof. intros F H. open_series. gappa. Qed.

Lemma sine_size r : f64 r -> Rabs r <= 12871 * pow2 (-14) ->
  Rabs (sine_series real64 (rnd64 (r * r))) <= 11 / 64 /\ Rabs (r * r * sine_series exact (r * r)) <= 1 / 8.
Proof. intros F H. split; open_series; gappa. Qed.

Notation little r := (Rabs r <= 12871 * pow2 (-14)).

Lemma little_turned r : little r -> turned_little r.
Proof. intros H. simpl in H. lra. Qed.

Lemma below_1023 k x : (k <= 1023)%Z -> Rabs x <= bpow radix2 k -> Rabs x <= bpow radix2 1023.
Proof. intros K H. apply Rle_trans with (1 := H). apply bpow_le, K. Qed.

Lemma two_is : 2 = bpow radix2 1. Proof. reflexivity. Qed.

Lemma series64 (x y z : float64) a b c : stands64 x a /\ Rabs a <= 2 -> stands64 y b /\ Rabs b <= 5 / 8 ->
  stands64 z c /\ Rabs c <= 1 / 2 -> stands64 (fma x y z) (@fma real64 a b c) /\ Rabs (@fma real64 a b c) <= 2.
Proof.
intros [Hx Ba] [Hy Bb] [Hz Bc]. assert (B : Rabs (a * b + c) <= 2).
{ eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  assert (Rabs a * Rabs b <= 2 * (5 / 8)) by (apply Rmult_le_compat; auto using Rabs_pos). lra. }
split.
- apply fma64; try assumption. apply (below_1023 1); [lia|]. rewrite <- two_is. exact B.
- change (@fma real64 a b c) with (rnd64 (a * b + c)). rewrite two_is in *. apply rnd64_bound; [lia|exact B].
Qed.

Ltac series_constant := split; [is_const|cbv [real64 real_ops const]; apply Rabs_le; angle_numbers; simpl; lra].

Section Series.
Variables (y : float64) (r : R).
Hypothesis input : stands64 y r.
Hypothesis small : little r.
Let z := rnd64 (r * r).

Lemma square_size : Rabs z <= 5 / 8.
Proof.
assert (B : Rabs (r * r) <= 5 / 8 - / 1000).
{ rewrite Rabs_mult. simpl in small. apply Rle_trans with (7856 / 10000 * (7856 / 10000)); [|lra].
  apply Rmult_le_compat; try apply Rabs_pos; lra. }
assert (U := u_small). pose proof (rnd64_error (r * r)) as N. fold z in N.
assert (u * Rabs (r * r) <= u * 1) by (apply Rmult_le_compat_l; lra).
assert (pow2 (-1075) <= / 100000) by (apply Rle_trans with (bpow radix2 (-20)); [apply bpow_le; lia|simpl; lra]).
replace z with (r * r + (z - r * r)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma square_stands : stands64 (mul y y) z /\ Rabs z <= 5 / 8.
Proof.
split; [|apply square_size]. apply mul64; try assumption. apply (below_1023 1); [lia|]. rewrite <- two_is, Rabs_mult.
simpl in small. apply Rle_trans with (1 * 1); [|lra]. apply Rmult_le_compat; try apply Rabs_pos; lra.
Qed.

Lemma sine_series_stands : stands64 (sine_series float64 (mul y y)) (sine_series real64 z) /\ Rabs (sine_series real64 z) <= 2.
Proof. assert (Z := square_stands). unfold sine_series. repeat (apply series64; [|exact Z|series_constant]). series_constant. Qed.

Lemma cosine_series_stands : stands64 (cosine_series float64 (mul y y)) (cosine_series real64 z) /\ Rabs (cosine_series real64 z) <= 2.
Proof. assert (Z := square_stands). unfold cosine_series. repeat (apply series64; [|exact Z|series_constant]). series_constant. Qed.

Lemma one_const : @const real64 (Dyadic 1 0) = 1 /\ stands64 (const (Dyadic 1 0)) 1.
Proof.
assert (E : dyadic_R (Dyadic 1 0) = 1) by (unfold dyadic_R; simpl; ring). split; [exact E|]. replace 1 with (dyadic_R (Dyadic 1 0)) by exact E. is_const.
Qed.

Lemma cosine_near : stands64 (cosine float64 y) (cosine real64 r) /\ Rabs (cosine real64 r - cos r) <= 163 / 100 * u.
Proof.
destruct square_stands as [Z1 Z2]. destruct cosine_series_stands as [S1 S2]. destruct one_const as [O1 O2]. split.
- unfold cosine. cbv zeta. change (@mul real64 r r) with z. set (q := cosine_series real64 z) in *.
  rewrite O1. apply fma64; [exact Z1|exact S1|exact O2|]. apply (below_1023 2); [lia|].
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, Rabs_R1.
  assert (Rabs z * Rabs q <= 5 / 8 * 2) by (apply Rmult_le_compat; auto using Rabs_pos). simpl. lra.
- assert (F := format64 y r input). pose proof (cosine_rounding r F small). pose proof (cosine_method r (little_turned r small)).
  replace (cosine real64 r - cos r) with ((cosine real64 r - cosine exact r) + (cosine exact r - cos r)) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  assert (E : pow2 (-56) = u / 8) by (change (-56)%Z with (-53 + -3)%Z; rewrite bpow_plus; simpl (bpow radix2 (-3)); lra).
  assert (U := u_small). lra.
Qed.

Notation eta := (pow2 (-1075)).
Lemma sine_near : stands64 (sine float64 y) (sine real64 r) /\ Rabs (sine real64 r - sin r) <= 2 * u * Rabs r + 3 * eta.
Proof.
destruct square_stands as [Z1 Z2]. destruct sine_series_stands as [S1 S2]. assert (U := u_small).
assert (F := format64 y r input). pose proof (sine_rounding r F small) as R1. destruct (sine_size r F small) as [Q1 Q2]. fold z in R1, Q1.
pose proof (sine_method r (little_turned r small)) as M.
assert (Pe : 0 < eta) by apply bpow_gt_0. assert (Pr := Rabs_pos r).
assert (Lr : Rabs r <= 7856 / 10000) by (simpl in small; lra).
unfold sine in M |- *. cbv zeta in M |- *. change (@mul exact r r) with (r * r) in M.
change (@fma exact (@mul exact r (r * r)) (sine_series exact (r * r)) r) with (r * (r * r) * sine_series exact (r * r) + r) in M.
change (@mul real64 r r) with z. change (@mul real64 r z) with (rnd64 (r * z)).
set (p := sine_series real64 z) in *. set (P := sine_series exact (r * r)) in *.
set (t := rnd64 (r * z)). change (@fma real64 t p r) with (rnd64 (t * p + r)).
pose proof (rnd64_error (r * z)) as N1. fold t in N1. rewrite Rabs_mult in N1.
assert (Urz : u * (Rabs r * Rabs z) <= u * (Rabs r * (5 / 8))) by (apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_l; lra]).
assert (T1 : Rabs (t * p - r * (r * r) * P) <= u * Rabs r * (5 / 8) * (11 / 64) + eta + Rabs r * (u / 2)).
{ replace (t * p - r * (r * r) * P) with ((t - r * z) * p + r * (z * p - r * r * P)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  assert (Rabs (t - r * z) * Rabs p <= (u * (Rabs r * (5 / 8)) + eta) * (11 / 64)) by (apply Rmult_le_compat; try apply Rabs_pos; lra).
  assert (E : pow2 (-56) = u / 8) by (change (-56)%Z with (-53 + -3)%Z; rewrite bpow_plus; simpl (bpow radix2 (-3)); lra).
  assert (Rabs r * Rabs (z * p - r * r * P) <= Rabs r * (u / 2)) by (apply Rmult_le_compat_l; lra). lra. }
assert (Ur : 0 <= u * Rabs r <= / 1000000 * Rabs r) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (T2 : Rabs (t * p) <= 126 / 1000 * Rabs r + 2 * eta).
{ replace (t * p) with ((t * p - r * (r * r) * P) + r * (r * r * P)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite (Rabs_mult r (r * r * P)). assert (Rabs r * Rabs (r * r * P) <= Rabs r * (1 / 8)) by (apply Rmult_le_compat_l; lra). lra. }
assert (HT : stands64 (mul y (mul y y)) t).
{ apply mul64; [exact input|exact Z1|]. apply (below_1023 0); [lia|]. rewrite Rabs_mult.
  apply Rle_trans with (7856 / 10000 * (5 / 8)); [apply Rmult_le_compat; try apply Rabs_pos; lra|simpl; lra]. }
assert (eta1 : eta <= / 1000) by (apply Rle_trans with (bpow radix2 (-10)); [apply bpow_le; lia|simpl; lra]).
assert (B : Rabs (t * p + r) <= 1126 / 1000 * Rabs r + 2 * eta) by (eapply Rle_trans; [apply Rabs_triang|lra]).
split.
- apply fma64; [exact HT|exact S1|exact input|]. apply (below_1023 0); [lia|]. change (bpow radix2 0) with 1. lra.
- pose proof (rnd64_error (t * p + r)) as N2. apply (Rmult_le_compat_l u) in B; [|lra].
  assert (E : pow2 (-55) = u / 4) by (change (-55)%Z with (-53 + -2)%Z; rewrite bpow_plus; simpl (bpow radix2 (-2)); lra).
  assert (u * eta <= / 1000000 * eta) by (apply Rmult_le_compat_r; lra).
  replace (rnd64 (t * p + r) - sin r) with ((rnd64 (t * p + r) - (t * p + r)) + (t * p - r * (r * r) * P) +
    (r * (r * r) * P + r - sin r)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. 
  apply Rle_trans with (Rabs (rnd64 (t * p + r) - (t * p + r)) + Rabs (t * p - r * (r * r) * P) + Rabs (r * (r * r) * P + r - sin r)).
  + apply Rplus_le_compat_r, Rabs_triang.
  + rewrite E in M. lra.
Qed.
End Series.

(* ---- the reduction ---- *)
Lemma multiple_format n g : (Z.abs n < 2 ^ 53)%Z -> (-1074 <= g)%Z -> f64 (IZR n * pow2 g).
Proof. intros N G. apply (generic_format_FLT radix2 (-1074) 53). exists (Defs.Float radix2 n g); [reflexivity|exact N|exact G]. Qed.

Lemma multiple_bound n g : (-52 <= g <= 0)%Z -> Rabs (IZR n * pow2 g) <= 1 -> (Z.abs n < 2 ^ 53)%Z.
Proof.
intros S H. rewrite Rabs_mult, (Rabs_pos_eq (pow2 _)), <- abs_IZR in H by apply bpow_ge_0.
apply Z.le_lt_trans with (2 ^ (- g))%Z; [|apply Z.pow_lt_mono_r; lia]. apply le_IZR.
change (2 ^ (- g))%Z with (radix2 ^ (- g))%Z. rewrite IZR_Zpower by lia. apply (Rmult_le_reg_r (pow2 g)); [apply bpow_gt_0|].
rewrite <- bpow_plus. replace (- g + g)%Z with 0%Z by ring. exact H.
Qed.

Notation P2 := (dyadic_R (Dyadic 884279719003555 (-49))).
Notation eta := (pow2 (-1075)).

Section Large.
(* the input m 2^e, its parts of a quarter turn a0 2^-25 + a1 2^-52 + p2 + delta for m = 1 *)
Variables (mm hi mi lo : float64) (m a0 a1 : Z) (p2 delta : R).
Hypothesis mantissa : stands64 mm (IZR m) /\ (Z.abs m <= 2 ^ 24)%Z.
Hypothesis high : stands64 hi (IZR a0 * pow2 (-25)) /\ (Z.abs a0 <= 2 ^ 26)%Z.
Hypothesis middle : stands64 mi (IZR a1 * pow2 (-52)) /\ (Z.abs a1 <= 2 ^ 26)%Z.
Hypothesis low : stands64 lo p2 /\ Rabs p2 <= pow2 (-53).
Hypothesis missing : Rabs delta <= pow2 (-106).
Let rest (k : Z) := IZR m * (IZR a0 * pow2 (-25) + IZR a1 * pow2 (-52) + p2 + delta) - IZR k.

Lemma reduced_large : exists k r, let b := reduce_large float64 mm hi mi lo in
  stands64 (fst b) r /\ stands64 (snd b) (IZR k) /\ (Z.abs k <= 67108866)%Z /\ little r /\
  Rabs (r - rest k * (PI / 2)) <= 5 / 2 * u * Rabs (rest k * (PI / 2)) + pow2 (-81).
Proof.
destruct mantissa as [Hm Bm]. destruct high as [Hh Bh]. destruct middle as [Hi Bi]. destruct low as [Hl Bl].
assert (U := u_small).
set (A := IZR m * (IZR a0 * pow2 (-25))). set (B := IZR m * (IZR a1 * pow2 (-52))).
assert (EA : A = IZR (m * a0) * pow2 (-25)) by (unfold A; rewrite mult_IZR; ring).
assert (EB : B = IZR (m * a1) * pow2 (-52)) by (unfold B; rewrite mult_IZR; ring).
assert (Mul : forall x, (Z.abs x <= 2 ^ 26)%Z -> (Z.abs (m * x) <= 2 ^ 50)%Z).
{ intros x Hx. rewrite Z.abs_mul. change (2 ^ 50)%Z with (2 ^ 24 * 2 ^ 26)%Z. apply Z.mul_le_mono_nonneg; lia. }
assert (MA := Mul a0 Bh). assert (MB := Mul a1 Bi).
assert (FA : f64 A) by (rewrite EA; apply multiple_format; [change (2 ^ 53)%Z with (8 * 2 ^ 50)%Z; lia|lia]).
assert (FB : f64 B) by (rewrite EB; apply multiple_format; [change (2 ^ 53)%Z with (8 * 2 ^ 50)%Z; lia|lia]).
assert (BA : Rabs A <= 33554432).
{ rewrite EA, Rabs_mult, (Rabs_pos_eq (pow2 _)), <- abs_IZR by apply bpow_ge_0. apply IZR_le in MA. simpl in MA |- *. lra. }
assert (BB : Rabs B <= 1 / 4).
{ rewrite EB, Rabs_mult, (Rabs_pos_eq (pow2 _)), <- abs_IZR by apply bpow_ge_0. apply IZR_le in MB. simpl in MB |- *. lra. }
assert (M60 : forall x, Rabs x <= 1000000000000000000 -> Rabs x <= bpow radix2 1023).
{ intros x Hx. apply (below_1023 60); [lia|]. apply Rle_trans with (1 := Hx). simpl. lra. }
assert (HA : stands64 (mul mm hi) A).
{ rewrite <- (rnd64_format A FA). apply mul64; [exact Hm|exact Hh|]. apply M60. fold A. lra. }
assert (HB : stands64 (mul mm mi) B).
{ rewrite <- (rnd64_format B FB). apply mul64; [exact Hm|exact Hi|]. apply M60. fold B. lra. }
assert (BAB : Rabs (A + B) <= 33554433) by (eapply Rle_trans; [apply Rabs_triang|lra]).
set (s := rnd64 (A + B)). pose proof (rnd64_error (A + B)) as Ns. fold s in Ns.
assert (Ts : u * Rabs (A + B) <= pow2 (-53) * pow2 26).
{ apply Rmult_le_compat_l; [lra|]. apply Rle_trans with (1 := BAB). simpl. lra. }
rewrite <- bpow_plus in Ts. simpl (-53 + 26)%Z in Ts.
assert (Te : eta <= pow2 (-100)) by (apply bpow_le; lia).
assert (T27 : pow2 (-27) = / 134217728) by reflexivity.
assert (T100 : 0 < pow2 (-100) <= / 1000000000000) by (simpl; lra). assert (Pe : 0 < eta) by apply bpow_gt_0.
assert (Ds : Rabs (s - (A + B)) <= / 134000000) by lra.
assert (Bs : Rabs s <= 67108865).
{ replace s with ((A + B) + (s - (A + B))) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
destruct (nearest_integer s Bs) as [k [K1 [K2 [K3 K4]]]].
assert (HS : stands64 (add (mul mm hi) (mul mm mi)) s).
{ apply add64; [exact HA|exact HB|]. apply M60. lra. }
assert (HC : stands64 (const EXP64_ROUND) C52) by is_const.
assert (BC : C52 = IZR (3 * 2 ^ 51)) by (numbers; simpl; lra).
assert (Bk : Rabs (IZR k) <= 67108866) by (rewrite <- abs_IZR; apply IZR_le; lia).
assert (HT : stands64 (add (add (mul mm hi) (mul mm mi)) (const EXP64_ROUND)) (IZR (3 * 2 ^ 51 + k))).
{ rewrite <- K1. apply add64; [exact HS|exact HC|]. apply M60. rewrite BC. apply Rabs_le_inv in Bs. apply Rabs_le. simpl. lra. }
assert (HN : stands64 (sub (add (add (mul mm hi) (mul mm mi)) (const EXP64_ROUND)) (const EXP64_ROUND)) (IZR k)).
{ rewrite <- K2, K1. apply sub64; [exact HT|exact HC|]. apply M60. rewrite BC, <- minus_IZR.
  replace (3 * 2 ^ 51 + k - 3 * 2 ^ 51)%Z with k by ring. lra. }
set (n := sub (add (add (mul mm hi) (mul mm mi)) (const EXP64_ROUND)) (const EXP64_ROUND)) in *.
(* what is left is exact *)
assert (DH : Rabs (A + B - IZR k) <= 50001 / 100000).
{ replace (A + B - IZR k) with ((s - IZR k) - (s - (A + B))) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|].
  rewrite Rabs_Ropp. lra. }
assert (DA : Rabs (A - IZR k) <= 751 / 1000).
{ replace (A - IZR k) with ((A + B - IZR k) - B) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (E1 : A - IZR k = IZR (m * a0 - k * 2 ^ 25) * pow2 (-25)).
{ rewrite minus_IZR, (mult_IZR k). rewrite EA. change (IZR (2 ^ 25)) with 33554432. simpl (pow2 (-25)). lra. }
assert (E2 : A + B - IZR k = IZR ((m * a0 - k * 2 ^ 25) * 2 ^ 27 + m * a1) * pow2 (-52)).
{ rewrite plus_IZR, (mult_IZR _ (2 ^ 27)). replace (A + B - IZR k) with ((A - IZR k) + B) by ring. rewrite E1, EB.
  change (IZR (2 ^ 27)) with (pow2 27). rewrite Rmult_plus_distr_r, Rmult_assoc, <- bpow_plus. reflexivity. }
assert (F1 : f64 (A - IZR k)).
{ rewrite E1 in *. apply multiple_format; [apply (multiple_bound _ (-25)); [lia|lra]|lia]. }
assert (F2 : f64 (A + B - IZR k)).
{ rewrite E2 in *. apply multiple_format; [apply (multiple_bound _ (-52)); [lia|lra]|lia]. }
assert (H1 : stands64 (sub (mul mm hi) n) (A - IZR k)).
{ rewrite <- (rnd64_format _ F1). apply sub64; [exact HA|exact HN|]. apply M60. lra. }
assert (H2 : stands64 (add (sub (mul mm hi) n) (mul mm mi)) (A + B - IZR k)).
{ rewrite <- (rnd64_format _ F2). replace (A + B - IZR k) with (A - IZR k + B) by ring. apply add64; [exact H1|exact HB|].
  apply M60. replace (A - IZR k + B) with (A + B - IZR k) by ring. lra. }
set (G0 := IZR m * p2 + (A + B - IZR k)). set (g := rnd64 G0). set (r := rnd64 (g * P2)).
assert (BM : Rabs (IZR m * p2) <= / 100000000).
{ rewrite Rabs_mult. apply Rle_trans with (16777216 * pow2 (-53)).
  - apply Rmult_le_compat; try apply Rabs_pos; [rewrite <- abs_IZR; apply IZR_le; lia|exact Bl].
  - simpl. lra. }
assert (BG : Rabs G0 <= 50002 / 100000) by (unfold G0; eapply Rle_trans; [apply Rabs_triang|]; lra).
assert (HG : stands64 (fma mm lo (add (sub (mul mm hi) n) (mul mm mi))) g).
{ apply fma64; [exact Hm|exact Hl|exact H2|]. apply M60. fold G0. lra. }
destruct half_pi_range as [PI1 PI2]. assert (PN := half_pi_near).
assert (U6 : 6 / 10 * u <= / 1000000) by lra.
assert (BP : 15706 / 10000 <= P2 <= 15709 / 10000) by (apply Rabs_le_inv in PN; lra).
pose proof (rnd64_error G0) as Ng. fold g in Ng.
assert (UG : 0 <= u * Rabs G0 <= / 1000000 * Rabs G0) by (split; [apply Rmult_le_pos; [lra|apply Rabs_pos]|apply Rmult_le_compat_r; [apply Rabs_pos|lra]]).
assert (Bg : Rabs g <= Rabs G0 * (100001 / 100000) + eta).
{ replace g with (G0 + (g - G0)) by ring. eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_pos G0). lra. }
assert (BgP : Rabs (g * P2) <= 15709 / 10000 * (Rabs G0 * (100001 / 100000) + eta)).
{ rewrite Rabs_mult, (Rabs_pos_eq P2) by lra. rewrite Rmult_comm. apply Rmult_le_compat; try lra. apply Rabs_pos. }
assert (HR : stands64 (mul (fma mm lo (add (sub (mul mm hi) n) (mul mm mi))) (const (Dyadic 884279719003555 (-49)))) r).
{ apply mul64; [exact HG|is_const|]. apply M60. pose proof (Rabs_pos G0). lra. }
pose proof (rnd64_error (g * P2)) as Nr. fold r in Nr.
assert (UgP : u * Rabs (g * P2) <= u * (15709 / 10000 * (Rabs G0 * (100001 / 100000) + eta))) by (apply Rmult_le_compat_l; lra).
assert (Ue : 0 <= u * eta <= / 1000000 * eta) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (D0 : Rabs (r - G0 * (PI / 2)) <= 375 / 100 * (u * Rabs G0) + 5 * eta).
{ replace (r - G0 * (PI / 2)) with ((r - g * P2) + g * (P2 - PI / 2) + (g - G0) * (PI / 2)) by ring.
  assert (X1 : Rabs (g * (P2 - PI / 2)) <= (Rabs G0 * (100001 / 100000) + eta) * (6 / 10 * u)).
  { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [exact Bg|exact PN]. }
  assert (X2 : Rabs ((g - G0) * (PI / 2)) <= (u * Rabs G0 + eta) * (15708 / 10000)).
  { rewrite Rabs_mult, (Rabs_pos_eq (PI / 2)) by lra. apply Rmult_le_compat; try lra. apply Rabs_pos. }
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang (r - g * P2) (g * (P2 - PI / 2))). lra. }
assert (Er : rest k = G0 + IZR m * delta) by (unfold rest, G0, A, B; ring).
assert (BD : Rabs (IZR m * delta) <= pow2 (-82)).
{ rewrite Rabs_mult. change (-82)%Z with (24 + -106)%Z. rewrite bpow_plus. apply Rmult_le_compat; try apply Rabs_pos; [|exact missing].
  rewrite <- abs_IZR. apply Rle_trans with (1 := IZR_le _ _ Bm). change (IZR (2 ^ 24)) with 16777216. simpl. lra. }
assert (T82 : pow2 (-81) = 2 * pow2 (-82)) by (change (-81)%Z with (1 + -82)%Z; rewrite bpow_plus; reflexivity).
assert (Te2 : eta <= / 1000 * pow2 (-82)).
{ apply Rle_trans with (bpow radix2 (-10 + -82)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (P82 : 0 < pow2 (-82)) by apply bpow_gt_0.
exists k, r. cbv zeta. split; [exact HR|]. split; [exact HN|]. split; [exact K3|]. split.
- replace r with (G0 * (PI / 2) + (r - G0 * (PI / 2))) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs (G0 * (PI / 2)) <= 50002 / 100000 * (15708 / 10000)).
  { rewrite Rabs_mult, (Rabs_pos_eq (PI / 2)) by lra. apply Rmult_le_compat; try apply Rabs_pos; lra. }
  apply Rle_trans with (78555 / 100000); [lra|simpl; lra].
- rewrite Er. set (W := (G0 + IZR m * delta) * (PI / 2)).
  assert (X : Rabs G0 * (15707 / 10000) <= Rabs W + pow2 (-82) * (15708 / 10000)).
  { assert (Y : Rabs (G0 * (PI / 2)) <= Rabs W + Rabs (IZR m * delta * (PI / 2))).
    { replace (G0 * (PI / 2)) with (W - IZR m * delta * (PI / 2)) by (unfold W; ring). unfold Rminus at 1.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
    rewrite !Rabs_mult, !(Rabs_pos_eq (PI / 2)) in Y by lra. rewrite <- Rabs_mult in Y.
    assert (Rabs (IZR m * delta) * (PI / 2) <= pow2 (-82) * (15708 / 10000)) by (apply Rmult_le_compat; try lra; apply Rabs_pos).
    assert (Rabs G0 * (15707 / 10000) <= Rabs G0 * (PI / 2)) by (apply Rmult_le_compat_l; [apply Rabs_pos|lra]). lra. }
  apply (Rmult_le_compat_l u) in X; [|lra].
  assert (u * pow2 (-82) <= / 1000000 * pow2 (-82)) by (apply Rmult_le_compat_r; lra).
  replace (r - W) with ((r - G0 * (PI / 2)) - IZR m * delta * (PI / 2)) by (unfold W; ring).
  unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, (Rabs_mult (IZR m * delta)), (Rabs_pos_eq (PI / 2)) by lra.
  assert (Rabs (IZR m * delta) * (PI / 2) <= pow2 (-82) * (15708 / 10000)) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra.
Qed.
End Large.

(* ---- the enclosure ---- *)
(* `turned`: the quarter is told by the two lowest bits of turns + 3 2^51 *)
Definition quarter (n : Z) (s c : float64) : float64 :=
  let y := if Z.odd n then c else s in if Z.odd (n / 2) then neg y else y.
Definition turn_count (turns : float64) : Z := bits_of_b64 (add turns (const EXP64_ROUND) : float64).
Definition turned_large (q : Z) (x inverse_unit hi mi lo : float64) : float64 * float64 :=
  let b := reduce_large float64 (mul x inverse_unit) hi mi lo in
  let y := quarter (turn_count (snd b) + q) (sine float64 (fst b)) (cosine float64 (fst b)) in
  (y, add (mul (mag_of y) (const (Dyadic 13 (-54)))) (const (Dyadic 1 (-80)))).
Definition turned_small (q : Z) (x hi lo : float64) : float64 * float64 :=
  let r := reduce_small float64 x hi lo in
  let y := quarter (turn_count (const (Dyadic 0 0)) + q) (sine float64 r) (cosine float64 r) in
  (y, mul (mag_of y) (const (Dyadic 13 (-54)))).

Lemma quarter_stands n s c rs rc : stands64 s rs -> stands64 c rc -> stands64 (quarter n s c) (quarter_R n rs rc).
Proof.
intros Hs Hc. unfold quarter, quarter_R. destruct (Z.odd n), (Z.odd (n / 2)); try apply neg64; assumption.
Qed.

Lemma turn_count_mod turns k : stands64 turns (IZR k) -> (Z.abs k <= 67108866)%Z -> (turn_count turns mod 4 = k mod 4)%Z.
Proof.
intros H K.
assert (BC : C52 = IZR (3 * 2 ^ 51)) by (numbers; simpl; lra).
assert (Bk : Rabs (IZR k) <= 67108866) by (rewrite <- abs_IZR; apply IZR_le; lia).
assert (HT : stands64 (add turns (const EXP64_ROUND)) (IZR (3 * 2 ^ (52 - 1) + k))).
{ replace (IZR (3 * 2 ^ (52 - 1) + k)) with (rnd64 (IZR k + C52)).
  - apply add64; [exact H|is_const|]. apply (below_1023 60); [lia|]. rewrite BC. apply Rabs_le_inv in Bk. apply Rabs_le. simpl. lra.
  - rewrite BC, <- plus_IZR. replace (k + 3 * 2 ^ 51)%Z with (3 * 2 ^ (52 - 1) + k)%Z by (simpl (52 - 1)%Z; ring).
    apply rnd64_format, (format_of_integer (-1074) 53); [lia|simpl (52 - 1)%Z; lia]. }
unfold turn_count, bits_of_b64.
rewrite (integer_bits 52 11 eq_refl eq_refl eq_refl nan64 ltac:(lia) _ k HT) by (simpl (2 ^ (52 - 1))%Z; lia).
match goal with |- (?a mod 4 = _)%Z => replace a with (k + 2151 * 2 ^ 49 * 4)%Z end; [apply Z.mod_add; lia|].
change (2 ^ (52 - 1))%Z with (2 ^ 51)%Z. change (- (3 - 2 ^ (11 - 1) - (52 + 1)))%Z with 1074%Z. ring.
Qed.

(* an error in terms of f against the radius *)
Lemma large_radius Y f : Rabs f <= 2 -> Rabs (Y - f) <= 639 / 100 * u * Rabs f + 102 / 100 * pow2 (-81) ->
  Rabs (f - Y) <= rnd64 (rnd64 (Rabs Y * (13 / 2 * u)) + pow2 (-80)).
Proof.
intros Bf H. assert (U := u_small). assert (P81 := bpow_gt_0 radix2 (-81)).
assert (E80 : pow2 (-80) = 2 * pow2 (-81)) by (change (-80)%Z with (1 + -81)%Z; rewrite bpow_plus; reflexivity).
assert (Te : eta <= / 1000 * pow2 (-81)).
{ apply Rle_trans with (bpow radix2 (-10 + -81)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Pe : 0 < eta) by apply bpow_gt_0. assert (PY := Rabs_pos Y). assert (Pf := Rabs_pos f).
assert (Uf : 0 <= u * Rabs f <= / 1000000 * Rabs f) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (B : Rabs f <= Rabs Y * (1001 / 1000) + 2 * pow2 (-81)).
{ assert (Rabs f <= Rabs Y + Rabs (Y - f)); [|lra].
  replace f with (Y - (Y - f)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
apply (Rmult_le_compat_l u) in B; [|lra].
assert (U81 : 0 <= u * pow2 (-81) <= / 1000000 * pow2 (-81)) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
set (w := u * Rabs Y). assert (Pw : 0 <= w) by (apply Rmult_le_pos; lra).
replace (Rabs Y * (13 / 2 * u)) with (13 / 2 * w) by (unfold w; ring).
pose proof (rnd64_error (13 / 2 * w)) as N1. rewrite (Rabs_pos_eq (13 / 2 * w)) in N1 by lra. apply Rabs_le_inv in N1.
assert (u * (13 / 2 * w) <= / 1000000 * (13 / 2 * w)) by (apply Rmult_le_compat_r; lra).
set (a := rnd64 (13 / 2 * w)) in *. assert (Pa : 0 <= a) by (apply rnd64_pos; lra).
pose proof (rnd64_error (a + pow2 (-80))) as N2. rewrite (Rabs_pos_eq (a + pow2 (-80))) in N2 by lra. apply Rabs_le_inv in N2.
assert (u * (a + pow2 (-80)) <= / 1000000 * (a + pow2 (-80))) by (apply Rmult_le_compat_r; lra).
rewrite Rabs_minus_sym. replace (u * (Rabs Y * (1001 / 1000) + 2 * pow2 (-81))) with (w * (1001 / 1000) + 2 * (u * pow2 (-81))) in B by (unfold w; ring).
apply Rle_trans with (1 := H). lra.
Qed.

(* sine and cosine near those of R *)
Section Near.
Variables (y : float64) (r R rel off : R).
Hypothesis input : stands64 y r.
Hypothesis small : little r.
Hypothesis near : Rabs (r - R) <= rel * u * Rabs R + off.
Hypothesis sizes : 0 <= rel <= 5 / 2 /\ 0 <= off <= pow2 (-81).

Lemma near_little : turned_little R.
Proof.
assert (U := u_small). simpl in small. assert (P := Rabs_pos R).
assert (u * Rabs R <= / 1000000 * Rabs R) by (apply Rmult_le_compat_r; lra).
assert (rel * (u * Rabs R) <= 5 / 2 * (u * Rabs R)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
assert (pow2 (-81) <= / 1000000) by (apply Rle_trans with (bpow radix2 (-20)); [apply bpow_le; lia|simpl; lra]).
assert (Rabs R <= Rabs r + Rabs (r - R)); [|lra].
replace R with (r - (r - R)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.

Lemma near_sine : Rabs (sine real64 r - sin R) <= (2002 / 1000 + rel) * (1000 / 706) * u * Rabs (sin R) + 1001 / 1000 * off + 3 * eta.
Proof.
assert (U := u_small). assert (P := Rabs_pos R). destruct (sine_near y r input small) as [_ S]. assert (L := near_little).
pose proof (sine_below R L) as B. assert (B' : 706 / 1000 * Rabs R <= Rabs (sin R)).
{ assert (Rabs R <= Rabs (sin R) + Rabs (R - sin R)); [|lra].
  replace R with (sin R + (R - sin R)) at 1 by ring. apply Rabs_triang. }
assert (UR : 0 <= u * Rabs R) by (apply Rmult_le_pos; lra).
assert (RU : rel * (u * Rabs R) <= 5 / 2 * (u * Rabs R)) by (apply Rmult_le_compat_r; lra).
assert (Br : Rabs r <= Rabs R + Rabs (r - R)).
{ replace r with (R + (r - R)) at 1 by ring. apply Rabs_triang. }
assert (UUR : u * (u * Rabs R) <= / 1000000 * (u * Rabs R)) by (apply Rmult_le_compat_r; lra).
assert (Uo : u * off <= / 1000000 * off) by (apply Rmult_le_compat_r; lra).
assert (Urr : u * Rabs r <= u * Rabs R + u * (5 / 2 * (u * Rabs R) + off)).
{ rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; lra. }
assert (T : Rabs (sine real64 r - sin R) <= (2002 / 1000 + rel) * (u * Rabs R) + 1001 / 1000 * off + 3 * eta).
{ replace (sine real64 r - sin R) with ((sine real64 r - sin r) + (sin r - sin R)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (sine_lipschitz r R). lra. }
apply Rle_trans with (1 := T). assert (Q : u * Rabs R <= u * (1000 / 706 * Rabs (sin R))) by (apply Rmult_le_compat_l; lra).
apply (Rmult_le_compat_l (2002 / 1000 + rel)) in Q; lra.
Qed.

Lemma near_cosine : Rabs (cosine real64 r - cos R) <= 6 * u * Rabs (cos R) + off.
Proof.
assert (U := u_small). assert (P := Rabs_pos R). destruct (cosine_near y r input small) as [_ S]. assert (L := near_little).
pose proof (cosine_above R L) as C. rewrite (Rabs_pos_eq (cos R)) by lra.
assert (u * Rabs R <= u * (7856 / 10000)) by (apply Rmult_le_compat_l; lra).
assert (RU : rel * (u * Rabs R) <= 5 / 2 * (u * Rabs R)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
assert (u * (706 / 1000) <= u * cos R) by (apply Rmult_le_compat_l; lra).
replace (cosine real64 r - cos R) with ((cosine real64 r - cos r) + (cos r - cos R)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. pose proof (cosine_lipschitz r R). lra.
Qed.
End Near.

Lemma quarter_close n a b c d (P : R -> R -> Prop) : (forall x y, P x y -> P (- x) (- y)) -> P a c -> P b d ->
  P (quarter_R n a b) (quarter_R n c d).
Proof. intros N H1 H2. unfold quarter_R. destruct (Z.odd n), (Z.odd (n / 2)); auto. Qed.

(** theorem: sweep_angle_large — the double enclosure of sin(x theta) (q = 0) and cos(x theta) (q = 1) in sweeps contains the exact value for x = m 2^e whose quarter turns are m (part[0] + part[1] + part[2]) up to m 2^-106 and multiples of 4. used by: src/certify/sweep_enclose_isa.c, src/certify/sweep_reference.c *)
Theorem sweep_angle_large (q : Z) (x inverse_unit hi mi lo : float64) v theta p2 delta (m e a0 a1 J : Z) :
  stands64 x v -> v = IZR m * pow2 e -> (Z.abs m <= 2 ^ 24)%Z -> (-149 <= e <= 104)%Z -> stands64 inverse_unit (pow2 (- e)) ->
  stands64 hi (IZR a0 * pow2 (-25)) /\ (Z.abs a0 <= 2 ^ 26)%Z -> stands64 mi (IZR a1 * pow2 (-52)) /\ (Z.abs a1 <= 2 ^ 26)%Z ->
  stands64 lo p2 /\ Rabs p2 <= pow2 (-53) -> Rabs delta <= pow2 (-106) ->
  v * theta / (PI / 2) = IZR m * (IZR a0 * pow2 (-25) + IZR a1 * pow2 (-52) + p2 + delta) + 4 * IZR J ->
  encloses (turned_large q x inverse_unit hi mi lo) (sin (v * theta + IZR q * (PI / 2))).
Proof.
intros Hx Ev Bm Be Hi H0 H1 H2 Hd Rel. assert (U := u_small).
assert (PP : 0 < PI / 2) by (destruct half_pi_range; lra).
assert (Hm : stands64 (mul x inverse_unit) (IZR m)).
{ assert (F : f64 (IZR m)) by (replace (IZR m) with (IZR m * pow2 0) by (simpl; ring); apply multiple_format; lia).
  assert (E : v * pow2 (- e) = IZR m).
  { rewrite Ev, Rmult_assoc, <- bpow_plus. replace (e + - e)%Z with 0%Z by ring. simpl. ring. }
  rewrite <- (rnd64_format _ F), <- E. apply mul64; [exact Hx|exact Hi|]. rewrite E. apply (below_1023 24); [lia|].
  rewrite <- abs_IZR. apply Rle_trans with (1 := IZR_le _ _ Bm). change (IZR (2 ^ 24)) with 16777216. simpl. lra. }
destruct (reduced_large _ hi mi lo m a0 a1 p2 delta (conj Hm Bm) H0 H1 H2 Hd) as [k [r [Hr [Hn [Bk [Lr Near]]]]]].
set (b := reduce_large float64 (mul x inverse_unit) hi mi lo) in *.
match type of Near with Rabs (r - ?t * (PI / 2)) <= _ => set (R := t * (PI / 2)) in * end.
assert (Sz : 0 <= 5 / 2 <= 5 / 2 /\ 0 <= pow2 (-81) <= pow2 (-81)) by (pose proof (bpow_ge_0 radix2 (-81)); lra).
assert (NS := near_sine _ r R (5 / 2) (pow2 (-81)) Hr Lr Near Sz).
assert (NC := near_cosine _ r R (5 / 2) (pow2 (-81)) Hr Lr Near Sz).
assert (Te : eta <= / 10000 * pow2 (-81)).
{ apply Rle_trans with (bpow radix2 (-20 + -81)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (P81 := bpow_gt_0 radix2 (-81)).
assert (Ef : sin (v * theta + IZR q * (PI / 2)) = quarter_R (turn_count (snd b) + q) (sin R) (cos R)).
{ rewrite (quarter_mod _ (k + 4 * J + q)).
  - rewrite <- quarter_sine. f_equal. rewrite !plus_IZR, mult_IZR.
    replace (v * theta) with (v * theta / (PI / 2) * (PI / 2)) by (field; lra). rewrite Rel. unfold R. ring.
  - rewrite <- Zplus_mod_idemp_l, (turn_count_mod _ k Hn Bk), Zplus_mod_idemp_l.
    replace (k + 4 * J + q)%Z with (k + q + J * 4)%Z by ring. symmetry. apply Z.mod_add. lia. }
rewrite Ef. set (n := (turn_count (snd b) + q)%Z).
destruct (sine_near _ r Hr Lr) as [Hs _]. destruct (cosine_near _ r Hr Lr) as [Hc _].
assert (HY := quarter_stands n _ _ _ _ Hs Hc).
assert (Q : (fun Y f => Rabs f <= 1 /\ Rabs (Y - f) <= 639 / 100 * u * Rabs f + 102 / 100 * pow2 (-81))
  (quarter_R n (sine real64 r) (cosine real64 r)) (quarter_R n (sin R) (cos R))).
{ apply (quarter_close n _ _ _ _ (fun Y f => Rabs f <= 1 /\ Rabs (Y - f) <= 639 / 100 * u * Rabs f + 102 / 100 * pow2 (-81))).
  - intros a c [A C]. replace (- a - - c) with (- (a - c)) by ring. rewrite !Rabs_Ropp. split; assumption.
  - split; [pose proof (SIN_bound R); apply Rabs_le; lra|]. apply Rle_trans with (1 := NS).
    assert (0 <= u * Rabs (sin R)) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra.
  - split; [pose proof (COS_bound R); apply Rabs_le; lra|]. apply Rle_trans with (1 := NC).
    assert (0 <= u * Rabs (cos R)) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra. }
set (Y := quarter_R n (sine real64 r) (cosine real64 r)) in *. set (f := quarter_R n (sin R) (cos R)) in *.
destruct Q as [Bf Q]. clearbody Y f.
assert (BY : Rabs Y <= 2).
{ replace Y with (f + (Y - f)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (u * Rabs f <= u * 1) by (apply Rmult_le_compat_l; lra).
  assert (pow2 (-81) <= / 1000000) by (apply Rle_trans with (bpow radix2 (-20)); [apply bpow_le; lia|simpl; lra]). lra. }
assert (Ed : dyadic_R (Dyadic 13 (-54)) = 13 / 2 * u).
{ unfold dyadic_R. cbn [num expo]. change (-54)%Z with (-1 + -53)%Z. rewrite bpow_plus. simpl (bpow radix2 (-1)). lra. }
assert (H80 : stands64 (const (Dyadic 1 (-80))) (pow2 (-80))).
{ replace (pow2 (-80)) with (dyadic_R (Dyadic 1 (-80))) by (unfold dyadic_R; cbn [num expo]; ring). is_const. }
assert (BY2 : Rabs (Rabs Y * (13 / 2 * u)) <= 1).
{ rewrite Rabs_pos_eq by (apply Rmult_le_pos; [apply Rabs_pos|lra]). apply Rle_trans with (2 * (13 / 2 * u)); [apply Rmult_le_compat_r; lra|lra]. }
assert (HR : stands64 (mul (mag_of (quarter n (sine float64 (fst b)) (cosine float64 (fst b)))) (const (Dyadic 13 (-54)))) (rnd64 (Rabs Y * (13 / 2 * u)))).
{ rewrite <- Ed. apply mul64; [apply mag64, HY|is_const|]. rewrite Ed. apply (below_1023 0); [lia|exact BY2]. }
exists Y, (rnd64 (rnd64 (Rabs Y * (13 / 2 * u)) + pow2 (-80))). split; [exact HY|]. split.
- apply add64; [exact HR|exact H80|]. apply (below_1023 1); [lia|]. eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs (rnd64 (Rabs Y * (13 / 2 * u))) <= 1) by (apply (rnd64_bound 0); [lia|exact BY2]).
  rewrite (Rabs_pos_eq (pow2 (-80))) by apply bpow_ge_0.
  assert (P80 : pow2 (-80) <= pow2 0) by (apply bpow_le; lia). change (pow2 0) with 1 in P80. change (bpow radix2 1) with 2. lra.
- apply large_radius; [lra|exact Q].
Qed.

Lemma reduced_small (x hi lo : float64) v theta t0 t1 : stands64 x v -> stands64 hi t0 -> stands64 lo t1 ->
  Rabs v <= pow2 128 -> Rabs t0 <= 2 * Rabs theta -> Rabs t1 <= 2 * u * Rabs theta -> Rabs (theta - (t0 + t1)) <= pow2 (-100) * Rabs theta ->
  Rabs (v * theta) <= 78555 / 100000 -> pow2 (-900) <= Rabs (v * theta) ->
  let r := rnd64 (v * t0 + rnd64 (v * t1)) in stands64 (reduce_small float64 x hi lo) r /\ little r /\
  Rabs (r - v * theta) <= 11 / 10 * u * Rabs (v * theta) + 0.
Proof.
intros Hx H0 H1 Bv B0 B1 Bt Bs Low r. assert (U := u_small). set (A := Rabs (v * theta)) in *.
assert (Pe : 0 < eta) by apply bpow_gt_0. assert (PA : 0 < A) by (pose proof (bpow_gt_0 radix2 (-900)); lra).
assert (Te : eta <= / 1000 * (u * A)).
{ apply Rle_trans with (bpow radix2 (-10) * (u * pow2 (-900))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat; [apply bpow_ge_0|apply Rmult_le_pos; [lra|apply bpow_ge_0]|simpl; lra|apply Rmult_le_compat_l; lra]. }
assert (UA : 0 <= u * A <= / 1000000 * A) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (UUA : u * (u * A) <= / 1000000 * (u * A)) by (apply Rmult_le_compat_r; lra).
assert (M1 : Rabs (v * t1) <= 2 * (u * A)).
{ rewrite Rabs_mult. replace (2 * (u * A)) with (Rabs v * (2 * u * Rabs theta)) by (unfold A; rewrite Rabs_mult; ring).
  apply Rmult_le_compat_l; [apply Rabs_pos|exact B1]. }
assert (M0 : Rabs (v * t0) <= 2 * A).
{ rewrite Rabs_mult. replace (2 * A) with (Rabs v * (2 * Rabs theta)) by (unfold A; rewrite Rabs_mult; ring).
  apply Rmult_le_compat_l; [apply Rabs_pos|exact B0]. }
assert (T100 : pow2 (-100) <= / 1000 * u).
{ apply Rle_trans with (bpow radix2 (-10 + -53)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (M2 : Rabs (v * (theta - (t0 + t1))) <= / 1000 * (u * A)).
{ rewrite Rabs_mult. apply Rle_trans with (Rabs v * (/ 1000 * u * Rabs theta)).
  - apply Rmult_le_compat_l; [apply Rabs_pos|]. apply Rle_trans with (1 := Bt). apply Rmult_le_compat_r; [apply Rabs_pos|exact T100].
  - unfold A. rewrite Rabs_mult. lra. }
set (b := rnd64 (v * t1)) in *. pose proof (rnd64_error (v * t1)) as N1. fold b in N1.
assert (u * Rabs (v * t1) <= u * (2 * (u * A))) by (apply Rmult_le_compat_l; lra).
assert (D1 : Rabs (v * t0 + b - v * theta) <= 3 / 1000 * (u * A)).
{ replace (v * t0 + b - v * theta) with ((b - v * t1) - v * (theta - (t0 + t1))) by ring. unfold Rminus at 1.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (B2 : Rabs (v * t0 + b) <= A * (1001 / 1000)).
{ replace (v * t0 + b) with (v * theta + (v * t0 + b - v * theta)) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold A. lra. }
pose proof (rnd64_error (v * t0 + b)) as N2. fold r in N2.
assert (u * Rabs (v * t0 + b) <= u * (A * (1001 / 1000))) by (apply Rmult_le_compat_l; lra).
assert (D2 : Rabs (r - v * theta) <= 11 / 10 * (u * A)).
{ replace (r - v * theta) with ((r - (v * t0 + b)) + (v * t0 + b - v * theta)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
assert (Hb : stands64 (mul x lo) b).
{ apply mul64; [exact Hx|exact H1|]. apply (below_1023 1); [lia|]. change (bpow radix2 1) with 2. lra. }
split; [|split].
- apply fma64; [exact Hx|exact H0|exact Hb|]. apply (below_1023 1); [lia|]. change (bpow radix2 1) with 2. lra.
- apply Rle_trans with (78557 / 100000); [|simpl; lra].
  replace r with (v * theta + (r - v * theta)) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold A. lra.
- lra.
Qed.

(** theorem: sweep_angle_small — the same below pi/4, where the angle is x (theta[0] + theta[1]) up to 2^-100. used by: src/certify/sweep_enclose_isa.c, src/certify/sweep_reference.c *)
Theorem sweep_angle_small (q : Z) (x hi lo : float64) v theta t0 t1 : stands64 x v -> stands64 hi t0 -> stands64 lo t1 ->
  Rabs v <= pow2 128 -> Rabs t0 <= 2 * Rabs theta -> Rabs t1 <= 2 * u * Rabs theta -> Rabs (theta - (t0 + t1)) <= pow2 (-100) * Rabs theta ->
  Rabs (v * theta) <= 78555 / 100000 -> v = 0 \/ pow2 (-900) <= Rabs (v * theta) ->
  encloses (turned_small q x hi lo) (sin (v * theta + IZR q * (PI / 2))).
Proof.
intros Hx H0 H1 Bv B0 B1 Bt Bs Low. assert (U := u_small).
assert (Z0 : stands64 (const (Dyadic 0 0)) (IZR 0)) by exact is_zero64.
assert (Ef : sin (v * theta + IZR q * (PI / 2)) = quarter_R (turn_count (const (Dyadic 0 0)) + q) (sin (v * theta)) (cos (v * theta))).
{ rewrite (quarter_mod _ q), <- quarter_sine; [f_equal; ring|].
  rewrite <- Zplus_mod_idemp_l, (turn_count_mod _ 0 Z0) by lia. reflexivity. }
rewrite Ef. unfold turned_small. cbv zeta. set (n := (turn_count (const (Dyadic 0 0)) + q)%Z). clearbody n. clear Ef.
assert (C : exists r, stands64 (reduce_small float64 x hi lo) r /\ little r /\
  Rabs (sine real64 r - sin (v * theta)) <= 6 * u * Rabs (sin (v * theta)) /\ Rabs (cosine real64 r - cos (v * theta)) <= 6 * u * Rabs (cos (v * theta)) /\
  (sine real64 r = 0 \/ pow2 (-1022) <= 1 / 100 * Rabs (sine real64 r))).
{ destruct Low as [Ev|Low].
  - subst v. exists 0. rewrite Rmult_0_l, sin_0, cos_0.
    assert (R0 : rnd64 0 = 0) by (apply round_0, valid_rnd_N).
    assert (S0 : sine real64 0 = 0).
    { unfold sine. cbv zeta. cbv [real64 real_ops mul fma]. rewrite !Rmult_0_l, R0, !Rmult_0_l, Rplus_0_l. exact R0. }
    assert (L0 : little 0) by (rewrite Rabs_R0; simpl; lra).
    assert (H : stands64 (reduce_small float64 x hi lo) 0).
    { assert (Q1 : stands64 (mul x lo) 0).
      { rewrite <- R0, <- (Rmult_0_l t1). apply mul64; [exact Hx|exact H1|]. rewrite Rmult_0_l, Rabs_R0. apply bpow_ge_0. }
      assert (Q2 : stands64 (reduce_small float64 x hi lo) (rnd64 (0 * t0 + 0))).
      { apply fma64; [exact Hx|exact H0|exact Q1|]. rewrite Rmult_0_l, Rplus_0_l, Rabs_R0. apply bpow_ge_0. }
      rewrite Rmult_0_l, Rplus_0_l, R0 in Q2. exact Q2. }
    split; [exact H|]. split; [exact L0|]. split; [rewrite S0, Rminus_0_r, Rabs_R0; lra|]. split; [|left; exact S0].
    destruct (cosine_near _ 0 H L0) as [_ Cn]. rewrite cos_0 in Cn. rewrite Rabs_R1. lra.
  - destruct (reduced_small x hi lo v theta t0 t1 Hx H0 H1 Bv B0 B1 Bt Bs Low) as [Hr [Lr Near]].
    set (r := rnd64 (v * t0 + rnd64 (v * t1))) in *. clearbody r.
    assert (Sz : 0 <= 11 / 10 <= 5 / 2 /\ 0 <= 0 <= pow2 (-81)) by (pose proof (bpow_ge_0 radix2 (-81)); lra).
    assert (NS := near_sine _ r (v * theta) (11 / 10) 0 Hr Lr Near Sz).
    assert (NC := near_cosine _ r (v * theta) (11 / 10) 0 Hr Lr Near Sz).
    pose proof (sine_below (v * theta) (near_little r (v * theta) (11 / 10) 0 Lr Near Sz)) as B.
    assert (B' : 706 / 1000 * Rabs (v * theta) <= Rabs (sin (v * theta))).
    { assert (Rabs (v * theta) <= Rabs (sin (v * theta)) + Rabs (v * theta - sin (v * theta))); [|lra].
      replace (v * theta) with (sin (v * theta) + (v * theta - sin (v * theta))) at 1 by ring. apply Rabs_triang. }
    set (S := Rabs (sin (v * theta))) in *. assert (P9 := bpow_gt_0 radix2 (-900)).
    assert (US : 0 <= u * S <= / 1000000 * S) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
    assert (Te : eta <= / 1000 * (u * S)).
    { apply Rle_trans with (bpow radix2 (-20) * (u * pow2 (-900))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
      apply Rle_trans with (/ 2000 * (u * pow2 (-900))); [apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|simpl; lra]|].
      assert (u * pow2 (-900) <= u * (2 * S)) by (apply Rmult_le_compat_l; lra). lra. }
    exists r. split; [exact Hr|]. split; [exact Lr|].
    assert (D : Rabs (sine real64 r - sin (v * theta)) <= 6 * u * S) by lra.
    split; [exact D|]. split; [lra|]. right.
    assert (T : pow2 (-1022) <= / 10000 * pow2 (-900)).
    { apply Rle_trans with (bpow radix2 (-20 + -900)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
    assert (S - Rabs (sine real64 r) <= Rabs (sine real64 r - sin (v * theta))).
    { rewrite (Rabs_minus_sym (sine real64 r)). apply Rabs_triang_inv. } lra. }
destruct C as [r [Hr [Lr [C1 [C2 C3]]]]].
destruct (sine_near _ r Hr Lr) as [Hs _]. destruct (cosine_near _ r Hr Lr) as [Hc Nc].
assert (Q : (fun Y f => Rabs f <= 1 /\ Rabs (Y - f) <= 6 * u * Rabs f /\ (Y = 0 \/ pow2 (-1022) <= 1 / 100 * Rabs Y))
  (quarter_R n (sine real64 r) (cosine real64 r)) (quarter_R n (sin (v * theta)) (cos (v * theta)))).
{ apply (quarter_close n _ _ _ _ (fun Y f => Rabs f <= 1 /\ Rabs (Y - f) <= 6 * u * Rabs f /\ (Y = 0 \/ pow2 (-1022) <= 1 / 100 * Rabs Y))).
  - intros a c [A [C E]]. replace (- a - - c) with (- (a - c)) by ring. rewrite !Rabs_Ropp. split; [exact A|]. split; [exact C|].
    destruct E as [->|E]; [left; ring|right; exact E].
  - split; [pose proof (SIN_bound (v * theta)); apply Rabs_le; lra|]. split; [exact C1|exact C3].
  - split; [pose proof (COS_bound (v * theta)); apply Rabs_le; lra|]. split; [exact C2|]. right.
    pose proof (cosine_above r (little_turned r Lr)). apply Rabs_le_inv in Nc.
    assert (pow2 (-1022) <= / 1000) by (apply Rle_trans with (bpow radix2 (-10)); [apply bpow_le; lia|simpl; lra]).
    rewrite Rabs_pos_eq by lra. lra. }
assert (HY := quarter_stands n _ _ _ _ Hs Hc).
set (Y := quarter_R n (sine real64 r) (cosine real64 r)) in *. set (f := quarter_R n (sin (v * theta)) (cos (v * theta))) in *.
destruct Q as [Bf [Q1 Q2]]. clearbody Y f.
apply (relative_ball _ Y f 6 (1 / 100) (13 / 2)); [exact HY| | |exact Q1|exact Q2|lra].
- apply (below_1023 1); [lia|]. change (bpow radix2 1) with 2. replace Y with (f + (Y - f)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. assert (u * Rabs f <= u * 1) by (apply Rmult_le_compat_l; lra). lra.
- split; [is_const|]. unfold dyadic_R. cbn [num expo]. change (-54)%Z with (-1 + -53)%Z. rewrite bpow_plus. simpl (bpow radix2 (-1)). lra.
Qed.

(* ---- the parts of theta ---- *)
(* What sweep_reference.c computes, with balls: theta is theta[0] + theta[1] up to 2^-100, ... *)
Definition angle_parts (theta : R) (hi lo : float64) : Prop := exists t0 t1, stands64 hi t0 /\ stands64 lo t1 /\
  Rabs t0 <= 2 * Rabs theta /\ Rabs t1 <= 2 * u * Rabs theta /\ Rabs (theta - (t0 + t1)) <= pow2 (-100) * Rabs theta.
(* ... and for the binade of the float m 2^e: the quarter turns of 2^e theta are part[0] + part[1] +
   part[2], multiples of 2^-25 and 2^-52 and a double, up to 2^-106 and a multiple of 4. *)
Definition quarter_turns (theta : R) (e : Z) (hi mi lo : float64) : Prop := exists (a0 a1 J : Z) (p2 delta : R),
  stands64 hi (IZR a0 * pow2 (-25)) /\ (Z.abs a0 <= 2 ^ 26)%Z /\ stands64 mi (IZR a1 * pow2 (-52)) /\ (Z.abs a1 <= 2 ^ 26)%Z /\
  stands64 lo p2 /\ Rabs p2 <= pow2 (-53) /\ Rabs delta <= pow2 (-106) /\
  pow2 e * theta / (PI / 2) = IZR a0 * pow2 (-25) + IZR a1 * pow2 (-52) + p2 + delta + 4 * IZR J.

(* `turned` q quarters ahead, f the function that it encloses at v theta. *)
Definition turned_encloses (q : Z) (x : float64) (v theta f : R) : Prop :=
  (forall hi lo, angle_parts theta hi lo -> Rabs (v * theta) <= 78555 / 100000 -> encloses (turned_small q x hi lo) f) /\
  (forall m e inverse_unit hi mi lo, v = IZR m * pow2 e -> (Z.abs m <= 2 ^ 24)%Z -> (-149 <= e <= 104)%Z ->
    stands64 inverse_unit (pow2 (- e)) -> quarter_turns theta e hi mi lo -> encloses (turned_large q x inverse_unit hi mi lo) f).

Lemma turned_contains q (x : float64) v theta : single x v -> pow2 (-700) <= Rabs theta ->
  turned_encloses q x v theta (sin (v * theta + IZR q * (PI / 2))).
Proof.
intros S T. assert (Sz := single_size x v S). destruct S as [Hx [_ Bv]]. split.
- intros hi lo [t0 [t1 [H0 [H1 [B0 [B1 Bt]]]]]] Bs. apply (sweep_angle_small q x _ _ v theta t0 t1); try assumption; [lra|].
  destruct Sz as [Sz|Sz]; [left; exact Sz|right]. rewrite Rabs_mult.
  apply Rle_trans with (bpow radix2 (-149 + -700)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat; auto using bpow_ge_0.
- intros m e iu hi mi lo Ev Bm Be Hi [a0 [a1 [J [p2 [delta [A1 [A2 [A3 [A4 [A5 [A6 [A7 A8]]]]]]]]]]]].
  apply (sweep_angle_large q x iu hi mi lo v theta p2 delta m e a0 a1 (m * J)); try assumption; try (split; assumption).
  rewrite Ev. replace (IZR m * pow2 e * theta / (PI / 2)) with (IZR m * (pow2 e * theta / (PI / 2))) by (field; destruct half_pi_range; lra).
  rewrite A8, mult_IZR. ring.
Qed.

(** theorem: sweep_rope_sin — the double enclosure of sin(x theta) in sweeps contains it for every float x and every theta of at least 2^-700, in each binade given the parts of theta and of a quarter turn that sweep_reference.c computes with balls. used by: src/certify/sweep_enclose_isa.c, src/certify/sweep_reference.c *)
Theorem sweep_rope_sin (x : float64) v theta : single x v -> pow2 (-700) <= Rabs theta ->
  turned_encloses 0 x v theta (sin (v * theta)).
Proof.
intros S T. assert (C := turned_contains 0 x v theta S T). replace (v * theta + 0 * (PI / 2)) with (v * theta) in C by ring. exact C.
Qed.

(** theorem: sweep_rope_cos — the same for cos, a quarter turn further. used by: src/certify/sweep_enclose_isa.c, src/certify/sweep_reference.c *)
Theorem sweep_rope_cos (x : float64) v theta : single x v -> pow2 (-700) <= Rabs theta ->
  turned_encloses 1 x v theta (cos (v * theta)).
Proof.
intros S T. assert (C := turned_contains 1 x v theta S T).
replace (v * theta + 1 * (PI / 2)) with (PI / 2 + v * theta) in C by ring. rewrite <- cos_sin in C. exact C.
Qed.

(* ---- sin x and cos x: theta = 1 ---- *)
Lemma one_theta : pow2 (-700) <= Rabs 1.
Proof. rewrite Rabs_R1. change 1 with (pow2 0). apply bpow_le. lia. Qed.

(** theorem: sweep_sin — the same for sin x, theta = 1. used by: src/certify/sweep_enclose_isa.c, src/certify/sweep_reference.c *)
Theorem sweep_sin (x : float64) v : single x v -> turned_encloses 0 x v 1 (sin v).
Proof. intros S. rewrite <- (Rmult_1_r v) at 2. apply sweep_rope_sin; [exact S|exact one_theta]. Qed.

(** theorem: sweep_cos — the same for cos x. used by: src/certify/sweep_enclose_isa.c, src/certify/sweep_reference.c *)
Theorem sweep_cos (x : float64) v : single x v -> turned_encloses 1 x v 1 (cos v).
Proof. intros S. rewrite <- (Rmult_1_r v) at 2. apply sweep_rope_cos; [exact S|exact one_theta]. Qed.
