// SPDX-License-Identifier: Apache-2.0
// The functions by which a process starts another program, put in front of the C library's own, so that
// programs are followed as exec_environment.h decides.
#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <utility>

#include "base/process/mapped_memory.h"
#include "base/system/seccomp.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/next_function.h"
#include "sdk/preload/syscall_forwards.h"
#include "sdk/preload/watch/process_watch.h"
#include "sdk/preload/watch/thread_state.h"
#include "sdk/run/run_writer.h"

namespace lagwatch::sdk {
namespace {

using Argv = char* const*;
constinit NextFunction<int(const char*, Argv, Argv)> g_execve("execve");
constinit NextFunction<int(const char*, Argv, Argv)> g_execvpe("execvpe");
constinit NextFunction<int(int, Argv, Argv)> g_fexecve("fexecve");
constinit NextFunction<int(int, const char*, Argv, Argv, int)> g_execveat("execveat", FunctionAge::kRecent);
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, Argv,
                  Argv);
constinit NextFunction<Spawn> g_spawn("posix_spawn");
constinit NextFunction<Spawn> g_spawnp("posix_spawnp");

// Before main(): in a child of vfork() or fork() it would be too late, because the loader's lock may be held
// there.
[[gnu::constructor]] void FindExecFunctions() {
  FindAll(g_execve, g_execvpe, g_fexecve, g_execveat, g_spawn, g_spawnp);
}

// Around an exec on the calling thread of the process itself: the dispatch ends, so that no capture
// signal is sent that the next program would get, and the run's record says that the run ended well. When
// exec fails, both go on. Does nothing in a child that shares this process's memory. Context: any, a
// vfork() child included.
class ScopedExec {
 public:
  // Does nothing for a program that is started as a child.
  explicit ScopedExec(bool is_child) : is_own_(!is_child && IsFollowedProcess()) {
    if (!is_own_) return;
    NoteRunEnded();
    has_dispatch_ = t_waits.loop != nullptr && t_waits.loop->probe.number_under_way() != 0;
    if (has_dispatch_) t_waits.loop->probe.End();
    ReportBeforeExec();
  }
  ~ScopedExec() {
    if (!is_own_) return;
    const int error = errno;
    NoteRunGoesOn();
    if (has_dispatch_) t_waits.loop->probe.Begin("exec");
    errno = error;
  }
  ScopedExec(const ScopedExec&) = delete;
  ScopedExec& operator=(const ScopedExec&) = delete;

 private:
  bool is_own_;
  bool has_dispatch_ = false;
};

// Calls `start` with the environment that the target is to have.
template <typename Start>
[[gnu::noinline]] int Follow(const ExecTarget& target, Argv environment, Start start) {
  if (base::IsConfined()) return start(environment);
  // A child of vfork() that has confined itself shares this with its parent, which is not confined.
  if (std::exchange(t_waits.is_in_confined_child, false)) {
    const int result = start(environment);
    t_waits.is_in_confined_child = true;
    return result;
  }
  const int error = errno;
  const EnvironmentPlan plan = PlanEnvironment(target, environment);
  const ScopedExec exec(target.is_child);
  if (plan.is_followed()) {
    // The caller's stack may be small. A child of vfork() would leave a mapping to its parent.
    const size_t pointer_bytes = plan.pointer_count * sizeof(char*);
    base::MappedBlock<char> mapped;
    if (OwnsMemory()) mapped = base::MapBlock<char>(pointer_bytes + plan.text_bytes);
    char* memory = mapped.get();
    if (memory == nullptr) memory = static_cast<char*>(alloca(pointer_bytes + plan.text_bytes));
    auto** pointers = reinterpret_cast<char**>(memory);
    FillEnvironment(plan, environment, pointers, memory + pointer_bytes);
    errno = error;
    const int result = start(pointers);
    // The kernel limits the size of an environment: without our variables there may be room for it.
    const bool is_too_big = result == E2BIG || (result == -1 && errno == E2BIG);
    if (!is_too_big) return result;
  }
  errno = error;
  return start(environment);
}

int Execve(const char* path, Argv arguments, Argv environment) {
  const ExecTarget target{AT_FDCWD, path, /*is_searched=*/false, /*is_child=*/false};
  return Follow(target, environment, [&](Argv next) { return g_execve(path, arguments, next); });
}

int Execvpe(const char* file, Argv arguments, Argv environment) {
  const ExecTarget target{AT_FDCWD, file, /*is_searched=*/true, /*is_child=*/false};
  return Follow(target, environment, [&](Argv next) { return g_execvpe(file, arguments, next); });
}

// The arguments of execl and similar calls, as an array; the argument after them, for execle.
size_t CountArguments(const char* first, va_list list) {
  size_t count = 0;
  for (const char* argument = first; argument != nullptr; argument = va_arg(list, const char*)) ++count;
  return count;
}

char* const* TakeArguments(const char* first, va_list list, char** array) {
  *array = const_cast<char*>(first);
  while (*array != nullptr) *++array = va_arg(list, char*);
  return array;
}

int Execveat(int directory_fd, const char* path, Argv arguments, Argv environment, int flags) {
  const ExecTarget target{directory_fd, path, /*is_searched=*/false, /*is_child=*/false};
  return Follow(target, environment, [&](Argv next) {
    auto* function = g_execveat.get();  // none before glibc 2.34
    if (function != nullptr) return function(directory_fd, path, arguments, next, flags);
    return static_cast<int>(syscall(SYS_execveat, directory_fd, path, arguments, next, flags));
  });
}

}  // namespace

int ExecBySyscall(long number, long a, long b, long c, long d, long e) {
  if (number == SYS_execve)
    return Execve(reinterpret_cast<const char*>(a), reinterpret_cast<Argv>(b), reinterpret_cast<Argv>(c));
  return Execveat(static_cast<int>(a), reinterpret_cast<const char*>(b), reinterpret_cast<Argv>(c),
                  reinterpret_cast<Argv>(d), static_cast<int>(e));
}

}  // namespace lagwatch::sdk

using lagwatch::sdk::Argv;
using lagwatch::sdk::ExecTarget;
using lagwatch::sdk::Follow;

#define LAGWATCH_EXEC __attribute__((visibility("default")))
// The array must be in the frame of the function that calls exec: a macro, because alloca needs that.
#define LAGWATCH_TAKE_ARGUMENTS(first)                                         \
  va_list list;                                                                \
  va_start(list, first);                                                       \
  const size_t count = lagwatch::sdk::CountArguments(first, list);             \
  va_end(list);                                                                \
  auto** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                       \
  lagwatch::sdk::TakeArguments(first, list, arguments)

extern "C" {

LAGWATCH_EXEC int execve(const char* path, Argv arguments, Argv environment) noexcept {
  return lagwatch::sdk::Execve(path, arguments, environment);
}

LAGWATCH_EXEC int execv(const char* path, Argv arguments) noexcept {
  return lagwatch::sdk::Execve(path, arguments, environ);
}

LAGWATCH_EXEC int execvp(const char* file, Argv arguments) noexcept {
  return lagwatch::sdk::Execvpe(file, arguments, environ);
}

LAGWATCH_EXEC int execvpe(const char* file, Argv arguments, Argv environment) noexcept {
  return lagwatch::sdk::Execvpe(file, arguments, environment);
}

LAGWATCH_EXEC int execl(const char* path, const char* first, ...) noexcept {
  LAGWATCH_TAKE_ARGUMENTS(first);
  va_end(list);
  return lagwatch::sdk::Execve(path, arguments, environ);
}

LAGWATCH_EXEC int execlp(const char* file, const char* first, ...) noexcept {
  LAGWATCH_TAKE_ARGUMENTS(first);
  va_end(list);
  return lagwatch::sdk::Execvpe(file, arguments, environ);
}

LAGWATCH_EXEC int execle(const char* path, const char* first, ...) noexcept {
  LAGWATCH_TAKE_ARGUMENTS(first);
  Argv environment = va_arg(list, Argv);
  va_end(list);
  return lagwatch::sdk::Execve(path, arguments, environment);
}

LAGWATCH_EXEC int fexecve(int fd, Argv arguments, Argv environment) noexcept {
  const ExecTarget target{fd, "", /*is_searched=*/false, /*is_child=*/false};
  return Follow(target, environment,
                [&](Argv next) { return lagwatch::sdk::g_fexecve(fd, arguments, next); });
}

LAGWATCH_EXEC int execveat(int directory_fd, const char* path, Argv arguments, Argv environment,
                           int flags) noexcept {
  return lagwatch::sdk::Execveat(directory_fd, path, arguments, environment, flags);
}

LAGWATCH_EXEC int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, Argv arguments, Argv environment) {
  const ExecTarget target{AT_FDCWD, path, /*is_searched=*/false, /*is_child=*/true};
  return Follow(target, environment, [&](Argv next) {
    auto* function = lagwatch::sdk::g_spawn.get();
    return function == nullptr ? ENOSYS : function(pid, path, actions, attributes, arguments, next);
  });
}

LAGWATCH_EXEC int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, Argv arguments, Argv environment) {
  const ExecTarget target{AT_FDCWD, file, /*is_searched=*/true, /*is_child=*/true};
  return Follow(target, environment, [&](Argv next) {
    auto* function = lagwatch::sdk::g_spawnp.get();
    return function == nullptr ? ENOSYS : function(pid, file, actions, attributes, arguments, next);
  });
}

}  // extern "C"
