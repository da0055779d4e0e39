// SPDX-License-Identifier: Apache-2.0
// The functions of a loaded module, from the unwind table that lies in its memory: sorted, and there also
// where the file has no symbols. Context: background, while the module cannot be unloaded.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

class UnwindIndex {
 public:
  struct Function {
    uint64_t begin = 0;  // 0: none
    uint64_t end = 0;
    bool is_called = false;  // by a call: the return address is on top of the stack when it begins
  };

  // Empty if the module has no table, or another kind than linkers write.
  explicit UnwindIndex(const dl_phdr_info& info);

  size_t size() const { return count_; }
  uint64_t BeginOf(size_t index) const { return begin_ + static_cast<uint64_t>(int64_t{rows_[index].begin}); }
  // The index of the first that begins at or after `address`; size() when there is none.
  size_t IndexAtOrAfter(uint64_t address) const;
  // The first function that begins at or after `address`; 0 when there is none.
  uint64_t AtOrAfter(uint64_t address) const;
  // The function that begins there.
  Function Find(uint64_t begin) const;
  // The function of a row.
  Function At(size_t index) const;

 private:
  struct Row {
    int32_t begin;  // from the header's begin
    int32_t description;
  };

  uint64_t begin_ = 0;
  const Row* rows_ = nullptr;
  size_t count_ = 0;
  uint64_t load_bias_ = 0;
  uint64_t module_end_ = 0;  // of the segment that holds the table
};

}  // namespace lagwatch::trace
