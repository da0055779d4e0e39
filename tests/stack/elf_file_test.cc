// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/elf_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "tests/stack/elf_subject.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::stack {
namespace {

using lagwatch::testing::kElfSubject;
using lagwatch::testing::kElfSubjectBuildId;
using lagwatch::testing::ReadFile;
using lagwatch::testing::ScopedTempDirectory;
using lagwatch::testing::SectionByObjcopy;
using lagwatch::testing::Shell;
using lagwatch::testing::StripToMiniDebugInfo;
using lagwatch::testing::WriteFile;

Elf64_Ehdr HeaderOf(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

std::string WithHeader(std::string bytes, const Elf64_Ehdr& header) {
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(ElfFile, KnowsItsBuildId) {
  EXPECT_EQ(ElfFile::Open(kElfSubject)->BuildId(), kElfSubjectBuildId);
  EXPECT_TRUE(ElfFile::OpenBuild(kElfSubject, kElfSubjectBuildId).has_value());
  EXPECT_FALSE(ElfFile::OpenBuild(kElfSubject, kElfSubjectBuildId.substr(1)).has_value());
  EXPECT_FALSE(ElfFile::OpenBuild(kElfSubject, "").has_value());
}

TEST(ElfFile, WithoutABuildIdIsOpenedByNone) {
  ScopedTempDirectory directory;
  Shell("objcopy --remove-section .note.gnu.build-id " + kElfSubject + " " + directory / "none");
  EXPECT_EQ(ElfFile::Open(directory / "none")->BuildId(), "");
  EXPECT_TRUE(ElfFile::OpenBuild(directory / "none", "").has_value());
  EXPECT_FALSE(ElfFile::OpenDebugFile("", directory.path()).has_value());
}

TEST(ElfFile, SectionsAreThoseThatObjcopyReads) {
  ScopedTempDirectory directory;
  auto file = ElfFile::Open(kElfSubject);
  for (const char* name : {".text", ".dynsym", ".dynstr", ".debug_frame", ".comment"}) {
    auto section = file->ReadSection(name);
    ASSERT_TRUE(section.has_value()) << name;
    EXPECT_FALSE(section->bytes.empty()) << name;
    EXPECT_TRUE(section->bytes == SectionByObjcopy(kElfSubject, name, directory / "section")) << name;
  }
  auto symbols = file->ReadSection(SHT_DYNSYM);
  EXPECT_TRUE(symbols->bytes == file->ReadSection(".dynsym")->bytes);
  EXPECT_TRUE(file->ReadSectionAt(symbols->link)->bytes == file->ReadSection(".dynstr")->bytes);
  EXPECT_NE(file->ReadSection(".text")->address, 0u);
  EXPECT_EQ(file->ReadSection(".debug_frame")->address, 0u);
}

TEST(ElfFile, WhatHasNoBytesIsNoSection) {
  auto file = ElfFile::Open(kElfSubject);
  for (const char* name : {"", ".bss", ".tex", ".textt", ".missing"}) {
    EXPECT_FALSE(file->ReadSection(name).has_value()) << name;
  }
  EXPECT_FALSE(file->ReadSection(uint32_t{SHT_NULL}).has_value());
  EXPECT_FALSE(file->ReadSection(uint32_t{SHT_NOBITS}).has_value());
  EXPECT_FALSE(file->ReadSectionAt(HeaderOf(ReadFile(kElfSubject)).e_shnum).has_value());
  EXPECT_FALSE(file->ReadSectionAt(SIZE_MAX).has_value());
}

TEST(ElfFile, CompressedSectionsAreDecompressed) {
  ScopedTempDirectory directory;
  Shell("objcopy --compress-debug-sections=zlib " + kElfSubject + " " + directory / "compressed");
  auto plain = ElfFile::Open(kElfSubject)->ReadSection(".debug_info");
  auto compressed = ElfFile::Open(directory / "compressed");
  ASSERT_TRUE(plain && compressed);
  EXPECT_FALSE(plain->bytes.empty());
  EXPECT_EQ(ReadFile(directory / "compressed").find(plain->bytes), std::string::npos);
  EXPECT_TRUE(compressed->ReadSection(".debug_info")->bytes == plain->bytes);
}

TEST(ElfFile, OfAnotherKindOfMachineIsNone) {
  ScopedTempDirectory directory;
  const std::string good = ReadFile(kElfSubject);
  const std::string path = directory / "file";
  auto opens = [&](auto change) {
    Elf64_Ehdr header = HeaderOf(good);
    change(&header);
    WriteFile(path, WithHeader(good, header));
    return ElfFile::Open(path).has_value();
  };
  EXPECT_TRUE(opens([](Elf64_Ehdr*) {}));
  EXPECT_FALSE(opens([](Elf64_Ehdr* header) { header->e_ident[EI_MAG3] = 'f'; }));
  EXPECT_FALSE(opens([](Elf64_Ehdr* header) { header->e_ident[EI_CLASS] = ELFCLASS32; }));
  EXPECT_FALSE(opens([](Elf64_Ehdr* header) { header->e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB; }));
  EXPECT_FALSE(opens([](Elf64_Ehdr* header) { header->e_shentsize = sizeof(Elf32_Shdr); }));
  EXPECT_FALSE(opens([](Elf64_Ehdr* header) { header->e_shoff = UINT64_MAX - 8; }));
  EXPECT_FALSE(opens([](Elf64_Ehdr* header) { header->e_shnum = UINT16_MAX; }));
}

TEST(ElfFile, ThatShrinksWhileItIsOpenLacksSections) {
  ScopedTempDirectory directory;
  const std::string path = directory / "shrinking";
  std::filesystem::copy_file(kElfSubject, path);
  auto file = ElfFile::Open(path);
  ASSERT_TRUE(file->ReadSection(".text").has_value());
  std::filesystem::resize_file(path, sizeof(Elf64_Ehdr));
  EXPECT_FALSE(file->ReadSection(".text").has_value());
  EXPECT_EQ(file->BuildId(), "");
}

TEST(MiniDebugInfo, IsAFileInsideAFile) {
  ScopedTempDirectory directory;
  StripToMiniDebugInfo(kElfSubject, directory / "stripped");
  EXPECT_FALSE(ElfFile::Open(kElfSubject)->OpenMiniDebugInfo().has_value());
  auto stripped = ElfFile::Open(directory / "stripped");
  EXPECT_FALSE(stripped->ReadSection(SHT_SYMTAB).has_value());
  auto mini = stripped->OpenMiniDebugInfo();
  ASSERT_TRUE(mini.has_value());
  EXPECT_TRUE(mini->ReadSection(SHT_SYMTAB).has_value());
  EXPECT_FALSE(mini->OpenMiniDebugInfo().has_value());
  ElfFile moved = std::move(*mini);
  EXPECT_TRUE(moved.ReadSection(".symtab").has_value());
}

TEST(MiniDebugInfo, ThatIsNoFileIsNone) {
  ScopedTempDirectory directory;
  const std::string module = directory / "module";
  for (const std::string& content : {std::string("text"), ReadFile(kElfSubject).substr(0, 40)}) {
    WriteFile(directory / "content", content);
    Shell("xz --force --keep " + directory / "content");
    for (const char* name : {"content", "content.xz"}) {
      Shell("objcopy --add-section .gnu_debugdata=" + directory / name + " " + kElfSubject + " " + module);
      ASSERT_TRUE(ElfFile::Open(module)->ReadSection(".gnu_debugdata").has_value());
      EXPECT_FALSE(ElfFile::Open(module)->OpenMiniDebugInfo().has_value());
    }
  }
}

// The damage is done to the inner file, where no checksum of xz's would notice it.
TEST(MiniDebugInfo, DamagedFilesYieldSectionsOrNone) {
  ScopedTempDirectory directory;
  StripToMiniDebugInfo(kElfSubject, directory / "stripped");
  const std::string good = *DecompressXz(ReadFile(directory / "stripped.mini.xz"));
  const Elf64_Ehdr header = HeaderOf(good);
  std::mt19937 random(5);
  int read_count = 0;
  int refused_count = 0;
  for (int round = 0; round < 60; ++round) {
    std::string bytes = good;
    for (int flips = 1 + static_cast<int>(random() % 12); flips > 0; --flips) {
      size_t place = random() % 2 == 0 ? random() % sizeof header
                                       : header.e_shoff + random() % (header.e_shnum * sizeof(Elf64_Shdr));
      bytes[place] = static_cast<char>(random());
    }
    WriteFile(directory / "mini", bytes);
    Shell("xz -0 --force " + directory / "mini");
    Shell("objcopy --add-section .gnu_debugdata=" + directory / "mini.xz " + kElfSubject + " " +
          directory / "damaged");
    auto mini = ElfFile::Open(directory / "damaged")->OpenMiniDebugInfo();
    if (mini) mini->BuildId();
    bool is_read = mini && mini->ReadSection(SHT_SYMTAB) && mini->ReadSection(".symtab");
    ++(is_read ? read_count : refused_count);
  }
  EXPECT_GT(read_count, 0);
  EXPECT_GT(refused_count, 0);
}

}  // namespace
}  // namespace lagwatch::stack
