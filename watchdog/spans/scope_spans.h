// SPDX-License-Identifier: Apache-2.0
// A loop's scopes: of those under way, the one whose deadline is the first to pass.
#pragma once

#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

class ScopeSpans final : public SpanSource {
 public:
  HangKind kind() const override { return HangKind::kScope; }
  Span Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) override;
  bool IsStillIn(uint64_t number, const WatchedLoop& loop) const override {
    return loop.scopes.IsStillIn(number);
  }
};

}  // namespace lagwatch::watchdog
