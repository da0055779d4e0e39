// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/scope_spans.h"

namespace lagwatch::watchdog {

Span ScopeSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  int64_t shortest_ns = loop.scopes.shortest_deadline_ns();
  Span first;
  if (shortest_ns == INT64_MAX) return first;
  first.thresholds.threshold_ns = shortest_ns;
  for (size_t depth = 0; depth < LoopScopes::kMaxDepth; ++depth) {
    const LoopScopes::Scope scope = loop.scopes.Read(depth);
    if (scope.number == 0) continue;
    int64_t begin_ns = tools.BeginNs(scope.begin_ticks, now_ns);
    bool is_first =
        first.number == 0 || begin_ns + scope.deadline_ns < first.begin_ns + first.thresholds.threshold_ns;
    if (is_first)
      first = {
          .number = scope.number, .begin_ns = begin_ns, .thresholds = {scope.deadline_ns}, .tag = scope.name};
  }
  first.read_again_within_ns = shortest_ns / 2;  // a shorter one may begin inside it
  return first;
}

}  // namespace lagwatch::watchdog
