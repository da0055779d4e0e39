// SPDX-License-Identifier: Apache-2.0
// For processors whose code is not changed.
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::trace {

struct FunctionProber::State {};

FunctionProber::FunctionProber() = default;
FunctionProber::~FunctionProber() = default;

std::vector<ProbeResult> FunctionProber::Arm(std::span<const ProbeRequest> requests) {
  return std::vector<ProbeResult>(requests.size(), {.reason = ProbeReason::kNotSupported});
}

ProbeResult FunctionProber::Arm(uint64_t, const ProbeHandlers*, void*) {
  return {.reason = ProbeReason::kNotSupported};
}

void FunctionProber::Disarm(std::span<const ProbeId>) {}
void FunctionProber::DisarmAll() {}
void FunctionProber::NoteLoadedModules() {}
bool FunctionProber::BeginAnewInChild() { return true; }
bool FunctionProber::BytesAreOriginal() { return true; }

std::vector<ProbeResult> FunctionProber::Examine(std::span<const uint64_t> functions, bool) {
  return std::vector<ProbeResult>(functions.size(), {.reason = ProbeReason::kNotSupported});
}

std::vector<ProbedFunction> FunctionProber::List(const FunctionFilter&, bool) { return {}; }

ProbeStats FunctionProbeStats() { return {}; }
void LeaveThreadOutOfProbes() {}

}  // namespace lagwatch::trace
