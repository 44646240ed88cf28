#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""claims.py ATTEST: verdicts, exit statuses, JSON and messages of attest claims; the claims of data/claims."""
import json
import os
import re
import time

from attest_command import done, expect, folder, path, run

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DATA = os.path.join(TOP, "data")


def write(name, text):
    open(path(name), "w").write(text)
    return path(name)


def claims(*arguments, **settings):
    """Runs attest claims with --json: (exit status, array or None, output, errors)."""
    file = path("claims.json")
    if os.path.exists(file):
        os.remove(file)
    status, out, err = run("claims", *arguments, "--json", file, **settings)
    return status, json.load(open(file)) if os.path.exists(file) else None, out, err


# ---- the project's own files ----
start = time.monotonic()
status, array, out, err = claims("--data", DATA)
print(f"# {time.monotonic() - start:.1f} s")
expect("all claims are as expected", status == 0 and "expected=" not in out, out + err)
expect("every claim has one verdict line and one object", len(array) == len(out.splitlines()) == len({c["id"] for c in array}) and len(array) > 40, len(array))
expect("objects have the promised fields", all({"id", "verdict", "expected", "printed", "enclosure", "note", "statement", "source"} <= set(c) for c in array), array[0])
expect("enclosures have two ends", all(c["enclosure"] is None or set(c["enclosure"]) == {"lo", "hi"} for c in array))
by_id = {c["id"]: c for c in array}
expect("a number", by_id["S1-08-64"]["verdict"] == "holds" and by_id["S1-08-64"]["printed"] == "6.9" and by_id["S1-08-64"]["enclosure"]["lo"].startswith("6.8740078740118"), by_id["S1-08-64"])
expect("a list", by_id["S1-05"]["printed"] == "0.5, 0.27, 0.15" and by_id["S1-05"]["enclosure"]["lo"][0] == "0.5", by_id["S1-05"])
expect("no paper's claim is missing", all(f"S0-{n:02}" in by_id for n in range(1, 23)) and
       all(f"S1-{n:02}" in by_id or f"S1-{n:02}-64" in by_id for n in range(1, 21)) and
       all(f"S3-{n:02}" in by_id for n in range(1, 23)))
needing = [c for c in array if c["verdict"] == "needs-hypothesis"]
expect("what needs a hypothesis names it and a corrected form that holds", needing and all("hypothesis: " in c["note"] and "corrected form holds" in c["note"] for c in needing), [c["id"] for c in needing])
expect("every corrected form holds", not any(re.search("corrected form (?!holds)", c["note"] or "") for c in array))

# ---- one of them with another last digit ----
text = open(os.path.join(DATA, "claims", "posfloor.yaml")).read()
flipped = write("flipped.yaml", text.replace("printed: 14.9", "printed: 14.8"))
status, array, out, err = claims(flipped, "--quiet")
expect("another last digit is refuted: exit 1", status == 1 and out.startswith("REFUTED claim=S1-08-256 printed=14.8 value=14.93737") and out.count("\n") == 1 and "expected=holds" in out, (status, out, err))
expect("--json is written for exit 1", array is not None and {c["id"]: c["verdict"] for c in array}["S1-08-256"] == "refuted")

# ---- exit statuses ----
CLAIM = "claims:\n- id: a\n  statement: s\n"
for name, body, wanted, word in [
    ("holds", "  predicate: 1 = 1\n", 0, "HOLDS"), ("an expected refutation", "  predicate: 1 = 2\n  expect: refuted\n", 0, "REFUTED"),
    ("an unexpected holds", "  predicate: 1 = 1\n  expect: refuted\n", 1, "HOLDS"), ("undecided", "  predicate: exp(log(2)) = 2\n", 3, "UNDECIDED"),
    ("expected undecided", "  predicate: exp(log(2)) = 2\n  expect: undecided\n", 0, "UNDECIDED"), ("not checkable", "  reason: wording\n  expect: not-checkable\n", 0, "NOT-CHECKABLE"),
]:
    status, array, out, err = claims(write("one.yaml", CLAIM + body))
    expect(f"{name}: exit {wanted}", status == wanted and out.startswith(f"{word} claim=a") and array[0]["id"] == "a", (status, out, err))
status, array, out, err = claims(write("two.yaml", CLAIM + "  predicate: 1/0 = 1\n- id: b\n  statement: s\n  predicate: 1 = 1\n"))
expect("trouble exits 2, names the line, and the rest is decided", status == 2 and array is None and "two.yaml:4: " in err and "claim=b" in out, (status, out, err))
status, array, out, err = claims(write("bad.yaml", CLAIM + "  preddicate: 1 = 1\n"))
expect("an unknown key exits 2 with its line", status == 2 and array is None and "bad.yaml:4: unknown key preddicate" in err and not out, (status, out, err))
status, array, out, err = claims(path("none.yaml"))
expect("a missing file exits 2", status == 2 and "none.yaml" in err, err)
status, out, err = run("claims", path("one.yaml"), "--json", path("nowhere") + "/x.json")
expect("a report that cannot be written exits 2 before the work", status == 2 and not out and err, (status, out, err))
status, out, err = run("claims", flipped, "--explain")
expect("--explain says what was found", "  claim: " in out and "  found: counterexample verified" in out, out[:300])
status, out, err = run("claims", "--help")
expect("the help describes files", status == 0 and "predicate:" in out and "printed:" in out, out)
status, out, err = run("claims", "--data", folder.name)
expect("a folder without claims exits 2", status == 2 and err, (status, out, err))
done()
