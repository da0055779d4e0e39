// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreter_stacks.h"

#include <algorithm>
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
    if (python == nullptr || !python[0].reader.Attach(&memory_, exports, MinorVersionOf(module.path_view())))
      continue;
    python[0].place = {seen_modules_, evaluation - module.load_bias, code->AddLanguage("[python]")};
    if (python[0].place.language != kNoModule) python_ = std::move(python);
  }
}

}  // namespace lagwatch::stack
