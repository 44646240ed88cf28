#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Writes golden.h: expressions with their values to 50 digits. Usage: golden.py > golden.h

Each expression is read as Python (^ as **) and evaluated by mpmath at 400 digits: another parser,
another arithmetic. Functions of the rooms are defined here by their definitions: minima by
bisection, integrals by quadrature. Exact results are kept as fractions. Needs python3-mpmath."""
import random
import re
from fractions import Fraction

from mpmath import mp, mpf

mp.dps = 400
rng = random.Random(20241130)


# ---- the functions by their definitions ---------------------------------------------------------

def taylor(P, t):
    return sum(mpf(t) ** m / mp.factorial(m) for m in range(int(P) + 1))


def bisect(f, a, b):
    """A zero of f in [a, b] by bisection and a few Newton steps of the secant kind."""
    a, b = mpf(a), mpf(b)
    sign = f(a) > 0
    for _ in range(mp.prec + 10):
        m = (a + b) / 2
        if (f(m) > 0) == sign:
            a = m
        else:
            b = m
    return (a + b) / 2


cache = {}


def taylor_argmin(P):
    P = int(P)
    if P not in cache:
        cache[P] = bisect(lambda t: taylor(P - 1, t), -P, 0)
    return cache[P]


def taylor_min(P):
    return mpf(1) if P == 0 else taylor(P, taylor_argmin(P))


def taylor_remainder(n, x):
    """The integral term by term: sum of x^(n+j) / ((n-1)! j! (n+j))."""
    n, x, total, j = int(n), mpf(x), mpf(0), 0
    while True:
        term = x ** (n + j) / (mp.factorial(n - 1) * mp.factorial(j) * (n + j))
        total += term
        j += 1
        if abs(term) <= abs(total) * mpf(10) ** -395:
            return total


def output_error_bound(eps):
    return 2 * (1 - mp.sqrt(1 - mpf(eps) ** 2)) / mpf(eps)


def alignment_taylor(P, N, w, t0=None):
    t0 = taylor_argmin(P) if t0 is None else t0
    y = (mpf(N) - 1) * w / (1 - mpf(w)) * taylor(P, t0)
    return bisect(lambda t: taylor(P, t) - y, taylor_argmin(P), 10 ** 7)


def alignment_softmax(N, w, t0=0):
    return t0 + mp.log((mpf(N) - 1) * w / (1 - mpf(w)))


def weight_taylor(P, N, t, t0=None):
    t0 = taylor_argmin(P) if t0 is None else t0
    return taylor(P, t) / (taylor(P, t) + (N - 1) * taylor(P, t0))


def weight_softmax(N, t, t0):
    return mp.exp(t) / (mp.exp(t) + (N - 1) * mp.exp(t0))


def alignment_scale(P, N, w, t0=None):
    t0 = taylor_argmin(P) if t0 is None else t0
    return (mp.factorial(P) * (N - 1) * w / (1 - mpf(w)) * taylor(P, t0)) ** (1 / mpf(P))


def fidelity(t):
    return mp.exp(t) / (1 + t + mpf(t) ** 2 / 2)


def feature_dimension(d, P):
    """Monomials of degree at most P, counted degree by degree."""
    return sum(mp.binomial(d + m - 1, m) for m in range(int(P) + 1))


def feature_dimension_sphere(d, P):
    return mp.binomial(d + P - 1, P) + (mp.binomial(d + P - 2, P - 1) if P else 0)


def state_numbers(d, dv, P):
    return feature_dimension(d, P) * (dv + 1)


names = dict(globals(), sqrt=mp.sqrt, exp=mp.exp, log=mp.log, sin=mp.sin, cos=mp.cos, pi=mp.pi, e=mp.e,
             factorial=mp.factorial, binomial=mp.binomial, floor=mp.floor, abs=abs, min=min, max=max)


def value(text):
    python = re.sub(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)", r"mpf('\1')", text.replace("^", "**"))
    return +eval(python, names)


# ---- rounding -----------------------------------------------------------------------------------

def exact(x):
    """An mpf as a fraction."""
    sign, man, e, _ = x._mpf_
    f = Fraction(int(man)) * (Fraction(2) ** int(e))
    return -f if sign else f


def layout(sign, digits, e):
    if -6 <= e < 0:
        return sign + "0." + "0" * (-1 - e) + digits
    whole = e + 1 if 0 <= e < len(digits) else 1
    text = sign + digits[:whole] + ("." + digits[whole:] if whole < len(digits) else "")
    return text if whole == e + 1 else f"{text}e{e}"


def exponent(x):
    e = len(str(x.numerator)) - len(str(x.denominator))
    while Fraction(10) ** e > x:
        e -= 1
    while Fraction(10) ** (e + 1) <= x:
        e += 1
    return e


def rounded(x, n=50):
    sign, x = "-" if x < 0 else "", abs(x)
    e = exponent(x)
    k = round(x * Fraction(10) ** (n - 1 - e))
    if k == 10 ** n:
        k, e = k // 10, e + 1
    return layout(sign, str(k), e)


# ---- expressions --------------------------------------------------------------------------------

def number():
    return rng.choice([str(rng.randrange(1, 100)), f"{rng.randrange(1, 10**6) / 1000}", f"{rng.randrange(1, 1000)}e-{rng.randrange(1, 9)}",
                       f"{rng.randrange(1, 50)}/{rng.randrange(3, 60, 2)}"])


def positive(depth):
    """A random expression with a positive, irrational and moderate value."""
    if depth == 0:
        return rng.choice(["pi", "e", f"sqrt({rng.choice([2, 3, 5, 6, 7, 10, 11, 13])})", f"log({rng.randrange(3, 99)})", f"exp(-{rng.randrange(1, 40)}/7)",
                           f"cos({rng.randrange(1, 15)}/10)", f"sin({rng.randrange(1, 30)}/10)", f"fidelity({rng.randrange(-40, 40) or 1}/9)"])
    a, b = positive(depth - 1), positive(depth - 1)
    return rng.choice([f"({a} + {b})", f"{a} * {b}", f"({a}) / ({b})", f"({a})^({rng.randrange(1, 9)}/{rng.choice([2, 3, 5])})", f"sqrt({a} * {number()})",
                       f"log(1 + {a})", f"exp(-({a})) + {b}", f"abs({a} - {number()}) + {b}", f"max({a}, {b})", f"min({a}, {b}) + {number()}"])


expressions = [positive(rng.randrange(1, 4)) for _ in range(95)]
expressions += [  # cancellation
    "exp(10^-30) - 1 - 10^-30", "sqrt(10^40 + 1) - 10^20", "cos(1e-20) - 1", "log(1 + 1e-60)", "sin(1e-25) - 1e-25", "exp(1e-40) - exp(-1e-40)",
    "pi - 3.14159265358979323846264338327950288419716939937510", "e - 2.71828182845904523536028747135266249775724709369995957",
    "sqrt(2) - 1.41421356237309504880168872420969807856967187537694", "(1 + 1e-50)^(10^3) - 1", "exp(pi*sqrt(163)) - 262537412640768744",
    "sqrt(10^60 + 10^20) - 10^30", "log(10^50 + 1) - log(10^50)", "sin(10^22)", "cos(10^30)", "sin(3.14159265358979323846)", "taylor(9, -3.3) - exp(-3.3)",
    "taylor(40, -30)", "exp(-30) - taylor(100, -30)", "taylor(30, 1/10) - exp(1/10)", "fidelity(1e-20) - 1", "taylor_remainder(20, 1e-10)",
    "taylor_remainder(50, 1/3)", "1 - sqrt(1 - 1e-60)", "output_error_bound(1e-30) - 1e-30", "sqrt(2) + sqrt(3) - sqrt(5 + 2*sqrt(6) + 1e-55)",
    "(sqrt(5) + 2)^40 - floor((sqrt(5) + 2)^40)", "log(2)/log(3) - 0.63092975357145743709952711434276085429958564013188",
]
expressions += [f"taylor_min({P})" for P in (4, 6, 8, 10, 12, 20, 30, 50, 76)]
expressions += [f"taylor_argmin({P})" for P in (4, 6, 8, 14, 22, 24, 26, 40)]
expressions += [f"taylor_remainder({n}, {x})" for n in (1, 2, 3, 4, 5, 6) for x in ("1/2", "2", "0.001")]
expressions += [f"output_error_bound({x})" for x in ("0.03", "1/2", "taylor_remainder(3, 1/2)", "0.999999")]
expressions += [f"alignment_taylor({P}, {N}, {w})" for P, N, w in ((2, 64, "1/2"), (2, 257, "0.9"), (4, 1000, "1/2"), (6, 100, "1/3"), (8, 65536, "0.99"), (30, 50, "1/2"))]
expressions += [f"alignment_taylor({P}, {N}, 1/2, {t})" for P, N, t in ((2, 64, "0"), (4, 64, "0"), (6, 1024, "-1/2"), (4, 64, "sqrt(2)"), (4, 20, "-1"))]
expressions += [f"alignment_softmax({N}, 1/2)" for N in (64, 256, 1024, 16384)] + ["alignment_softmax(64, 0.9, -1)"]
expressions += [f"alignment_scale({P}, {N}, 1/2)" for P, N in ((4, 1000), (6, 10**6))]
expressions += ["weight_taylor(2, 64, sqrt(3), -1/2)", "weight_taylor(4, 100, pi)", "weight_taylor(4, 100, 5)", "weight_softmax(64, 1/2, -1/2)", "weight_softmax(8192, 1/2, -1/2)"]
expressions += ["fidelity(1)", "fidelity(-1)", "fidelity(20)", "taylor(7, sqrt(2))", "taylor(100, -1/3)", "binomial(200, 100)/factorial(50)", "factorial(60)/7^50", "1/3", "-22/7", "2^(1/3)", "10^(1/2)", "5^-0.5",
                "(-2)^7/3", "2^-2^2/3", "1e-7/3", "123456789012345678901234567890/11", "1e45/3", "1e60/7", "2^200/3"]


# ---- exact results: Fractions ---------------------------------------------------------------------

exact_results = {
    "0.1 + 0.2": "0.3", "1/8": "0.125", "2^10": "1024", "-2^2": "-4", "2^3^2": "512", "10^-40": "1e-40", "1/2^20": "9.5367431640625e-7", "(1/2)^10": "0.0009765625",
    "taylor_min(0)": "1", "taylor_min(2)": "0.5", "taylor_argmin(2)": "-1", "sqrt(2)^2": "2", "sqrt(8)*sqrt(2)": "4", "sqrt(2)*sqrt(3) - sqrt(6)": "0", "8^(2/3)": "4",
    "(sqrt(5) + 1)*(sqrt(5) - 1)": "4", "1/(sqrt(2) - 1) - sqrt(2)": "1", "factorial(20)": "2432902008176640000", "binomial(64, 32)": "1832624140942590534", "floor(-7/2)": "-4",
    "floor(10^20*sqrt(2))": "141421356237309504880", "weight_taylor(2, 64, alignment_taylor(2, 64, 1/2), -1)": "0.5", "weight_taylor(2, 64, -1 + sqrt(125), -1) - 2/3": "0",
    "weight_taylor(6, 64, alignment_taylor(6, 64, 1/4, 0), 0)": "0.25", "taylor(4, taylor_argmin(4)) - taylor_min(4)": "0", "taylor(3, taylor_argmin(4))": "0",
    "feature_dimension(16, 2)": "153", "feature_dimension(16, 5)": "20349", "feature_dimension_sphere(16, 2)": "152", "feature_dimension_sphere(16, 3)": "952",
    "feature_dimension_sphere(16, 5)": "19380", "state_numbers(16, 64, 2)": "9945", "state_numbers(16, 64, 5)": "1322685", "sum(k, 1, 100, k^2)": "338350", "sum([k for k in 1..10])": "55",
    "sum(1/2, 1/4, 1/8)": "0.875", "max(1/3, 0.3333)*3": "1", "min([3, 1.5, 2])": "1.5", "abs(-3/8)": "0.375", "exp(0) + cos(0) + sin(0) + log(1)": "2", "0^0": "1", "0^3": "0", "(-1)^(10^30)": "1",
    "1 < 2": "true", "1 < 2 < 2": "false", "sqrt(2)^2 = 2": "true", "pi < 22/7 and not (e > 2.72)": "true", "sqrt(2) + sqrt(3) < sqrt(10)": "true", "[1, 2.5, 1/4]": "[1, 2.5, 0.25]",
    "let x = 1/4 in let y = x^2 in y - x": "-0.1875", "sum(k, 1, 3, sum(j, 1, k, j))": "10", "[[k*j for j in 1..k] for k in 1..3]": "[[1], [2, 4], [3, 6, 9]]", "1e3 - 999.5": "0.5", ".5 + 5.": "5.5",
    "--3": "3", "2 - -3": "5", "-(-2)^2": "-4", "2*-3": "-6", "12/3/2": "2", "2 - 3 - 4": "-5", "taylor_real_zeros(200)": "0", "taylor_real_zeros(199)": "1", "[]": "[]",
}


def near_boundaries():
    """x + D lies within 10^-26 .. 10^-30 of a unit of its 50th digit from a rounding boundary, on either side."""
    for base in ("sqrt(2)", "pi", "exp(1/3)", "log(7)", "taylor_min(4)", "10*cos(1)", "taylor_remainder(3, 1/2)", "fidelity(2)"):
        for side, k in ((1, 26), (-1, 26), (1, 30), (-1, 30)):
            x = exact(value(base))
            unit = Fraction(10) ** (exponent(x) - 49)
            boundary = (x // unit + Fraction(1, 2)) * unit
            target = boundary + side * unit / 10 ** k
            d = round((target - x) * Fraction(10) ** 90)
            yield f"{base} + {d}e-90", exact(value(base)) + Fraction(d, 10 ** 90)


def main():
    rows = []
    for text in expressions:
        rows.append((text, rounded(exact(value(text)))))
    rows += [(text, rounded(x)) for text, x in near_boundaries()]
    rows += [(text, result) for text, result in exact_results.items()]
    print("/* SPDX-License-Identifier: LGPL-3.0-or-later */")
    print("/* Generated by golden.py: expressions and what `attest eval --digits 50` prints. */")
    print("static const struct {\n  const char *text, *value;\n} golden[] = {")
    for text, result in rows:
        print(f'    {{"{text}",\n     "{result}"}},')
    print("};")


main()
