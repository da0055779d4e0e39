// SPDX-License-Identifier: Apache-2.0
// Inputs that a fuzzer begins with, made when it starts: what is worth beginning with is in its own memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace lagwatch::testing {

class FuzzSeeds {
 public:
  void Add(const std::string& bytes) {
    int fd = memfd_create("seed", 0);  // left open: libFuzzer reads it by its name
    if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return;
    option_ += (option_.empty() ? "-seed_inputs=/proc/self/fd/" : ",/proc/self/fd/") + std::to_string(fd);
  }
  // From LLVMFuzzerInitialize(). This object must live as long as the program.
  void AppendTo(int* argc, char*** argv) {
    if (option_.empty()) return;
    arguments_.assign(*argv, *argv + *argc);
    arguments_.push_back(option_.data());
    *argc = static_cast<int>(arguments_.size());
    arguments_.push_back(nullptr);
    *argv = arguments_.data();
  }

 private:
  std::string option_;
  std::vector<char*> arguments_;
};

}  // namespace lagwatch::testing
