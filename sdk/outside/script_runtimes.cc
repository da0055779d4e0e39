// SPDX-License-Identifier: Apache-2.0
#include "sdk/outside/script_runtimes.h"

#include <cstdint>
#include <set>
#include <string_view>

#include "stack/code_map.h"
#include "stack/interpreters/all/interpreter_stacks.h"

namespace lagwatch::sdk {

ScriptRuntimes FindScriptRuntimes(const base::Process& process) {
  const auto created = stack::CodeMap::Create();
  if (!created.ok()) return {};
  stack::CodeMap& code = **created;
  code.LookAt(process);
  code.Refresh();
  stack::InterpreterStacks scripts(process);
  scripts.LookAtNewModules(&code);
  std::set<std::string> readable;
  for (uint32_t i = 0; i < code.module_count(); ++i) {
    const stack::Module module = code.CopyModule(i);
    const std::string_view name = module.path_view();  // "[python]"
    if (module.is_language && name.size() > 2) readable.emplace(name.substr(1, name.size() - 2));
  }
  return {.readable = {readable.begin(), readable.end()}, .unreadable = scripts.unreadable()};
}

}  // namespace lagwatch::sdk
