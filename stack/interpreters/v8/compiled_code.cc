// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/v8/compiled_code.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lagwatch::stack::v8 {
namespace {

// Version 13 does not export them. A letter stands for a number above 9.
constexpr std::array<std::string_view, 3> kSizesOf13 = {
    "1111123455621211111244422223222111233342422444244434435334445453333333333333333333333332222112222455"
    "4565345556445533333333312221154124143423333111422222222224222222222222442352111121124544122111111111"
    "11111111",
    "1111135797931311111377733335333111255573733777377747759557778785555555555555555555555553333113333799"
    "79b9579979669955555555513331176136165635555111733333333337333333333333773593111131137977133111111111"
    "11111111",
    "1111159dhbf515111115ddd555595551112999d5d55ddd5ddd6dd9h99dddede9999999999999999999999995555115555dhh"
    "dhlh9dhhbfaahh999999999155511ba15a1a9a59999111d5555555555d555555555555dd59h511115115dhdd155111111111"
    "11111111"};

size_t NumberOf(char digit) { return static_cast<size_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10); }

void ReadSizes(Memory* memory, const ExportedSymbols& exports, const Version& version, BytecodeSizes* sizes) {
  if (version.major >= 13) {
    sizes->count = kSizesOf13[0].size();
    for (size_t scale = 0; scale < kSizesOf13.size(); ++scale)
      std::ranges::transform(kSizesOf13[scale], sizes->bytes[scale].begin(), NumberOf);
    return;
  }
  const uint64_t table = exports.Find("_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE");
  const size_t count = version.major == 12 ? 203 : 198;
  for (size_t scale = 0; scale < sizes->bytes.size(); ++scale)
    if (table == 0 || !memory->Read(table + scale * count, sizes->bytes[scale].data(), count)) return;
  // All versions begin with the prefixes, of one byte.
  if (sizes->bytes[0][0] == 1 && sizes->bytes[0][1] == 1) sizes->count = count;
}

}  // namespace

size_t BytecodeSizes::SizeOf(std::span<const uint8_t> bytecodes) const {
  constexpr uint8_t kPrefixes =
      4;  // those for two and for four bytes, and the debugger's of the same meaning
  if (bytecodes.empty()) return 0;
  const bool has_prefix = bytecodes[0] < kPrefixes;
  if (!has_prefix) return bytecodes[0] < count ? bytes[0][bytecodes[0]] : 0;
  if (bytecodes.size() < 2 || bytecodes[1] >= count) return 0;
  const size_t size = bytes[bytecodes[0] % 2 == 0 ? 1 : 2][bytecodes[1]];
  return size == 0 ? 0 : size + 1;
}

int64_t BytecodeAt(std::span<const uint8_t> table, std::span<const uint8_t> bytecodes,
                   const BytecodeSizes& sizes, uint64_t end_of_call) {
  size_t place = 0;
  const auto next = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 35 && place < table.size(); shift += 7) {
      const uint8_t byte = table[place++];
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  };
  uint64_t code_end = next();  // of what is before the first bytecode
  if (end_of_call <= code_end) return 0;
  for (size_t offset = 0; place < table.size() && offset < bytecodes.size();) {
    code_end += next();
    if (end_of_call <= code_end) return static_cast<int64_t>(offset);
    const size_t size = sizes.SizeOf(bytecodes.subspan(offset));
    if (size == 0) break;
    offset += size;
  }
  return -1;
}

void CompiledCode::Attach(Heap* heap, const V8Layout* layout, const Version& version,
                          const ExportedSymbols& exports) {
  heap_ = heap;
  layout_ = layout;
  ReadSizes(&heap->memory(), exports, version, &sizes_);
}

int64_t CompiledCode::FindBytecode(uint64_t shared, uint64_t bytecode_array, uint64_t end_of_call) {
  uint64_t word = 0;
  uint64_t table = 0;
  uint64_t length = 0;
  Code code;
  if (sizes_.count == 0 || !heap_->IsOfType(bytecode_array, layout_->bytecode_array_type) ||
      !heap_->ReadWord(shared, layout_->function_data, &word) || !ReadCode(word, end_of_call, &code) ||
      !heap_->ReadWord(code.object, layout_->code_positions, &table) ||
      !heap_->ReadWord(bytecode_array, kArrayLength, &length) || !IsSmall(length) || ToSmall(length) <= 0)
    return kNone;
  const size_t bytecode_count = std::min(static_cast<size_t>(ToSmall(length)), bytecodes_.size());
  const size_t table_size = ReadArray(table, bytes_);
  if (table_size == 0 ||
      !heap_->ReadBytes(bytecode_array, layout_->bytecodes, bytecodes_.data(), bytecode_count))
    return kNone;
  return BytecodeAt({bytes_.data(), table_size}, {bytecodes_.data(), bytecode_count}, sizes_,
                    end_of_call - code.start);
}

size_t CompiledCode::FindCalls(uint64_t function, uint64_t end_of_call,
                               std::span<InlinedCall, kMostInlined> calls) {
  struct Inlining {
    uint64_t position;
    int32_t function;
    int32_t unused;
  };
  uint64_t word = 0;
  uint64_t deoptimization = 0;
  Code code;
  if (!FindOptimized(function, end_of_call, &code) ||
      !heap_->ReadWord(code.object, layout_->code_positions, &word))
    return 0;
  const size_t size = ReadArray(word, bytes_);
  Position position = PositionAt({bytes_.data(), size}, static_cast<int64_t>(end_of_call - code.start) - 1);
  if (position.offset == Position::kNone ||
      !heap_->ReadWord(code.object, layout_->code_deoptimization, &deoptimization))
    return 0;
  size_t count = 0;
  uint64_t inlinings = 0;
  uint64_t literals = 0;
  if (position.inlining != Position::kNone) {
    inlinings = ReadElement(deoptimization, layout_->inlinings);
    literals = ReadElement(deoptimization, layout_->literals);
  }
  while (position.inlining != Position::kNone) {
    constexpr uint64_t kWeak = 2;
    Inlining inlining;
    const int32_t type = heap_->TypeOf(inlinings);
    if (count + 1 == calls.size() ||
        (type != layout_->byte_array_type && type != layout_->trusted_byte_array_type) ||
        !heap_->ReadBytes(inlinings, kArrayContent + position.inlining * int32_t{sizeof inlining}, &inlining,
                          sizeof inlining))
      return 0;
    const uint64_t shared = ReadElement(literals, inlining.function) & ~kWeak;
    if (!heap_->IsOfType(shared, layout_->shared_type)) return 0;
    calls[count++] = {shared, position};
    position = DecodePosition(inlining.position);
  }
  calls[count++] = {0, position};
  return count;
}

bool CompiledCode::ReadCode(uint64_t word, uint64_t end_of_call, Code* code) {
  uint32_t size = 0;
  if (!heap_->IsOfType(word, layout_->code_type)) return false;
  code->object = word;
  if (layout_->code_holds_instructions) {
    code->start = word - 1 + static_cast<uint64_t>(layout_->code_start);
  } else if (!heap_->ReadWord(word, layout_->code_start, &code->start)) {
    return false;
  }
  if (!heap_->ReadBytes(word, layout_->code_size, &size, sizeof size)) return false;
  code->size = size;
  return end_of_call > code->start && end_of_call - code->start <= size;
}

bool CompiledCode::FindOptimized(uint64_t function, uint64_t end_of_call, Code* code) {
  uint64_t word = 0;
  // It may have been replaced since.
  if (layout_->function_code >= 0 && heap_->ReadWord(function, layout_->function_code, &word) &&
      ReadCode(word, end_of_call, code))
    return true;
  return SearchBackwards(end_of_call, code);
}

bool CompiledCode::SearchBackwards(uint64_t end_of_call, Code* code) {
  constexpr uint64_t kPageBytes = 4096;
  constexpr int kMostTests = 200;
  uint64_t end = end_of_call & ~uint64_t{7};
  int tests = 0;
  for (size_t searched = 0; searched < kMostBytes;) {
    // Page by page: most functions are small, and the one before may not be there.
    const uint64_t begin = (end - 1) & ~(kPageBytes - 1);
    const size_t size = end - begin;
    if (!heap_->memory().Read(begin, bytes_.data(), size)) return false;
    for (size_t at = size; at != 0; at -= 8) {
      uint64_t word = 0;
      std::memcpy(&word, &bytes_[at - 8], sizeof word);
      if (!IsCodeMap(word, &tests)) {
        if (tests > kMostTests) return false;
        continue;
      }
      uint64_t object = begin + at - 8 + 1;
      if (!layout_->code_holds_instructions && !heap_->ReadWord(object, layout_->code_of_stream, &object))
        continue;
      if (ReadCode(object, end_of_call, code)) return true;
    }
    searched += size;
    end = begin;
  }
  return false;
}

bool CompiledCode::IsCodeMap(uint64_t word, int* tests) {
  if (!IsObject(word)) return false;
  if (code_map_ != 0) return word == code_map_;
  ++*tests;
  uint16_t type = 0;
  const int32_t wanted = layout_->code_holds_instructions ? layout_->code_type : layout_->stream_type;
  if (!heap_->IsOfType(word, layout_->map_type) ||
      !heap_->ReadBytes(word, layout_->instance_type, &type, sizeof type) || type != wanted)
    return false;
  code_map_ = word;
  return true;
}

size_t CompiledCode::ReadArray(uint64_t word, std::span<uint8_t> bytes) {
  const int32_t type = heap_->TypeOf(word);
  uint64_t length = 0;
  if (type == Heap::kNoType ||
      (type != layout_->byte_array_type && type != layout_->trusted_byte_array_type) ||
      !heap_->ReadWord(word, kArrayLength, &length) || !IsSmall(length) || ToSmall(length) <= 0)
    return 0;
  const size_t size = std::min(static_cast<size_t>(ToSmall(length)), bytes.size());
  return heap_->ReadBytes(word, kArrayContent, bytes.data(), size) ? size : 0;
}

uint64_t CompiledCode::ReadElement(uint64_t array, int32_t index) {
  uint64_t length = 0;
  uint64_t element = 0;
  if (!IsObject(array) || !heap_->ReadWord(array, kArrayLength, &length) || !IsSmall(length) || index < 0 ||
      index >= ToSmall(length) || !heap_->ReadWord(array, kArrayContent + 8 * index, &element))
    return 0;
  return element;
}

}  // namespace lagwatch::stack::v8
