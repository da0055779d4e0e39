// SPDX-License-Identifier: Apache-2.0
// The methods in a class file. Pure. Context: background.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lagwatch::sdk::jvm {

struct ClassFileMethod {
  std::string name;
  std::string descriptor;
  uint16_t modifiers = 0;
  std::vector<unsigned char> code;  // empty of native and abstract ones
};

// Empty if the bytes are no class file: the JVM, which refuses it then, has not looked yet.
std::vector<ClassFileMethod> ReadClassFileMethods(std::span<const unsigned char> file);

}  // namespace lagwatch::sdk::jvm
