// SPDX-License-Identifier: Apache-2.0
// Counts the files that watched threads use, dispatch by dispatch, from inside their hooked calls: the time
// of all calls, the longest one, and a sample of the paths. A dispatch over a limit keeps its record and a
// stack for the watchdog. docs/design/io_watch.md has the reasons.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/process/mapped_memory.h"
#include "stack/frames/call_registers.h"
#include "trace/io/io_record.h"

namespace lagwatch::trace {

// The words by which a thread says which dispatch it is in; all in one loop's probe.
struct DispatchWords {
  const std::atomic<uint64_t>* number;  // of the last one that began; null: the thread has no loop
  const std::atomic<uint64_t>* ended;   // of the last one that ended
  const std::atomic<uint64_t>* begin_ticks;
  const std::atomic<const char*>* tag;
};

// A hooked call that is over.
struct IoCall {
  IoOperation operation;
  const char* name;  // of the function; static
  const char* path;  // null: it names none, or one that cannot be read
  uint64_t key;      // the descriptor or stream; IoContent::kNoKey: none
  uint64_t bytes;    // transferred
  uint64_t ticks;    // its duration
  uint64_t end_ticks;
};

// One thread's counts.
//
// Thread safety: Note, Opened and Closed by its own thread; a signal handler that interrupts them counts
// less. The rest as said there.
class ThreadIo {
 public:
  // Adds a call of dispatch `number`. `from`: the caller of the hook. Context: hot; no system call, no lock.
  [[gnu::always_inline]] inline void Note(uint64_t number, const DispatchWords& words,
                                          const stack::CallRegisters& from, const IoCall& call) {
    IoRecord* record = current_;
    if (record->content.dispatch != number) [[unlikely]] {
      record = BeginDispatch(number, words);
      if (record == nullptr) return;
    }
    IoContent& content = record->content;
    IoTotals& totals = content.totals[static_cast<size_t>(call.operation)];
    totals.calls += 1;
    totals.bytes += call.bytes;
    totals.ticks += call.ticks;
    content.sum_ticks += call.ticks;
    bool is_of_interest = call.ticks >= record->long_ticks || content.sum_ticks >= record->sum_limit_ticks;
    if (call.path != nullptr) {
      const uint64_t count = ++content.path_calls;
      is_of_interest |= count >= record->path_calls_limit;
      SamplePath(&content, call, count);
    }
    if (is_of_interest) [[unlikely]]
      NoteLong(record, words, from, call);
  }

  // The file at `path` was opened as `key`, or that is closed.
  void Opened(uint64_t key, const char* path);
  void Closed(uint64_t key) {
    for (OpenFile& file : files_) {
      if (file.key == key) file.key = IoContent::kNoKey;
    }
  }

  int32_t tid() const { return tid_.load(std::memory_order_relaxed); }

 private:
  friend class ThreadIoTable;

  static constexpr size_t kFiles = 8;
  struct OpenFile {
    uint64_t key;
    char path[IoContent::kMaxPathBytes];
  };

  void Take(int32_t tid);
  IoRecord* BeginDispatch(uint64_t number, const DispatchWords& words);
  void NoteLong(IoRecord* record, const DispatchWords& words, const stack::CallRegisters& from,
                const IoCall& call);
  void KeepLongest(IoContent* content, const IoCall& call) const;
  void CopyStack(IoContent* content, const stack::CallRegisters& from);
  // Each path has the same chance to be among those that are kept.
  [[gnu::always_inline]] static inline void SamplePath(IoContent* content, const IoCall& call,
                                                       uint64_t count) {
    const uint64_t random = call.end_ticks * 0x9e37'79b9'7f4a'7c15u >> 32;
    const uint64_t place = count <= IoContent::kPaths ? count - 1 : random * count >> 32;
    if (place < IoContent::kPaths) CopyPath(call.path, &content->paths[place][0]);
  }
  static void CopyPath(const char* path, char* copy);

  std::atomic<int32_t> tid_;  // 0: free
  std::atomic<bool> has_ended_;
  IoRecord* current_;
  uint64_t lost_dispatch_;  // the last one that had no record; 0: none
  bool is_busy_;            // keeping something; signal handlers must not
  IoRecord records_[2];
  OpenFile files_[kFiles];
  size_t next_file_;
};

// Copies the calling thread's stack from `from` outwards. Context: hot.
using CopyIoStack = void (*)(const stack::CallRegisters& from, IoStack* copy);

// The state of all threads. Thread safety: any thread, unless it says otherwise.
class ThreadIoTable {
 public:
  static constexpr size_t kMaxThreads = 256;

  // From now on threads count; the limits come by SetLimits(). False without memory. Context: background.
  bool Start(CopyIoStack copy);
  // No thread counts any more. Context: background.
  void Stop();
  // To be called in the child of a fork().
  void Forget();

  // A call or a dispatch that takes so long, or a dispatch that names so many paths (0: any number), is kept.
  // Until it is called, none is. Context: any.
  void SetLimits(uint64_t limit_ticks, uint64_t path_calls);

  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }  // orders nothing
  // The calling thread's counts, to be kept by it; null if there are too many threads. Context: hot; a system
  // call.
  ThreadIo* Take();
  // The thread ends. Its records stay until they are read. Context: background.
  static void Release(ThreadIo* io) {
    if (io != nullptr) io->has_ended_.store(true, std::memory_order_release);  // after its last call
  }

  // The record of a dispatch over a limit.
  struct Found {
    int32_t tid;
    const std::atomic<uint64_t>* number_word;  // DispatchWords::number
    IoContent content;
  };
  // Takes the record of a dispatch that is over. False: there is none. Context: watchdog; one thread.
  bool TakeFound(Found* found);
  // Whether there are records of dispatches over a limit, over or not.
  bool has_found() const { return found_count_.load(std::memory_order_relaxed) != 0; }
  // Dispatches over a limit whose records were lost because earlier ones were not read yet, and threads
  // without counts.
  uint64_t lost_count() const { return lost_count_.load(std::memory_order_relaxed); }
  uint64_t refused_count() const { return refused_count_.load(std::memory_order_relaxed); }

 private:
  friend class ThreadIo;

  std::atomic<bool> is_on_{false};
  std::atomic<ThreadIo*> threads_{nullptr};  // kMaxThreads, for ever; null until they were needed
  std::atomic<uint32_t> taken_count_{0};     // places that were ever taken
  std::atomic<uint64_t> limit_ticks_{UINT64_MAX};
  std::atomic<uint64_t> path_calls_{UINT64_MAX};
  std::atomic<uint32_t> found_count_{0};
  std::atomic<uint64_t> lost_count_{0};
  std::atomic<uint64_t> refused_count_{0};
  std::atomic<CopyIoStack> copy_stack_{nullptr};
};
extern constinit ThreadIoTable g_thread_io;

}  // namespace lagwatch::trace
