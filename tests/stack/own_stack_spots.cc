// SPDX-License-Identifier: Apache-2.0
#include "tests/stack/own_stack_spots.h"

#include <alloca.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace lagwatch::stack {
namespace {

struct Call {
  Look look;
  void* argument;
};
Call g_call;

template <int kShape>
[[gnu::noinline]] int DescendTo(int depth, const Call& call) {
  volatile char locals[8 + 40 * kShape] = {};
  int sum = depth;
  if (depth == 0) {
    call.look(call.argument);
  } else {
    sum += DescendTo<(kShape + 1) % 12>(depth - 1, call);
  }
  asm volatile("" : : "r"(locals), "r"(sum) : "memory");
  return sum;
}

[[gnu::noinline]] void Throw() { throw std::runtime_error("to be caught"); }

struct LooksWhenDestroyed {
  ~LooksWhenDestroyed() { g_call.look(g_call.argument); }
};

[[gnu::noinline]] void ThrowPastDestructor() {
  LooksWhenDestroyed looks;
  Throw();
}

}  // namespace

[[gnu::noinline]] void LookFromRecursion(Look look, void* argument) { DescendTo<0>(40, {look, argument}); }

[[gnu::noinline]] void LookFromVariableFrame(Look look, void* argument) {
  volatile size_t size = 333;
  auto* bytes = static_cast<char*>(alloca(size));
  std::memset(bytes, 1, size);
  DescendTo<3>(3, {look, argument});
  asm volatile("" : : "r"(bytes) : "memory");
}

[[gnu::noinline]] void LookFromSort(Look look, void* argument) {
  g_call = {look, argument};
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof numbers[0], [](const void* a, const void* b) {
    if (g_call.look != nullptr) std::exchange(g_call.look, nullptr)(g_call.argument);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
}

[[gnu::noinline]] void LookFromCatch(Look look, void* argument) {
  try {
    Throw();
  } catch (const std::runtime_error&) {
    DescendTo<1>(2, {look, argument});
  }
}

[[gnu::noinline]] void LookFromDestructorInFlight(Look look, void* argument) {
  g_call = {look, argument};
  try {
    ThrowPastDestructor();
  } catch (const std::runtime_error&) {
    asm volatile("");
  }
}

[[gnu::noinline]] void LookFromRealignedFrame(Look look, void* argument) {
  alignas(256) volatile char aligned[512] = {};
  DescendTo<2>(2, {look, argument});
  asm volatile("" : : "r"(aligned) : "memory");
}

[[gnu::noinline]] void LookFromSignalHandler(Look look, void* argument) {
  g_call = {look, argument};
  struct sigaction action {};
  action.sa_handler = [](int) { g_call.look(g_call.argument); };
  struct sigaction before {};
  sigaction(SIGURG, &action, &before);
  raise(SIGURG);
  sigaction(SIGURG, &before, nullptr);
}

}  // namespace lagwatch::stack
