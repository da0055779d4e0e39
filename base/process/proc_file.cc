// SPDX-License-Identifier: Apache-2.0
#include "base/process/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/system/proc_ids.h"

namespace lagwatch::base {
namespace {

bool Consume(std::string_view* text, uint64_t* value, int numeral_base) {
  size_t start = text->find_first_not_of(' ');
  if (start == std::string_view::npos) return false;
  std::string_view rest = text->substr(start);
  if (numeral_base == 16 && rest.starts_with("0x")) rest.remove_prefix(2);
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *value, numeral_base);
  if (error != std::errc()) return false;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  *text = rest;
  return true;
}

}  // namespace

TaskPath::TaskPath(const Thread& thread, const char* leaf) {
  const ProcessPath folder(thread.process, "task/");
  const size_t folder_size = std::strlen(folder.c_str());
  std::memcpy(text_, folder.c_str(), folder_size);
  const int32_t id = thread.process.is_own() ? ProcIdOfThread(thread.tid) : thread.tid;
  char* at = std::to_chars(text_ + folder_size, text_ + sizeof text_, id).ptr;
  *at++ = '/';
  size_t room = static_cast<size_t>(text_ + sizeof text_ - at);
  size_t size = strnlen(leaf, room - 1);
  std::memcpy(at, leaf, size);
  at[size] = '\0';
}

std::string_view ReadSmallFile(const char* path, char* buffer, size_t size_bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  size_t size = 0;
  while (size < size_bytes) {
    ssize_t got = read(fd, buffer + size, size_bytes - size);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  close(fd);
  return {buffer, size};
}

bool internal::ForEachLine(const char* path, std::span<char> buffer, LineVisitor visit, void* context) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t filled = 0;
  bool goes_on = true;
  while (goes_on) {
    const ssize_t got = read(fd, buffer.data() + filled, buffer.size() - filled);
    std::string_view text(buffer.data(), filled + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    for (size_t end; goes_on && (end = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(end + 1))
      goes_on = visit(text.substr(0, end), context);
    if (goes_on && !text.empty() && (got <= 0 || text.size() == buffer.size())) {
      goes_on = visit(text, context);
      text.remove_prefix(text.size());
    }
    if (got <= 0) break;
    std::memmove(buffer.data(), text.data(), text.size());
    filled = text.size();
  }
  close(fd);
  return true;
}

bool ConsumeHex(std::string_view* text, uint64_t* value) { return Consume(text, value, 16); }
bool ConsumeDecimal(std::string_view* text, uint64_t* value) { return Consume(text, value, 10); }

std::optional<uint64_t> NumberInLine(std::string_view lines, std::string_view key) {
  while (!lines.empty() && !lines.starts_with(key))
    lines.remove_prefix(std::min(lines.find('\n'), lines.size() - 1) + 1);
  if (lines.empty()) return std::nullopt;
  lines.remove_prefix(key.size());
  lines.remove_prefix(std::min(lines.find_first_not_of(" \t"), lines.size()));
  uint64_t number = 0;
  return ConsumeDecimal(&lines, &number) ? std::optional(number) : std::nullopt;
}

}  // namespace lagwatch::base
