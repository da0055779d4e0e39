// SPDX-License-Identifier: Apache-2.0
// The calls by which a server gives up its privileges or its root directory, usually before it first waits.
// The monitor starts before them: afterwards the process could not open the spool directory any more.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "sdk/preload/wait_tracker.h"

namespace {

using lagwatch::sdk::StartMonitorEarly;
using lagwatch::sdk::StopUntilNextWait;

// The next definition after ours. These calls are made in processes with an intact loader: a child of vfork()
// gets what its parent has looked up, or looks it up itself, as the C library's lazy binding would.
template <typename... Arguments>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}

  int operator()(Arguments... arguments) {
    using Function = int (*)(Arguments...);
    Function function = function_.load(std::memory_order_relaxed);  // the same value for every thread
    if (function == nullptr) {
      function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
      function_.store(function, std::memory_order_relaxed);
    }
    if (function != nullptr) return function(arguments...);
    errno = ENOSYS;
    return -1;
  }

 private:
  const char* name_;
  std::atomic<int (*)(Arguments...)> function_{nullptr};
};

constexpr uid_t kUnchanged = static_cast<uid_t>(-1);

void PrepareForUser(uid_t user) {
  const int error = errno;
  if (geteuid() == 0 && user != 0 && user != kUnchanged) {
    // Then the calling thread alone keeps capabilities: the C library makes later calls of this kind on all
    // threads, and ends the process when they fail on ours.
    if (prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0) == 1) {
      StopUntilNextWait();
    } else {
      StartMonitorEarly();
    }
  }
  errno = error;
}

}  // namespace

#define LAGWATCH_PRIVILEGE __attribute__((visibility("default")))

extern "C" {

LAGWATCH_PRIVILEGE int setuid(uid_t user) noexcept {
  static constinit Next<uid_t> next("setuid");
  PrepareForUser(user);
  return next(user);
}

LAGWATCH_PRIVILEGE int setreuid(uid_t real, uid_t effective) noexcept {
  static constinit Next<uid_t, uid_t> next("setreuid");
  PrepareForUser(effective);
  return next(real, effective);
}

LAGWATCH_PRIVILEGE int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  static constinit Next<uid_t, uid_t, uid_t> next("setresuid");
  PrepareForUser(effective);
  return next(real, effective, saved);
}

LAGWATCH_PRIVILEGE int chroot(const char* path) noexcept {
  static constinit Next<const char*> next("chroot");
  const int error = errno;
  StartMonitorEarly();
  errno = error;
  return next(path);
}

}  // extern "C"
