// SPDX-License-Identifier: Apache-2.0
#include "report/probes/probe_result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/gzip/gzip.h"
#include "report/probes/script_allowlist.h"

namespace lagwatch::report {
namespace {

using ProbeJson = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kTableKinds = {"count", "sum", "min", "max", "avg", "histogram"};
constexpr size_t kMaxNameBytes = 512;
constexpr size_t kMaxKeyBytes = 32 * 1024;  // of a part, as JSON
constexpr size_t kMaxDepth = 12;

std::string DumpOf(const ProbeJson& json) {
  return json.dump(-1, ' ', false, ProbeJson::error_handler_t::replace);
}

ProbeJson NumberJson(std::optional<double> number) {
  constexpr double kWhole = 9e15;
  if (!number || !std::isfinite(*number)) return nullptr;
  if (std::abs(*number) < kWhole && *number == std::trunc(*number)) return static_cast<int64_t>(*number);
  return *number;
}

ProbeJson RowJson(const ProbeTable& table, const ProbeRow& row) {
  ProbeJson key = ProbeJson::array();
  for (const std::string& part : row.key) key.push_back(ProbeJson::parse(part, nullptr, false));
  ProbeJson json{{"key", std::move(key)}, {"count", row.count}};
  if (table.kind != "count" && table.kind != "histogram") json["value"] = NumberJson(row.value);
  if (table.kind != "histogram") return json;
  ProbeJson buckets = ProbeJson::array();
  for (const ProbeBucket& bucket : row.buckets)
    buckets.push_back(
        {{"from", bucket.from ? ProbeJson(*bucket.from) : ProbeJson()}, {"count", bucket.count}});
  json["buckets"] = std::move(buckets);
  return json;
}

ProbeJson TableJson(const ProbeTable& table) {
  ProbeJson rows = ProbeJson::array();
  for (const ProbeRow& row : table.rows) rows.push_back(RowJson(table, row));
  return {{"name", table.name}, {"kind", table.kind},
          {"unit", table.unit}, {"is_at_least", table.is_at_least},
          {"keys", table.keys}, {"rows", std::move(rows)}};
}

// Throws what is malformed, as nlohmann::json does.
[[noreturn]] void Refuse(const std::string& why) { throw std::invalid_argument(why); }

std::string ShortText(const ProbeJson& json, const std::string& name) {
  auto text = json.get<std::string>();
  if (text.size() > kMaxNameBytes) Refuse(name + " is too long");
  return text;
}

std::string TextOf(const ProbeJson& json, const char* name) { return ShortText(json.at(name), name); }

uint64_t CountOf(const ProbeJson& json, const char* name) {
  const ProbeJson& number = json.at(name);
  if (!number.is_number_unsigned() || number.get<uint64_t>() > ProbeResult::kMaxCount)
    Refuse(std::string(name) + " is no whole number from 0 to 2^53");
  return number.get<uint64_t>();
}

const ProbeJson& ArrayOf(const ProbeJson& json, const char* name, size_t most) {
  const ProbeJson& array = json.at(name);
  if (!array.is_array()) Refuse(std::string(name) + " is no array");
  if (array.size() > most) Refuse("there are too many " + std::string(name));
  return array;
}

// A number, a text, null, or an array of texts.
std::string KeyPartOf(const ProbeJson& part) {
  const bool is_scalar = part.is_number() || part.is_string() || part.is_null();
  const bool is_stack =
      part.is_array() && std::ranges::all_of(part, [](const ProbeJson& each) { return each.is_string(); });
  if (!is_scalar && !is_stack) Refuse("a key is neither a number, a text nor a stack");
  std::string text = DumpOf(part);
  if (text.size() > kMaxKeyBytes) Refuse("a key is too long");
  return text;
}

std::optional<double> ValueOf(const ProbeJson& json) {
  const auto value = json.find("value");
  if (value == json.end() || value->is_null()) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) Refuse("a value is no finite number");
  return value->get<double>();
}

ProbeBucket BucketOf(const ProbeJson& json) {
  ProbeBucket bucket{.from = std::nullopt, .count = CountOf(json, "count")};
  const ProbeJson& from = json.at("from");
  if (from.is_null()) return bucket;
  const bool is_too_large = from.is_number_unsigned() && from.get<uint64_t>() > INT64_MAX;
  if (!from.is_number_integer() || is_too_large) Refuse("a bucket begins at no whole number of 64 bits");
  bucket.from = from.get<int64_t>();
  return bucket;
}

ProbeRow RowOf(const ProbeTable& table, const ProbeJson& json) {
  ProbeRow row{.count = CountOf(json, "count"), .value = ValueOf(json)};
  for (const ProbeJson& part : ArrayOf(json, "key", ProbeResult::kMaxKeyParts))
    row.key.push_back(KeyPartOf(part));
  if (row.key.size() != table.keys.size()) Refuse("a key has another number of parts than the table's");
  if (!json.contains("buckets")) return row;
  for (const ProbeJson& bucket : ArrayOf(json, "buckets", ProbeResult::kMaxBuckets))
    row.buckets.push_back(BucketOf(bucket));
  return row;
}

ProbeTable TableOf(const ProbeJson& json) {
  ProbeTable table{.name = TextOf(json, "name"),
                   .kind = TextOf(json, "kind"),
                   .unit = TextOf(json, "unit"),
                   .is_at_least = json.at("is_at_least").get<bool>(),
                   .keys = {},
                   .rows = {}};
  if (std::ranges::find(kTableKinds, table.kind) == kTableKinds.end()) Refuse("a table is of no known kind");
  for (const ProbeJson& key : ArrayOf(json, "keys", ProbeResult::kMaxKeyParts))
    table.keys.push_back(ShortText(key, "a key's name"));
  for (const ProbeJson& row : ArrayOf(json, "rows", ProbeResult::kMaxRows))
    table.rows.push_back(RowOf(table, row));
  return table;
}

ProbeResult HeaderOf(const ProbeJson& json) {
  ProbeResult result{.script = TextOf(json, "script"),
                     .name = TextOf(json, "name"),
                     .refusal = TextOf(json, "refusal"),
                     .functions = CountOf(json, "functions"),
                     .hits = CountOf(json, "hits"),
                     .left_out = CountOf(json, "left_out"),
                     .missed = CountOf(json, "missed"),
                     .is_off = json.at("is_off").get<bool>(),
                     .tables = {}};
  if (!IsScriptHash(result.script)) Refuse("script is no hash");
  return result;
}

ProbeResult ResultOf(const ProbeJson& json) {
  ProbeResult result = HeaderOf(json);
  for (const ProbeJson& table : ArrayOf(json, "tables", ProbeResult::kMaxTables))
    result.tables.push_back(TableOf(table));
  return result;
}

bool IsNotTheTables(int depth, ProbeJson::parse_event_t event, ProbeJson& parsed) {
  return depth != 1 || event != ProbeJson::parse_event_t::key || parsed != "tables";
}

// Depth of arrays and objects in each other, by brackets outside of texts: an untrusted text must not use up
// the stack.
size_t DepthOf(std::string_view text) {
  size_t depth = 0;
  size_t most = 0;
  bool is_in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (is_in_text && letter == '\\')
      ++i;
    else if (letter == '"')
      is_in_text = !is_in_text;
    else if (!is_in_text && (letter == '[' || letter == '{'))
      most = std::max(most, ++depth);
    else if (!is_in_text && (letter == ']' || letter == '}') && depth > 0)
      --depth;
  }
  return most;
}

// Unpacks what `read` returns for the text. Errors: those of UnpackProbeResult().
template <typename Read>
base::Result<ProbeResult> Unpack(std::string_view packed, Read read) {
  const std::string text = LAGWATCH_TRY(base::Gunzip(packed, ProbeResult::kMaxUnpackedBytes));
  if (DepthOf(text) > kMaxDepth)
    return base::Status(base::StatusCode::kTooLarge, "the result of a probe has too many levels");
  try {
    return read(text);
  } catch (const ProbeJson::exception& error) {
    return base::Status(base::StatusCode::kInvalid, std::string("the result of a probe: ") + error.what());
  } catch (const std::invalid_argument& error) {
    return base::Status(base::StatusCode::kInvalid, std::string("the result of a probe: ") + error.what());
  }
}

}  // namespace

std::string PackProbeResult(const ProbeResult& result) {
  ProbeJson tables = ProbeJson::array();
  for (const ProbeTable& table : result.tables) tables.push_back(TableJson(table));
  return base::Gzip(DumpOf({{"script", result.script},
                            {"name", result.name},
                            {"refusal", result.refusal},
                            {"functions", result.functions},
                            {"hits", result.hits},
                            {"left_out", result.left_out},
                            {"missed", result.missed},
                            {"is_off", result.is_off},
                            {"tables", std::move(tables)}}));
}

base::Result<ProbeResult> UnpackProbeResult(std::string_view packed) {
  return Unpack(packed, [](const std::string& text) { return ResultOf(ProbeJson::parse(text)); });
}

base::Result<ProbeResult> UnpackProbeHeader(std::string_view packed) {
  return Unpack(packed,
                [](const std::string& text) { return HeaderOf(ProbeJson::parse(text, IsNotTheTables)); });
}

std::optional<double> NumberOfRow(const std::string& kind, const ProbeRow& row) {
  if (kind == "count" || kind == "histogram") return static_cast<double>(row.count);
  if (kind != "avg" || !row.value) return row.value;
  return row.count == 0 ? std::nullopt : std::optional(*row.value / static_cast<double>(row.count));
}

std::string FoldedProbeStacks(const std::vector<ProbeTable>& tables) {
  std::string lines;
  for (const ProbeTable& table : tables) {
    for (const ProbeRow& row : table.rows) {
      const auto stack =
          std::ranges::find_if(row.key, [](const std::string& part) { return part.starts_with('['); });
      const auto number = NumberOfRow(table.kind, row);
      if (stack == row.key.end() || !number) continue;
      std::string line;
      const ProbeJson frames = ProbeJson::parse(*stack, nullptr, false);
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        auto name = frame->get<std::string>();
        std::ranges::replace(name, ';', ':');
        std::ranges::replace(name, '\n', ' ');
        line += (line.empty() ? "" : ";") + name;
      }
      lines += (line.empty() ? "(no stack)" : line) + ' ' + DumpOf(NumberJson(number)) + '\n';
    }
  }
  return lines;
}

std::string ProbeTableJson(const ProbeTable& table) { return DumpOf(TableJson(table)); }

}  // namespace lagwatch::report
