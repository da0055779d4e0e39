// SPDX-License-Identifier: Apache-2.0
// The C ABI over ProcessMonitor: translates, and lets no exception out.
#include <lagwatch/c.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/process/run_guarded.h"
#include "report/seal/record_sealer.h"
#include "sdk/c_guarded.h"
#include "sdk/config_keeper.h"
#include "sdk/monitor.h"
#include "sdk/options/option_values.h"
#include "sdk/process_monitor.h"
#include "sdk/run/run_writer.h"
#include "sdk/run/text_cell.h"
#include "sdk/upload_service.h"
#include "stack/interpreters/registered_functions.h"
#include "watchdog/events/hang_listener.h"

namespace {

namespace policies = lagwatch::policies;
namespace watchdog = lagwatch::watchdog;
using lagwatch::Options;
using lagwatch::sdk::Guarded;
using lagwatch::sdk::MonitorOptions;
using lagwatch::sdk::ProcessMonitor;

constexpr size_t kMaxReasonBytes = 512;
// Of what a host's transport hands over of the collector's answer.
constexpr size_t kMaxHostAnswerBytes = 64 << 10;

using policies::HangKind;
// Listeners receive hangs of loops only, whose kinds have the numbers of the C ABI.
static_assert(static_cast<int>(HangKind::kHang) == LW_KIND_HANG);
static_assert(static_cast<int>(HangKind::kBusyLoop) == LW_KIND_BUSY_LOOP);
static_assert(static_cast<int>(HangKind::kWaited) == LW_KIND_WAITED);
static_assert(static_cast<int>(HangKind::kIdleHandler) == LW_KIND_IDLE_HANDLER);
static_assert(static_cast<int>(HangKind::kInput) == LW_KIND_INPUT);
static_assert(static_cast<int>(HangKind::kScope) == LW_KIND_SCOPE);
static_assert(static_cast<int>(HangKind::kFrames) == LW_KIND_FRAME);
static_assert(static_cast<int>(watchdog::FilterReason::kUnchangedStack) == LW_FILTERED_UNCHANGED_STACK);
static_assert(static_cast<int>(watchdog::FilterReason::kReportLimit) == LW_FILTERED_REPORT_LIMIT);
static_assert(static_cast<int>(watchdog::FilterReason::kReportLost) == LW_FILTERED_REPORT_LOST);
static_assert(static_cast<int>(policies::HangLevel::kAnr) == LW_LEVEL_ANR);

// The application's callbacks as the watchdog's listener. Context: watchdog.
class CListener final : public watchdog::HangListener {
 public:
  explicit CListener(const lw_listener& callbacks) : callbacks_(callbacks) {}

  static bool IsWanted(const lw_listener& callbacks) {
    return callbacks.hang_begin != nullptr || callbacks.hang_end != nullptr ||
           callbacks.hang_filtered != nullptr || callbacks.sensitive != nullptr;
  }

  void OnHangBegin(const watchdog::HangNotice& hang) override { Call(callbacks_.hang_begin, hang); }
  void OnHangEnd(const watchdog::HangNotice& hang) override { Call(callbacks_.hang_end, hang); }
  void OnFiltered(const watchdog::HangNotice& hang, watchdog::FilterReason reason) override {
    Call(callbacks_.hang_filtered, hang, static_cast<lw_filtered>(reason));
  }
  bool WantsSensitive() const override { return callbacks_.sensitive != nullptr; }
  void OnSensitive(const watchdog::HangNotice& dispatch) override { Call(callbacks_.sensitive, dispatch); }

 private:
  template <typename... More>
  void Call(void (*callback)(void*, const lw_hang*, More...), const watchdog::HangNotice& hang,
            More... more) const {
    if (callback == nullptr) return;
    const lw_hang shown = {.struct_size_bytes = sizeof(lw_hang),
                           .loop = hang.loop_name,
                           .tag = hang.tag,
                           .tid = hang.tid,
                           .kind = static_cast<lw_kind>(hang.kind),
                           .level = static_cast<lw_level>(hang.level),
                           .threshold_ns = static_cast<uint64_t>(hang.threshold_ns),
                           .elapsed_ns = static_cast<uint64_t>(hang.elapsed_ns),
                           .text = hang.text};
    callback(callbacks_.context, &shown, more...);
  }

  const lw_listener callbacks_;
};

lagwatch::base::Result<std::unique_ptr<lagwatch::report::Sealer>> CreateSealer(const std::string& seal_key) {
  const auto key = lagwatch::report::ParsePublicKey(seal_key);
  auto sealer = key.ok() ? lagwatch::report::RecordSealer::Create(key.value()) : key.status();
  if (sealer.ok()) return sealer;
  return lagwatch::base::Status(
      sealer.status().code(),
      "seal_key is not a collector's seal key, so nothing is written: " + sealer.status().message());
}

MonitorOptions MonitorOptionsOf(const Options& options) {
  MonitorOptions monitor = lagwatch::sdk::ToMonitorOptions(options);
  if (const std::string& seal_key = options.privacy.seal_key; !seal_key.empty())
    monitor.create_sealer = [seal_key] { return CreateSealer(seal_key); };
  if (CListener::IsWanted(options.listener)) monitor.listener = std::make_shared<CListener>(options.listener);
  monitor.scripts = options.process.scripts;
  return monitor;
}

lagwatch::report::HostPost ToHostPost(const lw_transport& transport) {
  if (transport.post == nullptr) return {};
  return [transport](std::string_view body, std::string* answer) {
    answer->resize(kMaxHostAnswerBytes);
    size_t size_bytes = answer->size();
    const int status =
        transport.post(transport.context, body.data(), body.size(), answer->data(), &size_bytes);
    answer->resize(std::min(size_bytes, answer->size()));
    return status;
  };
}

lagwatch::sdk::UploadServiceOptions ToUploadOptions(const Options& options, const MonitorOptions& monitor) {
  const lagwatch::UploadOptions& given = options.upload;
  lagwatch::sdk::UploadServiceOptions upload{.http = {.endpoint = options.endpoint,
                                                      .key = options.key,
                                                      .ca_file = given.ca_file,
                                                      .proxy = given.proxy},
                                             .post = ToHostPost(given.transport),
                                             .policies = lagwatch::sdk::DefaultUploadPolicies(),
                                             .unmetered_only = given.unmetered_only,
                                             .config_key = given.config_key};
  const MonitorOptions normal = monitor.Normalized();
  upload.audience = {normal.app, normal.user, given.user_proof};
  upload.app_version = normal.app_version;
  upload.policies.sampling.rate_ppm = given.user_rate_ppm;
  upload.policies.quota = {.per_day = given.reports_per_day, .per_cluster = given.reports_per_cause};
  upload.policies.traces.per_day = given.traces_per_day;
  upload.policies.slow.per_day = given.slow_reports_per_day;
  return upload;
}

lagwatch::sdk::CreateUpload UploadTo(const Options& given, const MonitorOptions& monitor) {
  const lagwatch::sdk::UploadServiceOptions options = ToUploadOptions(given, monitor);
  if (!options.has_destination()) return {};
  using lagwatch::sdk::BackgroundUpload;
  return
      [options](
          const std::string& spool_directory) -> lagwatch::base::Result<std::unique_ptr<BackgroundUpload>> {
        auto service = lagwatch::sdk::UploadService::Create(spool_directory, options);
        if (!service.ok()) return service.status();
        return std::unique_ptr<BackgroundUpload>(std::move(service).value());
      };
}

std::function<bool(MonitorOptions*)> ConfigOf(const Options& given) {
  auto key = lagwatch::report::ParsePublicKey(given.upload.config_key);
  if (!key.ok()) return {};
  return [key = *key](MonitorOptions* options) { return lagwatch::sdk::ApplyStoredConfig(key, options); };
}

using lagwatch::policies::ExitReason;
static_assert(LW_EXIT_UNKNOWN == static_cast<int>(ExitReason::kUnknown) &&
              LW_EXIT_CLEAN == static_cast<int>(ExitReason::kCleanExit) &&
              LW_EXIT_KILLED_IN_HANG == static_cast<int>(ExitReason::kKilledInHang) &&
              LW_EXIT_OOM_KILL == static_cast<int>(ExitReason::kOomKill) &&
              LW_EXIT_UPDATE == static_cast<int>(ExitReason::kUpdate) &&
              LW_EXIT_REBOOT == static_cast<int>(ExitReason::kReboot) &&
              LW_EXIT_CRASH == static_cast<int>(ExitReason::kCrash) &&
              LW_EXIT_STOPPED == static_cast<int>(ExitReason::kStopped) &&
              LW_EXIT_CRASH_IN_HANG == static_cast<int>(ExitReason::kCrashInHang) &&
              LW_EXIT_HANG_IN_CRASH == static_cast<int>(ExitReason::kHangInCrash));

template <size_t kSize>
void CopyText(const std::string& text, char (&field)[kSize]) {
  field[text.copy(field, kSize - 1)] = '\0';
}

lw_last_exit ToLastExit(const lagwatch::sdk::EndedRun& run) {
  const lagwatch::report::RunEnd end = run.ToRunEnd();
  lw_last_exit last_exit;
  lw_last_exit_init(&last_exit);
  last_exit.reason = static_cast<int32_t>(end.reason);
  last_exit.signal = end.signal;
  last_exit.was_in_hang = run.record.was_in_hang() ? 1 : 0;
  last_exit.hang_ms = end.hang_ns / lagwatch::base::kNsPerMs;
  last_exit.last_seen_wall_ms = end.last_seen_wall_ms;
  CopyText(end.loop, last_exit.loop);
  CopyText(end.scene, last_exit.scene);
  CopyText(end.app_version, last_exit.app_version);
  CopyText(lagwatch::base::ToString(end.session_id), last_exit.session_id);
  if (run.record.was_in_hang()) CopyText(lagwatch::base::ToString(end.report_id), last_exit.report_id);
  return last_exit;
}

std::function<void()> LastExitTo(lw_on_last_exit listener, void* context) {
  if (listener == nullptr) return {};
  return [listener, context] {
    auto run = ProcessMonitor::Instance().last_run();
    if (!run) return;
    const lw_last_exit last_exit = ToLastExit(*run);
    listener(&last_exit, context);
  };
}

lw_status ToStatus(ProcessMonitor::StartResult result) {
  switch (result) {
    case ProcessMonitor::StartResult::kStarted:
      return LW_OK;
    case ProcessMonitor::StartResult::kAlreadyStarted:
      return LW_ALREADY_STARTED;
    case ProcessMonitor::StartResult::kOff:
      break;
  }
  return LW_OFF;
}

}  // namespace

extern "C" {

void lw_options_init(lw_options* options) noexcept { lagwatch::sdk::SetDefaults(options); }

int lw_options_set(lw_options* options, const char* name, const char* value) noexcept {
  return name != nullptr && lagwatch::sdk::SetOption(options, name, value) ? 1 : 0;
}

void lw_stats_init(lw_stats* stats) noexcept {
  std::memset(stats, 0, sizeof *stats);
  stats->struct_size_bytes = sizeof *stats;
}

void lw_last_exit_init(lw_last_exit* last_exit) noexcept {
  std::memset(last_exit, 0, sizeof *last_exit);
  last_exit->struct_size_bytes = sizeof *last_exit;
}

lw_status lw_start(const lw_options* options) noexcept {
  return Guarded(LW_OFF, [options] {
    const Options given = lagwatch::sdk::ToOptions(options);
    const MonitorOptions monitor_options = MonitorOptionsOf(given);
    return ToStatus(ProcessMonitor::Instance().Start(
        {.options = monitor_options,
         .create_upload = UploadTo(given, monitor_options),
         .apply_config = ConfigOf(given),
         .on_started = LastExitTo(given.process.on_last_exit, given.process.on_last_exit_context),
         .erase_kept = &lagwatch::sdk::EraseWhatIsKept,
         .has_consent = given.privacy.consent == LW_CONSENT_GIVEN}));
  });
}

// If there is no memory to flush with, the next start sends the rest.
void lw_stop(uint32_t flush_timeout_ms) noexcept {
  Guarded([=] { ProcessMonitor::Instance().Stop(flush_timeout_ms); });
}

lw_status lw_set_consent(lw_consent consent) noexcept {
  return Guarded(
      LW_OFF, [=] { return ToStatus(ProcessMonitor::Instance().SetConsent(consent == LW_CONSENT_GIVEN)); });
}

void lw_set_network(lw_network network) noexcept {
  const bool is_known = network >= LW_NETWORK_UNMETERED && network <= LW_NETWORK_NONE;
  lagwatch::sdk::SetNetwork(is_known ? network : LW_NETWORK_UNMETERED);
}

const char* lw_why_off(void) noexcept {
  return Guarded("there is no memory", [] {
    static thread_local char text[kMaxReasonBytes];  // needs no destructor, which is registered with malloc
    CopyText(ProcessMonitor::Instance().why_off(), text);
    return static_cast<const char*>(text);
  });
}

void lw_get_stats(lw_stats* stats) noexcept {
  lw_stats all = Guarded(lw_stats(), [] { return ProcessMonitor::Instance().stats(); });
  all.struct_size_bytes = std::min(stats->struct_size_bytes, sizeof all);
  all.loops_refused = Guarded(uint64_t{0}, [] { return ProcessMonitor::Instance().loops_refused(); });
  all.dumps_refused = Guarded(uint64_t{0}, [] { return ProcessMonitor::Instance().dumps_refused(); });
  all.memory_failures = lagwatch::base::failure_count.load();
  std::memcpy(stats, &all, all.struct_size_bytes);
}

int lw_get_last_exit(lw_last_exit* last_exit) noexcept {
  return Guarded(0, [last_exit] {
    auto run = ProcessMonitor::Instance().last_run();
    if (!run) return 0;
    lw_last_exit all = ToLastExit(*run);
    all.struct_size_bytes = std::min(last_exit->struct_size_bytes, sizeof all);
    std::memcpy(last_exit, &all, all.struct_size_bytes);
    return 1;
  });
}

int lw_set_value(const char* key, const char* value) noexcept {
  return Guarded(0, [=] { return lagwatch::sdk::ProcessContext().values.Set(key, value) ? 1 : 0; });
}

size_t lw_register_functions(const lw_function* functions, size_t count) noexcept {
  return Guarded(size_t{0}, [=] {
    size_t kept = 0;
    for (size_t i = 0; functions != nullptr && i < count; ++i) {
      const char* name = functions[i].name;
      const auto address = reinterpret_cast<uint64_t>(functions[i].address);
      kept += name != nullptr && lagwatch::stack::RegisteredFunctions::Instance().Add(name, address);
    }
    return kept;
  });
}

void lw_set_scene(const char* scene) noexcept { lagwatch::sdk::ProcessContext().scene.Set(scene); }

int lw_dump_now(const char* reason) noexcept {
  return Guarded(0, [reason] { return ProcessMonitor::Instance().AskForDump(reason) ? 1 : 0; });
}

int lw_trace_now(void) noexcept {
  return Guarded(0, [] { return ProcessMonitor::Instance().AskForTrace() ? 1 : 0; });
}

void lw_set_foreground(int is_foreground) noexcept {
  Guarded([=] { ProcessMonitor::Instance().SetForeground(is_foreground != 0); });
}

// Without memory the start is not recorded.
void lw_ready(void) noexcept {
  Guarded([] { ProcessMonitor::Instance().NoteReady(); });
}

// Without memory its reports stay.
void lw_withdraw_start(void) noexcept {
  Guarded([] { ProcessMonitor::Instance().WithdrawStart(); });
}

void lw_note_stop(void) noexcept { lagwatch::sdk::NoteRunAskedToStop(); }

void lw_note_crash(int signal_number) noexcept { lagwatch::sdk::NoteRunCrashed(signal_number); }

const char* lw_version(void) noexcept { return LAGWATCH_VERSION; }

}  // extern "C"
