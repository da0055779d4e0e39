// SPDX-License-Identifier: Apache-2.0
#include "tests/unwind/harness/blocked_thread.h"

#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "stack/stack_capturer.h"
#include "stack/threads/thread_state.h"
#include "tests/unwind/unwinder_under_test.h"

namespace lagwatch::unwind_test {
namespace {

constexpr int kCapturesPerCall = 20;
constexpr int kMaxCallers = 64;

struct Waiter {
  const BlockingCall* call = nullptr;
  void* (*start)(void*) = nullptr;
  int tid = 0;
  void (*function)() = nullptr;
  void* callers[kMaxCallers];  // [0] is in `function`
  int caller_count = 0;
  std::atomic<bool> has_recorded{false};
  std::atomic<bool> has_returned{false};
};

thread_local Waiter* t_waiter = nullptr;

void* RunWaiter(void* argument) {
  t_waiter = static_cast<Waiter*>(argument);
  t_waiter->tid = gettid();
  void* result = t_waiter->start(const_cast<BlockingCall*>(t_waiter->call));
  t_waiter->has_returned = true;
  return result;
}

// Until it sleeps in a system call after it recorded its callers; the way there may sleep as well, in
// a page fault.
stack::BlockedThread AwaitBlocked(const Waiter& waiter) {
  constexpr useconds_t kPauseUs = 500;
  stack::BlockedThread blocked;
  while (!waiter.has_recorded ||
         stack::ReadThreadActivity(base::OwnThread(waiter.tid), &blocked) !=
             stack::ThreadActivity::kBlocked ||
         blocked.syscall_number < 0) {
    usleep(kPauseUs);
  }
  return blocked;
}

uint64_t AddressOf(const stack::ModuleMap& modules, uint32_t module, uint64_t offset) {
  return module == stack::kNoModule ? offset : modules.module(module).load_bias + offset;
}

// The error of the stack, "" without one.
std::string FaultOf(const stack::Stack& stack, const stack::ModuleMap& modules, const Waiter& waiter) {
  auto outer_count = static_cast<uint32_t>(waiter.caller_count - 1);
  if (stack.completeness != stack::Completeness::kComplete) return "incomplete";
  if (stack.frame_count <= outer_count) return "too few frames";
  uint32_t own = stack.frame_count - outer_count - 1;
  for (uint32_t i = 0; i < outer_count; ++i) {
    const stack::Frame& frame = stack.frames[own + 1 + i];
    if (AddressOf(modules, frame.module, frame.offset) + 1 !=
        reinterpret_cast<uint64_t>(waiter.callers[i + 1]))
      return "another caller " + std::to_string(i);
  }
  const stack::Frame& frame = stack.frames[own];
  if (AddressOf(modules, frame.module, frame.function_offset) != reinterpret_cast<uint64_t>(waiter.function))
    return "not in the calling function";
  constexpr uint32_t kMostFramesOfLibc = 6;
  return own <= kMostFramesOfLibc ? "" : "too many frames";
}

// The faults that the oracle is known for; harness/known_faults.cc says why.
bool IsOraclesFault(const std::string& fault, const stack::ModuleMap& modules, const Waiter& waiter) {
  uint32_t module = modules.FindCode(reinterpret_cast<uint64_t>(waiter.function));
  return kOracleIsUnderTest && (fault == "incomplete" || modules.module(module).eh_frame_hdr == 0);
}

}  // namespace

[[gnu::noinline]] void RecordCallers(void (*function)()) {
  void* chain[kMaxCallers + 1];
  int size = backtrace(chain, kMaxCallers + 1);
  t_waiter->function = function;
  for (int i = 1; i < size; ++i) t_waiter->callers[t_waiter->caller_count++] = chain[i];
  t_waiter->has_recorded = true;
}

// As the function of that name in context_copy.h.
static void AwaitTables(stack::StackCapturer& capturer, const Waiter& waiter, stack::Stack* stack) {
  constexpr int kTries = 300;
  for (int i = 0; i < kTries && stack->completeness != stack::Completeness::kComplete; ++i) {
    capturer.Capture(waiter.tid, stack);
    if (stack->completeness != stack::Completeness::kComplete) usleep(10'000);
  }
}

bool CheckBlockedThreads(const char* program, std::span<const BlockingCall> calls, void* (*start)(void*)) {
  auto created = stack::StackCapturer::Create({}, CreateUnwinderUnderTest());
  if (!created.ok()) return false;
  auto capturer = std::move(created).value();
  auto stack = std::make_unique<stack::Stack>();
  stack->Clear();
  std::vector<std::unique_ptr<Waiter>> waiters;
  int right = 0, wrong = 0, forgiven = 0;
  for (const BlockingCall& call : calls) {
    Waiter& waiter = *waiters.emplace_back(new Waiter);
    waiter.call = &call;
    waiter.start = start;
    pthread_t thread;
    pthread_create(&thread, nullptr, RunWaiter, &waiter);
    stack::BlockedThread blocked = AwaitBlocked(waiter);
    capturer->RefreshModules();
    AwaitTables(*capturer, waiter, stack.get());
    uint64_t signals_before = capturer->counters().signals_sent.value();
    for (int i = 0; i < kCapturesPerCall; ++i) {
      capturer->RefreshModules();
      capturer->Capture(waiter.tid, stack.get());
      std::string fault = FaultOf(*stack, capturer->modules(), waiter);
      if (fault.empty()) {
        ++right;
      } else if (IsOraclesFault(fault, capturer->modules(), waiter)) {
        ++forgiven;
      } else if (++wrong; i == 0) {
        printf("  %s: %s\n", call.name, fault.c_str());
      }
    }
    uint64_t signals = capturer->counters().signals_sent.value() - signals_before;
    if (signals != 0 && !blocked.RestartsAfterSignal()) {
      printf("  %s: %lu signals sent\n", call.name, signals);
      ++wrong;
    }
  }
  for (const auto& waiter : waiters) {
    if (!waiter->has_returned) continue;
    printf("  %s: returned\n", waiter->call->name);
    ++wrong;
  }
  printf("%s: %zu calls, %d captures right, %d wrong, %d wrong as the oracle's must be; %lu signals sent\n",
         program, calls.size(), right, wrong, forgiven, capturer->counters().signals_sent.value());
  fflush(stdout);
  // The threads wait for ever, and the process ends without them: nothing here may be destroyed.
  for (auto& waiter : waiters) waiter.release();
  return wrong == 0 && right + forgiven > 0;
}

}  // namespace lagwatch::unwind_test
