// SPDX-License-Identifier: Apache-2.0
// Records a program that does what programs do, again and again, with hooks and samplers:
//   record_soak [--seconds S] [--threads N]
// Ends with one line of counts. Exits with 1, and says why, when recording hung, was noticed by the program,
// or when what was recorded cannot be true.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "stack/code_map.h"
#include "tests/soak/soak_worker.h"
#include "trace/model/slices.h"
#include "trace/record/reader/arena_reader.h"
#include "trace/record/recorder.h"

namespace lagwatch::soak {
namespace {

// Threads that live for a moment, as long as it lives.
class ThreadChurn {
 public:
  ThreadChurn() : thread_([this] { Run(); }) {}
  ~ThreadChurn() {
    stop_ = true;
    thread_.join();
  }
  ThreadChurn(const ThreadChurn&) = delete;
  ThreadChurn& operator=(const ThreadChurn&) = delete;
  uint64_t count() const { return count_; }

 private:
  void Run() {
    while (!stop_) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) threads.emplace_back([] { delete new std::string(100, 'x'); });
      for (std::thread& thread : threads) thread.join();
      count_ += threads.size();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> count_{0};
  std::thread thread_;
};

struct Recorded {
  uint64_t recordings = 0;
  uint64_t runs = 0;
  uint64_t waits = 0;
  uint64_t threads = 0;
};

class RecordSoak {
 public:
  RecordSoak(double seconds, uint32_t threads) : end_(Now() + seconds) {
    for (uint32_t i = 0; i < threads; ++i) workers_.push_back(std::make_unique<SoakWorker>(i, &diary_));
  }

  // The number of reasons to fail, each of which it has printed.
  int Run() {
    {
      ThreadChurn churn;
      for (int round = 0; Now() < end_; ++round) RecordOnce(round);
      std::printf("{\"recordings\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"waits\":%" PRIu64
                  ",\"threads\":%" PRIu64 ",\"churned\":%" PRIu64 ",\"eintr_seen\":%" PRIu64 "}\n",
                  recorded_.recordings, recorded_.runs, recorded_.waits, recorded_.threads, churn.count(),
                  diary_.interrupted_calls.load());
    }
    for (const auto& worker : workers_) worker->Stop();
    alarm(kHangS);
    workers_.clear();
    Require(diary_.failures == 0, "an activity failed");
    Require(recorded_.recordings > 0 && recorded_.runs > 100 * recorded_.recordings, "little was recorded");
    Require(recorded_.waits > 0, "no wait was recorded");
    return failures_;
  }

 private:
  static constexpr unsigned kHangS = 120;

  static double Now() { return static_cast<double>(base::SystemClock().MonoNs()) / base::kNsPerSecond; }

  void RecordOnce(int round) {
    constexpr int kLooks = 10;
    constexpr auto kPause = std::chrono::milliseconds(150);
    alarm(kHangS);  // a process that hangs then is killed
    auto arena = trace::Arena::CreatePrivate({1 << 20, 1 << 20, 1 << 20, 2 << 20});
    auto code = stack::CodeMap::Create();
    trace::RecorderOptions options;
    options.main_interval_ns = options.worker_interval_ns = (round % 2 == 0 ? 1 : 10) * base::kNsPerMs;
    options.has_hooks = true;
#if defined(__SANITIZE_THREAD__)
    // Their handlers would call the sanitizer's runtime, which they interrupt; and in a handler that
    // interrupts a blocking call it sees what is read and written, but not what orders that.
    options.has_timers = false;
#endif
    options.hooks.interval_ns = (round % 3 == 0 ? 0 : 1) * base::kNsPerMs;
    if (arena == nullptr || !code.ok()) return Require(false, "no memory");
    auto recorder = trace::Recorder::Start(arena.get(), *code, options);
    if (!recorder.ok()) return Require(false, recorder.status().message());
    for (int i = 0; i < kLooks; ++i) {
      std::this_thread::sleep_for(kPause);
      if (i == kLooks / 2) Check(trace::ReadArena(*arena));  // while it goes on
    }
    const bool has_stopped = (*recorder)->TryStop();
    Require(has_stopped, "the recorder does not stop");
    if (!has_stopped) std::_Exit(EXIT_FAILURE);
    const trace::Trace trace = trace::ReadArena(*arena);
    Check(trace);
    ++recorded_.recordings;
    recorded_.threads += trace.threads.size();
    for (const trace::Thread& thread : trace.threads) {
      recorded_.runs += thread.runs.size();
      for (const trace::Run& run : thread.runs) recorded_.waits += run.kind == trace::RunKind::kWaited;
    }
  }

  void Check(const trace::Trace& trace) {
    for (const trace::Thread& thread : trace.threads) {
      for (const trace::Run& run : thread.runs) {
        Require(run.begin_ns <= run.end_ns && run.count > 0, "a run that cannot be");
        Require(run.begin_ns >= trace.begin_ns - base::kNsPerSecond && run.end_ns <= trace.end_ns,
                "a run outside of the trace");
      }
    }
    for (const trace::Track& track : trace::BuildTracks(trace)) {
      for (const trace::Slice& slice : track.slices) {
        if (slice.parent == trace::kNoIndex) continue;
        const trace::Slice& parent = track.slices[slice.parent];
        Require(slice.begin_ns >= parent.begin_ns && slice.end_ns <= parent.end_ns, "slices do not nest");
      }
    }
  }

  void Require(bool holds, std::string_view otherwise) {
    constexpr int kMostTold = 10;
    if (holds || ++failures_ > kMostTold) return;
    std::fprintf(stderr, "soak: %.*s\n", static_cast<int>(otherwise.size()), otherwise.data());
  }

  const double end_;
  Diary diary_;
  std::vector<std::unique_ptr<SoakWorker>> workers_;
  Recorded recorded_;
  int failures_ = 0;
};

}  // namespace
}  // namespace lagwatch::soak

int main(int argc, char** argv) {
  double seconds = 20;
  uint32_t threads = 12;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--seconds") seconds = std::strtod(argv[i + 1], nullptr);
    if (name == "--threads") threads = static_cast<uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
  }
  if (const char* wanted = std::getenv("LAGWATCH_SOAK_SECONDS")) seconds = std::strtod(wanted, nullptr);
  return lagwatch::soak::RecordSoak(seconds, threads).Run() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
