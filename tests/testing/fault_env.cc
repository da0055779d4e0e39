// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/fault_env.h"

#include <cerrno>
#include <utility>

namespace lagwatch::testing {

int FaultEnv::Take(EnvCall call) {
  auto fault = faults_.find(call);
  if (fault == faults_.end() || fault->second.times == 0) return 0;
  --fault->second.times;
  return fault->second.error;
}

int FaultEnv::CreateLocked(const char* path, int* fd) {
  int error = Take(EnvCall::kCreateLocked);
  return error != 0 ? error : real_.CreateLocked(path, fd);
}

int FaultEnv::Append(int fd, const void* data, size_t size_bytes) {
  if (int error = Take(EnvCall::kAppend)) return error;
  if (!cut_bytes_) return real_.Append(fd, data, size_bytes);
  real_.Append(fd, data, *std::exchange(cut_bytes_, std::nullopt));
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

int FaultEnv::Sync(const char* path) {
  int error = Take(EnvCall::kSync);
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

int FaultEnv::ReadAll(const std::string& path, std::string* content) {
  int error = Take(EnvCall::kReadAll);
  return error != 0 ? error : real_.ReadAll(path, content);
}

}  // namespace lagwatch::testing
