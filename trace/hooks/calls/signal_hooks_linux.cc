// SPDX-License-Identifier: Apache-2.0
// Keeps the handler of the capture signal when a program resets all of its signals, as daemons do at their
// start. With the default action, the next capture signal would end the program; for a program that never
// receives that signal, the handler makes no difference.
#include <csignal>

#include "stack/capture_signal_owner.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

using Handler = void (*)(int);

bool IsKept(int signal_number) {
  return IsRecording() && signal_number == stack::CaptureSignalOwner::signal().number;
}

template <HookName kName>
struct ActionHook {
  static inline constinit RealFunction<int(int, const struct sigaction*, struct sigaction*)> real;

  static int Replacement(int signal_number, const struct sigaction* action, struct sigaction* previous) {
    const bool is_reset = action != nullptr && action->sa_handler == SIG_DFL && IsKept(signal_number);
    return real(signal_number, is_reset ? nullptr : action, previous);
  }
};
template <HookName kName>
void AddAction(HookTable* table) {
  table->Add(kSignalHooks, kName.text, ActionHook<kName>::Replacement, &ActionHook<kName>::real);
}

template <HookName kName>
struct HandlerHook {
  static inline constinit RealFunction<Handler(int, Handler)> real;

  static Handler Replacement(int signal_number, Handler handler) {
    if (handler != SIG_DFL || !IsKept(signal_number)) return real(signal_number, handler);
    struct sigaction current {};
    return sigaction(signal_number, nullptr, &current) == 0 ? current.sa_handler : SIG_ERR;
  }
};
template <HookName kName>
void AddHandler(HookTable* table) {
  table->Add(kSignalHooks, kName.text, HandlerHook<kName>::Replacement, &HandlerHook<kName>::real);
}

}  // namespace

void AddSignalHooks(HookTable* table) {
  AddAction<"sigaction">(table);
  AddAction<"__sigaction">(table);
  AddHandler<"signal">(table);
  AddHandler<"bsd_signal">(table);
  AddHandler<"ssignal">(table);
  AddHandler<"sysv_signal">(table);
  AddHandler<"__sysv_signal">(table);
  AddHandler<"sigset">(table);
}

}  // namespace lagwatch::trace
