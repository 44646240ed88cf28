(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* What a kernel is made of: IEEE operations, each rounded once. The kernels are translated from C
   into functions of a record of operations (exp_isa.v.gen), and are read in two ways: over the reals
   with a rounding after every operation, where errors are bounded, and over Flocq's floating-point
   numbers, bit by bit, where they run. The lemmas below lead from one to the other: as long as
   nothing overflows, the second has the value of the first. *)
From Coq Require Import ZArith Reals Lra Lia Bool.
From Flocq Require Import Core Binary Bits.
From Flocq Require BinarySingleNaN.
Open Scope R_scope.

(* Constants: num 2^expo. *)
Record dyadic := Dyadic { num : Z; expo : Z }.
Definition dyadic_R (d : dyadic) : R := IZR (num d) * bpow radix2 (expo d).

Record ops := Ops {
  carrier :> Type;
  const : dyadic -> carrier;
  neg : carrier -> carrier;
  mag_of : carrier -> carrier; (* the absolute value *)
  add : carrier -> carrier -> carrier;
  sub : carrier -> carrier -> carrier;
  mul : carrier -> carrier -> carrier;
  div : carrier -> carrier -> carrier;
  fma : carrier -> carrier -> carrier -> carrier;
  (* scale w p t: the bits of p plus those of t shifted left by w, the width of the mantissa. *)
  scale : Z -> carrier -> carrier -> carrier;
  (* x = 2^e f with root <= f < 2 root: f, and e as a number; c = 3 2^(w-1) *)
  fraction : carrier -> carrier -> carrier;             (* fraction x root *)
  exponent : carrier -> carrier -> carrier -> carrier;  (* exponent x root c *)
  keep_ge : carrier -> carrier -> carrier -> carrier;           (* keep_ge x c y: x >= c ? y : 0 *)
  select_lt : carrier -> carrier -> carrier -> carrier -> carrier; (* a < b ? x : y *)
  select_le : carrier -> carrier -> carrier -> carrier -> carrier; (* a <= b ? x : y *)
  root_of : carrier -> carrier                                     (* the square root *)
}.
Arguments const {o}. Arguments neg {o}. Arguments mag_of {o}. Arguments add {o}. Arguments sub {o}.
Arguments mul {o}. Arguments div {o}. Arguments fma {o}. Arguments scale {o}.
Arguments fraction {o}. Arguments exponent {o}. Arguments keep_ge {o}. Arguments select_lt {o}.
Arguments select_le {o}. Arguments root_of {o}.

Definition binade (x root : R) : Z :=
  let e := mag radix2 x : Z in if Rlt_dec (x * bpow radix2 (- e)) root then (e - 1)%Z else e.

Definition real_ops (rnd : R -> R) : ops := {|
  carrier := R;
  const := dyadic_R;
  neg := Ropp;
  mag_of := Rabs;
  add x y := rnd (x + y);
  sub x y := rnd (x - y);
  mul x y := rnd (x * y);
  div x y := rnd (x / y);
  fma x y z := rnd (x * y + z);
  (* t stands in [2^w, 2^(w+1)), around 3 2^(w-1) *)
  scale w p t := p * bpow radix2 (Zfloor t - 3 * 2 ^ (w - 1));
  fraction x root := x * bpow radix2 (- binade x root);
  exponent x root _ := IZR (binade x root);
  keep_ge x c y := if Rle_dec c x then y else 0;
  select_lt a b x y := if Rlt_dec a b then x else y;
  select_le a b x y := if Rle_dec a b then x else y;
  root_of x := rnd (sqrt x)
|}.

Definition rnd32 := round radix2 (FLT_exp (-149) 24) ZnearestE.
Definition rnd64 := round radix2 (FLT_exp (-1074) 53) ZnearestE.
Definition real32 := real_ops rnd32.
Definition real64 := real_ops rnd64.

(* Flocq's floats with a mantissa of mw + 1 bits and an exponent of ew bits. *)
Section Bits.
Variables mw ew : Z.
Hypothesis Hmw : (0 < mw)%Z.
Hypothesis Hew : (0 < ew)%Z.
Hypothesis Hmax : (mw + 1 < 2 ^ (ew - 1))%Z.
Let prec := (mw + 1)%Z.
Let emax := (2 ^ (ew - 1))%Z.
Let emin := (3 - emax - prec)%Z.
Lemma prec_ok : Prec_gt_0 prec. Proof. unfold Prec_gt_0, prec; lia. Qed.
Lemma emax_ok : BinarySingleNaN.Prec_lt_emax prec emax. Proof. exact Hmax. Qed.
Variable nan : {x : binary_float prec emax | is_nan prec emax x = true}.

Notation float := (binary_float prec emax).
Notation NE := BinarySingleNaN.mode_NE.
Notation val := (B2R prec emax).
Notation fin := (is_finite prec emax).
Notation modulus := (2 ^ (mw + ew + 1))%Z.
Notation bits := (bits_of_binary_float mw ew).
Notation of_bits := (binary_float_of_bits mw ew Hmw Hew Hmax).

Definition less_than (x y : float) :=
  match Bcompare prec emax x y with Some Lt => true | _ => false end.
Definition at_least (x y : float) :=
  match Bcompare prec emax x y with Some Gt | Some Eq => true | _ => false end.

(* e, from the bits of x and of the root *)
Definition bits_binade (x root : float) : Z :=
  (((bits x - bits root + (emax - 1) * 2 ^ mw) mod modulus) / 2 ^ mw - (emax - 1))%Z.

Definition float_ops : ops := {|
  carrier := float;
  const d := binary_normalize prec emax prec_ok emax_ok NE (num d) (expo d) false;
  neg := Bopp prec emax (fun _ => nan);
  mag_of := Babs prec emax (fun _ => nan);
  add := Bplus prec emax prec_ok emax_ok (fun _ _ => nan) NE;
  sub := Bminus prec emax prec_ok emax_ok (fun _ _ => nan) NE;
  mul := Bmult prec emax prec_ok emax_ok (fun _ _ => nan) NE;
  div := Bdiv prec emax prec_ok emax_ok (fun _ _ => nan) NE;
  fma := Bfma prec emax prec_ok emax_ok (fun _ _ _ => nan) NE;
  scale w p t := of_bits ((bits p + bits t * 2 ^ w) mod modulus);
  fraction x root := of_bits ((bits x - bits_binade x root * 2 ^ mw) mod modulus);
  exponent x root c := Bminus prec emax prec_ok emax_ok (fun _ _ => nan) NE
    (of_bits ((bits c + bits_binade x root) mod modulus)) c;
  keep_ge x c y := if at_least x c then y else B754_zero prec emax false;
  select_lt a b x y := if less_than a b then x else y;
  select_le a b x y := if at_least b a then x else y;
  root_of := Bsqrt prec emax prec_ok emax_ok (fun _ => nan) NE
|}.

Notation rnd := (round radix2 (FLT_exp emin prec) ZnearestE).

(* x is finite and has the value r. *)
Definition stands (x : float_ops) (r : R) := fin x = true /\ val x = r.

Lemma stands_self x : fin x = true -> stands x (val x).
Proof. now split. Qed.

Lemma stands_format x r : stands x r -> generic_format radix2 (FLT_exp emin prec) r.
Proof. intros [_ <-]. exact (generic_format_B2R prec emax x). Qed.

(* Half the largest power: far from overflow. *)
Notation most := (bpow radix2 (emax - 1)).

Lemma rnd_below v : Rabs v <= most -> Rabs (rnd v) < bpow radix2 emax.
Proof.
intros H. apply Rle_lt_trans with most; [|apply bpow_lt; lia].
assert (0 < prec)%Z by (unfold prec; lia).
apply abs_round_le_generic; [apply FLT_exp_valid, prec_ok|apply valid_rnd_N| |exact H].
apply generic_format_bpow. unfold FLT_exp.
unfold emin, emax, prec in *. assert (mw + 1 < 2 ^ (ew - 1))%Z by exact Hmax. lia.
Qed.

Ltac lifted H := cbv zeta in H; change (SpecFloat.fexp prec emax) with (FLT_exp emin prec) in H;
  change (BinarySingleNaN.round_mode NE) with ZnearestE in H;
  rewrite Rlt_bool_true in H by (apply rnd_below; assumption).

Lemma fma_stands x y z a b c : stands x a -> stands y b -> stands z c ->
  Rabs (a * b + c) <= most -> stands (fma x y z) (rnd (a * b + c)).
Proof.
intros [Fx <-] [Fy <-] [Fz <-] H.
assert (C := Bfma_correct prec emax prec_ok emax_ok (fun _ _ _ => nan) NE x y z Fx Fy Fz).
lifted C. destruct C as [E [F _]]. split; [exact F|exact E].
Qed.

Lemma add_stands x y a b : stands x a -> stands y b ->
  Rabs (a + b) <= most -> stands (add x y) (rnd (a + b)).
Proof.
intros [Fx <-] [Fy <-] H.
assert (C := Bplus_correct prec emax prec_ok emax_ok (fun _ _ => nan) NE x y Fx Fy).
lifted C. destruct C as [E [F _]]. split; [exact F|exact E].
Qed.

Lemma sub_stands x y a b : stands x a -> stands y b ->
  Rabs (a - b) <= most -> stands (sub x y) (rnd (a - b)).
Proof.
intros [Fx <-] [Fy <-] H.
assert (C := Bminus_correct prec emax prec_ok emax_ok (fun _ _ => nan) NE x y Fx Fy).
lifted C. destruct C as [E [F _]]. split; [exact F|exact E].
Qed.

Lemma mul_stands x y a b : stands x a -> stands y b ->
  Rabs (a * b) <= most -> stands (mul x y) (rnd (a * b)).
Proof.
intros [Fx <-] [Fy <-] H.
assert (C := Bmult_correct prec emax prec_ok emax_ok (fun _ _ => nan) NE x y).
lifted C. destruct C as [E [F _]]. split; [|exact E].
etransitivity; [exact F|]. now rewrite Fx, Fy.
Qed.

Lemma div_stands x y a b : stands x a -> stands y b -> b <> 0 ->
  Rabs (a / b) <= most -> stands (div x y) (rnd (a / b)).
Proof.
intros [Fx <-] [Fy <-] N H.
assert (C := Bdiv_correct prec emax prec_ok emax_ok (fun _ _ => nan) NE x y N).
lifted C. destruct C as [E [F _]]. split; [|exact E]. now etransitivity; [exact F|].
Qed.

Lemma neg_stands x a : stands x a -> stands (neg x) (- a).
Proof.
intros [Fx <-]. split; [etransitivity; [apply is_finite_Bopp|exact Fx]|apply B2R_Bopp].
Qed.

Lemma mag_stands x a : stands x a -> stands (mag_of x) (Rabs a).
Proof.
intros [Fx <-]. split; [etransitivity; [apply is_finite_Babs|exact Fx]|apply B2R_Babs].
Qed.

(* A constant of the format; checked by computation on num and expo. *)
Lemma const_stands d : (Z.abs (num d) <? 2 ^ prec)%Z = true -> (emin <=? expo d)%Z = true ->
  (expo d <=? emax - 1 - prec)%Z = true -> stands (const d) (dyadic_R d).
Proof.
intros H1 H2 H3. apply Z.ltb_lt in H1. apply Z.leb_le in H2. apply Z.leb_le in H3.
assert (P0 : (0 < prec)%Z) by (unfold prec; lia).
assert (H : Rabs (dyadic_R d) <= most).
{ unfold dyadic_R. rewrite Rabs_mult, (Rabs_pos_eq (bpow _ _)) by apply bpow_ge_0.
  rewrite <- abs_IZR.
  apply Rle_trans with (bpow radix2 prec * bpow radix2 (expo d)).
  - apply Rmult_le_compat_r; [apply bpow_ge_0|].
    rewrite <- IZR_Zpower by lia. apply IZR_le. simpl radix_val in *. lia.
  - rewrite <- bpow_plus. apply bpow_le. lia. }
assert (C := binary_normalize_correct prec emax prec_ok emax_ok NE (num d) (expo d) false).
change (F2R {| Fnum := num d; Fexp := expo d |}) with (dyadic_R d) in C.
lifted C. destruct C as [E [F _]]. split; [exact F|]. etransitivity; [exact E|].
apply round_generic; [apply valid_rnd_N|].
apply (generic_format_FLT radix2 emin prec). exists (Defs.Float radix2 (num d) (expo d)); simpl.
- reflexivity.
- exact H1.
- exact H2.
Qed.

Lemma less_than_R x y a b : stands x a -> stands y b -> less_than x y = true <-> a < b.
Proof.
intros [Fx <-] [Fy <-]. unfold less_than. rewrite Bcompare_correct by assumption.
destruct (Rcompare_spec (val x) (val y)); split; intros; try reflexivity; try discriminate; lra.
Qed.

Lemma select_stands a b x y ra rb rx ry : stands a ra -> stands b rb -> stands x rx ->
  stands y ry -> stands (select_lt a b x y) (if Rlt_dec ra rb then rx else ry).
Proof.
intros Ha Hb Hx Hy. simpl. assert (L := less_than_R a b ra rb Ha Hb).
destruct (less_than a b), (Rlt_dec ra rb); try assumption; exfalso.
- apply n, L; reflexivity.
- now apply L in r.
Qed.

Lemma select_le_stands a b x y ra rb rx ry : stands a ra -> stands b rb -> stands x rx ->
  stands y ry -> stands (select_le a b x y) (if Rle_dec ra rb then rx else ry).
Proof.
intros [Fa <-] [Fb <-] Hx Hy. simpl. unfold at_least. rewrite Bcompare_correct by assumption.
destruct (Rcompare_spec (val b) (val a)), (Rle_dec (val a) (val b)); try assumption; exfalso; lra.
Qed.

Lemma root_stands x a : stands x a -> 0 <= a -> stands (root_of x) (rnd (sqrt a)).
Proof.
intros [Fx <-] P. assert (C := Bsqrt_correct prec emax prec_ok emax_ok (fun _ => nan) NE x).
destruct C as [E [F _]]. split; [|exact E]. etransitivity; [exact F|].
destruct x as [| | | s m e Hb]; try discriminate; [reflexivity|]. destruct s; [exfalso|reflexivity].
apply (Rlt_not_le 0 (F2R (Float radix2 (Zneg m) e))); [|exact P]. apply F2R_lt_0. reflexivity.
Qed.

Lemma keep_stands x c y rx rc ry : stands x rx -> stands c rc -> stands y ry -> rc <= rx ->
  stands (keep_ge x c y) ry.
Proof.
intros [Fx Ex] [Fc Ec] Hy H. simpl. unfold at_least. rewrite Bcompare_correct by assumption.
rewrite Ex, Ec. destruct (Rcompare_spec rx rc); try assumption. exfalso; lra.
Qed.

(* Below the least argument, at minus infinity and at a NaN there is nothing to keep. *)
Lemma keep_nothing (x c y : float_ops) rc : stands c rc -> (fin x = true -> val x < rc) ->
  (forall b, x <> B754_infinity prec emax b \/ b = true) ->
  keep_ge x c y = (B754_zero prec emax false : float_ops).
Proof.
intros [Fc Ec] L Hi. simpl. unfold at_least.
destruct (fin x) eqn:Fx.
- rewrite Bcompare_correct by assumption. rewrite Rcompare_Lt; [reflexivity|].
  rewrite Ec. now apply L.
- destruct x as [| b | |]; try discriminate; [|reflexivity].
  destruct (Hi b) as [N| ->]; [now elim N|]. destruct c; try discriminate; reflexivity.
Qed.

(* One step of Horner's rule with small operands, for chains of them. *)
Lemma horner_stands x y z a b c : stands x a /\ Rabs a <= 2 -> stands y b /\ Rabs b <= 1/2 ->
  stands z c /\ Rabs c <= 1 ->
  stands (fma x y z) (@fma (real_ops rnd) a b c) /\ Rabs (@fma (real_ops rnd) a b c) <= 2.
Proof.
intros [Sx Bx] [Sy By] [Sz Bz].
assert (B : Rabs (a * b + c) <= 2).
{ eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  assert (Rabs a * Rabs b <= 2 * (1/2)) by (apply Rmult_le_compat; auto using Rabs_pos). lra. }
assert (2 ^ 1 <= 2 ^ (emax - 1))%Z.
{ apply Z.pow_le_mono_r; [lia|]. assert (mw + 1 < 2 ^ (ew - 1))%Z by exact Hmax. unfold emax; lia. }
split.
- apply fma_stands; try assumption. apply Rle_trans with (1 := B).
  change 2 with (bpow radix2 1). apply bpow_le.
  assert (mw + 1 < 2 ^ (ew - 1))%Z by exact Hmax. unfold emax; lia.
- apply abs_round_le_generic; [apply FLT_exp_valid, prec_ok|apply valid_rnd_N| |exact B].
  change 2 with (bpow radix2 1). apply generic_format_bpow. unfold FLT_exp, emin, prec, emax.
  assert (mw + 1 < 2 ^ (ew - 1))%Z by exact Hmax. lia.
Qed.

(* ---- scaling by the bits ---- *)
Hypothesis wide : (ew + 2 <= mw)%Z.
Notation normal := (bpow radix2 (emin + prec - 1)).

Lemma digits_normal mx ex (Hb : SpecFloat.bounded prec emax mx ex = true) :
  normal <= F2R (Float radix2 (Zpos mx) ex) -> (2 ^ mw <= Zpos mx < 2 ^ (mw + 1))%Z.
Proof.
intros H. assert (C := Hb). apply andb_prop in C. destruct C as [C _].
apply (canonical_canonical_mantissa prec emax false) in C. simpl in C.
assert (Hp : (0 < prec)%Z) by (unfold prec; lia).
assert (Hd : (mag radix2 (F2R (Float radix2 (Zpos mx) ex)) >= emin + prec)%Z).
{ apply Z.le_ge. replace (emin + prec)%Z with (emin + prec - 1 + 1)%Z by ring.
  apply mag_ge_bpow. replace (emin + prec - 1 + 1 - 1)%Z with (emin + prec - 1)%Z by ring.
  rewrite Rabs_pos_eq; [exact H|]. apply F2R_ge_0; simpl; lia. }
assert (D : Zdigits radix2 (Zpos mx) = prec).
{ unfold canonical in C. simpl in C.
  change (SpecFloat.fexp prec emax) with (FLT_exp emin prec) in C. unfold cexp, FLT_exp in C.
  rewrite mag_F2R_Zdigits in C, Hd by discriminate. lia. }
split.
- apply (Zpower_le_Zdigits radix2 mw (Zpos mx)). rewrite D; unfold prec; lia.
- apply (Zpower_gt_Zdigits radix2 (mw + 1) (Zpos mx)). rewrite D; unfold prec; lia.
Qed.

Lemma bits_normal mx ex (Hb : SpecFloat.bounded prec emax mx ex = true) :
  (2 ^ mw <= Zpos mx)%Z ->
  bits (B754_finite prec emax false mx ex Hb) = ((ex - emin) * 2 ^ mw + Zpos mx)%Z.
Proof.
intros H. unfold bits_of_binary_float. rewrite Zle_bool_true by lia.
unfold join_bits. rewrite Z.shiftl_mul_pow2 by lia.
change (SpecFloat.emin (mw + 1) (2 ^ (ew - 1))) with emin. ring.
Qed.

Lemma integer_bits t k : stands t (IZR (3 * 2 ^ (mw - 1) + k)) -> (Z.abs k < 2 ^ (mw - 1))%Z ->
  bits t = ((- emin) * 2 ^ mw + 3 * 2 ^ (mw - 1) + k)%Z.
Proof.
intros [F E] Hk.
assert (P : (2 ^ mw = 2 * 2 ^ (mw - 1))%Z).
{ replace mw with (1 + (mw - 1))%Z at 1 by ring. rewrite Z.pow_add_r by lia. reflexivity. }
assert (P1 : (1 <= 2 ^ (mw - 1))%Z) by (apply (Zlt_le_succ 0), Z.pow_pos_nonneg; lia).
set (n := (3 * 2 ^ (mw - 1) + k)%Z) in *.
assert (Hn : (2 ^ mw <= n < 2 ^ (mw + 1))%Z).
{ replace (mw + 1)%Z with (1 + mw)%Z by ring. rewrite (Z.pow_add_r 2 1 mw) by lia. simpl (2 ^ 1)%Z.
  unfold n. lia. }
destruct t as [| | | s mx ex Hb]; try discriminate.
- exfalso. simpl in E. assert (0 = n)%Z by now apply eq_IZR. lia.
- simpl in E.
  assert (s = false).
  { destruct s; [exfalso|reflexivity]. assert (H : IZR n <= 0).
    { rewrite <- E. apply F2R_le_0. simpl; lia. }
    apply le_IZR in H. lia. }
  subst s. simpl in E.
  assert (Hmag : mag radix2 (F2R (Float radix2 (Zpos mx) ex)) = prec :> Z).
  { rewrite E. apply mag_unique. rewrite Rabs_pos_eq by (apply IZR_le; lia).
    unfold prec. replace (mw + 1 - 1)%Z with mw by ring.
    rewrite <- !IZR_Zpower by lia. simpl radix_val. split; [apply IZR_le|apply IZR_lt]; lia. }
  assert (ex = 0)%Z.
  { assert (C := Hb). apply andb_prop in C. destruct C as [C _].
    apply (canonical_canonical_mantissa prec emax false) in C. simpl in C.
    unfold canonical in C. simpl in C.
    change (SpecFloat.fexp prec emax) with (FLT_exp emin prec) in C.
    unfold cexp in C. rewrite Hmag in C. unfold FLT_exp in C.
    assert (mw + 1 < 2 ^ (ew - 1))%Z by exact Hmax. unfold emin, prec, emax in *. lia. }
  subst ex. unfold F2R in E. simpl in E. rewrite Rmult_1_r in E. apply eq_IZR in E.
  rewrite bits_normal by lia. rewrite E. unfold n. ring.
Qed.

Lemma mantissa_split : (2 ^ mw = 2 * 2 ^ (mw - 1))%Z /\ (modulus = 2 ^ mw * 2 ^ (ew + 1))%Z /\
  (2 ^ (mw - 1) = 2 ^ (ew + 1) * 2 ^ (mw - 2 - ew))%Z.
Proof.
repeat split.
- replace mw with (1 + (mw - 1))%Z at 1 by ring. rewrite Z.pow_add_r by lia. reflexivity.
- rewrite <- Z.pow_add_r by lia. f_equal. ring.
- rewrite <- Z.pow_add_r by lia. f_equal. ring.
Qed.

(* A positive normal number by its bits. *)
Lemma normal_bits p rp : stands p rp -> normal <= rp -> exists mx ex (Hb : SpecFloat.bounded prec emax mx ex = true),
  p = B754_finite prec emax false mx ex Hb /\ rp = F2R (Float radix2 (Zpos mx) ex) /\
  (2 ^ mw <= Zpos mx < 2 ^ (mw + 1))%Z.
Proof.
intros [Fp Ep] Np. assert (B := bpow_gt_0 radix2 (emin + prec - 1)).
destruct p as [| | | s mx ex Hb]; try discriminate; [exfalso; simpl in Ep; lra|].
assert (s = false).
{ destruct s; [exfalso|reflexivity]. assert (H : rp <= 0).
  { rewrite <- Ep. simpl. apply F2R_le_0. simpl; lia. } lra. }
subst s. simpl in Ep. exists mx, ex, Hb. split; [reflexivity|]. split; [symmetry; exact Ep|].
exact (digits_normal mx ex Hb (eq_ind_r (fun z => normal <= z) Np Ep)).
Qed.

(* k more in the exponent *)
Lemma shift_stands p rp k : stands p rp -> normal <= rp -> normal <= rp * bpow radix2 k < bpow radix2 emax ->
  stands (of_bits ((bits p + k * 2 ^ mw) mod modulus)) (rp * bpow radix2 k).
Proof.
intros Hp Np [Nr Or]. assert (Pp : (0 < prec)%Z) by (unfold prec; lia).
destruct (normal_bits p rp Hp Np) as [mx [ex [Hb [-> [Ep Hm]]]]].
assert (Er : rp * bpow radix2 k = F2R (Float radix2 (Zpos mx) (ex + k))).
{ rewrite Ep. unfold F2R. simpl. rewrite bpow_plus. ring. }
rewrite Er in Nr, Or.
assert (Hex : (emin <= ex + k)%Z).
{ assert (L : normal < bpow radix2 (mw + 1 + (ex + k))).
  { apply Rle_lt_trans with (1 := Nr). unfold F2R. simpl. rewrite (bpow_plus _ (mw + 1)).
    apply Rmult_lt_compat_r; [apply bpow_gt_0|]. rewrite <- IZR_Zpower by lia.
    apply IZR_lt. simpl radix_val. lia. }
  apply lt_bpow in L. unfold prec in L. lia. }
assert (Hb' : SpecFloat.bounded prec emax mx (ex + k) = true).
{ apply (bounded_canonical_lt_emax prec emax prec_ok emax_ok); [|exact Or].
  unfold canonical, cexp. simpl. rewrite mag_F2R_Zdigits by discriminate.
  replace (Zdigits radix2 (Zpos mx)) with prec.
  - change (SpecFloat.fexp prec emax) with (FLT_exp emin prec). unfold FLT_exp. lia.
  - symmetry. apply Zdigits_unique. simpl Z.abs. unfold prec.
    replace (mw + 1 - 1)%Z with mw by ring. simpl radix_val. exact Hm. }
assert (E : ((bits (B754_finite prec emax false mx ex Hb) + k * 2 ^ mw) mod modulus)%Z =
  bits (B754_finite prec emax false mx (ex + k) Hb')).
{ rewrite !bits_normal by lia.
  replace ((ex - emin) * 2 ^ mw + Z.pos mx + k * 2 ^ mw)%Z with ((ex + k - emin) * 2 ^ mw + Z.pos mx)%Z by ring.
  apply Z.mod_small. rewrite <- (bits_normal mx (ex + k) Hb') by lia.
  exact (bits_of_binary_float_range mw ew Hmw Hew (B754_finite prec emax false mx (ex + k) Hb')). }
rewrite E, (binary_float_of_bits_of_binary_float mw ew Hmw Hew Hmax).
split; [reflexivity|]. simpl. symmetry. exact Er.
Qed.

Lemma scale_stands p t rp k : stands p rp -> stands t (IZR (3 * 2 ^ (mw - 1) + k)) ->
  (Z.abs k < 2 ^ (mw - 1))%Z -> normal <= rp -> normal <= rp * bpow radix2 k < bpow radix2 emax ->
  stands (scale mw p t) (rp * bpow radix2 k).
Proof.
intros Hp Ht Hk Np Nr. simpl. destruct mantissa_split as [P [M Q]].
replace ((bits p + bits t * 2 ^ mw) mod modulus)%Z with ((bits p + k * 2 ^ mw) mod modulus)%Z;
  [apply shift_stands; assumption|].
rewrite (integer_bits t k Ht Hk).
replace (bits p + (- emin * 2 ^ mw + 3 * 2 ^ (mw - 1) + k) * 2 ^ mw)%Z
  with (bits p + k * 2 ^ mw + ((2 * (- emin) + 3) * 2 ^ (mw - 2 - ew)) * modulus)%Z
  by (rewrite M, P, Q; generalize (2 ^ (ew + 1))%Z (2 ^ (mw - 2 - ew))%Z; intros; ring).
rewrite Z_mod_plus_full. reflexivity.
Qed.

(* ---- fraction and exponent by the bits ---- *)
(* r: the root, in [1/2, 1) *)
Lemma binade_stands x r rx rr : stands x rx -> stands r rr -> normal <= rx -> 1/2 <= rr < 1 ->
  let e := bits_binade x r in
  rr <= rx * bpow radix2 (- e) < 2 * rr /\ (Z.abs e <= emax + prec)%Z.
Proof.
intros Hx Hr Nx Br e. assert (Pp : (0 < prec)%Z) by (unfold prec; lia).
assert (Pe : (0 < emax)%Z) by (apply Z.pow_pos_nonneg; lia).
assert (Pm : (mw + 1 < 2 ^ (ew - 1))%Z) by exact Hmax.
assert (Nr : normal <= rr).
{ apply Rle_trans with (1/2); [|lra]. replace (1/2) with (bpow radix2 (-1)) by (simpl; lra).
  apply bpow_le. unfold emin, prec, emax. lia. }
destruct (normal_bits x rx Hx Nx) as [mx [ex [Hb [-> [Ex Hm]]]]].
destruct (normal_bits r rr Hr Nr) as [mr [er [Hbr [-> [Er Hmr]]]]].
assert (B : forall m E, (2 ^ mw <= Zpos m < 2 ^ (mw + 1))%Z -> bpow radix2 (mw + E) <= F2R (Float radix2 (Zpos m) E) < bpow radix2 (mw + 1 + E)).
{ intros m E [L U]. unfold F2R. simpl. rewrite !(bpow_plus radix2 _ E). split.
  - apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- IZR_Zpower by lia. apply IZR_le. exact L.
  - apply Rmult_lt_compat_r; [apply bpow_gt_0|]. rewrite <- IZR_Zpower by lia. apply IZR_lt. exact U. }
assert (Eer : er = (- prec)%Z).
{ assert (C := B mr er Hmr). rewrite <- Er in C. destruct C as [C1 C2].
  assert (bpow radix2 (mw + er) < bpow radix2 0) by (simpl; lra). apply lt_bpow in H.
  assert (bpow radix2 (-1) < bpow radix2 (mw + 1 + er)) by (simpl; lra). apply lt_bpow in H0. unfold prec. lia. }
subst er. set (E0 := (2 ^ mw)%Z) in *. assert (PE : (0 < E0)%Z) by (apply Z.pow_pos_nonneg; lia).
assert (E2 : (2 ^ (mw + 1) = 2 * E0)%Z) by (unfold E0; rewrite Z.pow_add_r by lia; change (2 ^ 1)%Z with 2%Z; ring).
rewrite E2 in *.
set (b := if Z_lt_dec (Zpos mx) (Zpos mr) then (-1)%Z else 0%Z).
assert (Eb : e = (ex + prec + b)%Z).
{ unfold e, bits_binade. rewrite !bits_normal by (fold E0; lia). fold E0.
  assert (Hexm : (emin <= ex <= emax - prec)%Z).
  { assert (C := B mx ex Hm). rewrite <- Ex in C. destruct C as [C1 C2]. split.
    - assert (L : normal < bpow radix2 (mw + 1 + ex)) by lra. apply lt_bpow in L. unfold prec in L. lia.
    - assert (L : rx < bpow radix2 emax).
      { destruct Hx as [_ <-]. apply Rle_lt_trans with (1 := Rle_abs _). apply abs_B2R_lt_emax. }
      assert (L2 : bpow radix2 (mw + ex) < bpow radix2 emax) by lra. apply lt_bpow in L2. unfold prec. lia. }
  replace ((ex - emin) * E0 + Z.pos mx - ((- prec - emin) * E0 + Z.pos mr) + (emax - 1) * E0)%Z
    with ((ex + prec + (emax - 1)) * E0 + (Zpos mx - Zpos mr))%Z by ring.
  destruct mantissa_split as [_ [M _]]. fold E0 in M.
  assert (D : ((ex + prec + (emax - 1) + b) * E0 <= (ex + prec + (emax - 1)) * E0 + (Zpos mx - Zpos mr) <
    (ex + prec + (emax - 1) + b + 1) * E0)%Z).
  { unfold b. destruct (Z_lt_dec (Zpos mx) (Zpos mr)); nia. }
  assert (W : (2 ^ (ew + 1) = 4 * emax)%Z).
  { unfold emax. replace (ew + 1)%Z with (2 + (ew - 1))%Z by ring. rewrite Z.pow_add_r by lia. reflexivity. }
  assert (R : (0 <= ex + prec + (emax - 1) + b /\ ex + prec + (emax - 1) + b + 1 <= 4 * emax)%Z).
  { unfold b. unfold emin in *. destruct (Z_lt_dec (Zpos mx) (Zpos mr)); lia. }
  rewrite Z.mod_small by (rewrite M, W; nia).
  assert (Q : (((ex + prec + (emax - 1)) * E0 + (Z.pos mx - Z.pos mr)) / E0 = ex + prec + (emax - 1) + b)%Z).
  { symmetry. apply Z.div_unique with (((ex + prec + (emax - 1)) * E0 + (Z.pos mx - Z.pos mr)) - (ex + prec + (emax - 1) + b) * E0)%Z; [left; nia|ring]. }
  rewrite Q. ring. }
assert (Ef : rx * bpow radix2 (- e) = IZR (Zpos mx) * bpow radix2 (- prec - b)).
{ rewrite Ex, Eb. unfold F2R. simpl Fnum; simpl Fexp. rewrite Rmult_assoc, <- bpow_plus. f_equal. f_equal. ring. }
rewrite Ef, Er. unfold F2R; simpl Fnum; simpl Fexp. assert (P := bpow_gt_0 radix2 (- prec)).
split.
- unfold b. destruct (Z_lt_dec (Zpos mx) (Zpos mr)) as [L|L].
  + replace (- prec - -1)%Z with (1 + - prec)%Z by ring. rewrite bpow_plus. change (bpow radix2 1) with 2.
    assert (L1 : IZR (Zpos mr) <= IZR (Zpos mx) * 2) by (rewrite <- mult_IZR; apply IZR_le; lia).
    assert (L2 : IZR (Zpos mx) < IZR (Zpos mr)) by (apply IZR_lt; exact L).
    apply (Rmult_le_compat_r (bpow radix2 (- prec))) in L1; [|lra].
    apply (Rmult_lt_compat_r (bpow radix2 (- prec))) in L2; [|lra]. lra.
  + rewrite Z.sub_0_r.
    assert (L1 : IZR (Zpos mr) <= IZR (Zpos mx)) by (apply IZR_le; lia).
    assert (L2 : IZR (Zpos mx) < 2 * IZR (Zpos mr)) by (rewrite <- mult_IZR; apply IZR_lt; lia).
    apply (Rmult_le_compat_r (bpow radix2 (- prec))) in L1; [|lra].
    apply (Rmult_lt_compat_r (bpow radix2 (- prec))) in L2; [|lra]. lra.
- assert (C := B mx ex Hm). rewrite <- Ex in C. destruct C as [C1 C2].
  assert (L : normal < bpow radix2 (mw + 1 + ex)) by lra. apply lt_bpow in L.
  assert (L' : rx < bpow radix2 emax).
  { destruct Hx as [_ <-]. apply Rle_lt_trans with (1 := Rle_abs _). apply abs_B2R_lt_emax. }
  assert (L2 : bpow radix2 (mw + ex) < bpow radix2 emax) by lra. apply lt_bpow in L2.
  rewrite Eb. unfold b, emin, prec in *. destruct (Z_lt_dec (Zpos mx) (Zpos mr)); lia.
Qed.

Lemma binade_unique x root e : 0 < root -> root <= x * bpow radix2 (- e) < 2 * root -> 1/2 <= root < 1 -> binade x root = e.
Proof.
intros P [H1 H2] B.
assert (Px : 0 < x).
{ apply (Rmult_lt_reg_r (bpow radix2 (- e))); [apply bpow_gt_0|]. lra. }
assert (M : bpow radix2 (mag radix2 x - 1) <= x < bpow radix2 (mag radix2 x)).
{ destruct (mag radix2 x) as [m Hm]. simpl. specialize (Hm ltac:(lra)). rewrite Rabs_pos_eq in Hm by lra. exact Hm. }
unfold binade. set (m := mag radix2 x : Z) in *. change (mag radix2 x : Z) with m in M.
(* x 2^-e is in [1/2, 2) *)
assert (E : x * bpow radix2 (- m) = x * bpow radix2 (- e) * bpow radix2 (e - m)).
{ rewrite Rmult_assoc, <- bpow_plus. f_equal. f_equal. ring. }
assert (X : 1/2 <= x * bpow radix2 (- m) < 1).
{ destruct M as [M1 M2]. apply (Rmult_le_compat_r (bpow radix2 (- m))) in M1; [|apply bpow_ge_0].
  apply (Rmult_lt_compat_r (bpow radix2 (- m))) in M2; [|apply bpow_gt_0]. rewrite <- bpow_plus in M1, M2.
  replace (m - 1 + - m)%Z with (-1)%Z in M1 by ring. replace (m + - m)%Z with 0%Z in M2 by ring. simpl in M1, M2. lra. }
set (f := x * bpow radix2 (- e)) in *.
assert (K : (e - m = 0 \/ e - m = -1)%Z).
{ assert (bpow radix2 (e - m) < bpow radix2 1).
  { simpl (bpow radix2 1). apply (Rmult_lt_reg_l f); [lra|]. rewrite <- E. lra. }
  apply lt_bpow in H.
  assert (bpow radix2 (-2) < bpow radix2 (e - m)).
  { apply (Rmult_lt_reg_l f); [lra|]. rewrite <- E. simpl. lra. }
  apply lt_bpow in H0. lia. }
destruct K as [K|K].
- rewrite K in E. simpl in E. destruct Rlt_dec; [lra|lia].
- rewrite K in E. simpl in E. destruct Rlt_dec; [lia|]. lra.
Qed.

Lemma fraction_stands x r rx rr : stands x rx -> stands r rr -> normal <= rx -> 1/2 <= rr < 1 ->
  stands (fraction x r) (@fraction (real_ops rnd) rx rr) /\ rr <= @fraction (real_ops rnd) rx rr < 2 * rr.
Proof.
intros Hx Hr Nx Br. destruct (binade_stands x r rx rr Hx Hr Nx Br) as [E _].
simpl. rewrite (binade_unique rx rr _ ltac:(lra) E Br). split; [|exact E].
replace (bits x - bits_binade x r * 2 ^ mw)%Z with (bits x + (- bits_binade x r) * 2 ^ mw)%Z by ring.
assert (Pm : (mw + 1 < 2 ^ (ew - 1))%Z) by exact Hmax.
apply shift_stands; [exact Hx|exact Nx|]. split.
- apply Rle_trans with (bpow radix2 (-1)); [apply bpow_le; unfold emin, prec, emax; lia|]. simpl. lra.
- apply Rlt_le_trans with (bpow radix2 1); [simpl; lra|apply bpow_le; unfold emax; lia].
Qed.

Lemma exponent_stands x r c rx rr : stands x rx -> stands r rr -> stands c (IZR (3 * 2 ^ (mw - 1))) ->
  normal <= rx -> 1/2 <= rr < 1 -> (emax + prec < 2 ^ (mw - 1))%Z ->
  stands (exponent x r c) (@exponent (real_ops rnd) rx rr (IZR (3 * 2 ^ (mw - 1)))).
Proof.
intros Hx Hr Hc Nx Br Wide. destruct (binade_stands x r rx rr Hx Hr Nx Br) as [E A].
simpl. rewrite (binade_unique rx rr _ ltac:(lra) E Br). set (e := bits_binade x r) in *.
destruct mantissa_split as [P _]. assert (Pm : (mw + 1 < 2 ^ (ew - 1))%Z) by exact Hmax.
(* the number 3 2^(w-1) + e *)
set (n := (3 * 2 ^ (mw - 1) + e)%Z).
assert (P1 : (1 <= 2 ^ (mw - 1))%Z) by (apply (Zlt_le_succ 0), Z.pow_pos_nonneg; lia).
assert (Pn : (2 ^ (mw + 1) = 4 * 2 ^ (mw - 1))%Z).
{ replace (mw + 1)%Z with (2 + (mw - 1))%Z by ring. rewrite Z.pow_add_r by lia. reflexivity. }
set (t := const (Dyadic n 0) : float_ops).
assert (Ht : stands t (IZR n)).
{ replace (IZR n) with (dyadic_R (Dyadic n 0)) by (unfold dyadic_R; simpl; ring).
  apply const_stands; simpl num; simpl expo.
  - apply Z.ltb_lt. unfold prec. rewrite Pn. unfold n. lia.
  - apply Z.leb_le. unfold emin, prec, emax. lia.
  - apply Z.leb_le. unfold prec, emax. lia. }
assert (Eq : ((bits c + e) mod modulus)%Z = bits t).
{ assert (Hc' : stands c (IZR (3 * 2 ^ (mw - 1) + 0))) by (rewrite Z.add_0_r; exact Hc).
  rewrite (integer_bits c 0 Hc') by lia. rewrite (integer_bits t e Ht) by lia.
  replace (- emin * 2 ^ mw + 3 * 2 ^ (mw - 1) + 0 + e)%Z with (- emin * 2 ^ mw + 3 * 2 ^ (mw - 1) + e)%Z by ring.
  apply Z.mod_small. rewrite <- (integer_bits t e Ht) by lia.
  exact (bits_of_binary_float_range mw ew Hmw Hew t). }
rewrite Eq, (binary_float_of_bits_of_binary_float mw ew Hmw Hew Hmax).
assert (Ee : IZR e = rnd (IZR n - IZR (3 * 2 ^ (mw - 1)))).
{ rewrite <- minus_IZR. unfold n. replace (3 * 2 ^ (mw - 1) + e - 3 * 2 ^ (mw - 1))%Z with e by ring.
  symmetry. apply round_generic; [apply valid_rnd_N|]. apply generic_format_FLT.
  exists (Defs.Float radix2 e 0); simpl; [unfold F2R; simpl; ring|unfold prec; rewrite Pn; lia|unfold emin, prec, emax; lia]. }
rewrite Ee. apply sub_stands; [exact Ht|exact Hc|].
rewrite <- minus_IZR. unfold n. replace (3 * 2 ^ (mw - 1) + e - 3 * 2 ^ (mw - 1))%Z with e by ring.
rewrite <- abs_IZR, <- (IZR_Zpower radix2) by (unfold emax; lia). apply IZR_le. simpl radix_val.
apply Z.le_trans with (2 ^ (mw - 1))%Z; [lia|]. apply Z.pow_le_mono_r; [lia|unfold emax; lia].
Qed.

(* ---- runs on bit patterns ---- *)
Definition run1 (f : float_ops -> float_ops) (x : Z) : Z := bits (f (of_bits x)).
End Bits.

(* The two formats of the kernels. *)
Definition nan32 : {x : binary_float 24 128 | is_nan 24 128 x = true} := default_nan_pl32.
Definition nan64 : {x : binary_float 53 1024 | is_nan 53 1024 x = true} := default_nan_pl64.
Definition float32 : ops := float_ops 23 8 eq_refl eq_refl eq_refl nan32.
Definition float64 : ops := float_ops 52 11 eq_refl eq_refl eq_refl nan64.
Definition stands32 : float32 -> R -> Prop := stands 23 8 eq_refl eq_refl eq_refl nan32.
Definition stands64 : float64 -> R -> Prop := stands 52 11 eq_refl eq_refl eq_refl nan64.
Definition run32 : (float32 -> float32) -> Z -> Z := run1 23 8 eq_refl eq_refl eq_refl nan32.
Definition run64 : (float64 -> float64) -> Z -> Z := run1 52 11 eq_refl eq_refl eq_refl nan64.

(* a midpoint and a radius, as one number of twice the bits *)
Definition run_ball (f : float64 -> float64 * float64) (x : Z) : Z :=
  let b := f (binary_float_of_bits 52 11 eq_refl eq_refl eq_refl x) in
  (bits_of_b64 (fst b) * 2 ^ 64 + bits_of_b64 (snd b))%Z.

Definition number32 : Z -> float32 := binary_float_of_bits 23 8 eq_refl eq_refl eq_refl.
Definition number64 : Z -> float64 := binary_float_of_bits 52 11 eq_refl eq_refl eq_refl.

(* The lemmas above for the two formats, the way the kernels spell their operations. *)
Section Formats.
Variables x y z : float32.
Variables a b c : R.
Lemma horner32 : stands32 x a /\ Rabs a <= 2 -> stands32 y b /\ Rabs b <= 1/2 ->
  stands32 z c /\ Rabs c <= 1 ->
  stands32 (fma x y z) (@fma real32 a b c) /\ Rabs (@fma real32 a b c) <= 2.
Proof. exact (horner_stands 23 8 eq_refl eq_refl eq_refl nan32 x y z a b c). Qed.
Lemma fma32 : stands32 x a -> stands32 y b -> stands32 z c -> Rabs (a * b + c) <= bpow radix2 127 ->
  stands32 (fma x y z) (rnd32 (a * b + c)).
Proof. exact (fma_stands 23 8 eq_refl eq_refl eq_refl nan32 x y z a b c). Qed.
Lemma add32 : stands32 x a -> stands32 y b -> Rabs (a + b) <= bpow radix2 127 ->
  stands32 (add x y) (rnd32 (a + b)).
Proof. exact (add_stands 23 8 eq_refl eq_refl eq_refl nan32 x y a b). Qed.
Lemma sub32 : stands32 x a -> stands32 y b -> Rabs (a - b) <= bpow radix2 127 ->
  stands32 (sub x y) (rnd32 (a - b)).
Proof. exact (sub_stands 23 8 eq_refl eq_refl eq_refl nan32 x y a b). Qed.
Lemma mul32 : stands32 x a -> stands32 y b -> Rabs (a * b) <= bpow radix2 127 ->
  stands32 (mul x y) (rnd32 (a * b)).
Proof. exact (mul_stands 23 8 eq_refl eq_refl eq_refl nan32 x y a b). Qed.
Lemma div32 : stands32 x a -> stands32 y b -> b <> 0 -> Rabs (a / b) <= bpow radix2 127 ->
  stands32 (div x y) (rnd32 (a / b)).
Proof. exact (div_stands 23 8 eq_refl eq_refl eq_refl nan32 x y a b). Qed.
Lemma neg32 : stands32 x a -> stands32 (neg x) (- a).
Proof. exact (neg_stands 23 8 eq_refl eq_refl eq_refl nan32 x a). Qed.
Lemma mag32 : stands32 x a -> stands32 (mag_of x) (Rabs a).
Proof. exact (mag_stands 23 8 eq_refl eq_refl eq_refl nan32 x a). Qed.
End Formats.

Lemma const32 d : (Z.abs (num d) <? 2 ^ 24)%Z = true -> (-149 <=? expo d)%Z = true ->
  (expo d <=? 103)%Z = true -> stands32 (const d) (dyadic_R d).
Proof. exact (const_stands 23 8 eq_refl eq_refl eq_refl nan32 d). Qed.
Lemma scale32 p t rp k : stands32 p rp -> stands32 t (IZR (3 * 2 ^ 22 + k)) ->
  (Z.abs k < 2 ^ 22)%Z -> bpow radix2 (-126) <= rp ->
  bpow radix2 (-126) <= rp * bpow radix2 k < bpow radix2 128 ->
  stands32 (scale 23 p t) (rp * bpow radix2 k).
Proof. exact (scale_stands 23 8 eq_refl eq_refl eq_refl nan32 ltac:(lia) p t rp k). Qed.

Section Formats64.
Variables x y z : float64.
Variables a b c : R.
Lemma horner64 : stands64 x a /\ Rabs a <= 2 -> stands64 y b /\ Rabs b <= 1/2 ->
  stands64 z c /\ Rabs c <= 1 ->
  stands64 (fma x y z) (@fma real64 a b c) /\ Rabs (@fma real64 a b c) <= 2.
Proof. exact (horner_stands 52 11 eq_refl eq_refl eq_refl nan64 x y z a b c). Qed.
Lemma fma64 : stands64 x a -> stands64 y b -> stands64 z c -> Rabs (a * b + c) <= bpow radix2 1023 ->
  stands64 (fma x y z) (rnd64 (a * b + c)).
Proof. exact (fma_stands 52 11 eq_refl eq_refl eq_refl nan64 x y z a b c). Qed.
Lemma add64 : stands64 x a -> stands64 y b -> Rabs (a + b) <= bpow radix2 1023 ->
  stands64 (add x y) (rnd64 (a + b)).
Proof. exact (add_stands 52 11 eq_refl eq_refl eq_refl nan64 x y a b). Qed.
Lemma sub64 : stands64 x a -> stands64 y b -> Rabs (a - b) <= bpow radix2 1023 ->
  stands64 (sub x y) (rnd64 (a - b)).
Proof. exact (sub_stands 52 11 eq_refl eq_refl eq_refl nan64 x y a b). Qed.
Lemma mul64 : stands64 x a -> stands64 y b -> Rabs (a * b) <= bpow radix2 1023 ->
  stands64 (mul x y) (rnd64 (a * b)).
Proof. exact (mul_stands 52 11 eq_refl eq_refl eq_refl nan64 x y a b). Qed.
Lemma div64 : stands64 x a -> stands64 y b -> b <> 0 -> Rabs (a / b) <= bpow radix2 1023 ->
  stands64 (div x y) (rnd64 (a / b)).
Proof. exact (div_stands 52 11 eq_refl eq_refl eq_refl nan64 x y a b). Qed.
Lemma neg64 : stands64 x a -> stands64 (neg x) (- a).
Proof. exact (neg_stands 52 11 eq_refl eq_refl eq_refl nan64 x a). Qed.
Lemma mag64 : stands64 x a -> stands64 (mag_of x) (Rabs a).
Proof. exact (mag_stands 52 11 eq_refl eq_refl eq_refl nan64 x a). Qed.
Lemma root64 : stands64 x a -> 0 <= a -> stands64 (root_of x) (rnd64 (sqrt a)).
Proof. exact (root_stands 52 11 eq_refl eq_refl eq_refl nan64 x a). Qed.
End Formats64.

Lemma select_lt64 (a b x y : float64) ra rb rx ry : stands64 a ra -> stands64 b rb -> stands64 x rx -> stands64 y ry ->
  stands64 (select_lt a b x y) (if Rlt_dec ra rb then rx else ry).
Proof. exact (select_stands 52 11 eq_refl eq_refl eq_refl nan64 a b x y ra rb rx ry). Qed.
Lemma select_le64 (a b x y : float64) ra rb rx ry : stands64 a ra -> stands64 b rb -> stands64 x rx -> stands64 y ry ->
  stands64 (select_le a b x y) (if Rle_dec ra rb then rx else ry).
Proof. exact (select_le_stands 52 11 eq_refl eq_refl eq_refl nan64 a b x y ra rb rx ry). Qed.

(* The binade of a number, for the root of the logarithm. *)
Lemma fraction64 (x r : float64) rx rr : stands64 x rx -> stands64 r rr -> bpow radix2 (-1022) <= rx -> 1/2 <= rr < 1 ->
  stands64 (fraction x r) (@fraction real64 rx rr) /\ rr <= @fraction real64 rx rr < 2 * rr.
Proof. exact (fraction_stands 52 11 eq_refl eq_refl eq_refl nan64 ltac:(lia) x r rx rr). Qed.
Lemma exponent64 (x r c : float64) rx rr : stands64 x rx -> stands64 r rr -> stands64 c (IZR (3 * 2 ^ 51)) ->
  bpow radix2 (-1022) <= rx -> 1/2 <= rr < 1 ->
  stands64 (exponent x r c) (@exponent real64 rx rr (IZR (3 * 2 ^ 51))).
Proof. intros Hx Hr Hc Nx Br. exact (exponent_stands 52 11 eq_refl eq_refl eq_refl nan64 ltac:(lia) x r c rx rr Hx Hr Hc Nx Br eq_refl). Qed.

Lemma const64 d : (Z.abs (num d) <? 2 ^ 53)%Z = true -> (-1074 <=? expo d)%Z = true ->
  (expo d <=? 970)%Z = true -> stands64 (const d) (dyadic_R d).
Proof. exact (const_stands 52 11 eq_refl eq_refl eq_refl nan64 d). Qed.
Lemma scale64 p t rp k : stands64 p rp -> stands64 t (IZR (3 * 2 ^ 51 + k)) ->
  (Z.abs k < 2 ^ 51)%Z -> bpow radix2 (-1022) <= rp ->
  bpow radix2 (-1022) <= rp * bpow radix2 k < bpow radix2 1024 ->
  stands64 (scale 52 p t) (rp * bpow radix2 k).
Proof. exact (scale_stands 52 11 eq_refl eq_refl eq_refl nan64 ltac:(lia) p t rp k). Qed.
