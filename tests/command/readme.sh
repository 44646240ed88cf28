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
# The YAML of "Check a number in a paper": the block that begins with "claims:".
sed -n '/^```yaml$/,/^```$/p' "$top/README.md" | sed -n '/^claims:/,/^```$/p' | sed '/^```/d' >transformer.yaml
expect "a number of another paper is refuted" 1 '^REFUTED claim=wavelengths .*60611.4771662610572608' \
  "$attest" claims transformer.yaml
expect "another one holds" 1 '^HOLDS claim=peak-rate printed=7.0e-4 ' "$attest" claims transformer.yaml
