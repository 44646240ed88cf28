(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Scores q_i R_(j-i) k_j with R_(j-i) = R_i^T R_j, over any field. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(** theorem: rotary_score_rank — the matrix of scores q_i R_(j-i) k_j^T has rank at most d (before exp)
    whenever R_(j-i) = R_i^T R_j: rotary attention is ordinary attention of rotated queries and keys.
    used by: src/toeplitz/rank.c, src/toeplitz/low_rank.c *)
Theorem rotary_score_rank (F : fieldType) (n m d : nat) (rot : int -> 'M[F]_d)
    (q : 'I_n -> 'rV[F]_d) (k : 'I_m -> 'rV[F]_d) :
  (forall i j : nat, rot (j%:Z - i%:Z) = (rot i)^T *m rot j) ->
  let A : 'M[F]_(n, m) := \matrix_(i, j) (q i *m rot (j%:Z - i%:Z) *m (k j)^T) 0 0 in
  let Q : 'M[F]_(n, d) := \matrix_i (q i *m (rot i)^T) in
  let K : 'M[F]_(m, d) := \matrix_j (k j *m (rot j)^T) in
  A = Q *m K^T /\ (\rank A <= d)%N.
Proof.
move=> law A Q K.
have E : A = Q *m K^T.
  apply/matrixP=> i j; rewrite [LHS]mxE law mulmxA -mulmxA.
  rewrite [RHS]mxE mxE; apply: eq_bigr => l _.
  by rewrite /Q /K !mxE; congr (_ * _); apply: eq_bigr => a _; rewrite !mxE mulrC.
by split=> //; rewrite E (leq_trans (mulmx_max_rank _ _)).
Qed.
