// SPDX-License-Identifier: Apache-2.0
// The agent's entry points, which the JVM calls. A failure leaves the JVM alone: it goes on unwatched.
#include <jvmti.h>
#include <lagwatch/c.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "sdk/jvm/agent_options.h"
#include "sdk/jvm/loop_threads.h"

namespace lagwatch::sdk::jvm {
namespace {

void Say(const std::string& message) { std::fprintf(stderr, "lagwatch: %s\n", message.c_str()); }

// The program's name: its main class or its archive, without packages, folders and arguments.
std::string ProgramName(jvmtiEnv* jvmti) {
  char* command = nullptr;
  if (jvmti->GetSystemProperty("sun.java.command", &command) != JVMTI_ERROR_NONE) return "";
  std::string name = command;
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(command));
  name = name.substr(0, name.find(' '));
  const bool is_archive = name.ends_with(".jar");
  name = name.substr(name.find_last_of(is_archive ? "/" : "./") + 1);
  return name;
}

// Takes the agent out of the variable that this JVM has it from, which its children inherit.
void LeaveEnvironment() {
  constexpr char kVariable[] = "JAVA_TOOL_OPTIONS";
  const char* value = std::getenv(kVariable);
  if (value == nullptr) return;
  std::string rest = value;
  const size_t library = rest.find("liblagwatch_jvm.so=");
  const size_t begin = library == rest.npos ? rest.npos : rest.rfind("-agentpath:", library);
  if (begin == rest.npos) return;
  rest.erase(begin, rest.find(' ', begin) - begin);
  while (rest.ends_with(' ')) rest.pop_back();
  if (rest.empty()) {
    unsetenv(kVariable);
  } else {
    setenv(kVariable, rest.c_str(), 1);
  }
}

bool SetUpEvents(jvmtiEnv* jvmti) {
  jvmtiCapabilities capabilities{};
  capabilities.can_generate_native_method_bind_events = 1;
  capabilities.can_generate_early_vmstart = 1;  // names of methods that are bound before the first Java code
  jvmtiEventCallbacks callbacks{};
  callbacks.NativeMethodBind = &OnNativeMethodBind;
  callbacks.ThreadStart = &OnThreadStart;
  callbacks.ThreadEnd = &OnThreadEnd;
  bool is_set_up = jvmti->AddCapabilities(&capabilities) == JVMTI_ERROR_NONE &&
                   jvmti->SetEventCallbacks(&callbacks, sizeof callbacks) == JVMTI_ERROR_NONE;
  for (jvmtiEvent event :
       {JVMTI_EVENT_NATIVE_METHOD_BIND, JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END}) {
    is_set_up =
        is_set_up && jvmti->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) == JVMTI_ERROR_NONE;
  }
  return is_set_up;
}

jint Load(JavaVM* vm, const char* text) {
  auto* options = new AgentOptions;  // leaked: lagwatch borrows its texts
  if (const std::string error = ParseAgentOptions(text, options); !error.empty()) {
    Say(options->is_strict ? error : error + ", which is left out");
    if (options->is_strict) return JNI_ERR;
  }
  if (!options->watches_children) LeaveEnvironment();
  jvmtiEnv* jvmti = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&jvmti), JVMTI_VERSION_9) != JNI_OK) {
    Say("the JVM has no tool interface: it runs unwatched");
    return JNI_OK;
  }
  auto* name = new std::string;  // likewise
  if (options->options.app == nullptr || *options->options.app == '\0') {
    *name = ProgramName(jvmti);
    if (!name->empty()) options->options.app = name->c_str();
  }
  if (lw_start(&options->options) == LW_OFF) {
    Say(std::string("the JVM runs unwatched: ") + lw_why_off());
    return JNI_OK;
  }
  WatchLoopThreads(jvmti);
  if (!SetUpEvents(jvmti)) Say("the JVM's threads are not watched: its tool interface refused");
  return JNI_OK;
}

}  // namespace
}  // namespace lagwatch::sdk::jvm

extern "C" {

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  try {
    return lagwatch::sdk::jvm::Load(vm, options);
  } catch (const std::exception&) {  // no memory
    return JNI_OK;
  }
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM*) {
  constexpr uint32_t kFlushTimeoutMs = 1000;
  lw_stop(kFlushTimeoutMs);
}
}
