// SPDX-License-Identifier: Apache-2.0
// Texts of the JVM's tool functions. Context: background, a thread of the JVM.
#pragma once

#include <jvmti.h>

#include <string>

namespace lagwatch::sdk::jvm {

// A copy of the text, which is freed; empty for null.
inline std::string TakeToolText(jvmtiEnv* tools, char* text) {
  if (text == nullptr) return "";
  std::string copy = text;
  tools->Deallocate(reinterpret_cast<unsigned char*>(text));
  return copy;
}

}  // namespace lagwatch::sdk::jvm
