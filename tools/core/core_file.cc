// SPDX-License-Identifier: Apache-2.0
#include "tools/core/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/process/regular_file.h"
#include "tools/core/core_registers.h"

namespace lagwatch::tools {
namespace {

using base::Status;
using base::StatusCode;

constexpr uint64_t kMostSegments = 1 << 20;
constexpr uint64_t kMostNoteBytes = 512 << 20;
constexpr int32_t kMostTid = 1 << 22;  // the kernel's PID_MAX_LIMIT

// The beginning of a compressed file, the program that has made it, and the command that undoes it.
struct Compression {
  std::string_view magic;
  const char* name;
  const char* command;
};
constexpr Compression kCompressions[] = {
    {"\x28\xb5\x2f\xfd", "zstd", "zstd -d --stdout"},
    {"\x04\x22\x4d\x18", "lz4", "lz4 -d --stdout"},
    {std::string_view("\xfd\x37zXZ\0", 6), "xz", "xz -d --stdout"},
    {"\x1f\x8b", "gzip", "gzip -d --stdout"},
    {"BZh", "bzip2", "bzip2 -d --stdout"},
};

// False at the end of the file.
bool ReadAt(int file, void* destination, size_t size_bytes, uint64_t offset) {
  auto* out = static_cast<char*>(destination);
  for (size_t done = 0; done < size_bytes;) {
    const ssize_t got = pread(file, out + done, size_bytes - done, static_cast<off_t>(offset + done));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

Status Invalid(const std::string& message) { return {StatusCode::kInvalid, message}; }

// Of a file that cannot be a core.
Status CheckKind(const std::string& path, std::string_view begin) {
  for (const Compression& compression : kCompressions) {
    if (begin.starts_with(compression.magic))
      return Invalid(path + " is compressed by " + compression.name + ": run `" + compression.command + " " +
                     path + " > core` first, or let coredumpctl(1) do so: `coredumpctl dump PID -o core`");
  }
  if (!begin.starts_with(ELFMAG)) return Invalid(path + " is no core file: it is no ELF file");
  return {};
}

Status CheckHeader(const std::string& path, const Elf64_Ehdr& elf) {
  if (elf.e_ident[EI_CLASS] != ELFCLASS64)
    return Invalid(path + " is of a 32-bit program; lagwatch reads cores of 64-bit programs only");
  if (elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_machine != ReadableMachine())
    return Invalid(path + " is of another architecture (ELF machine " + std::to_string(elf.e_machine) +
                   "); lagwatch reads cores of x86-64 only, on x86-64");
  if (elf.e_type != ET_CORE)
    return Invalid(path + " is a program or a library, no core file; the core comes first");
  if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum == 0)
    return Invalid(path + " is damaged: it has no program headers");
  return {};
}

Status Truncated(const std::string& path, uint64_t size, uint64_t needed) {
  return Invalid(path + " is truncated: it has " + std::to_string(size) + " of " + std::to_string(needed) +
                 " bytes; a limit of its writer (ulimit -c, or ProcessSizeMax= and ExternalSizeMax= of "
                 "coredump.conf(5)) or a full disk has cut it");
}

template <typename T>
std::optional<T> Take(std::string_view bytes, size_t offset = 0) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <size_t kSize>
std::string TextIn(const char (&text)[kSize]) {
  return std::string(text, strnlen(text, kSize));
}

std::optional<CoreThread::SignalInfo> InfoOf(std::string_view content) {
  const auto info = Take<siginfo_t>(content);
  if (!info) return std::nullopt;
  const bool is_sent = info->si_code <= 0;
  return CoreThread::SignalInfo{.number = info->si_signo,
                                .code = info->si_code,
                                .sender = is_sent ? info->si_pid : 0,
                                .address = is_sent ? 0 : reinterpret_cast<uint64_t>(info->si_addr)};
}

template <typename Ranges>
auto FindRange(const Ranges& ranges, uint64_t address) {
  const auto next =
      std::ranges::upper_bound(ranges, address, {}, [](const auto& range) { return range.begin; });
  if (next == ranges.begin() || std::prev(next)->end <= address) return ranges.end();
  return std::prev(next);
}

}  // namespace

base::Result<CoreFile> CoreFile::Open(const std::string& path) {
  CoreFile core;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return base::IoError("cannot open " + path, errno);
  if (!S_ISREG(status.st_mode)) return Invalid(path + " is no core file: it is no regular file");
  core.file_ = base::OwnedFd(base::OpenRegularFile(path.c_str(), &status));
  if (!core.file_) return base::IoError("cannot open " + path, errno);
  core.written_at_ = status.st_mtime;
  if (Status read = core.ReadHeaders(path, static_cast<uint64_t>(status.st_size)); !read.ok()) return read;
  if (core.threads_.empty()) return Invalid(path + " has no threads (NT_PRSTATUS), and so explains nothing");
  if (core.pid_ <= 0) core.pid_ = core.threads_.front().tid;
  return core;
}

Status CoreFile::ReadHeaders(const std::string& path, uint64_t file_size) {
  char begin[SELFMAG + 2] = {};
  const ssize_t got = pread(file_.get(), begin, sizeof begin, 0);
  if (Status kind = CheckKind(path, {begin, static_cast<size_t>(std::max<ssize_t>(got, 0))}); !kind.ok())
    return kind;
  Elf64_Ehdr elf;
  if (!ReadAt(file_.get(), &elf, sizeof elf, 0)) return Truncated(path, file_size, sizeof elf);
  if (Status header = CheckHeader(path, elf); !header.ok()) return header;
  uint64_t count = elf.e_phnum;
  if (Elf64_Shdr first; count == PN_XNUM && ReadAt(file_.get(), &first, sizeof first, elf.e_shoff))
    count = first.sh_info;
  if (count > kMostSegments)
    return Invalid(path + " is damaged: it has " + std::to_string(count) + " segments");
  std::vector<Elf64_Phdr> segments(count);
  const uint64_t table_bytes = count * sizeof(Elf64_Phdr);
  if (!ReadAt(file_.get(), segments.data(), table_bytes, elf.e_phoff))
    return Truncated(path, file_size, elf.e_phoff + table_bytes);
  uint64_t needed = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_offset > UINT64_MAX - segment.p_filesz || segment.p_vaddr > UINT64_MAX - segment.p_memsz)
      return Invalid(path + " is damaged: a segment has no end");
    if (segment.p_filesz != 0) needed = std::max(needed, segment.p_offset + segment.p_filesz);
  }
  if (needed > file_size) return Truncated(path, file_size, needed);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && segment.p_memsz != 0)
      segments_.push_back({segment.p_vaddr, segment.p_vaddr + segment.p_memsz,
                           std::min(segment.p_filesz, segment.p_memsz), segment.p_offset,
                           (segment.p_flags & PF_R) != 0, (segment.p_flags & PF_W) != 0,
                           (segment.p_flags & PF_X) != 0});
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!ReadAt(file_.get(), notes.data(), notes.size(), segment.p_offset))
      return base::IoError("cannot read " + path, errno);
    ReadNotes(notes);
  }
  std::ranges::sort(segments_, {}, &CoreSegment::begin);
  std::ranges::sort(files_, {}, &CoreFileRange::begin);
  return {};
}

void CoreFile::ReadNotes(std::string_view notes) {
  const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  while (const auto header = Take<Elf64_Nhdr>(notes)) {
    const uint64_t description = sizeof *header + padded(header->n_namesz);
    const uint64_t end = description + header->n_descsz;
    if (end > notes.size()) return;
    const std::string_view owner = notes.substr(sizeof *header, header->n_namesz);
    // gcore's description of the target and the like belong to other owners.
    if (owner.starts_with("CORE")) ReadNote(header->n_type, notes.substr(description, header->n_descsz));
    notes.remove_prefix(std::min<uint64_t>(padded(end), notes.size()));
  }
}

void CoreFile::ReadNote(uint32_t type, std::string_view content) {
  if (type == NT_PRSTATUS) {
    const auto status = Take<elf_prstatus>(content);
    if (!status || status->pr_pid <= 0 || status->pr_pid > kMostTid) return;
    CoreThread thread{.tid = status->pr_pid, .signal = status->pr_cursig, .info = {}};
    std::memcpy(thread.registers, status->pr_reg, sizeof thread.registers);
    threads_.push_back(thread);
  } else if (type == NT_PRPSINFO) {
    const auto process = Take<elf_prpsinfo>(content);
    if (!process || process->pr_pid > kMostTid) return;
    pid_ = process->pr_pid;
    name_ = TextIn(process->pr_fname);
    arguments_ = TextIn(process->pr_psargs);
  } else if (type == NT_SIGINFO && !threads_.empty()) {
    threads_.back().info = InfoOf(content);
  } else if (type == NT_AUXV) {
    auxiliary_vector_ = content;
  } else if (type == NT_FILE) {
    ReadFiles(content);
  }
}

// The number of entries, the unit of their offsets, the entries, and then their names.
void CoreFile::ReadFiles(std::string_view content) {
  struct Entry {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
  };
  const auto count = Take<uint64_t>(content);
  const auto unit = Take<uint64_t>(content, sizeof(uint64_t));
  constexpr size_t kEntries = 2 * sizeof(uint64_t);
  if (!count || !unit || *count > (content.size() - kEntries) / sizeof(Entry)) return;
  std::string_view names = content.substr(kEntries + *count * sizeof(Entry));
  for (uint64_t i = 0; i < *count; ++i) {
    const Entry entry = *Take<Entry>(content, kEntries + i * sizeof(Entry));
    const size_t size = names.find('\0');
    if (size == std::string_view::npos) return;
    if (entry.begin < entry.end)
      files_.push_back({entry.begin, entry.end, entry.offset * *unit, std::string(names.substr(0, size))});
    names.remove_prefix(size + 1);
  }
}

const CoreSegment* CoreFile::FindSegment(uint64_t address) const {
  const auto found = FindRange(segments_, address);
  return found == segments_.end() ? nullptr : &*found;
}

size_t CoreFile::Read(uint64_t address, void* destination, size_t size_bytes) const {
  auto* out = static_cast<char*>(destination);
  size_t done = 0;
  while (done < size_bytes) {
    const uint64_t at = address + done;
    const CoreSegment* segment = FindSegment(at);
    if (segment == nullptr || at - segment->begin >= segment->dumped_bytes) break;
    const uint64_t place = at - segment->begin;
    const size_t size = std::min<uint64_t>(size_bytes - done, segment->dumped_bytes - place);
    if (!ReadAt(file_.get(), out + done, size, segment->core_offset + place)) break;
    done += size;
  }
  return done;
}

uint64_t CoreFile::AuxiliaryValue(uint64_t type) const {
  struct Entry {
    uint64_t type;
    uint64_t value;
  };
  for (size_t at = 0;; at += sizeof(Entry)) {
    const auto entry = Take<Entry>(auxiliary_vector_, at);
    if (!entry || entry->type == AT_NULL) return 0;
    if (entry->type == type) return entry->value;
  }
}

}  // namespace lagwatch::tools
