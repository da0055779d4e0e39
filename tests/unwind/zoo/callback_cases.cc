// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "tests/unwind/zoo/zoo.h"

namespace lagwatch::unwind_test {
namespace {

constexpr int kNumbers[] = {5, 3, 9, 1, 7, 2, 8, 4, 6, 0, 11, 10};

ZOO_SHAPE int CompareInts(const void* a, const void* b) {
  Consume(1);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void SortInC() {
  int numbers[std::size(kNumbers)];
  std::memcpy(numbers, kNumbers, sizeof numbers);
  qsort(numbers, std::size(numbers), sizeof numbers[0], CompareInts);
  int wanted = 7;
  Consume(bsearch(&wanted, numbers, std::size(numbers), sizeof numbers[0], CompareInts) != nullptr);
}

ZOO_SHAPE bool IsLess(int a, int b) {
  Consume(2);
  return a < b;
}

void SortInCpp() {
  int numbers[40];
  for (int i = 0; i < 40; ++i) numbers[i] = kNumbers[i % 12] * (i + 3) % 17;
  std::sort(std::begin(numbers), std::end(numbers), IsLess);
  std::stable_sort(std::begin(numbers), std::end(numbers),
                   [](int a, int b) { return !IsLess(a, b) && a != b; });
}

ZOO_SHAPE void CallFunction(const std::function<void(int)>& function) {
  function(3);
  Consume(3);
}

void StdFunction() {
  std::string text = "a callback's own state";
  CallFunction([&](int times) {
    for (int i = 0; i < times; ++i) Consume(text.size());
  });
  CallFunction([text](int) { Consume(text.find('w')); });
}

ZOO_SHAPE void InitializeOnce() { Consume(4); }

void Once() {
  std::once_flag flag;
  std::call_once(flag, [] {
    InitializeOnce();
    Consume(5);
  });
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, InitializeOnce);
}

struct CountsWhenUnwound {
  ~CountsWhenUnwound() { Consume(static_cast<uint64_t>(std::uncaught_exceptions())); }
};

ZOO_SHAPE void Throw(int what) {
  CountsWhenUnwound guard;
  if (what == 0) throw std::runtime_error("the zoo is closed");
  Consume(6);
}

ZOO_SHAPE void ThrowThroughAFrame(int what) {
  CountsWhenUnwound guard;
  Throw(what);
  Consume(7);
}

ZOO_SHAPE void Rethrow() {
  try {
    ThrowThroughAFrame(0);
  } catch (const std::runtime_error& error) {
    Consume(std::strlen(error.what()));
    throw;
  }
}

// Stops are in destructors while the exception is in flight, in both phases of its way, and in the handlers.
void Exceptions() {
  try {
    Rethrow();
  } catch (const std::exception&) {
    Consume(8);
  }
}

void Libc() {
  char text[128];
  Consume(static_cast<uint64_t>(snprintf(text, sizeof text, "%d %s %.3f %p", 42, "frogs", 2.5, nullptr)));
  Consume(std::strlen(text) + static_cast<uint64_t>(std::strtol("1234", nullptr, 10)));
  std::memmove(text + 3, text, 64);
  Consume(std::strchr(text, 'f') != nullptr);
  std::unique_ptr<char[]> memory(new char[1000]);
  std::memset(memory.get(), 1, 1000);
  Consume(static_cast<uint64_t>(memory[999]));
}

// Functions that nothing else here calls, so that lazy binding resolves them now.
void LazyBinding() {
  Consume(static_cast<uint64_t>(std::abs(atoi("-3"))));
  Consume(static_cast<uint64_t>(strcoll("a", "b") > 0));
  Consume(strtoul("77", nullptr, 8));
  Consume(static_cast<uint64_t>(drand48() * 10));
}

constexpr ZooCase kCases[] = {
    {"qsort", SortInC},         {"std::sort", SortInCpp}, {"std::function", StdFunction}, {"once", Once},
    {"exceptions", Exceptions}, {"libc", Libc},           {"lazy binding", LazyBinding}};

}  // namespace

std::span<const ZooCase> CallbackCases() { return kCases; }

}  // namespace lagwatch::unwind_test
