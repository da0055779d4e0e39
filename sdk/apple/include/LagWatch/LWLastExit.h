// SPDX-License-Identifier: Apache-2.0
#import <LagWatch/LWDefines.h>
#import <lagwatch/c.h>

NS_ASSUME_NONNULL_BEGIN

// The end of the program's last run, of which this run found a record.
LW_EXPORT NS_SWIFT_NAME(LastExit) @interface LWLastExit : NSObject { lw_last_exit _exit; }

// LW_EXIT_KILLED_IN_HANG: the system's watchdog (0x8badf00d), the user or another process ended a program
// that hung.
@property(nonatomic, readonly) lw_exit_reason reason;
@property(nonatomic, readonly) int signal;       // of a crash, else 0
@property(nonatomic, readonly) BOOL wasInHang;   // whatever the reason
@property(nonatomic, readonly) uint64_t hangMs;  // last known duration of that hang
@property(nonatomic, readonly) NSString* loop;   // that hung, or empty
@property(nonatomic, readonly) NSString* scene;
@property(nonatomic, readonly) NSString* appVersion;
@property(nonatomic, readonly) NSString* reportId;  // the first report of that hang, or empty

@end

NS_ASSUME_NONNULL_END
