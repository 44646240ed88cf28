#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""eval.py ATTEST: values, exit statuses and messages of attest eval."""
import time

from attest_command import done, expect, run

for expression, arguments, printed in [
    ("1/3", (), "0.33333333333333333333"), ("taylor_min(2)", (), "0.5"), ("2^10", (), "1024"), ("-2^2", (), "-4"), ("10^-40", (), "1e-40"),
    ("taylor_min(4)", ("--digits", 30), "0.270394765205184607962459613383"), ("1/3 + 1/6", ("--rational",), "1/2"), ("-7", (), "-7"), ("--7", (), "7"),
    ("sqrt(2)^2 = 2", (), "true"), ("[1/4, 1/3]", ("--digits=3",), "[0.25, 0.333]"),
]:
    status, out, err = run("eval", expression, *arguments)
    expect(f"eval {expression} {' '.join(map(str, arguments))}", status == 0 and out == printed + "\n" and not err, (status, out, err))

for expression in ["1/0", "((1", "nope(3)", "taylor_min(3)", "10^10^10", "factorial(10^9)", "", "sqrt(2) +"]:
    status, out, err = run("eval", expression)
    expect(f"eval '{expression}' exits 2 and names the column", status == 2 and not out and err.startswith("attest: column "), (status, out, err))

status, out, err = run("eval", "sin(pi)")
expect("an undecided value exits 3 with its enclosure", status == 3 and out.startswith("[-") and out.endswith("]\n") and err, (status, out, err))
status, out, err = run("eval", "1 + 1/0 + 2")
expect("a mark stands below the place", err.splitlines()[1:] == ["  1 + 1/0 + 2", "       ^"], err)
for arguments in [(), ("1", "2"), ("1", "--digits", "0"), ("1", "--digits", "x"), ("1", "--digits", "1000001"), ("1", "--digit", "3"), ("sqrt(2)", "--rational")]:
    status, out, err = run("eval", *arguments)
    expect(f"eval {' '.join(arguments)} exits 2", status == 2 and err and not out, (status, out, err))
status, out, err = run("eval", "--help")
expect("the help lists the functions", status == 0 and all(f"{name}(" in out for name in ("sqrt", "binomial", "taylor_min", "alignment_taylor", "state_numbers")), out)

start = time.monotonic()
status, out, err = run("eval", "taylor_min(200)", "--digits", 1000)
expect("a thousand digits of a floor of order 200", status == 0 and out.startswith("3.6097146801231028401170476158") and len(out.split("e")[0]) == 1001 and out.endswith("e-25\n"), out)
print(f"# {time.monotonic() - start:.2f} s")
done()
