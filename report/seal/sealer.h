// SPDX-License-Identifier: Apache-2.0
// The interface for sealing records on their way to the disk: its users need no cryptography library.
#pragma once

#include <string_view>

#include "report/format/sealed.h"

namespace lagwatch::report {

class Sealer {
 public:
  virtual ~Sealer() = default;
  // The encoded lagwatch.Sealed of an encoded `record`, valid until the next call; empty when there is none,
  // because it does not fit, or in a process other than the one that began. One thread at a time.
  // Context: watchdog: no allocation, no lock.
  virtual std::string_view Seal(const SealedLabel& label, std::string_view record) = 0;
};

}  // namespace lagwatch::report
