// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/name_limits.h"

#include <algorithm>
#include <utility>

#include "collector/store/records.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kSharedBy = 3;  // networks: no stranger's invention any more
constexpr size_t kMostWaiting = 1000;
constexpr size_t kNetworksPartOfNames = 16;  // of the limit: one in so many
constexpr size_t kDisplacedADay = 10;        // of the limit: one in so many

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

void AddNetwork(const std::string& network, std::vector<std::string>* networks) {
  if (network.empty() || networks->size() >= kSharedBy || std::ranges::count(*networks, network) > 0) return;
  networks->push_back(network);
}

void GiveBackPart(const std::string& network, std::map<std::string, size_t>* parts) {
  const auto part = parts->find(network);
  if (part != parts->end() && --part->second == 0) parts->erase(part);
}

}  // namespace

void NameLimits::Forget(Names* names, int64_t before_day) const {
  std::erase_if(names->known, [&](const auto& each) {
    if (each.second.day >= before_day) return false;
    GiveBackPart(each.second.charged, &names->parts);
    return true;
  });
}

bool NameLimits::TryTake(Names* names, const std::string& name, size_t limit, int64_t day,
                         const std::string& network) const {
  const auto known = names->known.find(name);
  if (known != names->known.end()) {
    Name& found = known->second;
    found.day = day;
    AddNetwork(network, &found.networks);
    if (found.networks.size() >= kSharedBy) GiveBackPart(std::exchange(found.charged, {}), &names->parts);
    return true;
  }
  if (names->known.size() >= limit) Forget(names, day - bounds_.days);
  const bool is_scarce = names->known.size() >= (limit + 1) / 2 && !network.empty();
  const size_t part = std::max<size_t>(limit / kNetworksPartOfNames, 1);
  const auto used = names->parts.find(network);
  const bool has_part = !is_scarce || used == names->parts.end() || used->second < part;
  Name added{.day = day};
  AddNetwork(network, &added.networks);
  if (names->known.size() >= limit || !has_part) return TryDisplace(names, name, limit, day, network);
  if (is_scarce) {
    added.charged = network;
    ++names->parts[network];
  }
  names->waiting.erase(name);
  names->known.emplace(name, std::move(added));
  return true;
}

bool NameLimits::TryDisplace(Names* names, const std::string& name, size_t limit, int64_t day,
                             const std::string& network) {
  if (network.empty()) return false;
  if (names->day != day) names->displaced = 0;
  names->day = day;
  // The one that would come next, so that a stranger cannot know which.
  if (names->waiting.size() >= kMostWaiting && !names->waiting.contains(name)) {
    auto victim = names->waiting.upper_bound(name);
    names->waiting.erase(victim == names->waiting.end() ? names->waiting.begin() : victim);
  }
  Name& waiting = names->waiting[name];
  waiting.day = day;
  AddNetwork(network, &waiting.networks);
  if (waiting.networks.size() < kSharedBy || names->displaced >= std::max<size_t>(limit / kDisplacedADay, 1))
    return false;
  if (names->known.size() >= limit) {
    const auto is_worse = [](const auto& a, const auto& b) {
      return std::pair(a.second.networks.size(), a.second.day) <
             std::pair(b.second.networks.size(), b.second.day);
    };
    const auto victim = std::ranges::min_element(names->known, is_worse);
    if (victim == names->known.end() || victim->second.networks.size() >= kSharedBy) return false;
    GiveBackPart(victim->second.charged, &names->parts);
    names->known.erase(victim);
  }
  ++names->displaced;
  names->known.emplace(name, std::move(waiting));
  names->waiting.erase(name);
  return true;
}

bool NameLimits::BoundProgram(const Sender& sender, KnownNames* known, int64_t day, std::string* app,
                              std::string* version) const {
  const std::string& network = sender.network;
  const bool has_app = TryTake(&known->apps, *app, bounds_.apps, day, network);
  const bool has_version =
      has_app && TryTake(&known->versions, KeyOf({app, version}), bounds_.versions, day, network);
  if ((has_app && has_version) || (is_pinned_ && is_pinned_(*app, *version))) return false;
  bool is_folded = Fold(version);
  if (!has_app) is_folded |= Fold(app);
  return is_folded;
}

bool NameLimits::Bound(const Sender& sender, int64_t now_wall_ms, std::string* app, std::string* version) {
  std::lock_guard lock(mutex_);
  return BoundProgram(sender, &projects_[sender.key], now_wall_ms / kMsPerDay, app, version);
}

bool NameLimits::Bound(const Sender& sender, int64_t now_wall_ms, std::string* app, std::string* version,
                       std::string* loop, std::string* os) {
  std::lock_guard lock(mutex_);
  KnownNames* known = &projects_[sender.key];
  const int64_t day = now_wall_ms / kMsPerDay;
  bool is_folded = BoundProgram(sender, known, day, app, version);
  if (!TryTake(&known->places, KeyOf({app, version, loop, os}), bounds_.places, day, sender.network)) {
    is_folded |= Fold(loop);
    is_folded |= Fold(os);
  }
  return is_folded;
}

}  // namespace lagwatch::collector
