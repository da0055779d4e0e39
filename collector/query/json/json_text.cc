// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/json_text.h"

#include <cmath>

#include "base/text.h"

namespace lagwatch::collector {
namespace {

using nlohmann::json;

// Looks through a text without keeping anything of it: false ends the parsing.
class Measure final : public nlohmann::json_sax<json> {
 public:
  explicit Measure(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(number_integer_t) override { return Count(); }
  bool number_unsigned(number_unsigned_t) override { return Count(); }
  bool number_float(number_float_t, const string_t&) override { return Count(); }
  bool string(string_t&) override { return Count(); }
  bool binary(binary_t&) override { return Count(); }
  bool key(string_t&) override { return Count(); }
  bool start_object(size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    is_malformed_ = true;
    return false;
  }
  bool is_malformed() const { return is_malformed_; }

 private:
  bool Count() { return ++values_ <= limits_.values; }
  bool Open() { return ++depth_ <= limits_.depth && Count(); }
  bool Close() {
    --depth_;
    return true;
  }

  const JsonLimits& limits_;
  size_t values_ = 0;
  size_t depth_ = 0;
  bool is_malformed_ = false;
};

}  // namespace

base::Result<json> ParseBoundedJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.size_bytes) {
    return Status(StatusCode::kTooLarge,
                  "a JSON text has more than " + std::to_string(limits.size_bytes) + " bytes");
  }
  Measure measure(limits);
  if (!json::sax_parse(text, &measure, json::input_format_t::json, /*strict=*/true, limits.has_comments)) {
    if (measure.is_malformed()) return Status(StatusCode::kInvalid, "a JSON text is malformed");
    return Status(StatusCode::kTooLarge, "a JSON text holds too many values, or too many in each other");
  }
  return json::parse(text, nullptr, /*allow_exceptions=*/true, limits.has_comments);
}

std::string JsonText(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json ParseJson(std::string_view text) {
  const JsonLimits limits{.size_bytes = SIZE_MAX, .values = 1'000'000, .has_comments = true};
  auto json = ParseBoundedJson(text, limits);
  return json.ok() ? Json(*std::move(json)) : Json(Json::value_t::discarded);
}

Json WithOldNames(Json json, std::initializer_list<std::pair<const char*, const char*>> names) {
  for (const auto& [name, old] : names) json[old] = Json(json.at(name));
  return json;
}

double ToMs(double ns) { return std::round(ns / 1000) / 1000; }

Json CauseKeyJson(int64_t cause) {
  return cause == 0 ? Json() : Json(base::ToHex(static_cast<uint64_t>(cause)));
}

}  // namespace lagwatch::collector
