// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/program_facts.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/clock.h"

namespace lagwatch::sdk {

namespace {

constinit ProgramContext g_program_context;

}  // namespace

ProgramContext& ProcessContext() { return g_program_context; }

bool ProgramValues::Set(const char* key, const char* value) {
  const std::string_view name = key == nullptr ? "" : std::string_view(key, strnlen(key, kMaxKeyBytes + 1));
  if (name.empty() || name.size() > kMaxKeyBytes) return false;
  TextCell* text = Find(name);
  if (text == nullptr) {
    std::lock_guard lock(mutex_);
    text = Find(name);
    const size_t count = count_.load(std::memory_order_relaxed);  // written under the lock
    if (text == nullptr && count == kMaxValues) return false;
    if (text == nullptr) {
      std::ranges::copy(name, values_[count].key.begin());
      text = &values_[count].text;
      count_.store(count + 1, std::memory_order_release);  // publishes the key
    }
  }
  text->Set(value);
  return true;
}

TextCell* ProgramValues::Find(std::string_view key) {
  const size_t count = count_.load(std::memory_order_acquire);  // pairs with the store of a ready key
  const auto known = std::ranges::find_if(values_.begin(), values_.begin() + count,
                                          [&](const Value& value) { return UpToNul(value.key) == key; });
  return known == values_.begin() + count ? nullptr : &known->text;
}

void ProgramFacts::Fill(report::ReportHeader* header) const {
  header->session_id = session_id;
  header->app = app;
  header->app_version = app_version;
  header->user = user;
  header->os = os;
  header->machine = machine;
  header->distribution = distribution;
  header->pid = pid;
}

ProgramFacts SystemFacts(const base::Process& process) {
  ProgramFacts facts;
  utsname system{};
  if (uname(&system) == 0) {
    facts.os = std::string(system.sysname) + " " + system.release;
    facts.machine = system.machine;
  }
  facts.distribution = DistributionName();
  facts.pid = static_cast<uint32_t>(process.pid());
  facts.session_id = base::CreateUuidV7(base::SystemClock().WallMs());
  return facts;
}

void AddProgramContext(const ProgramContext& program, const policies::Scrubber& scrubber,
                       report::ReportEncoder* encoder) {
  char scene[TextCell::kMaxBytes];
  program.scene.Read(scene);
  const policies::ScrubbedText shown_scene = scrubber.Text({scene, strnlen(scene, sizeof scene)});
  if (!shown_scene.view().empty()) encoder->AddText("scene", shown_scene.view());
  program.values.ForEach([&](std::string_view key, std::string_view value) {
    constexpr std::string_view kPrefix = "app.";
    char name[kPrefix.size() + ProgramValues::kMaxKeyBytes];
    const char* end = std::ranges::copy(key, std::ranges::copy(kPrefix, name).out).out;
    encoder->AddText({name, static_cast<size_t>(end - name)}, scrubber.Text(value).view());
  });
}

}  // namespace lagwatch::sdk
