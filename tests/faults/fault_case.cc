// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/fault_case.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "report/upload/upload_ledger.h"
#include "tests/faults/accounts.h"
#include "tests/faults/collector_side.h"
#include "tests/faults/http_way.h"
#include "tests/faults/pipe_way.h"
#include "tests/faults/spool_damage.h"
#include "tests/report/report_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::faults {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Longer than any process of a case takes, however busy the machine is.
constexpr std::chrono::seconds kHang{120};

struct Child {
  pid_t pid = -1;
  int socket = -1;
  const ProcessPlan* plan = nullptr;  // null: of the last run
};

class Case {
 public:
  Case(uint64_t seed, Sabotage sabotage)
      : plan_(DrawCase(seed)),
        sabotage_(sabotage),
        random_(seed ^ 0xca5e),
        collector_(plan_),
        accounts_(plan_),
        foreign_(MakeSpool(), Folder("outside")) {
    if (plan_.records.size() > SharedCase::kMaxRecords)
      throw std::runtime_error("too many records in a case");
    shared()->disk.Begin(spool_, Folder("kept"));
  }

  std::string Play() {
    for (const RunPlan& run : plan_.runs) {
      Run(run);
      if (!problem_.empty()) return problem_;
    }
    collector_.BeginRepaired();
    shared()->is_power_cut = false;
    shared()->wall_ms = std::max(plan_.end_wall_ms, shared()->wall_ms.load());
    Attend({Start(nullptr, nullptr)});
    accounts_.NoteUncertain(collector_.uncertain());
    if (problem_.empty()) problem_ = accounts_.Check(collector_.store());
    if (problem_.empty()) problem_ = foreign_.Check();
    if (problem_.empty()) problem_ = CheckDirectory();
    return problem_;
  }

  void AddTo(CaseTotals* totals) {
    totals->reports += static_cast<uint64_t>(std::ranges::count_if(plan_.records, &PlannedRecord::is_report));
    totals->requests += collector_.requests();
    totals->kills += kills_;
    totals->power_cuts += power_cuts_;
    auto losses = collector_.store()->Losses({});
    for (const collector::LossRow& loss : *losses) totals->lost += static_cast<uint64_t>(loss.count);
    auto count = [&](const collector::ReportRow&) { ++totals->stored; };
    static_cast<void>(collector_.store()->ForEachReport({}, count));
  }
  std::string Describe() const { return plan_.Describe(); }

 private:
  SharedCase* shared() { return memory_.get(); }

  std::string Folder(const std::string& name) {
    std::filesystem::create_directory(directory_ / name);
    return directory_ / name;
  }
  std::string MakeSpool() {
    std::filesystem::create_directory(spool_);
    std::filesystem::permissions(spool_, std::filesystem::perms::owner_all);
    return spool_;
  }

  void Run(const RunPlan& run) {
    shared()->wall_ms = run.wall_ms;
    shared()->mono_ns += base::kNsPerSecond;
    shared()->is_power_cut = false;
    collector_.BeginRun(run);
    std::vector<Child> children = {Start(&run, &run.process)};
    if (run.second) children.push_back(Start(&run, &*run.second));
    Attend(children);
    accounts_.NoteMade(*shared());
    if (shared()->is_power_cut) {
      ++power_cuts_;
      shared()->disk.CutPower(&random_);
      accounts_.NotePowerCut();
    }
    DiskModel* const disk = plan_.has_power_cuts ? &shared()->disk : nullptr;
    SpoolDamage damage(spool_, disk, random_.Fork());
    for (uint32_t i = 0; i < run.damaged_files; ++i) damage.DamageSegment(&accounts_);
    for (uint32_t i = 0; i < run.planted_files; ++i) damage.PlantSegment(&accounts_);
    if (run.is_ledger_damaged) damage.DamageLedger(&accounts_, collector_.store());
  }

  // A client; the last one when there is no `run`.
  Child Start(const RunPlan* run, const ProcessPlan* process) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
      throw std::runtime_error("cannot make a socket pair");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) {
      close(sockets[0]);
      const ClientContext context{&plan_,       run,        shared(), spool_, Folder("known") + "/ca.pem",
                                  http_.port(), sockets[1], sabotage_};
      _exit(process == nullptr ? RunLastClient(context) : RunClient(context, *process));
    }
    close(sockets[1]);
    if (process != nullptr && process->refused.cut_percent > 0) accounts_.NoteTorn();
    return {child, sockets[0], process};
  }

  // Answers the children's requests until all have ended.
  void Attend(std::vector<Child> children) {
    const auto begin = SteadyClock::now();
    while (!children.empty()) {
      std::vector<pollfd> sockets;
      for (const Child& child : children) sockets.push_back({child.socket, POLLIN, 0});
      http_.AddTo(&sockets);
      poll(sockets.data(), sockets.size(), 1);
      http_.Serve();
      for (size_t i = 0; i < children.size(); ++i) {
        if (sockets[i].revents != 0 && !AnswerOne(&children[i])) End(&children[i]);
      }
      std::erase_if(children, [](const Child& child) { return child.pid < 0; });
      const auto elapsed = SteadyClock::now() - begin;
      for (const Child& child : children) {
        const bool is_due = child.plan != nullptr && child.plan->ending == Ending::kKilledAnytime &&
                            elapsed >= std::chrono::microseconds(child.plan->end_at);
        if (is_due) kill(child.pid, SIGKILL);
      }
      if (shared()->is_power_cut) KillAll(&children);
      if (elapsed > kHang) {
        problem_ = "a process hangs";
        KillAll(&children);
      }
    }
    http_.CloseConnections();
  }

  // Not between a thing done and its note for the disk.
  void KillAll(std::vector<Child>* children) {
    shared()->disk.Lock();
    for (Child& child : *children) {
      kill(child.pid, SIGKILL);
      End(&child);
    }
    children->clear();
    shared()->disk.Unlock();
  }

  // False when the child has gone.
  bool AnswerOne(Child* child) {
    std::optional<std::string> body = ReadRequest(child->socket);
    if (!body) return false;
    const std::string authorization = std::string("Bearer ") + kKey;
    const collector::RequestHead head{.method = "POST",
                                      .target = "/v1/reports",
                                      .authorization = authorization,
                                      .content_type = "application/x-protobuf",
                                      .content_encoding = "gzip",
                                      .content_length = body->size()};
    WriteReply(child->socket, collector_.Answer(head, std::move(*body)));
    return true;
  }

  void End(Child* child) {
    int status = 0;
    waitpid(child->pid, &status, 0);
    close(child->socket);
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const bool may_be_killed =
        shared()->is_power_cut || (child->plan != nullptr && child->plan->ending != Ending::kClean);
    kills_ += is_killed ? 1 : 0;
    if (is_killed) accounts_.NoteTorn();
    child->pid = -1;
    if (!problem_.empty() || (is_killed && may_be_killed)) return;
    if (WIFSIGNALED(status)) problem_ = "a process died of signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
      problem_ = shared()->problem[0] != '\0' ? shared()->problem : "a process failed";
  }

  std::string CheckDirectory() const {
    const auto ledger = report::UploadLedger::Parse(lagwatch::testing::ReadFile(spool_ + "/ledger"));
    if (ledger.ok() && (!ledger->losses.empty() || !ledger->frozen.empty())) return "losses are left untold";
    return {};
  }

  CasePlan plan_;
  Sabotage sabotage_;
  Random random_;
  SharedMemory memory_;
  lagwatch::testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  CollectorSide collector_;
  HttpWay http_{&collector_};
  Accounts accounts_;
  ForeignFiles foreign_;
  std::string problem_;
  uint64_t kills_ = 0;
  uint64_t power_cuts_ = 0;
};

}  // namespace

std::string PlayCase(uint64_t seed, Sabotage sabotage, CaseTotals* totals) {
  Case played(seed, sabotage);
  const std::string problem = played.Play();
  played.AddTo(totals);
  return problem.empty() ? "" : problem + "\n" + played.Describe();
}

}  // namespace lagwatch::faults
