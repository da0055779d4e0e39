// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a dispatch for the application: begin and end through the C ABI of the shared library,
// as a program calls them, against two raw reads of the tick counter, the least that a timed pair needs:
// timed_pair_ns, counter_pair_ns, tick_pair_ns, ratio_timed_to_ticks.
//
// The four loops are interleaved and each figure is the least of many rounds: on a shared machine, noise only
// adds. The timed pair comes once more, while the program records itself as often as possible:
// traced_pair_ns.
#include <lagwatch/c.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "base/ticks.h"

namespace {

constexpr int kRounds = 200;
constexpr int kPairsPerRound = 20000;

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

template <typename T>
void KeepAlive(T value) {
  asm volatile("" : : "r"(value) : "memory");
}

// The least time that one call of `pair` took on average over a round, in nanoseconds.
class Least {
 public:
  template <typename Pair>
  void Round(Pair pair) {
    int64_t begin_ns = NowNs();
    for (int i = 0; i < kPairsPerRound; ++i) pair();
    ns_ = std::min(ns_, static_cast<double>(NowNs() - begin_ns) / kPairsPerRound);
  }
  double ns() const { return ns_; }

 private:
  double ns_ = std::numeric_limits<double>::max();
};

// The median of rounds: looks come in some of them only.
double TracedPairNs(lw_options options, double empty_ns) {
  options.trace = 1;
  options.trace_interval_ms = 1;
  if (lw_start(&options) != LW_OK) return -1;
  lw_loop* loop = lw_watch_loop("bench");
  std::array<double, kRounds> rounds_ns;
  for (double& round_ns : rounds_ns) {
    Least round;
    round.Round([loop] {
      lw_dispatch_begin(loop, "bench");
      lw_dispatch_end(loop);
    });
    round_ns = round.ns();
  }
  lw_stop(0);
  std::ranges::nth_element(rounds_ns, rounds_ns.begin() + kRounds / 2);
  return rounds_ns[kRounds / 2] - empty_ns;
}

}  // namespace

int main() {
  lw_options options;
  lw_options_init(&options);
  char spool[] = "/tmp/lagwatch-bench-XXXXXX";
  if (mkdtemp(spool) == nullptr) return 1;
  options.spool_directory = spool;
  if (lw_start(&options) != LW_OK) {
    std::fprintf(stderr, "the monitor is off: %s\n", lw_why_off());
    return 1;
  }
  lw_loop* loop = lw_watch_loop("bench");

  Least empty;
  Least ticks;
  Least counted;
  Least timed;
  for (int round = 0; round < kRounds; ++round) {
    empty.Round([] { KeepAlive(0); });
    ticks.Round([] {
      KeepAlive(lagwatch::base::ReadTicks());
      KeepAlive(lagwatch::base::ReadTicks());
    });
    counted.Round([loop] {
      lw_dispatch_begin_counted(loop, "bench");
      lw_dispatch_end_counted(loop);
    });
    timed.Round([loop] {
      lw_dispatch_begin(loop, "bench");
      lw_dispatch_end(loop);
    });
  }
  lw_stop(0);
  const double traced_pair_ns = TracedPairNs(options, empty.ns());
  rmdir(spool);

  double counter_pair_ns = counted.ns() - empty.ns();
  double tick_pair_ns = ticks.ns() - empty.ns();
  double timed_pair_ns = timed.ns() - empty.ns();
  std::printf(
      "over an empty loop of %.2f ns a turn: timed pair %.2f ns, counter pair %.2f ns, two tick reads %.2f "
      "ns\n",
      empty.ns(), timed_pair_ns, counter_pair_ns, tick_pair_ns);
  std::printf(
      "{\"timed_pair_ns\":%.2f,\"counter_pair_ns\":%.2f,\"tick_pair_ns\":%.2f,\"ratio_timed_to_ticks\":%.3f,"
      "\"traced_pair_ns\":%.2f}\n",
      timed_pair_ns, counter_pair_ns, tick_pair_ns, timed_pair_ns / tick_pair_ns, traced_pair_ns);
}
