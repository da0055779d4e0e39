// SPDX-License-Identifier: Apache-2.0
// The counts by which notes of <sys/sdt.h> know that they are listened to: a program may compute a note's
// arguments only then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct dl_phdr_info;  // of link.h

namespace lagwatch::sdk {

// Of a module that cannot be unloaded meanwhile, raw; empty if it has none. Context: background.
std::string LoadedBuildId(const dl_phdr_info& info);

// Context: background, one thread.
class NoteSemaphores {
 public:
  struct Place {
    uint64_t load_bias;
    std::string build_id;  // of the module, raw; may be empty
    uint64_t offset;       // in the file's own address space
  };
  // Counts up. Places that are not in a loaded module's own data are left out.
  void Raise(const Place& place);
  // Counts all down again, if their modules are still loaded.
  void LowerAll();

 private:
  std::vector<Place> raised_;
};

}  // namespace lagwatch::sdk
