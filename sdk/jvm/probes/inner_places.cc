// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/inner_places.h"

#include <algorithm>

namespace lagwatch::sdk::jvm {
namespace {

bool ReadsHitValue(const probe::VerifiedProbe& probe, probe::HitValue value) {
  return std::ranges::any_of(probe.operations(), [&](const probe::Operation& operation) {
    const bool reads = operation.code == probe::OperationCode::kReadValue ||
                       operation.code == probe::OperationCode::kReadText;
    return reads && operation.number == static_cast<int32_t>(value);
  });
}

char LetterOf(probe::PlaceKind kind) {
  switch (kind) {
    case probe::PlaceKind::kInnerCall:
      return 'I';
    case probe::PlaceKind::kCreation:
      return 'N';
    case probe::PlaceKind::kMonitor:
      return 'M';
    case probe::PlaceKind::kFieldRead:
      return 'G';
    case probe::PlaceKind::kFieldWrite:
      return 'P';
    default:
      return 'L';
  }
}

}  // namespace

std::string InnerKindsOf(const probe::VerifiedProbe& probe) {
  const probe::Place& place = probe.place();
  const auto reads = [&](probe::HitValue value) { return ReadsHitValue(probe, value); };
  std::string kinds(1, LetterOf(place.kind));
  if (reads(probe::HitValue::kDuration) || reads(probe::HitValue::kWaited) || reads(probe::HitValue::kHeld))
    kinds += 'd';
  if (reads(probe::HitValue::kCallee) || reads(probe::HitValue::kObjectType) ||
      reads(probe::HitValue::kField))
    kinds += 't';
  if (reads(probe::HitValue::kFieldValue)) kinds += 'v';
  const std::string target = place.line != 0 ? std::to_string(place.line) : place.target;
  return kinds + ' ' + (target.empty() ? "*" : target);
}

}  // namespace lagwatch::sdk::jvm
