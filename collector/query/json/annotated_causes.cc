// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/annotated_causes.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "collector/store/cluster_search.h"
#include "collector/store/report_summer.h"
#include "policies/cluster/version_order.h"

namespace lagwatch::collector {
namespace {

Status NoSuchCluster(const std::string& key) {
  return {StatusCode::kNotFound, "no such cluster: " + key + "; /v1/clusters lists them all"};
}

void AddAll(const std::vector<std::string>& more, std::vector<std::string>* sorted) {
  std::set<std::string> all(sorted->begin(), sorted->end());
  all.insert(more.begin(), more.end());
  sorted->assign(all.begin(), all.end());
}

void AddVerdicts(const std::vector<std::pair<std::string, double>>& more,
                 std::vector<std::pair<std::string, double>>* verdicts) {
  for (const auto& [word, hang_ns] : more) {
    auto known = std::ranges::find(*verdicts, word, &std::pair<std::string, double>::first);
    if (known == verdicts->end()) known = verdicts->emplace(verdicts->end(), word, 0);
    known->second += hang_ns;
  }
  std::ranges::stable_sort(*verdicts, std::greater(), &std::pair<std::string, double>::second);
}

// The sums of both; the cluster stays that of `cause`.
void AddCause(CauseRow more, CauseRow* cause) {
  cause->sums.Add(more.sums);
  cause->estimated_hangs += more.estimated_hangs;
  cause->estimated_hang_ns += more.estimated_hang_ns;
  cause->is_capped_known |= more.is_capped_known;
  AddAll(more.apps, &cause->apps);
  AddAll(more.versions, &cause->versions);
  AddVersion(more.first_version, cause);
  AddVersion(more.last_version, cause);
  cause->more_apps += more.more_apps;
  cause->more_versions += more.more_versions;
  AddVerdicts(more.verdicts, &cause->verdicts);
  std::ranges::move(more.children, std::back_inserter(cause->children));
}

bool CostsMore(const CauseRow& a, const CauseRow& b) {
  return std::pair(-a.estimated_hang_ns, a.cluster.key) < std::pair(-b.estimated_hang_ns, b.cluster.key);
}

template <typename Row>
void Cut(int64_t offset, int64_t limit, std::vector<Row>* rows) {
  const auto count = static_cast<int64_t>(rows->size());
  rows->erase(rows->begin(), rows->begin() + std::min(offset, count));
  if (static_cast<int64_t>(rows->size()) > limit) rows->resize(static_cast<size_t>(limit));
}

}  // namespace

std::string_view StateOf(const ShownCause& cause) {
  const ClusterNote& note = cause.note;
  if (note.state.empty()) return kNewState;
  if (note.state != kFixedState) return note.state;
  const bool is_back = note.fixed_in.empty()
                           ? cause.row.sums.last_seen_ms > note.changed_wall_ms
                           : std::ranges::any_of(cause.row.versions, [&](const std::string& version) {
                               return !policies::IsOlderVersion(version, note.fixed_in);
                             });
  return is_back ? kRegressedState : kFixedState;
}

ClusterNote AnnotatedCauses::Annotations::NoteOf(const std::string& key) const {
  const auto found = notes.find(key);
  return found == notes.end() ? ClusterNote{.key = key} : found->second;
}

Result<AnnotatedCauses::Annotations> AnnotatedCauses::Open() const {
  auto notes = LAGWATCH_TRY(store_->Notes());
  Annotations annotations;
  for (ClusterNote& note : notes) {
    // Put lets in nothing that could be refused here.
    if (!note.merged_into.empty()) std::ignore = annotations.edits.Merge(note.key, note.merged_into);
    if (note.is_split) annotations.edits.Split(note.key);
    annotations.notes.emplace(note.key, std::move(note));
  }
  return annotations;
}

Result<ShownPage> AnnotatedCauses::Causes(const CauseQuery& query, const CauseStates& states) const {
  auto annotations = LAGWATCH_TRY(Open());
  if (!states.empty() && !states.contains(kNewState)) return NotedCauses(annotations, query, states);
  const bool is_edited =
      query.level == 1 && !(annotations.edits.merges().empty() && annotations.edits.splits().empty());
  const auto edited =
      static_cast<int64_t>(annotations.edits.merges().size() * 2 + annotations.edits.splits().size());
  const int64_t left_out =
      (is_edited ? edited : 0) +
      (states.empty() ? 0 : std::ranges::count_if(annotations.notes, [](const auto& note) {
        return !note.second.state.empty() && note.second.state != kNewState;
      }));
  CauseQuery raw = query;
  if (left_out > 0) {
    raw.limit = query.offset + query.limit + left_out;
    raw.offset = 0;
  }
  const ClusterSearch search(query.text);
  for (const auto& [key, note] : annotations.notes) {
    if (!query.text.empty() && search.IsIn(note.title)) raw.titled_keys.push_back(key);
  }
  auto page = LAGWATCH_TRY(store_->Causes(raw));
  ShownPage shown{.causes = {}, .all = std::move(page.all)};
  for (CauseRow& cause : page.causes) {
    ClusterNote note = annotations.NoteOf(cause.cluster.key);
    shown.causes.push_back({std::move(cause), std::move(note), {}});
  }
  if (is_edited) {
    if (Status added = AddEdited(annotations, query, &shown.causes); !added.ok()) return added;
    std::ranges::sort(shown.causes, CostsMore, &ShownCause::row);
  }
  if (!states.empty())
    std::erase_if(shown.causes, [&](const ShownCause& cause) { return !states.contains(StateOf(cause)); });
  if (left_out > 0) Cut(query.offset, query.limit, &shown.causes);
  return shown;
}

// Few have a state that is not "new": each is looked at.
Result<ShownPage> AnnotatedCauses::NotedCauses(const Annotations& annotations, const CauseQuery& query,
                                               const CauseStates& states) const {
  CauseQuery of_all = query;
  of_all.limit = of_all.offset = 0;
  auto page = LAGWATCH_TRY(store_->Causes(of_all));
  ShownPage shown{.causes = {}, .all = std::move(page.all)};
  for (const auto& [key, note] : annotations.notes) {
    if (note.state.empty() || note.state == kNewState || annotations.edits.merges().contains(key)) continue;
    auto cluster = LAGWATCH_TRY(store_->FindCluster(key));
    auto is_shown = LAGWATCH_TRY(query.level == 2 ? Result<bool>(cluster && cluster->level == 2)
                                                  : IsShown(annotations, key));
    if (!is_shown) continue;
    auto cause = LAGWATCH_TRY(query.level == 1
                                  ? SumUp(annotations, key, query.filter, query.child_limit)
                                  : SumUp({.notes = annotations.notes, .edits = {}}, key, query.filter, 0));
    if (!cause || !states.contains(StateOf(*cause))) continue;
    auto is_wanted =
        LAGWATCH_TRY(query.text.empty() ? Result<bool>(true) : IsCalled(annotations, query.text, *cause));
    if (is_wanted) shown.causes.push_back(std::move(*cause));
  }
  std::ranges::sort(shown.causes, CostsMore, &ShownCause::row);
  Cut(query.offset, query.limit, &shown.causes);
  return shown;
}

// In place of the clusters that were merged or split, and those that others were merged into.
Status AnnotatedCauses::AddEdited(const Annotations& annotations, const CauseQuery& query,
                                  std::vector<ShownCause>* causes) const {
  std::set<std::string> shown_keys;
  for (const auto& [key, into] : annotations.edits.merges())
    shown_keys.insert(annotations.edits.ShownKey(key, key));
  for (const std::string& key : annotations.edits.splits()) {
    auto whole = LAGWATCH_TRY(store_->FindCause(key, query.filter));
    if (!whole) continue;
    for (const CauseRow& child : whole->children)
      shown_keys.insert(annotations.edits.ShownKey(key, child.cluster.key));
  }
  std::erase_if(*causes, [&](const ShownCause& cause) {
    const std::string& key = cause.row.cluster.key;
    return shown_keys.contains(key) || annotations.edits.merges().contains(key) ||
           annotations.edits.splits().contains(key);
  });
  for (const std::string& key : shown_keys) {
    auto cause = LAGWATCH_TRY(SumUp(annotations, key, query.filter, query.child_limit));
    if (!cause) continue;
    auto is_wanted =
        LAGWATCH_TRY(query.text.empty() ? Result<bool>(true) : IsCalled(annotations, query.text, *cause));
    if (is_wanted) causes->push_back(std::move(*cause));
  }
  return {};
}

// By the name or title of any cluster that is shown in it.
Result<bool> AnnotatedCauses::IsCalled(const Annotations& annotations, const std::string& text,
                                       const ShownCause& cause) const {
  const ClusterSearch search(text);
  if (search.IsIn(cause.row.cluster)) return true;
  for (const std::string& key : cause.keys()) {
    if (search.IsIn(annotations.NoteOf(key).title)) return true;
    auto cluster = LAGWATCH_TRY(store_->FindCluster(key));
    if (cluster && search.IsIn(*cluster)) return true;
  }
  return false;
}

// Level-2 clusters are shown alone only when theirs of level 1 was split.
Result<bool> AnnotatedCauses::IsShown(const Annotations& annotations, const std::string& key) const {
  if (annotations.edits.splits().contains(key)) return false;
  auto cluster = LAGWATCH_TRY(store_->FindCluster(key));
  if (!cluster) return false;
  return cluster->level == 1 || annotations.edits.splits().contains(cluster->parent_key);
}

Result<std::vector<std::string>> AnnotatedCauses::MembersOf(const Annotations& annotations,
                                                            const std::string& shown_key) const {
  std::vector<std::string> members = {shown_key};
  for (const auto& [key, into] : annotations.edits.merges()) {
    if (annotations.edits.ShownKey(key, key) == shown_key && key != shown_key) members.push_back(key);
  }
  if (members.size() == 1) return members;
  std::vector<std::string> shown;
  for (std::string& key : members) {
    if (LAGWATCH_TRY(IsShown(annotations, key))) shown.push_back(std::move(key));
  }
  return shown;
}

Result<std::optional<ShownCause>> AnnotatedCauses::SumUp(const Annotations& annotations,
                                                         const std::string& shown_key,
                                                         const ReportFilter& filter,
                                                         int64_t child_limit) const {
  auto members = LAGWATCH_TRY(MembersOf(annotations, shown_key));
  ShownCause cause{.row = {}, .note = annotations.NoteOf(shown_key), .merged_keys = {}};
  bool has_reports = false;
  for (const std::string& key : members) {
    if (key != shown_key) cause.merged_keys.push_back(key);
    auto part = LAGWATCH_TRY(store_->FindCause(key, filter));
    if (!part) continue;
    if (!has_reports || key == shown_key) cause.row.cluster = part->cluster;
    AddCause(std::move(*part), &cause.row);
    has_reports = true;
  }
  if (!has_reports) return std::optional<ShownCause>();
  std::ranges::sort(cause.merged_keys);
  std::ranges::sort(cause.row.children, CostsMore);
  Cut(0, child_limit, &cause.row.children);
  if (cause.row.cluster.key != shown_key) {
    auto cluster = LAGWATCH_TRY(store_->FindCluster(shown_key));
    if (cluster) cause.row.cluster = std::move(*cluster);
  }
  return std::optional(std::move(cause));
}

std::string AnnotatedCauses::Annotations::ShownKey(const std::string& key) const {
  return edits.splits().contains(key) ? key : edits.ShownKey(key, key);
}

Result<std::string> AnnotatedCauses::ShownKey(const std::string& key) const {
  return LAGWATCH_TRY(Open()).ShownKey(key);
}

Result<std::vector<std::string>> AnnotatedCauses::MemberKeys(const std::string& key) const {
  auto annotations = LAGWATCH_TRY(Open());
  return MembersOf(annotations, annotations.ShownKey(key));
}

Result<std::optional<ShownCause>> AnnotatedCauses::Find(const std::string& key,
                                                        const ReportFilter& filter) const {
  auto annotations = LAGWATCH_TRY(Open());
  return SumUp(annotations, annotations.ShownKey(key), filter, kAllChildren);
}

Result<std::vector<ReportRow>> AnnotatedCauses::Reports(const ReportFilter& filter, int64_t limit,
                                                        const std::optional<base::Uuid>& before) const {
  if (filter.cluster_key.empty()) return store_->Reports(filter, limit, before);
  auto annotations = LAGWATCH_TRY(Open());
  auto members = LAGWATCH_TRY(MembersOf(annotations, filter.cluster_key));
  std::vector<ReportRow> reports;
  for (const std::string& key : members) {
    ReportFilter part = filter;
    part.cluster_key = key;
    auto rows = LAGWATCH_TRY(store_->Reports(part, limit, before));
    std::ranges::move(rows, std::back_inserter(reports));
  }
  std::ranges::sort(reports,
                    [](const ReportRow& a, const ReportRow& b) { return a.id.as_bytes() > b.id.as_bytes(); });
  Cut(0, limit, &reports);
  return reports;
}

Result<ClusterNote> AnnotatedCauses::Note(const std::string& key) const {
  if (!LAGWATCH_TRY(store_->FindCluster(key))) return NoSuchCluster(key);
  return LAGWATCH_TRY(Open()).NoteOf(key);
}

Result<ClusterNote> AnnotatedCauses::Change(const std::string& key,
                                            const std::function<Status(ClusterNote*)>& change) const {
  std::lock_guard lock(changing_);
  auto note = Note(key);
  if (!note.ok()) return note;
  if (Status changed = change(&*note); !changed.ok()) return changed;
  if (Status put = Put(*note); !put.ok()) return put;
  return note;
}

Status AnnotatedCauses::Put(const ClusterNote& note) const {
  if (Status checked = CheckEdits(note); !checked.ok()) return checked;
  return store_->PutNote(note);
}

Status AnnotatedCauses::CheckEdits(const ClusterNote& note) const {
  auto annotations = LAGWATCH_TRY(Open());
  auto cluster = LAGWATCH_TRY(store_->FindCluster(note.key));
  if (!cluster) return NoSuchCluster(note.key);
  if (note.is_split && cluster->level != 1)
    return {StatusCode::kInvalid, "cluster " + note.key + " is of level 2 and cannot be split further"};
  if (note.merged_into.empty()) return {};
  if (note.is_split)
    return {StatusCode::kInvalid, "a cluster is either merged into another or split, not both"};
  for (const std::string& key : {note.key, note.merged_into}) {
    auto found = LAGWATCH_TRY(store_->FindCluster(key));
    if (!found) return NoSuchCluster(key);
    if (found->level == 2 && !annotations.edits.splits().contains(found->parent_key)) {
      return {StatusCode::kInvalid, "cluster " + key + " is shown within " + found->parent_key +
                                        ": split that one first, or merge it instead"};
    }
  }
  if (note.merged_into == note.key) return {StatusCode::kInvalid, "a cluster cannot be merged into itself"};
  return annotations.edits.Merge(note.key, note.merged_into);
}

}  // namespace lagwatch::collector
