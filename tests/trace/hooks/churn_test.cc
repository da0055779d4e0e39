// SPDX-License-Identifier: Apache-2.0
// Hooks come and go while libraries and threads do, too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/testing/temp_directory.h"
#include "tests/trace/hooks/hooks_testing.h"

namespace lagwatch::trace {
namespace {

// A sanitizer's allocator may be locked by a thread that is not there in a child of fork().
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsAllocatorLockedInChildren = true;
#else
constexpr bool kIsAllocatorLockedInChildren = false;
#endif

class Churn {
 public:
  // Each runs until its end is requested.
  void LoadAndUnload(std::string path) {
    while (!is_over_) {
      void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
      ASSERT_NE(nullptr, handle) << dlerror();
      const Subject& subject = *reinterpret_cast<GetSubjectFunction>(dlsym(handle, "GetSubject"))();
      UseMemory(subject);
      Use(subject);
      dlclose(handle);
      ++loads_;
    }
  }
  void StartThreads(const Subject& subject) {
    while (!is_over_) {
      std::thread([&] {
        UseMemory(subject);
        Use(subject);
      }).join();
      ++threads_;
    }
  }
  void Fork() {
    while (!is_over_) {
      const pid_t child = fork();
      if (child == 0) {
        Churn own;  // our mutex may be another thread's, which is not here
        if (!kIsAllocatorLockedInChildren) own.UseMemory(BoundSubject());
        own.Use(BoundSubject());
        _exit(0);
      }
      int status = -1;
      ASSERT_EQ(child, waitpid(child, &status, 0));
      ASSERT_EQ(0, status);
      LetOthersWait();
      ++forks_;
    }
  }
  void UseMemory(const Subject& subject) {
    void* memory = subject.allocate(100);
    ASSERT_NE(nullptr, memory);
    memory = subject.reallocate(memory, 200);
    subject.release(memory);
  }
  // A bit of everything else, answered as it is without hooks.
  void Use(const Subject& subject) {
    ASSERT_EQ(0, subject.lock(&mutex_));
    value_ += 1;
    ASSERT_EQ(0, subject.unlock(&mutex_));
    timespec now;
    ASSERT_EQ(0, subject.read_clock(CLOCK_MONOTONIC, &now));
    char byte;
    errno = 0;
    ASSERT_EQ(-1, subject.read(-1, &byte, 1));
    ASSERT_EQ(EBADF, errno);
    ASSERT_EQ(0, subject.current_cpu());
    const timespec pause{0, 10'000};
    ASSERT_EQ(0, subject.sleep_for(&pause));
  }
  void End() { is_over_ = true; }
  void ExpectWork() const {
    EXPECT_GT(loads_, 5);
    EXPECT_GT(threads_, 5);
    EXPECT_GT(forks_, 0);
  }

 private:
  std::atomic<bool> is_over_{false};
  std::atomic<int> loads_{0};
  std::atomic<int> threads_{0};
  std::atomic<int> forks_{0};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  int64_t value_ = 0;
};

TEST(HookChurn, InstallingAndRemovingWhileEverythingComesAndGoes) {
  const lagwatch::testing::ScopedTempDirectory directory;
  Churn churn;
  LazySubject();
  BoundSubject();  // not in a child: another thread may just be loading it
  std::vector<std::thread> threads;
  const char* subjects[] = {LAGWATCH_LAZY_SUBJECT, LAGWATCH_BOUND_SUBJECT};
  for (int i = 0; i < 2; ++i) {
    const std::string path = directory / ("g" + std::to_string(i) + "_hook_subject.so");
    std::filesystem::copy_file(subjects[i], path);
    threads.emplace_back([&, path] { churn.LoadAndUnload(path); });
  }
  threads.emplace_back([&] { churn.StartThreads(LazySubject()); });
  threads.emplace_back([&] { churn.StartThreads(BoundSubject()); });
  threads.emplace_back([&] { churn.Fork(); });
  const int64_t begin_ns = base::SystemClock().MonoNs();
  size_t captured = 0;
  for (int round = 0; base::SystemClock().MonoNs() - begin_ns < 3 * base::kNsPerSecond; ++round) {
    HookRecorder recorder;
    HookOptions options;
    options.interval_ns = round % 2 == 0 ? 0 : base::kNsPerMs;
    if (round % 3 != 0) options.modules.allow = {"*hook_subject*"};
    ASSERT_TRUE(recorder.Start(options).ok());
    for (int i = 0; i < 10; ++i) {
      captured += recorder.Drain([](int32_t tid, const CaptureRecord& record, const uint64_t* pcs) {
        ASSERT_GT(tid, 0);
        ASSERT_GE(record.depth, 1);
        ASSERT_NE(0u, pcs[0]);
      });
      const timespec pause{0, 2 * base::kNsPerMs};
      nanosleep(&pause, nullptr);
    }
    ASSERT_TRUE(recorder.Stop());
  }
  churn.End();
  for (std::thread& thread : threads) thread.join();
  churn.ExpectWork();
  EXPECT_GT(captured, 100u);
  const ImportCounts imports = HookRecorder::counters().imports;
  EXPECT_LE(imports.slots_restored, imports.slots_patched) << "some were unloaded";
}

}  // namespace
}  // namespace lagwatch::trace
