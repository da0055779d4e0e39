// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "report/format/guarded_read.h"
#include "report/format/own_parts.h"
#include "report/format/report.h"
#include "report/format/report_parts_decoder.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

void ReadCpu(pbf_message<CpuField> message, Report* report) {
  while (message.next()) {
    switch (message.tag()) {
      case CpuField::kWindowNs:
        report->cpu_window_ns = message.get_uint64();
        break;
      case CpuField::kThreadNs:
        report->cpu_thread_ns = message.get_uint64();
        break;
      case CpuField::kProcessNs:
        report->cpu_process_ns = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
}

Report ReadReport(pbf_message<ReportField> message) {
  Report report;
  while (message.next()) {
    switch (message.tag()) {
      case ReportField::kId:
        report.id = ReadUuid(&message);
        break;
      case ReportField::kSessionId:
        report.session_id = ReadUuid(&message);
        break;
      case ReportField::kLagId:
        report.lag_id = ReadUuid(&message);
        break;
      case ReportField::kOrdinal:
        report.ordinal = message.get_uint32();
        break;
      case ReportField::kApp:
        report.app = message.get_string();
        break;
      case ReportField::kAppVersion:
        report.app_version = message.get_string();
        break;
      case ReportField::kUser:
        report.user = message.get_string();
        break;
      case ReportField::kOs:
        report.os = message.get_string();
        break;
      case ReportField::kMachine:
        report.machine = message.get_string();
        break;
      case ReportField::kPid:
        report.pid = message.get_uint32();
        break;
      case ReportField::kTid:
        report.tid = message.get_uint32();
        break;
      case ReportField::kLoop:
        report.loop = message.get_string();
        break;
      case ReportField::kTag:
        report.tag = message.get_string();
        break;
      case ReportField::kKind:
        report.kind = static_cast<HangKind>(message.get_enum());
        break;
      case ReportField::kThresholdMs:
        report.threshold_ms = message.get_uint32();
        break;
      case ReportField::kStartWallMs:
        report.start_wall_ms = message.get_uint64();
        break;
      case ReportField::kElapsedNs:
        report.elapsed_ns = message.get_uint64();
        break;
      case ReportField::kCpu:
        ReadCpu(message.get_message(), &report);
        break;
      case ReportField::kModules:
        report.modules.push_back(ReadModule(message.get_message()));
        break;
      case ReportField::kStacks:
        report.stacks.push_back(ReadStack(message.get_message()));
        break;
      case ReportField::kSamples:
        report.samples.push_back(ReadSample(message.get_message()));
        break;
      case ReportField::kExpensiveStack:
        report.expensive_stack = message.get_uint32();
        break;
      case ReportField::kThreads:
        report.threads.push_back(ReadThread(message.get_message()));
        break;
      case ReportField::kSymbols:
        report.symbols.push_back(ReadSymbol(message.get_message()));
        break;
      case ReportField::kThreadsDropped:
        report.threads_dropped = message.get_uint32();
        break;
      case ReportField::kWaits:
        report.waits.push_back(ReadWait(message.get_message()));
        break;
      case ReportField::kWaitOutcome:
        report.wait_outcome = static_cast<WaitOutcome>(message.get_enum());
        break;
      case ReportField::kLevel:
        report.level = static_cast<HangLevel>(message.get_enum());
        break;
      case ReportField::kVerdict:
        report.verdict = ReadVerdict(message.get_message());
        break;
      case ReportField::kGuard:
        report.guard = ReadGuard(message.get_message());
        break;
      case ReportField::kHistory:
        report.history.push_back(ReadPastDispatch(message.get_message()));
        break;
      case ReportField::kFacts:
        report.facts.push_back(ReadFact(message.get_message()));
        break;
      case ReportField::kSampleRatePpm:
        report.sample_rate_ppm = message.get_uint32();
        break;
      case ReportField::kCause:
        report.cause = message.get_fixed64();
        break;
      default:
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
    if (wait.waits_for == WaitsFor::kOwner && wait.owner_tid == 0) {
      throw SchemaError{"a wait names no owner"};
    }
  }
  bool has_cycle = !report.waits.empty() && report.waits.back().waits_for == WaitsFor::kOwner;
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
