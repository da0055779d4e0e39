// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/reader.h"

#include <algorithm>
#include <cstring>

#include "stack/interpreters/jvm/compressed.h"

namespace lagwatch::stack::jvm {
namespace {

constexpr uint64_t kWord = 8;

}  // namespace

bool Reader::Attach(Memory* memory, const ExportedSymbols& exports, bool* is_hotspot) {
  if (!FindLayout(memory, exports, &layout_, is_hotspot)) return false;
  UseMemory(memory);
  return true;
}

void Reader::UseMemory(Memory* memory) {
  memory_ = memory;
  code_.Attach(memory, &layout_);
  methods_.Attach(memory, &layout_);
  objects_.Attach(memory, &layout_);
}

bool Reader::Read(int tid, const RawStack* raw, ScriptFunctions* functions, ScriptFrames* frames) {
  return ReadFrames(tid, raw, ScriptFrames::kMost, functions, frames);
}

bool Reader::ReadFrames(int tid, const RawStack* raw, size_t most, ScriptFunctions* functions,
                        ScriptFrames* frames) {
  last_read_ = memory_->read_count() + kMostReads;
  raw_ = raw;
  functions_ = functions;
  frames_ = frames;
  frames->count = 0;
  frames->is_cut = false;
  const uint64_t thread = FindThread(tid);
  uint64_t stack_bytes = 0;
  if (thread == 0 || !code_.Refresh() || !memory_->Read(thread + layout_.stack_base, &stack_end_) ||
      !memory_->Read(thread + layout_.stack_size, &stack_bytes))
    return false;
  Cursor cursor;
  if (!FindTop(thread, &cursor)) return false;
  for (int i = 0; i < kMostSteps; ++i) {
    if (frames->count >= most || IsOverBudget()) {
      frames->is_cut = true;
      break;
    }
    const uint64_t sp = cursor.sp;
    const Step step = StepOver(&cursor);
    if (step == Step::kEnd) break;
    if (step == Step::kLost || cursor.sp <= sp || cursor.sp > stack_end_) {
      frames->is_cut = true;
      break;
    }
  }
  return frames->count != 0;
}

template <typename Take>
void Reader::ForEachThread(Take take) {
  uint64_t list = 0;
  uint64_t threads = 0;
  uint32_t count = 0;
  if (!memory_->Read(layout_.thread_list, &list) || list == 0 ||
      !memory_->Read(list + layout_.list_length, &count) ||
      !memory_->Read(list + layout_.list_threads, &threads))
    return;
  std::array<uint64_t, 64> part;
  for (uint32_t i = 0; i < std::min(count, kMostThreads); i += part.size()) {
    const uint32_t size = std::min<uint32_t>(part.size(), count - i);
    if (!memory_->Read(threads + i * kWord, part.data(), size * kWord)) return;
    for (uint32_t j = 0; j < size; ++j) {
      if (take(part[j])) return;
    }
  }
}

uint64_t Reader::FindThread(int tid) {
  ThreadObject& hint = threads_[static_cast<uint32_t>(tid) % threads_.size()];
  if (hint.tid == tid && IsThread(hint.object, tid)) return hint.object;
  uint64_t found = 0;
  ForEachThread([&](uint64_t thread) {
    if (IsThread(thread, tid)) found = thread;
    return found != 0;
  });
  hint = {tid, found};
  return found;
}

bool Reader::IsThread(uint64_t thread, int tid) { return thread != 0 && TidOf(thread) == tid; }

Reader::Monitor Reader::FindMonitor(int tid) {
  const uint64_t thread = FindThread(tid);
  uint64_t monitor = 0;
  uint64_t owner = 0;
  if (thread == 0 || !memory_->Read(thread + layout_.pending_monitor, &monitor) || monitor == 0 ||
      !memory_->Read(monitor + layout_.monitor_owner, &owner) || owner == 0)
    return {};
  int owner_tid = 0;
  ForEachThread([&](uint64_t other) {
    if (!IsOwner(other, monitor, owner)) return false;
    owner_tid = TidOf(other);
    return true;
  });
  return {monitor, owner_tid};
}

Reader::Monitor Reader::FindParkedLock(int tid) {
  const uint64_t thread = FindThread(tid);
  const uint64_t lock =
      thread == 0 ? 0 : objects_.ReadReference(ObjectOf(thread), {"java/lang/Thread", "parkBlocker"});
  if (lock == 0) return {};
  const uint64_t owner = objects_.ReadReference(
      lock, {"java/util/concurrent/locks/AbstractOwnableSynchronizer", "exclusiveOwnerThread"});
  if (owner == 0) return {};
  int owner_tid = 0;
  ForEachThread([&](uint64_t other) {
    if (ObjectOf(other) != owner) return false;
    owner_tid = TidOf(other);
    return true;
  });
  return {lock, owner_tid};
}

int Reader::TidOf(uint64_t thread) {
  uint64_t os_thread = 0;
  int32_t tid = 0;
  return memory_->Read(thread + layout_.os_thread, &os_thread) &&
                 memory_->Read(os_thread + layout_.thread_id, &tid)
             ? tid
             : 0;
}

uint64_t Reader::ObjectOf(uint64_t thread) {
  uint64_t place = 0;
  uint64_t object = 0;
  return memory_->Read(thread + layout_.thread_object, &place) && memory_->Read(place, &object) ? object : 0;
}

bool Reader::IsOwner(uint64_t thread, uint64_t monitor, uint64_t owner) {
  constexpr uint64_t kAnonymous = 1;  // a thread that locked the object while no other waited for it
  if (thread == owner) return true;
  if (owner == kAnonymous) {
    uint64_t place = 0;
    uint64_t object = 0;
    return memory_->Read(monitor + layout_.monitor_object, &place) && memory_->Read(place, &object) &&
           HasInLockStack(thread, object);
  }
  if (layout_.monitor_owner_id != kNone) {
    uint64_t id = 0;
    return memory_->Read(thread + layout_.monitor_owner_id, &id) && id == owner;
  }
  // A monitor that was entered before it was waited for has the address of a lock in its owner's stack.
  uint64_t base = 0;
  uint64_t size = 0;
  return memory_->Read(thread + layout_.stack_base, &base) &&
         memory_->Read(thread + layout_.stack_size, &size) && owner < base && base - owner <= size;
}

bool Reader::HasInLockStack(uint64_t thread, uint64_t object) {
  std::array<uint64_t, 8> objects{};
  uint32_t top = 0;
  if (layout_.lock_stack == kNone || layout_.lock_stack_top == kNone || layout_.lock_stack_base == kNone ||
      object == 0 || !memory_->Read(thread + layout_.lock_stack + layout_.lock_stack_top, &top))
    return false;
  const uint32_t begin = layout_.lock_stack + layout_.lock_stack_base;
  if (top <= begin || top > begin + sizeof objects ||
      !memory_->Read(thread + begin, objects.data(), top - begin))
    return false;
  return std::ranges::find(objects, object) != objects.end();
}

bool Reader::IsCollecting() {
  uint64_t heap = 0;
  uint8_t is_active = 0;
  return memory_->Read(layout_.heap, &heap) && heap != 0 &&
         memory_->Read(heap + layout_.is_collecting, &is_active) && is_active == 1;
}

bool Reader::IsAsleep(int tid, ScriptFunctions* functions, ScriptFrames* frames) {
  return ReadFrames(tid, nullptr, 1, functions, frames) &&
         functions->Find(frames->frames[0].function).name.starts_with("java.lang.Thread.sleep");
}

// The JVM's counters lie one after the other: src/hotspot/share/runtime/perfMemory.hpp.
void Reader::ReadGcCause(char* text, size_t size_bytes) {
  struct Prologue {
    uint32_t magic, versions, used_bytes, overflow;
    int64_t modified;
    uint32_t first_entry, entry_count;
  };
  struct Entry {
    uint32_t bytes, name, vector_length;
    uint8_t type, flags, units, variability;
    uint32_t data;
  };
  constexpr uint32_t kMostEntries = 2048;
  constexpr char kName[] = "sun.gc.cause";
  uint64_t start = 0;
  Prologue prologue{};
  if (layout_.counters == 0 || !memory_->Read(layout_.counters, &start) || start == 0 ||
      !memory_->Read(start, &prologue))
    return;
  uint64_t at = start + prologue.first_entry;
  for (uint32_t i = 0; i < std::min(prologue.entry_count, kMostEntries); ++i) {
    Entry entry{};
    char name[sizeof kName] = {};
    if (!memory_->Read(at, &entry) || entry.bytes == 0) return;
    if (memory_->Read(at + entry.name, &name) && std::memcmp(name, kName, sizeof kName) == 0) {
      ReadText(memory_, at + entry.data, text, std::min<size_t>(size_bytes, entry.vector_length));
      return;
    }
    at += entry.bytes;
  }
}

bool Reader::ReadStack(uint64_t address, uint64_t* value) {
  if (raw_ != nullptr && address >= raw_->address && address - raw_->address + kWord <= raw_->size_bytes) {
    std::memcpy(value, raw_->bytes + (address - raw_->address), kWord);
    return true;
  }
  return memory_->Read(address, value);
}

bool Reader::FindTop(uint64_t thread, Cursor* cursor) {
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

bool Reader::ReadAnchor(uint64_t address, Anchor* anchor) {
  return memory_->Read(address + layout_.last_sp, &anchor->sp) &&
         memory_->Read(address + layout_.last_fp, &anchor->fp) &&
         memory_->Read(address + layout_.last_pc, &anchor->pc);
}

bool Reader::GoTo(const Anchor& anchor, Cursor* cursor) {
  *cursor = {.sp = anchor.sp, .fp = anchor.fp, .pc = anchor.pc};
  if (anchor.sp % kWord != 0 || anchor.sp >= stack_end_) return false;
  return cursor->pc != 0 || ReadStack(anchor.sp - kWord, &cursor->pc);
}

bool Reader::GoToReturn(Cursor* cursor) {
  constexpr int kMostWords = 512;
  constexpr uint64_t kMostFrameBytes = 64 << 10;
  for (int i = 0; i < kMostWords; ++i) {
    const uint64_t address = cursor->sp + i * kWord;
    uint64_t pc = 0;
    Blob blob;
    if (address >= stack_end_ || !ReadStack(address, &pc)) return false;
    if (!code_.Holds(pc)) continue;
    const bool is_call =
        code_.IsInterpreter(pc) || code_.IsCallStubReturn(pc) ||
        (code_.FindBlob(pc, &blob) && blob.kind == BlobKind::kCompiled && FindScope(blob, pc, false) != 0);
    if (!is_call) continue;
    uint64_t saved_fp = 0;
    if (ReadStack(address - kWord, &saved_fp) && saved_fp > address && saved_fp - address < kMostFrameBytes)
      cursor->fp = saved_fp;
    *cursor = {.sp = address + kWord, .fp = cursor->fp, .pc = pc};
    return true;
  }
  return false;
}

Reader::Step Reader::StepOver(Cursor* cursor) {
  if (code_.IsInterpreter(cursor->pc)) return StepOverInterpreted(cursor);
  if (code_.IsCallStubReturn(cursor->pc)) return StepOverEntry(cursor);
  Blob blob;
  if (!code_.FindBlob(cursor->pc, &blob)) return Step::kLost;
  switch (blob.kind) {
    case BlobKind::kCompiled:
      return StepOverCompiled(blob, cursor);
    case BlobKind::kStub: {
      const uint64_t sender_sp = cursor->sp + blob.frame_bytes;
      return Leave(sender_sp, sender_sp - kWord, sender_sp - 2 * kWord, cursor) ? Step::kOn : Step::kLost;
    }
    case BlobKind::kWithoutFrame:
      break;
  }
  return GoToReturn(cursor) ? Step::kOn : Step::kLost;
}

bool Reader::Leave(uint64_t sender_sp, uint64_t return_at, uint64_t fp_at, Cursor* cursor) {
  Cursor sender{.sp = sender_sp};
  if (!ReadStack(return_at, &sender.pc) || !ReadStack(fp_at, &sender.fp)) return false;
  *cursor = sender;
  return true;
}

Reader::Step Reader::StepOverInterpreted(Cursor* cursor) {
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
    if (!cursor->is_leaf || !ReadStack(cursor->sp, &pc) || !code_.Holds(pc)) return Step::kLost;
    *cursor = {.sp = cursor->sp + kWord, .fp = fp, .pc = pc};
    return Step::kOn;
  }
  int64_t bci = -1;
  if (cursor->is_leaf) bci = methods_.IndexOf(method, cursor->bytecode);
  if (bci < 0) bci = methods_.IndexOf(method, bytecode);
  if (!Add(method, bci)) return Step::kLost;
  uint64_t sender_sp = 0;
  if (!ReadStack(fp - kSenderSp * kWord, &sender_sp)) return Step::kLost;
  return Leave(sender_sp, fp + kWord, fp, cursor) ? Step::kOn : Step::kLost;
}

Reader::Step Reader::StepOverEntry(Cursor* cursor) {
  constexpr uint64_t kWrapper = 6;  // words below the frame pointer
  uint64_t wrapper = 0;
  Anchor anchor;
  if (!ReadStack(cursor->fp - kWrapper * kWord, &wrapper) ||
      !ReadAnchor(wrapper + layout_.wrapper_anchor, &anchor))
    return Step::kLost;
  if (anchor.sp == 0) return Step::kEnd;
  return GoTo(anchor, cursor) ? Step::kOn : Step::kLost;
}

Reader::Step Reader::StepOverCompiled(const Blob& blob, Cursor* cursor) {
  if (!AddCompiled(blob, *cursor)) return Step::kLost;
  if (cursor->is_leaf && LeaveWithoutFrame(blob, cursor)) return Step::kOn;
  const uint64_t sender_sp = cursor->sp + blob.frame_bytes;
  return Leave(sender_sp, sender_sp - kWord, sender_sp - 2 * kWord, cursor) ? Step::kOn : Step::kLost;
}

bool Reader::LeaveWithoutFrame(const Blob& blob, Cursor* cursor) {
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

uint64_t Reader::AddressIn(const Blob& blob, uint32_t member) {
  uint64_t address = 0;
  return memory_->Read(blob.address + member, &address) ? address : 0;
}

uint64_t Reader::OffsetIn(const Blob& blob, uint32_t member) {
  int32_t offset = 0;
  return memory_->Read(blob.address + member, &offset) ? static_cast<uint64_t>(int64_t{offset}) : 0;
}

bool Reader::AddCompiled(const Blob& blob, const Cursor& cursor) {
  uint64_t pc = cursor.pc;
  if (!cursor.is_leaf) {
    const uint64_t handler = layout_.has_immutable_data()
                                 ? blob.address + OffsetIn(blob, layout_.deopt_handler_offset)
                                 : AddressIn(blob, layout_.deopt_handler_address);
    // Code that is no longer valid returns there; the true address is kept in the frame.
    if (pc == handler && !ReadStack(cursor.sp + OffsetIn(blob, layout_.original_pc_offset), &pc))
      return false;
  }
  const size_t before = frames_->count;
  const uint64_t scope = FindScope(blob, pc, cursor.is_leaf);
  if (scope != 0 && ReadScopes(blob, scope)) return true;
  frames_->count = before;
  return Add(AddressIn(blob, layout_.compiled_method), -1);
}

uint64_t Reader::FindScope(const Blob& blob, uint64_t pc, bool is_near) {
  struct Description {
    int32_t pc_offset;
    int32_t scope_offset;
  };
  uint64_t begin = 0;
  uint64_t end = 0;
  if (layout_.has_immutable_data()) {
    const uint64_t data = AddressIn(blob, layout_.immutable_data);
    begin = data + OffsetIn(blob, layout_.pcs_offset);
    end = data + OffsetIn(blob, layout_.scopes_data_offset);
  } else {
    begin = blob.address + OffsetIn(blob, layout_.pcs_offset);
    end = blob.address + OffsetIn(blob, layout_.pcs_end_offset);
  }
  constexpr uint64_t kMostBytes = 16 << 20;
  if (end <= begin || end - begin > kMostBytes) return 0;
  uint64_t low = 0;
  uint64_t high = (end - begin) / layout_.pc_desc_bytes;
  const auto wanted = static_cast<int64_t>(pc - blob.code);
  Description found{};
  // The first one at or after the place.
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    Description description{};
    if (!memory_->Read(begin + middle * layout_.pc_desc_bytes, &description)) return 0;
    if (description.pc_offset < wanted) {
      low = middle + 1;
    } else {
      high = middle;
      found = description;
    }
  }
  if (found.pc_offset != wanted && !is_near) return 0;
  return found.scope_offset <= 0 ? 0 : static_cast<uint64_t>(found.scope_offset);
}

bool Reader::ReadScopes(const Blob& blob, uint64_t offset) {
  constexpr int kMostInlined = 64;
  const bool is_new = layout_.has_immutable_data();
  const uint64_t data =
      is_new ? AddressIn(blob, layout_.immutable_data) + OffsetIn(blob, layout_.scopes_data_offset)
             : AddressIn(blob, layout_.scopes_data);
  const uint64_t methods =
      is_new ? AddressIn(blob, layout_.blob_mutable_data) + OffsetIn(blob, layout_.blob_relocation_size)
             : blob.address + OffsetIn(blob, layout_.metadata_offset);
  for (int i = 0; offset != 0 && i < kMostInlined; ++i) {
    std::array<uint8_t, 15> bytes;  // of three numbers
    if (!memory_->Read(data + offset, bytes.data(), bytes.size())) return false;
    CompressedReader reader(bytes, layout_.has_no_zero_bytes());
    offset = reader.ReadUnsigned();
    const uint32_t index = reader.ReadUnsigned();
    const int64_t bci = int64_t{reader.ReadUnsigned()} - 1;
    uint64_t method = 0;
    if (index == 0 || !memory_->Read(methods + (index - 1) * kWord, &method) || !Add(method, bci))
      return false;
  }
  return true;
}

bool Reader::Add(uint64_t method, int64_t bci) {
  Methods::Place place;
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
