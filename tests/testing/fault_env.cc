// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/fault_env.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lagwatch::testing {

void FaultEnv::Fail(EnvCall call, int error, int times) {
  std::lock_guard lock(mutex_);
  faults_[call] = {error, times};
}

void FaultEnv::CutNextAppend(size_t written_bytes) {
  std::lock_guard lock(mutex_);
  cut_bytes_ = written_bytes;
}

void FaultEnv::HoldSyncs() {
  std::lock_guard lock(mutex_);
  are_syncs_held_ = true;
}

void FaultEnv::ReleaseSyncs() {
  std::lock_guard lock(mutex_);
  are_syncs_held_ = false;
  syncs_released_.notify_all();
}

int FaultEnv::CountOf(EnvCall call) const {
  std::lock_guard lock(mutex_);
  auto count = counts_.find(call);
  return count == counts_.end() ? 0 : count->second;
}

int FaultEnv::Take(EnvCall call) {
  std::lock_guard lock(mutex_);
  ++counts_[call];
  auto fault = faults_.find(call);
  if (fault == faults_.end() || fault->second.times == 0) return 0;
  --fault->second.times;
  return fault->second.error;
}

int FaultEnv::CreateLocked(const char* path, int* fd) {
  int error = Take(EnvCall::kCreateLocked);
  return error != 0 ? error : real_.CreateLocked(path, fd);
}

int FaultEnv::AppendBoth(int fd, std::string_view head, std::string_view body) {
  if (int error = Take(EnvCall::kAppend)) return error;
  std::optional<size_t> cut_bytes;
  {
    std::lock_guard lock(mutex_);
    cut_bytes = std::exchange(cut_bytes_, std::nullopt);
  }
  if (!cut_bytes) return real_.AppendBoth(fd, head, body);
  real_.AppendBoth(fd, head.substr(0, *cut_bytes),
                   body.substr(0, *cut_bytes - std::min(*cut_bytes, head.size())));
  return EIO;
}

int FaultEnv::Truncate(int fd, uint64_t size_bytes) {
  int error = Take(EnvCall::kTruncate);
  return error != 0 ? error : real_.Truncate(fd, size_bytes);
}

void FaultEnv::Close(int fd) { real_.Close(fd); }

int FaultEnv::Rename(const char* from, const char* to) {
  int error = Take(EnvCall::kRename);
  return error != 0 ? error : real_.Rename(from, to);
}

int FaultEnv::Remove(const char* path) {
  int error = Take(EnvCall::kRemove);
  return error != 0 ? error : real_.Remove(path);
}

bool FaultEnv::Exists(const char* path) { return real_.Exists(path); }

int FaultEnv::Look(const char* path, base::FileFacts* facts) {
  int error = Take(EnvCall::kLook);
  return error != 0 ? error : real_.Look(path, facts);
}

int FaultEnv::Sync(const char* path) {
  int error = Take(EnvCall::kSync);
  {
    std::unique_lock lock(mutex_);
    syncs_released_.wait(lock, [this] { return !are_syncs_held_; });
  }
  return error != 0 ? error : real_.Sync(path);
}

int FaultEnv::Lock(const char* path, int* fd) {
  int error = Take(EnvCall::kLock);
  return error != 0 ? error : real_.Lock(path, fd);
}

void FaultEnv::Unlock(int fd) { real_.Unlock(fd); }

bool FaultEnv::IsLocked(const char* path) { return real_.IsLocked(path); }

int FaultEnv::CreateDirectories(const std::string& path) {
  int error = Take(EnvCall::kCreateDirectories);
  return error != 0 ? error : real_.CreateDirectories(path);
}

int FaultEnv::List(const std::string& path, std::vector<std::string>* names) {
  int error = Take(EnvCall::kList);
  return error != 0 ? error : real_.List(path, names);
}

int FaultEnv::ReadFile(const std::string& path, std::string* content, base::FileFacts* facts) {
  int error = Take(EnvCall::kReadFile);
  return error != 0 ? error : real_.ReadFile(path, content, facts);
}

}  // namespace lagwatch::testing
