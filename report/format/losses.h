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

enum class LossReason : int32_t {
#define LOSS_REASON(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};
inline constexpr int32_t kLastLossReason = 0
#define LOSS_REASON(...) +1
#include "policies/report_enums.def"
                                           - 1;

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

// "not-sampled" …, as in JSON.
std::string_view LossReasonName(LossReason reason);

}  // namespace lagwatch::report
