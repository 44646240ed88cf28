(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The backward error of softmax attention: what scores moved by at most eps_s t_j and values moved by
   at most eps_v |v_j| can do to the output. An output further away than the explicit bound is explained
   by no such change (src/softmax/perturb.c). *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import problem.row softmax.bound.
Open Scope R_scope.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [L|<-]; [left; apply exp_increasing, L|right; reflexivity]. Qed.

Section Backward.
Variables (n : nat) (s s' t v v' : nat -> R) (eps_s eps_v : R).
Hypothesis some : (0 < n)%nat.
Hypothesis t_pos : forall j, (j < n)%nat -> 0 <= t j.
Hypothesis eps_s_pos : 0 <= eps_s.
Hypothesis eps_v_pos : 0 <= eps_v.
Hypothesis scores : forall j, (j < n)%nat -> Rabs (s' j - s j) <= eps_s * t j.
Hypothesis values : forall j, (j < n)%nat -> Rabs (v' j - v j) <= eps_v * Rabs (v j).

Let w j := exp (s j).
Let w' j := exp (s' j).
Let W := sum n w.
Let p j := w j / W.
Let x := mean n w v.
Let x' := mean n w' v'.
Let delta j := eps_s * t j.

Lemma w_positive j : (j < n)%nat -> 0 <= w j. Proof. intros _. left. apply exp_pos. Qed.
Lemma W_positive : 0 < W. Proof. apply sum_all_pos; [exact some|intros; apply exp_pos]. Qed.
Lemma delta_positive j : (j < n)%nat -> 0 <= delta j.
Proof. intros H. apply Rmult_le_pos; [exact eps_s_pos|apply t_pos, H]. Qed.

Lemma moved_weights j : (j < n)%nat -> w j * exp (- delta j) <= w' j <= w j * exp (delta j).
Proof.
intros H. unfold w, w'. rewrite <- !exp_plus. pose proof (Rabs_range _ _ (scores j H)).
split; apply exp_le; unfold delta; lra.
Qed.

(* sum p (eps_v |v| e^(eps_s t) + (e^(eps_s t) - 1) |v - x|) / sum p e^(-eps_s t) *)
Definition explicit_bound :=
  sum n (fun j => p j * (eps_v * Rabs (v j) * exp (eps_s * t j) + (exp (eps_s * t j) - 1) * Rabs (v j - x))) /
  sum n (fun j => p j * exp (- (eps_s * t j))).

(** theorem: backward_explicit — scores moved by at most eps_s t and values by at most eps_v |v| move the output of softmax attention by at most the explicit bound, for changes of any size. used by: src/softmax/perturb.c *)
Theorem backward_explicit : Rabs (x' - x) <= explicit_bound.
Proof.
pose proof W_positive as PW.
assert (PL := least_pos n w delta w_positive PW). assert (SL := sum_least n w delta w' PW moved_weights).
assert (SP := spread_bounds n w delta w' v w_positive PW delta_positive moved_weights).
assert (ST := sum_total n w delta w' v w_positive PW moved_weights).
assert (PS := sum'_pos n w delta w' w_positive PW moved_weights).
fold W in SL, ST. fold x in SP.
set (L := least n w delta) in *. set (S' := sum n w') in *.
assert (V : Rabs (x' - mean n w' v) <= eps_v * total n w delta v / L).
{ assert (E : (x' - mean n w' v) * S' = sum n (fun j => w' j * (v' j - v j))).
  { rewrite (sum_ext n (fun j => w' j * (v' j - v j)) (fun j => w' j * v' j - w' j * v j)) by (intros; ring).
    rewrite sum_minus. unfold x', mean. fold S'. field. lra. }
  assert (B : Rabs (x' - mean n w' v) * S' <= eps_v * (W * total n w delta v)).
  { apply Rle_trans with (Rabs ((x' - mean n w' v) * S')).
    { rewrite Rabs_mult, (Rabs_pos_eq S') by lra. apply Rle_refl. }
    rewrite E. eapply Rle_trans; [apply sum_abs|].
    apply Rle_trans with (eps_v * sum n (fun j => Rabs (w' j) * Rabs (v j))).
    - rewrite <- sum_scal. apply sum_le. intros j Hj. rewrite Rabs_mult.
      pose proof (values j Hj) as B. apply (Rmult_le_compat_l (Rabs (w' j))) in B; [lra|apply Rabs_pos].
    - apply Rmult_le_compat_l; [exact eps_v_pos|exact ST]. }
  apply (Rmult_le_reg_r (W * L)); [apply Rmult_lt_0_compat; assumption|].
  replace (eps_v * total n w delta v / L * (W * L)) with (eps_v * (W * total n w delta v)) by (field; lra).
  eapply Rle_trans; [|exact B]. apply Rmult_le_compat_l; [apply Rabs_pos|exact SL]. }
replace (x' - x) with ((x' - mean n w' v) + (mean n w' v - x)) by ring.
eapply Rle_trans; [apply Rabs_triang|].
assert (Eq : explicit_bound = eps_v * total n w delta v / L + spread n w delta v).
{ unfold explicit_bound, spread, L, least, total. fold W.
  rewrite (sum_ext n (fun j => p j * (eps_v * Rabs (v j) * exp (eps_s * t j) + (exp (eps_s * t j) - 1) * Rabs (v j - x)))
    (fun j => eps_v * (w j / W * exp (delta j) * Rabs (v j)) + w j / W * (exp (delta j) - 1) * Rabs (v j - mean n w v)))
    by (intros; unfold p, delta, x; ring).
  rewrite sum_plus, sum_scal. unfold p, delta. unfold Rdiv. ring. }
rewrite Eq. lra.
Qed.

(* A = sum p |v|, S = sum p t |v - x| *)
Let A := sum n (fun j => p j * Rabs (v j)).
Let S := sum n (fun j => p j * t j * Rabs (v j - x)).
Variable tau : R.
Hypothesis first_order : forall j, (j < n)%nat -> eps_s * t j <= tau.

Lemma p_pos j : 0 <= p j.
Proof. apply Rmult_le_pos; [left; apply exp_pos|left; apply Rinv_0_lt_compat, W_positive]. Qed.

(** theorem: backward_first_order — where eps_s t is at most tau, the first-order formula eps_v A + eps_s S is right up to the factor e^(2 tau): an output further away than that is explained by no such change. used by: src/softmax/perturb.c, src/softmax/enclose.c *)
Theorem backward_first_order : Rabs (x' - x) <= exp (2 * tau) * (eps_v * A + eps_s * S).
Proof.
eapply Rle_trans; [exact backward_explicit|].
assert (Pt : 0 <= tau).
{ eapply Rle_trans; [|apply (first_order 0 some)]. apply delta_positive, some. }
assert (Sp : sum n p = 1).
{ unfold p, Rdiv. rewrite sum_scal_r. fold W. apply Rinv_r. pose proof W_positive. lra. }
assert (D : exp (- tau) <= sum n (fun j => p j * exp (- (eps_s * t j)))).
{ replace (exp (- tau)) with (sum n p * exp (- tau)) by (rewrite Sp; ring). rewrite <- sum_scal_r.
  apply sum_le. intros j Hj. apply Rmult_le_compat_l; [apply p_pos|]. apply exp_le.
  pose proof (first_order j Hj). lra. }
pose proof (exp_pos (- tau)) as Pe.
set (num := sum n (fun j => p j * (eps_v * Rabs (v j) * exp (eps_s * t j) + (exp (eps_s * t j) - 1) * Rabs (v j - x)))).
assert (N : num <= exp tau * (eps_v * A + eps_s * S)).
{ unfold num, A, S. rewrite <- !sum_scal, <- sum_plus, <- sum_scal. apply sum_le. intros j Hj.
  set (z := eps_s * t j). assert (Pz : 0 <= z) by apply (delta_positive j Hj).
  assert (Ez : exp z <= exp tau) by apply exp_le, (first_order j Hj).
  (* e^z - 1 <= z e^z *)
  assert (Em : exp z - 1 <= z * exp z).
  { pose proof (exp_above (- z)) as H. apply (Rmult_le_compat_l (exp z)) in H; [|left; apply exp_pos].
    rewrite <- exp_plus in H. replace (z + - z) with 0 in H by ring. rewrite exp_0 in H. lra. }
  pose proof (Rabs_pos (v j)) as P1. pose proof (Rabs_pos (v j - x)) as P2. pose proof (p_pos j) as P3.
  replace (exp tau * (eps_v * (p j * Rabs (v j)) + eps_s * (p j * t j * Rabs (v j - x))))
    with (p j * (eps_v * Rabs (v j) * exp tau + z * exp tau * Rabs (v j - x))) by (unfold z; ring).
  apply Rmult_le_compat_l; [exact P3|]. apply Rplus_le_compat.
  - apply Rmult_le_compat_l; [apply Rmult_le_pos; assumption|exact Ez].
  - apply Rmult_le_compat_r; [exact P2|]. apply Rle_trans with (1 := Em). apply Rmult_le_compat_l; assumption. }
unfold explicit_bound. fold num. set (den := sum n (fun j => p j * exp (- (eps_s * t j)))) in *.
assert (P0 : 0 <= eps_v * A + eps_s * S).
{ apply Rplus_le_le_0_compat; apply Rmult_le_pos; try assumption; apply sum_nonneg; intros j Hj.
  - apply Rmult_le_pos; [apply p_pos|apply Rabs_pos].
  - apply Rmult_le_pos; [apply Rmult_le_pos; [apply p_pos|apply t_pos, Hj]|apply Rabs_pos]. }
apply (Rmult_le_reg_r den); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
apply Rle_trans with (1 := N).
replace (exp (2 * tau)) with (exp tau * exp tau) by (rewrite <- exp_plus; f_equal; ring).
assert (E1 : exp tau * exp (- tau) = 1) by (rewrite <- exp_plus; replace (tau + - tau) with 0 by ring; apply exp_0).
assert (1 <= exp tau * den).
{ rewrite <- E1. apply Rmult_le_compat_l; [left; apply exp_pos|exact D]. }
set (B := eps_v * A + eps_s * S) in *.
assert (0 <= exp tau * B) by (apply Rmult_le_pos; [left; apply exp_pos|exact P0]).
apply (Rmult_le_compat_l (exp tau * B)) in H; [|assumption]. lra.
Qed.
End Backward.

Lemma sum_continuous n (f : nat -> R -> R) : (forall j, (j < n)%nat -> continuity (f j)) -> continuity (fun z => sum n (fun j => f j z)).
Proof.
induction n as [|m IH]; intros H; simpl.
- apply continuity_const. intros a b. reflexivity.
- apply (continuity_plus (fun z => sum m (fun j => f j z)) (f m)); [apply IH; intros; apply H; lia|apply H; lia].
Qed.

(* What changes of scores and values attain. *)
Section Attained.
Variables (n : nat) (s t v theta delta : nat -> R) (eps_s eps_v got : R).
Hypothesis some : (0 < n)%nat.
Hypothesis eps_s_pos : 0 <= eps_s.
Hypothesis eps_v_pos : 0 <= eps_v.
(* a change of every score by theta and of every value by delta |v| *)
Hypothesis scores : forall j, (j < n)%nat -> Rabs (theta j) <= eps_s * t j.
Hypothesis values : forall j, (j < n)%nat -> Rabs (delta j) <= eps_v.

(* a part z of that change *)
Definition changed z := mean n (fun j => exp (s j + z * theta j)) (fun j => v j + z * (delta j * Rabs (v j))).

Lemma weight_continuous j : continuity (fun z => exp (s j + z * theta j)).
Proof.
apply (continuity_comp (fun z => s j + z * theta j) exp); [|apply derivable_continuous, derivable_exp].
apply (continuity_plus (fun _ => s j) (fun z => z * theta j)); [apply continuity_const; intros a b; reflexivity|].
apply (continuity_mult (fun z => z) (fun _ => theta j)); [apply derivable_continuous, derivable_id|apply continuity_const; intros a b; reflexivity].
Qed.

Lemma changed_continuous : continuity changed.
Proof.
unfold changed, mean.
apply (continuity_div (fun z => sum n (fun j => exp (s j + z * theta j) * (v j + z * (delta j * Rabs (v j)))))
  (fun z => sum n (fun j => exp (s j + z * theta j)))).
- apply (sum_continuous n (fun j z => exp (s j + z * theta j) * (v j + z * (delta j * Rabs (v j))))). intros j _.
  apply (continuity_mult (fun z => exp (s j + z * theta j)) (fun z => v j + z * (delta j * Rabs (v j)))); [apply weight_continuous|].
  apply (continuity_plus (fun _ => v j) (fun z => z * (delta j * Rabs (v j)))); [apply continuity_const; intros a b; reflexivity|].
  apply (continuity_mult (fun z => z) (fun _ => delta j * Rabs (v j))); [apply derivable_continuous, derivable_id|apply continuity_const; intros a b; reflexivity].
- apply (sum_continuous n (fun j z => exp (s j + z * theta j))). intros j _. apply weight_continuous.
- intros z. apply Rgt_not_eq, sum_all_pos; [exact some|intros; apply exp_pos].
Qed.

(** theorem: backward_attained — where a change of scores by at most eps_s t and of values by at most eps_v |v| attains or passes an output, a part of it gives that very output, which is the mean of scores and values moved by no more: the backward error is at most that size. used by: src/softmax/perturb.c, src/softmax/side.c *)
Theorem backward_attained : changed 0 <= got <= changed 1 \/ changed 1 <= got <= changed 0 ->
  exists s' v', (forall j, (j < n)%nat -> Rabs (s' j - s j) <= eps_s * t j /\ Rabs (v' j - v j) <= eps_v * Rabs (v j)) /\
    mean n (fun j => exp (s' j)) v' = got.
Proof.
intros H. assert (Z : exists z, 0 <= z <= 1 /\ changed z = got).
{ destruct H as [H|H].
  - destruct (IVT_cor (fun z => changed z - got) 0 1) as [z [Hz E]]; [|lra| |exists z; split; [exact Hz|lra]].
    + apply (continuity_minus changed (fun _ => got)); [exact changed_continuous|apply continuity_const; intros a b; reflexivity].
    + assert (0 <= (got - changed 0) * (changed 1 - got)) by (apply Rmult_le_pos; lra). lra.
  - destruct (IVT_cor (fun z => changed z - got) 0 1) as [z [Hz E]]; [|lra| |exists z; split; [exact Hz|lra]].
    + apply (continuity_minus changed (fun _ => got)); [exact changed_continuous|apply continuity_const; intros a b; reflexivity].
    + assert (0 <= (changed 0 - got) * (got - changed 1)) by (apply Rmult_le_pos; lra). lra. }
destruct Z as [z [Hz E]]. exists (fun j => s j + z * theta j), (fun j => v j + z * (delta j * Rabs (v j))). split; [|exact E].
intros j Hj. split.
- replace (s j + z * theta j - s j) with (z * theta j) by ring. rewrite Rabs_mult, (Rabs_pos_eq z) by lra.
  pose proof (scores j Hj). pose proof (Rabs_pos (theta j)). apply Rle_trans with (1 * Rabs (theta j)); [apply Rmult_le_compat_r; lra|lra].
- replace (v j + z * (delta j * Rabs (v j)) - v j) with (z * (delta j * Rabs (v j))) by ring.
  rewrite !Rabs_mult, Rabs_Rabsolu, (Rabs_pos_eq z) by lra. pose proof (values j Hj). pose proof (Rabs_pos (delta j)). pose proof (Rabs_pos (v j)).
  apply Rle_trans with (1 * (Rabs (delta j) * Rabs (v j))); [apply Rmult_le_compat_r; [apply Rmult_le_pos; assumption|lra]|].
  rewrite Rmult_1_l. apply Rmult_le_compat_r; assumption.
Qed.
End Attained.

(* The change that perturb.c takes: every score by eps_s t with the sign of (v - x) towards, every value by
   eps_v |v| towards. *)
Section Explicit.
Variables (n : nat) (s t v : nat -> R) (eps_s eps_v towards got : R).
Hypothesis some : (0 < n)%nat.
Hypothesis t_pos : forall j, (j < n)%nat -> 0 <= t j.
Hypothesis eps_s_pos : 0 <= eps_s.
Hypothesis eps_v_pos : 0 <= eps_v.
Hypothesis side : towards = 1 \/ towards = -1.

Let w j := exp (s j).
Let W := sum n w.
Let p j := w j / W.
Let x := mean n w v.
Definition lean j := if Rlt_dec 0 (towards * (v j - x)) then eps_s * t j else - (eps_s * t j).

(* add_key, reach_out of kind REACH_ATTAINED *)
Definition attained_reach :=
  sum n (fun j => p j * (eps_v * Rabs (v j) * exp (lean j) + towards * ((exp (lean j) - 1) * (v j - x)))) /
  sum n (fun j => p j * exp (lean j)).

Lemma attained_value : changed n s v lean (fun _ => towards * eps_v) 1 = x + towards * attained_reach.
Proof.
assert (PW : 0 < W) by (apply sum_all_pos; [exact some|intros; apply exp_pos]).
assert (Pp : forall j, 0 < p j) by (intros j; apply Rdiv_lt_0_compat; [apply exp_pos|exact PW]).
assert (PD : 0 < sum n (fun j => p j * exp (lean j))).
{ apply sum_all_pos; [exact some|]. intros j _. apply Rmult_lt_0_compat; [apply Pp|apply exp_pos]. }
assert (T2 : towards * towards = 1) by (destruct side as [-> | ->]; ring).
assert (X : sum n (fun j => p j * (v j - x)) = 0).
{ rewrite (sum_ext n (fun j => p j * (v j - x)) (fun j => (w j * v j - x * w j) * / W)) by (intros; unfold p, Rdiv; ring).
  rewrite sum_scal_r, sum_minus, sum_scal. fold W. unfold x, mean. fold W. field. lra. }
assert (E : changed n s v lean (fun _ => towards * eps_v) 1 =
  sum n (fun j => p j * exp (lean j) * (v j + towards * eps_v * Rabs (v j))) / sum n (fun j => p j * exp (lean j))).
{ unfold changed, mean.
  rewrite (sum_ext n (fun j => exp (s j + 1 * lean j) * (v j + 1 * (towards * eps_v * Rabs (v j))))
    (fun j => W * (p j * exp (lean j) * (v j + towards * eps_v * Rabs (v j))))).
  - rewrite (sum_ext n (fun j => exp (s j + 1 * lean j)) (fun j => W * (p j * exp (lean j)))).
    + rewrite !sum_scal. field. split; lra.
    + intros j _. rewrite Rmult_1_l, exp_plus. unfold p, w. field. lra.
  - intros j _. rewrite !Rmult_1_l, exp_plus. unfold p, w. field. lra. }
rewrite E. unfold attained_reach. set (D := sum n (fun j => p j * exp (lean j))) in *.
assert (N : sum n (fun j => p j * exp (lean j) * (v j + towards * eps_v * Rabs (v j))) = x * D +
  towards * sum n (fun j => p j * (eps_v * Rabs (v j) * exp (lean j) + towards * ((exp (lean j) - 1) * (v j - x))))).
{ unfold D. rewrite <- !sum_scal, <- sum_plus.
  rewrite (sum_ext n (fun j => p j * exp (lean j) * (v j + towards * eps_v * Rabs (v j)))
    (fun j => (x * (p j * exp (lean j)) + towards * (p j * (eps_v * Rabs (v j) * exp (lean j) + towards * ((exp (lean j) - 1) * (v j - x))))) +
      p j * (v j - x))).
  - rewrite sum_plus, X. ring.
  - intros j _. replace (towards * (p j * (eps_v * Rabs (v j) * exp (lean j) + towards * ((exp (lean j) - 1) * (v j - x)))))
      with (towards * p j * eps_v * Rabs (v j) * exp (lean j) + towards * towards * (p j * ((exp (lean j) - 1) * (v j - x)))) by ring.
    rewrite T2. ring. }
rewrite N. field. lra.
Qed.

(** theorem: explicit_attained — the explicit change that moves every score by eps_s t, its value towards the output or away, and every value by eps_v |v| towards it, moves the output by attained_reach, and every output between is given by a smaller one: where |got - x| is at most that, the backward error is at most its size. used by: src/softmax/perturb.c, src/softmax/side.c *)
Theorem explicit_attained : 0 <= towards * (got - x) <= attained_reach ->
  exists s' v', (forall j, (j < n)%nat -> Rabs (s' j - s j) <= eps_s * t j /\ Rabs (v' j - v j) <= eps_v * Rabs (v j)) /\
    mean n (fun j => exp (s' j)) v' = got.
Proof.
intros H. apply (backward_attained n s t v lean (fun _ => towards * eps_v) eps_s eps_v got some).
- intros j Hj. assert (P : 0 <= eps_s * t j) by (apply Rmult_le_pos; [exact eps_s_pos|apply t_pos, Hj]).
  unfold lean. destruct Rlt_dec; [rewrite Rabs_pos_eq by exact P|rewrite Rabs_Ropp, Rabs_pos_eq by exact P]; lra.
- intros j _. rewrite Rabs_mult, (Rabs_pos_eq eps_v) by exact eps_v_pos.
  assert (Rabs towards = 1) by (destruct side as [-> | ->]; [apply Rabs_R1|rewrite Rabs_left by lra; ring]). rewrite H0. lra.
- assert (E0 : changed n s v lean (fun _ => towards * eps_v) 0 = x).
  { unfold changed, x, mean. rewrite (sum_ext n (fun j => exp (s j + 0 * lean j)) w) by (intros; unfold w; f_equal; ring).
    rewrite (sum_ext n (fun j => exp (s j + 0 * lean j) * (v j + 0 * (towards * eps_v * Rabs (v j)))) (fun j => w j * v j)); [reflexivity|].
    intros j _. rewrite !Rmult_0_l, !Rplus_0_r. reflexivity. }
  rewrite E0, attained_value. destruct side as [E | E]; rewrite E in *; [left|right]; lra.
Qed.
End Explicit.
