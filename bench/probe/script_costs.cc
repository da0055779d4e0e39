// SPDX-License-Identifier: Apache-2.0
#include "bench/probe/script_costs.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/probe/costs.h"
#include "probe/compile/compiler.h"
#include "probe/verify/verifier.h"
#include "sdk/probe/site_handlers.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::bench {
namespace {

constexpr int kCalls = 1'000;  // of a round: less than the budget of a thread
constexpr int kRounds = 200;
constexpr double kNsPerTick = 0.4;  // about; only the limits of durations and of the budget go by it

struct NamedScript {
  const char* name;
  const char* text;
};
constexpr NamedScript kScripts[] = {
    {"script_false_filter_ns", "f(long number) if number < 0 { count }"},
    {"script_count_ns", "f { count }"},
    {"script_histogram_by_key_ns", "f(long number) { histogram(number) by number % 50 }"},
    {"script_stack_ns", "f { stack }"},
    {"script_return_false_filter_ns", "f @return if duration > 1s { count }"},
    {"script_return_count_ns", "f @return { count }"},
    {"script_return_histogram_ns", "f @return { histogram(duration) }"},
};

[[noreturn]] void GiveUp(const NamedScript& script, const std::string& why) {
  std::fprintf(stderr, "bench_probe: %s: %s\n", script.name, why.c_str());
  std::exit(1);
}

probe::VerifiedProgram Compiled(const NamedScript& script) {
  auto program = probe::CompileScript("budget 10% 10000000/s " + std::string(script.text), nullptr);
  if (!program.ok()) GiveUp(script, program.status().message());
  auto verified = probe::Verify(std::move(*program));
  if (!verified.ok()) GiveUp(script, verified.status().message());
  return std::move(*verified);
}

// A script at the measured function. Never freed, as of all probes: a thread may be in its handler.
struct ArmedScript {
  explicit ArmedScript(const NamedScript& script) : program(Compiled(script)) {
    const size_t bytes = (probe::ProbeState::Bytes(program) + 63) / 64 * 64;
    void* memory = std::aligned_alloc(64, bytes);
    if (memory == nullptr) GiveUp(script, "no memory");
    std::memset(memory, 0, bytes);
    state =
        std::make_unique<probe::ProbeState>(program, memory, probe::ProbeClock{.ns_per_tick = kNsPerTick}, 0);
    site.probe = &program.probes()[0];
    site.state = state.get();
    site.is_active = &is_active;
    site.uses = &uses;
    site.ns_per_tick = kNsPerTick;
  }
  // As at the beginning of a window of the budget.
  void Refresh() const {
    std::memset(static_cast<void*>(state->block().threads), 0,
                probe::kThreadSlots * sizeof(probe::ThreadSlot));
  }

  probe::VerifiedProgram program;
  std::unique_ptr<probe::ProbeState> state;
  std::atomic<bool> is_active{true};
  sdk::SiteUses uses;
  sdk::SiteState site;
};

// The least of the rounds' nanoseconds a call; `before` is called before each round, out of the time.
template <typename Before>
double BestNs(Before before) {
  double best_ns = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    before();
    const int64_t begin_ns = ThreadNowNs();
    for (int i = 0; i < kCalls; ++i) lagwatch_bench_one_byte(static_cast<uint64_t>(i));
    best_ns = std::min(best_ns, static_cast<double>(ThreadNowNs() - begin_ns) / kCalls);
  }
  return best_ns;
}

double ProbedNs(const NamedScript& script, trace::FunctionProber* prober) {
  auto* armed = new ArmedScript(script);
  std::string why;
  const trace::ProbeHandlers* handlers = sdk::HandlersFor(sdk::SiteRole::kFunction, *armed->site.probe, &why);
  if (handlers == nullptr) GiveUp(script, why);
  const auto result =
      prober->Arm(reinterpret_cast<uint64_t>(&lagwatch_bench_one_byte), handlers, &armed->site);
  if (result.id == 0) GiveUp(script, std::string(trace::ProbeReasonText(result.reason)));
  const double ns = BestNs([&] { armed->Refresh(); });
  const probe::ProbeStats stats = armed->state->Stats();
  prober->Disarm({&result.id, 1});
  // The last round's hits: those before it are refreshed away.
  if (stats.hits < kCalls || stats.skipped != 0) GiveUp(script, "the budget has left out hits");
  return ns;
}

}  // namespace

std::string MeasureScriptCosts(trace::FunctionProber* prober) {
  if (!sdk::PrepareStackCaptures()) std::exit(1);
  const double bare_ns = BestNs([] {});
  std::string json;
  for (const NamedScript& script : kScripts) {
    char text[96];
    std::snprintf(text, sizeof text, "%s\"%s\": %.1f", json.empty() ? "" : ", ", script.name,
                  ProbedNs(script, prober) - bare_ns);
    json += text;
  }
  return json;
}

}  // namespace lagwatch::bench
