// SPDX-License-Identifier: Apache-2.0
#include "tools/run/java.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "tools/run/preload.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

}  // namespace

fs::path FindAgent() { return FindOwnFile("liblagwatch_jvm.so"); }

bool IsJava(const std::string& program) {
  std::error_code error;
  const fs::path file = fs::canonical(program, error);
  if (error || file.filename() != "java") return false;
  const fs::path home = file.parent_path().parent_path();
  return fs::exists(home / "lib/server/libjvm.so", error) && !FindAgent().empty();
}

base::Result<std::string> AgentOptionTexts(const Options& options, const AgentFlags& flags) {
  std::string text = std::string("children=") + (flags.with_children ? "1" : "0");
  if (!flags.is_watched) text += ",watched=0";
  if (flags.forbids_probes) text += ",no_probes=1";
  if (!flags.probe_directory.empty())
    text += ",probes=" + flags.probe_directory + ",probe_pid=" + std::to_string(getpid());
  auto add = [&](std::string_view name, std::string_view value) {
    text.append(",").append(name).append("=").append(value);
  };
  const Options standard;
  bool is_valid = true;
#define OPTION_TEXT(name, path, ...)                                                     \
  if (options.path != standard.path) {                                                   \
    add(#name, options.path);                                                            \
    is_valid = is_valid && options.path.find_first_of(", \t\n\"'") == std::string::npos; \
  }
#define OPTION_NUMBER(name, path, ...) \
  if (options.path != standard.path) add(#name, std::to_string(options.path));
#define OPTION_SWITCH OPTION_NUMBER
#define OPTION_SIGNAL OPTION_NUMBER
#define OPTION_CHOICE OPTION_NUMBER
#include "policies/options/options.def"
  if (!is_valid || FindAgent().string().find_first_of(" \t\n") != std::string::npos)
    return base::Status(base::StatusCode::kInvalid,
                        "options for a JVM must not contain blanks, commas or quotation marks");
  return text;
}

base::Result<std::string> JavaToolOptions(const Options& options, const AgentFlags& flags) {
  const std::string text =
      "-agentpath:" + FindAgent().string() + "=" + LAGWATCH_TRY(AgentOptionTexts(options, flags));
  const char* previous = std::getenv(kJavaOptionsVariable);
  return previous == nullptr || *previous == '\0' ? text : std::string(previous) + " " + text;
}

}  // namespace lagwatch::tools
