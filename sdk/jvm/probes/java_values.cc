// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/java_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>

namespace lagwatch::sdk::jvm {
namespace {

// A class of java.lang that holds a value of a primitive type in its field `value`.
struct Box {
  const char* name;
  const char* type;
  jclass of_class = nullptr;  // a global reference
  jfieldID value = nullptr;
};
Box g_boxes[] = {{"java/lang/Integer", "I"}, {"java/lang/Long", "J"},      {"java/lang/Boolean", "Z"},
                 {"java/lang/Double", "D"},  {"java/lang/Character", "C"}, {"java/lang/Short", "S"},
                 {"java/lang/Byte", "B"},    {"java/lang/Float", "F"}};

jvmtiEnv* g_value_tools = nullptr;  // as all of these, set before the first hit
jclass g_string = nullptr;
jclass g_enum = nullptr;
jfieldID g_enum_name = nullptr;

jclass KeepClass(JNIEnv* jni, const char* name) {
  const jclass type = jni->FindClass(name);
  return type == nullptr ? nullptr : static_cast<jclass>(jni->NewGlobalRef(type));
}

const Box* BoxOf(JNIEnv* jni, jobject object) {
  const auto is_it = [&](const Box& box) { return jni->IsInstanceOf(object, box.of_class) != JNI_FALSE; };
  const Box* const box = std::find_if(std::begin(g_boxes), std::end(g_boxes), is_it);
  return box == std::end(g_boxes) ? nullptr : box;
}

bool IsReal(const Box& box) { return *box.type == 'D' || *box.type == 'F'; }

double RealIn(JNIEnv* jni, const Box& box, jobject object) {
  return *box.type == 'D' ? jni->GetDoubleField(object, box.value)
                          : double{jni->GetFloatField(object, box.value)};
}

int64_t WholeIn(JNIEnv* jni, const Box& box, jobject object) {
  switch (*box.type) {
    case 'I':
      return jni->GetIntField(object, box.value);
    case 'J':
      return jni->GetLongField(object, box.value);
    case 'Z':
      return jni->GetBooleanField(object, box.value);
    case 'C':
      return jni->GetCharField(object, box.value);
    case 'S':
      return jni->GetShortField(object, box.value);
    case 'B':
      return jni->GetByteField(object, box.value);
    default:
      return static_cast<int64_t>(RealIn(jni, box, object));
  }
}

template <size_t kSize>
void CopyBox(JNIEnv* jni, const Box& box, jobject object, char (&to)[kSize]) {
  if (*box.type == 'Z') {
    std::strcpy(to, jni->GetBooleanField(object, box.value) != JNI_FALSE ? "true" : "false");
    return;
  }
  const std::to_chars_result end = IsReal(box) ? std::to_chars(to, to + kSize - 1, RealIn(jni, box, object))
                                               : std::to_chars(to, to + kSize - 1, WholeIn(jni, box, object));
  *end.ptr = '\0';
}

// In the JVM's form of UTF-8, which has at most 3 bytes a character.
template <size_t kSize>
void CopyString(JNIEnv* jni, jstring text, char (&to)[kSize]) {
  constexpr jsize kMostCharacters = (kSize - 1) / 3;
  std::memset(to, 0, kSize);
  jni->GetStringUTFRegion(text, 0, std::min(jni->GetStringLength(text), kMostCharacters), to);
}

}  // namespace

bool PrepareJavaValues(jvmtiEnv* tools, JNIEnv* jni) {
  if (g_value_tools != nullptr) return true;
  for (Box& box : g_boxes) {
    box.of_class = KeepClass(jni, box.name);
    box.value = box.of_class == nullptr ? nullptr : jni->GetFieldID(box.of_class, "value", box.type);
    if (box.value == nullptr) return false;
  }
  g_string = KeepClass(jni, "java/lang/String");
  g_enum = g_string == nullptr ? nullptr : KeepClass(jni, "java/lang/Enum");
  g_enum_name = g_enum == nullptr ? nullptr : jni->GetFieldID(g_enum, "name", "Ljava/lang/String;");
  if (g_enum_name == nullptr) return false;
  g_value_tools = tools;
  return true;
}

uint64_t NumberOfObject(JNIEnv* jni, jobject object) {
  if (object == nullptr) return 0;
  if (const Box* box = BoxOf(jni, object)) return static_cast<uint64_t>(WholeIn(jni, *box, object));
  jint hash = 0;
  if (g_value_tools->GetObjectHashCode(object, &hash) != JVMTI_ERROR_NONE) return 0;
  return static_cast<uint32_t>(hash);
}

TextOfObject::TextOfObject(JNIEnv* jni, jobject object) {
  if (object == nullptr) {
    std::strcpy(bytes_, "null");
  } else if (jni->IsInstanceOf(object, g_string) != JNI_FALSE) {
    CopyString(jni, static_cast<jstring>(object), bytes_);
  } else if (const Box* box = BoxOf(jni, object)) {
    CopyBox(jni, *box, object, bytes_);
  } else if (jni->IsInstanceOf(object, g_enum) != JNI_FALSE) {
    auto* const name = static_cast<jstring>(jni->GetObjectField(object, g_enum_name));
    if (name != nullptr) CopyString(jni, name, bytes_);
    if (name == nullptr) std::strcpy(bytes_, "null");
    jni->DeleteLocalRef(name);
  } else {
    CopyClassName(jni, object, bytes_);
  }
}

void CopyClassName(JNIEnv* jni, jobject object, char (&name)[probe::kMaxTextBytes]) {
  const jclass type = jni->GetObjectClass(object);
  char* signature = nullptr;  // "Ljava/lang/IllegalStateException;", "[I"
  name[0] = '\0';
  if (g_value_tools->GetClassSignature(type, &signature, nullptr) == JVMTI_ERROR_NONE) {
    std::string_view text = signature;
    if (text.starts_with('L')) text = text.substr(1, text.size() - 2);
    text = text.substr(0, sizeof name - 1);
    *std::replace_copy(text.begin(), text.end(), name, '/', '.') = '\0';
    g_value_tools->Deallocate(reinterpret_cast<unsigned char*>(signature));
  }
  jni->DeleteLocalRef(type);
}

}  // namespace lagwatch::sdk::jvm
