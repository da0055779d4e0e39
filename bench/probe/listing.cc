// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program: when that ends, prints which functions of the module
// LAGWATCH_LIST can be probed, as one line of JSON.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stack/elf/elf_file.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::bench {
namespace {

// The addresses of functions that the file has symbols for, without the load bias.
std::set<uint64_t> SymbolsOf(const std::string& path) {
  std::set<uint64_t> functions;
  const auto file = stack::ElfFile::Open(path);
  if (!file) return functions;
  for (const uint32_t type : {uint32_t{SHT_SYMTAB}, uint32_t{SHT_DYNSYM}}) {
    const auto section = file->ReadSection(type);
    const auto names = section ? file->ReadSectionAt(section->link) : std::nullopt;
    if (!names) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(section->bytes.data());
    for (size_t i = 0; i < section->bytes.size() / sizeof *symbols; ++i) {
      const Elf64_Sym& symbol = symbols[i];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      // Parts that the compiler put elsewhere are no functions.
      if (std::string_view(names->bytes.c_str() + symbol.st_name).find(".cold") != std::string_view::npos)
        continue;
      functions.insert(symbol.st_value);
    }
  }
  return functions;
}

void Print(const char* pattern) {
  auto* prober = new trace::FunctionProber;
  const auto listed = prober->List({.allow_modules = {pattern}}, true);
  if (listed.empty()) return;
  Dl_info info{};
  link_map* map = nullptr;
  dladdr1(reinterpret_cast<void*>(listed.front().function), &info, reinterpret_cast<void**>(&map),
          RTLD_DL_LINKMAP);
  const uint64_t load_bias = map == nullptr ? 0 : map->l_addr;
  std::vector<uint64_t> functions;
  for (const uint64_t function : SymbolsOf(listed.front().module)) functions.push_back(load_bias + function);
  std::map<std::string, int> answers;
  int probeable = 0;
  for (const trace::ProbeResult& result : prober->Examine(functions, true)) {
    const bool is_probeable = result.reason == trace::ProbeReason::kNone;
    probeable += is_probeable ? 1 : 0;
    ++answers[std::string(is_probeable ? trace::ProbeTierText(result.tier)
                                       : trace::ProbeReasonText(result.reason))];
  }
  std::printf("{\"functions\": %zu, \"probeable_pct\": %.2f", functions.size(),
              100.0 * probeable / static_cast<double>(functions.size()));
  for (const auto& [answer, count] : answers) std::printf(", \"%s\": %d", answer.c_str(), count);
  std::printf("}\n");
  std::fflush(stdout);
}

struct Totals {
  uint64_t functions = 0;
  uint64_t armed = 0;
  uint64_t entries = 0;
  uint64_t returns = 0;
  uint64_t exceptions = 0;
};
Totals g_totals;
trace::FunctionProber* g_prober = nullptr;
pid_t g_probed_process = 0;

#define GENERAL_ONLY __attribute__((target("general-regs-only")))
GENERAL_ONLY void Count(uint64_t* total) { __atomic_fetch_add(total, 1, __ATOMIC_RELAXED); }  // statistics
GENERAL_ONLY void CountEntry(const trace::ProbeEntry&, void*) { Count(&g_totals.entries); }
GENERAL_ONLY void CountReturn(const trace::ProbeReturn& returned, void*) {
  Count(returned.left_by_exception ? &g_totals.exceptions : &g_totals.returns);
}
constexpr trace::ProbeHandlers kTotals{
    .on_entry = &CountEntry, .on_return = &CountReturn, .registers = trace::HandlerRegisters::kGeneral};

__attribute__((constructor)) void ProbeAtStart() {
  const char* pattern = std::getenv("LAGWATCH_PROBE");
  if (pattern == nullptr) return;
  unsetenv("LD_PRELOAD");  // of children
  g_probed_process = getpid();
  g_prober = new trace::FunctionProber;
  std::vector<trace::ProbeRequest> requests;
  for (const auto& listed : g_prober->List({.allow_modules = {pattern}}, true)) {
    ++g_totals.functions;
    if (listed.result.reason == trace::ProbeReason::kNone)
      requests.push_back({listed.function, &kTotals, nullptr});
  }
  for (const auto& result : g_prober->Arm(requests)) g_totals.armed += result.id != 0 ? 1 : 0;
}

void PrintTotals() {
  if (g_prober == nullptr || getpid() != g_probed_process) return;
  g_prober->DisarmAll();
  const auto stats = trace::FunctionProbeStats();
  std::fprintf(stderr,
               "{\"functions\": %" PRIu64 ", \"armed\": %" PRIu64 ", \"entries\": %" PRIu64
               ", \"returns\": %" PRIu64 ", \"exceptions\": %" PRIu64 ", \"missed\": %" PRIu64
               ", \"unnoticed\": %" PRIu64 ", \"bytes_are_original\": %s}\n",
               g_totals.functions, g_totals.armed, g_totals.entries, g_totals.returns, g_totals.exceptions,
               stats.hits_missed, stats.returns_unnoticed, g_prober->BytesAreOriginal() ? "true" : "false");
}

__attribute__((destructor)) void PrintAtEnd() {
  if (const char* pattern = std::getenv("LAGWATCH_LIST")) Print(pattern);
  PrintTotals();
}

}  // namespace
}  // namespace lagwatch::bench
