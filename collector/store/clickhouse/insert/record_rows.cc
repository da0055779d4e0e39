// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/record_rows.h"

#include <algorithm>

#include "base/clock.h"
#include "collector/keys/key_record.h"
#include "collector/store/clickhouse/insert/batch_rows.h"
#include "collector/store/clickhouse/server/columns.h"
#include "collector/store/read_rows.h"
#include "policies/exit_reason.h"

namespace lagwatch::collector {
namespace {

int64_t DayOfMs(uint64_t wall_ms) { return ToSigned(wall_ms) / kMsPerDay; }

template <typename... Values>
void AddValues(RowWriter* rows, const Values&... values) {
  (..., AddValue(values, rows));
}

}  // namespace

void RecordRows::Add(const NewReport& added) {
  const ReportRow& row = added.row;
  Mark(SumsUnit::OfHour(HomeHourOf(row.id, row.hang_id)));
  RowWriter& reports = Of(kReports);
  reports.Day(DayOf(row.id));
  AddRecord(row, kReportColumns, &reports);
  AddValues(&reports, versions_->First(), added.payload);
  for (const std::string& build_id : added.unnamed_builds) {
    Of(kUnnamed).Day(DayOf(row.id));
    AddValues(&Of(kUnnamed), build_id, row.id, 0, versions_->First());
  }
}

void RecordRows::Add(const report::HangEnd& end) {
  Of(kEnds).Day(DayOf(end.report_id));
  AddValues(&Of(kEnds), end.report_id, 0, ToSigned(end.duration_ns), versions_->First());
  if (!end.is_blamed) return;
  Of(kEnds).Day(DayOf(end.report_id));
  AddValues(&Of(kEnds), end.report_id, 2, ToSigned(end.duration_ns), versions_->First());
}

void RecordRows::Add(const report::RunEnd& end) {
  Of(kRunEnds).Day(DayOfMs(end.last_seen_wall_ms));
  RunEndRow row;
  SetColumns(kRunEndColumns, end, &row);
  AddRecord(row, kRunEndColumns, &Of(kRunEnds));
  AddValues(&Of(kRunEnds), versions_->First());
  if (!EndedReportOf(end)) return;
  Of(kEnds).Day(DayOf(end.report_id));
  AddValues(&Of(kEnds), end.report_id, 1, ToSigned(end.hang_ns), versions_->First());
}

void RecordRows::Add(const report::FrameSlice& slice) {
  RowWriter& frames = Of(kFrames);
  frames.Day(DayOfMs(slice.begin_wall_ms));
  AddValues(&frames, slice.id, slice.app, slice.app_version, slice.user, slice.loop, slice.scene,
            ToSigned(slice.begin_wall_ms), ToSigned(slice.duration_ns), ToSigned(slice.refresh_interval_ns));
  ForEachFrameNumber(slice.frames, [&](uint64_t number) { frames.Int(ToSigned(number)); });
  frames.Int(versions_->First());
}

void RecordRows::Add(const NewUsage& added) {
  const report::Usage& usage = added.usage;
  Of(kUsage).Day(DayOfMs(usage.end_wall_ms));
  Mark(SumsUnit::OfUsage(std::clamp<int64_t>(DayOfMs(usage.end_wall_ms), 1, kLastDay)));
  AddValues(&Of(kUsage), usage.id, usage.app, usage.app_version, usage.user,
            static_cast<int64_t>(std::min(WatchedNsOf(usage), 9e18)), versions_->First(), added.payload);
}

void RecordRows::Add(const report::Losses& losses) {
  int64_t position = 0;
  for (const report::Loss& loss : losses.losses) {
    Of(kLosses).Day(DayOfMs(losses.end_wall_ms));
    AddValues(&Of(kLosses), losses.id, position++, losses.app, losses.app_version, losses.user,
              report::LossReasonName(loss.reason), loss.cause, ToSigned(loss.count), loss.sample_rate_ppm,
              versions_->First());
  }
}

void RecordRows::Add(const NewTrace& added) {
  const TraceRow& row = added.row;
  Of(kTraces).Day(DayOf(row.id));
  AddRecord(row, kTraceColumns, &Of(kTraces));
  AddValues(&Of(kTraces), versions_->First(), added.trace);
}

void RecordRows::Add(const report::OwnedRecord& record) {
  const int64_t now_ms = base::SystemClock().WallMs();
  Of(kUnknown).Day(now_ms / kMsPerDay);
  AddValues(&Of(kUnknown), Number(record.type), record.payload, now_ms, versions_->First());
}

void RecordRows::Add(const Cluster& cluster) {
  AddValues(&Of(kClusters), cluster.key, cluster.level, cluster.parent_key, NamesToJson(cluster.frames),
            cluster.via, NamesToJson(cluster.held_by), versions_->First());
}

void RecordRows::AddPlacement(const base::Uuid& id, const base::Uuid& hang_id, const ClusterPath& clusters) {
  Mark(SumsUnit::OfHour(HomeHourOf(id, hang_id)));
  Of(kPlacements).Day(DayOf(id));
  AddValues(&Of(kPlacements), id, hang_id, clusters[0].key, clusters[1].key, versions_->Newest());
}

void RecordRows::AddSenderOf(const NewRecord& record) {
  const std::string key = KeyOf(record);
  if (record.sender.empty() || key[0] == 'e') return;
  const auto id = base::TryUuidFromBytes(std::string_view(key).substr(1));
  int64_t day = DayOfRecord(record);
  if (key[0] == 'r' || key[0] == 'c') day = DayOf(*id);
  if (key[0] == 't') day = base::SystemClock().WallMs() / kMsPerDay;
  Of(kRecordSenders).Day(day);
  AddValues(&Of(kRecordSenders), key.substr(0, 1),
            key[0] == 't' ? UnknownRecordId(std::string_view(key).substr(1)) : *id, record.sender,
            versions_->First());
}

void RecordRows::AddNamed(const base::Uuid& id, const std::string& build_id) {
  Of(kUnnamed).Day(DayOf(id));
  AddValues(&Of(kUnnamed), build_id, id, 1, versions_->First());
}

void RecordRows::Add(const ClusterNote& note) {
  AddRecord(note, kNoteColumns, &Of(kNotes));
  AddValues(&Of(kNotes), versions_->Newest());
}

void RecordRows::AddSetting(const std::string& name, const SharedSetting& setting) {
  AddValues(&Of(kSettings), name, setting.content, setting.version);
}

void RecordRows::MarkEndOf(const base::Uuid& report_id, const std::optional<base::Uuid>& hang_id) {
  Mark(SumsUnit::OfHour(HomeHourOf(report_id, hang_id.value_or(report_id))));
  if (!hang_id) Mark(SumsUnit::OfUnknownHangs(HourOf(report_id) / 24));
}

std::vector<Batch::Part> RecordRows::Take() {
  if (!marked_.empty()) {
    const int64_t number = versions_->NextBatch();
    for (int64_t unit : marked_) {
      Of(kMarks).Day(SumsUnit(unit).day());
      AddValues(&Of(kMarks), unit, versions_->collector(), number, number);
    }
    marked_.clear();
  }
  std::vector<Batch::Part> parts;
  for (const Table& table : kTables) {
    if (const auto rows = rows_.find(table.name); rows != rows_.end())
      parts.push_back({schema_->Target(table), rows->second.bytes()});
  }
  rows_.clear();
  return parts;
}

size_t RecordRows::size_bytes() const {
  size_t size = 0;
  for (const auto& [table, rows] : rows_) size += rows.bytes().size();
  return size;
}

base::Uuid UnknownRecordId(std::string_view type_and_payload) {
  const KeyDigest digest = DigestOf(type_and_payload);
  base::Uuid id;
  std::copy_n(digest.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

const char kUnknownRecordIdSql[] =
    "toFixedString(substring(SHA256(concat(toString(type), ':', payload)), 1, 16), 16)";

std::string SenderKeyOf(const Table& table, std::string_view row) {
  if (table.name == kUnknown.name) {
    Row type;
    std::string_view bytes = *FieldOf(table, row, "type");
    if (!type.Take("i", &bytes)) return {};
    const base::Uuid id =
        UnknownRecordId(std::to_string(type.Int(0)) + ":" + std::string(*FieldOf(table, row, "payload")));
    return 't' + std::string(id.as_bytes());
  }
  for (const RecordKind& of : {kRunEndKind, kReportKind, kTraceKind, kUsageKind, kLossesKind, kFramesKind}) {
    if (table.name == of.table->name) return of.letter + std::string(*FieldOf(table, row, of.id));
  }
  return {};
}

std::optional<base::Uuid> EndedReportOf(const NewRecord& record) {
  if (const auto* end = std::get_if<report::HangEnd>(&record)) return end->report_id;
  const auto* run = std::get_if<report::RunEnd>(&record);
  if (run == nullptr || run->reason != policies::ExitReason::kKilledInHang || run->report_id == base::Uuid{})
    return std::nullopt;
  return run->report_id;
}

int64_t DayOfRecord(const NewRecord& record) {
  if (const auto* end = std::get_if<report::RunEnd>(&record)) return DayOfMs(end->last_seen_wall_ms);
  if (const auto* slice = std::get_if<report::FrameSlice>(&record)) return DayOfMs(slice->begin_wall_ms);
  if (const auto* added = std::get_if<NewUsage>(&record)) return DayOfMs(added->usage.end_wall_ms);
  if (const auto* losses = std::get_if<report::Losses>(&record)) return DayOfMs(losses->end_wall_ms);
  return 1;
}

std::string KeyOf(const NewRecord& record) {
  const auto of = [](char kind, const base::Uuid& id) { return kind + std::string(id.as_bytes()); };
  if (const auto* added = std::get_if<NewReport>(&record)) return of('r', added->row.id);
  if (const auto* end = std::get_if<report::HangEnd>(&record)) return of('e', end->report_id);
  if (const auto* end = std::get_if<report::RunEnd>(&record)) return of('s', end->session_id);
  if (const auto* slice = std::get_if<report::FrameSlice>(&record)) return of('f', slice->id);
  if (const auto* added = std::get_if<NewUsage>(&record)) return of('u', added->usage.id);
  if (const auto* losses = std::get_if<report::Losses>(&record)) return of('l', losses->id);
  if (const auto* added = std::get_if<NewTrace>(&record)) return of('c', added->row.id);
  const auto& unknown = std::get<report::OwnedRecord>(record);
  return "t" + std::to_string(Number(unknown.type)) + ":" + unknown.payload;
}

}  // namespace lagwatch::collector
