// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/java_hits.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/ticks.h"
#include "probe/limits.h"
#include "probe/run/interpreter.h"
#include "sdk/probe/native_hit.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr size_t kTextArguments = 6;

// A site's number is its place in the table, and how often the place was used before, above that.
constexpr uint32_t kPlaceBits = 16;
constexpr uint32_t kMostHitSites = 1 << kPlaceBits;
constexpr uint32_t kMostUses = 1 << (31 - kPlaceBits);  // a number is an int that is not negative
constexpr uint32_t kAddressBits = 48;
static_assert(sizeof(void*) == sizeof(uint64_t));

// A site's address, with the number's upper part above it.
constinit std::atomic<uint64_t> g_hit_sites[kMostHitSites];
uint32_t g_used_places = 1;  // 0 is no number
std::vector<uint32_t> g_free_ids;
jvmtiEnv* g_hit_tools = nullptr;  // set before the first hit

const SiteState* HitSiteOf(jint id) {
  const auto number = static_cast<uint32_t>(id);
  // With what it leads to.
  const uint64_t word = g_hit_sites[number % kMostHitSites].load(std::memory_order_acquire);
  const auto* site = reinterpret_cast<const SiteState*>(word & ((uint64_t{1} << kAddressBits) - 1));
  if (site == nullptr || word >> kAddressBits != number >> kPlaceBits) return nullptr;
  return site->is_active->load(std::memory_order_relaxed) ? site : nullptr;  // a hit more or less
}

NativeHit JavaHitOf(probe::PlaceKind kind) {
  static thread_local uint32_t tid = 0;
  if (tid == 0) tid = static_cast<uint32_t>(syscall(SYS_gettid));
  NativeHit hit;
  hit.services = &ProbeHitServices();
  hit.tid = tid;
  hit.kind = kind;
  return hit;
}

NativeHit JavaHitOf(probe::PlaceKind kind, jlong entered_ticks) {
  NativeHit hit = JavaHitOf(kind);
  hit.now_ticks = base::ReadTicks();
  hit.duration_ticks = hit.now_ticks - static_cast<uint64_t>(entered_ticks);
  return hit;
}

void RunJavaHit(const SiteState& site, const NativeHit& hit) {
  const int saved_errno = errno;
  probe::RunProbe(*site.probe, hit, site.state);
  errno = saved_errno;
}

// The beginning of a string, in the JVM's form of UTF-8, which has at most 3 bytes a character.
class TextOfJava {
 public:
  TextOfJava(JNIEnv* jni, jobject text) {
    constexpr jsize kMostCharacters = (probe::kMaxTextBytes - 1) / 3;
    if (text == nullptr) {
      std::strcpy(bytes_, "null");
      return;
    }
    auto* const string = static_cast<jstring>(text);
    jni->GetStringUTFRegion(string, 0, std::min(jni->GetStringLength(string), kMostCharacters), bytes_);
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_); }

 private:
  char bytes_[probe::kMaxTextBytes] = {};
};

jlong JNICALL OnTicks(JNIEnv*, jclass) { return static_cast<jlong>(base::ReadTicks()); }

void JNICALL OnEnter(JNIEnv*, jclass, jint id) {
  if (const SiteState* site = HitSiteOf(id)) RunJavaHit(*site, JavaHitOf(probe::PlaceKind::kEntry));
}

// The arguments that are Strings are in `texts`, at their places among `ints`.
void JNICALL OnEnterWith(JNIEnv* jni, jclass, jint id, jlong int0, jlong int1, jlong int2, jlong int3,
                         jlong int4, jlong int5, jdouble float0, jdouble float1, jdouble float2,
                         jdouble float3, jdouble float4, jdouble float5, jdouble float6, jdouble float7,
                         jobject text0, jobject text1, jobject text2, jobject text3, jobject text4,
                         jobject text5) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  const jlong given[kTextArguments] = {int0, int1, int2, int3, int4, int5};
  const double floats[] = {float0, float1, float2, float3, float4, float5, float6, float7};
  const jobject objects[kTextArguments] = {text0, text1, text2, text3, text4, text5};
  const TextOfJava texts[kTextArguments] = {{jni, text0}, {jni, text1}, {jni, text2},
                                            {jni, text3}, {jni, text4}, {jni, text5}};
  uint64_t ints[kTextArguments];
  for (size_t i = 0; i < kTextArguments; ++i) {
    // A String that is null is 0: reading it ends the hit, as for a null pointer.
    ints[i] = objects[i] != nullptr ? texts[i].address() : static_cast<uint64_t>(given[i]);
  }
  NativeHit hit = JavaHitOf(probe::PlaceKind::kEntry);
  hit.int_arguments = ints;
  hit.float_arguments = floats;
  RunJavaHit(*site, hit);
}

void JNICALL OnLeave(JNIEnv*, jclass, jint id, jlong entered_ticks) {
  if (const SiteState* site = HitSiteOf(id))
    RunJavaHit(*site, JavaHitOf(probe::PlaceKind::kReturn, entered_ticks));
}

void JNICALL OnLeaveInt(JNIEnv*, jclass, jlong value, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(probe::PlaceKind::kReturn, entered_ticks);
  hit.returned_ints[0] = static_cast<uint64_t>(value);
  RunJavaHit(*site, hit);
}

void JNICALL OnLeaveFloat(JNIEnv*, jclass, jdouble value, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(probe::PlaceKind::kReturn, entered_ticks);
  hit.returned_floats[0] = value;
  RunJavaHit(*site, hit);
}

void JNICALL OnLeaveText(JNIEnv* jni, jclass, jobject value, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(probe::PlaceKind::kReturn, entered_ticks);
  const TextOfJava text(jni, value);
  hit.returned_ints[0] = text.address();
  RunJavaHit(*site, hit);
}

// Writes "java.lang.IllegalStateException".
void CopyClassName(JNIEnv* jni, jobject object, char (&name)[probe::kMaxTextBytes]) {
  const jclass type = jni->GetObjectClass(object);
  char* signature = nullptr;  // "Ljava/lang/IllegalStateException;"
  if (g_hit_tools->GetClassSignature(type, &signature, nullptr) == JVMTI_ERROR_NONE) {
    const size_t size = std::min(std::strlen(signature) - 2, sizeof name - 1);
    std::replace_copy(signature + 1, signature + 1 + size, name, '/', '.');
    g_hit_tools->Deallocate(reinterpret_cast<unsigned char*>(signature));
  }
  jni->DeleteLocalRef(type);
}

void JNICALL OnFail(JNIEnv* jni, jclass, jobject thrown, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(probe::PlaceKind::kError, entered_ticks);
  char type[probe::kMaxTextBytes] = {};
  probe::HitDetails details;
  details.thrown_type = type;
  if ((site->probe->needs() & probe::kNeedsDetails) != 0) CopyClassName(jni, thrown, type);
  hit.details = &details;
  RunJavaHit(*site, hit);
}

// Inside of a method, at a place of the site's kind: the numbers are the ticks at which a call has begun, or
// those of the wait for a lock and the ticks since which it is held, or a field's value.
void JNICALL OnInside(JNIEnv* jni, jclass, jlong first, jlong second, jobject target, jint line, jint id) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  const auto ns_of = [&](uint64_t ticks) {
    return static_cast<uint64_t>(static_cast<double>(ticks) * site->ns_per_tick);
  };
  NativeHit hit = JavaHitOf(site->probe->place().kind, first);
  const TextOfJava name(jni, target);
  probe::HitDetails details;
  details.target = reinterpret_cast<const char*>(name.address());
  details.line = line;
  details.field_value = first;
  details.waited_ns = ns_of(static_cast<uint64_t>(first));
  details.held_ns = ns_of(hit.now_ticks - static_cast<uint64_t>(second));
  hit.details = &details;
  RunJavaHit(*site, hit);
}

}  // namespace

uint32_t AddHitSite(const SiteState* site) {
  uint32_t id = 0;
  if (!g_free_ids.empty()) {
    id = g_free_ids.back();
    g_free_ids.pop_back();
  } else if (g_used_places < kMostHitSites) {
    id = g_used_places++;
  }
  const uint64_t word = reinterpret_cast<uint64_t>(site) | uint64_t{id >> kPlaceBits} << kAddressBits;
  if (id != 0)
    g_hit_sites[id % kMostHitSites].store(word, std::memory_order_release);  // with what it leads to
  return id;
}

void RemoveHitSite(uint32_t id) {
  g_hit_sites[id % kMostHitSites].store(0, std::memory_order_relaxed);
  if ((id >> kPlaceBits) + 1 < kMostUses) g_free_ids.push_back(id + kMostHitSites);
}

bool BindHitMethods(jvmtiEnv* tools, JNIEnv* jni, jclass hooks) {
  struct Row {
    const char* name;
    const char* signature;
    void* function;
  };
  // As Weaver.Hook declares them.
  const Row rows[] = {{"ticks", "()J", reinterpret_cast<void*>(&OnTicks)},
                      {"enter", "(I)V", reinterpret_cast<void*>(&OnEnter)},
                      {"enterWith",
                       "(IJJJJJJDDDDDDDDLjava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/"
                       "Object;Ljava/lang/Object;"
                       "Ljava/lang/Object;)V",
                       reinterpret_cast<void*>(&OnEnterWith)},
                      {"leave", "(IJ)V", reinterpret_cast<void*>(&OnLeave)},
                      {"leaveInt", "(JIJ)V", reinterpret_cast<void*>(&OnLeaveInt)},
                      {"leaveFloat", "(DIJ)V", reinterpret_cast<void*>(&OnLeaveFloat)},
                      {"leaveText", "(Ljava/lang/Object;IJ)V", reinterpret_cast<void*>(&OnLeaveText)},
                      {"fail", "(Ljava/lang/Throwable;IJ)V", reinterpret_cast<void*>(&OnFail)},
                      {"inside", "(JJLjava/lang/Object;II)V", reinterpret_cast<void*>(&OnInside)}};
  g_hit_tools = tools;
  JNINativeMethod methods[std::size(rows)];
  for (size_t i = 0; i < std::size(rows); ++i)
    methods[i] = {const_cast<char*>(rows[i].name), const_cast<char*>(rows[i].signature), rows[i].function};
  return jni->RegisterNatives(hooks, methods, std::size(rows)) == JNI_OK;
}

}  // namespace lagwatch::sdk::jvm
