// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/note_semaphores.h"

#include <link.h>

#include <cstring>

#include "base/process/loader_walk.h"
#include "stack/elf/build_id_note.h"

namespace lagwatch::sdk {
namespace {

struct Change {
  const NoteSemaphores::Place& place;
  uint16_t by;
  bool is_done = false;
};

bool IsModule(const dl_phdr_info& info, const NoteSemaphores::Place& place) {
  return info.dlpi_addr == place.load_bias && LoadedBuildId(info) == place.build_id;
}

// Whether the module's data is there, which stays writable.
bool HoldsData(const dl_phdr_info& info, uint64_t begin, uint64_t end) {
  bool is_data = false;
  for (const auto* header = info.dlpi_phdr; header != info.dlpi_phdr + info.dlpi_phnum; ++header) {
    const uint64_t first = header->p_vaddr;
    const uint64_t last = header->p_vaddr + header->p_memsz;
    if (header->p_type == PT_GNU_RELRO && begin < last && first < end) return false;
    is_data |= header->p_type == PT_LOAD && (header->p_flags & PF_W) != 0 && first <= begin && end <= last;
  }
  return is_data;
}

// While the module cannot be unloaded.
int ChangeIn(dl_phdr_info* info, size_t, void* context) {
  auto* change = static_cast<Change*>(context);
  const uint64_t offset = change->place.offset;
  if (!IsModule(*info, change->place)) return 0;
  if (offset % sizeof(uint16_t) == 0 && HoldsData(*info, offset, offset + sizeof(uint16_t))) {
    __atomic_fetch_add(reinterpret_cast<uint16_t*>(info->dlpi_addr + offset), change->by, __ATOMIC_RELEASE);
    change->is_done = true;
  }
  return 1;
}

}  // namespace

std::string LoadedBuildId(const dl_phdr_info& info) {
  const auto read = [](uint64_t place, void* to, size_t size) {
    std::memcpy(to, reinterpret_cast<const void*>(place), size);
    return true;
  };
  for (const auto* header = info.dlpi_phdr; header != info.dlpi_phdr + info.dlpi_phnum; ++header) {
    if (header->p_type != PT_NOTE) continue;
    const auto note = stack::FindBuildIdNote(info.dlpi_addr + header->p_vaddr, header->p_memsz, read);
    if (note) return {reinterpret_cast<const char*>(note->place), note->size_bytes};
  }
  return {};
}

void NoteSemaphores::Raise(const Place& place) {
  Change change{place, 1};
  base::WalkLoadedModules(&ChangeIn, &change);
  if (change.is_done) raised_.push_back(place);
}

void NoteSemaphores::LowerAll() {
  for (const Place& place : raised_) {
    Change change{place, static_cast<uint16_t>(-1)};
    base::WalkLoadedModules(&ChangeIn, &change);
  }
  raised_.clear();
}

}  // namespace lagwatch::sdk
