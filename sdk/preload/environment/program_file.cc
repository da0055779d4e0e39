// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

// The header of the file that this code is in, as the linker defines it.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace lagwatch::sdk {
namespace {

// glibc's, by processor; a program of another one is not asked.
constexpr std::array<std::string_view, 2> kLoaderNames = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};

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

// Whether the program gets privileges, as the kernel reports it to the loader by AT_SECURE.
bool IsPrivileged(const RawFile& file, const struct stat& status) {
  const uid_t next_user = (status.st_mode & S_ISUID) != 0 ? status.st_uid : geteuid();
  const gid_t next_group = (status.st_mode & S_ISGID) != 0 ? status.st_gid : getegid();
  return next_user != getuid() || next_group != getgid() ||
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

// The program headers of an ELF file, as many as any program has.
struct Segments {
  static constexpr size_t kMaxCount = 24;

  size_t count = 0;
  ElfW(Phdr) list[kMaxCount];

  const ElfW(Phdr) * Find(uint32_t type) const {
    const ElfW(Phdr)* end = list + count;
    const ElfW(Phdr)* found = std::find_if(list, end, [&](const auto& one) { return one.p_type == type; });
    return found == end ? nullptr : found;
  }
  // The offset in the file of the address; 0: none.
  uint64_t OffsetOf(uint64_t address) const {
    for (size_t i = 0; i < count; ++i) {
      const ElfW(Phdr)& one = list[i];
      if (one.p_type == PT_LOAD && address - one.p_vaddr < one.p_filesz)
        return one.p_offset + (address - one.p_vaddr);
    }
    return 0;
  }
};

Segments ReadSegments(const RawFile& file, const ElfW(Ehdr) & elf) {
  Segments segments;
  if (elf.e_phentsize != sizeof segments.list[0]) return segments;
  const size_t bytes = std::min<size_t>(elf.e_phnum, Segments::kMaxCount) * sizeof segments.list[0];
  segments.count = file.Read(segments.list, bytes, elf.e_phoff) / sizeof segments.list[0];
  return segments;
}

// Whether the program needs AddressSanitizer's runtime as a library of its own.
bool NeedsAsanRuntime(const RawFile& file, const Segments& segments) {
  constexpr std::string_view kRuntime = "libasan.so";
  constexpr size_t kAtOnce = 16;
  const ElfW(Phdr)* dynamic = segments.Find(PT_DYNAMIC);
  if (dynamic == nullptr) return false;
  // The table of texts comes after the names that refer to it: two passes.
  uint64_t texts = 0;
  for (const int64_t wanted : {int64_t{DT_STRTAB}, int64_t{DT_NEEDED}}) {
    ElfW(Dyn) entries[kAtOnce];
    for (uint64_t at = 0; at < dynamic->p_filesz; at += sizeof entries) {
      const size_t bytes = std::min<uint64_t>(sizeof entries, dynamic->p_filesz - at);
      const size_t count = file.Read(entries, bytes, dynamic->p_offset + at) / sizeof entries[0];
      for (size_t i = 0; i < count; ++i) {
        if (entries[i].d_tag != wanted) continue;
        if (wanted == DT_STRTAB) texts = segments.OffsetOf(entries[i].d_un.d_ptr);
        char name[kRuntime.size()] = {};
        if (wanted == DT_NEEDED && texts != 0) file.Read(name, sizeof name, texts + entries[i].d_un.d_val);
        if (std::string_view(name, sizeof name) == kRuntime) return true;
      }
    }
  }
  return false;
}

void ReadLoader(const RawFile& file, const ElfW(Ehdr) & elf, ProgramFile* program) {
  const Segments segments = ReadSegments(file, elf);
  const ElfW(Phdr)* loader = segments.Find(PT_INTERP);
  program->kind = ProgramKind::kStatic;
  if (loader == nullptr || loader->p_filesz > sizeof program->interpreter) return;
  file.Read(program->interpreter, loader->p_filesz, loader->p_offset);
  program->interpreter[sizeof program->interpreter - 1] = '\0';
  program->kind = NeedsAsanRuntime(file, segments) ? ProgramKind::kSanitized : ProgramKind::kDynamic;
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
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != __ehdr_start.e_machine) return;
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
  return std::ranges::find(kLoaderNames, path.substr(path.rfind('/') + 1)) != kLoaderNames.end();
}

}  // namespace lagwatch::sdk
