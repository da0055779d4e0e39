// SPDX-License-Identifier: Apache-2.0
#include <elfutils/debuginfod.h>
#include <fcntl.h>

#include <cerrno>

#include "base/clock.h"
#include "collector/symbols/files/symbol_source.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kPauseNs = 60 * base::kNsPerSecond;
// Thousands of modules that a server does not know must not take hours to be found out about.
constexpr int64_t kSlowNs = 2 * base::kNsPerSecond;
// The cache is trimmed after that time or so many look-ups, whichever comes first.
constexpr int64_t kTrimPauseNs = 60 * base::kNsPerSecond;
constexpr int kTrimLookups = 100;

struct Setting {
  const char* name;
  const char* value;
};
// A download that does not get on is given up after 10 s, any after 2 min; files over 2 GiB are not taken.
constexpr Setting kSettings[] = {{"DEBUGINFOD_TIMEOUT", "10"},
                                 {"DEBUGINFOD_MAXTIME", "120"},
                                 {"DEBUGINFOD_MAXSIZE", "2147483648"},
                                 {"DEBUGINFOD_RETRY_LIMIT", "1"}};

}  // namespace

base::Result<std::unique_ptr<DebuginfodServers>> DebuginfodServers::Create(const std::string& urls,
                                                                           const std::string& cache_directory,
                                                                           const CacheLimits& cache_limits) {
  for (const Setting& setting : kSettings) setenv(setting.name, setting.value, 1);
  setenv("DEBUGINFOD_URLS", urls.c_str(), 1);
  setenv("DEBUGINFOD_CACHE_PATH", cache_directory.c_str(), 1);
  debuginfod_client* client = debuginfod_begin();
  if (client == nullptr) return base::Status(base::StatusCode::kInternal, "libdebuginfod cannot be set up");
  std::unique_ptr<DebuginfodServers> servers(new DebuginfodServers(client, cache_directory, cache_limits));
  // Its 0.188 prints to its log even if there is none, and each dprintf() to no descriptor loses 8 KiB.
  servers->log_ = base::OwnedFd(open("/dev/null", O_WRONLY | O_CLOEXEC));
  debuginfod_set_verbose_fd(client, servers->log_.get());
  debuginfod_set_user_data(client, &servers->is_stopping_);
  debuginfod_set_progressfn(client, [](debuginfod_client* asked, long, long) {
    return static_cast<std::atomic<bool>*>(debuginfod_get_user_data(asked))->load() ? 1 : 0;
  });
  return servers;
}

DebuginfodServers::~DebuginfodServers() { debuginfod_end(static_cast<debuginfod_client*>(client_)); }

base::OwnedFd DebuginfodServers::OpenFile(const BuildId& build_id, SymbolKind kind) {
  std::lock_guard lock(mutex_);
  if (kind == SymbolKind::kMapping || is_stopping_ || base::SystemClock().MonoNs() < is_away_until_ns_)
    return {};
  auto* find = kind == SymbolKind::kDebug ? &debuginfod_find_debuginfo : &debuginfod_find_executable;
  // A length of 0 says that the id is in hex.
  const std::string hex = build_id.hex();
  const int64_t begin_ns = base::SystemClock().MonoNs();
  int fd = find(static_cast<debuginfod_client*>(client_), reinterpret_cast<const unsigned char*>(hex.c_str()),
                0, nullptr);
  const int64_t end_ns = base::SystemClock().MonoNs();
  if (fd < 0 && (fd != -ENOENT || end_ns - begin_ns > kSlowNs)) is_away_until_ns_ = end_ns + kPauseNs;
  base::OwnedFd file(fd);
  if (++lookups_ >= kTrimLookups || end_ns >= trim_at_ns_) TrimCache();
  return file;
}

// With the lock held: no other thread downloads meanwhile. Open files stay readable.
void DebuginfodServers::TrimCache() {
  TrimCacheDirectory(cache_directory_, cache_limits_);
  lookups_ = 0;
  trim_at_ns_ = base::SystemClock().MonoNs() + kTrimPauseNs;
}

}  // namespace lagwatch::collector
