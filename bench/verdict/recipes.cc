// SPDX-License-Identifier: Apache-2.0
#include "bench/verdict/recipes.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/verdict/waits.h"

namespace lagwatch::bench {

using policies::VerdictWord;

[[gnu::noinline]] void Compute(const Stall& stall) {
  volatile uint64_t value = 1;
  while (stall.IsToGoOn()) {
    for (int i = 0; i < 10'000; ++i) value = value * 31 + 7;
  }
}

namespace {

// A file of the given size that goes with this object.
class ScratchFile {
 public:
  explicit ScratchFile(size_t size_bytes) {
    std::string path = ScratchFolder() + "/lagwatch-verdict-XXXXXX";
    fd_ = mkostemp(path.data(), O_CLOEXEC);
    if (fd_ < 0) return;
    unlink(path.c_str());
    std::vector<char> chunk(1 << 20, 'x');
    for (size_t written = 0; written < size_bytes; written += chunk.size()) {
      if (write(fd_, chunk.data(), chunk.size()) < 0) break;
    }
    fsync(fd_);
  }
  ~ScratchFile() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

void CallTheKernel(const Stall& stall) {
  std::vector<char> bytes(64 << 10);
  int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  while (stall.IsToGoOn()) {
    for (int i = 0; i < 100; ++i) {
      if (read(zero, bytes.data(), bytes.size()) < 0) break;
    }
  }
  close(zero);
}

void WaitForABusyOwner(const Stall& stall) {
  std::mutex mutex;
  std::atomic<bool> is_held{false};
  std::thread owner([&] {
    std::lock_guard lock(mutex);
    is_held = true;
    Compute(stall);
  });
  while (!is_held) sched_yield();
  mutex.lock();
  mutex.unlock();
  owner.join();
}

// A lock that never comes; kept for ever, as are its threads.
struct Tangle {
  std::mutex first;
  std::mutex second;
  std::atomic<bool> is_second_held{false};
};

// Cannot end: the thread that runs it is left behind.
void Deadlock(const Stall&) {
  auto* tangle = new Tangle;
  std::unique_lock first(tangle->first);
  std::thread([tangle] {
    std::lock_guard second(tangle->second);
    tangle->is_second_held = true;
    std::lock_guard first_too(tangle->first);
  }).detach();
  while (!tangle->is_second_held) sched_yield();
  std::lock_guard second(tangle->second);
}

void Sync(const ScratchFile& file, const Stall& stall) {
  char block[4096] = {};
  off_t at = 0;
  while (stall.IsToGoOn()) {
    if (pwrite(file.fd(), block, sizeof block, at++ * 4096 % (64 << 20)) < 0 || fsync(file.fd()) != 0) break;
  }
}

constexpr size_t kFileBytes = 128 << 20;
constexpr size_t kPageBytes = 4096;

// Visits the pages of a file in an order that readahead does not predict.
class PageWalk {
 public:
  size_t NextOffset() {
    page_ = (page_ * 5 + 12345) % (kFileBytes / kPageBytes);
    return page_ * kPageBytes;
  }

 private:
  size_t page_ = 0;
};

void ReadTheDisk(const ScratchFile& file, const Stall& stall) {
  PageWalk walk;
  char page[kPageBytes];
  posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
  while (stall.IsToGoOn()) {
    if (pread(file.fd(), page, sizeof page, static_cast<off_t>(walk.NextOffset())) < 0) break;
  }
}

void FaultInAFile(const ScratchFile& file, const Stall& stall) {
  PageWalk walk;
  void* address = mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, file.fd(), 0);
  posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  madvise(address, kFileBytes, MADV_RANDOM);
  auto* bytes = static_cast<const volatile char*>(address);
  while (stall.IsToGoOn()) bytes[walk.NextOffset()];
  munmap(address, kFileBytes);
}

void AwaitACondition(const Stall& stall) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  while (stall.IsToGoOn()) changed.wait_for(lock, std::chrono::milliseconds(300));
}

void Sleep(const Stall& stall) {
  while (stall.IsToGoOn()) SleepMs(300);
}

void SleepInShortNaps(const Stall& stall) {
  while (stall.IsToGoOn()) SleepMs(1);
}

void PinToOneProcessor(pthread_t thread) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(0, &processors);
  pthread_setaffinity_np(thread, sizeof processors, &processors);
}

void Starve(const Stall& stall) {
  std::vector<std::thread> rivals;
  for (int i = 0; i < 2; ++i) {
    rivals.emplace_back([&] {
      PinToOneProcessor(pthread_self());
      Compute(stall);
    });
  }
  PinToOneProcessor(pthread_self());
  sched_param param{};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &param);
  Compute(stall);
  for (std::thread& rival : rivals) rival.join();
}

}  // namespace

std::vector<Recipe> AllRecipes(const ThreadGroup& quota, const ThreadGroup& slow_disk) {
  auto on_slow_disk = [&slow_disk](void (*run)(const ScratchFile&, const Stall&)) {
    auto file = std::make_shared<ScratchFile>(kFileBytes);
    return [&slow_disk, file, run](const Stall& stall) {
      if (slow_disk.is_usable()) slow_disk.Enter();
      run(*file, stall);
      if (slow_disk.is_usable()) slow_disk.Leave();
    };
  };
  std::vector<Recipe> recipes = {
      {"spin", VerdictWord::kCpu, Compute},
      {"syscalls", VerdictWord::kCpu, CallTheKernel},
      {"mutex", VerdictWord::kLock, WaitForABusyOwner},
      {"deadlock", VerdictWord::kDeadlock, Deadlock},
      {"fsync", VerdictWord::kDisk, on_slow_disk(Sync)},
      {"read", VerdictWord::kDisk, on_slow_disk(ReadTheDisk)},
      {"faults", VerdictWord::kMemory, on_slow_disk(FaultInAFile)},
      {"tcp", VerdictWord::kNetwork, OnTcp(Receive)},
      {"tcp-poll", VerdictWord::kNetwork, OnTcp(Poll)},
      {"tcp-epoll", VerdictWord::kNetwork, OnTcp(EpollWait)},
      {"pipe", VerdictWord::kPipe, OnPipe(Read)},
      {"pipe-poll", VerdictWord::kPipe, OnPipe(Poll)},
      {"pipe-select", VerdictWord::kPipe, OnPipe(Select)},
      {"pipe-epoll", VerdictWord::kPipe, OnPipe(EpollWait)},
      {"pipe-full", VerdictWord::kPipe, FillAPipe},
      {"fifo-open", VerdictWord::kPipe, OpenANamedPipe},
      {"socketpair", VerdictWord::kPipe, OnSocketPair(Receive)},
      {"child", VerdictWord::kProcess, WaitForAChild},
      {"pidfd", VerdictWord::kProcess, PollAChild},
      {"system", VerdictWord::kProcess, RunAShell},
      {"flock", VerdictWord::kLock, [](const Stall& stall) { LockAFile(stall, LockWhole); }},
      {"fcntl", VerdictWord::kLock, [](const Stall& stall) { LockAFile(stall, LockRange); }},
      {"condition", VerdictWord::kLock, AwaitACondition},
      {"x11", VerdictWord::kDisplay, OnUnixSocket("@/tmp/.X11-unix/X9871", Poll)},
      {"wayland", VerdictWord::kDisplay, OnUnixSocket("wayland-9871", Receive)},
      {"service", VerdictWord::kService, OnUnixSocket("lagwatch-verdict-bus", Receive)},
      {"service-poll", VerdictWord::kService, OnUnixSocket("lagwatch-verdict-bus", Poll)},
      {"dns", VerdictWord::kNameLookup, AwaitName, geteuid() == 0 ? "" : "only root has port 53"},
      {"timerfd", VerdictWord::kSleep, AwaitATimer},
      {"poll", VerdictWord::kSleep, PollNothing},
      {"nanosleep", VerdictWord::kSleep, Sleep},
      {"naps", VerdictWord::kSleep, SleepInShortNaps},
      {"starved", VerdictWord::kStarved, Starve},
      {"throttled", VerdictWord::kThrottled,
       [&quota](const Stall& stall) {
         if (!quota.Enter()) return;
         Compute(stall);
         quota.Leave();
       }},
  };
  if (!quota.is_usable()) recipes.back().impossible = "no control group with a quota can be made here";
  return recipes;
}

}  // namespace lagwatch::bench
