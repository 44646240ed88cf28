#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest check --library: examples in C, C++ and Rust, and functions that crash, hang, write where they must not,
change the floating-point environment or leave processes behind."""
import json
import os
import re
import shutil
import subprocess
import time

import numpy as np

from attest_command import ATTEST, SEED, done, expect, path, processes, run, save

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "data", "examples")
rng = np.random.default_rng(SEED)
Q, K, V = rng.standard_normal((3, 17, 8)).astype("f4")
BASE = ["--q", save("q", Q), "--k", save("k", K), "--v", save("v", V)]


def build(compiler, source, name, *flags):
    library = path(name)
    r = subprocess.run([*compiler.split(), "-I", os.path.join(ROOT, "src"), *flags, source, "-o", library],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect(f"{os.path.basename(source)} is built", r.returncode == 0, r.stdout)
    return library


def certify(library, symbol, *arguments, **settings):
    file = path("c.json")
    if os.path.exists(file):
        os.remove(file)
    status, out, err = run("check", "softmax", *BASE, "--library", f"{library}:{symbol}", "--json", file, *arguments,
                           **settings)
    return status, json.load(open(file)) if os.path.exists(file) else None, out, err


def examples():
    for compiler, source, flags in (("gcc -O2 -shared -fPIC", "kernel.c", ["-lm"]),
                                    ("g++ -O2 -shared -fPIC", "kernel.cpp", []),
                                    ("rustc -O --crate-type cdylib", "kernel.rs", [])):
        if not shutil.which(compiler.split()[0]):
            print(f"     {compiler.split()[0]} is not there: {source} is left out")
            continue
        if source.endswith(".rs"):
            library = path("rust.so")
            subprocess.run([*compiler.split(), os.path.join(EXAMPLES, source), "-o", library], check=True)
        else:
            library = build(compiler, os.path.join(EXAMPLES, source), source + ".so", *flags)
        status, document, out, err = certify(library, "attention")
        expect(f"{source} certifies", status == 0 and out.startswith("CERTIFIED "), out + err)
        expect("... under its own name", document["cases"][0]["subject"] == f"{library}:attention")
        for flag, value in (("--bias", save("bias", np.ones((17, 17), "f4"))), ("--softcap", "5"), ("--window", "3,3"),
                            ("--temperature", "2")):
            status, _, out, err = certify(library, "attention", flag, value)
            expect(f"... and skips what it does not serve, {flag}",
                   status == 0 and out.startswith("SKIPPED ") and "reason=status(77)" in out, out + err)
    # Grouped heads, a different number of keys and values of another width.
    q, k, v = (rng.standard_normal(s).astype("f4") for s in ((2, 4, 5, 8), (2, 2, 9, 8), (2, 2, 9, 3)))
    inputs = ["--q", save("q4", q), "--k", save("k4", k), "--v", save("v4", v)]
    for causal in ("none", "top-left", "bottom-right"):
        status, out, err = run("check", "softmax", *inputs, "--library", path("kernel.c.so") + ":attention", "--causal",
                               causal)
        expect(f"the C example with grouped heads, causal {causal}", status == 0 and "elements=120" in out, out + err)
    status, out, err = run("check", "softmax", *sum(([f"--{x}", save(x + "3", q[0])] for x in "qkv"), []), "--library",
                           path("kernel.c.so") + ":attention", "--layout", "nhd")
    expect("... skips heads next to components", status == 0 and out.startswith("SKIPPED "), out + err)
    for dtype, code in (("float32", 0), ("float64", 1)):
        status, out, err = run("check", "softmax", *inputs, "--library", path("kernel.c.so") + ":attention", "--dtype",
                               dtype)
        expect(f"--dtype {dtype} is the type of out", status == code, out + err)


def children():
    return len(processes("subject-worker " + re.escape(path(""))))


def all_gone():
    """After attest was killed: soon."""
    for _ in range(100):
        if not children():
            return True
        time.sleep(0.05)
    return False


def hostile():
    library = build("gcc -O1 -shared -fPIC", os.path.join(ROOT, "tests", "subject", "hostile.c"), "hostile.so", "-lm")
    status, document, out, err = certify(library, "sound", "--outputs", "out,lse")
    expect("out and lse by --outputs", status == 0 and "output=lse" in out, out + err)
    status, _, out, err = certify(library, "sound", "--bound", "abs<=0")
    expect("a bound that does not hold is refuted", status == 1 and "abs=" in out, out + err)
    reasons = {
        "fails": "status(5)", "crashes": "crash(SIGABRT)", "reads_null": "crash(SIGSEGV)",
        "leaves": "exited", "writes_past_end": "wrote-past-end(out)", "writes_far_past_end": "wrote-past-end(out)",
        "writes_before": "wrote-before(out)", "writes_into_k": "wrote-input(k)",
        "unprotects_k": "wrote-input(k)",
        "reads_past_end": "read-past-end(v)", "changes_rounding": "environment", "sets_ftz": "environment",
        "kills_its_group": "crash(SIGKILL)",
    }
    if os.uname().machine != "x86_64":
        del reasons["sets_ftz"], reasons["reads_past_end"]
    for symbol, reason in reasons.items():
        status, document, out, err = certify(library, symbol)
        expect(f"{symbol} is refuted: {reason}", status == 1 and out.startswith("REFUTED ") and f"reason={reason}\n" in out,
               out + err)
        failure = document["cases"][0]["failure"]
        expect("... in the certificate too", failure["reason"] == reason and failure["detail"] and
               document["totals"]["refuted"] == 1 and document["cases"][0]["outputs"] == [], document)
    status, _, out, err = certify(library, "scribbles")
    expect("one that writes over all that it shares is refuted, and does attest no harm", status == 1 and
           "reason=wrote-before(out)\n" in out, (status, out, err))
    status, _, out, err = certify(library, "closes_everything")
    expect("one that closes all descriptors can still be right", status == 0 and out.startswith("CERTIFIED "), out + err)
    status, _, out, err = certify(library, "shortens_all")
    expect("the memory of the tensors cannot be cut short", status == 0 and out.startswith("CERTIFIED "), out + err)
    status, _, out, err = certify(library, "stops", "--timeout", "0.5")
    expect("one that stops itself is a hang", status == 1 and "reason=timeout\n" in out, out + err)
    status, _, out, err = certify(library, "kills_its_parent")
    expect("attest killed by its subject gives no verdict", status not in (0, 1) and not out and all_gone(), (status, out, err))
    status, _, out, err = certify(library, "does_nothing")
    expect("an output that is not written is refuted", status == 1 and "got=nan" in out, out + err)
    status, _, out, err = certify(library, "hangs", "--timeout", "0.5")
    expect("a hang is refuted", status == 1 and "reason=timeout\n" in out and "0.5 seconds" in err, out + err)
    status, _, out, err = certify(library, "takes_memory", "--memory", "100M", "--timeout", "60")
    expect("too much memory is refuted", status == 1 and "reason=memory\n" in out and "100 MiB" in err, out + err)
    status, _, out, err = certify(library, "prints")
    expect("what a subject prints is no verdict", status == 0 and "forged" not in out and out.count("\n") == 1, out[:300])
    status, _, out, err = certify(library, "forks")
    expect("processes left behind are ended", status == 0 and children() == 0, out + err)
    p = subprocess.Popen([ATTEST, "check", "softmax", *BASE, "--library", f"{library}:hangs"], stdout=subprocess.DEVNULL)
    while not children():
        time.sleep(0.02)
    p.kill()
    p.wait()
    expect("a library's process does not outlive attest, even when that is killed", all_gone())
    status, _, out, err = certify(library, "skips")
    expect("77 is skipped", status == 0 and out.startswith("SKIPPED "), out + err)
    fast = build("gcc -Ofast -shared -fPIC", os.path.join(ROOT, "tests", "subject", "hostile.c"), "fast.so", "-lm")
    status, _, out, err = certify(fast, "sound")
    if os.uname().machine == "x86_64" and status != 0:  # newer compilers leave libraries alone
        expect("a library that sets flush-to-zero when loaded is refuted",
               status == 1 and "reason=environment\n" in out and "-ffast-math" in err, out + err)


def errors():
    library = path("hostile.so")
    for spec, word in ((f"{library}:absent", "absent"), (path("none.so") + ":f", "none.so"), (library, "FILE:SYMBOL"),
                       (save("n", Q) + ":f", "n.npy")):
        status, out, err = run("check", "softmax", *BASE, "--library", spec)
        expect(f"{os.path.basename(spec)} exits 2 and is named", status == 2 and word in err and not out, err)
    for flags, word in ((["--timeout", "0"], "--timeout"), (["--timeout", "x"], "--timeout"), (["--memory", "5X"], "--memory"),
                        (["--outputs", "oot"], "--outputs"), (["--outputs", "final-state"], "final-state"),
                        (["--dtype", "int8"], "--dtype"), (["--exec", "true"], "one"), (["--out", BASE[1]], "--out")):
        status, out, err = run("check", "softmax", *BASE, "--library", library + ":sound", *flags)
        expect(f"{' '.join(os.path.basename(f) for f in flags)} exits 2", status == 2 and word in err, err)
    status, out, err = run("subject-worker", library, "sound")
    expect("the worker is of no use by hand", status == 2 and "attest itself" in err, err)


examples()
hostile()
errors()
done()
