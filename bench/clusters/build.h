// SPDX-License-Identifier: Apache-2.0
// A program as one compiler built it and one machine's libraries run it: the symbols of its functions, as far
// as there are any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/clusters/causes.h"
#include "tests/faults/random.h"

namespace lagwatch::clusters {

// A frame as a client sees it: a symbol of the symbol table, or a place alone.
struct ClientFrame {
  std::string module;
  std::string symbol;  // empty when the module has none there
  uint64_t offset = 0;
  std::vector<std::string> inlined = {};  // symbols of the functions inlined there, innermost first

  bool operator==(const ClientFrame&) const = default;
};
using ClientStack = std::vector<ClientFrame>;  // innermost first

enum class Compiler { kGcc, kClang };
// The C library: with debug symbols, an older one with debug symbols, one with exported names only.
enum class Libc { kNamed, kOlder, kStripped };

struct Build {
  int number = 0;
  int users = 1;  // share of reports
  Compiler compiler = Compiler::kGcc;
  bool is_optimized = true;
  bool is_link_time_optimized = false;
  Libc libc = Libc::kNamed;
  int libraries = 0;     // which versions of other people's libraries
  bool has_v0 = false;   // Rust's newer mangling
  int lambda_shift = 0;  // lambdas that this version has before those of the others
};

std::vector<Build> AllBuilds();

// Renders functions as frames of one build. Parts that depend on the build alone are the same each time.
class Renderer {
 public:
  // Borrows `build` and `tails`. `argument`, mangled, is what templates are instantiated with.
  Renderer(const Build& build, std::string program, std::string argument, uint64_t seed, const Tails& tails)
      : build_(build),
        program_(std::move(program)),
        argument_(std::move(argument)),
        seed_(seed),
        tails_(tails) {}

  // A sample of a thread at one of the place's endings, on its path number `path`.
  ClientStack Sample(const Place& place, size_t path, faults::Random* random) const;

 private:
  bool IsInlined(const Function& function) const;
  std::string CloneSuffix(const std::string& symbol) const;
  uint64_t Draw(const std::string& what) const;
  std::string FunctionSymbol(const Function& function) const;
  ClientFrame Own(const std::string& symbol) const;
  void AppendFunction(const Function& function, faults::Random* random, ClientStack* outermost_first) const;
  void AppendLambda(const Function& function, ClientStack* outermost_first) const;
  void AppendTail(const std::string& library, bool is_rust, faults::Random* random,
                  ClientStack* outermost_first) const;

  const Build& build_;
  std::string program_;
  std::string argument_;
  uint64_t seed_;
  const Tails& tails_;
};

}  // namespace lagwatch::clusters
