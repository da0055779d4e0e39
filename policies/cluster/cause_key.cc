// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/cause_key.h"

#include <algorithm>
#include <array>

#include "base/hash.h"

namespace lagwatch::policies {
namespace {

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool IsCLibrary(std::string_view module_path) {
  constexpr std::array<std::string_view, 8> kBeginnings = {
      "libc.so", "libc-2.", "libc.musl", "libpthread.so", "libpthread-2.", "ld-linux", "ld-musl", "[vdso]"};
  const std::string_view name = FileName(module_path);
  return std::ranges::any_of(kBeginnings, [&](std::string_view start) { return name.starts_with(start); });
}

bool IsLanguageModule(std::string_view module_path) {
  constexpr std::array<std::string_view, 8> kLanguages = {"[go]",   "[java]", "[javascript]", "[lua]",
                                                          "[perl]", "[php]",  "[python]",     "[ruby]"};
  return std::ranges::find(kLanguages, module_path) != kLanguages.end();
}

void CauseKey::Innermost::Add(std::string_view module_path, std::string_view build_id,
                              uint64_t function_offset) {
  if (count == kFrames) return;
  ++count;
  // An address outside all modules is another one at each start.
  const bool is_in_module =
      (!module_path.empty() && module_path != kGeneratedCodeModule) || !build_id.empty();
  std::string_view module = build_id;
  if (module.empty() && is_in_module) module = FileName(module_path);
  hash = base::HashBytes(module, base::HashWord(module.size(), hash));
  hash = base::HashWord(is_in_module ? function_offset : 0, hash);
}

void CauseKey::Add(std::string_view module_path, std::string_view build_id, uint64_t function_offset) {
  all_.Add(module_path, build_id, function_offset);
  if (significant_.count != 0 || !IsCLibrary(module_path))
    significant_.Add(module_path, build_id, function_offset);
}

uint64_t CauseKey::value() const {
  const Innermost& innermost = significant_.count != 0 ? significant_ : all_;
  if (innermost.count == 0) return 0;
  return innermost.hash == 0 ? 1 : innermost.hash;
}

}  // namespace lagwatch::policies
