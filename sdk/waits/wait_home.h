// SPDX-License-Identifier: Apache-2.0
// Distinguishes a thread's waits: those of its loop, between two dispatches, and those of a handler, within
// one. A modal dialog's nested loop waits for the loop's descriptors, too; a handler that calls a service
// waits for others. The rule and its figures: docs/design/waits.md. Compiled without exceptions: see
// thread_waits.cc. Context: hot; the thread's own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/process/process.h"
#include "watchdog/waits/wait_set.h"

namespace lagwatch::sdk {

// The source of the events of a descriptor.
enum class DescriptorSource : uint8_t {
  kAny,
  kEvent,   // is waited for only in order to be woken up
  kUser,    // standard input, or a terminal
  kTimer,   // a timer, signals or changes of files
  kStream,  // a pipe or a socket
};

// Of a descriptor of the process. Reads a link in /proc, and opens nothing.
DescriptorSource SourceOf(const base::Process& process, int descriptor);

bool IsOpenDescriptor(const base::Process& process, int descriptor);

using watchdog::WaitSet;

struct WaitCall {
  WaitSet set;
  uintptr_t site;   // return address of the wait function
  uintptr_t frame;  // of the wait function: lower the more calls are under way
};

// Learns where a thread's loop waits, its home. A signal handler may wait inside a wait:
// the last call decides.
class WaitHome {
 public:
  static constexpr size_t kMaxPolled = WaitSet::kMaxPolled;

  // Whether calls of the program's scripts have no frames in C (Python 3.11, Perl, Lua): then a wait of a
  // handler has the height of its loop's. Of the process.
  static inline constinit std::atomic<bool> scripts_have_no_frames{false};

  WaitHome() = default;
  // Of a thread of another process, which is looked at from outside.
  explicit WaitHome(const base::Process& process) : process_(process) {}

  // Before a wait while a dispatch is under way: whether it is the loop's, and so ends the
  // dispatch. Keeps errno.
  bool Serves(const WaitCall& call);
  // After Serves(): whether a loop is likely to wait for that set.
  bool IsLikelyLoops() { return waiting_ != nullptr && waiting_->IsLoops(process_); }
  // Before a wait while none is.
  void Forget() { waiting_ = nullptr; }
  // After the first wait of a thread that is watched only since, before its first dispatch.
  void NoteFirst(const WaitCall& call) {
    Serves(call);
    waiting_->has_partial_key = call.set.is_select();
    Forget();
  }
  // After a wait, `succeeded` unless it failed: whether the dispatch goes on that was under way before.
  bool GoesOn(bool succeeded);

  // The outermost frame of the home's waits, 0 while there is no home.
  uintptr_t home_frame() const { return home_ == nullptr ? 0 : home_->frame; }
  // The place that its waits return to, likewise.
  uintptr_t home_site() const { return home_ == nullptr ? 0 : home_->site; }
  // Whether the home is known by a single descriptor, a server's, for which clients wait as a loop does.
  bool is_home_shared() const { return home_ != nullptr && !home_->is_distinct; }
  // A thread that sleeps no further below the home's frame may be in no handler: the home is new, and a
  // client may be done with its server.
  uintptr_t doubtful_depth() const;
  // Whether the last wait that did not serve may be of another loop, which the thread has gone on to.
  bool is_doubtful() const { return is_doubtful_; }
  // Whether the last wait that served, before there was a home, has shown that a handler ran before it.
  bool has_shown_handler() const { return has_shown_handler_; }
  // The time since which that handler is known to have run; 0: for the whole dispatch.
  int64_t handler_since_ns() const { return handler_since_ns_; }
  // The number of times that the home has changed to another loop's.
  uint32_t home_moves() const { return home_moves_; }
  // Whether the thread has waited so often, each time for 1 ms at least, at one place. That need not be a
  // home: its set may be a single descriptor.
  bool HasUsualWait(uint16_t count) const;
  // The descriptor that the last wait which ended a dispatch polled, if it was a single one; else -1.
  int only_descriptor() const { return only_descriptor_number_ - 1; }

 private:
  // The place of a thread's wait: the same epoll descriptor; or a set from the same place of the program, in
  // the same frame or with the same descriptors.
  struct WaitPlace {
    static constexpr size_t kMaxKey = 16;

    uintptr_t site;
    uintptr_t frame;
    int key[kMaxKey];  // an epoll descriptor, or those that all its sets had
    uint8_t key_count;
    bool is_epoll;
    bool is_select;
    bool is_distinct;      // as IsDistinct() has found last
    bool waits_in_turn;    // for this and that, from the begin
    bool is_known_by_one;  // whether a single descriptor is enough, once `asked_key` is that and one
    bool is_for_user;      // whether that is the user's: then no server answers there
    bool has_partial_key;  // the key was found after a wait, and lacks what was not ready
    int asked_key;
    uint16_t long_waits;
    uint16_t long_waits_away;    // of a handler, since the last wait of the loop
    uint16_t long_waits_around;  // in a frame that encloses the home's, since the last wait at home

    std::span<const int> key_view() const { return {key, key_count}; }
    void SetKey(std::span<const int> descriptors);
    // Whether a loop could be known by it.
    bool IsDistinct(const base::Process& process);
    // Whether no request to a server is likely to wait there, so that it is a loop's, as far as is known.
    bool IsLoops(const base::Process& process) {
      return has_partial_key || IsDistinct(process) || (key_count == 1 && is_for_user);
    }
  };
  static constexpr size_t kPlaces = 6;

  std::span<const int> Copy(const WaitSet& set, int* descriptors) const;
  WaitPlace* FindOrAdd(const WaitCall& call, std::span<const int> descriptors);
  // Whether a call is at that place, whose key is then what all its sets have had.
  bool IsAt(WaitPlace* place, const WaitCall& call, std::span<const int> descriptors);
  // Whether the place waits for nothing that the home there has waited for, all of which is open still: a
  // script's handlers wait where its loop does, in the same frame.
  bool IsAnotherUse(WaitPlace& place, std::span<const int> descriptors) const;
  // Whether the home is one for a single descriptor of a script's loop, whose handlers' waits may look like
  // those of a client that asks several servers. They are known when the loop waits again: a handler has
  // closed what it waited for.
  bool MayHaveUnseenHandlers() const;
  bool HasClosedBeside() const;
  bool IsAround(const WaitPlace& place) const;
  // Whether a wait for no descriptors, a sleep, is of a handler although there is no home: deeper than the
  // wait of a loop, and not so frequent that it is a loop itself.
  bool IsHandlersSleep(const WaitCall& call, const WaitPlace& sleep) const;
  // Whether the thread sleeps as Ruby does: from another place of the program, it waits for one of the home's
  // descriptors, by which others wake it up. The height of the stack says nothing there, because an
  // interpreter's scripts call each other on one frame in C.
  bool IsOnlyToBeWokenUp(const WaitCall& call, const WaitPlace& loop, WaitPlace& place) const;
  bool IsForeign(const WaitCall& call, WaitPlace& place, std::span<const int> descriptors);
  // The same before there is a home, if the dispatch began where a loop is likely.
  bool IsEarlyHandlers(const WaitCall& call, WaitPlace& place, std::span<const int> descriptors);
  bool IsLeftForAnotherLoop(const WaitPlace& place) const;
  // Whether a loop's function, such as Python's select.select(), may have a frame so large that its handlers
  // poll above it.
  static bool IsAboveLargeFrame(const WaitCall& call, const WaitPlace& loop);
  void NoteServed(const WaitCall& call);
  // Whether requests may wait where the home does.
  bool IsHomeVague() const { return is_home_shared() && !home_->IsLoops(process_); }
  bool IsNewHome(WaitPlace* place, int64_t now_ns) const;
  // Whether a wait for other descriptors in a frame below the home's is a handler's for certain.
  bool IsProvenLoop(bool is_same_place, bool is_for_one) const;
  bool IsBetter(const WaitPlace& place) const;
  void SetHome(WaitPlace* place);

  base::Process process_;
  WaitPlace places_[kPlaces] = {};
  WaitPlace* home_ = nullptr;
  WaitPlace* waiting_ = nullptr;  // the place of the wait under way; null: not looked at
  bool is_foreign_ = false;
  bool is_doubtful_ = false;
  bool has_come_back_ = false;  // the thread waited at home again, after a foreign wait
  uint32_t home_moves_ = 0;
  int64_t home_since_ns_ = 0;       // CLOCK_MONOTONIC
  bool has_waited_around_ = false;  // a place's long_waits_around is not 0
  WaitPlace* served_ = nullptr;     // of the last wait that served: there the dispatch began
  uintptr_t served_frame_ = 0;      // of that wait
  WaitPlace* early_ = nullptr;      // of a handler, as it seems: of the last wait that did not, before a home
  int64_t early_end_ns_ = 0;        // when that was over
  int beside_descriptor_ = -1;      // of that wait, if the home may have unseen handlers
  bool has_shown_handler_ = false;
  int64_t handler_since_ns_ = 0;
  int only_descriptor_number_ = 0;  // by one more than the descriptor; 0: none
  int64_t wait_begin_ns_ = 0;       // 0: not timed
  int64_t away_since_ns_ = 0;       // when the first wait began that was not at home; 0: the last one was
  WaitSet last_set_;                // of the wait under way or the last one
  bool is_last_readable_ = false;   // the kernel has read last_set_
};

}  // namespace lagwatch::sdk
