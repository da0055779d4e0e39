// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
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
  bool Parse(std::string_view field) {
    const size_t colon = field.find(':');
    if (colon == std::string_view::npos || colon >= sizeof text) return false;
    std::string_view host = field.substr(0, colon);
    constexpr std::string_view kMapped = "0000000000000000FFFF0000";
    if (host.starts_with(kMapped)) host.remove_prefix(kMapped.size());
    std::memset(text, 0, sizeof text);
    host.copy(text, sizeof text - 1);
    std::string_view digits = field.substr(colon + 1);
    uint64_t number = 0;
    const bool is_read = base::ConsumeHex(&digits, &number);
    port = static_cast<uint32_t>(number);
    return is_read;
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

}  // namespace

// Reads the tables once: the kernel takes 10 ms for that, as it walks its whole hash table.
uint64_t FindConnectionEnd(const base::Thread& thread, uint64_t inode, int64_t deadline_ns) {
  constexpr size_t kMostConnections = 256;
  Connection all[kMostConnections];
  size_t count = 0;
  const Connection* own = nullptr;
  ForEachConnection(thread, deadline_ns, [&](const Connection& connection) {
    all[count++] = connection;
    if (connection.inode == inode) own = &all[count - 1];
    if (count == kMostConnections && own == nullptr) count = 0;  // those so far are lost
    return count < kMostConnections;
  });
  if (own == nullptr || own->is_listening) return 0;
  bool is_here = false;
  uint64_t end = 0;
  uint64_t listener = 0;
  for (const Connection& connection : std::span(all, count)) {
    if (connection.is_listening && connection.local.port == own->remote.port) listener = connection.inode;
    if (connection.local != own->remote || connection.remote != own->local) continue;
    is_here = true;
    end = connection.inode;
  }
  return end != 0 ? end : is_here ? listener : 0;
}

}  // namespace lagwatch::watchdog
