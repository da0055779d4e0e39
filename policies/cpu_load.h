// SPDX-License-Identifier: Apache-2.0
// Detects excessive CPU use of a process: now, and on average over a window of time. Percentages are of all
// the processors that the process may use; a single thread's are of one. Context: watchdog; pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lagwatch::policies {

// Whether `cpu_ns` in `wall_ns` is over `percent` of `cores` processors.
constexpr bool IsOverPercent(int64_t cpu_ns, int64_t wall_ns, int32_t cores, int32_t percent) {
  return static_cast<double>(cpu_ns) * 100 > static_cast<double>(wall_ns) * cores * percent;
}
// Of one processor, rounded.
constexpr int64_t PercentOf(int64_t cpu_ns, int64_t wall_ns) {
  return wall_ns <= 0
             ? 0
             : static_cast<int64_t>(static_cast<double>(cpu_ns) * 100 / static_cast<double>(wall_ns) + 0.5);
}

struct ThreadLoad {
  int32_t tid = 0;
  int64_t cpu_ns = 0;
};

// The busiest of the given threads, in order.
class BusiestThreads {
 public:
  static constexpr size_t kMaxThreads = 16;

  void Clear() { count_ = 0; }
  void Add(const ThreadLoad& load);
  std::span<const ThreadLoad> all() const { return {loads_.data(), count_}; }
  // The first of them that used more than `percent` of one processor in `wall_ns`; `max_count` at most.
  std::span<const ThreadLoad> Over(int32_t percent, int64_t wall_ns, size_t max_count) const;

 private:
  std::array<ThreadLoad, kMaxThreads> loads_;
  size_t count_ = 0;
};

// Excessive use right now: reported once per spell, as soon as the cool-down after the last report is over.
class CpuSpell {
 public:
  explicit CpuSpell(int64_t cool_down_ns) : cool_down_ns_(cool_down_ns) {}
  // Takes the finding at `now_ns`. Returns true if it is to be reported.
  bool Update(bool is_over, int64_t now_ns);

 private:
  int64_t cool_down_ns_;
  bool is_reported_ = false;   // this spell is
  bool has_reported_ = false;  // some spell was
  int64_t reported_ns_ = 0;
};

// The use in the last `window_ns`, in slices: a new slice replaces the oldest.
class CpuWindow {
 public:
  // Full slices that make a window, and the one that is being filled.
  static constexpr size_t kSlices = 12 + 1;

  explicit CpuWindow(int64_t window_ns)
      : window_ns_(window_ns),
        slice_ns_((window_ns + static_cast<int64_t>(kSlices) - 2) / static_cast<int64_t>(kSlices - 1)) {}
  void Restart();
  // `wall_ns` have passed, in which `cpu_ns` were used. Returns how many slices have begun: so many of the
  // oldest ones are forgotten, or were never there.
  size_t Add(int64_t wall_ns, int64_t cpu_ns);

  int64_t wall_ns() const { return wall_ns_; }
  int64_t cpu_ns() const { return cpu_ns_; }
  // Whether a whole window is known.
  bool is_full() const { return wall_ns_ >= window_ns_; }

 private:
  struct Slice {
    int64_t wall_ns = 0;
    int64_t cpu_ns = 0;
  };

  void Put(int64_t wall_ns, int64_t cpu_ns);
  void BeginSlice();

  int64_t window_ns_;
  int64_t slice_ns_;
  std::array<Slice, kSlices> slices_;
  size_t current_ = 0;
  int64_t wall_ns_ = 0;  // the sums of all slices
  int64_t cpu_ns_ = 0;
};

}  // namespace lagwatch::policies
