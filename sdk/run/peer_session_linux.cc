// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string_view>

#include "base/process/proc_file.h"
#include "sdk/run/run_record.h"

namespace lagwatch::sdk {
namespace {

// Programs have some thousand mappings; this is a watchdog's time.
constexpr int kMostLines = 20'000;

// The address at which the process has mapped the record of its run; 0 without one.
uint64_t FindRunPage(const base::Process& process) {
  char lines[8 * 1024];
  uint64_t found = 0;
  int left = kMostLines;
  base::ForEachLine(base::ProcessPath(process, "maps").c_str(), lines, [&](std::string_view line) {
    const bool is_page = line.ends_with(kRunSuffix) && line.find(kRunDirectoryName) != std::string_view::npos;
    uint64_t begin = 0;
    if (is_page && base::ConsumeHex(&line, &begin)) found = begin;
    return found == 0 && --left > 0;
  });
  return found;
}

}  // namespace

base::Uuid SessionOfPeer(const base::Process& peer) {
  RunHeader header;
  const uint64_t page = FindRunPage(peer);
  const bool is_read = page != 0 && peer.ReadValue(page, &header) && IsWhole(header);
  return is_read ? header.session_id : base::Uuid{};
}

}  // namespace lagwatch::sdk
