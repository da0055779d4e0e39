// SPDX-License-Identifier: Apache-2.0
// The system's facts of this run of the program, and of other processes that had one.
#pragma once

#include <cstdint>
#include <optional>

#include "sdk/run/run_record.h"

namespace lagwatch::sdk {

// All but the session, the app, its version and the user. Context: background.
RunFacts SystemRunFacts();

// When the process of this pid namespace started, in ticks since the machine's start. None when there is no
// such process, or one that has ended and was not waited for yet. Context: background.
std::optional<uint64_t> ProcessStartTicks(uint32_t pid);

// The number of processes killed for lack of memory: in the control group that counts them in `path`, as it
// is in RunFacts, and on the whole machine. -1: unknown. Context: watchdog (a file is read).
int64_t OomKillsInGroup(const char* path);
int64_t OomKillsOnMachine();
// Distinguishes a group's counter from that of a later group of the same name; 0 if there is none, or if
// `path` cannot be a group's counter. Context: background.
uint64_t OomGroupInode(const std::string& path);

}  // namespace lagwatch::sdk
