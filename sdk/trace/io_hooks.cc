// SPDX-License-Identifier: Apache-2.0
#include "sdk/trace/io_hooks.h"

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/process/run_guarded.h"
#include "base/process/safe_memory.h"
#include "base/ticks.h"
#include "stack/signal/context.h"
#include "stack/signal/replaced_returns.h"
#include "trace/hooks/frame_pointer_walk.h"
#include "trace/hooks/import_tables.h"
#include "trace/io/thread_io.h"
#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::sdk {
namespace {

void CopyStack(const stack::CallRegisters& from, trace::IoStack* copy) {
  const uint64_t end = trace::OwnStackEnd(from.stack_pointer);
  const bool is_certain = end != from.stack_pointer;
  copy->program_counter = stack::CurrentReplacedReturns().Original(from.program_counter);
  copy->stack_pointer = copy->address = from.stack_pointer;
  copy->frame_pointer = from.frame_pointer;
  if (is_certain) {
    copy->end = end;
    copy->size_bytes = std::min<uint64_t>(end - copy->address, trace::IoStack::kMostBytes);
    stack::CopyMapped(copy->address, copy->bytes, copy->size_bytes);
  } else {  // a coroutine's, whose end is not known
    copy->size_bytes = base::ReadOwnMemory(copy->address, copy->bytes, trace::IoStack::kMostBytes);
    copy->end = copy->address + copy->size_bytes;
  }
  stack::MendReturns(copy->address, is_certain ? reinterpret_cast<const char*>(copy->address) : copy->bytes,
                     copy->bytes, copy->size_bytes);
}

void CopyTag(const char* tag, std::span<char> text) {
  if (!watchdog::WriteFunctionTag(tag, text)) base::CopyOwnString(tag, text.data(), text.size());
}

constexpr trace::IoCopies kCopies{CopyStack, CopyTag};

const trace::ModuleFilter& Modules() {
  static const trace::ModuleFilter modules{.own_module = trace::ModuleFilter::OwnModule::kIfProgram};
  return modules;
}

}  // namespace

base::Result<std::unique_ptr<IoHooks>> IoHooks::Start(const watchdog::IoOptions& limits) {
  constexpr size_t kStackBytes = 256 * 1024;
  // Enough nearly always. Where another thread has the loader's lock and waits for this one, it ends the
  // wait.
  constexpr int64_t kInstallNs = 500 * base::kNsPerMs;
  std::unique_ptr<IoHooks> hooks(new IoHooks(limits));
  trace::PrepareCapture();
  // By this thread: it may hold the loader's lock, as a constructor of a library that is being loaded does.
  trace::ImportTables::Shared().Prepare(trace::HookUser::kIoWatch, trace::kIoWatchHooks, Modules());
  if (!trace::g_thread_io.Start(&kCopies, &hooks->sleeper_))
    return base::Status(base::StatusCode::kUnavailable, "no memory to watch the use of files");
  // It has its own descriptors, because it reads files under /proc.
  base::Status status = hooks->thread_.Start(
      "lagwatch-io", kStackBytes,
      [](void* self) {
        base::RunGuarded([](void* io) { static_cast<IoHooks*>(io)->KeepInstalled(); }, self);
      },
      hooks.get());
  if (!status.ok()) {
    trace::g_thread_io.Stop();
    return status;
  }
  hooks->started_.SleepUntil(base::SystemClock().MonoNs() + kInstallNs);
  return hooks;
}

void IoHooks::KeepInstalled() {
  constexpr int64_t kScaleNs = 5 * base::kNsPerMs;
  trace::ImportTables& tables = trace::ImportTables::Shared();
  base::TickScale scale;
  const base::TickPair first = base::ReadTickPair(base::SystemClock());
  scale.Anchor(first);
  tables.Install(trace::HookUser::kIoWatch, trace::kIoWatchHooks, Modules());
  // Precise enough until the watchdog, which measures for longer, has had its first round.
  while (!scale.is_known() && !is_ending_.load()) {
    sleeper_.SleepUntil(first.mono_ns + kScaleNs);
    scale.Update(base::ReadTickPair(base::SystemClock()));
  }
  if (scale.is_known()) trace::g_thread_io.SetLimits(scale.ToTicks(limits_.limit_ns), limits_.path_calls);
  started_.Wake();
  while (!is_ending_.load()) {
    sleeper_.SleepUntil(base::Sleeper::kForever);  // see Watchdog::LookAtIo
    tables.LookAtModules();
  }
  tables.Remove(trace::HookUser::kIoWatch);
}

bool IoHooks::TryStop() {
  constexpr int64_t kRemoveNs = 5 * base::kNsPerSecond;
  is_ending_.store(true);
  sleeper_.Wake();
  trace::g_thread_io.Stop();
  return thread_.TryJoin(kRemoveNs);
}

}  // namespace lagwatch::sdk
