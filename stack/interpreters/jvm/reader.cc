// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/reader.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::stack::jvm {
namespace {

constexpr uint64_t kWord = 8;

}  // namespace

bool JvmReader::Attach(Memory* memory, const ExportedSymbols& exports, bool* is_hotspot) {
  if (!FindLayout(memory, exports, &layout_, is_hotspot)) return false;
  UseMemory(memory);
  return true;
}

void JvmReader::UseMemory(Memory* memory) {
  memory_ = memory;
  code_.Attach(memory, &layout_);
  methods_.Attach(memory, &layout_);
  threads_.Attach(memory, &layout_);
  waits_.Attach(memory, &layout_, &threads_, &methods_);
}

bool JvmReader::Read(int tid, const RawStack* raw, ScriptFunctions* functions, ScriptFrames* frames) {
  return ReadFrames(tid, raw, ScriptFrames::kMost, functions, frames);
}

bool JvmReader::ReadFrames(int tid, const RawStack* raw, size_t most, ScriptFunctions* functions,
                           ScriptFrames* frames) {
  last_read_ = memory_->read_count() + kMostReads;
  raw_ = raw;
  functions_ = functions;
  frames_ = frames;
  frames->count = 0;
  frames->is_cut = false;
  caller_count_ = 0;
  const uint64_t thread = threads_.Find(tid);
  uint64_t stack_bytes = 0;
  if (thread == 0 || !code_.Refresh() || !memory_->Read(thread + layout_.stack_base, &stack_end_) ||
      !memory_->Read(thread + layout_.stack_size, &stack_bytes))
    return false;
  uint64_t monitor = 0;
  is_entering_ = memory_->Read(thread + layout_.pending_monitor, &monitor) && monitor != 0;
  Cursor cursor;
  if (!FindTop(thread, &cursor)) return false;
  for (int i = 0; i < kMostSteps; ++i) {
    if (frames->count >= most || IsOverBudget()) {
      frames->is_cut = true;
      break;
    }
    const uint64_t sp = cursor.sp;
    const WalkStep step = StepOver(&cursor);
    if (step == WalkStep::kEnd) break;
    if (step == WalkStep::kLost || cursor.sp <= sp || cursor.sp > stack_end_) {
      frames->is_cut = true;
      break;
    }
  }
  return frames->count != 0;
}

std::string_view JvmReader::InnermostFunction(int tid, ScriptFunctions* functions, ScriptFrames* frames) {
  if (!ReadFrames(tid, nullptr, 1, functions, frames)) return {};
  return functions->Find(frames->frames[0].function).name;
}

bool JvmReader::ReadStack(uint64_t address, uint64_t* value) {
  if (raw_ != nullptr && address >= raw_->address && address - raw_->address + kWord <= raw_->size_bytes) {
    std::memcpy(value, raw_->bytes + (address - raw_->address), kWord);
    return true;
  }
  return memory_->Read(address, value);
}

bool JvmReader::FindTop(uint64_t thread, Cursor* cursor) {
  const bool has_registers = raw_ != nullptr && raw_->registers.is_known(Registers::kFramePointer);
  if (has_registers) {
    constexpr int kBytecode = 13;  // r13
    *cursor = {.sp = raw_->registers.stack_pointer(),
               .fp = raw_->registers.value[Registers::kFramePointer],
               .pc = raw_->registers.program_counter(),
               .bytecode = raw_->registers.value[kBytecode],
               .is_leaf = true};
    if (code_.Holds(cursor->pc)) return true;
  }
  Anchor anchor;
  if (!ReadAnchor(thread + layout_.anchor, &anchor)) return false;
  if (anchor.sp != 0 && (raw_ == nullptr || anchor.sp >= raw_->registers.stack_pointer()))
    return GoTo(anchor, cursor);
  // Java code calls some of the JVM's and the C library's functions without a note of it.
  return has_registers && GoToReturn(cursor);
}

bool JvmReader::ReadAnchor(uint64_t address, Anchor* anchor) {
  return memory_->Read(address + layout_.last_sp, &anchor->sp) &&
         memory_->Read(address + layout_.last_fp, &anchor->fp) &&
         memory_->Read(address + layout_.last_pc, &anchor->pc);
}

bool JvmReader::GoTo(const Anchor& anchor, Cursor* cursor) {
  *cursor = {.sp = anchor.sp, .fp = anchor.fp, .pc = anchor.pc};
  if (anchor.sp % kWord != 0 || anchor.sp >= stack_end_) return false;
  return cursor->pc != 0 || ReadStack(anchor.sp - kWord, &cursor->pc);
}

bool JvmReader::GoToReturn(Cursor* cursor) {
  constexpr int kMostWords = 512;
  constexpr uint64_t kMostFrameBytes = 64 << 10;
  for (int i = 0; i < kMostWords; ++i) {
    const uint64_t address = cursor->sp + i * kWord;
    uint64_t pc = 0;
    Blob blob;
    if (address >= stack_end_ || !ReadStack(address, &pc)) return false;
    if (!code_.Holds(pc)) continue;
    const bool is_compiled = code_.FindBlob(pc, &blob) && blob.kind == BlobKind::kCompiled;
    const bool has_record = is_compiled && FindRecords(blob, pc).is_exact;
    const bool is_near = is_compiled && !has_record && IsLeafCall(blob, pc, address + kWord);
    if (!code_.IsInterpreter(pc) && !code_.IsCallStubReturn(pc) && !has_record && !is_near) continue;
    uint64_t saved_fp = 0;
    if (ReadStack(address - kWord, &saved_fp) && saved_fp > address && saved_fp - address < kMostFrameBytes)
      cursor->fp = saved_fp;
    *cursor = {.sp = address + kWord, .fp = cursor->fp, .pc = pc, .is_near = is_near};
    return true;
  }
  return false;
}

// Compiled code calls some functions of the JVM's without a record of the place.
bool JvmReader::IsLeafCall(const Blob& blob, uint64_t pc, uint64_t sp) {
  constexpr uint8_t kCall = 0xe8;
  constexpr uint8_t kCallRegister = 0xff;
  uint8_t code[5] = {};
  uint64_t sender = 0;
  if (!memory_->Read(pc - sizeof code, &code)) return false;
  const bool is_call = code[0] == kCall || (code[3] == kCallRegister && (code[4] & 0xf8) == 0xd0);
  return is_call && ReadStack(sp + blob.frame_bytes - kWord, &sender) && code_.Holds(sender);
}

JvmReader::WalkStep JvmReader::StepOver(Cursor* cursor) {
  if (code_.IsInterpreter(cursor->pc)) return StepOverInterpreted(cursor);
  if (code_.IsCallStubReturn(cursor->pc)) return StepOverEntry(cursor);
  Blob blob;
  if (!code_.FindBlob(cursor->pc, &blob)) return WalkStep::kLost;
  switch (blob.kind) {
    case BlobKind::kCompiled:
      return StepOverCompiled(blob, cursor);
    case BlobKind::kStub: {
      const uint64_t sender_sp = cursor->sp + blob.frame_bytes;
      return Leave(sender_sp, sender_sp - kWord, sender_sp - 2 * kWord, cursor) ? WalkStep::kOn
                                                                                : WalkStep::kLost;
    }
    case BlobKind::kWithoutFrame:
      break;
  }
  return GoToReturn(cursor) ? WalkStep::kOn : WalkStep::kLost;
}

bool JvmReader::Leave(uint64_t sender_sp, uint64_t return_at, uint64_t fp_at, Cursor* cursor) {
  Cursor sender{.sp = sender_sp};
  if (!ReadStack(return_at, &sender.pc) || !ReadStack(fp_at, &sender.fp)) return false;
  *cursor = sender;
  return true;
}

JvmReader::WalkStep JvmReader::StepOverInterpreted(Cursor* cursor) {
  // Words from the frame pointer.
  constexpr uint64_t kSenderSp = 1;
  constexpr uint64_t kMethod = 3;
  constexpr uint64_t kBytecode = 8;
  const uint64_t fp = cursor->fp;
  uint64_t method = 0;
  uint64_t bytecode = 0;
  const bool has_frame = fp % kWord == 0 && fp >= cursor->sp && fp < stack_end_ &&
                         ReadStack(fp - kMethod * kWord, &method) &&
                         ReadStack(fp - kBytecode * kWord, &bytecode) && methods_.IsMethod(method);
  if (!has_frame) {
    // At a method's entry its frame is not there yet.
    uint64_t pc = 0;
    if (!cursor->is_leaf || !ReadStack(cursor->sp, &pc) || !code_.Holds(pc)) return WalkStep::kLost;
    *cursor = {.sp = cursor->sp + kWord, .fp = fp, .pc = pc};
    return WalkStep::kOn;
  }
  int64_t bci = -1;
  if (cursor->is_leaf) bci = methods_.IndexOf(method, cursor->bytecode);
  if (bci < 0) bci = methods_.IndexOf(method, bytecode);
  // The interpreter is past the instruction while it waits for the monitor.
  if (frames_->count == 0 && is_entering_ && methods_.IsMonitorEnter(method, bci - 1)) --bci;
  if (!Add(method, bci)) return WalkStep::kLost;
  uint64_t sender_sp = 0;
  if (!ReadStack(fp - kSenderSp * kWord, &sender_sp)) return WalkStep::kLost;
  return Leave(sender_sp, fp + kWord, fp, cursor) ? WalkStep::kOn : WalkStep::kLost;
}

JvmReader::WalkStep JvmReader::StepOverEntry(Cursor* cursor) {
  constexpr uint64_t kWrapper = 6;  // words below the frame pointer
  uint64_t wrapper = 0;
  Anchor anchor;
  if (!ReadStack(cursor->fp - kWrapper * kWord, &wrapper) ||
      !ReadAnchor(wrapper + layout_.wrapper_anchor, &anchor))
    return WalkStep::kLost;
  if (anchor.sp == 0) return WalkStep::kEnd;
  NoteCaller(cursor->fp);
  return GoTo(anchor, cursor) ? WalkStep::kOn : WalkStep::kLost;
}

// The entry saves its caller's registers around its frame pointer: cpu/x86/stubGenerator_x86_64.cpp.
void JvmReader::NoteCaller(uint64_t entry_fp) {
  constexpr uint64_t kBase = 7;  // words below the frame pointer
  NativeCaller caller{};
  caller.frame_count = frames_->count;
  caller.sp = entry_fp + 2 * kWord;
  if (caller_count_ == callers_.size() || !ReadStack(entry_fp + kWord, &caller.pc) ||
      !ReadStack(entry_fp, &caller.fp) || !ReadStack(entry_fp - kBase * kWord, &caller.base))
    return;
  callers_[caller_count_++] = caller;
}

JvmReader::WalkStep JvmReader::StepOverCompiled(const Blob& blob, Cursor* cursor) {
  if (!AddCompiled(blob, *cursor)) return WalkStep::kLost;
  if (cursor->is_leaf && LeaveWithoutFrame(blob, cursor)) return WalkStep::kOn;
  const uint64_t sender_sp = cursor->sp + blob.frame_bytes;
  return Leave(sender_sp, sender_sp - kWord, sender_sp - 2 * kWord, cursor) ? WalkStep::kOn : WalkStep::kLost;
}

bool JvmReader::LeaveWithoutFrame(const Blob& blob, Cursor* cursor) {
  constexpr uint8_t kPopFramePointer = 0x5d;
  constexpr uint8_t kReturn = 0xc3;
  constexpr uint8_t kPoll[] = {0x49, 0x3b, 0xa7};  // cmp rsp, [r15 + …], between the two
  uint8_t code[3] = {};
  memory_->Read(cursor->pc, &code);
  const bool is_popped = code[0] == kReturn || std::equal(code, code + 3, kPoll);
  const bool is_before = cursor->pc - blob.code < blob.frame_complete;
  uint64_t pc = 0;
  if ((is_popped || is_before) && ReadStack(cursor->sp, &pc) && code_.Holds(pc)) {
    *cursor = {.sp = cursor->sp + kWord, .fp = cursor->fp, .pc = pc};
    return true;
  }
  if ((code[0] == kPopFramePointer || is_before) && ReadStack(cursor->sp + kWord, &pc) && code_.Holds(pc))
    return Leave(cursor->sp + 2 * kWord, cursor->sp + kWord, cursor->sp, cursor);
  return false;
}

bool JvmReader::Add(uint64_t method, int64_t bci) {
  Methods::MethodPlace place;
  if (!methods_.Find(method, bci, functions_, &place)) return false;
  if (place.is_hidden) return true;
  if (frames_->count == ScriptFrames::kMost) {
    frames_->is_cut = true;
    return true;
  }
  frames_->frames[frames_->count++] = {place.function, place.line, false};
  return true;
}

}  // namespace lagwatch::stack::jvm
