// SPDX-License-Identifier: Apache-2.0
// Any text as a script: it is refused with a position, or compiled to a program that its bytes hold whole.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probe/compile/compiler.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace lagwatch;
  using namespace lagwatch::probe;
  const Result<Program> program =
      CompileScript(std::string_view(reinterpret_cast<const char*>(data), size_bytes), nullptr);
  if (!program.ok()) {
    const std::string& message = program.status().message();
    if (message.empty() || message[0] < '0' || message[0] > '9') abort();
    return 0;
  }
  const Result<Program> parsed = ParseProgram(Serialize(*program));
  // A script may declare more than its bytes may hold; the verifier refuses that, too.
  if (parsed.ok() && Serialize(*parsed) != Serialize(*program)) abort();
  return 0;
}
