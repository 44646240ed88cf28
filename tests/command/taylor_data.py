#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The committed reference data of Taylor attention: its command makes it again, its digests hold, its values are those of NumPy."""
import hashlib
import json
import os
import subprocess

import numpy as np

from attest_command import ATTEST, done, expect, path, run

DATA = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "data", "reference"))
BUNDLE = os.path.join(DATA, "taylor-n256")


def load(folder, name):
    return np.load(os.path.join(folder, name + ".npy"))


sums = dict(reversed(line.split()) for line in open(os.path.join(BUNDLE, "SHA256SUMS")))
expect("digests hold", sums and all(hashlib.sha256(open(os.path.join(BUNDLE, f), "rb").read()).hexdigest() == s for f, s in sums.items()))
r = subprocess.run([os.path.join(DATA, "make.py"), ATTEST, "256", path("again")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
expect("the printed command makes it again", r.returncode == 0 and "20260256" in r.stdout and "attest reference taylor" in r.stdout, r.stderr)
same = all(open(os.path.join(BUNDLE, f), "rb").read() == open(os.path.join(path("again"), f), "rb").read() for f in ("q.npy", "k.npy", "v.npy", "out.npy"))
first, again = (json.load(open(os.path.join(folder, "reference.json"))) for folder in (BUNDLE, path("again")))
expect("... with the same bytes and digits", same and first["output"] == again["output"] and first["params"] == again["params"])
q, k, v, out = (load(BUNDLE, n) for n in ("q", "k", "v", "out"))
expect("in the setting of the paper", (q.shape, k.shape, v.shape) == ((256, 16), (256, 16), (256, 64)) and
       np.allclose((q.astype(float) ** 2).sum(1), 1, atol=1e-6) and np.allclose((k.astype(float) ** 2).sum(1), 1, atol=1e-6))
s = q.astype(float) @ k.astype(float).T / 2
w = np.tril(1 + s + s * s / 2)
exact = w @ v.astype(float) / w.sum(1, keepdims=True)
expect("values are those of NumPy", np.abs(exact - np.array(first["output"]["mid"], float).reshape(exact.shape)).max() < 1e-14 and
       np.array_equal(out, exact.astype("f4")) or np.abs(out - exact).max() < 1e-6)
files = ["--q", os.path.join(BUNDLE, "q.npy"), "--k", os.path.join(BUNDLE, "k.npy"), "--v", os.path.join(BUNDLE, "v.npy"), "--out", os.path.join(BUNDLE, "out.npy")]
status, text, err = run("check", "taylor", *files, "--degree", 2, "--scale", "1/2", "--causal", "top-left", "--bound", "ulp<=0.5")
expect("out.npy is correctly rounded", status == 0, text + err)
done()
