// SPDX-License-Identifier: Apache-2.0
// The mark of lagwatch's own commands, by which the preloaded library knows that it is in one of them,
// whatever way it came there: they never watch themselves, nor what they start for themselves.
#pragma once

#include <cstdint>

namespace lagwatch::sdk {

// A note of the program's ELF file: see elf(5).
struct CommandNote {
  uint32_t name_bytes = sizeof name;
  uint32_t content_bytes = 0;
  uint32_t type = 1;
  char name[12] = "lagwatch";  // a multiple of 4 bytes
};

// Whether this process runs such a command. Context: background.
bool IsOwnCommand();

}  // namespace lagwatch::sdk

// To be written once in each command's source of main(), outside of all namespaces.
#define LAGWATCH_MARK_COMMAND                     \
  __attribute__((section(".note.lagwatch"), used, \
                 aligned(4))) constinit const lagwatch::sdk::CommandNote lagwatch_command_note {}
