#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest tolerance: tolerances that hold what they promise, and what they let pass."""
import re
import sys

import numpy as np

from attest_command import done, expect, path, run


def tolerance(*arguments):
    status, out, err = run("tolerance", *arguments)
    facts = dict(w.split("=", 1) for w in out.splitlines()[0].split()[1:]) if out else {}
    pairs = [tuple(map(float, p)) for p in re.findall(r"assert_allclose\(out, reference, rtol=(\S+), atol=(\S+)\)", out)]
    mutants = {m[0]: (float(m[1]), float(m[2])) for m in re.findall(r"^  (\S+) +([\d.]+) +([\d.]+)$", out, re.M)}
    return status, facts, pairs, mutants, out + err


def sound():
    for dtype, u, n in (("float64", 2.0**-53, 9), ("float32", 2.0**-24, 9), ("bf16", 2.0**-8, 4), ("float16", 2.0**-11, 4)):
        status, facts, pairs, mutants, text = tolerance("softmax", "--n", 300, "--d", 16, "--dtype", dtype)
        expect(f"{dtype} has two tolerances", status == 0 and len(pairs) == 2 and "torch.testing.assert_close" in text, text)
        expect("... with rtol of four roundoffs, rounded up", all(4 * u <= p[0] <= 4.5 * u for p in pairs), pairs)
        expect("... measured errors below the a-priori bound",
               float(facts["error.max"]) <= float(facts["apriori.max"]) and
               float(facts["error.median"]) <= float(facts["apriori.median"]) and
               float(facts["error.median"]) <= float(facts["error.p99"]) <= float(facts["error.max"]), facts)
        expect("... and every mutant measured", len(mutants) == n, mutants)
        expect("a wrong scale is found", mutants["scale-1/d"][0] > 0.5 and mutants["scale-1/d"][1] > 0.5, mutants)
    status, facts, pairs, mutants, text = tolerance("softmax", "--n", 300, "--d", 16, "--dtype", "bf16", "--arithmetic",
                                                    "products=bf16,weights=bf16,accumulate=bf16")
    expect("a loose model gives a loose tolerance, which lets mutants pass", status == 0 and
           ("none:" in text or mutants["scale-1%-off"][0] == 0), text)
    same = [tolerance("softmax", "--n", 64, "--d", 8, "--seed", 3)[4] for _ in range(2)]
    expect("the same twice", same[0] == same[1])
    for generator in "sphere real ties dominant saturated cancelling denormal rational".split():
        status, facts, pairs, mutants, text = tolerance("softmax", "--n", 50, "--d", 8, "--dv", 3, "--generator", generator)
        expect(f"on {generator} data", status == 0 and len(pairs) >= 1 and facts["elements"] == "150", text)


def numpy():
    """The same data, from a plan: what numpy.testing says of NumPy's kernel and of mutants."""
    open(path("subject.py"), "w").write("""
import shutil, sys
import numpy as np
for name in "qkv": shutil.copy(f"{sys.argv[-1]}/{name}.npy", f"{sys.argv[1]}-{name}.npy")
np.save(sys.argv[-1] + "/out.npy", np.load(sys.argv[-1] + "/v.npy"))
""")
    open(path("plan.yaml"), "w").write(f"""attest: 1
subjects: {{copy: {{exec: [{sys.executable}, {path("subject.py")}, {path("seen")}]}}}}
cases: [{{name: c, subject: copy, kernel: softmax, dtype: f32, shape: {{n: 200, d: 16}}, bound: abs<=100,
  data: {{generator: dominant, seed: 5}}}}]
""")
    status, out, err = run("certify", path("plan.yaml"))
    q, k, v = (np.load(path(f"seen-{name}.npy"))[0, 0] for name in "qkv")

    def attention(q, k, v, scale=None):
        s = q @ k.T * q.dtype.type(scale or 0.25)
        p = np.exp(s - s.max(-1, keepdims=True))
        return p @ v / p.sum(-1, keepdims=True)

    wide = [a.astype(np.longdouble) for a in (q, k, v)]
    exact = attention(*wide).astype("f4")
    status, facts, pairs, mutants, text = tolerance("softmax", "--n", 200, "--d", 16, "--generator", "dominant", "--seed", 5)
    expect("tolerances of the data of a plan", status == 0 and len(pairs) == 2, out + err + text)
    for name, (rtol, atol) in zip(("a-priori", "measured"), pairs):
        try:
            np.testing.assert_allclose(attention(q, k, v), exact, rtol=rtol, atol=atol)
            good = ""
        except AssertionError as e:
            good = str(e)
        expect(f"numpy.testing passes NumPy's kernel under the {name} one", not good, good)
    half = lambda a: a.astype("f2").astype("f4")
    for name, out in (("scale-1/d", attention(*wide, scale=1 / 16)), ("scale-1%-off", attention(*wide, scale=np.longdouble("0.2525"))),
                      ("keys-shifted-by-one", attention(wide[0], np.roll(wide[1], -1, 0), wide[2])),
                      ("last-key-dropped", attention(wide[0], wide[1][:-1], wide[2][:-1])),
                      ("values-float16", attention(wide[0], wide[1], half(v).astype(np.longdouble))),
                      ("q-and-k-float16", attention(half(q).astype(np.longdouble), half(k).astype(np.longdouble), wide[2]))):
        beyond = [np.mean(~np.isclose(out.astype("f4"), exact, rtol=rtol, atol=atol)) for rtol, atol in pairs]
        expect(f"... and finds as much of {name}", np.abs(np.subtract(beyond, mutants[name])).max() < 0.02, (beyond, mutants[name]))


def errors():
    for arguments, word in ((["softmax"], "--n"), (["softmax", "--n", 5], "--d"), (["softmax", "--n", 0, "--d", 1], "--n"),
                            (["softmax", "--n", 70000, "--d", 1], "65536"), (["softmax", "--n", 5, "--d", 5, "--dtype", "int"], "int"),
                            (["softmax", "--n", 5, "--d", 5, "--generator", "g"], "generator"),
                            (["softmax", "--n", 5, "--d", 5, "--q", "q.npy"], "--q"), (["gausian", "--n", 5, "--d", 5], "gausian"),
                            (["softmax", "--n", 5, "--d", 5, "--causal", "left"], "causal"),
                            (["softmax", "--n", 5, "--d", 5, "--arithmetic", "x"], "arithmetic")):
        status, _, _, _, text = tolerance(*arguments)
        expect(f"tolerance {' '.join(map(str, arguments))} exits 2", status == 2 and word in text, text)


sound()
numpy()
errors()
done()
