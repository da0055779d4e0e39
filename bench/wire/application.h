// SPDX-License-Identifier: Apache-2.0
// A mail program in small, which stalls in the ways that programs do: its own code and the C and C++
// libraries on the stack, locks that other threads hold, files, memory, the network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lagwatch::bench {

struct Stall {
  const char* tag;
  std::function<void()> run;  // for about as long as the application's `stall_ms`
};

class Application {
 public:
  // Starts the threads that such a program has: some wait, some work now and then. `directory`
  // takes its files.
  Application(const std::string& directory, int64_t stall_ms);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  // All there are, each for one dispatch of the loop's thread.
  std::vector<Stall> Stalls();
  // The work of a dispatch that is not a stall: `microseconds` of it.
  void Turn(int64_t microseconds);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lagwatch::bench
