// SPDX-License-Identifier: Apache-2.0
// Evidence that only Linux has: a thread here is seen to run or to sleep, not for which call or peer.
#include <mach/mach.h>
#include <unistd.h>

#include "watchdog/evidence/evidence.h"
#include "watchdog/evidence/idle_places.h"
#include "watchdog/facts/file_facts.h"
#include "watchdog/report_facts.h"
#include "watchdog/samples/thread_loads.h"
#include "watchdog/service/service_beats.h"
#include "watchdog/service/service_feed.h"
#include "watchdog/spans/awaited.h"
#include "watchdog/waits/chain/wait_walker.h"

namespace lagwatch::watchdog {

policies::Doing WhatItWaitsFor(const base::Thread&, const stack::BlockedThread&, char) {
  return policies::Doing::kUnknown;
}

bool WaitsForEvent(const stack::BlockedThread&) { return false; }

WaitKind KindOfWait(const stack::BlockedThread&) { return WaitKind::kOther; }

bool IsForOrders(const stack::BlockedThread&) { return false; }

bool IsForAnother(const WatchedLoop&, const stack::BlockedThread&) { return false; }

bool IsForPolled(const WatchedLoop&, const stack::BlockedThread&) { return false; }

Awaited FindAwaited(const base::Thread&, const stack::ThreadFiles*) { return {}; }

void AddAwaitedFacts(const Awaited&, FactList*) {}

AwaitedFile FindAwaitedFile(const base::Thread&, const stack::ThreadFiles*) { return {}; }

ProcessorUsers::ProcessorUsers() = default;

void ProcessorUsers::Begin(int64_t, const base::Process&) {}

const char* ProcessorUsers::Describe(int64_t, const base::Process&, bool) { return ""; }

void AddFileFacts(const AwaitedFile&, int32_t, bool, FactList*) {}

std::unique_ptr<WaitWalker::Peers> WaitWalker::MakePeers() { return nullptr; }

bool WaitWalker::FollowPeers(int32_t, stack::StackCapturer*, bool, int64_t) { return false; }

int32_t WaitWalker::FindOwnerByStacks(const Rest&, const stack::Stack&, const std::optional<stack::LockWait>&,
                                      stack::StackCapturer*, bool, stack::LockKind*) {
  return 0;
}

bool IsStopCall(const stack::BlockedThread&) { return false; }

void WaitWalker::FindCandidates(int32_t, stack::StackCapturer*) {}

int32_t CountUsableCores(const base::Process&) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? static_cast<int32_t>(cores) : 1;
}

std::unique_ptr<ServiceFeed> ServiceFeed::FromEnvironment() { return nullptr; }

void ServiceFeed::Feed(int64_t) {}

std::unique_ptr<ServiceBeats> ServiceBeats::FromEnvironment() { return nullptr; }

int64_t ServiceBeats::due_ns() const { return INT64_MAX; }

bool ServiceBeats::TakeLate(int64_t, Late*) { return false; }

Schedule AddThreadFacts(int32_t, const WatchTools& tools, FactList* facts) {
  facts->Add("foreground", tools.is_foreground() ? 1 : 0);
  return {};
}

void AddProcessFacts(const WatchTools& tools, FactList* facts) {
  mach_task_basic_info info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) ==
      KERN_SUCCESS)
    facts->Add("rss_bytes", static_cast<int64_t>(info.resident_size));
  AddOwnCost(tools, facts);
}

}  // namespace lagwatch::watchdog
