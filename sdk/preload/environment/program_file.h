// SPDX-License-Identifier: Apache-2.0
// Reads what the kernel would run for a program file, to decide whether a library can be preloaded into it.
// Context: any, a vfork() child included: raw system calls only, no allocation, no cancellation point.
// errno is changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::sdk {

enum class ProgramKind : uint8_t {
  kDynamic,       // `interpreter` is its dynamic loader
  kScript,        // `interpreter` is what its first line names
  kSanitized,     // dynamic, with AddressSanitizer's runtime, which must be loaded before all else
  kStatic,        // no loader, so nothing can be preloaded
  kOtherMachine,  // an ELF file of another class or processor
  kPrivileged,    // setuid, setgid or file capabilities: the loader ignores LD_PRELOAD
  kUnknown,       // neither ELF nor a script
  kUnreadable,    // `error` says why
};

struct ProgramFile {
  static constexpr size_t kMaxInterpreterBytes = 256;  // the kernel's limit for a script's first line

  ProgramKind kind = ProgramKind::kUnreadable;
  int error = 0;
  char interpreter[kMaxInterpreterBytes] = {};
};

// `path` is resolved against `directory_fd` as by execveat(2); with an empty path, the descriptor
// is the program's.
ProgramFile ReadProgramFile(int directory_fd, const char* path);

// Whether `interpreter` is named as glibc's dynamic loader for this processor is, in whatever directory.
bool IsGlibcLoader(const char* interpreter);

// The kernel follows no more scripts than this.
inline constexpr int kMaxScriptInterpreters = 4;

}  // namespace lagwatch::sdk
