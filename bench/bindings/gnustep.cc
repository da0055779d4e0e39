// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <vector>

#include "bench/bindings/bindings.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::bench {

std::vector<Figure> MeasureGnustep() {
  double added_ns = -1;
  double turn_ns = -1;
  if (std::string(LAGWATCH_GNUSTEP_TURNS) != "") {
    testing::ScopedTempDirectory directory;
    testing::Process turns({LAGWATCH_GNUSTEP_TURNS, directory / "spool"});
    const bool is_measured =
        turns.Wait() == 0 && std::sscanf(turns.Output().c_str(), "%lf %lf", &added_ns, &turn_ns) == 2;
    if (!is_measured) std::fprintf(stderr, "%s%s", turns.Output().c_str(), turns.Errors().c_str());
  }
  return {{"gnustep_turn_added_ns", added_ns}, {"gnustep_turn_ns", turn_ns}};
}

}  // namespace lagwatch::bench
