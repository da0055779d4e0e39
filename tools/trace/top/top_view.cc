// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/top/top_view.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <tuple>

#include "base/clock.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

// Of a terminal's text.
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kReversed = "\x1b[7m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kCyan = "\x1b[36m";

struct Row {
  uint32_t function;
  const TimeTable::Times* times;
};

const TimeTable& TableOf(const LiveTimes::Moment& moment, const TopView& view) {
  const TimeTables& tables = view.is_since_begin ? moment.since_begin : moment.last;
  return view.has_waits ? tables.with_waits : tables.running;
}

// The first `count` of all that took time, in the order that is wanted.
std::vector<Row> SortedRows(const TimeTable& table, bool is_by_total, size_t count) {
  std::vector<Row> rows;
  for (uint32_t i = 0; i < table.by_function.size(); ++i)
    if (table.by_function[i].total_ns > 0) rows.push_back({i, &table.by_function[i]});
  const auto comes_first = [&](const Row& a, const Row& b) {
    const auto key = [&](const Row& row) {
      const int64_t self_ns = -row.times->self_ns;
      const int64_t total_ns = -row.times->total_ns;
      return is_by_total ? std::tuple(total_ns, self_ns, row.function)
                         : std::tuple(self_ns, total_ns, row.function);
    };
    return key(a) < key(b);
  };
  count = std::min(count, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count), rows.end(), comes_first);
  rows.resize(count);
  return rows;
}

std::string Duration(int64_t ns) { return ShortDuration(static_cast<double>(ns) / base::kNsPerMs); }

double Percent(int64_t part_ns, int64_t all_ns) {
  return all_ns > 0 ? 100 * static_cast<double>(part_ns) / static_cast<double>(all_ns) : 0;
}

std::string OneDecimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

// Keeps the beginning and the end, which distinguish modules.
std::string Shortened(const std::string& module) {
  constexpr size_t kMost = 24;
  return module.size() <= kMost
             ? module
             : module.substr(0, kMost / 2) + "…" + module.substr(module.size() - kMost / 2 + 1);
}

std::string KindOf(const TimeTable::Times& times) {
  const double waited = Percent(times.waited_ns, times.total_ns);
  return waited > 90 ? "wait" : waited < 10 ? "cpu" : "both";
}

std::string Count(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Cut to the width, if there is one. Only the name is text of the program, and is made printable.
std::string Line(const std::string& text, size_t columns) {
  std::string line = Printable(text);
  if (columns != 0 && line.size() > columns) line.resize(columns);
  return line;
}

std::string Coloured(std::string_view colour, const std::string& text, bool has_colours) {
  return has_colours && !colour.empty() ? std::string(colour) + text + std::string(kPlain) : text;
}

std::vector<std::string> Head(const LiveTimes::Moment& moment, const TopView& view, const PageSize& size,
                              bool has_colours) {
  const LiveTimes::Figures& figures = moment.figures;
  char rates[64];
  std::snprintf(rates, sizeof rates, "%.0f samples/s, %.1f %% CPU", figures.samples_per_s,
                100 * figures.processor_share);
  const std::string process = figures.process_name + " (" + std::to_string(figures.pid) + "), " +
                              Duration(figures.elapsed_ns) + ", " + Count(figures.thread_count, "thread") +
                              ", " + rates;
  const std::string span =
      view.is_since_begin ? "since the beginning" : "the last " + Duration(figures.interval_ns);
  const std::string shown = std::string(view.is_paused ? "paused, " : "") + span + ", " +
                            (view.has_waits ? "running and waiting threads" : "running threads") + ", by " +
                            (view.is_by_total ? "total" : "self");
  std::vector<std::string> lines = {Coloured(kBold, Line(process, size.columns), has_colours),
                                    Line(shown, size.columns)};
  const auto& losses = figures.losses;
  const auto most = std::ranges::max_element(losses, {}, &trace::Loss::count);
  if (most == losses.end()) return lines;
  std::string missing = "missing: " + std::to_string(most->count) + " " + most->what;
  if (!most->remedy.empty()) missing += " (less with " + most->remedy + ")";
  if (losses.size() > 1) missing += ", and " + std::to_string(losses.size() - 1) + " more kinds";
  lines.push_back(Coloured(kYellow, Line(missing, size.columns), has_colours));
  return lines;
}

std::string_view ColourOf(const TimeTable::Times& times, int64_t all_ns, bool is_by_total) {
  constexpr double kHot = 20;
  constexpr double kWarm = 5;
  const double percent = Percent(is_by_total ? times.total_ns : times.self_ns, all_ns);
  if (times.waited_ns * 2 > times.total_ns) return kCyan;
  return percent >= kHot ? kRed : percent >= kWarm ? kYellow : std::string_view();
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string TopPage(const LiveTimes::Moment& moment, const std::vector<LiveTimes::FunctionTimes>& functions,
                    const TopView& view, const PageSize& size, bool has_colours) {
  std::vector<std::string> page = Head(moment, view, size, has_colours);
  page.emplace_back();
  const TimeTable& times = TableOf(moment, view);
  std::vector<Row> rows = SortedRows(times, view.is_by_total, view.first_row + size.rows);
  rows.erase(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(std::min(view.first_row, rows.size())));
  Table table({{"SELF%", Table::Align::kRight},
               {"TOTAL%", Table::Align::kRight},
               {"KIND"},
               {"FUNCTION", Table::Align::kLeft, true},
               {"MODULE"}});
  for (const Row& row : rows) {
    const LiveTimes::FunctionTimes& function = functions[row.function];
    table.AddRow({OneDecimal(Percent(row.times->self_ns, times.all_ns)),
                  OneDecimal(Percent(row.times->total_ns, times.all_ns)), KindOf(*row.times), function.name,
                  Shortened(function.module)});
  }
  const std::vector<std::string> lines = LinesOf(table.ToText(size.columns));
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view colour =
        i == 0 ? kReversed : ColourOf(*rows[i - 1].times, times.all_ns, view.is_by_total);
    page.push_back(Coloured(colour, lines[i], has_colours));
  }
  if (rows.empty() && !view.has_waits) page.emplace_back("No thread was seen running.");
  std::string text;
  for (const std::string& line : page) text += line + "\n";
  return text;
}

size_t TopHeadLines(const LiveTimes::Moment& moment) { return moment.figures.losses.empty() ? 4 : 5; }

size_t TopRowCount(const LiveTimes::Moment& moment, const TopView& view) {
  return static_cast<size_t>(std::ranges::count_if(
      TableOf(moment, view).by_function, [](const TimeTable::Times& times) { return times.total_ns > 0; }));
}

std::string TopKeys(bool has_colours) {
  return Coloured(kReversed, "q quit  s self  t total  w waits  a all/last  p pause  ? help", has_colours);
}

std::string TopHelp() {
  return "SELF%   the share of time in which the function was the innermost one\n"
         "TOTAL%  … in which it was anywhere on the stack\n"
         "KIND    cpu: it had a processor; wait: its thread waited in it; both\n"
         "\n"
         "s  sort by self              t  sort by total\n"
         "w  with waiting threads, or only running ones\n"
         "a  since the beginning, or the last interval\n"
         "p  pause, or go on           arrows, PgUp, PgDn, Home, End: scroll\n"
         "q  quit                      ?  this help, or back\n";
}

}  // namespace lagwatch::tools
