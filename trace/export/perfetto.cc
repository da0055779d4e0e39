// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "trace/export/export.h"
#include "trace/export/perfetto_packets.h"
#include "trace/export/timeline.h"
#include "trace/model/functions.h"
#include "trace/model/wakes.h"

namespace lagwatch::trace {
namespace {

// One side of a wake, as an instant: that of the waiter lies in the wait's last moment, since arrows point
// from the earlier event to the later one, and the wait began before it was ended.
struct Side {
  int64_t time_ns;
  bool is_waker;
  uint64_t flow_id;
  uint32_t other_thread;
  uint64_t object;
};

ProtoWriter<AnnotationField> Annotate(EventBuilder* event, Annotation name) {
  ProtoWriter<AnnotationField> annotation(*event, TrackEventField::kDebugAnnotation);
  annotation.add_uint64(AnnotationField::kNameIid, static_cast<uint64_t>(name));
  return annotation;
}
void AddText(EventBuilder* event, Annotation name, std::string_view text) {
  Annotate(event, name).add_string(AnnotationField::kText, text.data(), text.size());
}
void AddAbove0(EventBuilder* event, Annotation name, uint64_t number) {
  if (number != 0) Annotate(event, name).add_uint64(AnnotationField::kUint, number);
}
void AddObject(EventBuilder* event, uint64_t object) {
  if (object != 0) Annotate(event, Annotation::kObject).add_uint64(AnnotationField::kPointer, object);
}
void AddTrue(EventBuilder* event, Annotation name) {
  Annotate(event, name).add_bool(AnnotationField::kBool, true);
}
void SetCategory(EventBuilder* event, Category category) {
  event->add_uint64(TrackEventField::kCategoryIid, static_cast<uint64_t>(category));
}

void AddUsed(EventBuilder* event, const Totals& used) {
  AddAbove0(event, Annotation::kCpuNs, static_cast<uint64_t>(used.cpu_ns));
  AddAbove0(event, Annotation::kAllocations, used.allocations);
  AddAbove0(event, Annotation::kAllocatedBytes, used.allocated_bytes);
  AddAbove0(event, Annotation::kMinorFaults, used.minor_faults);
  AddAbove0(event, Annotation::kMajorFaults, used.major_faults);
  AddAbove0(event, Annotation::kVoluntarySwitches, used.voluntary_switches);
  AddAbove0(event, Annotation::kInvoluntarySwitches, used.involuntary_switches);
}

class PerfettoWriter {
 public:
  PerfettoWriter(const Timeline& timeline, const SliceOptions& options)
      : timeline_(timeline), trace_(timeline.trace), packets_(timeline.trace), sides_(trace_.threads.size()) {
    for (const Thread& thread : trace_.threads)
      spans_.push_back(FindSpans(trace_, thread, timeline.functions, options));
  }

  std::string Write() {
    AddInternedData(timeline_, Stacks(), &packets_);
    AddProcessTrack(trace_, &packets_);
    for (const Thread& thread : trace_.threads) AddThreadTrack(trace_, thread, &packets_);
    FindSides();
    for (const Track& track : timeline_.tracks) AddTrack(track);
    for (uint32_t i = 0; i < trace_.threads.size(); ++i) {
      AddDispatches(trace_.threads[i]);
      AddCounters(trace_.threads[i]);
      AddSamples(i);
    }
    for (const Loss& loss : trace_.losses) AddLoss(loss);
    return packets_.Take();
  }

 private:
  uint64_t Uuid(TrackKind kind, int32_t tid) const {
    return TrackUuid(trace_.pid, kind, static_cast<uint64_t>(tid));
  }

  std::vector<uint32_t> Stacks() const {
    std::vector<uint32_t> stacks;
    for (size_t i = 0; i < spans_.size(); ++i)
      for (const Span& span : spans_[i]) stacks.push_back(trace_.threads[i].runs[span.run].stack);
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
    return stacks;
  }

  // Below the thread's own.
  uint64_t AddChild(TrackKind kind, const Thread& thread, const char* name,
                    std::optional<CounterUnit> unit = std::nullopt) {
    const uint64_t uuid = Uuid(kind, thread.tid);
    packets_.Add(std::nullopt, [&](PacketBuilder* packet) {
      ProtoWriter<TrackDescriptorField> track(*packet, PacketField::kTrackDescriptor);
      track.add_uint64(TrackDescriptorField::kUuid, uuid);
      track.add_string(TrackDescriptorField::kName, name);
      track.add_uint64(TrackDescriptorField::kParentUuid, Uuid(TrackKind::kThread, thread.tid));
      if (!unit.has_value()) return;
      ProtoWriter<CounterField> counter(track, TrackDescriptorField::kCounter);
      counter.add_int32(CounterField::kUnit, static_cast<int32_t>(*unit));
    });
    return uuid;
  }

  void FindSides() {
    uint64_t count = 0;
    for (const Wake& wake : FindWakes(trace_)) {
      const uint64_t id = base::HashWord(++count, Uuid(TrackKind::kProcess, 0));
      sides_[wake.waker_thread].push_back({wake.time_ns, true, id, wake.waiter_thread, wake.object});
      sides_[wake.waiter_thread].push_back({wake.wake_ns, false, id, wake.waker_thread, wake.object});
    }
    for (auto& sides : sides_)
      std::stable_sort(sides.begin(), sides.end(),
                       [](const Side& left, const Side& right) { return left.time_ns < right.time_ns; });
  }

  void AddTrack(const Track& track) {
    const Thread& thread = trace_.threads[track.thread];
    const bool is_beside = !track.is_instrumented && HasTwoTracks(timeline_, track);
    const uint64_t uuid = is_beside ? AddChild(TrackKind::kBesideCalls, thread, "samples")
                                    : Uuid(TrackKind::kThread, thread.tid);
    static const std::vector<Side> kNone;
    const std::vector<Side>& sides = track.is_instrumented ? kNone : sides_[track.thread];
    size_t next = 0;
    const auto add_sides_before = [&](int64_t time_ns) {
      for (; next < sides.size() && sides[next].time_ns < time_ns; ++next) AddSide(uuid, sides[next]);
    };
    WalkTrack(
        track,
        [&](uint32_t index) {
          add_sides_before(track.slices[index].begin_ns);
          AddBegin(uuid, track.slices[index]);
        },
        [&](uint32_t index) {
          add_sides_before(track.slices[index].end_ns + 1);
          packets_.AddEvent(EventType::kEnd, uuid, track.slices[index].end_ns, [](EventBuilder*) {});
        });
    add_sides_before(INT64_MAX);
  }

  void AddBegin(uint64_t uuid, const Slice& slice) {
    packets_.AddEvent(EventType::kBegin, uuid, slice.begin_ns, [&](EventBuilder* event) {
      SetCategory(event, slice.is_estimated ? Category::kEstimated : Category::kExact);
      event->add_uint64(TrackEventField::kNameIid, EventNameIid(timeline_.functions[slice.frame]));
      AddAbove0(event, Annotation::kCount, slice.count);
      AddAbove0(event, Annotation::kGapNs, static_cast<uint64_t>(slice.gap_ns));
      AddAbove0(event, Annotation::kDispatch, slice.dispatch);
      if (slice.call != CallKind::kNone) AddText(event, Annotation::kCall, NameOf(slice.call));
      AddObject(event, slice.object);
      if (slice.is_estimated) AddTrue(event, Annotation::kEstimated);
      if (slice.is_unfinished) AddTrue(event, Annotation::kUnfinished);
      if (slice.used.has_value()) AddUsed(event, *slice.used);
    });
  }

  void AddSide(uint64_t uuid, const Side& side) {
    packets_.AddEvent(EventType::kInstant, uuid, side.time_ns, [&](EventBuilder* event) {
      SetCategory(event, Category::kWake);
      event->add_string(TrackEventField::kName, side.is_waker ? "wakes" : "woken");
      AddText(event, Annotation::kThread, ThreadName(trace_.threads[side.other_thread]));
      AddObject(event, side.object);
      event->add_fixed64(side.is_waker ? TrackEventField::kFlowId : TrackEventField::kTerminatingFlowId,
                         side.flow_id);
    });
  }

  void AddDispatches(const Thread& thread) {
    if (thread.dispatches.empty()) return;
    const uint64_t uuid = AddChild(TrackKind::kDispatches, thread, "dispatches");
    int64_t free_ns = INT64_MIN;
    for (const Dispatch& dispatch : thread.dispatches) {
      if (dispatch.begin_ns < free_ns) continue;
      free_ns =
          dispatch.end_ns >= dispatch.begin_ns ? dispatch.end_ns : std::max(trace_.end_ns, dispatch.begin_ns);
      packets_.AddEvent(EventType::kBegin, uuid, dispatch.begin_ns, [&](EventBuilder* event) {
        SetCategory(event, Category::kDispatch);
        event->add_string(TrackEventField::kName, dispatch.tag.empty() ? "dispatch" : OneLine(dispatch.tag));
        AddAbove0(event, Annotation::kDispatch, dispatch.id);
      });
      packets_.AddEvent(EventType::kEnd, uuid, free_ns, [](EventBuilder*) {});
    }
  }

  void AddCounters(const Thread& thread) {
    const auto has_totals = [](const Run& run) { return run.totals.has_value(); };
    if (std::none_of(thread.runs.begin(), thread.runs.end(), has_totals)) return;
    const uint64_t cpu = AddChild(TrackKind::kCpu, thread, "CPU time", CounterUnit::kNanoseconds);
    const uint64_t allocated = AddChild(TrackKind::kAllocated, thread, "allocated", CounterUnit::kBytes);
    const auto add = [&](uint64_t uuid, int64_t time_ns, int64_t value) {
      packets_.AddEvent(EventType::kCounter, uuid, time_ns, [&](EventBuilder* event) {
        event->add_int64(TrackEventField::kCounterValue, value);
      });
    };
    for (const Run& run : thread.runs) {
      if (!has_totals(run)) continue;
      add(cpu, run.end_ns, run.totals->cpu_ns);
      add(allocated, run.end_ns, static_cast<int64_t>(run.totals->allocated_bytes));
    }
  }

  // Twice: what reads the one kind of sample ignores the other.
  void AddSamples(uint32_t index) {
    const Thread& thread = trace_.threads[index];
    if (spans_[index].empty()) return;
    const uint64_t uuid = AddChild(TrackKind::kSamples, thread, "stacks");
    for (const Span& span : spans_[index]) {
      const uint64_t iid = CallstackIid(thread.runs[span.run].stack);
      const auto weight_ns = static_cast<uint64_t>(span.end_ns - span.begin_ns);
      packets_.Add(span.seen_begin_ns, [&](PacketBuilder* packet) {
        ProtoWriter<StackSampleField> sample(*packet, PacketField::kStackSample);
        sample.add_uint64(StackSampleField::kCallstackIid, iid);
        sample.add_uint64(StackSampleField::kPrimaryWeight, weight_ns);
        ProtoWriter<TaskField> task(sample, StackSampleField::kTask);
        task.add_uint32(TaskField::kPid, static_cast<uint32_t>(trace_.pid));
        task.add_uint32(TaskField::kTid, static_cast<uint32_t>(thread.tid));
      });
      packets_.AddEvent(EventType::kInstant, uuid, span.seen_begin_ns, [&](EventBuilder* event) {
        SetCategory(event, Category::kSample);
        event->add_string(TrackEventField::kName, "stack");
        event->add_uint64(TrackEventField::kCallstackIid, iid);
        event->add_uint64(TrackEventField::kCallstackWeight, weight_ns);
      });
    }
  }

  void AddLoss(const Loss& loss) {
    packets_.AddEvent(EventType::kInstant, Uuid(TrackKind::kProcess, 0), trace_.begin_ns,
                      [&](EventBuilder* event) {
                        SetCategory(event, Category::kLoss);
                        event->add_string(TrackEventField::kName, "lost: " + OneLine(loss.what));
                        AddAbove0(event, Annotation::kCount, loss.count);
                        AddText(event, Annotation::kRemedy, OneLine(loss.remedy));
                      });
  }

  const Timeline& timeline_;
  const Trace& trace_;
  PacketWriter packets_;
  std::vector<std::vector<Span>> spans_;  // by thread
  std::vector<std::vector<Side>> sides_;  // by thread
};

}  // namespace

std::string PerfettoTrace(const Trace& trace, const SliceOptions& options) {
  const Timeline timeline = MakeTimeline(trace, options);
  return PerfettoWriter(timeline, options).Write();
}

}  // namespace lagwatch::trace
