#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# inspect.sh ATTEST: what `attest inspect` prints. The figures of the real tensor are NumPy's
# (min, max, mean of the absolute values in float64) and sha256sum's; the small files are bytes
# written here.
set -u
attest=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

# same NAME STATUS EXPECTED-OUTPUT ARGUMENTS...
same() {
  name=$1 status=$2 expected=$3
  shift 3
  printed=$("$attest" inspect "$@" 2>err)
  got=$?
  if [ $got -eq "$status" ] && [ "$printed" = "$expected" ]; then
    echo "ok $name"
  else
    echo "FAIL $name"
    printf '     exit %s, expected %s\n     %s\n     expected:\n     %s\n' \
      "$got" "$status" "$printed" "$expected"
    cat err
  fi
}
# refused NAME PART ARGUMENTS...: exit 2, nothing printed, PART on standard error
refused() {
  name=$1 part=$2
  shift 2
  printed=$("$attest" inspect "$@" 2>err)
  if [ $? -eq 2 ] && [ -z "$printed" ] && grep -qF -- "$part" err; then
    echo "ok $name"
  else
    echo "FAIL $name"
    cat err
  fi
}
# npy SHAPE DESCR DATA: version 1.0 with a header of 118 bytes; DATA as printf octal escapes
npy() {
  printf '\223NUMPY\001\000\166\000%-117s\n' \
    "{'descr': '$2', 'fortran_order': False, 'shape': $1, }"
  # shellcheck disable=SC2059
  printf "$3"
}
sha() { sha256sum "$1" | cut -d ' ' -f 1; }

q=$top/data/stories260k/q.npy
ln -s "$q" q.npy
same "real tensor" 0 \
  "file=q.npy kind=npy-1.0 bytes=655488 tensors=1 sha256=afbe3594e613061ad84488d56af6b8bba71dbf2ec0467604d8ea9f403bf247b5
tensor=- dtype=float32 shape=(5,8,512,8) byte_order=little order=C offset=128 elements=163840 min=-34.8435898 max=33.8393936 mean_abs=3.18457152 nan=0 inf=0 zeros=0 subnormals=0" q.npy

# 1, NaN, inf, -inf, 0, -0, the smallest subnormal, -2: big endian float32
npy '(8,)' '>f4' '\077\200\000\000\177\300\000\000\177\200\000\000\377\200\000\000\000\000\000\000\200\000\000\000\000\000\000\001\300\000\000\000' >special.npy
same "special values" 0 "file=special.npy kind=npy-1.0 bytes=160 tensors=1 sha256=$(sha special.npy)
tensor=- dtype=float32 shape=(8,) byte_order=big order=C offset=128 elements=8 min=-2 max=1 mean_abs=0.6 nan=1 inf=2 zeros=2 subnormals=1" special.npy

npy '(0, 3)' '<f8' '' >none.npy
same "no elements" 0 "file=none.npy kind=npy-1.0 bytes=128 tensors=1 sha256=$(sha none.npy)
tensor=- dtype=float64 shape=(0,3) byte_order=little order=C offset=128 elements=0 min=none max=none mean_abs=none nan=0 inf=0 zeros=0 subnormals=0" none.npy

npy '(2,)' '<V2' '\000\077\200\277' >b.npy
refused "void items need --bf16" "pass --bf16" b.npy
same "--bf16" 0 "file=b.npy kind=npy-1.0 bytes=132 tensors=1 sha256=$(sha b.npy)
tensor=- dtype=bfloat16 shape=(2,) byte_order=little order=C offset=128 elements=2 min=-1 max=0.5 mean_abs=0.75 nan=0 inf=0 zeros=0 subnormals=0" b.npy --bf16

header='{"q":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"a b":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}}'
# shellcheck disable=SC2059
{
  printf "\\$(printf '%03o' ${#header})\\000\\000\\000\\000\\000\\000\\000"
  printf '%s' "$header"
  printf '\001\000\000\300\001'
} >two.safetensors
file="file=two.safetensors kind=safetensors bytes=$((8 + ${#header} + 5)) tensors=2 sha256=$(sha two.safetensors)"
first="tensor=q dtype=float16 shape=(1,2) byte_order=little order=C offset=$((8 + ${#header})) elements=2 min=-2 max=5.9605e-08 mean_abs=1.00000003 nan=0 inf=0 zeros=0 subnormals=1"
second="tensor=a\\x20b dtype=bool shape=() byte_order=none order=C offset=$((12 + ${#header})) elements=1 min=1 max=1 mean_abs=1 nan=0 inf=0 zeros=0 subnormals=0"
same "all tensors of a file" 0 "$file
$first
$second" two.safetensors
same "one tensor of a file" 0 "$file
$second" "two.safetensors:a b"
refused "a name that is not there" "two.safetensors: has no tensor 'k'; name one of: q, a b" two.safetensors:k

head -c 150 special.npy >t.npy
refused "a truncated file is named" "t.npy: expected 32 bytes of data at offset 128" t.npy
refused "a missing file is named" "none/x.npy: cannot be opened" none/x.npy
refused "no file" "attest inspect F"
refused "an unknown flag" "--frobnicate" q.npy --frobnicate
"$attest" inspect --help >help && grep -q '^  attest inspect ' help && echo "ok help has an example" || echo "FAIL help has an example"
"$attest" inspect q.npy >/dev/full 2>err
if [ $? -eq 2 ] && [ -s err ]; then echo "ok a full disk exits 2"; else echo "FAIL a full disk exits 2"; fi
