// SPDX-License-Identifier: Apache-2.0
// A recording for a test, and what became of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/instrument/call_decoder.h"
#include "trace/instrument/call_recorder.h"
#include "trace/instrument/function_patcher.h"

namespace lagwatch::trace {

// Records from construction to Stop() or destruction. Its memory stays, as the recorder demands.
class ScopedRecording {
 public:
  explicit ScopedRecording(CallClock clock = CallClock::kPrecise, uint64_t block_count = 64);
  ~ScopedRecording();
  ScopedRecording(const ScopedRecording&) = delete;
  ScopedRecording& operator=(const ScopedRecording&) = delete;

  void Stop();
  const BlockPool& pool() const { return pool_; }
  // Of the calling thread.
  std::vector<CallRecord> OwnCalls() const;
  // Blocks that a thread writes to.
  int OpenBlocks() const;

 private:
  BlockPoolHeader* header_;
  BlockPool pool_;
  bool is_on_ = false;
};

// Names tests by which compiler built what they are about: an address would be another one each time.
inline auto CompilersNumber() {
  return [](const auto& test) { return "Compiler" + std::to_string(test.index + 1); };
}

// The process's; never destroyed.
FunctionPatcher& Patcher();

BlockPoolHeader* CreatePool(uint64_t block_count, bool is_shared = false);

struct FunctionTotal {
  uint64_t ticks = 0;
  uint64_t calls = 0;
};
// By address. Calls nest strictly, or a test failure is added. An exit without an enter counts as nothing.
std::map<uint64_t, FunctionTotal> TotalsOf(const std::vector<CallRecord>& calls);

}  // namespace lagwatch::trace
