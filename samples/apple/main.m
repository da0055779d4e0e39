// SPDX-License-Identifier: Apache-2.0
// A window with a button that freezes the application for three seconds.
//
//   appkit_freezer [-FreezeAfterS 1 -QuitAfterS 6] [-LagWatchEndpoint URL -LagWatchKey KEY]
#import <AppKit/AppKit.h>
#import <LagWatch/LagWatch.h>

@interface AppDelegate : NSObject <NSApplicationDelegate> {
  NSWindow* _window;
}
@end

@implementation AppDelegate

- (void)applicationDidFinishLaunching:(NSNotification*)notification {
  (void)notification;
  [self startLagWatch];
  [self openWindow];
  NSUserDefaults* defaults = [NSUserDefaults standardUserDefaults];
  if ([defaults doubleForKey:@"FreezeAfterS"] > 0)
    [self performSelector:@selector(freeze:)
               withObject:nil
               afterDelay:[defaults doubleForKey:@"FreezeAfterS"]];
  if ([defaults doubleForKey:@"QuitAfterS"] > 0)
    [NSApp performSelector:@selector(terminate:)
                withObject:nil
                afterDelay:[defaults doubleForKey:@"QuitAfterS"]];
}

- (void)startLagWatch {
  NSUserDefaults* defaults = [NSUserDefaults standardUserDefaults];
  LWOptions* options = [[LWOptions alloc] init];
  options.endpoint = [defaults stringForKey:@"LagWatchEndpoint"];  // without one, reports stay on disk
  options.key = [defaults stringForKey:@"LagWatchKey"];
  options.userRatePpm = 1000000;  // all users send reports: here there is one
  if (![LWMonitor startWithOptions:options]) NSLog(@"lagwatch is off: %@", [LWMonitor whyOff]);
  [LWMonitor setScene:@"freezer"];
}

- (void)openWindow {
  _window = [[NSWindow alloc] initWithContentRect:NSMakeRect(100, 100, 300, 200)
                                        styleMask:NSTitledWindowMask | NSClosableWindowMask
                                          backing:NSBackingStoreBuffered
                                            defer:NO];
  [_window setTitle:@"Freezer"];
  NSButton* button = [[NSButton alloc] initWithFrame:NSMakeRect(50, 75, 200, 50)];
  [button setTitle:@"Freeze for three seconds"];
  [button setTarget:self];
  [button setAction:@selector(freeze:)];
  [[_window contentView] addSubview:button];
  [_window makeKeyAndOrderFront:self];
}

- (void)freeze:(id)sender {
  (void)sender;
  [NSThread sleepForTimeInterval:3];
  NSLog(@"thawed");
}

- (BOOL)applicationShouldTerminateAfterLastWindowClosed:(NSApplication*)application {
  (void)application;
  return YES;
}

@end

int main(void) {
  @autoreleasepool {
    [NSApplication sharedApplication];
    AppDelegate* delegate = [[AppDelegate alloc] init];
    [NSApp setDelegate:delegate];
    [NSApp run];
  }
  return 0;
}
