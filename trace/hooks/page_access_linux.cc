// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/process/proc_file.h"
#include "trace/hooks/page_access.h"

namespace lagwatch::trace {
namespace {

std::string ReadMaps() {
  std::string text;
  const int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  constexpr size_t kStepBytes = 32 << 10;
  for (ssize_t size = 1; size > 0;) {
    const size_t before = text.size();
    text.resize(before + kStepBytes);
    size = read(fd, text.data() + before, kStepBytes);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
  close(fd);
  return text;
}

}  // namespace

PageAccess::Access PageAccess::Of(uint64_t address) {
  if (regions_.empty()) Read();
  auto region = std::upper_bound(regions_.begin(), regions_.end(), address,
                                 [](uint64_t at, const Region& other) { return at < other.end; });
  return region == regions_.end() || address < region->begin ? kUnknown : region->access;
}

void PageAccess::Read() {
  const std::string text = ReadMaps();
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    Region region{};
    if (!base::ConsumeHex(&line, &region.begin) || line.empty()) continue;
    line.remove_prefix(1);  // "begin-end rwxp …"
    if (!base::ConsumeHex(&line, &region.end) || line.size() < 3) continue;
    const std::string_view access = line.substr(1, 2);
    region.access = access == "r-" ? kReadOnly : access == "rw" ? kWritable : kUnknown;
    regions_.push_back(region);
  }
}

ScopedWritable::Result ScopedWritable::Open(bool is_finished) {
  if (result_ != kUndecided) return result_;
  result_ = kRefused;
  switch (pages_->Of(begin_)) {
    case PageAccess::kUnknown:
      break;
    case PageAccess::kWritable:
      result_ = is_finished ? kOpen : kStillLoading;
      break;
    case PageAccess::kReadOnly:
      is_changed_ = mprotect(reinterpret_cast<void*>(begin_), end_ - begin_, PROT_READ | PROT_WRITE) == 0;
      if (is_changed_) result_ = kOpen;
      break;
  }
  return result_;
}

ScopedWritable::~ScopedWritable() {
  if (is_changed_) mprotect(reinterpret_cast<void*>(begin_), end_ - begin_, PROT_READ);
}

}  // namespace lagwatch::trace
