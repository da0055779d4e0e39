// SPDX-License-Identifier: Apache-2.0
#include "stack/code/unwinder.h"
#include "stack/unwind/code_reader.h"
#include "stack/unwind/frame_list.h"
#include "stack/unwind/stack_memory.h"

namespace lagwatch::stack {
namespace {

constexpr uint64_t kWordBytes = sizeof(uint64_t);

class FramePointerUnwinder final : public Unwinder {
 public:
  void Unwind(const RawStack& raw, const ModuleMap& modules, Stack* stack) override {
    StackMemory memory(modules.process(), raw);
    const CodeReader code(&pages_, &modules);
    modules_ = &modules;
    memory_ = &memory;
    code_ = &code;
    frames_.Begin(stack);
    const bool is_whole = Walk(raw.registers);
    frames_.Finish();
    stack->completeness = is_whole                 ? Completeness::kComplete
                          : memory.has_left_copy() ? Completeness::kCut
                                                   : Completeness::kIncomplete;
  }

  void OnModulesChanged() override { pages_.Clear(); }

 private:
  struct FramePlace {
    uint64_t program_counter;
    uint64_t stack_pointer;
    uint64_t frame_pointer;
  };

  // Whether the walk reached the function that the thread began with.
  bool Walk(const Registers& registers) {
    FramePlace at{registers.program_counter(), registers.stack_pointer(),
                  registers.value[Registers::kFramePointer]};
    AddFrame(at.program_counter);
    if (!registers.is_known(Registers::kFramePointer)) return false;
    if (StepFromInnermost(registers, &at)) AddFrame(at.program_counter - 1);
    while (at.frame_pointer != 0) {
      if (!StepByRecord(at.frame_pointer, &at)) return false;
      if (at.program_counter == 0) break;
      AddFrame(at.program_counter - 1);
    }
    return !memory_->has_read_live_memory();
  }

  void AddFrame(uint64_t address) {
    const ModuleMap::CodeRange* range = modules_->FindRange(address);
    if (range != nullptr && range->module != kNoModule) {
      *frames_.Add() = {range->module, address - range->load_bias, 0};
    } else if (frames_.count() == 0 || frames_.last().module != kNoModule) {  // one, however many they are
      *frames_.Add() = {kNoModule, address, 0};
    }
  }

  // Out of a function whose frame pointer is still, or again, its caller's.
  bool StepFromInnermost(const Registers& registers, FramePlace* at) {
    unsigned char code[kMaxCodeBytes];
    if (!code_->Read(at->program_counter, code)) return StepFromLeaf(registers, at);
    switch (ProgressAt(code)) {
      case FrameProgress::kNothingSaved:
        return StepFromLeaf(registers, at);
      case FrameProgress::kReturnSavedBelow:
        return StepByRecord(at->stack_pointer, at);
      case FrameProgress::kHasFramePointer:
        break;
    }
    return false;
  }

  bool StepFromLeaf(const Registers& registers, FramePlace* at) {
    uint64_t return_address = 0;
    uint64_t stack_pointer = at->stack_pointer;
    if (!kHasLinkRegister) {
      if (!memory_->ReadWord(stack_pointer, &return_address)) return false;
      stack_pointer += kWordBytes;
    } else if (registers.is_known(Registers::kReturnAddress)) {
      return_address = registers.value[Registers::kReturnAddress];
    }
    return_address = StripSignature(return_address);
    if (!code_->IsReturnAddress(return_address)) return false;
    at->program_counter = return_address;
    at->stack_pointer = stack_pointer;
    return true;
  }

  // A frame record is {the caller's frame pointer, return address}; it lies further out than the last one. A
  // return address of 0 is the end.
  bool StepByRecord(uint64_t record, FramePlace* at) {
    uint64_t saved;
    uint64_t return_address;
    if (record < at->stack_pointer || record % kWordBytes != 0 || !memory_->ReadWord(record, &saved) ||
        !memory_->ReadWord(record + kWordBytes, &return_address)) {
      return false;
    }
    return_address = StripSignature(return_address);
    if (return_address != 0 && !code_->IsReturnAddress(return_address)) return false;
    *at = {return_address, record + 2 * kWordBytes, saved};
    return true;
  }

  PageCache pages_;
  FrameList frames_;
  // Of the stack being unwound.
  const ModuleMap* modules_ = nullptr;
  StackMemory* memory_ = nullptr;
  const CodeReader* code_ = nullptr;
};

}  // namespace

std::unique_ptr<Unwinder> CreateFramePointerUnwinder() { return std::make_unique<FramePointerUnwinder>(); }

}  // namespace lagwatch::stack
