// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a capture for the captured thread.
//
// Running: the target reads the tick counter in a loop, at the end of a call chain, and sums the gaps between
// two readings; the gap around a capture is its loss. Compared with an empty handler, which every capture by
// signal needs, and with handlers that unwind at once. The variants are interleaved, the figures are medians:
// for depth33 and depth100 pause_ns, ratio_to_empty, ratio_unw_step_to_ours.
//
// Blocked: threads in calls that a signal would interrupt are captured thousands of times; none may notice:
// signals_sent, eintr_seen.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/ticks.h"
#include "bench/libunwind_local.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"

namespace {

using namespace lagwatch;

constexpr int kRounds = 3000;
constexpr int kBlockedCaptures = 10'000;
constexpr int64_t kSettleNs = 30'000;

int64_t NowNs() { return base::SystemClock().MonoNs(); }

void SpinFor(int64_t ns) {
  for (int64_t end_ns = NowNs() + ns; NowNs() < end_ns;) {
  }
}

double TicksPerNs() {
  int64_t begin_ns = NowNs();
  uint64_t begin_ticks = base::ReadTicks();
  SpinFor(50'000'000);
  return static_cast<double>(base::ReadTicks() - begin_ticks) / static_cast<double>(NowNs() - begin_ns);
}

// A thread that spins at the end of `depth` calls and knows what it lost.
class SpinningTarget {
 public:
  explicit SpinningTarget(int depth)
      : thread_([this, depth] {
          tid_ = gettid();
          Descend(depth);
        }) {
    while (!is_spinning_.load()) std::this_thread::yield();
  }
  ~SpinningTarget() {
    stop_ = true;
    thread_.join();
  }
  int tid() const { return tid_; }

  struct Lost {
    uint64_t ticks;
    uint64_t gaps;
  };
  Lost lost() const { return {lost_ticks_.load(), gaps_.load()}; }

 private:
  static constexpr uint64_t kGapTicks = 1000;  // no reading of the counter takes that long

  [[gnu::noinline]] int Descend(int depth) {
    volatile char locals[96];
    locals[0] = static_cast<char>(depth);
    if (depth == 0) {
      Spin();
    } else {
      Descend(depth - 1);
    }
    return locals[0];
  }
  [[gnu::noinline]] void Spin() {
    is_spinning_ = true;
    for (uint64_t last = base::ReadTicks(); !stop_.load(std::memory_order_relaxed);) {
      uint64_t now = base::ReadTicks();
      if (now - last > kGapTicks) {
        lost_ticks_.store(lost_ticks_.load(std::memory_order_relaxed) + now - last,
                          std::memory_order_relaxed);
        gaps_.store(gaps_.load(std::memory_order_relaxed) + 1);
      }
      last = now;
    }
  }

  std::atomic<bool> stop_{false};
  std::atomic<bool> is_spinning_{false};
  std::atomic<int> tid_{0};
  std::atomic<uint64_t> lost_ticks_{0};
  std::atomic<uint64_t> gaps_{0};
  std::thread thread_;
};

// Handlers to compare with, one signal each.
std::atomic<int> g_handled{0};
void* g_frames[512];

void EmptyHandler(int, siginfo_t*, void*) { ++g_handled; }
void StepHandler(int, siginfo_t*, void* context) {
  bench::WalkContextWithSteps(context, g_frames, std::size(g_frames));
  ++g_handled;
}
// libunwind brings a backtrace() of its own, which would come first.
auto* const g_backtrace =
    reinterpret_cast<decltype(&backtrace)>(dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace"));
void BacktraceHandler(int, siginfo_t*, void*) {
  g_backtrace(g_frames, static_cast<int>(std::size(g_frames)));
  ++g_handled;
}

int Install(int offset, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigaction(SIGRTMIN + offset, &action, nullptr);
  return SIGRTMIN + offset;
}

void SendAndAwait(int tid, int signal_number) {
  int before = g_handled.load();
  syscall(SYS_tgkill, getpid(), tid, signal_number);
  while (g_handled.load() == before) {
  }
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string MeasureRunning(stack::StackCapturer* capturer, int depth, double ticks_per_ns) {
  SpinningTarget target(depth - 6);  // the thread's own frames and the end of the chain make up the rest
  auto stack = std::make_unique<stack::Stack>();
  capturer->RefreshModules();
  capturer->Capture(target.tid(), stack.get());
  std::printf("%u frames:\n", stack->frame_count);
  const int empty = Install(1, EmptyHandler);
  const int step = Install(2, StepHandler);
  const int trace = Install(3, BacktraceHandler);
  const std::function<void()> variants[] = {
      [&] { capturer->Capture(target.tid(), stack.get()); },
      [&] { SendAndAwait(target.tid(), empty); },
      [&] { SendAndAwait(target.tid(), step); },
      [&] { SendAndAwait(target.tid(), trace); },
  };
  std::vector<double> pauses[std::size(variants)];
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < std::size(variants); ++i) {
      SpinningTarget::Lost before = target.lost();
      variants[i]();
      SpinFor(kSettleNs);
      SpinningTarget::Lost after = target.lost();
      // Two gaps: something else interrupted the target as well.
      if (after.gaps != before.gaps + 1) continue;
      pauses[i].push_back(static_cast<double>(after.ticks - before.ticks) / ticks_per_ns);
    }
  }
  double ours = Median(pauses[0]);
  double floor = Median(pauses[1]);
  double stepped = Median(pauses[2]);
  double traced = Median(pauses[3]);
  std::printf(
      "  ours %.0f ns (%zu measured), empty handler %.0f, unw_step in the handler %.0f, backtrace in it "
      "%.0f\n",
      ours, pauses[0].size(), floor, stepped, traced);
  char json[256];
  std::snprintf(json, sizeof json,
                "{\"frames\":%u,\"pause_ns\":%.0f,\"empty_handler_ns\":%.0f,\"unw_step_in_handler_ns\":%.0f,"
                "\"backtrace_in_handler_ns\":%.0f,\"ratio_to_empty\":%.3f,\"ratio_unw_step_to_ours\":%.2f}",
                stack->frame_count, ours, floor, stepped, traced, ours / floor, stepped / ours);
  return json;
}

// Calls `wait` again and again, which must fail with EINTR when a signal is noticed.
class Waiter {
 public:
  Waiter(const char* name, std::function<int()> wait)
      : name_(name), wait_(std::move(wait)), thread_([this] {
          tid_ = gettid();
          while (!stop_.load()) interrupted_ += wait_() < 0 && errno == EINTR;
        }) {
    while (tid_.load() == 0) std::this_thread::yield();
  }
  ~Waiter() {
    stop_ = true;
    thread_.join();
  }
  const char* name() const { return name_; }
  int tid() const { return tid_; }
  int interrupted() const { return interrupted_; }

 private:
  const char* name_;
  std::function<int()> wait_;
  std::atomic<bool> stop_{false};
  std::atomic<int> tid_{0};
  std::atomic<int> interrupted_{0};
  std::thread thread_;
};

struct Disturbance {
  uint64_t signals_sent = 0;
  int eintr_seen = 0;
};

Disturbance MeasureBlocked(stack::StackCapturer* capturer) {
  constexpr int kWaitMs = 200;
  const timespec wait{.tv_sec = 0, .tv_nsec = kWaitMs * base::kNsPerMs};
  uint32_t futex_word = 0;
  int pipe_ends[2];
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  char path[] = "capture-bench-XXXXXX";
  int file = mkstemp(path);
  if (pipe2(pipe_ends, O_CLOEXEC) != 0 || epoll < 0 || file < 0) std::exit(1);
  unlink(path);
  auto stack = std::make_unique<stack::Stack>();
  Disturbance disturbance;
  {
    // With a timeout not even a futex wait restarts.
    Waiter futex("futex", [&] {
      return static_cast<int>(syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &wait, nullptr, 0));
    });
    Waiter polling("poll", [&] { return poll(nullptr, 0, kWaitMs); });
    Waiter epolling("epoll_wait", [&] {
      epoll_event event;
      return epoll_wait(epoll, &event, 1, kWaitMs);
    });
    Waiter sleeping("nanosleep", [&] { return nanosleep(&wait, nullptr); });
    // Blocks until the end: the pipe stays empty.
    Waiter reading("read", [&] {
      char byte;
      return static_cast<int>(read(pipe_ends[0], &byte, 1));
    });
    Waiter syncing("fsync", [&] { return pwrite(file, "x", 1, 0) != 1 ? 0 : fsync(file); });
    capturer->RefreshModules();
    const Waiter* waiters[] = {&futex, &polling, &epolling, &sleeping, &reading, &syncing};
    uint64_t frames[std::size(waiters)] = {};
    int captures[std::size(waiters)] = {};
    uint64_t signals[std::size(waiters)] = {};
    uint64_t woken[std::size(waiters)] = {};  // it ran by the time of the capture: fsync sleeps many times
    for (int i = 0; i < kBlockedCaptures;) {
      for (size_t which = 0; which < std::size(waiters); ++which) {
        const Waiter& waiter = *waiters[which];
        // Running threads belong to the other measurement.
        stack::BlockedThread blocked;
        if (stack::ReadThreadActivity(base::OwnThread(waiter.tid()), &blocked) !=
            stack::ThreadActivity::kBlocked)
          continue;
        uint64_t signals_before = capturer->counters().signals_sent.value();
        uint64_t sleepers_before = capturer->counters().sleepers_signalled.value();
        capturer->Capture(waiter.tid(), stack.get());
        signals[which] += capturer->counters().sleepers_signalled.value() - sleepers_before;
        woken[which] += capturer->counters().signals_sent.value() - signals_before;
        frames[which] += stack->frame_count;
        ++captures[which];
        ++i;
      }
    }
    if (write(pipe_ends[1], "x", 1) != 1) std::exit(1);
    for (size_t which = 0; which < std::size(waiters); ++which) {
      std::printf(
          "blocked in %-10s  %5d captures of %.1f frames, %llu signals sent, and %llu when it ran again, %d "
          "interrupted\n",
          waiters[which]->name(), captures[which],
          static_cast<double>(frames[which]) / std::max(captures[which], 1),
          static_cast<unsigned long long>(signals[which]),
          static_cast<unsigned long long>(woken[which] - signals[which]), waiters[which]->interrupted());
      disturbance.signals_sent += signals[which];
      disturbance.eintr_seen += waiters[which]->interrupted();
    }
    close(pipe_ends[1]);
  }
  close(pipe_ends[0]);
  close(epoll);
  close(file);
  return disturbance;
}

// The cost of a capture of a running thread for the sampler, as in a trace: every 2 ms, if the thread's CPU
// clock is known to have moved, and if nothing is known.
struct SamplerCost {
  double known_us;
  double unknown_us;
};

SamplerCost MeasureSampler(stack::StackCapturer* capturer) {
  constexpr int kCaptures = 400;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2 * base::kNsPerMs};
  SpinningTarget target(27);
  auto stack = std::make_unique<stack::Stack>();
  const int own_tid = gettid();
  std::vector<double> costs[2];
  for (int i = 0; i < 2 * kCaptures; ++i) {
    nanosleep(&kPause, nullptr);
    const bool is_known = i % 2 == 0;
    const int64_t cpu_ns = is_known ? base::ThreadCpuNs(target.tid()) : stack::StackCapturer::kUnread;
    const int64_t begin_ns = base::ThreadCpuNs(own_tid);
    capturer->Capture(target.tid(), stack.get(), cpu_ns);
    costs[i % 2].push_back(static_cast<double>(base::ThreadCpuNs(own_tid) - begin_ns) / 1e3);
  }
  return {Median(costs[0]), Median(costs[1])};
}

}  // namespace

int main() {
  auto unwinder = stack::CreateTableUnwinder();
  if (!unwinder.ok()) return 1;
  auto capturer = stack::StackCapturer::Create({}, std::move(unwinder).value());
  if (!capturer.ok()) return 1;
  double ticks_per_ns = TicksPerNs();
  std::string depth33 = MeasureRunning(capturer->get(), 33, ticks_per_ns);
  std::string depth100 = MeasureRunning(capturer->get(), 100, ticks_per_ns);
  SamplerCost sampler = MeasureSampler(capturer->get());
  std::printf(
      "CPU time of the capturing thread for one that runs: %.1f us, %.1f when nothing is known of it\n",
      sampler.known_us, sampler.unknown_us);
  Disturbance disturbance = MeasureBlocked(capturer->get());
  std::printf(
      "{\"depth33\":%s,\"depth100\":%s,\"capturer_us\":%.1f,\"capturer_us_unknown\":%.1f,\"signals_sent\":%"
      "llu,"
      "\"eintr_seen\":%d}\n",
      depth33.c_str(), depth100.c_str(), sampler.known_us, sampler.unknown_us,
      static_cast<unsigned long long>(disturbance.signals_sent), disturbance.eintr_seen);
}
