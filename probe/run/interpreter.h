// SPDX-License-Identifier: Apache-2.0
// Runs a probe's program at a hit. Context: signal, hot: no allocation, lock, system call or call of a
// function outside of this library except the hit's services; at most 512 bytes of stack besides theirs, 768
// with floating-point numbers; a bounded number of steps. Built with general registers only: it needs none of
// the others kept.
#pragma once

#include <cstdint>

#include "probe/hit.h"
#include "probe/run/probe_state.h"
#include "probe/verify/verified.h"

namespace lagwatch::probe {

enum class HitEnd : uint8_t {
  kDone,     // to its end, or to a filter
  kFaulted,  // a division by 0, memory that cannot be read, or arguments that the mechanism does not have;
             // counted
  kSkipped,  // left out because of the budget; counted
  kOff,      // the budget has turned the program off: the mechanism should remove its probes
};

// Runs `probe`, of the program that `state` was made for. Any number of threads, also a signal handler amid
// another hit of its thread. The caller does not let the services' own code hit probes.
HitEnd RunProbe(const VerifiedProbe& probe, const Hit& hit, ProbeState* state);

// Whether all that the probe does is to count its hits without keys: a mechanism may then count by itself,
// outside of the budget, and add the hits up later. Context: background.
bool CountsHitsOnly(const VerifiedProbe& probe, const ProbeState& state);
// Adds so many hits of such a probe. Context: background.
void AddCountedHits(const VerifiedProbe& probe, uint64_t hits, ProbeState* state);

}  // namespace lagwatch::probe
