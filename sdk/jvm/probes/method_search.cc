// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/method_search.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/command_line/nearest_word.h"
#include "trace/instrument/function_filter.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr jint kBridge = 0x40;
constexpr jint kNative = 0x100;
constexpr jint kAbstract = 0x400;

// A letter a type of "(ILjava/lang/String;)V": I whole number, F floating-point one, T String, O another
// object, V nothing. The last one is the returned value's.
std::string KindsOf(std::string_view descriptor) {
  std::string kinds;
  for (size_t at = 1; at < descriptor.size();) {
    if (descriptor[at] == ')') {
      ++at;
      continue;
    }
    const size_t element = std::min(descriptor.find_first_not_of('[', at), descriptor.size() - 1);
    const size_t end = descriptor[element] == 'L' ? descriptor.find(';', element) : element;
    const std::string_view type = descriptor.substr(at, end == descriptor.npos ? end : end + 1 - at);
    const bool is_object = type[0] == '[' || type[0] == 'L';
    kinds += type == "Ljava/lang/String;" ? 'T'
             : is_object                  ? 'O'
             : type == "F" || type == "D" ? 'F'
             : type == "V"                ? 'V'
                                          : 'I';
    at += type.size();
  }
  return kinds;
}

// Whether the script reads what a method of that descriptor has; else the reason.
std::string WhyNoValues(const probe::VerifiedProbe& probe, std::string_view descriptor) {
  std::string kinds = KindsOf(descriptor);
  const char returned = kinds.empty() ? 'V' : kinds.back();
  if (!kinds.empty()) kinds.pop_back();
  std::string whole = kinds;
  std::erase(whole, 'F');
  const size_t floats = kinds.size() - whole.size();
  for (const probe::Operation& operation : probe.operations()) {
    const auto index = static_cast<size_t>(operation.number);
    switch (operation.code) {
      case probe::OperationCode::kReadArgument:
        if (index >= whole.size()) return "it has fewer arguments than the script reads";
        if (whole[index] == 'O') return "an argument that the script reads is no number and no String";
        break;
      case probe::OperationCode::kReadFloatArgument:
      case probe::OperationCode::kReadFloat32Argument:
        if (index >= floats) return "it has fewer floating-point arguments than the script reads";
        break;
      case probe::OperationCode::kReadReturned:
        if (returned != 'I' && returned != 'T') return "it returns no whole number and no String";
        break;
      case probe::OperationCode::kReadReturnedFloat:
      case probe::OperationCode::kReadReturnedFloat32:
        if (returned != 'F') return "it returns no floating-point number";
        break;
      default:
        break;
    }
  }
  return "";
}

std::string WhyNoProbe(const probe::VerifiedProbe& probe) {
  const uint32_t needs = probe.needs();
  const probe::PlaceKind kind = probe.place().kind;
  constexpr probe::Places kServed = At(probe::PlaceKind::kEntry) | At(probe::PlaceKind::kReturn) |
                                    At(probe::PlaceKind::kError) | At(probe::PlaceKind::kDuration);
  if ((At(kind) & kServed) == 0) return "methods have @entry, @return, @error and @duration only";
  if ((needs & (probe::kNeedsStack | probe::kNeedsCaller)) != 0)
    return "stacks and callers of Java methods cannot be read by this version";
  if ((needs & probe::kNeedsStackArguments) != 0) return "a Java method has at most 6 such arguments";
  const bool has_arguments = (needs & (probe::kNeedsIntArguments | probe::kNeedsFloatArguments)) != 0;
  if (has_arguments && kind != probe::PlaceKind::kEntry)
    return "arguments of Java methods are known at @entry only";
  return "";
}

std::string Nearest(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = base::NearestWord(name, names);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace

std::string TakeToolText(jvmtiEnv* tools, char* text) {
  if (text == nullptr) return "";
  std::string copy = text;
  tools->Deallocate(reinterpret_cast<unsigned char*>(text));
  return copy;
}

MethodSearch::MethodSearch(jvmtiEnv* tools, JNIEnv* jni, jobject own_loader)
    : tools_(tools), jni_(jni), own_loader_(own_loader) {
  jint count = 0;
  jclass* classes = nullptr;
  if (tools->GetLoadedClasses(&count, &classes) != JVMTI_ERROR_NONE) return;
  for (const jclass type : std::span(classes, static_cast<size_t>(count))) {
    // The JVM crashes when it is asked for the methods of a class that is not prepared.
    jint status = 0;
    char* signature = nullptr;
    const bool is_prepared = tools->GetClassStatus(type, &status) == JVMTI_ERROR_NONE &&
                             (status & JVMTI_CLASS_STATUS_PREPARED) != 0;
    if (!is_prepared || tools->GetClassSignature(type, &signature, nullptr) != JVMTI_ERROR_NONE) continue;
    std::string name = TakeToolText(tools, signature);
    if (name.size() < 3 || name.front() != 'L') continue;
    name = name.substr(1, name.size() - 2);
    std::ranges::replace(name, '/', '.');
    classes_.push_back({type, std::move(name)});
  }
  tools->Deallocate(reinterpret_cast<unsigned char*>(classes));
}

std::vector<FoundClass> MethodSearch::Find(const probe::VerifiedProbe& probe, std::string* why) const {
  const std::string& place = probe.place().name;
  const size_t mark = place.rfind("::");
  *why = mark == place.npos ? "a Java method is named CLASS::METHOD" : WhyNoProbe(probe);
  if (!why->empty()) return {};
  const std::string class_name = place.substr(0, mark);
  const std::string method = place.substr(mark + 2);
  std::vector<FoundClass> found;
  bool is_known = false;
  for (const Loaded& loaded : classes_) {
    if (!trace::MatchesGlob(class_name, loaded.name)) continue;
    is_known = true;
    std::string reason = WhyNoClass(loaded.type);
    FoundClass in_class;
    if (reason.empty()) in_class = FindIn(loaded, method, probe, &reason);
    if (!in_class.methods.empty()) found.push_back(std::move(in_class));
    if (why->empty()) *why = std::move(reason);
  }
  if (!is_known) *why = NoClass(class_name);
  return found;
}

std::string MethodSearch::NoClass(const std::string& name) const {
  std::vector<std::string> names;
  for (const Loaded& loaded : classes_) names.push_back(loaded.name);
  return "the JVM has loaded no class '" + name + "'" + Nearest(name, names);
}

std::string MethodSearch::WhyNoClass(jclass type) const {
  jobject loader = nullptr;
  jboolean is_modifiable = JNI_FALSE;
  if (tools_->GetClassLoader(type, &loader) != JVMTI_ERROR_NONE) return "its class is gone";
  // A JVM of version 17 does not verify what these classes become, and has code of its own for some methods.
  if (loader == nullptr) return "it is a class of the JVM's own (of its boot loader)";
  if (jni_->IsSameObject(loader, own_loader_) != JNI_FALSE) return "it is a class of lagwatch's own";
  if (tools_->IsModifiableClass(type, &is_modifiable) != JVMTI_ERROR_NONE || is_modifiable == JNI_FALSE)
    return "the JVM does not let its class be changed (a hidden class)";
  return "";
}

FoundClass MethodSearch::FindIn(const Loaded& loaded, const std::string& method,
                                const probe::VerifiedProbe& probe, std::string* why) const {
  FoundClass found{.type = loaded.type, .methods = {}};
  std::vector<std::string> names;
  bool is_known = false;
  jint count = 0;
  jmethodID* methods = nullptr;
  if (tools_->GetClassMethods(loaded.type, &count, &methods) != JVMTI_ERROR_NONE) return found;
  for (const jmethodID id : std::span(methods, static_cast<size_t>(count))) {
    char* name_text = nullptr;
    char* descriptor_text = nullptr;
    jint modifiers = 0;
    if (tools_->GetMethodName(id, &name_text, &descriptor_text, nullptr) != JVMTI_ERROR_NONE) continue;
    const std::string name = TakeToolText(tools_, name_text);
    const std::string descriptor = TakeToolText(tools_, descriptor_text);
    // A bridge calls the method that is meant.
    if (tools_->GetMethodModifiers(id, &modifiers) != JVMTI_ERROR_NONE || (modifiers & kBridge) != 0)
      continue;
    names.push_back(name);
    if (!trace::MatchesGlob(method, name)) continue;
    is_known = true;
    std::string reason = (modifiers & (kNative | kAbstract)) != 0 ? "it has no bytecode (native or abstract)"
                                                                  : WhyNoValues(probe, descriptor);
    if (reason.empty()) found.methods.push_back({id, name, descriptor});
    if (why->empty()) *why = std::move(reason);
  }
  tools_->Deallocate(reinterpret_cast<unsigned char*>(methods));
  if (!is_known) *why = "class " + loaded.name + " has no method '" + method + "'" + Nearest(method, names);
  return found;
}

}  // namespace lagwatch::sdk::jvm
