// SPDX-License-Identifier: Apache-2.0
// Programs that `lagwatch trace record` records, and what it wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"
#include "trace/model/trace.h"

namespace lagwatch::testing {

inline constexpr int64_t kMs = 1'000'000;  // in nanoseconds

// The directory of one test's recordings.
class TraceDirectory {
 public:
  // `lagwatch trace record FLAGS… -o FILE -- COMMAND…`.
  std::vector<std::string> RecordCommand(const std::vector<std::string>& flags,
                                         const std::vector<std::string>& command) const;
  // The same with --pid.
  std::vector<std::string> AttachCommand(const std::vector<std::string>& flags, pid_t pid) const;
  // Fails the test when there is no trace; then an empty one.
  trace::Trace Read() const;

  std::string file() const { return directory_ / "recorded.lwtrace"; }
  std::string operator/(std::string_view name) const { return directory_ / name; }

 private:
  ScopedTempDirectory directory_;
};

// By function, with what it called.
std::map<std::string, int64_t> TotalsByName(const trace::Trace& trace);

// The losses, one a line.
std::string LossesOf(const trace::Trace& trace);

// Whether some thread of the process records it.
bool HasRecorder(pid_t pid);

}  // namespace lagwatch::testing
