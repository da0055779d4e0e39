// SPDX-License-Identifier: Apache-2.0
// `lagwatch probe` on methods of Java, whose calls are known.
#include <csignal>

#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Not;

class JavaProbes : public ProbeTest {
 protected:
  void SetUp() override { Run(WithAgent()); }
  void Run(const std::vector<std::string>& command) {
    program_ = std::make_unique<Process>(command);
    ASSERT_TRUE(WaitUntil([&] { return program_->Output().ends_with("ready\n"); })) << program_->Errors();
  }
  static std::vector<std::string> Java(const std::vector<std::string>& options = {}) {
    std::vector<std::string> command{LAGWATCH_PROBED_PROGRAM, "-Xmx64m"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-cp", LAGWATCH_JVM_CLASSES, "ProbedMethods", LAGWATCH_PROBED_METHODS});
    return command;
  }
  // Of the agent that the JVM was started with.
  static std::vector<std::string> WithAgent() { return Java({"-agentpath:" LAGWATCH_AGENT "=watched=0"}); }
  std::string Bytecode(const std::string& method) {
    const size_t before = program_->Output().size();
    Do("bytecode " + method);
    return program_->Output().substr(before);
  }
  // The only number of a table.
  static std::string NumberIn(const std::string& table) {
    const size_t begin = table.find_first_of("0123456789");
    return begin == std::string::npos
               ? table
               : table.substr(begin, table.find_first_not_of("0123456789", begin) - begin);
  }
  std::string Refusal(const std::string& script) {
    EXPECT_EQ(Ask({pid(), script, "--for", "50ms"}), 2) << errors_;
    return errors_;
  }
};

TEST_F(JavaProbes, TellSlowCallsFromQuickOnes) {
  const std::string before = Bytecode("slow");
  const std::string output =
      Probe("java ProbedMethods::slow @return if duration > 150ms { print(duration) }", "slow 4");
  EXPECT_EQ(Records(output).size(), 2U) << output;
  for (const std::string& duration : Records(output)) EXPECT_THAT(duration, HasSubstr("ms"));
  EXPECT_THAT(errors_, AllOf(HasSubstr("armed at 1 function"), HasSubstr("4 hits")));
  EXPECT_EQ(Bytecode("slow"), before);
  EXPECT_EQ(program_->Errors(), "");  // nor does the JVM say anything
}

TEST_F(JavaProbes, NeedNoWordForJavaWhereNoNativeFunctionHasTheName) {
  EXPECT_EQ(NumberIn(Probe("ProbedMethods::add { n: count }", "add 5")), "5");
}

TEST_F(JavaProbes, HaveArgumentsAndReturnedValues) {
  EXPECT_THAT(Records(Probe("java ProbedMethods::add(long left, int right) { print(left, right) }", "add 3")),
              ElementsAre("0 1", "1 1", "2 1"));
  EXPECT_THAT(
      Records(Probe("java ProbedMethods::add(long left, int right) -> long @return { print(returned) }",
                    "add 3")),
      ElementsAre("1", "2", "3"));
  EXPECT_THAT(Records(Probe("java ProbedMethods$Square::area(double scale) -> double @entry { print(scale) }",
                            "shapes 2")),
              ElementsAre("0.5"));
  EXPECT_THAT(
      Records(Probe("java ProbedMethods$Circle::tint(float base) -> float @return { print(returned) }",
                    "shapes 2")),
      ElementsAre("0.75", "0.75"));
  EXPECT_THAT(
      Records(Probe("java ProbedMethods::greet(char* name) -> char* @return { print(returned) }", "greet 2")),
      ElementsAre("hello number 0", "null"));
  EXPECT_THAT(Records(Probe("java ProbedMethods::greet(char* name) if name ~ \"number*\" { print(name) }",
                            "greet 3")),
              ElementsAre("number 0", "number 2"));
}

TEST_F(JavaProbes, HaveObjectsAsNumbersAndTexts) {
  Do("baskets 1");  // loads the class
  const std::string put =
      "java ProbedMethods$Basket::put(this, char* item, long pieces, void* size, void* other, double price) ";
  EXPECT_THAT(
      Records(Probe(put + "{ print(str(this), item, pieces, str(size), str(other), price) }", "baskets 2")),
      ElementsAre("ProbedMethods$Basket item 0 40 SMALL ProbedMethods$Basket 1.25",
                  "ProbedMethods$Basket item 1 41 LARGE 2.5 1.25"));
  // The identity hash, as the program prints it.
  const size_t before = program_->Output().size();
  const std::string hash = Records(Probe(put + "{ print(this) }", "baskets 1")).at(0);
  EXPECT_THAT(program_->Output().substr(before), HasSubstr(hash.substr(hash.find('x') + 1)));
  // At its end a method has changed its parameters.
  EXPECT_THAT(
      Records(Probe(put + "@return { print(item, pieces, str(size), price, this == other) }", "baskets 2")),
      ElementsAre("item 0 40 SMALL 1.25 1", "item 1 41 LARGE 1.25 0"));
  EXPECT_THAT(
      Records(Probe(put + "-> void* @return { print(str(returned), returned == this) }", "baskets 2")),
      ElementsAre("ProbedMethods$Basket 1", "null 0"));
  EXPECT_THAT(Records(Probe(put + "@error { print(type, item, pieces, str(this)) }", "baskets 3")),
              ElementsAre("java.lang.IllegalArgumentException item 2 42 ProbedMethods$Basket"));
  EXPECT_THAT(Probe(put + "@duration { count by item, str(this) }", "baskets 3"),
              AllOf(HasSubstr("item 0"), HasSubstr("item 2")));
  EXPECT_THAT(
      Records(Probe("java ProbedMethods::add(long left) -> long @return { print(left, returned) }", "add 2")),
      ElementsAre("0 1", "1 2"));
}

TEST_F(JavaProbes, HaveStacksAndCallers) {
  const std::string stack =
      Probe("ProbedMethods::deep(int depth) @return if depth == 0 { stack }", "deep 2", {"--folded"});
  EXPECT_THAT(stack,
              HasSubstr("ProbedMethods::main;ProbedMethods::run;ProbedMethods::deep;ProbedMethods::deep;"));
  EXPECT_THAT(Probe("java ProbedMethods::deep { count by caller, function }", "deep 2"),
              AllOf(HasSubstr(" 2  ProbedMethods::run  ProbedMethods::deep"),
                    HasSubstr("18  ProbedMethods::deep  ProbedMethods::deep")));
  EXPECT_THAT(Probe("java ProbedMethods::add { print(stack(2)) }", "add 1"),
              HasSubstr("\n    ProbedMethods::run\n    ProbedMethods::main\n"));
}

TEST_F(JavaProbes, CountEachEndOnce) {
  EXPECT_EQ(NumberIn(Probe("java ProbedMethods::deep @return { count }", "deep 7")), "70");
  const std::string fail = Probe(
      "java ProbedMethods::fail @return { r: count } java ProbedMethods::fail @error { print(type) } "
      "java ProbedMethods::fail @duration { d: count }",
      "fail 8");
  EXPECT_EQ(Count(fail, "java.lang.IllegalStateException"), 4U) << fail;
  EXPECT_THAT(fail, AllOf(HasSubstr("r\n  4"), HasSubstr("d\n  8")));
  Do("check 1");  // loads the class
  EXPECT_EQ(NumberIn(Probe("java ProbedMethods$Checked::<init> @error { count }", "check 6")), "3");
  EXPECT_EQ(NumberIn(Probe("budget 10% 1000000/s\njava ProbedMethods::add @entry { count }", "threads 2000")),
            "8000");
  // By a thread that has no number of its own to count in.
  EXPECT_EQ(NumberIn(Probe("java ProbedMethods::add @return { n: count }", "late 9000")), "20");
}

TEST_F(JavaProbes, AreFoundBySubtypeAnnotationAndExpression) {
  Do("shapes 2");  // loads the classes
  EXPECT_EQ(NumberIn(Probe("java +ProbedMethods$Shape::area { count }", "shapes 9")), "9");
  EXPECT_THAT(errors_,
              AllOf(HasSubstr("armed at 2 functions"), HasSubstr("ProbedMethods$Shape::area: it has no")));
  EXPECT_EQ(NumberIn(Probe("java @ProbedMethods$Watched::* { count }", "shapes 9")), "9");
  EXPECT_THAT(errors_, HasSubstr("armed at 1 function;"));
  EXPECT_EQ(NumberIn(Probe("java /^ProbedMethods.(Circle|Square)::(area|tint)$/ { count }", "shapes 9")),
            "18");
  EXPECT_THAT(errors_, HasSubstr("armed at 3 functions"));
  Probe("java ProbedMethods::s*l* { count }", "small 1");
  EXPECT_THAT(errors_, HasSubstr("armed at 2 functions"));
}

TEST_F(JavaProbes, AreInsideOfMethods) {
  Do("places 1");  // loads the class
  const auto bytecode = [&] { return Bytecode("calls") + Bytecode("fields") + Bytecode("run"); };
  const std::string before = bytecode();
  const std::string all = Probe(
      "java ProbedPlaces::calls @call if duration >= 30ms { print(\"slow\", callee, line) }\n"
      "java ProbedPlaces::* @call java.util.List::* { print(callee) }\n"
      "java ProbedPlaces::lines @line 128 { turns: count }\n"
      "java ProbedPlaces::refuse @line { print(\"line\", line, function, caller) }\n"
      "java ProbedPlaces::refuse @error { print(type) }\n"
      "java ProbedPlaces::fields @set total { print(field, value) }\n"
      "java ProbedPlaces::fields @get ProbedPlaces::* { print(\"get\", field) }",
      "places 4");
  EXPECT_THAT(errors_, HasSubstr("armed at 7 functions"));
  const std::vector<std::string> records = Records(all);
  const auto times = [&](const std::string& record) { return std::ranges::count(records, record); };
  EXPECT_GE(times("slow java.lang.Thread::sleep 122"), 1) << all;
  EXPECT_EQ(times("java.util.List::add"), 8) << all;
  EXPECT_EQ(times("java.util.List::get"), 4);
  EXPECT_THAT(all, HasSubstr("turns\n  6"));
  EXPECT_EQ(times("line 134 ProbedPlaces::refuse ProbedPlaces::run"), 4) << all;
  EXPECT_EQ(times("java.lang.IllegalArgumentException"), 4);
  EXPECT_EQ(times("ProbedPlaces::total 3"), 1);
  EXPECT_EQ(times("get ProbedPlaces::total"), 8);
  EXPECT_EQ(times("get ProbedPlaces::sum"), 4);
  EXPECT_THAT(
      Records(Probe("java ProbedPlaces::* @alloc { print(type, line) } java ProbedPlaces::run @line { "
                    "print(line) }",
                    "places 1")),
      ElementsAre("33", "ProbedPlaces$Part 33", "34", "ProbedPlaces 34", "int[] 15", "ProbedPlaces$Part 15",
                  "35", "36", "37", "java.util.ArrayList 119", "38", "java.lang.StringBuilder 126", "40",
                  "java.lang.IllegalArgumentException 134", "41", "44"));
  EXPECT_EQ(bytecode(), before);
  EXPECT_EQ(program_->Errors(), "");
}

TEST_F(JavaProbes, SeeHowLongLocksAreHeldAndWaitedFor) {
  Do("places 1");
  const std::string before = Bytecode("locks");
  const std::string all = Probe(
      "java ProbedPlaces::locks @lock { n: count } java ProbedPlaces::locks @lock if held >= 2ms { "
      "print(type) } "
      "java ProbedPlaces::locks @duration { d: count } java ProbedPlaces::locks @line { lines: count }",
      "places 4");
  EXPECT_THAT(all, AllOf(HasSubstr("n\n  12"), HasSubstr("d\n  4")));
  EXPECT_EQ(Count(all, "java.lang.StringBuilder"), 4U) << all;
  EXPECT_EQ(Count(all, "ProbedPlaces"), 4U) << all;
  EXPECT_THAT(
      Records(Probe("java ProbedPlaces::locks @lock if waited > 20ms { print(type, line) }", "contend")),
      ElementsAre("java.lang.StringBuilder 61"));
  // A call of the probe's own that has no stack left leaves no lock held, and does not come back for ever.
  EXPECT_THAT(Probe("java ProbedPlaces::deepLocks @lock { max(held); max(waited); count by type } "
                    "java ProbedPlaces::deepLocks @line { count by line } "
                    "java ProbedPlaces::deepLocks @call { sum(duration) }",
                    "overflow 3"),
              HasSubstr("  76\n"));
  EXPECT_THAT(program_->Output(), HasSubstr("free\n"));
  EXPECT_EQ(Bytecode("locks"), before);
}

TEST_F(JavaProbes, SayWhatAMethodHasInside) {
  Do("places 1");
  EXPECT_THAT(
      Refusal("java ProbedPlaces::calls @call nothing { count }"),
      HasSubstr("ProbedPlaces::calls: it calls only java.lang.Integer::valueOf, java.lang.Thread::sleep, "));
  EXPECT_THAT(Refusal("java ProbedPlaces::calls @line 1 { count }"), HasSubstr("its lines are 119 to 123"));
  EXPECT_THAT(Refusal("java ProbedPlaces::refuse @lock { count }"), HasSubstr("all of it is synchronized"));
  EXPECT_THAT(
      Refusal("java ProbedPlaces::fields @set half { print(value) }"),
      AllOf(HasSubstr("it sets only ProbedPlaces::half, "), HasSubstr("a `value` is a whole number")));
  EXPECT_THAT(Refusal("java ProbedMethods::large @line { print(line) }"), HasSubstr("of more than 8000"));
  EXPECT_THAT(Refusal("java java.util.HashMap::put @alloc { count }"), HasSubstr("boot loader"));
}

TEST_F(JavaProbes, GiveAllMethodsTheirBytesBack) {
  const std::string before = Bytecode("add") + Bytecode("deep") + Bytecode("fail");
  const auto first = Start({pid(), "java ProbedMethods::add @return { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*first); })) << first->Errors();
  const std::string of_first = Bytecode("add");
  EXPECT_NE(of_first + Bytecode("deep") + Bytecode("fail"), before);
  Probe("java ProbedMethods::* @duration { count }", "add 3");   // two scripts in one class
  EXPECT_THAT(errors_, HasSubstr("left out: ProbedMethods::"));  // the native ones
  EXPECT_EQ(Bytecode("add").size(), of_first.size());
  Do("add 4");
  first->Signal(SIGINT);
  EXPECT_EQ(first->Wait(), 0) << first->Errors();  // it compares the bytes, too
  EXPECT_EQ(NumberIn(first->Output()), "7");
  EXPECT_EQ(Bytecode("add") + Bytecode("deep") + Bytecode("fail"), before);
}

TEST_F(JavaProbes, RefuseWithAReason) {
  const std::string before = Bytecode("large");
  EXPECT_THAT(Refusal("java ProbedMethods::large @return { histogram(duration) }"),
              AllOf(HasSubstr("ProbedMethods::large: it would have 80"), HasSubstr("of more than 8000")));
  EXPECT_EQ(Bytecode("large"), before);
  // That is shorter.
  EXPECT_EQ(Records(Probe("java ProbedMethods::large @entry { print(tid) }", "large 4")).size(), 4U);
  EXPECT_THAT(Refusal("java java.lang.Math::max { count }"), HasSubstr("boot loader"));  // also an intrinsic
  EXPECT_THAT(Refusal("java lagwatch.Weaver::weave { count }"), HasSubstr("of lagwatch's own"));
  EXPECT_THAT(Refusal("java java.lang.LagwatchProbes::* { count }"), HasSubstr("boot loader"));
  Do("hidden 1");
  EXPECT_THAT(Refusal("java ProbedMethods$$Lambda*::run { count }"), HasSubstr("a hidden class"));
  EXPECT_THAT(Refusal("java ProbedMethods::bytecode { count }"), HasSubstr("native or abstract"));
  EXPECT_THAT(Refusal("java ProbedMethods::smal { count }"), HasSubstr("did you mean 'small'?"));
  EXPECT_THAT(Refusal("java ProbedMethod::small { count }"), HasSubstr("did you mean 'ProbedMethods'?"));
  EXPECT_THAT(Refusal("java ProbedMethods::small(long a, long b) { print(b) }"),
              HasSubstr("fewer arguments"));
  EXPECT_EQ(Ask({pid(), "--functions", "java ProbedMethods*"}), 0) << errors_;
  EXPECT_THAT(output_, AllOf(HasSubstr("ProbedMethods::add(long, int)"), HasSubstr("no: it has no bytecode"),
                             HasSubstr("bytecode, if that adds not too much to its 79"),
                             HasSubstr("methods can be probed")));
  EXPECT_EQ(Ask({pid(), "--functions", "java.util.HashMap::put"}), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("no: it is a class of the JVM's own"));
  EXPECT_EQ(Ask({pid(), "--functions", "ProbedMethod"}), 2);
  EXPECT_THAT(errors_, HasSubstr("did you mean 'ProbedMethods'?"));
  EXPECT_THAT(Refusal("java /(/ { count }"), HasSubstr("no probe at ("));
  EXPECT_THAT(Refusal("java /^(([a-zA-Z.$]+)+)+0$/ { count }"), HasSubstr("takes too long"));
  EXPECT_THAT(Refusal("java ProbedMethods::small { print(str(this)) }"), HasSubstr("it is static"));
  EXPECT_THAT(Refusal("java ProbedMethods::small(char* number) { print(number) }"), HasSubstr("is a number"));
}

TEST_F(JavaProbes, SayThatALateAgentsFirstProbeSlowsTheProgram) {
  Run(Java());
  ASSERT_EQ(Ask({pid(), "java ProbedMethods::add { count }", "--for", "10ms"}), 0) << errors_;
  EXPECT_LT(errors_.find("compiles all its code again"), errors_.find("armed at")) << errors_;
  ASSERT_EQ(Ask({pid(), "java ProbedMethods::add { count }", "--for", "10ms"}), 0) << errors_;
  EXPECT_THAT(errors_, Not(HasSubstr("compiles all")));
  Run(WithAgent());
  ASSERT_EQ(Ask({pid(), "java ProbedMethods::add { count }", "--for", "10ms"}), 0) << errors_;
  EXPECT_THAT(errors_, Not(HasSubstr("compiles all")));
}

TEST_F(JavaProbes, SendWhatWasCountedWhenTheJvmEnds) {
  const auto console = Start({pid(), "java ProbedMethods::small { n: count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  program_->WriteInput("hidden 3\nexit 4\n");
  EXPECT_EQ(program_->Wait(), 4);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_EQ(NumberIn(console->Output()), "3") << console->Errors();
}

TEST_F(JavaProbes, BeginWithTheProgram) {
  const std::string before = Bytecode("small");
  std::vector<std::string> run{
      LAGWATCH_PROGRAM,
      "run",
      "--quiet",
      "--spool",
      "/nonexistent",
      "--probe",
      "java ProbedMethods::main { m: count } java ProbedMethods$Check*::<init> @error { "
      "print(type, caller) } java ProbedMethods::small(int number) @return { print(number) }",
      "--"};
  const std::vector<std::string> java = Java();
  run.insert(run.end(), java.begin(), java.end());
  Run(run);
  Do("check 2");  // loads a class
  Do("hidden 1");
  EXPECT_NE(Bytecode("small"), before);
  EXPECT_TRUE(WaitUntil([&] { return Count(program_->Errors(), "  1\n") != 0; })) << program_->Errors();
  EXPECT_THAT(program_->Errors(), HasSubstr("java.lang.ArithmeticException  ProbedMethods::tryIt"));
  EXPECT_EQ(Ask({pid(), "--disarm"}), 0) << errors_;
  EXPECT_EQ(Bytecode("small"), before);
  EXPECT_TRUE(WaitUntil([&] { return program_->Errors().find("m\n  1\n") != std::string::npos; }))
      << program_->Errors();
}

TEST_F(JavaProbes, ServeNativeFunctionsInOneScript) {
  const std::string output =
      Probe("java ProbedMethods::slow { j: count } libc!write { w: count }", "shapes 1");
  EXPECT_THAT(errors_, HasSubstr("armed at 2 functions"));
  EXPECT_THAT(output, Not(HasSubstr("w\n  0"))) << output;
}

TEST_F(JavaProbes, AreForbiddenByTheProgram) {
  const std::string before = Bytecode("add");
  const auto console = Start({pid(), "java ProbedMethods::add { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  EXPECT_NE(Bytecode("add"), before);
  Do("forbid");
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return Bytecode("add") == before; }));
  EXPECT_THAT(Refusal("java ProbedMethods::add { count }"), HasSubstr("it has forbidden probes"));
}

TEST_F(JavaProbes, AreForbiddenByRunAndTheAgentsOption) {
  std::vector<std::string> run{LAGWATCH_PROGRAM, "run",          "--no-probes", "--quiet",
                               "--spool",        "/nonexistent", "--"};
  const std::vector<std::string> java = Java();
  run.insert(run.end(), java.begin(), java.end());
  Run(run);
  EXPECT_THAT(Refusal("java ProbedMethods::add { count }"), HasSubstr("it has forbidden probes"));
  EXPECT_THAT(Refusal("libc!write { count }"), HasSubstr("it has forbidden probes"));
  // By a shell that becomes Java: the library of `lagwatch run` is in the JVM, and the agent comes later.
  std::string command = "exec";
  for (const std::string& word : java) command += " '" + word + "'";
  Run({LAGWATCH_PROGRAM, "run", "--no-probes", "--quiet", "--spool", "/nonexistent", "--", "/bin/sh", "-c",
       command});
  EXPECT_THAT(Refusal("java ProbedMethods::add { count }"), HasSubstr("it has forbidden probes"));
}

}  // namespace
}  // namespace lagwatch::tools
