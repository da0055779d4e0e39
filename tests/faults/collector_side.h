// SPDX-License-Identifier: Apache-2.0
// A real collector in memory, behind a way that loses, cuts and forges: what becomes of each
// request is drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "collector/http/endpoints.h"
#include "collector/http/server/router.h"
#include "collector/ingest/ingest.h"
#include "collector/query/query_api.h"
#include "collector/store/store.h"
#include "tests/faults/case_plan.h"
#include "tests/faults/random.h"

namespace lagwatch::faults {

inline constexpr char kKey[] = "k_of_the_case";

enum class Manner {
  kWhole,
  kNone,     // the request is lost, or its answer
  kCut,      // the connection ends in the middle of the body
  kStalled,  // nothing more comes after its first bytes, and the connection stays
  kSlow,     // a few bytes at a time
  kNoHttp,   // bytes that are no answer at all
  kEndless,  // it goes on until the connection ends
};

struct Reply {
  Manner manner = Manner::kWhole;
  int status = 200;
  std::string content_type = "application/json";
  std::string retry_after = {};  // as the header has it; none when empty
  std::string location = {};
  std::string encoding = {};
  std::string body = {};
};

class CollectorSide {
 public:
  explicit CollectorSide(const CasePlan& plan);

  // From now on, until the next run.
  void BeginRun(const RunPlan& run);
  void BeginRepaired();
  Reply Answer(const collector::RequestHead& head, std::string body);

  collector::Store* store() { return store_.get(); }
  uint64_t requests() const { return requests_; }
  // Ids of reports that were taken in requests of which the client may not know that.
  const std::set<std::string>& uncertain() const { return uncertain_; }

 private:
  enum class Trouble;

  Reply Take(const collector::RequestHead& head, std::string body) const;
  Reply Forge(Trouble trouble, size_t records);
  Trouble DrawTrouble(size_t records);

  std::unique_ptr<collector::Store> store_;
  collector::Ingest ingest_;
  collector::QueryApi query_api_;
  collector::KeyRing keys_{{{kKey, collector::Access::kProject}}};
  collector::Router router_;
  Random random_;
  uint32_t trouble_percent_ = 0;
  uint32_t outage_percent_ = 0;
  bool is_out_ = false;
  bool is_run_certain_ = true;
  std::set<std::string> uncertain_;
  uint64_t requests_ = 0;
};

}  // namespace lagwatch::faults
