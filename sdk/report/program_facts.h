// SPDX-License-Identifier: Apache-2.0
// The facts of the program that every report of a run has.
#pragma once

#include <cstdint>
#include <string>

#include "base/uuid.h"
#include "policies/scrubbing.h"
#include "report/format/report_encoder.h"
#include "sdk/report/program_context.h"

namespace lagwatch::sdk {

struct ProgramFacts {
  std::string app;
  std::string app_version;
  std::string user;
  std::string os;
  std::string machine;
  uint32_t pid = 0;
  base::Uuid session_id;
  policies::Scrubber scrubber{};  // scrubs all other texts

  // Fills in what is the same in all reports.
  void Fill(report::ReportHeader* header) const;
};

// The facts that the system knows: os, machine, pid, a new session id. Context: background.
ProgramFacts SystemFacts();

// Adds what the program says of itself, its scene and its values, as facts. Context: any.
void AddProgramContext(const ProgramContext& words, const policies::Scrubber& scrubber,
                       report::ReportEncoder* encoder);

}  // namespace lagwatch::sdk
