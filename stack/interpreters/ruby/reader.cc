// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/ruby/reader.h"

#include <algorithm>
#include <bit>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::ruby {
namespace {

// In an execution context.
constexpr size_t kStack = 0;
constexpr size_t kStackWords = 8;
constexpr size_t kTag = 24;
constexpr size_t kThread = 48;
constexpr size_t kContextBytes = 56;
constexpr uint64_t kMostStackWords = 1 << 24;

// In a thread.
constexpr uint64_t kVm = 32;
constexpr uint64_t kContext = 40;

// In a control frame.
constexpr size_t kInstruction = 0;
constexpr size_t kStackPointer = 8;
constexpr size_t kSequence = 16;
constexpr size_t kEnvironment = 32;
constexpr uint64_t kKindMask = 0x7fff0001;  // of an environment's flags
constexpr uint64_t kPlaceholder = 0x79990001;
constexpr uint64_t kMethodInC = 0x55550001;
constexpr uint64_t kFinishes = 0x20;  // the frame ends a call of the evaluation function

// In a sequence of instructions, and in its body.
constexpr uint64_t kBody = 16;
constexpr size_t kCode = 8;
constexpr size_t kCodeSize = 4;
constexpr size_t kPath = 64;
constexpr size_t kLabel = 80;
constexpr size_t kFirstLine = 100;
constexpr size_t kLastLine = 108;
constexpr size_t kLines = 120;
constexpr size_t kLineCount = 136;
constexpr size_t kPositions = 144;
constexpr size_t kBodyBytes = 152;
constexpr uint64_t kLineBytes = 12;

// Of an object's flags.
constexpr uint64_t kArray = 7;
constexpr uint64_t kInternalMask = 0xf000;
constexpr uint64_t kInternalSequence = 0x7000;
constexpr uint64_t kIsInside = 1 << 13;  // of an array: its content follows

}  // namespace

std::string_view StablePath(std::string_view path) {
  if (path.starts_with('<')) return path;
  for (std::string_view directory : {"/gems/", "/vendor_ruby/", "/lib/ruby/"}) {
    const size_t at = path.rfind(directory);
    if (at == path.npos) continue;
    std::string_view rest = path.substr(at + directory.size());
    if (directory == "/vendor_ruby/") return rest;
    // A version, or a gem's name with its version, and that gem's own directory of libraries.
    const size_t slash = rest.find('/');
    if (slash == rest.npos) continue;
    rest = rest.substr(slash + 1);
    return rest.starts_with("lib/") ? rest.substr(4) : rest;
  }
  return path.substr(path.rfind('/') + 1);
}

bool RubyReader::Read(std::span<const uint64_t> candidates, const RawStack& raw, ScriptFunctions* functions,
                      ScriptFrames* frames) {
  last_read_ = memory_->read_count() + kMostReads;
  Context context{};
  const auto found = std::ranges::find_if(
      candidates, [&](uint64_t candidate) { return ReadContext(candidate, raw, &context); });
  if (found == candidates.end()) return false;
  last_context_ = *found;
  for (int i = 0; i < kTries && !IsOverBudget(); ++i) {
    frames->count = 0;
    frames->is_cut = false;
    uint64_t frame = 0;
    if (i != 0 && !ReadContext(*found, raw, &context)) return false;
    if (!Walk(context, functions, frames)) continue;
    // The stack of a thread that never rests has changed a little meanwhile, every time.
    const bool is_same = memory_->Read(context.address + kFrame, &frame) && frame == context.frame;
    if (is_same || i == kTries - 1) return frames->count != 0;
  }
  return false;
}

bool RubyReader::IsInKernel(uint64_t context) {
  uint64_t address = 0;
  std::array<uint8_t, kFrameBytes> frame;
  uint64_t flags = 0;
  if (!memory_->Read(context + kFrame, &address) || !memory_->Read(address, &frame)) return false;
  const auto environment = MemberAt<uint64_t>(frame, kEnvironment);
  std::array<char, 32> owner{};
  if (!memory_->Read(environment, &flags) || (flags & kKindMask) != kMethodInC) return false;
  return std::string_view(owner.data(), classes_.ReadOwner(environment, owner)).starts_with("Kernel");
}

void RubyReader::CopyPieces(uint64_t address, MemoryPieces* pieces) {
  constexpr uint64_t kMostCopied = 16 << 10;  // of the control frames, and of the values on the stack
  const uint8_t* context = pieces->Copy(address, kContextBytes);
  if (context == nullptr) return;
  const std::span<const uint8_t> bytes(context, kContextBytes);
  const auto stack = MemberAt<uint64_t>(bytes, kStack);
  const auto frame = MemberAt<uint64_t>(bytes, kFrame);
  const uint64_t end = stack + MemberAt<uint64_t>(bytes, kStackWords) * sizeof(uint64_t);
  if (stack == 0 || frame < stack || frame >= end || (end - frame) % kFrameBytes != 0) return;
  const uint64_t frames_bytes = std::min(end - frame, kMostCopied);
  const uint8_t* frames = pieces->Copy(frame, frames_bytes);
  if (frames == nullptr ||
      pieces->Copy(MemberAt<uint64_t>(bytes, kThread) + kVm, kContext + sizeof(uint64_t) - kVm) == nullptr)
    return;
  const auto top = MemberAt<uint64_t>({frames, kFrameBytes}, kStackPointer);
  if (top > stack && top < frame) {
    const uint64_t begin = top - stack > kMostCopied ? top - kMostCopied : stack;
    if (pieces->Copy(begin, top - begin) == nullptr) return;
  }
  for (uint64_t at = 0; at + kFrameBytes <= frames_bytes; at += kFrameBytes) {
    const std::span<const uint8_t> members(frames + at, kFrameBytes);
    const auto environment = MemberAt<uint64_t>(members, kEnvironment);
    pieces->AddToKey(MemberAt<uint64_t>(members, kSequence));
    pieces->AddToKey(MemberAt<uint64_t>(members, kInstruction));
    const bool is_copied = pieces->Find(environment, sizeof(uint64_t)) != nullptr ||
                           pieces->Copy(environment, sizeof(uint64_t)) != nullptr;
    if (!is_copied) return;
  }
  pieces->MarkWhole();
}

bool RubyReader::ReadContext(uint64_t address, const RawStack& raw, Context* context) {
  std::array<uint8_t, kContextBytes> bytes;
  if (IsOverBudget() || !memory_->Read(address, &bytes)) return false;
  *context = {.address = address,
              .stack = MemberAt<uint64_t>(bytes, kStack),
              .stack_words = MemberAt<uint64_t>(bytes, kStackWords),
              .frame = MemberAt<uint64_t>(bytes, kFrame)};
  if (context->stack == 0 || context->stack % 8 != 0 || context->stack_words == 0 ||
      context->stack_words > kMostStackWords)
    return false;
  const uint64_t end = context->stack_end();
  if (context->frame < context->stack || context->frame >= end || (end - context->frame) % kFrameBytes != 0)
    return false;
  // The innermost place that exceptions are caught in is on the stack of the thread that runs it.
  const auto tag = MemberAt<uint64_t>(bytes, kTag);
  if (tag < raw.registers.stack_pointer() || tag >= raw.end) return false;
  const auto thread = MemberAt<uint64_t>(bytes, kThread);
  uint64_t vm = 0;
  uint64_t its_vm = 0;
  uint64_t its_context = 0;
  return thread % 8 == 0 && memory_->Read(vm_, &vm) && vm != 0 && memory_->Read(thread + kVm, &its_vm) &&
         its_vm == vm && memory_->Read(thread + kContext, &its_context) && its_context == address;
}

bool RubyReader::Walk(const Context& context, ScriptFunctions* functions, ScriptFrames* frames) {
  uint64_t address = context.frame;
  for (size_t i = 0; i < kMostFrames && address < context.stack_end(); ++i, address += kFrameBytes) {
    std::array<uint8_t, kFrameBytes> bytes;
    if (IsOverBudget() || !memory_->Read(address, &bytes)) return false;
    const auto sequence = MemberAt<uint64_t>(bytes, kSequence);
    uint64_t flags = 0;
    if (!memory_->Read(MemberAt<uint64_t>(bytes, kEnvironment), &flags)) return false;
    uint64_t sequence_flags = 0;
    if (sequence != 0 && (sequence % 8 != 0 || !memory_->Read(sequence, &sequence_flags))) return false;
    const bool is_ruby = (sequence_flags & kTypeMask) == kInternal &&
                         (sequence_flags & kInternalMask) == kInternalSequence &&
                         MemberAt<uint64_t>(bytes, kInstruction) != 0 && (flags & kKindMask) != kPlaceholder;
    if (is_ruby) {
      if (frames->count == ScriptFrames::kMost) {
        frames->is_cut = true;
        return true;
      }
      ScriptFrame& frame = frames->frames[frames->count];
      if (!ReadFrame(bytes, functions, &frame)) return false;
      ++frames->count;
      frame.ends_call = false;
    }
    if ((flags & kFinishes) != 0 && frames->count != 0) frames->frames[frames->count - 1].ends_call = true;
  }
  return true;
}

bool RubyReader::ReadFrame(std::span<const uint8_t> bytes, ScriptFunctions* functions, ScriptFrame* frame) {
  const auto sequence = MemberAt<uint64_t>(bytes, kSequence);
  uint64_t address = 0;
  std::array<uint8_t, kBodyBytes> body;
  if (!memory_->Read(sequence + kBody, &address) || address % 8 != 0 || !memory_->Read(address, &body))
    return false;
  char name[ScriptFunctions::kMaxNameBytes];
  char path[1024];
  size_t name_size = ReadText(memory_, MemberAt<uint64_t>(body, kLabel), name, false);
  const size_t path_size = ReadPath(MemberAt<uint64_t>(body, kPath), path);
  if (name_size == 0) return false;
  const std::string_view file = StablePath({path, path_size});
  if (!file.starts_with('<')) name_size = AddClass(MemberAt<uint64_t>(bytes, kEnvironment), name_size, name);
  frame->function = functions->Add({{name, name_size}, file});
  frame->line = ReadLine(body, MemberAt<uint64_t>(bytes, kInstruction));
  return true;
}

size_t RubyReader::AddClass(uint64_t environment, size_t size, std::span<char> name) {
  constexpr std::string_view kIn = " in ";
  const std::string_view label(name.data(), size);
  const size_t in = label.rfind(kIn);
  const size_t at = in == label.npos ? 0 : in + kIn.size();
  if (at == size) return size;
  // The body of a class or of a file, unlike the method `<=>`.
  if (label[at] == '<' && at + 1 < size && label[at + 1] >= 'a' && label[at + 1] <= 'z') return size;
  char owner[128];
  const size_t owner_size = classes_.ReadOwner(environment, owner);
  if (owner_size == 0 || size + owner_size > name.size()) return size;
  const auto begin = name.begin() + static_cast<ptrdiff_t>(at);
  std::copy_backward(begin, name.begin() + static_cast<ptrdiff_t>(size),
                     name.begin() + static_cast<ptrdiff_t>(size + owner_size));
  std::copy_n(owner, owner_size, begin);
  return size + owner_size;
}

uint32_t RubyReader::ReadLine(std::span<const uint8_t> body, uint64_t instruction) {
  const auto code = MemberAt<uint64_t>(body, kCode);
  const auto lines = MemberAt<uint64_t>(body, kLines);
  const auto count = MemberAt<uint32_t>(body, kLineCount);
  uint64_t position = (instruction - code) / sizeof(uint64_t);
  if (instruction < code || position > MemberAt<uint32_t>(body, kCodeSize) || count == 0 || lines == 0)
    return 0;
  if (position != 0) --position;  // the next instruction is kept
  const uint32_t index = count == 1 ? 1 : ReadIndex(MemberAt<uint64_t>(body, kPositions), position);
  int32_t line = 0;
  if (index == 0 || index > count || !memory_->Read(lines + (index - 1) * kLineBytes, &line) || line < 0)
    return 0;
  // The table may have been freed, as all are when Ruby ends.
  constexpr int32_t kMostLines = 10'000'000;
  const auto first = MemberAt<int32_t>(body, kFirstLine);
  const auto last = MemberAt<int32_t>(body, kLastLine);
  const bool is_right = 0 < first && first <= last ? first <= line && line <= last : line <= kMostLines;
  return is_right ? static_cast<uint32_t>(line) : 0;
}

// Numbers of entries that begin at or before a position: for the first positions themselves, then as sums and
// bits (succ_index_lookup() in iseq.c).
uint32_t RubyReader::ReadIndex(uint64_t table, uint64_t position) {
  constexpr uint64_t kDirect = 54;
  constexpr uint64_t kPerWord = 9;
  constexpr uint64_t kBlockBits = 512;
  constexpr size_t kBlockBytes = 80;
  if (position < kDirect) {
    uint64_t word = 0;
    if (!memory_->Read(table + position / kPerWord * sizeof word, &word)) return 0;
    return word >> (position % kPerWord * 7) & 0x7f;
  }
  const uint64_t in_blocks = position - kDirect;
  std::array<uint8_t, kBlockBytes> block;
  if (!memory_->Read(table + kDirect / kPerWord * sizeof(uint64_t) + in_blocks / kBlockBits * kBlockBytes,
                     &block))
    return 0;
  const uint64_t bit = in_blocks % kBlockBits;
  const uint64_t small = bit / 64;
  const auto sums = MemberAt<uint64_t>(block, 8);
  const uint64_t before = small == 0 ? 0 : sums >> ((small - 1) * 9) & 0x1ff;
  const uint64_t bits = MemberAt<uint64_t>(block, 16 + small * 8) << (63 - bit % 64);
  return MemberAt<uint32_t>(block, 0) + static_cast<uint32_t>(before) +
         static_cast<uint32_t>(std::popcount(bits));
}

// A path, or an array that begins with it.
size_t RubyReader::ReadPath(uint64_t object, std::span<char> text) {
  std::array<uint8_t, 40> header;
  if (object == 0 || object % 8 != 0 || !memory_->Read(object, &header)) return 0;
  const auto flags = MemberAt<uint64_t>(header, 0);
  if ((flags & kTypeMask) != kArray) return ReadText(memory_, object, text, true);
  uint64_t first = MemberAt<uint64_t>(header, 16);
  if ((flags & kIsInside) == 0 && !memory_->Read(MemberAt<uint64_t>(header, 32), &first)) return 0;
  return ReadText(memory_, first, text, true);
}

}  // namespace lagwatch::stack::ruby
