// SPDX-License-Identifier: Apache-2.0
// The greatest users of the machine's processors between two looks, for a thread that got none of them.
// Context: watchdog; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/process/process.h"

namespace lagwatch::watchdog {

class ProcessorUsers {
 public:
  // Context: background; allocates room, of which no page is touched before a thread is starved.
  ProcessorUsers();

  // Looks at all processes, unless it has done so since `since_ns` (of CLOCK_MONOTONIC), the begin of the
  // time in which a thread is starved: one system call a process, for 5 ms of processor time at most.
  // `watched` is the thread's process.
  void Begin(int64_t since_ns, const base::Process& watched);
  // Looks once more, and returns the three greatest users since then with their shares of all processors'
  // time: "stress-ng 61 % (4 processes), this program 9 %". Processes of one name are one user. Names are
  // those of the watched process's user and of root; with `hides_names`, of none. Begins with "at least "
  // if not all processes were looked at. Empty without a first look, or too short a time after it.
  // Valid until the next call.
  const char* Describe(int64_t since_ns, const base::Process& watched, bool hides_names);
  // Of the time that processors were busy between the two looks, in thousandths of all their time: that of
  // users which were not seen because they have ended, or are in other namespaces; and what the machine that
  // runs this virtual one has taken. -1: not known.
  int64_t unseen_permille() const { return unseen_permille_; }
  int64_t stolen_permille() const { return stolen_permille_; }

 private:
  static constexpr size_t kMostProcesses = 2048;
  static constexpr size_t kMostUsers = 32;

  struct Record {
    int32_t pid;
    int64_t cpu_ns;
  };
  // Of all processors, in ticks of the kernel's; all 0: not known.
  struct MachineTime {
    int64_t all = 0;
    int64_t idle = 0;
    int64_t stolen = 0;
  };
  struct User;

  static MachineTime ReadMachineTime();
  // Calls `visit(pid, cpu_ns)`; false if not all processes were looked at.
  template <typename Visit>
  static bool ForEachProcess(Visit visit);
  // The processes that used most since the first look, the greatest first. Returns their number, and in
  // `total_ns` the use of all.
  size_t FindGreatest(Record* greatest, int64_t* total_ns);
  // Returns the number of names.
  static size_t MergeNames(const Record* greatest, size_t count, const base::Process& watched,
                           bool hides_names, User* users);

  std::unique_ptr<Record[]> before_;
  size_t before_count_ = 0;
  bool were_all_seen_ = true;
  int64_t look_ns_ = -1;  // of the first look; -1: there was none
  MachineTime machine_;
  int64_t unseen_permille_ = -1;
  int64_t stolen_permille_ = -1;
  char text_[192] = {};
};

}  // namespace lagwatch::watchdog
