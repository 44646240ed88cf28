#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Golden values of softmax attention: golden.py > golden.json

The definition as it is written down, one (query, key) pair at a time, in mpmath at 80 digits and
more: an independent route to what the ball tier computes. Inputs are random with a fixed seed and
exact in their dtype. Needs python3-mpmath.

Each case: name, kernel parameters as on the command line, tensors (shape, dtype, values), outputs
out and lse (60 digits; "nan", "-inf"), and for some the conditioning of every element of out and
lse: a = sum p |v| and s = sum t_j |dx/d score_j|, the derivative by central differences.
"""
import json
import random
import struct
import sys

from mpmath import mp, mpf

mp.dps = 90
rng = random.Random(20240607)


# ---- tensors ----------------------------------------------------------------------------------

def as_float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def tensor(shape, values, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "values": list(values)}


def count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def normal(*shape, size=1.0):
    return tensor(shape, [as_float32(rng.gauss(0, size)) for _ in range(count(shape))])


def at(t, *index):
    """Element, aligned to the last axes; axes of extent 1 and absent axes repeat."""
    index = index[len(index) - len(t["shape"]):]
    flat = 0
    for i, n in zip(index, t["shape"]):
        flat = flat * n + (0 if n == 1 else i)
    return t["values"][flat]


def real(text):
    """A parameter: "0.125", "-1/3", "sqrt(2/7)", "0x1p-3"."""
    sign = 1
    if text.startswith("-"):
        sign, text = -1, text[1:]
    if text.startswith("sqrt("):
        return sign * mp.sqrt(real(text[5:-1]))
    if text.startswith("0x"):
        return sign * mpf(float.fromhex(text))
    top, _, bottom = text.partition("/")
    return sign * mpf(top) / mpf(bottom or 1)


# ---- one problem --------------------------------------------------------------------------------

class Problem:
    """q, k, v as element functions (batch, head, row, component), whatever the layout."""

    def __init__(self, params, tensors):
        self.params, self.t = params, tensors
        self.layout = params.get("layout", {2: "nd", 3: "hnd", 4: "bhnd"}[len(tensors["q"]["shape"])])
        size = {name: dict(zip(self.layout, tensors[name]["shape"])) for name in "qkv"}
        self.rows_name = "t" if self.layout == "thd" else "n"
        if self.layout == "sbhd":
            self.rows_name = "s"
        self.batch = size["q"].get("b", 1)
        self.hq, self.hk = size["q"].get("h", 1), size["k"].get("h", 1)
        self.nq, self.nk = size["q"][self.rows_name], size["k"][self.rows_name]
        self.d, self.dv = size["q"]["d"], size["v"]["d"]
        scale = params.get("scale")
        self.scale = real(scale) if scale else 1 / mp.sqrt(self.d)
        self.temperature = real(params.get("temperature", "1"))
        self.cap = real(params["softcap"]) if "softcap" in params else None

    def element(self, name, b, h, row, c):
        place = {"b": b, "h": h, self.rows_name: row, "d": c}
        return mpf(at(self.t[name], *[place[a] for a in self.layout]))

    def sequences(self):
        """(batch entry, first query, queries, first key, keys) of every sequence."""
        used = self.t.get("seqused-k")
        if self.layout == "thd":
            q, k = self.t["cu-seqlens-q"]["values"], self.t["cu-seqlens-k"]["values"]
            for s in range(len(q) - 1):
                keys = used["values"][s] if used else k[s + 1] - k[s]
                yield s, q[s], q[s + 1] - q[s], k[s], keys
        else:
            for b in range(self.batch):
                yield b, 0, self.nq, 0, used["values"][b] if used else self.nk

    def visible(self, s, h, i, j, position):
        causal = self.params.get("causal", "none")
        if causal != "none" and j > position:
            return False
        left, right = (int(x) for x in self.params.get("window", "-1,-1").split(","))
        if left >= 0 and j < position - left:
            return False
        if right >= 0 and j > position + right:
            return False
        if "mask" in self.t and not at(self.t["mask"], s, h, i, j):
            return False
        if "bias" in self.t and at(self.t["bias"], s, h, i, j) == "-inf":
            return False
        return True

    def score(self, s, h, q, k, i, j, position):
        """(score, t): the score and the same with every term replaced by its absolute value."""
        z = self.scale * sum(a * b for a, b in zip(q, k))
        size = abs(self.scale) * sum(abs(a * b) for a, b in zip(q, k))
        if self.cap is not None:
            size = size * mp.sech(z / self.cap) ** 2
            z = self.cap * mp.tanh(z / self.cap)
            size += abs(z)
        if "bias" in self.t:
            bias = mpf(at(self.t["bias"], s, h, i, j))
            z, size = z + bias, size + abs(bias)
        if "alibi-slopes" in self.t:
            slope = mpf(at(self.t["alibi-slopes"], s, h)) * (j - position)
            z, size = z + slope, size + abs(slope)
        return z / self.temperature, size / abs(self.temperature)

    def rows(self):
        """(sequence, head, row in the tensor, scores, sizes, values) of every row; the sink is a
        key with value 0."""
        for s, q0, nq, k0, nk in self.sequences():
            b = 0 if self.layout == "thd" else s
            for h in range(self.hq):
                g = h * self.hk // self.hq
                for i in range(nq):
                    position = i + (nk - nq if self.params.get("causal") == "bottom-right" else 0)
                    q = [self.element("q", b, h, q0 + i, a) for a in range(self.d)]
                    scores, sizes, values = [], [], []
                    for j in range(nk):
                        if not self.visible(s, h, i, j, position):
                            continue
                        k = [self.element("k", b, g, k0 + j, a) for a in range(self.d)]
                        z, size = self.score(s, h, q, k, i, j, position)
                        scores.append(z)
                        sizes.append(size)
                        values.append([self.element("v", b, g, k0 + j, c) for c in range(self.dv)])
                    if "sinks" in self.t:
                        z = mpf(at(self.t["sinks"], h)) / self.temperature
                        scores.append(z)
                        sizes.append(abs(z))
                        values.append([mpf(0)] * self.dv)
                    yield b, h, q0 + i, scores, sizes, values


def mean(scores, values):
    weights = [mp.exp(s) for s in scores]
    return mp.fdot(weights, values) / mp.fsum(weights)


def logsum(scores, base):
    return mp.log(mp.fsum([mp.exp(s) for s in scores])) / (mp.log(2) if base == "2" else 1)


def sensitivity(function, scores, sizes):
    """sum_j t_j |d function / d score_j| by central differences."""
    total, h = mpf(0), mpf(10) ** -25
    for j, t in enumerate(sizes):
        up, down = list(scores), list(scores)
        up[j] += h
        down[j] -= h
        total += t * abs(function(up) - function(down)) / (2 * h)
    return total


def text(x):
    if x is None:
        return "nan"
    return "-inf" if x == -mp.inf else mp.nstr(x, 60, strip_zeros=False)


def solve(name, params, tensors, condition=False):
    """The case with its expected outputs, in the axes of the inputs."""
    p = Problem(params, tensors)
    shape = dict(zip(p.layout, tensors["q"]["shape"]))
    shape["d"] = p.dv
    out_shape = [shape[a] for a in p.layout]
    lse_shape = [shape[a] for a in p.layout if a != "d"]
    out, lse = ["0"] * count(out_shape), ["0"] * count(lse_shape)
    sizes_out, sizes_lse = [None] * len(out), [None] * len(lse)
    base = params.get("lse-base", "e")
    empty = params.get("empty-row", "zero")
    for b, h, row, scores, sizes, values in p.rows():
        place = {"b": b, "h": h, p.rows_name: row}
        flat = 0
        for a in p.layout:
            if a != "d":
                flat = flat * shape[a] + place[a]
        if not scores:
            for c in range(p.dv):
                out[flat * p.dv + c] = "nan" if empty == "nan" else "0"
            lse[flat] = "nan" if empty == "nan" else "-inf"
            continue
        total = logsum(scores, base)
        lse[flat] = text(total)
        for c in range(p.dv):
            column = [v[c] for v in values]
            out[flat * p.dv + c] = text(mean(scores, column))
            if condition:
                with mp.workdps(110):
                    sizes_out[flat * p.dv + c] = {
                        "a": mp.nstr(mean(scores, [abs(v) for v in column]), 40),
                        "s": mp.nstr(sensitivity(lambda y: mean(y, column), scores, sizes), 40)}
        if condition:
            with mp.workdps(110):
                sizes_lse[flat] = {
                    "a": mp.nstr(abs(total), 40),
                    "s": mp.nstr(sensitivity(lambda y: logsum(y, base), scores, sizes), 40)}
    case = {"name": name, "params": params, "tensors": tensors,
            "out": {"shape": out_shape, "values": out}, "lse": {"shape": lse_shape, "values": lse}}
    if condition:
        case["condition"] = {"out": sizes_out, "lse": sizes_lse}
    return case


# ---- the cases ------------------------------------------------------------------------------------

def qkv(*, hq=None, hk=None, nq=3, nk=4, d=4, dv=3, size=1.0):
    head = lambda h: [] if h is None else [h]
    return {"q": normal(*head(hq), nq, d, size=size), "k": normal(*head(hk or hq), nk, d, size=size),
            "v": normal(*head(hk or hq), nk, dv)}


def ties():
    """Duplicate keys whose values cancel, in one component exactly."""
    t = qkv(nq=2, nk=6, d=3, dv=2)
    k, v = t["k"]["values"], t["v"]["values"]
    for j in range(3):
        k[3 * (j + 3):3 * (j + 4)] = k[3 * j:3 * (j + 1)]
        v[2 * (j + 3)] = -v[2 * j]
    return t


def huge():
    """float64 elements from 1e-150 to 1e150; scores of moderate size all the same."""
    size = [1e-150, 1e150, 1.0, 1e-300]
    q = [rng.uniform(1, 2) * size[a] for _ in range(2) for a in range(4)]
    k = [rng.uniform(-1, 1) / size[a] if a < 3 else rng.uniform(-1, 1) * 1e300 for _ in range(3)
         for a in range(4)]
    v = [rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300) for _ in range(6)]
    return {"q": tensor((2, 4), q, "float64"), "k": tensor((3, 4), k, "float64"),
            "v": tensor((3, 2), v, "float64")}


def cases():
    yield solve("plain", {}, qkv(), condition=True)
    yield solve("causal-top-left", {"causal": "top-left"}, qkv(nq=3, nk=5))
    yield solve("causal-bottom-right", {"causal": "bottom-right"}, qkv(nq=3, nk=5), condition=True)
    yield solve("causal-bottom-right-empty-rows", {"causal": "bottom-right"}, qkv(nq=5, nk=3))
    yield solve("causal-bottom-right-empty-rows-nan",
                {"causal": "bottom-right", "empty-row": "nan"}, qkv(nq=4, nk=2))
    yield solve("window", {"window": "1,2"}, qkv(nq=6, nk=6))
    yield solve("window-causal", {"window": "2,-1", "causal": "top-left"}, qkv(nq=6, nk=6))
    bias = normal(3, 4)
    bias["values"][5] = bias["values"][8] = "-inf"
    yield solve("bias", {}, {**qkv(), "bias": bias})
    mask = tensor((2, 3, 4), [int(rng.random() < 0.6) for _ in range(24)], "bool")
    mask["values"][4:8] = [0, 0, 0, 0]
    yield solve("mask", {}, {**qkv(hq=2), "mask": mask})
    yield solve("slopes", {"causal": "bottom-right"},
                {**qkv(hq=2, nq=3, nk=5), "alibi-slopes": tensor((2,), [0.5, 0.0625])}, condition=True)
    yield solve("softcap", {"softcap": "1/2"}, qkv(), condition=True)
    yield solve("sinks", {}, {**qkv(hq=2), "sinks": tensor((2,), [0.75, -1.5])}, condition=True)
    yield solve("sinks-empty-rows", {"causal": "bottom-right", "temperature": "3/2"},
                {**qkv(nq=4, nk=2), "sinks": tensor((1,), [0.75])})
    yield solve("grouped-heads", {}, qkv(hq=4, hk=2, nq=2, nk=3))
    yield solve("packed-sequences", {"layout": "thd", "causal": "bottom-right"},
                {"q": normal(6, 2, 3), "k": normal(7, 1, 3), "v": normal(7, 1, 2),
                 "cu-seqlens-q": tensor((4,), [0, 2, 2, 6], "int32"),
                 "cu-seqlens-k": tensor((4,), [0, 4, 5, 7], "int32")})
    yield solve("used-keys", {}, {"q": normal(2, 1, 3, 4), "k": normal(2, 1, 4, 4),
                                  "v": normal(2, 1, 4, 2),
                                  "seqused-k": tensor((2,), [3, 0], "int32")})
    yield solve("layout-bnhd", {"layout": "bnhd"}, {"q": normal(2, 3, 2, 4), "k": normal(2, 4, 1, 4),
                                                    "v": normal(2, 4, 1, 3)})
    yield solve("temperature", {"temperature": "7/3"}, qkv(), condition=True)
    yield solve("lse-base-2", {"lse-base": "2", "scale": "0.3"}, qkv(), condition=True)
    yield solve("scale-negative", {"scale": "-sqrt(2/7)"}, qkv(), condition=True)
    yield solve("scale-zero", {"scale": "0", "causal": "top-left"}, qkv(nq=4, nk=4))
    yield solve("scores-1e4", {"scale": "1"}, qkv(d=2, nk=6, size=100.0))
    yield solve("scores-1e4-close", {"scale": "10000"}, {
        "q": tensor((1, 1), [1.0]), "k": tensor((3, 1), [-1.0, -1.0 - 2.0 ** -13, -1.0 + 2.0 ** -13]),
        "v": normal(3, 2)})
    yield solve("ties", {}, ties())
    yield solve("one-key", {}, qkv(nq=2, nk=1))
    yield solve("one-component", {"causal": "top-left"}, qkv(nq=4, nk=4, d=1, dv=1))
    yield solve("float64-range", {"scale": "1"}, huge())
    bias = normal(2, 4, 6)
    bias["values"][7] = "-inf"
    yield solve("everything", {"causal": "bottom-right", "window": "3,-1", "softcap": "1.75",
                               "temperature": "sqrt(3/2)", "lse-base": "2", "scale": "0x1.8p-1"},
                {**qkv(hq=2, hk=1, nq=4, nk=6, d=3, dv=2), "bias": bias,
                 "mask": tensor((4, 6), [int(rng.random() < 0.8) for _ in range(24)], "bool"),
                 "alibi-slopes": tensor((2,), [0.25, 0.125]),
                 "sinks": tensor((2,), [-0.5, 0.25])}, condition=True)


def main():
    print("[")
    for n, case in enumerate(cases()):
        print(("," if n else "") + json.dumps(case))
    print("]")


if __name__ == "__main__":
    sys.exit(main())
