// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {
namespace {

// "0100007F:1F90", of which an address of version 6 that stands for one of version 4 keeps the last word.
struct Address {
  char text[33] = {};
  uint32_t port = 0;

  bool operator==(const Address& other) const {
    return port == other.port && std::strcmp(text, other.text) == 0;
  }
  bool is_version_6() const { return text[8] != '\0'; }
  void SetHost(std::string_view host) {
    constexpr std::string_view kMapped = "0000000000000000FFFF0000";
    if (host.starts_with(kMapped)) host.remove_prefix(kMapped.size());
    std::memset(text, 0, sizeof text);
    host.copy(text, sizeof text - 1);
  }
  bool Parse(std::string_view field) {
    const size_t colon = field.find(':');
    if (colon == std::string_view::npos || colon >= sizeof text) return false;
    SetHost(field.substr(0, colon));
    std::string_view digits = field.substr(colon + 1);
    uint64_t number = 0;
    const bool is_read = base::ConsumeHex(&digits, &number);
    port = static_cast<uint32_t>(number);
    return is_read;
  }
  // Of a call's answer; false for another family.
  bool Set(const sockaddr_storage& name) {
    uint32_t words[4];
    size_t count = 1;
    if (name.ss_family == AF_INET) {
      const auto& version_4 = reinterpret_cast<const sockaddr_in&>(name);
      words[0] = version_4.sin_addr.s_addr;
      port = ntohs(version_4.sin_port);
    } else if (name.ss_family == AF_INET6) {
      const auto& version_6 = reinterpret_cast<const sockaddr_in6&>(name);
      std::memcpy(words, &version_6.sin6_addr, sizeof words);
      count = std::size(words);
      port = ntohs(version_6.sin6_port);
    } else {
      return false;
    }
    char digits[33] = {};
    for (size_t i = 0; i < count; ++i) std::snprintf(digits + i * 8, 9, "%08X", words[i]);
    SetHost(digits);
    return true;
  }
  // As the kernel wants it in a question.
  void CopyTo(uint32_t (&words)[4]) const {
    std::string_view digits = text;
    for (size_t i = 0; i < std::size(words) && !digits.empty(); ++i) {
      std::string_view word = digits.substr(0, 8);
      digits.remove_prefix(word.size());
      uint64_t number = 0;
      base::ConsumeHex(&word, &number);
      words[i] = static_cast<uint32_t>(number);
    }
  }
};

struct Connection {
  Address local;
  Address remote;
  bool is_listening = false;
  uint64_t inode = 0;
};

bool ParseConnection(std::string_view line, Connection* connection) {
  std::string_view words[10];
  size_t count = 0;
  while (count < std::size(words)) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) break;
    words[count] = line.substr(0, line.find(' '));
    line.remove_prefix(words[count++].size());
  }
  if (count < std::size(words) || !connection->local.Parse(words[1]) || !connection->remote.Parse(words[2]))
    return false;
  constexpr std::string_view kTimeWait = "06";  // closed already; there may be thousands
  if (words[3] == kTimeWait) return false;
  connection->is_listening = words[3] == "0A";
  return base::ConsumeDecimal(&words[9], &connection->inode);
}

// Until `visit` returns false.
template <typename Visit>
void ForEachConnection(const base::Thread& thread, int64_t deadline_ns, Visit visit) {
  for (const char* table : {"net/tcp", "net/tcp6"}) {
    const int fd = open(base::TaskPath(thread, table).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    char buffer[8192];
    size_t filled = 0;
    bool goes_on = true;
    while (goes_on && SearchClockNs() < deadline_ns) {
      const ssize_t got = read(fd, buffer + filled, sizeof buffer - filled);
      if (got <= 0) break;
      std::string_view text(buffer, filled + static_cast<size_t>(got));
      for (size_t end; goes_on && (end = text.find('\n')) != std::string_view::npos;
           text.remove_prefix(end + 1)) {
        Connection connection;
        if (ParseConnection(text.substr(0, end), &connection)) goes_on = visit(connection);
      }
      std::memmove(buffer, text.data(), text.size());
      filled = text.size() == sizeof buffer ? 0 : text.size();
    }
    close(fd);
    if (!goes_on) return;
  }
}

// Of this process, without a look at the tables, which take 10 ms: the kernel walks its whole hash table.
bool ReadOwnConnection(int descriptor, uint64_t inode, Connection* connection) {
  struct stat file {};
  sockaddr_storage names[2] = {};
  if (fstat(descriptor, &file) != 0 || file.st_ino != inode)
    return false;  // in a table of descriptors of its own
  // Not through the C library, whose functions the program may define.
  const long calls[] = {SYS_getsockname, SYS_getpeername};
  for (size_t i = 0; i < std::size(calls); ++i) {
    socklen_t size = sizeof names[i];
    if (syscall(calls[i], descriptor, &names[i], &size) != 0) return false;
  }
  connection->inode = inode;
  return connection->local.Set(names[0]) && connection->remote.Set(names[1]);
}

bool FindOwnConnection(const base::Thread& thread, int descriptor, uint64_t inode, int64_t deadline_ns,
                       Connection* own) {
  if (thread.process.is_own() && ReadOwnConnection(descriptor, inode, own)) return true;
  bool is_found = false;
  ForEachConnection(thread, deadline_ns, [&](const Connection& connection) {
    is_found = connection.inode == inode;
    if (is_found) *own = connection;
    return !is_found;
  });
  return is_found;
}

// The kernel's answer to a question about one socket.
struct Found {
  bool is_known = false;  // else the kernel was not asked, or did not answer
  bool is_there = false;
  bool is_listening = false;
  uint64_t inode = 0;  // 0: nothing has accepted the connection yet
};

bool SharesNetwork(const base::Thread& thread) {
  char own[32];
  char other[32];
  const ssize_t own_size = readlink("/proc/thread-self/ns/net", own, sizeof own);
  const ssize_t size = readlink(base::TaskPath(thread, "ns/net").c_str(), other, sizeof other);
  return size > 0 && size == own_size && std::equal(own, own + size, other);
}

// The socket with that local and that remote address, else one that listens at the local one. By its hash: 20
// us.
Found AskForSocket(const Address& local, const Address& remote) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  inet_diag_req_v2& request = question.request;
  request.sdiag_family = local.is_version_6() ? AF_INET6 : AF_INET;
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_states = ~0u;
  request.id.idiag_sport = htons(static_cast<uint16_t>(local.port));
  request.id.idiag_dport = htons(static_cast<uint16_t>(remote.port));
  local.CopyTo(request.id.idiag_src);
  remote.CopyTo(request.id.idiag_dst);
  request.id.idiag_cookie[0] = request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return {};
  struct {
    nlmsghdr header;
    inet_diag_msg message;
    char rest[1024];
  } answer{};
  ssize_t size = sendto(netlink, &question, sizeof question, 0, nullptr, 0);
  if (size >= 0) size = recvfrom(netlink, &answer, sizeof answer, MSG_DONTWAIT, nullptr, nullptr);
  close(netlink);
  if (size < 0) return {};
  // An error: ENOENT where there is none, another one where the kernel cannot answer.
  if (answer.header.nlmsg_type == NLMSG_ERROR) {
    int error = 0;
    std::memcpy(&error, &answer.message, sizeof error);
    return {.is_known = error == -ENOENT};
  }
  constexpr uint8_t kListening = 10;
  const bool is_answer = answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY;
  return {is_answer, is_answer, answer.message.idiag_state == kListening, answer.message.idiag_inode};
}

// By one look at the tables, as far as they fit.
uint64_t SearchTablesForEnd(const base::Thread& thread, const Connection& own, int64_t deadline_ns) {
  bool is_here = false;
  uint64_t end = 0;
  uint64_t listener = 0;
  ForEachConnection(thread, deadline_ns, [&](const Connection& connection) {
    if (connection.is_listening && connection.local.port == own.remote.port) listener = connection.inode;
    if (connection.local != own.remote || connection.remote != own.local) return true;
    is_here = true;
    end = connection.inode;
    return end == 0;
  });
  return end != 0 ? end : is_here ? listener : 0;
}

}  // namespace

uint64_t FindConnectionEnd(const base::Thread& thread, int descriptor, uint64_t inode, int64_t deadline_ns) {
  Connection own;
  if (!FindOwnConnection(thread, descriptor, inode, deadline_ns, &own) || own.is_listening) return 0;
  const Found end = SharesNetwork(thread) ? AskForSocket(own.remote, own.local) : Found{};
  if (!end.is_known) return SearchTablesForEnd(thread, own, deadline_ns);
  // One that listens there has nothing to do with that connection.
  if (!end.is_there || end.is_listening || end.inode != 0) return end.is_listening ? 0 : end.inode;
  const Found listener = AskForSocket(own.remote, {});
  return listener.is_listening ? listener.inode : 0;
}

}  // namespace lagwatch::watchdog
