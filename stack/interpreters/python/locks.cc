// SPDX-License-Identifier: Apache-2.0
// The locks of Python that record their owners.
#include <algorithm>
#include <array>
#include <string_view>

#include "stack/interpreters/native_words.h"
#include "stack/interpreters/python/reader.h"

namespace lagwatch::stack::python {
namespace {

// A threading.RLock: the same in all versions from 3.8 to 3.13.
struct ReentrantLock {
  uint64_t references;
  uint64_t type;
  uint64_t futex;  // that it waits with
  uint64_t owner;  // as pthread_self() has it
  uint64_t depth;
};
constexpr uint64_t kTypeName = 24;  // in a type

}  // namespace

std::optional<ScriptLock> PythonReader::FindLock(uint64_t address) {
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

// The words of a waiting thread's stack lead to the lock: functions in C have its address.
std::optional<ScriptLock> PythonReader::FindReentrantLock(const FutexWait& futex) {
  constexpr uint64_t kCommandMask = 0x7f;  // of the operation of a futex
  constexpr uint64_t kWait = 0;
  constexpr uint64_t kWaitBitset = 9;
  const uint64_t command = futex.operation & kCommandMask;
  if (futex.address == 0 || (command != kWait && command != kWaitBitset)) return {};
  last_read_ = memory_->read_count() + kMostReads;
  const NativeWords words(memory_, futex.stack_pointer);
  for (const uint64_t word : words.all()) {
    ReentrantLock lock;
    if (!words.MayBeObject(word) || !memory_->Read(word, &lock) || lock.futex != futex.address) continue;
    if (!IsOfType(lock.type, "_thread.RLock")) continue;
    const auto is_owner = [&](uint64_t state) {
      uint64_t pthread = 0;
      return memory_->Read(state + layout_.pthread, &pthread) && pthread == lock.owner;
    };
    const uint64_t state = lock.depth == 0 || lock.owner == 0 ? 0 : FindStateIf(is_owner).state;
    const int tid = state == 0 ? 0 : TidOf(state);
    if (tid == 0) return {};
    return ScriptLock{.address = word,
                      .turn = 0,
                      .owner_tid = tid,
                      .kind = policies::LockKind::kMutex,
                      .may_time_out = true};
  }
  return {};
}

bool PythonReader::IsOfType(uint64_t type, std::string_view name) {
  uint64_t text = 0;
  std::array<char, 32> bytes{};
  const size_t size = std::min(name.size() + 1, bytes.size() - 1);  // with the end
  return memory_->Read(type + kTypeName, &text) && memory_->Read(text, bytes.data(), size) &&
         name == bytes.data();
}

}  // namespace lagwatch::stack::python
