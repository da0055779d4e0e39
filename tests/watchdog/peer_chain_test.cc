// SPDX-License-Identifier: Apache-2.0
// The kinds of waits for another process, one peer each.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <string>

#include "tests/watchdog/peer_testing.h"

namespace lagwatch::watchdog {
namespace {

TEST_F(PeerChainTest, FollowsAPipeToItsWriter) {
  const Pair ends = Pair::OfPipe();
  ExpectBusy(
      LockKind::kPipe, [&] { close(ends.first); }, [&] { ReadByte(ends.first); },
      [&] { close(ends.second); });
  close(ends.first);
}

TEST_F(PeerChainTest, FollowsAFullPipeToItsReader) {
  const Pair ends = Pair::OfPipe();
  const std::vector<char> much(1 << 20);
  signal(SIGPIPE, SIG_IGN);
  ExpectBusy(
      LockKind::kPipe, [&] { close(ends.second); },
      [&] { static_cast<void>(write(ends.second, much.data(), much.size())); }, [&] { close(ends.first); });
  close(ends.second);
}

TEST_F(PeerChainTest, FollowsAFifoToItsWriter) {
  const std::string path = directory_ / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int writer = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  fcntl(reader, F_SETFL, 0);
  ExpectBusy(
      LockKind::kPipe, [&] { close(reader); }, [&] { ReadByte(reader); }, [&] { close(writer); });
  close(reader);
}

TEST_F(PeerChainTest, FollowsAPairOfSockets) {
  const Pair ends = Pair::OfSockets();
  ExpectBusy(
      LockKind::kUnixSocket, [&] { close(ends.first); }, [&] { ReadByte(ends.first); },
      [&] { close(ends.second); });
  close(ends.first);
}

TEST_F(PeerChainTest, FollowsAPollOfASocket) {
  const Pair ends = Pair::OfSockets();
  pollfd polled{.fd = ends.first, .events = POLLIN, .revents = 0};
  ExpectBusy(
      LockKind::kUnixSocket, [&] { close(ends.first); }, [&] { poll(&polled, 1, -1); },
      [&] { close(ends.second); });
  close(ends.first);
}

// As for a child's output and its errors, beside a pipe by which a signal's handler wakes the program up.
TEST_F(PeerChainTest, FollowsAPollOfTwoPipesOfOneChild) {
  const Pair output = Pair::OfPipe();
  const Pair errors = Pair::OfPipe();
  const Pair own = Pair::OfPipe();
  pollfd polled[] = {{.fd = own.first, .events = POLLIN, .revents = 0},
                     {.fd = output.first, .events = POLLIN, .revents = 0},
                     {.fd = errors.first, .events = POLLIN, .revents = 0}};
  ExpectBusy(
      LockKind::kPipe, [&] { close(own.second); }, [&] { poll(polled, 3, -1); },
      [&] {
        close(output.second);
        close(errors.second);
      });
  for (const int end : {output.first, errors.first, own.first, own.second}) close(end);
}

class UnixServer {
 public:
  explicit UnixServer(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sun_family = AF_UNIX;
    path.copy(address_.sun_path, sizeof address_.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    EXPECT_EQ(listen(fd_, 4), 0);
  }
  int fd() const { return fd_; }
  int Connect() const {
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    return client;
  }

 private:
  int fd_;
  sockaddr_un address_{};
};

TEST_F(PeerChainTest, FollowsAUnixSocketToTheProcessThatAccepted) {
  const UnixServer server(directory_ / "server");
  int client = -1;
  ExpectBusy(
      LockKind::kUnixSocket, [&] { accept(server.fd(), nullptr, nullptr); }, [&] { ReadByte(client); },
      [&] { client = server.Connect(); });
  close(client);
  close(server.fd());
}

TEST_F(PeerChainTest, FollowsAUnixSocketThatNothingHasAccepted) {
  const UnixServer server(directory_ / "server");
  int client = -1;
  ExpectBusy(
      LockKind::kUnixSocket, [] {}, [&] { ReadByte(client); },
      [&] {
        client = server.Connect();
        close(server.fd());
      });
  close(client);
}

class TcpServer {
 public:
  TcpServer() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    socklen_t size = sizeof address_;
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
    EXPECT_EQ(listen(fd_, 4), 0);
  }
  int fd() const { return fd_; }
  int Connect() const {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    return client;
  }

 private:
  int fd_;
  sockaddr_in address_{};
};

TEST_F(PeerChainTest, FollowsAConnectionToTheProcessThatAccepted) {
  const TcpServer server;
  int client = -1;
  ExpectBusy(
      LockKind::kConnection, [&] { accept(server.fd(), nullptr, nullptr); }, [&] { ReadByte(client); },
      [&] { client = server.Connect(); });
  close(client);
  close(server.fd());
}

TEST_F(PeerChainTest, FollowsAConnectionThatNothingHasAccepted) {
  const TcpServer server;
  int client = -1;
  ExpectBusy(
      LockKind::kConnection, [] {}, [&] { ReadByte(client); },
      [&] {
        client = server.Connect();
        close(server.fd());
      });
  close(client);
}

TEST_F(PeerChainTest, FollowsAWaitForAChild) {
  Child child(BeBusyElsewhere);
  expected_end_ = BeBusyElsewhere;
  Follow(
      1, [&] { waitpid(child.pid(), nullptr, 0); }, [&] { kill(child.pid(), SIGKILL); });
  ExpectWaitFor(0, child.pid(), LockKind::kChild);
}

TEST_F(PeerChainTest, FollowsLocksOfFilesToTheirHolders) {
  const std::string path = directory_ / "locked";
  const int own = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  const Pair ready = Pair::OfPipe();
  const std::vector<std::function<int(int)>> ways = {
      [](int fd) { return flock(fd, LOCK_EX); },
      [&](int fd) { return fcntl(fd, F_SETLKW, &whole); },
      [&](int fd) { return fcntl(fd, F_OFD_SETLKW, &whole); },
  };
  for (const auto& lock : ways) {
    ExpectBusy(
        LockKind::kFileLock,
        [&] {
          EXPECT_EQ(lock(open(path.c_str(), O_RDWR | O_CLOEXEC)), 0);
          EXPECT_EQ(write(ready.second, "x", 1), 1);
        },
        [&] { EXPECT_EQ(lock(own), 0); }, [&] { ReadByte(ready.first); });
    flock(own, LOCK_UN);
    whole.l_type = F_UNLCK;
    fcntl(own, F_SETLK, &whole);
    fcntl(own, F_OFD_SETLK, &whole);
    whole.l_type = F_WRLCK;
  }
  close(own);
}

TEST_F(PeerChainTest, FollowsAMutexInSharedMemory) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* mutex = static_cast<pthread_mutex_t*>(memory);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &attributes);
  const Pair ready = Pair::OfPipe();
  ExpectBusy(
      LockKind::kMutex,
      [&] {
        pthread_mutex_lock(mutex);
        EXPECT_EQ(write(ready.second, "x", 1), 1);
      },
      [&] { pthread_mutex_lock(mutex); }, [&] { ReadByte(ready.first); });
  munmap(memory, 4096);
}

}  // namespace
}  // namespace lagwatch::watchdog
