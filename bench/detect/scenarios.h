// SPDX-License-Identifier: Apache-2.0
// The scenarios of `scripts/bench detect`: each kind of hang, near misses, and cases that are not hangs.
#pragma once

#include <span>
#include <string>

#include "bench/detect/stage.h"

namespace lagwatch::bench {

struct Scenario {
  const char* name;
  const char* says;  // what must be found
  // Plays it once, on the thread of the loop "main", and says what is to be found.
  void (*play)(Stage* stage);
};

std::span<const Scenario> Dispatches();
std::span<const Scenario> OtherKinds();
// Cases that are no hangs, or only partly.
std::span<const Scenario> Discounts();
// Programs that start, and that end in a hang or not.
std::span<const Scenario> StartsAndEnds();

// The part of a program that ends in several ways and is started again: `spool MODE`. Its exit code.
int PlayVictim(const std::string& spool, const std::string& mode);

}  // namespace lagwatch::bench
