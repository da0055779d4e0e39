// SPDX-License-Identifier: Apache-2.0
// The handlers that run a probe's program when a function of the process begins or ends.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "probe/run/probe_state.h"
#include "probe/verify/verified.h"
#include "sdk/probe/held_locks.h"
#include "sdk/probe/note_arguments.h"
#include "sdk/probe/probe_messages.h"
#include "trace/instrument/probes/probe_events.h"

namespace lagwatch::sdk {

struct NativeHit;

// The calling thread's id. Context: hot.
uint32_t OwnTid();

// Counts the threads that are in handlers of a program. Context: hot.
class SiteUses {
 public:
  // Before it is asked whether the program is active.
  void Enter(uint32_t tid) { counts_[tid % kCounts].threads.fetch_add(1); }
  // Publishes that nothing of the program is used any more.
  void Leave(uint32_t tid) { counts_[tid % kCounts].threads.fetch_sub(1, std::memory_order_release); }
  bool HasAny() const {
    return std::ranges::any_of(counts_, [](const Count& count) { return count.threads.load() != 0; });
  }

 private:
  static constexpr size_t kCounts = 16;
  struct alignas(64) Count {
    std::atomic<uint32_t> threads{0};
  };
  std::array<Count, kCounts> counts_;
};

// A handler's user data.
struct SiteState {
  const probe::VerifiedProbe* probe = nullptr;
  probe::ProbeState* state = nullptr;
  const std::atomic<bool>* is_active = nullptr;  // false once the program is disarmed
  SiteUses* uses = nullptr;
  HeldLocks* locks = nullptr;  // kLock and similar roles
  double ns_per_tick = 1;
  std::string operation;                // kTransfer
  std::vector<NoteArgument> arguments;  // kNote
  uint32_t used_arguments = 0;          // of these, or of those of a method of Java, as bits
  uint32_t used_returned = 0;           // of a method of Java: the numbers of ReadReturned
  std::string names;                    // a glob on types (kThrow) or loops; empty: all
};

// The handlers for the probe at a function of that role; null if its values are not available there, which
// `why` says. Context: background.
const trace::ProbeHandlers* HandlersFor(SiteRole role, const probe::VerifiedProbe& probe, std::string* why);

// A site while a handler uses it; none if its program is not active. Context: hot.
class ActiveSite {
 public:
  explicit ActiveSite(const void* user_data)
      : site_(*static_cast<const SiteState*>(user_data)), tid_(OwnTid()) {
    site_.uses->Enter(tid_);
    is_active_ = site_.is_active->load();
  }
  ~ActiveSite() { site_.uses->Leave(tid_); }
  ActiveSite(const ActiveSite&) = delete;
  ActiveSite& operator=(const ActiveSite&) = delete;

  explicit operator bool() const { return is_active_; }
  const SiteState& operator*() const { return site_; }
  const SiteState* operator->() const { return &site_; }

 private:
  const SiteState& site_;
  const uint32_t tid_;
  bool is_active_;
};

// Runs the probe's program. Context: hot.
void RunHit(const SiteState& site, const NativeHit& hit);

// Called by the thread that ends the process, after the probes of its exit have been run; may be null.
extern std::atomic<void (*)()> g_before_exit;

// The process that is probed; 0: not known yet. A child of vfork(2) has its memory, and ends for itself.
extern std::atomic<pid_t> g_probed_process;

// The services of all hits, those of lagwatch's own thread (timers, events) included.
const probe::HitServices& ProbeHitServices();
// Makes HitServices::capture_stack work; called again, does nothing. False where stacks cannot be walked.
// Context: background.
bool PrepareStackCaptures();
// Keeps the map of code for them up to date. Context: background.
void RefreshStackCaptures();

}  // namespace lagwatch::sdk
