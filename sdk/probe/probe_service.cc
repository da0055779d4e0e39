// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/probe_service.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "base/process/run_guarded.h"
#include "sdk/probe/loop_sites.h"
#include "trace/instrument/code_writer.h"

namespace lagwatch::sdk {
namespace {

constexpr size_t kMostConsoles = 16;
constexpr size_t kStackBytes = 512 * 1024;
// So that the end of the process and what was forbidden are noticed.
constexpr int64_t kPeriodNs = 25 * base::kNsPerMs;
// At what the process may have done without a call that is noticed.
constexpr int64_t kLookNs = 250 * base::kNsPerMs;

int64_t NowNs() { return base::SystemClock().MonoNs(); }

}  // namespace

base::Status ProbeService::Start() {
  constexpr int64_t kStartNs = 5 * base::kNsPerSecond;
  end_ns_.store(NowNs() + options_.orphan_ns);
  if (base::Status status = thread_.Start("lagwatch-probe", kStackBytes, &Run, this); !status.ok())
    return status;
  if (!started_.SleepUntil(NowNs() + kStartNs))
    return {base::StatusCode::kUnavailable, "its thread does not start"};
  return start_status_;
}

bool ProbeService::Prolong() {
  const std::lock_guard lock(end_mutex_);
  end_ns_.store(NowNs() + options_.orphan_ns);
  return !has_ended_;
}

bool ProbeService::TryJoin() {
  constexpr int64_t kJoinNs = 2 * base::kNsPerSecond;
  return thread_.TryJoin(kJoinNs);
}

void ProbeService::Flush() {
  constexpr int64_t kFlushNs = 200 * base::kNsPerMs;
  if (getpid() != pid_) return;
  if (is_followed_.load() && !is_flush_wanted_.exchange(true)) flushed_.SleepUntil(NowNs() + kFlushNs);
  socket_.RemoveFiles();
}

void ProbeService::End() {
  is_forbidden_.store(true);
  static_cast<void>(TryJoin());  // if it fails, the caller goes on beside the thread
}

bool ProbeService::AwaitArmed(int64_t timeout_ns) {
  const int64_t end_ns = NowNs() + timeout_ns;
  while (!has_armed_.load() && NowNs() < end_ns) armed_.SleepUntil(end_ns);
  return has_armed_.load();
}

void ProbeService::Run(void* self) {
  std::optional<trace::ScopedCodeMemory> memory;
  if (base::HasOwnFiles()) memory.emplace();
  base::RunGuarded(
      [](void* context) {
        auto* service = static_cast<ProbeService*>(context);
        trace::LeaveThreadOutOfProbes();
        auto socket = ListenForConsoles(service->options_.directory);
        service->start_status_ = socket.status();
        if (socket.ok()) service->socket_ = std::move(socket).value();
        service->first_ticks_ = base::ReadTickPair(base::SystemClock());
        const bool serves = service->start_status_.ok();
        service->started_.Wake();
        if (serves) service->Serve();
      },
      self);
  // Also after an exception, which is one of no memory: the program goes on without probes.
  auto* service = static_cast<ProbeService*>(self);
  base::RunGuarded([](void* context) { static_cast<ProbeService*>(context)->RemoveAll(); }, self);
  service->socket_.RemoveFiles();
  service->socket_.fd.Close();
  service->is_followed_.store(false);
  // As late as possible: this thread is what it guards against.
  base::RunGuarded(
      [](void* context) {
        auto* ended = static_cast<ProbeService*>(context);
        ended->guard_.Disarm(ended->prober_);
      },
      self);
  const std::lock_guard lock(service->end_mutex_);
  service->has_ended_ = true;
}

void ProbeService::Serve() {
  guard_.Arm(prober_);
  static_cast<void>(Prolong());  // consoles could not be accepted until now
  int64_t next_timer_ns = INT64_MAX;
  for (int64_t now_ns = NowNs(); !MayEnd(now_ns); now_ns = NowNs()) {
    Wait(next_timer_ns);
    if (is_forbidden_.load() || MustEnd(NowNs())) return SendLast();
    Accept();
    for (const auto& console : consoles_) {
      Receive(console.get());
      AnswerAll(console.get());
    }
    is_followed_.store(std::ranges::any_of(
        programs_, [&](const Program& each) { return ConsolesOf(each.armed->id()) != 0; }));
    for (const auto& console : consoles_) Send(console.get());
    EndConsoles(NowNs());
    next_timer_ns = INT64_MAX;
    for (Program& program : programs_)
      next_timer_ns = std::min(next_timer_ns, program.armed->RunTimers(NowNs()));
    TakeAwayWhatIsOff();
    RefreshStackCaptures();
    NoteLoadedModules(NowNs());
    if (is_flush_wanted_.load()) SendLast();
    RemoveOrphans(NowNs());
    FreeRetired();
  }
}

bool ProbeService::MustEnd(int64_t now_ns) {
  if (now_ns - guard_looked_ns_ < kLookNs) return false;
  guard_looked_ns_ = now_ns;
  return guard_.MustEnd();
}

bool ProbeService::MayEnd(int64_t now_ns) {
  if (!programs_.empty() || !consoles_.empty()) {
    end_ns_.store(std::max(end_ns_.load(), now_ns + options_.parting_ns));
    return false;
  }
  const std::lock_guard lock(end_mutex_);
  if (now_ns < end_ns_.load()) return false;
  has_ended_ = true;
  return true;
}

void ProbeService::Wait(int64_t next_timer_ns) {
  const int64_t now_ns = NowNs();
  // A socket that nothing is accepted from would be ready all the time.
  std::vector<pollfd> polled{{HasRoom(now_ns) ? socket_.fd.get() : -1, POLLIN, 0}};
  for (const auto& console : consoles_) {
    const bool has_output = !console->to_send.empty();
    polled.push_back({console->fd.get(), static_cast<short>(has_output ? POLLOUT : POLLIN), 0});
  }
  const int64_t wait_ns = std::clamp<int64_t>(next_timer_ns - now_ns, 0, kPeriodNs);
  const timespec timeout{.tv_sec = wait_ns / base::kNsPerSecond, .tv_nsec = wait_ns % base::kNsPerSecond};
  ppoll(polled.data(), polled.size(), &timeout, nullptr);
}

bool ProbeService::HasRoom(int64_t now_ns) const {
  return consoles_.size() < kMostConsoles && now_ns >= accept_after_ns_;
}

void ProbeService::Accept() {
  constexpr int64_t kPauseNs = 100 * base::kNsPerMs;
  for (int64_t now_ns = NowNs(); HasRoom(now_ns); now_ns = NowNs()) {
    ConsolePeer peer = AcceptConsole(socket_);
    if (peer.has_failed) accept_after_ns_ = now_ns + kPauseNs;
    if (!peer.fd) return;
    auto console = std::make_unique<Console>();
    console->fd = std::move(peer.fd);
    console->user = peer.user;
    console->pid = peer.pid;
    console->moved_ns = now_ns;
    end_ns_.store(now_ns + options_.parting_ns);
    consoles_.push_back(std::move(console));
  }
}

void ProbeService::Receive(Console* console) {
  constexpr size_t kPieceBytes = 64 * 1024;
  char piece[4096];
  size_t left = kPieceBytes;  // per round: other consoles wait, too
  while (left != 0 && console->to_send.empty()) {
    const ssize_t got = recv(console->fd.get(), piece, std::min(left, sizeof piece), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      console->is_over = true;
      return;
    }
    console->received.append(piece, static_cast<size_t>(got));
    console->moved_ns = NowNs();
    left -= static_cast<size_t>(got);
  }
}

void ProbeService::AnswerAll(Console* console) {
  while (!console->is_over && console->to_send.empty()) {
    ProbeMessageHeader header;
    if (console->received.size() < sizeof header) return;
    __builtin_memcpy(&header, console->received.data(), sizeof header);
    if (header.magic != kProbeMagic || header.body_bytes > kMaxProbeQuestionBytes) {
      console->is_over = true;
      return;
    }
    const size_t whole = sizeof header + header.body_bytes;
    if (console->received.size() < whole) return;
    const std::string_view body =
        std::string_view(console->received).substr(sizeof header, header.body_bytes);
    const auto kind = static_cast<ProbeMessageKind>(header.kind);
    const bool is_known = header.version == ProbeVersion() || kind == ProbeMessageKind::kDisarm ||
                          kind == ProbeMessageKind::kList;
    console->to_send = is_known ? Answer(console, kind, body)
                                : EncodeRefusal(
                                      "it has loaded another version of lagwatch than this command is of: "
                                      "restart the program; `--armed` and `--disarm` work still");
    console->received.erase(0, whole);
  }
}

void ProbeService::Send(Console* console) {
  while (!console->is_over && console->sent_bytes < console->to_send.size()) {
    const ssize_t sent = send(console->fd.get(), console->to_send.data() + console->sent_bytes,
                              console->to_send.size() - console->sent_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) console->is_over = true;
    if (sent <= 0) continue;
    console->sent_bytes += static_cast<size_t>(sent);
    console->moved_ns = NowNs();
  }
  console->to_send.clear();
  console->to_send.shrink_to_fit();
  console->sent_bytes = 0;
}

void ProbeService::EndConsoles(int64_t now_ns) {
  const int64_t silent_ns = consoles_.size() < kMostConsoles
                                ? options_.silent_ns
                                : std::min(options_.silent_ns, options_.crowded_ns);
  for (const auto& console : consoles_) {
    const int64_t patience_ns = console->to_send.empty() ? silent_ns : options_.stalled_ns;
    console->is_over |= now_ns - console->moved_ns >= patience_ns;
  }
  const auto is_over = [](const auto& console) { return console->is_over; };
  if (std::erase_if(consoles_, is_over) == 0) return;
  // A program that waits at its start for its probes goes on.
  is_followed_.store(true);  // the program may end as soon as it goes on
  has_armed_.store(true);
  armed_.Wake();
}

ProbeService::Program* ProbeService::Find(uint32_t id) {
  const auto found =
      std::ranges::find_if(programs_, [id](const Program& each) { return each.armed->id() == id; });
  return found == programs_.end() ? nullptr : &*found;
}

void ProbeService::Remove(uint32_t id) {
  const auto found =
      std::ranges::find_if(programs_, [id](const Program& each) { return each.armed->id() == id; });
  if (found == programs_.end()) return;
  Retire(std::move(found->armed));
  programs_.erase(found);
}

void ProbeService::Retire(std::unique_ptr<ArmedProgram> program) {
  program->Disarm(prober_, options_.java);
  retired_.push_back({.program = std::move(program), .disarm = prober_->last_disarm()});
}

void ProbeService::FreeRetired() {
  if (retired_.empty()) return;
  const uint64_t forgotten = prober_->FindLastForgotten();
  std::erase_if(retired_, [forgotten](const Retired& each) {
    return each.disarm <= forgotten && !each.program->IsInUse();
  });
}

void ProbeService::RemoveAll() {
  while (!programs_.empty()) Remove(programs_.front().armed->id());
  FreeRetired();
  for (Retired& each : retired_) static_cast<void>(each.program.release());  // a thread may be there
  retired_.clear();
}

void ProbeService::RemoveOrphans(int64_t now_ns) {
  std::vector<uint32_t> gone;
  for (Program& program : programs_) {
    const bool has_console = ConsolesOf(program.armed->id()) != 0;
    if (has_console || program.armed->question().stays) {
      program.orphan_since_ns = 0;
    } else if (program.orphan_since_ns == 0) {
      program.orphan_since_ns = now_ns;
    } else if (now_ns - program.orphan_since_ns >= options_.orphan_ns) {
      gone.push_back(program.armed->id());
    }
  }
  for (const uint32_t id : gone) {
    WriteAuditLine("removes probe script " + std::to_string(id) + ", which no console follows any more");
    Remove(id);
  }
}

// Hits cost time also when nothing runs. The program stays, for consoles that ask later.
void ProbeService::TakeAwayWhatIsOff() {
  for (Program& program : programs_) {
    if (!program.armed->has_probes() || !program.armed->is_off()) continue;
    WriteAuditLine("takes the probes of script " + std::to_string(program.armed->id()) +
                   " away, which has turned itself off");
    program.armed->TakeProbesAway(prober_, options_.java);
  }
}

// Returns into modules that were loaded since, and calls by their import tables, are not noticed before the
// mechanism knows these.
void ProbeService::NoteLoadedModules(int64_t now_ns) {
  if (now_ns - loader_looked_ns_ < kLookNs) return;
  loader_looked_ns_ = now_ns;
  const base::LoaderCounts counts = base::LoaderCounts::Now();
  if (counts == loader_counts_) return;
  loader_counts_ = counts;
  prober_->NoteLoadedModules();
}

void ProbeService::AddLast(Console* console, uint32_t id) {
  const Program* program = Find(id);
  if (program == nullptr) return;
  ReadAnswer answer = DataOf(*program, /*wants_snapshot=*/true, console);
  answer.is_last = true;
  console->to_send += EncodeProbeMessage(ProbeMessageKind::kData, std::move(answer));
}

void ProbeService::SendLast() {
  CollectCounts();
  for (const auto& console : consoles_) {
    for (const uint32_t id : console->programs) AddLast(console.get(), id);
    Send(console.get());
  }
  is_flush_wanted_.store(false);
  flushed_.Wake();
}

}  // namespace lagwatch::sdk
