// SPDX-License-Identifier: Apache-2.0
// Reads the live values of a stack whose frames are known. Context: watchdog; not thread-safe.
#pragma once

#include <cstdint>

#include "stack/frames/live_values.h"
#include "stack/unwind/code_reader.h"
#include "stack/unwind/processor.h"
#include "stack/unwind/stack_memory.h"
#include "stack/unwind/tables/eh_frame_search.h"

namespace lagwatch::stack {

class LiveValuesSearch {
 public:
  // Borrows all of them.
  LiveValuesSearch(const ModuleMap& modules, EhFrameSearch* tables, PageCache* pages, const CodeReader& code,
                   StackMemory* memory)
      : modules_(modules), tables_(tables), pages_(pages), code_(code), memory_(memory) {}

  void Run(const Registers& registers, LiveValues* live) {
    for (int i = 0; i < Registers::kCount; ++i)
      if (registers.is_known(i)) live->AddValue(registers.value[i]);
    const auto frames = live->frames();
    for (size_t i = 0; i < frames.size(); ++i) {
      LiveValues::Frame& frame = frames[i];
      SavedPlaces saved;
      if (!FindSaved(frame, &saved)) continue;
      frame.begin = saved.begin;
      frame.end = saved.end;
      // A caller's stack pointer is where its callee's frame begins.
      if (i + 1 < frames.size()) AddSaved(frame, frames[i + 1].stack_pointer, saved, live);
      AddArguments(frame, live);
    }
  }

 private:
  bool FindSaved(const LiveValues::Frame& frame, SavedPlaces* saved) {
    const uint64_t address = frame.end_of_call - 1;
    const ModuleMap::CodeRange* range = modules_.FindRange(address);
    return range != nullptr && range->module != kNoModule &&
           tables_->FindSaved(modules_.module(range->module), address - range->load_bias, pages_, saved);
  }

  void AddSaved(const LiveValues::Frame& frame, uint64_t cfa, const SavedPlaces& saved, LiveValues* live) {
    for (const int32_t offset : saved.offsets()) {
      const uint64_t place = cfa + static_cast<uint64_t>(int64_t{offset});
      uint64_t value;
      // A register that the function has restored by now lies below its frame.
      if (place >= frame.stack_pointer && memory_->ReadCopiedWord(place, &value)) live->AddValue(value);
    }
  }

  void AddArguments(const LiveValues::Frame& frame, LiveValues* live) {
    unsigned char code[kMaxPrologueBytes];
    if (!frame.is_frame_pointer_known || !code_.Read(frame.begin, code)) return;
    ArgumentPlace places[kMaxArguments];
    const size_t count = ArgumentPlaces(code, places);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t place = frame.frame_pointer + static_cast<uint64_t>(int64_t{places[i].offset});
      uint64_t value;
      if (place < frame.stack_pointer || !memory_->ReadCopiedWord(place, &value)) continue;
      live->AddValue(places[i].is_32_bit ? static_cast<uint32_t>(value) : value);
    }
  }

  const ModuleMap& modules_;
  EhFrameSearch* tables_;
  PageCache* pages_;
  const CodeReader& code_;
  StackMemory* memory_;
};

}  // namespace lagwatch::stack
