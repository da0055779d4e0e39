// SPDX-License-Identifier: Apache-2.0
// A probe program that is armed in this process: verified, with its memory, its places and its timers.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/mapped_memory.h"
#include "base/status.h"
#include "probe/run/probe_state.h"
#include "probe/verify/verified.h"
#include "sdk/probe/held_locks.h"
#include "sdk/probe/java_prober.h"
#include "sdk/probe/note_semaphores.h"
#include "sdk/probe/probe_messages.h"
#include "sdk/probe/site_handlers.h"
#include "stack/elf/sdt_notes.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::sdk {

class LoadedFiles;

// Freed only once FunctionProber::FindLastForgotten() has come to its Disarm(), and IsInUse() is false.
// Context: background, one thread.
class ArmedProgram {
 public:
  // Verifies the program of `question`, which comes from outside. Errors: kInvalid, with the verifier's
  // reason; kTooLarge; kUnavailable without memory.
  static base::Result<std::unique_ptr<ArmedProgram>> Create(ArmQuestion question, uint32_t id,
                                                            const ProbeTicks& ticks);

  // Puts its probes on the functions, which are looked up among the loaded files by build id and checked to
  // begin there, and on methods of Java, if `java` is not null. One result a site.
  std::vector<SiteResult> Arm(trace::FunctionProber* prober, JavaProber* java);
  // Takes its probes away; what it has counted stays.
  void TakeProbesAway(trace::FunctionProber* prober, JavaProber* java);
  void Disarm(trace::FunctionProber* prober, JavaProber* java);

  // Runs the timers that are due, and returns when the next one is; INT64_MAX: never.
  int64_t RunTimers(int64_t now_ns);
  // The number of probes at that event.
  uint64_t RunEvent(std::string_view name, int64_t number);

  // Whether a thread is in a handler of its sites.
  // For good if it was in methods of Java: how long a thread may be on its way into a handler there, is
  // unknown.
  bool IsInUse() const { return was_in_java_ || uses_.HasAny(); }

  uint32_t id() const { return id_; }
  const ArmQuestion& question() const { return question_; }
  const ProbeTicks& ticks() const { return ticks_; }
  size_t armed_sites() const { return ids_.size() + armed_java_methods_; }
  bool NeedsStacks() const;
  bool has_probes() const { return is_active_.load(); }
  // Whether it has turned itself off, because of its budget.
  bool is_off() const { return state_->block().header->is_off.load(std::memory_order_relaxed) != 0; }
  // Whether it is at dispatches or hangs, which a process has only while its loops are watched.
  bool NeedsLoops() const;
  probe::ProbeState& state() { return *state_; }
  const HeldLocks& locks() const { return *locks_; }

 private:
  struct Timer {
    const probe::VerifiedProbe* probe;
    int64_t next_ns;
    int64_t count = 0;
  };

  ArmedProgram(ArmQuestion question, uint32_t id, const ProbeTicks& ticks, probe::VerifiedProgram program)
      : question_(std::move(question)), id_(id), ticks_(ticks), program_(std::move(program)) {}

  // The request for a site; null if it is refused, and `result` says why. `files` and `handlers` are null for
  // one of Java.
  SiteState* StateFor(const ProbeSiteAt& site, LoadedFiles* files, const trace::ProbeHandlers** handlers,
                      SiteResult* result);
  SiteState* NewState(const probe::VerifiedProbe& probe);
  void ArmLoops();
  void ArmSites(trace::FunctionProber* prober, const std::vector<size_t>& sites, LoadedFiles* files,
                std::vector<SiteResult>* results);
  void ArmJavaSites(JavaProber* java, std::vector<SiteResult>* results);
  void RunHere(const probe::VerifiedProbe& probe, int64_t number);

  ArmQuestion question_;
  const uint32_t id_;
  const ProbeTicks ticks_;
  const probe::VerifiedProgram program_;
  size_t memory_bytes_ = 0;
  base::MappedBlock<char> memory_;
  std::unique_ptr<probe::ProbeState> state_;
  std::unique_ptr<HeldLocks> locks_;
  std::atomic<bool> is_active_{false};
  SiteUses uses_;
  std::deque<SiteState> sites_;  // addresses stay
  std::vector<trace::ProbeId> ids_;
  std::vector<const SiteState*> java_sites_;
  size_t armed_java_methods_ = 0;
  bool was_in_java_ = false;
  std::vector<const SiteState*> loop_sites_;
  NoteSemaphores semaphores_;
  std::vector<Timer> timers_;
};

// Finds the file of a site among the loaded ones: the site's address in this process, or 0, and `why`. A role
// is accepted at the functions of its rows in site_roles.def alone.
class LoadedFiles {
 public:
  LoadedFiles();
  uint64_t AddressOf(const ProbeSiteAt& site, std::string* why);
  // The note at a site of that role, which has an address here.
  struct Note {
    std::string arguments;
    std::optional<NoteSemaphores::Place> semaphore;  // none: it has none
  };
  Note NoteOf(const ProbeSiteAt& site);
  // The function of lagwatch that a watched program calls in place of the site's; 0 if there is none.
  uint64_t OwnAddressOf(const ProbeSiteAt& site) const;

 private:
  struct File {
    bool is_program = false;
    std::string path;
    std::string build_id;
    uint64_t bias = 0;
    std::vector<std::pair<uint64_t, uint64_t>> code;  // begin and end
    // Offsets of the functions of site_roles.def, by name; none until read.
    std::optional<std::multimap<std::string, uint64_t, std::less<>>> role_functions{};
    std::optional<std::vector<stack::SdtNote>> notes{};
  };

  static bool HasRole(File* file, const ProbeSiteAt& site);
  static const stack::SdtNote* FindNote(File* file, const ProbeSiteAt& site);
  File* FindFile(const ProbeSiteAt& site);

  std::vector<File> files_;
};

}  // namespace lagwatch::sdk
