// SPDX-License-Identifier: Apache-2.0
// The native part of ProbedMethods.java.
#include <jvmti.h>
#include <lagwatch/c.h>
#include <stdio.h>
#include <string.h>

JNIEXPORT jint JNICALL Java_ProbedMethods_forbid(JNIEnv* environment, jclass type) {
  (void)environment, (void)type;
  return lw_forbid_probes();
}

static jvmtiEnv* Tools(JNIEnv* environment) {
  static jvmtiEnv* tools = NULL;
  JavaVM* vm = NULL;
  jvmtiCapabilities capabilities;
  if (tools != NULL) return tools;
  memset(&capabilities, 0, sizeof capabilities);
  capabilities.can_get_bytecodes = 1;
  (*environment)->GetJavaVM(environment, &vm);
  if ((*vm)->GetEnv(vm, (void**)&tools, JVMTI_VERSION_9) != JNI_OK) return NULL;
  (*tools)->AddCapabilities(tools, &capabilities);
  return tools;
}

// The bytecode of the class's methods of that name, as the JVM has it now.
JNIEXPORT jstring JNICALL Java_ProbedMethods_bytecode(JNIEnv* environment, jclass type, jstring name) {
  static char text[1 << 16];
  const char* wanted = (*environment)->GetStringUTFChars(environment, name, NULL);
  jvmtiEnv* tools = Tools(environment);
  jmethodID* methods = NULL;
  jint count = 0;
  size_t length = 0;
  text[0] = '\0';
  if (tools == NULL || (*tools)->GetClassMethods(tools, type, &count, &methods) != JVMTI_ERROR_NONE)
    return NULL;
  for (jint i = 0; i < count; ++i) {
    char* found = NULL;
    unsigned char* bytes = NULL;
    jint size = 0;
    if ((*tools)->GetMethodName(tools, methods[i], &found, NULL, NULL) != JVMTI_ERROR_NONE) continue;
    if (strcmp(found, wanted) == 0) (*tools)->GetBytecodes(tools, methods[i], &size, &bytes);
    for (jint at = 0; at < size && length + 3 < sizeof text; ++at)
      length += (size_t)snprintf(text + length, sizeof text - length, "%02x", bytes[at]);
    (*tools)->Deallocate(tools, bytes);
    (*tools)->Deallocate(tools, (unsigned char*)found);
  }
  (*tools)->Deallocate(tools, (unsigned char*)methods);
  (*environment)->ReleaseStringUTFChars(environment, name, wanted);
  return (*environment)->NewStringUTF(environment, text);
}

JNIEXPORT jstring JNICALL Java_ProbedPlaces_bytecode(JNIEnv* environment, jclass type, jstring name) {
  return Java_ProbedMethods_bytecode(environment, type, name);
}
