// SPDX-License-Identifier: Apache-2.0
#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "stack/sleeping_stack.h"

namespace lagwatch::stack {
namespace {

// perf_event_open(2)'s numbers of the registers, in DWARF's order, as Registers has them.
#if defined(__x86_64__)
constexpr int kSampledRegisters[] = {PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,
                                     PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,
                                     PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
                                     PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
                                     PERF_REG_X86_IP};
#elif defined(__aarch64__)
constexpr int kSampledRegisters[] = {
    PERF_REG_ARM64_X0,  PERF_REG_ARM64_X1,  PERF_REG_ARM64_X2,  PERF_REG_ARM64_X3,  PERF_REG_ARM64_X4,
    PERF_REG_ARM64_X5,  PERF_REG_ARM64_X6,  PERF_REG_ARM64_X7,  PERF_REG_ARM64_X8,  PERF_REG_ARM64_X9,
    PERF_REG_ARM64_X10, PERF_REG_ARM64_X11, PERF_REG_ARM64_X12, PERF_REG_ARM64_X13, PERF_REG_ARM64_X14,
    PERF_REG_ARM64_X15, PERF_REG_ARM64_X16, PERF_REG_ARM64_X17, PERF_REG_ARM64_X18, PERF_REG_ARM64_X19,
    PERF_REG_ARM64_X20, PERF_REG_ARM64_X21, PERF_REG_ARM64_X22, PERF_REG_ARM64_X23, PERF_REG_ARM64_X24,
    PERF_REG_ARM64_X25, PERF_REG_ARM64_X26, PERF_REG_ARM64_X27, PERF_REG_ARM64_X28, PERF_REG_ARM64_X29,
    PERF_REG_ARM64_LR,  PERF_REG_ARM64_SP,  PERF_REG_ARM64_PC};
#endif
static_assert(std::size(kSampledRegisters) == Registers::kCount);

constexpr uint64_t SampledMask() {
  uint64_t mask = 0;
  for (const int number : kSampledRegisters) mask |= uint64_t{1} << number;
  return mask;
}

constexpr size_t kDataBytes = 64 << 10;  // a power of 2, with room for a sample

base::OwnedFd OpenSampler(int32_t tid) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = 10'000;  // ns: the kernel's shortest
  attributes.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = SampledMask();
  attributes.sample_stack_user = kMaxSampledStackBytes;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.wakeup_events = 1;
  constexpr int kAnyProcessor = -1;
  constexpr int kNoGroup = -1;
  return base::OwnedFd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, tid, kAnyProcessor, kNoGroup, PERF_FLAG_FD_CLOEXEC)));
}

// The memory in which the kernel puts its samples.
class SampleMemory {
 public:
  explicit SampleMemory(int sampler)
      : page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        memory_(mmap(nullptr, page_bytes_ + kDataBytes, PROT_READ | PROT_WRITE, MAP_SHARED, sampler, 0)) {}
  ~SampleMemory() {
    if (ok()) munmap(memory_, page_bytes_ + kDataBytes);
  }
  SampleMemory(const SampleMemory&) = delete;
  SampleMemory& operator=(const SampleMemory&) = delete;

  bool ok() const { return memory_ != MAP_FAILED; }
  // Takes over the first sample; false if there is none.
  bool Take(RawStack* raw) const {
    const auto* head = &static_cast<const perf_event_mmap_page*>(memory_)->data_head;
    const uint64_t end = std::min<uint64_t>(__atomic_load_n(head, __ATOMIC_ACQUIRE), kDataBytes);
    perf_event_header header{};
    for (uint64_t at = 0; at + sizeof header <= end; at += std::max<size_t>(header.size, sizeof header)) {
      Copy(at, &header, sizeof header);
      if (header.type == PERF_RECORD_SAMPLE && at + header.size <= end)
        return TakeSample(at + sizeof header, at + header.size, raw);
    }
    return false;
  }

 private:
  void Copy(uint64_t offset, void* bytes, size_t size) const {
    std::memcpy(bytes, static_cast<const char*>(memory_) + page_bytes_ + offset, size);
  }
  uint64_t WordAt(uint64_t offset) const {
    uint64_t word = 0;
    Copy(offset, &word, sizeof word);
    return word;
  }
  // A word that says whether there are registers, these by their kernel's numbers, the number of the copied
  // bytes, these, and the number of those that are of use.
  bool TakeSample(uint64_t at, uint64_t end, RawStack* raw) const {
    constexpr uint64_t kRegisterBytes = sizeof(uint64_t) * (1 + Registers::kCount);
    if (at + kRegisterBytes + sizeof(uint64_t) > end || WordAt(at) != PERF_SAMPLE_REGS_ABI_64) return false;
    for (int i = 0; i < Registers::kCount; ++i) {
      const auto is_before = [&](int number) { return number < kSampledRegisters[i]; };
      const auto place = static_cast<uint64_t>(std::ranges::count_if(kSampledRegisters, is_before));
      raw->registers.value[i] = WordAt(at + (1 + place) * sizeof(uint64_t));
    }
    raw->registers.known_mask = Registers::kAllKnown;
    at += kRegisterBytes;
    const uint64_t copied = WordAt(at);
    at += sizeof copied;
    if (copied == 0 || copied > kMaxSampledStackBytes || at + copied + sizeof copied > end) return false;
    raw->size_bytes = std::min(WordAt(at + copied), copied);
    Copy(at, raw->bytes, raw->size_bytes);
    return raw->size_bytes != 0;
  }

  size_t page_bytes_;
  void* memory_;
};

}  // namespace

bool ReadSampledStack(int32_t tid, const StackRegions& stacks, int64_t timeout_ns, RawStack* raw,
                      NoStackReason* reason) {
  raw->size_bytes = 0;
  const base::OwnedFd sampler = OpenSampler(tid);
  if (!sampler) {
    *reason = errno == ESRCH ? NoStackReason::kGone : NoStackReason::kHidden;
    return false;
  }
  const SampleMemory memory(sampler.get());
  *reason = memory.ok() ? NoStackReason::kNoAnswer : NoStackReason::kUnreadable;
  if (!memory.ok() || ioctl(sampler.get(), PERF_EVENT_IOC_REFRESH, 1) != 0) return false;
  pollfd sampled{.fd = sampler.get(), .events = POLLIN, .revents = 0};
  const timespec timeout{.tv_sec = timeout_ns / base::kNsPerSecond,
                         .tv_nsec = timeout_ns % base::kNsPerSecond};
  if (ppoll(&sampled, 1, &timeout, nullptr) <= 0 || !memory.Take(raw)) return false;
  const MemoryRegion live = stacks.LiveStack(raw->registers.stack_pointer());
  raw->address = raw->registers.stack_pointer();
  raw->end = std::max(live.end, raw->address);
  raw->size_bytes = std::min(raw->size_bytes, raw->end - raw->address);
  *reason = raw->size_bytes == 0 ? NoStackReason::kUnreadable : NoStackReason::kNone;
  return raw->size_bytes != 0;
}

}  // namespace lagwatch::stack
