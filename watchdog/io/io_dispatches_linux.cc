// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "policies/fact_names.h"
#include "watchdog/io/io_dispatches.h"

namespace lagwatch::watchdog {
namespace {

using trace::IoContent;
using trace::IoTotals;

constexpr int64_t kNsPerUs = 1000;

struct OperationFacts {
  const char* calls;
  const char* time;
};
// By trace::IoOperation.
constexpr std::array<OperationFacts, trace::kIoOperations> kOperationFacts = {{
    {"io_opens", "io_open_us"},
    {"io_reads", "io_read_us"},
    {"io_writes", "io_write_us"},
    {"io_syncs", "io_sync_us"},
    {"io_lookups", "io_lookup_us"},
    {"io_lists", "io_list_us"},
    {"io_changes", "io_change_us"},
    {"io_locks", "io_lock_us"},
    {"io_closes", "io_close_us"},
    {"io_name_lookups", "io_name_lookup_us"},
}};

}  // namespace

IoDispatches::IoDispatches() {
  if (const char* home = std::getenv("HOME"); home != nullptr) home_ = home;
}

void IoDispatches::SetLimits(const IoOptions& options, const base::TickScale& tick_scale) {
  trace::g_thread_io.SetLimits(tick_scale.ToTicks(options.limit_ns), options.path_calls);
}

bool IoDispatches::Take() { return trace::g_thread_io.TakeFound(&found_); }

bool IoDispatches::is_waiting() const { return trace::g_thread_io.has_found(); }

void IoDispatches::AskForModules(int64_t now_ns) {
  if (now_ns < modules_due_ns_) return;
  modules_due_ns_ = now_ns + base::kNsPerSecond;
  trace::g_thread_io.AskForModules();
}

void IoDispatches::Wipe() {
  trace::IoStack& copy = found_.content.stack;
  std::memset(copy.bytes, 0, copy.size_bytes);
  copy.size_bytes = 0;
  if (raw_ == nullptr) return;
  std::memset(raw_[0].bytes, 0, raw_[0].size_bytes);
  raw_[0].size_bytes = 0;
}

const WatchedLoop* IoDispatches::FindLoop(const LoopRegistry::Places& places) const {
  for (const WatchedLoop& loop : places) {
    if (&loop.probe.words().begun == found_.number_word) return &loop;
  }
  return nullptr;
}

const stack::RawStack* IoDispatches::RawStack() {
  using stack::Registers;
  const trace::IoStack& copy = found_.content.stack;
  if (copy.size_bytes == 0) return nullptr;
  if (raw_ == nullptr) raw_ = base::MapBlock<stack::RawStack>(1);
  if (raw_ == nullptr) return nullptr;
  stack::RawStack& raw = raw_[0];
  raw.registers = {};
  const auto set = [&](int number, uint64_t value) {
    raw.registers.value[number] = value;
    raw.registers.known_mask |= uint64_t{1} << number;
  };
  set(Registers::kProgramCounter, copy.program_counter - 1);  // of the call itself
  set(Registers::kStackPointer, copy.stack_pointer);
  set(Registers::kFramePointer, copy.frame_pointer);
  raw.address = copy.address;
  raw.size_bytes = copy.size_bytes;
  raw.end = copy.end;
  std::memcpy(raw.bytes, copy.bytes, copy.size_bytes);
  return &raw;
}

bool IoDispatches::IsNews(uint64_t stack_hash, int64_t now_ns) {
  if (last_report_ns_ != 0 && now_ns - last_report_ns_ < kBetweenReportsNs) return false;
  ReportedStack* place = &reported_[0];
  for (ReportedStack& known : reported_) {
    if (known.mono_ns != 0 && known.hash == stack_hash) {
      if (now_ns - known.mono_ns < kSameStackNs) return false;
      place = &known;
      break;
    }
    if (known.mono_ns < place->mono_ns) place = &known;
  }
  *place = {stack_hash, now_ns};
  last_report_ns_ = now_ns;
  return true;
}

void IoDispatches::AddFacts(const base::TickScale& tick_scale, FactList* facts) {
  const IoContent& content = found_.content;
  const auto to_us = [&](uint64_t ticks) { return tick_scale.ToNs(ticks) / kNsPerUs; };
  IoTotals all{};
  for (const IoTotals& totals : content.totals) {
    all.calls += totals.calls;
    all.bytes += totals.bytes;
  }
  facts->Add(policies::kIoTimeFact, to_us(content.sum_ticks));
  facts->Add(policies::kIoCallsFact, static_cast<int64_t>(all.calls));
  facts->Add("io_bytes", static_cast<int64_t>(all.bytes));
  for (size_t i = 0; i < content.totals.size(); ++i) {
    const IoTotals& totals = content.totals[i];
    if (totals.calls == 0) continue;
    facts->Add(kOperationFacts[i].calls, static_cast<int64_t>(totals.calls));
    facts->Add(kOperationFacts[i].time, to_us(totals.ticks));
  }
  if (content.longest_ticks != 0) {
    facts->AddText("io_longest_call", content.longest_call);
    facts->Add("io_longest_us", to_us(content.longest_ticks));
  }
  AddPlace(facts);
}

void IoDispatches::AddPlace(FactList* facts) {
  const IoContent& content = found_.content;
  const bool is_known = content.longest_ticks != 0 && content.longest_path[0] != '\0';
  file_ = is_known ? policies::ResolvedPath(content.folder, content.longest_path) : policies::ResolvedPath();
  std::string_view paths[IoContent::kPaths];
  const size_t count = std::min<uint64_t>(content.path_calls, IoContent::kPaths);
  for (size_t i = 0; i < count; ++i) {
    paths_[i] = policies::ResolvedPath(content.folder, content.paths[i].data());
    paths[i] = paths_[i].view();
  }
  const policies::CommonFolder common = policies::FindCommonFolder({paths, count});
  const std::string_view place = is_known ? file_.view() : common.folder;
  const std::string_view name = policies::FileClassOf(place, home_);
  class_[name.copy(class_, sizeof class_ - 1)] = '\0';
  if (class_[0] != '\0') facts->AddText(policies::kIoClassFact, class_);
  if (is_known && policies::IsPath(file_.view())) {
    longest_path_ = policies::ShownPath(file_.view(), home_);
    facts->AddText(policies::kIoPathFact, longest_path_.c_str());
  }
  if (common.folder.empty()) return;
  folder_ = policies::ShownPath(common.folder, home_);
  facts->AddText(policies::kIoBelowFact, folder_.c_str());
  facts->Add(policies::kIoBelowPercentFact, common.percent);
}

}  // namespace lagwatch::watchdog
