// SPDX-License-Identifier: Apache-2.0
#include "tools/fleet/fleet_run.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probe/program.h"
#include "probe/show/value_text.h"
#include "tools/probe/script.h"
#include "tools/probe/script_arming.h"
#include "tools/run/preload_attach.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kMostNameBytes = 250;  // of a function, a table and a key

base::Status MayOnlyCount() {
  return {base::StatusCode::kInvalid,
          "a script for a fleet may only count: print, dump, trace and arm are for consoles"};
}

bool CountsOnly(const std::vector<probe::Action>& actions) {
  using Kind = probe::Action::Kind;
  return std::ranges::all_of(actions, [](const probe::Action& action) {
    return action.kind != Kind::kPrint && action.kind != Kind::kRequest && CountsOnly(action.actions) &&
           CountsOnly(action.otherwise);
  });
}

std::string Shortened(std::string text) {
  if (text.size() > kMostNameBytes) text.resize(kMostNameBytes);
  return text;
}

std::string KindOf(probe::AggregateKind kind) {
  switch (kind) {
    case probe::AggregateKind::kCount:
      return "count";
    case probe::AggregateKind::kSum:
      return "sum";
    case probe::AggregateKind::kMin:
      return "min";
    case probe::AggregateKind::kMax:
      return "max";
    case probe::AggregateKind::kAverage:
      return "avg";
    default:
      return "histogram";
  }
}

std::string KeyPartOf(const probe::Field& field, const probe::ResultValue& value,
                      const probe::AddressNamer& namer, const policies::Scrubber& scrubber) {
  // Addresses differ from run to run, and say where a program's code lies.
  const auto shown = [&](uint64_t address) {
    std::string name = namer(address);
    return name.starts_with("0x") ? "(unknown)" : Shortened(std::move(name));
  };
  const bool is_text = field.shown == probe::Shown::kText && !value.is_unreadable;
  if (is_text) return probe::QuotedJson(scrubber.Text(value.text).view());
  // A pointer; what a script calls a number by hex() is one.
  if (field.shown == probe::Shown::kHex && !field.name.starts_with("hex("))
    return probe::QuotedJson(value.number == 0 ? "0x0" : shown(value.number));
  return probe::ValueJson(field.shown, value, shown);
}

report::ProbeRow RowOf(const probe::Aggregate& aggregate, const probe::ResultRow& row,
                       const probe::AddressNamer& namer, const policies::Scrubber& scrubber) {
  const double value = aggregate.shown == probe::Shown::kFloat ? row.real : static_cast<double>(row.number);
  report::ProbeRow sent{.count = row.count};
  if (!probe::CountsHits(aggregate.kind) && std::isfinite(value)) sent.value = value;
  for (size_t i = 0; i < row.key.size(); ++i)
    sent.key.push_back(KeyPartOf(aggregate.keys[i], row.key[i], namer, scrubber));
  for (size_t i = 0; i < row.buckets.size(); ++i) {
    if (row.buckets[i] == 0) continue;
    report::ProbeBucket bucket{.from = std::nullopt, .count = row.buckets[i]};
    if (i != 0) bucket.from = probe::BucketBegin(aggregate, i);
    sent.buckets.push_back(bucket);
  }
  return sent;
}

}  // namespace

std::string WithoutProcess(std::string reason) {
  const auto replace_numbers = [&](std::string_view before, std::string_view replacement) {
    for (size_t at = 0; (at = reason.find(before, at)) != std::string::npos; ++at) {
      const size_t number = at + before.size();
      size_t end = std::min(reason.find_first_not_of("0123456789", number), reason.size());
      if (end == number) continue;
      // Its name is the same for all programs of an app.
      if (reason.compare(end, 2, " (") == 0) end = std::min(reason.find(')', end), reason.size() - 1) + 1;
      reason.replace(at, end - at, replacement);
    }
  };
  replace_numbers("process ", "the process");
  for (const char* before : {"process: ", "watch ", "-CONT ", "/proc/"})
    replace_numbers(before, std::string(before) + "PID");
  return reason;
}

base::Status CheckCountsOnly(const probe::Program& program) {
  return program.prints.empty() && program.requests.empty() ? base::Status() : MayOnlyCount();
}

base::Status CheckCountsOnly(const probe::ScriptTree& script) {
  const auto counts_only = [](const probe::ProbeTree& each) { return CountsOnly(each.actions); };
  return std::ranges::all_of(script.probes, counts_only) ? base::Status() : MayOnlyCount();
}

report::ProbeTable FleetTableOf(const probe::Aggregate& aggregate, const probe::AggregateResult& result,
                                const probe::AddressNamer& namer, const policies::Scrubber& scrubber) {
  report::ProbeTable table{.name = Shortened(aggregate.name),
                           .kind = KindOf(aggregate.kind),
                           .unit = aggregate.shown == probe::Shown::kDuration ? "ns" : "",
                           // Rows below the top of this process may be at the top of all.
                           .is_at_least = result.is_at_least || aggregate.top != 0,
                           .keys = {},
                           .rows = {}};
  for (const probe::Field& key : aggregate.keys) table.keys.push_back(Shortened(key.name));
  for (const probe::ResultRow& row : result.rows) {
    table.is_at_least |= table.rows.size() == report::ProbeResult::kMaxRows;
    if (table.rows.size() == report::ProbeResult::kMaxRows) break;
    if (row.has_value) table.rows.push_back(RowOf(aggregate, row, namer, scrubber));
  }
  return table;
}

FleetRun::FleetRun(report::AllowedScript script, ServiceClient client, ProcessFunctions functions)
    : script_(std::move(script)), client_(std::move(client)), functions_(std::move(functions)) {}

base::Result<std::unique_ptr<FleetRun>> FleetRun::Arm(pid_t pid, const report::AllowedScript& script) {
  auto run = TryArm(pid, script);
  if (run.ok()) return run;
  // It may have ended meanwhile: then no other reason is right.
  const bool has_ended = kill(pid, 0) != 0 && errno == ESRCH;
  return base::Status(run.status().code(),
                      has_ended ? "the program has ended" : WithoutProcess(run.status().message()));
}

base::Result<std::unique_ptr<FleetRun>> FleetRun::TryArm(pid_t pid, const report::AllowedScript& script) {
  auto connected = ServiceClient::Connect(pid);
  if (!connected.ok())
    if (base::Status status = CheckCanAttach(pid); !status.ok()) return status;
  auto functions = LAGWATCH_TRY(FunctionsOf(pid, {}));
  auto prepared = LAGWATCH_TRY(PrepareScript({.title = script.name, .text = script.text}, &functions));
  if (base::Status status = CheckCountsOnly(prepared.program); !status.ok()) return status;
  if (!connected.ok()) connected = OpenFor(pid, prepared.sites);
  if (!connected.ok()) return connected.status();
  std::unique_ptr<FleetRun> run(new FleetRun(script, std::move(connected).value(), std::move(functions)));
  // A question from afar is not worth seconds in which a JVM compiles its code again.
  if (HasJavaSites(prepared.sites)) {
    const auto listed = LAGWATCH_TRY(ListOf(&run->client_));
    if (!listed.caution.empty()) return base::Status(base::StatusCode::kUnavailable, listed.caution);
  }
  const auto armed = LAGWATCH_TRY(run->client_.Ask<sdk::ArmAnswer>(
      sdk::ProbeMessageKind::kArm,
      sdk::ArmQuestion{.title = "for the collector: " + script.name + " (" + script.hash + ")",
                       .stays = false,
                       .program = probe::Serialize(prepared.program),
                       .sites = prepared.sites},
      sdk::ProbeMessageKind::kArmed));
  if (armed.id == 0) {
    const std::string why = armed.sites.empty() ? "nothing was armed" : armed.sites.front().text;
    return base::Status(base::StatusCode::kUnavailable, "no function can have the probe: " + why);
  }
  run->id_ = armed.id;
  run->functions_armed_ = CountArmed(armed);
  run->view_ = std::make_unique<ProbeView>(std::move(prepared.program), &run->functions_);
  return run;
}

FleetRun::~FleetRun() { Disarm(); }

void FleetRun::Take(const sdk::ReadAnswer& answer) {
  view_->Add(answer);
  numbers_ = answer;
  numbers_.records.clear();
  numbers_.snapshot.clear();
}

bool FleetRun::TakeLast() {
  for (const sdk::ReadAnswer& last : client_.TakeLast()) {
    if (last.id != id_) continue;
    Take(last);
    id_ = 0;  // it is not armed any more
    return true;
  }
  return false;
}

bool FleetRun::Read(int wait_ms) {
  if (id_ == 0) return false;
  // The data that a process sends because it ends: nothing can be asked after its end.
  client_.WaitForEnd(wait_ms);
  if (TakeLast()) return false;
  const auto answer = client_.Ask<sdk::ReadAnswer>(sdk::ProbeMessageKind::kRead,
                                                   sdk::ReadQuestion{.id = id_, .wants_snapshot = true},
                                                   sdk::ProbeMessageKind::kData);
  if (answer.ok()) Take(*answer);
  if (TakeLast()) return false;
  if (!answer.ok()) id_ = 0;
  return answer.ok() && !numbers_.is_off;
}

void FleetRun::Disarm() {
  if (id_ == 0 || client_.is_over()) return;
  static_cast<void>(client_.Ask<sdk::NumberAnswer>(sdk::ProbeMessageKind::kDisarm, sdk::ProgramQuestion{id_},
                                                   sdk::ProbeMessageKind::kDone));
  id_ = 0;
}

report::ProbeResult FleetRun::Result(const policies::Scrubber& scrubber) {
  report::ProbeResult result{.script = script_.hash,
                             .name = script_.name,
                             .refusal = {},
                             .functions = functions_armed_,
                             .hits = numbers_.hits,
                             .left_out = numbers_.skipped,
                             .missed = numbers_.missed,
                             .is_off = numbers_.is_off,
                             .tables = {}};
  view_->ForEachAggregate([&](const auto& aggregate, const auto& found, const auto& namer) {
    if (result.tables.size() == report::ProbeResult::kMaxTables) return;
    result.tables.push_back(FleetTableOf(aggregate, found, namer, scrubber));
    result.tables.back().is_at_least |= numbers_.dropped_keys != 0;
  });
  return result;
}

}  // namespace lagwatch::tools
