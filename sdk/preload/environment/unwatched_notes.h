// SPDX-License-Identifier: Apache-2.0
// Programs that were to be watched and were not, or of which some threads were not, with the reason: one line
// each in a file of the spool directory. The preloaded library writes it; `lagwatch reports` and `lagwatch
// losses` show it. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::sdk {

inline constexpr char kUnwatchedFileName[] = "unwatched";  // in the spool directory

struct UnwatchedNote {
  int64_t wall_ms = 0;
  uint32_t pid = 0;
  std::string app;
  std::string why;

  // The program was watched, but not all of its threads: then the reason begins with their number.
  bool IsOfThreads() const { return !why.empty() && why[0] >= '0' && why[0] <= '9'; }
};

// Appends the note; drops it if the directory cannot be used. Past 64 KiB the file is started again.
void AddUnwatchedNote(const std::string& spool_directory, const UnwatchedNote& note);
// Takes the process's last note back, if no other note follows it.
void RemoveUnwatchedNote(const std::string& spool_directory, uint32_t pid);
// The notes since `from_wall_ms`, the oldest first. Malformed lines are skipped.
std::vector<UnwatchedNote> ReadUnwatchedNotes(const std::string& spool_directory, int64_t from_wall_ms);

}  // namespace lagwatch::sdk
