// SPDX-License-Identifier: Apache-2.0
#include "report/probes/probe_result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
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
constexpr size_t kMaxBuckets = 256;

std::string DumpOf(const ProbeJson& json) {
  return json.dump(-1, ' ', false, ProbeJson::error_handler_t::replace);
}

ProbeJson NumberJson(double number) {
  constexpr double kWhole = 9e15;
  if (!std::isfinite(number)) return nullptr;
  if (std::abs(number) < kWhole && number == std::trunc(number)) return static_cast<int64_t>(number);
  return number;
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

std::string TextOf(const ProbeJson& json, const char* name, size_t most = kMaxNameBytes) {
  auto text = json.at(name).get<std::string>();
  if (text.size() > most) Refuse(std::string(name) + " is too long");
  return text;
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

ProbeRow RowOf(const ProbeTable& table, const ProbeJson& json) {
  ProbeRow row{.count = json.at("count").get<uint64_t>()};
  for (const ProbeJson& part : json.at("key")) row.key.push_back(KeyPartOf(part));
  if (row.key.size() != table.keys.size()) Refuse("a key has another number of parts than the table's");
  if (json.contains("value") && !json["value"].is_null()) row.value = json["value"].get<double>();
  if (!json.contains("buckets")) return row;
  if (json["buckets"].size() > kMaxBuckets) Refuse("a histogram has too many buckets");
  for (const ProbeJson& bucket : json["buckets"]) {
    ProbeBucket read{.from = std::nullopt, .count = bucket.at("count").get<uint64_t>()};
    if (!bucket.at("from").is_null()) read.from = bucket["from"].get<int64_t>();
    row.buckets.push_back(read);
  }
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
  if (json.at("keys").size() > ProbeResult::kMaxKeyParts) Refuse("a table has too many keys");
  for (const ProbeJson& key : json.at("keys")) table.keys.push_back(key.get<std::string>());
  if (json.at("rows").size() > ProbeResult::kMaxRows) Refuse("a table has too many rows");
  for (const ProbeJson& row : json.at("rows")) table.rows.push_back(RowOf(table, row));
  return table;
}

ProbeResult ResultOf(const ProbeJson& json) {
  ProbeResult result{.script = TextOf(json, "script"),
                     .name = TextOf(json, "name"),
                     .refusal = TextOf(json, "refusal"),
                     .functions = json.at("functions").get<uint64_t>(),
                     .hits = json.at("hits").get<uint64_t>(),
                     .left_out = json.at("left_out").get<uint64_t>(),
                     .missed = json.at("missed").get<uint64_t>(),
                     .is_off = json.at("is_off").get<bool>(),
                     .tables = {}};
  if (!IsScriptHash(result.script)) Refuse("script is no hash");
  if (json.at("tables").size() > ProbeResult::kMaxTables) Refuse("it has too many tables");
  for (const ProbeJson& table : json.at("tables")) result.tables.push_back(TableOf(table));
  return result;
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

void AddBuckets(const std::vector<ProbeBucket>& added, std::vector<ProbeBucket>* sums) {
  for (const ProbeBucket& bucket : added) {
    const auto place = std::ranges::lower_bound(*sums, bucket.from, {}, &ProbeBucket::from);
    if (place != sums->end() && place->from == bucket.from)
      place->count += bucket.count;
    else
      sums->insert(place, bucket);
  }
}

void AddRow(const std::string& kind, const ProbeRow& added, ProbeRow* sum) {
  sum->count += added.count;
  if (kind == "min")
    sum->value = std::min(sum->value, added.value);
  else if (kind == "max")
    sum->value = std::max(sum->value, added.value);
  else
    sum->value += added.value;
  AddBuckets(added.buckets, &sum->buckets);
}

void AddRows(const ProbeTable& added, ProbeTable* sum) {
  std::map<std::vector<std::string>, size_t> places;
  for (size_t i = 0; i < sum->rows.size(); ++i) places.emplace(sum->rows[i].key, i);
  for (const ProbeRow& row : added.rows) {
    const auto [place, is_new] = places.emplace(row.key, sum->rows.size());
    if (is_new) {
      sum->rows.push_back(row);
      std::ranges::sort(sum->rows.back().buckets, {}, &ProbeBucket::from);
    } else {
      AddRow(sum->kind, row, &sum->rows[place->second]);
    }
  }
}

double WeightOfRow(const std::string& kind, const ProbeRow& row) {
  if (kind == "count" || kind == "histogram") return static_cast<double>(row.count);
  if (kind != "avg") return row.value;
  return row.count == 0 ? 0 : row.value / static_cast<double>(row.count);
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
  const std::string text = LAGWATCH_TRY(base::Gunzip(packed, ProbeResult::kMaxUnpackedBytes));
  if (DepthOf(text) > kMaxDepth)
    return base::Status(base::StatusCode::kTooLarge, "the result of a probe has too many levels");
  try {
    return ResultOf(ProbeJson::parse(text));
  } catch (const ProbeJson::exception& error) {
    return base::Status(base::StatusCode::kInvalid, std::string("the result of a probe: ") + error.what());
  } catch (const std::invalid_argument& error) {
    return base::Status(base::StatusCode::kInvalid, std::string("the result of a probe: ") + error.what());
  }
}

void AddProbeTables(const std::vector<ProbeTable>& added, std::vector<ProbeTable>* sums) {
  for (const ProbeTable& table : added) {
    const auto same = std::ranges::find_if(*sums, [&](const ProbeTable& each) {
      return each.name == table.name && each.kind == table.kind && each.unit == table.unit &&
             each.keys == table.keys;
    });
    ProbeTable* sum = same == sums->end() ? nullptr : &*same;
    if (sum == nullptr) {
      sums->push_back(table);
      sums->back().rows.clear();
      sum = &sums->back();
    }
    sum->is_at_least |= table.is_at_least;
    AddRows(table, sum);
  }
}

void SortProbeRows(ProbeTable* table) {
  const bool is_minimum = table->kind == "min";
  std::ranges::stable_sort(table->rows, [&](const ProbeRow& one, const ProbeRow& other) {
    const double weight = WeightOfRow(table->kind, one);
    const double other_weight = WeightOfRow(table->kind, other);
    return is_minimum ? weight < other_weight : weight > other_weight;
  });
}

std::string FoldedProbeStacks(const std::vector<ProbeTable>& tables) {
  std::string lines;
  for (const ProbeTable& table : tables) {
    for (const ProbeRow& row : table.rows) {
      const auto stack =
          std::ranges::find_if(row.key, [](const std::string& part) { return part.starts_with('['); });
      if (stack == row.key.end()) continue;
      std::string line;
      const ProbeJson frames = ProbeJson::parse(*stack, nullptr, false);
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        auto name = frame->get<std::string>();
        std::ranges::replace(name, ';', ':');
        std::ranges::replace(name, '\n', ' ');
        line += (line.empty() ? "" : ";") + name;
      }
      lines += (line.empty() ? "(no stack)" : line) + ' ' + DumpOf(NumberJson(WeightOfRow(table.kind, row))) +
               '\n';
    }
  }
  return lines;
}

std::string ProbeTableJson(const ProbeTable& table) { return DumpOf(TableJson(table)); }

}  // namespace lagwatch::report
