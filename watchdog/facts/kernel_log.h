// SPDX-License-Identifier: Apache-2.0
// The kernel's log about a thread in uninterruptible sleep: its detector of hung tasks looks each two
// minutes, and newer kernels (CONFIG_DETECT_HUNG_TASK_BLOCKER) name the lock and the thread that probably has
// it. Context: watchdog, of a process that watches another one: a program that watches itself asks for no
// such right.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/process/process.h"

namespace lagwatch::watchdog {

// The last lines about the thread, without names, which may be those of other users; empty texts: none.
struct HungTask {
  char text[112] = {};     // "blocked for more than 122 seconds (35 s ago)"
  char blocker[112] = {};  // "blocked on a mutex likely owned by task 4711"
};

// Nothing of a thread that does not sleep so, where the log may not be read, or in a namespace of processes
// with ids of its own.
HungTask ReadHungTask(const base::Thread& thread);

// The part of that which is pure: in `log`, as syslog(2) has it, at `now_s` of its clock.
HungTask FindHungTask(std::string_view log, int32_t tid, int64_t now_s);

}  // namespace lagwatch::watchdog
