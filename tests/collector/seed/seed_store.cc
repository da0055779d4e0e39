// SPDX-License-Identifier: Apache-2.0
// Fills a collector's data directory with what tests and pictures are about.
//
//   seed_store DATA story       two programs' two weeks: what froze them, what was fixed, what came back
//   seed_store DATA month       three programs' month with planted truths (month/planted_month.h): about
//   38,000
//                               records of 10,000 users
//   seed_store DATA month PART  the same with one record in PART
//   seed_store DATA hostile     one report each of whose texts would be a script, were it taken for HTML
//   seed_store DATA implausible reports with numbers and times that no program has: one with them everywhere,
//                               one for each number, and two as they should be
//   seed_store DATA many COUNT  as many causes, of one report each
//   seed_store DATA large       a report of the largest size that the collector takes
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/seed/month/planted_month.h"
#include "tests/collector/seed/seeder.h"
#include "tests/collector/seed/seeds.h"

namespace lagwatch::testing {
namespace {

constexpr char kUsage[] = "usage: seed_store DATA story|month [PART]|hostile|implausible|large|many COUNT";

bool TrySeed(const std::string& what, int number, Seeder* seeder) {
  if (what == "month") {
    SeedMonth(PlantedMonth(number == 0 ? 1 : number), seeder);
  } else if (what == "many" && number > 0) {
    SeedMany(seeder, number);
  } else if (number != 0) {
    return false;
  } else if (what == "story") {
    SeedStory(seeder);
  } else if (what == "hostile") {
    SeedHostile(seeder);
  } else if (what == "implausible") {
    SeedImplausible(seeder);
  } else if (what == "large") {
    SeedLarge(seeder);
  } else {
    return false;
  }
  seeder->Flush();
  return true;
}

int Main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "%s\n", kUsage);
    return 2;
  }
  const std::string data = argv[1];
  std::filesystem::create_directories(data);
  const auto store = collector::SqliteStore::Open(data + "/collector.db");
  if (!store.ok()) throw std::runtime_error(store.status().message());
  collector::Ingest ingest(store.value().get(), collector::Clusterer::Create("").value());
  Seeder seeder(&ingest, /*records_of_a_batch=*/2000);
  if (TrySeed(argv[2], argc == 4 ? std::atoi(argv[3]) : 0, &seeder)) return 0;
  std::fprintf(stderr, "%s\n", kUsage);
  return 2;
}

}  // namespace
}  // namespace lagwatch::testing

int main(int argc, char** argv) {
  try {
    return lagwatch::testing::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "seed_store: %s\n", error.what());
    return 1;
  }
}
