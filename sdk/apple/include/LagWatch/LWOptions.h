// SPDX-License-Identifier: Apache-2.0
#import <LagWatch/LWDefines.h>

NS_ASSUME_NONNULL_BEGIN

// The monitor's options. Properties for the usual ones; -setValue:forOption: sets any of
// docs/configuration.md by its name there, such as "trace_interval_ms". An option that is not set has the
// default of the C API, except:
//   - `app` and `app_version` are those of the main bundle;
//   - `spool_directory` is lagwatch/spool in the caches directory on Apple's systems;
//   - `start` is 1: the program's start is watched, until it is ready (see LWMonitor).
LW_EXPORT NS_SWIFT_NAME(Options) @interface LWOptions : NSObject {
  NSMutableDictionary* _values;
  NSArray* _extraModes;
  BOOL _watchesFrames;
  BOOL _readsMetricKit;
}

@property(nonatomic, copy, nullable) NSString* app;
@property(nonatomic, copy, nullable) NSString* appVersion;
// The collector's URL and its key for this project.
@property(nonatomic, copy, nullable) NSString* endpoint;
@property(nonatomic, copy, nullable) NSString* key;
// The affected user, as a pseudonym.
@property(nonatomic, copy, nullable) NSString* user;
@property(nonatomic, copy, nullable) NSString* spoolDirectory;
// A longer dispatch is a hang, and one longer than the second an ANR; 0 for the second: none is.
@property(nonatomic) NSUInteger thresholdMs;
@property(nonatomic) NSUInteger anrThresholdMs;
// Records traces, which reports of hangs then have.
@property(nonatomic) BOOL trace;
// Fraction of users who send reports on a given day, in parts per million.
@property(nonatomic) NSUInteger userRatePpm;

// Other modes than default, event tracking and modal panel in which the program's own loops handle events. A
// loop in any further mode is a part of the handler that runs it.
@property(nonatomic, copy) NSArray* extraRunLoopModes;

// Counts frames and reports slow ones on iOS. A display link then wakes the main thread at each refresh. NO
// by default.
@property(nonatomic) BOOL watchesFrames;

// Sends the hangs that MetricKit reports (HangDiagnostic; before iOS 27 and macOS 27, MXHangDiagnostic) to
// the collector at `endpoint`, too: all of them, without the limits of the other reports. Not with
// `seal_key`. NO by default.
@property(nonatomic) BOOL readsMetricKit;

// Sets an option by its name. Returns NO, and changes nothing, if there is no such option or the value cannot
// be read. Numbers and choices are decimal, switches "1" or "0".
- (BOOL)setValue:(NSString*)value forOption:(NSString*)name NS_SWIFT_NAME(set(_:for:));
// Returns the value that was set, or nil.
- (nullable NSString*)valueForOption:(NSString*)name;

@end

NS_ASSUME_NONNULL_END
