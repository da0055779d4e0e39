// SPDX-License-Identifier: Apache-2.0
// Objects of Java as values of hits: a number and a text each. The JVM's own functions read
// them: these cannot fault, and run no code of the program. Context: hot, a thread of the JVM, unless a
// function says otherwise.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstddef>
#include <cstdint>

#include "probe/hit.h"
#include "probe/limits.h"

namespace lagwatch::sdk::jvm {

// `tools` stays. False, with an exception pending, if the JVM has not the classes. Context: background.
bool PrepareJavaValues(jvmtiEnv* tools, JNIEnv* jni);

// A box's whole number, Boolean or Character; else the identity hash, as Object.hashCode() has it; 0 for
// null.
uint64_t NumberOfObject(JNIEnv* jni, jobject object);

// A String's beginning, a box's number, an enum constant's name, or else the name of the class.
class TextOfObject {
 public:
  TextOfObject(JNIEnv* jni, jobject object);
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_); }

 private:
  char bytes_[probe::kMaxTextBytes];
};

// Writes "java.lang.IllegalStateException".
void CopyClassName(JNIEnv* jni, jobject object, char (&name)[probe::kMaxTextBytes]);

}  // namespace lagwatch::sdk::jvm
