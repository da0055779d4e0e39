// SPDX-License-Identifier: Apache-2.0
// Selects the users who report on a day: a share of them, different ones each day, and the same ones at every
// start that day. Context: background; pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/hash.h"
#include "policies/options/option_table.h"

namespace lagwatch::policies {

// Days since 1970 in UTC, so that all users' days are equally long; also before 1970.
constexpr int64_t DayOf(int64_t wall_ms) {
  return wall_ms / base::kMsPerDay - (wall_ms % base::kMsPerDay < 0 ? 1 : 0);
}

struct UserSampling {
  static constexpr uint32_t kAllPpm = 1'000'000;

  // Of users; a report of one of them stands for kAllPpm / rate_ppm.
  uint32_t rate_ppm = OptionTable::user_rate_ppm.standard;
  uint64_t salt = 0;  // another one draws other users

  // `user` identifies a user, and is not empty.
  bool IsSampled(std::string_view user, int64_t day) const {
    const uint64_t word = Mix(base::HashWord(static_cast<uint64_t>(day), base::HashBytes(user, Mix(salt))));
    // The hash as a fraction of 2^64, in millionths: no user is a little more likely than another.
    const auto ppm = static_cast<uint64_t>((static_cast<unsigned __int128>(word) * kAllPpm) >> 64);
    return ppm < rate_ppm;
  }

 private:
  // The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): FNV-1a alone leaves the last
  // bytes' bits together.
  static constexpr uint64_t Mix(uint64_t word) {
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }
};

}  // namespace lagwatch::policies
