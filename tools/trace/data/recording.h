// SPDX-License-Identifier: Apache-2.0
// A recording that the command line has made: its options, the memory that it goes to, and the file that it
// becomes. Context: background.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "sdk/preload/environment/preload_config.h"
#include "tools/rules/rule_options.h"
#include "tools/trace/data/arena_file.h"

namespace lagwatch::tools {

struct RecordOptions {
  std::string output;  // empty: the program's name and .lwtrace
  std::string format;  // empty: as the output's name says
  double interval_ms = 10;
  double main_interval_ms = -1;  // negative: interval_ms
  uint32_t groups = 2;
  std::string calls = "precise";  // of instrumented functions: "precise", "coarse" or "off"
  std::vector<std::string> patched_modules;
  std::vector<std::string> patched_functions;
  std::vector<std::string> unpatched_functions;
  RuleOptions rules;
  uint32_t call_limit = 100'000;  // calls a second of a patched function; 0: any number
  double hook_interval_ms = 1;
  bool has_no_hooks = false;
  double duration_s = 0;  // 0: until the program ends
  uint64_t main_mib = 8;
  uint64_t worker_mib = 8;
  uint64_t call_mib = 8;
  uint64_t stack_mib = 8;
  pid_t pid = 0;  // a process that runs already; 0: the command is started
  std::vector<std::string> command;
};

class Recording {
 public:
  // Errors: kIo; those of RulesFor().
  static base::Result<std::unique_ptr<Recording>> Create(const RecordOptions& options);

  const trace::ArenaHeader& header() const { return file_->arena().header(); }
  uint64_t SampleCount() const {
    return header().counters.samples.value() + header().counters.captures.value();
  }
  const trace::Arena& arena() const { return file_->arena(); }
  // The config of the library in process `pid`.
  sdk::PreloadConfig ConfigFor(pid_t pid) const;
  // Lets processes of user `uid` record into it. Errors: kIo.
  base::Status LetIn(uid_t uid) const { return file_->LetIn(uid); }

  // Shows how it goes on until `is_over` says so, or the time for it is over, or, as an answer, it is
  // interrupted. Asks every 20 ms.
  void Await(const std::function<bool()>& is_over) const;
  bool has_begun() const { return header().state.load() != trace::ArenaState::kEmpty; }
  // Ends the recording if it has not ended by itself.
  void Stop() const;
  // Names the functions and writes the file. Errors: kIo, kInvalid.
  base::Status Write(const std::string& default_name) const;

 private:
  Recording(const RecordOptions& options, std::unique_ptr<ArenaFile> file);
  // Reads the rules, and hands them to the recorder.
  base::Status TakeRules();

  RecordOptions options_;
  std::unique_ptr<ArenaFile> file_;
};

}  // namespace lagwatch::tools
