// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/coarse_clock.h"

#include <atomic>
#include <new>

#include "base/clock.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/ticks.h"
#include "trace/instrument/call_event.h"

namespace lagwatch::trace {

struct CoarseClock::Ticker {
  static void Run(void* self) {
    Ticker* ticker = static_cast<Ticker*>(self);
    for (int64_t due_ns = base::SystemClock().MonoNs(); !ticker->should_stop.load();) {
      ticker->Tick();
      // The next multiple that is still to come, in case this thread had to wait.
      const int64_t now_ns = base::SystemClock().MonoNs();
      due_ns += kPeriodNs * ((now_ns - due_ns) / kPeriodNs + 1);
      ticker->sleeper.SleepUntil(due_ns);
    }
  }
  uint64_t Now() const { return state | (base::ReadTicks() >> CallEventWord::kCoarseShift & UINT32_MAX); }
  void Tick() {
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);  // each of these: one word, nothing to order
    if ((old ^ state) >> 32 == 0)
      __atomic_compare_exchange_n(word, &old, Now(), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }

  uint64_t* word = nullptr;
  uint64_t state = 0;
  std::atomic<bool> should_stop{false};
  base::Sleeper sleeper;
  base::QuietThread thread;
};

bool CoarseClock::Start(uint64_t* word, uint64_t state) {
  constexpr size_t kStackBytes = 64 << 10;
  auto* ticker = new (std::nothrow) Ticker;
  if (ticker == nullptr) return false;
  ticker->word = word;
  ticker->state = state;
  if (!ticker->thread.Start("lagwatch-tick", kStackBytes, &Ticker::Run, ticker).ok()) {
    delete ticker;
    return false;
  }
  ticker_ = ticker;
  __atomic_store_n(word, ticker->Now(), __ATOMIC_RELAXED);
  return true;
}

void CoarseClock::Stop() {
  if (ticker_ == nullptr) return;
  ticker_->should_stop.store(true);
  ticker_->sleeper.Wake();
  // A thread that hangs is leaked, with everything that it uses.
  if (ticker_->thread.TryJoin(base::kNsPerSecond)) delete ticker_;
  ticker_ = nullptr;
}

}  // namespace lagwatch::trace
