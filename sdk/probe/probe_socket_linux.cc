// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/system/file_calls.h"
#include "sdk/probe/probe_messages.h"
#include "sdk/probe/probe_socket.h"

namespace lagwatch::sdk {
namespace {

constexpr int kMostWaiting = 8;

base::Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path)
    return base::Status(base::StatusCode::kInvalid, "the path " + path + " is too long for a socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Makes the folder, or takes the one that is there if it is this user's alone.
base::Status PrepareDirectory(const std::string& directory) {
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return base::IoError("cannot make " + directory, errno);
  const base::OwnedFd folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder || fstat(folder.get(), &status) != 0) return base::IoError("cannot open " + directory, errno);
  if (status.st_uid != geteuid()) return {base::StatusCode::kInvalid, directory + " belongs to another user"};
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if ((status.st_mode & kOthers) != 0 && fchmod(folder.get(), S_IRWXU) != 0)
    return base::IoError("cannot close " + directory + " to others", errno);
  return {};
}

// Whether it is a socket that no process has bound any more. A datagram socket cannot connect to a stream
// one, so that a live service notices nothing.
bool IsAbandoned(const std::string& path) {
  const auto address = AddressOf(path);
  const base::OwnedFd asking(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return asking && address.ok() &&
         connect(asking.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 &&
         errno == ECONNREFUSED;
}

// Removes the sockets of processes that were killed or became another program.
void Sweep(const std::string& directory) {
  constexpr time_t kYoungS = 10;  // one that is just being bound is not there for connect(2) yet
  const base::OwnedFd folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return;
  int left = 4096;
  base::ForEachNameIn(folder.get(), [&](const char* name) {
    const std::string path = directory + "/" + name;
    struct stat status {};
    const bool is_old_socket = std::string_view(name).starts_with("probe-") &&
                               lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) &&
                               status.st_mtime + kYoungS < time(nullptr);
    if (is_old_socket && IsAbandoned(path)) unlink(path.c_str());
    return --left != 0;
  });
}

base::Result<ProbeSocket> ListenIn(const std::string& directory) {
  if (base::Status status = PrepareDirectory(directory); !status.ok()) return status;
  Sweep(directory);
  ProbeSocket made{.fd = {}, .path = ProbeSocketPath(directory, getpid())};
  const auto address = LAGWATCH_TRY(AddressOf(made.path));
  unlink(made.path.c_str());  // of an earlier process with this id
  made.fd = base::OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool listens =
      made.fd && bind(made.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      chmod(made.path.c_str(), S_IRUSR | S_IWUSR) == 0 && listen(made.fd.get(), kMostWaiting) == 0;
  if (!listens) return base::IoError("cannot listen at " + made.path, errno);
  return made;
}

bool HasCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, words) != 0) return true;
  return std::ranges::any_of(words, [](const auto& word) { return word.permitted != 0; });
}

// The rule of ptrace(2), or stricter: a probe reads what a debugger could. Root aside, the peer must have all
// the ids of this process, which must have no capabilities and be dumpable.
bool MayProbe(const ucred& peer) {
  if (peer.uid == 0) return true;
  uid_t user = 0, effective_user = 0, saved_user = 0;
  gid_t group = 0, effective_group = 0, saved_group = 0;
  if (getresuid(&user, &effective_user, &saved_user) != 0) return false;
  if (getresgid(&group, &effective_group, &saved_group) != 0) return false;
  const bool is_same_user = peer.uid == user && user == effective_user && user == saved_user;
  const bool is_same_group = peer.gid == group && group == effective_group && group == saved_group;
  return is_same_user && is_same_group && prctl(PR_GET_DUMPABLE) == 1 && !HasCapabilities();
}

}  // namespace

base::Result<ProbeSocket> ListenForConsoles(const std::string& directory) {
  if (!directory.empty()) {
    auto made = ListenIn(directory);
    if (made.ok()) return made;
  }
  const std::string usual = ProbeDirectory("", geteuid());
  auto made = ListenIn(usual);
  if (made.ok()) return made;
  // Consoles look for sockets by the process, wherever they are.
  std::string own = usual + "-XXXXXX";
  if (mkdtemp(own.data()) == nullptr) return made;
  auto elsewhere = ListenIn(own);
  if (!elsewhere.ok()) {
    rmdir(own.c_str());
    return made;
  }
  elsewhere->own_directory = own;
  return elsewhere;
}

void ProbeSocket::RemoveFiles() const {
  if (!path.empty()) unlink(path.c_str());
  if (!own_directory.empty()) rmdir(own_directory.c_str());
}

ConsolePeer AcceptConsole(const ProbeSocket& socket) {
  ConsolePeer peer;
  // By the number: accept4() is one of the functions that the preloaded library hooks.
  peer.fd = base::OwnedFd(static_cast<int>(syscall(SYS_accept4, socket.fd.get(), 0L, 0L,
                                                   static_cast<long>(SOCK_CLOEXEC | SOCK_NONBLOCK), 0L, 0L)));
  if (!peer.fd) {
    peer.has_failed = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    return peer;
  }
  ucred credentials{};
  socklen_t size = sizeof credentials;
  const bool is_known = getsockopt(peer.fd.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
                        size == sizeof credentials;
  if (!is_known || !MayProbe(credentials)) {
    WriteAuditLine("refused a console of user " + std::to_string(credentials.uid));
    return {};
  }
  peer.user = credentials.uid;
  peer.pid = credentials.pid;
  return peer;
}

void WriteAuditLine(std::string_view text) {
  constexpr char kLog[] = "/dev/log";
  constexpr size_t kMostBytes = 800;
  const base::OwnedFd log(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, kLog, sizeof kLog);
  std::string line = "<37>lagwatch[" + std::to_string(getpid()) + "]: ";  // 4 (auth) × 8 + 5 (notice)
  for (const char c : text.substr(0, kMostBytes)) line += c >= ' ' || c < 0 ? c : ' ';
  if (log)
    sendto(log.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace lagwatch::sdk
