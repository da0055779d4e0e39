// SPDX-License-Identifier: Apache-2.0
// Learns where the loop of a thread waits that polls no set of descriptors: for signals, a condition, a
// semaphore, a message, a ring, an event, or for its next frame. The rule and its figures:
// docs/design/waits.md. Compiled without exceptions: see thread_waits.cc. Context: hot; the thread's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "base/process/process.h"
#include "sdk/waits/wait_home.h"

namespace lagwatch::sdk {

enum class ObjectKind : uint8_t {
  kOrders,  // a signal, a message of a queue, a connection: what others ask of the program
  kRing,    // requests of an io_uring
  kLock,    // a condition, a semaphore, futexes: what other threads do
  kFrame,   // a sleep
  kRead,    // a descriptor, whose source decides
};

struct ObjectCall {
  uintptr_t site;   // return address of the wait function
  uintptr_t frame;  // of the wait function
  uint64_t object;  // an address or a number; of kOrders and kFrame 0 without one
  ObjectKind kind;
};

// Whether a wait until then, by either clock, is as short as those of interpreters for their global lock
// (Python's is 5 ms): nothing is learnt from it.
bool IsSoon(const timespec& until);

// Times are milliseconds of one clock, and wrap. It may be coarser: the sums are right on average. Small,
// because each thread has one, and a library that is attached gets little room for variables of threads.
class ObjectHome {
 public:
  // Of a wait that begins.
  enum class Use : uint8_t {
    kUnknown,  // no home is known
    kLoops,    // it ends the dispatch
    kHandlers,
  };

  constexpr ObjectHome() = default;
  // Of a thread of another process, which is looked at from outside.
  explicit ObjectHome(const base::Process& process) : process_(process) {}

  // Whether only that is a home which a program hardly has that is no loop: 32 waits for orders, a ring,
  // events or timers.
  void SetCautious(bool is_cautious) { is_cautious_ = is_cautious; }

  Use Begin(const ObjectCall& call, uint32_t now_ms);
  // Whether the wait that ends now has lasted for a millisecond or more, as far as the clock shows.
  bool WasLong(uint32_t now_ms) const { return now_ms != begin_ms_; }
  // After the wait that Begin() was called for last: whether the thread has a new home, where it waited.
  bool End(const ObjectCall& call, uint32_t now_ms);
  // The same of a wait for polled descriptors, while there is a home; by their set, it is a loop's or not.
  Use BeginPolled(bool is_loops, uint32_t now_ms);
  void EndPolled(uint32_t now_ms);
  // Goes back to no home.
  void Forget() {
    home_number_ = 0;
    ++moves_;
  }

  bool has_home() const { return home_number_ != 0; }
  // The outermost frame of the home's waits.
  uintptr_t home_frame() const { return has_home() ? places_[home_number_ - 1].call.frame : 0; }
  // Whether the thread has come back so often that what is no wait for an event, and lasts, is a hang at the
  // threshold. Else it is known when the thread comes back.
  bool IsSettled() const;
  // Whether the thread has waited elsewhere since the last wait of the loop, for a millisecond or more.
  bool has_foreign_wait() const { return foreign_waits_ != 0; }
  // The number of times that the home has changed, and of dispatches in which another loop has waited.
  uint32_t moves() const { return moves_; }

 private:
  // Of kinds with an object of their own, any wait for that; else the same place of the program, in the same
  // frame.
  struct Place {
    ObjectCall call;
    uint32_t first_ms;
    uint32_t waited_ms;
    uint16_t long_waits;
    bool is_source_known;
    DescriptorSource source;  // of kRead
  };
  static constexpr size_t kPlaces = 2;

  static bool IsAt(const Place& place, const ObjectCall& call);
  Place* home() { return has_home() ? &places_[home_number_ - 1] : nullptr; }
  uint8_t NumberOf(const Place* place) const { return static_cast<uint8_t>(place - places_ + 1); }
  Place* Find(const ObjectCall& call);
  Place* Add(const ObjectCall& call, uint32_t first_ms);
  bool IsLoops(Place* place, uint32_t now_ms);
  static bool IsForOrdersOrEvents(const Place& place);
  bool MayBeHome(Place* place, uint32_t now_ms);
  bool IsSourceOfLoops(Place* place);
  void NoteLoops(uint32_t now_ms);
  void NoteForeign(uint32_t now_ms);

  base::Process process_;
  uint32_t begin_ms_ = 0;  // of the wait under way
  uint32_t loops_ms_ = 0;  // when the loop has waited last
  uint32_t moves_ = 0;
  uint16_t foreign_waits_ = 0;  // since then, long ones
  uint8_t home_number_ = 0;     // of a place, from 1; 0: none
  bool is_foreign_ = false;
  bool is_cautious_ = false;
  Place places_[kPlaces] = {};
};

}  // namespace lagwatch::sdk
