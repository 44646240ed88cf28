#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Writes golden.h: decimals and error measures by exact Python rationals, irrational constants by
mpmath, float16 roundings by NumPy. Usage: golden.py > golden.h"""
import random
from fractions import Fraction as F

import mpmath
import numpy as np

rng = random.Random(20240611)


def nearest(x):
    """Integer nearest to the rational x >= 0, ties to even."""
    n, rest = divmod(x.numerator, x.denominator)
    twice = 2 * rest - x.denominator
    return n + (twice > 0 or (twice == 0 and n % 2 == 1))


def layout(sign, digits, e):
    """sign d.ddd 10^e, in full where no filler zero is needed left of the point."""
    if -6 <= e < 0:
        return sign + "0." + "0" * (-1 - e) + digits
    whole = e + 1 if 0 <= e < len(digits) else 1
    text = sign + digits[:whole] + ("." + digits[whole:] if whole < len(digits) else "")
    return text if whole == e + 1 else f"{text}e{e}"


def decimal(x, n):
    """x != 0 to n significant digits."""
    sign, x = "-" if x < 0 else "", abs(x)
    e = len(str(x.numerator)) - len(str(x.denominator))
    while F(10) ** e > x:
        e -= 1
    while F(10) ** (e + 1) <= x:
        e += 1
    k = nearest(x * F(10) ** (n - 1 - e))
    if k == 10**n:
        k, e = k // 10, e + 1
    return layout(sign, str(k), e)


def decimals():
    cases = [(1, -1), (1, -3), (3, -3), (5, -1), (-5, -2), (1, 0), (-10, 0), (99996, -4), (1, 10), (-1, 20), (3, -1074), (2**53 - 1, 971), (12345, 0)]
    cases += [(99995, 0), (999950, 0), (99985, 0), (-9999500001, -2)]  # carries and ties
    cases += [(5**k, -k) for k in (3, 9, 20)] + [(5**k + 1, -k) for k in (3, 9, 20)]
    cases += [(10**k, 0) for k in (1, 5, 15, 40)] + [(10**k - 1, 0) for k in (1, 5, 15, 40)]
    cases += [(rng.getrandbits(53) | 1 << 52, rng.randrange(-1074, 971)) for _ in range(20)]
    cases += [(rng.getrandbits(200) | 1, rng.randrange(-260, 100)) for _ in range(20)]
    # exact ties at n digits: (k + 1/2) 10^j that are dyadic
    ties = [((2 * rng.randrange(1000, 10000) + 1) * 5 ** j, j - 1, 4) for j in (0, 1, 2, 7, 30)]
    for m, e in cases:
        for n in (1, 2, 4, 17):
            yield m, e, n
    yield from ties


def as_decimal(x):
    """A rational to 25 digits for comparison with a ball; its own error is below 1e-24."""
    return decimal(x, 25) if x else "0"


def two_parts(x):
    """p/q and e with x = p/q 2^e, p and q odd."""
    if x == 0:
        return "0", 0
    e = (x.numerator & -x.numerator).bit_length() - (x.denominator & -x.denominator).bit_length()
    return str(x / F(2) ** e), e


FORMATS = {"ATTEST_FLOAT16": (11, -14, 15), "ATTEST_BFLOAT16": (8, -126, 127), "ATTEST_FLOAT32": (24, -126, 127), "ATTEST_FLOAT64": (53, -1022, 1023)}


def floor_log2(x):
    e = x.numerator.bit_length() - x.denominator.bit_length()
    while F(2) ** e > x:
        e -= 1
    while F(2) ** (e + 1) <= x:
        e += 1
    return e


def measures():
    for dtype, (p, emin, emax) in FORMATS.items():
        tiny = F(2) ** (emin - p + 1)
        xs = [F(0), tiny, tiny / 3, F(2) ** emin, F(2) ** emin - tiny, F(2) ** emin + tiny / 7, F(1), F(1) - F(1, 2**70), F(1) + F(1, 2**70), F(-2), F(-2) + F(1, 3 * 2**60), F(1, 3), F(2) ** (emax + 1) - F(2) ** (emax - p), F(2) ** emax * F(19, 10), F(2) ** -1300 / 3, F(-7, 5)]
        for x in xs:
            gots = {0.0, float(tiny), 1.0, -2.0, float(F(2) ** emax), 0.75}
            if abs(x) < F(2) ** emax:
                gots.add(float(x))
            for got in sorted(gots):
                d = abs(F(got) - x)
                rel = "0" if d == 0 else "inf" if x == 0 else as_decimal(d / abs(x))
                e = max(floor_log2(abs(x)), emin) if x else emin
                yield dtype, got, x, as_decimal(d), rel, as_decimal(d / F(2) ** (e - p + 1))


def main():
    print("/* SPDX-License-Identifier: LGPL-3.0-or-later */\n/* clang-format off */\n/* Written by golden.py. */")
    print("/* m 2^e to n significant digits. */\nstatic const struct {\n  const char *m;\n  long e, digits;\n  const char *text;\n} golden_decimals[] = {")
    for m, e, n in decimals():
        print(f'    {{"{m}", {e}, {n}, "{decimal(F(m) * F(2) ** e, n)}"}},')
    print("};")
    mpmath.mp.dps = 1100
    print("/* Irrational: exp(argument) for every row but the first, which is pi. */\nstatic const struct {\n  long argument, digits;\n  const char *text;\n} golden_irrational[] = {")
    for a, n in [(0, 1), (0, 30), (0, 500), (1, 50), (-1, 7), (-92, 30), (-230258, 40), (230258, 40), (13, 5), (-14, 20)]:
        x = mpmath.exp(a) if a else +mpmath.pi
        e = int(mpmath.floor(mpmath.log10(x)))
        digits = str(int(mpmath.nint(x * mpmath.mpf(10) ** (n - 1 - e))))
        print(f'    {{{a}, {n}, "{layout("", digits, e)}"}},')
    print("};")
    print("/* x = ratio 2^e; the measures of got to 25 digits. */\nstatic const struct {\n  attest_dtype dtype;\n  double got;\n  const char *ratio;\n  long e;\n  const char *abs, *rel, *ulp;\n} golden_measures[] = {")
    for dtype, got, x, d, rel, ulp in measures():
        ratio, e = two_parts(x)
        print(f'    {{{dtype}, {float(got).hex()}, "{ratio}", {e}, "{d}", "{rel}", "{ulp}"}},')
    print("};")
    print("/* NumPy's float16 of a double, as bits. */\nstatic const struct {\n  double x;\n  unsigned bits;\n} golden_float16[] = {")
    base = [65504.0, 65519.99999, 65520.0, 65520.00001, 2.0**-14, 2.0**-14 * (1 - 2.0**-11), 2.0**-24, 2.0**-25, 2.0**-25 * (1 + 2.0**-50), 3 * 2.0**-25, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-50, 2048.5, 0.1, 1e-300, 1e300]
    base += [rng.uniform(-1, 1) * 2.0 ** rng.randrange(-27, 18) for _ in range(60)]
    with np.errstate(over="ignore", under="ignore"):
        for x in base + [-b for b in base[:17]]:
            print(f"    {{{x.hex()}, 0x{int(np.float64(x).astype(np.float16).view(np.uint16)):04x}}},")
    print("};")


main()
