// SPDX-License-Identifier: Apache-2.0
// The probes of this process: one service, from the first console on. Context: background, unless stated
// otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/probe/java_prober.h"

namespace lagwatch::sdk {

struct OpenedProbes {
  std::string why_not;      // empty: it serves
  std::string socket_path;  // in this process's root directory
};

// Starts the service, unless it runs, with its socket in `directory` (empty: /tmp/lagwatch-USER). `java`
// serves methods of Java, and is borrowed for ever.
OpenedProbes OpenProbes(const std::string& directory, JavaProber* java = nullptr);
// Returns when a console has armed something, or has gone, or after `timeout_ns`.
void AwaitFirstProbes(int64_t timeout_ns);
// Takes all probes away, and refuses others in this process and in children that it forks.
void ForbidProbes();
// Takes all probes away, and ends the service, because the process is about to confine itself: a filter of
// seccomp may not know the system calls of a hit, or of the service. Later consoles are served again.
void EndProbesForConfinement();
// Sends consoles what was counted, because the process ends.
void FlushProbes();

}  // namespace lagwatch::sdk
