// SPDX-License-Identifier: Apache-2.0
// The record of a run whose reports are sealed: nothing in it is readable on this machine. Of app, version,
// program, build and control group it holds fingerprints (64 bits, different in each session), so that the
// program's next start recognizes its own; of user, loops and scenes nothing. A fingerprint cannot be read,
// but a guessed name can be confirmed. Context: background; pure.
#pragma once

#include "sdk/run/run_record.h"

namespace lagwatch::sdk {

// As they are kept.
RunFacts MaskRun(const RunFacts& facts);
// Restores the names of a masked run that are also those of `now`. The others become empty, except a
// different build: that stays a fingerprint.
void UnmaskRun(const RunFacts& now, RunFacts* run);

}  // namespace lagwatch::sdk
