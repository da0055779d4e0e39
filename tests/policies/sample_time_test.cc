// SPDX-License-Identifier: Apache-2.0
#include "policies/sample_time.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/clock.h"

namespace lagwatch::policies {
namespace {

struct Sampled {
  int64_t ms;
  // A letter: that stack. '.': the thread did not answer. '!': no stack.
  char found;
  int64_t took_ms = 0;
};

// The time of each stack, in milliseconds.
std::map<char, int64_t> Weigh(const std::vector<Sampled>& samples) {
  SampleTime time;
  std::map<char, int64_t> spent;
  char earlier = '!';
  for (const auto& [ms, found, took_ms] : samples) {
    const SampleAnswer answer = found == '.'   ? SampleAnswer::kNoneYet
                                : found == '!' ? SampleAnswer::kNone
                                               : SampleAnswer::kStack;
    const SampleTime::Parts parts = time.Add(ms * base::kNsPerMs, (ms + took_ms) * base::kNsPerMs, answer);
    if (parts.earlier_ns != 0) spent[earlier] += parts.earlier_ns / base::kNsPerMs;
    if (answer != SampleAnswer::kStack) {
      EXPECT_EQ(parts.own_ns, 0);
    } else {
      spent[found] += parts.own_ns / base::kNsPerMs;
    }
    if (answer != SampleAnswer::kNoneYet) earlier = found;
  }
  return spent;
}

using Spent = std::map<char, int64_t>;

TEST(SampleTime, TheTimeBetweenTwoSamplesIsHalfEachs) {
  EXPECT_EQ(Weigh({{10, 'a'}}), (Spent{{'a', 0}}));
  EXPECT_EQ(Weigh({{10, 'a'}, {20, 'a'}, {30, 'b'}, {60, 'b'}}), (Spent{{'a', 15}, {'b', 35}}));
}

TEST(SampleTime, AThreadWithoutAProcessorIsWhereItAnswers) {
  EXPECT_EQ(Weigh({{10, 'a'}, {20, '.'}, {30, '.'}, {40, '.'}, {50, 'b'}}), (Spent{{'a', 5}, {'b', 35}}));
  EXPECT_EQ(Weigh({{10, '.'}, {90, 'a'}, {100, 'b'}}), (Spent{{'a', 85}, {'b', 5}}));
}

TEST(SampleTime, AThreadIsWhereItAnswersUntilItHas) {
  EXPECT_EQ(Weigh({{10, 'a', 60}, {76, 'b'}}), (Spent{{'a', 63}, {'b', 3}}));
  EXPECT_EQ(Weigh({{10, '.', 20}, {34, '.', 20}, {58, 'a', 50}, {116, '.'}, {174, 'b'}}),
            (Spent{{'a', 102}, {'b', 62}}));
}

TEST(SampleTime, AnAnswerThatNeverCameIsNobodys) {
  EXPECT_EQ(Weigh({{10, 'a'}, {20, 'a'}, {30, '.'}, {90, '.'}}), (Spent{{'a', 10}}));
  EXPECT_EQ(Weigh({{10, 'a'}, {20, '.'}, {90, '!'}}), (Spent{{'a', 5}}));
}

TEST(SampleTime, AFailureStandsForTimeOfItsOwn) {
  EXPECT_EQ(Weigh({{10, 'a'}, {20, '!'}, {30, '!'}, {40, '!'}, {50, 'b'}}), (Spent{{'a', 5}, {'b', 5}}));
}

TEST(SampleTime, ALongTimeWithoutSamplesWasNotLookedAt) {
  EXPECT_EQ(Weigh({{10, 'a'}, {60'010, 'b'}}), (Spent{{'a', 1000}, {'b', 1000}}));
  EXPECT_EQ(Weigh({{10, 'a'}, {20, '.'}, {60'020, 'b'}}), (Spent{{'a', 5}, {'b', 60'005}}));
}

}  // namespace
}  // namespace lagwatch::policies
