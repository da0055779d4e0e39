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
uint64_t FunctionProber::last_disarm() const { return 0; }
uint64_t FunctionProber::FindLastForgotten() { return 0; }
void FunctionProber::NoteLoadedModules() {}
bool FunctionProber::BeginAnewInChild() { return true; }
bool FunctionProber::BytesAreOriginal() { return true; }

std::vector<ProbeResult> FunctionProber::Examine(std::span<const uint64_t> functions, bool) {
  return std::vector<ProbeResult>(functions.size(), {.reason = ProbeReason::kNotSupported});
}

std::vector<ProbeResult> FunctionProber::ExamineNotes(std::span<const uint64_t> notes) {
  return Examine(notes, false);
}

std::vector<ProbedFunction> FunctionProber::List(const FunctionFilter&, bool) { return {}; }
std::vector<ProbedFunction> FunctionProber::ListModule(const dl_phdr_info&, bool) { return {}; }
std::vector<uint64_t> FunctionProber::DirectCallees(const dl_phdr_info&, uint64_t) { return {}; }

ProbeStats FunctionProbeStats() { return {}; }
void LeaveThreadOutOfProbes() {}
const ProbeHandlers& VforkHandlers() {
  static constexpr ProbeHandlers kNone{};
  return kNone;
}
bool SetLeftOutOfProbes(bool) { return false; }
void CallWithAnyRegisters(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth,
                          void (*function)(uint64_t, uint64_t, uint64_t, uint64_t)) {
  function(first, second, third, fourth);
}
bool IsOnOwnStack(uint64_t, uint64_t) { return false; }

}  // namespace lagwatch::trace
