// SPDX-License-Identifier: Apache-2.0
#include "tools/upload/followed_run.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sdk/preload/environment/preload_config.h"
#include "sdk/run/run_record.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

std::string ContentOf(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// As it was when the process became the program that it is.
bool IsStartedByRun(uint32_t pid, pid_t run_pid) {
  const std::string environment = ContentOf("/proc/" + std::to_string(pid) + "/environ");
  const std::string name = std::string(sdk::kPreloadConfigVariable) + "=";
  size_t at = environment.starts_with(name) ? 0 : environment.find('\0' + name);
  if (at == std::string::npos) return false;
  at = environment.find('=', at) + 1;
  const std::string config = environment.substr(at, environment.find('\0', at) - at);
  return sdk::PreloadConfig::Parse(config).run_pid == static_cast<uint32_t>(run_pid);
}

}  // namespace

bool IsFollowedRunAlive(const std::string& spool_directory, pid_t run_pid) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(fs::path(spool_directory) / sdk::kRunDirectoryName, error)) {
    if (entry.path().extension() != sdk::kRunSuffix) continue;
    sdk::RunRecord record;
    const bool is_record =
        sdk::ParseRunRecord(ContentOf(entry.path()), &record) == sdk::RunFile::kRecord && !record.has_ended;
    if (is_record && IsStartedByRun(record.run.pid, run_pid)) return true;
  }
  return false;
}

}  // namespace lagwatch::tools
