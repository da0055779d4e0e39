// SPDX-License-Identifier: Apache-2.0
// Stacks of Java code for reports, by the class org.lagwatch.JavaStacks.
#pragma once

#include <jni.h>
#include <lagwatch/c_types.h>

#include <cstddef>
#include <cstdint>

namespace lagwatch::android {

// Looks up the Java class. Returns false if it is not there. Context: a thread of the app, in JNI_OnLoad.
bool PrepareJavaStacks(JavaVM* vm, JNIEnv* env);

// Is lw_scripts::read_stack; attaches its thread to the VM at the first call.
size_t ReadJavaStack(void* context, int32_t tid, lw_script_frame* frames, size_t capacity);

// The modules of Android's run time (and of OpenJDK's, for tests): lw_scripts::runtime_modules.
constexpr char kRuntimeModules[] = "libart.so,boot,base.odex,split_,memfd:jit-cache,libjvm.so";

}  // namespace lagwatch::android
