#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""reference.py ATTEST: attest reference against the golden values of data/softmax (mpmath), digit by
digit and bit by bit. Needs python3-numpy."""
import decimal
import fractions
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from attest_command import validate

HERE = os.path.dirname(os.path.abspath(__file__))
ATTEST = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp()
failed = 0


def report(name, ok, detail=""):
    global failed
    failed += not ok
    print(("ok " if ok else "FAIL ") + name + ("" if ok else f": {detail}"[:400]))


def attest(*arguments, environment=None):
    return subprocess.run([ATTEST, "reference", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, cwd=WORK,
                          env={**os.environ, **(environment or {})})


def save(name, values, dtype="float32"):
    np.save(f"{WORK}/{name}.npy", np.array(values, dtype=dtype))
    return f"{WORK}/{name}.npy"


def flags_of(case):
    """The case as files and flags."""
    flags = []
    for name, t in case["tensors"].items():
        values = [float(x) if isinstance(x, str) else x for x in t["values"]]
        path = f"{WORK}/{case['name']}-{name}.npy"
        np.save(path, np.array(values, dtype=t["dtype"]).reshape(t["shape"]))
        flags += ["--" + name, path]
    for name, value in case["params"].items():
        flags += ["--" + name, value]
    return flags


def rounded(text, digits):
    """The golden text correctly rounded to that many significant digits."""
    with decimal.localcontext() as context:
        context.prec = digits
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        return +decimal.Decimal(text)


def same_decimal(got, expected, digits):
    if expected in ("nan", "-inf"):
        return got == expected
    return decimal.Decimal(got) == rounded(expected, digits)


def check_digits(cases, digits):
    """Every digit of out and lse of all cases."""
    wrong, count = [], 0
    for case in cases:
        r = attest("softmax", *flags_of(case), "--digits", digits, "--output", "r.json")
        if r.returncode:
            wrong.append(f"{case['name']}: {r.stderr}")
            continue
        result = json.load(open(f"{WORK}/r.json"))
        for name, part in (("out", result["output"]), ("lse", result["outputs"]["lse"])):
            if part["shape"] != case[name]["shape"] or len(part["rad"]) != len(part["mid"]):
                wrong.append(f"{case['name']}: shape of {name}")
            for got, rad, status, expected in zip(part["mid"], part["rad"], part["status"],
                                                  case[name]["values"]):
                count += 1
                padding = status == "padding" and expected == "0"
                if not padding and not same_decimal(got, expected, digits):
                    wrong.append(f"{case['name']} {name}: {got}, not {expected}")
                elif expected not in ("nan", "-inf"):
                    with decimal.localcontext() as context:
                        context.prec = 400
                        error = abs(decimal.Decimal(got) - decimal.Decimal(expected))
                        slack = abs(decimal.Decimal(expected)) * decimal.Decimal("1e-58")
                    if error > decimal.Decimal(rad) + slack:
                        wrong.append(f"{case['name']} {name}: radius {rad} below the error {error}")
    report(f"digits_{digits}_agree_with_mpmath", not wrong and count > 400, wrong[:3] or count)


def nearest(text, dtype):
    """The value of a dtype nearest to the decimal, ties to even; by exact fractions."""
    if text in ("nan", "-inf"):
        return float(text)
    p, emin, emax = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127),
                     "float32": (24, -126, 127), "float64": (53, -1022, 1023)}[dtype]
    x = fractions.Fraction(text)
    if x == 0:
        return 0.0
    e = len(bin(abs(x.numerator))) - len(bin(x.denominator))
    if fractions.Fraction(2) ** e > abs(x):
        e -= 1
    quantum = fractions.Fraction(2) ** (max(e, emin) - p + 1)
    value = round(x / quantum) * quantum  # round() takes ties to even
    if abs(value) >= fractions.Fraction(2) ** (emax + 1):
        return float("inf") if x > 0 else float("-inf")
    return float(value)


def check_dtype(cases, dtype):
    wrong, count = [], 0
    for case in cases:
        for name in ("out", "lse") if dtype == "float32" else ("out",):
            r = attest("softmax", *flags_of(case), "--dtype", dtype, "--what", name, "--output",
                       "r.npy")
            if r.returncode:
                wrong.append(f"{case['name']}: {r.stderr}")
                continue
            raw = np.load(f"{WORK}/r.npy")
            if dtype == "bfloat16":
                raw = (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
            if raw.shape != tuple(case[name]["shape"]):
                wrong.append(f"{case['name']}: shape of {name}")
            for got, text in zip(raw.astype(float).ravel(), case[name]["values"]):
                expected = nearest(text, dtype)
                count += 1
                if not (got == expected or got != got and expected != expected):
                    wrong.append(f"{case['name']} {name}: {got!r}, not {expected!r}")
    report(f"{dtype}_is_correctly_rounded", not wrong and count > 300, wrong[:3] or count)


def check_ties():
    # the mean of 1 and 2^-24 + 2^-25 .. is a midpoint of float32 that balls never leave
    up, down = 1 + 2.0 ** -23 + 2.0 ** -24, 1 + 2.0 ** -24
    for name, x, expected in (("tie_rounds_to_even_above", up, 1 + 2.0 ** -22),
                              ("tie_rounds_to_even_below", down, 1.0)):
        # keys 1, 3 and q = (1, 1): the scores 4 / sqrt(2) are equal and irrational
        r = attest("softmax", "--q", save("q2", [[1, 1]]), "--k", save("k2", [[1, 3], [4, 0]]), "--v",
                   save("v2", [[2 * x - 3], [3]], "float64"), "--dtype", "float32", "--output", "t.npy")
        got = float(np.load(f"{WORK}/t.npy")[0, 0]) if r.returncode == 0 else r.stderr
        report(name, got == expected, got)
    for digits, values, expected in ((2, (0, 2.5), "1.2"), (2, (0, 2.75), "1.4"), (1, (0, 19), "1e1"),
                                     (3, (-1, 1), "0"), (4, (1, 0.0625), "0.5312"),
                                     (1, (0.5, 0.5), "0.5")):
        r = attest("softmax", "--q", save("q2", [[1, 1]]), "--k", save("k2", [[1, 3], [4, 0]]), "--v",
                   save("v2", [[values[0]], [values[1]]], "float64"), "--digits", digits, "--output",
                   "t.json")
        got = json.load(open(f"{WORK}/t.json"))["output"]["mid"][0] if r.returncode == 0 else r.stderr
        report(f"decimal_tie_{values[0]}_{values[1]}_to_{digits}",
               r.returncode == 0 and decimal.Decimal(got) == decimal.Decimal(expected), got)


def check_many_digits(cases):
    case = next(c for c in cases if c["name"] == "plain")
    r = attest("softmax", *flags_of(case), "--digits", 10000, "--output", "long.json")
    mid = json.load(open(f"{WORK}/long.json"))["output"]["mid"] if r.returncode == 0 else []
    digits = [len(m.lstrip("-").replace(".", "").lstrip("0")) for m in mid]
    ok = bool(mid) and set(digits) == {10000} and all(
        decimal.Decimal(m[:40]) == decimal.Decimal(e[:40])
        for m, e in zip(mid, case["out"]["values"]))
    report("10000_digits", ok, r.stderr or digits[:3])


def check_threads(cases):
    case = next(c for c in cases if c["name"] == "everything")
    texts = []
    for threads in (1, 2):
        attest("softmax", *flags_of(case), "--threads", threads, "--output", f"t{threads}.json")
        texts.append(open(f"{WORK}/t{threads}.json").read())
    report("same_bytes_at_any_number_of_threads", texts[0] == texts[1])


def check_bundle(cases):
    case = next(c for c in cases if c["name"] == "everything")
    r = attest("softmax", *flags_of(case), "--bundle", "bundle", "--dtype", "float32")
    folder = f"{WORK}/bundle"
    names = sorted(os.listdir(folder)) if r.returncode == 0 else []
    report("bundle_is_complete", {"q.npy", "k.npy", "v.npy", "bias.npy", "mask.npy", "sinks.npy",
                                  "alibi-slopes.npy", "out.npy", "lse.npy", "problem.json",
                                  "reference.json", "SHA256SUMS"} == set(names), r.stderr or names)
    if not names:
        return
    sums = dict(reversed(line.split("  ")) for line in open(f"{folder}/SHA256SUMS").read().splitlines())
    report("bundle_sums_are_right", set(sums) == set(names) - {"SHA256SUMS"} and all(
        hashlib.sha256(open(f"{folder}/{n}", "rb").read()).hexdigest() == h for n, h in sums.items()))
    out = [nearest(t, "float32") for t in case["out"]["values"]]
    report("bundle_out_is_rounded", np.load(f"{folder}/out.npy").astype(float).ravel().tolist() == out)
    report("bundle_inputs_are_copies",
           (np.load(f"{folder}/q.npy") == np.load(f"{WORK}/everything-q.npy")).all())
    params = json.load(open(f"{folder}/problem.json"))["params"]
    validate(f"{folder}/problem.json", "problem")
    validate(f"{folder}/reference.json", "reference")
    report("bundle_problem_has_the_parameters", params["softcap"] and params["causal"] == "bottom-right")
    r = attest("softmax", *flags_of(case), "--bundle", "bundle")
    report("existing_bundle_is_refused", r.returncode == 2 and "exists" in r.stderr, r)
    left = [n for n in os.listdir(WORK) if n.startswith(("bundle.", ".attest"))]
    report("no_temporary_files_are_left", not left, left)


def check_safetensors(cases):
    case = next(c for c in cases if c["name"] == "plain")
    r = attest("softmax", *flags_of(case), "--dtype", "bfloat16", "--output", "r.safetensors")
    raw = open(f"{WORK}/r.safetensors", "rb").read() if r.returncode == 0 else b"\0" * 8
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size] or "{}")
    report("safetensors_holds_out_and_lse", {"out", "lse"} <= set(header) and all(
        header[n]["dtype"] == "BF16" for n in ("out", "lse")), r.stderr or header)


def check_trouble(cases):
    base = flags_of(next(c for c in cases if c["name"] == "plain"))
    nan = save("nan", np.full((4, 3), np.nan))
    for name, arguments, word in (
            ("no_output", base, "--output"), ("unknown_suffix", [*base, "--output", "x.txt"], ".txt"),
            ("both_outputs", [*base, "--output", "x.json", "--bundle", "y"], "--bundle"),
            ("zero_digits", [*base, "--digits", "0", "--output", "x.json"], "digits"),
            ("words_for_digits", [*base, "--digits", "many", "--output", "x.json"], "digits"),
            ("unknown_dtype", [*base, "--dtype", "float8", "--output", "x.npy"], "float8"),
            ("integer_dtype", [*base, "--dtype", "int32", "--output", "x.npy"], "int32"),
            ("digits_for_npy", [*base, "--digits", "5", "--output", "x.npy"], "--dtype"),
            ("dtype_for_json", [*base, "--dtype", "float32", "--output", "x.json"], "--digits"),
            ("missing_file", ["--q", "none.npy", *base[2:], "--output", "x.json"], "none.npy"),
            ("no_folder", [*base, "--output", "none/x.json"], "none"),
            ("bundle_in_no_folder", [*base, "--bundle", "none/x"], "none"),
            ("visible_nan", [*base[:4], "--v", nan, "--output", "x.json"], "nonfinite"),
            ("empty_row_error", [*base, "--mask", save("m0", np.zeros((3, 4)), "bool"), "--empty-row",
                                 "error", "--output", "x.json"], "empty-row")):
        r = attest("softmax", *arguments)
        report("trouble_" + name, r.returncode == 2 and word in r.stderr, r)
    report("trouble_leaves_no_file", not os.path.exists(f"{WORK}/x.json"))
    r = attest("softmax", *base[:4], "--v", nan, "--nonfinite", "ieee", "--output", "n.json")
    mid = json.load(open(f"{WORK}/n.json"))["output"]["mid"] if r.returncode == 0 else r.stderr
    report("nan_under_ieee", set(mid) == {"nan"}, mid)


def check_interrupt():
    rng = np.random.default_rng(1)
    q = save("big", rng.standard_normal((3000, 64)))
    process = subprocess.Popen([ATTEST, "reference", "softmax", "--q", q, "--k", q, "--v", q,
                                "--digits", "2000", "--output", f"{WORK}/big.json"],
                               stderr=subprocess.PIPE, text=True)
    for _ in range(2):  # the second one does not wait for the rows under way
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    left = [n for n in os.listdir(WORK) if n.startswith(("big.json", ".attest"))]
    report("interrupt_leaves_no_file", process.returncode != 0 and not left, left)


def main():
    cases = json.load(open(f"{HERE}/../../data/softmax/golden.json"))
    for digits in (50, 2):
        check_digits(cases, digits)
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        check_dtype(cases, dtype)
    check_ties()
    check_many_digits(cases)
    check_threads(cases)
    check_bundle(cases)
    check_safetensors(cases)
    check_trouble(cases)
    check_interrupt()
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
