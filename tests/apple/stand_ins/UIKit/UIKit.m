// SPDX-License-Identifier: Apache-2.0
// Runs the events of LAGWATCH_UIKIT_EVENTS after the launch, a tenth of a second apart: names of
// notifications without "Notification", "thermal=N", "freeze", "killed" in a hang, and "state=N" for the
// launch itself. Then it ends the program.
#import <UIKit/UIKit.h>

#import "tests/apple/recipes.h"

static UIApplication* application;
static NSInteger application_state;
static NSInteger thermal_state;

@implementation UIResponder
@end

@interface NSProcessInfo (ThermalState)
- (NSInteger)thermalState;
@end

@implementation NSProcessInfo (ThermalState)
- (NSInteger)thermalState {
  return thermal_state;
}
@end

@implementation UIApplication

+ (UIApplication*)sharedApplication {
  return application;
}

- (NSInteger)applicationState {
  return application_state;
}

- (void)post:(NSString*)event {
  NSString* name = [event stringByAppendingString:@"Notification"];
  [[NSNotificationCenter defaultCenter] postNotificationName:name object:self];
}

- (void)freezeInEvent {
  SleepMs(2500);
  ++recipe_ends;
}

- (void)hangUntilKilled {
  [NSThread detachNewThreadSelector:@selector(killSoon) toTarget:self withObject:nil];
  SleepMs(20000);
  ++recipe_ends;
}

// As the system's watchdog does, whose code is 0x8badf00d.
- (void)killSoon {
  SleepMs(2700);
  kill(getpid(), SIGKILL);
}

- (void)runEvent:(NSString*)event {
  if ([event isEqualToString:@"freeze"]) {
    [self freezeInEvent];
  } else if ([event isEqualToString:@"killed"]) {
    [self hangUntilKilled];
  } else if ([event hasPrefix:@"thermal="]) {
    thermal_state = [[event substringFromIndex:8] integerValue];
    [self post:@"NSProcessInfoThermalStateDidChange"];
  } else {
    [self post:event];
  }
}

- (void)end {
  [self post:@"UIApplicationWillTerminate"];
  kill(getpid(), SIGKILL);  // as the system does
}

@end

int UIApplicationMain(int argc, char** argv, NSString* applicationClass, NSString* delegateClass) {
  (void)argc, (void)argv, (void)applicationClass;
  NSDictionary* environment = [[NSProcessInfo processInfo] environment];
  NSMutableArray* events =
      [[[environment objectForKey:@"LAGWATCH_UIKIT_EVENTS"] componentsSeparatedByString:@" "] mutableCopy];
  if ([[events objectAtIndex:0] hasPrefix:@"state="]) {
    application_state = [[[events objectAtIndex:0] substringFromIndex:6] integerValue];
    [events removeObjectAtIndex:0];
  }
  application = [[UIApplication alloc] init];
  id<UIApplicationDelegate> delegate = [[NSClassFromString(delegateClass) alloc] init];
  [delegate application:application didFinishLaunchingWithOptions:nil];
  [application post:@"UIApplicationDidFinishLaunching"];
  double after_s = 0.1;
  for (NSString* event in events)
    [application performSelector:@selector(runEvent:) withObject:event afterDelay:after_s += 0.1];
  [application performSelector:@selector(end) withObject:nil afterDelay:after_s + 0.3];
  [[NSRunLoop currentRunLoop] run];
  return 1;
}
