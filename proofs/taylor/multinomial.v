(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The multinomial theorem over any commutative ring, its coefficients and its number of terms. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.

Section Coefficient.
Variable S : finType.

(* The number of words of length n with k s letters s. *)
Definition coefficient n (k : S -> nat) := #|[set t : n.-tuple S | [forall s, count_mem s t == k s]]|.

Lemma coefficient_rec n k :
  coefficient n.+1 k = \sum_(s0 | 0 < k s0) coefficient n (fun s => k s - (s == s0)).
Proof.
rewrite /coefficient -sum1_card (partition_big (fun t : n.+1.-tuple S => thead t) xpredT) //=.
rewrite [RHS]big_mkcond /=; apply: eq_bigr => s0 _.
rewrite (reindex_onto (fun t : n.-tuple S => [tuple of s0 :: t]) (fun t : n.+1.-tuple S => [tuple of behead t])) /=; last first.
  by move=> t /andP[_ /eqP <-]; rewrite [RHS]tuple_eta; apply: val_inj.
case: ifP => k0.
  rewrite -sum1_card; apply: eq_bigl => t; rewrite !inE theadE eqxx andbT.
  have -> : [tuple of behead (s0 :: t)] == t by apply/eqP/val_inj.
  rewrite andbT; apply/forallP/forallP => H s; move: (H s) => /= /eqP.
    by move=> <-; rewrite [s == s0]eq_sym addKn.
  move=> ->; case: (altP (s =P s0)) => [->|/negbTE ns].
    by rewrite eqxx subnKC.
  by rewrite [s0 == s]eq_sym ns subn0.
apply: big1 => t /andP[/andP[]]; rewrite inE => /forallP/(_ s0) /=.
by rewrite eqxx => /eqP E; move: k0; rewrite -E.
Qed.

(** theorem: multinomial_coefficient — the coefficient of prod_s x_s^{k_s} is m!/prod_s k_s!, m = sum k.
    used by: src/taylor/basis.c, src/toeplitz/decompose.c *)
Theorem multinomial_coefficient n k : \sum_s k s = n -> coefficient n k * \prod_s (k s)`! = n`!.
Proof.
elim: n k => [|n IH] k Hk.
  have k0 s : k s = 0.
    by move/eqP: Hk; rewrite sum_nat_eq0 => /forallP/(_ s)/eqP.
  rewrite big1 ?muln1 => [|s _]; last by rewrite k0.
  rewrite /coefficient (_ : [set _ | _] = [set [tuple]]) ?cards1 //.
  apply/setP=> t; rewrite !inE tuple0 eqxx; apply/forallP=> s /=; by rewrite k0.
rewrite coefficient_rec big_distrl /= factS -[X in X * _]Hk big_distrl /= [RHS](bigID (fun s => 0 < k s)) /=.
rewrite [X in _ = _ + X]big1 ?addn0 => [|s]; last by rewrite -eqn0Ngt => /eqP->.
apply: eq_bigr => s0 k0.
have -> : \prod_s (k s)`! = k s0 * \prod_s (k s - (s == s0))`!.
  rewrite (bigD1 s0) //= [in RHS](bigD1 s0) //= eqxx subn1 mulnA -{1}(prednK k0) factS prednK //.
  by congr (_ * _); apply: eq_bigr => s /negbTE->; rewrite subn0.
rewrite mulnCA IH //.
apply/eqP; rewrite -(eqn_add2r 1) [n + 1]addn1 -Hk (bigD1 s0) //= [X in _ == X](bigD1 s0) //= eqxx.
rewrite addnAC subnK //; apply/eqP; congr (_ + _).
by apply: eq_bigr => s /negbTE->; rewrite subn0.
Qed.

(* Exponents of at most P. *)
Definition exponents P := {ffun S -> 'I_P.+1}.
Definition order P (k : exponents P) : nat := \sum_s k s.

Definition as_tuple P (k : exponents P) : #|S|.-tuple 'I_P.+1 := [tuple k (enum_val i) | i < #|S|].

Lemma as_tuple_bij P : bijective (@as_tuple P).
Proof.
exists (fun t : #|S|.-tuple 'I_P.+1 => [ffun s => tnth t (enum_rank s)]).
  by move=> k; apply/ffunP=> s; rewrite ffunE tnth_mktuple enum_rankK.
by move=> t; apply: eq_from_tnth => i; rewrite tnth_mktuple ffunE enum_valK.
Qed.

Lemma as_tuple_sum P (k : exponents P) : \sum_(i <- as_tuple k) i = order k.
Proof.
rewrite big_tuple /order (reindex (@enum_val S xpredT)) /=.
  by apply: eq_bigr => i _; rewrite tnth_mktuple.
by exists enum_rank => s _; [apply: enum_valK | apply: enum_rankK].
Qed.

(** theorem: number_of_monomials — there are binom(d+m-1, m) monomials of order m in d >= 1 variables,
    and binom(d+P, P) of orders 0 .. P.
    used by: src/taylor/basis.c, src/toeplitz/decompose.c *)
Theorem number_of_monomials m : 0 < #|S| ->
  #|[set k : exponents m | order k == m]| = 'C(#|S| + m - 1, m) /\
  #|[set k : exponents m | order k <= m]| = 'C(#|S| + m, m).
Proof.
move=> S0; split.
- have -> : [set k : exponents m | order k == m] =
    (@as_tuple m) @^-1: [set t : #|S|.-tuple 'I_m.+1 | \sum_(i <- t) i == m].
    by apply/setP=> k; rewrite !inE as_tuple_sum.
  rewrite on_card_preimset; last exact: onW_bij (as_tuple_bij m).
  move: S0; case: #|S| => // n _; rewrite card_ord_partitions addSn subn1 /=.
  by rewrite -bin_sub ?leq_addr // addKn.
- have -> : [set k : exponents m | order k <= m] =
    (@as_tuple m) @^-1: [set t : #|S|.-tuple 'I_m.+1 | \sum_(i <- t) i <= m].
    by apply/setP=> k; rewrite !inE as_tuple_sum.
  rewrite on_card_preimset; last exact: onW_bij (as_tuple_bij m).
  by rewrite card_partial_ord_partitions -bin_sub ?leq_addr // addKn.
Qed.
End Coefficient.

Section Theorem_.
Local Open Scope ring_scope.
Variables (R : comRingType) (S : finType) (a : S -> R).

Lemma word_product (t : seq S) : \prod_(s <- t) a s = \prod_s a s ^+ count_mem s t.
Proof.
elim: t => [|x t IH]; first by rewrite big_nil big1 // => s _; rewrite expr0.
rewrite big_cons IH /= [RHS](eq_bigr (fun s => a s ^+ (x == s) * a s ^+ count_mem s t)); last first.
  by move=> s _; rewrite exprD.
rewrite big_split /=; congr (_ * _).
rewrite (bigD1 x) //= eqxx expr1 [X in _ * X]big1 ?mulr1 // => s E.
by rewrite eq_sym (negbTE E) expr0.
Qed.

Lemma words m : (\sum_s a s) ^+ m = \sum_(t : m.-tuple S) \prod_(s <- t) a s.
Proof.
have -> : (\sum_s a s) ^+ m = \prod_(i < m) \sum_s a s by rewrite prodr_const card_ord.
rewrite bigA_distr_bigA /=.
rewrite (reindex (fun t : m.-tuple S => [ffun i => tnth t i])) /=; last first.
  exists (fun f : {ffun 'I_m -> S} => [tuple f i | i < m]) => t _.
    by apply: eq_from_tnth => i; rewrite tnth_mktuple ffunE.
  by apply/ffunP=> i; rewrite ffunE tnth_mktuple.
by apply: eq_bigr => t _; rewrite big_tuple; apply: eq_bigr => i _; rewrite ffunE.
Qed.

Lemma count_le m P (t : m.-tuple S) s : (m <= P)%N -> (count_mem s t < P.+1)%N.
Proof. by move=> H; rewrite ltnS (leq_trans (count_size _ _)) // size_tuple. Qed.

Definition letters P m (t : m.-tuple S) : exponents S P := [ffun s => inord (count_mem s t)].

Lemma lettersE P m (t : m.-tuple S) s : (m <= P)%N -> letters P t s = count_mem s t :> nat.
Proof. by move=> H; rewrite ffunE inordK // (count_le _ _ H). Qed.

Lemma letters_order P m (t : m.-tuple S) : (m <= P)%N -> order (letters P t) = m.
Proof.
move=> H; rewrite /order (eq_bigr (fun s => count_mem s t)) => [|s _]; last exact: lettersE.
rewrite -[RHS](size_tuple t) -sum1_size.
rewrite (eq_bigr (fun s => \sum_(x <- t | x == s) 1)%N) => [|s _]; last by rewrite sum1_count.
rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => x _.
by rewrite (big_pred1 x) // => s; rewrite /= eq_sym.
Qed.

(** theorem: multinomial_theorem — (sum_s a_s)^m = sum over exponents k with |k| = m of m!/k! prod_s
    a_s^{k_s}, over any commutative ring.
    used by: src/taylor/basis.c, src/toeplitz/decompose.c *)
Theorem multinomial_theorem P m : (m <= P)%N ->
  (\sum_s a s) ^+ m =
  \sum_(k : exponents S P | order k == m) (\prod_s a s ^+ k s) *+ coefficient m (fun s => k s).
Proof.
move=> H; rewrite words (partition_big (@letters P m) (fun k => order k == m)) /=; last first.
  by move=> t _; rewrite letters_order.
apply: eq_bigr => k _.
rewrite (eq_bigr (fun=> \prod_s a s ^+ k s)) => [|t /eqP<-]; last first.
  by rewrite word_product; apply: eq_bigr => s _; rewrite lettersE.
rewrite sumr_const /coefficient; congr (_ *+ _); apply: eq_card => t.
rewrite !inE; apply/eqP/forallP => [<- s|E]; first by rewrite lettersE.
by apply/ffunP=> s; apply: val_inj; rewrite /= lettersE //; apply/eqP.
Qed.
End Theorem_.
