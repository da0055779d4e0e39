// SPDX-License-Identifier: Apache-2.0
// The places of a thread's frames in HotSpot's memory. The JVM itself exports them, for its debugger: source:
// src/hotspot/share/runtime/vmStructs.cpp. Tried with JDK 17 and 25, on x86-64. Context: any (plain data).
#pragma once

#include <cstdint>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::jvm {

inline constexpr uint32_t kNone = UINT32_MAX;  // this version has no such member

// Offsets in bytes, unless a member's name says otherwise; addresses of static members.
struct JvmLayout {
  int32_t major_version = 0;

  uint64_t thread_list = 0;       // address, of a pointer
  uint64_t interpreter = 0;       // address, of a pointer to the queue of its parts
  uint64_t code_heaps = 0;        // address, of a pointer to an array that grows
  uint64_t call_stub_return = 0;  // address, of an address
  uint64_t heap = 0;              // address, of a pointer
  uint64_t counters = 0;          // address, of a pointer; 0 if there are none
  // Addresses of bases, and of shifts, of references and classes that are compressed.
  uint64_t narrow_oop_base = 0;
  uint64_t narrow_oop_shift = 0;
  uint64_t narrow_class_base = 0;
  uint64_t narrow_class_shift = 0;
  uint64_t version_address = 0;  // address

  uint32_t list_length = kNone;
  uint32_t list_threads = kNone;
  uint32_t os_thread = kNone;  // in a thread, as all until `pending_monitor`
  uint32_t anchor = kNone;
  uint32_t state = kNone;
  uint32_t thread_object = kNone;   // a pointer to its object's address
  uint32_t virtual_object = kNone;  // since JDK 19: the same of the virtual thread that it runs, or its own
  uint32_t stack_base = kNone;
  uint32_t stack_size = kNone;
  uint32_t waiting_monitor = kNone;
  uint32_t pending_monitor = kNone;
  uint32_t monitor_owner_id = kNone;  // since JDK 24
  uint32_t is_collecting = kNone;     // in the heap: a byte
  // Since JDK 21: the objects that the thread locked while no other thread waited for them.
  uint32_t lock_stack = kNone;
  uint32_t compiler_environment = kNone;  // in a compiler's thread
  uint32_t environment_task = kNone;
  uint32_t task_method = kNone;
  uint32_t thread_id = kNone;  // in an OS thread
  uint32_t monitor_owner = kNone;
  uint32_t monitor_object = kNone;  // a pointer to its object's address
  uint32_t lock_stack_top = kNone;  // in a lock stack: the end's offset in the thread
  uint32_t lock_stack_base = kNone;
  uint32_t last_sp = kNone;  // in an anchor, as the next two
  uint32_t last_fp = kNone;
  uint32_t last_pc = kNone;
  uint32_t wrapper_anchor = kNone;  // in a call wrapper

  uint32_t queue_buffer = kNone;
  uint32_t queue_limit = kNone;
  uint32_t array_length = kNone;
  uint32_t array_data = kNone;
  uint32_t heap_memory = kNone;
  uint32_t heap_segments = kNone;
  uint32_t heap_segment_shift = kNone;
  uint32_t space_low = kNone;
  uint32_t space_high = kNone;
  uint32_t block_used = kNone;
  uint32_t block_bytes = kNone;  // a size

  uint32_t blob_name = kNone;
  uint32_t blob_size = kNone;
  uint32_t blob_frame_words = kNone;
  uint32_t blob_frame_complete = kNone;
  uint32_t blob_code_begin = kNone;   // an address in the blob; or, since JDK 23,
  uint32_t blob_code_offset = kNone;  // an offset
  uint32_t blob_mutable_data = kNone;
  uint32_t blob_relocation_size = kNone;

  uint32_t compiled_method = kNone;  // in compiled code, as all until `scopes_data_offset`
  uint32_t deopt_handler_address = kNone;
  uint32_t deopt_handler_offset = kNone;
  uint32_t original_pc_offset = kNone;
  uint32_t metadata_offset = kNone;
  uint32_t pcs_offset = kNone;
  uint32_t pcs_end_offset = kNone;
  uint32_t scopes_data = kNone;  // an address in it; or, since JDK 23,
  uint32_t immutable_data = kNone;
  uint32_t scopes_data_offset = kNone;
  uint32_t pc_desc_bytes = kNone;  // a size

  uint32_t method_constants = kNone;  // in a method: its constant part
  uint32_t constant_pool = kNone;     // in that, as all until `const_method_bytes`
  uint32_t const_method_words = kNone;
  uint32_t flags = kNone;
  uint32_t code_size = kNone;
  uint32_t name_index = kNone;
  uint32_t const_method_bytes = kNone;  // a size
  uint32_t pool_holder = kNone;
  uint32_t pool_source_file = kNone;
  uint32_t pool_bytes = kNone;  // a size
  uint32_t class_name = kNone;
  uint32_t class_constants = kNone;
  uint32_t super_class = kNone;
  uint32_t class_state = kNone;
  uint32_t class_thread = kNone;       // that initializes it
  uint32_t being_initialized = kNone;  // a value of the state
  uint32_t fields = kNone;             // a table of them; or, since JDK 21,
  uint32_t field_stream = kNone;       // compressed numbers
  uint32_t symbol_length = kNone;
  uint32_t symbol_body = kNone;

  // UNSIGNED5 leaves out the byte 0 since JDK 20.
  bool has_no_zero_bytes() const { return major_version >= 20; }
  bool has_immutable_data() const { return immutable_data != kNone; }
};

// False for a module that is no HotSpot, and for one whose members are not all known. `is_hotspot` is set
// for the latter, too.
bool FindLayout(Memory* memory, const ExportedSymbols& exports, JvmLayout* layout, bool* is_hotspot);

// Reads a text that ends with a zero, cut to `size_bytes` - 1. False if it cannot be read.
bool ReadText(Memory* memory, uint64_t address, char* text, size_t size_bytes);

}  // namespace lagwatch::stack::jvm
