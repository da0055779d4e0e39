// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/instrument/flow_workers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/trace/instrument/patched_flow.h"

namespace lagwatch::trace {
namespace {

bool UseCLibrary(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%" PRIu64, number);
  const std::string copy = std::string(200, 'x') + text;
  int numbers[] = {5, 3, 9, 1};
  std::qsort(numbers, 4, sizeof numbers[0], [](const void* a, const void* b) {
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  return std::strtoull(copy.c_str() + 200, nullptr, 10) == number && numbers[0] == 1 && numbers[3] == 9;
}

bool Fork(const PatchedFlow& flow) {
  const pid_t child = fork();
  if (child == 0) _exit(flow.catch_from(3) == 4 && flow.recurse(5) == 5 && UseCLibrary(1) ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

bool Cancel() {
  pthread_t thread{};
  const auto sleep = [](void*) -> void* {
    const volatile bool is_done = false;
    PlainFlow().sleep_in(3, &is_done);
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, sleep, nullptr) != 0) return false;
  pthread_cancel(thread);
  void* result = nullptr;
  return pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED;
}

bool EndThread(const PatchedFlow& flow) {
  int destructors = 0;
  std::thread([&] { flow.end_thread_from(5, &destructors); }).join();
  return destructors == 6;
}

uint64_t DifferingBytes(uint64_t begin, uint64_t end, uint64_t offset, const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;  // the vdso
  std::vector<unsigned char> bytes(end - begin);
  const ssize_t got = pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  close(file);
  uint64_t count = 0;
  for (ssize_t i = 0; i < got; ++i)
    count += bytes[static_cast<size_t>(i)] != reinterpret_cast<const unsigned char*>(begin)[i] ? 1 : 0;
  return count;
}

}  // namespace

FlowWorkers::FlowWorkers(const char* library, int count) : library_(library) {
  for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { Work(i); });
}

void FlowWorkers::Stop() {
  is_over_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void FlowWorkers::Work(int index) {
  const PatchedFlow& flow = PlainFlow();
  for (uint64_t i = 0; !is_over_; ++i) {
    Check(flow.catch_from(static_cast<int>(i % 9)) == static_cast<int>(i % 9) + 1);
    Check(flow.jump_from(static_cast<int>(i % 9)) == 1);
    Check(flow.recurse(50) == 50);
    Check(flow.pass_all());
    Check(flow.tail(20, 0) == 80);
    Check(UseCLibrary(i));
    if (index == 0) Check(flow.switch_stacks(10) == 10);
    if (index == 1 && i % 4 == 0) Check(Fork(flow));
    if (index == 2 && i % 4 == 0) Check(Load());
    if (index == 3 && i % 4 == 0) Check(Cancel());
    if (index == 4 && i % 4 == 0) Check(EndThread(flow));
  }
}

void FlowWorkers::Check(bool is_right) {
  ++operations_;
  wrong_ += is_right ? 0 : 1;
}

bool FlowWorkers::Load() const {
  if (library_ == nullptr) return true;
  void* loaded = dlopen(library_, RTLD_NOW);
  if (loaded == nullptr) return false;
  const auto flow =
      reinterpret_cast<const PatchedFlow& (*)()>(dlsym(loaded, "_ZN8lagwatch5trace16FirstPatchedFlowEv"));
  const bool is_right = flow == nullptr || (flow().leaf(1) == 2 && flow().catch_from(3) == 4);
  dlclose(loaded);
  return is_right;
}

uint64_t DifferingCodeBytes() {
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return UINT64_MAX;
  uint64_t count = 0;
  char line[4096];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    char path[4096] = "";
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64 " %*s %*s %4095[^\n]", &begin, &end,
                    &offset, path) == 4 &&
        path[0] == '/')
      count += DifferingBytes(begin, end, offset, path);
  }
  std::fclose(maps);
  return count;
}

}  // namespace lagwatch::trace
