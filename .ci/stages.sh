# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# The stages of the gate, for .ci/run and scripts/verify; to be sourced in the repository's root.

stages=(quick asan-ubsan tsan arm64 docs darwin demo packages)
declare -A titles=(
  [quick]="tests"
  [asan-ubsan]="tests, address and undefined-behaviour sanitizers"
  [tsan]="tests, thread sanitizer"
  [arm64]="tests, arm64 under qemu"
  [docs]="docs"
  [darwin]="the core for macOS, cross-built"
  [demo]="demo"
  [packages]="packages for Debian, from their installation to their removal"
)

# Tests of a watchdog run in real time, and the machine may be shared: a test that fails once runs again. Most of them wait
# more than they work.
tests() { scripts/test "$@" --repeat until-pass:2 -j $(($(nproc) * 2)); }

# run_stage STAGE [PARTS]: with the tests of some parts only, separated by commas.
run_stage() {
  case $1 in
    quick) tests --preset quick ;;
    asan-ubsan|tsan) tests --preset "$1" ${2:+--parts "$2"} ;;
    arm64) tests --arm64 ;;
    docs) scripts/docs --test ;;
    darwin) scripts/darwin ;;
    demo) scripts/demo --ci --pictures build/pictures/people ;;
    packages) scripts/test --packages ;;
  esac
}
