#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""data/python/attest.py: assert_attention on outputs of NumPy and, where it is installed, PyTorch, in float32, bfloat16
and float16; known-wrong kernels are refuted; errors are told apart from refutations."""
import array
import os
import subprocess
import sys

import numpy as np

from attest_command import ATTEST, SEED, done, expect, path

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "data", "python"))
os.environ["ATTEST"] = ATTEST
import attest  # noqa: E402

try:
    import torch
except ImportError:
    torch = None
rng = np.random.default_rng(SEED)


def refuted(name, *arguments, **settings):
    try:
        attest.assert_attention(*arguments, **settings)
        expect(name + " is refuted", False, "it certifies")
    except attest.Refuted as e:
        expect(name + " is refuted", "REFUTED" in str(e) and e.certificate["cases"], e)
    except attest.AttestError as e:
        expect(name + " is refuted", False, e)


def certifies(name, *arguments, **settings):
    try:
        attest.assert_attention(*arguments, **settings)
        expect(name + " certifies", True)
    except (attest.Refuted, attest.AttestError) as e:
        expect(name + " certifies", False, e)


def softmax(q, k, v, scale=None, causal=True, shift=True, dtype=np.float32, group=None):
    """In `dtype`; heads of q share those of k and v, by default in blocks."""
    h, share = q.shape[0], q.shape[0] // k.shape[0]
    heads = [i // share for i in range(h)] if group is None else group
    k, v = k[heads], v[heads]
    s = (q.astype(dtype) @ k.astype(dtype).swapaxes(-1, -2)) * dtype(scale or 1 / np.sqrt(q.shape[-1]))
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, dtype(-np.inf))
    p = np.exp(s - s.max(-1, keepdims=True) if shift else s)
    return (p / p.sum(-1, keepdims=True)) @ v.astype(dtype)


def numpy_kernels():
    q, k, v = (np.load(f"{ROOT}/data/stories260k/{n}.npy")[2] for n in "qkv")
    q, k, v = q[:, :200], k[:, :200], v[:, :200]
    good = softmax(q, k, v)
    certificate = attest.assert_attention(q, k, v, good, causal="top-left", bound="backward<=16")
    expect("NumPy in float32 certifies", certificate["cases"][0]["outputs"][0]["verdict"] == "certified")
    certifies("NumPy with several bounds", q, k, v, good, causal="top-left", bound=["backward<=16", "allclose=1e-4,1e-5"])
    certifies("... with scale as a float and True for causal", q, k, v, good, causal=True, scale=float(1 / np.sqrt(8)))
    low = [a.astype(np.float16) for a in (q, k, v)]
    certifies("NumPy in float32 on float16 inputs, rounded to float16", *low, softmax(*low).astype(np.float16),
              causal="top-left", bound="backward<=4")
    certifies("a view of other strides", q, k, v, np.asfortranarray(good), causal="top-left")
    certifies("a mask as an array", q, k, v, softmax(q, k, v), mask=np.tri(200, dtype=bool))
    certifies("bias as an array", q, k, v, softmax(q, k, v), bias=np.where(np.tri(200) > 0, 0, -np.inf).astype("f4"))
    flat = [memoryview(array.array("f", a.ravel())).cast("B").cast("f", a.shape) for a in (q[0], k[0], v[0])]
    certifies("arrays of the standard library", *flat, softmax(q[:1], k[:1], v[:1])[0], causal="top-left")
    refuted("weights in half precision", q, k, v, softmax(q, k, v, dtype=np.float16).astype("f4"), causal="top-left")
    refuted("a wrong scale", q, k, v, softmax(q, k, v, scale=1 / 8), causal="top-left")
    refuted("a wrong grouping of heads", q, k, v, softmax(q, k, v, group=[i % 4 for i in range(8)]), causal="top-left")
    refuted("no causal mask", q, k, v, softmax(q, k, v, causal=False), causal="top-left")
    far = q * np.float32(40)
    with np.errstate(all="ignore"):
        refuted("no subtraction of the maximum", far, k, v, softmax(far, k, v, shift=False), causal="top-left")
    certifies("... with it", far, k, v, softmax(far, k, v), causal="top-left")
    # A sum in half precision stalls: 2048 + 1 is 2048.
    n = 6000
    q, k, v = np.zeros((1, 2, 4), "f2"), np.zeros((1, n, 4), "f2"), rng.random((1, n, 4)).astype("f2")
    total = np.zeros((1, 2, 4), "f2")
    weights = np.float16(0)
    for j in range(n):
        total += v[:, j:j + 1]
        weights += np.float16(1)
    refuted("an accumulator in half precision over a long row", q, k, v, total / weights)
    certifies("... in single precision", q, k, v, np.repeat(v.astype("f4").mean(1, keepdims=True), 2, 1).astype("f2"))


def torch_kernels():
    if not torch:
        print("     PyTorch is not there: its kernels are left out")
        return
    torch.manual_seed(SEED)
    q, k, v = (torch.randn(2, 4, 65, 16) for _ in range(3))
    for dtype, bound in ((torch.float32, "backward<=16"), (torch.bfloat16, "backward<=4"), (torch.float16, "backward<=4"),
                         (torch.float64, "backward<=16")):
        low = [x.to(dtype) for x in (q, k, v)]
        wide = [x.double() if dtype == torch.float64 else x.float() for x in low]
        s = (wide[0] @ wide[1].transpose(-1, -2)) / 4
        s = s.masked_fill(~torch.ones(65, 65).tril().bool(), float("-inf"))
        out = (torch.softmax(s, -1) @ wide[2]).to(dtype)
        lse = torch.logsumexp(s, -1)
        certifies(f"PyTorch in {dtype}", *low, out, lse=lse, causal="top-left", bound=[bound, "lse:backward<=16"])
        refuted(f"PyTorch in {dtype} with a wrong scale", *low, (torch.softmax(s * 1.1, -1) @ wide[2]).to(dtype),
                causal="top-left")
    sdpa = getattr(torch.nn.functional, "scaled_dot_product_attention", None) or \
        getattr(torch.nn.functional, "_scaled_dot_product_attention", None)
    if sdpa:
        out = sdpa(q, k, v, is_causal=True)
        certifies("scaled_dot_product_attention", q, k, v, out[0] if isinstance(out, tuple) else out, is_causal=True)
    for scale in (torch.tensor(0.3), torch.tensor(0.3).bfloat16(), np.float32(0.3), np.float16(0.3), np.array(0.3)):  # none of them is 3/10
        a, b, c = (x.double() for x in (q, k, v))
        certifies(f"a scale of the type {scale.dtype}", a, b, c, torch.softmax(a @ b.transpose(-1, -2) * float(scale), -1) @ c, scale=scale)
    certifies("a NumPy bool", q, k, v, torch.softmax((q @ k.transpose(-1, -2)) / 4, -1) @ v, is_causal=np.False_)
    certifies("a tensor that needs a gradient", q.requires_grad_(), k, v, torch.softmax((q @ k.transpose(-1, -2)) / 4, -1) @ v)
    certifies("transposed tensors", q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
              (torch.softmax((q @ k.transpose(-1, -2)) / 4, -1) @ v).transpose(1, 2), layout="bnhd")


def errors():
    q, k, v = rng.standard_normal((3, 2, 5, 4)).astype("f4")
    out = softmax(q, k, v, causal=False)
    for name, call, word in (("a parameter that is unknown", lambda: attest.assert_attention(q, k, v, out, causl=True), "causl"),
                             ("a shape that does not match", lambda: attest.assert_attention(q, k, v, out[:, :3]), "out"),
                             ("a list", lambda: attest.assert_attention(q, k, v, out.tolist()), "list"),
                             ("a type that is not served", lambda: attest.assert_attention(q, k, v, out.astype("c8")), "out"),
                             ("an unknown kernel", lambda: attest.assert_attention(q, k, v, out, kernel="x"), "x"),
                             ("no command", lambda: attest.assert_attention(q, k, v, out, command="/no/such/attest"), "attest")):
        try:
            call()
            expect(name + " raises", False)
        except (attest.AttestError, OSError) as e:
            expect(name + " raises AttestError", word in str(e), e)
    try:
        attest.assert_attention(q, k, v, out + 1)
    except AssertionError as e:
        expect("the message names the element and the bound", "out[" in str(e) and "backward<=16" in str(e) and "exactly" in str(e), e)
    empty = np.zeros((0, 4), "f4")
    certifies("an empty tensor, where that is allowed,", empty, empty, empty, empty, allow_empty=True)
    try:
        attest.assert_attention(empty, empty, empty, empty)
        expect("an empty tensor raises AttestError", False)
    except attest.AttestError as e:
        expect("an empty tensor raises AttestError", "allow-empty" in str(e), e)
    test = path("test_kernel.py")
    open(test, "w").write("import sys\nsys.path.insert(0, %r)\nimport attest, numpy as np\ndef test_it():\n"
                          "    q = np.zeros((3, 4), 'f4')\n    attest.assert_attention(q, q, q, q)\n"
                          "test_it()\n" % os.path.join(ROOT, "data", "python"))
    r = subprocess.run([sys.executable, test], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect("a test file runs", r.returncode == 0, r.stdout)


numpy_kernels()
torch_kernels()
errors()
done()
