// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/python/reader.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "stack/interpreters/bytes.h"
#include "stack/interpreters/native_words.h"
#include "stack/interpreters/python/layout.h"

namespace lagwatch::stack::python {
namespace {

constexpr uint64_t kBytesOffset = 32;  // of the content, in bytes

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

size_t FrameBytesOf(const PythonLayout& layout) {
  size_t bytes = 0;
  for (uint16_t word : {layout.caller, layout.code, layout.instruction})
    bytes = std::max(bytes, word + sizeof(uint64_t));
  for (uint16_t byte : {layout.is_entry, layout.owner}) {
    if (byte != kNone) bytes = std::max<size_t>(bytes, byte + 1);
  }
  return bytes;
}

}  // namespace

bool PythonReader::Attach(Memory* memory, const Symbols& symbols, int minor_hint) {
  if (symbols.runtime == 0 || symbols.code_type == 0 || symbols.text_type == 0 || symbols.bytes_type == 0)
    return false;
  if (symbols.version != 0 && !memory->Read(symbols.version, &version_)) return false;
  if (!FindLayout(memory, symbols.runtime, version_, minor_hint, &layout_)) return false;
  frame_bytes_ = FrameBytesOf(layout_);
  if (frame_bytes_ > kMostFrameBytes) return false;
  memory_ = memory;
  symbols_ = symbols;
  objects_.Attach(memory, symbols, &layout_);
  tasks_.Attach(&objects_, &layout_);
  return true;
}

bool PythonReader::Read(int tid, ScriptFunctions* functions, ScriptFrames* frames) {
  last_read_ = memory_->read_count() + kMostReads;
  for (int i = 0; i < kTries && !IsOverBudget(); ++i) {
    frames->count = 0;
    frames->is_cut = false;
    visited_count_ = 0;
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

uint64_t PythonReader::FindFrame(int tid, uint64_t* place) {
  ThreadState& hint = states_[static_cast<uint32_t>(tid) % states_.size()];
  uint64_t state = hint.state.load(std::memory_order_relaxed);  // checked
  if (hint.tid != tid || !IsThread(state, tid)) {
    const FoundState found = FindState(tid);
    state = found.state;
    hint.tid = tid;
    hint.interpreter = found.interpreter;
    hint.state.store(state, std::memory_order_relaxed);
  }
  if (state == 0) return 0;
  interpreter_ = hint.interpreter;
  *place = state + layout_.frame;
  uint64_t frame = 0;
  if (!memory_->Read(*place, &frame) || frame == 0) return 0;
  if (layout_.frame_in_cframe == kNone) return frame;
  *place = frame + layout_.frame_in_cframe;
  return memory_->Read(*place, &frame) ? frame : 0;
}

void PythonReader::CopyPieces(int tid, MemoryPieces* pieces) const {
  // Callers' frames lie right before those that they call, where frames are no objects (since 3.11).
  constexpr uint64_t kCallersBytes = 2048;
  const uint64_t state =
      states_[static_cast<uint32_t>(tid) % states_.size()].state.load(std::memory_order_relaxed);  // a hint
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

PythonReader::FoundState PythonReader::FindState(int tid) {
  return FindStateIf([&](uint64_t state) { return IsThread(state, tid); });
}

int PythonReader::TidOf(uint64_t state) {
  uint64_t id = 0;
  if (layout_.native_thread_id != kNone)
    return memory_->Read(state + layout_.native_thread_id, &id) ? static_cast<int>(id) : 0;
  int32_t tid = 0;
  const bool is_read =
      memory_->Read(state + layout_.pthread, &id) && id != 0 && memory_->Read(id + kGlibcTidOffset, &tid);
  return is_read ? tid : 0;
}

PythonReader::Outcome PythonReader::Walk(uint64_t frame, ScriptFunctions* functions, ScriptFrames* frames) {
  uint64_t next = frame;
  while (next != 0 && visited_count_ < visited_.size()) {
    std::array<uint8_t, kMostFrameBytes> bytes{};
    const uint64_t address = next;
    if (IsOverBudget() || !memory_->Read(address, bytes.data(), frame_bytes_))
      return frames->is_cut ? Outcome::kDone : Outcome::kChanged;
    next = MemberAt<uint64_t>(bytes, layout_.caller);
    if (layout_.owner != kNone && bytes[layout_.owner] == kOwnedByC) {
      if (frames->count != 0) frames->frames[frames->count - 1].ends_call = true;
      continue;
    }
    visited_[visited_count_++] = address;
    if (frames->count == ScriptFrames::kMost) {
      frames->is_cut = true;
      continue;
    }
    ScriptFrame& read = frames->frames[frames->count];
    if (!ReadFrame(bytes, functions, &read)) return Outcome::kChanged;
    const bool is_entry = layout_.is_entry != kNone && bytes[layout_.is_entry] != 0;
    const bool is_own_call = layout_.is_entry == kNone && layout_.owner == kNone;
    read.ends_call = is_entry || is_own_call || next == 0;
    ++frames->count;
  }
  return Outcome::kDone;
}

bool PythonReader::ReadFrame(std::span<const uint8_t> bytes, ScriptFunctions* functions, ScriptFrame* frame) {
  const auto code = MemberAt<uint64_t>(bytes, layout_.code);
  auto instruction = MemberAt<uint64_t>(bytes, layout_.instruction);
  if (layout_.bytecode == kNone) {
    constexpr uint64_t kUnitBytes = 2;  // of an index in 3.10
    instruction = (instruction & UINT32_MAX) * (layout_.lines == LineTable::kLineTable ? kUnitBytes : 1);
  } else {
    instruction -= code + layout_.bytecode;
  }
  return ReadPlace(code, instruction, functions, frame);
}

bool PythonReader::ReadPlace(uint64_t code, uint64_t instruction, ScriptFunctions* functions,
                             ScriptFrame* frame) {
  InstructionPlace& place = places_[base::HashWord(instruction, code) % places_.size()];
  const bool was_seen = place.code == code && place.instruction == instruction;
  if (objects_.IsOfType(code, symbols_.code_type) && ReadFunction(code, functions, &frame->function)) {
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

bool PythonReader::IsOnStack(uint64_t frame) const {
  const auto end = visited_.begin() + static_cast<ptrdiff_t>(visited_count_);
  return std::find(visited_.begin(), end, frame) != end;
}

bool PythonReader::ReadTask(ScriptFunctions* functions, TaskText* text) {
  constexpr int kMostAwaiters = 8;
  *text = {};
  std::array<Task, 16> current;
  const size_t count = tasks_.FindCurrent(interpreter_, current);
  const auto end = current.begin() + static_cast<ptrdiff_t>(count);
  const auto running =
      std::find_if(current.begin(), end, [&](const Task& task) { return IsOnStack(task.frame); });
  if (running == end || !AppendTask(*running, false, functions, text->name)) return false;
  Task task = *running;
  for (int i = 0; i < kMostAwaiters && !IsOverBudget(); ++i) {
    Task awaiter;
    if (!tasks_.FindAwaiter(task, &awaiter) || !AppendTask(awaiter, true, functions, text->awaiters)) break;
    task = awaiter;
  }
  return true;
}

bool PythonReader::AppendTask(const Task& task, bool with_line, ScriptFunctions* functions,
                              std::span<char> text) {
  char name[100];
  std::array<uint8_t, kMostFrameBytes> bytes{};
  ScriptFrame frame;
  const size_t name_size = tasks_.ReadName(task, name, sizeof name);
  if (name_size == 0 || !memory_->Read(task.frame, bytes.data(), frame_bytes_) ||
      !ReadFrame(bytes, functions, &frame))
    return false;
  const ScriptFunction function = functions->Find(frame.function);
  char line[16] = "";
  if (with_line && frame.line != 0) std::snprintf(line, sizeof line, ":%u", frame.line);
  const size_t used = std::strlen(text.data());
  const std::span<char> rest = text.subspan(used);
  const auto printed = static_cast<size_t>(std::snprintf(
      rest.data(), rest.size(), "%s%.*s %.*s() (%.*s%s)", used == 0 ? "" : ", ", static_cast<int>(name_size),
      name, static_cast<int>(function.name.size()), function.name.data(),
      static_cast<int>(function.file.size()), function.file.data(), line));
  if (printed < rest.size()) return true;
  rest[0] = '\0';
  return false;
}

bool PythonReader::ReadFunction(uint64_t code, ScriptFunctions* functions, uint64_t* function) {
  KnownFunction now{.code = code};
  if (!memory_->Read(code + layout_.file_name, &now.file_name) ||
      !memory_->Read(code + layout_.name, &now.name))
    return false;
  KnownFunction& known = known_[(code >> 4) % known_.size()];
  const bool is_known = known.code == now.code && known.file_name == now.file_name && known.name == now.name;
  if (is_known && !functions->Find(known.function).name.empty()) {
    *function = known.function;
    return true;
  }
  char name[ScriptFunctions::kMaxNameBytes];
  char file[1024];
  const size_t name_size = objects_.ReadText(now.name, name, sizeof name);
  const size_t file_size = objects_.ReadText(now.file_name, file, sizeof file);
  if (name_size == 0) return false;
  now.function = functions->Add({{name, name_size}, StablePath({file, file_size})});
  known = now;
  *function = now.function;
  return true;
}

uint32_t PythonReader::ReadLine(uint64_t code, uint64_t instruction) {
  constexpr uint64_t kMostCodeBytes = 1 << 24;
  int32_t first_line = 0;
  uint64_t table = 0;
  int64_t size = 0;
  if (!memory_->Read(code + layout_.first_line, &first_line) || first_line < 0) return 0;
  if (instruction >= kMostCodeBytes) return static_cast<uint32_t>(first_line);  // it has not begun
  if (!memory_->Read(code + layout_.line_table, &table) || !objects_.IsOfType(table, symbols_.bytes_type) ||
      !memory_->Read(table + kLengthOffset, &size) || size < 0)
    return 0;
  const size_t bytes = std::min<size_t>(static_cast<size_t>(size), table_.size());
  if (bytes != 0 && !memory_->Read(table + kBytesOffset, table_.data(), bytes)) return 0;
  return LineOf(layout_.lines, {table_.data(), bytes}, static_cast<uint32_t>(first_line),
                static_cast<uint32_t>(instruction));
}

}  // namespace lagwatch::stack::python
