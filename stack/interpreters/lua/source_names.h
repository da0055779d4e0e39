// SPDX-License-Identifier: Apache-2.0
// The names of files of Lua, as reports have them.
#pragma once

#include <array>
#include <string_view>

namespace lagwatch::stack::lua {

// The name of a function that has none.
inline constexpr std::string_view kNoName = "anonymous";

// Makes names of what Lua knows as the source of a function. Context: any; pure.
class FileNames {
 public:
  // Of "@PATH", or, where `is_end_of_path`, of the end of such a path: the part that is the same on all
  // machines, which is below a directory of libraries, or the file's name. Of "=NAME" the name, of any other
  // text its beginning as Lua itself shows it. Valid until the next call.
  std::string_view NameOf(std::string_view source, bool is_end_of_path);

 private:
  std::array<char, 64> text_;
};

}  // namespace lagwatch::stack::lua
