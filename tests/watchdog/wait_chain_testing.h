// SPDX-License-Identifier: Apache-2.0
// Wait chains of real threads of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "stack/unwind/table_unwinder.h"
#include "watchdog/waits/chain/wait_walker.h"

namespace lagwatch::watchdog {

using stack::BlockedThread;
using stack::LockKind;
using stack::WaitsFor;

inline bool WaitsAt(int tid, const void* lock) {
  BlockedThread blocked;
  return ReadThreadActivity(base::OwnThread(tid), &blocked) == stack::ThreadActivity::kBlocked &&
         stack::LockOwners::IsInLockCall(blocked) && blocked.arguments[0] == reinterpret_cast<uint64_t>(lock);
}

class WaitChainTest : public ::testing::Test {
 protected:
  WaitChainTest() {
    capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    std::thread([&] { EXPECT_EQ(chain_.MeasureLayouts(), 0); }).join();
  }

  // On a thread of its own, as the watchdog does, while this one does not wait.
  uint32_t Follow(int tid) {
    std::atomic<bool> is_done{false};
    uint32_t changed = 0;
    std::thread thread([&] {
      capturer_->RefreshModules();
      changed = chain_.Follow(tid, capturer_.get());
      is_done = true;
    });
    while (!is_done.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    thread.join();
    return changed;
  }
  void ExpectWait(size_t index, int tid, const void* lock, int owner_tid, LockKind kind = LockKind::kMutex) {
    ASSERT_LT(index, chain_.waits().size());
    const Wait& wait = chain_.waits()[index];
    EXPECT_EQ(wait.tid, static_cast<uint32_t>(tid));
    EXPECT_EQ(wait.lock.address, reinterpret_cast<uint64_t>(lock));
    EXPECT_EQ(wait.lock.kind, kind);
    EXPECT_EQ(wait.lock.waits_for, WaitsFor::kOwner);
    EXPECT_EQ(wait.lock.owner_tid, owner_tid);
    EXPECT_GT(wait.frames->frame_count, 2u);
    ASSERT_NE(wait.owner_frames, nullptr);
    EXPECT_GT(wait.owner_frames->frame_count, 0u);
    EXPECT_FALSE(wait.owner_name.empty());
  }

  std::unique_ptr<stack::StackCapturer> capturer_;
  WaitWalker chain_;
};

}  // namespace lagwatch::watchdog
