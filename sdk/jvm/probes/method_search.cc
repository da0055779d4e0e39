// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/method_search.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/command_line/nearest_word.h"
#include "sdk/jvm/probes/tool_text.h"
#include "sdk/jvm/probes/weaver.h"
#include "trace/instrument/function_filter.h"

namespace lagwatch::sdk::jvm {
namespace {

constexpr jint kStatic = 0x8;
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

// "(long, java.lang.String[])"
std::string ReadableParameters(std::string_view descriptor) {
  constexpr std::pair<char, const char*> kPrimitives[] = {{'Z', "boolean"}, {'B', "byte"},  {'C', "char"},
                                                          {'S', "short"},   {'I', "int"},   {'J', "long"},
                                                          {'F', "float"},   {'D', "double"}};
  std::string text = "(";
  size_t arrays = 0;
  for (size_t at = 1; at < descriptor.size() && descriptor[at] != ')'; ++at) {
    if (descriptor[at] == '[') {
      ++arrays;
      continue;
    }
    std::string type;
    if (descriptor[at] == 'L') {
      const size_t end = std::min(descriptor.find(';', at), descriptor.size() - 1);
      type = descriptor.substr(at + 1, end - at - 1);
      std::ranges::replace(type, '/', '.');
      at = end;
    } else {
      for (const auto& [letter, name] : kPrimitives) {
        if (letter == descriptor[at]) type = name;
      }
    }
    text += (text.size() > 1 ? ", " : "") + type;
    for (; arrays > 0; --arrays) text += "[]";
  }
  return text + ")";
}

// The reason why an argument cannot be read; empty: it can. `whole` are the kinds of those that are no
// floating-point numbers.
std::string WhyNoArgument(const probe::VerifiedProbe& probe, size_t number, const std::string& whole,
                          const MethodSearch::Method& method) {
  if (number >= probe::kJavaThis) {
    if ((method.modifiers & kStatic) != 0) return "it is static, and has no this";
    const bool is_early = probe.place().kind == probe::PlaceKind::kEntry && method.method.name == "<init>";
    return is_early ? "a constructor's object is not there at its beginning: ask at @return" : "";
  }
  const bool is_text = number >= probe::kJavaNumbers;
  const size_t index = number % probe::kJavaNumbers;
  if (index >= whole.size()) return "it has fewer arguments than the script reads";
  return is_text && whole[index] == 'I' ? "an argument that the script reads as a text is a number" : "";
}

std::string WhyNotReturned(size_t number, char returned) {
  if (number == probe::kJavaReturnedText)
    return returned == 'T' || returned == 'O' ? "" : "it returns no object";
  return returned == 'F' || returned == 'V' ? "it returns no whole number and no object" : "";
}

// Whether the script reads what the method has; else the reason.
std::string WhyNoValues(const probe::VerifiedProbe& probe, const MethodSearch::Method& method) {
  std::string kinds = KindsOf(method.method.descriptor);
  const char returned = kinds.empty() ? 'V' : kinds.back();
  if (!kinds.empty()) kinds.pop_back();
  std::string whole = kinds;
  std::erase(whole, 'F');
  const size_t floats = kinds.size() - whole.size();
  for (const probe::Operation& operation : probe.operations()) {
    const auto index = static_cast<size_t>(operation.number);
    std::string why;
    switch (operation.code) {
      case probe::OperationCode::kReadArgument:
        why = WhyNoArgument(probe, index, whole, method);
        break;
      case probe::OperationCode::kReadFloatArgument:
      case probe::OperationCode::kReadFloat32Argument:
        if (index >= floats) why = "it has fewer floating-point arguments than the script reads";
        break;
      case probe::OperationCode::kReadReturned:
        why = WhyNotReturned(index, returned);
        break;
      case probe::OperationCode::kReadReturnedFloat:
      case probe::OperationCode::kReadReturnedFloat32:
        if (returned != 'F') why = "it returns no floating-point number";
        break;
      default:
        break;
    }
    if (!why.empty()) return why;
  }
  return "";
}

std::string WhyNoProbe(const probe::VerifiedProbe& probe) {
  const uint32_t needs = probe.needs();
  const probe::PlaceKind kind = probe.place().kind;
  constexpr probe::Places kServed = At(probe::PlaceKind::kEntry) | At(probe::PlaceKind::kReturn) |
                                    At(probe::PlaceKind::kError) | At(probe::PlaceKind::kDuration);
  if (kind == probe::PlaceKind::kCall) return "calls of a method's are asked for by its callers' @call";
  const bool has_arguments = (needs & (probe::kNeedsIntArguments | probe::kNeedsFloatArguments)) != 0;
  if (has_arguments && (At(kind) & kServed) == 0)
    return "arguments of Java methods are known at @entry, @return, @error and @duration only";
  if ((needs & probe::kNeedsStackArguments) != 0) return "a Java method has at most 6 such arguments";
  return "";
}

// The part before `end`, or all; it and `end` are taken off.
std::string_view TakeUntil(char end, std::string_view* rest) {
  const std::string_view part = rest->substr(0, rest->find(end));
  rest->remove_prefix(std::min(part.size() + 1, rest->size()));
  return part;
}

std::string Nearest(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = base::NearestWord(name, names);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace

MethodPattern::MethodPattern(const probe::Place& place)
    : type_(place.name.substr(0, place.name.rfind("::"))),
      method_(place.name.substr(std::min(type_.size() + 2, place.name.size()))),
      is_exact_(place.pattern == probe::PatternKind::kQuoted) {}

bool MethodPattern::Matches(const std::string& pattern, const std::string& name) const {
  return is_exact_ ? pattern == name : trace::MatchesGlob(pattern, name);
}

bool IsBridge(jint modifiers) { return (modifiers & kBridge) != 0; }

std::string WhyNoMethod(const probe::VerifiedProbe* probe, const FoundMethod& method, jint modifiers) {
  if ((modifiers & (kNative | kAbstract)) != 0) return "it has no bytecode (native or abstract)";
  return probe == nullptr ? "" : WhyNoValues(*probe, {.method = method, .modifiers = modifiers});
}

MethodSearch::MethodSearch(jvmtiEnv* tools, JNIEnv* jni, const Weaver& weaver)
    : tools_(tools), jni_(jni), weaver_(weaver) {
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

bool MethodSearch::Wanted::Matches(const std::string& pattern, const std::string& name) const {
  return is_exact ? pattern == name : trace::MatchesGlob(pattern, name);
}

void MethodSearch::Find(const probe::VerifiedProbe& probe, FoundMethods* found) const {
  const probe::Place& place = probe.place();
  const bool is_regex = place.pattern == probe::PatternKind::kRegex;
  found->why_none = place.name.find("::") == place.name.npos && !is_regex
                        ? "a Java method is named CLASS::METHOD"
                        : WhyNoProbe(probe);
  if (found->why_none.empty()) FindAt(place, &probe, found);
}

void MethodSearch::FindAt(const probe::Place& place, const probe::VerifiedProbe* probe,
                          FoundMethods* found) const {
  if (place.pattern == probe::PatternKind::kRegex) return FindMatching(place.name, probe, found);
  const size_t mark = place.name.rfind("::");
  Wanted wanted{.type = place.name.substr(0, mark),
                .method = place.name.substr(mark + 2),
                .is_exact = place.pattern == probe::PatternKind::kQuoted,
                .probe = probe};
  const char kind = wanted.type.empty() ? '\0' : wanted.type.front();
  if (kind == '+' || kind == '@') wanted.type.erase(0, 1);
  if (kind == '+') {
    FindSubtypes(wanted, found);
  } else if (kind == '@') {
    FindAnnotated(wanted, found);
  } else {
    FindNamed(wanted, found);
  }
}

void MethodSearch::FindNamed(const Wanted& wanted, FoundMethods* found) const {
  bool is_known = false;
  bool has_method = false;
  std::vector<std::string> names;
  for (const Loaded& loaded : classes_) {
    if (!wanted.Matches(wanted.type, loaded.name)) continue;
    is_known = true;
    has_method |= FindIn(loaded, wanted, found, &names);
  }
  if (!is_known) {
    found->why_none = NoClass(wanted.type);
  } else if (!has_method) {
    found->why_none =
        "class " + wanted.type + " has no method '" + wanted.method + "'" + Nearest(wanted.method, names);
  }
}

void MethodSearch::FindSubtypes(const Wanted& wanted, FoundMethods* found) const {
  std::vector<jclass> bases;
  for (const Loaded& loaded : classes_) {
    if (wanted.Matches(wanted.type, loaded.name)) bases.push_back(loaded.type);
  }
  if (bases.empty()) {
    found->why_none = NoClass(wanted.type);
    return;
  }
  bool has_method = false;
  std::vector<std::string> names;
  for (const Loaded& loaded : classes_) {
    const bool is_one = std::ranges::any_of(
        bases, [&](jclass base) { return jni_->IsAssignableFrom(loaded.type, base) != JNI_FALSE; });
    if (is_one) has_method |= FindIn(loaded, wanted, found, &names);
  }
  if (!has_method) {
    found->why_none = "no class below " + wanted.type + " has a method '" + wanted.method + "' of its own" +
                      Nearest(wanted.method, names);
  }
}

void MethodSearch::FindAnnotated(const Wanted& wanted, FoundMethods* found) const {
  for (const Loaded& loaded : classes_) {
    if (!WhyNoClass(loaded.type).empty()) continue;
    const auto annotations = weaver_.AnnotationsOf(jni_, loaded.type);
    if (annotations.ok()) {
      FindAnnotatedIn(loaded, *annotations, wanted, found);
    } else {
      found->refuse(loaded.name, annotations.status().message());
    }
  }
  if (found->classes.empty()) {
    found->why_none = "no method '" + wanted.method + "' has the annotation " + wanted.type +
                      ", or it is not kept at run time";
  }
}

void MethodSearch::FindAnnotatedIn(const Loaded& loaded, const std::string& annotations, const Wanted& wanted,
                                   FoundMethods* found) const {
  std::string_view rest = annotations;
  while (!rest.empty()) {
    std::string_view line = TakeUntil('\n', &rest);
    const std::string annotation(TakeUntil(' ', &line));
    const std::string name(TakeUntil(' ', &line));
    const std::string descriptor(line);
    if (!wanted.Matches(wanted.type, annotation)) continue;
    std::vector<std::string> names;
    if (name.empty()) {  // of the class
      FindIn(loaded, wanted, found, &names);
    } else if (wanted.Matches(wanted.method, name)) {
      Wanted one = wanted;
      one.method = name;
      one.descriptor = descriptor;
      one.is_exact = true;
      FindIn(loaded, one, found, &names);
    }
  }
}

void MethodSearch::FindMatching(const std::string& expression, const probe::VerifiedProbe* probe,
                                FoundMethods* found) const {
  std::vector<std::pair<const Loaded*, std::string>> methods;
  std::string names;
  for (const Loaded& loaded : classes_) {
    if (!WhyNoClass(loaded.type).empty()) continue;
    std::vector<std::string> of_class;
    for (const Method& each : MethodsOf(loaded)) of_class.push_back(each.method.name);
    std::ranges::sort(of_class);
    of_class.erase(std::ranges::unique(of_class).begin(), of_class.end());
    for (std::string& name : of_class) {
      names += loaded.name + "::" + name + "\n";
      methods.emplace_back(&loaded, std::move(name));
    }
  }
  const auto matching = weaver_.Matching(jni_, expression, names);
  if (!matching.ok()) {
    found->why_none = matching.status().message();
    return;
  }
  for (size_t i = 0; i < std::min(methods.size(), matching->size()); ++i) {
    if ((*matching)[i] != 'x') continue;
    std::vector<std::string> other;
    FindIn(*methods[i].first, {.type = {}, .method = methods[i].second, .is_exact = true, .probe = probe},
           found, &other);
  }
  if (matching->find('x') == std::string::npos)
    found->why_none = "the expression is found in no CLASS::METHOD of the program's";
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
  const bool is_own = jni_->IsSameObject(loader, weaver_.loader()) != JNI_FALSE;
  jni_->DeleteLocalRef(loader);
  if (is_own) return "it is a class of lagwatch's own";
  if (tools_->IsModifiableClass(type, &is_modifiable) != JVMTI_ERROR_NONE || is_modifiable == JNI_FALSE)
    return "the JVM does not let its class be changed (a hidden class)";
  return "";
}

std::vector<MethodSearch::Method> MethodSearch::MethodsOf(const Loaded& loaded) const {
  jint count = 0;
  jmethodID* ids = nullptr;
  if (tools_->GetClassMethods(loaded.type, &count, &ids) != JVMTI_ERROR_NONE) return {};
  std::vector<Method> methods;
  for (const jmethodID id : std::span(ids, static_cast<size_t>(count))) {
    char* name = nullptr;
    char* descriptor = nullptr;
    jint modifiers = 0;
    if (tools_->GetMethodName(id, &name, &descriptor, nullptr) != JVMTI_ERROR_NONE) continue;
    FoundMethod method{
        .id = id, .name = TakeToolText(tools_, name), .descriptor = TakeToolText(tools_, descriptor)};
    if (tools_->GetMethodModifiers(id, &modifiers) == JVMTI_ERROR_NONE && !IsBridge(modifiers))
      methods.push_back({std::move(method), modifiers});
  }
  tools_->Deallocate(reinterpret_cast<unsigned char*>(ids));
  return methods;
}

base::Result<std::vector<ExaminedMethod>> MethodSearch::Examine(const std::string& pattern) const {
  constexpr jint kNearLimit = 7'900;  // of 8,000, of which a probe takes a part
  std::vector<ExaminedMethod> methods;
  FoundMethods found;
  found.refuse = [&](const std::string& name, const std::string& why) {
    methods.push_back({.name = name, .why_not = why, .caution = {}});
  };
  probe::Place place;
  place.name = pattern;
  if (pattern.size() > 2 && pattern.starts_with('/') && pattern.ends_with('/')) {
    place.pattern = probe::PatternKind::kRegex;
    place.name = pattern.substr(1, pattern.size() - 2);
  } else if (pattern.find("::") == pattern.npos) {
    place.name += "::*";
  }
  FindAt(place, nullptr, &found);
  if (!found.why_none.empty()) return base::Status(base::StatusCode::kNotFound, found.why_none);
  for (const FoundClass& of : found.classes) {
    for (const FoundMethod& each : of.methods) {
      jint size = 0;
      unsigned char* bytes = nullptr;
      if (tools_->GetBytecodes(each.id, &size, &bytes) == JVMTI_ERROR_NONE) tools_->Deallocate(bytes);
      methods.push_back({.name = of.name + "::" + each.name + ReadableParameters(each.descriptor),
                         .why_not = {},
                         .caution = size > kNearLimit
                                        ? "if that adds not too much to its " + std::to_string(size) +
                                              " bytes: the JVM compiles at most 8000"
                                        : ""});
    }
  }
  return methods;
}

bool MethodSearch::FindIn(const Loaded& loaded, const Wanted& wanted, FoundMethods* found,
                          std::vector<std::string>* names) const {
  if (const std::string why = WhyNoClass(loaded.type); !why.empty()) {
    found->refuse(loaded.name, why);
    return true;  // it may have such a method
  }
  bool is_known = false;
  FoundClass in_class{.type = loaded.type, .name = loaded.name, .methods = {}};
  for (Method& each : MethodsOf(loaded)) {
    names->push_back(each.method.name);
    const bool is_meant = wanted.Matches(wanted.method, each.method.name) &&
                          (wanted.descriptor.empty() || wanted.descriptor == each.method.descriptor);
    if (!is_meant) continue;
    is_known = true;
    const std::string why = WhyNoMethod(wanted.probe, each.method, each.modifiers);
    if (why.empty()) {
      in_class.methods.push_back(std::move(each.method));
    } else {
      found->refuse(loaded.name + "::" + each.method.name, why);
    }
  }
  if (!in_class.methods.empty()) found->classes.push_back(std::move(in_class));
  return is_known;
}

}  // namespace lagwatch::sdk::jvm
