// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/program_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace lagwatch::sdk {

void ProgramFacts::Fill(report::ReportHeader* header) const {
  header->session_id = session_id;
  header->app = app;
  header->app_version = app_version;
  header->user = user;
  header->os = os;
  header->machine = machine;
  header->pid = pid;
}

ProgramFacts SystemFacts() {
  ProgramFacts facts;
  utsname system{};
  if (uname(&system) == 0) {
    facts.os = std::string(system.sysname) + " " + system.release;
    facts.machine = system.machine;
  }
  facts.pid = static_cast<uint32_t>(getpid());
  facts.session_id = base::CreateUuidV7(base::SystemClock().WallMs());
  return facts;
}

void AddProgramContext(const ProgramContext& words, const policies::Scrubber& scrubber,
                       report::ReportEncoder* encoder) {
  char scene[TextCell::kMaxBytes];
  words.scene.Read(scene);
  const policies::ScrubbedText told_scene = scrubber.Text({scene, strnlen(scene, sizeof scene)});
  if (!told_scene.view().empty()) encoder->AddText("scene", told_scene.view());
  words.values.ForEach([&](std::string_view key, std::string_view value) {
    constexpr std::string_view kPrefix = "app.";
    char name[kPrefix.size() + ProgramValues::kMaxKeyBytes];
    const char* end = std::ranges::copy(key, std::ranges::copy(kPrefix, name).out).out;
    encoder->AddText({name, static_cast<size_t>(end - name)}, scrubber.Text(value).view());
  });
}

}  // namespace lagwatch::sdk
