// SPDX-License-Identifier: Apache-2.0
#include "sdk/waits/wait_home.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "watchdog/evidence/idle_places.h"

namespace lagwatch::sdk {

using watchdog::kDeepestStackBytes;
using watchdog::kFewWaits;
using watchdog::kHelperBytes;

namespace {

constexpr int64_t kLongWaitNs = 1 * base::kNsPerMs;
constexpr uint16_t kFewestLongWaits = 3;              // that make a home
constexpr uint16_t kSettledLongWaits = 64;            // then a home is left only for good
constexpr uint16_t kLongWaitsAway = 8;                // that are no handler's any more,
constexpr int64_t kAwayNs = 10 * base::kNsPerSecond;  // after so long
// A loop that has lived for less time is perhaps a program's first one, which it has left: a greeting, a
// start.
constexpr int64_t kShortLifeNs = base::kNsPerSecond / 2;
constexpr uintptr_t kLargeFrameBytes = 128 << 10;  // with arrays of FD_SETSIZE
// Between two waits of a handler that asks for an answer again and again. No hang is so short.
constexpr int64_t kStepNs = 50 * base::kNsPerMs;

bool Holds(std::span<const int> descriptors, int descriptor) {
  return std::ranges::find(descriptors, descriptor) != descriptors.end();
}

bool HoldsAll(std::span<const int> descriptors, std::span<const int> key) {
  return std::ranges::all_of(key, [&](int descriptor) { return Holds(descriptors, descriptor); });
}

bool IsBelow(const WaitCall& call, uintptr_t begin) {
  return call.frame < begin && begin - call.frame < kDeepestStackBytes;
}

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * base::kNsPerSecond + now.tv_nsec;
}

}  // namespace

// Many wait for a single descriptor, a server's, both in their loop and for an answer.
bool WaitHome::WaitPlace::IsDistinct(const base::Process& process) {
  if (is_epoll || key_count != 1) return is_distinct = is_epoll || key_count != 0;
  if (asked_key != key[0] + 1) {
    asked_key = key[0] + 1;
    const DescriptorSource source = SourceOf(process, key[0]);
    is_known_by_one = source == DescriptorSource::kEvent;
    is_for_user = source == DescriptorSource::kUser;
  }
  return is_distinct = is_known_by_one;
}

uintptr_t WaitHome::doubtful_depth() const {
  if (home_ == nullptr || home_->is_epoll || home_->long_waits >= kFewWaits) return 0;
  return is_home_shared() ? kDeepestStackBytes : kHelperBytes;
}

void WaitHome::WaitPlace::SetKey(std::span<const int> descriptors) {
  key_count = static_cast<uint8_t>(std::min(descriptors.size(), kMaxKey));
  std::copy_n(descriptors.begin(), key_count, key);
}

bool WaitHome::Serves(const WaitCall& call) {
  const bool is_usual =
      home_ != nullptr && home_->is_epoll && call.set.is_epoll() && home_->key[0] == call.set.epoll();
  is_foreign_ = is_doubtful_ = has_shown_handler_ = false;
  if (is_usual) {
    waiting_ = home_;
  } else {
    int memory[kMaxPolled];
    const std::span<const int> descriptors = Copy(call.set, memory);
    waiting_ = FindOrAdd(call, descriptors);
    is_foreign_ = IsForeign(call, *waiting_, descriptors);
    if (!is_foreign_)
      only_descriptor_number_ = !call.set.is_epoll() && descriptors.size() == 1 ? descriptors[0] + 1 : 0;
  }
  if (!is_foreign_) NoteServed(call);
  waiting_->frame = std::max(waiting_->frame, call.frame);  // the outermost of a loop that is nested
  last_set_ = call.set;
  is_last_readable_ = false;
  const bool is_timed = waiting_ != home_ || waiting_->long_waits < kSettledLongWaits;
  wait_begin_ns_ = is_timed ? NowNs() : 0;
  has_come_back_ |= waiting_ == home_ && away_since_ns_ != 0;
  if (!is_foreign_ && away_since_ns_ != 0) {
    away_since_ns_ = 0;
    for (WaitPlace& place : places_) place.long_waits_away = 0;
  }
  if (is_foreign_ && away_since_ns_ == 0) away_since_ns_ = wait_begin_ns_;
  if (waiting_ == home_ && std::exchange(has_waited_around_, false)) {
    for (WaitPlace& place : places_) place.long_waits_around = 0;
  }
  return !is_foreign_;
}

bool WaitHome::GoesOn(bool succeeded) {
  if (waiting_ == nullptr) return false;
  WaitPlace* place = std::exchange(waiting_, nullptr);
  is_last_readable_ = succeeded;
  if (wait_begin_ns_ == 0) return false;
  const int64_t now_ns = NowNs();
  if (now_ns - wait_begin_ns_ >= kLongWaitNs) {
    if (place->long_waits != UINT16_MAX) ++place->long_waits;
    if (is_foreign_) ++place->long_waits_away;
    if (IsAround(*place)) {
      ++place->long_waits_around;
      has_waited_around_ = true;
    }
  }
  early_end_ns_ = now_ns;
  if (!IsNewHome(place, now_ns)) return is_foreign_;
  SetHome(place);
  return false;
}

void WaitHome::NoteServed(const WaitCall& call) {
  if (early_ != nullptr) {
    has_shown_handler_ = true;
    // Else its waits may have been another loop's, and what ran after them was a handler of that one.
    const bool is_back = waiting_ == served_ && call.frame == served_frame_;
    handler_since_ns_ = is_back && (waiting_->IsLoops(process_) || HasClosedBeside()) ? 0 : early_end_ns_;
    early_ = nullptr;
    beside_descriptor_ = -1;
  }
  served_ = waiting_;
  served_frame_ = call.frame;
}

void WaitHome::SetHome(WaitPlace* place) {
  // A loop may wait at several places, of which each has served, too.
  const bool is_same_loop = place != nullptr && home_ != nullptr && !is_home_shared() &&
                            HoldsAll(place->key_view(), home_->key_view());
  early_ = nullptr;
  beside_descriptor_ = -1;
  served_ = place;
  home_ = place;
  home_since_ns_ = place == nullptr ? 0 : NowNs();
  if (!is_same_loop) ++home_moves_;
  has_come_back_ = is_doubtful_ = false;
}

bool WaitHome::HasUsualWait(uint16_t count) const {
  return std::ranges::any_of(places_, [&](const WaitPlace& place) { return place.long_waits >= count; });
}

std::span<const int> WaitHome::Copy(const WaitSet& set, int* descriptors) const {
  if (set.is_epoll()) {
    *descriptors = set.epoll();
    return {descriptors, 1};
  }
  // A loop usually polls the same array again, and the kernel could read it.
  const bool is_readable = is_last_readable_ && set.IsWithin(last_set_);
  return {descriptors, set.CopyDescriptors(process_, is_readable, descriptors, kMaxPolled)};
}

WaitHome::WaitPlace* WaitHome::FindOrAdd(const WaitCall& call, std::span<const int> descriptors) {
  if (home_ != nullptr && IsAt(home_, call, descriptors)) return home_;
  WaitPlace* least = nullptr;
  for (WaitPlace& place : places_) {
    if (&place == home_) continue;
    if (place.site != 0 && IsAt(&place, call, descriptors)) return &place;
    if (&place == served_) continue;
    const bool is_less =
        least != nullptr && least->site != 0 && (place.site == 0 || place.long_waits < least->long_waits);
    if (least == nullptr || is_less) least = &place;
  }
  *least = {};
  least->site = call.site;
  least->frame = call.frame;
  least->is_epoll = call.set.is_epoll();
  least->is_select = call.set.is_select();
  least->SetKey(descriptors);
  return least;
}

bool WaitHome::IsAt(WaitPlace* place, const WaitCall& call, std::span<const int> descriptors) {
  if (place->is_epoll != call.set.is_epoll()) return false;
  if (place->is_epoll) return place->key[0] == descriptors[0];
  if (place->site != call.site || (place->key_count == 0) != descriptors.empty()) return false;
  const bool is_same_frame = place->frame == call.frame;
  // Else one descriptor, a server's, may be of a client's request as well as of its loop.
  if (HoldsAll(descriptors, place->key_view())) {
    if (is_same_frame && std::exchange(place->has_partial_key, false)) place->SetKey(descriptors);
    return is_same_frame || place->IsDistinct(process_);
  }
  if (!is_same_frame || IsAnotherUse(*place, descriptors)) return false;
  // The same loop, of other sources than before.
  auto gone = std::remove_if(place->key, place->key + place->key_count,
                             [&](int descriptor) { return !Holds(descriptors, descriptor); });
  place->key_count = static_cast<uint8_t>(gone - place->key);
  if (place->key_count != 0) return true;
  place->waits_in_turn |= IsOpenDescriptor(process_, place->key[0]);
  place->SetKey(descriptors);
  return true;
}

bool WaitHome::IsAnotherUse(WaitPlace& place, std::span<const int> descriptors) const {
  const WaitPlace* loop = home_ == nullptr ? served_ : home_;
  if (&place != loop || place.waits_in_turn || !(place.IsLoops(process_) || MayHaveUnseenHandlers()))
    return false;
  const std::span<const int> key = place.key_view();
  return std::ranges::none_of(key, [&](int one) { return Holds(descriptors, one); }) &&
         std::ranges::all_of(key, [&](int one) { return IsOpenDescriptor(process_, one); });
}

bool WaitHome::MayHaveUnseenHandlers() const {
  // Relaxed: set once, when the process is first watched.
  return scripts_have_no_frames.load(std::memory_order_relaxed) && process_.is_own() && IsHomeVague() &&
         home_->long_waits >= kFewWaits;
}

bool WaitHome::HasClosedBeside() const {
  return beside_descriptor_ >= 0 && !IsOpenDescriptor(process_, beside_descriptor_);
}

bool WaitHome::IsAround(const WaitPlace& place) const {
  return home_ != nullptr && place.frame > home_->frame + kHelperBytes &&
         place.frame - home_->frame < kDeepestStackBytes;
}

bool WaitHome::IsHandlersSleep(const WaitCall& call, const WaitPlace& sleep) const {
  return std::ranges::any_of(places_, [&](const WaitPlace& loop) {
    return loop.key_count != 0 && IsBelow(call, loop.frame + kHelperBytes) &&
           sleep.long_waits <= 2 * loop.long_waits + 3;
  });
}

bool WaitHome::IsOnlyToBeWokenUp(const WaitCall& call, const WaitPlace& loop, WaitPlace& place) const {
  const uintptr_t distance = std::max(call.frame, loop.frame) - std::min(call.frame, loop.frame);
  const bool holds = loop.has_partial_key || (loop.key_count > 1 && Holds(loop.key_view(), place.key[0]));
  return place.site != loop.site && place.key_count == 1 && holds && distance < kDeepestStackBytes &&
         place.IsDistinct(process_);
}

bool WaitHome::IsEarlyHandlers(const WaitCall& call, WaitPlace& place, std::span<const int> descriptors) {
  if (!process_.is_own() || served_ == nullptr || &place == served_ || !served_->IsLoops(process_))
    return false;
  if (HoldsAll(descriptors, served_->key_view()) || IsLeftForAnotherLoop(place)) return false;
  // A loop that waits in a function of its own has a deeper frame than some of its handlers' waits.
  const uintptr_t begin = served_frame_ + (place.IsLoops(process_) ? 0 : kHelperBytes);
  const bool is_handlers =
      IsBelow(call, begin) || IsOnlyToBeWokenUp(call, *served_, place) || IsAboveLargeFrame(call, *served_);
  if (!is_handlers) return false;
  if (!IsOpenDescriptor(process_, served_->key[0])) return false;
  early_ = &place;
  is_doubtful_ = true;
  return true;
}

bool WaitHome::IsAboveLargeFrame(const WaitCall& call, const WaitPlace& loop) {
  return loop.is_select && call.set.is_poll() && call.frame >= loop.frame &&
         call.frame - loop.frame < kLargeFrameBytes;
}

// It waits there again, after more work than a handler does that waits in steps; or it has waited there more
// often.
bool WaitHome::IsLeftForAnotherLoop(const WaitPlace& place) const {
  if (early_ != &place) return place.long_waits > served_->long_waits;
  return NowNs() - early_end_ns_ >= kStepNs;
}

bool WaitHome::IsForeign(const WaitCall& call, WaitPlace& place, std::span<const int> descriptors) {
  if ((home_ == nullptr || is_home_shared()) && descriptors.empty()) return IsHandlersSleep(call, place);
  if (home_ == nullptr) return IsEarlyHandlers(call, place, descriptors);
  if (&place == home_ || HoldsAll(descriptors, home_->key_view())) return false;
  if (IsOnlyToBeWokenUp(call, *home_, place)) return true;
  // A loop may wait for this and that in turn.
  const bool is_same_place = place.site == home_->site && place.frame == home_->frame;
  if (is_same_place && place.long_waits > home_->long_waits / 2) return false;
  // It is the frame of a handler that the loop has called. On another stack a coroutine runs: nothing is
  // known then. A client asks one server here and another one there.
  const uintptr_t begin = home_->frame + (IsHomeVague() ? 0 : kHelperBytes);
  const bool is_unseen = MayHaveUnseenHandlers() && (is_same_place || IsAboveLargeFrame(call, *home_));
  const bool is_above =
      (is_unseen || (!IsHomeVague() && IsAboveLargeFrame(call, *home_))) && !IsLeftForAnotherLoop(place);
  if ((!is_above && !IsBelow(call, begin)) || descriptors.size() == kMaxPolled) return false;
  if (!IsOpenDescriptor(process_, home_->key[0])) {
    SetHome(nullptr);  // that loop is over
    return false;
  }
  is_doubtful_ = is_above || (!descriptors.empty() && !IsProvenLoop(is_same_place, descriptors.size() == 1));
  if (is_above) early_ = &place;
  if (is_above && is_unseen) beside_descriptor_ = descriptors[0];
  return true;
}

bool WaitHome::IsProvenLoop(bool is_same_place, bool is_for_one) const {
  if (is_home_shared()) return has_come_back_ && home_->long_waits >= kSettledLongWaits;
  // A wait for one descriptor is a request's rather than that of the next loop, which has the sources of the
  // first one, and more.
  const bool is_old =
      home_->long_waits >= kFewWaits && (is_for_one || NowNs() - home_since_ns_ >= kShortLifeNs);
  return has_come_back_ || (!is_same_place && is_old);
}

bool WaitHome::IsNewHome(WaitPlace* place, int64_t now_ns) const {
  if (place == home_ || place->long_waits < kFewestLongWaits || place->key_count == 0) return false;
  const bool is_distinct = place->IsDistinct(process_);
  const bool is_away = place->long_waits_away >= kLongWaitsAway && now_ns - away_since_ns_ > kAwayNs;
  if (home_ == nullptr) return !is_foreign_ || is_away;
  if (is_home_shared() && is_distinct && (!is_foreign_ || home_->long_waits < kFewWaits)) return true;
  return is_away ? is_distinct || is_home_shared() : IsBetter(*place) && (is_distinct || IsHomeVague());
}

// A set that is waited for repeatedly around the home, without it, has called it: a client that connected to
// its server before its loop began, and sends requests later.
bool WaitHome::IsBetter(const WaitPlace& place) const {
  if (home_->long_waits >= kSettledLongWaits) return false;
  const int enough = IsHomeVague() && !has_come_back_ ? home_->long_waits : 2 * home_->long_waits + 3;
  return place.long_waits > enough || place.long_waits_around >= kFewestLongWaits;
}

}  // namespace lagwatch::sdk
