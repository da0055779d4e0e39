// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/java_probes.h"

#include <jvmti.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sdk/jvm/probes/java_hits.h"
#include "sdk/jvm/probes/method_search.h"
#include "sdk/jvm/probes/weaver.h"
#include "sdk/probe/java_prober.h"
#include "sdk/probe/process_probes.h"

namespace lagwatch::sdk::jvm {
namespace {

using Code = std::vector<unsigned char>;

// A thread of the JVM that does the service's work there. The service's own thread has its own table of
// descriptors, and what the JVM opens meanwhile (the archives of classes that it verifies) is for all
// threads.
class JvmThread {
 public:
  bool Start(jvmtiEnv* tools, JNIEnv* jni) {
    const jclass type = jni->FindClass("java/lang/Thread");
    const jmethodID make =
        type == nullptr ? nullptr : jni->GetMethodID(type, "<init>", "(Ljava/lang/String;)V");
    const jstring name = make == nullptr ? nullptr : jni->NewStringUTF("lagwatch-java");
    const jobject thread = name == nullptr ? nullptr : jni->NewObject(type, make, name);
    if (thread == nullptr) jni->ExceptionClear();
    return thread != nullptr &&
           tools->RunAgentThread(thread, &Run, this, JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE;
  }
  // Returns when the job is done.
  void Do(const std::function<void(JNIEnv*)>& job) {
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [this] { return job_ == nullptr; });
  }

 private:
  static void JNICALL Run(jvmtiEnv*, JNIEnv* jni, void* self) {
    auto* thread = static_cast<JvmThread*>(self);
    std::unique_lock lock(thread->mutex_);
    while (true) {
      thread->changed_.wait(lock, [thread] { return thread->job_ != nullptr; });
      lock.unlock();
      constexpr jint kReferences = 256;
      const bool has_frame = jni->PushLocalFrame(kReferences) == JNI_OK;
      try {
        if (has_frame) (*thread->job_)(jni);
      } catch (const std::exception&) {  // no memory: the job's results stay those of a refusal
      }
      jni->ExceptionClear();
      if (has_frame) jni->PopLocalFrame(nullptr);
      lock.lock();
      thread->job_ = nullptr;
      thread->changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(JNIEnv*)>* job_ = nullptr;  // guarded by mutex_
};

struct ProbedMethod {
  FoundMethod method;
  Code original;
  std::vector<const SiteState*> sites;
};

struct ProbedClass {
  jweak type = nullptr;
  std::list<ProbedMethod> methods;
  bool is_changed = false;  // in the retransformation that is under way
  std::string why;
};

// The letters of Weaver.java for what a site wants to be called for.
const char* KindsOfSite(const SiteState& site) {
  const uint32_t needs = site.probe->needs();
  switch (site.probe->place().kind) {
    case probe::PlaceKind::kReturn:
      return (needs & probe::kNeedsReturned) != 0 ? "V" : "R";
    case probe::PlaceKind::kError:
      return "X";
    case probe::PlaceKind::kDuration:
      return "RX";
    default:
      return (needs & (probe::kNeedsIntArguments | probe::kNeedsFloatArguments)) != 0 ? "A" : "E";
  }
}

// Leaked: its thread never ends. The JVM's thread alone has all but `thread_`.
class JavaProbes final : public JavaProber {
 public:
  explicit JavaProbes(jvmtiEnv* tools) : tools_(tools) {}
  bool Start(JNIEnv* jni) { return thread_.Start(tools_, jni); }

  std::vector<SiteResult> Arm(std::span<const SiteState* const> sites) override {
    std::vector<SiteResult> results(sites.size(), {.is_armed = false, .text = "the JVM has no memory left"});
    thread_.Do([&](JNIEnv* jni) { ArmHere(jni, sites, &results); });
    return results;
  }
  void Disarm(std::span<const SiteState* const> sites) override {
    thread_.Do([&](JNIEnv* jni) { DisarmHere(jni, sites); });
  }
  bool CodeIsOriginal() override {
    bool is_original = false;
    thread_.Do([&](JNIEnv* jni) { is_original = IsOriginalHere(jni); });
    return is_original;
  }

  // Of the class that is being retransformed. Context: the JVM's thread.
  void OnClassFile(JNIEnv* jni, jclass type, std::span<const unsigned char> file, jint* size,
                   unsigned char** bytes);

 private:
  void ArmHere(JNIEnv* jni, std::span<const SiteState* const> sites, std::vector<SiteResult>* results);
  void DisarmHere(JNIEnv* jni, std::span<const SiteState* const> sites);
  bool IsOriginalHere(JNIEnv* jni);
  ProbedClass* Probed(JNIEnv* jni, jclass type);
  void AddMethod(ProbedClass* probed, const FoundMethod& method, const SiteState* site);
  void RemoveSites(ProbedClass* probed, std::span<const SiteState* const> sites);
  void Retransform(JNIEnv* jni, std::vector<ProbedClass*> classes);
  jvmtiError RetransformAtOnce(JNIEnv* jni, std::span<ProbedClass* const> classes);
  std::string PlanOf(const ProbedClass& probed) const;
  Code CodeOf(jmethodID method) const;

  jvmtiEnv* const tools_;
  JvmThread thread_;
  std::unique_ptr<Weaver> weaver_;
  std::map<const SiteState*, uint32_t> ids_;
  std::list<ProbedClass> classes_;
};

JavaProbes* g_java_probes = nullptr;
jvmtiEnv* g_probe_tools = nullptr;

void JNICALL OnClassFileLoad(jvmtiEnv*, JNIEnv* jni, jclass type, jobject, const char*, jobject, jint size,
                             const unsigned char* bytes, jint* new_size, unsigned char** new_bytes) {
  if (type == nullptr || g_java_probes == nullptr) return;  // it is being loaded
  try {
    g_java_probes->OnClassFile(jni, type, {bytes, static_cast<size_t>(size)}, new_size, new_bytes);
  } catch (const std::exception&) {  // no memory: the class stays as it is
  }
}

Code JavaProbes::CodeOf(jmethodID method) const {
  jint size = 0;
  unsigned char* bytes = nullptr;
  if (tools_->GetBytecodes(method, &size, &bytes) != JVMTI_ERROR_NONE) return {};
  Code code(bytes, bytes + size);
  tools_->Deallocate(bytes);
  return code;
}

ProbedClass* JavaProbes::Probed(JNIEnv* jni, jclass type) {
  for (ProbedClass& each : classes_) {
    if (jni->IsSameObject(each.type, type) != JNI_FALSE) return &each;
  }
  return nullptr;
}

void JavaProbes::AddMethod(ProbedClass* probed, const FoundMethod& method, const SiteState* site) {
  auto known = std::ranges::find_if(probed->methods,
                                    [&](const ProbedMethod& each) { return each.method.id == method.id; });
  if (known == probed->methods.end()) {
    probed->methods.push_back({.method = method, .original = CodeOf(method.id), .sites = {}});
    known = std::prev(probed->methods.end());
  }
  known->sites.push_back(site);
}

void JavaProbes::RemoveSites(ProbedClass* probed, std::span<const SiteState* const> sites) {
  for (ProbedMethod& method : probed->methods) {
    const auto is_gone = [&](const SiteState* site) { return std::ranges::find(sites, site) != sites.end(); };
    if (std::erase_if(method.sites, is_gone) != 0) probed->is_changed = true;
  }
}

void JavaProbes::ArmHere(JNIEnv* jni, std::span<const SiteState* const> sites,
                         std::vector<SiteResult>* results) {
  if (weaver_ == nullptr) {
    auto weaver = Weaver::Load(tools_, jni);
    for (SiteResult& result : *results) result.text = weaver.status().message();
    if (!weaver.ok()) return;
    weaver_ = std::move(weaver).value();
  }
  const MethodSearch search(tools_, jni, weaver_->loader());
  std::vector<std::pair<size_t, ProbedClass*>> touched;
  for (size_t i = 0; i < sites.size(); ++i) {
    const uint32_t id = AddHitSite(sites[i]);
    if (id == 0) {
      (*results)[i].text = "the JVM has had as many probes as there may be: restart it";
      continue;
    }
    ids_[sites[i]] = id;
    for (const FoundClass& found : search.Find(*sites[i]->probe, &(*results)[i].text)) {
      ProbedClass* probed = Probed(jni, found.type);
      if (probed == nullptr)
        probed = &classes_.emplace_back(
            ProbedClass{.type = jni->NewWeakGlobalRef(found.type), .methods = {}, .why = {}});
      for (const FoundMethod& method : found.methods) AddMethod(probed, method, sites[i]);
      touched.emplace_back(i, probed);
    }
  }
  std::vector<ProbedClass*> classes;
  for (const auto& [site, probed] : touched) {
    if (std::ranges::find(classes, probed) == classes.end()) classes.push_back(probed);
  }
  Retransform(jni, classes);
  for (const auto& [site, probed] : touched) {
    SiteResult& result = (*results)[site];
    if (probed->why.empty()) {
      result = {.is_armed = true, .text = "bytecode"};
    } else {
      if (!result.is_armed) result.text = probed->why;
      RemoveSites(probed, sites.subspan(site, 1));
    }
  }
}

void JavaProbes::DisarmHere(JNIEnv* jni, std::span<const SiteState* const> sites) {
  std::vector<ProbedClass*> classes;
  for (ProbedClass& each : classes_) {
    each.is_changed = false;
    RemoveSites(&each, sites);
    if (each.is_changed) classes.push_back(&each);
  }
  Retransform(jni, classes);
  for (const SiteState* site : sites) ids_.erase(site);
}

bool JavaProbes::IsOriginalHere(JNIEnv* jni) {
  for (const ProbedClass& each : classes_) {
    if (jni->IsSameObject(each.type, nullptr) != JNI_FALSE) continue;  // unloaded
    for (const ProbedMethod& method : each.methods) {
      if (method.sites.empty() && CodeOf(method.method.id) != method.original) return false;
    }
  }
  return true;
}

// A batch is all or nothing: if one class is refused, each goes alone.
void JavaProbes::Retransform(JNIEnv* jni, std::vector<ProbedClass*> classes) {
  if (classes.empty() || RetransformAtOnce(jni, classes) == JVMTI_ERROR_NONE) return;
  for (ProbedClass* each : classes) {
    const jvmtiError error = RetransformAtOnce(jni, {&each, 1});
    char* name = nullptr;
    if (error == JVMTI_ERROR_NONE || !each->why.empty()) continue;
    each->why = "the JVM refuses the changed class";
    if (tools_->GetErrorName(error, &name) == JVMTI_ERROR_NONE)
      each->why += ": " + TakeToolText(tools_, name);
  }
}

jvmtiError JavaProbes::RetransformAtOnce(JNIEnv* jni, std::span<ProbedClass* const> classes) {
  std::vector<jclass> types;
  for (ProbedClass* each : classes) {
    each->is_changed = false;
    each->why.clear();
    const auto type = static_cast<jclass>(jni->NewLocalRef(each->type));
    if (type != nullptr) types.push_back(type);
  }
  if (types.empty()) return JVMTI_ERROR_NONE;
  jthread self = nullptr;
  tools_->GetCurrentThread(&self);
  tools_->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, self);
  const jvmtiError error = tools_->RetransformClasses(static_cast<jint>(types.size()), types.data());
  tools_->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, self);
  for (ProbedClass* each : classes) {
    // The JVM says nothing about a class whose change failed.
    if (error == JVMTI_ERROR_NONE && !each->is_changed && each->why.empty() && !PlanOf(*each).empty())
      each->why = "the JVM did not ask for its change";
  }
  for (const jclass type : types) jni->DeleteLocalRef(type);
  return error;
}

std::string JavaProbes::PlanOf(const ProbedClass& probed) const {
  std::string plan;
  for (const ProbedMethod& method : probed.methods) {
    for (const SiteState* site : method.sites) {
      plan += (plan.empty() ? "" : "\n") + method.method.name + " " + method.method.descriptor + " " +
              std::to_string(method.original.size()) + " " + std::to_string(ids_.at(site)) + " " +
              KindsOfSite(*site);
    }
  }
  return plan;
}

void JavaProbes::OnClassFile(JNIEnv* jni, jclass type, std::span<const unsigned char> file, jint* size,
                             unsigned char** bytes) {
  ProbedClass* probed = Probed(jni, type);
  const std::string plan = probed == nullptr ? "" : PlanOf(*probed);
  if (plan.empty()) return;
  auto woven = weaver_->Weave(jni, file, plan);
  if (!woven.ok()) {
    probed->why = woven.status().message();
    return;
  }
  if (tools_->Allocate(static_cast<jlong>(woven->size()), bytes) != JVMTI_ERROR_NONE) return;
  std::memcpy(*bytes, woven->data(), woven->size());
  *size = static_cast<jint>(woven->size());
  probed->is_changed = true;
}

}  // namespace

bool TakeProbeCapabilities(JavaVM* vm) {
  if (g_probe_tools != nullptr) return true;
  jvmtiEnv* tools = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&tools), JVMTI_VERSION_9) != JNI_OK) return false;
  jvmtiCapabilities capabilities{};
  capabilities.can_retransform_classes = 1;
  capabilities.can_get_bytecodes = 1;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = &OnClassFileLoad;
  if (tools->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE ||
      tools->SetEventCallbacks(&callbacks, sizeof callbacks) != JVMTI_ERROR_NONE) {
    tools->DisposeEnvironment();
    return false;
  }
  g_probe_tools = tools;
  return true;
}

std::string OpenJavaProbes(JavaVM* vm, const std::string& directory) {
  JNIEnv* jni = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_9) != JNI_OK) return "the JVM is starting";
  if (!TakeProbeCapabilities(vm)) return "the JVM does not let agents change its classes";
  if (g_java_probes == nullptr) {
    auto made = std::make_unique<JavaProbes>(g_probe_tools);
    if (!made->Start(jni)) return "the JVM has no thread left";
    g_java_probes = made.release();
  }
  return OpenProbes(directory, g_java_probes).why_not;
}

}  // namespace lagwatch::sdk::jvm
