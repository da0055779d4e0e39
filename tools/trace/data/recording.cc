// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/recording.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <list>
#include <utility>

#include "base/clock.h"
#include "tools/probe/process_functions.h"
#include "tools/probe/rule_files.h"
#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/run/preload.h"
#include "tools/trace/data/name_frames.h"
#include "tools/trace/data/trace_file.h"
#include "trace/format/whole_file.h"
#include "trace/record/reader/arena_reader.h"

namespace lagwatch::tools {
namespace {

uint32_t ToUs(double ms) { return static_cast<uint32_t>(std::lround(ms * 1000)); }

trace::Arena::Sizes SizesOf(const RecordOptions& options) {
  constexpr uint64_t kMib = 1 << 20;
  return {options.main_mib * kMib, options.worker_mib * kMib, options.call_mib * kMib,
          options.stack_mib * kMib};
}

std::string Seconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / base::kNsPerSecond);
  return text;
}

std::string WithCommas(const std::vector<std::string>& parts) {
  std::string list;
  for (const std::string& part : parts) list += (list.empty() ? "" : ",") + part;
  return list;
}

}  // namespace

base::Result<std::unique_ptr<Recording>> Recording::Create(const RecordOptions& options) {
  auto file = LAGWATCH_TRY(ArenaFile::Create(SizesOf(options)));
  std::unique_ptr<Recording> recording(new Recording(options, std::move(file)));
  if (base::Status status = recording->TakeRules(); !status.ok()) return status;
  return recording;
}

base::Status Recording::TakeRules() {
  const bool are_given = !options_.rules.file.empty() || !options_.rules.around.empty();
  if (are_given && options_.patched_modules.empty()) options_.patched_modules = {"*"};
  if (options_.patched_modules.empty()) return {};
  std::list<ProcessModule> modules;
  std::string program;
  if (options_.pid != 0) {
    auto functions = LAGWATCH_TRY(ProcessFunctions::Of(options_.pid));
    program = functions.modules().front().seen_path();
    modules = std::move(functions.modules());
  } else if (auto found = FindWatchableProgram(options_.command.front()); found.ok()) {
    program = *found;
    modules.emplace_back(getpid(), program, 0);
  }
  const trace::InstrumentRules rules = LAGWATCH_TRY(RulesFor(options_.rules, program));
  if (rules.empty()) return {};
  return file_->WriteRules(ResolveFiles(rules, &modules).ToText());
}

Recording::Recording(const RecordOptions& options, std::unique_ptr<ArenaFile> file)
    : options_(options), file_(std::move(file)) {}

sdk::PreloadConfig Recording::ConfigFor(pid_t pid) const {
  sdk::PreloadConfig config;
  config.is_watched = 0;
  config.trace_arena = file_->path();
  config.trace_pid = static_cast<uint32_t>(pid);
  config.trace_main_interval_us =
      ToUs(options_.main_interval_ms < 0 ? options_.interval_ms : options_.main_interval_ms);
  config.trace_worker_interval_us = ToUs(options_.interval_ms);
  config.trace_worker_groups = options_.groups;
  config.trace_calls = options_.calls == "off" ? 0 : options_.calls == "coarse" ? 2 : 1;
  config.trace_patched_modules = WithCommas(options_.patched_modules);
  config.trace_patched_functions = WithCommas(options_.patched_functions);
  config.trace_unpatched_functions = WithCommas(options_.unpatched_functions);
  config.trace_rules = file_->rules_path();
  config.trace_call_limit = options_.call_limit;
  config.trace_hook_interval_us = options_.has_no_hooks ? 0 : ToUs(options_.hook_interval_ms);
  return config;
}

void Recording::Await(const std::function<bool()>& is_over) const {
  constexpr useconds_t kPauseUs = 20'000;
  Progress progress;
  const int64_t begin_ns = base::SystemClock().MonoNs();
  while (!is_over()) {
    const int64_t passed_ns = base::SystemClock().MonoNs() - begin_ns;
    const bool is_late =
        options_.duration_s > 0 && static_cast<double>(passed_ns) >= options_.duration_s * base::kNsPerSecond;
    if (is_late) return;
    progress.Say("recording " + Seconds(passed_ns) + ", " + std::to_string(SampleCount()) + " samples");
    usleep(kPauseUs);
  }
}

void Recording::Stop() const {
  constexpr useconds_t kPauseUs = 5'000;
  constexpr int kTries = 200;
  file_->arena().header().is_stop_wanted.store(1);
  for (int i = 0; i < kTries && header().state.load() == trace::ArenaState::kRecording; ++i) usleep(kPauseUs);
}

base::Status Recording::Write(const std::string& default_name) const {
  std::string name = default_name;  // the program's own word
  std::ranges::replace(name, '/', '_');
  const std::string output = !options_.output.empty() ? options_.output : name + ".lwtrace";
  trace::Trace trace = trace::ReadArena(arena());
  {
    const auto namer = LAGWATCH_TRY(FrameNamer::Create());
    Progress progress;
    namer->Name(&trace, [&](size_t done, size_t total) { progress.Show("naming functions", done, total); });
  }
  const auto bytes = LAGWATCH_TRY(FormatTrace(trace, options_.format, output));
  if (base::Status status = trace::WriteWholeFile(output, bytes); !status.ok()) return status;
  const size_t threads = trace.threads.size();
  std::cerr << "lagwatch: " << output << ": " << SampleCount() << " samples of " << threads
            << (threads == 1 ? " thread" : " threads") << " in " << Seconds(trace.end_ns - trace.begin_ns)
            << ", " << (bytes.size() + 1023) / 1024 << " KiB\n";
  for (const trace::Loss& loss : trace.losses) {
    std::cerr << "  " << loss.count << " " << Printable(loss.what);
    if (!loss.remedy.empty()) std::cerr << " (less with " << Printable(loss.remedy) << ")";
    std::cerr << "\n";
  }
  return {};
}

}  // namespace lagwatch::tools
