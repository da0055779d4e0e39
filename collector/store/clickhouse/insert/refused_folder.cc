// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/refused_folder.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/clock.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kBatchSuffix = ".batch";

}  // namespace

RefusedFolder::RefusedFolder(base::Env* env, const std::string& spool_directory, uint64_t most_bytes,
                             size_t most_files)
    : env_(env),
      refused_(spool_directory + "/refused"),
      resend_(spool_directory + "/resend"),
      most_bytes_(most_bytes),
      most_files_(most_files) {
  // Add() reports an error of the first; without the second, nothing is found in it.
  env_->CreateDirectories(refused_);
  env_->CreateDirectories(resend_);
  Refresh();
}

// Names sort by time, and no name comes twice, also after a restart or a step of the clock.
std::string RefusedFolder::NextName() {
  last_number_ = std::max<uint64_t>(last_number_ + 1, static_cast<uint64_t>(base::SystemClock().WallMs()));
  char name[32];
  std::snprintf(name, sizeof(name), "%020llu", static_cast<unsigned long long>(last_number_));
  return name + std::string(kBatchSuffix);
}

base::Result<std::string> RefusedFolder::Add(const Batch& batch) {
  std::lock_guard lock(mutex_);
  if (int error = env_->CreateDirectories(refused_)) return IoError("cannot create " + refused_, error);
  std::string name = NextName();
  while (env_->Exists((refused_ + "/" + name).c_str()) || env_->Exists((resend_ + "/" + name).c_str()))
    name = NextName();
  const std::string path = refused_ + "/" + name;
  const uint64_t size_bytes = batch.Encode().size();
  if (Status written = WriteBatchFile(env_, path, batch); !written.ok()) return written;
  files_.push_back({name, size_bytes});
  ++state_.refused;
  ++state_.kept;
  state_.kept_bytes += size_bytes;
  RemoveOldest();
  return path;
}

void RefusedFolder::RemoveOldest() {
  while (files_.size() > 1 && (state_.kept_bytes > most_bytes_ || files_.size() > most_files_)) {
    // One that a person has just moved is not lost.
    if (env_->Remove((refused_ + "/" + files_.front().name).c_str()) == 0) ++state_.dropped;
    --state_.kept;
    state_.kept_bytes -= files_.front().size_bytes;
    files_.pop_front();
  }
}

void RefusedFolder::Refresh() {
  std::lock_guard lock(mutex_);
  List();
}

void RefusedFolder::List() {
  std::vector<std::string> names;
  if (env_->List(refused_, &names) != 0) names.clear();
  files_.clear();
  state_.kept = state_.kept_bytes = 0;
  for (const std::string& name : names) {
    base::FileFacts facts;
    if (!name.ends_with(kBatchSuffix) || env_->Look((refused_ + "/" + name).c_str(), &facts) != 0) continue;
    files_.push_back({name, facts.size_bytes});
    ++state_.kept;
    state_.kept_bytes += facts.size_bytes;
  }
}

RefusedBatches RefusedFolder::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

std::vector<std::string> RefusedFolder::FindResent() const {
  std::vector<std::string> names, paths;
  if (env_->List(resend_, &names) != 0) return paths;
  for (const std::string& name : names) {
    if (name.ends_with(kBatchSuffix)) paths.push_back(resend_ + "/" + name);
  }
  return paths;
}

base::Result<Batch> RefusedFolder::ReadResent(const std::string& path) const {
  std::string bytes;
  if (int error = env_->ReadAll(path, &bytes)) return IoError("cannot read " + path, error);
  return Batch::Decode(bytes);
}

Status RefusedFolder::RemoveResent(const std::string& path) {
  if (int error = env_->Remove(path.c_str())) return IoError("cannot remove " + path, error);
  return {};
}

// In this order: a file that a person moves meanwhile is looked at in its new place.
Status RefusedFolder::EditAll(const std::function<bool(Batch*)>& edit) {
  std::lock_guard lock(mutex_);
  for (const std::string* folder : {&refused_, &resend_})
    if (Status edited = EditIn(*folder, edit); !edited.ok()) return edited;
  List();
  return {};
}

Status RefusedFolder::EditIn(const std::string& folder, const std::function<bool(Batch*)>& edit) {
  std::vector<std::string> names;
  if (int error = env_->List(folder, &names)) return IoError("cannot list " + folder, error);
  for (const std::string& name : names) {
    if (!name.ends_with(kBatchSuffix)) continue;
    const std::string path = folder + "/" + name;
    auto batch = ReadResent(path);
    if (!batch.ok() && batch.status().code() == base::StatusCode::kInternal) continue;
    if (!batch.ok() && !env_->Exists(path.c_str())) continue;
    if (!batch.ok()) return batch.status();
    if (!edit(&*batch)) continue;
    const Status done = batch->parts.empty() ? RemoveResent(path) : WriteBatchFile(env_, path, *batch);
    if (!done.ok()) return done;
  }
  return {};
}

void RefusedFolder::SetDamagedAside(const std::string& path) {
  env_->Rename(path.c_str(), (path + ".damaged").c_str());
}

}  // namespace lagwatch::collector
