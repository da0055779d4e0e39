// SPDX-License-Identifier: Apache-2.0
// The rules that say which functions are instrumented, whatever instruments them: the run-time patcher,
// probes with patterns, the compiler. docs/tracing.md has the language. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::trace {

enum class RuleKind : uint8_t {
  kFunction,   // `[MODULE!]GLOB`, on a function's names
  kFile,       // on the source file, its path or its name
  kModule,     // on the name of the program's or library's file
  kNamespace,  // on a C++ namespace or class; those inside of it, too
  kPlaces,     // functions of one build by where they begin: ResolveFiles() makes them
};

struct InstrumentRule {
  bool takes = false;  // '+'; else '-'
  RuleKind kind = RuleKind::kFunction;
  std::string module = {};             // of kFunction, a glob; empty: any
  std::string pattern = {};            // of kPlaces the build id, raw
  size_t line = 0;                     // in its file, from 1; 0: it is in none
  std::string text = {};               // the line as it is written
  std::vector<uint64_t> offsets = {};  // of kPlaces, ascending

  // Whether it may mean functions of that module.
  bool MayBeIn(std::string_view module_path) const;
};

// A function that rules are asked about.
struct RuledFunction {
  std::string_view module;       // path of its file
  std::string_view build_id;     // raw; may be empty
  uint64_t offset = 0;           // in the module's own address space
  std::string symbol = {};       // as in the symbol table; empty: unknown
  std::string source_file = {};  // empty: unknown
};

// The last rule that matches decides. A function that none matches is left out if the first rule takes
// ('+'), else taken; so without rules all are.
class InstrumentRules {
 public:
  static constexpr size_t kMaxBytes = 16 << 20;

  // Errors: kInvalid, "line 3, column 5: …".
  static base::Result<InstrumentRules> Parse(std::string_view text);
  // Errors: those of Parse, with the file's name; kNotFound, kIo, kTooLarge.
  static base::Result<InstrumentRules> Read(const std::string& path);
  // The file "instrument.rules" in the folder of `program`; empty if there is none.
  static std::string PathBeside(std::string_view program);

  bool empty() const { return rules_.empty(); }
  const std::vector<InstrumentRule>& rules() const { return rules_; }
  void Add(InstrumentRule rule) { rules_.push_back(std::move(rule)); }
  bool HasFiles() const;

  struct Decision {
    bool is_taken;
    const InstrumentRule* rule;  // that decides; null: none matches
  };
  Decision Decide(const RuledFunction& function) const;
  // Whether some function of the module may be taken.
  bool MayTakeIn(std::string_view module_path) const;
  // As Parse() reads it.
  std::string ToText() const;

 private:
  bool IsTakenByDefault() const { return rules_.empty() || !rules_.front().takes; }

  std::vector<InstrumentRule> rules_;
};

}  // namespace lagwatch::trace
