#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest certify --builtin: every case certified, the report complete, the data found."""
import json
import os
import pty
import re
import signal
import subprocess

import builtin_statements
from attest_command import ATTEST, done, expect, path, run

DATA = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "data"))
CASES = ["stories260k/layer%d" % i for i in range(5)]
FORMS = ("fft", "fft-causal", "fft-recomputed", "blocked", "polynomial-fft", "polynomial-blocked", "polynomial-sums", "low-rank")
SUBJECTS = ("softmax.float32", "softmax.float64")

# One run for all that follows; $ATTEST_DATA is found.
status, out, err = run("certify", "--builtin", "--json", path("c.json"), "--junit", path("c.xml"), timeout=1200,
                       env={**os.environ, "ATTEST_DATA": DATA})
lines = [x for x in out.splitlines() if " statement=" not in x]
expect("everything is certified", status == 0 and lines and all(x.startswith("CERTIFIED ") for x in lines), out + err)
expect("out and lse of both kernels on every layer",
       all(any(f"case={c} subject={s} output={o} " in x for x in lines) for c in CASES for s in SUBJECTS for o in ("out", "lse")), out)
SELECTING = ("topk-softmax", "topk-uniform", "uniform")  # they jump: no a-priori bound
expanded = [x for x in lines if any(f"/{n} " in x for n in FORMS)]
expect("the fast forms of Toeplitz and rotary attention, both kernels, rows computed directly counted",
       len(expanded) == 2 * len(FORMS) + 6 and all("low-rank" in x or re.search(r" recomputed-rows=\d+ ", x) for x in expanded), expanded)
expect("... what later tokens may leak where one transform does all, nothing where blocks do",
       all((" leak=" in x) == ("fft" in x and "rope-linear" not in x and "/fft subject=toeplitz" not in x) for x in expanded), expanded)
expect("... some rows are computed directly", any(int(x) > 0 for x in re.findall(r"recomputed-rows=(\d+)", out)))
expect("bounds backward and theory, where a kernel is continuous",
       all("bound=backward<=16;theory" in x or (x in expanded and " bound=theory " in x) or
           (any(f"kernel={k} " in x for k in SELECTING) and "bound=backward<=16 " in x) for x in lines), out)
SPARSE = ("gaussian", "epanechnikov", "biweight", "triweight", "sparsemax", "entmax", "normrelu", "relumax") + SELECTING
expect("every sparse kernel on rows of the model, both kernels",
       all(any(f"kernel={k} case=stories260k/" in x and f" subject={k}.{t} output=out elements=32768 " in x for x in lines)
           for k in SPARSE for t in ("float32", "float64")), out)
expect("all heads and rows of the model", all("elements=32768 " in x for x in lines if "layer" in x and "output=out" in x), out)
document = json.load(open(path("c.json")))
expect("one entry an output in the certificate",
       sum(len(c["outputs"]) for c in document["cases"]) == len(lines) == document["totals"]["outputs"])
expect("every form of Taylor attention on rows of the model, out and final state, both kernels",
       all(any(f"kernel=taylor case=stories260k/layer{c} subject={s} output={o} " in x for x in lines)
           for c in ("0/direct", "1/recurrent", "2/chunked", "3/unit-direct", "4/unit-recurrent", "0/unit-chunked")
           for s in ("taylor.float32", "taylor.float64") for o in ("out", "final-state")), out)
expect("odd degrees, vanishing sums, states, decay and every feature map",
       {"taylor/degree-3", "taylor/vanishing", "taylor/state", "taylor/decay", "linear/vanishing", "linear/relu", "linear/decay"} <=
       {c["kernel"] + "/" + c["case"].split("/")[1] for c in document["cases"]})
expect("a summary", "0 refuted, 0 undecided" in err, err)
expect("synthetic cases with every feature",
       {"window", "bias", "mask", "alibi", "softcap", "sinks", "packed", "ties", "huge", "denormal", "one-key"} <=
       {c["case"].split("/")[1] for c in document["cases"]})
builtin_statements.examine(document, out, open(path("c.xml")).read())
status, out, err = run("certify", "--builtin", "--data", path("nowhere"))
expect("missing data is trouble that names it", status == 2 and "nowhere" in err and not out, err)
for arguments in ([], ["--builtin", "x.yaml"], ["--builtin", "--bound", "abs<=1"], ["--builtin", "--time", "9s"],
                  ["--builtin", "--rows", "9"]):
    status, out, err = run("certify", *arguments)
    expect(f"certify {' '.join(arguments)} is refused", status == 2 and err and not out, err)

# Ctrl-C: what has been compared is reported, and it does not read as success.
terminal, other = pty.openpty()
p = subprocess.Popen([ATTEST, "certify", "--builtin", "--data", DATA, "--json", path("partial.json")],
                     stdout=subprocess.PIPE, stderr=other, text=True)
os.close(other)
shown = b""
while b"%" not in shown:
    shown += os.read(terminal, 4096)
p.send_signal(signal.SIGINT)
out, _ = p.communicate(timeout=120)
os.close(terminal)
out = [x for x in out.splitlines() if " statement=" not in x]
expect("Ctrl-C exits 3", p.returncode == 3 and len(out) < len(lines), p.returncode)
partial = json.load(open(path("partial.json")))
expect("... and leaves a report that says so", partial["totals"]["interrupted"] is True and
       sum(len(c["outputs"]) for c in partial["cases"]) == len(out), partial["totals"])
done()
