# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts; to be sourced. Leaves the shell in the repository's root.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# build PRESET [TARGET…]: configures and builds; quiet unless its output is a terminal.
build() {
  local preset=$1
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
