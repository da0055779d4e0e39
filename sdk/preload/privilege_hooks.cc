// SPDX-License-Identifier: Apache-2.0
// The calls by which a server gives up its privileges or its root directory, usually before it first waits.
// The monitor starts before them: afterwards the process could not open the spool directory any more. The C
// library makes most of them on all threads, and ends the process when they succeed on some only: so
// lagwatch's threads end for the call if their capabilities are others than the calling thread's.
#include <grp.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/system/seccomp.h"
#include "sdk/preload/next_function.h"
#include "sdk/preload/watch/process_watch.h"

namespace {

using lagwatch::sdk::MonitorPause;
using lagwatch::sdk::NextFunction;
using lagwatch::sdk::PauseIfThreadsDiffer;
using lagwatch::sdk::ResumeMonitor;
using lagwatch::sdk::StartBeforeUserChange;
using lagwatch::sdk::StartMonitorEarly;

constinit NextFunction<int(uid_t)> g_setuid("setuid");
constinit NextFunction<int(uid_t)> g_seteuid("seteuid");
constinit NextFunction<int(uid_t, uid_t)> g_setreuid("setreuid");
constinit NextFunction<int(uid_t, uid_t, uid_t)> g_setresuid("setresuid");
constinit NextFunction<int(uid_t)> g_setfsuid("setfsuid");
constinit NextFunction<int(gid_t)> g_setgid("setgid");
constinit NextFunction<int(gid_t)> g_setegid("setegid");
constinit NextFunction<int(gid_t, gid_t)> g_setregid("setregid");
constinit NextFunction<int(gid_t, gid_t, gid_t)> g_setresgid("setresgid");
constinit NextFunction<int(size_t, const gid_t*)> g_setgroups("setgroups");
constinit NextFunction<int(const char*, gid_t)> g_initgroups("initgroups");
constinit NextFunction<int(const char*)> g_chroot("chroot");

// Before main(): see NextFunction.
[[gnu::constructor]] void FindPrivilegeCalls() {
  lagwatch::sdk::FindAll(g_setuid, g_seteuid, g_setreuid, g_setresuid, g_setfsuid, g_setgid, g_setegid,
                         g_setregid, g_setresgid, g_setgroups, g_initgroups, g_chroot);
}

// The C library makes these calls on all threads. Each thread has capabilities of its own.
class ScopedForAllThreads {
 public:
  explicit ScopedForAllThreads(uid_t user = static_cast<uid_t>(-1)) {
    if (lagwatch::base::IsConfined()) return;
    StartBeforeUserChange(user);
    pause_ = PauseIfThreadsDiffer();
  }
  ~ScopedForAllThreads() { ResumeMonitor(pause_); }
  ScopedForAllThreads(const ScopedForAllThreads&) = delete;
  ScopedForAllThreads& operator=(const ScopedForAllThreads&) = delete;

 private:
  MonitorPause pause_;
};

}  // namespace

#define LAGWATCH_PRIVILEGE __attribute__((visibility("default")))

extern "C" {

LAGWATCH_PRIVILEGE int setuid(uid_t user) noexcept {
  const ScopedForAllThreads scope(user);
  return g_setuid(user);
}

LAGWATCH_PRIVILEGE int seteuid(uid_t user) noexcept {
  const ScopedForAllThreads scope(user);
  return g_seteuid(user);
}

LAGWATCH_PRIVILEGE int setreuid(uid_t real, uid_t effective) noexcept {
  const ScopedForAllThreads scope(effective);
  return g_setreuid(real, effective);
}

LAGWATCH_PRIVILEGE int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  const ScopedForAllThreads scope(effective);
  return g_setresuid(real, effective, saved);
}

// setfsuid(2) changes the calling thread alone.
LAGWATCH_PRIVILEGE int setfsuid(uid_t user) noexcept {
  if (!lagwatch::base::IsConfined()) StartBeforeUserChange(user);
  return g_setfsuid(user);
}

LAGWATCH_PRIVILEGE int setgid(gid_t group) noexcept {
  const ScopedForAllThreads scope;
  return g_setgid(group);
}

LAGWATCH_PRIVILEGE int setegid(gid_t group) noexcept {
  const ScopedForAllThreads scope;
  return g_setegid(group);
}

LAGWATCH_PRIVILEGE int setregid(gid_t real, gid_t effective) noexcept {
  const ScopedForAllThreads scope;
  return g_setregid(real, effective);
}

LAGWATCH_PRIVILEGE int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  const ScopedForAllThreads scope;
  return g_setresgid(real, effective, saved);
}

LAGWATCH_PRIVILEGE int setgroups(size_t count, const gid_t* groups) noexcept {
  const ScopedForAllThreads scope;
  return g_setgroups(count, groups);
}

LAGWATCH_PRIVILEGE int initgroups(const char* user, gid_t group) {
  const ScopedForAllThreads scope;
  return g_initgroups(user, group);
}

LAGWATCH_PRIVILEGE int chroot(const char* path) noexcept {
  StartMonitorEarly();
  return g_chroot(path);
}

}  // extern "C"
