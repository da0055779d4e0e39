// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "trace/io/thread_io.h"

namespace lagwatch::trace {

constinit ThreadIoTable g_thread_io{};

namespace {

// A call that takes this part of the limit is worth a stack of its own.
constexpr uint64_t kLongPart = 16;

uint64_t LongTicks(uint64_t limit_ticks) { return std::max<uint64_t>(limit_ticks / kLongPart, 1); }

int DescriptorOf(const IoKey& key) {
  switch (key.kind) {
    case IoKey::kDescriptor:
      return static_cast<int>(key.value);
    case IoKey::kStream:
      return fileno(reinterpret_cast<FILE*>(key.value));
    case IoKey::kFolder:
      return dirfd(reinterpret_cast<DIR*>(key.value));
    default:
      return -1;
  }
}

// The path of an open file, or what stands for one: "socket:[1]". By bare system calls, which no hook counts.
void ReadLink(int fd, char* path) {
  constexpr char kFolder[] = "/proc/thread-self/fd/";
  char link[sizeof kFolder + 12];
  std::memcpy(link, kFolder, sizeof kFolder);
  char* end = std::to_chars(link + sizeof kFolder - 1, link + sizeof link - 1, fd).ptr;
  *end = '\0';
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, IoContent::kMaxPathBytes - 1);
  path[std::max(size, 0L)] = '\0';
}

// Takes away what is left of a copy that no report needed.
void WipeStack(IoStack* stack) {
  std::memset(stack->bytes, 0, stack->size_bytes);
  stack->size_bytes = 0;
}

}  // namespace

void ThreadIo::CopyPath(const IoCall& call, char* copy) {
  constexpr size_t kMostBytes = IoContent::kMaxPathBytes - 1;
  const char* path = call.path;
  size_t size = 0;
  if (call.is_below_descriptor)
    for (const char* letter = IoContent::kOtherFolder; *letter != '\0'; ++letter) copy[size++] = *letter;
  for (; size < kMostBytes && path != call.path_end && *path != '\0'; ++path) copy[size++] = *path;
  copy[size] = '\0';
}

void ThreadIo::Take(int32_t tid) {
  lost_dispatch_ = 0;
  counted_ticks_ = 0;
  buffers_ = {};
  is_busy_ = false;
  for (IoRecord& record : records_) {
    record.is_over_limit.store(false, std::memory_order_relaxed);  // published by the thread's id
    record.content.dispatch = 0;
  }
  current_ = &records_[0];
  has_ended_.store(false, std::memory_order_relaxed);
  tid_.store(tid, std::memory_order_release);
}

IoRecord* ThreadIo::BeginDispatch(uint64_t number, const DispatchWords& words) {
  IoRecord* record = current_;
  if (record->is_over_limit.load(std::memory_order_acquire)) {  // pairs with the reader that clears it
    record = record == &records_[0] ? &records_[1] : &records_[0];
    if (record->is_over_limit.load(std::memory_order_acquire)) {
      if (lost_dispatch_ != number)
        g_thread_io.lost_count_.fetch_add(1, std::memory_order_relaxed);  // a statistic
      lost_dispatch_ = number;
      return nullptr;
    }
    current_ = record;
  }
  record->number_word = words.number;
  record->ended_word = words.ended;
  IoContent& content = record->content;
  content.totals = {};
  content.sum_ticks = content.path_calls = content.longest_ticks = 0;
  WipeStack(&content.stack);
  buffers_.line_bytes = 0;
  content.begin_ticks = words.begin_ticks == nullptr ? 0 : words.begin_ticks->load(std::memory_order_relaxed);
  content.dispatch = number;
  const uint64_t limit_ticks = g_thread_io.limit_ticks_.load(std::memory_order_relaxed);  // numbers
  record->long_ticks = LongTicks(limit_ticks);
  record->sum_limit_ticks = limit_ticks;
  record->path_calls_limit = g_thread_io.path_calls_.load(std::memory_order_relaxed);
  is_busy_ = false;  // a handler may have jumped out of NoteLong
  return record;
}

void ThreadIo::KeepLongest(IoContent* content, const IoCall& call) {
  content->longest_ticks = call.ticks;
  content->longest_call = call.name;
  content->longest_path[0] = '\0';
  if (call.path != nullptr) return CopyPath(call, content->longest_path);
  // At the end of the call itself: later its descriptor may be another file's.
  if (const int fd = DescriptorOf(call.key); fd >= 0) ReadLink(fd, content->longest_path);
}

void ThreadIo::CopyStack(IoContent* content, const stack::CallRegisters& from) {
  // Relaxed: the same functions for ever.
  if (const IoCopies* copies = g_thread_io.copies_.load(std::memory_order_relaxed))
    copies->stack(from, &content->stack);
}

void ThreadIo::KeepTag(IoContent* content, const DispatchWords& words) {
  content->tag[0] = '\0';
  // Relaxed, both: the thread's own word, and the same functions for ever.
  const char* tag = words.tag == nullptr ? nullptr : words.tag->load(std::memory_order_relaxed);
  const IoCopies* copies = g_thread_io.copies_.load(std::memory_order_relaxed);
  if (tag != nullptr && copies != nullptr) copies->tag(tag, {content->tag, sizeof content->tag});
}

void ThreadIo::NoteLong(IoRecord* record, const DispatchWords& words, const stack::CallRegisters& from,
                        const IoCall& call) {
  if (is_busy_) return;
  const int saved_errno = errno;
  is_busy_ = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  IoContent& content = record->content;
  const bool is_longest = call.ticks >= record->long_ticks;
  const bool is_over =
      content.sum_ticks >= record->sum_limit_ticks || content.path_calls >= record->path_calls_limit;
  if (is_longest) {
    record->long_ticks = call.ticks;
    KeepLongest(&content, call);
  }
  const bool is_longest_known =
      content.stack.size_bytes != 0 && 2 * content.longest_ticks >= content.sum_ticks;
  if (is_longest || (is_over && !is_longest_known)) CopyStack(&content, from);
  if (is_over) {
    record->sum_limit_ticks = record->path_calls_limit = UINT64_MAX;
    KeepTag(&content, words);
    if (syscall(SYS_getcwd, content.folder, sizeof content.folder) <= 0) content.folder[0] = '\0';
    record->is_over_limit.store(true, std::memory_order_release);
    g_thread_io.found_count_.fetch_add(1, std::memory_order_relaxed);  // a hint
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  is_busy_ = false;
  errno = saved_errno;
}

bool ThreadIoTable::Start(const IoCopies* copies, base::Sleeper* modules) {
  if (threads_.load() == nullptr) {
    void* memory = base::MapUnlocked(kMaxThreads * sizeof(ThreadIo));
    if (memory == nullptr) return false;
    threads_.store(static_cast<ThreadIo*>(memory));
  }
  copies_.store(copies);
  modules_.store(modules);
  is_on_.store(true);
  return true;
}

void ThreadIoTable::Stop() {
  is_on_.store(false);
  modules_.store(nullptr);
  SetLimits(UINT64_MAX, 0);
}

void ThreadIoTable::Forget() {
  is_on_.store(false);
  modules_.store(nullptr);
  ThreadIo* threads = threads_.load();
  for (uint32_t i = 0; threads != nullptr && i < taken_count_.load(); ++i) threads[i].tid_.store(0);
  taken_count_.store(0);
  found_count_.store(0);
}

void ThreadIoTable::SetLimits(uint64_t limit_ticks, uint64_t path_calls) {
  limit_ticks_.store(limit_ticks, std::memory_order_relaxed);  // numbers
  path_calls_.store(path_calls == 0 ? UINT64_MAX : path_calls, std::memory_order_relaxed);
}

ThreadIo* ThreadIoTable::Take() {
  ThreadIo* threads = threads_.load(std::memory_order_acquire);
  for (uint32_t i = 0; threads != nullptr && i < kMaxThreads; ++i) {
    int32_t expected = 0;
    if (!threads[i].tid_.compare_exchange_strong(expected, -1)) continue;
    uint32_t count = taken_count_.load();
    while (count < i + 1 && !taken_count_.compare_exchange_weak(count, i + 1)) {
    }
    threads[i].Take(gettid());
    return &threads[i];
  }
  refused_count_.fetch_add(1, std::memory_order_relaxed);  // a statistic
  return nullptr;
}

bool ThreadIoTable::TakeFound(Found* found) {
  ThreadIo* threads = threads_.load();
  for (uint32_t i = 0; threads != nullptr && i < taken_count_.load(); ++i) {
    ThreadIo& io = threads[i];
    const int32_t tid = io.tid_.load(std::memory_order_acquire);  // pairs with Take()
    if (tid <= 0) continue;
    const bool has_ended = io.has_ended_.load(std::memory_order_acquire);
    for (IoRecord& record : io.records_) {
      if (!record.is_over_limit.load(std::memory_order_acquire)) continue;
      // Acquire: pairs with the dispatch's end.
      const bool is_over =
          has_ended || record.ended_word->load(std::memory_order_acquire) >= record.content.dispatch;
      if (!is_over) continue;
      found->tid = tid;
      found->number_word = record.number_word;
      const size_t unused_bytes = IoStack::kMostBytes - record.content.stack.size_bytes;
      std::memcpy(static_cast<void*>(&found->content), &record.content, sizeof record.content - unused_bytes);
      WipeStack(&record.content.stack);
      record.is_over_limit.store(false, std::memory_order_release);  // from here on it is the thread's
      found_count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    if (has_ended) io.tid_.store(0, std::memory_order_release);
  }
  return false;
}

}  // namespace lagwatch::trace
