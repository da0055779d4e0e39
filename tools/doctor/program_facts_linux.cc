// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "collector/symbols/elf/build_id.h"
#include "stack/elf/elf_file.h"
#include "tools/doctor/program_facts.h"
#include "tools/local_symbols/local_modules.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace {

using sdk::ProgramKind;

// By the names that its runtime's functions have among the dynamic ones, which a static runtime has, too.
std::string SanitizerOf(const stack::ElfFile& file) {
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kKinds = {
      {{"__asan_init", "AddressSanitizer"},
       {"__tsan_init", "ThreadSanitizer"},
       {"__msan_init", "MemorySanitizer"},
       {"__ubsan_handle", "UndefinedBehaviorSanitizer"}}};
  const auto names = file.ReadSection(".dynstr");
  if (!names) return "";
  for (const auto& [function, name] : kKinds)
    if (names->bytes.find(function) != std::string::npos) return name;
  return "";
}

enum class Names : uint8_t { kLines, kFunctions, kExported, kNoBuildId };

// The best that the module's file and its debug file offer.
Names NamesOf(const std::string& path, const std::string& root) {
  const auto file = stack::ElfFile::Open(root + path);
  if (!file) return Names::kExported;
  const auto build_id = collector::BuildId::FromBytes(file->BuildId());
  const bool has_functions = file->HasSection(".symtab") || file->HasSection(".gnu_debugdata");
  if (!build_id) return has_functions ? Names::kFunctions : Names::kNoBuildId;
  LocalModules modules(root);
  modules.Add(*build_id, path);
  if (modules.OpenFile(*build_id, collector::SymbolKind::kDebug)) return Names::kLines;
  return has_functions ? Names::kFunctions : Names::kExported;
}

bool IsFile(const std::string& path) { return path.starts_with('/'); }

}  // namespace

ProgramFacts ProgramFacts::Of(const std::string& path, const std::string& root) {
  ProgramFacts facts{.path = path, .root = root, .file = sdk::ReadProgramFile(AT_FDCWD, path.c_str())};
  const std::string_view loader = facts.file.interpreter;
  facts.is_musl = facts.file.kind == ProgramKind::kDynamic && loader.find("/ld-musl") != loader.npos;
  if (const auto file = stack::ElfFile::Open(path)) {
    facts.is_go = file->HasSection(".go.buildinfo") || file->HasSection(".note.go.buildid");
    facts.sanitizer = SanitizerOf(*file);
  }
  return facts;
}

std::string ProgramFacts::KindText() const {
  const std::string of_go = is_go ? " of Go" : "";
  if (is_musl) return "a program" + of_go + " with the C library musl";
  switch (file.kind) {
    case ProgramKind::kDynamic:
    case ProgramKind::kSanitized: {
      const std::string glibc = GlibcOf(root + file.interpreter);
      return "a program" + of_go +
             (glibc.empty() ? " with the loader " + std::string(file.interpreter) : " with glibc " + glibc);
    }
    case ProgramKind::kStatic:
      return "a static program" + of_go;
    case ProgramKind::kScript:
      return "a script for " + std::string(file.interpreter);
    case ProgramKind::kOtherMachine:
      return "a program for another processor, or of 32 bits";
    case ProgramKind::kPrivileged:
      return "a program that runs with other privileges than yours";
    case ProgramKind::kUnknown:
    case ProgramKind::kUnreadable:
      break;
  }
  return "a file of an unknown kind";
}

Check CheckSymbols(const ProgramFacts& program, const std::vector<std::string>& paths) {
  constexpr char kName[] = "symbols";
  const bool has_servers = std::getenv("DEBUGINFOD_URLS") != nullptr;
  const std::string remedy =
      has_servers
          ? "lagwatch report --debuginfod ID"
          : "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org && lagwatch report --debuginfod ID";
  size_t with_lines = 0;
  size_t modules = 0;
  for (const std::string& path : paths) {
    if (!IsFile(path)) continue;
    ++modules;
    with_lines += NamesOf(path, program.root) == Names::kLines ? 1 : 0;
  }
  const std::string others = modules == 0 ? ""
                                          : "; " + std::to_string(with_lines) + " of its " +
                                                std::to_string(modules) + " libraries have lines";
  switch (NamesOf(program.path, "")) {
    case Names::kLines:
      return Check::Ok(kName, "its functions have names, files and lines" + others);
    case Names::kFunctions:
      return Check::Limited(kName, "its functions have names, and no lines: no debug file is here" + others,
                            remedy);
    case Names::kNoBuildId:
      return Check::Limited(
          kName,
          "it is stripped and has no build id (-Wl,--build-id): no debug file can be found for it" + others);
    case Names::kExported:
      break;
  }
  return Check::Limited(
      kName, "it is stripped, and no debug file is here: only exported functions have names" + others,
      remedy);
}

std::optional<Check> CheckSanitizer(const ProgramFacts& program) {
  if (program.sanitizer.empty()) return std::nullopt;
  if (program.file.kind == ProgramKind::kSanitized)
    return Check::Limited("sanitizer", program.sanitizer +
                                           ", whose runtime must be the first library of the program: "
                                           "build it with -static-libasan");
  return Check::Ok("sanitizer", program.sanitizer + ", which changes nothing for lagwatch");
}

}  // namespace lagwatch::tools
