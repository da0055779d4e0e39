// SPDX-License-Identifier: Apache-2.0
// Finds the hangs that come into a spool, at the moment that their first report is on disk. Context:
// background. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/uuid.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "sdk/run/run_record.h"

namespace lagwatch::tools {

// The runs of the processes that PidsOfRun() returns.
std::vector<sdk::RunFacts> LivingRuns(const std::string& spool_directory, pid_t run_pid);

// The processes that live and keep a run record in the spool directory: process `run_pid` itself, and those
// that it has started, itself or its children, and that are followed. A process is not found before it has
// watched a loop.
std::set<uint32_t> PidsOfRun(const std::string& spool_directory, pid_t run_pid);

class HangFollower {
 public:
  struct Hang {
    base::Uuid report_id;
    std::string report;  // encoded
  };

  // Only of reports that were made at `since_wall_ms` or later, and that `wants` takes.
  HangFollower(std::string spool_directory, int64_t since_wall_ms,
               std::function<bool(const report::Report&)> wants);

  // Waits until the spool has changed, or `fd` can be read, or the time is over; -1: no fd, or no limit. The
  // directory need not exist yet. Returns true when `fd` can be read.
  bool Await(int fd, int timeout_ms);
  // Reads the segments that have changed.
  void Look();
  bool has_found() const { return !found_.empty(); }
  // The hangs found since the last call, each with the first of its reports, as it was last seen.
  std::vector<Hang> Take();

 private:
  void Add(const report::Segment& segment);

  std::filesystem::path directory_;
  int64_t since_wall_ms_;
  std::function<bool(const report::Report&)> wants_;
  report::SpoolReader reader_;
  base::OwnedFd changes_;  // inotify(7)
  bool is_heard_ = false;  // the directory's changes are
  std::map<std::string, uintmax_t> sizes_;
  std::map<base::Uuid, Hang> found_;  // by hang
  std::set<base::Uuid> known_;        // hangs that were taken
};

}  // namespace lagwatch::tools
