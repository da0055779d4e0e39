// SPDX-License-Identifier: Apache-2.0
// The places of arguments are those that the compiler of this test uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "probe/types/calling_convention.h"
#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

// Registers and stack as a function finds them when it is called.
struct Entry {
  uint64_t ints[6];
  double floats[8];
  uint64_t stack_words[32];
};
Entry entered;

}  // namespace
}  // namespace lagwatch::probe

#if defined(__x86_64__)
extern "C" void ProbeTypesTestEntry();
extern "C" {
extern void* probe_types_test_entered;
void* probe_types_test_entered = &lagwatch::probe::entered;
}
asm(R"(
.text
.globl ProbeTypesTestEntry
.hidden ProbeTypesTestEntry
ProbeTypesTestEntry:
  movq probe_types_test_entered(%rip), %rax
  movq %rdi, 0(%rax)
  movq %rsi, 8(%rax)
  movq %rdx, 16(%rax)
  movq %rcx, 24(%rax)
  movq %r8, 32(%rax)
  movq %r9, 40(%rax)
  movsd %xmm0, 48(%rax)
  movsd %xmm1, 56(%rax)
  movsd %xmm2, 64(%rax)
  movsd %xmm3, 72(%rax)
  movsd %xmm4, 80(%rax)
  movsd %xmm5, 88(%rax)
  movsd %xmm6, 96(%rax)
  movsd %xmm7, 104(%rax)
  leaq 8(%rsp), %rsi
  leaq 112(%rax), %rdi
  movl $32, %ecx
  rep movsq
  ret
)");

namespace lagwatch::probe {
namespace {

struct IntAndFloat {
  int i;
  float f;
  double d;
};
struct TwoFloats {
  float x, y;
};
struct Pair {
  long a, b;
};
struct Large {
  long a, b, c;
};
struct DoubleAndShorts {
  double d;
  short s;
  char c[2];
};

constexpr const char* kStructs =
    "struct IntAndFloat { int i; float f; double d; } struct TwoFloats { float x; float y; }\n"
    "struct Pair { long a; long b; } struct Large { long a; long b; long c; }\n"
    "struct Mixed { double d; short s; char c[2]; }\n";

// Calls the function that writes down its registers as one of the type, and then reads `expression` by the
// declaration.
template <typename... Arguments>
double Read(const std::string& signature, const std::string& expression, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(ProbeTypesTestEntry)(arguments...);
  const std::string script = std::string(kStructs) + "f" + signature + " { sum(1.0 * (" + expression + ")) }";
  const std::string refusal = RefusalOf(script);
  if (!refusal.empty()) {
    ADD_FAILURE() << script << refusal;
    return 0;
  }
  ArmedScript armed(script);
  Hit hit;
  hit.int_arguments = entered.ints;
  hit.float_arguments = entered.floats;
  hit.stack_arguments = reinterpret_cast<uintptr_t>(entered.stack_words);
  EXPECT_EQ(armed.Run(hit), HitEnd::kDone) << script;
  return std::bit_cast<double>(armed.Total());
}

TEST(Types, ScalarsAreWhereTheCompilerPutsThem) {
  EXPECT_EQ(Read("(int a, double b, short c, float d)", "c", 1, 2.5, short{-3}, 4.5f), -3);
  EXPECT_EQ(Read("(int a, double b, short c, float d)", "d", 1, 2.5, short{-3}, 4.5f), 4.5);
  EXPECT_EQ(Read("(unsigned char a, bool b)", "a + b", static_cast<unsigned char>(200), true), 201);
  EXPECT_EQ(Read("(int a)", "a", -7), -7);
}

TEST(Types, SmallStructsAreInRegisters) {
  const IntAndFloat value{.i = -4, .f = 2.5f, .d = 8.25};
  EXPECT_EQ(Read("(struct IntAndFloat v, int n)", "v.i", value, 9), -4);
  EXPECT_EQ(Read("(struct IntAndFloat v, int n)", "v.f", value, 9), 2.5);
  EXPECT_EQ(Read("(struct IntAndFloat v, int n)", "v.d", value, 9), 8.25);
  EXPECT_EQ(Read("(struct IntAndFloat v, int n)", "n", value, 9), 9);
  EXPECT_EQ(Read("(int n, TwoFloats v, float z)", "v.y", 1, TwoFloats{1.5f, 2.5f}, 3.5f), 2.5);
  EXPECT_EQ(Read("(int n, TwoFloats v, float z)", "z", 1, TwoFloats{1.5f, 2.5f}, 3.5f), 3.5);
  const DoubleAndShorts mixed{.d = 0.5, .s = -2, .c = {'a', 'b'}};
  EXPECT_EQ(Read("(struct Mixed v)", "v.s", mixed), -2);
  EXPECT_EQ(Read("(struct Mixed v)", "v.d", mixed), 0.5);
}

TEST(Types, TheRestIsOnTheStack) {
  EXPECT_EQ(Read("(int a, int b, int c, int d, int e, int f, int g, short h)", "g * 10 + h", 1, 2, 3, 4, 5, 6,
                 7, short{-8}),
            62);
  const Large large{1, 22, 3};
  EXPECT_EQ(Read("(Large v, int n)", "n", large, 5), 5);
  EXPECT_EQ(Read("(Large v, int n)", "v.b", large, 5), 22);
  // The pair finds one register left: both halves are on the stack, and the next number takes the register.
  EXPECT_EQ(Read("(int a, int b, int c, int d, int e, Pair v, int n)", "v.b * 100 + n", 1, 2, 3, 4, 5,
                 Pair{6, 7}, 8),
            708);
  EXPECT_EQ(Read("(double a, double b, double c, double d, double e, double f, double g, double h, double i, "
                 "float j)",
                 "i + j", 1., 2., 3., 4., 5., 6., 7., 8., 9.5, 0.25f),
            9.75);
  EXPECT_EQ(Read("(long double a, int n, long double b, Large v)", "v.c + n", 1.L, 4, 2.L, large), 7);
}

TEST(Types, AHiddenPointerShiftsTheArguments) {
  Large place{};
  EXPECT_EQ(Read("(int a, int b) -> Large", "b", &place, 1, 2), 2);
  EXPECT_EQ(Read("(int a, int b) -> Pair", "b", 1, 2), 2);
  EXPECT_EQ(Read("(int a, int b) -> std::string", "b", &place, 1, 2), 2);
}

TEST(Types, StringsOfCppAreTexts) {
  const std::string name = "a text that is too long for the object itself";
  EXPECT_EQ(Read("(const std::string& s)", "s ~ \"*long*\"", &name), 1);
  EXPECT_EQ(Read("(std::string s)", "s ~ \"a text*\"", &name), 1);
  const std::string small = "x";
  EXPECT_EQ(Read("(const std::string* s)", "s == \"x\"", &small), 1);
}

}  // namespace
}  // namespace lagwatch::probe
#endif

namespace lagwatch::probe {
namespace {

using ::testing::HasSubstr;

class SomeTypes : public TypeSource {
 public:
  TypePointer FindType(std::string_view name) const override {
    return name == "node" ? StructOf("node", {{"value", IntType("int", 4, true), 0},
                                              {"next", PointerTo(Named("node")), 0}})
                          : nullptr;
  }
  std::optional<Signature> FindFunction(std::string_view module, std::string_view function) const override {
    if (module != "lib" || function != "visit") return std::nullopt;
    return Signature{.parameters = {{"first", PointerTo(Named("node"))}}, .result = nullptr};
  }

 private:
  static TypePointer Named(std::string name) {
    return std::make_shared<Type>(Type{.kind = Type::Kind::kNamed, .name = std::move(name)});
  }
};

TEST(Types, ASourceOfTypesMakesDeclarationsUnnecessary) {
  const SomeTypes types;
  EXPECT_TRUE(CompileScript("lib!visit { sum(first->next->next->value) }", &types).ok());
  EXPECT_TRUE(CompileScript("f(node* n) { sum(n->value) }", &types).ok());
  EXPECT_THAT(CompileScript("lib!visit { sum(first->valeu) }", &types).status().message(),
              HasSubstr("1:24: node has no member \"valeu\": did you mean value?"));
  EXPECT_THAT(CompileScript("lib!other { sum(first) }", &types).status().message(),
              HasSubstr("unknown value \"first\""));
}

}  // namespace
}  // namespace lagwatch::probe
