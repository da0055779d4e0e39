// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/go/goroutines.h"

#include <algorithm>
#include <span>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::go {
namespace {

constexpr uint64_t kStackBegin = 0;
constexpr uint64_t kStackEnd = 8;
constexpr uint64_t kMostStackBytes = uint64_t{1} << 30;  // Go's own limit

Status StatusOf(uint32_t value) {
  constexpr uint32_t kIsScanned = 0x1000;  // by the garbage collector, in between
  constexpr uint32_t kRunnable = 1;
  constexpr uint32_t kRunning = 2;
  constexpr uint32_t kInCall = 3;
  constexpr uint32_t kWaiting = 4;
  switch (value & ~kIsScanned) {
    case kRunnable:
      return Status::kRunnable;
    case kRunning:
      return Status::kRunning;
    case kInCall:
      return Status::kInCall;
    case kWaiting:
      return Status::kWaiting;
    default:
      return Status::kOther;
  }
}

}  // namespace

bool Goroutines::Attach(Memory* memory, const Functions& functions) {
  memory_ = memory;
  layout_ = FindLayout(functions.minor_version());
  if (layout_ != nullptr && FindList(functions)) return true;
  layout_ = nullptr;
  return false;
}

// The list of all goroutines (runtime.allgs) is the only variable that looks like one.
bool Goroutines::FindList(const Functions& functions) {
  const Functions::Range zeroed = functions.zeroed();
  uint64_t found = 0;
  for (uint64_t at = (zeroed.begin + 7) / 8 * 8; at + 24 <= zeroed.end;) {
    constexpr size_t kWords = 512;
    uint64_t words[kWords + 2];
    const size_t count = std::min<uint64_t>(kWords + 2, (zeroed.end - at) / 8);
    if (!memory_->Read(at, words, count * 8)) return false;
    for (size_t i = 0; i + 2 < count; ++i) {
      const uint64_t slice[3] = {words[i], words[i + 1], words[i + 2]};
      if (functions.data().Holds(slice[0]) || !IsList(slice)) continue;
      if (found != 0) return false;
      found = at + i * 8;
    }
    at += std::min(count, kWords) * 8;
    if (count < kWords + 2) break;
  }
  list_ = found;
  return found != 0;
}

bool Goroutines::IsList(const uint64_t (&words)[3]) {
  const auto [list, count, capacity] = words;
  constexpr uint64_t kMostCapacity = 1 << 24;
  constexpr uint64_t kFirsts = 3;  // of the run time's own
  if (list == 0 || list % 8 != 0 || count < kFirsts || count > capacity || capacity > kMostCapacity)
    return false;
  for (uint64_t i = 0; i < kFirsts; ++i) {
    uint64_t address = 0;
    Goroutine goroutine;
    ahead_begin_ = ahead_end_ = 0;
    if (!memory_->Read(list + i * 8, &address) || !Read(address, &goroutine) || (i == 0 && goroutine.id != 1))
      return false;
    // The thread's record leads back.
    if (goroutine.thread != 0 && goroutine.status == Status::kInCall &&
        GoroutineOf(goroutine.thread) != address)
      return false;
  }
  return true;
}

uint64_t Goroutines::ReadCount(uint64_t* list) {
  uint64_t words[3];
  if (!memory_->Read(list_, &words) || words[1] > words[2]) return 0;
  *list = words[0];
  return std::min(words[1], kMost);
}

bool Goroutines::ReadAddresses(uint64_t list, uint64_t count) {
  return memory_->Read(list, addresses_.data(), std::min(count, kAtOnce) * 8);
}

const uint8_t* Goroutines::ReadRecord(uint64_t address) {
  if (address < ahead_begin_ || address + kRecordBytes > ahead_end_) {
    ahead_begin_ = ahead_end_ = 0;
    size_t size = ahead_.size();
    // The last ones of their page may have nothing behind them.
    if (!memory_->Read(address, ahead_.data(), size)) {
      size = kRecordBytes;
      if (!memory_->Read(address, ahead_.data(), size)) return nullptr;
    }
    ahead_begin_ = address;
    ahead_end_ = address + size;
  }
  return &ahead_[address - ahead_begin_];
}

bool Goroutines::Read(uint64_t address, Goroutine* goroutine) {
  if (address == 0 || address % 8 != 0) return false;
  const uint8_t* record = ReadRecord(address);
  if (record == nullptr) return false;
  const std::span<const uint8_t> bytes(record, kRecordBytes);
  const Layout& at = *layout_;
  Goroutine& read = *goroutine = {};
  read.address = address;
  read.id = MemberAt<uint64_t>(bytes, at.id);
  read.status = StatusOf(MemberAt<uint32_t>(bytes, at.status));
  read.turns = MemberAt<uint8_t>(bytes, at.turns);
  read.stack_begin = MemberAt<uint64_t>(bytes, kStackBegin);
  read.stack_end = MemberAt<uint64_t>(bytes, kStackEnd);
  read.thread = MemberAt<uint64_t>(bytes, at.thread);
  read.locked_thread = MemberAt<uint64_t>(bytes, at.locked_thread);
  read.waiting = MemberAt<uint64_t>(bytes, at.waiting);
  read.start = MemberAt<uint64_t>(bytes, at.start);
  if (read.status == Status::kOther) return true;
  if (read.status != Status::kRunning) {
    const bool is_in_call = read.status == Status::kInCall;
    read.stack_pointer = MemberAt<uint64_t>(bytes, is_in_call ? at.call_stack_pointer : at.stack_pointer);
    read.program_counter =
        MemberAt<uint64_t>(bytes, is_in_call ? at.call_program_counter : at.program_counter);
    if (read.stack_pointer < read.stack_begin || read.stack_pointer >= read.stack_end) return false;
  }
  return read.id != 0 && read.stack_begin < read.stack_end &&
         read.stack_end - read.stack_begin <= kMostStackBytes;
}

int32_t Goroutines::ThreadId(uint64_t thread) {
  uint64_t id = 0;
  constexpr uint64_t kMostId = 1 << 22;
  return thread != 0 && memory_->Read(thread + layout_->thread_id, &id) && id <= kMostId
             ? static_cast<int32_t>(id)
             : 0;
}

uint64_t Goroutines::GoroutineOf(uint64_t thread) {
  uint64_t goroutine = 0;
  return memory_->Read(thread + layout_->thread_goroutine, &goroutine) ? goroutine : 0;
}

bool Goroutines::FindByThread(int32_t tid, Goroutine* goroutine) {
  constexpr int kMostLooks = 4096;
  int looks_left = kMostLooks;
  bool has_found = false;
  ForEach([&](const Goroutine& one) {
    if (--looks_left < 0) return false;
    const uint64_t thread = one.thread != 0 ? one.thread : one.locked_thread;
    if (thread == 0 || ThreadId(thread) != tid) return true;
    *goroutine = one;
    has_found = true;
    return false;
  });
  return has_found;
}

}  // namespace lagwatch::stack::go
