// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>

#include "report/format/guarded_read.h"
#include "report/format/report.h"

namespace lagwatch::report {
namespace {

using base::Result;
using protozero::pbf_message;

Module ReadModule(pbf_message<ModuleField> message) {
  Module module;
  while (message.next()) {
    switch (message.tag()) {
      case ModuleField::kPath:
        module.path = message.get_string();
        break;
      case ModuleField::kBuildId:
        module.build_id = message.get_bytes();
        break;
      case ModuleField::kLoadBias:
        module.load_bias = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return module;
}

// Fills from the front; what is more than there is room for is skipped.
template <typename Field, size_t kCount>
void ReadCounts(pbf_message<Field>* message, std::array<uint64_t, kCount>* counts) {
  size_t index = 0;
  for (uint64_t value : message->get_packed_uint64()) {
    if (index < kCount) (*counts)[index++] = value;
  }
}

template <typename Assign>
void ReadPacked(pbf_message<StackField>* message, std::vector<Frame>* frames, Assign assign) {
  size_t index = 0;
  for (uint64_t value : message->get_packed_uint64()) {
    if (index == frames->size()) frames->emplace_back();
    assign(&(*frames)[index++], value);
  }
}

Stack ReadStack(pbf_message<StackField> message) {
  Stack stack;
  while (message.next()) {
    switch (message.tag()) {
      case StackField::kModule:
        ReadPacked(&message, &stack.frames,
                   [](Frame* frame, uint64_t value) { frame->module = static_cast<uint32_t>(value); });
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

Sample ReadSample(pbf_message<SampleField> message) {
  Sample sample;
  auto read = [&](int64_t* number) { *number = static_cast<int64_t>(message.get_uint64()); };
  while (message.next()) {
    switch (message.tag()) {
      case SampleField::kAgeNs:
        sample.age_ns = message.get_uint64();
        break;
      case SampleField::kStack:
        sample.stack = message.get_uint32();
        break;
      case SampleField::kUsedCpuNs:
        read(&sample.use.cpu_ns);
        break;
      case SampleField::kUsedMinorFaults:
        read(&sample.use.minor_faults);
        break;
      case SampleField::kUsedMajorFaults:
        read(&sample.use.major_faults);
        break;
      case SampleField::kUsedVoluntarySwitches:
        read(&sample.use.voluntary_switches);
        break;
      case SampleField::kUsedInvoluntarySwitches:
        read(&sample.use.involuntary_switches);
        break;
      default:
        message.skip();
    }
  }
  return sample;
}

Thread ReadThread(pbf_message<ThreadField> message) {
  Thread thread;
  while (message.next()) {
    switch (message.tag()) {
      case ThreadField::kTid:
        thread.tid = message.get_uint32();
        break;
      case ThreadField::kName:
        thread.name = message.get_string();
        break;
      case ThreadField::kState:
        thread.state = message.get_string();
        break;
      case ThreadField::kStack:
        thread.stack = message.get_uint32();
        break;
      case ThreadField::kCpuNs:
        thread.cpu_ns = message.get_uint64();
        break;
      case ThreadField::kWaitChannel:
        thread.wait_channel = message.get_string();
        break;
      case ThreadField::kSyscall:
        thread.syscall = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return thread;
}

policies::Verdict ReadVerdict(pbf_message<VerdictField> message) {
  policies::Verdict verdict;
  policies::TimeShares& shares = verdict.shares;
  auto read = [&](int64_t* number) { *number = static_cast<int64_t>(message.get_uint64()); };
  while (message.next()) {
    switch (message.tag()) {
      case VerdictField::kWord:
        verdict.word = static_cast<policies::VerdictWord>(message.get_enum());
        break;
      case VerdictField::kWallNs:
        read(&shares.wall_ns);
        break;
      case VerdictField::kUserNs:
        read(&shares.user_ns);
        break;
      case VerdictField::kKernelNs:
        read(&shares.kernel_ns);
        break;
      case VerdictField::kRunQueueNs:
        read(&shares.run_queue_ns);
        break;
      case VerdictField::kThrottledNs:
        read(&shares.throttled_ns);
        break;
      case VerdictField::kLockNs:
        read(&shares.lock_ns);
        break;
      case VerdictField::kDiskNs:
        read(&shares.disk_ns);
        break;
      case VerdictField::kMemoryNs:
        read(&shares.memory_ns);
        break;
      case VerdictField::kNetworkNs:
        read(&shares.network_ns);
        break;
      case VerdictField::kSleepNs:
        read(&shares.sleep_ns);
        break;
      case VerdictField::kStoppedNs:
        read(&shares.stopped_ns);
        break;
      case VerdictField::kCpuNs:
        read(&verdict.use.cpu_ns);
        break;
      case VerdictField::kMinorFaults:
        read(&verdict.use.minor_faults);
        break;
      case VerdictField::kMajorFaults:
        read(&verdict.use.major_faults);
        break;
      case VerdictField::kVoluntarySwitches:
        read(&verdict.use.voluntary_switches);
        break;
      case VerdictField::kInvoluntarySwitches:
        read(&verdict.use.involuntary_switches);
        break;
      default:
        message.skip();
    }
  }
  return verdict;
}

policies::GuardFindings ReadGuard(pbf_message<GuardField> message) {
  policies::GuardFindings findings;
  while (message.next()) {
    switch (message.tag()) {
      case GuardField::kSuspendedNs:
        findings.suspended_ns = static_cast<int64_t>(message.get_uint64());
        break;
      case GuardField::kStoppedNs:
        findings.stopped_ns = static_cast<int64_t>(message.get_uint64());
        break;
      case GuardField::kLateNs:
        findings.late_ns = static_cast<int64_t>(message.get_uint64());
        break;
      case GuardField::kDebuggerPid:
        findings.debugger_pid = static_cast<int32_t>(message.get_uint32());
        break;
      default:
        message.skip();
    }
  }
  return findings;
}

PastDispatch ReadPastDispatch(pbf_message<PastDispatchField> message) {
  PastDispatch dispatch;
  while (message.next()) {
    switch (message.tag()) {
      case PastDispatchField::kTag:
        dispatch.tag = message.get_string();
        break;
      case PastDispatchField::kAgeNs:
        dispatch.age_ns = message.get_uint64();
        break;
      case PastDispatchField::kWallNs:
        dispatch.wall_ns = message.get_uint64();
        break;
      case PastDispatchField::kCpuNs:
        dispatch.cpu_ns = message.get_uint64();
        break;
      case PastDispatchField::kQueueWaitNs:
        dispatch.queue_wait_ns = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return dispatch;
}

Fact ReadFact(pbf_message<FactField> message) {
  Fact fact;
  while (message.next()) {
    switch (message.tag()) {
      case FactField::kName:
        fact.name = message.get_string();
        break;
      case FactField::kNumber:
        fact.number = message.get_int64();
        break;
      case FactField::kText:
        fact.text = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return fact;
}

Wait ReadWait(pbf_message<WaitField> message) {
  Wait wait;
  while (message.next()) {
    switch (message.tag()) {
      case WaitField::kTid:
        wait.tid = message.get_uint32();
        break;
      case WaitField::kStack:
        wait.stack = message.get_uint32();
        break;
      case WaitField::kLock:
        wait.lock = message.get_uint64();
        break;
      case WaitField::kKind:
        wait.kind = static_cast<LockKind>(message.get_enum());
        break;
      case WaitField::kWaitsFor:
        wait.waits_for = static_cast<WaitsFor>(message.get_enum());
        break;
      case WaitField::kHasTimeout:
        wait.has_timeout = message.get_bool();
        break;
      case WaitField::kOwnerTid:
        wait.owner_tid = message.get_uint32();
        break;
      case WaitField::kOwnerName:
        wait.owner_name = message.get_string();
        break;
      case WaitField::kOwnerStack:
        wait.owner_stack = message.get_uint32();
        break;
      default:
        message.skip();
    }
  }
  return wait;
}

Symbol ReadSymbol(pbf_message<SymbolField> message) {
  Symbol symbol;
  while (message.next()) {
    switch (message.tag()) {
      case SymbolField::kModule:
        symbol.module = message.get_uint32();
        break;
      case SymbolField::kFunctionOffset:
        symbol.function_offset = message.get_uint64();
        break;
      case SymbolField::kName:
        symbol.name = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return symbol;
}

template <typename Field>
int64_t ReadMeasure(pbf_message<Field>* message) {
  return static_cast<int64_t>(std::min<uint64_t>(message->get_uint64(), INT64_MAX));
}

// Of a newer version's longer one, what is beyond is added to the last bucket.
template <typename Field>
policies::DurationHistogram ReadHistogram(pbf_message<Field>* message) {
  policies::DurationHistogram histogram;
  size_t bucket = 0;
  for (uint64_t count : message->get_packed_uint64())
    histogram.counts[std::min(bucket++, histogram.counts.size() - 1)] += count;
  return histogram;
}

LoopUsage ReadLoopUsage(pbf_message<LoopUsageField> message) {
  LoopUsage loop;
  policies::LoopUsage& usage = loop.usage;
  while (message.next()) {
    switch (message.tag()) {
      case LoopUsageField::kLoop:
        loop.loop = message.get_string();
        break;
      case LoopUsageField::kWatchedNs:
        usage.watched_ns = ReadMeasure(&message);
        break;
      case LoopUsageField::kDispatches:
        usage.dispatches = message.get_uint64();
        break;
      case LoopUsageField::kUntimedDispatches:
        usage.untimed_dispatches = message.get_uint64();
        break;
      case LoopUsageField::kLags:
        usage.lags = message.get_uint64();
        break;
      case LoopUsageField::kLaggedNs:
        usage.lagged_ns = ReadMeasure(&message);
        break;
      case LoopUsageField::kDurations:
        usage.durations = ReadHistogram(&message);
        break;
      default:
        message.skip();
    }
  }
  return loop;
}

SlowTag ReadSlowTag(pbf_message<SlowTagField> message) {
  SlowTag slow;
  policies::SlowDispatches& dispatches = slow.dispatches;
  while (message.next()) {
    switch (message.tag()) {
      case SlowTagField::kLoop:
        slow.loop = message.get_string();
        break;
      case SlowTagField::kTag:
        slow.tag = message.get_string();
        break;
      case SlowTagField::kCount:
        dispatches.count = message.get_uint64();
        break;
      case SlowTagField::kTotalNs:
        dispatches.total_ns = ReadMeasure(&message);
        break;
      case SlowTagField::kLongestNs:
        dispatches.longest_ns = ReadMeasure(&message);
        break;
      case SlowTagField::kDurations:
        dispatches.durations = ReadHistogram(&message);
        break;
      default:
        message.skip();
    }
  }
  return slow;
}

Suppressed ReadSuppressed(pbf_message<SuppressedField> message) {
  Suppressed suppressed;
  while (message.next()) {
    switch (message.tag()) {
      case SuppressedField::kReason: {
        int32_t reason = message.get_enum();
        bool is_known = reason >= 0 && static_cast<size_t>(reason) < policies::kSuppressedReasons;
        if (is_known) suppressed.reason = static_cast<policies::SuppressedReason>(reason);
        break;
      }
      case SuppressedField::kCount:
        suppressed.count = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return suppressed;
}

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
        report.kind = static_cast<Kind>(message.get_enum());
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
        report.level = static_cast<Level>(message.get_enum());
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

void CheckReferences(const Report& report) {
  if (report.id == base::Uuid{}) throw SchemaError{"it has no id"};
  for (const Stack& stack : report.stacks) {
    for (const Frame& frame : stack.frames) {
      if (frame.module > report.modules.size()) throw SchemaError{"a frame names a module that is not there"};
    }
    if (stack.gap_at > stack.frames.size()) throw SchemaError{"a stack's gap is outside of it"};
  }
  for (const Sample& sample : report.samples) {
    if (sample.stack >= report.stacks.size()) throw SchemaError{"a sample names a stack that is not there"};
  }
  for (const Thread& thread : report.threads) {
    if (thread.stack > report.stacks.size()) throw SchemaError{"a thread names a stack that is not there"};
  }
  for (const Wait& wait : report.waits) {
    if (std::max(wait.stack, wait.owner_stack) > report.stacks.size()) {
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

Result<Report> DecodeReport(std::string_view bytes) {
  return Guarded("the report", [&] {
    Report report = ReadReport(pbf_message<ReportField>(bytes.data(), bytes.size()));
    CheckReferences(report);
    return report;
  });
}

Result<LagEnd> DecodeLagEnd(std::string_view bytes) {
  return Guarded("the lag's end", [&] {
    LagEnd end;
    pbf_message<LagEndField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case LagEndField::kReportId:
          end.report_id = ReadUuid(&message);
          break;
        case LagEndField::kDurationNs:
          end.duration_ns = message.get_uint64();
          break;
        default:
          message.skip();
      }
    }
    if (end.report_id == base::Uuid{}) throw SchemaError{"it names no report"};
    return end;
  });
}

Result<RunEnd> DecodeRunEnd(std::string_view bytes) {
  return Guarded("the run's end", [&] {
    RunEnd end;
    pbf_message<RunEndField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case RunEndField::kSessionId:
          end.session_id = ReadUuid(&message);
          break;
        case RunEndField::kReason: {
          int32_t reason = message.get_enum();
          bool is_known = reason >= 0 && reason <= policies::kLastExitReason;
          end.reason = is_known ? static_cast<policies::ExitReason>(reason) : policies::ExitReason::kUnknown;
          break;
        }
        case RunEndField::kSignal:
          end.signal = static_cast<int32_t>(message.get_uint32());
          break;
        case RunEndField::kReportId:
          end.report_id = ReadUuid(&message);
          break;
        case RunEndField::kLagNs:
          end.lag_ns = message.get_uint64();
          break;
        case RunEndField::kLoop:
          end.loop = message.get_string();
          break;
        case RunEndField::kRunStartWallMs:
          end.run_start_wall_ms = message.get_uint64();
          break;
        case RunEndField::kLastSeenWallMs:
          end.last_seen_wall_ms = message.get_uint64();
          break;
        case RunEndField::kScene:
          end.scene = message.get_string();
          break;
        case RunEndField::kApp:
          end.app = message.get_string();
          break;
        case RunEndField::kAppVersion:
          end.app_version = message.get_string();
          break;
        case RunEndField::kUser:
          end.user = message.get_string();
          break;
        case RunEndField::kSampleRatePpm:
          end.sample_rate_ppm = message.get_uint32();
          break;
        default:
          message.skip();
      }
    }
    if (end.session_id == base::Uuid{}) throw SchemaError{"it names no session"};
    return end;
  });
}

Result<FrameSlice> DecodeFrameSlice(std::string_view bytes) {
  return Guarded("the frames' record", [&] {
    FrameSlice slice;
    pbf_message<FrameSliceField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case FrameSliceField::kId:
          slice.id = ReadUuid(&message);
          break;
        case FrameSliceField::kSessionId:
          slice.session_id = ReadUuid(&message);
          break;
        case FrameSliceField::kApp:
          slice.app = message.get_string();
          break;
        case FrameSliceField::kAppVersion:
          slice.app_version = message.get_string();
          break;
        case FrameSliceField::kUser:
          slice.user = message.get_string();
          break;
        case FrameSliceField::kLoop:
          slice.loop = message.get_string();
          break;
        case FrameSliceField::kScene:
          slice.scene = message.get_string();
          break;
        case FrameSliceField::kBeginWallMs:
          slice.begin_wall_ms = message.get_uint64();
          break;
        case FrameSliceField::kDurationNs:
          slice.duration_ns = message.get_uint64();
          break;
        case FrameSliceField::kRefreshIntervalNs:
          slice.refresh_interval_ns = message.get_uint64();
          break;
        case FrameSliceField::kFrameCount:
          slice.frames.frames = message.get_uint64();
          break;
        case FrameSliceField::kDropped:
          slice.frames.dropped = message.get_uint64();
          break;
        case FrameSliceField::kFramesByLevel:
          ReadCounts(&message, &slice.frames.by_level);
          break;
        case FrameSliceField::kNsByStage:
          ReadCounts(&message, &slice.frames.by_stage_ns);
          break;
        case FrameSliceField::kSampleRatePpm:
          slice.sample_rate_ppm = message.get_uint32();
          break;
        default:
          message.skip();
      }
    }
    if (slice.id == base::Uuid{}) throw SchemaError{"it has no id"};
    return slice;
  });
}

Result<Usage> DecodeUsage(std::string_view bytes) {
  return Guarded("the usage", [&] {
    Usage usage;
    pbf_message<UsageField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case UsageField::kId:
          usage.id = ReadUuid(&message);
          break;
        case UsageField::kSessionId:
          usage.session_id = ReadUuid(&message);
          break;
        case UsageField::kApp:
          usage.app = message.get_string();
          break;
        case UsageField::kAppVersion:
          usage.app_version = message.get_string();
          break;
        case UsageField::kUser:
          usage.user = message.get_string();
          break;
        case UsageField::kBeginWallMs:
          usage.begin_wall_ms = message.get_uint64();
          break;
        case UsageField::kEndWallMs:
          usage.end_wall_ms = message.get_uint64();
          break;
        case UsageField::kLoops:
          usage.loops.push_back(ReadLoopUsage(message.get_message()));
          break;
        case UsageField::kSlow:
          usage.slow.push_back(ReadSlowTag(message.get_message()));
          break;
        case UsageField::kSuppressed:
          usage.suppressed.push_back(ReadSuppressed(message.get_message()));
          break;
        case UsageField::kSampleRatePpm:
          usage.sample_rate_ppm = message.get_uint32();
          break;
        default:
          message.skip();
      }
    }
    if (usage.id == base::Uuid{}) throw SchemaError{"it has no id"};
    return usage;
  });
}

Result<std::vector<Record>> SplitBatch(std::string_view bytes) {
  return Guarded("the batch", [&] {
    std::vector<Record> records;
    pbf_message<RecordType> message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
        message.skip();
        continue;
      }
      const RecordType type = message.tag();
      auto view = message.get_view();
      records.push_back({type, {view.data(), view.size()}});
    }
    return records;
  });
}

std::string EncodeRunEnd(const RunEnd& end) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  auto put_text = [&](RunEndField field, std::string_view text) {
    if (!text.empty()) writer.add_bytes(Number(field), text.data(), text.size());
  };
  auto put_number = [&](RunEndField field, uint64_t number) {
    if (number != 0) writer.add_uint64(Number(field), number);
  };
  put_text(RunEndField::kSessionId, end.session_id.as_bytes());
  put_number(RunEndField::kReason, static_cast<uint64_t>(end.reason));
  put_number(RunEndField::kSignal, static_cast<uint64_t>(end.signal));
  if (end.report_id != base::Uuid{}) put_text(RunEndField::kReportId, end.report_id.as_bytes());
  put_number(RunEndField::kLagNs, end.lag_ns);
  put_text(RunEndField::kLoop, end.loop);
  put_number(RunEndField::kRunStartWallMs, end.run_start_wall_ms);
  put_number(RunEndField::kLastSeenWallMs, end.last_seen_wall_ms);
  put_text(RunEndField::kScene, end.scene);
  put_text(RunEndField::kApp, end.app);
  put_text(RunEndField::kAppVersion, end.app_version);
  put_text(RunEndField::kUser, end.user);
  return bytes;
}

void AppendToBatch(const Record& record, std::string* batch) {
  protozero::pbf_writer(*batch).add_bytes(Number(record.type), record.payload.data(), record.payload.size());
}

void AppendSymbol(const Symbol& symbol, std::string* encoded_report) {
  protozero::pbf_writer report(*encoded_report);
  protozero::pbf_writer writer(report, Number(ReportField::kSymbols));
  writer.add_uint32(Number(SymbolField::kModule), symbol.module);
  writer.add_uint64(Number(SymbolField::kFunctionOffset), symbol.function_offset);
  writer.add_string(Number(SymbolField::kName), symbol.name);
}

void AppendCause(uint64_t cause, std::string* encoded_report) {
  protozero::pbf_writer(*encoded_report).add_fixed64(Number(ReportField::kCause), cause);
}

void AppendSampleRate(RecordType type, uint32_t sample_rate_ppm, std::string* encoded_record) {
  auto append = [&](auto field) {
    protozero::pbf_writer(*encoded_record).add_uint32(Number(field), sample_rate_ppm);
  };
  switch (type) {
    case RecordType::kReport:
      return append(ReportField::kSampleRatePpm);
    case RecordType::kRunEnd:
      return append(RunEndField::kSampleRatePpm);
    case RecordType::kFrameSlice:
      return append(FrameSliceField::kSampleRatePpm);
    case RecordType::kUsage:
      return append(UsageField::kSampleRatePpm);
    case RecordType::kLagEnd:
    case RecordType::kLosses:
    case RecordType::kPacked:
      return;
  }
}

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kLag:
      return "lag";
    case Kind::kBusyLoop:
      return "busy-loop";
    case Kind::kWaited:
      return "waited";
    case Kind::kIdleHandler:
      return "idle-handler";
    case Kind::kInput:
      return "input";
    case Kind::kScope:
      return "scope";
    case Kind::kCpu:
      return "cpu";
    case Kind::kCpuAverage:
      return "cpu-average";
    case Kind::kFrames:
      return "frames";
    case Kind::kStartup:
      return "startup";
    case Kind::kStartupLag:
      return "startup-lag";
    case Kind::kDump:
      return "dump";
    case Kind::kKilledInHang:
      return "killed-in-hang";
    case Kind::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view LevelName(Level level) { return level == Level::kAnr ? "anr" : "lag"; }

std::string_view LockKindName(LockKind kind) {
  switch (kind) {
    case LockKind::kMutex:
      return "mutex";
    case LockKind::kRwLock:
      return "rwlock";
    case LockKind::kThread:
      return "thread";
    case LockKind::kCondition:
      return "condition";
    case LockKind::kSemaphore:
      return "semaphore";
    case LockKind::kBarrier:
      return "barrier";
    case LockKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view WaitsForName(WaitsFor waits_for) {
  switch (waits_for) {
    case WaitsFor::kOwner:
      return "owner";
    case WaitsFor::kReaders:
      return "readers";
    case WaitsFor::kSignal:
      return "signal";
    case WaitsFor::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace lagwatch::report
