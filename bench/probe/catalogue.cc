// SPDX-License-Identifier: Apache-2.0
#include "bench/probe/catalogue.h"

#include <cstdio>
#include <filesystem>

namespace lagwatch::bench {
namespace {

struct Subject {
  const char* name;
  const char* module;   // pattern of its file name
  const char* command;  // that loads it
};
constexpr Subject kSubjects[] = {
    {"libc", "libc.so.6", "/bin/true"},
    {"libstdc++", "libstdc++.so.6*", "/bin/true"},
    {"libpython", "libpython3*",
     "/usr/bin/python3.11 -c 'import ctypes; ctypes.CDLL(\"libpython3.11.so.1.0\")'"},
    {"python", "python3*", "/usr/bin/python3.11 -c pass"},
    {"node", "node", "node -e 0"},
    {"glib", "libglib-2.0.so.0*",
     "/usr/bin/python3.11 -c 'import ctypes; ctypes.CDLL(\"libglib-2.0.so.0\")'"},
    {"redis", "redis-*", "redis-server --version"},
    {"nginx", "nginx", "nginx -v"},
};

// The last line that the listing library writes in a process of the command.
std::string ListIn(const Subject& subject, const std::string& library) {
  const std::string command = "LAGWATCH_LIST='" + std::string(subject.module) + "' LD_PRELOAD='" + library +
                              "' " + subject.command + " 2>/dev/null";
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return "";
  char line[4096];
  std::string last;
  while (std::fgets(line, sizeof line, output) != nullptr)
    if (line[0] == '{') last = line;
  pclose(output);
  if (!last.empty()) last.pop_back();
  return last;
}

}  // namespace

std::string MeasureProbeable(const std::string& own_path) {
  const auto bin = std::filesystem::absolute(own_path).parent_path();
  const std::string library = (bin.parent_path() / "lib/liblagwatch_bench_probe_list.so").string();
  std::string shares;
  std::string lists;
  const auto append = [](std::string* json, const char* name, const std::string& value) {
    *json += (json->empty() ? "\"" : ", \"") + std::string(name) + "\": " + value;
  };
  for (const Subject& subject : kSubjects) {
    const std::string listed = ListIn(subject, library);
    const std::string key = "\"probeable_pct\": ";
    const size_t share = listed.find(key);
    if (share == std::string::npos) continue;  // it is not installed
    const size_t begin = share + key.size();
    append(&shares, subject.name, listed.substr(begin, listed.find_first_of(",}", begin) - begin));
    append(&lists, subject.name, listed);
  }
  return "\"probeable_pct\": {" + shares + "}, \"probeable\": {" + lists + "}";
}

}  // namespace lagwatch::bench
