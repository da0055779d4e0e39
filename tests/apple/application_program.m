// SPDX-License-Identifier: Apache-2.0
// An application with a delegate, a window whose button freezes it, and a modal panel. Prints "click" when it
// waits for a click into the window named "Freezer", and ends by itself.
//
// Usage: SPOOL=DIRECTORY THRESHOLD_MS=N [ENDPOINT=URL KEY=K] apple_application_program
// (NSApplication takes arguments for documents to open.)
#import <AppKit/AppKit.h>
#import <LagWatch/LagWatch.h>

#import "recipes.h"

static const int kHangMs = 1000;

@interface Delegate : NSObject <NSApplicationDelegate> {
  NSWindow* _window;
  NSPanel* _panel;
}
@end

@implementation Delegate

- (void)startMonitor {
  LWOptions* options = [[LWOptions alloc] init];
  options.app = @"application";
  options.appVersion = @"2.0";
  NSDictionary* environment = [[NSProcessInfo processInfo] environment];
  options.spoolDirectory = [environment objectForKey:@"SPOOL"];
  options.thresholdMs = (NSUInteger)[[environment objectForKey:@"THRESHOLD_MS"] integerValue];
  options.endpoint = [environment objectForKey:@"ENDPOINT"];
  options.key = [environment objectForKey:@"KEY"];
  options.userRatePpm = 1000000;
  if (![options setValue:@"100" forOption:@"cold_start_ms"]) exit(3);
  if (![LWMonitor startWithOptions:options]) {
    fprintf(stderr, "the monitor is off: %s\n", [[LWMonitor whyOff] UTF8String]);
    exit(1);
  }
  LWLastExit* last = [LWMonitor lastExit];
  printf("last exit %d\n", last == nil ? -1 : (int)last.reason);
}

- (void)applicationDidFinishLaunching:(NSNotification*)notification {
  (void)notification;
  [self startMonitor];
  [LWMonitor setScene:@"freezer"];
  [self openWindow];
  [self freezeInLaunch];
}

- (void)freezeInLaunch {
  SleepMs(kHangMs);
  ++recipe_ends;
}

- (void)openWindow {
  _window = [[NSWindow alloc] initWithContentRect:NSMakeRect(100, 100, 300, 200)
                                        styleMask:NSTitledWindowMask
                                          backing:NSBackingStoreBuffered
                                            defer:NO];
  [_window setTitle:@"Freezer"];
  NSButton* button = [[NSButton alloc] initWithFrame:NSMakeRect(0, 0, 300, 200)];
  [button setTitle:@"Freeze"];
  [button setTarget:self];
  [button setAction:@selector(freezeInClick:)];
  [[_window contentView] addSubview:button];
  [_window makeKeyAndOrderFront:self];
  [self call:@selector(askForClick) after:0.3];
}

- (void)askForClick {
  printf("click\n");
  fflush(stdout);
}

- (void)freezeInClick:(id)sender {
  [sender setEnabled:NO];
  SleepMs(kHangMs);
  ++recipe_ends;
  [self call:@selector(openPanel) after:0.1];
}

// Open for longer than the threshold, which is no hang.
- (void)openPanel {
  _panel = [[NSPanel alloc] initWithContentRect:NSMakeRect(50, 50, 200, 100)
                                      styleMask:NSTitledWindowMask
                                        backing:NSBackingStoreBuffered
                                          defer:NO];
  [self call:@selector(freezeInPanel) after:kHangMs / 1000.0 mode:NSModalPanelRunLoopMode];
  [self call:@selector(closePanel) after:kHangMs / 1000.0 + 0.2 mode:NSModalPanelRunLoopMode];
  [NSApp runModalForWindow:_panel];
  [self call:@selector(quit) after:0.1];
}

- (void)freezeInPanel {
  SleepMs(kHangMs);
  ++recipe_ends;
}

- (void)closePanel {
  [NSApp stopModal];
  // The session ends at its next event.
  [NSApp postEvent:[NSEvent otherEventWithType:NSApplicationDefined
                                      location:NSZeroPoint
                                 modifierFlags:0
                                     timestamp:0
                                  windowNumber:[_panel windowNumber]
                                       context:nil
                                       subtype:0
                                         data1:0
                                         data2:0]
           atStart:NO];
  [_panel orderOut:self];
}

- (void)quit {
  [NSApp terminate:self];
}

- (void)applicationWillTerminate:(NSNotification*)notification {
  (void)notification;
  [LWMonitor stopWithFlushTimeoutMs:20000];
}

@end

int main(void) {
  @autoreleasepool {
    [NSApplication sharedApplication];
    [NSApp setDelegate:[[Delegate alloc] init]];
    [NSApp run];
  }
  return 0;
}
