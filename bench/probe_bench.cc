// SPDX-License-Identifier: Apache-2.0
// The cost of one hit of a probe, in nanoseconds above the same call without it, by what the probe does; and
// which functions of common programs and libraries can be probed. With --soak N: N cycles of arming in a
// program whose threads do all that could be in the way. Prints one JSON object.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/probe/catalogue.h"
#include "bench/probe/costs.h"
#include "bench/probe/soak.h"

int main(int argc, char** argv) {
  using namespace lagwatch::bench;
  if (argc == 3 && std::strcmp(argv[1], "--soak") == 0) {
    const SoakResult result = Soak(std::atoi(argv[2]));
    std::puts(result.json.c_str());
    return result.is_right ? 0 : 1;
  }
  const std::string costs = MeasureProbeCosts();
  const std::string catalogue = MeasureProbeable(argv[0]);
  std::printf("{%s, %s}\n", costs.c_str(), catalogue.c_str());
  return 0;
}
