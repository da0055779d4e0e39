// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program from a stranger: refused by the parser or the verifier, or run at hits, within its
// bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/probe/hostile_hits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace lagwatch;
  using namespace lagwatch::probe;
  Result<Program> program = ParseProgram(std::string_view(reinterpret_cast<const char*>(data), size_bytes));
  if (!program.ok()) return 0;
  const std::string bytes = Serialize(*program);
  if (bytes != std::string_view(reinterpret_cast<const char*>(data), size_bytes)) abort();
  const Result<VerifiedProgram> verified = Verify(std::move(*program));
  if (verified.ok() && ProbeState::Bytes(*verified) < (1 << 20)) RunHostileHits(*verified, size_bytes);
  return 0;
}
