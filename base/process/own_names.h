// SPDX-License-Identifier: Apache-2.0
// The names by which lagwatch's own libraries, threads and functions are recognized inside a program.
// Context: any; pure.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace lagwatch::base {

// Whether the file is one of lagwatch's shared libraries.
constexpr bool IsOwnLibrary(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "liblagwatch-preload.so" || name == "liblagwatch.so" || name.starts_with("liblagwatch.so.");
}

// Whether a thread of that name is one that lagwatch starts.
constexpr bool IsOwnThreadName(std::string_view name) {
  constexpr std::string_view kPrefix = "lagwatch";
  constexpr std::string_view kSuffixes[] = {"",       "-attach", "-call",  "-dump", "-files",
                                            "-group", "-main",   "-post",  "-sync", "-tables",
                                            "-tick",  "-trace",  "-upload"};
  if (!name.starts_with(kPrefix)) return false;
  return std::ranges::find(kSuffixes, name.substr(kPrefix.size())) != std::end(kSuffixes);
}

// Whether the function is a hook that lagwatch puts in front of the C library's functions, or a part of one;
// by its name, mangled or not.
constexpr bool IsOwnFunctionName(std::string_view name) {
  if (name.starts_with("__cyg_profile_func_")) return true;
  const size_t at = name.find("lagwatch::trace::");  // a template's name has its return type in front
  const bool is_plain = at != std::string_view::npos && name.find('(') > at;
  if (!is_plain && !name.starts_with("_ZN8lagwatch5trace")) return false;
  constexpr std::string_view kParts[] = {"Hook",           "TryThenLock",      "WaitForLock",
                                         "WaitForFutex",   "WaitForSemaphore", "WaitForCondition",
                                         "ReleaseAndLook", "CaptureAfter"};
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace lagwatch::base
