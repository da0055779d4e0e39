// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/lua/layout.h"

#include <array>

namespace lagwatch::stack::lua {
namespace {

constexpr std::array<Metamethod, 16> kMetamethods5_2 = {{{6, 7, "__index"},
                                                         {8, 8, "__newindex"},
                                                         {10, 10, "__newindex"},
                                                         {12, 12, "__index"},
                                                         {13, 13, "__add"},
                                                         {14, 14, "__sub"},
                                                         {15, 15, "__mul"},
                                                         {16, 16, "__div"},
                                                         {17, 17, "__mod"},
                                                         {18, 18, "__pow"},
                                                         {19, 19, "__unm"},
                                                         {21, 21, "__len"},
                                                         {22, 22, "__concat"},
                                                         {24, 24, "__eq"},
                                                         {25, 25, "__lt"},
                                                         {26, 26, "__le"}}};

constexpr std::array<Metamethod, 23> kMetamethods5_3 = {
    {{6, 7, "__index"}, {8, 8, "__newindex"}, {10, 10, "__newindex"}, {12, 12, "__index"},
     {13, 13, "__add"}, {14, 14, "__sub"},    {15, 15, "__mul"},      {16, 16, "__mod"},
     {17, 17, "__pow"}, {18, 18, "__div"},    {19, 19, "__idiv"},     {20, 20, "__band"},
     {21, 21, "__bor"}, {22, 22, "__bxor"},   {23, 23, "__shl"},      {24, 24, "__shr"},
     {25, 25, "__unm"}, {26, 26, "__bnot"},   {28, 28, "__len"},      {29, 29, "__concat"},
     {31, 31, "__eq"},  {32, 32, "__lt"},     {33, 33, "__le"}}};

constexpr std::array<Metamethod, 14> kMetamethods5_4 = {{{11, 14, "__index"},
                                                         {15, 18, "__newindex"},
                                                         {20, 20, "__index"},
                                                         {46, 48, ""},
                                                         {49, 49, "__unm"},
                                                         {50, 50, "__bnot"},
                                                         {52, 52, "__len"},
                                                         {53, 53, "__concat"},
                                                         {54, 54, "__close"},
                                                         {57, 57, "__eq"},
                                                         {58, 58, "__lt"},
                                                         {59, 59, "__le"},
                                                         {62, 65, "__lt"},
                                                         {70, 70, "__close"}}};
constexpr std::array<std::string_view, 25> kEvents5_4 = {
    "__index", "__newindex", "__gc",  "__mode", "__len",    "__eq",   "__add",  "__sub", "__mul",
    "__mod",   "__pow",      "__div", "__idiv", "__band",   "__bor",  "__bxor", "__shl", "__shr",
    "__unm",   "__bnot",     "__lt",  "__le",   "__concat", "__call", "__close"};

constexpr Instructions k5_1Instructions{.opcode_bits = 6,
                                        .b_shift = 23,
                                        .b_bits = 9,
                                        .c_shift = 14,
                                        .c_bits = 9,
                                        .constant_flag = 256,
                                        .move = 0,
                                        .load_nil = 3,
                                        .get_upvalue = 4,
                                        .get_global = 5,
                                        .get_field_of_upvalue = kNoOpcode,
                                        .get_table = 6,
                                        .get_field = kNoOpcode,
                                        .get_method = 11,
                                        .jump = 22,
                                        .call = 28,
                                        .tail_call = 29,
                                        .call_iterator = 33,
                                        .sets_a = {0x31bc3ffc7f, 0},
                                        .metamethods = {},
                                        .events = {}};

constexpr Instructions Instructions5_2() {
  Instructions instructions = k5_1Instructions;
  instructions.load_nil = 4;
  instructions.get_upvalue = 5;
  instructions.get_global = kNoOpcode;
  instructions.get_field_of_upvalue = 6;
  instructions.get_table = 7;
  instructions.get_method = 12;
  instructions.jump = 23;
  instructions.call = 29;
  instructions.tail_call = 30;
  instructions.call_iterator = 34;
  instructions.sets_a[0] = 0x6b707ff8ff;
  instructions.metamethods = kMetamethods5_2;
  return instructions;
}
constexpr Instructions k5_2Instructions = Instructions5_2();

constexpr Instructions Instructions5_3() {
  Instructions instructions = k5_2Instructions;
  instructions.jump = 30;
  instructions.call = 36;
  instructions.tail_call = 37;
  instructions.call_iterator = 41;
  instructions.sets_a[0] = 0x35b83ffff8ff;
  instructions.metamethods = kMetamethods5_3;
  return instructions;
}
constexpr Instructions k5_3Instructions = Instructions5_3();

constexpr Instructions k5_4Instructions{.opcode_bits = 7,
                                        .b_shift = 16,
                                        .b_bits = 8,
                                        .c_shift = 24,
                                        .c_bits = 8,
                                        .constant_flag = 0,
                                        .move = 0,
                                        .load_nil = 8,
                                        .get_upvalue = 9,
                                        .get_global = kNoOpcode,
                                        .get_field_of_upvalue = 11,
                                        .get_table = kNoOpcode,
                                        .get_field = 14,
                                        .get_method = 20,
                                        .jump = 56,
                                        .call = 68,
                                        .tail_call = 69,
                                        .call_iterator = 76,
                                        .sets_a = {0x3e3ffffff87bff, 0x3a638},
                                        .metamethods = kMetamethods5_4,
                                        .events = kEvents5_4};

constexpr LuaLayout k5_1{.status = 10,
                         .top = 16,
                         .global = 32,
                         .call = 40,
                         .stack = 64,
                         .stack_last = 56,
                         .base_call = 80,
                         .instruction = 48,
                         .protected_call = 168,
                         .main_thread = 176,
                         .call_bytes = 40,
                         .function = 8,
                         .caller = kNone,
                         .call_instruction = 24,
                         .call_status = 36,
                         .call_status_bytes = 4,
                         .is_tail_call = UINT32_MAX,  // the number of tail calls that were made here
                         .is_finalizer = 0,
                         .is_c = 10,
                         .c_function = 32,
                         .prototype = 32,
                         .prototype_type = 9,
                         .constants = 16,
                         .code = 24,
                         .code_count = 80,
                         .lines = 40,
                         .locals = 48,
                         .local_count = 92,
                         .upvalues = 56,
                         .upvalue_bytes = 8,
                         .source = 64,
                         .first_line = 96,
                         .anchors = kNone,
                         .anchor_count = kNone,
                         .has_short_texts = false,
                         .instructions = &k5_1Instructions};

constexpr LuaLayout k5_2{.status = 10,
                         .top = 16,
                         .global = 24,
                         .call = 32,
                         .stack = 56,
                         .stack_last = 48,
                         .base_call = 128,
                         .instruction = kNone,
                         .protected_call = 112,
                         .main_thread = 264,
                         .call_bytes = 80,
                         .function = 0,
                         .caller = 16,
                         .call_instruction = 56,
                         .call_status = 34,
                         .call_status_bytes = 1,
                         .is_tail_call = 1 << 6,
                         .is_finalizer = 0,
                         .is_c = kNone,
                         .c_function = 24,
                         .prototype = 24,
                         .prototype_type = 9,
                         .constants = 16,
                         .code = 24,
                         .code_count = 88,
                         .lines = 40,
                         .locals = 48,
                         .local_count = 100,
                         .upvalues = 56,
                         .upvalue_bytes = 16,
                         .source = 72,
                         .first_line = 104,
                         .anchors = kNone,
                         .anchor_count = kNone,
                         .has_short_texts = false,
                         .instructions = &k5_2Instructions};

constexpr LuaLayout k5_3{.status = 12,
                         .top = 16,
                         .global = 24,
                         .call = 32,
                         .stack = 56,
                         .stack_last = 48,
                         .base_call = 96,
                         .instruction = kNone,
                         .protected_call = 88,
                         .main_thread = 200,
                         .call_bytes = 72,
                         .function = 0,
                         .caller = 16,
                         .call_instruction = 40,
                         .call_status = 66,
                         .call_status_bytes = 2,
                         .is_tail_call = 1 << 5,
                         .is_finalizer = 1 << 8,
                         .is_c = kNone,
                         .c_function = 24,
                         .prototype = 24,
                         .prototype_type = 9,
                         .constants = 48,
                         .code = 56,
                         .code_count = 24,
                         .lines = 72,
                         .locals = 80,
                         .local_count = 36,
                         .upvalues = 88,
                         .upvalue_bytes = 16,
                         .source = 104,
                         .first_line = 40,
                         .anchors = kNone,
                         .anchor_count = kNone,
                         .has_short_texts = true,
                         .instructions = &k5_3Instructions};

// Since 5.4.3.
constexpr LuaLayout Of5_4() {
  LuaLayout layout = k5_3;
  layout.status = 10;
  layout.stack = 48;
  layout.stack_last = 40;
  layout.main_thread = 264;
  layout.call_bytes = 64;
  layout.call_instruction = 32;
  layout.call_status = 62;
  layout.is_finalizer = 1 << 7;
  layout.prototype_type = 10;
  layout.constants = 56;
  layout.code = 64;
  layout.lines = 88;
  layout.locals = 104;
  layout.upvalues = 80;
  layout.source = 112;
  layout.first_line = 44;
  layout.anchors = 96;
  layout.anchor_count = 40;
  layout.instructions = &k5_4Instructions;
  return layout;
}
constexpr LuaLayout k5_4 = Of5_4();

constexpr LuaLayout Of5_4_0() {
  LuaLayout layout = k5_4;
  layout.stack = 56;
  layout.stack_last = 48;
  layout.main_thread = 256;
  return layout;
}
constexpr LuaLayout k5_4_0 = Of5_4_0();

constexpr std::array<const LuaLayout*, 5> kAll = {&k5_1, &k5_2, &k5_3, &k5_4_0, &k5_4};

}  // namespace

// Each version is known by a function that it was the first to have.
const LuaLayout* FindLayout(const ExportedSymbols& exports) {
  const auto has = [&](std::string_view name) { return exports.Find(name) != 0; };
  if (!has("lua_newstate") || has("luaJIT_setmode")) return nullptr;
  if (has("lua_numbertocstring")) return nullptr;  // 5.5
  if (has("lua_closeslot")) return &k5_4;
  if (has("lua_setwarnf")) return &k5_4_0;
  if (has("lua_rotate")) return &k5_3;
  if (has("lua_callk")) return &k5_2;
  return has("lua_cpcall") ? &k5_1 : nullptr;
}

std::span<const LuaLayout* const> AllLayouts() { return kAll; }

}  // namespace lagwatch::stack::lua
