// SPDX-License-Identifier: Apache-2.0
// `lagwatch enable` and `disable` on the files of a system in a folder of the test; tests/packages has them
// on a running systemd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"
#include "tools/service/needed_calls.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Process;

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

std::string TextOf(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::set<std::string> WordsOf(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

class ServiceCommands : public ::testing::Test {
 protected:
  ServiceCommands() {
    for (const char* program : {"/bin/sleep", "/bin/true", "/usr/bin/env"}) {
      fs::create_directories(fs::path(root_ + program).parent_path());
      fs::copy_file(program, root_ + program);
    }
  }
  void Write(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(root_ + file).parent_path());
    std::ofstream(root_ + file) << text;
  }
  void WriteUnit(const std::string& name, const std::string& service) const {
    Write("/usr/lib/systemd/system/" + name, "[Unit]\nDescription=one\n[Service]\n" + service + "\n");
  }
  Outcome Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, {"--root", root_});
    arguments.insert(arguments.begin(), LAGWATCH_PROGRAM);
    Process process(arguments, {"HOME=/home/one", "XDG_CONFIG_HOME="});
    process.CloseInput();
    const int exit_code = process.Wait();
    return {exit_code, process.Output(), process.Errors()};
  }
  std::string DropIn(const std::string& unit) const {
    return TextOf(root_ + "/etc/systemd/system/" + unit + ".d/zz-lagwatch.conf");
  }
  // Lines of the drop-in for a unit with these lines.
  std::string Enabled(const std::string& service, const std::vector<std::string>& more = {}) {
    const std::string unit = "unit" + std::to_string(++units_) + ".service";
    WriteUnit(unit, service);
    std::vector<std::string> arguments = {"enable", "--yes", unit};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(Verify(unit), IsEmpty());
    return DropIn(unit);
  }
  std::string Refusal(const std::string& service, const std::vector<std::string>& more = {}) {
    const std::string unit = "unit" + std::to_string(++units_) + ".service";
    WriteUnit(unit, service);
    std::vector<std::string> arguments = {"enable", "--yes", unit};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << service;
    EXPECT_FALSE(fs::exists(root_ + "/etc/systemd/system/" + unit + ".d")) << service;
    return outcome.err;
  }
  std::string Rules() const { return TextOf(root_ + "/etc/lagwatch/watch.toml"); }
  // Complaints of systemd's own reader.
  std::string Verify(const std::string& unit) const {
    if (!fs::exists("/usr/bin/systemd-analyze")) return {};
    Process process(
        {"/usr/bin/systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit},
        {"SYSTEMD_UNIT_PATH=" + root_ + "/etc/systemd/system:" + root_ + "/usr/lib/systemd/system:"});
    EXPECT_EQ(process.Wait(), 0);
    return process.Errors();
  }

  testing::ScopedTempDirectory directory_;
  std::string root_ = directory_ / "root";
  int units_ = 0;
};

TEST_F(ServiceCommands, EnableShowsWhatItWritesAndDisableRemovesIt) {
  WriteUnit("one.service",
            "Type=notify\nExecStart=-/bin/sleep \\\n# a comment\n  60 \"%i\"\nStateDirectory=one");
  const Outcome shown = Run({"enable", "--dry-run", "one"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const Outcome unsure = Run({"enable", "one"});
  EXPECT_EQ(unsure.exit_code, 1);
  EXPECT_THAT(unsure.err, HasSubstr("--yes"));
  EXPECT_FALSE(fs::exists(root_ + "/etc"));
  const Outcome enabled = Run({"enable", "--yes", "one", "--", "--threshold-ms", "500"});
  EXPECT_EQ(enabled.exit_code, 0) << enabled.err;
  EXPECT_THAT(enabled.out, HasSubstr("systemctl restart one.service"));
  const std::string text = DropIn("one.service");
  EXPECT_THAT(text, HasSubstr("\nExecStart=\nExecStart=-" LAGWATCH_PROGRAM
                              " run --spool %C/lagwatch/%N --threshold-ms 500 -- /bin/sleep    60 \"%i\"\n"));
  EXPECT_THAT(text, HasSubstr("\nCacheDirectory=lagwatch/%N\nCacheDirectoryMode=0700\n"));
  EXPECT_THAT(enabled.out, HasSubstr("ExecStart=-" LAGWATCH_PROGRAM));
  EXPECT_THAT(enabled.out, HasSubstr("--spool /var/cache/lagwatch/one"));
  EXPECT_THAT(Verify("one.service"), IsEmpty());
  struct stat status {};
  ASSERT_EQ(stat((root_ + "/etc/systemd/system/one.service.d/zz-lagwatch.conf").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);

  const Outcome again = Run({"enable", "--yes", "one"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("enabled already"));
  const Outcome disabled = Run({"disable", "--yes", "one"});
  EXPECT_EQ(disabled.exit_code, 0) << disabled.err;
  EXPECT_FALSE(fs::exists(root_ + "/etc/systemd/system/one.service.d"));
  EXPECT_EQ(Run({"disable", "--yes", "one"}).exit_code, 1);
}

TEST_F(ServiceCommands, TheDocumentShowsItsDropIn) {
  fs::copy_file("/bin/sleep", root_ + "/usr/bin/redis-server");
  WriteUnit("redis-server.service", "ExecStart=/usr/bin/redis-server /etc/redis/redis.conf");
  EXPECT_EQ(Run({"enable", "--yes", "redis-server"}).exit_code, 0);
  std::istringstream lines(DropIn("redis-server.service"));
  std::string shown;
  for (std::string line; std::getline(lines, line);) shown += "    " + line + "\n";
  const size_t at = shown.find(LAGWATCH_PROGRAM);
  ASSERT_NE(at, std::string::npos);
  shown.replace(at, std::string(LAGWATCH_PROGRAM).size(), "/usr/bin/lagwatch");
  EXPECT_THAT(TextOf(LAGWATCH_SERVICES_DOCUMENT), HasSubstr("\n\n" + shown + "\n"));
}

TEST_F(ServiceCommands, DisableLeavesOtherDropInsAlone) {
  WriteUnit("one.service", "ExecStart=/bin/sleep 60");
  const std::string folder = "/etc/systemd/system/one.service.d/";
  Write(folder + "override.conf", "[Service]\nExecStart=\nExecStart=/bin/sleep 70\n");
  EXPECT_EQ(Run({"enable", "--yes", "one"}).exit_code, 0);
  EXPECT_THAT(DropIn("one.service"), HasSubstr(" -- /bin/sleep 70\n"));
  EXPECT_EQ(Run({"disable", "--yes", "one"}).exit_code, 0);
  EXPECT_THAT(TextOf(root_ + folder + "override.conf"), HasSubstr("sleep 70"));
  Write(folder + "zz-lagwatch.conf", "[Service]\nNice=5\n");
  const Outcome foreign = Run({"disable", "--yes", "one"});
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.err, HasSubstr("remove it yourself"));
  EXPECT_THAT(DropIn("one.service"), HasSubstr("Nice=5"));
  fs::remove(root_ + folder + "zz-lagwatch.conf");
  Write(folder + "zzz.conf", "[Service]\nNice=5\n");
  EXPECT_THAT(Run({"enable", "--yes", "one"}).err, HasSubstr("zzz.conf, which is read after"));
}

TEST_F(ServiceCommands, DisableWorksAfterTheUnitHasGone) {
  WriteUnit("one.service", "ExecStart=/bin/sleep 60");
  EXPECT_EQ(Run({"enable", "--yes", "one"}).exit_code, 0);
  fs::remove(root_ + "/usr/lib/systemd/system/one.service");
  EXPECT_EQ(Run({"disable", "--yes", "one"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(root_ + "/etc/systemd/system/one.service.d"));
}

TEST_F(ServiceCommands, TheSpoolIsADirectoryThatTheServicesUserOwns) {
  EXPECT_THAT(Enabled("ExecStart=/bin/sleep 60\nUser=daemon"), HasSubstr("--spool %S/lagwatch/%N --"));
  const std::string dynamic = Enabled("ExecStart=/bin/sleep 60\nDynamicUser=yes");
  EXPECT_THAT(dynamic, HasSubstr("--spool %S/private/lagwatch/%N --"));
  EXPECT_THAT(
      dynamic,
      HasSubstr("StateDirectory=lagwatch/%N\nStateDirectoryMode=0700\nUnsetEnvironment=STATE_DIRECTORY\n"));
  EXPECT_THAT(Enabled("ExecStart=/bin/sleep 60\nStateDirectory=a\nCacheDirectory=b"),
              HasSubstr("LogsDirectory=lagwatch/%N"));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 60\nStateDirectory=a\nCacheDirectory=b\nLogsDirectory=c"),
              HasSubstr("none is left"));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 60", {"--", "--spool", "/tmp/x"}),
              HasSubstr("leave --spool out"));
}

TEST_F(ServiceCommands, OptionsReachTheProgramAsTheyAre) {
  EXPECT_THAT(Enabled("ExecStart=/bin/sleep 60", {"--", "--app", "a b$c%d\"e", "--user="}),
              HasSubstr("--app \"a b$$c%%d\\\"e\" --user= -- /bin/sleep 60\n"));
  EXPECT_THAT(
      Enabled("ExecStart=:/bin/sleep $60", {"--", "--app", "a$c"}),
      HasSubstr("ExecStart=:" LAGWATCH_PROGRAM " run --spool %S/lagwatch/%N --app a$c -- /bin/sleep $60\n"));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 60", {"--", "--no-such-option"}), HasSubstr("--no-such-option"));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 60", {"--", "word"}), HasSubstr("'word' is not an option"));
}

TEST_F(ServiceCommands, AFilterOfSystemCallsGetsThoseOfLagwatch) {
  EXPECT_THAT(Enabled("ExecStart=/bin/sleep 60\nSystemCallFilter=@basic-io"),
              HasSubstr("\nSystemCallFilter=" + std::string(kNeededCalls) + "\n"));
  EXPECT_THAT(Enabled("ExecStart=/bin/sleep 60\nSystemCallFilter=@basic-io\nSystemCallFilter="),
              Not(HasSubstr("Filter")));
  const std::string document = TextOf(LAGWATCH_CONFIGURATION_DOCUMENT);
  const size_t begin = document.find("```\naccess brk") + 4;
  EXPECT_EQ(WordsOf(document.substr(begin, document.find("```", begin) - begin)),
            WordsOf(std::string(kNeededCalls)));
}

TEST_F(ServiceCommands, TheSoftWatchdogIsOfferedWithWatchdogSec) {
  WriteUnit("one.service", "Type=notify\nExecStart=/bin/sleep 60\nWatchdogSec=30");
  EXPECT_THAT(Run({"enable", "--yes", "one"}).out, HasSubstr("WatchdogSec=30: with --soft-watchdog"));
  EXPECT_THAT(Enabled("Type=notify\nExecStart=/bin/sleep 60\nWatchdogSec=30", {"--soft-watchdog"}),
              HasSubstr(" --soft-watchdog -- /bin/sleep 60\n"));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 60", {"--soft-watchdog"}), HasSubstr("no WatchdogSec="));
}

TEST_F(ServiceCommands, RefusesWhatCannotWorkWithTheReason) {
  EXPECT_THAT(Refusal("Type=oneshot\nExecStart=/bin/true"), HasSubstr("Type=oneshot"));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 1\nExecStart=/bin/sleep 2"), HasSubstr("several ExecStart="));
  EXPECT_THAT(Refusal("ExecStop=/bin/true"), HasSubstr("no ExecStart="));
  for (const char* prefix : {"+", "!", "!!", "-+", "@"})
    EXPECT_THAT(Refusal("ExecStart=" + std::string(prefix) + "/bin/sleep 1"), HasSubstr("--watch"));
  EXPECT_THAT(Refusal("ExecStart=/usr/bin/lagwatch run -- /bin/sleep 1"), HasSubstr("already"));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 1\nRootDirectory=/srv"), HasSubstr("RootDirectory="));
  EXPECT_THAT(Refusal("ExecStart=/bin/sleep 1\nPrivateNetwork=yes", {"--", "--endpoint", "http://x"}),
              HasSubstr("PrivateNetwork="));
  EXPECT_THAT(Refusal("Type=forking\nExecStart=/bin/sleep 1", {"--", "--endpoint=http://x"}),
              HasSubstr("PIDFile="));
  EXPECT_THAT(Enabled("Type=forking\nPIDFile=/run/x\nExecStart=/bin/sleep 1", {"--", "--endpoint=http://x"}),
              HasSubstr("--endpoint=http://x"));
  EXPECT_THAT(Run({"enable", "--yes", "nothing"}).err, HasSubstr("there is no unit nothing.service"));
  EXPECT_THAT(Run({"enable", "--yes", "one.socket"}).err, HasSubstr("not a service"));
  WriteUnit("masked.service", "ExecStart=/bin/sleep 1");
  fs::create_directories(root_ + "/etc/systemd/system");
  fs::create_symlink("/dev/null", root_ + "/etc/systemd/system/masked.service");
  EXPECT_THAT(Run({"enable", "--yes", "masked"}).err, HasSubstr("is masked"));
}

TEST_F(ServiceCommands, RefusesProgramsThatCannotBeRunUnderLagwatch) {
  fs::copy_file(LAGWATCH_STATIC_PROGRAM, root_ + "/bin/static");
  EXPECT_THAT(Refusal("ExecStart=/bin/static"), HasSubstr("statically linked"));
  EXPECT_THAT(Refusal("ExecStart=\"/bin/static\" 1"), HasSubstr("--watch"));
  EXPECT_THAT(Enabled("ExecStart=/usr/bin/env static"), EndsWith("UnsetEnvironment=STATE_DIRECTORY\n"));
}

TEST_F(ServiceCommands, FindsUnitsAsSystemdDoes) {
  WriteUnit("worker@.service", "ExecStart=/bin/sleep %i");
  Write("/etc/systemd/system/worker@.service.d/more.conf", "[Service]\nStateDirectory=worker\n");
  EXPECT_EQ(Run({"enable", "--yes", "worker@60"}).exit_code, 0);
  EXPECT_THAT(DropIn("worker@60.service"), HasSubstr("CacheDirectory=lagwatch/%N"));
  WriteUnit("ssh.service", "ExecStart=/bin/sleep 60");
  fs::create_directories(root_ + "/etc/systemd/system");
  fs::create_symlink("/usr/lib/systemd/system/ssh.service", root_ + "/etc/systemd/system/sshd.service");
  EXPECT_EQ(Run({"enable", "--yes", "sshd"}).exit_code, 0);
  EXPECT_THAT(DropIn("ssh.service"), HasSubstr("sleep 60"));
  // The administrator's file is in force, and a drop-in hides those of its name.
  Write("/etc/systemd/system/ssh2.service", "[Service]\nExecStart=/bin/sleep 80\n");
  Write("/usr/lib/systemd/system/ssh2.service", "[Service]\nExecStart=/bin/sleep 90\n");
  Write("/usr/lib/systemd/system/ssh2.service.d/a.conf", "[Service]\nStateDirectory=a\n");
  Write("/etc/systemd/system/ssh2.service.d/a.conf", "[Service]\nNice=1\n");
  Write("/etc/systemd/system/service.d/b.conf", "[Service]\nDynamicUser=yes\n");
  EXPECT_EQ(Run({"enable", "--yes", "ssh2"}).exit_code, 0);
  EXPECT_THAT(DropIn("ssh2.service"), HasSubstr("--spool %S/private/lagwatch/%N -- /bin/sleep 80\n"));
}

TEST_F(ServiceCommands, AUsersServiceHasTheUsersSpool) {
  Write("/usr/lib/systemd/user/one.service", "[Service]\nExecStart=/bin/sleep 60\n");
  const Outcome outcome = Run({"enable", "--user", "--yes", "one"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(TextOf(root_ + "/home/one/.config/systemd/user/one.service.d/zz-lagwatch.conf"),
              EndsWith("ExecStart=" LAGWATCH_PROGRAM " run -- /bin/sleep 60\n"));
  EXPECT_EQ(Run({"disable", "--user", "--yes", "one"}).exit_code, 0);
  EXPECT_THAT(Run({"enable", "--user", "--watch", "one"}).err, HasSubstr("--user"));
}

TEST_F(ServiceCommands, WatchAddsARuleBeforeAllOthersAndRemovesExactlyThat) {
  WriteUnit("one.service", "Type=oneshot\nExecStart=/bin/true");
  WriteUnit("two.service", "ExecStart=/bin/sleep 60");
  const std::string rules = "threshold_ms = 900\n\n# All of a user.\n[[rule]]\nuser = \"www-data\"\n";
  Write("/etc/lagwatch/watch.toml", rules);
  fs::permissions(root_ + "/etc/lagwatch/watch.toml", fs::perms::owner_read | fs::perms::owner_write);
  const Outcome first =
      Run({"enable", "--watch", "--yes", "one", "--", "--threshold-ms=500", "--trace", "--key", "a\"b"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  const std::string rule =
      "# Written by `lagwatch enable --watch one.service`\n[[rule]]\nunit = \"one.service\"\n"
      "threshold_ms = 500\ntrace = true\nkey = \"a\\\"b\"\n# End of the rule for one.service\n\n";
  const size_t place = rules.find("# All");
  EXPECT_EQ(Rules(), rules.substr(0, place) + rule + rules.substr(place));
  EXPECT_EQ(Run({"enable", "--watch", "--yes", "two"}).exit_code, 0);
  EXPECT_THAT(Run({"enable", "--watch", "--yes", "one"}).err, HasSubstr("already"));
  Process check({LAGWATCH_PROGRAM, "daemon", "--check", "--config", root_ + "/etc/lagwatch/watch.toml"});
  EXPECT_EQ(check.Wait(), 0) << check.Errors();
  struct stat status {};
  ASSERT_EQ(stat((root_ + "/etc/lagwatch/watch.toml").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(Run({"disable", "--watch", "--yes", "one"}).exit_code, 0);
  EXPECT_EQ(Run({"disable", "--watch", "--yes", "two"}).exit_code, 0);
  EXPECT_EQ(Rules(), rules);
  EXPECT_EQ(Run({"disable", "--watch", "--yes", "two"}).exit_code, 1);
}

TEST_F(ServiceCommands, WatchWritesNoRuleThatLagwatchdRefuses) {
  WriteUnit("one.service", "ExecStart=/bin/sleep 60");
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--threshold-ms", "soon"}, {"--app", "x"}, {"word"}}) {
    std::vector<std::string> arguments = {"enable", "--watch", "--yes", "one", "--"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    EXPECT_EQ(Run(arguments).exit_code, 1) << options[0];
  }
  EXPECT_FALSE(fs::exists(root_ + "/etc"));
  EXPECT_EQ(Run({"enable", "--watch", "--yes", "one"}).exit_code, 0);
  EXPECT_EQ(Run({"disable", "--watch", "--yes", "one"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(root_ + "/etc/lagwatch"));
}

}  // namespace
}  // namespace lagwatch::tools
