// SPDX-License-Identifier: Apache-2.0
#include "collector/store/records.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "collector/symbols/mapping/mapping_id.h"

namespace lagwatch::collector {
namespace {

// Names of the module's own table and of its caller are not used: a frame with one keeps it. Renamed frames
// of Java wait for their mapping.
std::vector<std::string> UnnamedBuildsOf(const report::Report& report) {
  std::set<std::pair<uint32_t, uint64_t>> named;
  for (const report::Symbol& symbol : report.symbols) named.emplace(symbol.module, symbol.function_offset);
  std::set<std::string> builds;
  for (const report::Frame& frame : report.stacks[report.expensive_stack].frames) {
    if (frame.module == report::kNoModule || named.contains({frame.module, frame.symbol_offset()})) continue;
    const std::string& build_id = report.modules[frame.module].build_id;
    if (!build_id.empty()) builds.insert(build_id);
  }
  for (std::string& mapping : WantedMappingIdsOf(report)) builds.insert(std::move(mapping));
  return {builds.begin(), builds.end()};
}

}  // namespace

double WatchedNsOf(const report::Usage& usage) {
  double watched_ns = 0;
  for (const report::LoopUsage& loop : usage.loops) watched_ns += static_cast<double>(loop.usage.watched_ns);
  return watched_ns * WeightOf(usage.sample_rate_ppm);
}

int64_t WallMsOf(const base::Uuid& id) {
  uint64_t wall_ms = 0;
  for (size_t i = 0; i < 6; ++i) wall_ms = wall_ms << 8 | id.bytes[i];
  return static_cast<int64_t>(wall_ms);
}

base::Uuid FirstIdAt(int64_t wall_ms) {
  base::Uuid id;
  for (size_t i = 0; i < 6; ++i)
    id.bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(wall_ms) >> (40 - 8 * i));
  return id;
}

int64_t DayOf(const base::Uuid& id) { return std::max<int64_t>(WallMsOf(id) / kMsPerDay, 1); }

base::Uuid FirstIdOf(int64_t day) {
  constexpr int64_t kLastDay = ((int64_t{1} << 48) - 1) / kMsPerDay;
  return FirstIdAt(std::clamp<int64_t>(day, 0, kLastDay) * kMsPerDay);
}

bool IsHang(std::string_view kind) {
  return kind != policies::HangKindName(report::HangKind::kCpu) &&
         kind != policies::HangKindName(report::HangKind::kCpuAverage) &&
         kind != policies::HangKindName(report::HangKind::kDump) &&
         kind != policies::HangKindName(report::HangKind::kSlow) &&
         kind != policies::HangKindName(report::HangKind::kIo);
}

bool IsCounted(std::string_view kind) { return kind != policies::HangKindName(report::HangKind::kDump); }

std::string NamesToJson(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump(-1, ' ', /*ensure_ascii=*/false,
                                    nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> NamesFromJson(const std::string& json) { return nlohmann::json::parse(json); }

NewReport NewReport::Create(const report::Report& report, ClusterPath clusters, std::string_view payload) {
  ReportRow row;
  SetColumns(kReportColumns, report, &row);
  row.level1_key = clusters[0].key;
  row.level2_key = clusters[1].key;
  return {std::move(row), std::move(clusters), std::string(payload), UnnamedBuildsOf(report)};
}

NewTrace NewTrace::Create(report::TraceRecord record) {
  TraceRow row;
  SetColumns(kTraceColumns, record, &row);
  return {std::move(row), std::move(record.trace)};
}

}  // namespace lagwatch::collector
