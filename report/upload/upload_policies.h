// SPDX-License-Identifier: Apache-2.0
// The policies that decide which records of a spool are sent. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/upload/daily_quota.h"
#include "policies/upload/retention.h"
#include "policies/upload/user_sampling.h"

namespace lagwatch::report {

// Of traces, each user a day. A trace goes only where its report does, too.
struct TraceLimits {
  uint32_t per_day = policies::QuotaLimits::kNoLimit;
  uint32_t per_cause = policies::QuotaLimits::kNoLimit;  // of these
  uint32_t kib_per_day = policies::QuotaLimits::kNoLimit;
};

// Of reports of slow dispatches, each user a day; they leave the others their quota.
struct SlowLimits {
  uint32_t per_day = policies::QuotaLimits::kNoLimit;
  uint32_t per_cause = policies::QuotaLimits::kNoLimit;  // of these
};

// As it is, everything is.
struct UploadPolicies {
  policies::UserSampling sampling = {.rate_ppm = policies::UserSampling::kAllPpm};
  policies::QuotaLimits quota = {.per_day = policies::QuotaLimits::kNoLimit,
                                 .per_cluster = policies::QuotaLimits::kNoLimit};
  TraceLimits traces = {};
  SlowLimits slow = {};
  // All of this user's is sent, past sampling and quota.
  bool is_forced = false;
  std::string user = {};
  bool is_on_hold = false;     // nothing is sent or decided for now
  bool is_turned_off = false;  // nothing is
  // Limits of waiting records: older reports are not sent, and of too many the least important are not.
  policies::RetentionLimits retention = {.longest_ms = INT64_MAX, .total_bytes = UINT64_MAX};
  // Losses go along with reports, or by themselves when they have waited for so long.
  int64_t losses_wait_ms = 3'600'000;

  // `since_wall_ms`: of UploadLedger::LossesWaitSince.
  bool AreLossesDue(std::optional<int64_t> since_wall_ms, int64_t now_wall_ms) const {
    if (is_turned_off || !since_wall_ms) return false;
    // A clock that was set back makes nothing wait for years.
    return *since_wall_ms > now_wall_ms || now_wall_ms - *since_wall_ms >= losses_wait_ms;
  }
};

}  // namespace lagwatch::report
