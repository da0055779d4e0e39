// SPDX-License-Identifier: Apache-2.0
// The mark by which a process forbids probes in itself, for any of lagwatch's libraries, also one that is
// loaded later: the mapping of a file in memory of this name. Context: background.
#pragma once

namespace lagwatch::sdk {

// A part of the mapping's name.
inline constexpr char kForbiddenMark[] = "lagwatch-no-probes";

// Makes the mark, which children that are forked inherit. False without memory or descriptors.
bool MakeForbiddenMark();
// Whether it is there; also true if that cannot be known.
bool HasForbiddenMark();

}  // namespace lagwatch::sdk
