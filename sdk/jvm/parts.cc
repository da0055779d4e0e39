// SPDX-License-Identifier: Apache-2.0
// The native methods of lagwatch.LagWatch (sdk/jvm/library), which the JVM finds in its agents' libraries.
// Context: any Java thread.
#include <jni.h>
#include <lagwatch/c.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>

namespace {

// A thread's loop for its parts, besides that of its waits. The library unwatches it when the thread ends.
thread_local lw_loop* t_parts = nullptr;

lw_loop* OwnLoop() {
  if (t_parts == nullptr) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    t_parts = lw_watch_loop(name);
  }
  return t_parts;
}

const char* TextOf(jlong text) { return reinterpret_cast<const char*>(text); }

// A copy of a text in UTF-8: the JVM's own function for strings writes some characters in another way. Empty
// for null, and if there is no memory.
class Characters {
 public:
  Characters(JNIEnv* jni, jbyteArray text) {
    const jsize size = text == nullptr ? 0 : jni->GetArrayLength(text);
    chars_ = static_cast<char*>(calloc(static_cast<size_t>(size) + 1, 1));
    if (chars_ != nullptr && size != 0)
      jni->GetByteArrayRegion(text, 0, size, reinterpret_cast<jbyte*>(chars_));
  }
  ~Characters() { free(chars_); }
  Characters(const Characters&) = delete;
  Characters& operator=(const Characters&) = delete;
  const char* get() const { return chars_ != nullptr ? chars_ : ""; }

 private:
  char* chars_;
};

}  // namespace

extern "C" {

JNIEXPORT jboolean JNICALL Java_lagwatch_LagWatch_isWatching(JNIEnv*, jclass) {
  return lw_why_off()[0] == '\0' ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT jlong JNICALL Java_lagwatch_LagWatch_keepText(JNIEnv* jni, jclass, jbyteArray text) {
  return reinterpret_cast<jlong>(strdup(Characters(jni, text).get()));  // reports may look at it at any time
}

JNIEXPORT void JNICALL Java_lagwatch_LagWatch_beginScope(JNIEnv*, jclass, jlong text, jint deadline_ms) {
  lw_scope_begin(OwnLoop(), TextOf(text), deadline_ms < 0 ? 0 : static_cast<uint32_t>(deadline_ms));
}

JNIEXPORT void JNICALL Java_lagwatch_LagWatch_endScope(JNIEnv*, jclass) { lw_scope_end(OwnLoop()); }

JNIEXPORT void JNICALL Java_lagwatch_LagWatch_beginDispatch(JNIEnv*, jclass, jlong text) {
  lw_dispatch_begin(OwnLoop(), TextOf(text));
}

JNIEXPORT void JNICALL Java_lagwatch_LagWatch_endDispatch(JNIEnv*, jclass) { lw_dispatch_end(OwnLoop()); }

JNIEXPORT jboolean JNICALL Java_lagwatch_LagWatch_requestDump(JNIEnv* jni, jclass, jbyteArray reason) {
  return lw_dump_now(Characters(jni, reason).get()) != 0 ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT jboolean JNICALL Java_lagwatch_LagWatch_putValue(JNIEnv* jni, jclass, jbyteArray key,
                                                           jbyteArray value) {
  return lw_set_value(Characters(jni, key).get(), Characters(jni, value).get()) != 0 ? JNI_TRUE : JNI_FALSE;
}
}
