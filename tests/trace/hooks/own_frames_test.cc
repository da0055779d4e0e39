// SPDX-License-Identifier: Apache-2.0
// Hooks that are linked into the program itself are in no stack of a thread that waits in one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "stack/stack_capturer.h"
#include "stack/threads/lock_owner.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/trace/hooks/hooks_testing.h"

namespace lagwatch::trace {
namespace {

TEST(OwnFrames, AHookThatAThreadWaitsInIsCutAndItsCallerIsNot) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "frames of the sanitizer's own functions lie between";
#endif
  LAGWATCH_SKIP_UNDER_EMULATION("where other threads sleep cannot be read");
  const Subject& subject = BoundSubject();
  auto capturer = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value());
  ASSERT_TRUE(capturer.ok()) << capturer.status().message();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  auto stack = std::make_unique<stack::Stack>();
  size_t frame_count[2] = {};
  for (bool is_hooked : {false, true}) {
    std::unique_ptr<SubjectRecorder> recorder;
    if (is_hooked) recorder = std::make_unique<SubjectRecorder>(kNeverNs);
    pthread_mutex_lock(&mutex);
    std::atomic<int> tid{0};
    std::thread waiter([&] {
      tid = gettid();
      subject.lock(&mutex);
      subject.unlock(&mutex);
    });
    EXPECT_TRUE(testing::WaitUntil([&] {
      stack::BlockedThread blocked;
      return tid != 0 &&
             stack::ReadThreadActivity(base::OwnThread(tid), &blocked) == stack::ThreadActivity::kBlocked &&
             stack::LockOwners::IsInLockCall(blocked);
    }));
    (*capturer)->RefreshModules();
    (*capturer)->Capture(tid, stack.get());
    pthread_mutex_unlock(&mutex);
    waiter.join();
    frame_count[is_hooked] = stack->frame_count;
    // The C library's frames, and then the subject's.
    const stack::ModuleMap& modules = (*capturer)->modules();
    bool has_left_libc = false;
    for (const stack::Frame& frame : stack->view()) {
      if (has_left_libc) break;
      ASSERT_NE(frame.module, stack::kNoModule);
      const auto path = modules.module(frame.module).path_view();
      has_left_libc = path.find("/libc.so") == path.npos;
      if (has_left_libc) {
        EXPECT_NE(path.find("bound_hook_subject"), path.npos) << path;
      }
    }
    EXPECT_TRUE(has_left_libc);
  }
  EXPECT_EQ(frame_count[true], frame_count[false]);
}

}  // namespace
}  // namespace lagwatch::trace
