// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>

#include "sdk/dump_signal.h"

namespace lagwatch::sdk {
namespace {

// A handler of these must not just return: the program would do the same again.
constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

// A signal's action before ours. Kept as long as ours may still be called, because a handler on top of
// it was installed.
struct Previous {
  bool is_under_another = false;
  struct sigaction action {};
};
std::array<Previous, NSIG> g_previous;
std::atomic<watchdog::DumpRequests*> g_requests{nullptr};
static_assert(std::atomic<watchdog::DumpRequests*>::is_always_lock_free, "not signal-safe");

void PassOn(int signal_number, siginfo_t* info, void* context) {
  const struct sigaction& action = g_previous[static_cast<size_t>(signal_number)].action;
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal_number, info, context);
  } else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
    action.sa_handler(signal_number);
  }
}

void HandleDumpSignal(int signal_number, siginfo_t* info, void* context) {
  const int error = errno;
  if (watchdog::DumpRequests* requests = g_requests.load()) requests->Ask("signal", signal_number);
  errno = error;
  PassOn(signal_number, info, context);
}

bool HasHandler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == HandleDumpSignal;
}

}  // namespace

base::Result<std::unique_ptr<DumpSignal>> DumpSignal::Install(int signal_number,
                                                              watchdog::DumpRequests* requests) {
  const bool is_fault = std::ranges::find(kFaults, signal_number) != kFaults.end();
  const bool is_number = signal_number > 0 && signal_number < NSIG;
  struct sigaction current {};
  if (is_fault || !is_number || sigaction(signal_number, nullptr, &current) != 0)
    return base::Status(base::StatusCode::kInvalid,
                        "signal " + std::to_string(signal_number) + " cannot ask for a dump");
  Previous& previous = g_previous[static_cast<size_t>(signal_number)];
  // One that is on top of an earlier one of ours may call it: with ours on top of that, they would call each
  // other for ever.
  const bool is_there = IsOurs(current) || (previous.is_under_another && HasHandler(current));
  if (!is_there) {
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (HasHandler(current)) {
      action.sa_flags = SA_SIGINFO | (current.sa_flags & (SA_RESTART | SA_ONSTACK | SA_NODEFER));
      action.sa_mask = current.sa_mask;
    }
    action.sa_sigaction = HandleDumpSignal;
    previous.action = current;
    if (sigaction(signal_number, &action, nullptr) != 0)
      return base::Status(base::StatusCode::kInvalid,
                          "signal " + std::to_string(signal_number) + " cannot be handled");
  }
  g_requests.store(requests);
  return std::unique_ptr<DumpSignal>(new DumpSignal(signal_number));
}

DumpSignal::~DumpSignal() {
  g_requests.store(nullptr);
  struct sigaction current {};
  if (sigaction(signal_number_, nullptr, &current) != 0) return;
  Previous& previous = g_previous[static_cast<size_t>(signal_number_)];
  previous.is_under_another = !IsOurs(current);
  if (!previous.is_under_another) sigaction(signal_number_, &previous.action, nullptr);
}

}  // namespace lagwatch::sdk
