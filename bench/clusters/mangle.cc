// SPDX-License-Identifier: Apache-2.0
#include "bench/clusters/mangle.h"

#include <cinttypes>
#include <cstdio>
#include <vector>

namespace lagwatch::clusters {
namespace {

std::vector<std::string> Parts(const std::string& name) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>') --depth;
    if (depth > 0 || name.compare(at, 2, "::") != 0) continue;
    parts.push_back(name.substr(begin, at - begin));
    begin = ++at + 1;
  }
  parts.push_back(name.substr(begin));
  return parts;
}

std::string Identifier(const std::string& text) {
  if (text == "(anon)") return "12_GLOBAL__N_1";
  return std::to_string(text.size()) + text;
}

std::string Encoding(const std::string& name, const std::string& argument) {
  std::vector<std::string> parts = Parts(name);
  std::string text;
  for (const std::string& part : parts) text += part == "std" ? "St" : Identifier(part);
  if (!argument.empty()) text += "I" + argument + "E";
  if (parts.size() > 1) text = "N" + text + "E";
  return text + (argument.empty() ? "v" : "vv");
}

std::string EscapeRust(const std::string& part) {
  std::string text;
  for (size_t at = 0; at < part.size(); ++at) {
    char byte = part[at];
    if (byte == '<') {
      text += text.empty() ? "_$LT$" : "$LT$";
    } else if (byte == '>') {
      text += "$GT$";
    } else if (byte == ' ') {
      text += "$u20$";
    } else if (byte == '{') {
      text += text.empty() ? "_$u7b$" : "$u7b$";
    } else if (byte == '}') {
      text += "$u7d$";
    } else if (byte == ':') {
      text += "..";
      ++at;
    } else {
      text += byte;
    }
  }
  return text;
}

// In the newer way, the length of a name that could go on it ends with an underscore.
std::string RustIdentifier(const std::string& name) {
  const bool is_unclear = name.front() == '_' || (name.front() >= '0' && name.front() <= '9');
  return std::to_string(name.size()) + (is_unclear ? "_" : "") + name;
}

}  // namespace

std::string MangleCpp(const std::string& name, const std::string& argument) {
  return "_Z" + Encoding(name, argument);
}

LambdaSymbols MangleLambda(const std::string& name, int number, Compiler compiler) {
  const std::string ordinal = number == 1 ? "" : std::to_string(number - 2);
  const std::string lambda =
      compiler == Compiler::kGcc ? "UlvE" + ordinal + "_" : "3$_" + std::to_string(number - 1);
  const std::string within = "Z" + Encoding(name, "") + "E";
  LambdaSymbols symbols;
  symbols.call = "_ZZ" + Encoding(name, "") + "ENK" + lambda + "clEv";
  symbols.invoke = "_ZSt13__invoke_implIvR" + within + lambda + "JEET_St14__invoke_otherOT0_DpOT1_";
  symbols.handler =
      "_ZNSt17_Function_handlerIFvv" + std::string("E") + within + lambda + "E9_M_invokeERKSt9_Any_data";
  return symbols;
}

std::string MangleRust(const std::string& name, uint64_t hash, bool is_v0) {
  std::vector<std::string> parts = Parts(name);
  bool is_closure = parts.back() == "{{closure}}";
  if (is_v0 && name.front() != '<') {
    if (is_closure) parts.pop_back();
    std::string text = is_closure ? "_RNCNv" : "_RNv";
    for (size_t i = 2; i < parts.size(); ++i) text += "Nt";
    text += "Cs" + std::to_string(hash % 100000) + "_" + RustIdentifier(parts.front());
    for (size_t i = 1; i < parts.size(); ++i) text += RustIdentifier(parts[i]);
    return text + (is_closure ? "0" : "");
  }
  std::string text = "_ZN";
  for (const std::string& part : parts) text += Identifier(EscapeRust(part));
  char digits[24];
  std::snprintf(digits, sizeof digits, "17h%016" PRIx64 "E", hash);
  return text + digits;
}

}  // namespace lagwatch::clusters
