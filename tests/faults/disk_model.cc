// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/disk_model.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tests/report/report_testing.h"

namespace lagwatch::faults {
namespace {

template <size_t kSize>
void Copy(const char* text, char (&to)[kSize]) {
  if (std::snprintf(to, kSize, "%s", text) >= static_cast<int>(kSize))
    throw std::runtime_error(std::string("a name is too long: ") + text);
}

}  // namespace

DiskModel::Entry* DiskModel::Entries::Find(const char* name) {
  Entry* const found =
      std::find_if(at, at + count, [&](const Entry& entry) { return std::strcmp(entry.name, name) == 0; });
  return found == at + count ? nullptr : found;
}

void DiskModel::Entries::Put(const char* name, uint32_t file) {
  Entry* entry = Find(name);
  if (entry == nullptr) {
    if (count == kMaxEntries) throw std::runtime_error("too many files in a case");
    entry = &at[count++];
    Copy(name, entry->name);
  }
  entry->file = file;
}

void DiskModel::Entries::Remove(const char* name) {
  if (Entry* entry = Find(name)) *entry = at[--count];
}

void DiskModel::Begin(const std::string& directory, const std::string& keep) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
  Copy(directory.c_str(), directory_);
  Copy(keep.c_str(), keep_);
  shown_.count = durable_.count = change_count_ = 0;
  file_count_ = 0;
}

void DiskModel::Lock() {
  // A process that died with it may have acted without noting it, or the other way round: it
  // was killed between.
  if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
}

void DiskModel::Unlock() { pthread_mutex_unlock(&mutex_); }

const char* DiskModel::NameIn(const char* path) const {
  const size_t size = std::strlen(directory_);
  const bool is_inside = std::strncmp(path, directory_, size) == 0 && path[size] == '/';
  return is_inside && std::strchr(path + size + 1, '/') == nullptr ? path + size + 1 : nullptr;
}

std::string DiskModel::KeptPath(uint32_t file) const {
  return std::string(keep_) + "/" + std::to_string(file);
}

uint32_t DiskModel::NewFile(const char* name) {
  if (file_count_ == kMaxFiles) throw std::runtime_error("too many files in a case");
  const std::string path = std::string(directory_) + "/" + name;
  if (link(path.c_str(), KeptPath(file_count_).c_str()) != 0)
    throw std::runtime_error("cannot keep " + path + ": " + std::strerror(errno));
  synced_bytes_[file_count_] = 0;
  return file_count_++;
}

void DiskModel::Apply(const Change& change, Entries* entries) {
  if (change.gone[0] != '\0') entries->Remove(change.gone);
  if (change.name[0] != '\0') entries->Put(change.name, change.file);
}

void DiskModel::Note(const char* appears, const char* vanishes, uint32_t file) {
  if (change_count_ == kMaxChanges) {  // the system writes back what it pleases
    Apply(changes_[0], &durable_);
    std::copy(changes_ + 1, changes_ + change_count_--, changes_);
  }
  Change& change = changes_[change_count_++];
  Copy(appears, change.name);
  Copy(vanishes, change.gone);
  change.file = file;
  Apply(change, &shown_);
}

void DiskModel::NoteCreated(const char* path) {
  if (const char* name = NameIn(path)) Note(name, "", NewFile(name));
}

void DiskModel::NoteRenamed(const char* from, const char* to) {
  const char* const old_name = NameIn(from);
  const char* const new_name = NameIn(to);
  const Entry* entry = old_name == nullptr ? nullptr : shown_.Find(old_name);
  if (entry != nullptr && new_name != nullptr) Note(new_name, old_name, entry->file);
}

void DiskModel::NoteRemoved(const char* path) {
  const char* const name = NameIn(path);
  if (name != nullptr && shown_.Find(name) != nullptr) Note("", name, 0);
}

void DiskModel::NoteSynced(const char* path, uint64_t size_bytes) {
  if (std::strcmp(path, directory_) == 0) {
    durable_ = shown_;
    change_count_ = 0;
  } else if (const char* name = NameIn(path)) {
    if (const Entry* entry = shown_.Find(name))
      synced_bytes_[entry->file] = std::max(synced_bytes_[entry->file], size_bytes);
  }
}

void DiskModel::Adopt(const std::string& name) {
  if (shown_.Find(name.c_str()) == nullptr) {
    const uint32_t file = NewFile(name.c_str());
    shown_.Put(name.c_str(), file);
    durable_.Put(name.c_str(), file);
  }
  synced_bytes_[shown_.Find(name.c_str())->file] = UINT64_MAX;
}

void DiskModel::Restore(const Entry& entry, Random* random) {
  const std::string kept = testing::ReadFile(KeptPath(entry.file));
  const uint64_t synced = std::min<uint64_t>(synced_bytes_[entry.file], kept.size());
  const uint64_t unsynced = kept.size() - synced;
  const uint64_t more = random->Pick<uint64_t>({0, unsynced, random->Below(unsynced + 1)});
  std::string content = kept.substr(0, synced + more);
  // A file system may have noted the size and not written the content.
  if (random->Chance(25)) content.resize(kept.size(), '\0');
  testing::WriteFile(std::string(directory_) + "/" + entry.name, content);
}

void DiskModel::CutPower(Random* random) {
  const size_t written = random->Below(change_count_ + 1);
  for (size_t i = 0; i < written; ++i) Apply(changes_[i], &durable_);
  for (size_t i = 0; i < shown_.count; ++i)
    unlink((std::string(directory_) + "/" + shown_.at[i].name).c_str());
  const Entries back = durable_;
  for (size_t i = 0; i < back.count; ++i) Restore(back.at[i], random);
  shown_.count = durable_.count = change_count_ = 0;
  for (size_t i = 0; i < back.count; ++i) Adopt(back.at[i].name);
}

}  // namespace lagwatch::faults
