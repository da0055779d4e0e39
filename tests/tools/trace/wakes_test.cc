// SPDX-License-Identifier: Apache-2.0
// The waker of each wait in a recording, against those that the program itself wrote down.
#include "trace/model/wakes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/tools/trace/recorded.h"

namespace lagwatch::tools {
namespace {

using testing::Process;
using testing::TraceDirectory;
using trace::CallKind;

// A call of the program's that may have waited.
struct HandOff {
  std::string kind;
  int waiter;
  int64_t begin_ns;
  int64_t end_ns;
  int waker;
};

struct Outcome {
  size_t waits = 0;     // of the program that surely were some
  size_t recorded = 0;  // waits with their end known
  size_t right = 0;
  std::string wrong;  // of a few
};

CallKind CallOf(const std::string& kind) {
  if (kind == "mutex") return CallKind::kMutex;
  if (kind == "semaphore") return CallKind::kSemaphore;
  return kind == "join" ? CallKind::kJoin : CallKind::kCondition;
}

std::vector<HandOff> ReadHandOffs(const std::string& path) {
  std::vector<HandOff> all;
  std::ifstream file(path);
  for (HandOff each; file >> each.kind >> each.waiter >> each.begin_ns >> each.end_ns >> each.waker;)
    all.push_back(each);
  return all;
}

std::string Tell(const HandOff& each, const trace::Trace& trace, const trace::Wake* wake) {
  std::string text = each.kind + ": " + std::to_string(each.waiter) + " waited from " +
                     std::to_string(each.begin_ns) + " to " + std::to_string(each.end_ns) + " for " +
                     std::to_string(each.waker);
  if (wake == nullptr) return text + ", not recorded\n";
  return text + ", recorded: until " + std::to_string(wake->wake_ns) + " for " +
         std::to_string(trace.threads[wake->waker_thread].tid) + " at " + std::to_string(wake->time_ns) +
         "\n";
}

class RecordedWakes : public ::testing::Test {
 protected:
  static constexpr int64_t kSurelyAWaitNs = 150'000;

  void Record() {
    Process recorder(directory_.RecordCommand({}, {LAGWATCH_HAND_OFFS, directory_ / "truth"}));
    ASSERT_EQ(recorder.Wait(), 0) << recorder.Errors();
    hand_offs_ = ReadHandOffs(directory_ / "truth");
    trace_ = directory_.Read();
    wakes_ = trace::FindWakes(trace_);
  }

  // The recorded wait that ended with the call.
  const trace::Wake* Find(const HandOff& each) const {
    const trace::Wake* nearest = nullptr;
    const auto distance = [&](const trace::Wake& wake) { return std::abs(wake.wake_ns - each.end_ns); };
    for (const trace::Wake& wake : wakes_) {
      const bool is_the_calls =
          wake.call == CallOf(each.kind) && trace_.threads[wake.waiter_thread].tid == each.waiter &&
          wake.wake_ns >= each.begin_ns - kClockSlackNs && wake.wake_ns <= each.end_ns + kClockSlackNs;
      if (is_the_calls && (nearest == nullptr || distance(wake) < distance(*nearest))) nearest = &wake;
    }
    return nearest;
  }

  Outcome Compare(const std::string& kind) const {
    constexpr size_t kMostTold = 2'000;
    Outcome outcome;
    for (const HandOff& each : hand_offs_) {
      if (each.kind != kind) continue;
      const trace::Wake* wake = Find(each);
      const bool is_wait = each.end_ns - each.begin_ns >= kSurelyAWaitNs;
      outcome.waits += is_wait;
      outcome.recorded += wake != nullptr;
      const bool is_right = wake != nullptr && trace_.threads[wake->waker_thread].tid == each.waker;
      outcome.right += is_right;
      if (!is_right && (wake != nullptr || is_wait) && outcome.wrong.size() < kMostTold)
        outcome.wrong += Tell(each, trace_, wake);
    }
    std::printf("%-9s %4zu waits, %4zu recorded, %4zu of them right\n", kind.c_str(), outcome.waits,
                outcome.recorded, outcome.right);
    return outcome;
  }

  void ExpectTruth(const std::string& kind, size_t least) const {
    const Outcome outcome = Compare(kind);
    EXPECT_GE(outcome.waits, least) << "the program did not do what it is for";
    EXPECT_EQ(outcome.right, outcome.recorded) << outcome.wrong << testing::LossesOf(trace_);
    EXPECT_GE(100 * outcome.recorded, 98 * outcome.waits) << outcome.wrong << testing::LossesOf(trace_);
  }

  TraceDirectory directory_;
  trace::Trace trace_;
  std::vector<trace::Wake> wakes_;
  std::vector<HandOff> hand_offs_;

 private:
  // Times of recorded calls are of the processor's counter, and converted.
  static constexpr int64_t kClockSlackNs = 50'000;
};

TEST_F(RecordedWakes, AreRightInAThousandHandOffs) {
  Record();
  ExpectTruth("mutex", 1'000);
  ExpectTruth("condition", 200);
  ExpectTruth("broadcast", 100);
  ExpectTruth("semaphore", 200);
  ExpectTruth("join", 30);
}

}  // namespace
}  // namespace lagwatch::tools
