// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/loop_threads.h"

#include <lagwatch/c.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <string_view>
#include <utility>

#include "sdk/jvm/loop_dispatch.h"

namespace lagwatch::sdk::jvm {
namespace {

// The methods of AWT that a wait is recognized by. Written before the first event thread is watched.
struct AwtMethods {
  jmethodID next_event = nullptr;
  jmethodID next_event_of_kind = nullptr;
  jmethodID dispatch_event = nullptr;
  jmethodID pump = nullptr;

  bool is_next_event(jmethodID method) const {
    return method != nullptr && (method == next_event || method == next_event_of_kind);
  }
};

using ParkFunction = void(JNICALL*)(JNIEnv*, jobject, jboolean, jlong);
using AccessFunction = jobject(JNICALL*)(JNIEnv*, jclass);

jvmtiEnv* g_jvmti = nullptr;
AwtMethods g_awt;
std::atomic<ParkFunction> g_park{nullptr};
std::atomic<AccessFunction> g_access{nullptr};
std::atomic<bool> g_has_epoll_wait{false};
std::atomic<bool> g_has_older_threads{false};  // that began before the agent was loaded

constexpr char kEventTag[] = "AWT event";
constexpr std::string_view kEventThread = "AWT-EventQueue-";

thread_local LoopDispatch t_dispatch __attribute__((tls_model("initial-exec")));
thread_local bool t_is_recognized __attribute__((tls_model("initial-exec"))) = false;

// The innermost Java methods of the calling thread.
class Callers {
 public:
  explicit Callers(jint wanted) {
    if (g_jvmti->GetStackTrace(nullptr, 0, std::min<jint>(wanted, kMost), frames_.data(), &count_) !=
        JVMTI_ERROR_NONE)
      count_ = 0;
  }
  std::span<const jvmtiFrameInfo> view() const { return {frames_.data(), static_cast<size_t>(count_)}; }

 private:
  static constexpr jint kMost = 16;
  std::array<jvmtiFrameInfo, kMost> frames_;
  jint count_ = 0;
};

// Whether the calling thread waits in getNextEvent(), and not in a handler.
bool IsInNextEvent() {
  constexpr jint kDeepest = 12;  // park, LockSupport, the condition's own helpers, getNextEvent
  return std::ranges::any_of(Callers(kDeepest).view(),
                             [](const jvmtiFrameInfo& frame) { return g_awt.is_next_event(frame.method); });
}

// Whether the calling thread is about to dispatch an event that its pump took, and not one within a handler.
bool IsAtDispatch() {
  const Callers callers(8);
  const auto frames = callers.view();
  constexpr size_t kDispatch = 2;  // getStackAccessControlContext, getContext, dispatchEvent
  if (frames.size() <= kDispatch || frames[kDispatch].method != g_awt.dispatch_event) return false;
  return std::ranges::any_of(frames.subspan(kDispatch + 1),
                             [](const jvmtiFrameInfo& frame) { return frame.method == g_awt.pump; });
}

// Finds AWT's methods, on its first event thread.
bool FindAwt(JNIEnv* jni) {
  if (g_awt.next_event != nullptr) return true;
  AwtMethods awt;
  const jclass queue = jni->FindClass("java/awt/EventQueue");
  const jclass pump = queue == nullptr ? nullptr : jni->FindClass("java/awt/EventDispatchThread");
  if (pump != nullptr) {
    awt.dispatch_event = jni->GetMethodID(queue, "dispatchEvent", "(Ljava/awt/AWTEvent;)V");
    if (jni->ExceptionCheck() == JNI_FALSE)
      awt.pump = jni->GetMethodID(pump, "pumpOneEventForFilters", "(I)V");
    if (jni->ExceptionCheck() == JNI_FALSE)
      awt.next_event_of_kind = jni->GetMethodID(queue, "getNextEvent", "(I)Ljava/awt/AWTEvent;");
    if (jni->ExceptionCheck() == JNI_FALSE)
      awt.next_event = jni->GetMethodID(queue, "getNextEvent", "()Ljava/awt/AWTEvent;");
  }
  jni->ExceptionClear();
  if (awt.next_event == nullptr) return false;
  g_awt = awt;
  return true;
}

// `use` gets the name of an event thread of AWT, and is not called for others. `thread` is null for the
// calling one.
template <typename Use>
void IfEventThread(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread, Use use) {
  jvmtiThreadInfo info{};
  if (jvmti->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return;
  if (info.name != nullptr && std::string_view(info.name).starts_with(kEventThread)) use(info.name);
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.name));
  jni->DeleteLocalRef(info.thread_group);
  jni->DeleteLocalRef(info.context_class_loader);
}

// Watches the calling thread's loop if it is one of AWT's event threads.
void Recognize(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread) {
  t_is_recognized = true;
  IfEventThread(jvmti, jni, thread, [&](const char* name) {
    if (FindAwt(jni)) t_dispatch.loop = lw_watch_loop(name);
  });
}

void JNICALL Park(JNIEnv* jni, jobject unsafe, jboolean is_absolute, jlong time) {
  const ParkFunction park = g_park.load(std::memory_order_relaxed);
  if (park == nullptr) return;  // for the moment in which the agent is loaded into a JVM that runs
  LoopDispatch& dispatch = t_dispatch;
  if (g_has_older_threads.load(std::memory_order_relaxed) && !t_is_recognized)
    Recognize(g_jvmti, jni, nullptr);
  if (dispatch.loop == nullptr || !IsInNextEvent()) return park(jni, unsafe, is_absolute, time);
  dispatch.End();
  park(jni, unsafe, is_absolute, time);
  dispatch.Begin(kEventTag);
}

// Called by AWT's dispatchEvent() for each event, until JDK 23.
jobject JNICALL StackAccessControlContext(JNIEnv* jni, jclass type) {
  LoopDispatch& dispatch = t_dispatch;
  if (dispatch.loop != nullptr && IsAtDispatch()) {
    dispatch.End();
    dispatch.Begin(kEventTag);
  }
  return g_access.load(std::memory_order_relaxed)(jni, type);  // set before this function is called
}

struct BoundMethod {
  std::string_view type;
  std::string_view name;
};

// Whether `method` is one of those; texts of JVMTI must be given back.
bool IsMethod(jvmtiEnv* jvmti, jmethodID method, const BoundMethod& wanted) {
  char* name = nullptr;
  if (jvmti->GetMethodName(method, &name, nullptr, nullptr) != JVMTI_ERROR_NONE) return false;
  bool is_wanted = name == wanted.name;
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  if (!is_wanted) return false;
  jclass type = nullptr;
  char* signature = nullptr;
  is_wanted = jvmti->GetMethodDeclaringClass(method, &type) == JVMTI_ERROR_NONE &&
              jvmti->GetClassSignature(type, &signature, nullptr) == JVMTI_ERROR_NONE &&
              signature == wanted.type;
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return is_wanted;
}

}  // namespace

void WatchLoopThreads(jvmtiEnv* jvmti, bool has_threads) {
  g_jvmti = jvmti;
  g_has_older_threads.store(has_threads);
}

void WakeEventThreads(JNIEnv* jni) {
  const jclass support = jni->FindClass("java/util/concurrent/locks/LockSupport");
  const jmethodID unpark =
      support == nullptr ? nullptr : jni->GetStaticMethodID(support, "unpark", "(Ljava/lang/Thread;)V");
  jint count = 0;
  jthread* threads = nullptr;
  if (unpark != nullptr && g_jvmti->GetAllThreads(&count, &threads) == JVMTI_ERROR_NONE) {
    for (const jthread thread : std::span(threads, static_cast<size_t>(count))) {
      IfEventThread(g_jvmti, jni, thread,
                    [&](const char*) { jni->CallStaticVoidMethod(support, unpark, thread); });
      jni->DeleteLocalRef(thread);
    }
    g_jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
  }
  jni->ExceptionClear();
}

void* TakeMethod(TakenMethod method, void* own) {
  switch (method) {
    case TakenMethod::kPark:
      g_park.store(reinterpret_cast<ParkFunction>(own));
      return reinterpret_cast<void*>(&Park);
    case TakenMethod::kAccess:
      g_access.store(reinterpret_cast<AccessFunction>(own));
      return reinterpret_cast<void*>(&StackAccessControlContext);
    case TakenMethod::kEpollWait:
      g_has_epoll_wait.store(true);
      return reinterpret_cast<void*>(TakeEpollWait(g_jvmti, reinterpret_cast<EpollWaitFunction>(own)));
  }
  return own;
}

bool IsTaken(TakenMethod method) {
  switch (method) {
    case TakenMethod::kPark:
      return g_park.load() != nullptr;
    case TakenMethod::kAccess:
      return g_access.load() != nullptr;
    case TakenMethod::kEpollWait:
      return g_has_epoll_wait.load();
  }
  return false;
}

void JNICALL OnNativeMethodBind(jvmtiEnv* jvmti, JNIEnv*, jthread, jmethodID method, void* address,
                                void** new_address) {
  if (address == reinterpret_cast<void*>(&Park)) return;  // the agent binds it
  for (const auto& [taken, bound] :
       {std::pair<TakenMethod, BoundMethod>{TakenMethod::kPark, {"Ljdk/internal/misc/Unsafe;", "park"}},
        {TakenMethod::kAccess, {"Ljava/security/AccessController;", "getStackAccessControlContext"}},
        {TakenMethod::kEpollWait, {"Lsun/nio/ch/EPoll;", "wait"}}}) {
    if (IsTaken(taken) || !IsMethod(jvmti, method, bound)) continue;
    *new_address = TakeMethod(taken, address);
    return;
  }
}

void JNICALL OnThreadStart(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread) { Recognize(jvmti, jni, thread); }

void JNICALL OnThreadEnd(jvmtiEnv*, JNIEnv*, jthread) {
  if (t_dispatch.loop != nullptr) t_dispatch.Leave();
  LeaveSelectorLoop();
}

}  // namespace lagwatch::sdk::jvm
