// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/names/function_name.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <utility>

namespace lagwatch::collector {
namespace {

constexpr size_t kMaxMangledBytes = 4096;
constexpr size_t kMaxDemangledBytes = 64 * 1024;

bool IsIdentifierByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         byte == '_' || byte == '$';
}

// Suffixes that compilers add to a function's name for a copy or a part of it, or a coroutine's; most of them
// are followed by a number.
constexpr std::array<std::string_view, 14> kCloneSuffixes = {
    ".constprop", ".isra",      ".part",   ".cold",  ".lto_priv", ".localalias", ".llvm",
    ".clone",     ".simdclone", ".__uniq", ".actor", ".resume",   ".destroy",    ".cleanup"};

// Suffixes are taken off the end, so that a name which only begins like one of them, "a.partition", keeps it.
std::string_view WithoutCloneSuffixes(std::string_view symbol) {
  for (;;) {
    size_t end = symbol.find_last_not_of("0123456789");
    bool is_numbered = end != std::string_view::npos && end + 1 < symbol.size() && symbol[end] == '.';
    std::string_view word = is_numbered ? symbol.substr(0, end) : symbol;
    auto suffix = std::find_if(kCloneSuffixes.begin(), kCloneSuffixes.end(),
                               [&](std::string_view each) { return word.ends_with(each); });
    if (suffix == kCloneSuffixes.end() || suffix->size() == word.size()) return symbol;
    symbol = word.substr(0, word.size() - suffix->size());
  }
}

// A short mangled name may stand for gigabytes of text, so it is taken piece by piece and given up
// past a limit.
struct DemangledText {
  std::string text;
  std::jmp_buf too_long;
};

// libiberty is C and owns nothing during this call, except the bytes of an identifier that is not ASCII.
void AddPiece(const char* piece, size_t size_bytes, void* opaque) {
  auto* demangled = static_cast<DemangledText*>(opaque);
  const std::string_view text(piece, size_bytes);
  if (demangled->text.size() + size_bytes <= kMaxDemangledBytes) {
    demangled->text += text;
  } else if (std::ranges::all_of(text, [](char byte) { return static_cast<signed char>(byte) >= 0; })) {
    std::longjmp(demangled->too_long, 1);
  }
}

// Rust's older names are C++'s with a hash at the end.
bool IsRust(std::string_view symbol) {
  constexpr std::string_view kHash = "17h0123456789abcdefE";
  if (symbol.starts_with("_R")) return true;
  if (!symbol.starts_with("_ZN") || symbol.size() < kHash.size() || !symbol.ends_with('E')) return false;
  std::string_view hash = symbol.substr(symbol.size() - kHash.size());
  return hash.starts_with("17h") &&
         hash.substr(3, 16).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Empty when `symbol` is no mangled name.
std::string Demangle(const std::string& symbol, bool is_rust) {
  if ((!symbol.starts_with("_Z") && !is_rust) || symbol.size() > kMaxMangledBytes) return "";
  DemangledText demangled;
  // Leaving a callback is the only way to stop libiberty.
  if (setjmp(demangled.too_long) != 0) return "";
  bool is_good = (is_rust ? rust_demangle_callback(symbol.c_str(), 0, AddPiece, &demangled)
                          : cplus_demangle_v3_callback(symbol.c_str(), DMGL_PARAMS | DMGL_TYPES, AddPiece,
                                                       &demangled)) != 0;
  return is_good ? demangled.text : "";
}

// A procedure of a Fortran module, as gfortran writes it: "__grid_MOD_sweep". Its names have no capitals.
std::string WithFortranModule(std::string_view symbol) {
  constexpr std::string_view kStart = "__";
  constexpr std::string_view kModule = "_MOD_";
  const size_t at = symbol.find(kModule);
  if (!symbol.starts_with(kStart) || at == std::string_view::npos || at <= kStart.size()) return "";
  const std::string_view procedure = symbol.substr(at + kModule.size());
  if (procedure.empty()) return "";
  return std::string(symbol.substr(kStart.size(), at - kStart.size())) + "::" + std::string(procedure);
}

// A method as gcc writes it: "_i_Cart__addItem_count_" is "-[Cart addItem:count:]", "_c_Cart_Prices_load" of
// a category "+[Cart(Prices) load]". Classes begin with a capital, which keeps functions of C out. An
// underscore in a selector looks like a colon and becomes one.
std::string WithObjectiveCMethod(std::string_view symbol) {
  const bool is_method = symbol.starts_with("_i_") || symbol.starts_with("_c_");
  if (!is_method || symbol.size() < 4 || symbol[3] < 'A' || symbol[3] > 'Z') return "";
  std::string_view rest = symbol.substr(3);
  const size_t class_end = rest.find('_');
  const size_t category_end = rest.find('_', std::min(class_end, rest.size() - 1) + 1);
  if (class_end == rest.npos || category_end == rest.npos || category_end + 1 == rest.size()) return "";
  std::string name(symbol[1] == 'i' ? "-[" : "+[");
  name += rest.substr(0, class_end);
  if (const auto category = rest.substr(class_end + 1, category_end - class_end - 1); !category.empty())
    name.append("(").append(category).append(")");
  std::string selector(rest.substr(category_end + 1));
  std::replace(selector.begin() + 1, selector.end(), '_', ':');  // a first one is part of the name
  return name.append(" ").append(selector).append("]");
}

// The begin of the group of parentheses that ends `text`; its size when there is none.
size_t LastGroup(std::string_view text) {
  int depth = 0;
  for (size_t at = text.size(); text.ends_with(')') && at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at;
  }
  return text.size();
}

// A function of D, without its parameters. References to earlier parts make a name longer with each: names
// with many, like long ones, stay as they are.
std::string WithDModule(const std::string& symbol) {
  constexpr size_t kMaxBytes = 512;
  constexpr auto kMaxReferences = 12;
  const bool is_mangled = symbol == "_Dmain" || (symbol.starts_with("_D") && symbol.size() > 2 &&
                                                 symbol[2] >= '1' && symbol[2] <= '9');
  if (!is_mangled || symbol.size() > kMaxBytes || std::ranges::count(symbol, 'Q') > kMaxReferences) return "";
  const std::unique_ptr<char, decltype(&std::free)> text(dlang_demangle(symbol.c_str(), 0), &std::free);
  if (text == nullptr) return "";
  std::string_view name = text.get();
  for (const std::string_view attribute : {" const", " immutable", " shared", " inout"})
    if (name.ends_with(attribute)) name.remove_suffix(attribute.size());
  return std::string(name.substr(0, LastGroup(name)));
}

// Tags stand wherever a tagged function or type is named, in template arguments too.
std::string WithoutAbiTags(std::string text) {
  constexpr std::string_view kTag = "[abi:";
  for (size_t tag = 0; (tag = text.find(kTag, tag)) != std::string::npos;) {
    text.erase(tag, std::min(text.find(']', tag), text.size() - 1) + 1 - tag);
  }
  return text;
}

// Walks over a demangled function once, keeping what belongs to its name.
class NameShortener {
 public:
  explicit NameShortener(std::string_view text) : text_(text) {}

  std::string Shorten() {
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '<':
        case '{':
          Keep(EndOfGroup(at_));
          break;
        case '(':
          if (Follows("(anonymous namespace)")) {
            Keep(EndOfGroup(at_));
          } else if (!SkipParameters()) {
            at_ = text_.size();
          }
          break;
        case ' ':  // what stood before was the return type
          ++at_;
          name_.clear();
          break;
        default:
          IsOperator(at_) ? KeepOperator() : Keep(at_ + 1);
      }
    }
    return name_.empty() ? std::string(text_) : name_;
  }

 private:
  bool Follows(std::string_view expected) const { return text_.substr(at_).starts_with(expected); }

  void Keep(size_t end) {
    name_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  bool IsOperator(size_t at) const {
    constexpr std::string_view kWord = "operator";
    return text_.substr(at).starts_with(kWord) && (at == 0 || !IsIdentifierByte(text_[at - 1])) &&
           (at + kWord.size() == text_.size() || !IsIdentifierByte(text_[at + kWord.size()]));
  }

  // The end of the operator at `at`: `operator<<`, but also `operator new[]` and `operator std::vector<int>`.
  size_t EndOfOperator(size_t at) const {
    constexpr std::array<std::string_view, 14> kLong = {"<=>", "<<=", ">>=", "->*", "()", "[]", "<<",
                                                        ">>",  "<=",  ">=",  "->",  "++", "--", "&&"};
    at += std::string_view("operator").size();
    std::string_view rest = text_.substr(at);
    if (rest.starts_with(' ') || rest.starts_with('"')) {
      size_t end = at;
      while (end < text_.size() && text_[end] != '(') end = text_[end] == '<' ? EndOfGroup(end) : end + 1;
      return end;
    }
    auto token = std::find_if(kLong.begin(), kLong.end(), [&](auto each) { return rest.starts_with(each); });
    if (token != kLong.end()) return at + token->size();
    size_t length = rest.starts_with("||") || (rest.size() > 1 && rest[1] == '=') ? 2 : 1;
    return at + std::min(length, rest.size());
  }

  void KeepOperator() {
    Keep(EndOfOperator(at_));
    if (Follows(" <")) Keep(at_ + 1);
  }

  // Past the bracket that closes the one at `at`. An angle bracket that closes nothing is a comparison
  // or an arrow.
  size_t EndOfGroup(size_t at) const {
    std::string open;
    while (at < text_.size()) {
      if (IsOperator(at)) {
        at = EndOfOperator(at);
        continue;
      }
      char byte = text_[at++];
      if (byte == '<' || byte == '(' || byte == '{' || byte == '[') {
        open += byte;
      } else if (byte == '>' && text_[at - 2] != '-' && open.ends_with('<')) {
        open.pop_back();
      } else if (byte == ')' || byte == '}' || byte == ']') {
        char opening = byte == ')' ? '(' : byte == '}' ? '{' : '[';
        open.resize(std::min(open.rfind(opening), open.size() - 1));
      }
      if (open.empty()) return at;
    }
    return at;
  }

  // False when the name ends here. It goes on after the parameters of an enclosing function, or when the
  // parentheses belonged to a return type such as `decltype (…)`.
  bool SkipParameters() {
    at_ = EndOfGroup(at_);
    for (bool found = true; found;) {
      found = false;
      for (std::string_view qualifier : {" const", " volatile", " &&", " &"}) {
        if (!Follows(qualifier)) continue;
        at_ += qualifier.size();
        found = true;
      }
    }
    return Follows("::") || (Follows(" ") && !Follows(" ["));
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string name_;
};

}  // namespace

std::string ReadableFunctionName(std::string_view symbol) {
  const std::string plain(WithoutCloneSuffixes(symbol));
  const bool is_rust = IsRust(plain);
  std::string name = Demangle(plain, is_rust);
  if (name.empty()) {
    for (std::string other : {WithFortranModule(plain), WithObjectiveCMethod(plain), WithDModule(plain)}) {
      if (name.empty()) name = std::move(other);
    }
    if (name.empty()) name = plain;
  } else if (!is_rust) {
    name = NameShortener(WithoutAbiTags(std::move(name))).Shorten();
  }
  if (name.size() > kMaxFunctionNameBytes) name.resize(kMaxFunctionNameBytes);
  return name;
}

}  // namespace lagwatch::collector
