// SPDX-License-Identifier: Apache-2.0
#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/text.h"
#include "tools/probe/kernel_events.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kRingPages = 64;  // 1,500 samples of a thread
constexpr size_t kRingPageBytes = 4096;

constexpr uint64_t RegisterBit(int number) { return uint64_t{1} << number; }
// In the order of their numbers, as samples have them.
constexpr int kSampledRegisters[] = {PERF_REG_X86_AX, PERF_REG_X86_CX, PERF_REG_X86_DX, PERF_REG_X86_SI,
                                     PERF_REG_X86_DI, PERF_REG_X86_SP, PERF_REG_X86_R8, PERF_REG_X86_R9};

struct UprobeSample {
  perf_event_header header;
  uint64_t id;
  uint32_t pid;
  uint32_t tid;
  uint64_t time_ns;
  uint64_t abi;
  uint64_t ax, cx, dx, si, di, sp, r8, r9;
  uint64_t stack_bytes;
  uint64_t stack_word;
  uint64_t stack_bytes_read;
};

struct LostSamples {
  perf_event_header header;
  uint64_t id;
  uint64_t lost;
};

}  // namespace

struct KernelEvents::Place {
  std::string file;
  uint64_t offset;
};

// The samples of one thread, at all places.
struct KernelEvents::Ring {
  std::vector<base::OwnedFd> events;
  unsigned char* memory = nullptr;

  ~Ring() {
    if (memory != nullptr) munmap(memory, (1 + kRingPages) * kRingPageBytes);
  }
  perf_event_mmap_page* page() const { return reinterpret_cast<perf_event_mmap_page*>(memory); }
  void Copy(uint64_t at, void* to, size_t size) const {
    for (size_t i = 0; i < size; ++i)
      static_cast<unsigned char*>(to)[i] = memory[kRingPageBytes + (at + i) % (kRingPages * kRingPageBytes)];
  }
};

KernelEvents::KernelEvents(pid_t pid) : pid_(pid) {
  std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type_;
}
KernelEvents::~KernelEvents() = default;

int KernelEvents::Open(const Place& place, pid_t tid) const {
  perf_event_attr event{};
  event.type = type_;
  event.size = sizeof event;
  event.uprobe_path = reinterpret_cast<uint64_t>(place.file.c_str());
  event.probe_offset = place.offset;
  event.sample_period = 1;
  event.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
                      PERF_SAMPLE_STACK_USER;
  for (const int number : kSampledRegisters) event.sample_regs_user |= RegisterBit(number);
  event.sample_stack_user = sizeof(uint64_t);
  event.use_clockid = 1;
  event.clockid = CLOCK_MONOTONIC;
  return static_cast<int>(syscall(SYS_perf_event_open, &event, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

base::Status KernelEvents::Add(const std::string& file, uint64_t offset) {
  if (type_ == 0) return {base::StatusCode::kUnavailable, "the kernel has no uprobes"};
  const Place place{file, offset};
  const base::OwnedFd event(Open(place, pid_));
  if (!event) {
    const int error = errno;
    return {base::StatusCode::kUnavailable, std::string("the kernel refuses it: ") + std::strerror(error)};
  }
  places_.push_back(place);
  return {};
}

bool KernelEvents::Follow(pid_t tid) {
  auto ring = std::make_unique<Ring>();
  std::vector<uint64_t> ids;
  for (const Place& place : places_) {
    base::OwnedFd event(Open(place, tid));
    if (!event) return errno == ESRCH;  // it has ended
    uint64_t id = 0;
    if (ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0) return false;
    if (ring->memory == nullptr) {
      void* memory = mmap(nullptr, (1 + kRingPages) * kRingPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                          event.get(), 0);
      if (memory == MAP_FAILED) return false;
      ring->memory = static_cast<unsigned char*>(memory);
    } else if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, ring->events.front().get()) != 0) {
      return false;
    }
    ids.push_back(id);
    ring->events.push_back(std::move(event));
  }
  for (uint32_t i = 0; i < ids.size(); ++i) place_of_id_[ids[i]] = i;
  rings_[tid] = std::move(ring);
  return true;
}

bool KernelEvents::FollowThreads() {
  bool are_followed = true;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ProcessFolder(pid_) / "task", error)) {
    const auto tid = base::ParseNumber<pid_t>(entry.path().filename().string());
    if (tid && !rings_.contains(*tid)) are_followed = Follow(*tid) && are_followed;
  }
  return are_followed;
}

std::vector<KernelHit> KernelEvents::Take() {
  // A sample of another processor may be older than one that is there already.
  const int64_t until_ns = base::SystemClock().MonoNs() - base::kNsPerMs;
  for (const auto& [tid, ring] : rings_) {
    uint64_t at = ring->page()->data_tail;
    const uint64_t head =
        __atomic_load_n(&ring->page()->data_head, __ATOMIC_ACQUIRE);  // pairs with the kernel
    while (at < head) {
      UprobeSample sample{};
      ring->Copy(at, &sample.header, sizeof sample.header);
      if (sample.header.type == PERF_RECORD_LOST) {
        LostSamples lost{};
        ring->Copy(at, &lost, sizeof lost);
        lost_ += lost.lost;
      }
      if (sample.header.type == PERF_RECORD_SAMPLE) {
        ring->Copy(at, &sample, std::min<size_t>(sample.header.size, sizeof sample));
        const auto place = place_of_id_.find(sample.id);
        if (place != place_of_id_.end() && sample.abi != PERF_SAMPLE_REGS_ABI_NONE)
          waiting_.push_back({.mono_ns = static_cast<int64_t>(sample.time_ns),
                              .tid = sample.tid,
                              .place = place->second,
                              .int_args = {sample.di, sample.si, sample.dx, sample.cx, sample.r8, sample.r9},
                              .results = {sample.ax, sample.dx},
                              .stack_pointer = sample.sp,
                              .stack_word = sample.stack_bytes != 0 ? sample.stack_word : 0});
      }
      at += sample.header.size;
    }
    __atomic_store_n(&ring->page()->data_tail, at, __ATOMIC_RELEASE);  // pairs with the kernel's look
  }
  std::ranges::stable_sort(waiting_, {}, &KernelHit::mono_ns);
  const auto rest = std::ranges::upper_bound(waiting_, until_ns, {}, &KernelHit::mono_ns);
  std::vector<KernelHit> taken(waiting_.begin(), rest);
  waiting_.erase(waiting_.begin(), rest);
  return taken;
}

}  // namespace lagwatch::tools
