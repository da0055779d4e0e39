// SPDX-License-Identifier: Apache-2.0
// The recording of instrumented calls as part of a recorder.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "trace/instrument/call_recorder.h"
#include "trace/instrument/function_filter.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {

struct CallOptions {
  bool are_recorded =
      false;                 // of functions that a compiler instrumented, and of parts that the program names
  bool are_required = true;  // false: a recorder that cannot record calls records the rest
  CallClock clock = CallClock::kPrecise;
  bool are_patched =
      false;  // also of functions built with -fpatchable-function-entry, which `filter` chooses
  FunctionFilter filter = {};
};

// Thread safety: one thread at a time. Context: background.
class CallRecording {
 public:
  CallRecording() = default;
  ~CallRecording() { Stop(); }
  CallRecording(const CallRecording&) = delete;
  CallRecording& operator=(const CallRecording&) = delete;

  // Into the pool of `arena`, which must stay mapped for ever after. Errors: kUnavailable when there is such
  // a recording already.
  base::Status Start(Arena* arena, const CallOptions& options);
  // Patches modules loaded since. Does nothing if nothing is patched.
  void LookAtModules();
  void Stop();

 private:
  bool is_on_ = false;
  CallOptions options_;
};

}  // namespace lagwatch::trace
