// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/local_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "stack/elf/function_symbol.h"
#include "tests/stack/elf_subject.h"
#include "tests/stack/symbol_oracle.h"
#include "tests/testing/temp_directory.h"

extern "C" {
int LwGlobalOfThree() { return 3; }
int LwAliasOfThree() __attribute__((weak, visibility("default"), alias("LwGlobalOfThree")));
static int LwLocalOfTwo() asm("LwLocalOfTwo");  // clang mangles it
static int LwLocalOfTwo() { return 2; }
int LwAliasOfTwo() __attribute__((weak, visibility("default"), alias("LwLocalOfTwo")));

extern const char LwOuter[], LwInner[], LwAfterInner[];
}

// A function inside another one.
asm(R"(
.text
.type LwOuter, %function
LwOuter:
  nop
.type LwInner, %function
LwInner:
  nop
.size LwInner, . - LwInner
LwAfterInner:
  nop
.size LwOuter, . - LwOuter
)");

namespace lagwatch::stack {
namespace {

using lagwatch::testing::FunctionsByNm;
using lagwatch::testing::HiddenFunctions;
using lagwatch::testing::kElfSubject;
using lagwatch::testing::kElfSubjectBuildId;
using lagwatch::testing::ListedSymbol;
using lagwatch::testing::LoadedModule;
using lagwatch::testing::ModuleOf;
using lagwatch::testing::ScopedTempDirectory;
using lagwatch::testing::StripToMiniDebugInfo;

bool IsListed(const std::vector<ListedSymbol>& symbols, uint64_t offset, const std::string& name) {
  for (const ListedSymbol& symbol : symbols) {
    if (symbol.name == name && offset >= symbol.begin && offset < symbol.end) return true;
  }
  return false;
}

void ExpectNamesAgree(const LoadedModule& module, const std::vector<ListedSymbol>& symbols) {
  LocalSymbols local;
  std::multimap<uint64_t, std::string> names_at;
  uint64_t last = 0;
  for (const ListedSymbol& symbol : symbols) {
    names_at.emplace(symbol.begin, symbol.name);
    last = std::max(last, symbol.end);
  }
  size_t step = std::max<size_t>(1, symbols.size() / 2'000);
  for (size_t i = 0; i < symbols.size(); i += step) {
    const ListedSymbol& symbol = symbols[i];
    auto first_byte = local.NameOf(module.path, module.build_id, symbol.begin);
    ASSERT_TRUE(first_byte.has_value()) << symbol.name;
    auto [from, to] = names_at.equal_range(symbol.begin);
    EXPECT_TRUE(std::any_of(from, to, [&](const auto& entry) { return entry.second == *first_byte; }))
        << symbol.name << " was named " << *first_byte;
    auto last_byte = local.NameOf(module.path, module.build_id, symbol.end - 1);
    ASSERT_TRUE(last_byte.has_value()) << symbol.name;
    EXPECT_TRUE(IsListed(symbols, symbol.end - 1, *last_byte)) << symbol.name << " was named " << *last_byte;
  }
  EXPECT_FALSE(local.NameOf(module.path, module.build_id, 0).has_value());
  constexpr uint64_t kBeyondFini = 1 << 20;  // which is not listed, because it has no size
  EXPECT_FALSE(local.NameOf(module.path, module.build_id, last + kBeyondFini).has_value());
}

template <typename Code>
uint64_t OffsetOf(Code* code, const LoadedModule& module) {
  return reinterpret_cast<uint64_t>(code) - module.load_bias;
}

const LoadedModule& Self() {
  static const LoadedModule self = ModuleOf(reinterpret_cast<const void*>(&LwGlobalOfThree));
  return self;
}

const LoadedModule& LibC() {
  static const LoadedModule libc = ModuleOf(dlsym(RTLD_DEFAULT, "getpid"));
  return libc;
}

std::string DebugFileOf(const LoadedModule& module) {
  std::ostringstream path;
  path << "/usr/lib/debug/.build-id/" << std::hex;
  for (size_t i = 0; i < module.build_id.size(); ++i) {
    int byte = static_cast<unsigned char>(module.build_id[i]);
    path << (i == 1 ? "/" : "") << (byte < 16 ? "0" : "") << byte;
  }
  return path.str() + ".debug";
}

TEST(LocalSymbols, AgreesWithNmOnThisProgram) {
  auto symbols = FunctionsByNm("", Self().path);
  ASSERT_GT(symbols.size(), 100u);
  ASSERT_FALSE(Self().build_id.empty());
  ExpectNamesAgree(Self(), symbols);
}

TEST(LocalSymbols, AgreesWithNmOnLibC) {
  auto symbols = FunctionsByNm("-D", LibC().path);
  ASSERT_GT(symbols.size(), 1000u);
  auto more =
      FunctionsByNm("", std::filesystem::exists(DebugFileOf(LibC())) ? DebugFileOf(LibC()) : LibC().path);
  symbols.insert(symbols.end(), more.begin(), more.end());
  ExpectNamesAgree(LibC(), symbols);
}

// The kernel knows it as the action's restorer, where the C library has one.
TEST(LocalSymbols, TheFrameOfASignalIsNamed) {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } action = {};
  ASSERT_NE(signal(SIGWINCH, [](int) {}), SIG_ERR);
  ASSERT_EQ(syscall(SYS_rt_sigaction, SIGWINCH, nullptr, &action, sizeof action.mask), 0);
  signal(SIGWINCH, SIG_DFL);
  constexpr unsigned long kHasRestorer = 0x04000000;
  if ((action.flags & kHasRestorer) == 0) GTEST_SKIP() << "the kernel's own code is returned to";
  const LoadedModule module = ModuleOf(reinterpret_cast<const void*>(action.restorer));
  // A stack has the byte before it, as of any return address.
  EXPECT_EQ(LocalSymbols().NameOf(module.path, module.build_id, OffsetOf(action.restorer, module) - 1),
            kSignalFrameName);
}

TEST(LocalSymbols, TheSeparateDebugFileNamesWhatTheModuleDoesNot) {
  if (!std::filesystem::exists(DebugFileOf(LibC()))) GTEST_SKIP() << "libc6-dbg is not installed";
  std::map<uint64_t, std::string> exported;
  for (const ListedSymbol& symbol : FunctionsByNm("-D", LibC().path)) exported[symbol.begin] = symbol.name;
  LocalSymbols local;
  size_t named = 0;
  for (const ListedSymbol& symbol : FunctionsByNm("", DebugFileOf(LibC()))) {
    if (!exported.contains(symbol.begin))
      named += local.NameOf(LibC().path, LibC().build_id, symbol.begin).has_value();
  }
  EXPECT_GT(named, 1000u);
}

TEST(LocalSymbols, MiniDebugInfoNamesWhatAStrippedModuleDoesNot) {
  ScopedTempDirectory directory;
  LoadedModule stripped{directory / "stripped", kElfSubjectBuildId};
  StripToMiniDebugInfo(kElfSubject, stripped.path);
  ASSERT_EQ(FunctionsByNm("", stripped.path).size(), 0u);
  auto functions = FunctionsByNm("", kElfSubject);
  EXPECT_LT(HiddenFunctions(kElfSubject).size(), functions.size());
  EXPECT_GE(HiddenFunctions(kElfSubject).size(), 3u);
  ExpectNamesAgree(stripped, functions);
}

TEST(LocalSymbols, MiniDebugInfoNamesThisProgram) {
  ScopedTempDirectory directory;
  LoadedModule stripped{directory / "stripped", Self().build_id};
  StripToMiniDebugInfo(Self().path, stripped.path);
  auto functions = FunctionsByNm("", Self().path);
  ASSERT_GT(functions.size(), 100u);
  ExpectNamesAgree(stripped, functions);
}

TEST(LocalSymbols, PrefersGlobalToLocalToWeakNames) {
  EXPECT_EQ(LwAliasOfThree() + LwLocalOfTwo() + LwAliasOfTwo(), 7);
  LocalSymbols local;
  auto name_of = [&](auto* function) {
    return local.NameOf(Self().path, Self().build_id, OffsetOf(function, Self())).value_or("");
  };
  EXPECT_EQ(name_of(&LwGlobalOfThree), "LwGlobalOfThree");
  EXPECT_EQ(name_of(&LwLocalOfTwo), "LwLocalOfTwo");
}

TEST(LocalSymbols, TheInnermostFunctionIsNamed) {
  LocalSymbols local;
  auto name_of = [&](const char* place) {
    return local.NameOf(Self().path, Self().build_id, OffsetOf(place, Self())).value_or("");
  };
  EXPECT_EQ(name_of(LwOuter), "LwOuter");
  EXPECT_EQ(name_of(LwInner), "LwInner");
  EXPECT_EQ(name_of(LwAfterInner), "LwOuter");
}

TEST(LocalSymbols, AnotherBuildIsNotNamed) {
  LocalSymbols local;
  uint64_t offset = OffsetOf(&LwGlobalOfThree, Self());
  std::string other = Self().build_id;
  other.back() = static_cast<char>(other.back() + 1);
  EXPECT_FALSE(local.NameOf(Self().path, other, offset).has_value());
  EXPECT_FALSE(local.NameOf(Self().path, "", offset).has_value());
  EXPECT_TRUE(local.NameOf(Self().path, Self().build_id, offset).has_value());
}

TEST(LocalSymbols, WhatIsNoModuleIsNotNamed) {
  ScopedTempDirectory directory;
  std::ofstream(directory / "empty").flush();
  std::ofstream(directory / "text") << std::string(1000, 'x');
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  LocalSymbols local;
  for (const char* name : {"", "empty", "text", "pipe", "missing"}) {
    EXPECT_FALSE(local.NameOf(directory / name, "", 0x1000).has_value()) << name;
  }
  EXPECT_FALSE(local.NameOf("[vdso]", "", 0x1000).has_value());
}

TEST(LocalSymbols, MoreModulesThanAreKeptAreStillNamed) {
  ScopedTempDirectory directory;
  LocalSymbols local;
  uint64_t offset = OffsetOf(&LwGlobalOfThree, Self());
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 70; ++i) {
      std::string link = directory / std::to_string(i);
      if (round == 0) std::filesystem::create_symlink(Self().path, link);
      EXPECT_EQ(local.NameOf(link, Self().build_id, offset), "LwGlobalOfThree");
    }
  }
}

TEST(LocalSymbols, DamagedFilesYieldNamesOrNone) {
  ScopedTempDirectory directory;
  LoadedModule victim = ModuleOf(dlsym(RTLD_DEFAULT, "_Unwind_Resume"));
  const std::string good = testing::ReadFile(victim.path);
  const auto symbols = FunctionsByNm("-D", victim.path);
  ASSERT_FALSE(symbols.empty());
  ElfW(Ehdr) header;
  std::memcpy(&header, good.data(), sizeof header);
  std::mt19937 random(7);
  int named = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    // The headers and the section table decide what is read: half of the damage is done there.
    auto place = [&]() -> size_t {
      switch (random() % 4) {
        case 0:
          return random() % sizeof header;
        case 1:
          return header.e_shoff + random() % (header.e_shnum * sizeof(ElfW(Shdr)));
        default:
          return random() % bytes.size();
      }
    };
    for (size_t flips = 1 + random() % 20; flips > 0; --flips) bytes[place()] = static_cast<char>(random());
    if (round % 8 == 0) bytes.resize(random() % bytes.size());
    std::string damaged = directory / "damaged.so";
    std::ofstream(damaged, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    LocalSymbols local;
    for (const ListedSymbol& symbol : symbols) {
      named += local.NameOf(damaged, victim.build_id, symbol.begin).has_value();
    }
  }
  EXPECT_GT(named, 0);
}

}  // namespace
}  // namespace lagwatch::stack
