# SPDX-License-Identifier: LGPL-3.0-or-later
"""For certify_builtin.py: the statements of attest certify --builtin against NumPy and mpmath: ranks, deviations from softmax, bounds."""
import math
import os

import mpmath
import numpy as np

from attest_command import expect

DATA = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "data"))


def examine(document, out, junit):
    """The certificate, what was printed, the JUnit report."""
    findings = [s for s in document["statements"] if s["kernel"] == "taylor"]
    lines = [x for x in out.splitlines() if " statement=" in x]
    expect("every statement is certified", findings and all(s["verdict"] == "certified" for s in document["statements"]))
    expect("one line a finding", len(lines) == len(document["statements"]) == document["totals"]["statements"], len(lines))
    expect("findings are in the JUnit report", junit.count('classname="state-rank"') ==
           sum(s["statement"] == "state-rank" for s in findings))

    equal = [s["facts"] for s in findings if s["statement"] == "recurrence-is-truncated-kernel"]
    expect("all forms are equal over the rationals, whatever the chunk", len(equal) == 5 and all(
        f["differences"] == "0" and f["chunks"] == "1..16" and f["merges"] == "17" for f in equal), equal)
    expect("... on real rows too", any(f["rows"] == "stories260k" for f in equal))

    proved = {(s["kernel"], s["statement"], *(s["facts"][k] for k in ("of", "without") if k in s["facts"])): s["basis"]
              for s in document["statements"] if s["basis"].startswith("proved(")}
    expect("findings that a theorem covers name it", {k[1:]: b[7:-1] for k, b in proved.items()} == {
        ("recurrence-is-truncated-kernel",): "merges", ("decomposition-identity",): "decomposition",
        ("decomposition-is-polynomial-kernel",): "decomposition", ("hadamard-closure",): "hadamard_closure", ("rotary-scores",): "rotary_scores",
        ("kernel-regression",): "entmax_is_kernel_regression", ("bandwidth-range",): "bandwidth_range",
        ("gaussian-softmax",): "gaussian_is_softmax", ("nearest-keys",): "topk_is_a_ball",
        ("epanechnikov-family", "normrelu-at-fixed-bandwidth"): "normrelu_is_epanechnikov",
        ("epanechnikov-family", "relumax-at-adaptive-bandwidth"): "relumax_is_epanechnikov",
        ("epanechnikov-family", "relumax-as-sparsemax-at-gamma-star"): "relumax_is_sparsemax",
        ("missing-hypotheses", "unit-norms"): "unequal_norms",
        ("missing-hypotheses", "one-largest-score"): "relumax_not_differentiable",
        ("missing-hypotheses", "mass-bound"): "relumax_retains_no_mass"}, proved)
    expect("the others say what decided them", {s["basis"] for s in document["statements"]} - set(proved.values()) ==
           {"derived(rationals)", "derived(integers)", "derived(balls)", "derived(double)", "derived(claims)"},
           {s["basis"] for s in document["statements"]})

    # ---- ranks: the numbers of the paper's setting, and those that its words leave out ----

    def rank(**facts):
        found = [s["facts"]["rank"] for s in findings if s["statement"] == "state-rank" and
                 all(s["facts"][k] == str(v) for k, v in facts.items())]
        return int(found[0]) if len(found) == 1 else None

    expect("order 2 of the state has rank 65 with 64 values", rank(keys="sphere", d=16, dv=64, order=2) == 65)
    expect("... and 136 with values enough", rank(keys="sphere", d=16, dv=300, order=2) == 136)
    expect("in total 152 on the sphere", rank(keys="sphere", d=16, dv=300, order="all") == 152)
    expect("... and 153 off it", rank(keys="open-set", d=16, dv=300, order="all") == 153)
    expect("77 and 84 for d = 6, degree 3", (rank(keys="sphere", d=6, order="all"), rank(keys="open-set", d=6, order="all")) == (77, 84))
    expect("55 and 70 for d = 4, degree 4", (rank(keys="sphere", d=4, order="all"), rank(keys="open-set", d=4, order="all")) == (55, 70))

    # ---- deviations ----

    def unit(x):
        return (x / np.sqrt((x * x).sum(-1, keepdims=True))).astype("f4").astype("f8")

    def facts_of(rows, degree):
        return next(s["facts"] for s in findings if s["statement"] == "deviation-from-softmax" and
                    s["facts"]["rows"] == rows and s["facts"]["degree"] == str(degree))

    def expected(normalised):
        """Per degree: the largest deviation relative to max |v|, the least weight, rows without a positive denominator; and max |t|."""
        q, k, v = (np.load(os.path.join(DATA, "stories260k", x + ".npy"))[:, 0].astype("f8") for x in "qkv")
        if normalised:
            q, k = unit(q), unit(k)
        result, largest = [[0, np.inf, 0] for _ in range(9)], 0
        for layer in range(5):
            for i in range(63, 512, 64):
                t = k[layer, :i + 1] @ q[layer, i] * (0.5 if normalised else 8**-0.5)
                values = v[layer, :i + 1]
                p = np.exp(t - t.max())
                exact = p @ values / p.sum()
                largest = max(largest, np.abs(t).max())
                w, term = np.zeros_like(t), np.ones_like(t)
                for degree in range(9):
                    term = term if degree == 0 else term * t / degree
                    w = w + term
                    found = result[degree]
                    found[1] = min(found[1], w.min())
                    if w.sum() > 0:
                        found[0] = max(found[0], np.abs(w @ values / w.sum() - exact).max() / np.abs(values).max())
                    else:
                        found[2] += 1
        return result, largest

    for rows, normalised in (("stories260k-unit", True), ("stories260k", False)):
        result, largest = expected(normalised)
        expect(f"largest |t| of {rows}", abs(float(facts_of(rows, 0)["largest-score"]) / largest - 1) < 2e-3)
        for degree, (deviation, least, broken) in enumerate(result):
            facts = facts_of(rows, degree)
            ok = (abs(float(facts["deviation"]) - deviation) <= 1e-5 * deviation + 1e-14 and
                  abs(float(facts["least-weight"]) - least) <= 1e-5 * abs(least) and
                  int(facts["nonpositive-denominators"]) == broken)
            expect(f"deviation of degree {degree} on {rows}", ok, (facts, deviation, least, broken))

    # ---- the bound, from the integral ----
    mpmath.mp.dps = 40
    x = mpmath.mpf(facts_of("stories260k-unit", 0)["largest-score"])
    for degree in range(9):
        facts = facts_of("stories260k-unit", degree)
        eps = mpmath.quad(lambda s: s**degree * mpmath.exp(s), [0, x]) / mpmath.factorial(degree)
        bound = 2 * (1 - mpmath.sqrt(1 - eps**2)) / eps
        tolerance = 6e-4 * (degree + 1)  # four digits of x, to the power of degree + 1
        expect(f"the bound of degree {degree}", abs(float(facts["weight-error"]) / eps - 1) < tolerance and
               abs(float(facts["bound"]) / bound - 1) < 2 * tolerance and float(facts["deviation"]) <= bound, (facts, eps, bound))
    expect("no bound where the scores are large", all(facts_of("stories260k", d)["bound"] == "inf" for d in range(9)))
    expect("odd degrees break there, even ones do not",
           all((int(facts_of("stories260k", d)["nonpositive-denominators"]) > 0) == (d % 2 == 1) for d in range(9)))

    # ---- Toeplitz attention ----

    def facts_where(statement, **facts):
        return [s["facts"] for s in document["statements"] if s["statement"] == statement and
                all(s["facts"].get(key) == str(value) for key, value in facts.items())]

    expect("terms are binomials", all(int(f["terms"]) == math.comb(int(f["support"]) + int(f["degree"]), int(f["degree"]))
           for f in facts_where("decomposition-is-polynomial-kernel") + facts_where("fft-deviation", problem="toeplitz")))
    expect("rotated queries and keys have the scores of the difference", [(f["d"], f["differences"]) for f in facts_where("rotary-scores")] ==
           [(str(d), "0") for d in (2, 4, 8, 16)])
    expect("rank d under rotations, n in general", [int(f["rank"]) for f in facts_where("score-rank")] == [2, 4, 8, 16, 48])
    expect("the blocked form leaks nothing", facts_where("fft-deviation", form="blocked")[0]["leak"] == "0")

    def least_degree(tail):
        return next(g for g in range(200) if tail(g))

    for f in facts_where("exp-degrees"):
        b, eps = mpmath.mpf(f["b"]), mpmath.mpf(f["eps"])
        taylor = least_degree(lambda g: mpmath.nsum(lambda k: b**k / mpmath.factorial(k), [g + 1, mpmath.inf]) <= eps)
        chebyshev = least_degree(lambda g: 2 * mpmath.fsum(mpmath.besseli(k, b) for k in range(g + 1, g + 80)) <= eps)
        # Bernstein: the minimax error is between e^-b c and e^b c, c = b^(g+1) / (2^g (g+1)!)
        low, high = (least_degree(lambda g: mpmath.exp(sign * b) * b**(g + 1) / (2**g * mpmath.factorial(g + 1)) <= eps) for sign in (-1, 1))
        expect(f"least degrees for b = {f['b']}, eps = {f['eps']}", (int(f["taylor"]), int(f["chebyshev"])) == (taylor, chebyshev) and
               low <= int(f["minimax"]) <= min(high, chebyshev), (f, taylor, chebyshev, low, high))

    def phase_errors(position, frequency, product):
        """cos and sin errors of one position, d = 128: frequencies and their products with the position as rounded."""
        worst = 0
        for m in range(64):
            theta = mpmath.mpf(10000) ** (-mpmath.mpf(2 * m) / 128)
            phase = mpmath.mpf(float(product(frequency(float(theta)) * position)))
            exact = position * theta
            worst = max(worst, abs(mpmath.cos(phase) - mpmath.cos(exact)), abs(mpmath.sin(phase) - mpmath.sin(exact)))
        return float(worst)

    def bfloat16(x):
        bits = np.array(x, "f4").view("u4")
        return float(((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype("u4").view("f4"))

    for name, frequency in (("float32", np.float32), ("bfloat16-frequencies", bfloat16)):
        one = facts_where("phase-error", phases=name, positions="2048..4095")[0]
        here = phase_errors(4095, lambda t: np.float64(frequency(t)), np.float32)  # one of the positions that are sampled
        expect(f"phases of position 4095, {name}", here <= float(one["largest"]) * 1.01 <= float(one["bound"]) * 1.02 and
               float(one["largest"]) < 8 * here, (one, here))
    expect("a float32 phase is off by less than 0.13 up to position 2^20", float(facts_where(
        "phase-error", phases="float32", positions="524288..1048575")[0]["largest"]) < 0.13)
    expect("every binade of the positions, three formats", all(len(facts_where("phase-error", phases=p)) == 20
           for p in ("float32", "bfloat16-frequencies", "float64")))
