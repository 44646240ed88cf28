#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest check as a command: exit statuses, verdict lines, certificates, layouts, edge values, strict
options, interrupts, disks that are full."""
import glob
import json
import os
import pty
import re
import resource
import signal
import subprocess
import xml.etree.ElementTree

import numpy as np

from attest_command import ATTEST, SEED, check, done, expect, number, path, run, save

rng = np.random.default_rng(SEED)


def softmax(q, k, v, causal=False):
    """Heads first; float64 arithmetic, float32 result."""
    k, v = (np.repeat(a, q.shape[-3] // a.shape[-3], axis=-3).astype(float) for a in (k, v))
    s = q.astype(float) @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    top = s.max(-1, keepdims=True)
    w = np.exp(s - top)
    total = w.sum(-1, keepdims=True)
    return (w / total @ v).astype("f4"), (np.log(total) + top)[..., 0].astype("f4")


Q, K, V = (rng.standard_normal((2, 9, 8)).astype("f4") for _ in range(3))
OUT, LSE = softmax(Q, K, V)
BASE = ["--q", save("q", Q), "--k", save("k", K), "--v", save("v", V)]
GOOD, GOOD_LSE = save("good", OUT), save("lse", LSE)
WRONG = OUT.copy()
WRONG[1, 4, 3] += np.float32(0.01)
BAD = save("bad", WRONG)


def statuses():
    status, document, out, _ = check(*BASE, "--out", GOOD, "--lse", GOOD_LSE)
    expect("a correct output exits 0", status == 0, out)
    expect("one line an output, in order",
           [re.match(r"CERTIFIED .*output=(\w+)", x)[1] for x in out.splitlines()] == ["out", "lse"], out)
    status, document, out, err = check(*BASE, "--out", BAD)
    worst = document["cases"][0]["outputs"][0]["worst"]
    expect("a wrong element exits 1", status == 1, out)
    expect("... with its index", worst["index"] == [1, 4, 3], worst)
    expect("... what was returned", np.float32(worst["got"]) == WRONG[1, 4, 3] and
           float.fromhex(worst["got_hex"]) == WRONG[1, 4, 3], worst)
    expect("... the exact value between neighbours",
           worst["lo"] <= worst["hi"] and np.nextafter(worst["lo"], 9) >= worst["hi"] and
           abs(worst["lo"] - float(OUT[1, 4, 3])) < 1e-6, worst)
    expect("... in the line", "at=1,4,3 got=" in out and "exact=" in out and "bound=backward<=16" in out, out)
    expect("... and a command that repeats it", "replay: attest check softmax" in err, err)
    two = np.zeros((1, 2, 4), "f4")
    values = np.array([[[1.0], [0.0]]], "f4")
    inputs = ["--q", save("q2", two), "--k", save("k2", two), "--v", save("v2", values)]
    tie = save("tie", np.full((1, 2, 1), 0.25, "f4"))
    status, document, out, _ = check(*inputs, "--out", tie, "--bound", "abs<=1/4")
    expect("a tie is decided", status == 0 and document["cases"][0]["outputs"][0]["error"]["abs"]["hi"] == 0.25, out)
    status, _, out, _ = check(*inputs, "--out", tie, "--bound", "abs<=249999999999999999999999999/1000000000000000000000000000")
    expect("a bound just below is refuted", status == 1, out)
    # Thirds make nmse exactly 1/16, which no enclosure of a sum decides.
    thirds = np.zeros((1, 3, 4), "f4")
    values = np.array([[[1.0], [0.0], [0.0]]], "f4")
    status, document, out, _ = check("--q", save("q3", thirds), "--k", save("k3", thirds), "--v", save("v3", values),
                                     "--out", save("third", np.full((1, 3, 1), 0.25, "f4")), "--bound", "nmse<=1/16")
    expect("what stays open exits 3", status == 3 and out.startswith("UNDECIDED ") and "why=straddled" in out, out)
    expect("... in the certificate too", document["cases"][0]["outputs"][0]["verdict"] == "undecided")


def bounds():
    kinds = ["abs<=1e-5", "rel<=1e-2", "ulp<=4000", "row<=1e-5", "nmse<=1e-9", "allclose=1e-4,1e-5",
             "backward<=8", "out:abs<=1", "lse:ulp<=0x1p6", "abs<=1/3"]
    for bound in kinds:
        status, document, out, err = check(*BASE, "--out", GOOD, "--lse", GOOD_LSE, "--bound", bound)
        expect(f"bound {bound} holds", status == 0, out + err)
        name = bound.split(":")[-1]
        expect(f"bound {bound} is printed", f"bound={name} " in out, out)
    declared = ["--arithmetic", "products=float32,weights=float32,accumulate=float32,block=0,exp=2"]
    status, _, out, err = check(*BASE, "--out", GOOD, *declared, "--bound", "theory")
    expect("theory of a declared machine holds", status == 0 and re.search(r"theory=0\.\d+ ", out), out + err)
    status, _, _, err = check(*BASE, "--out", BAD, *declared, "--bound", "theory")
    expect("... and refutes", status == 1)
    status, _, _, err = check(*BASE, "--out", GOOD, "--bound", "theory")
    expect("theory of an undeclared machine is trouble", status == 2 and "--arithmetic" in err, err)
    status, document, out, _ = check(*BASE, "--out", BAD, "--bound", "abs<=1", "--bound", "ulp<=10")
    o = document["cases"][0]["outputs"][0]
    expect("all bounds must hold", status == 1 and [b["verdict"] for b in o["bounds"]] == ["certified", "refuted"], o)
    expect("all bounds are printed", "bound=abs<=1;ulp<=10" in out, out)
    half = save("half", OUT.astype("f2"))
    _, _, out, _ = check(*BASE, "--out", half)
    expect("float16 has the default bound 4", "bound=backward<=4 " in out, out)
    bits = (OUT.view("u4") >> 16).astype("u2")
    status, document, out, err = check(*BASE, "--out", save("bf", bits), "--bf16", "--bound", "backward<=16")
    expect("bfloat16 by --bf16", status == 0 and document["cases"][0]["outputs"][0]["dtype"] == "bfloat16", out + err)
    _, document, _, _ = check(*BASE, "--out", GOOD, "--roundoff-weights", "2^-20", "--roundoff-scores", "1e-7")
    expect("roundoffs are settable and reported",
           document["cases"][0]["outputs"][0]["roundoff"] == {"weights": 2.0**-20, "scores": 1e-7})


def certificate():
    status, j, _, _ = check(*BASE, "--out", GOOD, "--case", "a b", "--causal", "none")
    c = j["cases"][0]
    o = c["outputs"][0]
    expect("schema", j["schema"] == "attest/1" and set(j) == {"schema", "cases", "statements", "totals", "environment", "timing"})
    expect("case", c["kernel"] == "softmax" and c["case"] == "a b" and c["subject"] and c["params"]["scale"] == "sqrt(1/8)", c)
    expect("inputs carry digests", set(c["inputs"]) == {"q", "k", "v", "out"} and
           all(re.fullmatch("[0-9a-f]{64}", x["sha256"]) for x in c["inputs"].values()), c["inputs"])
    digest = subprocess.run(["sha256sum", path("q.npy")], stdout=subprocess.PIPE, text=True).stdout.split()[0]
    expect("... of the files", c["inputs"]["q"]["sha256"] == digest)
    expect("output", o["name"] == "out" and o["verdict"] == "certified" and o["elements"] == OUT.size and
           o["scope"] == "instance" and o["basis"] == "proved(softmax_radius)", o)
    _, large, _, _ = check(*BASE, "--out", GOOD, "--scale", "1e5")
    basis = large["cases"][0]["outputs"][0]["basis"]
    expect("scores too large for first order leave backward derived", basis == "derived(softmax_radius)", basis)
    expect("errors that were not measured are null", o["error"]["row"] is None and o["error"]["theory"] is None and
           o["error"]["nmse"] is None and o["error"]["allclose"] is None)
    expect("abs, rel, ulp are always measured", all(o["error"][m]["hi"] > 0 for m in ("abs", "rel", "ulp", "backward")))
    expect("counts", o["counts"] == {"compared": OUT.size, "certified": OUT.size, "refuted": 0, "undecided": 0})
    expect("totals", j["totals"]["certified"] == 1 and j["totals"]["elements"] == OUT.size, j["totals"])
    expect("environment", {"version", "compiler", "isa", "threads", "cpu"} <= set(j["environment"]))
    _, _, out, _ = check(*BASE, "--out", GOOD, "--case", "a b%")
    expect("no blanks in values", "case=a%20b%25 " in out and all("=" in x for x in out.split()[1:]), out)
    xml_file = path("j.xml")
    for name, file, failed in (("good", GOOD, 0), ("bad", BAD, 1)):
        run("check", "softmax", *BASE, "--out", file, "--junit", xml_file, "--case", "<a & 'b' \"c\">")
        suite = xml.etree.ElementTree.parse(xml_file).getroot()
        case = suite.find("testcase")
        expect(f"JUnit of a {name} output", suite.get("tests") == "1" and suite.get("failures") == str(failed) and
               len(case.findall("failure")) == failed and case.get("classname") == "<a & 'b' \"c\">", suite.attrib)
    status, out, _ = run("check", "softmax", *BASE, "--out", GOOD, "--quiet")
    expect("--quiet prints no certified line", status == 0 and out == "", out)
    status, out, _ = run("check", "softmax", *BASE, "--out", BAD, "--quiet")
    expect("--quiet prints a refuted line", status == 1 and out.startswith("REFUTED "), out)


def layouts():
    b, h, n, d, dv = 2, 3, 5, 4, 6
    q, k = (rng.standard_normal((b, h, n, d)).astype("f4") for _ in range(2))
    v = rng.standard_normal((b, h, n, dv)).astype("f4")
    out, lse = softmax(q, k, v)
    place = {"b": 1, "h": 2, "n": 3, "d": 4}
    for layout, axes in (("bhnd", "bhnd"), ("bnhd", "bnhd"), ("sbhd", "nbhd"), ("bshd", "bnhd")):
        order = ["bhnd".index(a) for a in axes]
        wrong = out.copy()
        wrong[1, 2, 3, 4] += 1
        args = ["--layout", layout]
        for name, a in (("q", q), ("k", k), ("v", v), ("out", wrong)):
            args += [f"--{name}", save("l" + name, np.ascontiguousarray(a.transpose(order)))]
        status, document, _, err = check(*args)
        want = [place[a] for a in axes]
        got = document and document["cases"][0]["outputs"][0]["worst"]["index"]
        expect(f"layout {layout}: index in the axes of the file", status == 1 and got == want, (got, want, err))
    args = []
    for name, a in (("q", q), ("k", k), ("v", v)):
        args += [f"--{name}", save("l" + name, a)]
    wrong = lse.copy()
    wrong[1, 2, 3] += 1
    status, document, _, err = check(*args, "--lse", save("llse", wrong))
    expect("lse: index", status == 1 and document["cases"][0]["outputs"][0]["worst"]["index"] == [1, 2, 3], err)
    moved = np.ascontiguousarray(out.transpose(0, 2, 1, 3))
    moved[1, 3, 2, 4] += 1
    status, document, _, err = check(*args, "--out", save("lo", moved), "--out-layout", "bnhd")
    expect("out-layout: index", status == 1 and document["cases"][0]["outputs"][0]["worst"]["index"] == [1, 3, 2, 4], err)
    f = save("fortran", np.asfortranarray(out))
    status, *_ = check(*args, "--out", f)
    expect("Fortran order", status == 0)
    ends = save("ends", np.array([0, 3, 3, 10], "i4"))
    packed = rng.standard_normal((10, 2, 4)).astype("f4")
    p = save("packed", packed)
    parts = [softmax(*[packed[a:b].transpose(1, 0, 2)] * 3)[0].transpose(1, 0, 2) for a, b in ((0, 3), (3, 10))]
    whole = np.concatenate(parts)
    args = ["--q", p, "--k", p, "--v", p, "--layout", "thd", "--cu-seqlens-q", ends, "--cu-seqlens-k", ends]
    status, _, out_text, err = check(*args, "--out", save("pout", whole))
    expect("packed sequences", status == 0, out_text + err)
    whole[7, 1, 2] += 1
    status, document, _, err = check(*args, "--out", save("pout", whole))
    expect("packed sequences: index", status == 1 and document["cases"][0]["outputs"][0]["worst"]["index"] == [7, 1, 2], err)


def edges():
    for value, text in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
        wrong = OUT.copy()
        wrong[0, 5, 2] = wrong[1, 0, 0] = value
        status, document, out, _ = check(*BASE, "--out", save("edge", wrong), "--bound", "abs<=1e30")
        o = document["cases"][0]["outputs"][0]
        expect(f"an output of {text} is refuted at its first place",
               status == 1 and o["worst"]["index"] == [0, 5, 2] and o["worst"]["got"] == text and
               o["error"]["abs"]["hi"] == "inf" and o["counts"]["refuted"] == 2 and f"got={text} " in out, o)
    poisoned = Q.copy()
    poisoned[1, 2, 3] = np.nan
    status, _, _, err = check("--q", save("nan", poisoned), *BASE[2:], "--out", GOOD)
    expect("a visible NaN input is trouble that names it", status == 2 and "q[1,2,3]" in err, err)
    hidden = V.copy()
    hidden[:, 8] = np.nan
    short, _ = softmax(Q, K[:, :8], V[:, :8])
    mask = save("mask", np.arange(9)[None, :].repeat(9, 0) < 8)
    status, _, out, err = check(*BASE[:4], "--v", save("hidden", hidden), "--out", save("short", short), "--mask", mask)
    expect("a NaN that nobody sees is none", status == 0, out + err)
    empty = mask_of_row_two()
    status, document, out, err = check(*BASE, "--out", save("e", empty), "--mask", path("m2.npy"), "--empty-row", "nan")
    expect("rows that see nothing: nan where prescribed", status == 0, out + err)
    status, *_ = check(*BASE, "--out", path("e.npy"), "--mask", path("m2.npy"))
    expect("... refuted where zero is prescribed", status == 1)
    status, _, _, err = check(*BASE, "--out", path("e.npy"), "--mask", path("m2.npy"), "--empty-row", "error")
    expect("... trouble where that is asked for", status == 2 and err, err)
    none = np.zeros((2, 0, 8), "f4")
    nothing = ["--q", save("none", none), "--k", path("k.npy"), "--v", path("v.npy"), "--out", path("none.npy")]
    status, _, _, err = check(*nothing)
    expect("zero elements are trouble", status == 2 and "--allow-empty" in err, err)
    status, _, out, _ = check(*nothing, "--allow-empty")
    expect("... unless allowed", status == 0 and "elements=0" in out, out)
    status, document, _, _ = check(*BASE, "--out", save("zeros", np.zeros_like(OUT)))
    expect("an output of zeros has relative error 1", document["cases"][0]["outputs"][0]["error"]["rel"]["hi"] == 1)


def mask_of_row_two():
    mask = np.ones((9, 9), bool)
    mask[2] = False
    save("m2", mask)
    out = OUT.copy()
    out[:, 2] = np.nan
    return out


def options():
    good = ["check", "softmax", *BASE, "--out", GOOD]
    for name, extra, words in [
            ("an unknown flag", ["--frobnicate"], "unknown flag --frobnicate"),
            ("an abbreviation", ["--ou", GOOD], "--out"),
            ("a misspelt flag", ["--causla", "top-left"], "did you mean --causal"),
            ("a missing value", ["--bound"], "--bound needs a value"),
            ("a value that looks like a flag", ["--json", "--quiet"], "--json needs a value"),
            ("a contradiction", ["--scale", "1", "--softmax_scale", "2"], "contradicts"),
            ("a flag twice with two values", ["--case", "a", "--case", "b"], "contradicts"),
            ("a value for a flag that has none", ["--quiet=yes"], "takes no value"),
            ("a bad bound", ["--bound", "ulps<4"], "MEASURE<=X"),
            ("a bound on an absent output", ["--bound", "lse:abs<=1"], "lse"),
            ("a single dash", ["-q", "x"], "two dashes"),
            ("a second kernel", ["softmax"], "unexpected argument"),
            ("threads without a number", ["--threads", "none"], "positive"),
            ("no threads", ["--threads", "0"], "positive"),
            ("a library", ["--library", "x.so:f"], "give one"),
            ("a command", ["--exec", "true"], "give one"),
            ("a bad roundoff", ["--roundoff-weights", "-1"], "(0, 1]"),
            ("a roundoff that only starts well", ["--roundoff-weights", "2^-24x"], "(0, 1]"),
            ("two allclose bounds", ["--bound", "allclose=1,1", "--bound", "allclose=2,2"], "stricter")]:
        status, out, err = run(*good, *extra)
        expect(f"{name} exits 2 and is explained", status == 2 and words in err and not out, (status, out, err))
    for name, arguments, words in [("no kernel", ["check"], "too few"), ("an unknown kernel", ["check", "sofmax", *BASE, "--out", GOOD], "sofmax"),
                                   ("no output", ["check", "softmax", *BASE], "--out"), ("an unknown verb", ["chekc"], "chekc"),
                                   ("no verb", [], "usage"), ("a missing file", ["check", "softmax", "--q", "missing.npy", *BASE[2:], "--out", GOOD], "missing.npy"),
                                   ("a wrong shape", ["check", "softmax", *BASE, "--out", save("cut", OUT[:, :5])], "out")]:
        status, out, err = run(*arguments)
        expect(f"{name} exits 2 and is explained", status == 2 and words in err, (status, out, err))
    for name, extra in [("--flag=value", [f"--lse={GOOD_LSE}", "--bound=backward<=16"]), ("underscores", ["--softmax_scale", "sqrt(1/8)"]),
                        ("a flag twice with one value", ["--case", "a", "--case", "a"]), ("bare causal none", ["--causal", "none"]),
                        ("one thread", ["--threads", "1"])]:
        status, out, err = run(*good, *extra)
        expect(f"{name} is accepted", status == 0, (out, err))
    causal = save("causal", softmax(Q, K, V, True)[0])
    for extra in (["--is-causal"], ["--is_causal"], ["--causal", "top-left"], ["--causal=bottom-right"], ["--causal"]):
        status, out, err = run("check", "softmax", *BASE, "--out", causal, *extra)
        expect(f"{' '.join(extra)} is causal", status == 0, (out, err))
    for verb in ("check", "certify", "reference", "inspect", "kernels"):
        status, out, _ = run(verb, "--help")
        expect(f"{verb} --help has usage and an example", status == 0 and out.startswith("usage: attest " + verb) and "example" in out, out)
    status, out, _ = run("check", "softmax", "--help")
    expect("help with a kernel lists its parameters only", "--softcap" in out and "--degree" not in out, out)
    expect("help fits a terminal", max(map(len, out.splitlines())) <= 100, out)
    status, out, _ = run("kernels")
    expect("kernels says what is built", status == 0 and all(re.search(rf"^{k} +built", out, re.M) for k in ("softmax", "toeplitz")), out)
    status, _, err = run("certify", "plan.yaml")
    expect("a plan that is not there is named", status == 2 and "plan.yaml" in err, err)


def dump():
    """One safetensors file with all tensors by name."""
    arrays = {"q": Q, "k": K, "v": V, "out": OUT, "lse": LSE}
    header, data = {}, b""
    for name, a in arrays.items():
        header[name] = {"dtype": "F32", "shape": a.shape, "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    with open(path("dump.safetensors"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)
    status, document, out, err = check("--input", path("dump.safetensors"))
    expect("--input finds q, k, v, out, lse by name", status == 0 and out.count("CERTIFIED") == 2, out + err)
    status, document, out, err = check("--input", path("dump.safetensors"), "--out", BAD)
    expect("a flag wins over --input", status == 1, out + err)


def disks():
    before = set(glob.glob(path("*")))
    inputs = {flag: file for flag, file in zip(BASE[::2], BASE[1::2])}
    os.symlink(inputs["--k"], path("link.json"))
    for flags, other in ((["--json", inputs["--q"]], "--q"), (["--junit", GOOD], "--out"), (["--json", path("link.json")], "--k"),
                         (["--json", path("new.xml"), "--junit", path("new.xml")], "--junit")):
        held = [open(x, "rb").read() for x in (*inputs.values(), GOOD)]
        status, out, err = run("check", "softmax", *BASE, "--out", GOOD, *(f"{a}={b}" for a, b in zip(flags[::2], flags[1::2])))
        expect(f"{flags[0]} over the file of {other} exits 2 and leaves it", status == 2 and f"of {other}:" in err and not out and
               held == [open(x, "rb").read() for x in (*inputs.values(), GOOD)], err)
    os.remove(path("link.json"))
    for flag, value in (("--timeout", "3"), ("--memory", "1G"), ("--outputs", "out,lse")):
        status, out, err = run("check", "softmax", *BASE, "--out", GOOD, flag, value)
        expect(f"{flag} of nothing that runs exits 2", status == 2 and flag in err and not out, err)
    status, out, err = run("check", "softmax", *BASE, "--out", GOOD, "--json", "/dev/null", "--junit", "/dev/null")
    expect("two reports into /dev/null are two", status == 0, err)
    status, _, err = run("check", "softmax", *BASE, "--out", GOOD, "--json", path("no/such/folder.json"))
    expect("--json into a missing folder exits 2", status == 2 and "folder.json" in err, err)
    status, _, err = run("check", "softmax", *BASE, "--out", GOOD, "--json", "/dev/full")
    expect("--json to a full disk exits 2", status == 2 and err, err)

    def little_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))  # clang's OpenMP writes that much

    for flag in ("--json", "--junit"):
        status, _, err = run("check", "softmax", *BASE, "--out", GOOD, "--case", "x" * 1024, flag, path("half.txt"),
                             preexec_fn=little_space)
        expect(f"{flag} that does not fit exits 2", status == 2 and err, err)
    expect("... and leaves nothing behind", set(glob.glob(path("*"))) == before, set(glob.glob(path("*"))) - before)
    status, _, err = run("check", "softmax", *BASE, "--out", BAD, "--json", "/dev/full")
    expect("a refutation stays one", status == 1, err)
    with open("/dev/full", "w") as full:
        status, _, err = run("check", "softmax", *BASE, "--out", GOOD, stdout=full)
    expect("standard output that is full exits 2", status == 2, err)


def start_long(*flags):
    """A long comparison on a terminal, once its progress line shows: (process, what it showed, the terminal)."""
    inputs = sum(([f"--{x}", save("big", np.zeros((4, 16384, 64), "f4"))] for x in ("q", "k", "v", "out")), [])
    terminal, other = pty.openpty()
    p = subprocess.Popen([ATTEST, "check", "softmax", *inputs, "--bound", "abs<=1", *flags],
                         stdout=subprocess.PIPE, stderr=other, text=True)
    os.close(other)
    shown = b""
    while b"%" not in shown:
        shown += os.read(terminal, 4096)
    return p, shown, terminal


def interrupt():
    """Ctrl-C."""
    file = path("partial.json")
    p, shown, terminal = start_long("--json", file)
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=120)
    os.close(terminal)
    expect("progress shows share, rate and time left", re.search(rb"check: \d+ %, [\d.]+ ?[kMG]?/s, \d+ s left", shown), shown)
    o = json.load(open(file))["cases"][0]["outputs"][0]
    share = re.search(r"scope=sampled\((0\.\d+)\)", out)
    expect("Ctrl-C leaves a partial report", share and o["counts"]["compared"] < o["elements"], out)
    expect("... that certifies nothing", p.returncode == 3 and out.startswith("UNDECIDED ") and "why=interrupted" in out, out)
    expect("... whose fraction is not too large", share and float(share[1]) <= o["counts"]["compared"] / o["elements"], out)


def shrink():
    """Somebody shortens a tensor that is being read."""
    file = path("shrunk.json")
    p, _, terminal = start_long("--json", file)
    os.truncate(path("big.npy"), 4096)
    out, _ = p.communicate(timeout=120)
    shown = os.read(terminal, 65536)
    os.close(terminal)
    expect("a file that shrinks exits 2 and is explained", p.returncode == 2 and not out and b"became shorter" in shown, shown)
    expect("... without a certificate", not os.path.exists(file))


for part in (statuses, bounds, certificate, layouts, edges, options, dump, disks, interrupt, shrink):
    part()
done()
