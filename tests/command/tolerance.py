#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest tolerance: tolerances that hold what they promise, and what they let pass."""
import re

from attest_command import done, expect, run


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
errors()
done()
