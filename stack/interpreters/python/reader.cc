// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/python/reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "stack/interpreters/python/lines.h"
#include "stack/interpreters/text.h"

namespace lagwatch::stack::python {
namespace {

constexpr uint64_t kTypeOffset = 8;          // in an object
constexpr uint64_t kLengthOffset = 16;       // in a text and in bytes
constexpr uint64_t kTextStateOffset = 32;    // in a text
constexpr uint64_t kBytesOffset = 32;        // of the content, in bytes
constexpr uint64_t kGlibcTidOffset = 0x2d0;  // in what a pthread_t points to; checked by its value

// The part of a file's path that is the same on all machines: below a directory of libraries, else its name.
std::string_view StablePath(std::string_view path) {
  for (std::string_view directory : {"site-packages/", "dist-packages/"}) {
    if (const size_t at = path.rfind(directory); at != path.npos) return path.substr(at + directory.size());
  }
  if (const size_t at = path.rfind("/lib/python3"); at != path.npos) {
    const size_t slash = path.find('/', at + 12);
    if (slash != path.npos) return path.substr(slash + 1);
  }
  return path.substr(path.rfind('/') + 1);
}

size_t FrameBytesOf(const Layout& layout) {
  size_t bytes = 0;
  for (uint16_t word : {layout.caller, layout.code, layout.instruction})
    bytes = std::max(bytes, word + sizeof(uint64_t));
  for (uint16_t byte : {layout.is_entry, layout.owner}) {
    if (byte != kNone) bytes = std::max<size_t>(bytes, byte + 1);
  }
  return bytes;
}

}  // namespace

Reader::Symbols Reader::Symbols::Of(const ExportedSymbols& exports) {
  return {.runtime = exports.Find("_PyRuntime"),
          .code_type = exports.Find("PyCode_Type"),
          .text_type = exports.Find("PyUnicode_Type"),
          .bytes_type = exports.Find("PyBytes_Type"),
          .version = exports.Find("Py_Version")};
}

bool Reader::Attach(Memory* memory, const Symbols& symbols, int minor_hint) {
  if (symbols.runtime == 0 || symbols.code_type == 0 || symbols.text_type == 0 || symbols.bytes_type == 0)
    return false;
  if (symbols.version != 0 && !memory->Read(symbols.version, &version_)) return false;
  if (!FindLayout(memory, symbols.runtime, version_, minor_hint, &layout_)) return false;
  frame_bytes_ = FrameBytesOf(layout_);
  if (frame_bytes_ > kMostFrameBytes) return false;
  memory_ = memory;
  symbols_ = symbols;
  return true;
}

bool Reader::Read(int tid, ScriptFunctions* functions, ScriptFrames* frames) {
  last_read_ = memory_->read_count() + kMostReads;
  for (int i = 0; i < kTries && !IsOverBudget(); ++i) {
    frames->count = 0;
    frames->is_cut = false;
    uint64_t place = 0;
    const uint64_t frame = FindFrame(tid, &place);
    if (frame == 0) return false;
    uint64_t after = 0;
    if (Walk(frame, functions, frames) != Outcome::kDone) continue;
    // The stack of a thread that never rests has changed a little meanwhile, every time.
    const bool is_same = memory_->Read(place, &after) && after == frame;
    if (is_same || i == kTries - 1) return frames->count != 0;
  }
  return false;
}

uint64_t Reader::FindFrame(int tid, uint64_t* place) {
  ThreadState& hint = states_[static_cast<uint32_t>(tid) % states_.size()];
  uint64_t state = hint.load(std::memory_order_relaxed);  // checked
  if (!IsThread(state, tid)) hint.store(state = FindState(tid), std::memory_order_relaxed);
  if (state == 0) return 0;
  *place = state + layout_.frame;
  uint64_t frame = 0;
  if (!memory_->Read(*place, &frame) || frame == 0) return 0;
  if (layout_.frame_in_cframe == kNone) return frame;
  *place = frame + layout_.frame_in_cframe;
  return memory_->Read(*place, &frame) ? frame : 0;
}

void Reader::CopyPieces(int tid, MemoryPieces* pieces) const {
  // Callers' frames lie right before those that they call, where frames are no objects (since 3.11).
  constexpr uint64_t kCallersBytes = 2048;
  const uint64_t state =
      states_[static_cast<uint32_t>(tid) % states_.size()].load(std::memory_order_relaxed);  // a hint
  if (state == 0) return;
  const uint16_t id = layout_.native_thread_id != kNone ? layout_.native_thread_id : layout_.pthread;
  const uint16_t begin = std::min(id, layout_.frame);
  const uint8_t* words = pieces->Copy(state + begin, std::max(id, layout_.frame) + sizeof(uint64_t) - begin);
  if (words == nullptr) return;
  const auto word_at = [](const uint8_t* bytes, size_t offset) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + offset, sizeof word);
    return word;
  };
  uint64_t frame = word_at(words, layout_.frame - begin);
  if (layout_.frame_in_cframe != kNone) {
    const uint8_t* place = pieces->Copy(frame + layout_.frame_in_cframe, sizeof(uint64_t));
    if (place == nullptr) return;
    frame = word_at(place, 0);
  }
  constexpr size_t kMostFrames = 2 * ScriptFrames::kMost;  // with those that stand for calls by C
  for (size_t i = 0; frame != 0 && i < kMostFrames; ++i) {
    const uint8_t* bytes = pieces->Find(frame, frame_bytes_);
    const bool has_callers_before = layout_.bytecode != kNone && frame > kCallersBytes;
    if (bytes == nullptr && has_callers_before) {
      bytes = pieces->Copy(frame - kCallersBytes, kCallersBytes + frame_bytes_);
      if (bytes != nullptr) bytes += kCallersBytes;
    }
    if (bytes == nullptr) bytes = pieces->Copy(frame, frame_bytes_);
    if (bytes == nullptr) return;
    pieces->AddToKey(word_at(bytes, layout_.code));
    pieces->AddToKey(word_at(bytes, layout_.instruction));
    frame = word_at(bytes, layout_.caller);
  }
  pieces->MarkWhole();
}

uint64_t Reader::FindState(int tid) {
  uint64_t interpreter = 0;
  memory_->Read(symbols_.runtime + layout_.interpreters, &interpreter);
  for (int i = 0; interpreter != 0 && i < kMostInterpreters; ++i) {
    uint64_t state = 0;
    memory_->Read(interpreter + layout_.threads, &state);
    for (int j = 0; state != 0 && j < kMostThreads && !IsOverBudget(); ++j) {
      if (IsThread(state, tid)) return state;
      if (!memory_->Read(state + layout_.next_thread, &state)) return 0;
    }
    if (!memory_->Read(interpreter + layout_.next_interpreter, &interpreter)) return 0;
  }
  return 0;
}

int Reader::TidOf(uint64_t state) {
  uint64_t id = 0;
  if (layout_.native_thread_id != kNone)
    return memory_->Read(state + layout_.native_thread_id, &id) ? static_cast<int>(id) : 0;
  int32_t tid = 0;
  const bool is_read =
      memory_->Read(state + layout_.pthread, &id) && id != 0 && memory_->Read(id + kGlibcTidOffset, &tid);
  return is_read ? tid : 0;
}

std::optional<ScriptLock> Reader::FindLock(uint64_t address) {
  uint64_t interpreter = 0;
  memory_->Read(symbols_.runtime + layout_.interpreters, &interpreter);
  for (int i = 0; interpreter != 0 && i < kMostInterpreters; ++i) {
    uint64_t lock = symbols_.runtime + layout_.lock;
    if (layout_.has_pointer_to_lock && !memory_->Read(interpreter + layout_.lock, &lock)) return {};
    if (lock <= address && address < lock + kLockBytes) {
      uint64_t holder = 0;
      uint64_t turn = 0;
      int32_t is_locked = 0;
      const bool is_held = memory_->Read(lock + layout_.is_locked, &is_locked) && is_locked == 1 &&
                           memory_->Read(lock + layout_.is_locked + 8, &turn) &&
                           memory_->Read(lock + layout_.lock_holder, &holder) && holder != 0;
      const int tid = is_held ? TidOf(holder) : 0;
      return tid != 0 ? std::optional<ScriptLock>({lock, turn, tid}) : std::nullopt;
    }
    if (!layout_.has_pointer_to_lock || !memory_->Read(interpreter + layout_.next_interpreter, &interpreter))
      return {};
  }
  return {};
}

Reader::Outcome Reader::Walk(uint64_t frame, ScriptFunctions* functions, ScriptFrames* frames) {
  uint64_t next = frame;
  while (next != 0) {
    if (IsOverBudget()) return Outcome::kChanged;
    std::array<uint8_t, kMostFrameBytes> bytes;
    if (!memory_->Read(next, bytes.data(), frame_bytes_)) return Outcome::kChanged;
    const auto word = [&](uint16_t offset) {
      uint64_t value = 0;
      std::memcpy(&value, &bytes[offset], sizeof value);
      return value;
    };
    next = word(layout_.caller);
    if (layout_.owner != kNone && bytes[layout_.owner] == kOwnedByC) {
      if (frames->count != 0) frames->frames[frames->count - 1].ends_call = true;
      continue;
    }
    if (frames->count == ScriptFrames::kMost) {
      frames->is_cut = true;
      return Outcome::kDone;
    }
    const uint64_t code = word(layout_.code);
    uint64_t instruction = word(layout_.instruction);
    if (layout_.bytecode == kNone) {
      constexpr uint64_t kUnitBytes = 2;  // of an index in 3.10
      instruction = (instruction & UINT32_MAX) * (layout_.lines == LineTable::kLineTable ? kUnitBytes : 1);
    } else {
      instruction -= code + layout_.bytecode;
    }
    const bool is_entry = layout_.is_entry != kNone && bytes[layout_.is_entry] != 0;
    const bool is_own_call = layout_.is_entry == kNone && layout_.owner == kNone;
    ScriptFrame& script = frames->frames[frames->count];
    if (!ReadPlace(code, instruction, functions, &script)) return Outcome::kChanged;
    script.ends_call = is_entry || is_own_call || next == 0;
    ++frames->count;
  }
  return Outcome::kDone;
}

bool Reader::ReadPlace(uint64_t code, uint64_t instruction, ScriptFunctions* functions, ScriptFrame* frame) {
  Place& place = places_[base::HashWord(instruction, code) % places_.size()];
  const bool was_seen = place.code == code && place.instruction == instruction;
  if (IsOfType(code, symbols_.code_type) && ReadFunction(code, functions, &frame->function)) {
    frame->line = ReadLine(code, instruction);
    if (frame->line == 0 && was_seen && place.function == frame->function) frame->line = place.line;
    place = {code, instruction, frame->function, frame->line};
    return true;
  }
  // The code has gone since the thread was sampled, as all code does when Python ends.
  if (!was_seen || functions->Find(place.function).name.empty()) return false;
  frame->function = place.function;
  frame->line = place.line;
  return true;
}

bool Reader::ReadFunction(uint64_t code, ScriptFunctions* functions, uint64_t* function) {
  Known now{.code = code};
  if (!memory_->Read(code + layout_.file_name, &now.file_name) ||
      !memory_->Read(code + layout_.name, &now.name))
    return false;
  Known& known = known_[(code >> 4) % known_.size()];
  const bool is_known = known.code == now.code && known.file_name == now.file_name && known.name == now.name;
  if (is_known && !functions->Find(known.function).name.empty()) {
    *function = known.function;
    return true;
  }
  char name[ScriptFunctions::kMaxNameBytes];
  char file[1024];
  const size_t name_size = ReadText(now.name, name, sizeof name);
  const size_t file_size = ReadText(now.file_name, file, sizeof file);
  if (name_size == 0) return false;
  now.function = functions->Add({{name, name_size}, StablePath({file, file_size})});
  known = now;
  *function = now.function;
  return true;
}

uint32_t Reader::ReadLine(uint64_t code, uint64_t instruction) {
  constexpr uint64_t kMostCodeBytes = 1 << 24;
  int32_t first_line = 0;
  uint64_t table = 0;
  int64_t size = 0;
  if (!memory_->Read(code + layout_.first_line, &first_line) || first_line < 0) return 0;
  if (instruction >= kMostCodeBytes) return static_cast<uint32_t>(first_line);  // it has not begun
  if (!memory_->Read(code + layout_.line_table, &table) || !IsOfType(table, symbols_.bytes_type) ||
      !memory_->Read(table + kLengthOffset, &size) || size < 0)
    return 0;
  const size_t bytes = std::min<size_t>(static_cast<size_t>(size), table_.size());
  if (bytes != 0 && !memory_->Read(table + kBytesOffset, table_.data(), bytes)) return 0;
  return LineOf(layout_.lines, {table_.data(), bytes}, static_cast<uint32_t>(first_line),
                static_cast<uint32_t>(instruction));
}

bool Reader::IsOfType(uint64_t object, uint64_t type) {
  uint64_t found = 0;
  return object != 0 && object % 8 == 0 && memory_->Read(object + kTypeOffset, &found) && found == type;
}

size_t Reader::ReadText(uint64_t object, char* text, size_t size_bytes) {
  constexpr int64_t kMostLetters = 4096;
  constexpr uint32_t kIsCompact = 1 << 5;
  constexpr uint32_t kIsAscii = 1 << 6;
  int64_t length = 0;
  uint32_t state = 0;
  if (!IsOfType(object, symbols_.text_type) || !memory_->Read(object + kLengthOffset, &length) ||
      !memory_->Read(object + kTextStateOffset, &state))
    return 0;
  if (length <= 0 || length > kMostLetters || (state & kIsCompact) == 0) return 0;
  const uint32_t letter_bytes = state >> 2 & 7;
  if (letter_bytes != 1 && letter_bytes != 2 && letter_bytes != 4) return 0;
  const uint64_t begin = object + ((state & kIsAscii) != 0 ? layout_.ascii_text : layout_.wide_text);
  // The end of a path says more than its beginning.
  const auto letters = static_cast<uint64_t>(length);
  const uint64_t kept = std::min<uint64_t>(letters, size_bytes);
  std::array<uint8_t, 4096> raw;
  const uint64_t kept_bytes =
      std::min<uint64_t>(kept * letter_bytes, raw.size()) / letter_bytes * letter_bytes;
  if (!memory_->Read(begin + letters * letter_bytes - kept_bytes, raw.data(), kept_bytes)) return 0;
  size_t size = 0;
  for (uint64_t i = 0; i < kept_bytes; i += letter_bytes) {
    uint32_t point = 0;
    for (uint32_t byte = 0; byte < letter_bytes; ++byte) point |= uint32_t{raw[i + byte]} << (8 * byte);
    AppendUtf8(point, text, size_bytes, &size);
  }
  return size;
}

}  // namespace lagwatch::stack::python
