// SPDX-License-Identifier: Apache-2.0
// Reports that were made and are not sent, counted. Context: background.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"

namespace lagwatch::report {

// lagwatch.proto describes them.
enum class LossReason : int32_t {
  kUnknown = 0,
  kNotSampled = 1,
  kDayIsFull = 2,
  kCauseIsFull = 3,
  kTooOld = 4,
  kTooMuch = 5,
  kRefused = 6,
  kDamaged = 7,
  kTurnedOff = 8,
};
inline constexpr int32_t kLastLossReason = 8;

// Reports, by LossReason.
using LossCounts = std::array<uint64_t, kLastLossReason + 1>;

struct Loss {
  LossReason reason = LossReason::kUnknown;
  uint64_t cause = 0;  // see Report::cause
  uint64_t count = 0;
  uint32_t sample_rate_ppm = 0;  // of users; 0: all

  bool operator==(const Loss&) const = default;
};

struct Losses {
  base::Uuid id = {};
  std::string app = {};
  std::string app_version = {};
  std::string user = {};
  uint64_t begin_wall_ms = 0;
  uint64_t end_wall_ms = 0;
  std::vector<Loss> losses = {};

  bool operator==(const Losses&) const = default;
};

std::string EncodeLosses(const Losses& losses);
// Errors: kInvalid. A reason that is not known here is read as kUnknown.
base::Result<Losses> DecodeLosses(std::string_view bytes);

// "not-sampled", "day-is-full", "cause-is-full", "too-old", "too-much", "refused",
// "damaged", "turned-off", "unknown".
std::string_view LossReasonName(LossReason reason);

}  // namespace lagwatch::report
