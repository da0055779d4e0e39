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

// The first that fits. A place that ends with a slash is a folder.
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
    {"/lib/", "program"},       {"/lib32/", "program"},
    {"/lib64/", "program"},     {"/libx32/", "program"},
    {"/bin/", "program"},       {"/sbin/", "program"},
    {"/opt/", "program"},       {"/app/", "program"},
    {"/snap/", "program"},      {"/nix/", "program"},
    {"/var/cache/", "cache"},   {"/var/", "data"},
    {"/srv/", "data"},
};
// Below a home.
constexpr ClassRule kHomeClasses[] = {
    {".cache/", "cache"},
    {".config/", "settings"},
    {".local/share/", "data"},
    {".local/state/", "data"},
};
// The system's own folders, whose files are named as they are. All others may be a user's.
constexpr std::string_view kSystemFolders[] = {
    "/dev/",   "/proc/",   "/sys/",     "/etc/",       "/usr/",     "/lib/",    "/lib32/",
    "/lib64/", "/libx32/", "/bin/",     "/sbin/",      "/opt/",     "/app/",    "/snap/",
    "/nix/",   "/run/",    "/var/run/", "/var/cache/", "/var/lib/", "/var/log/"};
// Except these below them.
constexpr std::string_view kUserFolders[] = {"/dev/shm/",   "/dev/mqueue/",   "/run/user/",
                                             "/run/media/", "/var/run/user/", "/var/run/media/"};

// A folder of homes, or of what is a user's, and the number of names that follow it.
struct Root {
  std::string_view folder;
  int names;
  bool is_home;
};
constexpr Root kRoots[] = {{"/home/", 1, true},
                           {"/var/home/", 1, true},
                           {"/Users/", 1, true},
                           {"/root/", 0, true},
                           {"~/", 0, true},
                           {"/run/media/", 2, false},
                           {"/var/run/media/", 2, false},
                           {"/media/", 2, false},
                           {"/mnt/", 1, false},
                           {"/run/user/", 1, false},
                           {"/var/run/user/", 1, false},
                           {"/dev/shm/", 0, false},
                           {"/dev/mqueue/", 0, false},
                           {"/tmp/", 0, false},
                           {"/var/tmp/", 0, false},
                           {"/var/", 0, false},
                           {"/srv/", 0, false},
                           {"/", 0, false}};

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (folder.ends_with('/') || path.size() == folder.size() || path[folder.size()] == '/');
}
// Of `home`, what can be a user's; empty otherwise.
std::string_view UsefulHome(std::string_view home) {
  while (home.ends_with('/')) home.remove_suffix(1);
  return home.starts_with('/') ? home : std::string_view();
}

// The size of the part of `path` that names a home or another root of a user's files, with its last slash; 0
// if the path may be shown as it is, and the whole path's size if it is such a root itself.
size_t PrivateRoot(std::string_view path, std::string_view home, bool* is_home) {
  *is_home = true;
  home = UsefulHome(home);
  if (!home.empty() && IsBelow(path, home)) return std::min(home.size() + 1, path.size());
  const auto is_below = [&](std::string_view folder) { return path.starts_with(folder); };
  const bool is_system =
      std::ranges::any_of(kSystemFolders, is_below) && std::ranges::none_of(kUserFolders, is_below);
  if (is_system) return *is_home = false;
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

ResolvedPath::ResolvedPath(std::string_view folder, std::string_view path) {
  const bool is_relative = IsPath(path) && !path.starts_with('/') && !path.starts_with("~/");
  if (!IsPath(path) || (is_relative && (!folder.starts_with('/') || path.starts_with("*/")))) {
    size_ = path.copy(text_, sizeof text_);
    return;
  }
  if (is_relative) AddNames(folder);
  AddNames(path);
  const bool is_folder = path.ends_with('/') || size_ == 0;
  if (is_folder && size_ < sizeof text_) text_[size_++] = '/';
}

void ResolvedPath::AddNames(std::string_view path) {
  while (!path.empty()) {
    const std::string_view name = FirstName(path);
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      const size_t slash = view().rfind('/');
      size_ = slash == std::string_view::npos ? 0 : slash;
      continue;
    }
    const bool is_home = name == "~" && size_ == 0;
    if (!is_home && size_ < sizeof text_) text_[size_++] = '/';
    size_ += name.copy(text_ + size_, sizeof text_ - size_);
  }
}

bool IsPath(std::string_view path) {
  const size_t colon = path.find(':');
  return !path.empty() && !path.starts_with("/memfd:") &&
         (colon == std::string_view::npos || path.find('/') < colon);
}

std::string_view FileClassOf(std::string_view path, std::string_view home) {
  if (path.empty()) return {};
  bool is_home = false;
  const size_t root = PrivateRoot(path, home, &is_home);
  if (root != 0 && is_home) {
    for (const ClassRule& rule : kHomeClasses) {
      if (path.substr(root).starts_with(rule.begin)) return rule.name;
    }
    return "home";
  }
  for (const ClassRule& rule : kClasses) {
    if (path.starts_with(rule.begin)) return rule.name;
  }
  return path.front() == '/' ? "other" : "relative";
}

ShownPath::ShownPath(std::string_view path, std::string_view home) {
  const bool is_relative = !path.starts_with('/') && !path.starts_with("~/");
  bool is_home = false;
  const size_t root = PrivateRoot(path, home, &is_home);
  std::string_view rest = path.substr(root);
  const size_t last_slash = rest.rfind('/');
  if ((root == 0 && !is_relative) || rest.empty()) {
    Append(path);
    return;
  }
  Append(path.substr(0, root));
  const std::string_view file = last_slash == std::string_view::npos ? rest : rest.substr(last_slash + 1);
  std::string_view folders =
      last_slash == std::string_view::npos ? std::string_view() : rest.substr(0, last_slash + 1);
  // Programs name their hidden folders, and what is in them. Of a relative path's folders all may be deep in
  // a home.
  const int kept = is_relative ? 0 : folders.starts_with('.') ? 2 : 1;
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
