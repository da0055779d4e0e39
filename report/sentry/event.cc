// SPDX-License-Identifier: Apache-2.0
#include "report/sentry/event.h"

#include <cxxabi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "policies/cluster/cause_key.h"

namespace lagwatch::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kGuidBytes = 16;

std::string Address(uint64_t address) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%" PRIx64, address);
  return text;
}

std::string Demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return name != nullptr && symbol.starts_with("_Z") ? name.get() : symbol;
}

// The beginning of a build id as a GUID, whose first three numbers are turned around there.
std::string DebugId(std::string build_id) {
  build_id.resize(kGuidBytes);
  std::reverse(build_id.begin(), build_id.begin() + 4);
  std::swap(build_id[4], build_id[5]);
  std::swap(build_id[6], build_id[7]);
  std::string text = base::ToHex(build_id);
  for (const size_t at : {20, 16, 12, 8}) text.insert(at, 1, '-');
  return text;
}

double ToMs(int64_t ns) { return static_cast<double>(ns / 1000) / 1000; }

class EventWriter {
 public:
  EventWriter(const Report& report, const HangOutcome& outcome) : report_(report), outcome_(outcome) {
    for (const Symbol& symbol : report.symbols)
      symbols_.emplace(std::pair(symbol.module, symbol.function_offset), &symbol.name);
  }

  Json Write() const {
    Json event = {
        {"event_id", SentryEventId(report_)},
        {"timestamp", static_cast<double>(report_.start_wall_ms) / 1000 + ToMs(report_.elapsed_ns) / 1000},
        {"platform", "native"},
        {"level", outcome_.was_killed ? "fatal" : "error"},
        {"logger", "lagwatch"},
        {"sdk", {{"name", "lagwatch"}, {"version", LAGWATCH_VERSION}}}};
    if (!report_.app_version.empty()) event["release"] = report_.app + "@" + report_.app_version;
    if (!report_.user.empty()) event["user"] = {{"id", report_.user}};
    if (!report_.tag.empty()) event["transaction"] = report_.tag;
    event["tags"] = {{"verdict", policies::VerdictName(report_.verdict.word)},
                     {"loop", report_.loop},
                     {"kind", policies::HangKindName(report_.kind)},
                     {"hang_level", policies::HangLevelName(report_.level)},
                     {"lag_level", policies::HangLevelName(report_.level)}};  // deprecated
    event["contexts"] = Contexts();
    event["exception"] = {{"values", Json::array({Exception()})}};
    event["threads"] = {{"values", Threads()}};
    event["debug_meta"] = {{"images", Images()}};
    return event;
  }

 private:
  // In words that distinguish a known end from an unknown one.
  std::string Value() const {
    const int64_t ns = std::max(report_.elapsed_ns, outcome_.duration_ns.value_or(0));
    const char* begin =
        outcome_.duration_ns && !outcome_.was_killed ? "App hung for " : "App hung for at least ";
    return begin + std::to_string(ns / 1'000'000) + " ms.";
  }

  Json Exception() const {
    return {{"type", outcome_.was_killed ? "Fatal App Hang" : "App Hang"},
            {"value", Value()},
            {"thread_id", report_.tid},
            {"mechanism", {{"type", "AppHang"}, {"handled", !outcome_.was_killed}, {"synthetic", true}}},
            {"stacktrace", StackTrace(report_.stacks[report_.expensive_stack])}};
  }

  Json StackTrace(const Stack& stack) const {
    Json frames = Json::array();
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)  // outermost first
      frames.push_back(FrameJson(*frame));
    // A caller's address is inside of its call already.
    return {{"frames", std::move(frames)}, {"instruction_addr_adjustment", "none"}};
  }

  Json FrameJson(const Frame& frame) const {
    Json json = Json::object();
    uint64_t bias = 0;
    if (frame.module != kNoModule) {
      const Module& module = report_.modules[frame.module];
      bias = module.load_bias;
      json["package"] = module.path;
      if (module.path == policies::kGeneratedCodeModule) {
        json["function"] = module.path;
      } else {
        json["image_addr"] = Address(bias);
      }
    }
    json["instruction_addr"] = Address(bias + frame.offset);
    if (frame.function_offset != 0) json["symbol_addr"] = Address(bias + frame.function_offset);
    const auto symbol = symbols_.find({frame.module, frame.symbol_offset()});
    if (symbol != symbols_.end()) {
      json["function"] = Demangled(*symbol->second);
      json["symbol"] = *symbol->second;
    }
    return json;
  }

  Json Threads() const {
    Json threads = Json::array();
    for (const Thread& thread : report_.threads) {
      Json json = {{"id", thread.tid},
                   {"name", thread.name},
                   {"state", std::string(1, thread.state)},
                   {"current", thread.tid == report_.tid},
                   {"crashed", false}};
      if (thread.stack != kNoStack) json["stacktrace"] = StackTrace(report_.stacks[thread.stack]);
      threads.push_back(std::move(json));
    }
    return threads;
  }

  Json Images() const {
    Json images = Json::array();
    for (const Module& module : report_.modules) {
      if (module.path == policies::kGeneratedCodeModule) continue;
      Json image = {{"type", "elf"},
                    {"code_file", module.path},
                    {"image_addr", Address(module.load_bias)},
                    {"arch", report_.machine}};
      if (!module.build_id.empty()) {
        image["code_id"] = base::ToHex(module.build_id);
        image["debug_id"] = DebugId(module.build_id);
      }
      images.push_back(std::move(image));
    }
    return images;
  }

  Json Contexts() const {
    const size_t blank = report_.os.find(' ');
    Json os = {{"name", report_.os.substr(0, blank)}};
    if (blank != std::string::npos) os["version"] = report_.os.substr(blank + 1);
    return {{"app", {{"app_name", report_.app}}},
            {"os", std::move(os)},
            {"device", {{"arch", report_.machine}}},
            {"lagwatch", Lagwatch()}};
  }

  // Fields that Sentry does not have.
  Json Lagwatch() const {
    Json json = {{"threshold_ms", report_.threshold_ms},
                 {"elapsed_ms", ToMs(report_.elapsed_ns)},
                 {"hang_id", base::ToString(report_.hang_id)},
                 {"samples", report_.samples.size()}};
    const policies::TimeShares& shares = report_.verdict.shares;
    for (const policies::TimeShare& share : policies::kTimeShares)
      if (shares.*share.ns > 0) json[share.json_name] = ToMs(shares.*share.ns);
    if (!report_.waits.empty() && report_.waits.front().lock.waits_for == WaitsFor::kOwner)
      json["waits_for"] = report_.waits.front().owner_name;
    for (const Fact& fact : report_.facts)
      json.emplace(fact.name, fact.text.empty() ? Json(fact.number) : Json(fact.text));
    return json;
  }

  const Report& report_;
  const HangOutcome& outcome_;
  std::map<std::pair<uint32_t, uint64_t>, const std::string*> symbols_;
};

// One line; texts that are no UTF-8 have U+FFFD in place of what is not.
std::string Line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string SentryEventId(const Report& report) { return base::ToHex(report.id.as_bytes()); }

std::string SentryEnvelope(const Report& report, const HangOutcome& outcome) {
  HangOutcome known = outcome;
  known.was_killed |= report.kind == HangKind::kKilledInHang;
  const std::string event = Line(EventWriter(report, known).Write());
  return Line({{"event_id", SentryEventId(report)}}) + "\n" +
         Line({{"type", "event"}, {"length", event.size()}, {"content_type", "application/json"}}) + "\n" +
         event + "\n";
}

}  // namespace lagwatch::report
