// SPDX-License-Identifier: Apache-2.0
// The versions of the GNU C library that a library needs and that a program's own C library offers: the
// loader ends a program whose C library lacks one. Context: background.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

struct GlibcVersion {
  int major = 0;
  int minor = 0;

  auto operator<=>(const GlibcVersion&) const = default;
  std::string ToText() const { return std::to_string(major) + "." + std::to_string(minor); }
};

// The highest version GLIBC_x.y that the ELF file needs, or that it defines; none when it names no version or
// cannot be read.
std::optional<GlibcVersion> NeededGlibc(const std::filesystem::path& file);
std::optional<GlibcVersion> DefinedGlibc(const std::filesystem::path& file);

// Ok when a program with this `loader` can load `library`. Errors: kInvalid with what to do about it.
base::Status CheckGlibc(const std::filesystem::path& loader, const std::filesystem::path& library);

}  // namespace lagwatch::tools
