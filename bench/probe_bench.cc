// SPDX-License-Identifier: Apache-2.0
// The cost of one hit of a probe, in nanoseconds above the same call without it, by tier, by what a handler
// asks for and by what a script does (script_…), and of others' probes: the kernel's (uprobe_…, bpftrace_…),
// uftrace's and XRay's, null where they are missing; load is the machine's. For common programs and
// libraries, probeable_pct is the share of functions that can be probed at their entry and return, and
// "probeable" has the tiers and the reasons. With --soak N: N cycles of arming in a program whose threads do
// all that could be in the way. Prints one JSON object.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/probe/catalogue.h"
#include "bench/probe/costs.h"
#include "bench/probe/script_costs.h"
#include "bench/probe/soak.h"
#include "bench/probe/uprobe_costs.h"
#include "bench/trace/figures.h"
#include "trace/instrument/probes/function_prober.h"

int main(int argc, char** argv) {
  using namespace lagwatch::bench;
  if (argc == 3 && std::strcmp(argv[1], "--soak") == 0) {
    const SoakResult result = Soak(std::atoi(argv[2]));
    std::puts(result.json.c_str());
    return result.is_right ? 0 : 1;
  }
  double load = -1;
  getloadavg(&load, 1);
  auto* prober = new lagwatch::trace::FunctionProber;
  const std::string costs = MeasureProbeCosts(prober);
  const std::string scripts = MeasureScriptCosts(prober);
  Figures figures;
  MeasureUprobeCosts(&figures);
  MeasureOtherTracers(&figures);
  const std::string catalogue = MeasureProbeable(argv[0]);
  std::printf("{\"load\": %.1f, %s, %s", load, costs.c_str(), scripts.c_str());
  for (const auto& [name, ns] : figures)
    ns ? std::printf(", \"%s\": %.1f", name.c_str(), *ns) : std::printf(", \"%s\": null", name.c_str());
  std::printf(", %s}\n", catalogue.c_str());
  return 0;
}
