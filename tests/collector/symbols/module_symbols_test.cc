// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/module_symbols.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "base/owned_fd.h"
#include "collector/symbols/elf/elf_facts.h"
#include "tests/collector/symbols/addr2line_oracle.h"
#include "tests/collector/symbols/subject_files.h"
#include "tests/stack/symbol_oracle.h"

namespace lagwatch::collector {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using testing::FramesByAddr2line;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;

class Module {
 public:
  explicit Module(const std::vector<std::string>& paths, const std::string& alt_path = "") {
    for (const std::string& path : paths) fds_.push_back(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!alt_path.empty()) alt_fd_ = open(alt_path.c_str(), O_RDONLY | O_CLOEXEC);
    symbols_ = std::move(ModuleSymbols::Open(fds_, alt_fd_).value());
  }
  ~Module() {
    symbols_.reset();
    for (int fd : fds_) close(fd);
    if (alt_fd_ >= 0) close(alt_fd_);
  }
  ModuleSymbols* operator->() { return symbols_.get(); }

 private:
  std::vector<int> fds_;
  int alt_fd_ = -1;
  std::unique_ptr<ModuleSymbols> symbols_;
};

// Places within functions; between them is padding, of which addr2line says what comes before it.
std::vector<uint64_t> RandomOffsets(const std::string& path, size_t count) {
  auto functions = testing::FunctionsByNm("", path);
  std::mt19937_64 random(7);
  std::vector<uint64_t> offsets;
  while (offsets.size() < count) {
    const auto& function = functions[random() % functions.size()];
    if (function.end > function.begin) {
      offsets.push_back(function.begin + random() % (function.end - function.begin));
    }
  }
  return offsets;
}

// The share of offsets with the same frames as in addr2line, in parts.
struct Agreement {
  size_t offsets = 0, all = 0, depth = 0, functions = 0, files = 0, lines = 0;
};

std::vector<NamedFrame> AtLeastOne(std::vector<NamedFrame> frames) {
  if (frames.empty()) frames.emplace_back();
  return frames;
}

// If DWARF has no linkage name, we have the symbol's or the namespaces; addr2line has the bare name, or at
// the innermost frame the symbol of the function that everything is inlined into.
bool IsSameFunction(const std::vector<NamedFrame>& ours, const std::vector<NamedFrame>& theirs, size_t i) {
  const std::string& name = ours[i].function;
  const std::string& their_name = theirs[i].function;
  if (name == their_name || name.ends_with("::" + their_name)) return true;
  const bool is_outermost = i + 1 == ours.size();
  if (is_outermost && !their_name.starts_with("_Z")) return name.starts_with("_Z");
  return i == 0 && their_name == ours.back().function;
}

template <typename IsSame>
bool AllFrames(const std::vector<NamedFrame>& ours, const std::vector<NamedFrame>& theirs, IsSame is_same) {
  bool all = ours.size() == theirs.size();
  for (size_t i = 0; all && i < ours.size(); ++i) all = is_same(i);
  return all;
}

std::string TextOf(const std::vector<NamedFrame>& frames) {
  std::ostringstream text;
  for (const NamedFrame& frame : frames) {
    text << "    " << frame.function << " " << frame.file << ":" << frame.line
         << (frame.is_inlined ? " (inlined)\n" : "\n");
  }
  return text.str();
}

Agreement Compare(Module* module, const std::string& oracle_path, const std::vector<uint64_t>& offsets) {
  Agreement agreement;
  auto expected = FramesByAddr2line(oracle_path, offsets);
  EXPECT_EQ(expected.size(), offsets.size());
  for (size_t i = 0; i < std::min(expected.size(), offsets.size()); ++i) {
    const auto ours = AtLeastOne((*module)->FramesAt(offsets[i]));
    const auto& theirs = expected[i];
    bool functions = AllFrames(ours, theirs, [&](size_t at) { return IsSameFunction(ours, theirs, at); });
    bool files = AllFrames(ours, theirs, [&](size_t at) {
      return ours[at].file == theirs[at].file || theirs[at].line == 0;  // the linker's name of an object file
    });
    bool lines = AllFrames(ours, theirs, [&](size_t at) { return ours[at].line == theirs[at].line; });
    ++agreement.offsets;
    agreement.depth += ours.size() == theirs.size();
    agreement.functions += functions;
    agreement.files += files;
    agreement.lines += lines;
    agreement.all += functions && files && lines;
    if (!(functions && lines) && agreement.offsets - agreement.all <= 8) {
      std::cout << std::hex << "0x" << offsets[i] << std::dec << "\n  ours:\n"
                << TextOf(ours) << "  addr2line:\n"
                << TextOf(theirs);
    }
  }
  std::cout << agreement.all << " of " << agreement.offsets << " offsets are as addr2line says (depth "
            << agreement.depth << ", functions " << agreement.functions << ", files " << agreement.files
            << ", lines " << agreement.lines << ")\n";
  return agreement;
}

// Of functions that linkers keep one copy of, addr2line names the file of the unit instead of the header's,
// with the header's line.
void ExpectAgreement(const Agreement& agreement) {
  EXPECT_EQ(agreement.depth, agreement.offsets);
  EXPECT_GE(agreement.functions, agreement.offsets * 995 / 1000);
  EXPECT_GE(agreement.lines, agreement.offsets * 995 / 1000);
  EXPECT_GE(agreement.files, agreement.offsets * 9 / 10);
}

TEST(ModuleSymbols, SaysWhatAddr2lineSays) {
  Module module({kProgram});
  Agreement agreement = Compare(&module, kProgram, RandomOffsets(kProgram, 3000));
  ExpectAgreement(agreement);
}

TEST(ModuleSymbols, SaysWhatAddr2lineSaysOfItsOwnCollector) {
#if defined(__clang__)
  GTEST_SKIP() << "addr2line leaves out some calls that clang inlined, and gives their lines to the caller";
#endif
  auto start = std::chrono::steady_clock::now();
  auto lap = [&start] {
    auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::micro>(now - std::exchange(start, now)).count();
  };
  std::vector<uint64_t> offsets = RandomOffsets(LAGWATCH_COLLECTOR_PROGRAM, 3000);
  lap();
  Module module({LAGWATCH_COLLECTOR_PROGRAM});
  std::cout << "opened in " << lap() << " us\n";
  for (uint64_t offset : offsets) module->FramesAt(offset);
  std::cout << "cold: " << lap() / static_cast<double>(offsets.size()) << " us an offset\n";
  for (uint64_t offset : offsets) module->FramesAt(offset);
  std::cout << "warm: " << lap() / static_cast<double>(offsets.size()) << " us an offset\n";
  Agreement agreement = Compare(&module, LAGWATCH_COLLECTOR_PROGRAM, offsets);
  ExpectAgreement(agreement);
}

// gcc gives a lambda's function no linkage name, and its class none at all.
TEST(ModuleSymbols, NamesAnInlinedLambdaByTheFunctionThatItIsWrittenIn) {
#if defined(__clang__)
  GTEST_SKIP() << "clang gives it a linkage name";
#endif
  Module module({kProgram});
  std::vector<std::string> lambdas;
  for (uint64_t offset : RandomOffsets(kProgram, 2000)) {
    for (const NamedFrame& frame : module->FramesAt(offset)) {
      const bool is_of_sum = frame.function.find("Sum") != std::string::npos;
      const bool is_lambda = frame.function.ends_with("operator()");
      if (frame.is_inlined && is_of_sum && is_lambda) lambdas.push_back(frame.function);
    }
  }
  ASSERT_FALSE(lambdas.empty());
  for (const std::string& lambda : lambdas)
    EXPECT_EQ(lambda, "subject::(anonymous namespace)::Sum::{lambda}::operator()");
}

TEST(ModuleSymbols, KnowsAStrippedProgramByItsDebugFile) {
  Module whole({kProgram});
  Module debug({kDebugFile});
  Module both({kStrippedFile, kDebugFile});
  size_t inlined = 0;
  for (uint64_t offset : RandomOffsets(kProgram, 1000)) {
    auto expected = whole->FramesAt(offset);
    EXPECT_EQ(debug->FramesAt(offset), expected);
    EXPECT_EQ(both->FramesAt(offset), expected);
    inlined += expected.size() > 1;
  }
  EXPECT_GT(inlined, 100u);
}

TEST(ModuleSymbols, HasFunctionsWithoutDwarfFromTheSymbolTable) {
  const auto functions = testing::FunctionsByNm("", kProgram);
  Module symbols({LAGWATCH_SYMBOLS_SUBJECT ".symtab"});
  Module mini({LAGWATCH_SYMBOLS_SUBJECT ".mini"});
  for (uint64_t offset : RandomOffsets(kProgram, 300)) {
    auto frames = symbols->FramesAt(offset);
    ASSERT_EQ(frames.size(), 1u) << offset;
    EXPECT_EQ(frames, mini->FramesAt(offset));
    EXPECT_THAT(functions, Contains(AllOf(Field(&testing::ListedSymbol::begin, Le(offset)),
                                          Field(&testing::ListedSymbol::end, Gt(offset)),
                                          Field(&testing::ListedSymbol::name, frames[0].function))));
  }
}

TEST(ModuleSymbols, ReadsCompressedSectionsAndOldDwarf) {
  Module whole({kProgram});
  Module compressed({LAGWATCH_SYMBOLS_SUBJECT ".compressed"});
  Module by_zstd({LAGWATCH_SYMBOLS_SUBJECT ".zstd"});
  for (uint64_t offset : RandomOffsets(kProgram, 300)) {
    EXPECT_EQ(compressed->FramesAt(offset), whole->FramesAt(offset));
    EXPECT_EQ(by_zstd->FramesAt(offset), whole->FramesAt(offset));
  }
  Module dwarf4({LAGWATCH_SYMBOLS_SUBJECT "_dwarf4"});
  ExpectAgreement(Compare(&dwarf4, LAGWATCH_SYMBOLS_SUBJECT "_dwarf4",
                          RandomOffsets(LAGWATCH_SYMBOLS_SUBJECT "_dwarf4", 1000)));
}

// Its code is that of the program that is not split.
TEST(ModuleSymbols, ReadsWhatTheCompilerSplitOff) {
  size_t inlined = 0;
  const auto compare = [&](const char* whole_path, const char* split_path) {
    Module whole({whole_path});
    Module split({split_path});
    for (uint64_t offset : RandomOffsets(whole_path, 500)) {
      const auto expected = whole->FramesAt(offset);
      EXPECT_EQ(split->FramesAt(offset), expected) << split_path << std::hex << " 0x" << offset;
      inlined += expected.size() > 1;
    }
  };
  compare(LAGWATCH_SYMBOLS_SUBJECT "_dwarf4", LAGWATCH_SYMBOLS_SUBJECT "_split4");
#if !defined(__clang__)  // the other program is of DWARF 4 then
  compare(kProgram, LAGWATCH_SYMBOLS_SUBJECT "_split");
#endif
  EXPECT_GT(inlined, 50u);
}

ElfFacts FactsOf(const std::string& path) {
  const base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return ReadElfFacts(file.get()).value();
}

// Changes the compressed .debug_info of a copy of the subject: its type, or its bytes.
ElfFacts FactsOfChanged(const std::function<void(Elf64_Chdr*, std::string_view bytes)>& change) {
  std::string bytes = testing::OutputOf("cat " LAGWATCH_SYMBOLS_SUBJECT ".zstd");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if ((section.sh_flags & SHF_COMPRESSED) == 0) continue;
    change(reinterpret_cast<Elf64_Chdr*>(bytes.data() + section.sh_offset),
           std::string_view(bytes).substr(section.sh_offset + sizeof(Elf64_Chdr), 64));
  }
  testing::ScopedTempDirectory directory;
  std::ofstream(directory / "changed", std::ios::binary) << bytes;
  return FactsOf(directory / "changed");
}

TEST(ElfFacts, SayWhatCannotBeRead) {
  for (const char* ending : {"", ".debug", ".compressed", ".zstd"}) {
    const ElfFacts facts = FactsOf(std::string(kProgram) + ending);
    EXPECT_TRUE(facts.is_readable) << ending;
    EXPECT_EQ(facts.note, "") << ending;
  }
  for (const char* ending : {"_split", "_split4"}) {
    const ElfFacts facts = FactsOf(std::string(kProgram) + ending);
    EXPECT_TRUE(facts.is_readable);
    EXPECT_THAT(facts.note, HasSubstr("split")) << ending;
  }
  const ElfFacts unknown = FactsOfChanged([](Elf64_Chdr* header, std::string_view) { header->ch_type = 9; });
  EXPECT_FALSE(unknown.is_readable);
  EXPECT_TRUE(unknown.has_names());  // by its symbol table
  EXPECT_THAT(unknown.note, HasSubstr("type 9"));
  const ElfFacts damaged = FactsOfChanged([](Elf64_Chdr*, std::string_view packed) {
    std::memset(const_cast<char*>(packed.data()), 0x55, packed.size());
  });
  EXPECT_FALSE(damaged.is_readable);
  EXPECT_THAT(damaged.note, HasSubstr("zstd"));
  const ElfFacts bomb =
      FactsOfChanged([](Elf64_Chdr* header, std::string_view) { header->ch_size = UINT64_MAX; });
  EXPECT_FALSE(bomb.is_readable);
  EXPECT_THAT(bomb.note, HasSubstr("larger than 1 GiB"));
  EXPECT_THAT(FactsOf(kStrippedFile).WhyNoNames(), HasSubstr("stripped"));
}

TEST(ModuleSymbols, ReadsWhatDwzMovedIntoAnotherFile) {
  const std::string moved = LAGWATCH_SYMBOLS_SUBJECT ".dwz";
  if (access(moved.c_str(), R_OK) != 0) GTEST_SKIP() << "dwz is not installed";
  Module whole({kProgram});
  Module with_alt({moved}, LAGWATCH_SYMBOLS_SUBJECT ".alt");
  EXPECT_EQ(with_alt->missing_alt_build_id(), "");
  for (uint64_t offset : RandomOffsets(kProgram, 300)) {
    EXPECT_EQ(with_alt->FramesAt(offset), whole->FramesAt(offset));
  }
  Module without_alt({moved});
  EXPECT_NE(without_alt->missing_alt_build_id(), "");
}

TEST(ModuleSymbols, SaysNothingOfPlacesThatAreNotCode) {
  Module module({kProgram});
  for (uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{0x40}, uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_THAT(module->FramesAt(offset), IsEmpty()) << offset;
  }
}

TEST(ModuleSymbols, RefusesWhatIsNoElfFile) {
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  auto opened = ModuleSymbols::Open(std::span(&fd, 1), -1);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), base::StatusCode::kInvalid);
  close(fd);
}

}  // namespace
}  // namespace lagwatch::collector
