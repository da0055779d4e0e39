// SPDX-License-Identifier: Apache-2.0
// Hangs that the system itself found, from MetricKit's payloads, as events of Sentry's protocol, which
// collectors read (docs/sentry.md). Needs no MetricKit: payloads come as their JSON.
#import <Foundation/Foundation.h>

// Returns an envelope, in bytes for POST /api/1/envelope/, for each hang of the payload; none for what is not
// a payload. A payload that is read twice has the same event ids, by which the collector stores each hang
// once. `app` and `user` are those of the options, and may be nil.
NSArray* LWHangEnvelopes(NSData* payload, NSString* app, NSString* user);
// The same of a payload's content; swift/LWHangReports.swift makes it of newer reports.
NSArray* LWHangEnvelopesOf(NSDictionary* payload, NSString* app, NSString* user);
// Returns the collector's address for envelopes, or nil for an endpoint that is not a collector's URL.
NSURL* LWEnvelopeUrl(NSString* endpoint);
// Returns the value of the header X-Sentry-Auth.
NSString* LWEnvelopeAuthorization(NSString* key);
