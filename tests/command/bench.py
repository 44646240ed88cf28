#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What attest bench prints: lines and figures are there and make sense together; no time is judged."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from attest_command import ATTEST, done, expect, run

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

kernels = {line.split()[0] for line in run("kernels")[1].splitlines() if re.match("[a-z]", line)}
code, out, err = run("bench", "--kernel", "kernels", "--quick")
table = {l.split()[0]: l.split() for l in out.splitlines() if len(l.split()) == 8 and l.split()[5].endswith("x")}
expect("every kernel is timed, certified, and says how far off it was", code == 0 and
       {re.sub(r"\.[a-z]+\w*$|-[\d.]+$", "", name) for name in table} == kernels and
       all(0 < float(line[7]) < 16 for line in table.values()), out + err)
code, out, err = run("bench", "--kernel", "sweep", "--quick")
expect("a sweep is timed beside MPFR", code == 0 and re.search(r"MPFR at 96 bits.*[\d.]+ ns an input", out), out + err)

with tempfile.TemporaryDirectory() as folder:
    first, second = (os.path.join(folder, name) for name in ("first.json", "second.json"))
    code, out, err = run("bench", "--kernel", "softmax", "--quick", "--threads", "1", "--json", first)
    expect("the softmax part runs alone and writes its figures", code == 0 and "goal" in out, out + err)
    with open(first) as f:
        document = json.load(f)
    names = [f["name"] for f in document["figures"]]
    expect("each figure has a name of its own, a unit and a positive value", document["schema"] == "attest-bench/1" and
           len(set(names)) == len(names) > 10 and all(f["value"] > 0 and f["unit"] for f in document["figures"]), names)
    goals = {g["name"]: g for g in document["goals"]}
    expect("goals that were measured say whether they are reached, the others stand there without a figure",
           goals["kernel"]["reached"] == (goals["kernel"]["measured"] <= goals["kernel"]["wanted"]) and
           goals["balls"]["reached"] == (goals["balls"]["measured"] >= goals["balls"]["wanted"]) and
           goals["sweep"]["measured"] is None and goals["sweep"]["reached"] is None, goals)
    expect("every goal is printed", all(g["text"] in out for g in document["goals"]), out)

    old = {"schema": "attest-bench/1", "figures": [{"name": n, "unit": u, "value": 1} for n, u in
           [("a", "ns"), ("b", "tokens/s"), ("c", "backward"), ("d", "ns"), ("gone", "ns"), ("e", "backward")]]}
    new = {"schema": "attest-bench/1", "figures": [{"name": n, "unit": u, "value": v} for n, u, v in
           [("a", "ns", 2), ("b", "tokens/s", 2), ("c", "backward", 0.5), ("d", "ns", 1.05), ("come", "ns", 1), ("e", "backward", 0.96)]]}
    for path, content in ((first, old), (second, new)):
        with open(path, "w") as f:
            json.dump(content, f)
    code, out, err = run("report", first, second)
    expect("report compares two runs figure by figure: times and errors better when less, rates when more; backward errors always",
           code == 0 and out.splitlines() == ["WORSE a ns=1->2 2.00x", "BETTER b tokens/s=1->2 2.00x", "BETTER c backward=1->0.5 2.00x",
                                              "MISSING gone", "SAME e backward=1->0.96 1.04x", "NEW come", "same=2 better=2 worse=1 missing=1 new=1"], out + err)
    code, out, err = run("report", first, second, "--fail-on-regression", "--growth", "3")
    expect("a figure that is missing is a regression", code == 1 and "same=5" in out, out + err)
    with open(second, "w") as f:
        f.write("{}")
    code, out, err = run("report", first, second)
    expect("a file of another kind is refused by its name", code == 2 and "second.json" in err and not out, out + err)

code, out, err = run("bench", "--profile", "sparsemax", "--quick")
expect("a piece of work runs alone and says how much it did", code == 0 and
       re.fullmatch(r"piece=sparsemax unit=element count=49152 seconds=[\d.e-]+ hertz=nan\n", out), out + err)
code, out, err = run("bench", "--profile", "nope")
expect("an unknown piece exits 2 and the known ones are named", code == 2 and "taylor-decode" in err and not out, err)
profile = os.path.join(os.path.dirname(__file__), "..", "bench", "profile.py")
if shutil.which("valgrind") and not os.environ.get("ASAN_OPTIONS"):
    ran = subprocess.run([profile, ATTEST, "sparsemax"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    row = re.search(r"^sparsemax +element +([\d.]+) +([\d.]+) +[\d.]+ +([\d.]+)", ran.stdout, re.M)
    expect("profile counts instructions, misses and cycles of a piece, and names its functions", ran.returncode == 0 and row and
           1 < float(row[1]) < 1000 and 0.05 < float(row[2]) < 4 and float(row[3]) > 0 and re.search(r"^sparsemax +\d+\.\d.* sparse_\w+$", ran.stdout, re.M), ran.stdout)

code, out, err = run("bench", "--kernel", "nope")
expect("an unknown kernel exits 2 and the known ones are named", code == 2 and "taylor" in err and not out, err)
done()
