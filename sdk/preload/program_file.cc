// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace lagwatch::sdk {
namespace {

#if defined(__x86_64__)
constexpr int kOwnMachine = EM_X86_64;
constexpr std::string_view kLoaderName = "ld-linux-x86-64.so.2";
#elif defined(__aarch64__)
constexpr int kOwnMachine = EM_AARCH64;
constexpr std::string_view kLoaderName = "ld-linux-aarch64.so.1";
#endif

// The C library's open, pread and close are cancellation points, which exec is not.
class RawFile {
 public:
  RawFile(int directory_fd, const char* path) : fd_(directory_fd), is_borrowed_(*path == '\0') {
    if (!is_borrowed_)
      fd_ = static_cast<int>(syscall(SYS_openat, directory_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
    error_ = fd_ < 0 && fd_ != AT_FDCWD ? errno : 0;
  }
  ~RawFile() {
    if (!is_borrowed_ && fd_ >= 0) syscall(SYS_close, fd_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int error() const { return error_; }
  int fd() const { return fd_; }
  // The bytes that were read.
  size_t Read(void* data, size_t size_bytes, uint64_t offset) const {
    const long size = syscall(SYS_pread64, fd_, data, size_bytes, offset);
    return size < 0 ? 0 : static_cast<size_t>(size);
  }

 private:
  int fd_;
  bool is_borrowed_;
  int error_;
};

bool IsPrivileged(const RawFile& file, const struct stat& status) {
  const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
  const bool changes_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getegid();
  return changes_user || changes_group ||
         syscall(SYS_fgetxattr, file.fd(), "security.capability", nullptr, 0) > 0;
}

void ReadScriptLine(std::string_view head, ProgramFile* program) {
  constexpr std::string_view kBlanks = " \t";
  std::string_view line = head.substr(0, head.find('\n')).substr(2);
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  line = line.substr(0, line.find_first_of(kBlanks));
  line = line.substr(0, line.find('\0')).substr(0, ProgramFile::kMaxInterpreterBytes - 1);
  line.copy(program->interpreter, line.size());
  program->kind = line.empty() ? ProgramKind::kUnknown : ProgramKind::kScript;
}

void ReadLoader(const RawFile& file, const ElfW(Ehdr) & elf, ProgramFile* program) {
  constexpr size_t kAtOnce = 8;
  ElfW(Phdr) segments[kAtOnce];
  program->kind = ProgramKind::kStatic;
  if (elf.e_phentsize != sizeof segments[0]) return;
  for (size_t first = 0; first < elf.e_phnum; first += kAtOnce) {
    const size_t count = std::min<size_t>(kAtOnce, elf.e_phnum - first);
    if (file.Read(segments, count * sizeof segments[0], elf.e_phoff + first * sizeof segments[0]) !=
        count * sizeof segments[0])
      return;
    for (size_t i = 0; i < count; ++i) {
      if (segments[i].p_type != PT_INTERP || segments[i].p_filesz > sizeof program->interpreter) continue;
      file.Read(program->interpreter, segments[i].p_filesz, segments[i].p_offset);
      program->interpreter[sizeof program->interpreter - 1] = '\0';
      program->kind = ProgramKind::kDynamic;
      return;
    }
  }
}

void ReadContent(const RawFile& file, ProgramFile* program) {
  char head[ProgramFile::kMaxInterpreterBytes];
  const std::string_view content(head, file.Read(head, sizeof head, 0));
  if (content.starts_with("#!")) return ReadScriptLine(content, program);
  ElfW(Ehdr) elf{};
  program->kind = ProgramKind::kUnknown;
  if (!content.starts_with(ELFMAG) || content.size() < EI_NIDENT) return;
  std::memcpy(&elf, head, std::min(sizeof elf, content.size()));
  program->kind = ProgramKind::kOtherMachine;
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != kOwnMachine) return;
  ReadLoader(file, elf, program);
}

}  // namespace

ProgramFile ReadProgramFile(int directory_fd, const char* path) {
  ProgramFile program;
  const RawFile file(directory_fd, path);
  program.error = file.error();
  struct stat status {};
  if (!file.is_open() || fstat(file.fd(), &status) != 0) return program;
  if (!S_ISREG(status.st_mode)) {
    program.error = EACCES;
  } else if (IsPrivileged(file, status)) {
    program.kind = ProgramKind::kPrivileged;
  } else {
    ReadContent(file, &program);
  }
  return program;
}

bool IsGlibcLoader(const char* interpreter) {
  const std::string_view path(interpreter);
  return path.substr(path.rfind('/') + 1) == kLoaderName;
}

}  // namespace lagwatch::sdk
