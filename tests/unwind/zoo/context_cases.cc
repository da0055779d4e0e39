// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "tests/unwind/harness/stepper.h"
#include "tests/unwind/zoo/zoo.h"

// In assembly_x86_64.S.
extern "C" {
uint64_t ZooAssemblyLeaf(uint64_t a, uint64_t b);                         // without CFI, without a frame
uint64_t ZooAssemblyFrame(uint64_t (*callee)(uint64_t), uint64_t a);      // without CFI, by a frame pointer
uint64_t ZooAssemblyDescribed(uint64_t (*callee)(uint64_t), uint64_t a);  // with CFI for each push and pop
uint64_t ZooAssemblyFaultsAtOnce();        // raises SIGILL by its first instruction, which is two bytes long
extern const char kZooFramePointerCode[];  // position-independent, to be copied
extern const uint64_t kZooFramePointerCodeSize;
}

namespace lagwatch::unwind_test {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

ZOO_SHAPE uint64_t Called(uint64_t a) {
  Consume(a);
  return a + 1;
}

template <int kNumber>
ZOO_SHAPE void StepInHandler(int) {
  BeginSteps(kNumber == SIGUSR1 ? "signal handler" : "nested signal handler");
  Consume(Called(static_cast<uint64_t>(kNumber)));
  EndSteps();
  if (kNumber == SIGUSR1) raise(SIGUSR2);
}

void Handle(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

ZOO_SHAPE void RaiseBoth() {
  raise(SIGUSR1);
  Consume(1);
}

void Signals() {
  Handle(SIGUSR1, StepInHandler<SIGUSR1>, 0);
  Handle(SIGUSR2, StepInHandler<SIGUSR2>, 0);
  RaiseBoth();
}

void SignalsOnAnotherStack() {
  static char* memory = static_cast<char*>(
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  stack_t alternate{memory, 0, kStackBytes};
  sigaltstack(&alternate, nullptr);
  Handle(SIGUSR1, StepInHandler<SIGUSR1>, SA_ONSTACK);
  Handle(SIGUSR2, StepInHandler<SIGUSR2>, SA_ONSTACK);
  RaiseBoth();
  alternate.ss_flags = SS_DISABLE;
  sigaltstack(&alternate, nullptr);
}

ZOO_SHAPE void StepOverFault(int, siginfo_t*, void* context) {
  BeginSteps("signal at a function's start");
  Consume(Called(5));
  EndSteps();
  constexpr greg_t kFaultBytes = 2;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += kFaultBytes;
}

// One byte before the interrupted instruction is another function, with another frame.
void SignalAtAFunctionsStart() {
  struct sigaction action {};
  action.sa_sigaction = StepOverFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, nullptr);
  Consume(ZooAssemblyFaultsAtOnce());
}

// Through the kernel's vDSO and through system calls.
void Clocks() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  timeval day;
  gettimeofday(&day, nullptr);
  Consume(static_cast<uint64_t>(now.tv_nsec + day.tv_usec + time(nullptr)));
  timespec nap{0, 1};
  nanosleep(&nap, nullptr);
}

ucontext_t g_main_context;
ucontext_t g_coroutine_context;

ZOO_SHAPE void Yield() {
  swapcontext(&g_coroutine_context, &g_main_context);
  Consume(2);
}

void Coroutine() {
  Consume(Called(1));
  Yield();
  Consume(Called(2));
}

// The coroutine's stack is its own mapping, so that its end is known.
char* CoroutineStack() {
  static char* memory = [] {
    auto* mapped =
        static_cast<char*>(mmap(nullptr, kStackBytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(mapped + 4096, kStackBytes, PROT_READ | PROT_WRITE);
    return mapped + 4096;
  }();
  return memory;
}

void Coroutines() {
  getcontext(&g_coroutine_context);
  g_coroutine_context.uc_stack.ss_sp = CoroutineStack();
  g_coroutine_context.uc_stack.ss_size = kStackBytes;
  g_coroutine_context.uc_link = &g_main_context;
  makecontext(&g_coroutine_context, Coroutine, 0);
  swapcontext(&g_main_context, &g_coroutine_context);
  Consume(Called(3));
  swapcontext(&g_main_context, &g_coroutine_context);
}

void Assembly() {
  Consume(ZooAssemblyDescribed(Called, 1));
  Consume(ZooAssemblyLeaf(2, 3));
  Consume(ZooAssemblyFrame(Called, 4));
}

using FramePointerCode = uint64_t (*)(uint64_t (*)(uint64_t), uint64_t);

FramePointerCode GeneratedCode() {
  static void* code = [] {
    void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(mapped, kZooFramePointerCode, kZooFramePointerCodeSize);
    mprotect(mapped, 4096, PROT_READ | PROT_EXEC);
    return mapped;
  }();
  return reinterpret_cast<FramePointerCode>(code);
}

void Generated() { Consume(GeneratedCode()(Called, 5)); }

constexpr ZooCase kContextCases[] = {{"signals", Signals},
                                     {"signals on another stack", SignalsOnAnotherStack},
                                     {"fault", SignalAtAFunctionsStart},
                                     {"clocks", Clocks},
                                     {"coroutines", Coroutines}};
constexpr ZooCase kCasesWithoutTables[] = {{"assembly", Assembly}, {"generated code", Generated}};

}  // namespace

std::span<const ZooCase> ContextCases() {
  CoroutineStack();  // mapped before the first look at the mappings
  return kContextCases;
}

std::span<const ZooCase> CasesWithoutTables() {
  GeneratedCode();  // likewise
  return kCasesWithoutTables;
}

}  // namespace lagwatch::unwind_test
