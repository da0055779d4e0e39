// SPDX-License-Identifier: Apache-2.0
// The application's own events, from the notifications of UIKit, AppKit and GNUstep: foreground, memory
// warnings, thermal state, the end of the launch and of the program. Notifications are named by their texts,
// so that the same source serves all systems, and programs without a user interface.
#import <Foundation/Foundation.h>

@interface LWAppEvents : NSObject
// Observes them for as long as the process runs; on the main thread, once.
+ (void)start;
@end
