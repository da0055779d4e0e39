// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/weaver.h"

#include <sys/mman.h>

#include <atomic>
#include <utility>

#include "sdk/jvm/probes/java_hits.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr unsigned char kProbeClasses[] = {
#include "sdk/jvm/probe_classes.inc"
};
constexpr unsigned char kWeaverArchive[] = {
#include "sdk/jvm/weaver_archive.inc"
};

jvmtiEnv* g_binding_tools = nullptr;  // of the thread that loads the classes

// Called by code of the boot class loader, which a JVM expects to bind methods of java.lang.
void JNICALL BindHooks(JNIEnv* jni, jclass, jclass hooks) { BindHitMethods(g_binding_tools, jni, hooks); }

// The message of the exception that is pending, which is cleared.
std::string TakeJavaException(JNIEnv* jni) {
  const jthrowable thrown = jni->ExceptionOccurred();
  if (thrown == nullptr) return "";
  jni->ExceptionClear();
  const jclass type = jni->FindClass("java/lang/Throwable");
  const jmethodID text_of =
      type == nullptr ? nullptr : jni->GetMethodID(type, "toString", "()Ljava/lang/String;");
  auto* const text =
      text_of == nullptr ? nullptr : static_cast<jstring>(jni->CallObjectMethod(thrown, text_of));
  const char* characters =
      jni->ExceptionCheck() == JNI_FALSE && text != nullptr ? jni->GetStringUTFChars(text, nullptr) : nullptr;
  std::string message = characters == nullptr ? "an exception" : characters;
  if (characters != nullptr) jni->ReleaseStringUTFChars(text, characters);
  jni->ExceptionClear();
  const std::string own = "java.lang.IllegalArgumentException: ";
  return message.starts_with(own) ? message.substr(own.size()) : message;
}

jbyteArray NewBytes(JNIEnv* jni, std::span<const unsigned char> bytes) {
  const auto size = static_cast<jsize>(bytes.size());
  const jbyteArray array = jni->NewByteArray(size);
  if (array != nullptr) jni->SetByteArrayRegion(array, 0, size, reinterpret_cast<const jbyte*>(bytes.data()));
  return array;
}

std::vector<unsigned char> BytesOfArray(JNIEnv* jni, jbyteArray array) {
  std::vector<unsigned char> bytes(static_cast<size_t>(jni->GetArrayLength(array)));
  jni->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
  return bytes;
}

jclass DefineInBoot(JNIEnv* jni, const char* name, std::span<const unsigned char> bytes) {
  return jni->DefineClass(name, nullptr, reinterpret_cast<const jbyte*>(bytes.data()),
                          static_cast<jsize>(bytes.size()));
}

jclass LoadFrom(JNIEnv* jni, jobject loader, const char* name) {
  const jclass type = jni->FindClass("java/lang/ClassLoader");
  const jmethodID load = type == nullptr
                             ? nullptr
                             : jni->GetMethodID(type, "loadClass", "(Ljava/lang/String;)Ljava/lang/Class;");
  const jstring text = load == nullptr ? nullptr : jni->NewStringUTF(name);
  if (text == nullptr) return nullptr;
  auto* const loaded = static_cast<jclass>(jni->CallObjectMethod(loader, load, text));
  return jni->ExceptionCheck() == JNI_FALSE ? loaded : nullptr;
}

jobject LoaderOf(jclass type) {
  jobject loader = nullptr;
  return g_binding_tools->GetClassLoader(type, &loader) == JVMTI_ERROR_NONE ? loader : nullptr;
}

// The counters' cells: a row of Weaver::kCounters for each thread, by its id. Never freed: code may count at
// any time.
constexpr jint kCountingThreads = 8192;
uint64_t* g_counting_cells = nullptr;

bool MapCells() {
  constexpr size_t kBytes = (size_t{kCountingThreads} + 1) * Weaver::kCounters * sizeof(uint64_t);
  if (g_counting_cells != nullptr) return true;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_counting_cells = static_cast<uint64_t*>(memory);
  return true;
}

// The class of the native methods, in java.lang: the only package that classes of every loader see.
bool DefineHooks(JNIEnv* jni, jclass classes, jclass weaver) {
  const jclass made = LoadFrom(jni, LoaderOf(weaver), "lagwatch.HooksClass");
  const jmethodID hooks =
      made == nullptr || !MapCells() ? nullptr : jni->GetStaticMethodID(made, "make", "(IIJ)[B");
  const jmethodID bind =
      hooks == nullptr ? nullptr : jni->GetStaticMethodID(classes, "bind", "(Ljava/lang/Class;)V");
  if (bind == nullptr) return false;
  auto* const file = static_cast<jbyteArray>(jni->CallStaticObjectMethod(
      made, hooks, jint{Weaver::kCounters}, kCountingThreads, reinterpret_cast<jlong>(g_counting_cells)));
  if (jni->ExceptionCheck() != JNI_FALSE) return false;
  const jclass type = DefineInBoot(jni, "java/lang/LagwatchProbes", BytesOfArray(jni, file));
  if (type == nullptr) return false;
  jni->CallStaticVoidMethod(classes, bind, type);
  return jni->ExceptionCheck() == JNI_FALSE;
}

jclass LoadWeaver(JNIEnv* jni) {
  const jclass classes = DefineInBoot(jni, "lagwatch/ProbeClasses", kProbeClasses);
  if (classes == nullptr) return nullptr;
  const JNINativeMethod bind = {const_cast<char*>("bindHooks"), const_cast<char*>("(Ljava/lang/Class;)V"),
                                reinterpret_cast<void*>(&BindHooks)};
  const jmethodID load = jni->GetStaticMethodID(classes, "load", "([B)Ljava/lang/Class;");
  if (load == nullptr || jni->RegisterNatives(classes, &bind, 1) != JNI_OK) return nullptr;
  const jbyteArray archive = NewBytes(jni, kWeaverArchive);
  if (archive == nullptr) return nullptr;
  auto* const weaver = static_cast<jclass>(jni->CallStaticObjectMethod(classes, load, archive));
  const bool is_ready = jni->ExceptionCheck() == JNI_FALSE && DefineHooks(jni, classes, weaver);
  return is_ready ? weaver : nullptr;
}

// A global reference to the hooks' counters.
jobject FindCounts(JNIEnv* jni, jmethodID* get) {
  const jclass hooks = jni->FindClass("java/lang/LagwatchProbes");
  const jclass type =
      hooks == nullptr ? nullptr : jni->FindClass("java/util/concurrent/atomic/AtomicLongArray");
  const jfieldID field =
      type == nullptr
          ? nullptr
          : jni->GetStaticFieldID(hooks, "counts", "Ljava/util/concurrent/atomic/AtomicLongArray;");
  *get = field == nullptr ? nullptr : jni->GetMethodID(type, "get", "(I)J");
  return *get == nullptr ? nullptr : jni->NewGlobalRef(jni->GetStaticObjectField(hooks, field));
}

// The text that a call has returned, unless an exception is pending.
base::Result<std::string> TakeText(JNIEnv* jni, jobject returned) {
  const auto text = static_cast<jstring>(returned);
  const char* characters =
      jni->ExceptionCheck() == JNI_FALSE && text != nullptr ? jni->GetStringUTFChars(text, nullptr) : nullptr;
  if (characters == nullptr) return base::Status(base::StatusCode::kInvalid, TakeJavaException(jni));
  std::string copy = characters;
  jni->ReleaseStringUTFChars(text, characters);
  jni->DeleteLocalRef(text);
  return copy;
}

}  // namespace

base::Result<std::unique_ptr<Weaver>> Weaver::Load(jvmtiEnv* tools, JNIEnv* jni) {
  g_binding_tools = tools;
  const jclass type = LoadWeaver(jni);
  if (type == nullptr) {
    return base::Status(base::StatusCode::kUnavailable,
                        "the JVM does not load lagwatch's classes: " + TakeJavaException(jni));
  }
  std::unique_ptr<Weaver> weaver(new Weaver);
  const jobject loader = LoaderOf(type);
  const jclass matcher = loader != nullptr ? LoadFrom(jni, loader, "lagwatch.MethodMatcher") : nullptr;
  if (matcher != nullptr) {
    weaver->weave_ = jni->GetStaticMethodID(type, "weave", "([BLjava/lang/String;)[B");
    weaver->why_no_places_ =
        jni->GetStaticMethodID(type, "whyNoPlaces", "([BLjava/lang/String;)Ljava/lang/String;");
    weaver->matching_ = jni->GetStaticMethodID(matcher, "matching",
                                               "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;");
    weaver->annotations_ =
        jni->GetStaticMethodID(matcher, "annotations", "(Ljava/lang/Class;)Ljava/lang/String;");
  }
  if (weaver->weave_ == nullptr || weaver->why_no_places_ == nullptr || weaver->matching_ == nullptr ||
      weaver->annotations_ == nullptr) {
    return base::Status(base::StatusCode::kUnavailable,
                        "the JVM has other classes of lagwatch's: " + TakeJavaException(jni));
  }
  weaver->counts_ = FindCounts(jni, &weaver->get_);
  if (weaver->counts_ == nullptr)
    return base::Status(base::StatusCode::kUnavailable, "the JVM has no memory: " + TakeJavaException(jni));
  weaver->type_ = static_cast<jclass>(jni->NewGlobalRef(type));
  weaver->matcher_ = static_cast<jclass>(jni->NewGlobalRef(matcher));
  weaver->loader_ = jni->NewGlobalRef(loader);
  return weaver;
}

uint64_t Weaver::TakeCount(JNIEnv* jni, uint32_t counter) {
  auto count = static_cast<uint64_t>(jni->CallLongMethod(counts_, get_, static_cast<jint>(counter)));
  for (size_t thread = 0; thread <= kCountingThreads; ++thread) {
    // A number that the thread writes alone: an older one is enough.
    count += std::atomic_ref(g_counting_cells[thread * kCounters + counter]).load(std::memory_order_relaxed);
  }
  return count - std::exchange(taken_[counter], count);
}

base::Result<std::string> Weaver::Matching(JNIEnv* jni, const std::string& expression,
                                           const std::string& names) const {
  const jstring text = jni->NewStringUTF(expression.c_str());
  const jstring lines = text == nullptr ? nullptr : jni->NewStringUTF(names.c_str());
  return TakeText(jni,
                  lines == nullptr ? nullptr : jni->CallStaticObjectMethod(matcher_, matching_, text, lines));
}

base::Result<std::string> Weaver::AnnotationsOf(JNIEnv* jni, jclass type) const {
  return TakeText(jni, jni->CallStaticObjectMethod(matcher_, annotations_, type));
}

base::Result<std::string> Weaver::WhyNoPlaces(JNIEnv* jni, std::span<const unsigned char> file,
                                              const std::string& plan) const {
  const jbyteArray bytes = NewBytes(jni, file);
  const jstring text = bytes == nullptr ? nullptr : jni->NewStringUTF(plan.c_str());
  return TakeText(
      jni, text == nullptr ? nullptr : jni->CallStaticObjectMethod(type_, why_no_places_, bytes, text));
}

base::Result<std::vector<unsigned char>> Weaver::Weave(JNIEnv* jni, std::span<const unsigned char> file,
                                                       const std::string& plan) const {
  const jbyteArray bytes = NewBytes(jni, file);
  const jstring text = bytes == nullptr ? nullptr : jni->NewStringUTF(plan.c_str());
  auto* const woven = text == nullptr
                          ? nullptr
                          : static_cast<jbyteArray>(jni->CallStaticObjectMethod(type_, weave_, bytes, text));
  if (jni->ExceptionCheck() != JNI_FALSE || woven == nullptr)
    return base::Status(base::StatusCode::kInvalid, TakeJavaException(jni));
  return BytesOfArray(jni, woven);
}

}  // namespace lagwatch::sdk::jvm
