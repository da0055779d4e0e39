// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/client_process.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "report/upload/spool_sender.h"
#include "report/upload/transport/http_transport.h"
#include "report/upload/upload_pacing.h"
#include "tests/faults/case_env.h"
#include "tests/faults/pipe_way.h"
#include "tests/faults/wrong_peer.h"
#include "tests/report/upload/scripted_transport.h"

namespace lagwatch::faults {
namespace {

using AnswerKind = report::UploadAnswer::Kind;

size_t CountDescriptors() {
  size_t count = 0;
  DIR* const directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

// Ends a process that did what it must not.
[[noreturn]] void Fail(SharedCase* shared, const std::string& problem) {
  std::snprintf(shared->problem, sizeof shared->problem, "%s", problem.c_str());
  _exit(EXIT_FAILURE);
}

bool HasFailed(const report::UploadAnswer& answer) {
  return answer.kind == AnswerKind::kTryLater || answer.kind == AnswerKind::kUnauthorized;
}

// By HTTP. After a failure it starts again: the client's own pause would take real time.
class HttpPeer final : public report::Transport {
 public:
  HttpPeer(const ClientContext& context, std::function<void()> may_end)
      : context_(context), peer_(context.run->peer), may_end_(std::move(may_end)) {
    if (peer_ >= Peer::kExpired) wrong_peer_.emplace(peer_, context.ca_path);
  }

  report::UploadAnswer Post(std::string_view gzip_body) override {
    may_end_();
    if (transport_ == nullptr && !Connect()) return {.message = "there is no client to be had"};
    report::UploadAnswer answer = transport_->Post(gzip_body);
    if (HasFailed(answer)) transport_.reset();
    may_end_();
    return answer;
  }
  void Abort() override {}

 private:
  bool Connect() {
    report::HttpOptions options{.endpoint = Endpoint(),
                                .key = kKey,
                                .timeouts = {.connect_ms = 2'000, .stall_s = 1, .total_ms = 150}};
    if (wrong_peer_) options.ca_file = context_.ca_path;
    auto client = report::HttpClient::Create(options);
    if (client.ok()) transport_ = report::CreateHttpTransport(std::move(*client));
    return transport_ != nullptr;
  }

  std::string Endpoint() const {
    const std::string port = std::to_string(context_.port);
    switch (peer_) {
      case Peer::kCollector:
        return "http://127.0.0.1:" + port;
      case Peer::kNobody:
        return "http://127.0.0.1:1";
      case Peer::kNoSuchName:
        return "http://collector.invalid:" + port;
      case Peer::kNoTls:
        return "https://127.0.0.1:" + port;
      default:
        return wrong_peer_->endpoint();
    }
  }

  const ClientContext& context_;
  Peer peer_;
  std::function<void()> may_end_;
  std::optional<WrongPeer> wrong_peer_;
  std::unique_ptr<report::Transport> transport_;
};

std::unique_ptr<report::Transport> MakeWay(const ClientContext& context, std::function<void()> may_end) {
  const bool is_http = context.run != nullptr && context.run->way == Way::kHttp;
  if (is_http) return std::make_unique<HttpPeer>(context, std::move(may_end));
  return std::make_unique<PipeTransport>(context.socket, std::move(may_end));
}

// Counts the requests of a round, and knows when there may be no more of them.
class WatchedTransport final : public report::Transport {
 public:
  WatchedTransport(report::Transport* inner, const ClientContext& context)
      : inner_(inner), context_(context) {}

  void BeginRound() {
    requests_ = 0;
    has_failed_ = false;
  }
  report::UploadAnswer Post(std::string_view gzip_body) override {
    if (has_failed_) Fail(context_.shared, "it asked again in the round in which it was told to wait");
    // Halved down to single records, and once more for those that the first answer named.
    if (++requests_ > 3 * context_.plan->records.size() + 40)
      Fail(context_.shared, "too many requests in a round");
    report::UploadAnswer answer = inner_->Post(gzip_body);
    has_failed_ = HasFailed(answer);
    if (context_.sabotage == Sabotage::kHastyRemoval && answer.http_status == 0)
      answer.kind = AnswerKind::kDelivered;
    return answer;
  }
  void Abort() override { inner_->Abort(); }

 private:
  report::Transport* inner_;
  const ClientContext& context_;
  size_t requests_ = 0;
  bool has_failed_ = false;
};

class Client {
 public:
  Client(const ClientContext& context, const ProcessPlan& process, base::Env* env,
         const std::function<void()>& may_end)
      : context_(context),
        clock_(context.shared),
        way_(MakeWay(context, may_end)),
        transport_(way_.get(), context),
        sender_(env, context.directory, &transport_, &no_names_, clock_),
        random_(process.seed) {
    sender_.SetPolicies([this] {
      report::UploadPolicies policies = context_.plan->policies;
      policies.is_turned_off = context_.run != nullptr && context_.run->is_turned_off;
      if (context_.run == nullptr) policies.losses_wait_ms = 0;
      return policies;
    });
    auto writer = report::SpoolWriter::Create(env, context.directory, process.session, context.plan->limits,
                                              context.plan->sync, &clock_);
    if (writer.ok()) writer_ = std::move(*writer);
  }

  void Do(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kAppend:
        if (writer_ != nullptr) Append(step.record);
        break;
      case Step::Kind::kSeal:
        if (writer_ != nullptr) writer_->Seal();
        break;
      case Step::Kind::kSend:
        Send(step.rounds);
        break;
      case Step::Kind::kWait:
        clock_.Wait(step.wait_ms);
        break;
    }
  }

  // False when there may still be something to send.
  bool Send(uint32_t rounds) {
    for (; rounds > 0; --rounds) {
      transport_.BeginRound();
      const std::optional<report::UploadAnswer> answer = sender_.UploadOnce();
      const int64_t delay_ms = pacing_.DelayMs(answer, random_.Next());
      if (answer && answer->kind != AnswerKind::kDelivered) CheckPause(*answer, delay_ms);
      clock_.Wait(delay_ms);
      if (!answer) return true;
    }
    return false;
  }
  size_t CountSegmentsLeft() const { return sender_.CountSegmentsLeft(); }
  std::string last_problem() const { return sender_.stats().last_problem; }

 private:
  void Append(size_t index) {
    std::atomic<Made>& made = context_.shared->made[index];
    if (made != Made::kNotYet) return;
    made = Made::kBegun;
    const PlannedRecord& planned = context_.plan->records[index];
    const report::SpoolCounters before = writer_->counters();
    if (!writer_->Append(planned.record.type, planned.record.payload, planned.note)) {
      made = Made::kRefused;
      return;
    }
    made = Made::kOnDisk;
    if (context_.plan->sync != report::SyncPolicy::kNever && WaitForSync(before)) made = Made::kSynced;
  }

  // Records are appended one after the other's sync, which distinguishes their syncs.
  bool WaitForSync(const report::SpoolCounters& before) {
    for (int tries = 0; trusts_syncs_ && tries < 20'000; ++tries) {
      const report::SpoolCounters now = writer_->counters();
      if (now.syncs != before.syncs) return true;
      if (now.syncs_failed != before.syncs_failed) return false;
      usleep(50);
    }
    trusts_syncs_ = false;  // the next one to end may be this one's
    return false;
  }

  void CheckPause(const report::UploadAnswer& answer, int64_t delay_ms) {
    constexpr int64_t kDayS = 24 * 3600;
    const int64_t wanted_ms = std::clamp<int64_t>(answer.retry_after_s, 0, kDayS) * 1'000;
    const bool is_refused = answer.kind == AnswerKind::kUnauthorized;
    if (delay_ms < std::max<int64_t>(500, is_refused ? 3'600'000 : wanted_ms))
      Fail(context_.shared, "it would ask again after " + std::to_string(delay_ms) + " ms");
    if (delay_ms > kDayS * 1'000) Fail(context_.shared, "it would wait for longer than a day");
  }

  const ClientContext& context_;
  SharedClock clock_;
  std::unique_ptr<report::Transport> way_;
  WatchedTransport transport_;
  lagwatch::testing::NoNames no_names_;
  report::SpoolSender sender_;
  report::UploadPacing pacing_;
  Random random_;
  std::unique_ptr<report::SpoolWriter> writer_;
  bool trusts_syncs_ = true;
};

}  // namespace

int RunClient(const ClientContext& context, const ProcessPlan& process) {
  signal(SIGPIPE, SIG_IGN);  // as the uploader's thread has it
  if (context.sabotage == Sabotage::kForgottenLedger) unlink((context.directory + "/ledger").c_str());
  const size_t descriptors = CountDescriptors();
  {
    CaseEnv env(process, context.shared, context.plan->has_power_cuts ? &context.shared->disk : nullptr);
    Client client(context, process, &env, [&env] { env.MayEnd(); });
    for (const Step& step : process.steps) client.Do(step);
  }
  if (CountDescriptors() != descriptors) Fail(context.shared, "descriptors are left open");
  return EXIT_SUCCESS;
}

int RunLastClient(const ClientContext& context) {
  constexpr uint32_t kMaxRounds = 300;
  Client client(context, ProcessPlan{}, &base::SystemEnv(), [] {});
  const bool is_done = client.Send(kMaxRounds);
  if (!is_done) Fail(context.shared, "it did not come to an end: " + client.last_problem());
  if (client.CountSegmentsLeft() > 0) Fail(context.shared, "segments are left: " + client.last_problem());
  return EXIT_SUCCESS;
}

}  // namespace lagwatch::faults
