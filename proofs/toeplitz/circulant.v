(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Products with Toeplitz matrices by circulant embedding and Fourier transforms. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Embedding.
Variables (R : ringType) (m n N : nat) (c : int -> R).

(* Circ(a)_ij = a_((i - j) mod (N + 1)). *)
Definition circulant (a : 'I_N.+1 -> R) : 'M[R]_N.+1 := \matrix_(i, j) a (i - j).
(* First column: c_0 .. c_(m-1), anything, c_(-(n-1)) .. c_(-1). *)
Definition embedded (r : 'I_N.+1) : R := if (r < m)%N then c r%:Z else c (r%:Z - N.+1%:Z).
Definition toeplitz : 'M[R]_(m, n) := \matrix_(i, j) c (i%:Z - j%:Z).
Definition pad (v : 'cV[R]_n) : 'cV[R]_N.+1 :=
  \col_j (if insub (j : nat) : option 'I_n is Some k then v k 0 else 0).

Hypothesis size : (m + n <= N.+2)%N.

Lemma embedded_lag (i j : 'I_N.+1) : (i < m)%N -> (j < n)%N -> embedded (i - j) = c (i%:Z - j%:Z).
Proof.
move=> im jn; rewrite /embedded /=.
have E : ((i + (N.+1 - j) %% N.+1) %% N.+1)%N = if (j <= i)%N then (i - j)%N else (N.+1 + i - j)%N.
  rewrite modnDmr addnBA ?[(i + _)%N]addnC; last exact: ltnW (ltn_ord j).
  case: (leqP j i) => ji.
    by rewrite -addnBA // modnDl modn_small // (leq_ltn_trans (leq_subr _ _)).
  by rewrite modn_small // -[X in (_ < X)%N](addnK j) ltn_sub2r ?ltn_add2l // ?[(N.+1 + j)%N]addnC ?addnS ltnS ?leq_addr // (leq_trans _ (leq_addr _ _)) // ltnW.
rewrite E; case: (leqP j i) => ji.
  by rewrite (leq_ltn_trans (leq_subr _ _) im) subzn.
have jN : (j <= N.+1 + i)%N by rewrite (leq_trans (ltnW (ltn_ord j))) ?leq_addr.
rewrite ifN; last first.
  rewrite -leqNgt leq_subRL // addnC.
  have : (m + j < N.+2)%N by rewrite (leq_trans _ size) // -addnS leq_add2l.
  by rewrite ltnS => /leq_trans; apply; rewrite leq_addr.
by rewrite -subzn // PoszD addrAC -addrA addrACA subrr add0r addrC.
Qed.

(** theorem: circulant_embedding — an m x n Toeplitz matrix is a corner of a circulant of any size of at
    least m + n - 1: its product with a padded column starts with the Toeplitz product.
    used by: src/toeplitz/fft.c, src/toeplitz/fft_pack.c *)
Theorem circulant_embedding (v : 'cV[R]_n) (i : 'I_m) (i' : 'I_N.+1) : (n <= N.+1)%N ->
  i' = i :> nat -> (circulant embedded *m pad v) i' 0 = (toeplitz *m v) i 0.
Proof.
move=> nN Ei; rewrite !mxE [LHS](bigID (fun j : 'I_N.+1 => (j < n)%N)) /=.
rewrite [X in _ + X]big1 ?addr0 => [|j jn]; last by rewrite !mxE insubF ?mulr0 //; apply/negbTE.
rewrite (big_ord_narrow nN) /=.
apply: eq_bigr => j _; rewrite !mxE embedded_lag ?Ei //=.
by rewrite insubT //= => jn; congr (_ * v _ _); apply: val_inj.
Qed.
End Embedding.

Section Fourier.
Variables (F : fieldType) (N : nat) (w : F).
Hypothesis root : w ^+ N.+1 = 1.

Definition transform (u : F) : 'M[F]_N.+1 := \matrix_(k, i) u ^+ (k * i).
Definition spectrum (a : 'I_N.+1 -> F) : 'rV[F]_N.+1 := \row_k \sum_(l < N.+1) w ^+ (k * l) * a l.

Lemma transform_circulant a :
  transform w *m circulant a = diag_mx (spectrum a) *m transform w.
Proof.
apply/matrixP=> k j; rewrite mul_diag_mx !mxE (reindex_inj (addIr j)) mulr_suml.
apply: eq_bigr => l _; rewrite !mxE addrK mulrAC; congr (_ * _).
rewrite -exprD -mulnDr exprM [RHS]exprM /=.
by apply: expr_mod; rewrite exprAC root expr1n.
Qed.

Lemma inverse_transform : (forall i j : 'I_N.+1, w ^+ i = w ^+ j -> i = j) ->
  transform w^-1 *m transform w = N.+1%:R%:M.
Proof.
move=> primitive; have w0 : w != 0.
  by apply: contra_eq_neq root => ->; rewrite expr0n /= eq_sym oner_eq0.
apply/matrixP=> i j; rewrite !mxE.
pose z := w ^- i * w ^+ j.
rewrite (eq_bigr (fun k : 'I_N.+1 => z ^+ k)) => [|k _]; last first.
  by rewrite !mxE /z exprMn !exprVn -!exprM [(k * j)%N]mulnC.
case: (altP (i =P j)) => [ij|ij].
  rewrite (eq_bigr (fun=> 1)) => [|k _]; first by rewrite sumr_const card_ord mulr1n.
  by rewrite /z ij mulVf ?expr1n // expf_neq0.
rewrite mulr0n; have zN : z ^+ N.+1 = 1.
  by rewrite /z exprMn exprVn exprAC root expr1n invr1 mul1r exprAC root expr1n.
have := subrX1 z N.+1; rewrite zN subrr => /esym/eqP; rewrite mulf_eq0 => /orP[|/eqP //].
rewrite subr_eq0 => /eqP z1; case/negP: ij; apply/eqP/primitive.
by rewrite -[LHS]mulr1 -z1 /z mulrA divff ?mul1r // expf_neq0.
Qed.

(** theorem: circulant_by_transforms — with w a primitive root of unity of order N + 1 and F its Fourier
    matrix, F Circ(a) = diag(F a) F, so Circ(a) = F^(-1) diag(F a) F (not F diag(F a) F^(-1)), with
    F^(-1) = conj(F)/(N + 1).
    used by: src/toeplitz/fft.c *)
Theorem circulant_by_transforms a : (forall i j : 'I_N.+1, w ^+ i = w ^+ j -> i = j) ->
  N.+1%:R != 0 :> F ->
  transform w *m circulant a = diag_mx (spectrum a) *m transform w /\
  circulant a = N.+1%:R^-1 *: (transform w^-1 *m diag_mx (spectrum a) *m transform w).
Proof.
move=> primitive N0; split; first exact: transform_circulant.
rewrite -mulmxA -transform_circulant mulmxA inverse_transform // mul_scalar_mx.
by rewrite scalerA mulVf // scale1r.
Qed.
End Fourier.
