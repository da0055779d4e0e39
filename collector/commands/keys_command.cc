// SPDX-License-Identifier: Apache-2.0
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "collector/admin/audit_log.h"
#include "collector/commands/commands.h"
#include "collector/keys/key_file.h"

namespace lagwatch::collector {
namespace {

std::string DateOf(int64_t wall_ms, const char* none) {
  return wall_ms == 0 ? none : base::UtcText(wall_ms, "%Y-%m-%d %H:%MZ");
}

std::string TextOf(const Quota& quota) {
  char text[96] = "";
  std::string all;
  if (quota.reports_per_s > 0) {
    std::snprintf(text, sizeof text, "%g reports/s", quota.reports_per_s);
    all = text;
  }
  if (quota.bytes_per_day > 0) {
    std::snprintf(text, sizeof text, "%s%llu bytes/day", all.empty() ? "" : ", ",
                  static_cast<unsigned long long>(quota.bytes_per_day));
    all += text;
  }
  return all.empty() ? "none" : all;
}

int List(const KeyFile& file) {
  auto records = file.Read();
  if (!records.ok()) return Fail(records.status());
  std::printf("%-24s  %-7s  %-17s  %-17s  %s\n", "NAME", "ACCESS", "CREATED", "EXPIRES", "QUOTA");
  for (const KeyRecord& key : *records) {
    std::printf("%-24s  %-7s  %-17s  %-17s  %s\n", key.name.c_str(), std::string(NameOf(key.access)).c_str(),
                DateOf(key.created_wall_ms, "").c_str(), DateOf(key.expires_wall_ms, "never").c_str(),
                TextOf(key.quota).c_str());
  }
  return 0;
}

// The person at the command line, for the log of changes.
std::string Caller() {
  const passwd* user = getpwuid(getuid());
  return "command line (" + (user != nullptr ? user->pw_name : std::to_string(getuid())) + ")";
}

int Add(const KeyFile& file, const NewKey& key, AuditLog* audit) {
  auto text = file.Add(key, base::SystemClock().WallMs());
  if (!text.ok()) return Fail(text.status());
  audit->Add(Caller(), "key.add", key.name, {{"access", NameOf(key.access)}});
  std::fprintf(stderr, "This is the only time that this key is shown:\n");
  std::printf("%s\n", text->c_str());
  if (key.access == Access::kProject)
    std::fprintf(stderr, "As a DSN for Sentry's SDKs: https://%s@YOUR-COLLECTOR/1\n", text->c_str());
  return 0;
}

int Revoke(const KeyFile& file, const std::string& name, AuditLog* audit) {
  const base::Status revoked = file.Revoke(name);
  if (!revoked.ok()) return Fail(revoked);
  audit->Add(Caller(), "key.revoke", name);
  return 0;
}

struct AddFlags {
  NewKey key;
  std::string access;
  int64_t expires_s = 0;
  int64_t overlap_s = NewKey().overlap_ms / 1000;
};

void DeclareAdd(CLI::App* add, AddFlags* flags) {
  const CLI::AsNumberWithUnit time(
      std::map<std::string, int64_t>{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}},
      CLI::AsNumberWithUnit::UNIT_REQUIRED, "TIME as 90d, 12h, 30m, 45s");
  const CLI::Range tenThousandDays(int64_t{0}, int64_t{10'000} * 86'400);
  add->add_option("--name", flags->key.name, "The key's name, in lists and for revoking it")->required();
  add->add_option("--access", flags->access,
                  "project: sends reports, part of programs; read: reads everything; admin: everything")
      ->required()
      ->check(CLI::IsMember({"project", "read", "admin"}));
  add->add_option("--expires", flags->expires_s, "Time until it expires (default: never)")
      ->transform(time)
      ->check(tenThousandDays);
  add->add_option("--reports-per-s", flags->key.quota.reports_per_s,
                  "Limit of reports per second, ten seconds' worth at once")
      ->check(CLI::PositiveNumber);
  add->add_option("--bytes-per-day", flags->key.quota.bytes_per_day, "Limit of bytes per day, such as 500MB")
      ->transform(CLI::AsSizeValue(false));
  add->add_option("--replaces", flags->key.replaces, "A key to replace; it expires after --overlap");
  add->add_option("--overlap", flags->overlap_s, "Time that the replaced key stays valid (7d)")
      ->transform(time)
      ->check(tenThousandDays);
}

}  // namespace

void AddKeysCommand(CLI::App* app, const std::function<std::string()>& path,
                    const std::function<std::string()>& audit_path, int* exit_code) {
  CLI::App* keys = app->add_subcommand("keys", "List, add and revoke the keys in DATA/keys.json");
  keys->fallthrough()->require_subcommand(1);
  keys->add_subcommand("list", "List the keys, without their texts")->fallthrough()->callback([=] {
    *exit_code = List(KeyFile(path()));
  });
  auto flags = std::make_shared<AddFlags>();
  CLI::App* add =
      keys->add_subcommand("add", "Add a key and print it; a running collector accepts it at once");
  DeclareAdd(add, flags.get());
  add->fallthrough()->callback([=] {
    flags->key.access = *AccessOf(flags->access);
    flags->key.expires_after_ms = flags->expires_s * 1000;
    flags->key.overlap_ms = flags->overlap_s * 1000;
    AuditLog audit(audit_path());
    *exit_code = Add(KeyFile(path()), flags->key, &audit);
  });
  auto name = std::make_shared<std::string>();
  CLI::App* revoke = keys->add_subcommand("revoke", "Revoke a key at once");
  revoke->add_option("NAME", *name, "The key's name")->required();
  revoke->fallthrough()->callback([=] {
    AuditLog audit(audit_path());
    *exit_code = Revoke(KeyFile(path()), *name, &audit);
  });
}

}  // namespace lagwatch::collector
