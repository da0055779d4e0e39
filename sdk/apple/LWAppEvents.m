// SPDX-License-Identifier: Apache-2.0
#import "LWAppEvents.h"

#import <dlfcn.h>
#import <lagwatch/c.h>

#import "LWSystem.h"

enum { kUIApplicationStateBackground = 2 };

// Notifications and the methods that they call.
static const struct {
  const char* notification;
  const char* method;
} kEvents[] = {
    {"UIApplicationDidFinishLaunchingNotification", "didLaunch:"},
    {"NSApplicationDidFinishLaunchingNotification", "didLaunch:"},
    {"UIApplicationDidBecomeActiveNotification", "didEnterForeground:"},
    {"UIApplicationWillEnterForegroundNotification", "didEnterForeground:"},
    {"NSApplicationDidBecomeActiveNotification", "didEnterForeground:"},
    {"UIApplicationDidEnterBackgroundNotification", "didEnterBackground:"},
    {"NSApplicationDidResignActiveNotification", "didEnterBackground:"},
    {"UIApplicationDidReceiveMemoryWarningNotification", "didReceiveMemoryWarning:"},
    {"NSProcessInfoThermalStateDidChangeNotification", "thermalStateDidChange:"},
    {"UIApplicationWillTerminateNotification", "willTerminate:"},
    {"NSApplicationWillTerminateNotification", "willTerminate:"},
};

static LWAppEvents* events;

@implementation LWAppEvents

+ (void)start {
  events = [[LWAppEvents alloc] init];
  for (size_t i = 0; i < sizeof kEvents / sizeof kEvents[0]; ++i)
    [[NSNotificationCenter defaultCenter] addObserver:events
                                             selector:NSSelectorFromString(@(kEvents[i].method))
                                                 name:@(kEvents[i].notification)
                                               object:nil];
  [events readThermalState];
  id application = [self application];
  if (![self isUserWaitingFor:application]) {
    lw_withdraw_start();
  } else if (application != nil || ![self hasApplicationClass]) {
    // The delegate's launch method has called: observers that are added there do not see the end of the
    // launch. A program without an application has launched when its run loop runs.
    [events didLaunch:nil];
  }
}

+ (BOOL)hasApplicationClass {
  return NSClassFromString(@"UIApplication") != Nil || NSClassFromString(@"NSApplication") != Nil;
}

// Returns the application's object, or nil if it has not been made yet. Does not make it.
+ (id)application {
  Class ui_application = NSClassFromString(@"UIApplication");
  if (ui_application != Nil) {
    const BOOL is_extension = [[[NSBundle mainBundle] bundlePath] hasSuffix:@".appex"];
    return is_extension ? nil : [ui_application valueForKey:@"sharedApplication"];
  }
  void** ns_app = dlsym(RTLD_DEFAULT, "NSApp");
  return ns_app == NULL ? nil : (__bridge id) * ns_app;
}

// The system starts programs for a download or in advance, too: then no user waits.
+ (BOOL)isUserWaitingFor:(id)application {
  if ([[[NSProcessInfo processInfo] environment] objectForKey:@"ActivePrewarm"] != nil) return NO;
  if (![application respondsToSelector:NSSelectorFromString(@"applicationState")]) return YES;
  if ([[application valueForKey:@"applicationState"] integerValue] != kUIApplicationStateBackground)
    return YES;
  lw_set_foreground(0);
  return NO;
}

// The launch has ended when its handlers have: at the run loop's next turn.
- (void)didLaunch:(NSNotification*)notification {
  (void)notification;
  [self performSelector:@selector(becomeReady) withObject:nil afterDelay:0 inModes:LWCommonModes()];
}

- (void)becomeReady {
  lw_ready();
}

- (void)didEnterForeground:(NSNotification*)notification {
  (void)notification;
  lw_set_foreground(1);
}

- (void)didEnterBackground:(NSNotification*)notification {
  (void)notification;
  lw_set_foreground(0);
}

- (void)didReceiveMemoryWarning:(NSNotification*)notification {
  (void)notification;
  static unsigned long warnings;
  lw_set_value("memory_warnings", [[NSString stringWithFormat:@"%lu", ++warnings] UTF8String]);
}

- (void)thermalStateDidChange:(NSNotification*)notification {
  (void)notification;
  [self readThermalState];
}

- (void)readThermalState {
  static const char* const kNames[] = {"", "fair", "serious", "critical"};  // no fact for the nominal state
  NSProcessInfo* process = [NSProcessInfo processInfo];
  if (![process respondsToSelector:NSSelectorFromString(@"thermalState")]) return;
  const NSInteger state = [[process valueForKey:@"thermalState"] integerValue];
  lw_set_value("thermal_state", state >= 0 && state < 4 ? kNames[state] : "unknown");
}

- (void)willTerminate:(NSNotification*)notification {
  (void)notification;
  lw_note_stop();
}

@end
