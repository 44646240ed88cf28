# SPDX-License-Identifier: LGPL-3.0-or-later
"""C to Coq for straight-line kernels: constants of a header, and functions on the vectors of
src/tensor/isa.h as functions of a record of operations (float_ops.v).

Every operation of the C text becomes one operation of the record, in the same order; whatever is not
understood is an error. So a fused operation that becomes a product and a sum, or a step that goes, is
another function, about which the theorems say nothing until their proofs go through again."""
import functools
import operator
import os
import pathlib
import re
import shlex
import subprocess
import sys
from fractions import Fraction

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"vf", "vd", "vfi", "vdi", "vfu", "vdu", "ball"}
MANTISSA = {"vf": 23, "vd": 52}
TOKEN = re.compile(r"0x[0-9a-fA-F.]+p[+-]?\d+f?|\d+\.?\d*(?:e[+-]?\d+)?(?:f|UL?)?|\w+(?:(?:\.|->)\w+)*"
                   r"|<<|>>|>=|<=|==|!=|--|\+\+|\+=|&&|[-+*/&|~(){},;=<>!?:\[\]]")


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


def enumerators(source, first):
    """The numbers of an enum of a file, by name; `first` is its first name."""
    found = re.findall(r"enum \{ (%s(?:, \w+)*) \};" % first, (ROOT / source).read_text())
    if len(found) != 1:
        fail(f"no enum of {first} in {source}")
    return {name: n for n, name in enumerate(found[0].split(", "))}


# ---- parsing: tuples ("name", x), ("number", text), ("cast", type, e), ("call", f, args), ("-", e), (op, a, b)

LEVELS = [["&&"], ["&"], ["==", "!="], [">=", "<=", "<", ">"], ["<<", ">>"], ["+", "-"], ["*", "/"]]


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

    def expression(self):
        condition = self.binary()
        if self.peek() != "?":
            return condition
        self.take()
        yes = self.expression()
        self.take(":")
        return ("choice", condition, yes, self.expression())

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
        if token == "!":
            return ("not", self.unary())
        if token == "&":
            return ("address", self.take())
        if token == "(" and self.peek() in TYPES | {"int"} and self.peek(1) == ")":
            kind = self.take()
            self.take(")")
            if kind == "ball":
                return ("pair", *self.list("{", "}"))
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
        if not re.match(r"\w+(?:(?:\.|->)\w+)*$", token):
            fail(f"an operand expected, not {token}")
        if self.peek() == "[":
            self.take()
            index = self.binary()
            self.take("]")
            return ("index", token, index)
        if self.peek() != "(":
            return ("name", token)
        return ("call", token, self.list("(", ")"))

    def list(self, first, last):
        self.take(first)
        found = [self.expression()]
        while self.peek() == ",":
            self.take()
            found.append(self.expression())
        self.take(last)
        return found

    # Statements: ("return", e), ("set", type or "", [(name or element, e)]), ("array", name, [e]),
    # ("if", e, statement), ("down", name, first, block), ("up", name, first, more, block),
    # ("do", function, [e]), ("block", [statement]), ("skip",).
    def statement(self):
        token = self.peek()
        if token == "{":
            return ("block", self.block())
        if token == "return":
            self.take()
            return self.ended(("return", self.expression()))
        if token == "if":
            for t in ("if", "("):
                self.take(t)
            condition = self.binary()
            self.take(")")
            return ("if", condition, self.statement())
        if token == "for":  # for (int m = FIRST; m >= 0; m--), for (int m = FIRST; m < N; m++)
            for t in ("for", "(", "int"):
                self.take(t)
            name = self.take()
            self.take("=")
            first = self.binary()
            self.take(";")
            more = self.binary()
            self.take(";")
            self.take(name)
            way = "up" if self.take() == "++" else "down"
            self.take(")")
            if way == "up":
                return ("up", name, first, more, self.statement())
            if more != (">=", ("name", name), ("number", "0")):
                fail(f"a loop that is not understood: {name}")
            return ("down", name, first, self.statement())
        if self.tokens[self.at:self.at + 3] == ["(", "void", ")"]:
            self.at += 4
            return self.ended(("skip",))
        if token == "static":
            for t in ("static", "const"):
                self.take(t)
            if self.take() not in ("float", "double"):
                fail("an array of numbers expected")
            name = self.take()
            for t in ("[", "]", "="):
                self.take(t)
            return self.ended(("array", name, self.list("{", "}")))
        if token == "const":
            token = self.take() and self.peek()
        if re.match(r"\w", token) and self.peek(1) == "(":
            return self.ended(("do", self.take(), self.list("(", ")")))
        kind = self.take() if token in TYPES or token == "int" else ""
        found = []
        while True:
            is_out = self.peek() == "*"
            name = ("*" if is_out and self.take() else "") + self.take()
            value = None
            if self.peek() == "[":
                self.take()
                name = ("index", name, self.binary())
                self.take("]")
            if self.peek() == "=":
                self.take()
                if self.peek() == "{":
                    for t in ("{", "0", "}"):
                        self.take(t)
                    value = ("zeros", kind)
                else:
                    value = self.expression()
            found.append((name, value))
            if self.peek() != ",":
                return self.ended(("set", kind, found))
            self.take()

    def ended(self, statement):
        self.take(";")
        return statement

    def block(self):
        self.take("{")
        found = []
        while self.peek() != "}":
            found.append(self.statement())
        self.take()
        return found


@functools.cache
def header_numbers():
    """What the headers of constants define in double, by name."""
    found = {}
    for header in ROOT.glob("src/enclosure/*_constants.h"):
        for name, text in re.findall(r"^#define (\w+) (-?(?:0x[0-9a-fA-F.]+p[+-]?\d+|\d+\.\d*))\s", header.read_text(), re.M):
            found[name] = float.fromhex(text) if "0x" in text else float(text)
    return found


class Function:
    """One function, translated. `static`: the values of numbers that are known beforehand; branches
    and loops on such numbers go."""

    def __init__(self, name, kind, parameters, body, known, static=(), source=None):
        self.kind, self.known, self.source, self.lines = kind, known, source, []
        self.static, self.masks, self.names = dict(static), {}, {}
        self.hoisted = 0
        if kind == "ball":
            self.kind = "vd"
        self.width = MANTISSA[self.kind]
        self.done = False
        self.translate(name, kind, parameters, body)

    def translate(self, name, kind, parameters, body):
        self.outs = [p[1:] for p in parameters if p[0] == "*"]
        inputs = [p for p in parameters if p[0] != "*"]
        for parameter in inputs:
            self.names[parameter] = parameter
        parser = Parser("{" + body + "}")
        self.run(("block", parser.block()))
        if parser.peek() or not self.done:
            fail(f"not understood: {body}")
        head = " ".join(f"({p} : o)" for p in inputs)
        result = " * ".join(["o"] * (1 + (kind == "ball") + len(self.outs)))
        self.text = f"Definition {name} (o : ops) {head} : {result} :=\n" + "".join(self.lines)

    def run(self, statement):
        match statement:
            case _ if self.done:
                return
            case ("block", statements):
                for s in statements:
                    self.run(s)
            case ("if", condition, then):
                if self.number(condition):
                    self.run(then)
            case ("down", name, first, then):
                for m in range(self.number(first), -1, -1):
                    self.static[name] = m
                    self.run(then)
                del self.static[name]
            case ("up", name, first, more, then):
                self.static[name] = self.number(first)
                while self.number(more):
                    self.run(then)
                    self.static[name] += 1
                del self.static[name]
            case ("do", name, arguments):
                self.do(name, arguments)
            case ("array", name, values):
                self.static[name] = [self.number(v) for v in values]
            case ("return", e):
                values = [self.value(x) for x in (e[1:] if e[0] == "pair" else (e,))]
                values += [self.names[out] for out in self.outs]
                self.lines.append(f"  {values[0] if len(values) == 1 else '(' + ', '.join(values) + ')'}.\n")
                self.done = True
            case ("set", "int", pairs):
                for name, e in pairs:
                    self.static[name] = self.number(e)
            case ("set", kind, pairs):
                for name, e in pairs:
                    self.assign(kind, name if isinstance(name, tuple) else name.lstrip("*"), e)

    def assign(self, kind, name, e):
        if e is None:
            return
        if kind == self.kind + "i" and e[0] in ("<", ">", "<=", ">=", "&"):
            self.masks[name] = self.mask(e, name)
            return
        value = self.value(e)
        key, name = self.element(name) if isinstance(name, tuple) else (name, name)
        self.names[key] = name
        self.let(name, value)

    def element(self, e):
        """An element of an array of vectors: its key in `names`, its name in Coq."""
        _, array, index = e
        n = self.number(index)
        return f"{array}[{n}]", f"{array}_{n}"

    def let(self, name, value):
        kind = " : o" if value.startswith("(const") else ""
        self.lines.append(f"  let {name}{kind} := {value} in\n")

    def mask(self, e, name=""):
        """A function from two values to their selection; the operands of a mask that has a name are
        kept, since what is in them may change."""
        match e:
            case ("name", known) if known in self.masks:
                return self.masks[known]
            case ("&", a, b):
                first, second = self.mask(a, name + "_a" if name else ""), self.mask(b, name + "_b" if name else "")

                def both(x, y):
                    other = (name or "mask") + "_else"
                    self.let(other, y)
                    return first(second(x, other), other)
                return both
            case (op, a, b) if op in ("<", ">", "<=", ">="):
                a, b = self.value(a), self.value(b)
                if name:
                    self.let(name + "_l", a)
                    self.let(name + "_r", b)
                    a, b = name + "_l", name + "_r"
                if op[0] == ">":
                    a, b = b, a
                return lambda x, y: f"(select_{'le' if '=' in op else 'lt'} {a} {b} {x} {y})"
        fail(f"no mask: {e}")

    def number(self, e):
        """A number that is known now, in C's int or double."""
        match e:
            case ("number", text):
                return int(text) if text.isdigit() else float(number(text))
            case ("name", name) if name in self.static:
                return self.static[name]
            case ("name", name) if name in header_numbers():
                return header_numbers()[name]
            case ("index", name, i) if name in self.static:
                return self.static[name][self.number(i)]
            case ("neg", x):
                return -self.number(x)
            case ("not", x):
                return not self.number(x)
            case ("&&", a, b):
                return self.number(a) and self.number(b)
            case (op, a, b) if op in ("+", "-", "*", "/", "==", "!=", "<=", ">=", "<", ">"):
                a, b = self.number(a), self.number(b)
                if op == "/" and isinstance(a, int) and isinstance(b, int):
                    fail(f"a quotient of whole numbers: {e}")
                return {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
                        "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt,
                        ">": operator.gt}[op](a, b)
        fail(f"not known now: {e}")

    def call(self, name, arguments):
        """A function of the same file: its numbers first, which choose the instance, then what it
        sets through pointers, then its result."""
        instance, static = self.source.instance(name, [
            self.number(a) if kind == "double" else None
            for kind, a in zip(self.source.kinds(name), arguments)], self.static)
        values = [a for kind, a in zip(self.source.kinds(name), arguments) if kind == "in"]
        text = f"{instance} o {' '.join(self.value(a) for a in values)}"
        outs = [a[1] for a in arguments if a[0] == "address"]
        if not outs:
            return f"({text})"
        self.hoisted += 1
        result = f"result{self.hoisted}"
        for out in outs:
            self.names[out] = out
        self.lines.append(f"  let '({', '.join([result, *outs])}) := {text} in\n")
        return result

    def constant(self, e):
        match e:
            case ("number", text) if self.kind == "vf":
                return f"const ({dyadic(number(text))})"
            case ("name", name) if name not in self.static:
                return f"const {name}"
            case ("neg", ("number", text)) if self.kind == "vf":
                return f"const ({dyadic(-number(text))})"
            case _ if self.kind == "vd" or e[0] == "index":
                value = Fraction(self.number(e))
                if not fits(value, self.kind == "vf"):
                    fail(f"{e} is not a number of its format")
                return f"const ({dyadic(value)})"
        fail(f"no constant: {e}")

    def value(self, e):
        v, i, u = self.kind, self.kind + "i", self.kind + "u"
        match e:
            case ("name", name) if name in self.names:
                return name
            case ("index", *_) if self.element(e)[0] in self.names:
                return self.names[self.element(e)[0]]
            case ("call", f, [("+", ("name", array), ("*", index, ("name", lanes)))]) if (
                f == v + "_load" and lanes == v.upper() + "_LANES"):
                return self.value(("index", array, index))
            case ("zeros", kind) if kind == v:
                return "(const (Dyadic 0 0))"
            # a number that is not known beforehand, in all lanes
            case ("call", f, [("name", x)]) if f == v + "_set1" and x in self.names:
                return x
            case ("call", f, [x]) if f == v + "_set1":
                return f"({self.constant(x)})"
            case ("call", f, [x]) if f == v + "_abs":
                return f"(mag_of {self.value(x)})"
            case ("call", f, [x, y, z]) if f == v + "_fma":
                return f"(fma {self.value(x)} {self.value(y)} {self.value(z)})"
            case ("choice", condition, yes, no):
                return self.value(yes if self.number(condition) else no)
            case ("call", f, [m, x, y]) if f == v + "_select":
                return self.mask(m)(self.value(x), self.value(y))
            case ("call", "vd_sqrt", [x]):
                return f"(root_of {self.value(x)})"
            # 2^e f = x, by the bits
            case ("call", f, [x, root]) if f == v + "_fraction":
                return f"(fraction {self.value(x)} {self.value(root)})"
            case ("call", f, [x, root, c]) if f == v + "_exponent":
                return f"(exponent {self.value(x)} {self.value(root)} {self.value(c)})"
            case ("call", f, args) if f in self.known:
                return f"({f} o {' '.join(self.value(a) for a in args)})"
            case ("call", f, args) if self.source and self.source.has(f):
                return self.call(f, args)
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


class Lanes(Function):
    """A function without a result on arrays of `width` vectors, of which one lane is translated: in the
    order of its parameters, it takes the elements of arrays and pointers to const, vectors and numbers, and
    gives the elements of the other arrays."""

    def translate(self, name, kind, parameters, body):
        self.base, inputs, self.outs = name, [], []
        for *types, p in parameters:
            bare = p.strip("*[]")
            elements = self.elements(bare)
            if bare in self.static:
                continue
            if p == bare:
                self.names[bare] = bare
                inputs.append(bare)
            elif "const" in types:
                self.names |= elements
                inputs += elements.values()
            else:
                self.outs += elements
        parser = Parser("{" + body + "}")
        self.run(("block", parser.block()))
        if parser.peek():
            fail(f"not understood: {body}")
        outs = [self.names[out] for out in self.outs]
        self.lines.append(f"  {self.tuple(outs)}.\n")
        self.text = (f"Definition {name}_{self.static['width']} (o : ops) {' '.join(f'({p} : o)' for p in inputs)} : "
                     f"{' * '.join('o' for _ in outs)} :=\n" + "".join(self.lines))

    def elements(self, array):
        return {f"{array}[{i}]": f"{array}_{i}" for i in range(self.static["width"])}

    @staticmethod
    def tuple(names):
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def do(self, name, arguments):
        """Another such function: one that is known by its name, or an instance for this one."""
        static, values, outs = {}, [], {}
        for (*types, p), a in zip(self.source.parameters(name), arguments):
            bare = p.strip("*[]")
            if "int" in types:
                static[bare] = self.number(a)
            elif a[0] == "name" and a[1] in self.static:
                static[bare] = self.static[a[1]]
            elif p == bare:
                values.append(self.value(a))
            elif "const" in types:
                values += [self.names[key] for key in self.elements(a[1])]
            else:
                outs |= self.elements(a[1])
        if name not in self.known:
            self.source.lanes(name, self.base + name[2:], self.kind, static)
            name = self.base + name[2:]
        self.names |= outs
        found = self.tuple(list(outs.values()))
        self.lines.append(f"  let {found if len(outs) == 1 else chr(39) + found} := "
                          f"({name}_{static['width']} o {' '.join(values)}) in\n")


class Source:
    """A file of C, preprocessed. `hidden`: the include guards of the headers whose constants keep
    their names; `known`: kernels that are defined elsewhere."""

    def __init__(self, file, hidden, known):
        run = subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-E", "-P", "-DATTEST_ISA=baseline",
                              *(f"-D{guard}" for guard in hidden.split()), str(ROOT / file)],
                             capture_output=True, text=True)
        if run.returncode:
            fail(run.stderr)
        self.file, self.text, self.known, self.printed = file, run.stdout, set(known), set()

    def find(self, name):
        return re.search(r"always_inline, unused\)\) (v[fd]|ball|void) %s\(([^)]*)\) \{" % name, self.text)

    def has(self, name):
        return self.find(name) is not None

    def parameters(self, name):
        return [p.split() for p in self.find(name)[2].split(",")]

    def kinds(self, name):
        """By parameter: "in", "out", "double", or "constants" for what a sweep knows beforehand."""
        return [p[0] if p[0] == "double" else "out" if p[-1][0] == "*" and p[0] in TYPES else
                "in" if p[0] in TYPES else "constants" for p in self.parameters(name)]

    def body(self, name):
        found = self.find(name)
        if not found:
            fail(f"no function {name} in {self.file}")
        start, depth = found.end(), 1
        end = start
        while depth:
            depth += {"{": 1, "}": -1}.get(self.text[end], 0)
            end += 1
        return re.sub(r"#pragma .*", "", self.text[start:end - 1])

    def lanes(self, name, instance, kind, static):
        print(Lanes(instance, kind, self.parameters(name), self.body(name), self.known, static, self).text)

    def instance(self, name, numbers, static):
        """Prints the function with these values of its numbers; its name in Coq."""
        found, kinds, parameters, body = self.find(name), self.kinds(name), self.parameters(name), self.body(name)
        inside = {p[-1]: n for kind, p, n in zip(kinds, parameters, numbers) if kind == "double"}
        inside |= {p[-1]: static[p[-1]] for p in parameters if "int" in p and p[-1] in static}
        if "c->" in body:
            inside |= {key: n for key, n in static.items() if key.startswith("c->")}
        suffix = "".join(f"_{n}".replace(".", "_").replace("-", "m") for n in inside.values())
        if name + suffix not in self.printed:
            vectors = [p[-1] for kind, p in zip(kinds, parameters)
                       if kind in ("in", "out") or kind == "double" and p[-1] not in inside]
            function = Function(name + suffix, found[1], vectors, body, self.known, inside, self)
            print(function.text)
            self.printed.add(name + suffix)
        return name + suffix, inside


def functions(file, wanted, hidden, requires, given=()):
    """Coq definitions of the functions `wanted` of a file; a pair (name, {"c->member": number}) is one
    with that member of the constants of a sweep, (name, {"n": number}) one with a number for its int n."""
    print(f"(* From {file}. *)\nFrom Coq Require Import ZArith.\nFrom Attest Require Import {' '.join(requires)}.")
    source = Source(file, hidden, given)
    for name in wanted:
        name, static = (name, {}) if isinstance(name, str) else name
        if not source.has(name):
            fail(f"no function {name} in {file}")
        source.instance(name, [], static)
        source.known.add(name)


def lanes(file, wanted, hidden, requires, given=()):
    """Coq definitions of functions on arrays of vectors, for arrays of one and of two: (name, "vf" or "vd",
    numbers that are known, suffix)."""
    print(f"(* From {file}. *)\nFrom Coq Require Import ZArith.\nFrom Attest Require Import {' '.join(requires)}.")
    source = Source(file, hidden, given)
    for name, kind, static, suffix in wanted:
        for width in (1, 2):
            source.lanes(name, name + suffix, kind, {**static, "width": width})
        source.known.add(name)


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
    body = Function(name, "vd", ["h", "s", "a"], f"return {step};", set()).text.split(":=\n")[1].strip().rstrip(".")
    print(f"(* From {header}. *)\nFrom Coq Require Import ZArith List.\nImport ListNotations.")
    print(f"From Attest Require Import {' '.join(requires)}.")
    print(f"Fixpoint {name} (o : ops) (c : list o) (s : o) : o := match c with\n"
          f"| [] => const (Dyadic 0 0) | [a] => a | a :: c => let h := {name} o c s in {body} end.")
