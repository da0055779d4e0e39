// SPDX-License-Identifier: Apache-2.0
// Turns what a probed process has sent into text. Context: background.
#pragma once

#include <cstdint>
#include <string>

#include "probe/program.h"
#include "sdk/probe/probe_messages.h"
#include "tools/probe/process_functions.h"

namespace lagwatch::tools {

class ProbeView {
 public:
  // Borrows `functions`.
  ProbeView(probe::Program program, const sdk::ProbeTicks& ticks, ProcessFunctions* functions);

  void Add(const sdk::ReadAnswer& answer);
  // The records since the last call, a line each; as JSON.
  std::string TakeLines(bool as_json);
  // The aggregates, as the last snapshot has them. `width`: of the terminal; 0: any.
  std::string Tables(size_t width) const;
  std::string JsonTables() const;
  std::string Statsd() const;
  std::string Prometheus() const;
  bool has_aggregates() const { return !program_.aggregates.empty(); }

 private:
  std::string Field(probe::Shown shown, const uint64_t* words) const;

  const probe::Program program_;
  const sdk::ProbeTicks ticks_;
  ProcessFunctions* const functions_;
  std::string records_;
  std::string snapshot_;
};

}  // namespace lagwatch::tools
