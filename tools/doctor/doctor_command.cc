// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sdk/run/default_paths.h"
#include "tools/commands.h"
#include "tools/doctor/checkup.h"
#include "tools/process_files.h"
#include "tools/read/output.h"
#include "tools/read/screen.h"
#include "tools/read/table.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct DoctorOptions {
  std::vector<std::string> subject;  // a process id, or a program with its arguments; empty: neither
  Endpoint endpoint;
  std::string key;
  std::string spool_directory = sdk::DefaultSpoolDirectory();
  bool is_json = false;
  ScreenOptions screen;
};

std::string WordOf(CheckResult result) {
  switch (result) {
    case CheckResult::kOk:
      return "ok";
    case CheckResult::kLimited:
      return "limited";
    case CheckResult::kNo:
      break;
  }
  return "no";
}

// "  limited  perf        returns of …", and below the message the line to type.
std::string TextOf(const CheckGroup& group, size_t max_width) {
  constexpr size_t kResultWidth = 9;
  constexpr size_t kNameWidth = 12;
  constexpr size_t kIndent = 2 + kResultWidth + kNameWidth;
  const auto padded = [](const std::string& text, size_t width) {
    return text + std::string(width - std::min(width, text.size()), ' ');
  };
  std::string text = group.title + "\n";
  for (const Check& check : group.checks) {
    text += "  " + padded(WordOf(check.result), kResultWidth) + padded(check.name, kNameWidth) +
            Wrapped(Printable(check.message), max_width, kIndent) + "\n";
    // Not wrapped: it is to be copied.
    if (!check.remedy.empty()) text += std::string(kIndent, ' ') + Printable(check.remedy) + "\n";
  }
  return text;
}

// Titles and results.
std::string PaintChecks(std::string_view text) {
  std::string painted;
  while (!text.empty()) {
    const std::string_view line = base::TakeUntil('\n', &text);
    std::string line_painted = line.starts_with(' ') ? std::string(line) : Inked(Ink::kBold, line);
    for (const auto& [word, ink] : {std::pair("  ok ", Ink::kGreen), std::pair("  limited ", Ink::kYellow),
                                    std::pair("  no ", Ink::kRed)})
      if (line.starts_with(word)) {
        const size_t size = std::string_view(word).size();
        line_painted = Inked(ink, line.substr(0, size)) + std::string(line.substr(size));
      }
    painted += line_painted + "\n";
  }
  return painted;
}

Json JsonOf(const std::vector<CheckGroup>& groups) {
  Json checks = Json::array();
  for (const CheckGroup& group : groups) {
    for (const Check& check : group.checks) {
      checks.push_back({{"subject", group.title},
                        {"check", check.name},
                        {"result", WordOf(check.result)},
                        {"message", check.message},
                        {"remedy", check.remedy}});
    }
  }
  return checks;
}

bool IsAllWell(const std::vector<CheckGroup>& groups) {
  return std::ranges::all_of(groups, [](const CheckGroup& group) {
    return std::ranges::none_of(group.checks,
                                [](const Check& check) { return check.result == CheckResult::kNo; });
  });
}

// Errors: kNotFound if there is no such process or program.
base::Result<CheckGroup> CheckSubject(const std::vector<std::string>& subject) {
  const auto pid = base::ParseNumber<pid_t>(subject.front());
  if (pid && subject.size() == 1) {
    if (fs::exists(ProcessFolder(*pid))) return CheckProcess(*pid);
    return base::Status(base::StatusCode::kNotFound, "no such process: " + subject.front());
  }
  return CheckProgram(LAGWATCH_TRY(FindProgram(subject.front())));
}

int RunDoctor(const DoctorOptions& options) {
  constexpr int kNotThere = 2;
  std::vector<CheckGroup> groups = {CheckMachine(fs::absolute(options.spool_directory)),
                                    CheckCollector(options.endpoint, options.key)};
  if (!options.subject.empty()) {
    const auto subject = CheckSubject(options.subject);
    if (!subject.ok()) {
      Fail("doctor: " + subject.status().message());
      return kNotThere;
    }
    groups.push_back(*subject);
  }
  std::string text;
  if (options.is_json) {
    text = JsonOf(groups).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  } else {
    for (const CheckGroup& group : groups) text += TextOf(group, TerminalWidth());
  }
  const bool is_printed = PrintOnScreen(text, options.screen, options.is_json ? Paint() : PaintChecks) == 0;
  return is_printed && IsAllWell(groups) ? 0 : 1;
}

}  // namespace

void AddDoctorCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* doctor =
      app->add_subcommand("doctor", "Check what works on this machine and for a program, and why not");
  doctor->footer(
      "A line for each check: ok, limited (works in part, or with more rights), or no; with the reason, and\n"
      "the line to type. The exit code is 0 if no line says no, 1 otherwise, 2 without such a process.\n\n"
      "  lagwatch doctor\n"
      "  lagwatch doctor $(pidof redis-server)\n"
      "  lagwatch doctor -- redis-server --port 6380");
  doctor->add_option("PID|COMMAND", options->subject,
                     "A process, or a program that is to be started; with arguments after --");
  doctor->add_option("--endpoint", options->endpoint.url, "Where reports go, as for `lagwatch run`")
      ->envname("LAGWATCH_ENDPOINT");
  doctor->add_option("--key", options->key, "The collector's key for sending")->envname("LAGWATCH_KEY");
  doctor->add_option("--token", options->endpoint.token, "The collector's token for reading")
      ->envname("LAGWATCH_TOKEN");
  doctor
      ->add_option("--ca-file", options->endpoint.ca_file,
                   "PEM: trust only a collector with a certificate signed by one of these")
      ->envname("LAGWATCH_CA_FILE");
  doctor->add_option("--spool", options->spool_directory, "The spool directory")
      ->envname("LAGWATCH_SPOOL")
      ->capture_default_str();
  doctor->add_flag("--json", options->is_json, "Print JSON");
  AddScreenFlags(doctor, &options->screen);
  doctor->callback([options, exit_code] { *exit_code = RunDoctor(*options); });
}

}  // namespace lagwatch::tools
