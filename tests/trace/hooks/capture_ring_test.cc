// SPDX-License-Identifier: Apache-2.0
#include "trace/hooks/capture_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace lagwatch::trace {
namespace {

struct DestroyRing {
  void operator()(CaptureRing* ring) const { CaptureRing::Destroy(ring); }
};
using RingPointer = std::unique_ptr<CaptureRing, DestroyRing>;

// A record that shows whether it arrived whole.
bool Write(CaptureRing* ring, uint64_t number, uint16_t depth) {
  CaptureRecord* record = ring->Reserve();
  if (record == nullptr) return false;
  *record = {};
  record->begin_ticks = number;
  record->depth = depth;
  for (uint16_t i = 0; i < depth; ++i) CaptureRing::Pcs(record)[i] = number + i;
  ring->Commit(*record);
  return true;
}

TEST(CaptureRing, DropsWhatDoesNotFitUntilItIsDrained) {
  RingPointer ring(CaptureRing::Create());
  uint64_t count = 0;
  while (Write(ring.get(), count, 30)) ++count;
  EXPECT_GT(count, 150u);
  EXPECT_FALSE(Write(ring.get(), 0, 1));
  uint64_t next = 0;
  EXPECT_EQ(count, ring->Drain([&](const CaptureRecord& record, const uint64_t*) {
    EXPECT_EQ(next++, record.begin_ticks);
  }));
  EXPECT_TRUE(Write(ring.get(), 0, 128));
}

TEST(CaptureRing, KeepsWhatItHoldsWhileOneWritesAndOneReads) {
  RingPointer ring(CaptureRing::Create());
  constexpr uint64_t kTries = 100'000;
  std::atomic<bool> is_over{false};
  uint64_t written = 0;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kTries; ++i) {
      if (Write(ring.get(), i, static_cast<uint16_t>(i * 7 % (CaptureRecord::kMaxDepth + 1)))) ++written;
    }
    is_over = true;
  });
  uint64_t read = 0;
  uint64_t last = 0;
  for (bool is_last = false; !is_last;) {
    is_last = is_over;
    read += ring->Drain([&](const CaptureRecord& record, const uint64_t* pcs) {
      ASSERT_GE(record.begin_ticks, last);
      last = record.begin_ticks;
      ASSERT_EQ(last * 7 % (CaptureRecord::kMaxDepth + 1), record.depth);
      for (uint16_t i = 0; i < record.depth; ++i) ASSERT_EQ(last + i, pcs[i]);
    });
  }
  writer.join();
  EXPECT_EQ(written, read);
  EXPECT_GT(read, 100u);
}

}  // namespace
}  // namespace lagwatch::trace
