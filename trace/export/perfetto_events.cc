// SPDX-License-Identifier: Apache-2.0
#include "trace/export/perfetto_events.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "trace/export/perfetto_packets.h"
#include "trace/export/timeline.h"

namespace lagwatch::trace {
namespace {

void AddArgument(EventBuilder* event, const EventArgument& argument) {
  ProtoWriter<AnnotationField> annotation(*event, TrackEventField::kDebugAnnotation);
  annotation.add_string(AnnotationField::kName, OneLine(argument.first));
  if (const auto* number = std::get_if<int64_t>(&argument.second)) {
    annotation.add_int64(AnnotationField::kInt, *number);
  } else if (const auto* unsigned_number = std::get_if<uint64_t>(&argument.second)) {
    annotation.add_uint64(AnnotationField::kUint, *unsigned_number);
  } else if (const auto* real = std::get_if<double>(&argument.second)) {
    annotation.add_double(AnnotationField::kDouble, *real);
  } else {
    annotation.add_string(AnnotationField::kText, OneLine(std::get<std::string>(argument.second)));
  }
}

// Of one thread. The last to end is the outermost, so each is cut to the one that ended after it: the clock
// of a call's end is read a little later than that of the calls within it.
void Nest(std::vector<const ThreadEvent*>* events, std::vector<std::pair<int64_t, int64_t>>* shown) {
  std::stable_sort(events->begin(), events->end(),
                   [](const auto* left, const auto* right) { return left->end_ns < right->end_ns; });
  shown->resize(events->size());
  std::vector<size_t> open;
  for (size_t i = events->size(); i-- != 0;) {
    const ThreadEvent& event = *(*events)[i];
    (*shown)[i] = {std::min(event.begin_ns, event.end_ns), event.end_ns};
    while (!open.empty() && (*shown)[open.back()].first >= event.end_ns) open.pop_back();
    if (!open.empty()) (*shown)[i].first = std::max((*shown)[i].first, (*shown)[open.back()].first);
    open.push_back(i);
  }
}

void AddName(EventBuilder* event, const ThreadEvent& shown) {
  event->add_string(TrackEventField::kCategory, "probe");
  event->add_string(TrackEventField::kName, OneLine(shown.name));
  for (const EventArgument& argument : shown.arguments) AddArgument(event, argument);
}

void AddThreadEvents(uint64_t uuid, std::vector<const ThreadEvent*> events, PacketWriter* packets) {
  std::vector<std::pair<int64_t, int64_t>> shown;
  Nest(&events, &shown);
  std::vector<size_t> order(events.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;  // the outer ones first
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t left, size_t right) { return shown[left].first < shown[right].first; });
  std::vector<size_t> open;
  const auto end_before = [&](int64_t time_ns) {
    for (; !open.empty() && shown[open.back()].second <= time_ns; open.pop_back())
      packets->AddEvent(EventType::kEnd, uuid, shown[open.back()].second, [](EventBuilder*) {});
  };
  for (const size_t i : order) {
    end_before(shown[i].first);
    const bool is_instant = shown[i].first == shown[i].second;
    packets->AddEvent(is_instant ? EventType::kInstant : EventType::kBegin, uuid, shown[i].first,
                      [&](EventBuilder* event) { AddName(event, *events[i]); });
    if (!is_instant) open.push_back(i);
  }
  end_before(INT64_MAX);
}

void AddCounter(const Trace& header, uint64_t number, const NamedCounter& counter, PacketWriter* packets) {
  const uint64_t uuid = TrackUuid(header.pid, TrackKind::kNamedCounter, number);
  packets->Add(std::nullopt, [&](PacketBuilder* packet) {
    ProtoWriter<TrackDescriptorField> track(*packet, PacketField::kTrackDescriptor);
    track.add_uint64(TrackDescriptorField::kUuid, uuid);
    track.add_string(TrackDescriptorField::kName, OneLine(counter.name));
    track.add_uint64(TrackDescriptorField::kParentUuid, TrackUuid(header.pid, TrackKind::kProcess, 0));
    ProtoWriter<CounterField> description(track, TrackDescriptorField::kCounter);
    // Without a field the message would not be written, and the track be none of a counter.
    const CounterUnit unit = counter.is_time ? CounterUnit::kNanoseconds : CounterUnit::kUnspecified;
    description.add_int32(CounterField::kUnit, static_cast<int32_t>(unit));
  });
  for (const auto& [time_ns, value] : counter.values) {
    packets->AddEvent(EventType::kCounter, uuid, time_ns, [&, number = value](EventBuilder* event) {
      constexpr double kMostExact = 9e15;  // below 2^53
      if (std::abs(number) < kMostExact && std::trunc(number) == number)
        event->add_int64(TrackEventField::kCounterValue, static_cast<int64_t>(number));
      else
        event->add_double(TrackEventField::kDoubleCounterValue, number);
    });
  }
}

}  // namespace

std::string PerfettoEvents(Trace header, std::vector<ThreadEvent> events,
                           const std::vector<NamedCounter>& counters) {
  std::map<int32_t, std::vector<const ThreadEvent*>> by_thread;
  for (const ThreadEvent& event : events) by_thread[event.tid].push_back(&event);
  for (const auto& [tid, unused] : by_thread) {
    const auto is_it = [number = tid](const Thread& thread) { return thread.tid == number; };
    if (std::none_of(header.threads.begin(), header.threads.end(), is_it)) {
      header.threads.emplace_back();
      header.threads.back().tid = tid;
    }
  }
  PacketWriter packets(header);
  AddProcessTrack(header, &packets);
  for (const Thread& thread : header.threads) AddThreadTrack(header, thread, &packets);
  for (auto& [tid, of_thread] : by_thread) {
    const uint64_t uuid = TrackUuid(header.pid, TrackKind::kThread, static_cast<uint64_t>(tid));
    AddThreadEvents(uuid, std::move(of_thread), &packets);
  }
  for (uint64_t i = 0; i < counters.size(); ++i) AddCounter(header, i, counters[i], &packets);
  for (const Loss& loss : header.losses) {
    const uint64_t process = TrackUuid(header.pid, TrackKind::kProcess, 0);
    packets.AddEvent(EventType::kInstant, process, header.begin_ns, [&](EventBuilder* event) {
      event->add_string(TrackEventField::kCategory, "loss");
      event->add_string(TrackEventField::kName,
                        "lost: " + std::to_string(loss.count) + " " + OneLine(loss.what));
    });
  }
  return packets.Take();
}

}  // namespace lagwatch::trace
