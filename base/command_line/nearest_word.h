// SPDX-License-Identifier: Apache-2.0
// Finds the word that was probably meant. Context: any; pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lagwatch::base {

// The word of `known` with the fewest letters to change, insert, remove or swap with a neighbour: a third of
// `word` at most. Empty if none is so near.
std::string NearestWord(std::string_view word, std::span<const std::string> known);

}  // namespace lagwatch::base
