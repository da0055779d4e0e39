// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/masked_run.h"

#include "base/hash.h"
#include "base/text.h"

namespace lagwatch::sdk {
namespace {

// As hexadecimal digits, so that it holds no NUL.
std::string FingerprintOf(const base::Uuid& session_id, const std::string& text) {
  if (text.empty()) return {};
  return base::ToHex(base::HashBytes(text, base::HashBytes(session_id.as_bytes())));
}

bool IsOf(const std::string& fingerprint, const base::Uuid& session_id, const std::string& text) {
  return !fingerprint.empty() && fingerprint == FingerprintOf(session_id, text);
}

}  // namespace

RunFacts MaskRun(const RunFacts& facts) {
  RunFacts masked = facts;
  masked.is_masked = true;
  for (std::string* text :
       {&masked.app, &masked.app_version, &masked.program, &masked.build_id, &masked.oom_group_path}) {
    *text = FingerprintOf(facts.session_id, *text);
  }
  masked.user.clear();
  return masked;
}

void UnmaskRun(const RunFacts& now, RunFacts* run) {
  auto unmask = [&](const std::string& own, size_t kept_bytes, std::string* text) {
    *text = IsOf(*text, run->session_id, own) ? own.substr(0, kept_bytes) : std::string();
  };
  unmask(now.app, sizeof RunHeader::app, &run->app);
  unmask(now.app_version, sizeof RunHeader::app_version, &run->app_version);
  unmask(now.program, sizeof RunHeader::program, &run->program);
  unmask(now.oom_group_path, sizeof RunHeader::oom_group_path, &run->oom_group_path);
  if (IsOf(run->build_id, run->session_id, now.build_id))
    run->build_id = now.build_id.substr(0, sizeof RunHeader::build_id);
}

}  // namespace lagwatch::sdk
