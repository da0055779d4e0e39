// SPDX-License-Identifier: Apache-2.0
// The JavaScript stack of another process, read from outside: its registers and its stack are copied in a
// short stop, its heap is read while it goes on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/process/mapped_memory.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/v8/reader.h"
#include "stack/scripts/script_functions.h"

namespace lagwatch::bench {

class NodeStacks final : private stack::v8::CodeKinds {
 public:
  // `memory` is that of process `pid`, and borrowed.
  NodeStacks(pid_t pid, stack::Memory* memory) : pid_(pid), memory_(memory) {}

  // False until V8 is loaded.
  bool Attach();
  // Stops the process, copies registers and stack, and lets it go on. False if it has ended.
  bool Copy();
  // Reads the frames of that copy; false if there are none.
  bool Read(stack::ScriptFunctions* functions, stack::ScriptFrames* frames);

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    bool is_executable;
    bool is_v8;
    bool is_file;
  };
  Kind KindOf(uint64_t program_counter) override;
  void ReadMap();
  const Range* Find(uint64_t address) const;

  pid_t pid_;
  stack::Memory* memory_;
  std::string module_;
  std::vector<Range> ranges_;
  std::unique_ptr<stack::v8::Reader> reader_;
  base::MappedBlock<stack::RawStack> raw_ = base::MapBlock<stack::RawStack>(1);
};

}  // namespace lagwatch::bench
