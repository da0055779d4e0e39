// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/java_probes.h"

#include <jvmti.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "probe/run/interpreter.h"
#include "sdk/jvm/probes/class_probes.h"
#include "sdk/jvm/probes/inner_places.h"
#include "sdk/jvm/probes/java_frames.h"
#include "sdk/jvm/probes/java_hits.h"
#include "sdk/jvm/probes/jvm_thread.h"
#include "sdk/jvm/probes/loading_classes.h"
#include "sdk/jvm/probes/method_search.h"
#include "sdk/jvm/probes/same_code.h"
#include "sdk/jvm/probes/tool_text.h"
#include "sdk/jvm/probes/weaver.h"
#include "sdk/probe/java_prober.h"
#include "sdk/probe/process_probes.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr char kTooMany[] = "the JVM has as many probes as there may be";

// The letters of Weaver.java for what a site wants to be called for.
std::string KindsOfSite(const SiteState& site) {
  if (IsInnerPlace(*site.probe)) return InnerKindsOf(*site.probe);
  const uint32_t needs = site.probe->needs();
  const bool has_arguments = (needs & (probe::kNeedsIntArguments | probe::kNeedsFloatArguments)) != 0;
  switch (site.probe->place().kind) {
    case probe::PlaceKind::kReturn:
      return has_arguments ? "S" : (needs & probe::kNeedsReturned) != 0 ? "V" : "R";
    case probe::PlaceKind::kError:
      return has_arguments ? "Y" : "X";
    case probe::PlaceKind::kDuration:
      return has_arguments ? "SY" : "RX";
    default:
      return has_arguments ? "A" : "E";
  }
}

// The letter of a site that is only counted, where the weaver can do that; else null.
const char* CountedKindOf(const SiteState& site) {
  if (!probe::CountsHitsOnly(*site.probe, *site.state)) return nullptr;
  switch (site.probe->place().kind) {
    case probe::PlaceKind::kEntry:
      return "C";
    case probe::PlaceKind::kReturn:
      return "D";
    default:
      return nullptr;
  }
}

std::atomic<bool> g_is_over{false};  // the JVM ends: its code is not changed any more

// Leaked: its thread never ends. The JVM's thread alone has all but `thread_` and `has_changed_`.
class JavaProbes final : public JavaProber {
 public:
  JavaProbes(jvmtiEnv* tools, bool is_slow_at_first) : tools_(tools), is_slow_at_first_(is_slow_at_first) {}
  bool Start(JNIEnv* jni) { return thread_.Start(tools_, jni); }

  std::vector<SiteResult> Arm(std::span<const SiteState* const> sites, bool awaits_classes) override {
    std::vector<SiteResult> results(
        sites.size(),
        {.is_armed = false, .text = "the JVM has no memory left", .functions = 0, .left_out = {}});
    thread_.Do([&](JNIEnv* jni) { ArmHere(jni, sites, awaits_classes, &results); });
    return results;
  }
  base::Result<std::vector<ExaminedMethod>> Examine(const std::string& pattern) override {
    base::Result<std::vector<ExaminedMethod>> methods =
        base::Status(base::StatusCode::kUnavailable, "the JVM has no memory left");
    thread_.Do([&](JNIEnv* jni) {
      if (const std::string why_not = LoadWeaverOnce(jni); !why_not.empty()) {
        methods = base::Status(base::StatusCode::kUnavailable, why_not);
      } else {
        methods = MethodSearch(tools_, jni, *weaver_).Examine(pattern);
      }
    });
    return methods;
  }
  void Disarm(std::span<const SiteState* const> sites) override {
    if (!g_is_over.load()) thread_.Do([&](JNIEnv* jni) { DisarmHere(jni, sites); });
  }
  bool CodeIsOriginal() override {
    bool is_original = g_is_over.load();
    if (!is_original) thread_.Do([&](JNIEnv* jni) { is_original = IsOriginalHere(jni); });
    return is_original;
  }
  void CollectCounts() override {
    if (counted_sites_.load() != 0) thread_.Do([&](JNIEnv* jni) { CollectHere(jni); });
  }
  std::vector<NamedFrame> NamedFrames(uint64_t* next) override {
    std::vector<NamedFrame> names;
    if (*next == 0 || HasJavaFramesBehind(*next))
      thread_.Do([&](JNIEnv* jni) { names = NamesOfJavaFrames(tools_, jni, next); });
    return names;
  }
  std::string Caution() const override {
    if (!is_slow_at_first_ || has_changed_.load()) return "";
    return "the JVM was started without lagwatch's agent: one of this version compiles all its code again at "
           "the "
           "first probe, and is slower for 1 to 2 s";
  }

  // Of a class that is being loaded. Context: its thread.
  void OnLoading(JNIEnv* jni, jobject loader, const char* name, std::span<const unsigned char> file,
                 jint* size, unsigned char** bytes);
  // Of the class that is being retransformed.
  void OnClassFile(JNIEnv* jni, jclass type, std::span<const unsigned char> file, jint* size,
                   unsigned char** bytes);

 private:
  using Classes = std::vector<ClassProbes*>;

  // Returns why that is impossible, or an empty text.
  std::string LoadWeaverOnce(JNIEnv* jni);
  void ArmHere(JNIEnv* jni, std::span<const SiteState* const> sites, bool awaits_classes,
               std::vector<SiteResult>* results);
  // Adds the classes that have got their probes while they were loaded. Those whose sites have gone since are
  // added to `touched`.
  void Adopt(JNIEnv* jni, Classes* touched);
  void SetHook(bool is_retransforming);
  void DisarmHere(JNIEnv* jni, std::span<const SiteState* const> sites);
  bool IsOriginalHere(JNIEnv* jni);
  void CollectHere(JNIEnv* jni);
  // False if there are no numbers left.
  bool GiveCode(JNIEnv* jni, const SiteState* site);
  // Adds the site's methods to their classes. Returns the reason if there are none.
  std::string AddMethods(JNIEnv* jni, const MethodSearch& search, const SiteState* site, Classes* touched);
  ClassProbes* ProbesOf(JNIEnv* jni, jobject type);
  void Retransform(JNIEnv* jni, const Classes& classes);
  jvmtiError RetransformAtOnce(JNIEnv* jni, std::span<ClassProbes* const> classes);
  Bytecode CodeOf(jmethodID method) const;

  jvmtiEnv* const tools_;
  const bool is_slow_at_first_;
  std::atomic<bool> has_changed_{false};
  JvmThread thread_;
  std::unique_ptr<Weaver> weaver_;
  SiteCodes codes_;
  std::atomic<size_t> counted_sites_{0};
  std::vector<uint32_t> free_counters_;
  std::list<ClassProbes> classes_;
  LoadingClasses loading_;
  // Of the retransformation that is under way.
  Outcomes outcomes_;
  Classes changed_;
};

JavaProbes* g_java_probes = nullptr;
jvmtiEnv* g_probe_tools = nullptr;
bool g_has_tools_from_start = false;

// Called on all threads that load classes, and on those of other agents that change some.
void JNICALL OnClassFileLoad(jvmtiEnv*, JNIEnv* jni, jclass type, jobject loader, const char* name, jobject,
                             jint size, const unsigned char* bytes, jint* new_size,
                             unsigned char** new_bytes) {
  if (g_java_probes == nullptr) return;
  const std::span file(bytes, static_cast<size_t>(size));
  try {
    if (type == nullptr)
      g_java_probes->OnLoading(jni, loader, name, file, new_size, new_bytes);
    else
      g_java_probes->OnClassFile(jni, type, file, new_size, new_bytes);
  } catch (const std::exception&) {  // no memory: the class stays as it is
  }
}

std::string g_start_directory;  // set before the JVM begins

// The program's first code waits for its probes.
void JNICALL OnBegin(jvmtiEnv*, JNIEnv* jni, jthread) {
  constexpr int64_t kPatienceNs = 10'000'000'000;
  JavaVM* vm = nullptr;
  if (jni->GetJavaVM(&vm) == JNI_OK && OpenJavaProbes(vm, g_start_directory).empty())
    AwaitFirstProbes(kPatienceNs);
}

void JNICALL OnDeath(jvmtiEnv*, JNIEnv*) {
  g_is_over.store(true);
  FlushProbes();
}

Bytecode JavaProbes::CodeOf(jmethodID method) const {
  jint size = 0;
  unsigned char* bytes = nullptr;
  if (tools_->GetBytecodes(method, &size, &bytes) != JVMTI_ERROR_NONE) return {};
  Bytecode code(bytes, bytes + size);
  tools_->Deallocate(bytes);
  return code;
}

ClassProbes* JavaProbes::ProbesOf(JNIEnv* jni, jobject type) {
  const auto known = std::ranges::find_if(
      classes_, [&](const ClassProbes& each) { return jni->IsSameObject(each.type(), type) != JNI_FALSE; });
  return known == classes_.end() ? nullptr : &*known;
}

std::string JavaProbes::AddMethods(JNIEnv* jni, const MethodSearch& search, const SiteState* site,
                                   Classes* touched) {
  FoundMethods found;
  found.refuse = [&](const std::string& name, const std::string& why) { outcomes_[site].Refuse(name, why); };
  search.Find(*site->probe, &found);
  for (const FoundClass& each : found.classes) {
    ClassProbes* probes = ProbesOf(jni, each.type);
    if (probes == nullptr) probes = &classes_.emplace_back(jni->NewWeakGlobalRef(each.type), each.name);
    for (const FoundMethod& method : each.methods)
      probes->Add(method, site, probes->HasMethod(method) ? Bytecode() : CodeOf(method.id));
    if (std::ranges::find(*touched, probes) == touched->end()) touched->push_back(probes);
  }
  return found.why_none;
}

std::string JavaProbes::LoadWeaverOnce(JNIEnv* jni) {
  if (weaver_ != nullptr) return "";
  auto weaver = Weaver::Load(tools_, jni);
  if (!weaver.ok()) return weaver.status().message();
  weaver_ = std::move(weaver).value();
  for (uint32_t counter = Weaver::kCounters; counter != 0; --counter) free_counters_.push_back(counter - 1);
  return "";
}

void JavaProbes::Adopt(JNIEnv* jni, Classes* touched) {
  for (ClassProbes& each : loading_.TakePrepared(tools_, jni)) {
    if (ProbesOf(jni, each.type()) != nullptr) continue;  // it was found among the loaded classes, too
    classes_.push_back(std::move(each));
    if (classes_.back().KeepOnly(codes_)) touched->push_back(&classes_.back());
  }
}

void JavaProbes::OnLoading(JNIEnv* jni, jobject loader, const char* name, std::span<const unsigned char> file,
                           jint* size, unsigned char** bytes) {
  if (!loading_.is_waiting()) return;
  const std::vector<unsigned char> woven = loading_.Weave(jni, *weaver_, loader, name, file);
  if (woven.empty() || tools_->Allocate(static_cast<jlong>(woven.size()), bytes) != JVMTI_ERROR_NONE) return;
  std::memcpy(*bytes, woven.data(), woven.size());
  *size = static_cast<jint>(woven.size());
}

void JavaProbes::SetHook(bool is_retransforming) {
  const bool is_on = is_retransforming || loading_.is_waiting();
  tools_->SetEventNotificationMode(is_on ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
                                   nullptr);
}

void JavaProbes::ArmHere(JNIEnv* jni, std::span<const SiteState* const> sites, bool awaits_classes,
                         std::vector<SiteResult>* results) {
  const std::string why_not = LoadWeaverOnce(jni);
  for (SiteResult& result : *results) result.text = why_not;
  if (!why_not.empty()) return;
  outcomes_.clear();
  Classes touched;
  Adopt(jni, &touched);
  const MethodSearch search(tools_, jni, *weaver_);
  for (size_t i = 0; i < sites.size(); ++i) {
    const bool has_code = GiveCode(jni, sites[i]);
    const std::string why_not_later =
        has_code && awaits_classes ? loading_.Add(sites[i], codes_[sites[i]]) : "";
    (*results)[i].text = has_code ? AddMethods(jni, search, sites[i], &touched) : kTooMany;
    if (!why_not_later.empty()) (*results)[i].text = why_not_later;
    (*results)[i].is_armed = has_code && awaits_classes && why_not_later.empty();
  }
  Retransform(jni, touched);
  SetHook(/*is_retransforming=*/false);
  for (size_t i = 0; i < sites.size(); ++i) {
    const SiteOutcome& outcome = outcomes_[sites[i]];
    SiteResult& result = (*results)[i];
    result.is_armed |= outcome.methods != 0;
    result.functions = outcome.methods;
    if (result.is_armed) {
      result.text = "bytecode";
      result.left_out = outcome.refused == 0 ? "" : outcome.Text();
    } else if (result.text.empty()) {
      result.text = outcome.Text();
    }
  }
}

void JavaProbes::DisarmHere(JNIEnv* jni, std::span<const SiteState* const> sites) {
  loading_.Remove(sites);
  Classes classes;
  Adopt(jni, &classes);
  for (ClassProbes& each : classes_) {
    if (each.Remove(sites) && std::ranges::find(classes, &each) == classes.end()) classes.push_back(&each);
  }
  Retransform(jni, classes);
  SetHook(/*is_retransforming=*/false);
  for (const SiteState* site : sites) {
    const auto code = codes_.find(site);
    if (code == codes_.end()) continue;
    if (code->second.is_counter) {
      free_counters_.insert(free_counters_.begin(), code->second.id);  // a call may still count at its end
      counted_sites_.fetch_sub(1);
    } else {
      RemoveHitSite(code->second.id);
    }
    codes_.erase(code);
  }
}

bool JavaProbes::GiveCode(JNIEnv* jni, const SiteState* site) {
  SiteCode code;
  const char* counted = CountedKindOf(*site);
  if (counted != nullptr && !free_counters_.empty()) {
    code = {.id = free_counters_.back(), .values = 0, .kinds = counted, .is_counter = true};
    free_counters_.pop_back();
    weaver_->TakeCount(jni, code.id);
    counted_sites_.fetch_add(1);
  } else {
    code = {.id = AddHitSite(site),
            .values = site->used_arguments,
            .kinds = KindsOfSite(*site),
            .is_counter = false};
    if (code.id == 0) return false;
  }
  codes_[site] = code;
  return true;
}

void JavaProbes::CollectHere(JNIEnv* jni) {
  for (const auto& [site, code] : codes_) {
    if (!code.is_counter || !site->is_active->load()) continue;
    const uint64_t hits = weaver_->TakeCount(jni, code.id);
    if (hits != 0) probe::AddCountedHits(*site->probe, hits, site->state);
  }
}

bool JavaProbes::IsOriginalHere(JNIEnv* jni) {
  return std::ranges::all_of(classes_, [&](const ClassProbes& each) {
    const bool is_unloaded = jni->IsSameObject(each.type(), nullptr) != JNI_FALSE;
    return is_unloaded || each.EachRestored([this](jmethodID method, const Bytecode& original) {
      return IsSameCode(original, CodeOf(method));
    });
  });
}

// A batch is all or nothing: if one class is refused, each goes alone.
void JavaProbes::Retransform(JNIEnv* jni, const Classes& classes) {
  if (classes.empty() || RetransformAtOnce(jni, classes) == JVMTI_ERROR_NONE) return;
  for (ClassProbes* each : classes) {
    const jvmtiError error = RetransformAtOnce(jni, {&each, 1});
    if (error == JVMTI_ERROR_NONE) continue;
    char* name = nullptr;
    std::string reason = "the JVM refuses its class with the probe";
    if (tools_->GetErrorName(error, &name) == JVMTI_ERROR_NONE) reason += ": " + TakeToolText(tools_, name);
    each->RefuseNew("", reason, &outcomes_);
  }
}

jvmtiError JavaProbes::RetransformAtOnce(JNIEnv* jni, std::span<ClassProbes* const> classes) {
  std::vector<jclass> types;
  for (const ClassProbes* each : classes) {
    const auto type = static_cast<jclass>(jni->NewLocalRef(each->type()));
    if (type != nullptr) types.push_back(type);
  }
  if (types.empty()) return JVMTI_ERROR_NONE;
  has_changed_.store(true);
  changed_.clear();
  SetHook(/*is_retransforming=*/true);
  const jvmtiError error = tools_->RetransformClasses(static_cast<jint>(types.size()), types.data());
  SetHook(/*is_retransforming=*/false);
  for (const jclass type : types) jni->DeleteLocalRef(type);
  for (ClassProbes* each : classes) {
    if (error != JVMTI_ERROR_NONE) break;
    const bool is_changed = std::ranges::find(changed_, each) != changed_.end();
    if (is_changed) {
      each->AcceptAll(&outcomes_);
    } else {  // the JVM says nothing about a class whose change failed
      each->RefuseNew("", "the JVM did not ask for its change", &outcomes_);
    }
  }
  return error;
}

void JavaProbes::OnClassFile(JNIEnv* jni, jclass type, std::span<const unsigned char> file, jint* size,
                             unsigned char** bytes) {
  if (!thread_.IsCurrent()) return;
  ClassProbes* probes = ProbesOf(jni, type);
  if (probes == nullptr) return;
  if (probes->HasNewInnerSites()) {
    const auto reasons = weaver_->WhyNoPlaces(jni, file, probes->Plan(codes_));
    if (reasons.ok()) probes->RefuseWithoutPlace(*reasons, &outcomes_);
  }
  for (std::string plan = probes->Plan(codes_); !plan.empty(); plan = probes->Plan(codes_)) {
    auto woven = weaver_->Weave(jni, file, plan);
    if (woven.ok()) {
      if (tools_->Allocate(static_cast<jlong>(woven->size()), bytes) != JVMTI_ERROR_NONE) return;
      std::memcpy(*bytes, woven->data(), woven->size());
      *size = static_cast<jint>(woven->size());
      changed_.push_back(probes);
      return;
    }
    if (!probes->RefuseMessage(woven.status().message(), &outcomes_)) return;
  }
}

// Whether a JVM that gives the permission late has not recorded which code depends on which class.
bool ForgetsDependencies(jvmtiEnv* tools) {
  constexpr int kFirstThatRecords = 25;  // of those that were tried; 17 does not
  char* text = nullptr;
  if (tools->GetSystemProperty("java.vm.specification.version", &text) != JVMTI_ERROR_NONE) return true;
  return std::atoi(TakeToolText(tools, text).c_str()) < kFirstThatRecords;
}

}  // namespace

bool TakeProbeCapabilities(JavaVM* vm, bool is_at_start) {
  if (g_probe_tools != nullptr) return true;
  jvmtiEnv* tools = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&tools), JVMTI_VERSION_9) != JNI_OK) return false;
  jvmtiCapabilities capabilities{};
  capabilities.can_retransform_classes = 1;
  capabilities.can_get_bytecodes = 1;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = &OnClassFileLoad;
  callbacks.VMInit = &OnBegin;
  callbacks.VMDeath = &OnDeath;
  if (tools->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE ||
      tools->SetEventCallbacks(&callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
      tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, nullptr) != JVMTI_ERROR_NONE) {
    tools->DisposeEnvironment();
    return false;
  }
  g_probe_tools = tools;
  g_has_tools_from_start = is_at_start;
  return true;
}

void AwaitProbesAtStart(const std::string& directory) {
  if (g_probe_tools == nullptr) return;  // the console says that nothing has begun
  g_start_directory = directory;
  g_probe_tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, nullptr);
}

std::string OpenJavaProbes(JavaVM* vm, const std::string& directory) {
  JNIEnv* jni = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&jni), JNI_VERSION_9) != JNI_OK) return "the JVM is starting";
  if (!TakeProbeCapabilities(vm, /*is_at_start=*/false))
    return "the JVM does not let agents change its classes";
  if (g_java_probes == nullptr) {
    const bool is_slow_at_first = !g_has_tools_from_start && ForgetsDependencies(g_probe_tools);
    auto made = std::make_unique<JavaProbes>(g_probe_tools, is_slow_at_first);
    if (!made->Start(jni)) return "the JVM has no thread left";
    g_java_probes = made.release();
  }
  return OpenProbes(directory, g_java_probes).why_not;
}

}  // namespace lagwatch::sdk::jvm
