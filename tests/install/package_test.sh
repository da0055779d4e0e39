#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a prefix of its own and uses it as a stranger would: a program in C++ that finds it with
# CMake, one in C that finds it with pkg-config, the editor sample, and the command line.
#
#   package_test.sh BUILD_DIR BIN_DIR VERSION CMAKE_ARGUMENT…
#     BIN_DIR          where programs lie under the prefix
#     CMAKE_ARGUMENT   generator and compilers for the strangers
set -eu
build=$1 bin=$2 version=$3
shift 3
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "package_test: $*" >&2
  exit 1
}

# build_stranger NAME SOURCE_DIR CMAKE_ARGUMENT…
build_stranger() {
  name=$1 source=$2
  shift 2
  cmake -S "$source" -B "$work/$name" -D CMAKE_PREFIX_PATH="$work/prefix" "$@"
  cmake --build "$work/$name"
}

cmake --install "$build" --prefix "$work/prefix"
lagwatch=$work/prefix/$bin/lagwatch

build_stranger consumer "$tests/consumer" "$@"
"$work/consumer/one_hang_cxx" "$work/spool_cxx"
"$work/consumer/one_hang_c" "$work/spool_c"

build_stranger editor "$tests/../../samples/editor" "$@"
printf 'key\nquit\n' | "$work/editor/editor" --save "$work/text" --spool "$work/spool_editor"

printed=$("$lagwatch" --version)
case "$printed" in
  *"$version"*) ;;
  *) fail "lagwatch --version printed '$printed', which does not name $version" ;;
esac

# The other commands are a program of its own, beside the libraries.
"$lagwatch" --help | grep -q '^  symbols' || fail "lagwatch --help does not list all commands"

# The extensions of GNOME Shell and KWin that say which of their windows hang are in the folders of these.
for file in gnome-shell/extensions/lagwatch@lagwatch.org/extension.js gnome-shell/extensions/lagwatch@lagwatch.org/metadata.json \
  kwin/scripts/lagwatch/metadata.json kwin/scripts/lagwatch/contents/code/main.js; do
  [ -s "$work/prefix/share/$file" ] || fail "share/$file was not installed"
done

status=0
"$lagwatch" run --spool "$work/spool_run" -- /bin/sh -c 'exit 7' || status=$?
[ "$status" -eq 7 ] || fail "lagwatch run exited with $status, but its program with 7"

# The collector's page came along, if it was built.
"$work/prefix/$bin/lagwatch-collector" --listen 127.0.0.1:0 --data "$work/data" >"$work/collector.out" 2>"$work/collector.log" &
collector=$!
trap 'kill "$collector" 2>/dev/null; rm -rf "$work"' EXIT
tries=100
until grep -q 'listening on' "$work/collector.out"; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || fail "the installed collector did not start: $(cat "$work/collector.log")"
  sleep 0.1
done
page=$(curl -s "$(sed -n 's/.*listening on //p' "$work/collector.out")/")
case "$page" in
  *'<title>lagwatch</title>'* | *'without its page'*) ;;
  *) fail "the installed collector's page is: $page" ;;
esac
