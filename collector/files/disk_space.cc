// SPDX-License-Identifier: Apache-2.0
#include "collector/files/disk_space.h"

#include <sys/statvfs.h>

namespace lagwatch::collector {
namespace {

constexpr uint64_t kMib = 1 << 20;

}  // namespace

uint64_t DiskSpace::FreeBytes() const {
  struct statvfs status {};
  if (statvfs(directory_.c_str(), &status) != 0) return UINT64_MAX;
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

base::Status DiskSpace::Check() const {
  const uint64_t free_bytes = FreeBytes();
  if (free_bytes >= low_water_bytes_) return {};
  return {base::StatusCode::kUnavailable,
          "the disk of the data directory is full: " + std::to_string(free_bytes / kMib) +
              " MiB are free, and " + std::to_string(low_water_bytes_ / kMib) +
              " MiB (--min-free-mib) are kept free for the collector itself"};
}

}  // namespace lagwatch::collector
