// SPDX-License-Identifier: Apache-2.0
#include <sys/auxv.h>
#include <unistd.h>

#include <climits>
#include <string_view>

#include "base/process/own_command.h"

namespace lagwatch::base {
namespace {

constexpr std::string_view kLibraries = "/libraries";
#if defined(__aarch64__)
constexpr std::string_view kLoader = "/ld-linux-aarch64.so.1";
#else
constexpr std::string_view kLoader = "/ld-linux-x86-64.so.2";
#endif

std::string FolderOf(const std::string& file) { return file.substr(0, file.rfind('/')); }

}  // namespace

std::string OwnProgram() {
  char path[PATH_MAX];
  const ssize_t size = readlink(kSelf, path, sizeof path);
  const std::string file(path, static_cast<size_t>(size < 0 ? 0 : size));
  // A loader that runs as a program puts the path that it was given here.
  const auto* loaded = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const bool is_loader = file.ends_with(std::string(kLibraries).append(kLoader));
  return is_loader && loaded != nullptr ? loaded : file;
}

OwnCommand CommandOf(const std::string& program, const std::string& name) {
  const std::string file = program == kSelf ? OwnProgram() : program;
  const std::string libraries = FolderOf(file).append(kLibraries);
  const std::string loader = libraries + std::string(kLoader);
  if (access(loader.c_str(), X_OK) != 0) return {program, {name}};
  // The cache is that of the system's own loader, and names the system's libraries.
  return {loader, {name, "--inhibit-cache", "--library-path", libraries, "--argv0", name, file}};
}

}  // namespace lagwatch::base
