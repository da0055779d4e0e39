// SPDX-License-Identifier: Apache-2.0
#include "bench/verdict/look_costs.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/verdict/stall.h"
#include "policies/verdict.h"
#include "watchdog/evidence/evidence.h"

namespace lagwatch::bench {
namespace {

// The median cost of a look at a thread, `before` being an earlier one or null, `files` those kept
// open or null.
double MedianLookUs(int tid, const policies::ThreadLook* before, const stack::ThreadFiles* files) {
  std::vector<int64_t> costs_ns;
  for (int i = 0; i < 2000; ++i) {
    policies::ThreadLook look;
    int64_t begin_ns = NowNs();
    watchdog::LookAtThread(base::OwnThread(tid), before, &look, files);
    costs_ns.push_back(NowNs() - begin_ns);
  }
  std::sort(costs_ns.begin(), costs_ns.end());
  return static_cast<double>(costs_ns[costs_ns.size() / 2]) / 1000;
}

}  // namespace

void PrintLookCosts() {
  std::atomic<bool> stop{false};
  std::atomic<int> spinning_tid{0};
  std::atomic<int> waiting_tid{0};
  std::mutex mutex;
  mutex.lock();
  std::thread spinning([&] {
    spinning_tid = gettid();
    while (!stop.load()) {
    }
  });
  std::thread waiting([&] {
    waiting_tid = gettid();
    std::lock_guard lock(mutex);
  });
  SleepMs(50);
  policies::ThreadLook before;
  watchdog::LookAtThread(base::OwnThread(waiting_tid), nullptr, &before);
  // This process has no hang that a test could disturb: its own table of descriptors serves.
  stack::ThreadFiles files;
  files.Allow();
  for (int tid : {waiting_tid.load(), spinning_tid.load()}) {
    files.Keep(base::OwnThread(tid));
    files.KeepAll(base::OwnThread(tid));
  }
  std::printf("a look takes, with files opened for it and with files kept open, at a thread that\n");
  auto print = [&](const char* what, int tid, const policies::ThreadLook* earlier) {
    const double opened_us = MedianLookUs(tid, earlier, nullptr);
    std::printf("  %-15s  %5.1f us  %5.1f us\n", what, opened_us, MedianLookUs(tid, earlier, &files));
  };
  print("has slept since", waiting_tid, &before);
  print("runs", spinning_tid, nullptr);
  print("has run, sleeps", waiting_tid, nullptr);
  for (int tid : {waiting_tid.load(), spinning_tid.load()}) files.Release(tid);
  stop = true;
  mutex.unlock();
  spinning.join();
  waiting.join();
}

}  // namespace lagwatch::bench
