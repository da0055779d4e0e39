// SPDX-License-Identifier: Apache-2.0
// Probes on functions of the running program: handlers that are called when any function begins and ends,
// without its being built for that, without stopping threads and without traps. Each function that cannot be
// probed safely is refused with the reason. docs/design/probes_native.md shows how.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/instrument/function_filter.h"
#include "trace/instrument/probes/probe_events.h"
#include "trace/instrument/probes/probe_reason.h"

namespace lagwatch::trace {

// An armed probe; 0 is none.
using ProbeId = uint64_t;

struct ProbeRequest {
  uint64_t function = 0;                    // address of the function's first instruction
  const ProbeHandlers* handlers = nullptr;  // must stay for the process's life
  void* user_data = nullptr;                // must stay until FindLastForgotten()
  // If not empty, calls by way of import tables that have this name for the function are delivered, and no
  // others: no code is changed. The handlers have no on_return.
  std::string import{};
  bool is_note = false;  // `function` is the address of a note of <sys/sdt.h>; the handlers have no on_return
};

struct ProbeResult {
  ProbeId id = 0;  // 0: refused
  ProbeTier tier = ProbeTier::kNone;
  ProbeReason reason = ProbeReason::kNone;
};

// A function of a loaded module, and how it can be probed.
struct ProbedFunction {
  uint64_t function = 0;
  std::string name;    // as in the symbol table; empty without one
  std::string module;  // path of its file
  ProbeResult result;  // `id` is 0
};

struct ProbeStats {
  uint64_t hits_missed = 0;  // hit inside of a handler, or in a signal handler that interrupted one
  uint64_t returns_unnoticed =
      0;  // entered while too many calls were under way, or from code made at run time
};

// One per process, since there is one code. Thread safety: all functions from any thread, while other threads
// run through the code. Never to be destroyed while something is armed.
class FunctionProber {
 public:
  FunctionProber();
  ~FunctionProber();
  FunctionProber(const FunctionProber&) = delete;
  FunctionProber& operator=(const FunctionProber&) = delete;

  // Arms probes, several at once for less than one after the other. A function may have several probes, which
  // are called in the order of their arming. A call that is under way delivers neither entry nor return.
  // Takes the loader's lock, and works on a thread with its own descriptor table. Context: background.
  std::vector<ProbeResult> Arm(std::span<const ProbeRequest> requests);
  ProbeResult Arm(uint64_t function, const ProbeHandlers* handlers, void* user_data);
  // Removes probes; functions that have none any more get their first bytes back. Calls under way deliver
  // nothing more, except handlers that run already. Unknown ids are ignored. Context: background.
  void Disarm(std::span<const ProbeId> ids);
  void DisarmAll();
  // The number of calls of Disarm() so far, and of those after which no thread can be on its way any more to
  // the handlers of probes that were disarmed; it may be in one. Context: background.
  uint64_t last_disarm() const;
  uint64_t FindLastForgotten();
  // Notices the ends of calls from modules that were loaded since the last arming, too, patches their import
  // tables, and arms those again that were unloaded in between: to be called after dlopen(). Context:
  // background.
  void NoteLoadedModules();
  // In a child of fork(2) of the process that used the prober, in which nothing is delivered: takes the
  // parent's probes out of the child's code; from then on the child's own are delivered. False if the parent
  // was changing code at that moment, or if the memory is the parent's own (vfork()). Context: background.
  [[nodiscard]] bool BeginAnewInChild();
  // Whether every function that ever had a probe, and has none now, has the bytes of its module's file.
  // Context: background.
  bool BytesAreOriginal();
  // The answers that Arm() would give, without changing anything; `wants_return`: for a probe with on_return.
  // Context: background.
  std::vector<ProbeResult> Examine(std::span<const uint64_t> functions, bool wants_return);
  // The same for notes of <sys/sdt.h>.
  std::vector<ProbeResult> ExamineNotes(std::span<const uint64_t> notes);
  // The functions of loaded modules that `filter` wants, by their unwind tables and with the same answers;
  // the parts of functions that compilers put elsewhere are left out. Context: background.
  std::vector<ProbedFunction> List(const FunctionFilter& filter, bool wants_return);
  // The same for all functions of a module that need not be one of this process's (ModuleImage). Empty where
  // this processor's code cannot be probed.
  static std::vector<ProbedFunction> ListModule(const dl_phdr_info& info, bool wants_return);
  // The targets of direct calls in the code of the module's function at `function`, and of its jumps to other
  // functions. Empty likewise.
  static std::vector<uint64_t> DirectCallees(const dl_phdr_info& info, uint64_t function);

 private:
  struct State;
  struct Pass;
  std::unique_ptr<State> state_;
};

// Since the process began. Context: any.
ProbeStats FunctionProbeStats();
// The calling thread's calls are delivered no more, for good: for threads of lagwatch. Context: any.
void LeaveThreadOutOfProbes();
// For a probe at calls of vfork(2), by import tables: the child, which has its parent's memory, delivers
// nothing.
const ProbeHandlers& VforkHandlers();
// Whether the calling thread's calls are delivered no more; returns what was. Context: any.
bool SetLeftOutOfProbes(bool is_left_out);

}  // namespace lagwatch::trace
