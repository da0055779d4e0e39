// SPDX-License-Identifier: Apache-2.0
// The functions of a running process, by the symbol tables of the files that it has loaded. Context:
// background. Not thread-safe. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "collector/symbols/files/symbol_source.h"
#include "trace/instrument/rules/function_names.h"
#include "trace/instrument/rules/instrument_rules.h"

namespace lagwatch::tools {

struct ModuleFunction {
  uint64_t offset = 0;  // in the file's own address space
  uint64_t size = 0;
  std::string name;  // as in the symbol table, without its version
  bool is_global = false;
  bool is_chosen_at_load = false;  // an indirect function: its address is that of the code that chooses
};

// A file with code, as the process has loaded it.
class ProcessModule {
 public:
  ProcessModule(pid_t pid, std::string path, uint64_t bias);

  const std::string& path() const { return path_; }            // as the process has it
  const std::string& seen_path() const { return seen_path_; }  // as this one finds it
  std::string_view file_name() const { return std::string_view(path_).substr(path_.rfind('/') + 1); }
  const std::string& build_id() const { return build_id_; }  // raw; empty: it has none
  uint64_t bias() const { return bias_; }
  // Whether a script's pattern means this file, or the name under which it was started as a program.
  bool IsCalled(const std::string& pattern) const {
    return trace::MatchesModule(pattern, file_name()) ||
           (!command_.empty() && trace::MatchesModule(pattern, command_));
  }
  // The name under which it was started, as through a link; the file's, if the kernel has cut that off.
  std::string_view shown_name() const {
    return command_.empty() || file_name().starts_with(command_) ? file_name() : command_;
  }
  // Its debug file: its own file if that has debug information, a separate one of this machine, or one of the
  // servers that it may ask. None: there is no such file.
  base::OwnedFd OpenDebugFile() const;
  // `servers`: borrowed, or null.
  void AskServers(collector::SymbolSource* servers);
  bool asks_servers() const { return servers_ != nullptr; }
  void SetCommand(std::string command) { command_ = std::move(command); }
  // Of one address the best name comes first. By offset; read at the first call.
  const std::vector<ModuleFunction>& functions();
  // The function around an offset; null if there is none.
  const ModuleFunction* At(uint64_t offset);

 private:
  void Read();

  std::string path_;
  std::string seen_path_;
  std::string build_id_;
  uint64_t bias_;
  std::string command_;  // of the program's own file
  collector::SymbolSource* servers_ = nullptr;
  bool is_read_ = false;
  std::vector<ModuleFunction> functions_;
};

class ProcessFunctions {
 public:
  // Of the files that it has loaded by now. Errors: kNotFound if the process has ended.
  static base::Result<ProcessFunctions> Of(pid_t pid);

  // The program's own file is the first; then in the order of their addresses. lagwatch's own are not among
  // them.
  std::list<ProcessModule>& modules() { return modules_; }
  // "dictFind", "malloc (libc.so.6)" for a library's, or "0x7f…" if nothing is known of the address. Other
  // addresses than those of functions are taken for those that calls return to; `has_offset`: with their
  // place, as in "dictFind+0x1b".
  std::string NameOf(uint64_t address, bool has_offset);
  // Functions that these leave out are in no pattern. None to begin with.
  void SetRules(trace::InstrumentRules rules) { rules_ = std::move(rules); }
  const trace::InstrumentRules& rules() const { return rules_; }
  // Has these be asked for debug files: those of the program's own file, and of the modules that a script
  // names (AskServersFor()), since all of a process's are large. `servers` are borrowed.
  void SetServers(collector::SymbolSource* servers);
  void AskServersFor(const std::string& module_pattern);
  // Again, once the process has loaded other files.
  void Refresh();

 private:
  explicit ProcessFunctions(pid_t pid) : pid_(pid) {}

  struct Range {
    uint64_t begin;
    uint64_t end;
    ProcessModule* module;
  };

  pid_t pid_;
  std::list<ProcessModule> modules_;
  std::vector<Range> code_;  // by address
  trace::InstrumentRules rules_;
  collector::SymbolSource* servers_ = nullptr;
};

}  // namespace lagwatch::tools
