// SPDX-License-Identifier: Apache-2.0
// Reports of known causes, from several compilers' builds and C libraries, and the clusters that they get.
// The details of each cause go to standard error.
//
//   bench_clusters [--causes FILE] [--per-cause N] [--seed N] [--seeds N] [--raw] [--min-purity P]
//   [--min-wholeness W]
//
// Each seed makes builds of its own. Prints causes, reports, purity (the share of reports in clusters whose
// reports are mostly of their cause), wholeness (the share in the largest cluster of their cause), of level
// 1; level2_purity, level2_wholeness; debug_purity, debug_wholeness where inlined calls have names, too. Ends
// with 1 when purity or wholeness is below what it must be.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "bench/clusters/causes.h"
#include "bench/clusters/reports.h"
#include "bench/clusters/score.h"
#include "collector/cluster/clusterer.h"

namespace lagwatch::clusters {
namespace {

constexpr size_t kStraysShown = 3;

std::string TextOf(const collector::Cluster& cluster) {
  std::string text;
  for (const std::string& frame : cluster.frames) text += (text.empty() ? "" : " < ") + frame;
  for (const std::string& frame : cluster.held_by) text += ", held by " + frame;
  return text;
}

void Show(const std::vector<std::string>& names, const Score& score) {
  std::fprintf(stderr, "WHOLE  CAUSE\n");
  for (size_t cause = 0; cause < names.size(); ++cause) {
    std::fprintf(stderr, "%5.3f  %s\n", score.WholenessOf(cause), names[cause].c_str());
    std::vector<std::string> strays = score.Strays(cause, names);
    for (size_t i = 0; i < std::min(kStraysShown, strays.size()); ++i)
      std::fprintf(stderr, "         %.160s\n", strays[i].c_str());
  }
}

struct Scores {
  Score level1, level2, level1_debug;
};

// Clusters by the reports' own symbols, and by those of debug information.
void Cluster(const std::vector<KnownReport>& reports, const collector::Clusterer& clusterer, Scores* scores) {
  for (const KnownReport& known : reports) {
    const collector::ClusterPath path = clusterer.Assign(known.report);
    scores->level1.Add(known.cause, path[0].key, TextOf(path[0]));
    scores->level2.Add(known.cause, path[1].key, TextOf(path[1]));
    const collector::Cluster debug = clusterer.Assign(known.report, DebugNamer(known))[0];
    scores->level1_debug.Add(known.cause, debug.key, TextOf(debug));
  }
}

struct Settings {
  std::string causes = LAGWATCH_SOURCE_DIR "/bench/clusters/causes.txt";
  int per_cause = 60;
  uint64_t seed = 1;
  int seeds = 5;
  bool is_raw = false;
  double min_purity = 0;
  double min_wholeness = 0;
};

std::optional<Settings> Parse(int argc, char** argv) {
  static const option kOptions[] = {{"causes", required_argument, nullptr, 'c'},
                                    {"per-cause", required_argument, nullptr, 'n'},
                                    {"seed", required_argument, nullptr, 's'},
                                    {"seeds", required_argument, nullptr, 'm'},
                                    {"raw", no_argument, nullptr, 'r'},
                                    {"min-purity", required_argument, nullptr, 'p'},
                                    {"min-wholeness", required_argument, nullptr, 'w'},
                                    {nullptr, 0, nullptr, 0}};
  Settings settings;
  for (int name; (name = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (name == 'c') settings.causes = optarg;
    if (name == 'n') settings.per_cause = std::atoi(optarg);
    if (name == 's') settings.seed = std::strtoull(optarg, nullptr, 10);
    if (name == 'm') settings.seeds = std::atoi(optarg);
    if (name == 'r') settings.is_raw = true;
    if (name == 'p') settings.min_purity = std::atof(optarg);
    if (name == 'w') settings.min_wholeness = std::atof(optarg);
    if (name == '?') return std::nullopt;
  }
  return settings;
}

void Print(size_t causes, const Scores& scores) {
  std::printf(
      "{\"causes\": %zu, \"reports\": %zu, \"purity\": %.4f, \"wholeness\": %.4f, "
      "\"level2_purity\": %.4f, \"level2_wholeness\": %.4f, "
      "\"debug_purity\": %.4f, \"debug_wholeness\": %.4f}\n",
      causes, scores.level1.total(), scores.level1.Purity(), scores.level1.Wholeness(),
      scores.level2.Purity(), scores.level2.Wholeness(), scores.level1_debug.Purity(),
      scores.level1_debug.Wholeness());
}

int Main(const Settings& settings) {
  auto causes = ReadCauses(settings.causes);
  auto tails = Tails::Read(LAGWATCH_SOURCE_DIR "/bench/clusters/tails.txt");
  auto clusterer = collector::Clusterer::Create(
      "", settings.is_raw ? policies::ClusterBy::kRaw : policies::ClusterBy::kSignificant);
  for (const base::Status& status : {causes.status(), tails.status(), clusterer.status()}) {
    if (status.ok()) continue;
    std::fprintf(stderr, "bench_clusters: %s\n", status.message().c_str());
    return 1;
  }
  std::vector<std::string> names;
  for (const Cause& cause : *causes) names.push_back(cause.name);
  Scores scores;
  for (int i = 0; i < settings.seeds; ++i) {
    const uint64_t seed = settings.seed + static_cast<uint64_t>(i);
    Cluster(MakeReports(*causes, *tails, settings.per_cause, seed), *clusterer, &scores);
  }
  Show(names, scores.level1);
  Print(names.size(), scores);
  bool is_good =
      scores.level1.Purity() >= settings.min_purity && scores.level1.Wholeness() >= settings.min_wholeness;
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace lagwatch::clusters

int main(int argc, char** argv) {
  auto settings = lagwatch::clusters::Parse(argc, argv);
  return settings ? lagwatch::clusters::Main(*settings) : 2;
}
