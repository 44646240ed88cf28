#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""toeplitz_reference.py ATTEST: attest reference and attest check of rope-softmax, rope-linear and toeplitz
against their definitions in mpmath, digit by digit. Needs python3-numpy, python3-mpmath."""
import json

import mpmath as mp
import numpy as np

from attest_command import SEED, done, expect, path, run, save

mp.mp.dps = 60
rng = np.random.default_rng(SEED)
DIGITS = 30


def rotated_form(q, k, step, base, half):
    """q^T R_step k by complex numbers: a pair is x + iy, R multiplies by e^{i step theta}."""
    d, total = len(q), mp.mpf(0)
    for m in range(d // 2):
        a, b = (m, m + d // 2) if half else (2 * m, 2 * m + 1)
        turn = mp.expj(step * mp.mpf(base) ** (-mp.mpf(2 * m) / d))
        total += mp.re(mp.conj(mp.mpc(q[a], q[b])) * turn * mp.mpc(k[a], k[b]))
    return total


def attend(kernel, q, k, v, scale, weights=None, base=10000, half=False, offset=0, causal=False, temperature=1, normalize=True, eps=0):
    nq, nk, rows = len(q), len(k), []
    for i in range(nq):
        at = i + offset
        keys = [j for j in range(nk) if not causal or j <= at]
        scores = []
        for j in keys:
            if weights is None:
                form = rotated_form([mp.mpf(float(x)) for x in q[i]], [mp.mpf(float(x)) for x in k[j]], j - at, base, half)
            else:
                w = weights[at - j + len(weights) // 2]
                form = mp.fsum(mp.mpf(float(q[i][a])) * mp.mpf(float(w[a][b])) * mp.mpf(float(k[j][b]))
                               for a in range(len(q[i])) for b in range(len(q[i])))
            scores.append(scale * form / temperature)
        p = scores if kernel == "rope-linear" else [mp.exp(s) for s in scores]
        total = mp.fsum(p) + eps if normalize else 1
        rows.append([mp.fsum(x * mp.mpf(float(v[j][c])) for x, j in zip(p, keys)) / total for c in range(v.shape[1])])
    return rows


def compare(name, kernel, nq, nk, d, dv, flags, weights=None, **options):
    q, k, v = (rng.standard_normal(s).astype("f4") for s in ((nq, d), (nk, d), (nk, dv)))
    if weights is not None:
        flags = [*flags, "--weights", save("w", weights)]
    base = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v), *flags]
    r = run("reference", kernel, *base, "--digits", DIGITS, "--output", "r.json")
    expected = attend(kernel, q, k, v, weights=weights, **options)
    wrong = r[2]
    if not r[0]:
        mid = json.load(open(path("r.json")))["output"]["mid"]
        wrong = next((f"element {i},{c} is {mid[i * dv + c]}, not {mp.nstr(x, 32)}" for i, row in enumerate(expected) for c, x in enumerate(row)
                      if abs(mp.mpf(mid[i * dv + c]) - x) > abs(x) * mp.mpf(10) ** (1 - DIGITS) * 0.5001), None)
    expect(f"reference {kernel}: {name}", wrong is None, wrong)
    out = np.array([[float(x) for x in row] for row in expected]).astype("f4")
    r = run("check", kernel, *base, "--out", save("o", out), "--bound", "backward<=1", "--bound", "ulp<=0.5")
    expect(f"check {kernel}: {name}, correctly rounded", r[0] == 0, r[1] + r[2])
    out[-1, -1] = out[-1, -1] * np.float32(1.001) + np.float32(1e-4)
    r = run("check", kernel, *base, "--out", save("o", out), "--bound", "backward<=16")
    expect(f"check {kernel}: {name}, one wrong element", r[0] == 1, r[1] + r[2])


third = mp.mpf(1) / 3
for pairs in ("interleaved", "half"):
    compare(pairs, "rope-softmax", 6, 6, 8, 3, ["--scale", "1/8", "--rope-pairs", pairs], scale=mp.mpf(1) / 8, half=pairs == "half")
compare("default scale, base 500000, causal", "rope-softmax", 7, 7, 4, 2, ["--rope-base", "500000", "--causal", "top-left"],
        scale=mp.mpf(1) / 2, base=500000, causal=True)
compare("bottom-right", "rope-softmax", 4, 9, 6, 2, ["--scale", "sqrt(1/3)", "--causal", "bottom-right", "--temperature", "3/2"],
        scale=mp.sqrt(third), causal=True, offset=5, temperature=mp.mpf(3) / 2)
compare("an irrational base", "rope-softmax", 4, 4, 6, 2, ["--scale", "1", "--rope-base", "sqrt(10)"], scale=1, base=mp.sqrt(10))
compare("normalised", "rope-linear", 6, 6, 4, 3, ["--scale", "1/8", "--rope-base", "7"], scale=mp.mpf(1) / 8, base=7)
compare("sums, bottom-right", "rope-linear", 5, 8, 4, 3, ["--scale", "1/2", "--normalize", "none", "--causal", "bottom-right"],
        scale=mp.mpf(1) / 2, causal=True, offset=3, normalize=False)
compare("eps", "rope-linear", 5, 5, 2, 3, ["--scale", "1", "--eps", "3/4", "--rope-pairs", "half"], scale=1, eps=mp.mpf(3) / 4)
compare("general W", "toeplitz", 6, 6, 3, 2, ["--scale", "1/3"], rng.standard_normal((11, 3, 3)).astype("f4"), scale=third)
compare("causal, W of float64", "toeplitz", 5, 8, 2, 2, ["--scale", "-1/2", "--causal", "bottom-right"],
        rng.standard_normal((15, 2, 2)), scale=-mp.mpf(1) / 2, causal=True, offset=3)
compare("d = 1", "toeplitz", 6, 6, 1, 1, ["--scale", "1"], rng.standard_normal((11, 1, 1)), scale=1)

q = save("q", np.ones((4, 3), "f4"))
same = ["--q", q, "--k", q, "--v", q]
for name, arguments, word in (("an odd d", ["rope-softmax", *same], "even"), ("no weights", ["toeplitz", *same], "--weights"),
                              ("weights of another shape", ["toeplitz", *same, "--weights", save("w", np.ones((7, 2, 2)))], "(7, 3, 3)"),
                              ("weights that are not finite", ["toeplitz", *same, "--weights", save("infinite", np.full((7, 3, 3), np.inf))], "finite"),
                              ("a base of zero", ["rope-softmax", *same, "--rope-base", "0"], "rope-base"),
                              ("a base whose angles no table holds", ["rope-softmax", *same, "--rope-base", "1e-200"], "rope-base"),
                              ("bias under rope-linear", ["rope-linear", *same, "--bias", q], "bias")):
    r = run("reference", *arguments, "--output", "r.json")
    expect(f"{name} exits 2 and is named", r[0] == 2 and word in r[2], r)

# Rows whose weights add up to exactly 0 are 0/0, NaN, at rotated positions as at unrotated ones: cos and sin of different
# algebraic angles are independent. Here: one key at right angles; two keys at steps +-1 that cancel; one angle in two pairs.
def vanishing(name, q, k, flags, row):
    v = rng.standard_normal((len(k), 1)).astype("f4")
    base = ["--q", save("q", np.array(q, "f4")), "--k", save("k", np.array(k, "f4")), "--v", save("v", v), *flags]
    r = run("reference", "rope-linear", *base, "--dtype", "float32", "--output", "exact.npy")
    exact = np.load(path("exact.npy")) if r[0] == 0 else None
    expect(f"rope-linear, {name}: the reference is NaN in this row alone", exact is not None and list(np.flatnonzero(np.isnan(exact))) == [row], (r, exact))
    if exact is None:
        return
    r = run("check", "rope-linear", *base, "--out", save("out", exact))
    expect(f"rope-linear, {name}: NaN is certified", r[0] == 0 and "CERTIFIED" in r[1], r)
    exact[row] = 7
    r = run("check", "rope-linear", *base, "--out", save("out", exact))
    expect(f"rope-linear, {name}: 7 is refuted", r[0] == 1 and "REFUTED" in r[1], r)


vanishing("a key at right angles", [[1, 0], [1, 1]], [[0, 1], [1, 1]], ["--causal", "top-left"], 0)
vanishing("keys at steps of +1 and -1", [[3, 1], [1, 0], [1, 2]], [[1, -0.5], [0, 0], [-1, -0.5]], [], 1)
# base 100, d = 4: theta = 1 and 1/10, so that pair 1 at step 10 turns as pair 0 at step 1.
far = np.zeros((11, 4))
far[1, 0], far[10, 2] = 1, -1
vanishing("one angle in two pairs", [[1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]], far, ["--rope-base", "100"], 0)
off = ["--q", save("q", np.ones((1, 2), "f4")), "--k", save("k", np.array([[0, 0], [0.5, -0.5], [-0.5, 0.5]], "f4")), "--v", save("v", np.ones((3, 1), "f4"))]
r = run("reference", "rope-linear", *off, "--digits", 20, "--output", "r.json")
expect("rope-linear: a sum that nearly cancels is no NaN", r[0] == 0 and "nan" not in open(path("r.json")).read(), r)


# ---- forms and coefficients on files ----
def base_of(q, k, v, **files):
    return ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v), *(x for name, a in files.items() for x in (f"--{name}", save(name, a)))]


def toeplitz_rows(q, k, v, w, weigh, causal):
    """Sums of the definition in float64, for weights that are a function of the scores q_i W_(i-j) k_j / 8."""
    n = len(q)
    at = np.subtract.outer(np.arange(n), np.arange(n))
    scores = np.einsum("ia,ijab,jb->ij", q, w[at + n - 1], k) / 8
    p = np.where((at >= 0) | (not causal), weigh(scores), 0)
    return p @ v / p.sum(1, keepdims=True)


def judge(name, arguments, out, *expected):
    """The exit status, and a word of what is said."""
    r = run("check", *arguments, "--out", save("out", out))
    expect(name, r[0] == expected[0] and all(word in r[1] + r[2] for word in expected[1:]), r)


n = 50
q, k, v, w = (rng.uniform(-1, 1, s) for s in ((n, 2), (n, 2), (n, 3), (2 * n - 1, 2, 2)))
q, k, v = q.astype("f4"), k.astype("f4"), v.astype("f4")
files = base_of(q, k, v, weights=w)
for form, causal in (("fft", False), ("fft", True), ("blocked", True)):
    flags = ["toeplitz", *files, "--scale", "1/8", "--form", form, *(["--causal", "top-left"] if causal else [])]
    right = toeplitz_rows(q, k, v, w, np.exp, causal)
    name = f"--form {form}{', causal' if causal else ''}"
    for dtype in ("f4", "f8"):
        judge(f"{name}: sums of the definition in {dtype} meet the form's bound", [*flags, "--bound", "theory"], right.astype(dtype), 0, "bound=theory")
    wrong = right.copy()
    wrong[7, 1] += 1e-4
    judge(f"{name}: one wrong element in f8 does not", [*flags, "--bound", "theory"], wrong, 1, "at=7,1")
    judge(f"{name}: another exp is refuted", [*flags, "--bound", "theory"], toeplitz_rows(q, k, v, w, lambda x: 1 + x + x * x / 2, causal), 1)
out = toeplitz_rows(q, k, v, w, np.exp, False)
judge("--form blocked without causal exits 2", ["toeplitz", *files, "--scale", "1/8", "--form", "blocked", "--bound", "theory"], out, 2, "causal")
judge("--form with --arithmetic exits 2", ["toeplitz", *files, "--form", "fft", "--arithmetic", "products=float32", "--bound", "theory"], out, 2, "--arithmetic")
judge("a form of other kernels exits 2 and names those of this one", ["toeplitz", *files, "--form", "recurrent"], out, 2, "direct|fft|blocked")
judge("--form fft of large scores exits 2", ["toeplitz", *base_of(100 * q, 100 * k, v, weights=w), "--form", "fft", "--bound", "theory"], out, 2, "direct form")
judge("theory without a form wants --arithmetic", ["toeplitz", *files, "--bound", "theory"], out, 2, "--arithmetic")
for kernel, forms in (("toeplitz", "direct|fft|blocked"), ("rope-softmax", "direct|fft|blocked|low-rank"), ("taylor", "direct|recurrent|chunked")):
    r = run("check", kernel, "--help")
    expect(f"help of {kernel} names its forms alone", r[0] == 0 and f"--form {forms}\n" in r[1], r[1][:600])

c = np.array([0.75, 1, 0.5, -0.125])
polynomial = toeplitz_rows(q, k, v, w, lambda x: np.polyval(c[::-1], x), True)
flags = ["toeplitz", *base_of(q, k, v, weights=w, coefficients=c), "--scale", "1/8", "--causal", "top-left"]
judge("--coefficients: the polynomial kernel is certified", [*flags, "--bound", "backward<=1", "--bound", "ulp<=0.5"], polynomial.astype("f4"), 0)
judge("--coefficients: exp in its place is refuted", flags, toeplitz_rows(q, k, v, w, np.exp, True).astype("f4"), 1)
judge("--coefficients: without the last one it is refuted", flags, toeplitz_rows(q, k, v, w, lambda x: np.polyval(c[2::-1], x), True).astype("f4"), 1)
for form in ("fft", "blocked"):
    judge(f"--coefficients --form {form}", [*flags, "--form", form, "--bound", "theory"], polynomial, 0)
    judge(f"--coefficients --form {form}, one wrong element", [*flags, "--form", form, "--bound", "theory"], polynomial + (np.arange(n) == 9)[:, None] * 1e-9, 1)
for name, bad, word in (("two axes", np.ones((2, 2)), "coefficients"), ("NaN", np.array([1, np.nan]), "coefficients"), ("none", np.ones(0), "coefficients")):
    judge(f"--coefficients with {name} exits 2", ["toeplitz", *base_of(q, k, v, weights=w, coefficients=bad)], polynomial, 2, word)
judge("rope-linear --form fft wants --coefficients", ["rope-linear", *base_of(q, k, v), "--form", "fft", "--bound", "theory"], out, 2, "--coefficients")


# ---- a declared machine of rope-softmax: NumPy in float32 with its own angles ----
def float_rope(q, k, v, bits, causal=True):
    n, d = q.shape
    theta = (10000.0 ** (-np.arange(0, d, 2) / d)).astype("f4")
    mantissa, exponent = np.frexp(theta)
    angle = np.arange(n, dtype="f4")[:, None] * np.ldexp(np.rint(mantissa * np.float32(2)**bits), exponent - bits).astype("f4")

    def turn(x):
        y, cos, sin = np.empty_like(x), np.cos(angle), np.sin(angle)
        y[:, 0::2], y[:, 1::2] = x[:, 0::2] * cos - x[:, 1::2] * sin, x[:, 0::2] * sin + x[:, 1::2] * cos
        return y

    s = turn(q) @ turn(k).T * np.float32(0.25)
    s[np.triu_indices(n, 1)] = -np.inf
    p = np.exp(s - s.max(1, keepdims=True))
    return p @ v / p.sum(1, keepdims=True)


q, k, v = (rng.standard_normal((40, 16)).astype("f4") for _ in range(3))
flags = ["rope-softmax", *base_of(q, k, v), "--causal", "top-left", "--bound", "theory"]
for bits, model, status in ((24, "phases=float32", 0), (11, "phases=float32", 1), (11, "phases=float16", 0)):
    judge(f"rope-softmax with frequencies of {bits} bits under {model}", [*flags, "--arithmetic", f"products=float32,{model}"], float_rope(q, k, v, bits), status)

# ---- elements that are exactly a number: decided, so that they round ----
tie = np.full((2, 1), 1 + 2.0**-8, "f4")  # between two neighbours in bfloat16
q, k = np.array([[1, 0.5], [2, 1]], "f4"), np.array([[-1, 0.25], [1, 0.75]], "f4")
files = base_of(q, k, tie)
c = ["--coefficients", save("c", np.array([1.0, 0.5]))]
for name, arguments in (("rope-softmax, one value", ["rope-softmax", *files]), ("rope-softmax, one value and its bias", ["rope-softmax", *files, "--bias", save("b", q)]),
                        ("rope-linear, one value", ["rope-linear", *files]), ("rope-linear, coefficients", ["rope-linear", *files, *c]),
                        ("toeplitz, coefficients", ["toeplitz", *files, *c, "--weights", save("w", np.ones((3, 2, 2)))])):
    r = run("reference", *arguments, "--dtype", "bfloat16", "--output", "tie.npy")
    expect(f"reference {name}: a tie rounds to even", r[0] == 0 and (np.load(path("tie.npy")).view("u2") == 0x3F80).all(), r)
    judge(f"{name}: at its bound", [*arguments, "--bound", "abs<=0.00390625"], np.ones((2, 1), "f4"), 0)
    judge(f"{name}: beyond its bound", [*arguments, "--bound", "abs<=0.00390624"], np.ones((2, 1), "f4"), 1)
    judge(f"{name}: the smallest wrong value", [*arguments, "--bound", "abs<=0"], np.nextafter(tie.astype("f8"), 2), 1)
other = base_of(q, k, np.array([[1 + 2.0**-8], [1]], "f4"))
for kernel in ("rope-softmax", "rope-linear"):
    judge(f"{kernel}: values of two kinds are no tie", [kernel, *other, "--bound", "abs<=0"], tie.astype("f8"), 1)
# The second row: cos 1 times 0, and 0 times 5.
files = base_of(np.array([[1, 0], [1, 0]], "f4"), np.array([[1, 0], [0, 1]], "f4"), np.array([[0], [5]], "f4"))
s1 = np.sin(1.0)
judge("rope-linear: a numerator of exactly 0", ["rope-linear", *files, "--bound", "rel<=1e-6"], np.array([[-5 * s1 / (1 - s1)], [0]], "f4"), 0)
judge("rope-linear: beside a numerator of exactly 0", ["rope-linear", *files, "--bound", "rel<=1e-6"], np.array([[-5 * s1 / (1 - s1)], [1e-40]], "f4"), 1)

# ---- denominators of exactly 0 ----
def no_value(name, files, *flags):
    judge(f"rope-linear, {name}: NaN", ["rope-linear", *files, *flags], np.array([[np.nan]]), 0)
    judge(f"rope-linear, {name}: a number", ["rope-linear", *files, *flags], np.array([[3.0]]), 1)


no_value("coefficients that are all 0", base_of(np.array([[1, 0.5]], "f4"), np.array([[0.5, 1], [1, -0.25]], "f4"), np.array([[3], [2]], "f4")),
         "--coefficients", save("c", np.array([0.0, -0.0])))
files = base_of(np.array([[1, 0]], "f4"), np.array([[-1, 0]], "f4"), np.array([[3]], "f4"))
no_value("eps cancels a score", files, "--scale", "1", "--eps", "1")
judge("rope-linear, eps nearly cancels a score", ["rope-linear", *files, "--scale", "1", "--eps", "1.0000001"], np.array([[np.nan]]), 1)

# ---- declared machines of toeplitz: what underflows ----
ones = np.ones((3, 1, 1), "f4")
files = base_of(np.ones((2, 1), "f4"), np.array([[0], [-18]], "f4"), np.array([[1], [1e8]], "f4"), weights=ones)
flags = ["toeplitz", *files, "--scale", "1", "--bound", "theory"]
p = np.exp(np.array([0, -18.0]))
lost = np.full((2, 1), (p.astype("f2") @ [1, 1e8]) / p.sum(), "f4")
judge("toeplitz: weights lost in float16 are in its bound", [*flags, "--arithmetic", "products=float32,weights=float16"], lost, 0)
judge("toeplitz: weights lost in float16 are not in that of float32", [*flags, "--arithmetic", "products=float32"], lost, 1)
c = np.array([1, 0, 0, 0, 1e-46])  # the last is 0 in float32, and 0.01 of the first weight at scores of 1e11
files = base_of(np.full((2, 1), 1e11, "f4"), np.array([[1], [0.25]], "f4"), np.array([[1], [-1]], "f4"), weights=ones, coefficients=c)
flags = ["toeplitz", *files, "--scale", "1", "--bound", "theory", "--arithmetic"]
judge("toeplitz: coefficients lost in float32 are in its bound", [*flags, "products=float32"], np.zeros((2, 1), "f4"), 0)
judge("toeplitz: coefficients lost in float32 are not in that of float64", [*flags, "products=float64,accumulate=float64"], np.zeros((2, 1)), 1)

# Scores whose terms no bound of float holds: every row is computed directly.
w = np.zeros((79, 1, 1), "f4")
w[39] = 8
files = base_of(np.full((40, 1), 2, "f4"), np.ones((40, 1), "f4"), np.arange(40, dtype="f4")[:, None], weights=w)
flags = ["toeplitz", *files, "--scale", "1", "--causal", "top-left"]
r = run("reference", *flags, "--dtype", "float32", "--output", "direct.npy")
direct = np.load(path("direct.npy"))
for form in ("fft", "blocked"):
    judge(f"--form {form}, rows that are computed directly", [*flags, "--form", form, "--bound", "theory"], direct, 0)
    judge(f"--form {form}, such rows, one off by a little", [*flags, "--form", form, "--bound", "theory"], direct + (np.arange(40) == 7)[:, None] * np.float32(1e-4), 1)
files = base_of(*(np.ones((4, 2), "f4") for _ in range(3)))
for name, flags, word in (("blocked without causal", ["--form", "blocked"], "--causal"), ("fft under a mask", ["--form", "fft", "--mask", save("m", np.ones((4, 4), bool))], "mask")):
    judge(f"rope-softmax --form {name} exits 2 and says why", ["rope-softmax", *files, *flags, "--bound", "theory"], np.ones((4, 2), "f4"), 2, word)
done()
