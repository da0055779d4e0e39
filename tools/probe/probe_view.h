// SPDX-License-Identifier: Apache-2.0
// Turns what a probed process has sent into text. Context: background.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probe/program.h"
#include "probe/show/formats.h"
#include "probe/show/results.h"
#include "sdk/probe/probe_messages.h"
#include "tools/probe/perfetto_recording.h"
#include "tools/probe/process_functions.h"

namespace lagwatch::tools {

class ProbeView {
 public:
  // Borrows `functions`.
  ProbeView(probe::Program program, ProcessFunctions* functions)
      : program_(std::move(program)), functions_(*functions) {}

  // Damaged data is left out, and NoteOfDamage() says so.
  void Add(const sdk::ReadAnswer& answer);
  uint32_t budget_ppm() const { return program_.budget.share_ppm; }
  bool has_aggregates() const { return !program_.aggregates.empty(); }
  // Whether the stacks of its records are in snapshots alone: then each read needs one.
  bool PrintsStacks() const;

  // The records since the last call, a line each.
  std::string TakeLines(bool is_json);
  // The aggregates of the last snapshot; counts and sums from which hits are missing are marked "at least".
  std::string Tables();
  std::string JsonTables();
  std::string FoldedStacks();
  std::string Statsd();
  std::string Prometheus();
  // Calls `visit` with each aggregate of the last snapshot. Context: background.
  using VisitAggregate =
      std::function<void(const probe::Aggregate&, const probe::AggregateResult&, const probe::AddressNamer&)>;
  void ForEachAggregate(const VisitAggregate& visit);
  // Keeps what comes from now on for PerfettoTrace().
  void RecordForPerfetto(pid_t pid) { recording_.emplace(pid, program_); }
  // `losses` are those of the script itself.
  std::string PerfettoTrace(std::vector<trace::Loss> losses) const {
    return recording_ ? recording_->Text(std::move(losses)) : "";
  }
  const std::string& damage() const { return damage_; }

 private:
  bool CountsReturns() const;
  void KeepForPerfetto(bool has_aggregates, const std::vector<probe::Record>& records);
  template <typename Show>
  std::string OfAggregates(Show show);
  // A function's name; `has_offset`: with the place in it, by which two calls in one function differ.
  std::string NameOf(uint64_t address, bool has_offset);

  const probe::Program program_;
  ProcessFunctions& functions_;
  std::vector<probe::Record> records_;
  std::vector<probe::AggregateResult> aggregates_;
  std::map<uint64_t, std::string> frames_;  // that the process has named
  std::optional<PerfettoRecording> recording_;
  std::string damage_;
};

}  // namespace lagwatch::tools
