(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* Floors: the minima of T_n for even n. *)
From Coq Require Import Reals Lra Lia Psatz.
From Attest Require Import positivity.partial_sums.
Open Scope R_scope.

Definition is_minimum (f : R -> R) (m : R) : Prop :=
  (exists x, f x = m) /\ forall x, m <= f x.

(* The zero of T_{2k+1} is where T_{2k+2} is least, and nowhere else. *)
Lemma T_even_min k z x : T (2 * k + 1) z = 0 -> x <> z -> T (2 * k + 2) z < T (2 * k + 2) x.
Proof.
intros Hz Hx. replace (2 * k + 2)%nat with (S (2 * k + 1)) by lia.
destruct (Rdichotomy _ _ Hx) as [H|H].
- destruct (MVT_cor2 (T (S (2 * k + 1))) (T (2 * k + 1)) x z H) as [c [E [_ Hc]]].
  { intros; apply T_deriv. }
  pose proof (T_odd_incr k c z Hc). nra.
- destruct (MVT_cor2 (T (S (2 * k + 1))) (T (2 * k + 1)) z x H) as [c [E [Hc _]]].
  { intros; apply T_deriv. }
  pose proof (T_odd_incr k z c Hc). nra.
Qed.

Lemma T_even_min_le k z x : T (2 * k + 1) z = 0 -> T (2 * k + 2) z <= T (2 * k + 2) x.
Proof.
intros Hz; destruct (Req_dec x z) as [->|Hx]; [apply Rle_refl | left; apply T_even_min; assumption].
Qed.

(** theorem: floor_exists — T_n has a minimum for every even n, attained at exactly one point for n
    >= 2: the zero z of T_{n-1}, in [-(n-1), -1], where its value is z^n/n!.
    used by: src/positivity/floor.c *)
Theorem floor_exists k : exists z,
  - INR (2 * k + 1) <= z <= -1 /\ T (2 * k + 1) z = 0 /\
  is_minimum (T (2 * k + 2)) (T (2 * k + 2) z) /\
  T (2 * k + 2) z = z ^ (2 * k + 2) / INR (fact (2 * k + 2)) /\
  forall y, T (2 * k + 2) y = T (2 * k + 2) z -> y = z.
Proof.
destruct (T_odd_root k) as [z [Hr Hz]]; exists z; repeat split; try tauto.
- exists z; reflexivity.
- intros x; apply T_even_min_le, Hz.
- replace (2 * k + 2)%nat with (S (2 * k + 1)) by lia.
  change (T (2 * k + 1) z + z ^ S (2 * k + 1) / INR (fact (S (2 * k + 1))) =
    z ^ S (2 * k + 1) / INR (fact (S (2 * k + 1)))). rewrite Hz; ring.
- intros y Hy; destruct (Req_dec y z) as [E|E]; [exact E|].
  pose proof (T_even_min k z y Hz E); lra.
Qed.

(* T_{2k+2} < T_{2k} at every negative point right of -(2k+2). *)
Lemma T_step_lt k t : - INR (2 * k + 2) < t < 0 -> T (2 * k + 2) t < T (2 * k) t.
Proof.
intros [H1 H2]. rewrite T_pair.
assert (Ha : t ^ (2 * k + 1) / INR (fact (2 * k + 1)) < 0).
{ replace (2 * k + 1)%nat with (S (2 * k)) at 1 by lia.
  rewrite <- tech_pow_Rmult, pow_mult.
  assert (0 < (t ^ 2) ^ k) by (apply pow_lt; nra).
  assert (0 < / INR (fact (2 * k + 1))) by (apply Rinv_0_lt_compat, INR_fact_lt_0).
  unfold Rdiv. assert (0 < (t^2)^k * / INR (fact (2 * k + 1))) by (apply Rmult_lt_0_compat; assumption).
  rewrite Rmult_assoc. nra. }
assert (Hb : 0 < 1 + t / INR (2 * k + 2)); [|nra].
assert (Hp : 0 < INR (2 * k + 2)) by (apply lt_0_INR; lia).
apply Rmult_lt_reg_r with (INR (2 * k + 2)); [exact Hp|].
field_simplify; lra.
Qed.

(** theorem: floors_decrease — min T_{n+2} < min T_n for every even n, order 0 included.
    used by: src/positivity/floor.c *)
Theorem floors_decrease n m m' : Nat.even n = true ->
  is_minimum (T n) m -> is_minimum (T (n + 2)) m' -> m' < m.
Proof.
intros Hn; destruct (even_form n Hn) as [k ->].
intros [[x Hx] Hm] [_ Hm'].
assert (Hz : exists z, - INR (2 * k + 2) < z < 0 /\ T (2 * k) z <= m).
{ destruct k as [|k].
  - exists (-1); simpl in *; split; lra.
  - destruct (T_odd_root k) as [z [[Hz1 Hz2] Hz]]. exists z; split; [split; [|lra]|].
    + apply Rlt_le_trans with (2 := Hz1). apply Ropp_lt_contravar, lt_INR; lia.
    + rewrite <- Hx. replace (2 * S k)%nat with (2 * k + 2)%nat by lia.
      apply T_even_min_le, Hz. }
destruct Hz as [z [Hz Hmz]].
apply Rle_lt_trans with (T (2 * k + 2) z); [apply Hm'|].
apply Rlt_le_trans with (T (2 * k) z); [apply T_step_lt, Hz|exact Hmz].
Qed.

(** theorem: order_zero_floor — order 0 is positive with floor 1, above the floor of every other
    even order: "order two has the largest floor", "order two is the least order that preserves
    positivity" hold among non-constant truncations only.
    used by: claims S1-06, S1-07 of data/claims/posfloor.yaml *)
Theorem order_zero_floor : is_minimum (T 0) 1 /\
  forall k m, is_minimum (T (2 * k + 2)) m -> m < 1.
Proof.
split; [split; [exists 0; reflexivity | intros; apply Rle_refl]|].
intros k; induction k as [|k IH]; intros m Hm.
- apply (floors_decrease 0 1 m eq_refl); [split; [exists 0; reflexivity | intros; apply Rle_refl] | exact Hm].
- destruct (floor_exists k) as [z [_ [_ [Hz _]]]].
  apply Rlt_trans with (T (2 * k + 2) z); [|apply IH, Hz].
  apply (floors_decrease (2 * k + 2)); [rewrite Nat.even_add, Nat.even_mul; reflexivity | exact Hz |].
  replace (2 * k + 2 + 2)%nat with (2 * S k + 2)%nat by lia; exact Hm.
Qed.

(** theorem: quadratic_floor — T_2(t) >= 1/2, with equality iff t = -1.
    used by: src/positivity/floor.c, src/positivity/alignment.c; claim S1-02 *)
Theorem quadratic_floor t : 1 / 2 <= T 2 t /\ (T 2 t = 1 / 2 <-> t = -1).
Proof.
replace (T 2 t) with (((1 + t) ^ 2 + 1) / 2) by (simpl; field).
pose proof (pow2_ge_0 (1 + t)); repeat split; [lra | intros; nra | intros ->; lra].
Qed.

(** ** Enclosures, from a bracket of the zero of T_{2k+1} *)
Lemma T_odd_lt_inv k x y : T (2 * k + 1) x < T (2 * k + 1) y -> x < y.
Proof.
intros H; destruct (Rtotal_order x y) as [L|[E|G]]; [exact L | subst; lra |].
pose proof (T_odd_incr k y x G); lra.
Qed.

Lemma pow_even_bounds n a b z : a < z < b -> b < 0 -> (- b) ^ (2 * n) <= z ^ (2 * n) <= (- a) ^ (2 * n).
Proof.
intros [Ha Hb] H. replace (z ^ (2 * n)) with ((- z) ^ (2 * n)).
- split; apply pow_incr; lra.
- rewrite !pow_mult. f_equal; ring.
Qed.

Lemma floor_enclosure k a b m : a < b < 0 -> T (2 * k + 1) a < 0 -> 0 < T (2 * k + 1) b ->
  is_minimum (T (2 * k + 2)) m ->
  (- b) ^ (2 * k + 2) / INR (fact (2 * k + 2)) <= m <= (- a) ^ (2 * k + 2) / INR (fact (2 * k + 2)).
Proof.
intros [Hab Hb0] Ha Hb [[x Hx] Hm].
destruct (floor_exists k) as [z [_ [Hz [[_ Hmin] [Hv _]]]]].
replace m with (T (2 * k + 2) z).
2: { apply Rle_antisym; [rewrite <- Hx; apply Hmin | apply Hm]. }
rewrite Hv.
assert (Hi : a < z < b) by (split; apply (T_odd_lt_inv k); lra).
replace (2 * k + 2)%nat with (2 * (k + 1))%nat by lia.
destruct (pow_even_bounds (k + 1) a b z Hi Hb0).
assert (0 < / INR (fact (2 * (k + 1)))) by (apply Rinv_0_lt_compat, INR_fact_lt_0).
split; apply Rmult_le_compat_r; lra.
Qed.

(* Factorials in binary: INR (fact n) is unary, and never to be computed. *)
Fixpoint factZ (n : nat) : Z := match n with O => 1%Z | S m => (Z.of_nat n * factZ m)%Z end.
Lemma fact_factZ n : INR (fact n) = IZR (factZ n).
Proof.
induction n as [|n IH]; [reflexivity|].
rewrite fact_simpl, mult_INR, IH, INR_IZR_INZ, <- mult_IZR; reflexivity.
Qed.
Fixpoint TZ (n : nat) (t : R) : R :=
  match n with O => 1 | S m => TZ m t + t ^ n / IZR (factZ n) end.
Lemma T_TZ n t : T n t = TZ n t.
Proof.
induction n as [|n IH]; [reflexivity|].
change (T n t + t ^ S n / INR (fact (S n)) = TZ n t + t ^ S n / IZR (factZ (S n))).
rewrite IH, fact_factZ; reflexivity.
Qed.
Ltac binary := repeat match goal with |- context [factZ ?n] =>
  let z := eval vm_compute in (factZ n) in change (factZ n) with z end.
Ltac sign := rewrite T_TZ; cbv [TZ Nat.add Nat.mul]; binary; cbn [pow]; lra.
Ltac enclose k a b := match goal with H : is_minimum _ ?m |- _ =>
  pose proof (floor_enclosure k a b m) as E; rewrite fact_factZ in E; revert E;
  cbn [Nat.add Nat.mul]; binary; cbn [pow]; intros E; destruct E;
  [lra | sign | sign | exact H | lra] end.

(** theorem: first_floors — min T_n = 0.5, 0.270394765205.., 0.149324841731.., 0.0832715201640..,
    0.0466991135902.. for n = 2, 4, 6, 8, 10.
    used by: src/positivity/floor.c; claim S1-05 *)
Theorem first_floors m :
   (is_minimum (T 2) m -> m = 1 / 2) /\
  (is_minimum (T 4) m -> 0.270394765205 <= m <= 0.270394765206) /\
  (is_minimum (T 6) m -> 0.149324841731 <= m <= 0.149324841732) /\
  (is_minimum (T 8) m -> 0.083271520164 <= m <= 0.083271520165) /\
  (is_minimum (T 10) m -> 0.046699113590 <= m <= 0.046699113591).
Proof.
repeat match goal with |- _ /\ _ => split end; intros Hm.
- destruct Hm as [[x Hx] Hm]. destruct (quadratic_floor x) as [H _]; specialize (Hm (-1)).
  simpl in Hm; lra.
- enclose 1%nat (-1.596071637983324) (-1.596071637983320).
- enclose 2%nat (-2.180607124035128) (-2.180607124035124).
- enclose 3%nat (-2.759002709962274) (-2.759002709962270).
- enclose 4%nat (-3.333551485269051) (-3.333551485269047).
Qed.
