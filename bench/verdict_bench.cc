// SPDX-License-Identifier: Apache-2.0
// Whether verdicts are right: known stalls, run again and again under the real watchdog at small thresholds,
// against the words that their reports get. A recipe that this machine does not permit is skipped and named.
// With --load, a spinner of the lowest priority keeps one processor busy meanwhile.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "policies/verdict.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/evidence.h"
#include "watchdog/watchdog.h"

namespace {

using namespace lagwatch;
using policies::VerdictWord;

constexpr int kDefaultRuns = 10;
constexpr int64_t kThresholdNs = 200 * base::kNsPerMs;
constexpr int64_t kSampleIntervalNs = 10 * base::kNsPerMs;
// Longer than the threshold by far, so that a late look finds the dispatch still in its stall.
constexpr int64_t kStallNs = 400 * base::kNsPerMs;
constexpr int64_t kDeadlineNs = 5 * base::kNsPerSecond;

int64_t NowNs() { return base::SystemClock().MonoNs(); }

void SleepMs(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Of the lag's first report.
class VerdictSink final : public watchdog::HangSink {
 public:
  bool OnLag(const watchdog::LagEvent& event) override {
    std::lock_guard lock(mutex_);
    if (!verdict_) verdict_ = event.verdict;
    return true;
  }
  void OnLagEnd(const base::Uuid&, int64_t) override {}
  void OnRoundDone() override {}

  std::optional<policies::Verdict> verdict() const {
    std::lock_guard lock(mutex_);
    return verdict_;
  }
  void Forget() {
    std::lock_guard lock(mutex_);
    verdict_.reset();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<policies::Verdict> verdict_;
};

// One run of a stall. The other side of it ends the stall.
class Stall {
 public:
  explicit Stall(const VerdictSink& sink) : sink_(sink) {}

  // For stalls that are loops: until there is a report, but at least for some time.
  bool IsToGoOn() const {
    return NowNs() < begin_ns_ + kStallNs || (!sink_.verdict() && NowNs() < begin_ns_ + kDeadlineNs);
  }
  // For the other side.
  void WaitForReport() const {
    while (IsToGoOn()) SleepMs(5);
  }

 private:
  const VerdictSink& sink_;
  int64_t begin_ns_ = NowNs();
};

struct Recipe {
  const char* name;
  VerdictWord expected;
  // Called in the watched thread, within a dispatch.
  std::function<void(const Stall&)> run;
  // Empty, or why this machine cannot do it.
  std::string impossible = {};
};

std::string ScratchFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder == nullptr ? "/tmp" : folder;
}

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

[[gnu::noinline]] void Compute(const Stall& stall) {
  volatile uint64_t value = 1;
  while (stall.IsToGoOn()) {
    for (int i = 0; i < 10'000; ++i) value = value * 31 + 7;
  }
}

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

// Waits by `wait` on one of `ends`, until the other one writes.
void AwaitEnd(const int (&ends)[2], const Stall& stall, void (*wait)(int)) {
  std::thread writer([&] {
    stall.WaitForReport();
    if (write(ends[1], "x", 1) != 1) std::abort();
  });
  wait(ends[0]);
  writer.join();
  close(ends[0]);
  close(ends[1]);
}

void Read(int descriptor) {
  char byte;
  if (read(descriptor, &byte, 1) != 1) std::abort();
}
void Receive(int descriptor) {
  char byte;
  if (recv(descriptor, &byte, 1, 0) != 1) std::abort();
}
void Poll(int descriptor) {
  pollfd awaited{.fd = descriptor, .events = POLLIN, .revents = 0};
  poll(&awaited, 1, -1);
}
void Select(int descriptor) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(descriptor, &set);
  select(descriptor + 1, &set, nullptr, nullptr, nullptr);
}
// As a loop does, with something that wakes it up.
void EpollWait(int descriptor) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int wake = eventfd(0, EFD_CLOEXEC);
  for (int awaited : {descriptor, wake}) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, awaited, &event);
  }
  epoll_event event;
  epoll_wait(epoll, &event, 1, -1);
  close(wake);
  close(epoll);
}

std::function<void(const Stall&)> OnPipe(void (*wait)(int)) {
  return [wait](const Stall& stall) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) AwaitEnd(ends, stall, wait);
  };
}
std::function<void(const Stall&)> OnSocketPair(void (*wait)(int)) {
  return [wait](const Stall& stall) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) AwaitEnd(ends, stall, wait);
  };
}
// A client of a server at `address`.
void OnConnection(const sockaddr* address, socklen_t size, const Stall& stall, void (*wait)(int)) {
  const int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage bound{};
  socklen_t bound_size = sizeof bound;
  if (bind(listener, address, size) != 0 || listen(listener, 1) != 0) std::abort();
  getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &bound_size);
  int ends[2];
  ends[0] = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(ends[0], reinterpret_cast<sockaddr*>(&bound), bound_size) != 0) std::abort();
  ends[1] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  AwaitEnd(ends, stall, wait);
  close(listener);
}
std::function<void(const Stall&)> OnTcp(void (*wait)(int)) {
  return [wait](const Stall& stall) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    OnConnection(reinterpret_cast<sockaddr*>(&address), sizeof address, stall, wait);
  };
}
// `name` in the folder of scratch files, or, with a '@' first, an abstract one.
std::function<void(const Stall&)> OnUnixSocket(const std::string& name, void (*wait)(int)) {
  return [name, wait](const Stall& stall) {
    const std::string path = name.front() == '@' ? name : ScratchFolder() + "/" + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name.front() == '@') address.sun_path[0] = '\0';
    unlink(path.c_str());
    OnConnection(reinterpret_cast<sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()), stall, wait);
    unlink(path.c_str());
  };
}

// A question to a name server that is silent.
void AwaitName(const Stall& stall) {
  const int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  address.sin_addr.s_addr = htonl(0x7f0b0c0d);  // 127.11.12.13: unused
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    std::abort();
  send(client, "?", 1, 0);
  while (stall.IsToGoOn()) {
    pollfd awaited{.fd = client, .events = POLLIN, .revents = 0};
    poll(&awaited, 1, 300);
  }
  close(client);
  close(server);
}

void FillAPipe(const Stall& stall) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  std::thread reader([&] {
    stall.WaitForReport();
    close(ends[0]);
  });
  static const std::vector<char> bytes(1 << 20);
  signal(SIGPIPE, SIG_IGN);
  static_cast<void>(!write(ends[1], bytes.data(), bytes.size()));
  reader.join();
  close(ends[1]);
}

void OpenANamedPipe(const Stall& stall) {
  const std::string path = ScratchFolder() + "/lagwatch-verdict-fifo-" + std::to_string(getpid());
  if (mkfifo(path.c_str(), 0600) != 0) return;
  std::thread writer([&] {
    stall.WaitForReport();
    close(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  });
  close(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  writer.join();
  unlink(path.c_str());
}

// The work of a child, in a process of its own, until there is a report.
template <typename Wait>
void AwaitChild(const Stall& stall, Wait wait) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  std::thread ender([&] {
    stall.WaitForReport();
    kill(child, SIGKILL);
  });
  wait(child);
  ender.join();
  waitpid(child, nullptr, 0);
}
void WaitForAChild(const Stall& stall) {
  AwaitChild(stall, [](pid_t child) {
    siginfo_t ended;
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  });
}
void PollAChild(const Stall& stall) {
  AwaitChild(stall, [](pid_t child) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    Poll(descriptor);
    close(descriptor);
  });
}
void RunAShell(const Stall& stall) {
  while (stall.IsToGoOn()) static_cast<void>(!system("sleep 0.3"));
}

// Another process has the lock.
void LockAFile(const Stall& stall, int (*lock)(int descriptor)) {
  const std::string path = ScratchFolder() + "/lagwatch-verdict-lock-" + std::to_string(getpid());
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return;
  const pid_t holder = fork();
  if (holder == 0) {
    lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    static_cast<void>(!write(ready[1], "x", 1));
    pause();
    _exit(0);
  }
  Read(ready[0]);
  std::thread ender([&] {
    stall.WaitForReport();
    kill(holder, SIGKILL);
  });
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  lock(descriptor);
  ender.join();
  waitpid(holder, nullptr, 0);
  for (int opened : {descriptor, ready[0], ready[1]}) close(opened);
  unlink(path.c_str());
}
int LockWhole(int descriptor) { return flock(descriptor, LOCK_EX); }
int LockRange(int descriptor) {
  struct flock range {};
  range.l_type = F_WRLCK;
  return fcntl(descriptor, F_SETLKW, &range);
}

void AwaitATimer(const Stall& stall) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  while (stall.IsToGoOn()) {
    const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 300'000'000}};
    timerfd_settime(timer, 0, &soon, nullptr);
    Poll(timer);
  }
  close(timer);
}

void PollNothing(const Stall& stall) {
  while (stall.IsToGoOn()) poll(nullptr, 0, 300);
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

bool WriteFile(const std::string& path, const std::string& text) {
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return is_written;
}

// A control group for threads, with a limit of some kind; it goes with this object.
class ThreadGroup {
 public:
  struct Limit {
    std::string file;
    std::string value;
  };

  // Under `root`, with the first limits that the system takes.
  ThreadGroup(const std::string& root, const std::string& threads_file, std::vector<Limit> limits)
      : path_(root + "/lagwatch-verdict-" + std::to_string(getpid())),
        threads_file_(path_ + threads_file),
        outer_threads_file_(root + threads_file) {
    if (mkdir(path_.c_str(), 0700) != 0) return;
    is_usable_ = true;
    for (const Limit& limit : limits) is_usable_ = is_usable_ && WriteFile(path_ + limit.file, limit.value);
  }
  ~ThreadGroup() { rmdir(path_.c_str()); }
  ThreadGroup(const ThreadGroup&) = delete;

  bool is_usable() const { return is_usable_; }
  bool Enter() const { return WriteFile(threads_file_, std::to_string(gettid())); }
  bool Leave() const { return WriteFile(outer_threads_file_, std::to_string(gettid())); }

 private:
  std::string path_;
  std::string threads_file_;
  std::string outer_threads_file_;
  bool is_usable_ = false;
};

// A fifth of a processor, and precedence for that over the rest of the machine.
std::unique_ptr<ThreadGroup> CreateQuotaGroup() {
  for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
    auto group = std::make_unique<ThreadGroup>(
        root, "/tasks",
        std::vector<ThreadGroup::Limit>{
            {"/cpu.cfs_period_us", "50000"}, {"/cpu.cfs_quota_us", "10000"}, {"/cpu.shares", "20000"}});
    if (group->is_usable()) return group;
  }
  return std::make_unique<ThreadGroup>(
      "/sys/fs/cgroup", "/cgroup.threads",
      std::vector<ThreadGroup::Limit>{
          {"/cgroup.type", "threaded"}, {"/cpu.max", "10000 50000"}, {"/cpu.weight", "2000"}});
}

// A disk that is slow for its threads, if this machine can do that: otherwise it may be so fast that its
// users mostly compute.
std::unique_ptr<ThreadGroup> CreateSlowDiskGroup() {
  struct stat folder {};
  stat(ScratchFolder().c_str(), &folder);
  std::string device = std::to_string(major(folder.st_dev)) + ":" + std::to_string(minor(folder.st_dev));
  return std::make_unique<ThreadGroup>(
      "/sys/fs/cgroup/blkio", "/tasks",
      std::vector<ThreadGroup::Limit>{{"/blkio.throttle.read_iops_device", device + " 200"},
                                      {"/blkio.throttle.write_iops_device", device + " 100"}});
}

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

// The verdict on one run of `recipe`; none when there was no report.
std::optional<policies::Verdict> Run(const Recipe& recipe, watchdog::LoopRegistry* registry,
                                     VerdictSink* sink) {
  sink->Forget();
  auto is_over = std::make_shared<std::atomic<bool>>(false);
  auto loop_place = std::make_shared<std::atomic<watchdog::WatchedLoop*>>(nullptr);
  // By value what outlives this call where a thread cannot end.
  std::thread thread([recipe, registry, sink, is_over, loop_place] {
    watchdog::WatchedLoop* loop = registry->Add(recipe.name, gettid());
    *loop_place = loop;
    Stall stall(*sink);
    loop->probe.Begin(recipe.name);
    recipe.run(stall);
    loop->probe.End();
    *is_over = true;
  });
  int64_t deadline_ns = NowNs() + 2 * kDeadlineNs;
  bool can_end = recipe.expected != VerdictWord::kDeadlock;
  while (!(can_end ? is_over->load() : sink->verdict().has_value()) && NowNs() < deadline_ns) SleepMs(5);
  if (can_end) {
    thread.join();
  } else {
    thread.detach();
  }
  registry->Remove(*loop_place);
  return sink->verdict();
}

std::string SharesText(const policies::TimeShares& shares) {
  auto percent = [&](int64_t ns) {
    return shares.wall_ns == 0 ? 0.0 : 100.0 * static_cast<double>(ns) / static_cast<double>(shares.wall_ns);
  };
  struct Part {
    const char* name;
    int64_t ns;
  };
  std::string text;
  for (const Part& part : std::initializer_list<Part>{{"user", shares.user_ns},
                                                      {"kernel", shares.kernel_ns},
                                                      {"queue", shares.run_queue_ns},
                                                      {"throttled", shares.throttled_ns},
                                                      {"lock", shares.lock_ns},
                                                      {"disk", shares.disk_ns},
                                                      {"memory", shares.memory_ns},
                                                      {"network", shares.network_ns},
                                                      {"sleep", shares.sleep_ns},
                                                      {"stopped", shares.stopped_ns}}) {
    char number[64];
    std::snprintf(number, sizeof number, " %s %.0f", part.name, percent(part.ns));
    if (percent(part.ns) >= 0.5) text += number;
  }
  return text;
}

// The median cost of a look at a thread, `before` being an earlier one or null, `files` those kept
// open or null.
double MedianLookUs(int tid, const policies::ThreadLook* before, const stack::ThreadFiles* files) {
  std::vector<int64_t> costs_ns;
  for (int i = 0; i < 2000; ++i) {
    policies::ThreadLook look;
    int64_t begin_ns = NowNs();
    watchdog::LookAtThread(tid, before, &look, files);
    costs_ns.push_back(NowNs() - begin_ns);
  }
  std::sort(costs_ns.begin(), costs_ns.end());
  return static_cast<double>(costs_ns[costs_ns.size() / 2]) / 1000;
}

void PrintLookCosts() {
  std::atomic<bool> stop{false};
  std::atomic<int> spinning_tid{0};
  std::atomic<int> waiting_tid{0};
  std::mutex mutex;
  mutex.lock();
  std::thread spinning([&] {
    spinning_tid = gettid();
    while (!stop.load()) {
    }
  });
  std::thread waiting([&] {
    waiting_tid = gettid();
    std::lock_guard lock(mutex);
  });
  SleepMs(50);
  policies::ThreadLook before;
  watchdog::LookAtThread(waiting_tid, nullptr, &before);
  // This process has no hang that a test could disturb: its own table of descriptors serves.
  stack::ThreadFiles files;
  files.Allow();
  for (int tid : {waiting_tid.load(), spinning_tid.load()}) {
    files.Keep(tid);
    files.KeepAll(tid);
  }
  std::printf("a look takes, with files opened for it and with files kept open, at a thread that\n");
  auto print = [&](const char* what, int tid, const policies::ThreadLook* earlier) {
    const double opened_us = MedianLookUs(tid, earlier, nullptr);
    std::printf("  %-15s  %5.1f us  %5.1f us\n", what, opened_us, MedianLookUs(tid, earlier, &files));
  };
  print("has slept since", waiting_tid, &before);
  print("runs", spinning_tid, nullptr);
  print("has run, sleeps", waiting_tid, nullptr);
  for (int tid : {waiting_tid.load(), spinning_tid.load()}) files.Release(tid);
  stop = true;
  mutex.unlock();
  spinning.join();
  waiting.join();
}

// Other load of this machine must not starve the stalls. Each session has a share of the processors, and a
// priority of its own, where the kernel groups them.
void TakePriority() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a session of its own hears of no Ctrl-C
  setsid();
  WriteFile("/proc/self/autogroup", "-15");
  setpriority(PRIO_PROCESS, 0, -15);
}

}  // namespace

int main(int argc, char** argv) {
  int runs = kDefaultRuns;
  bool is_loaded = false;
  bool is_verbose = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--load") is_loaded = true;
    if (argument == "--verbose") is_verbose = true;
    if (argument == "--runs" && i + 1 < argc) runs = std::atoi(argv[++i]);
    if (argument == "--only" && i + 1 < argc) only = argv[++i];
  }
  TakePriority();
  std::atomic<bool> stop{false};
  std::thread load;
  if (is_loaded) {
    load = std::thread([&] {
      setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
      while (!stop.load()) {
      }
    });
  }

  watchdog::WatchOptions options;
  options.threshold_ns = kThresholdNs;
  options.sample_interval_ns = kSampleIntervalNs;
  auto registry = std::make_unique<watchdog::LoopRegistry>();
  VerdictSink sink;
  auto unwinder = stack::CreateTableUnwinder();
  if (!unwinder.ok()) return 1;
  auto capturer = stack::StackCapturer::Create({}, std::move(unwinder).value());
  if (!capturer.ok()) return 1;
  std::unique_ptr<stack::StackCapturer> owned_capturer = std::move(capturer).value();
  watchdog::Watchdog watchdog(options, registry.get(), owned_capturer.get(), &sink);
  if (!watchdog.Start().ok()) return 1;

  std::unique_ptr<ThreadGroup> quota = CreateQuotaGroup();
  std::unique_ptr<ThreadGroup> slow_disk = CreateSlowDiskGroup();
  if (!slow_disk->is_usable())
    std::printf("the disk is as fast as it is: no control group can slow it down\n");
  int recipe_count = 0;
  int run_count = 0;
  int right_count = 0;
  std::string confusion;
  std::printf("%-10s %-9s  verdicts\n", "recipe", "expected");
  for (const Recipe& recipe : AllRecipes(*quota, *slow_disk)) {
    if (!only.empty() && only != recipe.name) continue;
    if (!recipe.impossible.empty()) {
      std::printf("%-10s %-9s  skipped: %s\n", recipe.name, VerdictName(recipe.expected),
                  recipe.impossible.c_str());
      continue;
    }
    std::map<std::string, int> words;
    std::string shares;
    for (int run = 0; run < runs; ++run) {
      std::optional<policies::Verdict> verdict = Run(recipe, registry.get(), &sink);
      ++words[verdict ? VerdictName(verdict->word) : "(no report)"];
      bool is_right = verdict && verdict->word == recipe.expected;
      right_count += is_right ? 1 : 0;
      if (verdict && (!is_right || run == 0 || is_verbose)) {
        shares += "             " + std::string(VerdictName(verdict->word)) + ":" +
                  SharesText(verdict->shares) + "\n";
      }
    }
    ++recipe_count;
    run_count += runs;
    std::printf("%-10s %-9s ", recipe.name, VerdictName(recipe.expected));
    confusion += std::string(confusion.empty() ? "" : ",") + "\"" + recipe.name + "\":{";
    const char* separator = "";
    for (const auto& [word, count] : words) {
      std::printf(" %s %d", word.c_str(), count);
      confusion += separator + ("\"" + word + "\":") + std::to_string(count);
      separator = ",";
    }
    confusion += "}";
    std::printf("\n%s", shares.c_str());
    std::fflush(stdout);
  }
  bool is_stopped = watchdog.TryStop();
  stop = true;
  if (load.joinable()) load.join();

  PrintLookCosts();
  std::printf("{\"recipes\":%d,\"runs\":%d,\"accuracy_pct\":%.1f,\"confusion\":{%s}}\n", recipe_count, runs,
              run_count == 0 ? 0.0 : 100.0 * right_count / run_count, confusion.c_str());
  std::fflush(stdout);
  quota.reset();
  slow_disk.reset();
  // The threads of deadlocks are still there.
  std::_Exit(is_stopped ? 0 : 1);
}
