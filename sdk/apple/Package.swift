// swift-tools-version:5.5
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// LagWatchCore.xcframework is lagwatch itself, built for Apple's systems, with its C headers (lagwatch/c.h).
let package = Package(
  name: "LagWatch",
  platforms: [.iOS(.v13), .macOS(.v10_15)],
  products: [.library(name: "LagWatch", targets: ["LagWatch", "LagWatchHangReports"])],
  targets: [
    .binaryTarget(name: "LagWatchCore", path: "LagWatchCore.xcframework"),
    .target(
      name: "LagWatch",
      dependencies: ["LagWatchCore"],
      path: ".",
      exclude: [
        "CMakeLists.txt", "LagWatch.podspec", "LWRunLoopWatch_gnustep.m", "LWSystem_gnustep.m", "swift",
      ],
      resources: [.copy("PrivacyInfo.xcprivacy")],
      publicHeadersPath: "include",
      cSettings: [.headerSearchPath("."), .unsafeFlags(["-fobjc-arc"])]
    ),
    // Of its own: a target has one language.
    .target(name: "LagWatchHangReports", path: "swift"),
  ]
)
