// SPDX-License-Identifier: Apache-2.0
// Deletes what admins want deleted, one deletion after the other and in small steps. Deletions are kept in a
// file, so that one that was begun is done whatever happens. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/maintenance/maintenance.h"
#include "collector/query/json/json_text.h"
#include "collector/store/removal.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

struct Deletion {
  int64_t id = 0;
  std::string kind = {};                   // "user", "report", "cluster", "key" or "app"
  std::string subject = {};                // of a user that is deleted: its digest (SubjectDigest)
  std::vector<std::string> subjects = {};  // to be removed; empty once that is done
  std::string by = {};                     // the name of the key that was shown
  int64_t begun_wall_ms = 0;
  int64_t ended_wall_ms = 0;  // 0: it is not done yet
  RemovalProgress removed = {};
  std::string error = {};  // why the last step failed: it is tried again, or was given up if it is done

  bool is_done() const { return ended_wall_ms != 0; }
};

// The kind that is called so; nothing for an unknown name.
std::optional<Removal::By> RemovalOf(std::string_view kind);

class Deletions final : public MaintenanceJob {
 public:
  static constexpr size_t kMostWaiting = 1000;
  static constexpr size_t kMostKept = 1000;  // of those that are done

  // Removes a user's name from the files beside the store.
  using EraseName = std::function<base::Status(const std::string& user)>;

  // Ok when no records are kept out of the store's reach.
  using CheckReach = std::function<base::Status()>;

  // Borrows `store`. The file need not be there yet; one that is damaged is an error of all methods. A
  // deletion does not end while `check_reach` has an error.
  Deletions(StoreMaintenance* store, std::string path, EraseName erase_name = {},
            CheckReach check_reach = {});

  // Begins one; its id, times and progress are set here. It will be done once this has returned.
  // Errors: kIo; kInvalid; kUnavailable when too many wait.
  base::Result<Deletion> Begin(Deletion deletion);
  // The newest first.
  base::Result<std::vector<Deletion>> All();

  std::string name() const override { return "deletion"; }
  base::Result<bool> Step() override;

 private:
  base::Result<bool> StepOf(const Deletion& deletion);
  base::Status EraseRest(const Deletion& deletion);
  void Note(const base::Status& status);
  base::Status End(const base::Status& status);
  // With the mutex held.
  base::Status Load();
  base::Status Write();
  Deletion* FirstWaiting();

  StoreMaintenance* const store_;
  const std::string path_;
  const EraseName erase_name_;
  const CheckReach check_reach_;
  std::mutex mutex_;
  // Guarded by mutex_:
  bool is_loaded_ = false;
  int64_t next_id_ = 1;
  std::vector<Deletion> deletions_;  // the oldest first
  // The job's own.
  int64_t step_id_ = 0;  // the deletion that the last step was of
  size_t step_subject_ = 0;
  RemovalProgress progress_;
};

}  // namespace lagwatch::collector
