// SPDX-License-Identifier: Apache-2.0
// The signal that requests a dump from outside of the program.
#pragma once

#include <memory>

#include "base/status.h"
#include "watchdog/loops/dump_requests.h"

namespace lagwatch::sdk {

// At most one in a process at a time. Context: background.
class DumpSignal {
 public:
  // From now on each such signal is a request. A handler that is there already is called after ours, with its
  // own flags and mask; what a signal without a handler would do is no longer done. `requests` is borrowed.
  // Errors: kInvalid when there is no such signal, or none that may be handled by just going on.
  static base::Result<std::unique_ptr<DumpSignal>> Install(int signal_number,
                                                           watchdog::DumpRequests* requests);
  // Restores the previous handler, unless another one is on top of ours: then ours stays, and only calls
  // the previous one.
  ~DumpSignal();
  DumpSignal(const DumpSignal&) = delete;
  DumpSignal& operator=(const DumpSignal&) = delete;

 private:
  explicit DumpSignal(int signal_number) : signal_number_(signal_number) {}

  int signal_number_;
};

}  // namespace lagwatch::sdk
