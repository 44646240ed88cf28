# SPDX-License-Identifier: LGPL-3.0-or-later
"""Shared by the command tests in Python: running attest, saving arrays, printing ok and FAIL lines."""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

try:
    import jsonschema
except ImportError:  # documents are not validated then
    jsonschema = None

ATTEST = os.path.abspath(sys.argv[1])
SEED = int(os.environ.get("ATTEST_SEED", "1"), 0)
folder = tempfile.TemporaryDirectory()
failures = 0


def path(name):
    return os.path.join(folder.name, name)


def save(name, array):
    """Saves an array as NAME.npy and returns the file's path."""
    np.save(path(name), array)
    return path(name) + ".npy"


SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "schema")


def validate(file, schema):
    """A document must meet its schema in data/schema."""
    if not jsonschema or not os.path.isfile(file):
        return
    with open(file) as f, open(os.path.join(SCHEMAS, schema + ".json")) as s:
        try:
            jsonschema.validate(json.load(f), json.load(s))
        except jsonschema.ValidationError as e:
            expect(f"{os.path.basename(file)} meets the schema {schema}", False, f"{e.message} at {list(e.absolute_path)}")


def validate_written(arguments, folder):
    """Whatever document this command line has written."""
    flags = dict(zip(arguments, arguments[1:]))
    verb = arguments[0] if arguments else ""
    if verb in ("check", "certify", "claims") and "--json" in flags:
        validate(os.path.join(folder, flags["--json"]), "claims" if verb == "claims" else "certificate")
    if verb in ("sweep", "bench") and "--json" in flags:
        validate(os.path.join(folder, flags["--json"]), verb)
    if verb == "reference" and flags.get("--output", "").endswith(".json"):
        validate(os.path.join(folder, flags["--output"]), "reference")


def run(*arguments, timeout=120, **settings):
    """Runs attest: (exit status, standard output, standard error). Documents that it writes are validated."""
    settings.setdefault("stdout", subprocess.PIPE)
    settings.setdefault("stderr", subprocess.PIPE)
    settings.setdefault("cwd", folder.name)
    r = subprocess.run([ATTEST, *map(str, arguments)], text=True, timeout=timeout, **settings)
    validate_written(list(map(str, arguments)), settings["cwd"])
    return r.returncode, r.stdout, r.stderr


def check(*arguments, kernel="softmax", **settings):
    """Runs attest check KERNEL with --json: (exit status, document or None, output, errors)."""
    file = path("certificate.json")
    if os.path.exists(file):
        os.remove(file)
    status, out, err = run("check", kernel, *arguments, "--json", file, **settings)
    document = json.load(open(file)) if os.path.exists(file) else None
    return status, document, out, err


def processes(mark):
    """Ids of the processes whose command line matches, without ps."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it is gone
            continue
        if re.search(mark, words):
            found.append(int(pid))
    return found


def number(x):
    return float(x)  # "inf" and "nan" are strings


def expect(name, ok, detail=""):
    global failures
    failures += not ok
    print(("ok   " if ok else "FAIL ") + name + ("" if ok else f": {str(detail)[-400:]}"), flush=True)


def done():
    sys.exit(failures != 0)
