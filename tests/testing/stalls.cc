// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/stalls.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <mutex>

namespace lagwatch::testing {

// An empty statement with an effect: calls before it are not made tail calls, so that the caller stays
// on the stack.
#define LAGWATCH_NO_TAIL_CALL asm volatile("")

LAGWATCH_ONE_STACK void Spin(const StopFlag& stop) {
  while (!LAGWATCH_IS_SET(stop)) {
  }
  LAGWATCH_NO_TAIL_CALL;
}

[[gnu::noinline]] void WaitForLock(const StopFlag& stop) {
  std::mutex mutex;
  std::atomic<bool> is_held{false};
  std::thread holder([&] {
    std::lock_guard lock(mutex);
    is_held = true;
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!is_held.load()) std::this_thread::yield();
  mutex.lock();
  mutex.unlock();
  holder.join();
}

[[gnu::noinline]] void SleepInOneCall(const StopFlag&, int64_t duration_ms, std::atomic<bool>* interrupted) {
  timespec duration{.tv_sec = duration_ms / 1000, .tv_nsec = duration_ms % 1000 * 1'000'000};
  if (nanosleep(&duration, nullptr) != 0) *interrupted = true;
  LAGWATCH_NO_TAIL_CALL;
}

[[gnu::noinline]] void PollInOneCall(const StopFlag&, int64_t duration_ms, std::atomic<bool>* interrupted) {
  if (poll(nullptr, 0, static_cast<int>(duration_ms)) < 0) *interrupted = true;
  LAGWATCH_NO_TAIL_CALL;
}

[[gnu::noinline]] void SyncFile(const StopFlag& stop, const std::string& path) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  while (!stop.load()) {
    if (pwrite(fd, "x", 1, 0) != 1 || fsync(fd) != 0) break;
  }
  close(fd);
}

[[gnu::noinline]] void FaultPages(const StopFlag& stop) {
  constexpr size_t kBytes = 16 << 20;
  while (!stop.load()) {
    auto* bytes = static_cast<volatile char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t i = 0; i < kBytes && !stop.load(); i += 4096) bytes[i] = 1;
    munmap(const_cast<char*>(bytes), kBytes);
  }
}

[[gnu::noinline]] void StallInner(const std::function<void(const StopFlag&)>& stall, const StopFlag& stop) {
  stall(stop);
  LAGWATCH_NO_TAIL_CALL;
}

[[gnu::noinline]] void StallOuter(const std::function<void(const StopFlag&)>& stall, const StopFlag& stop) {
  StallInner(stall, stop);
  LAGWATCH_NO_TAIL_CALL;
}

StalledThread::StalledThread(std::function<void(const StopFlag&)> stall)
    : thread_([this, stall = std::move(stall)] {
        tid_ = gettid();
        StallOuter(stall, stop_);
      }) {
  while (tid_.load() == 0) std::this_thread::yield();
  // The stall itself has begun when the thread has had a few chances to.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

StalledThread::~StalledThread() {
  stop_ = true;
  thread_.join();
}

}  // namespace lagwatch::testing
