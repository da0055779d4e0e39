// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/preload_environment.h"

#include <linux/prctl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "base/process/proc_file.h"

namespace lagwatch::sdk {
namespace {

bool Names(const char* variable, std::string_view name) {
  return std::strncmp(variable, name.data(), name.size()) == 0 && variable[name.size()] == '=';
}

// The part of /proc/PID/stat that describes the process' memory, by the numbers of proc(5). False where the
// process has another thread, which could move the program break meanwhile.
bool ReadMemoryMap(prctl_mm_map* map) {
  struct {
    int field;
    __u64* value;
  } const wanted[] = {
      {26, &map->start_code}, {27, &map->end_code},  {28, &map->start_stack}, {45, &map->start_data},
      {46, &map->end_data},   {47, &map->start_brk}, {48, &map->arg_start},   {49, &map->arg_end},
      {50, &map->env_start},  {51, &map->env_end},
  };
  constexpr int kThreads = 20;
  char buffer[1024];
  std::string_view text = base::ReadSmallFile("/proc/self/stat", buffer, sizeof buffer);
  // Past the name, which may hold anything, and the state.
  text.remove_prefix(std::min(text.rfind(')') + 3, text.size()));
  const auto* next = wanted;
  for (int field = 4; next != std::end(wanted); ++field) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (text.starts_with('-')) text.remove_prefix(1);  // of no field that is wanted
    uint64_t value = 0;
    if (!base::ConsumeDecimal(&text, &value)) return false;
    if (field == kThreads && value != 1) return false;
    if (field == next->field) *next++->value = value;
  }
  return true;
}

// Removes the end of the text that /proc/PID/environ shows. A kernel that does not let it be shorter shows
// zero bytes instead.
void EndEnvironmentText(char* begin, char* end, bool is_confined) {
  std::memset(begin, 0, static_cast<size_t>(end - begin));
  if (is_confined) return;  // a filter may end the process for a call that programs seldom make
  prctl_mm_map map{};
  if (!ReadMemoryMap(&map) || map.env_end != reinterpret_cast<uintptr_t>(end)) return;
  map.env_end = reinterpret_cast<uintptr_t>(begin);
  map.brk = static_cast<__u64>(syscall(SYS_brk, 0));
  map.exe_fd = ~0U;  // stays the same
  syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
}

// The kernel lays the texts of the environment in their order, and the program's path behind them.
char* EndOfEnvironmentText() { return reinterpret_cast<char*>(getauxval(AT_EXECFN)); }

char* EndOf(char* variable) { return variable + std::strlen(variable) + 1; }

}  // namespace

std::string RestoreEnvironment(const PreloadConfig& config) {
  char** own_preload = nullptr;
  char** own_config = nullptr;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (Names(*variable, "LD_PRELOAD")) own_preload = variable;
    if (Names(*variable, kPreloadConfigVariable)) own_config = variable;
  }
  if (own_preload == nullptr || own_config == nullptr) return {};
  char* const preload = *own_preload;
  char* const text = *own_config;
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (variable != own_preload && variable != own_config) *kept++ = *variable;
  *kept = nullptr;
  const std::string_view libraries = std::strchr(preload, '=') + 1;
  std::string library(libraries.substr(0, libraries.find(':')));
  if (EndOf(preload) == text && EndOf(text) == EndOfEnvironmentText())
    EndEnvironmentText(preload, EndOf(text), config.seccomp_filters != 0);
  return library;
}

std::string AppName(const PreloadConfig& config) {
  constexpr std::string_view kDescriptors = "/dev/fd/";  // of fexecve(3)
  if (!config.options.app.empty()) return config.options.app;
  if (!config.script.empty()) return config.script;
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const std::string_view path = started == nullptr ? "" : started;
  if (path.starts_with(kDescriptors)) return {};
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace lagwatch::sdk
