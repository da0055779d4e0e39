// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/cause_key.h"

#include <algorithm>
#include <array>

#include "base/hash.h"

namespace lagwatch::policies {
namespace {

constexpr size_t kFrames = 2;

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

uint64_t HashFrame(const CauseFrame& frame, uint64_t hash) {
  // An address outside all modules is another one at each start.
  const bool is_in_module =
      (!frame.module_path.empty() && frame.module_path != kGeneratedCodeModule) || !frame.build_id.empty();
  std::string_view module = frame.build_id;
  if (module.empty() && is_in_module) module = FileName(frame.module_path);
  hash = base::HashBytes(module, base::HashWord(module.size(), hash));
  return base::HashWord(is_in_module ? frame.function_offset : 0, hash);
}

}  // namespace

bool IsCLibrary(std::string_view module_path) {
  constexpr std::array<std::string_view, 8> kBeginnings = {
      "libc.so", "libc-2.", "libc.musl", "libpthread.so", "libpthread-2.", "ld-linux", "ld-musl", "[vdso]"};
  const std::string_view name = FileName(module_path);
  return std::ranges::any_of(kBeginnings, [&](std::string_view start) { return name.starts_with(start); });
}

uint64_t CauseKey(std::span<const CauseFrame> frames) {
  if (frames.empty()) return 0;
  const auto first = std::ranges::find_if_not(frames, IsCLibrary, &CauseFrame::module_path);
  std::span<const CauseFrame> significant = first == frames.end() ? frames : std::span(first, frames.end());
  significant = significant.first(std::min(kFrames, significant.size()));
  uint64_t hash = base::kFnvOffsetBasis;
  for (const CauseFrame& frame : significant) hash = HashFrame(frame, hash);
  return hash == 0 ? 1 : hash;
}

}  // namespace lagwatch::policies
