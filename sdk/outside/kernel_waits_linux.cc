// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "sdk/outside/kernel_waits.h"
#include "sdk/outside/kernel_waits_slot.h"

namespace lagwatch::sdk {
namespace {

alignas(8) constexpr unsigned char kObject[] = {
#include "sdk/outside/kernel_waits_bytes.inc"
};

constexpr size_t kSlotsBytes = sizeof(lagwatch_wait_slot) * LAGWATCH_WAIT_SLOTS;
static_assert(sizeof(lagwatch_wait_slot) % 8 == 0);  // as the kernel lays them out
static_assert(ThreadWaits::kLongNs == LAGWATCH_LONG_NS);

base::Status Missing(const std::string& what) { return {base::StatusCode::kUnavailable, what}; }

base::Status CannotLoad() {
  if (geteuid() != 0) return Missing("BPF programs need root, or CAP_BPF and CAP_PERFMON");
  return Missing(std::string("the kernel refuses the BPF programs: ") + std::strerror(errno));
}

base::Status CannotAttach() {
  const bool has_tracefs = access("/sys/kernel/tracing/events", F_OK) == 0 ||
                           access("/sys/kernel/debug/tracing/events", F_OK) == 0;
  if (!has_tracefs)
    return Missing(
        "there are no tracepoints at /sys/kernel/tracing: mount -t tracefs none /sys/kernel/tracing");
  return Missing(
      std::string(
          "the kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS), or refuses them: ") +
      std::strerror(errno));
}

template <typename Field>
auto Load(const Field& field) {
  return std::atomic_ref(const_cast<Field&>(field))
      .load(std::memory_order_acquire);  // pairs with the kernel's
}
template <typename Field>
void Store(Field* field, Field value) {
  std::atomic_ref(*field).store(value, std::memory_order_release);  // publishes what was written before
}

}  // namespace

struct KernelWaits::Programs {
  ~Programs() {
    for (bpf_link* link : links) bpf_link__destroy(link);
    bpf_object__close(object);
  }
  bpf_object* object = nullptr;
  std::vector<bpf_link*> links;
};

KernelWaits::KernelWaits() : programs_(new Programs) {}

KernelWaits::~KernelWaits() {
  if (slots_ != nullptr) munmap(slots_, kSlotsBytes);
}

base::Result<std::unique_ptr<KernelWaits>> KernelWaits::Load() {
  libbpf_set_print(nullptr);
  std::unique_ptr<KernelWaits> waits(new KernelWaits);
  bpf_object* object = bpf_object__open_mem(kObject, sizeof kObject, nullptr);
  waits->programs_->object = object;
  if (object == nullptr || bpf_object__load(object) != 0) return CannotLoad();
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) return CannotAttach();
    waits->programs_->links.push_back(link);
  }
  const int map = bpf_object__find_map_fd_by_name(object, "slots");
  void* slots = mmap(nullptr, kSlotsBytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
  if (slots == MAP_FAILED)
    return Missing(std::string("the kernel does not share memory: ") + std::strerror(errno));
  waits->slots_ = slots;
  return waits;
}

lagwatch_wait_slot* KernelWaits::SlotOf(int32_t tid) const {
  return static_cast<lagwatch_wait_slot*>(slots_) + static_cast<uint32_t>(tid) % LAGWATCH_WAIT_SLOTS;
}

ThreadWaits::~ThreadWaits() {
  if (slot_ == nullptr) return;
  SetHome({});
  Store(&slot_->tid, 0U);
}

bool ThreadWaits::TakeSlot() {
  if (slot_ != nullptr) return true;
  if (waits_ == nullptr) return false;
  lagwatch_wait_slot* slot = waits_->SlotOf(tid_);
  const auto own = static_cast<unsigned>(tid_);
  unsigned owner = 0;
  const bool is_free = std::atomic_ref(slot->tid).compare_exchange_strong(owner, own);
  if (is_free || owner == own) slot_ = slot;  // its own if an earlier watcher was killed
  return slot_ != nullptr;
}

void ThreadWaits::SetHome(const WaitKey& home) {
  if (!TakeSlot()) return;
  Store<unsigned>(&slot_->home_kind, LAGWATCH_NO_WAIT);
  Store(&slot_->turn, 0ULL);
  taken_ = Load(slot_->long_count);
  Store<long long>(&slot_->home_word, home.word);
  Store(&slot_->home_kind, home.kind);
}

ThreadWaits::Turn ThreadWaits::Read() const {
  if (slot_ == nullptr) return {};
  const uint64_t turn = Load(slot_->turn);
  return {.is_home = turn % 2 != 0, .since_ns = static_cast<int64_t>(turn >> 1)};
}

bool ThreadWaits::TakeLong(int64_t* begin_ns, int64_t* end_ns) {
  if (slot_ == nullptr) return false;
  for (uint64_t count; taken_ < (count = Load(slot_->long_count));) {
    // The oldest one may be overwritten at this moment.
    taken_ = std::max(taken_, count < LAGWATCH_LONG_DISPATCHES ? 0 : count - LAGWATCH_LONG_DISPATCHES + 1);
    const lagwatch_long_dispatch& kept = slot_->kept[taken_ % LAGWATCH_LONG_DISPATCHES];
    *begin_ns = static_cast<int64_t>(Load(kept.begin_ns));
    *end_ns = static_cast<int64_t>(Load(kept.end_ns));
    if (Load(slot_->long_count) - taken_++ < LAGWATCH_LONG_DISPATCHES) return true;
  }
  return false;
}

void ThreadWaits::SkipLong() {
  if (slot_ != nullptr) taken_ = Load(slot_->long_count);
}

}  // namespace lagwatch::sdk
