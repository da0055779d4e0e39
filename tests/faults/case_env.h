// SPDX-License-Identifier: Apache-2.0
// The real file system as a process of a case sees it: with calls that the system refuses, and the process's
// own end before or after one of them. Calls are numbered by the thread that made this object; calls of other
// threads, which sync, are refused as well, but the process is not killed in them. Nothing is really synced:
// only the model of the disk, if there is one, knows the difference.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/process/env.h"
#include "tests/faults/case_plan.h"
#include "tests/faults/shared_case.h"

namespace lagwatch::faults {

class CaseEnv final : public base::Env {
 public:
  // All borrowed. `disk` may be null.
  CaseEnv(const ProcessPlan& plan, SharedCase* shared, DiskModel* disk);

  // Says on stderr what each process does.
  static void Trace();

  // For what is no call of the file system: the process may end here, too.
  void MayEnd();

  int CreateLocked(const char* path, int* fd) override;
  int AppendBoth(int fd, std::string_view head, std::string_view body) override;
  int Truncate(int fd, uint64_t size_bytes) override;
  void Close(int fd) override { real_.Close(fd); }
  int Rename(const char* from, const char* to) override;
  int Remove(const char* path) override;
  bool Exists(const char* path) override { return real_.Exists(path); }
  int Look(const char* path, base::FileFacts* facts) override;
  int Sync(const char* path) override;
  int Lock(const char* path, int* fd) override;
  void Unlock(int fd) override { real_.Unlock(fd); }
  bool IsLocked(const char* path) override { return real_.IsLocked(path); }
  int CreateDirectories(const std::string& path) override;
  int List(const std::string& path, std::vector<std::string>* names) override;
  int ReadFile(const std::string& path, std::string* content, base::FileFacts* facts) override;

 private:
  enum class Call { kCreate, kAppend, kTruncate, kRename, kRemove, kSync, kLock, kRead };

  bool IsCounted() const { return gettid() == thread_; }
  bool IsRefused(Call call) const;
  // The error that the plan has for this call; 0 when it goes through.
  int Begin(Call call);
  // Does `deed`, notes it in the model, and may end the process before or after.
  // `path` is for the trace.
  template <typename Deed, typename Note>
  int Do(Call call, const char* path, Deed deed, Note note);
  void Say(Call call, const char* path, int error) const;
  [[noreturn]] void End();

  base::Env& real_ = base::SystemEnv();
  const ProcessPlan& plan_;
  SharedCase* shared_;
  DiskModel* disk_;
  const int thread_;
  uint32_t calls_ = 0;
  std::atomic<uint32_t> refusable_ = 0;  // calls so far that may be refused
  std::mutex random_mutex_;
  Random random_;  // guarded by random_mutex_
};

}  // namespace lagwatch::faults
