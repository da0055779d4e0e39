// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/loop_sites.h"

#include <algorithm>

#include "sdk/probe/native_hit.h"
#include "trace/instrument/function_filter.h"
#include "trace/instrument/probes/function_prober.h"
#include "watchdog/events/hang_listener.h"
#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::sdk {
namespace {

// The functions that a hit itself calls may have probes, too.
class ScopedNoProbes {
 public:
  ScopedNoProbes() : was_left_out_(trace::SetLeftOutOfProbes(true)) {}
  ~ScopedNoProbes() { trace::SetLeftOutOfProbes(was_left_out_); }
  ScopedNoProbes(const ScopedNoProbes&) = delete;
  ScopedNoProbes& operator=(const ScopedNoProbes&) = delete;

 private:
  const bool was_left_out_;
};

template <typename Sites, typename Run>
void ForEach(const Sites& sites, const char* loop_name, Run run) {
  for (const auto& each : sites) {
    const SiteState* site = each.load(std::memory_order_acquire);  // pairs with Add
    if (site == nullptr) continue;
    const ActiveSite active(site);
    if (active && (active->names.empty() || trace::MatchesGlob(active->names, loop_name))) run(*active);
  }
}

}  // namespace

LoopSites& LoopSites::Instance() {
  static auto* const instance = new LoopSites;
  return *instance;
}

bool LoopSites::AreLoopsWatched() const {
  const LoopSource* source = source_.load(std::memory_order_acquire);  // pairs with its store
  return source != nullptr && source->are_watched();
}

bool LoopSites::Add(const SiteState* site) {
  Sites& sites = site->probe->place().kind == probe::PlaceKind::kHang ? hangs_ : dispatches_;
  const auto free = std::ranges::find_if(sites, [](const auto& each) { return each.load() == nullptr; });
  if (free == sites.end()) return false;
  free->store(site);
  ObserveIfNeeded();
  return true;
}

void LoopSites::Remove(const SiteState* site) {
  for (Sites* sites : {&dispatches_, &hangs_}) {
    for (auto& each : *sites) {
      if (each.load() == site) each.store(nullptr);
    }
  }
  ObserveIfNeeded();
}

void LoopSites::ObserveIfNeeded() {
  const LoopSource* source = source_.load();
  if (source == nullptr) return;
  const auto is_taken = [](const auto& each) { return each.load() != nullptr; };
  const bool has_dispatches = std::ranges::any_of(dispatches_, is_taken);
  const bool has_hangs = std::ranges::any_of(hangs_, is_taken);
  source->registry->SetObserver(has_dispatches || has_hangs ? this : nullptr, has_dispatches);
}

void LoopSites::OnDispatchEnd(const watchdog::LoopProbe& loop, uint64_t end_ticks, uint64_t duration_ticks,
                              const char* tag) {
  const ScopedNoProbes no_probes;
  const LoopSource* source = source_.load(std::memory_order_relaxed);  // set before there are sites
  char name[watchdog::WatchedLoop::kMaxNameBytes];
  source->registry->places()[loop.place()].CopyName(name);
  char function[watchdog::DispatchHistory::kMaxTagBytes] = {};
  if (tag == nullptr || watchdog::WriteFunctionTag(tag, function)) tag = function;
  const probe::HitDetails details{.loop = name, .tag = tag};
  ForEach(dispatches_, name, [&](const SiteState& site) {
    NativeHit hit;
    hit.services = &ProbeHitServices();
    hit.now_ticks = end_ticks;
    hit.duration_ticks = duration_ticks;
    hit.details = &details;
    hit.tid = OwnTid();
    hit.kind = probe::PlaceKind::kDispatch;
    RunHit(site, hit);
  });
}

void LoopSites::OnHang(const watchdog::HangNotice& hang) {
  const ScopedNoProbes no_probes;
  const probe::HitDetails details{.loop = hang.loop_name, .tag = hang.tag};
  ForEach(hangs_, hang.loop_name, [&](const SiteState& site) {
    NativeHit hit;
    hit.services = &ProbeHitServices();
    hit.duration_ticks = static_cast<uint64_t>(static_cast<double>(hang.elapsed_ns) / site.ns_per_tick);
    hit.details = &details;
    hit.tid = static_cast<uint32_t>(hang.tid);
    hit.kind = probe::PlaceKind::kHang;
    RunHit(site, hit);
  });
}

}  // namespace lagwatch::sdk
