#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The canonical part of a certificate is the same at any number of threads and on every instruction
set, on problems that need every tier of the ladder."""
import os

import numpy as np

from attest_command import SEED, check, done, expect, save

rng = np.random.default_rng(SEED)
BOUNDS = ["backward<=16", "abs<=1e-6", "ulp<=64", "row<=1e-6", "nmse<=1e-12", "allclose=1e-5,1e-7", "theory"]


def canonical(document):
    return {key: value for key, value in document.items() if key not in ("environment", "timing")}


def softmax(q, k, v, scores=float):
    s = (q.astype(scores) @ np.swapaxes(k, -1, -2).astype(scores) / scores(np.sqrt(q.shape[-1]))).astype(float)
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True) @ v.astype(float)


def problems():
    q, k, v = (rng.standard_normal((2, 50, 16)) for _ in range(3))
    yield "plain", q, k, v, np.float32, 1e-7
    yield "wrong everywhere", q, k, v, np.float32, 1e-3
    yield "steep", 60 * q, 60 * k, v, np.float32, 1e-7
    long_q, long_k, long_v = (rng.standard_normal((1, n, 64)) for n in (64, 1200, 1200))
    yield "long and steep", 140 * long_q, 140 * long_k, long_v[..., :16], np.float32, None  # scores in float32
    yield "ties", 0 * q, k, np.round(v), np.float32, 0
    yield "half", q, k, v, np.float16, 1e-3
    yield "double", q, k, v, np.float64, 1e-16


for name, q, k, v, dtype, noise in problems():
    q, k, v = (a.astype(np.float32) for a in (q, k, v))
    out = softmax(q, k, v) if noise is not None else softmax(q, k, v, np.float32)
    out = (out * (1 + (noise or 0) * rng.standard_normal(out.shape))).astype(dtype)
    args = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v), "--out", save("o", out),
            "--arithmetic", "products=float32",
            *sum((["--bound", b] for b in (BOUNDS if noise is not None else BOUNDS[:1])), [])]
    status, first, text, err = check(*args, "--threads", 1)
    expect(f"{name}: an answer", first is not None, err)
    for what, extra, isa in (("5 threads", ["--threads", 5], None), ("baseline", ["--threads", 2], "baseline"),
                             ("AVX2", ["--threads", 3], "avx2")):  # the first one has the best that is there
        environment = dict(os.environ, **({"ATTEST_ISA": isa} if isa else {}))
        other_status, other, other_text, err = check(*args, *extra, env=environment)
        expect(f"{name}: the same with {what}", other is not None and other_status == status and other_text == text and
               {**canonical(other), "cases": [{**c, "replay": 0} for c in other["cases"]]} ==
               {**canonical(first), "cases": [{**c, "replay": 0} for c in first["cases"]]}, err + text + other_text)

def taylor(q, k, v, degree):
    s = q @ np.swapaxes(k, -1, -2) / 4
    w = np.tril(sum(s**m / np.prod(np.arange(1, m + 1)) for m in range(degree + 1)))
    return (w @ v / w.sum(-1, keepdims=True)).astype(np.float32)


q, k, v = (rng.standard_normal((2, 70, 16)).astype(np.float32) for _ in range(3))
for degree, form, size in ((2, "direct", 1), (3, "recurrent", 1), (2, "chunked", 0.3), (2, "direct", 20), (1, "direct", 3)):
    files = ["--q", save("q", np.float32(size) * q), "--k", save("k", k), "--v", save("v", v),
             "--out", save("o", taylor(np.float32(size) * q, k, v, degree))]
    args = [*files, "--degree", degree, "--form", form, "--scale", "1/4", "--causal", "top-left", "--arithmetic", "products=float32",
            *sum((["--bound", b] for b in BOUNDS), [])]
    status, first, text, err = check(*args, "--threads", 1, kernel="taylor")
    expect(f"taylor {form} {size}: an answer", first is not None, err)
    for what, extra, isa in (("5 threads", ["--threads", 5], None), ("baseline", [], "baseline"), ("AVX2", [], "avx2")):
        environment = dict(os.environ, **({"ATTEST_ISA": isa} if isa else {}))
        other_status, other, other_text, err = check(*args, *extra, env=environment, kernel="taylor")
        expect(f"taylor {form} {size}: the same with {what}", other is not None and other_status == status and other_text == text and
               {**canonical(other), "cases": [{**c, "replay": 0} for c in other["cases"]]} ==
               {**canonical(first), "cases": [{**c, "replay": 0} for c in first["cases"]]}, err + text + other_text)
done()
