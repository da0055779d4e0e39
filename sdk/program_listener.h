// SPDX-License-Identifier: Apache-2.0
// Calls the application's listener on a thread that shares the application's files, for a watchdog whose
// thread does not.
#pragma once

#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/process/program_caller.h"
#include "watchdog/events/hang_listener.h"

namespace lagwatch::sdk {

// Context: watchdog, except for Start and TryStop. The watchdog waits for each call.
class ProgramListener final : public watchdog::HangListener {
 public:
  // `listener` is borrowed. Errors: those of base::ProgramCaller. Context: background.
  static base::Result<std::unique_ptr<ProgramListener>> Start(watchdog::HangListener* listener) {
    auto caller = base::ProgramCaller::Start("lagwatch-call");
    if (!caller.ok()) return caller.status();
    return std::unique_ptr<ProgramListener>(new ProgramListener(listener, std::move(caller).value()));
  }
  // False when a call does not return in time: then this object must be leaked. Context: background.
  [[nodiscard]] bool TryStop() { return caller_->TryStop(3 * base::kNsPerSecond); }

  void OnHangBegin(const watchdog::HangNotice& hang) override {
    caller_->Call([&] { listener_->OnHangBegin(hang); });
  }
  void OnHangEnd(const watchdog::HangNotice& hang) override {
    caller_->Call([&] { listener_->OnHangEnd(hang); });
  }
  void OnFiltered(const watchdog::HangNotice& hang, watchdog::FilterReason reason) override {
    caller_->Call([&] { listener_->OnFiltered(hang, reason); });
  }
  bool WantsSensitive() const override { return listener_->WantsSensitive(); }
  void OnSensitive(const watchdog::HangNotice& dispatch) override {
    caller_->Call([&] { listener_->OnSensitive(dispatch); });
  }

 private:
  ProgramListener(watchdog::HangListener* listener, std::unique_ptr<base::ProgramCaller> caller)
      : listener_(listener), caller_(std::move(caller)) {}

  watchdog::HangListener* listener_;
  std::unique_ptr<base::ProgramCaller> caller_;
};

}  // namespace lagwatch::sdk
