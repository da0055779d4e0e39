// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>

#include "sdk/jvm/loop_threads.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr unsigned char kBindingClass[] = {
#include "sdk/jvm/binding_class.inc"
};

// The method that is looked for may be missing: that is no exception of the program's.
template <typename Value>
Value WithoutException(JNIEnv* jni, Value value) {
  if (jni->ExceptionCheck() == JNI_FALSE) return value;
  jni->ExceptionClear();
  return Value{};
}

bool Bind(JNIEnv* jni, jclass type, const char* name, const char* signature, void* function) {
  const JNINativeMethod method = {const_cast<char*>(name), const_cast<char*>(signature), function};
  return WithoutException(jni, jni->RegisterNatives(type, &method, 1) == JNI_OK);
}

// An exported function of a library that the JVM has loaded; null if it has not.
void* FunctionOf(std::string_view library, const char* name) {
  struct Search {
    std::string ending;
    std::string path;
  } search{"/" + std::string(library), ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* searched = static_cast<Search*>(context);
        if (!std::string_view(info->dlpi_name).ends_with(searched->ending)) return 0;
        searched->path = info->dlpi_name;
        return 1;
      },
      &search);
  if (search.path.empty()) return nullptr;
  void* const handle = dlopen(search.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : dlsym(handle, name);  // stays open: the function is called for ever
}

struct ExportedMethod {
  TakenMethod method;
  const char* type;
  const char* name;
  const char* signature;
  std::string_view library;
  const char* function;
};

// A JVM may lack such a method, or not have bound it yet.
void BindExported(JNIEnv* jni, const ExportedMethod& exported) {
  void* const own = FunctionOf(exported.library, exported.function);
  if (own == nullptr || IsTaken(exported.method)) return;
  const jclass type = WithoutException(jni, jni->FindClass(exported.type));
  if (type == nullptr ||
      WithoutException(jni, jni->GetStaticMethodID(type, exported.name, exported.signature)) == nullptr)
    return;
  Bind(jni, type, exported.name, exported.signature, TakeMethod(exported.method, own));
}

// The JVM's function for a park has no name. Binding all methods of Unsafe again, as its class does itself,
// brings an event with the function, but only for a method that has another function by then.
bool BindPark(JNIEnv* jni) {
  const jclass unsafe = WithoutException(jni, jni->FindClass("jdk/internal/misc/Unsafe"));
  if (unsafe == nullptr) return false;
  const jmethodID bind_all = WithoutException(jni, jni->GetStaticMethodID(unsafe, "registerNatives", "()V"));
  if (bind_all == nullptr || !Bind(jni, unsafe, "park", "(ZJ)V", TakeMethod(TakenMethod::kPark, nullptr)))
    return false;
  jni->CallStaticVoidMethod(unsafe, bind_all);
  return WithoutException(jni, true) && IsTaken(TakenMethod::kPark);
}

bool g_is_bound = false;  // by the thread that calls BindMethodsInUse()

void JNICALL BindMethods(JNIEnv* jni, jclass) {
  g_is_bound = IsTaken(TakenMethod::kPark) || BindPark(jni);
  BindExported(jni, {TakenMethod::kEpollWait, "sun/nio/ch/EPoll", "wait", "(IJII)I", "libnio.so",
                     "Java_sun_nio_ch_EPoll_wait"});
  BindExported(jni, {TakenMethod::kAccess, "java/security/AccessController", "getStackAccessControlContext",
                     "()Ljava/security/AccessControlContext;", "libjava.so",
                     "Java_java_security_AccessController_getStackAccessControlContext"});
}

}  // namespace

bool BindMethodsInUse(JNIEnv* jni) {
  const jclass binding = WithoutException(
      jni, jni->DefineClass("lagwatch/Binding", nullptr, reinterpret_cast<const jbyte*>(kBindingClass),
                            sizeof kBindingClass));
  if (binding == nullptr) return false;
  const jmethodID bind = WithoutException(jni, jni->GetStaticMethodID(binding, "bind", "()V"));
  if (bind == nullptr || !Bind(jni, binding, "bindMethods", "()V", reinterpret_cast<void*>(&BindMethods)))
    return false;
  jni->CallStaticVoidMethod(binding, bind);
  return WithoutException(jni, g_is_bound);
}

}  // namespace lagwatch::sdk::jvm
