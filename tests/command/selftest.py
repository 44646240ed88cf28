#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest selftest: every mutant killed, everything sound certified, bounds that are tight."""
import json
import os
import re
import subprocess
import time

from attest_command import ATTEST, done, expect, path, run, validate

status, out, err = run("selftest", "--json", "matrix.json", "--html", "matrix.html", timeout=600)
lines = out.splitlines()
mutants = [x for x in lines if " mutant=" in x]
total = dict(word.split("=", 1) for word in lines[-1].split()[1:]) if lines else {}
expect("selftest holds", status == 0, err + "\n".join(x for x in lines if not x.startswith(("SOUND ", "KILLED ", "RULE "))))
expect("at least 80 mutants, all killed", len(mutants) >= 80 and all(x.startswith("KILLED ") for x in mutants))
expect("totals come last and agree", lines and lines[-1].startswith("TOTAL ") and
       int(total["mutants"]) == int(total["killed"]) == len(mutants) and total["survived"] == total["not-applied"] == "0", lines[-1:])
expect("no sound kernel is refuted, no known verdict is wrong", total.get("sound-refuted") == total.get("known-wrong") == "0", lines[-1:])
sound = [x for x in lines if x.startswith("SOUND ")]
ratios = [float(re.search(r" ratio=(\S+)", x).group(1)) for x in sound]
expect("bounds are at most 8 times what is measured", sound and max(ratios) <= 8 and float(total["largest-bound/measured"]) <= 8)
families = {re.search(r"family=(\S+)", x).group(1) for x in mutants}
wanted = """causal-off-by-one mask-off-by-one alignment window-w-or-w+1 dropped-tail dropped-block wrong-scale missing-max-subtraction
finite-sentinel half-precision-accumulator fma-nonzero-at-the-maximum wrong-hex-digit wrong-multinomial stale-state chunk-boundary
odd-degree-through-zero wrong-threshold tie-broken circular-wrap transform-scale angle-sign nan-dropped nan-in-an-invisible-key ftz
swapped-heads transposed-layout comparator-skips ulp-at-a-power-of-two less-or-less-equal reading-the-wrong-file"""
expect("all families of defects", set(wanted.split()) <= families, set(wanted.split()) - families)
expect("the usual rules are scored on the same mutants", sum(x.startswith("RULE ") for x in lines) == 6 and
       any(int(re.search(r"passed=(\d+)", x).group(1)) > 0 for x in lines if x.startswith("RULE ")))
validate(path("matrix.json"), "selftest")
matrix = json.load(open(path("matrix.json")))
scores = {x.split("rule=")[1].split()[0]: int(re.search(r" found=(\d+)", x).group(1)) for x in lines if x.startswith("RULE ")}
expect("the kill matrix adds up to the same scores", {x["rule"]: x["found"] for x in matrix["rules"]} == scores == {
    rule: sum(rule in x.get("found_by", ()) for x in matrix["mutants"]) for rule in scores}, matrix["rules"])
page = open(path("matrix.html")).read()
expect("... and can be looked at", all(f"<td>{x['name']}</td>" in page for x in matrix["mutants"]) and
       page.count('class="n">passed') == sum(len(x.get("passed_by", ())) for x in matrix["mutants"]))
# The frozen inputs: a digest that no change of the code may change.
expect("the inputs are the frozen ones", total.get("inputs") == "d6577dfc71d05df9", total.get("inputs"))
status, out, err = run("selftest", "--mutant", "comparator/last-element-skipped")
expect("--mutant tries one", status == 0 and sum(" mutant=" in x for x in out.splitlines()) == 1, out[-300:] + err)
status, out, err = run("selftest", "--mutant", "comparator/last-element-skipped", "--json", "/proc/matrix.json")
expect("a file that cannot be written is trouble before the work", status == 2 and "/proc/matrix.json" in err and not out, err)
status, out, err = run("selftest", "--mutant", "nobody")
expect("an unknown mutant is trouble", status == 2 and "nobody" in err and not out, err)
status, out, err = run("selftest", "--mutant", "reader/first-member-for-all", env={**os.environ, "TMPDIR": "/nowhere"})
expect("no folder for files is trouble", status == 2 and "/nowhere" in err, err)
# Killed, it leaves no files behind; the path of TMPDIR may be long.
folder = path("a-long-name-" + 60 * "x")
os.mkdir(folder)
environment = {**os.environ, "TMPDIR": folder}
status, out, err = run("selftest", "--mutant", "reader/first-member-for-all", env=environment)
expect("files of the self-test are in TMPDIR, and removed", status == 0 and not os.listdir(folder), (err, os.listdir(folder)))
process = subprocess.Popen([ATTEST, "selftest"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
until = time.monotonic() + 60
while not os.listdir(folder) and time.monotonic() < until:
    time.sleep(0.01)
begun = os.listdir(folder)
process.kill()
process.wait()
while os.listdir(folder) and time.monotonic() < until:
    time.sleep(0.01)
expect("... also when it is killed", begun and not os.listdir(folder), (begun, os.listdir(folder)))
done()
