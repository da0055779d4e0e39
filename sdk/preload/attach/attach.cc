// SPDX-License-Identifier: Apache-2.0
// The entry points for `lagwatch attach`, `lagwatch detach`, `lagwatch trace record --pid` and `lagwatch probe`,
// which call them on a thread of their own in a process that runs already.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "base/clock.h"
#include "base/process/quiet_thread.h"
#include "base/process/run_guarded.h"
#include "base/process/sleeper.h"
#include "sdk/preload/environment/preload_config.h"
#include "sdk/preload/library_start.h"
#include "sdk/preload/watch/trace_recording.h"
#include "sdk/probe/process_probes.h"
#include "trace/hooks/hook_recorder.h"
#include "trace/hooks/import_patches.h"

namespace lagwatch::sdk {
namespace {

// The functions of preload.map, up to the ones that are not redirected.
constexpr const char* kRedirected[] = {
#include "sdk/preload/attach/redirected_functions.inc"
};

// This library's functions in place of the C library's, where a preloaded library is found by the order of
// symbols.
trace::ImportPatches RedirectedImports() {
  trace::ImportPatches patches;
  Dl_info info;
  link_map* own = nullptr;
  if (dladdr1(kRedirected, &info, reinterpret_cast<void**>(&own), RTLD_DL_LINKMAP) == 0 || own == nullptr)
    return patches;
  for (const char* name : kRedirected) {
    // The C library's handle of a module is its link map. A name in this library itself could mean the C
    // library's function, because this library is not in the global scope.
    const auto ours = reinterpret_cast<uint64_t>(dlsym(own, name));
    const auto real = reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, name));
    if (ours != 0 && real != 0 && ours != real) patches.Add(name, ours, real);
  }
  return patches;
}

// Keeps the import tables patched. It has its own descriptors, because it reads files under /proc.
class Patcher {
 public:
  base::Status Start() {
    constexpr size_t kStackBytes = 256 * 1024;
    constexpr int64_t kInstallNs = 5 * base::kNsPerSecond;
    base::Status status = thread_.Start("lagwatch-attach", kStackBytes, &Run, this);
    if (status.ok()) started_.SleepUntil(base::SystemClock().MonoNs() + kInstallNs);
    return status;
  }
  // False if the thread is stuck: then this object must be leaked.
  [[nodiscard]] bool TryStop() {
    constexpr int64_t kRemoveNs = 5 * base::kNsPerSecond;
    is_ending_.store(true);
    sleeper_.Wake();
    return thread_.TryJoin(kRemoveNs);
  }
  uint64_t slots() const { return slots_.load(); }
  pid_t pid() const { return pid_; }

 private:
  static void Run(void* self) {
    base::RunGuarded([](void* patcher) { static_cast<Patcher*>(patcher)->Patch(); }, self);
  }

  void Patch() {
    trace::ImportPatches patches = RedirectedImports();
    do {
      patches.Install();
      slots_.store(patches.slots());
      started_.Wake();
      sleeper_.SleepUntil(base::SystemClock().MonoNs() + base::kNsPerSecond);
    } while (!is_ending_.load());
    patches.Remove();
  }

  base::QuietThread thread_;
  base::Sleeper started_;
  base::Sleeper sleeper_;
  std::atomic<bool> is_ending_{false};
  std::atomic<uint64_t> slots_{0};
  pid_t pid_ = getpid();
};

// The patcher of the process that was attached to. A forked child has the patched tables, and no thread that
// patches.
Patcher* g_patcher = nullptr;
constinit std::mutex g_attach_mutex;

std::string StopPatching() {
  if (g_patcher == nullptr) return "it is not attached";
  const bool is_own = g_patcher->pid() == getpid();
  if (is_own && !g_patcher->TryStop()) return "its import tables are in use: try again";
  if (is_own) delete g_patcher;
  g_patcher = nullptr;
  return {};
}

std::string Attach(const char* config_text) {
  if (g_patcher != nullptr && g_patcher->pid() == getpid())
    return "it is watched already: `lagwatch detach` ends that";
  // Its import tables lead to the recorder.
  if (IsTraceRecorded()) return "it is being recorded by `lagwatch trace record`: attach when that has ended";
  if (std::string why = BeginAttached(PreloadConfig::Parse(config_text)); !why.empty()) return why;
  auto patcher = std::make_unique<Patcher>();
  const base::Status status = patcher->Start();
  if (!status.ok() || patcher->slots() == 0) {
    EndAttached();
    const bool is_stopped = !status.ok() || patcher->TryStop();
    if (!is_stopped) static_cast<void>(patcher.release());
    return status.ok()
               ? "none of its modules imports a wait function (epoll_wait, poll, select) from the C library"
               : status.message();
  }
  g_patcher = patcher.release();
  return {};
}

std::string Detach() {
  std::string why = StopPatching();
  if (why.empty()) EndAttached();
  return why;
}

std::string Record(const char* config_text) {
  trace::LeaveThisThreadOut();
  const PreloadConfig config = PreloadConfig::Parse(config_text);
  if (config.trace_pid != static_cast<uint32_t>(getpid()))
    return "it has another process id in its container: run lagwatch there";
  if (!MayRunAttached(config)) return "a seccomp filter confines it";
  std::string why = "its recorder could not start: it has no memory or no threads left";
  const bool has_run = base::RunWithOwnFiles([&] {
    trace::LeaveThisThreadOut();
    if (IsTraceRecorded()) {
      why = "it is being recorded already";
      return;
    }
    StopTraceRecording();  // one that has ended
    if (StartTraceRecording(config)) why.clear();
  });
  return has_run ? why : "it could not start a thread for it";
}

// "+", or "+TEXT", or "-REASON", for the process that has asked.
void Answer(const std::string& text, char* answer, size_t answer_bytes) {
  const size_t size = std::min(text.size(), answer_bytes - 2);
  std::memcpy(answer + 1, text.data() + 1, size - 1);
  answer[size] = '\0';
  std::atomic_thread_fence(std::memory_order_release);
  answer[0] = text[0];
}

std::string AnswerOf(const std::string& why) { return why.empty() ? "+" : "-" + why; }

// Answers with the socket at which consoles are served.
std::string Probe(const char* config_text) {
  trace::LeaveThisThreadOut();
  const PreloadConfig config = PreloadConfig::Parse(config_text);
  if (!MayRunAttached(config)) return "-a seccomp filter confines it";
  const OpenedProbes opened = OpenProbesHere(config.probe_directory);
  return opened.why_not.empty() ? "+" + opened.socket_path : AnswerOf(opened.why_not);
}

template <typename Function>
void AnswerGuarded(const Function& function, char* answer, size_t answer_bytes) {
  pthread_setname_np(pthread_self(), "lagwatch-attach");  // recordings leave threads of this name out
  // A child that is forked meanwhile has no thread that would unlock it.
  static constinit std::atomic<bool> is_renewed{false};
  if (!is_renewed.exchange(true)) pthread_atfork(nullptr, nullptr, [] { new (&g_attach_mutex) std::mutex; });
  try {
    std::lock_guard lock(g_attach_mutex);
    Answer(function(), answer, answer_bytes);
  } catch (...) {
    Answer("-it has no memory left", answer, answer_bytes);
  }
}

}  // namespace
}  // namespace lagwatch::sdk

extern "C" {

using namespace lagwatch::sdk;

__attribute__((visibility("default"))) void lagwatch_attach(const char* config, char* answer,
                                                            size_t answer_bytes) {
  AnswerGuarded([config] { return AnswerOf(Attach(config)); }, answer, answer_bytes);
}

__attribute__((visibility("default"))) void lagwatch_detach(char* answer, size_t answer_bytes) {
  AnswerGuarded([] { return AnswerOf(Detach()); }, answer, answer_bytes);
}

__attribute__((visibility("default"))) void lagwatch_record(const char* config, char* answer,
                                                            size_t answer_bytes) {
  AnswerGuarded([config] { return AnswerOf(Record(config)); }, answer, answer_bytes);
}

__attribute__((visibility("default"))) void lagwatch_probe(const char* config, char* answer,
                                                           size_t answer_bytes) {
  AnswerGuarded([config] { return Probe(config); }, answer, answer_bytes);
}

// Called by the library that the program links: see lw_forbid_probes().
__attribute__((visibility("default"))) void lagwatch_forbid_probes() { ForbidProbes(); }

}  // extern "C"
