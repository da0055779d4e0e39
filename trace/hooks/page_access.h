// SPDX-License-Identifier: Apache-2.0
// Access rights of this process's memory, and temporary write access to read-only memory. Not
// thread-safe. Context: background.
#pragma once

#include <cstdint>
#include <vector>

namespace lagwatch::trace {

// The access as it was when it was first asked for.
class PageAccess {
 public:
  enum Access : uint8_t { kUnknown, kReadOnly, kWritable };

  Access Of(uint64_t address);

 private:
  struct Region {
    uint64_t begin;
    uint64_t end;
    Access access;
  };

  void Read();

  std::vector<Region> regions_;  // ascending
};

// The part of a module that becomes read-only once the loader is done with it. While that is writable, the
// loader may be at it, and makes it read-only when it likes.
class ScopedWritable {
 public:
  enum Result : uint8_t { kUndecided, kOpen, kStillLoading, kRefused };

  ScopedWritable(PageAccess* pages, uint64_t begin, uint64_t end) : pages_(pages), begin_(begin), end_(end) {}
  // Read-only again, if it was.
  ~ScopedWritable();
  ScopedWritable(const ScopedWritable&) = delete;
  ScopedWritable& operator=(const ScopedWritable&) = delete;

  // Whether it may be written until this object's end. `is_finished`: the loader is known to be done.
  Result Open(bool is_finished);

 private:
  PageAccess* pages_;
  uint64_t begin_;
  uint64_t end_;
  Result result_ = kUndecided;
  bool is_changed_ = false;
};

}  // namespace lagwatch::trace
