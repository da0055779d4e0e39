// SPDX-License-Identifier: Apache-2.0
// Records calls of functions that were built with -fpatchable-function-entry: replaces their nops with calls
// to the recorder, and restores them, while the program runs. A recording (StartCalls) receives the same
// events as from the compiler's own hooks. docs/design/trace_instrument.md shows why that is safe.
#pragma once

#include <link.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/instrument/code_writer.h"
#include "trace/instrument/function_filter.h"
#include "trace/instrument/patchable_module.h"

namespace lagwatch::trace {

struct PatchReport {
  uint64_t wanted = 0;         // functions that the filter wants; of these
  uint64_t patched = 0;        // are patched now
  uint64_t other_shape = 0;    // have nops that are too few, or in other instructions than we know
  uint64_t out_of_reach = 0;   // are in modules near which there is no place for stubs
  uint64_t not_permitted = 0;  // could not be written to

  bool operator==(const PatchReport&) const = default;
};

// One per process, since there is one code. Thread safety: all from any thread, while other threads run
// through the code. A patched function that is under way when it is unpatched ends as it began. Never to be
// destroyed while something is patched.
class FunctionPatcher {
 public:
  FunctionPatcher() = default;
  FunctionPatcher(const FunctionPatcher&) = delete;
  FunctionPatcher& operator=(const FunctionPatcher&) = delete;

  // Patches what `filter` wants in the modules that are loaded now, and unpatches the rest; again after
  // dlopen(), for its modules. Takes the loader's lock, and works on a thread with its own descriptor table
  // (base::RunWithOwnFiles). Context: background.
  PatchReport Apply(const FunctionFilter& filter);
  // Whether the function that begins there is patched now. Context: background.
  bool IsPatched(uint64_t function);
  // Unpatches everything. Code left in place of the nops has no effect. Context: background.
  void Clear();

 private:
  // The stubs of a shape's sites: all at the same distance from their sites.
  struct Stubs {
    int64_t displacement = 0;  // from the end of the call; 0: there are none
    uint64_t begin = 0;
    uint64_t end = 0;
    bool has_failed = false;
  };
  struct PatchedModule {
    PatchableModule patchable;
    Stubs stubs[std::size(kNopShapes)];
    std::vector<bool> is_patched;  // by site
    bool is_loaded = true;
  };
  struct Pass;

  void ApplyNow(Pass* pass);
  static int Visit(dl_phdr_info* info, size_t size_bytes, void* pass);
  PatchedModule* FindOrAdd(const dl_phdr_info& info);
  void ApplyTo(PatchedModule* module, Pass* pass);
  static bool PlaceStubs(const CodeWriter& writer, PatchedModule* module, NopShape shape);
  static bool Prepare(const CodeWriter& writer, PatchedModule* module, const PatchSite& site);
  void ForgetUnloaded();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<PatchedModule> modules_;
};

}  // namespace lagwatch::trace
