// SPDX-License-Identifier: Apache-2.0
// Names of a report's facts that its readers know, too. Part of the wire format.
#pragma once

namespace lagwatch::policies {

// How many threads of lagwatch the process had, which are not listed.
inline constexpr char kOwnThreadsFact[] = "lagwatch_threads";

}  // namespace lagwatch::policies
