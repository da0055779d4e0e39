// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/instrument/ruled_shop.h"

#include <ctime>

#if RULED_BUILD == 2
// The second build has other code before the same functions, and one that is new.
extern "C" [[gnu::noinline]] int only_in_the_second_build(int number) {
  for (int i = 0; i < number; ++i) asm volatile("nop; nop; nop; nop");
  return number;
}
#endif

namespace shop {
namespace {
[[gnu::noinline]] void Hide(int number) { asm volatile("" : : "r"(number)); }
}  // namespace

namespace detail {
[[gnu::noinline]] void Check(int number) { asm volatile("" : : "r"(number)); }
}  // namespace detail

[[gnu::noinline]] void Save(const Cart& cart) {
  Hide(cart.items);
  asm volatile("");
}

[[gnu::noinline]] void Save(int number) {
  detail::Check(number);
#if RULED_BUILD == 2
  only_in_the_second_build(number);
#endif
  asm volatile("");
}

[[gnu::noinline]] void Load(int ms) {
  timespec begin{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  detail::Check(ms);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 < ms);
}

[[gnu::noinline]] void Freeze(int ms) {
  Load(ms);
  asm volatile("");
}

}  // namespace shop

extern "C" [[gnu::noinline]] void add_numbers(int number) { asm volatile("" : : "r"(number)); }
