#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""profile.py ATTEST [PIECE ...]: where the time of the goals of speed goes. For each piece of work of
`attest bench --profile`, on one thread: instructions and cache misses as valgrind counts them (callgrind,
with the sizes of this machine's caches; it knows no AVX-512, so everything runs with ATTEST_ISA=avx2),
and cycles from the time without valgrind and the clock, which bench measures. Then the functions that
execute most of it.

Instructions a cycle near the machine's width: there are too many. Few instructions a cycle and many
misses: data move. Few and few: they wait for each other, or for divisions."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PIECES = ["softmax", "certify", "certify-backward", "taylor-decode", "sparsemax", "entmax-1.5", "entmax-1.15", "toeplitz-fft"]
TOP = 4


def piece(attest, name, *flags, wrapper=(), isa="avx2"):
    environment = dict(os.environ, OMP_NUM_THREADS="1", **({"ATTEST_ISA": isa} if isa else {}))
    run = subprocess.run([*wrapper, attest, "bench", "--profile", name, *flags], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = re.search(r"^piece=.*$", run.stdout, re.M)
    if run.returncode or not line:
        sys.exit(f"{attest} bench --profile {name}: exit status {run.returncode}\n{run.stderr[-2000:]}")
    return dict(word.split("=") for word in line[0].split())


def cache(level):
    """size,ways,line as valgrind wants them; None where the system does not say or valgrind would refuse."""
    try:
        size, ways, line = (int(subprocess.run(["getconf", f"LEVEL{level}_{what}"], stdout=subprocess.PIPE, text=True).stdout)
                            for what in (("DCACHE_SIZE", "DCACHE_ASSOC", "DCACHE_LINESIZE") if level == 1 else ("CACHE_SIZE", "CACHE_ASSOC", "CACHE_LINESIZE")))
    except (OSError, ValueError):
        return None
    sets = size // (ways * line) if ways and line else 0
    return f"{size},{ways},{line}" if sets and sets & (sets - 1) == 0 else None


def total(counts):
    """Instructions; misses of reads and writes in the first and in the last level."""
    return [counts.get("Ir", 0), counts.get("D1mr", 0) + counts.get("D1mw", 0), counts.get("DLmr", 0) + counts.get("DLmw", 0)]


def read(path):
    """Events of a callgrind file: all of them, and by function without those it calls."""
    names, events, functions, function, skip = {}, [], {}, None, False
    everything = {}
    with open(path) as f:
        for line in f:
            if line.startswith("events:"):
                events = line.split()[1:]
            elif line.startswith(("fn=", "cfn=")):
                number, _, name = line.split("=", 1)[1].strip().partition(" ")
                if name:  # at its first mention only
                    names[number] = name
                if line[0] == "f":
                    function = names[number]
            elif line.startswith("calls="):
                skip = True  # the next line is what the callee cost
            elif line[:1] in "0123456789+-*" and function:
                if not skip:
                    own = functions.setdefault(function, {})
                    for event, count in zip(events, line.split()[1:]):
                        own[event] = own.get(event, 0) + int(count)
                        everything[event] = everything.get(event, 0) + int(count)
                skip = False
    return everything, functions


def count(attest, name, folder):
    path = os.path.join(folder, name)
    caches = [f"--{flag}={size}" for flag, size in (("D1", cache(1)), ("I1", cache(1)), ("LL", cache(3))) if size]
    wrapper = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--toggle-collect=bench_profiled", "--compress-pos=no", "--compress-strings=yes",
               f"--callgrind-out-file={path}", *caches]
    found = piece(attest, name, "--quick", wrapper=wrapper)
    return float(found["count"]), *read(path)


def main():
    attest, names = sys.argv[1], sys.argv[2:] or PIECES
    if not shutil.which("valgrind"):
        sys.exit("profile.py: valgrind is wanted (make deps-audit)")
    print(f"caches {cache(1) or 'as valgrind finds them'} and {cache(3) or 'as valgrind finds it'} (size, ways, line); AVX2, one thread; what a unit of work takes\n\n"
          f"{'piece':<18}{'unit':<9}{'instructions':>13}{'D1 misses':>11}{'LL misses':>11}{'cycles':>10}{'instr/cycle':>13}{'ns':>10}{'ns, best ISA':>14}")
    tops = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            units, everything, functions = count(attest, name, folder)
            timed, best = piece(attest, name), piece(attest, name, isa=None)
            seconds = float(timed["seconds"]) / float(timed["count"])
            cycles = seconds * float(timed["hertz"])
            sums = [x / units for x in total(everything)]
            print(f"{name:<18}{timed['unit']:<9}{sums[0]:13.2f}{sums[1]:11.4f}{sums[2]:11.5f}{cycles:10.2f}{sums[0] / cycles:13.2f}{1e9 * seconds:10.2f}"
                  f"{1e9 * float(best['seconds']) / float(best['count']):14.2f}", flush=True)
            tops.append((name, everything, functions))
    print("\nby function, in per cent of the piece: instructions, D1 misses")
    for name, everything, functions in tops:
        whole = [max(1, x) for x in total(everything)]
        for function, own in sorted(functions.items(), key=lambda item: -item[1].get("Ir", 0))[:TOP]:
            share = [100 * x / y for x, y in zip(total(own), whole)]
            print(f"{name:<18}{share[0]:6.1f}{share[1]:7.1f}  {function}")


main()
