// SPDX-License-Identifier: Apache-2.0
// The thread is busy itself, in its own code or in that of libraries, or sleeps.
#include <poll.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <regex>

#include "scene.h"

namespace scenes {
namespace {

bool IsToGoOn(int64_t end_ns) { return NowNs() < end_ns; }
int64_t EndNs() { return NowNs() + kFreezeMs * 1'000'000; }

void ComputeChecksum() {
  volatile uint64_t value = 1;
  for (const int64_t end_ns = EndNs(); IsToGoOn(end_ns);) {
    for (int i = 0; i < 10'000; ++i) value = value * 31 + 7;
  }
}

void SortRows() {
  std::vector<uint32_t> rows(20'000);
  uint32_t seed = 1;
  for (const int64_t end_ns = EndNs(); IsToGoOn(end_ns);) {
    for (uint32_t& row : rows) row = seed = seed * 1664525 + 1013904223;
    std::sort(rows.begin(), rows.end());
  }
}

void MatchPattern() {
  const std::regex pattern("(a|b)*c(d|e)*");
  const std::string text(2'000, 'a');
  for (const int64_t end_ns = EndNs(); IsToGoOn(end_ns);) static_cast<void>(std::regex_match(text, pattern));
}

void CopyPicture() {
  std::vector<char> from(8 << 20, 'x');
  std::vector<char> to(from.size());
  for (const int64_t end_ns = EndNs(); IsToGoOn(end_ns);) {
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" ::: "memory");
  }
}

void ShrinkDocument() {
  std::vector<Bytef> from(4 << 20);
  uint32_t seed = 1;
  for (Bytef& byte : from) byte = static_cast<Bytef>((seed = seed * 1664525 + 1013904223) >> 28);
  std::vector<Bytef> to(compressBound(from.size()));
  for (const int64_t end_ns = EndNs(); IsToGoOn(end_ns);) {
    uLongf size = to.size();
    compress2(to.data(), &size, from.data(), 300'000, 6);
  }
}

void AskKernel() {
  for (const int64_t end_ns = EndNs(); IsToGoOn(end_ns);) {
    for (int i = 0; i < 100; ++i) getppid();
  }
}

void WaitABit() {
  std::this_thread::sleep_for(std::chrono::milliseconds(kFreezeMs));
  asm volatile("");  // the call is no jump, which would leave no frame
}

void WaitByPoll() {
  poll(nullptr, 0, kFreezeMs);
  asm volatile("");  // no jump
}

constexpr Scene kScenes[] = {
    {"compute", "cpu", "ComputeChecksum", Other::kNone, ComputeChecksum},
    {"sort", "cpu", "SortRows", Other::kNone, SortRows},
    {"regex", "cpu", "MatchPattern", Other::kNone, MatchPattern},
    {"memcpy", "cpu", "CopyPicture", Other::kNone, CopyPicture},
    {"zlib", "cpu", "ShrinkDocument", Other::kNone, ShrinkDocument},
    {"syscalls", "cpu", "AskKernel", Other::kNone, AskKernel},
    {"sleep", "sleep", "WaitABit", Other::kNone, WaitABit},
    {"poll", "sleep", "WaitByPoll", Other::kNone, WaitByPoll},
};

}  // namespace

std::span<const Scene> OwnWork() { return kScenes; }

}  // namespace scenes
