// SPDX-License-Identifier: Apache-2.0
// The tag of a message's dispatch, from the line that Android's Looper prints at its begin.
#pragma once

#include <cstddef>
#include <string_view>

namespace lagwatch::android {

constexpr size_t kTagBytes = 96;

// Writes the tag of `line` to `tag`, terminated, cut to its size. ">>>>> Dispatching to Handler
// (com.example.Main$H) {1f2e3d} com.example.Import@6d2c7b: 7" becomes "Import (Main$H): 7": numbers that
// differ in every run are left out, as are packages, a callback or a `what` that is not there and the class
// "Handler". A line of another form is its own tag. Context: hot.
void WriteMessageTag(std::string_view line, char (&tag)[kTagBytes]);

}  // namespace lagwatch::android
