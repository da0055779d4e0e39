// SPDX-License-Identifier: Apache-2.0
// The hook of dlopen, which uses its caller's search path. So the hook jumps to the real function with the
// original caller wherever that may matter; only a library named by its path is opened, and timed, from
// here. Context: hot.
#include <cstring>

#include "trace/hooks/hook_table.h"

// The hook, written in assembler (load_hooks_x86_64.cc, load_hooks_aarch64.cc): asks LagwatchLoadTarget with
// the same arguments, which stay as they are, and jumps there.
extern "C" void LagwatchLoadHook();
// The function for dlopen(file, mode): TimedLoad or the real one.
extern "C" void* LagwatchLoadTarget(const char* file, int mode);

namespace lagwatch::trace {
namespace {

constinit RealFunction<void*(const char*, int)> real_dlopen;

void* TimedLoad(const char* file, int mode) {
  const uint64_t begin_ticks = base::ReadTicks();
  void* handle = real_dlopen(file, mode);
  CaptureAfter(CallersRegisters(), CallKind::kLoadLibrary, 0, begin_ticks);
  // The result is not looked at here: the loader's errors are the caller's, and so is being cancelled.
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
