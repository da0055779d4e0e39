// SPDX-License-Identifier: Apache-2.0
#include "collector/store/records.h"

#include <algorithm>
#include <set>
#include <utility>

namespace lagwatch::collector {
namespace {

int64_t ToSigned(uint64_t number) { return static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX)); }

// Names of the module's own table and of its caller are not asked for: what has one keeps it.
std::vector<std::string> UnnamedBuildsOf(const report::Report& report) {
  std::set<std::pair<uint32_t, uint64_t>> named;
  for (const report::Symbol& symbol : report.symbols) named.emplace(symbol.module, symbol.function_offset);
  std::set<std::string> builds;
  for (const report::Frame& frame : report.stacks[report.expensive_stack].frames) {
    if (frame.module == 0 || named.contains({frame.module, frame.symbol_offset()})) continue;
    const std::string& build_id = report.modules[frame.module - 1].build_id;
    if (!build_id.empty()) builds.insert(build_id);
  }
  return {builds.begin(), builds.end()};
}

}  // namespace

Contribution ContributionOf(const ReportRow& report) {
  return {.lags = report.is_lead ? 1 : 0,
          .hang_ns = report.hang_ns,
          .duration_ns = LagDurationNs(report),
          .weight = WeightOf(report.sample_rate_ppm),
          .seen_ms = report.start_wall_ms,
          .user = report.user};
}

double WatchedNsOf(const report::Usage& usage) {
  double watched_ns = 0;
  for (const report::LoopUsage& loop : usage.loops) watched_ns += static_cast<double>(loop.usage.watched_ns);
  return watched_ns * WeightOf(usage.sample_rate_ppm);
}

NewReport NewReport::Create(const report::Report& report, ClusterPath clusters, std::string_view payload) {
  // A lag's first report gives the lag its id.
  const base::Uuid& lag_id = report.lag_id == base::Uuid{} ? report.id : report.lag_id;
  ReportRow row{.id = report.id,
                .lag_id = lag_id,
                .session_id = report.session_id,
                .ordinal = report.ordinal,
                .app = report.app,
                .version = report.app_version,
                .user = report.user,
                .kind = std::string(report::KindName(report.kind)),
                .verdict = policies::VerdictName(report.verdict.word),
                .loop = report.loop,
                .tag = report.tag,
                .os = report.os,
                .machine = report.machine,
                .pid = report.pid,
                .tid = report.tid,
                .threshold_ms = report.threshold_ms,
                .start_wall_ms = ToSigned(report.start_wall_ms),
                .elapsed_ns = ToSigned(report.elapsed_ns),
                .cpu_window_ns = ToSigned(report.cpu_window_ns),
                .cpu_thread_ns = ToSigned(report.cpu_thread_ns),
                .cpu_process_ns = ToSigned(report.cpu_process_ns),
                .level1_key = clusters[0].key,
                .level2_key = clusters[1].key,
                .duration_ns = std::nullopt,
                .sample_rate_ppm = report.sample_rate_ppm,
                .cause = static_cast<int64_t>(report.cause)};
  return {std::move(row), std::move(clusters), std::string(payload), UnnamedBuildsOf(report)};
}

}  // namespace lagwatch::collector
