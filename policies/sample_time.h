// SPDX-License-Identifier: Apache-2.0
// Divides a thread's time among the stacks that samples of it found. Context: watchdog; pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace lagwatch::policies {

enum class SampleAnswer : uint8_t {
  kStack,
  kNoneYet,  // the thread did not answer: it has not returned to the program since
  kNone,     // no stack for another reason: the thread may be anywhere
};

// Samples are added in the order of time. The time between two of them is half the one's and half the
// other's. A thread without a processor does not answer before it gets one, and has been all the while where
// its answer finds it: on a busy machine that is most of the time, in the fewest of the samples.
class SampleTime {
 public:
  struct Parts {
    int64_t earlier_ns = 0;  // of the sample before, which found a stack unless this is 0
    int64_t own_ns = 0;
  };

  // The parts that a sample adds for which the thread was asked at `mono_ns` (> 0), and in whose stack it was
  // until `found_ns` (>= `mono_ns`) at least.
  Parts Add(int64_t mono_ns, int64_t found_ns, SampleAnswer answer) {
    if (asked_ns_ == 0) asked_ns_ = mono_ns;
    if (answer == SampleAnswer::kNoneYet) return {};
    const int64_t asked_ns = std::exchange(asked_ns_, 0);
    const int64_t between_ns = last_ns_ == 0 ? 0 : std::clamp<int64_t>(asked_ns - last_ns_, 0, kLongestNs);
    last_ns_ = found_ns;
    const bool has_earlier = std::exchange(has_stack_, answer == SampleAnswer::kStack);
    return {.earlier_ns = has_earlier ? between_ns / 2 : 0,
            .own_ns = has_stack_ ? between_ns / 2 + found_ns - asked_ns : 0};
  }

 private:
  // More than that between two samples was not looked at.
  static constexpr int64_t kLongestNs = 2'000'000'000;

  int64_t last_ns_ = 0;   // the end of the last sample that did not wait for an answer; 0: there is none
  int64_t asked_ns_ = 0;  // of the first that waits for the answer; 0: none does
  bool has_stack_ = false;
};

}  // namespace lagwatch::policies
