// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "report/format/field_codec.h"
#include "report/format/own_parts.h"
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

template <typename Field, typename Table, typename Part>
void Add(Table table, pbf_message<Field> message, std::vector<Part>* parts) {
  ReadFields<Field>(table, message, &parts->emplace_back());
}

Report ReadReport(pbf_message<ReportField> message) {
  Report report;
  while (message.next()) {
    switch (message.tag()) {
      case ReportField::kCpu:
        ReadFields<CpuField>(kCpuTable, message.get_message(), &report);
        break;
      case ReportField::kModules:
        Add<ModuleField>(kModuleTable, message.get_message(), &report.modules);
        break;
      case ReportField::kStacks:
        report.stacks.push_back(ReadStack(message.get_message()));
        break;
      case ReportField::kSamples:
        Add<SampleField>(kSampleTable, message.get_message(), &report.samples);
        break;
      case ReportField::kThreads:
        Add<ThreadField>(kThreadTable, message.get_message(), &report.threads);
        break;
      case ReportField::kSymbols:
        Add<SymbolField>(kSymbolTable, message.get_message(), &report.symbols);
        break;
      case ReportField::kWaits:
        Add<WaitField>(kWaitTable, message.get_message(), &report.waits);
        break;
      case ReportField::kVerdict:
        ReadFields<VerdictField>(kVerdictTable, message.get_message(), &report.verdict);
        break;
      case ReportField::kDiscount:
        ReadFields<DiscountField>(kDiscountTable, message.get_message(), &report.discounted);
        break;
      case ReportField::kHistory:
        Add<PastDispatchField>(kPastDispatchTable, message.get_message(), &report.history);
        break;
      case ReportField::kFacts:
        Add<FactField>(kFactTable, message.get_message(), &report.facts);
        break;
      default:
        if (!TryReadField(kHeaderTable, &message, &report) && !TryReadField(kReportTable, &message, &report))
          message.skip();
    }
  }
  return report;
}

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

}  // namespace

base::Result<Report> DecodeReport(std::string_view bytes) {
  return Guarded("the report", [&] {
    Report report = ReadReport(pbf_message<ReportField>(bytes.data(), bytes.size()));
    CheckReferences(report);
    HideOwnParts(&report);
    return report;
  });
}

}  // namespace lagwatch::report
