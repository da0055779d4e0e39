// SPDX-License-Identifier: Apache-2.0
#include <execinfo.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/unwind/harness/call_record.h"
#include "tests/unwind/harness/comparison.h"
#include "tests/unwind/harness/context_copy.h"
#include "tests/unwind/harness/stepper.h"

namespace lagwatch::unwind_test {
namespace {

constexpr greg_t kTrapFlag = 0x100;
constexpr int kMaxNesting = 4;

struct Session {
  const char* case_name;
  CallRecord record;
};

// Counts the comparisons of each address: open addressing, never full.
class VisitCounts {
 public:
  int CountVisit(uint64_t pc) {
    size_t slot = pc * 0x9e3779b97f4a7c15u >> (64 - kSizeLog2);
    while (visits_[slot].pc != 0 && visits_[slot].pc != pc) slot = (slot + 1) % kSize;
    visits_[slot].pc = pc;
    return ++visits_[slot].count;
  }

 private:
  static constexpr int kSizeLog2 = 18;
  static constexpr size_t kSize = size_t{1} << kSizeLog2;
  struct Visit {
    uint64_t pc;
    int count;
  };
  Visit visits_[kSize];
};

enum class Command { kBegin, kEnd };

struct Stepper {
  Comparison comparison;
  Session sessions[kMaxNesting];
  int depth = 0;  // of nested sessions; the innermost runs
  volatile Command command;
  VisitCounts visits{};
  stack::RawStack raw;
  CallChain truth;
  uint64_t step_count = 0;
  uint64_t unclear_count = 0;
};

Stepper* g_stepper = nullptr;

void Step(const void* context, uint64_t pc, uint64_t stack_pointer) {
  Session& session = g_stepper->sessions[g_stepper->depth - 1];
  session.record.Step(pc, stack_pointer, g_stepper->comparison.modules()->stacks());
  ++g_stepper->step_count;
  if (!session.record.IsClear()) {
    ++g_stepper->unclear_count;
    return;
  }
  if (g_stepper->visits.CountVisit(pc) > kVisitsPerAddress) return;
  session.record.Write(&g_stepper->truth);
  CopyContext(context, *g_stepper->comparison.modules(), &g_stepper->raw);
  g_stepper->comparison.Compare(session.case_name, g_stepper->raw, g_stepper->truth);
}

void OnTrap(int, siginfo_t* info, void* context) {
  int saved_errno = errno;
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (info->si_code == TRAP_TRACE) {
    Step(context, static_cast<uint64_t>(registers[REG_RIP]), static_cast<uint64_t>(registers[REG_RSP]));
  } else if (g_stepper->command == Command::kBegin) {
    registers[REG_EFL] |= kTrapFlag;
  } else {
    registers[REG_EFL] &= ~kTrapFlag;
  }
  errno = saved_errno;
}

}  // namespace

void InstallStepper() {
  g_stepper = new Stepper;
  struct sigaction action {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  void* warm_up[4];
  backtrace(warm_up, 4);  // loads libgcc
}

[[gnu::noinline]] void BeginSteps(const char* case_name) {
  if (g_stepper == nullptr) return;
  if (g_stepper->depth == kMaxNesting) abort();
  Session& session = g_stepper->sessions[g_stepper->depth++];
  session.case_name = case_name;
  g_stepper->comparison.modules()->Refresh();
  g_stepper->comparison.AwaitTables();
  g_stepper->comparison.ForgetOtherStacks();
  void* chain[kMaxDepth];
  int size = backtrace(chain, kMaxDepth);
  uint64_t slot = reinterpret_cast<uint64_t>(__builtin_dwarf_cfa()) - sizeof(void*);
  session.record.Begin(slot, {chain + 1, static_cast<size_t>(size - 1)},
                       g_stepper->comparison.modules()->stacks());
  g_stepper->command = Command::kBegin;
  asm volatile("int3" ::: "memory");
}

[[gnu::noinline]] void EndSteps() {
  if (g_stepper == nullptr) return;
  g_stepper->command = Command::kEnd;
  asm volatile("int3" ::: "memory");
  --g_stepper->depth;
  g_stepper->comparison.ForgetOtherStacks();
}

bool ReportSteps(const char* program) {
  bool is_right = g_stepper->comparison.Report(program);
  printf("%s: %lu instructions stepped, %lu without one right answer\n", program, g_stepper->step_count,
         g_stepper->unclear_count);
  constexpr uint64_t kUnclearOf = 100;
  return is_right && g_stepper->step_count > 0 &&
         g_stepper->unclear_count * kUnclearOf <= g_stepper->step_count;
}

}  // namespace lagwatch::unwind_test
