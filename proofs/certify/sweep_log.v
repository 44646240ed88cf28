(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The enclosures of log, log2 and log1p in sweeps. *)
From Coq Require Import ZArith Reals Lra Lia.
From Flocq Require Import Core Binary.
From Attest Require enclosure.log_method enclosure.log_float enclosure.log_relative.
From Attest Require Import enclosure.float_ops enclosure.exp_constants enclosure.log_constants enclosure.log_isa
  enclosure.log_series certify.sweep_isa certify.sweep_rounding certify.sweep_algebraic.
Open Scope R_scope.

(* off by c u of the exact value is off by a little more of the computed one *)
Lemma relative_swap y t c e : 0 <= c -> c + / 1000 <= e -> e <= 10 -> Rabs (y - t) <= c * u * Rabs t -> Rabs (t - y) <= e * u * Rabs y.
Proof.
intros C E1 E2 H. assert (Us := u_small). rewrite Rabs_minus_sym. assert (Q := log_relative.size_near y t).
assert (Pt := Rabs_pos t). assert (Py := Rabs_pos y).
assert (CT : c * u * Rabs t <= / 10000 * Rabs t).
{ apply Rmult_le_compat_r; [lra|]. apply Rle_trans with (10 * / 1000000); [apply Rmult_le_compat; lra|lra]. }
apply Rle_trans with (1 := H). replace (c * u * Rabs t) with (u * (c * Rabs t)) by ring. replace (e * u * Rabs y) with (u * (e * Rabs y)) by ring.
apply Rmult_le_compat_l; [lra|].
assert (T : Rabs t <= Rabs y + c * u * Rabs t) by lra.
assert (U1 : c * (c * u * Rabs t) <= / 2000 * Rabs t).
{ apply Rle_trans with (c * (c * (/ 1000000 * Rabs t))).
  - repeat (apply Rmult_le_compat_l; [assumption|]). rewrite Rmult_assoc. repeat (apply Rmult_le_compat_l; [assumption|]). apply Rmult_le_compat_r; lra.
  - assert (c * (c * (/ 1000000 * Rabs t)) <= 10 * (10 * (/ 1000000 * Rabs t))); [|lra].
    apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]. }
apply (Rmult_le_compat_l c) in T; [|exact C].
assert ((c + / 1000) * Rabs y <= e * Rabs y) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma single_normal x v : single x v -> 0 < v -> pow2 (-1022) <= v.
Proof. intros H P. apply Rle_trans with (2 := proj1 (positive_single x v H P)). apply bpow_le. lia. Qed.

Lemma power_900 y c : Rabs y <= c -> c <= 1024 -> Rabs y <= pow2 900.
Proof. intros H C. apply Rle_trans with (pow2 10); [change (pow2 10) with 1024; lra|apply bpow_le; lia]. Qed.
Lemma power_m900 y : y = 0 \/ pow2 (-200) <= Rabs y -> y = 0 \/ pow2 (-900) <= Rabs y.
Proof. intros [->|H]; [now left|right]. apply Rle_trans with (2 := H). apply bpow_le. lia. Qed.

Lemma log_encloses x v : single x v -> 0 < v -> encloses (enclose_log float64 x) (ln v).
Proof.
intros H P. destruct (log_relative.log64_relative x v (proj1 H) (single_normal x v H P)) as [y [Y [E [N B]]]].
refine (relative_encloses _ y (dyadic_R (Dyadic 11 (-54))) _ (52/10) (ln v) Y _ _ _ _ _ _).
- unit_const.
- lra.
- unfold dyadic_R. simpl. lra.
- apply power_m900, N.
- apply (power_900 _ 1024 B). lra.
- apply (relative_swap y (ln v) (51/10)); [lra|lra|lra|exact E].
Qed.

Lemma log2_encloses x v : single x v -> 0 < v -> encloses (enclose_log2 float64 x) (ln v / ln 2).
Proof.
intros H P. destruct (log_relative.log64_parts_relative x v (proj1 H) (single_normal x v H P))
  as [k [f [l [Hn [Hl [El [Bk [Rl [Bf [Fl [Al Ak]]]]]]]]]]].
assert (Us := u_small). assert (L2 := log_method.ln2_range). assert (D := log_method.log2e_relative).
set (c := dyadic_R EXP64_LOG2E) in *. set (t := ln f / ln 2). set (w := l * c).
assert (Uf : u * Rabs (ln f) <= / 1000000 * Rabs (ln f)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
assert (Bl : Rabs l <= 3467/10000).
{ assert (Q := log_relative.size_near (ln f) l). rewrite (Rabs_minus_sym (ln f)) in Q. lra. }
assert (Bc : 1 <= c <= 2).
{ apply Rabs_le_inv in D. assert (1/5 * u <= / 1000000) by lra. split.
  - apply Rnot_lt_le. intros C. assert (c * ln 2 < 1 * ln 2) by (apply Rmult_lt_compat_r; lra). lra.
  - apply Rnot_lt_le. intros C. assert (2 * ln 2 < c * ln 2) by (apply Rmult_lt_compat_r; lra). lra. }
assert (Et : Rabs t * ln 2 = Rabs (ln f)).
{ unfold t, Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (ln 2)) by lra. field. lra. }
assert (W : Rabs (w - t) <= 3552/1000 * u * Rabs t).
{ apply (Rmult_le_reg_r (ln 2)); [lra|]. replace (3552/1000 * u * Rabs t * ln 2) with (3552/1000 * u * Rabs (ln f)) by (rewrite <- Et; ring).
  rewrite <- (Rabs_pos_eq (ln 2)) at 1 by lra. rewrite <- Rabs_mult.
  replace ((w - t) * ln 2) with ((l - ln f) + l * (c * ln 2 - 1)) by (unfold w, t; field; lra).
  eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_mult l).
  assert (Ll : Rabs l <= (1 + / 1000) * Rabs (ln f)).
  { assert (Q := log_relative.size_near (ln f) l). rewrite (Rabs_minus_sym (ln f)) in Q. assert (P0 := Rabs_pos (ln f)). lra. }
  assert (Rabs l * Rabs (c * ln 2 - 1) <= (1 + / 1000) * Rabs (ln f) * (1/5 * u)) by (apply Rmult_le_compat; try apply Rabs_pos; assumption).
  assert (0 <= u * Rabs (ln f)) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra. }
set (T := ln v / ln 2). assert (ET : T = t + IZR k) by (unfold T, t; rewrite El; field; lra).
assert (Bw : Rabs w <= 7/10).
{ unfold w. rewrite Rabs_mult, (Rabs_pos_eq c) by lra. apply Rle_trans with (3467/10000 * 2); [apply Rmult_le_compat; try lra; apply Rabs_pos|lra]. }
assert (BY : Rabs (w + IZR k) <= 1026) by (eapply Rle_trans; [apply Rabs_triang|]; lra).
assert (Y : stands64 (fma (vd_log_fraction float64 (fraction x (const LOG64_ROOT))) (const EXP64_LOG2E)
  (exponent x (const LOG64_ROOT) (const EXP64_ROUND))) (rnd64 (w + IZR k))).
{ apply fma64; [exact Hl|apply const64; reflexivity|exact Hn|]. fold c. fold w. apply Rle_trans with (1 := BY).
  apply Rle_trans with (pow2 11); [simpl; lra|apply bpow_le; lia]. }
(* the two cases together *)
assert (Both : Rabs t <= 10004/10000 * Rabs T /\ (w + IZR k = 0 \/ pow2 (-200) <= Rabs (w + IZR k))).
{ destruct (Z.eq_dec k 0) as [K|K].
  - rewrite ET, K, !Rplus_0_r. assert (Pt := Rabs_pos t). split; [lra|]. destruct Al as [->|A]; [left; unfold w; ring|right].
    unfold w. rewrite Rabs_mult, (Rabs_pos_eq c) by lra. apply Rle_trans with (1 := A).
    rewrite <- (Rmult_1_r (Rabs l)) at 1. apply Rmult_le_compat_l; [apply Rabs_pos|lra].
  - specialize (Ak K). assert (BT : 49997/100000 <= Rabs T).
    { unfold T, Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (ln 2)) by lra.
      apply (Rmult_le_reg_r (ln 2)); [lra|]. replace (Rabs (ln v) * / ln 2 * ln 2) with (Rabs (ln v)) by (field; lra). lra. }
    assert (Bt : Rabs t <= 50008/100000).
    { apply (Rmult_le_reg_r (ln 2)); [lra|]. rewrite Et. lra. }
    split; [lra|right]. assert (u * Rabs t <= / 1000000 * Rabs t) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
    assert (Q := log_relative.size_near (w + IZR k) T). replace (w + IZR k - T) with (w - t) in Q by (rewrite ET; ring).
    apply Rle_trans with (pow2 (-2)); [apply bpow_le; lia|]. change (pow2 (-2)) with (/ 4). lra. }
destruct Both as [Bt Far]. set (z := w + IZR k) in *. assert (PT := Rabs_pos T).
assert (Rz : Rabs (rnd64 z - z) <= u * Rabs z).
{ apply log_relative.rnd64_relative. destruct Far as [F|F]; [now left|right]. apply Rle_trans with (2 := F). apply bpow_le. lia. }
assert (Tz : Rabs (z - T) <= 3554/1000 * u * Rabs T).
{ replace (z - T) with (w - t) by (unfold z; rewrite ET; ring). apply Rle_trans with (1 := W).
  replace (3552/1000 * u * Rabs t) with (u * (3552/1000 * Rabs t)) by ring. replace (3554/1000 * u * Rabs T) with (u * (3554/1000 * Rabs T)) by ring.
  apply Rmult_le_compat_l; lra. }
assert (UT : 0 <= u * Rabs T <= / 1000000 * Rabs T) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (E : Rabs (rnd64 z - T) <= 456/100 * u * Rabs T).
{ replace (rnd64 z - T) with ((rnd64 z - z) + (z - T)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs z <= (1 + / 1000) * Rabs T).
  { assert (Q := log_relative.size_near T z). rewrite (Rabs_minus_sym T) in Q. lra. }
  assert (u * Rabs z <= u * ((1 + / 1000) * Rabs T)) by (apply Rmult_le_compat_l; lra). lra. }
refine (relative_encloses _ (rnd64 z) (dyadic_R (Dyadic 5 (-53))) _ (46/10) T Y _ _ _ _ _ _).
- unit_const.
- lra.
- unfold dyadic_R. simpl. lra.
- destruct Far as [F|F].
  + left. rewrite F. unfold rnd64. apply round_0, valid_rnd_N.
  + right. assert (Q := log_relative.size_near (rnd64 z) z). assert (u * Rabs z <= / 1000000 * Rabs z) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
    assert (P2 := bpow_ge_0 radix2 (-200)). apply Rle_trans with (/ 2 * pow2 (-200)); [|lra].
    change (/ 2) with (pow2 (-1)). rewrite <- bpow_plus. apply bpow_le. lia.
- apply Rle_trans with (pow2 11); [|apply bpow_le; lia]. apply rnd64_bound; [lia|]. simpl. lra.
- apply (relative_swap (rnd64 z) T (456/100)); [lra|lra|lra|exact E].
Qed.

(** theorem: sweep_log — the double enclosures of log x and log x / log 2 in sweeps contain the exact value, the radius as it is rounded, for every finite float32 x > 0. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_log x v : single x v -> 0 < v ->
  encloses (enclose_log float64 x) (ln v) /\ encloses (enclose_log2 float64 x) (ln v / ln 2).
Proof. intros H P. split; [exact (log_encloses x v H P)|exact (log2_encloses x v H P)]. Qed.

(* ---- log (1 + x) ---- *)
Lemma ln_close d : Rabs d <= / 1000000 -> Rabs (ln (1 + d)) <= 1001/1000 * Rabs d.
Proof.
intros H. apply Rabs_le_inv in H.
assert (U : forall t, -1 < t -> ln (1 + t) <= t).
{ intros t T. rewrite <- (ln_exp t) at 2. apply log_relative.ln_monotone; [lra|].
  destruct (Req_dec t 0) as [->|N]; [rewrite exp_0; lra|]. left. apply exp_ineq1, N. }
assert (A := U d ltac:(lra)).
assert (B : - (d / (1 + d)) >= ln (1 + - (d / (1 + d)))).
{ apply Rle_ge, U. assert (d / (1 + d) < 1); [|lra]. apply (Rmult_lt_reg_r (1 + d)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
replace (1 + - (d / (1 + d))) with (/ (1 + d)) in B by (field; lra). rewrite ln_Rinv in B by lra.
assert (C : Rabs (d / (1 + d)) <= 1001/1000 * Rabs d).
{ unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (1 + d)), Rmult_comm by lra. apply Rmult_le_compat_r; [apply Rabs_pos|].
  apply (Rmult_le_reg_r (1 + d)); [lra|]. rewrite Rinv_l; lra. }
apply Rabs_le_inv in C. assert (Pd := Rabs_pos d). assert (Ad := Rle_abs d). assert (Nd := Rle_abs (- d)). rewrite Rabs_Ropp in Nd.
apply Rabs_le. lra.
Qed.

Lemma one_plus x v : single x v -> -1 < v -> stands64 (add x (const (Dyadic 1 0))) (rnd64 (v + 1)) /\
  pow2 (-1022) <= rnd64 (v + 1) /\ Rabs (rnd64 (v + 1) - (v + 1)) <= u * (v + 1).
Proof.
intros [X [F B]] P. assert (G : grid (-149) (v + 1)).
{ apply grid_add; [apply grid_single, F|]. apply (grid_weaken 0); [lia|]. exists 1%Z. simpl. ring. }
assert (S := sized_add 128 x (const (Dyadic 1 0)) v 1 ltac:(lia) (conj X (Rlt_le _ _ B))).
assert (O : sized 128 (const (Dyadic 1 0)) 1) by (split; [exact const_one|rewrite Rabs_pos_eq by lra; change 1 with (pow2 0); apply bpow_le; lia]).
split; [exact (proj1 (S O))|]. split.
- destruct (grid_away _ _ (grid_round (-149) _ ltac:(lia) G)) as [Z|A].
  + assert (E := grid_error (-149) _ ltac:(lia) G). rewrite Z, Rminus_0_l, Rabs_Ropp in E. rewrite Rabs_pos_eq in E by lra.
    assert (Us := u_small). assert (u * (v + 1) <= / 1000000 * (v + 1)) by (apply Rmult_le_compat_r; lra). lra.
  + rewrite Rabs_pos_eq in A by (apply rnd64_pos; lra). apply Rle_trans with (2 := A). apply bpow_le. lia.
- rewrite <- (Rabs_pos_eq (v + 1)) at 3 by lra. apply (grid_error (-149)); [lia|exact G].
Qed.

Lemma log1p_log x v : single x v -> -1 < v -> exists y, stands64 (vd_log float64 (add x (const (Dyadic 1 0)))) y /\
  (y = 0 \/ pow2 (-200) <= Rabs y) /\ Rabs y <= 1024 /\
  (v <= -289/1000 \/ 409/1000 <= v -> Rabs (y - ln (1 + v)) <= 806/100 * u * Rabs (ln (1 + v))).
Proof.
intros H P. assert (Us := u_small). destruct (one_plus x v H P) as [W [Nw Ew]].
destruct (log_relative.log64_relative _ _ W Nw) as [y [Y [E [N B]]]].
exists y. split; [exact Y|]. split; [exact N|]. split; [exact B|]. intros Far.
set (w := rnd64 (v + 1)) in *. set (d := (w - (v + 1)) / (1 + v)).
assert (Bd : Rabs d <= u).
{ unfold d, Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (1 + v)) by lra. apply (Rmult_le_reg_r (1 + v)); [lra|].
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
assert (Ed : ln w = ln (1 + v) + ln (1 + d)).
{ rewrite <- ln_mult; [f_equal; unfold d; field; lra|lra|apply Rabs_le_inv in Bd; lra]. }
assert (Ld := ln_close d ltac:(lra)).
set (L := ln (1 + v)) in *.
assert (BL : 3410/10000 <= Rabs L).
{ destruct log_method.log1p_ends as [E1 E2]. destruct Far as [F|F].
  - rewrite <- Rabs_Ropp. eapply Rle_trans; [|apply Rle_abs]. assert (L <= ln (711/1000)) by (apply log_relative.ln_monotone; lra). lra.
  - eapply Rle_trans; [|apply Rle_abs]. assert (ln (1409/1000) <= L) by (apply log_relative.ln_monotone; lra). lra. }
assert (Lw : Rabs (ln w) <= Rabs L + 1001/1000 * u) by (rewrite Ed; eapply Rle_trans; [apply Rabs_triang|]; lra).
replace (y - L) with ((y - ln w) + ln (1 + d)) by (rewrite Ed; ring).
eapply Rle_trans; [apply Rabs_triang|].
assert (51/10 * u * Rabs (ln w) <= 51/10 * u * (Rabs L + 1001/1000 * u)) by (apply Rmult_le_compat_l; lra).
assert (u * u <= / 1000000 * u) by (apply Rmult_le_compat_r; lra).
assert (u * (3410/10000) <= u * Rabs L) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma log1p_series v : generic_format radix2 (FLT_exp (-149) 24) v -> -2901/10000 <= v <= 4101/10000 ->
  let z := rnd64 (v / rnd64 (v + 2)) in Rabs z <= 1/4 /\
  Rabs (vd_log_series real64 z - ln (1 + v)) <= 335/100 * u * Rabs (ln (1 + v)) /\
  (vd_log_series real64 z = 0 \/ pow2 (-200) <= Rabs (vd_log_series real64 z)) /\ Rabs (vd_log_series real64 z) <= 1024.
Proof.
intros F B z. assert (Us := u_small).
assert (N : v = 0 \/ pow2 (-150) <= Rabs v).
{ destruct (grid_away _ _ (grid_single v F)) as [A|A]; [now left|right]. apply Rle_trans with (2 := A). apply bpow_le. lia. }
assert (Q : Rabs (v / (v + 2)) <= 1702/10000).
{ unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (v + 2)) by lra. apply (Rmult_le_reg_r (v + 2)); [lra|].
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Rabs_le. lra. }
assert (Z : z_range (v / (v + 2))) by (simpl; lra).
destruct (log_relative.quotient_rounding v (v + 2) N ltac:(lra) Z ltac:(lra)) as [_ [Y _]].
assert (E := log_relative.atanh2_rounding v (v + 2) N ltac:(lra) Z ltac:(lra)). fold z in Y, E.
assert (El : atanh2 (v / (v + 2)) = ln (1 + v)).
{ rewrite <- atanh2_quotient by lra. f_equal. field. lra. }
assert (S := atanh2_size _ Z). assert (M := atanh2_moves _ 0 Z ltac:(rewrite Rabs_R0; simpl; lra)).
rewrite atanh2_0, !Rminus_0_r in M. rewrite El in *.
set (y := vd_log_series real64 z : R) in *. set (L := ln (1 + v)) in *.
assert (PL := Rabs_pos L). assert (UL : 0 <= u * Rabs L <= / 1000000 * Rabs L) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
split; [simpl in Y; lra|]. split; [exact E|]. split.
- destruct N as [->|N].
  + left. assert (L0 : Rabs L = 0).
    { assert (E0 : 0 / (0 + 2) = 0) by (unfold Rdiv; ring). rewrite E0, Rabs_R0 in M. lra. }
    destruct (Req_dec y 0) as [E1|E1]; [exact E1|]. apply Rabs_no_R0 in E1. assert (Py := Rabs_pos y).
    assert (T := log_relative.size_near L y). rewrite (Rabs_minus_sym L) in T. lra.
  + right. assert (T := log_relative.size_near y L).
    assert (Rabs v * / 3 <= Rabs (v / (v + 2))).
    { unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (v + 2)) by lra. apply Rmult_le_compat_l; [apply Rabs_pos|apply Rinv_le; lra]. }
    apply Rle_trans with (pow2 (-2) * pow2 (-150)); [rewrite <- bpow_plus; apply bpow_le; lia|]. change (pow2 (-2)) with (/ 4).
    assert (P0 := bpow_ge_0 radix2 (-150)). lra.
- assert (T := log_relative.size_near L y). rewrite (Rabs_minus_sym L) in T. lra.
Qed.

(** theorem: sweep_log1p — the double enclosure of log (1 + x) in sweeps contains the exact value, the radius as it is rounded, for every finite float32 x > -1. used by: src/certify/sweep_enclose_isa.c *)
Theorem sweep_log1p x v : single x v -> -1 < v -> encloses (enclose_log1p float64 x) (ln (1 + v)).
Proof.
intros H P. assert (Us := u_small). assert (C := H). destruct C as [X [F B]].
unfold enclose_log1p. cbv zeta.
set (lo := Dyadic (-5224175567749775) (-54)). set (hi := Dyadic 7385903388887613 (-54)).
assert (Slo : stands64 (const lo) (dyadic_R lo)) by unit_const.
assert (Shi : stands64 (const hi) (dyadic_R hi)) by unit_const.
assert (Rlo : -2901/10000 <= dyadic_R lo <= -2899/10000) by (unfold dyadic_R, lo; simpl; lra).
assert (Rhi : 4099/10000 <= dyadic_R hi <= 4101/10000) by (unfold dyadic_R, hi; simpl; lra).
assert (Zero : stands64 (const (Dyadic 0 0)) 0).
{ apply (sized_const _ 0); try reflexivity; [unfold dyadic_R; simpl; ring|rewrite Rabs_R0; lra]. }
assert (Two : stands64 (const (Dyadic 1 1)) 2).
{ apply (sized_const _ 2); try reflexivity; [unfold dyadic_R; simpl; lra|rewrite Rabs_pos_eq; lra]. }
destruct (log1p_log x v H P) as [far [Yf [Nf [Bf Ef]]]].
(* what z is made of *)
assert (S1 := select_le64 _ _ _ _ _ _ _ _ X Shi X Zero).
assert (S := select_le64 _ _ _ _ _ _ _ _ Slo X S1 Zero).
set (m := if Rle_dec (dyadic_R lo) v then if Rle_dec v (dyadic_R hi) then v else 0 else 0) in *.
assert (D : stands64 (add x (const (Dyadic 1 1))) (rnd64 (v + 2))).
{ apply add64; [exact X|exact Two|]. eapply Rle_trans; [apply Rabs_triang|].
  apply Rle_trans with (pow2 128 + pow2 128).
  - apply Rplus_le_compat; [lra|]. rewrite Rabs_pos_eq by lra. change 2 with (pow2 1). apply bpow_le. lia.
  - assert (E : pow2 (1 + 128) = 2 * pow2 128) by (rewrite bpow_plus; reflexivity).
    apply Rle_trans with (pow2 (1 + 128)); [lra|apply bpow_le; lia]. }
assert (Pd : 1 <= rnd64 (v + 2)).
{ apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |lra].
  change 1 with (pow2 0). apply generic_format_bpow. unfold FLT_exp. lia. }
assert (Zm : Rabs (rnd64 (m / rnd64 (v + 2))) <= 1/4 /\ Rabs (m / rnd64 (v + 2)) <= 1).
{ unfold m. destruct (Rle_dec (dyadic_R lo) v) as [L1|L1]; [destruct (Rle_dec v (dyadic_R hi)) as [L2|L2]|].
  - split; [exact (proj1 (log1p_series v F ltac:(lra)))|]. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (rnd64 (v + 2))) by lra.
    apply (Rmult_le_reg_r (rnd64 (v + 2))); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with 1; [apply Rabs_le|]; lra.
  - unfold Rdiv. rewrite Rmult_0_l. unfold rnd64. rewrite round_0, Rabs_R0 by apply valid_rnd_N. lra.
  - unfold Rdiv. rewrite Rmult_0_l. unfold rnd64. rewrite round_0, Rabs_R0 by apply valid_rnd_N. lra. }
destruct Zm as [Zm Qm].
assert (Z : stands64 (div (select_le (const lo) x (select_le x (const hi) x (const (Dyadic 0 0))) (const (Dyadic 0 0)))
  (add x (const (Dyadic 1 1)))) (rnd64 (m / rnd64 (v + 2)))).
{ apply div64; [exact S|exact D|lra|]. apply Rle_trans with (1 := Qm). change 1 with (pow2 0). apply bpow_le. lia. }
assert (Yn := log_float.log_series_stands _ _ Z Zm).
assert (T1 := select_le64 _ _ _ _ _ _ _ _ X Shi Yn Yf).
assert (T := select_le64 _ _ _ _ _ _ _ _ Slo X T1 Yf).
set (b := if Rle_dec (dyadic_R lo) v then _ else far) in T.
assert (Eb : Rabs (b - ln (1 + v)) <= 806/100 * u * Rabs (ln (1 + v)) /\ (b = 0 \/ pow2 (-200) <= Rabs b) /\ Rabs b <= 1024).
{ unfold b. destruct (Rle_dec (dyadic_R lo) v) as [L1|L1]; [destruct (Rle_dec v (dyadic_R hi)) as [L2|L2]|].
  - destruct (log1p_series v F ltac:(lra)) as [_ [E [N1 B1]]]. unfold m. split; [|split; [exact N1|exact B1]].
    apply Rle_trans with (1 := E). apply Rmult_le_compat_r; [apply Rabs_pos|lra].
  - split; [apply Ef; right; lra|]. split; [exact Nf|exact Bf].
  - split; [apply Ef; left; lra|]. split; [exact Nf|exact Bf]. }
destruct Eb as [E [N1 B1]].
refine (relative_encloses _ b (dyadic_R (Dyadic 9 (-53))) _ (807/100) (ln (1 + v)) T _ _ _ _ _ _).
- unit_const.
- lra.
- unfold dyadic_R. simpl. lra.
- apply power_m900, N1.
- apply (power_900 _ 1024 B1). lra.
- apply (relative_swap b (ln (1 + v)) (806/100)); [lra|lra|lra|exact E].
Qed.
