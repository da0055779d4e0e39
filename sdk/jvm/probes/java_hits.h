// SPDX-License-Identifier: Apache-2.0
// The native methods that inserted bytecode calls when a probed method of Java begins or ends.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstdint>

#include "sdk/probe/site_handlers.h"

namespace lagwatch::sdk::jvm {

// The number by which inserted code means the site: its calls may come long after the site is disarmed, and
// do nothing then. 0: there are too many sites. Context: background, one thread.
uint32_t AddHitSite(const SiteState* site);
// Lets the place be used again, under another number. Context: background, the same thread.
void RemoveHitSite(uint32_t id);
// Binds the native methods to their class. `tools` stays. False, with an exception pending, if that fails.
// Context: background.
bool BindHitMethods(jvmtiEnv* tools, JNIEnv* jni, jclass hooks);

}  // namespace lagwatch::sdk::jvm
