// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/process_probes.h"

#include <unistd.h>

#include <atomic>
#include <memory>

#include "sdk/probe/forbidden_mark.h"
#include "sdk/probe/probe_service.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::sdk {
namespace {

constexpr char kForbidden[] = "it has forbidden probes (`lagwatch run --no-probes`, lw_forbid_probes())";

std::atomic<bool> g_is_forbidden{false};
// Leaked at the process's end, and in a forked child. Set and replaced by one thread at a time: the caller of
// OpenProbes() has a lock.
std::atomic<ProbeService*> g_service{nullptr};
trace::FunctionProber* g_prober = nullptr;
pid_t g_prober_pid = 0;

}  // namespace

OpenedProbes OpenProbes(const std::string& directory, JavaProber* java) {
  if (g_is_forbidden.load() || HasForbiddenMark()) return {.why_not = kForbidden, .socket_path = {}};
  ForgetConfinement();  // it did not come, or the caller has the same filters
  ProbeService* service = g_service.load();
  if (service != nullptr && service->pid() == getpid()) {
    if (service->Prolong()) return {.why_not = {}, .socket_path = service->socket_path()};
    // Unless EndProbes() has it.
    if (g_service.compare_exchange_strong(service, nullptr) && service->TryJoin()) delete service;
  }
  if (g_prober == nullptr) {
    g_prober = new trace::FunctionProber;
    g_before_exit.store(&FlushProbes);
    g_end_probes.store(&EndProbes);
  } else if (g_prober_pid != getpid() && !g_prober->BeginAnewInChild()) {
    return {.why_not =
                "it was forked while its parent's probes came or went, and cannot take them out of its code",
            .socket_path = {}};
  }
  g_prober_pid = getpid();
  g_probed_process.store(g_prober_pid);
  auto made =
      std::make_unique<ProbeService>(ProbeServiceOptions{.directory = directory, .java = java}, g_prober);
  if (base::Status status = made->Start(); !status.ok()) {
    if (!made->TryJoin()) static_cast<void>(made.release());
    return {.why_not = status.message(), .socket_path = {}};
  }
  g_service.store(made.release());
  return {.why_not = {}, .socket_path = g_service.load()->socket_path()};
}

void AwaitFirstProbes(int64_t timeout_ns) {
  if (ProbeService* service = g_service.load()) service->AwaitArmed(timeout_ns);
}

void ForbidProbes() {
  g_is_forbidden.store(true);
  MakeForbiddenMark();  // for another of lagwatch's libraries; this one knows
  ProbeService* service = g_service.load();
  if (service != nullptr && service->pid() == getpid()) service->Forbid();
}

void EndProbes() {
  ProbeService* service = g_service.load();
  if (service == nullptr || service->pid() != getpid()) return;
  // Leaked: another thread may be in FlushProbes(). No call is left for the process's end.
  if (g_service.compare_exchange_strong(service, nullptr)) service->End();
}

void FlushProbes() {
  ProbeService* service = g_service.load();
  if (service != nullptr && service->pid() == getpid()) service->Flush();
}

}  // namespace lagwatch::sdk
