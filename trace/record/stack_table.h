// SPDX-License-Identifier: Apache-2.0
// Each distinct call stack once, as a path in a trie of (parent, frame), in an arena of fixed size. An id of
// 32 bits stands for a stack. When the table is full, its older half is discarded.
//
// Thread safety: one thread at a time interns; any thread or process reads, without locks. Invariants:
// - Nodes live in two generations, number n in half n % 2. New ones go to the newer; when that is full, the
//   older half is emptied and becomes the next generation.
// - A node is complete before `node_count` includes it, and unchanged as long as its generation lasts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/process/mapped_array.h"
#include "stack/code/module_map.h"
#include "stack/frames/stack.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {

class StackTable {
 public:
  // `arena` is borrowed, and `modules`, those of the stacks, which may be null where no frame is a script's.
  // Context: background; allocates all that will be needed.
  explicit StackTable(Arena* arena, const stack::ModuleMap* modules = nullptr);
  bool ok() const { return !slots_.empty(); }

  // The id of `stack`, whose innermost frame counts as its whole function, because a sample finds it anywhere
  // in there. kNoStack for an empty one, and for one that does not fit at all. Context: watchdog.
  uint32_t Intern(const stack::Stack& stack);

 private:
  uint32_t InternIn(uint64_t generation, const stack::Stack& stack);
  // The index of the child; 0 when the generation is full.
  uint32_t FindOrAdd(uint64_t generation, const StackNodeBytes& node);
  void BeginGeneration(uint64_t number);

  bool IsScript(const stack::Frame& frame) const;

  Arena* arena_;
  const stack::ModuleMap* modules_;
  uint64_t newest_ = 0;
  uint32_t capacity_;
  size_t slot_mask_ = 0;
  base::MappedArray<uint32_t> slots_;  // of the newest generation: open addressing, index of a node or 0
};

// A copy of a generation, for reading.
struct StackGenerationCopy {
  uint64_t number = 0;
  std::vector<StackNodeBytes> nodes;
};
// False when it is empty or was emptied meanwhile. Context: background.
bool CopyStackGeneration(const Arena& arena, int half, StackGenerationCopy* copy);

}  // namespace lagwatch::trace
