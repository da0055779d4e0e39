// SPDX-License-Identifier: Apache-2.0
// Has never run on a device: keep it small, and decisions in the files that GNUstep runs.
#import "LWSystem.h"

#import <MetricKit/MetricKit.h>
#import <QuartzCore/QuartzCore.h>
#import <objc/message.h>
#import <time.h>

#import "LWHangDiagnostics.h"

NSArray* LWCommonModes(void) {
  return @[
    @"kCFRunLoopDefaultMode", @"UITrackingRunLoopMode", @"NSEventTrackingRunLoopMode",
    @"NSModalPanelRunLoopMode"
  ];
}

NSString* LWDefaultSpoolDirectory(void) {
  NSString* caches =
      [NSSearchPathForDirectoriesInDomains(NSCachesDirectory, NSUserDomainMask, YES) firstObject];
  return [caches stringByAppendingPathComponent:@"lagwatch/spool"];
}

static LWDispatches* frames_of;

@interface LWRefreshes : NSObject
@end

@implementation LWRefreshes
- (void)refresh:(id)link {
  const double refresh_s = [[link valueForKey:@"timestamp"] doubleValue];
  LWDispatchesBeginFrame(frames_of,
                         LWVsyncNs(clock_gettime_nsec_np(CLOCK_MONOTONIC), CACurrentMediaTime(), refresh_s));
}
@end

// macOS has display links of views only: there the program calls +[LWMonitor beginFrame].
void LWStartFrames(LWDispatches* dispatches) {
  Class link_class = NSClassFromString(@"CADisplayLink");
  SEL create = NSSelectorFromString(@"displayLinkWithTarget:selector:");
  if (frames_of != NULL || ![link_class respondsToSelector:create]) return;
  frames_of = dispatches;
  id (*create_link)(Class, SEL, id, SEL) = (id(*)(Class, SEL, id, SEL))objc_msgSend;
  id link = create_link(link_class, create, [[LWRefreshes alloc] init], @selector(refresh:));
  for (NSString* mode in LWCommonModes()) [link addToRunLoop:[NSRunLoop mainRunLoop] forMode:mode];
}

static void Post(NSArray* envelopes, NSURLRequest* request) {
  for (NSData* envelope in envelopes)
    [[[NSURLSession sharedSession] uploadTaskWithRequest:request fromData:envelope] resume];
}

API_AVAILABLE(ios(14.0), macos(12.0))
@interface LWHangSubscriber : NSObject <MXMetricManagerSubscriber>
@property(nonatomic, copy) void (^read)(NSData* payload);
@end

@implementation LWHangSubscriber
- (void)didReceiveDiagnosticPayloads:(NSArray<MXDiagnosticPayload*>*)payloads {
  for (MXDiagnosticPayload* payload in payloads) self.read([payload JSONRepresentation]);
}
@end

// Reads MetricManager's reports; NO before iOS 27 and macOS 27, or without swift/LWHangReports.swift.
static BOOL StartHangReports(void (^read)(NSDictionary* payload)) {
  if (@available(iOS 27.0, macOS 27.0, *)) {
    Class reports = NSClassFromString(@"LWHangReports");
    SEL start = NSSelectorFromString(@"startWithDelivery:");
    if (![reports respondsToSelector:start]) return NO;
    ((void (*)(Class, SEL, id))objc_msgSend)(reports, start, read);
    return YES;
  }
  return NO;
}

void LWPostHangDiagnostics(NSURL* url, NSString* authorization, NSString* app, NSString* user) {
  static BOOL has_begun;
  if (has_begun) return;
  has_begun = YES;
  NSMutableURLRequest* request = [NSMutableURLRequest requestWithURL:url];
  request.HTTPMethod = @"POST";
  [request setValue:authorization forHTTPHeaderField:@"X-Sentry-Auth"];
  if (StartHangReports(^(NSDictionary* payload) {
        Post(LWHangEnvelopesOf(payload, app, user), request);
      }))
    return;
  if (@available(iOS 14.0, macOS 12.0, *)) {
    static LWHangSubscriber* subscriber;
    subscriber = [[LWHangSubscriber alloc] init];
    subscriber.read = ^(NSData* payload) {
      Post(LWHangEnvelopes(payload, app, user), request);
    };
    [[MXMetricManager sharedManager] addSubscriber:subscriber];
  }
}
