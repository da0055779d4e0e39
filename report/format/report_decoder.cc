// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "base/process/own_names.h"
#include "policies/fact_names.h"
#include "report/format/field_codec.h"
#include "report/format/report.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

template <typename Assign>
void ReadPacked(pbf_message<StackField>* message, std::vector<Frame>* frames, Assign assign) {
  const auto values = message->get_packed_uint64();
  frames->resize(std::max(frames->size(), values.size()), {kNoModule, 0, 0});
  auto frame = frames->begin();
  for (const uint64_t value : values) assign(&*frame++, value);
}

Stack ReadStack(pbf_message<StackField> message) {
  Stack stack;
  while (message.next()) {
    switch (message.tag()) {
      case StackField::kModule:
        ReadPacked(&message, &stack.frames,
                   [](Frame* frame, uint64_t value) { frame->module = static_cast<uint32_t>(value - 1); });
        break;
      case StackField::kOffset:
        ReadPacked(&message, &stack.frames, [](Frame* frame, uint64_t value) { frame->offset = value; });
        break;
      case StackField::kFunctionOffset:
        ReadPacked(&message, &stack.frames,
                   [](Frame* frame, uint64_t value) { frame->function_offset = value; });
        break;
      case StackField::kCompleteness:
        stack.completeness = static_cast<Completeness>(message.get_enum());
        break;
      case StackField::kGapAt:
        stack.gap_at = message.get_uint32();
        break;
      case StackField::kGapFrames:
        stack.gap_frames = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return stack;
}

}  // namespace

void Read(protozero::pbf_reader* message, Stack& stack) { stack = ReadStack(message->get_message()); }

namespace {

static_assert(kNoStack == kNoModule);
bool IsOutside(uint32_t index, size_t count) { return index != kNoStack && index >= count; }

void CheckReferences(const Report& report) {
  if (report.id == base::Uuid{}) throw SchemaError{"it has no id"};
  for (const Stack& stack : report.stacks) {
    for (const Frame& frame : stack.frames) {
      if (IsOutside(frame.module, report.modules.size()))
        throw SchemaError{"a frame names a module that is not there"};
    }
    if (stack.gap_at > stack.frames.size()) throw SchemaError{"a stack's gap is outside of it"};
  }
  for (const Sample& sample : report.samples) {
    if (sample.stack >= report.stacks.size()) throw SchemaError{"a sample names a stack that is not there"};
  }
  for (const Thread& thread : report.threads) {
    if (IsOutside(thread.stack, report.stacks.size()))
      throw SchemaError{"a thread names a stack that is not there"};
  }
  for (const Wait& wait : report.waits) {
    if (IsOutside(wait.stack, report.stacks.size()) || IsOutside(wait.owner_stack, report.stacks.size())) {
      throw SchemaError{"a wait names a stack that is not there"};
    }
    if (wait.lock.waits_for == WaitsFor::kOwner && wait.lock.owner_tid == 0) {
      throw SchemaError{"a wait names no owner"};
    }
  }
  bool has_cycle = !report.waits.empty() && report.waits.back().lock.waits_for == WaitsFor::kOwner;
  if (report.wait_outcome == WaitOutcome::kDeadlock && !has_cycle)
    throw SchemaError{"its deadlock has no cycle"};
  if (report.expensive_stack >= report.stacks.size()) throw SchemaError{"it has no expensive stack"};
}

class OwnFrames {
 public:
  explicit OwnFrames(const Report& report) {
    for (uint32_t i = 0; i < report.modules.size(); ++i) {
      if (base::IsOwnLibrary(report.modules[i].path)) modules_.insert(i);
    }
    for (const Symbol& symbol : report.symbols) {
      if (base::IsOwnFunctionName(symbol.name)) functions_.emplace(symbol.module, symbol.function_offset);
    }
  }

  bool is_empty() const { return modules_.empty() && functions_.empty(); }
  bool Has(const Frame& frame) const {
    return modules_.contains(frame.module) || functions_.contains({frame.module, frame.function_offset});
  }

 private:
  std::set<uint32_t> modules_;
  std::set<std::pair<uint32_t, uint64_t>> functions_;
};

void CutOwnFrames(const OwnFrames& own, Stack* stack) {
  const auto gap = stack->frames.begin() + stack->gap_at;
  const auto before_gap =
      std::count_if(stack->frames.begin(), gap, [&](auto& frame) { return own.Has(frame); });
  stack->gap_at -= static_cast<uint32_t>(before_gap);
  std::erase_if(stack->frames, [&](const Frame& frame) { return own.Has(frame); });
  const bool is_gap_at_end = stack->gap_frames != 0 && stack->gap_at == stack->frames.size();
  if (is_gap_at_end) stack->gap_at = static_cast<uint32_t>(stack->gap_frames = 0);
}

// A program may have any name, and its threads inherit it.
bool IsOwnThread(const Report& report, const Thread& thread) {
  return thread.tid != report.tid && thread.tid != report.pid && base::IsOwnThreadName(thread.name);
}

// Removes lagwatch's own frames and threads, so that no reader takes them for the program's. Clients do so
// themselves; older ones did not.
void HideOwnParts(Report* report) {
  const OwnFrames own(*report);
  for (Stack& stack : report->stacks) {
    if (!own.is_empty()) CutOwnFrames(own, &stack);
  }
  const auto noted = std::ranges::find(report->facts, policies::kOwnThreadsFact, &Fact::name);
  if (noted != report->facts.end()) {
    report->own_threads = static_cast<uint32_t>(std::clamp<int64_t>(noted->number, 0, UINT32_MAX));
    report->facts.erase(noted);
    return;
  }
  report->own_threads = static_cast<uint32_t>(
      std::erase_if(report->threads, [&](const Thread& thread) { return IsOwnThread(*report, thread); }));
}

template <typename Table>
base::Result<Report> Decode(const Table& table, std::string_view bytes) {
  return Guarded("the report", [&] {
    auto report = ReadRecord<Report>(table, bytes);
    CheckReferences(report);
    HideOwnParts(&report);
    return report;
  });
}

}  // namespace

base::Result<Report> DecodeReport(std::string_view bytes) { return Decode(kReportTable, bytes); }

base::Result<Report> DecodeReportStacks(std::string_view bytes) { return Decode(kReportStacksTable, bytes); }

}  // namespace lagwatch::report
