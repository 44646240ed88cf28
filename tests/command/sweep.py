#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest sweep: verdicts, ledgers, shards, messages."""
import json
import os
import signal
import subprocess
import time

from attest_command import ATTEST, done, expect, path, run

RANGE = ["--from", "0x1p-3", "--to", "8"]


def sweep(*arguments, **settings):
    """(exit status, facts of the verdict line, output, errors)"""
    status, out, err = run("sweep", *arguments, **settings)
    words = out.split("\n", 1)[0].split()
    return status, dict(w.split("=", 1) for w in words[1:]), out, err


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


def ledgers():
    whole = document("exp", *RANGE)
    ledger = path("ledger")
    for moment in (0.3, 0.9, 0.1):
        process = subprocess.Popen([ATTEST, "sweep", "exp", *RANGE, "--quiet", "--threads", "1", "--resume", ledger],
                                   stdout=subprocess.DEVNULL)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
    expect("killed and resumed, the certificate is the same", document("exp", *RANGE, "--resume", ledger) == whole)
    expect("... and again from the full ledger", document("exp", *RANGE, "--resume", ledger) == whole)
    status, _, out, err = sweep("exp", "--from", "0x1p-3", "--to", "9", "--resume", ledger)
    expect("the ledger of another range exits 2 and is named", status == 2 and ledger in err and "to=" in err, err)
    status, _, out, err = sweep("tanh", *RANGE, "--resume", ledger)
    expect("the ledger of another function exits 2", status == 2 and "function=" in err, err)
    shards = [path(f"shard{i}") for i in (1, 2, 3)]
    for i, file in enumerate(shards):
        status, facts, out, err = sweep("exp", *RANGE, "--shard", f"{i + 1}/3", "--resume", file)
        expect(f"shard {i + 1} says that it is one", status == 0 and facts["scope"] == f"shard({i + 1}/3)", out + err)
    merged = document("exp", *RANGE, *(a for f in reversed(shards) for a in ("--merge", f)))
    expect("shards merge to the same certificate, byte for byte", merged == whole, merged[3])
    status, _, out, err = sweep("exp", *RANGE, "--merge", shards[0], "--merge", shards[1])
    expect("a shard that is missing exits 2", status == 2 and "lack" in err, err)


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
                            (["erf"], "erf"), (["sqrt"], "--library")):
        status, _, out, err = sweep(*arguments)
        expect(f"sweep {' '.join(arguments)} exits 2", status == 2 and word in err and not out, out + err)


verdicts()
ledgers()
same_everywhere()
errors()
done()
