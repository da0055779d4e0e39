// SPDX-License-Identifier: Apache-2.0
// The figures of the trace suite's parts, for its last line.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lagwatch::bench {

// A figure that this machine lacks the means for is null in JSON.
using Figures = std::vector<std::pair<std::string, std::optional<double>>>;

inline double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Each part appends its own.
void MeasureInstrumentation(Figures* figures);
// One call, entered and left, as recorded by uftrace and XRay.
void MeasureOtherTracers(Figures* figures);
void MeasureSampling(Figures* figures);
void MeasureSampleBytes(Figures* figures);
void MeasureScripts(Figures* figures);

// Runs Debian's Python and has it recorded into an arena's file. False if that failed.
bool RecordPython(const char* script, const std::string& arena_path, bool has_hooks);

}  // namespace lagwatch::bench
