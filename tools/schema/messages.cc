// SPDX-License-Identifier: Apache-2.0
#include "tools/schema/messages.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "collector/store/rows/report_row.h"
#include "collector/store/rows/trace_row.h"
#include "report/format/field_tables.h"

namespace lagwatch::tools {
namespace {

// The form of a field on the wire and in JSON.
struct Kind {
  std::string type;
  char letter = ' ';
  Json schema = "count";
  bool is_plus_one = false;
};

const char* EnumName(policies::HangKind) { return "Kind"; }
const char* EnumName(policies::HangLevel) { return "Level"; }
const char* EnumName(policies::LockKind) { return "LockKind"; }
const char* EnumName(policies::WaitsFor) { return "WaitsFor"; }
const char* EnumName(policies::WaitOutcome) { return "WaitOutcome"; }
const char* EnumName(policies::ExitReason) { return "ExitReason"; }
const char* EnumName(policies::SuppressedReason) { return "SuppressedReason"; }
const char* EnumName(policies::VerdictWord) { return "VerdictWord"; }
const char* EnumName(report::LossReason) { return "LossReason"; }

template <typename Table, typename Part>
std::vector<FieldRow> RowsOf(const Table& table, Part& part);
template <typename Part>
Kind KindOf(std::vector<Part>&);

Kind KindOf(std::string&) { return {"string", 't', "text"}; }
Kind KindOf(char&) { return {"string", 't', "text"}; }
Kind KindOf(bool&) { return {"bool", ' ', "bool"}; }
Kind KindOf(base::Uuid&) { return {"bytes", 'i', "id"}; }
template <std::integral Number>
Kind KindOf(Number&) {
  return {sizeof(Number) == sizeof(uint64_t) ? "uint64" : "uint32", ' ', "count"};
}
template <typename Value>
requires std::is_enum_v<Value> Kind KindOf(Value& value) {
  return {EnumName(value), ' ', std::string("@") + EnumName(value)};
}
template <size_t kCount>
Kind KindOf(std::array<uint64_t, kCount>&) {
  return {"repeated uint64", 'p', "[count]"};
}
Kind KindOf(policies::DurationHistogram&) { return {"repeated uint64", 'p', "[count]"}; }
template <typename Value>
Kind KindOf(report::Always<Value> value) {
  return KindOf(value.number);
}
template <typename Value>
Kind KindOf(report::PlusOne<Value> value) {
  Kind kind = KindOf(value.number);
  kind.schema = kind.schema.get<std::string>() + "?";
  kind.is_plus_one = true;
  return kind;
}
template <typename Value>
Kind KindOf(report::Fixed<Value>) {
  return {"fixed64", 'f', "count"};
}
template <typename Value>
Kind KindOf(report::Signed<Value>) {
  return {"int64", ' ', "integer"};
}
template <typename Value>
Kind KindOf(report::Bytes<Value>) {
  return {"bytes", 't', "text"};
}
template <report::HasFields Part>
Kind KindOf(Part&) {
  const std::string name(report::MessageOf<Part>::kName);
  return {name, 's', {{"table", name}}};
}
template <typename Part, typename Table>
Kind KindOf(report::Within<Part, Table> within) {
  const std::string name(within.message);
  return {name, 's', {{"table", name}}};
}
template <typename Part>
Kind KindOf(std::vector<Part>&) {
  const std::string name(report::MessageOf<Part>::kName);
  return {"repeated " + name, 'm', Json::array({{{"table", name}}})};
}

bool IsNs(std::string_view name) { return name.ends_with("_ns"); }

// The key in JSON: "elapsed_ns" is "elapsed_ms" there.
std::string KeyOf(const report::Field& field) {
  if (field.json == report::kByHand) return "";
  if (!field.json.empty()) return std::string(field.json);
  std::string key(field.name);
  if (IsNs(key)) key.replace(key.size() - 2, 2, "ms");
  return key;
}

Json Described(Json schema, std::string_view name, std::string_view help) {
  if (!schema.is_string()) return schema;
  auto text = schema.get<std::string>();
  if (IsNs(name)) text = "ms";
  if (name.ends_with("_wall_ms")) text = "time_ms";
  return help.empty() ? text : text + ": " + std::string(help);
}

template <typename Table, typename Part>
std::vector<FieldRow> RowsOf(const Table& table, Part& part) {
  std::vector<FieldRow> rows;
  table(part, [&rows](const report::Field& field, auto&& member) {
    const Kind kind = KindOf(member);
    rows.push_back({field.number, kind.type, std::string(field.name), std::string(field.help), kind.letter,
                    kind.is_plus_one, KeyOf(field), Described(kind.schema, field.name, field.help)});
    return false;
  });
  std::ranges::stable_sort(rows, {}, &FieldRow::number);
  return rows;
}

template <typename Part>
MessageRow RowOf() {
  Part part{};
  return {std::string(report::MessageOf<Part>::kName), RowsOf(report::MessageOf<Part>::kTable, part)};
}

template <typename Record, typename Table>
MessageRow RecordRow(const char* name, const Table& table) {
  Record record{};
  return {name, RowsOf(table, record)};
}

template <typename Value>
Json ColumnSchema(std::string_view key, collector::JsonForm form) {
  using enum collector::JsonForm;
  std::string schema = "text";
  if constexpr (std::is_same_v<Value, int64_t>) schema = "count";
  if constexpr (std::is_same_v<Value, base::Uuid>) schema = "id";
  if (key.ends_with("_wall_ms")) schema = "time_ms";
  if (form == kMs) schema = "ms";
  if (form == kCauseKey) schema = "key?";
  if (form == kNullIfZero) schema += "?";
  return schema;
}

template <typename Columns>
std::vector<FieldRow> ColumnRows(const Columns& columns) {
  std::vector<FieldRow> rows;
  collector::ForEachColumn(columns, [&](const auto& column) {
    const collector::JsonField& json = column.json;
    if (json.form == collector::JsonForm::kNone) return;
    FieldRow row;
    row.json = std::string(json.group) + (json.group.empty() ? "" : ".") + std::string(json.key);
    row.schema = ColumnSchema<typename std::remove_cvref_t<decltype(column)>::ValueType>(json.key, json.form);
    rows.push_back(std::move(row));
  });
  return rows;
}

std::vector<MessageRow> MakeMessages() {
  report::Report report;
  std::vector<MessageRow> messages = {
      RecordRow<report::Report>("Report", report::kReportTable),
      {"Cpu", RowsOf(report::kCpuTable, report)},
      RowOf<report::Module>(),
      RowOf<report::Sample>(),
      RowOf<report::Thread>(),
      RowOf<report::Wait>(),
      RowOf<policies::Verdict>(),
      RowOf<policies::DiscountedTime>(),
      RowOf<report::PastDispatch>(),
      RowOf<report::Fact>(),
      RowOf<report::Symbol>(),
      RecordRow<report::HangEnd>("HangEnd", report::kHangEndTable),
      RecordRow<report::RunEnd>("RunEnd", report::kRunEndTable),
      RecordRow<report::FrameSlice>("FrameSlice", report::kFrameSliceTable),
      RecordRow<report::Usage>("Usage", report::kUsageTable),
      RowOf<report::LoopUsage>(),
      RowOf<report::SlowTag>(),
      RowOf<report::ValueUsage>(),
      RowOf<report::Suppressed>(),
      RecordRow<report::Losses>("Losses", report::kLossesTable),
      RowOf<report::Loss>(),
      RecordRow<report::TraceRecord>("TraceRecord", report::kTraceRecordTable)};
  return messages;
}

}  // namespace

const std::vector<MessageRow>& Messages() {
  static const std::vector<MessageRow> kMessages = MakeMessages();
  return kMessages;
}

const MessageRow& MessageOf(const std::string& name) {
  const auto message = std::ranges::find(Messages(), name, &MessageRow::name);
  if (message == Messages().end()) throw std::runtime_error("no table is called " + name);
  return *message;
}

const std::vector<EnumRow>& Enums() {
#define ROW(number, enumerator, name, schema, help) {number, name, #schema, help},
  static const std::vector<EnumRow> kEnums = {{"Kind",
                                               {
#define HANG_KIND ROW
#include "policies/report_enums.def"
                                               }},
                                              {"Level",
                                               {
#define HANG_LEVEL ROW
#include "policies/report_enums.def"
                                               }},
                                              {"Completeness",
                                               {
#define COMPLETENESS ROW
#include "policies/report_enums.def"
                                               }},
                                              {"LockKind",
                                               {
#define LOCK_KIND ROW
#include "policies/report_enums.def"
                                               }},
                                              {"WaitsFor",
                                               {
#define WAITS_FOR ROW
#include "policies/report_enums.def"
                                               }},
                                              {"WaitOutcome",
                                               {
#define WAIT_OUTCOME ROW
#include "policies/report_enums.def"
                                               }},
                                              {"ExitReason",
                                               {
#define EXIT_REASON ROW
#include "policies/report_enums.def"
                                               }},
                                              {"SuppressedReason",
                                               {
#define SUPPRESSED_REASON ROW
#include "policies/report_enums.def"
                                               }},
                                              {"LossReason",
                                               {
#define LOSS_REASON ROW
#include "policies/report_enums.def"
                                               }}};
#undef ROW
  return kEnums;
}

const EnumRow& EnumOf(const std::string& name) {
  const auto row = std::ranges::find(Enums(), name, &EnumRow::name);
  if (row == Enums().end()) throw std::runtime_error("no enumeration is called " + name);
  return *row;
}

std::vector<FieldRow> ColumnsOf(const std::string& name) {
  if (name == "Report") return ColumnRows(collector::kReportColumns);
  if (name == "Trace") return ColumnRows(collector::kTraceColumns);
  throw std::runtime_error("no columns are called " + name);
}

}  // namespace lagwatch::tools
