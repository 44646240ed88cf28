#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""peers.py ATTEST [FLAG ...]: `attest bench`, with what other people use measured before and after it
in the same run: PyTorch's and NumPy's attention (float32, N = 2048, d = 64, one thread and all) and
mpmath (30 digits). Peers that are not installed are left out. At the end, the goals that compare with
them. With --json FILE their figures and goals stand in the file, too."""
import json
import os
import subprocess
import sys
import tempfile
import time

N, D = 2048, 64


def core_type():
    """OpenBLAS releases older than a processor take it for a far older one: name the kernels that its
    instructions allow, unless somebody has."""
    flags = set()
    try:
        with open("/proc/cpuinfo") as f:
            flags = set(next(line for line in f if line.startswith("flags")).split())
    except (OSError, StopIteration):
        pass
    wanted = "SkylakeX" if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags else "Haswell" if {"avx2", "fma"} <= flags else None
    if wanted:
        os.environ.setdefault("OPENBLAS_CORETYPE", wanted)
    return os.environ.get("OPENBLAS_CORETYPE", "as detected")


def median(f, repeats, clock=time.perf_counter):
    """Seconds; CPU time of this process where one thread works, which other work disturbs least."""
    times = []
    for _ in range(repeats):
        start = clock()
        f()
        times.append(clock() - start)
    return sorted(times)[len(times) // 2]


def torch_attention(threads):
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(threads)
    g = torch.Generator().manual_seed(1)
    q, k, v = (4 * torch.rand(1, 1, N, D, generator=g) - 2 for _ in range(3))
    attention = getattr(F, "scaled_dot_product_attention", None)
    name = "scaled_dot_product_attention"
    if attention is None:  # PyTorch 1: what its own modules did
        name = "bmm + softmax + bmm"
        def attention(q, k, v):
            return torch.softmax((q @ k.transpose(-1, -2)) * 0.125, -1) @ v
    with torch.no_grad():
        attention(q, k, v)
        return f"PyTorch {torch.__version__} {name}", median(lambda: attention(q, k, v), 9, clock(threads))


def numpy_attention(threads):
    import numpy as np
    q, k, v = (np.random.default_rng(i).uniform(-2, 2, (N, D)).astype(np.float32) for i in range(3))

    def attention():
        s = q @ k.T * np.float32(0.125)
        s -= s.max(-1, keepdims=True)
        np.exp(s, out=s)
        return s @ v / s.sum(-1, keepdims=True)
    attention()
    return f"NumPy {np.__version__}", median(attention, 5, clock(threads))


def clock(threads):
    return time.process_time if threads == 1 else time.perf_counter


def mpmath_attention():
    """Nanoseconds a pair of one row of 64 keys, d = dv = 64."""
    import random
    import mpmath
    mpmath.mp.dps = 30
    random.seed(1)
    q, *rows = [[mpmath.mpf(random.uniform(-2, 2)) for _ in range(64)] for _ in range(129)]
    k, v = rows[:64], rows[64:]

    def row():
        p = [mpmath.exp(mpmath.fdot(q, kj) / 8) for kj in k]
        z = mpmath.fsum(p)
        return [mpmath.fdot(p, [vj[c] for vj in v]) / z for c in range(64)]
    return f"mpmath {mpmath.__version__}, 30 digits", 1e9 * median(row, 5, time.process_time) / 64


def child(what, threads):
    """In a process of its own: BLAS reads its number of threads once."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
    run = subprocess.run([sys.executable, __file__, "--peer", what, str(threads)], env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout) if run.returncode == 0 and run.stdout else None


PEERS = {"torch": torch_attention, "numpy": numpy_attention}


def measure_all(processors):
    found = {}
    for what in PEERS:
        for threads in sorted({1, processors}):
            result = child(what, threads)
            if result:
                found[what, threads] = result
    return found


def show(found, ours):
    print(f"\nother people's attention, float32, N = {N}, d = {D} (one thread: CPU time; several: on the wall), milliseconds;"
          f" OPENBLAS_CORETYPE {core_type()}")
    for (what, threads), (name, seconds) in found.items():
        times = f", {seconds / ours:.2f}x the float32 kernel" if threads == 1 and ours else ""
        print(f"{name}, {threads} thread{'s' if threads > 1 else ''}: {1e3 * seconds:.2f}{times}")


def goal(document, name, measured):
    for g in document["goals"]:
        if g["name"] == name:
            g["measured"] = measured
            g["reached"] = measured >= g["wanted"] if g["at_least"] else measured <= g["wanted"]
            print(f"{g['text']:<56} {'>=' if g['at_least'] else '<='} {g['wanted']:6g} {measured:10.4g}  {'yes' if g['reached'] else 'no'}")


def main():
    arguments = sys.argv[1:]
    path = arguments[arguments.index("--json") + 1] if "--json" in arguments else None
    core_type()
    processors = len(os.sched_getaffinity(0))
    before = measure_all(processors)
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        target = path or os.path.join(folder, "bench.json")
        subprocess.run([arguments[0], "bench", *arguments[1:]] + ([] if path else ["--json", target]), check=True)
        with open(target) as f:
            document = json.load(f)
    after = measure_all(processors)
    found = {key: (before[key][0], (before[key][1] + after[key][1]) / 2) for key in before if key in after}
    figures = {f["name"]: f["value"] for f in document["figures"]}
    kernel = figures.get(f"softmax/float32/{N}")
    show(found, 1e-3 * kernel if kernel else None)
    for (what, threads), (_, seconds) in found.items():
        document["figures"].append({"name": f"peers/{what}/{threads}-threads", "unit": "ms", "value": 1e3 * seconds})
    try:
        slow = mpmath_attention()
    except ImportError:
        slow = None
    double = figures.get("softmax/double/pair/4096")
    if slow:
        document["figures"].append({"name": "peers/mpmath/pair", "unit": "ns", "value": slow[1]})
        print(f"{slow[0]}: {slow[1]:.0f} nanoseconds a pair")
    print()
    if slow and double:
        goal(document, "mpmath", slow[1] / double)
    if ("torch", 1) in found and kernel:
        goal(document, "pytorch", found["torch", 1][1] / (1e-3 * kernel))
    if path:
        with open(path, "w") as f:
            json.dump(document, f, indent=1)


if sys.argv[1:2] == ["--peer"]:
    try:
        print(json.dumps(PEERS[sys.argv[2]](int(sys.argv[3]))))
    except ImportError:
        sys.exit(1)
else:
    main()
