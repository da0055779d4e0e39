// SPDX-License-Identifier: Apache-2.0
// Says which functions and notes can be probed, in which way, or why not; changes nothing.
#include <algorithm>
#include <utility>

#include "stack/elf/local_symbols.h"
#include "trace/instrument/patch_site.h"
#include "trace/instrument/probes/code_scan.h"
#include "trace/instrument/probes/instruction.h"
#include "trace/instrument/probes/prober_state.h"

namespace lagwatch::trace {
namespace {

struct ExamineWork {
  std::span<const uint64_t> functions;
  bool wants_return;
  bool are_notes;
  std::vector<ProbeResult> results;
};

struct ListWork {
  const FunctionFilter& filter;
  bool wants_return;
  std::vector<ProbedFunction> functions;
};

}  // namespace

ProbeResult FunctionProber::State::ExamineOne(const Pass& pass, const ProbedModule& module, uint64_t place,
                                              bool wants_return, bool is_note) {
  HeadPlace head{};
  ProbeResult result;
  const auto known = places.find(place);
  if (known != places.end() && known->second.IsIn(module) && known->second.is_patched) {
    const bool is_refused = wants_return && known->second.reads_return_address;
    result.reason = is_refused ? ProbeReason::kReadsReturnAddress : ProbeReason::kNone;
    result.tier = known->second.patch.tier;
    return result;
  }
  result.reason =
      is_note ? NoteRefusal(pass, module, place, &head) : Refusal(pass, module, place, wants_return, &head);
  if (result.reason != ProbeReason::kNone) return result;
  const bool is_known = known != places.end() && known->second.IsIn(module);  // its jump is there
  result.tier = is_known ? known->second.patch.tier : FindTier(pass.memory, space, head);
  if (result.tier == ProbeTier::kNone) result.reason = head.WhyNoJump();
  return result;
}

void FunctionProber::State::ExamineIn(Pass* pass, const ProbedModule& module) {
  auto* found = static_cast<ExamineWork*>(pass->work);
  for (size_t i = 0; i < found->functions.size(); ++i) {
    const uint64_t place = found->functions[i];
    if (!module.HasCode(place)) continue;
    found->results[i] = pass->state->ExamineOne(*pass, module, place, found->wants_return, found->are_notes);
  }
}

std::vector<ProbeResult> FunctionProber::Examine(std::span<const uint64_t> functions, bool wants_return) {
  return state_->Examine(functions, wants_return, /*are_notes=*/false);
}

std::vector<ProbeResult> FunctionProber::ExamineNotes(std::span<const uint64_t> notes) {
  return state_->Examine(notes, /*wants_return=*/false, /*are_notes=*/true);
}

std::vector<ProbeResult> FunctionProber::State::Examine(std::span<const uint64_t> functions,
                                                        bool wants_return, bool are_notes) {
  std::vector<ProbeResult> results;
  const ProbeReason refusal = CanPatch() ? ProbeReason::kNotPermitted : ProbeReason::kNotSupported;
  while (results.size() < functions.size()) {
    const auto some =
        functions.subspan(results.size(), std::min(functions.size() - results.size(), kMostAtOnce));
    ExamineWork work{some, wants_return, are_notes,
                     std::vector<ProbeResult>(some.size(), {.reason = ProbeReason::kNotCode})};
    if (!CanPatch() || !Walk(&ExamineIn, &work))
      work.results.assign(some.size(), ProbeResult{.reason = refusal});
    results.insert(results.end(), work.results.begin(), work.results.end());
  }
  return results;
}

void FunctionProber::State::ListIn(Pass* pass, const ProbedModule& module) {
  auto* listed = static_cast<ListWork*>(pass->work);
  if (!listed->filter.WantsModule(module.path)) return;
  const auto names = stack::FunctionTable::Load(module.path, module.build_id);
  for (size_t i = 0; i < module.functions.size(); ++i) {
    const uint64_t function = module.functions.BeginOf(i);
    if (!listed->filter.WantsAddress(function)) continue;
    std::string name = names.NameAt(function - module.load_bias).value_or("");
    const RuledFunction ruled{.module = module.path,
                              .build_id = module.build_id,
                              .offset = function - module.load_bias,
                              .symbol = name};
    if (!listed->filter.WantsName(ruled)) continue;
    const ProbeResult result =
        pass->state->ExamineOne(*pass, module, function, listed->wants_return, /*is_note=*/false);
    if (result.reason == ProbeReason::kUnusualFrame) continue;
    listed->functions.push_back({function, std::move(name), module.path, result});
  }
}

std::vector<ProbedFunction> FunctionProber::List(const FunctionFilter& filter, bool wants_return) {
  ListWork work{filter, wants_return, {}};
  if (CanPatch())
    static_cast<void>(state_->Walk(&State::ListIn, &work));  // without, there is nothing to list
  return std::move(work.functions);
}

std::vector<ProbedFunction> FunctionProber::ListModule(const dl_phdr_info& info, bool wants_return) {
  const FunctionFilter all;
  ListWork work{all, wants_return, {}};
  const CodeWriter writer;
  const MemoryMap memory;
  State state;
  Pass pass{.state = &state,
            .writer = writer,
            .memory = memory,
            .visit = &State::ListIn,
            .work = &work,
            .ranges = {}};
  const ProbedModule module(info);
  if (CanPatch() && module.code_begin < module.code_end) State::ListIn(&pass, module);
  return std::move(work.functions);
}

std::vector<uint64_t> FunctionProber::DirectCallees(const dl_phdr_info& info, uint64_t function) {
  std::vector<uint64_t> callees;
  const ProbedModule module(info);
  const UnwindIndex::Function found = module.functions.Find(function);
  if (found.begin != function || !module.HasCode(found.begin) || !module.HasCode(found.end - 1))
    return callees;
  for (uint64_t at = found.begin; at < found.end;) {
    const Instruction instruction = DecodeInstruction(CodeAt(at), found.end - at, at);
    if (instruction.size_bytes == 0) break;
    const bool leaves = instruction.target - found.begin >= found.end - found.begin;
    const bool is_jump = instruction.kind == Instruction::Kind::kJump ||
                         instruction.kind == Instruction::Kind::kConditionalJump;
    if (instruction.kind == Instruction::Kind::kCall || (is_jump && leaves))
      callees.push_back(instruction.target);
    at += instruction.size_bytes;
  }
  return callees;
}

}  // namespace lagwatch::trace
