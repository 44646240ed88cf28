#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest reference taylor and linear against mpmath at 100 digits: out and final state under every parameter, exact zeros of
the normaliser, defects that kernels of the field had, and what is refused."""
import itertools
import json

import mpmath
import numpy as np

from attest_command import SEED, done, expect, path, run, save

mpmath.mp.dps = 100
rng = np.random.default_rng(SEED)
SQRT = {"sqrt(1/3)": mpmath.sqrt(mpmath.mpf(1) / 3), "-sqrt(1/8)": -mpmath.sqrt(mpmath.mpf(1) / 8)}


def real(text):
    if text in SQRT:
        return SQRT[text]
    a, _, b = str(text).partition("/")
    return mpmath.mpf(a) / mpmath.mpf(b or 1)


def mp(array):
    return [[mpmath.mpf(float(x)) for x in row] for row in array]


def polynomial(s, degree):
    return mpmath.fsum(s**m / mpmath.factorial(m) for m in range(degree + 1))


def feature(x, name):
    return x if name == "identity" else max(x, mpmath.mpf(0)) if name == "relu" else x + 1 if x > 0 else mpmath.exp(x)


def features(row, name, degree):
    """Key side: monomials in graded lexicographic order, or the components of the feature map."""
    if name != "taylor":
        return [feature(x, name) for x in row]
    return [mpmath.fprod(row[i] for i in t) for m in range(degree + 1) for t in itertools.combinations_with_replacement(range(len(row)), m)]


def query_features(row, name, degree, scale):
    if name != "taylor":
        return [scale * feature(x, name) for x in row]
    values = []
    for m in range(degree + 1):
        for t in itertools.combinations_with_replacement(range(len(row)), m):
            beta = mpmath.fprod(mpmath.factorial(t.count(i)) for i in set(t))
            values.append(scale**m / beta * mpmath.fprod(row[i] for i in t))
    return values


def reference(q, k, v, p, visible, state=None):
    """out and final state of one head; NaN where nothing is left of the weights."""
    q, k, v = mp(q), mp(k), mp(v)
    name = "taylor" if p["kernel"] == "taylor" else p.get("feature", "identity")
    degree, scale = int(p.get("degree", 2)), real(p["scale"])
    decay, eps = real(p.get("decay", "1")), real(p.get("eps", "0"))
    sums = p.get("normalize", "sum") == "sum"
    offset = len(k) - len(q) if p.get("causal") == "bottom-right" else 0
    out = []
    for i, row in enumerate(q):
        n, w = [mpmath.mpf(0)] * len(v[0]), mpmath.mpf(0)
        terms = []
        for j in range(len(k)):
            if not visible(i, j):
                continue
            if name == "taylor":
                weight = polynomial(scale * mpmath.fdot(row, k[j]), degree)
            else:
                weight = scale * mpmath.fdot([feature(x, name) for x in row], [feature(x, name) for x in k[j]])
            terms.append((weight * (decay ** (i + offset - j) if p.get("causal") else 1), v[j], 1))
        if state is not None:
            for f, s in zip(query_features(row, name, degree, scale), mp(state)):
                terms.append((f * decay ** max(0, i + offset + 1), s[:len(v[0])], s[-1] if len(s) > len(v[0]) else 0))
        for weight, u, one in terms:
            n = [a + weight * b for a, b in zip(n, u)]
            w += weight * one
        out.append(n if not sums else [a / (w + eps) for a in n] if terms else n)
    final = None
    columns = len(v[0]) + (p["kernel"] == "taylor" or sums)
    size = len(features(k[0], name, degree)) if k else 0
    final = [[mpmath.mpf(0)] * columns for _ in range(size)]
    for j in range(len(k)):
        for b, f in enumerate(features(k[j], name, degree)):
            for c, x in enumerate((v[j] + [mpmath.mpf(1)])[:columns]):
                final[b][c] += f * x * decay ** (len(k) - 1 - j)
    if state is not None:
        final = [[a + decay ** len(k) * mpmath.mpf(float(x)) for a, x in zip(row, s)] for row, s in zip(final, state)]
    return out, final


def agree(mid, exact, digits=30):
    exact = list(itertools.chain.from_iterable(exact))
    if len(mid) != len(exact):
        return f"{len(mid)} values, {len(exact)} expected"
    for i, (a, b) in enumerate(zip(mid, exact)):
        if abs(mpmath.mpf(a) - b) > mpmath.mpf(10) ** -digits * 6 * abs(b) + mpmath.mpf(10) ** -90:
            return f"element {i}: {a}, {mpmath.nstr(b, 35)} expected"
    return ""


def flags(p):
    return [x for name, value in p.items() if name != "kernel" for x in ("--" + name, value)]


def compare(p, nq=6, nk=8, d=3, dv=2, with_state=False):
    q, k, v = (rng.standard_normal(s).astype("f4") for s in ((nq, d), (nk, d), (nk, dv)))
    files = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v)]
    left, right = map(int, p["window"].split(",")) if "window" in p else (-1, -1)
    causal, offset = p.get("causal"), nk - nq if p.get("causal") == "bottom-right" else 0

    def visible(i, j):
        at = i + offset
        return (not causal or j <= at) and (left < 0 or j >= at - left) and (right < 0 or j <= at + right)

    state = None
    plain = "window" not in p
    if with_state:
        name = "taylor" if p["kernel"] == "taylor" else p.get("feature", "identity")
        rows = len(features(mp(k)[0], name, int(p.get("degree", 2))))
        columns = dv + (p["kernel"] == "taylor" or p.get("normalize", "sum") == "sum")
        state = abs(rng.standard_normal((rows, columns))).astype("f4")
        files += ["--initial-state", save("s", state)]
    extra = ["--what", "final-state"] if plain else []
    status, _, err = run("reference", p["kernel"], *files, *flags(p), *extra, "--digits", 30, "--output", path("r.json"))
    if status:
        return f"{p}: {err}"
    document = json.load(open(path("r.json")))
    out, final = reference(q, k, v, p, visible, state)
    wrong = agree(document["output"]["mid"], out)
    if not wrong and plain:
        wrong = agree(document["outputs"]["final-state"]["mid"], final)
    return f"{p} state={with_state}: {wrong}" if wrong else ""


def sweep(name, cases):
    wrong = [w for w in cases if w]
    expect(name, not wrong, wrong[:1])


sweep("every degree and scale", (compare({"kernel": "taylor", "scale": s, "degree": str(P), "causal": "top-left"})
                                 for P in (0, 1, 2, 3, 4, 7) for s in ("1/2", "-0.75", "0", "sqrt(1/3)", "-sqrt(1/8)")))
sweep("every form is the same sum", (compare({"kernel": "taylor", "scale": "1/2", "form": f, "chunk": "3", "causal": c})
                                     for f in ("direct", "recurrent", "chunked") for c in ("top-left", "bottom-right")))
sweep("normalize, eps, decay, initial states", (
    compare({"kernel": "taylor", "scale": s, "degree": "2", "causal": "top-left", "decay": g, **n}, with_state=w)
    for s in ("1/2", "sqrt(1/3)") for g in ("1", "0.9") for n in ({"normalize": "none"}, {"eps": "1e-6"}, {"eps": "3"}) for w in (False, True)))
sweep("linear attention, every feature map", (
    compare({"kernel": "linear", "scale": s, "feature": f, "causal": "top-left", "decay": g, **n}, with_state=w)
    for f in ("identity", "relu", "elu1", "taylor") for s in ("1", "-sqrt(1/8)") for g in ("1", "1/2") for n in ({"normalize": "none"}, {"eps": "1/8"})
    for w in (False, True)))
sweep("windows", (compare({"kernel": "taylor", "scale": "1/2", "window": w, "causal": "top-left"}) for w in ("2,0", "3,-1")))

# ---- normalisers that vanish: decided exactly, never divided by --------------------------------


def one(kernel, q, k, v, *extra, dtype="f8", verb="reference", out=None):
    files = ["--q", save("q", np.array(q, dtype)), "--k", save("k", np.array(k, dtype)), "--v", save("v", np.array(v, dtype))]
    if verb == "check":
        return run("check", kernel, *files, "--out", save("o", np.array(out, "f4")), *extra)
    status, _, err = run("reference", kernel, *files, *extra, "--digits", 17, "--output", path("r.json"))
    if status:
        return err
    document = json.load(open(path("r.json")))["output"]
    return document["mid"] if len(document["mid"]) > 1 else document["mid"][0]


FIRST = ["--degree", "1", "--scale", "1"]
KEYS = [[-1.5], [-0.5], [-1.25], [-0.75]]
expect("weights of order one that add up to 0 have no value", one("taylor", [[1]], KEYS, [[1], [2], [3], [4]], *FIRST) == "nan")
expect("... nor have 0/0 rows", one("taylor", [[1]], [[-1]], [[5]], *FIRST) == "nan")
expect("... under an irrational scale either", one("taylor", [[1, 0]], [[0.5, 0], [-0.5, 0], [-4, 0]], [[1], [2], [3]], "--degree", "1",
                                                   "--scale", "sqrt(9/16)") == "nan")
expect("a neighbour of such a row has one", float(one("taylor", [[1]], [[-1.5], [-0.5], [-1.25], [np.nextafter(-0.75, 0)]], [[1], [2], [3], [4]], *FIRST)) > 1e15)
expect("eps is part of the definition: it moves such a row to a number", float(one("taylor", [[1]], KEYS, [[1], [2], [3], [4]], *FIRST, "--eps", "1/4")) == 3)
expect("without normaliser there is nothing to vanish", float(one("taylor", [[1]], KEYS, [[1], [2], [3], [4]], *FIRST, "--normalize", "none")) == 0.75)
status, out, _ = one("taylor", [[1]], KEYS, [[1], [2], [3], [4]], *FIRST, verb="check", out=[[0.75e6]])
expect("a number where there is none is refuted", status == 1 and "exact=nan" in out, out)
status, out, _ = one("taylor", [[1]], KEYS, [[1], [2], [3], [4]], *FIRST, verb="check", out=[[np.nan]])
expect("NaN there is certified, and the row is counted", status == 0 and "ill-posed-rows=1" in out, out)
expect("a relu row without weight has no value, as has one of identity features",
       one("linear", [[1]], [[-1], [-2]], [[1], [2]], "--feature", "relu") == "nan" == one("linear", [[1]], [[1], [-1]], [[1], [2]]))
ELU = ["--feature", "elu1", "--scale", "sqrt(1/2)"]
expect("equal exponentials cancel, exactly", one("linear", [[-1]], [[-2], [-2]], [[1], [-1]], *ELU) == "0")
expect("... and rationals among them", one("linear", [[-1, 1]], [[-2, 1], [-2, 1], [0, -3], [0, -3]], [[1], [-1], [0.5], [-0.5]], *ELU) == "0")
expect("different exponentials do not", float(one("linear", [[-1]], [[-2], [np.nextafter(-2, 0)]], [[1], [-1]], *ELU)) < 0)

# ---- defects of kernels of the field: the right value of each input ----------------------------

third = one("taylor", [[-1.5960716009140015]], [[1]], [[1]], "--degree", "3", "--scale", "1", dtype="f4")
expect("one key at the root of T_3 in float32: the weight cancels", float(third) == 1, third)
s = [-3.0, 0.6988854898463298]
weights = [polynomial(mpmath.mpf(x), 3) for x in s]
exact = weights[0] / mpmath.fsum(weights)
got = one("taylor", [[1]], [[x] for x in s], [[1], [0]], "--degree", "3", "--scale", "1")
expect("order-one weights of both signs, sum near 0", abs(mpmath.mpf(got) / exact - 1) < mpmath.mpf(10) ** -16, (got, exact))
n, d = 2048, 16
got = one("taylor", np.full((1, d), 4.0), np.full((n, d), 4.0), np.ones((n, 1)), "--degree", "2", "--scale", "1/4", dtype="f2")
expect("a normaliser beyond the range of float16 leaves the mean", float(got) == 1, got)
got = one("linear", [[1.0]] * 4, [[1.0]] * 4, [[1], [2], [3], [4]], "--scale", "1", "--causal", "top-left")
expect("the normaliser's sum is carried along with the state", [float(x) for x in got] == [1, 1.5, 2, 2.5], got)
for eps, right in (("1e-12", 1 / (1 + mpmath.mpf(10) ** -6)), ("1e-10", 1 / (1 + mpmath.mpf(10) ** -4)), ("1e-6", mpmath.mpf(1) / 2)):
    got = one("taylor", [[1]], [[-0.999999]], [[1]], *FIRST, "--eps", eps)
    z = 1 + mpmath.mpf(float(-0.999999))
    expect(f"eps {eps} belongs to the definition", abs(mpmath.mpf(got) - z / (z + real_eps)) < mpmath.mpf(10) ** -15
           if (real_eps := mpmath.mpf(eps)) else False, got)
status, _, err = run("reference", "taylor", "--q", save("q", np.array([[np.nan]])), "--k", save("k", np.array([[1.0]])), "--v", save("v", np.array([[1.0]])),
                     "--output", path("r.json"))
expect("NaN is not hidden by the constant feature", status == 2 and "q[0,0] is nan" in err and "ieee" not in err, err)
rng1 = np.random.default_rng(1)
q, k = rng1.standard_normal((1, 16)).astype("f4"), rng1.standard_normal((4096, 16)).astype("f4")
mean = k.astype(float).sum(0)
q = (-q.astype(float) * (4096 - 1e-3) / (q.astype(float) @ mean)).astype("f4")
z = 4096 + mpmath.fsum(mpmath.mpf(float(a)) * mpmath.mpf(float(b)) for row in k for a, b in zip(q[0], row))
got = one("taylor", q, k, np.ones((4096, 1)), *FIRST, "--normalize", "none", dtype="f4")
expect("a normaliser that cancels over 4096 keys", abs(mpmath.mpf(got) / z - 1) < mpmath.mpf(10) ** -16 and abs(z) < 10, (got, z))

k, v = np.array([[0.0], [0.0], [-1.0], [-1.0]]), np.array([[1.0], [2.0**-24], [1.0], [-1.0]])
elu1 = ["--q", save("q", k), "--k", save("k", k), "--v", save("v", v), "--feature", "elu1", "--normalize", "none"]
ties = [run("check", "linear", *elu1, "--bound", f"ulp<={ulp}", "--final-state", save("f", np.array([[near]], "f4")))
        for near, ulp in ((1, 0.5), (1 + 2.0**-23, 0.5), (1, 0.4999999999999999))]
expect("a tie in a state of elu1 features beside exponentials that cancel", [t[0] for t in ties] == [0, 0, 1], ties)

# ---- initial states whose reads underflow on the way to a large value ---------------------------


def read(kernel, q, k, state, right, *extra):
    """Whether the value of the last row is certified, and 0 in its place is refuted."""
    files = ["--q", save("q", np.array(q, "f8")), "--k", save("k", np.array(k, "f8")), "--v", save("v", np.zeros((len(k), 1))),
             "--initial-state", save("s", np.array(state, "f8")), "--normalize", "none", "--scale", "1", "--bound", "abs<=0.25"]
    out = np.zeros((len(q), 1))
    wrong, _, _ = run("check", kernel, *files, *extra, "--out", save("o", out))
    out[-1] = right
    good, text, _ = run("check", kernel, *files, *extra, "--out", save("o", out))
    return (good, wrong) == (0, 1), text


state = np.zeros((15, 2))
state[12, 0] = 2.0**582 * 4  # k_0 k_0 k_1 k_1
expect("a monomial that underflows and is multiplied by large elements afterwards",
       *read("taylor", [[2.0**250, 2.0**-540]], [[0, 0]], state, 4, "--degree", "4"))
expect("a power of the decay that underflows before a large feature",
       *read("linear", [[0.0]] * 950 + [[2.0**590]], [[0.0]] * 951, [[2.0**362]], 2, "--causal", "top-left", "--decay", "1/2"))

# ---- what is refused ---------------------------------------------------------------------------

q, k, v = (rng.standard_normal((4, 3)).astype("f4") for _ in range(3))
base = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v)]
good = save("o", v)
bad_state = ["--initial-state", save("s", np.zeros((9, 4), "f4"))]
infinite = np.zeros((10, 4), "f4")
infinite[3, 2] = np.inf
for name, kernel, extra, words in [
        ("decay above 1", "taylor", ["--decay", "1.5", "--causal", "top-left"], "decay"),
        ("decay 0", "taylor", ["--decay", "0", "--causal", "top-left"], "decay"),
        ("decay without an order", "taylor", ["--decay", "0.5"], "causal"),
        ("an irrational decay", "taylor", ["--decay", "sqrt(1/2)", "--causal", "top-left"], "rational"),
        ("a negative eps", "taylor", ["--eps", "-1e-6"], "eps"),
        ("eps without a normaliser", "linear", ["--eps", "1e-6", "--normalize", "none"], "eps"),
        ("a negative degree", "taylor", ["--degree", "-1"], "degree"),
        ("a huge degree", "taylor", ["--degree", "1000000000"], "degree"),
        ("a degree without terms", "linear", ["--degree", "3"], "degree"),
        ("an unknown feature", "linear", ["--feature", "gelu"], "gelu"),
        ("a state of the wrong shape", "taylor", bad_state, "(10, 4)"),
        ("a state with an infinity", "taylor", ["--initial-state", save("i", infinite)], "initial-state"),
        ("a window under a state", "taylor", ["--window", "1,0", "--form", "recurrent"], "window"),
        ("a mask under a state", "taylor", ["--mask", save("m", np.ones((4, 4), bool)), "--form", "chunked"], "mask"),
        ("an unknown form", "taylor", ["--form", "parallel"], "parallel"),
        ("chunk 0", "taylor", ["--chunk", "0"], "chunk"),
        ("nonfinite ieee", "taylor", ["--nonfinite", "ieee"], "ieee"),
        ("a bias", "taylor", ["--bias", save("b", np.zeros((4, 4), "f4"))], "bias")]:
    status, out, err = run("check", kernel, *base, "--out", good, *extra)
    expect(f"{name} exits 2 and is explained", status == 2 and words in err and not out, (status, out, err))
status, out, err = run("check", "taylor", *base, "--out", good, "--final-state", save("f", np.zeros((9, 4), "f4")))
expect("a final state of the wrong shape exits 2 and is explained", status == 2 and "(10, 4)" in err, err)
status, out, err = run("reference", "softmax", *base, "--what", "final-state", "--output", path("r.npy"))
expect("a final state that the kernel does not have", status == 2 and "softmax" in err, err)

# ---- final states as an output with a verdict of its own ---------------------------------------

status, _, err = run("reference", "taylor", *base, "--what", "final-state", "--dtype", "float32", "--output", path("state.npy"))
state = np.load(path("state.npy")) if not status else np.zeros((10, 4), "f4")
expect("reference final-state as .npy", status == 0 and state.shape == (10, 4) and state[0, 3] == 4, err)
status, out, err = run("check", "taylor", *base, "--final-state", path("state.npy"), "--bound", "ulp<=0.5")
expect("... is within half an ulp", status == 0 and "output=final-state" in out and "elements=40" in out, out + err)
state[7, 2] += np.float32(1e-3)
status, out, err = run("check", "taylor", *base, "--final-state", save("wrong", state))
expect("a wrong element of a state is found", status == 1 and "at=7,2" in out, out + err)
status, out, err = run("check", "taylor", *base, "--final-state", save("wrong", state), "--bound", "final-state:abs<=1e-2", "--bound", "final-state:nmse<=1e-6")
expect("bounds by output, nmse of a state", status == 0, out + err)
done()
