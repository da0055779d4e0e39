// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/kernel_calls.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include "stack/signal/context.h"

namespace lagwatch::stack {
namespace {

constexpr SignalSet kAllSignals = ~SignalSet{0};

// As the kernel has it, which is not as the C library has it.
struct KernelAction {
  uint64_t handler;
  uint64_t flags;
  uint64_t restorer;
  SignalSet mask;
};
constexpr uint64_t kDefault = 0;
constexpr uint64_t kIgnore = 1;

template <typename T>
uint64_t AddressOf(T* object) {
  return reinterpret_cast<uint64_t>(object);
}

}  // namespace

uint64_t CopyReadable(uint64_t source_address, char* destination, uint64_t size_bytes) noexcept {
  // Not the process's id, which names no memory once the main thread has ended.
  const int64_t tid = CallKernel(SYS_gettid, {});
  iovec local{destination, size_bytes};
  iovec remote{reinterpret_cast<void*>(source_address), size_bytes};
  const int64_t result = CallKernel(
      SYS_process_vm_readv, {static_cast<uint64_t>(tid), AddressOf(&local), 1, AddressOf(&remote), 1, 0});
  return result < 0 ? 0 : static_cast<uint64_t>(result);
}

SignalSet PendingSignals() noexcept {
  SignalSet pending = 0;
  return CallKernel(SYS_rt_sigpending, {AddressOf(&pending), sizeof pending}) == 0 ? pending : kAllSignals;
}

bool IsHandled(int signal_number, SignalSet* blocked_meanwhile) noexcept {
  KernelAction action;
  const bool is_known = CallKernel(SYS_rt_sigaction, {static_cast<uint64_t>(signal_number), 0,
                                                      AddressOf(&action), sizeof action.mask}) == 0;
  *blocked_meanwhile = is_known ? action.mask : kAllSignals;
  return !is_known || (action.handler != kDefault && action.handler != kIgnore);
}

void TakeDefaultAction(int signal_number, const siginfo_t& info, uint64_t handler_address) noexcept {
  const auto number = static_cast<uint64_t>(signal_number);
  KernelAction action;
  const bool is_known =
      CallKernel(SYS_rt_sigaction, {number, 0, AddressOf(&action), sizeof action.mask}) == 0;
  if (!is_known || action.handler != handler_address) return;
  action.handler = kDefault;
  CallKernel(SYS_rt_sigaction, {number, AddressOf(&action), 0, sizeof action.mask});
  // The handler blocks the signal, so that it is taken at the handler's end.
  const auto pid = static_cast<uint64_t>(CallKernel(SYS_getpid, {}));
  const auto tid = static_cast<uint64_t>(CallKernel(SYS_gettid, {}));
  CallKernel(SYS_rt_tgsigqueueinfo, {pid, tid, number, AddressOf(&info)});
}

}  // namespace lagwatch::stack
