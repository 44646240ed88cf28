#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest sweep: verdicts, ledgers, shards, messages."""
import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import time
from fractions import Fraction

from attest_command import ATTEST, SEED, done, expect, path, run, validate

RANGE = ["--from", "1", "--to", "1.5"]  # 65 blocks


def sweep(*arguments, **settings):
    """(exit status, facts of the verdict line, output, errors)"""
    status, out, err = run("sweep", *arguments, **settings)
    words = out.split("\n", 1)[0].split()
    return status, dict(w.split("=", 1) for w in words if "=" in w), out, err


def document(*arguments):
    """The certificate without what may differ from run to run."""
    file = path("sweep.json")
    status, out, err = run("sweep", *arguments, "--json", file)
    d = json.load(open(file)) if status in (0, 1, 3) else {}
    d.pop("environment", None)
    d.pop("timing", None)
    return status, d, out, err


def verdicts():
    status, facts, out, err = sweep("exp", "--from", "0.5", "--to", "1", "--bound", "ulp<=4")
    expect("the suite's exponential is certified", status == 0 and out.startswith("CERTIFIED sweep=exp ") and
           facts["elements"] == str(2**23 + 1), out + err)
    worst = float(facts["ulp"])
    status, facts, out, err = sweep("exp", "--from", "0.5", "--to", "1", "--bound", "ulp<=0.25", "--quiet")
    expect("an impossible bound is refuted with its input", status == 1 and out.startswith("REFUTED ") and
           float.fromhex(facts["at"]) > 0.5 and out.count("\n") == 1, out + err)
    status, facts, _, _ = sweep("exp", "--from", "0.5", "--to", "1", "--bound", f"ulp<={worst * 1.001}", "--bound", f"rel<={worst * 1e-9}")
    expect("one bound of two that fails refutes", status == 1 and facts["bound"].count(";") == 1, facts)


def blocks(ledger):
    """The number of blocks that are on disk."""
    try:
        with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=0) as db:
            return db.execute("SELECT count(*) FROM block").fetchone()[0]
    except sqlite3.OperationalError:  # locked by the run, or not there yet
        return 0


def killed():
    """A function that takes its time, killed at random moments."""
    slow = [*RANGE, "--library", "./lib.so:slow", "--abi", "array", "--bound", "ulp<=2", "--threads", "1"]
    whole = document("exp", *slow)
    ledger = path("killed")
    kept = [0]
    generator = random.Random(SEED)
    for _ in range(3):
        process = subprocess.Popen([ATTEST, "sweep", "exp", *slow, "--quiet", "--resume", ledger], cwd=path(""),
                                   stdout=subprocess.DEVNULL)
        while process.poll() is None and blocks(ledger) == kept[-1]:
            time.sleep(0.01)
        time.sleep(generator.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept.append(blocks(ledger))
    expect("a ledger that is killed keeps what it had", kept == sorted(kept) and 0 < kept[-1], kept)
    file = path("resumed.json")
    run("sweep", "exp", *slow, "--resume", ledger, "--json", file)
    d = json.load(open(file))
    expect("what is in it is not done again", d["timing"]["resumed"] >= 65536 * (kept[-1] - 1), d["timing"])
    one = subprocess.Popen([ATTEST, "sweep", "exp", *slow, "--quiet", "--resume", path("shared")], cwd=path(""),
                           stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    status, _, out, err = sweep("exp", *slow, "--resume", path("shared"))
    expect("a second run on one ledger exits 2 and says why", status == 2 and "another run" in err, err)
    one.send_signal(signal.SIGINT)
    out = one.communicate()[0]
    expect("Ctrl-C leaves an undecided sweep", one.returncode == 3 and out.startswith("UNDECIDED ") and
           "reason=interrupted" in out, out)
    expect("... that goes on", document("exp", *slow, "--resume", path("shared")) == whole)
    expect("killed and resumed, the certificate is the same", {k: d[k] for k in whole[1]} == whole[1])
    for delay in (0.2, 0.5, 0.8):  # when all blocks are done and some are called again; on a busy machine sooner or later
        one = subprocess.Popen([ATTEST, "sweep", "exp", *slow, "--quiet", "--resume", ledger], cwd=path(""), stdout=subprocess.PIPE, text=True)
        time.sleep(delay)
        one.send_signal(signal.SIGINT)
        out = one.communicate()[0]
        expect("Ctrl-C at the end leaves an undecided sweep, too", (one.returncode == 3 and "reason=interrupted" in out) or
               (one.returncode == 0 and out.startswith("CERTIFIED ")) or one.returncode == -signal.SIGINT, (one.returncode, out))


def ledgers():
    whole = document("exp", *RANGE)
    ledger = path("ledger")
    document("exp", *RANGE, "--resume", ledger)
    expect("from a full ledger the certificate is the same", document("exp", *RANGE, "--resume", ledger) == whole)
    status, _, out, err = sweep("exp", "--from", "1", "--to", "1.75", "--resume", ledger)
    expect("the ledger of another range exits 2 and is named", status == 2 and ledger in err and "to=" in err, err)
    status, _, out, err = sweep("tanh", *RANGE, "--resume", ledger)
    expect("the ledger of another function exits 2", status == 2 and "function=" in err, err)
    for flag in ("--resume", "--merge"):
        status, _, out, err = sweep("exp", *RANGE, flag, path("none/ledger"))
        expect(f"{flag}: a ledger in no folder is named, with the reason",
               status == 2 and "none/ledger" in err and "No such file" in err and "folder" in err, err)
    with sqlite3.connect(path("other")) as db:
        db.execute("CREATE TABLE things (x)")
    for file in ("other", "lib.c"):
        status, _, out, err = sweep("exp", *RANGE, "--resume", path(file))
        expect(f"{file}, which is no ledger, exits 2", status == 2 and "no ledger" in err, err)
    status, _, out, err = sweep("exp", *RANGE, "--resume", ":memory:")
    expect("a ledger of any name is a file", status == 0 and blocks(path(":memory:")) == 65, err)
    with sqlite3.connect(ledger) as db:
        first, record = db.execute("SELECT first, record FROM block LIMIT 1 OFFSET 7").fetchone()
        record = bytearray(record)
        record[len(record) // 2] ^= 1
        db.execute("UPDATE block SET record = ? WHERE first = ?", (bytes(record), first))
    db.close()
    status, _, out, err = sweep("exp", *RANGE, "--resume", ledger)
    expect("a ledger with one bit changed exits 2", status == 2 and "damaged" in err and not out, out + err)
    shards = [path(f"shard{i}") for i in (1, 2, 3)]
    for i, file in enumerate(shards):
        status, facts, out, err = sweep("exp", *RANGE, "--shard", f"{i + 1}/3", "--resume", file)
        expect(f"shard {i + 1} says that it is one", status == 0 and facts["scope"] == f"shard({i + 1}/3)", out + err)
    merged = document("exp", *RANGE, *(a for f in reversed(shards) for a in ("--merge", f)))
    expect("shards merge to the same certificate, byte for byte", merged == whole, merged[3])
    digits = 10 ** 100
    for base, wanted in ((digits, 0), (digits + 1, 2)):
        status, _, out, err = sweep("rope-cos", "--rope-base", str(base), "--from", "1", "--to", "9", "--quiet", "--resume", path("phases"))
        expect("a ledger tells bases apart by every digit", status == wanted, out + err)
    status, _, out, err = sweep("exp", *RANGE, "--merge", shards[0], "--merge", shards[1])
    expect("a shard that is missing exits 2", status == 2 and "lack" in err, err)
    small = ["log", "--from", "1", "--to", "1.0001"]
    whole = document(*small)
    for i in (1, 2):
        status, d, out, err = document(*small, "--shard", f"{i}/2", "--resume", path(f"small{i}"))
        validate(path("sweep.json"), "sweep")
    expect("an empty shard is undecided and says so", status == 3 and "reason=empty-shard" in out and "no inputs" in err and
           d["verdict"] == "undecided" and d["reason"] == "empty-shard", out + err)
    expect("... and its ledger merges", document(*small, "--merge", path("small1"), "--merge", path("small2")) == whole)


LIBRARY = """
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static float expo(float x) { double t = 1; for (int k = 24; k; k--) t = 1 + t * x / k; return (float)t; }
float good(float x) { return expo(x); }
void array(float *out, const float *in, size_t n) { for (size_t i = 0; i < n; i++) out[i] = expo(in[i]); }
void past(float *out, const float *in, size_t n) { for (size_t i = 0; i < n + 64; i++) out[i] = expo(in[i]); }
void lazy(float *out, const float *in, size_t n) { out[0] = expo(in[0]); }
float crash(float x) { return x == 0.7f ? *(volatile float *)16 : expo(x); }
float leave(float x) { if (x == 0.7f) exit(0); return expo(x); }
float hang(float x) { while (x == 0.7f) ; return expo(x); }
float chatty(float x) { if (x == 0.7f) puts("0"); return expo(x); }
void slow(float *out, const float *in, size_t n) { usleep(50000); for (size_t i = 0; i < n; i++) out[i] = expf(in[i]); }
static unsigned state;
float fickle(float x) { state = state * 1664525u + 1013904223u; return expo(x) * (1 + (state >> 31) * 0x1p-23f); }
/* Sixteen at a time, and a wrong loop for the rest. */
void tail(float *out, const float *in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = i < n / 16 * 16 ? expo(in[i]) : 7;
}
/* Right in blocks, wrong in a short call. */
void shy(float *out, const float *in, size_t n) { for (size_t i = 0; i < n; i++) out[i] = n < 16 && in[i] == 1 ? 3 : expo(in[i]); }
float capped(float x) { return x > 88 ? 0x1.fffffep+127f : expo(x); }
void rounding(float *out, const float *in, size_t n) { array(out, in, n); __asm__("ldmxcsr %0" : : "m"((unsigned){0x3f80})); }
"""


def libraries():
    with open(path("lib.c"), "w") as f:
        f.write(LIBRARY)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", path("lib.so"), path("lib.c"), "-lm"], check=True)
    near = ["--from", "0.69", "--to", "0.71"]

    def one(symbol, *arguments):
        return sweep("exp", "--library", f"./lib.so:{symbol}", *near, "--quiet", *arguments)

    status, facts, out, err = one("good")
    expect("a function of a library is certified", status == 0 and facts["subject"] == "./lib.so:good" and
           facts["bound"] == "ulp<=1", out + err)
    same = facts.copy()
    status, facts, out, err = one("array", "--abi", "array")
    same["subject"] = facts.get("subject")
    expect("an array function gives the same figures", status == 0 and facts == same, out + err)
    for symbol, flags, reason, word in (
            ("crash", [], "crash(SIGSEGV)", "0x1.666666p-1"), ("leave", [], "exited", "0x1.666666p-1"),
            ("hang", ["--timeout", "1"], "timeout", "0x1.666666p-1"), ("past", ["--abi", "array"], "crash(SIGSEGV)", ".."),
            ("fickle", ["--bound", "ulp<=4"], "not-deterministic", "again"), ("rounding", ["--abi", "array"], "environment", "changed")):
        status, facts, out, err = one(symbol, *flags)
        expect(f"{symbol} is refuted with a reason", status == 1 and facts.get("reason") == reason and word in err, out + err)
    for symbol, ends in (("tail", ["0.69", "0.71"]), ("tail", ["0.5", "0x1.fffffep-1"]), ("shy", ["0.5", "0x1.01p0"])):
        status, facts, out, err = sweep("exp", "--library", f"./lib.so:{symbol}", "--abi", "array", "--quiet",
                                        "--from", ends[0], "--to", ends[1])
        expect(f"{symbol} is refuted: results depend on the number of inputs", status == 1 and
               facts.get("reason") == "not-deterministic" and "in one with" in err, out + err)
    status, facts, out, err = sweep("exp", "--library", "./lib.so:capped", "--from", "709.5", "--to", "710.5",
                                    "--bound", "abs<=1")
    expect("a finite error beyond all doubles is not called infinite", status == 1 and facts["abs"].startswith(">=1.79") and
           float.fromhex(facts["at"]) == 710.5 and "largest abs: >=1.79" in out, out + err)
    status, facts, out, err = one("lazy", "--abi", "array")
    expect("what is not written is refuted", status == 1 and facts["ulp"] == "inf", out + err)
    status, facts, out, err = one("chatty")
    expect("what a function prints answers nothing", status == 0, out + err)
    status, facts, out, err = sweep("sin", "--library", "libm:sinf", "--from", "3", "--to", "3.2", "--quiet")
    expect("libm by name", status == 0 and facts["subject"] == "libm:sinf", out + err)
    status, facts, out, err = sweep("sin", "--library", "libmvec:sinf", "--from", "3", "--to", "3.2", "--quiet", "--bound", "ulp<=4")
    expect("libmvec by name, with the variant that was called", status == 0 and "_ZGV" in facts["subject"], out + err)
    status, facts, out, err = sweep("sin", "--library", "libmvec:_ZGVbN4v_sinf", "--from", "3", "--to", "3.2", "--quiet", "--bound", "ulp<=4")
    expect("... and one variant", status == 0, out + err)
    ledger = path("library.ledger")
    one("good", "--resume", ledger)
    with open(path("lib.c"), "a") as f:
        f.write("float more(float x) { return x; }\n")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", path("lib.so"), path("lib.c"), "-lm"], check=True)
    status, facts, out, err = one("good", "--resume", ledger)
    expect("the ledger of another build of a library exits 2", status == 2 and "sha256=" in err, err)
    for arguments, word in ((["./lib.so:none"], "none"), (["./none.so:f"], "none.so"), (["lib.so"], "FILE:SYMBOL"),
                            (["./lib.so:good", "--abi", "c"], "--abi")):
        status, _, out, err = sweep("exp", "--library", *arguments)
        expect(f"--library {' '.join(arguments)} exits 2", status == 2 and word in err, err)


def own():
    """The suite's own functions keep what they promise on a part of their range."""
    parts = {"exp": ("0x1p-3", "0x1p-1"), "tanh": ("0.25", "1"), "log": ("0.5", "2"), "gaussian": ("0.5", "2"),
             "epanechnikov": ("0.25", "1.5"), "biweight": ("0.25", "1.5"), "triweight": ("0.25", "1.5")}
    for name in parts:
        start, end = parts[name]
        status, facts, out, err = sweep(name, f"--from={start}", "--to", "0x1.02p+0" if float.fromhex(end) > 1.1 else end, "--quiet")
        expect(f"the suite's {name}", status == 0, out + err)
    for degree in range(9):
        status, facts, out, err = sweep(f"taylor{degree}", "--from", "-1.62", "--to", "-1.59", "--quiet")
        expect(f"the suite's Taylor weights of degree {degree}", status == 0 and facts["wrong-sign"] in ("0", "1"), out + err)
    near_overflow = ("taylor6", "--from=-0x1.e2cf4p+22", "--to=-0x1.e2cf0p+22", "--quiet")  # (x^6/720 is FLT_MAX to a unit)
    status, facts, out, err = sweep(*near_overflow)
    expect("Taylor weights that may overflow to a unit are outside", status == 0 and facts["outside"] == "33" and
           "at" not in facts, out + err)
    status, facts, out, err = sweep("rope-cos", "--from", "0", "--to", "65535", "--pair", "9", "--quiet")
    expect("the suite's phases at 65,536 positions", status == 0 and facts["pair"] == "9" and
           int(facts["elements"]) - int(facts["outside"]) == 65536, out + err)
    for base in ("500", "1e20", "1/7"):
        status, facts, out, err = sweep("rope-sin", "--rope-base", base, "--pair", "16", "--from", "1", "--to", "1", "--quiet")
        theta = float(Fraction(base)) ** -0.25
        expect(f"the phase at base {base} is that base's", status == 0 and facts["rope-base"] == str(Fraction(base)) and
               abs(float.fromhex(facts["got"]) / math.sin(theta) - 1) < 1e-6, out + err)
    status, _, out, err = sweep("--help")
    expect("the help lists the functions", status == 0 and all(f"\n  {n}" in out for n in (*parts, "rope-cos", "taylor8", "sqrt")), out)


def same_everywhere():
    whole = document("exp", "--from", "0x1p-1", "--to", "0.52")
    for isa in ("baseline", "avx2"):
        os.environ["ATTEST_ISA"] = isa
        expect(f"the same on {isa}, one thread", document("exp", "--from", "0x1p-1", "--to", "0.52", "--threads", "1") == whole)
    del os.environ["ATTEST_ISA"]


def errors():
    for arguments, word in ((["nope"], "nope"), ([], "few"), (["exp", "--from", "x"], "--from"),
                            (["exp", "--from", "2", "--to", "1"], "no float32"), (["exp", "--shard", "3/2"], "--shard"),
                            (["exp", "--shard", "0/2"], "--shard"), (["exp", "--bound", "backward<=3"], "ulp, abs and rel"),
                            (["exp", "--merge", "/nonexistent"], "/nonexistent"), (["exp", "--resume", "/nonexistent/l"], "/nonexistent/l"),
                            (["exp", "--timeout", "9"], "--library"), (["exp", "--memory", "1G"], "--library"), (["erf"], "erf"), (["sqrt"], "--library"),
                            (["rope-cos", "--rope-base", "1e300", "--pair", "63"], "nearer to 1"),
                            (["rope-sin", "--rope-base", "1e-300", "--pair", "63"], "nearer to 1"), (["exp", "--resume", ""], "--resume"),
                            (["exp", "--bound", "ulp<=x"], "rel<=X"), (["exp", "--bound", "ulp<=-1"], "rel<=X")):
        status, _, out, err = sweep(*arguments)
        expect(f"sweep {' '.join(arguments)} exits 2", status == 2 and word in err and not out, out + err)
    start = time.monotonic()
    status, facts, out, err = sweep("log", "--from", "1/1000000000000", "--to", "1000001/1000000000000000000", "--quiet")
    expect("ends of a range as ratios", status == 0 and float.fromhex(facts["from"]) >= 1e-12 and
           float.fromhex(facts["to"]) <= 1.000001e-12 and int(facts["elements"]) in (9, 10), out + err)
    expect("... take no time", time.monotonic() - start < 30)


verdicts()
libraries()
killed()
ledgers()
own()
same_everywhere()
errors()
done()
