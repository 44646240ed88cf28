(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* log ((1 + z) / (1 - z)) = 2 atanh z, its slope, and that of the logarithm's series in z. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core.
Open Scope R_scope.
Notation pow2 := (bpow radix2).

Notation z_range z := (Rabs z <= 1406 * pow2 (-13)).
Definition atanh2 (z : R) : R := ln (1 + z) - ln (1 - z).

Lemma z_bounds z : z_range z -> -172/1000 <= z <= 172/1000.
Proof. intros H. apply Rabs_le_inv in H. simpl in H. lra. Qed.

Lemma atanh2_derive (z : R) : z_range z -> is_derive atanh2 z (2 / (1 - z * z)).
Proof.
intros H. apply z_bounds in H. unfold atanh2. auto_derive; [repeat split; lra|].
assert (1 - z * z <> 0) by nra. field. lra.
Qed.

Lemma atanh2_0 : atanh2 0 = 0.
Proof. unfold atanh2. rewrite Rplus_0_r, Rminus_0_r. ring. Qed.

Section Series.
Variables c3 c5 c7 c9 c11 c13 c15 c17 c19 c21 : R.
Definition series (z : R) : R := let w := z * z in
  let y := z * w * ((((((((((c21 * w + c19) * w + c17) * w + c15) * w + c13) * w + c11) * w + c9) * w + c7) * w + c5) * w + c3)) + z in
  y + y.
Definition slope (w : R) : R := 2 + 2 * w * (3 * c3 + w * (5 * c5 + w * (7 * c7 + w * (9 * c9 + w * (11 * c11 + w * (13 * c13 +
  w * (15 * c15 + w * (17 * c17 + w * (19 * c19 + w * (21 * c21)))))))))).
Lemma series_derive (z : R) : is_derive series z (slope (z * z)).
Proof. unfold series, slope. cbv zeta. auto_derive; [exact I|ring]. Qed.
Lemma series_0 : series 0 = 0.
Proof. unfold series. cbv zeta. ring. Qed.

Lemma series_method e : (forall w, 0 <= w <= 29584/1000000 -> Rabs (slope w - 2 / (1 - w)) <= e) ->
  forall z, z_range z -> Rabs (series z - atanh2 z) <= e * Rabs z.
Proof.
intros B z H. set (h := fun t => series t - atanh2 t). replace (series z - atanh2 z) with (h z - h 0).
2: { unfold h. rewrite series_0, atanh2_0. ring. }
replace (Rabs z) with (Rabs (z - 0)) by (f_equal; ring).
apply (bounded_variation h (fun t => slope (t * t) - 2 / (1 - t * t))).
intros t Ht. rewrite !Rminus_0_r in Ht. assert (Ht' : z_range t) by (apply Rle_trans with (1 := Ht), H). split.
- apply (is_derive_minus series atanh2); [apply series_derive|apply atanh2_derive, Ht'].
- apply B. apply z_bounds in Ht'. nra.
Qed.
End Series.

Lemma atanh2_size z : z_range z -> 2 * Rabs z <= Rabs (atanh2 z).
Proof.
intros H. destruct (MVT_gen atanh2 0 z (fun t => 2 / (1 - t * t))) as [c [Hc E]].
- intros t Ht. apply atanh2_derive. apply Rabs_le. apply Rabs_le_inv in H. unfold Rmin, Rmax in Ht. destruct (Rle_dec 0 z); lra.
- intros t Ht. apply continuity_pt_filterlim, (ex_derive_continuous atanh2). eexists. apply atanh2_derive.
  apply Rabs_le. apply Rabs_le_inv in H. unfold Rmin, Rmax in Ht. destruct (Rle_dec 0 z); lra.
- rewrite atanh2_0, !Rminus_0_r in E. rewrite E, Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  assert (B : -172/1000 <= c <= 172/1000).
  { apply z_bounds in H. unfold Rmin, Rmax in Hc. destruct (Rle_dec 0 z); lra. }
  assert (W : 0 <= c * c <= 29584/1000000) by nra. rewrite Rabs_pos_eq.
  + apply Rle_trans with (2 / 1); [lra|]. apply Rmult_le_compat_l; [lra|]. apply Rinv_le; lra.
  + apply Rlt_le, Rdiv_lt_0_compat; lra.
Qed.

Lemma atanh2_moves y z : z_range y -> z_range z -> Rabs (atanh2 y - atanh2 z) <= 2062/1000 * Rabs (y - z).
Proof.
intros Hy Hz. destruct (MVT_gen atanh2 z y (fun t => 2 / (1 - t * t))) as [c [Hc E]].
- intros t Ht. apply atanh2_derive. apply Rabs_le. apply Rabs_le_inv in Hy, Hz. unfold Rmin, Rmax in Ht. destruct (Rle_dec z y); lra.
- intros t Ht. apply continuity_pt_filterlim, (ex_derive_continuous atanh2). eexists. apply atanh2_derive.
  apply Rabs_le. apply Rabs_le_inv in Hy, Hz. unfold Rmin, Rmax in Ht. destruct (Rle_dec z y); lra.
- rewrite E, Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  assert (B : -172/1000 <= c <= 172/1000).
  { apply z_bounds in Hy, Hz. unfold Rmin, Rmax in Hc. destruct (Rle_dec z y); lra. }
  assert (W : 0 <= c * c <= 29584/1000000) by nra. rewrite Rabs_pos_eq.
  + apply Rle_trans with (2 * / (970416/1000000)); [|lra]. apply Rmult_le_compat_l; [lra|]. apply Rinv_le; lra.
  + apply Rlt_le, Rdiv_lt_0_compat; lra.
Qed.

Lemma atanh2_quotient f : 0 < f -> atanh2 ((f - 1) / (f + 1)) = ln f.
Proof.
intros P. unfold atanh2.
replace (1 + (f - 1) / (f + 1)) with (f * (2 / (f + 1))) by (field; lra).
replace (1 - (f - 1) / (f + 1)) with (2 / (f + 1)) by (field; lra).
rewrite ln_mult; [ring|exact P|apply Rdiv_lt_0_compat; lra].
Qed.
