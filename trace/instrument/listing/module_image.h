// SPDX-License-Identifier: Apache-2.0
// A program's or library's file in memory as the loader would place it, without running any of it: for asking
// the mechanisms which of its functions they can instrument. Context: background.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::trace {

class ModuleImage {
 public:
  // Errors: kNotFound, kIo; kInvalid if it is not a program or library for this processor, or is damaged.
  static base::Result<ModuleImage> Map(const std::string& path);
  ModuleImage(ModuleImage&& other) noexcept;
  ModuleImage& operator=(ModuleImage&&) = delete;
  ~ModuleImage();

  // As dl_iterate_phdr() would give it. Borrowed.
  const dl_phdr_info& info() const { return info_; }
  uint64_t load_bias() const { return info_.dlpi_addr; }

 private:
  ModuleImage() = default;

  base::Status MapSegments(int fd, bool is_at_its_place);
  // Whether a mapped segment has those bytes of the file.
  bool HasBytes(uint64_t address, uint64_t size_bytes) const;
  void LeaveOutDamaged();
  void Relocate();
  void RelocateBy(const Elf64_Rela& relocation);
  uint64_t* SlotAt(uint64_t offset) const;

  std::string path_;
  std::vector<ElfW(Phdr)> segments_;
  dl_phdr_info info_{};
  void* memory_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace lagwatch::trace
