// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "base/process/proc_file.h"
#include "watchdog/mounts/mounts.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kLineBytes = 16 * 1024;

// A kind of file system whose waits the kernel's functions show.
enum class Kind : uint8_t { kDisk, kFuse, kNfs, kCifs, kCeph, kNineP, kAutofs, kMemory };

struct KindRule {
  std::string_view part;
  Kind kind;
};

// The first that fits of a kernel's function; kDisk for the rest.
constexpr KindRule kChannels[] = {
    {"fuse", Kind::kFuse},     {"request_wait_answer", Kind::kFuse},
    {"nfs", Kind::kNfs},       {"rpc_", Kind::kNfs},
    {"cifs", Kind::kCifs},     {"smb", Kind::kCifs},
    {"ceph", Kind::kCeph},     {"p9_", Kind::kNineP},
    {"autofs", Kind::kAutofs},
};
// Of a type, by its begin; the first two are the kernel's own folders.
constexpr KindRule kTypes[] = {
    {"fusectl", Kind::kMemory}, {"nfsd", Kind::kMemory},   {"fuse", Kind::kFuse},  {"virtiofs", Kind::kFuse},
    {"nfs", Kind::kNfs},        {"cifs", Kind::kCifs},     {"smb", Kind::kCifs},   {"ceph", Kind::kCeph},
    {"9p", Kind::kNineP},       {"overlay", Kind::kDisk},  {"btrfs", Kind::kDisk}, {"autofs", Kind::kAutofs},
    {"zfs", Kind::kDisk},       {"bcachefs", Kind::kDisk},
};

Kind KindOfChannel(std::string_view channel) {
  for (const KindRule& rule : kChannels) {
    if (channel.find(rule.part) != std::string_view::npos) return rule.kind;
  }
  return Kind::kDisk;
}

// A line of /proc/PID/mountinfo, as far as it is looked at: proc(5).
struct MountLine {
  uint64_t id = 0;
  uint64_t major = 0;
  uint64_t minor = 0;
  std::string_view point;
  std::string_view type;
  std::string_view source;

  Kind kind() const {
    for (const KindRule& rule : kTypes) {
      if (type.starts_with(rule.part)) return rule.kind;
    }
    return major != 0 ? Kind::kDisk : Kind::kMemory;
  }
};

std::string_view TakeField(std::string_view* line) {
  const std::string_view word = line->substr(0, line->find(' '));
  line->remove_prefix(std::min(word.size() + 1, line->size()));
  return word;
}

MountLine ParseMount(std::string_view line) {
  MountLine mount;
  std::string_view word = TakeField(&line);
  base::ConsumeDecimal(&word, &mount.id);
  TakeField(&line);  // the parent
  std::string_view device = TakeField(&line);
  base::ConsumeDecimal(&device, &mount.major);
  device.remove_prefix(std::min<size_t>(1, device.size()));
  base::ConsumeDecimal(&device, &mount.minor);
  TakeField(&line);  // the root
  mount.point = TakeField(&line);
  constexpr std::string_view kEndOfOptions = " - ";
  const size_t end = line.find(kEndOfOptions);
  if (end == std::string_view::npos) return mount;
  line.remove_prefix(end + kEndOfOptions.size());
  mount.type = TakeField(&line);
  mount.source = TakeField(&line);
  return mount;
}

// Blanks and the like stand as "\040".
void CopyUnescaped(std::string_view text, std::span<char> room) {
  constexpr size_t kOctalDigits = 3;
  size_t size = 0;
  for (size_t i = 0; i < text.size() && size + 1 < room.size(); ++i) {
    char letter = text[i];
    if (letter == '\\' && i + kOctalDigits < text.size()) {
      int code = 0;
      for (size_t digit = 1; digit <= kOctalDigits; ++digit) code = code * 8 + (text[i + digit] - '0');
      letter = static_cast<char>(code);
      i += kOctalDigits;
    }
    room[size++] = letter;
  }
  room[size] = '\0';
}

void Copy(const MountLine& line, Mount* mount) {
  mount->major = line.major;
  mount->minor = line.minor;
  mount->is_remote = line.kind() != Kind::kDisk && line.kind() != Kind::kMemory;
  CopyUnescaped(line.point, mount->point);
  CopyUnescaped(line.type, mount->type);
  CopyUnescaped(line.source, mount->source);
}

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (folder == "/" || path.size() == folder.size() || path[folder.size()] == '/');
}

// Single files are mounted there in containers; no program's data is.
bool IsForTheSystem(std::string_view point) {
  constexpr std::string_view kFolders[] = {"/etc/", "/run/", "/dev/", "/proc/", "/sys/"};
  return std::ranges::any_of(kFolders, [&](std::string_view folder) { return point.starts_with(folder); });
}

}  // namespace

bool Mount::is_fuse() const {
  const std::string_view name(type);
  return name == "fuse" || name == "fuseblk" || name.starts_with("fuse.");
}

bool FindMountById(const char* mountinfo, uint64_t id, Mount* mount) {
  char buffer[kLineBytes];
  bool is_found = false;
  base::ForEachLine(mountinfo, buffer, [&](std::string_view text) {
    const MountLine line = ParseMount(text);
    is_found = line.id == id && !line.type.empty();
    if (is_found) Copy(line, mount);
    return !is_found;
  });
  return is_found;
}

bool FindMountByPath(const char* mountinfo, std::string_view path, std::string_view channel, Mount* mount) {
  const Kind kind = KindOfChannel(channel);
  char buffer[kLineBytes];
  size_t longest = 0;
  bool is_around_path = false;  // the innermost mount around the path is of the kind
  bool has_others = false;      // more devices of the kind than that of `only`
  Mount around;
  Mount only;
  base::ForEachLine(mountinfo, buffer, [&](std::string_view text) {
    const MountLine line = ParseMount(text);
    const bool is_it = line.kind() == kind;
    if (is_it && !IsForTheSystem(line.point)) {
      if (only.type[0] == '\0') Copy(line, &only);
      has_others = has_others || line.major != only.major || line.minor != only.minor;
    }
    char room[256];
    CopyUnescaped(line.point, room);
    const std::string_view point(room);
    if (IsBelow(path, point) && point.size() >= longest) {
      longest = point.size();
      is_around_path = is_it;
      if (is_it) Copy(line, &around);
    }
    return true;
  });
  // A link may lead elsewhere. The kernel's function confirms the path, but those for all disks are the same.
  const bool is_only = only.type[0] != '\0' && !has_others;
  const bool is_certain = kind == Kind::kDisk ? is_around_path && is_only : is_around_path || is_only;
  if (is_certain) *mount = is_around_path ? around : only;
  return is_certain;
}

}  // namespace lagwatch::watchdog
