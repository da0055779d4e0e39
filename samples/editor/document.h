// SPDX-License-Identifier: Apache-2.0
// Parses and saves the editor's document: the second and the third freeze.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// `line_count` lines of prose with headings.
std::string MakeText(size_t line_count);

// Writes the file so carefully that every line is on disk before the next. False when it cannot be written.
bool SaveFile(const std::string& path, const std::vector<std::string>& lines);

// For each line, the heading that it stands under. Looks back from every line: quadratic.
std::vector<size_t> ParseOutline(const std::vector<std::string>& lines);

std::vector<std::string> SplitLines(std::string_view text);
