// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/loading_classes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sdk/jvm/probes/class_file.h"
#include "sdk/jvm/probes/method_search.h"
#include "sdk/jvm/probes/tool_text.h"

namespace lagwatch::sdk::jvm {
namespace {

std::string DottedName(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

// Among the classes that are prepared, by name and loader; null if it is not there.
jclass FindPrepared(jvmtiEnv* tools, JNIEnv* jni, std::span<const jclass> classes, const std::string& name,
                    jweak loader) {
  for (const jclass type : classes) {
    char* text = nullptr;
    if (tools->GetClassSignature(type, &text, nullptr) != JVMTI_ERROR_NONE) continue;
    const std::string signature = DottedName(TakeToolText(tools, text));
    if (signature.size() != name.size() + 2 || signature.compare(1, name.size(), name) != 0) continue;
    jobject own_loader = nullptr;
    jint status = 0;
    const bool is_it = tools->GetClassLoader(type, &own_loader) == JVMTI_ERROR_NONE &&
                       jni->IsSameObject(own_loader, loader) != JNI_FALSE &&
                       tools->GetClassStatus(type, &status) == JVMTI_ERROR_NONE &&
                       (status & JVMTI_CLASS_STATUS_PREPARED) != 0;
    jni->DeleteLocalRef(own_loader);
    if (is_it) return type;
  }
  return nullptr;
}

}  // namespace

std::string LoadingClasses::Add(const SiteState* site, const SiteCode& code) {
  const probe::Place& place = site->probe->place();
  const bool is_by_name = place.pattern != probe::PatternKind::kRegex && !place.name.starts_with('+') &&
                          !place.name.starts_with('@');
  if (!is_by_name) return "from the start of a program, classes are found by names and patterns of them only";
  const std::lock_guard lock(mutex_);
  waiting_.push_back({site, code});
  is_waiting_.store(true);
  return "";
}

void LoadingClasses::Remove(std::span<const SiteState* const> sites) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_,
                [&](const Waiting& each) { return std::ranges::find(sites, each.site) != sites.end(); });
  is_waiting_.store(!waiting_.empty());
}

std::vector<LoadingClasses::Waiting> LoadingClasses::WaitingFor(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::vector<Waiting> all;
  for (const Waiting& each : waiting_) {
    if (MethodPattern(each.site->probe->place()).MeansClass(name)) all.push_back(each);
  }
  return all;
}

std::vector<unsigned char> LoadingClasses::Weave(JNIEnv* jni, const Weaver& weaver, jobject loader,
                                                 const char* name, std::span<const unsigned char> file) {
  if (loader == nullptr || name == nullptr || jni->IsSameObject(loader, weaver.loader()) != JNI_FALSE)
    return {};
  const std::string dotted = DottedName(name);
  const std::vector<Waiting> waiting = WaitingFor(dotted);
  if (waiting.empty()) return {};
  ClassProbes probes(nullptr, dotted);
  SiteCodes codes;
  for (ClassFileMethod& each : ReadClassFileMethods(file)) {
    const FoundMethod method{.id = nullptr, .name = each.name, .descriptor = each.descriptor};
    for (const Waiting& one : waiting) {
      const MethodPattern pattern(one.site->probe->place());
      const bool is_wanted =
          pattern.MeansMethod(each.name) && WhyNoMethod(one.site->probe, method, each.modifiers).empty();
      if (!is_wanted || IsBridge(each.modifiers)) continue;
      codes[one.site] = one.code;
      probes.Add(method, one.site, each.code);
    }
  }
  Outcomes outcomes;
  for (std::string plan = probes.Plan(codes); !plan.empty(); plan = probes.Plan(codes)) {
    auto woven = weaver.Weave(jni, file, plan);
    if (woven.ok()) {
      probes.AcceptAll(&outcomes);
      const std::lock_guard lock(mutex_);
      woven_.push_back({std::move(probes), jni->NewWeakGlobalRef(loader)});
      return std::move(woven).value();
    }
    if (!probes.RefuseMessage(woven.status().message(), &outcomes)) break;
  }
  return {};
}

std::list<ClassProbes> LoadingClasses::TakePrepared(jvmtiEnv* tools, JNIEnv* jni) {
  std::list<ClassProbes> taken;
  std::list<Woven> woven;
  {
    const std::lock_guard lock(mutex_);
    woven.swap(woven_);
  }
  jint count = 0;
  jclass* classes = nullptr;
  if (woven.empty() || tools->GetLoadedClasses(&count, &classes) != JVMTI_ERROR_NONE) count = 0;
  const std::span<const jclass> loaded(classes, static_cast<size_t>(count));
  for (auto each = woven.begin(); each != woven.end();) {
    const jclass type = FindPrepared(tools, jni, loaded, each->probes.name(), each->loader);
    const auto next = std::next(each);
    if (type != nullptr) {
      each->probes.BecomeLoaded(tools, jni->NewWeakGlobalRef(type), type);
      jni->DeleteWeakGlobalRef(each->loader);
      taken.push_back(std::move(each->probes));
      woven.erase(each);
    }
    each = next;
  }
  for (const jclass type : loaded) jni->DeleteLocalRef(type);
  if (classes != nullptr) tools->Deallocate(reinterpret_cast<unsigned char*>(classes));
  const std::lock_guard lock(mutex_);
  woven_.splice(woven_.end(), woven);
  return taken;
}

}  // namespace lagwatch::sdk::jvm
