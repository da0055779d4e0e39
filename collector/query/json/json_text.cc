// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/json_text.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "collector/query/json/bounded_json.h"

namespace lagwatch::collector {

std::string JsonText(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json ParseJson(std::string_view text) {
  const JsonLimits limits{.size_bytes = SIZE_MAX, .values = 1'000'000, .has_comments = true};
  auto json = ParseBoundedJson(text, limits);
  return json.ok() ? Json(*std::move(json)) : Json(Json::value_t::discarded);
}

double ToMs(double ns) { return std::round(ns / 1000) / 1000; }

Json CauseKeyJson(int64_t cause) {
  if (cause == 0) return {};
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, static_cast<uint64_t>(cause));
  return digits;
}

}  // namespace lagwatch::collector
