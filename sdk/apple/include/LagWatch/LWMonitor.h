// SPDX-License-Identifier: Apache-2.0
#import <LagWatch/LWDefines.h>
#import <LagWatch/LWLastExit.h>
#import <LagWatch/LWOptions.h>

NS_ASSUME_NONNULL_BEGIN

// The monitor of this process and of its main run loop. No method fails the program: without a monitor each
// has no effect, and +whyOff has the reason. Methods may be called on any thread, except as noted.
LW_EXPORT NS_SWIFT_NAME(Monitor) @interface LWMonitor : NSObject

// Starts the monitor and watches the main run loop; nil for the defaults. Call it on the main thread, in the
// app delegate's launch method or in main() before the application runs. The program is ready, for the report
// of a slow start, at the first turn of the run loop after the launch. Returns whether the monitor is on.
+ (BOOL)startWithOptions:(nullable LWOptions*)options NS_SWIFT_NAME(start(_:));
// Stops the monitor; waits so long for the upload of the reports on disk.
+ (void)stopWithFlushTimeoutMs:(NSUInteger)timeoutMs NS_SWIFT_NAME(stop(flushTimeoutMs:));
// Stops it without waiting.
+ (void)stop;
// Returns why the monitor is off; empty when it is on.
+ (NSString*)whyOff;

// Sets the program's current activity, such as a screen. Cut to 64 bytes.
+ (void)setScene:(NSString*)scene NS_SWIFT_NAME(set(scene:));
// Sets a value that each later report has as the fact "app.KEY"; nil removes it. It must not name a person.
// Returns whether it is kept: there may be 16 keys, two of which are the binding's (`memory_warnings`,
// `thermal_state`).
+ (BOOL)setValue:(nullable NSString*)value forFact:(NSString*)key NS_SWIFT_NAME(set(_:forFact:));
// The user may work from now on. For programs that are not ready when they are launched; only the first call
// counts.
+ (void)ready;
// Begins a frame of the display, which ends with this turn of the main run loop; on the main thread, in the
// callback of a display link or a timer that draws. For programs with links of their own; see also
// LWOptions.watchesFrames.
+ (void)beginFrame;
// Requests a report with the stacks of all threads. Returns NO if the monitor is off, or if one was requested
// shortly before.
+ (BOOL)dump:(NSString*)reason;
// Returns the end of the program's last run, or nil without a record of it.
+ (nullable LWLastExit*)lastExit;
// Gives or withdraws the user's consent: see lw_set_consent(). Returns whether the monitor is on.
+ (BOOL)setConsent:(BOOL)isGiven NS_SWIFT_NAME(set(consent:));

@end

NS_ASSUME_NONNULL_END
