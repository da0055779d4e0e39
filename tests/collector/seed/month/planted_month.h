// SPDX-License-Identifier: Apache-2.0
// A month of three programs with planted truths, for what an analyst asks (docs/analysis.md): `editor`,
// `player` and `mail`, their versions, 10,000 users on four distributions and kernels, and some 38,000
// records. The same at each run except for ids and the day that it ends on, so that a test can add up the
// truth by itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/verdict.h"

namespace lagwatch::testing {

class Seeder;

// Days are counted back from today: the release is used from `first_day` down to `last_day`.
struct PlantedRelease {
  std::string app;
  std::string version;
  int first_day = 0;
  int last_day = 0;
};

struct PlantedCause {
  std::string app;
  std::string leaf;    // the innermost function, by which it is known
  std::string caller;  // of the leaf
  policies::VerdictWord word = policies::VerdictWord::kCpu;
  std::string tag;
  int64_t usual_ms = 0;
  std::vector<std::pair<std::string, int>> hangs_a_day;  // by version
  std::string loop = "ui";
  std::string plugin = "";        // the library in which most hangs of it are; empty: none
  std::string owner = "";         // of the lock
  std::string distribution = "";  // the only one that has it; empty: all
  std::string kernel = "";        // that nine of ten hangs are on; empty: any
  int user = -1;                  // the only one that has it; -1: any
};

struct PlantedHang {
  const PlantedCause* cause = nullptr;
  std::string version;
  int user = 0;
  int day = 0;  // before today
  int64_t hang_ms = 0;
  bool is_in_plugin = false;

  std::string user_name() const { return "u-" + std::to_string(user); }
};

struct PlantedUse {
  const PlantedRelease* release = nullptr;
  int user = 0;
  int day = 0;
  int64_t watched_ms = 0;
  int64_t hangs = 0;
  int64_t hang_ms = 0;
};

class PlantedMonth {
 public:
  static constexpr int kDays = 30;
  static constexpr int kUsers = 10'000;
  // The month's particular cases.
  static constexpr char kFedora[] = "Fedora Linux 41";
  static constexpr char kDebian[] = "Debian GNU/Linux 12 (bookworm)";
  static constexpr char kSlowKernel[] = "Linux 6.8.0-45-generic";
  static constexpr int kBackupUser = 30;

  // With one of `part` records, and at least one hang of each cause in each of its versions.
  explicit PlantedMonth(int part = 1);
  PlantedMonth(const PlantedMonth&) = delete;
  PlantedMonth& operator=(const PlantedMonth&) = delete;

  const std::vector<PlantedRelease>& releases() const { return releases_; }
  const std::vector<PlantedCause>& causes() const { return causes_; }
  const std::vector<PlantedHang>& hangs() const { return hangs_; }
  const std::vector<PlantedUse>& uses() const { return uses_; }

  static std::string DistributionOf(int user);
  static std::string KernelOf(int user);

 private:
  void AddHangs(const PlantedCause& cause, const PlantedRelease& release, int hangs);
  void AddUses(const PlantedRelease& release, int uses_a_day);
  int UserOf(const PlantedCause& cause);
  int64_t Below(int64_t bound);

  std::vector<PlantedRelease> releases_;
  std::vector<PlantedCause> causes_;
  std::vector<PlantedHang> hangs_;
  std::vector<PlantedUse> uses_;
  uint64_t random_ = 1;
};

// Adds the month's records to `seeder`: for each hang a report and its end, and the usage.
void SeedMonth(const PlantedMonth& month, Seeder* seeder);

}  // namespace lagwatch::testing
