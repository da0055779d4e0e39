// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/methods.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/interpreters/jvm/compressed.h"

namespace lagwatch::stack::jvm {
namespace {

constexpr uint32_t kHasLineTable = 1;  // in a method's flags

// Parts of names that differ from run to run: of hidden classes their address, of lambdas their number.
size_t CutClassName(char* text, size_t size) {
  size = std::min(size, std::string_view(text, size).find('+'));
  for (std::string_view generated : {"$$Lambda", "GeneratedMethodAccessor", "$Proxy"}) {
    const size_t at = std::string_view(text, size).find(generated);
    if (at != std::string_view::npos) size = at + generated.size();
  }
  std::replace(text, text + size, '/', '.');
  return size;
}

// The JVM marks such methods, with a flag whose place it does not export.
bool IsHidden(std::string_view method) {
  if (method.find("$$Lambda.") != method.npos || method == "java.lang.Thread.runWith") return true;
  return method.starts_with("java.lang.invoke.") &&
         (method.starts_with("java.lang.invoke.LambdaForm$") || method.find("$Holder.") != method.npos);
}

}  // namespace

bool Methods::IsMethod(uint64_t method) {
  Parts parts;
  return ReadParts(method, &parts);
}

int64_t Methods::IndexOf(uint64_t method, uint64_t bytecode) {
  Parts parts;
  if (!ReadParts(method, &parts)) return -1;
  const uint64_t code = parts.constants + layout_->const_method_bytes;
  return bytecode >= code && bytecode < code + parts.code_size ? static_cast<int64_t>(bytecode - code) : -1;
}

bool Methods::IsMonitorEnter(uint64_t method, int64_t bci) {
  constexpr uint8_t kMonitorEnter = 0xc2;
  Parts parts;
  uint8_t code = 0;
  return bci >= 0 && ReadParts(method, &parts) && bci < parts.code_size &&
         memory_->Read(parts.constants + layout_->const_method_bytes + static_cast<uint64_t>(bci), &code) &&
         code == kMonitorEnter;
}

// No bytecode has a number of 240 or more: the upper byte of such a distance is no other one's.
int64_t Methods::FindLoop(uint64_t method, int64_t low, int64_t high) {
  constexpr uint8_t kLeastUpperByte = 0xf0;
  const auto is_jump = [](uint8_t code) {
    constexpr uint8_t kIfEqual = 0x99;
    constexpr uint8_t kGoto = 0xa7;
    constexpr uint8_t kIfNull = 0xc6;
    return (code >= kIfEqual && code <= kGoto) || code == kIfNull || code == kIfNull + 1;
  };
  Parts parts;
  if (!ReadParts(method, &parts)) return -1;
  const int64_t size = std::min<int64_t>(parts.code_size, static_cast<int64_t>(table_.size()));
  if (!memory_->Read(parts.constants + layout_->const_method_bytes, table_.data(), static_cast<size_t>(size)))
    return -1;
  int64_t found = -1;
  for (int64_t end = 0; end + 2 < size; ++end) {
    const auto at = static_cast<size_t>(end);
    if (!is_jump(table_[at]) || table_[at + 1] < kLeastUpperByte) continue;
    const int64_t begin = end + static_cast<int16_t>(table_[at + 1] << 8 | table_[at + 2]);
    if (begin < 0) continue;
    if (begin <= high && high <= end) return high;
    if (end < high && (high != INT64_MAX || (found < 0 && end > low))) found = begin;
  }
  return found;
}

bool Methods::Find(uint64_t method, int64_t bci, ScriptFunctions* functions, MethodPlace* place) {
  Parts parts;
  if (!ReadParts(method, &parts)) return false;
  KnownMethod& known = known_[(method >> 3) % known_.size()];
  if (known.method != method || known.constants != parts.constants ||
      functions->Find(known.function).name.empty()) {
    known = {.method = method, .constants = parts.constants};
    if (!ReadNames(parts, functions, &known)) {
      known = {};
      return false;
    }
  }
  *place = {known.function, bci < 0 ? 0 : ReadLine(parts, bci), known.is_hidden};
  return true;
}

bool Methods::ReadParts(uint64_t method, Parts* parts) {
  const JvmLayout& at = *layout_;
  uint64_t pool_again = 0;
  // The class that holds the pool names it, too: nothing else that memory may hold does.
  return method != 0 && method % 8 == 0 && memory_->Read(method + at.method_constants, &parts->constants) &&
         memory_->Read(parts->constants + at.constant_pool, &parts->pool) &&
         memory_->Read(parts->pool + at.pool_holder, &parts->holder) &&
         memory_->Read(parts->holder + at.class_constants, &pool_again) && pool_again == parts->pool &&
         memory_->Read(parts->constants + at.code_size, &parts->code_size);
}

bool Methods::ReadNames(const Parts& parts, ScriptFunctions* functions, KnownMethod* known) {
  const JvmLayout& at = *layout_;
  char name[2 * ScriptFunctions::kMaxNameBytes];
  char file[ScriptFunctions::kMaxNameBytes];
  uint64_t class_name = 0;
  uint16_t name_index = 0;
  uint16_t file_index = 0;
  if (!memory_->Read(parts.holder + at.class_name, &class_name) ||
      !memory_->Read(parts.constants + at.name_index, &name_index) ||
      !memory_->Read(parts.pool + at.pool_source_file, &file_index))
    return false;
  size_t size = ReadSymbol(class_name, name, ScriptFunctions::kMaxNameBytes);
  if (size == 0) return false;
  size = CutClassName(name, size);
  name[size++] = '.';
  const size_t method_size = ReadPoolSymbol(parts.pool, name_index, name + size, sizeof name - size);
  if (method_size == 0) return false;
  known->is_hidden = IsHidden({name, size + method_size});
  const size_t file_size = file_index == 0 ? 0 : ReadPoolSymbol(parts.pool, file_index, file, sizeof file);
  known->function = functions->Add({{name, size + method_size}, {file, file_size}});
  return true;
}

uint32_t Methods::ReadLine(const Parts& parts, int64_t bci) {
  const JvmLayout& at = *layout_;
  uint16_t flags = 0;
  int32_t words = 0;
  if (!memory_->Read(parts.constants + at.flags, &flags) || (flags & kHasLineTable) == 0 ||
      !memory_->Read(parts.constants + at.const_method_words, &words))
    return 0;
  const uint64_t before = uint64_t{at.const_method_bytes} + parts.code_size;
  const uint64_t all = static_cast<uint64_t>(words) * sizeof(uint64_t);
  if (words <= 0 || all <= before) return 0;
  const size_t size = std::min<uint64_t>(all - before, table_.size());
  if (!memory_->Read(parts.constants + before, table_.data(), size)) return 0;
  return LineOf({table_.data(), size}, at.has_no_zero_bytes(), static_cast<uint32_t>(bci));
}

size_t Methods::ReadSymbol(uint64_t symbol, char* text, size_t size_bytes) {
  const JvmLayout& at = *layout_;
  uint16_t length = 0;
  if (symbol == 0 || !memory_->Read(symbol + at.symbol_length, &length)) return 0;
  const size_t size = std::min<size_t>(length, size_bytes);
  if (size == 0 || !memory_->Read(symbol + at.symbol_body, text, size)) return 0;
  std::replace_if(
      text, text + size, [](unsigned char letter) { return letter < ' '; }, '?');
  return size;
}

size_t Methods::ReadPoolSymbol(uint64_t pool, uint16_t index, char* text, size_t size_bytes) {
  uint64_t symbol = 0;
  const uint64_t slot = pool + layout_->pool_bytes + uint64_t{index} * sizeof symbol;
  return memory_->Read(slot, &symbol) ? ReadSymbol(symbol, text, size_bytes) : 0;
}

}  // namespace lagwatch::stack::jvm
