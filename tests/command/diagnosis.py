#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a refutation is told about: each wrong reading of a problem is found, no sound or otherwise wrong output gets one."""
import re

import numpy as np

from attest_command import SEED, check, done, expect, save

rng = np.random.default_rng(SEED)
Q = rng.standard_normal((2, 4, 6, 8)).astype("f4")
K, V = rng.standard_normal((2, 2, 2, 9, 8)).astype("f4")
MASK = rng.random((6, 9)) < 0.6
MASK[:, 0] = True
MASK[:, 1] = False  # no row is empty, inverted or not
BASE = ["--q", save("q", Q), "--k", save("k", K), "--v", save("v", V)]


def softmax(scale=1 / np.sqrt(8), causal=None, mask=None, heads=None, shift=0, k=K, v=V, q=Q, weight=None):
    heads = heads or [h // 2 for h in range(4)]
    k, v = np.roll(k, shift, -2)[:, heads].astype(float), v[:, heads].astype(float)
    s = q.astype(float) @ k.swapaxes(-1, -2) * scale
    i, j = np.arange(s.shape[-2])[:, None], np.arange(s.shape[-1])[None, :]
    if causal is not None:
        s = np.where(j <= i + causal, s, -np.inf)
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    if weight:
        p[weight[0]] += weight[1]
        p /= p.sum(-1, keepdims=True)
    return (p @ v).astype("f4")


def diagnose(out, *flags):
    status, document, text, err = check(*BASE, "--out", save("out", out), *flags)
    lines = [x[len("attest: diagnosis: "):] for x in err.splitlines() if x.startswith("attest: diagnosis: ")]
    expect("... the same in the certificate", document["cases"][0].get("diagnosis", []) == lines, document["cases"][0])
    return status, [x for x in lines if x.startswith("it certifies")], lines


def readings():
    mask = ["--mask", save("mask", MASK)]
    cases = [
        ("no causal mask", softmax(), ["--causal", "top-left"], "without the causal mask"),
        ("top-left for bottom-right", softmax(causal=0), ["--causal", "bottom-right"], "with causal top-left"),
        ("bottom-right for top-left", softmax(causal=3), ["--causal", "top-left"], "with causal bottom-right"),
        ("causal for none", softmax(causal=0), [], "with causal top-left"),
        ("scale 1", softmax(scale=1), [], "with scale 1"),
        ("the default scale", softmax(), ["--scale", "1/3"], "with the default scale 1/sqrt(d)"),
        ("scale 1/d", softmax(scale=1 / 8), [], "with scale 1/d"),
        ("an inverted mask", softmax(mask=~MASK), mask, "with the mask inverted (true = hide)"),
        ("interleaved heads", softmax(heads=[h % 2 for h in range(4)]), [],
         "with interleaved heads: query head h reads key head h mod Hkv"),
        ("keys shifted forward", softmax(shift=1), [], "with keys shifted by one: value j meets key j - 1"),
        ("keys shifted back", softmax(shift=-1), [], "with keys shifted by one: value j meets key j + 1"),
        ("heads and positions swapped", softmax().swapaxes(1, 2).copy().reshape(2, 4, 6, 8), [],
         "if heads and positions of out are swapped in memory"),
        ("a transposed output", softmax().swapaxes(2, 3).copy().reshape(2, 4, 6, 8), [],
         "if out is transposed: positions and components are swapped in memory"),
    ]
    for name, out, flags, what in cases:
        status, found, lines = diagnose(out, *flags)
        expect(f"{name} is found", status == 1 and found == ["it certifies " + what], lines)
    good = softmax()
    status, found, lines = diagnose(good)
    expect("a sound output has no diagnosis", status == 0 and not lines, lines)
    wrong = good.copy()
    wrong[1, 2, 3, 4] += np.float32(0.01)
    status, found, lines = diagnose(wrong)
    expect("what is wrong otherwise certifies under no reading", status == 1 and not found, lines)
    expect("its row is named first", lines[0].startswith("row of out[1,2,3,4]: off by 0.01 ") and
           sum(x.startswith("row ") for x in lines) == 1, lines)
    one = softmax()
    one[1, 3, 5] = one[1, 3, 5] * 0 + np.nan
    status, found, lines = diagnose(one)
    expect("NaN is a row that is infinitely off", status == 1 and lines[0].startswith("row of out[1,3,5,0]: off by inf"), lines)
    # Readings whose first rows certify while later ones do not are no readings.
    late = softmax(scale=1)
    late[-1, -1, -1] += np.float32(0.1)
    status, found, lines = diagnose(late)
    expect("a reading has to certify in full", status == 1 and not found, lines)


def rows():
    out = softmax(weight=((1, 3, 2, 7), 0.05))
    status, found, lines = diagnose(out)
    expect("the key whose weight is off is named", status == 1 and lines[0].startswith("row of out[1,3,2,") and
           "along the value of key 7:" in lines[1], lines)
    m = re.search(r"weight were (\S+) instead of (\S+)", lines[1])
    expect("... with both weights", m and abs(float(m[1]) - (float(m[2]) + 0.05) / 1.05) < 1e-4, lines[1])
    m = re.match(r"  key (\d+): score (\S+), weight (\S+)", lines[2])
    s = Q[1, 3, 2].astype(float) @ K[1, 1].astype(float).T / np.sqrt(8)
    p = np.exp(s) / np.exp(s).sum()
    expect("the largest weight comes first, with its score", int(m[1]) == p.argmax() and abs(float(m[2]) - s[p.argmax()]) < 1e-4 and
           abs(float(m[3]) - p.max()) < 1e-3, lines)


readings()
rows()
done()
