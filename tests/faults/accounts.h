// SPDX-License-Identifier: Apache-2.0
// The property that every case must have: each report that was made is in the store or counted as lost, once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/store/store.h"
#include "tests/faults/case_plan.h"
#include "tests/faults/shared_case.h"

namespace lagwatch::faults {

// The expected fate of each planned record, as far as the case's own changes to the files allow.
class Accounts {
 public:
  explicit Accounts(const CasePlan& plan);

  // After a run, before the damage.
  void NoteMade(const SharedCase& shared);
  // Unsynced records may be gone.
  void NotePowerCut();
  // A file was damaged that held these records: they may be gone. Whether a reader can see that, as it is
  // now.
  void NoteDamaged(const std::string& file, const std::vector<report::OwnedRecord>& gone, bool is_visible);
  // Parts of records may be in the spool.
  void NoteTorn() { may_be_damaged_ = true; }
  // Decisions may be made and counted again; counts that were not sent are lost.
  void NoteLedgerDamaged(const std::vector<report::OwnedRecord>& on_disk, collector::Store* store);

  // Reports, by id, that were stored and whose client does not know that: such a one is counted as lost, too,
  // when it is removed for its age or because there is too much.
  void NoteUncertain(const std::set<std::string>& ids) { uncertain_ = ids; }

  // Returns the error; empty if all is in order.
  std::string Check(collector::Store* store) const;

 private:
  struct Owed {
    Made made = Made::kNotYet;
    uint32_t least = 0;
    uint32_t most = 0;
  };

  struct DamagedFile {
    bool is_visible = false;
    std::vector<size_t> gone = {};  // records
  };

  bool IsTold(const PlannedRecord& planned, collector::Store* store) const;
  std::string CheckDamage(collector::Store* store) const;
  std::string CheckSums(collector::Store* store) const;
  std::string CheckLosses(collector::Store* store) const;
  std::string CheckStored(collector::Store* store) const;
  std::string CheckEnds(collector::Store* store) const;
  bool MayBeLost(const PlannedRecord& planned, std::string_view reason) const;

  const CasePlan& plan_;
  std::vector<Owed> owed_;  // by record
  std::set<std::string> uncertain_;
  bool is_ledger_damaged_ = false;
  std::map<std::string, DamagedFile> damaged_files_;
  bool may_be_damaged_ = false;
};

}  // namespace lagwatch::faults
