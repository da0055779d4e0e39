// SPDX-License-Identifier: Apache-2.0
#include "sdk/android/src/main/cpp/message_tag.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::android {
namespace {

constexpr std::string_view kBegin = ">>>>> Dispatching to ";
constexpr std::string_view kHandler = "Handler (";

class TagWriter {
 public:
  explicit TagWriter(char (&tag)[kTagBytes]) : tag_(tag) { tag_[0] = '\0'; }

  void Append(std::string_view text) {
    const size_t count = std::min(text.size(), kTagBytes - 1 - size_);
    std::memcpy(tag_ + size_, text.data(), count);
    size_ += count;
    tag_[size_] = '\0';
  }

 private:
  char (&tag_)[kTagBytes];
  size_t size_ = 0;
};

// The class of an object's text "PACKAGE.CLASS@HASH", without its package.
std::string_view ClassOf(std::string_view object) {
  const std::string_view name = object.substr(0, object.find_first_of("@/ {"));
  return name.substr(name.rfind('.') + 1);
}

}  // namespace

void WriteMessageTag(std::string_view line, char (&tag)[kTagBytes]) {
  TagWriter writer(tag);
  const size_t class_end = line.find(')');
  if (!line.starts_with(kBegin) || !line.substr(kBegin.size()).starts_with(kHandler) ||
      class_end == line.npos) {
    writer.Append(line.starts_with(kBegin) ? line.substr(kBegin.size()) : line);
    return;
  }
  const size_t class_begin = kBegin.size() + kHandler.size();
  const std::string_view handler = ClassOf(line.substr(class_begin, class_end - class_begin));
  std::string_view rest = line.substr(class_end);
  const size_t callback_begin = rest.find("} ");
  rest = callback_begin == rest.npos ? "" : rest.substr(callback_begin + 2);
  const std::string_view callback = rest.starts_with("null") ? "" : ClassOf(rest);
  const size_t what_begin = rest.rfind(": ");
  const std::string_view what = what_begin == rest.npos ? "" : rest.substr(what_begin);
  const bool is_plain = handler == "Handler";
  writer.Append(callback);
  if (!callback.empty() && !is_plain) {
    writer.Append(" (");
    writer.Append(handler);
    writer.Append(")");
  } else if (callback.empty()) {
    writer.Append(handler);
  }
  if (callback.empty() || what != ": 0") writer.Append(what);
}

}  // namespace lagwatch::android
