// SPDX-License-Identifier: Apache-2.0
// Parses durations of hangs in texts of Sentry's SDKs: "at least 2000 ms" during a hang, "between 2.0 and 2.3
// seconds" or "2150 ms" afterwards. Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lagwatch::collector {

struct HangTime {
  int64_t at_least_ns = 0;
  std::optional<int64_t> at_most_ns = std::nullopt;  // once it is over

  bool operator==(const HangTime&) const = default;
};

// The first time in `text`; nothing when there is none, or it is longer than a year.
std::optional<HangTime> FindHangTime(std::string_view text);

}  // namespace lagwatch::collector
