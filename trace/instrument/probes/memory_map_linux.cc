// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/process/proc_file.h"
#include "trace/instrument/probes/memory_map.h"

namespace lagwatch::trace {
namespace {

// Room for a heap to grow into; then allocators take other memory.
constexpr uint64_t kHeapRoomBytes = uint64_t{16} << 20;
// Of a main stack without a limit.
constexpr uint64_t kLargestStackBytes = uint64_t{4} << 30;
// The lowest address that programs can map, by the kernel's default.
constexpr uint64_t kLowestAddress = 65536;

void Consume(std::string_view* text, size_t count) { text->remove_prefix(std::min(count, text->size())); }

bool ParseLine(std::string_view line, MemoryMap::Mapping* mapping) {
  // begin-end perms offset major:minor inode path
  uint64_t device = 0;
  if (!base::ConsumeHex(&line, &mapping->begin)) return false;
  Consume(&line, 1);
  if (!base::ConsumeHex(&line, &mapping->end)) return false;
  Consume(&line, 1);
  mapping->is_private_code = line.substr(0, 4) == "r-xp";
  Consume(&line, 4);
  if (!base::ConsumeHex(&line, &mapping->file_offset) || !base::ConsumeHex(&line, &device)) return false;
  Consume(&line, 1);
  if (!base::ConsumeHex(&line, &device) || !base::ConsumeDecimal(&line, &mapping->inode)) return false;
  const size_t path = line.find_first_not_of(' ');
  mapping->path = path == line.npos ? std::string_view() : line.substr(path);
  return true;
}

}  // namespace

MemoryMap::MemoryMap() {
  std::array<char, 8192> buffer;
  const auto brk = reinterpret_cast<uint64_t>(sbrk(0));
  heap_ = {brk, brk + kHeapRoomBytes};
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  const uint64_t stack_bytes = std::min<uint64_t>(limit.rlim_cur, kLargestStackBytes);
  base::ForEachLine("/proc/thread-self/maps", buffer, [&](std::string_view line) {
    Mapping mapping{};
    if (!ParseLine(line, &mapping)) return true;
    if (mapping.path == "[stack]") stack_ = {mapping.end - std::min(mapping.end, stack_bytes), mapping.end};
    all_.push_back({mapping.begin, mapping.end});
    if (mapping.inode != 0) files_.push_back(std::move(mapping));
    return true;
  });
}

const MemoryMap::Mapping* MemoryMap::FindFile(uint64_t begin, uint64_t end) const {
  const auto found = std::partition_point(files_.begin(), files_.end(),
                                          [&](const Mapping& mapping) { return mapping.end <= begin; });
  if (found == files_.end() || found->begin > begin || begin > end) return nullptr;
  auto last = found;
  while (last->end < end) {
    const auto next = last + 1;
    const bool goes_on = next != files_.end() && next->begin == last->end && next->path == last->path &&
                         next->is_private_code == last->is_private_code &&
                         next->file_offset == last->file_offset + (last->end - last->begin);
    if (!goes_on) return nullptr;
    last = next;
  }
  return &*found;
}

bool MemoryMap::IsSpokenFor(uint64_t begin, uint64_t end) const {
  constexpr uint64_t kGapBytes = uint64_t{2} << 20;  // the kernel's below a stack, and more
  const auto meets = [&](uint64_t from, uint64_t to) { return begin < to && end > from; };
  return begin < kLowestAddress || meets(stack_.begin - kGapBytes, stack_.end + kGapBytes) ||
         meets(heap_.begin, heap_.end);
}

bool MemoryMap::IsFree(uint64_t begin, uint64_t end) const {
  constexpr uint64_t kEndOfPrograms = (uint64_t{1} << 47) - 4096;
  if (end > kEndOfPrograms || begin > end || IsSpokenFor(begin, end)) return false;
  const auto found = std::partition_point(all_.begin(), all_.end(),
                                          [&](const Region& region) { return region.end <= begin; });
  return found == all_.end() || found->begin >= end;
}

}  // namespace lagwatch::trace
