// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/exec_environment.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "base/process/safe_memory.h"
#include "sdk/preload/environment/fresh_stack.h"
#include "sdk/preload/environment/program_file.h"

namespace lagwatch::sdk {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const FileId&) const = default;
  bool is_known() const { return inode != 0; }
};

// The system call itself: stat(3) has got another symbol version with each generation of the C library.
FileId IdOf(const char* path) {
  struct stat status {};
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0) return {};
  return {status.st_dev, status.st_ino};
}

struct Following {
  ChildrenFollowed children = ChildrenFollowed::kNone;
  bool is_traced = false;  // by `lagwatch trace record`: this process, whatever it becomes
  bool is_watched = false;
  pid_t image_pid = 0;
  const char* library = nullptr;
  size_t library_size = 0;
  const char* config = nullptr;  // the whole variable
  FileId library_id;
  FileId loader_id;
};
// Written before main(), then only read.
Following g_following;
std::atomic<bool> g_has_loop{false};
std::atomic<pid_t> g_loop_pid{0};
std::atomic<bool> g_has_handed_on{false};
std::atomic<bool> g_is_stopped{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free,
              "not signal-safe");

bool Names(const char* variable, std::string_view name_and_equals) {
  return std::strncmp(variable, name_and_equals.data(), name_and_equals.size()) == 0;
}

// The last one, as the loader takes it.
const char* PreloadIn(char* const* environment) {
  const char* found = nullptr;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (Names(*environment, kPreload)) found = *environment + kPreload.size();
  }
  return found;
}

bool IsOwnVariable(const char* variable) {
  constexpr size_t kNameSize = sizeof kPreloadConfigVariable - 1;
  return std::strncmp(variable, kPreloadConfigVariable, kNameSize) == 0 && variable[kNameSize] == '=';
}

// The dynamic loader that this process was started with.
FileId OwnLoader() {
  const auto* segment = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const unsigned long count = getauxval(AT_PHNUM);
  uintptr_t base = 0;
  for (unsigned long i = 0; segment != nullptr && i < count; ++i) {
    if (segment[i].p_type == PT_PHDR) base = reinterpret_cast<uintptr_t>(segment) - segment[i].p_vaddr;
  }
  for (unsigned long i = 0; segment != nullptr && i < count; ++i) {
    if (segment[i].p_type == PT_INTERP) return IdOf(reinterpret_cast<const char*>(base + segment[i].p_vaddr));
  }
  return {};
}

bool IsRunnable(const char* path) {
  struct stat status {};
  return syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
         syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

// The file that execvp(3) runs. Not by getenv(), which some programs define themselves.
bool FindInPath(const char* file, char (&found)[PATH_MAX]) {
  constexpr std::string_view kPathName = "PATH=";
  std::string_view directories = "/bin:/usr/bin";
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (Names(*variable, kPathName)) {
      directories = *variable + kPathName.size();
      break;
    }
  }
  const std::string_view name(file);
  while (true) {
    const std::string_view directory = directories.substr(0, directories.find(':'));
    if (directory.size() + name.size() + 2 <= sizeof found) {
      char* end = found + directory.copy(found, directory.size());
      if (!directory.empty()) *end++ = '/';
      end[name.copy(end, name.size())] = '\0';
      if (IsRunnable(found)) return true;
    }
    if (directory.size() == directories.size()) return false;
    directories.remove_prefix(directory.size() + 1);
  }
}

// With another loader, another C library comes, which may lack what this library needs; in another root
// directory there may be no such library. The loader would say so on the program's stderr.
bool CanLoadLibrary(const ExecTarget& target) {
  const Following& own = g_following;
  char found[PATH_MAX];
  const char* path = target.path;
  if (target.is_searched && std::strchr(path, '/') == nullptr) {
    if (!FindInPath(path, found)) return false;
    path = found;
  }
  int directory_fd = target.directory_fd;
  ProgramFile program;
  for (int left = kMaxScriptInterpreters; left >= 0; --left) {
    const ProgramFile next = ReadProgramFile(directory_fd, path);
    directory_fd = AT_FDCWD;
    program = next;
    path = program.interpreter;
    const bool is_for_shell = program.kind == ProgramKind::kUnknown && target.is_searched;
    if (is_for_shell) path = "/bin/sh";
    if (!is_for_shell && program.kind != ProgramKind::kScript) break;
  }
  return program.kind == ProgramKind::kDynamic && IdOf(program.interpreter) == own.loader_id &&
         IdOf(own.library) == own.library_id;
}

bool IsWanted(const ExecTarget& target) {
  const Following& own = g_following;
  if (own.library == nullptr || target.path == nullptr || g_is_stopped.load()) return false;
  const bool is_same = !target.is_child && IsFollowedProcess();
  if (own.is_traced && is_same) return true;
  if (!own.is_watched) return false;
  switch (own.children) {
    case ChildrenFollowed::kNone:
      return false;
    case ChildrenFollowed::kExec:
      return is_same || !RunsLoop();
    case ChildrenFollowed::kAll:
      break;
  }
  return true;
}

}  // namespace

void SetUpFollowing(const PreloadConfig& config, const std::string& library) {
  PreloadConfig next = config;
  next.script.clear();
  // A script run by env(1): the program that env becomes is known by the script's name.
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started != nullptr) {
    constexpr std::string_view kEnv = "env";
    char self[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self);
    auto name_of = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
    const bool is_env = size > 0 && name_of({self, static_cast<size_t>(size)}) == kEnv;
    const std::string_view name = name_of(started);
    if (is_env && name != kEnv && name.find('\n') == std::string_view::npos) next.script = name;
  }
  Following& own = g_following;
  const auto* variable =
      new std::string(std::string(kPreloadConfigVariable) + "=" + next.ToText());  // leaked: for good
  const auto* kept_library = new std::string(library);
  own.children = config.children_followed();
  own.image_pid = getpid();
  own.is_watched = config.is_watched != 0;
  own.is_traced = !config.trace_arena.empty() && config.trace_pid == static_cast<uint32_t>(getpid());
  own.config = variable->c_str();
  own.library_size = kept_library->size();
  own.library_id = IdOf(kept_library->c_str());
  own.loader_id = OwnLoader();
  if (own.library_id.is_known() && own.loader_id.is_known()) own.library = kept_library->c_str();
}

void NoteProcessWatched() { g_loop_pid.store(getpid()); }

void NoteLoopRuns() {
  // Relaxed: goes with nothing else. Stored once, because all threads share the word.
  if (!g_has_loop.load(std::memory_order_relaxed)) g_has_loop.store(true, std::memory_order_relaxed);
}

bool RunsLoop() { return g_has_loop.load(); }

void StopFollowing() { g_is_stopped.store(true); }
void ResumeFollowing() { g_is_stopped.store(false); }

bool IsFollowedProcess() {
  const pid_t pid = getpid();
  return pid == g_following.image_pid || pid == g_loop_pid.load();
}

bool HasHandedOn() { return g_has_handed_on.load(); }

EnvironmentPlan PlanEnvironment(const ExecTarget& target, char* const* environment) {
  if (!IsWanted(target)) return {};
  if (!base::IsReadable(reinterpret_cast<uint64_t>(target.path)) || !IsReadableArray(environment)) return {};
  EnvironmentPlan plan{.pointer_count = 3, .text_bytes = 0};  // both variables and the end
  for (char* const* variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
    if (IsOwnVariable(*variable)) return {};  // the program is `lagwatch run`, or configured by one
    ++plan.pointer_count;
  }
  const Following& own = g_following;
  const char* preload = PreloadIn(environment);
  const size_t preload_size = preload == nullptr ? 0 : std::strlen(preload);
  plan.text_bytes = kPreload.size() + own.library_size + 1 + preload_size + 1;
  if (plan.pointer_count * sizeof(char*) + plan.text_bytes > kMaxEnvironmentBytes) return {};
  // The files' heads and paths take more stack than a signal handler may have.
  struct Check {
    const ExecTarget* target;
    bool can_load;
  } check{&target, false};
  auto run = [](void* context) {
    auto* self = static_cast<Check*>(context);
    self->can_load = CanLoadLibrary(*self->target);
  };
  if (!RunOnFreshStack(run, &check) || !check.can_load) return {};
  g_has_handed_on.store(true);
  return plan;
}

void FillEnvironment(const EnvironmentPlan& plan, char* const* environment, char** pointers, char* text) {
  const Following& own = g_following;
  const char* preload = PreloadIn(environment);
  auto put = [&text](std::string_view part) { text += part.copy(text, part.size()); };
  char* const own_preload = text;
  put(kPreload);
  put({own.library, own.library_size});
  if (preload != nullptr && *preload != '\0') {
    put(":");
    put(preload);
  }
  put(std::string_view("\0", 1));
  char** const last = pointers + plan.pointer_count - 3;
  for (; environment != nullptr && *environment != nullptr && pointers < last; ++environment)
    *pointers++ = *environment;
  *pointers++ = own_preload;
  *pointers++ = const_cast<char*>(own.config);  // exec only reads it
  *pointers = nullptr;
}

}  // namespace lagwatch::sdk
