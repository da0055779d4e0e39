// SPDX-License-Identifier: Apache-2.0
// The record of a run whose reports are sealed: it says nothing that is to be read on this machine. Of app,
// version, program, build and control group it holds fingerprints (64 bits, another one in each session), so
// that the program's next start knows its own again; of user, loops and scenes nothing. A fingerprint cannot
// be read, but who guesses a name can find that it was right. Context: background; pure.
#pragma once

#include "sdk/run_record.h"

namespace lagwatch::sdk {

// As they are kept.
RunFacts MaskRun(const RunFacts& facts);
// What `now`, a run that knows its own names, can tell of a masked run: names that are its own, too. The
// others become empty, but for a build that is another one: that stays a fingerprint.
void UnmaskRun(const RunFacts& now, RunFacts* run);

}  // namespace lagwatch::sdk
