#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# install.sh ATTEST: what `make install` puts below PREFIX works from there, and goes again.
set -u
attest=$1
build=$(dirname "$attest")
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$top" || exit 2

ok() { echo "ok $1"; }
fail() {
  echo "FAIL $1"
  sed 's/^/     /' "$work/log"
}
holds() {
  name=$1
  shift
  if "$@" >"$work/log" 2>&1; then ok "$name"; else fail "$name"; fi
}
# -o: install what is being tested, whatever flags it was built with.
install_make() { make -s -o "$build/attest" BUILD="$build" DESTDIR="$work" PREFIX=/opt/attest "$@"; }
root=$work/opt/attest

holds "make install" install_make install
for f in bin/attest lib/libattest.a lib/pkgconfig/attest.pc include/attest.h \
  share/man/man1/attest.1 share/attest/data/stories260k/q.npy; do
  holds "installs $f" test -s "$root/$f"
done
cd "$work" || exit 2
holds "the installed command runs" "$root/bin/attest" --version
holds "the manual page has no unknown macro" sh -c \
  "! command -v man >/dev/null || test -z \"\$(man --warnings -l '$root/share/man/man1/attest.1' 2>&1 >/dev/null)\""

# The example of README.md, compiled as its reader would.
sed -n '/^```c$/,/^```$/p' "$top/README.md" | sed '/^```/d' >"$work/example.c"
flags() {
  PKG_CONFIG_PATH=$root/lib/pkgconfig pkg-config --define-variable=prefix="$root" "$@" attest
}
if nm "$root/lib/libattest.a" 2>/dev/null | grep -q __asan_; then
  : # a sanitized library links only with the sanitizers' flags
else
  # shellcheck disable=SC2046 # the flags are words
  holds "the C example of README.md compiles against the installed library" \
    ${CC:-gcc} -std=c11 -Wall -Wextra -Werror -o "$work/example" "$work/example.c" \
    $(flags --cflags --libs)
  holds "the C example of README.md runs" "$work/example"
fi

cd "$top" || exit 2
holds "make uninstall" install_make uninstall
holds "uninstall leaves no file" test -z "$(find "$work/opt" -type f)"
