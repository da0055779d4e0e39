// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>

#include "base/process/own_memory.h"

namespace lagwatch::base {
namespace {

constexpr size_t kPageBytes = size_t{1} << 12;
constexpr size_t kWipedBytes = kPageBytes;
constexpr size_t kLineBytes = 64;
// A region has room for at least so many parts: larger ones, which are few, are mappings of their own.
constexpr size_t kFewestParts = 4;

// A mapping that parts are taken from.
struct Region {
  std::atomic<bool> is_busy;
  char* begin;  // of what is left
  char* end;
};
// In wiped memory: a child does not have the one, and the other is its parent's, parts and rest.
struct Regions {
  Region own;
  Region kept;
};

constinit std::atomic<char*> g_wiped{nullptr};
constinit std::atomic<Regions*> g_regions{nullptr};
constinit std::atomic<size_t> g_wiped_taken{0};  // not wiped: a part that was taken is taken in children, too

char* MapWiped() {
  void* memory = MapUnlocked(kWipedBytes);
  if (memory == nullptr) return nullptr;
  char* current = nullptr;
  if (WipeInForks(memory, kWipedBytes) &&
      g_wiped.compare_exchange_strong(current, static_cast<char*>(memory)))
    return static_cast<char*>(memory);
  munmap(memory, kWipedBytes);  // or another thread was first
  return current;
}

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Null where there is no wiped memory.
Regions* TheRegions() {
  Regions* regions = g_regions.load();
  if (regions != nullptr) return regions;
  auto* taken = static_cast<Regions*>(TakeWiped(sizeof(Regions)));
  return g_regions.compare_exchange_strong(regions, taken) ? taken : regions;
}

bool MapRegion(Region* region, size_t region_bytes) {
  auto* memory = static_cast<char*>(MapUnlocked(region_bytes));
  if (memory == nullptr) return false;
  madvise(memory, region_bytes, MADV_NOHUGEPAGE);  // one would make 2 MiB resident for a part's first page
  if (region->begin != region->end) munmap(region->begin, static_cast<size_t>(region->end - region->begin));
  region->begin = memory;
  region->end = memory + region_bytes;
  return true;
}

// Null when the part is to be a mapping of its own. Waits for no other thread.
void* TakePart(Region* region, size_t size_bytes, size_t region_bytes, bool is_left_out) {
  if (size_bytes > region_bytes / kFewestParts || region->is_busy.exchange(true)) return nullptr;
  const size_t part_bytes = RoundUp(size_bytes, kPageBytes);
  char* part = nullptr;
  bool has_room = static_cast<size_t>(region->end - region->begin) >= part_bytes;
  if (!has_room && MapRegion(region, region_bytes)) {
    has_room = true;
    if (is_left_out) LeaveOutOfForks(region->begin, region_bytes);
  }
  if (has_room) {
    part = region->begin;
    region->begin += part_bytes;
  }
  region->is_busy.store(false);
  return part;
}

}  // namespace

void* TakeWiped(size_t size_bytes) {
  char* wiped = g_wiped.load();
  if (wiped == nullptr) wiped = MapWiped();
  if (wiped == nullptr) return nullptr;
  const size_t bytes = RoundUp(size_bytes, kLineBytes);
  const size_t at = g_wiped_taken.fetch_add(bytes);
  return at + bytes <= kWipedBytes ? wiped + at : nullptr;
}

void* MapOwn(size_t size_bytes) {
  // A monitor's start takes less, and leaves room for the loops of a few threads.
  constexpr size_t kRegionBytes = size_t{20} << 20;
  Regions* regions = TheRegions();
  void* part = regions == nullptr ? nullptr : TakePart(&regions->own, size_bytes, kRegionBytes, true);
  if (part != nullptr) return part;
  void* memory = MapUnlocked(size_bytes);
  LeaveOutOfForks(memory, size_bytes);
  return memory;
}

void* MapKept(size_t size_bytes) {
  constexpr size_t kRegionBytes = size_t{4} << 20;  // heap, stacks, and the first loops' histories
  Regions* regions = TheRegions();
  void* part = regions == nullptr ? nullptr : TakePart(&regions->kept, size_bytes, kRegionBytes, false);
  return part != nullptr ? part : MapUnlocked(size_bytes);
}

bool GuardPages(void* memory, size_t size_bytes) {
  constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL of Linux 6.13, which older headers lack
  if (madvise(memory, size_bytes, kGuardInstall) == 0) return true;
  mprotect(memory, size_bytes, PROT_NONE);
  return false;
}

}  // namespace lagwatch::base
