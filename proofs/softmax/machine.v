(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* A row of a declared machine model, src/softmax/bound.c: from the scores as the machine computes them
   to its output, whatever trees it sums by, and to its log-sum-exp. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List Permutation.
From Flocq Require Import Core Relative Plus_error.
From Attest Require Import problem.row softmax.online enclosure.summation softmax.bound softmax.machine_score
  softmax.machine_weight.
Import ListNotations.
Open Scope R_scope.

(* A difference of two numbers of a format rounds once, also in the subnormals: the step of
   machine_weight.v. *)
Lemma difference_error emin prec a b : (0 < prec)%Z ->
  generic_format radix2 (FLT_exp emin prec) a -> generic_format radix2 (FLT_exp emin prec) b ->
  Rabs (nearest emin prec (a - b) - (a - b)) <= roundoff prec * Rabs (a - b).
Proof.
intros Hp Fa Fb. assert (P : Prec_gt_0 prec) by exact Hp.
destruct (FLT_plus_error_N_ex radix2 emin prec (fun x => negb (Z.even x)) a (- b) Fa (generic_format_opp _ _ _ Fb))
  as [e [He E]].
unfold nearest. change (a - b) with (a + - b).
change ZnearestE with (Znearest (fun x => negb (Z.even x))). rewrite E.
replace ((a + - b) * (1 + e) - (a + - b)) with (e * (a + - b)) by ring. rewrite Rabs_mult.
apply Rmult_le_compat_r; [apply Rabs_pos|]. eapply Rle_trans; [exact He|].
unfold u_ro, roundoff.
assert (B : / 2 * bpow radix2 (- prec + 1) = bpow radix2 (- prec)).
{ rewrite bpow_plus. simpl. lra. }
rewrite B. pose proof (bpow_gt_0 radix2 (- prec)) as Q.
apply (Rmult_le_reg_r (1 + bpow radix2 (- prec))); [lra|].
unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
assert (0 <= bpow radix2 (- prec) * bpow radix2 (- prec)) by (apply Rmult_le_pos; lra). lra.
Qed.

(* ---- sums ---- *)
Section Sums.
(* rnd rounds to accumulate; weights are rounded to a format of their own (uW, etaW; 0 where that is
   the one of products), values to accumulate (uv, eta; 0 where they have no more digits) *)
Variables (rnd : R -> R) (u uW uv eta etaW : R).
Hypothesis u_pos : 0 <= u.
Hypothesis uW_pos : 0 <= uW.
Hypothesis uv_pos : 0 <= uv.
Hypothesis eta_pos : 0 <= eta.
Hypothesis etaW_range : 0 <= etaW <= 1.
Hypothesis rnd_error : forall x, Rabs (rnd x - x) <= u * Rabs x + eta.
Variables (n : nat) (b b' v v' : nat -> R) (V eO : R) (t : tree).
Hypothesis b_range : forall j, (j < n)%nat -> 0 <= b j <= 1.
Hypothesis b_in : forall j, (j < n)%nat -> Rabs (b' j - b j) <= uW * Rabs (b j) + etaW.
Hypothesis v_in : forall j, (j < n)%nat -> Rabs (v' j - v j) <= uv * Rabs (v j) + eta.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.
Hypothesis summed : sums_up t n b' v'.
(* a product and an addition a key, an addition and a scaling a block *)
Hypothesis operations : (ops t <= 6 * n)%nat.
Hypothesis grown_is : (1 + uW) * (1 + uv) * ((1 + u) * (1 + u) ^ depth t) <= 1 + eO.

Lemma sum_off : Rabs (fl rnd rnd t - sum n (fun j => b j * v j)) <=
  eO * sum n (fun j => b j * Rabs (v j)) + (1 + eO) * (INR n * (etaW * V + 8 * eta)).
Proof.
set (G := (1 + u) * (1 + u) ^ depth t) in *.
assert (PG : 1 <= G).
{ unfold G. assert (1 <= (1 + u) ^ depth t) by (apply pow_R1_Rle; lra).
  replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; lra. }
set (r := (1 + uW) * (1 + uv)) in *.
assert (Pr : 1 <= r) by (unfold r; replace 1 with (1 * 1) at 1 by ring; apply Rmult_le_compat; lra).
set (e := fun _ : nat => (1 + uW) * eta + (1 + uv) * V * etaW + etaW * eta).
assert (T : forall j, (j < n)%nat -> approx (b' j * v' j) (b j * v j) (b j * Rabs (v j)) r (e j)).
{ intros j Hj. pose proof (b_range j Hj) as Bj.
  pose proof (approx_off _ _ _ _ uW_pos (proj1 etaW_range) (b_in j Hj)) as Hb.
  pose proof (approx_off _ _ _ _ uv_pos eta_pos (v_in j Hj)) as Hv.
  pose proof (approx_mult _ _ _ _ _ _ _ _ _ _ Hb Hv) as Hm.
  rewrite (Rabs_pos_eq (b j)) in Hm by lra. eapply approx_more; [exact Hm|right; reflexivity|].
  unfold e. pose proof (values j Hj).
  assert ((1 + uW) * b j * eta <= (1 + uW) * 1 * eta) by (apply Rmult_le_compat_r; [exact eta_pos|apply Rmult_le_compat_l; lra]).
  assert ((1 + uv) * Rabs (v j) * etaW <= (1 + uv) * V * etaW) by (apply Rmult_le_compat_r; [lra|apply Rmult_le_compat_l; lra]).
  lra. }
pose proof (summation_tree rnd rnd u u eta u_pos u_pos eta_pos rnd_error rnd_error t n b' v' summed) as S.
fold G in S.
assert (S' : Rabs (fl rnd rnd t - sum n (fun j => b' j * v' j)) <=
  (G - 1) * sum n (fun j => Rabs (b' j * v' j)) + INR (ops t) * eta * G).
{ rewrite (sum_ext n (fun j => Rabs (b' j * v' j)) (fun j => Rabs (b' j) * Rabs (v' j))); [exact S|].
  intros; apply Rabs_mult. }
assert (PE : 0 <= INR (ops t) * eta * G) by (apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|exact eta_pos]|lra]).
destruct (approx_sum n _ _ _ _ r G _ _ Pr PG PE T S') as [_ [_ [_ B]]].
eapply Rle_trans; [exact B|]. clear B S S'.
assert (PA : 0 <= sum n (fun j => b j * Rabs (v j))).
{ apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [apply b_range, Hj|apply Rabs_pos]. }
apply Rplus_le_compat; [apply Rmult_le_compat_r; lra|].
unfold e. rewrite sum_const.
assert (PN := pos_INR n). assert (GO : G <= 1 + eO).
{ assert (1 * G <= r * G) by (apply Rmult_le_compat_r; lra). lra. }
assert (Ops : INR (ops t) <= 6 * INR n).
{ apply le_INR in operations. rewrite mult_INR in operations. simpl in operations. lra. }
destruct (Nat.eq_dec n 0) as [Z|NZ].
{ assert (INR n = 0) by (rewrite Z; reflexivity). assert (INR (ops t) = 0) by (pose proof (pos_INR (ops t)); lra).
  rewrite H, H0. lra. }
assert (PV : 0 <= V) by (eapply Rle_trans; [apply (Rabs_pos (v 0%nat))|apply values; lia]).
assert (W1 : G * (1 + uW) <= 1 + eO).
{ assert (G * (1 + uW) * 1 <= G * (1 + uW) * (1 + uv)) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  unfold r in grown_is. lra. }
assert (W2 : G * (1 + uv) <= 1 + eO).
{ assert (G * (1 + uv) * 1 <= G * (1 + uv) * (1 + uW)) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
  unfold r in grown_is. lra. }
set (N := INR n) in *.
assert (X1 : G * (1 + uW) * (N * eta) <= (1 + eO) * (N * eta)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact W1]).
assert (X2 : G * (1 + uv) * (N * (V * etaW)) <= (1 + eO) * (N * (V * etaW))).
{ apply Rmult_le_compat_r; [apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]|exact W2]. }
assert (X3 : G * (etaW * (N * eta)) <= (1 + eO) * (1 * (N * eta))).
{ assert (0 <= N * eta) by (apply Rmult_le_pos; lra).
  apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|apply Rmult_le_compat_r; lra]. }
assert (X4 : INR (ops t) * eta * G <= (1 + eO) * (6 * (N * eta))).
{ rewrite Rmult_comm. apply Rmult_le_compat; try lra; [apply Rmult_le_pos; [apply pos_INR|exact eta_pos]|].
  apply (Rmult_le_compat_r eta) in Ops; [|exact eta_pos]. lra. }
lra.
Qed.
End Sums.

Lemma ln2_above : 2 / 3 <= ln 2.
Proof.
assert (Sq : forall x B C, exp x <= B -> B * B <= C -> exp (2 * x) <= C).
{ intros x B C H HC. replace (2 * x) with (x + x) by ring. rewrite exp_plus. eapply Rle_trans; [|exact HC].
  pose proof (exp_pos x). apply Rmult_le_compat; lra. }
assert (E : exp (/ 24) <= 24 / 23).
{ pose proof (exp_above (- / 24)) as A. rewrite exp_Ropp in A. pose proof (exp_pos (/ 24)) as P.
  apply (Rmult_le_compat_l (exp (/ 24))) in A; [|lra]. rewrite Rinv_r in A by lra. lra. }
apply (Sq _ _ (10889 / 10000)) in E; [|lra]. apply (Sq _ _ (11858 / 10000)) in E; [|lra].
apply (Sq _ _ (14062 / 10000)) in E; [|lra]. apply (Sq _ _ 2) in E; [|lra].
replace (2 * (2 * (2 * (2 * / 24)))) with (2 / 3) in E by field.
apply Rnot_lt_le. intros L. apply exp_increasing in L. rewrite exp_ln in L by lra. lra.
Qed.

(* ---- the row ---- *)
Lemma scaled_p n c (w : nat -> R) j : 0 < c -> c * w j / sum n (fun i => c * w i) = w j / sum n w.
Proof.
intros Hc. rewrite sum_scal. destruct (Req_dec (sum n w) 0) as [Z|N].
- rewrite Z, Rmult_0_r. unfold Rdiv. rewrite Rinv_0. ring.
- field. lra.
Qed.

(* What bound.c sums does not depend on a factor of all weights. *)
Lemma scaled_row n c (w delta v : nat -> R) : 0 < c -> sum n w <> 0 ->
  least n (fun j => c * w j) delta = least n w delta /\
  spread n (fun j => c * w j) delta v = spread n w delta v /\
  total n (fun j => c * w j) delta v = total n w delta v /\
  mean n (fun j => c * w j) v = mean n w v.
Proof.
intros Hc Hw. assert (M : mean n (fun j => c * w j) v = mean n w v) by (apply mean_scal; lra).
assert (L : least n (fun j => c * w j) delta = least n w delta).
{ unfold least. apply sum_ext. intros j _. cbv beta. rewrite (scaled_p n c w j Hc). reflexivity. }
split; [exact L|]. split; [|split; [|exact M]].
- unfold spread. rewrite L, M. f_equal. apply sum_ext. intros j _. cbv beta. rewrite (scaled_p n c w j Hc). reflexivity.
- unfold total. apply sum_ext. intros j _. cbv beta. rewrite (scaled_p n c w j Hc). reflexivity.
Qed.

Section Row.
(* formats: u, eu, low of products (machine_weight.v), uA, etaA of accumulate, uW, etaW of weights *)
Variables (eu low : R).
Hypothesis eu_range : 0 <= eu < 1.
Hypothesis low_range : 0 <= low < 1.
(* keys, the sink among them with value 0; s: exact scores, M their largest, mh: the final shift; ways:
   what machine_weight.v says of each key *)
Variables (n : nat) (s v delta : nat -> R) (M mh V : R) (ways : nat -> list (R * R * R)).
Hypothesis keys : (0 < n)%nat.
Hypothesis delta_pos : forall j, (j < n)%nat -> 0 <= delta j.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.
Let b j := weight (ways j).
Hypothesis weights : forall j, (j < n)%nat -> 0 <= b j <= 1 /\ exists a f, 0 <= a <= 1 /\
  Rabs (b j - a) <= Rmax low 0 /\ a = exp (M - mh) * exp (s j - M) * f /\ exp (- delta j) <= f <= exp (delta j).
(* the key that sets the shift: its argument is 0, no move follows *)
Variables (top : nat) (x_top : R).
Hypothesis top_key : (top < n)%nat.
Hypothesis top_way : ways top = [(0, 0, x_top)].
Hypothesis top_exp : is_exp eu low 0 x_top.
Let beta := 1 - eu.
Let w j := exp (s j - M).

Lemma top_weight : beta <= b top /\ beta <= 1.
Proof.
unfold b. rewrite top_way. simpl. rewrite Rmult_1_r. destruct top_exp as [H [H2|[H2 _]]]; rewrite exp_0 in H2; [|lra].
unfold beta. unfold Rabs in H2. destruct Rcase_abs in H2; lra.
Qed.

(* sums by trees, in accumulate *)
Variables (rnd : R -> R) (uA uW uv etaA etaW eO eW : R) (b1 b2 v' : nat -> R) (tO tW : tree).
Hypothesis uA_pos : 0 <= uA.
Hypothesis uW_pos : 0 <= uW.
Hypothesis uv_pos : 0 <= uv.
Hypothesis etaA_pos : 0 <= etaA.
Hypothesis etaW_range : 0 <= etaW <= 1.
Hypothesis rnd_error : forall x, Rabs (rnd x - x) <= uA * Rabs x + etaA.
(* the weights that meet the values, and those that the normaliser sums *)
Hypothesis b1_in : forall j, (j < n)%nat -> Rabs (b1 j - b j) <= uW * Rabs (b j) + etaW.
Hypothesis b2_in : forall j, (j < n)%nat -> Rabs (b2 j - b j) <= uW * Rabs (b j) + etaW.
Hypothesis v_in : forall j, (j < n)%nat -> Rabs (v' j - v j) <= uv * Rabs (v j) + etaA.
Hypothesis numerator : sums_up tO n b1 v'.
Hypothesis normaliser : sums_up tW n b2 (fun _ => 1).
Hypothesis operations : (ops tO <= 6 * n /\ ops tW <= 6 * n)%nat.
Hypothesis eO_is : (1 + uW) * (1 + uv) * ((1 + uA) * (1 + uA) ^ depth tO) <= 1 + eO.
Hypothesis eW_is : (1 + uW) * (1 + 0) * ((1 + uA) * (1 + uA) ^ depth tW) <= 1 + eW.
Let num := fl rnd rnd tO.
Let den := fl rnd rnd tW.

(* as bound.c has them: lost(), under, sum_error *)
Definition lost_to n etaW etaA V := INR n * (etaW * V + 8 * etaA).
Let e := eW + (1 + eW) * lost_to n etaW etaA 1 / beta.
Hypothesis e_small : e < 1.

Lemma large z k : 0 <= z -> 1 <= (1 + z) * (1 + z) ^ k.
Proof.
intros Hz. assert (1 <= (1 + z) ^ k) by (apply pow_R1_Rle; lra).
replace 1 with (1 * 1) at 1 by ring. apply Rmult_le_compat; lra.
Qed.

Lemma e_pos : 0 <= eO /\ 0 <= eW.
Proof.
pose proof (large uA (depth tO) uA_pos) as A. pose proof (large uA (depth tW) uA_pos) as B.
assert (M3 : forall x y z, 1 <= x -> 1 <= y -> 1 <= z -> 1 <= x * y * z).
{ intros x y z Hx Hy Hz. replace 1 with (1 * 1 * 1) by ring. repeat apply Rmult_le_compat; lra. }
pose proof (M3 (1 + uW) (1 + uv) _ ltac:(lra) ltac:(lra) A). pose proof (M3 (1 + uW) (1 + 0) _ ltac:(lra) ltac:(lra) B).
lra.
Qed.

Lemma den_off : Rabs (den - sum n b) <= eW * sum n b + (1 + eW) * lost_to n etaW etaA 1.
Proof.
assert (One : forall j, (j < n)%nat -> Rabs ((fun _ : nat => 1) j - (fun _ : nat => 1) j) <= 0 * Rabs ((fun _ : nat => 1) j) + etaA).
{ intros j _. replace (1 - 1) with 0 by ring. rewrite Rabs_R0. lra. }
assert (Le : forall j, (j < n)%nat -> Rabs ((fun _ : nat => 1) j) <= 1).
{ intros j _. rewrite Rabs_R1. apply Rle_refl. }
pose proof (sum_off rnd uA uW 0 etaA etaW uA_pos uW_pos (Rle_refl 0) etaA_pos etaW_range rnd_error n b b2
  (fun _ => 1) (fun _ => 1) 1 eW tW (fun j Hj => proj1 (weights j Hj)) b2_in One Le normaliser (proj2 operations) eW_is) as H.
fold den in H. cbv beta in H. unfold lost_to.
rewrite (sum_ext n (fun j => b j * 1) b) in H by (intros; ring).
rewrite (sum_ext n (fun j => b j * Rabs 1) b) in H by (intros; rewrite Rabs_R1; ring). exact H.
Qed.

Lemma num_off : Rabs (num - sum n (fun j => b j * v j)) <=
  eO * sum n (fun j => b j * Rabs (v j)) + (1 + eO) * lost_to n etaW etaA V.
Proof.
exact (sum_off rnd uA uW uv etaA etaW uA_pos uW_pos uv_pos etaA_pos etaW_range rnd_error n b b1 v v' V eO tO
  (fun j Hj => proj1 (weights j Hj)) b1_in v_in values numerator (proj1 operations) eO_is).
Qed.

Lemma beta_pos : 0 < beta.
Proof. unfold beta. lra. Qed.

Lemma sum_b : beta <= sum n b.
Proof.
pose proof top_weight as [T _]. eapply Rle_trans; [exact T|].
apply (sum_ge_term n b top); [|exact top_key]. intros i Hi. apply (weights i Hi).
Qed.

(* the weights before underflow *)
Lemma unflushed : exists a : nat -> R, forall j, (j < n)%nat -> 0 <= a j <= 1 /\ Rabs (b j - a j) <= low /\
  exp (M - mh) * w j * exp (- delta j) <= a j <= exp (M - mh) * w j * exp (delta j).
Proof.
assert (H : forall k, (k <= n)%nat -> exists a : nat -> R, forall j, (j < k)%nat -> 0 <= a j <= 1 /\
  Rabs (b j - a j) <= low /\ exp (M - mh) * w j * exp (- delta j) <= a j <= exp (M - mh) * w j * exp (delta j)).
{ induction k as [|k IH]; intros Hk.
  - exists (fun _ => 0). intros j Hj. lia.
  - destruct (IH ltac:(lia)) as [a Ha]. destruct (weights k ltac:(lia)) as [_ [x [f [X1 [X2 [X3 X4]]]]]].
    exists (fun j => if Nat.eq_dec j k then x else a j). intros j Hj. destruct (Nat.eq_dec j k) as [->|N].
    + rewrite Rmax_left in X2 by lra. split; [exact X1|]. split; [exact X2|]. fold (w k) in X3. rewrite X3.
      assert (0 < exp (M - mh) * w k) by (apply Rmult_lt_0_compat; apply exp_pos).
      split; apply Rmult_le_compat_l; lra.
    + apply Ha. lia. }
destruct (H n ltac:(lia)) as [a Ha]. exists a. exact Ha.
Qed.

Lemma W_pos : 0 < sum n w.
Proof. apply sum_all_pos; [exact keys|]. intros; apply exp_pos. Qed.

Variables (res uE etaE : R).
Hypothesis uE_pos : 0 <= uE.
Hypothesis res_off : Rabs (res - num / den) <= uE * Rabs (num / den) + etaE.
Let x := mean n w v.
Let D := spread n w delta v + eO * total n w delta v / least n w delta +
  ((1 + eO) * (2 * (INR n * low * V / beta)) + (1 + eO) * lost_to n etaW etaA V / beta).

(** theorem: machine_out — a row of a declared machine: with weights as machine_weight.v has them, rounded or not before they meet the values and the normaliser, sums by any trees in accumulate, a quotient and its rounding, the output is within what bound.c adds up: spread, sums, underflow and ends. used by: src/softmax/bound.c *)
Theorem machine_out : Rabs (res - x) <= D + ((1 + uE) / (1 - e) - 1) * (Rabs x + D) + etaE.
Proof.
destruct unflushed as [a Ha]. pose proof e_pos as [PO PW]. pose proof beta_pos as PB. pose proof W_pos as PWp.
set (c := exp (M - mh)). assert (Pc : 0 < c) by apply exp_pos.
set (w0 := fun j => c * w j).
assert (PV : 0 <= V) by (eapply Rle_trans; [apply (Rabs_pos (v 0%nat))|apply values, keys]).
assert (PN := pos_INR n).
assert (PL : forall Y, 0 <= Y -> 0 <= lost_to n etaW etaA Y).
{ intros Y HY. unfold lost_to. apply Rmult_le_pos; [exact PN|]. assert (0 <= etaW * Y) by (apply Rmult_le_pos; lra). lra. }
assert (B := softmax_bound n w0 delta a v
  (fun j Hj => Rlt_le _ _ (Rmult_lt_0_compat c (w j) Pc (exp_pos (s j - M))))).
assert (W0 : 0 < sum n w0) by (unfold w0; rewrite sum_scal; apply Rmult_lt_0_compat; assumption).
specialize (B W0 delta_pos (fun j Hj => proj2 (proj2 (Ha j Hj))) b low beta V PB
  (fun j Hj => proj1 (proj2 (Ha j Hj))) sum_b values num den eO eW
  ((1 + eO) * lost_to n etaW etaA V) ((1 + eW) * lost_to n etaW etaA 1)).
assert (HO : 0 <= (1 + eO) * lost_to n etaW etaA V) by (apply Rmult_le_pos; [lra|apply PL, PV]).
assert (HW : 0 <= (1 + eW) * lost_to n etaW etaA 1) by (apply Rmult_le_pos; [lra|apply PL; lra]).
specialize (B PO PW HO HW num_off den_off e_small res uE etaE uE_pos res_off).
destruct (scaled_row n c w delta v Pc ltac:(lra)) as [E1 [E2 [E3 E4]]].
unfold sums, under, dropped, sum_error in B. fold w0 in E1, E2, E3, E4. rewrite E1, E2, E3, E4 in B.
fold x e in B. unfold D. set (T1 := spread n w delta v) in *. set (T2 := eO * total n w delta v / least n w delta) in *.
set (T3 := (1 + eO) * (2 * (INR n * low * V / beta)) + (1 + eO) * lost_to n etaW etaA V / beta) in *.
eapply Rle_trans; [exact B|]. right. ring.
Qed.

(* Log-sum-exp: the logarithm of the normaliser, good to lam (1 + |log|); the shift, rounded to
   accumulate; their sum; the result. *)
Variables (off lam L mr z uR etaR lse : R).
Hypothesis uA_small : uA <= / 256.
Hypothesis lam_pos : 0 <= lam.
Hypothesis uR_pos : 0 <= uR <= / 256.
Hypothesis etaR_pos : 0 <= etaR.
Hypothesis shift_off : Rabs (mh - M) <= off.
Hypothesis logarithm : Rabs (L - ln den) <= lam * (1 + Rabs (ln den)).
Hypothesis shift_in : Rabs (mr - mh) <= uA * Rabs mh + etaA.
Hypothesis added : Rabs (z - (mr + L)) <= uA * Rabs (mr + L) + etaA.
Hypothesis stored : Rabs (lse - z) <= uR * Rabs z + etaR.
Let exact := M + ln (sum n w).
Let grown := sum n (fun j => w j / sum n w * (exp (delta j) - 1)) / least n w delta.
Let lost := INR n * low / beta.
Hypothesis lost_small : lost < 1.
Let sum_off := grown + e / (1 - e) + lost / (1 - lost).
Let before := sum_off + lam * (1 + Rabs (exact - M) + off + sum_off) + uA * (Rabs M + off).

Lemma ln_ratio a c t : 0 < a -> 0 < c -> a - c <= t * c -> ln a - ln c <= t.
Proof.
intros Pa Pc H. assert (E0 : ln a - ln c = ln (a / c)).
{ unfold Rdiv. rewrite ln_mult, ln_Rinv; [ring|exact Pc|exact Pa|apply Rinv_0_lt_compat, Pc]. }
rewrite E0.
pose proof (exp_above (ln (a / c))) as E. rewrite exp_ln in E by (apply Rdiv_lt_0_compat; assumption).
assert (a / c - 1 <= t); [|lra]. apply (Rmult_le_reg_r c); [exact Pc|].
replace ((a / c - 1) * c) with (a - c) by (field; lra). exact H.
Qed.

Lemma below_quotient t : 0 <= t < 1 -> t <= t / (1 - t).
Proof.
intros H. apply (Rmult_le_reg_r (1 - t)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
assert (0 <= t * t) by apply Rle_0_sqr. lra.
Qed.

(* |log a - log c| where a is off by t c *)
Lemma ln_off a c t : 0 < c -> 0 <= t < 1 -> Rabs (a - c) <= t * c -> 0 < a /\ Rabs (ln a - ln c) <= t / (1 - t).
Proof.
intros Pc Ht H. apply Rabs_range in H.
assert (Pa : 0 < a).
{ assert (0 < (1 - t) * c) by (apply Rmult_lt_0_compat; lra). lra. }
split; [exact Pa|]. pose proof (below_quotient t Ht). pose proof (ln_ratio a c t Pa Pc ltac:(lra)).
assert (ln c - ln a <= t / (1 - t)).
{ apply ln_ratio; try assumption. apply Rle_trans with (t * c); [lra|].
  replace (t * c) with (t / (1 - t) * ((1 - t) * c)) by (field; lra).
  apply Rmult_le_compat_l; [|lra]. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]. }
apply Rabs_le. lra.
Qed.

Lemma log_off : Rabs (mh + ln den - exact) <= sum_off /\ 0 <= sum_off.
Proof.
destruct unflushed as [a Ha]. pose proof e_pos as [_ PW]. pose proof beta_pos as PB. pose proof W_pos as PWp.
pose proof sum_b as SB. assert (PN := pos_INR n).
set (c := exp (M - mh)) in *. assert (Pc : 0 < c) by apply exp_pos. set (W := sum n w) in *.
set (p := fun j => w j / W).
assert (Pp : forall j, 0 <= p j).
{ intros j. unfold p. apply Rmult_le_pos; [left; apply exp_pos|left; apply Rinv_0_lt_compat, PWp]. }
assert (Sp : forall f, sum n (fun j => c * w j * f j) = c * W * sum n (fun j => p j * f j)).
{ intros f. rewrite <- sum_scal. apply sum_ext. intros j _. unfold p. field. lra. }
assert (S1 : sum n p = 1).
{ unfold p, Rdiv. rewrite sum_scal_r. fold W. field. lra. }
set (G := sum n (fun j => p j * (exp (delta j) - 1))).
set (Ls := least n w delta) in *.
assert (EL : Ls = sum n (fun j => p j * exp (- delta j))) by reflexivity.
assert (PL : 0 < Ls).
{ apply (least_pos n w delta); [|exact PWp]. intros; left; apply exp_pos. }
assert (PG : 0 <= G).
{ apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [apply Pp|]. pose proof (exp_above (delta j)). pose proof (delta_pos j Hj). lra. }
set (Sa := sum n a).
assert (Lo : c * W * Ls <= Sa).
{ rewrite EL, <- Sp. apply sum_le. intros j Hj. apply (Ha j Hj). }
assert (Up : Sa <= c * W * (1 + G)).
{ replace (1 + G) with (sum n (fun j => p j * exp (delta j))).
  - rewrite <- Sp. apply sum_le. intros j Hj. apply (Ha j Hj).
  - unfold G. rewrite <- S1 at 1. rewrite <- sum_plus. apply sum_ext. intros; ring. }
assert (LG : 1 - Ls <= G).
{ rewrite EL, <- S1. unfold G. rewrite <- sum_minus. apply sum_le. intros j Hj.
  pose proof (exp_pair (delta j)) as T. apply (Rmult_le_compat_l (p j)) in T; [|apply Pp]. lra. }
assert (PcW : 0 < c * W) by (apply Rmult_lt_0_compat; assumption).
assert (PSa : 0 < Sa) by (eapply Rlt_le_trans; [|exact Lo]; apply Rmult_lt_0_compat; assumption).
assert (PGr : 0 <= grown).
{ unfold grown. fold W Ls p G. apply Rmult_le_pos; [exact PG|left; apply Rinv_0_lt_compat, PL]. }
assert (GG : G <= grown).
{ unfold grown. fold W. change (fun j => w j / W * (exp (delta j) - 1)) with (fun j => p j * (exp (delta j) - 1)). fold G Ls.
  assert (L1 : Ls <= 1).
  { rewrite EL, <- S1. apply sum_le. intros j Hj. rewrite <- (Rmult_1_r (p j)) at 2. apply Rmult_le_compat_l; [apply Pp|].
    rewrite <- exp_0. pose proof (delta_pos j Hj) as P. destruct P as [P|<-]; [left; apply exp_increasing; lra|rewrite Ropp_0; apply Rle_refl]. }
  apply (Rmult_le_reg_r Ls); [exact PL|]. replace (G / Ls * Ls) with G by (field; lra).
  rewrite <- (Rmult_1_r G) at 2. apply Rmult_le_compat_l; assumption. }
assert (D1 : Rabs (ln Sa - ln (c * W)) <= grown).
{ assert (X1 : ln Sa - ln (c * W) <= G) by (apply ln_ratio; lra).
  assert (X2 : ln (c * W) - ln Sa <= grown).
  { apply ln_ratio; try assumption. apply Rle_trans with (c * W * G).
    - assert (c * W * (1 - Ls) <= c * W * G) by (apply Rmult_le_compat_l; lra). lra.
    - apply Rle_trans with (grown * (c * W * Ls)); [|apply Rmult_le_compat_l; assumption].
      unfold grown. fold W. change (fun j => w j / W * (exp (delta j) - 1)) with (fun j => p j * (exp (delta j) - 1)). fold G Ls.
      right. field. lra. }
  apply Rabs_le. lra. }
assert (Pl : 0 <= lost).
{ unfold lost. apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat, PB]. }
assert (D2 : Rabs (ln Sa - ln (sum n b)) <= lost / (1 - lost)).
{ apply ln_off; [lra|lra|]. unfold Sa. rewrite <- sum_minus. eapply Rle_trans; [apply sum_abs|].
  apply Rle_trans with (INR n * low).
  - rewrite <- sum_const. apply sum_le. intros j Hj. rewrite Rabs_minus_sym. apply (Ha j Hj).
  - apply Rle_trans with (lost * beta); [right; unfold lost; field; lra|apply Rmult_le_compat_l; assumption]. }
assert (Pe : 0 <= e).
{ unfold e, lost_to. assert (0 <= INR n * (etaW * 1 + 8 * etaA)) by (apply Rmult_le_pos; lra).
  assert (0 <= (1 + eW) * (INR n * (etaW * 1 + 8 * etaA)) / beta); [|lra].
  apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat, PB]. }
assert (D3 : Rabs (ln den - ln (sum n b)) <= e / (1 - e)).
{ apply ln_off; [lra|lra|]. eapply Rle_trans; [exact den_off|]. unfold e.
  set (k := (1 + eW) * lost_to n etaW etaA 1).
  replace ((eW + k / beta) * sum n b) with (eW * sum n b + k / beta * sum n b) by ring. apply Rplus_le_compat_l.
  assert (0 <= k).
  { unfold k, lost_to. apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; lra. }
  apply Rle_trans with (k / beta * beta); [right; field; lra|]. apply Rmult_le_compat_l; [|exact SB].
  apply Rmult_le_pos; [assumption|left; apply Rinv_0_lt_compat, PB]. }
assert (Ec : ln (c * W) = M - mh + ln W).
{ rewrite ln_mult by assumption. unfold c. rewrite ln_exp. reflexivity. }
assert (Q1 := below_quotient e ltac:(lra)). assert (Q2 := below_quotient lost ltac:(lra)).
split; [|unfold sum_off; lra].
unfold exact. fold W. replace (mh + ln den - (M + ln W)) with
  ((ln den - ln (sum n b)) - (ln Sa - ln (sum n b)) + (ln Sa - ln (c * W))) by (rewrite Ec; ring).
unfold sum_off. eapply Rle_trans; [apply Rabs_triang|].
assert (Rabs (ln den - ln (sum n b) - (ln Sa - ln (sum n b))) <= e / (1 - e) + lost / (1 - lost)); [|lra].
unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.

Lemma shift_and_log : Rabs (mr + L - exact) <= before + etaA /\ 0 <= before.
Proof.
destruct log_off as [H PS].
assert (T : forall x y, Rabs (x + y) <= Rabs x + Rabs y) by apply Rabs_triang.
assert (Poff : 0 <= off) by (eapply Rle_trans; [apply Rabs_pos|exact shift_off]).
assert (Smh : Rabs mh <= Rabs M + off).
{ replace mh with (M + (mh - M)) at 1 by ring. pose proof (T M (mh - M)). lra. }
assert (Slog : Rabs (ln den) <= Rabs (exact - M) + off + sum_off).
{ replace (ln den) with ((mh + ln den - exact) + (exact - M) + - (mh - M)) by ring.
  pose proof (T (mh + ln den - exact + (exact - M)) (- (mh - M))) as X. rewrite Rabs_Ropp in X.
  pose proof (T (mh + ln den - exact) (exact - M)). lra. }
split.
- replace (mr + L - exact) with ((mh + ln den - exact) + (L - ln den) + (mr - mh)) by ring.
  pose proof (T (mh + ln den - exact + (L - ln den)) (mr - mh)). pose proof (T (mh + ln den - exact) (L - ln den)).
  assert (uA * Rabs mh <= uA * (Rabs M + off)) by (apply Rmult_le_compat_l; lra).
  assert (lam * (1 + Rabs (ln den)) <= lam * (1 + Rabs (exact - M) + off + sum_off)) by (apply Rmult_le_compat_l; lra).
  unfold before. lra.
- unfold before. pose proof (Rabs_pos (exact - M)). pose proof (Rabs_pos M).
  assert (0 <= lam * (1 + Rabs (exact - M) + off + sum_off)) by (apply Rmult_le_pos; lra).
  assert (0 <= uA * (Rabs M + off)) by (apply Rmult_le_pos; lra). lra.
Qed.

(** theorem: machine_lse — log-sum-exp in base e of a row of a declared machine: shift plus the logarithm of the normaliser, whose size is known from the exact result, each operation rounded, is within what bound.c adds up. used by: src/softmax/bound.c *)
Theorem machine_lse : Rabs (lse - exact) <=
  before + ((1 + uA) * (1 + uR) - 1) * (Rabs exact + before) + 4 * (etaA + etaR).
Proof.
destruct shift_and_log as [B1 Pb]. set (y := mr + L) in *.
assert (T : forall x y, Rabs (x + y) <= Rabs x + Rabs y) by apply Rabs_triang.
assert (PB : 0 <= before + etaA) by (eapply Rle_trans; [apply Rabs_pos|exact B1]).
assert (Sy : Rabs y <= Rabs exact + (before + etaA)).
{ replace y with (exact + (y - exact)) by ring. pose proof (T exact (y - exact)). lra. }
pose proof (Rabs_pos exact) as Px.
set (N := Rabs exact + (before + etaA)) in *.
assert (B2 : Rabs (z - y) <= uA * N + etaA).
{ assert (uA * Rabs y <= uA * N) by (apply Rmult_le_compat_l; lra). lra. }
assert (Sz : Rabs z <= (1 + uA) * N + etaA).
{ replace z with (y + (z - y)) by ring. pose proof (T y (z - y)). lra. }
assert (B3 : Rabs (lse - z) <= uR * ((1 + uA) * N + etaA) + etaR).
{ assert (uR * Rabs z <= uR * ((1 + uA) * N + etaA)) by (apply Rmult_le_compat_l; lra). lra. }
replace (lse - exact) with ((lse - z) + (z - y) + (y - exact)) by ring.
pose proof (T (lse - z + (z - y)) (y - exact)). pose proof (T (lse - z) (z - y)).
assert (K : (1 + uA) * (1 + uR) - 1 <= 1).
{ assert ((1 + uA) * (1 + uR) <= (257 / 256) * (257 / 256)) by (apply Rmult_le_compat; lra). lra. }
assert (K2 : ((1 + uA) * (1 + uR) - 1) * etaA <= 1 * etaA) by (apply Rmult_le_compat_r; lra).
assert (K3 : uR * etaA <= 1 * etaA) by (apply Rmult_le_compat_r; lra).
unfold N in *. lra.
Qed.

(* In base 2: a factor log2(e), itself rounded, before the result. *)
Variables (log2e z2 lse2 : R).
Hypothesis log2e_in : Rabs (log2e - / ln 2) <= uA * / ln 2.
Hypothesis scaled : Rabs (z2 - z * log2e) <= uA * Rabs (z * log2e) + etaA.
Hypothesis stored2 : Rabs (lse2 - z2) <= uR * Rabs z2 + etaR.

(** theorem: machine_lse_base2 — the same in base 2, with two roundings more. used by: src/softmax/bound.c *)
Theorem machine_lse_base2 : Rabs (lse2 - exact * / ln 2) <=
  3 / 2 * (before + ((1 + uA) * (1 + uA) * (1 + uA) * (1 + uR) - 1) * (Rabs exact + before)) + 8 * (etaA + etaR).
Proof.
destruct shift_and_log as [B1 Pb]. set (y := mr + L) in *.
assert (K : 0 < / ln 2 <= 3 / 2).
{ pose proof ln2_above as L2. split; [apply Rinv_0_lt_compat; lra|].
  apply (Rmult_le_reg_r (ln 2)); [lra|]. rewrite Rinv_l by lra. lra. }
set (k := / ln 2) in *.
assert (A0 : approx y exact (Rabs exact) 1 (before + etaA)) by (unfold approx; lra).
assert (A1 := approx_round (fun _ => z) uA etaA _ _ _ _ _ uA_pos etaA_pos added A0). cbv beta in A1.
assert (Ak : approx log2e k (Rabs k) (1 + uA) 0).
{ apply approx_off; [exact uA_pos|lra|]. rewrite (Rabs_pos_eq k), Rplus_0_r by lra. exact log2e_in. }
assert (A2 := approx_mult _ _ _ _ _ _ _ _ _ _ A1 Ak).
assert (A3 := approx_round (fun _ => z2) uA etaA _ _ _ _ _ uA_pos etaA_pos scaled A2). cbv beta in A3.
assert (A4 := approx_round (fun _ => lse2) uR etaR _ _ _ _ _ (proj1 uR_pos) etaR_pos stored2 A3). cbv beta in A4.
destruct A4 as [_ [_ [_ A4]]]. rewrite (Rabs_pos_eq k) in A4 by lra.
eapply Rle_trans; [exact A4|].
set (g := 1 + uA) in *. set (r := 1 + uR) in *.
assert (Pv : 1 <= g <= 257 / 256) by (unfold g; lra). assert (Pr : 1 <= r <= 257 / 256) by (unfold r; lra).
set (q := g * g * g * r).
assert (Pq : 1 <= q).
{ unfold q. assert (1 * 1 <= g * g) by (apply Rmult_le_compat; lra). assert (1 * 1 <= g * g * g) by (apply Rmult_le_compat; lra).
  assert (1 * 1 <= g * g * g * r) by (apply Rmult_le_compat; lra). lra. }
pose proof (Rabs_pos exact) as Px.
(* before and the relative parts, times k; what is absolute *)
apply Rle_trans with (k * (before + (q - 1) * (Rabs exact + before)) + (k * (g * g * r * etaA * g + g * g * r * etaA) + r * etaA + etaR)).
- right. unfold q. ring.
- assert (Q1 : k * (before + (q - 1) * (Rabs exact + before)) <= 3 / 2 * (before + (q - 1) * (Rabs exact + before))).
  { apply Rmult_le_compat_r; [|lra]. assert (0 <= (q - 1) * (Rabs exact + before)) by (apply Rmult_le_pos; lra). lra. }
  assert (Q2 : g * g * r <= 17 / 16).
  { assert (g * g <= (257 / 256) * (257 / 256)) by (apply Rmult_le_compat; lra).
    assert (g * g * r <= (257 / 256) * (257 / 256) * (257 / 256)) by (apply Rmult_le_compat; try lra; apply Rmult_le_pos; lra). lra. }
  assert (Q3 : 0 <= g * g * r) by (repeat apply Rmult_le_pos; lra).
  assert (Q4 : g * g * r * etaA <= 17 / 16 * etaA) by (apply Rmult_le_compat_r; lra).
  assert (Q5 : g * g * r * etaA * g <= 17 / 16 * etaA * (257 / 256)).
  { apply Rmult_le_compat; try lra. apply Rmult_le_pos; lra. }
  assert (Q6 : k * (g * g * r * etaA * g + g * g * r * etaA) <= 3 / 2 * (17 / 16 * etaA * (257 / 256) + 17 / 16 * etaA)).
  { apply Rmult_le_compat; try lra. assert (0 <= g * g * r * etaA) by (apply Rmult_le_pos; lra).
    assert (0 <= g * g * r * etaA * g) by (apply Rmult_le_pos; lra). lra. }
  assert (Q7 : r * etaA <= 257 / 256 * etaA) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.
End Row.

(* ---- from the scores on ---- *)
Section Chain.
(* products: u, eu, low, eta (machine_weight.v); E: what bound.c charges for a score, off: for the one
   that sets the shift (machine_charge, machine_charge_capped) *)
Variables (u eu low eta : R).
Hypothesis u_range : 0 <= u <= / 256.
Hypothesis eu_range : 0 <= eu < 1.
Hypothesis low_range : 0 <= low < 1.
Hypothesis eta_range : 0 <= eta <= u / 4.
Variables (n : nat) (s sh v E : nat -> R) (M off moves V : R) (ways : nat -> list (R * R * R)).
Hypothesis values : forall j, (j < n)%nat -> Rabs (v j) <= V.
Hypothesis E_pos : forall j, (j < n)%nat -> 0 <= E j.
Hypothesis scores : forall j, (j < n)%nat -> Rabs (sh j - s j) <= E j + eta /\ Rabs (sh j - s j) <= off.
(* M is the largest score, `top` the key whose computed score is the final shift *)
Variables (most top : nat) (x_top : R).
Hypothesis largest : (most < n)%nat /\ s most = M /\ forall j, (j < n)%nat -> s j <= M.
Hypothesis top_key : (top < n)%nat /\ ways top = [(0, 0, x_top)] /\ is_exp eu low 0 x_top.
(* from a key's score to the shift when it is summed, and the moves that follow, up to the final shift *)
Hypothesis steps : forall j, (j < n)%nat ->
  Forall (step u eu low) (ways j) /\ way (ways j) = sh top - sh j /\ INR (length (ways j)) <= moves + 1.
Hypothesis one_move : 1 <= moves.
Definition delta_of j := delta_j u eu (s j) M (E j) off moves.

Lemma shift_of : Rabs (sh top - M) <= off /\ 0 <= off.
Proof.
destruct largest as [L1 [L2 L3]], top_key as [T1 _].
destruct (scores most L1) as [_ A]. destruct (scores top T1) as [_ B].
destruct (steps most L1) as [S1 [S2 _]]. destruct (weight_parts u eu low eu_range _ S1) as [_ [PW _]].
pose proof (L3 top T1). rewrite L2 in A. unfold Rabs in A, B. destruct (Rcase_abs (sh most - M)) in A; destruct (Rcase_abs (sh top - s top)) in B;
  (split; [apply Rabs_le; lra|lra]).
Qed.

Lemma weights_of j : (j < n)%nat -> 0 <= weight (ways j) <= 1 /\ exists a f, 0 <= a <= 1 /\
  Rabs (weight (ways j) - a) <= Rmax low 0 /\ a = exp (M - sh top) * exp (s j - M) * f /\
  exp (- delta_of j) <= f <= exp (delta_of j).
Proof.
intros Hj. destruct (steps j Hj) as [S1 [S2 S3]]. destruct shift_of as [A B].
split; [apply (weight_parts u eu low eu_range _ S1)|].
apply (machine_weight u eu low u_range eu_range (s j) (sh j) M (sh top) (E j) off eta moves (ways j)); try assumption.
- apply E_pos, Hj.
- apply scores, Hj.
- unfold Rabs in A. destruct Rcase_abs in A; lra.
- apply largest, Hj.
Qed.

Lemma delta_of_pos j : (j < n)%nat -> 0 <= delta_of j.
Proof.
intros Hj. destruct shift_of as [_ B]. unfold delta_of, delta_j.
assert (Pe : 0 <= eu' eu) by (unfold eu'; apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
pose proof (E_pos j Hj). destruct largest as [_ [_ L]]. pose proof (L j Hj).
assert (0 <= u * (M - s j)) by (apply Rmult_le_pos; lra). assert (0 <= u * off) by (apply Rmult_le_pos; lra).
assert (0 <= moves * (eu' eu + u)) by (apply Rmult_le_pos; lra). apply Rmult_le_pos; lra.
Qed.

Variables (rnd : R -> R) (uA uW uv etaA etaW eO eW : R) (b1 b2 v' : nat -> R) (tO tW : tree).
Hypothesis uA_pos : 0 <= uA.
Hypothesis uW_pos : 0 <= uW.
Hypothesis uv_pos : 0 <= uv.
Hypothesis etaA_pos : 0 <= etaA.
Hypothesis etaW_range : 0 <= etaW <= 1.
Hypothesis rnd_error : forall x, Rabs (rnd x - x) <= uA * Rabs x + etaA.
Hypothesis b1_in : forall j, (j < n)%nat -> Rabs (b1 j - weight (ways j)) <= uW * Rabs (weight (ways j)) + etaW.
Hypothesis b2_in : forall j, (j < n)%nat -> Rabs (b2 j - weight (ways j)) <= uW * Rabs (weight (ways j)) + etaW.
Hypothesis v_in : forall j, (j < n)%nat -> Rabs (v' j - v j) <= uv * Rabs (v j) + etaA.
Hypothesis numerator : sums_up tO n b1 v'.
Hypothesis normaliser : sums_up tW n b2 (fun _ => 1).
Hypothesis operations : (ops tO <= 6 * n /\ ops tW <= 6 * n)%nat.
Hypothesis eO_is : (1 + uW) * (1 + uv) * ((1 + uA) * (1 + uA) ^ depth tO) <= 1 + eO.
Hypothesis eW_is : (1 + uW) * (1 + 0) * ((1 + uA) * (1 + uA) ^ depth tW) <= 1 + eW.
Let e := eW + (1 + eW) * lost_to n etaW etaA 1 / (1 - eu).
Hypothesis e_small : e < 1.
Variables (res uE etaE : R).
Hypothesis uE_pos : 0 <= uE.
Hypothesis res_off : Rabs (res - fl rnd rnd tO / fl rnd rnd tW) <= uE * Rabs (fl rnd rnd tO / fl rnd rnd tW) + etaE.
Let w j := exp (s j - M).
Let x := mean n (fun j => exp (s j)) v.
Let D := spread n w delta_of v + eO * total n w delta_of v / least n w delta_of +
  ((1 + eO) * (2 * (INR n * low * V / (1 - eu))) + (1 + eO) * lost_to n etaW etaA V / (1 - eu)).

(** theorem: machine_row — a row of a declared machine from its scores on: an online softmax whose shift is the largest score so far, with exponentials, moves, sums, quotient and result in the model's formats, returns an output within what bound.c adds up of softmax attention. used by: src/softmax/bound.c *)
Theorem machine_row : Rabs (res - x) <= D + ((1 + uE) / (1 - e) - 1) * (Rabs x + D) + etaE.
Proof.
destruct top_key as [T1 [T2 T3]].
assert (N : (0 < n)%nat) by lia.
assert (X : x = mean n w v).
{ unfold x. symmetry. rewrite (mean_ext n w (fun i => exp (s i + - M)) v) by (intros; reflexivity).
  apply (shift_invariance n s v (- M)). }
rewrite X.
exact (machine_out eu low eu_range low_range n s v delta_of M (sh top) V ways N delta_of_pos values weights_of top x_top
  T1 T2 T3 rnd uA uW uv etaA etaW eO eW b1 b2 v' tO tW uA_pos uW_pos uv_pos etaA_pos etaW_range rnd_error b1_in b2_in
  v_in numerator normaliser operations eO_is eW_is e_small res uE etaE uE_pos res_off).
Qed.

Variables (lam L mr z uR etaR lse : R).
Hypothesis uA_small : uA <= / 256.
Hypothesis lam_pos : 0 <= lam.
Hypothesis uR_pos : 0 <= uR <= / 256.
Hypothesis etaR_pos : 0 <= etaR.
Hypothesis logarithm : Rabs (L - ln (fl rnd rnd tW)) <= lam * (1 + Rabs (ln (fl rnd rnd tW))).
Hypothesis shift_in : Rabs (mr - sh top) <= uA * Rabs (sh top) + etaA.
Hypothesis added : Rabs (z - (mr + L)) <= uA * Rabs (mr + L) + etaA.
Hypothesis stored : Rabs (lse - z) <= uR * Rabs z + etaR.
Hypothesis lost_small : INR n * low / (1 - eu) < 1.
Let exact := ln (sum n (fun j => exp (s j))).
Let grown := sum n (fun j => w j / sum n w * (exp (delta_of j) - 1)) / least n w delta_of.
Let lost := INR n * low / (1 - eu).
Let sum_off := grown + e / (1 - e) + lost / (1 - lost).
Let before := sum_off + lam * (1 + Rabs (exact - M) + off + sum_off) + uA * (Rabs M + off).

(** theorem: machine_row_lse — the same of log-sum-exp. used by: src/softmax/bound.c *)
Theorem machine_row_lse : Rabs (lse - exact) <=
  before + ((1 + uA) * (1 + uR) - 1) * (Rabs exact + before) + 4 * (etaA + etaR).
Proof.
destruct top_key as [T1 [T2 T3]]. assert (N : (0 < n)%nat) by lia.
assert (X : exact = M + ln (sum n w)).
{ unfold exact. rewrite (sum_ext n w (fun i => exp (s i + - M))) by (intros; reflexivity).
  rewrite (proj2 (proj2 (shift_invariance n s v (- M))) N). ring. }
unfold before. rewrite X.
exact (machine_lse eu low eu_range low_range n s delta_of M (sh top) ways N delta_of_pos weights_of top x_top
  T1 T2 T3 rnd uA uW uv etaA etaW eO eW b2 tO tW uA_pos uW_pos uv_pos etaA_pos etaW_range rnd_error b2_in normaliser
  operations eO_is eW_is e_small off lam L mr z uR etaR lse uA_small lam_pos uR_pos etaR_pos (proj1 shift_of)
  logarithm shift_in added stored lost_small).
Qed.
End Chain.
