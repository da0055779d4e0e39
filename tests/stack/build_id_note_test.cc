// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/build_id_note.h"

#include <gtest/gtest.h>

#include <string>

namespace lagwatch::stack {
namespace {

std::string Note(uint32_t type, std::string owner, std::string description) {
  Elf64_Nhdr header{};
  header.n_namesz = static_cast<uint32_t>(owner.size());
  header.n_descsz = static_cast<uint32_t>(description.size());
  header.n_type = type;
  owner.resize((owner.size() + 3) / 4 * 4);
  description.resize((description.size() + 3) / 4 * 4);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + owner + description;
}

const std::string kGnu("GNU", 4);
const std::string kSome = Note(NT_GNU_ABI_TAG, kGnu, "12345") + Note(7, "stranger", "");
const std::string kBuildId = Note(NT_GNU_BUILD_ID, kGnu, "the id");

// The build id in `notes`, when `notes_size` of them are said to be there.
std::string BuildIdIn(const std::string& notes, uint64_t notes_size) {
  auto read = [&](uint64_t place, void* destination, size_t size_bytes) {
    if (place > notes.size() || size_bytes > notes.size() - place) return false;
    std::memcpy(destination, notes.data() + place, size_bytes);
    return true;
  };
  auto note = FindBuildIdNote(0, notes_size, read);
  if (!note) return "none";
  EXPECT_LE(note->place + note->size_bytes, notes_size);
  return notes.substr(note->place, note->size_bytes);
}

std::string BuildIdIn(const std::string& notes) { return BuildIdIn(notes, notes.size()); }

TEST(BuildIdNote, IsFoundAmongOthers) {
  EXPECT_EQ(BuildIdIn(kBuildId), "the id");
  EXPECT_EQ(BuildIdIn(kSome + kBuildId + kSome), "the id");
}

TEST(BuildIdNote, IsTheLinkersOwnKind) {
  EXPECT_EQ(BuildIdIn(""), "none");
  EXPECT_EQ(BuildIdIn(kSome), "none");
  EXPECT_EQ(BuildIdIn(Note(NT_GNU_BUILD_ID, "ABC", "x") + Note(NT_GNU_BUILD_ID, "", "x")), "none");
}

TEST(BuildIdNote, MoreNotesThanAreThereAreNotRead) {
  EXPECT_EQ(BuildIdIn(kSome, UINT64_MAX), "none");
  EXPECT_EQ(BuildIdIn(kSome + kBuildId, UINT64_MAX), "the id");
  EXPECT_EQ(BuildIdIn(kBuildId.substr(0, 17), 17), "none");
}

TEST(BuildIdNote, SizesThatReachBeyondTheNotesEndTheWalk) {
  for (size_t field : {offsetof(Elf64_Nhdr, n_namesz), offsetof(Elf64_Nhdr, n_descsz)}) {
    for (uint32_t size : {UINT32_MAX, UINT32_MAX - 3, 1000u}) {
      std::string hostile = kSome;
      std::memcpy(hostile.data() + field, &size, sizeof size);
      EXPECT_EQ(BuildIdIn(hostile + kBuildId), "none") << size;
    }
  }
}

TEST(BuildIdNote, ALongRowOfNotesIsGivenUp) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += kSome;
  EXPECT_EQ(BuildIdIn(many + kBuildId), "none");
}

}  // namespace
}  // namespace lagwatch::stack
