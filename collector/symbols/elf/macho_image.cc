// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/macho_image.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace lagwatch::collector {
namespace {

// The format, after Apple's <mach-o/loader.h> and <mach-o/nlist.h>.
constexpr uint32_t kMagic64 = 0xfeedfacf;
constexpr uint32_t kMagicOfSeveral[] = {0xbebafeca, 0xbfbafeca};
constexpr uint32_t kX86 = 0x01000007;
constexpr uint32_t kArm = 0x0100000c;
constexpr uint32_t kDebugSymbols = 0xa;  // a dSYM's type of file
constexpr uint32_t kSymbolTable = 0x2;
constexpr uint32_t kSegment = 0x19;
constexpr uint32_t kUuid = 0x1b;
constexpr uint32_t kCodeFlags = 0x80000400;  // S_ATTR_PURE_INSTRUCTIONS, S_ATTR_SOME_INSTRUCTIONS
constexpr uint8_t kDebuggingEntry = 0xe0;
constexpr uint8_t kTypeMask = 0x0e;
constexpr uint8_t kInSection = 0x0e;
constexpr size_t kUuidBytes = 16;

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;

struct FileHeader {
  uint32_t magic, processor, subtype, file_type, commands, commands_bytes, flags, reserved;
};
struct Command {
  uint32_t type, size_bytes;
};
struct Segment {
  Command command;
  char name[16];
  uint64_t begin, size_bytes, file_offset, file_bytes;
  int32_t most_protection, protection;
  uint32_t sections, flags;
};
struct Section {
  char name[16], segment[16];
  uint64_t begin, size_bytes;
  uint32_t file_offset, alignment, relocations, relocation_count, flags, reserved[3];
};
struct SymbolTable {
  Command command;
  uint32_t symbols, symbol_count, names, names_bytes;
};
struct Symbol {
  uint32_t name;
  uint8_t type, section;
  uint16_t description;
  uint64_t value;
};

Status Damaged() { return {StatusCode::kInvalid, "the Mach-O file is damaged"}; }

base::Result<std::string> ReadWhole(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return base::IoError("cannot read the file", errno);
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > kMaxFileBytes) return Status(StatusCode::kTooLarge, "the Mach-O file has more than 1 GiB");
  std::string bytes(size, '\0');
  for (size_t filled = 0; filled < size;) {
    const ssize_t got = pread(fd, bytes.data() + filled, size - filled, static_cast<off_t>(filled));
    if (got <= 0) return base::IoError("cannot read the file", got < 0 ? errno : EIO);
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

// Text in a field of fixed size, which ends with a zero unless it is full.
template <size_t kSize>
std::string_view FieldText(const char (&field)[kSize]) {
  return {field, strnlen(field, kSize)};
}

// Names are cut to 16 bytes there.
std::string ElfSectionName(std::string_view name) {
  if (name == "__debug_str_offs") return ".debug_str_offsets";
  return "." + std::string(name.substr(2));
}

class MachOFile {
 public:
  explicit MachOFile(std::string_view bytes) : bytes_(bytes) {}

  Status Read() {
    const auto header = At<FileHeader>(0);
    if (!header) return Damaged();
    if (std::ranges::find(kMagicOfSeveral, header->magic) != std::end(kMagicOfSeveral)) {
      return {StatusCode::kInvalid,
              "the Mach-O file is for several processors; take one out of it, by `lipo FILE -thin arm64 "
              "-output ONE`"};
    }
    if (header->magic != kMagic64 || (header->processor != kX86 && header->processor != kArm))
      return {StatusCode::kInvalid, "the Mach-O file is for an unknown processor"};
    has_code_ = header->file_type != kDebugSymbols;
    machine_ = header->processor == kX86 ? EM_X86_64 : EM_AARCH64;
    uint64_t offset = sizeof(FileHeader);
    for (uint32_t i = 0; i < header->commands; ++i) {
      const auto command = At<Command>(offset);
      if (!command || command->size_bytes < sizeof(Command)) return Damaged();
      if (!ReadCommand(*command, offset)) return Damaged();
      offset += command->size_bytes;
    }
    return {};
  }

  Elf64_Half machine() const { return machine_; }
  bool has_code() const { return has_code_; }
  std::string_view uuid() const { return uuid_; }
  const std::vector<Section>& sections() const { return sections_; }
  const Segment& text() const { return text_; }

  std::string_view ContentOf(const Section& section) const {
    return BytesAt(section.file_offset, section.size_bytes).value_or(std::string_view());
  }
  std::string_view names() const {
    return BytesAt(table_.names, table_.names_bytes).value_or(std::string_view());
  }

  // By address.
  std::vector<Symbol> Functions() const {
    std::vector<Symbol> functions;
    for (uint64_t i = 0; i < table_.symbol_count; ++i) {
      const auto symbol = At<Symbol>(table_.symbols + i * sizeof(Symbol));
      if (!symbol) break;
      if (IsFunction(*symbol)) functions.push_back(*symbol);
    }
    std::ranges::stable_sort(functions, {}, &Symbol::value);
    return functions;
  }

  // The end of a function that no other one follows.
  uint64_t EndOf(const Symbol& function) const {
    const Section& section = sections_[function.section - 1];
    return section.begin + section.size_bytes;
  }

 private:
  std::optional<std::string_view> BytesAt(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return bytes_.substr(offset, size);
  }

  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    T value;
    return ReadAt(offset, &value) ? std::optional(value) : std::nullopt;
  }
  template <typename T>
  bool ReadAt(uint64_t offset, T* value) const {
    const auto bytes = BytesAt(offset, sizeof(T));
    if (bytes) std::memcpy(value, bytes->data(), sizeof(T));
    return bytes.has_value();
  }

  bool ReadCommand(const Command& command, uint64_t offset) {
    switch (command.type) {
      case kUuid:
        uuid_ = BytesAt(offset + sizeof(Command), kUuidBytes).value_or(std::string_view());
        return !uuid_.empty();
      case kSymbolTable:
        return ReadAt(offset, &table_);
      case kSegment:
        return ReadSegment(offset);
      default:
        return true;
    }
  }

  bool ReadSegment(uint64_t offset) {
    const auto segment = At<Segment>(offset);
    if (!segment) return false;
    if (FieldText(segment->name) == "__TEXT") text_ = *segment;
    for (uint32_t i = 0; i < segment->sections; ++i) {
      const auto section = At<Section>(offset + sizeof(Segment) + i * sizeof(Section));
      if (!section) return false;
      sections_.push_back(*section);
    }
    return true;
  }

  bool IsFunction(const Symbol& symbol) const {
    const bool is_defined = (symbol.type & kDebuggingEntry) == 0 && (symbol.type & kTypeMask) == kInSection;
    if (!is_defined || symbol.section == 0 || symbol.section > sections_.size()) return false;
    // The linker's name for the file's header is outside of its section.
    const Section& section = sections_[symbol.section - 1];
    return (section.flags & kCodeFlags) != 0 && symbol.value >= section.begin &&
           symbol.value - section.begin < section.size_bytes;
  }

  std::string_view bytes_;
  Elf64_Half machine_ = EM_NONE;
  bool has_code_ = false;
  std::string_view uuid_;
  SymbolTable table_{};  // without symbols where the file has none
  Segment text_{};       // of no size where the file has none
  std::vector<Section> sections_;
};

struct ElfSection {
  Elf64_Word type = SHT_PROGBITS;
  Elf64_Xword flags = 0;
  Elf64_Addr begin = 0;
  Elf64_Xword size_bytes = 0;  // if it has no content
  Elf64_Word link = 0;
  Elf64_Word info = 0;
  Elf64_Xword alignment = 1;
  Elf64_Xword entry_bytes = 0;
};

class ElfWriter {
 public:
  ElfWriter() : image_(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0') { sections_.emplace_back(); }

  // Returns the section's number.
  size_t Add(std::string_view name, const ElfSection& section, std::string_view content) {
    image_.resize((image_.size() + 7) & ~size_t{7});
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names_.size());
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_addr = section.begin;
    header.sh_offset = image_.size();
    header.sh_size = section.type == SHT_NOBITS ? section.size_bytes : content.size();
    header.sh_link = section.link;
    header.sh_info = section.info;
    header.sh_addralign = section.alignment;
    header.sh_entsize = section.entry_bytes;
    names_ += name;
    names_ += '\0';
    image_ += content;
    sections_.push_back(header);
    return sections_.size() - 1;
  }

  std::string Finish(Elf64_Half machine, uint64_t code_begin, uint64_t code_bytes) {
    // The names of this section, too, are in it.
    const std::string names = names_ + ".shstrtab" + '\0';
    const size_t names_section = Add(".shstrtab", {.type = SHT_STRTAB}, names);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(names_section);
    image_.resize((image_.size() + 7) & ~size_t{7});
    header.e_shoff = image_.size();
    image_.append(reinterpret_cast<const char*>(sections_.data()), sections_.size() * sizeof(Elf64_Shdr));
    const Elf64_Phdr code{.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_X,
                          .p_offset = 0,
                          .p_vaddr = code_begin,
                          .p_paddr = code_begin,
                          .p_filesz = 0,
                          .p_memsz = code_bytes,
                          .p_align = 1};
    std::memcpy(image_.data(), &header, sizeof header);
    std::memcpy(image_.data() + sizeof header, &code, sizeof code);
    return std::move(image_);
  }

 private:
  std::string image_;
  std::string names_ = std::string(1, '\0');
  std::vector<Elf64_Shdr> sections_;
};

void AddBuildId(std::string_view uuid, ElfWriter* elf) {
  const Elf64_Nhdr header{
      .n_namesz = 4, .n_descsz = static_cast<Elf64_Word>(uuid.size()), .n_type = NT_GNU_BUILD_ID};
  std::string note(reinterpret_cast<const char*>(&header), sizeof header);
  note.append("GNU\0", 4);
  note += uuid;
  elf->Add(".note.gnu.build-id", {.type = SHT_NOTE, .flags = SHF_ALLOC, .alignment = 4}, note);
}

void AddDwarf(const MachOFile& file, ElfWriter* elf) {
  constexpr size_t kMostSections = 64;
  size_t count = 0;
  for (const Section& section : file.sections()) {
    const std::string_view name = FieldText(section.name);
    const std::string_view content = file.ContentOf(section);
    if (!name.starts_with("__debug_") || content.empty() || ++count > kMostSections) continue;
    elf->Add(ElfSectionName(name), {}, content);
  }
}

// Mach-O has no sizes of functions: each ends where the next one begins.
void AddFunctions(const MachOFile& file, size_t code_section, ElfWriter* elf) {
  const std::vector<Symbol> functions = file.Functions();
  const std::string_view names = file.names();
  if (functions.empty() || names.empty()) return;
  std::vector<Elf64_Sym> symbols(1);
  for (size_t i = 0; i < functions.size(); ++i) {
    const Symbol& function = functions[i];
    if (function.name >= names.size()) continue;
    size_t next = i + 1;
    while (next < functions.size() && functions[next].value == function.value) ++next;
    uint64_t end = file.EndOf(function);
    if (next < functions.size()) end = std::min(end, functions[next].value);
    // C's names have an underscore in front of them.
    const bool has_underscore = names[function.name] == '_';
    symbols.push_back({.st_name = function.name + (has_underscore ? 1 : 0),
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                       .st_other = 0,
                       .st_shndx = static_cast<Elf64_Section>(code_section),
                       .st_value = function.value,
                       .st_size = end > function.value ? end - function.value : 0});
  }
  std::string text(names);
  text += '\0';
  const size_t names_section = elf->Add(".strtab", {.type = SHT_STRTAB}, text);
  elf->Add(".symtab",
           {.type = SHT_SYMTAB,
            .link = static_cast<Elf64_Word>(names_section),
            .info = 1,
            .alignment = 8,
            .entry_bytes = sizeof(Elf64_Sym)},
           {reinterpret_cast<const char*>(symbols.data()), symbols.size() * sizeof(Elf64_Sym)});
}

}  // namespace

bool IsMachO(int fd) {
  uint32_t magic = 0;
  if (pread(fd, &magic, sizeof magic, 0) != sizeof magic) return false;
  return magic == kMagic64 || std::ranges::find(kMagicOfSeveral, magic) != std::end(kMagicOfSeveral);
}

base::Result<MachOImage> ReadMachO(int fd) {
  const std::string bytes = LAGWATCH_TRY(ReadWhole(fd));
  MachOFile file(bytes);
  if (Status read = file.Read(); !read.ok()) return read;
  if (file.text().size_bytes == 0) return Damaged();
  ElfWriter elf;
  const ElfSection code{.type = SHT_NOBITS,
                        .flags = SHF_ALLOC | SHF_EXECINSTR,
                        .begin = file.text().begin,
                        .size_bytes = file.text().size_bytes};
  const size_t code_section = elf.Add(".text", code, {});
  // Stands for the code of a program, which nothing here reads.
  if (file.has_code()) elf.Add(".code", {.flags = SHF_EXECINSTR}, "code");
  if (!file.uuid().empty()) AddBuildId(file.uuid(), &elf);
  AddDwarf(file, &elf);
  AddFunctions(file, code_section, &elf);
  return MachOImage{elf.Finish(file.machine(), file.text().begin, file.text().size_bytes), file.text().begin};
}

}  // namespace lagwatch::collector
