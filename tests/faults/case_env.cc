// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/case_env.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lagwatch::faults {
namespace {

bool is_traced = false;

class Locked {
 public:
  explicit Locked(DiskModel* disk) : disk_(disk) {
    if (disk_ != nullptr) disk_->Lock();
  }
  ~Locked() {
    if (disk_ != nullptr) disk_->Unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  DiskModel* disk_;
};

}  // namespace

CaseEnv::CaseEnv(const ProcessPlan& plan, SharedCase* shared, DiskModel* disk)
    : plan_(plan), shared_(shared), disk_(disk), thread_(gettid()), random_(plan.seed) {}

void CaseEnv::Trace() { is_traced = true; }

void CaseEnv::Say(Call call, const char* path, int error) const {
  constexpr const char* kNames[] = {"create", "append", "truncate", "rename",
                                    "remove", "sync",   "lock",     "read"};
  if (!is_traced) return;
  const char* const slash = std::strrchr(path, '/');
  std::fprintf(stderr, "%d %u %s %s: %d\n", getpid(), calls_, kNames[static_cast<int>(call)],
               slash == nullptr ? path : slash + 1, error);
}

void CaseEnv::End() {
  Say(Call::kRead, "the process ends", 0);
  if (plan_.ending == Ending::kPowerCut) shared_->is_power_cut = true;
  kill(getpid(), SIGKILL);
  std::abort();
}

void CaseEnv::MayEnd() {
  if (!IsCounted()) return;
  const bool ends = plan_.ending == Ending::kKilled || plan_.ending == Ending::kPowerCut;
  if (++calls_ == plan_.end_at && ends) End();
}

bool CaseEnv::IsRefused(Call call) const {
  switch (plan_.refused.which) {
    case RefusedCalls::Which::kNone:
      return false;
    case RefusedCalls::Which::kWrites:
      return call == Call::kCreate || call == Call::kAppend;
    case RefusedCalls::Which::kChanges:
      return call != Call::kRead && call != Call::kLock;
    case RefusedCalls::Which::kReads:
      return call == Call::kRead;
    case RefusedCalls::Which::kRemovals:
      return call == Call::kRemove;
    case RefusedCalls::Which::kSyncs:
      return call == Call::kSync;
    case RefusedCalls::Which::kAll:
      return true;
  }
  return false;
}

int CaseEnv::Begin(Call call) {
  const RefusedCalls& refused = plan_.refused;
  if (!IsRefused(call)) return 0;
  const uint32_t number = refusable_++;
  if (number < refused.first || number > refused.last) return 0;
  std::lock_guard lock(random_mutex_);
  return random_.Chance(refused.percent) ? refused.error : 0;
}

template <typename Deed, typename Note>
int CaseEnv::Do(Call call, const char* path, Deed deed, Note note) {
  int error = 0;
  {
    Locked locked(disk_);
    MayEnd();
    error = Begin(call);
    if (error == 0) error = deed();
    if (error == 0 && disk_ != nullptr) note();
    Say(call, path, error);
  }
  MayEnd();
  return error;
}

int CaseEnv::CreateLocked(const char* path, int* fd) {
  return Do(
      Call::kCreate, path, [&] { return real_.CreateLocked(path, fd); }, [&] { disk_->NoteCreated(path); });
}

// Cut short by the system, or by the process's end.
int CaseEnv::AppendBoth(int fd, std::string_view head, std::string_view body) {
  auto append_part = [&] {
    std::lock_guard lock(random_mutex_);
    const size_t bytes = random_.Below(head.size() + body.size() + 1);
    real_.AppendBoth(fd, head.substr(0, bytes), body.substr(0, bytes - std::min(bytes, head.size())));
  };
  const bool ends = plan_.ending == Ending::kKilled || plan_.ending == Ending::kPowerCut;
  if (IsCounted() && ends && calls_ + 1 == plan_.end_at) append_part();
  MayEnd();
  if (const int error = Begin(Call::kAppend)) {
    bool is_cut = false;
    {
      std::lock_guard lock(random_mutex_);
      is_cut = random_.Chance(plan_.refused.cut_percent);
    }
    if (is_cut) append_part();
    Say(Call::kAppend, "refused", error);
    return is_cut ? EIO : error;
  }
  const int error = real_.AppendBoth(fd, head, body);
  const int64_t now_ms = shared_->wall_ms;
  const timespec now{now_ms / 1'000, now_ms % 1'000 * 1'000'000};
  const timespec times[] = {now, now};
  futimens(fd, times);  // a file's age is by the case's clock
  Say(Call::kAppend, std::to_string(body.size()).c_str(), error);
  MayEnd();
  return error;
}

int CaseEnv::Truncate(int fd, uint64_t size_bytes) {
  return Do(
      Call::kTruncate, "", [&] { return real_.Truncate(fd, size_bytes); }, [] {});
}

int CaseEnv::Rename(const char* from, const char* to) {
  return Do(
      Call::kRename, to, [&] { return real_.Rename(from, to); }, [&] { disk_->NoteRenamed(from, to); });
}

int CaseEnv::Remove(const char* path) {
  return Do(
      Call::kRemove, path, [&] { return real_.Remove(path); }, [&] { disk_->NoteRemoved(path); });
}

int CaseEnv::Sync(const char* path) {
  base::FileFacts facts;
  return Do(
      Call::kSync, path, [&] { return real_.Look(path, &facts); },
      [&] { disk_->NoteSynced(path, facts.size_bytes); });
}

int CaseEnv::Lock(const char* path, int* fd) {
  return Do(
      Call::kLock, path, [&] { return real_.Lock(path, fd); }, [] {});
}

int CaseEnv::Look(const char* path, base::FileFacts* facts) {
  const int error = Begin(Call::kRead);
  return error != 0 ? error : real_.Look(path, facts);
}

int CaseEnv::CreateDirectories(const std::string& path) { return real_.CreateDirectories(path); }

int CaseEnv::List(const std::string& path, std::vector<std::string>* names) {
  MayEnd();
  const int error = Begin(Call::kRead);
  return error != 0 ? error : real_.List(path, names);
}

int CaseEnv::ReadFile(const std::string& path, std::string* content, base::FileFacts* facts) {
  MayEnd();
  const int error = Begin(Call::kRead);
  return error != 0 ? error : real_.ReadFile(path, content, facts);
}

}  // namespace lagwatch::faults
