// SPDX-License-Identifier: Apache-2.0
// A growing array on memory of its own from mmap(2): never malloc, whose locks the application may hold.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/process/own_memory.h"

namespace lagwatch::base {

// Owns its memory; pointers into it are valid until it grows. Not thread-safe. Context: watchdog, background.
template <typename T>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  MappedArray() = default;
  MappedArray(MappedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  MappedArray& operator=(MappedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~MappedArray() {
    if (data_ != nullptr) munmap(data_, capacity_ * sizeof(T));
  }

  // False, and nothing changed, when there is no memory.
  bool PushBack(const T& value) {
    if (size_ == capacity_ && !Reserve(capacity_ == 0 ? 4096 / sizeof(T) + 1 : 2 * capacity_)) return false;
    data_[size_++] = value;
    return true;
  }
  // Makes it `size` long; new elements are zero where memory is fresh, else what stood there.
  bool Resize(size_t size) {
    if (size > capacity_ && !Reserve(size)) return false;
    size_ = size;
    return true;
  }
  // For what grows no more: gives back unused memory, by whole pages, and makes it a part of a larger
  // mapping.
  void Settle() {
    const size_t bytes = PageRound(size_ * sizeof(T));
    void* memory = bytes == 0 ? nullptr : MapKept(bytes);
    if (memory == nullptr) return;
    std::memcpy(memory, data_, size_ * sizeof(T));
    munmap(data_, capacity_ * sizeof(T));
    data_ = static_cast<T*>(memory);
    capacity_ = bytes / sizeof(T);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  size_t size_bytes() const { return size_ * sizeof(T); }

 private:
  static size_t PageRound(size_t bytes) { return (bytes + 4095) & ~size_t{4095}; }

  bool Reserve(size_t capacity) {
    size_t bytes = PageRound(capacity * sizeof(T));
    if (data_ != nullptr) return Move(bytes);
    void* memory = MapUnlocked(bytes);
    if (memory == nullptr) return false;
    data_ = static_cast<T*>(memory);
    capacity_ = bytes / sizeof(T);
    return true;
  }

  bool Move(size_t bytes) {
    void* memory = ResizeUnlocked(data_, capacity_ * sizeof(T), bytes);
    if (memory == nullptr) return false;
    data_ = static_cast<T*>(memory);
    capacity_ = bytes / sizeof(T);
    return true;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace lagwatch::base
