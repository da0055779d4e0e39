// SPDX-License-Identifier: Apache-2.0
// The time of an event, and a report id that is the same each time: an event that is sent twice is stored
// once. Context: background; pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/uuid.h"

namespace lagwatch::collector {

// From 1970 on: seconds as a number, or a text as in RFC 3339, of UTC. Nothing when it is neither.
std::optional<int64_t> EventWallMs(const nlohmann::json& event);
// 32 hexadecimal digits, hyphens or not.
std::optional<base::Uuid> ParseEventId(std::string_view text);
// A UUID of version 7 of that time; the rest is from the event's id.
base::Uuid ReportIdOf(int64_t wall_ms, const base::Uuid& event_id);

}  // namespace lagwatch::collector
