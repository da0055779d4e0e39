// SPDX-License-Identifier: Apache-2.0
// Writes entries to systemd's journal, in its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL). Context:
// background. Not thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"

namespace lagwatch::tools {

using JournalFields = std::vector<std::pair<std::string, std::string>>;

class Journal {
 public:
  // Errors: kUnavailable if no journal listens on this machine.
  static base::Result<Journal> Open();

  // Adds one entry; fields without a value are left out. Waits for a few seconds while the journal is busy,
  // and connects again to one that was started again. Errors: kUnavailable if it does not take the entry.
  base::Status Write(const JournalFields& fields);

 private:
  explicit Journal(base::OwnedFd socket) : socket_(std::move(socket)) {}

  // 0, or errno.
  int Send(const std::string& entry);

  base::OwnedFd socket_;
};

// The bytes of an entry: a line for each field, or, of values with more lines, their size and their bytes.
std::string EncodeJournalEntry(const JournalFields& fields);

}  // namespace lagwatch::tools
