// SPDX-License-Identifier: Apache-2.0
// Functions that glibc has had since 2.32 and 2.33, for libraries that are linked against 2.31
// (cmake/Portable.cmake). They call functions of 2.31 that later versions keep for old programs.
#include <sys/stat.h>

#include <cstddef>

#define LAGWATCH_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

// Until 2.33 the calls of stat(2) had the version of the structure as an argument.
constexpr int kStatVersion = 1;
int __xstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int fd, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);

LAGWATCH_HIDDEN int stat(const char* path, struct stat* status) noexcept {
  return __xstat(kStatVersion, path, status);
}
LAGWATCH_HIDDEN int fstat(int fd, struct stat* status) noexcept { return __fxstat(kStatVersion, fd, status); }
LAGWATCH_HIDDEN int lstat(const char* path, struct stat* status) noexcept {
  return __lxstat(kStatVersion, path, status);
}

// Reference counts of the C++ library are atomic where this is 0.
LAGWATCH_HIDDEN char __libc_single_threaded = 0;

extern const char* const _sys_errlist[];
extern const int _sys_nerr;
LAGWATCH_HIDDEN const char* strerrordesc_np(int error) noexcept {
  return error >= 0 && error < _sys_nerr ? _sys_errlist[error] : nullptr;
}

}  // extern "C"
