# SPDX-License-Identifier: LGPL-3.0-or-later
"""Inputs and outputs of compiled kernels as Coq lemmas: the model gives the same bits.

A program is compiled for every instruction set of the build; all that this machine runs must print
the same, and that is what the model has to give."""
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ISAS = {"baseline": ("", ""), "avx2": ("-mavx2 -mfma -mf16c", "avx2 fma f16c"),
        "avx512": ("-mavx2 -mfma -mf16c -mavx512f -mavx512vl -mavx512dq -mavx512bw"
                   " -mprefer-vector-width=512", "avx2 fma f16c avx512f avx512vl avx512dq avx512bw")}


def runs_here(features):
    if not features:
        return True
    if platform.machine() != "x86_64":
        return False
    flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    return set(features.split()) <= flags


def printed(program, folder, more=()):
    """What the program prints, by instruction set."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    out = {}
    for isa, (flags, features) in ISAS.items():
        if not runs_here(features):
            continue
        binary = pathlib.Path(folder) / isa
        subprocess.run([*compiler, "-std=c11", "-O3", "-D_GNU_SOURCE", "-ffp-contract=off", "-fno-math-errno",
                        *flags.split(), f"-DATTEST_ISA={isa}", str(ROOT / program), "-o", str(binary), "-lm",
                        *more], check=True)
        out[isa] = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return out


def lemmas(program, models, requires, flags=(), least=1000):
    """For every (name, run, model): a lemma that run model gives the printed outputs of `name`, at
    `least` many."""
    with tempfile.TemporaryDirectory() as folder:
        out = printed(program, folder, flags)
    text = out["baseline"]
    for isa, other in out.items():
        if other != text:
            sys.exit(f"vectors.py: {program} prints other bits with {isa} than with baseline")
    print(f"(* From {program}, compiled for: {', '.join(out)}. coqchk: no (computation in bulk). *)")
    print("From Coq Require Import ZArith List.\nImport ListNotations.")
    print(f"From Attest Require Import {' '.join(requires)}.\nOpen Scope Z_scope.")
    for name, run, model in models:
        pairs = [line.split()[1:] for line in text.splitlines() if line.split()[0] == name]
        if len(pairs) < least:
            sys.exit(f"vectors.py: {len(pairs)} vectors of {name}")
        inside = ";\n".join(f"({x}, {y})" for x, y in pairs)
        print(f"Lemma {name}_same_bits : forallb (fun v => {run} ({model}) (fst v) =? snd v) [\n{inside}] = true.\n"
              "Proof. vm_cast_no_check (eq_refl true). Qed.")
