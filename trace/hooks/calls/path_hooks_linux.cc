// SPDX-License-Identifier: Apache-2.0
// Hooks of calls that look up and change files by their paths, of locks of files and of the name service.
// Nothing is captured in them. Those with "xstat" are the names of stat in programs built with a glibc
// before 2.33.
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "trace/hooks/io_hook.h"

namespace lagwatch::trace {
namespace {

using enum IoOperation;

constexpr IoShape kLooksUp{.operation = kLookUp, .path = 0};
constexpr IoShape kLooksUpAt{.operation = kLookUp, .path = 1, .folder = 0};
constexpr IoShape kReadsStatus{.operation = kLookUp, .path = 0, .output = 1};
constexpr IoShape kReadsStatusAt{.operation = kLookUp, .path = 1, .folder = 0, .output = 2};
constexpr IoShape kReadsStatusOld{.operation = kLookUp, .path = 1, .output = 2};
constexpr IoShape kReadsStatusAtOld{.operation = kLookUp, .path = 2, .folder = 1, .output = 3};
constexpr IoShape kReadsStatusX{.operation = kLookUp, .path = 1, .folder = 0, .output = 4};
constexpr IoShape kLooksUpKey{.operation = kLookUp, .key = 0};
constexpr IoShape kLooksUpKeyOld{.operation = kLookUp, .key = 1};
constexpr IoShape kChanges{.operation = kChange, .path = 0};
constexpr IoShape kChangesAt{.operation = kChange, .path = 1, .folder = 0};
constexpr IoShape kChangesKey{.operation = kChange, .key = 0};
constexpr IoShape kLocks{.operation = kLock, .key = 0};
constexpr IoShape kResolves{.operation = kResolve};

void AddLookUps(HookTable* table) {
  AddCounted<"stat", kReadsStatus, int(const char*, struct stat*)>(table);
  AddCounted<"stat64", kReadsStatus, int(const char*, struct stat64*)>(table);
  AddCounted<"lstat", kReadsStatus, int(const char*, struct stat*)>(table);
  AddCounted<"lstat64", kReadsStatus, int(const char*, struct stat64*)>(table);
  AddCounted<"fstat", kLooksUpKey, int(int, struct stat*)>(table);
  AddCounted<"fstat64", kLooksUpKey, int(int, struct stat64*)>(table);
  AddCounted<"fstatat", kReadsStatusAt, int(int, const char*, struct stat*, int)>(table);
  AddCounted<"fstatat64", kReadsStatusAt, int(int, const char*, struct stat64*, int)>(table);
  AddCounted<"statx", kReadsStatusX, int(int, const char*, int, unsigned, struct statx*)>(table);
  AddCounted<"__xstat", kReadsStatusOld, int(int, const char*, struct stat*)>(table);
  AddCounted<"__xstat64", kReadsStatusOld, int(int, const char*, struct stat64*)>(table);
  AddCounted<"__lxstat", kReadsStatusOld, int(int, const char*, struct stat*)>(table);
  AddCounted<"__lxstat64", kReadsStatusOld, int(int, const char*, struct stat64*)>(table);
  AddCounted<"__fxstat", kLooksUpKeyOld, int(int, int, struct stat*)>(table);
  AddCounted<"__fxstat64", kLooksUpKeyOld, int(int, int, struct stat64*)>(table);
  AddCounted<"__fxstatat", kReadsStatusAtOld, int(int, int, const char*, struct stat*, int)>(table);
  AddCounted<"__fxstatat64", kReadsStatusAtOld, int(int, int, const char*, struct stat64*, int)>(table);
  AddCounted<"access", kLooksUp, int(const char*, int)>(table);
  AddCounted<"eaccess", kLooksUp, int(const char*, int)>(table);
  AddCounted<"euidaccess", kLooksUp, int(const char*, int)>(table);
  AddCounted<"faccessat", kLooksUpAt, int(int, const char*, int, int)>(table);
  AddCounted<"readlink", kReadsStatus, ssize_t(const char*, char*, size_t)>(table);
  AddCounted<"__readlink_chk", kReadsStatus, ssize_t(const char*, char*, size_t, size_t)>(table);
  AddCounted<"readlinkat", kReadsStatusAt, ssize_t(int, const char*, char*, size_t)>(table);
  AddCounted<"__readlinkat_chk", kReadsStatusAt, ssize_t(int, const char*, char*, size_t, size_t)>(table);
  AddCounted<"realpath", kReadsStatus, char*(const char*, char*)>(table);
  AddCounted<"__realpath_chk", kReadsStatus, char*(const char*, char*, size_t)>(table);
  AddCounted<"canonicalize_file_name", kLooksUp, char*(const char*)>(table);
  AddCounted<"statfs", kReadsStatus, int(const char*, struct statfs*)>(table);
  AddCounted<"statfs64", kReadsStatus, int(const char*, struct statfs64*)>(table);
  AddCounted<"statvfs", kReadsStatus, int(const char*, struct statvfs*)>(table);
  AddCounted<"statvfs64", kReadsStatus, int(const char*, struct statvfs64*)>(table);
}

void AddChanges(HookTable* table) {
  AddCounted<"rename", kChanges, int(const char*, const char*)>(table);
  AddCounted<"renameat", kChangesAt, int(int, const char*, int, const char*)>(table);
  AddCounted<"renameat2", kChangesAt, int(int, const char*, int, const char*, unsigned)>(table);
  AddCounted<"unlink", kChanges, int(const char*)>(table);
  AddCounted<"unlinkat", kChangesAt, int(int, const char*, int)>(table);
  AddCounted<"remove", kChanges, int(const char*)>(table);
  AddCounted<"link", kChanges, int(const char*, const char*)>(table);
  AddCounted<"symlink", kChanges, int(const char*, const char*)>(table);
  AddCounted<"mkdir", kChanges, int(const char*, mode_t)>(table);
  AddCounted<"mkdirat", kChangesAt, int(int, const char*, mode_t)>(table);
  AddCounted<"rmdir", kChanges, int(const char*)>(table);
  AddCounted<"chmod", kChanges, int(const char*, mode_t)>(table);
  AddCounted<"chown", kChanges, int(const char*, uid_t, gid_t)>(table);
  AddCounted<"truncate", kChanges, int(const char*, off_t)>(table);
  AddCounted<"truncate64", kChanges, int(const char*, off_t)>(table);
  AddCounted<"ftruncate", kChangesKey, int(int, off_t)>(table);
  AddCounted<"ftruncate64", kChangesKey, int(int, off_t)>(table);
  AddCounted<"fallocate", kChangesKey, int(int, int, off_t, off_t)>(table);
  AddCounted<"fallocate64", kChangesKey, int(int, int, off_t, off_t)>(table);
  AddCounted<"posix_fallocate", kChangesKey, int(int, off_t, off_t)>(table);
  AddCounted<"posix_fallocate64", kChangesKey, int(int, off_t, off_t)>(table);
}

// The third argument is a number or a pointer, and may be missing; its register is handed on as it is.
using Fcntl = int(int, int, void*);
template <HookName kName>
struct FcntlHook {
  using Counted = IoHook<kName, 0, CallKind::kFile, kLocks, Fcntl>;

  static int Replacement(int fd, int command, void* argument) {
    const bool may_wait = command == F_SETLKW || command == F_OFD_SETLKW;
    return may_wait ? Counted::Call(CallersRegisters(), fd, command, argument)
                    : Counted::real(fd, command, argument);
  }
  static void Add(HookTable* table) { table->Add(kIoWatchHooks, kName.text, Replacement, &Counted::real); }
};

void AddLocks(HookTable* table) {
  AddCounted<"flock", kLocks, int(int, int)>(table);
  AddCounted<"lockf", kLocks, int(int, int, off_t)>(table);
  AddCounted<"lockf64", kLocks, int(int, int, off_t)>(table);
  FcntlHook<"fcntl">::Add(table);
  FcntlHook<"fcntl64">::Add(table);
}

void AddNames(HookTable* table) {
  AddCounted<"getaddrinfo", kResolves, int(const char*, const char*, const addrinfo*, addrinfo**)>(table);
  AddCounted<"getnameinfo", kResolves,
             int(const sockaddr*, socklen_t, char*, socklen_t, char*, socklen_t, int)>(table);
  AddCounted<"gethostbyname", kResolves, hostent*(const char*)>(table);
  AddCounted<"gethostbyname2", kResolves, hostent*(const char*, int)>(table);
  AddCounted<"gethostbyname_r", kResolves, int(const char*, hostent*, char*, size_t, hostent**, int*)>(table);
  AddCounted<"gethostbyname2_r", kResolves, int(const char*, int, hostent*, char*, size_t, hostent**, int*)>(
      table);
  AddCounted<"gethostbyaddr", kResolves, hostent*(const void*, socklen_t, int)>(table);
  AddCounted<"getpwnam", kResolves, passwd*(const char*)>(table);
  AddCounted<"getpwnam_r", kResolves, int(const char*, passwd*, char*, size_t, passwd**)>(table);
  AddCounted<"getpwuid", kResolves, passwd*(uid_t)>(table);
  AddCounted<"getpwuid_r", kResolves, int(uid_t, passwd*, char*, size_t, passwd**)>(table);
  AddCounted<"getgrnam", kResolves, group*(const char*)>(table);
  AddCounted<"getgrgid", kResolves, group*(gid_t)>(table);
}

}  // namespace

void AddPathHooks(HookTable* table) {
  AddLookUps(table);
  AddChanges(table);
  AddLocks(table);
  AddNames(table);
}

}  // namespace lagwatch::trace
