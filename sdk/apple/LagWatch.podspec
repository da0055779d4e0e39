# SPDX-License-Identifier: Apache-2.0
Pod::Spec.new do |spec|
  spec.name = "LagWatch"
  spec.version = "0.2.0"
  spec.summary = "Finds the line that froze a program"
  spec.homepage = "https://lagwatch.example.com"
  spec.license = { :type => "Apache-2.0" }
  spec.author = "lagwatch"
  spec.source = { :path => "." }
  spec.ios.deployment_target = "13.0"
  spec.osx.deployment_target = "10.15"
  spec.requires_arc = true
  spec.source_files = "*.{h,m,c}", "include/LagWatch/*.h", "swift/*.swift"
  spec.swift_version = "5.5"
  spec.exclude_files = "LWRunLoopWatch_gnustep.m", "LWSystem_gnustep.m"
  spec.public_header_files = "include/LagWatch/*.h"
  spec.header_mappings_dir = "include"
  spec.resource_bundles = { "LagWatch" => ["PrivacyInfo.xcprivacy"] }
  # lagwatch itself, built for Apple's systems, with its C headers (lagwatch/c.h).
  spec.vendored_frameworks = "LagWatchCore.xcframework"
end
