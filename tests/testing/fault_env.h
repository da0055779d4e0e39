// SPDX-License-Identifier: Apache-2.0
// The real file system with faults that a test asks for. Thread-safe.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/env.h"

namespace lagwatch::testing {

enum class EnvCall {
  kCreateLocked,
  kAppend,
  kTruncate,
  kRename,
  kRemove,
  kCreateDirectories,
  kList,
  kReadFile,
  kLook,
  kSync,
  kLock,
};

class FaultEnv final : public base::Env {
 public:
  // The next `times` calls of `call` do nothing and return `error`.
  void Fail(EnvCall call, int error, int times = 1);
  // The next append writes its first `written_bytes` bytes only, as on a disk that becomes full.
  void CutNextAppend(size_t written_bytes);
  // From now on, the disk hangs: Sync() does not return, until the release.
  void HoldSyncs();
  void ReleaseSyncs();
  // The number of times that `call` was made, with a fault or without.
  int CountOf(EnvCall call) const;

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
  struct Fault {
    int error;
    int times;
  };

  // The scripted error of this call; 0 when it is to go through.
  int Take(EnvCall call);

  base::Env& real_ = base::SystemEnv();
  mutable std::mutex mutex_;  // guards what follows
  std::map<EnvCall, Fault> faults_;
  std::map<EnvCall, int> counts_;
  std::optional<size_t> cut_bytes_;
  bool are_syncs_held_ = false;
  std::condition_variable syncs_released_;
};

}  // namespace lagwatch::testing
