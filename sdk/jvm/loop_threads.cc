// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/loop_threads.h"

#include <lagwatch/c.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <string_view>

#include "sdk/jvm/loop_dispatch.h"
#include "sdk/jvm/selector_loops.h"

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

constexpr char kEventTag[] = "AWT event";

thread_local LoopDispatch t_dispatch __attribute__((tls_model("initial-exec")));

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

void JNICALL Park(JNIEnv* jni, jobject unsafe, jboolean is_absolute, jlong time) {
  const ParkFunction park = g_park.load(std::memory_order_relaxed);  // set before this function is called
  LoopDispatch& dispatch = t_dispatch;
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

void WatchLoopThreads(jvmtiEnv* jvmti) { g_jvmti = jvmti; }

void JNICALL OnNativeMethodBind(jvmtiEnv* jvmti, JNIEnv*, jthread, jmethodID method, void* address,
                                void** new_address) {
  if (g_park.load() == nullptr && IsMethod(jvmti, method, {"Ljdk/internal/misc/Unsafe;", "park"})) {
    g_park.store(reinterpret_cast<ParkFunction>(address));
    *new_address = reinterpret_cast<void*>(&Park);
  } else if (g_access.load() == nullptr &&
             IsMethod(jvmti, method, {"Ljava/security/AccessController;", "getStackAccessControlContext"})) {
    g_access.store(reinterpret_cast<AccessFunction>(address));
    *new_address = reinterpret_cast<void*>(&StackAccessControlContext);
  } else if (!g_has_epoll_wait.load() && IsMethod(jvmti, method, {"Lsun/nio/ch/EPoll;", "wait"})) {
    g_has_epoll_wait.store(true);
    *new_address =
        reinterpret_cast<void*>(TakeEpollWait(jvmti, reinterpret_cast<EpollWaitFunction>(address)));
  }
}

void JNICALL OnThreadStart(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread) {
  constexpr std::string_view kEventThread = "AWT-EventQueue-";
  jvmtiThreadInfo info{};
  if (jvmti->GetThreadInfo(thread, &info) != JVMTI_ERROR_NONE) return;
  if (info.name != nullptr && std::string_view(info.name).starts_with(kEventThread) && FindAwt(jni))
    t_dispatch.loop = lw_watch_loop(info.name);
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.name));
  jni->DeleteLocalRef(info.thread_group);
  jni->DeleteLocalRef(info.context_class_loader);
}

void JNICALL OnThreadEnd(jvmtiEnv*, JNIEnv*, jthread) {
  if (t_dispatch.loop != nullptr) t_dispatch.Leave();
  LeaveSelectorLoop();
}

}  // namespace lagwatch::sdk::jvm
