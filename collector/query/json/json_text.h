// SPDX-License-Identifier: Apache-2.0
// Writes the API's JSON, and parses JSON from outside within limits of memory and of the stack.
// Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace lagwatch::collector {

using Json = nlohmann::ordered_json;

// Texts from clients may be invalid UTF-8, which is replaced by U+FFFD.
std::string JsonText(const Json& value);

struct JsonLimits {
  size_t size_bytes = 1 << 20;
  size_t depth = 64;          // objects and arrays in each other
  size_t values = 250'000;    // in all, keys too
  bool has_comments = false;  // are allowed
};

// Errors: kInvalid when it is no JSON in UTF-8; kTooLarge over a limit.
base::Result<nlohmann::json> ParseBoundedJson(std::string_view text, const JsonLimits& limits = {});

// The same with comments; a discarded value when it is malformed, has more than 64 levels or a million
// values. Keys come sorted: to keep their order takes Json a time that grows with the square of their number.
Json ParseJson(std::string_view text);

// Adds members under their old names, which are deprecated: {{new, old}, …}.
Json WithOldNames(Json json, std::initializer_list<std::pair<const char*, const char*>> names);

// A duration in milliseconds with three decimals at most.
double ToMs(double ns);

// 16 hexadecimal digits; null when the cause is not known.
Json CauseKeyJson(int64_t cause);

// A list of the API as CSV (RFC 4180), for spreadsheets.
// An array of objects, a line each. The columns are the keys of all of them, in the order of their first
// appearance; those of an object within are "outer.inner". Arrays of texts are joined by " < " as stacks are
// shown, other arrays are left out. A text that a spreadsheet would take for a formula gets a "'" in front.
std::string CsvText(const Json& array);

}  // namespace lagwatch::collector
