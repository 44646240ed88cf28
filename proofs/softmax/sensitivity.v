(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The conditioning A = sum p |v|, C = sum p t and S = sum p t |v - x| that the double tier of softmax
   hands out, step 5 of src/softmax/enclose.c: sums in float of src/softmax/condition_impl.h, divided by
   the normaliser in double, and what measure_a, measure_s and enclose_lse make of them, with all of
   their roundings. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Mult_error.
From Attest Require Import problem.row enclosure.summation softmax.pass_constants softmax.quotient softmax.radius softmax.weight softmax.tier
  softmax.condition softmax.measured softmax.float_pass softmax.size softmax.terms.
From Attest Require enclosure.float_ops softmax.condition_constants.
Import ListNotations.
Open Scope R_scope.
Notation pow2 := (bpow radix2).
Notation rnd64 := (nearest (-1074) 53).
Notation rnd32 := (nearest (-149) 24).
Notation u64 := (pow2 (-53)).
Notation u32 := (pow2 (-24)).
Notation e32 := (pow2 (-150)).
Notation eta := (pow2 (-1075)).
Notation double := (generic_format radix2 (FLT_exp (-1074) 53)).

Lemma u64_small : 0 <= u64 <= / 1000000 * u32.
Proof.
split; [apply bpow_ge_0|]. apply Rle_trans with (pow2 (-20 + -24)); [apply bpow_le; lia|].
rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra].
Qed.
Lemma u32_small : 0 < u32 <= / 10000000. Proof. simpl; lra. Qed.

Lemma rounded_pos x : 0 <= x -> x - u64 * x - eta <= rnd64 x <= x + u64 * x + eta /\ 0 <= rnd64 x.
Proof.
intros H. pose proof (rounded x) as R. rewrite (Rabs_pos_eq x H) in R. apply Rabs_le_inv in R.
pose proof (rnd64_pos x H). lra.
Qed.

(* A power of two moves a double exactly but for what underflows. *)
Lemma scaled_double x k : double x -> Rabs (rnd64 (x * pow2 k) - x * pow2 k) <= eta.
Proof.
intros F. assert (P : 0 <= eta) by apply bpow_ge_0.
destruct (Rle_lt_dec (pow2 (-1022)) (Rabs (x * pow2 k))) as [L|L].
- assert (G : double (x * pow2 k)).
  { apply generic_format_FLT_FLX; [exact L|]. apply mult_bpow_exact_FLX.
    apply generic_format_FLX_FLT with (1 := F). }
  unfold nearest. rewrite round_generic; [|apply valid_rnd_N|exact G].
  replace (x * pow2 k - x * pow2 k) with 0 by ring. rewrite Rabs_R0. exact P.
- unfold nearest. eapply Rle_trans; [apply error_le_half_ulp, FLT_exp_valid; reflexivity|].
  rewrite ulp_FLT_small; [|reflexivity|eapply Rlt_le_trans; [exact L|apply bpow_le; lia]]. right.
  change (/ 2) with (pow2 (-1)). rewrite <- bpow_plus. reflexivity.
Qed.

(* What bF below counts: a chain, the chains of a block; the lanes of c and their tree are fewer. *)
Lemma chains_counted : (PASS_CHAIN + PASS_KEYS / PASS_CHAIN = 40)%nat /\ (PASS_KEYS / PASS_LANES + 4 <= 40)%nat.
Proof. vm_compute. split; [reflexivity|lia]. Qed.

(* The constants below, and in second.v, are those of C. *)
Lemma constants_of_c : let C := float_ops.dyadic_R in
  C condition_constants.CONDITION_DEPTH = 110 /\ C condition_constants.CONDITION_KAPPA_MAX = pow2 (-10) /\
  C condition_constants.CONDITION_TAIL = pow2 (-95) /\ C condition_constants.CONDITION_TAIL_SIZE = pow2 (-92) /\
  C condition_constants.CONDITION_UNDERFLOW = pow2 (-142) /\ C condition_constants.CONDITION_UNDERFLOW_SIZE = pow2 (-124).
Proof.
cbv zeta. split; [unfold float_ops.dyadic_R; simpl; lra|]. repeat split; exact (Rmult_1_l _).
Qed.

(* ---- a quotient as C bounds it ---- *)

Definition upper_c (q kq tail : R) : R := rnd64 (rnd64 (q * rnd64 (1 + kq)) + tail).
Definition lower_c (q kq tail : R) : R := rnd64 (rnd64 (q * rnd64 (1 - kq)) - tail).

(* q0: the quotient before rounding; unit: what C divides by *)
Lemma quotient_near Nf unit D0 : 0 <= Nf -> 0 < D0 -> Rabs (unit - D0) <= 2 * u64 * D0 ->
  let q := rnd64 (Nf / unit) in 0 <= q /\ Rabs (q - Nf / D0) <= 4 * u64 * (Nf / D0) + eta.
Proof.
intros HN HD Hu q. assert (U := u64_small). assert (V := u32_small). apply Rabs_le_inv in Hu.
assert (UD : 2 * u64 * D0 <= / 100 * D0) by (apply Rmult_le_compat_r; lra).
assert (Pu : 0 < unit) by lra. set (q0 := Nf / D0).
assert (P0 : 0 <= q0) by (apply Rmult_le_pos; [exact HN|left; apply Rinv_0_lt_compat, HD]).
assert (P1 : 0 <= Nf / unit) by (apply Rmult_le_pos; [exact HN|left; apply Rinv_0_lt_compat, Pu]).
assert (E : Nf / unit * unit = q0 * D0) by (unfold q0; field; lra).
set (q1 := Nf / unit) in *.
assert (Q : Rabs (q1 - q0) <= 5/2 * u64 * q0).
{ assert (X : (q1 - q0) * unit = q0 * (D0 - unit)) by lra.
  apply (Rmult_le_reg_r unit); [exact Pu|]. rewrite <- (Rabs_pos_eq unit) at 1 by lra. rewrite <- Rabs_mult, X, Rabs_mult, (Rabs_pos_eq q0) by exact P0.
  apply Rle_trans with (q0 * (2 * u64 * D0)); [apply Rmult_le_compat_l; [exact P0|apply Rabs_le; lra]|].
  assert (0 <= u64 * q0) by (apply Rmult_le_pos; lra).
  assert (u64 * q0 * (2 * D0) <= u64 * q0 * (5/2 * unit)); [|lra]. apply Rmult_le_compat_l; lra. }
apply Rabs_le_inv in Q. destruct (rounded_pos q1 P1) as [R1 R2]. split; [exact R2|].
assert (u64 * q1 <= u64 * (11/10 * q0)).
{ apply Rmult_le_compat_l; [lra|]. assert (5/2 * u64 * q0 <= / 10 * q0) by (apply Rmult_le_compat_r; lra). lra. }
assert (0 <= u64 * q0) by (apply Rmult_le_pos; lra).
apply Rabs_le. unfold q. lra.
Qed.

Section Enclosed.
Variables (X q0 q k t kq tail : R).
Hypothesis q0_pos : 0 <= q0.
Hypothesis q_near : 0 <= q /\ Rabs (q - q0) <= 4 * u64 * q0 + eta.
Hypothesis kq_enough : 0 <= k /\ k + 2 * u32 <= kq <= pow2 (-8).
Hypothesis tail_enough : 0 <= t /\ t * (1 + / 1000) + 8 * eta <= tail.
Hypothesis X_pos : 0 <= X.
Hypothesis inside : q0 * (1 - k) - t <= X <= q0 * (1 + k) + t.

Lemma enclosed_up : X + u32 * q0 + tail * / 4000 <= upper_c q kq tail /\ upper_c q kq tail <= 8 * q0 + 2 * tail + 16 * eta.
Proof.
assert (U := u64_small). assert (V := u32_small). assert (N : 0 <= eta) by apply bpow_ge_0.
destruct q_near as [Pq Q]. apply Rabs_le_inv in Q. destruct kq_enough as [K0 K1]. destruct tail_enough as [T0 T1].
change (pow2 (-8)) with (/ 256) in K1. unfold upper_c.
destruct (rounded_pos (1 + kq) ltac:(lra)) as [A1 A2]. set (f := rnd64 (1 + kq)) in *.
assert (En : eta <= u64).
{ apply bpow_le. lia. }
assert (F : 1 + kq - 3 * u64 <= f <= 2).
{ assert (u64 * (1 + kq) <= u64 * (3/2)) by (apply Rmult_le_compat_l; lra). lra. }
assert (Pf : 0 <= q * f) by (apply Rmult_le_pos; lra).
destruct (rounded_pos (q * f) Pf) as [B1 B2]. set (p := rnd64 (q * f)) in *.
assert (Pt : 0 <= p + tail) by lra. destruct (rounded_pos (p + tail) Pt) as [C1 C2].
assert (Uq : 0 <= u64 * q0) by (apply Rmult_le_pos; lra).
assert (Uq6 : u64 * q0 <= / 1000000 * (u32 * q0)).
{ replace (/ 1000000 * (u32 * q0)) with (/ 1000000 * u32 * q0) by ring. apply Rmult_le_compat_r; lra. }
assert (G1 : q0 * (1 + kq) - 9 * (u64 * q0) - 2 * eta <= q * f).
{ assert (H1 : q * (1 + kq - 3 * u64) <= q * f) by (apply Rmult_le_compat_l; lra).
  assert (H2 : (q0 - 4 * u64 * q0 - eta) * (1 + kq - 3 * u64) <= q * (1 + kq - 3 * u64)) by (apply Rmult_le_compat_r; lra).
  assert (kq * (u64 * q0) <= / 256 * (u64 * q0)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * (u64 * q0)) by (apply Rmult_le_pos; lra).
  assert (kq * eta <= / 256 * eta) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * eta) by (apply Rmult_le_pos; lra). lra. }
assert (Uq7 : 0 <= u32 * q0 <= / 100 * q0) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (G0 : q * f <= 3 * q0 + 3 * eta).
{ assert (q * f <= q * 2) by (apply Rmult_le_compat_l; lra). lra. }
assert (G2 : u64 * (q * f) <= 3 * (u64 * q0) + eta).
{ apply (Rmult_le_compat_l u64) in G0; [|lra]. assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (G3 : u64 * (p + tail) <= 4 * (u64 * q0) + eta + / 2000 * tail).
{ assert (H1 : p <= 4 * q0 + 6 * eta) by lra. apply (Rmult_le_compat_l u64) in H1; [|lra].
  assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra).
  assert (u64 * tail <= / 2000 * tail) by (apply Rmult_le_compat_r; lra). lra. }
assert (H9 : q0 * (k + 2 * u32) <= q0 * kq) by (apply Rmult_le_compat_l; lra).
split; lra.
Qed.

Lemma enclosed_down : lower_c q kq tail <= X.
Proof.
assert (U := u64_small). assert (V := u32_small). assert (N : 0 <= eta) by apply bpow_ge_0.
destruct q_near as [Pq Q]. apply Rabs_le_inv in Q. destruct kq_enough as [K0 K1]. destruct tail_enough as [T0 T1].
change (pow2 (-8)) with (/ 256) in K1. unfold lower_c.
destruct (rounded_pos (1 - kq) ltac:(lra)) as [A1 A2]. set (f := rnd64 (1 - kq)) in *.
assert (En : eta <= u64) by (apply bpow_le; lia).
assert (F : f <= 1 - kq + 3 * u64).
{ assert (u64 * (1 - kq) <= u64 * 1) by (apply Rmult_le_compat_l; lra). lra. }
assert (Pf : 0 <= q * f) by (apply Rmult_le_pos; lra).
destruct (rounded_pos (q * f) Pf) as [B1 B2]. set (p := rnd64 (q * f)) in *.
assert (Uq : 0 <= u64 * q0) by (apply Rmult_le_pos; lra).
assert (Uq6 : u64 * q0 <= / 1000000 * (u32 * q0)).
{ replace (/ 1000000 * (u32 * q0)) with (/ 1000000 * u32 * q0) by ring. apply Rmult_le_compat_r; lra. }
assert (G1 : q * f <= q0 * (1 - kq) + 9 * (u64 * q0) + 2 * eta).
{ assert (H1 : q * f <= q * (1 - kq + 3 * u64)) by (apply Rmult_le_compat_l; lra).
  assert (H2 : q * (1 - kq + 3 * u64) <= (q0 + 4 * u64 * q0 + eta) * (1 - kq + 3 * u64)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= kq * (u64 * q0)) by (apply Rmult_le_pos; lra).
  assert (u64 * (u64 * q0) <= / 100 * (u64 * q0)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= kq * eta) by (apply Rmult_le_pos; lra).
  assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (Uq7 : 0 <= u32 * q0 <= / 100 * q0) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (G0 : q * f <= 3 * q0 + 3 * eta).
{ assert (q * f <= q * 2) by (apply Rmult_le_compat_l; lra). lra. }
assert (G2 : u64 * (q * f) <= 3 * (u64 * q0) + eta).
{ apply (Rmult_le_compat_l u64) in G0; [|lra]. assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (H9 : q0 * (k + 2 * u32) <= q0 * kq) by (apply Rmult_le_compat_l; lra).
assert (G3 : p - tail <= q0 * (1 - k) - 3/2 * (u32 * q0) - t * (1 + / 1000) - 4 * eta) by lra.
assert (G4 : p <= 4 * q0 + 6 * eta) by lra.
destruct (Rle_lt_dec (p - tail) 0) as [Z|Z].
- apply Rle_trans with (rnd64 0).
  + apply round_le; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact Z].
  + unfold nearest. rewrite round_0 by apply valid_rnd_N.
    exact X_pos.
- destruct (rounded_pos (p - tail) ltac:(lra)) as [C1 _].
  assert (u64 * (p - tail) <= 4 * (u64 * q0) + eta).
  { assert (H1 : p - tail <= 4 * q0 + 6 * eta) by lra. apply (Rmult_le_compat_l u64) in H1; [|lra].
    assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
  lra.
Qed.
End Enclosed.

Section Row.
(* As in tier.v; the normaliser is `total`. *)
Variables (n : nat) (s sh m e v : nat -> R) (l : nat -> list (R * R)).
Variables (M E rho V sum_error : R) (rescaled : bool) (total : tree) (kW : nat -> nat) (bW : nat).
Hypothesis scores : forall j, (j < n)%nat -> Rabs (sh j - s j) <= E + pow2 (-62).
Hypothesis below : forall j, (j < n)%nat -> rnd64 (sh j - m j) <= 17/2.
Hypothesis exponentials : forall j, (j < n)%nat -> is_exp (rnd64 (sh j - m j)) (e j).
Hypothesis shifts : forall j, (j < n)%nat -> moves (l j) /\ m j + distance (l j) = M.
Hypothesis unmoved : rescaled = false -> forall j, (j < n)%nat -> l j = [].
Hypothesis first : exists j, (j < n)%nat /\ sh j = M.
Hypothesis values : forall j, (j < n)%nat -> double (v j) /\ Rabs (v j) <= V.
Hypothesis usable : 0 <= E /\ least_rho E rescaled <= rho <= pow2 (-16).
Hypothesis totals : sums_along total n (fun j => e j * factor (l j)) (fun _ => 1) kW.
Hypothesis sum_depth : forall j, (j < n)%nat -> (kW j <= bW + length (l j))%nat.
Hypothesis sum_counted : INR (bW + 10) * u64 * (1 + pow2 (-21)) <= sum_error <= u32.
Hypothesis sum_shallow : INR (S (depth total)) <= pow2 30 /\ forall j, (j < n)%nat -> INR (S (kW j)) <= pow2 30.
Hypothesis sum_ops : INR (ops total) <= pow2 70.

Let w j := exp (s j - M).
Let W := sum n w.
Let D := fl rnd64 rnd64 total.

(* keys: at least n. *)
Variable keys : R.
Hypothesis counted : INR n <= keys <= pow2 60.

Lemma n_pos : 1 <= INR n.
Proof. destruct first as [j [Hj _]]. change 1 with (INR 1). apply le_INR. lia. Qed.

Lemma rho_range : 0 <= E <= pow2 (-14) /\ 0 <= rho <= / 65536.
Proof.
destruct usable as [HE [HR HL]]. pose proof (rho_above_E n l E rho rescaled unmoved usable) as RE.
assert (pow2 (-16) <= pow2 (-14)) by (apply bpow_le; lia). change (pow2 (-16)) with (/ 65536) in *. lra.
Qed.

Lemma relative_weight j : (j < n)%nat -> -68 <= rnd64 (sh j - m j) - distance (l j) ->
  Rabs (e j * factor (l j) - w j) <= rho * w j.
Proof.
intros Hj H. destruct (shifts j Hj) as [Hm HM]. destruct usable as [HE HR]. destruct rho_range as [R1 R2].
assert (T := matters (s j) (sh j) (m j) E (e j) (l j) (scores j Hj) R1 (below j Hj) (exponentials j Hj) Hm H).
rewrite HM in T. fold (w j) in T. apply Rle_trans with (1 := T).
apply Rmult_le_compat_r; [left; apply exp_pos|]. eapply Rle_trans; [|apply HR]. unfold softmax.weight.rho, least_rho.
apply Rmult_le_compat_r; [assert (B := bpow_ge_0 radix2 (-13)); lra|]. apply Rplus_le_compat_l.
apply Rmult_le_compat_r; [apply bpow_ge_0|].
destruct rescaled; [destruct (l j); lra|]. rewrite (unmoved eq_refl j Hj). lra.
Qed.

Lemma w_below j : (j < n)%nat -> w j <= pow2 13.
Proof.
intros Hj. destruct (shifts j Hj) as [Hm HM]. destruct rho_range as [R1 _].
pose proof (distance_pos _ Hm) as P. assert (Q := distance_from_shift (sh j) (m j)). cbv zeta in Q.
pose proof (below j Hj) as B. pose proof (scores j Hj) as Sc. apply Rabs_le_inv in Sc.
set (y := rnd64 (sh j - m j)) in *. apply Rabs_le_inv in Q.
assert (T : pow2 (-1074) <= / 1000) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]).
assert (U : u64 * Rabs y * (1 + pow2 (-40)) <= / 1000 * Rabs y).
{ assert (0 <= Rabs y) by apply Rabs_pos. assert (u64 * Rabs y <= / 2000 * Rabs y) by (apply Rmult_le_compat_r; [assumption|simpl; lra]).
  simpl bpow in *. lra. }
assert (Y : y + / 1000 * Rabs y <= 8.51).
{ unfold Rabs. destruct (Rcase_abs y); lra. }
assert (P62 : pow2 (-62) <= / 1000) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]).
change (pow2 (-14)) with (/ 16384) in R1.
apply Rle_trans with (exp 9); [apply exp_le; unfold w; lra|]. change (pow2 13) with 8192.
exact exp_nine.
Qed.

Lemma W_least : 1 - pow2 (-10) <= W.
Proof. exact (W_large n s sh l M E rho rescaled scores unmoved first usable). Qed.

Lemma W_pos : 0 < W.
Proof. pose proof W_least as H. change (pow2 (-10)) with (/ 1024) in H. lra. Qed.

(* The normaliser. *)
Definition k2 := rho + 2 * u32.
Lemma D_off : Rabs (D - W) <= k2 * W.
Proof.
assert (V' := u32_small). destruct rho_range as [R1 R2]. destruct sum_shallow as [D1 D2].
assert (SE : 0 <= sum_error).
{ eapply Rle_trans; [|apply sum_counted]. apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|apply bpow_ge_0]|simpl; lra]. }
assert (N : Rabs (D - W) <= (rho + sum_error * (1 + rho)) * W + 5 / 4 * (INR n * pow2 (-98))).
{ assert (sum_counted' : INR (bW + 10) * u64 * (1 + pow2 (-21)) <= sum_error <= pow2 (-22)).
  { split; [apply sum_counted|]. eapply Rle_trans; [apply sum_counted|]. apply bpow_le; lia. }
  assert (few' : INR n <= pow2 60) by lra.
  exact (row_normaliser n s sh m e l M E rho sum_error rescaled total total scores below exponentials shifts unmoved first
    usable kW kW bW totals sum_depth sum_counted' (conj D1 (conj D1 (fun j Hj => conj (D2 j Hj) (D2 j Hj)))) sum_ops). }
apply Rle_trans with (1 := N). pose proof W_least as HW. change (pow2 (-10)) with (/ 1024) in HW.
assert (T : INR n * pow2 (-98) <= pow2 (-38)).
{ replace (pow2 (-38)) with (pow2 60 * pow2 (-98)) by (rewrite <- bpow_plus; reflexivity).
  apply Rmult_le_compat_r; [apply bpow_ge_0|lra]. }
assert (T2 : pow2 (-38) = / 16384 * u32) by (change (/ 16384) with (pow2 (-14)); rewrite <- bpow_plus; reflexivity).
assert (A1 : u32 * (999/1000) <= u32 * W) by (apply Rmult_le_compat_l; lra).
assert (A2 : sum_error * (1 + rho) * W <= 3/2 * u32 * W).
{ apply Rmult_le_compat_r; [lra|]. assert (sum_error * rho <= sum_error * / 65536) by (apply Rmult_le_compat_l; lra).
  destruct sum_counted as [_ SC]. lra. }
unfold k2. lra.
Qed.

Lemma D_range : W / 2 <= D.
Proof.
pose proof D_off as H. destruct rho_range as [R1 R2]. pose proof W_pos. assert (V' := u32_small). apply Rabs_le_inv in H.
assert (k2 * W <= / 4 * W) by (apply Rmult_le_compat_r; [lra|unfold k2; lra]). lra.
Qed.

(* ---- a sum in float, divided by the normaliser ---- *)

Variables (d blocks : nat) (size_error kq : R).
Hypothesis size_error_pos : 0 <= size_error.
(* view_row: kappa *)
Definition kappa := 2 * rho + (INR d + 110 + INR blocks) * u32 + size_error.
Hypothesis certain : kappa <= pow2 (-10) * (1 + / 1000).
Hypothesis kq_enough : kappa * (1 + / 8) - / 2 * u32 <= kq <= pow2 (-8).

(* roundings that a key meets in a, c and e beside those of the moves: no more than in the longest, a and e *)
Let bF := (40 + blocks)%nat.
Let gF := exp (INR (bF + 10) * u32) - 1.
Definition lt := INR (d + 4) * u32 + size_error.
Definition kF := exp (rho + met + lt + 3 * u32 + u32 * (1 + / 1000) + INR (bF + 10) * u32) - 1.

Lemma count_small : 0 <= INR (bF + 10) * u32 <= / 1000 /\ 0 <= lt <= / 1000.
Proof.
assert (V' := u32_small). destruct rho_range as [_ R2]. pose proof (pos_INR d). pose proof (pos_INR blocks).
assert (Pd : 0 <= INR d * u32) by (apply Rmult_le_pos; lra). assert (Pb : 0 <= INR blocks * u32) by (apply Rmult_le_pos; lra).
unfold kappa in certain. change (pow2 (-10)) with (/ 1024) in certain. unfold lt, bF. rewrite !plus_INR.
simpl (INR 10). simpl (INR 4). replace (INR 40) with 40 by (simpl; ring). lra.
Qed.

Lemma kF_enough : 0 <= kF /\ kF + k2 <= / 16 /\ (kF + k2) * (1 + / 8) + 6 * u32 <= kq.
Proof.
assert (V' := u32_small). destruct rho_range as [_ R2]. pose proof (pos_INR d). pose proof (pos_INR blocks).
assert (Pd : 0 <= INR d * u32) by (apply Rmult_le_pos; lra). assert (Pb : 0 <= INR blocks * u32) by (apply Rmult_le_pos; lra).
set (L := rho + met + lt + 3 * u32 + u32 * (1 + / 1000) + INR (bF + 10) * u32).
assert (HL : L <= kappa - rho - 40 * u32).
{ unfold L, kappa, lt, met, bF. rewrite !plus_INR. simpl (INR 10). simpl (INR 4). replace (INR 40) with 40 by (simpl; ring).
  change (pow2 (-20)) with (/ 1048576). lra. }
assert (L0 : 0 <= L).
{ destruct count_small. unfold L, met. change (pow2 (-20)) with (/ 1048576). lra. }
assert (L1 : L <= / 1000). { change (pow2 (-10)) with (/ 1024) in certain. lra. }
assert (E1 := exp_below L ltac:(lra)).
assert (LL : L * L <= / 1024 * (1 + / 1000) * (/ 1024 * (1 + / 1000))).
{ change (pow2 (-10)) with (/ 1024) in certain. apply Rmult_le_compat; lra. }
assert (U : u32 = / 16777216) by (simpl; lra).
split; [unfold kF; fold L; pose proof (bound.exp_above L); lra|].
unfold kF, k2. fold L. rewrite U in *. split; lra.
Qed.

Lemma kF_above r kb : 0 <= r -> 0 <= kb <= u32 * (1 + / 1000) -> 1 + r <= exp (rho + met + lt + 3 * u32) ->
  (1 + r) * (1 + kb) * (1 + gF) - 1 <= kF.
Proof.
intros Hr Hk H. assert (G : 1 + gF = exp (INR (bF + 10) * u32)) by (unfold gF; ring). rewrite G. unfold kF.
rewrite exp_plus, (exp_plus _ (u32 * (1 + / 1000))).
assert ((1 + r) * (1 + kb) * exp (INR (bF + 10) * u32) <=
  exp (rho + met + lt + 3 * u32) * exp (u32 * (1 + / 1000)) * exp (INR (bF + 10) * u32)); [|lra].
apply Rmult_le_compat_r; [left; apply exp_pos|]. apply Rmult_le_compat; try lra.
apply Rle_trans with (1 + u32 * (1 + / 1000)); [lra|apply bound.exp_above].
Qed.

Section Sum.
(* Weights a, sizes b and the ones that a float tree sums. *)
Variables (a a' b b' : nat -> R) (B r kb tau eb : R) (t : tree) (k : nat -> nat).
Hypothesis weights : forall j, (j < n)%nat -> 0 <= a j /\ 0 <= a' j /\ Rabs (a' j - a j) <= r * a j + tau /\
  (-68 <= rnd64 (sh j - m j) - distance (l j) \/ a' j <= 2 * tau).
Hypothesis sizes : forall j, (j < n)%nat -> 0 <= b j <= B /\ 0 <= b' j /\ Rabs (b' j - b j) <= kb * b j + eb.
Hypothesis small : 0 <= r <= / 64 /\ 0 <= kb <= u32 * (1 + / 1000) /\ 0 <= tau /\ 0 <= eb.
Hypothesis rs : 1 + r <= exp (rho + met + lt + 3 * u32).
Hypothesis summed : sums_along t n a' b' k.
Hypothesis depths : forall j, (j < n)%nat -> (k j <= bF + length (l j))%nat.
Hypothesis shallow : INR (S (depth t)) * u32 <= / 32 /\ forall j, (j < n)%nat -> INR (S (k j)) * u32 <= / 32.
Hypothesis few_ops : INR (ops t) <= 8 * keys.
Let Nf := fl rnd32 rnd32 t.
Hypothesis Nf_pos : 0 <= Nf.

Lemma power_below i : INR (S i) * u32 <= / 32 -> (1 + u32) * (1 + u32) ^ i - 1 <= exp (INR (S i) * u32) - 1 /\
  exp (INR (S i) * u32) - 1 <= / 16.
Proof.
intros H. assert (V' := u32_small). split.
- apply Rplus_le_compat_r. rewrite tech_pow_Rmult. generalize (S i). intros q. induction q as [|q IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
  rewrite S_INR, <- tech_pow_Rmult. replace ((INR q + 1) * u32) with (u32 + INR q * u32) by ring. rewrite exp_plus.
  apply Rmult_le_compat; [lra|apply pow_le; lra|apply bound.exp_above|exact IH].
- pose proof (pos_INR (S i)). assert (0 <= INR (S i) * u32) by (apply Rmult_le_pos; lra).
  eapply Rle_trans; [apply Rplus_le_compat_r, exp_below; lra|]. set (z := INR (S i) * u32) in *.
  assert (z * z <= / 32 * z) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Let tails := 2 * eb * sum n a + INR n * (2 * tau * (B + eb)) + keys * pow2 (-146).

Lemma float_close : Rabs (Nf - sum n (fun j => a j * b j)) <= kF * sum n (fun j => a j * b j) + tails.
Proof.
assert (V' := u32_small). assert (P32 : 0 <= e32) by apply bpow_ge_0. destruct small as [S1 [S2 [S3 S4]]].
destruct shallow as [D1 D2].
assert (H := summation_paths rnd32 rnd32 u32 u32 e32 ltac:(lra) ltac:(lra) P32 rounded32 rounded32 t n a' b' k summed).
set (g' := fun j => (1 + u32) * (1 + u32) ^ k j - 1).
assert (Pg : forall j, 0 <= g' j).
{ intros j. unfold g'. rewrite tech_pow_Rmult. assert (1 <= (1 + u32) ^ S (k j)) by (apply pow_R1_Rle; lra). lra. }
assert (HS : Rabs (Nf - sum n (fun j => a' j * b' j)) <= sum n (fun j => g' j * (a' j * b' j)) + keys * pow2 (-146)).
{ apply Rle_trans with (1 := H). apply Rplus_le_compat.
  - right. apply sum_ext. intros j Hj. destruct (weights j Hj) as [_ [P _]]. destruct (sizes j Hj) as [_ [P' _]].
    rewrite !Rabs_pos_eq by assumption. reflexivity.
  - destruct (power_below (depth t) D1) as [X1 X2]. apply Rle_trans with (8 * keys * e32 * 2).
    + apply Rmult_le_compat; try lra; [apply Rmult_le_pos; [apply pos_INR|exact P32]|
        apply Rmult_le_pos; [lra|apply pow_le; lra]|apply Rmult_le_compat_r; assumption].
    + right. replace (pow2 (-146)) with (16 * e32) by (change 16 with (pow2 4); rewrite <- bpow_plus; reflexivity). ring. }
destruct count_small as [C1 _].
assert (G : 0 <= gF <= / 64).
{ unfold gF. split; [pose proof (bound.exp_above (INR (bF + 10) * u32)); lra|].
  eapply Rle_trans; [apply Rplus_le_compat_r, exp_below; lra|]. set (z := INR (bF + 10) * u32) in *.
  assert (z * z <= / 1000 * z) by (apply Rmult_le_compat_r; lra). lra. }
assert (C := sum_close n a a' b b' g' B r kb gF tau eb (keys * pow2 (-146)) Nf
  ltac:(intros j Hj; destruct (weights j Hj) as [? [? [? _]]]; repeat split; assumption) sizes
  ltac:(intros j Hj; split; [apply Pg|]; destruct (weights j Hj) as [_ [_ [_ X]]];
    destruct (power_below (k j) (D2 j Hj)) as [Y1 Y2]; destruct X as [X|X]; [left|right; split; [unfold g'; lra|exact X]];
    apply Rle_trans with (1 := Y1); unfold gF; apply Rplus_le_compat_r, exp_le, Rmult_le_compat_r; [lra|];
    apply le_INR; destruct (shifts j Hj) as [Hm _];
    destruct (few (sh j) (m j) (l j) (below j Hj) Hm X) as [_ Y3];
    assert (L9 : (length (l j) <= 9)%nat) by (apply INR_le; replace (INR 9) with 9 by (simpl; ring); exact Y3);
    pose proof (depths j Hj); lia) HS ltac:(repeat split; lra)).
apply Rle_trans with (1 := C). apply Rplus_le_compat_r. apply Rmult_le_compat_r.
- apply sum_nonneg. intros j Hj. destruct (weights j Hj) as [? _]. destruct (sizes j Hj) as [? _]. apply Rmult_le_pos; lra.
- apply kF_above; [lra|exact S2|exact rs].
Qed.

(* what stands in 2 tail of measured_quotient *)
Lemma float_quotient : 0 <= Nf / D /\ 0 <= sum n (fun j => a j * b j) / W /\
  Nf / D * (1 - (kF + k2) * (1 + / 8)) - 3 * (2 * eb * (sum n a / W) + (INR n * (2 * tau * (B + eb)) + keys * pow2 (-146))) <=
  sum n (fun j => a j * b j) / W <=
  Nf / D * (1 + (kF + k2) * (1 + / 8)) + 3 * (2 * eb * (sum n a / W) + (INR n * (2 * tau * (B + eb)) + keys * pow2 (-146))).
Proof.
assert (PW := W_pos). assert (WL := W_least). change (pow2 (-10)) with (/ 1024) in WL.
assert (DR := D_range). destruct small as [S1 [S2 [S3 S4]]]. pose proof n_pos as Pn.
set (T1 := 2 * eb * (sum n a / W)). set (T2 := INR n * (2 * tau * (B + eb)) + keys * pow2 (-146)).
assert (Psa : 0 <= sum n a) by (apply sum_nonneg; intros j Hj; apply weights, Hj).
assert (PT1 : 0 <= T1).
{ unfold T1. repeat apply Rmult_le_pos; try lra. left; apply Rinv_0_lt_compat, PW. }
assert (PB : 0 <= B).
{ destruct first as [j [Hj _]]. destruct (sizes j Hj) as [? _]. lra. }
assert (PT2 : 0 <= T2).
{ unfold T2. apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; try lra; apply bpow_ge_0. }
set (N0 := sum n (fun j => a j * b j)).
assert (PN : 0 <= N0).
{ apply sum_nonneg. intros j Hj. destruct (weights j Hj) as [? _]. destruct (sizes j Hj) as [? _]. apply Rmult_le_pos; lra. }
assert (H : Rabs (Nf - N0) <= kF * N0 + (T1 + T2 * (1 + / 500)) * W).
{ eapply Rle_trans; [exact float_close|]. fold N0. apply Rplus_le_compat_l. unfold tails.
  replace (2 * eb * sum n a) with (T1 * W) by (unfold T1; field; lra).
  assert (T2 * 1 <= T2 * ((1 + / 500) * W)) by (apply Rmult_le_compat_l; [exact PT2|lra]). unfold T2 in *. lra. }
destruct kF_enough as [K0 [K1 _]].
assert (K2 : 0 <= k2) by (destruct rho_range; assert (V' := u32_small); unfold k2; lra).
assert (Q := measured_quotient N0 W Nf D kF k2 (kF + k2) (T1 + T2 * (1 + / 500)) PN PW K0 K2 ltac:(lra) H D_off
  ltac:(change (pow2 (-4)) with (/ 16); lra)).
change (pow2 (-3)) with (/ 8) in Q.
split; [apply Rmult_le_pos; [exact Nf_pos|left; apply Rinv_0_lt_compat; lra]|].
split; [apply Rmult_le_pos; [exact PN|left; apply Rinv_0_lt_compat, PW]|]. lra.
Qed.
End Sum.

Notation K9 := ((kF + k2) * (1 + / 8)).
Lemma K9_range : 0 <= K9 <= / 8 /\ K9 + 6 * u32 <= kq.
Proof.
destruct kF_enough as [K0 [K1 K2]]. destruct rho_range. assert (V' := u32_small). unfold k2 in *. lra.
Qed.

(* value_scale_f32, and its inverse *)
Variable scale_exponent : Z.
Hypothesis scale_range : (-1000 <= scale_exponent <= 900)%Z.
Let sc := pow2 scale_exponent.
Let isc := / sc.
Lemma sc_range : 0 < sc /\ pow2 (-1000) <= sc /\ pow2 (-900) <= isc /\ isc * sc = 1.
Proof.
unfold isc, sc. repeat split; try apply bpow_gt_0; try (apply bpow_le; lia).
- rewrite <- bpow_opp. apply bpow_le. lia.
- apply Rinv_l, Rgt_not_eq, bpow_gt_0.
Qed.

Let unit := rnd64 (sc * D).
Lemma unit_near : 0 < sc * D /\ Rabs (unit - sc * D) <= 2 * u64 * (sc * D).
Proof.
destruct sc_range as [S1 [S2 _]]. assert (DR := D_range). assert (WL := W_least). change (pow2 (-10)) with (/ 1024) in WL.
assert (L : pow2 (-1000) * (/ 4) <= sc * D) by (apply Rmult_le_compat; try lra; apply bpow_ge_0).
assert (P : 0 < pow2 (-1000)) by apply bpow_gt_0.
split; [lra|]. pose proof (rounded (sc * D)) as R. rewrite (Rabs_pos_eq (sc * D)) in R by lra.
eapply Rle_trans; [exact R|]. assert (T : eta <= u64 * (pow2 (-1000) * / 4)); [|assert (u64 * (pow2 (-1000) * / 4) <= u64 * (sc * D)) by (apply Rmult_le_compat_l; [apply bpow_ge_0|exact L]); lra].
change (/ 4) with (pow2 (-2)). rewrite <- !bpow_plus. apply bpow_le. lia.
Qed.

(* ---- A ---- *)

Variables (outf : tree) (kA : nat -> nat).
Hypothesis a_sum : sums_along outf n (fun j => rnd32 (e j) * factor32 (l j)) (fun j => rnd32 (Rabs (rnd64 (v j * sc)))) kA.
Hypothesis a_positive : nonneg outf.
(* A key meets no more roundings than those of a chain, of the chains of its block and of the blocks, and
   of its moves; a row has fewer than 8 operations a key. *)
Definition fine (t : tree) (k : nat -> nat) := (forall j, (j < n)%nat -> (k j <= bF + length (l j))%nat) /\
  (INR (S (depth t)) * u32 <= / 32 /\ forall j, (j < n)%nat -> INR (S (k j)) * u32 <= / 32) /\ INR (ops t) <= 8 * keys.
Hypothesis a_fine : fine outf kA.

Lemma value_float j : (j < n)%nat -> 0 <= rnd32 (Rabs (rnd64 (v j * sc))) /\
  Rabs (rnd32 (Rabs (rnd64 (v j * sc))) - Rabs (v j) * sc) <= u32 * (Rabs (v j) * sc) + 2 * e32.
Proof.
intros Hj. destruct (values j Hj) as [F _]. destruct sc_range as [S1 _].
split; [apply rnd32_pos, Rabs_pos|]. assert (X := scaled_double (v j) scale_exponent F). fold sc in X.
assert (T : eta <= / 1000 * e32).
{ apply Rle_trans with (pow2 (-10 + -150)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (P : 0 <= e32) by apply bpow_ge_0. assert (V' := u32_small).
assert (Y : Rabs (Rabs (rnd64 (v j * sc)) - Rabs (v j) * sc) <= eta).
{ apply Rle_trans with (2 := X). replace (Rabs (v j) * sc) with (Rabs (v j * sc)) by (rewrite Rabs_mult, (Rabs_pos_eq sc); lra). apply Rabs_triang_inv2. }
set (y := Rabs (rnd64 (v j * sc))) in *. assert (Py : 0 <= y) by apply Rabs_pos.
pose proof (rounded32 y) as R. rewrite (Rabs_pos_eq y Py) in R. set (x := Rabs (v j) * sc) in *.
apply Rabs_le_inv in Y. apply Rabs_le_inv in R. apply Rabs_le.
assert (u32 * y <= u32 * (x + eta)) by (apply Rmult_le_compat_l; lra).
assert (u32 * eta <= / 1000 * e32) by (assert (u32 * eta <= 1 * eta) by (apply Rmult_le_compat_r; [apply bpow_ge_0|lra]); lra). lra.
Qed.

(* measure_a *)
Definition a_tail : R := rnd64 (rnd64 (keys * rnd64 (rnd64 (pow2 (-95) * V) + rnd64 (pow2 (-142) / sc))) + pow2 (-1060)).

Lemma V_pos : 0 <= V.
Proof. destruct first as [j [Hj _]]. eapply Rle_trans; [apply Rabs_pos|apply (values j Hj)]. Qed.

Lemma a_tail_enough : keys * (7/8 * pow2 (-95) * V + pow2 (-143) * isc) + 8 * eta <= a_tail.
Proof.
assert (PV := V_pos). destruct sc_range as [S1 [_ [S3 _]]]. pose proof n_pos.
assert (Pi : 0 < isc) by (eapply Rlt_le_trans; [apply bpow_gt_0|exact S3]).
assert (N : 0 < eta) by apply bpow_gt_0. assert (P95 : 0 < pow2 (-95)) by apply bpow_gt_0.
assert (P143 : 0 < pow2 (-143)) by apply bpow_gt_0.
assert (L1 := low_one (pow2 (-95) * V) ltac:(apply Rmult_le_pos; lra)).
assert (E142 : pow2 (-142) = 2 * pow2 (-143)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (L2 := low_one (pow2 (-142) / sc) ltac:(apply Rmult_le_pos; [apply bpow_ge_0|fold isc; lra])).
assert (L3 := low_sum _ _ _ _ _ _ _ _ 2 L1 L2 ltac:(lra) ltac:(lra)).
assert (L4 := low_prod keys keys _ _ _ _ 3 L3 ltac:(lra) ltac:(lra)).
assert (L5 := low_given (pow2 (-1060)) (pow2 (-1060)) ltac:(split; [apply bpow_ge_0|apply Rle_refl])).
assert (L6 := low_end _ _ _ _ (low_sum _ _ _ _ _ _ _ _ 4 L4 L5 ltac:(lra) ltac:(lra))).
fold a_tail in L6. clear L1 L2 L3 L4 L5. eapply Rle_trans; [|exact L6].
unfold Rdiv. fold isc. rewrite E142.
assert (T1 : eta <= pow2 (-20) * (pow2 (-143) * isc)).
{ apply Rle_trans with (pow2 (-20) * (pow2 (-143) * pow2 (-900))); [rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_l; [apply bpow_ge_0|]. apply Rmult_le_compat_l; lra. }
assert (T2 : 1024 * eta <= pow2 (-1060)) by (change 1024 with (pow2 10); rewrite <- bpow_plus; apply bpow_le; lia).
set (X := pow2 (-95) * V) in *. set (Y := pow2 (-143) * isc) in *.
assert (PX : 0 <= X) by (apply Rmult_le_pos; lra). assert (PY : 0 < Y) by (apply Rmult_lt_0_compat; lra).
replace (2 * pow2 (-143) * isc) with (2 * Y) by (unfold Y; ring).
replace (7 * / 8 * pow2 (-95) * V) with (7 * / 8 * X) by (unfold X; ring).
assert (KX : 0 <= keys * X) by (apply Rmult_le_pos; lra). assert (KY : 0 <= keys * Y) by (apply Rmult_le_pos; lra).
apply (Rmult_le_compat_l keys) in T1; [|lra].
generalize dependent (pow2 (-1060)). intros p; intros.
change (pow2 (-46)) with (/ 70368744177664). change (pow2 (-20)) with (/ 1048576) in T1. lra.
Qed.

Let A := mean n (fun j => exp (s j)) (fun j => Rabs (v j)).
Definition a_c : R := rnd64 (fl rnd32 rnd32 outf / unit).

Lemma shifted f : mean n (fun j => exp (s j)) f = mean n w f.
Proof.
rewrite (mean_ext n w (fun j => exp (- M) * exp (s j)) f).
- symmetry. apply mean_scal; [apply Rgt_not_eq, exp_pos|].
  destruct first as [j [Hj _]]. apply Rgt_not_eq, Rlt_gt, sum_pos with j; [|exact Hj|apply exp_pos].
  intros; left; apply exp_pos.
- intros j _. unfold w. rewrite <- exp_plus. f_equal. ring.
Qed.

(** theorem: condition_a — of the double tier of softmax, A = sum p |v| lies between the bounds that measure_a makes of a sum in float, of values rounded to float and of weights that follow the shift in float, divided by the normaliser. used by: src/softmax/enclose.c, src/softmax/condition_impl.h *)
Theorem condition_a : lower_c a_c kq a_tail <= A <= upper_c a_c kq a_tail.
Proof.
assert (V' := u32_small). assert (PV := V_pos). destruct sc_range as [S1 [_ [S3 S4]]]. destruct a_fine as [F1 [F2 F3]].
destruct rho_range as [RE RR]. pose proof n_pos as Pn. assert (PW := W_pos). destruct unit_near as [U1 U2].
assert (P98 : 0 <= pow2 (-98)) by apply bpow_ge_0. assert (P32 : 0 <= e32) by apply bpow_ge_0.
assert (Em : 1 <= exp met <= 1 + / 1000).
{ assert (B : 0 <= met <= / 10000) by (unfold met; simpl; lra). split; [pose proof (bound.exp_above met); lra|].
  eapply Rle_trans; [apply exp_below; lra|]. assert (met * met <= / 10000 * met) by (apply Rmult_le_compat_r; lra). lra. }
set (r := (1 + rho) * exp met - 1).
assert (Hr : 0 <= r <= / 64).
{ unfold r. split; [assert (1 * 1 <= (1 + rho) * exp met) by (apply Rmult_le_compat; lra); lra|].
  assert ((1 + rho) * exp met <= (1 + / 65536) * (1 + / 1000)) by (apply Rmult_le_compat; lra). lra. }
destruct count_small as [_ Plt].
assert (Pf : 0 <= fl rnd32 rnd32 outf) by (apply nonneg_fl; [exact rnd32_pos|exact a_positive]).
assert (Q := float_quotient w (fun j => rnd32 (e j) * factor32 (l j)) (fun j => Rabs (v j) * sc)
  (fun j => rnd32 (Rabs (rnd64 (v j * sc)))) (V * sc) r u32 (pow2 (-98)) (2 * e32) outf kA
  ltac:(intros j Hj; destruct (shifts j Hj) as [Hm HM];
    assert (FW := float_weight (s j) (sh j) (m j) E (e j) (l j) (scores j Hj) RE (below j Hj) (exponentials j Hj) Hm rho
      ltac:(lra) ltac:(rewrite HM; apply relative_weight; exact Hj) (rnd32 (e j)) (or_intror eq_refl));
    rewrite HM in FW; fold (w j) in FW; fold r in FW;
    assert (Pw : 0 < w j) by apply exp_pos; assert (Prw : 0 <= r * w j) by (apply Rmult_le_pos; lra);
    assert (Pe : 0 <= rnd32 (e j)) by (apply rnd32_pos, (exponentials j Hj)); pose proof (factor32_pos (l j) Hm) as Pff;
    split; [lra|]; split; [apply Rmult_le_pos; assumption|];
    destruct FW as [[X1 X2]|[X1 X2]]; [split; [lra|left; exact X1]|split; [apply Rabs_le; lra|right; lra]])
  ltac:(intros j Hj; destruct (values j Hj) as [_ HV]; destruct (value_float j Hj) as [Y1 Y2];
    split; [split; [apply Rmult_le_pos; [apply Rabs_pos|lra]|apply Rmult_le_compat_r; lra]|split; assumption])
  ltac:(repeat split; lra)
  ltac:(unfold r; replace (1 + ((1 + rho) * exp met - 1)) with ((1 + rho) * exp met) by ring;
    replace (rho + met + lt + 3 * u32) with (rho + met + (lt + 3 * u32)) by ring; rewrite !exp_plus;
    apply Rle_trans with (exp rho * exp met * 1); [rewrite Rmult_1_r; apply Rmult_le_compat_r; [lra|apply bound.exp_above]|
    apply Rmult_le_compat_l; [apply Rmult_le_pos; left; apply exp_pos|pose proof (bound.exp_above (lt + 3 * u32)); rewrite exp_plus in *; lra]])
  a_sum F1 F2 F3 Pf).
cbv beta in Q. set (Nf := fl rnd32 rnd32 outf) in *.
assert (EA : sum n (fun j => w j * (Rabs (v j) * sc)) / W = A * sc).
{ unfold A. rewrite shifted. unfold mean. fold W.
  rewrite (sum_ext n (fun j => w j * (Rabs (v j) * sc)) (fun j => w j * Rabs (v j) * sc)) by (intros; ring).
  rewrite sum_scal_r. field. lra. }
rewrite EA in Q. fold W in Q. replace (W / W) with 1 in Q by (field; lra). destruct Q as [Q1 [Q2 Q3]].
set (q0 := Nf / (sc * D)). assert (DR := D_range).
assert (Eq : Nf / D = q0 * sc) by (unfold q0; field; split; lra). rewrite Eq in Q1, Q3.
assert (Pi : 0 < isc) by (eapply Rlt_le_trans; [apply bpow_gt_0|exact S3]).
set (T := 2 * (2 * e32) * 1 + (INR n * (2 * pow2 (-98) * (V * sc + 2 * e32)) + keys * pow2 (-146))) in *.
assert (PVs : 0 <= V * sc) by (apply Rmult_le_pos; lra).
assert (PT : 0 <= T).
{ unfold T. repeat apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; try lra; apply bpow_ge_0. }
assert (Pq : 0 <= q0).
{ apply (Rmult_le_reg_r sc); [exact S1|]. lra. }
assert (PA : 0 <= A) by (apply (Rmult_le_reg_r sc); lra).
assert (tail_ok : 3 * T * isc * (1 + / 1000) + 8 * eta <= a_tail).
{ eapply Rle_trans; [|exact a_tail_enough]. apply Rplus_le_compat_r.
  assert (E98 : pow2 (-95) = 8 * pow2 (-98)) by (change 8 with (pow2 3); rewrite <- bpow_plus; reflexivity).
  assert (E46 : pow2 (-146) = 16 * e32) by (change 16 with (pow2 4); rewrite <- bpow_plus; reflexivity).
  assert (E43 : pow2 (-143) = 128 * e32) by (change 128 with (pow2 7); rewrite <- bpow_plus; reflexivity).
  assert (T98 : pow2 (-98) <= / 1000) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]).
  assert (HT : T <= keys * (20 * e32 + 2 * (pow2 (-98) * (V * sc)) + e32)).
  { unfold T. rewrite E46.
    assert (INR n * (2 * pow2 (-98) * (V * sc + 2 * e32)) <= keys * (2 * pow2 (-98) * (V * sc + 2 * e32))).
    { apply Rmult_le_compat_r; [|lra]. apply Rmult_le_pos; lra. }
    assert (1 * e32 <= keys * e32) by (apply Rmult_le_compat_r; lra).
    assert (keys * e32 * pow2 (-98) <= keys * e32 * / 1000) by (apply Rmult_le_compat_l; [apply Rmult_le_pos|]; lra). lra. }
  apply (Rmult_le_compat_r isc) in HT; [|lra].
  replace (keys * (20 * e32 + 2 * (pow2 (-98) * (V * sc)) + e32) * isc) with
    (keys * (21 * (e32 * isc) + 2 * (pow2 (-98) * V) * (isc * sc))) in HT by ring. rewrite S4 in HT.
  rewrite E98, E43. assert (0 <= keys * (e32 * isc)) by (repeat apply Rmult_le_pos; lra).
  assert (0 <= keys * (pow2 (-98) * V)) by (repeat apply Rmult_le_pos; lra). lra. }
assert (In : q0 * (1 - K9) - 3 * T * isc <= A <= q0 * (1 + K9) + 3 * T * isc).
{ assert (E3 : 3 * T * isc * sc = 3 * T) by (rewrite Rmult_assoc, S4; ring).
  split; apply (Rmult_le_reg_r sc); try exact S1; lra. }
destruct K9_range as [K0 K1].
assert (QN := quotient_near Nf unit (sc * D) Pf U1 U2). fold a_c q0 in QN.
assert (PTi : 0 <= 3 * T * isc) by (apply Rmult_le_pos; lra).
split.
- apply (enclosed_down A q0 a_c K9 (3 * T * isc)); try assumption; lra.
- destruct (enclosed_up A q0 a_c K9 (3 * T * isc) kq a_tail Pq QN ltac:(lra) ltac:(lra) In) as [H _].
  assert (0 <= u32 * q0) by (apply Rmult_le_pos; lra). assert (0 <= a_tail) by (assert (0 <= eta) by apply bpow_ge_0; lra). lra.
Qed.
(* ---- C and S: weights times sizes ---- *)

(* t: sizes of the scores of keys, 0 at the sink, computed as t1; z: computed products with the weights *)
Variables (t t1 z : nat -> R) (T qn kn : R).
Let et := INR (d + 1) * pow2 (-146) * (1 + 2 * qn + kn).
Hypothesis norms_pos : 0 <= qn /\ 0 <= kn.
Hypothesis t_range : forall j, (j < n)%nat -> 0 <= t j <= T.
Hypothesis t_off : forall j, (j < n)%nat -> 0 <= t1 j /\ Rabs (t1 j - t j) <= (exp lt - 1) * t j + et.
(* size_weights: in float as rnd32 (t1 (float) w), or in double first *)
Hypothesis z_off : forall j, (j < n)%nat -> z j = rnd32 (t1 j * rnd32 (e j)) \/ z j = rnd32 (rnd64 (e j * t1 j)).
Let tau := sized_tail et T.

Lemma product_float x : 0 <= x -> 0 <= rnd32 x /\ 0 <= rnd32 (rnd64 x) /\
  Rabs (rnd32 x - x) <= 3 * u32 * x + 2 * e32 /\ Rabs (rnd32 (rnd64 x) - x) <= 3 * u32 * x + 2 * e32.
Proof.
intros H. assert (U := u64_small). assert (V' := u32_small). assert (P : 0 <= e32) by apply bpow_ge_0.
assert (T' : 0 <= eta <= / 1000 * e32).
{ split; [apply bpow_ge_0|]. apply Rle_trans with (pow2 (-10 + -150)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
destruct (rounded_pos x H) as [R1 R2]. pose proof (rounded32 x) as S1. rewrite (Rabs_pos_eq x H) in S1.
pose proof (rounded32 (rnd64 x)) as S2. rewrite (Rabs_pos_eq _ R2) in S2.
assert (Ux : 0 <= u32 * x) by (apply Rmult_le_pos; lra).
assert (u64 * x <= / 1000000 * (u32 * x)).
{ replace (/ 1000000 * (u32 * x)) with (/ 1000000 * u32 * x) by ring. apply Rmult_le_compat_r; lra. }
split; [apply rnd32_pos, H|]. split; [apply rnd32_pos, R2|]. split; [lra|].
set (y := rnd64 x) in *. apply Rabs_le_inv in S2. apply Rabs_le.
assert (u32 * y <= u32 * (2 * x + eta)) by (apply Rmult_le_compat_l; [lra|]; assert (u64 * x <= 1 * x) by (apply Rmult_le_compat_r; lra); lra).
assert (u32 * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Let r := (1 + rho) * exp met * (1 + (exp lt - 1)) * (1 + 3 * u32) - 1.

Lemma et_pos : 0 <= et.
Proof. destruct norms_pos. unfold et. repeat apply Rmult_le_pos; try apply pos_INR; try apply bpow_ge_0. lra. Qed.

Lemma tau_pos : 0 <= tau.
Proof.
destruct first as [j [Hj _]]. pose proof (t_range j Hj). pose proof et_pos. unfold tau, sized_tail.
repeat apply Rplus_le_le_0_compat; apply Rmult_le_pos; try apply bpow_ge_0; try assumption; lra.
Qed.

Lemma r_range : 0 <= r <= / 64 /\ 1 + r <= exp (rho + met + lt + 3 * u32).
Proof.
assert (V' := u32_small). destruct rho_range as [_ RR]. destruct count_small as [_ Plt].
assert (Em : 0 <= met <= / 10000) by (unfold met; simpl; lra).
assert (E1 : 1 + r <= exp (rho + met + lt + 3 * u32)).
{ unfold r. rewrite !exp_plus. replace (1 + (exp lt - 1)) with (exp lt) by ring.
  replace (1 + ((1 + rho) * exp met * exp lt * (1 + 3 * u32) - 1)) with ((1 + rho) * exp met * exp lt * (1 + 3 * u32)) by ring.
  pose proof (exp_pos met). pose proof (exp_pos lt). pose proof (exp_pos rho).
  apply Rmult_le_compat; [repeat apply Rmult_le_pos; lra|lra| |apply bound.exp_above].
  repeat (apply Rmult_le_compat_r; [lra|]). apply bound.exp_above. }
split; [|exact E1]. split.
- unfold r. replace (1 + (exp lt - 1)) with (exp lt) by ring.
  assert (1 * 1 <= (1 + rho) * exp met) by (apply Rmult_le_compat; try lra; pose proof (bound.exp_above met); lra).
  assert (1 * 1 <= (1 + rho) * exp met * exp lt) by (apply Rmult_le_compat; try lra; pose proof (bound.exp_above lt); lra).
  assert (1 * 1 <= (1 + rho) * exp met * exp lt * (1 + 3 * u32)) by (apply Rmult_le_compat; lra). lra.
- set (x := rho + met + lt + 3 * u32) in *. assert (Hx : 0 <= x <= / 200) by (unfold x; lra).
  pose proof (exp_below x ltac:(lra)). assert (x * x <= / 200 * x) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma sized_weight j : (j < n)%nat -> 0 <= w j * t j /\ 0 <= z j * factor32 (l j) /\
  Rabs (z j * factor32 (l j) - w j * t j) <= r * (w j * t j) + tau /\
  (-68 <= rnd64 (sh j - m j) - distance (l j) \/ z j * factor32 (l j) <= 2 * tau).
Proof.
intros Hj. destruct (shifts j Hj) as [Hm HM]. destruct rho_range as [RE RR]. destruct (t_off j Hj) as [T1 T2].
destruct (exponentials j Hj) as [Pe _]. pose proof et_pos as Pet. destruct count_small as [_ Plt].
assert (KL : 0 <= exp lt - 1 <= / 2).
{ split; [pose proof (bound.exp_above lt); lra|]. pose proof (exp_below lt ltac:(lra)).
  assert (lt * lt <= / 1000 * lt) by (apply Rmult_le_compat_r; lra). lra. }
assert (Z : exists e1, (e1 = e j \/ e1 = rnd32 (e j)) /\ 0 <= z j /\ Rabs (z j - t1 j * e1) <= 3 * u32 * (t1 j * e1) + 2 * e32).
{ destruct (z_off j Hj) as [-> | ->].
  - exists (rnd32 (e j)). split; [right; reflexivity|].
    assert (P := product_float (t1 j * rnd32 (e j)) ltac:(apply Rmult_le_pos; [exact T1|apply rnd32_pos, Pe])). tauto.
  - exists (e j). split; [left; reflexivity|]. rewrite (Rmult_comm (t1 j)).
    assert (P := product_float (e j * t1 j) ltac:(apply Rmult_le_pos; assumption)). tauto. }
destruct Z as [e1 [Z1 [Z2 Z3]]].
assert (F := float_sized (s j) (sh j) (m j) E (e j) (l j) (scores j Hj) RE (below j Hj) (exponentials j Hj) Hm rho
  ltac:(lra) ltac:(rewrite HM; apply relative_weight; exact Hj) e1 Z1 (t j) (t1 j) (z j) (exp lt - 1) et T (t_range j Hj)
  (conj T1 T2) ltac:(repeat split; lra) (conj Z2 Z3) ltac:(rewrite HM; apply w_below; exact Hj)).
rewrite HM in F. fold (w j) in F. fold tau in F. destruct F as [F1 F2].
split; [apply Rmult_le_pos; [left; apply exp_pos|apply t_range, Hj]|].
split; [apply Rmult_le_pos; [exact Z2|apply factor32_pos, Hm]|]. split; [exact F1|exact F2].
Qed.

(* view_row: c_off *)
Definition c_off : R := rnd64 (keys * rnd64 (rnd64 (pow2 (-92) * T) +
  rnd64 (rnd64 ((INR d + 2) * pow2 (-124)) * rnd64 (rnd64 (1 + qn) + kn)))).

Lemma T_pos : 0 <= T.
Proof. destruct first as [j [Hj _]]. pose proof (t_range j Hj). lra. Qed.

Lemma c_off_enough : (1 + / 1000) * (3 * (INR n * (2 * tau) + keys * pow2 (-146))) + 8 * pow2 (-97) * T + pow2 (-127) <= c_off * (999/1000).
Proof.
assert (PT := T_pos). destruct norms_pos as [Pq Pk]. pose proof n_pos as Pn. assert (N : 0 < eta) by apply bpow_gt_0. pose proof (pos_INR d) as Pd.
assert (L1 := low_one (pow2 (-92) * T) ltac:(apply Rmult_le_pos; [apply bpow_ge_0|exact PT])).
assert (L2 := low_one ((INR d + 2) * pow2 (-124)) ltac:(apply Rmult_le_pos; [lra|apply bpow_ge_0])).
assert (L3 := low_one (1 + qn) ltac:(lra)).
assert (L4 := low_sum _ _ _ _ _ _ _ _ 2 L3 (low_given kn kn ltac:(lra)) ltac:(lra) ltac:(lra)).
destruct L4 as [L4a [L4b [_ [_ L4]]]].
assert (B1 : (1 + qn + kn) * / 2 <= rnd64 (rnd64 (1 + qn) + kn)).
{ assert (U := u64_size). assert (eta <= / 100) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]).
  assert ((1 + qn + kn) * (2 * u64) <= (1 + qn + kn) * / 100) by (apply Rmult_le_compat_l; lra). lra. }
destruct L2 as [L2a [L2b [_ [_ L2]]]].
assert (B2 : (INR d + 2) * pow2 (-124) * (99/100) <= rnd64 ((INR d + 2) * pow2 (-124))).
{ assert (U := u64_size). assert (eta <= / 1000 * pow2 (-124)).
  { apply Rle_trans with (pow2 (-10 + -124)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
  assert (P : 0 < pow2 (-124)) by apply bpow_gt_0. assert (0 <= INR d * pow2 (-124)) by (apply Rmult_le_pos; lra).
  assert ((INR d + 2) * pow2 (-124) * (1 * u64) <= (INR d + 2) * pow2 (-124) * / 1000) by (apply Rmult_le_compat_l; lra). lra. }
set (x2 := rnd64 ((INR d + 2) * pow2 (-124))) in *. set (x4 := rnd64 (rnd64 (1 + qn) + kn)) in *.
set (Y := (INR d + 2) * pow2 (-124) * (1 + qn + kn)).
assert (P126 : 0 < pow2 (-124)) by apply bpow_gt_0.
assert (PY0 : 2 * pow2 (-124) <= Y).
{ unfold Y. replace ((INR d + 2) * pow2 (-124) * (1 + qn + kn)) with ((INR d + 2) * (1 + qn + kn) * pow2 (-124)) by ring.
  apply Rmult_le_compat_r; [lra|]. replace 2 with (2 * 1) by ring. apply Rmult_le_compat; lra. }
assert (B3 : low (x2 * x4) (Y * (49/100)) 0 0).
{ apply low_given. split; [lra|]. unfold Y. replace ((INR d + 2) * pow2 (-124) * (1 + qn + kn) * (49 / 100)) with
    ((INR d + 2) * pow2 (-124) * (98/100) * ((1 + qn + kn) * / 2)) by field.
  apply Rmult_le_compat; try lra; repeat apply Rmult_le_pos; lra. }
assert (L5 := low_rnd _ _ _ _ 1 B3 ltac:(lra)).
assert (L6 := low_sum _ _ _ _ _ _ _ _ 2 L1 L5 ltac:(lra) ltac:(lra)).
assert (L7 := low_end _ _ _ _ (low_prod keys keys _ _ _ _ 3 L6 ltac:(lra) ltac:(lra))).
fold x2 x4 in L7. change (rnd64 (keys * rnd64 (rnd64 (pow2 (-92) * T) + rnd64 (x2 * x4)))) with c_off in L7.
clear L1 L3 L5 L6 B3. apply (Rmult_le_compat_r (999/1000)) in L7; [|lra]. eapply Rle_trans; [|exact L7].
assert (E92 : pow2 (-92) = 32 * pow2 (-97)) by (change 32 with (pow2 5); rewrite <- bpow_plus; reflexivity).
assert (E27 : pow2 (-124) = 8 * pow2 (-127)) by (change 8 with (pow2 3); rewrite <- bpow_plus; reflexivity).
assert (E31 : pow2 15 * pow2 (-146) = / 128 * pow2 (-124)) by (change (/ 128) with (pow2 (-7)); rewrite <- !bpow_plus; reflexivity).
assert (E50 : e32 <= / 1000 * pow2 (-124)).
{ apply Rle_trans with (pow2 (-10 + -124)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (E46 : pow2 (-146) <= / 1000 * pow2 (-124)).
{ apply Rle_trans with (pow2 (-10 + -124)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (P97 : 0 < pow2 (-97)) by apply bpow_gt_0. assert (PX : 0 <= pow2 (-97) * T) by (apply Rmult_le_pos; lra).
assert (ET : pow2 15 * et <= / 64 * Y).
{ unfold et, Y. replace (pow2 15 * (INR (d + 1) * pow2 (-146) * (1 + 2 * qn + kn))) with
    (INR (d + 1) * (1 + 2 * qn + kn) * (pow2 15 * pow2 (-146))) by ring. rewrite E31, plus_INR. simpl (INR 1).
  assert (A1 : (INR d + 1) * (1 + 2 * qn + kn) <= (INR d + 2) * (2 * (1 + qn + kn))) by (apply Rmult_le_compat; lra).
  apply (Rmult_le_compat_r (/ 128 * pow2 (-124))) in A1; [|lra]. lra. }
assert (TAU : tau <= pow2 (-97) * T + / 64 * Y + / 500 * pow2 (-124)) by (unfold tau, sized_tail; lra).
assert (PTAU := tau_pos).
assert (NT : INR n * (2 * tau) <= keys * (2 * tau)) by (apply Rmult_le_compat_r; lra).
assert (KT : keys * (2 * tau) <= keys * (2 * (pow2 (-97) * T + / 64 * Y + / 500 * pow2 (-124)))) by (apply Rmult_le_compat_l; lra).
assert (K46 : keys * pow2 (-146) <= keys * (/ 1000 * pow2 (-124))) by (apply Rmult_le_compat_l; lra).
assert (KY : keys * (2 * pow2 (-124)) <= keys * Y) by (apply Rmult_le_compat_l; lra).
assert (KX : 0 <= keys * (pow2 (-97) * T)) by (apply Rmult_le_pos; lra).
assert (KX1 : 1 * (pow2 (-97) * T) <= keys * (pow2 (-97) * T)) by (apply Rmult_le_compat_r; lra).
assert (K126 : 1 * pow2 (-124) <= keys * pow2 (-124)) by (apply Rmult_le_compat_r; lra).
assert (Ke : eta <= / 1000 * pow2 (-124)).
{ apply Rle_trans with (pow2 (-10 + -124)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Kek : eta * keys <= keys * (/ 1000 * pow2 (-124))) by (rewrite Rmult_comm; apply Rmult_le_compat_l; lra).
rewrite E92. replace (32 * pow2 (-97) * T) with (32 * (pow2 (-97) * T)) by ring. replace (8 * pow2 (-97) * T) with (8 * (pow2 (-97) * T)) by ring.
set (XX := pow2 (-97) * T) in *. clearbody XX Y. clear L7 TAU ET.
change (pow2 (-46)) with (/ 70368744177664). lra.
Qed.

Let C := mean n (fun j => exp (s j)) t.
Variables (cf ef : tree) (kC kE : nat -> nat).
Hypothesis c_sum : sums_along cf n (fun j => z j * factor32 (l j)) (fun _ => 1) kC.
Hypothesis c_positive : nonneg cf.
Hypothesis c_fine : fine cf kC.
Definition c_c : R := rnd64 (fl rnd32 rnd32 cf / D).
Let c_hi := upper_c c_c kq c_off.

Lemma C_value : sum n (fun j => w j * t j) / W = C.
Proof. unfold C. rewrite shifted. reflexivity. Qed.

Lemma c_quotient : 0 <= C /\ 0 <= fl rnd32 rnd32 cf / D /\ 0 <= 3 * (INR n * (2 * tau) + keys * pow2 (-146)) /\
  fl rnd32 rnd32 cf / D * (1 - K9) - 3 * (INR n * (2 * tau) + keys * pow2 (-146)) <= C <=
  fl rnd32 rnd32 cf / D * (1 + K9) + 3 * (INR n * (2 * tau) + keys * pow2 (-146)).
Proof.
assert (V' := u32_small). destruct c_fine as [F1 [F2 F3]]. destruct r_range as [R1 R2]. pose proof tau_pos as Pt.
assert (Pf : 0 <= fl rnd32 rnd32 cf) by (apply nonneg_fl; [exact rnd32_pos|exact c_positive]). pose proof n_pos as Pn.
assert (Q := float_quotient (fun j => w j * t j) (fun j => z j * factor32 (l j)) (fun _ => 1) (fun _ => 1) 1 r 0 tau 0 cf kC
  sized_weight ltac:(intros j Hj; cbv beta; replace (1 - 1) with 0 by ring; rewrite Rabs_R0; repeat split; lra)
  ltac:(repeat split; lra) R2 c_sum F1 F2 F3 Pf).
cbv beta in Q. rewrite (sum_ext n (fun j => w j * t j * 1) (fun j => w j * t j)) in Q by (intros; ring).
rewrite C_value in Q. replace (2 * 0 * C + (INR n * (2 * tau * (1 + 0)) + keys * pow2 (-146))) with
  (INR n * (2 * tau) + keys * pow2 (-146)) in Q by ring.
assert (0 <= INR n * (2 * tau)) by (apply Rmult_le_pos; lra). assert (0 <= keys * pow2 (-146)) by (apply Rmult_le_pos; [lra|apply bpow_ge_0]).
destruct Q as [Q1 [Q2 Q3]]. split; [exact Q2|]. split; [exact Q1|]. split; [lra|exact Q3].
Qed.

(** theorem: condition_c — C = sum p t over the keys lies between the bounds that view_row and enclose_lse make of its sum in float. used by: src/softmax/enclose.c, src/softmax/condition_impl.h *)
Theorem condition_c : lower_c c_c kq c_off <= C <= c_hi.
Proof.
assert (V' := u32_small). destruct c_quotient as [PC [Pq [P3 Q]]]. assert (DR := D_range). assert (PW := W_pos).
destruct K9_range as [K0 K1]. assert (CO := c_off_enough). assert (PT := T_pos).
assert (Pf : 0 <= fl rnd32 rnd32 cf) by (apply nonneg_fl; [exact rnd32_pos|exact c_positive]).
assert (QN := quotient_near (fl rnd32 rnd32 cf) D D Pf ltac:(lra)
  ltac:(replace (D - D) with 0 by ring; rewrite Rabs_R0; repeat apply Rmult_le_pos; try lra; apply bpow_ge_0)). fold c_c in QN.
assert (Pco : 0 <= c_off) by (apply rnd64_pos, Rmult_le_pos; [pose proof n_pos; lra|apply rnd64_pos, Rplus_le_le_0_compat; apply rnd64_pos, Rmult_le_pos; try (apply bpow_ge_0); try exact PT; try (apply rnd64_pos, Rmult_le_pos; [pose proof (pos_INR d); lra|apply bpow_ge_0]); destruct norms_pos; apply rnd64_pos, Rplus_le_le_0_compat; [apply rnd64_pos; lra|assumption]]).
assert (T97 : 0 <= 4 * pow2 (-97) * T) by (repeat apply Rmult_le_pos; try lra; apply bpow_ge_0).
assert (T8 : 8 * eta <= pow2 (-127)) by (change 8 with (pow2 3); rewrite <- bpow_plus; apply bpow_le; lia).
set (tl := 3 * (INR n * (2 * tau) + keys * pow2 (-146))) in *.
split.
- apply (enclosed_down C (fl rnd32 rnd32 cf / D) c_c K9 tl); try assumption; lra.
- destruct (enclosed_up C (fl rnd32 rnd32 cf / D) c_c K9 tl kq c_off Pq QN ltac:(lra) ltac:(lra) Q) as [H _].
  assert (0 <= u32 * (fl rnd32 rnd32 cf / D)) by (apply Rmult_le_pos; lra). unfold c_hi. lra.
Qed.
(* ---- the sink ---- *)

(* sigma: its share p t, computed as sk; both 0 without one *)
Variables (sigma sk : R).
Definition a_sink := exists ss sks es, Rabs (sks - ss) <= E + pow2 (-62) /\ rnd64 (sks - M) <= 17/2 /\
  is_exp (rnd64 (sks - M)) es /\ Rabs ss <= T /\ Rabs (Rabs sks - Rabs ss) <= 3 * u64 * Rabs ss + 2 * eta /\
  sigma = exp (ss - M) * Rabs ss / W /\ sk = rnd64 (rnd64 (es * Rabs sks) / D).
Hypothesis sink : (sigma = 0 /\ sk = 0) \/ a_sink.

Lemma sink_close : 0 <= sigma /\ 0 <= sk /\ Rabs (sigma - sk) <= (kq - 5 * u32) * sk + (4 * pow2 (-97) * T + pow2 (-1050)).
Proof.
assert (V' := u32_small). assert (U := u64_small). assert (N : 0 < eta) by apply bpow_gt_0. assert (PT := T_pos). assert (PW := W_pos). assert (DR := D_range).
assert (WL := W_least). change (pow2 (-10)) with (/ 1024) in WL.
destruct K9_range as [K0 K1]. assert (P97 : 0 <= pow2 (-97)) by apply bpow_ge_0. destruct rho_range as [RE RR].
destruct sink as [[-> ->]|[ss [sks [es [H1 [H2 [H3 [H4 [H5 [-> ->]]]]]]]]]].
- split; [lra|]. split; [lra|]. replace (0 - 0) with 0 by ring. rewrite Rabs_R0.
  assert (0 <= 4 * pow2 (-97) * T) by (repeat apply Rmult_le_pos; lra). assert (0 <= pow2 (-1050)) by apply bpow_ge_0. lra.
- set (ws := exp (ss - M)). set (ts := Rabs ss) in *. assert (Pws : 0 < ws) by apply exp_pos. assert (Pts : 0 <= ts) by apply Rabs_pos.
  assert (FW := softmax_weight ss sks M E es [] H1 RE H2 H3 ltac:(constructor)). cbv zeta in FW. cbn [distance factor] in FW.
  rewrite Rplus_0_r, Rmult_1_r in FW. fold ws in FW.
  assert (FW' : Rabs (es - ws) <= rho * ws + pow2 (-98)).
  { assert (B98 : 0 < pow2 (-98)) by apply bpow_gt_0. destruct FW as [FW|[Y1 Y2]].
    - apply Rle_trans with (softmax.weight.rho E [] * ws); [exact FW|].
      assert (softmax.weight.rho E [] <= rho); [|assert (softmax.weight.rho E [] * ws <= rho * ws) by (apply Rmult_le_compat_r; lra); lra].
      destruct usable as [_ [HR _]]. eapply Rle_trans; [|exact HR]. unfold softmax.weight.rho, least_rho.
      apply Rmult_le_compat_r; [assert (B := bpow_ge_0 radix2 (-13)); lra|]. apply Rplus_le_compat_l, Rmult_le_compat_r; [lra|destruct rescaled; lra].
    - assert (0 <= rho * ws) by (apply Rmult_le_pos; lra). apply Rabs_le. lra. }
  assert (Pes : 0 <= es) by apply H3. set (a := Rabs sks) in *. assert (Pa : 0 <= a) by apply Rabs_pos.
  assert (Pea : 0 <= es * a) by (apply Rmult_le_pos; assumption). destruct (rounded_pos (es * a) Pea) as [R1 R2].
  set (N' := rnd64 (es * a)) in *. set (N0 := ws * ts). assert (PN : 0 <= N0) by (apply Rmult_le_pos; lra).
  assert (E98 : pow2 (-97) = 2 * pow2 (-98)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
  assert (B98 : 0 < pow2 (-98) <= / 1000) by (split; [apply bpow_gt_0|apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]]).
  assert (Wb : ws <= 16384).
  { (* a score beyond the shift by more than 9 is none that 17/2 admits *)
    assert (Q := distance_from_shift sks M). set (y := rnd64 (sks - M)) in *. apply Rabs_le_inv in Q. apply Rabs_le_inv in H1.
    assert (T' : pow2 (-1074) <= / 1000) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]).
    assert (UU : u64 * Rabs y * (1 + pow2 (-40)) <= / 1000 * Rabs y).
    { assert (0 <= Rabs y) by apply Rabs_pos. assert (u64 * Rabs y <= / 2000 * Rabs y) by (apply Rmult_le_compat_r; [assumption|simpl; lra]).
      simpl bpow in *. lra. }
    assert (Y : y + / 1000 * Rabs y <= 8.51) by (unfold Rabs; destruct (Rcase_abs y); lra).
    assert (P62 : pow2 (-62) <= / 1000) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]).
    change (pow2 (-14)) with (/ 16384) in RE. pose proof exp_nine. apply Rle_trans with (exp 9); [apply exp_le; lra|lra]. }
  assert (Off : Rabs (N' - N0) <= kF * N0 + (pow2 (-97) * T + pow2 15 * (4 * eta)) * (1 + / 500) * W).
  { assert (D1 : Rabs (es * a - N0) <= (rho + 4 * u64) * N0 + (pow2 (-98) * (ts + 3 * u64 * ts + 2 * eta) + 2 * eta * ws * 2)).
    { replace (es * a - N0) with ((es - ws) * a + ws * (a - ts)) by (unfold N0; ring).
      eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq a Pa), (Rabs_pos_eq ws) by lra.
      assert (Ua : a <= ts + 3 * u64 * ts + 2 * eta) by (apply Rabs_le_inv in H5; lra).
      assert (X1 : Rabs (es - ws) * a <= (rho * ws + pow2 (-98)) * (ts + 3 * u64 * ts + 2 * eta)).
      { apply Rmult_le_compat; try assumption; apply Rabs_pos. }
      assert (X2 : ws * Rabs (a - ts) <= ws * (3 * u64 * ts + 2 * eta)) by (apply Rmult_le_compat_l; lra).
      assert (Prw : 0 <= rho * ws) by (apply Rmult_le_pos; lra).
      assert (X3 : rho * ws <= / 4 * ws) by (apply Rmult_le_compat_r; lra).
      assert (X4 : rho * ws * (3 * u64 * ts + 2 * eta) <= / 4 * ws * (3 * u64 * ts + 2 * eta)).
      { apply Rmult_le_compat_r; [|exact X3]. assert (0 <= 3 * u64 * ts) by (repeat apply Rmult_le_pos; lra). lra. }
      assert (0 <= ws * (u64 * ts)) by (repeat apply Rmult_le_pos; lra). assert (0 <= ws * eta) by (apply Rmult_le_pos; lra).
      unfold N0. lra. }
    assert (X5 : es * a <= 2 * N0 + (pow2 (-98) * (ts + 3 * u64 * ts + 2 * eta) + 2 * eta * ws * 2)).
    { apply Rabs_le_inv in D1. assert ((rho + 4 * u64) * N0 <= 1 * N0) by (apply Rmult_le_compat_r; lra). lra. }
    assert (Z : pow2 (-98) * (ts + 3 * u64 * ts + 2 * eta) + 2 * eta * ws * 2 <= / 2 * (pow2 (-97) * T) * (11/10) + 70000 * eta).
    { assert (Y1 : ts + 3 * u64 * ts + 2 * eta <= 11/10 * T + 2 * eta).
      { assert (u64 * ts <= / 1000 * ts) by (apply Rmult_le_compat_r; lra). lra. }
      apply (Rmult_le_compat_l (pow2 (-98))) in Y1; [|lra]. assert (pow2 (-98) * (2 * eta) <= / 1000 * (2 * eta)) by (apply Rmult_le_compat_r; lra).
      assert (eta * ws <= eta * 16384) by (apply Rmult_le_compat_l; lra). rewrite E98. lra. }
    assert (PZ : 0 <= pow2 (-97) * T) by (apply Rmult_le_pos; lra).
    assert (X6 : u64 * (es * a) <= 2 * (u64 * N0) + / 1000 * (pow2 (-97) * T) + eta).
    { apply (Rmult_le_compat_l u64) in X5; [|lra].
      assert (u64 * (pow2 (-98) * (ts + 3 * u64 * ts + 2 * eta) + 2 * eta * ws * 2) <= / 1000000 * / 10000000 * (/ 2 * (pow2 (-97) * T) * (11/10) + 70000 * eta)).
      { apply Rmult_le_compat; try lra. apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; try lra.
        assert (0 <= u64 * ts) by (apply Rmult_le_pos; lra). lra. }
      lra. }
    assert (KF : rho + 8 * u64 <= kF).
    { unfold kF. destruct count_small as [C1 C2]. assert (0 <= met) by (unfold met; simpl; lra).
      pose proof (bound.exp_above (rho + met + lt + 3 * u32 + u32 * (1 + / 1000) + INR (bF + 10) * u32)). lra. }
    assert (P15 : pow2 15 = 32768) by (simpl; lra). rewrite P15.
    assert (KN : (rho + 8 * u64) * N0 <= kF * N0) by (apply Rmult_le_compat_r; lra).
    assert (UN : 0 <= u64 * N0) by (apply Rmult_le_pos; lra).
    assert (WW : (pow2 (-97) * T + 32768 * (4 * eta)) * 1 <= (pow2 (-97) * T + 32768 * (4 * eta)) * ((1 + / 500) * W)).
    { apply Rmult_le_compat_l; lra. }
    replace (N' - N0) with ((N' - es * a) + (es * a - N0)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (Rabs (N' - es * a) <= u64 * (es * a) + eta) by (apply Rabs_le; lra). lra. }
  destruct kF_enough as [K3 [K4 _]].
  assert (Pt : 0 <= (pow2 (-97) * T + pow2 15 * (4 * eta)) * (1 + / 500)).
  { apply Rmult_le_pos; [|lra]. apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; try lra; apply bpow_ge_0. }
  assert (Q := measured_quotient N0 W N' D kF k2 (kF + k2) _ PN PW K3 ltac:(unfold k2; lra) Pt Off D_off
    ltac:(change (pow2 (-4)) with (/ 16); lra)). change (pow2 (-3)) with (/ 8) in Q.
  set (q0 := N' / D) in *. fold N0.
  assert (Pq0 : 0 <= q0) by (apply Rmult_le_pos; [exact R2|left; apply Rinv_0_lt_compat; lra]).
  assert (Psg : 0 <= N0 / W) by (apply Rmult_le_pos; [exact PN|left; apply Rinv_0_lt_compat, PW]).
  destruct (rounded_pos q0 Pq0) as [S1 S2]. split; [exact Psg|]. split; [exact S2|].
  set (sk' := rnd64 q0) in *. set (sg := N0 / W) in *.
  assert (Uq : 0 <= u64 * q0 <= / 1000 * q0) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
  assert (Q0 : q0 <= sk' * (1 + 2 * u64) + 2 * eta).
  { assert (sk' * (2 * u64) >= 3/2 * (u64 * q0) - 2 * (u64 * eta)); [|assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra); lra].
    apply Rle_ge. assert (u64 * (q0 - u64 * q0 - eta) <= u64 * sk') by (apply Rmult_le_compat_l; lra).
    assert (u64 * (u64 * q0) <= u64 * (/ 1000 * q0)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (P15 : pow2 15 * (4 * eta) * 4 <= pow2 (-1052)).
  { replace (pow2 15 * (4 * eta) * 4) with (pow2 15 * (pow2 4 * eta)) by (change (pow2 4) with 16; ring). rewrite <- !bpow_plus. apply bpow_le. lia. }
  assert (P52 : pow2 (-1050) = 4 * pow2 (-1052)) by (change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity).
  assert (E52 : 16 * eta <= pow2 (-1052)) by (change 16 with (pow2 4); rewrite <- bpow_plus; apply bpow_le; lia).
  assert (KQ : (K9 + u64) * q0 <= (K9 + u64) * (sk' * (1 + 2 * u64) + 2 * eta)) by (apply Rmult_le_compat_l; lra).
  assert (KS : (K9 + u64) * (sk' * (1 + 2 * u64)) <= (kq - 5 * u32) * sk').
  { replace ((K9 + u64) * (sk' * (1 + 2 * u64))) with ((K9 + u64 + (K9 + u64) * (2 * u64)) * sk') by ring.
    apply Rmult_le_compat_r; [exact S2|]. assert ((K9 + u64) * (2 * u64) <= 1 * (2 * u64)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (KE : (K9 + u64) * (2 * eta) <= 1 * (2 * eta)) by (apply Rmult_le_compat_r; lra).
  assert (PT97 : 0 <= pow2 (-97) * T) by (apply Rmult_le_pos; lra).
  rewrite P52. apply Rabs_le. lra.
Qed.

(* ---- S ---- *)

Variables (xh mc radius : R).
Let x := mean n (fun j => exp (s j)) v.
Hypothesis xh_double : double xh.
Hypothesis enclosed : Rabs (xh - x) <= radius.
Hypothesis e_sum : sums_along ef n (fun j => z j * factor32 (l j)) (fun j => rnd32 (Rabs (rnd64 (rnd64 (v j * sc) - mc)))) kE.
Hypothesis e_positive : nonneg ef.
Hypothesis e_fine : fine ef kE.

Let S := mean n (fun j => exp (s j)) (fun j => t j * Rabs (v j - x)) + sigma * Rabs x.

(* measure_s *)
Definition s_c : R := rnd64 (fl rnd32 rnd32 ef / unit).
Definition s_sum : R := rnd64 (s_c + rnd64 (sk * Rabs xh)).
Definition s_away : R := rnd64 (rnd64 (Rabs (rnd64 (rnd64 (xh * sc) - mc)) / sc) + radius).
Definition s_size : R := rnd64 (V + rnd64 (rnd64 (Rabs mc + pow2 (-100)) / sc)).
Definition s_off : R := rnd64 (rnd64 (rnd64 (rnd64 (rnd64 (rnd64 (kq * s_sum) + rnd64 (c_off * s_size)) +
  rnd64 (rnd64 (rnd64 (c_hi + keys) * pow2 (-142)) / sc)) + rnd64 (s_away * c_hi)) + rnd64 (2 * sk * radius)) + pow2 (-1040)).
Definition s_lo : R := rnd64 (s_sum - rnd64 (s_off * (1 + pow2 (-20)))).
Definition s_hi : R := rnd64 (s_sum + rnd64 (s_off * (1 + pow2 (-20)))).

Lemma spread_float j : (j < n)%nat -> let b := Rabs (v j * sc - mc) in
  0 <= rnd32 (Rabs (rnd64 (rnd64 (v j * sc) - mc))) /\
  Rabs (rnd32 (Rabs (rnd64 (rnd64 (v j * sc) - mc))) - b) <= u32 * (1 + / 1000) * b + 2 * e32.
Proof.
intros Hj b. destruct (values j Hj) as [F _]. assert (X := scaled_double (v j) scale_exponent F). fold sc in X.
split; [apply rnd32_pos, Rabs_pos|]. assert (U := u64_small). assert (V' := u32_small). assert (P : 0 <= e32) by apply bpow_ge_0.
assert (T' : 0 <= eta <= / 1000 * e32).
{ split; [apply bpow_ge_0|]. apply Rle_trans with (pow2 (-10 + -150)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
set (y := rnd64 (v j * sc)) in *. pose proof (rounded (y - mc)) as R1.
assert (Pb : 0 <= b) by apply Rabs_pos.
assert (Y1 : Rabs (Rabs (y - mc) - b) <= eta).
{ apply Rle_trans with (2 := X). unfold b. replace (y - v j * sc) with (y - mc - (v j * sc - mc)) by ring. apply Rabs_triang_inv2. }
assert (Y2 : Rabs (Rabs (rnd64 (y - mc)) - Rabs (y - mc)) <= u64 * Rabs (y - mc) + eta) by (eapply Rle_trans; [apply Rabs_triang_inv2|exact R1]).
set (b1 := Rabs (y - mc)) in *. set (b2 := Rabs (rnd64 (y - mc))) in *. assert (P2 : 0 <= b2) by apply Rabs_pos.
pose proof (rounded32 b2) as R2. rewrite (Rabs_pos_eq b2 P2) in R2.
apply Rabs_le_inv in Y1. apply Rabs_le_inv in Y2. apply Rabs_le_inv in R2. apply Rabs_le.
assert (Ub : 0 <= u32 * b) by (apply Rmult_le_pos; lra).
assert (U1 : u64 * b1 <= / 1000000 * (u32 * b) + eta).
{ apply Rle_trans with (u64 * (b + eta)); [apply Rmult_le_compat_l; lra|].
  assert (u64 * b <= / 1000000 * u32 * b) by (apply Rmult_le_compat_r; lra).
  assert (u64 * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (U2 : u32 * b2 <= u32 * b + / 1000000 * (u32 * b) + 4 * eta).
{ apply Rle_trans with (u32 * (b + / 1000000 * (u32 * b) + 3 * eta)); [apply Rmult_le_compat_l; lra|].
  assert (u32 * (/ 1000000 * (u32 * b)) <= 1 * (/ 1000000 * (u32 * b))) by (apply Rmult_le_compat_r; lra).
  assert (u32 * (3 * eta) <= 1 * (3 * eta)) by (apply Rmult_le_compat_r; lra). lra. }
lra.
Qed.

(* the sum over the keys around the centre instead of x *)
Let e0 := mean n (fun j => exp (s j)) (fun j => t j * Rabs (v j - mc * isc)).

Lemma e_close : 0 <= s_c /\ Rabs (e0 - s_c) <= (kq - 5 * u32) * s_c +
  (12 * e32 * (C * isc) + 6 * INR n * tau * (V + (Rabs mc + 2 * e32) * isc) + 3 * pow2 (-146) * (keys * isc)) + 4 * eta.
Proof.
assert (V' := u32_small). assert (U := u64_small). assert (PV := V_pos). destruct sc_range as [S1 [_ [S3 S4]]]. destruct e_fine as [F1 [F2 F3]].
pose proof n_pos as Pn. assert (PW := W_pos). assert (DR := D_range). destruct unit_near as [U1 U2]. pose proof tau_pos as Pt. destruct r_range as [R1 R2].
assert (P32 : 0 <= e32) by apply bpow_ge_0. assert (N : 0 <= eta) by apply bpow_ge_0.
assert (Pf : 0 <= fl rnd32 rnd32 ef) by (apply nonneg_fl; [exact rnd32_pos|exact e_positive]).
assert (Q := float_quotient (fun j => w j * t j) (fun j => z j * factor32 (l j)) (fun j => Rabs (v j * sc - mc))
  (fun j => rnd32 (Rabs (rnd64 (rnd64 (v j * sc) - mc)))) (V * sc + Rabs mc) r (u32 * (1 + / 1000)) tau (2 * e32) ef kE sized_weight
  ltac:(intros j Hj; destruct (spread_float j Hj) as [Y1 Y2]; destruct (values j Hj) as [_ HV];
    split; [split; [apply Rabs_pos|]|split; assumption];
    unfold Rminus; eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq sc) by lra;
    apply Rplus_le_compat_r, Rmult_le_compat_r; lra)
  ltac:(repeat split; lra) R2 e_sum F1 F2 F3 Pf).
cbv beta in Q. rewrite C_value in Q. set (Nf := fl rnd32 rnd32 ef) in *.
assert (EE : sum n (fun j => w j * t j * Rabs (v j * sc - mc)) / W = e0 * sc).
{ unfold e0. rewrite shifted. unfold mean. fold W.
  rewrite (sum_ext n (fun j => w j * t j * Rabs (v j * sc - mc)) (fun j => w j * (t j * Rabs (v j - mc * isc)) * sc)).
  - rewrite sum_scal_r. field. lra.
  - intros j _. replace (v j * sc - mc) with ((v j - mc * isc) * sc) by (rewrite Rmult_minus_distr_r, Rmult_assoc, S4; ring).
    rewrite Rabs_mult, (Rabs_pos_eq sc) by lra. ring. }
rewrite EE in Q. destruct Q as [Q1 [Q2 Q3]].
set (q0 := Nf / (sc * D)). assert (Eq : Nf / D = q0 * sc) by (unfold q0; field; split; lra). rewrite Eq in Q1, Q3.
assert (Pi : 0 < isc) by (eapply Rlt_le_trans; [apply bpow_gt_0|exact S3]).
destruct K9_range as [K0 K1].
set (TT := 2 * (2 * e32) * C + (INR n * (2 * tau * (V * sc + Rabs mc + 2 * e32)) + keys * pow2 (-146))) in *.
assert (In : q0 * (1 - K9) - 3 * TT * isc <= e0 <= q0 * (1 + K9) + 3 * TT * isc).
{ assert (E3 : 3 * TT * isc * sc = 3 * TT) by (rewrite Rmult_assoc, S4; ring).
  split; apply (Rmult_le_reg_r sc); try exact S1; lra. }
assert (ET : 3 * TT * isc = 12 * e32 * (C * isc) + 6 * INR n * tau * (V * (isc * sc) + (Rabs mc + 2 * e32) * isc) + 3 * pow2 (-146) * (keys * isc)).
{ unfold TT. ring. }
rewrite S4, Rmult_1_r in ET. rewrite <- ET.
assert (Pq : 0 <= q0) by (apply (Rmult_le_reg_r sc); lra).
assert (QN : 0 <= s_c /\ Rabs (s_c - q0) <= 4 * u64 * q0 + eta) by exact (quotient_near Nf unit (sc * D) Pf U1 U2). destruct QN as [N1 N2]. apply Rabs_le_inv in N2.
split; [exact N1|].
assert (Uq : 0 <= u64 * q0 <= / 1000 * q0) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
assert (Q0 : q0 <= s_c * (1 + 5 * u64) + 2 * eta).
{ assert (u64 * (q0 - 4 * u64 * q0 - eta) <= u64 * s_c) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (u64 * q0) <= u64 * (/ 1000 * q0)) by (apply Rmult_le_compat_l; lra).
  assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (KQ : (K9 + 4 * u64) * q0 <= (K9 + 4 * u64) * (s_c * (1 + 5 * u64) + 2 * eta)) by (apply Rmult_le_compat_l; lra).
assert (KS : (K9 + 4 * u64) * (s_c * (1 + 5 * u64)) <= (kq - 5 * u32) * s_c).
{ replace ((K9 + 4 * u64) * (s_c * (1 + 5 * u64))) with ((K9 + 4 * u64 + (K9 + 4 * u64) * (5 * u64)) * s_c) by ring.
  apply Rmult_le_compat_r; [exact N1|]. assert ((K9 + 4 * u64) * (5 * u64) <= 1 * (5 * u64)) by (apply Rmult_le_compat_r; lra). lra. }
assert (KE : (K9 + 4 * u64) * (2 * eta) <= 1 * (2 * eta)) by (apply Rmult_le_compat_r; lra).
apply Rabs_le. lra.
Qed.

(* moving the centre to x, and x to what was computed *)
Lemma centre_moved : Rabs (mean n (fun j => exp (s j)) (fun j => t j * Rabs (v j - x)) - e0) <= C * (Rabs (xh - mc * isc) + radius).
Proof.
assert (PW := W_pos). unfold e0, C. rewrite !shifted. unfold mean. fold W.
assert (D0 : Rabs (x - mc * isc) <= Rabs (xh - mc * isc) + radius).
{ replace (x - mc * isc) with ((xh - mc * isc) - (xh - x)) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|].
  rewrite Rabs_Ropp. lra. }
set (far := Rabs (xh - mc * isc) + radius) in *.
set (s1 := sum n (fun j => w j * (t j * Rabs (v j - x)))). set (s2 := sum n (fun j => w j * (t j * Rabs (v j - mc * isc)))).
assert (H : Rabs (s1 - s2) <= sum n (fun j => w j * t j) * far).
{ unfold s1, s2. rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|]. rewrite <- sum_scal_r. apply sum_le. intros j Hj.
  assert (Pw : 0 <= w j) by (left; apply exp_pos). pose proof (t_range j Hj) as Tj.
  replace (w j * (t j * Rabs (v j - x)) - w j * (t j * Rabs (v j - mc * isc))) with (w j * t j * (Rabs (v j - x) - Rabs (v j - mc * isc))) by ring.
  rewrite Rabs_mult, (Rabs_pos_eq (w j * t j)) by (apply Rmult_le_pos; lra).
  apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. eapply Rle_trans; [apply Rabs_triang_inv2|].
  replace (v j - x - (v j - mc * isc)) with (- (x - mc * isc)) by ring. rewrite Rabs_Ropp. exact D0. }
replace (s1 / W - s2 / W) with ((s1 - s2) / W) by (field; lra).
unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq W) by lra.
apply Rle_trans with (sum n (fun j => w j * t j) * far * / W); [apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, PW|exact H]|right; ring].
Qed.

Lemma x_below_V : Rabs x <= V.
Proof.
apply Rle_trans with A.
- unfold x, A. rewrite !shifted. apply (x_below_A n w v); [intros; left; apply exp_pos|apply W_pos].
- unfold A. rewrite shifted. apply (A_below_V n w v V); [intros; left; apply exp_pos|apply W_pos|intros j Hj; apply values, Hj].
Qed.

(* S against what C adds up, before the roundings of s_off *)
Lemma s_close : Rabs (S - (s_c + sk * Rabs xh)) <= (kq - 5 * u32) * (s_c + sk * Rabs xh) +
  12 * e32 * (C * isc) + (6 * INR n * tau + 4 * pow2 (-97) * T + pow2 (-1049)) * (V + (Rabs mc + 2 * e32) * isc) +
  3 * pow2 (-146) * (keys * isc) + C * (Rabs (xh - mc * isc) + radius) + 2 * sk * radius + 4 * eta.
Proof.
destruct e_close as [Ps E1]. assert (E2 := centre_moved). destruct sink_close as [K1 [K2 K3]]. assert (XV := x_below_V). assert (V' := u32_small).
destruct K9_range as [K0 KK]. assert (PV := V_pos). destruct sc_range as [_ [_ [S3 _]]]. assert (N : 0 <= eta) by apply bpow_ge_0.
assert (Pi : 0 < isc) by (eapply Rlt_le_trans; [apply bpow_gt_0|exact S3]). assert (PT := T_pos).
assert (P32 : 0 <= e32) by apply bpow_ge_0. assert (P97 : 0 <= pow2 (-97)) by apply bpow_ge_0.
set (kk := kq - 5 * u32) in *. assert (Pkk : 0 <= kk <= 1) by (unfold kk; change (pow2 (-8)) with (/ 256) in *; lra).
set (tl := 4 * pow2 (-97) * T + pow2 (-1050)) in *.
assert (Ptl : 0 <= tl) by (unfold tl; apply Rplus_le_le_0_compat; [repeat apply Rmult_le_pos; lra|apply bpow_ge_0]).
assert (Pr : 0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]).
assert (DX : Rabs (Rabs x - Rabs xh) <= radius).
{ eapply Rle_trans; [apply Rabs_triang_inv2|]. rewrite <- Rabs_Ropp. replace (- (x - xh)) with (xh - x) by ring. exact enclosed. }
assert (B : Rabs (sigma * Rabs x - sk * Rabs xh) <= kk * (sk * Rabs xh) + tl * V + 2 * sk * radius).
{ replace (sigma * Rabs x - sk * Rabs xh) with ((sigma - sk) * Rabs x + sk * (Rabs x - Rabs xh)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, Rabs_Rabsolu, (Rabs_pos_eq sk) by exact K2.
  assert (Y1 : Rabs (sigma - sk) * Rabs x <= (kk * sk + tl) * Rabs x) by (apply Rmult_le_compat_r; [apply Rabs_pos|exact K3]).
  assert (Y2 : tl * Rabs x <= tl * V) by (apply Rmult_le_compat_l; assumption).
  assert (Y3 : sk * Rabs (Rabs x - Rabs xh) <= sk * radius) by (apply Rmult_le_compat_l; assumption).
  assert (Y4 : Rabs x <= Rabs xh + radius) by (apply Rabs_le_inv in DX; lra).
  assert (Pks : 0 <= kk * sk) by (apply Rmult_le_pos; lra).
  assert (Y5 : kk * sk * Rabs x <= kk * sk * (Rabs xh + radius)) by (apply Rmult_le_compat_l; assumption).
  assert (Y6 : kk * (sk * radius) <= 1 * (sk * radius)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; assumption|lra]). lra. }
set (size0 := V + (Rabs mc + 2 * e32) * isc) in *.
assert (PZ : V <= size0).
{ unfold size0. assert (0 <= (Rabs mc + 2 * e32) * isc); [|lra]. apply Rmult_le_pos; [pose proof (Rabs_pos mc)|]; lra. }
assert (Tz : tl * V <= (4 * pow2 (-97) * T + pow2 (-1049)) * size0).
{ apply Rmult_le_compat; try assumption. unfold tl. assert (pow2 (-1050) <= pow2 (-1049)) by (apply bpow_le; lia). lra. }
unfold S. set (mm := mean n (fun j => exp (s j)) (fun j => t j * Rabs (v j - x))) in *.
replace (mm + sigma * Rabs x - (s_c + sk * Rabs xh)) with ((mm - e0) + (e0 - s_c) + (sigma * Rabs x - sk * Rabs xh)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. assert (X := Rabs_triang (mm - e0) (e0 - s_c)). lra.
Qed.
(* s_off is enough: with 2^-21 of room *)
Lemma s_off_enough : (1 + pow2 (-21)) * (kq * s_sum + 12 * e32 * (C * isc) +
  (6 * INR n * tau + 4 * pow2 (-97) * T + pow2 (-1049)) * (V + (Rabs mc + 2 * e32) * isc) +
  3 * pow2 (-146) * (keys * isc) + C * (Rabs (xh - mc * isc) + radius) + 2 * sk * radius + 64 * eta) <= s_off * (1 + pow2 (-20)).
Proof.
assert (V' := u32_small). assert (U := u64_size). assert (PV := V_pos). destruct sc_range as [S1 [_ [S3 S4]]]. assert (PT := T_pos).
assert (N : 0 < eta) by apply bpow_gt_0. assert (Pi : 0 < isc) by (eapply Rlt_le_trans; [apply bpow_gt_0|exact S3]).
pose proof n_pos as Pn. destruct sink_close as [_ [Psk _]]. destruct e_close as [Psc _]. pose proof (Rabs_pos mc) as Pmc. pose proof (Rabs_pos xh) as Pxh.
assert (Pr : 0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]). destruct K9_range as [K0 KK].
destruct condition_c as [_ CH]. destruct c_quotient as [PC _]. fold C in CH. assert (CO := c_off_enough).
assert (Pskx : 0 <= sk * Rabs xh) by (apply Rmult_le_pos; assumption).
assert (Pss : 0 <= s_sum).
{ unfold s_sum. apply rnd64_pos, Rplus_le_le_0_compat; [exact Psc|apply rnd64_pos, Pskx]. }
assert (P146 : 0 <= pow2 (-146)) by apply bpow_ge_0. assert (P97 : 0 <= pow2 (-97)) by apply bpow_ge_0. pose proof tau_pos as Ptau.
assert (PNt : 0 <= INR n * tau) by (apply Rmult_le_pos; lra).
assert (P127 : 0 < pow2 (-127)) by apply bpow_gt_0.
assert (Pco : pow2 (-127) <= c_off).
{ assert (0 <= keys * pow2 (-146)) by (apply Rmult_le_pos; lra). assert (0 <= pow2 (-97) * T) by (apply Rmult_le_pos; lra). lra. }
assert (Pch : 0 <= c_hi) by lra.
assert (P100 : 0 < pow2 (-100) <= 1) by (split; [apply bpow_gt_0|apply (bpow_le radix2 (-100) 0); lia]).
(* away from the centre *)
set (far := Rabs (xh - mc * isc)). assert (Pfar : 0 <= far) by apply Rabs_pos.
set (g := rnd64 (Rabs (rnd64 (rnd64 (xh * sc) - mc)) / sc)).
assert (G : far * (1 - 3 * u64) - (4 * (eta * isc) + eta) <= g /\ 0 <= g).
{ assert (X := scaled_double xh scale_exponent xh_double). fold sc in X. set (y := rnd64 (xh * sc)) in *.
  assert (Y1 : Rabs (xh * sc - mc) <= Rabs (y - mc) + eta).
  { replace (xh * sc - mc) with ((y - mc) - (y - xh * sc)) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|].
    rewrite Rabs_Ropp. lra. }
  assert (Y2 : Rabs (y - mc) * (1 - u64) - eta <= Rabs (rnd64 (y - mc))).
  { pose proof (rounded (y - mc)) as R0. pose proof (Rabs_triang_inv (y - mc) (y - mc - rnd64 (y - mc))) as R1.
    replace (y - mc - (y - mc - rnd64 (y - mc))) with (rnd64 (y - mc)) in R1 by ring.
    rewrite (Rabs_minus_sym (y - mc) (rnd64 (y - mc))) in R1. lra. }
  assert (Y3 : Rabs (xh * sc - mc) = far * sc).
  { unfold far. replace (xh * sc - mc) with ((xh - mc * isc) * sc) by (rewrite Rmult_minus_distr_r, Rmult_assoc, S4; ring).
    rewrite Rabs_mult, (Rabs_pos_eq sc); lra. }
  set (b := Rabs (rnd64 (y - mc))) in *. assert (Pb : 0 <= b) by apply Rabs_pos.
  assert (Pbi : 0 <= b / sc) by (apply Rmult_le_pos; [exact Pb|fold isc; lra]).
  destruct (rounded_pos (b / sc) Pbi) as [R1 R2]. split; [|exact R2].
  assert (Fb : far * sc * (1 - u64) - 2 * eta <= b).
  { rewrite Y3 in Y1. assert (eta * u64 >= 0) by (apply Rle_ge, Rmult_le_pos; lra).
    assert ((far * sc - eta) * (1 - u64) <= Rabs (y - mc) * (1 - u64)) by (apply Rmult_le_compat_r; lra). lra. }
  apply (Rmult_le_compat_r isc) in Fb; [|lra].
  replace ((far * sc * (1 - u64) - 2 * eta) * isc) with (far * (1 - u64) * (isc * sc) - 2 * (eta * isc)) in Fb by ring. rewrite S4 in Fb.
  change (b / sc) with (b * isc) in *. fold g in R1.
  assert (Z : (far * (1 - u64) * 1 - 2 * (eta * isc)) * (1 - u64) <= b * isc * (1 - u64)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= far * (u64 * u64)) by (repeat apply Rmult_le_pos; lra). assert (0 <= eta * isc) by (apply Rmult_le_pos; lra).
  assert (0 <= eta * isc * u64) by (apply Rmult_le_pos; lra). assert (0 <= u64 * far) by (apply Rmult_le_pos; lra). lra. }
destruct G as [G1 G2].
assert (Pei : 0 <= eta * isc) by (apply Rmult_le_pos; lra).
assert (LG : low g far 3 (4 * (eta * isc) + eta)) by (unfold low; repeat split; try lra).
assert (LA := low_sum _ _ _ _ _ _ _ _ 4 LG (low_given radius radius ltac:(lra)) ltac:(lra) ltac:(lra)). fold g in LA.
change (rnd64 (g + radius)) with s_away in LA.
assert (LAC := low_prod c_hi c_hi _ _ _ _ 5 LA ltac:(lra) ltac:(lra)). rewrite (Rmult_comm c_hi s_away) in LAC.
(* the size of v - m *)
assert (M1 := low_one (Rabs mc + pow2 (-100)) ltac:(lra)).
assert (M2 := low_prod isc isc _ _ _ _ 2 M1 ltac:(lra) ltac:(lra)). rewrite (Rmult_comm isc (rnd64 _)) in M2.
change (rnd64 (Rabs mc + pow2 (-100)) * isc) with (rnd64 (Rabs mc + pow2 (-100)) / sc) in M2.
assert (M3 := low_sum _ _ _ _ _ _ _ _ 3 (low_given V V ltac:(lra)) M2 ltac:(lra) ltac:(lra)). fold s_size in M3.
assert (M4 := low_prod c_off c_off _ _ _ _ 4 M3 ltac:(lra) ltac:(lra)).
(* the rest *)
assert (H1 := low_one (kq * s_sum) ltac:(apply Rmult_le_pos; lra)).
assert (H2 := low_one (c_hi + keys) ltac:(lra)).
assert (P142 : 0 <= pow2 (-142) <= 1) by (split; [apply bpow_ge_0|apply (bpow_le radix2 (-142) 0); lia]).
assert (H3 := low_prod (pow2 (-142)) 1 _ _ _ _ 2 H2 P142 ltac:(lra)). rewrite (Rmult_comm (pow2 (-142)) (rnd64 _)) in H3.
assert (H4 := low_prod isc isc _ _ _ _ 3 H3 ltac:(lra) ltac:(lra)). rewrite (Rmult_comm isc (rnd64 _)) in H4.
change (rnd64 (rnd64 (c_hi + keys) * pow2 (-142)) * isc) with (rnd64 (rnd64 (c_hi + keys) * pow2 (-142)) / sc) in H4.
assert (H5 := low_one (2 * sk * radius) ltac:(repeat apply Rmult_le_pos; lra)).
assert (H6 := low_given (pow2 (-1040)) (pow2 (-1040)) ltac:(split; [apply bpow_ge_0|apply Rle_refl])).
assert (T1 := low_sum _ _ _ _ _ _ _ _ 5 H1 M4 ltac:(lra) ltac:(lra)).
assert (T2 := low_sum _ _ _ _ _ _ _ _ 6 T1 H4 ltac:(lra) ltac:(lra)).
assert (T3 := low_sum _ _ _ _ _ _ _ _ 7 T2 LAC ltac:(lra) ltac:(lra)).
assert (T4 := low_sum _ _ _ _ _ _ _ _ 8 T3 H5 ltac:(lra) ltac:(lra)).
assert (T5 := low_end _ _ _ _ (low_sum _ _ _ _ _ _ _ _ 9 T4 H6 ltac:(lra) ltac:(lra))). fold s_off in T5.
clear T1 T2 T3 T4 H1 H2 H3 H4 H5 H6 M1 M2 M3 M4 LAC LA LG.
assert (P20 : 0 <= 1 + pow2 (-20)) by (simpl; lra).
apply (Rmult_le_compat_r (1 + pow2 (-20))) in T5; [|exact P20]. eapply Rle_trans; [|exact T5]. clear T5.
(* in units of what is there *)
set (q1 := C * isc). set (q2 := keys * isc). set (q3 := c_hi * isc). set (q4 := c_off * V). set (q5 := c_off * (Rabs mc * isc)). set (q6 := c_off * isc).
set (q7 := c_hi * far). set (q8 := c_hi * radius). set (q9 := sk * radius). set (q0 := kq * s_sum).
assert (Q0 : 0 <= q0) by (apply Rmult_le_pos; lra). assert (Q1 : 0 <= q1 <= q3) by (unfold q1, q3; split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
assert (Q2 : isc <= q2) by (unfold q2; replace isc with (1 * isc) at 1 by ring; apply Rmult_le_compat_r; lra).
assert (Pmi : 0 <= Rabs mc * isc) by (apply Rmult_le_pos; lra).
assert (Q4 : 0 <= q4) by (apply Rmult_le_pos; lra). assert (Q5 : 0 <= q5) by (apply Rmult_le_pos; lra). assert (Q6 : 0 <= q6) by (apply Rmult_le_pos; lra).
assert (Q7 : C * far <= q7) by (apply Rmult_le_compat_r; lra). assert (Q8 : C * radius <= q8) by (apply Rmult_le_compat_r; lra).
assert (Q7' : 0 <= C * far) by (apply Rmult_le_pos; lra). assert (Q8' : 0 <= C * radius) by (apply Rmult_le_pos; lra).
assert (Q9 : 0 <= q9) by (apply Rmult_le_pos; lra).
set (co := 6 * INR n * tau + 4 * pow2 (-97) * T + pow2 (-1049)) in *.
assert (Hco : 0 <= co <= c_off).
{ unfold co. assert (pow2 (-1049) <= pow2 (-127)) by (apply bpow_le; lia). assert (0 <= pow2 (-1049)) by apply bpow_ge_0.
  assert (0 <= keys * pow2 (-146)) by (apply Rmult_le_pos; lra). assert (0 <= pow2 (-97) * T) by (apply Rmult_le_pos; lra). lra. }
assert (P32 : 0 <= e32) by apply bpow_ge_0.
assert (C1 : co * V <= q4) by (apply Rmult_le_compat_r; lra). assert (C1' : 0 <= co * V) by (apply Rmult_le_pos; lra).
assert (C2 : co * (Rabs mc * isc) <= q5) by (apply Rmult_le_compat_r; lra). assert (C2' : 0 <= co * (Rabs mc * isc)) by (apply Rmult_le_pos; lra).
assert (C3 : co * isc <= q6) by (apply Rmult_le_compat_r; lra). assert (C3' : 0 <= co * isc) by (apply Rmult_le_pos; lra).
assert (C4 : e32 * (co * isc) <= / 1000000 * pow2 (-100) * q6).
{ apply Rmult_le_compat; try lra. apply Rle_trans with (pow2 (-20 + -100)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Z1 : 12 * e32 <= / 10 * pow2 (-142)).
{ apply Rle_trans with (pow2 4 * e32); [apply Rmult_le_compat_r; [exact P32|simpl; lra]|]. rewrite <- bpow_plus.
  apply Rle_trans with (pow2 (-4 + -142)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Z2 : pow2 (-146) = / 16 * pow2 (-142)) by (change (/ 16) with (pow2 (-4)); rewrite <- bpow_plus; reflexivity).
assert (Z3 : 12 * e32 * q1 <= / 10 * pow2 (-142) * q3).
{ apply Rmult_le_compat; try lra. }
(* underflow *)
assert (W1 : eta <= / 1000000 * pow2 (-142) * isc).
{ apply Rle_trans with (pow2 (-20) * pow2 (-142) * pow2 (-900)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat; try lra; [apply Rmult_le_pos; apply bpow_ge_0|apply bpow_ge_0|]. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (W2 : eta <= / 1000000 * pow2 (-142)).
{ apply Rle_trans with (pow2 (-20 + -142)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (W3 : eta * c_hi <= / 1000000 * pow2 (-142) * q3).
{ unfold q3. apply (Rmult_le_compat_r c_hi) in W1; [|exact Pch]. lra. }
assert (W4 : eta * isc * c_hi <= / 1000000 * pow2 (-142) * q3).
{ unfold q3. replace (eta * isc * c_hi) with (eta * (c_hi * isc)) by ring. apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact W2]. }
assert (W5 : eta * isc * c_off <= / 1000000 * pow2 (-100) * q6).
{ unfold q6. replace (eta * isc * c_off) with (eta * (c_off * isc)) by ring. apply Rmult_le_compat_r; [exact Q6|].
  apply Rle_trans with (pow2 (-20 + -100)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (W6 : eta * c_off <= / 1000000 * pow2 (-100) * q6).
{ unfold q6. replace (/ 1000000 * pow2 (-100) * (c_off * isc)) with (c_off * (/ 1000000 * pow2 (-100) * isc)) by ring. rewrite (Rmult_comm eta).
  apply Rmult_le_compat_l; [lra|]. apply Rle_trans with (pow2 (-20) * pow2 (-100) * pow2 (-900)); [rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat; try lra; [apply Rmult_le_pos; apply bpow_ge_0|apply bpow_ge_0|]. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (W7 : eta * isc <= / 1000000 * pow2 (-142) * q2).
{ apply Rmult_le_compat; lra. }
assert (W8 : 4096 * eta <= pow2 (-1040)) by (change 4096 with (pow2 12); rewrite <- bpow_plus; apply bpow_le; lia).
replace (co * (V + (Rabs mc + 2 * e32) * isc)) with (co * V + co * (Rabs mc * isc) + 2 * (e32 * (co * isc))) by ring.
replace (C * (far + radius)) with (C * far + C * radius) by ring.
replace (c_off * (V + isc * (Rabs mc + pow2 (-100)))) with (q4 + q5 + pow2 (-100) * q6) by (unfold q4, q5, q6; ring).
replace (isc * (pow2 (-142) * (c_hi + keys))) with (pow2 (-142) * q3 + pow2 (-142) * q2) by (unfold q3, q2; ring).
replace (c_hi * (far + radius)) with (q7 + q8) by (unfold q7, q8; ring).
replace (2 * sk * radius) with (2 * q9) by (unfold q9; ring).
rewrite Z2. assert (A3 : 0 <= pow2 (-142) * q3) by (apply Rmult_le_pos; lra). assert (A2 : 0 <= pow2 (-142) * q2) by (apply Rmult_le_pos; lra).
assert (A6 : 0 <= pow2 (-100) * q6) by (apply Rmult_le_pos; lra).
change (pow2 (-20)) with (/ 1048576). change (pow2 (-21)) with (/ 2097152). change (pow2 (-46)) with (/ 70368744177664).
generalize dependent (pow2 (-1040)). intros e40; intros.
set (y3 := pow2 (-142) * q3) in *. set (y2 := pow2 (-142) * q2) in *. set (y6 := pow2 (-100) * q6) in *.
replace (/ 10 * pow2 (-142) * q3) with (/ 10 * y3) in * by (unfold y3; ring).
replace (/ 1000000 * pow2 (-142) * q3) with (/ 1000000 * y3) in * by (unfold y3; ring).
replace (/ 1000000 * pow2 (-142) * q2) with (/ 1000000 * y2) in * by (unfold y2; ring).
replace (/ 1000000 * pow2 (-100) * q6) with (/ 1000000 * y6) in * by (unfold y6; ring).
replace (3 * (/ 16 * pow2 (-142)) * q2) with (3 * / 16 * y2) by (unfold y2; ring).
clearbody y2 y3 y6 q4 q5 q7 q8 q9 q0. lra.
Qed.

(** theorem: condition_s — S = sum p t |v - x| with the sink's share lies between the bounds that measure_s makes of a sum in float around a centre, of the output and its radius, and of the bound of C, with all roundings. used by: src/softmax/enclose.c, src/softmax/condition_impl.h *)
Theorem condition_s : s_lo <= S <= s_hi.
Proof.
assert (H := s_close). assert (O := s_off_enough). assert (U := u64_small). assert (V' := u32_small). assert (N : 0 < eta) by apply bpow_gt_0.
destruct sink_close as [Psg [Psk _]]. destruct e_close as [Psc _]. destruct K9_range as [K0 KK].
assert (Pskx : 0 <= sk * Rabs xh) by (apply Rmult_le_pos; [exact Psk|apply Rabs_pos]).
set (R0 := 12 * e32 * (C * isc) + (6 * INR n * tau + 4 * pow2 (-97) * T + pow2 (-1049)) * (V + (Rabs mc + 2 * e32) * isc) +
  3 * pow2 (-146) * (keys * isc) + C * (Rabs (xh - mc * isc) + radius) + 2 * sk * radius) in *.
assert (PR : 0 <= R0).
{ destruct sc_range as [_ [_ [S3 _]]]. assert (Pi : 0 <= isc) by (eapply Rle_trans; [apply bpow_ge_0|exact S3]).
  destruct c_quotient as [PC _]. pose proof tau_pos. pose proof n_pos. pose proof T_pos. pose proof V_pos.
  assert (0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]).
  assert (0 <= e32) by apply bpow_ge_0. assert (0 <= pow2 (-97)) by apply bpow_ge_0. assert (0 <= pow2 (-1049)) by apply bpow_ge_0.
  pose proof (Rabs_pos mc). pose proof (Rabs_pos (xh - mc * isc)).
  assert (0 <= pow2 (-146)) by apply bpow_ge_0. destruct counted as [Hk1 Hk2].
  assert (0 <= 12 * e32 * (C * isc)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; assumption]).
  assert (0 <= 6 * INR n * tau) by (apply Rmult_le_pos; lra). assert (0 <= 4 * pow2 (-97) * T) by (apply Rmult_le_pos; lra).
  assert (0 <= (Rabs mc + 2 * e32) * isc) by (apply Rmult_le_pos; lra).
  assert (0 <= (6 * INR n * tau + 4 * pow2 (-97) * T + pow2 (-1049)) * (V + (Rabs mc + 2 * e32) * isc)) by (apply Rmult_le_pos; lra).
  assert (0 <= 3 * pow2 (-146) * (keys * isc)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
  assert (0 <= C * (Rabs (xh - mc * isc) + radius)) by (apply Rmult_le_pos; lra).
  assert (0 <= 2 * sk * radius) by (apply Rmult_le_pos; lra). unfold R0. lra. }
set (sg := s_c + sk * Rabs xh) in *. assert (Psg0 : 0 <= sg) by (unfold sg; lra).
destruct (rounded_pos (sk * Rabs xh) Pskx) as [A1 A2]. set (y1 := rnd64 (sk * Rabs xh)) in *.
assert (H' : Rabs (S - sg) <= (kq - 5 * u32) * sg + R0 + 4 * eta) by (unfold R0; lra). clear H.
destruct (rounded_pos (s_c + y1) ltac:(lra)) as [B1 B2]. change (rnd64 (s_c + y1)) with s_sum in B1, B2.
assert (Usg : 0 <= u64 * sg) by (apply Rmult_le_pos; lra).
assert (Usk : u64 * (sk * Rabs xh) <= u64 * sg) by (apply Rmult_le_compat_l; unfold sg; lra).
assert (Y1 : u64 * (s_c + y1) <= 2 * (u64 * sg) + eta).
{ apply Rle_trans with (u64 * (2 * sg + eta)).
  - apply Rmult_le_compat_l; [lra|]. assert (u64 * sg <= / 2 * sg) by (apply Rmult_le_compat_r; lra). unfold sg in *. lra.
  - assert (u64 * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (SS : Rabs (s_sum - sg) <= 3 * (u64 * sg) + 3 * eta) by (apply Rabs_le; unfold sg in *; lra).
apply Rabs_le_inv in SS.
assert (Uss : u64 * sg <= / 100000 * (u32 * s_sum) + eta).
{ assert (H1 : u64 * sg <= / 1000000 * u32 * sg) by (apply Rmult_le_compat_r; lra).
  assert (H2 : u32 * sg <= u32 * (2 * s_sum + 6 * eta)).
  { apply Rmult_le_compat_l; [lra|]. assert (u64 * sg <= / 100 * sg) by (apply Rmult_le_compat_r; lra). lra. }
  assert (u32 * (6 * eta) <= 1 * (6 * eta)) by (apply Rmult_le_compat_r; lra). assert (0 <= u32 * s_sum) by (apply Rmult_le_pos; lra). lra. }
assert (Puss : 0 <= u32 * s_sum) by (apply Rmult_le_pos; lra).
assert (KS : (kq - 5 * u32) * sg <= (kq - 4 * u32) * s_sum + 8 * eta).
{ assert (H1 : sg <= s_sum + 3 * (u64 * sg) + 3 * eta) by lra.
  apply (Rmult_le_compat_l (kq - 5 * u32)) in H1; [|lra].
  assert (H2 : (kq - 5 * u32) * (3 * (u64 * sg) + 3 * eta) <= 1 * (3 * (u64 * sg) + 3 * eta)).
  { apply Rmult_le_compat_r; [lra|]. change (pow2 (-8)) with (/ 256) in kq_enough. lra. } lra. }
assert (D0 : Rabs (S - s_sum) <= (kq - 3 * u32) * s_sum + R0 + 32 * eta).
{ replace (S - s_sum) with ((S - sg) - (s_sum - sg)) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
  assert (Rabs (s_sum - sg) <= 3 * (u64 * sg) + 3 * eta) by (apply Rabs_le; lra). lra. }
apply Rabs_le_inv in D0.
assert (O' : (1 + pow2 (-21)) * (kq * s_sum + R0 + 64 * eta) <= s_off * (1 + pow2 (-20))) by (unfold R0; lra). clear O.
clearbody R0. set (gg := s_off * (1 + pow2 (-20))) in *. change (pow2 (-21)) with (/ 2097152) in O'.
assert (Pks : 0 <= kq * s_sum) by (apply Rmult_le_pos; lra).
assert (Pgg : 0 <= gg) by lra. destruct (rounded_pos gg Pgg) as [G1 G2]. set (g' := rnd64 gg) in *.
assert (Ug : u64 * gg <= / 10000000 * gg) by (apply Rmult_le_compat_r; lra).
assert (Uss2 : u64 * s_sum <= / 1000000 * (u32 * s_sum)).
{ replace (/ 1000000 * (u32 * s_sum)) with (/ 1000000 * u32 * s_sum) by ring. apply Rmult_le_compat_r; lra. }
assert (PS : 0 <= S).
{ unfold S. apply Rplus_le_le_0_compat; [|apply Rmult_le_pos; [exact Psg|apply Rabs_pos]]. rewrite shifted. unfold mean.
  apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, W_pos]. apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [left; apply exp_pos|].
  apply Rmult_le_pos; [apply t_range, Hj|apply Rabs_pos]. }
split.
- unfold s_lo. fold gg. fold g'. destruct (Rle_lt_dec (s_sum - g') 0) as [Z|Z].
  + apply Rle_trans with (rnd64 0); [apply round_le; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact Z]|].
    unfold nearest. rewrite round_0 by apply valid_rnd_N. exact PS.
  + destruct (rounded_pos (s_sum - g') ltac:(lra)) as [C1 _].
    assert (u64 * (s_sum - g') <= u64 * s_sum) by (apply Rmult_le_compat_l; lra). lra.
- unfold s_hi. fold gg. fold g'. destruct (rounded_pos (s_sum + g') ltac:(lra)) as [C1 _].
  assert (u64 * (s_sum + g') <= u64 * s_sum + / 4000000 * gg).
  { assert (g' <= 2 * gg + eta) by lra. assert (u64 * g' <= u64 * (2 * gg + eta)) by (apply Rmult_le_compat_l; lra).
    assert (u64 * eta <= / 10000000 * eta) by (apply Rmult_le_compat_r; lra). lra. } lra.
Qed.

(* enclose_lse: the sensitivity of the log-sum-exp *)
Definition lse_hi : R := rnd64 (c_hi + rnd64 (sk * rnd64 (1 + kq))).
Definition lse_lo : R := rnd64 (rnd64 (rnd64 (c_c + sk) * rnd64 (1 - kq)) - c_off).

(** theorem: condition_lse — the sensitivity sum p t of the log-sum-exp, the sink's share included, lies between the bounds of enclose_lse. used by: src/softmax/enclose.c *)
Theorem condition_lse : lse_lo <= C + sigma <= lse_hi.
Proof.
assert (V' := u32_small). assert (U := u64_small). destruct c_quotient as [PC [Pq [P3 Q]]]. assert (DR := D_range). assert (PW := W_pos).
destruct K9_range as [K0 K1]. assert (CO := c_off_enough). assert (PT := T_pos). destruct sink_close as [Psg [Psk SK]]. assert (N : 0 < eta) by apply bpow_gt_0.
assert (Pf : 0 <= fl rnd32 rnd32 cf) by (apply nonneg_fl; [exact rnd32_pos|exact c_positive]).
assert (QN := quotient_near (fl rnd32 rnd32 cf) D D Pf ltac:(lra)
  ltac:(replace (D - D) with 0 by ring; rewrite Rabs_R0; repeat apply Rmult_le_pos; try lra; apply bpow_ge_0)). fold c_c in QN.
assert (P97 : 0 <= pow2 (-97) * T) by (apply Rmult_le_pos; [apply bpow_ge_0|exact PT]).
assert (T8 : 1024 * eta <= pow2 (-128)) by (change 1024 with (pow2 10); rewrite <- bpow_plus; apply bpow_le; lia).
assert (E27 : pow2 (-127) = 2 * pow2 (-128)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (E50 : pow2 (-1050) <= / 100 * pow2 (-128)).
{ apply Rle_trans with (pow2 (-10 + -128)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
set (tl := 3 * (INR n * (2 * tau) + keys * pow2 (-146))) in *. set (q0 := fl rnd32 rnd32 cf / D) in *.
set (ex := 4 * pow2 (-97) * T + pow2 (-1050) + / 2 * pow2 (-128)).
assert (Pex : 0 <= ex) by (unfold ex; assert (0 <= pow2 (-1050)) by apply bpow_ge_0; lra).
assert (Pco : 0 <= c_off) by lra. change (pow2 (-8)) with (/ 256) in kq_enough.
apply Rabs_le_inv in SK. split.
- (* from below *)
  destruct QN as [Pc QN]. apply Rabs_le_inv in QN. unfold lse_lo.
  destruct (rounded_pos (c_c + sk) ltac:(lra)) as [A1 A2]. set (g := rnd64 (c_c + sk)) in *.
  destruct (rounded_pos (1 - kq) ltac:(lra)) as [B1 B2]. set (f := rnd64 (1 - kq)) in *.
  assert (Pgf : 0 <= g * f) by (apply Rmult_le_pos; assumption). destruct (rounded_pos (g * f) Pgf) as [D1 D2]. set (p := rnd64 (g * f)) in *.
  assert (En : eta <= u64) by (apply bpow_le; lia).
  assert (F : f <= 1 - kq + 3 * u64).
  { assert (u64 * (1 - kq) <= u64 * 1) by (apply Rmult_le_compat_l; lra). lra. }
  set (a0 := q0 + sk). assert (Pa0 : 0 <= a0) by (unfold a0; lra).
  assert (Ua : 0 <= u64 * a0 <= / 1000000 * (u32 * a0)).
  { split; [apply Rmult_le_pos; lra|]. replace (/ 1000000 * (u32 * a0)) with (/ 1000000 * u32 * a0) by ring. apply Rmult_le_compat_r; lra. }
  assert (Uqa : u64 * q0 <= u64 * a0) by (apply Rmult_le_compat_l; unfold a0; lra).
  assert (G0 : g <= a0 + 6 * (u64 * a0) + 4 * eta).
  { assert (u64 * (c_c + sk) <= u64 * (2 * a0 + eta)).
    { apply Rmult_le_compat_l; [lra|]. assert (4 * u64 * q0 <= 1 * q0) by (apply Rmult_le_compat_r; lra). unfold a0. lra. }
    assert (u64 * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra). unfold a0 in *. lra. }
  assert (Uk : 0 <= u32 * a0 <= / 100 * a0) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
  assert (G1 : g * f <= a0 * (1 - kq) + 10 * (u64 * a0) + 8 * eta).
  { apply Rle_trans with (g * (1 - kq + 3 * u64)); [apply Rmult_le_compat_l; assumption|].
    apply Rle_trans with ((a0 + 6 * (u64 * a0) + 4 * eta) * (1 - kq + 3 * u64)); [apply Rmult_le_compat_r; lra|].
    assert (0 <= kq * (u64 * a0)) by (apply Rmult_le_pos; lra). assert (0 <= kq * eta) by (apply Rmult_le_pos; lra).
    assert (u64 * (u64 * a0) <= / 100 * (u64 * a0)) by (apply Rmult_le_compat_r; lra).
    assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
  assert (G2 : g * f <= 3 * a0 + 16 * eta).
  { assert (0 <= a0 * kq) by (apply Rmult_le_pos; lra). lra. }
  assert (G3 : u64 * (g * f) <= 3 * (u64 * a0) + eta).
  { apply (Rmult_le_compat_l u64) in G2; [|lra]. assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
  assert (L : a0 * (1 - kq) + 20 * (u64 * a0) + 12 * eta - c_off <= C + sigma - u32 * a0 - 40 * eta).
  { assert (q0 * (K9 + 6 * u32) <= q0 * kq) by (apply Rmult_le_compat_l; lra).
    assert (0 <= u32 * q0) by (apply Rmult_le_pos; lra). unfold a0 in *. lra. }
  assert (PP : 0 <= C + sigma) by lra.
  destruct (Rle_lt_dec (p - c_off) 0) as [Z|Z].
  + apply Rle_trans with (rnd64 0); [apply round_le; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact Z]|].
    unfold nearest. rewrite round_0 by apply valid_rnd_N. exact PP.
  + destruct (rounded_pos (p - c_off) ltac:(lra)) as [H1 _].
    assert (u64 * (p - c_off) <= u64 * (4 * a0 + 32 * eta)) by (apply Rmult_le_compat_l; lra).
    assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra.
- (* from above *)
  destruct (enclosed_up (C + ex) q0 c_c K9 (tl + ex) kq c_off Pq QN ltac:(change (pow2 (-8)) with (/ 256); lra)
    ltac:(unfold ex in *; lra) ltac:(lra)) as [H1 H2].
  fold c_hi in H1, H2. destruct (rounded_pos (1 + kq) ltac:(lra)) as [B1 B2]. set (f := rnd64 (1 + kq)) in *.
  assert (En : eta <= u64) by (apply bpow_le; lia).
  assert (F : 1 + kq - 3 * u64 <= f).
  { assert (u64 * (1 + kq) <= u64 * (3/2)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (Pff : 0 <= sk * f) by (apply Rmult_le_pos; lra). destruct (rounded_pos (sk * f) Pff) as [D1 D2].
  assert (F2 : sk * (1 + kq - 3 * u64) <= sk * f) by (apply Rmult_le_compat_l; lra).
  assert (F3 : sk * f <= sk * 2).
  { apply Rmult_le_compat_l; [exact Psk|]. assert (u64 * (1 + kq) <= u64 * (3/2)) by (apply Rmult_le_compat_l; lra). lra. }
  set (y := rnd64 (sk * f)) in *. assert (Uf : u64 * (sk * f) <= u64 * (sk * 2)) by (apply Rmult_le_compat_l; lra).
  assert (Us : 0 <= u64 * sk <= / 1000000 * (u32 * sk)).
  { split; [apply Rmult_le_pos; lra|]. replace (/ 1000000 * (u32 * sk)) with (/ 1000000 * u32 * sk) by ring. apply Rmult_le_compat_r; lra. }
  assert (Uq : 0 <= u64 * q0 <= / 1000000 * (u32 * q0)).
  { split; [apply Rmult_le_pos; lra|]. replace (/ 1000000 * (u32 * q0)) with (/ 1000000 * u32 * q0) by ring. apply Rmult_le_compat_r; lra. }
  assert (Pch : 0 <= c_hi).
  { assert (0 <= u32 * q0) by (apply Rmult_le_pos; lra). lra. }
  unfold lse_hi. fold f. fold y. destruct (rounded_pos (c_hi + y) ltac:(lra)) as [G1 _].
  assert (Uc : u64 * (c_hi + y) <= u64 * (8 * q0 + 2 * c_off + 16 * eta + (3 * sk + eta))).
  { apply Rmult_le_compat_l; [lra|]. assert (u64 * sk <= / 10 * sk) by (apply Rmult_le_compat_r; lra). lra. }
  assert (u64 * c_off <= / 100000 * c_off) by (apply Rmult_le_compat_r; lra). assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra).
  assert (KS : sk * kq = kq * sk) by ring. unfold ex in *. lra.
Qed.
End Row.

(* view_row: kappa from the errors of the row, with 2^-10 as its limit *)
Definition kappa_c (d blocks : nat) (rho size_error : R) : R :=
  rnd64 (rnd64 (2 * rho + rnd64 ((INR d + 110 + INR blocks) * u32)) + size_error).

Lemma kappa_enough d blocks rho size_error : 0 <= rho -> 0 <= size_error -> kappa_c d blocks rho size_error <= pow2 (-10) ->
  kappa rho d blocks size_error <= pow2 (-10) * (1 + / 1000) /\
  kappa rho d blocks size_error * (1 + / 8) - / 2 * u32 <= rnd64 (kappa_c d blocks rho size_error * (1 + pow2 (-3))) <= pow2 (-8).
Proof.
intros R0 S0 H. assert (U := u64_small). assert (V' := u32_small). assert (N : 0 <= eta <= / 1000 * u32).
{ split; [apply bpow_ge_0|]. apply Rle_trans with (pow2 (-10 + -24)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
pose proof (pos_INR d). pose proof (pos_INR blocks). set (z := (INR d + 110 + INR blocks) * u32).
assert (Pz : 0 <= z) by (apply Rmult_le_pos; lra). destruct (rounded_pos z Pz) as [A1 A2]. set (y1 := rnd64 z) in *.
destruct (rounded_pos (2 * rho + y1) ltac:(lra)) as [B1 B2]. set (y2 := rnd64 (2 * rho + y1)) in *.
destruct (rounded_pos (y2 + size_error) ltac:(lra)) as [C1 C2]. change (rnd64 (y2 + size_error)) with (kappa_c d blocks rho size_error) in C1, C2.
set (kc := kappa_c d blocks rho size_error) in *. change (pow2 (-10)) with (/ 1024) in *.
assert (L : y2 + size_error <= / 512). { assert (u64 * (y2 + size_error) <= / 100 * (y2 + size_error)) by (apply Rmult_le_compat_r; lra). lra. }
assert (L1 : z <= / 100). { assert (u64 * z <= / 100 * z) by (apply Rmult_le_compat_r; lra). assert (u64 * (2 * rho + y1) <= / 100 * (2 * rho + y1)) by (apply Rmult_le_compat_r; lra). lra. }
assert (u64 * z <= u64 * 1) by (apply Rmult_le_compat_l; lra). assert (u64 * (y2 + size_error) <= u64 * 1) by (apply Rmult_le_compat_l; lra).
assert (u64 * (2 * rho + y1) <= u64 * 1).
{ apply Rmult_le_compat_l; [lra|]. assert (u64 * (2 * rho + y1) <= / 100 * (2 * rho + y1)) by (apply Rmult_le_compat_r; lra). lra. }
assert (EK : kappa rho d blocks size_error = 2 * rho + z + size_error) by (unfold kappa, z; ring). rewrite EK.
assert (K : 2 * rho + z + size_error <= kc + / 100 * u32) by lra. split; [lra|].
change (pow2 (-3)) with (/ 8). change (pow2 (-8)) with (/ 256). destruct (rounded_pos (kc * (1 + / 8)) ltac:(lra)) as [D1 _].
assert (u64 * (kc * (1 + / 8)) <= u64 * 1) by (apply Rmult_le_compat_l; lra). split; lra.
Qed.
