// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/debug_types.h"

#include <dwarf.h>
#include <fcntl.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/owned_fd.h"
#include "collector/symbols/elf/elf_handles.h"
#include "collector/symbols/names/function_name.h"
#include "trace/instrument/rules/function_names.h"

namespace lagwatch::tools {
namespace {

using probe::Type;
using probe::TypePointer;

constexpr int kMostDepth = 16;  // of types within types

// The type of an entry, through its qualifiers; false for void.
bool TypeOf(Dwarf_Die* of, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(of, DW_AT_type, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, type) == nullptr)
    return false;
  while (dwarf_tag(type) == DW_TAG_const_type || dwarf_tag(type) == DW_TAG_volatile_type ||
         dwarf_tag(type) == DW_TAG_restrict_type || dwarf_tag(type) == DW_TAG_atomic_type) {
    Dwarf_Die inner;
    if (dwarf_attr_integrate(type, DW_AT_type, &attribute) == nullptr ||
        dwarf_formref_die(&attribute, &inner) == nullptr)
      return false;
    *type = inner;
  }
  return true;
}

std::string NameOf(Dwarf_Die* die) {
  const char* name = dwarf_diename(die);
  return name == nullptr ? "" : name;
}

uint64_t NumberOf(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_attr_integrate(die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &number) != 0)
    return 0;
  return number;
}

bool IsDeclaration(Dwarf_Die* die) { return dwarf_hasattr(die, DW_AT_declaration) != 0; }

template <typename Visit>
void ForEachChild(Dwarf_Die* parent, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return;
  do {
    visit(&child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

TypePointer BaseType(Dwarf_Die* die) {
  const uint64_t size = NumberOf(die, DW_AT_byte_size);
  const uint64_t encoding = NumberOf(die, DW_AT_encoding);
  Type type{
      .kind = Type::Kind::kInt, .name = NameOf(die), .size = size, .alignment = std::max<uint64_t>(size, 1)};
  type.is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
  type.is_char = encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char;
  if (encoding == DW_ATE_float)
    type.kind = size <= sizeof(double) ? Type::Kind::kFloat : Type::Kind::kLongDouble;
  return std::make_shared<const Type>(std::move(type));
}

TypePointer NamedType(const std::string& name, uint64_t size) {
  return std::make_shared<const Type>(
      Type{.kind = Type::Kind::kNamed, .name = name, .size = size, .alignment = sizeof(void*)});
}

bool IsStruct(Dwarf_Die* die) {
  const int tag = dwarf_tag(die);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

TypePointer Convert(Dwarf_Die* die, int depth, const std::string& alias);

// Pointers lead to structs by their names, which are looked up when a script goes there.
TypePointer Pointed(Dwarf_Die* pointer, int depth) {
  Dwarf_Die inner;
  if (!TypeOf(pointer, &inner))
    return std::make_shared<const Type>(Type{.kind = Type::Kind::kVoid, .name = "void"});
  std::string name = NameOf(&inner);
  Dwarf_Die real = inner;
  while (dwarf_tag(&real) == DW_TAG_typedef) {
    Dwarf_Die next;
    if (!TypeOf(&real, &next))
      return std::make_shared<const Type>(Type{.kind = Type::Kind::kVoid, .name = name});
    real = next;
  }
  if (!IsStruct(&real)) return Convert(&inner, depth + 1, "");
  if (!NameOf(&real).empty()) name = NameOf(&real);
  return NamedType(name, NumberOf(&real, DW_AT_byte_size));
}

TypePointer StructType(Dwarf_Die* die, int depth, const std::string& alias) {
  const std::string name = NameOf(die).empty() ? alias : NameOf(die);
  if (IsDeclaration(die)) return NamedType(name, 0);
  Type type{.kind = Type::Kind::kStruct, .name = name, .size = NumberOf(die, DW_AT_byte_size)};
  if (name.starts_with("basic_string<char,")) type.kind = Type::Kind::kStdString;
  ForEachChild(die, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    const bool is_static = dwarf_hasattr(child, DW_AT_external) != 0 || IsDeclaration(child);
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static) return;
    Dwarf_Die of;
    if (dwarf_hasattr(child, DW_AT_bit_size) != 0 || !TypeOf(child, &of)) return;  // no address of its own
    probe::Member member{.name = NameOf(child),
                         .type = Convert(&of, depth + 1, ""),
                         .offset = NumberOf(child, DW_AT_data_member_location)};
    type.alignment = std::max(type.alignment, member.type->alignment);
    // The members of a base, and of what has no name, are the struct's own.
    if (!member.name.empty()) return type.members.push_back(std::move(member));
    for (probe::Member inner : member.type->members) {
      inner.offset += member.offset;
      type.members.push_back(std::move(inner));
    }
  });
  return std::make_shared<const Type>(std::move(type));
}

TypePointer ArrayType(Dwarf_Die* die, int depth) {
  uint64_t count = 0;
  ForEachChild(die, [&](Dwarf_Die* range) {
    const uint64_t elements = dwarf_hasattr(range, DW_AT_count) != 0 ? NumberOf(range, DW_AT_count)
                              : dwarf_hasattr(range, DW_AT_upper_bound) != 0
                                  ? NumberOf(range, DW_AT_upper_bound) + 1
                                  : 0;
    count = count == 0 ? elements : count * elements;
  });
  Dwarf_Die inner;
  if (!TypeOf(die, &inner)) return std::make_shared<const Type>(Type{});
  return probe::ArrayOf(Convert(&inner, depth + 1, ""), count);
}

// `alias`: the name of a typedef that led there.
TypePointer Convert(Dwarf_Die* die, int depth, const std::string& alias) {
  if (depth > kMostDepth) return NamedType(NameOf(die), NumberOf(die, DW_AT_byte_size));
  switch (dwarf_tag(die)) {
    case DW_TAG_base_type:
      return BaseType(die);
    case DW_TAG_enumeration_type: {
      const uint64_t size = NumberOf(die, DW_AT_byte_size);
      return probe::IntType(NameOf(die), size == 0 ? sizeof(int) : size, true);
    }
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
      return probe::PointerTo(Pointed(die, depth));
    case DW_TAG_ptr_to_member_type:
    case DW_TAG_unspecified_type:
      return probe::IntType(NameOf(die), sizeof(void*), false);
    case DW_TAG_typedef: {
      Dwarf_Die inner;
      if (!TypeOf(die, &inner)) break;
      return Convert(&inner, depth + 1, NameOf(die));
    }
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
      return StructType(die, depth, alias);
    case DW_TAG_array_type:
      return ArrayType(die, depth);
    default:
      break;
  }
  return std::make_shared<const Type>(Type{.kind = Type::Kind::kVoid, .name = "void"});
}

bool IsSame(const probe::Signature& a, const probe::Signature& b) {
  return std::ranges::equal(a.parameters, b.parameters, [](const auto& one, const auto& other) {
    return one.name == other.name && one.type->kind == other.type->kind && one.type->name == other.type->name;
  });
}

}  // namespace

// One file's debug information, with an index of its names.
class DebugFile {
 public:
  static std::unique_ptr<DebugFile> Open(ProcessModule* module) {
    auto file = std::make_unique<DebugFile>(module);
    file->Load();
    return file;
  }
  explicit DebugFile(ProcessModule* module) : module_(module), has_asked_(module->asks_servers()) {}

  const ProcessModule* module() const { return module_; }
  bool has_any() const { return dwarf_ != nullptr; }
  // Whether the servers that its module may ask by now may have more.
  bool is_old() const { return !has_any() && !has_asked_ && module_->asks_servers(); }

  TypePointer FindType(const std::string& name) {
    Index();
    const auto found = types_.find(name);
    if (found == types_.end()) return nullptr;
    Dwarf_Die die;
    return dwarf_offdie(dwarf_.get(), found->second, &die) == nullptr ? nullptr : Convert(&die, 0, name);
  }

  // The signatures of the functions whose names match.
  template <typename Visit>
  void ForEachFunction(const std::string& pattern, Visit visit) {
    Index();
    const bool is_glob = pattern.find_first_of("*?") != std::string::npos;
    const auto range =
        is_glob ? std::pair(functions_.begin(), functions_.end()) : functions_.equal_range(pattern);
    for (auto each = range.first; each != range.second; ++each) {
      Dwarf_Die die;
      if ((!is_glob || trace::MatchesGlob(pattern, each->first)) &&
          dwarf_offdie(dwarf_.get(), each->second, &die) != nullptr)
        visit(&die);
    }
  }

  template <typename Visit>
  void ForEachUnit(Visit visit) {
    if (dwarf_ == nullptr) return;
    Dwarf_Off next = 0;
    size_t header_bytes = 0;
    for (Dwarf_Off at = 0;
         dwarf_nextcu(dwarf_.get(), at, &next, &header_bytes, nullptr, nullptr, nullptr) == 0; at = next) {
      Dwarf_Die unit;
      if (dwarf_offdie(dwarf_.get(), at + header_bytes, &unit) != nullptr) visit(&unit);
    }
  }

 private:
  void Load() {
    fd_ = module_->OpenDebugFile();
    if (!fd_) fd_ = base::OwnedFd(open(module_->seen_path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd_) elf_ = collector::OpenElf(fd_.get());
    if (elf_) dwarf_.reset(dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
  }

  void Index() {
    if (std::exchange(is_indexed_, true)) return;
    ForEachUnit([&](Dwarf_Die* unit) { AddNames(unit, "", 0); });
  }

  void AddNames(Dwarf_Die* parent, const std::string& scope, int depth) {
    ForEachChild(parent, [&](Dwarf_Die* die) {
      const int tag = dwarf_tag(die);
      const std::string name = NameOf(die);
      if (tag == DW_TAG_namespace && depth < kMostDepth)
        return AddNames(die, name.empty() ? scope : scope + name + "::", depth + 1);
      if (name.empty()) return;
      if (tag == DW_TAG_subprogram) return AddFunction(die, scope + name);
      const bool is_type = IsStruct(die) || tag == DW_TAG_typedef || tag == DW_TAG_enumeration_type;
      if (!is_type || IsDeclaration(die)) return;
      // A struct comes before a typedef that has its name.
      const Dwarf_Off offset = dwarf_dieoffset(die);
      for (const std::string& key : {scope + name, name}) {
        if (IsStruct(die))
          types_[key] = offset;
        else
          types_.emplace(key, offset);
      }
    });
  }

  void AddFunction(Dwarf_Die* die, const std::string& name) {
    if (IsDeclaration(die)) return;
    const Dwarf_Off offset = dwarf_dieoffset(die);
    Dwarf_Attribute attribute;
    const char* linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    const std::string readable = linkage == nullptr ? name : collector::ReadableFunctionName(linkage);
    functions_.emplace(readable, offset);
    if (linkage != nullptr) functions_.emplace(linkage, offset);
  }

  ProcessModule* module_;
  bool has_asked_;
  base::OwnedFd fd_;
  collector::ElfHandle elf_;
  collector::DwarfHandle dwarf_;
  bool is_indexed_ = false;
  std::unordered_map<std::string, Dwarf_Off> types_;
  std::multimap<std::string, Dwarf_Off> functions_;
};

namespace {

probe::Signature SignatureOf(Dwarf_Die* function) {
  probe::Signature signature;
  ForEachChild(function, [&](Dwarf_Die* child) {
    Dwarf_Die type;
    if (dwarf_tag(child) != DW_TAG_formal_parameter) return;
    signature.parameters.push_back(
        {NameOf(child), TypeOf(child, &type) ? Convert(&type, 0, "") : std::make_shared<const Type>(Type{})});
  });
  Dwarf_Die result;
  signature.result = TypeOf(function, &result)
                         ? Convert(&result, 0, "")
                         : std::make_shared<const Type>(Type{.kind = Type::Kind::kVoid, .name = "void"});
  return signature;
}

// Appends the functions below `parent` into which the function at `inlined` was put.
void AddCallers(Dwarf_Die* parent, const std::string& inlined, const std::string& function, int depth,
                std::set<std::string>* callers) {
  constexpr int kMostBlocks = 64;
  if (depth > kMostBlocks) return;
  ForEachChild(parent, [&](Dwarf_Die* die) {
    const int tag = dwarf_tag(die);
    const std::string name = NameOf(die);
    if (tag == DW_TAG_inlined_subroutine && name == inlined && !function.empty()) callers->insert(function);
    const bool goes_down = tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
                           tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
    if (goes_down) AddCallers(die, inlined, tag == DW_TAG_subprogram ? name : function, depth + 1, callers);
  });
}

// Functions are also in namespaces and types.
void AddSourceFiles(Dwarf_Die* parent, int depth, std::map<uint64_t, std::string>* files) {
  ForEachChild(parent, [&](Dwarf_Die* die) {
    const bool is_function = dwarf_tag(die) == DW_TAG_subprogram;
    if (!is_function && (dwarf_tag(die) == DW_TAG_namespace || IsStruct(die)) && depth < kMostDepth)
      return AddSourceFiles(die, depth + 1, files);
    Dwarf_Addr begin = 0;
    const char* source = is_function ? dwarf_decl_file(die) : nullptr;
    if (source != nullptr && dwarf_lowpc(die, &begin) == 0) files->emplace(begin, source);
  });
}

}  // namespace

DebugTypes::DebugTypes(ProcessFunctions* functions) : functions_(functions) {}
DebugTypes::~DebugTypes() = default;

DebugFile* DebugTypes::FileOf(ProcessModule* module) const {
  std::erase_if(files_, [](const auto& file) { return file->is_old(); });
  const auto known = std::ranges::find_if(files_, [&](const auto& file) { return file->module() == module; });
  if (known != files_.end()) return (*known)->has_any() ? known->get() : nullptr;
  DebugFile* file = files_.emplace_back(DebugFile::Open(module)).get();
  return file->has_any() ? file : nullptr;
}

TypePointer DebugTypes::FindType(std::string_view name) const {
  // Those that have given a function already come first.
  for (const auto& file : files_) {
    if (auto type = file->has_any() ? file->FindType(std::string(name)) : nullptr) return type;
  }
  for (ProcessModule& module : functions_->modules()) {
    DebugFile* file = FileOf(&module);
    if (auto type = file == nullptr ? nullptr : file->FindType(std::string(name))) return type;
  }
  return nullptr;
}

std::optional<probe::Signature> DebugTypes::FindFunction(std::string_view module_pattern,
                                                         std::string_view function) const {
  std::optional<probe::Signature> found;
  bool is_one = true;
  functions_->AskServersFor(std::string(module_pattern));
  for (ProcessModule& module : functions_->modules()) {
    if (!module.IsCalled(std::string(module_pattern))) continue;
    DebugFile* file = FileOf(&module);
    if (file == nullptr) continue;
    file->ForEachFunction(std::string(function), [&](Dwarf_Die* die) {
      probe::Signature signature = SignatureOf(die);
      if (!found)
        found = std::move(signature);
      else
        is_one = is_one && IsSame(*found, signature);
    });
    if (found) break;
  }
  if (!is_one) return std::nullopt;
  return found;
}

bool DebugTypes::HasAny(const std::string& pattern) const {
  return std::ranges::any_of(functions_->modules(), [&](ProcessModule& module) {
    return module.IsCalled(pattern) && FileOf(&module) != nullptr;
  });
}

std::vector<std::string> DebugTypes::CallersOfInlined(const std::string& module_pattern,
                                                      const std::string& function) const {
  std::set<std::string> callers;
  const std::string last =
      function.substr(function.rfind(':') == std::string::npos ? 0 : function.rfind(':') + 1);
  for (ProcessModule& module : functions_->modules()) {
    DebugFile* file = module.IsCalled(module_pattern) ? FileOf(&module) : nullptr;
    if (file != nullptr) file->ForEachUnit([&](Dwarf_Die* unit) { AddCallers(unit, last, "", 0, &callers); });
  }
  return {callers.begin(), callers.end()};
}

std::map<uint64_t, std::string> DebugTypes::SourceFiles(ProcessModule* module) const {
  std::map<uint64_t, std::string> files;
  DebugFile* file = FileOf(module);
  if (file != nullptr) file->ForEachUnit([&](Dwarf_Die* unit) { AddSourceFiles(unit, 0, &files); });
  return files;
}

std::set<uint64_t> DebugTypes::FunctionsOfFile(ProcessModule* module, const std::string& pattern) const {
  std::set<uint64_t> found;
  for (const auto& [begin, path] : SourceFiles(module))
    if (trace::MatchesSourceFile(pattern, path)) found.insert(begin);
  return found;
}

}  // namespace lagwatch::tools
