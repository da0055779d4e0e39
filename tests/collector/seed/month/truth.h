// SPDX-License-Identifier: Apache-2.0
// The true answers about a planted month, added up without the collector.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "tests/collector/seed/month/planted_month.h"

namespace lagwatch::testing {

struct HangTruth {
  int64_t hangs = 0;
  double hang_ms = 0;
  std::set<int> users = {};
};

using HangFilter = std::function<bool(const PlantedHang&)>;

inline HangTruth TruthOf(const PlantedMonth& month, const HangFilter& filter) {
  HangTruth truth;
  for (const PlantedHang& hang : month.hangs()) {
    if (!filter(hang)) continue;
    ++truth.hangs;
    truth.hang_ms += static_cast<double>(hang.hang_ms);
    truth.users.insert(hang.user);
  }
  return truth;
}

inline HangFilter OfApp(const std::string& app, const std::string& version = "") {
  return [=](const PlantedHang& hang) {
    return hang.cause->app == app && (version.empty() || hang.version == version);
  };
}

inline HangFilter OfCause(const std::string& leaf) {
  return [=](const PlantedHang& hang) { return hang.cause->leaf == leaf; };
}

inline HangFilter Both(const HangFilter& one, const HangFilter& other) {
  return [=](const PlantedHang& hang) { return one(hang) && other(hang); };
}

// Of a version's use.
struct UseTruth {
  double watched_ms = 0;
  double hang_ms = 0;
  int64_t hangs = 0;
};

inline UseTruth UseOf(const PlantedMonth& month, const std::string& app, const std::string& version) {
  UseTruth truth;
  for (const PlantedUse& use : month.uses()) {
    if (use.release->app != app || use.release->version != version) continue;
    truth.watched_ms += static_cast<double>(use.watched_ms);
    truth.hang_ms += static_cast<double>(use.hang_ms);
    truth.hangs += use.hangs;
  }
  return truth;
}

}  // namespace lagwatch::testing
