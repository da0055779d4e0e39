// SPDX-License-Identifier: Apache-2.0
// The application's callbacks as the watchdog's listener.
#pragma once

#include <lagwatch/c.h>

#include "watchdog/events/hang_listener.h"

namespace lagwatch::sdk {

// Context: watchdog.
class CListener final : public watchdog::HangListener {
 public:
  explicit CListener(const lw_listener& callbacks) : callbacks_(callbacks) {}

  static bool IsWanted(const lw_listener& callbacks) {
    return callbacks.hang_begin != nullptr || callbacks.hang_end != nullptr ||
           callbacks.hang_filtered != nullptr || callbacks.sensitive != nullptr;
  }

  void OnHangBegin(const watchdog::HangNotice& hang) override;
  void OnHangEnd(const watchdog::HangNotice& hang) override;
  void OnFiltered(const watchdog::HangNotice& hang, watchdog::FilterReason reason) override;
  bool WantsSensitive() const override { return callbacks_.sensitive != nullptr; }
  void OnSensitive(const watchdog::HangNotice& dispatch) override;

 private:
  const lw_listener callbacks_;
};

}  // namespace lagwatch::sdk
