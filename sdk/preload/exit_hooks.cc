// SPDX-License-Identifier: Apache-2.0
// Marks the run's record when the program ends without exit(), so that an end in a hang is not taken
// for a kill.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "sdk/preload/thread_waits.h"
#include "sdk/run/run_writer.h"

#define LAGWATCH_HOOK __attribute__((visibility("default")))

namespace {

using Exit = void (*)(int);
using Daemon = int (*)(int, int);

// Looked up before main(): _exit() is called in signal handlers and in children of vfork(), where dlsym(3)
// must not be.
std::atomic<Exit> g_next_exit{nullptr};
std::atomic<Exit> g_next_exit_c{nullptr};
std::atomic<Daemon> g_next_daemon{nullptr};

template <typename Function>
void Find(const char* name, std::atomic<Function>* next) {
  next->store(reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)), std::memory_order_relaxed);
}

__attribute__((constructor)) void FindNextFunctions() {
  Find("_exit", &g_next_exit);
  Find("_Exit", &g_next_exit_c);
  Find("daemon", &g_next_daemon);
}

// A child of vfork() shares this memory but not the record: NoteRunEnded() compares the process id.
[[noreturn]] void End(Exit next, int status) {
  // Back to false: a child of vfork() sets its parent's.
  if (!std::exchange(lagwatch::sdk::t_waits.is_in_confined_child, false)) lagwatch::sdk::NoteRunEnded();
  if (next != nullptr) next(status);
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace

extern "C" {

LAGWATCH_HOOK [[noreturn]] void _exit(int status) {
  End(g_next_exit.load(std::memory_order_relaxed), status);  // set once, before main()
}

LAGWATCH_HOOK [[noreturn]] void _Exit(int status) {
  End(g_next_exit_c.load(std::memory_order_relaxed), status);  // likewise
}

// The C library's daemon() ends the parent by a call of its own that no hook sees.
LAGWATCH_HOOK int daemon(int keep_directory, int keep_files) {
  Daemon next = g_next_daemon.load(std::memory_order_relaxed);  // set once, before main()
  if (next == nullptr) {                                        // a C library without it
    errno = ENOSYS;
    return -1;
  }
  lagwatch::sdk::NoteRunEnded();
  const int result = next(keep_directory, keep_files);
  lagwatch::sdk::NoteRunGoesOn();  // the parent returns only if it could not fork; the child has no record
  return result;
}

}  // extern "C"
