// SPDX-License-Identifier: Apache-2.0
// The interpreter by random programs that are mostly right, with the input's bytes as their source and as
// changes to them.
#include <cstdint>
#include <cstring>

#include "tests/probe/hostile_hits.h"
#include "tests/probe/random_programs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace lagwatch;
  using namespace lagwatch::probe;
  uint64_t seed = 0;
  std::memcpy(&seed, data, size_bytes < 8 ? size_bytes : 8);
  Random random(seed);
  Program program = RandomProgram(&random);
  auto& operations = program.probes[0].operations;
  for (size_t at = 8; at + 2 < size_bytes; at += 3) {  // an operation, a byte of it, and its new value
    Operation& changed = operations[data[at] % operations.size()];
    uint8_t bytes[sizeof changed];
    std::memcpy(bytes, &changed, sizeof changed);
    bytes[data[at + 1] % sizeof bytes] = data[at + 2];
    std::memcpy(&changed, bytes, sizeof changed);
  }
  const Result<VerifiedProgram> verified = Verify(std::move(program));
  if (verified.ok()) RunHostileHits(*verified, seed);
  return 0;
}
