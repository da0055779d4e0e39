// SPDX-License-Identifier: Apache-2.0
// The program and the libraries of a core file, as this machine has them: a core usually holds only the first
// page of each. A file is used only if it is the build that was loaded. Context: background. Linux.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "tools/core/core_file.h"

namespace lagwatch::tools {

// A file that was mapped from its first byte on and begins as a program or a library does.
struct CoreModule {
  std::string mapped_path;   // as the core has it
  std::string path;          // on this machine
  uint64_t base = 0;         // the address of the file's first byte
  base::OwnedFd file;        // none: not there, or not proven to be the same build
  uint64_t inode = 0;        // of that file; else a number of its own
  const char* problem = "";  // the reason why there is no file: goes on after its name
};

class CoreModules {
 public:
  CoreModules() = default;  // of no core
  // `core` is borrowed; it must not move. `program` is the path of the program's file; empty: as the core
  // names it. Errors: kNotFound and kInvalid, if `program` is not the one that was dumped.
  static base::Result<CoreModules> Find(const CoreFile& core, const std::string& program);

  // Copies what the files have at `address`, up to the first byte that is in none.
  size_t Read(uint64_t address, void* destination, size_t size_bytes) const;
  // Whether the part of the module's file at `file_offset` is code.
  bool HasCodeAt(const CoreModule& module, uint64_t file_offset) const;
  // Null for a path that is of no module.
  const CoreModule* FindByPath(std::string_view mapped_path) const;
  // The path of the program, on this machine; empty if the core does not say.
  const std::string& program() const { return program_; }
  const std::vector<CoreModule>& all() const { return modules_; }

 private:
  explicit CoreModules(const CoreFile& core) : core_(&core) {}
  void AddAll();
  std::string MappedProgram() const;

  const CoreFile* core_ = nullptr;
  std::vector<CoreModule> modules_;
  std::string program_;
};

}  // namespace lagwatch::tools
