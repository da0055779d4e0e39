// SPDX-License-Identifier: Apache-2.0
// SUBJECT is what its one visible function is called.
#include "tests/trace/instrument/patched_flow.h"

#include <execinfo.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdarg>
#include <stdexcept>
#include <vector>

#define KEPT __attribute__((noinline))

namespace lagwatch::trace {
namespace {

struct Counter {
  explicit Counter(int* times) : count(times) {}
  ~Counter() { ++*count; }
  int* count;
};

KEPT int ThrowFrom(int depth, int* destructors) {
  const Counter counter(destructors);
  if (depth == 0) throw std::runtime_error("thrown");
  return ThrowFrom(depth - 1, destructors) + 1;
}

KEPT int CatchFrom(int depth) {
  int destructors = 0;
  try {
    return ThrowFrom(depth, &destructors);
  } catch (const std::runtime_error&) {
    return destructors;
  }
}

KEPT int JumpTo(std::jmp_buf* way_out, int depth) {
  if (depth == 0) std::longjmp(*way_out, 1);
  return JumpTo(way_out, depth - 1) + 1;
}

KEPT int JumpFrom(int depth) {
  std::jmp_buf way_out;
  if (setjmp(way_out) != 0) return 1;
  return JumpTo(&way_out, depth);
}

KEPT void EndThreadFrom(int depth, int* destructors) {
  const Counter counter(destructors);
  if (depth == 0) pthread_exit(nullptr);
  EndThreadFrom(depth - 1, destructors);
}

KEPT uint64_t TailEven(uint64_t rounds, uint64_t sum);
KEPT uint64_t TailOdd(uint64_t rounds, uint64_t sum) {
  return rounds == 0 ? sum : TailEven(rounds - 1, sum + 3);
}
KEPT uint64_t TailEven(uint64_t rounds, uint64_t sum) {
  return rounds == 0 ? sum : TailOdd(rounds - 1, sum + 5);
}

KEPT int Recurse(int depth) {
  if (depth == 0) return 0;
  const volatile int below = Recurse(depth - 1);
  return below + 1;
}

struct Large {
  double numbers[12];
};
KEPT Large MakeLarge(double first, float second, long double third, int i1, long i2, char i3, short i4,
                     int i5, int i6, int on_stack, double d3, double d4, double d5, double d6, double d7,
                     double d8, double on_stack_too) {
  return {{first, second, static_cast<double>(third), static_cast<double>(i1 + i2 + i3 + i4 + i5 + i6),
           static_cast<double>(on_stack), d3, d4, d5, d6, d7, d8, on_stack_too}};
}
KEPT double Sum(int count, ...) {
  va_list numbers;
  va_start(numbers, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(numbers, double);
  va_end(numbers);
  return sum;
}
KEPT long double Extended(long double number) { return number * 3; }
typedef double Vector __attribute__((vector_size(16)));
KEPT Vector AddVectors(Vector a, Vector b) { return a + b; }
KEPT __int128 Wide(__int128 number) { return number * 7; }

KEPT bool PassAll() {
  const Large large = MakeLarge(1, 2, 3, 1, 1, 1, 1, 1, -1, 5, 6, 7, 8, 9, 10, 11, 12);
  bool is_right = true;
  for (int i = 0; i < 12; ++i) is_right = is_right && large.numbers[i] == i + 1;
  const Vector sum = AddVectors(Vector{1, 2}, Vector{10, 20});
  return is_right && Sum(3, 1.5, 2.5, 4.0) == 8 && Extended(1.25L) == 3.75L && sum[0] == 11 && sum[1] == 22 &&
         Wide((__int128{1} << 100) + 1) == (__int128{7} << 100) + 7;
}

ucontext_t g_main_stack;
ucontext_t g_other_stack;
int g_switches = 0;

KEPT void SwitchDeep(int depth) {
  if (depth > 0) {
    SwitchDeep(depth - 1);
  } else {
    ++g_switches;
    swapcontext(&g_other_stack, &g_main_stack);
  }
  asm volatile("");
}
KEPT void OtherStack() {
  for (;;) SwitchDeep(5);
}
KEPT void SwitchOnce(int depth) {
  if (depth > 0)
    SwitchOnce(depth - 1);
  else
    swapcontext(&g_main_stack, &g_other_stack);
  asm volatile("");
}
KEPT int SwitchStacks(int rounds) {
  std::vector<char> stack(256 << 10);
  getcontext(&g_other_stack);
  g_other_stack.uc_stack.ss_sp = stack.data();
  g_other_stack.uc_stack.ss_size = stack.size();
  g_other_stack.uc_link = nullptr;
  makecontext(&g_other_stack, &OtherStack, 0);
  g_switches = 0;
  for (int i = 0; i < rounds; ++i) SwitchOnce(i % 4);
  return g_switches;
}

KEPT bool BacktraceFinds(int depth, const void* function) {
  if (depth > 0) {
    const volatile bool is_found = BacktraceFinds(depth - 1, function);
    return is_found;
  }
  void* addresses[64];
  const int count = backtrace(addresses, 64);
  for (int i = 0; i < count; ++i) {
    const auto distance = static_cast<char*>(addresses[i]) - static_cast<const char*>(function);
    if (distance >= 0 && distance < 4096) return true;
  }
  return false;
}

KEPT void SleepIn(int depth, const volatile bool* is_done) {
  if (depth > 0)
    SleepIn(depth - 1, is_done);
  else
    while (!*is_done) usleep(1000);
  asm volatile("");
}

KEPT int LeafOf(int number) {
  asm volatile("" : "+r"(number));
  return number + 1;
}

}  // namespace

const PatchedFlow& SUBJECT() {
  static constexpr PatchedFlow kFlow{&CatchFrom, &JumpFrom,     &EndThreadFrom,  &TailEven, &Recurse,
                                     &PassAll,   &SwitchStacks, &BacktraceFinds, &SleepIn,  &LeafOf};
  return kFlow;
}

}  // namespace lagwatch::trace
