// SPDX-License-Identifier: Apache-2.0
#include "tools/core/core_origin.h"

#include <signal.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>

#include "tools/core/core_process.h"
#include "tools/core/core_registers.h"

namespace lagwatch::tools {
namespace {

// Those for which the kernel writes a core (signal(7)). A debugger stops a program by SIGTRAP, too, and then
// nothing has ended.
struct FatalSignal {
  int number;
  const char* name;
};
constexpr FatalSignal kFatalSignals[] = {
    {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
    {SIGSEGV, "SIGSEGV"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
};

std::string DetailOf(const CoreThread& thread) {
  const CoreThread::SignalInfo& info = *thread.info;
  // The kernel knows no address of an access that no processor could make.
  if ((info.number != SIGSEGV && info.number != SIGBUS) || info.code <= 0 || info.code == SI_KERNEL)
    return "";
  char text[96];
  const char* reason = info.number == SIGBUS      ? ""
                       : info.code == SEGV_MAPERR ? ", where there is no memory"
                                                  : ", which its memory does not permit";
  const char* access = info.address == ProgramCounterOf(thread) ? "a jump" : "an access";
  std::snprintf(text, sizeof text, "%s to address 0x%" PRIx64 "%s", access, info.address, reason);
  return text;
}

std::optional<CoreEnd> EndOf(const CoreFile& core) {
  const CoreThread& thread = core.threads().front();
  const auto* known = std::ranges::find(kFatalSignals, thread.signal, &FatalSignal::number);
  if (known == std::end(kFatalSignals)) return std::nullopt;
  CoreEnd end{.tid = thread.tid, .signal = known->name, .detail = ""};
  const auto& info = thread.info;
  if (!info || info->number != thread.signal) return end;
  end.detail = DetailOf(thread);
  end.is_sent = info->code <= 0 && info->sender != core.pid();
  if (end.is_sent) end.sender = info->sender;
  return end;
}

}  // namespace

CoreOrigin OriginOf(const std::string& path, const CoreProcess& process) {
  CoreOrigin origin{.file = path,
                    .program = process.modules().program(),
                    .arguments = process.file().arguments(),
                    .end = EndOf(process.file()),
                    .unused = {}};
  for (const CoreModule& module : process.modules().all()) {
    if (!module.file) origin.unused.push_back(module.mapped_path + " " + module.problem);
  }
  return origin;
}

}  // namespace lagwatch::tools
