// SPDX-License-Identifier: Apache-2.0
// From a mapping's arrival to causes, with real workers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "collector/maintenance/symbolize_job.h"
#include "collector/query/symbols_api.h"
#include "collector/symbols/files/sha256.h"
#include "collector/symbols/symbol_service.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::KeysOf;
using testing::SampleReport;

// All frames of a sample report are at line 16.
constexpr char kMapping[] =
    "# compiler: R8\n"
    "# pg_map_id: 77aa\n"
    "org.shop.Cart -> a.b:\n"
    "# {\"id\":\"sourceFile\",\"fileName\":\"Cart.kt\"}\n"
    "    10:20:int org.shop.Tax.add(int):5:15 -> a\n"
    "    10:20:int total():44 -> a\n"
    "org.shop.Main -> org.shop.Main:\n"
    "    1:99:void open():1:99 -> a\n";

class MappingDelivery : public ::testing::Test {
 protected:
  MappingDelivery() {
    service_ = SymbolService::Open({.data_directory = directory_ / "data",
                                    .workers = {.program = LAGWATCH_COLLECTOR_PROGRAM}})
                   .value();
    api_ =
        std::make_unique<QueryApi>(collector_.store.get(), clusterer_.rules(), service_->reader_symbolizer());
  }

  Response Upload(const std::string& text, const std::string& owner) {
    return Put(text, "0", text.size(), owner, Sha256(text));
  }
  Response Put(const std::string& piece, const std::string& offset, size_t size, const std::string& owner,
               const std::string& sha256) {
    return SymbolsApi(service_->files())
        .Put("mapping", owner + "&sha256=" + sha256 + "&offset=" + offset + "&size=" + std::to_string(size),
             piece);
  }
  std::string Sha256(const std::string& text) {
    std::ofstream(directory_ / "text") << text;
    const base::OwnedFd file(open((directory_ / "text").c_str(), O_RDONLY | O_CLOEXEC));
    return Sha256OfFile(file.get()).value();
  }

  void Submit(const std::vector<std::string>& stack) {
    SampleReport report;
    report.header.app = "org.shop";
    report.header.app_version = "1.2";
    report.module_path = "[java]";
    report.stack = stack;
    collector_.Submit({report});
  }
  void Name() {
    SymbolizeJob job(collector_.store.get(), clusterer_, service_->symbolizer());
    const auto step = job.Step();
    EXPECT_TRUE(step.ok()) << step.status().message();
  }
  Json Get(const std::string& path) { return Json::parse(api_->Get(path, "").body); }
  // With all names.
  Json FirstReport() {
    const std::string path = "/v1/reports/" + Get("/v1/reports")[0]["id"].get<std::string>();
    Json report;
    EXPECT_TRUE(testing::WaitUntil([&] {
      report = Get(path);
      return report["names_pending"] == false;
    }));
    return report;
  }

  testing::ScopedTempDirectory directory_;
  const Clusterer clusterer_ = Clusterer::Create("").value();
  testing::MemoryCollector collector_;
  std::unique_ptr<SymbolService> service_;
  std::unique_ptr<QueryApi> api_;
};

const std::vector<std::string> kRenamed = {"java.lang.Object.wait (Object.java)", "a.b.a (SourceFile)",
                                           "org.shop.Main.a (SourceFile)",
                                           "android.os.Handler.handleCallback (Handler.java)"};
const std::vector<std::string> kAsWritten = {
    "java.lang.Object.wait (Object.java)", "org.shop.Tax.add (Tax.java)", "org.shop.Cart.total (Cart.kt)",
    "org.shop.Main.open (Main.java)", "android.os.Handler.handleCallback (Handler.java)"};

TEST_F(MappingDelivery, CausesFollowAMappingThatComesLater) {
  Submit(kRenamed);
  Name();
  EXPECT_EQ(Get("/v1/clusters")[0]["frames"], Json({"a.b.a (SourceFile)", "org.shop.Main.a (SourceFile)"}));
  const Json missing = Get("/v1/missing-symbols");
  ASSERT_EQ(missing.size(), 1u) << missing;
  EXPECT_EQ(missing[0]["module"], "[java]");
  EXPECT_EQ(missing[0]["app"], "org.shop");
  EXPECT_EQ(missing[0]["version"], "1.2");

  EXPECT_EQ(Upload(kMapping, "app=org.shop&version=1.2").body, R"({"complete":true})");
  Name();
  EXPECT_EQ(Get("/v1/clusters")[0]["frames"],
            Json({"org.shop.Tax.add (Tax.java)", "org.shop.Cart.total (Cart.kt)"}));
  EXPECT_EQ(Get("/v1/clusters").size(), 1u);
  EXPECT_EQ(Get("/v1/missing-symbols").size(), 0u);
}

TEST_F(MappingDelivery, ReleaseAndDebugBuildsHaveTheSameCause) {
  EXPECT_EQ(Upload(kMapping, "app=org.shop&version=1.2").status, 200);
  Submit(kRenamed);
  Submit(kAsWritten);
  Name();
  const Json clusters = Get("/v1/clusters");
  ASSERT_EQ(clusters.size(), 1u) << clusters.dump(1);
  EXPECT_EQ(clusters[0]["reports"], 2);
}

TEST_F(MappingDelivery, AReportHasTheOriginalFrames) {
  EXPECT_EQ(Upload(kMapping, "app=org.shop&version=1.2").status, 200);
  Submit(kRenamed);
  const Json stack = FirstReport()["expensive_stack"];
  ASSERT_EQ(stack.size(), 5u) << stack.dump(1);
  EXPECT_EQ(stack[1]["function"], "org.shop.Tax.add (Tax.java)");
  EXPECT_EQ(stack[1]["file"], "Tax.java");
  EXPECT_EQ(stack[1]["line"], 11);
  EXPECT_EQ(stack[1]["inlined"], true);
  EXPECT_EQ(stack[2]["function"], "org.shop.Cart.total (Cart.kt)");
  EXPECT_EQ(stack[2]["line"], 44);
  EXPECT_EQ(stack[2]["inlined"], false);
  EXPECT_EQ(stack[3]["function"], "org.shop.Main.open (Main.java)");
  EXPECT_EQ(stack[3]["line"], 16);
}

TEST_F(MappingDelivery, FindsAMappingByTheIdOfR8) {
  Submit({"a.b.a (r8-map-id-77aa)", "org.shop.Main.a (r8-map-id-77aa)"});
  EXPECT_EQ(Get("/v1/missing-symbols").size(), 2u);  // or by its app
  EXPECT_EQ(Upload(kMapping, "map_id=77aa").body, R"({"complete":true})");
  Name();
  EXPECT_EQ(Get("/v1/clusters")[0]["frames"][0], "org.shop.Tax.add (Tax.java)");
  EXPECT_EQ(Get("/v1/missing-symbols").size(), 0u);
}

TEST_F(MappingDelivery, ListsWhoseAMappingIs) {
  EXPECT_EQ(Upload(kMapping, "app=org.shop&version=1.2%20beta").status, 200);
  EXPECT_EQ(Upload(kMapping, "map_id=77aa").status, 200);
  const Json list = Json::parse(SymbolsApi(service_->files()).List().body);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_THAT(KeysOf(list[0]), ElementsAre("build_id", "kind", "size_bytes", "stored_wall_ms", "used_wall_ms",
                                           "app", "version"));
  EXPECT_EQ(list[0]["kind"], "mapping");
  EXPECT_EQ(list[0]["version"], "1.2 beta");
  EXPECT_EQ(list[1]["map_id"], "77aa");
}

TEST_F(MappingDelivery, KeepsNothingOfWhatItRefuses) {
  const std::string text = "<html>no mapping</html>\n";
  EXPECT_THAT(Upload(text, "app=org.shop&version=1.2").body, HasSubstr("line 1 is not of a mapping"));
  EXPECT_EQ(Upload(text, "app=org.shop&version=1.2").status, 400);
  EXPECT_THAT(Upload(kMapping, "map_id=88").body, HasSubstr("own id (# pg_map_id) is another one"));
  EXPECT_EQ(Put(kMapping, "0", sizeof kMapping - 1, "app=org.shop", Sha256("other")).status, 400);
  EXPECT_THAT(Upload(kMapping, "version=1.2").body, HasSubstr("belongs to an app"));
  EXPECT_EQ(Upload(kMapping, "app=org.shop&map_id=77aa").status, 400);
  EXPECT_EQ(Upload(kMapping, "app=" + std::string(2000, 'x')).status, 400);
  EXPECT_EQ(SymbolsApi(service_->files()).List().body, "[]");
}

TEST_F(MappingDelivery, TakesAMappingInPieces) {
  const std::string text = kMapping;
  const std::string sha256 = Sha256(text);
  EXPECT_THAT(Put(text.substr(0, 50), "0", text.size(), "app=org.shop&version=1.2", sha256).body,
              HasSubstr(R"("received_bytes":50)"));
  EXPECT_THAT(
      SymbolsApi(service_->files()).Progress("mapping", "app=org.shop&version=1.2&sha256=" + sha256).body,
      HasSubstr(R"("complete":false)"));
  EXPECT_EQ(Put(text.substr(50), "50", text.size(), "app=org.shop&version=1.2", sha256).body,
            R"({"complete":true})");
}

}  // namespace
}  // namespace lagwatch::collector
