// SPDX-License-Identifier: Apache-2.0
#include "bench/probe/soak.h"

#include <cinttypes>
#include <cstdio>
#include <vector>

#include "tests/trace/instrument/probe_soak.h"

namespace lagwatch::bench {

SoakResult Soak(int cycles) {
  auto* prober = new trace::FunctionProber;
  std::vector<uint64_t> functions;
  for (const auto& listed : prober->List({.allow_modules = {"libc.so.6"}}, true))
    if (listed.result.reason == trace::ProbeReason::kNone) functions.push_back(listed.function);
  for (const auto& listed :
       prober->List({.allow_modules = {"bench_probe"}, .allow_functions = {"*plain_flow*"}}, true))
    if (listed.result.reason == trace::ProbeReason::kNone) functions.push_back(listed.function);
  const trace::SoakTotals totals =
      trace::SoakProbes(prober, static_cast<uint64_t>(cycles), functions, LAGWATCH_FLOW_SUBJECT);
  char json[1024];
  std::snprintf(json, sizeof json,
                "{\"cycles\": %" PRIu64 ", \"functions\": %" PRIu64 ", \"refused\": %" PRIu64
                ", \"operations\": %" PRIu64 ", \"wrong_results\": %" PRIu64 ", \"hits_made\": %" PRIu64
                ", \"hits_counted\": %" PRIu64 ", \"returns_counted\": %" PRIu64 ", \"other_hits\": %" PRIu64
                ", \"hits_missed\": %" PRIu64 ", \"returns_unnoticed\": %" PRIu64
                ", \"differing_bytes\": %" PRIu64 "}",
                totals.cycles, totals.functions, totals.refused, totals.operations, totals.wrong_results,
                totals.hits_made, totals.hits_counted, totals.returns_counted, totals.other_hits,
                trace::FunctionProbeStats().hits_missed, trace::FunctionProbeStats().returns_unnoticed,
                totals.differing_bytes);
  return {.json = json,
          .is_right = totals.wrong_results == 0 && totals.hits_counted == totals.hits_made &&
                      totals.returns_counted == totals.hits_made && totals.differing_bytes == 0};
}

}  // namespace lagwatch::bench
