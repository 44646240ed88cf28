#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest certify PLAN: lists that multiply, generators, persistent and stored subjects, expectations, budgets, sampled
rows, and plans that are wrong."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np

from attest_command import ATTEST, done, expect, path, run, validate

SUBJECT = path("subject.py")
open(SUBJECT, "w").write(r'''
import json, os, sys, threading, time
import numpy as np

def read(file):
    data = open(file, "rb").read()
    n = int.from_bytes(data[:8], "little")
    arrays = {}
    for name, e in json.loads(data[8:8 + n]).items():
        b, f = (8 + n + o for o in e["data_offsets"])
        raw = data[b:f]
        kind = {"F64": "f8", "F32": "f4", "F16": "f2", "BF16": "u2"}[e["dtype"]]
        a = np.frombuffer(raw, kind).reshape(e["shape"])
        arrays[name] = (a.astype("u4") << 16).view("f4") if e["dtype"] == "BF16" else a
    return arrays

def work(d):
    t = read(d + "/in.safetensors")
    problem = json.load(open(d + "/problem.json"))
    q, k, v = (t[n].astype(np.longdouble) for n in "qkv")
    if problem["params"].get("layout") == "bnhd": q, k, v = (a.swapaxes(1, 2) for a in (q, k, v))
    k, v = (np.repeat(a, q.shape[1] // a.shape[1], axis=1) for a in (k, v))
    if mode == "tail": k, v = (a[:, :, :a.shape[2] // 16 * 16] for a in (k, v))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(np.longdouble(q.shape[-1]))
    if "softcap" in problem["params"]: s = float(problem["params"]["softcap"]) * np.tanh(s / float(problem["params"]["softcap"]))
    i, j = np.arange(s.shape[-2])[:, None], np.arange(s.shape[-1])[None, :]
    i = i + (s.shape[-1] - s.shape[-2]) * (problem["params"].get("alignment") == "bottom-right")
    if problem["params"].get("causal", "none") != "none": s = np.where(j <= i, s, -np.inf)
    left, right = map(int, problem["params"].get("window", "-1,-1").split(","))
    if left >= 0: s = np.where(j >= i - left, s, -np.inf)
    if right >= 0: s = np.where(j <= i + right, s, -np.inf)
    top = s.max(-1, keepdims=True)
    p = np.where(np.isfinite(top), np.exp(s - np.where(np.isfinite(top), top, 0)), 0)
    total = p.sum(-1, keepdims=True)
    out = p @ v / np.where(total > 0, total, 1)
    lse = (np.log(total) + top)[..., 0].astype("f4")
    if problem["params"].get("layout") == "bnhd": out = out.swapaxes(1, 2)
    np.save(d + "/lse.npy", lse)
    np.save(d + "/out.npy", out.astype("f8" if t["q"].dtype == np.float64 else "f4"))
    if os.environ.get("KEEP"): np.save(os.environ["KEEP"] + "-" + "x".join(map(str, out.shape)), out.astype("f8"))

mode = os.environ.get("MODE", "")
if os.environ.get("LOG"): open(os.environ["LOG"], "a").write("start\n")
if len(sys.argv) > 1 and os.path.isdir(sys.argv[-1]):
    work(sys.argv[-1])
else:
    print("loading a framework", flush=True)
    for n, line in enumerate(sys.stdin):
        if mode == "dies" and n == 1: os.abort()
        if mode == "stops" and n == 1: sys.exit(0)
        if mode == "hangs" and n == 1: time.sleep(600)
        if mode == "skips" and n == 1: print(77, flush=True); continue
        if mode == "fails" and n == 1: print(4, flush=True); continue
        if mode == "sparse" and n == 1:
            np.lib.format.open_memmap(line.strip() + "/out.npy", mode="w+", dtype="f4", shape=(9, 2**32))
            np.save(line.strip() + "/lse.npy", np.zeros(3, "f4")); print(0, flush=True); continue
        work(line.strip())
        if mode == "flickers":  # its file is cut and whole again, while it is read
            file = line.strip() + "/out.npy"
            whole = open(file, "rb").read()
            def flicker(file=file, whole=whole):
                end = time.monotonic() + 1
                while time.monotonic() < end and os.path.exists(file):
                    os.truncate(file, 0)
                    with open(file, "r+b") as f: f.write(whole)
            threading.Thread(target=flicker, daemon=True).start()
        if mode.endswith("late") or mode == "replaces":
            if n == 1: time.sleep(1.2 if mode != "hangs-late" else 600)
            if n == 1 and mode == "replaces": np.save(line.strip() + "/out.npy", np.zeros((1, 1, 3, 4), "f4"))
            if n == 1 and mode == "fails-late": print(4, flush=True); continue
        print("chatter 1 2 3")
        if mode != "silent": print(0, flush=True)
''')


def plan(text, *arguments, **settings):
    file = path("plan.yaml")
    open(file, "w").write(text.replace("PYTHON", sys.executable).replace("SUBJECT", SUBJECT))
    document = path("plan.json")
    if os.path.exists(document):
        os.remove(document)
    env = {**os.environ, **settings.pop("env", {})}
    status, out, err = run("certify", file, "--json", document, *arguments, env=env, **settings)
    return status, out, err, json.load(open(document)) if os.path.exists(document) else None


HEAD = """attest: 1
defaults: {timeout: 60s, outputs: [out, lse]}
subjects:
  once: {exec: [PYTHON, SUBJECT]}
  shell: {exec: 'X=1 PYTHON SUBJECT'}
  stays: {exec: [PYTHON, SUBJECT], persistent: true}
cases:
"""


def names(out):
    return [re.search(r"case=(\S+)", line)[1] for line in out.splitlines() if "output=out" in line]


def multiply():
    status, out, err, document = plan(HEAD + """
  - {name: fwd, subject: stays, kernel: softmax, params: {causal: top-left, window: [[-1, -1], [3, 0]], softcap: [none, 30]},
     shape: {b: 2, hq: 4, hkv: [1, 4], nq: [1, 7], nk: 9, d: 8}, data: {generator: [gaussian, ties], seed: 3},
     bound: {out: backward<=16, lse: [abs<=1e-5, backward<=16]}}
""")
    seen = names(out)
    expect("lists multiply", status == 0 and len(seen) == 32 and len(set(seen)) == 32, out + err)
    expect("... the last fastest, named by what varies",
           seen[0] == "fwd/window=-1,-1/softcap=none/hkv=1/nq=1/generator=gaussian" and
           seen[1] == "fwd/window=-1,-1/softcap=none/hkv=1/nq=1/generator=ties" and
           seen[-1] == "fwd/window=3,0/softcap=30/hkv=4/nq=7/generator=ties", seen)
    expect("bounds by output", "output=lse" in out and "bound=abs<=1e-5;backward<=16" in out, out)
    expect("the summary counts", "32 of 32 cases" in err and document["totals"]["plan"] == {"cases": 32, "run": 32}, err)
    params = document["cases"][-1]["params"]
    expect("the certificate has the parameters", params["window"] == "3,0" and params["softcap"] == "30", params)
    replay = document["cases"][0]["replay"].split(" --case ")[1]
    replayed = open(path("plan.yaml")).read()
    # Extents whose product is 2^62 elements, or 0 in 64 bits of bytes.
    for shape in ("n: 2147483648, d: 2147483648", "b: 4, n: 2147483648, d: 2147483648", "nq: 2147483648, dv: 2147483648, nk: 1, d: 1",
                  "b: 0, n: 2147483648, d: 2147483648"):
        status, out, err, document = plan(HEAD + f"""
  - {{name: fwd, subject: stays, kernel: softmax, shape: {{{shape}}}}}
""")
        expect(f"a shape that is too large is trouble ({shape})", status == 2 and "too large" in err, (status, out, err))
    # 300 digits and an exponent, of which nothing may be lost; a command in a block ends with a line end.
    status, out, err, document = plan(HEAD.replace("exec: 'X=1 PYTHON SUBJECT'", "exec: 'PYTHON SUBJECT'").replace(
        "shell: {exec: 'PYTHON SUBJECT'}", "shell:\n    exec: |\n      PYTHON SUBJECT") + f"""
  - {{name: fwd, subject: shell, kernel: softmax, shape: {{n: 4, d: 8}}, bound: {{out: 'abs<=1{300 * '0'}e-320', lse: 'abs<=1{300 * '0'}e-302'}}}}
""")
    verdicts = [(line.split()[0], re.search(r"output=(\S+)", line)[1]) for line in out.splitlines()]
    expect("long bounds are read to their end, commands without the end of their line", status == 1 and
           sorted(verdicts) == [("CERTIFIED", "lse"), ("REFUTED", "out")], out + err)
    status, out, err, document = plan(replayed, "--case", seen[5])
    expect("--case runs one", status == 0 and names(out) == [seen[5]], out + err)
    expect("... which the replay names", replay == seen[0], replay)
    status, out, err, _ = plan(open(path("plan.yaml")).read(), "--case", seen[5], "--quiet")
    expect("--quiet is silent", status == 0 and out == err == "", out + err)
    status, out, err, _ = plan(open(path("plan.yaml")).read(), "--case", "other")
    expect("... and complains of a name that is not there", status == 2 and "other" in err, err)
    status, out, err, _ = plan(HEAD.replace("attest: 1", "attest: 1\nconvention: flash-attn") + """
  - {name: fa, subject: [once, shell], kernel: softmax, params: {causal: true}, dtype: [bf16, f16, f32, f64],
     shape: {b: 1, h: 2, nq: 3, nk: 5, d: 4}, data: {generator: real}}
""")
    expect("a convention and dtypes", status == 0 and len(names(out)) == 8, out + err)


def generators():
    kinds = "gaussian sphere real ties dominant saturated cancelling denormal rational".split()
    status, out, err, _ = plan(HEAD + f"""
  - {{name: g, subject: stays, kernel: softmax, params: {{causal: [none, top-left]}}, dtype: [f32, bf16],
     shape: {{b: 1, h: 2, n: 33, d: 16, dv: 5}}, data: {{generator: [{', '.join(kinds)}], seed: [1, 7]}}, bound: backward<=16}}
""")
    expect("all generators certify a sound kernel", status == 0 and len(names(out)) == 72, out + err)
    digests = [tuple(c["inputs"][t]["sha256"] for t in "qkv") for c in json.load(open(path("plan.json")))["cases"]]
    expect("... seeds and dtypes give other data, causal does not", len(set(digests)) == 34, len(set(digests)))
    keep = path("kept")
    status, out, err, _ = plan(HEAD + """
  - {name: r, subject: stays, kernel: softmax, params: {causal: top-left}, shape: {n: 300, d: 16, dv: 8}, dtype: f32,
     data: {generator: rational, seed: 5}, outputs: out, bound: abs<=1e-4}
""", env={"KEEP": keep})
    out_array = np.load(keep + "-1x1x300x8.npy")
    expect("rational has answers that are 0 or 1 on every row length",
           status == 0 and np.abs(out_array - np.round(out_array)).max() < 1e-12 and
           {0.0, 1.0} == set(np.unique(np.round(out_array))), out + err)
    status, out, err, _ = plan(HEAD + """
  - {name: r, subject: stays, kernel: softmax, shape: {nq: 1, nk: [16, 17, 47, 1000, 1024, 4095], d: 64}, outputs: out,
     dtype: [bf16, f16, f32], data: {generator: rational}}
""", env={"MODE": "tail"})
    lines = [line for line in out.splitlines() if "output=out" in line]
    whole = [int(re.search(r"nk=(\d+)", line)[1]) % 16 == 0 for line in lines]
    expect("rational finds a kernel that leaves out the last keys, at every length that has some and in every type", status == 1 and
           len(whole) == 18 and whole == [line.startswith("CERTIFIED") for line in lines], out)
    status, out, err, document = plan(HEAD + """
  - {name: r, subject: stays, kernel: softmax, shape: {d: 4}, dtype: bf16, data: {generator: rational}, outputs: out}
""", "--time", "4s")
    lengths = [int(x.rsplit("=", 1)[1]) for x in names(out)]
    totals = document["totals"]["plan"]
    expect("without n it visits every row length from 1 to 4096", totals["cases"] == 4096, totals)
    expect("--time spends a budget and states the fraction", 1 < totals["run"] < 4096 and status == 0 and
           f"{totals['run']} of 4096 cases ({totals['run'] / 4096:.4f})" in err, err)
    expect("... on cases from all of the plan", max(lengths) > 2000 and lengths[0] == 1 and lengths[1] == 2532, lengths[:9])


def persistent():
    text = HEAD + "  - {name: p, subject: stays, kernel: softmax, shape: {n: [2, 3, 4], d: 4}, timeout: 3s}\n"
    log = path("log")
    for mode, reason, starts in (("", None, 1), ("silent", None, 1), ("dies", "crash(SIGABRT)", 2), ("stops", "ended", 2),
                                 ("hangs", "timeout", 2), ("hangs-late", "timeout", 2), ("replaces", "", 1),
                                 ("fails-late", "status(4)", 1), ("skips", "status(77)", 1), ("fails", "status(4)", 1),
                                 ("sparse", "wrong-shape", 1)):
        open(log, "w").close()
        status, out, err, _ = plan(text, env={"MODE": mode, "LOG": log})
        lines = [x for x in out.splitlines() if "output=lse" not in x]
        started = open(log).read().count("start")
        good = [x.startswith("CERTIFIED") for x in lines]
        if reason is None:
            expect(f"a persistent subject serves all cases ({mode or 'answers'})",
                   status == 0 and good == [True] * 3 and started == starts, out + err)
        else:
            expect(f"one that {mode} is {'skipped' if mode == 'skips' else 'refuted'}, and the run goes on",
                   status == (0 if mode == "skips" else 1) and good == [True, False, True] and (f"reason={reason}" if reason else "backward=") in lines[1] and
                   started == starts, (out, err, started))
    big = text.replace("n: [2, 3, 4], d: 4", "h: 16, nq: [4000, 4001, 4002, 4003], nk: 4, d: 4, dv: 64").replace("timeout: 3s", "timeout: 60s")
    for _ in range(2):
        status, out, err, _ = plan(big, env={"MODE": "flickers"})
        lines = [x for x in out.splitlines() if "output=lse" not in x]
        expect("an output that is cut short while it is read is refuted or whole, and the run goes on", status in (0, 1) and
               len(lines) == 4 and all(x.startswith(("CERTIFIED ", "REFUTED ")) for x in lines), out + err)
    temporary = path("tmp")
    os.mkdir(temporary)
    status, out, err, _ = plan(text, env={"MODE": "hangs", "TMPDIR": temporary})
    expect("nothing is left behind", status == 1 and not os.listdir(temporary), os.listdir(temporary))


def interrupted():
    """Ctrl-C ends the case at hand; the report has what was done, and how many cases there were."""
    text = HEAD + "  - {name: i, subject: stays, kernel: softmax, shape: {n: [2, 3, 4, 5, 6], d: 4}}\n"
    open(path("plan.yaml"), "w").write(text.replace("PYTHON", sys.executable).replace("SUBJECT", SUBJECT))
    for number in (signal.SIGINT, signal.SIGTERM):
        p = subprocess.Popen([ATTEST, "certify", path("plan.yaml"), "--json", path("i.json")], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, "MODE": "hangs"})
        first = p.stdout.readline()
        time.sleep(0.5)
        p.send_signal(number)
        out, err = p.communicate(timeout=30)
        document = json.load(open(path("i.json")))
        validate(path("i.json"), "certificate")
        expect(f"{number.name} in a plan exits 3 and leaves a report", first.startswith("CERTIFIED ") and p.returncode == 3 and
               "1 of 5 cases (0.2000)" in err and document["totals"]["plan"] == {"cases": 5, "run": 1}, (out, err, document["totals"]))


def skipped():
    status, out, err, document = plan(HEAD.replace("'X=1 PYTHON SUBJECT'", "'exit 77 #'") + """
  - {name: none, subject: shell, kernel: softmax, shape: {n: [2, 3], d: 4}}
""")
    expect("what is skipped is no failure, and a plan that skips everything says so", status == 0 and out.count("SKIPPED ") == 2 and
           "0 certified" in err and "2 skipped" in err and "nothing was compared" in err, out + err)
    status, out, err, document = plan(HEAD.replace("'X=1 PYTHON SUBJECT'", "'exit 77 #'") + """
  - {name: some, subject: [shell, stays], kernel: softmax, shape: {n: 2, d: 4}}
""")
    expect("... one that skips a part does not", status == 0 and "1 skipped" in err and "nothing was compared" not in err, out + err)


def spoiled():
    """A subject that writes into the file that the cases share: refuted, and the run goes on."""
    q, k, v = np.random.default_rng(5).standard_normal((3, 1, 2, 9, 4)).astype("f4")
    save_safetensors(path("shared.safetensors"), {"q": q, "k": k, "v": v})
    open(path("spoils.py"), "w").write(r"""
import os, sys
for n, line in enumerate(sys.stdin):
    if n == 0:
        with open("shared.safetensors", "r+b") as f: f.seek(-4, 2); f.write(b"\0\0\0\0")
    os.environ["MODE"] = ""
    os.system(f"PYTHON SUBJECT {line.strip()}")
    print(0, flush=True)
""".replace("PYTHON", sys.executable).replace("SUBJECT", SUBJECT))
    status, out, err, document = plan(HEAD.replace("exec: [PYTHON, SUBJECT], persistent", f"exec: [PYTHON, {path('spoils.py')}], persistent") + """
  - {name: s, subject: stays, kernel: softmax, input: shared.safetensors, params: {causal: [none, top-left]}, outputs: out}
""")
    lines = [x for x in out.splitlines() if "output=lse" not in x]
    expect("a subject that writes into its inputs is refuted, and the run goes on", status == 1 and len(lines) == 2 and
           "reason=wrote-input(v)" in lines[0] and lines[1].startswith("CERTIFIED "), out + err)


def stored():
    rng = np.random.default_rng(3)
    q, k, v = rng.standard_normal((3, 2, 6, 4)).astype("f4")
    s = q.astype(float) @ k.swapaxes(-1, -2) / 2
    p = np.exp(s)
    np.savez(path("dump.npz"), q=q, k=k, v=v, out=(p @ v / p.sum(-1, keepdims=True)).astype("f4"), bad=q,
             lse=np.log(p.sum(-1)).astype("f4"))
    text = """attest: 1
subjects:
  dump: {out: dump.npz:out, lse: dump.npz:lse}
  wrong: {out: 'dump.npz:bad'}
cases:
  - {name: stored, subject: dump, kernel: softmax, input: dump.npz, bound: {out: backward<=4, lse: abs<=1e-5}, expect: certified}
  - {name: known, subject: wrong, kernel: softmax, input: dump.npz, expect: refuted}
"""
    status, out, err, document = plan(text)
    expect("stored outputs, and what is expected to be refuted", status == 0 and out.count("CERTIFIED") == 2 and
           "REFUTED" in out and out.count("expect=") == 3, out + err)
    status, out, err, _ = plan(text.replace("expect: certified", "expect: refuted"))
    expect("a case that certifies against its expectation exits 1", status == 1, out + err)
    status, out, err, _ = plan(text.replace("expect: refuted", "expect: certified"))
    expect("a case that is refuted against its expectation exits 1", status == 1, out + err)
    np.savez(path("poor.npz"), k=k, v=v)
    for poor in ("poor.npz", "nothing.npy"):
        np.save(path("nothing.npy"), k)
        status, out, err, _ = plan(text.replace("input: dump.npz, bound", f"input: {poor}, bound"), "--case", "stored")
        expect(f"an input without q is named ({poor})", status == 2 and f"{poor} holds no tensor q" in err and "--q" not in err, err)
    for key, value in (("data", "{generator: ties}"), ("dtype", "f32"), ("shape", "{n: 2, d: 2}")):
        status, out, err, _ = plan(text.replace("input: dump.npz, bound", f"input: dump.npz, {key}: {value}, bound"))
        expect(f"{key} beside input is refused", status == 2 and f"yaml:6: {key}" in err and not out, err)
    np.save(path("bias.npy"), np.zeros((6, 6), "f4"))
    open(path("plan.yaml"), "w").write(text.replace("input: dump.npz, bound", "input: dump.npz, params: {bias: bias.npy}, bound"))
    for flag, name in (("--json", "dump.npz"), ("--junit", "bias.npy"), ("--json", "plan.yaml")):
        held = open(path(name), "rb").read()
        status, out, err = run("certify", "plan.yaml", f"{flag}={path(name)}")
        expect(f"{flag} over {name} of the plan is refused", status == 2 and name in err and "overwrite" in err and not out and
               held == open(path(name), "rb").read(), err)
    file = path("attest.yaml")
    open(file, "w").write(text)
    status, out, err = run("certify")
    expect("attest.yaml is the plan without a name", status == 0 and out.count("case=") == 3, out + err)
    os.remove(file)
    status, out, err = run("certify")
    expect("... and its absence is explained", status == 2 and "attest.yaml" in err, err)


def bf16(x):
    """Bits of the nearest bfloat16."""
    bits = np.asarray(x, "f4").view("u4")
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("u2")


def save_safetensors(file, arrays):
    header, data = {}, b""
    for name, a in arrays.items():
        header[name] = {"dtype": {"f4": "F32", "u2": "BF16"}[a.dtype.str[1:]], "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    open(file, "wb").write(len(text).to_bytes(8, "little") + text + data)


def everything():
    """All keys at once: defaults with a machine model, a convention, lists of windows and heads, a dump in bfloat16."""
    bits = [bf16(a) for a in np.random.default_rng(7).standard_normal((3, 2, 19, 4, 8)).astype("f4")]
    q, k, v = ((a.astype("u4") << 16).view("f4").astype(float).swapaxes(1, 2) for a in bits)
    s = np.where(np.tri(19, dtype=bool), q @ k.swapaxes(-1, -2) / np.sqrt(8), -np.inf)
    p = np.exp(s)
    save_safetensors(path("dump.safetensors"), {
        "q": bits[0], "k": bits[1], "v": bits[2], "lse": np.log(p.sum(-1)).astype("f4"),
        "out": bf16((p @ v / p.sum(-1, keepdims=True)).swapaxes(1, 2))})
    text = """attest: 1
convention: flash-attn
defaults: {dtype: bf16, bound: theory, timeout: 60s, arithmetic: {products: bf16, weights: bf16, accumulate: f32, block: 64, exp: 2ulp}}
subjects:
  triton: {exec: [PYTHON, SUBJECT], persistent: true}
  dump: {out: dump.safetensors:out, lse: dump.safetensors:lse}
cases:
  - {name: fwd, subject: triton, kernel: softmax, params: {causal: bottom-right, window: [[-1, -1], [5, 0]], softcap: [none, 30]},
     shape: {b: 2, hq: 4, hkv: [1, 4], nq: [1, 40], nk: 40, d: [8, 16]}, data: {generator: [gaussian, dominant], seed: 1},
     outputs: [out, lse]}
  - {name: stored, subject: dump, kernel: softmax, input: dump.safetensors, params: {causal: top-left}, bound: {out: backward<=4, lse: abs<=1e-5}, expect: certified}
"""
    status, out, err, document = plan(text)
    expect("a plan with all its keys", status == 0 and document["totals"]["plan"] == {"cases": 65, "run": 65} and
           out.count("CERTIFIED") == 130 and out.count("bound=theory") == 128, out[-300:] + err)
    errors = [float(x) for x in re.findall(r"output=out .* theory=(\S+)", out)]
    expect("... whose bounds are within reach", len(errors) == 64 and max(errors) > 0.01, max(errors))
    status, out, err, _ = plan(text.replace("causal: top-left}, bound", "causal: none}, bound"), "--case", "stored")
    expect("... and refute what is stored for another mask, which the diagnosis names", status == 1 and "REFUTED" in out and
           "it certifies with causal top-left" in err, out + err)


def sampled():
    text = HEAD + "  - {name: s, subject: once, kernel: softmax, shape: {b: 2, h: 3, n: 50, d: 4}, params: {causal: top-left}}\n"
    status, out, err, document = plan(text, "--rows", "30")
    o = document["cases"][0]["outputs"][0]
    expect("--rows compares so many rows and says so", status == 0 and "scope=sampled(0.1000)" in out and
           o["elements"] == 1200 and o["counts"]["compared"] == 120, out + err)
    status, out, err, _ = plan(text, "--rows", "3000")
    expect("... all where there are fewer", status == 0 and "scope=instance" in out, out + err)
    status, out, err, _ = plan(text, "--rows", "1")
    expect("... or one", status == 0 and "scope=sampled(0.0033)" in out, out + err)


def wrong():
    lines = """attest: 1
convention: flash-attn
defaults: {dtype: bf16, bound: backward<=4, timeout: 60s, arithmetic: {products: bf16, block: 64, exp: 2ulp}}
subjects:
  mine: {exec: [a, b], persistent: true}
cases:
  - name: a
    subject: mine
    kernel: softmax
    params: {causal: bottom-right, softcap: [none, 30]}
    shape: {b: 2, h: 8, n: 4, d: 8}
    data: {generator: gaussian, seed: 1}
    outputs: [out, lse]
    bound: {out: backward<=16}
    expect: certified""".split("\n")
    for number, old, new, word in (
            (1, "1", "2", "attest: 1"), (2, "flash-attn", "flash", "flash"), (3, "dtype", "dtpye", "dtpye"),
            (3, "timeout: 60s", "timeout: soon", "soon"), (3, "products: bf16", "products: x", "products"), (3, "{products: bf16", "'products=bf16" + 300 * ",block=64" + "'}  # {", "too long"),
            (5, "exec", "exce", "exce"), (5, "[a, b]", "[]", "exec"), (5, "persistent: true", "persistent: maybe", "persistent"),
            (5, "exec: [a, b]", "library: x.so", "persistent"), (5, "exec: [a, b], persistent: true", "persistent: true", "needs one"),
            (8, "mine", "yours", "yours"), (9, "softmax", "softmx", "softmx"), (9, "kernel", "kernle", "kernle"),
            (10, "causal: bottom-right", "causal: left", "left"), (10, "softcap", "softcup", "softcup"),
            (10, "[none, 30]", "[none, -1]", "softcap"), (10, "[none, 30]", "[]", "empty"), (11, "b: 2", "z: 2", "z"),
            (11, "n: 4", "nq: 4", "nk"), (11, "n: 4", "n: 4, nq: 3", "contradict"), (11, "h: 8", "h: x", "h"),
            (11, "n: 4", "n: 5..1", "5..1"), (11, "n: 4", "nq: [4, 5, 4], nk: 4", "nq has the value 4 twice"),
            (10, "[none, 30]", "[30, none, 30]", "softcap has the value 30 twice"), (8, "mine", "[mine, mine]", "twice"),
            (11, "h: 8", "hq: [4, 3], hkv: [1, 2]", "hkv 2 does not divide hq 3"), (11, "h: 8", "hkv: 2", "does not divide hq 1"),
            (11, "h: 8", "hq: 2, hkv: 0", "hkv 0"), (5, "[a, b]", "''", "exec"), (5, "[a, b]", "' '", "exec"), (5, "[a, b]", "['']", "exec"), (11, "d: 8", "dv: 8", "d"), (12, "gaussian", "gauss", "gauss"),
            (12, "seed: 1", "seed: -1", "seed"), (12, "seed: 1", "seed: 9999999999999999999", "seed"),
            (12, "seed: 1", "seed: 18446744073709551615..18446744073709551616", "range"), (12, "seed: 1", "seed: ''", "seed"),
            (13, "[out, lse]", "[]", "empty"), (14, "{out: backward<=16}", "[]", "bound"), (14, "{out: backward<=16}", "{}", "bound"),
            (14, "{out: backward<=16}", "{out: []}", "bound"), (7, "name: a", "name: ''", "name"), (13, "lse", "lsd", "lsd"), (14, "backward<=16", "backwards<=16", "backwards"),
            (14, "out:", "oot:", "oot"), (15, "certified", "true", "expect")):
        text = list(lines)
        text[number - 1] = text[number - 1].replace(old, new, 1)
        # What misses a key is told at the line of the mapping.
        status, out, err, _ = plan("\n".join(text))
        place = re.search(r"plan\.yaml:(\d+): ", err)
        near = {number, 7} if number in (3, 9) else {number}
        if number == 2:
            near = {2, 7}
        expect(f"line {number} with {new} is refused at its line", status == 2 and word in err and place and
               int(place[1]) in near and not out, err)
    status, out, err, _ = plan("\n".join(lines).replace("n: 4", "n: 1..5000").replace("seed: 1", "seed: 1..5000"))
    expect("too many cases are refused", status == 2 and "multiply" in err, err)
    case = lines[6:]
    status, out, err, _ = plan("\n".join([*lines, "  - name: b", *case[1:], *case]))
    expect("two cases of a name are refused", status == 2 and "plan.yaml:25: name a is that of line 7" in err and not out, err)
    for text in ("", "attest: 1\n", "attest: 1\ncases: []\n", "- a\n", "attest: 1\ncases: {\n", "\0", "a: &x [*x]\n"):
        status, out, err, _ = plan(text)
        expect(f"the plan {text!r} exits 2", status == 2 and "plan.yaml" in err, err)
    status, out, err = run("certify", path("absent.yaml"))
    expect("a plan that is not there is named", status == 2 and "absent.yaml" in err, err)
    status, out, err = run("certify", path("plan.yaml"), "--builtin")
    expect("a plan and --builtin exit 2", status == 2, err)


multiply()
generators()
persistent()
interrupted()
skipped()
spoiled()
stored()
everything()
sampled()
wrong()
done()
