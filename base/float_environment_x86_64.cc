// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "base/system/float_environment.h"

namespace lagwatch::base {
namespace {

struct FloatState {
  uint32_t x87[7];  // as fnstenv stores it
  uint32_t mxcsr;
};

}  // namespace

FloatEnvironment FloatEnvironment::Replace() {
  constexpr uint32_t kDefaultMxcsr = 0x1f80;
  constexpr uint16_t kDefaultControl = 0x37f;
  FloatState state;
  __asm__ volatile("fnstenv %0\n\tfnclex\n\tfldcw %2\n\tstmxcsr %1\n\tldmxcsr %3"
                   : "=m"(state.x87), "=m"(state.mxcsr)
                   : "m"(kDefaultControl), "m"(kDefaultMxcsr)
                   : "memory");
  FloatEnvironment environment;
  environment.words_ = std::bit_cast<decltype(words_)>(state);
  return environment;
}

void FloatEnvironment::Restore() const {
  const auto state = std::bit_cast<FloatState>(words_);
  __asm__ volatile("fldenv %0\n\tldmxcsr %1" : : "m"(state.x87), "m"(state.mxcsr) : "memory");
}

}  // namespace lagwatch::base
