// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/damage/page_scan.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string_view>

namespace lagwatch::collector {
namespace {

constexpr uint8_t kLeafOfTable = 0x0d;
constexpr size_t kHeadBytes = 8;
constexpr uint64_t kMostBlobBytes = 256 << 20;
constexpr uint64_t kFirstBlobType = 12;  // of a BLOB of N bytes: 12 + 2 N

uint64_t BigEndian(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

// Takes SQLite's variable-length number off the front.
std::optional<uint64_t> TakeNumber(std::string_view* bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < 9; ++i) {
    if (i == bytes->size()) return std::nullopt;
    const auto byte = static_cast<uint8_t>((*bytes)[i]);
    number = i == 8 ? number << 8 | byte : number << 7 | (byte & 0x7f);
    if (byte < 0x80 || i == 8) {
      bytes->remove_prefix(i + 1);
      return number;
    }
  }
  return std::nullopt;
}

class PageScan {
 public:
  explicit PageScan(const std::string& path) : file_(path, std::ios::binary) {
    char head[100] = {};
    file_.read(head, sizeof head);
    const uint64_t size = BigEndian({head + 16, 2});
    const bool is_power = size >= 512 && (size & (size - 1)) == 0;
    page_bytes_ = is_power ? size : 4096;  // as the collector makes them
  }

  bool is_open() const { return file_.is_open(); }

  void Run(const std::function<void(int64_t, const std::string&)>& visit) {
    std::string page;
    for (uint64_t number = 1; ReadPage(number, &page); ++number) {
      const size_t begin = number == 1 ? 100 : 0;
      if (static_cast<uint8_t>(page[begin]) != kLeafOfTable) continue;
      const uint64_t cells = BigEndian(std::string_view(page).substr(begin + 3, 2));
      for (uint64_t i = 0; i < cells; ++i) {
        const size_t pointer = begin + kHeadBytes + 2 * i;
        if (pointer + 2 > page.size()) break;
        const uint64_t at = BigEndian(std::string_view(page).substr(pointer, 2));
        if (at < page.size()) VisitCell(std::string_view(page).substr(at), visit);
      }
    }
  }

 private:
  bool ReadPage(uint64_t number, std::string* page) {
    page->resize(page_bytes_);
    file_.clear();
    file_.seekg(static_cast<std::streamoff>((number - 1) * page_bytes_));
    file_.read(page->data(), static_cast<std::streamsize>(page_bytes_));
    return file_.gcount() == static_cast<std::streamsize>(page_bytes_);
  }

  void VisitCell(std::string_view cell, const std::function<void(int64_t, const std::string&)>& visit) {
    const auto size = TakeNumber(&cell);
    const auto row = size ? TakeNumber(&cell) : std::nullopt;
    if (!row || *size > kMostBlobBytes) return;
    const auto content = WholeContent(cell, *size);
    if (!content) return;
    std::string_view rest = *content;
    const auto head_bytes = TakeNumber(&rest);
    if (!head_bytes || *head_bytes > content->size()) return;
    std::string_view types = std::string_view(*content).substr(content->size() - rest.size());
    const size_t taken = content->size() - rest.size();
    if (*head_bytes < taken) return;
    types = types.substr(0, *head_bytes - taken);
    const auto key_type = TakeNumber(&types);
    const auto blob_type = key_type ? TakeNumber(&types) : std::nullopt;
    if (!blob_type || *key_type != 0 || !types.empty()) return;
    if (*blob_type < kFirstBlobType || *blob_type % 2 != 0) return;
    if ((*blob_type - kFirstBlobType) / 2 != content->size() - *head_bytes) return;
    visit(static_cast<int64_t>(*row), content->substr(*head_bytes));
  }

  // With what is on other pages.
  std::optional<std::string> WholeContent(std::string_view cell, uint64_t size) {
    const uint64_t most_local = page_bytes_ - 35;
    if (size <= most_local) {
      if (size > cell.size()) return std::nullopt;
      return std::string(cell.substr(0, size));
    }
    const uint64_t least_local = (page_bytes_ - 12) * 32 / 255 - 23;
    uint64_t local = least_local + (size - least_local) % (page_bytes_ - 4);
    if (local > most_local) local = least_local;
    if (local + 4 > cell.size()) return std::nullopt;
    std::string content(cell.substr(0, local));
    uint64_t next = BigEndian(cell.substr(local, 4));
    std::string page;
    while (content.size() < size) {
      if (next == 0 || !ReadPage(next, &page)) return std::nullopt;
      next = BigEndian(std::string_view(page).substr(0, 4));
      content.append(page, 4, std::min<uint64_t>(size - content.size(), page_bytes_ - 4));
    }
    return content;
  }

  std::ifstream file_;
  uint64_t page_bytes_ = 0;
};

}  // namespace

base::Status ScanBlobRows(const std::string& path,
                          const std::function<void(int64_t row, const std::string& blob)>& visit) {
  PageScan scan(path);
  if (!scan.is_open()) return base::IoError("cannot read " + path, errno);
  scan.Run(visit);
  return {};
}

}  // namespace lagwatch::collector
