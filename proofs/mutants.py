#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the proofs are worth as a guard of the C code: each change below must break them.

  mutants.py OUT [all]     OUT: the folder of compiled proofs; all: more than the first three

Every mutant is built in a copy of proofs/, src/ and OUT, in which only what depends on it is compiled
again. The last column is the file whose proof fails."""
import concurrent.futures
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MUTANTS = [
    ("a coefficient of exp32", "src/enclosure/exp_constants.h",
     "#define EXP32_C5 0x1.12397ep-7f", "#define EXP32_C5 0x1.12497ep-7f", "enclosure/exp_method"),
    ("the fused operation of Taylor weights as a product and a sum", "src/taylor/rows_impl.h",
     "h = OP(fma)(h, s, OP(set1)(c[m]));", "h = h * s + OP(set1)(c[m]);", "taylor/weight"),
    ("the fused operation itself as a product and a sum", "src/tensor/isa.h",
     "c[i] = fmaf(a[i], b[i], c[i]);", "c[i] = a[i] * b[i] + c[i];", "enclosure/exp_vectors32"),
    ("the low part of ln 2 of exp64", "src/enclosure/exp_constants.h",
     "-0x1.718432a1b0e26p-35", "-0x1.718432a1b0e36p-35", "enclosure/exp_method"),
    ("a coefficient of log64", "src/enclosure/log_constants.h",
     "#define LOG64_C3 0x1.5555555555555p-2", "#define LOG64_C3 0x1.5555555565555p-2", "enclosure/log_method"),
    ("a fused operation of log64 as a product and a sum", "src/enclosure/log_isa.h",
     "s = vd_fma(s, z2, vd_set1(LOG64_C3));", "s = s * z2 + vd_set1(LOG64_C3);", "enclosure/log_float"),
    ("the largest exponent of powers", "src/sparse/power_isa.h",
     "return vd_exp(vd_select(x < most, x, most));", "return vd_exp(x);", "sparse/power_float"),
    ("a coefficient of the lean exponential in float32", "src/sparse/power_isa.h",
     "0x1.62e2d2p-1f", "0x1.62f2d2p-1f", "sparse/lean_method"),
    ("a fused operation of the lean polynomials as a product and a sum", "src/sparse/power_isa.h",
     "p[i] = v##_fma(p[i], t[i], v##_set1(c[k]));", "p[i] = p[i] * t[i] + v##_set1(c[k]);", "sparse/lean_method"),
    ("an inverse factorial of the Taylor polynomials of sweeps", "src/certify/sweep_enclose_isa.c",
     "0x1.a01a01a01a01ap-16}", "0x1.a01a01a01a01bp-16}", "certify/sweep_polynomials"),
    ("a fused operation of the profiles of sweeps as a product and a difference", "src/certify/sweep_enclose_isa.c",
     "e2 = vd_abs(vd_fma(t, t, -p))", "e2 = vd_abs(t * t - p)", "certify/sweep_polynomials"),
    ("a claimed error that is too small", "src/enclosure/exp_constants.h",
     "#define EXP32_ERROR 1.5 ", "#define EXP32_ERROR 1.25 ", "enclosure/exp_float"),
    ("a fused operation of exp64 as a product and a sum", "src/enclosure/exp_isa.h",
     "p = vd_fma(p, r, vd_set1(EXP64_C2));", "p = p * r + vd_set1(EXP64_C2);", "enclosure/exp_error"),
    ("tanh with a product that is not fused", "src/enclosure/exp_isa.h",
     "v e = v##_fma(power, v##_exp_tail(r) * r, power - v##_set1(1));",
     "v e = power * (v##_exp_tail(r) * r) + (power - v##_set1(1));", "enclosure/tanh_float"),
]


def survives(mutant):
    """What there is to complain about; nothing when the mutant breaks the proof that it should."""
    what, file, old, new, target = mutant
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for part in ("proofs", "src", OUT):
            shutil.copytree(ROOT / part, tree / part, symlinks=True)
        path = tree / file
        text = path.read_text()
        if text.count(old) != 1:
            return f"mutant \"{what}\" does not apply to {file}"
        path.write_text(text.replace(old, new))
        for vectors in (tree / "proofs").glob("*/*vectors*.v.gen"):  # others would compile the C anew
            if vectors.name != f"{pathlib.Path(target).name}.v.gen":
                printed = tree / OUT / vectors.parent.name / vectors.stem
                vectors.write_text(f"#!/bin/sh\nexec cat {shlex.quote(str(printed))}\n")
        run = subprocess.run(["make", "-s", "-f", "proofs/Makefile", f"OUT={OUT}", f"{OUT}/{target}.vo"],
                             cwd=tree, capture_output=True, text=True)
    said = run.stdout + run.stderr
    if run.returncode == 0:
        return f"{what} ({file}) goes unnoticed"
    if f"{target}.v\", line" not in said and "vectors.py" not in said:
        return f"{what} ({file}) fails elsewhere than in {target}:\n{said}"
    return None


if __name__ == "__main__":
    OUT = sys.argv[1]
    chosen = MUTANTS if sys.argv[2:] == ["all"] else MUTANTS[:3]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = list(pool.map(survives, chosen))
    for mutant, complaint in zip(chosen, complaints):
        print(f"proofs: {complaint}" if complaint else f"proofs: broken, as they should be, by {mutant[0]}")
    sys.exit(1 if any(complaints) else 0)
