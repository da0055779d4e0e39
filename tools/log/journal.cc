// SPDX-License-Identifier: Apache-2.0
#include "tools/log/journal.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/clock.h"
#include "tools/run/sidecar.h"

namespace lagwatch::tools {

base::Result<Journal> Journal::Open() {
  base::OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return base::IoError("no socket for the journal", errno);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, kJournalSocket, sizeof address.sun_path - 1);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return base::Status(base::StatusCode::kUnavailable, kNoJournal);
  return Journal(std::move(socket));
}

std::string EncodeJournalEntry(const JournalFields& fields) {
  std::string entry;
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    if (value.find('\n') == std::string::npos) {
      entry += name + "=" + value + "\n";
      continue;
    }
    entry += name + "\n";
    uint64_t size = value.size();
    for (size_t i = 0; i < sizeof size; ++i, size >>= 8) entry += static_cast<char>(size & 0xff);
    entry += value + "\n";
  }
  return entry;
}

base::Status Journal::Write(const JournalFields& fields) {
  const std::string entry = EncodeJournalEntry(fields);
  int error = Send(entry);
  if (error == ECONNREFUSED || error == ENOTCONN) {
    Journal again = LAGWATCH_TRY(Open());
    socket_ = std::move(again.socket_);
    error = Send(entry);
  }
  if (error == 0) return {};
  return {base::StatusCode::kUnavailable, std::string("the journal takes no entry: ") + std::strerror(error)};
}

int Journal::Send(const std::string& entry) {
  constexpr int64_t kPatienceMs = 5000;
  const int64_t end_ms = base::SystemClock().MonoNs() / base::kNsPerMs + kPatienceMs;
  for (;;) {
    if (send(socket_.get(), entry.data(), entry.size(), MSG_NOSIGNAL) >= 0) return 0;
    const int64_t left_ms = end_ms - base::SystemClock().MonoNs() / base::kNsPerMs;
    if (errno == EINTR) continue;
    // A disk that hangs holds up the journal and programs at the same time.
    if (errno != EAGAIN || left_ms <= 0) return errno;
    pollfd wait{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    poll(&wait, 1, static_cast<int>(left_ms));
  }
}

}  // namespace lagwatch::tools
