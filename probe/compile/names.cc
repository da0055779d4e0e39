// SPDX-License-Identifier: Apache-2.0
#include "probe/compile/names.h"

namespace lagwatch::probe {
namespace {

constexpr const char* kPlaceNames[] = {
#define PROBE_PLACE(name, text, help) text,
#include "probe/places.def"
};

constexpr HitValueRow kRows[] = {
#define PROBE_VALUE(name, text, shown, places, help) {HitValue::k##name, text, Shown::k##shown, places},
#include "probe/values.def"
};

}  // namespace

const HitValueRow* FindHitValue(std::string_view name, PlaceKind place) {
  for (const HitValueRow& row : kRows) {
    if (row.name == name && (row.places & At(place)) != 0) return &row;
  }
  return nullptr;
}

std::string PlacesOfValue(std::string_view name) {
  Places places = name == "returned" ? kWithReturned : 0;
  for (const HitValueRow& row : kRows) places |= row.name == name ? row.places : Places{0};
  std::string text;
  for (size_t i = 0; i < std::size(kPlaceNames); ++i) {
    const auto place = static_cast<PlaceKind>(i);
    if ((places & At(place)) == 0) continue;
    const bool is_in_function = place <= PlaceKind::kDuration || (At(place) & kInMethods) != 0;
    text += (text.empty() ? "" : ", ") + std::string(is_in_function ? "@" : "") + kPlaceNames[i];
  }
  return text;
}

std::vector<std::string> HitValueNames(PlaceKind place) {
  std::vector<std::string> names = {"stack"};
  for (const HitValueRow& row : kRows) {
    if ((row.places & At(place)) != 0) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace lagwatch::probe
