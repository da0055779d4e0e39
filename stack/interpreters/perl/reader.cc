// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/perl/reader.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::perl {
namespace {

// In an interpreter.
constexpr size_t kValuesTop = 0;
constexpr size_t kRunningOperation = 8;
constexpr size_t kValues = 24;
constexpr size_t kValuesEnd = 32;
constexpr size_t kStatement = 208;
constexpr size_t kCurrentValues = 216;
constexpr size_t kCurrentStack = 224;
constexpr size_t kInterpreterBytes = 232;

// Of a stack of contexts.
constexpr int32_t kMainStack = 1;
constexpr int32_t kMostStackType = 16;
constexpr int32_t kMostCapacity = 1 << 24;

// In a context.
constexpr size_t kKind = 0;
constexpr size_t kEvalKind = 2;
constexpr size_t kCallersStatement = 16;
constexpr size_t kNextOperation = 48;
constexpr size_t kCalled = 72;
constexpr size_t kContextBytes = 104;
constexpr uint8_t kKindMask = 15;
constexpr uint8_t kSub = 9;
constexpr uint8_t kFormat = 10;
constexpr uint8_t kEval = 11;
constexpr uint8_t kBlockOfEval = 0x40;
constexpr uint8_t kTry = 0x80;
constexpr uint8_t kInRegex = 0x80;  // of a sub: it stands for code in a pattern
constexpr int kRequire = 342;
constexpr int kDoFile = 343;

// In a statement.
constexpr size_t kLine = 36;
constexpr size_t kFile = 48;
constexpr size_t kStatementBytes = 56;

// The members of an operation that are needed.
class Operation {
 public:
  static constexpr uint32_t kScope = 200;

  uint64_t follows() const { return words_[0]; }
  // 0 if it is the last part.
  uint64_t next() const { return (words_[4] >> 14 & 1) != 0 ? words_[1] : 0; }
  uint32_t type() const { return words_[4] & 0x1ff; }
  uint64_t first_part() const { return (words_[4] >> 16 & kHasParts) != 0 ? words_[5] : 0; }
  // One that the compiler has turned into nothing, but that has its line still.
  bool is_removed_statement() const { return type() == kNothing && words_[3] == kStatement; }

 private:
  static constexpr uint64_t kHasParts = 4;
  static constexpr uint32_t kNothing = 0;
  static constexpr uint64_t kStatement = 195;

  std::array<uint64_t, 6> words_;
};

// In a value, and of its flags.
constexpr size_t kBody = 0;
constexpr size_t kFlags = 12;
constexpr size_t kValueBytes = 24;
constexpr uint32_t kTypeMask = 0xff;
constexpr uint32_t kGlob = 9;
constexpr uint32_t kHash = 12;
constexpr uint32_t kFunction = 13;
constexpr uint32_t kHasMore = 0x2000000;  // of a hash: it may have a name

}  // namespace

std::string_view StablePath(std::string_view path) {
  if (path.starts_with("(eval ")) return "(eval)";
  for (std::string_view directory : {"/perl5/", "/perl-base/", "/perl/"}) {
    const size_t at = path.rfind(directory);
    if (at == path.npos) continue;
    const std::string_view rest = path.substr(at + directory.size());
    // Most have a directory of their version.
    const size_t slash = rest.find('/');
    return rest.starts_with("5.") && slash != rest.npos ? rest.substr(slash + 1) : rest;
  }
  return path.substr(path.rfind('/') + 1);
}

bool PerlReader::Read(std::span<const uint64_t> candidates, ScriptFunctions* functions,
                      ScriptFrames* frames) {
  last_read_ = memory_->read_count() + kMostReads;
  Interpreter interpreter{};
  const auto found = std::ranges::find_if(
      candidates, [&](uint64_t candidate) { return ReadInterpreter(candidate, &interpreter); });
  if (found == candidates.end()) return false;
  for (int i = 0; i < kTries && !IsOverBudget(); ++i) {
    frames->count = 0;
    frames->is_cut = false;
    if (!Walk(interpreter, functions, frames)) {
      if (!ReadInterpreter(*found, &interpreter)) return false;
      continue;
    }
    // The stack of a thread that never rests has changed a little meanwhile, every time.
    const uint64_t stack = interpreter.stack;
    const bool is_same = ReadInterpreter(*found, &interpreter) && interpreter.stack == stack;
    if (is_same || i == kTries - 1) return frames->count != 0;
  }
  return false;
}

bool PerlReader::ReadInterpreter(uint64_t address, Interpreter* interpreter) {
  std::array<uint8_t, kInterpreterBytes> bytes;
  if (IsOverBudget() || !memory_->Read(address, &bytes)) return false;
  const auto top = MemberAt<uint64_t>(bytes, kValuesTop);
  const auto begin = MemberAt<uint64_t>(bytes, kValues);
  const auto end = MemberAt<uint64_t>(bytes, kValuesEnd);
  *interpreter = {.address = address,
                  .statement = MemberAt<uint64_t>(bytes, kStatement),
                  .operation = MemberAt<uint64_t>(bytes, kRunningOperation),
                  .stack = MemberAt<uint64_t>(bytes, kCurrentStack)};
  if (begin == 0 || (begin | top | end | interpreter->stack | interpreter->statement) % 8 != 0 ||
      begin > top || top > end || interpreter->stack == 0 || interpreter->statement == 0)
    return false;
  ContextStack stack{};
  return ReadStack(interpreter->stack, &stack) && stack.values == MemberAt<uint64_t>(bytes, kCurrentValues);
}

bool PerlReader::ReadStack(uint64_t address, ContextStack* stack) {
  std::array<uint8_t, 48> bytes;
  if (address % 8 != 0 || !memory_->Read(address, &bytes)) return false;
  *stack = {.values = MemberAt<uint64_t>(bytes, 0),
            .contexts = MemberAt<uint64_t>(bytes, 8),
            .outer = MemberAt<uint64_t>(bytes, 16),
            .last = MemberAt<int32_t>(bytes, 32),
            .capacity = MemberAt<int32_t>(bytes, 36),
            .type = MemberAt<int32_t>(bytes, 44)};
  return stack->contexts != 0 && stack->contexts % 8 == 0 && stack->last >= -1 &&
         stack->last <= stack->capacity && stack->capacity < kMostCapacity && stack->type > -kMostStackType &&
         stack->type < kMostStackType;
}

bool PerlReader::Walk(const Interpreter& interpreter, ScriptFunctions* functions, ScriptFrames* frames) {
  StatementPlace at{interpreter.statement, interpreter.operation, false};
  uint64_t address = interpreter.stack;
  int contexts_left = kMostContexts;
  for (int i = 0; address != 0 && i < kMostStacks; ++i) {
    ContextStack stack{};
    if (!ReadStack(address, &stack)) return false;
    for (int32_t j = stack.last; j >= 0; --j) {
      std::array<uint8_t, kContextBytes> context;
      const uint64_t place = stack.contexts + static_cast<uint64_t>(j) * kContextBytes;
      if (IsOverBudget() || --contexts_left < 0 || !memory_->Read(place, &context)) return false;
      const uint8_t flags = context[kKind];
      const uint8_t kind = flags & kKindMask;
      char name[ScriptFunctions::kMaxNameBytes];
      size_t size = 0;
      if (kind == kFormat || (kind == kSub && (flags & kInRegex) == 0)) {
        size = ReadName(MemberAt<uint64_t>(context, kCalled), name);
        if (size == 0) return false;
      } else if (kind == kEval && (flags & (kBlockOfEval | kTry)) == 0) {
        const int operation = MemberAt<uint16_t>(context, kEvalKind) >> 7;
        const bool is_file = operation == kRequire || operation == kDoFile;
        size = std::string_view(is_file ? "(require)" : "(eval)").copy(name, sizeof name);
      }
      if (size == 0) continue;
      if (!AddFrame({name, size}, at, functions, frames)) return frames->is_cut;
      at = {MemberAt<uint64_t>(context, kCallersStatement), MemberAt<uint64_t>(context, kNextOperation),
            true};
    }
    if (stack.type == kMainStack) return AddFrame("main program", at, functions, frames) || frames->is_cut;
    if (frames->count != 0) frames->frames[frames->count - 1].ends_call = true;
    address = stack.outer;
  }
  return false;
}

uint64_t PerlReader::FindStatement(const StatementPlace& place) {
  constexpr int kMostOperations = 200;
  operations_left_ = kMostOperations;
  uint64_t statement = place.statement;
  Operation bytes;
  const bool has_next =
      place.statement % 8 == 0 && memory_->Read(place.statement, &bytes) && bytes.next() != 0;
  return has_next && place.operation != 0 && SearchOperation(bytes.next(), place, 0, &statement)
             ? statement
             : place.statement;
}

// Whether the place is in `operation`, or in a part of it. Sets `statement` to the last one before it.
bool PerlReader::SearchOperation(uint64_t operation, const StatementPlace& place, int depth,
                                 uint64_t* statement) {
  constexpr int kMostDepth = 16;
  Operation bytes;
  if (operation == place.operation) return true;
  if (operation % 8 != 0 || depth == kMostDepth || --operations_left_ < 0 || IsOverBudget() ||
      !memory_->Read(operation, &bytes))
    return false;
  if (place.is_next && bytes.follows() == place.operation && bytes.type() != Operation::kScope) return true;
  for (uint64_t part = bytes.first_part(); part != 0; part = bytes.next()) {
    if (operations_left_ < 0 || part % 8 != 0 || !memory_->Read(part, &bytes)) return false;
    uint64_t found = bytes.is_removed_statement() ? part : *statement;
    if (bytes.is_removed_statement()) *statement = part;
    if (SearchOperation(part, place, depth + 1, &found)) {
      *statement = found;
      return true;
    }
  }
  return false;
}

bool PerlReader::AddFrame(std::string_view name, const StatementPlace& place, ScriptFunctions* functions,
                          ScriptFrames* frames) {
  if (frames->count == ScriptFrames::kMost) {
    frames->is_cut = true;
    return false;
  }
  std::array<uint8_t, kStatementBytes> bytes;
  const uint64_t statement = FindStatement(place);
  if (statement == 0 || statement % 8 != 0 || !memory_->Read(statement, &bytes)) return false;
  char path[1024];
  const size_t path_size = ReadText(MemberAt<uint64_t>(bytes, kFile), path);
  const auto line = MemberAt<uint32_t>(bytes, kLine);
  constexpr uint32_t kMostLine = 10'000'000;
  frames->frames[frames->count++] = {functions->Add({name, StablePath({path, path_size})}),
                                     line <= kMostLine ? line : 0, false};
  return true;
}

size_t PerlReader::ReadName(uint64_t function, std::span<char> text) {
  constexpr uint32_t kHasOwnName = 0x8000;
  std::array<uint8_t, kValueBytes> value;
  std::array<uint8_t, 96> body;
  if (function == 0 || function % 8 != 0 || !memory_->Read(function, &value) ||
      (MemberAt<uint32_t>(value, kFlags) & kTypeMask) != kFunction ||
      !memory_->Read(MemberAt<uint64_t>(value, kBody), &body))
    return 0;
  // A function's own name, or that of the glob that it was defined in.
  auto name = MemberAt<uint64_t>(body, 56);
  auto package = MemberAt<uint64_t>(body, 32);
  if ((MemberAt<uint32_t>(body, 92) & kHasOwnName) == 0) {
    std::array<uint8_t, 48> glob;
    if (name == 0 || name % 8 != 0 || !memory_->Read(name, &value) ||
        (MemberAt<uint32_t>(value, kFlags) & kTypeMask) != kGlob ||
        !memory_->Read(MemberAt<uint64_t>(value, kBody), &glob))
      return std::string_view("(unknown)").copy(text.data(), text.size());
    name = MemberAt<uint64_t>(glob, 32);
    package = MemberAt<uint64_t>(glob, 40);
  }
  constexpr std::string_view kSeparator = "::";
  size_t size = ReadPackage(package, text.first(text.size() / 2));
  if (size != 0) size += kSeparator.copy(text.data() + size, kSeparator.size());
  const size_t name_size = ReadKey(name, text.subspan(size));
  return name_size == 0 ? 0 : size + name_size;
}

size_t PerlReader::ReadPackage(uint64_t package, std::span<char> text) {
  constexpr size_t kName = 32;
  constexpr size_t kNameCount = 60;
  std::array<uint8_t, kValueBytes> value;
  std::array<uint8_t, 64> body;
  if (package == 0 || package % 8 != 0 || !memory_->Read(package, &value)) return 0;
  const auto flags = MemberAt<uint32_t>(value, kFlags);
  if ((flags & kTypeMask) != kHash || (flags & kHasMore) == 0 ||
      !memory_->Read(MemberAt<uint64_t>(value, kBody), &body))
    return 0;
  auto name = MemberAt<uint64_t>(body, kName);
  // Of several names the first one.
  if (MemberAt<int32_t>(body, kNameCount) != 0 && !memory_->Read(name, &name)) return 0;
  return ReadKey(name, text);
}

size_t PerlReader::ReadKey(uint64_t key, std::span<char> text) {
  constexpr int32_t kMostBytes = 4096;
  constexpr uint64_t kBegin = 8;
  int32_t size = 0;
  if (key == 0 || key % 4 != 0 || !memory_->Read(key + 4, &size) || size <= 0 || size > kMostBytes) return 0;
  const size_t kept = std::min<size_t>(static_cast<size_t>(size), text.size());
  if (!memory_->Read(key + kBegin, text.data(), kept)) return 0;
  CleanText(text.first(kept));
  return kept;
}

size_t PerlReader::ReadText(uint64_t address, std::span<char> text) {
  constexpr uint64_t kPageBytes = 4096;
  if (address == 0) return 0;
  size_t size = 0;
  while (size < text.size()) {
    constexpr uint64_t kMostAtOnce = 128;
    const uint64_t place = address + size;
    const size_t count =
        std::min<uint64_t>({kMostAtOnce, kPageBytes - place % kPageBytes, text.size() - size});
    if (!memory_->Read(place, &text[size], count)) return 0;
    const size_t shown = strnlen(&text[size], count);
    size += shown;
    if (shown != count) break;
  }
  CleanText(text.first(size));
  return size;
}

}  // namespace lagwatch::stack::perl
