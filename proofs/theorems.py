#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The theorems of proofs/, as their comments name them.

  theorems.py audit DIR    a Coq file whose last command prints the axioms behind all theorems;
                           fails where a file DIR/*/*.v (a copy, or generated) holds an admitted
                           proof, an axiom or a check that is switched off
  theorems.py axioms FILE  fails unless FILE, its output, names axioms of proofs/axioms only
  theorems.py table        theorem, statement, file, and what in C relies on it
  theorems.py names        the names, one a line
  theorems.py files        the files of src/ that theorems speak of or are generated from, one a line

Every `Theorem` is preceded by a comment of this form, and nothing else is called Theorem:

  (** theorem: NAME — STATEMENT. used by: src/ROOM/FILE.c, src/..; claim ID *)
  Theorem NAME ...

`used by: nothing` where no line of C relies on it."""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|give_up|bypass_check|native_compute)\b"
    r"|\b(Unset|Set)\s+(Guard|Positivity|Universe)\s+Checking|\bTypeInType\b|^\s*Declare Module\b", re.M)
THEOREM = re.compile(r"\(\*\* theorem: (\w+) — (.*?) used by: (.*?) ?\*\)\s*(?:#\[[^]]*\]\s*)?Theorem (\w+)", re.S)


def fail(message):
    sys.exit(f"proofs: {message}")


def without_comments(text):
    """The text with comments (which nest) blanked out."""
    out, depth, i = [], 0, 0
    while i < len(text):
        if text.startswith("(*", i):
            depth, i = depth + 1, i + 2
        elif depth and text.startswith("*)", i):
            depth, i = depth - 1, i + 2
        else:
            out.append(text[i] if not depth or text[i] == "\n" else " ")
            i += 1
    return "".join(out)


def outside_sections(code, path):
    """Variable and Hypothesis are section-local assumptions inside a Section, axioms outside."""
    depth = 0
    for line in code.splitlines():
        if re.match(r"\s*Section\s", line):
            depth += 1
        elif depth and re.match(r"\s*End\s", line):
            depth -= 1
        elif not depth and re.match(r"\s*(Variables?|Hypothes[ie]s|Context)\b", line):
            fail(f"{path}: an assumption outside of a section: {line.strip()}")


def refuse_assumptions(folder):
    for path in sorted(pathlib.Path(folder).glob("*/*.v")):
        code = without_comments(path.read_text())
        bad = FORBIDDEN.search(code)
        if bad:
            fail(f"{path}:{code.count(chr(10), 0, bad.start()) + 1}: {bad.group(0).strip()} is not allowed")
        outside_sections(code, path)


def theorems():
    """(name, statement, used by, path) of all theorems, in the order of the files."""
    found = []
    for path in sorted(root.glob("*/*.v")):
        text = path.read_text()
        name = path.relative_to(root.parent)
        code = without_comments(text)
        documented = []
        for named, statement, used, stated in THEOREM.findall(text):
            if named != stated:
                fail(f"{name}: the comment names {named}, the theorem {stated}")
            documented.append(stated)
            found.append((named, " ".join(statement.split()), " ".join(used.split()), name))
        stated = re.findall(r"^\s*(?:#\[[^]]*\]\s*)?Theorem (\w+)", code, re.M)
        if stated != documented:
            fail(f"{name}: theorems without a comment of their own: {sorted(set(stated) ^ set(documented))}")
    names = [t[0] for t in found]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        fail(f"two theorems of one name: {sorted(twice)}")
    for named, _, used, path in found:
        for file in re.findall(r"\b(?:src|tests)/[\w/.]+\w", used):
            if not (root.parent / file).exists():
                fail(f"{path}: {named}: no file {file}")
    return found


def files_of_c():
    texts = [t[2] for t in theorems()]
    texts += [path.read_text() for pattern in ("*/*.gen", "*/*.c") for path in root.glob(pattern)]
    return sorted({file for text in texts for file in re.findall(r"\bsrc/[\w/.]+\w", text)})


def audit(folder):
    """One term that mentions every theorem: Print Assumptions once instead of once a theorem."""
    refuse_assumptions(folder)
    found = theorems()
    for path in sorted({t[3] for t in found}):
        print(f"From Attest Require {path.parent.name}.{path.stem}.")
    print("Definition audited : unit :=")
    for named, _, _, path in found:
        print(f"  let _ := @Attest.{path.parent.name}.{path.stem}.{named} in")
    print("  tt.\nPrint Assumptions audited.")


def axioms(output):
    allowed = set((root / "axioms").read_text().split())
    used = set()
    for line in pathlib.Path(output).read_text().splitlines():
        if not line or line[0] == " " or line in ("Axioms:", "Closed under the global context"):
            continue
        match = re.match(r"([A-Za-z_][\w.']*)( :.*)?$", line)
        used.add(match.group(1) if match else line)
    if used - allowed:
        fail(f"axioms that proofs/axioms does not list: {', '.join(sorted(used - allowed))}")
    print(f"proofs: {len(theorems())} theorems rest on {len(used)} axioms: {', '.join(sorted(used))}")


def table():
    rows = [(n, s, str(p), u) for n, s, u, p in theorems()]
    widths = (34, 58, 30, 44)
    head = ("theorem", "statement", "file", "what in C relies on it")
    for row in [head, tuple("-" * w for w in widths)] + rows:
        cells = [textwrap.wrap(c, w, break_on_hyphens=False) or [""] for c, w in zip(row, widths)]
        for i in range(max(map(len, cells))):
            print("  ".join((c[i] if i < len(c) else "").ljust(w) for c, w in zip(cells, widths)).rstrip())
    print(f"{len(rows)} theorems")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["audit", folder]:
            audit(folder)
        case ["axioms", output]:
            axioms(output)
        case ["table"]:
            table()
        case ["names"]:
            print("\n".join(t[0] for t in theorems()))
        case ["files"]:
            print("\n".join(files_of_c()))
        case _:
            sys.exit(__doc__)
