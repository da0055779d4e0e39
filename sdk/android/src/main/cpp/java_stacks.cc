// SPDX-License-Identifier: Apache-2.0
#include "sdk/android/src/main/cpp/java_stacks.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace lagwatch::android {
namespace {

// The longest answer; its last frames are left out otherwise.
constexpr jsize kMaxTextBytes = 64 << 10;

JavaVM* g_vm = nullptr;
jclass g_class = nullptr;
jmethodID g_read = nullptr;
pthread_key_t g_detach_key;
// Used by lagwatch's one thread that reads stacks.
char g_text[kMaxTextBytes + 1];

// A VM ends a process whose thread ends attached.
void Detach(void*) { g_vm->DetachCurrentThread(); }

// lagwatch's thread blocks every signal. Run times use the synchronous ones for null checks and safepoints,
// and the kernel ends a process in which one of these is blocked.
void UnblockFaults() {
  sigset_t faults;
  sigemptyset(&faults);
  for (int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigaddset(&faults, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

// Android declares the first parameter as JNIEnv**, OpenJDK as void**.
template <typename Env>
jint CallAttach(jint (JavaVM::*attach)(Env**, void*), JNIEnv** env, void* arguments) {
  return (g_vm->*attach)(reinterpret_cast<Env**>(env), arguments);
}

JNIEnv* AttachOnce() {
  thread_local JNIEnv* env = nullptr;
  if (env != nullptr) return env;
  UnblockFaults();
  JavaVMAttachArgs arguments{JNI_VERSION_1_6, const_cast<char*>("lagwatch-stack"), nullptr};
  if (CallAttach(&JavaVM::AttachCurrentThreadAsDaemon, &env, &arguments) != JNI_OK) return nullptr;
  pthread_setspecific(g_detach_key, g_vm);
  return env;
}

// Ends the field at `*text`, and moves `*text` behind its separator.
char* TakeField(char** text, char separator) {
  char* field = *text;
  char* end = std::strchr(field, separator);
  if (end == nullptr) return nullptr;
  *end = '\0';
  *text = end + 1;
  return field;
}

size_t ParseFrames(char* text, lw_script_frame* frames, size_t capacity) {
  size_t count = 0;
  for (; count < capacity; ++count) {
    const char* function = TakeField(&text, '\t');
    const char* file = function == nullptr ? nullptr : TakeField(&text, '\t');
    const char* line = file == nullptr ? nullptr : TakeField(&text, '\n');
    if (line == nullptr) break;
    frames[count] = {function, file, static_cast<uint32_t>(std::strtoul(line, nullptr, 10))};
  }
  return count;
}

}  // namespace

bool PrepareJavaStacks(JavaVM* vm, JNIEnv* env) {
  jclass found = env->FindClass("org/lagwatch/JavaStacks");
  if (found == nullptr) return false;
  g_read = env->GetStaticMethodID(found, "read", "(II)[B");
  if (g_read == nullptr || pthread_key_create(&g_detach_key, Detach) != 0) return false;
  g_class = static_cast<jclass>(env->NewGlobalRef(found));
  g_vm = vm;
  return g_class != nullptr;
}

size_t ReadJavaStack(void*, int32_t tid, lw_script_frame* frames, size_t capacity) {
  JNIEnv* env = AttachOnce();
  if (env == nullptr) return 0;
  auto text = static_cast<jbyteArray>(
      env->CallStaticObjectMethod(g_class, g_read, static_cast<jint>(tid), static_cast<jint>(capacity)));
  if (env->ExceptionCheck()) env->ExceptionClear();
  if (text == nullptr) return 0;
  const jsize size = std::min(env->GetArrayLength(text), kMaxTextBytes);
  env->GetByteArrayRegion(text, 0, size, reinterpret_cast<jbyte*>(g_text));
  env->DeleteLocalRef(text);
  g_text[size] = '\0';
  return ParseFrames(g_text, frames, capacity);
}

}  // namespace lagwatch::android
