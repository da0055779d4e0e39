// SPDX-License-Identifier: Apache-2.0
// A program whose watched main thread freezes on a lock of the C library or of the loader, which another
// thread holds until a byte arrives on standard input. Says "held" when that is so, and "through" when it is
// over.
//
//   lock_holder SPOOL malloc|dlopen|stdio|fork-first|fork-last|fork-parent|fork-other [PLUGIN]
#include <dlfcn.h>
#include <lagwatch/lagwatch.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <thread>

namespace {

std::atomic<bool> is_held{false};

void Say(std::string_view text) {
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

// For a thread that has just taken a lock. Takes none itself.
void HoldUntilReleased() {
  Say("held\n");
  is_held = true;
  char byte;
  if (read(STDIN_FILENO, &byte, 1) < 0) _exit(3);
}

void AwaitHeld() {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (!is_held.load()) nanosleep(&kPause, nullptr);
}

// A stream that holds at its first byte.
FILE* OpenHoldingStream() {
  cookie_io_functions_t functions{};
  functions.write = [](void*, const char*, size_t size_bytes) {
    if (!is_held.load()) HoldUntilReleased();
    return static_cast<ssize_t>(size_bytes);
  };
  return fopencookie(nullptr, "w", functions);
}

// An arena's lock is held while its figures are printed. There is only one arena (MALLOC_ARENA_MAX).
void HoldArena() {
  FILE* usual = stderr;
  stderr = OpenHoldingStream();
  setvbuf(stderr, nullptr, _IONBF, 0);
  malloc_stats();
  std::swap(stderr, usual);
  fclose(usual);
}
void WaitForArena() {
  AwaitHeld();
  void* volatile memory = malloc(100'000);  // more than a thread's own cache has
  free(memory);
}

// The loader's lock is held while a library's constructors run.
void HoldLoader(const char* plugin) {
  if (dlopen(plugin, RTLD_NOW) == nullptr) _exit(4);
}
void WaitForLoader() {
  AwaitHeld();
  dlclose(dlopen(nullptr, RTLD_NOW));
}

// The streams' own locks, and the one of the list of all streams.
void HoldStdio() {
  FILE* stream = OpenHoldingStream();
  flockfile(stdout);
  flockfile(stderr);
  putc('x', stream);
  fflush(nullptr);
  funlockfile(stderr);
  funlockfile(stdout);
  fclose(stream);
}
void WaitForStdio() {
  AwaitHeld();
  std::fputs("", stdout);
  std::putchar('\n');
  fflush(nullptr);
}

std::atomic<bool> is_fork_armed{false};

void HoldInFork() {
  if (is_fork_armed.exchange(false)) HoldUntilReleased();
}
void Fork() {
  pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) _exit(5);
}
void ForkAndHold() {
  is_fork_armed = true;
  Fork();
}
void WaitForFork() {
  AwaitHeld();
  Fork();
}

struct Case {
  void (*hold)();
  void (*freeze)();
};

const std::map<std::string_view, Case> kCases = {
    {"malloc", {HoldArena, WaitForArena}},     {"dlopen", {nullptr, WaitForLoader}},
    {"stdio", {HoldStdio, WaitForStdio}},      {"fork-first", {nullptr, ForkAndHold}},
    {"fork-last", {nullptr, ForkAndHold}},     {"fork-parent", {nullptr, ForkAndHold}},
    {"fork-other", {ForkAndHold, WaitForFork}}};

}  // namespace

// Called by the plugin's constructor.
extern "C" [[gnu::visibility("default")]] void OnPluginLoaded() { HoldUntilReleased(); }

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view name = argv[2];
  const Case& chosen = kCases.at(name);
  // Handlers of a fork's beginning run in the reverse order of their registration, others in that order.
  if (name == "fork-last" || name == "fork-other") pthread_atfork(HoldInFork, nullptr, nullptr);
  if (name == "fork-parent") pthread_atfork(nullptr, HoldInFork, nullptr);
  const char* seal_key = std::getenv("LOCK_HOLDER_SEAL_KEY");  // with one, sealed
  auto monitor = lagwatch::Monitor::Start({.app = "lock_holder",
                                           .app_version = "1",
                                           .spool_directory = argv[1],
                                           .threshold_ms = 100,
                                           .detection = {.check_period_ms = 100, .sample_interval_ms = 10},
                                           .privacy = {.seal_key = seal_key == nullptr ? "" : seal_key}});
  if (!monitor.is_on()) return 1;
  if (name == "fork-first") pthread_atfork(HoldInFork, nullptr, nullptr);
  auto loop = monitor.WatchLoop("main");
  std::thread holder([&] {
    if (chosen.hold != nullptr) chosen.hold();
    if (argc > 3) HoldLoader(argv[3]);
  });
  {
    lagwatch::ScopedDispatch dispatch(loop, argv[2]);
    chosen.freeze();
    Say("through\n");
  }
  holder.join();
  monitor.Stop();
  return monitor.stats().reports_written == 0 ? 6 : 0;
}
