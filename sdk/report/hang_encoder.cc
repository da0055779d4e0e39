// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/hang_encoder.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/hash.h"
#include "policies/cluster/cause_key.h"
#include "sdk/run/run_record.h"

namespace lagwatch::sdk {
namespace {

// Fractions of a microsecond are noise, and would be most of the bytes that are sent.
int64_t WholeUs(int64_t ns) {
  constexpr int64_t kNsPerUs = 1000;
  return ns / kNsPerUs * kNsPerUs;
}

policies::ThreadUse WholeUs(policies::ThreadUse use) {
  use.cpu_ns = WholeUs(use.cpu_ns);
  return use;
}

policies::Verdict WholeUs(policies::Verdict verdict) {
  policies::TimeShares& shares = verdict.shares;
  shares.wall_ns = WholeUs(shares.wall_ns);
  for (const policies::TimeShare& share : policies::kTimeShares) shares.*share.ns = WholeUs(shares.*share.ns);
  verdict.use = WholeUs(verdict.use);
  return verdict;
}

// One more than the module map has, for code made at run time.
constexpr uint32_t kGeneratedCodeSlot = stack::ModuleMap::kMaxModules;
constexpr uint32_t kPeerSlots = kGeneratedCodeSlot + 1;  // the first of the modules of other processes
constexpr uint32_t kModuleSlots = kPeerSlots + stack::ModuleMap::kMaxModules;

}  // namespace

uint64_t CauseOf(const watchdog::HangEvent& event) {
  const stack::Stack& stack = *event.expensive_stack;
  policies::CauseKey key;
  for (const stack::Frame& frame : stack.view()) {
    if (key.is_complete()) break;
    if (frame.module == stack::kNoModule) {
      key.AddOutsideModules();
    } else {
      const stack::Module& module = event.modules->module(frame.module);
      key.Add(module.path_view(), module.build_id_view(), frame.symbol_offset());
    }
  }
  return key.value();
}

HangEncoder::HangEncoder(const ProgramFacts* facts, const ProgramContext* program)
    : facts_(*facts), program_(program), encoded_modules_(new uint32_t[kModuleSlots]()) {}

bool HangEncoder::Encode(const watchdog::HangEvent& event, bool is_in_start, report::FixedBuffer* buffer) {
  const bool is_start_hang = is_in_start && event.kind == policies::HangKind::kHang;
  ForgetModulesFrom(0);
  named_count_ = 0;
  unnamed_.Rewind(0);
  report::ReportEncoder encoder(buffer);
  const policies::ScrubbedText loop = facts_.scrubber.Text(event.loop);
  const policies::ScrubbedText tag = facts_.scrubber.Text(event.tag);
  report::ReportHeader header = event;
  facts_.Fill(&header);
  header.loop = loop.view();
  header.tag = tag.view();
  if (is_start_hang) header.kind = report::HangKind::kStartupHang;
  for (int64_t* ns :
       {&header.elapsed_ns, &header.cpu_window_ns, &header.cpu_thread_ns, &header.cpu_process_ns})
    *ns = WholeUs(*ns);
  encoder.SetHeader(header);
  encoder.SetVerdict(WholeUs(event.verdict));
  for (const watchdog::Fact& fact : event.facts) {
    fact.text == nullptr ? encoder.AddNumber(fact.name, fact.number)
                         : encoder.AddText(fact.name, facts_.scrubber.Text(fact.text).view());
  }
  if (is_in_start && !is_start_hang) encoder.AddNumber("before_ready", 1);
  AddProgramContext(*program_, facts_.scrubber, &encoder);
  encoder.SetExpensiveStack(EncodeStack(*event.expensive_stack, event, &encoder));
  for (const watchdog::LoopSample* sample : event.samples) {
    encoder.AddSample({.age_ns = WholeUs(event.detected_mono_ns - sample->mono_ns),
                       .stack = EncodeStack(sample->stack, event, &encoder),
                       .use = WholeUs(sample->use)});
  }
  if (!encoder.ok()) return false;
  encoder.SetDiscount(event.discounted);
  EncodeWaits(event, &encoder);
  EncodeHistory(event, &encoder);
  EncodeThreads(event, &encoder);
  return encoder.ok();
}

void HangEncoder::EncodeWaits(const watchdog::HangEvent& event, report::ReportEncoder* encoder) {
  const Encoded before = Note(*encoder);
  for (const watchdog::Wait& wait : event.waits) {
    const policies::ScrubbedText owner_name = facts_.scrubber.Text(wait.owner_name);
    const policies::ScrubbedText owner_process = facts_.scrubber.Text(wait.owner_process);
    report::WaitView view = wait;
    view.stack = EncodeOptionalStack(wait.frames, event, encoder, wait.modules);
    view.owner_name = owner_name.view();
    view.owner_process = owner_process.view();
    // Its map was just read for the stack: this does not wait.
    if (wait.owner_modules != nullptr)
      view.owner_session_id = SessionOfPeer(base::Process::Other(static_cast<int32_t>(wait.owner_pid)));
    view.owner_stack = EncodeOptionalStack(wait.owner_frames, event, encoder, wait.owner_modules);
    encoder->AddWait(view);
  }
  encoder->SetWaitOutcome(event.wait_outcome);
  if (encoder->ok()) return;
  RewindTo(before, encoder);
}

void HangEncoder::EncodeHistory(const watchdog::HangEvent& event, report::ReportEncoder* encoder) {
  report::ReportEncoder::Mark before = encoder->mark();
  for (report::PastDispatchView dispatch : event.history) {
    const policies::ScrubbedText tag = facts_.scrubber.Text(dispatch.tag);
    dispatch.tag = tag.view();
    encoder->AddPastDispatch(dispatch);
  }
  if (!encoder->ok()) encoder->RewindTo(before);
}

void HangEncoder::EncodeThreads(const watchdog::HangEvent& event, report::ReportEncoder* encoder) {
  uint32_t dropped = event.threads_dropped;
  for (const watchdog::ThreadSnapshot* snapshot : event.threads) {
    const Encoded before = Note(*encoder);
    const policies::ScrubbedText name = facts_.scrubber.Text(snapshot->name);
    report::ThreadView thread = snapshot->View();
    thread.name = name.view();
    thread.stack = EncodeOptionalStack(&snapshot->stack, event, encoder);
    thread.cpu_ns = WholeUs(thread.cpu_ns);
    encoder->AddThread(thread);
    if (encoder->ok()) continue;
    // Later threads may have shorter stacks.
    RewindTo(before, encoder);
    ++dropped;
  }
  encoder->SetThreadsDropped(dropped);
}

uint32_t HangEncoder::EncodeStack(const stack::Stack& stack, const watchdog::HangEvent& event,
                                  report::ReportEncoder* encoder) {
  return EncodeFrames(stack, *event.modules, *event.script_functions, 0, encoder);
}

uint32_t HangEncoder::EncodeOptionalStack(const stack::Stack* stack, const watchdog::HangEvent& event,
                                          report::ReportEncoder* encoder,
                                          const stack::ModuleMap* peer_modules) {
  if (stack == nullptr || stack->frame_count == 0) return report::kNoStack;
  return peer_modules != nullptr
             ? EncodeFrames(*stack, *peer_modules, *event.peer_functions, kPeerSlots, encoder)
             : EncodeStack(*stack, event, encoder);
}

uint32_t HangEncoder::EncodeFrames(const stack::Stack& stack, const stack::ModuleMap& modules,
                                   const stack::ScriptFunctions& functions, uint32_t first_slot,
                                   report::ReportEncoder* encoder) {
  std::array<report::Frame, stack::kMaxFrames> frames;
  for (uint32_t i = 0; i < stack.frame_count; ++i) {
    const stack::Frame& frame = stack.frames[i];
    frames[i] = {EncodedModule(frame.module, modules, first_slot, encoder), frame.offset,
                 frame.function_offset};
    if (frame.module != stack::kNoModule && modules.module(frame.module).is_language)
      NameScriptFunction(frames[i].module, frame.function_offset, functions, encoder);
    unnamed_.Add(modules, frame.module, frames[i].module, frame.symbol_offset());
  }
  return encoder->AddStack({frames.data(), stack.frame_count}, stack.completeness,
                           {stack.gap_at, stack.gap_frame_count});
}

void HangEncoder::NameScriptFunction(uint32_t module, uint64_t number,
                                     const stack::ScriptFunctions& functions,
                                     report::ReportEncoder* encoder) {
  const uint64_t hash = base::HashWord(number, base::HashWord(module, base::kFnvOffsetBasis));
  const auto named_end = named_.begin() + named_count_;
  if (named_count_ == kMaxNamed || std::find(named_.begin(), named_end, hash) != named_end) return;
  const stack::ScriptFunction function = functions.Find(number);
  if (function.name.empty()) return;
  named_[named_count_++] = hash;
  constexpr size_t kMaxBytes = 2 * stack::ScriptFunctions::kMaxNameBytes + 3;
  char name[kMaxBytes];
  size_t size = function.name.copy(name, function.name.size());
  if (!function.file.empty()) {
    size += std::string_view(" (").copy(name + size, 2);
    size += function.file.copy(name + size, function.file.size());
    name[size++] = ')';
  }
  encoder->AddSymbol(module, number, facts_.scrubber.Text({name, size}).view());
}

uint32_t HangEncoder::EncodedModule(uint32_t module, const stack::ModuleMap& modules, uint32_t first_slot,
                                    report::ReportEncoder* encoder) {
  const bool is_generated = module == stack::kNoModule;
  uint32_t& encoded = encoded_modules_[is_generated ? kGeneratedCodeSlot : first_slot + module];
  if (encoded == 0 && is_generated) {
    encoded = encoder->AddModule(policies::kGeneratedCodeModule, {}, 0) + 1;
  } else if (encoded == 0) {
    const stack::Module& loaded = modules.module(module);
    encoded = encoder->AddModule(facts_.scrubber.Path(loaded.path_view()).view(), loaded.build_id_view(),
                                 loaded.load_bias) +
              1;
  }
  return encoded - 1;
}

void HangEncoder::RewindTo(const Encoded& encoded, report::ReportEncoder* encoder) {
  encoder->RewindTo(encoded.mark);
  ForgetModulesFrom(encoded.mark.module_count);
  named_count_ = encoded.named_count;
  unnamed_.Rewind(encoded.unnamed_count);
}

void HangEncoder::ForgetModulesFrom(uint32_t first_encoded_index) {
  for (uint32_t i = 0; i < kModuleSlots; ++i) {
    if (encoded_modules_[i] > first_encoded_index) encoded_modules_[i] = 0;
  }
}

}  // namespace lagwatch::sdk
