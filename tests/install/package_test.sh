#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a prefix of its own and uses it as a stranger would: programs in C++ and C that find it with
# CMake and with pkg-config, and link it shared and static, by several compilers; the editor sample; the command line,
# the collector and the units. Uninstalls it at the end, after which nothing is left.
#
#   package_test.sh BUILD_DIR BIN_DIR LIB_DIR VERSION CMAKE_ARGUMENT…
#     BIN_DIR, LIB_DIR  where programs and libraries lie under the prefix
#     CMAKE_ARGUMENT    generator and compilers for the strangers
set -eu
build=$1 bin=$2 lib=$3 version=$4
shift 4
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
  echo "package_test: $*" >&2
  exit 1
}

# build_stranger NAME SOURCE_DIR CMAKE_ARGUMENT…
build_stranger() {
  name=$1 source=$2
  shift 2
  cmake -S "$source" -B "$work/$name" -D CMAKE_PREFIX_PATH="$prefix" "$@"
  cmake --build "$work/$name"
}

# reports_one_hang PROGRAM
reports_one_hang() {
  LD_LIBRARY_PATH=$prefix/$lib "$1" "$work/spool_${1##*/}" || fail "$1 did not report its hang"
}

# has_all_within PROGRAM: neither needs liblagwatch.so nor shows names of lagwatch's.
has_all_within() {
  ! readelf --dynamic "$1" | grep NEEDED | grep -q lagwatch || fail "$1 needs liblagwatch.so"
  ! nm --dynamic --defined-only "$1" 2>&1 | grep -E ' (lw_|_ZN8lagwatch)' || fail "$1 exports names of lagwatch's"
}

# A folder that is there before stays at the end.
mkdir -p "$prefix/share"
cmake --install "$build" --prefix "$prefix"
lagwatch=$prefix/$bin/lagwatch

build_stranger consumer "$tests/consumer" "$@"
for program in one_hang_cxx one_hang_cxx_static one_hang_c one_hang_c_static; do
  reports_one_hang "$work/consumer/$program"
done
has_all_within "$work/consumer/one_hang_cxx_static"
has_all_within "$work/consumer/one_hang_c_static"
# The archive has the C++ runtime, so C needs none.
! readelf --dynamic "$work/consumer/one_hang_c_static" | grep -q 'NEEDED.*stdc++' || fail "C needs the C++ library"

# flags OPTION…: as pkg-config has them. A word of its own for each is what is wanted.
flags() { PKG_CONFIG_PATH=$prefix/$lib/pkgconfig pkg-config "$@" lagwatch; }
# compile NAME COMPILER ARGUMENT…
compile() {
  name=$1
  shift
  "$@" -o "$work/$name" || fail "cannot build $name"
}
# shellcheck disable=SC2046
{
  compile gcc20 g++ -std=c++20 -fno-exceptions -fno-rtti "$tests/consumer/one_hang.cc" $(flags --cflags --libs)
  compile static_c gcc -std=c11 -static "$tests/consumer/one_hang.c" $(flags --static --cflags --libs)
  for program in gcc20 static_c; do reports_one_hang "$work/$program"; done
  if command -v clang++-16 >/dev/null; then
    compile clang17 clang++-16 -std=c++17 "$tests/consumer/one_hang.cc" $(flags --cflags --libs)
    compile clang20 clang++-16 -std=c++20 -fno-exceptions -fno-rtti "$tests/consumer/one_hang.cc" $(flags --cflags) \
      "$prefix/$lib/liblagwatch.a" $(flags --static --libs-only-other)
    compile clang_c clang-16 -std=c11 "$tests/consumer/one_hang.c" $(flags --cflags --libs)
    for program in clang17 clang20 clang_c; do reports_one_hang "$work/$program"; done
    has_all_within "$work/clang20"
  fi
}

build_stranger editor "$tests/../../samples/editor" "$@"
printf 'key\nquit\n' | "$work/editor/editor" --save "$work/text" --spool "$work/spool_editor"

for program in lagwatch lagwatchd lagwatch-collector; do
  printed=$("$prefix/$bin/$program" --version)
  [ "$printed" = "$program $version" ] || fail "$program --version printed '$printed', not its version, $version"
done

# The other commands are a program of its own, beside the libraries.
"$lagwatch" --help | grep -q '^  symbols' || fail "lagwatch --help does not list all commands"

# The manual and the completions are where man(1) and the shells look for them.
man=$work/prefix/share/man
for page in man1/lagwatch.1 man1/lagwatch-run.1 man5/lagwatch-watch.toml.5 man7/lagwatch-environment.7 man8/lagwatchd.8 \
  man8/lagwatch-collector.8; do
  [ -s "$man/$page" ] || fail "share/man/$page was not installed"
done
for program in lagwatch lagwatchd lagwatch-collector; do
  for file in "bash-completion/completions/$program" "fish/vendor_completions.d/$program.fish" zsh/site-functions/_lagwatch; do
    [ -s "$work/prefix/share/$file" ] || fail "share/$file was not installed"
  done
done
completed=$(PATH=$work/prefix/$bin:$PATH bash -c '
  . "$1/bash-completion/completions/lagwatch"
  COMP_WORDS=(lagwatch doct) COMP_CWORD=1
  _lagwatch lagwatch
  echo "${COMPREPLY[*]}"' bash "$work/prefix/share")
[ "$completed" = doctor ] || fail "bash completes 'lagwatch doct' to '$completed'"

# The extensions of GNOME Shell and KWin that say which of their windows hang are in the folders of these.
for file in gnome-shell/extensions/lagwatch@lagwatch.org/extension.js gnome-shell/extensions/lagwatch@lagwatch.org/metadata.json \
  kwin/scripts/lagwatch/metadata.json kwin/scripts/lagwatch/contents/code/main.js; do
  [ -s "$prefix/share/$file" ] || fail "share/$file was not installed"
done

# The units start the programs of this prefix.
for program in lagwatchd lagwatch-collector; do
  unit=$prefix/lib/systemd/system/$program.service
  grep -q "^ExecStart=$prefix/$bin/$program " "$unit" || fail "$unit does not start $prefix/$bin/$program"
  ! grep -n '@[A-Z_]*@' "$unit" || fail "$unit has names that were not replaced"
done

status=0
"$lagwatch" run --spool "$work/spool_run" -- /bin/sh -c 'exit 7' || status=$?
[ "$status" -eq 7 ] || fail "lagwatch run exited with $status, but its program with 7"

# A path that LD_PRELOAD cannot have is refused.
mkdir -p "$work/a b"
cp "$lagwatch" "$prefix/$lib/lagwatch/liblagwatch-preload.so" "$work/a b"
printed=$("$work/a b/lagwatch" run --spool "$work/spool_run" -- /bin/true 2>&1) || true
case "$printed" in
  *'without blanks'*) ;;
  *) fail "lagwatch run in a folder with a blank printed '$printed'" ;;
esac

# The collector's page came along, if it was built.
"$prefix/$bin/lagwatch-collector" --listen 127.0.0.1:0 --data "$work/data" >"$work/collector.out" 2>"$work/collector.log" &
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

cmake --build "$build" --target uninstall >"$work/uninstall.log" || fail "uninstalling failed: $(cat "$work/uninstall.log")"
left=$(cd "$prefix" && find . | sort | tr '\n' ' ')
[ "$left" = '. ./share ' ] || fail "uninstalling has left $left"
! cmake --build "$build" --target uninstall >/dev/null 2>&1 || fail "uninstalling twice does not fail"
