// SPDX-License-Identifier: Apache-2.0
// The kernel's own words: file systems, devices, control groups and its log.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "policies/fact_names.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"
#include "watchdog/facts/file_facts.h"
#include "watchdog/facts/group_facts.h"
#include "watchdog/facts/machine_facts.h"
#include "watchdog/facts/schedule_changes.h"

namespace lagwatch::watchdog {
namespace {

using Facts = std::map<std::string, std::string>;

Facts FactsOf(const FactList& list) {
  Facts facts;
  for (const Fact& fact : list.all())
    facts[fact.name] = fact.text != nullptr ? fact.text : std::to_string(fact.number);
  return facts;
}

// A machine as sysfs shows it, in a folder: few test machines have a battery, heat and a slow processor.
class MachineFactsTest : public ::testing::Test {
 protected:
  void Write(const std::string& leaf, const std::string& text) {
    const std::filesystem::path path = std::string(sys_.path()) + "/" + leaf;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  Facts Processor(ProcessorFacts* processor, int32_t number) {
    FactList list;
    processor->Add(number, &list);
    return FactsOf(list);
  }
  Facts Power() {
    constexpr int64_t kNowNs = 1'000'000'000'000;
    const std::string sys = sys_.path();
    PowerFacts power(sys.c_str());
    power.Refresh(kNowNs);
    FactList list;
    power.Add(kNowNs + 3'000'000'000, &list);
    return FactsOf(list);
  }

  testing::ScopedTempDirectory sys_;
};

TEST_F(MachineFactsTest, FilesThatAreNotThereSayNothing) {
  const std::string sys = sys_.path();
  ProcessorFacts processor(sys.c_str());
  processor.Begin();
  EXPECT_TRUE(Processor(&processor, 0).empty());
  EXPECT_TRUE(Power().empty());
}

TEST_F(MachineFactsTest, AThrottledProcessorIsSeen) {
  Write("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
  Write("devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4");
  Write("devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "800000");
  Write("devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "1200000");
  Write("devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "4000000");
  Write("devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  Write("firmware/acpi/platform_profile", "low-power");
  const std::string sys = sys_.path();
  ProcessorFacts processor(sys.c_str());
  processor.Begin();
  Write("devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "9");
  const Facts expected = {{"thermal_throttles", "5"},          {"processor_mhz", "800"},
                          {"processor_most_mhz", "4000"},      {"processor_limit_mhz", "1200"},
                          {"processor_governor", "powersave"}, {"power_profile", "low-power"}};
  EXPECT_EQ(Processor(&processor, 1), expected);
}

TEST_F(MachineFactsTest, ThrottlingsFromAnUnknownCountOnAreNotCounted) {
  const std::string sys = sys_.path();
  ProcessorFacts processor(sys.c_str());
  processor.Begin();
  Write("devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
  EXPECT_TRUE(Processor(&processor, 0).empty());
}

TEST_F(MachineFactsTest, HeatCoolingAndBatteriesAreSeen) {
  Write("class/thermal/thermal_zone0/temp", "45000");
  Write("class/thermal/thermal_zone1/temp", "97500");
  Write("class/thermal/cooling_device0/type", "Fan");
  Write("class/thermal/cooling_device0/cur_state", "1");
  Write("class/thermal/cooling_device0/max_state", "1");
  Write("class/thermal/cooling_device1/type", "Processor");
  Write("class/thermal/cooling_device1/cur_state", "5");
  Write("class/thermal/cooling_device1/max_state", "10");
  Write("class/power_supply/BAT0/type", "Battery");
  Write("class/power_supply/BAT0/status", "Discharging");
  Write("class/power_supply/BAT0/capacity", "17");
  Write("class/power_supply/hidpp_battery_0/type", "Battery");
  Write("class/power_supply/hidpp_battery_0/scope", "Device");
  Write("class/power_supply/hidpp_battery_0/capacity", "90");
  const Facts expected = {{"hottest_celsius", "97"},
                          {"cooling_permille", "500"},
                          {"on_battery", "1"},
                          {"battery_percent", "17"},
                          {"power_facts_age_s", "3"}};
  EXPECT_EQ(Power(), expected);
}

TEST(ScheduleChanges, TheLastOneOfAThreadIsFound) {
  ScheduleChanges changes;
  ScheduleChange found{};
  EXPECT_FALSE(changes.Find(1, 0, &found));
  changes.Note({"nice", 0x10, 100, 1, 2});
  changes.Note({"setpriority", 0x20, 200, 1, 3});
  changes.Note({"nice", 0x30, 300, 4, 4});
  ASSERT_TRUE(changes.Find(1, 0, &found));
  EXPECT_STREQ(found.call, "setpriority");
  EXPECT_EQ(found.caller_tid, 3);
  EXPECT_FALSE(changes.Find(1, 201, &found)) << "that was before";
}

class MountsTest : public ::testing::Test {
 protected:
  MountsTest() {
    std::ofstream(file_) << "22 1 0:21 / /proc rw shared:1 - proc proc rw\n"
                            "27 1 254:1 / / rw,relatime shared:2 - ext4 /dev/vda1 rw\n"
                            "28 27 0:30 / /tmp rw - tmpfs tmpfs rw\n"
                            "26 27 0:31 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"
                            "25 22 0:32 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
                            "29 27 0:40 / /srv/with\\040blank rw - nfs4 server:/export rw\n"
                            "30 27 0:41 / /home/a/remote rw - fuse.sshfs a@host: rw\n";
  }
  // "POINT TYPE SOURCE"; empty where nothing is certain.
  std::string Find(const char* path, const char* channel) {
    Mount mount;
    if (!FindMountByPath(file_.c_str(), path, channel, &mount)) return mount.type;
    return std::string(mount.point) + " " + mount.type + " " + mount.source;
  }
  void Add(const char* line) { std::ofstream(file_, std::ios::app) << line; }

  testing::ScopedTempDirectory folder_;
  const std::string file_ = folder_ / "mountinfo";
};

TEST_F(MountsTest, AreFoundByThePathAndTheKernelsFunction) {
  EXPECT_EQ(Find("/usr/lib/x", "io_schedule"), "/ ext4 /dev/vda1");
  EXPECT_EQ(Find("/srv/with blank/x", "rpc_wait_bit_killable"), "/srv/with blank nfs4 server:/export");
  EXPECT_EQ(Find("/home/a/remote/x", "request_wait_answer"), "/home/a/remote fuse.sshfs a@host:");
}

TEST_F(MountsTest, AreFoundBehindALinkWhereTheKernelsFunctionSaysWhich) {
  EXPECT_EQ(Find("/link/x", "nfs_wait_on_request"), "/srv/with blank nfs4 server:/export");
  EXPECT_EQ(Find("/link/x", "request_wait_answer"), "/home/a/remote fuse.sshfs a@host:");
  EXPECT_EQ(Find("/link/x", "autofs_wait"), "");
  Add("31 27 0:42 / /srv/b rw - nfs4 other:/export rw\n");
  EXPECT_EQ(Find("/link/x", "nfs_wait_on_request"), "");
  EXPECT_EQ(Find("/srv/b/x", "nfs_wait_on_request"), "/srv/b nfs4 other:/export");
  EXPECT_EQ(Find("/srv/with blank/x", "nfs_wait_on_request"), "/srv/with blank nfs4 server:/export");
}

TEST_F(MountsTest, AreNotGuessed) {
  EXPECT_EQ(Find("/tmp/link", "rwsem_down_write_slowpath"), "");
  EXPECT_EQ(Find("/home/a/remote/x", "io_schedule"), "");
  Add("31 27 254:1 /a /srv/same-device rw - ext4 /dev/vda1 rw\n"
      "32 27 254:9 /a /etc/hosts rw - ext4 /dev/vdz rw\n");
  EXPECT_EQ(Find("/usr/lib/x", "io_schedule"), "/ ext4 /dev/vda1");
  Add("33 27 254:16 / /data rw - xfs /dev/vdb rw\n");
  EXPECT_EQ(Find("/usr/lib/x", "io_schedule"), "");  // may be a link into /data
}

TEST(FileFacts, NameTheFileSystemOfAnAwaitedLock) {
  const testing::ScopedTempDirectory folder;
  const std::string path = folder / "file";
  const int holder = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  std::atomic<int32_t> tid{0};
  std::thread thread([&] {
    tid = gettid();
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    flock(file, LOCK_EX);
    close(file);
  });
  AwaitedFile file;
  EXPECT_TRUE(testing::WaitUntil([&] {
    if (tid != 0) file = FindAwaitedFile(base::OwnThread(tid), nullptr);
    return file.tid != 0;
  }));
  flock(holder, LOCK_UN);
  thread.join();
  close(holder);
  FactList list;
  AddFileFacts(file, tid, /*hides_peers=*/false, &list);
  Facts facts = FactsOf(list);
  EXPECT_TRUE(folder.path().starts_with(facts[policies::kFileSystemMountFact])) << folder.path();
  EXPECT_FALSE(facts[policies::kFileSystemFact].empty());
  EXPECT_FALSE(facts.contains(policies::kFileSystemThreadFact));
  if (!facts.contains(policies::kBlockDeviceFact)) return;
  EXPECT_TRUE(std::filesystem::exists("/sys/class/block/" + facts[policies::kBlockDeviceFact]));
  EXPECT_TRUE(facts.contains(policies::kBlockDeviceRequestsFact));
}

TEST(FileFacts, HideTheServer) {
  AwaitedFile file;
  file.tid = 7;
  file.mount.is_remote = true;
  std::snprintf(file.mount.type, sizeof file.mount.type, "nfs4");
  std::snprintf(file.mount.source, sizeof file.mount.source, "server:/export");
  std::snprintf(file.hung_task.text, sizeof file.hung_task.text, "blocked");
  std::snprintf(file.hung_task.blocker, sizeof file.hung_task.blocker, "likely owned by task 1");
  for (const bool hides_peers : {false, true}) {
    FactList list;
    AddFileFacts(file, /*first_tid=*/6, hides_peers, &list);
    Facts facts = FactsOf(list);
    EXPECT_EQ(facts[policies::kFileSystemFact], "nfs4");
    EXPECT_EQ(facts[policies::kFileSystemThreadFact], "7");
    EXPECT_EQ(facts.contains(policies::kFileSystemSourceFact), !hides_peers);
    EXPECT_EQ(facts[policies::kHungTaskBlockerFact], "likely owned by task 1");
  }
}

TEST(KernelLog, HasTheLastWordsAboutAThread) {
  constexpr char kLog[] =
      "<6>[   10.000001] INFO: task a:b :528 blocked for more than 1 seconds.\n"
      "<3>[  120.500000] INFO: task touch:528 blocked for more than 122 seconds.\n"
      "<3>[  120.500001]       Not tainted 6.18.44 #1\n"
      "<3>[  120.500002] INFO: task touch:528 <writer> blocked on an rw-semaphore likely owned by task "
      "stat:526 <reader>\n"
      "<3>[  121.000000] INFO: task stat:526 blocked for more than 122 seconds.\n"
      "<6>[  122.000000] eth0: link is up\n";
  const HungTask waiter = FindHungTask(kLog, 528, 155);
  EXPECT_STREQ(waiter.text, "blocked for more than 122 seconds (35 s ago)");
  EXPECT_STREQ(waiter.blocker, "<writer> blocked on an rw-semaphore likely owned by task 526 <reader>");
  const HungTask owner = FindHungTask(kLog, 526, 155);
  EXPECT_STREQ(owner.text, "blocked for more than 122 seconds (34 s ago)");
  EXPECT_STREQ(owner.blocker, "");
  EXPECT_STREQ(FindHungTask(kLog, 52, 155).text, "");
  EXPECT_STREQ(FindHungTask("<3>INFO: task x:9 blocked for more than 5 seconds.", 9, 1).text,
               "blocked for more than 5 seconds");
  EXPECT_STREQ(ReadHungTask(base::OwnThread(gettid())).text, "");
}

TEST(GroupFacts, HaveItsPressureAndTransfers) {
  const testing::ScopedTempDirectory group;
  FactList none;
  EXPECT_FALSE(AddGroupPressure(group.path(), "", &none));  // the machine's own has no such file
  EXPECT_TRUE(none.all().empty());
  std::ofstream(group / "cgroup.events") << "populated 1\nfrozen 0\n";
  std::ofstream(group / "io.pressure") << "some avg10=12.34 avg60=1.00 avg300=0.00 total=5\n"
                                          "full avg10=7.00 avg60=0.00 avg300=0.00 total=5\n";
  std::ofstream(group / "io.stat") << "254:0 rbytes=4096 wbytes=100 rios=1 wios=2 dbytes=0 dios=0\n"
                                      "254:16 rbytes=1 wbytes=11 rios=1 wios=1 dbytes=9 dios=9\n";
  FactList list;
  EXPECT_TRUE(AddGroupPressure(group.path(), "", &list));
  EXPECT_EQ(FactsOf(list), (Facts{{"cgroup_io_pressure_permille", "123"},
                                  {"cgroup_io_full_pressure_permille", "70"},
                                  {"cgroup_read_bytes", "4097"},
                                  {"cgroup_written_bytes", "111"}}));
}

}  // namespace
}  // namespace lagwatch::watchdog
