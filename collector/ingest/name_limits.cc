// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/name_limits.h"

#include "collector/store/records.h"

namespace lagwatch::collector {
namespace {

// Of several texts, which may hold anything.
std::string KeyOf(std::initializer_list<const std::string*> texts) {
  std::string key;
  for (const std::string* text : texts) key += std::to_string(text->size()) + ':' + *text;
  return key;
}

bool Fold(std::string* name) {
  if (*name == kOtherNames) return false;
  *name = kOtherNames;
  return true;
}

}  // namespace

bool NameLimits::TryTake(Names* names, const std::string& name, size_t limit, int64_t day) const {
  const auto known = names->find(name);
  if (known != names->end()) {
    known->second = day;
    return true;
  }
  if (names->size() >= limit)
    std::erase_if(*names, [&](const auto& each) { return each.second < day - bounds_.days; });
  if (names->size() >= limit) return false;
  names->emplace(name, day);
  return true;
}

bool NameLimits::BoundProgram(KnownNames* known, int64_t day, std::string* app, std::string* version) const {
  bool is_folded = false;
  if (!TryTake(&known->apps, *app, bounds_.apps, day)) {
    is_folded |= Fold(app);
    is_folded |= Fold(version);
  } else if (!TryTake(&known->versions, KeyOf({app, version}), bounds_.versions, day)) {
    is_folded |= Fold(version);
  }
  return is_folded;
}

bool NameLimits::Bound(std::string_view project, int64_t now_wall_ms, std::string* app,
                       std::string* version) {
  std::lock_guard lock(mutex_);
  KnownNames* known = &projects_.try_emplace(std::string(project)).first->second;
  return BoundProgram(known, now_wall_ms / kMsPerDay, app, version);
}

bool NameLimits::Bound(std::string_view project, int64_t now_wall_ms, std::string* app, std::string* version,
                       std::string* loop, std::string* os) {
  std::lock_guard lock(mutex_);
  KnownNames* known = &projects_.try_emplace(std::string(project)).first->second;
  const int64_t day = now_wall_ms / kMsPerDay;
  bool is_folded = BoundProgram(known, day, app, version);
  if (!TryTake(&known->places, KeyOf({app, version, loop, os}), bounds_.places, day)) {
    is_folded |= Fold(loop);
    is_folded |= Fold(os);
  }
  return is_folded;
}

}  // namespace lagwatch::collector
