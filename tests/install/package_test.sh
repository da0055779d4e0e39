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
"$work/consumer/one_lag_cxx" "$work/spool_cxx"
"$work/consumer/one_lag_c" "$work/spool_c"

build_stranger editor "$tests/../../samples/editor" "$@"
printf 'key\nquit\n' | "$work/editor/editor" --save "$work/text" --spool "$work/spool_editor"

printed=$("$lagwatch" --version)
case "$printed" in
  *"$version"*) ;;
  *) fail "lagwatch --version printed '$printed', which does not name $version" ;;
esac

status=0
"$lagwatch" run --spool "$work/spool_run" -- /bin/sh -c 'exit 7' || status=$?
[ "$status" -eq 7 ] || fail "lagwatch run exited with $status, but its program with 7"
