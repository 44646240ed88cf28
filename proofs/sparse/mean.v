(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Step 4 of src/sparse/enclose.c: sums of weights and values in chains, their quotient, and the radius
   the way element_sums and sparse_sums_moved evaluate it, every operation rounded to nearest in double.
   Given are the weights in double, how far each may be from the exact one, and a lower bound of the sum of
   the exact ones. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Plus_error Relative.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.weight softmax.terms.
Open Scope R_scope.
Notation format64 := (generic_format radix2 (FLT_exp (-1074) 53)).

Lemma rnd_format x : format64 (rnd64 x).
Proof. apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N]. Qed.

(* Sums of two numbers of the format do not underflow. *)
Lemma plus_close x y : format64 x -> format64 y -> Rabs (rnd64 (x + y) - (x + y)) <= u64 * Rabs (x + y).
Proof.
intros Fx Fy. assert (P : Prec_gt_0 53) by reflexivity.
destruct (FLT_plus_error_N_ex radix2 (-1074) 53 (fun z => negb (Z.even z)) x y Fx Fy) as [e [He E]].
unfold nearest. rewrite E. replace ((x + y) * (1 + e) - (x + y)) with (e * (x + y)) by ring. rewrite Rabs_mult.
apply Rmult_le_compat_r; [apply Rabs_pos|]. apply Rle_trans with (1 := He).
assert (U : u_ro radix2 53 = u64).
{ unfold u_ro. simpl. lra. }
rewrite U. assert (V := u64_size). apply (Rmult_le_reg_r (1 + u64)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
assert (0 <= u64 * u64) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma minus_close x y : format64 x -> format64 y -> Rabs (rnd64 (x - y) - (x - y)) <= u64 * Rabs (x - y).
Proof. intros Fx Fy. apply (plus_close x (- y)); [exact Fx|apply generic_format_opp, Fy]. Qed.

(* A tree of additions of numbers of the format. *)
Fixpoint plain t := match t with
| Zero => True | Val w => format64 w | Add l r => plain l /\ plain r | _ => False end.

Lemma plain_format t : plain t -> format64 (fl rnd64 rnd64 t).
Proof. destruct t; simpl; try tauto; intros _; [apply generic_format_0|apply rnd_format]. Qed.

Lemma plain_off t : plain t -> Rabs (fl rnd64 rnd64 t - ex t) <= ((1 + u64) ^ depth t - 1) * mag t.
Proof.
assert (U := u64_size). induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; cbn [fl ex mag depth plain pow]; try tauto.
- intros _. rewrite Rminus_0_r, Rabs_R0. lra.
- intros _. replace (w - w) with 0 by ring. rewrite Rabs_R0. lra.
- intros [Pl Pr]. specialize (IHl Pl). specialize (IHr Pr).
  set (d := Nat.max (depth l) (depth r)). set (q := (1 + u64) ^ d).
  assert (Q : forall k, (k <= d)%nat -> 1 <= (1 + u64) ^ k <= q).
  { intros k K. split; [apply pow_R1_Rle; lra|apply Rle_pow; [lra|exact K]]. }
  pose proof (mag_pos l) as Ml. pose proof (mag_pos r) as Mr.
  assert (El : Rabs (fl rnd64 rnd64 l - ex l) <= (q - 1) * mag l).
  { apply Rle_trans with (1 := IHl). apply Rmult_le_compat_r; [exact Ml|]. pose proof (Q (depth l) ltac:(unfold d; lia)). lra. }
  assert (Er : Rabs (fl rnd64 rnd64 r - ex r) <= (q - 1) * mag r).
  { apply Rle_trans with (1 := IHr). apply Rmult_le_compat_r; [exact Mr|]. pose proof (Q (depth r) ltac:(unfold d; lia)). lra. }
  assert (C := plus_close _ _ (plain_format l Pl) (plain_format r Pr)).
  set (a := fl rnd64 rnd64 l) in *. set (b := fl rnd64 rnd64 r) in *.
  assert (S : Rabs (a + b - (ex l + ex r)) <= (q - 1) * (mag l + mag r)).
  { replace (a + b - (ex l + ex r)) with ((a - ex l) + (b - ex r)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (T : Rabs (a + b) <= q * (mag l + mag r)).
  { replace (a + b) with ((a + b - (ex l + ex r)) + (ex l + ex r)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. assert (Rabs (ex l + ex r) <= mag l + mag r).
    { eapply Rle_trans; [apply Rabs_triang|]. pose proof (ex_mag l). pose proof (ex_mag r). lra. } lra. }
  apply (Rmult_le_compat_l u64) in T; [|lra]. fold d q.
  replace (rnd64 (a + b) - (ex l + ex r)) with ((rnd64 (a + b) - (a + b)) + (a + b - (ex l + ex r))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma plain_sum t n w : plain t -> sums_up t n w (fun _ => 1) ->
  Rabs (fl rnd64 rnd64 t - sum n w) <= ((1 + u64) ^ depth t - 1) * sum n (fun j => Rabs (w j)).
Proof.
intros P [_ Q]. assert (H := plain_off t P).
rewrite ex_total, mag_total, !(total_permutation _ _ _ Q), !total_seq in H. simpl in H.
rewrite (sum_ext n (fun j => w j * 1) w) in H by (intros; ring).
rewrite (sum_ext n (fun j => Rabs (w j) * Rabs 1) (fun j => Rabs (w j))) in H by (intros; rewrite Rabs_R1; ring). exact H.
Qed.

(* ---- numbers from below, and what no longer underflows ---- *)

Lemma low_absorb y x k e K : low y x k e -> e <= u64 * x -> k + 1 <= K <= 100 -> low y x K 0.
Proof.
intros [P [Q [K0 [E H]]]] L B. repeat split; try lra.
assert (x * ((k + 1) * u64) <= x * (K * u64)) by (apply Rmult_le_compat_l; [exact P|apply Rmult_le_compat_r; [apply bpow_ge_0|lra]]). lra.
Qed.

Lemma low_div c y x k K : low y x k 0 -> 0 < c -> k + 1 <= K <= 100 -> low (rnd64 (y / c)) (x / c) K eta.
Proof.
intros [P [Q [K0 [_ H]]]] C B. assert (I : 0 < / c) by (apply Rinv_0_lt_compat, C).
apply (low_weak _ _ K (0 + eta)); [|lra|lra]. apply (low_rnd _ _ k); [|lra]. unfold Rdiv.
repeat split; try lra; try (apply Rmult_le_pos; lra).
apply (Rmult_le_compat_r (/ c)) in H; lra.
Qed.

Lemma low_prod_r c b y x k e K : low y x k e -> 0 <= c <= b -> k + 1 <= K <= 100 -> low (rnd64 (y * c)) (x * c) K (e * b + eta).
Proof. rewrite (Rmult_comm y), (Rmult_comm x). apply low_prod. Qed.

(* A product of two of them, what underflows aside. *)
Lemma low_times y x k y' x' k' K : low y x k 0 -> low y' x' k' 0 -> k + k' + 1 <= K <= 100 -> low (rnd64 (y * y')) (x * x') K eta.
Proof.
intros [P [Q [K0 [_ H]]]] [P' [Q' [K0' [_ H']]]] B. assert (U := u64_size).
apply (low_weak _ _ K (0 + eta)); [|lra|lra]. apply (low_rnd _ _ (k + k')); [|lra].
repeat split; try lra; try (apply Rmult_le_pos; lra).
assert (K1 : k * u64 <= 100 * u64) by (apply Rmult_le_compat_r; lra).
assert (K2 : k' * u64 <= 100 * u64) by (apply Rmult_le_compat_r; lra).
assert (0 <= k * u64) by (apply Rmult_le_pos; lra). assert (0 <= k' * u64) by (apply Rmult_le_pos; lra).
rewrite Rminus_0_r in *.
assert (M : x * (1 - k * u64) * (x' * (1 - k' * u64)) <= y * y').
{ apply Rmult_le_compat; try assumption; apply Rmult_le_pos; lra. }
apply Rle_trans with (2 := M).
replace (x * (1 - k * u64) * (x' * (1 - k' * u64))) with (x * x' * ((1 - k * u64) * (1 - k' * u64))) by ring.
apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption|].
assert (0 <= k * u64 * (k' * u64)) by (apply Rmult_le_pos; assumption). lra.
Qed.

(* ---- depths ---- *)

(* The longest path of a sum of n products in chains of LINE_CHAIN; sparse_line_rounding counts one more. *)
Definition chain_depth (n : nat) : nat := if (n <? 64)%nat then n else (64 + n / 64 + 1)%nat.
Definition depth_c (n : nat) : R := rnd64 (gamma_c (S (chain_depth n)) + 2 * u64).

Lemma depth_enough n : INR (S (chain_depth n)) * u64 <= pow2 (-22) ->
  (1 + u64) ^ S (chain_depth n) - 1 + u64 <= depth_c n <= pow2 (-20).
Proof.
unfold depth_c. intros H. assert (U := u64_size). set (k := S (chain_depth n)) in *.
assert (G := gamma_up k u64 (proj1 U) H). assert (C := gamma_c_bounds k ltac:(unfold k; lia)).
assert (K1 : 1 * u64 <= INR k * u64) by (apply Rmult_le_compat_r; [lra|change 1 with (INR 1); apply le_INR; unfold k; lia]).
set (y := gamma_c k) in *. set (q := (1 + u64) ^ k) in *. clearbody y q.
change (pow2 (-22)) with (/ 4194304) in H. change (pow2 (-20)) with (/ 1048576).
change (pow2 (-21)) with (/ 2097152) in G, C. change (pow2 (-19)) with (/ 524288) in C.
assert (Py : 0 <= y + 2 * u64) by lra.
pose proof (rounded (y + 2 * u64)) as R. rewrite (Rabs_pos_eq _ Py) in R. apply Rabs_le_inv in R.
assert (E : eta <= / 1000000000 * u64).
{ apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
assert (Y : y + 2 * u64 <= / 1000000) by lra.
assert (u64 * (y + 2 * u64) <= u64 * / 1000000).
{ apply Rmult_le_compat_l; [apply U|exact Y]. }
lra.
Qed.

(* ---- the quotient ---- *)

Section Quotient.
Variables (N M W num den size x a g h : R).
Hypothesis W_pos : 0 < W.
Hypothesis M_large : Rabs N <= M.
Hypothesis g_small : 0 <= g <= / 1024.
Hypothesis h_pos : 0 <= h.
Hypothesis num_off : Rabs (num - N) <= g * M + h * den.
Hypothesis den_off : Rabs (den - W) <= g * W.
Hypothesis size_off : Rabs (size - M) <= g * M + h * den.
Hypothesis x_off : Rabs (x - num / den) <= u64 * Rabs (num / den) + eta.
Hypothesis a_off : Rabs (a - size / den) <= u64 * Rabs (size / den) + eta.

Lemma quotient_close : Rabs (x - N / W) <= 9 / 8 * ((g + u64) * (a + Rabs x)) + 3 * (h + eta) /\ 0 <= a + 2 * (h + eta).
Proof.
assert (U := u64_size). assert (T := eta_size).
assert (gW : g * W <= / 1024 * W) by (apply Rmult_le_compat_r; lra).
assert (D : W * (1 - / 1024) <= den <= W * (1 + / 1024)) by (apply Rabs_le_inv in den_off; lra).
assert (Pd : 0 < den) by lra.
set (A := M / W). set (X := N / W).
assert (EM : M = W * A) by (unfold A; field; lra). assert (EN : N = W * X) by (unfold X; field; lra).
assert (XA : Rabs X <= A).
{ apply (Rmult_le_reg_l W); [exact W_pos|]. rewrite <- EM, <- (Rabs_pos_eq W) at 1 by lra. rewrite <- Rabs_mult, <- EN. exact M_large. }
assert (PA : 0 <= A) by (eapply Rle_trans; [apply Rabs_pos|exact XA]).
assert (Wd : W <= den * (513/512)) by lra.
set (q := num / den) in *. set (p := size / den) in *.
assert (Gp : 0 <= g * A) by (apply Rmult_le_pos; lra).
assert (Gx : 0 <= g * Rabs X) by (apply Rmult_le_pos; [lra|apply Rabs_pos]).
assert (Q : Rabs (q - X) <= 513/512 * (g * A + g * Rabs X) + h).
{ apply (Rmult_le_reg_r den); [exact Pd|]. rewrite <- (Rabs_pos_eq den) at 1 by lra. rewrite <- Rabs_mult.
  replace ((q - X) * den) with ((num - N) + X * (W - den)) by (unfold q; rewrite EN; field; lra).
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_minus_sym W den).
  assert (Rabs X * Rabs (den - W) <= Rabs X * (g * W)) by (apply Rmult_le_compat_l; [apply Rabs_pos|exact den_off]).
  rewrite EM in num_off. apply (Rmult_le_compat_l (g * A + g * Rabs X)) in Wd; [|lra]. lra. }
assert (P : A <= (p + h) * (513/510)).
{ assert (S : W * A * (1 - / 1024) <= (p + h) * den).
  { replace ((p + h) * den) with (size + h * den) by (unfold p; field; lra). rewrite EM in size_off. apply Rabs_le_inv in size_off.
    assert (g * (W * A) <= / 1024 * (W * A)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]). lra. }
  assert (Pph : 0 <= p + h).
  { apply (Rmult_le_reg_r den); [exact Pd|]. rewrite Rmult_0_l. apply Rle_trans with (2 := S). apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]. }
  assert ((p + h) * den <= (p + h) * (W * (1 + / 1024))) by (apply Rmult_le_compat_l; lra).
  assert (0 <= W * (p + h)) by (apply Rmult_le_pos; lra).
  apply (Rmult_le_reg_l W); [exact W_pos|]. lra. }
assert (Pp : p <= (a + eta) * (1 + / 1000000) + / 500000 * h /\ 0 <= a + 2 * (h + eta)).
{ assert (C : - h <= p) by lra. apply Rabs_le_inv in a_off.
  destruct (Rle_lt_dec 0 p) as [L|L].
  - rewrite (Rabs_pos_eq p) in a_off by exact L. assert (u64 * p <= / 1000000000 * p) by (apply Rmult_le_compat_r; lra). lra.
  - rewrite (Rabs_left p) in a_off by exact L. assert (u64 * - p <= / 1000000000 * - p) by (apply Rmult_le_compat_r; lra). lra. }
destruct Pp as [Pp Pa]. split; [|exact Pa].
set (E := Rabs (x - X)).
assert (XE : Rabs X <= Rabs x + E).
{ unfold E. replace X with (x - (x - X)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
assert (PE : 0 <= E) by apply Rabs_pos. pose proof (Rabs_pos x) as Px.
assert (EQ : E <= u64 * Rabs q + eta + Rabs (q - X)).
{ unfold E. replace (x - X) with ((x - q) + (q - X)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
assert (Bq : Rabs q <= Rabs X + Rabs (q - X)).
{ replace q with (X + (q - X)) at 1 by ring. apply Rabs_triang. }
apply (Rmult_le_compat_l u64) in Bq; [|lra].
assert (u64 * Rabs (q - X) <= / 1000000000 * Rabs (q - X)) by (apply Rmult_le_compat_r; [apply Rabs_pos|lra]).
assert (X1 : g * Rabs X <= g * Rabs x + / 1024 * E).
{ apply (Rmult_le_compat_l g) in XE; [|lra]. assert (g * E <= / 1024 * E) by (apply Rmult_le_compat_r; lra). lra. }
assert (X2 : u64 * Rabs X <= u64 * Rabs x + / 1000000000 * E).
{ apply (Rmult_le_compat_l u64) in XE; [|lra]. assert (u64 * E <= / 1000000000 * E) by (apply Rmult_le_compat_r; lra). lra. }
assert (AA : A <= a * (1007/1000) + 102/100 * (h + eta)) by lra.
assert (X3 : g * A <= g * a * (1007/1000) + / 900 * (h + eta)).
{ apply (Rmult_le_compat_l g) in AA; [|lra]. assert (g * (102/100 * (h + eta)) <= / 1024 * (102/100 * (h + eta))) by (apply Rmult_le_compat_r; lra). lra. }
assert (0 <= u64 * (a + 2 * (h + eta))) by (apply Rmult_le_pos; lra).
assert (u64 * (2 * (h + eta)) <= / 1000000000 * (2 * (h + eta))) by (apply Rmult_le_compat_r; lra).
assert (0 <= g * (a + 2 * (h + eta))) by (apply Rmult_le_pos; lra).
assert (g * (2 * (h + eta)) <= / 1024 * (2 * (h + eta))) by (apply Rmult_le_compat_r; lra).
assert (0 <= g * Rabs x) by (apply Rmult_le_pos; lra). assert (0 <= u64 * Rabs x) by (apply Rmult_le_pos; lra).
lra.
Qed.
End Quotient.

(* ---- sums ---- *)

Fixpoint no_scale t := match t with
| Fma _ _ t => no_scale t | Add l r => no_scale l /\ no_scale r | Scale _ _ => False | _ => True end.

Lemma fl_pos t : no_scale t -> (forall p, In p (terms t) -> 0 <= fst p * snd p) -> 0 <= fl rnd64 rnd64 t.
Proof.
induction t as [|w|w v|w v t IH|l IHl r IHr|c t IH]; cbn [no_scale terms fl]; intros S H; try tauto; try lra.
- specialize (H (w, 1) (or_introl eq_refl)). simpl in H. lra.
- specialize (H (w, v) (or_introl eq_refl)). simpl in H. apply rnd_pos, H.
- apply rnd_pos. pose proof (H (w, v) (or_introl eq_refl)) as H0. simpl in H0.
  assert (0 <= fl rnd64 rnd64 t) by (apply IH; [exact S|intros p Hp; apply H; right; exact Hp]). lra.
- apply rnd_pos. destruct S as [Sl Sr].
  assert (0 <= fl rnd64 rnd64 l) by (apply IHl; [exact Sl|intros p Hp; apply H, in_or_app; left; exact Hp]).
  assert (0 <= fl rnd64 rnd64 r) by (apply IHr; [exact Sr|intros p Hp; apply H, in_or_app; right; exact Hp]). lra.
Qed.

Lemma fl_sum_pos t n w v : no_scale t -> sums_up t n w v -> (forall j, (j < n)%nat -> 0 <= w j * v j) -> 0 <= fl rnd64 rnd64 t.
Proof.
intros S [_ P] H. apply fl_pos; [exact S|]. intros p Hp.
apply (Permutation.Permutation_in _ P) in Hp. apply in_map_iff in Hp. destruct Hp as [j [<- Hj]]. apply in_seq in Hj.
simpl. apply H. lia.
Qed.

(* w_j v_j in double, of at most 2^40 operations and no deeper than `depth_c n`. *)
Definition chained (t : tree) (k n : nat) (w v : nat -> R) : Prop :=
  no_scale t /\ sums_up t n w v /\ (depth t <= chain_depth k)%nat /\ INR (ops t) <= pow2 40.
(* w_j alone *)
Definition added (t : tree) (d n : nat) (w : nat -> R) : Prop :=
  no_scale t /\ plain t /\ sums_up t n w (fun _ => 1) /\ (depth t <= d)%nat.

Notation tiny_all := (pow2 (-1034)).

Lemma chained_off t k n w v : chained t k n w v -> INR (S (chain_depth k)) * u64 <= pow2 (-22) ->
  Rabs (fl rnd64 rnd64 t - sum n (fun j => w j * v j)) <=
    ((1 + u64) ^ S (chain_depth k) - 1) * sum n (fun j => Rabs (w j) * Rabs (v j)) + tiny_all.
Proof.
intros [_ [S [D O]]] Hk. assert (U := u64_size). assert (Z : (-1074 <= -1074)%Z) by lia.
assert (F := formats_tree (-1074) 53 (-1074) 53 eq_refl eq_refl Z t n w v S).
change (roundoff 53) with u64 in F. change (underflow (-1074)) with eta in F. rewrite tech_pow_Rmult in F.
assert (G := gamma_up _ u64 (proj1 U) Hk).
assert (L : (1 + u64) ^ Datatypes.S (depth t) <= (1 + u64) ^ Datatypes.S (chain_depth k)) by (apply Rle_pow; [lra|lia]).
assert (P : 0 <= sum n (fun j => Rabs (w j) * Rabs (v j))).
{ apply sum_nonneg. intros. apply Rmult_le_pos; apply Rabs_pos. }
apply Rle_trans with (1 := F). apply Rplus_le_compat; [apply Rmult_le_compat_r; [exact P|lra]|].
apply Rle_trans with (pow2 40 * eta * pow2 1); [|rewrite <- !bpow_plus; apply bpow_le; lia].
assert (0 <= INR (ops t) * eta) by (apply Rmult_le_pos; [apply pos_INR|apply bpow_ge_0]).
apply Rmult_le_compat; [assumption|apply pow_le; lra| |].
- apply Rmult_le_compat_r; [apply bpow_ge_0|exact O].
- change (pow2 1) with 2. change (pow2 (-22)) with (/ 4194304) in Hk. change (pow2 (-21)) with (/ 2097152) in G.
  set (q := (1 + u64) ^ Datatypes.S (chain_depth k)) in *. lra.
Qed.

Section Row.
(* vis keys, of which n may carry weight; w, off: weights in double and their errors; w': exact weights *)
Variables (n vis : nat) (w w' v off : nat -> R) (least : R) (num_t size_t sum_t far_t off_t : tree).
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).
Let den := fl rnd64 rnd64 sum_t.
Let x := rnd64 (fl rnd64 rnd64 num_t / den).
Let a := rnd64 (fl rnd64 rnd64 size_t / den).
Definition off_x_c (n vis : nat) (a x den : R) : R :=
  rnd64 (rnd64 (rnd64 (rnd64 (2 * depth_c vis) * rnd64 (a + Rabs x)) * slack) + rnd64 (rnd64 (rnd64 (INR n + 2) * tiny) / Rmin 1 den)).
Definition moved_c (n : nat) (far total off_x x least : R) : R :=
  rnd64 (rnd64 (rnd64 (rnd64 (rnd64 (far * rnd64 (1 + rnd64 (2 * depth_c n))) + rnd64 (total * rnd64 (off_x + rnd64 (4 * u64 * Rabs x)))) +
    rnd64 (rnd64 (INR n + 2) * tiny)) / least) * slack).
Definition mean_radius (n vis : nat) (a x den far offs least : R) : R :=
  let off_x := off_x_c n vis a x den in
  rnd64 (rnd64 (moved_c n far (rnd64 (offs * slack)) off_x x least + off_x) * slack).

Hypothesis n_vis : (n <= vis)%nat.
Hypothesis idle : forall j, (n <= j < vis)%nat -> w j = 0 /\ w' j = 0.
Hypothesis w_pos : forall j, (j < n)%nat -> 0 <= w j.
Hypothesis W_pos : 0 < sum vis w.
Hypothesis v_format : forall j, (j < n)%nat -> format64 (v j).
Hypothesis off_ok : forall j, (j < n)%nat -> off j = 0 \/ pow2 (-1001) <= off j.
Hypothesis exact : forall j, (j < n)%nat -> Rabs (w' j - w j) <= off j.
Hypothesis least_pos : 0 < least.
Hypothesis least_ok : least <= sum vis w'.
Hypothesis nums : chained num_t vis n w v.
Hypothesis sizes : chained size_t vis n w (fun j => Rabs (v j)).
Hypothesis dens : added sum_t (chain_depth vis) vis w.
Hypothesis fars : chained far_t n n off (fun j => Rabs (rnd64 (v j - x))).
Hypothesis offs : added off_t n n off.
Hypothesis few : INR (S (chain_depth vis)) * u64 <= pow2 (-22) /\ INR (S (chain_depth n)) * u64 <= pow2 (-22) /\ INR n * u64 <= pow2 (-22).

Let W := sum vis w.
Let N := sum n (fun j => w j * v j).
Let M := sum n (fun j => w j * Rabs (v j)).
Let E := Rabs (x - N / W).
Let h := tiny_all / den.

Lemma sum_idle f : (forall j, (n <= j < vis)%nat -> f j = 0) -> sum vis f = sum n f.
Proof.
intros H. assert (G : forall m, (n <= m <= vis)%nat -> sum m f = sum n f); [|apply G; lia].
induction m as [|m IH]; intros L; [replace n with 0%nat by lia; reflexivity|].
destruct (Nat.eq_dec n (S m)) as [->|D]; [reflexivity|]. simpl. rewrite IH, H by lia. ring.
Qed.

Lemma W_kept : W = sum n w.
Proof. apply sum_idle. intros j Hj. apply idle, Hj. Qed.

Lemma mean_kept : mean vis w' v = mean n w' v.
Proof.
unfold mean. rewrite !sum_idle; [reflexivity|intros j Hj; apply idle, Hj|].
intros j Hj. destruct (idle j Hj) as [_ ->]. ring.
Qed.

Lemma off_pos j : (j < n)%nat -> 0 <= off j.
Proof. intros H. destruct (off_ok j H) as [->|L]; [lra|]. apply Rle_trans with (2 := L), bpow_ge_0. Qed.

Lemma den_close : Rabs (den - W) <= ((1 + u64) ^ S (chain_depth vis) - 1) * W /\ 0 < den.
Proof.
assert (U := u64_size). destruct dens as [_ [P [S D]]]. assert (H := plain_sum _ _ _ P S). fold den in H.
rewrite (sum_ext vis (fun j => Rabs (w j)) w) in H.
2: { intros j Hj. destruct (le_lt_dec n j) as [L|L]; [rewrite (proj1 (idle j (conj L Hj))); apply Rabs_R0|apply Rabs_pos_eq, w_pos, L]. }
fold W in H.
assert (L : (1 + u64) ^ depth sum_t <= (1 + u64) ^ Datatypes.S (chain_depth vis)) by (apply Rle_pow; [lra|lia]).
assert (Q : ((1 + u64) ^ depth sum_t - 1) * W <= ((1 + u64) ^ Datatypes.S (chain_depth vis) - 1) * W).
{ apply Rmult_le_compat_r; [left; exact W_pos|lra]. }
split; [lra|]. destruct (depth_enough vis (proj1 few)) as [G1 G2]. change (pow2 (-20)) with (/ 1048576) in G2.
apply Rabs_le_inv in H. assert (((1 + u64) ^ Datatypes.S (chain_depth vis) - 1) * W <= / 2 * W).
{ apply Rmult_le_compat_r; [left; exact W_pos|lra]. } assert (0 < W) by exact W_pos. lra.
Qed.

Lemma a_pos : 0 <= a.
Proof.
unfold a. apply rnd_pos, Rmult_le_pos; [|left; apply Rinv_0_lt_compat, den_close].
destruct sizes as [S [P _]]. apply (fl_sum_pos _ _ _ _ S P). intros j Hj. apply Rmult_le_pos; [apply w_pos, Hj|apply Rabs_pos].
Qed.

Lemma h_bounds : 0 <= h.
Proof. apply Rmult_le_pos; [apply bpow_ge_0|left; apply Rinv_0_lt_compat, den_close]. Qed.

Lemma x_close : E <= 9 / 8 * (depth_c vis * (a + Rabs x)) + 3 * (h + eta).
Proof.
destruct (depth_enough vis (proj1 few)) as [G1 G2]. destruct den_close as [DC DP]. pose proof h_bounds as H0. pose proof a_pos as A0.
assert (U := u64_size). change (pow2 (-20)) with (/ 1048576) in G2.
set (g := (1 + u64) ^ S (chain_depth vis) - 1) in *.
assert (Pg : 0 <= g) by (unfold g; pose proof (pow_R1_Rle (1 + u64) (S (chain_depth vis)) ltac:(lra)); lra).
assert (Q := quotient_close N M W (fl rnd64 rnd64 num_t) den (fl rnd64 rnd64 size_t) x a g h W_pos).
assert (hd : h * den = tiny_all) by (unfold h; field; lra).
apply Rle_trans with (9 / 8 * ((g + u64) * (a + Rabs x)) + 3 * (h + eta)).
- apply Q.
  + unfold N, M. eapply Rle_trans; [apply sum_abs|]. apply sum_le. intros j Hj. rewrite Rabs_mult, (Rabs_pos_eq (w j)) by (apply w_pos, Hj). lra.
  + lra.
  + exact H0.
  + rewrite hd. assert (C := chained_off _ _ _ _ _ nums (proj1 few)). fold g N in C.
    rewrite (sum_ext n (fun j => Rabs (w j) * Rabs (v j)) (fun j => w j * Rabs (v j))) in C by (intros j Hj; rewrite (Rabs_pos_eq (w j)) by (apply w_pos, Hj); reflexivity).
    exact C.
  + exact DC.
  + rewrite hd. assert (C := chained_off _ _ _ _ _ sizes (proj1 few)). cbv beta in C. fold g M in C.
    rewrite (sum_ext n (fun j => Rabs (w j) * Rabs (Rabs (v j))) (fun j => w j * Rabs (v j))) in C by (intros j Hj; rewrite (Rabs_pos_eq (w j)), Rabs_Rabsolu by (apply w_pos, Hj); reflexivity).
    exact C.
  + apply rounded.
  + apply rounded.
- apply Rplus_le_compat_r, Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [|lra]. pose proof (Rabs_pos x). lra.
Qed.

(* (count + 2) TINY *)
Lemma tiny_low : low (rnd64 (rnd64 (INR n + 2) * tiny)) ((INR n + 2) * tiny) 4 0 /\ 2 * tiny <= (INR n + 2) * tiny.
Proof.
assert (P := pos_INR n). assert (T := eta_size). assert (B : 0 < tiny) by apply bpow_gt_0.
assert (B1 : tiny <= 1) by (apply (bpow_le radix2 (-1000) 0); lia).
assert (S : 2 * tiny <= (INR n + 2) * tiny) by (apply Rmult_le_compat_r; lra). split; [|exact S].
assert (Te : eta <= u64 * tiny) by (rewrite <- bpow_plus; apply bpow_le; lia).
assert (Te2 : eta <= u64 * 2).
{ apply Rle_trans with (1 := Te). assert (U := u64_size). apply Rmult_le_compat_l; lra. }
rewrite !(Rmult_comm _ tiny). assert (U := u64_size).
assert (A : low (rnd64 (INR n + 2)) (INR n + 2) 2 0).
{ apply (low_absorb _ _ 1 eta 2 (low_one (INR n + 2) ltac:(lra))); [|lra]. apply Rle_trans with (1 := Te2), Rmult_le_compat_l; lra. }
apply (low_absorb _ _ 3 (0 * 1 + eta) 4); [apply (low_prod tiny 1 _ _ 2 0 3 A); lra| |lra].
rewrite Rmult_comm in S. apply Rle_trans with (u64 * tiny); [lra|]. apply Rmult_le_compat_l; lra.
Qed.

Lemma off_x_enough : 5 / 4 * E <= off_x_c n vis a x den /\ tiny <= off_x_c n vis a x den.
Proof.
destruct (depth_enough vis (proj1 few)) as [G1 G2]. destruct den_close as [_ DP]. pose proof h_bounds as H0. pose proof a_pos as A0.
assert (XC := x_close). assert (U := u64_size). assert (T := eta_size). destruct tiny_low as [TL T2].
assert (Px := Rabs_pos x). set (ax := a + Rabs x) in *. assert (Pax : 0 <= ax) by (unfold ax; lra).
set (dp := depth_c vis) in *.
assert (Pg : 0 <= (1 + u64) ^ S (chain_depth vis) - 1) by (pose proof (pow_R1_Rle (1 + u64) (S (chain_depth vis)) ltac:(lra)); lra).
change (pow2 (-20)) with (/ 1048576) in G2.
assert (C2 : 15 / 8 * dp <= rnd64 (2 * dp) <= 1).
{ pose proof (rounded (2 * dp)) as R. rewrite (Rabs_pos_eq (2 * dp)) in R by lra. apply Rabs_le_inv in R.
  assert (u64 * (2 * dp) <= / 1000000000 * (2 * dp)) by (apply Rmult_le_compat_r; lra).
  assert (eta <= / 1000 * u64).
  { apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
  lra. }
unfold off_x_c. fold dp ax. set (c2 := rnd64 (2 * dp)) in *.
assert (L1 := low_prod c2 1 _ _ 1 eta 2 (low_one ax Pax) ltac:(lra) ltac:(lra)).
assert (L2 : low (rnd64 (rnd64 (c2 * rnd64 ax) * slack)) (slack * (c2 * ax)) 3 (5 * eta)).
{ rewrite (Rmult_comm _ slack). apply (low_weak _ _ 3 ((eta * 1 + eta) * 2 + eta)); [|lra|lra].
  apply (low_prod slack 2 _ _ 2 _ 3 L1); change (pow2 (-20)) with (/ 1048576); lra. }
assert (Pm : 0 < Rmin 1 den <= 1 /\ Rmin 1 den <= den).
{ split; [split; [apply Rmin_glb_lt; lra|apply Rmin_l]|apply Rmin_r]. }
assert (L3 := low_div (Rmin 1 den) _ _ 4 5 TL (proj1 (proj1 Pm)) ltac:(lra)).
assert (L := low_end _ _ _ _ (low_sum _ _ _ _ _ _ _ _ 6 L2 L3 ltac:(lra) ltac:(lra))). clear L1 L2 L3 TL.
set (tn := (INR n + 2) * tiny / Rmin 1 den) in *.
(* tn is above both 2 tiny and 2 tiny / den *)
assert (Tn : 2 * tiny <= tn /\ 2 * pow2 34 * h <= tn).
{ unfold tn, h. assert (I1 : 1 <= / Rmin 1 den) by (rewrite <- Rinv_1 at 1; apply Rinv_le; lra).
  assert (I2 : / den <= / Rmin 1 den) by (apply Rinv_le; lra). assert (I3 : 0 < / den) by (apply Rinv_0_lt_compat, DP).
  assert (Pt : 0 < tiny) by apply bpow_gt_0. unfold Rdiv. split.
  - apply Rle_trans with ((INR n + 2) * tiny * 1); [lra|]. apply Rmult_le_compat_l; lra.
  - replace (2 * pow2 34 * (tiny_all * / den)) with (2 * (pow2 34 * tiny_all) * / den) by ring.
    rewrite <- bpow_plus. change (34 + -1034)%Z with (-1000)%Z. apply Rmult_le_compat; lra. }
assert (Et : eta <= / 1000000 * tiny).
{ apply Rle_trans with (pow2 (-30) * tiny); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [apply bpow_ge_0|change (pow2 (-30)) with (/ 1073741824); lra]. }
assert (Pt : 0 < tiny) by apply bpow_gt_0.
assert (D2 : 15 / 8 * (dp * ax) <= c2 * ax).
{ rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [exact Pax|apply C2]. }
assert (Pc : 0 <= dp * ax) by (apply Rmult_le_pos; lra).
change (pow2 34) with 17179869184 in Tn. change (pow2 (-46)) with (/ 70368744177664) in L. change (pow2 (-20)) with (/ 1048576) in L |- *.
match goal with |- _ <= ?o /\ _ => set (ox := o) in * end. unfold E in *.
clearbody tn h. clear - L XC Tn Et Pt D2 Pc H0 T. split; lra.
Qed.

Lemma far_enough : sum n (fun j => off j * Rabs (v j - x)) <=
  fl rnd64 rnd64 far_t * (1 + rnd64 (2 * depth_c n)) + tiny.
Proof.
destruct few as [_ [F2 _]]. destruct (depth_enough n F2) as [G1 G2]. assert (U := u64_size). assert (T := eta_size).
change (pow2 (-20)) with (/ 1048576) in G2.
set (g := (1 + u64) ^ S (chain_depth n) - 1) in *. set (dp := depth_c n) in *.
assert (Pg : u64 <= g).
{ unfold g. rewrite <- tech_pow_Rmult. pose proof (pow_R1_Rle (1 + u64) (chain_depth n) ltac:(lra)).
  assert ((1 + u64) * 1 <= (1 + u64) * (1 + u64) ^ chain_depth n) by (apply Rmult_le_compat_l; lra). lra. }
assert (C2 : 15 / 8 * dp <= rnd64 (2 * dp)).
{ pose proof (rounded (2 * dp)) as R. rewrite (Rabs_pos_eq (2 * dp)) in R by lra. apply Rabs_le_inv in R.
  assert (u64 * (2 * dp) <= / 1000000000 * (2 * dp)) by (apply Rmult_le_compat_r; lra).
  assert (eta <= / 1000 * u64).
  { apply Rle_trans with (pow2 (-30) * u64); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [lra|change (pow2 (-30)) with (/ 1073741824); lra]. }
  lra. }
assert (C := chained_off _ _ _ _ _ fars F2). cbv beta in C. fold g in C.
rewrite (sum_ext n (fun j => Rabs (off j) * Rabs (Rabs (rnd64 (v j - x)))) (fun j => off j * Rabs (rnd64 (v j - x)))) in C
  by (intros j Hj; rewrite (Rabs_pos_eq (off j)), Rabs_Rabsolu by (apply off_pos, Hj); reflexivity).
set (far := fl rnd64 rnd64 far_t) in *. set (F := sum n (fun j => off j * Rabs (rnd64 (v j - x)))) in *.
assert (PF : 0 <= F).
{ apply sum_nonneg. intros j Hj. apply Rmult_le_pos; [apply off_pos, Hj|apply Rabs_pos]. }
assert (Pf : 0 <= far).
{ destruct fars as [S [P _]]. apply (fl_sum_pos _ _ _ _ S P). intros j Hj. apply Rmult_le_pos; [apply off_pos, Hj|apply Rabs_pos]. }
assert (H : sum n (fun j => off j * Rabs (v j - x)) <= (1 + 101/100 * u64) * F).
{ unfold F. rewrite <- sum_scal. apply sum_le. intros j Hj.
  rewrite (Rmult_comm (1 + 101/100 * u64)), Rmult_assoc. apply Rmult_le_compat_l; [apply off_pos, Hj|].
  assert (MC := minus_close (v j) x (v_format j Hj) (rnd_format _)).
  set (z := v j - x) in *. set (r := rnd64 z) in *.
  assert (Z : Rabs z <= Rabs r + Rabs (r - z)).
  { replace z with (r - (r - z)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
  pose proof (Rabs_pos r). assert (0 <= u64 * Rabs r) by (apply Rmult_le_pos; lra).
  assert (u64 * Rabs z <= u64 * (Rabs r + u64 * Rabs z)) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (u64 * Rabs z) <= / 1000000000 * (u64 * Rabs z)).
  { apply Rmult_le_compat_r; [apply Rmult_le_pos; [lra|apply Rabs_pos]|lra]. } lra. }
apply Rle_trans with (1 := H). apply Rabs_le_inv in C.
set (c2 := rnd64 (2 * dp)) in *.
assert (Tt : tiny_all <= / 1000000 * tiny).
{ apply Rle_trans with (pow2 (-30) * tiny); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_r; [apply bpow_ge_0|change (pow2 (-30)) with (/ 1073741824); lra]. }
assert (K : F * (1 - g) <= far + / 1000000 * tiny) by lra.
assert (Pt : 0 <= tiny) by apply bpow_ge_0. 
assert (K1 : 0 <= g * F) by (apply Rmult_le_pos; lra).
assert (K2 : g * (g * F) <= / 1048576 * (g * F)) by (apply Rmult_le_compat_r; lra).
assert (K3 : u64 * F <= g * F) by (apply Rmult_le_compat_r; lra).
assert (K4 : g * F * (1 - g) <= g * (far + / 1000000 * tiny)).
{ rewrite (Rmult_comm g F), Rmult_assoc, (Rmult_comm g (1 - g)), <- Rmult_assoc, (Rmult_comm _ g). apply Rmult_le_compat_l; lra. }
assert (K5 : u64 * F * (1 - g) <= u64 * (far + / 1000000 * tiny)).
{ rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
assert (K6 : far * (15/8 * (g + u64)) <= far * c2) by (apply Rmult_le_compat_l; lra).
assert (K7 : u64 * (g * F) <= / 1000000000 * (g * F)) by (apply Rmult_le_compat_r; lra).
assert (K8 : g * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
assert (K9 : u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
assert (0 <= g * far) by (apply Rmult_le_pos; lra). assert (0 <= u64 * far) by (apply Rmult_le_pos; lra).
assert (u64 * far <= g * far) by (apply Rmult_le_compat_r; lra).
clearbody F far c2 g dp. clear - K K1 K2 K3 K4 K5 K6 K7 K8 K9 H0 H1 H2 Pt PF Pf. lra.
Qed.

(* The exact mean from that of the weights in double. *)
Lemma means_apart : Rabs (mean vis w' v - N / W) <= (sum n (fun j => off j * Rabs (v j - x)) + sum n off * E) / least.
Proof.
set (X := N / W). assert (EN : N = X * W) by (unfold X; field; assert (0 < W) by exact W_pos; lra).
rewrite mean_kept. assert (least_kept : least <= sum n w').
{ rewrite <- (sum_idle w'); [exact least_ok|intros j Hj; apply idle, Hj]. }
assert (W' : 0 < sum n w') by lra.
assert (D : (mean n w' v - X) * sum n w' = sum n (fun j => (w' j - w j) * (v j - X))).
{ unfold mean. rewrite (sum_ext n (fun j => (w' j - w j) * (v j - X)) (fun j => (w' j * v j - w' j * X) - (w j * v j - w j * X))) by (intros; ring).
  rewrite !sum_minus, !sum_scal_r. fold N. rewrite <- W_kept, EN. field. lra. }
assert (B : Rabs (mean n w' v - X) * sum n w' <= sum n (fun j => off j * Rabs (v j - x)) + sum n off * E).
{ rewrite <- (Rabs_pos_eq (sum n w')) by lra. rewrite <- Rabs_mult, D. eapply Rle_trans; [apply sum_abs|].
  rewrite <- sum_scal_r, <- sum_plus. apply sum_le. intros j Hj. rewrite Rabs_mult.
  assert (Rabs (v j - X) <= Rabs (v j - x) + E).
  { unfold E. fold X. replace (v j - X) with ((v j - x) + (x - X)) by ring. apply Rabs_triang. }
  rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat; [apply Rabs_pos|apply Rabs_pos|apply exact, Hj|exact H]. }
apply (Rmult_le_reg_r least); [exact least_pos|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
apply Rle_trans with (2 := B). apply Rmult_le_compat_l; [apply Rabs_pos|exact least_kept].
Qed.

(** theorem: sparse_mean — step 4 of the double tier of the sparse kernels: a weighted mean in double, of weights that are each within off of the exact ones, is within the radius of the exact mean, as C evaluates it with its own roundings. used by: src/sparse/enclose.c *)
Theorem sparse_mean : Rabs (x - mean vis w' v) <=
  mean_radius n vis a x den (fl rnd64 rnd64 far_t) (fl rnd64 rnd64 off_t) least.
Proof.
assert (MA := means_apart). assert (FE := far_enough). destruct off_x_enough as [OX OT]. destruct tiny_low as [TL T2].
assert (U := u64_size). assert (T := eta_size). assert (Pt : 0 < tiny) by apply bpow_gt_0.
assert (Et : eta <= u64 * tiny) by (rewrite <- bpow_plus; apply bpow_le; lia).
assert (Ut : u64 * tiny <= / 1000000000 * tiny) by (apply Rmult_le_compat_r; lra).
unfold mean_radius, moved_c. set (ox := off_x_c n vis a x den) in *.
set (far := fl rnd64 rnd64 far_t) in *. set (dp := rnd64 (2 * depth_c n)) in *.
assert (Pdp : 0 <= dp).
{ destruct few as [_ [F2 _]]. destruct (depth_enough n F2) as [G1 _].
  pose proof (pow_R1_Rle (1 + u64) (S (chain_depth n)) ltac:(lra)). apply rnd_pos. lra. }
assert (Pf : 0 <= far).
{ destruct fars as [S [P _]]. apply (fl_sum_pos _ _ _ _ S P). intros j Hj. apply Rmult_le_pos; [apply off_pos, Hj|apply Rabs_pos]. }
set (So := sum n off) in *.
assert (PS : 0 <= So) by (apply sum_nonneg; intros; apply off_pos; assumption).
(* the sum of all off *)
assert (LT : low (rnd64 (fl rnd64 rnd64 off_t * slack)) So 2 0).
{ destruct offs as [Z [P [S D]]]. assert (H := plain_sum _ _ _ P S).
  rewrite (sum_ext n (fun j => Rabs (off j)) off) in H by (intros; apply Rabs_pos_eq, off_pos; assumption). fold So in H.
  destruct few as [_ [_ F3]]. assert (G := gamma_up n u64 (proj1 U) F3).
  assert (Q : (1 + u64) ^ depth off_t <= (1 + u64) ^ n) by (apply Rle_pow; [lra|exact D]).
  change (pow2 (-22)) with (/ 4194304) in F3. change (pow2 (-21)) with (/ 2097152) in G.
  assert (B : ((1 + u64) ^ depth off_t - 1) * So <= / 4000000 * So) by (apply Rmult_le_compat_r; lra).
  set (so := fl rnd64 rnd64 off_t) in *. apply Rabs_le_inv in H.
  assert (B2 : So <= so * slack) by (change (pow2 (-20)) with (/ 1048576); lra).
  assert (L0 := low_given (so * slack) So (conj PS B2)). assert (L1 := low_rnd _ _ 0 0 1 L0 ltac:(lra)).
  destruct (Req_dec So 0) as [Z0|NZ].
  - rewrite Z0. destruct L1 as [_ [Q1 _]]. repeat split; lra.
  - apply (low_absorb _ _ _ _ 2 L1); [|lra]. rewrite Rplus_0_l.
    assert (pow2 (-1001) <= So).
    { assert (X : exists j, (j < n)%nat /\ off j <> 0).
      { apply Classical_Prop.NNPP. intros C. apply NZ. apply sum_zero. intros j Hj. apply Classical_Prop.NNPP. intros C2. apply C. exists j. tauto. }
      destruct X as [j [Hj Nj]]. destruct (off_ok j Hj) as [Zj|Lj]; [contradiction|].
      apply Rle_trans with (1 := Lj). apply (sum_ge_term n off j); [intros; apply off_pos; assumption|exact Hj]. }
    apply Rle_trans with (u64 * pow2 (-1001)); [rewrite <- bpow_plus; apply bpow_le; lia|]. apply Rmult_le_compat_l; lra. }
assert (LC : low (rnd64 (1 + dp)) (1 + dp) 2 0).
{ apply (low_absorb _ _ 1 eta 2 (low_one (1 + dp) ltac:(lra))); [|lra].
  apply Rle_trans with (1 := Et). apply Rmult_le_compat_l; [lra|]. assert (tiny <= 1) by (apply (bpow_le radix2 (-1000) 0); lia). lra. }
assert (L1 := low_times _ _ _ _ _ _ 3 (low_given far far (conj Pf (Rle_refl _))) LC ltac:(lra)).
assert (LO : low (rnd64 (ox + rnd64 (4 * u64 * Rabs x))) ox 2 0).
{ assert (P4 : 0 <= rnd64 (4 * u64 * Rabs x)) by (apply rnd_pos; apply Rmult_le_pos; [lra|apply Rabs_pos]).
  assert (Q0 : 0 <= ox <= ox + rnd64 (4 * u64 * Rabs x)) by lra. assert (L0 := low_given _ _ Q0).
  apply (low_absorb _ _ 1 (0 + eta) 2); [apply (low_rnd _ _ 0 0 1 L0); lra| |lra]. rewrite Rplus_0_l.
  apply Rle_trans with (1 := Et). apply Rmult_le_compat_l; lra. }
assert (L2 := low_times _ _ _ _ _ _ 5 LT LO ltac:(lra)).
assert (L3 := low_sum _ _ _ _ _ _ _ _ 7 (low_sum _ _ _ _ _ _ _ _ 6 L1 L2 ltac:(lra) ltac:(lra)) TL ltac:(lra) ltac:(lra)).
set (B := far * (1 + dp) + So * ox + (INR n + 2) * tiny) in *.
assert (P1 : 0 <= far * (1 + dp)) by (apply Rmult_le_pos; lra). assert (P2 : 0 <= So * ox) by (apply Rmult_le_pos; lra).
assert (PB : 2 * tiny <= B) by (unfold B; lra).
assert (Et4 : 4 * eta <= u64 * tiny).
{ change 4 with (pow2 2). rewrite <- !bpow_plus. apply bpow_le. lia. }
assert (UB : u64 * tiny <= u64 * B) by (apply Rmult_le_compat_l; lra).
apply (low_absorb _ _ 7 _ 8) in L3; [|lra|lra].
assert (L4 := low_div least _ _ 8 9 L3 least_pos ltac:(lra)).
assert (PQ : 0 <= B / least) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, least_pos]).
assert (Q2 : 0 <= slack <= 2) by (change (pow2 (-20)) with (/ 1048576); lra).
assert (L5 := low_prod_r slack 2 _ _ 9 eta 10 L4 Q2 ltac:(lra)).
assert (Pox : 0 <= ox <= ox) by lra.
assert (L6 := low_sum _ _ _ _ _ _ _ _ 11 L5 (low_given ox ox Pox) ltac:(lra) ltac:(lra)).
assert (L7 := low_end _ _ _ _ (low_prod_r slack 2 _ _ 11 _ 12 L6 Q2 ltac:(lra))).
apply Rle_trans with (2 := L7). clear L1 L2 L3 L4 L5 L6 L7 LT LC LO TL.
assert (MB : (sum n (fun j => off j * Rabs (v j - x)) + So * E) / least <= B / least).
{ apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, least_pos|]. unfold B.
  assert (PE : 0 <= E) by apply Rabs_pos. assert (So * E <= So * ox) by (apply Rmult_le_compat_l; lra). fold dp far in FE. lra. }
replace (x - mean vis w' v) with ((x - N / W) - (mean vis w' v - N / W)) by ring.
unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. fold E.
set (b := B / least) in *. change (pow2 (-46)) with (/ 70368744177664). change (pow2 (-20)) with (/ 1048576).
assert (PE : 0 <= E) by apply Rabs_pos.
assert (MA' : Rabs (mean vis w' v - N / W) <= b) by lra.
clearbody b ox E. clear - MA' OX OT PE PQ Et4 Ut Pt T. lra.
Qed.
End Row.
