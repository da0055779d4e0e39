// SPDX-License-Identifier: Apache-2.0
// The keys of a new collector, which is usable before any key was added. Context: background.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "collector/keys/key_file.h"

namespace lagwatch::collector {

struct FirstKey {
  Access access = Access::kProject;
  std::string text_path;
};

// Sees to it that `keys` has one of each `wanted` access: where there is none, the one whose text is in the
// file `text_path`, which is created (mode 0600) with a new one when it is not there. A text that was there
// before any keys were is taken over; one that is there with keys that do not have it was revoked and stays
// so. Errors: those of KeyFile and LoadOrCreateSecret.
base::Status CreateFirstKeys(const KeyFile& keys, const std::vector<FirstKey>& wanted);

}  // namespace lagwatch::collector
