// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/jvm_thread.h"

#include <unistd.h>

#include <exception>

namespace lagwatch::sdk::jvm {

bool JvmThread::Start(jvmtiEnv* tools, JNIEnv* jni) {
  const jclass type = jni->FindClass("java/lang/Thread");
  const jmethodID make =
      type == nullptr ? nullptr : jni->GetMethodID(type, "<init>", "(Ljava/lang/String;)V");
  const jstring name = make == nullptr ? nullptr : jni->NewStringUTF("lagwatch-java");
  const jobject thread = name == nullptr ? nullptr : jni->NewObject(type, make, name);
  if (thread == nullptr) jni->ExceptionClear();
  return thread != nullptr &&
         tools->RunAgentThread(thread, &Run, this, JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE;
}

void JvmThread::Do(const std::function<void(JNIEnv*)>& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  changed_.notify_all();
  changed_.wait(lock, [this] { return job_ == nullptr; });
}

bool JvmThread::IsCurrent() const { return tid_.load() == gettid(); }

void JNICALL JvmThread::Run(jvmtiEnv*, JNIEnv* jni, void* self) {
  auto* thread = static_cast<JvmThread*>(self);
  thread->tid_.store(gettid());
  std::unique_lock lock(thread->mutex_);
  while (true) {
    thread->changed_.wait(lock, [thread] { return thread->job_ != nullptr; });
    lock.unlock();
    constexpr jint kReferences = 256;
    const bool has_frame = jni->PushLocalFrame(kReferences) == JNI_OK;
    try {
      if (has_frame) (*thread->job_)(jni);
    } catch (const std::exception&) {  // no memory: the job's results stay those of a refusal
    }
    jni->ExceptionClear();
    if (has_frame) jni->PopLocalFrame(nullptr);
    lock.lock();
    thread->job_ = nullptr;
    thread->changed_.notify_all();
  }
}

}  // namespace lagwatch::sdk::jvm
