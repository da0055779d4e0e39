// SPDX-License-Identifier: Apache-2.0
#import <LagWatch/LWLastExit.h>

@implementation LWLastExit

- (instancetype)init {
  self = [super init];
  if (self == nil) return nil;
  lw_last_exit_init(&_exit);
  lw_get_last_exit(&_exit);
  return self;
}

- (lw_exit_reason)reason {
  return (lw_exit_reason)_exit.reason;
}
- (int)signal {
  return _exit.signal;
}
- (BOOL)wasInHang {
  return _exit.was_in_hang != 0;
}
- (uint64_t)hangMs {
  return _exit.hang_ms;
}
- (NSString*)loop {
  return [NSString stringWithUTF8String:_exit.loop] ?: @"";
}
- (NSString*)scene {
  return [NSString stringWithUTF8String:_exit.scene] ?: @"";
}
- (NSString*)appVersion {
  return [NSString stringWithUTF8String:_exit.app_version] ?: @"";
}
- (NSString*)reportId {
  return [NSString stringWithUTF8String:_exit.report_id] ?: @"";
}

@end
