// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/java_frames.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <string>

#include "probe/limits.h"
#include "sdk/jvm/probes/tool_text.h"

namespace lagwatch::sdk::jvm {
namespace {

// Above the addresses of all processes.
constexpr uint64_t kJavaFrame = uint64_t{1} << 63;
constexpr size_t kMostMethods = 1 << 16;
constexpr size_t kMostPlaces = 32;
// Numbers of frames that are no method's.
constexpr uint32_t kNoCaller = 0;
constexpr uint32_t kOtherMethod = 1;
constexpr uint32_t kFirstMethod = 2;
constexpr uint64_t kFirst = 1;  // callers' places in g_order begin with it

// Methods by their ids, each at a place that follows from the id. They are never taken out: the JVM keeps the
// ids of unloaded ones, too. Thread safety: all threads that hit probes, and the reader. Invariants: a cell
// is written once, and then added to g_order by the thread that wrote it.
constinit std::atomic<jmethodID> g_frame_methods[kMostMethods];
constinit std::atomic<uint32_t> g_order[kMostMethods];  // their frames' numbers
constinit std::atomic<uint32_t> g_methods{0};           // in g_order
static_assert(std::atomic<jmethodID>::is_always_lock_free);
jvmtiEnv* g_stack_tools = nullptr;  // set before the first hit

uint64_t FrameOf(jmethodID id) {
  const auto bits = reinterpret_cast<uintptr_t>(id);
  const size_t first = (bits >> 3) * 0x9e3779b97f4a7c15 >> 48;
  static_assert(kMostMethods == 1 << 16);
  for (size_t look = 0; look < kMostPlaces; ++look) {
    const size_t place = (first + look) % kMostMethods;
    const auto number = static_cast<uint32_t>(place + kFirstMethod);
    jmethodID known =
        g_frame_methods[place].load(std::memory_order_relaxed);  // an id is all that the cell says
    if (known == id) return kJavaFrame | number;
    if (known != nullptr) continue;
    if (g_frame_methods[place].compare_exchange_strong(known, id)) {
      g_order[g_methods.fetch_add(1)].store(number, std::memory_order_release);  // after its cell
      return kJavaFrame | number;
    }
    if (known == id) return kJavaFrame | number;
  }
  return kJavaFrame | kOtherMethod;
}

// The frames from `depth` on; 0 is the native method's.
size_t FramesFrom(jint depth, uint64_t* frames, size_t most) {
  jvmtiFrameInfo infos[probe::kMaxStackFrames];
  jint count = 0;
  const auto wanted = static_cast<jint>(std::min(most, std::size(infos)));
  // It is an error if the stack is not so deep.
  if (g_stack_tools->GetStackTrace(nullptr, depth, wanted, infos, &count) != JVMTI_ERROR_NONE) return 0;
  for (jint i = 0; i < count; ++i) frames[i] = FrameOf(infos[i].method);
  return static_cast<size_t>(count);
}

constexpr jint kOfFunction = 1;
constexpr jint kOfCaller = 2;

// "com.shop.Cart::add"
std::string NameOfMethod(jvmtiEnv* tools, JNIEnv* jni, jmethodID id) {
  jclass type = nullptr;
  char* method = nullptr;
  char* signature = nullptr;
  if (tools->GetMethodDeclaringClass(id, &type) != JVMTI_ERROR_NONE) return "(a method of an unloaded class)";
  const bool is_known = tools->GetMethodName(id, &method, nullptr, nullptr) == JVMTI_ERROR_NONE &&
                        tools->GetClassSignature(type, &signature, nullptr) == JVMTI_ERROR_NONE;
  jni->DeleteLocalRef(type);
  const std::string name = TakeToolText(tools, method);
  std::string of_class = TakeToolText(tools, signature);
  if (!is_known || of_class.size() < 2) return "(a method of an unloaded class)";
  of_class = of_class.substr(1, of_class.size() - 2);
  std::ranges::replace(of_class, '/', '.');
  return of_class + "::" + name;
}

}  // namespace

void JavaStack::Prepare(jvmtiEnv* tools) { g_stack_tools = tools; }

uint64_t JavaStack::Function() {
  uint64_t frame = 0;
  return FramesFrom(kOfFunction, &frame, 1) == 0 ? kJavaFrame | kNoCaller : frame;
}

uint64_t JavaStack::Caller() {
  uint64_t frame = 0;
  return FramesFrom(kOfCaller, &frame, 1) == 0 ? kJavaFrame | kNoCaller : frame;
}

size_t JavaStack::Capture(const probe::Hit&, uint64_t* frames, size_t most) {
  return FramesFrom(kOfCaller, frames, most);
}

std::vector<NamedFrame> NamesOfJavaFrames(jvmtiEnv* tools, JNIEnv* jni, uint64_t* next) {
  std::vector<NamedFrame> names;
  if (*next == 0) {
    names.push_back({.address = kJavaFrame | kNoCaller, .name = "(the JVM)"});
    names.push_back({.address = kJavaFrame | kOtherMethod, .name = "(another method)"});
    *next = kFirst;
  }
  const uint64_t end = kFirst + g_methods.load();
  for (; *next < end; ++*next) {
    const uint32_t number = g_order[*next - kFirst].load(std::memory_order_acquire);  // pairs with its store
    if (number == 0) break;                                                           // it is being added
    const jmethodID id =
        g_frame_methods[number - kFirstMethod].load(std::memory_order_relaxed);  // written before
    names.push_back({.address = kJavaFrame | number, .name = NameOfMethod(tools, jni, id)});
  }
  return names;
}

bool HasJavaFramesBehind(uint64_t next) { return next < kFirst + g_methods.load(); }

}  // namespace lagwatch::sdk::jvm
