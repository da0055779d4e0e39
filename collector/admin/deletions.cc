// SPDX-License-Identifier: Apache-2.0
#include "collector/admin/deletions.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/process/env.h"
#include "collector/files/small_files.h"

namespace lagwatch::collector {
namespace {

// A step delays uploads.
constexpr int64_t kRemovedInAStep = 200;
constexpr int64_t kRepairedInAStep = 10;

constexpr std::array<std::pair<std::string_view, Removal::By>, 5> kKinds = {
    {{"report", Removal::By::kReport},
     {"cluster", Removal::By::kCluster},
     {"user", Removal::By::kUser},
     {"key", Removal::By::kKey},
     {"app", Removal::By::kApp}}};

Json ToJson(const Deletion& deletion) {
  return {{"id", deletion.id},
          {"kind", deletion.kind},
          {"subject", deletion.subject},
          {"subjects", deletion.subjects},
          {"by", deletion.by},
          {"begun_wall_ms", deletion.begun_wall_ms},
          {"ended_wall_ms", deletion.ended_wall_ms},
          {"reports", deletion.removed.reports},
          {"traces", deletion.removed.traces},
          {"others", deletion.removed.others},
          {"error", deletion.error}};
}

// Throws what the JSON library does.
Deletion FromJson(const Json& json) {
  return {
      .id = json.at("id"),
      .kind = json.at("kind"),
      .subject = json.at("subject"),
      .subjects = json.at("subjects"),
      .by = json.at("by"),
      .begun_wall_ms = json.at("begun_wall_ms"),
      .ended_wall_ms = json.at("ended_wall_ms"),
      .removed = {.reports = json.at("reports"), .traces = json.at("traces"), .others = json.at("others")},
      .error = json.value("error", "")};
}

}  // namespace

std::optional<Removal::By> RemovalOf(std::string_view kind) {
  for (const auto& [name, by] : kKinds)
    if (name == kind) return by;
  return std::nullopt;
}

Deletions::Deletions(StoreMaintenance* store, std::string path, EraseName erase_name, CheckReach check_reach)
    : store_(store),
      path_(std::move(path)),
      erase_name_(std::move(erase_name)),
      check_reach_(std::move(check_reach)) {}

Status Deletions::Load() {
  if (is_loaded_) return {};
  std::string text;
  const int error = base::SystemEnv().ReadAll(path_, &text);
  if (error != 0 && error != ENOENT) return base::IoError("cannot read " + path_, error);
  try {
    if (error == 0) {
      const Json json = Json::parse(text);
      next_id_ = json.at("next_id");
      for (const Json& each : json.at("deletions")) deletions_.push_back(FromJson(each));
    }
  } catch (const std::exception& damage) {
    deletions_.clear();
    return {StatusCode::kInternal, "the file " + path_ +
                                       " is damaged: restore it, or remove it to forget the "
                                       "deletions that wait: " +
                                       damage.what()};
  }
  is_loaded_ = true;
  return {};
}

Status Deletions::Write() {
  Json all = Json::array();
  for (const Deletion& deletion : deletions_) all.push_back(ToJson(deletion));
  return ReplaceFile(path_, JsonText({{"next_id", next_id_}, {"deletions", std::move(all)}}) + "\n");
}

Deletion* Deletions::FirstWaiting() {
  const auto found = std::ranges::find_if(deletions_, [](const Deletion& each) { return !each.is_done(); });
  return found == deletions_.end() ? nullptr : &*found;
}

Result<Deletion> Deletions::Begin(Deletion deletion) {
  std::lock_guard lock(mutex_);
  if (Status loaded = Load(); !loaded.ok()) return loaded;
  const auto waiting =
      std::ranges::count_if(deletions_, [](const Deletion& each) { return !each.is_done(); });
  if (static_cast<size_t>(waiting) >= kMostWaiting)
    return Status(StatusCode::kUnavailable, "too many deletions wait already; try again once some are done");
  deletion.id = next_id_++;
  deletion.begun_wall_ms = base::SystemClock().WallMs();
  deletions_.push_back(deletion);
  if (Status written = Write(); !written.ok()) {
    deletions_.pop_back();
    return written;
  }
  return deletion;
}

Result<std::vector<Deletion>> Deletions::All() {
  std::lock_guard lock(mutex_);
  if (Status loaded = Load(); !loaded.ok()) return loaded;
  return std::vector<Deletion>(deletions_.rbegin(), deletions_.rend());
}

Result<bool> Deletions::Step() {
  Deletion current;
  {
    std::lock_guard lock(mutex_);
    if (Status loaded = Load(); !loaded.ok()) return loaded;
    const Deletion* waiting = FirstWaiting();
    if (waiting == nullptr) return false;
    current = *waiting;
  }
  if (step_id_ != current.id) {
    step_id_ = current.id;
    step_subject_ = 0;
    progress_ = {};
  }
  const auto has_more = StepOf(current);
  if (!has_more.ok() && has_more.status().code() != StatusCode::kInvalid) {
    Note(has_more.status());
    return has_more.status();
  }
  if (has_more.ok() && *has_more) {
    Note({});
    return true;
  }
  if (Status ended = End(has_more.status()); !ended.ok()) return ended;
  return true;
}

// Removes some, then puts sums right, then erases what is left on disk; false when all is done.
Result<bool> Deletions::StepOf(const Deletion& deletion) {
  const auto by = RemovalOf(deletion.kind);
  if (by && step_subject_ < deletion.subjects.size()) {
    const auto has_more =
        store_->Remove({.by = *by, .subject = deletion.subjects[step_subject_]}, kRemovedInAStep, &progress_);
    if (!has_more.ok()) return has_more;
    if (*has_more) return true;
    ++step_subject_;
    progress_ = {.reports = progress_.reports, .traces = progress_.traces, .others = progress_.others};
    return true;
  }
  if (LAGWATCH_TRY(store_->RepairSums(kRepairedInAStep)) > 0) return true;
  const auto check_reach = [&] { return check_reach_ ? check_reach_() : Status(); };
  if (Status reached = check_reach(); !reached.ok()) return reached;
  if (Status erased = EraseRest(deletion); !erased.ok()) return erased;
  // Once more: the database may have been set aside meanwhile.
  if (Status reached = check_reach(); !reached.ok()) return reached;
  return false;
}

Status Deletions::EraseRest(const Deletion& deletion) {
  if (deletion.kind == "user" && erase_name_) {
    for (const std::string& user : deletion.subjects) {
      if (Status erased = erase_name_(user); !erased.ok()) return erased;
    }
  }
  return store_->EraseRemoved();
}

// The counts that people see while the deletion goes on.
void Deletions::Note(const Status& status) {
  std::lock_guard lock(mutex_);
  Deletion* deletion = FirstWaiting();
  deletion->removed = progress_;
  deletion->error = status.message();
}

// Keeps only a digest of the user whose records were deleted.
Status Deletions::End(const Status& status) {
  std::lock_guard lock(mutex_);
  Deletion* deletion = FirstWaiting();
  const Deletion before = *deletion;
  deletion->ended_wall_ms = std::max<int64_t>(base::SystemClock().WallMs(), 1);
  deletion->subjects.clear();
  deletion->removed = progress_;
  deletion->error = status.message();
  if (Status written = Write(); !written.ok()) {
    *deletion = before;
    return written;
  }
  step_id_ = 0;
  if (deletions_.size() > kMostWaiting + kMostKept) deletions_.erase(deletions_.begin());
  return {};
}

}  // namespace lagwatch::collector
