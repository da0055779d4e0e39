// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

std::string MakeText(size_t line_count) {
  std::string text = "# Title\n";
  for (size_t i = 1; i < line_count; ++i) {
    text += "line " + std::to_string(i) + " of a text about loops that wait and users who wait with them\n";
  }
  return text;
}

[[gnu::noinline]] bool SaveFile(const std::string& path, const std::vector<std::string>& lines) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool is_saved = true;
  for (const std::string& line : lines) {
    is_saved = is_saved && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
               fsync(fd) == 0;
  }
  close(fd);
  return is_saved;
}

[[gnu::noinline]] std::vector<size_t> ParseOutline(const std::vector<std::string>& lines) {
  std::vector<size_t> headings(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    size_t heading = i;
    while (heading > 0 && lines[heading].front() != '#') --heading;
    headings[i] = heading;
  }
  return headings;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n') + 1, text.size());
    if (end == 0) end = text.size();
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}
