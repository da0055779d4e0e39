// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/lua/lua_code.h"

#include <string_view>

namespace lagwatch::stack::lua {
namespace {

// Functions that may have Lua call one: as asked, as a metamethod, or as a finalizer.
constexpr std::array<std::string_view, 35> kEntries = {
    "lua_call",        "lua_pcall",      "lua_cpcall",      "lua_callk",        "lua_pcallk",
    "lua_resume",      "lua_gettable",   "lua_getfield",    "lua_geti",         "lua_getglobal",
    "lua_settable",    "lua_setfield",   "lua_seti",        "lua_setglobal",    "lua_concat",
    "lua_equal",       "lua_lessthan",   "lua_compare",     "lua_arith",        "lua_len",
    "lua_gc",          "lua_close",      "lua_closeslot",   "lua_resetthread",  "lua_toclose",
    "lua_settop",      "lua_load",       "lua_newuserdata", "lua_createtable",  "lua_newuserdatauv",
    "lua_pushlstring", "lua_pushstring", "lua_pushfstring", "lua_pushcclosure", "lua_newthread"};
static_assert(kEntries.size() <= LuaCode::kMostEntries);

// Functions of Lua's other files. The entries are in the first one as most programs link them.
constexpr std::array<std::string_view, 17> kOthers = {
    "lua_newstate",     "luaL_newstate",    "luaL_error",   "luaL_ref",      "luaL_loadbuffer",
    "luaL_loadbufferx", "luaL_openlibs",    "luaopen_base", "luaopen_table", "luaopen_string",
    "luaopen_math",     "luaopen_debug",    "luaopen_os",   "luaopen_io",    "luaopen_utf8",
    "luaopen_package",  "luaopen_coroutine"};

// Larger than Lua is: then the program's functions are among Lua's.
constexpr uint64_t kMostCodeBytes = 1 << 20;
// Of static functions before the first exported one.
constexpr uint64_t kBytesBefore = 512;

bool IsOnlyLua(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("lua") || file.starts_with("liblua");
}

bool IsC(const Call& call) { return call.function == 0; }

// A stack's frames in the making, from the outermost one on.
class FrameWriter {
 public:
  FrameWriter(const LuaCode& place, const Calls& calls) : place_(place), calls_(calls), left_(calls.count) {}

  void Add(const Frame& frame) { written_[count_++] = frame; }
  // The functions that a call into Lua runs: those up to the next one written in C.
  void AddRun() {
    while (left_ != 0 && !IsC(next())) AddNext();
    if (left_ != 0) --left_;
  }
  void AddRest() {
    while (left_ != 0) AddNext();
  }
  // Returns whether some did not fit: the innermost ones are kept.
  bool CopyTo(Stack* stack) const {
    const size_t count = std::min(count_, kMaxFrames);
    std::reverse_copy(written_.begin() + static_cast<ptrdiff_t>(count_ - count),
                      written_.begin() + static_cast<ptrdiff_t>(count_), stack->frames);
    stack->frame_count = static_cast<uint32_t>(count);
    return count < count_;
  }

 private:
  const Call& next() const { return calls_.calls[left_ - 1]; }
  void AddNext() {
    const Call& call = next();
    --left_;
    if (!IsC(call)) Add({place_.language, call.function + call.line, call.function});
  }

  const LuaCode& place_;
  const Calls& calls_;
  size_t left_;
  size_t count_ = 0;
  std::array<Frame, kMaxFrames + ScriptFrames::kMost> written_;
};

}  // namespace

LuaCode LuaCode::Of(uint32_t index, const Module& module, const ExportedSymbols& exports) {
  LuaCode place{.module = index,
                .language = kNoModule,
                .is_only_lua = IsOnlyLua(module.path_view()),
                .begin = UINT64_MAX,
                .end = 0,
                .entry_count = 0,
                .entries = {}};
  const auto note = [&](uint64_t offset) {
    place.begin = std::min(place.begin, offset - kBytesBefore);
    place.end = std::max(place.end, offset + 1);
  };
  for (std::string_view name : kEntries) {
    const uint64_t address = exports.Find(name);
    if (address == 0) continue;
    place.entries[place.entry_count++] = address - module.load_bias;
    note(address - module.load_bias);
  }
  for (std::string_view name : kOthers) {
    if (const uint64_t address = exports.Find(name)) note(address - module.load_bias);
  }
  if (place.begin > place.end || place.end - place.begin > kMostCodeBytes) place.begin = place.end = 0;
  return place;
}

void Splice(const LuaCode& place, const Calls& calls, Stack* stack) {
  if (calls.script_count == 0) return;
  const auto native = stack->view();
  const auto is_entry = [&](const Frame& frame) { return place.IsEntry(frame); };
  const auto innermost_entry = std::ranges::find_if(native, is_entry);
  FrameWriter writer(place, calls);
  if (innermost_entry == native.end()) writer.AddRest();
  for (auto frame = native.rbegin(); frame != native.rend(); ++frame) {
    if (is_entry(*frame)) {
      if (&*frame == &*innermost_entry) {
        writer.AddRest();
      } else {
        writer.AddRun();
      }
    }
    if (!place.IsInterpreter(*frame)) writer.Add(*frame);
  }
  const bool is_cut = writer.CopyTo(stack);
  // Lua's own calls say how the stack goes on where the native one does not.
  if (stack->completeness == Completeness::kIncomplete && !calls.is_cut)
    stack->completeness = Completeness::kComplete;
  if (is_cut || calls.is_cut) stack->completeness = Completeness::kCut;
  stack->gap_at = 0;
  stack->gap_frame_count = 0;
}

}  // namespace lagwatch::stack::lua
