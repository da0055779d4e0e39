// SPDX-License-Identifier: Apache-2.0
// The real file system with faults that a test asks for. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"

namespace lagwatch::testing {

enum class EnvCall {
  kCreateLocked,
  kAppend,
  kTruncate,
  kRename,
  kRemove,
  kCreateDirectories,
  kList,
  kReadAll,
  kSync,
  kLock
};

class FaultEnv final : public base::Env {
 public:
  // The next `times` calls of `call` do nothing and return `error`.
  void Fail(EnvCall call, int error, int times = 1) { faults_[call] = {error, times}; }
  // The next Append writes its first `written_bytes` bytes only, as on a disk that becomes full.
  void CutNextAppend(size_t written_bytes) { cut_bytes_ = written_bytes; }

  int CreateLocked(const char* path, int* fd) override;
  int Append(int fd, const void* data, size_t size_bytes) override;
  int Truncate(int fd, uint64_t size_bytes) override;
  void Close(int fd) override;
  int Rename(const char* from, const char* to) override;
  int Remove(const char* path) override;
  bool Exists(const char* path) override;
  int Sync(const char* path) override;
  int Lock(const char* path, int* fd) override;
  void Unlock(int fd) override;
  bool IsLocked(const char* path) override;
  int CreateDirectories(const std::string& path) override;
  int List(const std::string& path, std::vector<std::string>* names) override;
  int ReadAll(const std::string& path, std::string* content) override;

 private:
  struct Fault {
    int error;
    int times;
  };

  // The scripted error of this call; 0 when it is to go through.
  int Take(EnvCall call);

  base::Env& real_ = base::SystemEnv();
  std::map<EnvCall, Fault> faults_;
  std::optional<size_t> cut_bytes_;
};

}  // namespace lagwatch::testing
