// SPDX-License-Identifier: Apache-2.0
// The native methods that inserted bytecode calls when a probed method of Java begins or ends.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

#include "sdk/probe/site_handlers.h"

namespace lagwatch::sdk::jvm {

// The number by which inserted code means the site, for the process's life: its calls may come long after the
// site is disarmed, and do nothing then. 0: there are none left. Context: background, one thread.
uint32_t AddHitSite(const SiteState* site);
// Binds the native methods to their class. `tools` stays. False, with an exception pending, if that fails.
// Context: background.
bool BindHitMethods(jvmtiEnv* tools, JNIEnv* jni, jclass hooks);

}  // namespace lagwatch::sdk::jvm
