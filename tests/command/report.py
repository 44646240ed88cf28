#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest report on two certificates, and what GitHub Actions is told."""
import json
import os

import numpy as np

from attest_command import SEED, done, expect, path, run, save

rng = np.random.default_rng(SEED)
Q, K, V = rng.standard_normal((3, 2, 9, 8)).astype("f4")
S = Q.astype(float) @ np.swapaxes(K, -1, -2) / np.sqrt(8)
P = np.exp(S)
OUT = (P @ V / P.sum(-1, keepdims=True)).astype("f4")
BASE = ["--q", save("q", Q), "--k", save("k", K), "--v", save("v", V)]


def certificate(name, out, *arguments, **settings):
    result = run("check", "softmax", *BASE, "--out", save(name, out), "--case", "layer|0", "--json", path(name + ".json"),
                 *arguments, **settings)
    return path(name + ".json"), result


def two():
    good, _ = certificate("good", OUT)
    noisy, _ = certificate("noisy", OUT * np.float32(1 + 2e-7))
    bad, _ = certificate("bad", OUT + np.float32(0.01))
    failed = path("failed.json")
    run("check", "softmax", *BASE, "--exec", "exit 3; :", "--case", "layer|0", "--json", failed)
    document = json.load(open(failed))
    document["cases"][0]["subject"] = "stored"
    json.dump(document, open(failed, "w"))
    empty = path("empty.json")
    json.dump({**json.load(open(good)), "cases": []}, open(empty, "w"))
    for old, new, flags, status, start, counts in (
            (good, good, [], 0, "same=1", "same=1 better=0 worse=0 missing=0 new=0"),
            (good, bad, [], 1, "WORSE ", "worse=1"), (bad, good, [], 0, "BETTER ", "better=1"),
            (good, empty, [], 1, "MISSING ", "missing=1"), (empty, good, [], 0, "NEW ", "new=1"),
            (good, failed, [], 1, "WORSE ", "worse=1"), (failed, good, [], 0, "BETTER ", "better=1"),
            (good, noisy, [], 0, "same=1", "same=1"), (good, noisy, ["--growth", "1.5"], 1, "WORSE ", "worse=1"),
            (good, noisy, ["--growth", "1000"], 0, "same=1", "same=1")):
        names = f"{os.path.basename(old)} {os.path.basename(new)} {' '.join(flags)}"
        code, out, err = run("report", old, new, *flags)
        expect(f"report {names}", code == 0 and out.startswith(start) and counts in out, out + err)
        code, out, err = run("report", old, new, "--fail-on-regression", *flags)
        expect(f"... --fail-on-regression exits {status}", code == status, out + err)
    # The same figure as in the verdict line, which is never less than the error.
    figures = {}
    for file, out in ((good, OUT), (bad, OUT + np.float32(0.01)), (noisy, OUT * np.float32(1 + 2e-7))):
        _, (_, line, _) = certificate(os.path.basename(file)[:-5], out)
        figures[file] = line.split(" backward=")[1].split()[0]
        high = json.load(open(file))["cases"][0]["outputs"][0]["error"]["backward"]["hi"]
        expect("a printed figure is not below the error", float(figures[file]) >= high, (figures[file], high))
    for old, new, flags in ((good, bad, []), (bad, good, []), (good, noisy, ["--growth", "1.5"])):
        _, out, _ = run("report", old, new, *flags)
        expect("figures are those of the verdict lines", f" backward={figures[old]}->{figures[new]}\n" in out, out)
    # The figure for which it matters: 3.8961 is 3.897 rounded up.
    document = json.load(open(bad))
    document["cases"][0]["outputs"][0]["error"]["backward"]["hi"] = 3.8961
    json.dump(document, open(path("figure.json"), "w"))
    _, out, _ = run("report", path("figure.json"), good)
    expect("figures are rounded up", " backward=3.897->" in out, out)
    _, out, _ = run("report", good, bad)
    expect("a line names the place and both verdicts",
           "case=layer|0 subject=stored output=out verdict=certified->refuted backward=" in out, out)


def errors():
    good = path("good.json")
    text = path("text.json")
    for content in ("", "{", "[]", "{}", '{"schema": "attest/2", "cases": []}', '{"schema": "attest/1", "cases": {}}', "\0\0",
                    '{"schema": "attest/1", "cases": 5}', "[" * 100000):
        open(text, "w").write(content)
        code, out, err = run("report", good, text)
        expect(f"{content[:20]!r} exits 2 and is named", code == 2 and "text.json" in err and not out, out + err)
    for content in ('{"schema": "attest/1", "cases": [1, null, {"outputs": [3, {}]}, {"outputs": {"a": 1}, "failure": 2}]}',):
        open(text, "w").write(content)
        code, out, err = run("report", good, text)
        expect("strange cases do no harm", code == 0 and "missing=1" in out, out + err)
    code, out, err = run("report", good, path("none.json"))
    expect("a file that is not there is named once, with the reason",
           code == 2 and err.count("none.json") == 1 and "No such file" in err and ":0:" not in err, err)
    open(text, "w").write('{"schema": "attest-sweep/1"}')
    code, out, err = run("report", good, text)
    expect("of another document the message says which verbs write certificates",
           code == 2 and "attest check" in err and "attest certify" in err, err)
    for flags in (["--growth", "0.5"], ["--growth", "x"], ["--growth", "inf"]):
        code, out, err = run("report", good, good, *flags)
        expect(f"{flags} exits 2", code == 2 and "--growth" in err, err)


def github():
    summary = path("summary.md")
    env = {**os.environ, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}
    _, (code, out, err) = certificate("bad", OUT + np.float32(0.01), env=env)
    note = [x for x in err.splitlines() if x.startswith("::error title=attest::REFUTED kernel=softmax ")]
    expect("a refutation is annotated", code == 1 and len(note) == 1, err)
    expect("... and standard output is the same", out.startswith("REFUTED ") and out.count("\n") == 1, out)
    text = open(summary).read()
    expect("... and in the summary", "0 certified, 1 refuted" in text and "| `refuted` | `layer 0` |" in text and text.count("| verdict | case | line |") == 1, text)
    _, (code, out, err) = certificate("good", OUT, env=env)
    expect("a certificate is not annotated", code == 0 and "::" not in err, err)
    expect("... but summed up, after what was there", open(summary).read().startswith(text) and
           "1 certified, 0 refuted" in open(summary).read() and open(summary).read().count("| verdict ") == 1, open(summary).read())
    _, (code, out, err) = certificate("odd", OUT, "--bound", "x%\n", env=env)
    expect("what would end a command is escaped", code == 2 and "::error title=attest::" in err and "%25" in err, err)


two()
errors()
github()
done()
