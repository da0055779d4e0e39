// SPDX-License-Identifier: Apache-2.0
#include "bench/clusters/build.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/hash.h"
#include "bench/clusters/mangle.h"

namespace lagwatch::clusters {
namespace {

using faults::Random;

// Names as gdb has them, by those that a library without debug symbols exports.
const std::map<std::string, std::string>& ExportedNames() {
  static const std::map<std::string, std::string> kNames = {
      {"___pthread_mutex_lock", "pthread_mutex_lock"},
      {"___pthread_cond_wait", "pthread_cond_wait"},
      {"__GI___libc_write", "write"},
      {"__GI___libc_read", "read"},
      {"__GI___libc_free", "cfree"},
      {"__GI___libc_malloc", "malloc"},
      {"__GI_fsync", "fsync"},
      {"__GI___clock_nanosleep", "clock_nanosleep"},
      {"__GI___nanosleep", "nanosleep"},
      {"__libc_recv", "recv"},
      {"__GI___poll", "poll"},
      {"__GI_getaddrinfo", "getaddrinfo"},
      {"__GI__IO_fflush", "fflush"},
      {"syscall", "syscall"},
      {"start_thread", ""},
      {"__libc_fork", "fork"},
      {"_Fork", "_Fork"},
      {"dlopen", "dlopen"},
  };
  return kNames;
}

// Names of glibc 2.36, by those of 2.31; an empty one was inlined there.
const std::map<std::string, std::string>& OlderNames() {
  static const std::map<std::string, std::string> kNames = {
      {"futex_wait", ""},
      {"lll_mutex_lock_optimized", ""},
      {"__GI___lll_lock_wait", "__lll_lock_wait"},
      {"___pthread_mutex_lock", "__GI___pthread_mutex_lock"},
      {"__futex_abstimed_wait_common64", ""},
      {"__futex_abstimed_wait_common", "futex_wait_cancelable"},
      {"__GI___futex_abstimed_wait_cancelable64", ""},
      {"___pthread_cond_wait", "__pthread_cond_wait"},
      {"__GI___clock_nanosleep", "__GI___clock_nanosleep_time64"},
      {"__GI___libc_write", "__libc_write"},
      {"__GI___libc_read", "__libc_read"},
      {"__GI_fsync", "__libc_fsync"},
      {"__memcpy_avx512_unaligned_erms", "__memmove_avx_unaligned_erms"},
      {"__memset_avx512_unaligned_erms", "__memset_avx2_erms"},
      {"__memcmp_evex_movbe", "__memcmp_avx2_movbe"},
      {"__memmove_avx512_unaligned_erms", "__memmove_avx_unaligned_erms"},
  };
  return kNames;
}

bool IsMangled(const std::string& symbol) { return symbol.starts_with("_Z") || symbol.starts_with("_R"); }

ClientFrame UnnamedAt(const std::string& module, uint64_t draw) {
  return {module, "", 0x1000 + draw % 0x80000};
}

// A frame of the C library or the compiler's run-time; no module when there is none on this machine.
ClientFrame LibraryFrame(const Build& build, const std::string& symbol) {
  if (symbol == "__restore_rt") return {"libc.so.6", "<signal handler called>"};  // clients call it so
  if (symbol == "??") return UnnamedAt("libgcc_s.so.1", base::HashWord(build.libraries, 1));
  if (symbol.starts_with("_Z")) return {"libstdc++.so.6", symbol};
  if (build.libc == Libc::kOlder) {
    auto older = OlderNames().find(symbol);
    if (older == OlderNames().end()) return {"libc.so.6", symbol};
    return older->second.empty() ? ClientFrame{} : ClientFrame{"libc.so.6", older->second};
  }
  if (build.libc == Libc::kStripped) {
    auto exported = ExportedNames().find(symbol);
    if (exported != ExportedNames().end() && !exported->second.empty())
      return {"libc.so.6", exported->second};
    return UnnamedAt("libc.so.6", base::HashBytes(symbol, base::HashWord(build.libraries, 2)));
  }
  return {"libc.so.6", symbol};
}

}  // namespace

std::vector<Build> AllBuilds() {
  constexpr auto kGcc = Compiler::kGcc;
  constexpr auto kClang = Compiler::kClang;
  return {
      {0, 3, kGcc, true, false, Libc::kStripped, 0, false, 0},
      {1, 3, kGcc, true, false, Libc::kStripped, 1, false, 0},
      {2, 3, kGcc, true, false, Libc::kOlder, 2, false, 1},
      {3, 2, kGcc, true, true, Libc::kNamed, 0, true, 1},
      {4, 3, kClang, true, false, Libc::kNamed, 1, true, 1},
      {5, 2, kClang, true, true, Libc::kStripped, 2, true, 2},
      {6, 1, kGcc, false, false, Libc::kNamed, 0, false, 2},
      {7, 1, kClang, false, false, Libc::kOlder, 1, true, 2},
  };
}

uint64_t Renderer::Draw(const std::string& what) const {
  return Random(base::HashBytes(program_ + "/" + what, base::HashWord(build_.number, seed_))).Next();
}

bool Renderer::IsInlined(const Function& function) const {
  bool is_here = function.module.empty() && function.lambda == 0 && function.depth == 1 &&
                 !function.name.ends_with(".actor");
  if (!build_.is_optimized || !is_here) return false;
  return Draw("inline " + function.name) % 1000 < (function.is_small ? 600 : 15);
}

std::string Renderer::CloneSuffix(const std::string& symbol) const {
  if (!build_.is_optimized) return "";
  uint64_t draw = Draw("clone " + symbol) % 100;
  if (build_.compiler == Compiler::kClang) {
    bool is_promoted = build_.is_link_time_optimized && draw < 30;
    return is_promoted ? ".llvm." + std::to_string(Draw("llvm " + symbol)) : "";
  }
  if (build_.is_link_time_optimized && draw >= 80) return ".lto_priv.0";
  if (draw < 12) return ".isra.0";
  if (draw < 20) return ".constprop.0";
  if (draw < 24) return ".part.0";
  return draw < 26 ? ".cold" : "";
}

ClientFrame Renderer::Own(const std::string& symbol) const {
  return {program_, symbol + CloneSuffix(symbol)};
}

std::string Renderer::FunctionSymbol(const Function& function) const {
  std::string name = function.name;
  if (function.is_rust) return MangleRust(name, Draw("rust " + name), build_.has_v0);
  std::string suffix;
  if (size_t actor = name.rfind(".actor"); actor != std::string::npos) {
    suffix = build_.compiler == Compiler::kGcc ? ".actor" : ".resume";
    name.resize(actor);
  }
  if (name.ends_with("<T>")) return MangleCpp(name.substr(0, name.size() - 3), argument_);
  bool is_c = name.find("::") == std::string::npos && name.front() >= 'a';
  return is_c ? name : MangleCpp(name) + suffix;
}

void Renderer::AppendLambda(const Function& function, ClientStack* outermost_first) const {
  LambdaSymbols symbols = MangleLambda(function.name, function.lambda + build_.lambda_shift, build_.compiler);
  if (!build_.is_optimized) outermost_first->push_back({program_, symbols.function});
  outermost_first->push_back({program_, symbols.handler});
  if (!build_.is_optimized) outermost_first->push_back({program_, symbols.invoke});
  bool has_call = !build_.is_optimized || Draw("call " + symbols.call) % 100 < 30;
  if (has_call) outermost_first->push_back(Own(symbols.call));
}

void Renderer::AppendFunction(const Function& function, Random* random, ClientStack* outermost_first) const {
  // A library calls through a pointer.
  const bool has_own_caller = !outermost_first->empty() && outermost_first->back().module == program_;
  if (has_own_caller && IsInlined(function)) {
    auto& inlined = outermost_first->back().inlined;
    inlined.insert(inlined.begin(), FunctionSymbol(function));
    return;
  }
  if (function.name.front() == '@') {
    // Other people's libraries change less often than the program.
    uint64_t version =
        static_cast<uint64_t>(function.module == "libreverb.so" ? build_.number / 4 : build_.libraries);
    outermost_first->push_back(UnnamedAt(
        function.module, base::HashBytes(function.module + function.name, base::HashWord(version, 3))));
    return;
  }
  if (function.lambda != 0) return AppendLambda(function, outermost_first);
  if (function.module == "libc.so.6") {
    ClientFrame frame = LibraryFrame(build_, function.name);
    if (!frame.module.empty()) outermost_first->push_back(frame);
    return;
  }
  int64_t depth = function.depth == 1 ? 1 : random->Between(1, function.depth);
  for (int64_t i = 0; i < depth; ++i) {
    std::string symbol = FunctionSymbol(function);
    outermost_first->push_back(function.module.empty() ? Own(symbol) : ClientFrame{function.module, symbol});
  }
}

void Renderer::AppendTail(const std::string& library, bool is_rust, Random* random,
                          ClientStack* outermost_first) const {
  std::string flavour = build_.compiler == Compiler::kGcc ? "gcc" : "clang";
  flavour += build_.is_optimized ? "-O2" : "-O0";
  if (is_rust) flavour = !build_.is_optimized ? "rust-debug" : build_.has_v0 ? "rust-v0" : "rust-legacy";
  const auto& tails = tails_.Of(library, flavour);
  const Tails::Symbols& tail = tails[random->Below(tails.size())];
  for (auto symbol = tail.rbegin(); symbol != tail.rend(); ++symbol) {
    ClientFrame frame = LibraryFrame(build_, *symbol);
    if (!frame.module.empty())
      outermost_first->push_back(IsMangled(*symbol) ? ClientFrame{program_, *symbol} : frame);
  }
}

ClientStack Renderer::Sample(const Place& place, size_t path, Random* random) const {
  ClientStack stack;
  const Path& functions = place.paths[path];
  for (const Function& function : functions) AppendFunction(function, random, &stack);
  int total = 0;
  for (const Ending& ending : place.endings) total += ending.weight;
  int64_t draw = total == 0 ? 0 : random->Between(0, total - 1);
  for (const Ending& ending : place.endings) {
    draw -= ending.weight;
    if (draw >= 0) continue;
    for (const Function& function : ending.path) AppendFunction(function, random, &stack);
    if (!ending.library.empty()) AppendTail(ending.library, functions.back().is_rust, random, &stack);
    break;
  }
  std::reverse(stack.begin(), stack.end());
  return stack;
}

}  // namespace lagwatch::clusters
