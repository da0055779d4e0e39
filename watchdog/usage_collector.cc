// SPDX-License-Identifier: Apache-2.0
#include "watchdog/usage_collector.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/ticks.h"
#include "stack/threads/thread_state.h"
#include "watchdog/events/hang_listener.h"
#include "watchdog/loops/dispatch_tag.h"
#include "watchdog/report_facts.h"

namespace lagwatch::watchdog {

void UsageReader::Skip(const LoopProbe& probe) {
  policies::LoopUsage before;
  ReadCounts(probe, &before);
  if (probe.notes() != nullptr) notes_read_ = probe.notes()->count();
}

void UsageReader::ReadCounts(const LoopProbe& probe, policies::LoopUsage* usage) {
  const uint64_t ended = probe.ended();  // first: the durations of all of these are counted by now
  uint64_t long_count = 0;
  for (size_t i = 0; i < long_counts_.size(); ++i) {
    const uint64_t now = probe.long_count(i);
    const uint64_t added = now - std::exchange(long_counts_[i], now);
    usage->durations.counts[i] += added;
    long_count += added;
  }
  // One that is just ending may have its duration counted already.
  const uint64_t known_ended = std::max(ended, ended_ + long_count);
  const uint64_t added = known_ended - std::exchange(ended_, known_ended);
  usage->dispatches += added;
  if (probe.is_timed()) {
    usage->durations.counts[0] += added - long_count;
  } else {
    usage->untimed_dispatches += added - long_count;
  }
}

bool UsageReader::ReadNote(const LoopProbe& probe, DispatchHistory::Dispatch* note, uint64_t* lost_count) {
  *lost_count = 0;
  if (probe.notes() == nullptr) return false;
  const DispatchHistory& notes = *probe.notes();
  const uint64_t count = notes.count();
  while (notes_read_ < count) {
    if (notes.ReadNumber(++notes_read_, note)) return true;
    ++*lost_count;
  }
  return false;
}

void UsageCollector::Collect(const WatchedLoop& loop, int64_t stopped_ns, int64_t last_look_ns,
                             const WatchTools& tools) {
  long_count_ = 0;
  if (tools.usage == nullptr) return;
  const int64_t now_ns = tools.NowNs();
  if (stopped_ns != 0) last_stop_ = {last_look_ns, now_ns, stopped_ns};
  policies::LoopUsage* usage = tools.usage->Of(thread_->loop_name);
  const int64_t before_ns = std::exchange(last_ns_, now_ns);
  const bool was_background = std::exchange(was_background_, !tools.is_foreground());
  const ValueIds values = std::exchange(was_values_, tools.usage->values().Present());
  if (before_ns != 0) {
    const int64_t added_ns = std::max<int64_t>(0, now_ns - before_ns - stopped_ns);
    usage->watched_ns += added_ns;
    tools.usage->values().AddWatched(values, added_ns);
    if (was_background) usage->background.watched_ns += added_ns;
  }
  reader_.ReadCounts(loop.probe, usage);
  ReadNotes(loop, now_ns, tools);
}

// Of the kinds that never overlap: the sum is time in which the loop did not answer.
void UsageCollector::CountHang(WatchedSpan* span, int64_t duration_ns, const WatchTools& tools) const {
  const HangKind kind = span->kind();
  if (tools.usage == nullptr || (kind != HangKind::kHang && kind != HangKind::kBusyLoop)) return;
  policies::LoopUsage* usage = tools.usage->Of(thread_->loop_name);
  if (span->counted_ns == 0) {
    span->is_background = !tools.is_foreground();
    span->values = tools.usage->values().Present();
    ++usage->hangs;
    tools.usage->values().AddHang(span->values);
    usage->background.hangs += span->is_background;
  }
  // Less than was counted, when it was over a little before the last look.
  const int64_t added_ns = duration_ns - std::exchange(span->counted_ns, std::max<int64_t>(duration_ns, 1));
  usage->hang_ns = std::max<int64_t>(0, usage->hang_ns + added_ns);
  tools.usage->values().AddHangTime(span->values, added_ns);
  if (span->is_background)
    usage->background.hang_ns = std::max<int64_t>(0, usage->background.hang_ns + added_ns);
}

void UsageCollector::ReadNotes(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools) {
  DispatchHistory::Dispatch note;
  uint64_t lost_count = 0;
  while (reader_.ReadNote(loop.probe, &note, &lost_count)) {
    tools.counters->notes_lost.Add(lost_count);
    if (IsFunctionTag(note.tag)) tools.capturer->RefreshModulesIfDue();  // no hang may have needed them yet
    PlaceFunctionTag(tools.capturer->modules(), note.tag);
    ReportNote(note, loop, now_ns, tools);
  }
  tools.counters->notes_lost.Add(lost_count);
}

void UsageCollector::ReportNote(const DispatchHistory::Dispatch& note, const WatchedLoop& loop,
                                int64_t now_ns, const WatchTools& tools) {
  const WatchOptions& options = *tools.options;
  const uint64_t end_ticks = note.begin_ticks + note.duration_ticks;
  const uint64_t now_ticks = base::ReadTicks();
  const int64_t end_ns = now_ns - tools.tick_scale->ToNs(now_ticks - std::min(end_ticks, now_ticks));
  int64_t duration_ns = tools.tick_scale->ToNs(note.duration_ticks);
  if (end_ns > last_stop_.from_ns && end_ns - duration_ns < last_stop_.to_ns)
    duration_ns -= last_stop_.lasted_ns;
  const int64_t threshold_ns = loop.limits.ThresholdsOr(options.thresholds()).threshold_ns;
  if (duration_ns > options.slow_dispatch_ns && duration_ns < threshold_ns) {
    tools.usage->AddSlow(thread_->loop_name, note.tag, duration_ns);
    ReportSlow(note, loop, end_ns, duration_ns, tools);
  }
  if (threshold_ns != 0 && duration_ns >= threshold_ns) KeepLong({note, end_ns, duration_ns}, tools);
  bool is_sensitive = options.sensitive_ns != 0 && duration_ns > options.sensitive_ns;
  if (!is_sensitive || options.listener == nullptr || !options.listener->WantsSensitive()) return;
  options.listener->OnSensitive({.loop_name = thread_->loop_name,
                                 .tag = note.tag,
                                 .tid = thread_->tid,
                                 .kind = HangKind::kHang,
                                 .level = HangLevel::kHang,
                                 .threshold_ns = options.sensitive_ns,
                                 .elapsed_ns = duration_ns});
}

void UsageCollector::KeepLong(const LongDispatch& dispatch, const WatchTools& tools) {
  if (long_count_ == long_.size()) {
    tools.counters->hangs_ended_first.Add();
    std::shift_left(long_.begin(), long_.end(), 1);
    --long_count_;
  }
  long_[long_count_++] = dispatch;
}

void UsageCollector::ReportSlow(const DispatchHistory::Dispatch& note, const WatchedLoop& loop,
                                int64_t end_ns, int64_t duration_ns, const WatchTools& tools) const {
  if (!tools.sink->WantsSlow()) return;
  if (!tools.options->reports_under_debugger && stack::ReadTracer(tools.process()) != 0) return;
  const int64_t begin_ns = end_ns - tools.tick_scale->ToNs(note.duration_ticks);
  FactList facts;
  if (note.queue_wait_ns != 0) facts.Add("queue_wait_ms", note.queue_wait_ns / base::kNsPerMs);
  AddSlowFrameFacts(loop.frames, begin_ns, end_ns, &facts);
  AddThreadFacts(note.tid, tools, &facts);
  tools.sink->OnSlow({.loop_name = thread_->loop_name,
                      .tag = note.tag,
                      .tid = note.tid,
                      .begin_mono_ns = begin_ns,
                      .duration_ns = duration_ns,
                      .threshold_ns = tools.options->slow_dispatch_ns,
                      .cpu_ns = std::min(note.cpu_ns, duration_ns),
                      .facts = facts.all()});
}

}  // namespace lagwatch::watchdog
