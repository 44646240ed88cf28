(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The relative error of the logarithm, down to log 1 = 0. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary Relative Sterbenz.
From Gappa Require Import Gappa_tactic.
From Attest Require enclosure.summation.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants enclosure.log_isa
  enclosure.exp_method enclosure.exp_reduction enclosure.exp_float enclosure.log_series enclosure.log_method enclosure.log_float.
Open Scope R_scope.
Notation u := (pow2 (-53)).

(* the coefficients of z^3, z^5, .. summed: s in vd_log_series *)
Definition log_tail (o : ops) (w : o) : o :=
  fma (fma (fma (fma (fma (fma (fma (fma (fma (const LOG64_C21) w (const LOG64_C19)) w (const LOG64_C17)) w (const LOG64_C15))
    w (const LOG64_C13)) w (const LOG64_C11)) w (const LOG64_C9)) w (const LOG64_C7)) w (const LOG64_C5)) w (const LOG64_C3).

Lemma log_series_tail o z : vd_log_series o z = let y := fma (mul z (mul z z)) (log_tail o (mul z z)) z in add y y.
Proof. reflexivity. Qed.

Ltac open_tail := unfold log_tail, real64, exact, rnd64;
  cbv [real_ops carrier const fma add sub mul div]; log_numbers; rewrite ?Rmult_1_r.

Lemma tail_rounding z : f64 z -> z_range z -> Rabs (log_tail real64 (rnd64 (z * z)) - log_tail exact (z * z)) <= 3 * pow2 (-56).
Proof. intros F H. open_tail. gappa. Qed.

Lemma tail_size z : f64 z -> z_range z -> 1/4 <= log_tail real64 (rnd64 (z * z)) <= 3/8.
Proof. intros F H. open_tail. gappa. Qed.

Lemma u_small : 0 < u <= / 1000000.
Proof. simpl. lra. Qed.

Lemma rnd64_relative x : x = 0 \/ pow2 (-1000) <= Rabs x -> Rabs (rnd64 x - x) <= u * Rabs x.
Proof.
intros [->|H]; [unfold rnd64; rewrite round_0, Rminus_0_r, Rabs_R0 by apply valid_rnd_N; lra|].
replace u with (/ 2 * pow2 (- 53 + 1)) by (rewrite bpow_plus; change (pow2 1) with 2; change (- (53))%Z with (-53)%Z; lra).
apply (relative_error_N_FLT radix2 (-1074) 53 eq_refl). apply Rle_trans with (2 := H). apply bpow_le. lia.
Qed.

Lemma rnd64_id x : f64 x -> rnd64 x = x.
Proof. intros F. apply round_generic; [apply valid_rnd_N|exact F]. Qed.

Lemma f64_double y : f64 y -> f64 (y + y).
Proof.
intros F. replace (y + y) with (y * bpow radix2 1) by (change (bpow radix2 1) with 2; ring).
apply (Mult_error.mult_bpow_pos_exact_FLT radix2 (-1074) 53); [exact F|lia].
Qed.

Lemma f64_rnd64 x : f64 (rnd64 x).
Proof. apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N]. Qed.

(* z itself as it is: 1.24 u *)
Lemma series_rounding z : f64 z -> z_range z -> z = 0 \/ pow2 (-300) <= Rabs z ->
  Rabs (vd_log_series real64 z - atanh2 z) <= 124/100 * u * (2 * Rabs z).
Proof.
intros F H N. assert (Us := u_small).
assert (M := log_series_method z H). rewrite (log_series_tail exact) in M.
assert (R := tail_rounding z F H). assert (S := tail_size z F H).
rewrite log_series_tail. cbv zeta in *.
change (@mul real64 z z) with (rnd64 (z * z)) in *. set (w := rnd64 (z * z)) in *.
change (@mul exact z z) with (z * z) in *. change (@mul exact z (z * z)) with (z * (z * z)) in *.
change (@mul real64 z w) with (rnd64 (z * w)) in *. set (c := rnd64 (z * w)) in *.
set (s := log_tail real64 w) in *. set (s0 := log_tail exact (z * z)) in *.
change (@fma exact (z * (z * z)) s0 z) with (z * (z * z) * s0 + z) in M. 
change (@add exact (z * (z * z) * s0 + z) (z * (z * z) * s0 + z)) with ((z * (z * z) * s0 + z) + (z * (z * z) * s0 + z)) in M.
change (@fma real64 c s z) with (rnd64 (c * s + z)). set (y := rnd64 (c * s + z)).
change (@add real64 y y) with (rnd64 (y + y)). rewrite (rnd64_id (y + y)) by apply f64_double, f64_rnd64.
assert (Pz := Rabs_pos z). set (a := Rabs z) in *.
assert (Ba : a <= 172/1000) by (clear - H; simpl in H; lra).
assert (Aa : z * z = a * a) by (unfold a; rewrite <- Rabs_mult; symmetry; apply Rabs_pos_eq, Rle_0_sqr).
assert (Sq : 0 <= a * a <= 29584/1000000) by (split; [apply Rmult_le_pos; lra|apply Rle_trans with (172/1000 * (172/1000)); [apply Rmult_le_compat; lra|lra]]).
(* w and c *)
assert (far : forall k x, (-1000 <= k)%Z -> (z = 0 -> x = 0) -> (pow2 (-300) <= a -> pow2 k <= Rabs x) -> x = 0 \/ pow2 (-1000) <= Rabs x).
{ intros k x K Z B. destruct N as [N|N]; [left; auto|right]. apply Rle_trans with (pow2 k); [apply bpow_le, K|apply B, N]. }
assert (W : Rabs (w - z * z) <= u * (a * a)).
{ unfold w. rewrite <- (Rabs_pos_eq (a * a)) by lra. rewrite <- Aa. apply rnd64_relative, (far (-600)%Z); [lia|intros ->; ring|].
  intros B. rewrite Rabs_mult. fold a. change (-600)%Z with (-300 + -300)%Z. rewrite bpow_plus. 
  apply Rmult_le_compat; try apply bpow_ge_0; exact B. }
assert (Wb : Rabs w <= a * a * (1 + u)).
{ replace w with ((w - z * z) + z * z) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite (Rabs_pos_eq (z * z)) by (rewrite Aa; lra). rewrite Aa in *. lra. }
assert (Cw : Rabs (c - z * w) <= u * (a * Rabs w)).
{ unfold c. replace (a * Rabs w) with (Rabs (z * w)) by (rewrite Rabs_mult; reflexivity).
  apply rnd64_relative, (far (-902)%Z); [lia|intros ->; ring|]. intros B. rewrite Rabs_mult. fold a.
  change (-902)%Z with (-300 + -602)%Z. rewrite bpow_plus.
  apply Rmult_le_compat; try apply bpow_ge_0; [exact B|].
  assert (B2 : pow2 (-600) <= a * a) by (change (-600)%Z with (-300 + -300)%Z; rewrite bpow_plus; apply Rmult_le_compat; try apply bpow_ge_0; exact B).
  assert (E : pow2 (-602) = / 4 * pow2 (-600)) by (change (-602)%Z with (-2 + -600)%Z; rewrite bpow_plus; reflexivity).
  apply Rabs_le_inv in W. rewrite Aa in W. assert (u * (a * a) <= / 1000000 * (a * a)) by (apply Rmult_le_compat_r; lra).
  assert (P0 := bpow_gt_0 radix2 (-600)). rewrite Rabs_pos_eq by lra. lra. }
(* c s against z^3 s0 *)
set (b := a * (a * a)).
assert (Pb : 0 <= b <= 29584/1000000 * a) by (unfold b; split; [apply Rmult_le_pos; lra|rewrite Rmult_comm; apply Rmult_le_compat_r; lra]).
assert (Cb : Rabs (c - z * (z * z)) <= 201/100 * u * b).
{ replace (c - z * (z * z)) with ((c - z * w) + z * (w - z * z)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  rewrite (Rabs_mult z). fold a.
  assert (a * Rabs (w - z * z) <= a * (u * (a * a))) by (apply Rmult_le_compat_l; lra).
  assert (a * Rabs w <= a * (a * a * (1 + u))) by (apply Rmult_le_compat_l; lra).
  assert (u * (a * Rabs w) <= u * (a * (a * a * (1 + u)))) by (apply Rmult_le_compat_l; lra).
  assert (u * (u * b) <= / 1000000 * (u * b)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos|]; lra).
  assert (0 <= u * b) by (apply Rmult_le_pos; lra). unfold b in *. lra. }
assert (Zb : Rabs (z * (z * z)) = b) by (rewrite Aa, Rabs_mult, (Rabs_pos_eq (a * a)) by lra; reflexivity).
assert (Q : Rabs (c * s - z * (z * z) * s0) <= 115/100 * u * b).
{ replace (c * s - z * (z * z) * s0) with ((c - z * (z * z)) * s + z * (z * z) * (s - s0)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !(Rabs_mult _ s), (Rabs_mult (z * (z * z))), Zb, (Rabs_pos_eq s) by lra.
  assert (Rabs (c - z * (z * z)) * s <= 201/100 * u * b * (3/8)) by (apply Rmult_le_compat; try lra; apply Rabs_pos).
  assert (E : 3 * pow2 (-56) = 3/8 * u) by (change (-56)%Z with (-3 + -53)%Z; rewrite bpow_plus; simpl (pow2 (-3)); lra).
  rewrite E in R. assert (b * Rabs (s - s0) <= b * (3/8 * u)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= u * b) by (apply Rmult_le_pos; lra). lra. }
assert (Cs : Rabs (c * s) <= 12/1000 * a).
{ rewrite Rabs_mult, (Rabs_pos_eq s) by lra.
  assert (Rabs c <= b * (1 + / 100000)).
  { replace c with ((c - z * (z * z)) + z * (z * z)) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite Zb.
    assert (u * b <= / 1000000 * b) by (apply Rmult_le_compat_r; lra). lra. }
  assert (Rabs c * s <= b * (1 + / 100000) * (3/8)) by (apply Rmult_le_compat; try lra; apply Rabs_pos). lra. }
assert (Y : Rabs (y - (c * s + z)) <= u * (1012/1000 * a)).
{ assert (T : Rabs (c * s + z) <= 1012/1000 * a) by (eapply Rle_trans; [apply Rabs_triang|]; fold a; lra).
  apply Rle_trans with (u * Rabs (c * s + z)); [|apply Rmult_le_compat_l; lra].
  unfold y. apply rnd64_relative, (far (-301)%Z); [lia| |].
  - intros Z0. assert (A0 : a = 0) by (unfold a; rewrite Z0; apply Rabs_R0). rewrite A0 in Cs.
    assert (Rabs (c * s) = 0) by (assert (Rp := Rabs_pos (c * s)); lra). rewrite Z0, Rplus_0_r.
    destruct (Req_dec (c * s) 0) as [E|E]; [exact E|]. apply Rabs_no_R0 in E. lra.
  - intros B. assert (E : pow2 (-301) = / 2 * pow2 (-300)) by (change (-301)%Z with (-1 + -300)%Z; rewrite bpow_plus; reflexivity).
    assert (T2 := Rabs_triang_inv z (- (c * s))). rewrite Rabs_Ropp in T2. fold a in T2.
    replace (z - - (c * s)) with (c * s + z) in T2 by ring. assert (P0 := bpow_gt_0 radix2 (-300)). lra. }
replace (y + y - atanh2 z) with (2 * (y - (c * s + z)) + 2 * (c * s - z * (z * z) * s0) +
  ((z * (z * z) * s0 + z) + (z * (z * z) * s0 + z) - atanh2 z)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
assert (T : Rabs (2 * (y - (c * s + z)) + 2 * (c * s - z * (z * z) * s0)) <= 2 * (u * (1012/1000 * a)) + 2 * (115/100 * u * b)).
{ eapply Rle_trans; [apply Rabs_triang|]. rewrite !(Rabs_mult 2), (Rabs_pos_eq 2) by lra. lra. }
assert (E : 3 * pow2 (-56) = 3/8 * u) by (change (-56)%Z with (-3 + -53)%Z; rewrite bpow_plus; simpl (pow2 (-3)); lra).
rewrite E in M.
assert (u * b <= u * (29584/1000000 * a)) by (apply Rmult_le_compat_l; lra).
assert (0 <= u * a) by (apply Rmult_le_pos; lra). lra.
Qed.

(* z = m / p, with the sum p and the quotient rounded *)
Lemma quotient_rounding m p : m = 0 \/ pow2 (-150) <= Rabs m -> 1 <= p <= 4 -> z_range (m / p) ->
  Rabs (m / p) <= 1716/10000 ->
  let y := rnd64 (m / rnd64 p) in let z := m / p in
  Rabs (y - z) <= 2001/1000 * u * Rabs z /\ z_range y /\ (y = 0 \/ pow2 (-300) <= Rabs y).
Proof.
intros N P H B y z. assert (Us := u_small).
assert (Rp : Rabs (rnd64 p - p) <= u * p).
{ rewrite <- (Rabs_pos_eq p) at 3 by lra. apply rnd64_relative. right. rewrite Rabs_pos_eq by lra.
  apply Rle_trans with 1; [change 1 with (pow2 0); apply bpow_le; lia|lra]. }
apply Rabs_le_inv in Rp. set (r := rnd64 p) in *.
assert (Up : u * p <= / 1000000 * p) by (apply Rmult_le_compat_r; lra).
assert (Pr : 0 < r) by lra.
assert (Q : Rabs (m / r - z) <= u * (1 + / 100000) * Rabs z).
{ replace (m / r - z) with (z * ((p - r) / r)) by (unfold z; field; lra). rewrite Rabs_mult, Rmult_comm.
  apply Rmult_le_compat_r; [apply Rabs_pos|]. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq r) by lra.
  apply (Rmult_le_reg_r r); [exact Pr|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (Rabs (p - r) <= u * p) by (apply Rabs_le; lra).
  assert (u * ((1 + / 100000) * r) >= u * p); [|lra]. apply Rle_ge, Rmult_le_compat_l; lra. }
assert (Mz : Rabs (m / r) <= (1 + 2 * u) * Rabs z).
{ replace (m / r) with ((m / r - z) + z) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (0 <= u * Rabs z) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra. }
assert (Far : m / r = 0 \/ pow2 (-153) <= Rabs (m / r)).
{ destruct N as [->|N]; [left; unfold Rdiv; ring|right]. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq r) by lra.
  change (-153)%Z with (-150 + -3)%Z. rewrite bpow_plus. apply Rmult_le_compat; try apply bpow_ge_0; [exact N|].
  change (pow2 (-3)) with (/ 8). apply Rinv_le; lra. }
assert (Y : Rabs (y - m / r) <= u * Rabs (m / r)).
{ apply rnd64_relative. destruct Far as [F|F]; [now left|right]. apply Rle_trans with (2 := F). apply bpow_le. lia. }
assert (Pz := Rabs_pos z). set (a := Rabs z) in *.
assert (D : Rabs (y - z) <= 2001/1000 * u * a).
{ replace (y - z) with ((y - m / r) + (m / r - z)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (u * Rabs (m / r) <= u * ((1 + 2 * u) * a)) by (apply Rmult_le_compat_l; lra).
  assert (u * (u * a) <= / 1000000 * (u * a)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos|]; lra).
  assert (0 <= u * a) by (apply Rmult_le_pos; lra). lra. }
split; [exact D|]. assert (Ua : u * a <= / 1000000 * a) by (apply Rmult_le_compat_r; lra). split.
- replace y with ((y - z) + z) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold a. fold z in B. fold a in B. simpl in *. lra.
- destruct Far as [F|F].
  + left. unfold y. rewrite F. unfold rnd64. apply round_0, valid_rnd_N.
  + right. apply Rle_trans with (pow2 (-153)); [apply bpow_le; lia|].
    unfold y. apply abs_round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact F].
    apply generic_format_bpow. unfold FLT_exp. lia.
Qed.

(* the two together: 3.35 u *)
Lemma atanh2_rounding m p : m = 0 \/ pow2 (-150) <= Rabs m -> 1 <= p <= 4 -> z_range (m / p) ->
  Rabs (m / p) <= 1716/10000 ->
  Rabs (vd_log_series real64 (rnd64 (m / rnd64 p)) - atanh2 (m / p)) <= 335/100 * u * Rabs (atanh2 (m / p)).
Proof.
intros N P H B. assert (Us := u_small). destruct (quotient_rounding m p N P H B) as [D [Hy Ny]].
set (y := rnd64 (m / rnd64 p)) in *. set (z := m / p) in *.
assert (S := series_rounding y (f64_rnd64 _) Hy Ny). assert (M := atanh2_moves y z Hy H). assert (L := atanh2_size z H).
assert (Pz := Rabs_pos z). set (a := Rabs z) in *.
assert (Ya : Rabs y <= a * (1 + / 100000)).
{ replace y with ((y - z) + z) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold a.
  assert (u * a <= / 1000000 * a) by (apply Rmult_le_compat_r; lra). lra. }
replace (vd_log_series real64 y - atanh2 z) with ((vd_log_series real64 y - atanh2 y) + (atanh2 y - atanh2 z)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
assert (124/100 * u * (2 * Rabs y) <= 124/100 * u * (2 * (a * (1 + / 100000)))) by (apply Rmult_le_compat_l; lra).
assert (335/100 * u * (2 * a) <= 335/100 * u * Rabs (atanh2 z)) by (apply Rmult_le_compat_l; lra).
assert (0 <= u * a) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma f_range f : log_range f -> f64 f -> z_range ((f - 1) / (f + 1)) /\ Rabs ((f - 1) / (f + 1)) <= 1716/10000.
Proof.
intros H _. assert (B : Rabs ((f - 1) / (f + 1)) <= 17159/100000).
{ simpl in H. unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (f + 1)) by lra.
  apply (Rmult_le_reg_r (f + 1)); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Rabs_le. lra. }
simpl. lra.
Qed.

(* f is a multiple of 2^-53 *)
Lemma f_away f : f64 f -> log_range f -> f <> 1 -> pow2 (-53) <= Rabs (f - 1).
Proof.
intros F H N. assert (A : 7/10 <= f <= 3/2) by (simpl in H; lra).
assert (G : exists n : Z, f - 1 = IZR n * pow2 (-53)).
{ assert (C : (-53 <= cexp radix2 (FLT_exp (-1074) 53) f)%Z).
  { unfold cexp, FLT_exp. assert (mag radix2 f >= 0)%Z.
    { apply Z.le_ge. apply mag_ge_bpow. rewrite Rabs_pos_eq by lra. change (bpow radix2 (0 - 1)) with (/ 2). lra. } lia. }
  set (e := cexp radix2 (FLT_exp (-1074) 53) f) in *. assert (E0 : f = IZR (Ztrunc (scaled_mantissa radix2 (FLT_exp (-1074) 53) f)) * pow2 e) by exact F.
  set (t := Ztrunc _) in E0. rewrite E0.
  exists (t * 2 ^ (e + 53) - 2 ^ 53)%Z. rewrite minus_IZR, mult_IZR, !(IZR_Zpower radix2) by lia.
  replace (pow2 e) with (pow2 (e + 53) * pow2 (-53)) by (rewrite <- bpow_plus; f_equal; ring).
  assert (E : bpow radix2 53 * pow2 (-53) = 1) by (rewrite <- bpow_plus; reflexivity).
  rewrite Rmult_minus_distr_r, E. ring. }
destruct G as [n G]. rewrite G, Rabs_mult, (Rabs_pos_eq (pow2 (-53))), <- abs_IZR by apply bpow_ge_0.
assert (n <> 0)%Z by (intros ->; apply N; lra).
rewrite <- (Rmult_1_l (pow2 (-53))) at 1. apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply IZR_le. lia.
Qed.

Lemma log_fraction_relative f : f64 f -> log_range f -> Rabs (vd_log_fraction real64 f - ln f) <= 335/100 * u * Rabs (ln f).
Proof.
intros F H. assert (A : 7/10 <= f <= 3/2) by (simpl in H; lra).
rewrite <- atanh2_quotient by lra.
assert (E1 : @const real64 (Dyadic 1 0) = 1) by (simpl; unfold dyadic_R; simpl; ring).
unfold vd_log_fraction. rewrite E1.
change (@sub real64 f 1) with (rnd64 (f - 1)). change (@add real64 f 1) with (rnd64 (f + 1)).
change (@div real64 (rnd64 (f - 1)) (rnd64 (f + 1))) with (rnd64 (rnd64 (f - 1) / rnd64 (f + 1))).
assert (F1 : f64 1).
{ change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp. lia. }
rewrite (rnd64_id (f - 1)) by (apply sterbenz; [apply FLT_exp_valid; reflexivity|apply FLT_exp_monotone|exact F|exact F1|lra]).
destruct (f_range f H F) as [R1 R2]. apply atanh2_rounding; [|lra|exact R1|exact R2].
destruct (Req_dec f 1) as [->|N]; [left; ring|right].
apply Rle_trans with (2 := f_away f F H N). apply bpow_le. lia.
Qed.

#[local] Instance prec53 : Prec_gt_0 53 := eq_refl.

Lemma rnd64_half x : Rabs x < 1/2 -> Rabs (rnd64 x - x) <= pow2 (-55).
Proof.
intros H. assert (E := error_le_half_ulp radix2 (FLT_exp (-1074) 53) (fun t => negb (Z.even t)) x).
eapply Rle_trans; [exact E|]. change (pow2 (-55)) with (pow2 (-1 + -54)). rewrite bpow_plus. change (pow2 (-1)) with (/ 2).
apply Rmult_le_compat_l; [lra|]. destruct (Req_dec x 0) as [->|N].
- rewrite ulp_FLT_0 by reflexivity. apply bpow_le. lia.
- rewrite ulp_neq_0 by exact N. apply bpow_le. unfold cexp, FLT_exp.
  assert (M : (mag radix2 x <= -1)%Z); [|lia].
  apply mag_le_bpow; [exact N|]. change (pow2 (-1)) with (/ 2). lra.
Qed.

(* f = 1, or log f is not tiny *)
Lemma fraction_away f : f64 f -> log_range f -> f = 1 \/ pow2 (-60) <= Rabs (ln f).
Proof.
intros F H. destruct (Req_dec f 1) as [E|N]; [now left|right].
assert (A : 7/10 <= f <= 3/2) by (simpl in H; lra).
rewrite <- atanh2_quotient by lra. destruct (f_range f H F) as [R1 R2].
apply Rle_trans with (2 := atanh2_size _ R1). assert (D := f_away f F H N).
unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (f + 1)) by lra.
assert (/ 4 <= / (f + 1)) by (apply Rinv_le; lra).
assert (pow2 (-53) * / 4 <= Rabs (f - 1) * / (f + 1)) by (apply Rmult_le_compat; try lra; apply bpow_ge_0).
apply Rle_trans with (pow2 (-53) * / 4); [|assert (0 <= pow2 (-53)) by apply bpow_ge_0; lra].
change (/ 4) with (pow2 (-2)). rewrite <- bpow_plus. apply bpow_le. lia.
Qed.

Lemma size_near (a b : R) : Rabs b <= Rabs a + Rabs (a - b).
Proof.
replace b with (a + - (a - b)) at 1 by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. apply Rle_refl.
Qed.

Lemma ln_monotone x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros P [H| ->]; [left; apply ln_increasing; assumption|apply Rle_refl]. Qed.

(* v = 2^k f: log v in two parts *)
Lemma ln_split v f k : v = f * bpow radix2 k -> 0 < f -> ln v = IZR k * ln 2 + ln f.
Proof.
intros -> P. rewrite ln_mult by (try exact P; apply bpow_gt_0). rewrite Rplus_comm. f_equal.
rewrite bpow_exp, ln_exp. simpl. reflexivity.
Qed.

Lemma log64_parts_relative x v : stands64 x v -> pow2 (-1022) <= v ->
  exists k f l, stands64 (exponent x (const LOG64_ROOT) (const EXP64_ROUND)) (IZR k) /\
    stands64 (vd_log_fraction float64 (fraction x (const LOG64_ROOT))) l /\
    ln v = IZR k * ln 2 + ln f /\ Rabs (IZR k) <= 1025 /\
    Rabs (l - ln f) <= 335/100 * u * Rabs (ln f) /\ Rabs (ln f) <= 34662/100000 /\ f64 l /\
    (l = 0 \/ pow2 (-200) <= Rabs l) /\ (k <> 0%Z -> 34656/100000 <= Rabs (ln v)).
Proof.
intros Hx Nv. destruct (log64_parts x v Hx Nv) as [k [f [Ev [Bf [Ha [Ff [Bkr [Hn Hl]]]]]]]].
assert (Pf : 7/10 <= f <= 3/2) by (simpl in Ha; lra).
exists k, f, (vd_log_fraction real64 f). split; [exact Hn|]. split; [exact Hl|].
assert (El := ln_split v f k Ev ltac:(lra)). split; [exact El|]. split; [exact Bkr|].
assert (Rl := log_fraction_relative f Ff Ha). split; [exact Rl|].
assert (Lf := log_range_ln f Ha). split; [exact Lf|].
split; [exact (stands_format 52 11 eq_refl eq_refl eq_refl nan64 _ _ Hl)|]. split.
- destruct (fraction_away f Ff Ha) as [->|A].
  + left. rewrite ln_1, Rabs_R0, Rmult_0_r, Rminus_0_r in Rl. destruct (Req_dec (vd_log_fraction real64 1) 0) as [E|E]; [exact E|].
    apply Rabs_no_R0 in E. assert (P := Rabs_pos (vd_log_fraction real64 1)). lra.
  + right. assert (Us := u_small). assert (Q := size_near (vd_log_fraction real64 f) (ln f)).
    assert (u * Rabs (ln f) <= / 1000000 * Rabs (ln f)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
    assert (P := bpow_ge_0 radix2 (-60)). assert (pow2 (-200) <= / 2 * pow2 (-60)); [|lra].
    change (/ 2) with (pow2 (-1)). rewrite <- bpow_plus. apply bpow_le. lia.
- intros K. assert (R0 : 0 < v) by (apply Rlt_le_trans with (2 := Nv), bpow_gt_0).
  destruct root_ln as [L1 [L2 Pr]]. set (root := dyadic_R LOG64_ROOT) in *.
  destruct (Z_lt_le_dec 0 k) as [Kp|Kn].
  + assert (B : 2 * root <= v).
    { rewrite Ev. assert (2 <= bpow radix2 k) by (change 2 with (bpow radix2 1); apply bpow_le; lia).
      rewrite Rmult_comm. apply Rmult_le_compat; lra. }
    apply Rle_trans with (1 := L2). eapply Rle_trans; [|apply Rle_abs]. apply ln_monotone; lra.
  + assert (B : v <= root).
    { rewrite Ev. assert (bpow radix2 k <= / 2) by (change (/ 2) with (bpow radix2 (-1)); apply bpow_le; lia).
      assert (P := bpow_gt_0 radix2 k). apply Rle_trans with (2 * root * / 2); [apply Rmult_le_compat; lra|lra]. }
    rewrite <- Rabs_Ropp. apply Rle_trans with (1 := L1). eapply Rle_trans; [|apply Rle_abs].
    apply Ropp_le_contravar, ln_monotone; lra.
Qed.

(** theorem: log64_relative — vd_log of a finite normal x > 0 is within 5.1 units of roundoff of log x, relative: exactly 0 at 1. used by: src/enclosure/log_isa.h, src/certify/sweep_enclose_isa.c *)
Theorem log64_relative x v : stands64 x v -> pow2 (-1022) <= v -> exists y, stands64 (vd_log float64 x) y /\
  Rabs (y - ln v) <= 51/10 * u * Rabs (ln v) /\ (y = 0 \/ pow2 (-200) <= Rabs y) /\ Rabs y <= 1024.
Proof.
intros Hx Nv. destruct (log64_parts_relative x v Hx Nv) as [k [f [l [Hn [Hl [El [Bk [Rl [Bf [Fl [Al Ak]]]]]]]]]]].
assert (Us := u_small). set (LO := dyadic_R EXP64_LN2_LO). set (HI := dyadic_R EXP64_LN2_HI).
assert (Uf : u * Rabs (ln f) <= / 1000000 * Rabs (ln f)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
assert (Bl : Rabs l <= 3467/10000).
{ assert (Q := size_near (ln f) l). rewrite (Rabs_minus_sym (ln f)) in Q. lra. }
assert (BLO : Rabs (IZR k * LO) <= / 1000000).
{ rewrite Rabs_mult. apply Rle_trans with (1025 * / 10000000000); [|lra].
  apply Rmult_le_compat; try apply Rabs_pos; [exact Bk|]. unfold LO. log_numbers. simpl. apply Rabs_le. lra. }
assert (BQ : Rabs (IZR k * LO + l) < 1/2) by (eapply Rle_lt_trans; [apply Rabs_triang|]; lra).
set (low := rnd64 (IZR k * LO + l)).
assert (Hlow : stands64 (fma (exponent x (const LOG64_ROOT) (const EXP64_ROUND)) (const EXP64_LN2_LO)
  (vd_log_fraction float64 (fraction x (const LOG64_ROOT)))) low).
{ apply fma64; [exact Hn|apply const64; reflexivity|exact Hl|apply below_most; fold LO; lra]. }
assert (N1 := rnd64_half _ BQ). fold low in N1.
assert (E55 : pow2 (-55) = / 4 * u) by (change (-55)%Z with (-2 + -53)%Z; rewrite bpow_plus; reflexivity).
assert (Blow : Rabs low <= 1).
{ assert (Q := size_near (IZR k * LO + l) low). rewrite (Rabs_minus_sym (IZR k * LO + l)) in Q. lra. }
assert (BHI : Rabs (IZR k * HI) <= 1025 * (7/10)).
{ rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [exact Bk|]. unfold HI. log_numbers. simpl. apply Rabs_le. lra. }
set (Y := IZR k * HI + low).
assert (BY : Rabs Y <= 720) by (unfold Y; eapply Rle_trans; [apply Rabs_triang|]; lra).
exists (rnd64 Y). split.
{ apply fma64; [exact Hn|apply const64; reflexivity|exact Hlow|]. fold HI. fold Y.
  apply Rle_trans with 1024; [lra|]. change 1024 with (bpow radix2 10). apply bpow_le. lia. }
assert (BR : Rabs (rnd64 Y) <= 1024).
{ change 1024 with (bpow radix2 10). apply rnd64_within; [lia|]. change (bpow radix2 10) with 1024. lra. }
destruct (Z.eq_dec k 0) as [K|K].
- assert (E0 : low = l).
  { unfold low. rewrite K, Rmult_0_l, Rplus_0_l. apply rnd64_id, Fl. }
  assert (EY : rnd64 Y = l).
  { unfold Y. rewrite E0, K, Rmult_0_l, Rplus_0_l. apply rnd64_id, Fl. }
  rewrite EY in *. rewrite K, Rmult_0_l, Rplus_0_l in El. rewrite El.
  split; [|split; [exact Al|exact BR]]. apply Rle_trans with (1 := Rl). apply Rmult_le_compat_r; [apply Rabs_pos|lra].
- specialize (Ak K). assert (S2 : Rabs (IZR k * (HI + LO - ln 2)) <= pow2 (-78)).
  { rewrite Rabs_mult. apply Rle_trans with (bpow radix2 11 * pow2 (-89)); [|rewrite <- bpow_plus; apply bpow_le; lia].
    apply Rmult_le_compat; try apply Rabs_pos; [simpl; lra|].
    pose proof ln2_split64 as L. rewrite Rabs_minus_sym, Rmult_1_l in L. exact L. }
  assert (E78 : pow2 (-78) <= / 1000 * u).
  { change (-78)%Z with (-25 + -53)%Z. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
  assert (D : Rabs (Y - ln v) <= 14125/10000 * u).
  { replace (Y - ln v) with ((low - (IZR k * LO + l)) + IZR k * (HI + LO - ln 2) + (l - ln f)) by (unfold Y; rewrite El; ring).
    eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    assert (u * Rabs (ln f) <= u * (34662/100000)) by (apply Rmult_le_compat_l; lra). lra. }
  set (L := Rabs (ln v)) in *.
  assert (YL : Rabs Y <= L + 2 * u).
  { assert (Q := size_near (ln v) Y). rewrite (Rabs_minus_sym (ln v)) in Q. fold L in Q. lra. }
  assert (YA : 1/4 <= Rabs Y).
  { assert (Q := size_near Y (ln v)). fold L in Q. lra. }
  assert (N2 : Rabs (rnd64 Y - Y) <= u * Rabs Y).
  { apply rnd64_relative. right. apply Rle_trans with (2 := YA). apply Rle_trans with (pow2 (-2)); [apply bpow_le; lia|simpl; lra]. }
  split; [|split; [|exact BR]].
  + replace (rnd64 Y - ln v) with ((rnd64 Y - Y) + (Y - ln v)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (u * Rabs Y <= u * (L + 2 * u)) by (apply Rmult_le_compat_l; lra).
    assert (u * u <= / 1000000 * u) by (apply Rmult_le_compat_r; lra).
    assert (u * (34656/100000) <= u * L) by (apply Rmult_le_compat_l; lra). lra.
  + right. assert (Q := size_near (rnd64 Y) Y). assert (u * Rabs Y <= / 1000000 * Rabs Y) by (apply Rmult_le_compat_r; lra).
    apply Rle_trans with (/ 8); [|lra]. change (/ 8) with (pow2 (-3)). apply bpow_le. lia.
Qed.
