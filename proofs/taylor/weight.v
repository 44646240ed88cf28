(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The weights of Taylor attention as the kernels compute them: the loop of C on Flocq's numbers has the
   value of Horner's rule over the reals with roundings, whose error horner_error bounds. *)
From Coq Require Import ZArith Reals Lra Lia List.
From Flocq Require Import Core Binary.
From Attest Require Import enclosure.float_ops enclosure.summation enclosure.horner taylor.weigh.
Import ListNotations.
Open Scope R_scope.
Notation pow2 := (bpow radix2).

Section Weigh.
(* a format of the kernels: its operations, what a number stands for, half of the largest power *)
Variables (o : float_ops.ops) (rnd : R -> R) (stands : o -> R -> Prop) (most : R).
Hypothesis fma_stands : forall x y z a b c, stands x a -> stands y b -> stands z c ->
  Rabs (a * b + c) <= most -> stands (float_ops.fma x y z) (rnd (a * b + c)).
Hypothesis zero_stands : stands (const (Dyadic 0 0)) 0.

(* nothing overflows on the way *)
Fixpoint fits (s : R) (c : list R) : Prop := match c with
| a :: (_ :: _) as r => Rabs (fl_horner rnd s r * s + a) <= most /\ fits s r
| _ => True end.

Lemma weigh_stands s sr : stands s sr -> forall c cr, Forall2 stands c cr -> fits sr cr ->
  stands (weigh o c s) (fl_horner rnd sr cr).
Proof.
intros Hs c cr H. induction H as [|x a c cr Hx Hc IH]; intros F; [exact zero_stands|].
destruct Hc as [|y b c cr Hy Hc]; [exact Hx|].
destruct F as [F1 F2]. apply fma_stands; [exact (IH F2)|exact Hs|exact Hx|exact F1].
Qed.
End Weigh.

(** theorem: taylor_weight — the loop that weighs scores, in float32 and in float64 and on every instruction set, with coefficients that are rounded once and without overflow, is finite and within ((1 + u)^(P+1) - 1) T_P(|s|) and underflow of T_P(s). used by: src/taylor/rows_impl.h, src/taylor/enclose.c, src/taylor/bound.c *)
Theorem taylor_weight :
  (forall (c : list float32) cr a s sr, stands32 s sr -> Forall2 stands32 c cr -> fits rnd32 (pow2 127) sr cr ->
    rounded (roundoff 24) (underflow (-149)) a cr -> exists w, stands32 (weigh float32 c s) w /\
    Rabs (w - polynomial sr a) <= ((1 + roundoff 24) ^ length a - 1) * polynomial (Rabs sr) (map Rabs a) +
      2 * underflow (-149) * powers sr (length a) * (1 + roundoff 24) ^ length a) /\
  (forall (c : list float64) cr a s sr, stands64 s sr -> Forall2 stands64 c cr -> fits rnd64 (pow2 1023) sr cr ->
    rounded (roundoff 53) (underflow (-1074)) a cr -> exists w, stands64 (weigh float64 c s) w /\
    Rabs (w - polynomial sr a) <= ((1 + roundoff 53) ^ length a - 1) * polynomial (Rabs sr) (map Rabs a) +
      2 * underflow (-1074) * powers sr (length a) * (1 + roundoff 53) ^ length a).
Proof.
split; intros c cr a s sr Hs Hc Hf Ha.
- exists (fl_horner rnd32 sr cr). split.
  + apply (weigh_stands float32 rnd32 stands32 (pow2 127)); try assumption; [exact fma32|].
    replace 0 with (dyadic_R (Dyadic 0 0)) by (unfold dyadic_R; simpl; ring). apply const32; reflexivity.
  + apply (horner_formats (-149) 24); [lia|exact Ha].
- exists (fl_horner rnd64 sr cr). split.
  + apply (weigh_stands float64 rnd64 stands64 (pow2 1023)); try assumption; [exact fma64|].
    replace 0 with (dyadic_R (Dyadic 0 0)) by (unfold dyadic_R; simpl; ring). apply const64; reflexivity.
  + apply (horner_formats (-1074) 53); [lia|exact Ha].
Qed.
