# SPDX-License-Identifier: LGPL-3.0-or-later
"""Certify what an attention kernel returned, from Python and pytest.

    import attest
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    attest.assert_attention(q, k, v, out, causal="top-left")

Copy this file beside your tests, or put its folder on PYTHONPATH. It needs the command `attest` (on PATH, or named by
the environment variable ATTEST) and the standard library only; it takes NumPy arrays, PyTorch tensors on any device
(bfloat16 too), JAX arrays, and whatever else has the buffer interface or __array__.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

__all__ = ["assert_attention", "check_attention", "AttestError", "Refuted"]

_CODES = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "int32": "I32", "int64": "I64", "bool": "BOOL"}
_FORMATS = {"e": "float16", "f": "float32", "d": "float64", "i": "int32", "l": "int64", "q": "int64", "?": "bool"}


class AttestError(Exception):
    """attest could not compare: a wrong parameter, shapes that do not match, no command."""


class Refuted(AssertionError):
    """The output is not certified; `certificate` holds the whole document."""

    def __init__(self, message, certificate):
        super().__init__(message)
        self.certificate = certificate


def _command(command):
    found = command or os.environ.get("ATTEST") or shutil.which("attest")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "attest")
    if not found and os.access(beside, os.X_OK):
        found = beside
    if not found:
        raise AttestError("the command attest is not on PATH: install it, or name it in the environment variable ATTEST")
    return found


def _is_tensor(x):
    return hasattr(x, "shape") or isinstance(x, memoryview)


def _torch_bytes(x):
    torch = sys.modules["torch"]
    name = str(x.dtype).replace("torch.", "")
    x = x.detach().cpu().contiguous()
    if x.is_conj() or x.is_neg():
        x = x.resolve_conj().resolve_neg()
    if name == "bfloat16":  # NumPy does not know it
        x = x.view(torch.int16)
    return name, list(x.shape), x.numpy().tobytes()


def _bytes(name, x):
    """(dtype name, shape, elements in C order, little endian)"""
    if type(x).__module__.split(".")[0] == "torch":
        kind, shape, data = _torch_bytes(x)
    else:
        if getattr(getattr(x, "dtype", None), "name", "") == "bfloat16":  # ml_dtypes, which JAX uses
            return "bfloat16", list(x.shape), x.__array__().view("uint16").tobytes()
        try:
            view = memoryview(x)
        except TypeError:
            if not hasattr(x, "__array__"):
                raise AttestError(f"{name} is a {type(x).__name__}: give a NumPy array or a PyTorch tensor") from None
            view = memoryview(x.__array__())
        kind, shape, data = _FORMATS.get(view.format.lstrip("<=@"), view.format), list(view.shape), view.tobytes()
    if kind not in _CODES:
        raise AttestError(f"{name} has the type {kind}: one of {', '.join(_CODES)} is wanted")
    return kind, shape, data


def _write(path, tensors):
    """The safetensors format: the length of a JSON header, the header, the elements."""
    header, parts, at = {}, [], 0
    for name, x in tensors.items():
        kind, shape, data = _bytes(name, x)
        header[name] = {"dtype": _CODES[kind], "shape": shape, "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for data in parts:
            f.write(data)


def _text(value):
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a float32 is no decimal: its digits are rounded
        value = value.item()
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, float):
        return value.hex()  # exactly
    if isinstance(value, (tuple, list)):
        return ",".join(str(x) for x in value)
    return str(value)


def check_attention(q, k, v, out=None, *, lse=None, final_state=None, indices=None, kernel="softmax", bound=None,
                    arithmetic=None, command=None, timeout=None, **params):
    """Compares the outputs with the exact result and returns the certificate (a dict, see the README).

    bound: "backward<=16", or a list of such that must all hold. params: those of `attest check KERNEL --help`, with
    underscores: causal="top-left", scale=0.125, window=(255, 0), softcap=30.0, convention="flash-attn"; tensors (mask,
    bias, alibi_slopes, sinks, cu_seqlens_q, ..) as arrays. None leaves one out.
    """
    tensors = {"q": q, "k": k, "v": v, "out": out, "lse": lse, "final_state": final_state, "indices": indices}
    flags = []
    for name, value in params.items():
        if value is None:
            continue
        if _is_tensor(value) and getattr(value, "ndim", 1) > 0:
            tensors[name] = value
        elif name == "allow_empty":
            flags += ["--allow-empty"] if value else []
        else:
            flags.append(f"--{name.replace('_', '-')}={_text(value)}")
    for text in [bound] if isinstance(bound, str) else bound or []:
        flags.append(f"--bound={text}")
    if arithmetic:
        flags.append(f"--arithmetic={arithmetic}")
    with tempfile.TemporaryDirectory(prefix="attest-") as folder:
        dump, document = os.path.join(folder, "tensors.safetensors"), os.path.join(folder, "certificate.json")
        _write(dump, {name: x for name, x in tensors.items() if x is not None})
        for name, x in tensors.items():
            if x is not None:
                flags.append(f"--{name.replace('_', '-')}={dump}:{name}")
        run = subprocess.run([_command(command), "check", kernel, *flags, "--json", document, "--case", "python"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=timeout)
        if not os.path.exists(document):
            raise AttestError(run.stderr.strip() or f"attest ended with status {run.returncode}")
        with open(document, encoding="utf-8") as f:
            certificate = json.load(f)
    certificate["text"], certificate["status"] = run.stdout, run.returncode
    return certificate


def assert_attention(q, k, v, out=None, **arguments):
    """As check_attention, but raises Refuted (an AssertionError) unless everything is certified."""
    certificate = check_attention(q, k, v, out, **arguments)
    if certificate["status"] == 0:
        return certificate
    lines = [certificate["text"].strip()]
    for output in certificate["cases"][0]["outputs"]:
        worst = output["worst"]
        if output["verdict"] == "certified" or not worst:
            continue
        lines.append(f"{output['name']}[{', '.join(map(str, worst['index']))}] is {worst['got']!r}, "
                     f"exactly {worst['lo']!r} .. {worst['hi']!r}; bound {output['bound']}; "
                     f"{output['counts']['refuted']} of {output['elements']} elements are refuted")
    raise Refuted("\n".join(lines), certificate)
