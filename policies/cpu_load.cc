// SPDX-License-Identifier: Apache-2.0
#include "policies/cpu_load.h"

namespace lagwatch::policies {

void BusiestThreads::Add(const ThreadLoad& load) {
  if (load.cpu_ns <= 0) return;
  if (count_ == kMaxThreads && load.cpu_ns <= loads_[count_ - 1].cpu_ns) return;
  size_t at = count_ < kMaxThreads ? count_++ : kMaxThreads - 1;
  for (; at != 0 && loads_[at - 1].cpu_ns < load.cpu_ns; --at) loads_[at] = loads_[at - 1];
  loads_[at] = load;
}

std::span<const ThreadLoad> BusiestThreads::Over(int32_t percent, int64_t wall_ns, size_t max_count) const {
  size_t count = 0;
  while (count < std::min(count_, max_count) && IsOverPercent(loads_[count].cpu_ns, wall_ns, 1, percent))
    ++count;
  return {loads_.data(), count};
}

bool CpuSpell::Update(bool is_over, int64_t now_ns) {
  is_reported_ &= is_over;
  if (!is_over || is_reported_ || (has_reported_ && now_ns - reported_ns_ < cool_down_ns_)) return false;
  is_reported_ = has_reported_ = true;
  reported_ns_ = now_ns;
  return true;
}

void CpuWindow::Restart() {
  slices_ = {};
  current_ = 0;
  wall_ns_ = cpu_ns_ = 0;
}

size_t CpuWindow::Add(int64_t wall_ns, int64_t cpu_ns) {
  if (wall_ns <= 0) return 0;
  // An interval longer than all slices together counts with its average.
  const int64_t longest_ns = slice_ns_ * static_cast<int64_t>(kSlices);
  if (wall_ns > longest_ns) {
    cpu_ns = static_cast<int64_t>(static_cast<double>(cpu_ns) * static_cast<double>(longest_ns) /
                                  static_cast<double>(wall_ns));
    wall_ns = longest_ns;
  }
  size_t begun = 0;
  while (wall_ns > 0) {
    if (slices_[current_].wall_ns >= slice_ns_) {
      BeginSlice();
      ++begun;
    }
    const int64_t part_ns = std::min(wall_ns, slice_ns_ - slices_[current_].wall_ns);
    const int64_t part_cpu_ns =
        part_ns == wall_ns ? cpu_ns
                           : static_cast<int64_t>(static_cast<double>(cpu_ns) * static_cast<double>(part_ns) /
                                                  static_cast<double>(wall_ns));
    Put(part_ns, part_cpu_ns);
    wall_ns -= part_ns;
    cpu_ns -= part_cpu_ns;
  }
  return std::min(begun, kSlices);
}

void CpuWindow::Put(int64_t wall_ns, int64_t cpu_ns) {
  slices_[current_].wall_ns += wall_ns;
  slices_[current_].cpu_ns += cpu_ns;
  wall_ns_ += wall_ns;
  cpu_ns_ += cpu_ns;
}

void CpuWindow::BeginSlice() {
  current_ = (current_ + 1) % kSlices;
  wall_ns_ -= slices_[current_].wall_ns;
  cpu_ns_ -= slices_[current_].cpu_ns;
  slices_[current_] = {};
}

}  // namespace lagwatch::policies
