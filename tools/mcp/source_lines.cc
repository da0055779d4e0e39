// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp/source_lines.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLinesAround = 4;
constexpr uintmax_t kMostFileBytes = 8 << 20;
constexpr size_t kMostLineBytes = 300;

bool IsHidden(const fs::path& part) { return part.native().starts_with('.'); }

}  // namespace

SourceLines::SourceLines(std::vector<std::string> directories) {
  for (const std::string& directory : directories) {
    std::error_code error;
    fs::path path = fs::canonical(directory, error);
    if (!error) directories_.push_back(path.string());
  }
}

std::string SourceLines::Find(const std::string& file) const {
  std::vector<fs::path> parts;
  for (const fs::path& part : fs::path(file).relative_path().lexically_normal()) parts.push_back(part);
  if (parts.empty() || std::ranges::any_of(parts, IsHidden)) return "";
  for (size_t first = 0; first < parts.size(); ++first) {
    fs::path end;
    for (size_t i = first; i < parts.size(); ++i) end /= parts[i];
    for (const std::string& directory : directories_) {
      std::error_code error;
      const fs::path found = fs::canonical(fs::path(directory) / end, error);
      if (error || !fs::is_regular_file(found, error) || fs::file_size(found, error) > kMostFileBytes)
        continue;
      const fs::path inside = found.lexically_relative(directory);
      if (!inside.empty() && std::ranges::none_of(inside, IsHidden)) return found.string();
    }
  }
  return "";
}

std::string SourceLines::Around(const std::string& file, int64_t line) const {
  const std::string path = Find(file);
  if (path.empty() || line <= 0) return "";
  std::ifstream source(path);
  std::string lines;
  bool is_there = false;
  std::string text;
  for (int64_t number = 1; number <= line + kLinesAround && std::getline(source, text); ++number) {
    if (number < line - kLinesAround) continue;
    is_there = is_there || number == line;
    std::ranges::replace(text, '\t', ' ');
    lines += (number == line ? "> " : "  ") + std::to_string(number) + "  " +
             Printable(std::string_view(text).substr(0, kMostLineBytes)) + "\n";
  }
  return is_there ? lines : "";
}

}  // namespace lagwatch::tools
