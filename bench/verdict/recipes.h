// SPDX-License-Identifier: Apache-2.0
// The stalls that verdicts are judged by, each with the word expected of its report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/verdict/stall.h"
#include "bench/verdict/thread_group.h"
#include "policies/verdict.h"

namespace lagwatch::bench {

struct Recipe {
  const char* name;
  policies::VerdictWord expected;
  // Called in the watched thread, within a dispatch.
  std::function<void(const Stall&)> run;
  // Empty, or why this machine cannot do it.
  std::string impossible = {};
};

// Computes until the stall's end.
void Compute(const Stall& stall);
// Borrows both groups, which the recipes' threads enter.
std::vector<Recipe> AllRecipes(const ThreadGroup& quota, const ThreadGroup& slow_disk);

}  // namespace lagwatch::bench
