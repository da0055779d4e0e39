// SPDX-License-Identifier: Apache-2.0
#include "bench/trace/hooks_part.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "trace/hooks/hook_recorder.h"

namespace lagwatch::bench {
namespace {

constexpr int kRounds = 7;
constexpr int kCalls = 200'000;
constexpr int kCaptures = 150;  // a ring holds more

int64_t NowNs() { return base::SystemClock().MonoNs(); }

// The fastest of some rounds of `calls` calls.
template <typename Call>
double NsPerCall(int calls, Call call) {
  double fastest_ns = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t begin_ns = NowNs();
    for (int i = 0; i < calls; ++i) call();
    fastest_ns = std::min(fastest_ns, static_cast<double>(NowNs() - begin_ns) / calls);
  }
  return fastest_ns;
}

struct CallCosts {
  double allocation_ns;
  double clock_ns;
  double mutex_ns;
  double read_ns;
};

CallCosts MeasureCalls() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  timespec now;
  char byte;
  return {NsPerCall(kCalls,
                    [] {
                      void* memory = malloc(40);
                      asm volatile("" : "+r"(memory) : : "memory");
                      free(memory);
                    }),
          NsPerCall(kCalls, [&] { clock_gettime(CLOCK_MONOTONIC, &now); }),
          NsPerCall(kCalls,
                    [] {
                      pthread_mutex_lock(&mutex);
                      pthread_mutex_unlock(&mutex);
                    }),
          NsPerCall(kCalls / 10, [&] { return read(-1, &byte, 1); })};
}

template <typename Call>
[[gnu::noinline]] double AtDepth(int depth, Call call) {
  const double result = depth == 0 ? call() : AtDepth(depth - 1, call);
  asm volatile("");
  return result;
}

double MeasureCaptures(trace::HookRecorder* recorder) {
  double fastest_ns = 1e18;
  for (int round = 0; round < kRounds * 10; ++round) {
    recorder->Drain([](int32_t, const trace::CaptureRecord&, const uint64_t*) {});
    fastest_ns = std::min(fastest_ns, AtDepth(25, [] {
                            const int64_t begin_ns = NowNs();
                            for (int i = 0; i < kCaptures; ++i) trace::CaptureHere(true);
                            return static_cast<double>(NowNs() - begin_ns) / kCaptures;
                          }));
  }
  return fastest_ns;
}

}  // namespace

HookCosts MeasureHooks() {
  const CallCosts bare = MeasureCalls();
  trace::HookRecorder recorder;
  trace::HookOptions options;
  options.interval_ns = 3600 * base::kNsPerSecond;
  options.modules.own_module = trace::ModuleFilter::OwnModule::kAlways;
  const int64_t begin_ns = NowNs();
  if (!recorder.Start(options).ok()) return {};
  const double install_ms = static_cast<double>(NowNs() - begin_ns) / base::kNsPerMs;
  const CallCosts hooked = MeasureCalls();
  return {MeasureCaptures(&recorder),      hooked.allocation_ns - bare.allocation_ns,
          hooked.clock_ns - bare.clock_ns, hooked.mutex_ns - bare.mutex_ns,
          hooked.read_ns - bare.read_ns,   install_ms};
}

}  // namespace lagwatch::bench
