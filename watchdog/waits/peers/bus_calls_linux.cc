// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/unsynchronized_copy.h"
#include "stack/threads/thread_state.h"
#include "watchdog/waits/peers/bus_calls.h"
#include "watchdog/waits/peers/bus_message.h"

namespace lagwatch::watchdog {

void BusCalls::Note(int fd, const iovec* pieces, size_t count, size_t sent_bytes, int64_t now_ns) {
  char bytes[1024];  // more than the fields of most calls
  const size_t wanted = std::min(sent_bytes, sizeof bytes);
  size_t size = 0;
  for (size_t i = 0; i < count && size < wanted; ++i) {
    const size_t taken = std::min(pieces[i].iov_len, wanted - size);
    if (taken != 0) std::memcpy(bytes + size, pieces[i].iov_base, taken);
    size += taken;
  }
  const auto header = BusHeader::Parse({bytes, size});
  if (!header || header->type != BusHeader::kCall || !header->is_answered) return;
  BusCall call;
  if (header->destination.empty() || header->destination.size() >= sizeof call.destination) return;
  call.mono_ns = now_ns;
  call.tid = gettid();
  call.fd = fd;
  call.serial = header->serial;
  header->destination.copy(call.destination, sizeof call.destination - 1);
  header->member.copy(call.member, sizeof call.member - 1);
  Slot& slot = slots_[count_.fetch_add(1, std::memory_order_relaxed) % kCalls];
  uint32_t version = slot.version.load(std::memory_order_relaxed);
  if (version % 2 != 0 || !slot.version.compare_exchange_strong(version, version + 1)) return;
  std::atomic_thread_fence(std::memory_order_release);
  slot.call = call;
  slot.version.store(version + 2, std::memory_order_release);
}

std::optional<BusCall> BusCalls::Read(uint32_t number) const {
  const Slot& slot = slots_[number % kCalls];
  const uint32_t before = slot.version.load(std::memory_order_acquire);
  BusCall call;
  base::CopyUnsynchronized(&slot.call, &call, sizeof call);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0 || slot.version.load(std::memory_order_relaxed) != before)
    return std::nullopt;
  return call;
}

std::optional<BusCall> BusCalls::LastOf(int32_t tid) const {
  std::optional<BusCall> last;
  for (uint32_t i = 0; i < kCalls; ++i) {
    const auto call = Read(i);
    if (call && call->tid == tid && (!last || call->mono_ns >= last->mono_ns)) last = call;
  }
  return last;
}

std::optional<BusCall> BusCalls::LastOfWorkers(const base::Process& process, int64_t since_ns) const {
  std::optional<BusCall> last;
  for (uint32_t i = 0; i < kCalls; ++i) {
    const auto call = Read(i);
    if (!call || call->mono_ns < since_ns || (last && call->mono_ns < last->mono_ns)) continue;
    char name[16];
    stack::ReadThreadName({process, call->tid}, name, sizeof name);
    if (name == std::string_view("gdbus") || name == std::string_view("QDBusConnection")) last = call;
  }
  return last;
}

bool BusCalls::CopyFrom(const base::Process& process, uint64_t address) {
  // Twice: what is written meanwhile differs.
  BusCalls again;
  const bool is_read = process.Read(address, static_cast<void*>(this), sizeof *this) == sizeof *this &&
                       process.Read(address, static_cast<void*>(&again), sizeof again) == sizeof again;
  return is_read && std::memcmp(static_cast<void*>(this), static_cast<void*>(&again), sizeof *this) == 0;
}

BusCalls& ProcessBusCalls() {
  static constinit BusCalls calls;
  return calls;
}

uint64_t FindBusCalls(const stack::ModuleMap& own, const stack::ModuleMap& others) {
  const uint32_t index = own.FindCode(reinterpret_cast<uint64_t>(&ProcessBusCalls));
  if (index == stack::kNoModule) return 0;
  const stack::Module& library = own.module(index);
  if (library.build_id_size == 0) return 0;
  for (uint32_t i = 0; i < others.module_count(); ++i) {
    const stack::Module& other = others.module(i);
    if (other.process == others.process() && other.build_id_view() == library.build_id_view())
      return other.load_bias + (reinterpret_cast<uint64_t>(&ProcessBusCalls()) - library.load_bias);
  }
  return 0;
}

}  // namespace lagwatch::watchdog
