// SPDX-License-Identifier: Apache-2.0
#import <LagWatch/LWOptions.h>
#import <lagwatch/c.h>

#import "LWOptionValues.h"
#import "LWSystem.h"

@implementation LWOptions

@synthesize watchesFrames = _watchesFrames;
@synthesize readsMetricKit = _readsMetricKit;

- (instancetype)init {
  self = [super init];
  if (self == nil) return nil;
  _values = [[NSMutableDictionary alloc] init];
  _extraModes = [[NSArray alloc] init];
  NSBundle* bundle = [NSBundle mainBundle];
  self.app = [bundle bundleIdentifier] ?: [[NSProcessInfo processInfo] processName];
  self.appVersion = [bundle objectForInfoDictionaryKey:@"CFBundleShortVersionString"];
  self.spoolDirectory = LWDefaultSpoolDirectory();
  [self setValue:@"1" forOption:@"start"];
  return self;
}

#if !__has_feature(objc_arc)
- (void)dealloc {
  [_values release];
  [_extraModes release];
  [super dealloc];
}
#endif

- (BOOL)setValue:(NSString*)value forOption:(NSString*)name {
  lw_options checked;
  lw_options_init(&checked);
  if (value == nil || !lw_options_set(&checked, [name UTF8String], [value UTF8String])) return NO;
  [_values setObject:[NSString stringWithString:value] forKey:[NSString stringWithString:name]];
  return YES;
}

- (NSString*)valueForOption:(NSString*)name {
  return [_values objectForKey:name];
}

- (void)setText:(NSString*)text forOption:(NSString*)name {
  if (text == nil) {
    [_values removeObjectForKey:name];
  } else {
    [self setValue:text forOption:name];
  }
}

- (void)setNumber:(NSUInteger)number forOption:(NSString*)name {
  const NSUInteger most = UINT32_MAX;
  [self setValue:[NSString stringWithFormat:@"%lu", (unsigned long)(number < most ? number : most)]
       forOption:name];
}

// The value in force, also of an option that was not set.
- (lw_options)raw {
  lw_options raw;
  lw_options_init(&raw);
  for (NSString* name in _values)
    lw_options_set(&raw, [name UTF8String], [[_values objectForKey:name] UTF8String]);
  return raw;
}

- (NSString*)app {
  return [self valueForOption:@"app"];
}
- (void)setApp:(NSString*)app {
  [self setText:app forOption:@"app"];
}
- (NSString*)appVersion {
  return [self valueForOption:@"app_version"];
}
- (void)setAppVersion:(NSString*)version {
  [self setText:version forOption:@"app_version"];
}
- (NSString*)endpoint {
  return [self valueForOption:@"endpoint"];
}
- (void)setEndpoint:(NSString*)endpoint {
  [self setText:endpoint forOption:@"endpoint"];
}
- (NSString*)key {
  return [self valueForOption:@"key"];
}
- (void)setKey:(NSString*)key {
  [self setText:key forOption:@"key"];
}
- (NSString*)user {
  return [self valueForOption:@"user"];
}
- (void)setUser:(NSString*)user {
  [self setText:user forOption:@"user"];
}
- (NSString*)spoolDirectory {
  return [self valueForOption:@"spool_directory"];
}
- (void)setSpoolDirectory:(NSString*)directory {
  [self setText:directory forOption:@"spool_directory"];
}
- (NSUInteger)thresholdMs {
  return [self raw].threshold_ms;
}
- (void)setThresholdMs:(NSUInteger)ms {
  [self setNumber:ms forOption:@"threshold_ms"];
}
- (NSUInteger)anrThresholdMs {
  return [self raw].anr_threshold_ms;
}
- (void)setAnrThresholdMs:(NSUInteger)ms {
  [self setNumber:ms forOption:@"anr_threshold_ms"];
}
- (BOOL)trace {
  return [self raw].trace != 0;
}
- (void)setTrace:(BOOL)isOn {
  [self setValue:isOn ? @"1" : @"0" forOption:@"trace"];
}
- (NSUInteger)userRatePpm {
  return [self raw].user_rate_ppm;
}
- (void)setUserRatePpm:(NSUInteger)ppm {
  [self setNumber:ppm forOption:@"user_rate_ppm"];
}

- (NSArray*)extraRunLoopModes {
  return _extraModes;
}
- (void)setExtraRunLoopModes:(NSArray*)modes {
#if !__has_feature(objc_arc)
  [_extraModes autorelease];
#endif
  _extraModes = [modes copy];
}

@end
