// SPDX-License-Identifier: Apache-2.0
// A clock that costs its readers one load: a thread copies the tick counter into a word every 5 ms.
#pragma once

#include <cstdint>

namespace lagwatch::trace {

// Thread safety: one thread at a time starts and stops; the word may be read by any, at any time.
class CoarseClock {
 public:
  static constexpr int64_t kPeriodNs = 5'000'000;

  // Writes the tick counter, without its lowest kCoarseShift bits, to the lower half of `*word` (borrowed
  // for ever), now and every period from now on. The upper half becomes that of `state`; once it is
  // changed elsewhere, the word is left alone. Returns false, and changes nothing, if no thread can be
  // started. Context: background.
  bool Start(uint64_t* word, uint64_t state);
  // Harmless when it was not started. Context: background.
  void Stop();
  // To be called in a child of fork(), which has a copy of the object but not the thread.
  void ForgetInChild() { ticker_ = nullptr; }

 private:
  struct Ticker;

  Ticker* ticker_ = nullptr;
};

}  // namespace lagwatch::trace
