// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/owned_fd.h"
#include "collector/symbols/names/function_name.h"
#include "stack/elf/elf_file.h"
#include "stack/elf/function_symbol.h"
#include "tools/containers.h"
#include "tools/inject/mappings.h"
#include "tools/local_symbols/local_modules.h"
#include "tools/probe/process_functions.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

// The difference between addresses and the file's own ones, for a mapping of its code; none if the file is
// none.
std::optional<uint64_t> BiasOf(const std::string& path, const Mapping& mapping) {
  constexpr size_t kMostSegments = 64;
  const base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Elf64_Ehdr header{};
  if (!file || pread(file.get(), &header, sizeof header, 0) != sizeof header ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  for (size_t i = 0; i < std::min<size_t>(header.e_phnum, kMostSegments); ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (pread(file.get(), &segment, sizeof segment, at) != sizeof segment) return std::nullopt;
    const uint64_t begin = segment.p_offset & ~uint64_t{4095};
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || mapping.offset < begin ||
        mapping.offset >= segment.p_offset + segment.p_filesz)
      continue;
    return mapping.begin - (segment.p_vaddr - segment.p_offset + mapping.offset);
  }
  return std::nullopt;
}

uint8_t RankOf(const Elf64_Sym& symbol) { return stack::RankOf(symbol); }

struct RankedFunction {
  ModuleFunction function;
  uint8_t rank;
};

// Appends the functions of a symbol table; false when there is none.
bool AddTable(const std::optional<stack::ElfFile>& file, uint32_t type,
              std::vector<RankedFunction>* functions) {
  if (!file) return false;
  const auto symbols = file->ReadSection(type);
  if (!symbols) return false;
  const auto names = file->ReadSectionAt(symbols->link);
  if (!names) return false;
  bool has_any = false;
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->bytes.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols->bytes.data() + at, sizeof symbol);
    if (!stack::IsDefinedFunction(symbol) || symbol.st_name >= names->bytes.size()) continue;
    const std::string_view name(names->bytes.c_str() + symbol.st_name);
    if (name.empty()) continue;
    has_any = true;
    functions->push_back({{.offset = symbol.st_value,
                           .size = symbol.st_size,
                           .name = std::string(stack::WithoutVersion(name)),
                           .is_global = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL,
                           .is_chosen_at_load = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC},
                          RankOf(symbol)});
  }
  return has_any;
}

bool AddDebugFile(const ProcessModule& module, std::vector<RankedFunction>* functions) {
  const base::OwnedFd fd = module.OpenDebugFile();
  return fd &&
         AddTable(stack::ElfFile::Open("/proc/self/fd/" + std::to_string(fd.get())), SHT_SYMTAB, functions);
}

bool IsOwn(std::string_view file_name) { return file_name.starts_with("liblagwatch-preload"); }

std::string Hex(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

}  // namespace

ProcessModule::ProcessModule(pid_t pid, std::string path, uint64_t bias)
    : path_(std::move(path)), seen_path_(PathSeenFromHere(pid, path_)), bias_(bias) {
  if (const auto file = stack::ElfFile::Open(seen_path_)) build_id_ = file->BuildId();
}

base::OwnedFd ProcessModule::OpenDebugFile() const {
  const auto build_id = collector::BuildId::FromBytes(build_id_);
  if (!build_id) return {};
  LocalModules local;
  local.Add(*build_id, seen_path_);
  base::OwnedFd fd = local.OpenFile(*build_id, collector::SymbolKind::kDebug);
  if (!fd && servers_ != nullptr) fd = servers_->OpenFile(*build_id, collector::SymbolKind::kDebug);
  return fd;
}

void ProcessModule::AskServers(collector::SymbolSource* servers) {
  if (servers_ == servers) return;
  servers_ = servers;
  is_read_ = false;
  functions_.clear();
}

const std::vector<ModuleFunction>& ProcessModule::functions() {
  if (!is_read_) Read();
  return functions_;
}

void ProcessModule::Read() {
  is_read_ = true;
  std::vector<RankedFunction> found;
  const auto file = stack::ElfFile::Open(seen_path_);
  if (!AddTable(file, SHT_SYMTAB, &found) && !AddDebugFile(*this, &found) && file)
    AddTable(file->OpenMiniDebugInfo(), SHT_SYMTAB, &found);
  AddTable(file, SHT_DYNSYM, &found);
  std::ranges::stable_sort(found, [](const RankedFunction& a, const RankedFunction& b) {
    return std::pair(a.function.offset, a.rank) < std::pair(b.function.offset, b.rank);
  });
  for (RankedFunction& each : found) {
    const bool is_double = !functions_.empty() && functions_.back().offset == each.function.offset &&
                           functions_.back().name == each.function.name;
    if (!is_double) functions_.push_back(std::move(each.function));
  }
}

const ModuleFunction* ProcessModule::At(uint64_t offset) {
  const auto& all = functions();
  auto after = std::ranges::upper_bound(all, offset, {}, &ModuleFunction::offset);
  if (after == all.begin()) return nullptr;
  const uint64_t begin = std::prev(after)->offset;
  const auto first = std::ranges::lower_bound(all, begin, {}, &ModuleFunction::offset);
  for (auto each = first; each != after; ++each) {
    if (offset < each->offset + each->size || offset == each->offset) return &*each;
  }
  return nullptr;
}

base::Result<ProcessFunctions> ProcessFunctions::Of(pid_t pid) {
  ProcessFunctions functions(pid);
  functions.Refresh();
  if (functions.modules_.empty())
    return base::Status(base::StatusCode::kNotFound,
                        "process " + std::to_string(pid) + " has ended, or its files cannot be read");
  return functions;
}

void ProcessFunctions::SetServers(collector::SymbolSource* servers) {
  servers_ = servers;
  modules_.front().AskServers(servers);
}

void ProcessFunctions::AskServersFor(const std::string& module_pattern) {
  if (servers_ == nullptr || module_pattern.empty()) return;
  for (ProcessModule& module : modules_)
    if (module.IsCalled(module_pattern)) module.AskServers(servers_);
}

void ProcessFunctions::Refresh() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(ProcessFolder(pid_) / "exe", error);
  std::map<std::string, ProcessModule*> known;
  for (ProcessModule& module : modules_) known[module.path()] = &module;
  code_.clear();
  for (const Mapping& mapping : ReadMappings(pid_)) {
    if (!mapping.is_code || !mapping.path.starts_with('/')) continue;
    ProcessModule*& module = known[mapping.path];
    if (module == nullptr) {
      const std::string file_name = mapping.path.substr(mapping.path.rfind('/') + 1);
      const auto bias = BiasOf(PathSeenFromHere(pid_, mapping.path), mapping);
      if (!bias || IsOwn(file_name)) continue;
      const bool is_program = mapping.path == program;
      module = &*modules_.emplace(is_program ? modules_.begin() : modules_.end(), pid_, mapping.path, *bias);
      if (is_program) module->SetCommand(CommandOf(pid_));
    }
    code_.push_back({mapping.begin, mapping.end, module});
  }
}

std::string ProcessFunctions::NameOf(uint64_t address, bool has_offset) {
  const auto find = [&](uint64_t place) -> ProcessModule* {
    const auto after = std::ranges::upper_bound(code_, place, {}, &Range::begin);
    return after == code_.begin() || place >= std::prev(after)->end ? nullptr : std::prev(after)->module;
  };
  ProcessModule* module = find(address);
  if (module == nullptr) module = find(address - 1);
  if (module == nullptr) return Hex(address);
  const uint64_t offset = address - module->bias();
  const ModuleFunction* function = module->At(offset);
  // The address behind a call may be another function's.
  if (function == nullptr || function->offset != offset) function = module->At(offset - 1);
  if (function == nullptr) return std::string(module->shown_name()) + "+" + Hex(offset);
  std::string name = collector::ReadableFunctionName(function->name);
  if (has_offset && function->offset != offset) name += "+" + Hex(offset - function->offset);
  if (module != &modules_.front()) name += " (" + std::string(module->file_name()) + ")";
  return name;
}

}  // namespace lagwatch::tools
