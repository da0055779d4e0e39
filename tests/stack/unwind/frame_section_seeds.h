// SPDX-License-Identifier: Apache-2.0
// Unwind tables to begin fuzzing with: pieces of this process's own, and entries that no compiler writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process/safe_memory.h"
#include "stack/code/module_map.h"
#include "stack/frames/raw_stack.h"
#include "stack/unwind/tables/call_frame_info.h"
#include "stack/unwind/tables/eh_frame_search.h"

namespace lagwatch::stack::testing {

inline std::string Word32(uint32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// One CIE and a few of its functions, from each loaded module.
inline std::vector<std::string> PiecesOfLoadedTables() {
  constexpr size_t kMaxPieceBytes = 400;
  std::vector<std::string> pieces;
  ModuleMap modules;
  modules.Refresh();
  for (uint32_t i = 0; i < modules.module_count(); ++i) {
    uint64_t address = EhFrameAddress(modules.module(i));
    std::string piece(kMaxPieceBytes, '\0');
    if (address == 0) continue;
    piece.resize(base::ReadOwnMemory(address, piece.data(), piece.size()));
    if (!piece.empty()) pieces.push_back(piece);
  }
  return pieces;
}

// A .debug_frame: one CIE and one FDE with most of the instructions that there are.
inline std::string HandMadeDebugFrame() {
  const char registers[] = {Registers::kReturnAddress,
                            0x0c,
                            Registers::kStackPointer,
                            8,
                            static_cast<char>(0x80 | Registers::kReturnAddress),
                            1};
  std::string cie =
      Word32(UINT32_MAX) + std::string("\x01\0\x01\x78", 4) + std::string(registers, sizeof registers);
  std::string instructions(
      "\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x02\x04\x0c\x07\x08\xc6\x0b\x03\x01\x00\x11\x06\x7e\x12\x07\x7f"
      "\x13\x7e\x2f\x06\x02\x0f\x02\x77\x08\x10\x06\x02\x76\x00\x16\x03\x02\x76\x08\x2e\x10\x08\x06\x07\x10"
      "\x04"
      "\x01\x00\x00\x00\x15\x10\x01",
      57);
  uint64_t range[] = {0x10000, 0x2000};
  std::string fde =
      Word32(0) + std::string(reinterpret_cast<const char*>(range), sizeof range) + instructions;
  return Word32(static_cast<uint32_t>(cie.size())) + cie + Word32(static_cast<uint32_t>(fde.size())) + fde;
}

}  // namespace lagwatch::stack::testing
