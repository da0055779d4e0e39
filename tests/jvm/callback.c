// SPDX-License-Identifier: Apache-2.0
// Native code between two Java methods.
#include <jni.h>

JNIEXPORT void JNICALL Java_SelectorProgram_visit(JNIEnv* environment, jclass type, jobject each) {
  jclass runnable = (*environment)->GetObjectClass(environment, each);
  jmethodID run = (*environment)->GetMethodID(environment, runnable, "run", "()V");
  (void)type;
  (*environment)->CallVoidMethod(environment, each, run);
}
