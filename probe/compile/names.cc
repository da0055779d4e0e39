// SPDX-License-Identifier: Apache-2.0
#include "probe/compile/names.h"

namespace lagwatch::probe {
namespace {

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

std::vector<std::string> HitValueNames(PlaceKind place) {
  std::vector<std::string> names = {"stack"};
  for (const HitValueRow& row : kRows) {
    if ((row.places & At(place)) != 0) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace lagwatch::probe
