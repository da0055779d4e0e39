// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/modules/module_symbols_linux.h"
#include "base/process/loader_walk.h"
#include "base/process/own_memory.h"
#include "trace/instrument/patchable_module.h"
#include "trace/instrument/probes/probed_modules.h"

namespace lagwatch::trace {
namespace {

// Names of files begin like this.
constexpr std::string_view kExcludedModules[] = {
    "ld-linux",    "ld-musl", "ld-2.",   "linux-vdso", "libgcc_s", "libunwind",
    "liblagwatch", "libasan", "libtsan", "libubsan",   "liblsan",  "libclang_rt",
};
constexpr std::string_view kCLibraries[] = {"libc.so", "libc-2.", "libpthread", "libc.musl"};

// They return twice, switch stacks, start threads or processes on stacks of their own, or are returned to by
// the kernel.
constexpr std::string_view kExcludedFunctions[] = {
    "setjmp",
    "_setjmp",
    "__setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "____longjmp_chk",
    "__longjmp",
    "__libc_longjmp",
    "__libc_siglongjmp",
    "getcontext",
    "setcontext",
    "swapcontext",
    "makecontext",
    "__getcontext",
    "__setcontext",
    "__swapcontext",
    "__makecontext",
    "__start_context",
    "vfork",
    "__vfork",
    "__libc_vfork",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "__restore_rt",
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
};

// An unwind table's hole of this size is code without one (V8's built-in functions have megabytes).
constexpr uint64_t kHoleBytes = 64 << 10;

bool BeginsWithOneOf(std::string_view name, const std::string_view* begin, const std::string_view* end) {
  return std::any_of(begin, end, [&](std::string_view each) { return name.substr(0, each.size()) == each; });
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsCLibrary(std::string_view path) {
  return BeginsWithOneOf(FileName(path), std::begin(kCLibraries), std::end(kCLibraries));
}

// Go's linker leaves a note; its stacks move, and its functions have conventions of their own.
bool IsGo(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::string_view notes(reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr),
                                 segment.p_memsz);
    constexpr std::string_view kName("\4\0\0\0Go\0\0", 8);  // its type and name
    if (notes.find(kName) != notes.npos) return true;
  }
  return false;
}

}  // namespace

ProbedModule::ProbedModule(const dl_phdr_info& info) : functions(info) {
  PatchableModule described = DescribeModule(info);
  code_begin = described.code_begin;
  code_end = described.code_end;
  load_bias = described.load_bias;
  path = std::move(described.path);
  build_id = std::move(described.build_id);
  begin = UINT64_MAX;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC) dynamic = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min<uint64_t>(begin, info.dlpi_addr + segment.p_vaddr);
    end = std::max<uint64_t>(end, info.dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  is_excluded =
      BeginsWithOneOf(FileName(path), std::begin(kExcludedModules), std::end(kExcludedModules)) || IsGo(info);
}

const stack::FunctionTable& ExcludedFunctions::TableOf(const std::string& path, const std::string& build_id) {
  const std::string key = path + '\0' + build_id;
  auto found = tables_.find(key);
  if (found == tables_.end()) found = tables_.emplace(key, stack::FunctionTable::Load(path, build_id)).first;
  return found->second;
}

void ExcludedFunctions::ReadTables() {
  std::vector<PatchableModule> libraries;
  const auto note = [](dl_phdr_info* info, size_t, void* context) {
    if (info->dlpi_name == nullptr || !IsCLibrary(info->dlpi_name)) return 0;
    static_cast<std::vector<PatchableModule>*>(context)->push_back(DescribeModule(*info));
    return 0;
  };
  base::WalkLoadedModules(note, &libraries);
  for (const PatchableModule& each : libraries) TableOf(each.path, each.build_id);
}

bool ExcludedFunctions::Has(const ProbedModule& module, uint64_t function) {
  if (!IsCLibrary(module.path)) return false;
  const auto name = TableOf(module.path, module.build_id).NameAt(function - module.load_bias);
  return name && std::find(std::begin(kExcludedFunctions), std::end(kExcludedFunctions), *name) !=
                     std::end(kExcludedFunctions);
}

// Without the loader's look-up, which waits for a thread that is stuck in dlopen(3).
bool UseUnwinderOf(const ProbedModule& module, const dl_phdr_info& info) {
  base::ModuleTables tables;
  if (!tables.Read(info)) return false;
  const uint64_t get_ip = base::FunctionAt(tables, base::FindSymbol(tables, "_Unwind_GetIP", nullptr));
  if (!module.HasCode(get_ip)) return false;
  static UnwinderCalls unwinder;  // the process has one
  unwinder = {module.code_begin, module.code_end, reinterpret_cast<uint64_t (*)(void*)>(get_ip)};
  UseUnwinder(&unwinder);
  return true;
}

bool UseCallerRangesOf(std::vector<CallerRanges::Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const size_t size_bytes = sizeof(CallerRanges) + ranges.size() * sizeof(CallerRanges::Range);
  auto* memory = static_cast<char*>(base::MapKept(size_bytes));  // for good: threads may be reading it
  if (memory == nullptr) return false;
  auto* first = reinterpret_cast<CallerRanges::Range*>(memory + sizeof(CallerRanges));
  std::copy(ranges.begin(), ranges.end(), first);
  UseCallerRanges(new (memory) CallerRanges{ranges.size(), first});
  return true;
}

void AddCallerRanges(const ProbedModule& module, std::vector<CallerRanges::Range>* ranges) {
  const UnwindIndex& functions = module.functions;
  uint64_t begin = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    if (begin == 0) begin = functions.BeginOf(i);
    const bool is_last = i + 1 == functions.size();
    const uint64_t next = is_last ? UINT64_MAX : functions.BeginOf(i + 1);
    if (next - functions.BeginOf(i) < kHoleBytes) continue;
    const uint64_t end = functions.At(i).end;
    if (!is_last && next - end < kHoleBytes) continue;
    // A call may be a function's last instruction.
    if (end > begin) ranges->push_back({begin, end + 1});
    begin = 0;
  }
}

}  // namespace lagwatch::trace
