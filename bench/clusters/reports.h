// SPDX-License-Identifier: Apache-2.0
// Reports as clients send them, each of a known cause.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/clusters/build.h"
#include "bench/clusters/causes.h"
#include "collector/symbols/names/frame_names.h"
#include "report/format/report.h"

namespace lagwatch::clusters {

// By module and offset of a frame, the symbols of what was inlined there, innermost first.
using InlinedSymbols = std::map<std::pair<uint32_t, uint64_t>, std::vector<std::string>>;

struct KnownReport {
  size_t cause = 0;  // index into the causes
  report::Report report;
  InlinedSymbols inlined;  // from debug information
};

// Names frames with the help of debug information.
class DebugNamer final : public collector::FrameNamer {
 public:
  // Borrows `known`.
  explicit DebugNamer(const KnownReport& known) : inlined_(known.inlined), symbols_(known.report) {}

  std::vector<collector::NamedFrame> NamesOf(const report::Frame& frame) const override;

 private:
  const InlinedSymbols& inlined_;
  collector::ReportNamer symbols_;
};

// `per_cause` reports of each cause, spread over the builds. The same seed makes the same reports.
std::vector<KnownReport> MakeReports(const std::vector<Cause>& causes, const Tails& tails, int per_cause,
                                     uint64_t seed);

}  // namespace lagwatch::clusters
