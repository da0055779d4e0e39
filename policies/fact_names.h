// SPDX-License-Identifier: Apache-2.0
// Names of a report's facts that its readers know, too. Part of the wire format.
#pragma once

namespace lagwatch::policies {

// Number of threads of lagwatch in the process, which are not listed.
inline constexpr char kOwnThreadsFact[] = "lagwatch_threads";

// The word for a thread that got no processor, or no quota, had it got one.
inline constexpr char kWithProcessorFact[] = "verdict_with_processor";

// The machine's greatest users of its processors while the thread got none; and in thousandths of all
// processors' time that of users which were not seen, and what the machine that runs this virtual one has
// taken.
inline constexpr char kProcessorUsersFact[] = "processor_users";
inline constexpr char kProcessorsUnseenFact[] = "processors_unseen_permille";
inline constexpr char kProcessorsStolenFact[] = "processors_stolen_permille";

// The peer outside of the process that the thread waits for (watchdog/spans/awaited.h): a word as in a
// verdict, and the process that it belongs to.
inline constexpr char kWaitsForFact[] = "waits_for";
inline constexpr char kWaitsForPidFact[] = "waits_for_pid";
inline constexpr char kWaitsForNameFact[] = "waits_for_name";
inline constexpr char kWaitsForCountFact[] = "waits_for_count";  // of several processes
inline constexpr char kWaitsForAddressFact[] = "waits_for_address";

// A thread of the process that could end the last wait of the chain, which has no owner; the reason for that;
// and how many threads there is that reason for. The best candidate and the second one.
struct CandidateFacts {
  const char* thread;
  const char* name;
  const char* reason;
  const char* count;
};
inline constexpr CandidateFacts kCandidateFacts[] = {
    {"probably_waits_for_thread", "probably_waits_for_name", "probably_waits_for_reason",
     "probably_waits_for_count"},
    {"or_waits_for_thread", "or_waits_for_name", "or_waits_for_reason", "or_waits_for_count"},
};
// Number of threads of a pool that all wait, for the waiting thread, for each other or as it does.
inline constexpr char kExhaustedPoolFact[] = "exhausted_pool_threads";

// Of a hang that has begun before anything watched the thread: its length is what is proven of it. A 1.
inline constexpr char kAtLeastFact[] = "lasted_at_least";

// The call over D-Bus whose answer the thread waits for.
inline constexpr char kBusServiceFact[] = "bus_service";
inline constexpr char kBusMethodFact[] = "bus_method";

// The file system of the file that the thread waits for, or another thread (its tid) that the chain of waits
// leads to; and its block device, with the requests that are under way to it.
inline constexpr char kFileSystemThreadFact[] = "file_system_thread";
inline constexpr char kFileSystemFact[] = "file_system";
inline constexpr char kFileSystemMountFact[] = "file_system_mount";
inline constexpr char kFileSystemSourceFact[] = "file_system_source";
inline constexpr char kBlockDeviceFact[] = "block_device";
inline constexpr char kBlockDeviceRequestsFact[] = "block_device_requests";

// The files that a dispatch used: the time of all calls, their number, the class and the path of the longest
// one's file, and the folder that so many of the paths are below.
inline constexpr char kIoTimeFact[] = "io_us";
inline constexpr char kIoCallsFact[] = "io_calls";
inline constexpr char kIoClassFact[] = "io_class";
inline constexpr char kIoPathFact[] = "io_path";
inline constexpr char kIoBelowFact[] = "io_below";
inline constexpr char kIoBelowPercentFact[] = "io_below_percent";

// The kernel's log about that thread.
inline constexpr char kHungTaskFact[] = "hung_task";
inline constexpr char kHungTaskBlockerFact[] = "hung_task_blocker";

}  // namespace lagwatch::policies
