// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/luajit/reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "stack/interpreters/bytes.h"
#include "stack/interpreters/luajit/layout.h"

namespace lagwatch::stack::luajit {
namespace {

constexpr uint64_t kMostStackBytes = uint64_t{1} << 24;  // of a state
constexpr uint64_t kWord = kValueBytes;

}  // namespace

bool LuaJitReader::Read(std::span<const uint64_t> candidates, const RawStack& raw, ScriptFunctions* functions,
                        lua::Calls* calls) {
  last_read_ = memory_->read_count() + kMostReads;
  calls->Clear();
  FindStates(candidates, raw);
  for (size_t i = 0; i < state_count_ && !calls->is_cut; ++i) {
    Top top{.base = states_[i].base, .next_instruction = 0, .is_left_out = false, .trace = 0};
    if (i == 0 && !FindTop(states_[i], raw, &top)) return false;
    if (!Walk(states_[i], top, raw, functions, calls)) return false;
  }
  return calls->script_count != 0;
}

bool LuaJitReader::CopyPieces(uint64_t address, const Registers& registers, MemoryPieces* pieces) const {
  constexpr uint64_t kMostCopied = 16 << 10;
  constexpr size_t kMostCalls = 60;
  const uint8_t* state = pieces->Copy(address, kStateBytes);
  if (state == nullptr || state[kType] != kThreadType) return false;
  const std::span<const uint8_t> bytes(state, kStateBytes);
  const auto stack = MemberAt<uint64_t>(bytes, kStack);
  const auto global = MemberAt<uint64_t>(bytes, kGlobal);
  const uint64_t most = MemberAt<uint64_t>(bytes, kLast) - stack;
  // The innermost function may be the one of a register, or of compiled code.
  const auto top = MemberAt<uint64_t>(bytes, kTop);
  const uint64_t running = registers.value[kCFrame.base_register];
  const bool is_further = running > top && running - stack <= most && running % kWord == 0;
  const uint64_t end = is_further ? running : top;
  const uint64_t begin = std::max(stack, end - std::min(end, kMostCopied));
  if (end <= stack || end - stack > most) return false;
  const uint8_t* values = pieces->Copy(begin, end - begin);
  const uint8_t* shared = pieces->Copy(global, kGlobalBytes);
  if (values == nullptr || shared == nullptr) return false;
  pieces->AddToKey(registers.value[kCFrame.instruction_register]);
  uint64_t frame = (is_further ? running : MemberAt<uint64_t>(bytes, kBase)) - kWord;
  for (size_t i = 0; frame > stack + kWord; ++i) {
    const uint8_t* words = pieces->Find(frame - kWord, 2 * kWord);
    if (words == nullptr || i == kMostCalls) return false;
    const auto link = MemberAt<uint64_t>({words, 2 * kWord}, kWord);
    pieces->AddToKey(MemberAt<uint64_t>({words, 2 * kWord}, 0));
    pieces->AddToKey(link);
    uint64_t size = link & ~kKindAndProtectedMask;
    if ((link & kKindMask) == kLuaFrame) {
      const uint8_t* call = pieces->Copy(link - sizeof(uint32_t), sizeof(uint32_t));
      if (call == nullptr) return false;
      size = (2 + uint64_t{OperandA(MemberAt<uint32_t>({call, sizeof(uint32_t)}, 0))}) * kWord;
    }
    if (size == 0) return false;
    frame -= size;
  }
  return true;
}

bool LuaJitReader::ReadStackWord(const RawStack& raw, uint64_t address, uint64_t* word) {
  const uint64_t offset = address - raw.address;
  if (offset >= raw.size_bytes || raw.size_bytes - offset < kWord) return memory_->Read(address, word);
  std::memcpy(word, raw.bytes + offset, kWord);
  return true;
}

void LuaJitReader::FindStates(std::span<const uint64_t> candidates, const RawStack& raw) {
  state_count_ = 0;
  for (const uint64_t candidate : candidates) {
    if (state_count_ == states_.size()) break;
    if (ReadState(candidate, raw, &states_[state_count_])) ++state_count_;
  }
  // A state that resumes another one has its frame further out.
  const auto end = states_.begin() + static_cast<ptrdiff_t>(state_count_);
  std::sort(states_.begin(), end, [](const JitState& a, const JitState& b) { return a.c_frame < b.c_frame; });
  // Another Lua in the same thread is not read.
  const auto others = std::remove_if(
      states_.begin(), end, [&](const JitState& state) { return state.global != states_[0].global; });
  state_count_ = static_cast<size_t>(others - states_.begin());
}

bool LuaJitReader::ReadState(uint64_t address, const RawStack& raw, JitState* state) {
  std::array<uint8_t, kStateBytes> bytes;
  // A state that has yielded, or has ended with an error, does not run.
  if (IsOverBudget() || address % 8 != 0 || !memory_->Read(address, &bytes) || bytes[kType] != kThreadType ||
      bytes[kStatus] != 0)
    return false;
  *state = {.address = address,
            .global = MemberAt<uint64_t>(bytes, kGlobal),
            .base = MemberAt<uint64_t>(bytes, kBase),
            .stack = MemberAt<uint64_t>(bytes, kStack),
            .last = MemberAt<uint64_t>(bytes, kLast),
            .c_frame = MemberAt<uint64_t>(bytes, kInnermostCFrame) & ~CFrame::kFlags};
  if (state->stack == 0 || state->stack % 8 != 0 || state->last < state->stack ||
      state->last - state->stack > kMostStackBytes || !state->Holds(state->base) ||
      !state->Holds(MemberAt<uint64_t>(bytes, kTop)))
    return false;
  // The interpreter's frame on the thread's stack names the state that it runs.
  uint64_t its_state = 0;
  if (state->c_frame < raw.registers.stack_pointer() || state->c_frame >= raw.end ||
      !ReadStackWord(raw, state->c_frame + kCFrame.state, &its_state) || its_state != address)
    return false;
  // The main state is just before what all states share.
  std::array<uint8_t, kStateBytes> main;
  return state->global % 8 == 0 && state->global > kStateBytes &&
         memory_->Read(state->global - kStateBytes, &main) && main[kType] == kThreadType &&
         MemberAt<uint64_t>(main, kGlobal) == state->global;
}

bool LuaJitReader::ReadFunction(uint64_t value, LuaFunction* function) {
  std::array<uint8_t, kFunctionBytes> bytes;
  function->address = value & kAddressMask;
  function->is_script = function->is_c = false;
  if (function->address % 8 != 0 || !memory_->Read(function->address, &bytes)) return false;
  // An error that is raised without a function has the state's own frame.
  if (bytes[kType] == kThreadType) return true;
  if (bytes[kType] != kFunctionType) return false;
  function->is_script = bytes[kFunctionKind] == kLuaFunction;
  function->is_c = bytes[kFunctionKind] == kCFunction;
  function->c_function = MemberAt<uint64_t>(bytes, kFunctionAddress);
  return !function->is_script ||
         ReadPrototype(memory_, MemberAt<uint64_t>(bytes, kFunctionCode) - kPrototypeBytes,
                       &function->prototype);
}

bool LuaJitReader::FindTop(const JitState& state, const RawStack& raw, Top* top) {
  if (FindTrace(state, top)) return true;
  const Registers& registers = raw.registers;
  uint64_t values[2] = {};  // the function, and the word that its frame begins with
  LuaFunction function;
  // Only from its own code does the interpreter keep these registers; its state's members are old then.
  const bool is_interpreting = registers.stack_pointer() == state.c_frame;
  if (registers.is_known(kCFrame.base_register) && registers.is_known(kCFrame.instruction_register)) {
    const uint64_t base = registers.value[kCFrame.base_register];
    const uint64_t next = registers.value[kCFrame.instruction_register];
    if (state.Holds(base) && base - state.stack >= sizeof values &&
        memory_->Read(base - sizeof values, &values) && ReadFunction(values[0], &function)) {
      const bool is_at_caller = values[1] == next && (next & kKindMask) == kLuaFrame;
      const bool is_running = function.is_script && function.prototype.IndexBefore(next) >= 0;
      if (is_running || (is_at_caller && is_interpreting)) {
        *top = {.base = base,
                .next_instruction = is_running ? next : 0,
                .is_left_out = !is_running && function.is_script,
                .trace = 0};
        return true;
      }
    }
  }
  if (is_interpreting && registers.is_known(kCFrame.base_register)) return false;
  if (!memory_->Read(state.base - sizeof values, &values) || !ReadFunction(values[0], &function))
    return false;
  if (!function.is_script) return true;
  // It has called a function of LuaJIT's, and noted where it goes on; that may be in a register still.
  uint64_t noted = 0;
  if (!ReadStackWord(raw, state.c_frame + kCFrame.next_instruction, &noted)) return false;
  if (registers.is_known(kCFrame.instruction_register) &&
      function.prototype.IndexBefore(registers.value[kCFrame.instruction_register]) >= 0)
    noted = registers.value[kCFrame.instruction_register];
  if (function.prototype.IndexBefore(noted) >= 0) top->next_instruction = noted;
  return true;
}

bool LuaJitReader::FindTrace(const JitState& state, Top* top) {
  if (!memory_->Read(state.global, &global_)) return false;
  const uint64_t main = state.global - kStateBytes;
  uint64_t base = 0;
  int32_t number = -1;
  // Its members are known by what they hold: the number is before the main state, and the base, which is not
  // 0 while compiled code runs, after the state that runs.
  for (size_t at = kWord; at + 2 * kWord <= global_.size(); at += kWord) {
    const auto word = MemberAt<uint64_t>(global_, at);
    if (word == main && number == -1) number = MemberAt<int32_t>(global_, at - kWord);
    const auto next = MemberAt<uint64_t>(global_, at + kWord);
    if (word == state.address && (next == 0 || state.Holds(next))) base = next;
  }
  if (base == 0) return false;
  top->base = base;
  top->trace = 0 < number && number <= UINT16_MAX ? static_cast<uint32_t>(number) : UINT32_MAX;
  return true;
}

uint64_t LuaJitReader::PreviousCFrame(const RawStack& raw, uint64_t c_frame) {
  uint64_t previous = 0;
  return ReadStackWord(raw, c_frame + kCFrame.previous, &previous) ? previous & ~CFrame::kFlags : 0;
}

uint64_t LuaJitReader::InstructionBelowC(const JitState& state, const RawStack& raw, uint64_t frame,
                                         uint64_t* c_frame) {
  for (size_t i = 0; i < kMostStates && *c_frame != 0; ++i) {
    uint64_t results = 0;
    uint64_t instruction = 0;
    if (!ReadStackWord(raw, *c_frame + kCFrame.result_count, &results) ||
        !ReadStackWord(raw, *c_frame + kCFrame.next_instruction, &instruction))
      return 0;
    // A call of LuaJIT's own has no frame on Lua's stack, but says up to where that was filled.
    const auto count = static_cast<int32_t>(results);
    if (count >= 0 || frame >= state.stack + static_cast<uint64_t>(-int64_t{count})) return instruction;
    *c_frame = PreviousCFrame(raw, *c_frame);
  }
  return 0;
}

bool LuaJitReader::ReadFrame(const JitState& state, uint64_t address, Frame* frame) {
  uint64_t words[3];  // a continuation's next instruction, the function, the link
  constexpr uint64_t kBefore = 2 * kWord;
  if (!memory_->Read(address - kBefore, &words) || !ReadFunction(words[1], &frame->function)) return false;
  frame->address = address;
  if ((words[2] & kKindAndProtectedMask) == kVariableFrame) {
    address -= words[2] & ~kKindAndProtectedMask;
    if (address >= frame->address || !IsFrame(state, address) || !memory_->Read(address - kBefore, &words))
      return false;
  }
  frame->link = words[2];
  frame->caller_next = 0;
  if ((frame->link & kKindMask) == kLuaFrame) {
    uint32_t call = 0;
    if (!memory_->Read(frame->link - sizeof call, &call)) return false;
    frame->caller_next = frame->link;
    frame->caller = address - (2 + uint64_t{OperandA(call)}) * kWord;
  } else {
    frame->caller = address - (frame->link & ~kKindAndProtectedMask);
    if ((frame->link & kKindAndProtectedMask) == kContinuationFrame) frame->caller_next = words[0];
  }
  return frame->caller < frame->address && frame->caller >= state.stack;
}

bool LuaJitReader::Walk(const JitState& state, const Top& top, const RawStack& raw,
                        ScriptFunctions* functions, lua::Calls* calls) {
  Frame* frame = &frames_[0];
  Frame* caller = &frames_[1];
  uint64_t next_instruction = top.next_instruction;
  uint64_t c_frame = state.c_frame;
  if (!IsFrame(state, top.base - kWord)) return true;
  if (!ReadFrame(state, top.base - kWord, frame)) return false;
  // The C function that has resumed the state inside of this one.
  if (frame->function.is_c && calls->count != 0 && !calls->is_full())
    calls->Add({.function = 0, .line = 0, .c_function = frame->function.c_function});
  for (bool is_top = true;; is_top = false) {
    if (IsOverBudget()) return false;
    const bool has_caller = IsFrame(state, frame->caller);
    if (has_caller && !ReadFrame(state, frame->caller, caller)) return false;
    if (frame->is_called_by_c()) c_frame = PreviousCFrame(raw, c_frame);
    uint64_t caller_next = frame->caller_next;
    if (has_caller && caller->function.is_script && caller_next == 0)
      caller_next = InstructionBelowC(state, raw, caller->address, &c_frame);
    if (calls->is_full()) {
      calls->is_cut = true;
      return true;
    }
    if (frame->function.is_script && !(is_top && top.is_left_out)) {
      const Prototype& prototype = frame->function.prototype;
      std::string_view name;
      if (prototype.first_line == 0) {
        name = "main chunk";
      } else if (has_caller && caller->function.is_script) {
        const Prototype& calling = caller->function.prototype;
        name = names_.NameOfCallee(memory_, calling, calling.IndexBefore(caller_next));
      }
      const uint64_t function = AddFunction(prototype, name, functions);
      const int32_t index = is_top && top.trace != 0 ? names_.FindLoop(memory_, prototype, top.trace)
                                                     : prototype.IndexBefore(next_instruction);
      calls->Add({.function = function, .line = ReadLine(memory_, prototype, index), .c_function = 0});
    }
    if (!has_caller) return true;
    // Between a function that C has called and the one that has called C.
    if (frame->is_called_by_c() && !calls->is_full())
      calls->Add({.function = 0, .line = 0, .c_function = caller->function.c_function});
    next_instruction = caller_next;
    std::swap(frame, caller);
  }
}

uint64_t LuaJitReader::AddFunction(const Prototype& prototype, std::string_view name,
                                   ScriptFunctions* functions) {
  char source[512];
  char kind = 0;
  const auto address = MemberAt<uint64_t>(prototype.bytes, kSource);
  ReadText(memory_, address, {&kind, 1});
  // The end of a path says more than its beginning, of a text it is the other way round.
  const size_t size = ReadText(memory_, address, source, kind == '@');
  const std::string_view file = files_.NameOf({source, size}, kind == '@');
  return functions->Add({name.empty() ? lua::kNoName : name, file});
}

}  // namespace lagwatch::stack::luajit
