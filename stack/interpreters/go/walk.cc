// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/go/walk.h"

#include <cstring>

namespace lagwatch::stack::go {

bool StackBytes::Word(uint64_t address, uint64_t* word) {
  if (address < begin_ || address % 8 != 0 || address + 8 > end_) return false;
  if (copy_ != nullptr) {
    std::memcpy(word, copy_->bytes + (address - begin_), sizeof *word);
    return true;
  }
  if (address < read_begin_ || address + 8 > read_end_) {
    const uint64_t end = std::min(end_, address + kBytes);
    read_begin_ = read_end_ = 0;
    if (!memory_->Read(address, bytes_.data(), end - address)) return false;
    read_begin_ = address;
    read_end_ = end;
  }
  std::memcpy(word, &bytes_[address - read_begin_], sizeof *word);
  return true;
}

}  // namespace lagwatch::stack::go
