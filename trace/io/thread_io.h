// SPDX-License-Identifier: Apache-2.0
// Counts the files that watched threads use, dispatch by dispatch, from inside their hooked calls: the time
// of all calls, the longest one, and a sample of the paths. A dispatch over a limit keeps its record and a
// stack for the watchdog. docs/design/io_watch.md has the reasons.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/process/mapped_memory.h"
#include "base/process/sleeper.h"
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

// The file that a call was given.
struct IoKey {
  enum Kind : uint8_t { kNone, kDescriptor, kStream, kFolder };

  Kind kind = kNone;
  uint64_t value = 0;  // the descriptor, the FILE* or the DIR*
};

// A hooked call that is over.
struct IoCall {
  IoOperation operation;
  const char* name;          // of the function; static
  const char* path;          // null: it names none, or one that cannot be read
  const char* path_end;      // the path cannot be read from here on; null: up to its end
  bool is_below_descriptor;  // the path is relative to a descriptor's folder
  IoKey key;
  uint64_t bytes;      // transferred
  uint64_t ticks;      // its duration, without that of counted calls inside it
  uint64_t end_ticks;  // 0: it was not timed
};

// The buffers that the thread has read from last: by them a call that only takes from a buffer is known
// before it is made, so that the clock is not read for it.
struct BufferState {
  uint32_t line_bytes;     // the longest line of the dispatch that came out of a buffer
  const void* folder;      // the DIR* that was listed last; null: none
  uint64_t entries_begin;  // the address of the first entry in its buffer
  uint64_t entries_end;    // and the end of the last entry that was returned
  uint64_t chunk_bytes;    // that its buffer holds at least; 0: not known
};

// One thread's counts.
//
// Thread safety: by its own thread; a signal handler that interrupts it counts less. The rest as said there.
class ThreadIo {
 public:
  // Adds a call of dispatch `number`. `from`: the caller of the hook. Context: hot; no lock, and a system
  // call only where the call took long or the dispatch is over a limit.
  [[gnu::always_inline]] inline void Note(uint64_t number, const DispatchWords& words,
                                          const stack::CallRegisters& from, const IoCall& call) {
    IoRecord* record = current_;
    if (record->content.dispatch != number || record->number_word != words.number) [[unlikely]] {
      record = BeginDispatch(number, words);
      if (record == nullptr) return;
    }
    IoContent& content = record->content;
    IoTotals& totals = content.totals[static_cast<size_t>(call.operation)];
    totals.calls += 1;
    totals.bytes += call.bytes;
    totals.ticks += call.ticks;
    content.sum_ticks += call.ticks;
    counted_ticks_ += call.ticks;
    bool is_of_interest = call.ticks >= record->long_ticks || content.sum_ticks >= record->sum_limit_ticks;
    if (call.path != nullptr) {
      const uint64_t count = ++content.path_calls;
      is_of_interest |= count >= record->path_calls_limit;
      SamplePath(&content, call, count);
    }
    if (is_of_interest) [[unlikely]]
      NoteLong(record, words, from, call);
  }

  // The time of all calls that were noted: what it grows by while a call goes on is that of calls inside it.
  uint64_t counted_ticks() const { return counted_ticks_; }
  // Buffers of streams and folders whose use the thread follows: see BufferedCall.
  BufferState& buffers() { return buffers_; }

  int32_t tid() const { return tid_.load(std::memory_order_relaxed); }

 private:
  friend class ThreadIoTable;

  void Take(int32_t tid);
  IoRecord* BeginDispatch(uint64_t number, const DispatchWords& words);
  void NoteLong(IoRecord* record, const DispatchWords& words, const stack::CallRegisters& from,
                const IoCall& call);
  static void KeepLongest(IoContent* content, const IoCall& call);
  static void KeepTag(IoContent* content, const DispatchWords& words);
  void CopyStack(IoContent* content, const stack::CallRegisters& from);
  // Each path has the same chance to be among those that are kept.
  [[gnu::always_inline]] static inline void SamplePath(IoContent* content, const IoCall& call,
                                                       uint64_t count) {
    const uint64_t random = (call.end_ticks ^ count) * 0x9e37'79b9'7f4a'7c15u >> 32;
    const uint64_t place = count <= IoContent::kPaths ? count - 1 : random * count >> 32;
    if (place < IoContent::kPaths) CopyPath(call, &content->paths[place][0]);
  }
  static void CopyPath(const IoCall& call, char* copy);

  std::atomic<int32_t> tid_;  // 0: free
  std::atomic<bool> has_ended_;
  IoRecord* current_;
  uint64_t lost_dispatch_;  // the last one that had no record; 0: none
  bool is_busy_;            // keeping something; signal handlers must not
  uint64_t counted_ticks_;
  BufferState buffers_;
  IoRecord records_[2];
};

// Functions of higher layers. Context: hot; both may change errno.
struct IoCopies {
  // Copies the calling thread's stack from `from` outwards.
  void (*stack)(const stack::CallRegisters& from, IoStack* copy);
  // Writes the text of a dispatch's tag, or what stands for it, with its NUL.
  void (*tag)(const char* tag, std::span<char> text);
};

// The state of all threads. Thread safety: any thread, unless it says otherwise.
class ThreadIoTable {
 public:
  static constexpr size_t kMaxThreads = 256;

  // From now on threads count; the limits come by SetLimits(). `copies`: static. `modules` is woken when new
  // modules are to be looked for; it must live until Stop(). False without memory. Context: background.
  bool Start(const IoCopies* copies, base::Sleeper* modules);
  // No thread counts any more. To be called once nothing calls AskForModules() any more. Context: background.
  void Stop();
  // To be called in the child of a fork().
  void Forget();

  // A call or a dispatch that takes so long, or a dispatch that names so many paths (0: any number), is kept.
  // Until it is called, none is. Context: any.
  void SetLimits(uint64_t limit_ticks, uint64_t path_calls);

  // Modules may have been loaded since. Context: watchdog.
  void AskForModules() {
    if (base::Sleeper* modules = modules_.load(std::memory_order_acquire)) modules->Wake();  // see Start
  }

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
  std::atomic<const IoCopies*> copies_{nullptr};
  std::atomic<base::Sleeper*> modules_{nullptr};
};
extern constinit ThreadIoTable g_thread_io;

}  // namespace lagwatch::trace
