#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Faults of the world around: kill -9, full disks, read-only folders, no memory, signals, two runs on one file, locales.
ATTEST_FAULTS says how many random moments of kill -9 are tried (12)."""
import glob
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

import numpy as np

from attest_command import ATTEST, SEED, done, expect, folder, path, run, save

COUNT = int(os.environ.get("ATTEST_FAULTS", "12"))
rng = np.random.default_rng(SEED)
random.seed(SEED)
q, k, v = (rng.standard_normal((2, 64, 16)).astype("f4") for _ in range(3))
s = q @ k.swapaxes(1, 2) / 4
p = np.exp(s - s.max(-1, keepdims=True))
BASE = ["--q", save("q", q), "--k", save("k", k), "--v", save("v", v)]
GOOD = save("good", (p / p.sum(-1, keepdims=True) @ v).astype("f4"))
np.savez(path("dump.npz"), q=q, k=k, v=v, out=np.load(GOOD))
with open(path("plan.yaml"), "w") as f:
    f.write("attest: 1\nsubjects:\n  stored: {out: 'dump.npz:out'}\ncases:\n  - {name: a, subject: stored, kernel: softmax,"
            " input: dump.npz, bound: abs<=1e-3, params: {scale: ['1/4', '1/5', '1/6']}}\n")
CHECK = ["check", "softmax", *BASE, "--out", GOOD]


moments = losses = 0


def count_losses(tried, lost):
    global moments, losses
    moments, losses = moments + tried, losses + lost


def whole(file):
    """Whether it is a report in full."""
    text = open(file).read()
    if file.endswith(".xml"):
        return text.startswith("<?xml") and text.rstrip().endswith("</testsuite>")
    try:
        return "totals" in json.loads(text)
    except ValueError:
        return False


def seconds(arguments):
    begin = time.monotonic()
    subprocess.run([ATTEST, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder.name)
    return time.monotonic() - begin


def killed_while_reporting():
    """A report is the old one or the new one, at every moment."""
    files = [path("kill.json"), path("kill.xml")]
    command = [*CHECK, "--case", "x" * 20000, "--json", files[0], "--junit", files[1]]
    duration = max(seconds(command) for _ in range(2))
    expect("reports are whole to begin with", all(map(whole, files)))
    broken, new = [], 0
    for i in range(COUNT):
        for file in files:
            with open(file, "a") as f:
                f.write("\n")  # marks the old one, which stays whole
        old = [open(file).read() for file in files]
        # Every other time when a temporary file appears: that is the moment of writing.
        process = subprocess.Popen([ATTEST, *command], stdout=subprocess.DEVNULL, cwd=folder.name)
        end = time.monotonic() + random.random() * duration * 1.1
        while time.monotonic() < end and process.poll() is None:
            if i % 2 and len(glob.glob(path("*kill*"))) > 2:
                break
        process.kill()
        process.wait()
        for file, text in zip(files, old):
            broken += [] if whole(file) else [file]
            new += open(file).read() != text
        for rest in set(glob.glob(path("*kill*"))) - set(files):
            os.remove(rest)
    count_losses(COUNT, len(broken))
    expect(f"kill -9 at {COUNT} moments of check leaves no broken report", not broken, broken)
    print(f"     {new} of {2 * COUNT} reports were new, the others as before")


def killed_while_certifying():
    """What certify leaves behind after kill -9 does not trouble the next run."""
    status, out, err = run("certify", "plan.yaml", "--json", "plan.json")
    if status not in (0, 1):
        expect("the plan runs", False, err)
        return
    duration, broken = seconds(["certify", "plan.yaml", "--json", "plan.json"]), 0
    for _ in range(COUNT):
        process = subprocess.Popen([ATTEST, "certify", "plan.yaml", "--json", "plan.json"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=folder.name)
        time.sleep(random.random() * duration)
        process.kill()
        process.wait()
        broken += not whole(path("plan.json"))
    count_losses(COUNT, broken)
    expect(f"kill -9 at {COUNT} moments of certify leaves no broken report", broken == 0, broken)
    again = run("certify", "plan.yaml", "--json", "plan.json")
    expect("... and the next run says the same", again[:2] == (status, out), again)


def killed_while_referring():
    file = path("kept.json")
    command = ["reference", "softmax", *BASE, "--digits", "40", "--output", file]
    duration, broken = seconds(command), 0
    for _ in range(COUNT):
        process = subprocess.Popen([ATTEST, *command], cwd=folder.name)
        time.sleep(random.random() * duration)
        process.kill()
        process.wait()
        try:
            broken += len(json.load(open(file))["output"]["mid"]) != q[..., 0].size * v.shape[-1]
        except ValueError:
            broken += 1
    count_losses(COUNT, broken)
    expect(f"kill -9 at {COUNT} moments of reference leaves no broken file", broken == 0, broken)


SLOW = """#include <math.h>
#include <stddef.h>
#include <unistd.h>
void slow(float *y, const float *x, size_t n) {
  usleep(30000);
  for (size_t i = 0; i < n; i++)
    y[i] = (float)exp((double)x[i]);
}
"""
WINDOW = 2.5  # seconds of work that a sweep may lose: a transaction takes one, a block of the slow function far less


def blocks(ledger):
    """The number of blocks on disk, once SQLite has taken back the transaction that a kill cut off."""
    if not os.path.exists(ledger):
        return 0
    db = sqlite3.connect(ledger)
    try:
        if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'block'").fetchone()[0]:
            return 0  # killed before there was one
        return db.execute("SELECT count(*) FROM block").fetchone()[0]
    finally:
        db.close()


def killed_while_sweeping():
    """A sweep that is killed again and again and resumed: nothing is lost but the last moments, and it certifies what it
    certifies undisturbed."""
    with open(path("slow.c"), "w") as f:
        f.write(SLOW)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", path("slow.c"), "-o", path("slow.so"), "-lm"], check=True)
    part = ["sweep", "exp", "--from", "1", "--to", "1.5", "--library", "./slow.so:slow", "--abi", "array", "--quiet", "--threads", "1"]
    status, out, err = run(*part, "--json", "sweep.json", timeout=300)
    expect("the sweep runs", status == 0, err)
    outputs = json.load(open(path("sweep.json")))
    fallen, late, longest, again = 0, 0, 0.0, 0
    for i in range(COUNT):
        ledger = path(f"ledger{again}")
        before, begin = blocks(ledger), time.time()
        process = subprocess.Popen([ATTEST, *part, "--resume", ledger], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder.name)
        try:
            process.wait(random.random() * 2.2)
            again += 1  # it came to its end
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            written = os.path.getmtime(ledger) if os.path.exists(ledger) else begin
            lost = time.time() - max(written, begin)
            late, longest = late + (lost > WINDOW), max(longest, lost)
        fallen += blocks(ledger) < before
    count_losses(COUNT, fallen + late)
    expect("no block that a ledger had is gone, no work but that of the last moments", not fallen and not late, (fallen, late, longest))
    print(f"     at most {longest:.1f} s of work were lost at once, {again} sweeps came to their end")
    for ledger in glob.glob(path("ledger*")):
        if ledger.endswith("-journal"):
            continue
        done_again = run(*part, "--resume", ledger, "--json", "again.json", timeout=300)
        document = json.load(open(path("again.json"))) if os.path.exists(path("again.json")) else {}
        same = all(document.get(name) == outputs.get(name) for name in set(outputs) - {"timing", "environment"})
        expect("killed and resumed, a sweep certifies the same", done_again[0] == status and same, done_again[2] or done_again[1][-300:])


def memory():
    """One message and exit 2, or success; never a partial file, never a status that reads as a verdict."""
    wrong, found = [], {}
    commands = {"check": [*CHECK, "--json", "m.json"], "reference": ["reference", "softmax", *BASE, "--digits", "60", "--output", "m.json"],
                "certify": ["certify", "plan.yaml", "--json", "m.json"], "eval": ["eval", "pi^(7^7)", "--digits", "200000"]}
    settled = run(*commands["certify"])[0]
    for name, command in commands.items():
        for megabytes in (48, 52, 56, 60, 66, 72, 80, 100, 140):
            size = megabytes << 20
            if os.path.exists(path("m.json")):
                os.remove(path("m.json"))
            status, out, err = run(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
            if status == 127 or "shared librar" in err:
                continue  # the loader has too little: nothing of attest ran
            found[status] = found.get(status, 0) + 1
            text = [x for x in err.splitlines() if x.strip()]
            good = status == 0 or (name == "certify" and status == settled)
            if not good and not (status == 2 and len(text) == 1 and not glob.glob(path("m.json*"))):
                wrong.append((name, megabytes, status, err[-200:], glob.glob(path("m.json*"))))
    expect("too little memory is one message and exit 2, without a file", not wrong, wrong[:3])
    expect("... and that has been seen", found.get(2, 0) > 3 and found.get(0, 0) > 3, found)


def folders():
    """Where nothing can be written: said before the work, exit 2."""
    status, out, err = run(*CHECK, "--json", "/proc/attest.json")
    expect("a folder that takes no files exits 2", status == 2 and "/proc/attest.json" in err, (status, err))
    status, out, err = run("reference", "softmax", *BASE, "--output", "/proc/r.json")
    expect("... for references too", status == 2 and "/proc/r.json" in err, (status, err))
    locked = path("locked")
    os.mkdir(locked)
    shutil.copy(ATTEST, path("attest"))
    os.chmod(folder.name, 0o755)
    os.chmod(locked, 0o555)

    def nobody():
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
    r = subprocess.run([path("attest"), *CHECK, "--json", os.path.join(locked, "a.json")], preexec_fn=nobody, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    expect("a read-only folder exits 2 and is named", r.returncode == 2 and "locked/a.json" in r.stderr, (r.returncode, r.stderr))
    expect("... and holds nothing", not os.listdir(locked))


def signals():
    """A signal ends a run; what it was writing does not appear, and it never reads as success."""
    big = [x for name in ("q", "k", "v", "out") for x in ("--" + name, save("big", np.zeros((8, 8192, 32), "f4")))]
    for what in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL):
        process = subprocess.Popen([ATTEST, "check", "softmax", *big, "--bound", "abs<=1", "--json", path("signal.json")],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder.name, text=True)
        time.sleep(0.3)
        process.send_signal(what)
        out, _ = process.communicate(timeout=120)
        left = glob.glob(path("signal.json*"))
        expect(f"{what.name} does not read as success and leaves no broken file",
               process.returncode != 0 and "CERTIFIED elements" not in out and all(map(whole, left)), (process.returncode, out, left))
        for file in left:
            os.remove(file)
    reader, writer = os.pipe()
    os.close(reader)
    r = subprocess.run([ATTEST, *CHECK], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    expect("a reader that went away does not read as success", r.returncode != 0, r.returncode)


def together():
    """Two runs that write the same file: it is that of one of them, in full."""
    torn = 0
    for i in range(6):
        pair = [subprocess.Popen([ATTEST, *CHECK, "--case", name * (1 + 9000 * (i % 2)), "--json", path("both.json")],
                                 stdout=subprocess.DEVNULL, cwd=folder.name) for name in "ab"]
        statuses = [process.wait() for process in pair]
        case = json.load(open(path("both.json")))["cases"][0]["case"]
        torn += statuses != [0, 0] or len(set(case)) != 1
    expect("two runs on one output leave the report of one of them", torn == 0 and len(glob.glob(path("*both*"))) == 1,
           (torn, glob.glob(path("*both*"))))


def locale():
    """A decimal comma changes nothing."""
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", path("de_DE.UTF-8")], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0 if shutil.which("localedef") else False
    german = {**os.environ, "LC_ALL": "de_DE.UTF-8", "LOCPATH": folder.name, "LANG": "de_DE.UTF-8"}
    print("" if made else "     no locale can be made here\n", end="")
    for command in (CHECK, ["eval", "pi/4", "--digits", "30"], ["certify", "plan.yaml"], ["tolerance", "softmax", "--n", "32", "--d", "8"]):
        expect(f"a decimal comma changes nothing in {command[0]}", run(*command, env=german)[:2] == run(*command)[:2])


killed_while_reporting()
killed_while_certifying()
killed_while_referring()
killed_while_sweeping()
print(f"     kill -9 losses {losses} at {moments} moments")
memory()
folders()
signals()
together()
locale()
done()
