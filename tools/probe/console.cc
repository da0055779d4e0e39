// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/console.h"

#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "probe/limits.h"
#include "probe/show/value_text.h"
#include "tools/read/output.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

std::atomic<bool> g_is_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "not signal-safe");

void NoteSignal(int number) {
  if (!g_is_interrupted.exchange(true)) return;
  signal(number, SIG_DFL);
  raise(number);
}

constexpr int64_t kReadNs = 100 * base::kNsPerMs;
constexpr int64_t kTableNs = base::kNsPerSecond;

std::string CutLines(const std::string& text) {
  std::string cut;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    cut += CutTo(std::max<size_t>(TerminalWidth(), 1), text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return cut;
}

// Sends lines by UDP: those that are lost are lost.
class StatsdSender {
 public:
  static base::Result<StatsdSender> Open(const std::string& place) {
    const size_t colon = place.rfind(':');
    if (colon == std::string::npos)
      return base::Status(base::StatusCode::kInvalid, "--statsd: give HOST:PORT, as in localhost:8125");
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const std::string host = place.substr(0, colon);
    const int error = getaddrinfo(host.c_str(), place.substr(colon + 1).c_str(), &wanted, &found);
    if (error != 0)
      return base::Status(base::StatusCode::kNotFound, "--statsd: " + place + ": " + gai_strerror(error));
    base::OwnedFd fd(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool is_ok = fd && connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    if (!is_ok) return base::IoError("--statsd: cannot send to " + place, errno);
    return StatsdSender(std::move(fd));
  }
  // In packets of whole lines.
  void Send(std::string_view lines) const {
    constexpr size_t kPacketBytes = 1400;
    while (!lines.empty()) {
      size_t size = lines.size();
      if (size > kPacketBytes) {
        const size_t end = lines.rfind('\n', kPacketBytes);
        size = end == std::string_view::npos ? size : end + 1;
      }
      send(fd_.get(), lines.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
      lines.remove_prefix(size);
    }
  }

 private:
  explicit StatsdSender(base::OwnedFd fd) : fd_(std::move(fd)) {}
  base::OwnedFd fd_;
};

// A reader finds the old text or the new one, never a part.
void WriteWhole(const std::string& file, const std::string& text) {
  const std::string part = file + ".part";
  std::ofstream(part, std::ios::trunc) << text;
  std::error_code error;
  std::filesystem::rename(part, file, error);
  if (error) std::cerr << "lagwatch: probe: cannot write " << file << ": " << error.message() << "\n";
}

// The part that fits on the terminal: lines above it cannot be redrawn, and longer ones would take two.
std::string FirstLines(const std::string& whole) {
  winsize size{};
  const std::string text = CutLines(whole);
  const size_t height = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
  constexpr size_t kRest = 2;  // for the note, and the line of the cursor
  const auto lines = static_cast<size_t>(std::ranges::count(text, '\n'));
  if (height <= kRest || lines < height) return text;
  size_t end = 0;
  for (size_t i = 0; i < height - kRest; ++i) end = text.find('\n', end) + 1;
  return text.substr(0, end) + "… and " + std::to_string(lines - (height - kRest)) +
         " lines more at the end\n";
}

// With what helps.
std::string ReasonToBeOff(uint32_t budget_ppm) {
  constexpr double kPpmPerPercent = 10'000;
  const std::string most = probe::NumberText(probe::kMaxBudgetPpm / kPpmPerPercent);
  const std::string share = probe::NumberText(budget_ppm / kPpmPerPercent);
  return "the script turned itself off after a second, because a thread hits it so often that this alone "
         "takes more "
         "than its budget of " +
         share + " %: " +
         (budget_ppm < probe::kMaxBudgetPpm
              ? "`budget " + most + "%` at the script's begin allows " +
                    probe::NumberText(static_cast<double>(probe::kMaxBudgetPpm) / budget_ppm) +
                    " times as many hits"
              : "probe a function that is called less often");
}

class Shown {
 public:
  Shown(ServiceClient* client, uint32_t id, ProbeView* view, AskedCommands* asked,
        const ConsoleOptions& options)
      : client_(*client),
        id_(id),
        view_(*view),
        asked_(*asked),
        options_(options),
        is_terminal_(TerminalWidth() != 0) {}

  base::Status Open() {
    if (options_.statsd.empty()) return {};
    auto sender = LAGWATCH_TRY(StatsdSender::Open(options_.statsd));
    statsd_.emplace(std::move(sender));
    return {};
  }

  // False once there is nothing more to come.
  bool Read(bool wants_snapshot) {
    auto answer = client_.Ask<sdk::ReadAnswer>(sdk::ProbeMessageKind::kRead,
                                               sdk::ReadQuestion{.id = id_, .wants_snapshot = wants_snapshot},
                                               sdk::ProbeMessageKind::kData);
    if (answer.ok()) Take(*answer);
    if (!answer.ok() && !client_.is_over()) refusal_ = answer.status().message();
    TakeLast();
    return answer.ok() && !is_over_;
  }
  void TakeLast() {
    for (const sdk::ReadAnswer& last : client_.TakeLast()) {
      if (last.id != id_) continue;
      Take(last);
      is_over_ = true;
    }
  }
  void Rest(int64_t until_ns) {
    const int64_t left_ns = until_ns - base::SystemClock().MonoNs();
    client_.WaitForEnd(static_cast<int>(std::max<int64_t>(left_ns / base::kNsPerMs, 0)));
    TakeLast();
  }

  void Print(bool has_snapshot, bool is_last) {
    const std::string lines = view_.TakeLines(options_.is_json);
    if (!lines.empty() && table_lines_ != 0) EraseTable();
    std::cout << lines;
    if (has_snapshot && view_.has_aggregates()) PrintTables(is_last);
    std::cout.flush();
  }

  void WriteTrace() const {
    if (options_.perfetto_file.empty()) return;
    std::vector<trace::Loss> losses;
    const auto add = [&](uint64_t count, const char* text) {
      if (count != 0) losses.push_back({.what = text, .count = count, .remedy = {}});
    };
    add(stats_.dropped_records, "records dropped");
    add(stats_.lost, "hits left out to stay within the budget");
    add(stats_.missed, "hits missed");
    add(stats_.returns_missed, "returns not seen");
    WriteWhole(options_.perfetto_file, view_.PerfettoTrace(std::move(losses)));
  }

  // For people, on stderr; else as the last object of JSON.
  void Summarize() const {
    if (options_.is_json) std::cout << SummaryJson() << std::flush;
    std::cerr << "lagwatch: probe: " << stats_.hits << (stats_.hits == 1 ? " hit" : " hits");
    const auto add = [](uint64_t count, const char* text) {
      if (count != 0) std::cerr << ", " << count << " " << text;
    };
    add(stats_.skipped, "of them left out to stay within the budget");
    add(stats_.faulted, "of them ended by memory that could not be read, or by a division by 0");
    add(stats_.dropped_records, "records dropped");
    add(stats_.dropped_keys, "counts dropped because the tables are full");
    add(stats_.dropped_stacks, "stacks dropped");
    add(stats_.missed,
        "more missed: calls that the probes' own work makes, or on stacks of coroutines and signal handlers");
    if (stats_.returns_missed != 0)
      std::cerr << ", at least " << stats_.returns_missed
                << " returns not seen (of calls too deep, of more than 4,000 threads, or from code made or "
                   "loaded at "
                   "run time)";
    if (stats_.is_off) std::cerr << "; " << ReasonToBeOff(view_.budget_ppm());
    if (is_disarmed_)
      std::cerr << "; another command has disarmed the script";
    else if (client_.is_over() ? client_.HasProcessEnded() : is_over_)
      std::cerr << "; the program has ended";
    else if (client_.is_over())
      std::cerr << "; the program has closed the connection: it has become another one (exec), confines "
                   "itself by seccomp, ends its main thread, has forbidden probes, or this command was "
                   "stopped for more than a "
                   "minute";
    if (const int64_t age_ns = TablesAgeNs(); age_ns > 0)
      std::cerr << "; the tables are of " << probe::DurationText(age_ns) << " earlier";
    if (!view_.damage().empty()) std::cerr << "; " << view_.damage();
    if (!refusal_.empty()) std::cerr << "; " << refusal_;
    std::cerr << "\n";
  }
  bool is_off() const { return stats_.is_off; }
  // Follows the script again after the process has closed the connection, as it does when this command was
  // stopped for long.
  bool Reconnect() {
    if (is_over_ || !client_.is_over() || !client_.Reconnect()) return false;
    const auto followed = client_.Ask<sdk::FollowAnswer>(
        sdk::ProbeMessageKind::kFollow, sdk::ProgramQuestion{id_}, sdk::ProbeMessageKind::kFollowed);
    if (!followed.ok()) refusal_ = "this command was stopped for so long that its script was removed";
    return followed.ok();
  }
  // Whether another command has ended the script in the living process.
  bool WasDisarmed() {
    if (is_over_ && !client_.is_over()) {
      const auto answer = client_.Ask<sdk::ReadAnswer>(
          sdk::ProbeMessageKind::kRead, sdk::ReadQuestion{.id = id_}, sdk::ProbeMessageKind::kData);
      is_disarmed_ = answer.status().code() == base::StatusCode::kInvalid;
      if (is_disarmed_) refusal_.clear();  // the same
    }
    return is_disarmed_ || !refusal_.empty();
  }

 private:
  void Take(const sdk::ReadAnswer& answer) {
    view_.Add(answer);
    answered_ns_ = base::SystemClock().MonoNs();
    if (!answer.snapshot.empty()) tables_ns_ = answered_ns_;
    if (answer.requests != 0) {
      std::cout.flush();
      asked_.Start(answer.requests);
    }
    stats_ = answer;
    stats_.records.clear();
    stats_.snapshot.clear();
  }

  // By how much the tables are older than the numbers: a process that was killed sends no last ones.
  int64_t TablesAgeNs() const {
    return view_.has_aggregates() && client_.is_over() && tables_ns_ != 0 ? answered_ns_ - tables_ns_ : 0;
  }

  std::string SummaryJson() const {
    std::string json;
    const auto add = [&](const char* name, uint64_t number) {
      json += (json.empty() ? "\"" : ",\"") + std::string(name) + "\":" + std::to_string(number);
    };
    add("hits", stats_.hits);
    add("left_out", stats_.skipped);
    add("lost", stats_.lost);
    add("failed", stats_.faulted);
    add("dropped_records", stats_.dropped_records);
    add("dropped_counts", stats_.dropped_keys);
    add("dropped_stacks", stats_.dropped_stacks);
    add("missed", stats_.missed);
    add("missed_returns", stats_.returns_missed);
    add("tables_age_ns", static_cast<uint64_t>(TablesAgeNs()));
    return "{\"summary\":{" + json + ",\"is_off\":" + (stats_.is_off ? "true" : "false") + "}}\n";
  }

  std::string FinalText() {
    if (options_.is_folded) return view_.FoldedStacks();
    return options_.is_json ? view_.JsonTables() : view_.Tables();
  }

  void PrintTables(bool is_last) {
    if (statsd_) statsd_->Send(view_.Statsd());
    if (!options_.prometheus_file.empty()) WriteWhole(options_.prometheus_file, view_.Prometheus());
    const bool is_live = is_terminal_ && !options_.is_folded && !options_.is_json;
    if (!is_live && !is_last && !options_.is_json) return;
    EraseTable();
    std::string text = FinalText();
    if (is_live && !is_last) text = FirstLines(text);
    std::cout << text;
    table_lines_ = is_live && !is_last ? std::ranges::count(text, '\n') : 0;
  }

  // Moves up over the table that is redrawn.
  void EraseTable() {
    if (table_lines_ != 0) std::cout << "\x1b[" << table_lines_ << "A\x1b[J";
    table_lines_ = 0;
  }

  ServiceClient& client_;
  const uint32_t id_;
  ProbeView& view_;
  AskedCommands& asked_;
  const ConsoleOptions& options_;
  const bool is_terminal_;
  std::optional<StatsdSender> statsd_;
  sdk::ReadAnswer stats_;
  std::string refusal_;
  std::ptrdiff_t table_lines_ = 0;
  int64_t answered_ns_ = 0;
  int64_t tables_ns_ = 0;
  bool is_over_ = false;
  bool is_disarmed_ = false;
};

}  // namespace

void CatchEndSignals() {
  struct sigaction action {};
  action.sa_handler = NoteSignal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

base::Status CheckSinks(const ConsoleOptions& options) {
  if (!options.statsd.empty()) {
    if (auto sender = StatsdSender::Open(options.statsd); !sender.ok()) return sender.status();
  }
  for (const auto& [option, file] :
       {std::pair("--prometheus", options.prometheus_file), {"--perfetto", options.perfetto_file}}) {
    if (file.empty()) continue;
    const std::string part = file + ".part";
    if (!std::ofstream(part, std::ios::trunc))
      return base::Status(base::StatusCode::kIo, std::string(option) + ": cannot write " + file);
    unlink(part.c_str());
  }
  return {};
}

int RunConsole(ServiceClient* client, uint32_t id, ProbeView* view, AskedCommands* asked,
               const ConsoleOptions& options) {
  Shown shown(client, id, view, asked, options);
  if (base::Status status = shown.Open(); !status.ok()) return Fail("probe: " + status.message());
  if (!options.perfetto_file.empty()) view->RecordForPerfetto(client->pid());
  const int64_t begin_ns = base::SystemClock().MonoNs();
  const int64_t end_ns = options.for_ns == 0 ? INT64_MAX : begin_ns + options.for_ns;
  int64_t table_ns = begin_ns + kTableNs;
  bool is_followed = true;
  while (is_followed && !shown.is_off() && !g_is_interrupted.load()) {
    const int64_t now_ns = base::SystemClock().MonoNs();
    if (now_ns >= end_ns) break;
    const bool wants_table = now_ns >= table_ns && view->has_aggregates();
    is_followed = shown.Read(wants_table || view->PrintsStacks()) || shown.Reconnect();
    const bool goes_on = is_followed && !shown.is_off();
    shown.Print(wants_table && goes_on, /*is_last=*/false);
    if (wants_table) table_ns = now_ns + kTableNs;
    if (goes_on) shown.Rest(std::min(now_ns + kReadNs, end_ns));
  }
  if (is_followed && !shown.Read(/*wants_snapshot=*/true) && shown.Reconnect())
    static_cast<void>(shown.Read(/*wants_snapshot=*/true));
  const bool was_disarmed = shown.WasDisarmed();
  shown.Print(/*has_snapshot=*/true, /*is_last=*/true);
  shown.WriteTrace();
  if (!client->is_over() && !options.leaves && !was_disarmed) {
    const auto done = client->Ask<sdk::NumberAnswer>(sdk::ProbeMessageKind::kDisarm, sdk::ProgramQuestion{id},
                                                     sdk::ProbeMessageKind::kDone);
    if (done.ok() && done->number == 0) {
      shown.Summarize();
      return Fail("probe: the program's code is not yet what it was; the probes there deliver nothing more");
    }
  }
  shown.Summarize();
  return was_disarmed ? 1 : 0;
}

}  // namespace lagwatch::tools
