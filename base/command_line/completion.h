// SPDX-License-Identifier: Apache-2.0
// Completions of a command line in a shell, by the program's own commands and options. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lagwatch::base {

struct Candidate {
  std::string word;
  std::string meaning = {};  // one line; may be empty
};

struct Completion {
  // A kind of words that the shell itself completes besides.
  enum class FromShell : uint8_t { kNothing, kFiles, kDirectories, kPrograms };

  std::vector<Candidate> candidates = {};
  FromShell from_shell = FromShell::kNothing;
};

// The values of an option or an argument that the program alone knows, by its name: "--pid", "PID|NAME".
// `line` is the whole command line.
using ValueSource = std::function<Completion(const std::string& name, const std::vector<std::string>& line)>;

// Those of the last word of `line`, which is without the program's name: all begin with that word. A line may
// have "--option", "=", "value" for "--option=value", as bash has it.
Completion Complete(const CLI::App& app, const std::vector<std::string>& line, const ValueSource& source);

// A line for each candidate, "word\tmeaning", then one for the shell: ":files", ":directories", ":programs".
// packaging/completions has the scripts that read this.
std::string ToText(const Completion& completion);

}  // namespace lagwatch::base
