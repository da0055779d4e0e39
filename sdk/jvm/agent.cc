// SPDX-License-Identifier: Apache-2.0
// The agent's entry points, which the JVM calls. A failure leaves the JVM alone: it goes on unwatched.
#include <fcntl.h>
#include <jvmti.h>
#include <lagwatch/c.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "sdk/jvm/agent_options.h"
#include "sdk/jvm/loop_threads.h"
#include "sdk/jvm/probes/java_probes.h"
#include "sdk/probe/process_probes.h"

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

// `is_running`: the JVM runs already, and has no early events any more.
bool SetUpEvents(jvmtiEnv* jvmti, bool is_running) {
  jvmtiCapabilities capabilities{};
  capabilities.can_generate_native_method_bind_events = 1;
  // Names of methods that are bound before the first Java code.
  if (!is_running) capabilities.can_generate_early_vmstart = 1;
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

jvmtiEnv* g_tools = nullptr;  // the threads that load agents are never two at once

constexpr char kNoToolInterface[] = "the JVM is starting, or has no tool interface";
constexpr char kToolInterfaceRefused[] = "the JVM's threads are not watched: its tool interface refused";

// Starts the monitor with the program's name. Returns why not, or an empty text. `options` must stay.
std::string StartMonitor(jvmtiEnv* jvmti, AgentOptions* options) {
  auto* name = new std::string;  // leaked: lagwatch borrows it
  if (options->options.app == nullptr || *options->options.app == '\0') {
    *name = ProgramName(jvmti);
    if (!name->empty()) options->options.app = name->c_str();
  }
  switch (lw_start(&options->options)) {
    case LW_OK:
      return "";
    case LW_ALREADY_STARTED:
      return "the JVM is watched already";
    case LW_OFF:
      break;
  }
  return std::string("the JVM runs unwatched: ") + lw_why_off();
}

jint Load(JavaVM* vm, const char* text) {
  auto* options = new AgentOptions;  // leaked: lagwatch borrows its texts
  if (const std::string error = ParseAgentOptions(text, options); !error.empty()) {
    Say(options->is_strict ? error : error + ", which is left out");
    if (options->is_strict) return JNI_ERR;
  }
  if (!options->watches_children) LeaveEnvironment();
  if (options->forbids_probes && lw_forbid_probes() == 0) Say("probes are not forbidden: there is no memory");
  TakeProbeCapabilities(vm, /*is_at_start=*/true);  // refused: `lagwatch probe` says so
  if (options->opens_probes && options->probe_pid == getpid()) AwaitProbesAtStart(options->probe_directory);
  if (!options->is_watched) return JNI_OK;
  if (vm->GetEnv(reinterpret_cast<void**>(&g_tools), JVMTI_VERSION_9) != JNI_OK) {
    Say(std::string(kNoToolInterface) + ": it runs unwatched");
    return JNI_OK;
  }
  if (const std::string why_not = StartMonitor(g_tools, options); !why_not.empty()) {
    Say(why_not);
    return JNI_OK;
  }
  WatchLoopThreads(g_tools, /*has_threads=*/false);
  if (!SetUpEvents(g_tools, /*is_running=*/false)) Say(kToolInterfaceRefused);
  return JNI_OK;
}

// Takes the loops of a JVM that runs. Returns why not, or an empty text.
std::string WatchRunningJvm(JavaVM* vm) {
  JNIEnv* jni = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_9) != JNI_OK) return kNoToolInterface;
  WatchLoopThreads(g_tools, /*has_threads=*/true);
  if (!SetUpEvents(g_tools, /*is_running=*/true)) return kToolInterfaceRefused;
  if (!BindMethodsInUse(jni)) return "the JVM's waits cannot be bound to the agent";
  WakeEventThreads(jni);
  return "";
}

std::string Attach(JavaVM* vm, AgentOptions* options) {
  if (options->opens_probes) return OpenJavaProbes(vm, options->probe_directory);
  if (options->is_stop) {
    constexpr uint32_t kFlushTimeoutMs = 1000;
    if (lw_why_off()[0] != '\0') return "the JVM is not watched";
    lw_stop(kFlushTimeoutMs);
    return "";
  }
  // An agent that the JVM was started with has taken the loops by then.
  const bool is_first = g_tools == nullptr;
  if (is_first && vm->GetEnv(reinterpret_cast<void**>(&g_tools), JVMTI_VERSION_9) != JNI_OK)
    return kNoToolInterface;
  std::string why_not = StartMonitor(g_tools, options);
  if (why_not.empty() && is_first) why_not = WatchRunningJvm(vm);
  return why_not;
}

// Writes the message into the file that the command line has made and reads.
void Answer(const std::string& file, const std::string& message) {
  const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  if (write(fd, message.data(), message.size()) < 0) errno = 0;  // the exit code has the rest
  close(fd);
}

jint AttachAndAnswer(JavaVM* vm, const char* text) {
  auto* options = new AgentOptions;  // leaked: lagwatch borrows its texts
  std::string why_not = ParseAgentOptions(text, options);
  if (why_not.empty()) why_not = Attach(vm, options);
  if (!options->answer_file.empty()) {
    Answer(options->answer_file, why_not);
  } else if (!why_not.empty()) {
    Say(why_not);
  }
  return why_not.empty() ? JNI_OK : JNI_ERR;
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

// Context: the JVM's thread for attaching, while the program runs.
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* options, void*) {
  try {
    return lagwatch::sdk::jvm::AttachAndAnswer(vm, options);
  } catch (const std::exception&) {  // no memory
    return JNI_ERR;
  }
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM*) {
  constexpr uint32_t kFlushTimeoutMs = 1000;
  lagwatch::sdk::FlushProbes();
  lw_stop(kFlushTimeoutMs);
}

// Called by lw_forbid_probes() of the program's own library.
JNIEXPORT void lagwatch_forbid_probes() { lagwatch::sdk::ForbidProbes(); }
}
