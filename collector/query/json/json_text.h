// SPDX-License-Identifier: Apache-2.0
// Writes the API's JSON. Context: background; pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lagwatch::collector {

using Json = nlohmann::ordered_json;

// Texts from clients may be invalid UTF-8, which is replaced by U+FFFD.
std::string JsonText(const Json& value);

// Parses JSON from outside, comments allowed; a discarded value when it is malformed, has more than 64
// levels or a million values. Keys come sorted: to keep their order takes Json a time that grows with the
// square of their number.
Json ParseJson(std::string_view text);

// A duration in milliseconds with three decimals at most.
double ToMs(double ns);

// 16 hexadecimal digits; null when the cause is not known.
Json CauseKeyJson(int64_t cause);

}  // namespace lagwatch::collector
