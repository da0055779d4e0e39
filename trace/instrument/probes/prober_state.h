// SPDX-License-Identifier: Apache-2.0
// The code that a FunctionProber has changed, for function_arming.cc, which changes it, and
// function_examiner.cc, which does not. Context: background.
#pragma once

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/process/loader_walk.h"
#include "trace/hooks/import_patches.h"
#include "trace/instrument/probes/code_space.h"
#include "trace/instrument/probes/function_prober.h"
#include "trace/instrument/probes/grace_period.h"
#include "trace/instrument/probes/head_patch.h"
#include "trace/instrument/probes/mapped_code.h"
#include "trace/instrument/probes/probed_modules.h"

namespace lagwatch::trace {

// The program's dlopen() and fork() wait for the loader's lock, which is held for so many functions.
inline constexpr size_t kMostAtOnce = 64;

// A function that has, or had, probes.
struct ProbedPlace {
  ProbeSite* site = nullptr;
  HeadPatch patch;
  ProbeId ids[kMaxProbesPerFunction]{};  // by slot; 0: free
  uint64_t load_bias = 0;                // of its module, to know that again
  std::string path;
  std::string build_id;
  uint64_t import_code = 0;  // to which slots of import tables lead; the patch is none then
  bool is_patched = false;
  bool reads_return_address = false;
  bool is_note = false;

  bool IsIn(const ProbedModule& module) const {
    // A file that was replaced has another path, as the kernel says.
    return load_bias == module.load_bias && build_id == module.build_id &&
           (!build_id.empty() || path == module.path);
  }
  // Whether the code that was patched is still there; `module` has the same build id.
  bool IsInForce(const MemoryMap& memory, const ProbedModule& module) const {
    const uint64_t function = site->function;
    const bool is_loaded = IsIn(module) || memory.FindFile(function, function + patch.saved_bytes) != nullptr;
    return is_loaded && patch.HasPatch(function);
  }
  bool HasProbes() const {
    return std::any_of(std::begin(ids), std::end(ids), [](ProbeId id) { return id != 0; });
  }
};

// One call of the prober's, on a thread of its own.
struct FunctionProber::Pass {
  State* state;
  const CodeWriter& writer;
  const MemoryMap& memory;
  void (*visit)(Pass* pass, const ProbedModule& module);  // for each module
  void* work;
  bool has_unwinder = false;
  bool wants_ranges = false;
  std::vector<CallerRanges::Range> ranges;
};

struct FunctionProber::State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::map<uint64_t, ProbedPlace> places;                           // by function
  std::map<std::pair<uint64_t, std::string>, ProbedPlace> imports;  // by function and name
  ImportPatches import_patches;
  struct KnownProbe {
    ArmedProbe* probe = nullptr;
    uint32_t slots = 0;  // of functions, that have it
  };
  // Disarmed probes that a thread may be on its way to.
  struct Retired {
    uint64_t number;  // of the Disarm()
    timespec since;
    GracePeriod grace;
    std::vector<ArmedProbe*> probes;
  };
  std::map<std::pair<const ProbeHandlers*, void*>, KnownProbe> probes;
  std::vector<ArmedProbe*> removed_probes;  // since the last retirement
  std::deque<Retired> retired;
  std::vector<ArmedProbe*> free_probes;
  uint64_t last_disarm = 0;
  uint64_t last_forgotten = 0;  // of these, whose probes no thread can come to
  std::map<ProbeId, ProbedPlace*> armed_places;
  ProbeId last_id = 0;
  CodeSpace space;
  ExcludedFunctions excluded;
  std::atomic<bool> has_unused_pads{false};
  base::LoaderCounts modules;  // those that the caller ranges are of

  // Runs `work(writer, memory)` while no other changes code, on a thread with its own files. False if there
  // is no way to change code.
  template <typename Work>
  bool ChangeCode(const Work& work);
  // Calls `visit` for each module, while no other changes code, and none can be unloaded. False if there is
  // no way to change code.
  bool Walk(void (*visit)(Pass*, const ProbedModule&), void* work);
  static int VisitModule(dl_phdr_info* info, size_t size_bytes, void* pass);

  ProbeReason Refusal(const Pass& pass, const ProbedModule& module, uint64_t function, bool wants_return,
                      HeadPlace* head);
  ProbeReason NoteRefusal(const Pass& pass, const ProbedModule& module, uint64_t note, HeadPlace* head);
  std::vector<uint64_t> JumpsNear(const ProbedModule& module, uint64_t function) const;
  ProbeReason FindPlace(const Pass& pass, const ProbedModule& module, const HeadPlace& head,
                        ProbedPlace** found);
  ProbeResult ArmOne(const Pass& pass, const ProbedModule& module, const ProbeRequest& request);
  ProbeResult AddProbe(ProbedPlace* place, const ProbeRequest& request);
  ProbeResult ArmImport(const CodeWriter& writer, const MemoryMap& memory, const ProbeRequest& request);
  void ArmImports(std::span<const ProbeRequest> requests, std::vector<ProbeResult>* results);
  void DisarmImports();
  // Of a note `wants_return` is false.
  ProbeResult ExamineOne(const Pass& pass, const ProbedModule& module, uint64_t place, bool wants_return,
                         bool is_note);
  std::vector<ProbeResult> Examine(std::span<const uint64_t> functions, bool wants_return, bool are_notes);
  static void ExamineIn(Pass* pass, const ProbedModule& module);
  static void ArmIn(Pass* pass, const ProbedModule& module);
  static void ArmReloadedIn(Pass* pass, const ProbedModule& module);
  ProbedPlace* Rename(ProbeId from, ProbeId to);
  static void ListIn(Pass* pass, const ProbedModule& module);
  static void DisarmIn(Pass* pass, const ProbedModule& module);
  static void RestorePadsIn(Pass* pass, const ProbedModule& module);
  void RestorePads(int64_t most_ms);
  template <typename Visit>
  void ForEachPlace(const ProbedModule& module, Visit visit);
  const ArmedProbe* ProbeOf(const ProbeRequest& request);
  void Remove(ProbedPlace* place, ProbeId id);
  void Retire();
  static void Recount(const ProbedPlace& place);
  static void Switch(const Pass& pass, ProbedPlace* place, bool is_on);
};

}  // namespace lagwatch::trace
