# SPDX-License-Identifier: LGPL-3.0-or-later
"""C to Coq for straight-line kernels: constants of a header, and functions on the vectors of
src/tensor/isa.h as functions of a record of operations (float_ops.v).

Every operation of the C text becomes one operation of the record, in the same order; whatever is not
understood is an error. So a fused operation that becomes a product and a sum, or a step that goes, is
another function, about which the theorems say nothing until their proofs go through again."""
import pathlib
import re
import subprocess
import sys
from fractions import Fraction

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"vf", "vd", "vfi", "vdi", "vfu", "vdu"}
MANTISSA = {"vf": 23, "vd": 52}
TOKEN = re.compile(r"0x[0-9a-fA-F.]+p[+-]?\d+f?|\d+\.?\d*(?:e[+-]?\d+)?(?:f|UL?)?|\w+|<<|>>|>=|<=|[-+*/&|~(){},;=<>!?:]")


def fail(message):
    sys.exit(f"kernels.py: {message}")


def number(text):
    """The value of a C literal."""
    if "0x" in text:
        return Fraction(float.fromhex(re.sub(r"f$", "", text)))
    return Fraction(text.rstrip("fUL"))


def dyadic(value):
    """Dyadic num expo, num odd."""
    if value.denominator & (value.denominator - 1):
        fail(f"{value} is no dyadic number")
    n, e = value.numerator, -(value.denominator.bit_length() - 1)
    while n and n % 2 == 0:
        n, e = n // 2, e + 1
    return f"Dyadic ({n}) ({e})"


def fits(value, single):
    """Whether a number is one of the format (its normal range is taken for granted)."""
    n = abs(value.numerator)
    while n and n % 2 == 0:
        n //= 2
    return value.denominator & (value.denominator - 1) == 0 and n.bit_length() <= (24 if single else 53)


def constants(header):
    """Coq definitions of the #defines of a header whose value is a number, and their list."""
    text = (ROOT / header).read_text()
    found = re.findall(r"^#define (\w+) (-?(?:0x[0-9a-fA-F.]+p[+-]?\d+|\d+\.\d*))(f?)\s", text, re.M)
    if not found:
        fail(f"no constants in {header}")
    print(f"(* From {header}. *)\nFrom Coq Require Import ZArith.\nFrom Attest Require Import enclosure.float_ops.")
    for name, text, single in found:
        value = number(text)
        if not fits(value, bool(single)):
            fail(f"{name} is not a number of its format")
        print(f"Definition {name} : dyadic := {dyadic(value)}.")


def naturals(header, names):
    """Coq definitions of whole numbers of an enum."""
    text = (ROOT / header).read_text()
    print(f"(* From {header}. *)")
    for name in names:
        found = re.findall(rf"^\s*{name} = (\d+)\b(?!\s*(?:[-+*]|/[^*]))", text, re.M)
        if len(found) != 1:
            fail(f"{name} is no number in {header}")
        print(f"Definition {name} : nat := {found[0]}.")


# ---- parsing: tuples ("name", x), ("number", text), ("cast", type, e), ("call", f, args), ("-", e), (op, a, b)

LEVELS = [["&"], [">=", "<="], ["<", ">"], ["<<", ">>"], ["+", "-"], ["*", "/"]]


class Parser:
    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        if "".join(self.tokens) != re.sub(r"\s", "", text):
            fail(f"characters that are not understood: {text}")
        self.at = 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        if expected and token != expected:
            fail(f"{expected} expected before: {' '.join(self.tokens[self.at:])}")
        self.at += 1
        return token

    def binary(self, level=0):
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in LEVELS[level]:
            op = self.take()
            left = (op, left, self.binary(level + 1))
        return left

    def unary(self):
        token = self.take()
        if token == "-":
            return ("neg", self.unary())
        if token == "(" and self.peek() in TYPES and self.peek(1) == ")":
            kind = self.take()
            self.take(")")
            if self.peek() == "{":  # (v){0}
                for t in ("{", "0", "}"):
                    self.take(t)
                return ("zeros", kind)
            return ("cast", kind, self.unary())
        if token == "(":
            inside = self.binary()
            self.take(")")
            return inside
        if re.match(r"\d", token):
            return ("number", token)
        if not re.match(r"\w+$", token):
            fail(f"an operand expected, not {token}")
        if self.peek() != "(":
            return ("name", token)
        self.take("(")
        arguments = [self.binary()]
        while self.peek() == ",":
            self.take()
            arguments.append(self.binary())
        self.take(")")
        return ("call", token, arguments)


class Function:
    """One function, translated."""

    def __init__(self, name, kind, parameters, body, known):
        self.kind, self.known, self.names, self.lines = kind, known, {}, []
        self.width = MANTISSA[kind]
        for parameter in parameters:
            self.names[parameter] = parameter
        for statement in filter(None, (s.strip() for s in body.split(";"))):
            self.statement(statement)
        head = " ".join(f"({p} : o)" for p in parameters)
        self.text = f"Definition {name} (o : ops) {head} : o :=\n" + "".join(self.lines)

    def statement(self, text):
        parser = Parser(text)
        if parser.peek() == "return":
            parser.take()
            self.lines.append(f"  {self.value(parser.binary())}.\n")
        else:
            if parser.peek() in TYPES:
                parser.take()
            while True:
                name = parser.take()
                parser.take("=")
                value = self.value(parser.binary())
                self.names[name] = name
                self.lines.append(f"  let {name} := {value} in\n")
                if parser.peek() != ",":
                    break
                parser.take()
        if parser.peek():
            fail(f"not understood: {text}")

    def constant(self, e):
        match e:
            case ("number", text):
                return f"const ({dyadic(number(text))})"
            case ("name", name):
                return f"const {name}"
            case ("/", ("number", a), ("number", b)) if self.kind == "vd":
                return f"const ({dyadic(Fraction(float(number(a)) / float(number(b))))})"
            case ("neg", ("number", text)):
                return f"const ({dyadic(-number(text))})"
        fail(f"no constant: {e}")

    def value(self, e):
        v, i, u = self.kind, self.kind + "i", self.kind + "u"
        match e:
            case ("name", name) if name in self.names:
                return name
            case ("call", f, [x]) if f == v + "_set1":
                return f"({self.constant(x)})"
            case ("call", f, [x]) if f == v + "_abs":
                return f"(mag_of {self.value(x)})"
            case ("call", f, [x, y, z]) if f == v + "_fma":
                return f"(fma {self.value(x)} {self.value(y)} {self.value(z)})"
            case ("call", f, [("<", a, b), x, y]) if f == v + "_select":
                return f"(select_lt {self.value(a)} {self.value(b)} {self.value(x)} {self.value(y)})"
            # 2^e f = x, by the bits
            case ("call", f, [x, root]) if f == v + "_fraction":
                return f"(fraction {self.value(x)} {self.value(root)})"
            case ("call", f, [x, root, c]) if f == v + "_exponent":
                return f"(exponent {self.value(x)} {self.value(root)} {self.value(c)})"
            case ("call", f, args) if f in self.known:
                return f"({f} o {' '.join(self.value(a) for a in args)})"
            case ("neg", x):
                return f"(neg {self.value(x)})"
            # 2^n times a number, by its bits
            case ("cast", t, ("+", ("cast", a, p), ("<<", ("cast", b, n), ("number", w)))) if (
                t in (i, v) and a == b == u and int(w) == self.width):
                return f"(scale {w} {self.value(p)} {self.value(n)})"
            # a mask
            case ("cast", t, ("&", y, (">=", x, c))) if t == v:
                return f"(keep_ge {self.value(x)} {self.value(c)} {self.value(y)})"
            case (op, a, b) if op in "+-*/":
                name = {"+": "add", "-": "sub", "*": "mul", "/": "div"}[op]
                return f"({name} {self.value(a)} {self.value(b)})"
        fail(f"not understood: {e}")


def functions(header, wanted, hidden, requires, given=()):
    """Coq definitions of the functions `wanted` of a header; `hidden`: the include guards of the
    headers whose constants keep their names; `given`: kernels that are defined elsewhere."""
    run = subprocess.run(["cc", "-E", "-P", "-DATTEST_ISA=baseline",
                          *(f"-D{guard}" for guard in hidden.split()), str(ROOT / header)],
                         capture_output=True, text=True)
    if run.returncode:
        fail(run.stderr)
    print(f"(* From {header}. *)\nFrom Coq Require Import ZArith.\nFrom Attest Require Import {' '.join(requires)}.")
    known = set(given)
    for name in wanted:
        found = re.search(r"always_inline, unused\)\) (v[fd]) %s\(([^)]*)\) \{(.*?)\}" % name, run.stdout, re.S)
        if not found:
            fail(f"no function {name} in {header}")
        parameters = [p.split()[-1] for p in found[2].split(",")]
        print(Function(name, found[1], parameters, found[3], known).text)
        known.add(name)


def horner(header, name, requires):
    """A loop h = c[degree]; h = STEP(h, s, c[m]), m = degree - 1 .. 0, as a function of the list of
    coefficients from degree 0 on; STEP is translated."""
    text = (ROOT / header).read_text()
    loop = re.search(r"NAME\(%s\)\(.*?\) \{(.*?)\n\}" % name, text, re.S)
    wanted = (r"const REAL \*c = plan->coefficient; for \(int64_t i = 0; i < n; i \+= LANES\) \{ "
              r"VEC s = OP\(load\)\(w \+ i\), h = OP\(set1\)\(c\[plan->degree\]\); "
              r"for \(int64_t m = plan->degree - 1; m >= 0; m--\) h = (.*?); OP\(store\)\(w \+ i, h\); \}")
    found = loop and re.fullmatch(wanted, " ".join(loop[1].split()))
    if not found:
        fail(f"the loop of {name} in {header} is not the one that is understood")
    step = re.sub(r"OP\(set1\)\(c\[m\]\)", "a", found[1])
    step = re.sub(r"OP\((\w+)\)", r"vd_\1", step)
    body = Function(name, "vd", ["h", "s", "a"], f"return {step}", set()).text.split(":=\n")[1].strip().rstrip(".")
    print(f"(* From {header}. *)\nFrom Coq Require Import ZArith List.\nImport ListNotations.")
    print(f"From Attest Require Import {' '.join(requires)}.")
    print(f"Fixpoint {name} (o : ops) (c : list o) (s : o) : o := match c with\n"
          f"| [] => const (Dyadic 0 0) | [a] => a | a :: c => let h := {name} o c s in {body} end.")
