// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/console.h"

#include <netdb.h>
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

#include "base/clock.h"
#include "base/owned_fd.h"
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

  // For people, on stderr.
  void Summarize() const {
    std::cerr << "lagwatch: probe: " << stats_.hits << (stats_.hits == 1 ? " hit" : " hits");
    const auto add = [](uint64_t count, const char* text) {
      if (count != 0) std::cerr << ", " << count << " " << text;
    };
    add(stats_.skipped, "of them left out to stay within the budget");
    add(stats_.faulted, "ended by memory that could not be read");
    add(stats_.dropped_records, "records dropped");
    add(stats_.dropped_keys, "counts dropped because the tables are full");
    add(stats_.dropped_stacks, "stacks dropped");
    add(stats_.missed, "missed inside of other probes, or on small stacks");
    if (stats_.returns_missed != 0)
      std::cerr << ", at least " << stats_.returns_missed
                << " returns not seen (of calls too deep, or from code made or loaded at run time)";
    if (stats_.is_off)
      std::cerr << "; the script turned itself off, because it would have cost more than its budget";
    if (is_over_ || (client_.is_over() && client_.HasProcessEnded()))
      std::cerr << "; the program has ended";
    else if (client_.is_over())
      std::cerr << "; the program has closed the connection: it has become another one (exec), confines "
                   "itself by seccomp, or has forbidden probes, or this command was stopped for more than a "
                   "minute";
    if (!view_.damage().empty()) std::cerr << "; " << view_.damage();
    if (!refusal_.empty()) std::cerr << "; " << refusal_;
    std::cerr << "\n";
  }
  bool is_off() const { return stats_.is_off; }

 private:
  void Take(const sdk::ReadAnswer& answer) {
    view_.Add(answer);
    if (answer.requests != 0) {
      std::cout.flush();
      asked_.Start(answer.requests);
    }
    stats_ = answer;
    stats_.records.clear();
    stats_.snapshot.clear();
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
    const std::string text = FinalText();
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
  bool is_over_ = false;
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

int RunConsole(ServiceClient* client, uint32_t id, ProbeView* view, AskedCommands* asked,
               const ConsoleOptions& options) {
  Shown shown(client, id, view, asked, options);
  if (base::Status status = shown.Open(); !status.ok()) return Fail("probe: " + status.message());
  const int64_t begin_ns = base::SystemClock().MonoNs();
  const int64_t end_ns = options.for_ns == 0 ? INT64_MAX : begin_ns + options.for_ns;
  int64_t table_ns = begin_ns + kTableNs;
  bool goes_on = true;
  while (goes_on && !g_is_interrupted.load()) {
    const int64_t now_ns = base::SystemClock().MonoNs();
    if (now_ns >= end_ns) break;
    const bool wants_table = now_ns >= table_ns && view->has_aggregates();
    goes_on = shown.Read(wants_table || view->PrintsStacks()) && !shown.is_off();
    shown.Print(wants_table && goes_on, /*is_last=*/false);
    if (wants_table) table_ns = now_ns + kTableNs;
    if (goes_on) shown.Rest(std::min(now_ns + kReadNs, end_ns));
  }
  if (goes_on) static_cast<void>(shown.Read(/*wants_snapshot=*/true));
  shown.Print(/*has_snapshot=*/true, /*is_last=*/true);
  if (!client->is_over() && !options.leaves) {
    const auto done = client->Ask<sdk::NumberAnswer>(sdk::ProbeMessageKind::kDisarm, sdk::ProgramQuestion{id},
                                                     sdk::ProbeMessageKind::kDone);
    if (done.ok() && done->number == 0) {
      shown.Summarize();
      return Fail("probe: the program's code is not yet what it was; the probes there deliver nothing more");
    }
  }
  shown.Summarize();
  return 0;
}

}  // namespace lagwatch::tools
