// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/instrument/probe_soak.h"

#include <algorithm>
#include <atomic>

#include "tests/trace/instrument/flow_workers.h"
#include "tests/trace/instrument/probed_function.h"

namespace lagwatch::trace {
namespace {

struct Counts {
  std::atomic<uint64_t> entries{0};
  std::atomic<uint64_t> returns{0};
};

void CountSoakEntry(const ProbeEntry&, void* counts) { ++static_cast<Counts*>(counts)->entries; }
void CountSoakReturn(const ProbeReturn&, void* counts) { ++static_cast<Counts*>(counts)->returns; }
constexpr ProbeHandlers kSoakCounts{.on_entry = &CountSoakEntry, .on_return = &CountSoakReturn};

// Only the arming thread calls it.
PROBED_FUNCTION uint64_t CallOfOne(uint64_t number) { return number * 3 + 1; }

}  // namespace

FunctionProber& Prober() {
  static auto* prober = new FunctionProber;
  return *prober;
}

SoakTotals SoakProbes(FunctionProber* prober, uint64_t cycles, const std::vector<uint64_t>& others,
                      const char* library) {
  constexpr int kWorkers = 8;
  constexpr uint64_t kCallsOfOne = 50;
  static Counts one;
  static Counts all;
  one.entries = one.returns = all.entries = all.returns = 0;
  SoakTotals totals;
  std::vector<ProbeRequest> requests{{reinterpret_cast<uint64_t>(&CallOfOne), &kSoakCounts, &one}};
  for (const uint64_t function : others) requests.push_back({function, &kSoakCounts, &all});
  FlowWorkers workers(library, kWorkers);
  for (; totals.cycles < cycles; ++totals.cycles) {
    std::vector<ProbeId> ids;
    for (const ProbeResult& result : prober->Arm(requests)) {
      if (result.id != 0) ids.push_back(result.id);
      totals.refused += result.id == 0 ? 1 : 0;
      if (result.id == 0) totals.last_refusal = ProbeReasonText(result.reason);
    }
    totals.functions = std::max<uint64_t>(totals.functions, ids.size());
    for (uint64_t i = 0; i < kCallsOfOne; ++i) totals.wrong_results += CallOfOne(i) == i * 3 + 1 ? 0 : 1;
    totals.hits_made += kCallsOfOne;
    prober->Disarm(ids);
    CallOfOne(1);
  }
  workers.Stop();
  totals.operations = workers.operations();
  totals.wrong_results += workers.wrong();
  totals.hits_counted = one.entries;
  totals.returns_counted = one.returns;
  totals.other_hits = all.entries;
  totals.differing_bytes = DifferingCodeBytes();
  return totals;
}

}  // namespace lagwatch::trace
