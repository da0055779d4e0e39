// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/system/system_calls.h"
#include "tools/inject/thread_places.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {

std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> threads{pid};
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    const pid_t tid = std::atoi(entry.path().filename().c_str());
    if (tid != pid) threads.push_back(tid);
  }
  return threads;
}

std::optional<StoppedIn> PlaceOf(long number) {
  if (number == kInNoSyscall) return StoppedIn::kRunning;
  switch (base::SystemCallOf(number).when_stopped) {
    case base::WhenStopped::kHarmless:
      return StoppedIn::kWait;
    case base::WhenStopped::kHoldsNoLock:
      return StoppedIn::kFutex;
    case base::WhenStopped::kUnsafe:
      break;
  }
  return std::nullopt;
}

}  // namespace lagwatch::tools
