// SPDX-License-Identifier: Apache-2.0
#include "base/system/float_environment.h"

namespace lagwatch::base {

FloatEnvironment FloatEnvironment::Replace() {
  FloatEnvironment environment;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(environment.words_[0]), "=r"(environment.words_[1]));
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %0" : : "r"(uint64_t{0}) : "memory");
  return environment;
}

void FloatEnvironment::Restore() const {
  __asm__ volatile("msr fpsr, %1\n\tmsr fpcr, %0" : : "r"(words_[0]), "r"(words_[1]) : "memory");
}

}  // namespace lagwatch::base
