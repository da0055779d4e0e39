// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/java_hits.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iterator>
#include <optional>
#include <vector>

#include "base/ticks.h"
#include "probe/run/interpreter.h"
#include "sdk/jvm/probes/java_frames.h"
#include "sdk/jvm/probes/java_values.h"
#include "sdk/probe/native_hit.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr size_t kFloatArguments = 8;

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

const SiteState* HitSiteOf(jint id) {
  const auto number = static_cast<uint32_t>(id);
  // With what it leads to.
  const uint64_t word = g_hit_sites[number % kMostHitSites].load(std::memory_order_acquire);
  const auto* site = reinterpret_cast<const SiteState*>(word & ((uint64_t{1} << kAddressBits) - 1));
  if (site == nullptr || word >> kAddressBits != number >> kPlaceBits) return nullptr;
  return site->is_active->load(std::memory_order_relaxed) ? site : nullptr;  // a hit more or less
}

size_t ReadMemory(const probe::Hit& hit, uint64_t address, void* to, size_t size) {
  return ProbeHitServices().read(hit, address, to, size);
}
uint64_t ReadCpuTime(const probe::Hit& hit) { return ProbeHitServices().cpu_time_ns(hit); }

constexpr probe::HitServices kJavaServices{
    .read = ReadMemory, .capture_stack = JavaStack::Capture, .cpu_time_ns = ReadCpuTime};

// Of inserted code's native method, from which alone stacks are walked.
NativeHit JavaHitOf(const SiteState& site, probe::PlaceKind kind) {
  static thread_local uint32_t tid = 0;
  if (tid == 0) tid = static_cast<uint32_t>(syscall(SYS_gettid));
  const uint32_t needs = site.probe->needs();
  NativeHit hit;
  hit.services = &kJavaServices;
  hit.tid = tid;
  hit.kind = kind;
  if ((needs & probe::kNeedsCaller) != 0) hit.caller = JavaStack::Caller();
  if ((needs & probe::kNeedsFunction) != 0) hit.function = JavaStack::Function();
  return hit;
}

NativeHit JavaHitOf(const SiteState& site, probe::PlaceKind kind, jlong entered_ticks) {
  const uint64_t now_ticks = base::ReadTicks();
  NativeHit hit = JavaHitOf(site, kind);
  hit.now_ticks = now_ticks;
  hit.duration_ticks = now_ticks - static_cast<uint64_t>(entered_ticks);
  return hit;
}

void RunJavaHit(const SiteState& site, const NativeHit& hit) {
  const int saved_errno = errno;
  probe::RunProbe(*site.probe, hit, site.state);
  errno = saved_errno;
}

// The arguments that a site reads, in the order of Weaver.Hook. Objects are at their places among the
// numbers, and behind them `this`.
struct GivenArguments {
  jlong numbers[probe::kJavaNumbers];
  double floats[kFloatArguments];
  jobject objects[probe::kJavaNumbers + 1];
};

void RunWithArguments(JNIEnv* jni, const SiteState& site, const GivenArguments& given, NativeHit* hit) {
  constexpr size_t kObjects = probe::kJavaNumbers + 1;
  const auto is_read = [&](size_t value) { return (site.used_arguments >> value & 1) != 0; };
  uint64_t values[probe::kJavaArguments] = {};
  std::optional<TextOfObject> texts[kObjects];
  for (size_t i = 0; i < kObjects; ++i) {
    const bool is_this = i == probe::kJavaNumbers;
    const size_t number = is_this ? probe::kJavaThis : i;
    const size_t text = is_this ? probe::kJavaThisText : i + probe::kJavaNumbers;
    const jobject object = given.objects[i];
    if (!is_this) values[number] = static_cast<uint64_t>(given.numbers[i]);
    if (object != nullptr && is_read(number)) values[number] = NumberOfObject(jni, object);
    // The text of null is 0: reading it ends the hit, as for a null pointer.
    if (object != nullptr && is_read(text)) values[text] = texts[i].emplace(jni, object).address();
  }
  hit->int_arguments = values;
  hit->float_arguments = given.floats;
  RunJavaHit(site, *hit);
}

jlong JNICALL OnTicks(JNIEnv*, jclass) { return static_cast<jlong>(base::ReadTicks()); }

void JNICALL OnEnter(JNIEnv*, jclass, jint id) {
  if (const SiteState* site = HitSiteOf(id)) RunJavaHit(*site, JavaHitOf(*site, probe::PlaceKind::kEntry));
}

// The returned object's values in a hit, while this object lives.
class ReturnedObject {
 public:
  ReturnedObject(JNIEnv* jni, const SiteState& site, jobject object, NativeHit* hit) {
    const uint32_t used = site.used_returned;
    if (object != nullptr && (used >> probe::kJavaReturnedNumber & 1) != 0)
      hit->returned_ints[probe::kJavaReturnedNumber] = NumberOfObject(jni, object);
    if ((used >> probe::kJavaReturnedText & 1) != 0)
      hit->returned_ints[probe::kJavaReturnedText] = text_.emplace(jni, object).address();
  }

 private:
  std::optional<TextOfObject> text_;
};

// The exception's values in a hit, while this object lives; none without one.
class ThrownObject {
 public:
  ThrownObject(JNIEnv* jni, const SiteState& site, jobject thrown, NativeHit* hit) {
    if (thrown == nullptr) return;
    details_.thrown_type = type_;
    if ((site.probe->needs() & probe::kNeedsDetails) != 0) {
      CopyClassName(jni, thrown, type_);
      details_.thrown_object = NumberOfObject(jni, thrown);
    }
    hit->details = &details_;
  }
  ThrownObject(const ThrownObject&) = delete;
  ThrownObject& operator=(const ThrownObject&) = delete;

 private:
  char type_[probe::kMaxTextBytes] = {};
  probe::HitDetails details_;
};

#define ARGUMENTS                                                                                     \
  jlong i0, jlong i1, jlong i2, jlong i3, jlong i4, jlong i5, jdouble f0, jdouble f1, jdouble f2,     \
      jdouble f3, jdouble f4, jdouble f5, jdouble f6, jdouble f7, jobject o0, jobject o1, jobject o2, \
      jobject o3, jobject o4, jobject o5, jobject self
#define GIVEN                                                                                    \
  {                                                                                              \
    {i0, i1, i2, i3, i4, i5}, {f0, f1, f2, f3, f4, f5, f6, f7}, { o0, o1, o2, o3, o4, o5, self } \
  }

void JNICALL OnEnterWith(JNIEnv* jni, jclass, ARGUMENTS, jint id) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(*site, probe::PlaceKind::kEntry);
  RunWithArguments(jni, *site, GIVEN, &hit);
}

// A return's value is one of the first three; an exception has none.
void JNICALL OnLeaveWith(JNIEnv* jni, jclass, jlong number, jdouble real, jobject object, jobject thrown,
                         ARGUMENTS, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(*site, thrown == nullptr ? probe::PlaceKind::kReturn : probe::PlaceKind::kError,
                            entered_ticks);
  hit.returned_ints[probe::kJavaReturnedNumber] = static_cast<uint64_t>(number);
  hit.returned_floats[0] = real;
  const ReturnedObject returned(jni, *site, object, &hit);
  const ThrownObject of_error(jni, *site, thrown, &hit);
  RunWithArguments(jni, *site, GIVEN, &hit);
}

void JNICALL OnLeave(JNIEnv*, jclass, jint id, jlong entered_ticks) {
  if (const SiteState* site = HitSiteOf(id))
    RunJavaHit(*site, JavaHitOf(*site, probe::PlaceKind::kReturn, entered_ticks));
}

void JNICALL OnLeaveInt(JNIEnv*, jclass, jlong value, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(*site, probe::PlaceKind::kReturn, entered_ticks);
  hit.returned_ints[probe::kJavaReturnedNumber] = static_cast<uint64_t>(value);
  RunJavaHit(*site, hit);
}

void JNICALL OnLeaveFloat(JNIEnv*, jclass, jdouble value, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(*site, probe::PlaceKind::kReturn, entered_ticks);
  hit.returned_floats[0] = value;
  RunJavaHit(*site, hit);
}

void JNICALL OnLeaveText(JNIEnv* jni, jclass, jobject value, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(*site, probe::PlaceKind::kReturn, entered_ticks);
  const ReturnedObject returned(jni, *site, value, &hit);
  RunJavaHit(*site, hit);
}

void JNICALL OnFail(JNIEnv* jni, jclass, jobject thrown, jint id, jlong entered_ticks) {
  const SiteState* site = HitSiteOf(id);
  if (site == nullptr) return;
  NativeHit hit = JavaHitOf(*site, probe::PlaceKind::kError, entered_ticks);
  const ThrownObject of_error(jni, *site, thrown, &hit);
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
  NativeHit hit = JavaHitOf(*site, site->probe->place().kind, first);
  probe::HitDetails details;
  std::optional<TextOfObject> name;
  if (target != nullptr) details.target = reinterpret_cast<const char*>(name.emplace(jni, target).address());
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
#define PROBED_ARGUMENTS                                                                                     \
  "JJJJJJDDDDDDDDLjava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;" \
  "Ljava/lang/Object;Ljava/lang/Object;"
  const Row rows[] = {{"ticks", "()J", reinterpret_cast<void*>(&OnTicks)},
                      {"enter", "(I)V", reinterpret_cast<void*>(&OnEnter)},
                      {"enterWith", "(" PROBED_ARGUMENTS "I)V", reinterpret_cast<void*>(&OnEnterWith)},
                      {"leaveWith", "(JDLjava/lang/Object;Ljava/lang/Throwable;" PROBED_ARGUMENTS "IJ)V",
                       reinterpret_cast<void*>(&OnLeaveWith)},
                      {"leave", "(IJ)V", reinterpret_cast<void*>(&OnLeave)},
                      {"leaveInt", "(JIJ)V", reinterpret_cast<void*>(&OnLeaveInt)},
                      {"leaveFloat", "(DIJ)V", reinterpret_cast<void*>(&OnLeaveFloat)},
                      {"leaveText", "(Ljava/lang/Object;IJ)V", reinterpret_cast<void*>(&OnLeaveText)},
                      {"fail", "(Ljava/lang/Throwable;IJ)V", reinterpret_cast<void*>(&OnFail)},
                      {"inside", "(JJLjava/lang/Object;II)V", reinterpret_cast<void*>(&OnInside)}};
  JavaStack::Prepare(tools);
  if (!PrepareJavaValues(tools, jni)) return false;
  JNINativeMethod methods[std::size(rows)];
  for (size_t i = 0; i < std::size(rows); ++i)
    methods[i] = {const_cast<char*>(rows[i].name), const_cast<char*>(rows[i].signature), rows[i].function};
  return jni->RegisterNatives(hooks, methods, std::size(rows)) == JNI_OK;
}

}  // namespace lagwatch::sdk::jvm
