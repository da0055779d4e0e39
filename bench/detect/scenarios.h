// SPDX-License-Identifier: Apache-2.0
// What `scripts/bench detect` plays: each kind of lag, what is nearly one, and each thing that is none.
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
// What is no lag, or not all of it.
std::span<const Scenario> Guards();
// Programs that start, and that end in a lag or not.
std::span<const Scenario> StartsAndEnds();

// The part of a program that ends in several ways and is started again: `spool MODE`. Its exit code.
int PlayVictim(const std::string& spool, const std::string& mode);

}  // namespace lagwatch::bench
