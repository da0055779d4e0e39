// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/instrument/recording.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lagwatch::trace {

FunctionPatcher& Patcher() {
  static auto* patcher = new FunctionPatcher;
  return *patcher;
}

BlockPoolHeader* CreatePool(uint64_t block_count, bool is_shared) {
  void* memory = mmap(nullptr, BlockPool::SizeBytes(block_count), PROT_READ | PROT_WRITE,
                      (is_shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  auto* header = static_cast<BlockPoolHeader*>(memory);
  header->block_count = block_count;
  return header;
}

ScopedRecording::ScopedRecording(CallClock clock, uint64_t block_count)
    : header_(CreatePool(block_count)), pool_(header_) {
  is_on_ = StartCalls(header_, clock);
  EXPECT_TRUE(is_on_);
}

ScopedRecording::~ScopedRecording() { Stop(); }

void ScopedRecording::Stop() {
  if (is_on_) StopCalls();
  is_on_ = false;
}

std::vector<CallRecord> ScopedRecording::OwnCalls() const { return ReadCalls(pool_)[gettid()]; }

int ScopedRecording::OpenBlocks() const {
  int open = 0;
  const auto* blocks = reinterpret_cast<const Block*>(header_ + 1);
  for (uint64_t i = 0; i < header_->block_count; ++i) open += blocks[i].is_open.load() != 0 ? 1 : 0;
  return open;
}

std::map<uint64_t, FunctionTotal> TotalsOf(const std::vector<CallRecord>& calls) {
  std::map<uint64_t, FunctionTotal> totals;
  std::vector<CallRecord> open;
  for (const CallRecord& call : calls) {
    if (call.is_enter) {
      open.push_back(call);
    } else if (!open.empty()) {
      EXPECT_EQ(open.back().address, call.address);
      FunctionTotal& total = totals[call.address];
      total.ticks += call.ticks - open.back().ticks;
      ++total.calls;
      open.pop_back();
    }
  }
  return totals;
}

}  // namespace lagwatch::trace
