#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Files made to harm: nothing is read or written outside of them, memory stays a stated multiple of their size."""
import io
import json
import os
import resource
import struct
import subprocess
import zipfile

import numpy as np

from attest_command import ATTEST, done, expect, folder, path, run

MEMORY = 400 << 20  # address space, libraries included; every file here claims more than that
q = np.ones((4, 2), "f4")
secret = path("secret.npy")
np.save(secret, q)


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def refused(name, *arguments, words=()):
    """Exit 2 with a message, quickly, within the memory, and nothing new in the folder."""
    before = sorted(os.listdir(folder.name))
    status, out, err = run(*arguments, preexec_fn=limited, timeout=60)
    expect(f"refused: {name}", status == 2 and err and all(w in err for w in words) and sorted(os.listdir(folder.name)) == before,
           (status, out[-200:], err[-300:]))


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)


def npy(shape, data=b"", descr="<f4", header=None):
    text = header or f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n" + data


def tensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


# npy: shapes that promise more than there is, in every way.
for shape in ("(1000000000, 1000000000)", "(4611686018427387904, 4)", "(99999999999999999999999,)", "(-1, 4)", "(268435456,)"):
    refused(f"npy of shape {shape}", "inspect", write("x.npy", npy(shape, bytes(64))))
refused("npy with a long header", "inspect", write("x.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFF0) + b" " * 100))
refused("npy whose shape is deep", "inspect", write("x.npy", npy("", header="{'shape': " + "(" * 60000 + "}")))
refused("npy of Python objects", "inspect", write("x.npy", npy("(1,)", b"cos\nsystem\n(S'touch pwned'\ntR.", "|O")))
expect("... which are not run", not os.path.exists(path("pwned")))

# safetensors: offsets and depth.
entry = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
for offsets in ([0, 1 << 62], [16, 0], [-16, 0], [0, 17], [1 << 63, (1 << 63) + 16], [0.0, 16.0]):
    refused(f"safetensors with offsets {offsets}", "inspect", write("x.safetensors", tensors({"q": {**entry, "data_offsets": offsets}}, bytes(16))))
refused("safetensors that overlap", "inspect", write("x.safetensors", tensors({"q": entry, "k": entry}, bytes(16))))
refused("safetensors whose header is longer than the file", "inspect", write("x.safetensors", struct.pack("<Q", 1 << 60) + b"{"))
refused("safetensors with a deep header", "inspect", write("x.safetensors", tensors(b'{"q":' + b"[" * 100000 + b"]" * 100000 + b"}")))
refused("safetensors of many dimensions", "inspect", write("x.safetensors", tensors({"q": {**entry, "shape": [1] * 100000 + [4]}}, bytes(16))))
refused("safetensors whose shape overflows", "inspect",
        write("x.safetensors", tensors({"q": {**entry, "shape": [1 << 62, 1 << 62]}}, bytes(16))))

# npz: paths are names and nothing else; sizes must be possible.
buffer = io.BytesIO()
np.save(buffer, q)
with zipfile.ZipFile(path("paths.npz"), "w") as z:
    for name in ("../escaped.npy", "/tmp/escaped.npy", "a/../../escaped.npy", "secret.npy"):
        z.writestr(name, buffer.getvalue())
status, out, err = run("inspect", path("paths.npz"), preexec_fn=limited)
expect("paths in an npz are but names", status in (0, 2) and not os.path.exists(os.path.join(os.path.dirname(folder.name), "escaped.npy")) and
       not os.path.exists("/tmp/escaped.npy") and not os.path.exists(path("escaped.npy")), err)
refused("a name that is no member", "check", "softmax", "--q", path("paths.npz") + ":../secret", "--k", secret, "--v", secret, "--out", secret)
with zipfile.ZipFile(path("bomb.npz"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    z.writestr("q.npy", npy("(117440512,)") + bytes(448 << 20))
expect("a bomb is small", os.path.getsize(path("bomb.npz")) < 4 << 20)
refused("an npz that unpacks to a thousand times its size", "inspect", path("bomb.npz"))
data = bytearray(open(path("bomb.npz"), "rb").read())
for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):  # the size that is promised
    place = data.find(signature)
    data[place + at:place + at + 4] = struct.pack("<I", 0xF0000000)
refused("an npz that promises what cannot be", "inspect", write("promise.npz", bytes(data)))
os.symlink("/etc/passwd", path("link.npy"))
refused("a link to what is no tensor", "inspect", path("link.npy"))
refused("a folder", "inspect", folder.name)
refused("a device without end", "inspect", "/dev/zero")

# YAML: aliases multiply, nesting is deep, tags run code elsewhere.
laughs = "a0: &a0 [lol, lol]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
for verb, start in (("certify", "attest: 1\ncases:\n"), ("claims", "claims:\n")):
    refused(f"{verb}: a billion laughs", verb, write("laughs.yaml", laughs.encode()))
    refused(f"{verb}: deep nesting", verb, write("deep.yaml", (start + "  - " + "[" * 100000).encode()))
    refused(f"{verb}: a tag", verb, write("tag.yaml", (start + "  - !!python/object/apply:os.system ['touch pwned']\n").encode()))
    refused(f"{verb}: a merge of itself", verb, write("self.yaml", b"&a [*a]\n"))
expect("nothing was run", not os.path.exists(path("pwned")))

# JSON reports: depth and size of numbers.
good = write("good.json", json.dumps({"schema": "attest/1", "cases": []}).encode())
refused("a deep report", "report", good, write("deep.json", b"[" * 200000))
refused("a report that is none", "report", good, write("none.json", b'{"schema": "attest/1", "cases": {"a": 1e999}}'))
refused("an expression without end", "eval", "(" * 100000)

# Memory: at most MULTIPLE times the size of a file, whatever is in it (README, "Trust").
MULTIPLE = 100


def peak(*arguments):
    """The largest resident memory of one run, in bytes."""
    process = subprocess.Popen([ATTEST, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024


SIZE = 1 << 20
dense = {"safetensors": ("inspect", tensors(b'{"a":[' + b"1," * (SIZE // 2) + b"1]}")),
         "safetensors of empty objects": ("inspect", tensors(b'{"a":[' + b"{}," * (SIZE // 3) + b"{}]}")),
         "yaml": ("certify", b"attest: 1\ncases: [" + b"a," * (SIZE // 2) + b"a]\n"),
         "yaml of empty lists": ("claims", b"claims: [" + b"[]," * (SIZE // 3) + b"[]]\n"),
         "yaml in blocks": ("claims", b"claims:\n" + b"- a\n" * (SIZE // 4)),
         "json": ("report", b'{"schema": "attest/1", "cases": [' + b"[]," * (SIZE // 3) + b"[]]}")}
least = peak("inspect", secret)
for name, (verb, data) in dense.items():
    file = write("dense", data)
    if verb == "inspect":
        os.replace(file, path("dense.safetensors"))
        file = path("dense.safetensors")
    used = (peak(verb, file, *([file] if verb == "report" else [])) - least) / len(data)
    expect(f"a dense {name} takes at most {MULTIPLE} times its size", used <= MULTIPLE, f"{used:.1f} times")

# What the fuzzers begin with: nothing there crashes, hangs or reads as a success that it is not.
corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "corpus")
statuses = {}
for format in ("npy", "npz", "safetensors", "yaml", "json"):
    for name in sorted(os.listdir(os.path.join(corpus, format))):
        file = os.path.join(corpus, format, name)
        copy = write("sample." + format, open(file, "rb").read())
        for command in {"yaml": (["certify", copy, "--time", "1s"], ["claims", copy]), "json": (["report", copy, copy],)}.get(
                format, (["inspect", copy],)):
            statuses.setdefault(run(*command, timeout=60)[0], []).append(f"{command[0]} {format}/{name}")
expect("files of the fuzzers' corpus exit as they should", set(statuses) <= {0, 1, 2, 3}, {s: f for s, f in statuses.items() if s not in (0, 1, 2, 3)})
done()
