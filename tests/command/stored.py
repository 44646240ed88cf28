#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Stored outputs in npz (stored, deflated, ZIP64) and in files without a header; archives that are damaged."""
import io
import json
import os
import resource
import struct
import zipfile

import numpy as np

from attest_command import SEED, done, expect, path, run, save

rng = np.random.default_rng(SEED)
Q, K, V = rng.standard_normal((3, 2, 9, 8)).astype("f4")
S = Q.astype(float) @ np.swapaxes(K, -1, -2) / np.sqrt(8)
P = np.exp(S)
OUT = (P @ V / P.sum(-1, keepdims=True)).astype("f4")
LSE = np.log(P.sum(-1)).astype("f4")
BASE = ["--q", save("q", Q), "--k", save("k", K), "--v", save("v", V)]


def archive(name, method, **force):
    file = path(name)
    with zipfile.ZipFile(file, "w", method) as z:
        z.writestr("README.txt", "not a tensor")
        for member, array in (("out", OUT), ("lse", LSE)):
            data = io.BytesIO()
            np.save(data, array)
            with z.open(zipfile.ZipInfo(member + ".npy") if method == zipfile.ZIP_STORED else member + ".npy", "w",
                        **force) as m:
                m.write(data.getvalue())
    return file


def certifies(name, *arguments):
    status, out, err = run("check", "softmax", *arguments)
    expect(f"{name} certifies", status == 0 and out.count("CERTIFIED ") == len(out.splitlines()) > 0, out + err)
    return out


def npz():
    for name, file in (("stored", archive("s.npz", zipfile.ZIP_STORED)),
                       ("deflated", archive("d.npz", zipfile.ZIP_DEFLATED)),
                       ("ZIP64", archive("z.npz", zipfile.ZIP_DEFLATED, force_zip64=True))):
        out = certifies(f"npz, {name},", *BASE, "--out", file, "--lse", file + ":lse")
        expect("... both outputs", out.count("\n") == 2, out)
    for name, save_npz in (("savez", np.savez), ("savez_compressed", np.savez_compressed)):
        save_npz(path(name + ".npz"), q=Q, k=K, v=V, out=OUT, lse=LSE)
        out = certifies(f"numpy.{name} as --input", "--input", path(name + ".npz"))
        expect("... with all its outputs", out.count("\n") == 2, out)
        os.rename(path(name + ".npz"), path(name))
        certifies("... told by its content", "--input", path(name))
    status, out, err = run("inspect", path("s.npz"))
    expect("inspect lists the members", status == 0 and "kind=npz" in out and "out" in out and "lse" in out, out + err)


def refused(name, data, word):
    file = path("damaged.npz")
    with open(file, "wb") as f:
        f.write(data)
    status, out, err = run("check", "softmax", *BASE, "--out", file + ":out")
    expect(f"{name} exits 2 and is named", status == 2 and "damaged.npz" in err and word in err and not out, out + err)


def damaged():
    whole = open(archive("s.npz", zipfile.ZIP_STORED), "rb").read()
    packed = open(archive("d.npz", zipfile.ZIP_DEFLATED), "rb").read()
    place = whole.index(OUT.tobytes()[:16]) + 40
    refused("a changed element", whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:], "CRC")
    place = packed.index(b"out.npy") + 200
    refused("a changed deflated byte", packed[:place] + bytes([packed[place] ^ 0x55]) + packed[place + 1:], "out.npy")
    for cut in (4, 100, len(whole) - 30, len(whole) - 1):
        refused(f"an archive of {cut} bytes", whole[:cut], "archive")
    # The central directory promises a terabyte of a small member.
    at = packed.rindex(b"PK\x01\x02", 0, packed.rindex(b"out.npy"))
    lie = packed[:at + 24] + struct.pack("<I", 0xfffffff0) + packed[at + 28:]
    refused("a size that cannot be true", lie, "")
    refused("no tensor of that name", open(archive("s.npz", zipfile.ZIP_STORED), "rb").read().replace(b"out.npy", b"oot.npy"),
            "no tensor 'out'")
    with zipfile.ZipFile(path("bad.npz"), "w") as z:
        z.writestr("out.npy", b"\x93NUMPY\x01\x00garbage")
    refused("a member that is no npy", open(path("bad.npz"), "rb").read(), "out.npy")


def raw():
    for name, array, dtype in (("f4", OUT, "float32"), ("f8", OUT.astype("f8"), "float64"), ("f2", OUT.astype("f2"), "f16")):
        array.tofile(path("out.bin"))
        LSE.astype(array.dtype).tofile(path("lse.bin"))
        loose = ["--bound", "allclose=2e-3,2e-3"]
        certifies(f"raw {dtype}", *BASE, "--out", path("out.bin"), "--lse", path("lse.bin"), "--shape", "2,9,8", "--dtype",
                  dtype, *loose)
    bits = ((OUT.view("u4") + 0x8000) >> 16).astype("u2")
    bits.tofile(path("out.bin"))
    certifies("raw bfloat16", *BASE, "--out", path("out.bin"), "--shape", "2,9,8", "--dtype", "bf16", "--bound",
              "allclose=8e-3,1e-3")
    Q.tofile(path("q.bin"))
    K.tofile(path("k.bin"))
    V.tofile(path("v.bin"))
    OUT.tofile(path("out.bin"))
    certifies("raw inputs", "--q", path("q.bin"), "--k", path("k.bin"), "--v", path("v.bin"), "--out", path("out.bin"),
              "--shape", "2,9,8", "--dtype", "f32")
    K[:, :5].tofile(path("k.bin"))
    V[:, :5, :3].tofile(path("v.bin"))
    few = np.exp(S[..., :5])
    (few @ V[:, :5, :3] / few.sum(-1, keepdims=True)).astype("f4").tofile(path("o.bin"))
    shapes = ["--dtype", "f32", "--shape", "2,9,8", "--shape", "k:2,5,8", "--shape", "v:2,5,3"]
    files = ["--q", path("q.bin"), "--k", path("k.bin"), "--v", path("v.bin"), "--out", path("o.bin")]
    certifies("raw files of several shapes", *files, *shapes, "--shape", "out:2,9,3")
    certifies("... the general one last", *files, "--shape", "out:2,9,3", *shapes[4:], *shapes[:4])
    for extra, word in ((["--shape", "2,9,3"], "name the tensor"), (["--shape", "w:2,9,3"], "no tensor has that name"),
                        (["--shape", "k:"], "--shape"), ([], "o.bin")):
        status, out, err = run("check", "softmax", *files, *shapes, *extra)
        expect(f"raw files with {extra} more exit 2", status == 2 and word in err and not out, out + err)
    for flags, word in ((["--shape", "2,9,8"], "--dtype"), (["--shape", "2,9", "--dtype", "f32"], "out.bin"),
                        (["--shape", "2;9", "--dtype", "f32"], "--shape"), (["--shape", "1,1,2,9,8", "--dtype", "f32"], "--shape"),
                        (["--shape", "-2,9,8", "--dtype", "f32"], "--shape"), ([], "out.bin")):
        status, out, err = run("check", "softmax", *BASE, "--out", path("out.bin"), *flags)
        expect(f"raw with {flags} exits 2", status == 2 and word in err and not out, out + err)


def without_effect():
    """Flags that change nothing are named; the verdict stands."""
    whole = [*BASE, "--out", save("out", OUT)]
    allclose = ["--bound", "allclose=1e-3,1e-3"]
    for flags, named in ((["--shape", "2,9,8", "--dtype", "f32"], "shape"), (["--dtype", "float16"], "dtype"),
                         (["--arithmetic", "weights=float16"], "arithmetic"),
                         (["--roundoff-scores", "2^-11", *allclose], "roundoff-scores"),
                         (["--roundoff-weights", "2^-11", *allclose], "roundoff-weights"),
                         (["--roundoff-scores", "2^-11"], None), (["--arithmetic", "exp=2ulp", "--bound", "theory"], None),
                         (["--lse", save("lse", LSE), "--roundoff-scores", "2^-11", "--bound", "lse:abs<=1"], None)):
        status, out, err = run("check", "softmax", *whole, *flags)
        told = [line for line in err.splitlines() if "has no effect" in line]
        expect(f"{flags} are told apart by their effect", status == 0 and len(told) == (named is not None)
               and all(f"--{named} has" in line for line in told), out + err)


def large():
    """A gigabyte of safetensors of which a few kilobytes are compared (a sparse file)."""
    file, size = path("large.safetensors"), 1 << 30
    header, at = {}, 0
    for name, array in (("q", Q), ("k", K), ("rest", None), ("v", V), ("out", OUT)):
        n = size if array is None else array.nbytes
        header[name] = {"dtype": "F32", "shape": [n // 4] if array is None else list(array.shape), "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(header).encode()
    with open(file, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name, array in (("q", Q), ("k", K), ("v", V), ("out", OUT)):
            f.seek(8 + len(text) + header[name]["data_offsets"][0])
            f.write(array.tobytes())
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    certifies("a gigabyte of safetensors", "--input", file)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # The sanitizers of a test build need more of their own.
    expect("... takes the memory of what is compared", max(before, after) < 700000, (before, after))
    os.remove(file)


npz()
damaged()
raw()
without_effect()
large()
done()
