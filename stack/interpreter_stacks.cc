// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreter_stacks.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "stack/code_map.h"
#include "stack/interpreters/exported_symbols.h"

namespace lagwatch::stack {
namespace {

// The N of "python3.N" in a file's name; 0 if it has none.
int MinorVersionOf(std::string_view path) {
  constexpr std::string_view kName = "python3.";
  const size_t at = path.rfind(kName);
  if (at == path.npos) return 0;
  int minor = 0;
  for (char digit : path.substr(at + kName.size(), 2)) {
    if (digit < '0' || digit > '9') break;
    minor = 10 * minor + (digit - '0');
  }
  return minor;
}

}  // namespace

void InterpreterStacks::AddTo(int tid, CodeMap* code, Stack* stack) {
  LookAtNewModules(code);
  if (next_ != nullptr) next_->AddTo(tid, code, stack);
  if (python_ == nullptr) return;
  const auto is_in_python = [&](const Frame& frame) { return frame.module == python_[0].place.module; };
  if (std::ranges::none_of(stack->view(), is_in_python)) return;
  if (python_[0].reader.Read(tid, &code->script_functions(), &python_[0].frames))
    python::Splice(python_[0].place, python_[0].frames, stack);
}

void InterpreterStacks::LookAtNewModules(CodeMap* code) {
  for (const uint32_t count = code->module_count(); seen_modules_ < count; ++seen_modules_) {
    const Module module = code->CopyModule(seen_modules_);
    if (module.is_language || module.is_own || python_ != nullptr) continue;
    const ExportedSymbols exports(&memory_, module.base, module.load_bias);
    const uint64_t evaluation = exports.Find("_PyEval_EvalFrameDefault");
    if (evaluation == 0) continue;
    auto python = base::MapBlock<Python>(1);
    if (python == nullptr) continue;
    const int minor = MinorVersionOf(module.path_view());
    if (!python[0].reader.Attach(&memory_, python::Reader::Symbols::Of(exports), minor)) {
      NotePython(python[0].reader.version(), minor);
      continue;
    }
    python[0].place = {seen_modules_, evaluation - module.load_bias, code->AddLanguage("[python]")};
    if (python[0].place.language != kNoModule) python_ = std::move(python);
  }
}

// `version` as Py_Version has it, 0 where it is missing.
void InterpreterStacks::NotePython(uint32_t version, int minor_hint) {
  const uint32_t minor = version != 0 ? version >> 16 & 0xff : static_cast<uint32_t>(minor_hint);
  std::snprintf(unreadable_, sizeof unreadable_, minor == 0 ? "python" : "python 3.%u", minor);
}

}  // namespace lagwatch::stack
