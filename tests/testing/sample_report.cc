// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/sample_report.h"

#include <map>
#include <stdexcept>

#include "report/format/fixed_buffer.h"
#include "report/format/usage_encoder.h"

namespace lagwatch::testing {
namespace {

constexpr int64_t kStartWallMs = 1'700'000'000'000;
constexpr int64_t kSampleIntervalNs = 50'000'000;

// Gives functions their places, and remembers their names.
class Places {
 public:
  std::vector<report::Frame> FramesOf(const std::vector<std::string>& functions) {
    std::vector<report::Frame> frames;
    for (const std::string& function : functions) {
      uint64_t start = StartOf(function);
      frames.push_back({0, start + 0x10, start});
    }
    return frames;
  }

  void AppendSymbols(std::string* encoded_report) const {
    for (const auto& [function, start] : starts_) {
      if (!function.starts_with('@')) report::AppendSymbol({0, start, function}, encoded_report);
    }
  }

 private:
  uint64_t StartOf(const std::string& function) {
    if (function.starts_with('@')) return std::stoull(function.substr(1), nullptr, 16);
    return starts_.emplace(function, 0x1000 * (starts_.size() + 1)).first->second;
  }

  std::map<std::string, uint64_t> starts_;
};

}  // namespace

report::ReportHeader SampleReport::DefaultHeader() {
  report::ReportHeader header;
  header.id = base::CreateUuidV7(kStartWallMs);
  header.session_id = base::CreateUuidV7(kStartWallMs);
  header.hang_id = header.id;
  header.app = "editor";
  header.app_version = "2.3.1";
  header.user = "u-71";
  header.os = "Linux 6.1.0";
  header.machine = "x86_64";
  header.pid = 4711;
  header.tid = 4712;
  header.loop = "ui";
  header.tag = "key";
  header.kind = report::HangKind::kHang;
  header.threshold_ms = 2000;
  header.start_wall_ms = kStartWallMs;
  header.elapsed_ns = 2'000'000'000;
  header.cpu_window_ns = 1'000'000'000;
  header.cpu_thread_ns = 950'000'000;
  header.cpu_process_ns = 990'000'000;
  return header;
}

std::string SampleReport::Encode() const {
  std::string memory(room_bytes, '\0');
  report::FixedBuffer buffer(memory.data(), memory.size());
  report::ReportEncoder encoder(&buffer);
  Places places;
  encoder.SetHeader(header);
  encoder.AddModule(module_path, "\x01\xab\xff", 0x5555'0000);
  auto add_stack = [&](const std::vector<std::string>& functions) {
    return encoder.AddStack(places.FramesOf(functions), report::Completeness::kComplete);
  };
  encoder.SetExpensiveStack(add_stack(stack));
  auto shown = samples;
  if (shown.empty()) shown.push_back(stack);
  for (size_t i = 0; i < shown.size(); ++i) {
    report::Sample sample = i < sample_costs.size() ? sample_costs[i] : report::Sample();
    sample.age_ns = kSampleIntervalNs * static_cast<int64_t>(shown.size() - i);
    sample.stack = add_stack(shown[i]);
    if (i < sample_cpu_ns.size()) sample.use.cpu_ns = sample_cpu_ns[i];
    encoder.AddSample(sample);
  }
  report::ThreadView watched{
      .tid = header.tid, .name = "main", .state = 'R', .stack = add_stack(stack), .cpu_ns = 5'000'000'000};
  encoder.AddThread(watched);
  uint32_t tid = header.tid;
  for (const auto& [name, functions] : threads) {
    encoder.AddThread({.tid = ++tid,
                       .name = name,
                       .state = 'D',
                       .stack = add_stack(functions),
                       .cpu_ns = 0,
                       .wait_channel = "folio_wait_bit_common",
                       .syscall_number = 74});
  }
  for (SampleWait wait : waits) {
    if (!wait.stack.empty()) wait.fields.stack = add_stack(wait.stack);
    if (!wait.owner_stack.empty()) wait.fields.owner_stack = add_stack(wait.owner_stack);
    encoder.AddWait(wait.fields);
  }
  encoder.SetWaitOutcome(wait_outcome);
  encoder.SetVerdict(verdict);
  encoder.SetDiscount(discounted);
  for (const report::PastDispatchView& past : history) encoder.AddPastDispatch(past);
  encoder.AddNumber("fds", 12);
  encoder.AddText("scene", "inbox");
  for (const report::Fact& fact : facts) {
    fact.text.empty() ? encoder.AddNumber(fact.name, fact.number) : encoder.AddText(fact.name, fact.text);
  }
  std::string encoded(buffer.content());
  places.AppendSymbols(&encoded);
  return encoded;
}

std::string EncodeEnd(const base::Uuid& report_id, int64_t duration_ns, bool is_blamed) {
  char memory[128];
  report::FixedBuffer buffer(memory, sizeof memory);
  report::EncodeHangEnd(report_id, duration_ns, &buffer, is_blamed);
  return std::string(buffer.content());
}

std::string EncodeFrames(const report::FrameSliceView& slice) {
  std::vector<char> memory(8192);
  report::FixedBuffer buffer(memory.data(), memory.size());
  report::EncodeFrameSlice(slice, &buffer);
  return std::string(buffer.content());
}

std::string EncodeUsage(const report::Usage& usage) {
  std::vector<char> bytes(1 << 20);
  report::FixedBuffer buffer(bytes.data(), bytes.size());
  report::UsageEncoder encoder({.id = usage.id,
                                .session_id = usage.session_id,
                                .app = usage.app,
                                .app_version = usage.app_version,
                                .user = usage.user,
                                .begin_wall_ms = static_cast<int64_t>(usage.begin_wall_ms),
                                .end_wall_ms = static_cast<int64_t>(usage.end_wall_ms)},
                               &buffer);
  for (const report::LoopUsage& loop : usage.loops) encoder.AddLoop(loop.loop, loop.usage);
  for (const report::SlowTag& slow : usage.slow) encoder.AddSlow(slow.loop, slow.tag, slow.dispatches);
  for (const report::ValueUsage& value : usage.values) encoder.AddValue(value.key, value.value, value.usage);
  for (const report::Suppressed& suppressed : usage.suppressed)
    encoder.AddSuppressed(suppressed.reason, suppressed.count);
  if (!encoder.ok()) throw std::runtime_error("the buffer is too small");
  return std::string(buffer.content());
}

std::string EncodeBatch(const std::vector<std::string>& reports, const std::vector<std::string>& ends) {
  std::string batch;
  for (const std::string& report : reports)
    report::AppendToBatch({report::RecordType::kReport, report}, &batch);
  for (const std::string& end : ends) report::AppendToBatch({report::RecordType::kHangEnd, end}, &batch);
  return batch;
}

}  // namespace lagwatch::testing
