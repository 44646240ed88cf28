#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Every measure of attest check against mpmath: the largest error over the output, the lowest index
that has it, and the verdict on either side of it. The formulas are written out again here."""
import itertools

import mpmath as mp
import numpy as np

from attest_command import SEED, check, done, expect, number, save

mp.mp.dps = 60
rng = np.random.default_rng(SEED)
FORMATS = {"float16": (11, -14), "float32": (24, -126), "float64": (53, -1022)}


def exact(q, k, v, causal):
    """out, lse and the condition numbers A and S of both, element by element."""
    heads, n, d = q.shape
    group = heads // k.shape[0]
    out = {}
    lse = {}
    for h, i in itertools.product(range(heads), range(n)):
        keys = range(i + 1) if causal else range(k.shape[1])
        g = h // group
        scale = 1 / mp.sqrt(d)
        terms = [[mp.mpf(float(q[h, i, a])) * mp.mpf(float(k[g, j, a])) for a in range(d)] for j in keys]
        s = [scale * mp.fsum(t) for t in terms]
        t = [scale * mp.fsum(abs(x) for x in row) for row in terms]
        top = max(s)
        w = [mp.exp(x - top) for x in s]
        total = mp.fsum(w)
        p = [x / total for x in w]
        lse[h, i] = (top + mp.log(total), abs(top + mp.log(total)), mp.fsum(a * b for a, b in zip(p, t)))
        for c in range(v.shape[2]):
            values = [mp.mpf(float(v[g, j, c])) for j in keys]
            x = mp.fsum(a * b for a, b in zip(p, values))
            out[h, i, c] = (x, mp.fsum(a * abs(b) for a, b in zip(p, values)),
                            mp.fsum(a * b * abs(y - x) for a, b, y in zip(p, t, values)))
    return out, lse


def errors(got, truth, dtype, rtol, atol):
    """{measure: {index: error}}."""
    precision, emin = FORMATS[dtype]
    u = mp.mpf(2) ** -precision
    u_s = min(u, mp.mpf(2) ** -24)
    quantum = mp.mpf(2) ** max(emin - precision, -1074)
    row = {}
    for index, (x, _, _) in truth.items():
        row[index[:2]] = max(row.get(index[:2], 0), abs(x))
    result = {m: {} for m in ("abs", "rel", "ulp", "row", "allclose", "backward")}
    for index, (x, a, s) in truth.items():
        e = abs(mp.mpf(float(got[index])) - x)
        binade = max(int(mp.floor(mp.log(abs(x), 2))), emin) if x else emin
        result["abs"][index] = e
        result["rel"][index] = e / abs(x) if x else (mp.inf if e else mp.mpf(0))
        result["ulp"][index] = e / mp.mpf(2) ** (binade - precision + 1)
        result["row"][index] = e / row[index[:2]]
        result["allclose"][index] = e / (mp.mpf(atol) + mp.mpf(rtol) * abs(x))
        result["backward"][index] = e / (u * a + u_s * s + quantum)
    return result


def largest(values):
    top = max(values.values())
    return top, min(i for i, e in values.items() if e == top)


def judge(name, base, output, got, truth, dtype, flag):
    """One output: figures and indices in one run, then verdicts just above and below each figure."""
    rtol, atol = 2.0**-7, 2.0**-11
    expected = errors(got, truth, dtype, rtol, atol)
    bounds = [f"{output}:{m}<=1e30" for m in ("abs", "rel", "ulp", "row", "nmse")]
    bounds.append(f"{output}:backward<=1000")  # within the reach of the first-order form
    bounds.append(f"{output}:allclose={rtol},{atol}")
    status, document, _, err = check(*base, *flag, *sum((["--bound", b] for b in bounds), []))
    if document is None:
        expect(name, False, err)
        return
    o = [x for x in document["cases"][0]["outputs"] if x["name"] == output][0]
    for measure, values in expected.items():
        top, index = largest(values)
        found = o["error"][measure]
        inside = number(found["lo"]) <= top <= number(found["hi"])
        narrow = number(found["hi"]) <= top * (1 + mp.mpf(2) ** -19)
        expect(f"{name} {measure}: figure", inside and narrow, (top, found))
        expect(f"{name} {measure}: index", tuple(found["index"]) == index, (index, found))
    sums = [mp.fsum((mp.mpf(float(got[i])) - t[0]) ** 2 for i, t in truth.items()),
            mp.fsum(t[0] ** 2 for t in truth.values())]
    nmse = o["error"]["nmse"]
    expect(f"{name} nmse: figure", number(nmse["lo"]) <= sums[0] / sums[1] <= number(nmse["hi"]), nmse)
    for measure in ("abs", "rel", "ulp", "row", "backward"):
        top, _ = largest(expected[measure])
        for side, wanted in ((1, 0), (-1, 1)):
            bound = mp.nstr(top * (1 + side * mp.mpf(10) ** -25), 40, min_fixed=1, max_fixed=0)
            status, document, _, err = check(*base, *flag, "--bound", f"{output}:{measure}<={bound}")
            expect(f"{name} {measure}: verdict {'above' if side > 0 else 'below'}", status == wanted,
                   (status, bound, err))


def main():
    cases = [("small", 2, 1, 5, 3, 4, False, "float32"), ("causal", 2, 2, 6, 4, 3, True, "float32"),
             ("half", 1, 1, 6, 4, 3, True, "float16"), ("double", 2, 1, 5, 4, 3, True, "float64")]
    for name, hq, hk, n, d, dv, causal, dtype in cases:
        q = rng.standard_normal((hq, n, d)).astype(dtype)
        k = rng.standard_normal((hk, n, d)).astype(dtype)
        v = rng.standard_normal((hk, n, dv)).astype(dtype)
        base = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v)]
        base += ["--causal", "top-left"] if causal else []
        out, lse = exact(q, k, v, causal)
        noise = 2.0 ** -FORMATS[dtype][0]
        got = np.zeros((hq, n, dv), dtype)
        for i, t in out.items():
            got[i] = float(t[0]) * (1 + 8 * noise * rng.standard_normal())
        judge(f"{name} out", base, "out", got, out, dtype, ["--out", save("o", got)])
        got = np.zeros((hq, n), dtype)
        for i, t in lse.items():
            got[i] = float(t[0]) * (1 + 4 * noise * rng.standard_normal())
        judge(f"{name} lse", base, "lse", got, lse, dtype, ["--lse", save("l", got)])
    done()


main()
