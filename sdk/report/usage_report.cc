// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/usage_report.h"

#include <algorithm>

#include "base/clock.h"
#include "report/format/usage_encoder.h"

namespace lagwatch::sdk {

bool EncodeUsage(const watchdog::UsageEvent& event, const policies::SuppressedCounts& suppressed,
                 const ProgramFacts& facts, report::FixedBuffer* buffer) {
  report::UsageEncoder encoder({.id = event.id,
                                .session_id = facts.session_id,
                                .app = facts.app,
                                .app_version = facts.app_version,
                                .user = facts.user,
                                .begin_wall_ms = event.begin_wall_ms,
                                .end_wall_ms = event.end_wall_ms},
                               buffer);
  const policies::Scrubber& scrubber = facts.scrubber;
  for (const watchdog::NamedLoopUsage& loop : event.loops)
    encoder.AddLoop(scrubber.Text(loop.loop).view(), loop.usage);
  for (const watchdog::SlowTag& slow : event.slow)
    encoder.AddSlow(scrubber.Text(slow.loop).view(), scrubber.Text(slow.tag).view(), slow.dispatches);
  for (size_t i = 0; i < suppressed.size(); ++i)
    encoder.AddSuppressed(static_cast<policies::SuppressedReason>(i), suppressed[i]);
  return encoder.ok();
}

RunUsage SumOf(const watchdog::UsageEvent& event, const policies::SuppressedCounts& suppressed,
               const policies::Scrubber& scrubber) {
  auto to_32 = [](uint64_t count) { return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)); };
  RunUsage sum{};
  sum.id = event.id;
  sum.begin_wall_ms = event.begin_wall_ms;
  sum.end_wall_ms = event.end_wall_ms;
  policies::DurationHistogram durations;
  policies::BackgroundUsage background;
  for (const watchdog::NamedLoopUsage& loop : event.loops) {
    sum.watched_ns += loop.usage.watched_ns;
    sum.dispatches += loop.usage.dispatches;
    sum.untimed_dispatches += loop.usage.untimed_dispatches;
    sum.hangs += loop.usage.hangs;
    sum.hang_ns += loop.usage.hang_ns;
    background.watched_ns += loop.usage.background.watched_ns;
    background.hangs += loop.usage.background.hangs;
    background.hang_ns += loop.usage.background.hang_ns;
    for (size_t i = 0; i < durations.counts.size(); ++i)
      durations.counts[i] += loop.usage.durations.counts[i];
  }
  auto to_ms = [&](int64_t ns) {
    return to_32(static_cast<uint64_t>(std::max<int64_t>(ns, 0) / base::kNsPerMs));
  };
  sum.background_watched_ms = to_ms(background.watched_ns);
  sum.background_hangs = to_32(background.hangs);
  sum.background_hang_ms = to_ms(background.hang_ns);
  std::transform(durations.counts.begin(), durations.counts.end(), sum.durations, to_32);
  std::transform(suppressed.begin(), suppressed.end(), sum.suppressed, to_32);
  if (event.loops.size() == 1) {
    const policies::ScrubbedText loop = scrubber.Text(event.loops.front().loop);
    loop.view().copy(sum.loop, sizeof sum.loop);
  }
  return sum;
}

}  // namespace lagwatch::sdk
