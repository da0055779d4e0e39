// SPDX-License-Identifier: Apache-2.0
// The native methods of org.lagwatch.NativeLibrary: lagwatch's C interface for Java.
#include <jni.h>
#include <lagwatch/c.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "sdk/android/src/main/cpp/java_stacks.h"
#include "sdk/android/src/main/cpp/message_tag.h"

namespace lagwatch::android {
namespace {

// A loop and the tag of its dispatch. Used on the loop's thread. Two tags take turns: a reader of the last
// dispatch's tag, which is late, finds it whole.
struct JavaLoop {
  lw_loop* loop;
  uint32_t depth;
  uint32_t tag_index;
  char tags[2][kTagBytes];
};

JavaLoop* LoopOf(jlong handle) { return reinterpret_cast<JavaLoop*>(handle); }
lw_loop* NativeLoopOf(jlong handle) { return handle == 0 ? nullptr : LoopOf(handle)->loop; }

// A copy of a Java text; null is "".
std::string TextOf(JNIEnv* env, jstring text) {
  if (text == nullptr) return "";
  const char* characters = env->GetStringUTFChars(text, nullptr);
  if (characters == nullptr) {
    env->ExceptionClear();  // no memory
    return "";
  }
  std::string copy(characters);
  env->ReleaseStringUTFChars(text, characters);
  return copy;
}

bool g_has_java_stacks = false;

jint Start(JNIEnv* env, jclass, jobjectArray names_and_values, jboolean has_java_stacks) {
  lw_options options;
  lw_options_init(&options);
  const jsize count = env->GetArrayLength(names_and_values);
  // They are borrowed until lw_start() copies them.
  std::string* texts = new (std::nothrow) std::string[static_cast<size_t>(count)];
  if (texts == nullptr) return LW_OFF;
  int unknown = 0;
  for (jsize i = 0; i < count; ++i) {
    auto text = static_cast<jstring>(env->GetObjectArrayElement(names_and_values, i));
    texts[i] = TextOf(env, text);
    env->DeleteLocalRef(text);
    if (i % 2 == 1) unknown += lw_options_set(&options, texts[i - 1].c_str(), texts[i].c_str()) == 0;
  }
  if (has_java_stacks && g_has_java_stacks)
    options.scripts = {nullptr, "java", kRuntimeModules, ReadJavaStack};
  const lw_status status = lw_start(&options);
  if (unknown != 0) lw_set_value("unknown_options", std::to_string(unknown).c_str());
  delete[] texts;
  return status;
}

void Stop(JNIEnv*, jclass, jint flush_timeout_ms) {
  lw_stop(flush_timeout_ms < 0 ? 0 : static_cast<uint32_t>(flush_timeout_ms));
}

jstring WhyOff(JNIEnv* env, jclass) { return env->NewStringUTF(lw_why_off()); }

jint SetConsent(JNIEnv*, jclass, jboolean is_given) {
  return lw_set_consent(is_given ? LW_CONSENT_GIVEN : LW_CONSENT_NOT_GIVEN);
}

jboolean Dump(JNIEnv* env, jclass, jstring reason) { return lw_dump_now(TextOf(env, reason).c_str()) != 0; }

void SetScene(JNIEnv* env, jclass, jstring scene) { lw_set_scene(TextOf(env, scene).c_str()); }

jboolean SetValue(JNIEnv* env, jclass, jstring key, jstring value) {
  return lw_set_value(TextOf(env, key).c_str(), TextOf(env, value).c_str()) != 0;
}

void SetForeground(JNIEnv*, jclass, jboolean is_foreground) { lw_set_foreground(is_foreground); }

void Ready(JNIEnv*, jclass) { lw_ready(); }

jlong WatchLoop(JNIEnv* env, jclass, jstring name) {
  lw_loop* loop = lw_watch_loop(TextOf(env, name).c_str());
  if (loop == nullptr) return 0;
  return reinterpret_cast<jlong>(new (std::nothrow)
                                     JavaLoop{loop, 0, 0, {}});  // as long as the loop's thread
}

void DispatchBegin(JNIEnv* env, jclass, jlong handle, jstring line) {
  if (handle == 0) return;
  JavaLoop* loop = LoopOf(handle);
  if (loop->depth++ != 0) return lw_dispatch_begin(loop->loop, "");  // the outer one's tag stays
  // Up to three bytes a character, and a zero that some run times write.
  constexpr jsize kMaxCharacters = 320;
  char text[3 * kMaxCharacters + 1];
  const jsize length = line == nullptr ? 0 : env->GetStringLength(line);
  const jsize count = length < kMaxCharacters ? length : kMaxCharacters;
  std::memset(text, 0, static_cast<size_t>(count) + 1);
  if (count != 0) env->GetStringUTFRegion(line, 0, count, text);
  char(&tag)[kTagBytes] = loop->tags[++loop->tag_index % 2];
  WriteMessageTag({text, strnlen(text, sizeof text)}, tag);
  lw_dispatch_begin(loop->loop, tag);
}

void DispatchEnd(JNIEnv*, jclass, jlong handle) {
  if (handle == 0 || LoopOf(handle)->depth == 0) return;
  --LoopOf(handle)->depth;
  lw_dispatch_end(LoopOf(handle)->loop);
}

void NoteQueueWait(JNIEnv*, jclass, jlong handle, jlong wait_ns) {
  if (wait_ns > 0) lw_note_queue_wait(NativeLoopOf(handle), static_cast<uint64_t>(wait_ns));
}

void NoteQueued(JNIEnv*, jclass, jlong handle) { lw_note_queued(NativeLoopOf(handle)); }
void NoteRun(JNIEnv*, jclass, jlong handle) { lw_note_run(NativeLoopOf(handle)); }
void IdleBegin(JNIEnv*, jclass, jlong handle) { lw_idle_begin(NativeLoopOf(handle)); }
void IdleEnd(JNIEnv*, jclass, jlong handle) { lw_idle_end(NativeLoopOf(handle)); }

jlong NameOf(JNIEnv* env, jclass, jstring text) {
  const std::string copy = TextOf(env, text);
  return reinterpret_cast<jlong>(strdup(copy.c_str()));
}

void ScopeBegin(JNIEnv*, jclass, jlong handle, jlong name, jint deadline_ms) {
  lw_scope_begin(NativeLoopOf(handle), reinterpret_cast<const char*>(name),
                 static_cast<uint32_t>(deadline_ms));
}
void ScopeEnd(JNIEnv*, jclass, jlong handle) { lw_scope_end(NativeLoopOf(handle)); }

void FrameBegin(JNIEnv*, jclass, jlong handle, jlong vsync_ns) {
  lw_frame_begin(NativeLoopOf(handle), static_cast<uint64_t>(vsync_ns));
}
void FrameStage(JNIEnv*, jclass, jlong handle, jint stage) {
  lw_frame_stage(NativeLoopOf(handle), static_cast<lw_stage>(stage));
}
void FrameEnd(JNIEnv*, jclass, jlong handle) { lw_frame_end(NativeLoopOf(handle)); }

jint ThreadId(JNIEnv*, jclass) { return static_cast<jint>(syscall(SYS_gettid)); }

template <typename Function>
JNINativeMethod Method(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

bool RegisterMethods(JNIEnv* env) {
  const JNINativeMethod methods[] = {
      Method("start", "([Ljava/lang/String;Z)I", Start),
      Method("stop", "(I)V", Stop),
      Method("whyOff", "()Ljava/lang/String;", WhyOff),
      Method("setConsent", "(Z)I", SetConsent),
      Method("dump", "(Ljava/lang/String;)Z", Dump),
      Method("setScene", "(Ljava/lang/String;)V", SetScene),
      Method("setValue", "(Ljava/lang/String;Ljava/lang/String;)Z", SetValue),
      Method("setForeground", "(Z)V", SetForeground),
      Method("ready", "()V", Ready),
      Method("watchLoop", "(Ljava/lang/String;)J", WatchLoop),
      Method("dispatchBegin", "(JLjava/lang/String;)V", DispatchBegin),
      Method("dispatchEnd", "(J)V", DispatchEnd),
      Method("noteQueueWait", "(JJ)V", NoteQueueWait),
      Method("noteQueued", "(J)V", NoteQueued),
      Method("noteRun", "(J)V", NoteRun),
      Method("idleBegin", "(J)V", IdleBegin),
      Method("idleEnd", "(J)V", IdleEnd),
      Method("nameOf", "(Ljava/lang/String;)J", NameOf),
      Method("scopeBegin", "(JJI)V", ScopeBegin),
      Method("scopeEnd", "(J)V", ScopeEnd),
      Method("frameBegin", "(JJ)V", FrameBegin),
      Method("frameStage", "(JI)V", FrameStage),
      Method("frameEnd", "(J)V", FrameEnd),
      Method("threadId", "()I", ThreadId),
  };
  jclass library = env->FindClass("org/lagwatch/NativeLibrary");
  return library != nullptr && env->RegisterNatives(library, methods, std::size(methods)) == JNI_OK;
}

}  // namespace
}  // namespace lagwatch::android

extern "C" JNIEXPORT jint JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  if (!lagwatch::android::RegisterMethods(env)) return JNI_ERR;
  lagwatch::android::g_has_java_stacks = lagwatch::android::PrepareJavaStacks(vm, env);
  if (env->ExceptionCheck()) env->ExceptionClear();
  return JNI_VERSION_1_6;
}
