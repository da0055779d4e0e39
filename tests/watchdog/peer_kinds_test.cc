// SPDX-License-Identifier: Apache-2.0
// Waits for terminals, message queues, file systems in user space and the requests of an io_uring.
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/watchdog/peer_testing.h"

namespace lagwatch::watchdog {
namespace {

struct Terminal {
  int shown = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  int used = -1;

  Terminal() {
    EXPECT_EQ(grantpt(shown), 0);
    EXPECT_EQ(unlockpt(shown), 0);
    used = open(ptsname(shown), O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_GE(used, 0);
  }
};

TEST_F(PeerChainTest, FollowsATerminalToTheProcessThatShowsIt) {
  const Terminal terminal;
  const std::vector<char> much(1 << 20);
  ExpectBusy(
      LockKind::kTerminal, [&] { close(terminal.used); },
      [&] { static_cast<void>(write(terminal.used, much.data(), much.size())); },
      [&] { close(terminal.shown); });
  close(terminal.used);
}

TEST_F(PeerChainTest, FollowsATerminalToTheProcessThatUsesIt) {
  const Terminal terminal;
  ExpectBusy(
      LockKind::kTerminal, [&] { close(terminal.shown); }, [&] { ReadByte(terminal.shown); },
      [&] { close(terminal.used); });
  close(terminal.shown);
}

TEST_F(PeerChainTest, FollowsAMessageQueue) {
  const std::string name = "/lagwatch-test-" + std::to_string(getpid());
  mq_attr attributes{};
  attributes.mq_maxmsg = 1;
  attributes.mq_msgsize = 8;
  const mqd_t writing = mq_open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600, &attributes);
  if (writing < 0) GTEST_SKIP() << "no message queues here";
  const mqd_t reading = mq_open(name.c_str(), O_RDONLY | O_CLOEXEC);
  const mqd_t ending = mq_open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  mq_unlink(name.c_str());
  Child child([&] {
    mq_close(reading);
    mq_close(ending);
    BeBusyElsewhere();
  });
  mq_close(writing);
  expected_end_ = BeBusyElsewhere;
  Follow(
      1,
      [&] {
        char message[8];
        mq_receive(reading, message, sizeof message, nullptr);
      },
      [&] { mq_send(ending, "", 0, 0); });
  ExpectWaitFor(0, child.pid(), LockKind::kQueue);
  mq_close(reading);
  mq_close(ending);
}

// Mounts a file system that `device` serves, for the calling thread alone. False where that is not permitted.
bool MountAlone(int device, const std::string& folder) {
  char options[64];
  std::snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("lagwatch-test", folder.c_str(), "fuse", 0, options) == 0;
}

// Whether file systems can be mounted, and whether the kernel says which process serves which of them.
bool HasFileServers(const std::string& folder) {
  bool has_them = false;
  std::thread([&] {
    const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0 || !MountAlone(device, folder)) return;
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(device));
    for (std::string line; std::getline(info, line);)
      has_them = has_them || line.starts_with("fuse_connection:");
    close(device);
  }).join();
  return has_them;
}

// Answers nothing but the first request, which the kernel makes.
void BeginToServe(int device) {
  alignas(8) char request[FUSE_MIN_READ_BUFFER * 16];
  while (read(device, request, sizeof request) < 0) usleep(1000);
  fuse_in_header header;
  std::memcpy(&header, request, sizeof header);
  struct {
    fuse_out_header header;
    fuse_init_out init;
  } answer{};
  answer.header = {.len = sizeof answer, .error = 0, .unique = header.unique};
  answer.init.major = FUSE_KERNEL_VERSION;
  answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
  answer.init.max_write = 4096;
  if (write(device, &answer, sizeof answer) < 0) _exit(1);
}

TEST_F(PeerChainTest, FollowsAFileSystemToItsServer) {
  const std::string folder = directory_.path();
  if (!HasFileServers(folder)) GTEST_SKIP() << "no file systems in user space here";
  const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  ExpectBusy(
      LockKind::kFileSystem, [&] { BeginToServe(device); },
      [&] {
        EXPECT_TRUE(MountAlone(device, folder));
        close(device);
        struct stat file;
        static_cast<void>(stat((folder + "/file").c_str(), &file));
      });
}

// Reads a byte by an io_uring.
void ReadByRing(int ring, const io_uring_params& parameters, int fd) {
  const auto map = [&](size_t size_bytes, int64_t offset) {
    return static_cast<char*>(
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset));
  };
  const auto& offsets = parameters.sq_off;
  char* queue = map(offsets.array + parameters.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
  auto* request = reinterpret_cast<io_uring_sqe*>(
      map(parameters.sq_entries * sizeof(io_uring_sqe), static_cast<int64_t>(IORING_OFF_SQES)));
  char byte;
  request->opcode = IORING_OP_READ;
  request->fd = fd;
  request->addr = reinterpret_cast<uint64_t>(&byte);
  request->len = 1;
  *reinterpret_cast<uint32_t*>(queue + offsets.array) = 0;
  __atomic_store_n(reinterpret_cast<uint32_t*>(queue + offsets.tail), 1, __ATOMIC_RELEASE);
  syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
}

TEST_F(PeerChainTest, FollowsARequestOfAnIoUring) {
  io_uring_params parameters{};
  const int ring = static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters));
  if (ring < 0) GTEST_SKIP() << "no io_uring here";
  const Pair ends = Pair::OfPipe();
  ExpectBusy(
      LockKind::kPipe,
      [&] {
        close(ends.first);
        close(ring);
      },
      [&] { ReadByRing(ring, parameters, ends.first); }, [&] { close(ends.second); });
  close(ring);
  close(ends.first);
}

}  // namespace
}  // namespace lagwatch::watchdog
