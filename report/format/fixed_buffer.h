// SPDX-License-Identifier: Apache-2.0
// A byte buffer of fixed size that protozero writers can write to. It never allocates and never throws: bytes
// that do not fit are dropped and `overflowed()` says so; the content is then meaningless until Rewind() or
// Clear(). Context: watchdog.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "report/format/protozero_checked.h"

namespace lagwatch::report {

class FixedBuffer {
 public:
  // Borrows `data`, which must outlive the buffer. `capacity_bytes` must be over kSlackBytes.
  FixedBuffer(char* data, size_t capacity_bytes)
      : data_(data), limit_bytes_(capacity_bytes > kSlackBytes ? capacity_bytes - kSlackBytes : 0) {}

  size_t size() const { return size_bytes_; }
  bool overflowed() const { return overflowed_; }
  std::string_view content() const { return {data_, size_bytes_}; }

  void Clear() { Rewind(0); }
  // Back to an earlier size(), forgetting an overflow since then.
  void Rewind(size_t size_bytes) {
    size_bytes_ = size_bytes;
    overflowed_ = false;
  }

  void Append(const char* bytes, size_t count) {
    if (char* at = Extend(count)) std::memcpy(at, bytes, count);
  }
  void AppendZeros(size_t count) {
    if (char* at = Extend(count)) std::memset(at, 0, count);
  }
  void Resize(size_t size_bytes) { size_bytes_ = std::min(size_bytes_, size_bytes); }
  void Erase(size_t from, size_t to) {
    if (overflowed_ || from > to || to > size_bytes_) return;
    std::memmove(data_ + from, data_ + to, size_bytes_ - to);
    size_bytes_ -= to - from;
  }
  // A writer closing a nested message after an overflow may ask for a place past the end and write a length
  // there: that is what the slack is for.
  char* At(size_t position) { return data_ + std::min(position, limit_bytes_); }

 private:
  static constexpr size_t kSlackBytes = 16;

  char* Extend(size_t count) {
    if (overflowed_ || count > limit_bytes_ - size_bytes_) {
      overflowed_ = true;
      return nullptr;
    }
    char* at = data_ + size_bytes_;
    size_bytes_ += count;
    return at;
  }

  char* data_;
  size_t limit_bytes_;
  size_t size_bytes_ = 0;
  bool overflowed_ = false;
};

using FixedWriter = protozero::basic_pbf_writer<FixedBuffer>;

}  // namespace lagwatch::report

template <>
struct protozero::buffer_customization<lagwatch::report::FixedBuffer> {
  using Buffer = lagwatch::report::FixedBuffer;
  static std::size_t size(const Buffer* buffer) { return buffer->size(); }
  static void append(Buffer* buffer, const char* data, std::size_t count) { buffer->Append(data, count); }
  static void append_zeros(Buffer* buffer, std::size_t count) { buffer->AppendZeros(count); }
  static void resize(Buffer* buffer, std::size_t size) { buffer->Resize(size); }
  static void reserve_additional(Buffer*, std::size_t) {}
  static void erase_range(Buffer* buffer, std::size_t from, std::size_t to) { buffer->Erase(from, to); }
  static char* at_pos(Buffer* buffer, std::size_t position) { return buffer->At(position); }
  static void push_back(Buffer* buffer, char byte) { buffer->Append(&byte, 1); }
};
