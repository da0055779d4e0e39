// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "tools/inject/remote_call.h"
#include "tools/inject/traced_thread.h"
#include "tools/run/preload.h"
#include "tools/trace/data/attach.h"

namespace lagwatch::tools {
namespace {

// A mapped file, and the address of its first byte.
struct MappedFile {
  uint64_t base;
  uint64_t inode;
  std::string path;
};

// The first mapping in process `pid` whose file is named `name`.
std::optional<MappedFile> FindMapping(const std::string& pid, std::string_view name) {
  std::ifstream maps("/proc/" + pid + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos || line.substr(line.rfind('/') + 1) != name) continue;
    uint64_t begin = 0;
    uint64_t offset = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %" SCNu64, &begin, &offset, &inode) ==
            3 &&
        offset == 0)
      return MappedFile{begin, inode, line.substr(slash)};
  }
  return std::nullopt;
}

base::Status InvalidTarget(std::string message) { return {base::StatusCode::kInvalid, std::move(message)}; }
base::Status CannotRecord(std::string message) {
  return {base::StatusCode::kUnavailable, std::move(message)};
}

// Returns the distance of dlopen and dlsym of process `pid` from our own: it must have the same file of
// the C library.
base::Result<uint64_t> LibraryDistance(const std::string& pid) {
  constexpr std::string_view kLibrary = "libc.so.6";
  const auto ours = FindMapping("self", kLibrary);
  const auto theirs = FindMapping(pid, kLibrary);
  if (!ours) return CannotRecord("this program has no C library to find functions in");
  if (!theirs) {
    return InvalidTarget("process " + pid + " has not loaded " + std::string(kLibrary) +
                         ": it is linked statically or against another C library, or access is denied");
  }
  if (ours->inode != theirs->inode) {
    return InvalidTarget("process " + pid + " has another C library than this program (" + theirs->path +
                         "): run lagwatch in the same container");
  }
  return theirs->base - ours->base;
}

base::Status RefusalOf(int error, const std::string& pid) {
  if (error == EBUSY) return CannotRecord("process " + pid + " is being recorded already");
  if (error == EAGAIN) return CannotRecord("process " + pid + " could not start a thread for it");
  return InvalidTarget("process " + pid + " has another process id in its container: run lagwatch there");
}

}  // namespace

base::Status AttachRecorder(pid_t pid, const sdk::PreloadConfig& config) {
  const auto environment = LAGWATCH_TRY(PreparePreload(config));
  const std::string library = environment.preload.substr(0, environment.preload.find(':'));
  const auto distance = LAGWATCH_TRY(LibraryDistance(std::to_string(pid)));

  // As far away in that process as here.
  auto remote = [&](const char* function) {
    return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, function)) + distance;
  };
  const ScopedSignalBlock block;
  auto caller = LAGWATCH_TRY(RemoteCaller::Stop(pid));
  if (base::Status status = caller->UseOwnStack(remote("mmap"), remote("munmap")); !status.ok())
    return status;
  const auto path = caller->Copy(library);
  const auto name = caller->Copy("lagwatch_trace_attach");
  const auto text = caller->Copy(environment.config);
  for (const auto* copied : {&path, &name, &text}) {
    if (!copied->ok()) return copied->status();
  }
  const auto handle = LAGWATCH_TRY(caller->Call(remote("dlopen"), {*path, RTLD_NOW}));
  if (handle == 0) return CannotRecord("process " + std::to_string(pid) + " cannot load " + library);
  const auto attach = LAGWATCH_TRY(caller->Call(remote("dlsym"), {handle, *name}));
  if (attach == 0)
    return CannotRecord(library + " is of another version than this program: install lagwatch again");
  const auto refused = LAGWATCH_TRY(caller->Call(attach, {*text}));
  const auto error = static_cast<int32_t>(refused);
  return error == 0 ? base::Status() : RefusalOf(error, std::to_string(pid));
}

}  // namespace lagwatch::tools
