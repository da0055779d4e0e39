// SPDX-License-Identifier: Apache-2.0
#import <LagWatch/LagWatch.h>
#import <UIKit/UIKit.h>

@interface AppDelegate : UIResponder <UIApplicationDelegate>
@end

@implementation AppDelegate

- (BOOL)application:(UIApplication*)application didFinishLaunchingWithOptions:(NSDictionary*)launchOptions {
  LWOptions* options = [[LWOptions alloc] init];
  options.endpoint = @"https://lagwatch.example.com";
  options.key = @"k_0123456789abcdef0123456789abcdef";
  options.userRatePpm = 1000000;  // while you try it out: all users send reports
  [options setValue:@"1500" forOption:@"warm_start_ms"];
  if (![LWMonitor startWithOptions:options]) NSLog(@"lagwatch is off: %@", [LWMonitor whyOff]);
  return YES;
}

@end

int main(int argc, char* argv[]) {
  @autoreleasepool {
    return UIApplicationMain(argc, argv, nil, @"AppDelegate");
  }
}
