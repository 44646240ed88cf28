(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Step 3 of src/sparse/enclose.c for powers: how far the weight [y]_+^r in double may be from that of an
   argument within h of y, the way power_deviation in src/sparse/line.c evaluates it. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.weight softmax.terms sparse.power sparse.mean.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

Lemma normal_close x : pow2 (-1022) <= Rabs x -> Rabs (rnd64 x - x) <= u64 * Rabs x.
Proof.
intros H. eapply Rle_trans; [apply relative_error_N_FLT; [reflexivity|exact H]|].
apply Rmult_le_compat_r; [apply Rabs_pos|]. simpl. lra.
Qed.

(* bounded_power: p for z^r, with a relative error that p itself bounds. What is below 2^-1010 may be flushed. *)
Definition powered (r z p rel : R) : Prop :=
  format64 p /\ format64 rel /\ 0 <= p /\ (0 <= rel <= 1/2 \/ rel = 1) /\
  (ppow r z <= (1 + rel) * p + pow2 (-1010) /\ (1 - rel) * p <= ppow r z + pow2 (-1010)) /\
  (pow2 (-300) <= z -> (p = 0 \/ pow2 (-1020) <= p) /\ (1 - rel) * p <= ppow r z).

Section Deviation.
Variables (r : R) (p rel : R -> R).
Hypothesis r_pos : 0 < r.
Hypothesis power : forall z, format64 z -> tiny <= z -> powered r z (p z) (rel z).
(* the argument and the weight in double; by how far the argument may move *)
Variables (y w h : R).
Hypothesis y_format : format64 y.
Hypothesis w_format : format64 w.
Hypothesis h_format : format64 h.
Hypothesis none : y <= 0 -> w = 0.

Definition hi_c : R := Rmax (rnd64 (rnd64 (y + h) * (1 + 4 * u64))) tiny.
Definition lo_c : R := rnd64 (rnd64 (y - h) * (1 - 4 * u64)).
Definition up_c : R := rnd64 (rnd64 (p hi_c * rnd64 (1 + rel hi_c)) * (1 + 4 * u64)).
Definition below_c : R := if Rle_dec (rnd64 (y + h)) 0 then 0 else if Rle_dec (pow2 (-300)) lo_c then
  rnd64 (rnd64 (p lo_c * rnd64 (1 - rel lo_c)) * (1 - 4 * u64)) else 0.
Definition off_c : R := if Rle_dec (rnd64 (y + h)) 0 then 0 else
  rnd64 (rnd64 (rnd64 (Rmax up_c w - Rmin below_c w) * slack) + tiny).

Lemma format_0 : format64 0. Proof. apply generic_format_0. Qed.
Lemma format_bpow k : (-1074 <= k)%Z -> format64 (pow2 k).
Proof. intros H. apply generic_format_bpow. unfold FLT_exp. lia. Qed.

Lemma tiny_small : 0 < tiny <= / 1000000 /\ eta <= / 1000000 * u64 * tiny /\ pow2 (-1010) <= / 1000 * tiny.
Proof.
assert (E : forall k, (k <= -20)%Z -> pow2 k <= / 1000000).
{ intros k Hk. apply Rle_trans with (pow2 (-20)); [apply bpow_le, Hk|]. change (pow2 (-20)) with (/ 1048576). lra. }
split; [split; [apply bpow_gt_0|apply E; lia]|]. split.
- apply Rle_trans with (pow2 (-20) * u64 * tiny); [rewrite <- !bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply Rmult_le_compat_r; [apply bpow_ge_0|]. apply E. lia.
- apply Rle_trans with (pow2 (-10) * tiny); [rewrite <- bpow_plus; apply bpow_le; lia|].
  apply Rmult_le_compat_r; [apply bpow_ge_0|]. change (pow2 (-10)) with (/ 1024). lra.
Qed.

Lemma hi_above : 0 < rnd64 (y + h) -> y + h <= hi_c /\ tiny <= hi_c /\ format64 hi_c.
Proof.
intros P. assert (U := u64_size). destruct tiny_small as [T1 [T2 _]]. unfold hi_c. set (s := rnd64 (y + h)) in *.
split; [|split; [apply Rmax_r|]].
- destruct (Rle_lt_dec (y + h) tiny) as [L|L]; [apply Rle_trans with (1 := L), Rmax_r|].
  apply Rle_trans with (2 := Rmax_l _ _).
  assert (C := plus_close y h y_format h_format). fold s in C. rewrite (Rabs_pos_eq (y + h)) in C by lra. apply Rabs_le_inv in C.
  set (t := s * (1 + 4 * u64)). assert (Pt : 0 <= t) by (apply Rmult_le_pos; lra).
  assert (R := rounded t). rewrite (Rabs_pos_eq t) in R by exact Pt. apply Rabs_le_inv in R.
  assert (eta <= u64 * (y + h)).
  { apply Rle_trans with (1 := T2). rewrite Rmult_comm, <- Rmult_assoc. 
    replace (tiny * / 1000000 * u64) with (u64 * (/ 1000000 * tiny)) by ring. apply Rmult_le_compat_l; lra. }
  set (z := y + h) in *.
  assert (Q1 : u64 * z <= / 1000000000 * z) by (apply Rmult_le_compat_r; lra).
  assert (Q0 : 0 <= u64 * z) by (apply Rmult_le_pos; lra).
  assert (Q2 : u64 * (u64 * z) <= / 1000000000 * (u64 * z)) by (apply Rmult_le_compat_r; lra).
  assert (Q3 : (z - u64 * z) * (1 + 4 * u64) <= t) by (apply Rmult_le_compat_r; lra).
  assert (Q4 : t * u64 <= 2 * z * u64).
  { apply Rmult_le_compat_r; [lra|]. unfold t. assert (s <= z * (3/2)) by lra.
    assert (s * (1 + 4 * u64) <= z * (3/2) * (1 + 4 * u64)) by (apply Rmult_le_compat_r; lra).
    assert (z * (3/2) * (1 + 4 * u64) <= z * (3/2) * (4/3)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (0 <= u64 * (u64 * z)) by (apply Rmult_le_pos; lra).
  (* (1 - u)(1 + 4 u) - 2 u - u > 1 - u: count t u again, now that t is near z *)
  assert (Q5 : t <= z * (1 + 6 * u64)).
  { unfold t. assert (s * (1 + 4 * u64) <= (z + u64 * z) * (1 + 4 * u64)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (Q6 : u64 * t <= u64 * (z * (1 + 6 * u64))) by (apply Rmult_le_compat_l; lra).
  lra.
- unfold Rmax. destruct Rle_dec; [apply format_bpow; lia|apply rnd_format].
Qed.

Lemma lo_below : pow2 (-300) <= lo_c -> lo_c <= y - h.
Proof.
unfold lo_c. intros L. assert (U := u64_size). set (s := rnd64 (y - h)) in *.
assert (Z : pow2 (-1022) <= pow2 (-302) /\ pow2 (-300) = 4 * pow2 (-302)).
{ split; [apply bpow_le; lia|change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity]. }
assert (B := bpow_gt_0 radix2 (-302)). 
assert (Ps : 0 < s).
{ apply Rnot_le_lt. intros C. assert (s * (1 - 4 * u64) <= 0) by (assert (0 <= - s * (1 - 4 * u64)) by (apply Rmult_le_pos; lra); lra).
  assert (rnd64 (s * (1 - 4 * u64)) <= 0); [|lra]. apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_0|assumption]. }
assert (Pz : 0 < y - h).
{ apply Rnot_le_lt. intros C. assert (s <= 0); [|lra]. apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_0|exact C]. }
assert (C := minus_close y h y_format h_format). fold s in C. set (z := y - h) in *. rewrite (Rabs_pos_eq z) in C by lra. apply Rabs_le_inv in C.
set (t := s * (1 - 4 * u64)) in *. assert (Pt : 0 <= t) by (apply Rmult_le_pos; lra).
assert (T : pow2 (-302) <= t).
{ assert (R := rounded t). rewrite (Rabs_pos_eq t) in R by exact Pt. apply Rabs_le_inv in R.
  assert (eta <= pow2 (-302)) by (apply bpow_le; lia). assert (u64 * t <= / 1000000000 * t) by (apply Rmult_le_compat_r; lra). lra. }
assert (R := normal_close t). rewrite (Rabs_pos_eq t) in R by exact Pt. specialize (R ltac:(lra)). apply Rabs_le_inv in R.
assert (Q0 : 0 <= u64 * z) by (apply Rmult_le_pos; lra).
assert (Q2 : u64 * (u64 * z) <= / 1000000000 * (u64 * z)) by (apply Rmult_le_compat_r; lra).
assert (Q3 : t <= (z + u64 * z) * (1 - 4 * u64)) by (apply Rmult_le_compat_r; lra).
assert (0 <= u64 * (u64 * z)) by (apply Rmult_le_pos; lra).
assert (Q4 : u64 * t <= u64 * z) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma up_enough : 0 < rnd64 (y + h) -> ppow r (y + h) - / 500 * tiny <= up_c /\ 0 <= up_c.
Proof.
intros P. destruct (hi_above P) as [H1 [H2 H3]]. assert (U := u64_size). destruct tiny_small as [T1 [T2 T3]].
destruct (power hi_c H3 H2) as [Fp [Fr [P0 [Pr [[Q _] _]]]]]. unfold up_c. set (q := p hi_c) in *. set (e := rel hi_c) in *.
assert (M := ppow_le r (y + h) hi_c r_pos H1). apply (Rle_trans _ _ _ M) in Q. clear M.
assert (E0 : 0 <= e <= 1) by lra.
assert (Ut : u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra).
assert (Et : eta <= / 1000000000000000 * tiny) by lra.
assert (Pe : 0 <= 1 + e) by lra.
assert (R1 := rounded (1 + e)). rewrite (Rabs_pos_eq _ Pe) in R1. apply Rabs_le_inv in R1.
assert (Eu : eta <= / 1000 * u64).
{ apply Rle_trans with (1 := T2). assert (u64 * tiny <= u64 * 1) by (apply Rmult_le_compat_l; lra). lra. }
assert (Pue : 0 <= u64 * e) by (apply Rmult_le_pos; lra).
assert (C1 : (1 + e) * (1 - 11/10 * u64) <= rnd64 (1 + e)) by lra.
set (c := rnd64 (1 + e)) in *.
assert (A1 : q * ((1 + e) * (1 - 11/10 * u64)) <= q * c) by (apply Rmult_le_compat_l; lra).
assert (Pqc : 0 <= q * c) by (apply Rmult_le_pos; [lra|apply rnd_pos, Pe]).
assert (R2 := rounded (q * c)). rewrite (Rabs_pos_eq _ Pqc) in R2. apply Rabs_le_inv in R2. set (d := rnd64 (q * c)) in *.
assert (Pd : 0 <= d) by (apply rnd_pos, Pqc).
assert (Pd4 : 0 <= d * (1 + 4 * u64)) by (apply Rmult_le_pos; lra).
assert (R3 := rounded (d * (1 + 4 * u64))). rewrite (Rabs_pos_eq _ Pd4) in R3. apply Rabs_le_inv in R3.
split; [|apply rnd_pos, Pd4].
set (m := (1 + e) * q) in *. assert (Pm : 0 <= m) by (apply Rmult_le_pos; lra).
assert (D1 : m * ((1 - 11/10 * u64) * (1 - u64)) - eta <= d).
{ replace (m * ((1 - 11/10 * u64) * (1 - u64))) with (q * ((1 + e) * (1 - 11/10 * u64)) * (1 - u64)) by (unfold m; ring).
  assert (q * ((1 + e) * (1 - 11/10 * u64)) * (1 - u64) <= q * c * (1 - u64)) by (apply Rmult_le_compat_r; lra). lra. }
assert (D2 : (m * ((1 - 11/10 * u64) * (1 - u64)) - eta) * ((1 + 4 * u64) * (1 - u64)) <= d * ((1 + 4 * u64) * (1 - u64))).
{ apply Rmult_le_compat_r; [|exact D1]. apply Rmult_le_pos; lra. }
assert (K : 1 <= (1 - 11/10 * u64) * (1 - u64) * ((1 + 4 * u64) * (1 - u64))).
{ assert (0 <= u64 * u64) by (apply Rmult_le_pos; lra). assert (u64 * u64 <= / 1000000000 * u64) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * (u64 * u64)) by (apply Rmult_le_pos; lra). assert (u64 * (u64 * u64) <= 1 * (u64 * u64)) by (apply Rmult_le_compat_r; lra).
  assert (0 <= u64 * (u64 * (u64 * u64))) by (apply Rmult_le_pos; lra). assert (u64 * (u64 * (u64 * u64)) <= 1 * (u64 * (u64 * u64))) by (apply Rmult_le_compat_r; lra). lra. }
apply (Rmult_le_compat_l m) in K; [|exact Pm].
assert (K2 : eta * ((1 + 4 * u64) * (1 - u64)) <= eta * 2).
{ apply Rmult_le_compat_l; [apply bpow_ge_0|]. assert (0 <= u64 * u64) by (apply Rmult_le_pos; lra). lra. }
lra.
Qed.

Lemma below_enough Y : Rabs (Y - y) <= h -> 0 <= below_c <= ppow r Y /\ (below_c = 0 \/ pow2 (-1022) <= below_c).
Proof.
intros H. pose proof (ppow_nonneg r Y) as P. unfold below_c.
destruct (Rle_dec (rnd64 (y + h)) 0) as [|N]; [split; [lra|left; reflexivity]|].
destruct (Rle_dec (pow2 (-300)) lo_c) as [L|]; [|split; [lra|left; reflexivity]].
assert (B := lo_below L). assert (U := u64_size).
assert (T : tiny <= lo_c) by (apply Rle_trans with (2 := L), bpow_le; lia).
destruct (power lo_c (rnd_format _) T) as [Fp [Fr [_ [Pr [_ Q]]]]]. destruct (Q L) as [Pp Q']. clear Q. rename Q' into Q. set (q := p lo_c) in *. set (e := rel lo_c) in *.
assert (M : ppow r lo_c <= ppow r Y) by (apply ppow_le; [exact r_pos|apply Rabs_le_inv in H; lra]).
assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
assert (C := minus_close 1 e F1 Fr).
destruct Pp as [Zp|Lp].
{ rewrite Zp. rewrite Rmult_0_l. unfold nearest. rewrite round_0 by apply valid_rnd_N. rewrite Rmult_0_l, round_0 by apply valid_rnd_N. split; [lra|left; reflexivity]. }
assert (P0 : 0 < q) by (apply Rlt_le_trans with (2 := Lp), bpow_gt_0).
destruct Pr as [[E0 E1]|E1].
2: { rewrite E1. replace (1 - 1) with 0 by ring. unfold nearest. rewrite round_0 by apply valid_rnd_N.
  rewrite Rmult_0_r, round_0, Rmult_0_l, round_0 by apply valid_rnd_N. split; [lra|left; reflexivity]. }
rewrite (Rabs_pos_eq (1 - e)) in C by lra. apply Rabs_le_inv in C. set (c := rnd64 (1 - e)) in *.
assert (Ue : u64 * (1 - e) <= / 1000000000 * (1 - e)) by (apply Rmult_le_compat_r; lra).
assert (C1 : 49/100 <= c <= (1 - e) * (1 + u64)) by lra.
set (m := (1 - e) * q) in *. assert (Pm : 0 <= m) by (apply Rmult_le_pos; lra).
assert (A1 : q * c <= m * (1 + u64)).
{ apply Rle_trans with (q * ((1 - e) * (1 + u64))); [apply Rmult_le_compat_l; lra|right; unfold m; ring]. }
assert (E20 : pow2 (-1020) = 4 * pow2 (-1022)) by (change 4 with (pow2 2); rewrite <- bpow_plus; reflexivity).
assert (P22 := bpow_gt_0 radix2 (-1022)).
assert (A0 : 3/2 * pow2 (-1022) <= q * c).
{ assert (q * (49/100) <= q * c) by (apply Rmult_le_compat_l; lra). lra. }
assert (R1 := normal_close (q * c)). rewrite (Rabs_pos_eq (q * c)) in R1 by lra. specialize (R1 ltac:(lra)). apply Rabs_le_inv in R1.
set (d := rnd64 (q * c)) in *.
assert (V : u64 * (q * c) <= / 1000000000 * (q * c)) by (apply Rmult_le_compat_r; lra).
assert (D0 : 5/4 * pow2 (-1022) <= d) by lra.
assert (D4 : d * (1 - 4 * u64) >= d * (9/10)) by (apply Rle_ge, Rmult_le_compat_l; lra).
set (t := d * (1 - 4 * u64)) in *.
assert (R2 := normal_close t). rewrite (Rabs_pos_eq t) in R2 by lra. specialize (R2 ltac:(lra)). apply Rabs_le_inv in R2.
assert (V2 : u64 * t <= / 1000000000 * t) by (apply Rmult_le_compat_r; lra).
split; [|right; apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_bpow; lia|lra]].
split; [lra|]. apply Rle_trans with (2 := M). apply Rle_trans with (2 := Q). fold m.
assert (X1 : d <= m * ((1 + u64) * (1 + u64))).
{ apply Rle_trans with (q * c * (1 + u64)); [lra|]. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra. }
assert (X2 : rnd64 t <= d * ((1 - 4 * u64) * (1 + u64))) by (unfold t in *; lra).
apply Rle_trans with (1 := X2).
apply Rle_trans with (m * ((1 + u64) * (1 + u64)) * ((1 - 4 * u64) * (1 + u64))).
{ apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact X1]. }
rewrite Rmult_assoc. rewrite <- (Rmult_1_r m) at 2. apply Rmult_le_compat_l; [exact Pm|].
assert (0 <= u64 * u64) by (apply Rmult_le_pos; lra). assert (0 <= u64 * (u64 * u64)) by (apply Rmult_le_pos; lra).
assert (0 <= u64 * (u64 * (u64 * u64))) by (apply Rmult_le_pos; lra). lra.
Qed.

(** theorem: power_deviation — a weight [y]_+^r of the double tier of the sparse kernels is within off of that of any argument within h of y, and no such weight is below what power_deviation returns, with its own roundings. used by: src/sparse/line.c *)
Theorem power_deviation Y : Rabs (Y - y) <= h ->
  Rabs (ppow r Y - w) <= off_c /\ below_c <= ppow r Y /\ (off_c = 0 \/ pow2 (-1001) <= off_c) /\ format64 off_c.
Proof.
intros H. assert (B := proj1 (below_enough Y H)). assert (U := u64_size). destruct tiny_small as [T1 [T2 T3]].
assert (Up := up_enough). split; [|split; [apply B|]].
- unfold off_c. destruct (Rle_dec (rnd64 (y + h)) 0) as [L|N].
  + assert (S : y + h <= 0).
    { apply Rnot_lt_le. intros C. assert (Q := plus_close y h y_format h_format). rewrite (Rabs_pos_eq (y + h)) in Q by lra.
      apply Rabs_le_inv in Q. assert (u64 * (y + h) <= / 1000000000 * (y + h)) by (apply Rmult_le_compat_r; lra). lra. }
    apply Rabs_le_inv in H. rewrite ppow_zero, none by lra. rewrite Rminus_0_r, Rabs_R0. lra.
  + destruct (Up ltac:(lra)) as [U1 U2].
    assert (M : ppow r Y <= ppow r (y + h)) by (apply ppow_le; [exact r_pos|apply Rabs_le_inv in H; lra]).
    set (b := below_c) in *. set (t := up_c) in *.
    assert (Ml := Rmax_l t w). assert (Mr := Rmax_r t w). assert (Nl := Rmin_l b w). assert (Nr := Rmin_r b w).
    assert (Fb : format64 b).
    { unfold b, below_c. destruct Rle_dec; [apply format_0|]. destruct Rle_dec; [apply rnd_format|apply format_0]. }
    assert (F1 : format64 (Rmax t w)) by (unfold Rmax; destruct Rle_dec; [exact w_format|apply rnd_format]).
    assert (F2 : format64 (Rmin b w)) by (unfold Rmin; destruct Rle_dec; [exact Fb|exact w_format]).
    set (top := Rmax t w) in *. set (bot := Rmin b w) in *.
    assert (Pd : 0 <= top - bot) by lra.
    assert (C := minus_close top bot F1 F2). rewrite (Rabs_pos_eq _ Pd) in C. apply Rabs_le_inv in C.
    set (D := top - bot) in *. set (d := rnd64 D) in *.
    assert (UD : u64 * D <= / 1000000000 * D) by (apply Rmult_le_compat_r; lra).
    change (pow2 (-20)) with (/ 1048576).
    assert (Pm : 0 <= d * (1 + / 1048576)) by (apply Rmult_le_pos; lra).
    assert (R1 := rounded (d * (1 + / 1048576))). rewrite (Rabs_pos_eq _ Pm) in R1. apply Rabs_le_inv in R1.
    assert (UM : u64 * (d * (1 + / 1048576)) <= / 1000000000 * (d * (1 + / 1048576))) by (apply Rmult_le_compat_r; lra).
    assert (Ut : u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra).
    set (f := rnd64 (d * (1 + / 1048576))) in *.
    assert (Pf : 0 <= f) by (apply rnd_pos, Pm).
    assert (R2 := rounded (f + tiny)). rewrite (Rabs_pos_eq (f + tiny)) in R2 by lra. apply Rabs_le_inv in R2.
    assert (UF : u64 * (f + tiny) <= / 1000000000 * (f + tiny)) by (apply Rmult_le_compat_r; lra).
    assert (ED : D = top - bot) by reflexivity. apply Rabs_le. lra.
- unfold off_c. destruct (Rle_dec (rnd64 (y + h)) 0) as [L|N]; [split; [left; reflexivity|apply format_0]|].
  split; [right|apply rnd_format].
  match goal with |- _ <= rnd64 (?g + _) => set (f := g) end.
  assert (Pf : 0 <= f).
  { unfold f. apply rnd_pos, Rmult_le_pos; [apply rnd_pos|change (pow2 (-20)) with (/ 1048576); lra].
    pose proof (Rmax_l up_c w). pose proof (Rmin_l below_c w). pose proof (Rmax_r up_c w). pose proof (Rmin_r below_c w).  lra. }
  apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply format_bpow; lia|].
  apply Rle_trans with tiny; [apply bpow_le; lia|lra].
Qed.
End Deviation.
