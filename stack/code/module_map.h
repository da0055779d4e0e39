// SPDX-License-Identifier: Apache-2.0
// The modules loaded in a process, from its /proc/PID/maps, or dyld's list of images, and the modules'
// own headers in memory, so that neither the loader's lock nor the files are needed. Thread safety: one
// thread at a time, except for modules: once Refresh() has returned, the modules that it added never change,
// and any thread that got an index from there may read module(index).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/process/mapped_memory.h"
#include "base/process/process.h"
#include "stack/elf/elf_headers.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

struct Module {
  static constexpr size_t kMaxPathBytes = 512;
  static constexpr size_t kMaxBuildIdBytes = 32;

  uint64_t base;  // of its ELF or Mach-O header; identifies it together with inode and path
  uint64_t inode;
  uint64_t load_bias;     // address = load_bias + offset
  uint64_t eh_frame_hdr;  // address of the unwind table's index; 0 when it has none
  uint64_t end;           // one past its last segment, data included
  uint16_t path_size;
  uint16_t build_id_size;
  uint16_t code_segment_count;
  base::Process process;  // in which it is
  bool is_own;            // one of lagwatch's libraries
  bool is_language;       // stands for a language's code: see AddLanguage()
  CodeSegment code_segments[ElfHeaders::kMaxCodeSegments];
  char path[kMaxPathBytes];
  unsigned char build_id[kMaxBuildIdBytes];

  std::string_view path_view() const { return {path, path_size}; }
  // Without the folder.
  std::string_view file_name() const { return path_view().substr(path_view().rfind('/') + 1); }
  std::string_view build_id_view() const { return {reinterpret_cast<const char*>(build_id), build_id_size}; }

  // The load bias of code at `address` that is mapped from `file_offset`: another than the module's where a
  // part of the file is mapped once more, as V8 does with its built-in functions. Context: watchdog.
  uint64_t LoadBiasAt(uint64_t address, uint64_t file_offset) const;
  // Whether it is what its memory holds now: another file may have been loaded in its place.
  // Context: watchdog, background.
  bool IsStillLoaded() const;
};

class ModuleMap {
 public:
  static constexpr uint32_t kMaxModules = 2048;
  static constexpr size_t kMaxRanges = 8192;

  struct CodeRange {
    uint64_t begin;
    uint64_t end;
    uint64_t load_bias;  // address = load_bias + offset; 0 without a module
    uint64_t inode;      // of the mapped file; 0: none
    uint32_t module;     // kNoModule: made at run time
  };

  // Context: background; allocates all that it will ever need.
  explicit ModuleMap(const base::Process& process = base::Process::Own());
  // False when there was no memory: then it stays empty.
  bool ok() const {
    return modules_ != nullptr && last_seen_ != nullptr && deleted_ != nullptr && code_ != nullptr &&
           writable_ != nullptr && text_ != nullptr;
  }

  const base::Process& process() const { return process_; }
  // From the next Refresh() on, of another process. A module that both have is one, of the process in which
  // it was found last; so one thread alone may use it then. Context: watchdog.
  void LookAt(const base::Process& process);

  // Reads the map again. A module keeps its index for the map's lifetime, also after it was
  // unloaded, so stacks unwound earlier stay meaningful. Returns whether anything that is
  // executable changed. Context: watchdog.
  bool Refresh();

  // The module for the code of a language, with a path such as "[java]", which has no memory. Adds it the
  // first time. Returns its index; kNoModule if there is no room. Context: watchdog.
  uint32_t AddLanguage(std::string_view path);

  // The index of the module whose code is at `address`, or kNoModule. Context: watchdog.
  uint32_t FindCode(uint64_t address) const {
    const CodeRange* range = FindRange(address);
    return range == nullptr ? kNoModule : range->module;
  }
  // Whether there is code at `address`, in a module or made at run time. Context: watchdog.
  bool IsCode(uint64_t address) const { return FindRange(address) != nullptr; }
  // The code around `address`; null where there is none. Valid until the next Refresh(). Context: watchdog.
  const CodeRange* FindRange(uint64_t address) const;
  // All that is executable, ascending. Valid until the next Refresh().
  std::span<const CodeRange> code() const { return {code_.get(), code_count_}; }
  const Module& module(uint32_t index) const { return modules_[index]; }
  uint32_t module_count() const { return module_count_; }
  // A mapping of the module's code, exactly, if its file was deleted or replaced by the last Refresh(): then
  // no path leads there. Empty if not. Context: any, from any thread.
  MemoryRegion DeletedFile(uint32_t index) const {
    // Relaxed: a name that is made of two refreshes' bounds is no file's.
    return {deleted_[index].begin.load(std::memory_order_relaxed),
            deleted_[index].end.load(std::memory_order_relaxed)};
  }
  // The size of its code. Context: watchdog.
  uint64_t CodeBytes(uint32_t index) const;
  // The regions that may hold stacks. Valid until the next Refresh().
  StackRegions stacks() const { return {writable_.get(), writable_count_, main_stack_}; }
  // Modules and ranges that did not fit.
  uint64_t dropped_count() const { return dropped_count_; }

 private:
  static constexpr size_t kTextBytes = 64 * 1024;

  struct Line;
  // A mapped file, or an image in memory.
  struct Image {
    uint64_t base = 0;  // 0: its first page is not mapped
    uint64_t inode = 0;
    std::string_view path;
    uint64_t file_offset = 0;  // of its first byte: not 0 in an archive
    uint32_t module = kNoModule;
  };

  // Empties the ranges; EndRefresh() returns whether they differ from the last refresh's.
  void BeginRefresh();
  bool EndRefresh();
  // The system's part.
  bool ReadModule(const Image& image, Module* module) const;
  static bool ParseLine(std::string_view text, Line* line);
  bool HasSegmentAt(const Image& image, const Line& line) const;
  void AddLine(const Line& line, Image* image);
  void AddImage(const Image& image);
  void NoteFile(uint32_t module, const Line& line);
  uint32_t FindOrAddModule(const Image& image);
  void FindModulesOfCopies();

  base::Process process_;
  base::MappedBlock<Module> modules_;
  base::MappedBlock<uint32_t> last_seen_;  // by which refresh, for each module
  struct AtomicRegion {
    std::atomic<uint64_t> begin;
    std::atomic<uint64_t> end;
  };
  base::MappedBlock<AtomicRegion> deleted_;  // for each module
  uint32_t refresh_count_ = 0;
  uint32_t module_count_ = 0;
  uint32_t module_hint_ = 0;  // modules tend to come in the order of the last time
  base::MappedBlock<CodeRange> code_;
  size_t code_count_ = 0;
  base::MappedBlock<MemoryRegion> writable_;
  size_t writable_count_ = 0;
  MemoryRegion main_stack_{};
  uint64_t code_hash_ = 0;
  uint64_t dropped_count_ = 0;
  base::MappedBlock<char> text_;
};

}  // namespace lagwatch::stack
