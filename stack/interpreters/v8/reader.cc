// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/v8/reader.h"

#include <algorithm>
#include <string_view>

namespace lagwatch::stack::v8 {
namespace {

constexpr int32_t kScriptOfDebugInfo = 24;
constexpr int32_t kFunctionTypes = 32;  // that follow each other: constructors have types of their own

// The part of a script's name that is the same on all machines.
std::string_view StablePath(std::string_view path) {
  constexpr std::string_view kPackages = "node_modules/";
  if (path.starts_with("node:")) return path;
  if (const size_t at = path.rfind(kPackages); at != path.npos) return path.substr(at + kPackages.size());
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

bool V8Reader::Attach(Memory* memory, const ExportedSymbols& exports) {
  if (!FindLayout(memory, exports, &version_, &layout_)) return false;
  heap_.Attach(memory, &layout_);
  compiled_.Attach(&heap_, &layout_, version_, exports);
  return true;
}

void V8Reader::BeginStack() {
  last_read_ = heap_.memory().read_count() + kMostReads;
  lines_.BeginStack();
}

bool V8Reader::ReadRun(const RunStart& start, const StackWords& stack, CodeKinds* code,
                       ScriptFunctions* functions, ScriptFrames* frames, uint64_t* end) {
  constexpr uint64_t kMostTypes = 64;
  // From the bytecode's offset to the function that a frame of C++ was called for.
  constexpr int32_t kBuiltin = 24;
  std::array<uint64_t, 9> words{};
  const auto word = [&](int32_t offset) {
    return words[static_cast<size_t>((offset - layout_.bytecode_offset) / 8)];
  };
  if (layout_.bytecode_offset != -40) return false;
  const size_t count_before = frames->count;
  const bool was_cut = frames->is_cut;
  const auto give_up = [&] {
    frames->count = count_before;
    frames->is_cut = was_cut;
    return false;
  };
  uint64_t frame = start.frame_pointer;
  uint64_t end_of_call = start.end_of_call;
  for (int i = 0; i < kMostFrames && !IsOverBudget(); ++i) {
    if (frame % 8 != 0 || !stack.Read(frame + static_cast<uint64_t>(int64_t{layout_.bytecode_offset}), words))
      return give_up();
    const uint64_t type = word(layout_.context_or_type);
    if ((type & 1) == 0 && type / 2 < kMostTypes) {
      const auto number = static_cast<int32_t>(type / 2);
      if (number == layout_.entry_frame || number == layout_.construct_entry_frame) {
        if (frames->count != count_before) frames->frames[frames->count - 1].ends_call = true;
        if (end != nullptr) *end = frame;
        return true;
      }
      // C++ that was called then stands further in: what led here is no longer in use.
      if (i != 0 && IsExitFrame(layout_, number)) return give_up();
      if (number == layout_.builtin_exit_frame) AddBuiltin(word(kBuiltin), functions, frames);
    } else if (frames->count == frames->frames.size()) {
      frames->is_cut = true;
    } else if (IsObject(type)) {
      AddFrame({.end_of_call = end_of_call,
                .function = word(layout_.function),
                .bytecode_array = word(layout_.bytecode_array),
                .bytecode_offset = word(layout_.bytecode_offset)},
               i == 0 ? start : RunStart{}, code, functions, frames);
    }
    const uint64_t outer = word(0);
    end_of_call = word(8);
    if (outer <= frame || code->KindOf(end_of_call - 1) == CodeKinds::CodeKind::kOther) return give_up();
    frame = outer;
  }
  return give_up();
}

void V8Reader::AddFrame(const FrameWords& words, const RunStart& start, CodeKinds* code,
                        ScriptFunctions* functions, ScriptFrames* frames) {
  uint64_t shared = 0;
  KnownFunction known;
  if (!IsFunction(words.function) || !heap_.ReadWord(words.function, layout_.shared, &shared) ||
      !ReadFunction(shared, functions, &known))
    return;
  const CodeKinds::CodeKind kind = code->KindOf(words.end_of_call - 1);
  const int64_t bytecode = FindBytecode(words, shared, start, kind);
  if (bytecode == CompiledCode::kNone && kind == CodeKinds::CodeKind::kGenerated) {
    AddOptimized(words, known, functions, frames);
    return;
  }
  uint64_t table = 0;
  Position position;
  if (bytecode != CompiledCode::kNone && heap_.ReadWord(words.bytecode_array, layout_.position_table, &table))
    position = ReadPosition(table, bytecode);
  frames->frames[frames->count++] = {known.function, ReadLine(known.script, position), false};
}

void V8Reader::AddBuiltin(uint64_t function, ScriptFunctions* functions, ScriptFrames* frames) {
  uint64_t shared = 0;
  KnownFunction known;
  if (frames->count != frames->frames.size() && IsFunction(function) &&
      heap_.ReadWord(function, layout_.shared, &shared) && ReadFunction(shared, functions, &known))
    frames->frames[frames->count++] = {known.function, 0, false};
}

bool V8Reader::IsFunction(uint64_t word) {
  const int32_t type = heap_.TypeOf(word);
  return type >= layout_.function_type && type < layout_.function_type + kFunctionTypes;
}

int64_t V8Reader::FindBytecode(const FrameWords& words, uint64_t shared, const RunStart& start,
                               CodeKinds::CodeKind kind) {
  if (kind == CodeKinds::CodeKind::kGenerated)
    return compiled_.FindBytecode(shared, words.bytecode_array, words.end_of_call);
  if (!heap_.IsOfType(words.bytecode_array, layout_.bytecode_array_type)) return CompiledCode::kNone;
  // Offsets count from the array's tagged address. The frame's own is that of the last call.
  constexpr uint64_t kMostBytecodes = 1 << 24;
  const int64_t first = layout_.bytecodes - 1;
  if (start.bytecode_array == words.bytecode_array && start.bytecode_offset < kMostBytecodes &&
      static_cast<int64_t>(start.bytecode_offset) >= first)
    return static_cast<int64_t>(start.bytecode_offset) - first;
  return IsSmall(words.bytecode_offset) ? ToSmall(words.bytecode_offset) - first : CompiledCode::kNone;
}

void V8Reader::AddOptimized(const FrameWords& words, const KnownFunction& function,
                            ScriptFunctions* functions, ScriptFrames* frames) {
  std::array<InlinedCall, CompiledCode::kMostInlined> calls;
  const size_t count = compiled_.FindCalls(words.function, words.end_of_call, calls);
  if (count == 0) frames->frames[frames->count++] = {function.function, 0, false};
  for (size_t i = 0; i < count; ++i) {
    KnownFunction known = function;
    if (calls[i].shared != 0 && !ReadFunction(calls[i].shared, functions, &known)) continue;
    if (frames->count == frames->frames.size()) {
      frames->is_cut = true;
      return;
    }
    frames->frames[frames->count++] = {known.function, ReadLine(known.script, calls[i].position), false};
  }
}

bool V8Reader::ReadFunction(uint64_t shared, ScriptFunctions* functions, KnownFunction* function) {
  KnownFunction now{.shared = shared};
  if (!heap_.IsOfType(shared, layout_.shared_type) ||
      !heap_.ReadWord(shared, layout_.name_or_scope, &now.name_or_scope) ||
      !heap_.ReadWord(shared, layout_.script, &now.script))
    return false;
  KnownFunction& known = known_[(shared >> 3) % known_.size()];
  if (layout_.debug_info_type >= 0 && heap_.IsOfType(now.script, layout_.debug_info_type) &&
      !heap_.ReadWord(now.script, kScriptOfDebugInfo, &now.script))
    return false;
  const bool is_known = known.shared == shared && known.name_or_scope == now.name_or_scope &&
                        known.script == now.script && !functions->Find(known.function).name.empty();
  if (!is_known) {
    char name[ScriptFunctions::kMaxNameBytes];
    char file[512];
    size_t name_size = ReadName(now.name_or_scope, name, sizeof name);
    uint64_t file_name = 0;
    const bool has_script = heap_.IsOfType(now.script, layout_.script_type) &&
                            heap_.ReadWord(now.script, layout_.script_name, &file_name);
    const size_t file_size = has_script ? heap_.ReadText(file_name, file, sizeof file) : 0;
    if (!has_script && (name_size == 0 || !IsScriptsBuiltin(shared))) return false;
    const std::string_view nameless = file_size == 0 ? "eval" : "<anonymous>";
    if (name_size == 0) name_size = nameless.copy(name, sizeof name);
    now.function = functions->Add(
        {{name, name_size}, has_script ? StablePath({file, file_size}) : std::string_view("native")});
    known = now;
  }
  *function = known;
  return true;
}

bool V8Reader::IsScriptsBuiltin(uint64_t shared) {
  constexpr uint32_t kIsNative = 1 << 5;
  uint64_t id = 0;
  uint32_t flags = 0;
  return heap_.ReadWord(shared, layout_.builtin_id, &id) && IsSmall(id) &&
         heap_.ReadBytes(shared, layout_.function_flags, &flags, sizeof flags) && (flags & kIsNative) != 0;
}

size_t V8Reader::ReadName(uint64_t name_or_scope, char* text, size_t size_bytes) {
  constexpr size_t kWordsSearched = 6;  // in which the function's name is, or one that V8 inferred
  constexpr int32_t kMostLocals = 4096;
  constexpr int32_t kMostInlinedLocals = 75;  // the names of more are in a table
  if (heap_.IsString(name_or_scope)) return heap_.ReadText(name_or_scope, text, size_bytes);
  if (!heap_.IsOfType(name_or_scope, layout_.scope_type)) return 0;
  uint64_t locals = 0;
  if (!heap_.ReadWord(name_or_scope, 8 + 8 * layout_.scope_local_count, &locals) || !IsSmall(locals))
    return 0;
  const int32_t count = ToSmall(locals);
  if (count < 0 || count > kMostLocals) return 0;
  const int32_t words_of_locals = count < kMostInlinedLocals ? 2 * count : count + 1;
  std::array<uint64_t, kWordsSearched> words{};
  // The object's end may be near that of its memory.
  size_t word_count = words.size();
  const int32_t offset = 8 + 8 * (layout_.scope_variables + words_of_locals);
  while (word_count != 0 && !heap_.ReadBytes(name_or_scope, offset, words.data(), word_count * 8))
    --word_count;
  for (size_t i = 0; i < word_count; ++i) {
    // The scope around it follows the names, or the next object.
    if (!IsObject(words[i])) continue;
    if (!heap_.IsString(words[i])) break;
    if (const size_t size = heap_.ReadText(words[i], text, size_bytes)) return size;
  }
  return 0;
}

Position V8Reader::ReadPosition(uint64_t table, int64_t code_offset) {
  const int32_t type = heap_.TypeOf(table);
  uint64_t length = 0;
  if (type == Heap::kNoType || (type != layout_.byte_array_type && type != layout_.trusted_byte_array_type) ||
      !heap_.ReadWord(table, kArrayLength, &length) || !IsSmall(length) || ToSmall(length) < 0)
    return {};
  const size_t size = std::min<size_t>(static_cast<size_t>(ToSmall(length)), table_.size());
  if (size == 0 || !heap_.ReadBytes(table, kArrayContent, table_.data(), size)) return {};
  return PositionAt({table_.data(), size}, code_offset);
}

uint32_t V8Reader::ReadLine(uint64_t script, const Position& position) {
  constexpr int32_t kMostLines = 10'000'000;
  uint64_t source = 0;
  uint64_t first_line = 0;
  FlatText text;
  if (position.offset < 0 || !heap_.IsOfType(script, layout_.script_type) ||
      !heap_.ReadWord(script, layout_.script_source, &source) ||
      !heap_.ReadWord(script, layout_.script_line_offset, &first_line) || !heap_.Flatten(source, &text))
    return 0;
  const uint32_t line = lines_.Find(&heap_.memory(), script, text, static_cast<uint32_t>(position.offset));
  const bool is_shifted = IsSmall(first_line) && ToSmall(first_line) > 0 && ToSmall(first_line) < kMostLines;
  return line == 0 ? 0 : line + (is_shifted ? static_cast<uint32_t>(ToSmall(first_line)) : 0);
}

}  // namespace lagwatch::stack::v8
