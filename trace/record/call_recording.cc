// SPDX-License-Identifier: Apache-2.0
#include "trace/record/call_recording.h"

#include <utility>

#include "trace/instrument/function_patcher.h"

namespace lagwatch::trace {
namespace {

// The process has one code. Never destroyed, as patched functions may be under way at its end.
FunctionPatcher& Patcher() {
  static auto* patcher = new FunctionPatcher;
  return *patcher;
}

}  // namespace

base::Status CallRecording::Start(Arena* arena, const CallOptions& options) {
  if (!options.are_recorded) return {};
  if (!StartCalls(arena->call_pool().mutable_header(), options.clock)) {
    if (!options.are_required) return {};
    return {base::StatusCode::kUnavailable,
            "calls are being recorded already, there is no thread for it, or the program has taken the first "
            "32 thread-specific keys"};
  }
  is_on_ = true;
  options_ = options;
  LookAtModules();
  return {};
}

void CallRecording::LookAtModules() {
  if (is_on_ && options_.are_patched) Patcher().Apply(options_.filter);
}

void CallRecording::Stop() {
  if (!std::exchange(is_on_, false)) return;
  if (options_.are_patched) Patcher().Clear();
  StopCalls();
}

}  // namespace lagwatch::trace
