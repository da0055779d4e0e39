// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/lua/reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::lua {
namespace {

constexpr uint8_t kThreadType = 8;
constexpr uint8_t kFunctionType = 6;
constexpr uint64_t kMostValues = 1 << 21;  // of a state's stack
constexpr uint64_t kMostExtraValues = 16;  // past its end, for error handlers
constexpr int32_t kMostInstructions = 1 << 24;

// The tags of values.
constexpr uint32_t kTagMask = 0x3f;  // without the bit that says that it is collectable
constexpr uint32_t kLuaFunctionTag = 0x06;
constexpr uint32_t kLightCFunctionTag = 0x16;
constexpr uint32_t kCFunctionTag = 0x26;

}  // namespace

bool LuaReader::Read(std::span<const uint64_t> candidates, const RawStack& raw, ScriptFunctions* functions,
                     Calls* calls) {
  last_read_ = memory_->read_count() + kMostReads;
  for (int i = 0; i < kTries && !IsOverBudget(); ++i) {
    calls->Clear();
    FindStates(candidates, raw);
    if (ReadCalls(raw, functions, calls)) return calls->script_count != 0;
  }
  return false;
}

void LuaReader::FindStates(std::span<const uint64_t> candidates, const RawStack& raw) {
  state_count_ = 0;
  for (const uint64_t candidate : candidates) {
    if (state_count_ == states_.size()) break;
    LuaState& state = states_[state_count_];
    if (ReadState(candidate, &state) && IsRunBy(state, raw) &&
        StateMember(state, layout_->call) != BaseCallOf(state))
      ++state_count_;
  }
  // Every resumption is a protected call, deeper in the stack than those of the state that resumes.
  const auto depth_of = [&](const LuaState& state) {
    return StateMember(state, layout_->protected_call) - 1;
  };
  const auto end = states_.begin() + static_cast<ptrdiff_t>(state_count_);
  std::sort(states_.begin(), end,
            [&](const LuaState& a, const LuaState& b) { return depth_of(a) < depth_of(b); });
  // Another Lua in the same thread is not read.
  const uint64_t global = StateMember(states_[0], layout_->global);
  const auto others = std::remove_if(states_.begin(), end, [&](const LuaState& state) {
    return StateMember(state, layout_->global) != global;
  });
  state_count_ = static_cast<size_t>(others - states_.begin());
}

bool LuaReader::IsRunBy(const LuaState& state, const RawStack& raw) const {
  const uint64_t call = StateMember(state, layout_->protected_call);
  return call == 0 || (raw.registers.stack_pointer() <= call && call < raw.end);
}

bool LuaReader::ReadCalls(const RawStack& raw, ScriptFunctions* functions, Calls* calls) {
  for (size_t i = 0; i < state_count_ && !calls->is_cut; ++i) {
    if (!Walk(states_[i], raw, functions, calls)) return false;
    uint64_t call = 0;
    if (!memory_->Read(states_[i].address + layout_->call, &call) ||
        call != StateMember(states_[i], layout_->call))
      return false;
  }
  return true;
}

uint64_t LuaReader::StateMember(const LuaState& state, uint16_t offset) const {
  return MemberAt<uint64_t>(state.bytes, offset);
}

uint64_t LuaReader::BaseCallOf(const LuaState& state) const { return BaseCallOf(state.address, state.bytes); }

uint64_t LuaReader::BaseCallOf(uint64_t address, std::span<const uint8_t> state) const {
  return layout_->caller == kNone ? MemberAt<uint64_t>(state, layout_->base_call)
                                  : address + layout_->base_call;
}

bool LuaReader::CopyPieces(uint64_t address, const Registers&, MemoryPieces* pieces) const {
  constexpr uint64_t kMostCopied = 8 << 10;
  constexpr uint64_t kCallersBytes = 512;  // of the values below a called function
  constexpr size_t kMostCalls = 60;
  const uint8_t* state = pieces->Copy(address, kStateBytes);
  if (state == nullptr || state[kTypeOffset] != kThreadType) return false;
  const std::span<const uint8_t> bytes(state, kStateBytes);
  const uint64_t base_call = BaseCallOf(address, bytes);
  const auto stack = MemberAt<uint64_t>(bytes, layout_->stack);
  auto call = MemberAt<uint64_t>(bytes, layout_->call);
  if (layout_->caller == kNone) {  // an array
    const uint64_t begin = std::max(base_call, call - std::min(call, kMostCopied));
    if (call < base_call || pieces->Copy(begin, call - begin + layout_->call_bytes) == nullptr) return false;
  }
  for (size_t i = 0; call != base_call; ++i) {
    if (i == kMostCalls) return false;
    const uint8_t* info = pieces->Find(call, layout_->call_bytes);
    if (info == nullptr) info = pieces->Copy(call, layout_->call_bytes);
    if (info == nullptr) return false;
    const std::span<const uint8_t> members(info, layout_->call_bytes);
    const auto function = MemberAt<uint64_t>(members, layout_->function);
    if (function < stack) return false;
    const uint64_t below = std::min(function - stack, kCallersBytes);
    const uint8_t* value = pieces->Find(function, kValueBytes);
    if (value == nullptr) {
      value = pieces->Copy(function - below, below + kValueBytes);
      if (value == nullptr) return false;
      value += below;
    }
    pieces->AddToKey(MemberAt<uint64_t>({value, kValueBytes}, 0));
    pieces->AddToKey(MemberAt<uint64_t>(members, layout_->call_instruction));
    call =
        layout_->caller == kNone ? call - layout_->call_bytes : MemberAt<uint64_t>(members, layout_->caller);
  }
  return true;
}

bool LuaReader::ReadState(uint64_t address, LuaState* state) {
  state->address = address;
  if (IsOverBudget() || !memory_->Read(address, &state->bytes)) return false;
  // A state that has yielded, or has ended with an error, does not run.
  if (state->bytes[kTypeOffset] != kThreadType || state->bytes[layout_->status] != 0) return false;
  const uint64_t stack = StateMember(*state, layout_->stack);
  const uint64_t top = StateMember(*state, layout_->top);
  const uint64_t last = StateMember(*state, layout_->stack_last);
  const uint64_t global = StateMember(*state, layout_->global);
  const uint64_t call = StateMember(*state, layout_->call);
  if (stack == 0 || stack % 8 != 0 || global == 0 || global % 8 != 0 || call % 8 != 0) return false;
  if (top < stack || top > last + kMostExtraValues * kValueBytes || last - stack > kMostValues * kValueBytes)
    return false;
  uint64_t main_thread = 0;
  uint64_t its_global = 0;
  uint8_t its_type = 0;
  return memory_->Read(global + layout_->main_thread, &main_thread) && main_thread % 8 == 0 &&
         memory_->Read(main_thread + kTypeOffset, &its_type) && its_type == kThreadType &&
         memory_->Read(main_thread + layout_->global, &its_global) && its_global == global;
}

bool LuaReader::Walk(const LuaState& state, const RawStack& raw, ScriptFunctions* functions, Calls* calls) {
  const uint64_t base_call = BaseCallOf(state);
  uint64_t address = StateMember(state, layout_->call);
  if (address == base_call) return true;
  CallInfo call;
  Callee* callee = &callees_[0];
  Callee* caller = &callees_[1];
  if (!ReadCallInfo(state, address, &call) || !ReadCallee(state, call, callee)) return false;
  for (bool is_innermost = calls->count == 0;; is_innermost = false) {
    if (IsOverBudget()) return false;
    const bool has_caller = call.caller != base_call;
    CallInfo outer{};
    if (has_caller && (!ReadCallInfo(state, call.caller, &outer) || !ReadCallee(state, outer, caller)))
      return false;
    if (calls->is_full()) {
      calls->is_cut = true;
      return true;
    }
    if (callee->is_c) {
      calls->Add({.function = 0, .line = 0, .c_function = callee->c_function});
    } else {
      const Prototype& prototype = callee->prototype;
      std::string_view name;
      if (prototype.first_line == 0) {
        name = "main chunk";
      } else if (has_caller && outer.is_finalizer) {
        name = "__gc";
      } else if (has_caller && !caller->is_c && !call.is_tail_call) {
        name = names_.NameOfCallee(memory_, *layout_, caller->prototype, IndexOf(outer, caller->prototype));
      }
      const int32_t index = is_innermost ? RunningIndexOf(call, prototype, raw) : IndexOf(call, prototype);
      calls->Add({.function = AddFunction(prototype, name, functions),
                  .line = ReadLine(prototype, index),
                  .c_function = 0});
    }
    if (!has_caller) return true;
    call = outer;
    std::swap(callee, caller);
  }
}

bool LuaReader::ReadCallInfo(const LuaState& state, uint64_t address, CallInfo* call) {
  std::array<uint8_t, kMostCallBytes> read;
  const std::span<uint8_t> bytes(read.data(), layout_->call_bytes);
  if (address == 0 || address % 8 != 0 || !memory_->Read(address, bytes.data(), bytes.size())) return false;
  const uint32_t status = layout_->call_status_bytes == 1   ? MemberAt<uint8_t>(bytes, layout_->call_status)
                          : layout_->call_status_bytes == 2 ? MemberAt<uint16_t>(bytes, layout_->call_status)
                                                            : MemberAt<uint32_t>(bytes, layout_->call_status);
  *call = {.address = address,
           .function = MemberAt<uint64_t>(bytes, layout_->function),
           .instruction = MemberAt<uint64_t>(bytes, layout_->call_instruction),
           .caller = 0,
           .is_tail_call = (status & layout_->is_tail_call) != 0,
           .is_finalizer = (status & layout_->is_finalizer) != 0};
  const uint64_t stack = StateMember(state, layout_->stack);
  if (call->function < stack || call->function - stack >= kMostValues * kValueBytes) return false;
  if (layout_->caller != kNone) {
    call->caller = MemberAt<uint64_t>(bytes, layout_->caller);
    return true;
  }
  // The calls are an array. Only an inner one has its instruction.
  const uint64_t base_call = BaseCallOf(state);
  if (address <= base_call || (address - base_call) % layout_->call_bytes != 0) return false;
  call->caller = address - layout_->call_bytes;
  if (address == StateMember(state, layout_->call))
    call->instruction = StateMember(state, layout_->instruction);
  return true;
}

bool LuaReader::ReadCallee(const LuaState& state, const CallInfo& call, Callee* callee) {
  std::array<uint8_t, kValueBytes> value;
  if (call.function % 8 != 0 || call.function < StateMember(state, layout_->stack) ||
      !memory_->Read(call.function, &value))
    return false;
  const auto object = MemberAt<uint64_t>(value, 0);
  const auto tag = MemberAt<uint8_t>(value, 8);
  callee->is_c = true;
  callee->c_function = object;
  if (layout_->is_c != kNone) {
    uint8_t is_c = 0;
    if (tag != kFunctionType || object % 8 != 0 || !memory_->Read(object + layout_->is_c, &is_c) || is_c > 1)
      return false;
    callee->is_c = is_c != 0;
  } else {
    const uint32_t kind = tag & kTagMask;
    if (kind == kLightCFunctionTag) return true;
    if ((kind != kLuaFunctionTag && kind != kCFunctionTag) || object % 8 != 0) return false;
    callee->is_c = kind == kCFunctionTag;
  }
  uint8_t type = 0;
  if (!memory_->Read(object + kTypeOffset, &type) || (type & 0x0f) != kFunctionType) return false;
  if (callee->is_c) return memory_->Read(object + layout_->c_function, &callee->c_function);
  uint64_t prototype = 0;
  return memory_->Read(object + layout_->prototype, &prototype) &&
         ReadPrototype(prototype, &callee->prototype);
}

bool LuaReader::ReadPrototype(uint64_t address, Prototype* prototype) {
  if (address == 0 || address % 8 != 0 || !memory_->Read(address, &prototype->bytes)) return false;
  prototype->code = MemberAt<uint64_t>(prototype->bytes, layout_->code);
  prototype->code_count = MemberAt<int32_t>(prototype->bytes, layout_->code_count);
  prototype->first_line = MemberAt<int32_t>(prototype->bytes, layout_->first_line);
  return prototype->bytes[kTypeOffset] == layout_->prototype_type && prototype->code != 0 &&
         prototype->code_count > 0 && prototype->code_count < kMostInstructions && prototype->first_line >= 0;
}

int32_t LuaReader::IndexOf(const CallInfo& call, const Prototype& prototype) const {
  // The saved instruction is the next one.
  const uint64_t offset = call.instruction - prototype.code;
  const uint64_t size = static_cast<uint64_t>(prototype.code_count) * sizeof(uint32_t);
  return offset <= size ? static_cast<int32_t>(offset / sizeof(uint32_t)) - 1 : -1;
}

int32_t LuaReader::RunningIndexOf(const CallInfo& call, const Prototype& prototype,
                                  const RawStack& raw) const {
  const uint64_t size = static_cast<uint64_t>(prototype.code_count) * sizeof(uint32_t);
  const Registers& registers = raw.registers;
  for (int i = 0; i < Registers::kCount; ++i) {
    const uint64_t offset = registers.value[i] - prototype.code;
    if (registers.is_known(i) && offset != 0 && offset <= size && offset % sizeof(uint32_t) == 0)
      return static_cast<int32_t>(offset / sizeof(uint32_t)) - 1;
  }
  return IndexOf(call, prototype);
}

uint32_t LuaReader::ReadLine(const Prototype& prototype, int32_t index) {
  if (index < 0) return static_cast<uint32_t>(prototype.first_line);
  if (layout_->anchors != kNone) return ReadLineFromAnchor(prototype, index);
  const auto lines = MemberAt<uint64_t>(prototype.bytes, layout_->lines);
  int32_t line = 0;
  if (lines == 0 || !memory_->Read(lines + static_cast<uint64_t>(index) * sizeof line, &line) || line < 0)
    return 0;
  return static_cast<uint32_t>(line);
}

uint32_t LuaReader::ReadLineFromAnchor(const Prototype& prototype, int32_t index) {
  struct Anchor {
    int32_t index;
    int32_t line;
  };
  const auto deltas = MemberAt<uint64_t>(prototype.bytes, layout_->lines);
  const auto anchors = MemberAt<uint64_t>(prototype.bytes, layout_->anchors);
  Anchor anchor{-1, prototype.first_line};
  // The last anchor that is not past the instruction.
  int32_t low = 0;
  int32_t high = std::clamp(MemberAt<int32_t>(prototype.bytes, layout_->anchor_count), 0, kMostInstructions);
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    Anchor found{};
    if (!memory_->Read(anchors + static_cast<uint64_t>(middle) * sizeof found, &found)) return 0;
    if (found.index <= index) {
      anchor = found;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (anchor.index < -1 || anchor.index > index) return 0;
  const auto count = static_cast<size_t>(index - anchor.index);
  if (count > deltas_.size() || deltas == 0) return 0;
  if (count != 0 && !memory_->Read(deltas + static_cast<uint64_t>(anchor.index + 1), deltas_.data(), count))
    return 0;
  int64_t line = anchor.line;
  for (size_t i = 0; i < count; ++i) line += deltas_[i];
  return line < 0 || line > INT32_MAX ? 0 : static_cast<uint32_t>(line);
}

uint64_t LuaReader::AddFunction(const Prototype& prototype, std::string_view name,
                                ScriptFunctions* functions) {
  char source[512];
  char kind = 0;
  const auto address = MemberAt<uint64_t>(prototype.bytes, layout_->source);
  ReadText(memory_, *layout_, address, {&kind, 1});
  // The end of a path says more than its beginning, of a text it is the other way round.
  const size_t size = ReadText(memory_, *layout_, address, source, kind == '@');
  const std::string_view file = files_.NameOf({source, size}, kind == '@');
  return functions->Add({name.empty() ? kNoName : name, file});
}

}  // namespace lagwatch::stack::lua
