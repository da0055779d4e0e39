// SPDX-License-Identifier: Apache-2.0
// The facts of the program that every report of a run has.
#pragma once

#include <string>

#include "policies/hang_parts.h"
#include "policies/scrubbing.h"
#include "report/format/report_encoder.h"
#include "sdk/report/program_context.h"

namespace lagwatch::sdk {

// Of the header those fields are set that are the same in all reports.
struct ProgramFacts : policies::HangHeader<std::string> {
  policies::Scrubber scrubber{};  // scrubs all other texts

  // Fills in these fields; their texts stay with this object.
  void Fill(report::ReportHeader* header) const;
};

// The facts that the system knows: os, machine, pid, a new session id. Context: background.
ProgramFacts SystemFacts();

// Adds what the program says of itself, its scene and its values, as facts. Context: any.
void AddProgramContext(const ProgramContext& words, const policies::Scrubber& scrubber,
                       report::ReportEncoder* encoder);

}  // namespace lagwatch::sdk
