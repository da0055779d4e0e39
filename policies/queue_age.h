// SPDX-License-Identifier: Apache-2.0
// Estimates how long a queue's oldest task has waited, from two numbers alone: the tasks queued so far and
// the tasks run. A check that finds N queued proves that the first N are there since then at the latest; so
// the age is a lower bound, short by no more than the time between two checks. Tasks are assumed to run in
// the order in which they were queued. Context: watchdog; pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::policies {

class QueueAge {
 public:
  // A look at the queue. An overdue wait goes on as long as the oldest task of each look has waited for
  // longer than the threshold, whichever task that is.
  void Observe(int64_t now_ns, uint64_t queued, uint64_t run, int64_t threshold_ns) {
    length_ = queued > run ? queued - run : 0;
    int64_t old_begin_ns = begin_ns();
    size_t run_marks = 0;
    while (run_marks < mark_count_ && marks_[run_marks].queued <= run) ++run_marks;
    for (size_t i = run_marks; i < mark_count_; ++i) marks_[i - run_marks] = marks_[i];
    mark_count_ -= run_marks;
    if (length_ != 0) AddMark(now_ns, queued, threshold_ns);
    if (mark_count_ == 0) {
      number_ = 0;
    } else if (number_ == 0 || run_marks != 0) {
      bool is_same_wait = number_ != 0 && now_ns - marks_[0].now_ns >= threshold_ns;
      if (!is_same_wait) number_ = ++numbers_;
      begin_ns_ = is_same_wait ? old_begin_ns : marks_[0].now_ns;
    }
  }

  // Identifies this wait; 0 if the queue is empty.
  uint64_t number() const { return number_; }
  int64_t begin_ns() const { return begin_ns_; }
  // At the last look.
  uint64_t length() const { return length_; }

 private:
  static constexpr size_t kMaxMarks = 8;

  // Known at `now_ns`: so many had been queued.
  struct Mark {
    int64_t now_ns;
    uint64_t queued;
  };

  void AddMark(int64_t now_ns, uint64_t queued, int64_t threshold_ns) {
    if (mark_count_ != 0) {
      const Mark& newest = marks_[mark_count_ - 1];
      bool is_soon = now_ns - newest.now_ns < threshold_ns / static_cast<int64_t>(kMaxMarks);
      if (queued == newest.queued || is_soon) return;
    }
    if (mark_count_ == kMaxMarks) {
      mark_count_ /= 2;  // every second will do for a wait that is so long
      for (size_t i = 0; i < mark_count_; ++i) marks_[i] = marks_[2 * i];
    }
    marks_[mark_count_++] = {now_ns, queued};
  }

  Mark marks_[kMaxMarks];  // of tasks not run yet, oldest first
  size_t mark_count_ = 0;
  int64_t begin_ns_ = 0;
  uint64_t length_ = 0;
  uint64_t number_ = 0;
  uint64_t numbers_ = 0;
};

}  // namespace lagwatch::policies
