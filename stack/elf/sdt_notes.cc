// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/sdt_notes.h"

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace lagwatch::stack {
namespace {

constexpr std::string_view kOwner("stapsdt", 8);  // with its end
constexpr uint32_t kType = 3;

size_t Padded(size_t size) { return (size + 3) & ~size_t{3}; }

// Takes the text up to its end.
std::optional<std::string> TakeText(std::string_view* rest) {
  const size_t end = rest->find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  std::string text(rest->substr(0, end));
  rest->remove_prefix(end + 1);
  return text;
}

// `base`: where the section is that the note's addresses go by.
std::optional<SdtNote> ParseNote(std::string_view description, std::optional<uint64_t> base) {
  struct {
    uint64_t address;
    uint64_t base;
    uint64_t semaphore;
  } fixed;
  if (description.size() < sizeof fixed) return std::nullopt;
  std::memcpy(&fixed, description.data(), sizeof fixed);
  description.remove_prefix(sizeof fixed);
  auto provider = TakeText(&description);
  auto name = provider ? TakeText(&description) : std::nullopt;
  auto arguments = name ? TakeText(&description) : std::nullopt;
  if (!arguments) return std::nullopt;
  const uint64_t moved = base ? *base - fixed.base : 0;  // by a program that changed the file afterwards
  return SdtNote{.address = fixed.address + moved,
                 .semaphore = fixed.semaphore == 0 ? 0 : fixed.semaphore + moved,
                 .provider = std::move(*provider),
                 .name = std::move(*name),
                 .arguments = std::move(*arguments)};
}

}  // namespace

std::vector<SdtNote> ReadSdtNotes(const ElfFile& file) {
  std::vector<SdtNote> notes;
  const auto section = file.ReadSection(std::string_view(".note.stapsdt"));
  if (!section) return notes;
  const auto base_section = file.ReadSection(std::string_view(".stapsdt.base"));
  const auto base = base_section ? std::optional(base_section->address) : std::nullopt;
  std::string_view rest = section->bytes;
  std::array<uint32_t, 3> header{};  // sizes of the owner and the description, type
  while (rest.size() >= sizeof header) {
    std::memcpy(header.data(), rest.data(), sizeof header);
    rest.remove_prefix(sizeof header);
    const size_t owner_bytes = Padded(header[0]);
    const size_t whole_bytes = owner_bytes + Padded(header[1]);
    if (whole_bytes > rest.size()) break;
    const bool is_note = header[2] == kType && rest.substr(0, header[0]) == kOwner;
    auto note = is_note ? ParseNote(rest.substr(owner_bytes, header[1]), base) : std::nullopt;
    if (note) notes.push_back(std::move(*note));
    rest.remove_prefix(whole_bytes);
  }
  return notes;
}

}  // namespace lagwatch::stack
