// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/table_unwinder.h"

#include "stack/unwind/call_scan.h"
#include "stack/unwind/code_reader.h"
#include "stack/unwind/cursor.h"
#include "stack/unwind/frame_list.h"
#include "stack/unwind/frame_pointer_search.h"
#include "stack/unwind/live_values_search.h"
#include "stack/unwind/rule_cache.h"
#include "stack/unwind/stack_memory.h"
#include "stack/unwind/tables/expression.h"

namespace lagwatch::stack {
namespace {

using Cfa = UnwindRule::Cfa;
using Saved = UnwindRule::Saved;

uint64_t Offset(int32_t offset) { return static_cast<uint64_t>(int64_t{offset}); }

enum class Step : uint8_t {
  kToCaller,
  kComplete,           // there is no caller: the thread began here
  kIncomplete,         // the caller cannot be found
  kNeedsFramePointer,  // it could, if the frame pointer were known
};

class TableUnwinder : public Unwinder {
 public:
  explicit TableUnwinder(TableLibrary* tables) : rules_(tables) {}
  // False when there was no memory for it: then it is of no use.
  bool ok() const { return rules_.ok(); }

  void Unwind(const RawStack& raw, const ModuleMap& modules, Stack* stack) override {
    modules_ = &modules;
    StackMemory memory(modules.process(), raw);
    CodeReader code(rules_.pages(), modules_);
    memory_ = &memory;
    code_ = &code;
    frames_.Begin(stack);
    Cursor cursor = Cursor::At(raw.registers);
    Step end = Walk(&cursor);
    if (end == Step::kNeedsFramePointer) end = WalkByFramePointerSearch(cursor);
    Completeness whole = Completeness::kComplete;
    if (end == Step::kIncomplete) {
      end = WalkByCalls(cursor);
      whole = Completeness::kProbable;
    }
    frames_.Finish();
    stack->completeness = end == Step::kComplete   ? whole
                          : memory.has_left_copy() ? Completeness::kCut
                                                   : Completeness::kIncomplete;
  }

  void UnwindTableless(const RawStack& raw, const ModuleMap& modules, Stack* stack,
                       TablelessFrames* tableless) override {
    tableless->Clear();
    tableless_ = tableless;
    Unwind(raw, modules, stack);
    tableless_ = nullptr;
  }
  void UnwindLive(const RawStack& raw, const ModuleMap& modules, Stack* stack, LiveValues* live) override {
    live->Clear();
    live_ = live;
    Unwind(raw, modules, stack);
    live_ = nullptr;
    StackMemory memory(modules.process(), raw);
    LiveValuesSearch(modules, rules_.search(), rules_.pages(), CodeReader(rules_.pages(), &modules), &memory)
        .Run(raw.registers, live);
  }
  void TrustGeneratedRecords() override { trusts_generated_records_ = true; }

  Frame Resolve(uint64_t return_address, const ModuleMap& modules) override {
    modules_ = &modules;
    const CachedRule& cached = Lookup(return_address);
    return {cached.module, cached.offset, cached.found.function_offset};
  }

  TableLibrary* tables() override { return rules_.tables(); }
  void OnModulesChanged() override { rules_.Clear(); }

 private:
  static constexpr uint64_t kMaxSteps = 1 << 20;  // more than the largest copy has room for
  // Signal handlers on stacks of their own; a damaged stack may lead from one to the other for ever.
  static constexpr int kMaxStackChanges = 16;
  static constexpr int kMaxCallScans = 16;

  // Adds the frame of `cursor` and those of its callers, as far as they can be found. `cursor` is left at the
  // outermost of them.
  Step Walk(Cursor* cursor) {
    Cursor at = *cursor;  // of its own, so that it can stay in registers
    Step step = Step::kIncomplete;
    int change_count = 0;  // of steps that do not lead outward
    for (uint64_t i = 0; i < kMaxSteps; ++i) {
      const CachedRule& cached = Lookup(at.end_of_call());
      if (!AddFrame(cached, at)) break;
      if (cached.is_usual && StepFromUsual(cached.found.rule, &at)) [[likely]]
        continue;
      *cursor = at;
      step = StepFrom(cached, cursor);
      if (step != Step::kToCaller) {
        *cursor = at;
        return step;
      }
      if (cursor->stack_pointer <= at.stack_pointer && ++change_count > kMaxStackChanges) break;
      at = *cursor;
    }
    return Step::kIncomplete;
  }

  // As StepFrom(), for a usual rule; returns false, and changes nothing, if something else is unusual.
  bool StepFromUsual(const UnwindRule& rule, Cursor* cursor) const {
    bool is_by_frame_pointer = rule.cfa == Cfa::kFramePointer;
    if (is_by_frame_pointer && !cursor->is_frame_pointer_known) return false;
    uint64_t cfa =
        (is_by_frame_pointer ? cursor->frame_pointer : cursor->stack_pointer) + Offset(rule.cfa_offset);
    uint64_t return_address;
    uint64_t frame_pointer = cursor->frame_pointer;
    uint64_t base_pointer = cursor->base_pointer;
    bool saves_frame_pointer = rule.frame_pointer == Saved::kAtCfa;
    bool saves_base_pointer = rule.base_pointer == Saved::kAtCfa;
    bool is_read = memory_->ReadCopiedWord(cfa + Offset(rule.return_address_offset), &return_address) &&
                   (!saves_frame_pointer ||
                    memory_->ReadCopiedWord(cfa + Offset(rule.frame_pointer_offset), &frame_pointer)) &&
                   (!saves_base_pointer ||
                    memory_->ReadCopiedWord(cfa + Offset(rule.base_pointer_offset), &base_pointer));
    if (!is_read || cfa <= cursor->stack_pointer) return false;
    const uint64_t program_counter = StripSignature(return_address);
    if (program_counter == 0) return false;
    cursor->program_counter = program_counter;
    cursor->stack_pointer = cfa;
    cursor->frame_pointer = frame_pointer;
    cursor->base_pointer = base_pointer;
    cursor->is_frame_pointer_known |= saves_frame_pointer;
    cursor->is_base_pointer_known |= saves_base_pointer;
    cursor->registers = nullptr;
    return true;
  }

  // `cursor` is at a frame that was added already.
  Step WalkByFramePointerSearch(const Cursor& cursor) {
    const CachedRule& cached = Lookup(cursor.end_of_call());
    const uint64_t frame_count = frames_.count();
    if (frame_count > FrameList::kInnermost || cached.module == kNoModule) return Step::kIncomplete;
    const CachedRule own = cached;  // the walk may replace the cached rule
    uint64_t function_start = own.address - own.offset + own.found.function_offset;
    FramePointerSearch search(cursor.stack_pointer, function_start, own.found.rule, memory_, code_);
    auto walk_from = [&](uint64_t frame_pointer) {
      RewindTo(frame_count);
      Cursor trial = cursor;
      trial.frame_pointer = frame_pointer;
      trial.is_frame_pointer_known = true;
      Step step = StepFrom(own, &trial);
      return step == Step::kToCaller ? Walk(&trial) : step;
    };
    uint64_t by_prologue = 0;
    uint64_t candidate;
    while (search.Next(&candidate)) {
      Step end = walk_from(candidate);
      if (end == Step::kComplete || memory_->has_left_copy()) return end;
      if (search.proof() == FramePointerSearch::Proof::kPrologue) by_prologue = candidate;
    }
    // Right in any case, even if something further out is in the way of a proof.
    if (by_prologue != 0) return walk_from(by_prologue);
    RewindTo(frame_count);
    return Step::kIncomplete;
  }

  // Goes on from functions that neither a table nor a frame pointer describes, at the likeliest calls of
  // them. `cursor` is at a frame that was added already.
  Step WalkByCalls(Cursor cursor) {
    CallScan scan(memory_, code_);
    const auto walk_from = [&](const ScannedCaller& caller, Cursor* next) {
      *next = {};
      next->program_counter = caller.return_address;
      next->stack_pointer = caller.slot + sizeof caller.slot;
      const Step end = Walk(next);
      return end == Step::kNeedsFramePointer ? WalkByFramePointerSearch(*next) : end;
    };
    for (int i = 0; i < kMaxCallScans && IsWithoutRule(cursor); ++i) {
      const auto callers = scan.Find(cursor.stack_pointer, cursor.end_of_call() - 1);
      if (callers.empty()) break;
      const uint64_t frame_count = frames_.count();
      for (const ScannedCaller& caller : callers) {
        RewindTo(frame_count);
        Cursor next;
        if (walk_from(caller, &next) == Step::kComplete) return Step::kComplete;
      }
      RewindTo(frame_count);
      walk_from(callers.front(), &cursor);
    }
    return Step::kIncomplete;
  }

  // Whether the frame that was added last is that of `cursor`, in a module, and has no rule.
  bool IsWithoutRule(const Cursor& cursor) {
    const CachedRule& cached = Lookup(cursor.end_of_call());
    const bool may_scan = !kHasLinkRegister && tableless_ == nullptr && cached.module != kNoModule &&
                          frames_.count() != 0 && frames_.count() <= FrameList::kInnermost;
    return may_scan && cached.found.rule.cfa == Cfa::kNone && frames_.last().module == cached.module &&
           frames_.last().offset == cached.offset;
  }

  void RewindTo(uint64_t frame_count) {
    frames_.RewindTo(frame_count);
    if (tableless_ != nullptr) tableless_->RewindTo(frame_count);
  }

  const CachedRule& Lookup(uint64_t end_of_call) { return rules_.Lookup(end_of_call, *modules_); }

  // Returns false if there is no code, where only a damaged stack can lead. Code outside of modules becomes
  // one frame, however many frames it has.
  bool AddFrame(const CachedRule& cached, const Cursor& cursor) {
    if (cached.module == kNoModule) [[unlikely]] {
      // The code that a signal handler returns to was not called: it may begin its page, as qemu's does.
      bool is_code = modules_->IsCode(cached.address) || modules_->IsCode(cursor.program_counter);
      if (cursor.registers == nullptr && !is_code) return false;
      if (frames_.count() != 0 && frames_.last().module == kNoModule) return true;
    }
    *frames_.Add() = {cached.module, cached.offset, cached.found.function_offset};
    if (live_ != nullptr) [[unlikely]]
      live_->SetFrame(frames_.count() - 1, {cursor.end_of_call(), cursor.stack_pointer, cursor.frame_pointer,
                                            cursor.is_frame_pointer_known, 0, 0});
    return true;
  }

  Step StepFrom(const CachedRule& cached, Cursor* cursor) {
    const UnwindRule& rule = cached.found.rule;
    if (rule.is_signal_frame) [[unlikely]]
      return IsAtSignalReturn(*cursor) ? StepOverSignal(cursor) : Step::kIncomplete;
    uint64_t cfa;
    if (rule.cfa == Cfa::kStackPointer) [[likely]] {
      cfa = cursor->stack_pointer + Offset(rule.cfa_offset);
    } else if (rule.cfa == Cfa::kFramePointer) {
      if (!cursor->is_frame_pointer_known) return Step::kNeedsFramePointer;
      cfa = cursor->frame_pointer + Offset(rule.cfa_offset);
    } else if (rule.cfa == Cfa::kNone) {
      return StepWithoutRule(cached, cursor);
    } else if (!FindCfa(cached, *cursor, &cfa)) {
      return Step::kIncomplete;
    }

    uint64_t return_address;
    if (rule.return_address == Saved::kAtCfa) [[likely]] {
      if (!memory_->ReadWord(cfa + Offset(rule.return_address_offset), &return_address))
        return Step::kIncomplete;
    } else if (rule.return_address == Saved::kUndefined) {
      return Step::kComplete;
    } else if (!FindReturnAddress(cached, *cursor, cfa, &return_address)) {
      return Step::kIncomplete;
    }
    const Cursor callee = *cursor;
    if (rule.base_pointer != Saved::kSame) {
      cursor->is_base_pointer_known =
          FindSaved(cached, rule.base_pointer, rule.base_pointer_offset, cfa, callee, &cursor->base_pointer);
    }
    if (rule.frame_pointer != Saved::kSame) {
      cursor->is_frame_pointer_known = FindSaved(cached, rule.frame_pointer, rule.frame_pointer_offset, cfa,
                                                 callee, &cursor->frame_pointer);
    }
    // The innermost function may have nothing on the stack if its return address is in a register.
    const bool is_register_enough = rule.return_address == Saved::kInRegister && callee.registers != nullptr;
    return GoToCaller(return_address, cfa,
                      rule.cfa == Cfa::kExpression || (is_register_enough && cfa == callee.stack_pointer),
                      cursor);
  }

  Step GoToCaller(uint64_t return_address, uint64_t cfa, bool may_change_stack, Cursor* cursor) {
    bool is_outward = cfa > cursor->stack_pointer ||
                      (kHasLinkRegister && cursor->registers != nullptr && cfa == cursor->stack_pointer);
    cursor->program_counter = StripSignature(return_address);
    // Words that the thread reuses are often zero, which proves nothing.
    if (cursor->program_counter == 0)
      return memory_->has_read_live_memory() ? Step::kIncomplete : Step::kComplete;
    if (!is_outward && !may_change_stack) return Step::kIncomplete;
    cursor->stack_pointer = cfa;
    cursor->registers = nullptr;
    return Step::kToCaller;
  }

  bool FindReturnAddress(const CachedRule& cached, const Cursor& cursor, uint64_t cfa,
                         uint64_t* return_address) {
    const UnwindRule& rule = cached.found.rule;
    if (rule.return_address == Saved::kSame) return ReadLinkRegister(cursor, return_address);
    if (rule.return_address == Saved::kInRegister)
      return cursor.registers != nullptr &&
             cursor.ReadRegister(static_cast<uint64_t>(rule.return_address_offset), return_address);
    return FindSaved(cached, rule.return_address, rule.return_address_offset, cfa, cursor, return_address);
  }

  static bool ReadLinkRegister(const Cursor& cursor, uint64_t* return_address) {
    if (!kHasLinkRegister || cursor.registers == nullptr ||
        !cursor.registers->is_known(Registers::kReturnAddress)) {
      return false;
    }
    *return_address = cursor.registers->value[Registers::kReturnAddress];
    return true;
  }

  bool FindSaved(const CachedRule& cached, Saved where, int32_t offset, uint64_t cfa, const Cursor& callee,
                 uint64_t* value) {
    uint64_t address = cfa + Offset(offset);
    if (where == Saved::kExpression && !Evaluate(cached, offset, &cfa, callee, &address)) return false;
    return where != Saved::kUndefined && memory_->ReadWord(address, value);
  }

  [[gnu::noinline]] bool FindCfa(const CachedRule& cached, const Cursor& cursor, uint64_t* cfa) {
    const UnwindRule& rule = cached.found.rule;
    if (rule.cfa == Cfa::kExpression) return Evaluate(cached, rule.cfa_offset, nullptr, cursor, cfa);
    if (!cursor.ReadRegister(rule.cfa_register, cfa)) return false;
    *cfa += Offset(rule.cfa_offset);
    return true;
  }

  // The expression lies in the module's memory, after its length.
  [[gnu::noinline]] bool Evaluate(const CachedRule& cached, int32_t expression_offset,
                                  const uint64_t* initial, const Cursor& cursor, uint64_t* result) {
    struct Input final : ExpressionInput {
      Input(const Cursor& at, StackMemory* stack) : cursor(at), memory(stack) {}
      bool ReadRegister(uint64_t number, uint64_t* value) override {
        return cursor.ReadRegister(number, value);
      }
      bool ReadWord(uint64_t address, uint64_t* word) override { return memory->ReadWord(address, word); }

      const Cursor& cursor;
      StackMemory* memory;
    };
    char bytes[256];
    uint64_t address = modules_->module(cached.module).load_bias + Offset(expression_offset);
    ByteCursor block({bytes, modules_->process().Read(address, bytes, sizeof bytes), address});
    ByteView expression = block.Take(block.Uleb());
    Input input(cursor, memory_);
    return block.ok() && EvaluateExpression(expression, initial, &input, result);
  }

  // At the end of a signal handler; a thread itself may also be between the two instructions of it.
  bool IsAtSignalReturn(const Cursor& cursor) {
    unsigned char code[kMaxCodeBytes];
    if (code_->Read(cursor.program_counter, code) && IsSignalReturn(code)) return true;
    return cursor.registers != nullptr &&
           code_->Read(cursor.program_counter - kSignalReturnCallOffset, code) && IsSignalReturn(code);
  }

  [[gnu::noinline]] Step StepOverSignal(Cursor* cursor) {
    interrupted_.known_mask = Registers::kAllKnown;
    for (int i = 0; i < Registers::kCount; ++i) {
      if (!memory_->ReadWord(cursor->stack_pointer + SignalFrameOffset(i), &interrupted_.value[i])) {
        return Step::kIncomplete;
      }
    }
    *cursor = Cursor::At(interrupted_);
    return modules_->IsCode(cursor->program_counter) ? Step::kToCaller : Step::kIncomplete;
  }

  // Hand-written assembly, just-in-time compiled code, or a jump into nowhere.
  [[gnu::noinline]] Step StepWithoutRule(const CachedRule& cached, Cursor* cursor) {
    if (tableless_ != nullptr && cursor->is_frame_pointer_known)
      tableless_->Add({frames_.count() - 1, cursor->program_counter, cursor->frame_pointer});
    unsigned char code[kMaxCodeBytes];
    bool is_code = code_->Read(cursor->program_counter, code);
    if (IsAtSignalReturn(*cursor)) return StepOverSignal(cursor);
    if (cursor->registers == nullptr && cached.address != cursor->program_counter) {
      // A function that is entered by a return, not a call, has no caller: glibc's coroutines begin so.
      const CachedRule& entry = Lookup(cursor->program_counter + 1);
      bool is_at_its_begin = entry.found.function_offset == entry.offset;
      if (entry.found.rule.cfa != Cfa::kNone && is_at_its_begin) return Step::kComplete;
    }
    if (cursor->registers != nullptr) {
      FrameProgress progress = is_code ? ProgressAt(code) : FrameProgress::kNothingSaved;
      if (progress == FrameProgress::kReturnSavedBelow)
        return StepByFrameRecord(cursor->stack_pointer, cursor);
      bool may_be_leaf = progress == FrameProgress::kNothingSaved || cached.module != kNoModule;
      if (may_be_leaf && StepFromLeaf(cursor)) return Step::kToCaller;
    }
    if (!cursor->is_frame_pointer_known) return Step::kIncomplete;
    if (cached.module == kNoModule) return StepFromGeneratedCode(cursor);
    if (cursor->frame_pointer == 0) {
      bool is_lost = cursor->registers == nullptr && !code_->IsReturnAddress(cursor->program_counter);
      return is_lost || memory_->has_read_live_memory() ? Step::kIncomplete : Step::kComplete;
    }
    return StepByFrameRecord(cursor->frame_pointer, cursor);
  }

  // Out of a function that saved nothing yet, or never does.
  bool StepFromLeaf(Cursor* cursor) {
    uint64_t return_address;
    uint64_t cfa = cursor->stack_pointer;
    if (!kHasLinkRegister) {
      if (!memory_->ReadWord(cfa, &return_address)) return false;
      cfa += sizeof return_address;
    } else if (!ReadLinkRegister(*cursor, &return_address)) {
      return false;
    }
    return code_->IsReturnAddress(StripSignature(return_address)) &&
           GoToCaller(return_address, cfa, false, cursor) == Step::kToCaller;
  }

  // Just-in-time compilers may use the frame pointer for something else: then its value proves nothing, not
  // even when it is zero or leads to a sound frame further out.
  Step StepFromGeneratedCode(Cursor* cursor) {
    const uint64_t record = cursor->frame_pointer;
    uint64_t saved;
    uint64_t return_address;
    if (record < cursor->stack_pointer || record % sizeof saved != 0 || !memory_->ReadWord(record, &saved) ||
        !memory_->ReadWord(record + sizeof saved, &return_address)) {
      return Step::kIncomplete;
    }
    return_address = StripSignature(return_address);
    const ModuleMap::CodeRange* caller = modules_->FindRange(return_address - 1);
    const bool is_trusted = trusts_generated_records_ && cursor->registers == nullptr;
    if (caller == nullptr || (!is_trusted && SkipsCaller(*cursor, record, return_address)))
      return Step::kIncomplete;
    // HotSpot's interpreter pushes return addresses and jumps. Then the caller keeps a frame record, too.
    const bool is_plausible =
        caller->module == kNoModule ? saved > record && saved < memory_->end() : MayReturnTo(return_address);
    return is_plausible ? GoToRecordsCaller(record, saved, return_address, cursor) : Step::kIncomplete;
  }

  // Whether a caller in a module stands further in than `record`. Generated code that sets up no frame record
  // leaves its caller's frame pointer as it was, so `record` may be that of its caller or further out.
  bool SkipsCaller(const Cursor& cursor, uint64_t record, uint64_t return_address) {
    constexpr uint64_t kMaxFrameBytes = 64 * 1024;
    uint64_t word;
    if (ReadLinkRegister(cursor, &word) && StripSignature(word) != return_address &&
        IsInCallerWithRule(StripSignature(word))) {
      return true;
    }
    if (record - cursor.stack_pointer > kMaxFrameBytes) return true;
    for (uint64_t at = cursor.stack_pointer; at < record; at += sizeof word) {
      if (!memory_->ReadWord(at, &word) || IsInCallerWithRule(StripSignature(word))) return true;
    }
    return false;
  }

  // Whether a module's function can have called generated code there: it has an unwind rule, and the call is
  // not one of another such function.
  bool IsInCallerWithRule(uint64_t return_address) {
    auto has_rule = [this](uint64_t address) {
      const CachedRule& cached = Lookup(address + 1);
      return cached.module != kNoModule && cached.found.rule.cfa != Cfa::kNone;
    };
    if (modules_->FindCode(return_address - 1) == kNoModule) return false;
    const CallSite call = code_->CallBefore(return_address);
    if (call.kind == CallSite::CallForm::kNone) return false;
    if (call.kind == CallSite::CallForm::kDirect && has_rule(call.target)) return false;
    return has_rule(return_address - 1);
  }

  // When V8 gives up optimised code, its frames go on at the beginnings of built-in functions.
  bool MayReturnTo(uint64_t return_address) {
    if (code_->IsReturnAddress(return_address)) return true;
    return trusts_generated_records_ && modules_->IsCode(return_address) &&
           Lookup(return_address + 1).found.rule.cfa == Cfa::kNone;
  }

  // A frame record is {the caller's frame pointer, return address}.
  Step StepByFrameRecord(uint64_t record, Cursor* cursor) {
    uint64_t saved;
    uint64_t return_address;
    if (record < cursor->stack_pointer || record % sizeof saved != 0 || !memory_->ReadWord(record, &saved) ||
        !memory_->ReadWord(record + sizeof saved, &return_address)) {
      return Step::kIncomplete;
    }
    return_address = StripSignature(return_address);
    if (return_address != 0 && !MayReturnTo(return_address)) return Step::kIncomplete;
    return GoToRecordsCaller(record, saved, return_address, cursor);
  }

  Step GoToRecordsCaller(uint64_t record, uint64_t saved, uint64_t return_address, Cursor* cursor) {
    cursor->frame_pointer = saved;
    cursor->is_frame_pointer_known = true;
    cursor->is_base_pointer_known = false;
    return GoToCaller(return_address, record + 2 * sizeof saved, false, cursor);
  }

  RuleCache rules_;
  FrameList frames_;
  Registers interrupted_{};  // by the signal whose frame was stepped over last
  // Of the stack being unwound.
  const ModuleMap* modules_ = nullptr;
  StackMemory* memory_ = nullptr;
  const CodeReader* code_ = nullptr;
  TablelessFrames* tableless_ = nullptr;  // null: not asked for, as the next
  LiveValues* live_ = nullptr;
  bool trusts_generated_records_ = false;
};

struct OwnTables {
  std::unique_ptr<TableLibrary> own_tables;
};

class SelfContainedUnwinder final : private OwnTables, public TableUnwinder {
 public:
  static base::Result<std::unique_ptr<Unwinder>> Create(const FrameSectionLoader& files) {
    auto unwinder = std::make_unique<SelfContainedUnwinder>(files);
    if (!unwinder->ok())
      return base::Status(base::StatusCode::kUnavailable, "no memory for the unwinder's cache");
    if (base::Status status = unwinder->own_tables->Start(); !status.ok()) return status;
    return std::unique_ptr<Unwinder>(std::move(unwinder));
  }
  explicit SelfContainedUnwinder(const FrameSectionLoader& files)
      : OwnTables{std::make_unique<TableLibrary>(files)}, TableUnwinder(own_tables.get()) {}
  ~SelfContainedUnwinder() override {
    if (!own_tables->TryStop()) static_cast<void>(own_tables.release());
  }
  TableLibrary* tables() override { return own_tables.get(); }
};

}  // namespace

base::Result<std::unique_ptr<Unwinder>> CreateTableUnwinder(const FrameSectionLoader& files) {
  return SelfContainedUnwinder::Create(files);
}

std::unique_ptr<Unwinder> CreateTableUnwinder(TableLibrary* tables) {
  auto unwinder = std::make_unique<TableUnwinder>(tables);
  return unwinder->ok() ? std::move(unwinder) : nullptr;
}

}  // namespace lagwatch::stack
