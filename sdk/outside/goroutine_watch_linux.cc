// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/process/proc_file.h"
#include "sdk/outside/goroutine_watch.h"
#include "stack/script_stacks.h"
#include "watchdog/loops/outside_looks.h"

namespace lagwatch::sdk {
namespace {

using stack::go::Goroutine;
using stack::go::Status;
using stack::go::WaitKind;

constexpr char kLoopName[] = "goroutine";

// The address of the ELF header of the process's program; 0 if it is not known.
uint64_t ProgramBase(const base::Process& process) {
  Elf64_auxv_t entries[64];
  const base::OwnedFd file(open(base::ProcessPath(process, "auxv").c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? read(file.get(), entries, sizeof entries) : -1;
  if (size <= 0) return 0;
  constexpr uint64_t kPageBytes = 4096;
  for (size_t i = 0; i < static_cast<size_t>(size) / sizeof entries[0]; ++i) {
    if (entries[i].a_type == AT_PHDR) return entries[i].a_un.a_val / kPageBytes * kPageBytes;
  }
  return 0;
}

// Whether a goroutine in that wait hangs if it stays: those of a request wait for others, or for ever, but
// not in a select of the program's, as handlers do that send what comes.
bool IsHang(const stack::go::Wait& wait) {
  if (IsLock(wait.kind)) return true;
  if (!wait.is_request) return false;
  switch (wait.kind) {
    case WaitKind::kChannelReceive:
    case WaitKind::kChannelSend:
    case WaitKind::kForEver:
    case WaitKind::kGroup:
    case WaitKind::kSemaphore:
    case WaitKind::kSleep:
      return true;
    case WaitKind::kSelect:
    case WaitKind::kNetwork:
      return wait.is_in_client;
    default:
      return false;
  }
}

}  // namespace

GoroutineWatch::GoroutineWatch(const base::Process& process)
    : memory_(process), reader_(base::MapBlock<stack::go::GoReader>(1)) {}

std::unique_ptr<GoroutineWatch> GoroutineWatch::Create(const base::Process& process) {
  if constexpr (stack::Registers::kReturnAddress != stack::Registers::kProgramCounter) return nullptr;
  const uint64_t base = ProgramBase(process);
  std::unique_ptr<GoroutineWatch> watch(new GoroutineWatch(process));
  const bool is_go =
      base != 0 && watch->reader_ != nullptr && watch->reader_[0].Attach(&watch->memory_, base);
  return is_go ? std::move(watch) : nullptr;
}

void GoroutineWatch::Look(int64_t now_ns, bool has_run) {
  if (has_run || look_ == 0) {
    ++look_;
    reader_[0].goroutines().ForEach([&](const Goroutine& goroutine) {
      if (goroutine.status == Status::kWaiting) Note(goroutine, now_ns);
      return true;
    });
    for (auto one = waiting_.begin(); one != waiting_.end();) {
      Waiting& waiting = one->second;
      if (waiting.look != look_) waiting.counts = false;
      const bool is_over = waiting.look != look_ && waiting.loop == nullptr;
      one = is_over ? waiting_.erase(one) : std::next(one);
    }
  }
  may_hang_ = false;
  for (auto& [id, waiting] : waiting_) {
    if (waiting.since_ns == now_ns) continue;
    if (!waiting.is_judged) Judge(&waiting);
    may_hang_ |= waiting.counts;
  }
}

std::vector<GoroutineWatch::Hanging> GoroutineWatch::FindHanging() const {
  std::vector<Hanging> hanging;
  for (const auto& [id, waiting] : waiting_)
    if (waiting.counts) hanging.push_back({stack::ScriptThreadOf(id), waiting.since_ns});
  std::ranges::sort(hanging, {}, &Hanging::since_ns);
  return hanging;
}

void GoroutineWatch::Note(const Goroutine& goroutine, int64_t now_ns) {
  Waiting& waiting = waiting_[goroutine.id];
  waiting.look = look_;
  if (waiting.since_ns != 0 && waiting.goroutine.IsSameWait(goroutine)) return;
  waiting.goroutine = goroutine;
  waiting.since_ns = now_ns;
  waiting.is_judged = waiting.counts = false;
}

void GoroutineWatch::Judge(Waiting* waiting) {
  stack::go::Wait wait;
  Goroutine now;
  stack::go::GoReader& reader = reader_[0];
  reader.ReadWait(waiting->goroutine, &wait);
  waiting->is_judged =
      reader.goroutines().ReadNow(waiting->goroutine.address, &now) && now.IsSameWait(waiting->goroutine);
  if (!waiting->is_judged) return;
  waiting->counts = !wait.is_own && IsHang(wait);
  waiting->object = wait.address != 0 ? wait.address : waiting->goroutine.stack_pointer;
}

bool GoroutineWatch::HasLoopFor(uint64_t object) const {
  return std::ranges::any_of(
      waiting_, [&](const auto& one) { return one.second.loop != nullptr && one.second.object == object; });
}

void GoroutineWatch::ChooseLoops(watchdog::LoopRegistry* registry, const base::TickScale& scale,
                                 int64_t now_ns, int64_t least_ns) {
  size_t count = 0;
  std::vector<Waiting*> hanging;
  for (auto& [id, waiting] : waiting_) {
    if (waiting.loop != nullptr && !waiting.counts) End(&waiting, registry);
    count += waiting.loop != nullptr;
    if (waiting.counts && waiting.loop == nullptr && now_ns - waiting.since_ns >= least_ns)
      hanging.push_back(&waiting);
  }
  std::ranges::sort(hanging, {}, &Waiting::since_ns);
  const base::TickPair now = base::ReadTickPair(base::SystemClock());
  for (Waiting* waiting : hanging) {
    if (count >= kMostLoops) return;
    if (HasLoopFor(waiting->object)) continue;
    const uint64_t begin_ticks = now.ticks - scale.ToTicks(now.mono_ns - waiting->since_ns);
    waiting->loop = registry->Add(kLoopName, stack::ScriptThreadOf(waiting->goroutine.id),
                                  [&](watchdog::WatchedLoop* loop) { loop->probe.BeginAt("", begin_ticks); });
    if (waiting->loop == nullptr) return;
    ++count;
  }
}

void GoroutineWatch::RemoveLoops(watchdog::LoopRegistry* registry) {
  for (auto& [id, waiting] : waiting_)
    if (waiting.loop != nullptr) End(&waiting, registry);
}

void GoroutineWatch::End(Waiting* waiting, watchdog::LoopRegistry* registry) {
  waiting->loop->probe.End();
  registry->Remove(std::exchange(waiting->loop, nullptr));
}

}  // namespace lagwatch::sdk
