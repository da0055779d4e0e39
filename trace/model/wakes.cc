// SPDX-License-Identifier: Apache-2.0
#include "trace/model/wakes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lagwatch::trace {
namespace {

// A thread that finds the lock taken may read the clock just after its owner did, which is about
// to release it.
constexpr int64_t kStampSlackNs = 100'000;

struct Moment {
  uint32_t thread = 0;
  const Run* run = nullptr;

  int64_t time_ns() const { return run->begin_ns; }
};

// Of one object.
struct Meeting {
  std::vector<Moment> waits;  // ascending by end
  std::vector<Moment> wakes;  // ascending
};
using Meetings = std::map<std::pair<CallKind, uint64_t>, Meeting>;

Wake Join(const Moment& wait, uint32_t waker_thread, int64_t time_ns) {
  return {.waker_thread = waker_thread,
          .time_ns = time_ns,
          .waiter_thread = wait.thread,
          .wait_begin_ns = wait.run->begin_ns,
          .wake_ns = wait.run->end_ns,
          .call = wait.run->call,
          .object = wait.run->object};
}

Meetings FindMeetings(const Trace& trace) {
  Meetings meetings;
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    for (const Run& run : trace.threads[thread].runs) {
      if (run.object == 0) continue;
      const auto key = std::pair(run.call, run.object);
      if (run.kind == RunKind::kWaited) meetings[key].waits.push_back({thread, &run});
      if (run.kind == RunKind::kWoke) meetings[key].wakes.push_back({thread, &run});
    }
  }
  for (auto& [key, meeting] : meetings) {
    std::stable_sort(meeting.waits.begin(), meeting.waits.end(), [](const Moment& left, const Moment& right) {
      return left.run->end_ns < right.run->end_ns;
    });
    std::stable_sort(meeting.wakes.begin(), meeting.wakes.end(), [](const Moment& left, const Moment& right) {
      return left.time_ns() < right.time_ns();
    });
  }
  return meetings;
}

// The index behind the last wake at or before `time_ns`.
size_t WakesUntil(const Meeting& meeting, int64_t time_ns) {
  const auto found = std::upper_bound(meeting.wakes.begin(), meeting.wakes.end(), time_ns,
                                      [](int64_t time, const Moment& wake) { return time < wake.time_ns(); });
  return static_cast<size_t>(found - meeting.wakes.begin());
}

void JoinLocks(const Meeting& meeting, int64_t slack_ns, std::vector<Wake>* wakes) {
  for (const Moment& wait : meeting.waits) {
    for (size_t i = WakesUntil(meeting, wait.run->end_ns); i > 0; --i) {
      const Moment& wake = meeting.wakes[i - 1];
      if (wake.time_ns() < wait.run->begin_ns - slack_ns) break;
      if (wake.thread == wait.thread) continue;
      wakes->push_back(Join(wait, wake.thread, wake.time_ns()));
      break;
    }
  }
}

void JoinSignals(const Meeting& meeting, std::vector<Wake>* wakes) {
  std::vector<size_t> by_begin(meeting.waits.size());
  for (size_t i = 0; i < by_begin.size(); ++i) by_begin[i] = i;
  std::stable_sort(by_begin.begin(), by_begin.end(), [&](size_t left, size_t right) {
    return meeting.waits[left].run->begin_ns < meeting.waits[right].run->begin_ns;
  });
  std::set<size_t> waiting;  // indices of meeting.waits, so by end
  size_t next = 0;
  for (const Moment& wake : meeting.wakes) {
    while (next < by_begin.size() && meeting.waits[by_begin[next]].run->begin_ns <= wake.time_ns())
      waiting.insert(by_begin[next++]);
    while (!waiting.empty() && meeting.waits[*waiting.begin()].run->end_ns < wake.time_ns())
      waiting.erase(waiting.begin());
    for (auto each = waiting.begin(); each != waiting.end();) {
      const Moment& wait = meeting.waits[*each];
      if (wait.thread == wake.thread) {
        ++each;
        continue;
      }
      wakes->push_back(Join(wait, wake.thread, wake.time_ns()));
      each = waiting.erase(each);
      if (!wake.run->is_for_all) break;
    }
  }
}

void JoinTokens(const Meeting& meeting, std::vector<Wake>* wakes) {
  std::set<size_t> left;  // indices of meeting.wakes, so by time
  for (size_t i = 0; i < meeting.wakes.size(); ++i) left.insert(left.end(), i);
  for (size_t i = meeting.waits.size(); i > 0; --i) {
    const Moment& wait = meeting.waits[i - 1];
    auto behind = left.lower_bound(WakesUntil(meeting, wait.run->end_ns));
    while (behind != left.begin()) {
      const auto each = std::prev(behind);
      const Moment& wake = meeting.wakes[*each];
      if (wake.time_ns() < wait.run->begin_ns - kStampSlackNs) break;
      if (wake.thread != wait.thread) {
        wakes->push_back(Join(wait, wake.thread, wake.time_ns()));
        left.erase(each);
        break;
      }
      behind = each;
    }
  }
}

// Its last sign of life.
int64_t EndOf(const Thread& thread) {
  int64_t end_ns = INT64_MIN;
  for (const Run& run : thread.runs) end_ns = std::max(end_ns, run.end_ns);
  if (!thread.calls.empty()) end_ns = std::max(end_ns, thread.calls.back().time_ns);
  return end_ns;
}

void JoinEnds(const Trace& trace, const Meeting& meeting, std::vector<Wake>* wakes) {
  if (!meeting.wakes.empty()) return JoinLocks(meeting, INT64_MAX / 2, wakes);
  for (uint32_t i = 0; i < trace.threads.size(); ++i) {
    const Thread& thread = trace.threads[i];
    if (static_cast<uint64_t>(thread.tid) != meeting.waits.front().run->object) continue;
    const int64_t end_ns = EndOf(thread);
    for (const Moment& wait : meeting.waits) {
      if (wait.thread != i && end_ns != INT64_MIN)
        wakes->push_back(Join(wait, i, std::min(end_ns, wait.run->end_ns)));
    }
    return;
  }
}

}  // namespace

std::vector<Wake> FindWakes(const Trace& trace) {
  std::vector<Wake> wakes;
  for (const auto& [key, meeting] : FindMeetings(trace)) {
    if (meeting.waits.empty()) continue;
    switch (key.first) {
      case CallKind::kCondition:
        JoinSignals(meeting, &wakes);
        break;
      case CallKind::kSemaphore:
        JoinTokens(meeting, &wakes);
        break;
      case CallKind::kJoin:
        JoinEnds(trace, meeting, &wakes);
        break;
      default:
        JoinLocks(meeting, kStampSlackNs, &wakes);
    }
  }
  std::stable_sort(wakes.begin(), wakes.end(),
                   [](const Wake& left, const Wake& right) { return left.wake_ns < right.wake_ns; });
  return wakes;
}

}  // namespace lagwatch::trace
