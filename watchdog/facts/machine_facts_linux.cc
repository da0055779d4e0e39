// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/facts/kernel_numbers.h"
#include "watchdog/facts/machine_facts.h"

namespace lagwatch::watchdog {
namespace {

constexpr int kMostProcessors = 512;
constexpr int kMostDevices = 64;

// A file of sysfs, with its content without the end of the line; empty where it is not there.
class SysFile {
 public:
  __attribute__((format(printf, 3, 4))) SysFile(const char* sys, const char* format, ...) {
    char leaf[128];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(leaf, sizeof leaf, format, arguments);
    va_end(arguments);
    char path[512];
    std::snprintf(path, sizeof path, "%s/%s", sys, leaf);
    text_ = base::ReadSmallFile(path, buffer_, sizeof buffer_);
    while (!text_.empty() && text_.back() == '\n') text_.remove_suffix(1);
  }
  std::string_view text() const { return text_; }
  int64_t number() const { return text_.empty() ? kNotKnown : NumberOf(text_); }

 private:
  char buffer_[128];
  std::string_view text_;
};

template <size_t kSize>
void AddText(const char* name, std::string_view text, char (&room)[kSize], FactList* facts) {
  if (text.empty()) return;
  room[text.copy(room, kSize - 1)] = '\0';
  facts->AddText(name, room);
}

}  // namespace

int64_t ProcessorFacts::CountThrottlings() const {
  int64_t sum = kNotKnown;
  for (int i = 0; i < kMostProcessors; ++i) {
    const int64_t count =
        SysFile(sys_, "devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", i).number();
    if (count == kNotKnown) break;
    sum = std::max<int64_t>(sum, 0) + count;
  }
  return sum;
}

void ProcessorFacts::Begin() { throttled_before_ = CountThrottlings(); }

void ProcessorFacts::Add(int32_t processor, FactList* facts) {
  constexpr int64_t kKhzPerMhz = 1000;
  throttled_ = CountThrottlings();
  if (throttled_ != kNotKnown && throttled_before_ != kNotKnown)
    facts->Add("thermal_throttles", throttled_ - throttled_before_);
  const int32_t at = std::max(processor, 0);
  const int64_t now_khz = SysFile(sys_, "devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", at).number();
  const int64_t most_khz = SysFile(sys_, "devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", at).number();
  const int64_t limit_khz = SysFile(sys_, "devices/system/cpu/cpu%d/cpufreq/scaling_max_freq", at).number();
  if (now_khz > 0) facts->Add("processor_mhz", now_khz / kKhzPerMhz);
  if (most_khz > 0) facts->Add("processor_most_mhz", most_khz / kKhzPerMhz);
  if (limit_khz > 0 && limit_khz < most_khz) facts->Add("processor_limit_mhz", limit_khz / kKhzPerMhz);
  AddText("processor_governor", SysFile(sys_, "devices/system/cpu/cpu%d/cpufreq/scaling_governor", at).text(),
          governor_, facts);
  AddText("energy_preference",
          SysFile(sys_, "devices/system/cpu/cpu%d/cpufreq/energy_performance_preference", at).text(),
          preference_, facts);
  AddText("power_profile", SysFile(sys_, "firmware/acpi/platform_profile").text(), profile_, facts);
}

void PowerFacts::Refresh(int64_t now_ns) {
  if (read_ns_ != 0 && now_ns - read_ns_ < kFreshNs) return;
  read_ns_ = now_ns;
  ReadThermal();
  ReadSupplies();
}

void PowerFacts::ReadThermal() {
  constexpr int64_t kMilli = 1000;
  hottest_c_ = -1000;
  for (int i = 0; i < kMostDevices; ++i) {
    const SysFile temperature(sys_, "class/thermal/thermal_zone%d/temp", i);
    if (temperature.text().empty()) break;
    if (temperature.number() != kNotKnown) hottest_c_ = std::max(hottest_c_, temperature.number() / kMilli);
  }
  cooling_permille_ = kNotKnown;
  for (int i = 0; i < kMostDevices; ++i) {
    const SysFile type(sys_, "class/thermal/cooling_device%d/type", i);
    if (type.text().empty()) break;
    const bool is_of_processor = type.text() == "Processor" || type.text() == "intel_powerclamp" ||
                                 type.text().find("cpufreq") != std::string_view::npos;
    if (!is_of_processor) continue;
    const int64_t now = SysFile(sys_, "class/thermal/cooling_device%d/cur_state", i).number();
    const int64_t most = SysFile(sys_, "class/thermal/cooling_device%d/max_state", i).number();
    if (now != kNotKnown && most > 0) cooling_permille_ = std::max(cooling_permille_, 1000 * now / most);
  }
}

void PowerFacts::ReadSupplies() {
  battery_percent_ = is_on_battery_ = kNotKnown;
  char path[512];
  std::snprintf(path, sizeof path, "%s/class/power_supply", sys_);
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  alignas(dirent64) char entries[4096];  // not opendir(3), which allocates; a machine has few of them
  const long size = syscall(SYS_getdents64, fd, entries, sizeof entries);
  for (long at = 0; at < size;) {
    const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
    at += entry->d_reclen;
    if (entry->d_name[0] != '.') ReadSupply(entry->d_name);
  }
  close(fd);
}

void PowerFacts::ReadSupply(const char* name) {
  const SysFile type(sys_, "class/power_supply/%.64s/type", name);
  const SysFile scope(sys_, "class/power_supply/%.64s/scope", name);
  if (type.text() != "Battery" || scope.text() == "Device") return;  // of a mouse
  const SysFile status(sys_, "class/power_supply/%.64s/status", name);
  const SysFile capacity(sys_, "class/power_supply/%.64s/capacity", name);
  if (!status.text().empty())
    is_on_battery_ = std::max<int64_t>(is_on_battery_, status.text() == "Discharging" ? 1 : 0);
  battery_percent_ = std::max(battery_percent_, capacity.number());
}

void PowerFacts::Add(int64_t now_ns, FactList* facts) const {
  if (read_ns_ == 0) return;
  const bool has_any = hottest_c_ > -1000 || cooling_permille_ != kNotKnown || is_on_battery_ != kNotKnown;
  if (!has_any) return;
  if (hottest_c_ > -1000) facts->Add("hottest_celsius", hottest_c_);
  AddIfKnown("cooling_permille", cooling_permille_, facts);
  AddIfKnown("on_battery", is_on_battery_, facts);
  AddIfKnown("battery_percent", battery_percent_, facts);
  facts->Add("power_facts_age_s", (now_ns - read_ns_) / base::kNsPerSecond);
}

}  // namespace lagwatch::watchdog
