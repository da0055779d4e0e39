// SPDX-License-Identifier: Apache-2.0
// A loop whose handler freezes in one scene, for native.py:
//   native list      prints a line for each scene: its name, word, function and other side
//   native SCENE     reads lines; freezes at "freeze", and prints how long that turn was, in ns
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "scene.h"

namespace scenes {

void KeepItWaiting() {
  const timespec rest{.tv_sec = kFreezeMs / 1000, .tv_nsec = kFreezeMs % 1000 * 1'000'000};
  nanosleep(&rest, nullptr);
  asm volatile("");  // the call is no jump
}

}  // namespace scenes

namespace {

using scenes::Other;
using scenes::Scene;

template <typename Function>
void ForEach(Function function) {
  for (auto part : {scenes::OwnWork(), scenes::Threads(), scenes::Processes(), scenes::Candidates()}) {
    for (const Scene& scene : part) function(scene);
  }
}

const char* NameOf(Other other) {
  switch (other) {
    case Other::kOwner:
      return "owner";
    case Other::kPeer:
      return "peer";
    case Other::kCandidate:
      return "candidate";
    case Other::kDeadlock:
      return "deadlock";
    case Other::kNone:
      break;
  }
  return "none";
}

// Programs call these by tables and virtual functions, and no compiler inlines them.
[[gnu::noinline]] void ServeRequest(const Scene& scene) {
  scene.run();
  asm volatile("");
}

[[gnu::noinline]] void HandleInput(const Scene& scene, std::string_view text) {
  if (text.find("freeze") == text.npos) return;
  ServeRequest(scene);
  asm volatile("");
}

int RunLoop(const Scene& scene) {
  int other[2];
  if (pipe(other) != 0) return 2;
  std::array<pollfd, 2> waited{{{0, POLLIN, 0}, {other[0], POLLIN, 0}}};
  for (int64_t begin_ns = scenes::NowNs();;) {
    const int64_t end_ns = scenes::NowNs();
    if (poll(waited.data(), waited.size(), -1) < 0) return 2;
    const int64_t next_begin_ns = scenes::NowNs();
    if (end_ns - begin_ns > scenes::kFreezeMs * 500'000) {  // the turn before
      std::printf("lasted %lld\n", static_cast<long long>(end_ns - begin_ns));
      std::fflush(stdout);
    }
    begin_ns = next_begin_ns;
    char text[256];
    const ssize_t size = read(0, text, sizeof text);
    if (size <= 0) return 0;
    HandleInput(scene, {text, static_cast<size_t>(size)});
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::string_view name = words[1];
  const Scene* chosen = nullptr;
  ForEach([&](const Scene& scene) {
    if (name == "list")
      std::printf("%s %s %s %s\n", scene.name, scene.word, scene.function, NameOf(scene.other));
    if (name == scene.name) chosen = &scene;
  });
  if (name == "list") return 0;
  return chosen == nullptr ? 2 : RunLoop(*chosen);
}
