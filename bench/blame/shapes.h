// SPDX-License-Identifier: Apache-2.0
// The recipes of blame_bench.cc: dispatches in which several functions spend their time in the same inner
// one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"

namespace lagwatch::bench {

constexpr int64_t kWindowMs = 200;  // so long before the threshold samples begin

inline int64_t NowNs() { return base::SystemClock().MonoNs(); }

using Work = void (*)(int64_t ms);

using Caller = void (*)(Work, int64_t);

struct Step {
  Caller caller;
  int64_t ms;
  int layers = 0;
};

// LoadContacts is the guilty one, in all of them.
struct Shape {
  const char* name;
  std::vector<Step> steps;
};

struct NamedWork {
  const char* name;
  Work work;
};

// The guilty function, which calls the work.
void LoadContacts(Work work, int64_t ms);
// A layer that all go through, as a toolkit's or a database's.
void Query(Caller caller, Work work, int64_t ms, int layers);
// All callers, LoadContacts among them.
std::span<const Caller> Callers();
std::vector<Shape> Shapes();
std::span<const NamedWork> Works();

}  // namespace lagwatch::bench
