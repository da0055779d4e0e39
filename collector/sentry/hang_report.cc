// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/text.h"
#include "collector/sentry/event_identity.h"
#include "collector/sentry/hang.h"
#include "collector/sentry/json_fields.h"
#include "collector/sentry/stack_writer.h"
#include "report/format/fixed_buffer.h"
#include "report/format/report.h"
#include "report/format/report_encoder.h"

namespace lagwatch::collector {
namespace {

using nlohmann::json;

constexpr size_t kReportBytes = 4 << 20;
constexpr size_t kMaxThreads = 1000;

// "com.example.editor@2.3.1+45"
struct Release {
  std::string app = {};
  std::string version = {};
};

Release ReleaseOf(const json& event, std::string_view project) {
  const std::string text = TextOf(event, "release");
  const size_t at = text.rfind('@');
  Release release{.version = text};
  if (at != std::string::npos && at > 0) release = {text.substr(0, at), text.substr(at + 1)};
  const json& app = Child(Child(event, "contexts"), "app");
  for (const char* name : {"app_identifier", "app_name"})
    if (release.app.empty()) release.app = TextOf(app, name);
  if (release.app.empty()) release.app = "project " + std::string(project);
  return release;
}

// A person's address is not kept: its hash still distinguishes users.
std::string UserOf(const json& event) {
  const json& id = Child(Child(event, "user"), "id");
  if (id.is_number_integer()) return id.dump();
  std::string text = TextOf(Child(event, "user"), "id");
  return text.find('@') == std::string::npos ? text : base::ToHex(base::HashBytes(text));
}

std::string OsOf(const json& event) {
  const json& os = Child(Child(event, "contexts"), "os");
  const std::string name = TextOf(os, "name");
  const std::string version = TextOf(os, "version");
  return version.empty() ? name : name + " " + version;
}

std::string MachineOf(const json& event) {
  const json& device = Child(Child(event, "contexts"), "device");
  if (std::string arch = TextOf(device, "arch"); !arch.empty()) return arch;
  const json& archs = Child(device, "archs");
  return archs.is_array() && !archs.empty() && archs.front().is_string() ? archs.front().get<std::string>()
                                                                         : "";
}

bool HasFrames(const json& object) { return !ValuesOf(Child(object, "stacktrace"), "frames").empty(); }

// The hung thread; null if the event does not name it.
const json* FindWatched(const json& threads, const json& exception) {
  if (const auto id = NumberOf(exception, "thread_id")) {
    for (const json& thread : threads)
      if (NumberOf(thread, "id") == id) return &thread;
  }
  for (const char* mark : {"current", "main", "crashed"}) {
    for (const json& thread : threads)
      if (IsTrue(thread, mark)) return &thread;
  }
  for (const json& thread : threads)
    if (TextOf(thread, "name") == "main") return &thread;
  return nullptr;
}

uint32_t TidOf(const json& thread, size_t index) {
  return static_cast<uint32_t>(NumberOf(thread, "id").value_or(index + 1));
}

// In the kernel's letters.
char StateOf(const json& thread) {
  const std::string state = TextOf(thread, "state");
  if (state.empty()) return '?';
  return state == "RUNNABLE" || state == "RUNNING" || state == "Runnable" ? 'R' : 'S';
}

// Writes the parts of a report one after the other.
class HangWriter {
 public:
  HangWriter(const json& event, const Hang& hang, report::ReportEncoder* encoder)
      : event_(event),
        hang_(hang),
        threads_(ValuesOf(event, "threads")),
        watched_(FindWatched(threads_, *hang.exception)),
        encoder_(encoder),
        stacks_(event, encoder) {}

  void WriteHeader(const base::Uuid& id, int64_t wall_ms, std::string_view project) {
    const Release release = ReleaseOf(event_, project);
    const std::string user = UserOf(event_);
    const std::string os = OsOf(event_);
    const std::string machine = MachineOf(event_);
    const std::string tag = TextOf(event_, "transaction");
    std::string loop = watched_ != nullptr ? TextOf(*watched_, "name") : "";
    if (loop.empty()) loop = "main";
    report::ReportHeader header;
    header.id = header.session_id = header.hang_id = id;
    header.app = release.app;
    header.app_version = release.version;
    header.user = user;
    header.os = os;
    header.machine = machine;
    header.tid = WatchedTid();
    header.loop = loop;
    header.tag = tag;
    header.kind = hang_.kind;
    header.level = hang_.level;
    header.elapsed_ns = hang_.time.at_least_ns;
    header.start_wall_ms = wall_ms - hang_.time.at_least_ns / 1'000'000;
    encoder_->SetHeader(header);
  }
  void WriteStacks() {
    const json& shown = HasFrames(*hang_.exception) || watched_ == nullptr ? *hang_.exception : *watched_;
    const uint32_t stack = stacks_.Add(Child(shown, "stacktrace"));
    encoder_->SetExpensiveStack(stack);
    encoder_->AddSample({.stack = stack});
    size_t count = 0;
    if (watched_ == nullptr) encoder_->AddThread({.tid = WatchedTid(), .name = "main", .stack = stack});
    for (const json& thread : threads_) {
      if (count == kMaxThreads) break;
      const bool is_watched = &thread == watched_;
      encoder_->AddThread({.tid = TidOf(thread, count++),
                           .name = TextOf(thread, "name"),
                           .state = StateOf(thread),
                           .stack = HasFrames(thread) ? stacks_.Add(Child(thread, "stacktrace"))
                                    : is_watched      ? stack
                                                      : report::kNoStack});
    }
    encoder_->SetThreadsDropped(static_cast<uint32_t>(threads_.size() - count));
  }
  void WriteFacts(std::string_view event_id) {
    const json& sdk = Child(event_, "sdk");
    encoder_->AddText("sentry_event", event_id);
    AddFact("sentry_sdk", TextOf(sdk, "name") + " " + TextOf(sdk, "version"));
    AddFact("exception", TextOf(*hang_.exception, "type"));
    if (hang_.rule != HangRule::kName) AddFact("recognized_by", std::string(HangRuleName(hang_.rule)));
    AddFact("environment", TextOf(event_, "environment"));
    AddFact("dist", TextOf(event_, "dist"));
    AddFact("device", TextOf(Child(Child(event_, "contexts"), "device"), "model"));
  }
  void AppendSymbols(std::string* encoded) const { stacks_.AppendSymbols(encoded); }

 private:
  uint32_t WatchedTid() const {
    if (watched_ == nullptr)
      return static_cast<uint32_t>(NumberOf(*hang_.exception, "thread_id").value_or(0));
    return TidOf(*watched_, static_cast<size_t>(watched_ - &threads_.front()));
  }
  void AddFact(std::string_view name, const std::string& text) {
    if (text.find_first_not_of(' ') != std::string::npos) encoder_->AddText(name, text);
  }

  const json& event_;
  const Hang& hang_;
  const json& threads_;
  const json* const watched_;
  report::ReportEncoder* encoder_;
  StackWriter stacks_;
};

void AppendEnd(const base::Uuid& id, const HangTime& time, std::string* batch) {
  char memory[64];
  report::FixedBuffer buffer(memory, sizeof memory);
  report::EncodeHangEnd(id, (time.at_least_ns + *time.at_most_ns) / 2, &buffer);
  report::AppendToBatch({report::RecordType::kHangEnd, buffer.content()}, batch);
}

}  // namespace

Status AppendHang(const json& event, const Hang& hang, const base::Uuid& event_id, std::string_view project,
                  std::string* batch) {
  const auto wall_ms = EventWallMs(event);
  if (!wall_ms) return {StatusCode::kInvalid, "the event has no timestamp"};
  const base::Uuid id = ReportIdOf(*wall_ms, event_id);
  const auto memory = std::make_unique_for_overwrite<char[]>(kReportBytes);
  report::FixedBuffer buffer(memory.get(), kReportBytes);
  report::ReportEncoder encoder(&buffer);
  HangWriter writer(event, hang, &encoder);
  writer.WriteHeader(id, *wall_ms, project);
  writer.WriteStacks();
  writer.WriteFacts(base::ToString(event_id));
  if (!encoder.ok()) return {StatusCode::kTooLarge, "the event is too large for a report"};
  std::string encoded(buffer.content());
  writer.AppendSymbols(&encoded);
  report::AppendToBatch({report::RecordType::kReport, encoded}, batch);
  if (hang.time.at_most_ns) AppendEnd(id, hang.time, batch);
  return {};
}

}  // namespace lagwatch::collector
