// SPDX-License-Identifier: Apache-2.0
// The parts of LWOptions that only the binding uses.
#import <LagWatch/LWOptions.h>
#import <lagwatch/c.h>

@interface LWOptions (Values)
// All options, as lw_start() takes them. Texts are valid until the caller's autorelease pool ends.
- (lw_options)raw;
@end
