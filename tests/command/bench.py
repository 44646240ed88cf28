#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What attest bench prints: lines and figures are there and make sense together; no time is judged."""
import re

from attest_command import done, expect, run

code, out, err = run("bench", "--kernel", "taylor", "--quick")
expect("the Taylor part runs alone", code == 0 and "taylor attention" in out and "nanoseconds a pair" not in out, err)
lines = [line.split() for line in out.splitlines()]
table = {int(l[0]): float(l[1]) for l in lines if l and l[0].isdigit() and len(l) >= 3}
expect("chunked prefill is timed from 64 to 16384 keys", all(2**i in table for i in range(6, 15)), out)
found = re.search(r"exponents of time from N = 1024 on: chunked ([\d.]+), direct ([\d.]+), softmax ([\d.]+)", out)
expect("exponents of all three are printed", found is not None, out)
for name in ("direct", "softmax"):
    expect(f"the length from which {name} takes longer is printed", re.search(rf"^{name} takes longer than chunked", out, re.M), out)
for figure in ("20.8", "76.0"):
    expect(f"the paper's {figure} stands beside what is measured", figure in out, out)

code, out, err = run("bench", "--kernel", "sparse", "--quick")
lines = [line.split() for line in out.splitlines()]
weights = {int(l[0]): l for l in lines if l and l[0].isdigit() and len(l) == 17}
expect("sparse weights are timed by length, with the size of their supports", code == 0 and {1024, 4096} <= set(weights) and
       all(0 < float(l[2]) < float(l[4]) <= float(l[12]) <= n for n, l in weights.items()), out + err)
expect("sparse attention stands beside softmax attention", any(len(l) == 4 and l[0] == "4096" for l in lines), out)

code, out, err = run("bench", "--kernel", "nope")
expect("an unknown kernel exits 2 and the known ones are named", code == 2 and "taylor" in err and not out, err)
done()
