// SPDX-License-Identifier: Apache-2.0
#import "LWHangDiagnostics.h"

enum { kMaxFrames = 512 };

static NSString* TextOf(NSDictionary* object, NSString* key) {
  id value = [object isKindOfClass:[NSDictionary class]] ? [object objectForKey:key] : nil;
  return [value isKindOfClass:[NSString class]] ? value : @"";
}

static unsigned long long NumberOf(NSDictionary* object, NSString* key) {
  id value = [object isKindOfClass:[NSDictionary class]] ? [object objectForKey:key] : nil;
  return [value isKindOfClass:[NSNumber class]] ? [value unsignedLongLongValue] : 0;
}

static NSArray* ListOf(NSDictionary* object, NSString* key) {
  id value = [object isKindOfClass:[NSDictionary class]] ? [object objectForKey:key] : nil;
  return [value isKindOfClass:[NSArray class]] ? value : [NSArray array];
}

static NSDictionary* Heaviest(NSArray* frames) {
  NSDictionary* heaviest = nil;
  for (NSDictionary* frame in frames) {
    if (![frame isKindOfClass:[NSDictionary class]]) continue;
    if (heaviest == nil || NumberOf(frame, @"sampleCount") > NumberOf(heaviest, @"sampleCount"))
      heaviest = frame;
  }
  return heaviest;
}

// A hang's tree has the outermost frames as its roots, each with its number of samples. The stack that
// represents the hang follows the heaviest frames inwards, as that of a busy loop does.
static NSArray* HeaviestPath(NSDictionary* tree) {
  NSArray* stacks = ListOf(tree, @"callStacks");
  NSDictionary* stack = nil;
  for (NSDictionary* each in stacks)
    if (stack == nil ||
        (NumberOf(stack, @"threadAttributed") == 0 && NumberOf(each, @"threadAttributed") != 0))
      stack = each;
  NSMutableArray* path = [NSMutableArray array];
  NSDictionary* frame = Heaviest(ListOf(stack, @"callStackRootFrames"));
  for (; frame != nil && [path count] < kMaxFrames; frame = Heaviest(ListOf(frame, @"subFrames")))
    [path addObject:frame];
  return path;
}

static NSString* Hex(unsigned long long number) { return [NSString stringWithFormat:@"0x%llx", number]; }

// The module's begin, which the frame's offset counts from.
static unsigned long long ImageAddress(NSDictionary* frame) {
  const unsigned long long address = NumberOf(frame, @"address");
  const unsigned long long offset = NumberOf(frame, @"offsetIntoBinaryTextSegment");
  return offset < address ? address - offset : 0;
}

static NSArray* EventFrames(NSArray* path) {
  NSMutableArray* frames = [NSMutableArray array];
  for (NSDictionary* frame in path)
    [frames addObject:@{
      @"instruction_addr" : Hex(NumberOf(frame, @"address")),
      @"image_addr" : Hex(ImageAddress(frame)),
      @"package" : TextOf(frame, @"binaryName")
    }];
  return frames;
}

static NSArray* EventImages(NSArray* path) {
  NSMutableDictionary* images = [NSMutableDictionary dictionary];
  for (NSDictionary* frame in path)
    if (ImageAddress(frame) != 0)
      [images setObject:@{
        @"type" : @"macho",
        @"debug_id" : TextOf(frame, @"binaryUUID"),
        @"code_file" : TextOf(frame, @"binaryName"),
        @"image_addr" : Hex(ImageAddress(frame))
      }
                 forKey:Hex(ImageAddress(frame))];
  return [images allValues];
}

// 128 bits of FNV-1a, with two begins, as 32 hexadecimal digits.
static NSString* IdOf(NSString* text) {
  unsigned long long halves[2] = {0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  for (const char* byte = [text UTF8String]; *byte != '\0'; ++byte)
    for (int i = 0; i < 2; ++i) halves[i] = (halves[i] ^ (unsigned char)*byte) * 0x100000001b3ULL;
  return [NSString stringWithFormat:@"%016llx%016llx", halves[0], halves[1]];
}

static NSString* Timestamp(NSString* payload_time) {
  // "2026-08-21 09:08:24 +0000", or with another zone or none; in UTC in all payloads that were seen.
  if ([payload_time length] < 19) return nil;
  NSString* date = [payload_time substringToIndex:10];
  return [NSString stringWithFormat:@"%@T%@Z", date, [payload_time substringWithRange:NSMakeRange(11, 8)]];
}

static NSDictionary* EventOf(NSDictionary* hang, NSDictionary* payload, NSString* app, NSString* user) {
  NSDictionary* facts = [hang objectForKey:@"diagnosticMetaData"];
  NSArray* path = HeaviestPath([hang objectForKey:@"callStackTree"]);
  NSString* duration = TextOf(facts, @"hangDuration");
  if ([path count] == 0 || [duration length] == 0) return nil;
  NSString* timestamp = Timestamp(TextOf(payload, @"timeStampEnd"));
  NSMutableString* identity = [NSMutableString stringWithFormat:@"%@ %@ %@", app, timestamp, duration];
  for (NSDictionary* frame in path)
    [identity appendFormat:@" %@+%llu*%llu", TextOf(frame, @"binaryUUID"),
                           NumberOf(frame, @"offsetIntoBinaryTextSegment"), NumberOf(frame, @"sampleCount")];
  NSDictionary* exception = @{
    @"type" : @"App Hanging",
    @"value" : [NSString stringWithFormat:@"App hung for %@.", duration],
    @"mechanism" : @{@"type" : @"AppHang", @"handled" : @(YES)},
    @"stacktrace" : @{@"frames" : EventFrames(path)}
  };
  NSMutableDictionary* event = [NSMutableDictionary dictionaryWithDictionary:@{
    @"event_id" : IdOf(identity),
    @"platform" : @"cocoa",
    @"release" : [NSString stringWithFormat:@"%@@%@", app, TextOf(facts, @"appVersion")],
    @"dist" : TextOf(facts, @"appBuildVersion"),
    @"sdk" : @{@"name" : @"lagwatch.metrickit", @"version" : @"0.2.0"},
    @"contexts" : @{
      @"os" : @{@"name" : TextOf(facts, @"osVersion")},
      @"device" : @{@"arch" : TextOf(facts, @"platformArchitecture"), @"model" : TextOf(facts, @"deviceType")}
    },
    @"exception" : @{@"values" : @[ exception ]},
    @"debug_meta" : @{@"images" : EventImages(path)}
  }];
  if (timestamp != nil) [event setObject:timestamp forKey:@"timestamp"];
  if (user != nil) [event setObject:@{@"id" : user} forKey:@"user"];
  return event;
}

static NSData* EnvelopeOf(NSDictionary* event) {
  NSData* body = [NSJSONSerialization dataWithJSONObject:event options:0 error:NULL];
  if (body == nil) return nil;
  NSString* head = [NSString stringWithFormat:@"{\"event_id\":\"%@\"}\n{\"type\":\"event\",\"length\":%lu}\n",
                                              [event objectForKey:@"event_id"], (unsigned long)[body length]];
  NSMutableData* envelope = [NSMutableData dataWithData:[head dataUsingEncoding:NSUTF8StringEncoding]];
  [envelope appendData:body];
  [envelope appendBytes:"\n" length:1];
  return envelope;
}

NSArray* LWHangEnvelopes(NSData* json, NSString* app, NSString* user) {
  if (json == nil) return [NSArray array];
  return LWHangEnvelopesOf([NSJSONSerialization JSONObjectWithData:json options:0 error:NULL], app, user);
}

NSArray* LWHangEnvelopesOf(NSDictionary* payload, NSString* app, NSString* user) {
  NSMutableArray* envelopes = [NSMutableArray array];
  for (NSDictionary* hang in ListOf(payload, @"hangDiagnostics")) {
    if (![hang isKindOfClass:[NSDictionary class]]) continue;
    NSDictionary* event = EventOf(hang, payload, app ?: @"", user);
    NSData* envelope = event == nil ? nil : EnvelopeOf(event);
    if (envelope != nil) [envelopes addObject:envelope];
  }
  return envelopes;
}

NSURL* LWEnvelopeUrl(NSString* endpoint) {
  if (![endpoint hasPrefix:@"https://"] && ![endpoint hasPrefix:@"http://"]) return nil;
  NSString* base = [endpoint hasSuffix:@"/"] ? [endpoint substringToIndex:[endpoint length] - 1] : endpoint;
  return [NSURL URLWithString:[base stringByAppendingString:@"/api/1/envelope/"]];
}

NSString* LWEnvelopeAuthorization(NSString* key) {
  return [NSString
      stringWithFormat:@"Sentry sentry_version=7, sentry_client=lagwatch/0.2.0, sentry_key=%@", key ?: @""];
}
