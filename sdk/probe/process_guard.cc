// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/process_guard.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "base/modules/module_symbols_linux.h"
#include "base/process/loader_walk.h"
#include "base/process/proc_file.h"

namespace lagwatch::sdk {

constinit std::atomic<void (*)()> g_end_probes{nullptr};

namespace {

using trace::ProbeEntry;
using trace::ProbeHandlers;

// Calls with a null pointer only find out what the kernel knows.
bool ConfinesByMode(uint64_t mode, uint64_t filter) {
  return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != 0);
}

bool ConfinesByPrctl(const uint64_t arguments[3]) {
  return static_cast<int32_t>(arguments[0]) == PR_SET_SECCOMP && ConfinesByMode(arguments[1], arguments[2]);
}

bool ConfinesBySeccomp(const uint64_t arguments[3]) {
  return arguments[0] == SECCOMP_SET_MODE_STRICT ||
         (arguments[0] == SECCOMP_SET_MODE_FILTER && arguments[2] != 0);
}

std::atomic<bool> g_is_confined{false};

void EndProbesOfProcess() {
  const int saved_errno = errno;
  if (void (*end)() = g_end_probes.load(std::memory_order_acquire)) end();
  errno = saved_errno;
}

void BeforeConfinement() {
  EndProbesOfProcess();
  if (!base::IsConfined() && !g_is_confined.exchange(true)) base::SetConfined(true);
}

void OnPrctl(const ProbeEntry& entry, void*) {
  if (ConfinesByPrctl(entry.int_args)) BeforeConfinement();
}

void OnSyscall(const ProbeEntry& entry, void*) {
  const uint64_t number = entry.int_args[0];
  const bool confines = (number == SYS_seccomp && ConfinesBySeccomp(entry.int_args + 1)) ||
                        (number == SYS_prctl && ConfinesByPrctl(entry.int_args + 1));
  if (confines) BeforeConfinement();
}

void OnThreadExit(const ProbeEntry&, void*) {
  if (!base::IsConfined() && gettid() == getpid()) EndProbesOfProcess();
}

constexpr ProbeHandlers kPrctl{.on_entry = OnPrctl, .registers = trace::HandlerRegisters::kBaseline};
constexpr ProbeHandlers kSyscall{.on_entry = OnSyscall, .registers = trace::HandlerRegisters::kBaseline};

constexpr ProbeHandlers kThreadExit{.on_entry = OnThreadExit,
                                    .registers = trace::HandlerRegisters::kBaseline};

struct Guard {
  const char* function;
  const ProbeHandlers* handlers;
  uint64_t address = 0;
};

}  // namespace

void ForgetConfinement() {
  if (g_is_confined.exchange(false)) base::SetConfined(false);
}

void ProcessGuard::Arm(trace::FunctionProber* prober) {
  if (!ids_.empty()) return;
  Guard guards[] = {{"prctl", &kPrctl},
                    {"syscall", &kSyscall},
                    {"pthread_exit", &kThreadExit},
                    {"thrd_exit", &kThreadExit},
                    {"vfork", &trace::VforkHandlers()}};
  // Not by the loader's look-up, which waits for a thread that is stuck in dlopen(3).
  base::WalkLoadedModules(
      [](dl_phdr_info* info, size_t, void* context) {
        base::ModuleTables library;
        if (!library.Read(*info) || library.name == nullptr || !base::IsSame(library.name, "libc.so.6"))
          return 0;
        for (Guard& guard : *static_cast<decltype(guards)*>(context))
          guard.address = base::FunctionAt(library, base::FindSymbol(library, guard.function, nullptr));
        return 1;
      },
      &guards);
  std::vector<trace::ProbeRequest> requests;
  for (const Guard& guard : guards) {
    if (guard.address != 0)
      requests.push_back({.function = guard.address, .handlers = guard.handlers, .import = guard.function});
  }
  for (const trace::ProbeResult& result : prober->Arm(requests)) {
    if (result.id != 0) ids_.push_back(result.id);  // else no file of the program calls it
  }
}

bool ProcessGuard::MustEnd() {
  constexpr char kMainThread[] = "/proc/self/status";
  const base::SeccompState filters = base::ReadSeccompOf(kMainThread);
  if (!first_filters_) first_filters_ = filters;
  char buffer[1024];
  const std::string_view status = base::ReadSmallFile(kMainThread, buffer, sizeof buffer);
  const bool has_ended = status.find("\nState:\tZ") != std::string_view::npos;
  return has_ended || filters != *first_filters_;
}

void ProcessGuard::Disarm(trace::FunctionProber* prober) {
  if (!ids_.empty()) prober->Disarm(ids_);
  ids_.clear();
}

}  // namespace lagwatch::sdk
