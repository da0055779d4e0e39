// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/system/seccomp.h"
#include "tools/containers.h"
#include "tools/inject/address_space.h"
#include "tools/inject/helper_thread.h"
#include "tools/inject/loaded_libraries.h"
#include "tools/process_files.h"
#include "tools/run/preload.h"
#include "tools/run/preload_attach.h"

namespace lagwatch::tools {
namespace {

constexpr std::string_view kLibc = "libc.so.6";
constexpr std::string_view kLoader = "ld-linux";
constexpr std::string_view kPreloadLibrary = "liblagwatch-preload.so";
constexpr size_t kAnswerBytes = 512;

base::Status RefuseTarget(pid_t pid, const std::string& why) {
  const std::string number = std::to_string(pid);
  return {base::StatusCode::kInvalid, "process " + number + " (" + CommandOf(pid) + ") " + why +
                                          "; `lagwatch watch " + number + "` watches it from outside"};
}

// The text of the entry point's answer.
base::Result<std::string> Answer(const HelperThread& helper, uint64_t address, pid_t pid) {
  const auto text = LAGWATCH_TRY(helper.Read(address, kAnswerBytes));
  if (text.starts_with("+")) return text.substr(1);
  return RefuseTarget(pid, text.empty() ? "gave no answer" : "cannot be attached: " + text.substr(1));
}

base::Result<uint64_t> EntryPoint(pid_t pid, std::string_view name) {
  const auto library = LoadedLibrary::Find(pid, kPreloadLibrary, FindPreloadLibrary());
  if (!library.ok()) return library.status();
  const uint64_t address = library->AddressOf(name);
  if (address == 0)
    return base::Status(base::StatusCode::kUnavailable,
                        library->path() + " in the process is of another version: restart the program");
  return address;
}

// Waits until no other command has the process. By a folder that only its user and root may open, so that
// others cannot lock it.
base::Result<base::OwnedFd> LockProcess(pid_t pid) {
  constexpr int64_t kPatienceNs = 30 * base::kNsPerSecond;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20 * base::kNsPerMs};
  base::OwnedFd lock(open((ProcessFolder(pid) / "fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string number = std::to_string(pid);
  if (!lock && errno == ENOENT)
    return base::Status(base::StatusCode::kNotFound, "process " + number + " has ended");
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kPatienceNs;
  while (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (!lock || (errno != EWOULDBLOCK && errno != EINTR))
      return base::IoError("cannot lock process " + number, errno);
    if (base::SystemClock().MonoNs() > deadline_ns)
      return RefuseTarget(pid, "is still taken by another command of lagwatch's");
    nanosleep(&kPause, nullptr);
  }
  return lock;
}

base::Result<std::unique_ptr<HelperThread>> StartHelper(const AddressSpace& space,
                                                        const LoadedLibrary& libc) {
  auto helper = HelperThread::Start(space, libc);
  if (helper.ok() || helper.status().code() != base::StatusCode::kUnavailable) return helper;
  return RefuseTarget(space.pid(), "cannot be attached: " + helper.status().message());
}

// A program that has just been started may not have loaded it yet.
base::Result<LoadedLibrary> FindLibc(pid_t pid) {
  constexpr int64_t kLoadNs = base::kNsPerSecond;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2 * base::kNsPerMs};
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kLoadNs;
  while (true) {
    auto libc = LoadedLibrary::Find(pid, kLibc);
    if (libc.ok() || libc.status().code() != base::StatusCode::kNotFound || !HasLoaded(pid, kLoader) ||
        base::SystemClock().MonoNs() > deadline_ns)
      return libc;
    nanosleep(&kPause, nullptr);
  }
}

// A descriptor's file is one in memory. A process may give another file the same name, which it cannot write
// to itself, but no other file is in the kernel's own file system, without a name there.
bool IsMemoryFile(const struct stat& file) {
  struct stat own {};
  const base::OwnedFd memory(memfd_create("lagwatch", MFD_CLOEXEC));
  return memory && fstat(memory.get(), &own) == 0 && file.st_dev == own.st_dev && file.st_nlink == 0 &&
         S_ISREG(file.st_mode);
}

// The number of the process's descriptor of a file in memory; -1 if it has none of that name.
int FindMemoryFile(pid_t pid, const std::string& name) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ProcessFolder(pid) / "fd", error)) {
    std::error_code ended;
    const std::string file = std::filesystem::read_symlink(entry.path(), ended);
    struct stat status {};
    if (file.starts_with("/memfd:" + name) && stat(entry.path().c_str(), &status) == 0 &&
        IsMemoryFile(status))
      return std::atoi(entry.path().filename().c_str());
  }
  return -1;
}

base::Status CloseIn(HelperThread* helper, const LoadedLibrary& libc, int descriptor) {
  return helper->Call(libc.AddressOf("close"), {static_cast<uint64_t>(descriptor)});
}

// Has a process that does not see the library's file make one in its own memory, and fills it. Returns its
// descriptor there.
base::Result<int> CopyIntoMemory(HelperThread* helper, pid_t pid, const LoadedLibrary& libc,
                                 const std::string& library) {
  constexpr uint64_t kExecutable = 0x10;  // MFD_EXEC, which kernels before 6.3 refuse
  const std::string name = "lagwatch/" + std::string(kPreloadLibrary);
  const auto address = LAGWATCH_TRY(helper->Copy(name));
  int descriptor = FindMemoryFile(pid, name);  // of a command that was killed
  for (const uint64_t flags : {MFD_CLOEXEC | kExecutable, uint64_t{MFD_CLOEXEC}}) {
    if (descriptor >= 0) break;
    if (base::Status status = helper->Call(libc.AddressOf("memfd_create"), {address, flags}); !status.ok())
      return status;
    descriptor = FindMemoryFile(pid, name);
  }
  if (descriptor < 0)
    return RefuseTarget(pid, "does not see " + library + ", and can make no file in memory");
  // The open file is checked once more: the process may have put another one there.
  const base::OwnedFd to(open((ProcessFolder(pid) / "fd" / std::to_string(descriptor)).c_str(),
                              O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  const base::OwnedFd from(open(library.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  const bool is_it = to && fstat(to.get(), &status) == 0 && IsMemoryFile(status);
  std::signal(SIGXFSZ, SIG_IGN);  // of a limit on the size of files: the copy is refused
  ssize_t copied = is_it && ftruncate(to.get(), 0) == 0 ? 1 : -1;
  while (copied > 0) copied = sendfile(to.get(), from.get(), nullptr, size_t{1} << 20);
  if (is_it && copied == 0) return descriptor;
  if (is_it) static_cast<void>(CloseIn(helper, libc, descriptor));
  return RefuseTarget(pid, "does not see " + library + ", which cannot be copied into it");
}

// Has the process load the library from its file, or from memory.
base::Status Load(HelperThread* helper, pid_t pid, const LoadedLibrary& libc, const std::string& library) {
  const bool is_seen = SeesSameFile(pid, library);
  const int descriptor = is_seen ? -1 : LAGWATCH_TRY(CopyIntoMemory(helper, pid, libc, library));
  // By this path no one else opens the file that has the number then.
  const std::string path = is_seen ? library : "/proc/self/fd/../fd/" + std::to_string(descriptor);
  const auto address = LAGWATCH_TRY(helper->Copy(path));
  base::Status status = helper->Call(libc.AddressOf("dlopen"), {address, RTLD_NOW});
  if (descriptor >= 0 && status.ok()) status = CloseIn(helper, libc, descriptor);
  if (status.ok() && !HasLoaded(pid, kPreloadLibrary)) return RefuseTarget(pid, "cannot load " + library);
  return status;
}

base::Status CheckCanInject(pid_t pid) {
  const std::string number = std::to_string(pid);
  const std::string state = StatusField(pid, "State");
  if (state.starts_with("T"))
    return RefuseTarget(pid, "is stopped: continue it first (kill -CONT " + number + ")");
  if (state.starts_with("Z") || state.starts_with("X"))
    return {base::StatusCode::kNotFound, "process " + number + " has ended"};
  const std::string tracer = StatusField(pid, "TracerPid");
  if (state.starts_with("t") || (!tracer.empty() && tracer != "0"))
    return RefuseTarget(pid, "is being debugged by process " + tracer + ": end that first");
  if (base::Status status = CheckWordSize(pid); !status.ok())
    return {status.code(),
            "process " + number + " (" + CommandOf(pid) + ") cannot be attached: " + status.message()};
  // As many filters as this program has are those of its container.
  const base::SeccompState seccomp = base::ReadSeccompOf((ProcessFolder(pid) / "status").c_str());
  if (seccomp.filters != 0 && seccomp != base::ReadSeccomp())
    return RefuseTarget(pid, "is confined by seccomp, which may not allow lagwatch's system calls");
  if (StatusField(pid, "x86_Thread_features").find("shstk") != std::string::npos)
    return RefuseTarget(pid, "has shadow stacks, which allow no calls but its own");
  if (HasThreadSanitizer(pid))
    return RefuseTarget(pid,
                        "has the runtime of ThreadSanitizer, which ends it at a thread that the program did "
                        "not start; `lagwatch run` watches it from its start");
  const auto libc = FindLibc(pid);
  if (!libc.ok() && libc.status().code() == base::StatusCode::kNotFound) {
    return RefuseTarget(pid,
                        "has no glibc of 2.34 or later to load with: it is linked statically, or uses "
                        "another C library (musl)");
  }
  if (!libc.ok()) return RefuseTarget(pid, libc.status().message());
  return {};
}

// Locks the process: another command's stop is not to be taken for a debugger's.
base::Result<base::OwnedFd> LockTarget(pid_t pid) {
  if (base::Status status = CheckMayLookInto(pid); !status.ok()) return status;
  return LockProcess(pid);
}

// Acts on the process's program, if the library can be loaded into it; once more if that is replaced by
// another one meanwhile (exec).
template <typename Act>
base::Result<Attached> ActOnProgram(pid_t pid, const Act& act) {
  const auto lock = LAGWATCH_TRY(LockTarget(pid));
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    const auto space = LAGWATCH_TRY(AddressSpace::Open(pid));
    if (base::Status status = CheckCanInject(pid); !status.ok()) return status;
    auto attached = act(space);
    if (space.IsCurrent()) return attached;
  }
  return RefuseTarget(pid, "starts one program after the other");
}

// Has the process call this function of the library.
base::Result<Attached> CallEntry(HelperThread* helper, pid_t pid, uint64_t entry,
                                 const std::optional<std::string>& config = std::nullopt) {
  const auto answer = LAGWATCH_TRY(helper->Copy(std::string(kAnswerBytes, '\0')));
  std::vector<uint64_t> arguments{answer, kAnswerBytes};
  if (config) arguments.insert(arguments.begin(), LAGWATCH_TRY(helper->Copy(*config)));
  if (base::Status status = helper->Call(entry, arguments); !status.ok()) return status;
  auto text = LAGWATCH_TRY(Answer(*helper, answer, pid));
  return Attached{.stop_ns = helper->stop_ns(), .text = std::move(text)};
}

// Has the process load the library, if it has not done so, and call this function of it.
base::Result<Attached> CallWithConfig(pid_t pid, const sdk::PreloadConfig& config,
                                      std::string_view function) {
  const auto environment = LAGWATCH_TRY(PreparePreload(config));
  const std::string library = environment.preload.substr(0, environment.preload.find(':'));
  return ActOnProgram(pid, [&](const AddressSpace& space) -> base::Result<Attached> {
    const auto libc = LAGWATCH_TRY(FindLibc(pid));
    auto helper = LAGWATCH_TRY(StartHelper(space, libc));
    if (!HasLoaded(pid, kPreloadLibrary)) {
      if (base::Status status = Load(helper.get(), pid, libc, library); !status.ok()) return status;
    }
    const auto entry = LAGWATCH_TRY(EntryPoint(pid, function));
    return CallEntry(helper.get(), pid, entry, environment.config);
  });
}

}  // namespace

// Its runtime is a library (gcc), or a part of the program that it exports (clang).
bool HasThreadSanitizer(pid_t pid) {
  if (HasLoaded(pid, "libtsan.so") || HasLoaded(pid, "libclang_rt.tsan")) return true;
  std::error_code error;
  const auto program = std::filesystem::read_symlink(ProcessFolder(pid) / "exe", error);
  if (error) return false;
  const auto exports = LoadedLibrary::Find(pid, program.filename().string());
  return exports.ok() && exports->AddressOf("__tsan_init") != 0;
}

base::Status CheckCanAttach(pid_t pid) {
  const auto lock = LockTarget(pid);
  return lock.ok() ? CheckCanInject(pid) : lock.status();
}

base::Result<Attached> AttachPreload(pid_t pid, const sdk::PreloadConfig& config) {
  return CallWithConfig(pid, config, "lagwatch_attach");
}

base::Status AttachRecorder(pid_t pid, const sdk::PreloadConfig& config) {
  const auto recorded = CallWithConfig(pid, config, "lagwatch_record");
  return recorded.ok() ? base::Status() : recorded.status();
}

base::Result<std::string> OpenProbes(pid_t pid, const sdk::PreloadConfig& config) {
  const auto opened = LAGWATCH_TRY(CallWithConfig(pid, config, "lagwatch_probe"));
  return opened.text;
}

base::Result<Attached> DetachPreload(pid_t pid) {
  return ActOnProgram(pid, [pid](const AddressSpace& space) -> base::Result<Attached> {
    const auto libc = LAGWATCH_TRY(FindLibc(pid));
    const auto detach = EntryPoint(pid, "lagwatch_detach");
    if (!detach.ok())
      return base::Status(base::StatusCode::kNotFound, "process " + std::to_string(pid) +
                                                           " is not attached: " + detach.status().message());
    auto helper = LAGWATCH_TRY(StartHelper(space, libc));
    return CallEntry(helper.get(), pid, *detach);
  });
}

}  // namespace lagwatch::tools
