// SPDX-License-Identifier: Apache-2.0
// Prints the address for envelopes, the authorization and the envelopes of MetricKit's payload on standard
// input.
//
// Usage: apple_hang_diagnostics_program ENDPOINT KEY
#import "sdk/apple/LWHangDiagnostics.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  @autoreleasepool {
    NSData* payload = [[NSFileHandle fileHandleWithStandardInput] readDataToEndOfFile];
    printf("%s\n%s\n", [[LWEnvelopeUrl(@(argv[1])) absoluteString] UTF8String] ?: "",
           [LWEnvelopeAuthorization(@(argv[2])) UTF8String]);
    for (NSData* envelope in LWHangEnvelopes(payload, @"com.example.editor", @"u-1"))
      printf("%.*s", (int)[envelope length], (const char*)[envelope bytes]);
  }
  return 0;
}
