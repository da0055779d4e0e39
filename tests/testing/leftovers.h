// SPDX-License-Identifier: Apache-2.0
// Leftovers of programs: a listener, linked into every test program, fails a test after which a process
// that it started still runs, or a temporary file of one is left.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace lagwatch::testing {

// Processes by id, each with its command line.
using ProcessList = std::map<int, std::string>;

// The descendants of this process that run, wherever they were started, as long as they have the variable
// `NAME=value` of `mark` in the environment that they began with; its children; and what was forked from it
// at any distance and runs its program. Not zombies.
ProcessList FindDescendants(const std::string& mark);

// Gives this process and all that it starts a temporary directory of its own, which marks them.
class ScopedProgramMark {
 public:
  ScopedProgramMark();
  // Removes the directory; the one before is valid again.
  ~ScopedProgramMark();
  ScopedProgramMark(const ScopedProgramMark&) = delete;
  ScopedProgramMark& operator=(const ScopedProgramMark&) = delete;

  // Notes what is there, which is no leftover.
  void Begin();
  const ProcessList& processes() const { return processes_; }  // by Begin()
  // Waits until the processes that were started since Begin() have ended, and returns a line for each that
  // has not, which is killed then, and for each file that programs have left in the temporary directory. The
  // tests' own directories there are theirs.
  std::vector<std::string> TakeLeftovers(std::chrono::milliseconds patience);

 private:
  std::vector<std::string> FilesNow() const;
  // Since the last call, or some still run. Most tests start none, and a look at all processes is not cheap.
  bool HasStartedPrograms();

  pid_t owner_ = getpid();
  std::string parent_;
  std::string directory_;
  long children_work_ = 0;
  ProcessList processes_;
  std::vector<std::string> files_;
};

}  // namespace lagwatch::testing
