(* SPDX-License-Identifier: LGPL-3.0-or-later *)
(* The radius of the double tier of the sparse kernels whose weights are powers, from queries, keys and
   values to the output, all steps of src/sparse/enclose.c with their own roundings. *)
From Coq Require Import Reals Lra Lia Psatz ZArith List.
From Flocq Require Import Core Relative.
From Attest Require Import problem.row enclosure.summation softmax.radius softmax.weight softmax.terms
  sparse.power sparse.threshold sparse.mean sparse.deviation sparse.rows sparse.arguments sparse.shift sparse.threshold_row sparse.kernel_power.
Open Scope R_scope.
Notation slack := (1 + pow2 (-20)).
Notation tiny := (pow2 (-1000)).

(* The sums of element_sums and sparse_sums_moved, over n keys that carry weight or doubt, of vis; x, a: the
   computed output and the mean of sizes. *)
Record row_sums (n vis : nat) (w off v : nat -> R) (x a den far offs : R) : Prop := {
  kept_keys : (n <= vis)%nat;
  idle_keys : forall j, (n <= j < vis)%nat -> w j = 0 /\ off j = 0;
  values_format : forall j, (j < n)%nat -> format64 (v j);
  num_tree : exists t s, chained t vis n w v /\ chained s vis n w (fun j => Rabs (v j)) /\
    x = rnd64 (fl rnd64 rnd64 t / den) /\ a = rnd64 (fl rnd64 rnd64 s / den);
  den_tree : exists t, added t (chain_depth vis) vis w /\ den = fl rnd64 rnd64 t;
  far_tree : exists t, chained t n n off (fun j => Rabs (rnd64 (v j - x))) /\ far = fl rnd64 rnd64 t;
  off_tree : exists t, added t n n off /\ offs = fl rnd64 rnd64 t;
  few_keys : INR (S (chain_depth vis)) * u64 <= pow2 (-30) /\ INR (S (chain_depth n)) * u64 <= pow2 (-30) /\ INR (S vis) * u64 <= pow2 (-30);
  some_weight : 0 < sum vis w
}.

Section Powers.
Variables (n vis : nat) (r : R) (p rel : R -> R) (y h v Y : nat -> R) (x a den far offs : R).
Hypothesis r_pos : 0 < r.
Hypothesis power : forall z, format64 z -> 0 < z -> powered r z (p z) (rel z).
Hypothesis y_format : forall j, (j < vis)%nat -> format64 (y j) /\ format64 (h j).
Hypothesis arguments : forall j, (j < vis)%nat -> Rabs (Y j - y j) <= h j.
Let w j := weight p (y j).
Let off j := off_c p rel (y j) (w j) (h j).
Let below j := below_c p rel (y j) (h j).
Hypothesis sums : row_sums n vis w off v x a den far offs.

Lemma weight_format j : (j < vis)%nat -> format64 (w j) /\ 0 <= w j.
Proof.
intros Hj. unfold w, weight. destruct (Rle_dec (y j) 0) as [|L]; [split; [apply format_0|lra]|].
destruct (power (y j) (proj1 (y_format j Hj)) ltac:(lra)) as [F [_ [P _]]]. split; assumption.
Qed.

Lemma deviation j : (j < vis)%nat -> Rabs (ppow r (Y j) - w j) <= off j /\ below j <= ppow r (Y j) /\
  (off j = 0 \/ pow2 (-1001) <= off j) /\ (below j = 0 \/ pow2 (-1022) <= below j).
Proof.
intros Hj. destruct (y_format j Hj) as [Fy Fh]. destruct (weight_format j Hj) as [Fw _].
assert (None : y j <= 0 -> w j = 0) by (intros L; unfold w, weight; destruct (Rle_dec (y j) 0); [reflexivity|contradiction]).
assert (Pw : forall z, format64 z -> tiny <= z -> powered r z (p z) (rel z)).
{ intros z Fz Tz. apply power; [exact Fz|]. apply Rlt_le_trans with (2 := Tz), bpow_gt_0. }
assert (D := power_deviation r p rel r_pos Pw (y j) (w j) (h j) Fy Fw Fh None (Y j) (arguments j Hj)).
destruct D as [D1 [D2 [D3 _]]]. split; [exact D1|]. split; [exact D2|]. split; [exact D3|].
apply (below_enough r p rel r_pos Pw (y j) (h j) Fy Fh (Y j) (arguments j Hj)).
Qed.

Lemma powers_radius least : 0 < least -> least <= sum vis (fun j => ppow r (Y j)) ->
  Rabs (x - mean vis (fun j => ppow r (Y j)) v) <= mean_radius n vis a x den far offs least.
Proof.
intros Pl Hl. destruct sums as [KN ID VF [nt [st [Tn [Ts [Ex Ea]]]]] [dt [Td Ed]] [ft [Tf Ef]] [ot [To Eo]] [F1 [F2 F3]] SW].
rewrite Ex, Ea, Ef, Eo, Ed in *.
assert (U := u64_size).
apply (sparse_mean n vis w (fun j => ppow r (Y j)) v off least nt st dt ft ot); try assumption.
- intros j Hj. destruct (ID j Hj) as [W0 O0]. split; [exact W0|]. destruct (deviation j (proj2 Hj)) as [D1 _].
  rewrite W0, O0, Rminus_0_r in D1. pose proof (ppow_nonneg r (Y j)). rewrite Rabs_pos_eq in D1 by assumption. lra.
- intros j Hj. apply weight_format. lia.
- intros j Hj. apply deviation. lia.
- intros j Hj. apply deviation. lia.
- assert (L : pow2 (-30) <= pow2 (-22)) by (apply bpow_le; lia). split; [lra|]. split; [lra|].
  assert (INR n <= INR (S vis)) by (apply le_INR; lia).
  assert (INR n * u64 <= INR (S vis) * u64) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* Without a threshold: the least weights add up. *)
Lemma least_radius t : added t vis vis below -> 0 < least_c vis (fl rnd64 rnd64 t) ->
  Rabs (x - mean vis (fun j => ppow r (Y j)) v) <= mean_radius n vis a x den far offs (least_c vis (fl rnd64 rnd64 t)).
Proof.
intros T P. apply powers_radius; [exact P|].
assert (U := u64_size). destruct sums as [_ _ _ _ _ _ _ [_ [_ F3]] _].
apply Rle_trans with (sum vis below).
- apply least_enough; [exact T| |].
  + intros j Hj. apply deviation, Hj.
  + assert (L : pow2 (-30) <= pow2 (-22)) by (apply bpow_le; lia). rewrite S_INR in F3.
    assert (INR vis * u64 <= (INR vis + 1) * u64) by (apply Rmult_le_compat_r; lra). lra.
- apply sum_le. intros j Hj. apply deviation, Hj.
Qed.
End Powers.

(* ---- scores ---- *)

Section Score.
(* scale c, ch in double; inverse temperature i, f in double; b: bias, slope k: a linear bias. `extras`: whether
   there is a bias or a slope, `tempered`: whether the temperature is not 1. *)
Variables (d : nat) (c ch ec i f fe b slope k : R) (extras tempered : bool) (q key : nat -> R) (t ts : tree).
Definition score (extras tempered : bool) (d : nat) (c i b slope k : R) (q key : nat -> R) : R :=
  let s0 := c * sum d (fun a => q a * key a) in
  let s1 := if extras then s0 + b + slope * k else s0 in if tempered then s1 * i else s1.
Definition score_c (extras tempered : bool) (ch f b slope k dot : R) : R :=
  let s0 := rnd64 (ch * dot) in
  let s1 := if extras then extras_y s0 b (rnd64 (slope * k)) else s0 in if tempered then rnd64 (s1 * f) else s1.
Definition score_error (extras tempered : bool) (d : nat) (ch ec f fe b slope k dot size : R) : R :=
  let s0 := rnd64 (ch * dot) in let e0 := product_error d dot size ch ec in
  let step := rnd64 (slope * k) in
  let s1 := if extras then extras_y s0 b step else s0 in let e1 := if extras then extras_error s0 e0 b step else e0 in
  if tempered then tempered_error s1 e1 f fe else e1.
(* what a score is computed from *)
Record score_terms : Prop := {
  score_short : INR (S d) * u64 <= pow2 (-30);
  score_scale : Rabs (ch - c) <= ec;
  score_scale_near : ec <= pow2 (-30) * Rabs ch;
  score_scale_format : format64 ch;
  score_dot : dotted t d q key;
  score_size : dotted ts d (fun a => Rabs (q a)) (fun a => Rabs (key a));
  score_bias : format64 b;
  score_temperature : Rabs (i - f) <= fe;
  score_temperature_format : format64 f /\ format64 fe /\ 0 <= f
}.

Lemma near_more X y e K K' : near X y e K -> K <= K' <= 100 -> near X y e K'.
Proof.
intros [L [T F]] H. split; [|split; assumption]. apply (low_weak _ _ K 0); [exact L|lra|lra].
Qed.

Lemma score_near : score_terms ->
  near (score extras tempered d c i b slope k q key) (score_c extras tempered ch f b slope k (fl rnd64 rnd64 t))
    (score_error extras tempered d ch ec f fe b slope k (fl rnd64 rnd64 t) (fl rnd64 rnd64 ts)) 21.
Proof.
intros [S1 S2 S3 S4 S5 S6 S7 S8 S9].
assert (N0 := product_near_score d S1 q key t c ch ec ts S2 S3 S4 S5 S6).
unfold score, score_c, score_error. cbv zeta.
assert (N1 : near (if extras then c * sum d (fun a => q a * key a) + b + slope * k else c * sum d (fun a => q a * key a))
  (if extras then extras_y (rnd64 (ch * fl rnd64 rnd64 t)) b (rnd64 (slope * k)) else rnd64 (ch * fl rnd64 rnd64 t))
  (if extras then extras_error (rnd64 (ch * fl rnd64 rnd64 t)) (product_error d (fl rnd64 rnd64 t) (fl rnd64 rnd64 ts) ch ec) b (rnd64 (slope * k))
   else product_error d (fl rnd64 rnd64 t) (fl rnd64 rnd64 ts) ch ec) 15).
{ destruct extras; [|apply (near_more _ _ _ 8); [exact N0|lra]].
  replace 15 with (8 + 7) by ring. apply extras_near; [exact N0|lra|apply rnd_format|exact S7]. }
destruct tempered; [|apply (near_more _ _ _ 15); [exact N1|lra]].
replace 21 with (15 + 6) by ring. apply tempered_near; [exact N1|lra|exact S8|exact S9].
Qed.
End Score.

Lemma score_format extras tempered ch f b slope k dot : format64 (score_c extras tempered ch f b slope k dot).
Proof. unfold score_c. cbv zeta. destruct tempered, extras; apply rnd_format. Qed.

(* put, and the factor that deviations add *)
Definition put_c (e : R) : R := rnd64 (e * slack).
Definition half_c (e shift : R) : R := rnd64 (rnd64 (e + shift) * slack).

Lemma half_covers d e shift : 0 <= shift -> format64 e -> 0 <= e -> d <= e + shift * (1 - pow2 (-22)) -> format64 shift -> tiny <= e -> d <= half_c e shift.
Proof.
intros Ps Fe Pe H Fs T. assert (U := u64_size). assert (N := tiny_small). unfold half_c.
assert (C := plus_close e shift Fe Fs). rewrite (Rabs_pos_eq (e + shift)) in C by lra. apply Rabs_le_inv in C.
set (s := rnd64 (e + shift)) in *. assert (Pss : 0 <= s) by (apply rnd_pos; lra).
assert (Psl : 0 <= slack) by (change (pow2 (-20)) with (/ 1048576); lra).
assert (Q := proj1 (product_near s slack Pss Psl)). set (h := rnd64 (s * slack)) in *.
change (pow2 (-20)) with (/ 1048576) in *. change (pow2 (-22)) with (/ 4194304) in *.
assert (u64 * (e + shift) <= / 1000000000 * (e + shift)) by (apply Rmult_le_compat_r; lra).
assert (s * (1 + / 1048576) * u64 <= s * (1 + / 1048576) * / 1000000000) by (apply Rmult_le_compat_l; lra).
assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma put_near X y e K : near X y e K -> K <= 50 ->
  Rabs (X - y) * (1 + pow2 (-21)) <= put_c e /\ tiny <= put_c e /\ format64 (put_c e).
Proof.
intros N HK. assert (H := near_put X y e K N HK). split; [exact H|]. split; [|apply rnd_format].
destruct N as [_ [T _]]. unfold put_c. apply rnd_least; [apply format_bpow; lia|].
assert (P := tiny_small). change (pow2 (-20)) with (/ 1048576). lra.
Qed.

Lemma put_half X y e K : near X y e K -> K <= 50 -> Rabs (X - y) <= half_c (put_c e) 0.
Proof.
intros N HK. destruct (put_near X y e K N HK) as [H [T F]]. assert (P := tiny_small). pose proof (Rabs_pos (X - y)).
apply half_covers; try lra; [exact F| |apply format_0].
change (pow2 (-21)) with (/ 2097152) in H. lra.
Qed.

(* find_empty: no key can have weight *)
Lemma no_weight r Y y e : format64 y -> format64 e -> Rabs (Y - y) <= e -> rnd64 (y + e) <= 0 -> ppow r Y = 0.
Proof.
intros Fy Fe H N. assert (U := u64_size). apply ppow_zero. apply Rabs_le_inv in H.
apply Rnot_lt_le. intros C. assert (P : 0 < y + e) by lra.
assert (Q := plus_close y e Fy Fe). rewrite (Rabs_pos_eq (y + e)) in Q by lra. apply Rabs_le_inv in Q.
assert (u64 * (y + e) <= / 1000000000 * (y + e)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* ---- compact kernels and normrelu ---- *)

Section Compact.
Variables (r : nat) (d n vis : nat) (q : nat -> R) (key : nat -> nat -> R) (f fe h2 : R) (t : nat -> tree) (v : nat -> R).
Variables (x a den far offs : R) (least_t : tree).
Hypothesis r_small : (1 <= r <= 3)%nat.
Hypothesis short : INR (S d) * u64 <= pow2 (-30).
Hypothesis formats : forall a, (a < d)%nat -> format64 (q a).
Hypothesis key_formats : forall j a, (j < vis)%nat -> (a < d)%nat -> format64 (key j a).
(* 1/h^2 in double *)
Hypothesis h2_pos : 0 < h2.
Hypothesis f_off : Rabs (/ h2 - f) <= fe.
Hypothesis f_format : format64 f /\ format64 fe.
Hypothesis dots : forall j, (j < vis)%nat -> dotted (t j) d (fun a => rnd64 (q a - key j a)) (fun a => rnd64 (q a - key j a)).
Let dot j := fl rnd64 rnd64 (t j).
Let y j := rnd64 (rnd64 (- f * dot j) + 1).
Let e j := put_c (affine_error (dot j) (distance_error d (dot j)) (- f) fe 1 0).
Let w j := weight (whole r) (y j).
Let h j := half_c (e j) 0.
Let off j := off_c (whole r) (fun _ => whole_error r) (y j) (w j) (h j).
Hypothesis sums : row_sums n vis w off v x a den far offs.
Hypothesis leasts : added least_t vis vis (fun j => below_c (whole r) (fun _ => whole_error r) (y j) (h j)).
Let least := least_c vis (fl rnd64 rnd64 least_t).
(* else the radius is infinite *)
Hypothesis least_pos : 0 < least.

(** theorem: compact_radius — epanechnikov, biweight and triweight: the output sum_j [1 - |q - k_j|^2/h^2]_+^r v_j / sum_j [..]_+^r is within the radius that the double tier computes, from queries and keys on, with its own roundings. used by: src/sparse/enclose.c, src/sparse/line.c *)
Theorem compact_radius :
  Rabs (x - mean vis (fun j => ppow (INR r) (1 - sum d (fun a => (q a - key j a) * (q a - key j a)) / h2)) v) <=
    mean_radius n vis a x den far offs least.
Proof.
assert (R0 : 0 < INR r) by (apply lt_0_INR; lia). assert (N0 := bpow_ge_0 radix2 (-1075)).
apply (least_radius n vis (INR r) (whole r) (fun _ => whole_error r) y h v
  (fun j => 1 - sum d (fun a => (q a - key j a) * (q a - key j a)) / h2) x a den far offs R0); try assumption.
- intros z Fz Pz. apply whole_powered; assumption.
- intros j Hj. split; apply rnd_format.
- intros j Hj. assert (D := distance_near d short q (key j) (t j) formats (fun a Ha => key_formats j a Hj Ha) (dots j Hj)).
  assert (A := affine_near _ _ _ _ (- / h2) (- f) fe 1 1 0 D ltac:(lra)).
  fold (dot j) in A. apply (put_half _ _ _ (3 + 8)); [|lra].
  replace (1 - sum d (fun a => (q a - key j a) * (q a - key j a)) / h2) with
    (- / h2 * sum d (fun a => (q a - key j a) * (q a - key j a)) + 1) by (unfold Rdiv; ring).
  apply A.
  + replace (- / h2 - - f) with (- (/ h2 - f)) by ring. rewrite Rabs_Ropp. exact f_off.
  + split; [apply generic_format_opp|]; apply f_format.
  + replace (1 - 1) with 0 by ring. rewrite Rabs_R0. repeat split; lra.
Qed.
End Compact.

Section Normrelu.
Variables (d n vis : nat) (q : nat -> R) (key : nat -> nat -> R) (f fe h2 : R) (t ts : nat -> tree) (v : nat -> R).
(* same: the map is the identity and left out *)
Variables (c ch ec i g ge : R) (extras tempered same : bool) (b k : nat -> R) (slope : R).
Variables (x a den far offs : R) (least_t : tree).
Hypothesis h2_pos : 0 < h2.
Hypothesis h2_same : same = true -> h2 = 2.
Hypothesis f_off : Rabs (/ h2 - f) <= fe.
(* twice the constant is one, too *)
Hypothesis f_format : format64 (2 * f) /\ format64 (2 * fe).
Hypothesis scores : forall j, (j < vis)%nat -> score_terms d c ch ec i g ge (b j) q (key j) (t j) (ts j).
Let s j := score_c extras tempered ch g (b j) slope (k j) (fl rnd64 rnd64 (t j)).
Let es j := score_error extras tempered d ch ec g ge (b j) slope (k j) (fl rnd64 rnd64 (t j)) (fl rnd64 rnd64 (ts j)).
Let F := 2 * f.
Let Fe := 2 * fe.
Let S := rnd64 (1 - F).
Let se := rnd64 (Fe + rnd64 (u64 * Rabs S)).
Let y j := if same then s j else rnd64 (rnd64 (F * s j) + S).
Let e j := put_c (if same then es j else affine_error (s j) (es j) F Fe S se).
Let w j := weight (whole 1) (y j).
Let h j := half_c (e j) 0.
Let off j := off_c (whole 1) (fun _ => whole_error 1) (y j) (w j) (h j).
Hypothesis sums : row_sums n vis w off v x a den far offs.
Hypothesis leasts : added least_t vis vis (fun j => below_c (whole 1) (fun _ => whole_error 1) (y j) (h j)).
Let least := least_c vis (fl rnd64 rnd64 least_t).
Hypothesis least_pos : 0 < least.

Lemma shift_off : low se (Rabs (1 - 2 * / h2 - S)) 4 (2 * eta).
Proof.
assert (U := u64_size). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (Pfe : 0 <= Fe).
{ assert (0 <= fe) by (eapply Rle_trans; [apply Rabs_pos|exact f_off]). unfold Fe. lra. }
assert (F1 : format64 1) by (change 1 with (pow2 0); apply format_bpow; lia).
assert (C := minus_close 1 F F1 (proj1 f_format)). fold S in C.
pose proof (Rabs_pos S) as PS. assert (Pu : 0 <= u64 * Rabs S) by (apply Rmult_le_pos; lra).
assert (L := low_sum _ _ _ _ _ _ _ _ 2 (low_given Fe Fe (conj Pfe (Rle_refl _))) (low_one (u64 * Rabs S) Pu) ltac:(lra) ltac:(lra)).
fold se in L. replace (0 + eta + eta) with (2 * eta) in L by ring.
assert (B : Rabs (1 - 2 * / h2 - S) <= (Fe + u64 * Rabs S) * (1 + 2 * u64)).
{ replace (1 - 2 * / h2 - S) with (- (S - (1 - F)) - 2 * (/ h2 - f)) by (unfold F; ring).
  unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_Ropp, Rabs_mult, (Rabs_pos_eq 2) by lra.
  set (z := 1 - F) in *. assert (Z : Rabs z <= Rabs S + Rabs (S - z)).
  { replace z with (S - (S - z)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
  apply (Rmult_le_compat_l u64) in Z; [|lra]. pose proof (Rabs_pos (S - z)).
  assert (u64 * Rabs (S - z) <= u64 * (u64 * (Rabs S + Rabs (S - z)))) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (u64 * Rabs (S - z)) <= / 1000000000 * (u64 * Rabs (S - z))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (0 <= u64 * Fe) by (apply Rmult_le_pos; lra). assert (0 <= u64 * (u64 * Rabs S)) by (apply Rmult_le_pos; lra).
  unfold Fe in *. lra. }
destruct L as [P [Q [_ [_ L]]]]. repeat split; try lra; [apply Rabs_pos|].
set (m := Fe + u64 * Rabs S) in *. assert (Pm : 0 <= m) by (unfold m; lra).
assert (Rabs (1 - 2 * / h2 - S) * (1 - 4 * u64) <= m * (1 + 2 * u64) * (1 - 4 * u64)) by (apply Rmult_le_compat_r; lra).
assert (0 <= m * (u64 * u64)) by (apply Rmult_le_pos; [exact Pm|apply Rmult_le_pos; lra]). lra.
Qed.

(** theorem: normrelu_radius — normrelu: the output of the weights [2 s_j/h^2 + 1 - 2/h^2]_+ is within the radius that the double tier computes, scores without softcap, with bias, linear bias and scale. used by: src/sparse/enclose.c, src/sparse/line.c *)
Theorem normrelu_radius :
  Rabs (x - mean vis (fun j => ppow 1 (2 * score extras tempered d c i (b j) slope (k j) q (key j) / h2 + 1 - 2 / h2)) v) <=
    mean_radius n vis a x den far offs least.
Proof.
apply (least_radius n vis 1 (whole 1) (fun _ => whole_error 1) y h v
  (fun j => 2 * score extras tempered d c i (b j) slope (k j) q (key j) / h2 + 1 - 2 / h2) x a den far offs Rlt_0_1); try assumption.
- intros z Fz Pz. apply (whole_powered 1); [lia|assumption|assumption].
- intros j Hj. split; [unfold y; destruct same; [apply score_format|apply rnd_format]|apply rnd_format].
- intros j Hj. assert (D := score_near d c ch ec i g ge (b j) slope (k j) extras tempered q (key j) (t j) (ts j) (scores j Hj)).
  unfold h, e, y. destruct same.
  { rewrite (h2_same eq_refl). apply (put_half _ _ _ 21); [|lra].
    replace (2 * score extras tempered d c i (b j) slope (k j) q (key j) / 2 + 1 - 2 / 2) with
      (score extras tempered d c i (b j) slope (k j) q (key j)) by field. exact D. }
  apply (put_half _ _ _ (21 + 8)); [|lra].
  replace (2 * score extras tempered d c i (b j) slope (k j) q (key j) / h2 + 1 - 2 / h2) with
    ((2 * / h2) * score extras tempered d c i (b j) slope (k j) q (key j) + (1 - 2 * / h2)) by (unfold Rdiv; ring).
  apply affine_near; [exact D|lra| |exact f_format|exact shift_off].
  unfold F, Fe. replace (2 * / h2 - 2 * f) with (2 * (/ h2 - f)) by ring. rewrite Rabs_mult, (Rabs_pos_eq 2) by lra. lra.
Qed.
End Normrelu.

(* ---- sparsemax and entmax ---- *)

Section Entmax.
(* al = alpha - 1 and r = 1 / al, in double with their errors; m: at least r and 1 *)
Variables (r m : R) (p rel : R -> R) (al aa ae mc rm u L E tau : R).
Variables (d n vis : nat) (q : nat -> R) (key : nat -> nat -> R) (t ts : nat -> tree) (v : nat -> R).
Variables (c ch ec i g ge : R) (extras tempered : bool) (b k : nat -> R) (slope : R).
Variables (x a den far offs : R) (off_t sum_t : tree).
Hypothesis vis_pos : (0 < vis)%nat.
Hypothesis r_pos : 0 < r <= m.
Hypothesis m_small : 1 <= m /\ m * u64 <= pow2 (-24).
Hypothesis power : taken r p rel.
Hypothesis a_off : Rabs (al - aa) <= ae.
Hypothesis a_format : format64 aa /\ format64 ae.
Hypothesis a_near : ae <= / 2 * aa.
Hypothesis scores : forall j, (j < vis)%nat -> score_terms d c ch ec i g ge (b j) q (key j) (t j) (ts j).
Let z j := score_c extras tempered ch g (b j) slope (k j) (fl rnd64 rnd64 (t j)).
Let e0 j := put_c (score_error extras tempered d ch ec g ge (b j) slope (k j) (fl rnd64 rnd64 (t j)) (fl rnd64 rnd64 (ts j))).
(* the largest score, and what the solver has found *)
Hypothesis L_largest : format64 L /\ forall j, (j < vis)%nat -> z j <= L.
Hypothesis u_format : format64 u.
Let gap j := gap_c aa L (z j).
Let y j := argument u gap j.
Let w j := weight p (y j).
Let e j := argument_error (gap_error (e0 j) aa ae L (z j)) (y j).
Hypothesis mc_large : m <= mc * (1 + pow2 (-30)).
Hypothesis doubts : dotted off_t vis w (fun j => doubt rel mc (y j)).
Hypothesis totals : added sum_t (chain_depth vis) vis w.
Let total := fl rnd64 rnd64 sum_t.
Let o := off_sum vis (fl rnd64 rnd64 off_t) total.
Let res := miss_c total o rm.
Hypothesis rm_ok : pow2 (-900) <= rm <= r * (1 + 2 * u64).
(* else the radius is infinite *)
Hypothesis least_large : / 2 < miss_least total o.
Hypothesis m_half : miss_m total o rm < / 2.
Hypothesis residual_small : res < pow2 (-10).
Hypothesis E_format : format64 E /\ 0 <= E.
Hypothesis E_large : forall j, (j < vis)%nat -> 0 <= rnd64 (rnd64 (y j + e j) + res) -> e j <= E.
Let h j := half_c (e j) (shift_c E res).
Let off j := off_c p rel (y j) (w j) (h j).
Hypothesis sums : row_sums n vis w off v x a den far offs.
Notation S j := (score extras tempered d c i (b j) slope (k j) q (key j)).
Hypothesis tau_ok : sum vis (fun j => ppow r (al * S j - tau)) = 1.

(** theorem: entmax_radius — sparsemax and entmax, any alpha with 1/(alpha - 1) between 2^-899 and 2^29: the output sum_j [(alpha - 1) z_j - tau]_+^(1/(alpha - 1)) v_j, tau such that these weights add up to 1, is within the radius that the double tier computes, from queries and keys on, whatever its solver has found, with its own roundings; scores without softcap, with bias, linear bias, scale and temperature. used by: src/sparse/enclose.c, src/sparse/line.c *)
Theorem entmax_radius :
  Rabs (x - mean vis (fun j => ppow r (al * S j - tau)) v) <= mean_radius n vis a x den far offs 1.
Proof.
assert (power' := taken_powered r p rel power).
assert (U := u64_size). assert (few := few_keys _ _ _ _ _ _ _ _ _ _ sums). destruct few as [F1 [F2 F3]].
set (Root := al * L - tau). set (G := fun j => al * (L - S j)).
assert (RG : forall j, Root - G j = al * S j - tau) by (intros; unfold Root, G; ring).
assert (Root_ok : held vis r G Root = 1).
{ rewrite <- tau_ok. apply sum_ext. intros j _. rewrite RG. reflexivity. }
apply (powers_radius n vis r p rel y h v (fun j => al * S j - tau) x a den far offs (proj1 r_pos) power'); try assumption.
- intros j Hj. split; apply rnd_format.
- intros j Hj. rewrite <- RG.
  apply (threshold_error vis r m al aa ae L u mc rm E p rel (fun j => S j) z e0 off_t sum_t vis_pos r_pos m_small power'); try assumption.
  + intros l Hl. assert (D := score_near d c ch ec i g ge (b l) slope (k l) extras tempered q (key l) (t l) (ts l) (scores l Hl)).
    destruct (put_near _ _ _ _ D ltac:(lra)) as [P1 [P2 _]]. split; [|split; [apply score_format|apply L_largest, Hl]].
    change (pow2 (-21)) with (/ 2097152) in P1. pose proof (Rabs_pos (S l - z l)) as P0. fold (z l) in P1. fold (e0 l) in P1. lra.
  + apply L_largest.
  + split; assumption.
- lra.
- rewrite tau_ok. lra.
Qed.
End Entmax.

(* ---- relumax ---- *)

Section Relumax.
Variables (d n vis : nat) (q : nat -> R) (key : nat -> nat -> R) (f fe h2 : R) (t ts : nat -> tree) (v : nat -> R).
(* same: the map is the identity and left out *)
Variables (c ch ec i g ge : R) (extras tempered same : bool) (b k : nat -> R) (slope : R).
(* the margin and the largest score; in double mh, off by at most me, and L *)
Variables (margin mh me top L E : R).
Variables (x a den far offs : R) (least_t : tree).
Hypothesis vis_pos : (0 < vis)%nat.
Hypothesis h2_pos : 0 < h2.
Hypothesis h2_same : same = true -> h2 = 1.
Hypothesis f_off : Rabs (/ h2 - f) <= fe.
Hypothesis f_format : format64 f /\ format64 fe.
Hypothesis margin_off : Rabs (margin - mh) <= me.
Hypothesis margin_format : format64 mh.
Hypothesis scores : forall j, (j < vis)%nat -> score_terms d c ch ec i g ge (b j) q (key j) (t j) (ts j).
Notation S j := (score extras tempered d c i (b j) slope (k j) q (key j) / h2).
Let s j := score_c extras tempered ch g (b j) slope (k j) (fl rnd64 rnd64 (t j)).
Let es j := score_error extras tempered d ch ec g ge (b j) slope (k j) (fl rnd64 rnd64 (t j)) (fl rnd64 rnd64 (ts j)).
Let y0 j := if same then s j else rnd64 (rnd64 (f * s j) + 0).
Let e0 j := put_c (if same then es j else affine_error (s j) (es j) f fe 0 0).
(* below_largest *)
Definition margin_y (mh y0 L : R) : R := rnd64 (mh + rnd64 (y0 - L)).
Definition margin_error (mh me y0 e0 L : R) : R :=
  rnd64 (e0 + rnd64 (rnd64 (rnd64 (u64 * rnd64 (Rabs (rnd64 (y0 - L)) + Rabs (margin_y mh y0 L))) + me) * slack)).
Let y j := margin_y mh (y0 j) L.
Let e j := margin_error mh me (y0 j) (e0 j) L.
Hypothesis L_largest : (exists l, (l < vis)%nat /\ L = y0 l) /\ forall j, (j < vis)%nat -> y0 j <= L.
Hypothesis top_largest : (exists m, (m < vis)%nat /\ top = S m) /\ forall j, (j < vis)%nat -> S j <= top.
(* contenders: the largest error of keys that may be the largest *)
Hypothesis E_format : format64 E.
Hypothesis E_large : forall j, (j < vis)%nat ->
  (forall l, (l < vis)%nat -> rnd64 (y l - e l) <= rnd64 (y j + e j)) -> e j <= E.
Let h j := half_c (e j) (rnd64 (E * slack)).
Let w j := weight (whole 1) (y j).
Let off j := off_c (whole 1) (fun _ => whole_error 1) (y j) (w j) (h j).
Hypothesis sums : row_sums n vis w off v x a den far offs.
Hypothesis leasts : added least_t vis vis (fun j => below_c (whole 1) (fun _ => whole_error 1) (y j) (h j)).
Let least := least_c vis (fl rnd64 rnd64 least_t).
Hypothesis least_pos : 0 < least.

Lemma plain_close j : (j < vis)%nat -> Rabs (S j - y0 j) * (1 + pow2 (-21)) <= e0 j /\ tiny <= e0 j.
Proof.
intros Hj. assert (D := score_near d c ch ec i g ge (b j) slope (k j) extras tempered q (key j) (t j) (ts j) (scores j Hj)).
assert (N0 := bpow_ge_0 radix2 (-1075)).
unfold e0, y0. destruct same.
{ rewrite (h2_same eq_refl). destruct (put_near _ _ _ _ D ltac:(lra)) as [P1 [P2 _]].
  replace (score extras tempered d c i (b j) slope (k j) q (key j) / 1) with (score extras tempered d c i (b j) slope (k j) q (key j)) by field.
  split; [exact P1|exact P2]. }
assert (A := affine_near _ _ _ _ (/ h2) f fe 0 0 0 D ltac:(lra) f_off f_format).
assert (A' := A ltac:(replace (0 - 0) with 0 by ring; rewrite Rabs_R0; repeat split; lra)). clear A.
destruct (put_near _ _ _ _ A' ltac:(lra)) as [P1 [P2 _]].
replace (/ h2 * score extras tempered d c i (b j) slope (k j) q (key j) + 0) with (S j) in P1 by (unfold Rdiv; ring).
split; [exact P1|exact P2].
Qed.

(* the argument for the largest computed score *)
Lemma below_close j : (j < vis)%nat -> Rabs (margin + S j - L - y j) <= e j /\ e0 j <= e j /\ tiny <= e j.
Proof.
intros Hj. destruct (plain_close j Hj) as [P1 P2]. assert (U := u64_size). assert (N := tiny_small). assert (N0 := bpow_ge_0 radix2 (-1075)).
assert (Fy : forall l, format64 (y0 l)) by (intros; unfold y0; destruct same; [apply score_format|apply rnd_format]).
assert (Fy0 := Fy j).
assert (FL : format64 L) by (destruct L_largest as [[l [_ ->]] _]; apply Fy).
assert (Pme : 0 <= me) by (eapply Rle_trans; [apply Rabs_pos|exact margin_off]).
assert (C1 := minus_close (y0 j) L Fy0 FL). set (gap := rnd64 (y0 j - L)) in *.
assert (C2 := plus_close mh gap margin_format (rnd_format _)). change (rnd64 (mh + gap)) with (y j) in C2.
set (A := Rabs (S j - y0 j)) in *. assert (PA : 0 <= A) by apply Rabs_pos.
(* by the results *)
assert (B : forall r0 z, Rabs (r0 - z) <= u64 * Rabs z -> Rabs (r0 - z) <= u64 * Rabs r0 * (1 + / 100000000)).
{ intros r0 z H. assert (Z : Rabs z <= Rabs r0 + Rabs (r0 - z)).
  { replace z with (r0 - (r0 - z)) at 1 by ring. unfold Rminus at 1. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
  apply (Rmult_le_compat_l u64) in Z; [|lra]. pose proof (Rabs_pos (r0 - z)). pose proof (Rabs_pos r0).
  assert (u64 * Rabs (r0 - z) <= u64 * (u64 * (Rabs r0 + Rabs (r0 - z)))) by (apply Rmult_le_compat_l; lra).
  assert (u64 * (u64 * Rabs r0) <= / 1000000000 * (u64 * Rabs r0)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (u64 * (u64 * Rabs (r0 - z)) <= / 1000000000 * (u64 * Rabs (r0 - z))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (0 <= u64 * Rabs r0) by (apply Rmult_le_pos; lra).
  assert (u64 * Rabs (r0 - z) <= / 1000000000 * Rabs (r0 - z)) by (apply Rmult_le_compat_r; lra). lra. }
apply B in C1. apply B in C2.
assert (T : Rabs (margin + S j - L - y j) <= me + A + (u64 * Rabs gap + u64 * Rabs (y j)) * (1 + / 100000000)).
{ replace (margin + S j - L - y j) with ((margin - mh) + (S j - y0 j) - (gap - (y0 j - L)) - (y j - (mh + gap))) by ring.
  assert (T := Rabs_triang). unfold Rminus at 1. eapply Rle_trans; [apply T|]. rewrite Rabs_Ropp.
  unfold Rminus at 1. eapply Rle_trans; [apply Rplus_le_compat_r, T|]. rewrite Rabs_Ropp.
  eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, T|]. fold A. lra. }
unfold e, margin_error. fold gap. change (margin_y mh (y0 j) L) with (y j).
set (G := Rabs gap) in *. set (Y := Rabs (y j)) in *. assert (PG : 0 <= G) by apply Rabs_pos. assert (PY : 0 <= Y) by apply Rabs_pos.
assert (L1 := low_prod u64 1 _ _ _ _ 2 (low_one (G + Y) ltac:(lra)) ltac:(lra) ltac:(lra)).
assert (L2 := low_sum _ _ _ _ _ _ _ _ 3 L1 (low_given me me (conj Pme (Rle_refl _))) ltac:(lra) ltac:(lra)).
assert (L3 := low_prod_r slack 2 _ _ _ _ 4 L2 ltac:(change (pow2 (-20)) with (/ 1048576); lra) ltac:(lra)).
set (a3 := rnd64 (rnd64 (rnd64 (u64 * rnd64 (G + Y)) + me) * slack)) in *.
destruct L3 as [_ [P3 [_ [_ L3]]]].
assert (Fe0 : format64 (e0 j)) by apply rnd_format.
assert (Q : e0 j <= rnd64 (e0 j + a3)) by (apply rnd_least; [exact Fe0|lra]).
split; [|split; [exact Q|lra]].
assert (C := plus_close (e0 j) a3 Fe0 (rnd_format _)). rewrite (Rabs_pos_eq (e0 j + a3)) in C by lra. apply Rabs_le_inv in C.
apply Rle_trans with (1 := T). set (ee := rnd64 (e0 j + a3)) in *. set (x0 := e0 j) in *. clearbody ee x0 a3 A G Y.
change (pow2 (-20)) with (/ 1048576) in *. change (pow2 (-21)) with (/ 2097152) in *.
assert (u64 * (x0 + a3) <= / 1000000000 * (x0 + a3)) by (apply Rmult_le_compat_r; lra).
set (m := u64 * (G + Y) + me) in *. assert (Pm : 0 <= m) by (unfold m; assert (0 <= u64 * (G + Y)) by (apply Rmult_le_pos; lra); lra).
assert (m * (1 + / 1048576) * (4 * u64) <= m * (1 + / 1048576) * (4 * / 1000000000)) by (apply Rmult_le_compat_l; lra).
assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
assert (ET : 7 * eta <= / 1000 * tiny) by lra.
assert (Mm : me + (u64 * G + u64 * Y) * (1 + / 100000000) <= m * (1 + / 100000000)) by (unfold m; lra).
lra.
Qed.

(* top and L are apart by no more than the contenders' errors *)
Lemma tops_close : Rabs (L - top) <= E /\ tiny <= E.
Proof.
destruct L_largest as [[l [Hl El]] Ll]. destruct top_largest as [[m [Hm Em]] Lm].
assert (mono : forall u1 u2, u1 <= u2 -> rnd64 u1 <= rnd64 u2).
{ intros u1 u2 H. apply round_le; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact H]. }
assert (CM : e m <= E).
{ apply (E_large m Hm). intros l' Hl'. apply mono. destruct (below_close l' Hl') as [B1 _]. destruct (below_close m Hm) as [B2 _].
  apply Rabs_le_inv in B1. apply Rabs_le_inv in B2. specialize (Lm l' Hl'). lra. }
assert (CL : e l <= E).
{ apply (E_large l Hl). intros l' Hl'. apply mono.
  assert (y l' <= y l).
  { unfold y, margin_y. apply mono. apply Rplus_le_compat_l, mono. specialize (Ll l' Hl'). lra. }
  destruct (below_close l' Hl') as [_ [_ T1]]. destruct (below_close l Hl) as [_ [_ T2]]. pose proof (bpow_ge_0 radix2 (-1000)). lra. }
destruct (below_close m Hm) as [_ [M1 M2]]. destruct (below_close l Hl) as [_ [M3 M4]].
destruct (plain_close m Hm) as [Q1 _]. destruct (plain_close l Hl) as [Q2 _].
change (pow2 (-21)) with (/ 2097152) in *. pose proof (Rabs_pos (S m - y0 m)). pose proof (Rabs_pos (S l - y0 l)).
pose proof (bpow_ge_0 radix2 (-1000)).
split; [|lra]. apply Rabs_le. split.
- (* top = S m <= y0 m + e0 m <= L + e m *)
  pose proof (Rle_abs (S m - y0 m)). specialize (Ll m Hm). lra.
- pose proof (Rle_abs (- (S l - y0 l))) as A. rewrite Rabs_Ropp in A. specialize (Lm l Hl). lra.
Qed.

(** theorem: relumax_radius — relumax: the output of the weights [b + (s_j - max s)/h^2]_+ is within the radius that the double tier computes, from queries and keys on, with its own roundings; scores without softcap, with bias, linear bias and scale. used by: src/sparse/enclose.c, src/sparse/line.c *)
Theorem relumax_radius :
  Rabs (x - mean vis (fun j => ppow 1 (margin + S j - top)) v) <= mean_radius n vis a x den far offs least.
Proof.
destruct tops_close as [TC PE]. assert (U := u64_size). assert (N := tiny_small). assert (N0 := bpow_ge_0 radix2 (-1075)).
apply (least_radius n vis 1 (whole 1) (fun _ => whole_error 1) y h v (fun j => margin + S j - top) x a den far offs Rlt_0_1); try assumption.
- intros z Fz Pz. apply (whole_powered 1); [lia|assumption|assumption].
- intros j Hj. split; apply rnd_format.
- intros j Hj. destruct (below_close j Hj) as [B1 [B2 B3]].
  assert (SH : E <= rnd64 (E * slack)).
  { apply rnd_least; [exact E_format|]. change (pow2 (-20)) with (/ 1048576). lra. }
  assert (Psl : 0 <= slack) by (change (pow2 (-20)) with (/ 1048576); lra).
  assert (Q := proj1 (product_near E slack ltac:(lra) Psl)). set (sh := rnd64 (E * slack)) in *.
  change (pow2 (-20)) with (/ 1048576) in Q.
  assert (E * (1 + / 1048576) * u64 <= E * (1 + / 1048576) * / 1000000000) by (apply Rmult_le_compat_l; lra).
  assert (u64 * tiny <= / 1000 * tiny) by (apply Rmult_le_compat_r; lra).
  unfold h. fold sh. apply half_covers; try lra; try apply rnd_format.
  replace (margin + S j - top - y j) with ((margin + S j - L - y j) + (L - top)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. change (pow2 (-22)) with (/ 4194304). lra.
Qed.
End Relumax.
