// SPDX-License-Identifier: Apache-2.0
#include "trace/hooks/calls/load_hooks.h"

#include <cstring>

#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

constinit RealFunction<void*(const char*, int)> real_dlopen;

void* TimedLoad(const char* file, int mode) {
  const uint64_t begin_ticks = base::ReadTicks();
  void* handle = real_dlopen(file, mode);
  CaptureAfter(CallersRegisters(), CallKind::kLoadLibrary, 0, begin_ticks);
  // Not looked at here: the loader's errors are the caller's, and so is being cancelled.
  g_capture.has_new_modules.store(true, std::memory_order_relaxed);  // a request
  return handle;
}

}  // namespace

void AddLoadHooks(HookTable* table) {
  table->AddAddress(kLoadHooks, "dlopen", reinterpret_cast<void*>(LagwatchLoadHook), &real_dlopen.address);
}

}  // namespace lagwatch::trace

void* LagwatchLoadTarget(const char* file, int) {
  using namespace lagwatch::trace;
  // $ORIGIN in a path is the caller's.
  const bool is_path =
      file != nullptr && std::strchr(file, '/') != nullptr && std::strchr(file, '$') == nullptr;
  if (IsRecording() && is_path) return reinterpret_cast<void*>(TimedLoad);
  return real_dlopen.address.load(std::memory_order_relaxed);  // the same value for ever
}
