// SPDX-License-Identifier: Apache-2.0
// A thread in a core file. Context: any; pure. Linux.
#pragma once

#include <sys/procfs.h>

#include <cstdint>
#include <optional>

namespace lagwatch::tools {

// A thread as it was dumped.
struct CoreThread {
  int32_t tid = 0;
  elf_gregset_t registers{};  // user_regs_struct
  int signal = 0;             // that it was about to get; 0: none
  // Of NT_SIGINFO, where the thread has one.
  struct SignalInfo {
    int number;
    int code;          // si_code: not above 0 if a process has sent it
    int32_t sender;    // si_pid, of one that a process has sent
    uint64_t address;  // si_addr, of a fault
  };
  std::optional<SignalInfo> info;
};

}  // namespace lagwatch::tools
