#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""attest check --exec: the folder and its files, what may come back, commands that crash, hang, fork, print without
end or fill the disk, Ctrl-C, and that nothing is left behind."""
import glob
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

from attest_command import ATTEST, SCHEMAS, SEED, done, expect, path, processes, run, save, validate

rng = np.random.default_rng(SEED)
Q, K, V = rng.standard_normal((3, 2, 9, 8)).astype("f4")
BASE = ["--q", save("q", Q), "--k", save("k", K), "--v", save("v", V)]
TEMPORARY = path("tmp")
os.mkdir(TEMPORARY)
# Seconds that no other process sleeps: children are found by them.
NAP = os.environ["NAP"] = str(1000000 + os.getpid())

# What a user writes: NumPy, the folder as last argument. MODE says how it misbehaves.
SUBJECT = r'''
import json, os, signal, subprocess, sys, time
import numpy as np

def save_safetensors(path, tensors):
    header, data = {}, b""
    for name, a in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    open(path, "wb").write(len(text).to_bytes(8, "little") + text + data)

def work(d, mode):
    q, k, v = (np.load(f"{d}/{n}.npy").astype(float) for n in "qkv")
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    top = s.max(-1, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(-1, keepdims=True)
    out = (p @ v / total).astype("f4")
    lse = (np.log(total) + top)[..., 0].astype("f4")
    if mode == "both": save_safetensors(d + "/out.safetensors", {"out": out, "lse": lse})
    elif mode == "both-files": save_safetensors(d + "/out.safetensors", {"out": out}); np.save(d + "/out.npy", out)
    elif mode == "lse-beside": save_safetensors(d + "/out.safetensors", {"out": out}); np.save(d + "/lse.npy", lse)
    elif mode == "spoils":  # in place, and its output is that of what stands there now
        np.save(os.environ["VICTIM"], (v * 2).astype("f4")); np.save(d + "/out.npy", out * 2)
    elif mode == "cuts": os.truncate(os.environ["VICTIM"], 0); np.save(d + "/out.npy", out)
    elif mode == "rewrites": np.save(os.environ["VICTIM"], v.astype("f4")); np.save(d + "/out.npy", out)
    elif mode == "scales-q":
        np.load(d + "/q.npy", mmap_mode="r+")[0, 0, 0] += 1; np.save(d + "/out.npy", out)
    elif mode == "shortens-k": os.truncate(d + "/k.npy", 200); np.save(d + "/out.npy", out)
    elif mode == "spoils-dump":
        with open(d + "/in.safetensors", "r+b") as f: f.seek(-1, 2); f.write(b"?")
        np.save(d + "/out.npy", out)
    elif mode == "removes":
        for n in ("q.npy", "in.safetensors"): os.remove(d + "/" + n)
        np.save(d + "/out.npy", out)
    elif mode == "lse-npy": np.save(d + "/out.npy", out); np.save(d + "/lse.npy", lse)
    elif mode == "crash": os.abort()
    elif mode == "status": print("no GPU here", file=sys.stderr); sys.exit(3)
    elif mode == "skip": sys.exit(77)
    elif mode == "hang": time.sleep(600)
    elif mode == "none": pass
    elif mode == "empty": open(d + "/out.npy", "w").close()
    elif mode == "text": open(d + "/out.npy", "w").write("0.1 0.2 0.3")
    elif mode == "truncated": np.save(d + "/out.npy", out); os.truncate(d + "/out.npy", 300)
    elif mode == "shape": np.save(d + "/out.npy", out.swapaxes(0, 1))
    elif mode == "integers": np.save(d + "/out.npy", (out * 100).astype("i4"))
    elif mode == "nan": np.save(d + "/out.npy", out * np.nan)
    elif mode == "huge": np.save(d + "/out.npy", np.zeros((5000, 2000), "f4"))
    elif mode == "pipe": os.mkfifo(d + "/out.npy")
    elif mode == "folder": os.makedirs(d + "/out.npy/deep/er"); os.chmod(d + "/out.npy", 0)
    elif mode == "nested":  # deeper than attest has descriptors
        np.save(d + "/out.npy", out); os.chdir(d)
        for i in range(300): os.mkdir("a"); open("file", "w").close(); os.chdir("a")
        os.chmod("..", 0)
    elif mode == "wrong": np.save(d + "/out.npy", out + np.float32(0.01))
    elif mode == "memory": x = [np.ones(1 << 20)] ; exec("while True: x.append(np.ones(1 << 19)); time.sleep(0.002)")
    elif mode == "prints":
        for i in range(200000): print("CERTIFIED kernel=forged")
        np.save(d + "/out.npy", out)
    elif mode == "garbage-bytes": os.write(1, bytes(range(256)) * 100); os.write(2, b"\x1b[2J\xff"); sys.exit(9)
    elif mode == "children":
        for i in range(4): subprocess.Popen(["sleep", os.environ["NAP"]], start_new_session=i % 2 == 0)
        np.save(d + "/out.npy", out)
    elif mode == "family":
        for i in range(4): subprocess.Popen(["sleep", os.environ["NAP"]], start_new_session=i % 2 == 0)
        open(os.environ["SEEN"], "w").close(); time.sleep(616)
    elif mode == "elsewhere": os.rename(d, d + "-moved"); os.symlink(os.environ["SEEN"], d)
    elif mode == "link": os.symlink("/dev/zero", d + "/out.npy")
    elif mode == "sparse": np.lib.format.open_memmap(d + "/out.npy", mode="w+", dtype="f4", shape=(9, 2**32))
    elif mode == "bomb":
        for i in range(5):
            if os.fork() == 0 and i == 4: time.sleep(614)
        time.sleep(614)
    elif mode == "seen":
        open(os.environ["SEEN"], "w").write(json.dumps([d, sorted(os.listdir(d)), json.load(open(d + "/problem.json"))]))
        np.save(d + "/out.npy", out)
    else: np.save(d + "/out.npy", out)

if __name__ == "__main__":
    work(sys.argv[-1], os.environ.get("MODE", ""))
'''
KERNEL = path("kernel.py")
open(KERNEL, "w").write(SUBJECT)
COMMAND = f"{sys.executable} {KERNEL}"


def check(mode, *arguments, command=COMMAND, base=BASE, **environment):
    file = path("c.json")
    if os.path.exists(file):
        os.remove(file)
    status, out, err = run("check", "softmax", *base, "--exec", command, "--json", file, *arguments,
                           env={**os.environ, "MODE": mode, "TMPDIR": TEMPORARY, **environment})
    left = os.listdir(TEMPORARY)
    if left:
        expect(f"nothing is left behind ({mode})", False, left)
    return status, json.load(open(file)) if os.path.exists(file) else None, out, err


def sound():
    status, document, out, err = check("")
    expect("out.npy certifies", status == 0 and out.startswith("CERTIFIED ") and "output=out elements=144" in out, out + err)
    expect("the certificate has the digest of what came back", len(document["cases"][0]["inputs"]["out"]["sha256"]) == 64)
    for mode in ("both", "lse-npy"):
        status, _, out, err = check(mode, "--outputs", "out,lse")
        expect(f"out and lse ({mode})", status == 0 and "output=lse elements=18" in out, out + err)
    status, _, out, err = check("", "--outputs", "out,lse")
    expect("an output that is asked for and not written is refuted", status == 1 and "reason=no-output" in out and
           "lse" in err, out + err)
    seen = path("seen.json")
    status, _, out, err = check("seen", "--causal", "none", "--softcap", "5", SEEN=seen)
    folder, files, problem = json.load(open(seen))
    expect("the folder holds the problem", files == ["in.safetensors", "k.npy", "problem.json", "q.npy", "v.npy"], files)
    expect("... in TMPDIR, gone afterwards", folder.startswith(TEMPORARY + "/") and not os.path.exists(folder), folder)
    open(path("problem.json"), "w").write(json.dumps(problem))
    validate(path("problem.json"), "problem")
    expect("problem.json names kernel and parameters", problem["kernel"] == "softmax" and
           problem["params"]["softcap"] == "5", problem)
    bits = path("bits.npy")
    np.save(bits, (Q.view("u4") >> 16).astype("u2"))
    env = {**os.environ, "TMPDIR": TEMPORARY}
    status, out, err = run("check", "softmax", "--q", bits, "--k", bits, "--v", bits, "--bf16", "--exec",
                           f"f() {{ ls $1 >{path('listed')}; cp {bits} $1/out.npy; }}; f", env=env)
    expect("bfloat16 comes in safetensors only, and back by --bf16",
           open(path("listed")).read().split() == ["in.safetensors", "problem.json"] and status == 1 and
           "bound=backward<=4 " in out, out + err)
    status, _, out, err = check("", command=f"X=1 {COMMAND}")
    expect("the command goes through the shell", status == 0, err)


def inputs():
    """Whatever a subject does to its inputs, what it is compared with stays as it was."""
    digest = hashlib.sha256(open(BASE[5], "rb").read()).hexdigest()
    for mode, reason in (("spoils", "wrote-input(v)"), ("cuts", "wrote-input"), ("rewrites", None), ("scales-q", "wrote-input(q)"),
                         ("shortens-k", "wrote-input(k)"), ("spoils-dump", "wrote-input(v)"), ("removes", None)):
        victim = path("victim.npy")
        shutil.copy(BASE[5], victim)
        status, document, out, err = check(mode, "--v", victim, base=BASE[:4], VICTIM=victim)
        if reason:
            expect(f"{mode} is refuted: {reason}", status == 1 and f"reason={reason}" in out and "input" in err, out + err)
        else:
            expect(f"{mode}: what no longer differs, or is no longer there, is nothing written", status == 0, out + err)
        expect("... with the digest of what stood there before", document["cases"][0]["inputs"]["v"]["sha256"] == digest, document)
    np.savez_compressed(path("kv.npz"), k=K, v=V)
    mask = np.ones((9, 9), "?")
    mask.view("u1")[2] = 7  # true all the same
    status, out, err = run("check", "softmax", "--q", save("swapped", np.asfortranarray(Q).astype(">f4", order="F")), "--input",
                           path("kv.npz"), "--mask", save("mask", mask), "--bias", save("bias", np.zeros((1, 1, 1), "f2")), "--exec", COMMAND,
                           env={**os.environ, "MODE": ""})
    expect("other byte orders, Fortran order, archives and booleans are no writes", status == 0, out + err)
    library = path("spoils.so")
    open(path("spoils.c"), "w").write(r'''
#include <attest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int spoils(const attest_call *call) {
  FILE *f = fopen(getenv("VICTIM"), "r+b");
  if (!f || fseek(f, -4, SEEK_END) || fputc('!', f) == EOF || fclose(f)) return 1;
  memset(call->out.data, 0, 144 * 4);
  return 0;
}''')
    built = subprocess.run(["gcc", "-shared", "-fPIC", "-I", os.path.join(os.path.dirname(SCHEMAS), "..", "src"), path("spoils.c"), "-o", library])
    shutil.copy(BASE[5], victim)
    status, out, err = run("check", "softmax", *BASE[:4], "--v", victim, "--library", library + ":spoils",
                           env={**os.environ, "VICTIM": victim})
    expect("a library that writes to the file of an input is refuted", built.returncode == 0 and status == 1 and
           "reason=wrote-input(v)" in out, out + err)


def refuted():
    reasons = {"crash": "crash(SIGABRT)", "status": "status(3)", "none": "no-output", "empty": "garbage",
               "text": "garbage", "truncated": "garbage", "shape": "wrong-shape", "integers": "wrong-shape",
               "both-files": "two-outputs", "lse-beside": "two-outputs", "huge": "wrong-shape", "pipe": "garbage", "folder": "garbage", "garbage-bytes": "status(9)"}
    for mode, reason in reasons.items():
        status, document, out, err = check(mode)
        expect(f"{mode} is refuted: {reason}", status == 1 and out.startswith("REFUTED ") and f"reason={reason}\n" in out,
               out + err)
        expect("... in the certificate too", document["cases"][0]["failure"]["reason"] == reason)
    status, _, _, err = check("status")
    expect("what it printed is shown", "no GPU here" in err, err)
    status, _, _, err = check("garbage-bytes")
    expect("... without what would move the cursor", "\x1b" not in err, err)
    for mode in ("nan", "wrong"):
        status, _, out, err = check(mode)
        expect(f"{mode} is refuted by comparison", status == 1 and "backward=" in out, out + err)
    start = time.monotonic()
    status, _, out, err = check("hang", "--timeout", "1")
    expect("a hang is refuted in time", status == 1 and "reason=timeout\n" in out and time.monotonic() - start < 10, out)
    status, _, out, err = check("memory", "--memory", "200M")
    expect("too much memory is refuted", status == 1 and "reason=memory\n" in out, out + err)
    status, _, out, err = check("prints")
    expect("what a subject prints is no verdict", status == 0 and "forged" not in out, out[:300])
    status, _, out, err = check("skip")
    expect("status 77 is skipped", status == 0 and out.startswith("SKIPPED "), out + err)


def ended():
    status, _, out, err = check("children")
    expect("children that were left running are ended", status == 0 and not processes(f"^sleep {NAP}"), out + err)
    nofile = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, nofile[1]))
    status, _, out, err = check("nested")
    resource.setrlimit(resource.RLIMIT_NOFILE, nofile)
    expect("folders are removed at any depth", status == 0 and out.startswith("CERTIFIED "), out + err)
    status, _, out, err = check("", command=COMMAND + "\n")
    expect("the end of the line is no part of the command", status == 0 and out.startswith("CERTIFIED "), out + err)
    status, _, out, err = check("bomb", "--timeout", "1.5")
    expect("so is a small fork bomb", status == 1 and not processes(KERNEL), out + err)
    for number, code in ((signal.SIGINT, 3), (signal.SIGTERM, 3), (signal.SIGHUP, 3)):
        p = subprocess.Popen([ATTEST, "check", "softmax", *BASE, "--exec", COMMAND], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, "MODE": "hang", "TMPDIR": TEMPORARY})
        while not glob.glob(TEMPORARY + "/attest-*/problem.json"):
            time.sleep(0.02)
        time.sleep(0.3)
        p.send_signal(number)
        out, err = p.communicate(timeout=20)
        expect(f"{number.name} ends it with status 3", p.returncode == code and "interrupted" in err, out + err)
        expect("... without a process or folder left", not processes(KERNEL) and not os.listdir(TEMPORARY),
               os.listdir(TEMPORARY))


def elsewhere():
    """What a subject puts in place of its folder or output leads nowhere."""
    victim = path("victim")
    os.mkdir(victim, 0o555)
    open(path("victim-file"), "w").close()
    status, out, err = run("check", "softmax", *BASE, "--exec", COMMAND,
                           env={**os.environ, "MODE": "elsewhere", "TMPDIR": TEMPORARY, "SEEN": victim})
    left = os.listdir(TEMPORARY)
    expect("a link in place of the folder is removed, what it names is not touched", status == 1 and "no-output" in out and
           os.stat(victim).st_mode & 0o777 == 0o555 and len(left) == 1 and left[0].endswith("-moved"), (out, err, left))
    shutil.rmtree(os.path.join(TEMPORARY, left[0]))
    status, _, out, err = check("link")
    expect("an output that is a device is garbage", status == 1 and "reason=garbage" in out, out + err)
    status, _, out, err = check("sparse", "--memory", "1G")
    expect("an output of 137 GB without blocks is of the wrong shape", status == 1 and "reason=wrong-shape" in out, out + err)
    status, _, out, err = check("", TMPDIR=path("a\nb"))
    expect("a folder with a line end in its name exits 2", status == 2 and "line end" in err, err)


def killed():
    """Without a chance to clean up: SIGKILL to attest alone, and to its process group."""
    for everyone in (False, True):
        seen = path("family")
        p = subprocess.Popen([ATTEST, "check", "softmax", *BASE, "--exec", COMMAND], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True,
                             env={**os.environ, "MODE": "family", "TMPDIR": TEMPORARY, "SEEN": seen})
        while not os.path.exists(seen):
            time.sleep(0.02)
        os.remove(seen)
        there = len(processes(f"^sleep {NAP}"))
        os.killpg(p.pid, signal.SIGKILL) if everyone else p.kill()
        p.wait()
        gone = lambda: not processes(KERNEL) and not processes(f"^sleep {NAP}") and not os.listdir(TEMPORARY)
        for _ in range(200):
            if not gone():
                time.sleep(0.05)
        expect(f"when {'all its group' if everyone else 'attest'} is killed, processes and folder go too", there == 4 and gone(),
               (there, processes(KERNEL), processes(f"^sleep {NAP}"), os.listdir(TEMPORARY)))
    status, out, err = run("subject-watcher", stdin=subprocess.DEVNULL)
    expect("the watcher is of no use by hand", status == 2 and "attest itself" in err, err)


def trouble():
    for folder, what in ((path("absent"), "is not there"), ("/proc", "cannot be written")):
        status, document, out, err = check("", TMPDIR=folder)
        expect(f"a temporary folder that {what} exits 2", status == 2 and "TMPDIR" in err and not out, out + err)
    for command, word in (("/no/such/program", "/no/such/program"), (KERNEL, KERNEL)):
        status, document, out, err = check("", command=command)
        expect(f"{os.path.basename(command)}: no command exits 2", status == 2 and word in err and not out, out + err)
    for command in ("", " ", "\n"):
        status, _, out, err = check("", command=command)
        expect(f"the command {command!r} exits 2", status == 2 and "exec is empty" in err and not out, out + err)
    status, _, out, err = check("", "--library", "x.so:f")
    expect("two subjects exit 2", status == 2 and "give one" in err, err)
    status, _, out, err = check("", "--out", BASE[1])
    expect("a subject and a stored output exit 2", status == 2 and "give one" in err, err)
    full = path("full")
    os.mkdir(full)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", full], stderr=subprocess.DEVNULL).returncode == 0:
        try:
            status, _, out, err = check("", TMPDIR=full)
            expect("a full disk exits 2", status == 2 and not out, out + err)
            expect("... and leaves nothing behind", not os.listdir(full), os.listdir(full))
            subprocess.run(["mount", "-o", "remount,size=20k", full], check=True)
            size = subprocess.run(["df", "--output=avail", full], stdout=subprocess.PIPE, text=True).stdout
            status, _, out, err = check("", TMPDIR=full)
            expect("a disk that is full when the subject writes is no refutation", status in (0, 2), out + err + size)
        finally:
            subprocess.run(["umount", full], check=True)
    else:
        print("     no file system can be mounted here: full disks are left out")


sound()
inputs()
refuted()
ended()
killed()
elsewhere()
trouble()
done()
