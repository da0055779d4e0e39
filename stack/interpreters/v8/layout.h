// SPDX-License-Identifier: Apache-2.0
// The places of frames and functions in V8's memory. Source: the constants that V8 exports for debuggers
// (v8dbg_*, tools/gen-postmortem-metadata.py), and, for the few that it does not export, the object layouts
// of versions 10.2 to 13.6 (Node 18 to 24) on 64-bit systems without pointer compression. Context: any (plain
// data).
#pragma once

#include <cstdint>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::v8 {

struct Version {
  int32_t major = 0;
  int32_t minor = 0;
};

// Offsets in bytes from an object's first byte, where its map is.
struct V8Layout {
  // In a frame, from its frame pointer.
  int32_t context_or_type;
  int32_t function;
  int32_t bytecode_array;
  int32_t bytecode_offset;
  // The interpreter's registers, by the numbers of stack::Registers; -1: not known.
  int32_t bytecode_array_register;
  int32_t bytecode_offset_register;
  // The numbers of frames that begin and end runs of script code.
  int32_t entry_frame;
  int32_t construct_entry_frame;
  // Those of frames that call C++; -1: this version has none.
  int32_t exit_frame;
  int32_t builtin_exit_frame;  // a built-in function in C++
  int32_t callback_exit_frame;
  int32_t accessor_exit_frame;
  int32_t instance_type;  // in a map
  int32_t shared;         // in a function, as all until `function_data` in its shared part
  int32_t name_or_scope;
  int32_t script;
  int32_t function_data;
  int32_t builtin_id;
  int32_t function_flags;
  int32_t script_source;
  int32_t script_name;
  int32_t script_line_offset;
  int32_t bytecodes;  // in a bytecode array: the first instruction
  int32_t position_table;
  int32_t string_length;  // in a string, as all until `thin_actual`
  int32_t string_characters;
  int32_t external_data;
  int32_t cons_first;
  int32_t cons_second;
  int32_t sliced_parent;
  int32_t sliced_offset;
  int32_t thin_actual;
  int32_t scope_variables;  // in a scope: the index of the first word after those that are always there
  int32_t scope_local_count;
  // Instance types.
  int32_t function_type;
  int32_t shared_type;
  int32_t scope_type;
  int32_t script_type;
  int32_t debug_info_type;
  int32_t bytecode_array_type;
  int32_t byte_array_type;
  int32_t trusted_byte_array_type;  // -1: there are none
  int32_t code_type;
  int32_t map_type;
  int32_t stream_type;
  // Compiled code.
  int32_t function_code;         // in a function; -1: it has none
  bool code_holds_instructions;  // after its members, until version 10; later it points to them
  int32_t code_deoptimization;   // in a code object, as all until `code_size`
  int32_t code_positions;        // of baseline code: of bytecodes
  int32_t code_start;
  int32_t code_size;
  int32_t code_of_stream;  // in the object that the instructions are in
  int32_t literals;        // indexes in what a code object has for deoptimization
  int32_t inlinings;
};

bool IsExitFrame(const V8Layout& layout, int32_t number);

// Whether `exports` are V8's.
bool IsV8(const ExportedSymbols& exports);

// False for versions that are not known, and those with compressed pointers; `version` is set if it is there.
bool FindLayout(Memory* memory, const ExportedSymbols& exports, Version* version, V8Layout* layout);

}  // namespace lagwatch::stack::v8
