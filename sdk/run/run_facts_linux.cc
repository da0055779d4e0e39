// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/process/proc_file.h"
#include "base/process/safe_memory.h"
#include "sdk/run/default_paths.h"
#include "sdk/run/run_facts.h"
#include "stack/elf/build_id_note.h"

namespace lagwatch::sdk {
namespace {

constexpr std::string_view kGroupRoot = "/sys/fs/cgroup/";

std::string_view TrimmedFile(const char* path, char* buffer, size_t size_bytes) {
  std::string_view text = base::ReadSmallFile(path, buffer, size_bytes);
  return text.substr(0, text.find('\n'));
}

// -1 when there is none.
int64_t OomKillsIn(std::string_view lines) {
  const auto number = base::NumberInLine(lines, "oom_kill ");
  return number ? static_cast<int64_t>(*number) : -1;
}

uint64_t InodeOf(const char* path) {
  struct stat status {};
  return stat(path, &status) == 0 ? status.st_ino : 0;
}

// Reads the program's headers in memory: the loader's lock is not needed, and the file may be another by now.
std::string ProgramBuildId() {
  auto* headers = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  uint64_t count = getauxval(AT_PHNUM);
  if (headers == nullptr) return {};
  uint64_t load_bias = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) load_bias = reinterpret_cast<uint64_t>(headers) - headers[i].p_vaddr;
  }
  auto read = [](uint64_t place, void* destination, size_t size_bytes) {
    return base::ReadOwnMemory(place, destination, size_bytes) == size_bytes;
  };
  for (uint64_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_NOTE) continue;
    auto note = stack::FindBuildIdNote(load_bias + headers[i].p_vaddr, headers[i].p_memsz, read);
    if (!note) continue;
    std::string build_id(std::min<size_t>(note->size_bytes, sizeof RunHeader::build_id), '\0');
    if (read(note->place, build_id.data(), build_id.size())) return build_id;
  }
  return {};
}

// Lines "0::/group" (version 2) and "4:memory:/group" (version 1). A process may see its own group as the
// root, or not see the one that the line names: the first counter that is there is taken.
std::string OomGroupPath() {
  char buffer[8192];
  std::string_view lines = base::ReadSmallFile("/proc/self/cgroup", buffer, sizeof buffer);
  std::vector<std::string> candidates;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    size_t first = line.find(':');
    size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    std::string group(line.substr(second + 1));
    if (group == "/") group.clear();
    if (line.substr(0, second) == "0:") {
      candidates.push_back("/sys/fs/cgroup" + group + "/memory.events");
      candidates.push_back("/sys/fs/cgroup/memory.events");
    } else if (line.substr(first, second - first) == ":memory") {
      candidates.push_back("/sys/fs/cgroup/memory" + group + "/memory.oom_control");
      candidates.push_back("/sys/fs/cgroup/memory/memory.oom_control");
    }
  }
  for (const std::string& path : candidates) {
    if (OomGroupInode(path) != 0 && OomKillsInGroup(path.c_str()) >= 0) return path;
  }
  return {};
}

}  // namespace

RunFacts SystemRunFacts() {
  char buffer[128];
  RunFacts facts;
  facts.boot_id = base::TryParseUuid(TrimmedFile("/proc/sys/kernel/random/boot_id", buffer, sizeof buffer))
                      .value_or(base::Uuid{});
  std::string_view machine = TrimmedFile("/etc/machine-id", buffer, sizeof buffer);
  if (!machine.empty()) facts.machine = base::HashBytes(machine);
  facts.pid_namespace = InodeOf("/proc/self/ns/pid");
  facts.pid = static_cast<uint32_t>(getpid());
  facts.start_ticks = ProcessStartTicks(facts.pid).value_or(0);
  facts.start_wall_ms = base::SystemClock().WallMs();
  facts.program = ProgramName();
  facts.build_id = ProgramBuildId();
  facts.oom_group_path = OomGroupPath();
  facts.oom_group_inode = OomGroupInode(facts.oom_group_path);
  return facts;
}

std::optional<uint64_t> ProcessStartTicks(uint32_t pid) {
  constexpr int kFieldsAfterName = 19;  // from the state, the third, to the start time, the 22nd
  char buffer[1024];
  std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::string_view text = base::ReadSmallFile(path.c_str(), buffer, sizeof buffer);
  size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string_view::npos || text.size() < name_end + 3) return std::nullopt;
  text.remove_prefix(name_end + 2);
  if (text[0] == 'Z' || text[0] == 'X') return std::nullopt;
  for (int i = 0; i < kFieldsAfterName; ++i) {
    size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    text.remove_prefix(blank + 1);
  }
  uint64_t ticks = 0;
  if (!base::ConsumeDecimal(&text, &ticks)) return std::nullopt;
  return ticks;
}

int64_t OomKillsInGroup(const char* path) {
  char buffer[1024];
  return path[0] == '\0' ? -1 : OomKillsIn(base::ReadSmallFile(path, buffer, sizeof buffer));
}

int64_t OomKillsOnMachine() {
  char buffer[16384];
  return OomKillsIn(base::ReadSmallFile("/proc/vmstat", buffer, sizeof buffer));
}

uint64_t OomGroupInode(const std::string& path) {
  bool is_in_tree = path.starts_with(kGroupRoot) && path.find("/../") == std::string::npos;
  return is_in_tree ? InodeOf(path.c_str()) : 0;
}

}  // namespace lagwatch::sdk
