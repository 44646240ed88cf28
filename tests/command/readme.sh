#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# readme.sh ATTEST: the Python example of README.md and the commands after it do what it says.
set -u
attest=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
ln -s "$top/data" data

# expect NAME STATUS PATTERN COMMAND...: the exit status and, unless empty, a line of the output.
expect() {
  name=$1 status=$2 pattern=$3
  shift 3
  "$@" >log 2>&1
  got=$?
  if [ $got -eq "$status" ] && { [ -z "$pattern" ] || grep -q -e "$pattern" log; }; then
    echo "ok $name"
  else
    echo "FAIL $name: exit status $got"
    sed 's/^/     /' log
  fi
}

sed -n '/^```python$/,/^```$/p' "$top/README.md" | sed '/^```/d' >store.py
cat >>store.py <<'END'
print(np.allclose(arrays["half"], arrays["good"], rtol=1e-3, atol=1e-3))
END
expect "the two outputs agree by the usual tolerance" 0 True /usr/bin/python3 store.py
problem="softmax --q q.npy --k k.npy --v v.npy --causal top-left"
# shellcheck disable=SC2086 # words
{
  expect "half is refuted" 1 '^REFUTED .* elements=32768 ' "$attest" check $problem --out half.npy
  expect "good is certified" 0 '^CERTIFIED .* elements=32768 ' "$attest" check $problem --out good.npy
  expect "reference with 50 digits" 0 '' "$attest" reference $problem --digits 50 --output exact.json
  expect "reference in float32" 0 '' "$attest" reference $problem --dtype float32 --output exact.npy
  expect "the rounded reference is certified to half an ulp" 0 '^CERTIFIED ' \
    "$attest" check $problem --out exact.npy --bound 'ulp<=0.5'
  expect "reference bundle" 0 '' "$attest" reference $problem --bundle folder
}

expect "the Taylor example is certified with its state" 0 'output=final-state elements=1620 ' \
  "$attest" check taylor --q q.npy --k k.npy --v v.npy --degree 2 --causal top-left --out taylor.npy --final-state state.npy
expect "the sparsemax example is certified" 0 'kernel=sparsemax .* elements=32768 ' \
  "$attest" check sparsemax --q q.npy --k k.npy --v v.npy --causal top-left --out sparsemax.npy
expect "entmax of 65,536 keys is certified" 0 'kernel=entmax .* elements=256 ' \
  "$attest" check entmax --alpha 1.1 --q long_q.npy --k long_k.npy --v long_v.npy --out entmax.npy
expect "rotary embedding in float32 is certified" 0 'kernel=rope-softmax .* elements=32768 ' \
  "$attest" check rope-softmax --q q_norope.npy --k k_norope.npy --v v.npy --out good.npy --causal top-left
expect "... and with frequencies in bfloat16 it is refuted" 1 '^REFUTED .* backward=1\.8[0-9]*e+04 .* at=4,501,5 ' \
  "$attest" check rope-softmax --q q_norope.npy --k k_norope.npy --v v.npy --out bf16.npy --causal top-left
# The YAML of "Check a number in a paper": the block that begins with "claims:".
sed -n '/^```yaml$/,/^```$/p' "$top/README.md" | sed -n '/^claims:/,/^```$/p' | sed '/^```/d' >transformer.yaml
expect "a number of another paper is refuted" 1 '^REFUTED claim=wavelengths .*60611.4771662610572608' \
  "$attest" claims transformer.yaml
expect "another one holds" 1 '^HOLDS claim=peak-rate printed=7.0e-4 ' "$attest" claims transformer.yaml

# block FIRST: the block of the README whose first line is FIRST.
block() {
  sed -n '/^```[a-z]/,/^```$/p' "$top/README.md" |
    awk -v first="$1" '/^```[a-z]/ { getline; on = $0 == first } /^```$/ { on = 0 } on'
}
block '# kernel.py' >kernel.py
expect "the command of the README groups heads wrongly, which is found" 1 \
  '^attest: diagnosis: it certifies with interleaved heads' \
  "$attest" check softmax --q q.npy --k k.npy --v v.npy --causal top-left --exec '/usr/bin/python3 kernel.py'
expect "the C kernel compiles as the README says" 0 '' \
  gcc -O2 -shared -fPIC -I"$top/src" "$top/data/examples/kernel.c" -o kernel.so -lm
expect "... and certifies" 0 '^CERTIFIED .*subject=./kernel.so:attention ' \
  "$attest" check softmax --q q.npy --k k.npy --v v.npy --causal top-left --library ./kernel.so:attention
mkdir tests
cat >my_kernel.py <<'END'
import sys
import numpy as np
import json
for line in sys.stdin:
    folder = line.strip()
    q, k, v = (np.load(f"{folder}/{n}.npy").astype(float) for n in "qkv")
    problem = json.load(open(folder + "/problem.json"))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    s = q @ k.swapaxes(-1, -2) * problem["doubles"]["scale"]
    if problem["params"]["causal"] == "top-left":
        s[..., ~np.tri(*s.shape[-2:], dtype=bool)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    np.save(folder + "/out.npy", (p / p.sum(-1, keepdims=True) @ v).astype("f4"))
    print(0, flush=True)
END
block 'attest: 1' | sed 's/\[python3/[\/usr\/bin\/python3/' >plan.yaml
expect "the plan of the README runs within its budget" 0 ' of 4192 cases (' "$attest" certify plan.yaml --time 5s
grep -v 'name: tails' plan.yaml >fwd.yaml
expect "... and its first part to the end" 0 '96 of 96 cases, outputs: 96 certified, ' "$attest" certify fwd.yaml
block '# test_attention.py' >test_attention.py
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  echo 'test_bfloat16()' >>test_attention.py
  expect "the test of the README passes" 0 '' \
    env PYTHONPATH="$top/data/python" ATTEST="$attest" /usr/bin/python3 test_attention.py
fi
expect "tolerances as in the README" 0 'rtol=2.4e-07, atol=1.6e-06' \
  "$attest" tolerance softmax --n 1024 --d 64 --dtype float32 --causal top-left
