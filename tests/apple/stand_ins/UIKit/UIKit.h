// SPDX-License-Identifier: Apache-2.0
// The few names of UIKit that the binding and the sample for iOS use, over GNUstep: an application that has
// its launch, its notifications and its run loop, and no screen.
#import <Foundation/Foundation.h>

@class UIApplication;

@interface UIResponder : NSObject
@end

@protocol UIApplicationDelegate <NSObject>
- (BOOL)application:(UIApplication*)application didFinishLaunchingWithOptions:(NSDictionary*)launchOptions;
@end

@interface UIApplication : UIResponder
+ (UIApplication*)sharedApplication;
- (NSInteger)applicationState;
@end

int UIApplicationMain(int argc, char** argv, NSString* applicationClass, NSString* delegateClass);
