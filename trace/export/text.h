// SPDX-License-Identifier: Apache-2.0
// Names as formats can hold them: they come from programs, so they may hold anything. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagwatch::trace {

// Valid UTF-8 without control characters: invalid bytes become U+FFFD, control characters spaces.
std::string OneLine(std::string_view text);

// Appends `text` as a string of JSON, with its quotes.
void AppendJson(std::string_view text, std::string* json);

void AppendNumber(int64_t number, std::string* text);
// `ns` in microseconds, exactly: "12.034".
void AppendUs(int64_t ns, std::string* text);
// "0x7f0010"
std::string Hex(uint64_t number);

}  // namespace lagwatch::trace
