#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""softmax_acceptance.py ATTEST: what attest check softmax says of kernels as people write them, right
and wrong ones, on the tensors of data/stories260k. Needs python3-numpy; python3-torch where present."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ATTEST = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "data", "stories260k")
WORK = tempfile.mkdtemp()
Q, K, V = (np.load(f"{DATA}/{name}.npy") for name in "qkv")
LAYERS, HEADS, N, D = Q.shape
SCALE = D**-0.5
CAUSAL = np.tril(np.ones((N, N), bool))
failed = 0


def report(name, ok, detail=""):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'FAIL'} {name}{': ' if detail else ''}{detail}"[:300], flush=True)


def save(name, array):
    np.save(f"{WORK}/{name}.npy", array)
    return f"{WORK}/{name}.npy"


def check(out, *flags, environment=None, **tensors):
    """Exit status and the whole certificate; `tensors` are inputs, q, k, v those of the model."""
    arguments = []
    for name, array in {"q": Q, "k": K, "v": V, **tensors, "out": out}.items():
        path = array if isinstance(array, str) else save(name, array)
        arguments += ["--" + name.replace("_", "-"), path]
    r = subprocess.run([ATTEST, "check", "softmax", *arguments, *map(str, flags), "--json", "c.json"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                       cwd=WORK, env={**os.environ, **(environment or {})})
    if r.returncode not in (0, 1, 3):
        raise RuntimeError(r.stderr)
    with open(f"{WORK}/c.json") as file:
        return r.returncode, json.load(file)


def verdict(out, *flags, **tensors):
    """Verdict, largest backward error, and elements that were refuted, of `out`."""
    _, certificate = check(out, *flags, **tensors)
    o = certificate["cases"][0]["outputs"][0]
    return o["verdict"], float(o["error"]["backward"]["hi"]), o["counts"]["refuted"]


def grouped(x, heads=HEADS):
    """Key heads repeated for the query heads that read them."""
    return np.repeat(x, heads // x.shape[-3], axis=-3)


def weights(s):
    """Softmax of the last axis as people write it."""
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(q, k, v, visible=CAUSAL, scale=SCALE, dtype=np.float64, cap=None, bias=None,
           alter=lambda s: s):
    """Attention in the given dtype; k and v have the heads of q. `alter` spoils the scores."""
    q, k, v = (x.astype(dtype) for x in (q, k, v))
    s = alter(q @ k.swapaxes(-1, -2) * dtype(scale))
    if cap:
        s = dtype(cap) * np.tanh(s / dtype(cap))
    if bias is not None:
        s = s + bias.astype(dtype)
    return weights(np.where(visible, s, dtype(-np.inf))) @ v


def bfloat16(x):
    """Nearest bfloat16 values of float64 numbers, ties to even, as float64 (normal numbers)."""
    bits = np.ascontiguousarray(x, np.float64).view(np.uint64)
    bits = bits + np.uint64(2**44 - 1) + (bits >> np.uint64(45) & np.uint64(1))
    return (bits >> np.uint64(45) << np.uint64(45)).view(np.float64)


def as_bfloat16(x):
    """Two-byte void items, as frameworks save bfloat16 in npy."""
    return (bfloat16(x).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")


# ---- correct outputs certify ----


def numpy_float32():
    out = attend(Q, grouped(K), grouped(V), dtype=np.float32)
    v, worst, _ = verdict(out, "--causal", "top-left", "--bound", "backward<=16")
    report("NumPy float32 softmax certifies on all layers at backward<=16", v == "certified",
           f"{v}, largest backward {worst:.3f}")
    return out


def torch_float32():
    try:
        import torch
    except ImportError:
        print("skip PyTorch: python3-torch is not installed")
        return
    f = torch.nn.functional
    q, k, v = (torch.from_numpy(np.ascontiguousarray(x)) for x in (Q, grouped(K), grouped(V)))
    if hasattr(f, "scaled_dot_product_attention"):
        out = f.scaled_dot_product_attention(q, k, v, is_causal=True)
    elif hasattr(f, "_scaled_dot_product_attention"):
        out = f._scaled_dot_product_attention(q, k, v, is_causal=True)
    else:
        print("skip PyTorch: it has no scaled_dot_product_attention")
        return
    out = (out[0] if isinstance(out, tuple) else out).numpy()
    v, worst, _ = verdict(out, "--causal", "top-left", "--bound", "backward<=16")
    report(f"PyTorch {torch.__version__} attention certifies on all layers at backward<=16",
           v == "certified", f"{v}, largest backward {worst:.3f}")


# ---- wrong outputs are refuted ----


def injected_errors(out):
    """1,000 rows, one element of each off by 1e-4 of the largest of the row."""
    flags = ["--causal", "top-left", "--bound", "backward<=16"]
    clean = verdict(out, *flags)[2]
    for what in "result", "value":
        random = np.random.default_rng(1)
        bad = out.copy()
        rows = random.choice(LAYERS * HEADS * N, 1000, replace=False)
        layer, head, i = np.unravel_index(rows, (LAYERS, HEADS, N))
        component = random.integers(0, D, rows.size)
        size = np.abs(out[layer, head, i]).max(axis=-1)
        if what == "value":
            seen = np.maximum.accumulate(np.abs(grouped(V)).max(axis=-1), axis=-1)
            size = seen[layer, head, i]
        bad[layer, head, i, component] += random.choice([-1, 1], rows.size) * 1e-4 * size
        refuted = verdict(bad, *flags)[2]
        report(f"98 % of 1000 errors of 1e-4 of the row's largest {what} are refuted",
               clean == 0 and refuted >= 980, f"{refuted} of 1000; {clean} without errors")


def narrow(name, rounded, inputs, *flags):
    """Outputs of 16 bits: right ones, and ones whose scale is 2 % off."""
    q, k, v = (inputs(x) for x in (Q, K, V))
    exact = [np.asarray(bfloat16(x) if name == "bfloat16" else x.astype(np.float16), np.float64)
             for x in (Q, K, V)]
    exact[1:] = [grouped(x) for x in exact[1:]]
    flags = [*flags, "--causal", "top-left", "--bound", "backward<=4"]
    for what, dtype in ("float64", np.float64), ("float32", np.float32):
        out = rounded(attend(*exact, dtype=dtype).astype(np.float64))
        result, worst, _ = verdict(out, *flags, q=q, k=k, v=v)
        report(f"{name} outputs of {what} softmax certify at backward<=4", result == "certified",
               f"{result}, largest backward {worst:.3f}")
    out = rounded(attend(*exact, scale=1.02 * SCALE))
    result, worst, _ = verdict(out, *flags, q=q, k=k, v=v)
    report(f"{name} outputs with the scale wrong by 2 % are refuted at backward<=4",
           result == "refuted", f"{result}, largest backward {worst:.3f}")


def safetensors(path, arrays):
    """{name: (dtype, shape, bytes)} as a safetensors file."""
    header, offset = {}, 0
    for name, (dtype, shape, data) in arrays.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(a[2] for a in arrays.values()))


def narrow_safetensors():
    out = as_bfloat16(attend(Q[0], grouped(K[0]), grouped(V[0])))
    path = f"{WORK}/out.safetensors"
    safetensors(path, {"other": ("F32", [1], b"\0\0\0\0"), "out": ("BF16", out.shape, out.tobytes())})
    result, worst, _ = verdict(path + ":out", "--causal", "top-left", q=Q[0], k=K[0], v=V[0])
    report("bfloat16 outputs in safetensors certify at the default bound", result == "certified",
           f"{result}, largest backward {worst:.3f}")


def online(q, k, v, stale, block=64):
    """Softmax block by block with a running shift; stale: old sums keep their old shift."""
    m, total, out = np.full((*q.shape[:-1], 1), -np.inf), 0.0, 0.0
    for first in range(0, N, block):
        keys = slice(first, first + block)
        s = np.where(CAUSAL[:, keys], q @ k[..., keys, :].swapaxes(-1, -2) * SCALE, -np.inf)
        new = np.maximum(m, s.max(axis=-1, keepdims=True))
        rescale = 1 if stale else np.exp(m - new)
        p = np.exp(s - new)
        total = total * rescale + p.sum(axis=-1, keepdims=True)
        out = out * rescale + p @ v[..., keys, :]
        m = new
    return out / total


def mutants():
    """(name, right output, wrong output, flags, tensors): kernels with one mistake each."""
    q, k, v = (x.astype(np.float64) for x in (Q[2], grouped(K[2]), grouped(V[2])))
    order = np.arange(N)
    distance = order[None, :] - order[:, None]
    causal = ["--causal", "top-left"]
    right = attend(q, k, v)
    yield "causal mask off by one", right, attend(q, k, v, distance <= 1), causal, {}
    yield "causal mask without the diagonal", right, \
        attend(q, k, v, (distance < 0) | (order[:, None] + order == 0)), causal, {}
    window = CAUSAL & (distance >= -15)
    yield "window off by one", attend(q, k, v, window), \
        attend(q, k, v, CAUSAL & (distance >= -16)), [*causal, "--window", "15,0"], {}
    yield "scale missing", right, attend(q, k, v, scale=1), causal, {}
    swapped = [np.tile(x[2].astype(np.float64), (HEADS // K.shape[1], 1, 1)) for x in (K, V)]
    yield "heads of grouped attention interleaved", right, attend(q, *swapped), causal, {}
    capped = attend(q, k, v, cap=5)
    masked = attend(q, k, v, True, cap=5, alter=lambda s: np.where(CAUSAL, s, -1e9))
    cap = [*causal, "--softcap", "5"]
    yield "softcap after the mask", capped, masked, cap, {}
    yield "softcap missing", capped, right, cap, {}
    slopes = 2.0 ** -np.arange(1, HEADS + 1)
    bias = slopes[:, None, None] * distance
    yield "ALiBi with the sign turned", attend(q, k, v, bias=bias), attend(q, k, v, bias=-bias), \
        causal, {"alibi_slopes": slopes.astype(np.float32)}
    last = np.broadcast_to(order < N - 1, (N, N))
    yield "last key dropped", attend(q, k, v, True), attend(q, k, v, last), [], {}
    yield "scores rounded to bfloat16", right, attend(q, k, v, alter=bfloat16), causal, {}
    yield "stale shift of an online softmax", online(q, k, v, False), online(q, k, v, True), causal, {}


def refuted_mutants():
    for name, right, wrong, flags, tensors in mutants():
        tensors = {**tensors, "q": Q[2], "k": K[2], "v": V[2]}
        flags = [*flags, "--bound", "backward<=16"]
        a = verdict(right.astype(np.float32), *flags, **tensors)
        b = verdict(wrong.astype(np.float32), *flags, **tensors)
        report(f"refuted, where the right output certifies: {name}",
               a[0] == "certified" and b[0] == "refuted",
               f"right {a[0]} {a[1]:.3f}, wrong {b[0]} {b[1]:.4g}, {b[2]} elements")


# ---- the certificate is canonical ----


def canonical_certificate(out):
    """The same but for environment, timing and the command that repeats it."""
    measures = ("backward<=6", "ulp<=1e5", "rel<=1e-2", "abs<=1e-6", "row<=1e-5", "nmse<=1e-12",
                "allclose=1e-5,1e-6", "theory")
    bounds = [x for m in measures for x in ("--bound", m)]
    q, k, v = Q[2], grouped(K[2]), grouped(V[2])
    s = np.where(CAUSAL, q @ k.swapaxes(-1, -2) * np.float32(SCALE), np.float32(-np.inf))
    lse = np.log(np.exp(s - s.max(axis=-1, keepdims=True)).sum(axis=-1)) + s.max(axis=-1)
    cases = [("float32 out and lse, eight measures", out[2], [*bounds, "--arithmetic", "exp=4"],
              {"lse": lse}),
             ("float64 out", attend(q, k, v), [], {}),
             ("wrong bfloat16 out", as_bfloat16(attend(q, k, v, scale=1.02 * SCALE)), ["--bf16"], {})]
    machines = [("1 thread", ["--threads", 1], {}), ("2 threads", ["--threads", 2], {})]
    machines += [(isa, [], {"ATTEST_ISA": isa}) for isa in ("baseline", "avx2", "avx512")]
    for name, array, flags, tensors in cases:
        texts = {}
        for machine, more, environment in machines:
            _, c = check(array, "--causal", "top-left", *flags, *more, environment=environment,
                         q=Q[2], k=K[2], v=V[2], **tensors)
            for part in c["cases"]:
                del part["replay"]
            del c["environment"], c["timing"]
            texts[machine] = json.dumps(c)
        different = [m for m in texts if texts[m] != texts["1 thread"]]
        report(f"same certificate at 1 and 2 threads and on all instruction sets: {name}",
               not different, f"different with {different}" if different else "")


# ---- memory is linear in N ----


def causal_with_periodic_keys(n, d, period):
    """q, k, v and the exact causal output where key j is key j mod period: one pass over blocks."""
    random = np.random.default_rng(2)
    q, keys, v = (random.standard_normal((m, d)).astype(np.float32) for m in (n, period, n))
    w = np.exp(q.astype(np.float64) @ keys.T * d**-0.5)
    out, before, past = np.empty((n, d)), np.zeros((period, d)), np.tril(np.ones((period, period)))
    for first in range(0, n, period):
        rows = slice(first, first + period)
        total = w[rows].sum(axis=-1, keepdims=True) * (first // period)
        recent = w[rows] * past
        out[rows] = (w[rows] @ before + recent @ v[rows]) / (total + recent.sum(-1, keepdims=True))
        before += v[rows]
    return q, np.tile(keys, (n // period, 1)), v, out.astype(np.float32)


def memory():
    """Run below a small process: the peak of a child counts what its parent held when it forked."""
    n, limit = 16384, 600
    files = [save(name, x) for name, x in zip("qkvo", causal_with_periodic_keys(n, 64, 64))]
    command = [ATTEST, "check", "softmax", "--causal", "top-left"]
    for name, path in zip(("--q", "--k", "--v", "--out"), files):
        command += [name, path]
    code = "import resource, subprocess, sys; " \
        "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; " \
        "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    r = subprocess.run([sys.executable, "-S", "-c", code, *command], stdout=subprocess.PIPE,
                       text=True, timeout=200)
    status, peak = map(int, r.stdout.split())
    report(f"a causal head of {n} keys certifies within {limit} MiB (a matrix of scores: 2048)",
           status == 0 and peak < limit, f"exit status {status}, {peak} MiB")


def main():
    out = numpy_float32()
    torch_float32()
    injected_errors(out)
    narrow("bfloat16", as_bfloat16, as_bfloat16, "--bf16")
    narrow("float16", lambda x: x.astype(np.float16), lambda x: x.astype(np.float16))
    narrow_safetensors()
    refuted_mutants()
    canonical_certificate(out)
    memory()


try:
    main()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
sys.exit(failed > 0)
