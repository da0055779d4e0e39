// SPDX-License-Identifier: Apache-2.0
// One case: a collector's program serves a directory under load, is killed with SIGKILL at random moments
// while it takes reports in, removes expired ones, migrates its database or copies it, and is started again;
// in the end the database is compared with what was sent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace lagwatch::faults {

enum class KillKind { kIngest, kRetention, kMigration, kBackup };
inline constexpr int kKillKinds = 4;
const char* NameOf(KillKind kind);

struct KillTotals {
  int kills = 0;
  uint64_t reports = 0;             // acknowledged
  uint64_t unanswered = 0;          // tries of batches
  std::map<KillKind, int> of_kind;  // kills
  std::map<KillKind, int> midway;   // of these, while such work was under way
};

// Damage to the database after the case that the check must notice.
enum class Damage { kNone, kLostReport, kWrongSum };

// The databases that cases begin with. Made once.
class KillTemplates;

class KillSuite {
 public:
  // `program` is the collector's.
  explicit KillSuite(std::string program);
  ~KillSuite();

  // Plays the case of `seed`, with `most_kills` at most. The problem, or nothing; adds to `totals`.
  std::string Play(uint64_t seed, int most_kills, Damage damage, KillTotals* totals);

 private:
  const std::string program_;
  const std::unique_ptr<KillTemplates> templates_;
};

}  // namespace lagwatch::faults
