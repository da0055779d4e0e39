// SPDX-License-Identifier: Apache-2.0
// Reads a core file: an ELF file with the memory and the registers of a process at one moment, as the kernel
// (core(5)) or gcore writes it. Cores of 64-bit x86 programs. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "tools/core/core_thread.h"

namespace lagwatch::tools {

// A part of the memory that the process had. Its first `dumped_bytes` are in the core.
struct CoreSegment {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t dumped_bytes = 0;
  uint64_t core_offset = 0;
  bool is_readable = false;
  bool is_writable = false;
  bool is_executable = false;
};

// A part of a file that was mapped (NT_FILE).
struct CoreFileRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path;
};

class CoreFile {
 public:
  // Errors: kNotFound; kInvalid, saying what the file is instead, and what would help; kIo.
  static base::Result<CoreFile> Open(const std::string& path);

  // Copies what was dumped at `address`, up to the first byte that was not; returns the number of bytes.
  size_t Read(uint64_t address, void* destination, size_t size_bytes) const;
  // The segment that holds the address; null without one.
  const CoreSegment* FindSegment(uint64_t address) const;
  // The value of an entry of the auxiliary vector (getauxval(3)); 0 without it.
  uint64_t AuxiliaryValue(uint64_t type) const;

  int32_t pid() const { return pid_; }
  const std::string& name() const { return name_; }            // of 15 bytes at most
  const std::string& arguments() const { return arguments_; }  // of 79 bytes at most
  std::string_view auxiliary_vector() const { return auxiliary_vector_; }
  // The thread that the core was written for first. Never empty.
  const std::vector<CoreThread>& threads() const { return threads_; }
  const std::vector<CoreSegment>& segments() const { return segments_; }  // by address
  const std::vector<CoreFileRange>& files() const { return files_; }      // by address
  time_t written_at() const { return written_at_; }

 private:
  CoreFile() = default;
  base::Status ReadHeaders(const std::string& path, uint64_t file_size);
  void ReadNotes(std::string_view notes);
  void ReadNote(uint32_t type, std::string_view content);
  void ReadFiles(std::string_view content);

  base::OwnedFd file_;
  int32_t pid_ = 0;
  std::string name_;
  std::string arguments_;
  std::string auxiliary_vector_;
  std::vector<CoreThread> threads_;
  std::vector<CoreSegment> segments_;
  std::vector<CoreFileRange> files_;
  time_t written_at_ = 0;
};

}  // namespace lagwatch::tools
