// SPDX-License-Identifier: Apache-2.0
// Marks the run's record when the program ends without exit(), so that an end in a hang is not taken
// for a kill.
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "sdk/preload/next_function.h"
#include "sdk/preload/raw_syscall.h"
#include "sdk/preload/watch/thread_state.h"
#include "sdk/run/run_writer.h"

#define LAGWATCH_HOOK __attribute__((visibility("default")))

namespace {

using lagwatch::sdk::NextFunction;

// Looked up before main(): _exit() is called in signal handlers and in children of vfork(), where dlsym(3)
// must not be.
constinit NextFunction<void(int)> g_next_exit("_exit");
constinit NextFunction<void(int)> g_next_exit_c("_Exit");
constinit NextFunction<int(int, int)> g_next_daemon("daemon");

__attribute__((constructor)) void FindNextFunctions() {
  lagwatch::sdk::FindAll(g_next_exit, g_next_exit_c, g_next_daemon);
}

// A child of vfork() shares this memory but not the record: NoteRunEnded() compares the process id.
[[noreturn]] void End(void (*next)(int), int status) {
  // Back to false: a child of vfork() sets its parent's.
  if (!std::exchange(lagwatch::sdk::t_waits.is_in_confined_child, false)) lagwatch::sdk::NoteRunEnded();
  if (next != nullptr) next(status);
  for (;;) lagwatch::sdk::RawSyscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

}  // namespace

extern "C" {

LAGWATCH_HOOK void _exit(int status) { End(g_next_exit.get(), status); }

LAGWATCH_HOOK void _Exit(int status) { End(g_next_exit_c.get(), status); }

// The C library's daemon() ends the parent by a call of its own that no hook sees.
LAGWATCH_HOOK int daemon(int keep_directory, int keep_files) {
  lagwatch::sdk::NoteRunEnded();
  const int result = g_next_daemon(keep_directory, keep_files);
  lagwatch::sdk::NoteRunGoesOn();  // the parent returns only if it could not fork; the child has no record
  return result;
}

}  // extern "C"
