// SPDX-License-Identifier: Apache-2.0
#include "base/process/sleeper.h"

#include "base/clock.h"
#include "base/process/safe_memory.h"

namespace lagwatch::base {

bool Sleeper::SleepUntil(int64_t mono_ns) {
  while (woken_.exchange(0) == 0) {
    if (HasSharedWordChanged()) return true;
    if (SystemClock().MonoNs() >= mono_ns) return false;
    Wait(mono_ns);
  }
  return true;
}

bool Sleeper::HasSharedWordChanged() {
  uint32_t value = 0;
  // A load could raise SIGBUS.
  if (shared_word_ == nullptr || !ReadOwnValue(reinterpret_cast<uint64_t>(shared_word_), &value))
    return false;
  const bool has_changed = value != seen_value_;
  seen_value_ = value;
  return has_changed;
}

void Sleeper::SetSharedWord(const uint32_t* word) {
  shared_word_ = word;
  can_wait_for_two_ = true;
  HasSharedWordChanged();
}

}  // namespace lagwatch::base
