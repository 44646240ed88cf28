# SPDX-License-Identifier: LGPL-3.0-or-later
"""Sparse attention from its definitions, in mpmath: the oracle of the tests of the sparse kernels.
Needs python3-mpmath."""
import mpmath as mp

mp.mp.dps = 60


def real(text):
    """'1/3', 'sqrt(2)', '0.5' as a number."""
    text = str(text)
    if text.startswith("sqrt("):
        return mp.sqrt(real(text[5:-1]))
    top, _, bottom = text.partition("/")
    return mp.mpf(top) / mp.mpf(bottom or 1)


def entmax(z, alpha):
    """[(alpha-1) z - tau]_+^(1/(alpha-1)) with sum 1, tau by bisection; alpha = 1: softmax."""
    if alpha == 1:
        w = [mp.exp(x - max(z)) for x in z]
        return [x / sum(w) for x in w]
    a, r = alpha - 1, 1 / (alpha - 1)
    top = max(z)

    def p(u):
        return [max(u - a * (top - x), mp.mpf(0)) ** r if u > a * (top - x) else mp.mpf(0) for x in z]
    lo, hi = mp.mpf(len(z)) ** -a, mp.mpf(1)
    for _ in range(mp.mp.prec + 20):
        u = (lo + hi) / 2
        if sum(p(u)) < 1:
            lo = u
        else:
            hi = u
    w = p(hi)
    return [x / sum(w) for x in w]


def top(s, k, ties):
    order = sorted(range(len(s)), key=lambda j: (-s[j], j if ties == "lowest" else -j))
    return set(order[:k])


def weights(kernel, q, keys, offsets, params):
    """Weights of the visible keys: normalised, or None where all are zero. offsets: bias and slope."""
    h = str(params.get("bandwidth", 1))
    h2 = real(h[5:-1]) if h.startswith("sqrt(") else real(h) ** 2
    temperature = real(params.get("temperature", 1))
    if kernel in ("gaussian", "epanechnikov", "biweight", "triweight", "uniform"):
        d = [sum((a - b) ** 2 for a, b in zip(q, k)) for k in keys]
        if kernel == "gaussian":
            w = [mp.exp(-(x - min(d)) / (2 * h2)) for x in d]
        elif kernel == "uniform":
            w = [mp.mpf(x <= h2) for x in d]
        else:
            r = ("epanechnikov", "biweight", "triweight").index(kernel) + 1
            w = [max(1 - x / h2, 0) ** r for x in d]
    else:
        scale = real(params["scale"]) if "scale" in params else 1 / mp.sqrt(len(q))
        s = [scale * sum(a * b for a, b in zip(q, k)) for k in keys]
        if "softcap" in params:
            c = real(params["softcap"])
            s = [c * mp.tanh(x / c) for x in s]
        s = [x + y for x, y in zip(s, offsets)]
        z = [x / temperature for x in s]
        chosen = top(s, int(params.get("topk", 1)), params.get("ties", "lowest"))
        if kernel in ("sparsemax", "entmax"):
            return entmax(z, mp.mpf(2) if kernel == "sparsemax" else real(params.get("alpha", "3/2")))
        if kernel == "normrelu":
            w = [max(2 * x / h2 + 1 - 2 / h2, 0) for x in s]
        elif kernel == "relumax":
            w = [max(real(params.get("margin", 1)) + (x - max(s)) / h2, 0) for x in s]
        elif kernel == "topk-softmax":
            w = [mp.exp(x - max(z)) if j in chosen else mp.mpf(0) for j, x in enumerate(z)]
        else:
            w = [mp.mpf(j in chosen) for j in range(len(s))]
    total = sum(w)
    return [x / total for x in w] if total else None


def attend(kernel, q, k, v, params, visible=None, bias=None, slope=0):
    """out[i][c] of one head; rows without weight are None."""
    number = [[[mp.mpf(float(x)) for x in row] for row in t] for t in (q, k, v)]
    q, k, v = number
    out = []
    for i, query in enumerate(q):
        seen = [j for j in range(len(k)) if visible is None or visible[i][j]]
        offsets = [(mp.mpf(float(bias[i][j])) if bias is not None else 0) + mp.mpf(slope) * (j - i)
                   for j in seen]
        p = weights(kernel, query, [k[j] for j in seen], offsets, params) if seen else None
        out.append(p and [sum(x * v[j][c] for x, j in zip(p, seen)) for c in range(len(v[0]))])
    return out
