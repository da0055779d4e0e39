// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/power_cut_env.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace lagwatch::testing {
namespace {

std::string ContentOf(const std::string& path) {
  std::string content(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(content.data(), static_cast<std::streamsize>(content.size()));
  return content;
}

bool IsFile(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// 0 when there is none.
ino_t InodeOf(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

PowerCutEnv::PowerCutEnv(std::string directory) : directory_(std::move(directory)) { NoteAllSure(); }

PowerCutEnv::~PowerCutEnv() {
  for (int fd : open_) real_.Close(fd);
}

bool PowerCutEnv::IsWatched(const std::string& path) const {
  return std::filesystem::path(path).parent_path().lexically_normal() ==
         std::filesystem::path(directory_).lexically_normal();
}

std::string PowerCutEnv::NameOf(const std::string& path) const {
  return std::filesystem::path(path).filename().string();
}

PowerCutEnv::FileId PowerCutEnv::FileAt(const std::string& path) const {
  auto file = files_.find(InodeOf(path));
  return file == files_.end() ? 0 : file->second;
}

PowerCutEnv::FileId PowerCutEnv::NoteNewFile(const std::string& path) {
  return files_[InodeOf(path)] = ++last_file_;
}

void PowerCutEnv::NoteChange(const std::string& from, const std::string& to, FileId file) {
  changes_.push_back({from, to, file});
}

void PowerCutEnv::NoteAllSure() {
  sure_entries_.clear();
  sure_content_.clear();
  files_.clear();
  changes_.clear();
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (!IsFile(entry.path())) continue;
    const FileId file = NoteNewFile(entry.path());
    sure_entries_[entry.path().filename().string()] = file;
    sure_content_[file] = ContentOf(entry.path());
  }
}

std::string PowerCutEnv::Remains(const std::string& sure, const std::string& now) {
  // Segments only grow; what was cut off since may be there again.
  if (now.size() <= sure.size()) return sure;
  const std::string tail = now.substr(sure.size());
  const size_t left = random_() % (tail.size() + 1);
  switch (random_() % 4) {
    case 0:  // the size was written, the bytes were not
      return sure + tail.substr(0, left) + std::string(random_() % (tail.size() - left + 1), '\0');
    case 1: {  // a sector that was being written
      std::string torn = tail.substr(0, left);
      for (size_t i = left - std::min<size_t>(left, 16); i < left; ++i)
        torn[i] = static_cast<char>(random_());
      return sure + torn;
    }
    default:
      return sure + tail.substr(0, left);
  }
}

void PowerCutEnv::CutPower(uint32_t seed) {
  std::lock_guard lock(mutex_);
  has_power_ = false;
  random_.seed(seed);
  std::map<FileId, std::string> now;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (IsFile(entry.path())) now[FileAt(entry.path())] = ContentOf(entry.path());
  }
  std::map<std::string, FileId> entries = sure_entries_;
  const size_t kept_changes = changes_.empty() ? 0 : random_() % (changes_.size() + 1);
  for (size_t i = 0; i < kept_changes; ++i) {
    if (!changes_[i].from.empty()) entries.erase(changes_[i].from);
    if (!changes_[i].to.empty()) entries[changes_[i].to] = changes_[i].file;
  }
  std::map<std::string, std::string> left;
  for (const auto& [name, file] : entries) left[name] = Remains(sure_content_[file], now[file]);

  for (const auto& [name, content] : left) std::filesystem::remove(directory_ + "/" + name);
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (IsFile(entry.path())) std::filesystem::remove(entry.path());
  }
  for (const auto& [name, content] : left) {
    int fd = -1;
    if (real_.CreateLocked((directory_ + "/" + name).c_str(), &fd) != 0) continue;
    real_.Append(fd, content.data(), content.size());
    real_.Close(fd);
  }
  for (int fd : open_) real_.Close(fd);
  open_.clear();
}

void PowerCutEnv::RestorePower() {
  std::lock_guard lock(mutex_);
  NoteAllSure();
  has_power_ = true;
}

int PowerCutEnv::CreateLocked(const char* path, int* fd) {
  std::lock_guard lock(mutex_);
  if (!has_power_) return EIO;
  if (int error = real_.CreateLocked(path, fd)) return error;
  open_.insert(*fd);
  if (IsWatched(path)) NoteChange("", NameOf(path), NoteNewFile(path));
  return 0;
}

int PowerCutEnv::AppendBoth(int fd, std::string_view head, std::string_view body) {
  std::lock_guard lock(mutex_);
  return has_power_ ? real_.AppendBoth(fd, head, body) : EIO;
}

int PowerCutEnv::Truncate(int fd, uint64_t size_bytes) {
  std::lock_guard lock(mutex_);
  return has_power_ ? real_.Truncate(fd, size_bytes) : EIO;
}

void PowerCutEnv::Close(int fd) {
  std::lock_guard lock(mutex_);
  if (open_.erase(fd) == 1) real_.Close(fd);
}

int PowerCutEnv::Rename(const char* from, const char* to) {
  std::lock_guard lock(mutex_);
  if (!has_power_) return EIO;
  const FileId file = FileAt(from);
  const int error = real_.Rename(from, to);
  if (error == 0 && IsWatched(from)) NoteChange(NameOf(from), NameOf(to), file);
  return error;
}

int PowerCutEnv::Remove(const char* path) {
  std::lock_guard lock(mutex_);
  if (!has_power_) return EIO;
  const FileId file = FileAt(path);
  const int error = real_.Remove(path);
  if (error == 0 && IsWatched(path)) NoteChange(NameOf(path), "", file);
  return error;
}

bool PowerCutEnv::Exists(const char* path) {
  std::lock_guard lock(mutex_);
  return has_power_ && real_.Exists(path);
}

int PowerCutEnv::Look(const char* path, base::FileFacts* facts) {
  std::lock_guard lock(mutex_);
  return has_power_ ? real_.Look(path, facts) : EIO;
}

// Does not trouble the real disk.
int PowerCutEnv::Sync(const char* path) {
  std::lock_guard lock(mutex_);
  if (!has_power_) return EIO;
  base::FileFacts facts;
  if (int error = real_.Look(path, &facts)) return error;
  if (IsWatched(path)) {
    sure_content_[FileAt(path)] = ContentOf(path);
  } else if (InodeOf(path) == InodeOf(directory_)) {
    for (const EntryChange& change : changes_) {
      if (!change.from.empty()) sure_entries_.erase(change.from);
      if (!change.to.empty()) sure_entries_[change.to] = change.file;
    }
    changes_.clear();
  }
  return 0;
}

int PowerCutEnv::Lock(const char* path, int* fd) {
  std::lock_guard lock(mutex_);
  if (!has_power_) return EIO;
  const bool is_new = IsWatched(path) && !real_.Exists(path);
  if (int error = real_.Lock(path, fd)) return error;
  open_.insert(*fd);
  if (is_new) NoteChange("", NameOf(path), NoteNewFile(path));
  return 0;
}

void PowerCutEnv::Unlock(int fd) {
  std::lock_guard lock(mutex_);
  if (open_.erase(fd) == 1) real_.Unlock(fd);
}

bool PowerCutEnv::IsLocked(const char* path) {
  std::lock_guard lock(mutex_);
  return has_power_ && real_.IsLocked(path);
}

int PowerCutEnv::CreateDirectories(const std::string& path) {
  std::lock_guard lock(mutex_);
  return has_power_ ? real_.CreateDirectories(path) : EIO;
}

int PowerCutEnv::List(const std::string& path, std::vector<std::string>* names) {
  std::lock_guard lock(mutex_);
  return has_power_ ? real_.List(path, names) : EIO;
}

int PowerCutEnv::ReadFile(const std::string& path, std::string* content, base::FileFacts* facts) {
  std::lock_guard lock(mutex_);
  return has_power_ ? real_.ReadFile(path, content, facts) : EIO;
}

}  // namespace lagwatch::testing
