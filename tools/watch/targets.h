// SPDX-License-Identifier: Apache-2.0
// The processes that `lagwatch watch` is to watch. Context: background.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/containers.h"
#include "tools/watch/report_quota.h"

namespace lagwatch::tools {

struct Target {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // distinguish it from a later process with the same id
  std::string name;

  bool IsSameAs(const Target& other) const { return pid == other.pid && start_ticks == other.start_ticks; }
};

struct TargetChoice {
  // Each a process id, a program's name (its file's or its thread's), or a systemd unit's ("nginx.service").
  std::vector<std::string> words;
  bool is_mine = false;                               // all processes of this user
  std::optional<Container> container = std::nullopt;  // then only those of it; all of it without words

  // Whether all are named by their ids: then there will be no others.
  bool IsOfIdsAlone() const;
};

// Those that are there now, without lagwatch's own and kernel threads; `is_known` says which need not be
// looked at.
using IsKnown = std::function<bool(pid_t)>;
std::vector<Target> FindTargets(const TargetChoice& choice, const IsKnown& is_known);
std::vector<Target> FindAllTargets(const IsKnown& is_known);

// For people: its name, which the process chooses, and its id.
std::string LabelOf(const Target& target);
// The file that the process runs, and the user that has started it.
ReportQuota::Program ProgramOf(pid_t pid);

// Whether the process is what the word says, as in TargetChoice.
bool IsNamed(pid_t pid, const std::string& word);
bool IsOfUnit(pid_t pid, const std::string& unit);
// The service or scope of systemd that the process is of; empty if there is none.
std::string UnitOf(pid_t pid);

// Checks whether `pid` may be watched. Errors: kNotFound, kInvalid, with what helps.
base::Status CheckTarget(pid_t pid);

}  // namespace lagwatch::tools
