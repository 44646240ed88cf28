#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""peers.py ATTEST: `attest bench`, with what other people use measured before and after it in the
same run: PyTorch's scaled_dot_product_attention (one thread, float32, N = 2048, d = 64) and mpmath
(30 digits). Peers that are not installed are left out."""
import os
import re
import subprocess
import sys
import time


def seconds(f, repeats):
    best = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        best.append(time.perf_counter() - start)
    return sorted(best)[len(best) // 2]


def torch_attention():
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # PyTorch's own setting does not reach it
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(1)
    q, k, v = (4 * torch.rand(1, 1, 2048, 64, generator=g) - 2 for _ in range(3))
    attention = getattr(F, "scaled_dot_product_attention", None)
    name = "scaled_dot_product_attention"
    if attention is None:  # PyTorch 1: what its own modules did
        name = "baddbmm + softmax + bmm"
        def attention(q, k, v):
            return torch.softmax((q @ k.transpose(-1, -2)) * 0.125, -1) @ v
    with torch.no_grad():
        attention(q, k, v)
        return f"PyTorch {torch.__version__} {name}", 1e3 * seconds(lambda: attention(q, k, v), 9)


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
    return f"mpmath {mpmath.__version__}", 1e9 * seconds(row, 5) / 64


def attempt(f):
    try:
        return f()
    except ImportError:
        return None


def main():
    before = attempt(torch_attention)
    sys.stdout.flush()
    run = subprocess.run([sys.argv[1], "bench", *sys.argv[2:]], stdout=subprocess.PIPE, text=True, check=True)
    print(run.stdout)
    after = attempt(torch_attention)
    ours = float(re.search(r"float32 kernel, one thread, N = 2048: ([\d.]+) ms", run.stdout).group(1))
    double = float(re.search(r"^ +1024 +[\d.]+ +([\d.]+)", run.stdout, re.M).group(1))
    if before:
        theirs = (before[1] + after[1]) / 2
        print(f"{before[0]}, one thread, N = 2048: {theirs:.2f} ms, {theirs / ours:.2f}x the float32 kernel")
    slow = attempt(mpmath_attention)
    if slow:
        print(f"{slow[0]}, 30 digits: {slow[1]:.0f} nanoseconds a pair, {slow[1] / double:.0f}x the double tier")


main()
