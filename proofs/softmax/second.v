(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The sensitivity S of softmax by a second pass over a row in double, src/softmax/second.c: weights
   relative to the largest score, normalised first, then sums in a row. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core.
From Attest Require Import problem.row enclosure.summation softmax.quotient softmax.radius softmax.weight softmax.tier
  softmax.measured softmax.size softmax.terms softmax.float_pass.
Import ListNotations.
Open Scope R_scope.
Notation pow2 := (bpow radix2).
Notation rnd64 := (nearest (-1074) 53).
Notation u64 := (pow2 (-53)).
Notation eta := (pow2 (-1075)).

Lemma u_tiny : 0 < u64 <= / 1000000000. Proof. simpl; lra. Qed.
Lemma rounded_pos x : 0 <= x -> x - u64 * x - eta <= rnd64 x <= x + u64 * x + eta /\ 0 <= rnd64 x.
Proof.
intros H. pose proof (rounded x) as R. rewrite (Rabs_pos_eq x H) in R. apply Rabs_le_inv in R.
pose proof (rnd64_pos x H). lra.
Qed.

Section Row.
(* Keys j < n, a sink among them with the value 0: exact and computed score, its exponential relative to
   the largest computed score M, value; size of the score, t1 as computed. *)
Variables (n : nat) (s sh e v t t1 : nat -> R) (M E rho V T et lt keys : R) (total : tree) (kW : nat -> nat).
Hypothesis scores : forall j, (j < n)%nat -> Rabs (sh j - s j) <= E + pow2 (-62).
Hypothesis below : forall j, (j < n)%nat -> sh j <= M.
Hypothesis exponentials : forall j, (j < n)%nat -> is_exp (rnd64 (sh j - M)) (e j).
Hypothesis first : exists j, (j < n)%nat /\ sh j = M.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.
Hypothesis usable : 0 <= E /\ least_rho E false <= rho <= pow2 (-16).
Hypothesis totals : sums_along total n (fun j => e j * 1) (fun _ => 1) kW.
Hypothesis sum_depth : (depth total <= n)%nat /\ forall j, (j < n)%nat -> (kW j <= n)%nat.
Hypothesis sum_ops : INR (ops total) <= pow2 70.
Hypothesis counted : INR n <= keys <= pow2 29.
Hypothesis sizes : forall j, (j < n)%nat -> 0 <= t j <= T /\ 0 <= t1 j /\ Rabs (t1 j - t j) <= (exp lt - 1) * t j + et.
Hypothesis tails_pos : 0 <= lt /\ 0 <= et.

Let w j := exp (s j - M).
Let W := sum n w.
Let D := fl rnd64 rnd64 total.
Let p j := w j / W.

Lemma n_pos : 1 <= INR n.
Proof. destruct first as [j [Hj _]]. change 1 with (INR 1). apply le_INR. lia. Qed.

Lemma few : keys * u64 <= / 16777216.
Proof.
destruct counted as [_ C]. assert (H : keys * u64 <= pow2 (-24)).
{ replace (pow2 (-24)) with (pow2 29 * u64) by (rewrite <- bpow_plus; reflexivity). apply Rmult_le_compat_r; [apply bpow_ge_0|exact C]. }
change (pow2 (-24)) with (/ 16777216) in H. lra.
Qed.

Lemma rho_range : 0 <= rho <= / 65536.
Proof.
destruct usable as [HE [HR HL]].
assert (0 <= least_rho E false).
{ unfold least_rho. apply Rmult_le_pos; [apply Rplus_le_le_0_compat; [exact HE|apply Rmult_le_pos; [lra|apply bpow_ge_0]]|simpl; lra]. }
change (pow2 (-16)) with (/ 65536) in HL. lra.
Qed.

Lemma argument_below j : (j < n)%nat -> rnd64 (sh j - M) <= 17/2.
Proof.
intros Hj. apply Rle_trans with 0; [|lra]. pose proof (below j Hj).
apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|lra].
Qed.

Let still : forall j, (j < n)%nat -> moves [] /\ M + distance [] = M.
Proof. intros j _. split; [constructor|simpl; ring]. Qed.

Lemma weight_off j : (j < n)%nat -> 0 <= e j /\ Rabs (e j - w j) <= rho * w j + pow2 (-98).
Proof.
intros Hj. split; [apply (exponentials j Hj)|].
assert (B : 0 < pow2 (-98)) by apply bpow_gt_0. assert (R := rho_range). assert (Pw : 0 < w j) by apply exp_pos.
assert (H := weight_close n s sh (fun _ => M) e (fun _ => []) M E rho false scores argument_below exponentials still
  ltac:(intros; reflexivity) usable j Hj). cbv zeta in H. cbn [factor] in H. rewrite Rmult_1_r in H. fold (w j) in H.
destruct H as [H|[H1 H2]]; [lra|]. assert (0 <= rho * w j) by (apply Rmult_le_pos; lra). apply Rabs_le. lra.
Qed.

Lemma W_least : 1 - pow2 (-10) <= W.
Proof. exact (W_large n s sh (fun _ => []) M E rho false scores ltac:(intros; reflexivity) first usable). Qed.

(* the normaliser *)
Definition k2 := rho * (1 + / 1000) + (INR n + 11) * u64 * (1 + / 1000).
Lemma D_off : Rabs (D - W) <= k2 * W.
Proof.
assert (U := u_tiny). assert (R := rho_range). pose proof n_pos as Pn. assert (F := few). destruct counted as [C1 C2].
assert (Pnu : 0 <= INR n * u64) by (apply Rmult_le_pos; lra). assert (Knu : INR n * u64 <= keys * u64) by (apply Rmult_le_compat_r; lra).
assert (WL := W_least). change (pow2 (-10)) with (/ 1024) in WL.
set (se := INR (n + 10) * u64 * (1 + pow2 (-21))).
assert (Hse : se = (INR n + 10) * u64 * (1 + / 2097152)) by (unfold se; rewrite plus_INR; replace (INR 10) with 10 by (simpl; ring); reflexivity).
assert (SE : INR (n + 10) * u64 * (1 + pow2 (-21)) <= se <= pow2 (-22)).
{ split; [apply Rle_refl|]. rewrite Hse. change (pow2 (-22)) with (/ 4194304). lra. }
assert (SH : forall i, (i <= n)%nat -> INR (S i) <= pow2 30).
{ intros i Hi. apply Rle_trans with (INR (S n)); [apply le_INR; lia|]. rewrite S_INR. simpl bpow in *. lra. }
assert (few' : INR n <= pow2 60) by (simpl bpow in *; lra). destruct sum_depth as [D1 D2].
assert (N := row_normaliser n s sh (fun _ => M) e (fun _ => []) M E rho se false total total scores argument_below exponentials still
  ltac:(intros; reflexivity) first usable kW kW n totals ltac:(intros j Hj; simpl; pose proof (D2 j Hj); lia) SE
  (conj (SH _ D1) (conj (SH _ D1) (fun j Hj => conj (SH _ (D2 j Hj)) (SH _ (D2 j Hj))))) sum_ops).
fold w in N. fold W in N. fold D in N. apply Rle_trans with (1 := N).
assert (T' : INR n * pow2 (-98) <= / 1000000 * (INR n * u64)).
{ rewrite (Rmult_comm (/ 1000000)), Rmult_assoc. apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (pow2 (-53 + -20)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_l; [lra|simpl; lra]. }
assert (A1 : INR n * u64 * (999/1000) <= INR n * u64 * W) by (apply Rmult_le_compat_l; lra).
assert (A2 : se * rho <= se * / 65536) by (apply Rmult_le_compat_l; [rewrite Hse; apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]|lra]).
assert (A3 : (rho + se * (1 + rho)) * W <= (rho + (INR n + 10) * u64 * (1 + / 10000)) * W).
{ apply Rmult_le_compat_r; [lra|]. rewrite Hse in *. lra. }
assert (A4 : 0 <= rho * W) by (apply Rmult_le_pos; lra). assert (A5 : 0 <= u64 * W) by (apply Rmult_le_pos; lra).
unfold k2. lra.
Qed.

(* The relative error that second.c takes, before its factor of 1 + 2^-2 *)
Variable size_error : R.
Definition kap := 2 * rho + size_error + (3 * keys + 100) * u64.
Hypothesis certain : kap <= / 1000.
Hypothesis size_counted : lt + u64 <= size_error.

Lemma kap_range : 0 <= kap /\ 0 <= lt <= / 1000 /\ 0 <= INR n * u64 <= / 1000.
Proof.
assert (U := u_tiny). assert (R := rho_range). pose proof n_pos. destruct counted as [C1 C2]. destruct tails_pos.
assert (0 <= INR n * u64 <= keys * u64) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
unfold kap in *. lra.
Qed.

(* normalised weights *)
Let p1 j := rnd64 (e j / D).
Let rp := (rho + k2) * (1 + / 100) + 2 * u64.
Let tp := pow2 (-98) * (1 + / 10).
Lemma p_off j : (j < n)%nat -> 0 <= p j <= 1 /\ 0 <= p1 j /\ Rabs (p1 j - p j) <= rp * p j + tp.
Proof.
intros Hj. assert (U := u_tiny). assert (R := rho_range). pose proof n_pos as Pn. destruct kap_range as [K0 [K1 K2]].
assert (WL := W_least). change (pow2 (-10)) with (/ 1024) in WL. destruct (weight_off j Hj) as [Pe We].
assert (Pw : 0 < w j) by apply exp_pos. assert (PW : 0 < W) by lra.
assert (HD := D_off). assert (Hk2 : 0 <= k2 <= / 500).
{ unfold k2. lra. }
assert (PB : 0 < pow2 (-98)) by apply bpow_gt_0.
assert (Pp : 0 <= p j <= 1).
{ split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, PW]|]. apply (Rmult_le_reg_r W); [exact PW|].
  unfold p, Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
  apply sum_ge_term with (f := w); [intros; left; apply exp_pos|exact Hj]. }
apply Rabs_le_inv in HD. assert (kW' : k2 * W <= / 500 * W) by (apply Rmult_le_compat_r; lra).
assert (PD : 0 < D) by lra. split; [exact Pp|].
assert (Pq : 0 <= e j / D) by (apply Rmult_le_pos; [exact Pe|left; apply Rinv_0_lt_compat, PD]).
destruct (rounded_pos (e j / D) Pq) as [Q1 Q2]. split; [exact Q2|]. fold (p1 j) in Q1.
set (q := e j / D) in *. assert (Eq : q * D = e j) by (unfold q; field; lra). assert (Ep : p j * W = w j) by (unfold p; field; lra).
assert (X : Rabs (q - p j) <= (rho + k2) * (1 + / 200) * p j + pow2 (-98) * (1 + / 100)).
{ apply (Rmult_le_reg_r D); [exact PD|]. rewrite <- (Rabs_pos_eq D) at 1 by lra. rewrite <- Rabs_mult.
  replace ((q - p j) * D) with ((e j - w j) - p j * (D - W)) by (rewrite <- Eq, <- Ep; ring).
  unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq (p j)) by lra.
  assert (Y : p j * Rabs (D - W) <= p j * (k2 * W)) by (apply Rmult_le_compat_l; [lra|apply Rabs_le; lra]).
  assert (Ew : rho * w j = rho * (p j * W)) by (rewrite Ep; reflexivity). rewrite Ew in We. assert (DW : 499/500 * W <= D) by lra.
  assert (Z1 : (rho + k2) * p j * W <= (rho + k2) * p j * ((1 + / 200) * D)).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]. }
  assert (Z2 : pow2 (-98) * 1 <= pow2 (-98) * ((1 + / 100) * D)) by (apply Rmult_le_compat_l; lra). lra. }
apply Rabs_le_inv in X.
assert (E98 : eta <= / 1000 * pow2 (-98)).
{ apply Rle_trans with (pow2 (-10 + -98)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Prk : 0 <= (rho + k2) * p j <= / 400 * p j) by (split; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]).
assert (uq : u64 * q <= 3/2 * (u64 * p j) + / 1000 * pow2 (-98)).
{ apply Rle_trans with (u64 * (3/2 * p j + 2 * pow2 (-98))); [apply Rmult_le_compat_l; lra|].
  assert (u64 * (2 * pow2 (-98)) <= / 1000 * pow2 (-98)); [|lra]. replace (u64 * (2 * pow2 (-98))) with (2 * u64 * pow2 (-98)) by ring.
  apply Rmult_le_compat_r; lra. }
assert (0 <= u64 * p j) by (apply Rmult_le_pos; lra).
unfold rp, tp. apply Rabs_le. lra.
Qed.

(* weights times sizes *)
Let a j := p j * t j.
Let a1 j := rnd64 (p1 j * t1 j).
Let r := exp (rp + lt + u64) - 1.
Let tau := pow2 (-97) * T + 2 * et + 2 * eta.
Lemma rp_range : 0 <= rp <= / 400.
Proof.
assert (U := u_tiny). assert (R := rho_range). destruct kap_range as [K0 [K1 K2]]. unfold rp, k2. lra.
Qed.

Lemma product_off j tt tt1 : (j < n)%nat -> 0 <= tt <= T -> 0 <= tt1 -> Rabs (tt1 - tt) <= (exp lt - 1) * tt + et ->
  0 <= p j * tt /\ 0 <= rnd64 (p1 j * tt1) /\ Rabs (rnd64 (p1 j * tt1) - p j * tt) <= r * (p j * tt) + tau.
Proof.
intros Hj Ht Ht1 Dt. assert (U := u_tiny). destruct (p_off j Hj) as [Pp [P1 Dp]].
destruct tails_pos as [L0 E0]. destruct kap_range as [_ [L1 _]]. assert (RP := rp_range). assert (N : 0 < eta) by apply bpow_gt_0.
assert (Pa : 0 <= p j * tt) by (apply Rmult_le_pos; lra). assert (Pa1 : 0 <= p1 j * tt1) by (apply Rmult_le_pos; assumption).
destruct (rounded_pos (p1 j * tt1) Pa1) as [Q1 Q2]. split; [exact Pa|]. split; [exact Q2|]. 
assert (EL : 1 <= exp lt <= 1 + / 500).
{ split; [pose proof (bound.exp_above lt); lra|]. pose proof (exp_below lt ltac:(lra)). assert (lt * lt <= / 1000 * lt) by (apply Rmult_le_compat_r; lra). lra. }
assert (B98 : 0 < pow2 (-98) <= / 1000) by (split; [apply bpow_gt_0|apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]]).
assert (E97 : pow2 (-97) = 2 * pow2 (-98)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (T1u : tt1 <= exp lt * tt + et) by (apply Rabs_le_inv in Dt; lra).
assert (Lt : exp lt * tt <= (1 + / 500) * tt) by (apply Rmult_le_compat_r; lra).
assert (Ptp : 0 <= tp) by (unfold tp; lra). assert (Ptp1 : tp * et <= / 500 * et) by (apply Rmult_le_compat_r; [exact E0|unfold tp; lra]).
assert (PT : 0 <= T) by lra. assert (PtT : 0 <= pow2 (-98) * T) by (apply Rmult_le_pos; lra).
assert (X : Rabs (p1 j * tt1 - p j * tt) <= ((1 + rp) * exp lt - 1) * (p j * tt) + (3/4 * (pow2 (-97) * T) + 101/100 * et)).
{ replace (p1 j * tt1 - p j * tt) with ((p1 j - p j) * tt1 + p j * (tt1 - tt)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_pos_eq (tt1)), (Rabs_pos_eq (p j)) by lra.
  assert (Prp : 0 <= rp * p j) by (apply Rmult_le_pos; lra).
  assert (Y1 : Rabs (p1 j - p j) * tt1 <= (rp * p j + tp) * (exp lt * tt + et)).
  { apply Rmult_le_compat; try assumption. apply Rabs_pos. }
  assert (Y2 : p j * Rabs (tt1 - tt) <= p j * ((exp lt - 1) * tt + et)) by (apply Rmult_le_compat_l; lra).
  assert (Y3 : tp * (exp lt * tt) <= tp * ((1 + / 500) * T)) by (apply Rmult_le_compat_l; lra).
  assert (Y4 : p j * et <= 1 * et) by (apply Rmult_le_compat_r; lra).
  assert (Y5 : rp * p j * et <= / 400 * et).
  { apply Rmult_le_compat_r; [exact E0|]. apply Rle_trans with (rp * 1); [apply Rmult_le_compat_l; lra|lra]. }
  assert (Y6 : tp * ((1 + / 500) * T) <= 3/4 * (pow2 (-97) * T)) by (rewrite E97; unfold tp; lra). lra. }
set (tl := 3/4 * (pow2 (-97) * T) + 101/100 * et) in *. assert (Ptl : 0 <= tl) by (unfold tl; rewrite E97; lra).
assert (G : (1 + rp) * exp lt * (1 + u64) <= exp (rp + lt + u64)).
{ rewrite !exp_plus. apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra| |apply bound.exp_above].
  apply Rmult_le_compat_r; [lra|apply bound.exp_above]. }
set (aj := p j * tt) in *. apply (Rmult_le_compat_r aj) in G; [|exact Pa]. apply Rabs_le_inv in X.
assert (Z : u64 * (p1 j * tt1) <= u64 * ((1 + rp) * exp lt * aj) + / 1000 * tl).
{ apply Rle_trans with (u64 * ((1 + rp) * exp lt * aj + tl)); [apply Rmult_le_compat_l; lra|].
  assert (u64 * tl <= / 1000 * tl) by (apply Rmult_le_compat_r; lra). lra. }
assert (TT : tl * (1 + / 1000) + eta <= tau) by (unfold tau, tl; rewrite E97; lra).
unfold r. apply Rabs_le. lra.
Qed.

Lemma a_off j : (j < n)%nat -> 0 <= a j /\ 0 <= a1 j /\ Rabs (a1 j - a j) <= r * a j + tau.
Proof. intros Hj. destruct (sizes j Hj) as [H1 [H2 H3]]. apply product_off; assumption. Qed.

(* ---- sums over the keys ---- *)

Definition kS := exp (rp + lt + u64 + u64 + (INR n + 3) * u64) - 1.
Lemma kS_range : 0 <= kS <= / 100 /\ kS * (1 + / 50) <= kap * (1 + / 10).
Proof.
assert (U := u_tiny). assert (R := rho_range). destruct kap_range as [K0 [K1 K2]]. destruct counted as [C1 C2].
assert (Pk : INR n * u64 <= keys * u64) by (apply Rmult_le_compat_r; lra). pose proof n_pos as Pn.
assert (u64 <= INR n * u64) by (replace u64 with (1 * u64) at 1 by ring; apply Rmult_le_compat_r; lra).
set (L := rp + lt + u64 + u64 + (INR n + 3) * u64).
assert (HL : 0 <= L <= kap * (1 + / 25)). { unfold L, rp, k2, kap in *. lra. }
assert (L1 : L <= / 500) by lra. pose proof (exp_below L ltac:(lra)) as E1. pose proof (bound.exp_above L) as E2.
assert (LL : L * L <= / 500 * L) by (apply Rmult_le_compat_r; lra).
unfold kS. fold L. lra.
Qed.

Section Sum.
Variables (b b1 : nat -> R) (B : R) (tr : tree).
Hypothesis terms_off : forall j, (j < n)%nat -> 0 <= b j <= B /\ 0 <= b1 j /\ Rabs (b1 j - b j) <= u64 * b j + eta.
Hypothesis summed : sums_up tr n a1 b1.
Hypothesis depth_n : (depth tr <= n + 1)%nat.
Hypothesis ops_n : (ops tr <= 2 * n + 2)%nat.

Lemma sum_off : Rabs (fl rnd64 rnd64 tr - sum n (fun j => a j * b j)) <= kS * sum n (fun j => a j * b j) +
  (2 * eta * sum n a + INR n * (2 * tau * (B + eta)) + 16 * INR n * eta).
Proof.
assert (U := u_tiny). destruct kap_range as [K0 [K1 K2]]. pose proof n_pos as Pn. assert (RP := rp_range). assert (N : 0 < eta) by apply bpow_gt_0.
destruct counted as [C1 C2].
assert (S := summation_tree rnd64 rnd64 u64 u64 eta ltac:(lra) ltac:(lra) ltac:(lra) rounded rounded tr n a1 b1 summed).
set (G := (1 + u64) * (1 + u64) ^ depth tr) in *.
assert (G1 : 1 <= G).
{ unfold G. rewrite tech_pow_Rmult. apply pow_R1_Rle; lra. }
assert (G2 : G <= exp ((INR n + 3) * u64)).
{ unfold G. rewrite tech_pow_Rmult. apply Rle_trans with ((1 + u64) ^ (n + 3)); [apply Rle_pow; [lra|lia]|].
  replace (INR n + 3) with (INR (n + 3)) by (rewrite plus_INR; simpl; ring). generalize (n + 3)%nat. intros m. induction m as [|m IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
  rewrite S_INR, <- tech_pow_Rmult. replace ((INR m + 1) * u64) with (u64 + INR m * u64) by ring. rewrite exp_plus.
  apply Rmult_le_compat; [lra|apply pow_le; lra|apply bound.exp_above|exact IH]. }
assert (G3 : exp ((INR n + 3) * u64) <= 1 + / 64).
{ assert (Z : 0 <= (INR n + 3) * u64 <= / 400) by lra. eapply Rle_trans; [apply exp_below; lra|]. set (z := (INR n + 3) * u64) in *.
  assert (z * z <= / 400 * z) by (apply Rmult_le_compat_r; lra). lra. }
assert (Pr : 0 <= r <= / 64).
{ unfold r. set (z := rp + lt + u64). assert (Z : 0 <= z <= / 200) by (unfold z; lra). split; [pose proof (bound.exp_above z); lra|].
  eapply Rle_trans; [apply Rplus_le_compat_r, exp_below; lra|]. assert (z * z <= / 200 * z) by (apply Rmult_le_compat_r; lra). lra. }
assert (Ptau : 0 <= tau).
{ destruct first as [j [Hj _]]. destruct (sizes j Hj) as [Hs _]. destruct tails_pos. unfold tau.
  assert (0 <= pow2 (-97) * T) by (apply Rmult_le_pos; [apply bpow_ge_0|lra]). lra. }
assert (HS : Rabs (fl rnd64 rnd64 tr - sum n (fun j => a1 j * b1 j)) <= sum n (fun j => (G - 1) * (a1 j * b1 j)) + 16 * INR n * eta).
{ apply Rle_trans with (1 := S). apply Rplus_le_compat.
  - right. rewrite <- sum_scal. apply sum_ext. intros j Hj. destruct (a_off j Hj) as [_ [P1 _]]. destruct (terms_off j Hj) as [_ [P2 _]].
    rewrite !Rabs_pos_eq by assumption. reflexivity.
  - assert (0 <= INR n * eta) by (apply Rmult_le_pos; lra). apply Rle_trans with ((4 * INR n) * eta * 2); [|lra]. apply Rmult_le_compat; try lra.
    + apply Rmult_le_pos; [apply pos_INR|lra].
    + apply Rmult_le_compat_r; [lra|]. apply Rle_trans with (INR (2 * n + 2)); [apply le_INR, ops_n|].
      rewrite plus_INR, mult_INR. simpl (INR 2). lra. }
assert (C := sum_close n a a1 b b1 (fun _ => G - 1) B r u64 (G - 1) tau eta (16 * INR n * eta) _ a_off terms_off
  ltac:(intros j Hj; split; [lra|left; lra]) HS ltac:(repeat split; lra)).
apply Rle_trans with (1 := C). apply Rplus_le_compat_r, Rmult_le_compat_r.
- apply sum_nonneg. intros j Hj. destruct (a_off j Hj) as [? _]. destruct (terms_off j Hj) as [? _]. apply Rmult_le_pos; lra.
- unfold kS, r. apply Rplus_le_compat_r. set (q := rp + lt + u64).
  replace (1 + (exp q - 1)) with (exp q) by ring. replace (1 + (G - 1)) with G by ring.
  rewrite (exp_plus (q + u64)), (exp_plus q u64). pose proof (exp_pos q) as Pq.
  apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra| |exact G2].
  apply Rmult_le_compat_l; [lra|apply bound.exp_above].
Qed.
End Sum.

(* ---- S ---- *)

Variables (xh radius kq tiny : R) (spread counts : tree).
Let x := mean n (fun j => exp (s j)) v.
Hypothesis enclosed : Rabs (xh - x) <= radius.
Hypothesis spread_sum : sums_up spread n a1 (fun j => Rabs (rnd64 (v j - xh))).
Hypothesis count_sum : sums_up counts n a1 (fun _ => 1).
Hypothesis row_like : (depth spread <= n + 1)%nat /\ (ops spread <= 2 * n + 2)%nat /\ (depth counts <= n + 1)%nat /\ (ops counts <= 2 * n + 2)%nat.
Hypothesis positive : nonneg spread /\ nonneg counts.
Hypothesis kq_enough : kap * (1 + / 5) <= kq <= / 100.
Hypothesis tiny_enough : pow2 40 * et + pow2 (-1001) <= tiny.
(* the sink's share: 0, or p t of a key whose size is no part of t *)
Variables (sigma sk : R).
Hypothesis sink : (sigma = 0 /\ sk = 0) \/ exists j ts ts1, (j < n)%nat /\ 0 <= ts <= T /\ 0 <= ts1 /\
  Rabs (ts1 - ts) <= (exp lt - 1) * ts + et /\ sigma = p j * ts /\ sk = rnd64 (p1 j * ts1).
Let S := mean n (fun j => exp (s j)) (fun j => t j * Rabs (v j - x)) + sigma * Rabs x.

Let sp := fl rnd64 rnd64 spread.
Let ct := fl rnd64 rnd64 counts.
(* softmax_sensitivity *)
Definition sum_c : R := rnd64 (sp + rnd64 (sk * Rabs xh)).
Definition far_c : R := rnd64 (rnd64 (rnd64 (V + Rabs xh) + radius) + pow2 (-960)).
Definition off_c : R := rnd64 (rnd64 (rnd64 (rnd64 (rnd64 (kq * sum_c) + rnd64 (rnd64 (radius * rnd64 (ct + sk)) * rnd64 (1 + kq))) +
  rnd64 (rnd64 (rnd64 (keys * pow2 (-95)) * T) * far_c)) + rnd64 (tiny * far_c)) + rnd64 (rnd64 (keys + 2) * pow2 (-1000))).
Definition lo_c : R := rnd64 (sum_c - rnd64 (off_c * (1 + pow2 (-20)))).
Definition hi_c : R := rnd64 (sum_c + rnd64 (off_c * (1 + pow2 (-20)))).

Lemma shifted f : mean n (fun j => exp (s j)) f = sum n (fun j => p j * f j).
Proof.
assert (PW : 0 < W) by (assert (WL := W_least); change (pow2 (-10)) with (/ 1024) in WL; lra).
assert (P : 0 < sum n (fun j => exp (s j))).
{ destruct first as [j [Hj _]]. apply sum_pos with j; [intros; left; apply exp_pos|exact Hj|apply exp_pos]. }
assert (Ew : forall j, w j = exp (- M) * exp (s j)) by (intros j; unfold w; rewrite <- exp_plus; f_equal; ring).
unfold mean. assert (EW : W = exp (- M) * sum n (fun j => exp (s j))) by (unfold W; rewrite <- sum_scal; apply sum_ext; intros; apply Ew).
rewrite (sum_ext n (fun j => p j * f j) (fun j => (exp (s j) * f j) * (exp (- M) / W))) by (intros; unfold p; rewrite Ew; field; lra).
rewrite sum_scal_r, EW. pose proof (exp_pos (- M)). field. split; lra.
Qed.

Lemma T_pos : 0 <= T. Proof. destruct first as [j [Hj _]]. destruct (sizes j Hj) as [H _]. lra. Qed.
Lemma V_pos : 0 <= V. Proof. destruct first as [j [Hj _]]. eapply Rle_trans; [apply Rabs_pos|apply (values j Hj)]. Qed.
Lemma tau_pos : 0 <= tau.
Proof. pose proof T_pos. destruct tails_pos. assert (0 < eta) by apply bpow_gt_0. unfold tau. assert (0 <= pow2 (-97) * T) by (apply Rmult_le_pos; [apply bpow_ge_0|lra]). lra. Qed.

Let C := sum n a.
Lemma C_range : 0 <= C <= T.
Proof.
split; [apply sum_nonneg; intros j Hj; apply (a_off j Hj)|].
assert (PW : 0 < W) by (assert (WL := W_least); change (pow2 (-10)) with (/ 1024) in WL; lra).
apply Rle_trans with (sum n p * T).
- rewrite <- sum_scal_r. apply sum_le. intros j Hj. destruct (p_off j Hj) as [H _]. destruct (sizes j Hj) as [H' _]. apply Rmult_le_compat_l; lra.
- assert (Sp : sum n p = 1); [|rewrite Sp; lra]. unfold p, Rdiv. rewrite sum_scal_r. fold W. apply Rinv_r. lra.
Qed.

(* a sum in terms of what was computed *)
Lemma solved X Y tl k : 0 <= X -> 0 <= Y -> 0 <= tl -> 0 <= k <= / 100 -> Rabs (Y - X) <= k * X + tl ->
  Rabs (Y - X) <= k * (1 + / 50) * Y + 51/50 * tl.
Proof.
intros HX HY Ht Hk H. assert (A : X <= Y + (k * X + tl)) by (apply Rabs_le_inv in H; lra).
assert (B : k * X <= / 100 * X) by (apply Rmult_le_compat_r; lra).
assert (X2 : X <= 102/100 * Y + 102/100 * tl) by lra.
apply (Rmult_le_compat_l k) in X2; [|lra]. assert (k * tl <= / 100 * tl) by (apply Rmult_le_compat_r; lra).
assert (0 <= k * Y) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma spread_close : 0 <= sp /\ Rabs (sp - sum n (fun j => a j * Rabs (v j - xh))) <= kS * (1 + / 50) * sp +
  51/50 * (2 * eta * T + INR n * (2 * tau * (V + Rabs xh + eta)) + 16 * INR n * eta).
Proof.
destruct row_like as [D1 [O1 _]]. destruct positive as [Ps _]. pose proof V_pos. pose proof (Rabs_pos xh). pose proof C_range as CR. pose proof T_pos.
pose proof tau_pos. pose proof n_pos. assert (N : 0 < eta) by apply bpow_gt_0. destruct kS_range as [KS _].
assert (Psp : 0 <= sp) by (apply nonneg_fl; [exact rnd64_pos|exact Ps]). split; [exact Psp|].
assert (SO := sum_off (fun j => Rabs (v j - xh)) (fun j => Rabs (rnd64 (v j - xh))) (V + Rabs xh) spread
  ltac:(intros j Hj; split; [split; [apply Rabs_pos|]|split; [apply Rabs_pos|]];
    [unfold Rminus; eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_Ropp; pose proof (values j Hj); lra|
     eapply Rle_trans; [apply Rabs_triang_inv2|apply rounded]]) spread_sum D1 O1).
apply solved; try assumption.
- apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [apply (a_off j Hj)|apply Rabs_pos].
- assert (0 <= 2 * eta * T) by (apply Rmult_le_pos; lra). assert (0 <= INR n * (2 * tau * (V + Rabs xh + eta))) by (repeat apply Rmult_le_pos; lra).
  assert (0 <= 16 * INR n * eta) by (apply Rmult_le_pos; lra). lra.
- apply Rle_trans with (1 := SO). fold C. assert (2 * eta * C <= 2 * eta * T) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma count_close : 0 <= ct /\ C <= ct * (1 + kS * (1 + / 50)) + 51/50 * (2 * eta * T + INR n * (2 * tau * (1 + eta)) + 16 * INR n * eta).
Proof.
destruct row_like as [_ [_ [D1 O1]]]. destruct positive as [_ Ps]. pose proof C_range as CR. pose proof T_pos.
pose proof tau_pos. pose proof n_pos. assert (N : 0 < eta) by apply bpow_gt_0. destruct kS_range as [KS _]. assert (U := u_tiny).
assert (Pct : 0 <= ct) by (apply nonneg_fl; [exact rnd64_pos|exact Ps]). split; [exact Pct|].
assert (SO := sum_off (fun _ => 1) (fun _ => 1) 1 counts
  ltac:(intros j Hj; cbv beta; replace (1 - 1) with 0 by ring; rewrite Rabs_R0; repeat split; lra) count_sum D1 O1).
cbv beta in SO. rewrite (sum_ext n (fun j => a j * 1) a) in SO by (intros; ring). fold C in SO.
assert (T0 : 0 <= 2 * eta * T + INR n * (2 * tau * (1 + eta)) + 16 * INR n * eta).
{ assert (0 <= 2 * eta * T) by (apply Rmult_le_pos; lra). assert (0 <= INR n * (2 * tau * (1 + eta))) by (repeat apply Rmult_le_pos; lra).
  assert (0 <= 16 * INR n * eta) by (apply Rmult_le_pos; lra). lra. }
assert (SV := solved C ct _ kS (proj1 CR) Pct T0 KS
  ltac:(apply Rle_trans with (1 := SO); assert (2 * eta * C <= 2 * eta * T) by (apply Rmult_le_compat_l; lra); lra)).
apply Rabs_le_inv in SV. lra.
Qed.

Lemma sink_close : 0 <= sigma /\ 0 <= sk /\ Rabs (sk - sigma) <= kS * (1 + / 50) * sk + 51/50 * tau.
Proof.
pose proof tau_pos. destruct kS_range as [KS _]. destruct sink as [[-> ->]|[j [ts [ts1 [Hj [H1 [H2 [H3 [-> ->]]]]]]]]].
- replace (0 - 0) with 0 by ring. rewrite Rabs_R0. repeat split; lra.
- destruct (product_off j ts ts1 Hj H1 H2 H3) as [P1' [P2' P3']]. split; [exact P1'|]. split; [exact P2'|].
  apply solved; try assumption. apply Rle_trans with (1 := P3'). apply Rplus_le_compat_r, Rmult_le_compat_r; [exact P1'|].
  unfold r, kS. apply Rplus_le_compat_r. apply float_pass.exp_le. assert (U := u_tiny). destruct kap_range as [_ [_ K2]]. lra.
Qed.

Lemma x_moved : Rabs (sum n (fun j => a j * Rabs (v j - x)) - sum n (fun j => a j * Rabs (v j - xh))) <= C * radius.
Proof.
rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|]. unfold C. rewrite <- sum_scal_r. apply sum_le. intros j Hj.
destruct (a_off j Hj) as [Pa _]. replace (a j * Rabs (v j - x) - a j * Rabs (v j - xh)) with (a j * (Rabs (v j - x) - Rabs (v j - xh))) by ring.
rewrite Rabs_mult, (Rabs_pos_eq (a j)) by exact Pa. apply Rmult_le_compat_l; [exact Pa|].
eapply Rle_trans; [apply Rabs_triang_inv2|]. replace (v j - x - (v j - xh)) with (xh - x) by ring. exact enclosed.
Qed.

Let k := kS * (1 + / 50).
Let far := V + Rabs xh + radius + pow2 (-960).
(* what negligible weights and underflow can do *)
Lemma tails_small : 51/50 * (2 * eta * T + INR n * (2 * tau * (V + Rabs xh + eta)) + 16 * INR n * eta) +
  51/50 * (2 * eta * T + INR n * (2 * tau * (1 + eta)) + 16 * INR n * eta + tau) * radius + 51/50 * tau * Rabs xh <=
  7/8 * (keys * pow2 (-95) * T * far) + / 2 * (tiny * far) + / 4 * ((keys + 2) * pow2 (-1000)).
Proof.
destruct counted as [C1 C2]. pose proof n_pos as Pn. pose proof T_pos as PT. pose proof V_pos as PV. pose proof (Rabs_pos xh) as Px. destruct tails_pos as [_ Pe].
assert (Pr : 0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]). assert (N : 0 < eta) by apply bpow_gt_0.
assert (P960 : 0 < pow2 (-960) <= 1) by (split; [apply bpow_gt_0|apply (bpow_le radix2 (-960) 0); lia]).
assert (Pfar : 0 < far) by (unfold far; lra). assert (Pkey : 1 <= keys) by lra.
assert (E97 : pow2 (-95) = 4 * pow2 (-97)) by (change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity).
assert (P97 : 0 < pow2 (-97) <= / 1000) by (split; [apply bpow_gt_0|apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]]).
assert (EF : eta <= / 1000 * pow2 (-97) * far).
{ apply Rle_trans with (pow2 (-10 + -97) * pow2 (-960)); [rewrite <- bpow_plus; apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat; try lra; [rewrite <- bpow_plus; apply bpow_ge_0|apply Rmult_le_compat_r; [lra|simpl; lra]|unfold far; lra]. }
assert (E1 : eta <= / 1000) by (apply Rle_trans with (pow2 (-10)); [apply bpow_le; lia|simpl; lra]).
assert (F1 : V + Rabs xh + eta <= far) by (assert (eta <= pow2 (-960)) by (apply bpow_le; lia); unfold far; lra).
assert (F2 : radius <= far) by (unfold far; lra). assert (F3 : Rabs xh <= far) by (unfold far; lra).
assert (F4 : V + Rabs xh + eta + radius * (1 + eta) <= far * (1 + / 500)).
{ assert (radius * eta <= far * / 1000) by (apply Rmult_le_compat; lra). assert (eta <= pow2 (-960)) by (apply bpow_le; lia). unfold far in *. lra. }
pose proof tau_pos as Ptau.
(* all that has tau *)
assert (A1 : INR n * tau * (V + Rabs xh + eta + radius * (1 + eta)) <= keys * tau * (far * (1 + / 500))).
{ apply Rmult_le_compat; try (apply Rmult_le_pos; lra); [|apply Rmult_le_compat_r; lra|exact F4].
  assert (0 <= radius * eta) by (apply Rmult_le_pos; lra). lra. }
assert (A2 : tau * (radius + Rabs xh) <= keys * tau * far).
{ replace (tau * (radius + Rabs xh)) with (1 * tau * (radius + Rabs xh)) by ring. apply Rmult_le_compat; try lra; [apply Rmult_le_compat_r; lra|unfold far; lra]. }
assert (A3 : keys * tau * far <= keys * (pow2 (-97) * T + 2 * et + 2 * eta) * far) by (unfold tau; lra).
assert (B1 : 2 * eta * T <= 2 * (/ 1000 * pow2 (-97) * far) * T) by (apply Rmult_le_compat_r; lra).
assert (B2 : 2 * eta * T * radius <= 2 * (/ 1000 * pow2 (-97)) * T * far).
{ assert (eta <= / 1000 * pow2 (-97)).
  { apply Rle_trans with (pow2 (-10 + -97)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
  apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]. }
assert (X1 : 0 <= pow2 (-97) * T * far) by (repeat apply Rmult_le_pos; lra).
assert (X2 : 1 * (pow2 (-97) * T * far) <= keys * (pow2 (-97) * T * far)) by (apply Rmult_le_compat_r; lra).
assert (KE : keys * et <= / 1000 * (pow2 40 * et)).
{ rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [exact Pe|]. apply Rle_trans with (1 := C2). apply Rle_trans with (pow2 (-10 + 40)); [apply bpow_le; lia|].
  rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (KN : keys * eta <= / 1000 * pow2 (-1001)).
{ apply Rle_trans with (pow2 29 * eta); [apply Rmult_le_compat_r; lra|]. rewrite <- bpow_plus. apply Rle_trans with (pow2 (-10 + -1001)); [apply bpow_le; lia|].
  rewrite bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0|simpl; lra]. }
assert (PEt : 0 <= pow2 40 * et) by (apply Rmult_le_pos; [apply bpow_ge_0|exact Pe]). assert (P1001 : 0 < pow2 (-1001)) by apply bpow_gt_0.
assert (TF : keys * (2 * et + 2 * eta) <= / 400 * tiny) by lra.
apply (Rmult_le_compat_r far) in TF; [|lra].
assert (Kn : INR n * eta <= keys * eta) by (apply Rmult_le_compat_r; lra).
assert (KR : INR n * eta * radius <= / 1000 * tiny * far).
{ apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra. }
assert (PTF : 0 <= tiny * far) by (apply Rmult_le_pos; lra).
assert (E1000 : pow2 (-1000) = 2 * pow2 (-1001)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (KP : 0 <= keys * pow2 (-1000)) by (apply Rmult_le_pos; [lra|apply bpow_ge_0]).
rewrite E97. replace (keys * (4 * pow2 (-97)) * T * far) with (4 * (keys * (pow2 (-97) * T * far))) by ring.
set (G := keys * (pow2 (-97) * T * far)) in *. set (Q := pow2 (-97) * T * far) in *.
assert (A4 : keys * (pow2 (-97) * T + 2 * et + 2 * eta) * far = G + keys * (2 * et + 2 * eta) * far) by (unfold G, Q; ring).
rewrite A4 in A3.
replace (2 * (/ 1000 * pow2 (-97) * far) * T) with (2 * / 1000 * Q) in B1 by (unfold Q; ring).
replace (2 * (/ 1000 * pow2 (-97)) * T * far) with (2 * / 1000 * Q) in B2 by (unfold Q; ring).
set (Y := keys * tau * far) in *. replace (keys * tau * (far * (1 + / 500))) with (Y * (1 + / 500)) in A1 by (unfold Y; ring).
assert (PY : 0 <= Y) by (unfold Y; repeat apply Rmult_le_pos; lra).
set (I1 := INR n * tau * (V + Rabs xh + eta + radius * (1 + eta))) in *. set (I2 := tau * (radius + Rabs xh)) in *. set (I3 := INR n * eta) in *.
replace (51 / 50 * (2 * eta * T + INR n * (2 * tau * (V + Rabs xh + eta)) + 16 * INR n * eta) +
  51 / 50 * (2 * eta * T + INR n * (2 * tau * (1 + eta)) + 16 * INR n * eta + tau) * radius + 51 / 50 * tau * Rabs xh)
  with (51/50 * (2 * eta * T + 2 * eta * T * radius + 2 * I1 + I2 + 16 * I3 + 16 * (I3 * radius))) by (unfold I1, I2, I3; field).
change (INR n * eta * radius) with (I3 * radius) in KR.
assert (E01 : I3 <= / 1000 * pow2 (-1001)) by lra. rewrite E1000 in *.
assert (1 * (2 * pow2 (-1001)) <= keys * (2 * pow2 (-1001))) by (apply Rmult_le_compat_r; lra).
clearbody G Y I1 I2 I3 Q. lra.
Qed.

Lemma s_close : Rabs (S - (sp + sk * Rabs xh)) <= k * (sp + sk * Rabs xh) + (ct + sk) * (1 + k) * radius +
  (7/8 * (keys * pow2 (-95) * T * far) + / 2 * (tiny * far) + / 4 * ((keys + 2) * pow2 (-1000))).
Proof.
destruct spread_close as [Psp E1]. destruct count_close as [Pct E2]. destruct sink_close as [Psg [Psk E3]]. assert (E4 := x_moved). assert (TS := tails_small).
pose proof tau_pos as Ptau. pose proof (Rabs_pos xh) as Px. assert (Pr : 0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]).
assert (DX : Rabs (Rabs x - Rabs xh) <= radius).
{ eapply Rle_trans; [apply Rabs_triang_inv2|]. rewrite <- Rabs_Ropp. replace (- (x - xh)) with (xh - x) by ring. exact enclosed. }
fold k in E1, E2, E3. set (t0 := 2 * eta * T + INR n * (2 * tau * (V + Rabs xh + eta)) + 16 * INR n * eta) in *.
set (t2 := 2 * eta * T + INR n * (2 * tau * (1 + eta)) + 16 * INR n * eta) in *.
assert (Sg : sigma <= sk * (1 + k) + 51/50 * tau) by (apply Rabs_le_inv in E3; lra).
assert (CS : (C + sigma) * radius <= (ct + sk) * (1 + k) * radius + 51/50 * (t2 + tau) * radius).
{ rewrite <- Rmult_plus_distr_r. apply Rmult_le_compat_r; [exact Pr|lra]. }
assert (B : Rabs (sigma * Rabs x - sk * Rabs xh) <= (k * sk + 51/50 * tau) * Rabs xh + sigma * radius).
{ replace (sigma * Rabs x - sk * Rabs xh) with (- ((sk - sigma) * Rabs xh) + sigma * (Rabs x - Rabs xh)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, !Rabs_mult, Rabs_Rabsolu, (Rabs_pos_eq sigma) by exact Psg.
  apply Rplus_le_compat; [apply Rmult_le_compat_r; assumption|apply Rmult_le_compat_l; assumption]. }
unfold S. rewrite shifted. rewrite (sum_ext n (fun j => p j * (t j * Rabs (v j - x))) (fun j => a j * Rabs (v j - x))) by (intros; unfold a; ring).
set (s1 := sum n (fun j => a j * Rabs (v j - x))) in *. set (s2 := sum n (fun j => a j * Rabs (v j - xh))) in *.
replace (s1 + sigma * Rabs x - (sp + sk * Rabs xh)) with ((s1 - s2) + - (sp - s2) + (sigma * Rabs x - sk * Rabs xh)) by ring.
eapply Rle_trans; [apply Rabs_triang|]. assert (X := Rabs_triang (s1 - s2) (- (sp - s2))). rewrite Rabs_Ropp in X. lra.
Qed.

(** theorem: second_pass — S = sum p t |v - x| lies between the bounds that the second pass of the double tier of softmax makes of its sums, with all roundings. used by: src/softmax/second.c *)
Theorem second_pass : lo_c <= S <= hi_c.
Proof.
assert (H := s_close). assert (U := u_tiny). assert (UU := u64_size). assert (N : 0 < eta) by apply bpow_gt_0. destruct kap_range as [K0 [K1 K2]].
destruct spread_close as [Psp _]. destruct count_close as [Pct _]. destruct sink_close as [Psg [Psk _]]. destruct kS_range as [KS KK].
pose proof n_pos as Pn. pose proof T_pos as PT. pose proof V_pos as PV. pose proof (Rabs_pos xh) as Px. destruct counted as [C1 C2].
assert (Pr : 0 <= radius) by (eapply Rle_trans; [apply Rabs_pos|exact enclosed]).
assert (kap16 : 100 * u64 <= kap). { unfold kap. assert (R := rho_range). destruct tails_pos. assert (1 * u64 <= keys * u64) by (apply Rmult_le_compat_r; lra). lra. }
assert (Kq : k + 3/2 * u64 <= kq /\ 0 <= k) by (unfold k; lra). destruct Kq as [Kq Pk].
assert (Pskx : 0 <= sk * Rabs xh) by (apply Rmult_le_pos; assumption). set (sg := sp + sk * Rabs xh) in *. assert (Psg0 : 0 <= sg) by (unfold sg; lra).
(* the sum *)
destruct (rounded_pos (sk * Rabs xh) Pskx) as [A1 A2]. set (y1 := rnd64 (sk * Rabs xh)) in *.
destruct (rounded_pos (sp + y1) ltac:(lra)) as [B1 B2]. change (rnd64 (sp + y1)) with sum_c in B1, B2.
assert (Usg : 0 <= u64 * sg <= / 1000 * sg) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_r]; lra).
assert (Usk : u64 * (sk * Rabs xh) <= u64 * sg) by (apply Rmult_le_compat_l; unfold sg; lra).
assert (Y1 : u64 * (sp + y1) <= u64 * sg * (1 + / 1000) + eta).
{ apply Rle_trans with (u64 * (sg + u64 * sg + eta)); [apply Rmult_le_compat_l; unfold sg in *; lra|].
  assert (u64 * (u64 * sg) <= / 1000 * (u64 * sg)) by (apply Rmult_le_compat_r; lra). assert (u64 * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (SS : Rabs (sum_c - sg) <= 201/100 * (u64 * sg) + 3 * eta) by (apply Rabs_le; unfold sg in *; lra). apply Rabs_le_inv in SS.
assert (SG : sg <= sum_c + 202/100 * (u64 * sum_c) + 8 * eta).
{ assert (u64 * (sg - 201/100 * (u64 * sg) - 3 * eta) <= u64 * sum_c) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (u64 * sg) <= / 1000 * (u64 * sg)) by (apply Rmult_le_compat_r; lra). assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
assert (Usc : 0 <= u64 * sum_c) by (apply Rmult_le_pos; lra).
set (rest := (ct + sk) * (1 + k) * radius + (7/8 * (keys * pow2 (-95) * T * far) + / 2 * (tiny * far) + / 4 * ((keys + 2) * pow2 (-1000)))) in *.
assert (Pfar : 0 < far) by (unfold far; assert (0 < pow2 (-960)) by apply bpow_gt_0; lra).
assert (Ptiny : pow2 (-1001) <= tiny). { destruct tails_pos. assert (0 <= pow2 40 * et) by (apply Rmult_le_pos; [apply bpow_ge_0|lra]). lra. }
assert (P1001 : 0 < pow2 (-1001)) by apply bpow_gt_0. assert (P95 : 0 <= pow2 (-95)) by apply bpow_ge_0.
assert (E1000 : pow2 (-1000) = 2 * pow2 (-1001)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (KP : 2 * pow2 (-1001) <= keys * pow2 (-1000)) by (rewrite E1000; replace (2 * pow2 (-1001)) with (1 * (2 * pow2 (-1001))) at 1 by ring; apply Rmult_le_compat_r; lra).
assert (Pks : 0 <= keys * pow2 (-95) * T) by (repeat apply Rmult_le_pos; lra). assert (Pkf : 0 <= keys * pow2 (-95) * T * far) by (apply Rmult_le_pos; lra).
assert (Ptf : 0 <= tiny * far) by (apply Rmult_le_pos; lra). assert (Pcs : 0 <= (ct + sk) * (1 + k) * radius) by (repeat apply Rmult_le_pos; lra).
assert (Prest : 0 <= rest) by (unfold rest; lra).
assert (E960 : 1024 * eta <= pow2 (-1001)) by (change 1024 with (pow2 10); rewrite <- bpow_plus; apply bpow_le; lia).
assert (Hk : k <= 11/12 * kq) by (unfold k; lra).
assert (D0 : Rabs (S - sum_c) <= 11/12 * (kq * sum_c) + 3 * (u64 * sum_c) + rest + 40 * eta).
{ assert (H' : Rabs (S - sg) <= k * sg + rest) by (unfold rest; lra).
  replace (S - sum_c) with ((S - sg) - (sum_c - sg)) by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp.
  assert (SS' : Rabs (sum_c - sg) <= 201/100 * (u64 * sg) + 3 * eta) by (apply Rabs_le; lra).
  assert (Q1 : k * sg <= k * (sum_c + 202/100 * (u64 * sum_c) + 8 * eta)) by (apply Rmult_le_compat_l; lra).
  assert (Q2 : k * sum_c <= 11/12 * kq * sum_c) by (apply Rmult_le_compat_r; lra).
  assert (Q3 : k * (u64 * sum_c) <= / 100 * (u64 * sum_c)) by (apply Rmult_le_compat_r; lra).
  assert (Q4 : k * eta <= 1 * eta) by (apply Rmult_le_compat_r; lra).
  assert (Q5 : u64 * sg <= u64 * (sum_c + 202/100 * (u64 * sum_c) + 8 * eta)) by (apply Rmult_le_compat_l; lra).
  assert (Q6 : u64 * (u64 * sum_c) <= / 1000 * (u64 * sum_c)) by (apply Rmult_le_compat_r; lra).
  assert (Q7 : u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. }
apply Rabs_le_inv in D0.
(* what is taken off and added *)
assert (P960 : 0 < pow2 (-960)) by apply bpow_gt_0.
assert (L1 := low_one (V + Rabs xh) ltac:(lra)). assert (L2 := low_sum _ _ _ _ _ _ _ _ 2 L1 (low_given radius radius ltac:(lra)) ltac:(lra) ltac:(lra)).
assert (L3 := low_end _ _ _ _ (low_sum _ _ _ _ _ _ _ _ 3 L2 (low_given (pow2 (-960)) (pow2 (-960)) ltac:(lra)) ltac:(lra) ltac:(lra))).
fold far_c in L3. fold far in L3. clear L1 L2.
assert (E9 : 1024 * eta <= far * / 1000).
{ apply Rle_trans with (pow2 (-960) * / 1000); [|apply Rmult_le_compat_r; [lra|unfold far; lra]].
  apply Rle_trans with (pow2 10 * eta); [apply Rmult_le_compat_r; [lra|simpl; lra]|]. rewrite <- bpow_plus. apply Rle_trans with (pow2 (-960 + -10)); [apply bpow_le; lia|].
  rewrite bpow_plus. apply Rmult_le_compat_l; [lra|simpl; lra]. }
change (pow2 (-46)) with (/ 70368744177664) in L3.
assert (FC : 99/100 * far <= far_c) by lra. set (fc := far_c) in *. assert (Pfc : 0 < fc) by lra.
assert (M1 := low_one (kq * sum_c) ltac:(apply Rmult_le_pos; lra)).
assert (FQ : 1 + k <= rnd64 (1 + kq) <= 2).
{ destruct (rounded_pos (1 + kq) ltac:(lra)) as [R1 _]. assert (u64 * (1 + kq) <= u64 * (11/10)) by (apply Rmult_le_compat_l; lra).
  assert (eta <= / 100 * u64). { apply Rle_trans with (pow2 (-10 + -53)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. } lra. }
set (f := rnd64 (1 + kq)) in *.
assert (M2 := low_one (ct + sk) ltac:(lra)). assert (M3 := low_prod radius radius _ _ _ _ 2 M2 ltac:(lra) ltac:(lra)).
assert (M4 := low_prod f f _ _ _ _ 3 M3 ltac:(lra) ltac:(lra)). rewrite (Rmult_comm f (rnd64 _)) in M4.
assert (N1 := low_one (keys * pow2 (-95)) ltac:(apply Rmult_le_pos; lra)). assert (N2 := low_prod T T _ _ _ _ 2 N1 ltac:(lra) ltac:(lra)). rewrite (Rmult_comm T (rnd64 _)) in N2.
assert (N3 := low_prod fc fc _ _ _ _ 3 N2 ltac:(lra) ltac:(lra)). rewrite (Rmult_comm fc (rnd64 _)) in N3.
assert (N4 := low_prod fc fc _ _ _ _ 1 (low_given tiny tiny ltac:(lra)) ltac:(lra) ltac:(lra)). rewrite (Rmult_comm fc tiny) in N4.
assert (P1000 : 0 <= pow2 (-1000) <= 1) by (split; [apply bpow_ge_0|apply (bpow_le radix2 (-1000) 0); lia]).
assert (N5 := low_one (keys + 2) ltac:(lra)). assert (N6 := low_prod (pow2 (-1000)) 1 _ _ _ _ 2 N5 P1000 ltac:(lra)). rewrite (Rmult_comm (pow2 (-1000)) (rnd64 _)) in N6.
assert (S1 := low_sum _ _ _ _ _ _ _ _ 4 M1 M4 ltac:(lra) ltac:(lra)). assert (S2 := low_sum _ _ _ _ _ _ _ _ 5 S1 N3 ltac:(lra) ltac:(lra)).
assert (S3 := low_sum _ _ _ _ _ _ _ _ 6 S2 N4 ltac:(lra) ltac:(lra)). assert (S4 := low_end _ _ _ _ (low_sum _ _ _ _ _ _ _ _ 7 S3 N6 ltac:(lra) ltac:(lra))).
change (rnd64 (radius * rnd64 (ct + sk)) * f) with (rnd64 (radius * rnd64 (ct + sk)) * rnd64 (1 + kq)) in S4. match type of S4 with ?lhs <= _ => change (lhs <= off_c) in S4 end.
clear M1 M2 M3 M4 N1 N2 N3 N4 N5 N6 S1 S2 S3.
set (q0 := kq * sum_c) in *. assert (Pq0 : 0 <= q0) by (apply Rmult_le_pos; lra).
assert (Z1 : (ct + sk) * (1 + k) * radius <= f * (radius * (ct + sk))).
{ replace ((ct + sk) * (1 + k) * radius) with ((1 + k) * (radius * (ct + sk))) by ring. apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]. }
assert (Pcr : 0 <= f * (radius * (ct + sk))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
set (X := keys * pow2 (-95) * T) in *. assert (Z2 : X * (99/100 * far) <= X * fc) by (apply Rmult_le_compat_l; lra).
assert (Z3 : tiny * (99/100 * far) <= tiny * fc) by (apply Rmult_le_compat_l; lra).
assert (Pxf : 0 <= X * fc) by (apply Rmult_le_pos; lra). assert (Ptfc : 0 <= tiny * fc) by (apply Rmult_le_pos; lra).
(* underflow *)
assert (Y2 : eta <= / 1024 * tiny) by lra.
assert (Y3 : eta * fc <= / 1024 * tiny * fc) by (apply Rmult_le_compat_r; lra).
assert (Y4 : eta * T <= / 1000 * X).
{ unfold X. replace (/ 1000 * (keys * pow2 (-95) * T)) with (/ 1000 * (keys * pow2 (-95)) * T) by ring. apply Rmult_le_compat_r; [exact PT|].
  apply Rle_trans with (/ 1000 * (1 * pow2 (-95))); [|apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_r; lra]].
  rewrite Rmult_1_l. apply Rle_trans with (pow2 (-10 + -95)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (Y5 : eta * T * fc <= / 1000 * X * fc) by (apply Rmult_le_compat_r; lra).
assert (Frad : radius <= 101/99 * fc) by (unfold far in FC; pose proof Pfar; unfold far in *; lra).
assert (Y6 : eta * radius * f <= eta * (101/99 * fc) * 2) by (apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|apply Rmult_le_compat_l; lra]).
assert (Y7 : eta * f <= eta * 2) by (apply Rmult_le_compat_l; lra).
assert (OFF : q0 + rest + 50 * eta <= off_c * (1 + pow2 (-21))).
{ replace (T * (keys * pow2 (-95))) with X in S4 by (unfold X; ring). change (pow2 (-46)) with (/ 70368744177664) in S4. change (pow2 (-21)) with (/ 2097152).
  replace (fc * X) with (X * fc) in S4 by ring. replace (fc * tiny) with (tiny * fc) in S4 by ring.
  replace ((eta * T + eta) * fc) with (eta * T * fc + eta * fc) in S4 by ring. replace ((eta * radius + eta) * f) with (eta * radius * f + eta * f) in S4 by ring.
  replace (pow2 (-1000) * (keys + 2)) with ((keys + 2) * pow2 (-1000)) in S4 by ring.
  fold X in Z2, Pks, Pkf, Y4. unfold rest. fold X. set (w1 := f * (radius * (ct + sk))) in *. set (w2 := X * fc) in *. set (w3 := tiny * fc) in *. set (w4 := (keys + 2) * pow2 (-1000)) in *.
  assert (W4 : 2 * pow2 (-1001) <= w4). { unfold w4. assert (0 <= 2 * pow2 (-1000)) by lra. lra. }
  set (w5 := (ct + sk) * (1 + k) * radius) in *. set (w6 := eta * T * fc) in *. set (w7 := eta * fc) in *. set (w8 := eta * radius * f) in *.
  replace (X * far) with (X * far) by ring. set (w9 := X * far) in *. set (w10 := tiny * far) in *.
  assert (Z2' : 99/100 * w9 <= w2) by (unfold w9; lra). assert (Z3' : 99/100 * w10 <= w3) by (unfold w10; lra).
  assert (Y3' : w7 <= / 1024 * w3) by (unfold w3; lra). assert (Y5' : w6 <= / 1000 * w2) by (unfold w2; lra).
  assert (P7 : 0 <= eta * fc) by (apply Rmult_le_pos; lra).
  assert (Y6' : w8 <= 5 * w7) by (unfold w7; lra).
  clearbody w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 q0. lra. }
assert (Poff : 0 <= off_c). { change (pow2 (-21)) with (/ 2097152) in OFF. lra. }
assert (O2 : q0 + rest + 50 * eta <= off_c * (1 + pow2 (-20)) * (1 - / 4000000)).
{ change (pow2 (-20)) with (/ 1048576). change (pow2 (-21)) with (/ 2097152) in OFF. lra. }
set (gg := off_c * (1 + pow2 (-20))) in *. assert (Pgg : 0 <= gg) by (unfold gg; apply Rmult_le_pos; [exact Poff|simpl; lra]).
destruct (rounded_pos gg Pgg) as [G1 G2]. set (g' := rnd64 gg) in *.
assert (Ug : u64 * gg <= / 100000000 * gg) by (apply Rmult_le_compat_r; lra).
assert (Ukq : 100 * (u64 * sum_c) <= q0). { unfold q0. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra. }
assert (PS : 0 <= S).
{ unfold S. apply Rplus_le_le_0_compat; [|apply Rmult_le_pos; [exact Psg|apply Rabs_pos]]. rewrite shifted. apply sum_nonneg. intros j Hj.
  destruct (p_off j Hj) as [Pp _]. destruct (sizes j Hj) as [Ht _]. apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [lra|apply Rabs_pos]. }
clearbody q0 rest fc. clear S4.
split.
- unfold lo_c. change (rnd64 (off_c * (1 + pow2 (-20)))) with g'. destruct (Rle_lt_dec (sum_c - g') 0) as [Z|Z].
  + apply Rle_trans with (rnd64 0); [apply round_le; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact Z]|].
    unfold nearest. rewrite round_0 by apply valid_rnd_N. exact PS.
  + destruct (rounded_pos (sum_c - g') ltac:(lra)) as [W1 _].
    assert (u64 * (sum_c - g') <= u64 * sum_c) by (apply Rmult_le_compat_l; lra). lra.
- unfold hi_c. change (rnd64 (off_c * (1 + pow2 (-20)))) with g'. destruct (rounded_pos (sum_c + g') ltac:(lra)) as [W1 _].
  assert (u64 * (sum_c + g') <= u64 * sum_c + / 10000000 * gg + eta).
  { assert (Hg : g' <= 2 * gg + eta) by lra. apply (Rmult_le_compat_l u64) in Hg; [|lra].
    assert (u64 * eta <= / 100 * eta) by (apply Rmult_le_compat_r; lra). lra. } lra.
Qed.
End Row.

(* softmax_sensitivity: tiny, of a query of size qn (to a factor of 2), keys of size kn, the inverse
   temperature ih; what underflows in a size, by double_size *)
Definition tiny_c (d : nat) (qn kn ih : R) : R :=
  rnd64 (rnd64 (rnd64 ((INR d + 2) * pow2 (-1000)) * rnd64 (rnd64 (1 + qn) + kn)) * rnd64 (1 + ih)).

Lemma rounded_large x : pow2 (-1010) <= x -> x * (99/100) <= rnd64 x.
Proof.
intros H. assert (P : 0 < pow2 (-1010)) by apply bpow_gt_0. destruct (rounded_pos x ltac:(lra)) as [R _]. assert (U := u_tiny).
assert (E : eta <= / 1000 * pow2 (-1010)).
{ apply Rle_trans with (pow2 (-10 + -1010)); [apply bpow_le; lia|]. rewrite bpow_plus. apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (u64 * x <= / 1000 * x) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma tiny_is_enough d qn kn ih : 0 <= qn -> 0 <= kn -> 0 <= ih ->
  pow2 40 * (INR (d + 1) * (64 * eta * (1 + ih)) * (1 + 2 * qn + kn)) + pow2 (-1001) <= tiny_c d qn kn ih.
Proof.
intros Hq Hk Hi. pose proof (pos_INR d) as Pd. assert (P : 0 < pow2 (-1000)) by apply bpow_gt_0.
assert (S10 : pow2 (-1010) <= pow2 (-1000)) by (apply bpow_le; lia). assert (S0 : pow2 (-1010) <= / 2) by (apply (bpow_le radix2 (-1010) (-1)); lia).
set (a := (INR d + 2) * pow2 (-1000)). assert (A : 2 * pow2 (-1000) <= a) by (unfold a; apply Rmult_le_compat_r; lra).
assert (A1 := rounded_large a ltac:(lra)).
assert (B0 := rounded_large (1 + qn) ltac:(lra)). assert (B1 := rounded_large (rnd64 (1 + qn) + kn) ltac:(lra)).
set (b := rnd64 (rnd64 (1 + qn) + kn)) in *. assert (B2 : (1 + qn + kn) * (98/100) <= b) by lra.
assert (C1 := rounded_large (1 + ih) ltac:(lra)). set (c := rnd64 (1 + ih)) in *. set (a' := rnd64 a) in *.
assert (Pab : a * (99/100) * ((1 + qn + kn) * (98/100)) <= a' * b) by (apply Rmult_le_compat; lra).
assert (Q1 : a <= a * (1 + qn + kn)) by (rewrite <- (Rmult_1_r a) at 1; apply Rmult_le_compat_l; lra).
assert (D1 := rounded_large (a' * b) ltac:(lra)). set (g := rnd64 (a' * b)) in *.
assert (Pgc : a * (1 + qn + kn) * (95/100) * ((1 + ih) * (99/100)) <= g * c) by (apply Rmult_le_compat; lra).
set (q := a * (1 + qn + kn)) in *. assert (Q2 : q <= q * (1 + ih)) by (rewrite <- (Rmult_1_r q) at 1; apply Rmult_le_compat_l; lra).
assert (E1 := rounded_large (g * c) ltac:(lra)). fold (tiny_c d qn kn ih) in E1.
change (rnd64 (g * c)) with (tiny_c d qn kn ih) in E1.
assert (E01 : pow2 (-1000) = 2 * pow2 (-1001)) by (change 2 with (pow2 1); rewrite <- bpow_plus; reflexivity).
assert (ET : pow2 40 * (64 * eta) <= / 1000 * pow2 (-1000)).
{ change 64 with (pow2 6). rewrite <- !bpow_plus. apply Rle_trans with (pow2 (-10 + -1000)); [apply bpow_le; lia|]. rewrite bpow_plus.
  apply Rmult_le_compat_r; [lra|simpl; lra]. }
assert (M : INR (d + 1) * (1 + ih) * (1 + 2 * qn + kn) * (pow2 40 * (64 * eta)) <=
  INR (d + 1) * (1 + ih) * (1 + 2 * qn + kn) * (/ 1000 * pow2 (-1000))).
{ apply Rmult_le_compat_l; [|exact ET]. repeat apply Rmult_le_pos; try apply pos_INR; lra. }
assert (M2 : INR (d + 1) * (1 + ih) * (1 + 2 * qn + kn) <= (INR d + 2) * (1 + ih) * (2 * (1 + qn + kn))).
{ rewrite plus_INR. simpl (INR 1). apply Rmult_le_compat; [apply Rmult_le_pos; lra|lra|apply Rmult_le_compat_r; lra|lra]. }
apply (Rmult_le_compat_r (/ 1000 * pow2 (-1000))) in M2; [|lra].
replace ((INR d + 2) * (1 + ih) * (2 * (1 + qn + kn)) * (/ 1000 * pow2 (-1000))) with (2 / 1000 * (q * (1 + ih))) in M2 by (unfold q, a; field).
replace (pow2 40 * (INR (d + 1) * (64 * eta * (1 + ih)) * (1 + 2 * qn + kn))) with
  (INR (d + 1) * (1 + ih) * (1 + 2 * qn + kn) * (pow2 40 * (64 * eta))) by ring. lra.
Qed.
