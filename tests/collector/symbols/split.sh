#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# split.sh PROGRAM OBJCOPY STRIP: the files that a program's symbols travel in, made beside it.
#   .debug       its debug information alone            .stripped   the program without that
#   .symtab      with its symbol table alone            .compressed debug sections compressed, .zstd by zstd
#   .linked      .stripped, with a .gnu_debuglink to .debug
#   .mini        stripped, with .gnu_debugdata          .dwz, .alt  common parts in a file of their own, if dwz is there
set -euo pipefail
program=$1 objcopy=$2 strip=$3
"$objcopy" --only-keep-debug "$program" "$program.debug"
"$strip" -o "$program.stripped" "$program"
"$strip" --strip-debug -o "$program.symtab" "$program"
"$objcopy" --add-gnu-debuglink="$program.debug" "$program.stripped" "$program.linked"
"$objcopy" --compress-debug-sections=zlib "$program" "$program.compressed"
objcopy --compress-debug-sections=zstd "$program" "$program.zstd" # GNU's: LLVM's of Debian 12 has no zstd

"$objcopy" --only-keep-debug --strip-debug "$program" "$program.mini-symbols"
xz -f -k "$program.mini-symbols"
"$objcopy" --add-section .gnu_debugdata="$program.mini-symbols.xz" "$program.stripped" "$program.mini"
rm -f "$program.mini-symbols" "$program.mini-symbols.xz"

if command -v dwz >/dev/null; then
  cp "$program" "$program.dwz"
  cp "$program" "$program.dwz2"
  rm -f "$program.alt"
  dwz -m "$program.alt" "$program.dwz" "$program.dwz2" >/dev/null
  rm -f "$program.dwz2"
fi
