// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cstring>

#include "base/process/safe_memory.h"
#include "stack/threads/lock_layout.h"

namespace lagwatch::stack {
namespace {

uint32_t OwnTid() { return static_cast<uint32_t>(gettid()); }

// A lock's words before it was locked, while it is, and after.
template <typename Lock>
struct LockStory {
  LockWords<Lock> before, locked, after;

  bool GoesThrough(size_t word, uint32_t while_locked) const {
    return before[word] == 0 && locked[word] == while_locked && after[word] == 0;
  }
  // The one word other than word 0 that goes from 0 to `while_locked` and back.
  std::optional<size_t> OnlyWord(uint32_t while_locked) const {
    std::optional<size_t> found;
    for (size_t word = 1; word < locked.size(); ++word) {
      if (!GoesThrough(word, while_locked)) continue;
      if (found) return std::nullopt;
      found = word;
    }
    return found;
  }
};

template <typename Lock>
LockWords<Lock> WordsOf(const Lock& lock) {
  LockWords<Lock> words;
  static_assert(sizeof words == sizeof lock);
  std::memcpy(words.data(), &lock, sizeof lock);
  return words;
}

struct MutexTraits {
  int type = PTHREAD_MUTEX_NORMAL;
  int robustness = PTHREAD_MUTEX_STALLED;
  int protocol = PTHREAD_PRIO_NONE;
  int sharing = PTHREAD_PROCESS_PRIVATE;
};

std::optional<LockStory<pthread_mutex_t>> LockMutex(const MutexTraits& traits) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, traits.type);
  pthread_mutexattr_setrobust(&attributes, traits.robustness);
  pthread_mutexattr_setprotocol(&attributes, traits.protocol);
  pthread_mutexattr_setpshared(&attributes, traits.sharing);
  pthread_mutex_t mutex;
  std::memset(&mutex, 0, sizeof mutex);
  bool is_made = pthread_mutex_init(&mutex, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  if (!is_made) return std::nullopt;  // the kernel lacks that kind
  LockStory<pthread_mutex_t> story;
  story.before = WordsOf(mutex);
  bool is_locked = pthread_mutex_lock(&mutex) == 0;
  story.locked = WordsOf(mutex);
  if (is_locked) pthread_mutex_unlock(&mutex);
  story.after = WordsOf(mutex);
  pthread_mutex_destroy(&mutex);
  return is_locked ? std::optional(story) : std::nullopt;
}

// Whether the layout, found in a normal mutex, holds for this one too.
bool Fits(const MutexLayout& layout, const LockStory<pthread_mutex_t>& story, bool names_owner_in_word_0) {
  uint32_t word = story.locked[0];
  bool is_word_right = names_owner_in_word_0 ? (word & FUTEX_TID_MASK) == OwnTid() : word == 1;
  return is_word_right && story.before[0] == 0 && story.after[0] == 0 &&
         story.GoesThrough(layout.owner, OwnTid()) && story.GoesThrough(layout.users, 1);
}

constexpr int kMutexTypes[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                               PTHREAD_MUTEX_ADAPTIVE_NP};
constexpr uint32_t kTypeMask = 3;

// Fills in `kind`, `type_mask` and the flags that come with a type, if the layout fits all types.
bool MeasureTypes(MutexLayout* layout) {
  MutexWords seen[std::size(kMutexTypes)];
  for (size_t i = 0; i < std::size(kMutexTypes); ++i) {
    auto story = LockMutex({.type = kMutexTypes[i]});
    if (!story || !Fits(*layout, *story, /*names_owner_in_word_0=*/false)) return false;
    seen[i] = story->locked;
  }
  size_t candidates = 0;
  for (size_t word = 1; word < seen[0].size(); ++word) {
    bool is_kind = true;
    uint32_t bits = 0;
    for (size_t i = 0; i < std::size(kMutexTypes); ++i) {
      is_kind = is_kind && (seen[i][word] & kTypeMask) == static_cast<uint32_t>(kMutexTypes[i]);
      bits |= seen[i][word];
    }
    if (!is_kind) continue;
    layout->kind = word;
    layout->type_mask = kTypeMask;
    layout->other_mask = bits & ~kTypeMask;
    ++candidates;
  }
  return candidates == 1;
}

// Finds the flags of mutexes like `traits` in their kind, if there are such mutexes.
bool MeasureFlags(const MutexTraits& traits, bool names_owner_in_word_0, const MutexLayout& layout,
                  uint32_t* mask) {
  auto story = LockMutex(traits);
  if (!story) return true;
  *mask |= story->locked[layout.kind] & ~layout.type_mask;
  return Fits(layout, *story, names_owner_in_word_0);
}

// The lock stays in its write phase until a reader takes it.
std::optional<size_t> OnlyWordLeftAtOne(const LockStory<pthread_rwlock_t>& story) {
  std::optional<size_t> found;
  for (size_t word = 1; word < story.after.size(); ++word) {
    if (story.before[word] != 0 || story.locked[word] != 1 || story.after[word] != 1) continue;
    if (found) return std::nullopt;
    found = word;
  }
  return found;
}

}  // namespace

std::optional<MutexLayout> MeasureMutexLayout() {
  auto normal = LockMutex({});
  if (!normal) return std::nullopt;
  auto owner = normal->OnlyWord(OwnTid());
  auto users = normal->OnlyWord(1);
  if (!owner || !users) return std::nullopt;
  MutexLayout layout{};
  layout.owner = *owner;
  layout.users = *users;
  bool is_known = MeasureTypes(&layout) &&
                  MeasureFlags({.robustness = PTHREAD_MUTEX_ROBUST}, true, layout, &layout.robust_mask) &&
                  MeasureFlags({.protocol = PTHREAD_PRIO_INHERIT}, true, layout, &layout.other_mask) &&
                  MeasureFlags({.sharing = PTHREAD_PROCESS_SHARED}, false, layout, &layout.other_mask);
  if (!is_known) return std::nullopt;
  layout.robust_mask &= ~layout.other_mask;  // robust ones are marked as shared, too
  return layout;
}

std::optional<RwLockLayout> MeasureRwLockLayout() {
  pthread_rwlock_t lock;
  std::memset(&lock, 0, sizeof lock);
  if (pthread_rwlock_init(&lock, nullptr) != 0) return std::nullopt;
  LockStory<pthread_rwlock_t> writing;
  writing.before = WordsOf(lock);
  if (pthread_rwlock_wrlock(&lock) != 0) return std::nullopt;
  writing.locked = WordsOf(lock);
  pthread_rwlock_unlock(&lock);
  writing.after = WordsOf(lock);
  if (pthread_rwlock_rdlock(&lock) != 0) return std::nullopt;
  const RwLockWords one_reader = WordsOf(lock);
  if (pthread_rwlock_rdlock(&lock) != 0) return std::nullopt;
  const RwLockWords two_readers = WordsOf(lock);
  for (int reader = 0; reader < 2; ++reader) pthread_rwlock_unlock(&lock);
  pthread_rwlock_destroy(&lock);

  auto writer = writing.OnlyWord(OwnTid());
  auto writers_wait = writing.OnlyWord(1);
  std::optional<size_t> phase_wait = OnlyWordLeftAtOne(writing);
  if (!writer || !writers_wait || !phase_wait) return std::nullopt;
  RwLockLayout layout{.writer = *writer,
                      .phase_wait = *phase_wait,
                      .writers_wait = *writers_wait,
                      .reader_unit = one_reader[0],
                      .write_phase_mask = writing.after[0],
                      .write_locked_mask = writing.locked[0] & ~writing.after[0]};
  bool is_known = std::has_single_bit(layout.reader_unit) && std::has_single_bit(layout.write_phase_mask) &&
                  std::has_single_bit(layout.write_locked_mask) && writing.locked[0] < layout.reader_unit &&
                  two_readers[0] == 2 * layout.reader_unit && one_reader[*writer] == 0;
  return is_known ? std::optional(layout) : std::nullopt;
}

std::optional<ThreadLayout> MeasureThreadLayout() {
  constexpr size_t kMaxThreadBytes = 8192;
  robust_list_head* list = nullptr;
  size_t size_bytes = 0;
  if (syscall(SYS_get_robust_list, 0, &list, &size_bytes) != 0) return std::nullopt;
  uint64_t begin = static_cast<uint64_t>(pthread_self());
  uint64_t end = reinterpret_cast<uint64_t>(list);
  if (end <= begin || end - begin > kMaxThreadBytes) return std::nullopt;
  uint32_t words[kMaxThreadBytes / sizeof(uint32_t)];
  size_t count = base::ReadOwnMemory(begin, words, end - begin) / sizeof(uint32_t);
  std::optional<ThreadLayout> layout;
  for (size_t word = 0; word < count; ++word) {
    if (words[word] != OwnTid()) continue;
    if (layout) return std::nullopt;
    layout = {.tid_bytes = word * sizeof(uint32_t),
              .robust_list_bytes = end - begin - word * sizeof(uint32_t),
              .futex_offset = static_cast<uint64_t>(list->futex_offset)};
  }
  return layout;
}

}  // namespace lagwatch::stack
