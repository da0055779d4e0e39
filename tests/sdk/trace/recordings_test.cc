// SPDX-License-Identifier: Apache-2.0
// Recordings that the program starts and stops itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/system/thread.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/testing/temp_directory.h"
#include "trace/format/trace_codec.h"

namespace lagwatch {
namespace {

// For so long of its own processor time.
void ComputeFor(int64_t ns) {
  for (const int64_t end_ns = base::ThreadCpuNs(gettid()) + ns; base::ThreadCpuNs(gettid()) < end_ns;) {
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
}

// Another thread that computes until it ends.
class BusyThread {
 public:
  BusyThread()
      : thread_([this] {
          tid_ = gettid();
          while (!is_over_) ComputeFor(base::kNsPerMs);
        }) {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~BusyThread() {
    is_over_ = true;
    thread_.join();
  }
  int tid() const { return tid_; }

 private:
  std::atomic<int> tid_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

class RecordingsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWorkNs = 300 * base::kNsPerMs;

  trace::Trace ReadFile() const {
    std::ostringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    auto trace = trace::UnpackTrace(bytes.str());
    EXPECT_TRUE(trace.ok());
    return trace.ok() ? std::move(trace).value() : trace::Trace();
  }
  static uint64_t SamplesOf(const trace::Trace& trace, int tid) {
    uint64_t samples = 0;
    for (const trace::Thread& thread : trace.threads) {
      if (thread.tid != tid) continue;
      for (const trace::Run& run : thread.runs)
        samples += run.kind == trace::RunKind::kSampled ? run.count : 0;
    }
    return samples;
  }

  testing::ScopedTempDirectory directory_;
  std::string path_ = directory_ / "recorded.lwtrace";
};

TEST_F(RecordingsTest, HaveAllThreadsFromTheStartToTheStop) {
  BusyThread other;
  Recording recording = Recording::Start();
  ASSERT_TRUE(recording.is_on()) << recording.why_not();
  ComputeFor(kWorkNs);
  ASSERT_TRUE(recording.Stop(path_)) << recording.why_not();
  EXPECT_FALSE(recording.is_on());
  const trace::Trace trace = ReadFile();
  EXPECT_GE(SamplesOf(trace, gettid()), 5u);
  EXPECT_GE(SamplesOf(trace, other.tid()), 1u);
  EXPECT_GE(trace.end_ns - trace.begin_ns, kWorkNs * 9 / 10);
}

TEST_F(RecordingsTest, HaveOnlyTheChosenThreads) {
  BusyThread other;
  Recording recording = Recording::Start({.has_hooks = true, .threads = {other.tid()}});
  ASSERT_TRUE(recording.is_on()) << recording.why_not();
  ComputeFor(kWorkNs);
  usleep(1000);
  ASSERT_TRUE(recording.Stop(path_)) << recording.why_not();
  const trace::Trace trace = ReadFile();
  EXPECT_GE(SamplesOf(trace, other.tid()), 1u);
  ASSERT_EQ(trace.threads.size(), 1u);
}

TEST_F(RecordingsTest, SampleAtTheirInterval) {
  const auto samples_at = [&](uint32_t interval_ms) {
    Recording recording = Recording::Start({.interval_ms = interval_ms});
    EXPECT_TRUE(recording.is_on()) << recording.why_not();
    ComputeFor(kWorkNs);
    EXPECT_TRUE(recording.Stop(path_)) << recording.why_not();
    return SamplesOf(ReadFile(), gettid());
  };
  const uint64_t often = samples_at(2);
  const uint64_t rarely = samples_at(50);
  EXPECT_GT(often, 4 * rarely) << rarely;
  EXPECT_GT(rarely, 0u);
}

TEST_F(RecordingsTest, AreOneAtATime) {
  Recording first = Recording::Start();
  ASSERT_TRUE(first.is_on()) << first.why_not();
  Recording second = Recording::Start();
  EXPECT_FALSE(second.is_on());
  EXPECT_EQ(second.why_not(), "the program is recorded already");
  EXPECT_FALSE(second.Stop(path_));
  EXPECT_TRUE(first.is_on());
  EXPECT_TRUE(first.Stop(path_)) << first.why_not();
  EXPECT_TRUE(Recording::Start().is_on());
}

TEST_F(RecordingsTest, AreRefusedWhileAMonitorRecords) {
  Options options;
  options.spool_directory = directory_ / "spool";
  options.trace.is_on = true;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  EXPECT_EQ(Recording::Start().why_not(), "this process is recording already: stop that first");
  monitor.Stop();
  EXPECT_TRUE(Recording::Start().is_on());
}

TEST_F(RecordingsTest, WithoutAFileSayWhy) {
  EXPECT_EQ(lw_stop_recording(path_.c_str()), 0);
  EXPECT_STREQ(lw_why_no_recording(), "nothing is being recorded");
  Recording recording = Recording::Start();
  ASSERT_TRUE(recording.is_on()) << recording.why_not();
  EXPECT_FALSE(recording.Stop(directory_ / "none/recorded.lwtrace"));
  EXPECT_THAT(recording.why_not(), ::testing::HasSubstr("No such file or directory"));
  EXPECT_FALSE(recording.is_on());
  { Recording dropped = Recording::Start(); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(RecordingsTest, OfAParentAreNotTheChilds) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer lets no child of a process with threads start any";
#endif
  Recording recording = Recording::Start();
  ASSERT_TRUE(recording.is_on()) << recording.why_not();
  const pid_t child = fork();
  if (child == 0) {
    const std::string own = path_ + ".child";
    const bool has_none = lw_stop_recording(path_.c_str()) == 0;
    const bool is_started = lw_start_recording(nullptr) == LW_OK;
    ComputeFor(kWorkNs);
    _exit(has_none && is_started && lw_stop_recording(own.c_str()) == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(recording.Stop(path_)) << recording.why_not();
  EXPECT_TRUE(std::filesystem::exists(path_ + ".child"));
}

TEST_F(RecordingsTest, LeaveNothingBehindHoweverOften) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  { Recording first = Recording::Start(); }  // a sanitizer has a thread of its own from then on
  const auto before = threads();
  for (int i = 0; i < 20; ++i) {
    Recording recording = Recording::Start({.interval_ms = 1, .has_hooks = i % 2 == 0});
    ASSERT_TRUE(recording.is_on()) << recording.why_not();
    ComputeFor(5 * base::kNsPerMs);
    ASSERT_TRUE(recording.Stop(path_)) << recording.why_not();
  }
  EXPECT_EQ(threads(), before);
}

}  // namespace
}  // namespace lagwatch
