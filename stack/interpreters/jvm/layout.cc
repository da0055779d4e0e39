// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace lagwatch::stack::jvm {
namespace {

constexpr size_t kMostEntries = 4096;
constexpr size_t kMaxNameBytes = 64;

struct WantedOffset {
  std::string_view type;
  std::string_view field;
  uint32_t JvmLayout::*member;
};
// Members that were moved or renamed are there by each name.
constexpr WantedOffset kOffsets[] = {
    {"ThreadsList", "_length", &JvmLayout::list_length},
    {"ThreadsList", "_threads", &JvmLayout::list_threads},
    {"JavaThread", "_osthread", &JvmLayout::os_thread},
    {"Thread", "_osthread", &JvmLayout::os_thread},
    {"JavaThread", "_anchor", &JvmLayout::anchor},
    {"JavaThread", "_thread_state", &JvmLayout::state},
    {"JavaThread", "_threadObj", &JvmLayout::thread_object},
    {"JavaThread", "_vthread", &JvmLayout::virtual_object},
    {"JavaThread", "_stack_base", &JvmLayout::stack_base},
    {"Thread", "_stack_base", &JvmLayout::stack_base},
    {"JavaThread", "_stack_size", &JvmLayout::stack_size},
    {"Thread", "_stack_size", &JvmLayout::stack_size},
    {"JavaThread", "_current_pending_monitor", &JvmLayout::pending_monitor},
    {"JavaThread", "_current_waiting_monitor", &JvmLayout::waiting_monitor},
    {"JavaThread", "_monitor_owner_id", &JvmLayout::monitor_owner_id},
    {"CollectedHeap", "_is_gc_active", &JvmLayout::is_collecting},
    {"CollectedHeap", "_is_stw_gc_active", &JvmLayout::is_collecting},
    {"JavaThread", "_lock_stack", &JvmLayout::lock_stack},
    {"LockStack", "_top", &JvmLayout::lock_stack_top},
    {"LockStack", "_base[0]", &JvmLayout::lock_stack_base},
    {"ObjectMonitor", "_object", &JvmLayout::monitor_object},
    {"OSThread", "_thread_id", &JvmLayout::thread_id},
    {"ObjectMonitor", "_owner", &JvmLayout::monitor_owner},
    {"JavaFrameAnchor", "_last_Java_sp", &JvmLayout::last_sp},
    {"JavaFrameAnchor", "_last_Java_fp", &JvmLayout::last_fp},
    {"JavaFrameAnchor", "_last_Java_pc", &JvmLayout::last_pc},
    {"JavaCallWrapper", "_anchor", &JvmLayout::wrapper_anchor},
    {"StubQueue", "_stub_buffer", &JvmLayout::queue_buffer},
    {"StubQueue", "_buffer_limit", &JvmLayout::queue_limit},
    {"GrowableArrayBase", "_len", &JvmLayout::array_length},
    {"GrowableArray<int>", "_data", &JvmLayout::array_data},
    {"CodeHeap", "_memory", &JvmLayout::heap_memory},
    {"CodeHeap", "_segmap", &JvmLayout::heap_segments},
    {"CodeHeap", "_log2_segment_size", &JvmLayout::heap_segment_shift},
    {"VirtualSpace", "_low", &JvmLayout::space_low},
    {"VirtualSpace", "_high", &JvmLayout::space_high},
    {"HeapBlock::Header", "_used", &JvmLayout::block_used},
    {"CodeBlob", "_name", &JvmLayout::blob_name},
    {"CodeBlob", "_size", &JvmLayout::blob_size},
    {"CodeBlob", "_frame_size", &JvmLayout::blob_frame_words},
    {"CodeBlob", "_frame_complete_offset", &JvmLayout::blob_frame_complete},
    {"CodeBlob", "_code_begin", &JvmLayout::blob_code_begin},
    {"CodeBlob", "_code_offset", &JvmLayout::blob_code_offset},
    {"CodeBlob", "_mutable_data", &JvmLayout::blob_mutable_data},
    {"CodeBlob", "_relocation_size", &JvmLayout::blob_relocation_size},
    {"CompiledMethod", "_method", &JvmLayout::compiled_method},
    {"nmethod", "_method", &JvmLayout::compiled_method},
    {"CompiledMethod", "_deopt_handler_begin", &JvmLayout::deopt_handler_address},
    {"nmethod", "_deopt_handler_offset", &JvmLayout::deopt_handler_offset},
    {"nmethod", "_orig_pc_offset", &JvmLayout::original_pc_offset},
    {"nmethod", "_metadata_offset", &JvmLayout::metadata_offset},
    {"nmethod", "_scopes_pcs_offset", &JvmLayout::pcs_offset},
    {"nmethod", "_dependencies_offset", &JvmLayout::pcs_end_offset},
    {"CompiledMethod", "_scopes_data_begin", &JvmLayout::scopes_data},
    {"nmethod", "_immutable_data", &JvmLayout::immutable_data},
    {"nmethod", "_scopes_data_offset", &JvmLayout::scopes_data_offset},
    {"Method", "_constMethod", &JvmLayout::method_constants},
    {"ConstMethod", "_constants", &JvmLayout::constant_pool},
    {"ConstMethod", "_constMethod_size", &JvmLayout::const_method_words},
    {"ConstMethod", "_flags", &JvmLayout::flags},
    {"ConstMethod", "_flags._flags", &JvmLayout::flags},
    {"ConstMethod", "_code_size", &JvmLayout::code_size},
    {"ConstMethod", "_name_index", &JvmLayout::name_index},
    {"ConstantPool", "_pool_holder", &JvmLayout::pool_holder},
    {"ConstantPool", "_source_file_name_index", &JvmLayout::pool_source_file},
    {"Klass", "_name", &JvmLayout::class_name},
    {"InstanceKlass", "_constants", &JvmLayout::class_constants},
    {"Klass", "_super", &JvmLayout::super_class},
    {"InstanceKlass", "_fields", &JvmLayout::fields},
    {"InstanceKlass", "_fieldinfo_stream", &JvmLayout::field_stream},
    {"InstanceKlass", "_init_state", &JvmLayout::class_state},
    {"InstanceKlass", "_init_thread", &JvmLayout::class_thread},
    {"CompilerThread", "_env", &JvmLayout::compiler_environment},
    {"ciEnv", "_task", &JvmLayout::environment_task},
    {"CompileTask", "_method", &JvmLayout::task_method},
    {"Symbol", "_length", &JvmLayout::symbol_length},
    {"Symbol", "_body", &JvmLayout::symbol_body},
};

struct WantedAddress {
  std::string_view type;
  std::string_view field;
  uint64_t JvmLayout::*member;
};
constexpr WantedAddress kAddresses[] = {
    {"ThreadsSMRSupport", "_java_thread_list", &JvmLayout::thread_list},
    {"AbstractInterpreter", "_code", &JvmLayout::interpreter},
    {"CodeCache", "_heaps", &JvmLayout::code_heaps},
    {"StubRoutines", "_call_stub_return_address", &JvmLayout::call_stub_return},
    {"Universe", "_collectedHeap", &JvmLayout::heap},
    {"CompressedOops", "_narrow_oop._base", &JvmLayout::narrow_oop_base},
    {"CompressedOops", "_base", &JvmLayout::narrow_oop_base},
    {"CompressedOops", "_narrow_oop._shift", &JvmLayout::narrow_oop_shift},
    {"CompressedOops", "_shift", &JvmLayout::narrow_oop_shift},
    {"CompressedKlassPointers", "_narrow_klass._base", &JvmLayout::narrow_class_base},
    {"CompressedKlassPointers", "_base", &JvmLayout::narrow_class_base},
    {"CompressedKlassPointers", "_narrow_klass._shift", &JvmLayout::narrow_class_shift},
    {"CompressedKlassPointers", "_shift", &JvmLayout::narrow_class_shift},
    {"PerfMemory", "_start", &JvmLayout::counters},
    {"Abstract_VM_Version", "_vm_major_version", &JvmLayout::version_address},
};

struct WantedSize {
  std::string_view type;
  uint32_t JvmLayout::*member;
};
constexpr WantedSize kSizes[] = {
    {"HeapBlock", &JvmLayout::block_bytes},
    {"PcDesc", &JvmLayout::pc_desc_bytes},
    {"ConstMethod", &JvmLayout::const_method_bytes},
    {"ConstantPool", &JvmLayout::pool_bytes},
};

// Versions have one of two sets of these.
constexpr uint32_t JvmLayout::*kNewMembers[] = {
    &JvmLayout::blob_code_offset,     &JvmLayout::blob_mutable_data, &JvmLayout::blob_relocation_size,
    &JvmLayout::deopt_handler_offset, &JvmLayout::immutable_data,    &JvmLayout::scopes_data_offset};
constexpr uint32_t JvmLayout::*kOldMembers[] = {
    &JvmLayout::blob_code_begin, &JvmLayout::deopt_handler_address, &JvmLayout::metadata_offset,
    &JvmLayout::pcs_end_offset, &JvmLayout::scopes_data};

// Members without which the rest can be read.
constexpr uint32_t JvmLayout::*kOptionalMembers[] = {
    &JvmLayout::virtual_object, &JvmLayout::monitor_owner_id, &JvmLayout::lock_stack,
    &JvmLayout::lock_stack_top, &JvmLayout::lock_stack_base,  &JvmLayout::fields,
    &JvmLayout::field_stream};

// One of the JVM's exported tables.
class Table {
 public:
  Table(Memory* memory, const ExportedSymbols& exports, const char* table, const char* stride)
      : memory_(memory) {
    memory_->Read(exports.Find(table), &entry_);
    memory_->Read(exports.Find(stride), &stride_);
  }
  // Calls `take` with each entry, as so many words, until one begins with 0.
  template <size_t kWords, typename Take>
  void ForEach(Take take) {
    if (stride_ < kWords * sizeof(uint64_t) || stride_ > 256) return;
    for (size_t i = 0; entry_ != 0 && i < kMostEntries; ++i, entry_ += stride_) {
      std::array<uint64_t, kWords> words{};
      if (!memory_->Read(entry_, words.data(), sizeof words) || words[0] == 0) return;
      take(words);
    }
  }

 private:
  Memory* memory_;
  uint64_t entry_ = 0;
  uint64_t stride_ = 0;
};

// Texts of the tables, of which types come many times in a row.
class Names {
 public:
  explicit Names(Memory* memory) : memory_(memory) {}
  std::string_view Read(uint64_t address) {
    if (address == last_address_) return last_;
    last_address_ = address;
    if (!ReadText(memory_, address, last_, sizeof last_)) last_[0] = '\0';
    return last_;
  }

 private:
  Memory* memory_;
  uint64_t last_address_ = 0;
  char last_[kMaxNameBytes] = "";
};

void ReadFields(Memory* memory, const ExportedSymbols& exports, JvmLayout* layout) {
  Names types(memory);
  Names fields(memory);
  Table table(memory, exports, "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride");
  // An entry: type, field, type of the field, whether it is static, offset, address.
  table.ForEach<6>([&](const std::array<uint64_t, 6>& entry) {
    const std::string_view type = types.Read(entry[0]);
    const bool is_static = (entry[3] & UINT32_MAX) != 0;
    const auto is_of_type = [&](const auto& wanted) { return wanted.type == type; };
    if (is_static ? std::ranges::none_of(kAddresses, is_of_type) : std::ranges::none_of(kOffsets, is_of_type))
      return;
    const std::string_view field = fields.Read(entry[1]);
    for (const WantedOffset& wanted : kOffsets) {
      if (!is_static && is_of_type(wanted) && wanted.field == field)
        layout->*wanted.member = static_cast<uint32_t>(entry[4]);
    }
    for (const WantedAddress& wanted : kAddresses) {
      if (is_static && is_of_type(wanted) && wanted.field == field) layout->*wanted.member = entry[5];
    }
  });
}

void ReadSizes(Memory* memory, const ExportedSymbols& exports, JvmLayout* layout) {
  Names types(memory);
  uint64_t size_offset = 0;
  memory->Read(exports.Find("gHotSpotVMTypeEntrySizeOffset"), &size_offset);
  if (size_offset != 4 * sizeof(uint64_t)) return;
  Table table(memory, exports, "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride");
  // An entry: type, superclass, three flags, size.
  table.ForEach<5>([&](const std::array<uint64_t, 5>& entry) {
    const std::string_view type = types.Read(entry[0]);
    for (const WantedSize& wanted : kSizes) {
      if (wanted.type == type) layout->*wanted.member = static_cast<uint32_t>(entry[4]);
    }
  });
}

void ReadConstants(Memory* memory, const ExportedSymbols& exports, JvmLayout* layout) {
  Names names(memory);
  Table table(memory, exports, "gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride");
  // An entry: name, value.
  table.ForEach<2>([&](const std::array<uint64_t, 2>& entry) {
    if (names.Read(entry[0]) == "InstanceKlass::being_initialized")
      layout->being_initialized = static_cast<uint32_t>(entry[1]);
  });
}

bool HasAll(const JvmLayout& layout, const auto& members) {
  return std::ranges::all_of(members, [&](uint32_t JvmLayout::*member) { return layout.*member != kNone; });
}

bool IsComplete(const JvmLayout& layout) {
  for (const WantedAddress& wanted : kAddresses) {
    if (layout.*wanted.member == 0 && wanted.member != &JvmLayout::counters) return false;
  }
  const auto is_in = [](const auto& members, uint32_t JvmLayout::*member) {
    return std::ranges::find(members, member) != std::ranges::end(members);
  };
  for (const WantedOffset& wanted : kOffsets) {
    if (layout.*wanted.member == kNone && !is_in(kNewMembers, wanted.member) &&
        !is_in(kOptionalMembers, wanted.member) && !is_in(kOldMembers, wanted.member))
      return false;
  }
  for (const WantedSize& wanted : kSizes) {
    if (layout.*wanted.member == kNone) return false;
  }
  if (layout.pc_desc_bytes != 16) return false;
  return layout.has_immutable_data() ? HasAll(layout, kNewMembers) : HasAll(layout, kOldMembers);
}

}  // namespace

bool FindLayout(Memory* memory, const ExportedSymbols& exports, JvmLayout* layout, bool* is_hotspot) {
  *is_hotspot = exports.Find("gHotSpotVMStructs") != 0;
  if (!*is_hotspot) return false;
  ReadFields(memory, exports, layout);
  ReadSizes(memory, exports, layout);
  ReadConstants(memory, exports, layout);
  memory->Read(layout->version_address, &layout->major_version);
  return IsComplete(*layout);
}

bool ReadText(Memory* memory, uint64_t address, char* text, size_t size_bytes) {
  constexpr uint64_t kPageBytes = 4096;
  size_t size = 0;
  while (size < size_bytes) {  // twice at most: what follows a page may not be mapped
    const size_t part = std::min<size_t>(size_bytes - size, kPageBytes - (address + size) % kPageBytes);
    if (!memory->Read(address + size, text + size, part)) return false;
    size += part;
    if (std::memchr(text, '\0', size) != nullptr) return true;
  }
  text[size_bytes - 1] = '\0';
  return true;
}

}  // namespace lagwatch::stack::jvm
