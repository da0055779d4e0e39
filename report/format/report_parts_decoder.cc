// SPDX-License-Identifier: Apache-2.0
#include "report/format/report_parts_decoder.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

template <typename Assign>
void ReadPacked(pbf_message<StackField>* message, std::vector<Frame>* frames, Assign assign) {
  size_t index = 0;
  for (uint64_t value : message->get_packed_uint64()) {
    if (index == frames->size()) frames->push_back({kNoModule, 0, 0});
    assign(&(*frames)[index++], value);
  }
}

}  // namespace

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
      case SampleField::kWallNs:
        sample.wall_ns = message.get_uint64();
        break;
      case SampleField::kCalls:
        sample.calls = message.get_uint64();
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
        thread.stack = message.get_uint32() - 1;
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
      case VerdictField::kProcessNs:
        read(&shares.process_ns);
        break;
      case VerdictField::kPipeNs:
        read(&shares.pipe_ns);
        break;
      case VerdictField::kDisplayNs:
        read(&shares.display_ns);
        break;
      case VerdictField::kServiceNs:
        read(&shares.service_ns);
        break;
      case VerdictField::kNameLookupNs:
        read(&shares.name_lookup_ns);
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
        wait.stack = message.get_uint32() - 1;
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
        wait.owner_stack = message.get_uint32() - 1;
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
        symbol.module = message.get_uint32() - 1;
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

}  // namespace lagwatch::report
