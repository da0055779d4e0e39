// SPDX-License-Identifier: Apache-2.0
// Calls that take from a buffer of the C library: known before they are made, so that the clock is not read
// for them. Of a buffer only its positions are read, never its bytes, which another thread may be changing.
// Context: hot.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "trace/io/thread_io.h"

namespace lagwatch::trace {

// A stream's buffer. Where the C library hides it, every call is one that may wait.
class StreamBuffer {
 public:
#if defined(__GLIBC__)
  explicit StreamBuffer(const FILE* stream)
      : read_(stream->_IO_read_ptr),
        read_end_(stream->_IO_read_end),
        room_bytes_(stream->_IO_write_end - stream->_IO_write_ptr) {}
#else
  explicit StreamBuffer(const FILE*) {}
#endif

  bool Holds(size_t size_bytes) const { return read_end_ - read_ >= Signed(size_bytes); }
  bool HasRoomFor(size_t size_bytes) const { return room_bytes_ >= Signed(size_bytes); }

  // Whether it holds a line, as far as the lines so far show: `most_bytes` is the room for it.
  bool HoldsLine(const BufferState& state, size_t most_bytes) const {
    constexpr size_t kUsualBytes = 256;
    return Holds(
        std::max<size_t>(std::min(most_bytes, std::max<size_t>(kUsualBytes, 2 * state.line_bytes)), 1));
  }
  // To be called after a line was read from this buffer, which is `now`. One that came from the file in spite
  // of HoldsLine() is taken for one as long as a buffer: then the next ones are timed.
  void LearnLine(const StreamBuffer& now, BufferState* state) const {
    constexpr uint32_t kBufferBytes = 4096;
    const bool is_same = now.read_end_ == read_end_ && now.read_ >= read_;
    const uint32_t line_bytes = is_same ? static_cast<uint32_t>(now.read_ - read_) : kBufferBytes;
    state->line_bytes = std::max(state->line_bytes, std::min(line_bytes, kBufferBytes));
  }

 private:
  static ptrdiff_t Signed(size_t size_bytes) {
    return static_cast<ptrdiff_t>(std::min<size_t>(size_bytes, PTRDIFF_MAX));
  }

  const char* read_ = nullptr;
  const char* read_end_ = nullptr;
  ptrdiff_t room_bytes_ = 0;
};

// Whether the folder's next entry is in its buffer, as far as the ones before show: by their addresses.
inline bool HoldsEntry(const BufferState& state, const DIR* folder) {
  constexpr uint64_t kUsualChunkBytes = 32 << 10;
  constexpr uint64_t kMostEntryBytes = 280;
  const uint64_t chunk_bytes = state.chunk_bytes == 0 ? kUsualChunkBytes : state.chunk_bytes;
  return state.folder == folder && state.entries_end - state.entries_begin + kMostEntryBytes <= chunk_bytes;
}
// To be called after an entry was read; null: there was none.
template <typename Entry>
void LearnEntry(const DIR* folder, const Entry* entry, BufferState* state) {
  if (entry == nullptr) {
    state->folder = nullptr;
    return;
  }
  const auto address = reinterpret_cast<uint64_t>(entry);
  const bool is_next = state->folder == folder && address == state->entries_end;
  if (!is_next) {
    const uint64_t chunk_bytes = state->folder == folder ? state->entries_end - state->entries_begin : 0;
    if (chunk_bytes == 0 || state->chunk_bytes == 0 || chunk_bytes < state->chunk_bytes)
      state->chunk_bytes = chunk_bytes;
    state->folder = folder;
    state->entries_begin = address;
  }
  state->entries_end = address + entry->d_reclen;
}
inline void ForgetFolder(const DIR* folder, BufferState* state) {
  if (state->folder == folder) state->folder = nullptr;
}

}  // namespace lagwatch::trace
