// SPDX-License-Identifier: Apache-2.0
#include "trace/hooks/capture_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

namespace lagwatch::trace {
namespace {

auto Nobody() {
  return [](int32_t, const CaptureRecord&, const uint64_t*) {};
}

TEST(CaptureThreads, FreesEntriesOfThreadsThatEnded) {
  auto threads = std::make_unique<CaptureThreads>();
  CaptureThread* own = threads->Register(gettid());
  ASSERT_NE(nullptr, own);
  int32_t ended_tid = 0;
  std::thread([&] {
    ended_tid = gettid();
    CaptureThread* entry = threads->Register(ended_tid);
    ASSERT_NE(nullptr, entry);
    CaptureRecord* record = entry->ring->Reserve();
    *record = {};
    entry->ring->Commit(*record);
    CaptureThread::Count(&entry->captures);
  }).join();
  EXPECT_NE(nullptr, threads->Find(ended_tid));
  int records = 0;
  threads->Drain([&](int32_t tid, const CaptureRecord&, const uint64_t*) {
    EXPECT_EQ(ended_tid, tid);
    ++records;
  });
  EXPECT_EQ(1, records);
  threads->Drain(Nobody());
  EXPECT_EQ(nullptr, threads->Find(ended_tid));
  EXPECT_EQ(own, threads->Find(gettid()));
  EXPECT_EQ(1u, threads->counts().captures);
  threads->ForgetAll();
}

TEST(CaptureThreads, AnIdThatIsUsedAgainMeansTheNewThread) {
  auto threads = std::make_unique<CaptureThreads>();
  CaptureThread* first = threads->Register(gettid());
  CaptureThread* second = threads->Register(gettid());  // can only be another thread's
  ASSERT_NE(first, second);
  EXPECT_EQ(second, threads->Find(gettid()));
  threads->Drain(Nobody());
  EXPECT_EQ(CaptureThread::kFree, first->state.load());
  EXPECT_EQ(second, threads->Find(gettid()));
  threads->ForgetAll();
}

TEST(CaptureThreads, RefusesMoreThanItHasRoomFor) {
  auto threads = std::make_unique<CaptureThreads>();
  constexpr int32_t kNoThread = 1 << 30;  // above all ids
  for (uint32_t i = 0; i < CaptureThreads::kCapacity; ++i)
    ASSERT_NE(nullptr, threads->Register(kNoThread + static_cast<int32_t>(i)));
  EXPECT_EQ(nullptr, threads->Register(kNoThread - 1));
  EXPECT_EQ(1u, threads->refused_count());
  threads->Drain(Nobody());  // they have all ended
  EXPECT_EQ(nullptr, threads->Find(kNoThread));
  EXPECT_NE(nullptr, threads->Register(kNoThread - 1));
  threads->ForgetAll();
}

}  // namespace
}  // namespace lagwatch::trace
