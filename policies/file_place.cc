// SPDX-License-Identifier: Apache-2.0
#include "policies/file_place.h"

#include <algorithm>
#include <array>

namespace lagwatch::policies {
namespace {

struct ClassRule {
  std::string_view begin;
  std::string_view name;
};

// The first that fits.
constexpr ClassRule kClasses[] = {
    {"socket:", "socket"},      {"pipe:", "pipe"},
    {"anon_inode:", "event"},   {"/memfd:", "memory"},
    {"/dev/shm/", "memory"},    {"/dev/pts/", "terminal"},
    {"/dev/tty", "terminal"},   {"/dev/console", "terminal"},
    {"/dev/", "device"},        {"/proc/", "kernel"},
    {"/sys/", "kernel"},        {"/tmp/", "temporary"},
    {"/var/tmp/", "temporary"}, {"/run/media/", "removable"},
    {"/media/", "removable"},   {"/mnt/", "removable"},
    {"/run/", "runtime"},       {"/var/run/", "runtime"},
    {"/etc/", "settings"},      {"/usr/", "program"},
    {"/lib", "program"},        {"/bin/", "program"},
    {"/sbin/", "program"},      {"/opt/", "program"},
    {"/app/", "program"},       {"/snap/", "program"},
    {"/nix/", "program"},       {"/var/cache/", "cache"},
    {"/var/", "data"},          {"/srv/", "data"},
};
// Below a home.
constexpr ClassRule kHomeClasses[] = {
    {".cache/", "cache"},
    {".config/", "settings"},
    {".local/share/", "data"},
    {".local/state/", "data"},
};

// The size of the part of `path` that names a home or a removable disk, with its last slash; 0 without one.
size_t PrivateRoot(std::string_view path, bool* is_home) {
  // The number of names that follow the folder.
  struct Root {
    std::string_view folder;
    int names;
    bool is_home;
  };
  constexpr Root kRoots[] = {{"/home/", 1, true},   {"/var/home/", 1, true}, {"/Users/", 1, true},
                             {"/root/", 0, true},   {"~/", 0, true},         {"/run/media/", 2, false},
                             {"/media/", 2, false}, {"/mnt/", 1, false}};
  for (const Root& root : kRoots) {
    if (!path.starts_with(root.folder)) continue;
    *is_home = root.is_home;
    size_t size = root.folder.size();
    for (int i = 0; i < root.names; ++i) {
      const size_t slash = path.find('/', size);
      if (slash == std::string_view::npos) return path.size();
      size = slash + 1;
    }
    return size;
  }
  return 0;
}

// ".ods" of a file's name; empty if that is no usual one.
std::string_view EndOfName(std::string_view name) {
  constexpr size_t kMostBytes = 8;
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot > kMostBytes) return {};
  const std::string_view end = name.substr(dot);
  const bool is_plain = std::ranges::all_of(end.substr(1), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9');
  });
  return is_plain ? end : std::string_view();
}

std::string_view FirstName(std::string_view path) { return path.substr(0, path.find('/')); }

}  // namespace

std::string_view FileClassOf(std::string_view path) {
  if (path.empty()) return {};
  for (const ClassRule& rule : kClasses) {
    if (path.starts_with(rule.begin)) return rule.name;
  }
  bool is_home = false;
  if (const size_t root = PrivateRoot(path, &is_home); root != 0 && is_home) {
    for (const ClassRule& rule : kHomeClasses) {
      if (path.substr(root).starts_with(rule.begin)) return rule.name;
    }
    return "home";
  }
  return path.front() == '/' ? "other" : "relative";
}

ShownPath::ShownPath(std::string_view path) {
  bool is_home = false;
  const size_t root = PrivateRoot(path, &is_home);
  std::string_view rest = path.substr(root);
  const size_t last_slash = rest.rfind('/');
  if (root == 0 || rest.empty()) {
    Append(path);
    return;
  }
  Append(path.substr(0, root));
  const std::string_view file = last_slash == std::string_view::npos ? rest : rest.substr(last_slash + 1);
  std::string_view folders =
      last_slash == std::string_view::npos ? std::string_view() : rest.substr(0, last_slash + 1);
  // Programs name their hidden folders, and what is in them.
  const int kept = folders.starts_with('.') ? 2 : 1;
  for (int i = 0; i < kept && !folders.empty(); ++i) {
    const std::string_view name = FirstName(folders);
    Append(name);
    Append("/");
    folders.remove_prefix(name.size() + 1);
  }
  if (!folders.empty()) Append("…/");
  if (file.empty()) return;
  Append("*");
  Append(EndOfName(file));
}

void ShownPath::Append(std::string_view part) {
  const size_t size = std::min(part.size(), kMaxBytes - 1 - size_);
  part.copy(text_ + size_, size);
  size_ += size;
  text_[size_] = '\0';
}

CommonFolder FindCommonFolder(std::span<const std::string_view> paths) {
  CommonFolder best;
  for (const std::string_view path : paths) {
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      const std::string_view folder = path.substr(0, slash + 1);
      if (folder.size() <= best.folder.size() || folder == "/" || folder == "./") continue;
      const auto below = static_cast<size_t>(
          std::ranges::count_if(paths, [&](std::string_view other) { return other.starts_with(folder); }));
      if (4 * below < 3 * paths.size()) break;
      best = {folder, static_cast<int32_t>(100 * below / paths.size())};
    }
  }
  return best;
}

}  // namespace lagwatch::policies
