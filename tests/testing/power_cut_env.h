// SPDX-License-Identifier: Apache-2.0
// A directory on a disk that keeps only synced data: the real file system, and beside it the rest after a
// power cut. Pessimistic where file systems differ: an entry of the directory, whether new, renamed or
// removed, is sure only once the directory was synced; a file's bytes only once the file was; neither of them
// makes the other sure. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process/env.h"

namespace lagwatch::testing {

class PowerCutEnv final : public base::Env {
 public:
  // `directory`, which exists, is the one that suffers, without those in it; what it holds now is sure.
  explicit PowerCutEnv(std::string directory);
  ~PowerCutEnv() override;

  // From now on every call fails with EIO, and the directory holds the disk's data: everything that was sure;
  // of the changes of entries since, the first few, as a journal does it; of the bytes appended since, the
  // first few, or as many zeros, or garbage. `seed` selects among these.
  void CutPower(uint32_t seed);
  // The machine is on again: calls work, what is there is sure, and no lock is held.
  void RestorePower();

  int CreateLocked(const char* path, int* fd) override;
  int AppendBoth(int fd, std::string_view head, std::string_view body) override;
  int Truncate(int fd, uint64_t size_bytes) override;
  void Close(int fd) override;
  int Rename(const char* from, const char* to) override;
  int Remove(const char* path) override;
  bool Exists(const char* path) override;
  int Look(const char* path, base::FileFacts* facts) override;
  int Sync(const char* path) override;
  int Lock(const char* path, int* fd) override;
  void Unlock(int fd) override;
  bool IsLocked(const char* path) override;
  int CreateDirectories(const std::string& path) override;
  int List(const std::string& path, std::vector<std::string>* names) override;
  int ReadFile(const std::string& path, std::string* content, base::FileFacts* facts) override;

 private:
  // An inode's number is used again; this is not.
  using FileId = uint64_t;
  // From name to name; an empty one stands for "nowhere".
  struct EntryChange {
    std::string from;
    std::string to;
    FileId file;
  };

  bool IsWatched(const std::string& path) const;
  std::string NameOf(const std::string& path) const;
  // 0 when there is none.
  FileId FileAt(const std::string& path) const;
  FileId NoteNewFile(const std::string& path);
  void NoteChange(const std::string& from, const std::string& to, FileId file);
  void NoteAllSure();
  // The remains of a file of `now` bytes of which the disk has `sure`.
  std::string Remains(const std::string& sure, const std::string& now);

  base::Env& real_ = base::SystemEnv();
  const std::string directory_;
  std::mutex mutex_;  // guards what follows
  bool has_power_ = true;
  std::mt19937 random_;
  std::set<int> open_;
  std::map<ino_t, FileId> files_;
  FileId last_file_ = 0;
  std::map<std::string, FileId> sure_entries_;
  std::vector<EntryChange> changes_;  // since the directory was synced
  std::map<FileId, std::string> sure_content_;
};

}  // namespace lagwatch::testing
