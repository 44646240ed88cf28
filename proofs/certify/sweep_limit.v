(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* What sweeps settle by a rule: results next to a limit that no precision tells from the exact value,
   src/certify/sweep_limit.c, and finite ones beside values above 2^1000, sweep_ball.c. coqchk: no (interval
   arithmetic on Z). *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Specific_stdz Specific_ops Tactic.
From Attest Require enclosure.exp_method.
Import exp_method.ITZ.
Open Scope R_scope.

Notation pow2 := (bpow radix2).

(* ---- limits ---- *)
Section Limit.
Variables (v : R) (bits : Z).
Hypothesis far : 32 <= v.
(* floor(1.4 v), with room for the roundings of 1.4 and of the product, or less *)
Hypothesis few : IZR bits <= 141 / 100 * v.

Lemma gap_above : 2 * exp (- v) <= 2 * pow2 (- bits) /\ exp (- v) < pow2 (- bits) /\ 2 * exp (- (2 * v)) < pow2 (- bits).
Proof.
assert (L : 0 < ln 2 < 7 / 10) by (split; interval with (i_prec 60)).
assert (G : exp (- (98 / 100 * v)) <= pow2 (- bits)).
{ rewrite bpow_exp. apply exp_le. change (IZR radix2) with 2. rewrite opp_IZR.
  assert (IZR bits * ln 2 <= 141 / 100 * v * ln 2) by (apply Rmult_le_compat_r; lra).
  assert (141 / 100 * v * ln 2 <= 98 / 100 * v).
  { replace (98 / 100 * v) with (v * (98 / 100)) by ring. replace (141 / 100 * v * ln 2) with (v * (141 / 100 * ln 2)) by ring.
    apply Rmult_le_compat_l; [lra|interval with (i_prec 60)]. } lra. }
assert (E : exp (- v) < exp (- (98 / 100 * v))) by (apply exp_increasing; lra).
assert (T : exp (- (2 * v)) <= exp (- v) * / 2).
{ replace (- (2 * v)) with (- v + - v) by ring. rewrite exp_plus. apply Rmult_le_compat_l; [left; apply exp_pos|].
  apply Rle_trans with (exp (- 32)); [apply exp_le; lra|interval with (i_prec 60)]. }
lra.
Qed.

Lemma tanh_gap : tanh v = 1 - 2 * exp (- (2 * v)) / (1 + exp (- (2 * v))).
Proof.
unfold tanh, sinh, cosh. replace (- (2 * v)) with (- v + - v) by ring. rewrite exp_plus.
assert (P := exp_pos v). assert (Q := exp_pos (- v)).
assert (E : exp v * exp (- v) = 1) by (rewrite <- exp_plus; replace (v + - v) with 0 by ring; apply exp_0).
replace (exp v) with (/ exp (- v)) by (field_simplify_eq; lra). field. split; nra.
Qed.

(** theorem: sweep_near_limit — for v >= 32 and bits <= 1.41 v: tanh v, the sigmoid of v and 1 - exp(-v) lie in (1 - 2^-bits, 1), and silu v in (v - v 2^-bits, v). used by: src/certify/sweep_limit.c *)
Theorem sweep_near_limit :
  1 - pow2 (- bits) < tanh v < 1 /\ 1 - pow2 (- bits) < / (1 + exp (- v)) < 1 /\
  1 - pow2 (- bits) < 1 - exp (- v) < 1 /\ v - v * pow2 (- bits) < v / (1 + exp (- v)) < v.
Proof.
destruct gap_above as [_ [G1 G2]]. assert (P := exp_pos (- v)). assert (P2 := exp_pos (- (2 * v))).
set (e := exp (- v)) in *. set (g := pow2 (- bits)) in *.
assert (S : 1 - g < / (1 + e) < 1).
{ assert (I : / (1 + e) = 1 - e / (1 + e)) by (field; lra). rewrite I.
  assert (0 < e / (1 + e) <= e).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply (Rmult_le_reg_r (1 + e)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  lra. }
split; [|split; [exact S|split; [lra|]]].
- rewrite tanh_gap. set (f := exp (- (2 * v))) in *.
  assert (0 < 2 * f / (1 + f) <= 2 * f).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply (Rmult_le_reg_r (1 + f)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  lra.
- unfold Rdiv. replace (v - v * g) with (v * (1 - g)) by ring. split; [apply Rmult_lt_compat_l; lra|].
  rewrite <- (Rmult_1_r v) at 2. apply Rmult_lt_compat_l; lra.
Qed.
End Limit.

(** theorem: sweep_limit_error — a result a beside an exact value x in (size - gap, size): its distance, and its relative error, which grows with x where 0 < a < x; the same for x in (size, size + gap). used by: src/certify/sweep_limit.c *)
Theorem sweep_limit_error a x size gap : 0 < gap -> gap < size ->
  (size - gap < x < size ->
   (a < size -> size - a - gap <= Rabs (a - x)) /\ (a <= size - gap -> Rabs (a - x) <= size - a) /\
   (size <= a -> a - size <= Rabs (a - x) <= a - size + gap) /\
   Rabs (a - x) / size <= Rabs (a - x) / x <= Rabs (a - x) / (size - gap) /\
   (0 < a <= size - gap -> Rabs (a - x) / x <= (size - a) / size) /\ (a = 0 -> Rabs (a - x) / x = 1)) /\
  (size < x < size + gap ->
   (size < a -> a - size - gap <= Rabs (a - x)) /\ (size + gap <= a -> Rabs (a - x) <= a - size) /\
   (a <= size -> size - a <= Rabs (a - x) <= size - a + gap) /\
   Rabs (a - x) / (size + gap) <= Rabs (a - x) / x <= Rabs (a - x) / size /\ (a = 0 -> Rabs (a - x) / x = 1)).
Proof.
intros Pg Lg. assert (P := Rabs_pos (a - x)).
assert (Quotients : forall lo hi, 0 < lo -> lo <= x <= hi -> Rabs (a - x) / hi <= Rabs (a - x) / x <= Rabs (a - x) / lo).
{ intros lo hi Pl B. split; unfold Rdiv; (apply Rmult_le_compat_l; [exact P|]; apply Rinv_le_contravar; lra). }
assert (Zero : 0 < x -> a = 0 -> Rabs (a - x) / x = 1) by (intros X ->; rewrite Rabs_left1 by lra; field; lra).
split; intros [X1 X2]; assert (Px : 0 < x) by lra.
- split; [|split; [|split; [|split; [|split]]]].
  + intros _. rewrite Rabs_minus_sym. apply Rle_trans with (2 := Rle_abs (x - a)). lra.
  + intros H. rewrite Rabs_left1 by lra. lra.
  + intros H. rewrite Rabs_pos_eq by lra. lra.
  + apply Quotients; lra.
  + intros [Pa La]. rewrite Rabs_left1 by lra. replace (- (a - x) / x) with (1 - a / x) by (field; lra).
    replace ((size - a) / size) with (1 - a / size) by (field; lra). apply Rplus_le_compat_l, Ropp_le_contravar.
    unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra.
  + exact (Zero Px).
- split; [|split; [|split; [|split]]].
  + intros _. apply Rle_trans with (2 := Rle_abs (a - x)). lra.
  + intros H. rewrite Rabs_pos_eq by lra. lra.
  + intros H. rewrite Rabs_left1 by lra. lra.
  + apply Quotients; lra.
  + exact (Zero Px).
Qed.

(* ---- vast values ---- *)
(** theorem: sweep_vast — a finite float g beside an exact value x of at least 2^1000, whose binade begins at 2^e: its error is at least 2^999, within 2^-53 (g > 0) or 2^-52 (g < 0) of x relatively, and so of 2^23 to 2^24 units of 2^(e - 23). used by: src/certify/sweep_ball.c *)
Theorem sweep_vast g x e : Rabs g <= pow2 128 -> pow2 1000 <= x -> pow2 e <= x < pow2 (e + 1) ->
  let least := if Rlt_dec 0 g then 1 - pow2 (-53) else 1 in let most := if Rlt_dec g 0 then 1 + pow2 (-52) else 1 in
  pow2 999 <= Rabs (g - x) /\ least <= Rabs (g - x) / x <= most /\
  least * pow2 23 <= Rabs (g - x) / pow2 (e - 23) <= most * pow2 24.
Proof.
intros G X E least most. assert (PX : 0 < x) by (pose proof (bpow_gt_0 radix2 1000); lra).
assert (S : pow2 128 <= pow2 (-60) * x).
{ apply Rle_trans with (pow2 (-60) * pow2 1000); [rewrite <- bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_l; [apply bpow_ge_0|exact X]. }
assert (T : pow2 (-60) <= / 128 * pow2 (-53)).
{ change (-60)%Z with (-7 + -53)%Z. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (D : pow2 (-52) = 2 * pow2 (-53)) by (change (-52)%Z with (1 + -53)%Z; rewrite bpow_plus; change (pow2 1) with 2; ring).
assert (P53 : 0 < pow2 (-53) <= / 1024) by (split; [apply bpow_gt_0|apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]]).
assert (Sx : pow2 (-60) * x <= / 128 * pow2 (-53) * x) by (apply Rmult_le_compat_r; lra).
apply Rabs_le_inv in G. assert (Px53 : 0 < pow2 (-53) * x) by (apply Rmult_lt_0_compat; lra).
assert (Low : pow2 (-53) * x <= / 1024 * x) by (apply Rmult_le_compat_r; lra).
rewrite (Rabs_left1 (g - x)) by lra. set (d := - (g - x)).
assert (H : least * x <= d <= most * x).
{ unfold least, most, d. destruct (Rlt_dec 0 g), (Rlt_dec g 0); try lra; rewrite ?D; lra. }
assert (B : / 2 <= least /\ 0 < most).
{ unfold least, most. destruct (Rlt_dec 0 g), (Rlt_dec g 0); lra. }
clearbody least most. clear G. split; [|split].
- change 999%Z with (-1 + 1000)%Z. rewrite bpow_plus. change (pow2 (-1)) with (/ 2).
  assert (/ 2 * x <= least * x) by (apply Rmult_le_compat_r; lra). lra.
- split; apply (Rmult_le_reg_r x); try lra; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
- assert (Pe := bpow_gt_0 radix2 e). assert (Ee : pow2 (e - 23) = pow2 e / pow2 23).
  { unfold Z.sub. rewrite bpow_plus. change (- (23))%Z with (Z.opp 23). rewrite bpow_opp. reflexivity. }
  assert (P23 := bpow_gt_0 radix2 23). assert (E1 : pow2 (e + 1) = 2 * pow2 e) by (rewrite bpow_plus; change (pow2 1) with 2; ring).
  assert (E24 : pow2 24 = 2 * pow2 23) by (change 24%Z with (1 + 23)%Z; rewrite bpow_plus; change (pow2 1) with 2; ring).
  rewrite Ee, E24. replace (d / (pow2 e / pow2 23)) with (d * pow2 23 / pow2 e) by (field; lra).
  split; apply (Rmult_le_reg_r (pow2 e)); try lra; replace (d * pow2 23 / pow2 e * pow2 e) with (d * pow2 23) by (field; lra).
  + rewrite Rmult_assoc, (Rmult_comm (pow2 23)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    apply Rle_trans with (2 := proj1 H). apply Rmult_le_compat_l; lra.
  + replace (most * (2 * pow2 23) * pow2 e) with (most * (2 * pow2 e) * pow2 23) by ring. apply Rmult_le_compat_r; [lra|].
    apply Rle_trans with (1 := proj2 H). apply Rmult_le_compat_l; lra.
Qed.

(* ---- next to 0 ---- *)
(* f is within gap of the limit l > 0 and above it, or below it. *)
Definition beyond l gap f := l < f < l + gap.
Definition short l gap f := l - gap < f < l.

Lemma exp_next y : 0 < Rabs y <= / 2 -> Rabs (exp y - 1) <= 2 * Rabs y /\ 0 < exp y - 1 - y <= 2 * (y * y) /\
  (0 < y -> 1 < exp y) /\ (y < 0 -> exp y < 1).
Proof.
intros [P B]. assert (N : y <> 0) by (intros ->; rewrite Rabs_R0 in P; lra). apply Rabs_le_inv in B.
assert (L := exp_ineq1 y N). assert (L' := exp_ineq1_le (- y)). assert (E := exp_pos y).
assert (M : exp y * exp (- y) = 1) by (rewrite <- exp_plus; replace (y + - y) with 0 by ring; apply exp_0).
assert (U : exp y * (1 - y) <= 1) by (rewrite <- M; apply Rmult_le_compat_l; lra).
assert (V : (exp y - 1 - y) * (1 - y) <= y * y) by lra.
assert (W : exp y - 1 - y <= 2 * (y * y)).
{ assert (0 <= (exp y - 1 - y) * (/ 2 - y)) by (apply Rmult_le_pos; lra). lra. }
assert (Q : y * y <= / 2 * Rabs y).
{ rewrite <- (Rabs_pos_eq (y * y)) by apply Rle_0_sqr. rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|apply Rabs_le; lra]. }
split; [|split; [lra|split; [lra|]]].
- replace (exp y - 1) with (y + (exp y - 1 - y)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite (Rabs_pos_eq (exp y - 1 - y)) by lra. lra.
- intros Ny. rewrite <- exp_0. apply exp_increasing, Ny.
Qed.

Lemma log_next x : 0 < Rabs x <= / 2 -> 0 < x - ln (1 + x) <= 2 * (x * x).
Proof.
intros [P B]. assert (N : x <> 0) by (intros ->; rewrite Rabs_R0 in P; lra). apply Rabs_le_inv in B.
assert (E : exp (ln (1 + x)) = 1 + x) by (apply exp_ln; lra).
assert (Nl : ln (1 + x) <> 0) by (intros Z; rewrite Z, exp_0 in E; lra).
assert (U := exp_ineq1 _ Nl). assert (L := exp_ineq1_le (- ln (1 + x))). rewrite exp_Ropp, E in L.
assert (M : (1 - ln (1 + x)) * (1 + x) <= 1).
{ apply Rle_trans with (/ (1 + x) * (1 + x)); [apply Rmult_le_compat_r; lra|rewrite Rinv_l; lra]. }
split; [lra|]. assert (V : (x - ln (1 + x)) * (1 + x) <= x * x) by lra.
assert (0 <= (x - ln (1 + x)) * (/ 2 + x)) by (apply Rmult_le_pos; lra). lra.
Qed.

(* f(0) = 0 and f' = 1 - s with 0 < s(c) <= c^2 *)
Lemma slope_next (f s : R -> R) x : 0 < x -> f 0 = 0 -> (forall c, 0 <= c <= x -> is_derive f c (1 - s c)) ->
  (forall c, 0 < c < x -> 0 < s c <= c * c) -> 0 < x - f x <= x * x * x.
Proof.
intros P Z D S. destruct (MVT_cor2 f (fun c => 1 - s c) 0 x P) as [c [E [C1 C2]]].
{ intros c H. apply is_derive_Reals, D, H. }
rewrite Z in E. replace (x - f x) with (s c * x) by lra. specialize (S c (conj C1 C2)).
assert (c * c <= x * x) by (apply Rmult_le_compat; lra). split; [apply Rmult_lt_0_compat; lra|apply Rmult_le_compat_r; lra].
Qed.

Lemma cos_next x : 0 < x <= 1 -> 0 < 1 - cos x <= x * x.
Proof.
intros H. replace (cos x) with (cos (2 * (x / 2))) by (f_equal; field). rewrite cos_2a_sin.
assert (P : 0 < sin (x / 2)) by (apply sin_gt_0; [lra|pose proof PI2_1; lra]).
assert (L : sin (x / 2) < x / 2) by (apply sin_lt_x; lra).
assert (sin (x / 2) * sin (x / 2) <= x / 2 * (x / 2)) by (apply Rmult_le_compat; lra).
assert (0 < sin (x / 2) * sin (x / 2)) by (apply Rmult_lt_0_compat; lra). nra.
Qed.

Lemma sin_next x : 0 < x <= 1 -> 0 < x - sin x <= x * x * x.
Proof.
intros H. apply (slope_next sin (fun c => 1 - cos c)); [lra|apply sin_0| |].
- intros c _. replace (1 - (1 - cos c)) with (cos c) by ring. apply is_derive_Reals, derivable_pt_lim_sin.
- intros c C. apply cos_next. lra.
Qed.

Lemma tanh_0 : tanh 0 = 0.
Proof. unfold tanh. rewrite sinh_0. unfold Rdiv. ring. Qed.

Lemma tanh_slope c : is_derive tanh c (1 - tanh c * tanh c).
Proof.
unfold tanh, sinh, cosh. assert (P := exp_pos c). assert (Q := exp_pos (- c)). auto_derive; [lra|]. field. lra.
Qed.

Lemma tanh_pos x : 0 < x -> 0 < tanh x.
Proof.
intros H. unfold tanh, sinh, cosh. assert (P := exp_pos x). assert (Q := exp_pos (- x)).
assert (exp (- x) < exp x) by (apply exp_increasing; lra). apply Rdiv_lt_0_compat; lra.
Qed.

Lemma tanh_next x : 0 < x -> 0 < x - tanh x <= x * x * x.
Proof.
assert (L : forall x, 0 < x -> tanh x < x).
{ intros y H. destruct (MVT_cor2 tanh (fun c => 1 - tanh c * tanh c) 0 y H) as [c [E [C1 C2]]].
  - intros c _. apply is_derive_Reals, tanh_slope.
  - rewrite tanh_0 in E. assert (T := tanh_pos c C1). assert (0 < tanh c * tanh c * y) by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; exact T|exact H]). lra. }
intros H. apply (slope_next tanh (fun c => tanh c * tanh c)); [exact H|apply tanh_0|intros c _; apply tanh_slope|].
intros c [C1 C2]. assert (T := tanh_pos c C1). specialize (L c C1).
split; [apply Rmult_lt_0_compat; exact T|apply Rmult_le_compat; lra].
Qed.

(* The gaps of sweep_limit.c are 4 l |x| and, for sin, cos and tanh, 4 l x^2. *)
Lemma near_one x z : 0 < Rabs x -> Rabs (z - 1) <= 3 * Rabs x -> (0 < x -> 1 < z) -> (x < 0 -> z < 1) ->
  (0 < x -> beyond 1 (4 * Rabs x) z) /\ (x < 0 -> short 1 (4 * Rabs x) z).
Proof. intros P B U D. apply Rabs_le_inv in B. split; intros S; [specialize (U S)|specialize (D S)]; split; lra. Qed.

Lemma scaled_exp k x : 0 < k <= 1 -> 0 < Rabs x <= / 2 -> (0 < x -> beyond 1 (4 * Rabs x) (exp (k * x))) /\
  (x < 0 -> short 1 (4 * Rabs x) (exp (k * x))).
Proof.
intros K [P B]. assert (E : Rabs (k * x) = k * Rabs x) by (rewrite Rabs_mult, (Rabs_pos_eq k) by lra; reflexivity).
assert (S : 0 < Rabs (k * x) <= / 2).
{ rewrite E. split; [apply Rmult_lt_0_compat; lra|]. assert (k * Rabs x <= 1 * Rabs x) by (apply Rmult_le_compat_r; lra). lra. }
destruct (exp_next _ S) as [X1 [_ [X2 X3]]]. apply near_one; [exact P| | |].
- assert (k * Rabs x <= 1 * Rabs x) by (apply Rmult_le_compat_r; lra). lra.
- intros H. apply X2, Rmult_lt_0_compat; lra.
- intros H. apply X3. assert (0 < k * - x) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

(* Horner's rule for the Taylor polynomial of exp: nest x 1 m = 1 + x/1 (1 + x/2 (.. (1 + x/m))). *)
Fixpoint nest (x : R) (k m : nat) : R := match m with O => 1 | S l => 1 + x / INR k * nest x (S k) l end.

Lemma nest_size x m : Rabs x <= / 1000 -> forall k, (1 <= k)%nat -> 9 / 10 <= nest x k m <= 11 / 10.
Proof.
intros B. induction m as [|m IH]; intros k K; [simpl; lra|]. cbn [nest]. specialize (IH (S k) ltac:(lia)).
assert (Ik : 1 <= INR k) by (change 1 with (INR 1); apply le_INR, K).
assert (D : Rabs (x / INR k) <= / 1000).
{ unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ INR k)) by (left; apply Rinv_0_lt_compat; lra).
  assert (/ INR k <= / 1) by (apply Rinv_le_contravar; lra). pose proof (Rabs_pos x).
  assert (Rabs x * / INR k <= Rabs x * / 1) by (apply Rmult_le_compat_l; lra). lra. }
assert (Q : Rabs (x / INR k * nest x (S k) m) <= / 1000 * (11 / 10)).
{ rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [exact D|apply Rabs_le; lra]. }
apply Rabs_le_inv in Q. lra.
Qed.

(** theorem: sweep_near_zero — next to 0, |x| <= 2^-42, exp, 2^x, the sigmoid (beside 1/2) and Taylor polynomials are within 4 |x| of 1 and above it for x > 0, below it for x < 0; the Gaussian and the profiles the other way round; expm1 and log1p are within 4 x^2 of x, expm1 above and log1p below. used by: src/certify/sweep_limit.c, src/certify/sweep_reference.c *)
Theorem sweep_near_zero x : 0 < Rabs x <= pow2 (-42) -> let g := 4 * Rabs x in
  let rises l z := (0 < x -> beyond l (l * g) z) /\ (x < 0 -> short l (l * g) z) in
  let falls l z := (0 < x -> short l (l * g) z) /\ (x < 0 -> beyond l (l * g) z) in
  rises 1 (exp x) /\ rises 1 (exp (x * ln 2)) /\ rises (/ 2) (/ (1 + exp (- x))) /\ falls 1 (exp (- x / 2)) /\
  (x < exp x - 1 < x + Rabs x * g) /\ (x - Rabs x * g < ln (1 + x) < x) /\
  (forall m, (1 <= m)%nat -> rises 1 (nest x 1 m)) /\
  falls 1 (1 - x) /\ falls 1 ((1 - x) ^ 2) /\ falls 1 ((1 - x) ^ 3).
Proof.
intros [P B]. assert (T : pow2 (-42) <= / 1000) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|change (pow2 (-10)) with (/ 1024); lra]).
assert (B3 : Rabs x <= / 1000) by lra. assert (BX := Rabs_le_inv _ _ B3). clear B T.
assert (P2 : 0 < Rabs x <= / 2) by lra. cbv zeta.
assert (Near : forall s, 9 / 10 <= s <= 11 / 10 -> (0 < x -> beyond 1 (1 * (4 * Rabs x)) (1 + x * s)) /\ (x < 0 -> short 1 (1 * (4 * Rabs x)) (1 + x * s))).
{ intros s S. rewrite Rmult_1_l. apply near_one; [exact P| | |].
  - replace (1 + x * s - 1) with (x * s) by ring. rewrite Rabs_mult, (Rabs_pos_eq s) by lra.
    rewrite Rmult_comm. apply Rmult_le_compat_r; lra.
  - intros H. assert (0 < x * s) by (apply Rmult_lt_0_compat; lra). lra.
  - intros H. assert (0 < - x * s) by (apply Rmult_lt_0_compat; lra). lra. }
assert (Fall : forall s, 9 / 10 <= s <= 31 / 10 -> (0 < x -> short 1 (1 * (4 * Rabs x)) (1 - x * s)) /\ (x < 0 -> beyond 1 (1 * (4 * Rabs x)) (1 - x * s))).
{ intros s S. rewrite Rmult_1_l. split; intros H.
  - rewrite (Rabs_pos_eq x) by lra. assert (0 < x * s) by (apply Rmult_lt_0_compat; lra).
    assert (x * s <= x * (31 / 10)) by (apply Rmult_le_compat_l; lra). split; lra.
  - rewrite (Rabs_left x) by lra. assert (0 < - x * s) by (apply Rmult_lt_0_compat; lra).
    assert (- x * s <= - x * (31 / 10)) by (apply Rmult_le_compat_l; lra). split; lra. }
split; [|split; [|split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]]]].
- rewrite Rmult_1_l. replace (exp x) with (exp (1 * x)) by (f_equal; ring). apply scaled_exp; lra.
- rewrite Rmult_1_l, (Rmult_comm x). apply scaled_exp; [split; interval with (i_prec 60)|exact P2].
- assert (Ry : 0 < Rabs (- x) <= / 2) by (rewrite Rabs_Ropp; lra).
  destruct (exp_next _ Ry) as [X1 [_ [X2 X3]]]. rewrite Rabs_Ropp in X1. assert (E := exp_pos (- x)).
  set (e := exp (- x)) in *. assert (I : / (1 + e) = / 2 + (1 - e) / (2 * (1 + e))) by (field; lra).
  assert (Q : Rabs ((1 - e) / (2 * (1 + e))) <= Rabs x).
  { unfold Rdiv. rewrite Rabs_mult, Rabs_minus_sym. rewrite (Rabs_pos_eq (/ _)) by (left; apply Rinv_0_lt_compat; lra).
    replace (Rabs x) with (2 * Rabs x * / 2) by field. apply Rmult_le_compat; [apply Rabs_pos|left; apply Rinv_0_lt_compat; lra|exact X1|].
    apply Rinv_le_contravar; lra. }
  apply Rabs_le_inv in Q. split; intros H; rewrite I.
  + specialize (X3 ltac:(lra)). assert (0 < (1 - e) / (2 * (1 + e))) by (apply Rdiv_lt_0_compat; lra). split; lra.
  + specialize (X2 ltac:(lra)). assert (0 < (e - 1) / (2 * (1 + e))) by (apply Rdiv_lt_0_compat; lra).
    replace ((1 - e) / (2 * (1 + e))) with (- ((e - 1) / (2 * (1 + e)))) in * by (field; lra). split; lra.
- rewrite Rmult_1_l. assert (Ry : 0 < Rabs (- x) <= / 2) by (rewrite Rabs_Ropp; lra).
  destruct (scaled_exp (/ 2) (- x) ltac:(lra) Ry) as [X1 X2]. rewrite Rabs_Ropp in X1, X2.
  replace (- x / 2) with (/ 2 * - x) by field. split; intros H; [apply X2|apply X1]; lra.
- destruct (exp_next _ P2) as [_ [X _]]. assert (E : x * x = Rabs x * Rabs x) by (rewrite <- Rabs_mult; symmetry; apply Rabs_pos_eq, Rle_0_sqr).
  assert (0 < Rabs x * Rabs x) by (apply Rmult_lt_0_compat; lra). split; lra.
- assert (X := log_next _ P2). assert (E : x * x = Rabs x * Rabs x) by (rewrite <- Rabs_mult; symmetry; apply Rabs_pos_eq, Rle_0_sqr).
  assert (0 < Rabs x * Rabs x) by (apply Rmult_lt_0_compat; lra). split; lra.
- intros [|m] M; [lia|]. cbn [nest]. replace (x / INR 1) with x by (simpl; field). apply Near. apply nest_size; [exact B3|lia].
- replace (1 - x) with (1 - x * 1) by ring. apply Fall. lra.
- replace ((1 - x) ^ 2) with (1 - x * (2 - x)) by ring. apply Fall. lra.
- replace ((1 - x) ^ 3) with (1 - x * (3 - 3 * x + x * x)) by ring. apply Fall. split; interval with (i_prec 60).
Qed.

(** theorem: sweep_near_zero_second — for 0 < x <= 1, cos x lies in (1 - 2 x^2, 1), sin x and tanh x in (x - 2 x^3, x); for x < 0 by symmetry. used by: src/certify/sweep_limit.c, src/certify/sweep_reference.c *)
Theorem sweep_near_zero_second x : 0 < x <= 1 -> short 1 (2 * (x * x)) (cos x) /\
  short x (2 * (x * x * x)) (sin x) /\ short x (2 * (x * x * x)) (tanh x).
Proof.
intros H. assert (C := cos_next x H). assert (S := sin_next x H). assert (T := tanh_next x (proj1 H)).
assert (P : 0 < x * x) by (apply Rmult_lt_0_compat; lra). assert (P3 : 0 < x * x * x) by (apply Rmult_lt_0_compat; lra).
split; [|split]; split; lra.
Qed.
