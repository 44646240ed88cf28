#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The list of theorems: what the sources may hold, what the axioms may be. Needs no Coq."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
failed = 0


def report(good, name, detail=""):
    global failed
    failed += not good
    print("ok" if good else "FAIL", name, "" if good else detail)


def theorems(folder, *arguments):
    return subprocess.run([folder / "proofs/theorems.py", *arguments], capture_output=True, text=True, timeout=60)


GOOD = """(** theorem: sample_truth — what is true. used by: src/main.c *)
Theorem sample_truth : True.
Proof. exact I. Qed.
"""
REFUSED = {
    "an admitted proof": GOOD.replace("Qed", "Admitted"),
    "an admitted step": GOOD.replace("exact I", "admit"),
    "an axiom": "Axiom free : False.\n" + GOOD,
    "a parameter": "Parameter free : False.\n" + GOOD,
    "an assumption outside of a section": "Variable free : False.\n" + GOOD,
    "a termination check that is switched off": "Unset Guard Checking.\n" + GOOD,
    "a theorem without a comment": GOOD + "Theorem another : True.\nProof. exact I. Qed.\n",
    "a comment that names another theorem": GOOD.replace("theorem: sample", "theorem: simple"),
    "a file of C that is not there": GOOD.replace("src/main.c", "src/nothing.c"),
    "a name that is taken": GOOD + GOOD,
}
ACCEPTED = {
    "a theorem with its comment": GOOD,
    "such words inside of comments": "(* no Axiom, (* nothing *) Admitted *)\n" + GOOD,
    "an assumption inside of a section": "Section S.\nVariable n : nat.\nEnd S.\n" + GOOD,
}

names = theorems(root, "names")
report(names.returncode == 0 and len(names.stdout.split()) > 50, "the proofs of the project pass", names.stderr)

watched = set(theorems(root, "files").stdout.split())
report({"src/softmax/enclose.c", "src/softmax/pass.h", "src/taylor/rows_impl.h"} <= watched and
       all((root / file).exists() for file in watched), "the files that CI watches", watched)

# The texts name theorems that there are.
stated = set(names.stdout.split())
formulas = (root / "README.md").read_text().split("## The formulas")[1].split("\n## ")[0]
named = {n for group in re.findall(r"\[(`[^]]*)\]", formulas) for n in re.findall(r"`(\w+)`", group)}
report(len(named) > 20 and named <= stated, "the formulas of README.md name theorems", named - stated)
page = (root / "proofs/README.md").read_text().split("## From C to theorems")[1].split("## What is not")[0]
mapped = set(re.findall(r"`(\w+_\w+|chunks|merges|decomposition|relumax)`", page.replace("softmax_radius", "")))
report(len(mapped) > 50 and mapped <= stated, "proofs/README.md names theorems", mapped - stated)
with tempfile.TemporaryDirectory() as scratch:
    copy = pathlib.Path(scratch)
    (copy / "proofs/room").mkdir(parents=True)
    (copy / "src").mkdir()
    (copy / "src/main.c").touch()
    for file in ("theorems.py", "axioms"):
        shutil.copy(root / "proofs" / file, copy / "proofs" / file)
    for texts, wanted in ((REFUSED, False), (ACCEPTED, True)):
        for name, text in texts.items():
            (copy / "proofs/room/sample.v").write_text(text)
            result = theorems(copy, "audit", copy / "proofs")
            named = "let _ := @Attest.room.sample.sample_truth in" in result.stdout
            report((result.returncode == 0 and named) == wanted,
                   f"{name} is {'accepted' if wanted else 'refused'}", result.stdout + result.stderr)
    (copy / "proofs/room/sample.v").write_text(GOOD)
    for output, wanted in (("Closed under the global context\n", True),
                           ("Axioms:\nClassical_Prop.classic : forall P : Prop, P \\/ ~ P\n", True),
                           ("Axioms:\nClassical_Prop.classic\n  : forall P : Prop,\n    P \\/ ~ P\nroom.free : False\n", False),
                           ("Axioms:\nroom.free\n  : False\n", False),
                           ("sample relies on definitional UIP.\n", False)):
        (copy / "out").write_text(output)
        result = theorems(copy, "axioms", copy / "out")
        report((result.returncode == 0) == wanted, f"axioms {' '.join(output.split())[:60]!r}", result.stderr)

sys.exit(failed > 0)
