// SPDX-License-Identifier: Apache-2.0
// Damages the files of a spool while no process runs.
#pragma once

#include <string>
#include <vector>

#include "report/spool/spool_reader.h"
#include "tests/faults/accounts.h"
#include "tests/faults/random.h"

namespace lagwatch::faults {

// Files in a spool that are not the spool's: none of them may be touched.
class ForeignFiles {
 public:
  // `outside` is a folder that links in the spool point into.
  ForeignFiles(std::string directory, std::string outside);
  // The files that were changed; empty if none were.
  std::string Check() const;

 private:
  std::string directory_;
  std::string outside_;
};

class SpoolDamage {
 public:
  // `disk` may be null.
  SpoolDamage(std::string directory, DiskModel* disk, Random random)
      : directory_(std::move(directory)), disk_(disk), random_(random) {}

  // Cuts, flips or overwrites bytes of a segment.
  void DamageSegment(Accounts* accounts);
  // A new file that only looks like a segment, or holds what no client writes.
  void PlantSegment(Accounts* accounts);
  void DamageLedger(Accounts* accounts, collector::Store* store);

 private:
  std::vector<std::string> Segments() const;
  std::string Damaged(std::string content);
  void Put(const std::string& name, const std::string& content);

  std::string directory_;
  DiskModel* disk_;
  Random random_;
};

}  // namespace lagwatch::faults
