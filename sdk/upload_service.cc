// SPDX-License-Identifier: Apache-2.0
#include "sdk/upload_service.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/env.h"
#include "policies/scrubbing.h"
#include "sdk/default_paths.h"
#include "stack/local_symbols.h"

namespace lagwatch::sdk {
namespace {

// The homes on this machine, this user's first: reports do not say whose home a module is in.
std::vector<std::string> Homes() {
  constexpr size_t kMaxHomes = 64;
  std::vector<std::string> homes;
  if (std::string own = HomeDirectory(); !own.empty()) homes.push_back(std::move(own));
  homes.emplace_back("/root");
  for (const std::string parent : {"/home", "/var/home"}) {
    std::vector<std::string> names;
    if (base::SystemEnv().List(parent, &names) != 0) continue;
    for (const std::string& name : names)
      if (homes.size() < kMaxHomes) homes.push_back(parent + "/" + name);
  }
  return homes;
}

class LocalFrameNamer final : public report::FrameNamer {
 public:
  std::optional<std::string> NameOf(const std::string& path, std::string_view build_id,
                                    uint64_t offset) override {
    return symbols_.NameOf(path.starts_with("~/") ? Expanded(path) : path, build_id, offset);
  }

 private:
  // The first file of that name; its build id tells whether it is the right one.
  const std::string& Expanded(const std::string& path) {
    const auto [known, is_new] = expanded_.try_emplace(path, path);
    if (!is_new) return known->second;
    for (const std::string& home : Homes()) {
      const std::string candidate = home + path.substr(policies::Scrubber::kHome.size());
      if (!base::SystemEnv().Exists(candidate.c_str())) continue;
      known->second = candidate;
      break;
    }
    return known->second;
  }

  stack::LocalSymbols symbols_;
  std::map<std::string, std::string> expanded_;
};

}  // namespace

std::unique_ptr<report::FrameNamer> CreateLocalFrameNamer() { return std::make_unique<LocalFrameNamer>(); }

base::Result<std::unique_ptr<UploadService>> UploadService::Create(
    const std::string& spool_directory, const report::HttpTransportOptions& options,
    std::unique_ptr<ConfigKeeper> keeper) {
  auto transport = report::CreateHttpTransport(options);
  if (!transport.ok()) return transport.status();
  std::unique_ptr<UploadService> service(new UploadService);
  service->namer_ = CreateLocalFrameNamer();
  service->transport_ = std::move(transport).value();
  service->sender_ = std::make_unique<report::SpoolSender>(&base::SystemEnv(), spool_directory,
                                                           service->transport_.get(), service->namer_.get());
  service->keeper_ = std::move(keeper);
  std::function<bool()> may_send;
  if (service->keeper_ != nullptr) {
    may_send = [kept = service->keeper_.get()] {
      kept->Poll();
      return !kept->is_killed();
    };
  }
  service->uploader_ = std::make_unique<report::Uploader>(service->sender_.get(), service->transport_.get(),
                                                          std::move(may_send));
  return service;
}

}  // namespace lagwatch::sdk
