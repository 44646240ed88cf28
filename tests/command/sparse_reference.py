#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""sparse_reference.py ATTEST: attest reference of the sparse kernels against their definitions in
mpmath, digit by digit. Needs python3-numpy, python3-mpmath."""
import json

import mpmath as mp
import numpy as np

from attest_command import SEED, done, expect, path, run, save
from sparse_oracle import attend

rng = np.random.default_rng(SEED)
DIGITS = 30


def agrees(got, expected):
    """Whether the decimal text has its digits from the exact value."""
    if abs(expected) < mp.mpf(10) ** -50:  # zero, up to rounding in the oracle
        return mp.mpf(got) == 0
    return abs(mp.mpf(got) - expected) <= abs(expected) * mp.mpf(10) ** (1 - DIGITS) * 0.5001


def compare(name, kernel, q, k, v, params, extra=(), **options):
    """Every element of one head; rows without weight are 0."""
    flags = [x for key, value in params.items() for x in ("--" + key, value)]
    r = run("reference", kernel, "--q", save("q", q), "--k", save("k", k), "--v", save("v", v), *flags,
            *extra, "--digits", DIGITS, "--output", "r.json")
    if r[0]:
        return f"{name}: {r[2]}"
    mid = json.load(open(path("r.json")))["output"]["mid"]
    expected = attend(kernel, q, k, v, params, **options)
    for i, row in enumerate(expected):
        for c in range(v.shape[1]):
            x = row[c] if row else mp.mpf(0)
            if not agrees(mid[i * v.shape[1] + c], x):
                return f"{name}: element {i},{c} is {mid[i * v.shape[1] + c]}, not {mp.nstr(x, 32)}"
    return None


DISTANCE = [(kernel, {"bandwidth": h}) for kernel in
            ("gaussian", "epanechnikov", "biweight", "triweight", "uniform")
            for h in ("3", "sqrt(7)", "9/4")]
SCORE = [("sparsemax", {}), ("sparsemax", {"temperature": "sqrt(2)"}), ("sparsemax", {"temperature": "1/5"})]
SCORE += [("entmax", {"alpha": a, "temperature": t}) for t in ("1", "0.3") for a in
          ("1", "1.0001", "1.1", "4/3", "3/2", "1.7", "2", "5/2", "sqrt(3)", "3", "10")]
SCORE += [("normrelu", {"bandwidth": h}) for h in ("1", "3/2", "sqrt(2)", "3")]
SCORE += [("relumax", {"bandwidth": h, "margin": b}) for h in ("1", "2/3") for b in ("1", "sqrt(2)", "1/10")]
SCORE += [(kernel, {"topk": n, "ties": t}) for kernel in ("topk-softmax", "topk-uniform")
          for n in ("1", "3", "50") for t in ("lowest", "highest")]


def data(nq, nk, d, dv, kind):
    q, k, v = (rng.standard_normal(s).astype("float32") for s in ((nq, d), (nk, d), (nk, dv)))
    if kind == "duplicates":
        k[1::2] = k[: len(k[1::2]) * 2 : 2]
    if kind == "small integers":
        q, k, v = (np.rint(x) for x in (q, k, v))
    if kind == "all equal":
        k[:] = k[0]
    if kind == "steep":
        k *= 30
    return q, k, v


def check_plain():
    for kind in ("normal", "duplicates", "small integers", "all equal", "steep"):
        wrong = []
        for kernel, params in DISTANCE + SCORE:
            q, k, v = data(3, 9, 4, 2, kind)
            wrong.append(compare(f"{kernel} {params}", kernel, q, k, v, params))
        expect(f"sparse kernels are right to {DIGITS} digits: {kind}", not any(wrong),
               [x for x in wrong if x])


def check_features():
    """Masks, bias, slopes, softcap, negative and zero scales, one key."""
    wrong = []
    for kernel, params in DISTANCE + SCORE:
        q, k, v = data(4, 7, 3, 2, "normal")
        mask = rng.random((4, 7)) < 0.6
        mask[2] = False
        extra = ["--mask", save("mask", mask)]
        options = {"visible": mask}
        if (kernel, params) in SCORE:
            bias = rng.standard_normal((4, 7)).astype("float32")
            params = {**params, "scale": str(rng.choice(["-1/3", "0", "sqrt(1/3)", "1.5"]))}
            extra += ["--bias", save("bias", bias)]
            options["bias"] = bias
            if rng.random() < 0.4:
                extra += ["--alibi-slopes", save("slopes", np.array([0.25], "float32"))]
                options["slope"] = 0.25
                q, k, v = q[None], k[None], v[None]
                q, k, v = q[0], k[0], v[0]
            if rng.random() < 0.4:
                params["softcap"] = "5/2"
        wrong.append(compare(f"{kernel} {params}", kernel, q, k, v, params, extra, **options))
    for kernel, params in DISTANCE + SCORE:
        q, k, v = data(2, 1, 3, 2, "normal")
        wrong.append(compare(f"{kernel} {params}, one key", kernel, q, k, v, params))
    expect("sparse kernels are right under masks, bias, slopes, softcaps and with one key", not any(wrong),
           [x for x in wrong if x])


def check_exact_values():
    """Results that are short decimals end: the exact tier decides what balls never would."""
    q = np.array([[1.0, 0.0]], "float32")
    k = np.array([[1, 0], [0.5, 3], [0, -1], [-4, 2]], "float32")
    v = np.array([[1.0], [3.0], [7.0], [100.0]], "float32")
    base = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v), "--digits", 12, "--output", "r.json"]
    cases = [
        ("sparsemax", ["--scale", 1], "1.50000000000"),
        ("sparsemax", ["--scale", "1/2", "--temperature", "1/2"], "1.50000000000"),
        ("relumax", ["--scale", 1], "1.66666666667"),
        ("relumax", ["--scale", 2, "--margin", "3/2"], "1.50000000000"),
        ("topk-uniform", ["--scale", 1, "--topk", 2], "2.00000000000"),
        ("normrelu", ["--scale", 1, "--bandwidth", 2], "3.00000000000"),
        ("epanechnikov", ["--bandwidth", 2], "3.00000000000"),
        ("uniform", ["--bandwidth", "sqrt(2)"], "4.00000000000"),
        ("uniform", ["--bandwidth", "1.4142135"], "1.00000000000"),
        ("entmax", ["--scale", 0], "27.7500000000"),
        ("entmax", ["--scale", 8, "--alpha", "4/3"], "1.00000000000"),
        ("entmax", ["--scale", 6], "1.00000000000"),
    ]
    wrong = []
    for kernel, flags, text in cases:
        r = run("reference", kernel, *base, *flags)
        got = json.load(open(path("r.json")))["output"] if r[0] == 0 else {"mid": [r[2]], "status": ["?"]}
        if got["mid"] != [text] or got["status"] != ["rounded"]:
            wrong.append(f"{kernel} {flags}: {got['mid']} {got['status']}")
    expect("results that are exact decimals end, by the exact tier", not wrong, wrong)


def check_open():
    """3^3 + 4^3 + 5^3 = 6^3 makes p = (125, 64, 27)/216 at alpha = 4/3, and x a decimal that ends in
    5: no tier decides this tie, so the digits are given with their radius and called open."""
    q, k = np.ones((1, 1), "float32"), np.array([[0], [-0.5], [-1]], "float32")
    v = np.array([[1.6875], [0], [0]], "float32")
    r = run("reference", "entmax", "--alpha", "4/3", "--scale", 1, "--q", save("q", q), "--k", save("k", k),
            "--v", save("v", v), "--digits", 6, "--output", "r.json")
    got = json.load(open(path("r.json")))["output"] if r[0] == 0 else {}
    expect("a tie that no tier decides is called open", got.get("status") == ["open"] and
           got["mid"][0] in ("0.976562", "0.976563") and float(got["rad"][0]) < 6e-7 and "open" in r[2], r)


def check_indices():
    """The keys by falling score, from integers; what NumPy selects is certified, what it swaps refuted."""
    q, k, v = (rng.integers(-9, 10, s).astype("float32") for s in ((2, 6, 4), (2, 11, 4), (2, 11, 3)))
    s = np.where(np.tri(6, 11, dtype=bool), q @ k.swapaxes(1, 2), -np.inf)
    order = np.argsort(-s, -1, kind="stable")[..., :4]
    order = np.where(np.isfinite(np.take_along_axis(s, order, -1)), order, -1)
    base = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v), "--topk", 4, "--causal", "top-left"]
    wrong = []
    for kernel in ("topk-uniform", "topk-softmax"):
        r = run("reference", kernel, *base, "--output", "r.json")
        got = json.load(open(path("r.json")))["outputs"]["indices"] if r[0] == 0 else {}
        if got.get("shape") != [2, 6, 4] or got["mid"] != [str(x) for x in order.ravel()]:
            wrong.append((kernel, r, got))
        if got.get("status") != ["padding" if x < 0 else "rounded" for x in order.ravel()]:
            wrong.append((kernel, got.get("status")))
        r = run("reference", kernel, *base, "--what", "indices", "--output", "i.npy")
        if r[0] or not (np.load(path("i.npy")) == order).all():
            wrong.append((kernel, r))
    expect("reference indices are the keys by falling score, lower ones first, -1 in short rows", not wrong, wrong)
    swapped = order.copy()
    swapped[1, 5, 0] = (set(range(6)) - set(order[1, 5])).pop()
    cases = [(0, order, []), (0, order[..., ::-1].astype("int32"), []), (1, swapped, []), (2, order.astype("int16"), []),
             (2, order[..., :3], []), (2, order, ["--bound", "indices:abs<=1"]), (0, order, ["--bound", "abs<=1"])]
    wrong = []
    for status, indices, flags in cases:
        r = run("check", "topk-uniform", *base, "--indices", save("i", indices), *flags)
        if r[0] != status or (status < 2 and "output=indices elements=48 backward=" not in r[1]):
            wrong.append((status, indices.dtype, r))
    expect("stored indices have a verdict of their own, as sets", not wrong, wrong)


def check_refusals():
    q, k, v = data(2, 3, 4, 2, "normal")
    base = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v), "--output", "r.json"]
    refused = [
        ("entmax", ["--alpha", "0.9"], "alpha"), ("entmax", ["--alpha", "nan"], "alpha"),
        ("entmax", ["--alpha", "0"], "alpha"), ("entmax", ["--alpha", "-1"], "alpha"),
        ("entmax", ["--alpha", "inf"], "alpha"), ("sparsemax", ["--alpha", "3/2"], "alpha"),
        ("gaussian", ["--scale", "1/2"], "scale"), ("uniform", ["--bias", save("b", np.zeros((2, 3)))], "bias"),
        ("epanechnikov", ["--temperature", "2"], "temperature"), ("biweight", ["--bandwidth", "0"], "bandwidth"),
        ("triweight", ["--bandwidth", "-1"], "bandwidth"), ("relumax", ["--margin", "0"], "margin"),
        ("topk-softmax", ["--topk", "0"], "topk"), ("topk-uniform", ["--temperature", "1"], "temperature"),
        ("sparsemax", ["--sinks", save("s", np.zeros(1))], "sinks"), ("normrelu", ["--nonfinite", "ieee"], "nonfinite"),
        ("normrelu", ["--bandwidth", "1e-3", "--empty-row", "error"], "bandwidth"),
    ]
    wrong = []
    for kernel, flags, word in refused:
        r = run("reference", kernel, *base, *flags)
        if r[0] != 2 or word not in r[2]:
            wrong.append((kernel, flags, r))
    expect("what a sparse kernel does not take exits 2 and is named", not wrong, wrong)
    nan = k.copy()
    nan[1, 1] = np.nan
    base[3] = save("nan", nan)
    for kernel in ("gaussian", "epanechnikov", "sparsemax", "softmax"):
        r = run("reference", kernel, *base)
        expect(f"{kernel} names nonfinite ieee as a way out only where it is one", r[0] == 2 and "visible" in r[2] and
               ("nonfinite ieee" in r[2]) == (kernel == "softmax"), r)
    base[3] = save("k", k)
    r = run("reference", "normrelu", *base, "--bandwidth", "1e-3", "--empty-row", "nan")
    expect("a row without weight follows empty-row", r[0] == 0 and
           json.load(open(path("r.json")))["output"]["mid"] == ["nan"] * 4, r)


check_plain()
check_features()
check_exact_values()
check_open()
check_indices()
check_refusals()
done()
