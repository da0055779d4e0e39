// SPDX-License-Identifier: Apache-2.0
#include "tests/unwind/harness/debugger_stops.h"

#include <sys/time.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "stack/code/module_map.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "tests/unwind/harness/context_copy.h"
#include "tests/unwind/unwinder_under_test.h"

extern "C" {
uint64_t g_oracle_frames[lagwatch::stack::kMaxFrames];
uint32_t g_oracle_frame_count;
uint32_t g_oracle_is_complete;
[[gnu::noinline]] void OracleStop() { asm volatile("" ::: "memory"); }
}

namespace lagwatch::unwind_test {
namespace {

struct Stops {
  stack::ModuleMap modules;
  std::unique_ptr<stack::Unwinder> unwinder = CreateUnwinderUnderTest();
  stack::RawStack raw;
  stack::Stack stack;
  volatile int left = 100;
  uint32_t random = 1;
};

Stops* g_stops = nullptr;

// One-shot, so that the time in the debugger brings no signals of its own.
void ArmTimer() {
  constexpr uint32_t kLongestUs = 700;
  g_stops->random = g_stops->random * 1664525 + 1013904223;
  itimerval timer{};
  timer.it_value.tv_usec = 1 + static_cast<suseconds_t>(g_stops->random >> 8) % kLongestUs;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void OnAlarm(int, siginfo_t*, void* context) {
  int saved_errno = errno;
  g_stops->modules.Refresh();
  // Memory that is no stack, such as a handler's own, may hold something else by now.
  g_stops->unwinder->OnModulesChanged();
  CopyContext(context, g_stops->modules, &g_stops->raw);
  g_stops->unwinder->Unwind(g_stops->raw, g_stops->modules, &g_stops->stack);
  g_oracle_frame_count = 0;
  for (const stack::Frame& frame : g_stops->stack.view()) {
    uint64_t bias = frame.module == stack::kNoModule ? 0 : g_stops->modules.module(frame.module).load_bias;
    g_oracle_frames[g_oracle_frame_count++] = bias + frame.offset;
  }
  g_oracle_is_complete = g_stops->stack.completeness == stack::Completeness::kComplete;
  OracleStop();
  g_stops->left = g_stops->left - 1;
  if (g_stops->left > 0) ArmTimer();
  errno = saved_errno;
}

}  // namespace

void BeginStops() {
  g_stops = new Stops;
  if (const char* wanted = getenv("ZOO_STOPS")) g_stops->left = atoi(wanted);
  struct sigaction action {};
  action.sa_sigaction = OnAlarm;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  ArmTimer();
}

bool HasStoppedEnough() { return g_stops->left <= 0; }

}  // namespace lagwatch::unwind_test
