// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/class_file.h"

#include <cstddef>

namespace lagwatch::sdk::jvm {
namespace {

// Reads big-endian numbers; behind the end it reads zeros, and is broken.
class ClassFileReader {
 public:
  explicit ClassFileReader(std::span<const unsigned char> rest) : rest_(rest) {}

  uint32_t Take(size_t bytes) {
    uint32_t number = 0;
    for (const unsigned char byte : Bytes(bytes)) number = number << 8 | byte;
    return number;
  }
  std::span<const unsigned char> Bytes(size_t bytes) {
    if (bytes > rest_.size()) is_broken_ = true;
    if (is_broken_) return {};
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  bool is_broken() const { return is_broken_; }

 private:
  std::span<const unsigned char> rest_;
  bool is_broken_ = false;
};

// The texts of the constant pool, by their numbers.
std::vector<std::string> TakeTexts(ClassFileReader* reader) {
  constexpr uint32_t kText = 1;
  // Bytes behind the tag, by the tag; those of 5 and 6 take two numbers.
  constexpr uint8_t kSizes[] = {0, 0, 0, 4, 4, 8, 8, 2, 2, 4, 4, 4, 4, 0, 0, 3, 2, 4, 4, 2, 2};
  const uint32_t count = reader->Take(2);
  std::vector<std::string> texts(count);
  for (uint32_t i = 1; i < count && !reader->is_broken(); ++i) {
    const uint32_t tag = reader->Take(1);
    if (tag == kText) {
      const auto bytes = reader->Bytes(reader->Take(2));
      texts[i].assign(bytes.begin(), bytes.end());
    } else if (tag >= std::size(kSizes) || kSizes[tag] == 0) {
      return {};
    } else {
      reader->Bytes(kSizes[tag]);
      if (kSizes[tag] == 8) ++i;
    }
  }
  return texts;
}

// Of a field or a method.
ClassFileMethod TakeMember(ClassFileReader* reader, const std::vector<std::string>& texts) {
  const auto text = [&](uint32_t index) { return index < texts.size() ? texts[index] : std::string(); };
  ClassFileMethod member;
  member.modifiers = static_cast<uint16_t>(reader->Take(2));
  member.name = text(reader->Take(2));
  member.descriptor = text(reader->Take(2));
  const uint32_t attributes = reader->Take(2);
  for (uint32_t i = 0; i < attributes && !reader->is_broken(); ++i) {
    const std::string name = text(reader->Take(2));
    ClassFileReader attribute(reader->Bytes(reader->Take(4)));
    if (name != "Code") continue;
    attribute.Bytes(4);  // the sizes of stack and locals
    const auto code = attribute.Bytes(attribute.Take(4));
    member.code.assign(code.begin(), code.end());
  }
  return member;
}

}  // namespace

std::vector<ClassFileMethod> ReadClassFileMethods(std::span<const unsigned char> file) {
  ClassFileReader reader(file);
  reader.Bytes(8);  // magic and versions
  const std::vector<std::string> texts = TakeTexts(&reader);
  if (texts.empty()) return {};
  reader.Bytes(6);  // modifiers, the class, its superclass
  reader.Bytes(2 * size_t{reader.Take(2)});
  std::vector<ClassFileMethod> members;
  for (const bool are_methods : {false, true}) {
    members.clear();
    const uint32_t count = reader.Take(2);
    for (uint32_t i = 0; i < count && !reader.is_broken(); ++i) members.push_back(TakeMember(&reader, texts));
    if (are_methods && reader.is_broken()) members.clear();
  }
  return members;
}

}  // namespace lagwatch::sdk::jvm
