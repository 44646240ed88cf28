(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Rescaled Toeplitz matrices D1 C D2, over any commutative ring. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Attest Require Import taylor.multinomial.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Rescaled.
Variables (R : comRingType) (m n : nat).
Implicit Types A B : 'M[R]_(m, n).

Definition lag (i : 'I_m) (j : 'I_n) : int := (i%:Z - j%:Z)%R.
Definition rescaled (x : 'I_m -> R) (c : int -> R) (y : 'I_n -> R) : 'M[R]_(m, n) :=
  \matrix_(i, j) (x i * c (lag i j) * y j).
Definition is_rescaled A := exists x c y, A = rescaled x c y.

Lemma rescaled_is_product x c y :
  rescaled x c y = diag_mx (\row_i x i) *m (\matrix_(i, j) c (lag i j)) *m diag_mx (\row_j y j).
Proof. by apply/matrixP=> i j; rewrite mul_mx_diag mul_diag_mx !mxE. Qed.

Definition hadamard A B : 'M[R]_(m, n) := \matrix_(i, j) (A i j * B i j).
Definition power A g : 'M[R]_(m, n) := \matrix_(i, j) (A i j ^+ g).

(** theorem: hadamard_closure — the entrywise product of D1 C D2 and D1' C' D2' is (D1 D1') (C o C')
    (D2 D2'), an entrywise power likewise; D1 C D2 is the product of a diagonal, a Toeplitz and a
    diagonal matrix.
    used by: src/toeplitz/identity.c, src/toeplitz/structure.c *)
Theorem hadamard_closure x c y x' c' y' g :
  hadamard (rescaled x c y) (rescaled x' c' y') =
    rescaled (fun i => x i * x' i) (fun l => c l * c' l) (fun j => y j * y' j) /\
  power (rescaled x c y) g = rescaled (fun i => x i ^+ g) (fun l => c l ^+ g) (fun j => y j ^+ g) /\
  rescaled x c y = diag_mx (\row_i x i) *m (\matrix_(i, j) c (lag i j)) *m diag_mx (\row_j y j).
Proof.
split; [|split; last exact: rescaled_is_product]; apply/matrixP=> i j; rewrite !mxE ?exprMn //.
by rewrite mulrACA [x i * _ * _]mulrACA.
Qed.

Section Decomposition.
Variables (S : finType) (x : S -> 'I_m -> R) (c : S -> int -> R) (y : S -> 'I_n -> R) (g : nat).
Variable p : nat -> R. (* coefficients of a polynomial of degree g, powers of a scale included *)

Let A s := rescaled (x s) (c s) (y s).
(* The scores: a sum of one rescaled Toeplitz matrix for each element of W in use. *)
Let M := \sum_s A s.

Definition term (k : exponents S g) : 'M[R]_(m, n) :=
  rescaled (fun i => \prod_s x s i ^+ k s) (fun l => \prod_s c s l ^+ k s) (fun j => \prod_s y s j ^+ k s).

Lemma term_entry k i j : term k i j = \prod_s A s i j ^+ k s.
Proof.
rewrite mxE -!big_split /=; apply: eq_bigr => s _.
by rewrite mxE !exprMn.
Qed.

Let weights := \matrix_(i, j) \sum_(t < g.+1) p t * M i j ^+ t.
Let share (k : exponents S g) := p (order k) *+ coefficient (order k) (fun s => k s).

Lemma weights_expand : weights = \sum_(k : exponents S g | (order k <= g)%N) share k *: term k.
Proof.
apply/matrixP=> i j; rewrite mxE [RHS]summxE.
rewrite [RHS](partition_big (fun k : exponents S g => inord (order k) : 'I_g.+1) xpredT) //=.
apply: eq_bigr => t _; have tg : (t <= g)%N by rewrite -ltnS ltn_ord.
rewrite /M summxE (multinomial_theorem _ tg) mulr_sumr.
have E (k : exponents S g) : (order k <= g)%N && (inord (order k) == t :> 'I_g.+1) = (order k == t).
  apply/andP/eqP => [[H /eqP <-]|->]; first by rewrite inordK.
  by rewrite -ltnS ltn_ord inord_val.
rewrite (eq_bigl _ _ E); apply: eq_bigr => k /eqP Ek.
by rewrite [RHS]mxE term_entry /share Ek mulrnAr -mulrnAl.
Qed.

(** theorem: decomposition — entrywise p(sum_s A_s) is the sum over all k with |k| <= g of p_|k| |k|!/k!
    times a rescaled Toeplitz matrix with explicit factors, under every mask; there are binom(|S|+g, g)
    terms, and binom(|S|+t-1, t) of degree t.
    used by: src/toeplitz/decompose.c, src/toeplitz/identity.c *)
Theorem decomposition : (0 < #|S|)%N ->
  weights = \sum_(k : exponents S g | (order k <= g)%N) share k *: term k /\
  (forall mask, hadamard mask weights =
    \sum_(k : exponents S g | (order k <= g)%N) share k *: hadamard mask (term k)) /\
  #|[set k : exponents S g | (order k <= g)%N]| = 'C(#|S| + g, g) /\
  #|[set k : exponents S g | order k == g]| = 'C(#|S| + g - 1, g).
Proof.
move=> S0; split; first exact: weights_expand.
split; last by have [-> ->] := number_of_monomials g S0.
move=> mask; rewrite weights_expand; apply/matrixP=> i j; rewrite mxE !summxE mulr_sumr.
by apply: eq_bigr => k _; rewrite !mxE mulrCA.
Qed.
End Decomposition.

(** theorem: empty_product — the term of k = 0 is the matrix of ones, itself Toeplitz.
    used by: src/toeplitz/decompose.c *)
Theorem empty_product (S : finType) x c y (g : nat) :
  term x c y ([ffun=> ord0] : exponents S g) = const_mx 1.
Proof. by apply/matrixP=> i j; rewrite term_entry mxE big1 // => s _; rewrite ffunE expr0. Qed.
End Rescaled.

Section Exponential.
Variable R : comRingType.

Lemma both (a b e a' b' e' : R) : a * b * e * (a' * b' * e') = (a * a') * (b * b') * (e * e').
Proof. by rewrite mulrACA (mulrACA a b). Qed.

Lemma three (a b e a' b' e' a'' b'' e'' : R) :
  a * b * e * (a' * b' * e') * (a'' * b'' * e'') = (a * a' * a'') * (b * b' * b'') * (e * e' * e'').
Proof. by rewrite (both a) (both (a * a')). Qed.

Lemma rescaled_identity m n (A : 'M[R]_(m, n)) (i i' i'' : 'I_m) (j j' j'' : 'I_n) :
  is_rescaled A -> i' = i.+1 :> nat -> i'' = i.+2 :> nat -> j' = j.+1 :> nat -> j'' = j.+2 :> nat ->
  A i j' * A i' j * A i'' j'' = A i j * A i' j'' * A i'' j'.
Proof.
move=> [x [c [y ->]]] Hi' Hi'' Hj' Hj''; rewrite !mxE [LHS]three [RHS]three.
have -> : lag i' j'' = lag i j' by rewrite /lag Hi' Hj' Hj'' subzSS.
have -> : lag i'' j' = lag i' j by rewrite /lag Hi' Hi'' Hj' subzSS.
have -> : lag i'' j'' = lag i j by rewrite /lag Hi'' Hj'' !subzSS.
set a := c (lag i j'); set b := c (lag i' j); set o := c (lag i j).
congr (_ * _ * _); first by rewrite mulrC mulrA.
by rewrite [y j' * _]mulrC mulrAC.
Qed.

(** theorem: exp_leaves_the_class — a rescaled Toeplitz matrix X satisfies X_(i,j+1) X_(i+1,j)
    X_(i+2,j+2) = X_(i,j) X_(i+1,j+2) X_(i+2,j+1); so the 3x3 matrix of ones with z in the last
    corner, entrywise exp of diag(0, 0, log z), is one only for z = 1.
    used by: src/toeplitz/structure.h *)
Theorem exp_leaves_the_class :
  (forall m n (A : 'M[R]_(m, n)) (i i' i'' : 'I_m) (j j' j'' : 'I_n), is_rescaled A ->
     i' = i.+1 :> nat -> i'' = i.+2 :> nat -> j' = j.+1 :> nat -> j'' = j.+2 :> nat ->
     A i j' * A i' j * A i'' j'' = A i j * A i' j'' * A i'' j') /\
  (forall z : R, is_rescaled (\matrix_(i < 3, j < 3) (if (i == 2%N :> nat) && (j == 2%N :> nat) then z else 1)) ->
     z = 1).
Proof.
split=> [m n A i i' i'' j j' j''|z H]; first exact: rescaled_identity.
have := @rescaled_identity _ _ _ (@Ordinal 3 0 isT) (@Ordinal 3 1 isT) (@Ordinal 3 2 isT)
  (@Ordinal 3 0 isT) (@Ordinal 3 1 isT) (@Ordinal 3 2 isT) H erefl erefl erefl erefl.
by rewrite !mxE /= !mul1r.
Qed.
End Exponential.
