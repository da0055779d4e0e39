// SPDX-License-Identifier: Apache-2.0
// Causes as people see them: the reports' clusters, with annotations, and with clusters that were merged or
// split by hand (policies/cluster/cluster_edits.h). The reports' own clusters stay unchanged, so that
// everything can be undone. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/store/store.h"
#include "policies/cluster/cluster_edits.h"

namespace lagwatch::collector {

inline constexpr std::string_view kNewState = "new";
inline constexpr std::string_view kFixedState = "fixed";
inline constexpr std::string_view kRegressedState = "regressed";

// Selects causes by their states (StateOf); empty: all.
using CauseStates = std::set<std::string, std::less<>>;
// "" for those that are still to be looked after, "all", or states with commas between
// them. Errors: kInvalid.
base::Result<CauseStates> ParseStates(std::string_view text);

struct ShownCause {
  CauseRow row;
  ClusterNote note;                      // empty without one
  std::vector<std::string> merged_keys;  // other clusters whose reports are shown here; sorted

  // Of all clusters whose reports are shown here.
  std::vector<std::string> keys() const;
};

struct ShownPage {
  std::vector<ShownCause> causes;
  CauseRow all;
};

// The annotated state, or "regressed" for a fixed cause that occurred again: in a version that is not older
// than the one that it was fixed in or, if that is unknown, after it was annotated.
std::string_view StateOf(const ShownCause& cause);

class AnnotatedCauses {
 public:
  // Borrows `store`.
  explicit AnnotatedCauses(StoreReader* store) : store_(store) {}

  // The costliest first. Of level 2, clusters are as reports make them.
  base::Result<ShownPage> Causes(const CauseQuery& query, const CauseStates& states = {}) const;
  // The key of the cluster that the reports of cluster `key` are shown in; of one that was split, its own.
  base::Result<std::string> ShownKey(const std::string& key) const;
  // The keys of all clusters whose reports are shown there.
  base::Result<std::vector<std::string>> MemberKeys(const std::string& key) const;
  // The cause that the reports of cluster `key` are shown in; of a cluster that was split, itself.
  base::Result<std::optional<ShownCause>> Find(const std::string& key, const ReportFilter& filter = {}) const;
  // The versions of programs that have such reports of it, by app and version.
  base::Result<std::vector<CauseVersion>> Versions(const ShownCause& cause, const ReportFilter& filter) const;
  // Its days that had reports, oldest first.
  base::Result<std::vector<CausePeriod>> Days(const ShownCause& cause) const;
  // The cost of each from `first_day` to `last_day` (since 1970 UTC), on the days that had reports: in the
  // order of `causes`, each oldest first.
  base::Result<std::vector<std::vector<CauseDay>>> CostByDay(const std::vector<ShownCause>& causes,
                                                             int64_t first_day, int64_t last_day) const;
  // StoredReports::Reports, where a cluster's key stands for the cause that it is shown in.
  base::Result<std::vector<ReportRow>> Reports(const ReportFilter& filter, int64_t limit,
                                               const std::optional<base::Uuid>& before = {}) const;

  // Errors: kNotFound for clusters that are not there.
  base::Result<ClusterNote> Note(const std::string& key) const;
  // Changes a note, one caller at a time: no other caller changes anything that `change` sees. Returns
  // the new one. Errors: those of `change`, then nothing is changed; kInvalid for an impossible merge
  // or split; kNotFound.
  base::Result<ClusterNote> Change(const std::string& key,
                                   const std::function<base::Status(ClusterNote*)>& change) const;
  // Keeps a note. Errors: as Change.
  base::Status Put(const ClusterNote& note) const;

 private:
  struct Annotations {
    std::map<std::string, ClusterNote> notes;
    policies::ClusterEdits edits;

    ClusterNote NoteOf(const std::string& key) const;
    std::string ShownKey(const std::string& key) const;
  };

  base::Result<Annotations> Open() const;
  base::Result<ShownPage> NotedCauses(const Annotations& annotations, const CauseQuery& query,
                                      const CauseStates& states) const;
  base::Status CheckEdits(const ClusterNote& note) const;
  base::Result<bool> IsShown(const Annotations& annotations, const std::string& key) const;
  base::Result<std::vector<std::string>> MembersOf(const Annotations& annotations,
                                                   const std::string& shown_key) const;
  base::Result<std::optional<ShownCause>> SumUp(const Annotations& annotations, const std::string& shown_key,
                                                const ReportFilter& filter, int64_t child_limit) const;
  base::Result<bool> IsCalled(const Annotations& annotations, const std::string& text,
                              const ShownCause& cause) const;
  base::Status AddEdited(const Annotations& annotations, const CauseQuery& query,
                         std::vector<ShownCause>* causes) const;

  StoreReader* store_;
  mutable std::mutex changing_;  // one change at a time
};

}  // namespace lagwatch::collector
