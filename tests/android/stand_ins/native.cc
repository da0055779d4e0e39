// SPDX-License-Identifier: Apache-2.0
// The native methods of the stand-ins: the message queue waits in AOSP's Looper.
#include <jni.h>
#include <unistd.h>
#include <utils/Looper.h>

#include <cstdint>

namespace {

using android::Looper;
using android::sp;

// A queue's Looper, and the queue while its thread waits.
struct NativeQueue {
  sp<Looper> looper;
  JNIEnv* env;
  jobject queue;
};

NativeQueue* QueueOf(jlong queue) { return reinterpret_cast<NativeQueue*>(queue); }

int OnFdEvent(int fd, int, void* data) {
  auto* queue = static_cast<NativeQueue*>(data);
  jmethodID dispatch =
      queue->env->GetMethodID(queue->env->GetObjectClass(queue->queue), "dispatchEvents", "(I)V");
  queue->env->CallVoidMethod(queue->queue, dispatch, static_cast<jint>(fd));
  return 1;
}

}  // namespace

extern "C" {

JNIEXPORT jlong JNICALL Java_android_os_MessageQueue_nativeInit(JNIEnv*, jclass) {
  return reinterpret_cast<jlong>(new NativeQueue{Looper::prepare(0), nullptr, nullptr});
}

JNIEXPORT void JNICALL Java_android_os_MessageQueue_nativePollOnce(JNIEnv* env, jobject self, jlong handle,
                                                                   jint timeout_ms) {
  NativeQueue* queue = QueueOf(handle);
  queue->env = env;
  queue->queue = self;
  queue->looper->pollOnce(timeout_ms);
}

JNIEXPORT void JNICALL Java_android_os_MessageQueue_nativeWake(JNIEnv*, jclass, jlong handle) {
  QueueOf(handle)->looper->wake();
}

JNIEXPORT void JNICALL Java_android_os_MessageQueue_nativeAddFd(JNIEnv*, jclass, jlong handle, jint fd) {
  QueueOf(handle)->looper->addFd(fd, 0, Looper::EVENT_INPUT, OnFdEvent, QueueOf(handle));
}

JNIEXPORT jint JNICALL Java_android_os_Process_myPid(JNIEnv*, jclass) { return getpid(); }

// A pipe's ends: its first byte is there at once.
JNIEXPORT jint JNICALL Java_org_lagwatch_host_Freezes_readyPipe(JNIEnv*, jclass) {
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1) return -1;
  return ends[0];
}

JNIEXPORT void JNICALL Java_org_lagwatch_host_Freezes_readPipe(JNIEnv*, jclass, jint fd) {
  char byte;
  if (read(fd, &byte, 1) != 1) return;
}

JNIEXPORT __attribute__((noinline)) void JNICALL Java_org_lagwatch_host_Freezes_blockInNativeCode(JNIEnv*,
                                                                                                  jclass,
                                                                                                  jint ms) {
  usleep(static_cast<useconds_t>(ms) * 1000);
  asm volatile("");  // no tail call
}

}  // extern "C"
