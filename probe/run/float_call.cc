// SPDX-License-Identifier: Apache-2.0
// Built for plain x86-64, as float_steps.cc.
#include "probe/run/float_call.h"

#include <bit>

namespace lagwatch::probe {
namespace {

uint64_t AddFloat(uint64_t word, uint64_t bits, uint64_t weight) {
  constexpr auto kRelaxed = std::memory_order_relaxed;  // as of all sums
  auto& sum = *reinterpret_cast<Word*>(word);
  const double addend = std::bit_cast<double>(bits) * static_cast<double>(weight);
  uint64_t present = sum.load(kRelaxed);
  for (int i = 0; i < kMostAttempts; ++i) {
    const auto added = std::bit_cast<uint64_t>(std::bit_cast<double>(present) + addend);
    if (sum.compare_exchange_weak(present, added, kRelaxed)) return 1;
  }
  return 0;
}

}  // namespace

bool AddFloatTo(Word& word, uint64_t bits, uint64_t weight) {
  return CallWithFloats(reinterpret_cast<uint64_t>(&word), bits, weight, &AddFloat) != 0;
}

}  // namespace lagwatch::probe
