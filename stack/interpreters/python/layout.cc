// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/python/layout.h"

#include <array>
#include <cstring>

namespace lagwatch::stack::python {
namespace {

constexpr PythonLayout k3_8{.interpreters = 32,
                            .next_interpreter = 0,
                            .threads = 8,
                            .next_thread = 8,
                            .pthread = 176,
                            .native_thread_id = kNone,
                            .frame = 24,
                            .frame_in_cframe = kNone,
                            .caller = 24,
                            .code = 32,
                            .instruction = 104,
                            .is_entry = kNone,
                            .owner = kNone,
                            .file_name = 104,
                            .name = 112,
                            .first_line = 40,
                            .line_table = 120,
                            .bytecode = kNone,
                            .ascii_text = 48,
                            .wide_text = 72,
                            .has_pointer_to_lock = false,
                            .lock = 1152,
                            .lock_holder = 8,
                            .is_locked = 16,
                            .modules = 56,
                            .has_frame_in_coroutine = false,
                            .coroutine_frame = 16,
                            .task_coroutine = 112,
                            .lines = LineTable::kLnotab};

constexpr PythonLayout Of3_9() {
  PythonLayout layout = k3_8;
  layout.lock = 352;
  layout.modules = 856;
  layout.task_coroutine = 152;
  return layout;
}

constexpr PythonLayout Of3_10() {
  PythonLayout layout = Of3_9();
  layout.instruction = 96;
  layout.task_coroutine = 160;
  layout.lines = LineTable::kLineTable;
  return layout;
}

constexpr PythonLayout k3_11{.interpreters = 40,
                             .next_interpreter = 0,
                             .threads = 16,
                             .next_thread = 8,
                             .pthread = 152,
                             .native_thread_id = 160,
                             .frame = 56,
                             .frame_in_cframe = 8,
                             .caller = 48,
                             .code = 32,
                             .instruction = 56,
                             .is_entry = 68,
                             .owner = kNone,
                             .file_name = 112,
                             .name = 128,
                             .first_line = 72,
                             .line_table = 136,
                             .bytecode = 184,
                             .ascii_text = 48,
                             .wide_text = 72,
                             .has_pointer_to_lock = false,
                             .lock = 360,
                             .lock_holder = 8,
                             .is_locked = 16,
                             .modules = 888,
                             .has_frame_in_coroutine = true,
                             .coroutine_frame = 80,
                             .task_coroutine = 136,
                             .lines = LineTable::kLocations};

constexpr PythonLayout Of3_12() {
  PythonLayout layout = k3_11;
  layout.threads = 72;
  layout.pthread = 136;
  layout.native_thread_id = 144;
  layout.frame_in_cframe = 0;
  layout.caller = 8;
  layout.code = 0;
  layout.is_entry = kNone;
  layout.owner = 70;
  layout.first_line = 68;
  layout.bytecode = 192;
  layout.ascii_text = 40;
  layout.wide_text = 56;
  layout.has_pointer_to_lock = true;
  layout.lock = 384;
  layout.modules = 944;
  layout.coroutine_frame = 72;
  return layout;
}

// The words of _Py_DebugOffsets that are needed, as indexes of 8 bytes in version 3.13.
struct DebugOffsets {
  static constexpr size_t kWords = 44;
  std::array<uint64_t, kWords> words;

  bool IsValid() const { return std::memcmp(words.data(), "xdebugpy", 8) == 0; }
  bool HasGil() const { return words[2] == 0; }
  uint16_t at(size_t index) const {
    return words[index] < kNone ? static_cast<uint16_t>(words[index]) : kNone;
  }
};

bool ReadDebugOffsets(Memory* memory, uint64_t runtime, PythonLayout* layout) {
  DebugOffsets offsets;
  if (!memory->Read(runtime, &offsets.words) || !offsets.IsValid() || !offsets.HasGil()) return false;
  *layout = Of3_12();
  layout->interpreters = offsets.at(5);
  layout->next_interpreter = offsets.at(8);
  layout->threads = offsets.at(9);
  layout->modules = offsets.at(11);
  layout->lock = offsets.at(14);
  layout->is_locked = offsets.at(17);
  layout->lock_holder = offsets.at(18);
  layout->next_thread = offsets.at(21);
  layout->frame = offsets.at(23);
  layout->frame_in_cframe = kNone;
  layout->pthread = offsets.at(24);
  layout->native_thread_id = offsets.at(25);
  layout->caller = offsets.at(29);
  layout->code = offsets.at(30);
  layout->instruction = offsets.at(31);
  layout->owner = offsets.at(33);
  layout->file_name = offsets.at(35);
  layout->name = offsets.at(37);
  layout->line_table = offsets.at(38);
  layout->first_line = offsets.at(39);
  layout->bytecode = offsets.at(43);
  layout->task_coroutine = 120;
  return true;
}

}  // namespace

bool FindLayout(Memory* memory, uint64_t runtime, uint32_t version, int minor_hint, PythonLayout* layout) {
  const int minor = version != 0 ? static_cast<int>(version >> 16 & 0xff) : minor_hint;
  if (version != 0 && version >> 24 != 3) return false;
  switch (minor) {
    case 8:
      *layout = k3_8;
      return true;
    case 9:
      *layout = Of3_9();
      return true;
    case 10:
      *layout = Of3_10();
      return true;
    case 11:
      *layout = k3_11;
      return true;
    case 12:
      *layout = Of3_12();
      return true;
    case 13:
      return ReadDebugOffsets(memory, runtime, layout);
    default:
      return false;
  }
}

bool IsFreeThreaded(Memory* memory, uint64_t runtime) {
  DebugOffsets offsets;
  return memory->Read(runtime, &offsets.words) && offsets.IsValid() && !offsets.HasGil();
}

}  // namespace lagwatch::stack::python
