#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""make.py ATTEST N FOLDER: reference data of Taylor attention in the setting d = 16, dv = 64, scale 1/2, unit rows, causal.

Makes q, k, v of N tokens from a printed seed and the bundle FOLDER with `attest reference taylor --degree 2 --bundle`. The same
bytes on every machine: numbers come from splitmix64 by integer arithmetic and from IEEE 754 sums, square roots and quotients in a
fixed order. data/reference/taylor-n256 is what `data/reference/make.py build/attest 256 FOLDER` makes."""
import os
import subprocess
import sys
import tempfile

import numpy as np

D, DV, MASK = 16, 64, (1 << 64) - 1


def uniforms(seed, count):
    """Numbers in [0, 1) with 53 bits."""
    state, out = seed, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(((z ^ (z >> 31)) >> 11) * 2.0**-53)
    return out


def normals(seed, rows, columns):
    """Sums of twelve uniform numbers less six: variance 1."""
    x = uniforms(seed, 12 * rows * columns)
    sums = []
    for i in range(rows * columns):
        total = -6.0
        for j in range(12):
            total += x[12 * i + j]
        sums.append(total)
    return np.array(sums).reshape(rows, columns)


def unit(x):
    squares = np.zeros(len(x))
    for a in range(x.shape[1]):
        squares = squares + x[:, a] * x[:, a]
    return x / np.sqrt(squares)[:, None]


def main():
    attest, n, folder = os.path.abspath(sys.argv[1]), int(sys.argv[2]), os.path.abspath(sys.argv[3])
    seed = 20260000 + n
    print(f"seeds {seed} (q), {seed + 100000} (k), {seed + 200000} (v); splitmix64")
    arrays = {"q": unit(normals(seed, n, D)), "k": unit(normals(seed + 100000, n, D)), "v": normals(seed + 200000, n, DV)}
    with tempfile.TemporaryDirectory() as work:
        for name, array in arrays.items():
            np.save(f"{work}/{name}.npy", array.astype("<f4"))
        command = [attest, "reference", "taylor", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "--degree", "2", "--scale", "1/2",
                   "--causal", "top-left", "--digits", "20", "--bundle", folder]
        print(" ".join(["attest", *command[1:]]))
        sys.exit(subprocess.run(command, cwd=work).returncode)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main()
