// SPDX-License-Identifier: Apache-2.0
// Names what a thread waits for outside of its process: the child, the holder of a file's lock, the process
// at the other end of a pipe or a unix socket, the name server. Only the kernel is asked, by /proc and
// sock_diag(7), and no descriptor of the program is touched. Context: watchdog.
#pragma once

#include <cstdint>

#include "policies/verdict.h"
#include "stack/threads/thread_state.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

struct Awaited {
  policies::VerdictWord word = policies::VerdictWord::kUnknown;
  int32_t pid = 0;             // 0: not known
  uint32_t process_count = 0;  // of several that would do, of which `pid` is the first
  char process_name[16] = {};  // may be empty
  // The server's address or the socket's path; of a lock its kind. May be empty.
  char address[112] = {};

  bool is_named() const { return pid != 0 || address[0] != '\0'; }
};

// Looks at processes for some 20 ms at most: for a report only. An unknown word where `thread` waits for
// nothing of that kind.
Awaited FindAwaited(const base::Thread& thread, const stack::ThreadFiles* files);

// The facts borrow the texts of `awaited`. None where nothing is named.
void AddAwaitedFacts(const Awaited& awaited, FactList* facts);

}  // namespace lagwatch::watchdog
