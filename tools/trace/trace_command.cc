// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <climits>
#include <functional>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/trace/data/trace_file.h"
#include "tools/trace/top/top.h"
#include "tools/trace/top/top_view.h"
#include "tools/trace/trace_commands.h"

namespace lagwatch::tools {
namespace {

void AddFormatOption(CLI::App* command, std::string* format) {
  command
      ->add_option("--to", *format,
                   "The format to write (default: as the file's name ends): " + FormatNames())
      ->check([](const std::string& name) {
        const bool is_known =
            name == kOwnFormat ||
            std::ranges::any_of(trace::Formats(), [&](const auto& info) { return info.name == name; });
        return is_known ? std::string() : "unknown format '" + name + "': there are " + FormatNames();
      });
}

void AddDebuginfodFlag(CLI::App* command, bool* asks_debuginfod) {
  command->add_flag(
      "--debuginfod", *asks_debuginfod,
      "Also ask the servers in DEBUGINFOD_URLS for symbols; they learn the build ids of the modules");
}

void AddLookOptions(CLI::App* command, RecordOptions* options) {
  command->add_option("--interval-ms", options->interval_ms, "Time between two samples of a thread")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  command
      ->add_option("--main-interval-ms", options->main_interval_ms,
                   "… of the main thread (default: the same)")
      ->check(CLI::Range(1.0, 100.0));
  command
      ->add_option(
          "--hook-interval-ms", options->hook_interval_ms,
          "Shortest time between two samples of a thread inside hooked calls: allocations, locks, files, …")
      ->check(CLI::Range(0.1, 100.0))
      ->capture_default_str();
  command->add_flag("--no-hooks", options->has_no_hooks, "Do not hook calls");
  command
      ->add_option("--groups", options->groups,
                   "The most sampling threads for threads other than the main one")
      ->check(CLI::Range(1, 12))
      ->capture_default_str();
}

void AddCallOptions(CLI::App* command, RecordOptions* options) {
  command
      ->add_option("--calls", options->calls,
                   "Time stamps of calls of functions built with -finstrument-functions")
      ->check(CLI::IsMember({"precise", "coarse", "off"}))
      ->capture_default_str();
  command->add_option("--patch", options->patched_modules,
                      "Record the calls of functions built with -fpatchable-function-entry, too, in modules "
                      "with this name ('*' for all)");
  command->add_option("--functions", options->patched_functions, "Of these, only functions with this name");
  command->add_option("--not-functions", options->unpatched_functions, "… but not with this name");
  AddRulesOption(command, &options->rules);
  AddAroundOption(command, &options->rules);
  command
      ->add_option("--call-limit", options->call_limit,
                   "A patched function with more calls a second is left out from then on; 0: none is")
      ->capture_default_str();
}

void AddSizeOption(CLI::App* command, const char* name, uint64_t* mib, const char* what) {
  command->add_option(name, *mib, what)->check(CLI::Range(1, 4096))->capture_default_str();
}

void AddSortOption(CLI::App* command, std::string* sort) {
  command->add_option("--sort", *sort, "Sort by the time in the function itself, or including its callees")
      ->check(CLI::IsMember({"self", "total"}))
      ->capture_default_str();
}

// Adds the options that select what is recorded; `then` is called with it.
void AddSubjectOptions(CLI::App* command, RecordOptions* options, const char* about_pid,
                       const std::function<void()>& then) {
  auto* pid =
      command->add_option("--pid", options->pid, about_pid)->check(CLI::Range(1, INT_MAX, "a process id"));
  command->add_option("command", options->command, "The program and its arguments, after --")->excludes(pid);
  command->positionals_at_end();
  command->callback([command, options, then] {
    if (options->pid == 0 && options->command.empty()) {
      throw CLI::RequiredError("trace " + command->get_name() +
                               ": a program (-- PROGRAM ARGUMENTS) or --pid");
    }
    then();
  });
}

void AddRecordCommand(CLI::App* trace, int* exit_code) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* record = trace->add_subcommand("record", "Record how a program spends its time");
  record->footer(
      "  lagwatch trace record -- redis-server --port 6380\n"
      "  lagwatch trace record --pid $(pidof redis-server) --duration 10 -o redis.speedscope.json");
  record->add_option("-o,--output", options->output, "The file to write (default: PROGRAM.lwtrace)");
  AddFormatOption(record, &options->format);
  AddLookOptions(record, options.get());
  AddCallOptions(record, options.get());
  record->add_option("--duration", options->duration_s, "Seconds to record (default: until the program ends)")
      ->check(CLI::PositiveNumber);
  AddSizeOption(record, "--main-mib", &options->main_mib,
                "Memory for the main thread's samples; the oldest are overwritten");
  AddSizeOption(record, "--worker-mib", &options->worker_mib, "… for the other threads' samples");
  AddSizeOption(record, "--call-mib", &options->call_mib, "… for instrumented calls");
  AddSizeOption(record, "--stack-mib", &options->stack_mib, "… for the distinct call stacks");
  AddSubjectOptions(record, options.get(), "Record this running process, until Ctrl-C", [options, exit_code] {
    *exit_code = options->pid != 0 ? RecordProcess(*options) : RecordProgram(*options);
  });
}

void AddTopCommand(CLI::App* trace, int* exit_code) {
  auto options = std::make_shared<TopOptions>();
  options->record.calls = "off";
  CLI::App* top = trace->add_subcommand("top", "Show live how a program spends its time");
  top->footer("Keys:\n" + TopHelp() +
              "\nIf standard output is not a terminal, or with --plain, it prints the first functions at "
              "each refresh.\n"
              "Quitting ends a program started by this command with SIGTERM; a process given with --pid "
              "keeps running.\n\n"
              "  lagwatch trace top -- python3 busy.py\n"
              "  lagwatch trace top --pid $(pidof redis-server)\n"
              "  lagwatch trace top --pid $(pidof redis-server) --plain --refresh 10 --count 6 > minute.txt");
  top->add_option("--refresh", options->refresh_s, "Seconds from one refresh to the next")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  top->add_option("--count", options->count, "Number of refreshes (default: until the program ends)")
      ->check(CLI::Range(1, INT_MAX));
  top->add_flag("--plain", options->is_plain, "Print plain text, also on a terminal");
  top->add_option("-n,--lines", options->lines, "Number of functions to print")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  AddSortOption(top, &options->sort);
  top->add_flag("--waits", options->has_waits, "Include waiting threads, not only running ones");
  top->add_flag("--all", options->is_since_begin, "Show times since the beginning, not of the last interval");
  auto* output = top->add_option("-o,--output", options->output,
                                 "The file for the program's output (default: discarded)");
  AddLookOptions(top, &options->record);
  AddSizeOption(top, "--main-mib", &options->record.main_mib, "Memory for the main thread's samples");
  AddSizeOption(top, "--worker-mib", &options->record.worker_mib, "… for the other threads' samples");
  AddSizeOption(top, "--stack-mib", &options->record.stack_mib, "… for the distinct call stacks");
  AddSubjectOptions(top, &options->record, "Show this running process",
                    [options, exit_code] { *exit_code = RunTop(*options); });
  output->excludes(top->get_option("--pid"));
}

void AddCompareCommand(CLI::App* trace, int* exit_code) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* compare =
      trace->add_subcommand("compare", "Show the calls of two recordings side by side, also of two builds");
  compare->footer("  lagwatch trace compare old.lwtrace new.lwtrace");
  compare->add_option("before", options->before, "A recording")->required();
  compare->add_option("after", options->after, "A recording of the same program, or of another version")
      ->required();
  compare->add_option("-n,--lines", options->lines, "Number of functions to print")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  compare->add_flag("--json", options->is_json, "Print JSON, of all functions");
  AddDebuginfodFlag(compare, &options->asks_debuginfod);
  AddScreenFlags(compare, &options->screen);
  compare->callback([options, exit_code] { *exit_code = CompareTraces(*options); });
}

void AddConvertCommand(CLI::App* trace, int* exit_code) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* convert =
      trace->add_subcommand("convert", "Convert a recording to the format of another program");
  std::string formats;
  for (const trace::FormatInfo& info : trace::Formats()) {
    formats += "  " + std::string(info.name) + std::string(14 - info.name.size(), ' ') +
               std::string(info.suffix) + std::string(20 - info.suffix.size(), ' ') +
               std::string(info.purpose) + "\n";
  }
  convert->footer(formats + "\n  lagwatch trace convert redis-server.lwtrace -o redis.speedscope.json");
  convert->add_option("TRACE", options->input, "The recording")->required();
  convert->add_option(
      "-o,--output", options->output,
      "The file to write (default: the recording's name with the format's ending; - is standard "
      "output)");
  AddFormatOption(convert, &options->format);
  convert->add_option("--tid", options->tid, "Only this thread");
  AddDebuginfodFlag(convert, &options->asks_debuginfod);
  convert->callback([options, exit_code] { *exit_code = ConvertTrace(*options); });
}

void AddShowCommand(CLI::App* trace, int* exit_code) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* show = trace->add_subcommand(
      "show", "Show the contents of a recording, and the functions that took the most time");
  show->add_option("TRACE", options->input, "The recording")->required();
  show->add_option("-n,--lines", options->lines, "Number of functions to show")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  AddSortOption(show, &options->sort);
  AddDebuginfodFlag(show, &options->asks_debuginfod);
  AddScreenFlags(show, &options->screen);
  show->callback([options, exit_code] { *exit_code = ShowTrace(*options); });
}

}  // namespace

void AddTraceCommand(CLI::App* app, int* exit_code) {
  CLI::App* trace = app->add_subcommand("trace", "Record how programs spend their time, and show it");
  trace->require_subcommand(1);
  AddRecordCommand(trace, exit_code);
  AddTopCommand(trace, exit_code);
  AddConvertCommand(trace, exit_code);
  AddShowCommand(trace, exit_code);
  AddCompareCommand(trace, exit_code);
}

}  // namespace lagwatch::tools
