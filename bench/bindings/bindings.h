// SPDX-License-Identifier: Apache-2.0
// The cost of each binding, for bench_bindings. A binding has a source file of its own here.
#pragma once

#include <string>
#include <vector>

namespace lagwatch::bench {

struct Figure {
  std::string name;  // the JSON's key
  double ns;         // negative: not available, null in the JSON
};

// With LagWatch's printer, per message of a Looper, against the same messages without it. A JVM measures it.
std::vector<Figure> MeasureAndroid();
// With the Apple binding, per turn of GNUstep's run loop, against the same turns without it.
std::vector<Figure> MeasureGnustep();

}  // namespace lagwatch::bench
