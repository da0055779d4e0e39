// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/program_files.h"

#include <algorithm>

namespace lagwatch::policies {
namespace {

// Of names as short as `ls` too many libraries begin with them by chance.
constexpr size_t kFewestLetters = 4;

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// `gimp` of `gimp-2.10`.
std::string_view WithoutVersion(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789.");
  const bool is_versioned = end != name.npos && (name[end] == '-' || name[end] == '_');
  return is_versioned ? name.substr(0, end) : name;
}

// The part of `path` up to the folder of one package, `/usr/lib/x86_64-linux-gnu/evolution/`. Empty for a
// file that is in none.
std::string_view PackageFolder(std::string_view path) {
  size_t at = path.find("/lib");
  if (at == path.npos) return {};
  at = path.find('/', at + 1);
  if (at == path.npos) return {};
  size_t end = path.find('/', at + 1);
  const bool is_architecture = end != path.npos && path.substr(at, end - at).find("-linux-") != path.npos;
  if (is_architecture) end = path.find('/', end + 1);
  return end == path.npos ? std::string_view{} : path.substr(0, end + 1);
}

}  // namespace

ProgramFiles::ProgramFiles(std::string_view path) : path_(path), name_(WithoutVersion(LastPart(path_))) {
  if (name_.size() < kFewestLetters) name_ = {};
}

bool ProgramFiles::Has(std::string_view path) const {
  const std::string_view folder = PackageFolder(path);
  if (!folder.empty() && path_.starts_with(folder)) return true;
  if (name_.empty()) return false;
  std::string_view file = LastPart(path);
  if (file.starts_with("lib")) file.remove_prefix(3);
  if (file.starts_with(name_)) return true;
  return !folder.empty() && LastPart(folder.substr(0, folder.size() - 1)).starts_with(name_);
}

}  // namespace lagwatch::policies
