(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Causal attention with a polynomial of q.k as weight, through states of monomials, over any
   commutative ring. Values are rows of e columns; a column of ones gives the normaliser. *)
From Coq Require Permutation.
From mathcomp Require Import all_ssreflect all_algebra.
From Attest Require Import taylor.multinomial.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section State.
Variables (R : comRingType) (d e P : nat) (alpha : nat -> R).
Implicit Types (q k : 'I_d -> R) (v : 'rV[R]_e).

Definition dot q k : R := \sum_(i < d) q i * k i.

(* The truncated kernel: alpha_m = scale^m / m! makes it T_P(scale q.k). *)
Definition kernel q k : R := \sum_(m < P.+1) alpha m * dot q k ^+ m.

(** theorem: tensor_identity — (q.k)^m = <q^(x)m, k^(x)m>, a sum of d^m products over words of length m.
    used by: src/taylor/basis.c; claim S0-01 *)
Theorem tensor_identity m q k :
  dot q k ^+ m = \sum_(w : {ffun 'I_m -> 'I_d}) (\prod_(a < m) q (w a)) * (\prod_(a < m) k (w a))
  /\ #|{: {ffun 'I_m -> 'I_d}}| = (d ^ m)%N.
Proof.
split; last by rewrite card_ffun !card_ord.
have -> : dot q k ^+ m = \prod_(a < m) \sum_(i < d) q i * k i by rewrite prodr_const card_ord.
by rewrite bigA_distr_bigA; apply: eq_bigr => f _; rewrite big_split.
Qed.

Definition index := exponents (ordinal_finType d) P.
Definition monomial (x : 'I_d -> R) (b : index) : R := \prod_i x i ^+ b i.
(* m!/b! alpha_m, m = |b|: all factors are on the query side. *)
Definition factor (b : index) : R := alpha (order b) *+ coefficient (order b) (fun i => b i).

(** theorem: multinomial_identity — sum_{m <= P} alpha_m (q.k)^m = sum over |b| <= P of
    alpha_|b| |b|!/b! q^b k^b.
    used by: src/taylor/basis.c, src/taylor/row.c, src/taylor/kernel.c *)
Theorem multinomial_identity q k :
  kernel q k = \sum_(b : index | (order b <= P)%N) factor b * monomial q b * monomial k b.
Proof.
rewrite /kernel [RHS](partition_big (fun b : index => inord (order b) : 'I_P.+1) xpredT) //=.
apply: eq_bigr => m _; have mP : (m <= P)%N by rewrite -ltnS ltn_ord.
rewrite /dot (multinomial_theorem _ mP) mulr_sumr.
have E (b : index) : (order b <= P)%N && (inord (order b) == m :> 'I_P.+1) = (order b == m).
  apply/andP/eqP => [[H /eqP <-]|->]; first by rewrite inordK.
  by rewrite -ltnS ltn_ord inord_val.
rewrite (eq_bigl _ _ E); apply: eq_bigr => b /eqP Eb.
rewrite /factor Eb mulrnAr -!mulrnAl -mulrA; congr (_ * _).
by rewrite /monomial -big_split; apply: eq_bigr => i _; rewrite exprMn.
Qed.

(* A state: one row of e columns for each monomial. *)
Definition state := index -> 'rV[R]_e.
Definition token := (('I_d -> R) * 'rV[R]_e)%type.
Definition empty : state := fun=> 0.
Definition add (A B : state) : state := fun b => A b + B b.
(* One token: decay, then add. *)
Definition step (g : R) (A : state) (t : token) : state := fun b => g *: A b + monomial t.1 b *: t.2.
Definition run (g : R) (A : state) (s : seq token) : state := foldl (step g) A s.
Definition read (A : state) q : 'rV[R]_e :=
  \sum_(b : index | (order b <= P)%N) (factor b * monomial q b) *: A b.
(* The plain sum over keys. *)
Definition direct q (s : seq token) : 'rV[R]_e := \sum_(t <- s) kernel q t.1 *: t.2.

Lemma read_step g A t q : read (step g A t) q = g *: read A q + kernel q t.1 *: t.2.
Proof.
rewrite /read /step multinomial_identity scaler_suml scaler_sumr -big_split /=.
by apply: eq_bigr => b _; rewrite scalerDr !scalerA [g * _]mulrC.
Qed.

Lemma read_empty q : read empty q = 0.
Proof. by rewrite /read big1 // => b _; rewrite scaler0. Qed.

Lemma read_add A B q : read (add A B) q = read A q + read B q.
Proof. by rewrite /read -big_split; apply: eq_bigr => b _; rewrite scalerDr. Qed.

Lemma read_run A s q : read (run 1 A s) q = read A q + direct q s.
Proof.
rewrite /run /direct; elim/last_ind: s => [|s t IH]; first by rewrite big_nil addr0.
by rewrite foldl_rcons read_step scale1r IH -cats1 big_cat big_seq1 /= addrA.
Qed.

(** theorem: recurrence_is_truncated_kernel — reading the state after any sequence of tokens gives the
    plain sum of the truncated kernel over them, added to what the initial state gives.
    used by: src/taylor/identity.c, src/taylor/kernel.c, src/taylor/reference.c *)
Theorem recurrence_is_truncated_kernel s q :
  read (run 1 empty s) q = direct q s /\ forall A, read (run 1 A s) q = read A q + direct q s.
Proof. by split=> [|A]; rewrite read_run ?read_empty ?add0r. Qed.

(** theorem: recurrence_with_decay — with decay g the weight of token j of n is g^(n-1-j) times the
    kernel, and an initial state decays by g^n.
    used by: src/taylor/kernel.c, src/taylor/reference.c *)
Theorem recurrence_with_decay g A s q (t0 : token) :
  read (run g A s) q = g ^+ size s *: read A q +
    \sum_(j < size s) (g ^+ (size s - j.+1) * kernel q (nth t0 s j).1) *: (nth t0 s j).2.
Proof.
rewrite /run; elim/last_ind: s => [|s t IH]; first by rewrite big_ord0 addr0 expr0 scale1r.
rewrite foldl_rcons size_rcons big_ord_recr /= subnn expr0 mul1r nth_rcons ltnn eqxx.
rewrite read_step IH scalerDr scalerA -exprS addrA; congr (_ + _ + _).
rewrite scaler_sumr; apply: eq_bigr => j _.
by rewrite scalerA mulrA -exprS nth_rcons ltn_ord subSS -subSn.
Qed.

(** theorem: chunks — for every split of the tokens into chunks, the state carried over from the chunks
    before plus the plain sum inside the current one gives the plain sum over all of them.
    used by: src/taylor/identity.c, src/taylor/kernel.c *)
Theorem chunks (before : seq (seq token)) inside q :
  read (foldl (run 1) empty before) q + direct q inside = direct q (flatten before ++ inside).
Proof.
rewrite /direct big_cat /=; congr (_ + _).
have H A : read (foldl (run 1) A before) q = read A q + direct q (flatten before).
  elim: before A => [|c cs IH] A /=; first by rewrite /direct big_nil addr0.
  by rewrite IH read_run /direct big_cat /= addrA.
by rewrite H read_empty add0r.
Qed.

(* Every way to build a state: token by token from a state, or by adding two states; the tokens count
   in any order. *)
Inductive builds : state -> seq token -> Prop :=
| build_empty : builds empty [::]
| build_step A s t : builds A s -> builds (step 1 A t) (rcons s t)
| build_merge A B s s' : builds A s -> builds B s' -> builds (add A B) (s ++ s')
| build_order A s p : builds A s -> Permutation.Permutation s p -> builds A p.

Lemma direct_order q s p : Permutation.Permutation s p -> direct q s = direct q p.
Proof.
rewrite /direct; elim=> [//|t x y _ IH|t t' x|x y z _ -> _ ->] //.
- by rewrite !big_cons IH.
- by rewrite !big_cons addrCA.
Qed.

(* The naive basis: a row of e columns for each word of at most P letters. *)
Definition read_words s q : 'rV[R]_e := \sum_(m < P.+1) alpha m *:
  \sum_(w : {ffun 'I_m -> 'I_d}) (\prod_(a < m) q (w a)) *: \sum_(t <- s) (\prod_(a < m) t.1 (w a)) *: t.2.

Lemma read_words_direct s q : read_words s q = direct q s.
Proof.
rewrite /read_words /direct.
transitivity (\sum_(m < P.+1) \sum_(t <- s) (alpha m * dot q t.1 ^+ m) *: t.2); last first.
  by rewrite exchange_big; apply: eq_bigr => t _; rewrite /kernel scaler_suml.
apply: eq_bigr => m _; rewrite scaler_sumr.
transitivity (\sum_(w : {ffun 'I_m -> 'I_d}) \sum_(t <- s)
    (alpha m * ((\prod_(a < m) q (w a)) * \prod_(a < m) t.1 (w a))) *: t.2).
  by apply: eq_bigr => w _; rewrite !scaler_sumr; apply: eq_bigr => t _; rewrite !scalerA mulrA.
rewrite exchange_big; apply: eq_bigr => t _.
by rewrite (tensor_identity m q t.1).1 mulr_sumr scaler_suml.
Qed.

(** theorem: merges — every tree of merged states, in chunks of any length and with its tokens in any
    order, reads as the plain sum over all of them, and so does the state of the naive tensor basis.
    used by: src/taylor/identity.c *)
Theorem merges A s q : builds A s -> read A q = direct q s /\ read_words s q = direct q s.
Proof.
move=> H; split; last exact: read_words_direct.
elim: H => {A s} [|B s' t _ IH|B C s' s'' _ IH _ IH'|B s' p _ IH E].
- by rewrite /direct big_nil read_empty.
- by rewrite read_step scale1r IH /direct -cats1 big_cat big_seq1.
- by rewrite read_add IH IH' /direct big_cat.
- by rewrite IH (direct_order q E).
Qed.

(** theorem: state_additivity — the state of a sequence is the sum of k^b v over its tokens: additive
    under concatenation, the same for every order of the tokens.
    used by: src/taylor/state.c, src/taylor/identity.c; claim S0-08 *)
Theorem state_additivity s s' b :
  run 1 empty s b = \sum_(t <- s) monomial t.1 b *: t.2 /\
  run 1 empty (s ++ s') b = add (run 1 empty s) (run 1 empty s') b /\
  (forall p, Permutation.Permutation s p -> run 1 empty p b = run 1 empty s b).
Proof.
have H r : run 1 empty r b = \sum_(t <- r) monomial t.1 b *: t.2.
  rewrite /run; elim/last_ind: r => [|r t IH]; first by rewrite big_nil.
  by rewrite foldl_rcons /step IH scale1r -cats1 big_cat big_seq1.
split; first exact: H.
split; first by rewrite /add !H big_cat.
move=> p E; rewrite !H; elim: E => [//|t x y _ IH|t t' x|x y z _ -> _ ->] //.
  by rewrite !big_cons IH.
by rewrite !big_cons addrCA.
Qed.
End State.

(** theorem: state_size — the state of order m has binom(d+m-1, m) rows, a whole one binom(d+P, P),
    where the tensor power has d^m.
    used by: src/taylor/basis.c, src/taylor/rank.c; claim S0-04 *)
Theorem state_size d m : (0 < d)%N ->
  #|[set b : index d m | order b == m]| = 'C(d + m - 1, m) /\
  #|[set b : index d m | (order b <= m)%N]| = 'C(d + m, m).
Proof.
move=> H; have := @number_of_monomials (ordinal_finType d) m.
by rewrite card_ord => /(_ H).
Qed.
