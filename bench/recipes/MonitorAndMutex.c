// SPDX-License-Identifier: Apache-2.0
// A mutex that Java code takes by calls.
#include <jni.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

JNIEXPORT void JNICALL Java_MonitorAndMutex_lock(JNIEnv* environment, jclass type) {
  (void)environment;
  (void)type;
  pthread_mutex_lock(&mutex);
}

JNIEXPORT void JNICALL Java_MonitorAndMutex_unlock(JNIEnv* environment, jclass type) {
  (void)environment;
  (void)type;
  pthread_mutex_unlock(&mutex);
}
