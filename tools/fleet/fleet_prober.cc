// SPDX-License-Identifier: Apache-2.0
#include "tools/fleet/fleet_prober.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/process/env.h"
#include "base/text.h"
#include "policies/upload/user_sampling.h"
#include "report/format/trace_record.h"
#include "report/spool/spool_writer.h"
#include "sdk/run/run_facts.h"
#include "tools/log/hang_follower.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kMostReasonBytes = 300;
constexpr int kMomentMs = 1;
constexpr int kLastDataMs = 2'000;  // of a process that has ended: there already

std::string EnvironmentText(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// Until `lagwatch run` has become the program, the process is lagwatch's.
bool IsLagwatchItself(pid_t pid) {
  std::error_code error;
  const std::string name = std::filesystem::read_symlink(ProcessFolder(pid) / "exe", error).filename();
  return error || name == "lagwatch" || name == "lagwatch-commands";
}

base::Status NotAllowed(const std::string& why) { return {base::StatusCode::kUnauthorized, why}; }

}  // namespace

FleetProber::FleetProber(FleetSettings settings, ReadConfig read_config)
    : settings_(std::move(settings)),
      read_config_(std::move(read_config)),
      scrubber_("", EnvironmentText("HOME")),
      drawn_by_(!settings_.user.empty()
                    ? settings_.user
                    : base::ToHex(sdk::SystemRunFacts().machine) + "/" + std::to_string(getuid())),
      start_ns_(base::SystemClock().MonoNs()) {}

bool FleetProber::IsMeant(const report::ProbeRequest& request, const report::RemoteConfig& config) const {
  const bool is_ours = (request.app.empty() || request.app == settings_.app) &&
                       (request.app_version.empty() || request.app_version == settings_.app_version);
  if (!is_ours) return false;
  if (config.is_forced) return true;
  // The same users on each day: a share is one of all users, not of those of a day.
  const policies::UserSampling share{.rate_ppm = request.user_share_ppm,
                                     .salt = report::KeyOfScript(request.script)};
  return share.IsSampled(drawn_by_, 0);
}

base::Result<report::AllowedScript> FleetProber::ScriptOf(const report::ProbeRequest& request) const {
  if (settings_.list_file.empty())
    return NotAllowed("the program was started without --fleet-probes, so nothing is run for a collector");
  const auto key = report::ParsePublicKey(settings_.list_key);
  if (!key.ok()) return NotAllowed("--fleet-probes-key is no public key");
  std::string envelope;
  if (base::SystemEnv().ReadAll(settings_.list_file, &envelope) != 0)
    return NotAllowed("the list of --fleet-probes cannot be read");
  const auto list = report::ScriptAllowlist::Open(envelope, *key);
  if (!list.ok()) return NotAllowed("the list of --fleet-probes is not used: " + list.status().message());
  const report::AllowedScript* const script = list->Find(request.script);
  if (script == nullptr) return NotAllowed("the script is not in the list of --fleet-probes");
  return *script;
}

bool FleetProber::FindProcess() {
  constexpr int64_t kSettleNs = base::kNsPerSecond;  // until it watches a loop, by which its record is known
  const auto runs = LivingRuns(settings_.spool_directory, settings_.run_pid);
  if (runs.empty() && base::SystemClock().MonoNs() < start_ns_ + kSettleNs) return false;
  const auto main = std::ranges::find(runs, static_cast<uint32_t>(settings_.run_pid), &sdk::RunFacts::pid);
  const auto found = main != runs.end() ? main : runs.begin();
  const pid_t pid = found == runs.end() ? settings_.run_pid : static_cast<pid_t>(found->pid);
  if (IsLagwatchItself(pid)) return false;
  if (found != runs.end())
    session_id_ = found->session_id;
  else if (pid != pid_)
    session_id_ = base::CreateUuidV7(base::SystemClock().WallMs());
  pid_ = pid;
  return true;
}

void FleetProber::Step() {
  const auto config = read_config_();
  const bool is_wanted = config && !config->is_killed;
  const std::vector<report::ProbeRequest> requests =
      is_wanted ? config->probe_requests : std::vector<report::ProbeRequest>();
  const auto is_requested = [&](const report::ProbeRequest& request) {
    return std::ranges::find(requests, request) != requests.end();
  };
  // One that is withdrawn may be made again.
  std::erase_if(done_, [&](const report::ProbeRequest& request) { return !is_requested(request); });
  if (run_ != nullptr) {
    const int64_t end_ns = run_begin_ns_ + request_.duration_s * base::kNsPerSecond;
    const bool goes_on =
        run_->Read(kMomentMs) && base::SystemClock().MonoNs() < end_ns && is_requested(request_);
    if (!goes_on) End();
    return;
  }
  for (const report::ProbeRequest& request : requests) {
    if (std::ranges::find(done_, request) != done_.end() || !IsMeant(request, *config)) continue;
    if (!FindProcess()) return;
    done_.push_back(request);
    Begin(request);
    return;
  }
}

void FleetProber::Begin(const report::ProbeRequest& request) {
  run_begin_wall_ms_ = base::SystemClock().WallMs();
  run_begin_ns_ = base::SystemClock().MonoNs();
  const auto script = ScriptOf(request);
  auto run = script.ok() ? FleetRun::Arm(pid_, *script) : script.status();
  if (run.ok()) {
    request_ = request;
    run_ = std::move(run).value();
    return;
  }
  if (!report::IsScriptHash(request.script)) return;  // no answer could name it
  std::string reason(scrubber_.Text(run.status().message()).view());
  if (reason.size() > kMostReasonBytes) reason.resize(kMostReasonBytes);
  Write({.script = request.script, .name = script.ok() ? script->name : "", .refusal = std::move(reason)},
        run_begin_wall_ms_, 0);
}

void FleetProber::End() {
  run_->Disarm();
  Write(run_->Result(scrubber_), run_begin_wall_ms_, base::SystemClock().MonoNs() - run_begin_ns_);
  run_ = nullptr;
}

void FleetProber::Finish() {
  if (run_ == nullptr) return;
  static_cast<void>(run_->Read(kLastDataMs));
  End();
}

void FleetProber::Write(const report::ProbeResult& result, int64_t begin_wall_ms, int64_t duration_ns) {
  const int64_t now_wall_ms = base::SystemClock().WallMs();
  const report::TraceRecord record{.id = base::CreateUuidV7(now_wall_ms),
                                   .session_id = session_id_,
                                   .app = settings_.app,
                                   .app_version = settings_.app_version,
                                   .user = settings_.user,
                                   .begin_wall_ms = static_cast<uint64_t>(begin_wall_ms),
                                   .duration_ns = static_cast<uint64_t>(duration_ns),
                                   .reason = std::string(report::kProbeReason),
                                   .trace = report::PackProbeResult(result),
                                   .cause = report::KeyOfScript(result.script)};
  auto writer = report::SpoolWriter::Create(&base::SystemEnv(), settings_.spool_directory,
                                            base::CreateUuidV7(now_wall_ms), {});
  if (!writer.ok()) return;  // reports do not come either
  (*writer)->Append(report::RecordType::kTrace, report::EncodeTraceRecord(record),
                    {.priority = policies::ReportPriority::kTrace});
  (*writer)->Finish();
}

}  // namespace lagwatch::tools
