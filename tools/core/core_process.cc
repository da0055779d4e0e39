// SPDX-License-Identifier: Apache-2.0
#include "tools/core/core_process.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tools/core/core_registers.h"

namespace lagwatch::tools {
namespace {

template <typename... Values>
std::string Printed(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// As in proc_pid_stat(5): no field but the state is known.
std::string StatText(int32_t tid, const std::string& name, char state) {
  constexpr int kFieldsAfterState = 49;
  std::string text = std::to_string(tid) + " (" + name + ") " + state;
  for (int i = 0; i < kFieldsAfterState; ++i) text += " 0";
  return text + "\n";
}

constexpr char kCounters[] = "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n";

// As the kernel prints it: a path with line ends would be two lines.
std::string PathText(std::string path) {
  constexpr std::string_view kLineEnd = "\\012";
  for (size_t at; (at = path.find('\n')) != std::string::npos;) path.replace(at, 1, kLineEnd);
  return path;
}

// Whether other processes could have had the same memory.
bool IsSharedMemory(std::string_view path) {
  return path.starts_with("/dev/shm/") || path.starts_with("/dev/zero") || path.starts_with("/SYSV") ||
         path.starts_with("/memfd:");
}

}  // namespace

base::Result<std::unique_ptr<CoreProcess>> CoreProcess::Open(const std::string& path,
                                                             const std::string& program) {
  CoreFile file = LAGWATCH_TRY(CoreFile::Open(path));
  std::unique_ptr<CoreProcess> process(new CoreProcess(std::move(file)));
  process->modules_ = LAGWATCH_TRY(CoreModules::Find(process->file_, program));
  if (base::Status written = process->Write(); !written.ok()) return written;
  return process;
}

base::Status CoreProcess::Write() {
  const std::string& root = directory_.path();
  opened_directory_ = base::OwnedFd(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.empty() || !opened_directory_)
    return {base::StatusCode::kIo, "there is no room for temporary files"};
  folder_ = "/proc/self/fd/" + std::to_string(opened_directory_.get());
  const std::string threads = std::to_string(file_.threads().size());
  bool is_written = mkdir((root + "/task").c_str(), 0700) == 0 && WriteText("maps", MapsText()) &&
                    WriteText("auxv", std::string(file_.auxiliary_vector())) &&
                    WriteText("status", "TracerPid:\t0\nThreads:\t" + threads + "\n" + kCounters) &&
                    symlink("/", (root + "/root").c_str()) == 0;
  if (!modules_.program().empty())
    is_written = is_written && symlink(modules_.program().c_str(), (root + "/exe").c_str()) == 0;
  for (const CoreThread& thread : file_.threads()) is_written = is_written && WriteThread(thread);
  return is_written ? base::Status() : base::IoError("cannot write to " + root, errno);
}

bool CoreProcess::WriteThread(const CoreThread& thread) const {
  const std::string leaf = "task/" + std::to_string(thread.tid);
  // The kernel dumps the process's name only, which is its main thread's.
  const std::string name = thread.tid == pid() ? file_.name() : "";
  const bool slept = SleptInCall(thread);
  if (mkdir((directory_.path() + "/" + leaf).c_str(), 0700) != 0) return errno == EEXIST;
  return WriteText(leaf + "/stat", StatText(thread.tid, name, slept ? 'S' : 'R')) &&
         WriteText(leaf + "/status", kCounters) && WriteText(leaf + "/comm", name + "\n") &&
         WriteText(leaf + "/schedstat", "0 0 0\n") &&
         WriteText(leaf + "/syscall", slept ? CallText(thread) : "running\n");
}

bool CoreProcess::WriteText(const std::string& leaf, const std::string& text) const {
  const std::string path = directory_.path() + "/" + leaf;
  const base::OwnedFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string CoreProcess::MapsText() const {
  std::vector<CoreSegment> segments = file_.segments();
  // gcore leaves out what it does not dump.
  for (const CoreFileRange& range : file_.files()) {
    if (file_.FindSegment(range.begin) != nullptr) continue;
    segments.push_back(
        {.begin = range.begin, .end = range.end, .is_readable = true, .is_executable = IsCode(range)});
  }
  std::ranges::sort(segments, {}, &CoreSegment::begin);
  std::string text;
  for (const CoreSegment& segment : segments) text += MapLine(segment);
  return text;
}

// By the program headers of its module.
bool CoreProcess::IsCode(const CoreFileRange& range) const {
  const CoreModule* module = modules_.FindByPath(range.path);
  return module != nullptr && modules_.HasCodeAt(*module, range.file_offset);
}

std::string CoreProcess::MapLine(const CoreSegment& segment) const {
  const auto next = std::ranges::upper_bound(file_.files(), segment.begin, {}, &CoreFileRange::begin);
  const CoreFileRange* range =
      next == file_.files().begin() || std::prev(next)->end <= segment.begin ? nullptr : &*std::prev(next);
  const auto has = [&](uint64_t address) { return segment.begin <= address && address < segment.end; };
  std::string name;
  uint64_t offset = 0;
  uint64_t inode = 0;
  if (range != nullptr) {
    constexpr uint64_t kOfData = 1;  // of a file that is no module
    const CoreModule* module = modules_.FindByPath(range->path);
    const bool is_deleted = range->path.ends_with(" (deleted)");
    name = PathText(module == nullptr || is_deleted ? range->path : module->path);
    offset = range->file_offset + (segment.begin - range->begin);
    inode = module == nullptr ? kOfData : module->inode;
  } else if (has(file_.AuxiliaryValue(AT_SYSINFO_EHDR))) {
    name = "[vdso]";
  } else if (const uint64_t start = file_.AuxiliaryValue(AT_RANDOM);
             has(start) || (start == 0 && has(MainStack()))) {
    name = "[stack]";
  }
  const char flags[] = {segment.is_readable ? 'r' : '-', segment.is_writable ? 'w' : '-',
                        segment.is_executable ? 'x' : '-', IsSharedMemory(name) ? 's' : 'p', '\0'};
  return Printed("%" PRIx64 "-%" PRIx64 " %s %08" PRIx64 " 00:00 %" PRIu64 " ", segment.begin, segment.end,
                 flags, offset, inode) +
         name + "\n";
}

uint64_t CoreProcess::MainStack() const {
  const auto main = std::ranges::find(file_.threads(), pid(), &CoreThread::tid);
  return main == file_.threads().end() ? 0 : StackPointerOf(*main);
}

size_t CoreProcess::Read(uint64_t address, void* destination, size_t size_bytes) const {
  auto* out = static_cast<char*>(destination);
  size_t done = 0;
  while (done < size_bytes) {
    size_t got = file_.Read(address + done, out + done, size_bytes - done);
    if (got == 0) got = modules_.Read(address + done, out + done, size_bytes - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

bool CoreProcess::ReadRegisters(int32_t tid, void* registers, size_t size_bytes) const {
  const auto thread = std::ranges::find(file_.threads(), tid, &CoreThread::tid);
  if (thread == file_.threads().end() || size_bytes != sizeof thread->registers) return false;
  std::memcpy(registers, thread->registers, size_bytes);
  return true;
}

}  // namespace lagwatch::tools
