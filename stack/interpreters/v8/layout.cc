// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/v8/layout.h"

#include <initializer_list>
#include <string_view>

namespace lagwatch::stack::v8 {
namespace {

constexpr int32_t kNone = INT32_MIN;

// The constants of a process's V8.
class Constants {
 public:
  Constants(Memory* memory, const ExportedSymbols& exports) : memory_(memory), exports_(exports) {}

  // The first one of `names`, without "v8dbg_", that is there; else `otherwise`, which, when it is kNone,
  // makes the constants incomplete.
  int32_t Read(std::initializer_list<const char*> names, int32_t otherwise = kNone) {
    for (const char* name : names) {
      int32_t value = 0;
      if (ReadSymbol("v8dbg_", name, &value)) return value;
    }
    if (otherwise == kNone) is_complete_ = false;
    return otherwise;
  }
  bool ReadSymbol(std::string_view prefix, std::string_view name, int32_t* value) {
    char whole[128];
    if (prefix.size() + name.size() > sizeof whole) return false;
    prefix.copy(whole, prefix.size());
    name.copy(whole + prefix.size(), name.size());
    const uint64_t address = exports_.Find({whole, prefix.size() + name.size()});
    return address != 0 && memory_->Read(address, value);
  }
  bool is_complete() const { return is_complete_; }

 private:
  Memory* memory_;
  const ExportedSymbols& exports_;
  bool is_complete_ = true;
};

// Members that no version exports.
struct Unexported {
  int32_t position_table;
  int32_t function_data;
  int32_t builtin_id;
  int32_t scope_variables;
  int32_t function_code;
  int32_t code_deoptimization;
  int32_t code_positions;
  int32_t code_start;
  int32_t code_size;
};

bool FindUnexported(const Version& version, Unexported* members) {
  switch (version.major) {
    case 10:
      *members = {.position_table = 32,
                  .function_data = 8,
                  .builtin_id = 8,
                  .scope_variables = 3,
                  .function_code = 48,
                  .code_deoptimization = 16,
                  .code_positions = 24,
                  .code_start = 128,
                  .code_size = 40};
      return true;
    case 11:
      *members = {.position_table = 32,
                  .function_data = 8,
                  .builtin_id = 8,
                  .scope_variables = 3,
                  .function_code = 48,
                  .code_deoptimization = 16,
                  .code_positions = 24,
                  .code_start = 40,
                  .code_size = 56};
      return true;
    case 12:
      *members = {.position_table = 24,
                  .function_data = 8,
                  .builtin_id = 8,
                  .scope_variables = 3,
                  .function_code = 24,
                  .code_deoptimization = 8,
                  .code_positions = 16,
                  .code_start = 40,
                  .code_size = 52};
      return true;
    case 13:
      *members = {.position_table = 24,
                  .function_data = 8,
                  .builtin_id = 16,
                  .scope_variables = 5,
                  .function_code = -1,
                  .code_deoptimization = 8,
                  .code_positions = 16,
                  .code_start = 40,
                  .code_size = 56};
      return true;
    default:
      return false;
  }
}

void ReadFrames(Constants* constants, V8Layout* layout) {
  layout->context_or_type = constants->Read({"off_fp_context_or_frame_type"});
  layout->function = constants->Read({"off_fp_function"});
  layout->bytecode_array = constants->Read({"off_fp_bytecode_array"});
  layout->bytecode_offset = constants->Read({"off_fp_bytecode_offset"});
  // V8 numbers these as DWARF does.
  layout->bytecode_array_register = constants->Read({"InterpreterBytecodeArrayRegister"}, -1);
  layout->bytecode_offset_register = constants->Read({"InterpreterBytecodeOffsetRegister"}, -1);
  layout->entry_frame = constants->Read({"frametype_EntryFrame"});
  layout->construct_entry_frame = constants->Read({"frametype_ConstructEntryFrame"});
  layout->exit_frame = constants->Read({"frametype_ExitFrame"});
  layout->builtin_exit_frame = constants->Read({"frametype_BuiltinExitFrame"});
  layout->callback_exit_frame = constants->Read({"frametype_ApiCallbackExitFrame"}, -1);
  layout->accessor_exit_frame = constants->Read({"frametype_ApiAccessorExitFrame"}, -1);
}

void ReadFunctions(Constants* constants, const Unexported& unexported, V8Layout* layout) {
  layout->instance_type = constants->Read({"class_Map__instance_type__uint16_t"});
  layout->shared = constants->Read({"class_JSFunction__shared__SharedFunctionInfo",
                                    "class_JSFunction__shared__Tagged_SharedFunctionInfo_"});
  layout->name_or_scope =
      constants->Read({"class_SharedFunctionInfo__name_or_scope_info__Object",
                       "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
                       "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"});
  layout->script = constants->Read({"class_SharedFunctionInfo__script_or_debug_info__HeapObject",
                                    "class_SharedFunctionInfo__script__Tagged_HeapObject_",
                                    "class_SharedFunctionInfo__raw_script__Tagged_Object_"});
  layout->function_data = unexported.function_data;
  layout->builtin_id = unexported.builtin_id;
  layout->function_flags = constants->Read({"class_SharedFunctionInfo__flags__int"});
  layout->script_source = constants->Read({"class_Script__source__Object"}, 8);
  layout->script_name = constants->Read({"class_Script__name__Object"}, 16);
  layout->script_line_offset = 24;
  layout->bytecodes = constants->Read({"class_BytecodeArray__data__uintptr_t"});
  layout->position_table = unexported.position_table;
  layout->scope_variables = constants->Read({"scopeinfo_idx_first_vars"}, unexported.scope_variables);
  layout->scope_local_count = constants->Read({"scopeinfo_idx_ncontextlocals"}, 2);
}

void ReadStrings(Constants* constants, V8Layout* layout) {
  layout->string_length = constants->Read({"class_String__length__int32_t"}, 12);
  layout->string_characters = constants->Read({"class_SeqOneByteString__chars__char"}, 16);
  layout->external_data = 24;
  layout->cons_first = constants->Read({"class_ConsString__first__String"}, 16);
  layout->cons_second = constants->Read({"class_ConsString__second__String"}, 24);
  layout->sliced_parent = constants->Read({"class_SlicedString__parent__String"}, 16);
  layout->sliced_offset = constants->Read({"class_SlicedString__offset__SMI"}, 24);
  layout->thin_actual = constants->Read({"class_ThinString__actual__String"}, 16);
}

void ReadTypes(Constants* constants, V8Layout* layout) {
  layout->function_type = constants->Read({"type_JSFunction__JS_FUNCTION_TYPE"});
  layout->shared_type = constants->Read({"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"});
  layout->scope_type = constants->Read({"type_ScopeInfo__SCOPE_INFO_TYPE"});
  layout->script_type = constants->Read({"type_Script__SCRIPT_TYPE"});
  layout->debug_info_type = constants->Read({"type_DebugInfo__DEBUG_INFO_TYPE"}, -1);
  layout->bytecode_array_type = constants->Read({"type_BytecodeArray__BYTECODE_ARRAY_TYPE"});
  layout->byte_array_type = constants->Read({"type_ByteArray__BYTE_ARRAY_TYPE"});
  layout->trusted_byte_array_type = constants->Read({"type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"}, -1);
  layout->code_type = constants->Read({"type_Code__CODE_TYPE"});
  layout->map_type = constants->Read({"type_Map__MAP_TYPE"});
  layout->stream_type = constants->Read({"type_InstructionStream__INSTRUCTION_STREAM_TYPE"}, -1);
}

void ReadCode(Constants* constants, const Version& version, const Unexported& unexported, V8Layout* layout) {
  layout->function_code = unexported.function_code;
  layout->code_holds_instructions = version.major <= 10;
  layout->code_deoptimization = unexported.code_deoptimization;
  layout->code_positions = unexported.code_positions;
  layout->code_start =
      constants->Read({"class_Code__instruction_start__Address", "class_Code__instruction_start__uintptr_t"},
                      unexported.code_start);
  layout->code_size = constants->Read({"class_Code__instruction_size__int"}, unexported.code_size);
  layout->code_of_stream = 8;
  layout->literals = constants->Read({"DeoptimizationDataLiteralArrayIndex"}, 2);
  layout->inlinings = constants->Read({"DeoptimizationDataInliningPositionsIndex"}, 7);
}

// A wrong offset leads to nothing that passes for an object, but a huge one is not read at all.
bool IsPlausible(const V8Layout& layout) {
  constexpr int32_t kMost = 256;
  for (int32_t offset :
       {layout.context_or_type, layout.function, layout.bytecode_array, layout.bytecode_offset})
    if (offset >= 0 || offset < -kMost || offset % 8 != 0) return false;
  for (int32_t offset :
       {layout.instance_type, layout.shared, layout.name_or_scope, layout.script, layout.function_flags,
        layout.script_source, layout.script_name, layout.bytecodes, layout.string_length,
        layout.string_characters, layout.cons_first, layout.cons_second, layout.sliced_parent,
        layout.sliced_offset, layout.thin_actual, layout.scope_variables, layout.scope_local_count})
    if (offset < 0 || offset > kMost) return false;
  return true;
}

}  // namespace

bool IsExitFrame(const V8Layout& layout, int32_t number) {
  return number == layout.exit_frame || number == layout.builtin_exit_frame ||
         number == layout.callback_exit_frame || number == layout.accessor_exit_frame;
}

bool IsV8(const ExportedSymbols& exports) { return exports.Find("v8dbg_off_fp_context_or_frame_type") != 0; }

bool FindLayout(Memory* memory, const ExportedSymbols& exports, Version* version, V8Layout* layout) {
  Constants constants(memory, exports);
  constexpr int32_t kUncompressed = 31;  // bits that a small integer is shifted by, less one
  constants.ReadSymbol("_ZN2v88internal7Version6", "major_E", &version->major);
  constants.ReadSymbol("_ZN2v88internal7Version6", "minor_E", &version->minor);
  Unexported unexported;
  if (!FindUnexported(*version, &unexported)) return false;
  if (constants.Read({"SmiShiftSize"}, kUncompressed) != kUncompressed) return false;
  ReadFrames(&constants, layout);
  ReadFunctions(&constants, unexported, layout);
  ReadStrings(&constants, layout);
  ReadTypes(&constants, layout);
  ReadCode(&constants, *version, unexported, layout);
  return constants.is_complete() && IsPlausible(*layout);
}

}  // namespace lagwatch::stack::v8
