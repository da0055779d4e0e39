// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "sdk/waits/object_home.h"
#include "watchdog/evidence/idle_places.h"

namespace lagwatch::sdk {
namespace {

using watchdog::kFewWaits;

// In milliseconds.
constexpr uint32_t kShortestLife = 500;
constexpr uint32_t kLeft = 10'000;
constexpr uint32_t kOthersSettledLife = 10'000;
// Slower ones are no frames, but a program that does something every now and then.
constexpr uint32_t kLongestFrame = 200;

// Of the time since its first wait, a home has at least 1 part in so many; a loop that paces its frames works
// for most of it.
constexpr uint64_t kShareOfHome = 2;
constexpr uint64_t kShareOfFrames = 4;
// And another place of the loop.
constexpr uint64_t kShareBeside = 5;
// A loop of sleeps that works less looks whether others are done.
constexpr uint64_t kLeastWork = 25;
constexpr uint16_t kOrdersSettled = 32;
constexpr uint16_t kOthersSettled = 128;
// In one dispatch, or for good after so long.
constexpr uint16_t kNestedWaits = 8;

// In seconds: times before are of the clock that begins with the machine.
constexpr int64_t kFirstDate = 1'000'000'000;

bool HasOwnObject(ObjectKind kind) { return kind != ObjectKind::kFrame && kind != ObjectKind::kRead; }

}  // namespace

bool IsSoon(const timespec& until) {
  constexpr int64_t kSoonNs = 10 * base::kNsPerMs;
  timespec now{};
  clock_gettime(until.tv_sec >= kFirstDate ? CLOCK_REALTIME_COARSE : CLOCK_MONOTONIC_COARSE, &now);
  return (until.tv_sec - now.tv_sec) * base::kNsPerSecond + until.tv_nsec - now.tv_nsec <= kSoonNs;
}

bool ObjectHome::IsAt(const Place& place, const ObjectCall& call) {
  if (place.call.kind != call.kind || place.call.object != call.object) return false;
  return HasOwnObject(call.kind) || (place.call.site == call.site && place.call.frame == call.frame);
}

ObjectHome::Place* ObjectHome::Find(const ObjectCall& call) {
  for (Place& place : places_) {
    if (place.call.site != 0 && IsAt(place, call)) return &place;
  }
  return nullptr;
}

ObjectHome::Place* ObjectHome::Add(const ObjectCall& call, uint32_t first_ms) {
  Place* least = nullptr;
  for (Place& place : places_) {
    if (&place == home()) continue;
    if (least == nullptr || place.waited_ms < least->waited_ms) least = &place;
  }
  *least = {};
  least->call = call;
  least->first_ms = first_ms;
  return least;
}

ObjectHome::Use ObjectHome::Begin(const ObjectCall& call, uint32_t now_ms) {
  begin_ms_ = now_ms;
  Place* place = Find(call);
  if (has_home() && place == home()) {
    place->call.frame = std::max(place->call.frame, call.frame);
    NoteLoops(now_ms);
    return Use::kLoops;
  }
  is_foreign_ = false;
  if (!has_home()) return Use::kUnknown;
  const bool is_user = call.kind == ObjectKind::kRead && call.object == 0;
  if (call.kind == ObjectKind::kOrders || is_user || (place != nullptr && IsLoops(place, now_ms))) {
    NoteLoops(now_ms);
    return Use::kLoops;
  }
  is_foreign_ = true;
  return Use::kHandlers;
}

bool ObjectHome::End(const ObjectCall& call, uint32_t now_ms) {
  const uint32_t waited_ms = now_ms - std::exchange(begin_ms_, now_ms);
  if (waited_ms == 0) return false;
  if (is_foreign_) NoteForeign(now_ms);
  Place* place = Find(call);
  if (place == nullptr) place = Add(call, now_ms - waited_ms);
  place->waited_ms += waited_ms;
  if (place->long_waits != UINT16_MAX) ++place->long_waits;
  if (has_home() || is_foreign_ || !MayBeHome(place, now_ms)) return false;
  home_number_ = NumberOf(place);
  ++moves_;
  NoteLoops(now_ms);
  return true;
}

ObjectHome::Use ObjectHome::BeginPolled(bool is_loops, uint32_t now_ms) {
  begin_ms_ = now_ms;
  is_foreign_ = !is_loops;
  if (is_loops) NoteLoops(now_ms);
  return is_loops ? Use::kLoops : Use::kHandlers;
}

void ObjectHome::EndPolled(uint32_t now_ms) {
  if (is_foreign_ && now_ms != begin_ms_) NoteForeign(now_ms);
}

// Another loop, such as a pause of a game, has waited within this dispatch. A handler that asks for so many
// answers in turn looks like it.
void ObjectHome::NoteLoops(uint32_t now_ms) {
  if (std::exchange(foreign_waits_, 0) >= kNestedWaits) ++moves_;
  is_foreign_ = false;
  loops_ms_ = now_ms;
}

void ObjectHome::NoteForeign(uint32_t now_ms) {
  if (foreign_waits_ != UINT16_MAX) ++foreign_waits_;
  if (!has_home() || foreign_waits_ < kNestedWaits || now_ms - loops_ms_ < kLeft) return;
  Forget();
  is_foreign_ = false;
  foreign_waits_ = 0;
}

bool ObjectHome::IsSourceOfLoops(Place* place) {
  if (place->call.kind != ObjectKind::kRead) return true;
  if (!std::exchange(place->is_source_known, true))
    place->source = SourceOf(process_, static_cast<int>(place->call.object));
  return place->source == DescriptorSource::kEvent || place->source == DescriptorSource::kTimer ||
         place->source == DescriptorSource::kStream;
}

bool ObjectHome::IsLoops(Place* place, uint32_t now_ms) {
  const uint32_t life_ms = now_ms - place->first_ms;
  if (place->long_waits < kFewWaits || life_ms < kShortestLife) return false;
  const bool is_frame = place->call.kind == ObjectKind::kFrame;
  uint64_t share = is_frame ? kShareOfFrames : kShareOfHome;
  if (has_home()) share = kShareBeside;
  if (place->waited_ms * share < life_ms) return false;
  if (is_frame && place->waited_ms / place->long_waits > kLongestFrame) return false;
  if (is_frame && process_.is_own() && (life_ms - place->waited_ms) * kLeastWork < place->waited_ms)
    return false;
  return IsSourceOfLoops(place);
}

bool ObjectHome::IsForOrdersOrEvents(const Place& place) {
  if (place.call.kind == ObjectKind::kOrders || place.call.kind == ObjectKind::kRing) return true;
  return place.call.kind == ObjectKind::kRead &&
         (place.source == DescriptorSource::kEvent || place.source == DescriptorSource::kTimer);
}

bool ObjectHome::MayBeHome(Place* place, uint32_t now_ms) {
  place->is_source_known = false;  // the number may be another file's by now
  if (!IsLoops(place, now_ms)) return false;
  return !is_cautious_ || (IsForOrdersOrEvents(*place) && place->long_waits >= kOrdersSettled);
}

bool ObjectHome::IsSettled() const {
  if (!has_home()) return false;
  const Place& home = places_[home_number_ - 1];
  if (IsForOrdersOrEvents(home)) return home.long_waits >= kOrdersSettled;
  return home.call.kind == ObjectKind::kLock && home.long_waits >= kOthersSettled &&
         loops_ms_ - home.first_ms >= kOthersSettledLife;
}

}  // namespace lagwatch::sdk
