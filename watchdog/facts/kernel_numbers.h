// SPDX-License-Identifier: Apache-2.0
// Numbers in the kernel's small files, as facts. Context: watchdog.
#pragma once

#include <cstdint>
#include <string_view>

#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

inline constexpr int64_t kNotKnown = -1;

// Leaves out what is not known.
void AddIfKnown(const char* name, int64_t number, FactList* facts);

// The number at the begin of `text`, behind blanks and tabs.
int64_t NumberOf(std::string_view text);
// Of the line of `lines` that begins with `key`.
int64_t NumberAfter(std::string_view lines, std::string_view key);
// "12.34" is 12340 with a `scale` of 1000: so many make 1.
int64_t DecimalOf(std::string_view text, int64_t scale);

// The names of a resource's facts; null: it has none of that kind.
struct PressureFacts {
  const char* some;
  const char* full;
};
// The share of the last 10 s in which some, or all, of the work waited for the resource, by a file of
// pressure: of the machine's or of a control group's work.
void AddPressure(const char* path, PressureFacts names, FactList* facts);

}  // namespace lagwatch::watchdog
