// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/process/safe_memory.h"
#include "sdk/run/run_facts.h"
#include "sdk/run/run_writer.h"

namespace lagwatch::sdk {
namespace {

constexpr int64_t kHangRefreshNs = 50 * base::kNsPerMs;
// The page goes to the disk some seconds after each: rarely, for the sake of a laptop's disk.
constexpr int64_t kIdleRefreshNs = 60 * base::kNsPerSecond;
constexpr int64_t kCountPeriodNs = base::kNsPerSecond;

// Rounds during a hang follow each other closely. A longer gap was not the program's time: it was
// stopped, for example.
constexpr int64_t kLongestRoundNs = base::kNsPerSecond;

// The present run, for code without a RunWriter, and its process.
std::atomic<char*> g_page{nullptr};
std::atomic<pid_t> g_pid{0};
// Facts about a crash, written by a signal handler.
std::atomic<bool> g_is_in_hang{false};
std::atomic<bool> g_has_crashed{false};
// A page that no run uses any more. It stays mapped: a signal handler may still have its address.
std::atomic<char*> g_spare_page{nullptr};

// False when the kernel could not write there.
bool CopyToPage(char* at, const void* data, size_t size_bytes) {
  return base::ReadOwnMemory(reinterpret_cast<uint64_t>(data), at, size_bytes) == size_bytes;
}

template <typename Value>
void Mark(size_t offset, Value value) {
  char* page = g_page.load();
  if (page == nullptr || g_pid.load() != getpid()) return;
  int error = errno;
  CopyToPage(page + RunPage::kMarksAt + offset, &value, sizeof value);
  errno = error;
}

// Maps the file's page where no run's page is.
char* MapPage(int fd) {
  char* spare = g_spare_page.exchange(nullptr);
  int flags = MAP_SHARED | (spare == nullptr ? 0 : MAP_FIXED);
  void* page = mmap(spare, RunPage::kBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (page == MAP_FAILED) return nullptr;
  madvise(page, RunPage::kBytes, MADV_DONTFORK);  // the record is this process's alone, and so is the lock
  return static_cast<char*>(page);
}

void UnmapPage(char* page) {
  char* current = page;
  g_page.compare_exchange_strong(current, nullptr);
  void* spare =
      mmap(page, RunPage::kBytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (spare != MAP_FAILED) g_spare_page.store(page);
}

// Whether the file is locked: the mapping keeps the lock after its descriptor was closed, on all but a
// few file systems.
bool IsLocked(const char* path) {
  base::OwnedFd fd(open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return fd.get() >= 0 && flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Result<std::unique_ptr<RunWriter>> RunWriter::Create(const std::string& spool_directory,
                                                     const RunFacts& facts, const TextCell* scene,
                                                     const policies::Scrubber& scrubber) {
  std::string directory = spool_directory + "/" + kRunDirectoryName;
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return base::IoError("cannot create " + directory, errno);
  struct stat status {};
  if (lstat(directory.c_str(), &status) != 0) return base::IoError("cannot look at " + directory, errno);
  if (!S_ISDIR(status.st_mode)) return base::IoError("cannot keep records in " + directory, ENOTDIR);

  std::string path = (directory + "/" + base::ToString(facts.session_id)).append(kRunSuffix);
  std::string new_path = path.substr(0, path.size() - kRunSuffix.size()).append(kNewRunSuffix);
  base::OwnedFd fd(open(new_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.get() < 0) return base::IoError("cannot create " + new_path, errno);
  auto fail = [&](const char* what, int error) {
    unlink(new_path.c_str());
    return base::IoError(what + new_path, error);
  };
  flock(fd.get(), LOCK_EX | LOCK_NB);
  // A full disk is met here. Not fallocate(), whose blocks cost some file systems milliseconds to give back.
  constexpr char kZeros[RunPage::kBytes] = {};
  ssize_t written = write(fd.get(), kZeros, sizeof kZeros);
  if (written != sizeof kZeros) return fail("cannot make room for ", written < 0 ? errno : ENOSPC);
  char* page = MapPage(fd.get());
  if (page == nullptr) return fail("cannot map ", errno);
  fd.Close();
  std::unique_ptr<RunWriter> writer(new RunWriter(page, path, facts, scene, scrubber));
  RunHeader header = ToHeader(facts.is_masked ? MaskRun(facts) : facts, IsLocked(new_path.c_str()));
  if (!CopyToPage(page, &header, sizeof header)) return fail("cannot write ", EIO);
  const RunCalls calls{.dumps_asked = 0, .dumps_taken = 0, .is_heard = 1, .run_pid = facts.run_pid};
  CopyToPage(page + RunPage::kCallsAt, &calls, sizeof calls);
  writer->Write(base::SystemClock().MonoNs());
  // A file of this name is always locked and whole.
  if (rename(new_path.c_str(), path.c_str()) != 0) return fail("cannot name ", errno);
  g_is_in_hang.store(false);
  g_has_crashed.store(false);
  g_pid.store(getpid());
  g_page.store(page);
  return writer;
}

RunWriter::RunWriter(char* page, std::string path, const RunFacts& facts, const TextCell* scene,
                     const policies::Scrubber& scrubber)
    : page_(page),
      path_(std::move(path)),
      oom_group_path_(facts.oom_group_path),
      is_masked_(facts.is_masked),
      scene_(scene),
      scrubber_(scrubber) {
  last_count_ns_ = -kCountPeriodNs;
}

RunWriter::~RunWriter() {
  if (page_ != nullptr) UnmapPage(page_);
}

void RunWriter::HangBegan(const base::Uuid& hang_id, const char* loop_name, int64_t elapsed_ns) {
  auto* end = hangs_ + hang_count_;
  if (hang_count_ == kMaxHangs ||
      std::any_of(hangs_, end, [&](const Hang& hang) { return hang.id == hang_id; }))
    return;
  int64_t now_ns = base::SystemClock().MonoNs();
  AgeHangs(now_ns);
  *end = {hang_id,
          now_ns - elapsed_ns,
          elapsed_ns,
          base::SystemClock().WallMs() - elapsed_ns / base::kNsPerMs,
          {}};
  if (!is_masked_) std::memcpy(end->loop_name, loop_name, strnlen(loop_name, sizeof end->loop_name));
  ++hang_count_;
  Write(now_ns);
}

void RunWriter::HangEnded(const base::Uuid& hang_id) {
  auto* end = hangs_ + hang_count_;
  auto* kept = std::remove_if(hangs_, end, [&](const Hang& hang) { return hang.id == hang_id; });
  if (kept == end) return;
  --hang_count_;
  AgeHangs(base::SystemClock().MonoNs());
  Write(base::SystemClock().MonoNs());
}

void RunWriter::Refresh() {
  int64_t now_ns = base::SystemClock().MonoNs();
  AgeHangs(now_ns);
  char scene[TextCell::kMaxBytes];
  bool is_due = now_ns - last_write_ns_ >= (hang_count_ != 0 ? kHangRefreshNs : kIdleRefreshNs);
  if (is_due || scene_->Read(scene) != written_scene_) Write(now_ns);
  // A young run may be over soon: so at most a fifth of it, and a second, is not reported.
  const int64_t written_ns = usage_.id == written_usage_.id ? written_usage_.watched_ns : 0;
  bool is_usage_due = usage_.watched_ns - written_ns > written_ns / 4 + base::kNsPerSecond ||
                      now_ns - last_usage_write_ns_ >= kIdleRefreshNs;
  if (usage_.id != base::Uuid{} && is_usage_due) WriteUsage(now_ns);
}

bool RunWriter::TakeDumpCall() {
  uint32_t asked = 0;
  if (page_ == nullptr || !base::ReadOwnValue(reinterpret_cast<uint64_t>(call_word()), &asked)) return false;
  if (asked == dumps_taken_) return false;
  dumps_taken_ = asked;
  CopyToPage(page_ + RunPage::kCallsAt + offsetof(RunCalls, dumps_taken), &asked, sizeof asked);
  return true;
}

const uint32_t* RunWriter::call_word() const {
  if (page_ == nullptr) return nullptr;
  return reinterpret_cast<const uint32_t*>(page_ + RunPage::kCallsAt + offsetof(RunCalls, dumps_asked));
}

void RunWriter::NoteUsage(const RunUsage& usage) {
  usage_ = usage;
  if (is_masked_) std::memset(usage_.loop, 0, sizeof usage_.loop);
  bool is_reported = usage.id == base::Uuid{} && written_usage_.id != base::Uuid{};
  if (is_reported) WriteUsage(base::SystemClock().MonoNs());
}

void RunWriter::WriteLastUsage() {
  if (usage_.id != base::Uuid{}) WriteUsage(base::SystemClock().MonoNs());
}

void RunWriter::WriteUsage(int64_t mono_ns) {
  if (page_ == nullptr) return;
  usage_.sequence = ++usage_sequence_;
  usage_.crc32c = UsageCrc32c(usage_);
  CopyToPage(page_ + RunPage::kUsageAt[usage_sequence_ % 2], &usage_, sizeof usage_);
  written_usage_ = usage_;
  last_usage_write_ns_ = mono_ns;
}

void RunWriter::AgeHangs(int64_t mono_ns) {
  int64_t passed_ns = std::min(mono_ns - last_age_ns_, kLongestRoundNs);
  for (size_t i = 0; i < hang_count_; ++i) hangs_[i].lasted_ns += passed_ns;
  last_age_ns_ = mono_ns;
}

void RunWriter::Write(int64_t mono_ns) {
  if (page_ == nullptr) return;
  if (mono_ns - last_count_ns_ >= kCountPeriodNs) {
    last_count_ns_ = mono_ns;
    oom_kills_in_group_ = OomKillsInGroup(oom_group_path_.c_str());
    oom_kills_on_machine_ = OomKillsOnMachine();
  }
  RunProgress progress{};
  progress.sequence = ++sequence_;
  progress.seen_wall_ms = base::SystemClock().WallMs();
  progress.oom_kills_in_group = oom_kills_in_group_;
  progress.oom_kills_on_machine = oom_kills_on_machine_;
  char scene[TextCell::kMaxBytes];
  written_scene_ = scene_->Read(scene);
  if (!is_masked_)
    scrubber_.Text({scene, strnlen(scene, sizeof scene)}).view().copy(progress.scene, sizeof progress.scene);
  // The record names, of several hangs, the one that began first.
  const Hang* hang = std::min_element(hangs_, hangs_ + hang_count_, [](const Hang& one, const Hang& other) {
    return one.begin_mono_ns < other.begin_mono_ns;
  });
  g_is_in_hang.store(hang_count_ != 0);
  if (hang_count_ != 0) {
    progress.hang_id = hang->id;
    progress.hang_begin_wall_ms = hang->begin_wall_ms;
    progress.hang_ns = hang->lasted_ns;
    std::memcpy(progress.hang_loop, hang->loop_name, sizeof progress.hang_loop);
  }
  progress.crc32c = ProgressCrc32c(progress);
  CopyToPage(page_ + RunPage::kProgressAt[sequence_ % 2], &progress, sizeof progress);
  last_write_ns_ = mono_ns;
}

void RunWriter::Discard() { unlink(path_.c_str()); }

void RunWriter::MarkEnded() {
  uint32_t yes = 1;
  if (page_ != nullptr)
    CopyToPage(page_ + RunPage::kMarksAt + offsetof(RunMarks, has_ended), &yes, sizeof yes);
}

void RunWriter::AbandonInForkedChild() {
  page_ = nullptr;
  g_page.store(nullptr);
}

void NoteRunEnded() { Mark(offsetof(RunMarks, has_ended), 1); }

void NoteRunGoesOn() { Mark(offsetof(RunMarks, has_ended), 0); }

void NoteRunAskedToStop() { Mark(offsetof(RunMarks, was_asked_to_stop), 1); }

void NoteRunStopped(StopCause cause) { Mark(offsetof(RunMarks, stop_cause), static_cast<uint32_t>(cause)); }

void NoteRunCrashed(int32_t signal_number) {
  if (!g_has_crashed.exchange(true)) {  // a handler may crash, too
    const CrashMoment moment = g_is_in_hang.load() ? CrashMoment::kInHang : CrashMoment::kOutsideHang;
    Mark(offsetof(RunMarks, crash_wall_ms), base::SystemClock().WallMs());
    Mark(offsetof(RunMarks, crash_moment), static_cast<uint32_t>(moment));
  }
  Mark(offsetof(RunMarks, crash_signal), static_cast<uint32_t>(signal_number));
}

}  // namespace lagwatch::sdk
