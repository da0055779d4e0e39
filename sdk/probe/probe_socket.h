// SPDX-License-Identifier: Apache-2.0
// The socket of a probed process, for consoles of its user and of root alone. Linux. Context: background, on
// a thread with its own descriptor table.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/status.h"

namespace lagwatch::sdk {

struct ProbeSocket {
  base::OwnedFd fd;  // listens
  std::string path;
  std::string own_directory = {};  // that was made for it alone; empty: none

  // Removes its file, and the directory of its own.
  void RemoveFiles() const;
};

// Listens in `directory`, or else in /tmp/lagwatch-USER: a folder of this user's, which is made if it is not
// there, and which no one else may open. Removes the sockets there that ended processes have left. If another
// user has taken that name, a folder of a random name beside it is made. Errors: kIo, kInvalid if that is not
// possible either.
base::Result<ProbeSocket> ListenForConsoles(const std::string& directory);

struct ConsolePeer {
  base::OwnedFd fd;
  uid_t user = 0;
  pid_t pid = 0;            // 0: it is in another pid namespace
  bool has_failed = false;  // the system has no descriptor or memory left
};

// The next console that waits; none: fd is -1. One that the rule of ptrace(2) would not let read
// this process is turned away.
ConsolePeer AcceptConsole(const ProbeSocket& socket);

// Writes a line to the system's log, if there is one (/dev/log): by `facility` auth, level notice.
void WriteAuditLine(std::string_view text);

}  // namespace lagwatch::sdk
