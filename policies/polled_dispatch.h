// SPDX-License-Identifier: Apache-2.0
// Infers a loop's dispatches from looks at its thread some ten times a second, by a watcher in another
// process.
//
// A dispatch begins when the thread is found elsewhere than in its loop's wait. Between two looks it may have
// been there, which is excluded only
// - by continuity: it sleeps in the same call as before, and has not run since;
// - by a count of the returns of the loop's wait, where the kernel permits one;
// - by counters: without sleeping or calling for input or output a loop gets nothing to dispatch;
// - by a question to its window that has no answer yet: the loop would have served it.
// Otherwise the dispatch begins again, so that no dispatch is longer than is proven.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace lagwatch::policies {

class PolledDispatch {
 public:
  struct Moment {
    bool is_at_home = false;     // in the wait of its loop; or stopped, which is not its own doing
    bool is_continuous = false;  // in the same call as at the last moment, and has not run since
    bool has_paused = true;      // may have slept, or called for input or output, since the last moment
    std::optional<uint64_t> returns = std::nullopt;  // of the loop's wait, while they are counted
    bool has_unanswered_ping = false;                // its window was asked, and has not answered
  };
  enum class Action : uint8_t { kNone, kBegin, kEnd, kBeginAgain };

  // With `takes_probable`, dispatches go on where nothing speaks for or against it.
  explicit PolledDispatch(bool takes_probable) : takes_probable_(takes_probable) {}

  Action Observe(const Moment& moment) {
    const bool was_asked = std::exchange(is_asked_, moment.has_unanswered_ping);
    wants_returns_ = !moment.is_at_home && !moment.is_continuous;
    if (moment.is_at_home) return std::exchange(is_away_, false) ? Action::kEnd : Action::kNone;
    if (!std::exchange(is_away_, true)) return Action::kBegin;
    if (moment.is_continuous) return Action::kNone;
    if (moment.returns) return *moment.returns == 0 ? Action::kNone : Action::kBeginAgain;
    // It counts from the first moment after the question.
    if (moment.has_unanswered_ping && was_asked) return Action::kNone;
    return moment.has_paused && !takes_probable_ ? Action::kBeginAgain : Action::kNone;
  }

  // Whether the returns of the loop's wait are to be counted from now on, until Observe() ends the dispatch
  // or begins it again.
  bool wants_returns() const { return wants_returns_; }

 private:
  bool takes_probable_;
  bool is_away_ = false;
  bool is_asked_ = false;
  bool wants_returns_ = false;
};

}  // namespace lagwatch::policies
